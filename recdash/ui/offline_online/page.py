"""What the offline-vs-online page shows: one A/B test beside the offline scores of the runs it served."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.marks import Marks, marks
from recdash.charts.offline_online import Side
from recdash.comparison import headlines
from recdash.domain.records import OnlineTest
from recdash.formatting import numbers, tables
from recdash.formatting.html import html, markdown
from recdash.formatting.numbers import glyph, is_number
from recdash.formatting.records import Row, records
from recdash.formatting.tables import (
    Cell,
    Number,
    RunName,
    Tone,
    Word,
    aligned,
    number_columns,
    text_columns,
)
from recdash.formatting.wording import count_range, listed
from recdash.formatting.wording import finding as by_interval
from recdash.metrics.naming import metric_at
from recdash.online.agreement.join import BLOCKED, SPLIT_BROKEN, judged_by, split_is_broken
from recdash.report.reports import telling_metric
from recdash.report.sections.online import NOT_JUDGED, QUADRANTS, disagreements, lift_row
from recdash.ui.app import links, state, theme
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.online_tests import choose_test, online_metrics

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
        return split_is_broken(self.test.notices)

    @property
    def has_differences(self) -> bool:
        """False for an offline metric without a value per user, and where no run shares a user."""
        return any(is_number(row["offline_delta"]) for row in records(self.rows))

    @property
    def online_title(self) -> str:
        return str(self.results.loc[self.results["metric"] == self.online_metric, "title"].iloc[0])


def no_test() -> None:
    widgets.empty(
        "No online test yet",
        "Upload the sessions or the aggregates of an A/B test, and name the run that each variant served: "
        "offline and online results then stand side by side.",
    )
    links.offer("Upload an online test", "upload")


def no_link(sides: OfflineOnlinePage) -> None:
    """The test's own results still show."""
    st.info("No variant of this test is linked to a run. Link the variants on the Runs page to compare.")
    results_table(sides)


def choose(view: View, tests: list[OnlineTest]) -> tuple[OnlineTest, str]:
    """The test and its metric, both kept in the URL. The page opens on one that disagrees, if any does."""
    left, right = st.columns([1, 2.4], gap="small")
    with left:
        test = choose_test(tests)
    titles = online_metrics(test.id)
    with right:
        links.tell_unknown("om", "online metric", titles)
        telling = telling_metric(state.workspace(), test, view.metric, view.k)
        metric = widgets.choice("Online metric", "om", titles, telling)
    return test, metric


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
    base = known[control].name if control in known else _control_name(test.control)
    return OfflineOnlinePage(test, online_metric, rows, results, looks, base, metric_at(view.metric, view.k))


def _control_name(variant: str) -> str:
    """Where its run cannot be named."""
    return f"the {CONTROL}" if variant.casefold() == CONTROL else f"the {CONTROL} ({variant})"


def compared(sides: OfflineOnlinePage) -> list[str]:
    """The runs whose offline values stand side by side: the control's first."""
    control = sides.test.links.get(sides.test.control)
    return [run_id for run_id in (control, *sides.rows["run_id"]) if run_id]


def finding(sides: OfflineOnlinePage) -> str:
    if sides.rows.empty:
        return f"{sides.test.name}: {sides.online_title}"
    return headlines.agreement(list(sides.rows["quadrant"]))


def subtitle(view: View, test: OnlineTest) -> str:
    return (
        f"{test.name}, {test.created:%-d %b %Y}. A run keeps its place and colour on both sides; "
        f"filled bars exclude zero, hollow ones are not settled. Offline: {metric_at(view.metric, view.k)}."
    )


def in_percent(sides: OfflineOnlinePage) -> pd.DataFrame:
    """The rows with online lifts in %, as the scatter's axis says."""
    return sides.rows.assign(**{old: sides.rows[new] for old, new in PERCENT.items()})


def offline_title(sides: OfflineOnlinePage) -> tuple[str, str]:
    if not sides.has_differences:
        return f"Offline: {sides.where}", "Values"
    return f"Offline: {sides.where}", f"Difference to {sides.base}, 95 % CI, paired over users"


def online_title(sides: OfflineOnlinePage) -> tuple[str, str]:
    return f"Online: {sides.online_title}", f"Lift over {sides.base}, %, 95 % CI, {_users(sides)}"


def _users(sides: OfflineOnlinePage) -> str:
    counts = sides.results.loc[sides.results["metric"] == sides.online_metric, "n_users"]
    return f"n = {count_range(map(int, counts))} per variant"


def offline_values(sides: OfflineOnlinePage) -> None:
    """In place of bars: the runs' offline values, where there are no paired differences."""
    values = aligned(sides.rows["offline_value"])
    rows = zip(map(RunName, sides.rows["run_id"]), values, strict=True)
    widgets.table([*text_columns("Run"), *number_columns(sides.where)], rows, sides.marks)
    if sides.test.control in sides.test.links:
        where, base = markdown(sides.where), markdown(sides.base)
        st.caption(f"{where} has no paired difference to {base}, so nothing is settled offline.")
    else:
        st.caption(
            "The control is linked to no run, so nothing is settled offline. Link it on the Runs page."
        )


def online_side(sides: OfflineOnlinePage) -> Side:
    return replace(ONLINE, judged=not sides.broken_split)


def scatter_title(sides: OfflineOnlinePage) -> tuple[str, str]:
    """The runs that disagree, by name."""
    return disagreements(sides.rows, judged=not sides.broken_split), QUADRANTS


def reading(sides: OfflineOnlinePage) -> None:
    """How the sides agree, run by run."""
    widgets.section("Reading")
    tones: dict[str, Tone] = {"▲": "better", "▼": "worse", "=": "same", numbers.NONE: "muted"}
    rows: list[list[Cell]] = []
    for row in records(sides.rows):
        online = numbers.NONE if sides.broken_split else glyph(row["online_low"], row["online_high"])
        offline = glyph(row["offline_low"], row["offline_high"])
        signs = [Word(sign, "", tones[sign]) for sign in (offline, online)]
        rows.append([RunName(row["run_id"]), *signs, in_words(row["quadrant"])])
    widgets.table(text_columns("Run", "Off", "On", "Reading"), rows, sides.marks)
    widgets.note(sides.rows["sentence"])


def in_words(quadrant: str) -> str:
    return NOT_JUDGED if quadrant == BLOCKED else quadrant


def results_table(sides: OfflineOnlinePage) -> None:
    """Every metric and variant of the test: value, lift, interval, n."""
    widgets.section(
        "All online metrics of this test",
        f"Lift over {_control_name(sides.test.control)}, 95 % intervals, corrected together for the goals. "
        "More on A/B results.",
    )
    values = number_columns("Value", "Lift", "95 % CI")
    columns = (
        *text_columns("Metric", "Variant", "Run"),
        *values,
        *text_columns("Finding"),
        *number_columns("n"),
    )
    rows = records(sides.results)
    bands = [index for index, row in enumerate(rows) if row["is_control"]]
    widgets.table(columns, [_result_row(sides, row) for row in rows], sides.marks, bands=bands)


def _result_row(sides: OfflineOnlinePage, row: Row) -> list[Cell]:
    title, variant, *values, word, n_users = lift_row(row, judged=not sides.broken_split)
    low, high = judged_by(row)
    if is_number(low) and is_number(high) and not (row["word"] or row["is_control"] or sides.broken_split):
        word = tables.finding(by_interval(low, high), glyph(low, high))  # stored before results had words
    run = RunName(row["run_id"]) if row["run_id"] in sides.marks else Number(None, why="not linked to a run")
    return [title, variant, run, *values, word, n_users]


def alt(sides: OfflineOnlinePage, side: str) -> str:
    """Alternative text of one of the three charts."""
    rows = records(sides.rows)
    if side == "quadrant":
        return listed([f"{row['run']} {in_words(row['quadrant'])}" for row in rows]) + "."
    value, unit = ("offline_delta", "") if side == "offline" else ("lift_percent", " %")
    values = listed([f"{row['run']} {numbers.three(row[value])}{unit}" for row in rows])
    return f"{side.capitalize()}: {values}."


def tidy(sides: OfflineOnlinePage) -> pd.DataFrame:
    names = [
        "variant", "run", "offline_value", "offline_delta", "offline_low", "offline_high", "online_value",
        "online_lift", "online_low", "online_high", "quadrant",
    ]  # fmt: skip
    return sides.rows[names]
