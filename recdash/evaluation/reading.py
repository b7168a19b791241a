"""Reads and checks the tables of an evaluation together, and encodes their ids with shared codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.domain.inputs import Recommendations, Upload
from recdash.domain.kinds import Order, TableKind
from recdash.domain.results import RatedRows
from recdash.engines import CodedTruth, Reference, code_truth, read_reference
from recdash.errors import InputError, Problem
from recdash.evaluation.uploads import read_uploads
from recdash.metrics.ratings import Predictions

if TYPE_CHECKING:
    import pyarrow as pa

    from recdash.evaluation.spark import Spark
    from recdash.ingest import Limits

OTHER_TABLES: tuple[TableKind, ...] = ("users", "vectors", "similarity")
TABLES: tuple[TableKind, ...] = ("truth", "train", "catalogue", *OTHER_TABLES, "run", "predictions")
"""All kinds of tables of an evaluation."""


def read_setup(
    truth: Any,
    train: Any = None,
    catalogue: Any = None,
    relevance: str | None = None,
    threshold: float | None = None,
    others: Mapping[str, Any] | None = None,
) -> Reference:
    """Returns the tables that all runs share. Raises InputError with the problems of all tables."""
    tables, coded = read_coded(sources_of(truth, train, catalogue, others), relevance)
    return reference_of(tables, threshold, coded)


def sources_of(
    truth: Any, train: Any, catalogue: Any, others: Mapping[str, Any] | None
) -> Mapping[TableKind, Any]:
    sources: dict[Any, Any] = {"truth": truth, "train": train, "catalogue": catalogue, **(others or {})}
    return sources


def read_tables(
    sources: Mapping[TableKind, Any],
    relevance: str | None = None,
    mappings: Mapping[str, Mapping[str, str]] | None = None,
    limits: Limits | None = None,
) -> dict[TableKind, Upload]:
    """Returns the tables that were given, by kind; sources that are None are left out. Raises InputError with
    the problems of all tables.
    """
    from recdash.ingest import read_upload

    def read(kind: TableKind, source: Any) -> Upload:
        if isinstance(source, Upload):
            return source
        chosen = relevance if kind == "truth" else None
        return read_upload(kind, source, mapping=(mappings or {}).get(kind), relevance=chosen, limits=limits)

    return _read_all(sources, read)


def read_coded(
    sources: Mapping[TableKind, Any],
    relevance: str | None = None,
    mappings: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[dict[TableKind, Upload], CodedTruth]:
    """Returns the tables as ``read_tables`` does, but the truth separately: it is the largest and is encoded
    while it is read.
    """
    from recdash.ingest import read_stream, read_upload

    def read(kind: TableKind, source: Any) -> Upload | CodedTruth:
        mapping = (mappings or {}).get(kind)
        if kind == "truth":
            held = isinstance(source, Upload)
            return code_truth(
                source if held else read_stream(kind, source, mapping=mapping, relevance=relevance)
            )
        return source if isinstance(source, Upload) else read_upload(kind, source, mapping=mapping)

    tables = _read_all(sources, read)
    return tables, tables.pop("truth")


def _read_all(
    sources: Mapping[TableKind, Any], read: Callable[[TableKind, Any], Any]
) -> dict[TableKind, Any]:
    tables: dict[TableKind, Any] = {}
    problems: list[Problem] = []
    for kind, source in sources.items():
        try:
            if source is not None:
                tables[kind] = read(kind, source)
        except InputError as error:
            problems += [
                problem if kind in problem.place else replace(problem, place=f"{kind} {problem.place}")
                for problem in error.placed()
            ]
    if problems:
        raise InputError(problems)
    return tables


def reference_of(
    tables: Mapping[TableKind, Upload], threshold: float | None, coded: CodedTruth | None = None
) -> Reference:
    """Returns the tables with shared codes for their ids, and all their notices.

    If the truth is encoded already, it is given as ``coded`` instead of in ``tables``.
    """
    truth = coded or tables["truth"]
    others = {kind: tables[kind] for kind in OTHER_TABLES if kind in tables}
    reference = read_reference(
        truth,
        train=tables.get("train"),
        catalogue=tables.get("catalogue"),
        others=others,
        threshold=threshold,
    )
    notices = [
        replace(notice, place=f"{kind} '{table.name}', {notice.place}")
        for kind, table in {"truth": truth, **tables}.items()
        for notice in table.notices
    ]
    return replace(reference, notices=(*notices, *reference.notices))


def read_runs(
    name: str,
    source: Any,
    mapping: Mapping[str, str] | None = None,
    order: Order | None = None,
    engine: Spark | None = None,
) -> Iterator[Recommendations]:
    """Yields the candidates in ``source``. ``order`` says by what lists are ordered; with None, by what the
    table has. A single candidate gets the name ``name``. ``engine`` reads tables; with None it is Spark for
    its data frames, else this process.
    """
    if isinstance(source, Recommendations):
        yield source
        return
    runs = read_uploads(source, name, mapping, order=order, engine=engine)
    yield from (replace(run, name=name) for run in runs) if len(runs) == 1 else runs


def open_predictions(
    source: Any, mapping: Mapping[str, str] | None = None, limits: Limits | None = None
) -> Upload | None:
    from recdash import ingest

    if source is None or isinstance(source, Upload):
        return source
    return ingest.read_upload("predictions", source, mapping=mapping, limits=limits)


class RatedPairs:
    """Encodes the users and items of several runs' rating predictions with shared codes."""

    def __init__(self, reference: Reference) -> None:
        self._users, self._items = reference.users.copy(), reference.items.copy()
        self._lock = Lock()

    def rows(self, table: pa.Table) -> RatedRows:
        """Returns the rows of a checked table that have a prediction; if a pair occurs several times, its
        first row.
        """
        with self._lock:
            user, item = self._users.codes(table["user_id"]), self._items.codes(table["item_id"])
        rating, guess = (table[name].to_numpy().astype(np.float64) for name in ("rating", "prediction"))
        key = (user.astype(np.int64) << _ITEM_BITS) | item
        rows = RatedRows(key, user, rating, guess).of(~np.isnan(guess))
        return rows.of(np.unique(rows.key, return_index=True)[1])


_ITEM_BITS = 32
"""Number of bits of an item's code in a key; the user's code has the other bits."""


def predictions_of(upload: Upload) -> Predictions:
    """Returns the rows that have a prediction, with users as codes, and the number of rows without one."""
    from recdash.engines.ids import IdIndex

    rating, guess = (upload.table[name].to_numpy().astype(np.float64) for name in ("rating", "prediction"))
    user, is_predicted = IdIndex().codes(upload.table["user_id"]), ~np.isnan(guess)
    return Predictions(
        user[is_predicted], rating[is_predicted], guess[is_predicted], int((~is_predicted).sum())
    )
