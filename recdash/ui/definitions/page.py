"""What the Definitions page shows: one run under every preset, what sets them apart, who was counted."""

from __future__ import annotations

from collections.abc import Mapping
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
from recdash.formatting.wording import named_number, unavailable
from recdash.metrics.agreement import WORDS
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
    """One run, its metric's family, and its tables under all presets and of their causes."""

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
        """One per preset, in the unit that the page shows."""
        return [self._in_unit(row) for row in records(self.presets)]

    @property
    def default(self) -> Row:
        return next(row for row in self.rows if row["preset"] == DEFAULT)

    @property
    def others(self) -> list[Row]:
        return [row for row in self.rows if row["preset"] != DEFAULT]

    @property
    def where(self) -> str:
        return metric_at(self.metric, self.k)

    @property
    def decimals(self) -> int:
        """Three significant digits of the default's value; of the largest where that is 0 or missing."""
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
    """One of the frame's runs, kept in the URL; at first the first candidate."""
    known = {run.id: run for run in view.shown}
    usual = (view.candidates or view.shown)[0]
    wanted = state.params().get("r", usual.id)
    if wanted not in known:
        st.warning(f"{unavailable('run', markdown(wanted), markdown(usual.name))}.")
    chosen, names = known.get(wanted, usual), {run.id: run.name for run in view.shown}
    widgets.select("Run", "r", names, chosen.id, "definitions-run", widgets.BOX)
    state.write("r", wanted)
    return chosen


def gather(view: View, run: Run) -> PresetsOfRun:
    """The family of the frame's metric: each preset has parameters of its own."""
    metric = base(view.metric)
    with st.spinner("Counting as each library does; for another order the upload is read again"):
        presets = cached.under_presets(run.id, metric, view.k)
        causes = cached.preset_causes(run.id, metric, view.k)
    return PresetsOfRun(run, metric, view.k, presets, causes)


def finding(by_preset: PresetsOfRun) -> str:
    """How far the habits move one run's value."""
    values = [row["value"] for row in by_preset.rows if is_number(row["value"])]
    if not values:
        return f"{by_preset.run.name} has no {by_preset.where} under any preset"
    ends = _distinct_ends(min(values), max(values), by_preset.decimals)
    low, high = (f"{end}{by_preset.unit}" for end in ends)
    value = f"{by_preset.where} of {by_preset.run.name}"
    if max(values) - min(values) <= EQUAL:
        return f"{value} is {low} under every preset"
    if low == high:
        return f"{value} is {low} under every preset, as far as digits are shown"
    return f"{value} is anything from {low} to {high}, depending on the definition"


def _distinct_ends(low: float, high: float, decimals: int) -> tuple[str, str]:
    """Both ends with so many decimals, or with the fewest more that set them apart."""
    for places in range(decimals, numbers.MOST_DECIMALS + 1):
        if numbers.fixed(low, places) != numbers.fixed(high, places):
            return numbers.fixed(low, places), numbers.fixed(high, places)
    return numbers.fixed(low, decimals), numbers.fixed(high, decimals)


def subtitle(by_preset: PresetsOfRun) -> str:
    presets = named_number(len(by_preset.rows)).lower()
    return (
        f"The same lists and the same truth under {presets} presets: definition, who counts, order and ties, "
        "and what is relevant as each library has them."
    )


def footnote(view: View, by_preset: PresetsOfRun) -> Html:
    """What the other pages show where that is not the default, and how long a difference is."""
    legend = (
        "Difference: the value minus recdash's default, each over its own users. Every user: all with a "
        "relevant item, one without a list counting as 0."
    )
    return widgets.note_html([legend, shown_elsewhere(view, by_preset)])


def shown_elsewhere(view: View, by_preset: PresetsOfRun) -> str:
    """A line for a frame whose own number is not the default's; empty where it is."""
    users = view.experiment.settings.get("users", "truth")
    if view.metric == by_preset.metric and users == by_preset.default["users"]:
        return ""
    score = cached.scoreboard(view, (by_preset.run.id,), (view.metric,), view.k)
    value = numbers.three(float(score["value"].iloc[0])) if len(score) else numbers.NONE
    return f"The other pages show {metric_at(view.metric, view.k)} {value}: {users_words(users)}."


# ── the presets side by side ─────────────────────────────────────────────────────────────────


def preset_table(by_preset: PresetsOfRun) -> Html:
    value = f"{by_preset.where}, %" if by_preset.unit else by_preset.where
    columns = [
        *text_columns("Preset", "Definition"),
        *number_columns(value, "Difference to\nrecdash"),
        *text_columns("Who counts", "Order and ties", "Relevant is", "Beside the\nlibrary"),
    ]
    rows = [_preset_row(by_preset, row) for row in by_preset.rows]
    return table_html(columns, rows, bands=[0])


def _preset_row(by_preset: PresetsOfRun, row: Row) -> list[Cell]:
    return [
        html("<b>{title}</b>", title=row["title"]),
        code(row["spec"]),
        Number(number_of(row["value"]), by_preset.decimals),
        _difference(row, by_preset.default["value"], by_preset.decimals),
        _who_counts(row),
        order_words(row["order"], row["ties"]),
        html('<span class="rd-nowrap">{relevant}</span>', relevant=row["relevant"]),
        html('<span title="{words}">{state}</span>', words=row["agreement"], state=STATES[row["state"]]),
    ]


STATES = {**WORDS, "documented": "not run"}
"""Short, for a column; the whole sentence is the title of the cell, and stands under *Is it the same?*"""


def agreement_title(by_preset: PresetsOfRun) -> tuple[str, str]:
    return (
        f"Is {by_preset.where} the number that each library prints?",
        "Equal: its numbers were compared with recdash's under the preset. docs/presets.md has every metric.",
    )


def agreement_list(by_preset: PresetsOfRun) -> Html:
    """One sentence per preset: whether this metric is the library's own number."""
    return _entries({row["title"]: f"{row['agreement']}." for row in by_preset.others})


def _entries(texts: Mapping[str, str]) -> Html:
    """``texts``: title of a preset → what is said of it."""
    row = "<li><b>{title}</b><span>{text}</span></li>"
    rows = [html(row, title=title, text=text) for title, text in texts.items()]
    return html('<ul class="rd-list rd-entries">{rows}</ul>', rows=join(rows))


def _difference(row: Row, default: float, decimals: int) -> Cell:
    """The difference in numbers, and under it in words; the reason where there is no value."""
    if row["preset"] == DEFAULT:
        return muted("default")
    if row["reason"]:
        return html('<span class="rd-muted rd-wrap">{reason}</span>', reason=row["reason"])
    words = html('<small class="rd-muted">{words}</small>', words=difference_words(row["value"], default))
    if abs(row["difference"]) <= EQUAL:
        return words
    return html("{number}<br>{words}", number=numbers.signed(row["difference"], decimals), words=words)


def _who_counts(row: Row) -> Html:
    users = f"n = {numbers.count(row['n_users'])}" if row["n_users"] else ""
    rule = html('<span class="rd-nowrap">{rule}</span>', rule=who_counts(row["spec"], row["users"]))
    return widgets.above(rule, users)


def code(spec: str) -> Html:
    """A spec that may break after its commas."""
    parts = [html("{part}", part=part) for part in spec.split(",")]
    return html("<code>{spec}</code>", spec=join(parts, ",<wbr>"))


def export(by_preset: PresetsOfRun) -> pd.DataFrame:
    return by_preset.presets.assign(run=by_preset.run.name, k=by_preset.k)


# ── why they differ ──────────────────────────────────────────────────────────────────────────


def why_title(by_preset: PresetsOfRun) -> tuple[str, str]:
    subtitle = (
        f"What each cause does to {by_preset.where} by itself, when it alone is changed from recdash's "
        "default. Together: what remains, since causes change each other's effect."
    )
    return "Why do the libraries differ?", subtitle


def cause_table(by_preset: PresetsOfRun) -> Html:
    """Rows: presets; columns: what each cause does alone, from the default; the whole difference."""
    present = [cause for cause in TITLES if cause in set(by_preset.causes["cause"])]
    causes = [TITLES[cause] for cause in present]
    columns = [*text_columns("Preset"), *number_columns(*causes, "Difference")]
    decimals = numbers.places(row["difference"] for row in by_preset.rows)
    rows = [_cause_row(by_preset, row, present, decimals) for row in by_preset.others]
    return table_html(columns, rows, kind="rd-small")


def _cause_row(by_preset: PresetsOfRun, row: Row, present: list[str], decimals: int) -> list[Cell]:
    of = {cause["cause"]: cause for cause in by_preset.causes_of(row["preset"])}
    return [
        html("<b>{title}</b>", title=row["title"]),
        *(_effect(cause, of.get(cause), decimals) for cause in present),
        html("<b>{number}</b>", number=_signed(row["difference"], decimals)),
    ]


def _effect(name: str, by_preset: Row | None, decimals: int) -> Cell:
    if by_preset is None:
        return "" if name == TOGETHER else muted("as recdash")
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
    """One sentence per preset: its causes by the size of their effect."""
    return _entries({row["title"]: why(by_preset, row) for row in by_preset.others})


def why(by_preset: PresetsOfRun, row: Row) -> str:
    """``63 % higher. Who counts +0.0166: only users with a list count. No effect here: …``."""
    causes = [cause for cause in by_preset.causes_of(row["preset"]) if cause["cause"] != TOGETHER]
    if not causes:
        return f"Counts {by_preset.where} as recdash does."
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
        *(f"{TITLES[cause['cause']]} not known: {cause['reason']}." for cause in unknown),
        f"No effect here: {'; '.join(cause['words'] for cause in idle)}." if idle else "",
    ]
    return " ".join(part for part in parts if part)


def titles(by_preset: PresetsOfRun) -> dict[str, str]:
    """Preset → title, for choosing one."""
    return {row["preset"]: row["title"] for row in by_preset.rows}


def _exact(difference: float) -> str:
    """Signed, with three significant digits of its own."""
    return numbers.signed(difference, numbers.places([difference]))


def furthest(by_preset: PresetsOfRun) -> str:
    """The preset whose value is furthest from the default's."""
    known = [row for row in by_preset.rows if is_number(row["difference"])]
    return str(max(known, key=lambda row: abs(row["difference"]))["preset"]) if known else DEFAULT


# ── who was counted ──────────────────────────────────────────────────────────────────────────


def ledger_title(view: View, by_preset: PresetsOfRun) -> tuple[str, str]:
    users = numbers.count(by_preset.run.ledger.get("truth_users"))
    return (
        f"Who was counted in {by_preset.run.name}",
        f"The truth has {users} users. {POPULATION[view.experiment.settings.get('users', 'truth')]}",
    )


def ledger_table(view: View, by_preset: PresetsOfRun) -> Html:
    settings = view.experiment.settings
    users, duplicates = settings.get("users", "truth"), settings.get("duplicates", "first")
    lines = ledger_lines(by_preset.run.ledger, users, view.depth, duplicates)
    rows = [(line.title, count(line.count), line.words) for line in lines]
    columns = [*text_columns("Ledger"), *number_columns("Count"), *text_columns("What it means")]
    return table_html(columns, rows, kind="rd-small")


def show_ties(view: View, by_preset: PresetsOfRun) -> None:
    """How far the order of equal scores can move the value that the pages show; nothing where it cannot."""
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
    widgets.section(f"What ties can do to {where}", ties_sentence(where, band))
    widgets.table(columns, [(*values, count(band.n_users))], row_head=None)


def ties_sentence(where: str, band: TieBand) -> str:
    span = numbers.fixed(band.best - band.worst, numbers.places([band.best - band.worst]))
    who = "one user" if band.n_users == 1 else f"{numbers.count(band.n_users)} users"
    return (
        f"For {who} a relevant item stands among equal scores, whose order is chance: that alone can move "
        f"{where} by {span}. Expected: the mean over random orders."
    )
