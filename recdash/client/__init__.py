"""A client of the HTTP API of a dashboard: asks what a local workspace answers, and sends files."""

from recdash.client.workspace import RemoteWorkspace

__all__ = ["RemoteWorkspace"]
