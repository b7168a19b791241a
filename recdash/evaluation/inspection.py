"""Checks files before anything is stored, and lists the problems and notices of each."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pyarrow as pa

from recdash.domain.inputs import Recommendations, Upload
from recdash.domain.kinds import TableKind
from recdash.engines import Reference, match
from recdash.errors import InputError, Problem
from recdash.evaluation.candidates import group_by_candidate
from recdash.evaluation.column_choice import ColumnsGiven, read_column_choice
from recdash.evaluation.known_ids import TRUTH_AS_RUN
from recdash.evaluation.predictions import prediction_notices
from recdash.evaluation.reading import TABLES, read_tables, reference_of
from recdash.evaluation.request import CountingRules, read_question
from recdash.evaluation.scoring import Scoring, padding_notices, score_run, short_list_notices
from recdash.evaluation.uploads import can_be_read_again, read_uploads
from recdash.formatting.numbers import share
from recdash.formatting.result_table import frame
from recdash.formatting.sanitize import visible
from recdash.formatting.spreadsheet import safe_cell
from recdash.ingest.actions import Action, action_of, level_of
from recdash.ingest.notice_rules import NOTICE_RULES, read_codes, refused_by, way_of, with_example
from recdash.ingest.rejects import Reject

if TYPE_CHECKING:
    import pandas as pd

    from recdash.ingest import Limits
    from recdash.ingest.inspected import InspectedFile
    from recdash.ingest.looks import Look
    from recdash.ingest.sorting import SortedFile

INSPECTED: tuple[TableKind, ...] = (
    *(*TABLES, "sessions", "exposures", "events", "served", "aggregates", "interleaving"),
)
"""Kinds of tables that can be inspected."""
METRICS = "ndcg"
"""The metric with which lists are counted: its curve names the cutoffs of short lists."""
SHOWN_IDS = 3
TOGETHER = "Files that are inspected together are compared, as they are when added."


PROBLEM_COLUMNS = ("level", "code", "place", "found", "fix", "count", "example", "done", "otherwise")


@dataclass(frozen=True)
class Inspection:
    """The result of checking a file: its ``problems`` refuse it, its ``notices`` do not.

    ``kind`` is what the file is, None if that must be chosen; ``taken_for`` says why where it was not given.
    ``mapping`` is {role: column} as read. ``rows`` counts the rows that are read, None for a refused file;
    ``rejects`` lists the first of ``n_rejects`` rows that are dropped, or that are why the file is refused.

    Of a zip archive, or a workbook, of several tables, ``tables`` has the inspection of each; the problems
    and notices are those of all, each with the table in its place.
    """

    file: str
    kind: TableKind | None
    problems: tuple[Problem, ...] = ()
    notices: tuple[Problem, ...] = ()
    mapping: Mapping[str, str] = field(default_factory=dict)
    format: str = ""
    rows: int | None = None
    rejects: tuple[Reject, ...] = ()
    n_rejects: int = 0
    taken_for: tuple[str, ...] = ()
    tables: tuple[Inspection, ...] = ()

    @classmethod
    def of_tables(cls, name: str, tables: Sequence[Inspection]) -> Inspection:
        """Returns the inspection of a file with several tables."""
        kinds = {table.kind for table in tables}
        rows = [table.rows for table in tables]
        return cls(
            name,
            kinds.pop() if len(kinds) == 1 else None,
            tuple(_placed(problem, table) for table in tables for problem in table.problems),
            tuple(_placed(notice, table) for table in tables for notice in table.notices),
            rows=None if None in rows else sum(filter(None, rows)),
            n_rejects=sum(table.n_rejects for table in tables),
            tables=tuple(tables),
        )

    @property
    def action(self) -> Action:
        """Returns accept, accept with mapping, accept with warning, or reject; of several tables, that of the
        one that is worst.
        """
        if self.tables:
            return max((table.action for table in self.tables), key=get_args(Action).index)
        return action_of(self.problems, self.notices, self.mapping, by_format=self.format.startswith("JSON"))

    def table(self) -> pd.DataFrame:
        """Returns a frame with a row per problem and notice of the file."""
        rows = ({"file": table.file, **row} for table in self.each() for row in table.rows_found())
        return frame(rows, ("file", *PROBLEM_COLUMNS))

    def each(self) -> tuple[Inspection, ...]:
        """Returns the inspections of a file's tables, or this one for a file that is a table."""
        return self.tables or (self,)

    def rows_found(self) -> list[dict[str, Any]]:
        """Returns the problems and notices as plain values, with their levels."""
        if self.tables:
            placed = ((table, row) for table in self.tables for row in table.rows_found())
            return [{**row, "place": f"{table.file}: {row['place']}"} for table, row in placed]
        levels = [(problem, "problem") for problem in self.problems]
        levels += [(notice, level_of(notice, self.mapping)) for notice in self.notices]
        return [_as_dict(problem, level) for problem, level in levels]

    def as_dict(self) -> dict[str, Any]:
        """Returns the inspection as plain values for JSON."""
        return {
            "file": self.file,
            "kind": self.kind,
            "taken_for": list(self.taken_for),
            "action": self.action,
            "rows": self.rows,
            "format": self.format,
            "mapping": dict(self.mapping),
            "problems": self.rows_found(),
            "rejected_rows": self.n_rejects,
            **({"tables": [table.as_dict() for table in self.tables]} if self.tables else {}),
        }


def _placed(problem: Problem, table: Inspection) -> Problem:
    """Returns a problem of a table with the table's name in its place."""
    return replace(problem, place=f"{table.file}: {problem.place}")


def _as_dict(problem: Problem, level: str) -> dict[str, Any]:
    return {
        "level": level,
        "code": problem.code,
        "place": problem.place,
        "found": problem.found,
        "fix": problem.fix,
        "count": problem.count,
        "example": problem.example,
        **_choice_of(problem.code, level),
    }


def _choice_of(code: str, level: str) -> dict[str, str]:
    """Returns what was done about a notice, and how to choose otherwise; empty for a problem."""
    rule = NOTICE_RULES.get(code)
    return {} if rule is None or level == "problem" else {"done": rule.done, "otherwise": way_of(code)}


def inspect(
    source: Any,
    kind: TableKind | None = None,
    *,
    name: str | None = None,
    columns: ColumnsGiven | None = None,
    truth: Any = None,
    train: Any = None,
    catalogue: Any = None,
    accept_unknown_ids: bool = False,
    refuse: str | Sequence[str] = (),
    limits: Limits | None = None,
) -> Inspection:
    """Returns what reading a file as ``kind`` would find; stores nothing and never raises for a bad file.

    ``kind`` None lets recdash recognise the file by its columns and values. ``name`` is the file's name where
    ``source`` has none. Each table of a zip archive of several is inspected, and without ``kind`` each sheet
    of a workbook: see ``Inspection.tables``. With a test set (``truth``), training data or a catalogue the
    file is also checked against these. ``columns`` and the other arguments are those of ``evaluate``.

    Raises InputError for a ``truth``, ``train`` or ``catalogue`` that cannot be read, and UnknownName for an
    unknown code in ``refuse``.
    """
    tables = _given(truth, train, catalogue)
    how = _How(columns, accept_unknown_ids, read_codes(refuse), limits)
    name = name or _file_name(source)
    source = _readable_again(source)
    entries = _tables_in(source, name, kind, limits)
    if len(entries) > 1:
        return Inspection.of_tables(name, _together(entries, kind, tables, how))
    (taken, *others) = _recognised([source], [name], kind, tables, limits)
    return _inspected(taken, _read_others(others, how), how)


def inspect_together(
    sources: Sequence[Any],
    kind: TableKind | None = None,
    *,
    columns: ColumnsGiven | None = None,
    truth: Any = None,
    train: Any = None,
    catalogue: Any = None,
    accept_unknown_ids: bool = False,
    refuse: str | Sequence[str] = (),
    limits: Limits | None = None,
) -> list[Inspection]:
    """Returns what reading each of several files would find if they were added together.

    The files are compared with each other, as those of an intake are. Each table of a zip archive of several,
    and without ``kind`` each sheet of a workbook, is a file of its own, called archive/table. A test set,
    training data and a catalogue among them are those with which the others are checked, unless these are
    given. The arguments are those of ``inspect``.
    """
    tables = _given(truth, train, catalogue)
    how = _How(columns, accept_unknown_ids, read_codes(refuse), limits)
    entries = [
        table
        for source in sources
        for table in _tables_in(_readable_again(source), _file_name(source), kind, limits)
    ]
    return _together(entries, kind, tables, how)


def _together(
    entries: Sequence[_Table], kind: TableKind | None, tables: Mapping[TableKind, Any], how: _How
) -> list[Inspection]:
    """Returns the inspections of tables that are compared with each other and with the given ``tables``.

    A sheet of which nothing is known is left out beside others that are recognised, as when it is added.
    """
    names, n_files = [table.name for table in entries], len(entries)
    taken = _recognised([table.source for table in entries], names, kind, tables, how.limits)
    others = list(taken[n_files:])
    files = [replace(file, archive=table.archive) for file, table in zip(taken, entries, strict=False)]
    recognised = {file.archive for file in files if file.kind is not None} - {""}
    files = [file for file in files if not (file.is_unknown_sheet and file.archive in recognised)]
    given = {table.kind for table in others}
    of_kinds = [file.kind for file in files]
    others += [
        replace(file, is_among_files=True)
        for file in files
        if file.kind in OF_A_SETUP and file.kind not in given and of_kinds.count(file.kind) == 1
    ]
    read = _read_others(others, how)
    return [_inspected(file, read, how) for file in files]


OF_A_SETUP: tuple[TableKind, ...] = ("truth", "train", "catalogue")
"""Kinds of tables with which others are checked."""


@dataclass(frozen=True)
class _How:
    """How files are inspected: the arguments of ``inspect`` that are alike for all of them."""

    columns: ColumnsGiven | None
    accept_unknown_ids: bool
    refused_codes: Sequence[str]
    limits: Limits | None


@dataclass(frozen=True)
class _Taken:
    """What a file is taken for: its kind, None if that must be chosen; the columns that its name does not
    tell; the reasons, and the problems of a file without a kind. ``is_among_files``: it is inspected too.
    ``archive`` is the name of the archive that holds the table; empty for a file. ``is_unknown``: nothing
    tells what it is.
    """

    source: Any
    name: str
    kind: TableKind | None
    mapping: Mapping[str, str] | None = None
    reasons: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    is_among_files: bool = False
    archive: str = ""
    is_unknown: bool = False

    @property
    def is_unknown_sheet(self) -> bool:
        from recdash.ingest import Sheet

        return self.is_unknown and isinstance(self.source, Sheet)

    @property
    def shown(self) -> str:
        """Returns the name of the file, of a table in an archive with that of the archive."""
        return f"{self.archive}/{self.name}" if self.archive else self.name


def _inspected(taken: _Taken, others: Mapping[TableKind, Upload], how: _How) -> Inspection:
    """Returns the inspection of a file, which is checked against ``others``, but not against itself."""
    from recdash import ingest

    source, kind, file_name, limits = taken.source, taken.kind, taken.shown, how.limits
    named = None if isinstance(source, str | Path) else taken.name
    if kind is None:
        return Inspection(file_name, None, taken.problems, taken_for=taken.reasons)
    names = [file_name, taken.name]
    mapping = read_column_choice(how.columns, INSPECTED, names).of(kind, *names, also=taken.mapping)
    file = ingest.inspect_file(kind, source, name=named, mapping=mapping, limits=limits)
    inspection = _with_refused(_of_file(file_name, kind, file, taken.reasons), how.refused_codes)
    if inspection.problems:
        return inspection
    tables = {of_kind: table for of_kind, table in others.items() if of_kind != kind}
    try:
        if kind == "run":
            runs = read_uploads(source, named, mapping, limits)
            more = _of_lists(runs, tables, accept_unknown_ids=how.accept_unknown_ids)
        else:
            more = _of_table(kind, _table(kind, source, named, mapping, limits), tables)
    except InputError as error:
        return replace(inspection, problems=error.problems, rows=None)
    examples = {**file.examples, **{notice.code: notice.example for notice in more if notice.example}}
    more = [replace(notice, example=examples.get(notice.code, "")) for notice in more]
    inspection = replace(inspection, notices=tuple(dict.fromkeys([*inspection.notices, *more])))
    return _with_refused(inspection, how.refused_codes)


def _read_others(others: Sequence[_Taken], how: _How) -> dict[TableKind, Upload]:
    """Returns the tables with which files are checked. One among the inspected files that cannot be read is
    left out, since its own inspection says so; raises InputError for any other.
    """
    choice = read_column_choice(how.columns, INSPECTED, [other.name for other in others])
    tables: dict[TableKind, Upload] = {}
    for other in others:
        assert other.kind is not None  # noqa: S101
        mapping = choice.of(other.kind, other.name, also=other.mapping)
        mappings: dict[str, Mapping[str, str]] = {} if mapping is None else {other.kind: mapping}
        try:
            tables |= read_tables({other.kind: other.source}, mappings=mappings, limits=how.limits)
        except InputError:
            if not other.is_among_files:
                raise
    return tables


def _with_refused(inspection: Inspection, codes: Sequence[str]) -> Inspection:
    """Returns the inspection with its notices of these codes as problems; unchanged without any, and with
    other problems.
    """
    problems = refused_by(inspection.notices, codes)
    if inspection.problems or not problems:
        return inspection
    others = tuple(notice for notice in inspection.notices if notice.code not in codes)
    return replace(inspection, problems=problems, notices=others, rows=None)


def rejects_csv(inspections: Iterable[Inspection]) -> str:
    """Returns the rejected rows as CSV: file, row (from 1, without the header line), column, value, why.

    Of each file at most ``MOST_REJECTS`` are listed; a last line counts the others.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("file", "row", "column", "value", "why"))
    for inspection in chain.from_iterable(given.each() for given in inspections):
        name = safe_cell(visible(inspection.file))
        for reject in inspection.rejects:
            values = (reject.column, reject.value, reject.why)
            writer.writerow((name, reject.row, *(safe_cell(visible(value)) for value in values)))
        more = inspection.n_rejects - len(inspection.rejects)
        if more > 0:
            writer.writerow((name, "", "", "", f"{more:,} more rows are not listed"))
    return text.getvalue()


def _table(
    kind: TableKind, source: Any, name: str | None, mapping: Mapping[str, str] | None, limits: Limits | None
) -> Upload | None:
    """Returns the table if it is checked against others; None for the logs of an A/B test."""
    from recdash import ingest

    if kind not in TABLES:
        return None
    return ingest.read_upload(kind, source, name=name, mapping=mapping, limits=limits)


@dataclass(frozen=True)
class _Table:
    """A file, or a table of an archive of several, with its name and that of the archive."""

    source: Any
    name: str
    archive: str = ""


def _tables_in(source: Any, name: str, kind: TableKind | None, limits: Limits | None) -> list[_Table]:
    """Returns each table of a zip archive of several, and without ``kind`` each sheet of a workbook; any
    other source as it is.

    An archive of tables of one given ``kind`` is read only if all may be runs, as by ``evaluate``.
    """
    from recdash import ingest

    try:
        tables = ingest.tables_in(source, limits=limits) if kind in (None, "run") else []
        if tables and kind == "run":
            tables = [] if isinstance(tables[0][1], ingest.Sheet) else tables
            ingest.read_recommendations(source, limits=limits)
    except InputError:  # which the inspection of the file states
        tables = []
    return [_Table(table, shown, name) for shown, table in tables] or [_Table(source, name)]


def _readable_again(source: Any) -> Any:
    """Returns what an open file holds, because an inspection reads a file more than once; other sources
    unchanged.
    """
    if not hasattr(source, "read"):
        return source
    content = source.read()
    return content.encode() if isinstance(content, str) else content


def _file_name(source: Any) -> str:
    own = source if isinstance(source, str | Path) else getattr(source, "name", None)
    return Path(str(own)).name if own else "file"


def _given(truth: Any, train: Any, catalogue: Any) -> dict[TableKind, Any]:
    tables: dict[TableKind, Any] = {"truth": truth, "train": train, "catalogue": catalogue}
    return {kind: table for kind, table in tables.items() if table is not None}


def _recognised(
    sources: Sequence[Any],
    names: Sequence[str],
    kind: TableKind | None,
    tables: Mapping[TableKind, Any],
    limits: Limits | None,
) -> list[_Taken]:
    """Returns what each file is taken for, then the given ``tables``; those that can be read again are
    compared.

    A file of a known ``kind`` that is given alone is not looked at.
    """
    if kind is not None and len(sources) == 1:
        given = [_Taken(table, _file_name(table), of_kind) for of_kind, table in tables.items()]
        return [_Taken(sources[0], names[0], kind), *given]
    from recdash import ingest
    from recdash.ingest.sorting import Context, sort_files

    read_once = [
        _Taken(table, _file_name(table), of_kind)
        for of_kind, table in tables.items()
        if not can_be_read_again(table)
    ]
    compared = {of_kind: table for of_kind, table in tables.items() if can_be_read_again(table)}
    files = [*zip(sources, names, strict=True), *((table, _file_name(table)) for table in compared.values())]
    looks = [ingest.look(source, name=name, limits=limits) for source, name in files]
    chosen = dict(enumerate(compared, start=len(sources)))
    chosen |= dict.fromkeys(range(len(sources)), kind) if kind is not None else {}
    recognised = sort_files(looks, Context(chosen, has_truth="truth" in tables))
    taken = [
        _taken(source, name, look, is_sorted, chosen.get(number))
        for number, ((source, name), look, is_sorted) in enumerate(zip(files, looks, recognised, strict=True))
    ]
    return [*taken, *read_once]


def _taken(source: Any, name: str, look: Look, is_sorted: SortedFile, chosen: TableKind | None) -> _Taken:
    """Returns what a file is taken for; ``chosen`` is its kind if that was given."""
    from recdash.ingest.sorting import columns_for

    if chosen is not None:
        return _Taken(source, name, chosen, columns_for(chosen, is_sorted.mapping) or None)
    if look.problems:
        return _Taken(source, name, None, problems=look.problems, is_unknown=True)
    if is_sorted.kind is None or is_sorted.confidence == "unsure":
        kinds = [kind for kind in (is_sorted.kind, *is_sorted.alternatives) if kind]
        fix = f"Say what it is with --as{': ' + ', '.join(kinds) if kinds else ''}. {TOGETHER}"
        finding = " ".join(is_sorted.reasons).rstrip(".") or "what the file is cannot be told"
        problem = Problem("what-is-it", "file", finding, fix)
        is_unknown = is_sorted.kind is None
        return _Taken(source, name, None, None, is_sorted.reasons, (problem,), is_unknown=is_unknown)
    return _Taken(source, name, is_sorted.kind, is_sorted.mapping or None, is_sorted.reasons)


def _of_file(name: str, kind: TableKind, file: InspectedFile, taken_for: tuple[str, ...]) -> Inspection:
    preview = file.preview
    refused = tuple(problem.place.partition(", line")[0] for problem in preview.problems)
    return Inspection(
        name,
        kind,
        preview.problems,
        tuple(
            with_example(notice, preview.rows)
            for notice in preview.notices
            if not refused or notice.place not in refused
        ),
        preview.mapping or {},
        preview.format,
        None if preview.problems else file.kept,
        file.rejects,
        file.n_rejects,
        taken_for,
    )


# ── what shows in lists, and when tables meet ────────────────────────────────────────────────


def _of_lists(
    runs: Sequence[Recommendations], tables: Mapping[TableKind, Upload], *, accept_unknown_ids: bool
) -> list[Problem]:
    """Returns what scoring the candidates would notice besides what their files say themselves."""
    of_lists: list[Problem] = []
    if "truth" in tables:
        requests, rules = read_question(METRICS)
        rules = replace(rules, accept_unknown_ids=accept_unknown_ids)
        scoring = Scoring(reference_of(tables, None), requests, rules)
        for run in runs:
            before = tuple(run.notices)
            notices = score_run(run, scoring).notices
            of_lists += _others(notices, [*before, *run.notices])  # complete once all was read
    else:
        for group in group_by_candidate(runs):
            for run in group:
                of_lists += _of_lists_alone(run)
    return of_lists


def _others(notices: Iterable[Problem], known: Iterable[Problem]) -> list[Problem]:
    """Returns the notices that no known one states, whatever their places: reading names the column, scoring
    also the table.
    """
    stated = {(notice.code, notice.found) for notice in known}
    return [notice for notice in notices if (notice.code, notice.found) not in stated]


def _of_lists_alone(run: Recommendations) -> list[Problem]:
    """Returns what a run's lists show without a test set; the run's own users stand for one."""
    rules = CountingRules()
    hits, notices = match(run, _own_reference(run), depth=rules.depth, exposure=False)
    short = short_list_notices(run.name, hits, read_question(METRICS)[0])
    padded = padding_notices(run, notices)
    return [notice for notice in (*notices, *padded, *short) if notice.code != TRUTH_AS_RUN]


def _own_reference(run: Recommendations) -> Reference:
    """Returns a test set with one row for each user of the run."""
    batches = []
    for batch in run.batches(columns=("user_id", "item_id")):
        users = batch.column(0)
        codes = users.indices if pa.types.is_dictionary(users.type) else users
        first = np.sort(np.unique(codes.to_numpy(zero_copy_only=False), return_index=True)[1])
        batches.append(batch.take(pa.array(first)))
    table = pa.Table.from_batches(batches)
    return reference_of({"truth": Upload("truth", run.name, table, {})}, None)


def _of_table(kind: TableKind, upload: Upload | None, tables: Mapping[TableKind, Upload]) -> list[Problem]:
    """Returns what shows when a table that is not a run meets the others."""
    if upload is None:
        return []
    together = {**tables, kind: upload}
    if "truth" not in together:
        return []
    if kind == "predictions":
        reference = reference_of(tables, None)
        return _others(prediction_notices(upload.name, upload, reference), upload.notices)
    reference = reference_of({name: table for name, table in together.items() if name in TABLES}, None)
    of_kind = [notice for notice in reference.notices if notice.place.startswith(f"{kind} '{upload.name}'")]
    return [*_others(of_kind, upload.notices), *_unmet(kind, upload, reference)]


def _unmet(kind: TableKind, upload: Upload, reference: Reference) -> list[Problem]:
    """Returns a warning of the test set's items (users) that a catalogue (users' attributes) lacks."""
    column = {"catalogue": "item_id", "users": "user_id"}.get(kind)
    if column is None:
        return []
    of_truth = reference.truth.items if column == "item_id" else reference.truth.users
    index = reference.items if column == "item_id" else reference.users
    known = index.codes(upload.table[column].combine_chunks(), grow=False)
    lacking = np.ones(len(of_truth), dtype=bool)
    lacking[known[(known >= 0) & (known < len(of_truth))]] = False
    count = int(lacking.sum())
    if not count:
        return []
    ids = [of_truth[int(code)] for code in np.flatnonzero(lacking)[:SHOWN_IDS]]
    example = ", ".join(f"'{label}'" for label in ids)
    noun = "items" if column == "item_id" else "users"
    finding = f"{share(count, len(of_truth))} of the {noun} of the test set are not in this table"
    fix = "Check that both write ids alike; these have no attributes."
    return [
        Problem(f"{noun}-without-row", f"column '{column}'", f"{finding} ({example})", fix, count, example)
    ]
