"""Answers of services for pages, cached by run ids and parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from recdash.domain.results import WHOLE, Scope
from recdash.errors import InputError
from recdash.formatting.html import markdown
from recdash.ui.app.answers import Answer, answer
from recdash.ui.app.state import View, workspace

if TYPE_CHECKING:
    import pandas as pd

    from recdash.comparison import ComparisonQuery
    from recdash.comparison.off_rules import OffRules
    from recdash.comparison.pareto import TradeOff
    from recdash.comparison.population import PopulationEffect
    from recdash.comparison.recommendation import Recommendation
    from recdash.comparison.sensitivity import WhatIf
    from recdash.decisions.standing import DecisionStanding
    from recdash.definitions.worked_example import Worked
    from recdash.evaluation.hit_overlap import Headroom
    from recdash.evaluation.user_detail import OneUser
    from recdash.metrics.ties import TieBand
    from recdash.references.reference_scale import ReferenceStanding
    from recdash.service import Explanation
    from recdash.stats.replicates import ReplicateDifference
    from recdash.stats.user_changes import Bars


def _named(frame: pd.DataFrame, view: View) -> pd.DataFrame:
    """Returns the rows with the current names of runs, which may have changed since the numbers were
    cached.
    """
    names = {run_id: view.name(run_id) for run_id in frame["run_id"].unique()}
    return frame.assign(run=[names[run_id] for run_id in frame["run_id"].tolist()])


def _of_view(view: View, method: Callable[..., Answer], *arguments: Any) -> Answer:
    """Returns what the method answers for the view's scope (its part of the users and items)."""
    return answer(method, arguments, view.scope)


def curves(view: View, run_ids: tuple[str, ...], metrics: tuple[str, ...]) -> pd.DataFrame:
    return _named(_of_view(view, workspace().scores.curves, run_ids, metrics), view)


def scoreboard(view: View, run_ids: tuple[str, ...], metrics: tuple[str, ...], k: int) -> pd.DataFrame:
    return _named(_of_view(view, workspace().scores.scoreboard, run_ids, metrics, k), view)


def verdict(view: View) -> Recommendation | None:
    """Returns the recommendation for the view's candidates in its metric.

    None for a metric without a value per user, which cannot be tested.
    """
    try:
        return workspace().comparisons.verdict(view.verdict_query)
    except InputError:
        return None


def decision_standing(experiment_id: str) -> DecisionStanding | None:
    """Returns how the latest decision on an experiment compares with today's recommendation; None without a
    decision.
    """
    return workspace().overview.standing(experiment_id)


def changes(view: View, today: Recommendation) -> list[WhatIf]:
    """Returns what would change the view's recommendation, also with popular items for the users without
    recommendations from the candidate in question.
    """
    from recdash.comparison.completion import completion_question
    from recdash.comparison.sensitivity import in_order

    what_ifs = workspace().comparisons.changes(view.verdict_query)
    if today.evidence.leader is None or view.scope != WHOLE:
        return what_ifs
    query, leader = view.verdict_query, today.evidence.leader.candidate
    others = workspace().comparisons.verdict_state(query.baseline)  # popular items may have been added
    expected = answer(workspace().comparisons.completion, (query, leader), version=others)
    question = completion_question(expected, today) if expected else None
    return in_order([question, *what_ifs]) if question else what_ifs


def off_rules(view: View, today: Recommendation) -> OffRules | None:
    """Returns what the rules of the experiment recommend, if that is something else than ``today``, the
    recommendation for the view; None if it is the same.
    """
    from recdash.comparison.off_rules import off_rules as beside_rules

    by_rules = workspace().overview.verdict(view.experiment.id)
    beside = beside_rules(today, by_rules.verdict, {})
    if beside is None or by_rules.query is None or by_rules.query.k == view.k:
        return beside
    return replace(beside, at_other_k=workspace().comparisons.at_other_k(view.verdict_query))


def explanation(view: View, test_id: str, variant: str, online_metric: str) -> Explanation:
    """Returns what the twelve checks say about a variant, with the view's metric and k: see
    ``Diagnosis.explain``.
    """
    return workspace().diagnosis.explain(test_id, variant, view.metric, view.k, online_metric)


def pairs(view: View, query: ComparisonQuery) -> pd.DataFrame:
    """Returns the query's paired differences: see ``Comparisons.shown_pairs``.

    No rows for a metric without a value per user.
    """
    import pandas as pd

    try:
        return _named(answer(workspace().comparisons.shown_pairs, (query,)), view)
    except InputError:
        return pd.DataFrame(columns=["run_id", "run", "word"])


def ranks(view: View, query: ComparisonQuery) -> pd.DataFrame:
    """Returns the query's ranks: see ``Comparisons.ranks``. No rows for a metric without a value per user."""
    import pandas as pd

    try:
        return _named(answer(workspace().comparisons.ranks, (query,)), view)
    except InputError:
        return pd.DataFrame(columns=["run_id", "run", "rank"])


def trade_off(
    view: View, run_ids: tuple[str, ...], metrics: tuple[str, str], candidates: tuple[str, ...]
) -> TradeOff:
    """Returns the Pareto front of two metrics, and which runs dominate the ``candidates``: see
    ``TradeOffs.of``.
    """
    return _of_view(view, workspace().tradeoffs.of, run_ids, metrics, view.k, candidates, view.terms)


def delta_curves(view: View, metric: str) -> pd.DataFrame:
    query = replace(view.query, metric=metric)
    return _named(answer(workspace().cutoffs.delta_curves, (query,)), view)


def leaders_by_k(view: View, metric: str) -> dict[int, tuple[str, ...]]:
    """Returns {k: runs that no other run beats significantly}: see ``CutoffComparisons.leaders_by_k``."""
    return answer(workspace().cutoffs.leaders_by_k, (replace(view.verdict_query, metric=metric),))


def cutoffs(view: View) -> tuple[int, ...]:
    """Returns the values of k at which runs are compared."""
    from recdash.service.offline.cutoffs import cutoffs_within

    return cutoffs_within(view.depth)


def slices(experiment_id: str) -> list[str]:
    """Returns the attributes by which users or items can be sliced."""
    return answer(workspace().slices.of, (experiment_id,))


def splits(experiment_id: str, by: str) -> bool:
    """Returns whether the attribute makes two or more segments."""
    return answer(workspace().slices.splits, (experiment_id, by))


def attributes(experiment_id: str) -> list[str]:
    return answer(workspace().slices.attributes, (experiment_id,))


def shown_by(view: View, run_ids: tuple[str, ...], attribute: str) -> pd.DataFrame:
    """Returns how the runs' top-k positions are distributed over an attribute's values: see
    ``Slices.shown_by``.
    """
    return _named(answer(workspace().slices.shown_by, (run_ids, attribute, view.k)), view)


def user_changes(view: View) -> pd.DataFrame:
    """Returns for how many users each candidate is better, the same or worse: see ``UserResults.changes``."""
    return _named(answer(workspace().users.changes, (view.query,)), view)


def change_bars(view: View, run_id: str) -> Bars:
    return answer(workspace().users.change_bars, (run_id, view.query))


def value_bars(view: View, run_id: str) -> tuple[Bars, int, int]:
    """Returns the histogram of a run's nonzero values per user, the number of zeros, and the number of
    users.
    """
    return _of_view(view, workspace().users.value_bars, run_id, view.metric, view.k)


def decisive_users(view: View, run_id: str) -> pd.DataFrame:
    return answer(workspace().users.decisive_users, (run_id, view.query))


def user_lists(view: View, user_id: str) -> OneUser:
    """Returns the lists of one user. Raises NotFound for a user who is not in the test set."""
    baseline = view.baseline.id if view.baseline else None
    return _of_view(view, workspace().users.lists, view.shown_ids, user_id, view.k, baseline)


def user_values(view: View, user_id: str) -> dict[str, float]:
    return answer(workspace().users.values, (user_id, view.query))


def list_overlap(view: View, baseline: str) -> pd.DataFrame:
    return _named(_of_view(view, workspace().overlap.list_overlap, view.shown_ids, baseline, view.k), view)


def headroom(view: View) -> Headroom | None:
    return _of_view(view, workspace().overlap.headroom, view.shown_ids, view.k)


def found_items(run_ids: tuple[str, ...], k: int) -> pd.DataFrame:
    return answer(workspace().overlap.found_items, (run_ids, k))


def under_presets(run_id: str, metric: str, k: int) -> pd.DataFrame:
    return answer(workspace().definitions.under_presets, (run_id, metric, k))


def preset_causes(run_id: str, metric: str, k: int) -> pd.DataFrame:
    return answer(workspace().definitions.preset_causes, (run_id, metric, k))


def worked_example(run_id: str, metric: str, k: int, preset: str) -> Worked | None:
    return answer(workspace().definitions.worked_example, (run_id, metric, k, preset))


def tie_band(run_id: str, metric: str, k: int) -> TieBand | None:
    return answer(workspace().scores.tie_band, (run_id, metric, k))


def population_effect(view: View, run_ids: tuple[str, ...]) -> PopulationEffect | None:
    """Returns whether the winner depends on counting users without a list.

    None if the view is limited to a part of the experiment, and for a metric without a value per user.
    """
    if view.scope != WHOLE:
        return None
    try:
        return workspace().scores.population_effect(run_ids, view.metric, view.k)
    except InputError:
        return None


def standing(view: View, run_ids: tuple[str, ...]) -> ReferenceStanding | None:
    """Returns the runs' values on the scale between the reference candidates: see ``Scores.standing``.

    None if the view is limited to a part of the experiment.
    """
    return None if view.scope != WHOLE else workspace().scores.standing(run_ids, view.metric, view.k)


def spread(view: View, run_ids: tuple[str, ...]) -> pd.DataFrame:
    """Returns the values of the runs' folds or seeds in the view's metric at k: see ``Replicates.spread``."""
    return _named(_of_view(view, workspace().replicates.spread, run_ids, view.metric, view.k), view)


def replicate_differences(view: View, run_ids: tuple[str, ...]) -> dict[str, ReplicateDifference]:
    """Returns the runs' differences over folds or seeds: see ``Comparisons.replicate_differences``."""
    return answer(workspace().comparisons.replicate_differences, (replace(view.query, runs=run_ids),))


def gone_metrics(run_ids: tuple[str, ...]) -> dict[str, str]:
    return workspace().scores.gone_metrics(run_ids)


def absences(run_ids: tuple[str, ...], metric: str, scope: Scope = WHOLE) -> dict[str, str]:
    return answer(workspace().scores.absences, (run_ids, metric), scope)


def list_ends(run_ids: tuple[str, ...]) -> dict[str, int | None]:
    return answer(workspace().scores.list_ends, (run_ids,))


def progress(text: str) -> Callable[[float, str], None]:
    """Draws a progress bar, and returns the callback with which a service moves it."""
    bar = st.progress(0.0, text=text)

    def show(fraction: float, words: str) -> None:
        bar.progress(min(1.0, max(0.0, fraction)), text=markdown(words))

    return show
