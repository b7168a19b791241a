"""What the page Definitions shows: one run under every preset, why its values differ, and which users
count.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import streamlit as st

from recdash.definitions.conventions import (
    DEFAULT,
    EQUAL,
    POPULATION,
    TITLES,
    TOGETHER,
    difference_words,
    order_words,
    users_words,
    who_counts,
)
from recdash.definitions.population_counts import ledger_lines
from recdash.domain.records import Run
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join, markdown
from recdash.formatting.numbers import is_number
from recdash.formatting.records import Row, records
from recdash.formatting.tables import (
    Cell,
    Number,
    aligned,
    count,
    muted,
    number_columns,
    number_of,
    text_columns,
)
from recdash.formatting.wording import listed, named_number, possessive, unavailable
from recdash.metrics import METRICS
from recdash.metrics.agreement import WORDS, State
from recdash.metrics.naming import base, is_percent, metric_at
from recdash.ui.app import cached, state
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.widgets import table_html

if TYPE_CHECKING:
    import pandas as pd

    from recdash.metrics.ties import TieBand


@dataclass(frozen=True)
class PresetsOfRun:
    """A run and a metric, with two tables: its value under each preset, and the causes of the differences."""

    run: Run
    metric: str
    k: int
    presets: pd.DataFrame
    causes: pd.DataFrame

    @property
    def unit(self) -> str:
        return " %" if is_percent(self.metric) else ""

    @property
    def rows(self) -> list[Row]:
        """Returns a row per preset, with values in the unit of the page."""
        return [self._in_unit(row) for row in records(self.presets)]

    @property
    def default(self) -> Row:
        return next(row for row in self.rows if row["preset"] == DEFAULT)

    @property
    def others(self) -> list[Row]:
        return [row for row in self.rows if row["preset"] != DEFAULT]

    @property
    def relevant_in_all(self) -> str:
        """Returns which rows are relevant, in words, if all presets agree on it; else an empty text."""
        words = {row["relevant"] for row in self.rows}
        return str(words.pop()) if len(words) == 1 else ""

    @property
    def where(self) -> str:
        return metric_at(self.metric, self.k)

    @property
    def decimals(self) -> int:
        """Returns the number of decimals that give the default's value three significant digits.

        If that is 0 or missing, the largest value takes its part.
        """
        default = self.default["value"]
        return numbers.places([default] if default > 0 else (row["value"] for row in self.rows))

    def row(self, preset: str) -> Row:
        return next(row for row in self.rows if row["preset"] == preset)

    def causes_of(self, preset: str) -> list[Row]:
        return [self._in_unit(row) for row in records(self.causes) if row["preset"] == preset]

    def _in_unit(self, row: Row) -> Row:
        if not self.unit:
            return row
        return {**row, "value": 100 * row["value"], "difference": 100 * row["difference"]}


def choose_run(view: View) -> Run:
    """Draws the choice of a run and returns the chosen one, at first the best candidate."""
    known = {run.id: run for run in (*view.shown, *view.runs)}
    usual = (view.candidates or view.shown)[0]
    wanted = state.params().get("r", usual.id)
    if wanted not in known:
        st.warning(f"{unavailable('run', markdown(wanted), markdown(usual.name))}.")
    chosen, names = known.get(wanted, usual), {run.id: run.name for run in known.values()}
    widgets.select("Run", "r", names, chosen.id, "definitions-run", widgets.BOX)
    state.write("r", wanted)
    return chosen


def gather(view: View, run: Run) -> PresetsOfRun:
    """Returns the run scored under every preset, in the frame's metric without parameters, which each preset
    sets.
    """
    metric = base(view.metric)
    with st.spinner("Scoring the run under each preset; another order of the lists needs its file again"):
        presets = cached.under_presets(run.id, metric, view.k)
        causes = cached.preset_causes(run.id, metric, view.k)
    return PresetsOfRun(run, metric, view.k, presets, causes)


def choose_preset(by_preset: PresetsOfRun) -> str:
    """Draws the choice of the preset whose formula is shown, at first recdash's own, and returns it."""
    titles = {row["preset"]: row["title"] for row in by_preset.rows}
    value = state.option("p", DEFAULT, list(titles))
    return widgets.select("Preset", "p", titles, value, "definitions-preset", widgets.BOX)


NOT_THE_LIBRARYS: Collection[State] = ("different", "not offered")
"""States of a preset whose number is not what its library computes."""


def title(by_preset: PresetsOfRun) -> tuple[str, str]:
    """Returns the headline with the run's value by recdash's definition, and what such a value says."""
    value = by_preset.default["value"]
    of_run = f"{possessive(by_preset.run.name)} {by_preset.where}"
    says = (
        f"is {numbers.fixed(value, by_preset.decimals)}{by_preset.unit}"
        if is_number(value)
        else "has no value"
    )
    return f"{of_run} {says}", METRICS[by_preset.metric].plain


def finding(by_preset: PresetsOfRun) -> str:
    """Returns a headline on the range of the run's values across libraries, as far as recdash has the numbers
    that they compute.
    """
    own = [row for row in by_preset.rows if row["state"] not in NOT_THE_LIBRARYS]
    values = [row["value"] for row in own if is_number(row["value"])]
    if not values:
        return f"{by_preset.run.name} has no {by_preset.where} under any preset"
    ends = _distinct_ends(min(values), max(values), by_preset.decimals)
    low, high = (f"{end}{by_preset.unit}" for end in ends)
    value = f"{possessive(by_preset.run.name)} {by_preset.where}"
    if max(values) - min(values) <= EQUAL:
        return f"{value} is {low} in every library"
    if low == high:
        return f"{value} is {low} in every library, up to rounding"
    return f"{value} ranges from {low} to {high} across libraries"


def _distinct_ends(low: float, high: float, decimals: int) -> tuple[str, str]:
    """Returns both numbers as text with ``decimals``, or with as many more as are necessary to make them
    differ.
    """
    for places in range(decimals, numbers.MOST_DECIMALS + 1):
        if numbers.fixed(low, places) != numbers.fixed(high, places):
            return numbers.fixed(low, places), numbers.fixed(high, places)
    return numbers.fixed(low, decimals), numbers.fixed(high, decimals)


def subtitle(by_preset: PresetsOfRun) -> str:
    presets = named_number(len(by_preset.rows)).lower()
    different = [row["title"] for row in by_preset.rows if row["state"] == "different"]
    computes = "computes" if len(different) == 1 else "compute"
    left_out = (
        f" Not counted for the range: {listed(different)}, which {computes} another number."
        if different
        else ""
    )
    missing = [row["title"] for row in by_preset.rows if not is_number(row["value"])]
    without = f" Without a value here: {listed(missing)}." if missing else ""
    relevant = by_preset.relevant_in_all
    once = f" Relevant in all of them: {relevant}." if relevant else ""
    respects = "formula, population and order" if relevant else "formula, population, order and relevance"
    return (
        f"The same lists and the same test set under {presets} presets. Each preset follows one library in "
        f"{respects}.{once}{left_out}{without}"
    )


def footnote(view: View, by_preset: PresetsOfRun) -> Html:
    """Returns notes on how to read the table, and on what other pages show if they do not use the default."""
    legend = (
        "Difference: the value minus recdash's default, each over its own users. Users counted "
        "without recommendations or a relevant item count as 0."
    )
    reasons = "Why a number is different, not run or not offered: see the list of libraries below."
    unequal = any(row["state"] not in ("own", "equal") for row in by_preset.others)
    return widgets.note_html([legend, reasons if unequal else "", shown_elsewhere(view, by_preset)])


def shown_elsewhere(view: View, by_preset: PresetsOfRun) -> str:
    """Returns a sentence on the value that other pages show; empty if it is the default's."""
    users = view.experiment.settings.get("users", "truth")
    if view.metric == by_preset.metric and users == by_preset.default["users"]:
        return ""
    score = cached.scoreboard(view, (by_preset.run.id,), (view.metric,), view.k)
    value = numbers.three(float(score["value"].iloc[0])) if len(score) else numbers.NONE
    return f"The other pages show {metric_at(view.metric, view.k)} {value}: {users_words(users)}."


# ── the values of the presets ────────────────────────────────────────────────────────────────


def preset_table(by_preset: PresetsOfRun) -> Html:
    value = f"{by_preset.where}, %" if by_preset.unit else by_preset.where
    columns = [
        *text_columns("Preset"),
        *number_columns(value, "Difference to\nrecdash"),
        *text_columns("Definition", "Population", "Order and ties"),
        *([] if by_preset.relevant_in_all else text_columns("Relevant")),
        *text_columns("Equal to\nthe library?"),
    ]
    rows = [_preset_row(by_preset, row) for row in by_preset.rows]
    return table_html(columns, rows, bands=[0])


def _preset_row(by_preset: PresetsOfRun, row: Row) -> list[Cell]:
    relevant = html('<span class="rd-roomy">{relevant}</span>', relevant=row["relevant"])
    return [
        html("<b>{title}</b>", title=row["title"]),
        Number(number_of(row["value"]), by_preset.decimals),
        _difference(row, by_preset.default["value"], by_preset.decimals),
        code(row["spec"]),
        _who_counts(row),
        html('<span class="rd-roomy">{order}</span>', order=order_words(row["order"], row["ties"])),
        *([] if by_preset.relevant_in_all else [relevant]),
        _agreement(row),
    ]


def _agreement(row: Row) -> Html:
    """Returns whether the library computes the same number; a dash if there is no number."""
    state = STATES[row["state"]] if is_number(row["value"]) else numbers.NONE
    return html('<span title="{words}">{state}</span>', words=row["agreement"], state=state)


STATES = {**WORDS, "documented": "not run"}
"""The agreement with a library in a word, for a column.

The cell's tooltip and a list below have the whole sentence.
"""


def agreement_title(by_preset: PresetsOfRun) -> tuple[str, str]:
    return (
        f"Does each library print this {by_preset.where}?",
        "Equal: the library was run on the same data and gave the same numbers. See docs/presets.md.",
    )


def agreement_list(by_preset: PresetsOfRun) -> Html:
    """Returns a list with a sentence per preset on whether the library computes the same number."""
    return _entries({row["title"]: f"{row['agreement']}." for row in by_preset.others})


def _entries(texts: Mapping[str, str]) -> Html:
    """Returns a list of presets. ``texts`` are {preset's title: sentence}."""
    row = "<li><b>{title}</b><span>{text}</span></li>"
    rows = [html(row, title=title, text=text) for title, text in texts.items()]
    return html('<ul class="rd-list rd-entries">{rows}</ul>', rows=join(rows))


def _difference(row: Row, default: float, decimals: int) -> Cell:
    """Returns a cell with the difference as a number and in words, or the reason why there is no value."""
    if row["preset"] == DEFAULT:
        return muted("default")
    if row["reason"]:
        return html('<span class="rd-muted rd-wrap">{reason}</span>', reason=row["reason"])
    words = html('<small class="rd-muted">{words}</small>', words=difference_words(row["value"], default))
    if abs(row["difference"]) <= EQUAL:
        return words
    if numbers.fixed(abs(row["difference"]), decimals) == numbers.fixed(0, decimals):
        direction = "higher" if row["difference"] > 0 else "lower"
        return html(
            "&lt;{least} {direction}", least=numbers.fixed(10**-decimals, decimals), direction=direction
        )
    return html("{number}<br>{words}", number=numbers.signed(row["difference"], decimals), words=words)


def _who_counts(row: Row) -> Html:
    users = f"n = {numbers.count(row['n_users'])}" if row["n_users"] else ""
    rule = html('<span class="rd-nowrap">{rule}</span>', rule=who_counts(row["spec"], row["users"]))
    return widgets.two_lines(rule, users)


def code(spec: str) -> Html:
    """Returns a definition's spec as code, which may break after its commas."""
    parts = [html("{part}", part=part) for part in spec.split(",")]
    return html("<code>{spec}</code>", spec=join(parts, ",<wbr>"))


def export(by_preset: PresetsOfRun) -> pd.DataFrame:
    return by_preset.presets.assign(run=by_preset.run.name, k=by_preset.k)


# ── why they differ ──────────────────────────────────────────────────────────────────────────


def why_title(by_preset: PresetsOfRun) -> tuple[str, str]:
    subtitle = (
        f"The change of {by_preset.where} if one convention alone is switched from recdash's default to the "
        "library's. Interaction: the part that only the combination of several conventions adds."
    )
    return "Why do the libraries differ?", subtitle


def cause_table(by_preset: PresetsOfRun) -> Html:
    """Returns a table with a row per preset: the effect of each cause alone, and the whole difference."""
    present = [cause for cause in TITLES if cause in set(by_preset.causes["cause"])]
    causes = [TITLES[cause] for cause in present]
    columns = [*text_columns("Preset"), *number_columns("Difference", *causes)]
    decimals = numbers.places(row["difference"] for row in by_preset.rows)
    rows = [_cause_row(by_preset, row, present, decimals) for row in by_preset.others]
    return table_html(columns, rows, kind="rd-small")


def _cause_row(by_preset: PresetsOfRun, row: Row, present: list[str], decimals: int) -> list[Cell]:
    of = {cause["cause"]: cause for cause in by_preset.causes_of(row["preset"])}
    return [
        html("<b>{title}</b>", title=row["title"]),
        html("<b>{number}</b>", number=_signed(row["difference"], decimals)),
        *(_effect(cause, of.get(cause), decimals) for cause in present),
    ]


def _effect(name: str, by_preset: Row | None, decimals: int) -> Cell:
    if by_preset is None:
        return "" if name == TOGETHER else muted("same")
    words = by_preset["reason"] or by_preset["words"]
    number = _signed(by_preset["difference"], decimals)
    return html('<span title="{words}">{number}</span>', words=words, number=number)


def _signed(difference: float, decimals: int) -> str:
    if not is_number(difference):
        return numbers.NONE
    if abs(difference) <= EQUAL:
        return "0"
    text = numbers.signed(difference, decimals)
    return text if text.strip("0.,") else "≈ 0"


def entries(by_preset: PresetsOfRun) -> Html:
    """Returns a list of presets with the causes of their differences, the largest first."""
    return _entries({row["title"]: why(by_preset, row) for row in by_preset.others})


def why(by_preset: PresetsOfRun, row: Row) -> str:
    """Returns why a preset's value differs from the default's: each cause with its effect, the largest first.

    For example ``63 % higher. Population +0.0166: only users with a list count. No effect here: …``.
    """
    causes = by_preset.causes_of(row["preset"])
    if not causes:
        return f"Same definition of {by_preset.where} as recdash."
    unknown = [cause for cause in causes if cause["reason"]]
    idle = [cause for cause in causes if not cause["reason"] and abs(cause["difference"]) <= EQUAL]
    moving = [cause for cause in causes if cause not in unknown and cause not in idle]
    words = difference_words(row["value"], by_preset.default["value"]).capitalize()
    parts = [
        f"{words}." if words else "",
        *(
            f"{TITLES[cause['cause']]} {_exact(cause['difference'])}{by_preset.unit}: {cause['words']}."
            for cause in sorted(moving, key=lambda cause: -abs(cause["difference"]))
        ),
        *(f"{TITLES[cause['cause']]}: unknown, {cause['reason']}." for cause in unknown),
        f"No effect here: {'; '.join(_named(cause) for cause in idle)}." if idle else "",
    ]
    return " ".join(part for part in parts if part)


def _named(cause: Row) -> str:
    return f"{TITLES[cause['cause']].lower()} ({cause['words']})"


def _exact(difference: float) -> str:
    """Returns the difference with its sign and three significant digits."""
    return numbers.signed(difference, numbers.places([difference]))


# ── which users count ──────────────────────────────────────────────────────────────────────────


def ledger_title(view: View, by_preset: PresetsOfRun) -> tuple[str, str]:
    users = numbers.count(by_preset.run.ledger.get("truth_users"))
    return (
        f"Which users count for {by_preset.run.name}",
        f"The test set has {users} users. {POPULATION[view.experiment.settings.get('users', 'truth')]}",
    )


def ledger_table(view: View, by_preset: PresetsOfRun) -> Html:
    settings = view.experiment.settings
    users, duplicates = settings.get("users", "truth"), settings.get("duplicates", "first")
    lines = ledger_lines(by_preset.run.ledger, users, view.depth, duplicates)
    rows = [(line.title, count(line.count), line.words) for line in lines]
    columns = [*text_columns("Users and rows"), *number_columns("Count"), *text_columns("Meaning")]
    return table_html(columns, rows, kind="rd-small")


def show_ties(view: View, by_preset: PresetsOfRun) -> None:
    """Shows how much the order of items with equal scores can change the value; nothing if there are no such
    ties.
    """
    band = cached.tie_band(by_preset.run.id, view.metric, view.k)
    if band is None:
        return
    score = cached.scoreboard(view, (by_preset.run.id,), (view.metric,), view.k)
    ties = float(score["value"].iloc[0])
    where = metric_at(view.metric, view.k)
    values = aligned((band.worst, band.expected, band.best, ties), like=[band.best - band.worst])
    if band.expected_error:
        values[1] = replace(values[1], unit=f" ± {band.expected_error:.1g}")
    columns = number_columns("Worst order", "Expected", "Best order", "As in the file", "Users")
    st.space("small")
    widgets.section(f"Ties can change {where}", ties_sentence(where, band))
    widgets.table(columns, [(*values, count(band.n_users))], row_head=None)


def ties_sentence(where: str, band: TieBand) -> str:
    span = numbers.fixed(band.best - band.worst, numbers.places([band.best - band.worst]))
    users = "one user" if band.n_users == 1 else f"{numbers.count(band.n_users)} users"
    return (
        f"For {users}, a relevant item shares its score with other items. Their order is arbitrary and can "
        f"change {where} by {span}. Expected: the mean over random orders."
    )
