"""Can the test be believed at all: is it more than noise, and was the split of users a fair one?"""

from __future__ import annotations

from collections.abc import Mapping

from recdash.diagnosis.answer import CheckAnswer, Looked, between, cannot, change, ends, percent
from recdash.diagnosis.evidence import About, Evidence, Gain, Missing, OnlineChange, SplitEvidence
from recdash.diagnosis.mini_chart import Bar, Picture, Side
from recdash.formatting import numbers
from recdash.online.analysis.health import CROSSED_SHARE, CROSSED_USERS, MISMATCH_BELOW, unevenly_left_out

# ── 1 noise ──────────────────────────────────────────────────────────────────────────────────


def noise(evidence: Evidence) -> CheckAnswer:
    """Could chance alone have made the two sides differ?

    Implied is the offline gain as a share of the baseline's value: the lift, were one per cent offline
    worth one per cent online (where the baseline has 0 nothing is implied but the direction). *Supports*: the
    gain is not settled offline; or the online interval still holds what is implied. *Rules out*: the online
    lift is settled, either way. *Can't tell*: the online interval holds zero, and not what is implied. The
    smallest lift that the test finds stands beside it.
    """
    gain, lift, detectable = evidence.gain, evidence.lift, evidence.detectable
    if isinstance(gain, Missing):
        return cannot("noise", gain)
    if isinstance(lift, Missing):
        return cannot("noise", lift)
    if lift.low is None or lift.high is None:
        return cannot("noise", Missing("an interval of the lift"))
    smallest = None if isinstance(detectable, Missing) else detectable
    looked = Looked(
        "noise", _noise_statistic(gain, lift), _noise_picture(evidence.about, gain, lift, smallest)
    )
    if gain.sign == 0:
        return looked.supports(
            f"The difference in {evidence.about.metric} is not settled offline, so there may be nothing to "
            "explain.",
            f"the offline difference is not settled ({change(gain.share)})", 2,
        )  # fmt: skip
    return _contradiction(looked, gain.sign, lift, gain.share)


def _contradiction(looked: Looked, sign: int, lift: OnlineChange, implied: float | None) -> CheckAnswer:
    """Of a gain that is settled offline; without an implied lift only the directions count."""
    found = f"{change(lift.value)} online ({between(lift.low, lift.high)})"
    if lift.sign == sign:
        return looked.rules_out(f"{found} is settled, as the offline difference is and in its direction.")
    if implied is None and not lift.sign:
        return looked.supports(
            f"{found} is not settled, and may have the direction of the offline difference.",
            "the online lift is not settled", 2,
        )  # fmt: skip
    if implied is not None and _holds(lift, implied):
        return looked.supports(
            f"{found} still holds the {change(implied)} that offline implies: the sides do not contradict "
            "each other.",
            f"the online interval still holds what offline implies ({change(implied)})", 2,
        )  # fmt: skip
    if lift.sign:
        return looked.rules_out(f"{found} is settled, against the offline difference: more than chance.")
    return looked.too_little(
        f"{found} is not settled: it excludes the {change(implied)} that offline implies, but not zero, so "
        "that whether there is any lift cannot be told.",
        "more users",
    )


def _holds(lift: OnlineChange, value: float) -> bool:
    return lift.low is not None and lift.high is not None and lift.low <= value <= lift.high


def _noise_statistic(gain: Gain, lift: OnlineChange) -> str:
    implied = "" if gain.share is None else f"; offline implies {change(gain.share)}"
    return f"online {between(lift.low, lift.high)}{implied}"


def _noise_picture(about: About, gain: Gain, lift: OnlineChange, smallest: float | None) -> Picture:
    bars = []
    if gain.share is not None:
        offline = ends(gain.low / abs(gain.base), gain.high / abs(gain.base))
        bars.append(Bar(f"Offline, {about.metric}", 100 * gain.share, *offline, side="run"))
    bars.append(Bar(f"Online, {about.online}", 100 * lift.value, *ends(lift.low, lift.high), side="run"))
    if smallest is not None:
        bars.append(Bar("Smallest lift the test finds", 100 * smallest, note="80 % power"))
    return Picture(f"Change against {about.base}", tuple(bars), "%", sign=True)


# ── 2 split ──────────────────────────────────────────────────────────────────────────────────


def split(evidence: Evidence) -> CheckAnswer:
    """Were the users divided fairly?

    *Supports*: p of the planned split below .001; or at least 1 % of the users, and ten, were seen in
    several variants; or ten machines and more were left out of this variant and the control, so unevenly that
    p < .001. *Rules out*: none of the three. *Can't tell*: the table does not
    tell users apart, and the split itself is fair.
    """
    found = evidence.split
    if isinstance(found, Missing):
        return cannot("split", found)
    names = (evidence.about.variant, evidence.about.control)
    looked = Looked("split", _split_statistic(found), _split_picture(found, names))
    if found.srm_p < MISMATCH_BELOW:
        return looked.supports(
            "So uneven a split hardly ever happens by chance: users are missing from a variant, and those "
            "who are left cannot be compared.",
            f"the split of users is broken (p {_p(found.srm_p)})", 3,
        )  # fmt: skip
    if found.crossed is None or found.machines is None:
        return looked.too_little(
            "The split is fair. Users in two variants and machines cannot be seen in a summary.",
            "a table of sessions, with the user of each",
        )
    return _between_arms(looked, found, found.crossed, found.machines, names)


def _between_arms(
    looked: Looked, found: SplitEvidence, crossed: int, machines: Mapping[str, int], names: tuple[str, str]
) -> CheckAnswer:
    everyone = sum(found.users.values()) + crossed
    if crossed >= CROSSED_USERS and crossed >= CROSSED_SHARE * everyone:
        share = percent(crossed / everyone)
        return looked.supports(
            f"{numbers.count(crossed)} users ({share}) saw several variants and are left out: who is left "
            "comes back less often.",
            f"{share} of the users saw several variants", 3,
        )  # fmt: skip
    users = {name: found.users[name] for name in names if name in found.users}
    if unevenly_left_out(machines, users):
        shares = " against ".join(percent(machines.get(name, 0) / max(n, 1)) for name, n in users.items())
        return looked.supports(
            f"{shares} of the users of {names[0]} and {names[1]} were taken for machines: one variant has "
            "lost more users than the other.",
            f"machines are unevenly left out ({shares})", 3,
        )  # fmt: skip
    return looked.rules_out("Users fell into the variants as planned, and hardly anybody saw two.")


def _split_statistic(found: SplitEvidence) -> str:
    crossed = "" if found.crossed is None else f"; {numbers.count(found.crossed)} users in two variants"
    left = sum(found.machines.values()) if found.machines else 0
    return f"split p {_p(found.srm_p)}{crossed}" + (f"; {numbers.count(left)} machines" if left else "")


def _p(value: float) -> str:
    return numbers.p_value(value) if value < 0.001 else f"= {numbers.p_value(value)}"


def _split_picture(found: SplitEvidence, names: tuple[str, str]) -> Picture:
    sides: dict[str, Side] = {names[0]: "run", names[1]: "baseline"}
    bars = [Bar(name, float(count), side=sides.get(name, "neither")) for name, count in found.users.items()]
    return Picture("Users by variant", tuple(bars))
