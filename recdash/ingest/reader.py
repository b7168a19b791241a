"""Reads files and tables into checked tables, or raises ``UploadError`` with every problem found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from recdash import arrow as pc
from recdash.domain.inputs import Recommendations, Upload, UploadStream
from recdash.domain.kinds import DateOrder, Order, TableKind
from recdash.errors import Problem, UploadError
from recdash.ingest import byte_source as contents
from recdash.ingest import online_tables
from recdash.ingest.aggregates import finish_aggregates
from recdash.ingest.attributes import (
    further_columns,
    note_texts_among_numbers,
    numbers_if_all,
    with_decimal_commas_read,
)
from recdash.ingest.cells import refuse_sets, with_cells, with_pairs
from recdash.ingest.column_inference import columns_of_run, columns_of_table, is_distance, with_header_checked
from recdash.ingest.columns import (
    ALWAYS,
    DATE_ORDERS,
    IDENTIFYING,
    NEVER,
    REVERSED,
    ROLES,
    ROW_BY_ROW,
    WIDE_ROLES,
    WITH_ATTRIBUTES,
    Columns,
    KnownOrder,
    Role,
    SharedColumns,
    TableMapping,
    listed,
    names_of,
    names_place,
    plain,
    role_named,
    wide_label,
)
from recdash.ingest.date_orders import orders_of_dates, with_date_choices
from recdash.ingest.file_names import without_suffixes
from recdash.ingest.formats.arrow_table import read_arrow
from recdash.ingest.formats.compressed import tables_of, unpacked
from recdash.ingest.formats.excel import sheets_of
from recdash.ingest.formats.json import read_document
from recdash.ingest.formats.raw_table import RawTable
from recdash.ingest.formats.registry import read_raw
from recdash.ingest.formats.relation import Relation, read_relation
from recdash.ingest.formats.type_rows import without_types
from recdash.ingest.layouts import ColumnBlock, Layout, blocks_of, layout_of, notices_of
from recdash.ingest.library_errors import FOREIGN, reason
from recdash.ingest.limits import MOST_CANDIDATES, UNLIMITED, Limits, keep_candidates_few, keep_within
from recdash.ingest.list_faults import repeated_pairs
from recdash.ingest.looks import Look, look_at
from recdash.ingest.parts import are_parts, in_order, joined, names_shown, naming_part, parts_in
from recdash.ingest.python_objects import Unnamed, is_object, refuse, table_of_object
from recdash.ingest.similarity_tables import (
    checked_pairs,
    checked_vectors,
    one_row_each,
    read_similarities,
    read_vectors,
)
from recdash.ingest.sources.address import address_in
from recdash.ingest.sources.fetch import fetched_copy
from recdash.ingest.timestamps import known_zone
from recdash.ingest.values import READERS, ColumnCheck, Findings, is_text, note_gaps, note_missing
from recdash.ingest.values import plain as decoded
from recdash.ingest.variant_spellings import note_variant_spellings

Source = Any  # str | Path | bytes | file object | dict | Arrow stream | one of python_objects.FORMS
Mapped = Mapping[str, str] | None
UNKNOWN_ORDER = KnownOrder()

SPLITTING = ("run", "replicate")
"""Roles of the columns that name the candidate and the replicate of a row."""
NOUNS = ("fold", "seed", "split", "repeat")
BETWEEN = "\x1f"
MOST_RUNS = 100
MOST_SHOWN = 1000
"""Characters of a value in a preview."""
RowFilter = Mapping[str, str]
"""A filter for the rows of a file, such as {"run": "als", "replicate": "1"}; empty for all rows."""


@dataclass(frozen=True)
class Opened:
    """A raw table with its roles assigned, ready to be checked; ``given_name`` is the user's name for it."""

    kind: TableKind
    name: str
    given_name: str | None
    raw: RawTable
    columns: Columns
    layout: Layout
    limits: Limits
    zone: str | None = None
    explicit: Mapping[str, str] = field(default_factory=dict)
    """{role: column} as the user mapped them for this table."""
    known_order: KnownOrder = UNKNOWN_ORDER
    dates: Mapping[str, DateOrder] = field(default_factory=dict)
    """Column of dates with slashes → what a number above 12 shows to come first."""

    @property
    def notices(self) -> list[Problem]:
        layout = notices_of(self.layout, self.columns, self.kind == "run")
        by_rank = self.raw.is_trec and "rank" in self.columns.mapping
        of_file = [notice for notice in self.raw.notices if not (by_rank and notice.code == "trec")]
        return [*of_file, *self.columns.notices, *layout]

    @property
    def mapping(self) -> dict[str, str]:
        """Returns role → column for display; all columns of a wide list have one label."""
        label = wide_label(self.columns.wide)
        mapping = {**self.columns.mapping, **self.columns.marked_items}
        mapping |= {WIDE_ROLES[self.kind].role.name: label} if label else {}
        mapping |= {role: f"{mapping[role]}{_mark_of(order)}" for role, order in self.columns.dates.items()}
        if self.columns.reversed_score:
            mapping["score"] = f"{REVERSED}{mapping['score']}"
        return mapping


def _mark_of(order: DateOrder) -> str:
    return next(mark for mark, stated in DATE_ORDERS.items() if stated == order)


# ── public ───────────────────────────────────────────────────────────────────────────────────


def read_recommendations(
    source: Source,
    *,
    name: str | None = None,
    mapping: Mapped = None,
    limits: Limits | None = None,
    order: Order | None = None,
    checked: bool = False,
) -> list[Recommendations]:
    """Returns the candidates in ``source``: one or several.

    There are several if a column names the recommender, if each has a column of lists or scores, or if each
    is a file of a zip archive. A column that names a fold or training seed gives a candidate several entries
    with the same name, its replicates. ``order`` is what orders the lists, if stated; without it, a rank that
    contradicts the scores is a problem. ``checked``: the table was read before, and a doubtful reading is no
    problem. The header and the first rows are checked now, the values while ``batches()`` is read. Raises
    ``UploadError`` with all problems.
    """
    request = TableRequest("run", source, name, mapping, limits, known_order=KnownOrder(order, checked))
    try:
        request = replace(request, source=_reopenable(source, name))
        tables = _runs_in(request)
    except UploadError as error:
        raise UploadError(error.problems, _names(request)[0]) from error
    if tables:
        how: dict[str, Any] = {"mapping": mapping, "limits": limits, "order": order, "checked": checked}
        return [run for own, table in tables for run in read_recommendations(table, name=own, **how)]
    opened = _open(request)
    try:
        several = [_split(of_model) for of_model in _by_model(opened)]
    except UploadError as error:
        raise UploadError(error.problems, opened.name) from error
    runs = []
    for table, parts in several:
        for part in parts:
            run_name = table.name
            if "run" in part:
                run_name = f"{table.given_name}: {part['run']}" if table.given_name else part["run"]
            runs.append(_recommendations(table, run_name, part))
    return runs


def members(source: Source, *, limits: Limits | None = None) -> tuple[str, ...]:
    """Returns the names of the tables in a zip archive of several; an empty tuple for any other source.

    Raises ``UploadError`` for a file that cannot be read, a damaged archive, and tables that exceed the
    limits together.
    """
    return _members(_reopenable(source, None), limits)


def sheets(source: Source, *, limits: Limits | None = None) -> tuple[str, ...]:
    """Returns the names of the sheets of a workbook that hold a table; an empty tuple for any other source.

    Raises ``UploadError`` for a damaged workbook, and for one that exceeds the limits.
    """
    content = _reopenable(source, None)
    return sheets_of(content, limits or UNLIMITED) if isinstance(content, contents.Content) else ()


def _members(source: Source, limits: Limits | None) -> tuple[str, ...]:
    names = tables_of(source, limits or UNLIMITED) if isinstance(source, contents.Content) else ()
    return names if len(names) > 1 and not are_parts(names) else ()


def _runs_in(request: TableRequest) -> list[tuple[str, contents.Content]]:
    """Returns each table of an archive of several, with the name of its candidate; none for other sources.

    Raises ``UploadError`` if some are clearly no runs.
    """
    names = _members(request.source, request.limits)
    if not names:
        return []
    from recdash.ingest.sorting import Context, sort_files

    tables = [replace(request.source, member=name) for name in names]
    shown = names_shown(names)
    looks = [look(table, name=name, limits=request.limits) for table, name in zip(tables, shown, strict=True)]
    kinds = sort_files(looks, Context(has_truth=True))
    other = [
        f"'{name}' ({table.kind})"
        for name, table in zip(shown, kinds, strict=True)
        if table.kind not in (None, "run")
        and table.confidence != "unsure"
        and (table.kind, table.confidence) != ("train", "likely")  # lists without a rank may look like it
    ]
    if other:
        finding = f"the zip archive holds other tables than runs: {', '.join(other[:5])}"
        fix = "Add the archive without saying that it is a run, so that each table is recognised."
        raise UploadError(Problem("zip-members", "file", finding, fix))
    own = [without_suffixes(name) or name for name in shown]
    own = [f"{request.name}: {name}" for name in own] if request.name else own
    return list(zip(own, tables, strict=True))


def _by_model(opened: Opened) -> Iterator[Opened]:
    """Yields the table once per column of lists or scores, named after the column.

    It yields the table itself if there are no such columns.
    """
    if not (opened.columns.models or opened.columns.scores):
        yield opened
    for column in opened.columns.scores:
        columns = replace(opened.columns, mapping={**opened.columns.mapping, "score": column})
        name = f"{opened.given_name}: {column}" if opened.given_name else column
        yield replace(opened, columns=columns, name=name, given_name=name)
    models = opened.columns.models
    if opened.given_name in models:  # the candidate has the name of one of them
        models = (opened.given_name,)
    for column in models:
        scores = opened.raw.scores
        mapping = {role: c for role, c in opened.columns.mapping.items() if c not in scores.values()}
        mapping |= {"item_id": column} | ({"score": scores[column]} if column in scores else {})
        columns = replace(opened.columns, mapping=mapping)
        name = f"{opened.given_name}: {column}" if opened.given_name and len(models) > 1 else column
        yield replace(opened, columns=columns, name=name, given_name=name)


def read_upload(
    kind: TableKind,
    source: Source,
    *,
    name: str | None = None,
    mapping: Mapped = None,
    relevance: str | None = None,
    zone: str | None = None,
    experiment: str | None = None,
    limits: Limits | None = None,
) -> Upload:
    """Returns a checked table of ``kind``, which is in memory.

    ``relevance`` (truth only): None uses the relevance or rating column if there is one, ``"none"`` ignores
    it (every row is relevant), any other value names the column. ``zone`` (online logs): time zone of
    timestamps without one, such as Europe/Berlin; None for UTC. ``experiment`` (exposures): which one to read
    if the table has several. Raises ``UploadError`` with all problems found.
    """
    opened = _open_table(TableRequest(kind, source, name, mapping, limits), relevance, zone)
    findings = Findings()
    try:
        table = _as_table(list(_of_one_type(_checked(opened, _roles(opened), findings))))
        table = online_tables.of_one_experiment(table, experiment) if kind == "exposures" else table
        table = finished(opened, table, findings)
    except UploadError as error:
        raise UploadError(error.problems, opened.name) from error
    return Upload(kind, opened.name, table, opened.mapping, (*opened.notices, *findings.notices))


def read_stream(
    kind: Literal["truth", "train", "events", "served"],
    source: Source,
    *,
    name: str | None = None,
    mapping: Mapped = None,
    relevance: str | None = None,
    zone: str | None = None,
    limits: Limits | None = None,
) -> UploadStream:
    """Returns a stream of batches with the rows that ``read_upload`` would keep in memory.

    The header and the first rows are checked now, the values while ``batches()`` is read; both raise
    ``UploadError`` with all problems found.
    """
    opened = _open_table(TableRequest(kind, source, name, mapping, limits), relevance, zone)
    notices = opened.notices

    def batches() -> Iterator[pa.RecordBatch]:
        findings = Findings()
        try:
            yield from _of_one_type(_checked(opened, _roles(opened), findings))
        except UploadError as error:
            raise UploadError(error.problems, opened.name) from error
        notices.extend(findings.notices)

    return UploadStream(kind, opened.name, batches, notices, opened.mapping)


@dataclass(frozen=True)
class Preview:
    """What is known about a file before all of it is read: format, roles, first rows, problems and notices.

    ``columns`` are the names to choose from, ``mapping`` the roles as guessed or given, ``rows`` the first
    rows as text. ``reversible`` are score columns whose smallest value may be the best, written as in a
    mapping: ``-distance``. Only the values of the first block are checked.
    """

    kind: TableKind
    name: str
    format: str = ""
    columns: tuple[str, ...] = ()
    reversible: tuple[str, ...] = ()
    mapping: Mapping[str, str] | None = None
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    rows: tuple[Mapping[str, str], ...] = ()
    notices: tuple[Problem, ...] = ()
    problems: tuple[Problem, ...] = ()
    n_rows: int | None = None


def preview(
    kind: TableKind,
    source: Source,
    *,
    name: str | None = None,
    mapping: Mapped = None,
    zone: str | None = None,
    limits: Limits | None = None,
    rows: int = 8,
) -> Preview:
    """Returns how ``source`` would be read as ``kind``.

    Bad data gives problems in the result, and no error.
    """
    request = TableRequest(kind, source, name, mapping, limits)
    required = tuple(role.name for role in ROLES[kind] if role.required)
    optional = tuple(role.name for role in ROLES[kind] if not role.required)
    outline = Preview(kind, _names(request)[0], mapping={}, required=required, optional=optional)
    try:
        opened = replace(_assigned(request), zone=known_zone(zone))
    except UploadError as error:
        return replace(outline, problems=error.problems)
    findings, problems = Findings(), opened.columns.problems
    if not problems:
        problems = _first_block_problems(opened, findings)
    shown_mapping = opened.mapping
    if opened.columns.models:  # each list column is a candidate, and none of them is the item column
        shown_mapping.pop("item_id", None)
    sample: tuple[Mapping[str, str], ...] = ()
    with suppress(UploadError):  # which is already among the problems
        sample = tuple(map(_shortened, opened.raw.sample()[:rows]))
    return replace(
        outline,
        name=opened.name,
        format=opened.raw.format,
        columns=opened.raw.columns + opened.columns.families,
        reversible=_reversible(opened) if kind == "run" else (),
        mapping=shown_mapping,
        rows=sample,
        notices=(*opened.notices, *findings.notices),
        problems=problems,
        n_rows=opened.raw.n_rows,
    )


def _shortened(row: Mapping[str, str]) -> dict[str, str]:
    """Returns the row with long values cut: a page shows their beginning, and one may have megabytes."""
    return {
        column: value if len(value) <= MOST_SHOWN else f"{value[: MOST_SHOWN - 1]}…"
        for column, value in row.items()
    }


def checked_rows(
    kind: TableKind,
    source: Source,
    findings: Findings,
    *,
    name: str | None = None,
    mapping: Mapped = None,
    limits: Limits | None = None,
) -> tuple[Opened, Iterator[pa.RecordBatch]]:
    """Returns the opened table and all its rows, checked; of a run with the names of recommenders and
    replicates.

    The problems and notices of the rows are added to ``findings``. Raises ``UploadError`` like
    ``read_upload``, also while the rows are read.
    """
    opened = _open(TableRequest(kind, source, name, mapping, limits))
    if kind != "run":
        return opened, _of_one_type(_checked(opened, _roles(opened), findings))
    tables = []
    for of_model in _by_model(opened):
        try:
            table, _ = _split(of_model)
        except UploadError as error:
            raise UploadError(error.problems, opened.name) from error
        tables.append(table)
    wanted = [
        [
            *(role for role in _roles(table)),
            *(role_named("run", role) for role in SPLITTING if role in table.columns.mapping),
        ]
        for table in tables
    ]
    return tables[0], _of_one_type(
        _of_candidate(batch, table.name) if len(tables) > 1 else batch
        for table, roles in zip(tables, wanted, strict=True)
        for batch in _checked(table, roles, findings)
    )


def _of_candidate(batch: pa.RecordBatch, name: str) -> pa.RecordBatch:
    """Returns the batch with the candidate's name as the column ``run``."""
    return batch.append_column("run", pa.repeat(name, batch.num_rows))


def look(source: Source, *, name: str | None = None, limits: Limits | None = None) -> Look:
    """Returns the first rows of ``source``, whatever table it is; bad data gives problems in the result."""
    limits = limits or UNLIMITED
    shown = _names(TableRequest("run", source, name, None, limits))[0]
    try:
        if _is_in_memory(source):
            return look_at(_raw("run", source, name, limits), 0, shown)
        raw, size = _raw_of_file(source, name, "run", limits)
        _refuse_no_rows(raw)
        return look_at(raw, size, shown)
    except UploadError as error:
        return Look(shown, problems=error.problems)


def _reversible(opened: Opened) -> tuple[str, ...]:
    """Returns the columns in which lower may be better, each with ``-`` before its name.

    These are the score, and columns named like scores or distances.
    """
    chosen, scores = opened.columns.mapping.get("score"), names_of(role_named("run", "score"))
    columns = [c for c in opened.raw.columns if c == chosen or is_distance(c) or plain(c) in scores]
    return tuple(f"{REVERSED}{column}" for column in columns)


def _first_block_problems(opened: Opened, findings: Findings) -> tuple[Problem, ...]:
    roles = _roles(opened)
    roles += [role_named("run", name) for name in SPLITTING if name in opened.columns.mapping]
    try:
        next(_checked(opened, roles, findings), None)
    except UploadError as error:
        return error.problems
    return tuple(findings.problems)


# ── opening ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class TableRequest:
    """What to read and how.

    ``without`` are roles to leave out, ``known_order`` is what the user need not be asked.
    """

    kind: TableKind
    source: Source
    name: str | None
    mapping: Mapped
    limits: Limits | None
    without: Sequence[str] = ()
    known_order: KnownOrder = UNKNOWN_ORDER


def _open(request: TableRequest) -> Opened:
    """Returns the opened table. Raises ``UploadError`` for problems of format, header and mapping."""
    try:
        opened = _assigned(request)
    except UploadError as error:
        raise UploadError(error.problems, _names(request)[0]) from error
    if opened.columns.problems:
        raise UploadError(opened.columns.problems, opened.name)
    return opened


def _open_table(request: TableRequest, relevance: str | None, zone: str | None) -> Opened:
    """Returns the opened table of any kind but a run; ``relevance`` and ``zone`` as in ``read_upload``."""
    mapping = request.mapping
    without = ("relevance",) if relevance == "none" else ()
    chosen = {"relevance": relevance} if relevance and not without else {}
    shared = mapping.shared if isinstance(mapping, TableMapping) else SharedColumns({})
    full_mapping = TableMapping({**(mapping or {}), **chosen}, shared)
    opened = _open(replace(request, mapping=full_mapping, without=without))
    try:
        return replace(opened, zone=known_zone(zone))
    except UploadError as error:
        raise UploadError(error.problems, opened.name) from None


def _assigned(request: TableRequest) -> Opened:
    kind, mapping, known_order = request.kind, request.mapping, request.known_order
    limits = request.limits or UNLIMITED
    _check_mapping(mapping)
    name_shown, given_name = _names(request)
    raw = _raw(kind, request.source, request.name, limits)
    if raw.without_header:
        names_a_place = names_place((mapping or {}).values(), raw.columns)
        if names_a_place or (isinstance(mapping, TableMapping) and mapping.shared_names_place(raw.columns)):
            raw = raw.without_header()
    raw = raw if known_order.checked else with_pairs(raw, kind)
    _refuse_no_rows(raw)
    explicit = dict(mapping or {})
    if isinstance(mapping, TableMapping):
        explicit = mapping.within(kind, name_shown, raw.columns)
    columns = with_date_choices(raw, kind, _columns(kind, raw, explicit, request.without, known_order))
    if not known_order.checked:
        columns = with_header_checked(raw, kind, columns)
    if columns.problems and isinstance(mapping, TableMapping):
        unmet = mapping.unmet(kind, raw.columns, columns.mapping)
        columns = replace(columns, problems=(*unmet, *columns.problems))
    layout: Layout = "rows" if columns.problems or kind in ROW_BY_ROW else layout_of(raw, columns)
    dates = {} if columns.problems else orders_of_dates(raw, kind, columns)
    how: dict[str, Any] = {"explicit": explicit, "known_order": known_order, "dates": dates}
    return Opened(kind, name_shown, given_name, raw, columns, layout, limits, **how)


def _refuse_no_rows(raw: RawTable) -> None:
    if raw.n_rows == 0:
        finding = f"a header ({listed(raw.columns)}) but no rows"
        raise UploadError(Problem("no-rows", "file", finding, "Upload a table with rows."))


def _check_mapping(mapping: object) -> None:
    if mapping is not None and not isinstance(mapping, Mapping):
        finding, fix = f"{type(mapping).__name__}, not a dict", 'Write {"user_id": "uid", "item_id": "sku"}.'
        raise UploadError(Problem("bad-columns", "mapping", finding, fix))


def _columns(
    kind: TableKind,
    raw: RawTable,
    mapping: Mapping[str, str],
    without: Sequence[str],
    known_order: KnownOrder,
) -> Columns:
    if kind == "run":
        return columns_of_run(raw, mapping, without, known_order)
    columns = columns_of_table(kind, raw, mapping, without)
    return with_cells(raw, kind, columns, {*mapping, *without})


def _raw(kind: TableKind, source: Source, name: str | None, limits: Limits) -> RawTable:
    if not _is_in_memory(source):
        return _raw_of_file(source, name, kind, limits)[0]
    source = table_of_object(source, kind)
    if isinstance(source, Relation):
        return read_relation(source)
    if isinstance(source, Unnamed):
        return replace(read_arrow(source.table), roles={name: name for name in source.table.column_names})
    if kind == "run":
        refuse_sets(source)
    if isinstance(source, Mapping | list):
        return without_types(read_document(dict(source) if isinstance(source, Mapping) else source, kind))
    return without_types(read_arrow(source))


def _is_in_memory(source: Source) -> bool:
    """Returns whether the source is a table in memory or of a database, not a file."""
    is_arrow = hasattr(source, "__arrow_c_stream__") and not isinstance(source, type)
    return is_arrow or isinstance(source, Mapping | Relation) or is_object(source)


def _raw_of_file(source: Source, name: str | None, kind: TableKind, limits: Limits) -> tuple[RawTable, int]:
    """Returns the raw table of a file, or of all parts of one table, and the unpacked size."""
    if _is_folder_of_parts(source):
        parts = [contents.of_path(path) for path in parts_in(Path(source))]
    else:
        content = _content(source, name)
        names = tables_of(content, limits)
        parts = [replace(content, member=part) for part in in_order(names)] if are_parts(names) else [content]
    if len(parts) == 1:
        file = unpacked(parts[0], limits)
        return read_raw(file, kind, limits), file.size
    files = []
    for part in parts:
        with naming_part(part.member or part.name):
            files.append(unpacked(part, limits))
    size = sum(file.size for file in files)
    keep_within(limits, "upload_bytes" if parts[0].member is None else "inflated_bytes", size)
    filled = [file for file in files if file.size] or files[:1]
    tables = [(file.name, _raw_of_part(file, kind, limits)) for file in filled]
    with_rows = [(part, table) for part, table in tables if table is not None]
    return joined(with_rows) if with_rows else read_raw(filled[0], kind, limits), size


def _raw_of_part(file: contents.Content, kind: TableKind, limits: Limits) -> RawTable | None:
    """Returns the raw table of a part; None for one without anything that could be a header or a row."""
    try:
        with naming_part(file.name):
            return read_raw(file, kind, limits)
    except UploadError as error:
        if {problem.code for problem in error.problems} == {"no-rows"}:
            return None
        raise


def _reopenable(source: Source, name: str | None) -> Source:
    """Returns the content of a file, a stream or a pipe, to read it repeatedly; other sources unchanged."""
    return source if _is_in_memory(source) or _is_folder_of_parts(source) else _content(source, name)


def _is_folder_of_parts(source: Source) -> bool:
    return contents.is_folder(source) and address_in(source) is None


def _content(source: Source, name: str | None) -> contents.Content:
    """Returns the content of a file; its name is empty if none is known."""
    if isinstance(source, contents.Content):
        return source
    if isinstance(source, contents.Member):
        return replace(_content(source.file, name), name=Path(source.name).name, member=source.name)
    if isinstance(source, contents.Sheet):
        return replace(_content(source.file, name), sheet=source.name)
    if isinstance(source, str) and not source:
        raise UploadError(Problem("no-file", "source", "the path is empty", "Name one readable file."))
    if isinstance(source, str | Path):
        return _content_at(source)
    if isinstance(source, contents.OpenFile):
        return contents.of_open_file(replace(source, name=name or source.name))
    if hasattr(source, "read"):
        name = name or str(getattr(source, "name", None) or "")
        source = contents.bytes_of(source)
    if isinstance(source, bytes | bytearray | memoryview):
        return contents.of_bytes(bytes(source), name or "")
    raise refuse(source)


def _content_at(place: str | Path) -> contents.Content:
    """Returns the content of a file at a path, or that of a copy of the table at an address."""
    if (address := address_in(place)) is None:
        return contents.of_path(Path(place))
    copy, name = fetched_copy(address)
    return contents.of_copy(copy, contents.of_bytes(b"", name))


def _names(request: TableRequest) -> tuple[str, str | None]:
    """Returns the name to show, and the name given by the user or None.

    A file's own name is shown without its suffixes.
    """
    if request.name:
        return request.name, request.name
    if (address := address_in(request.source)) is not None:
        return without_suffixes(address.name) or address.name, None
    source = request.source.file if isinstance(request.source, contents.Sheet) else request.source
    source = Path(source.name) if isinstance(source, contents.Member) else source
    # only files have names: on a data frame .name would be a column
    own = source if isinstance(source, str | Path) else getattr(source, "name", None)
    is_open = hasattr(source, "read") or isinstance(source, contents.OpenFile | contents.Content)
    is_file = isinstance(source, str | Path) or (is_open and own)
    file_name = Path(str(own)).name if is_file else request.kind
    return without_suffixes(file_name) or file_name or "upload", None


def _split(opened: Opened) -> tuple[Opened, list[RowFilter]]:
    """Returns the table, and a filter for the rows of each recommender and replicate.

    A column that was only guessed must name several of them; otherwise the table is read without it.
    """
    explicit, columns = opened.explicit, opened.columns
    names_by_role = {
        role: _names_in(opened, role, certain=role in explicit or opened.raw.roles is not None)
        for role in SPLITTING
        if role in columns.mapping
    }
    splitting = {role: names for role, names in names_by_role.items() if len(names) > 1}
    needless = tuple(role for role in names_by_role if role not in splitting)
    if needless and (columns.models or columns.scores):  # keep the column of lists or scores
        mapping = {role: column for role, column in columns.mapping.items() if role not in needless}
        columns = replace(columns, mapping=mapping)
    elif needless:
        needed = {role: column for role, column in explicit.items() if role not in needless}
        columns = _columns("run", opened.raw, needed, needless, opened.known_order)
    name = opened.name
    if "run" in needless and names_by_role["run"] and opened.given_name is None:
        name = names_by_role["run"][0]
    notices = []
    for role, names in splitting.items():
        column, noun = columns.mapping[role], "recommenders"
        if role == "replicate":
            names, noun = sorted(names, key=_by_number), f"{noun_of(column)}s of one candidate"  # noqa: PLW2901
        finding = f"names {len(names)} {noun}: {', '.join(names[:10])}"
        notices.append(Problem(f"several-{role}s", f"column '{column}'", finding, ""))
    columns = replace(columns, notices=(*columns.notices, *notices))
    opened = replace(opened, columns=columns, name=name)
    return opened, _parts(opened, tuple(splitting)) if splitting else [{}]


def _names_in(opened: Opened, role: str, *, certain: bool) -> list[str]:
    """Returns the distinct names in the role's column, in the order of first appearance.

    The result is empty if the column was only guessed, and its values show that it does not name recommenders
    or replicates: it has one value or too many, or a guessed replicate column says train and test, or yes and
    no. ``certain``: the column was not guessed. Raises ``UploadError`` for a type that cannot be read as
    names.
    """
    column = opened.columns.mapping[role]
    distinct: dict[str, None] = {}
    for batch in opened.raw.blocks([column], {column}):
        values = batch.column(0)
        values = values.unique() if pa.types.is_dictionary(values.type) else values
        distinct.update(dict.fromkeys(_texts(values, column, opened).unique().to_pylist()))
        if certain:
            keep_candidates_few(len(distinct), f"column '{column}'")
        elif len(distinct) > MOST_CANDIDATES:
            return []
    names = [name for name in distinct if name]
    words = {name.lower() for name in names}
    is_flag = bool(words & {"train", "training", "test"}) or words <= {"true", "false", "yes", "no"}
    guess_holds = 1 < len(names) <= MOST_RUNS and not (role == "replicate" and is_flag)
    return names if certain or guess_holds else []


def _parts(opened: Opened, roles: Sequence[str]) -> list[RowFilter]:
    """Returns a filter for each combination of names that occurs in the rows.

    Replicates are sorted by number; otherwise the order is that of first appearance.
    """
    columns = [opened.columns.mapping[role] for role in roles]
    combinations: dict[tuple[str, ...], None] = {}
    for batch in opened.raw.blocks(columns, set(columns)):
        texts = [_texts(batch.column(index), column, opened) for index, column in enumerate(columns)]
        joined = pc.binary_join_element_wise(*texts, BETWEEN) if len(texts) > 1 else texts[0]
        joined_names = joined.unique().to_pylist()
        combinations.update({tuple(name.split(BETWEEN)): None for name in joined_names if name})
    parts: list[RowFilter] = [dict(zip(roles, names, strict=True)) for names in combinations if all(names)]
    return sorted(parts, key=lambda part: _by_number(part.get("replicate", "")))


def _by_number(label: str) -> list[tuple[float, str]]:
    """Returns a key that sorts labels by the numbers in them: fold 2 before fold 10."""
    pieces = re.findall(r"(\d+)|(\D+)", label)
    return [(float(digits or "inf"), text) for digits, text in pieces]


def _texts(values: pa.Array, column: str, opened: Opened) -> pa.Array:
    check = ColumnCheck(role_named("run", "run"), column, Findings(), opened.raw.where, opened.raw.decimal)
    return _read(values, check).cast(pa.string())


def noun_of(column: str) -> str:
    """Returns the noun for one replicate, from the name of the column: ``cv_fold`` gives ``fold``."""
    return next((noun for noun in NOUNS if noun in column.lower()), "replicate")


# ── reading ──────────────────────────────────────────────────────────────────────────────────


def _recommendations(opened: Opened, name: str, part: RowFilter) -> Recommendations:
    roles = [role for role in ("user_id", "item_id", "rank", "score") if role in opened.mapping]
    notices = opened.notices
    by_place = {(n.code, n.place): n for n in notices}

    def batches(columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        findings = Findings()
        wanted = roles if columns is None else [role for role in columns if role in roles]
        for batch in _checked(opened, _with_ids(opened, wanted, part), findings, part):
            yield batch if batch.schema.names == wanted else batch.select(wanted)
        by_place.update({(n.code, n.place): n for n in findings.notices})
        notices[:] = by_place.values()

    return Recommendations(
        name,
        batches,
        has_rank="rank" in roles,
        has_score="score" in roles,
        is_trec=opened.raw.is_trec,
        mapping={role: column for role, column in opened.mapping.items() if role in roles},
        notices=notices,
        n_rows=opened.raw.n_rows if opened.layout == "rows" and not part else None,
        replicate=part.get("replicate"),
        noun=noun_of(opened.mapping["replicate"]) if "replicate" in part else "",
    )


def _with_ids(opened: Opened, wanted: Sequence[str], part: RowFilter) -> list[Role]:
    """Returns the roles to read, including both ids, so that every pass leaves out the same rows.

    An id without missing values is not read unless it is wanted.
    """
    mapping, whole = opened.columns.mapping, opened.raw.whole_ids
    needless = opened.layout == "rows" and {"user_id", "item_id"} <= set(mapping)
    extra = [r for r in ("user_id", "item_id") if r not in wanted and not (needless and mapping[r] in whole)]
    return [_as_written(role_named("run", name), opened.columns) for name in (*wanted, *extra, *part)]


def _as_written(role: Role, columns: Columns) -> Role:
    """Returns the role with the form of its values: ranks from 0, or scores for which lower is better."""
    if role.name == "rank" and columns.ranks_from == 0:
        return replace(role, reading="rank from 0")
    if role.name == "score" and columns.reversed_score:
        return replace(role, reading="reversed score")
    return role


def _roles(opened: Opened) -> list[Role]:
    """Returns all roles of the table, and a role for every attribute and every part of a vector."""
    mapping = opened.columns.mapping if opened.layout == "rows" else opened.mapping
    roles = [role for role in ROLES[opened.kind] if role.name in mapping and role.name not in SPLITTING]
    # Without sessions, no row needs what only rows of a session need.
    needed = {ALWAYS, NEVER, *mapping}
    roles = [replace(role, required=True) if role.whole and role.filled in needed else role for role in roles]
    roles = [_as_written(role, opened.columns) for role in roles]
    if opened.layout == "rows":
        roles += [Role(column, "number", "") for column in opened.columns.wide]
    if opened.kind in WITH_ATTRIBUTES:
        taken = {*opened.columns.mapping, *opened.columns.mapping.values()}
        free = [c for c in opened.raw.columns if c not in taken]
        roles += [Role(column, "extra", "", required=False) for column in free]
    return roles


def _checked(
    opened: Opened, roles: Sequence[Role], findings: Findings, part: RowFilter | None = None
) -> Iterator[pa.RecordBatch]:
    """Yields the checked blocks of the table; after a problem, the rest is only searched for other problems.

    Raises ``UploadError`` at the end if there were problems, or if no row is left.
    """
    columns = opened.columns
    own = {role.name: role.name for role in roles if role.name not in opened.mapping}
    columns = replace(columns, mapping={**own, **columns.mapping}) if own else columns
    ids = [role.name for role in roles if role.reading in CODED]
    names = [role.name for role in roles]
    findings.dates.update(opened.dates)
    n_rows = n_kept = 0
    try:
        for block in blocks_of(opened.raw, columns, opened.layout, names, ids, findings):
            n_rows += len(block)
            keep_within(opened.limits, "rows", n_rows)
            batch = _checked_block(
                _without_headers(block, opened, findings), roles, opened, findings, part or {}
            )
            n_kept += batch.num_rows
            if not findings.problems and batch.num_rows:
                yield batch
    except UploadError as error:
        raise UploadError(dict.fromkeys([*findings.problems, *error.problems]), opened.name) from error
    if findings.problems:
        raise UploadError(findings.problems, opened.name)
    if not (n_kept or (n_rows and part)):
        finding = "no row has all its ids" if n_rows else "no rows"
        raise UploadError(Problem("no-rows", "file", finding, "Upload a table with rows."), opened.name)


HEADER_AGAIN = "the header line occurs again in {rows}"


def _without_headers(block: ColumnBlock, opened: Opened, findings: Findings) -> ColumnBlock:
    """Returns the block without rows that repeat the header line, as joined files have them."""
    if not opened.raw.header or opened.layout != "rows" or len(block.columns) < 2:
        return block
    names = {role: opened.columns.mapping.get(role, role) for role in block.columns}
    if not all(_may_hold(array, names[role]) for role, array in block.columns.items()):
        return block
    again = reduce(pc.and_, (pc.equal(decoded(array), names[role]) for role, array in block.columns.items()))
    again = pc.fill_null(again, False)
    count = int(pc.sum(again, min_count=0).as_py() or 0)
    if not count:
        return block
    first = pc.index(again, True).as_py()
    fix = "These rows are ignored. Write the header once, at the top."
    findings.notice("header-again", "file", HEADER_AGAIN, fix, count, lambda: block.where(first))
    numbers, name = block.numbers(), next(iter(names.values()))
    if findings.rejects is not None:
        findings.rejects.add(
            numbers[again.to_numpy(zero_copy_only=False)], name, name, "the header line again"
        )
    return _filtered(block, pc.invert(again))


def _filtered(block: ColumnBlock, kept: pa.Array) -> ColumnBlock:
    """Returns the block with the rows where ``kept`` is true."""
    place = np.flatnonzero(kept.to_numpy(zero_copy_only=False))
    return ColumnBlock(
        {role: array.filter(kept) for role, array in block.columns.items()},
        lambda row: block.where(int(place[row])),
        lambda: block.numbers()[place],
    )


def _may_hold(array: pa.Array, name: str) -> bool:
    """Returns whether a column of text may have ``name`` among its values."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary
    return pa.types.is_string(array.type) and pc.index(array, name).as_py() >= 0


CODED = ("id", "run", "label", "label name", "event")
"""Ways of reading columns that are dictionary-encoded if they are text."""


def _checked_block(
    block: ColumnBlock, roles: Sequence[Role], opened: Opened, findings: Findings, part: RowFilter
) -> pa.RecordBatch:
    """Returns the checked rows of a block, without those that lack an id.

    The ids come first: what else stands in a row without them, such as a footer, is neither read nor refused.
    """
    checked: dict[str, pa.Array] = {}
    keep = None
    for role in sorted(roles, key=lambda role: not _drops_rows(role)):
        if keep is not None and not _drops_rows(role):
            block, checked = _filtered(block, keep), {name: own.filter(keep) for name, own in checked.items()}
            keep = None
        array = block.columns[role.name]
        if opened.limits.value_chars is not None:
            values = array.dictionary if pa.types.is_dictionary(array.type) else array
            longest = pc.max(pc.utf8_length(values)).as_py() if is_text(values.type) else 0
            keep_within(opened.limits, "value_chars", longest or 0)
        column = opened.mapping.get(role.name, role.name)
        needed = checked[role.filled].is_valid() if role.filled in checked else None
        decimal, zone, order = opened.raw.decimal, opened.zone, opened.columns.dates.get(role.name)
        check = ColumnCheck(role, column, findings, block.where, decimal, needed, zone, block.numbers, order)
        checked[role.name] = _read(array, check)
        keep = _rows_kept(checked[role.name], check, keep)
    for role_name, label in part.items():
        of_part = pc.fill_null(pc.equal(checked.pop(role_name), label), False)
        keep = of_part if keep is None else pc.and_(keep, of_part)
    names = [role.name for role in roles if role.name in checked]
    batch = pa.RecordBatch.from_arrays([checked[name] for name in names], names)
    if findings.rejects is not None:
        mask = slice(None) if keep is None else keep.to_numpy(zero_copy_only=False)
        findings.rejects.kept.append(block.numbers()[mask])
    return batch if keep is None else batch.filter(keep)


_READERS = {**READERS, **online_tables.READERS, "vector": read_vectors, "similarity": read_similarities}


def _read(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns the column as read for its role. Raises ``UploadError`` for an unsuitable type."""
    try:
        return _READERS[check.role.reading](array, check)
    except FOREIGN as error:
        finding = f"{array.type} values cannot be read as {check.role.name} ({reason(error)})"
        fix = "Write plain numbers or text."
        if pa.types.is_struct(array.type):
            keys = listed([field.name for field in array.type])
            finding = f"each value is an object with the keys {keys}, where {check.role.name} is expected"
            fix = f"Write one plain value, such as that of '{array.type[0].name}'."
        raise UploadError(Problem("bad-type", check.place, finding, fix)) from error


def _drops_rows(role: Role) -> bool:
    """Returns whether a row without a value of the role is left out."""
    return role.required and role.reading in IDENTIFYING


def _rows_kept(array: pa.Array, check: ColumnCheck, keep: pa.Array | None) -> pa.Array | None:
    """Returns ``keep`` without rows that lack a required id, variant or metric; None keeps all rows."""
    role = check.role
    if not array.null_count or not _drops_rows(role):
        return keep
    if role.filled == NEVER:
        note_gaps(array, check)
        return keep
    note_missing(array, check)
    return array.is_valid() if keep is None else pc.and_(keep, array.is_valid())


# ── small tables: checks that need the whole table ────────────────────────────────────────────


def _of_one_type(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields the batches. Raises ``UploadError`` at the end if a column changed its type."""
    first: pa.Schema | None = None
    changed = ""
    for batch in batches:
        first = first or batch.schema
        changed = changed or next(
            (own.name for own in batch.schema if not own.equals(first.field(own.name))), ""
        )
        if not changed:
            yield batch
    if changed:
        finding = f"the values of {changed} change their type midway"
        raise UploadError(Problem("mixed-types", "columns", finding, "Use one form throughout each column."))


def _as_table(batches: Sequence[pa.RecordBatch]) -> pa.Table:
    table = pa.Table.from_batches(batches)
    coded = [field.name for field in table.schema if pa.types.is_dictionary(field.type)]
    table = table.unify_dictionaries().combine_chunks() if coded else table
    for name in coded:
        column = _occurring(table[name].combine_chunks())
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def _occurring(column: pa.DictionaryArray) -> pa.DictionaryArray:
    """Returns the column without dictionary entries that no row uses.

    Entries left over from categories or from dropped rows would otherwise count as users or items.
    """
    occurs = np.zeros(len(column.dictionary), dtype=bool)
    occurs[column.indices.drop_null().to_numpy()] = True
    if occurs.all():
        return column
    place = pa.array(np.cumsum(occurs, dtype=np.int32) - 1)
    return pa.DictionaryArray.from_arrays(
        place.take(column.indices), column.dictionary.filter(pa.array(occurs))
    )


def _finish_attributes(table: pa.Table, findings: Findings) -> pa.Table:
    """Returns the first row of each id; text columns with only numbers become numbers."""
    table = one_row_each(table, findings)
    for name in table.column_names:
        if name not in {"item_id", "user_id", "title"}:
            column = numbers_if_all(table[name])
            note_texts_among_numbers(column, name, findings)
            table = table.set_column(table.column_names.index(name), name, column)
    return table


def _finish_predictions(table: pa.Table, findings: Findings) -> pa.Table:
    """Returns the table, with a notice if predictions are clearly outside the range of the ratings.

    That is by more than a tenth of its width. Raises UploadError if no row has a prediction.
    """
    if pc.all(pc.is_nan(table["prediction"])).as_py():
        fix = "Choose the column with the predicted ratings."
        raise UploadError(Problem("no-prediction", "column 'prediction'", "no prediction in any row", fix))
    again = repeated_pairs(table)
    if count := int(again.sum()):
        row = int(np.argmax(again))
        example = f"user '{table['user_id'][row].as_py()}', item '{table['item_id'][row].as_py()}'"
        finding, fix = (
            f"{count:,} duplicate (user, item) rows",
            "Each counts in the errors. Keep one of them.",
        )
        findings.notice("duplicate-predictions", "table", finding, fix, count, lambda: example)
    low, high = pc.min_max(table["rating"]).as_py().values()
    slack = (high - low) / 10
    outside = pc.or_(pc.less(table["prediction"], low - slack), pc.greater(table["prediction"], high + slack))
    if count := pc.sum(outside).as_py():
        finding = f"predictions outside the rating scale {low:g} to {high:g} in {{rows}}"
        fix = "Bring both to one scale; otherwise RMSE and MAE are meaningless."
        value = table["prediction"].filter(outside)[0].as_py()
        findings.notice("outside-scale", "column 'prediction'", finding, fix, count, lambda: f"'{value:g}'")
    return table


FINISH: Mapping[TableKind, Callable[[pa.Table, Findings], pa.Table]] = {
    "catalogue": _finish_attributes,
    "users": _finish_attributes,
    "vectors": checked_vectors,
    "similarity": checked_pairs,
    "predictions": _finish_predictions,
    "sessions": lambda table, findings: further_columns(table, "sessions", findings),
    "aggregates": finish_aggregates,
    "exposures": lambda table, findings: further_columns(table, "exposures", findings, numbers=False),
    # without notices: a log of requests has many columns that say nothing about the whole request
    "interleaving": lambda table, _: further_columns(table, "interleaving", Findings(), numbers=False),
    "bandit": lambda table, findings: further_columns(table, "bandit", findings, most=None),
    "policy": lambda table, findings: further_columns(table, "policy", findings, most=None),
}
WITH_VARIANTS = ("sessions", "exposures", "aggregates")
"""Kinds of tables whose variants are compared."""


def finished(opened: Opened, table: pa.Table, findings: Findings) -> pa.Table:
    """Returns all rows of a table after the checks and conversions that need all rows; unchanged for kinds
    without any. Raises UploadError for what they refuse.
    """
    if opened.kind not in FINISH:
        return table
    if opened.raw.decimal == ",":
        table = with_decimal_commas_read(table, opened.kind)
    if opened.kind in WITH_VARIANTS:
        note_variant_spellings(table, findings)
    return FINISH[opened.kind](table, findings)
