"""Tells how much of a lift a few users with large values carry, and what it is without them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from recdash.domain.kinds import Floats
from recdash.errors import Problem
from recdash.formatting import numbers
from recdash.formatting.numbers import percent
from recdash.formatting.result_table import ResultTable
from recdash.online.analysis import choice
from recdash.online.analysis.comparison import LARGE, users_for_normal
from recdash.online.analysis.lift import CONFIDENCE, Estimate
from recdash.online.analysis.pair_values import PairValues, pair_values
from recdash.online.metrics import OnlineMetric
from recdash.online.users import OnlineUsers
from recdash.online.validity import ONE_LOOK

CAPPED_SHARE = 0.01
"""The capped lift lowers the values of this share of users to the largest value of all others."""
TRIMMED_SHARE = 0.001
"""The trimmed lift leaves out this share of the users of both variants: those with the largest values."""
MOST_OF_ONE_USER = 0.1
"""A larger share of a variant's total is noticed if one user has it."""
NOTE = (
    "Lifts are shares (0.05 = 5 %) with 95 % intervals, without CUPED. capped_*: values above 'cap' count as "
    "'cap'; 1 % of users have larger ones. trimmed_*: without the 0.1 % of users with the largest values, "
    "from 1,000 users on. needed_users: of each variant, for a normal approximation (Kohavi's rule)."
)


@dataclass(frozen=True)
class LargeValues:
    """What large values mean for the lift of a metric in a variant.

    ``needed_users`` is how many users each variant needs for a normal approximation of its mean, by the
    skewness of the values; ``n_users`` has the smaller one. ``top_user`` is the largest share of a variant's
    total that one user has, from 0 to 1, and ``top_variant`` that variant. ``cap`` is the value above which
    the capped lift counts no more; None if 99 % of users have 0. The trimmed lift is None below 1,000 users.
    """

    metric: str
    title: str
    variant: str
    n_users: int
    needed_users: int
    top_user: float
    top_variant: str
    lift: Estimate
    cap: float | None
    capped: Estimate | None
    trimmed: Estimate | None

    def record(self) -> dict[str, Any]:
        """Returns the fields as a row of a table, each lift in three columns."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        row: dict[str, Any] = {}
        for name, value in plain.items():
            if name not in ("lift", "capped", "trimmed"):
                row[name] = value
                continue
            ends = (value.value, value.low, value.high) if value is not None else (None, None, None)
            row |= dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))
        return row


def of_test(users: OnlineUsers, metrics: Sequence[OnlineMetric], control: str) -> Iterator[LargeValues]:
    """Yields the large values of each variant in each metric that adds up amounts, and is no rate."""
    others = [name for name in users.variants if name != control]
    for metric in metrics:
        for variant in others if control in users.variants else ():
            pair = _pair(users, metric, control, variant)
            if pair is not None:
                yield _of_pair(metric, (control, variant), pair)


def _pair(users: OnlineUsers, metric: OnlineMetric, control: str, variant: str) -> PairValues | None:
    """Returns the users of two variants; None if the metric does not add up amounts from 0 on."""
    if not metric.is_in(users.totals):
        return None
    codes = [users.variants.index(name) for name in (control, variant)]
    pair = pair_values(metric, users.totals, {}, users.variant, *codes)
    values = pair.numerator
    is_rate = bool(np.isin(values, (0.0, 1.0)).all())
    is_positive = bool(values.min(initial=0.0) >= 0 and pair.denominator.sum() > 0)
    return None if is_rate or not is_positive or min(pair.sizes) < ONE_LOOK.users else pair


def table(rows: Sequence[LargeValues]) -> ResultTable:
    """Returns the rows as a table, each lift in three columns."""
    records = tuple(row.record() for row in rows)
    columns = tuple(records[0]) if records else ("metric", "variant")
    return ResultTable("Large values", columns, records, NOTE)


def notices(users: OnlineUsers, metrics: Sequence[OnlineMetric], control: str) -> Iterator[Problem]:
    """Yields a notice of each goal and guardrail that few users carry, of the variant with fewest users."""
    n = users.n
    variant = min((name for name in n if name != control), key=lambda name: (n[name], name), default=None)
    if variant is None or control not in n:
        return
    for metric in metrics:
        pair = None
        if metric.role != "other" and metric.cap is None:
            pair = _pair(users, metric, control, variant)
        if pair is None or not (_top_user(pair)[0] > MOST_OF_ONE_USER or _is_skewed(pair)):
            continue
        row = _of_pair(metric, (control, variant), pair)
        if row.top_user > MOST_OF_ONE_USER:
            share = numbers.three(100 * row.top_user)
            message = f"one user has {share} % of the total of '{row.top_variant}'. {_beside(row)}"
            fix = "Is that user real? A cap for the metric limits what one user can decide."
            yield Problem("one-user-decides", f"metric '{metric.name}'", message, fix, 1)
        else:
            message = (
                f"a variant has {row.n_users:,} users. A normal approximation of values this skewed needs "
                f"{row.needed_users:,}, so p and interval come from random splits of users. {_beside(row)}"
            )
            fix = "Wait for more users, or give the metric a cap if the largest values are errors."
            yield Problem("skewed-values", f"metric '{metric.name}'", message, fix, 1)


def _is_skewed(pair: PairValues) -> bool:
    """Returns True if skewness, and not only a small number, asks for more users than a variant has."""
    return max(min(pair.sizes), LARGE) < users_for_normal(pair)


def _beside(row: LargeValues) -> str:
    """Returns the capped lift beside the lift as a sentence, or why there is none."""
    if row.capped is None or row.cap is None:
        return "There is no capped lift: fewer than 1 % of users have a value above 0."
    lift, interval = in_words(row.lift)
    capped, of_capped = in_words(row.capped)
    return (
        f"The lift of '{row.variant}' is {lift} ({interval}); with values above {numbers.three(row.cap)} "
        f"counted as {numbers.three(row.cap)}, it is {capped} ({of_capped})."
    )


def in_words(lift: Estimate) -> tuple[str, str]:
    """Returns a lift and its interval as texts."""
    amount, interval = numbers.estimate(percent(lift.value), percent(lift.low), percent(lift.high), " %")
    return amount, interval if lift.low is not None else "no interval"


def _of_pair(metric: OnlineMetric, names: tuple[str, str], pair: PairValues) -> LargeValues:
    top_user, top = _top_user(pair)
    is_mean = bool((pair.denominator == 1).all())
    cap = float(np.quantile(pair.numerator, 1 - CAPPED_SHARE, method="lower")) if is_mean else 0.0
    capped = replace(pair, numerator=np.minimum(pair.numerator, cap)) if cap > 0 else None
    return LargeValues(
        metric=metric.name,
        title=metric.title,
        variant=names[1],
        n_users=min(pair.sizes),
        needed_users=users_for_normal(pair),
        top_user=top_user,
        top_variant=names[top],
        lift=_lift(metric, pair),
        cap=cap if cap > 0 else None,
        capped=_lift(metric, capped) if capped is not None else None,
        trimmed=_trimmed(metric, pair),
    )


def _top_user(pair: PairValues) -> tuple[float, int]:
    """Returns the largest share of a group's total that one user has, and the group: 0 control, 1 variant."""
    shares = [_largest_share(pair.numerator[side]) for side in (~pair.is_variant, pair.is_variant)]
    return max(shares), int(shares[1] > shares[0])


def _largest_share(values: Floats) -> float:
    total = float(values.sum())
    return float(values.max()) / total if total > 0 else 0.0


def _lift(metric: OnlineMetric, pair: PairValues) -> Estimate:
    return choice.of_users(metric, pair).shown.lift(CONFIDENCE)


def _trimmed(metric: OnlineMetric, pair: PairValues) -> Estimate | None:
    """Returns the lift without the users with the largest values, and at most that share; None if it is less
    than one user.
    """
    n_out = int(TRIMMED_SHARE * len(pair.numerator))
    if not n_out:
        return None
    least = np.partition(pair.numerator, -n_out - 1)[-n_out - 1]
    kept = pair.numerator <= least
    return _lift(metric, PairValues(pair.numerator[kept], pair.denominator[kept], pair.is_variant[kept]))
