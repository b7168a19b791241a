"""What the Users page says of all users: who gains, who loses, and how unevenly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.user_changes import better_same_worse, distribution
from recdash.comparison import headlines
from recdash.formatting import numbers
from recdash.formatting.html import markdown
from recdash.formatting.records import Row, records
from recdash.formatting.wording import listed
from recdash.metrics import define
from recdash.metrics.naming import metric_at
from recdash.ui.app import cached, state, theme
from recdash.ui.app.state import View
from recdash.ui.components import widgets

if TYPE_CHECKING:
    import pandas as pd

PARAMETER = "of"
"""The candidate whose users are looked at, in the link."""


@dataclass(frozen=True)
class Gains:
    """The candidates against the baseline, and the one of them whose users are looked at."""

    changes: pd.DataFrame
    run_id: str

    @cached_property
    def row(self) -> Row:
        return next(row for row in records(self.changes) if row["run_id"] == self.run_id)


def has_values(view: View) -> bool:
    """Whether the primary metric has a value per user; where it has none, the page says so."""
    if define(view.metric).has_user_values:
        return True
    widgets.empty(
        f"{metric_at(view.metric, view.k)} has no value per user",
        "It is a number of all lists together. Choose an accuracy metric such as nDCG or Recall above to see "
        "who gains and who loses.",
    )
    return False


def gather(view: View) -> Gains | None:
    """The candidates' gains; None where none shares a user with the baseline."""
    if view.baseline is None or not view.candidates:
        return None
    changes = cached.user_changes(view)
    return None if changes.empty else Gains(changes, _chosen(view, list(changes["run_id"])))


def _chosen(view: View, run_ids: list[str]) -> str:
    """The candidate in the link; by default the best by the metric, a reference only where no other is."""
    known = headlines.values(cached.scoreboard(view, tuple(run_ids), (view.metric,), view.k), view.metric)
    order = sorted((run for run in known if run in run_ids), key=view.is_reference)
    return state.option(PARAMETER, order[0] if order else run_ids[0], run_ids)


def _choose_candidate(view: View, gains: Gains) -> None:
    """The candidate of the select box, which is drawn only where there is a choice; kept in the URL."""
    names = {run: view.name(run) for run in gains.changes["run_id"]}
    state.write(PARAMETER, gains.run_id)
    if len(names) > 1:
        label, key = "Candidate to look at", "users-candidate"
        widgets.select(label, PARAMETER, names, gains.run_id, key, widgets.BOX)


# ── in words ─────────────────────────────────────────────────────────────────────────────────


def finding(view: View, gains: Gains) -> str:
    """``ALS v3 is better for 41 of 100 users, worse for 30``; counted in users where they are few."""
    row, name = gains.row, view.name(gains.run_id)
    n = row["n_users"]
    if row["same"] == n:
        return f"{name} changes nothing for any user"
    if n < 100:
        return f"{name} is better for {row['better']} of {numbers.users(n)}, worse for {row['worse']}"
    better, worse = (numbers.of_100(row[word], n) for word in ("better", "worse"))
    return f"{name} is better for {better} of 100 users, worse for {worse}"


def subtitle(view: View, gains: Gains) -> str:
    metric, n = metric_at(view.metric, view.k), numbers.users(gains.row["n_users"])
    change = f"Per-user {metric} against {view.base_name}, {n}."
    return f"{change} {concentration(gains)}{_pooled(view)}"


def concentration(gains: Gains) -> str:
    """How few users have half of what all who gain gain together."""
    row = gains.row
    if not row["better"]:
        return "Nobody gains."
    half, n = row["half_gain"], numbers.count(row["n_users"])
    verb = "carries" if half == 1 else "carry"
    return (
        f"{numbers.count(half)} of {n} users {verb} half of the gain, "
        "which is the sum of all differences above zero."
    )


def _pooled(view: View) -> str:
    formula = define(view.metric).formula()
    return " The metric pools users; here each user's own value counts." if formula.pooled else ""


# ── charts ───────────────────────────────────────────────────────────────────────────────────


def show_charts(view: View, gains: Gains) -> None:
    left, right = st.columns([1.45, 1], gap="large")
    with left:
        _show_split(view, gains)
        _choose_candidate(view, gains)
    with right:
        _show_distribution(view, gains)
    absent = [view.name(run) for run in view.candidate_ids if run not in set(gains.changes["run_id"])]
    if absent:
        why = f"without this metric or without a user in common with {markdown(view.base_name)}"
        st.caption(f"Not drawn: {markdown(listed(absent))}, {why}.")


def _show_split(view: View, gains: Gains) -> None:
    how = "from left to right. Ordered as in the frame."
    widgets.section("Better, same, worse", f"Of 100 users, against {view.base_name}; {how}")
    rows = records(gains.changes)
    alt = "; ".join(
        f"{row['run']}: better for {numbers.count(row['better'])}, same for {numbers.count(row['same'])}, "
        f"worse for {numbers.count(row['worse'])} of {numbers.users(row['n_users'])}"
        for row in rows
    )
    figure = better_same_worse(gains.changes, view.marks, theme.palette())
    widgets.chart(figure, "users-split", f"{alt}.")


def _show_distribution(view: View, gains: Gains) -> None:
    row = gains.row
    bars = cached.change_bars(view, gains.run_id)
    heading = "No user changes"
    if len(bars.count):
        heading = f"Half of all changes are larger than {numbers.three(row['typical'])} either way"
    unchanged = f"{numbers.users(row['same'])} without a change not drawn."
    widgets.section(heading, f"{view.name(gains.run_id)} minus {view.base_name}, per user; {unchanged}")
    title = f"Change in {metric_at(view.metric, view.k)} (height: users)"
    alt = f"Distribution of the changes. {finding(view, gains)}. {heading}."
    widgets.chart(distribution(bars, theme.palette(), title), "users-distribution", alt)


# ── one run alone ────────────────────────────────────────────────────────────────────────────


def show_alone(view: View) -> str:
    """The users of one run by their values, where there is no other to compare with; → its id."""
    run_id = view.shown_ids[0]
    bars, without, n = cached.value_bars(view, run_id)
    name, title = view.name(run_id), metric_at(view.metric, view.k)
    hint = "Add a second run, or choose candidates under Change runs, to see who gains and who loses."
    if not n:
        widgets.title(f"{name} has no {title} of single users", hint)
        return run_id
    widgets.title(f"{name} has {title} above zero for {_share(n - without, n)}", hint)
    not_drawn = f"{numbers.users(without)} at zero not drawn."
    widgets.section("Users by their value", f"{title} of {numbers.users(n)}; {not_drawn}")
    alt = f"Distribution of {title}: {numbers.users(without)} of {numbers.count(n)} have zero."
    figure = distribution(bars, theme.palette(), f"{title} (height: users)", signed=False)
    widgets.chart(figure, "users-values", alt)
    return run_id


def _share(count: int, n: int) -> str:
    return f"{count} of {numbers.users(n)}" if n < 100 else f"{numbers.of_100(count, n)} of 100 users"
