"""Decides which messages of a browser the pages need."""

from __future__ import annotations

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime import get_instance

NEEDED = frozenset({"rerun_script", "stop_script", "file_urls_request", "app_heartbeat"})
"""The needed kinds of messages.

Clearing the cache, run on save, repository information and debugging are not needed.
"""
MOST_FILES = 100
"""The maximum number of files in one message that asks for upload addresses."""


def is_needed(raw: bytes) -> bool:
    """Returns whether pages need this message, and it is about the visitor's own page."""
    message = BackMsg()
    try:
        message.ParseFromString(raw)
    except Exception:  # noqa: BLE001 - protobuf's error class cannot be imported here
        return False
    kind = message.WhichOneof("type")
    if kind == "backend_operation_request":
        request = message.backend_operation_request
        payload = request.WhichOneof("payload")
        if payload == "deferred_file":
            return _was_offered(request.session_id, request.deferred_file.file_id)
        return payload == "dataframe_chunk"
    return kind in NEEDED and len(message.file_urls_request.file_names) <= MOST_FILES


def _was_offered(session: str, file: str) -> bool:
    """Returns whether a page of this session offered this download, whose file is made on request.

    Streamlit would make it for any session that knows its id.
    """
    offered = get_instance().media_file_mgr._deferred_callables.get(file)  # noqa: SLF001 - no public way
    return offered is not None and offered["session_id"] == session
