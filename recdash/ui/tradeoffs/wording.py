"""What two metrics at once say of the runs, in words that follow the paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

from recdash.comparison.cells import metric_value
from recdash.formatting import numbers
from recdash.formatting.wording import cut, listed, named_number
from recdash.metrics.naming import metric_at
from recdash.ui.app.state import View

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
    """A run's name, shortened for a heading."""
    return cut(view.name(run_id), LONGEST_NAME)


def finding(view: View, tradeoff: TradeOff) -> str:
    """``ALS and EASE make the front; ItemKNN is beaten on both by ALS``."""
    if not tradeoff.places:
        return f"No run has both {_both(tradeoff)}"
    if len(tradeoff.places) == 1:
        return f"{name(view, tradeoff.front[0])} is the only run with both {_both(tradeoff)}"
    return f"{_front(view, tradeoff)}{_losers(view, tradeoff)}"


def _both(tradeoff: TradeOff) -> str:
    return listed([metric_at(goal.metric, tradeoff.k) for goal in reversed(tradeoff.goals)])


def _front(view: View, tradeoff: TradeOff) -> str:
    if len(tradeoff.front) == 1:
        return f"{name(view, tradeoff.front[0])} is best on both {_both(tradeoff)}"
    chosen = [run for run in tradeoff.front if run in view.verdict_query.shown]
    if len(tradeoff.front) <= MOST_NAMED:
        return f"{listed([name(view, run) for run in tradeoff.front])} make the front"
    if not 0 < len(chosen) <= MOST_NAMED:
        n_front, n_runs = numbers.count(len(tradeoff.front)), numbers.count(len(tradeoff.places))
        return f"{n_front} of {n_runs} runs make the front"
    others = len(tradeoff.front) - len(chosen)
    with_ = f" with {named_number(others).lower()} other{'s' if others > 1 else ''}" if others else ""
    verb = "makes" if len(chosen) == 1 else "make"
    return f"{listed([name(view, run) for run in chosen])} {verb} the front{with_}"


def _losers(view: View, tradeoff: TradeOff) -> str:
    settled = [beaten for beaten in tradeoff.beaten if beaten.settled]
    if not settled:
        return _behind(view, tradeoff.beaten)
    verb = "is" if len(settled) == 1 else "are"
    by = {beaten.by for beaten in settled}
    whom = f" by {name(view, settled[0].by)}" if len(by) == 1 else ""
    losers = listed([name(view, beaten.run) for beaten in settled])
    if len(settled) > MOST_NAMED:
        losers = f"{named_number(len(settled)).lower()} others"
    return f"; {losers} {verb} beaten on both{whom}"


def _behind(view: View, beaten: Sequence[Beaten]) -> str:
    if not beaten:
        return ""
    if len(beaten) == 1:
        return f"; {name(view, beaten[0].run)} is behind {name(view, beaten[0].by)}, but that is not settled"
    return "; nobody is beaten beyond doubt"


def subtitle(tradeoff: TradeOff) -> str:
    """The line under the title: the axes, and what decides the words."""
    n_users = {pair.paired.n for beaten in tradeoff.beaten for pair in beaten.pairs if pair}
    over = f" of {numbers.count(max(n_users))} users" if len(n_users) == 1 else ""
    paired = [metric_at(goal.metric, tradeoff.k) for goal in tradeoff.goals if goal.has_user_values]
    by_value = [metric_at(goal.metric, tradeoff.k) for goal in tradeoff.goals if not goal.has_user_values]
    words = f"Crosses: 95 % intervals. Who is beaten follows paired differences{over} (Holm)."
    plain = f"{listed(by_value)} {'has' if len(by_value) == 1 else 'have'} no interval: values decide."
    dotted = "Dotted line: the front, runs that no other beats on both by value."
    return " ".join([dotted, *([words] if paired else []), *([plain] if by_value else [])])


def sentence(view: View, tradeoff: TradeOff, beaten: Beaten) -> str:
    """``ItemKNN is beaten on both by ALS: nDCG@10 +0.0351 (CI …); Coverage@10 5.54 against 17.9 %.``"""
    run, by = view.name(beaten.run), view.name(beaten.by)
    numbers_of = "; ".join(_axis(view, tradeoff, beaten, axis) for axis in (1, 0))
    if beaten.settled:
        return f"{run} is beaten on both by {by}: {numbers_of}."
    open_ = [
        OPEN[side].format(metric_at(goal.metric, tradeoff.k))
        for side, goal in zip(beaten.sides, tradeoff.goals, strict=True)
        if side in OPEN
    ]
    return f"{run} is behind {by}, but {listed(open_)}: {numbers_of}."


def _axis(view: View, tradeoff: TradeOff, beaten: Beaten, axis: int) -> str:
    """What the better placed run has more of one metric."""
    goal, pair = tradeoff.goals[axis], beaten.pairs[axis]
    where = metric_at(goal.metric, tradeoff.k)
    if pair:
        return f"{where} of {view.name(beaten.by)} {_difference(pair)}"
    better, worse = (metric_value(goal.metric, tradeoff.places[run][axis]) for run in (beaten.by, beaten.run))
    return f"{where} {better.shown} against {worse.shown}, by value"


def _difference(pair: Pair) -> str:
    low, high = pair.judged.corrected.low, pair.judged.corrected.high
    digits = numbers.places([pair.paired.mean, low, high])
    mean = numbers.signed(pair.paired.mean, digits)
    return f"{mean} (CI {numbers.interval(low, high, digits)})" if isfinite(low) else mean


def members(view: View, tradeoff: TradeOff) -> str:
    """``On the front: EASE (best nDCG@10), ALS and Random (best Coverage@10).``"""
    x, y = (metric_at(goal.metric, tradeoff.k) for goal in tradeoff.goals)
    names = [view.name(run) for run in tradeoff.front]
    if len(names) == 1:
        return f"On the front: {names[0]}, best on both."
    named = [f"{names[0]} (best {y})", *names[1:-1], f"{names[-1]} (best {x})"]
    return f"On the front: {listed(named)}."
