"""Limits of an upload; None means no limit."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from recdash.errors import Problem, UploadError


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper limits of one upload: sizes, compression ratio, rows, columns, and the length of a value.

    ``upload_bytes`` is the size as sent, ``inflated_bytes`` the size after decompression. With
    ``read_memory_bytes`` or ``read_seconds`` a file is read in a separate process, which may use no more than
    that.
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
"""No limits; only decompression stays within those of the settings."""


def of_archive(limits: Limits) -> Limits:
    """Returns the limits for decompression: the given ones, or those of the settings if none are given."""
    if limits != UNLIMITED:
        return limits
    from recdash.settings import settings  # slow to import

    chosen = settings()
    return Limits(inflated_bytes=chosen.max_inflated_bytes, compression_ratio=chosen.max_compression_ratio)


def keep_names_within(limits: Limits, names: Collection[str]) -> None:
    """Raises ``UploadError`` if there are too many columns, or if the name of one is too long."""
    keep_within(limits, "columns", len(names), "header")
    keep_within(limits, "value_chars", max(map(len, names), default=0), "header")


MOST_CANDIDATES = 1000
"""Largest number of candidates, and of replicates, that one file may name."""


def keep_candidates_few(count: int, place: str) -> None:
    """Raises ``UploadError`` if a file names so many candidates that another column must be meant."""
    if count > MOST_CANDIDATES:
        finding = f"names more than {MOST_CANDIDATES:,} candidates"
        fix = "Choose the column that names the recommender, or none: run=."
        raise UploadError(Problem("many-candidates", place, finding, fix))


# (unit that a limit counts, advice on exceeding it)
WORDS = {
    "upload_bytes": ("bytes in the file", "Compress the file, or raise RECDASH_MAX_UPLOAD_BYTES."),
    "inflated_bytes": ("bytes of unpacked size", "Split the file, or raise RECDASH_MAX_INFLATED_BYTES."),
    "compression_ratio": (
        "times its compressed size",
        "Decompress it first, or raise RECDASH_MAX_COMPRESSION_RATIO.",
    ),
    "rows": ("rows", "Keep only the top of each list, or raise RECDASH_MAX_ROWS."),
    "columns": ("columns", "Keep only the columns that are needed, or raise RECDASH_MAX_COLUMNS."),
    "value_chars": (
        "characters in one value",
        "Check the delimiter and the quotes, shorten the value, or raise RECDASH_MAX_VALUE_CHARS.",
    ),
}


def keep_within(limits: Limits, name: str, value: float, place: str = "file") -> None:
    """Raises ``UploadError`` if ``value`` exceeds the limit called ``name``.

    ``place`` is where it was found.
    """
    limit = getattr(limits, name)
    if limit is not None and value > limit:
        unit, fix = WORDS[name]
        finding = f"{value:,.0f} {unit}, over the limit of {limit:,.0f}"
        raise UploadError(Problem(f"limit-{name.replace('_', '-')}", place, finding, fix))
