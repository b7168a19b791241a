"""Shows four of a decision's numbers as tiles, with their values at that time."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, nan

from recdash.charts.marks import CONTEXT_GREY, Mark
from recdash.comparison import relative
from recdash.comparison.cells import metric_value
from recdash.comparison.guardrails import EXCEEDS, WITHIN
from recdash.decisions import Offline, Online
from recdash.decisions.snapshot import Difference, Guardrail, Lift, Named
from recdash.formatting import numbers
from recdash.formatting.html import Html
from recdash.formatting.numbers import is_number, percent
from recdash.formatting.signs import sign_of, sign_of_change
from recdash.formatting.wording import adjusted, small
from recdash.metrics.naming import less_is_wanted
from recdash.ui.app.state import View
from recdash.ui.components import tiles as cards
from recdash.ui.components.online_tests import SHARE
from recdash.ui.components.tiles import Strip, Tile

TILES = 4
FINDING_PRIORITY = ("worse", "not settled", "tie", "better")
"""Findings in the order in which they deserve a tile: those against the candidate come first."""
AGAINST = ("worse", "broken", EXCEEDS)
ONLINE_PRIORITY = ("worse", "broken", "better", "holds", "not settled", "not judged", "")


def tiles(offline: Offline | None, online: Sequence[Online]) -> list[Tile]:
    """Returns tiles for the primary metric, two online goals (else another metric), a guardrail and a slice:
    what speaks against the candidate before the others.

    Empty if the decision has no offline numbers of the run that it is about.
    """
    if offline is None or offline.own is None:
        return []
    goals = sorted((lift for test in online for lift in test.of_role("goal")), key=_online_rank)
    lifts = [*map(_of_lift, goals[:2])]
    if offline.metrics and not goals:
        lifts = [_of_difference(_most_important(offline.metrics))]
    rails = [_of_rail(rail) for rail in sorted(offline.guardrails, key=_rail_rank)[:1]]
    parts = [_of_difference(_most_important(offline.slices))] if offline.slices else []
    # what speaks against the candidate, of each kind one before a second lift, then the others
    against = [tile for tile in (*lifts[:1], *parts, *rails, *lifts[1:]) if tile.word in AGAINST]
    others = [tile for tile in (*lifts, *rails, *parts) if tile.word not in AGAINST]
    return [_of_difference(offline.own), *against, *others][:TILES]


def show(view: View, offline: Offline | None, online: Sequence[Online]) -> Html:
    """Returns the tiles as HTML; empty if there are none."""
    chosen = tiles(offline, online)
    run = offline.subject.run if offline else None
    return cards.tiles_html(chosen, mark_of(view, run)) if chosen and run else Html("")


def mark_of(view: View, run: Named) -> Mark:
    """Returns the run's mark with its name at that time; grey if the run was deleted."""
    known = view.marks.get(run.id)
    if known is None:
        return Mark(run.id, run.name, CONTEXT_GREY, "circle", "candidate")
    return Mark(run.id, run.name, known.colour, known.shape, known.role)


def _most_important(differences: Sequence[Difference]) -> Difference:
    return min(
        differences,
        key=lambda row: (FINDING_PRIORITY.index(row.word) if row.word in FINDING_PRIORITY else 0, -row.n),
    )


def _rail_rank(rail: Guardrail) -> tuple[bool, bool]:
    """Returns the rank by which the page Recommendation chooses its guardrail, too: a broken one, then one
    that may be broken, then the first of the experiment's rules.
    """
    loss = rail.high if less_is_wanted(rail.metric) else None if rail.low is None else -rail.low
    return not rail.broken, not (loss is not None and loss > rail.guard)


def _online_rank(lift: Lift) -> int:
    return ONLINE_PRIORITY.index(lift.word) if lift.word in ONLINE_PRIORITY else len(ONLINE_PRIORITY)


# ── one tile ─────────────────────────────────────────────────────────────────────────────────


def _of_difference(pair: Difference) -> Tile:
    """Returns the tile of a difference in % of the baseline's value; in units of the metric if that value is
    0.
    """
    amounts = (pair.difference, *interval_of(pair))
    shares = [percent(pair.share(amount)) for amount in amounts]
    unit, amounts_shown = (" %", shares) if is_number(shares[0]) else ("", list(amounts))
    title = f"{pair.title}, {pair.part.partition(' (')[0]}" if pair.part else pair.title
    value, change = metric_value(pair.metric, pair.value).shown, numbers.change(amounts_shown[0], unit)
    note = f"{_interval(amounts_shown, unit)}, n = {numbers.count(pair.n)}"
    strip = _strip(shares, hollow=pair.word in ("tie", "not settled"))
    return Tile(title, value, sign_of(pair.word), change, pair.word, note, strip)


def interval_of(pair: Difference) -> tuple[float | None, float | None]:
    """Returns the ends of a difference's interval: not below the largest possible loss, as on other pages."""
    least = relative.largest_loss(pair.metric)
    if pair.low is None or pair.base_value is None or pair.base_value <= 0 or not isfinite(least):
        return pair.low, pair.high
    return max(pair.low, least * pair.base_value), pair.high


def _of_lift(row: Lift) -> Tile:
    """Returns the tile of a lift, in % of the control's value."""
    percents = [percent(amount) for amount in (row.lift, row.low, row.high)]
    change, ends = numbers.estimate(percents[0], percents[1], percents[2], " %")
    interval = "no interval" if ends == numbers.NONE else f"95 % CI {ends}"
    beside = adjusted(row.plain, "; {}")
    note = f"{interval}, n = {numbers.count(row.n)}{beside}" if row.lift is not None else row.note
    strip = _strip(percents, hollow=row.word not in ("better", "worse"))
    title, value = f"Online: {small(row.title)}", online_value(row, row.value)
    return Tile(title, value, sign_of(row.word), change, row.word or "not judged", note, strip)


def online_value(lift: Lift, value: float | None) -> str:
    """Returns the value of an online metric as text: shares in %, others with three significant digits and
    their unit, unless the metric's title says it.
    """
    if lift.unit == SHARE and value is not None:
        return f"{numbers.three(100 * value)} %"
    unit = "" if value is None or lift.unit in small(lift.title) else f" {lift.unit}"
    return f"{numbers.three(value)}{unit}"


def _of_rail(rail: Guardrail) -> Tile:
    sign = sign_of_change(gain_of(rail))
    word = EXCEEDS if rail.broken else WITHIN
    value, base = (metric_value(rail.metric, value).shown for value in (rail.value, rail.base_value))
    note = f"from {base}; {rail_interval(rail)}"
    return Tile(rail.title, value, sign, relative.share(_change(rail)), word, note)


def _change(rail: Guardrail) -> float:
    return nan if rail.change is None else rail.change


def gain_of(rail: Guardrail) -> float | None:
    """Returns the guardrail's change, signed so that more is better; None if it is unknown."""
    return -rail.change if rail.change is not None and less_is_wanted(rail.metric) else rail.change


def rail_interval(rail: Guardrail) -> str:
    """Returns the interval of the guardrail's change, such as ``95 % CI −28.0 to −20.1 %``, or why there is
    none.
    """
    if rail.low is None or rail.high is None:
        return f"no interval: {rail.why_no_interval}"
    return f"95 % CI {relative.share_bounds(rail.low, rail.high, _change(rail))}"


def _interval(amounts: Sequence[float | None], unit: str) -> str:
    ends = numbers.interval(amounts[1], amounts[2], numbers.places(amounts[1:]), unit)
    return "no interval" if ends == numbers.NONE else f"95 % CI {ends}"


def _strip(shares: Sequence[float], *, hollow: bool) -> Strip | None:
    middle, low, high = shares
    return Strip(low, middle, high, hollow) if all(map(is_number, shares)) else None
