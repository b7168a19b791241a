"""How numbers that were frozen differ from those of today."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from recdash.decisions.checklist import rail_value
from recdash.decisions.snapshot import Difference, Guardrail, Lift, Offline, Online
from recdash.formatting import numbers

CLOSE = 1e-9
"""Relative: closer numbers were only added up in another order."""


@dataclass(frozen=True)
class Changed:
    """What is another now: ``then`` and ``now`` as a person reads them."""

    what: str
    then: str
    now: str


def offline_changes(then: Offline, now: Offline) -> list[Changed]:
    """``now``: the same question, asked again of the runs that are left."""
    return [
        *_verdict(then, now),
        *_pairs(then, now),
        *(one for old in then.guardrails for one in _rail(old, now)),
    ]


def online_changes(then: Online, now: Online) -> list[Changed]:
    """``now``: the same test as it is counted today."""
    today = {one.metric: one for one in now.lifts}
    found = [one for old in then.lifts for one in _lift(old, today.get(old.metric))]
    if then.blocked != now.blocked:
        words = {True: "broken", False: "as planned"}
        found.insert(0, Changed("Split of users", words[then.blocked], words[now.blocked]))
    return found


def _verdict(then: Offline, now: Offline) -> Iterator[Changed]:
    if then.headline != now.headline:
        yield Changed("Verdict", then.headline, now.headline)


def _pairs(then: Offline, now: Offline) -> Iterator[Changed]:
    """Of the pairs with the baseline, and of those in slices and by other metrics."""
    rows = (*now.pairs, *now.metrics, *now.slices)
    today = {one.key: one for one in rows}
    base = then.subject.baseline.id if then.subject.baseline else None
    for old in (*then.pairs, *then.metrics, *then.slices):
        new = today.get(old.key)
        if old.baseline == base and new is not None and _differ(old, new):
            where = f"{old.title}, {old.part}" if old.part else old.title
            yield Changed(f"{then.name(old.candidate)}: {where}", _pair_text(old), _pair_text(new))


def _differ(old: Difference, new: Difference) -> bool:
    ends = ("value", "base_value", "difference", "low", "high")
    same = all(_same(getattr(old, name), getattr(new, name)) for name in ends)
    return not same or (old.n, old.word) != (new.n, new.word)


def _pair_text(one: Difference) -> str:
    told = numbers.signed(one.difference, numbers.places([one.difference]))
    return f"{numbers.three(one.value)} ({told}, n = {numbers.count(one.n)}, {one.word})"


def _rail(old: Guardrail, now: Offline) -> Iterator[Changed]:
    new = next((one for one in now.guardrails if one.metric == old.metric), None)
    if new is not None and not (_same(old.value, new.value) and _same(old.base_value, new.base_value)):
        yield Changed(old.title, _from_to(old), _from_to(new))


def _from_to(one: Guardrail) -> str:
    return f"{rail_value(one.metric, one.base_value)} to {rail_value(one.metric, one.value)}"


def _lift(old: Lift, new: Lift | None) -> Iterator[Changed]:
    if new is None:
        yield Changed(old.title, _lift_text(old), "no longer counted")
    elif not (_same(old.lift, new.lift) and _same(old.value, new.value)) or old.word != new.word:
        yield Changed(old.title, _lift_text(old), _lift_text(new))


def _lift_text(one: Lift) -> str:
    percent = None if one.lift is None else 100 * one.lift
    told = f"{numbers.signed(percent, numbers.places([percent]))} %" if percent is not None else numbers.NONE
    return f"{numbers.three(one.value)} ({told}, {one.word or 'not judged'})"


def _same(old: float | None, new: float | None) -> bool:
    if old is None or new is None:
        return old is new
    return math.isclose(old, new, rel_tol=CLOSE, abs_tol=1e-12)
