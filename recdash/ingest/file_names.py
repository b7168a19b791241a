"""Names of files without the suffixes of their formats."""

from __future__ import annotations

SUFFIXES = {
    *("gz", "gzip", "zip", "csv", "tsv", "tab", "txt", "dat", "data", "parquet"),
    *("pq", "json", "jsonl", "ndjson", "run", "qrels", "trec", "xlsx", "pkl"),
}


def without_suffixes(file_name: str) -> str:
    """Returns the file name without the suffixes of known formats: ``als.run.gz`` gives ``als``."""
    parts = file_name.split(".")
    while len(parts) > 1 and parts[-1].lower() in SUFFIXES:
        parts.pop()
    return ".".join(parts)


def plain_name(file_name: str) -> str:
    """Returns the file name without folders, of any system, and without the suffixes of known formats."""
    name = file_name.replace("\\", "/").rsplit("/", 1)[-1]
    return without_suffixes(name) or name
