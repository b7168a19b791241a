"""The overview's card and tiles as HTML: headline, shares of users, values with interval strips."""

from __future__ import annotations

from collections.abc import Sequence

from recdash import numbers
from recdash.charts.marks import Mark
from recdash.numbers import is_number
from recdash.ui.escaping import Html, html, join
from recdash.ui.findings import Cell, Delta, Headline
from recdash.ui.words import is_percent, metric_at, tone


def card(headline: Headline, best: Delta | None, base: str, cells: Sequence[Cell]) -> Html:
    """The headline with its sentences, the split of users beside it, and what would change it below."""
    sign = best.sign if best else "="
    aside = (
        html('<p class="rd-lead rd-muted">{text}</p>', text=headline.aside) if headline.aside else Html("")
    )
    text = html(
        '<div><div class="rd-badges"><span class="rd-badge rd-badge-{tone}">{sign} {word}</span></div>'
        '<h1>{title}</h1><p class="rd-lead">{sentence}</p>{aside}</div>',
        tone=tone(headline.word), sign=sign, word=headline.word.capitalize(), title=headline.title,
        sentence=headline.sentence, aside=aside,
    )  # fmt: skip
    split = user_split(best, base) if best else Html("<div></div>")
    return html(
        '<div class="rd-card">{text}{split}</div>{cells}', text=text, split=split, cells=_cells(cells)
    )


def _cells(cells: Sequence[Cell]) -> Html:
    if not cells:
        return Html("")
    shown = [
        html("<div><b>{question}</b>{answer}</div>", question=c.question, answer=c.answer) for c in cells
    ]
    return html('<div class="rd-cells"><h3>What would change this</h3>{shown}</div>', shown=join(shown))


def user_split(delta: Delta, base: str) -> Html:
    """Better, no change and worse, of 100 users. For metrics where lower is better wins stay wins."""
    total = max(1, delta.wins + delta.ties + delta.losses)
    parts = (
        ("better", "▲", "better for", delta.wins),
        ("same", "=", "no change for", delta.ties),
        ("worse", "▼", "worse for", delta.losses),
    )
    bar = [
        html('<span style="flex:{n};background:var(--{tone})"></span>', n=n, tone=name)
        for name, _, _, n in parts
    ]
    rows = [
        html('<li><span><span class="rd-{tone}">{sign}</span> {text}</span><b>{share}</b></li>',
             tone=name, sign=sign, text=text, share=numbers.fixed(100 * n / total, 0))
        for name, sign, text, n in parts
    ]  # fmt: skip
    return html(
        '<div class="rd-split"><h3>{name} against {base}, of 100 users</h3><div class="rd-bar">{bar}</div>'
        "<ul>{rows}</ul></div>", name=delta.name, base=base, bar=join(bar), rows=join(rows),
    )  # fmt: skip


def strip_range(found: Sequence[Delta]) -> tuple[float, float]:
    """One scale for all strips, in % of the baseline's value."""
    ends = [delta.percent(bound) for delta in found for bound in (delta.ci_low, delta.ci_high)]
    ends = [end for end in ends if is_number(end)] or [-1.0, 1.0]
    room = max(1e-9, 0.12 * (max(*ends, 0) - min(*ends, 0)))
    return min(*ends, 0) - room, max(*ends, 0) + room


def tiles(found: Sequence[Delta], mark: Mark, k: int) -> Html:
    """A tile per metric: value, difference and paired interval, and the interval on a shared strip."""
    scale = strip_range(found)
    return html(
        '<div class="rd-tiles">{tiles}</div>', tiles=join([_tile(delta, mark, k, scale) for delta in found])
    )


def _tile(delta: Delta, mark: Mark, k: int, scale: tuple[float, float]) -> Html:
    decimals = numbers.places([delta.mean_diff, delta.ci_low, delta.ci_high])
    change = delta.percent(delta.mean_diff)
    relative = f" ({numbers.signed(change, numbers.places([change]))} %)" if is_number(change) else ""
    return html(
        '<div class="rd-tile"><h3>{metric}</h3><div class="rd-value">{value}</div>'
        '<div><b class="rd-{tone}">{sign} {diff}</b>{relative} {word}</div>'
        "<small>95 % CI {bounds}</small>{strip}</div>",
        metric=metric_at(delta.metric, k), value=value_text(delta.metric, delta.value), tone=tone(delta.word),
        sign=delta.sign, diff=numbers.signed(delta.mean_diff, decimals), relative=relative, word=delta.word,
        bounds=numbers.interval(delta.ci_low, delta.ci_high, decimals), strip=_strip(delta, mark, scale),
    )  # fmt: skip


def _strip(delta: Delta, mark: Mark, scale: tuple[float, float]) -> Html:
    low, high = (delta.percent(bound) for bound in (delta.ci_low, delta.ci_high))
    if not (is_number(low) and is_number(high)):
        return Html("")

    def at(percent: float) -> str:
        return f"{100 * (percent - scale[0]) / (scale[1] - scale[0]):.2f}%"

    width = f"{100 * (high - low) / (scale[1] - scale[0]):.2f}%"
    hollow = "rd-hollow" if delta.sign == "=" else ""
    return html(
        '<div class="rd-strip" style="--run:{colour}" aria-hidden="true"><span class="rd-track"></span>'
        '<span class="rd-zero" style="left:{zero}"></span>'
        '<span class="rd-ci" style="left:{low};width:{width}"></span>'
        '<span class="rd-dot {hollow}" style="left:{middle}"></span></div>',
        colour=mark.colour, zero=at(0), low=at(low), width=width, hollow=hollow,
        middle=at(delta.percent(delta.mean_diff)),
    )  # fmt: skip


def value_text(metric: str, value: float, decimals: int | None = None) -> str:
    """A metric's value; fractions of a catalogue are shown as %."""
    shown = value * 100 if is_percent(metric) and is_number(value) else value
    text = numbers.fixed(shown, numbers.places([shown]) if decimals is None else decimals)
    return f"{text} %" if is_percent(metric) and decimals is None and text != numbers.NONE else text


def finding_cell(word: str, sign: str) -> Html:
    """▲ better, ▼ worse, = not settled."""
    return html('<span class="rd-{tone}">{sign} {word}</span>', tone=tone(word), sign=sign, word=word)
