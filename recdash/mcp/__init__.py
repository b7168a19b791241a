"""Answers the questions of assistants over the Model Context Protocol (MCP), read-only."""
