"""Which messages of a browser the pages need."""

from __future__ import annotations

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime import get_instance

NEEDED = frozenset({"rerun_script", "stop_script", "file_urls_request", "app_heartbeat"})
"""Not among them: clear the cache, run on save, tell about the repository, debug messages."""
MOST_FILES = 100
"""Names of files that one message may ask an address for."""


def is_needed(raw: bytes) -> bool:
    """Is this a message that pages need, of a visitor about their own page?"""
    message = BackMsg()
    try:
        message.ParseFromString(raw)
    except Exception:  # noqa: BLE001 - protobuf has an error of its own, and is not ours to import
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
    """Was this download, which is made when it is asked for, offered on a page of this session?

    Streamlit makes it for every session that knows its id.
    """
    offered = get_instance().media_file_mgr._deferred_callables.get(file)  # noqa: SLF001 - no public way
    return offered is not None and offered["session_id"] == session
