"""How much an upload may ask for; ``None`` means unlimited."""

from __future__ import annotations

from dataclasses import dataclass

from recdash.errors import Problem, UploadError


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds of one upload: bytes as sent and unpacked, their ratio, rows, columns, value length.

    With ``read_memory_bytes`` or ``read_seconds`` a file is read in a process of its own, which may take no
    more than that.
    """

    upload_bytes: int | None = None
    inflated_bytes: int | None = None
    compression_ratio: float | None = None
    rows: int | None = None
    columns: int | None = None
    value_chars: int | None = None
    read_memory_bytes: int | None = None
    read_seconds: int | None = None


UNLIMITED = Limits()
"""What is packed still unpacks within the settings."""

# what a limit counts, and what a person can do who meets it
WORDS = {
    "upload_bytes": ("bytes in the file", "Upload a smaller file, or compress it."),
    "inflated_bytes": ("bytes of unpacked size", "Split the file, or raise RECDASH_MAX_INFLATED_BYTES."),
    "compression_ratio": (
        "times its packed size when unpacked",
        "Unpack it first, or raise RECDASH_MAX_COMPRESSION_RATIO.",
    ),
    "rows": ("rows", "Keep only the first places of each list, or raise the limit."),
    "columns": ("columns", "Keep only the columns that are needed."),
    "value_chars": ("characters in one value", "Shorten the value, or check the delimiter and the quotes."),
}


def keep_within(limits: Limits, name: str, value: float, place: str = "file") -> None:
    """Raise ``UploadError`` when ``value`` passes the limit called ``name``."""
    limit = getattr(limits, name)
    if limit is not None and value > limit:
        unit, fix = WORDS[name]
        finding = f"{value:,.0f} {unit}, over the limit of {limit:,.0f}"
        raise UploadError(Problem(f"limit-{name.replace('_', '-')}", place, finding, fix))
