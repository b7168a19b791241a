"""What the page Users says about all users: how many gain, how many lose, and how unevenly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.user_changes import better_same_worse, distribution
from recdash.comparison import headlines
from recdash.comparison.wording import user_split
from recdash.formatting import numbers
from recdash.formatting.html import markdown
from recdash.formatting.records import Row, records
from recdash.formatting.wording import listed
from recdash.metrics import define
from recdash.metrics.naming import metric_at
from recdash.ui.app import cached, state, theme
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.page_subject import candidate_in_question

if TYPE_CHECKING:
    import pandas as pd

PARAMETER = "of"
"""The URL parameter with the candidate whose users are shown."""


@dataclass(frozen=True)
class Gains:
    """The candidates compared with the baseline user by user, and the candidate whose users are shown."""

    changes: pd.DataFrame
    run_id: str

    @cached_property
    def row(self) -> Row:
        return next(row for row in records(self.changes) if row["run_id"] == self.run_id)


def has_values(view: View) -> bool:
    """Returns whether the primary metric has a value per user; if not, says so on the page."""
    if define(view.metric).has_user_values:
        return True
    widgets.empty(
        f"{metric_at(view.metric, view.k)} is a catalogue-level metric",
        "It has no value per user. Choose an accuracy metric such as nDCG or Recall to see which users gain.",
    )
    return False


def gather(view: View) -> Gains | None:
    """Returns the candidates' gains; None if no candidate shares a user with the baseline."""
    if view.baseline is None or not view.candidates:
        return None
    changes = cached.user_changes(view)
    return None if changes.empty else Gains(changes, _chosen(view, list(changes["run_id"])))


def _chosen(view: View, run_ids: list[str]) -> str:
    """Returns the candidate in the link, by default the decided or recommended one, else the best that is not
    a reference candidate, if there is one.
    """
    if state.params().get(PARAMETER) not in run_ids and (run_id := candidate_in_question(view, run_ids)):
        return run_id
    known = headlines.values(cached.scoreboard(view, tuple(run_ids), (view.metric,), view.k), view.metric)
    order = sorted((run for run in known if run in run_ids), key=view.is_reference)
    return state.option(PARAMETER, order[0] if order else run_ids[0], run_ids)


def _choose_candidate(view: View, gains: Gains) -> None:
    """Draws the choice of a candidate if there are several; the URL keeps it."""
    names = {run: view.short(run) for run in gains.changes["run_id"]}
    state.write(PARAMETER, gains.run_id)
    if len(names) > 1:
        label, key = "Candidate", "users-candidate"
        widgets.select(label, PARAMETER, names, gains.run_id, key, widgets.BOX)


# ── in words ─────────────────────────────────────────────────────────────────────────────────


def finding(view: View, gains: Gains) -> str:
    """Returns the headline, such as ``ALS v3 improves results for 41 % of users, worsens them for 30 %``.

    For fewer than 100 users it gives numbers rather than shares.
    """
    row, name = gains.row, view.short(gains.run_id)
    n = row["n_users"]
    if row["same"] == n:
        return f"{name} changes no user's results"
    if n < 100:
        better = f"{row['better']} of {numbers.users(n)}"
        return f"{name} improves results for {better}, worsens them for {row['worse']}"
    _, (gain, _, lose) = user_split(row["better"], row["same"], row["worse"])
    return f"{name} improves results for {gain.share} % of users, worsens them for {lose.share} %"


def subtitle(view: View, gains: Gains) -> str:
    metric, n = metric_at(view.metric, view.k), numbers.users(gains.row["n_users"])
    change = f"{metric} per user vs {view.short(view.shown[0].id)}, {n}."
    return f"{change} {concentration(gains)}{_pooled(view)}"


def concentration(gains: Gains) -> str:
    """Returns from how few users half of the total gain comes; the gain is the sum of all positive
    differences.
    """
    row = gains.row
    if not row["better"]:
        return "No user gains."
    half, n = row["half_gain"], row["n_users"]
    users = f"{numbers.of_100(half, n)} % of users" if n >= 100 else f"{half} of {numbers.users(n)}"
    return f"Half of all gains come from {users}."


def _pooled(view: View) -> str:
    formula = define(view.metric).formula()
    return " Each user's own value counts." if formula.pooled else ""


# ── charts ───────────────────────────────────────────────────────────────────────────────────


def show_charts(view: View, gains: Gains) -> None:
    left, right = st.columns([1.45, 1], gap="large")
    with left:
        _show_split(view, gains)
        _choose_candidate(view, gains)
    with right:
        _show_distribution(view, gains)
    absent = [view.short(run) for run in view.candidate_ids if run not in set(gains.changes["run_id"])]
    if absent:
        why = "no value of this metric, or no shared users"
        st.caption(f"Not shown: {markdown(listed(absent))} ({why}).")


def _show_split(view: View, gains: Gains) -> None:
    widgets.section("Better, same, worse", f"% of users, vs {view.short(view.shown[0].id)}")
    rows = records(gains.changes)
    alt = "; ".join(
        f"{row['run']}: better for {numbers.count(row['better'])}, same for {numbers.count(row['same'])}, "
        f"worse for {numbers.count(row['worse'])} of {numbers.users(row['n_users'])}"
        for row in rows
    )
    figure = better_same_worse(gains.changes, view.marks, theme.palette())
    widgets.chart(figure, "users-split", f"{alt}.", narrowest=300)


def _show_distribution(view: View, gains: Gains) -> None:
    row = gains.row
    bars = cached.change_bars(view, gains.run_id)
    heading = "No user's results change"
    if len(bars.count):
        heading = f"Where results change, the typical change is ±{numbers.three(row['typical'])}"
    names = f"{view.short(gains.run_id)} vs {view.short(view.shown[0].id)}"
    widgets.section(
        heading, f"{names}. Median size of a change; {numbers.users(row['same'])} unchanged, not shown."
    )
    title = f"Change in {metric_at(view.metric, view.k)}"
    alt = f"Distribution of the changes. {finding(view, gains)}. {heading}."
    widgets.chart(distribution(bars, theme.palette(), title), "users-distribution", alt)


# ── a single run ─────────────────────────────────────────────────────────────────────────────


def show_alone(view: View) -> str:
    """Draws the distribution of a single run's values, and returns the run's id."""
    run_id = view.shown_ids[0]
    bars, without, n = cached.value_bars(view, run_id)
    name, title = view.short(run_id), metric_at(view.metric, view.k)
    hint = "Add or choose a second run to see which users gain and which lose."
    if not n:
        widgets.title(f"{name} has no {title} per user", hint)
        return run_id
    widgets.title(f"{name} has {title} above zero for {_share(n - without, n)}", hint)
    widgets.section(
        "Users by value", f"{title} of {numbers.users(n)}; {numbers.users(without)} at zero, not shown."
    )
    alt = f"Distribution of {title}: {numbers.users(without)} of {numbers.count(n)} have zero."
    figure = distribution(bars, theme.palette(), title, signed=False)
    widgets.chart(figure, "users-values", alt)
    return run_id


def _share(count: int, n: int) -> str:
    return f"{count} of {numbers.users(n)}" if n < 100 else f"{numbers.of_100(count, n)} % of users"
