"""Scores a candidate that was uploaded several times, as folds or as training seeds.

Every replicate is scored against the experiment's test set. How they are combined depends on their users.

**Seeds** recommend to the same users again. Each seed is scored like a run of its own: with ``users=truth`` a
user without a list in it counts as 0 there. A user's value for the candidate is the mean over the seeds in
which the user counts; the candidate's score is the mean of these values over users.

**Folds** divide the users: each user has a list in only one fold. The candidate has the lists of all folds
together and is scored like a run that was uploaded once; the population rule applies to users without a list
in any fold. The score of a single fold is the mean over the users with a list in that fold, whatever the
rule.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from recdash.evaluation.metric_inputs import expectedness_of
from recdash.evaluation.replicate_means import mean_curve
from recdash.evaluation.replicate_merge import merge_replicates
from recdash.evaluation.scoring import Scored, Scoring, SliceScores, score_hits, score_run
from recdash.metrics import Definition, by_metric, sample_of
from recdash.metrics.sample import ItemExpectedness, RelevantHits, population_counts

if TYPE_CHECKING:
    from recdash.domain.results import Slice

SAME_USERS = 0.9
"""Replicates count as seeds if at least this share of the users with lists has lists in several of them."""


def check_replicates(runs: Sequence[Recommendations], predictions: Any = None) -> None:
    """Raises InputError if two replicates have the same label, or if rating predictions are given for several
    uploads.
    """
    name, labels = runs[0].name, [run.replicate for run in runs]
    twice = sorted({str(label) for label in labels if labels.count(label) > 1})
    if twice:
        text, fix = f"two of its replicates have the name '{twice[0]}'", "Give each a different label."
        raise InputError(Problem("label-twice", f"run '{name}'", text, fix))
    if predictions is not None:
        text, fix = f"they come with {len(runs)} uploads of lists", "Add them as a separate candidate."
        raise InputError(Problem("predictions-of-replicates", f"rating predictions of '{name}'", text, fix))


def score_replicates(
    runs: Sequence[Recommendations], parts: Sequence[Scored], scoring: Scoring, kind: Replication | None
) -> Scored:
    """Returns the candidate's score from its uploads and the score of each (``parts``). With ``kind`` None,
    detects from their users whether they are seeds or folds.
    """
    name, noun = runs[0].name, runs[0].noun
    kind = kind or replication_of(name, noun, [hits_of(part) for part in parts])
    replicated = Replicated(kind, noun or kind[:-1], tuple(str(run.replicate) for run in runs))
    parts = [
        _titled(part, name, label, replicated) for part, label in zip(parts, replicated.labels, strict=True)
    ]
    if kind == "folds":
        _check_apart(name, parts)
        parts = [_of_its_users(part, scoring) for part in parts]
        scored = score_run(merge_replicates(runs), scoring)
    else:
        scored = _mean_of_seeds(name, parts, scoring)
    noticed = [notice for notice in _gathered(name, parts, scored) if notice.code != "several-replicates"]
    notices = (_replicates_notice(name, replicated), *noticed)
    return replace(scored, replicates=tuple(parts), replicated=replicated, notices=notices)


def _titled(part: Scored, name: str, label: str, replicated: Replicated) -> Scored:
    """Returns the replicate with a name such as ``ALS, fold 1``, which is also put into its notices."""
    title = f"{name}, {replicated.noun} {label}"
    notices = [
        replace(notice, place=notice.place.replace(f"'{name}'", f"'{title}'")) for notice in part.notices
    ]
    return replace(part, name=title, notices=tuple(notices))


def hits_of(scored: Scored) -> Hits:
    """Returns the hits of a run that has lists. Raises ValueError for a run without lists."""
    if scored.hits is None:
        raise ValueError(f"run '{scored.name}' has no lists")
    return scored.hits


# ── seeds or folds ───────────────────────────────────────────────────────────────────────────


def replication_of(name: str, noun: str, hits: Sequence[Hits]) -> Replication:
    """Returns *seeds* if (nearly) all users with lists have several, *folds* if no user has several.

    Raises InputError for any share in between, for which both would count users wrongly.
    """
    times = replicates_per_user(hits)
    several, served = int((times > 1).sum()), int((times > 0).sum())
    if not several:
        return "folds"
    if several >= SAME_USERS * served:
        return "seeds"
    text = f"{several:,} of {served:,} users have lists in several {noun or 'file'}s, the others in one"
    fix = "Say whether these are seeds (all for the same users) or folds (each for different users)."
    raise InputError(Problem("seeds-or-folds", f"run '{name}'", text, fix, several))


def replicates_per_user(hits: Sequence[Hits]) -> Ints:
    """Returns [U] in how many replicates each user of the truth has a list."""
    times: Ints = np.sum([of_replicate.list_length > 0 for of_replicate in hits], axis=0)
    return times


def _check_apart(name: str, parts: Sequence[Scored]) -> None:
    hits = [hits_of(part) for part in parts]
    twice = np.flatnonzero(replicates_per_user(hits) > 1)
    if len(twice):
        example = hits[0].truth.users[int(twice[0])]
        text = f"{len(twice):,} users, such as '{example}', have lists in several folds"
        fix = "Give each user's list in one fold only, or declare these as seeds."
        raise InputError(Problem("folds-overlap", f"run '{name}'", text, fix, len(twice)))


# ── folds ────────────────────────────────────────────────────────────────────────────────────


def _of_its_users(part: Scored, scoring: Scoring) -> Scored:
    """Returns the fold scored over the users with a list in it, whatever the population rule of the
    candidate.
    """
    hits = hits_of(part)
    curves, absent = score_hits(hits, scoring.reference, scoring.definitions, "both")
    return replace(part, curves=curves, absent=absent, ledger=population_counts(hits, "both"), sliced=())


# ── seeds ────────────────────────────────────────────────────────────────────────────────────


def _mean_of_seeds(name: str, parts: Sequence[Scored], scoring: Scoring) -> Scored:
    reference, definitions, users = scoring.reference, scoring.definitions, scoring.rules.users
    hits = [hits_of(part) for part in parts]
    samples = [sample_of(own, users, expectedness=expectedness_of(reference)) for own in hits]
    curves, absent = mean_scores(definitions, samples, parts)
    sliced = tuple(
        mean_slice(cut, definitions, hits, [part.sliced[index] for part in parts], reference, users)
        for index, cut in enumerate(scoring.slices)
    )
    ledger = mean_population_counts([part.ledger for part in parts if part.ledger], samples, hits)
    return Scored(name, None, curves, absent, ledger, sliced=sliced)


def mean_slice(
    cut: Slice,
    definitions: Sequence[Definition],
    hits: Sequence[Hits],
    parts: Sequence[SliceScores],
    reference: Reference,
    users: Users,
) -> SliceScores:
    """Returns the mean over a candidate's replicates in one slice, from their hits and their scores in it."""
    expectedness = expectedness_of(reference)
    samples = [sample_of(own, users, cut.users, cut.rows, expectedness) for own in hits]
    return SliceScores(cut, *mean_scores(definitions, samples, parts))


def mean_scores(
    definitions: Sequence[Definition], samples: Sequence[RelevantHits], parts: Sequence[Scored | SliceScores]
) -> tuple[dict[str, Curve], dict[str, str]]:
    """Returns {canonical spec: curve} of the mean over replicates, and {canonical spec: reason} for metrics
    that a replicate lacks.
    """
    results: list[Curve | Unavailable] = []
    for definition in definitions:
        metric = str(definition)
        curve = mean_curve(definition, samples, [part.curves.get(metric) for part in parts])
        reasons = [part.absent[metric] for part in parts if metric in part.absent]
        results.append(curve or Unavailable(metric, reasons[0] if reasons else "no replicate has it"))
    return by_metric(results)


def samples_of(scored: Scored, users: Users, expectedness: ItemExpectedness | None) -> list[RelevantHits]:
    """Returns the relevant hits of the users who count: a list with one sample, or one per seed; empty for a
    run without lists.
    """
    return [sample_of(hits_of(part), users, expectedness=expectedness) for part in scored.with_lists]


def lists_of(scored: Scored) -> Hits | None:
    """Returns the hits of a run; for the mean of seeds those of the first seed, with each user's longest list
    length over all seeds. None without lists.
    """
    hits = [hits_of(part) for part in scored.with_lists]
    if not hits:
        return None
    return replace(hits[0], list_length=np.maximum.reduce([own.list_length for own in hits]))


def overlap_of(scored: Scored) -> IdOverlap | None:
    """Returns how many of a run's ids occur in the tables; for the mean of seeds, those of the seed with the
    smallest share of known items. None if not counted.
    """
    overlaps = [hits_of(part).overlap for part in scored.with_lists]
    counted = [overlap for overlap in overlaps if overlap is not None]
    return min(counted, key=lambda overlap: overlap.items.share, default=None)


ROWS = ("rows", "duplicates", "tied_rows")
"""Counts that are added up over replicates; for all others the largest count is used."""


def mean_population_counts(
    ledgers: Sequence[PopulationCounts], samples: Sequence[RelevantHits], hits: Sequence[Hits]
) -> PopulationCounts:
    """Returns the counts of a candidate with seeds: users who count in any of them, and users without a list
    in all of them.
    """
    first, counts = ledgers[0], [ledger.as_dict() for ledger in ledgers]
    facts = {
        name: (sum if name in ROWS else max)([of_replicate[name] or 0 for of_replicate in counts])
        for name, value in counts[0].items()
        if value is not None
    }
    unserved = (replicates_per_user(hits) == 0) & hits[0].truth.users_who_count()
    counted = len(np.unique(np.concatenate([sample.truth_user for sample in samples])))
    return replace(first, **{**facts, "counted": counted, "without_list": int(unserved.sum())})


# ── notices ──────────────────────────────────────────────────────────────────────────────────


def _replicates_notice(name: str, replicated: Replicated) -> Problem:
    labels = ", ".join(replicated.labels[:10]) + (" …" if len(replicated.labels) > 10 else "")
    if replicated.kind == "folds":
        text = f"{replicated} of one candidate, each with different users: {labels}"
        fix = "Each user is scored in the fold that has the user's list."
    else:
        text = f"{replicated} of one candidate over the same users: {labels}"
        fix = f"The value of a user is the mean over the {replicated}."
    return Problem("replicates", f"run '{name}'", text, fix, len(replicated.labels))


def _gathered(name: str, parts: Sequence[Scored], whole: Scored) -> list[Problem]:
    """Returns the notices of all replicates. A notice that all of them have is given once, under the
    candidate's name.
    """
    if whole.hits is not None:
        return list(whole.notices)
    by_words: dict[Problem, list[Problem]] = {}
    for part in parts:
        for notice in part.notices:
            place = notice.place.replace(f"'{part.name}'", f"'{name}'")
            by_words.setdefault(replace(notice, place=place), []).append(notice)
    gathered: list[Problem] = []
    for common, notices in by_words.items():
        gathered += [common] if len(notices) == len(parts) else notices
    return gathered + _lists_missing(name, parts)


def _lists_missing(name: str, parts: Sequence[Scored]) -> list[Problem]:
    """Returns a notice if seeds do not recommend to the same users: no user has lists in two seeds, or some
    users have lists in only some of the seeds. Else empty.
    """
    hits = [hits_of(part) for part in parts]
    times = replicates_per_user(hits)
    if not (times > 1).any():
        n_served = int((times > 0).sum())
        text = f"none of its {n_served:,} users has lists in two seeds, so there is nothing to average"
        fix = (
            "Seeds recommend to the same users. If each of these has different users, declare them as folds."
        )
        return [Problem("seeds-apart", f"run '{name}'", text, fix, n_served)]
    n_users = int(((times > 0) & (times < len(hits)) & hits[0].truth.users_who_count()).sum())
    if not n_users:
        return []
    text = f"{n_users:,} users have a list in some of its replicates only"
    fix = "In the other replicates the population rule applies to them: they count as 0 or are excluded."
    return [Problem("lists-missing-in-replicates", f"run '{name}'", text, fix, n_users)]
