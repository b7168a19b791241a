"""The HTTP API: questions to a workspace and uploads, for programs."""
