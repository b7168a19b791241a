"""Checks of the test's validity: whether it shows more than noise, and whether users were assigned as
planned.
"""

from __future__ import annotations

from dataclasses import replace

from recdash.charts.picture import Bar, Picture, Side
from recdash.diagnosis.answer import (
    CheckAnswer,
    MissingEvidence,
    Result,
    amounts,
    change,
    check,
    ends,
    lift_texts,
    need,
    percent,
)
from recdash.diagnosis.evidence import About, Evidence, Gain, Missing, OnlineChange, SplitEvidence
from recdash.formatting import numbers
from recdash.online.analysis.health import CROSSED_SHARE, CROSSED_USERS, MISMATCH_BELOW, unevenly_left_out

VALID_SPLIT = Missing("a test whose users are split as planned: run it again")


def with_valid_lifts(evidence: Evidence) -> Evidence:
    """Returns the evidence without the parts that compare variants if the split of users between them is
    broken (SRM); else unchanged.

    After a broken split, the users of one variant are not comparable with those of another, so no check may
    use a lift. Evidence on the split itself, on the lists and on offline scores stays.
    """
    if isinstance(evidence.split, Missing) or evidence.split.srm_p >= MISMATCH_BELOW:
        return evidence
    return replace(
        evidence,
        lift=VALID_SPLIT,
        detectable=VALID_SPLIT,
        novelty=VALID_SPLIT,
        sessions=VALID_SPLIT,
        segments=VALID_SPLIT,
    )


# ── 1 noise ──────────────────────────────────────────────────────────────────────────────────


@check
def noise(evidence: Evidence) -> CheckAnswer:
    """Checks whether chance alone could explain the difference between offline and online.

    The offline gain as a share of the baseline's value implies a lift online: as much as in the track record
    of other A/B tests if it has a slope, else one per cent online for one per cent offline (only the sign is
    implied if the baseline's value is 0). *Supports*: the gain is not significant offline, or the online
    interval contains the implied lift. *Rules out*: the online lift is significant, with either sign. *Can't
    tell*: the online interval contains zero, but not the implied lift. The minimum detectable effect is
    reported too.
    """
    gain, lift = need(evidence.gain), need(evidence.lift)
    if lift.low is None or lift.high is None:
        raise MissingEvidence("an interval of the lift")
    (amount, interval), in_percent = lift_texts(lift), change(gain.share)
    (measured,) = amounts(gain)
    statistic = f"lift online {interval}" + ("" if gain.share is None else f"; gain offline {measured}")
    smallest = None if isinstance(evidence.detectable, Missing) else evidence.detectable
    expected, implied = gain.share, f"{measured}, the gain measured offline"
    if gain.share is not None and evidence.slope is not None:
        expected = evidence.slope * gain.share
        implied = f"{change(expected)}, what {measured} offline has meant in other A/B tests"
        statistic += f"; expected {change(expected)}"
    result = Result("noise", statistic, _noise_picture(evidence.about, gain, lift, smallest))
    online = f"{amount} online ({interval})"
    if gain.sign == 0:
        return result.supports(
            2,
            f"the offline difference is not significant ({measured})",
            f"The difference in {evidence.about.metric} is not significant offline, so there may be "
            "nothing to explain.",
            former_cause=f"the offline difference is not significant ({in_percent})",
        )
    if lift.sign == gain.sign:
        return result.rules_out(f"{online} is significant, in the direction of the offline difference.")
    if gain.share is None and not lift.sign:  # only the signs can be compared
        sentence = f"{online} is not significant, and may have the direction of the offline difference."
        return result.supports(2, "the online lift is not significant", sentence)
    if expected is not None and lift.low <= expected <= lift.high:
        cause = f"the gain measured offline ({measured})"
        if evidence.slope is not None:
            cause = f"the lift that the offline gain has meant in other A/B tests ({change(expected)})"
        return result.supports(
            2,
            f"the online interval includes {cause}",
            f"{online} includes {implied}: the results do not contradict each other.",
            former_cause=f"the online interval contains what offline implies ({in_percent})",
        )
    if lift.sign:
        return result.rules_out(f"{online} is significant, against the offline difference: more than chance.")
    return result.too_little(
        f"{online} is inconclusive: it excludes {implied}, but not zero, so there may be no lift at all.",
        "more users",
    )


def _noise_picture(about: About, gain: Gain, lift: OnlineChange, smallest: float | None) -> Picture:
    bars = []
    if gain.share is not None:
        offline = ends(gain.low / abs(gain.base), gain.high / abs(gain.base))
        bars.append(Bar(f"Offline, {about.metric}", 100 * gain.share, *offline, side="run"))
    bars.append(Bar(f"Online, {about.online}", 100 * lift.value, *ends(lift.low, lift.high), side="run"))
    if smallest is not None:
        bars.append(Bar("Minimum detectable effect", 100 * smallest, note="80 % power"))
    return Picture(f"Change against {about.base}", tuple(bars), "%", sign=True)


# ── 2 split ──────────────────────────────────────────────────────────────────────────────────


@check
def split(evidence: Evidence) -> CheckAnswer:
    """Checks whether users were assigned to variants as planned.

    *Supports*: the p of the SRM test is below .001; or at least 1 % of the users, and at least ten, had
    multiple exposures; or at least ten bots were excluded from this variant and control, so unevenly that p <
    .001. *Rules out*: none of these. *Can't tell*: the table has no users, and the SRM test finds no problem.
    """
    assigned, about = need(evidence.split), evidence.about
    sides: dict[str, Side] = {about.variant: "run", about.control: "baseline"}
    bars = [Bar(name, float(n), side=sides.get(name, "neither")) for name, n in assigned.users.items()]
    result = Result("split", _split_statistic(assigned), Picture("Users by variant", tuple(bars)))
    if assigned.srm_p < MISMATCH_BELOW:
        return result.supports(
            3,
            f"sample ratio mismatch (p {_p(assigned.srm_p)})",
            "A split this uneven hardly ever happens by chance: users are missing from a variant, and "
            "the remaining ones are not comparable.",
        )
    crossed, bots = assigned.crossed, assigned.machines
    if crossed is None or bots is None:
        return result.too_little(
            "The split is fair. Multiple exposures and bots cannot be checked in aggregated data.",
            "a table of sessions, with the user of each",
        )
    n_users = sum(assigned.users.values()) + crossed
    if crossed >= CROSSED_USERS and crossed >= CROSSED_SHARE * n_users:
        share = percent(crossed / n_users)
        return result.supports(
            3,
            f"{share} of the users saw several variants",
            f"{numbers.count(crossed)} users ({share}) saw several variants and were excluded: the "
            "remaining users come back less often.",
        )
    users = {name: assigned.users[name] for name in sides if name in assigned.users}
    if unevenly_left_out(bots, users):
        shares = " against ".join(percent(bots.get(name, 0) / max(n, 1)) for name, n in users.items())
        return result.supports(
            3,
            f"bots are excluded unevenly ({shares})",
            f"{shares} of the users of {about.variant} and {about.control} were excluded as bots: one "
            "variant has lost more users than the other.",
        )
    return result.rules_out("Users were assigned to variants as planned, with hardly any multiple exposures.")


def _split_statistic(assigned: SplitEvidence) -> str:
    crossed = (
        ""
        if assigned.crossed is None
        else f"; {numbers.count(assigned.crossed)} users with multiple exposures"
    )
    n_bots = sum(assigned.machines.values()) if assigned.machines else 0
    bots = f"; {numbers.count(n_bots)} bots" if n_bots else ""
    return f"split p {_p(assigned.srm_p)}{crossed}{bots}"


def _p(value: float) -> str:
    return numbers.p_value(value) if value < 0.001 else f"= {numbers.p_value(value)}"
