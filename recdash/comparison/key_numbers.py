"""The key numbers behind a recommendation (three at most), the same on the page and in the report."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Literal

from recdash.comparison import relative
from recdash.comparison.evidence import VerdictEvidence
from recdash.comparison.pairs import Pair
from recdash.comparison.wording import n_tested, short_interval, user_split
from recdash.domain.kinds import Users
from recdash.domain.results import OnlineLift
from recdash.formatting import numbers
from recdash.formatting.wording import adjusted, shown
from recdash.metrics import define
from recdash.metrics.naming import metric_at

if TYPE_CHECKING:
    from recdash.comparison.recommendation import Recommendation

USERS: dict[Users, str] = {
    "truth": "users without recommendations as 0",
    "both": "only users with recommendations",
    "judged": "all users of the test set",
    "judged_both": "only users with recommendations",
    "run": "only users with recommendations",
}
"""The users that the offline numbers count, by the population rule that the primary metric names."""
MOST = 3
SIGNIFICANT = 0.05


LIFT_LEVEL = "95 % CI"
"""Intervals of A/B tests, whatever the level of the offline ones."""


@dataclass(frozen=True)
class KeyNumber:
    """A number as text, with what it measures, its finding (such as ``better``) and its uncertainty
    (``note``).
    """

    title: str
    value: str
    finding: str
    note: str


@dataclass(frozen=True)
class MeasuredNumber:
    """A key number and what it measures: a metric offline (its spec), a metric of an A/B test (its key), or
    the users who gain (empty ``metric``).
    """

    number: KeyNumber
    source: Literal["offline", "online", "users"]
    metric: str = ""


def key_numbers(
    evidence: VerdictEvidence, lift_level: str = LIFT_LEVEL, *, former: bool = False
) -> tuple[KeyNumber, ...]:
    """Returns the key numbers alone, without what each measures."""
    return tuple(measured.number for measured in measured_numbers(evidence, lift_level, former=former))


def measured_numbers(
    evidence: VerdictEvidence, lift_level: str = LIFT_LEVEL, *, former: bool = False
) -> tuple[MeasuredNumber, ...]:
    """Returns the offline difference, a lift of an A/B test (another metric if there is no test), and the
    number of users who gain.

    Empty without a candidate and if the runs cannot be compared. ``lift_level`` names the interval of the
    lift; older reports give it the level of the offline intervals. ``former`` gives a difference in which no
    user has another value an interval, and a lift other decimals than its interval, as older reports do.
    """
    pair, k = evidence.leader, evidence.comparison.query.k
    if pair is None or evidence.blocking:
        return ()
    primary = evidence.comparison.query.metric
    n = n_tested(evidence.comparison.against)
    first = _of_pair(evidence, f"{metric_at(primary, k)}, offline", primary, pair, n, former=former)
    chosen = [MeasuredNumber(first, "offline", primary)]
    chosen += [
        MeasuredNumber(_of_lift(lift, lift_level, former=former), "online", lift.metric)
        for lift in evidence.telling_online[:1]
    ]
    if not evidence.telling_online:
        n_others = len(evidence.metrics)
        chosen += [
            MeasuredNumber(
                _of_pair(evidence, metric_at(metric, k), metric, other, n_others, former=former),
                "offline",
                metric,
            )
            for metric, other in evidence.metrics[:1]
        ]
    return (*chosen, MeasuredNumber(_of_users(pair), "users"))[:MOST]


def whose_numbers(recommendation: Recommendation) -> str:
    """Returns the runs that the key numbers compare, such as ``ALS v3 against Popular``; with ``Best
    challenger:`` before it if the baseline is to be kept, and with the users who count if the metric names
    them.
    """
    evidence = recommendation.evidence
    is_kept = recommendation.action == "keep"
    rule = define(evidence.comparison.query.metric).own_rule
    users = f", offline numbers count {USERS[rule]}" if rule else ""
    return f"{'Best challenger: ' if is_kept else ''}{evidence.name} against {evidence.base}{users}"


def _of_pair(
    evidence: VerdictEvidence, title: str, metric: str, pair: Pair, n_family: int, *, former: bool
) -> KeyNumber:
    """Returns the key number of a difference, relative to the baseline's value, whose family has ``n_family``
    differences.
    """
    if pair.is_identical and not former:
        return KeyNumber(title, relative.change(pair), pair.words, f"n = {numbers.count(pair.paired.n)}")
    note = short_interval(evidence, metric, pair, n_family)
    return KeyNumber(title, relative.change(pair), shown(pair.judged.word), note)


def _of_lift(lift: OnlineLift, lift_level: str, *, former: bool) -> KeyNumber:
    word = "worse" if lift.is_lost else "better" if lift.is_won else "inconclusive"
    change, low, high = (100 * share for share in (lift.change, *lift.interval))
    amount, ends = numbers.estimate(change, low, high, " %")
    if former:
        amount = numbers.change(change, " %")
        ends = numbers.interval(low, high, numbers.places([low, high]), " %")
    corrected = ", Holm-corrected" if lift.is_corrected else ""
    is_known = isfinite(low) and isfinite(high)
    beside = adjusted(lift.plain, "; {}")
    note = f"{lift_level} {ends}{corrected}" if is_known else "no valid interval before the planned end"
    return KeyNumber(f"{lift.title}, A/B test", amount, word, f"{note}{beside}")


def _of_users(pair: Pair) -> KeyNumber:
    """Returns how many users gain and lose, that is score better and worse with the candidate: of every 100,
    or of all if there are fewer than 100.
    """
    paired, title = pair.paired, "Users who gain and lose"
    of, (better, same, worse) = user_split(paired.wins, paired.ties, paired.losses)
    value = f"{better.share} gain, {worse.share} lose"
    if pair.is_identical:
        return KeyNumber(title, value, pair.words, f"n = {numbers.count(paired.n)}")
    p = _sign_test(paired.wins, paired.losses)
    shares = f"of {numbers.users(of)}, {same.share} unchanged, n = {numbers.count(paired.n)}"
    word = "better" if paired.wins > paired.losses else "worse"
    if p > SIGNIFICANT:
        word = "inconclusive"
    return KeyNumber(title, value, word, f"{shares}; sign test {numbers.p_equals(p)}")


def _sign_test(wins: int, losses: int) -> float:
    """Returns p of the two-sided sign test of whether more users gain than lose, or fewer."""
    from scipy.stats import binomtest

    return float(binomtest(wins, wins + losses).pvalue) if wins != losses else 1.0
