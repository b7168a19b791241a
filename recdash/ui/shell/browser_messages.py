"""Decides which messages of a browser the pages need."""

from __future__ import annotations

from recdash.ui.app.streamlit_internals import parse_message, session_of_download

NEEDED = frozenset({"rerun_script", "stop_script", "file_urls_request", "app_heartbeat"})
"""The needed kinds of messages.

Clearing the cache, run on save, repository information and debugging are not needed.
"""
MOST_FILES = 100
"""The maximum number of files in one message that asks for upload addresses."""


def is_needed(raw: bytes) -> bool:
    """Returns whether pages need this message, and it is about the visitor's own page."""
    message = parse_message(raw)
    if message is None:
        return False
    if message.kind == "backend_operation_request":
        if message.operation == "deferred_file":  # Streamlit would make it for any session that knows its id
            return session_of_download(message.file) == message.session
        return message.operation == "dataframe_chunk"
    return message.kind in NEEDED and message.n_files <= MOST_FILES
