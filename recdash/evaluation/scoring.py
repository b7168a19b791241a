"""Scoring of one run: a pass over its lists, then every metric from its hits; and the same for slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.domain.hits import Exposure, Hits, PopulationCounts
from recdash.domain.inputs import Recommendations
from recdash.domain.kinds import Mask, Users
from recdash.domain.records import Replicated
from recdash.domain.results import Curve, Unavailable
from recdash.engines import Reference, list_metrics, match
from recdash.engines.attributes import attribute_names, attribute_of
from recdash.engines.exposure import no_lists
from recdash.errors import InputError, Problem
from recdash.evaluation.known_ids import OF_TABLES, id_problems, stopping, unmet_by_truth, unmet_tables
from recdash.evaluation.predictions import prediction_notices
from recdash.evaluation.reading import open_predictions, predictions_of
from recdash.evaluation.request import CountingRules, MetricRequest
from recdash.metrics import Definition, MetricInputs, sample_of, score
from recdash.metrics.catalogue import CATALOGUE, CatalogueInputs, Labels, no_labels
from recdash.metrics.ratings import Predictions, RatingMetric
from recdash.metrics.sample import Familiar, Ideals, familiar, users_who_count

if TYPE_CHECKING:
    import pyarrow as pa

    from recdash.domain.results import Slice


@dataclass(frozen=True)
class Scoring:
    """How all candidates of an evaluation are scored: against what, by which metrics, rules and slices."""

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

    ``predictions`` is the checked table of rating predictions, where there was one; ``reference`` names the
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
        """Whose lists these are: the run's own, of seeds those of each; none with predictions only."""
        return self.replicates if self.hits is None else (self,)


@dataclass(frozen=True)
class SliceScores:
    """The curves of one slice, and what is absent there."""

    of: Slice
    curves: Mapping[str, Curve]
    absent: Mapping[str, str]


# ── one run ──────────────────────────────────────────────────────────────────────────────────


def score_run(run: Recommendations, scoring: Scoring, predictions: Any = None) -> Scored:
    """One pass over the run, then every metric that is requested.

    A reference candidate is ordered by its ranks, whatever the rules say: it has no scores. Raises InputError
    for a run that cannot be used, such as one whose ids hardly meet those of the tables, unless the rules
    accept them.
    """
    reference, definitions, rules = scoring.reference, scoring.definitions, scoring.rules
    hits, of_lists = _match(run, scoring)
    of_ids = id_problems(run, hits, reference)
    rated = open_predictions(predictions)
    of_ratings = [] if rated is None else prediction_notices(run.name, rated, reference)
    _refuse_unknown_ids([*of_ids, *of_ratings], rules)
    rows = None if rated is None else predictions_of(rated)
    curves, absent = score_hits(hits, reference, definitions, rules.users, rows)
    of_file = [replace(notice, place=f"run '{run.name}', {notice.place}") for notice in run.notices]
    tables_named = any(problem.code in OF_TABLES for problem in of_ids)
    unknown = [] if tables_named else unknown_item_notices(run.name, hits, reference)
    short = [] if run.reference else short_list_notices(run.name, hits, scoring.requests)
    exposures = exposure_by_slice(scoring.slices, hits)
    return Scored(
        run.name,
        replace(hits, shown_to=()),  # the slices have it; of many runs it would fill the memory
        curves,
        absent,
        population_counts(hits, rules.users),
        (*of_file, *of_lists, *of_ids, *unknown, *short, *of_ratings),
        None if rated is None else rated.table,
        tuple(
            score_slice(hits, reference, definitions, rules.users, part, exposure)
            for part, exposure in zip(scoring.slices, exposures, strict=True)
        ),
        run.reference,
        lists=run,
    )


def _refuse_unknown_ids(problems: Sequence[Problem], rules: CountingRules) -> None:
    """Raises InputError for ids that hardly meet those of the tables, unless the rules accept them."""
    if (refused := stopping(problems)) and not rules.accept_unknown_ids:
        raise InputError(refused)


def score_slice(
    hits: Hits,
    reference: Reference,
    definitions: Sequence[Definition],
    users: Users,
    part: Slice,
    exposure: Exposure | None = None,
) -> SliceScores:
    """Accuracy in a slice comes from the hits of all, the others from the ``exposure`` of its users."""
    sample = sample_of(hits, users, part.users, part.rows, familiar_of(reference))
    inputs = None
    if exposure is not None:  # of some users of the truth: there are no other lists then
        own = replace(hits, exposure=exposure, other_exposure=no_lists(exposure.items, hits.depth))
        inputs = catalogue_inputs_of(own, reference)
    curves, absent = by_metric(score(definitions, MetricInputs(sample, inputs)))
    reasons = {str(definition): _not_in(part, definition) for definition in definitions}
    return SliceScores(part, curves, absent | {metric: why for metric, why in reasons.items() if why})


def slice_users(slices: Sequence[Slice]) -> list[Mask]:
    """The users of each slice of users; slices of items are left out."""
    return [part.users for part in slices if part.users is not None]


def exposure_by_slice(slices: Sequence[Slice], hits: Hits) -> list[Exposure | None]:
    """The exposure of each slice's users; None for a slice of items, and where it was not counted."""
    exposures = iter(hits.shown_to)
    return [None if part.users is None else next(exposures, None) for part in slices]


NOT_IN_SLICES = "rating predictions are scored as a whole, not in slices"


def _not_in(part: Slice, definition: Definition) -> str:
    """Why no slice of this kind has the metric; empty where one may."""
    if isinstance(definition.metric, RatingMetric):
        return NOT_IN_SLICES
    if part.rows is not None and definition.metric in CATALOGUE:
        return "a slice of items has no lists of its own; ask for a slice of users"
    return ""


def _match(run: Recommendations, scoring: Scoring) -> tuple[Hits, list[Problem]]:
    """One pass over the run's lists, counting their exposure where some metric needs it."""
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


def familiar_of(reference: Reference) -> Familiar | None:
    """How expected each item of the truth is, by its popularity in train; None without a train table."""
    if reference.train_users is None:
        return None
    in_train = int((reference.train_users > 0).sum())
    n_items = in_train if reference.catalogue is None else len(reference.catalogue)
    items = familiar(reference.train_users, n_items, len(reference.truth.items))
    return replace(items, missing_input=unmet_by_truth(reference))


def score_hits(
    hits: Hits,
    reference: Reference,
    definitions: Sequence[Definition],
    users: Users,
    predictions: Predictions | None = None,
) -> tuple[dict[str, Curve], dict[str, str]]:
    """Curves and reasons of absence by canonical spec, from hits alone."""
    return by_metric(score(definitions, metric_inputs_of(hits, reference, users, predictions)))


def by_metric(results: Iterable[Curve | Unavailable]) -> tuple[dict[str, Curve], dict[str, str]]:
    """Curves, and reasons of absence, by canonical spec."""
    results = list(results)
    curves = {result.metric: result for result in results if isinstance(result, Curve)}
    return curves, {result.metric: result.reason for result in results if isinstance(result, Unavailable)}


def metric_inputs_of(
    hits: Hits,
    reference: Reference,
    users: Users,
    predictions: Predictions | None = None,
    ideals: Ideals | None = None,
) -> MetricInputs:
    """What every metric is computed from; intermediate results are shared between the metrics."""
    sample = sample_of(hits, users, familiar=familiar_of(reference), ideals=ideals)
    return MetricInputs(sample, catalogue_inputs_of(hits, reference), predictions)


def catalogue_inputs_of(hits: Hits, reference: Reference) -> CatalogueInputs | None:
    """The run's exposure, if it was counted, with what the reference knows of its items."""
    if hits.exposure is None:
        return None
    n = len(hits.exposure.items)
    unmet = unmet_tables(hits.exposure, reference)
    train = None
    if reference.train_users is not None and "train" not in unmet:
        train = np.zeros(n, dtype=np.int64)
        train[: len(reference.train_users)] = reference.train_users
    in_catalogue = None
    if reference.catalogue is not None and "catalogue" not in unmet:
        in_catalogue = np.zeros(n, dtype=bool)
        in_catalogue[reference.catalogue] = True
    in_truth = np.arange(n) < len(reference.truth.items)
    names, labels = labels_of(reference)
    return CatalogueInputs(
        hits.exposure,
        hits.depth,
        in_truth,
        in_catalogue,
        train,
        reference.n_train_users,
        names,
        labels,
        reference.tables.keys(),
        hits.other_exposure,
        is_whole=hits.other_exposure is not None,
        may_repeat=hits.duplicates == "keep",
        unmet=unmet,
    )


def labels_of(reference: Reference) -> tuple[list[str], Callable[[str], Labels]]:
    """The names of the catalogue's attributes, and what reads one of them."""
    catalogue = reference.tables.get("catalogue")
    if catalogue is None:
        return [], no_labels
    code = reference.items.codes(catalogue.table["item_id"], grow=False)

    def read(name: str) -> Labels:
        attribute = attribute_of(catalogue, name)
        return Labels(attribute.values, code[attribute.row], attribute.value)

    return attribute_names(catalogue), read


def score_predictions(name: str, source: Any, scoring: Scoring) -> Scored:
    """A candidate that only predicts ratings. Raises InputError where their ids are written otherwise."""
    rated = open_predictions(source)
    notices = [] if rated is None else prediction_notices(name, rated, scoring.reference)
    _refuse_unknown_ids(notices, scoring.rules)
    rows = None if rated is None else predictions_of(rated)
    curves, absent = by_metric(score(scoring.definitions, MetricInputs(predictions=rows)))
    in_slices = {**absent, **dict.fromkeys(curves, NOT_IN_SLICES)}
    sliced = tuple(SliceScores(part, {}, in_slices) for part in scoring.slices)
    table = None if rated is None else rated.table
    return Scored(name, None, curves, absent, None, tuple(notices), table, sliced)


# ── population counts and notices ────────────────────────────────────────────────────────────


def population_counts(hits: Hits, users: Users) -> PopulationCounts:
    """The run's counts of users and rows under a population rule."""
    if users == "truth":
        return hits.ledger
    relevant = hits.truth.per_user(hits.truth.relevant())
    counted = int(users_who_count(hits, relevant, users).sum())
    unknown = hits.ledger.without_truth if users == "run" else 0
    return replace(hits.ledger, counted=counted + unknown)


def short_list_notices(name: str, hits: Hits, requests: Sequence[MetricRequest]) -> list[Problem]:
    """Notices of short lists, at the least and the largest cutoff requested (a curve: 10, depth)."""
    cutoffs = set()
    for request in requests:
        if request.definition.metric.has_cutoff:
            cutoffs |= {request.spec.k} if request.spec.k else {10, hits.depth}
    within = sorted(k for k in cutoffs if k <= hits.depth)
    lengths = hits.list_length[hits.list_length > 0]
    of_users = f"{len(lengths)} user{'' if len(lengths) == 1 else 's'}"
    counts = {k: int((lengths < k).sum()) for k in (*within[:1], *within[-1:])}
    return [
        Problem(
            "short-lists",
            f"run '{name}'",
            f"lists shorter than k = {k}: {count} of {of_users}",
            "The missing places count as misses.",
            count,
        )
        for k, count in counts.items()
        if count
    ]


def unknown_item_notices(name: str, hits: Hits, reference: Reference) -> list[Problem]:
    """Notices where no item of the lists is in train, or where some are not in the catalogue."""
    if hits.exposure is None:
        return []
    place = f"run '{name}', column 'item_id'"
    in_lists = np.zeros(len(hits.exposure.items), dtype=bool)
    for exposure in (hits.exposure, hits.other_exposure):
        if exposure is not None:
            in_lists[exposure.shown.item] = True
    items, train = np.flatnonzero(in_lists), reference.train_users
    if train is not None and not train[items[items < len(train)]].any():
        text = "no item of these lists is in the train table"
        fix = "Novelty and popularity say nothing here; check that both files write ids alike."
        return [Problem("nothing-in-train", place, text, fix)]
    if reference.catalogue is None:
        return []
    unknown = items[~np.isin(items, reference.catalogue)]
    if not len(unknown):
        return []
    example = ", ".join(f"'{hits.exposure.items[int(code)]}'" for code in unknown[:3])
    text = f"{len(unknown)} item ids are not in the catalogue ({example})"
    fix = "They count for accuracy, but not for coverage or Gini; check the ids."
    return [Problem("unknown-items", place, text, fix, len(unknown))]
