"""A candidate that was uploaded several times, as folds or training seeds, scored as one.

Every replicate is scored against the truth of the experiment. How they add up depends on their users:

**Seeds** serve the same users again. Each replicate is a whole run, under the population rule as usual: with
``users=truth`` a user without a list in it is a miss there. The candidate's value of a user is the mean of
the user's values in the replicates in which the user counts, its score the mean of those over users.

**Folds** divide the users: each has a list in one fold only. The candidate's lists are those of all folds
together, and it is scored as a run that was uploaded once: users without a list in any fold follow the
population rule, once. A fold's own score is the mean over the users whom it has lists for; nobody counts as a
miss in another user's fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.domain.hits import Hits, IdOverlap, PopulationCounts
from recdash.domain.inputs import Recommendations
from recdash.domain.kinds import Ints, Replication, Users
from recdash.domain.records import Replicated
from recdash.domain.results import Curve, Unavailable
from recdash.engines import Reference
from recdash.errors import InputError, Problem
from recdash.evaluation.replicate_means import mean_curve, mean_per_user, user_values
from recdash.evaluation.replicate_merge import together
from recdash.evaluation.request import CountingRules, MetricRequest
from recdash.evaluation.scoring import Scored, SliceScores, familiar_of, ledger_of, score_hits, score_run
from recdash.metrics import Definition, sample_of
from recdash.metrics.sample import Familiar, RelevantHits

if TYPE_CHECKING:
    from recdash.domain.results import Slice

__all__ = [
    "grouped",
    "hits_of",
    "kind_of",
    "lists_of",
    "mean_curve",
    "mean_per_user",
    "mean_slice",
    "overlap_of",
    "samples_of",
    "score_candidate",
    "user_values",
]  # fmt: skip

SAME_USERS = 0.9
"""From this share of the users with lists who have several on, replicates are taken for seeds."""


def grouped(runs: Iterable[Recommendations]) -> list[tuple[Recommendations, ...]]:
    """The replicates of each candidate together, in order of first appearance; others stand alone."""
    groups: dict[object, list[Recommendations]] = {}
    for place, run in enumerate(runs):
        groups.setdefault(place if run.replicate is None else run.name, []).append(run)
    return [tuple(group) for group in groups.values()]


def score_candidate(
    runs: Sequence[Recommendations],
    reference: Reference,
    asked: Sequence[MetricRequest],
    rules: CountingRules,
    kind: Replication | None = None,
    *,
    cuts: Sequence[Slice] = (),
    predictions: Any = None,
) -> Scored:
    """The uploads of one candidate, scored as one; a single one is scored as it is.

    ``kind`` says how several relate; None looks at their users. Raises InputError where that leaves it open,
    for folds that share users, and for rating predictions beside several.
    """
    if len(runs) == 1:
        return score_run(runs[0], reference, asked, rules, predictions, cuts)
    _check_labels(runs)
    if predictions is not None:
        found, fix = f"they come with {len(runs)} uploads of lists", "Add them as a candidate of their own."
        raise InputError(
            Problem("predictions-of-replicates", f"rating predictions of '{runs[0].name}'", found, fix)
        )
    name, noun = runs[0].name, runs[0].noun
    parts = [score_run(run, reference, asked, rules, None, cuts) for run in runs]
    hits = [hits_of(part) for part in parts]
    found = kind or kind_of(name, noun, hits)
    replicated = Replicated(found, noun or found[:-1], tuple(str(run.replicate) for run in runs))
    parts = [
        _titled(part, name, label, replicated) for part, label in zip(parts, replicated.labels, strict=True)
    ]
    if found == "folds":
        _check_apart(name, parts)
        parts = [_of_its_users(part, reference, asked) for part in parts]
        scored = score_run(together(runs), reference, asked, rules, None, cuts)
    else:
        scored = _mean_of(name, parts, reference, asked, rules, cuts)
    noticed = [one for one in _gathered(name, parts, scored) if one.code != "several-replicates"]
    told = (_told(name, replicated), *noticed)
    return replace(scored, replicates=tuple(parts), replicated=replicated, notices=told)


def _titled(part: Scored, name: str, label: str, replicated: Replicated) -> Scored:
    """Called ``ALS, fold 1`` beside others, in what was noticed too."""
    title = f"{name}, {replicated.noun} {label}"
    notices = [replace(one, place=one.place.replace(f"'{name}'", f"'{title}'")) for one in part.notices]
    return replace(part, name=title, notices=tuple(notices))


def hits_of(scored: Scored) -> Hits:
    if scored.hits is None:
        raise ValueError(f"run '{scored.name}' has no lists")
    return scored.hits


# ── how they relate ──────────────────────────────────────────────────────────────────────────


def kind_of(name: str, noun: str, hits: Sequence[Hits]) -> Replication:
    """Seeds where (nearly) all users with lists have several, folds where none has.

    Raises InputError in between: there either reading would count users wrongly.
    """
    times = times_served(hits)
    several, served = int((times > 1).sum()), int((times > 0).sum())
    if not several:
        return "folds"
    if several >= SAME_USERS * served:
        return "seeds"
    found = f"{several:,} of {served:,} users have lists in several {noun or 'file'}s, the others in one"
    fix = "Say whether these are seeds (all serve the same users) or folds (each serves its own)."
    raise InputError(Problem("seeds-or-folds", f"run '{name}'", found, fix, several))


def times_served(hits: Sequence[Hits]) -> Ints:
    """[U] in how many replicates each user of the truth has a list."""
    times: Ints = np.sum([one.list_length > 0 for one in hits], axis=0)
    return times


def _check_apart(name: str, parts: Sequence[Scored]) -> None:
    hits = [hits_of(part) for part in parts]
    twice = np.flatnonzero(times_served(hits) > 1)
    if len(twice):
        example = hits[0].truth.users[int(twice[0])]
        found = f"{len(twice):,} users, such as '{example}', have lists in several folds"
        fix = "Give each user's list in one fold only, or say that these are seeds."
        raise InputError(Problem("folds-overlap", f"run '{name}'", found, fix, len(twice)))


def _check_labels(runs: Sequence[Recommendations]) -> None:
    labels = [run.replicate for run in runs]
    twice = sorted({str(label) for label in labels if labels.count(label) > 1})
    if twice:
        found = f"two of its replicates are called '{twice[0]}'"
        raise InputError(
            Problem("label-twice", f"run '{runs[0].name}'", found, "Give each a label of its own.")
        )


# ── folds ────────────────────────────────────────────────────────────────────────────────────


def _of_its_users(part: Scored, reference: Reference, asked: Sequence[MetricRequest]) -> Scored:
    """A fold counts the users whom it has lists for, whatever the rule for the whole."""
    hits = hits_of(part)
    curves, absent = score_hits(hits, reference, [one.definition for one in asked], "both")
    return replace(part, curves=curves, absent=absent, ledger=ledger_of(hits, "both"), sliced=())


# ── seeds ────────────────────────────────────────────────────────────────────────────────────


def _mean_of(
    name: str,
    parts: Sequence[Scored],
    reference: Reference,
    asked: Sequence[MetricRequest],
    rules: CountingRules,
    cuts: Sequence[Slice],
) -> Scored:
    wanted, hits = [one.definition for one in asked], [hits_of(part) for part in parts]
    samples = [sample_of(one, rules.users, familiar=familiar_of(reference)) for one in hits]
    curves, absent = mean_scores(wanted, samples, parts)
    sliced = tuple(
        mean_slice(one, wanted, hits, [part.sliced[at] for part in parts], reference, rules.users)
        for at, one in enumerate(cuts)
    )
    ledger = mean_ledger([part.ledger for part in parts if part.ledger], samples, hits)
    return Scored(name, None, curves, absent, ledger, sliced=sliced)


def mean_slice(
    of: Slice,
    definitions: Sequence[Definition],
    hits: Sequence[Hits],
    parts: Sequence[SliceScores],
    reference: Reference,
    users: Users,
) -> SliceScores:
    """One slice of a candidate, from the hits of its replicates and what was scored of each in the slice."""
    familiar = familiar_of(reference)
    samples = [sample_of(one, users, of.users, of.rows, familiar) for one in hits]
    curves, absent = mean_scores(definitions, samples, parts)
    return SliceScores(of, curves, absent)


def mean_scores(
    definitions: Sequence[Definition], samples: Sequence[RelevantHits], parts: Sequence[Scored | SliceScores]
) -> tuple[dict[str, Curve], dict[str, str]]:
    """Curves and reasons of absence of the mean over replicates, by canonical spec.

    A metric that one of the replicates lacks is absent.
    """
    found = [
        mean_curve(definition, samples, [part.curves.get(str(definition)) for part in parts])
        or Unavailable(str(definition), _reason(str(definition), parts))
        for definition in definitions
    ]
    curves = {one.metric: one for one in found if isinstance(one, Curve)}
    return curves, {one.metric: one.reason for one in found if isinstance(one, Unavailable)}


def _reason(metric: str, parts: Sequence[Scored | SliceScores]) -> str:
    return next((part.absent[metric] for part in parts if metric in part.absent), "no replicate has it")


def samples_of(scored: Scored, users: Users, familiar: Familiar | None) -> list[RelevantHits]:
    """Who counts and what they were given: one sample, or one per seed; none without lists."""
    return [sample_of(hits_of(one), users, familiar=familiar) for one in scored.with_lists]


def lists_of(scored: Scored) -> Hits | None:
    """The lists of a run; of seeds those of the first, beside who has a list in any of them."""
    hits = [hits_of(one) for one in scored.with_lists]
    if not hits:
        return None
    return replace(hits[0], list_length=np.maximum.reduce([one.list_length for one in hits]))


def overlap_of(scored: Scored) -> IdOverlap | None:
    """What is known of a run's ids; of seeds, of the one whose items are known least."""
    found = (hits_of(one).overlap for one in scored.with_lists)
    return min((one for one in found if one is not None), key=lambda one: one.items.share, default=None)


ROWS = ("rows", "duplicates", "tied_rows")
"""Counts of rows add up over replicates; of counts of users the largest is given."""


def mean_ledger(
    ledgers: Sequence[PopulationCounts], samples: Sequence[RelevantHits], hits: Sequence[Hits]
) -> PopulationCounts:
    """Who counts in any of the replicates, and who of them (under users=both: beside them) has no list."""
    first = ledgers[0]
    facts = {
        name: (sum if name in ROWS else max)(
            [found[name] or 0 for one in ledgers if (found := one.as_dict())]
        )
        for name, value in first.as_dict().items()
        if value is not None
    }
    unserved = (times_served(hits) == 0) & hits[0].truth.users_who_count()
    counted = len(np.unique(np.concatenate([sample.truth_user for sample in samples])))
    return replace(first, **{**facts, "counted": counted, "without_list": int(unserved.sum())})


# ── what a person is told ────────────────────────────────────────────────────────────────────


def _told(name: str, replicated: Replicated) -> Problem:
    shown = ", ".join(replicated.labels[:10]) + (" …" if len(replicated.labels) > 10 else "")
    if replicated.kind == "folds":
        found = f"{replicated} of one candidate, each with users of its own: {shown}"
        fix = "Its values are over the users of all, each in the one that has the user's list."
    else:
        found = f"{replicated} of one candidate over the same users: {shown}"
        fix = f"Its values are the mean of {replicated}, user by user."
    return Problem("replicates", f"run '{name}'", found, fix, len(replicated.labels))


def _gathered(name: str, parts: Sequence[Scored], whole: Scored) -> list[Problem]:
    """What was noticed in all replicates alike, once, under the candidate's name; the rest by replicate."""
    if whole.hits is not None:
        return list(whole.notices)
    by_words: dict[Problem, list[Problem]] = {}
    for part in parts:
        for notice in part.notices:
            place = notice.place.replace(f"'{part.name}'", f"'{name}'")
            by_words.setdefault(replace(notice, place=place), []).append(notice)
    return [
        one for common, found in by_words.items() for one in ([common] if len(found) == len(parts) else found)
    ] + _lists_missing(name, parts)


def _lists_missing(name: str, parts: Sequence[Scored]) -> list[Problem]:
    """Seeds should serve the same users; where some do not, their users are a miss there, or left out."""
    hits = [hits_of(part) for part in parts]
    times = times_served(hits)
    if not (times > 1).any():
        return [_none_shared(name, int((times > 0).sum()))]
    some = int(((times > 0) & (times < len(hits)) & hits[0].truth.users_who_count()).sum())
    if not some:
        return []
    found = f"{some:,} users have a list in some of its replicates only"
    fix = "Where they have none, the population rule decides: a miss, or not counted."
    return [Problem("lists-missing-in-replicates", f"run '{name}'", found, fix, some)]


def _none_shared(name: str, n_users: int) -> Problem:
    """Somebody said that these are seeds; nothing looks like it."""
    found = f"none of its {n_users:,} users has lists in two seeds: there is nothing to average"
    fix = "Seeds serve the same users. If each of these serves its own, say that they are folds."
    return Problem("seeds-apart", f"run '{name}'", found, fix, n_users)
