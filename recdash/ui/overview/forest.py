"""Every candidate's difference from the baseline as a forest of rows that fit a page of any width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from recdash.charts.forest import DECIDED, shows_margin
from recdash.charts.layout import span
from recdash.charts.mark_html import glyph
from recdash.charts.marks import Mark, Marks
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.formatting.numbers import is_number
from recdash.formatting.records import Row, records
from recdash.formatting.signs import sign_of

if TYPE_CHECKING:
    import pandas as pd


def forest_html(differences: pd.DataFrame, marks: Marks, names: Mapping[str, str], label: str) -> Html:
    """Returns a row per candidate: its name, its interval on a scale that all rows share, and its difference.

    ``differences`` has the columns run_id, mean_diff, ci_low, ci_high, word, words and margin; ``names`` is
    {run id: short name}; ``label`` names the list for screen readers.
    """
    rows = records(differences)
    ends = _scale(rows)
    decimals = numbers.places([row[name] for row in rows for name in ("ci_low", "ci_high", "mean_diff")])
    items = [
        _row(
            row, marks[row["run_id"]], names[row["run_id"]], ends, decimals, banded=shows_margin(differences)
        )
        for row in rows
    ]
    template = '<ul class="rd-forest" aria-label="{label}">{items}</ul>'
    return html(template, label=label, items=join(items))


def has_hollow(differences: pd.DataFrame) -> bool:
    """Returns whether the mark of any row is hollow."""
    return bool((~differences["word"].isin(DECIDED)).any())


def _scale(rows: Sequence[Row]) -> tuple[float, float]:
    low, high = span([row[name] for row in rows for name in ("ci_low", "ci_high", "mean_diff")], zero=True)
    return low, high


def _row(row: Row, mark: Mark, short: str, ends: tuple[float, float], decimals: int, *, banded: bool) -> Html:
    def at(value: float) -> float:
        return 100 * (min(max(value, ends[0]), ends[1]) - ends[0]) / (ends[1] - ends[0])

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
        '<li><span class="rd-run">{glyph}<bdi title="{name}">{short}</bdi></span>'
        '<span class="rd-forest-track" style="--run:{colour}" aria-hidden="true">{drawn}</span>'
        '<span class="rd-forest-value"><b class="rd-{tone}">{sign} {value}</b> <small>{interval}</small>'
        '<em class="rd-only-heard">{word}</em></span></li>',
        glyph=glyph(mark),
        name=mark.name,
        short=short,
        colour=mark.colour,
        drawn=join(drawn),
        tone=row["word"] if row["word"] in DECIDED else "same",
        sign=sign_of(row["words"]),
        value=numbers.signed(row["mean_diff"], decimals),
        interval="" if interval == numbers.NONE else f"[{interval}]",
        word=row["words"],
    )
