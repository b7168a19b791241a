"""What two metrics at once say of the runs, in words that follow the paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

from recdash.formatting import numbers
from recdash.formatting.wording import cut, listed, named_number
from recdash.metrics.naming import metric_at
from recdash.ui.app.state import View
from recdash.ui.components.tiles import value_text

if TYPE_CHECKING:
    from recdash.comparison.pairs import Pair
    from recdash.comparison.pareto import Beaten, TradeOff

MOST_NAMED = 4
LONGEST_NAME = 32
OPEN = {
    "not settled": "not separable on {}",
    "tie": "level on {} within the margin",
    "level": "equal on {}",
    "worse": "ahead on {} over the users they share",
}


def name(view: View, run_id: str) -> str:
    """As short as a heading bears it."""
    return cut(view.name(run_id), LONGEST_NAME)


def finding(view: View, found: TradeOff) -> str:
    """``ALS and EASE make the front; ItemKNN is beaten on both by ALS``."""
    if not found.places:
        return f"No run has both {_both(found)}"
    if len(found.places) == 1:
        return f"{name(view, found.front[0])} is the only run with both {_both(found)}"
    return f"{_front(view, found)}{_losers(view, found)}"


def _both(found: TradeOff) -> str:
    return listed([metric_at(goal.metric, found.k) for goal in reversed(found.goals)])


def _front(view: View, found: TradeOff) -> str:
    if len(found.front) == 1:
        return f"{name(view, found.front[0])} is best on both {_both(found)}"
    chosen = [run for run in found.front if run in view.contender_ids]
    if len(found.front) <= MOST_NAMED:
        return f"{listed([name(view, run) for run in found.front])} make the front"
    if not 0 < len(chosen) <= MOST_NAMED:
        return f"{numbers.count(len(found.front))} of {numbers.count(len(found.places))} runs make the front"
    others = len(found.front) - len(chosen)
    with_ = f" with {named_number(others).lower()} other{'s' if others > 1 else ''}" if others else ""
    verb = "makes" if len(chosen) == 1 else "make"
    return f"{listed([name(view, run) for run in chosen])} {verb} the front{with_}"


def _losers(view: View, found: TradeOff) -> str:
    settled = [one for one in found.beaten if one.settled]
    if not settled:
        return _behind(view, found.beaten)
    verb = "is" if len(settled) == 1 else "are"
    by = {one.by for one in settled}
    whom = f" by {name(view, settled[0].by)}" if len(by) == 1 else ""
    who = listed([name(view, one.run) for one in settled])
    if len(settled) > MOST_NAMED:
        who = f"{named_number(len(settled)).lower()} others"
    return f"; {who} {verb} beaten on both{whom}"


def _behind(view: View, beaten: Sequence[Beaten]) -> str:
    if not beaten:
        return ""
    if len(beaten) == 1:
        return f"; {name(view, beaten[0].run)} is behind {name(view, beaten[0].by)}, but that is not settled"
    return "; nobody is beaten beyond doubt"


def subtitle(found: TradeOff) -> str:
    """What stands where, and what decides the words."""
    n_users = {pair.paired.n for one in found.beaten for pair in one.pairs if pair}
    over = f" of {numbers.count(max(n_users))} users" if len(n_users) == 1 else ""
    paired = [metric_at(goal.metric, found.k) for goal in found.goals if goal.has_user_values]
    by_value = [metric_at(goal.metric, found.k) for goal in found.goals if not goal.has_user_values]
    words = f"Crosses: 95 % intervals. Who is beaten follows paired differences{over} (Holm)."
    plain = f"{listed(by_value)} {'has' if len(by_value) == 1 else 'have'} no interval: values decide."
    dotted = "Dotted line: the front, runs that no other beats on both by value."
    return " ".join([dotted, *([words] if paired else []), *([plain] if by_value else [])])


def sentence(view: View, found: TradeOff, one: Beaten) -> str:
    """``ItemKNN is beaten on both by ALS: nDCG@10 +0.0351 (CI …); Coverage@10 5.54 against 17.9 %.``"""
    run, by = view.name(one.run), view.name(one.by)
    numbers_of = "; ".join(_axis(view, found, one, axis) for axis in (1, 0))
    if one.settled:
        return f"{run} is beaten on both by {by}: {numbers_of}."
    open_ = [
        OPEN[side].format(metric_at(goal.metric, found.k))
        for side, goal in zip(one.sides, found.goals, strict=True)
        if side in OPEN
    ]
    return f"{run} is behind {by}, but {listed(open_)}: {numbers_of}."


def _axis(view: View, found: TradeOff, one: Beaten, axis: int) -> str:
    """What the better placed run has more of one metric."""
    goal, pair = found.goals[axis], one.pairs[axis]
    where = metric_at(goal.metric, found.k)
    if pair:
        return f"{where} of {view.name(one.by)} {_difference(pair)}"
    better, worse = (value_text(goal.metric, found.places[run][axis]) for run in (one.by, one.run))
    return f"{where} {better} against {worse}, by value"


def _difference(pair: Pair) -> str:
    low, high = pair.judged.corrected.low, pair.judged.corrected.high
    digits = numbers.places([pair.paired.mean, low, high])
    found = numbers.signed(pair.paired.mean, digits)
    return f"{found} (CI {numbers.interval(low, high, digits)})" if isfinite(low) else found


def members(view: View, found: TradeOff) -> str:
    """``On the front: EASE (best nDCG@10), ALS and Random (best Coverage@10).``"""
    x, y = (metric_at(goal.metric, found.k) for goal in found.goals)
    names = [view.name(run) for run in found.front]
    if len(names) == 1:
        return f"On the front: {names[0]}, best on both."
    named = [f"{names[0]} (best {y})", *names[1:-1], f"{names[-1]} (best {x})"]
    return f"On the front: {listed(named)}."
