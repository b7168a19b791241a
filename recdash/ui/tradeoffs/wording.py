"""Words about runs in two metrics at once, which follow from the paired differences."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from recdash.comparison.cells import metric_value
from recdash.formatting import numbers
from recdash.formatting.wording import CORRECTIONS, listed, many
from recdash.metrics.naming import metric_at
from recdash.ui.app.state import View

if TYPE_CHECKING:
    from recdash.comparison.pairs import Pair
    from recdash.comparison.pareto import Beaten, TradeOff
    from recdash.comparison.query import Terms

MOST_ON_FRONT = 8
"""How many runs a list of the front names; of more it gives the number."""
OPEN = {
    "not settled": "not significantly on {}",
    "tie": "on {} only within the margin",
    "level": "equal on {}",
    "worse": "worse on {} over the users they share",
}
"""How the run with the better value compares on a metric, for the end of a sentence."""


def name(view: View, run_id: str) -> str:
    """Returns a run's name, shortened for a heading."""
    return view.short(run_id)


def finding(view: View, tradeoff: TradeOff) -> str:
    """Returns the headline, such as ``2 of 3 runs are on the Pareto front; 1 is dominated by ALS``: the
    sentences below it name the runs.
    """
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
    n_front, n_runs = len(tradeoff.front), len(tradeoff.places)
    if n_front == n_runs:
        return f"{'Both' if n_runs == 2 else f'All {numbers.count(n_runs)}'} runs are on the Pareto front"
    return f"{numbers.count(n_front)} of {numbers.count(n_runs)} runs are on the Pareto front"


def _losers(view: View, tradeoff: TradeOff) -> str:
    settled = [beaten for beaten in tradeoff.beaten if beaten.settled]
    if not settled:
        return _behind(view, tradeoff)
    verb = "is" if len(settled) == 1 else "are"
    winners = {beaten.by for beaten in settled}
    by_winner = f" by {name(view, settled[0].by)}" if len(winners) == 1 else ""
    if len(settled) > 1:
        n_behind = len(tradeoff.beaten) - len(settled)
        behind = f", {n_behind} {'is' if n_behind == 1 else 'are'} behind, but not significantly"
        n_settled = numbers.count(len(settled))
        return f"; {n_settled} {verb} dominated{by_winner}{behind if n_behind else ''}"
    return f"; {name(view, settled[0].run)} is dominated{by_winner}"


def _behind(view: View, tradeoff: TradeOff) -> str:
    beaten = tradeoff.beaten
    if not beaten:
        return ""
    if len(beaten) == 1:
        return f"; {name(view, beaten[0].run)} is behind {name(view, beaten[0].by)}, but not significantly"
    return f"; no {'candidate' if _has_grey(view, tradeoff) else 'run'} is significantly dominated"


def _has_grey(view: View, tradeoff: TradeOff) -> bool:
    """Returns whether there are runs that are neither baseline nor candidates, which are not tested."""
    return not set(tradeoff.places) <= set(view.verdict_query.shown)


def subtitle(view: View, tradeoff: TradeOff) -> str:
    """Returns the line below the headline: what the lines and crosses of the chart mean."""
    paired = [metric_at(goal.metric, tradeoff.k) for goal in tradeoff.goals if goal.has_user_values]
    by_value = [metric_at(goal.metric, tradeoff.k) for goal in tradeoff.goals if not goal.has_user_values]
    rule, n_tested = CORRECTIONS.get(tradeoff.terms.correction), tradeoff.n_tested
    corrected = f" ({rule}-corrected over {many(n_tested, 'difference')})" if rule and n_tested > 1 else ""
    worse = f"worse on both, significantly on {listed(paired)}" if by_value else "significantly worse on both"
    crosses = f"Error bars: uncorrected 95 % CI. Dominated: {worse}{corrected}."
    plain = f"{listed(by_value)}: catalogue-level, no CI drawn here."
    dotted = "Dotted line: Pareto front."
    grey = "Grey runs are not tested."
    if len(tradeoff.places) < 2:
        return ""
    parts = {dotted: True, crosses: paired, plain: by_value, grey: _has_grey(view, tradeoff)}
    return " ".join(text for text, applies in parts.items() if applies)


def sentence(view: View, tradeoff: TradeOff, beaten: Beaten) -> str:
    """Returns a sentence on a pair, such as ``ALS dominates ItemKNN: nDCG@10 +0.0351 (95 % CI …,
    Holm-corrected); Coverage@10 5.54 vs 17.9 %.``
    """
    run, by = view.short(beaten.run), view.short(beaten.by)
    numbers_of = "; ".join(_axis(tradeoff, beaten, axis) for axis in (1, 0))
    if beaten.settled:
        return f"{by} dominates {run}: {numbers_of}."
    open_ = [_open(tradeoff, beaten, axis) for axis in (0, 1) if beaten.sides[axis] in OPEN]
    return f"{by} is ahead of {run}, but {listed(open_)}: {numbers_of}."


def _open(tradeoff: TradeOff, beaten: Beaten, axis: int) -> str:
    """Returns how the run with the better value compares on one metric; of a difference that only the
    correction leaves open, that it is significant alone.
    """
    side, pair, rule = beaten.sides[axis], beaten.pairs[axis], CORRECTIONS.get(tradeoff.terms.correction)
    text = OPEN[side].format(metric_at(tradeoff.goals[axis].metric, tradeoff.k))
    if side != "not settled" or pair is None or not rule or not pair.paired.excludes_zero:
        return text
    return f"{text} after {rule} over {many(tradeoff.n_tested, 'difference')}, but significantly alone"


def _axis(tradeoff: TradeOff, beaten: Beaten, axis: int) -> str:
    """Returns the difference on one metric, from the view of the run that is ahead."""
    goal, pair = tradeoff.goals[axis], beaten.pairs[axis]
    where = metric_at(goal.metric, tradeoff.k)
    if pair:
        return f"{where} {_difference(pair, tradeoff.terms)}"
    better, worse = (metric_value(goal.metric, tradeoff.places[run][axis]) for run in (beaten.by, beaten.run))
    return f"{where} {better.shown} vs {worse.shown}"


def _difference(pair: Pair, terms: Terms) -> str:
    low, high = pair.interval
    digits = numbers.places([pair.paired.mean, low, high])
    mean = numbers.signed(pair.paired.mean, digits)
    if not isfinite(low):
        return mean
    rule = CORRECTIONS.get(terms.correction)
    corrected = f", {rule}-corrected" if rule else ""
    return f"{mean} ({100 * terms.level:.3g} % CI {numbers.interval(low, high, digits)}{corrected})"


def members(view: View, tradeoff: TradeOff) -> str:
    """Returns the runs on the front, such as ``On the Pareto front: EASE (best nDCG@10), ALS and Random (best
    Coverage@10).``
    """
    x, y = (metric_at(goal.metric, tradeoff.k) for goal in tradeoff.goals)
    names = [view.short(run) for run in tradeoff.front]
    if len(names) == 1:
        return f"On the Pareto front: {names[0]}, best on both."
    if len(names) > MOST_ON_FRONT:
        ends = f"from {names[0]} (best {y}) to {names[-1]} (best {x})"
        return f"On the Pareto front: {numbers.count(len(names))} runs, {ends}."
    named = [f"{names[0]} (best {y})", *names[1:-1], f"{names[-1]} (best {x})"]
    return f"On the Pareto front: {listed(named)}."
