"""Names of variants that differ only in case, blanks or Unicode forms."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict

import pyarrow as pa

from recdash.formatting.sanitize import UNSEEN
from recdash.ingest.values import Findings, in_rows

MOST_SHOWN = 4
"""Largest number of spellings that a notice names."""


def note_variant_spellings(table: pa.Table, findings: Findings) -> None:
    """Adds a notice for each variant whose name is spelled in several ways, which are read as variants."""
    if "variant" not in table.column_names:
        return
    counts = Counter(
        {row["values"].as_py(): row["counts"].as_py() for row in table["variant"].drop_null().value_counts()}
    )
    alike: dict[str, list[str]] = defaultdict(list)
    for name, _ in counts.most_common():
        alike[_plain(str(name))].append(name)
    for names in alike.values():
        if len(names) > 1:
            usual, *others = names
            shown = ", ".join(f"'{_visible(name)}' in {in_rows(counts[name])}" for name in names[:MOST_SHOWN])
            more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
            finding = f"{len(names)} spellings of one variant, {shown}{more}: each is read as a variant"
            fix = "If they are one variant, write its name in one way in all rows."
            place = f"column 'variant', '{_visible(usual)}'"
            count, example = sum(counts[name] for name in others), f"'{_visible(others[0])}'"
            findings.notice("variant-spellings", place, finding, fix, count, lambda: example)  # noqa: B023


def _plain(name: str) -> str:
    """Returns a name without what spellings of it differ in: case, blanks, invisible signs, Unicode forms."""
    letters = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    letters = UNSEEN.sub("", letters)
    return "".join(letter for letter in letters if unicodedata.category(letter) not in {"Cf", "Zs", "Cc"})


def _visible(name: str) -> str:
    """Returns a name with letters that look alike or like nothing as their codes, where it has any."""
    is_plain = name.isprintable() and name == unicodedata.normalize("NFKC", name) and not UNSEEN.search(name)
    return name if is_plain else ascii(name)[1:-1]
