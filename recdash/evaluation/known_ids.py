"""Checks whether a run's ids occur in test set, catalogue and training data; if not, finds the likely cause
and how to fix it.

Each table is compared with the run separately: a catalogue in the run's spelling shows nothing about the test
set. A run may recommend many items that are in no test row, so a small overlap with the test set alone proves
nothing. The evidence is how many more ids would match in another spelling, and how many matches chance alone
would give.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from recdash.domain.hits import Exposure, Hits, IdOverlap, KnownIds
from recdash.domain.inputs import Recommendations
from recdash.engines import Reference
from recdash.engines.known_ids import ANY, places_by_table, stored_overlap
from recdash.errors import Problem
from recdash.formatting.numbers import share
from recdash.formatting.wording import listed

LEAST_KNOWN = 0.1
"""A run is not scored if less than this share of its positions (or users) occurs in catalogue or training
data.
"""
REPAIRABLE = 0.2
"""A run is not scored if another spelling would add at least this share of all ids that then match."""
EXPECTED = 20
"""If chance alone gives at least this many positions with an item of the test set, hardly any such position
is suspicious.
"""
PERFECT = 0.95
"""If at least this share of positions is relevant, the lists look like the test set itself."""
LEAST_PLACES = 20
"""With fewer positions than this, all may be relevant, or nearly all unknown, by chance."""
HALF = 0.5
"""If at least this share of ids matches, the spelling counts as the same."""
FEWEST_PLACES = 5
"""A run with at most this many positions is scored even if all their items are unknown; there is a notice."""

DO_NOT_MEET = "ids-do-not-meet"
"""The code that a comparison uses for problems that prevent scoring, unless the ids were accepted."""
SPELLED, NONE_KNOWN, FEW_KNOWN = "ids-spelled-otherwise", "no-common-item", "few-known-ids"
TRUTH_SPELLED = "truth-spelled-otherwise"
STOPPING = (SPELLED, NONE_KNOWN, FEW_KNOWN, TRUTH_SPELLED)
SOME_SPELLED, SOME_OF_TRUTH = "some-ids-spelled-otherwise", "some-of-truth-spelled-otherwise"
HARDLY_KNOWN = "hardly-known-ids"
TABLE_SPELLED, TABLE_UNMET = "table-spelled-otherwise", "table-not-met"
OF_TABLES = (TABLE_SPELLED, TABLE_UNMET)
TRUTH_AS_RUN = "truth-as-run"
CAVEATS = (*STOPPING, SOME_SPELLED, SOME_OF_TRUTH, HARDLY_KNOWN, TRUTH_AS_RUN)
"""Codes of notices on a run that a comparison repeats next to the run's numbers."""
ACCEPT = (
    "If these ids are correct, accept them: --accept-unknown-ids, accept_unknown_ids=True, or the "
    "box in the file's details on the page Add data."
)
WRITE_ALIKE = "Write the ids as those tables do, and check the column mapping."
MAY_BE_RIGHT = (
    "The ids of run and truth are spelled alike, so this may be correct. Check which users the "
    "candidate recommends to, and which items it may recommend."
)
TABLES = {"truth": "the truth", "catalogue": "the catalogue", "train": "the training data", "run": "the run"}


@dataclass(frozen=True)
class _Kind:
    """Words for items or for users: the name of their column, the rows of a run, the ids of the test set."""

    column: str
    rows: str
    of_truth: str
    whose: str = "run '{}'"

    def known_to(self, tables: Iterable[str]) -> str:
        """Returns the run's rows with a known id, in words such as ``positions in its lists have an item that
        the truth or the catalogue knows``.
        """
        return self.rows.format(_either([TABLES[name] for name in tables]))


ITEMS = _Kind("item_id", "positions in its lists have an item that {} knows", "items")
USERS = _Kind("user_id", "users are in {}", "users")
PREDICTED_ITEMS = _Kind("item_id", "rows have an item that {} knows", "items", "predictions of '{}'")
PREDICTED_USERS = replace(USERS, whose="predictions of '{}'")


def id_problems(run: Recommendations, hits: Hits, reference: Reference) -> list[Problem]:
    """Returns the problems of the run's ids, and a notice if the run seems to be the test set itself.

    For a reference candidate, only notices on items that training data or catalogue lack.
    """
    overlap = None if run.reference else hits.overlap
    problems = [] if overlap is None else overlap_problems(run.name, overlap, reference)
    tables_named = any(problem.code in OF_TABLES for problem in problems)
    unknown = [] if tables_named else unknown_item_notices(run.name, hits, reference)
    perfect = [] if overlap is None else perfect_problems(run.name, hits)
    return [*problems, *perfect, *unknown]


def overlap_problems(name: str, overlap: IdOverlap, reference: Reference) -> list[Problem]:
    """Returns the problems of a run's ids, and of the ids of the tables with which it was compared."""
    return [
        *_side_problems(name, overlap.items, overlap.truth_items, ITEMS, _expected_share(reference)),
        *(_side_problems(name, overlap.users, overlap.truth_users, USERS, None) if overlap.users else ()),
    ]


def predicted_problems(name: str, overlap: IdOverlap) -> list[Problem]:
    """Returns a problem for items and for users of rating predictions, if their ids would match the tables in
    another spelling.
    """
    sides = ((overlap.items, PREDICTED_ITEMS), (overlap.users, PREDICTED_USERS))
    problems = (_of_run(name, known, kind, None, False) for known, kind in sides if known is not None)
    return [
        problem for problem in problems if problem is not None and problem.code in (SPELLED, SOME_SPELLED)
    ]


def stopping(problems: Iterable[Problem]) -> list[Problem]:
    """Returns those problems that prevent scoring unless the ids are accepted."""
    return [problem for problem in problems if problem.code in STOPPING]


def caveats(notices: Iterable[Problem]) -> tuple[Problem, ...]:
    """Returns those of a run's notices that a comparison repeats."""
    return tuple(notice for notice in notices if notice.code in CAVEATS)


def stored_problems(name: str, hits: Hits, reference: Reference) -> tuple[Problem, ...]:
    """Returns the id problems of a stored run that was scored before ids were counted. They are found from
    the items in its hits.
    """
    if hits.exposure is None:
        return ()
    overlap = stored_overlap(hits.exposure, reference)
    again = f"Delete the run and upload it again. {ACCEPT}"
    problems = [
        replace(problem, code=DO_NOT_MEET, fix=problem.fix.replace(ACCEPT, again))
        if problem.code in STOPPING
        else problem
        for problem in overlap_problems(name, overlap, reference)
    ]
    return (*problems, *perfect_problems(name, hits))


def unmet_tables(exposure: Exposure, reference: Reference) -> dict[str, str]:
    """Returns {table: reason} for catalogue and training data, if they contain hardly any recommended
    item.
    """
    if reference.catalogue is None and reference.train_users is None:
        return {}
    places, by_table = places_by_table(exposure, reference)
    return {
        table: f"{TABLES[table]} knows only {share(known, places)} of the positions in the lists"
        for table, known in by_table.items()
        if table != "truth" and places >= LEAST_PLACES and known < LEAST_KNOWN * places
    }


def unmet_by_truth(reference: Reference) -> str:
    """Returns why the popularity of test items in the training data cannot be used; empty if it can."""
    n_items = len(reference.truth.items)
    if reference.train_users is None or n_items < LEAST_PLACES:
        return ""
    known = int((reference.train_users[:n_items] > 0).sum())
    if known >= LEAST_KNOWN * n_items:
        return ""
    return f"{TABLES['train']} knows only {share(known, n_items)} of the items in the truth"


def _expected_share(reference: Reference) -> float:
    """Returns the share of positions that would have an item of the test set by chance; 0 if neither
    catalogue nor training data are given.
    """
    in_catalogue = 0 if reference.catalogue is None else len(reference.catalogue)
    in_train = 0 if reference.train_users is None else int((reference.train_users > 0).sum())
    n_items = max(in_catalogue, in_train)
    return min(1.0, len(reference.truth.items) / n_items) if n_items else 0.0


def _side_problems(
    name: str, known: KnownIds, of_truth: KnownIds | None, kind: _Kind, expected: float | None
) -> list[Problem]:
    """Returns the problems of either items or users: a single one if it prevents scoring, else notices on the
    run and on the tables.
    """
    are_alike = of_truth is not None and _are_written_alike(known, of_truth)
    problem = _of_run(name, known, kind, expected, are_alike) or _of_truth(name, of_truth, kind)
    if problem is not None and problem.code in STOPPING:
        return [problem]
    return [*([problem] if problem else []), *_of_tables(name, known, kind)]


# ── the run ──────────────────────────────────────────────────────────────────────────────────


def _are_written_alike(known: KnownIds, of_truth: KnownIds) -> bool:
    """Returns whether run and test set certainly use the same spelling of ids: the run contains half of the
    test set's ids, or another table contains half of both.
    """
    if of_truth.by_table["run"] >= HALF * of_truth.rows:
        return True
    others = known.by_table.keys() & of_truth.by_table.keys()
    return any(_knows_half(known, table) and _knows_half(of_truth, table) for table in others)


def _knows_half(known: KnownIds, table: str) -> bool:
    return known.by_table[table] >= HALF * known.rows


def _of_run(
    name: str, known: KnownIds, kind: _Kind, expected: float | None, are_alike: bool
) -> Problem | None:
    """Returns the problem of a run whose ids have another spelling, or hardly occur in the tables; None if
    there is neither. The latter is only a notice if ``are_alike``.
    """
    gained = {table: _gained(known, table) for table in known.respelled}
    for table, rows in gained.items():
        # If the table's spelling also differs from the truth's, the table has to be changed, not the run.
        is_of_table = table != "truth" and known.respelled[table].as_written.get("truth", 0) > 0
        if not is_of_table and rows > 0 and rows >= REPAIRABLE * (_known_to(known, table) + rows):
            return _spelled(SPELLED, name, known, kind, table, rows)
    code, tables = _hardly_known(known, expected)
    if code:
        return _unknown(HARDLY_KNOWN if are_alike else code, name, known, kind, tables, are_alike)
    most = max(gained, key=gained.__getitem__, default=ANY)
    return _spelled(SOME_SPELLED, name, known, kind, most, gained[most]) if gained.get(most) else None


def _known_to(known: KnownIds, table: str) -> int:
    return known.known if table == ANY else known.by_table[table]


def _gained(known: KnownIds, table: str) -> int:
    """Returns the number of additional rows that would match the table in another spelling.

    Rows whose id the table has in both spellings are not counted, unless no id matches at all.
    """
    respelled = known.respelled.get(table)
    if respelled is None:
        return 0
    return respelled.rows - (respelled.apart if _known_to(known, table) else 0)


def _hardly_known(known: KnownIds, expected: float | None) -> tuple[str, list[str]]:
    """Returns (problem code, tables that contain hardly any of the rows); the code is empty if enough rows
    match.

    The test set contains too few if it contains none, or far fewer than chance would give. Test set,
    catalogue and training data together contain too few below the share ``LEAST_KNOWN``. If only a test set
    is given, any share above 0 may be correct.
    """
    none_known = NONE_KNOWN if known.rows > FEWEST_PLACES else HARDLY_KNOWN
    tables = list(known.by_table)
    if expected is not None:
        in_truth, by_chance = known.by_table["truth"], expected * known.rows
        if not in_truth and known.rows and (len(tables) == 1 or by_chance >= EXPECTED):
            return none_known, ["truth"]
        if by_chance >= EXPECTED and in_truth < LEAST_KNOWN * by_chance:
            return FEW_KNOWN, ["truth"]
    if len(tables) == 1 or known.share >= LEAST_KNOWN:
        return "", tables
    if not known.known:
        return none_known, tables
    return FEW_KNOWN if known.rows >= LEAST_PLACES else HARDLY_KNOWN, tables


def _spelled(code: str, name: str, known: KnownIds, kind: _Kind, table: str, gained: int) -> Problem:
    respelled = known.respelled[table]
    tables = list(known.by_table) if table == ANY else [table]
    in_table = _either([TABLES[other] for other in tables])
    ours, theirs = respelled.example
    side = "the run" if kind in (ITEMS, USERS) else "the predictions"
    text = (
        f"only {share(_known_to(known, table), known.rows)} of the {kind.known_to(tables)}; "
        f"{gained:,} more differ only by {respelled.cause}: '{ours}' in {side}, '{theirs}' in "
        f"{in_table}"
    )
    alike = [TABLES[other] for other in respelled.as_written if other != table]
    column = f"{kind.column} of {listed([side, *alike])}" if alike else kind.column
    fix = respelled.fix.replace("{column}", column).replace("{other}", f"{kind.column} of {in_table}")
    place = f"{kind.whose.format(name)}, column '{kind.column}'"
    return Problem(code, place, text, _with_way_out(code, fix), gained, f"'{ours}'")


def _unknown(
    code: str, name: str, known: KnownIds, kind: _Kind, tables: list[str], are_alike: bool
) -> Problem:
    """Returns the problem of ids that hardly occur in the tables and that no other spelling explains."""
    table = tables[0] if len(tables) == 1 else ANY
    rows = known.by_table[table] if len(tables) == 1 else known.known
    example = _quoted(known.unknown.get(table, ()))
    text = f"only {share(rows, known.rows)} of the {kind.known_to(tables)}; unknown: {example}"
    text += " …" if known.unknown_ids > len(known.unknown.get(table, ())) else ""
    fix = MAY_BE_RIGHT if are_alike else WRITE_ALIKE
    place = f"{kind.whose.format(name)}, column '{kind.column}'"
    return Problem(code, place, text, _with_way_out(code, fix), known.unknown_ids, example)


def _with_way_out(code: str, fix: str) -> str:
    return f"{fix} {ACCEPT}" if code in STOPPING else fix


def _quoted(ids: Iterable[str]) -> str:
    return ", ".join(f"'{example}'" for example in ids)


def _either(names: list[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


# ── the tables ───────────────────────────────────────────────────────────────────────────────


def _of_truth(name: str, known: KnownIds | None, kind: _Kind) -> Problem | None:
    """Returns the problem of a test set in which some ids have another spelling than in the run and the other
    tables; None if there is none.
    """
    respelled = None if known is None else known.respelled.get(ANY)
    if known is None or respelled is None or respelled.rows < REPAIRABLE * (known.known + respelled.rows):
        return None
    surely = respelled.rows - respelled.apart
    code = TRUTH_SPELLED if surely >= REPAIRABLE * (known.known + surely) and surely else SOME_OF_TRUTH
    ours, theirs = respelled.example
    others = _either([f"run '{name}'", *(TABLES[other] for other in known.by_table if other != "run")])
    text = (
        f"only {share(known.known, known.rows)} of its {kind.of_truth} are in {others}; "
        f"{respelled.rows:,} more differ only by {respelled.cause}: '{ours}' in the truth, '{theirs}' in "
        f"{others}"
    )
    fix = respelled.fix.replace("{column}", f"{kind.column} of the truth")
    fix = fix.replace("{other}", f"{kind.column} of {others}")
    fix = _with_way_out(code, fix)
    return Problem(code, f"truth, column '{kind.column}'", text, fix, respelled.rows, f"'{ours}'")


def _of_tables(name: str, known: KnownIds, kind: _Kind) -> Iterator[Problem]:
    """Yields warnings about a catalogue or training data, called ``name``, that writes ids in another way
    than the run does (``007`` and ``7``), or that has few of the run's ids. ``kind`` is users or items.
    """
    for table, rows in known.by_table.items():
        if table == "truth" or not known.rows:
            continue
        respelled, gained = known.respelled.get(table), _gained(known, table)
        place = f"run '{name}', {table}" + ("" if kind is ITEMS else ", users")
        text = f"{share(rows, known.rows)} of the {kind.known_to([table])}; "
        if respelled and gained >= REPAIRABLE * (rows + gained):
            ours, theirs = respelled.example
            cause, fix = respelled.other_way if respelled.other_way[1] else (respelled.cause, respelled.fix)
            text += (
                f"{respelled.rows:,} more differ only by {cause}: '{ours}' in the run and the truth, "
                f"'{theirs}' in {TABLES[table]}"
            )
            fix = fix.replace("{column}", f"{kind.column} of {TABLES[table]}").replace("{other}", kind.column)
            yield Problem(TABLE_SPELLED, place, text, fix, respelled.rows, f"'{ours}'")
        elif known.rows >= LEAST_PLACES and rows < LEAST_KNOWN * known.rows:
            example = _quoted(known.unknown.get(table, ()))
            text += f"unknown: {example} …"
            fix = f"Write the ids of {TABLES[table]} as the run does; metrics that use it are unavailable."
            yield Problem(TABLE_UNMET, place, text, fix, known.rows - rows, example)


# ── the truth as a run ───────────────────────────────────────────────────────────────────────


def perfect_problems(name: str, hits: Hits) -> list[Problem]:
    """Returns a notice if (nearly) every position has a relevant item, which no recommender achieves; else
    empty.
    """
    counted = hits.truth.users_who_count()
    places = int(hits.list_length[counted].sum())
    relevant = hits.truth.relevant()
    n_hits = int(relevant[hits.row].sum())
    if places < LEAST_PLACES or n_hits < PERFECT * places:
        return []
    held_out = int(relevant.sum())
    text = (
        f"its {places:,} rows are the {held_out:,} relevant rows of the truth"
        if n_hits == places == held_out
        else f"{n_hits:,} of its {places:,} positions have a relevant item of their user"
    )
    fix = "Is this the truth itself, or a run trained on it? Upload the recommender's output."
    first = int(np.argmax(relevant[hits.row]))
    example = f"user '{hits.truth.users[int(hits.user[first])]}'"
    return [Problem(TRUTH_AS_RUN, f"run '{name}'", text, fix, n_hits, example)]


# ── items of no table ────────────────────────────────────────────────────────────────────────


def unknown_item_notices(name: str, hits: Hits, reference: Reference) -> list[Problem]:
    """Returns a notice if no recommended item is in the training data, and one if some are not in the
    catalogue.
    """
    if hits.exposure is None:
        return []
    place = f"run '{name}', column 'item_id'"
    in_lists = np.zeros(len(hits.exposure.items), dtype=bool)
    for exposure in (hits.exposure, hits.other_exposure):
        if exposure is not None:
            in_lists[exposure.shown.item] = True
    items, train = np.flatnonzero(in_lists), reference.train_users
    if train is not None and not train[items[items < len(train)]].any():
        text = "no item of these lists is in the training data"
        fix = "Novelty and popularity are meaningless here; check that both files spell ids alike."
        example = f"item '{hits.exposure.items[int(items[0])]}'" if len(items) else ""
        return [Problem("nothing-in-train", place, text, fix, len(items), example)]
    if reference.catalogue is None:
        return []
    unknown = items[~np.isin(items, reference.catalogue)]
    if not len(unknown):
        return []
    example = ", ".join(f"'{hits.exposure.items[int(code)]}'" for code in unknown[:3])
    text = f"{len(unknown)} item ids are not in the catalogue ({example})"
    fix = "They count for accuracy, but not for coverage or Gini; check the ids."
    return [Problem("unknown-items", place, text, fix, len(unknown), example)]
