"""Infers from a run's values which column has the items, which one orders the lists, and in which direction.

The first rows are examined, since names alone are not enough. If several readings fit, the result is a
problem that names the readings and says how to choose one. If the reading may surprise a user, the result has
a notice.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from recdash import arrow as pc
from recdash.domain.kinds import MISSING, Floats, Ints, TableKind
from recdash.errors import Problem, UploadError
from recdash.ingest.cells import PAIRED, holding, share_known, values_of, with_cells
from recdash.ingest.columns import (
    CHOOSE,
    DISTANCES,
    LESS_IS_BETTER,
    LISTS,
    POSITIONS,
    SINGLE,
    Columns,
    KnownOrder,
    are_moments,
    are_times,
    assign,
    by_position,
    is_called,
    is_known,
    listed,
    pattern_of,
    plain,
    role_named,
    wide_label,
)
from recdash.ingest.formats.raw_table import RawTable
from recdash.ingest.ids_by_position import problem_of_ids
from recdash.ingest.layouts import blocks_of, layout_of, separator_of
from recdash.ingest.list_faults import rank_conflicts
from recdash.ingest.row_order import may_rank
from recdash.ingest.translated_names import contradicted_roles
from recdash.ingest.values import ColumnCheck, Findings, is_missing, is_text, read_floats, read_ids, read_text
from recdash.ingest.values import plain as decoded

OF_A_LIST = ("run", "replicate")
"""Roles that distinguish the lists of one user."""
LOOKED_AT = 20_000
"""Number of first rows examined; more rows take longer and show nothing new."""
CLEAR = 0.9
"""Share of neighbouring rows that must agree on a direction before values contradict a reading."""
HALF = 0.5
FEWEST = 3
"""Smallest number of pairs of neighbouring rows from which a direction is concluded."""
RARE = 1 / 1000
"""Rows in random order look like this in a smaller share of files.

Below it, the order is taken as intended.
"""
PREDICTED = (
    *("score", "scores", "prediction", "est", "predictedscore", "pred", "predictedrating", "preds", "ypred"),
    *("logit", "probability", "prob"),
)
"""Column names typical of a model's scores; columns with other names may have scores or something else."""
SCORE_WORDS = ("score", "prediction", "probability", "logit", "similarity")
HELD_OUT = (
    *("actual", "actuals", "truth", "groundtruth", "relevant", "heldout", "ytrue", "test", "target"),
    "label",
)
WHOLE = re.compile(r"[+-]?\d+(\.0*)?")
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def columns_of_run(
    raw: RawTable, explicit: Mapping[str, str], without: Sequence[str], known_order: KnownOrder
) -> Columns:
    """Returns the columns of a run after examining its first rows.

    ``explicit`` is the user's mapping of roles, ``without`` are roles to leave out, ``known_order`` says
    what the user need not be asked.
    """
    if not raw.header and raw.roles is None:
        columns = _without_header("run", raw, explicit, without)
    else:
        columns = assign("run", raw.columns, explicit, raw.roles, None, without)
        if raw.roles is None and not explicit.get("item_id") and _may_be_lists(raw, columns):
            columns = _with_lists(raw, columns, explicit, without)
    columns = columns if known_order.checked else with_cells(raw, "run", columns, {*explicit, *without})
    if columns.problems:
        return columns
    if raw.roles is not None:
        by_rank = raw.is_trec and (known_order.order == "rank" or "rank" in columns.mapping)
        if by_rank or not raw.is_trec or known_order.checked or known_order.order:
            return _by_trec_rank(raw, columns) if by_rank else columns
        return replace(columns, notices=(*columns.notices, *rank_conflicts(raw)))
    columns = _refuse_list_cells(raw, columns)
    if columns.problems:
        return columns
    score = columns.mapping.get("score")
    if score is not None and not known_order.checked and _is_empty(raw, score):
        return _without_scores(raw, score, explicit, without, known_order)
    return _ordered(raw, columns, explicit, known_order)


def _is_empty(raw: RawTable, column: str) -> bool:
    """Returns whether no row has a value in the column; the other rows are read if the first have none."""
    if column in raw.lists or any(value not in MISSING for value in values_of(raw.sample(), column)):
        return False
    return all(_holds_nothing(batch.column(0)) for batch in raw.blocks([column], ()))


def _holds_nothing(array: pa.Array) -> bool:
    array = decoded(array)
    if is_text(array.type):
        array = pc.if_else(is_missing(pc.utf8_trim_whitespace(array)), None, array)
    return bool(pc.all(array.is_null(nan_is_null=True)).as_py() is not False)


def _without_scores(
    raw: RawTable,
    score: str,
    explicit: Mapping[str, str],
    without: Sequence[str],
    known_order: KnownOrder,
) -> Columns:
    """Returns the columns of a run whose score column is empty, without it; a problem if it was chosen."""
    finding, place = "it is empty in every row", f"column '{score}'"
    chosen = "score" in explicit or known_order.order == "score"
    left = {role: column for role, column in explicit.items() if role != "score"}
    columns = columns_of_run(raw, left, (*without, "score"), known_order)
    if chosen:
        problem = Problem("empty-scores", place, finding, "Choose another column, or none: score=.")
        return replace(columns, problems=(problem, *columns.problems))
    order = f"the rank '{columns.mapping['rank']}'" if "rank" in columns.mapping else "their rows"
    fix = f"The lists are in the order of {order}. If another column holds the scores, choose it: score=NAME."
    n_rows = raw.n_rows or sum(batch.num_rows for batch in raw.blocks([score], ()))
    notice = Problem("empty-scores", place, finding, fix, n_rows, place)
    return replace(columns, notices=(notice, *columns.notices))


# ── rows without a header line ───────────────────────────────────────────────────────────────


def columns_of_table(
    kind: TableKind, raw: RawTable, explicit: Mapping[str, str], without: Sequence[str]
) -> Columns:
    """Returns the columns of a table that is not a run.

    Without a header line, the rows of a truth or training data may be lists.
    """
    if raw.header or raw.roles is not None:
        columns = assign(kind, raw.columns, explicit, raw.roles, None, without)
        contradicted = contradicted_roles(raw, columns, explicit) if raw.header else []
        if not contradicted:
            return columns
        return assign(kind, raw.columns, explicit, raw.roles, None, (*without, *contradicted))
    if kind in ("truth", "train"):
        return _without_header(kind, raw, explicit, without)
    return _by_position(kind, raw, explicit, without)


def _without_header(
    kind: TableKind, raw: RawTable, explicit: Mapping[str, str], without: Sequence[str]
) -> Columns:
    """Returns the columns by position, unless each row is a list; with a problem if both are possible."""
    names = raw.columns
    is_clear = len(names) < 3 or raw.lists or set(explicit) - {"user_id", "run", "replicate"}
    rows = [] if is_clear else _first_cells(raw)
    reading = _reading_of(rows) if kind == "run" else _reading_of_truth(rows)
    if reading == "long":
        return _by_position(kind, raw, explicit, without)
    by_place = dict(zip(("user_id", "item_id"), names, strict=False))
    problem = problem_of_ids(kind, names, by_place, explicit, raw.sample(), are_lists=reading == "wide")
    if problem is not None:
        return replace(assign(kind, names, explicit, None, by_place, without), problems=(problem,))
    listed_items = {"item_id": f"{names[1]}..{names[-1]}"} if reading == "wide" else {}
    user = {"user_id": explicit.get("user_id") or names[0]}
    if user["user_id"] != names[0]:
        listed_items = {}
    columns = assign(kind, names, {**explicit, **listed_items}, None, user, without)
    if reading == "wide":
        return columns
    wrong = tuple(problem for problem in columns.problems if problem.code != "missing-column")
    return replace(columns, wide=(), notices=(), problems=wrong or (_two_readings(kind, names),))


def _by_position(
    kind: TableKind, raw: RawTable, explicit: Mapping[str, str], without: Sequence[str]
) -> Columns:
    """Returns the columns by position; with a problem if one of them seems to hold no ids, and a notice if a
    fourth one holds no times.
    """
    names, rows = raw.columns, raw.sample()
    by_place = by_position(kind, names, rows)
    columns = assign(kind, names, explicit, None, by_place, without)
    if columns.problems:
        return columns
    problem = problem_of_ids(kind, names, columns.mapping, explicit, rows)
    if problem is not None:
        return replace(columns, problems=(problem,))
    decided = {*explicit, *without, *columns.mapping}
    has_fourth = "timestamp" in POSITIONS.get(kind, ()) and len(names) > 3
    if not has_fourth or "timestamp" in decided or names[3] in columns.mapping.values():
        return columns
    finding = "its numbers are too small for times, and are not read"
    fix = f"If they are times, choose them{CHOOSE}: timestamp={names[3]}."
    example = next((f"'{row[names[3]]}'" for row in rows if row[names[3]]), "")
    notice = Problem("no-times", f"column '{names[3]}'", finding, fix, 1, example)
    return replace(columns, notices=(*columns.notices, notice))


def _two_readings(kind: TableKind, names: Sequence[str]) -> Problem:
    value = PAIRED[kind]
    third = value if kind != "run" else "rank" if len(names) > 3 else "score or rank"
    fourth = (", score" if kind == "run" else ", timestamp") if len(names) > 3 else ""
    finding = (
        f"no header line, and {len(names)} columns that fit two readings: user, item, {third}{fourth} "
        f"in one row per item; or a user and the list of {len(names) - 1} items"
    )
    fix = (
        f"Add a header line, or name the columns{CHOOSE}: item_id={names[1]},{value}={names[2]} for one row "
        f"per item, item_id={names[1]}..{names[-1]} for one list per row."
    )
    return Problem("ambiguous-rows", "file", finding, fix)


def with_header_checked(raw: RawTable, kind: TableKind, columns: Columns) -> Columns:
    """Returns ``columns``, with a problem if the header line may be data.

    It then also has the columns' positions, which can be mapped instead.
    """
    problems = _header_problems(raw, kind, columns)
    places = tuple(f"column {place}" for place in range(1, len(raw.columns) + 1)) if problems else ()
    return replace(columns, families=(*columns.families, *places), problems=(*columns.problems, *problems))


def _header_problems(raw: RawTable, kind: TableKind, columns: Columns) -> list[Problem]:
    """Returns the problem of a first line that is read as a header but may be data.

    The result is empty if there is none.
    """
    if raw.without_header is None or kind not in PAIRED:
        return []
    missing = sum(problem.code == "missing-column" for problem in columns.problems)
    line = f"the first line is read as a header ({listed(raw.columns)})"
    places = f"user_id=column 1,item_id=column 2{CHOOSE}"
    if missing > 1 and not any(map(is_known, raw.columns)):
        finding = f"{line}, and none of its names is known"
        return [
            Problem(
                "header-or-data", "line 1", finding, f"If it is data, map the columns by position: {places}."
            )
        ]
    ids = [columns.mapping.get(role) for role in ("user_id", "item_id")]
    data = [column for column in ids if column and not is_known(column) and _is_value(raw, column)]
    if columns.problems or not data:
        return []
    finding = f"{line}, but '{data[0]}' looks like the values below it"
    fix = f"If it is data, map the columns by position: {places}; else rename the column."
    return [Problem("header-or-data", "line 1", finding, fix)]


def _is_value(raw: RawTable, column: str) -> bool:
    """Returns True if a column's name is one of its values, or has their pattern of digits and letters."""
    values = values_of(raw.sample(), column)
    form = pattern_of(column)
    return column in values or ("9" in form and bool(values) and all(pattern_of(v) == form for v in values))


def _first_cells(raw: RawTable) -> list[list[str]]:
    """Returns the cells of the first rows as text, without surrounding blanks.

    The result is empty if they cannot be read; the error is then reported when the whole file is read.
    """
    try:
        batch = next(iter(raw.blocks(raw.columns, ())), None)
    except UploadError:
        return []
    texts = (
        []
        if batch is None
        else [decoded(column).cast(pa.string()) for column in batch.slice(0, LOOKED_AT).columns]
    )
    cells = [text.fill_null("").to_pylist() for text in texts]
    return [[cell.strip() for cell in row] for row in zip(*cells, strict=True)]


def _reading_of(rows: Sequence[Sequence[str]]) -> str:
    """Returns how to read the rows of a run: ``long``, ``wide`` or ``either``.

    ``long`` is one row per item, ``wide`` is one list per row, ``either`` means that both fit.
    """
    width = len(rows[0]) if rows else 0
    if _no_lists(rows):
        return "long"
    is_number = all(NUMBER.fullmatch(cell) for row in rows for cell in row[2:])
    return "either" if is_number and width <= 4 else "wide"


def _reading_of_truth(rows: Sequence[Sequence[str]]) -> str:
    """Returns the same as ``_reading_of`` for a truth or training data.

    A row is user, item, relevance and timestamp, or a user and a list of items.
    """
    if not rows or _no_lists(rows) or _are_values(rows):
        return "long"
    items = {row[1] for row in rows}
    others = [cell for row in rows for cell in row[2:] if cell]
    is_text = not any(NUMBER.fullmatch(cell) for cell in others)
    return "wide" if is_text and items & set(others) else "either"


def _are_values(rows: Sequence[Sequence[str]]) -> bool:
    """Returns True if the third column has few distinct values and no items, or it or the next has times."""
    items, values = {row[1] for row in rows}, {row[2] for row in rows}
    if any(are_times([row[place] for row in rows]) for place in range(2, min(len(rows[0]), 4))):
        return not any(are_times([item]) for item in items)
    return len(values) <= len(rows) / 4 and not values & items


def _no_lists(rows: Sequence[Sequence[str]]) -> bool:
    """Returns True if the rows cannot be lists of recommendations, one row per user with the user first.

    That is the case if a user has several rows, if most rows contain an item twice, or if a value cannot be
    an id.
    """
    users = [row[0] for row in rows]
    cells = [[cell for cell in row[1:] if cell] for row in rows]
    repeats = len(set(users)) < len(users)
    broken = any(NUMBER.fullmatch(cell) and not WHOLE.fullmatch(cell) for row in rows for cell in row[2:])
    doubled = sum(len(set(row)) < len(row) for row in cells)
    return not rows or repeats or broken or doubled > len(rows) / 2


# ── lists in cells ───────────────────────────────────────────────────────────────────────────


def _may_be_lists(raw: RawTable, columns: Columns) -> bool:
    """Returns True if no column is named like items, and others such as ``model1`` may have lists."""
    if "item_id" in columns.mapping:
        return False
    if not columns.wide:
        return not columns.families
    rows = raw.sample()
    is_named = is_called(role_named("run", "item_id"), columns.wide[0])
    return not is_named and all(_holds_lists(raw, column, rows) for column in columns.wide)


def _with_lists(
    raw: RawTable, columns: Columns, explicit: Mapping[str, str], without: Sequence[str]
) -> Columns:
    """Returns ``columns`` with the item lists in one column of any name, or in one column per model.

    It has a problem if it is unclear whether other columns have lists.
    """
    taken = {columns.mapping.get(role) for role in ("user_id", "run", "replicate")} | {*raw.scores.values()}
    rows = raw.sample()
    list_columns = [
        column for column in raw.columns if column not in taken and _holds_lists(raw, column, rows)
    ]
    held_out = [column for column in list_columns if plain(column) in HELD_OUT]
    ordering = {columns.mapping.get(role) for role in ("rank", "score")}
    models = [column for column in list_columns if column not in held_out]
    models = [column for column in models if column not in ordering] or models
    left = [c for c in raw.columns if c not in {*taken, *list_columns, *ordering, *raw.scores.values()}]
    doubtful = _doubtful_lists(rows, models, left)
    if doubtful:
        labels: tuple[str, ...] = (f"{doubtful[0]}{LISTS}", f"{doubtful[0]}{SINGLE}")
        labels = (",".join([*models, *doubtful]),) if models else labels
        return replace(columns, wide=(), families=labels, problems=(_which_lists(models, doubtful),))
    if not models:
        return columns
    several = len(models) > 1
    without = (*without, "rank", "score") if several else without
    assigned = assign("run", raw.columns, {**explicit, "item_id": models[0]}, None, None, without)
    notices = list(assigned.notices)
    for column in held_out:
        finding = "is named like the test items and is not read as a candidate"
        fix = "Map item_id to it if it is a candidate."
        notices.append(Problem("held-out-column", f"column '{column}'", finding, fix))
    if several:  # no single column holds the items
        notices = [notice for notice in notices if notice.code != "columns-guessed"]
        finding = f"{len(models)} columns of lists, each read as a candidate: {listed(models)}"
        fix = "Map item_id to one of them to read only that."
        notices.append(Problem("several-lists", "columns", finding, fix))
    return replace(assigned, notices=tuple(notices), models=tuple(models) if several else (), listed=True)


def _holds_lists(raw: RawTable, column: str, rows: Sequence[Mapping[str, str]]) -> bool:
    if column in raw.lists:
        return True
    return holding(values_of(rows, column)) == "list"


def _doubtful_lists(
    rows: Sequence[Mapping[str, str]], models: Sequence[str], left: Sequence[str]
) -> list[str]:
    """Returns the columns in ``left`` that may be another candidate.

    At least half of their values occur in the lists of ``models``. If there are no ``models``, some of their
    cells look like lists.
    """
    lists = [value for column in models for value in values_of(rows, column)]
    known = [c for c in left if share_known(values_of(rows, c), lists) >= HALF]
    if known or models:
        return known
    values = {column: values_of(rows, column) for column in left}
    return [c for c in left if separator_of(values[c]) is not None and holding(values[c]) == "unclear"]


def _which_lists(models: Sequence[str], doubtful: Sequence[str]) -> Problem:
    names = ", ".join(f"'{column}'" for column in doubtful)
    if not models:
        finding = f"no column is named like items; the cells of {names} may be lists"
        column = doubtful[0]
        fix = f"Choose{CHOOSE}: item_id={column}{LISTS} for lists, item_id={column}{SINGLE} for items."
        return Problem("list-or-item", "columns", finding, fix)
    finding = f"'{models[0]}' holds lists; {names} may be lists of one item, or something else"
    both = ",".join([*models, *doubtful])
    fix = (
        f"Choose{CHOOSE}: item_id={both} to read each as a candidate, item_id={','.join(models)} to "
        "ignore it."
    )
    return Problem("list-or-item", "columns", finding, fix)


def _refuse_list_cells(raw: RawTable, columns: Columns) -> Columns:
    """Returns ``columns``, with a problem if cells of a wide table contain lists."""
    if not columns.wide:
        return columns
    rows = raw.sample()
    texts = {column: values_of(rows, column) for column in columns.wide}
    bad = [c for c in columns.wide if c in raw.lists or any(map(_writes_list, texts[c]))]
    if not bad:
        return columns
    finding = f"{wide_label(columns.wide)} are read as one item per cell, but the cells hold lists"
    both = ",".join(columns.wide)
    fix = (
        f"Map item_id to one list column, such as '{bad[0]}', or to item_id={both} for one candidate per "
        "column."
    )
    return replace(columns, problems=(Problem("list-cells", f"column '{bad[0]}'", finding, fix),))


def _writes_list(value: str) -> bool:
    inner = value.strip()
    return inner[:1] + inner[-1:] in ("[]", "{}") or (inner[:1] + inner[-1:] == "()" and "," in inner)


# ── which column orders the lists, and which way ─────────────────────────────────────────────


def _ordered(
    raw: RawTable, columns: Columns, explicit: Mapping[str, str], known_order: KnownOrder
) -> Columns:
    """Returns ``columns`` after checking the values of the column that orders the lists."""
    if known_order.checked or columns.wide or columns.models:
        return columns
    mapping = columns.mapping
    if "rank" in mapping:
        return _with_ranks(raw, columns, explicit, known_order)
    if "score" in mapping and "score" not in explicit:
        return _counted_score(raw, columns, known_order) or _with_scores(raw, columns)
    distance = next((column for column in raw.columns if is_distance(column)), None)
    if "score" not in mapping and "score" not in explicit and distance and distance not in mapping.values():
        return _with_distance(raw, columns, distance)
    is_ordered = bool({"rank", "score"} & {*explicit, *mapping})
    return columns if is_ordered else _with_unread_scores(raw, columns, known_order)


def _with_unread_scores(raw: RawTable, columns: Columns, known_order: KnownOrder) -> Columns:
    """Returns the ``columns`` of a run in file order, after looking for scores that are not read.

    It has a problem if columns are named like scores, and a notice if several columns have decimal numbers.
    If the rows are neither together nor in order of their positions, any column of numbers whose name is
    unknown is a problem, since it may hold scores or ranks.
    """
    if known_order.order == "file" or layout_of(raw, columns) != "rows":
        return columns
    taken, rows = {*columns.mapping.values()}, raw.sample()
    free = {column: values_of(rows, column) for column in raw.columns if column not in taken}
    if raw.decimal == ",":
        free = {column: [value.replace(",", ".") for value in own] for column, own in free.items()}
    numbers = {c: v for c, v in free.items() if v and all(map(NUMBER.fullmatch, v))}
    like_scores = [column for column in numbers if any(word in plain(column) for word in SCORE_WORDS)]
    broken = [c for c, values in numbers.items() if not all(map(WHOLE.fullmatch, values))]
    if like_scores:
        template = "no column is called score or rank, and {} may hold scores of the items"
        problem = _unread_scores(like_scores, template)
        return replace(columns, families=(*columns.families, ",".join(like_scores)), problems=(problem,))
    unknown = [column for column in numbers if not is_known(column)]
    if unknown and not may_rank(*_first_codes(raw, columns)):
        return replace(columns, problems=(_unordered_rows(unknown),))
    if len(broken) > 1:
        notice = _unread_scores(broken, "the lists are in file order; {} hold numbers that are not read")
        return replace(columns, notices=(*columns.notices, notice))
    times = [column for column in unknown if are_moments(numbers[column])]
    if times and not raw.header:
        says = "the lists are in file order; {} has numbers that seem to be times and are not read"
        return replace(columns, notices=(*columns.notices, _unread_scores(times[:1], says)))
    return columns


def _unordered_rows(numbers: Sequence[str]) -> Problem:
    """Returns the problem of rows whose order is no ranking, beside columns of numbers."""
    first = numbers[0]
    finding = (
        "the rows of a user are neither together nor in order of their positions, and "
        f"{listed(numbers)} may hold the scores or ranks"
    )
    fix = f"Choose{CHOOSE}: score={first} or rank={first} to order by it, score= for file order."
    return Problem("unread-scores", "columns", finding, fix)


def _unread_scores(scores: Sequence[str], says: str) -> Problem:
    alternative = f", score={','.join(scores)} for one candidate per column" if len(scores) > 1 else ""
    fix = f"Choose{CHOOSE}: score={scores[0]} to order by it{alternative}, score= for file order."
    return Problem("unread-scores", "columns", says.format(listed(scores)), fix)


def _by_trec_rank(raw: RawTable, columns: Columns) -> Columns:
    """Returns ``columns`` with the rank column of a TREC run as its order.

    The user asked for it; by default the score orders a TREC run.
    """
    columns = replace(columns, mapping={**columns.mapping, "rank": "rank"})
    _, values = _first_values(raw, columns, ["rank"])
    return _counted_from_zero(columns, values["rank"]) if "rank" in values else columns


def is_distance(column: str) -> bool:
    """Returns True if a column's name says that less is better, as of a distance or a loss."""
    return plain(column).endswith(LESS_IS_BETTER)


def _with_ranks(
    raw: RawTable, columns: Columns, explicit: Mapping[str, str], known_order: KnownOrder
) -> Columns:
    """Returns ``columns`` after checking whether ranks start at 0, descend, or contradict the scores."""
    has_score = "score" in columns.mapping
    list_code, values = _first_values(raw, columns, ["rank", *(["score"] if has_score else [])])
    rank = values.get("rank")
    if rank is None or not len(rank):
        return columns
    columns = _counted_from_zero(columns, rank)
    if known_order.order or {"rank", "score"} & set(explicit):
        return columns
    if has_score:
        order = np.lexsort((rank, list_code))
        falls, rises = _steps(list_code[order], values["score"][order], rank[order])
        return _against_score(columns, rises, falls + rises)
    return _with_direction(columns, list_code, rank)


def _with_direction(columns: Columns, list_code: Ints, rank: Floats) -> Columns:
    """Returns ``columns`` after checking the direction of the ranks.

    The largest rank may be the best in two cases: the ranks of every list descend; or some descend, no list
    has a rank 1, and nearly all lists have the same largest rank. Both give a problem.
    """
    column, lists = columns.mapping["rank"], _lists_of(list_code, rank)
    falls, rises = _steps(list_code, rank)
    if rises == 0 and sum(math.lgamma(len(set(ranks)) + 1) for ranks in lists) > -math.log(RARE):
        return _doubtful(columns, _descending(column, "the ranks descend in every list"), "rank")
    if falls and falls + rises >= FEWEST and _reach_one_end(lists):
        finding = f"no list has a rank 1, and the largest is {max(map(max, lists)):g} in nearly all"
        return _doubtful(columns, _descending(column, finding), "rank")
    if rises or falls < FEWEST:
        return columns
    finding = "the ranks descend in each of the few lists; rank 1 is read as the best"
    fix = f"If the largest rank is the best{CHOOSE}: score={column}."
    notice = Problem("ranks-run-down", f"column '{column}'", finding, fix)
    return replace(columns, notices=(*columns.notices, notice))


def _reach_one_end(lists: Sequence[Floats]) -> bool:
    """Returns True if ranks seem to count down from the largest one instead of up from 1.

    Nearly all of several lists have the same largest rank, and no list has a rank 1 or 2.
    """
    largest = max(map(max, lists))
    same = sum(ranks.max() == largest for ranks in lists)
    return len(lists) > 1 and same >= CLEAR * len(lists) and min(map(min, lists)) > 2


def _lists_of(list_code: Ints, values: Floats) -> list[Floats]:
    """Returns the finite values of each list, in the order of rows."""
    lists = np.split(values, np.flatnonzero(np.diff(list_code)) + 1)
    finite = [list_values[np.isfinite(list_values)] for list_values in lists]
    return [known for known in finite if len(known)]


def _counted_from_zero(columns: Columns, rank: Floats) -> Columns:
    """Returns ``columns`` with a mark and a notice if ranks start at 0; a column of zeros only is no rank."""
    known = rank[np.isfinite(rank)]
    if not len(known) or known.min() != 0 or known.max() == 0:
        return columns
    finding = "ranks start at 0 (as in PyTerrier and numpy) and are read as starting at 1"
    notice = Problem("ranks-from-zero", f"column '{columns.mapping['rank']}'", finding, "")
    return replace(columns, ranks_from=0, notices=(*columns.notices, notice))


def _against_score(columns: Columns, opposite: int, n: int) -> Columns:
    """Returns ``columns`` with a problem or notice if rank and score disagree.

    ``opposite`` of ``n`` neighbouring pairs have the higher score at the worse rank.
    """
    rank, score = columns.mapping["rank"], columns.mapping["score"]
    if not opposite:
        return columns
    how = (
        f"Choose{CHOOSE}: rank={rank} (or --order rank) if rank 1 is the best, rank= (ignore it, or "
        "--order score) if the highest score is."
    )
    if n >= FEWEST and opposite >= CLEAR * n:
        finding = f"contradicts '{score}': the better the rank, the lower the score"
        problem = Problem("rank-against-score", f"column '{rank}'", finding, how)
        return _doubtful(columns, problem, "rank", "score")
    finding = f"'{rank}' and '{score}' disagree at {opposite:,} of the first {n:,} neighbouring rows"
    fix = f"'{rank}' orders the lists; use --order score if '{score}' should."
    example = f"'{rank}' beside '{score}'"
    notice = Problem("rank-against-score", f"column '{rank}'", finding, fix, opposite, example)
    return replace(columns, notices=(*columns.notices, notice))


def _descending(rank: str, pattern: str) -> Problem:
    finding = f"{pattern}: either the largest rank is the best, or the rows are in reverse order"
    fix = f"Choose{CHOOSE}: rank={rank} (or --order rank) if 1 is the best, score={rank} if the largest is."
    return Problem("descending-ranks", f"column '{rank}'", finding, fix)


def _counted_score(raw: RawTable, columns: Columns, known_order: KnownOrder) -> Columns | None:
    """Returns ``columns`` with a problem if the scores of each list count 1 to n, as ranks do.

    Returns None if they do not. Scores that descend from n to 1 along the rows give the same order as ranks,
    and are no problem.
    """
    score = columns.mapping["score"]
    list_code, values = _first_values(raw, columns, ["score"])
    falls, rises = _steps(list_code, values["score"]) if len(list_code) else (0, 0)
    if known_order.order == "score" or not rises or falls + rises < FEWEST:
        return None
    lists = [np.sort(scores) for scores in _lists_of(list_code, values["score"]) if len(scores) > 1]
    # 1 to n, or 0 to n - 1, in any order
    n_counted = sum(bool(ordered[0] in (0, 1) and (np.diff(ordered) == 1).all()) for ordered in lists)
    if n_counted < CLEAR * len(lists):
        return None
    if known_order.order == "rank":
        mapping = {role: column for role, column in columns.mapping.items() if role != "score"}
        return _counted_from_zero(replace(columns, mapping={**mapping, "rank": score}), values["score"])
    finding = "counts 1 to n in each list, as ranks do: the smallest may be the best"
    fix = (
        f"Choose{CHOOSE}: rank={score} (or --order rank) if 1 is the best, score={score} (or --order "
        "score) if the largest is."
    )
    return _doubtful(columns, Problem("score-is-rank", f"column '{score}'", finding, fix), "score")


def _with_scores(raw: RawTable, columns: Columns) -> Columns:
    """Returns ``columns``, with a problem or notice if another column may have the model's scores."""
    score = columns.mapping["score"]
    taken = set(columns.mapping.values())
    others = [c for c in raw.columns if c not in taken and plain(c) in PREDICTED]
    if plain(score) not in PREDICTED or not others:
        return columns
    for other in others:
        list_code, values = _first_values(raw, columns, ["score"], {"score": other})
        _, own = _first_values(raw, columns, ["score"])
        if not len(list_code):
            return columns
        order = np.lexsort((-own["score"], list_code))
        _, rises = _steps(list_code[order], values["score"][order], -own["score"][order])
        if rises:
            finding = f"'{score}' and '{other}' may both be the score, and order the lists differently"
            fix = f"Choose the one whose highest value is the best{CHOOSE}: score={score} or score={other}."
            problem = Problem("two-scores", f"columns '{score}' and '{other}'", finding, fix)
            return _doubtful(columns, problem, "score")
    finding = f"orders the lists; {listed(others)} may be a score too, and orders the first rows alike"
    fix = f"To order by it{CHOOSE}: score={others[0]}."
    notice = Problem("two-scores", f"column '{score}'", finding, fix)
    return replace(columns, notices=(*columns.notices, notice))


def _with_distance(raw: RawTable, columns: Columns, distance: str) -> Columns:
    """Returns ``columns`` with a distance or loss as the score, smallest first.

    It has a problem if the values decrease along the rows of a list, and if a distance is mostly below 0: it
    may be a similarity with a minus, or an inner product.
    """
    by_distance = replace(columns, mapping={**columns.mapping, "score": distance})
    list_code, values = _first_values(raw, by_distance, ["score"])
    if "score" not in values:
        return columns
    falls, rises = _steps(list_code, values["score"])
    fix = (
        f"Choose{CHOOSE}: score={distance} if the highest is the best, score=-{distance} if the smallest is."
    )
    finding = ""
    if plain(distance).endswith(DISTANCES) and np.median(values["score"]) < 0:
        finding = "its name says that less is better, but it is mostly below 0, as no distance is"
    elif falls >= FEWEST and falls >= CLEAR * (falls + rises):
        finding = "its name says that less is better, but it decreases along each list"
    if finding:
        return _doubtful(columns, Problem("distance", f"column '{distance}'", finding, fix))
    notices = [notice for notice in columns.notices if notice.code != "file-order"]
    finding = "orders the lists, smallest value first: its name says that less is better"
    notices.append(Problem("distance", f"column '{distance}'", finding, fix))
    return replace(by_distance, notices=tuple(notices), reversed_score=True)


def _doubtful(columns: Columns, problem: Problem, *roles: str) -> Columns:
    """Returns ``columns`` with the problem and without these roles, which the user must decide."""
    left = {role: column for role, column in columns.mapping.items() if role not in roles}
    return replace(columns, mapping=left, problems=(problem,))


def _steps(list_code: Ints, values: Floats, place: Floats | None = None) -> tuple[int, int]:
    """Returns how often ``values`` fall and how often they rise from one row of a list to the next.

    Rows with equal ``place`` are not compared.
    """
    same = list_code[1:] == list_code[:-1]
    if place is not None:
        same &= place[1:] != place[:-1]
    step = np.diff(values)[same]
    return int((step < 0).sum()), int((step > 0).sum())


def _first_values(
    raw: RawTable, columns: Columns, roles: Sequence[str], instead: Mapping[str, str] | None = None
) -> tuple[Ints, dict[str, Floats]]:
    """Returns each row's list as a code, and role → numbers, for the first rows; rows of a list are together.

    ``instead`` maps roles to other columns. Both are empty if the values cannot be read; the error is then
    reported when the whole file is read.
    """
    chosen = replace(columns, mapping={**columns.mapping, **(instead or {})})
    values: dict[str, Floats] = {}
    list_code: Ints = np.zeros(0, dtype=np.int64)
    try:
        arrays = _first_arrays(raw, chosen, roles)
        for role in roles:
            if role in arrays:
                floats = read_floats(arrays[role], _check(role, raw), "a number", "")
                values[role] = floats.to_numpy(zero_copy_only=False)  # NaN for null
        if values:
            list_code = _codes_of_lists(arrays, raw)
    except (UploadError, pa.ArrowException):
        return np.zeros(0, dtype=np.int64), {}
    order = np.argsort(list_code, kind="stable")
    return list_code[order], {role: numbers[order] for role, numbers in values.items()}


def _first_codes(raw: RawTable, columns: Columns) -> tuple[Ints, Ints]:
    """Returns each row's list and its item as codes, for the first rows in file order.

    Both are empty if the values cannot be read; the error is then reported when the whole file is read.
    """
    try:
        arrays = _first_arrays(raw, columns, ())
        if arrays:
            item_code = _codes(read_ids(arrays["item_id"], _check("item_id", raw)))
            return _codes_of_lists(arrays, raw), item_code
    except (UploadError, pa.ArrowException):
        pass
    return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)


def _first_arrays(raw: RawTable, columns: Columns, roles: Sequence[str]) -> dict[str, pa.Array]:
    """Returns role → values of the first rows, for the ids and ``roles``; empty for a file without rows."""
    needed = ["user_id", "item_id", *OF_A_LIST, *roles]
    blocks = blocks_of(raw, columns, layout_of(raw, columns), needed, ["user_id", "item_id"], Findings())
    block = next(blocks, None)
    return {} if block is None else {role: own.slice(0, LOOKED_AT) for role, own in block.columns.items()}


def _codes_of_lists(arrays: Mapping[str, pa.Array], raw: RawTable) -> Ints:
    """Returns [rows] codes of the lists.

    Rows of the same user, candidate, and fold or seed have the same code.
    """
    codes = _codes(read_ids(arrays["user_id"], _check("user_id", raw)))
    for role in [role for role in OF_A_LIST if role in arrays]:
        own = _codes(read_text(arrays[role], _check(role, raw)))
        codes = codes * (int(own.max(initial=0)) + 1) + own
    return codes


def _codes(values: pa.Array) -> Ints:
    """Returns [rows] codes of the values, from 1; 0 for null."""
    if pa.types.is_integer(values.type) and not values.null_count:
        return np.unique(values.to_numpy(), return_inverse=True)[1] + 1
    coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    return np.asarray(pc.fill_null(coded.indices, -1), dtype=np.int64) + 1


def _check(role: str, raw: RawTable) -> ColumnCheck:
    return ColumnCheck(role_named("run", role), role, Findings(), lambda _row: "", raw.decimal)
