"""Every candidate's difference from the baseline as a forest of rows that fit a page of any width."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from recdash.charts.forest import DECIDED, shows_margin
from recdash.charts.layout import span
from recdash.charts.mark_html import glyph
from recdash.charts.marks import Mark, Marks
from recdash.charts.mini_chart import Axis
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.formatting.numbers import is_number
from recdash.formatting.records import Row, records
from recdash.formatting.signs import sign_of
from recdash.ui.components import widgets

if TYPE_CHECKING:
    import pandas as pd


def forest_html(differences: pd.DataFrame, marks: Marks, names: Mapping[str, str], label: str) -> Html:
    """Returns a row per candidate: its name, its interval on a scale that all rows share, and its difference.

    ``differences`` has the columns run_id, mean_diff, ci_low, ci_high, word, words and margin; ``names`` is
    {run id: short name}; ``label`` names the list for screen readers.
    """
    rows = records(differences)
    values = [row[name] for row in rows for name in ("ci_low", "ci_high", "mean_diff")]
    axis, decimals, banded = Axis(*span(values, zero=True)), numbers.places(values), shows_margin(differences)
    items = [
        _row(row, marks[row["run_id"]], names[row["run_id"]], axis, decimals, banded=banded) for row in rows
    ]
    template = '<ul class="rd-forest" aria-label="{label}">{items}</ul>'
    return html(template, label=label, items=join(items))


def has_hollow(differences: pd.DataFrame) -> bool:
    """Returns whether the mark of any row is hollow."""
    return bool((~differences["word"].isin(DECIDED)).any())


def _row(row: Row, mark: Mark, short: str, axis: Axis, decimals: int, *, banded: bool) -> Html:
    def at(value: float) -> float:
        return axis.place(min(max(value, axis.low), axis.high))

    def bar(kind: str, low: float, high: float) -> Html:
        left, width = f"{at(low):.2f}%", f"{at(high) - at(low):.2f}%"
        return html(
            '<i class="rd-forest-{kind}" style="left:{left};width:{width}"></i>',
            kind=kind,
            left=left,
            width=width,
        )

    drawn = [bar("band", -row["margin"], row["margin"])] if banded else []
    drawn.append(html('<i class="rd-forest-zero" style="left:{left}"></i>', left=f"{at(0):.2f}%"))
    if is_number(row["ci_low"]):
        drawn.append(bar("ci", row["ci_low"], row["ci_high"]))
    look = glyph(mark) if row["word"] in DECIDED else Html('<i class="rd-picture-dot rd-hollow"></i>')
    drawn.append(
        html('<span style="left:{left}">{look}</span>', left=f"{at(row['mean_diff']):.2f}%", look=look)
    )
    interval = numbers.interval(row["ci_low"], row["ci_high"], decimals)
    return html(
        "<li>{run}"
        '<span class="rd-forest-track" style="--run:{colour}" aria-hidden="true">{drawn}</span>'
        '<span class="rd-forest-value"><b class="rd-{tone}">{sign} {value}</b> <small>{interval}</small>'
        '<em class="rd-only-heard">{word}</em></span></li>',
        run=widgets.run_cell(mark, short),
        colour=mark.colour,
        drawn=join(drawn),
        tone=row["word"] if row["word"] in DECIDED else "same",
        sign=sign_of(row["words"]),
        value=numbers.signed(row["mean_diff"], decimals),
        interval="" if interval == numbers.NONE else f"[{interval}]",
        word=row["words"],
    )
