"""Shows an A/B test with the offline scores of the runs that it served."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.offline_online import MOST_LABELS, Side
from recdash.domain.records import OnlineTest
from recdash.formatting import numbers, tables
from recdash.formatting.html import Html, html, markdown
from recdash.formatting.numbers import is_number
from recdash.formatting.records import Row, records
from recdash.formatting.tables import (
    Cell,
    Number,
    RunName,
    Word,
    aligned,
    number_columns,
    text_columns,
)
from recdash.formatting.wording import CORRECTIONS, capital, count_range, listed, many
from recdash.formatting.wording import finding as by_interval
from recdash.metrics import define
from recdash.metrics.naming import metric_at
from recdash.online.agreement.agreement import AGREE, DISAGREE
from recdash.online.agreement.join import (
    BLOCKED,
    SPLIT_BROKEN,
    SRM_BLOCKS,
    judged_by,
    lower_is_better,
    outcome,
    split_counts,
)
from recdash.report.sections.online import DIRECTION, NOT_JUDGED, adjusted_lifts, headline_of_sides, lift_row
from recdash.ui.app import links
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.chart_key import key_below
from recdash.ui.components.offline_online import PERCENT, OfflineOnline, control_name, no_link

if TYPE_CHECKING:
    import pandas as pd

OFFLINE = Side("offline_delta", "offline_low", "offline_high")
MOST_UNTESTED = 3
LONGEST_BASE = 16
"""The number of characters of the control's name for which the axis has room on a phone."""
SCATTER = f"95 % CIs, {CORRECTIONS['holm']}-corrected offline and over goals. Hollow: inconclusive."
ONLINE = Side("lift_percent", "lift_percent_low", "lift_percent_high", unit=" %", own_decimals=True)


def show_broken_split(test: OnlineTest) -> None:
    """Shows an error for a sample ratio mismatch, in which case no number on the page can be trusted."""
    for notice in test.notices:
        if notice.code == SPLIT_BROKEN:
            st.error(f"**{SRM_BLOCKS}** {markdown(split_counts(notice))}")


def show_notices(view: View, test: OnlineTest) -> None:
    """Shows the test's other notice, or how many it has, with a link to the page that lists them.

    That columns were read by their names says nothing about the result, so alone it is not shown.
    """
    others = [notice for notice in test.notices if notice.code != SPLIT_BROKEN]
    if all(notice.code == "columns-guessed" for notice in others):
        return
    page = links.link(view, "Results", "ab-results", {"t": test.id})
    text = others[0].found if len(others) == 1 else f"this test has {many(len(others), 'notice')}"
    st.html(html('<p class="rd-quiet">{text}: see {page}.</p>', text=capital(text).rstrip("."), page=page))


def compared(sides: OfflineOnline) -> list[str]:
    """Returns the ids of the runs whose offline values are compared, the control's first."""
    control = sides.test.links.get(sides.test.control)
    return [run_id for run_id in (control, *sides.rows["run_id"]) if run_id]


def without_links(view: View, sides: OfflineOnline) -> None:
    """Shows the test's own results, for a test without a variant that is linked to a run."""
    no_link(view, sides.test)
    results_table(view, sides)


def finding(sides: OfflineOnline) -> str:
    """Returns the headline: see ``headline_of_sides``; for a single candidate with the same result on both
    sides, that result.
    """
    if sides.rows.empty:
        return f"{sides.test.name}: {sides.online_title}"
    rows = records(sides.rows)
    if len(rows) == 1 and rows[0]["quadrant"] in AGREE:
        return f"{rows[0]['run']} {outcome(rows[0]).replace('both', 'offline and online', 1)}"
    return headline_of_sides(sides.rows)


def subtitle(view: View, test: OnlineTest, online: str) -> str:
    """Returns the line below the title. ``online`` is the title of the online metric."""
    return (
        f"{test.name} · {metric_at(view.metric, view.k)} offline, {online.lower()} online. "
        "Filled: significant. Hollow: inconclusive."
    )


def in_percent(sides: OfflineOnline) -> pd.DataFrame:
    """Returns the rows with online lifts in %, as on the axis of the scatter chart."""
    return sides.rows.assign(**{old: sides.rows[new] for old, new in PERCENT.items()})


def offline_title(sides: OfflineOnline) -> tuple[str, str]:
    direction = DIRECTION if sides.offline_lower_is_better else ""
    title = f"Offline: {sides.where}{direction}"
    if not sides.has_differences:
        return title, "Values"
    return title, f"Change vs {sides.base}, 95 % CI, paired over users"


def online_title(sides: OfflineOnline) -> tuple[str, str]:
    direction = DIRECTION if sides.lower_is_better else ""
    return f"Online: {sides.online_title}{direction}", f"Lift over {sides.base}, %, 95 % CI, {_users(sides)}"


def _users(sides: OfflineOnline) -> str:
    counts = sides.results.loc[sides.results["metric"] == sides.online_metric, "n_users"]
    return f"n = {count_range(map(int, counts))} per variant"


def offline_values(sides: OfflineOnline) -> None:
    """Shows the offline values of the runs, for a metric or control without paired differences."""
    values = aligned(sides.rows["offline_value"])
    rows = zip(map(RunName, sides.rows["run_id"]), values, strict=True)
    widgets.table([*text_columns("Run"), *number_columns(sides.where)], rows, sides.marks)
    if sides.test.control in sides.test.links:
        where, base = markdown(sides.where), markdown(sides.base)
        st.caption(f"{where} has no paired difference to {base}: inconclusive offline.")
    else:
        st.caption("The control is not linked to a run: inconclusive offline. Link it on the Runs page.")


def offline_side(sides: OfflineOnline) -> Side:
    return replace(OFFLINE, lower_is_better=sides.offline_lower_is_better)


def online_side(sides: OfflineOnline) -> Side:
    return replace(ONLINE, judged=not sides.broken_split, lower_is_better=sides.lower_is_better)


def scatter_title(sides: OfflineOnline) -> tuple[str, str]:
    """Returns the title of the scatter chart and its caption."""
    return "No metric is judged (SRM)" if sides.broken_split else "Offline against online", SCATTER


def key_of_scatter(sides: OfflineOnline) -> str:
    """Returns the key of the scatter chart, which says whether a narrow page shows the names inside it."""
    return "quadrants-many" if len(sides.rows) > MOST_LABELS else "quadrants"


def names_below(sides: OfflineOnline) -> None:
    """Writes the marks and names of many runs, which only narrow pages show."""
    if len(sides.rows) > MOST_LABELS:
        st.html(key_below(sides.marks, "", [(run_id, "") for run_id in sides.rows["run_id"]], "rd-points"))


def reading(view: View, sides: OfflineOnline) -> None:
    """Shows for each run whether it won or lost offline and online, with links to the reasons of
    disagreements.
    """
    widgets.section("Run by run")
    rows: list[list[Cell]] = []
    for row in records(sides.rows):
        offline = _sign(
            row["offline_low"], row["offline_high"], lower_is_better=sides.offline_lower_is_better
        )
        online = _sign(row["online_low"], row["online_high"], lower_is_better=sides.lower_is_better)
        judged = tables.muted(numbers.NONE) if sides.broken_split else online
        rows.append([RunName(row["run_id"]), offline, judged, in_words(row)])
    columns = text_columns("Run", "Offline", "Online", "Result")
    st.html(widgets.table_html(columns, rows, sides.marks, kind="rd-wrapped"))
    if without := untested(view, sides.test):
        st.html(html('<p class="rd-quiet">{text}</p>', text=without))
    odd = [row for row in records(sides.rows) if row["quadrant"] in DISAGREE]
    ways = [_why(view, sides, row) for row in odd] if define(view.metric).has_user_values else []
    if ways:
        widgets.note(ways)


def _sign(low: float, high: float, *, lower_is_better: bool = False) -> Word:
    """Returns the sign of an interval's finding alone, for a narrow column."""
    return replace(tables.finding(by_interval(low, high, lower_is_better=lower_is_better)), word="")


def untested(view: View, test: OnlineTest) -> str:
    """Returns a sentence that names the candidates in view that no variant of the test served; empty if there
    are none.
    """
    served = set(test.links.values())
    names = [view.name(run_id) for run_id in view.candidate_ids if run_id not in served]
    return f"Not in this A/B test: {listed(names, MOST_UNTESTED)}." if names else ""


def _why(view: View, sides: OfflineOnline, row: Row) -> Html:
    """Returns a link to the page Why for this variant."""
    chosen = {"t": sides.test.id, "om": sides.online_metric, "v": row["variant"]}
    return links.link(view, f"Why {row['run']} {row['quadrant']} →", "why", chosen)


def in_words(row: Row) -> str:
    """Returns how offline and online agree for a run, and what else it lost online."""
    if row["quadrant"] == BLOCKED:
        return NOT_JUDGED
    return outcome(row)


def results_table(view: View, sides: OfflineOnline) -> None:
    """Shows a table with value, lift, interval and n of every metric and variant of the test."""
    widgets.section(
        "All online metrics of this test",
        f"Lift over {control_name(sides.test.control)}, 95 % CI; goals are {CORRECTIONS['holm']}-corrected.",
        links.explained(view, "interval", "intervals and corrections"),
    )
    values = number_columns("Value", "Lift", "95 % CI")
    columns = (
        *text_columns("Metric", "Variant", "Run"),
        *values,
        *text_columns("Finding"),
        *number_columns("n"),
    )
    rows = records(sides.results)
    st.html(widgets.stacked_table_html(columns, [_result_row(sides, row) for row in rows], sides.marks))
    if text := adjusted_lifts(rows):
        widgets.note([text])


def _result_row(sides: OfflineOnline, row: Row) -> list[Cell]:
    title, variant, *values, word, n_users = lift_row(row, judged=not sides.broken_split)
    low, high = judged_by(row)
    if is_number(low) and is_number(high) and not (row["word"] or row["is_control"] or sides.broken_split):
        lower = lower_is_better(row)
        word = tables.finding(by_interval(low, high, lower_is_better=lower))  # an older release stored none
    if row["is_control"]:  # it has no lift over itself
        values[1:] = ["", ""]
    run = RunName(row["run_id"]) if row["run_id"] in sides.marks else Number(None, why="not linked to a run")
    return [title, variant, run, *values, word, n_users]


def alt(sides: OfflineOnline, side: str) -> str:
    """Returns the alternative text of one of the three charts."""
    rows = records(sides.rows)
    if side == "quadrant":
        return listed([f"{row['run']} {in_words(row)}" for row in rows]) + "."
    value, unit = ("offline_delta", "") if side == "offline" else ("lift_percent", " %")
    values = listed([f"{row['run']} {numbers.three(row[value])}{unit}" for row in rows])
    return f"{side.capitalize()}: {values}."


def tidy(sides: OfflineOnline) -> pd.DataFrame:
    names = [
        "variant", "run", "offline_value", "offline_delta", "offline_low", "offline_high", "online_value",
        "online_lift", "online_low", "online_high", "quadrant",
    ]  # fmt: skip
    return sides.rows[names]
