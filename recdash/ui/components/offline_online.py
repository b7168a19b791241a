"""Gathers the results of an A/B test with the offline scores of the runs that it served, for pages on
both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.marks import Marks, marks
from recdash.domain.records import OnlineTest
from recdash.formatting.html import html, join
from recdash.formatting.numbers import is_number
from recdash.formatting.records import records
from recdash.metrics.naming import lower_is_better as less_of_metric_is_better
from recdash.metrics.naming import metric_at
from recdash.online.agreement.join import lower_metric_is_better, split_is_broken
from recdash.ui.app import links, state, theme
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.online_tests import choose_test, online_metrics, tell_gone
from recdash.ui.components.variant_links import link_form

if TYPE_CHECKING:
    import pandas as pd

PERCENT = {
    "online_lift": "lift_percent",
    "online_low": "lift_percent_low",
    "online_high": "lift_percent_high",
}
CONTROL = "control"


@dataclass(frozen=True)
class OfflineOnline:
    """An A/B test with the offline scores of the runs that it served.

    ``rows`` has one row per variant with a run; ``results`` has one row per metric and variant of the test.
    ``base`` is the name of the control's run, ``where`` the offline metric with its cutoff, of which less is
    better if ``offline_lower_is_better``.
    """

    test: OnlineTest
    online_metric: str
    rows: pd.DataFrame
    results: pd.DataFrame
    marks: Marks
    base: str
    where: str
    offline_lower_is_better: bool = False

    @property
    def broken_split(self) -> bool:
        return split_is_broken(self.test.notices)

    @property
    def has_differences(self) -> bool:
        """Returns whether any run has an offline difference.

        None has for a metric without a value per user, and if the runs share no user.
        """
        return any(is_number(row["offline_delta"]) for row in records(self.rows))

    @property
    def lower_is_better(self) -> bool:
        """Returns whether less of the online metric is better."""
        return lower_metric_is_better(self.results, self.online_metric)

    @property
    def online_title(self) -> str:
        return str(self.results.loc[self.results["metric"] == self.online_metric, "title"].iloc[0])


SIDE_BY_SIDE = "Offline and online results are then shown side by side."
REASONS = "recdash then checks why offline and online results disagree."


def no_test(view: View, then: str) -> None:
    """Says, in place of the page, what to upload; ``then`` is what the page shows then."""
    tell_gone(())
    second = " It takes a second run to compare with." if len(view.runs) < 2 else ""
    uploads, chooses = ("Upload", "choose")
    if not state.person().may("editor"):
        uploads, chooses = ("An editor uploads", "chooses")
    widgets.empty(
        "No A/B test yet",
        f"{uploads} an A/B test: a table with a row per user, the sessions, the exposures and events, or "
        f"aggregated results, and {chooses} the run that each variant served. {then}{second}",
    )
    links.page_button("Upload an A/B test", "upload")


def no_link(view: View, test: OnlineTest) -> None:
    """Says that no variant of the test is linked to a run and what this means, with the boxes that link them
    for people who may.
    """
    workspace = state.workspace()
    may_write = workspace.person.may("editor")
    next_step = "Choose" if may_write else "An editor chooses"
    st.info(
        "No variant of this test is linked to a run, so the recommendation does not use the test. "
        f"{next_step} which run each variant served."
    )
    if may_write:
        link_form(workspace, test, workspace.runs.all(view.experiment.id, archived=True))


def choose(view: View, tests: list[OnlineTest]) -> tuple[OnlineTest, str]:
    """Draws the choices of a test and its metric and returns both; the URL keeps them.

    By default it takes a metric in which offline and online disagree, because that needs an explanation: the
    primary metric, by which the test is decided, if it is one of them or if there is none.
    """
    left, right = st.columns([1, 2.4], gap="small")
    with left:
        test = choose_test(tests)
    titles = online_metrics(test.id)
    with right:
        disagreeing = state.workspace().online_tests.disagreeing_metrics(test.id, view.metric, view.k)
        default = test.metric_to_explain(disagreeing)
        links.tell_unknown("om", "online metric", titles, titles.get(default, default))
        metric = widgets.choice("Online metric", "om", titles, default)
    _show_disagreements(view, test, metric, disagreeing)
    return test, metric


def _show_disagreements(view: View, test: OnlineTest, metric: str, disagreeing: Mapping[str, str]) -> None:
    """Names the other metrics in which a run won on one side and lost on the other, as links; nothing if
    there are none.
    """
    others = [
        links.link(view, title, state.page(), {"t": test.id, "om": other})
        for other, title in disagreeing.items()
        if other != metric
    ]
    if others:
        ways = join(others, ", ")
        st.html(html('<p class="rd-quiet">Offline and online disagree in: {ways}.</p>', ways=ways))


def gather(view: View, test: OnlineTest, online_metric: str) -> OfflineOnline:
    """Returns the offline and online results of a test, with the runs in the order of the frame."""
    source = state.workspace()
    results = source.online_tests.result_frame(test.id)
    rows = source.online_tests.offline_online(test.id, view.metric, view.k, online_metric)
    known = {run.id: run for run in (*source.runs.all(view.experiment.id, archived=True), *view.runs)}
    rows = rows[rows["run_id"].isin(list(known)) & (rows["quadrant"] != CONTROL)]
    place = {run: index for index, run in enumerate(dict.fromkeys([*view.candidate_ids, *known]))}
    rows = rows.sort_values("run_id", key=lambda ids: ids.map(place), kind="stable", ignore_index=True)
    rows = rows.assign(**{new: 100 * rows[old].astype(float) for old, new in PERCENT.items()})
    linked = results.loc[results["is_control"], "run_id"].dropna()
    control = str(linked.iloc[0]) if len(linked) else test.links.get(test.control, "")
    looks = marks(list(known.values()), control or None, list(rows["run_id"]), theme.palette())
    base = known[control].name if control in known else control_name(test.control)
    where, offline_lower = metric_at(view.metric, view.k), less_of_metric_is_better(view.metric)
    return OfflineOnline(test, online_metric, rows, results, looks, base, where, offline_lower)


def control_name(variant: str) -> str:
    """Returns a name for a control that is not linked to a run."""
    return f"the {CONTROL}" if variant.casefold() == CONTROL else f"the {CONTROL} ({variant})"
