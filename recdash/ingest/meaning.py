"""What the values of a run say about its columns: which hold items, which orders the lists, and which way.

Names alone decide nothing here: the first rows are looked at. Where they fit more than one reading, the
outcome is a problem that names the readings and how to choose one; where a reading is taken that another
person might not expect, it is a notice.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from recdash import compute as pc
from recdash.domain import Floats, Ints
from recdash.errors import Problem, UploadError
from recdash.ingest.columns import (
    LESS_IS_BETTER,
    Columns,
    assign,
    by_position,
    listed,
    plain,
    role_named,
    wide_label,
)
from recdash.ingest.formats import RawTable
from recdash.ingest.layouts import SEVERAL, blocks_of, layout_of, list_in
from recdash.ingest.validate import Findings, Seen, read_floats, read_ids
from recdash.ingest.validate import plain as decoded

LOOKED_AT = 20_000
"""So many first rows are looked at; more would cost time and say the same."""
CLEAR = 0.9
"""Share of neighbouring places that must point one way for the values to contradict a reading."""
FEWEST = 3
"""Of fewer neighbouring places nothing is concluded."""
FEWEST_DESCENDING = 10
"""Rows in any order show so many descending ranks, and none that rise, in one of a thousand files."""
PREDICTED = (
    "score", "scores", "prediction", "est", "predictedscore", "pred", "predictedrating", "preds", "ypred",
    "logit", "probability", "prob",
)  # fmt: skip
"""Names of columns that hold a model's own scores; others may hold scores, or something else."""
CHOOSE = " (--columns, columns= in Python, or the boxes of the Upload page)"
HELD_OUT = (
    "actual",
    "actuals",
    "truth",
    "groundtruth",
    "relevant",
    "heldout",
    "ytrue",
    "test",
    "target",
    "label",
)
WHOLE = re.compile(r"[+-]?\d+(\.0*)?")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def columns_of_run(
    raw: RawTable, explicit: Mapping[str, str], without: Sequence[str], decided: Collection[str]
) -> Columns:
    """The columns of a run, after a look at its first rows.

    ``explicit`` is what was said, ``without`` are roles to leave out, ``decided`` names roles about which
    nothing is asked: "rank" where the order was said, "score" too where the table was checked before.
    """
    if not raw.header and raw.roles is None:
        columns = _without_header(raw, explicit, without)
    else:
        columns = assign("run", raw.columns, explicit, raw.roles, None, without)
        if raw.roles is None and not explicit.get("item_id") and _lacks_items(columns):
            columns = _with_lists(raw, columns, explicit, without)
    if columns.problems or raw.roles is not None:
        return columns
    columns = _refuse_list_cells(raw, columns)
    return columns if columns.problems else _ordered(raw, columns, explicit, decided)


# ── rows without a header line ───────────────────────────────────────────────────────────────


def _without_header(raw: RawTable, explicit: Mapping[str, str], without: Sequence[str]) -> Columns:
    """By position, unless the rows are one list each; a problem where they may be either."""
    names = raw.columns
    by_place = by_position("run", names, raw.sample())
    if len(names) < 3 or {"item_id", "score", "rank"} & set(explicit):
        return assign("run", names, explicit, None, by_place, without)
    rows = _first_cells(raw)
    reading = _reading_of(rows)
    if reading == "long":
        return assign("run", names, explicit, None, by_place, without)
    user = explicit.get("user_id") or names[0]
    if reading == "wide":
        return assign("run", names, explicit, None, {"user_id": user}, without)
    columns = assign("run", names, explicit, None, {"user_id": user}, without)
    return replace(columns, wide=(), notices=(), problems=columns.problems or (_two_readings(names),))


def _two_readings(names: Sequence[str]) -> Problem:
    third = "rank" if len(names) > 3 else "score or rank"
    fourth = ", score" if len(names) > 3 else ""
    found = (
        f"no header line, and {len(names)} columns that fit two readings: "
        f"user, item, {third}{fourth} in one row per item; or a user and the list of {len(names) - 1} items"
    )
    fix = (
        f"Add a header line, or name the columns{CHOOSE}: item_id={names[1]},score={names[2]} for one row "
        f"per item, item_id={names[1]}..{names[-1]} for one list per row."
    )
    return Problem("ambiguous-rows", "file", found, fix)


def _first_cells(raw: RawTable) -> list[list[str]]:
    """The first rows as text, each as its fields."""
    batch = next(iter(_first_batches(raw, raw.columns)), None)
    if batch is None:
        return []
    columns = [decoded(column).cast(pa.string()).fill_null("").to_pylist() for column in batch.columns]
    return [[cell.strip() for cell in row] for row in zip(*columns, strict=True)]


def _first_batches(raw: RawTable, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The first batch, or none where it cannot be read: whoever reads the whole file says why."""
    try:
        for batch in raw.blocks(columns, ()):
            yield batch.slice(0, LOOKED_AT)
            return
    except UploadError:
        return


def _reading_of(rows: Sequence[Sequence[str]]) -> str:
    """``long`` (one row per item), ``wide`` (one list per row), or ``either``."""
    width = len(rows[0]) if rows else 0
    if _no_lists(rows):
        return "long"
    is_number = all(NUMBER.fullmatch(cell) for row in rows for cell in row[2:])
    return "either" if is_number and width <= 4 else "wide"


def _no_lists(rows: Sequence[Sequence[str]]) -> bool:
    """Whether rows cannot be lists: a user has several, an item stands twice in one, or no id looks so."""
    users = [row[0] for row in rows]
    cells = [[cell for cell in row[1:] if cell] for row in rows]
    repeats = len(set(users)) < len(users)
    broken = any(NUMBER.fullmatch(cell) and not WHOLE.fullmatch(cell) for row in rows for cell in row[2:])
    doubled = sum(len(set(row)) < len(row) for row in cells)
    return not rows or repeats or broken or doubled > len(rows) / 2


# ── lists in cells ───────────────────────────────────────────────────────────────────────────


def _lacks_items(columns: Columns) -> bool:
    return "item_id" not in columns.mapping and not columns.wide and not columns.families


def _with_lists(
    raw: RawTable, columns: Columns, explicit: Mapping[str, str], without: Sequence[str]
) -> Columns:
    """The lists of items stand in a column of any name, or in one column per model."""
    taken = {columns.mapping.get(role) for role in ("user_id", "run", "replicate")}
    rows = raw.sample()
    found = [column for column in raw.columns if column not in taken and _holds_lists(raw, column, rows)]
    held_out = [column for column in found if plain(column) in HELD_OUT]
    ordering = {columns.mapping.get(role) for role in ("rank", "score")}
    models = [column for column in found if column not in held_out]
    models = [column for column in models if column not in ordering] or models
    if not models:
        return columns
    without = (*without, *(() if len(models) == 1 else ("rank", "score")))
    said = {**explicit, "item_id": models[0]}
    taken_roles = assign("run", raw.columns, said, None, None, without)
    notices = [*taken_roles.notices, *map(_left_out, held_out)]
    if len(models) > 1:  # no single column is the items' own
        notices = [notice for notice in notices if notice.code != "columns-guessed"]
        notices.append(_one_per_model(models))
    return replace(
        taken_roles,
        notices=tuple(notices),
        models=tuple(models) if len(models) > 1 else (),
        listed=True,
    )


def _left_out(column: str) -> Problem:
    found = "is called like the held-out items and is not taken for a candidate"
    return Problem("held-out-column", f"column '{column}'", found, "Map item_id to it if it is one.")


def _one_per_model(models: Sequence[str]) -> Problem:
    found = f"{len(models)} columns of lists, each read as a candidate: {listed(models)}"
    return Problem("several-lists", "columns", found, "Map item_id to one of them to read only that.")


def _holds_lists(raw: RawTable, column: str, rows: Sequence[Mapping[str, str]]) -> bool:
    if column in raw.lists:
        return True
    values = [value for row in rows if (value := row[column].strip())]
    return bool(values) and (all(map(_is_bracketed, values)) or _are_written_lists(values))


def _is_bracketed(value: str) -> bool:
    return value[:1] + value[-1:] in ("[]", "()")


def _are_written_lists(values: Sequence[str]) -> bool:
    """Whether texts are lists of ids rather than names with blanks or commas: most have several members, and
    members without a blank inside; where only blanks part them, each member has a digit.
    """
    several = [value for value in values if SEVERAL.fullmatch(value)]
    if len(several) <= len(values) / 2:
        return False
    members = [member for value in several for member in list_in(value)]
    marked = all(any(mark in value for mark in ",|;") for value in several)
    digits = all(any(letter.isdigit() for letter in member) for member in members)
    return digits or (marked and not any(" " in member for member in members))


def _refuse_list_cells(raw: RawTable, columns: Columns) -> Columns:
    """Cells of a wide table hold one item each."""
    if not columns.wide:
        return columns
    rows = raw.sample()
    bad = [
        column
        for column in columns.wide
        if column in raw.lists or any(row[column][:1] == "[" and row[column][-1:] == "]" for row in rows)
    ]
    if not bad:
        return columns
    found = f"{wide_label(columns.wide)} are read as one item per cell, and the cells hold lists"
    fix = (
        f"Map item_id to one list column, such as '{bad[0]}'; each column of another model in its own upload."
    )
    return replace(columns, problems=(Problem("list-cells", f"column '{bad[0]}'", found, fix),))


# ── which column orders the lists, and which way ─────────────────────────────────────────────


def _ordered(
    raw: RawTable, columns: Columns, explicit: Mapping[str, str], decided: Collection[str]
) -> Columns:
    """``columns`` with what the values say of rank and score."""
    if "score" in decided or columns.wide or columns.models:
        return columns
    mapping = columns.mapping
    if "rank" in mapping:
        return _with_ranks(raw, columns, explicit, decided)
    if "score" in mapping and "score" not in explicit:
        return _with_scores(raw, columns)
    distance = next((column for column in raw.columns if is_distance(column)), None)
    if "score" not in mapping and "score" not in explicit and distance and distance not in mapping.values():
        return _with_distance(raw, columns, distance)
    return columns


def is_distance(column: str) -> bool:
    """Whether a column is called like a quantity of which less is better."""
    return plain(column).endswith(LESS_IS_BETTER)


def _with_ranks(
    raw: RawTable, columns: Columns, explicit: Mapping[str, str], decided: Collection[str]
) -> Columns:
    """Ranks may count from 0, run down, or contradict the scores beside them."""
    has_score = "score" in columns.mapping
    user, values = _first_values(raw, columns, ["rank", *(["score"] if has_score else [])])
    rank = values.get("rank")
    if rank is None or not len(rank):
        return columns
    columns = _counted_from_zero(columns, rank)
    if "rank" in decided or {"rank", "score"} & set(explicit):
        return columns
    if has_score:
        order = np.lexsort((rank, user))
        falls, rises = _steps(user[order], values["score"][order], rank[order])
        return _against_score(columns, rises, falls + rises)
    falls, rises = _steps(user, rank)
    runs_down = rises == 0 and falls >= FEWEST_DESCENDING
    return _doubtful(columns, _descending(columns.mapping["rank"]), "rank") if runs_down else columns


def _counted_from_zero(columns: Columns, rank: Floats) -> Columns:
    """Ranks from 0 are ranks from 1; a column of nothing but 0 is no rank."""
    known = rank[np.isfinite(rank)]
    if not len(known) or known.min() != 0 or known.max() == 0:
        return columns
    found = "ranks count from 0 (as in PyTerrier and numpy) and are read as counted from 1"
    notice = Problem("ranks-from-zero", f"column '{columns.mapping['rank']}'", found, "")
    return replace(columns, ranks_from=0, notices=(*columns.notices, notice))


def _against_score(columns: Columns, opposite: int, n: int) -> Columns:
    """``opposite`` of ``n`` neighbouring places have the higher score at the worse rank."""
    rank, score = columns.mapping["rank"], columns.mapping["score"]
    if not opposite:
        return columns
    how = (
        f"Choose{CHOOSE}: rank={rank} (or --order rank) if rank 1 is the best, rank= (left out, or --order "
        "score) if the highest score is."
    )
    if n >= FEWEST and opposite >= CLEAR * n:
        found = f"says the opposite of '{score}': the better the rank, the lower the score"
        return _doubtful(
            columns, Problem("rank-against-score", f"column '{rank}'", found, how), "rank", "score"
        )
    found = f"'{rank}' and '{score}' disagree at {opposite:,} of the first {n:,} neighbouring places"
    fix = f"'{rank}' orders the lists; order by score (--order score) if '{score}' should."
    notice = Problem("rank-against-score", f"column '{rank}'", found, fix, opposite)
    return replace(columns, notices=(*columns.notices, notice))


def _descending(rank: str) -> Problem:
    found = "the ranks run down in every list: the largest may be the best, or the rows be written backwards"
    fix = f"Choose{CHOOSE}: rank={rank} (or --order rank) if 1 is the best, score={rank} if the largest is."
    return Problem("descending-ranks", f"column '{rank}'", found, fix)


def _with_scores(raw: RawTable, columns: Columns) -> Columns:
    """Another column may hold a model's scores as well."""
    score = columns.mapping["score"]
    taken = set(columns.mapping.values())
    others = [c for c in raw.columns if c not in taken and plain(c) in PREDICTED]
    if plain(score) not in PREDICTED or not others:
        return columns
    for other in others:
        user, values = _first_values(raw, columns, ["score"], {"score": other})
        _, own = _first_values(raw, columns, ["score"])
        if not len(user):
            return columns
        order = np.lexsort((-own["score"], user))
        _, rises = _steps(user[order], values["score"][order], -own["score"][order])
        if rises:
            return _doubtful(columns, _two_scores(score, other), "score")
    found = f"orders the lists; {listed(others)} may be a score too, and orders the first rows alike"
    fix = f"To order by it{CHOOSE}: score={others[0]}."
    notice = Problem("two-scores", f"column '{score}'", found, fix)
    return replace(columns, notices=(*columns.notices, notice))


def _two_scores(score: str, other: str) -> Problem:
    found = f"'{score}' and '{other}' may both be the score, and order the lists differently"
    fix = f"Choose the one whose highest value is the best{CHOOSE}: score={score} or score={other}."
    return Problem("two-scores", f"columns '{score}' and '{other}'", found, fix)


def _with_distance(raw: RawTable, columns: Columns, distance: str) -> Columns:
    """Of a distance or a loss less is better, unless the rows of the lists stand the other way round."""
    named = replace(columns, mapping={**columns.mapping, "score": distance})
    user, values = _first_values(raw, named, ["score"])
    if "score" not in values:
        return columns
    falls, rises = _steps(user, values["score"])
    fix = f"Choose{CHOOSE}: score={distance} if the highest is the best, score=-{distance} if the least is."
    if falls >= FEWEST and falls >= CLEAR * (falls + rises):
        found = "its name says that less is better, but it falls from the first row of each list on"
        return _doubtful(columns, Problem("distance", f"column '{distance}'", found, fix))
    notices = [notice for notice in columns.notices if notice.code != "file-order"]
    found = "orders the lists, the least value first: its name says that less is better"
    notices.append(Problem("distance", f"column '{distance}'", found, fix))
    return replace(named, notices=tuple(notices), reversed_score=True)


def _doubtful(columns: Columns, problem: Problem, *roles: str) -> Columns:
    """The roles stay open until somebody says what they are."""
    left = {role: column for role, column in columns.mapping.items() if role not in roles}
    return replace(columns, mapping=left, problems=(problem,))


def _steps(user: Ints, values: Floats, place: Floats | None = None) -> tuple[int, int]:
    """(falls, rises) of ``values`` from one row of a user's list to the next, in the order given.

    Where ``place`` is equal in both rows, their order says nothing.
    """
    same = user[1:] == user[:-1]
    if place is not None:
        same &= place[1:] != place[:-1]
    step = np.diff(values)[same]
    return int((step < 0).sum()), int((step > 0).sum())


def _first_values(
    raw: RawTable, columns: Columns, roles: Sequence[str], instead: Mapping[str, str] | None = None
) -> tuple[Ints, dict[str, Floats]]:
    """(a code of the user, the numbers of each role) of the first rows, rows of one user together.

    Nothing where they cannot be read: whoever reads the whole file says why.
    """
    chosen = replace(columns, mapping={**columns.mapping, **(instead or {})})
    needed = ["user_id", "item_id", *roles]
    try:
        blocks = blocks_of(raw, chosen, layout_of(raw, chosen), needed, ["user_id", "item_id"], Findings())
        block = next(blocks, None)
        arrays = {} if block is None else block.columns
        values = {role: _numbers(arrays[role], role, raw) for role in roles if role in arrays}
        user = _codes(arrays["user_id"], raw) if values else np.zeros(0, dtype=np.int64)
    except (UploadError, pa.ArrowException):
        return np.zeros(0, dtype=np.int64), {}
    order = np.argsort(user, kind="stable")
    return user[order], {role: numbers[order] for role, numbers in values.items()}


def _numbers(array: pa.Array, role: str, raw: RawTable) -> Floats:
    seen = _seen(role, raw)
    floats = read_floats(array.slice(0, LOOKED_AT), seen, "a number", "")
    return np.asarray(pc.fill_null(floats, np.nan), dtype=np.float64)


def _codes(array: pa.Array, raw: RawTable) -> Ints:
    ids = read_ids(array.slice(0, LOOKED_AT), _seen("user_id", raw))
    ids = ids if pa.types.is_dictionary(ids.type) else ids.dictionary_encode()
    return np.asarray(pc.fill_null(ids.indices, -1), dtype=np.int64)


def _seen(role: str, raw: RawTable) -> Seen:
    def nowhere(_row: int) -> Any:
        return ""

    return Seen(role_named("run", role), role, Findings(), nowhere, raw.decimal)
