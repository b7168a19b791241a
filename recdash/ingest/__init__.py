"""Reads files and tables of all supported formats into checked tables; see :mod:`recdash.ingest.reader`."""

from recdash.ingest.byte_source import Member, Sheet, innermost, sheet_of
from recdash.ingest.formats.json import are_replicates
from recdash.ingest.limits import Limits
from recdash.ingest.open_upload import (
    get_ready,
    inspect_file,
    look,
    members,
    preview,
    read_recommendations,
    read_stream,
    read_upload,
    sheets,
    tables_in,
)
from recdash.ingest.reader import Preview

__all__ = [
    "Limits",
    "Member",
    "Preview",
    "Sheet",
    "are_replicates",
    "get_ready",
    "innermost",
    "inspect_file",
    "look",
    "members",
    "preview",
    "read_recommendations",
    "read_stream",
    "read_upload",
    "sheet_of",
    "sheets",
    "tables_in",
]
