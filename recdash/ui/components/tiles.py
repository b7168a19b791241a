"""The tiles of key numbers as HTML: a value, its change, and its interval on a scale that all tiles share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from recdash.charts.marks import Mark
from recdash.comparison import relative
from recdash.comparison.cells import metric_value
from recdash.comparison.guardrails import GuardrailResult
from recdash.comparison.pairs import Pair
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.formatting.signs import sign_of
from recdash.formatting.wording import shown, tone
from recdash.ui.components import widgets


@dataclass(frozen=True)
class Strip:
    """An interval in % of the baseline's value; ``hollow`` if it is inconclusive or a tie."""

    low: float
    middle: float
    high: float
    hollow: bool


@dataclass(frozen=True)
class Tile:
    """A tile with one key number.

    ``sign`` and ``word`` judge its ``change``; ``note`` has its interval, or why there is none.
    """

    title: str
    value: str
    sign: str
    change: str
    word: str
    note: str
    strip: Strip | None = None


def of_pair(title: str, metric: str, pair: Pair, note: str) -> Tile:
    """Returns the tile of a metric, whose corrected interval is ``note``.

    If the values of all users are equal, it says only that: an interval would be about users who were not
    measured.
    """
    if pair.is_identical:
        value = metric_value(metric, pair.value).shown
        return Tile(title, value, sign_of(pair.words), "", pair.words, f"n = {numbers.count(pair.paired.n)}")
    (low, high), word = relative.percent_interval(pair, metric), pair.judged.word
    share = pair.percent(pair.paired.mean)
    strip = Strip(low, share, high, hollow=word in ("tie", "not settled"))
    known = all(map(isfinite, (low, share, high)))
    drawn = known and not relative.is_from_zero(pair)
    value, change = metric_value(metric, pair.value).shown, relative.change(pair)
    return Tile(title, value, sign_of(word), change, word, note, strip if drawn else None)


def of_rail(title: str, rail: GuardrailResult, level: str) -> Tile:
    """Returns the tile of a guardrail, with the interval of its change or why there is none. ``level`` names
    the interval, such as ``95 % CI``.

    It has no strip, because the gain in a guardrail can be too large for a shared scale.
    """
    value, base = (metric_value(rail.metric, value).shown for value in (rail.value, rail.base_value))
    sure = f"no interval: {rail.why_no_interval}"
    if rail.has_interval:
        sure = f"{level} {relative.share_bounds(rail.low, rail.high, rail.change)}"
    change = relative.rail_change(rail)
    return Tile(title, value, rail.sign, change, rail.shown, f"from {base}; {sure}")


def strip_range(tiles: Sequence[Tile]) -> tuple[float, float]:
    """Returns the ends of the scale that all strips share, in % of the baseline's value; it includes 0."""
    ends = [end for tile in tiles if tile.strip for end in (tile.strip.low, tile.strip.high)]
    low, high = min((*ends, 0.0)), max((*ends, 0.0))
    room = 0.12 * (high - low) or 1.0
    return low - room, high + room


def tiles_html(tiles: Sequence[Tile], mark: Mark) -> Html:
    scale = strip_range(tiles)
    cells = join([_tile(tile, mark, scale) for tile in tiles])
    return widgets.unbroken_html(html('<div class="rd-tiles">{cells}</div>', cells=cells))


def _tile(tile: Tile, mark: Mark, scale: tuple[float, float]) -> Html:
    return html(
        '<div class="rd-tile"><h3>{title}</h3><div class="rd-value">{value}</div>'
        '<div><b class="rd-{tone}">{sign} {change}</b> {word}</div><small>{note}</small>{strip}</div>',
        **vars(tile)
        | {"strip": _strip(tile.strip, mark, scale) if tile.strip else "", "word": shown(tile.word)},
        tone=tone(tile.word),
    )


def _strip(strip: Strip, mark: Mark, scale: tuple[float, float]) -> Html:
    def at(percent: float) -> str:
        return f"{100 * (percent - scale[0]) / (scale[1] - scale[0]):.2f}%"

    return html(
        '<div class="rd-strip" style="--run:{colour}" aria-hidden="true"><span class="rd-track"></span>'
        '<span class="rd-ci" style="left:{low};width:{width}"></span>'
        '<span class="rd-zero" style="left:{zero}"></span>'
        '<span class="rd-dot {hollow}" style="left:{middle}"></span></div>',
        colour=mark.colour,
        low=at(strip.low),
        width=f"{100 * (strip.high - strip.low) / (scale[1] - scale[0]):.2f}%",
        zero=at(0),
        hollow="rd-hollow" if strip.hollow else "",
        middle=at(strip.middle),
    )
