"""Says which table a file is, before anybody chose: from its columns and values, and from the files given
with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from recdash.domain.kinds import TableKind

Confidence = Literal["sure", "likely", "unsure"]


@dataclass(frozen=True)
class Look:
    """The first rows of a file, read before it is known which table it is.

    ``rows`` are the first rows as text, ``roles`` what the format prescribes (role → column).
    """

    name: str
    columns: tuple[str, ...] = ()
    rows: tuple[Mapping[str, str], ...] = ()
    n_rows: int | None = None
    roles: Mapping[str, str] | None = None


@dataclass(frozen=True)
class SortedFile:
    """What a file is taken for.

    ``kind`` is None where nothing fits; with the confidence ``unsure`` a person must choose. ``reasons`` are
    sentences, ``alternatives`` the other kinds that fit, likeliest first. ``mapping`` is {role: column} of
    columns that their values tell and their names do not; empty where the names tell all.
    """

    kind: TableKind | None
    confidence: Confidence
    reasons: tuple[str, ...] = ()
    alternatives: tuple[TableKind, ...] = ()
    mapping: Mapping[str, str] = field(default_factory=dict)


def sort_files(looks: Sequence[Look]) -> list[SortedFile]:
    """Returns what each file is taken for; the files given together are compared."""
    return [_by_names(look) for look in looks]


def _by_names(look: Look) -> SortedFile:
    names = {column.lower() for column in look.columns}
    if {"variant", "group", "arm"} & names:
        return SortedFile("sessions", "likely", ("It has a column of variants.",))
    if {"rank", "score", "position"} & names or look.roles is not None:
        return SortedFile("run", "likely", ("It has a rank or a score.",))
    if "title" in names:
        return SortedFile("catalogue", "likely", ("It has titles.",))
    return SortedFile("truth", "unsure", ("Users and items without a rank.",), ("train", "run"))
