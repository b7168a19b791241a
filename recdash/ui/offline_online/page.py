"""What the offline-vs-online page shows: one A/B test beside the offline scores of the runs it served."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.marks import Marks, marks
from recdash.charts.offline_online import Side
from recdash.comparison import headlines
from recdash.domain.records import OnlineTest
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join, markdown
from recdash.formatting.numbers import glyph, is_number
from recdash.formatting.records import Row, records
from recdash.formatting.wording import finding as finding_of
from recdash.formatting.wording import listed
from recdash.metrics.naming import metric_at
from recdash.online.agreement.agreement import DISAGREE
from recdash.online.agreement.join import SPLIT_BROKEN, judged_by
from recdash.ui.app import links, state, theme
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.online_tests import choose_test, online_metrics, value_and_unit
from recdash.ui.components.tiles import finding_cell
from recdash.ui.components.widgets import TableColumn, run_cell

if TYPE_CHECKING:
    import pandas as pd

OFFLINE = Side("offline_delta", "offline_low", "offline_high")
ONLINE = Side("lift_percent", "lift_percent_low", "lift_percent_high", unit=" %", names=False)
PERCENT = {
    "online_lift": "lift_percent",
    "online_low": "lift_percent_low",
    "online_high": "lift_percent_high",
}
CONTROL = "control"
WORDS = {"blocked": "not judged: the split of users is broken"}


@dataclass(frozen=True)
class OfflineOnlinePage:
    """``rows``: one per variant linked to a run; ``results``: every metric and variant of the test."""

    test: OnlineTest
    online_metric: str
    rows: pd.DataFrame
    results: pd.DataFrame
    marks: Marks
    base: str
    where: str

    @property
    def broken_split(self) -> bool:
        return any(notice.code == SPLIT_BROKEN for notice in self.test.notices)

    @property
    def has_differences(self) -> bool:
        """False for an offline metric without a value per user, and where no run shares a user."""
        return any(is_number(row["offline_delta"]) for row in records(self.rows))

    @property
    def online_title(self) -> str:
        return self.online("title")

    def online(self, column: str) -> str:
        """Title or unit of the chosen online metric."""
        rows = self.results[self.results["metric"] == self.online_metric]
        return str(rows[column].iloc[0])


def no_test() -> None:
    widgets.empty(
        "No online test yet",
        "Upload the sessions or the aggregates of an A/B test, and name the run that each variant served: "
        "offline and online results then stand side by side.",
    )
    links.offer("Upload an online test", "upload")


def no_link(found: OfflineOnlinePage) -> None:
    """The test's own results still show."""
    st.info("No variant of this test is linked to a run. Link the variants on the Runs page to compare.")
    results_table(found)


def choose(view: View, tests: list[OnlineTest]) -> tuple[OnlineTest, str]:
    """The test and its metric, both kept in the URL. The page opens on one that disagrees, if any does."""
    left, right = st.columns([1, 2.4], gap="small")
    with left:
        test = choose_test(tests)
    titles = online_metrics(test.id)
    with right:
        links.tell_unknown("om", "online metric", titles)
        metric = widgets.choice("Online metric", "om", titles, _telling(view, test, list(titles)))
    return test, metric


def _telling(view: View, test: OnlineTest, metrics: list[str]) -> str:
    """The first online metric by which a run won on one side and lost on the other; else the first."""
    source = state.workspace()
    for metric in metrics:
        if (
            source.online_tests.offline_online(test.id, view.metric, view.k, metric)["quadrant"]
            .isin(DISAGREE)
            .any()
        ):
            return metric
    return metrics[0]


def show_broken_split(test: OnlineTest) -> None:
    """The one notice that stands above everything: nothing else on the page can be believed."""
    for notice in test.notices:
        if notice.code == SPLIT_BROKEN:
            st.error(f"**The split of users is broken: nothing is judged.** {widgets.problem_text(notice)}")


def show_notices(view: View, test: OnlineTest) -> None:
    """One line on what else was noticed when the test was read: A/B results has all of it."""
    others = [notice for notice in test.notices if notice.code != SPLIT_BROKEN]
    if others:
        page = links.link(view, "A/B results", "ab-results", {"t": test.id})
        more = f"{'One thing was' if len(others) == 1 else f'{len(others)} things were'} noticed"
        st.html(html('<p class="rd-quiet">{more} in this test: see {page}.</p>', more=more, page=page))


def gather(view: View, test: OnlineTest, online_metric: str) -> OfflineOnlinePage:
    source = state.workspace()
    results = source.online_tests.online_results(test.id)
    rows = source.online_tests.offline_online(test.id, view.metric, view.k, online_metric)
    known = {run.id: run for run in (*source.runs.all(view.experiment.id, archived=True), *view.runs)}
    rows = rows[rows["run_id"].isin(list(known)) & (rows["quadrant"] != CONTROL)]
    place = {run: at for at, run in enumerate(dict.fromkeys([*view.candidate_ids, *known]))}
    rows = rows.sort_values("run_id", key=lambda ids: ids.map(place), kind="stable", ignore_index=True)
    rows = rows.assign(**{new: 100 * rows[old].astype(float) for old, new in PERCENT.items()})
    control = _control_run(test, results)
    looks = marks(list(known.values()), control or None, list(rows["run_id"]), theme.palette())
    base = known[control].name if control in known else _called_control(test.control)
    return OfflineOnlinePage(test, online_metric, rows, results, looks, base, metric_at(view.metric, view.k))


def _control_run(test: OnlineTest, results: pd.DataFrame) -> str:
    linked = results.loc[results["is_control"], "run_id"].dropna()
    return str(linked.iloc[0]) if len(linked) else test.links.get(test.control, "")


def _called_control(variant: str) -> str:
    """Where its run cannot be named."""
    return f"the {CONTROL}" if variant.casefold() == CONTROL else f"the {CONTROL} ({variant})"


def compared(found: OfflineOnlinePage) -> list[str]:
    """The runs whose offline values stand side by side: the control's first."""
    control = found.test.links.get(found.test.control)
    return [run_id for run_id in (control, *found.rows["run_id"]) if run_id]


def finding(found: OfflineOnlinePage) -> str:
    if found.rows.empty:
        return f"{found.test.name}: {found.online_title}"
    return headlines.agreement(list(found.rows["quadrant"]))


def subtitle(view: View, test: OnlineTest) -> str:
    return (
        f"{test.name}, {test.created:%-d %b %Y}. A run keeps its place and colour on both sides; "
        f"filled bars exclude zero, hollow ones are not settled. Offline: {metric_at(view.metric, view.k)}."
    )


def in_percent(found: OfflineOnlinePage) -> pd.DataFrame:
    """The rows with online lifts in %, as the scatter's axis says."""
    return found.rows.assign(**{old: found.rows[new] for old, new in PERCENT.items()})


def offline_title(found: OfflineOnlinePage) -> tuple[str, str]:
    if not found.has_differences:
        return f"Offline: {found.where}", "Values"
    return f"Offline: {found.where}", f"Difference to {found.base}, 95 % CI, paired over users"


def online_title(found: OfflineOnlinePage) -> tuple[str, str]:
    return f"Online: {found.online_title}", f"Lift over {found.base}, %, 95 % CI, {_users(found)}"


def _users(found: OfflineOnlinePage) -> str:
    rows = found.results[found.results["metric"] == found.online_metric]
    low, high = rows["n_users"].min(), rows["n_users"].max()
    if low == high:
        return f"n = {numbers.count(low)} per variant"
    return f"n = {numbers.count(low)} to {numbers.count(high)} per variant"


def offline_values(found: OfflineOnlinePage) -> None:
    """In place of bars: the runs' offline values, where there are no paired differences."""
    shown = numbers.places(row["offline_value"] for row in records(found.rows))
    rows = [
        [run_cell(found.marks[row["run_id"]]), numbers.fixed(row["offline_value"], shown)]
        for row in records(found.rows)
    ]
    widgets.table([TableColumn("Run"), TableColumn(found.where, number=True)], rows)
    st.caption(_why_no_difference(found))


def _why_no_difference(found: OfflineOnlinePage) -> str:
    if found.test.control not in found.test.links:
        return "The control is linked to no run, so nothing is settled offline. Link it on the Runs page."
    where, base = markdown(found.where), markdown(found.base)
    return f"{where} has no paired difference to {base}, so nothing is settled offline."


def online_side(found: OfflineOnlinePage) -> Side:
    return replace(ONLINE, judged=not found.broken_split)


def axis_titles(found: OfflineOnlinePage) -> tuple[str, str]:
    return f"Offline: difference in {found.where} to {found.base}", f"Online: lift in {found.online_title}, %"


def scatter_title(found: OfflineOnlinePage) -> tuple[str, str]:
    """The runs that disagree, by name."""
    odd = found.rows[found.rows["quadrant"].isin(DISAGREE)]
    pairs = [f"{run} {quadrant}" for run, quadrant in zip(odd["run"], odd["quadrant"], strict=True)]
    none = "Nothing is judged" if found.broken_split else "No settled disagreement"
    heading = "; ".join(pairs[:2]) if pairs else none
    crosses = "Crosses: 95 % intervals; a hollow mark is not settled on a side"
    return heading, f"Offline difference against online lift. {crosses}"


def reading(found: OfflineOnlinePage) -> None:
    """How the sides agree, run by run."""
    widgets.section("Reading")
    sentences = join([html("<p>{text}</p>", text=text) for text in found.rows["sentence"]])
    rows = [_reading_row(found, row) for row in records(found.rows)]
    widgets.table([TableColumn("Run"), TableColumn("Off"), TableColumn("On"), TableColumn("Reading")], rows)
    st.html(html('<div class="rd-note">{sentences}</div>', sentences=sentences))


def _reading_row(found: OfflineOnlinePage, row: Row) -> list[object]:
    online = glyph(row["online_low"], row["online_high"])
    sides = (glyph(row["offline_low"], row["offline_high"]), numbers.NONE if found.broken_split else online)
    tones = {"▲": "better", "▼": "worse", "=": "same", numbers.NONE: "muted"}
    signs = [html('<span class="rd-{tone}">{sign}</span>', tone=tones[sign], sign=sign) for sign in sides]
    return [run_cell(found.marks[row["run_id"]]), *signs, in_words(row["quadrant"])]


def in_words(quadrant: str) -> str:
    return WORDS.get(quadrant, quadrant)


def results_table(found: OfflineOnlinePage) -> None:
    """Every metric and variant of the test: value, lift, interval, n."""
    widgets.section(
        "All online metrics of this test",
        f"Lift over {_called_control(found.test.control)}, 95 % intervals, corrected together for the goals. "
        "More on A/B results.",
    )
    columns = [
        TableColumn("Metric"),
        TableColumn("Variant"),
        TableColumn("Run"),
        TableColumn("Value", number=True),
        TableColumn("Unit"),
        TableColumn("Lift", number=True),
        TableColumn("95 % CI", number=True),
        TableColumn("Finding"),
        TableColumn("n", number=True),
    ]
    rows = records(found.results)
    bands = [place for place, row in enumerate(rows) if row["is_control"]]
    widgets.table(columns, [_result_row(found, row) for row in rows], bands=bands)


def _result_row(found: OfflineOnlinePage, row: Row) -> list[object]:
    look = found.marks.get(row["run_id"]) if isinstance(row["run_id"], str) else None
    low, high = map(_percent, judged_by(row))
    decimals = numbers.places([low, high])
    return [
        row["title"],
        row["variant"],
        run_cell(look) if look else html('<span class="rd-muted" title="not linked to a run">–</span>'),
        *value_and_unit(row["value"], row["unit"]),
        *_lift_cells(row, low, high, decimals, judged=not found.broken_split),
        numbers.count(row["n_users"]),
    ]


def _lift_cells(row: Row, low: float, high: float, decimals: int, *, judged: bool) -> list[object]:
    if row["is_control"]:
        return [html('<span class="rd-muted">control</span>'), numbers.NONE, ""]
    lift = numbers.signed(_percent(row["lift"]), decimals)
    unit = " %" if lift != numbers.NONE else ""
    return [f"{lift}{unit}", numbers.interval(low, high, decimals), _verdict(row, low, high, judged=judged)]


def _verdict(row: Row, low: float, high: float, *, judged: bool) -> Html:
    """As A/B results says it; tests of before it did are judged by their intervals."""
    if judged and is_number(low):
        return finding_cell(row["word"] or finding_of(low, high), glyph(low, high))
    return html('<span class="rd-muted">{text}</span>', text=numbers.NONE if judged else "not judged")


def _percent(fraction: float | None) -> float:
    return 100 * fraction if fraction is not None else float("nan")


def alt(found: OfflineOnlinePage, side: str) -> str:
    """Alternative text of one of the three charts."""
    rows = records(found.rows)
    if side == "quadrant":
        return listed([f"{row['run']} {in_words(row['quadrant'])}" for row in rows]) + "."
    value, unit = ("offline_delta", "") if side == "offline" else ("lift_percent", " %")
    return (
        f"{side.capitalize()}: "
        + listed([f"{row['run']} {numbers.three(row[value])}{unit}" for row in rows])
        + "."
    )


def tidy(found: OfflineOnlinePage) -> pd.DataFrame:
    names = [
        "variant", "run", "offline_value", "offline_delta", "offline_low", "offline_high", "online_value",
        "online_lift", "online_low", "online_high", "quadrant",
    ]  # fmt: skip
    return found.rows[names]
