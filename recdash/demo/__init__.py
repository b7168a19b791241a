"""The invented film service that people meet first."""
