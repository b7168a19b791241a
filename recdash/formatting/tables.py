"""Tables as values: cells and columns, and the HTML that pages and reports share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal, cast

from recdash.formatting import numbers, wording
from recdash.formatting.html import Html, html, join
from recdash.formatting.signs import sign_of

Tone = Literal["better", "same", "worse", "muted", "plain"]
PERCENT = " %"
SHORT = 12
"""A table with at most this many rows is kept on one page when it is printed."""

# ── cells ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Number:
    """A number and how it is shown: multiplied by ``scale``, with ``decimals``, a plus above 0 if ``sign``,
    and a unit.

    The style "p" shows it as a p-value, "factor" with a multiplication sign. If ``value`` is None, ``why`` is
    the reason.
    """

    value: int | float | None
    decimals: int = 0
    sign: bool = False
    unit: str = ""
    scale: int = 1
    style: Literal["fixed", "p", "factor"] = "fixed"
    why: str = ""

    @property
    def text(self) -> str:
        """Returns the number as text without its unit; "–" if it is missing."""
        if self.value is None:
            return numbers.NONE
        if self.style == "p":
            return numbers.p_value(self.value)
        if self.style == "factor":
            return f"×{numbers.fixed(self.value, self.decimals)}"
        write = numbers.signed if self.sign else numbers.fixed
        return write(self.value * self.scale, self.decimals)

    @property
    def shown(self) -> str:
        """Returns the number as text with its unit; "–" if it is missing."""
        return self.text if self.value is None else f"{self.text}{self.unit}"


@dataclass(frozen=True)
class Interval:
    """An interval; both ends have the same decimals and unit."""

    low: Number
    high: Number

    @property
    def shown(self) -> str:
        """Returns the interval as text, such as ``+0.0236 to +0.0320``; "–" if an end is missing."""
        if self.low.value is None or self.high.value is None:
            return numbers.NONE
        return f"{self.low.text} to {self.high.shown}"


@dataclass(frozen=True)
class RunName:
    """A run, given by its id; the table's renderer knows its name and mark."""

    run_id: str


@dataclass(frozen=True)
class Word:
    """A finding: its sign, and the word for it."""

    sign: str
    word: str
    tone: Tone = "same"

    @property
    def shown(self) -> str:
        """Returns sign and word, such as ``▲ better``; the word alone if there is no sign."""
        return f"{self.sign} {self.word}".strip()


Cell = str | Number | Interval | RunName | Word
"""The content of a cell. Texts are escaped when the table is written, unless they are :class:`Html`."""


# ── tables ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Column:
    """A column of a table; columns of numbers are aligned to the right."""

    title: str
    number: bool = False


def text_columns(*titles: str) -> tuple[Column, ...]:
    return tuple(Column(title) for title in titles)


def number_columns(*titles: str) -> tuple[Column, ...]:
    return tuple(Column(title, number=True) for title in titles)


@dataclass(frozen=True)
class Table:
    """A table with its title and note; ``bands`` are the indexes of rows with a coloured background."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    bands: tuple[int, ...] = ()


def shown(cell: Cell, names: Mapping[str, str]) -> str:
    """Returns a cell as plain text. ``names`` is {run id: name}."""
    if isinstance(cell, str):
        return cell
    return names[cell.run_id] if isinstance(cell, RunName) else cell.shown


def footnotes(table: Table) -> dict[str, str]:
    """Returns {reason why a number is missing: the number of its footnote}, for all cells of the table."""
    reasons = (
        cell.why for row in table.rows for cell in row if isinstance(cell, Number) and cell.value is None
    )
    return {why: str(place) for place, why in enumerate(dict.fromkeys(filter(None, reasons)), start=1)}


# ── cells of one column ──────────────────────────────────────────────────────────────────────


def number_of(value: Any) -> float | None:
    """Returns the value as a float, or as an int if it is one (NumPy's included); None if it is missing or
    not finite.
    """
    if isinstance(value, Integral):
        return int(value)
    return None if value is None or not math.isfinite(value) else float(value)


def aligned(
    values: Iterable[Any],
    *,
    sign: bool = False,
    unit: str = "",
    scale: int = 1,
    like: Iterable[Any] | None = None,
) -> list[Number]:
    """Returns the cells of one column of numbers, with as many decimals as the largest needs for three
    significant digits.

    ``like`` are the numbers that decide the decimals, by default all of the column.
    """
    known = [number_of(value) for value in values]
    deciding = known if like is None else map(number_of, like)
    decimals = numbers.places(None if value is None else value * scale for value in deciding)
    return [Number(value, decimals, sign, unit, scale) for value in known]


def single(value: Any, *, sign: bool = False, unit: str = "", scale: int = 1) -> Number:
    """Returns the cell of a number with three significant digits."""
    return aligned([value], sign=sign, unit=unit, scale=scale)[0]


def count(value: Any) -> Number:
    return Number(number_of(value))


def p_value(value: Any) -> Number:
    return Number(number_of(value), style="p")


def factor(value: Any, decimals: int | None = None) -> Number:
    """Returns the cell of a factor such as ×2.24, by default with three significant digits."""
    known = number_of(value)
    return Number(known, numbers.places([known]) if decimals is None else decimals, style="factor")


def intervals(
    ends: Sequence[tuple[Any, Any]], *, unit: str = "", scale: int = 1, beside: Sequence[Any] = ()
) -> list[Interval]:
    """Returns the cells of one column of intervals, with signs. The numbers ``beside`` them also count for
    the decimals.
    """
    flat = aligned([*(end for pair in ends for end in pair), *beside], sign=True, unit=unit, scale=scale)
    return [Interval(*flat[2 * row : 2 * row + 2]) for row in range(len(ends))]


def with_intervals(
    values: Sequence[Any],
    ends: Sequence[tuple[Any, Any]],
    *,
    unit: str = "",
    scale: int = 1,
    off_zero: bool = False,
) -> tuple[list[Number], list[Interval]]:
    """Returns two columns of cells, numbers with signs and their intervals, all with the same decimals.

    ``off_zero`` adds decimals (two at most) if an interval that excludes 0 would seem to end there.
    """
    bounds = intervals(ends, unit=unit, scale=scale, beside=values)
    decimals = bounds[0].low.decimals if bounds else 0
    if off_zero and bounds:
        decimals = min(decimals + 2, max(decimals, *map(_decimals_off_zero, bounds)))
        bounds = [
            Interval(replace(cell.low, decimals=decimals), replace(cell.high, decimals=decimals))
            for cell in bounds
        ]
    return [Number(number_of(value), decimals, sign=True, unit=unit, scale=scale) for value in values], bounds


def _decimals_off_zero(cell: Interval) -> int:
    """Returns the decimals with which neither end is shown as 0; 0 if the interval includes 0 or is
    unknown.
    """
    low, high = cell.low.value, cell.high.value
    if low is None or high is None or not low * high > 0:
        return 0
    smallest = min(abs(low), abs(high)) * cell.low.scale
    return next((places for places in range(numbers.MOST_DECIMALS) if round(smallest, places)), 0)


def finding(word: str, sign: str | None = None) -> Word:
    """Returns the cell of a finding in its colour, with the given sign or its own."""
    return Word(sign or sign_of(word), wording.shown(word), cast("Tone", wording.tone(word)))


def muted(text: str) -> Word:
    """Returns the cell of a grey text in place of a number or a finding."""
    return Word("", text, "muted")


def bold(cell: Cell) -> Html:
    """Returns the cell in bold, for the main number of a row."""
    return html("<b>{cell}</b>", cell=cell_html(cell))


# ── HTML ─────────────────────────────────────────────────────────────────────────────────────


def table_html(
    table: Table,
    runs: Mapping[str, Html] | None = None,
    *,
    kind: str = "",
    row_head: int | None = 0,
    label: str = "",
) -> Html:
    """Returns the table as HTML, with its caption, note and footnotes.

    ``runs`` is {run id: its mark and name}. ``row_head`` is the index of the column whose cells name the
    rows; None for none. ``kind`` are CSS classes; if there are any, all cells in columns of numbers are
    aligned to the right. A table without a title has no caption, because it has a heading above; ``label``
    then names it for screen readers.

    Stored reports are compared with this HTML character by character, so that any change of it makes them
    unconfirmed.
    """
    marks = footnotes(table)
    body = []
    for place, row in enumerate(table.rows):
        cells = [
            html(
                "<{tag}{align}>{content}",
                tag=ROW_HEAD if index == row_head and cell != "" else "td",  # an empty cell is no heading
                align=NUMBER if kind and column.number else "",
                content=cell_html(cell, runs, marks),
            )
            for index, (column, cell) in enumerate(zip(table.columns, row, strict=True))
        ]
        band = Html(' class="band"') if place in table.bands else ""
        body.append(html("<tr{band}>{cells}\n", band=band, cells=join(cells)))
    region, caption, name = "", "", table.title or label
    if name:
        region = html(' role="region" aria-label="{name}" tabindex="0"', name=name)
    if table.title:
        caption = html("<caption>{title}</caption>\n", title=table.title)
    return html(
        '<div class="scroll{short}"{region}><table{kind}>\n{caption}'
        "<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n{notes}",
        short=" short" if len(table.rows) <= SHORT else "",
        region=region,
        kind=html(' class="{kind}"', kind=kind) if kind else "",
        caption=caption,
        head=join([_head(column) for column in table.columns]),
        body=join(body),
        notes=_notes(table.note, marks),
    )


def _head(column: Column) -> Html:
    title = column.title if isinstance(column.title, Html) else html("<bdi>{name}</bdi>", name=column.title)
    return html('<th scope="col"{kind}>{title}</th>', kind=NUMBER if column.number else "", title=title)


def cell_html(
    cell: Cell, runs: Mapping[str, Html] | None = None, marks: Mapping[str, str] | None = None
) -> Html:
    """Returns the content of a cell as HTML. ``marks`` is {reason why a number is missing: the number of its
    footnote}.
    """
    runs, marks = runs or {}, marks or {}
    if isinstance(cell, RunName):
        return runs[cell.run_id]
    if isinstance(cell, Word):
        return html('<span class="{tone}">{text}</span>', tone=cell.tone, text=cell.shown)
    if isinstance(cell, Number):
        return html("{number}{unit}", number=_number(cell, marks), unit=_unit(cell))
    if isinstance(cell, Interval):
        if cell.low.value is None or cell.high.value is None:
            return MISSING
        low, high = _number(cell.low, marks), _number(cell.high, marks)
        return html("{low} to {high}{unit}", low=low, high=high, unit=_unit(cell.high))
    return html("{text}", text=cell)


def _unit(number: Number) -> str:
    return "" if number.value is None else number.unit


def _number(number: Number, marks: Mapping[str, str]) -> Html:
    """Returns a number as HTML, without its unit. The machine-readable value has five significant digits."""
    if number.value is None:
        mark = html("<sup>{mark}</sup>", mark=marks[number.why]) if number.why in marks else ""
        return html("<span class=none>–{mark}</span>", mark=mark)
    exact = str(number.value) if isinstance(number.value, int) else f"{number.value:.5g}"
    return html("<data value={exact}>{text}</data>", exact=exact, text=number.text)


def _notes(note: str, marks: Mapping[str, str]) -> Html:
    """Returns the table's note and its footnotes as HTML; empty if there are none."""
    if not note and not marks:
        return Html("")
    reasons = [
        html(" <span><sup>{mark}</sup> {why}.</span>", mark=mark, why=why) for why, mark in marks.items()
    ]
    return html('<p class="note" data-n>{note}{reasons}</p>', note=note, reasons=join(reasons))


NUMBER, ROW_HEAD = Html(' class="n"'), Html('th scope="row"')
MISSING = Html("<span class=none>–</span>")
