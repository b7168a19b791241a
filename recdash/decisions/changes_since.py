"""Compares the numbers of a snapshot with the current ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from recdash.comparison.recommendation import ACTIONS
from recdash.decisions.checklist import rail_values
from recdash.decisions.snapshot import Difference, Guardrail, Lift, Offline, Online
from recdash.formatting import numbers
from recdash.formatting.wording import shown

CLOSE = 1e-6
"""Relative difference below which numbers count as equal: they were summed in another order, and look equal
when displayed.
"""


@dataclass(frozen=True)
class Changed:
    """A number or text that has changed since a snapshot; ``then`` and ``now`` are texts."""

    what: str
    then: str
    now: str


def offline_changes(then: Offline, now: Offline) -> list[Changed]:
    """Returns the changes since the snapshot ``then``. ``now`` is the current answer to the same question,
    over the runs that still exist.
    """
    return [
        *_verdict(then, now),
        *_pairs(then, now),
        *(changed for old in then.guardrails for changed in _rail(old, now)),
    ]


def online_changes(then: Online, now: Online) -> list[Changed]:
    """Returns the changes since the snapshot ``then``. ``now`` is the same A/B test as it is counted
    today.
    """
    today = {lift.metric: lift for lift in now.lifts}
    changes = [changed for old in then.lifts for changed in _lift(old, today.get(old.metric))]
    if then.blocked != now.blocked:
        changes.insert(0, Changed("Split of users", then.split, now.split))
    return changes


def _verdict(then: Offline, now: Offline) -> Iterator[Changed]:
    """Yields the change of the recommendation, if it changed. Snapshots of older releases, whose state is not
    an action, are not compared.
    """
    if then.state in ACTIONS and then.headline != now.headline:
        yield Changed("Recommendation", then.headline, now.headline)


def _pairs(then: Offline, now: Offline) -> Iterator[Changed]:
    """Yields changes in the differences from the baseline: of the main metric, of other metrics and in
    slices.
    """
    today = {difference.key: difference for difference in (*now.pairs, *now.metrics, *now.slices)}
    base = then.subject.baseline.id if then.subject.baseline else None
    for old in (*then.pairs, *then.metrics, *then.slices):
        new = today.get(old.key)
        if old.baseline == base and new is not None and _differ(old, new):
            where = f"{old.title}, {old.part}" if old.part else old.title
            yield Changed(f"{then.name(old.candidate)}: {where}", _pair_text(old), _pair_text(new))


def _differ(old: Difference, new: Difference) -> bool:
    """Returns whether anything changed that is told. Intervals are not: those of older releases may have
    another level.
    """
    told = ("value", "base_value", "difference")
    same = all(_same(getattr(old, name), getattr(new, name)) for name in told)
    return not same or (old.n, old.word) != (new.n, new.word)


def _pair_text(pair: Difference) -> str:
    amount = numbers.signed(pair.difference, numbers.places([pair.difference]))
    return f"{numbers.three(pair.value)} ({amount}, n = {numbers.count(pair.n)}, {shown(pair.word)})"


def _rail(old: Guardrail, now: Offline) -> Iterator[Changed]:
    new = next((rail for rail in now.guardrails if rail.metric == old.metric), None)
    if new is not None and not (_same(old.value, new.value) and _same(old.base_value, new.base_value)):
        yield Changed(old.title, rail_values(old), rail_values(new))


def _lift(old: Lift, new: Lift | None) -> Iterator[Changed]:
    if new is None:
        yield Changed(old.title, _lift_text(old), "no longer counted")
    elif not (_same(old.lift, new.lift) and _same(old.value, new.value)) or old.word != new.word:
        yield Changed(old.title, _lift_text(old), _lift_text(new))


def _lift_text(lift: Lift) -> str:
    change = numbers.NONE
    if lift.lift is not None:
        change = f"{numbers.signed(100 * lift.lift, numbers.places([100 * lift.lift]))} %"
    return f"{numbers.three(lift.value)} ({change}, {shown(lift.word) or 'not judged'})"


def _same(old: float | None, new: float | None) -> bool:
    if old is None or new is None:
        return old is new
    return math.isclose(old, new, rel_tol=CLOSE, abs_tol=1e-12)
