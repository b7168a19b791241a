"""Reads a whole file and returns its problems, its notices, and the rows that are rejected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from recdash.domain.kinds import TableKind
from recdash.errors import UploadError
from recdash.ingest.list_faults import MOST_ROWS, list_examples
from recdash.ingest.reader import FINISH, Preview, Source, checked_rows, finished, preview
from recdash.ingest.rejects import Reject, Rejects
from recdash.ingest.values import Findings

if TYPE_CHECKING:
    from recdash.ingest.limits import Limits


LISTS: tuple[TableKind, ...] = ("run", "truth")
"""Kinds of which a repeated item of a user is dropped."""


@dataclass(frozen=True)
class InspectedFile:
    """A file that was read as a whole: its ``preview`` with the problems and notices of all rows.

    ``kept`` counts the rows read from it (the items of a list are rows); ``rejects`` lists the first of
    ``n_rejects`` rejected rows; ``examples`` has {code: example} of what scoring will notice.
    """

    preview: Preview
    kept: int = 0
    rejects: tuple[Reject, ...] = ()
    n_rejects: int = 0
    examples: Mapping[str, str] = field(default_factory=dict)


def inspect_file(
    kind: TableKind,
    source: Source,
    *,
    name: str | None = None,
    mapping: Mapping[str, str] | None = None,
    limits: Limits | None = None,
) -> InspectedFile:
    """Returns what reading all rows of ``source`` as ``kind`` finds; never raises for bad data."""
    outline = preview(kind, source, name=name, mapping=mapping, limits=limits)
    if outline.problems and not outline.mapping:
        return InspectedFile(outline)
    rejects = Rejects()
    findings = Findings(rejects)
    kept, examples = 0, {}
    try:
        opened, batches = checked_rows(kind, source, findings, name=name, mapping=mapping, limits=limits)
        held, kept = _read(kind, batches)
        if kind in FINISH:
            finished(opened, held, findings)
        elif kind in LISTS:
            examples = list_examples(held, kind, rejects, opened.mapping.get("item_id", "item_id"))
    except UploadError as error:
        outline = replace(outline, problems=error.problems)
    else:
        outline = replace(outline, notices=(*opened.notices, *findings.notices))
    return InspectedFile(outline, kept, tuple(rejects.rows), rejects.count, examples)


def _read(kind: TableKind, batches: Iterator[pa.RecordBatch]) -> tuple[pa.Table, int]:
    """Returns the rows, of lists and interactions the first of them, and how many rows there are."""
    held, kept = [], 0
    for batch in batches:
        if kind in FINISH or (kind in LISTS and kept < MOST_ROWS):
            held.append(batch)
        kept += batch.num_rows
    table = pa.Table.from_batches(held) if held else pa.table({})
    coded = any(pa.types.is_dictionary(column.type) for column in table.schema)
    return table.unify_dictionaries() if coded else table, kept
