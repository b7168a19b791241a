"""Do a run's items and users meet the tables it is measured against? If not, the likely cause and its repair.

A run may recommend much that no user held out, so that a small share of the truth says nothing. What tells is
the union of truth, catalogue and train, and whether many more ids would be known in another spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from recdash.domain import Hits, IdOverlap, KnownIds, Recommendations
from recdash.engines import Reference
from recdash.engines.id_spelling import Repair, likely_repair
from recdash.engines.ids import IdIndex
from recdash.engines.known_ids import known_items, written_ids
from recdash.errors import Problem
from recdash.numbers import share

LEAST_KNOWN = 0.1
"""Below this share of places (users) that catalogue or train should know, a run is not scored."""
REPAIRABLE = 0.2
"""From this share of the known on that another spelling would add, a run is not scored."""
ANY = 1e-12
"""The bound that only a share of 0 is below."""
PERFECT = 0.95
"""From this share of relevant places on, lists look like the truth itself."""
LEAST_PLACES = 20
"""Fewer places than this may all be relevant, or all be unknown, by chance."""

DO_NOT_MEET = "ids-do-not-meet"
"""What such a problem is called in a comparison, unless somebody accepted the ids."""
SPELLED, NONE_KNOWN, FEW_KNOWN = "ids-spelled-otherwise", "no-common-item", "few-known-ids"
STOPPING = (SPELLED, NONE_KNOWN, FEW_KNOWN)
SOME_SPELLED, TRUTH_AS_RUN = "some-ids-spelled-otherwise", "truth-as-run"
CAVEATS = (*STOPPING, SOME_SPELLED, TRUTH_AS_RUN)
"""What a comparison says of a run beside its numbers, too."""
ACCEPT = (
    "If these ids are right, accept them: --accept-unknown-ids, accept_unknown_ids=True, or the box on the "
    "Upload page."
)


@dataclass(frozen=True)
class _Kind:
    """Items or users: words for them, and what knows their ids.

    ``index`` knows the ids, ``table_of`` names the table that has the id of a code; a share of known rows
    below ``bound`` is too small.
    """

    column: str
    rows: str
    index: IdIndex
    bound: float
    table_of: Callable[[int], str]


def id_problems(run: Recommendations, hits: Hits, reference: Reference) -> list[Problem]:
    """What is wrong with the run's ids, and whether it is the truth; nothing of a reference candidate."""
    if run.reference or hits.overlap is None:
        return []
    return [*overlap_problems(run.name, hits.overlap, reference), *perfect_problems(run.name, hits)]


def overlap_problems(name: str, overlap: IdOverlap, reference: Reference) -> list[Problem]:
    """What is wrong with a run's ids: at most one problem for items and one for users."""
    sides = ((overlap.items, _items_of(reference)), (overlap.users, _users_of(reference)))
    found = (_problem(name, known, kind) for known, kind in sides if known is not None)
    return [problem for problem in found if problem is not None]


def stopping(problems: Iterable[Problem]) -> list[Problem]:
    """Those that keep a run from being scored, unless somebody accepts its ids."""
    return [problem for problem in problems if problem.code in STOPPING]


def caveats(notices: Iterable[Problem]) -> tuple[Problem, ...]:
    """Those notices of a run that a comparison repeats."""
    return tuple(notice for notice in notices if notice.code in CAVEATS)


def stored_problems(name: str, hits: Hits, reference: Reference) -> tuple[Problem, ...]:
    """Of a run that was scored before ids were counted: from its hits. Of its users nothing is known."""
    if hits.exposure is None:
        return ()
    overlap = IdOverlap(known_items(hits.exposure, reference), None)
    again = f"Delete the run and upload it again. {ACCEPT}"
    found = [
        replace(one, code=DO_NOT_MEET, fix=one.fix.replace(ACCEPT, again)) if one.code in STOPPING else one
        for one in overlap_problems(name, overlap, reference)
    ]
    return (*found, *perfect_problems(name, hits))


def _items_of(reference: Reference) -> _Kind:
    """With a truth alone, small beside what may be recommended, any share of known items but 0 may be."""
    further = {"the catalogue": reference.catalogue, "the train table": reference.train_users}
    tables = ["the truth", *(name for name, table in further.items() if table is not None)]
    n_truth, catalogue = len(reference.truth.items), reference.catalogue

    def table_of(code: int) -> str:
        if code < n_truth:
            return "the truth"
        return "the catalogue" if catalogue is not None and code in catalogue else tables[-1]

    rows = f"places in its lists show an item that {_either(tables)} knows"
    return _Kind("item_id", rows, reference.items, LEAST_KNOWN if len(tables) > 1 else ANY, table_of)


def _users_of(reference: Reference) -> _Kind:
    n_truth, train = reference.truth.n_users, reference.train_ids
    if train is None:
        return _Kind("user_id", "users are in the truth", reference.users, 0.0, lambda _: "the truth")
    rows = "users are in the truth or the train table"
    return _Kind(
        "user_id", rows, train, LEAST_KNOWN, lambda code: "the truth" if code < n_truth else "the train table"
    )


def _either(tables: list[str]) -> str:
    *most, last = tables
    return f"{', '.join(most)} or {last}" if most else last


def _problem(name: str, known: KnownIds, kind: _Kind) -> Problem | None:
    if not known.unknown_ids:
        return None
    repair = likely_repair(list(known.sample), written_ids(kind.index))
    if repair is not None and int(repair.meets.sum()) < repair.least:
        repair = None
    gained = 0 if repair is None else _gained(known, repair)
    code = _code(known, kind, gained)
    return _told(code, name, known, kind, repair, gained) if code else None


def _code(known: KnownIds, kind: _Kind, gained: int) -> str:
    """Which problem it is; none where the unknown ids are few, or may well be unknown."""
    if gained and gained >= REPAIRABLE * (known.known + gained):
        return SPELLED
    if known.rows >= LEAST_PLACES and known.share < kind.bound:
        return FEW_KNOWN if known.known else NONE_KNOWN
    return SOME_SPELLED if gained else ""


def _gained(known: KnownIds, repair: Repair) -> int:
    """How many more rows would be known after the repair, estimated from the sample."""
    rows = np.array(list(known.sample.values()))
    scale = (known.rows - known.known) / rows.sum()
    return round(float(rows[repair.meets].sum() * scale))


def _told(code: str, name: str, known: KnownIds, kind: _Kind, repair: Repair | None, gained: int) -> Problem:
    found = f"only {share(known.known, known.rows)} of the {kind.rows}"
    place = f"run '{name}', column '{kind.column}'"
    if repair is None:
        example = ", ".join(f"'{one}'" for one in list(known.sample)[:3])
        found += f"; unknown are {example}{' …' if known.unknown_ids > 3 else ''}"
        fix = "Write the ids as those tables do, and check that the columns are mapped right."
    else:
        ours, theirs = repair.examples[0]
        table = kind.table_of(repair.places[0])
        found += (
            f"; {gained:,} more would, but for {repair.cause}: '{ours}' in the run, '{theirs}' in {table}"
        )
        fix = repair.fix.replace("{column}", kind.column)
    return Problem(code, place, found, _with_way_out(code, fix), known.unknown_ids)


def _with_way_out(code: str, fix: str) -> str:
    return f"{fix} {ACCEPT}" if code in STOPPING else fix


# ── the truth as a run ───────────────────────────────────────────────────────────────────────


def perfect_problems(name: str, hits: Hits) -> list[Problem]:
    """A notice where (nearly) every place holds a relevant item of its user, which no recommender reaches."""
    counted = hits.truth.users_who_count()
    places = int(hits.list_length[counted].sum())
    relevant = hits.truth.relevant()
    n_hits = int(relevant[hits.row].sum())
    if places < LEAST_PLACES or n_hits < PERFECT * places:
        return []
    held_out = int(relevant.sum())
    what = (
        f"its {places:,} rows are the {held_out:,} relevant rows of the truth"
        if n_hits == places == held_out
        else f"{n_hits:,} of its {places:,} places hold a relevant item of their user"
    )
    fix = "Is this the truth itself, or a run that was trained on it? Upload what the recommender gave."
    return [Problem(TRUTH_AS_RUN, f"run '{name}'", what, fix, n_hits)]
