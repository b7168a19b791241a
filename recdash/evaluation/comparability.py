"""Determines whether the numbers of several runs are comparable, and if not, why.

It reads no table: all that a run's numbers depend on was recorded when the run was scored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recdash.domain.hits import Hits
from recdash.domain.records import Experiment, Run
from recdash.errors import Problem
from recdash.formatting.numbers import of_100
from recdash.formatting.wording import listed, plural

LISTED = ("both", "judged_both", "run")
"""The population rules that leave out users without a list."""
MOST_NAMED = 3
LISTS_MISSING = "lists-missing"
"""The code of the problem that some runs lack lists which others have."""
NOTICEABLE = 0.01
"""Where users without a list count as 0, their share may differ between runs by this much without a
notice.
"""


@dataclass(frozen=True)
class Basis:
    """The tables and rules on which the numbers of one run depend.

    ``tables`` is {kind: content hash}; a kind without a table is missing or None. ``served`` identifies which
    users with a relevant item have a list (None if not recorded). ``rows`` is the number of rows read, 0 if
    not recorded. ``version`` is the release that scored the run. ``computed``: the run is a reference
    candidate. ``ids``: problems of its ids.
    """

    run: str
    users: str
    depth: int
    order: str
    ties: str
    version: str
    counted: int
    without_list: int
    rows: int = 0
    tied_rows: int = 0
    duplicates: str = "first"
    repeated: int = 0
    threshold: float | None = None
    served: str | None = None
    computed: bool = False
    tables: Mapping[str, str | None] = field(default_factory=dict)
    ids: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class DefinitionChange:
    """A change in the definition of a metric: stored numbers from before ``version`` mean something else."""

    version: str
    metric: str
    what: str


CHANGES: tuple[DefinitionChange, ...] = ()
"""Changes of definitions; a release that changes what a number means adds a row. There are none so far."""


def basis_of(run: Run, experiment: Experiment, ids: tuple[Problem, ...] = ()) -> Basis:
    """Returns what the numbers of a stored run depend on; ``ids`` are problems of its ids."""
    made, ledger = run.provenance, run.ledger
    return Basis(
        run.name,
        users=str(made.get("users")),
        depth=int(made.get("depth") or 0),
        order=str(made.get("order")),
        ties=str(made.get("ties", "file")),
        version=str(made.get("version", "0")),
        counted=ledger.get("counted") or 0,
        without_list=ledger.get("without_list") or 0,
        rows=ledger.get("rows") or 0,
        tied_rows=ledger.get("tied_rows") or 0,
        duplicates=str(made.get("duplicates", "first")),
        repeated=ledger.get("duplicates") or 0,
        threshold=experiment.settings.get("relevance_threshold"),
        served=made.get("served"),
        computed=run.reference is not None,
        tables=dict(experiment.all_tables.items()),
        ids=ids,
    )


def served_users_hash(hits: Hits) -> str:
    """Returns a short hash that identifies which users with a relevant item have a list."""
    with_list = hits.truth.users_who_count() & (hits.list_length > 0)
    return hashlib.sha256(np.packbits(with_list).tobytes()).hexdigest()[:16]


def comparability_problems(
    bases: Sequence[Basis],
    changes: Sequence[DefinitionChange] = CHANGES,
    *,
    alike: bool = False,
    former: bool = False,
) -> list[Problem]:
    """Returns the reasons why the runs' numbers may not be comparable; empty if they are.

    ``alike``: whether users without a list from any run are reported, too. They change no comparison, but
    count as 0 in every value. ``former``: tied scores are reported as older reports do, however few there
    are.
    """
    order = _former_order if former else _tied_scores
    differences = [
        *_different_tables(bases),
        *_different_rules(bases),
        *order(bases),
        *_different_versions(bases, changes),
        *_different_users(bases, alike=alike),
        *(
            (problem.code, f"{problem.place}: {problem.found}", problem.fix)
            for basis in bases
            for problem in basis.ids
        ),
    ]
    return [Problem(code, "comparison", finding, fix) for code, finding, fix in differences]


Differences = Iterator[tuple[str, str, str]]
"""An iterator of (problem code, what differs, what to do about it)."""

_TABLES = {
    "truth": ("truths", "They answer different questions; score them in one experiment."),
    "train": ("training data", "Novelty, popularity and other metrics that use train cannot be compared."),
    "catalogue": (
        "catalogues",
        "Coverage, Gini and other metrics that use the catalogue cannot be compared.",
    ),
    "users": ("user attributes", "Slices of the users cannot be compared."),
    "vectors": ("item vectors", "Diversity by vectors cannot be compared."),
    "similarity": ("item similarities", "Diversity by similarity cannot be compared."),
}


def _different_tables(bases: Sequence[Basis]) -> Differences:
    for kind in dict.fromkeys(kind for basis in bases for kind in basis.tables):
        groups = _groups(bases, [basis.tables.get(kind) for basis in bases])
        if len(groups) > 1:
            plural, fix = _TABLES[kind]
            sides = " against ".join(
                listed(names) + ("" if sha else " (none)") for sha, names in groups.items()
            )
            yield f"different-{kind}", f"the runs were scored with different {plural}: {sides}", fix


def _different_rules(bases: Sequence[Basis]) -> Differences:
    rules: tuple[tuple[str, Callable[[Basis], Any], str], ...] = (
        (
            "users",
            lambda basis: basis.users,
            "Their means are over different users; use one population rule for both.",
        ),
        ("depth", lambda basis: basis.depth, "Upload them again under one rule."),
        ("duplicates", _duplicates, "Repeated items are counted differently; score them under one rule."),
        ("threshold", _relevance, "Different items count as relevant; score them with one threshold."),
    )
    for name, rule, fix in rules:
        groups = _groups(bases, map(rule, bases))
        if len(groups) > 1:
            sides = "; ".join(f"{value} for {listed(names)}" for value, names in groups.items())
            yield f"different-{name}", f"the runs were scored with different {name}: {sides}", fix


def _duplicates(basis: Basis) -> str:
    return "each position" if basis.duplicates == "keep" and basis.repeated else "once"


def _relevance(basis: Basis) -> str:
    return "relevance above 0" if basis.threshold is None else f"relevance from {basis.threshold:g}"


_TIES = {"file": "keep the order of the file", "item_desc": "are ordered by item id, descending"}
TIES_MATTER = 0.01
"""The smallest share of tied rows that is reported."""


def _tied_scores(bases: Sequence[Basis]) -> Differences:
    """Yields a difference if many scores of a run are tied while other runs follow another rule for the order
    of lists. A run ordered by rank, or by its file, has no scores that could be tied.

    Reference candidates are left out: their order is part of their definition.
    """
    uploaded = [basis for basis in bases if not basis.computed]
    tied = [basis for basis in uploaded if _is_tied(basis) and basis.tied_rows >= TIES_MATTER * basis.rows]
    if not tied or len(_groups(uploaded, map(_order_rule, uploaded))) < 2:
        return
    parts = [f"{_tied_share(basis)} of {basis.run} {_TIES[basis.ties]}" for basis in tied]
    fix = "The order of tied scores is arbitrary; see its effect on the value on Definitions."
    yield "different-order", f"some scores are tied: {'; '.join(parts)}", fix


def _is_tied(basis: Basis) -> bool:
    return basis.order == "score" and basis.tied_rows > 0


def _order_rule(basis: Basis) -> str:
    return basis.ties if basis.order == "score" else basis.order


def _tied_share(basis: Basis) -> str:
    """Returns how many rows are tied, as a share if the number of rows is known."""
    if not basis.rows:
        return f"{basis.tied_rows:,} rows"
    return f"{of_100(basis.tied_rows, basis.rows)} % of the rows"


_ORDERS = {
    "rank": "by rank",
    "file": "with tied scores in file order",
    "item_desc": "with tied scores by item id, descending",
}


def _former_order(bases: Sequence[Basis]) -> Differences:
    """Yields what older reports say of tied scores: a difference if runs follow different rules for the order
    of lists. Orders by rank and by score differ only if some scores are tied.

    Reference candidates are left out: their order is part of their definition.
    """
    uploaded = [basis for basis in bases if not basis.computed]
    tied = [basis for basis in uploaded if _is_tied(basis)]
    if not tied:
        return
    rules = _groups(uploaded, map(_order_rule, uploaded))
    if len(rules) > 1:
        rows = listed([f"{basis.tied_rows:,} rows of {basis.run}" for basis in tied])
        sides = "; ".join(f"{listed(names)} {_ORDERS[rule]}" for rule, names in rules.items())
        fix = "The order of tied scores is arbitrary; see its effect on the value on Definitions."
        yield "different-order", f"the lists are ordered by different rules: {sides}; {rows} are tied", fix


def _different_versions(bases: Sequence[Basis], changes: Sequence[DefinitionChange]) -> Differences:
    for change in changes:
        release = _release(change.version)
        groups = _groups(bases, [_release(basis.version) >= release for basis in bases])
        if len(groups) > 1:
            older = listed(groups[False])
            text = f"{change.metric} has another meaning since version {change.version}: {change.what}"
            fix = f"Upload {older} again to score it anew."
            yield "different-version", f"{text}; {older} was scored before", fix


def _release(version: str) -> tuple[int, ...]:
    """Returns a version as numbers: (0, 10, 0) for ``0.10.0``. A part that is not a number becomes 0."""
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split("."))


def _different_users(bases: Sequence[Basis], *, alike: bool) -> Differences:
    counted = [basis for basis in bases if basis.counted + basis.without_list]
    if counted and all(basis.users in LISTED for basis in counted):
        if len(_groups(counted, [(basis.counted, basis.served) for basis in counted])) > 1:
            counts = _first_four([f"{basis.run} {basis.counted:,}" for basis in counted])
            text = f"only users with recommendations count, and these differ between the runs: {counts}"
            fix = "Compare the paired differences, which use the shared users."
            yield "different-users-counted", text, fix
        return
    shares = {basis.run: _share_without_list(basis) for basis in counted}
    least = 0.0 if alike else min(shares.values(), default=0.0)
    if max(shares.values(), default=0.0) - least > NOTICEABLE:
        fix = "Compare without these users, too, before you decide."
        missing = {name: share for name, share in shares.items() if share > least + NOTICEABLE}
        yield LISTS_MISSING, _missing_lists(missing), fix


def _missing_lists(shares: Mapping[str, float]) -> str:
    """Returns a clause such as ``up to 37 % of users get no recommendations from ALS and 5 more runs and
    count as 0``. ``shares`` is {run name: share of users without a list}.
    """
    percents = {f"{100 * share:.0f}" for share in shares.values()}
    most = f"{100 * max(shares.values()):.0f} %"
    named = list(shares)[:MOST_NAMED]
    n_more = len(shares) - len(named)
    runs = listed([*named, *([f"{n_more} more {plural(n_more, 'run')}"] if n_more else [])])
    up_to = "up to " if len(percents) > 1 else ""
    return f"{up_to}{most} of users get no recommendations from {runs} and count as 0"


def _first_four(texts: Sequence[str], after: str = "") -> str:
    """Returns the first four texts, such as ``a, b, c, d (and 2 more runs)``; ``after`` is put behind the
    last one named.
    """
    n_more = len(texts) - 4
    more = f" (and {n_more} more run{'s' if n_more > 1 else ''})" if n_more > 0 else ""
    return f"{', '.join(texts[:4])}{after}{more}"


def _share_without_list(basis: Basis) -> float:
    """Returns the share of users with a relevant item who have no list, whether or not the population rule
    counts them.
    """
    n_users = basis.counted + basis.without_list if basis.users in LISTED else basis.counted
    return basis.without_list / n_users if n_users else 0.0


def _groups(bases: Sequence[Basis], values: Iterable[Any]) -> dict[Any, list[str]]:
    """Returns {value: names of the runs that have it}; ``values`` has one value per run."""
    groups: dict[Any, list[str]] = {}
    for basis, value in zip(bases, values, strict=True):
        groups.setdefault(value, []).append(basis.run)
    return groups
