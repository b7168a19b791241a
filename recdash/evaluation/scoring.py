"""Scores one run: reads its lists once and computes every metric from the hits, for all users and for
slices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from recdash.domain.hits import Hits, PopulationCounts
from recdash.domain.inputs import Recommendations
from recdash.domain.kinds import Order, Users
from recdash.domain.records import Replicated
from recdash.domain.results import Curve
from recdash.engines import Reference, list_metrics, match
from recdash.errors import InputError, Problem
from recdash.evaluation.known_ids import id_problems, stopping
from recdash.evaluation.metric_inputs import hits_by_slice, metric_inputs_of, slice_users
from recdash.evaluation.predictions import prediction_notices
from recdash.evaluation.reading import open_predictions, predictions_of
from recdash.evaluation.request import CountingRules, MetricRequest
from recdash.formatting import numbers
from recdash.metrics import Definition, MetricInputs, by_metric, score
from recdash.metrics.catalogue import CatalogueMetric
from recdash.metrics.ratings import Predictions, RatingMetric
from recdash.metrics.sample import population_counts

if TYPE_CHECKING:
    import pyarrow as pa

    from recdash.domain.results import Slice


@dataclass(frozen=True)
class Scoring:
    """The reference tables, metrics, rules and slices with which all candidates of an evaluation are
    scored. ``files`` are the hashes of the tables if they are stored.
    """

    reference: Reference
    requests: Sequence[MetricRequest]
    rules: CountingRules
    slices: Sequence[Slice] = ()
    files: frozenset[str] = frozenset()

    @property
    def definitions(self) -> list[Definition]:
        return [request.definition for request in self.requests]

    def in_order(self, order: Order | None) -> Scoring:
        """Returns it for lists that are ordered by this column; for the order of the file there is none."""
        column = order if order in ("rank", "score") else None
        return replace(self, rules=replace(self.rules, order=column))


@dataclass(frozen=True)
class Scored:
    """One scored run: its hits, curves, missing metrics (``absent``: {metric: reason}) and notices.

    ``hits`` is None for a run with predictions only, and for the mean of seeds. ``predictions`` is the
    checked table of rating predictions, if there is one. ``reference`` is the name of the reference candidate
    that the run is; None for others. If the candidate has several folds or seeds, ``replicated`` says how
    they relate, and ``replicates`` has the score of each. ``lists`` can be read again.
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
        """Returns the scored runs that have lists: the run itself, or each of its seeds; empty with
        predictions only.
        """
        return self.replicates if self.hits is None else (self,)


@dataclass(frozen=True)
class SliceScores:
    """The curves of one slice, and {metric: reason} for those that it lacks."""

    of: Slice
    curves: Mapping[str, Curve]
    absent: Mapping[str, str]


# ── one run ──────────────────────────────────────────────────────────────────────────────────


def score_run(run: Recommendations, scoring: Scoring, predictions: Any = None) -> Scored:
    """Returns the run with every requested metric, from one pass over its lists.

    A reference candidate is ordered by its ranks whatever the rules say, because it has no scores. Raises
    InputError for an unusable run, such as one whose ids hardly occur in the tables, unless the rules accept
    them.
    """
    reference, rules = scoring.reference, scoring.rules
    hits, of_lists = _match(run, scoring)
    of_lists = [*of_lists, *padding_notices(run, of_lists)]
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
        replace(hits, shown_to=()),  # only slices need it; with many runs it would fill the memory
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


def padding_notices(run: Recommendations, of_lists: Iterable[Problem]) -> list[Problem]:
    """Returns the notice of an item that fills up the ends of lists.

    ``of_lists`` are the notices of matching the run: without repeated items there is no padding.
    """
    if all(notice.code != "duplicate-pairs" for notice in of_lists):
        return []
    from recdash.ingest.list_faults import first_rows, padding

    return [replace(own, place=f"run '{run.name}'") for own in padding(first_rows(run.batches()))]


def _refuse_unknown_ids(problems: Sequence[Problem], rules: CountingRules) -> None:
    """Raises InputError for ids that hardly occur in the tables, unless the rules accept them."""
    if (refused := stopping(problems)) and not rules.accept_unknown_ids:
        raise InputError(refused)


def score_slice(
    hits: Hits, reference: Reference, definitions: Sequence[Definition], users: Users, part: Slice
) -> SliceScores:
    """Returns the scores of a slice: accuracy from the hits of all users, catalogue-level metrics from the
    exposure in ``hits``, which must be that of the slice's users (see ``hits_in_slice``).
    """
    curves, absent = by_metric(score(definitions, metric_inputs_of(hits, reference, users, part)))
    reasons = {str(definition): _not_in(part, definition) for definition in definitions}
    return SliceScores(part, curves, absent | {metric: why for metric, why in reasons.items() if why})


NOT_IN_SLICES = "rating predictions are scored as a whole, not in slices"


def _not_in(part: Slice, definition: Definition) -> str:
    """Returns why slices of this kind cannot have the metric; empty if they can."""
    if isinstance(definition.metric, RatingMetric):
        return NOT_IN_SLICES
    if part.rows is not None and isinstance(definition.metric, CatalogueMetric):
        return "a slice of items has no lists of its own; choose a slice of users"
    return ""


def _match(run: Recommendations, scoring: Scoring) -> tuple[Hits, list[Problem]]:
    """Returns the hits and notices from one pass over the run's lists. Exposure is counted if a metric needs
    it.
    """
    reference, definitions, rules = scoring.reference, scoring.definitions, scoring.rules
    needs_exposure = any(isinstance(definition.metric, CatalogueMetric) for definition in definitions)
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
    """Returns {canonical spec: curve} and {canonical spec: reason why it is missing}, from hits alone."""
    return by_metric(score(definitions, metric_inputs_of(hits, reference, users, predictions=predictions)))


def score_predictions(name: str, source: Any, scoring: Scoring) -> Scored:
    """Returns a candidate that only predicts ratings, scored. Raises InputError if its ids are spelled
    differently than those of the tables.
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
    """Returns notices on users whose lists are shorter than the smallest and the largest requested cutoff.

    For a curve these cutoffs are 10 and the length of the longest list: it is of no interest that all lists
    end before the depth.
    """
    lengths = hits.list_length[hits.list_length > 0]
    longest = min(hits.depth, int(lengths.max(initial=0)))
    cutoffs = set()
    for request in requests:
        if request.definition.metric.has_cutoff:
            cutoffs |= {request.spec.k} if request.spec.k else {10, longest}
    within = sorted(k for k in cutoffs if k <= hits.depth)
    of_users = f"the {numbers.users(len(lengths))} with a list"
    counts = {k: int((lengths < k).sum()) for k in (*within[:1], *within[-1:])}
    return [
        Problem(
            "short-lists",
            f"run '{name}'",
            f"lists shorter than k = {k}: {numbers.count(count)} of {of_users}",
            "The missing positions count as misses.",
            count,
        )
        for k, count in counts.items()
        if count
    ]
