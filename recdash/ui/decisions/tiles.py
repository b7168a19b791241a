"""Four of a decision's numbers as tiles, as they stood."""

from __future__ import annotations

from collections.abc import Sequence

from recdash.charts.marks import CONTEXT_GREY, Mark
from recdash.comparison.guardrails import ABOVE, BELOW, LESS_IS_BETTER
from recdash.decisions import Offline, Online
from recdash.decisions.checklist import rail_value
from recdash.decisions.snapshot import Difference, Guardrail, Lift, Named
from recdash.formatting import numbers
from recdash.formatting.html import Html
from recdash.online.analysis.judgement import SIGNS as ONLINE_SIGNS
from recdash.stats.family import SIGNS
from recdash.ui.app.state import View
from recdash.ui.components import tiles as cards
from recdash.ui.components.tiles import Strip, Tile

TILES = 4
TELLING = ("worse", "not settled", "tie", "better")
"""Which of several is worth a tile: first what speaks against the candidate."""
ONLINE_TELLING = ("worse", "broken", "better", "holds", "not settled", "not judged", "")
SHARE = "0..1"


def tiles(offline: Offline | None, online: Sequence[Online]) -> list[Tile]:
    """The primary metric, two online goals or else another metric, a guardrail and a slice."""
    if offline is None or offline.own is None:
        return []
    goals = sorted((lift for one in online for lift in one.of_role("goal")), key=_online_rank)
    found = [_of_difference(offline.own), *map(_of_lift, goals[:2])]
    if offline.metrics and not goals:
        found.append(_of_difference(_telling(offline.metrics)))
    if offline.guardrails:
        found.append(_of_rail(min(offline.guardrails, key=lambda one: gain_of(one) or 0.0)))
    if offline.slices:
        found.append(_of_difference(_telling(offline.slices)))
    return found[:TILES]


def show(view: View, offline: Offline | None, online: Sequence[Online]) -> Html:
    """Nothing where there was no difference to show."""
    found = tiles(offline, online)
    run = offline.subject.run if offline else None
    return cards.tiles_html(found, mark_of(view, run)) if found and run else Html("")


def mark_of(view: View, run: Named) -> Mark:
    """The run's colour and shape under the name that it had; grey where it is gone."""
    known = view.marks.get(run.id)
    if known is None:
        return Mark(run.id, run.name, CONTEXT_GREY, "circle", "candidate")
    return Mark(run.id, run.name, known.colour, known.shape, known.role)


def _telling(found: Sequence[Difference]) -> Difference:
    return min(found, key=lambda one: (TELLING.index(one.word) if one.word in TELLING else 0, -one.n))


def _online_rank(one: Lift) -> int:
    return ONLINE_TELLING.index(one.word) if one.word in ONLINE_TELLING else len(ONLINE_TELLING)


# ── one tile ─────────────────────────────────────────────────────────────────────────────────


def _of_difference(one: Difference) -> Tile:
    """In % of the baseline's value; in units of the metric where that is 0."""
    amounts = (one.difference, one.low, one.high)
    shares = [_percent(one.share(amount)) for amount in amounts]
    unit, shown = (" %", shares) if shares[0] is not None else ("", list(amounts))
    title = f"{one.title}, {one.part.partition(' (')[0]}" if one.part else one.title
    sign = next((sign for word, sign in SIGNS.items() if word == one.word), "=")
    value = cards.value_text(one.metric, one.value) if one.value is not None else numbers.NONE
    note = f"{_interval(shown, unit)}, n = {numbers.count(one.n)}"
    strip = _strip(shares, hollow=one.word in ("tie", "not settled"))
    return Tile(title, value, sign, _signed(shown[0], unit), one.word, note, strip)


def _of_lift(one: Lift) -> Tile:
    """In % of the control's value."""
    shown = [_percent(amount) for amount in (one.lift, one.low, one.high)]
    sign = next((sign for word, sign in ONLINE_SIGNS.items() if word == one.word), "=")
    note = f"{_interval(shown, ' %')}, n = {numbers.count(one.n)}" if one.lift is not None else one.note
    strip = _strip(shown, hollow=one.word not in ("better", "worse"))
    return Tile(
        f"Online: {one.title[:1].lower()}{one.title[1:]}", online_value(one, one.value), sign,
        _signed(shown[0], " %"), one.word or "not judged", note, strip,
    )  # fmt: skip


def online_value(one: Lift, value: float | None) -> str:
    """A share in %, anything else with its own three digits."""
    if one.unit == SHARE and value is not None:
        return f"{numbers.three(100 * value)} %"
    return numbers.three(value)


def _of_rail(one: Guardrail) -> Tile:
    percent = _percent(one.change)
    gain = gain_of(one)
    sign = "=" if gain is None else numbers.glyph(gain, gain)
    beyond = ABOVE if one.metric in LESS_IS_BETTER else BELOW
    word = beyond if one.broken else "within its guardrail"
    note = f"from {rail_value(one.metric, one.base_value)}; {rail_interval(one)}"
    return Tile(one.title, rail_value(one.metric, one.value), sign, _signed(percent, " %"), word, note)


def gain_of(one: Guardrail) -> float | None:
    """The change turned so that more is better."""
    return -one.change if one.change is not None and one.metric in LESS_IS_BETTER else one.change


def rail_interval(one: Guardrail) -> str:
    """``95 % CI −28.0 to −20.1 %``, or why there is none."""
    if one.low is None or one.high is None:
        return f"no interval: {one.why_no_interval}"
    low, high = 100 * one.low, 100 * one.high
    return f"95 % CI {numbers.interval(low, high, numbers.places([low, high]), ' %')}"


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _signed(value: float | None, unit: str) -> str:
    return numbers.NONE if value is None else f"{numbers.signed(value, numbers.places([value]))}{unit}"


def _interval(found: Sequence[float | None], unit: str) -> str:
    ends = numbers.interval(found[1], found[2], numbers.places(found[1:]), unit)
    return "no interval" if ends == numbers.NONE else f"95 % CI {ends}"


def _strip(shares: Sequence[float | None], *, hollow: bool) -> Strip | None:
    middle, low, high = shares
    if middle is None or low is None or high is None:
        return None
    return Strip(low, middle, high, hollow)
