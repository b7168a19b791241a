"""Scores one run: a pass over its lists, then every metric from its hits; and the same for slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from recdash.domain.hits import Hits, PopulationCounts
from recdash.domain.inputs import Recommendations
from recdash.domain.kinds import Users
from recdash.domain.records import Replicated
from recdash.domain.results import Curve
from recdash.engines import Reference, list_metrics, match
from recdash.errors import InputError, Problem
from recdash.evaluation.known_ids import id_problems, stopping
from recdash.evaluation.metric_inputs import hits_by_slice, metric_inputs_of, slice_users
from recdash.evaluation.predictions import prediction_notices
from recdash.evaluation.reading import open_predictions, predictions_of
from recdash.evaluation.request import CountingRules, MetricRequest
from recdash.metrics import Definition, MetricInputs, by_metric, score
from recdash.metrics.catalogue import CATALOGUE
from recdash.metrics.ratings import Predictions, RatingMetric
from recdash.metrics.sample import population_counts

if TYPE_CHECKING:
    import pyarrow as pa

    from recdash.domain.results import Slice


@dataclass(frozen=True)
class Scoring:
    """How all candidates of an evaluation are scored: the reference, metrics, rules and slices."""

    reference: Reference
    requests: Sequence[MetricRequest]
    rules: CountingRules
    slices: Sequence[Slice] = ()

    @property
    def definitions(self) -> list[Definition]:
        return [request.definition for request in self.requests]


@dataclass(frozen=True)
class Scored:
    """One run, scored: its hits (None with predictions only), curves, absences and notices.

    ``predictions`` is the checked table of rating predictions, if there was one; ``reference`` names the
    reference candidate that the run is, if any. A candidate of several folds or seeds says in ``replicated``
    how they relate and has their own scores in ``replicates``; the mean of seeds has no hits of its own.
    ``lists`` are those that were scored, to be read again.
    """

    name: str
    hits: Hits | None
    curves: Mapping[str, Curve]
    absent: Mapping[str, str]
    ledger: PopulationCounts | None
    notices: tuple[Problem, ...] = ()
    predictions: pa.Table | None = None
    sliced: tuple[SliceScores, ...] = ()
    reference: str | None = None
    replicates: tuple[Scored, ...] = ()
    replicated: Replicated | None = None
    lists: Recommendations | None = field(default=None, repr=False, compare=False)

    @property
    def with_lists(self) -> tuple[Scored, ...]:
        """Returns the runs with lists: the run itself, of seeds each replicate; none with predictions
        only.
        """
        return self.replicates if self.hits is None else (self,)


@dataclass(frozen=True)
class SliceScores:
    """The curves of one slice, and the reasons of missing ones."""

    of: Slice
    curves: Mapping[str, Curve]
    absent: Mapping[str, str]


# ── one run ──────────────────────────────────────────────────────────────────────────────────


def score_run(run: Recommendations, scoring: Scoring, predictions: Any = None) -> Scored:
    """Scores a run in one pass, with every requested metric.

    A reference candidate is ordered by its ranks, whatever the rules say: it has no scores. Raises InputError
    for an unusable run, such as one whose ids hardly overlap with those of the tables, unless the rules
    accept them.
    """
    reference, rules = scoring.reference, scoring.rules
    hits, of_lists = _match(run, scoring)
    short = [] if run.reference else short_list_notices(run.name, hits, scoring.requests)
    rated = open_predictions(predictions)
    of_ratings = [] if rated is None else prediction_notices(run.name, rated, reference)
    of_ids = id_problems(run, hits, reference)
    _refuse_unknown_ids([*of_ids, *of_ratings], rules)
    rows = None if rated is None else predictions_of(rated)
    curves, absent = score_hits(hits, reference, scoring.definitions, rules.users, rows)
    of_file = [replace(notice, place=f"run '{run.name}', {notice.place}") for notice in run.notices]
    return Scored(
        run.name,
        replace(hits, shown_to=()),  # the slices have it; for many runs it would fill the memory
        curves,
        absent,
        population_counts(hits, rules.users),
        (*of_file, *of_lists, *of_ids, *short, *of_ratings),
        None if rated is None else rated.table,
        tuple(
            score_slice(own, reference, scoring.definitions, rules.users, part)
            for part, own in zip(scoring.slices, hits_by_slice(hits, scoring.slices), strict=True)
        ),
        run.reference,
        lists=run,
    )


def _refuse_unknown_ids(problems: Sequence[Problem], rules: CountingRules) -> None:
    """Raises InputError for ids that hardly overlap with those of the tables, unless the rules accept
    them.
    """
    if (refused := stopping(problems)) and not rules.accept_unknown_ids:
        raise InputError(refused)


def score_slice(
    hits: Hits, reference: Reference, definitions: Sequence[Definition], users: Users, part: Slice
) -> SliceScores:
    """Returns accuracy from the hits of all, the others from the exposure of the slice's users:
    ``hits_in_slice``.
    """
    curves, absent = by_metric(score(definitions, metric_inputs_of(hits, reference, users, part)))
    reasons = {str(definition): _not_in(part, definition) for definition in definitions}
    return SliceScores(part, curves, absent | {metric: why for metric, why in reasons.items() if why})


NOT_IN_SLICES = "rating predictions are scored as a whole, not in slices"


def _not_in(part: Slice, definition: Definition) -> str:
    """Returns why no slice of this kind has the metric; empty if one may."""
    if isinstance(definition.metric, RatingMetric):
        return NOT_IN_SLICES
    if part.rows is not None and definition.metric in CATALOGUE:
        return "a slice of items has no lists of its own; choose a slice of users"
    return ""


def _match(run: Recommendations, scoring: Scoring) -> tuple[Hits, list[Problem]]:
    """Returns hits from one pass over the run's lists, counting their exposure if some metric needs it."""
    reference, definitions, rules = scoring.reference, scoring.definitions, scoring.rules
    needs_exposure = any(definition.metric in CATALOGUE for definition in definitions)
    populations = {rules.users, *(definition.parameters.get("users") for definition in definitions)}
    return match(
        run,
        reference,
        depth=rules.depth,
        order=None if run.reference else rules.order,
        ties=rules.ties,
        duplicates=rules.duplicates,
        exposure=reference.catalogue is not None
        or reference.train_users is not None
        or needs_exposure
        or "run" in populations,
        list_metrics=list_metrics(definitions, reference, rules.depth),
        shown_to=slice_users(scoring.slices) if needs_exposure else (),
    )


def score_hits(
    hits: Hits,
    reference: Reference,
    definitions: Sequence[Definition],
    users: Users,
    predictions: Predictions | None = None,
) -> tuple[dict[str, Curve], dict[str, str]]:
    """Returns curves and reasons of absence by canonical spec, from hits alone."""
    return by_metric(score(definitions, metric_inputs_of(hits, reference, users, predictions=predictions)))


def score_predictions(name: str, source: Any, scoring: Scoring) -> Scored:
    """Returns a candidate that only predicts ratings. Raises InputError if their ids are spelled
    otherwise.
    """
    rated = open_predictions(source)
    notices = [] if rated is None else prediction_notices(name, rated, scoring.reference)
    _refuse_unknown_ids(notices, scoring.rules)
    rows = None if rated is None else predictions_of(rated)
    curves, absent = by_metric(score(scoring.definitions, MetricInputs(predictions=rows)))
    in_slices = {**absent, **dict.fromkeys(curves, NOT_IN_SLICES)}
    sliced = tuple(SliceScores(part, {}, in_slices) for part in scoring.slices)
    table = None if rated is None else rated.table
    return Scored(name, None, curves, absent, None, tuple(notices), table, sliced)


# ── notices ──────────────────────────────────────────────────────────────────────────────────


def short_list_notices(name: str, hits: Hits, requests: Sequence[MetricRequest]) -> list[Problem]:
    """Returns notices of short lists, at the smallest and the largest cutoff requested.

    Those of a curve are 10 and the longest list: that all lists end before the depth is no news.
    """
    lengths = hits.list_length[hits.list_length > 0]
    longest = min(hits.depth, int(lengths.max(initial=0)))
    cutoffs = set()
    for request in requests:
        if request.definition.metric.has_cutoff:
            cutoffs |= {request.spec.k} if request.spec.k else {10, longest}
    within = sorted(k for k in cutoffs if k <= hits.depth)
    of_users = f"{len(lengths)} user{'' if len(lengths) == 1 else 's'}"
    counts = {k: int((lengths < k).sum()) for k in (*within[:1], *within[-1:])}
    return [
        Problem(
            "short-lists",
            f"run '{name}'",
            f"lists shorter than k = {k}: {count} of {of_users}",
            "The missing positions count as misses.",
            count,
        )
        for k, count in counts.items()
        if count
    ]
