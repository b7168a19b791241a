"""An uploaded online test → its results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from recdash.domain.inputs import Upload
from recdash.errors import Problem
from recdash.online.analysis import aggregates, health, judgement, power, sequential
from recdash.online.analysis import lift as compare
from recdash.online.logs.sessions import per_user
from recdash.online.metrics import KNOWN, OnlineMetric
from recdash.online.rules import USUAL, OnlineRules
from recdash.online.users import OnlineUsers, Removed
from recdash.online.validity import MANY_LOOKS
from recdash.stats import Correction

if TYPE_CHECKING:
    from recdash.online.analysis.judgement import Word


@dataclass(frozen=True)
class OnlineRow:
    """One metric in one variant. Lifts are relative (0.05 = 5 % above the control), intervals 95 %.

    ``n_users`` may be trials where the upload says so. ``numerator`` and ``denominator`` are sums over the
    users. ``lift`` is adjusted by what users did before the test (CUPED) where that is known and makes the
    interval narrower, ``plain_lift`` is then the one that is not. ``corrected_*``: within the family of all
    goals; ``sequence_*``: an interval that may be looked at every day, and ``sequence_note`` says why there
    is none yet. ``word`` says what the lift means for the metric's role, ``more_users`` how many more would
    most likely settle it. A number that cannot be had is None, and ``note`` says why; it also tells of a
    method that is not the usual one.
    """

    metric: str
    title: str
    unit: str
    variant: str
    is_control: bool
    n_users: int
    value: float | None
    ci_low: float | None
    ci_high: float | None
    lift: float | None
    lift_low: float | None
    lift_high: float | None
    p: float | None
    note: str
    role: str = "goal"
    direction: str = "up"
    margin: float | None = None
    numerator: float | None = None
    denominator: float | None = None
    plain_lift: float | None = None
    plain_low: float | None = None
    plain_high: float | None = None
    p_corrected: float | None = None
    corrected_low: float | None = None
    corrected_high: float | None = None
    sequence_low: float | None = None
    sequence_high: float | None = None
    word: Word = ""
    more_users: int | None = None
    sequence_note: str = ""

    @property
    def is_adjusted(self) -> bool:
        """Whether the lift is adjusted by what users did before the test (CUPED)."""
        return self.plain_lift is not None

    @property
    def narrower(self) -> float | None:
        """The share by which CUPED made the interval narrower; None where it was not used."""
        if None in (self.lift_low, self.plain_low):
            return None
        return 1 - (self.lift_high - self.lift_low) / (self.plain_high - self.plain_low)  # type: ignore[operator]


@dataclass(frozen=True)
class OnlineResults:
    """``variants`` with the control first, ``rows`` metric by metric in that order.

    ``users`` that count, by variant (empty where that is not known); ``removed``: what the rules left out.
    """

    control: str
    variants: tuple[str, ...]
    rows: tuple[OnlineRow, ...]
    health: health.Health
    notices: tuple[Problem, ...]
    users: Mapping[str, int]
    removed: tuple[Removed, ...] = ()

    def records(self) -> list[dict[str, Any]]:
        """The rows as plain values, for a table or for the store."""
        return [asdict(row) for row in self.rows]


@dataclass(frozen=True)
class Measured:
    """A metric with its aggregates (count, means, variances) by variant.

    ``planned_users``: see ``OnlineRules``.
    """

    metric: OnlineMetric
    arms: Mapping[str, Any]
    planned_users: int | None = None


def results_of_upload(
    upload: Upload, control: str | None = None, rules: OnlineRules = USUAL
) -> OnlineResults:
    """Values, lifts and intervals of every metric and variant of uploaded sessions or aggregates.

    ``control`` None: the variant whose name says so, else the first by name with a notice.
    Raises InputError for a table that holds no test, UnknownName for an unknown control.
    """
    if upload.kind == "sessions":
        return of_users(per_user(upload.table, rules), control, rules)
    return of_summaries(aggregates.summaries(upload.table), control, rules)


def of_users(
    users: OnlineUsers,
    control: str | None = None,
    rules: OnlineRules = USUAL,
    metrics: Sequence[OnlineMetric] = KNOWN,
    correction: Correction = "holm",
) -> OnlineResults:
    """The results of a test that is known user by user; of ``metrics`` those that the logs allow."""
    arms = arms_of(users)
    measured = [Measured(one, arms, rules.planned_users) for one in metrics if one.is_in(users.totals)]
    chosen, guessed = health.control_among(sorted(users.variants), control)
    srm_p, wrong = health.of_users(users, rules.split)
    wrong += health.fading(users, [one.metric for one in measured if one.metric.role == "goal"], chosen)
    crossed = health.crossovers(users.crossed, sum(users.assigned.values()) + users.crossed)
    many = tuple(one for one in crossed if one.code == "many-crossovers")
    alone = "there is one variant" if srm_p is None else ""
    found = health.Health(srm_p, users.crossed, (*wrong, *many), unchecked=alone)
    few = tuple(one for one in crossed if one not in many)
    notices = (*guessed, *few, *health.few_days(users), *users.notices)
    return _results(measured, users.n, chosen, found, notices, users.removed, correction=correction)


def arms_of(users: OnlineUsers) -> dict[str, Any]:
    """tea-tasting's aggregates of each variant; the totals of the time before have names of their own."""
    earlier = {f"{compare.BEFORE}{name}": values for name, values in users.before.items()}
    totals = {**users.totals, **earlier}
    return dict(zip(users.variants, compare.arms(totals, users.variant), strict=True))


def of_summaries(
    rows: Sequence[aggregates.Summary],
    control: str | None = None,
    rules: OnlineRules = USUAL,
    metrics: Sequence[OnlineMetric] = (),
    correction: Correction = "holm",
) -> OnlineResults:
    """The results of a test that somebody else added up; ``metrics`` say the roles of those named there."""
    measured = [
        Measured(metric, arms, rules.planned_users) for metric, arms in aggregates.measured(rows, metrics)
    ]
    names = sorted({variant for one in measured for variant in one.arms})
    chosen, guessed = health.control_among(names, control)
    found, users = health.of_summary(aggregates.user_counts(rows), names, rules.split)
    notices = (*guessed, *aggregates.notices(rows))
    return _results(measured, users, chosen, found, notices, (), correction=correction)


def _results(
    measured: Sequence[Measured],
    users: Mapping[str, int],
    control: str,
    found: health.Health,
    notices: tuple[Problem, ...],
    removed: tuple[Removed, ...],
    *,
    correction: Correction,
) -> OnlineResults:
    """``users`` by variant, where they are known: those of a rate of trials are not."""
    names = sorted({variant for one in measured for variant in one.arms})
    variants = (control, *(name for name in names if name != control))
    tested = [(one, variant) for one in measured for variant in variants if variant in one.arms]
    rows = _judged([(one, _row(one, variant, control)) for one, variant in tested], control, correction)
    return OnlineResults(
        control=control,
        variants=variants,
        rows=tuple(replace(row, word="not judged") if found.blocked and row.word else row for row in rows),
        health=found,
        notices=(*found.warnings, *health.single(names), *notices),
        users={variant: users[variant] for variant in variants if variant in users},
        removed=removed,
    )


# ── one row ──────────────────────────────────────────────────────────────────────────────────


def _row(measured: Measured, variant: str, control: str) -> OnlineRow:
    metric, arm = measured.metric, measured.arms[variant]
    own, (lift, plain) = compare.value(metric, arm), _lift(measured, variant, control)
    counted = not metric.is_summary
    row = OnlineRow(
        metric=metric.name,
        title=metric.title,
        unit=metric.unit,
        variant=variant,
        is_control=variant == control,
        n_users=int(arm.count()),
        value=own.value,
        ci_low=own.low,
        ci_high=own.high,
        lift=lift.value,
        lift_low=lift.low,
        lift_high=lift.high,
        p=lift.p,
        note=lift.note or own.note,
        role=metric.role,
        direction=metric.direction,
        margin=metric.margin,
        numerator=float(arm.mean(metric.numerator) * arm.count()) if counted else None,
        denominator=float(arm.mean(metric.denominator) * arm.count()) if counted else None,
    )
    if plain is not None:
        row = replace(row, plain_lift=plain.value, plain_low=plain.low, plain_high=plain.high)
    return row if row.is_control or lift.p is None else _looked_at(row, measured, control)


def _lift(measured: Measured, variant: str, control: str) -> tuple[compare.Estimate, compare.Estimate | None]:
    """The lift, and the plain one where it is adjusted."""
    if variant == control:
        return compare.Estimate(None), None
    if control not in measured.arms:
        return compare.Estimate(None, note="the control has no row of this metric"), None
    return compare.chosen_lift(measured.metric, measured.arms[control], measured.arms[variant])


def _looked_at(row: OnlineRow, measured: Measured, control: str) -> OnlineRow:
    """With the interval for those who look more than once, or why there is none yet."""
    pair = measured.arms[control], measured.arms[row.variant]
    ratio = compare.log_ratio(measured.metric, *pair, adjusted=row.is_adjusted)
    note = compare.why_not_valid(measured.metric, *pair, MANY_LOOKS)
    if ratio is None or note:
        return replace(row, sequence_note=note or "there is none for so few successes")
    low, high = sequential.sequence(*ratio, pair[0].count() + pair[1].count(), measured.planned_users)
    return replace(row, sequence_low=float(low), sequence_high=float(high))


# ── all rows together ────────────────────────────────────────────────────────────────────────


def _judged(
    rows: Sequence[tuple[Measured, OnlineRow]], control: str, correction: Correction
) -> Iterator[OnlineRow]:
    """The rows with their words: goals as one family, guardrails and others each by itself."""
    goals = [(one, row) for one, row in rows if row.role == "goal" and not row.is_control]
    family = dict(
        zip(
            [(row.metric, row.variant) for _, row in goals],
            judgement.family([row.p for _, row in goals], correction),
            strict=True,
        )
    )
    for measured, row in rows:
        p, level = family.get((row.metric, row.variant), (row.p, compare.CONFIDENCE))
        yield row if row.is_control else _worded(measured, row, control, p, level)


def _worded(measured: Measured, row: OnlineRow, control: str, p: float | None, level: float) -> OnlineRow:
    found = compare.Estimate(row.lift, row.lift_low, row.lift_high, row.p, row.note)
    if p is None:
        return replace(row, word="not settled")
    pair = measured.arms[control], measured.arms[row.variant]
    if level != compare.CONFIDENCE:
        found = compare.lift(measured.metric, *pair, level, adjusted=row.is_adjusted)
    word = judgement.word(measured.metric, found, p)
    more = _missing(measured, row, pair, level) if word == "not settled" else None
    return replace(
        row, p_corrected=p, corrected_low=found.low, corrected_high=found.high, word=word, more_users=more
    )


def _missing(measured: Measured, row: OnlineRow, pair: tuple[Any, Any], level: float) -> int | None:
    """Users still missing to exclude no lift; for a guardrail, a loss of the margin."""
    found = compare.log_ratio(measured.metric, *pair, adjusted=row.is_adjusted)
    if found is None:
        return None
    worse = -1 if row.direction == "up" else 1
    bound = math.log1p(worse * (row.margin or 0.0)) if row.role == "guardrail" else 0.0
    return power.to_settle(found[0] - bound, found[1], pair[0].count() + pair[1].count(), level)


def validity_notes(rows: Iterable[OnlineRow]) -> list[str]:
    """Why a number of these rows is missing or of another method than the others, then which of them have no
    interval yet that may be looked at every day; a sentence for each.
    """
    lifted = [row for row in rows if not row.is_control]
    reasons = {f"{row.title}, {row.variant}: {row.note}." for row in lifted if row.note}
    early = [row for row in lifted if row.sequence_note]
    return [
        *sorted(reasons),
        *(f"{NO_SEQUENCE} {row.title}, {row.variant}: {row.sequence_note}." for row in early),
    ]


NO_SEQUENCE = "No interval yet that may be looked at every day:"
