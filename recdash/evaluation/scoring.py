"""One run, scored: a pass over its lists, then every metric from its hits; and the same for slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.domain.hits import Exposure, Hits, PopulationCounts
from recdash.domain.inputs import Recommendations, Upload
from recdash.domain.kinds import Ints, Mask, Users
from recdash.domain.records import Replicated
from recdash.domain.results import Curve, Unavailable
from recdash.engines import Reference, list_metrics, match
from recdash.engines.attributes import attribute_names, attribute_of
from recdash.engines.exposure import no_lists
from recdash.errors import InputError, Problem
from recdash.evaluation import predictions as predicted
from recdash.evaluation.known_ids import OF_TABLES, id_problems, stopping, unmet_by_truth, unmet_tables
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


def score_run(
    run: Recommendations,
    reference: Reference,
    asked: Sequence[MetricRequest],
    rules: CountingRules,
    predictions: Any = None,
    cuts: Sequence[Slice] = (),
) -> Scored:
    """One pass over the run, then every metric asked for. Raises InputError for a run that is no use, such as
    one whose ids hardly meet those of the tables, unless the rules accept them.

    A reference candidate is ordered by its ranks, whatever the rules say: it has no scores.
    """
    rules = replace(rules, order=None) if run.reference else rules
    wanted = [one.definition for one in asked]
    hits, told = _match(run, reference, wanted, rules, cuts)
    of_ids = id_problems(run, hits, reference)
    rated = open_predictions(predictions)
    of_ratings = [] if rated is None else predicted.notices_of(run.name, rated, reference)
    _refuse([*of_ids, *of_ratings], rules)
    rows = None if rated is None else predictions_of(rated)
    curves, absent = score_hits(hits, reference, wanted, rules.users, rows)
    ledger = ledger_of(hits, rules.users)
    short = [] if run.reference else short_list_notices(run.name, hits, asked)
    is_told = any(one.code in OF_TABLES for one in of_ids)
    unknown = [] if is_told else unknown_item_notices(run.name, hits, reference)
    of_file = [replace(notice, place=f"run '{run.name}', {notice.place}") for notice in run.notices]
    notices = (*of_file, *told, *of_ids, *unknown, *short, *of_ratings)
    sliced = tuple(
        score_slice(hits, reference, wanted, rules.users, one, shown)
        for one, shown in zip(cuts, shown_in(cuts, hits), strict=True)
    )
    hits = replace(hits, shown_to=())  # said in the slices; many runs would fill the memory
    table = _table(rated)
    return Scored(run.name, hits, curves, absent, ledger, notices, table, sliced, run.reference, lists=run)


def _refuse(problems: Sequence[Problem], rules: CountingRules) -> None:
    """Raises InputError for ids that hardly meet those of the tables, unless the rules accept them."""
    if (refused := stopping(problems)) and not rules.accept_unknown_ids:
        raise InputError(refused)


def score_slice(
    hits: Hits,
    reference: Reference,
    definitions: Sequence[Definition],
    users: Users,
    of: Slice,
    shown: Exposure | None = None,
) -> SliceScores:
    """Accuracy in a slice comes from the hits of all, the others from what is ``shown`` to its users."""
    sample = sample_of(hits, users, of.users, of.rows, familiar_of(reference))
    shelf = None if shown is None else shelf_of(among(hits, shown), reference)
    curves, absent = _by_metric(score(definitions, MetricInputs(sample, shelf)))
    refused = {str(one): reason for one in definitions if (reason := _not_in(of, one))}
    return SliceScores(of, curves, absent | refused)


def among(hits: Hits, shown: Exposure) -> Hits:
    """The hits with what some users of the truth were ``shown``: there are no other lists then."""
    return replace(hits, exposure=shown, other_exposure=no_lists(shown.items, hits.depth))


def users_of(cuts: Sequence[Slice]) -> list[Mask]:
    """The users of each slice of users: to whom lists are shown."""
    return [one.users for one in cuts if one.users is not None]


def shown_in(cuts: Sequence[Slice], hits: Hits) -> list[Exposure | None]:
    """What was shown to the users of each slice; None for a slice of items, and where nobody asked."""
    shown = iter(hits.shown_to)
    return [None if one.users is None else next(shown, None) for one in cuts]


NOT_IN_SLICES = "rating predictions are scored as a whole, not in slices"


def _not_in(of: Slice, definition: Definition) -> str:
    """Why no slice of this kind has the metric; empty where one may."""
    if isinstance(definition.metric, RatingMetric):
        return NOT_IN_SLICES
    if of.rows is not None and definition.metric in CATALOGUE:
        return "a slice of items has no lists of its own; ask for a slice of users"
    return ""


def _match(
    run: Recommendations,
    reference: Reference,
    definitions: Sequence[Definition],
    rules: CountingRules,
    cuts: Sequence[Slice],
) -> tuple[Hits, list[Problem]]:
    asks_what_is_shown = any(one.metric in CATALOGUE for one in definitions)
    return match(
        run,
        reference,
        depth=rules.depth,
        order=rules.order,
        ties=rules.ties,
        duplicates=rules.duplicates,
        exposure=reference.catalogue is not None
        or reference.train_users is not None
        or asks_what_is_shown
        or "run" in {rules.users, *(one.parameters.get("users") for one in definitions)},
        list_metrics=list_metrics(definitions, reference, rules.depth),
        shown_to=users_of(cuts) if asks_what_is_shown else (),
    )


def familiar_of(reference: Reference) -> Familiar | None:
    """How expected each item of the truth is, by its popularity in train; None without a train table."""
    if reference.train_users is None:
        return None
    in_train = int((reference.train_users > 0).sum())
    n_items = in_train if reference.catalogue is None else len(reference.catalogue)
    found = familiar(reference.train_users, n_items, len(reference.truth.items))
    return replace(found, lacks=unmet_by_truth(reference))


def score_hits(
    hits: Hits,
    reference: Reference,
    definitions: Sequence[Definition],
    users: Users,
    predictions: Predictions | None = None,
) -> tuple[dict[str, Curve], dict[str, str]]:
    """Curves and reasons of absence by canonical spec, from hits alone."""
    return _by_metric(score(definitions, material_of(hits, reference, users, predictions)))


def _by_metric(results: Iterable[Curve | Unavailable]) -> tuple[dict[str, Curve], dict[str, str]]:
    """Curves, and reasons of absence, by canonical spec."""
    found = list(results)
    curves = {one.metric: one for one in found if isinstance(one, Curve)}
    return curves, {one.metric: one.reason for one in found if isinstance(one, Unavailable)}


def material_of(
    hits: Hits,
    reference: Reference,
    users: Users,
    predictions: Predictions | None = None,
    ideals: Ideals | None = None,
) -> MetricInputs:
    """What every metric is computed from; what one of them works out, the next need not."""
    sample = sample_of(hits, users, familiar=familiar_of(reference), ideals=ideals)
    return MetricInputs(sample, shelf_of(hits, reference), predictions)


def shelf_of(hits: Hits, reference: Reference) -> CatalogueInputs | None:
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
        found = attribute_of(catalogue, name)
        return Labels(found.values, code[found.row], found.value)

    return attribute_names(catalogue), read


def score_predictions(
    name: str,
    source: Any,
    reference: Reference,
    asked: Sequence[MetricRequest],
    rules: CountingRules,
    cuts: Sequence[Slice] = (),
) -> Scored:
    """A candidate that only predicts ratings. Raises InputError where their ids are written otherwise."""
    rated = open_predictions(source)
    notices = [] if rated is None else predicted.notices_of(name, rated, reference)
    _refuse(notices, rules)
    rows = None if rated is None else predictions_of(rated)
    curves, absent = _by_metric(score([one.definition for one in asked], MetricInputs(predictions=rows)))
    of_slice = {**absent, **dict.fromkeys(curves, NOT_IN_SLICES)}
    sliced = tuple(SliceScores(one, {}, of_slice) for one in cuts)
    return Scored(name, None, curves, absent, None, tuple(notices), _table(rated), sliced)


def _table(rated: Upload | None) -> pa.Table | None:
    return rated.table if rated else None


# ── what a person is told ────────────────────────────────────────────────────────────────────


def ledger_of(hits: Hits, users: Users) -> PopulationCounts:
    """The run's ledger under a population rule."""
    if users == "truth":
        return hits.ledger
    relevant = hits.truth.per_user(hits.truth.relevant())
    counted = int(users_who_count(hits, relevant, users).sum())
    unknown = hits.ledger.without_truth if users == "run" else 0
    return replace(hits.ledger, counted=counted + unknown)


def short_list_notices(name: str, hits: Hits, asked: Sequence[MetricRequest]) -> list[Problem]:
    """Where short lists make misses: at the least and the deepest cutoff asked for (a curve: 10, depth)."""
    with_cutoff = [one.spec.k for one in asked if one.definition.metric.has_cutoff]
    cutoffs = sorted({k for asked_k in with_cutoff for k in ([asked_k] if asked_k else [10, hits.depth])})
    listed = hits.list_length[hits.list_length > 0]
    found = [(k, int((listed < k).sum())) for k in cutoffs if k <= hits.depth]
    return [
        Problem(
            "short-lists",
            f"run '{name}'",
            f"lists shorter than k = {k}: {count} of {len(listed)} user{'' if len(listed) == 1 else 's'}",
            "The missing places count as misses.",
            count,
        )
        for k, count in (found[:1] + found[-1:] if len(found) > 1 else found)
        if count
    ]


def _all_new(name: str) -> Problem:
    found = "no item of these lists is in the train table"
    fix = "Novelty and popularity say nothing here; check that both files write ids alike."
    return Problem("nothing-in-train", f"run '{name}', column 'item_id'", found, fix)


def _ever_shown(exposures: Iterable[Exposure | None]) -> Ints:
    """The codes of the items that stand in any list, ascending."""
    known = [exposure for exposure in exposures if exposure is not None]
    shown = np.zeros(len(known[0].items), dtype=bool)
    for exposure in known:
        shown[exposure.shown.item] = True
    return np.flatnonzero(shown)


def unknown_item_notices(name: str, hits: Hits, reference: Reference) -> list[Problem]:
    if hits.exposure is None:
        return []
    shown = _ever_shown([hits.exposure, hits.other_exposure])
    if (
        reference.train_users is not None
        and not reference.train_users[shown[shown < len(reference.train_users)]].any()
    ):
        return [_all_new(name)]
    if reference.catalogue is None:
        return []
    unknown = shown[~np.isin(shown, reference.catalogue)]
    if not len(unknown):
        return []
    example = ", ".join(f"'{hits.exposure.items[int(code)]}'" for code in unknown[:3])
    return [
        Problem(
            "unknown-items",
            f"run '{name}', column 'item_id'",
            f"{len(unknown)} item ids are not in the catalogue ({example})",
            "They count for accuracy, but not for coverage or Gini; check the ids.",
            len(unknown),
        )
    ]
