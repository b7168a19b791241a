"""Whether a test can be believed: the split, who was seen in two variants, machines, days, novelty."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recdash.domain.kinds import Ints
from recdash.errors import InputError, Problem, UnknownName
from recdash.online import times
from recdash.online.metrics import OnlineMetric
from recdash.online.users import OnlineUsers
from recdash.stats import holm

if TYPE_CHECKING:
    from recdash.online.analysis.novelty_effect import NoveltyEffect

MISMATCH_BELOW = 0.001
FADES_BELOW = 0.01
MOST_SHARE = 1e9
FEW_DAYS, FEW_EXPECTED, FEW_BOTS = 7, 5, 10
CROSSED_SHARE, CROSSED_USERS = 0.01, 10
ONLY_TRIALS = "the table counts trials, and no users (column 'n')"
CONTROL_NAMES = ("control", "baseline", "a", "holdout", "base", "default", "current", "production", "off")
CONTROL_WORDS = ("control", "baseline", "holdout")


@dataclass(frozen=True)
class Health:
    """``srm_p`` of the planned split over all variants, None where it cannot be had, and ``unchecked`` says
    why; ``crossover`` users.

    ``warnings``: what makes the results doubtful. ``blocked``: the split is so unlikely that no verdict
    should be drawn from the test.
    """

    srm_p: float | None
    crossover: int
    warnings: tuple[Problem, ...] = ()
    unchecked: str = ""

    @property
    def blocked(self) -> bool:
        return self.srm_p is not None and self.srm_p < MISMATCH_BELOW


def control_among(variants: Sequence[str], control: str | None) -> tuple[str, tuple[Problem, ...]]:
    """The control that was named, or the one that its name gives away, or the first with a notice."""
    if control is None:
        named = _named_like_a_control(variants)
        return (named, ()) if named else (variants[0], (_guessed(variants[0]),))
    if control not in variants:
        raise UnknownName("variant", control, variants)
    return control, ()


def _named_like_a_control(variants: Sequence[str]) -> str | None:
    """A variant with one of the usual names, else one whose name says it among other words."""
    by_name = {variant.strip().casefold(): variant for variant in reversed(variants)}
    whole = [by_name[name] for name in CONTROL_NAMES if name in by_name]
    partly = [by_name[name] for name in sorted(by_name) if any(word in name for word in CONTROL_WORDS)]
    return next(iter(whole + partly), None)


def _guessed(variant: str) -> Problem:
    found = f"No variant is named like a control, so '{variant}', the first by name, is taken for it"
    return Problem("guessed-control", "column 'variant'", found, "Choose the control if it is another.")


def single(variants: Sequence[str]) -> tuple[Problem, ...]:
    """The notice that there is nothing to compare with."""
    if len(variants) > 1:
        return ()
    found = f"'{variants[0]}' is the only variant"
    return (
        Problem("single-variant", "column 'variant'", found, "Its values are shown, but there is no lift."),
    )


def sample_ratio(
    users: Mapping[str, int], split: Mapping[str, float] | None = None
) -> tuple[float | None, tuple[Problem, ...]]:
    """How likely the planned split gives these users per variant (p of χ², None below two variants), and the
    warning that blocks a verdict below .001. A split that is not given is even.

    Raises InputError for a split that does not name each variant with a share above 0.
    """
    from scipy.stats import chisquare

    if len(users) < 2:
        return None, ()
    planned = np.array([_share(variant, users, split) for variant in users])
    expected = sum(users.values()) * planned / planned.sum()
    p = float(chisquare(list(users.values()), expected).pvalue)
    return p, (_mismatch(users, expected.tolist(), p),) if p < MISMATCH_BELOW else ()


def of_summary(
    counts: Mapping[str, Mapping[str, int]], variants: Collection[str], split: Mapping[str, float]
) -> tuple[Health, Mapping[str, int]]:
    """The health of a test that was added up, and its users by variant.

    ``counts``: users by metric and variant. Metrics may count different users: the least likely split is
    told. Raises InputError for a split that does not name each variant with a share above 0.
    """
    if not counts:
        return Health(None, 0, unchecked=ONLY_TRIALS), {}
    tested = [(users, *sample_ratio(users, split)) for users in counts.values()]
    users, p, mismatch = min(tested, key=lambda test: 1.0 if test[1] is None else test[1])
    return Health(p, 0, mismatch, unchecked="" if p is not None else _uncompared(variants)), users


def _uncompared(variants: Collection[str]) -> str:
    return "there is one variant" if len(variants) < 2 else "no metric counts the users of two variants"


def _share(variant: str, users: Mapping[str, int], split: Mapping[str, float] | None) -> float:
    if not split:
        return 1.0
    good = all(isinstance(share, int | float) and 0 < share <= MOST_SHARE for share in split.values())
    if set(split) != set(users) or not good:
        told = ", ".join(f"{name}={share}" for name, share in split.items())
        found = f"the planned split is {told}; the test has {', '.join(users)}"
        fix = "Give each variant a share above 0, such as control=2, new=1."
        raise InputError(Problem("bad-split", "planned split", found, fix))
    return float(split[variant])


def _mismatch(users: Mapping[str, int], expected: Sequence[float], p: float) -> Problem:
    counts = ", ".join(
        f"{variant} {count:,} (planned {plan:,.0f})"
        for (variant, count), plan in zip(users.items(), expected, strict=True)
    )
    chance = "less than once in a million tests" if p < 1e-6 else f"with p = {p:.6f}"
    return Problem(
        code="sample-ratio-mismatch",
        place="users per variant",
        found=f"Sample ratio mismatch (SRM): {counts}; the planned split gives this {chance}",
        fix="Draw no verdict before it is known why users are missing. Was the split planned otherwise? "
        "Then say so among the rules.",
    )


def crossovers(crossed: int, n_units: int) -> tuple[Problem, ...]:
    """What to say of users seen in several variants; ``n_units`` counts them too."""
    if not crossed:
        return ()
    found = f"{crossed:,} of {n_units:,} users were seen in more than one variant and are left out"
    if crossed >= CROSSED_USERS and crossed >= CROSSED_SHARE * n_units:
        fix = "From 1 % on this can bias the result: find out how users change the variant."
        return (Problem("many-crossovers", "column 'variant'", found, fix, crossed),)
    return (Problem("crossovers", "column 'variant'", found, "So few do not matter.", crossed),)


def of_users(users: OnlineUsers, planned: Mapping[str, float]) -> tuple[float | None, tuple[Problem, ...]]:
    """p of the split, and all that is wrong with how users came into the variants."""
    p, mismatch = sample_ratio(users.assigned, planned)
    found = (*mismatch, *_uneven_bots(users), *_uneven_days(users))
    return p, found


def _uneven_bots(users: OnlineUsers) -> tuple[Problem, ...]:
    """Machines should fall into all variants alike; where they do not, something sends them into one."""
    bots = next((one.by_variant for one in users.removed if one.rule == "bots"), {})
    if not unevenly_left_out(bots, users.assigned):
        return ()
    shares = {name: bots[name] / max(users.assigned[name], 1) for name in users.assigned}
    most = max(shares, key=lambda name: shares[name])
    told = ", ".join(f"{name} {100 * share:.3g} %" for name, share in shares.items())
    fix = f"They are left out, but something sends them to '{most}': find out what before you trust it."
    return (Problem("bots-uneven", f"variant '{most}'", f"Bots are uneven: {told} of the users", fix),)


def unevenly_left_out(bots: Mapping[str, int], users: Mapping[str, int]) -> bool:
    """Whether so many more machines than chance allows are in one variant; of fewer than ten nobody says it.
    ``users`` by variant as they came, the machines among them.
    """
    if sum(bots.get(name, 0) for name in users) < FEW_BOTS or len(users) < 2:
        return False
    counts = np.array([[bots.get(name, 0), n - bots.get(name, 0)] for name, n in users.items()])
    return _independent(counts) < MISMATCH_BELOW


def _uneven_days(users: OnlineUsers) -> tuple[Problem, ...]:
    """Every day should split its new users alike; where not, a variant started later or was paused."""
    day, variant = users.exposed - users.exposed.min(), users.variant
    counts = np.zeros((int(day.max()) + 1, len(users.variants)), dtype=np.int64)
    np.add.at(counts, (day, variant), 1)
    counts = counts[counts.sum(axis=1) >= FEW_EXPECTED * len(users.variants)]
    if len(counts) < 2 or len(users.variants) < 2 or _independent(counts) >= MISMATCH_BELOW:
        return ()
    found = "New users are split otherwise on some days than on others"
    fix = "Did a variant start later, or pause? Compare only days on which all ran."
    return (Problem("uneven-days", "days", found, fix),)


def _independent(counts: Ints) -> float:
    """p of χ² that rows and columns have nothing to do with each other."""
    from scipy.stats import chi2_contingency

    counts = counts[:, counts.sum(axis=0) > 0]
    return float(chi2_contingency(counts).pvalue) if min(counts.shape) > 1 else 1.0


def fading(users: OnlineUsers, metrics: Sequence[OnlineMetric], control: str) -> tuple[Problem, ...]:
    """The warning that a gain wears off: less of it late than early for the same users, or none.

    Holm over all metrics and variants; of each variant the clearest case is told.
    """
    from recdash.online.analysis import novelty_effect as over_days

    found = [
        (one, metric)
        for metric in metrics
        for one in over_days.fading(users, metric, control)
        if one.p is not None
    ]
    chances = holm(np.array([one.p for one, _ in found], dtype=np.float64)).tolist()
    clearest: dict[str, Problem] = {}
    for at in sorted(range(len(found)), key=chances.__getitem__):
        one, metric = found[at]
        if chances[at] < FADES_BELOW and _wears_off(metric, one):
            clearest.setdefault(one.variant, _novelty(metric, one))
    return tuple(clearest.values())


def _wears_off(metric: OnlineMetric, found: NoveltyEffect) -> bool:
    """Whether there was a gain early, of which something is lost."""
    sign = 1 if metric.direction == "up" else -1
    return sign * (found.early_lift or 0.0) > 0 > sign * (found.difference or 0.0)


def _novelty(metric: OnlineMetric, found: NoveltyEffect) -> Problem:
    early, late = (f"{100 * (lift or 0):+.3g} %" for lift in (found.early_lift, found.late_lift))
    told = f"{early} at first, {late} later".replace("-", "−")
    title = metric.title[:1].lower() + metric.title[1:]
    does = "fades" if found.course == "fades" else "turns against the variant"
    return Problem(
        "novelty",
        f"variant '{found.variant}'",
        f"Novelty: the lift in {title} {does} for the same users: {told}",
        "Judge by the late days, or let the test run on until the lift is steady.",
    )


def few_days(users: OnlineUsers) -> tuple[Problem, ...]:
    """The notice that a test is shorter than a week."""
    days = int(users.days.day.max() - users.days.day.min()) + 1 if len(users.days.day) else 0
    if not 1 < days < FEW_DAYS:
        return ()
    first, last = (f"{times.date(int(at)):%-d %b}" for at in (users.days.day.min(), users.days.day.max()))
    found = f"The test ran for {days} days ({first} to {last}, UTC)"
    return (Problem("few-days", "days", found, "People differ over the days of a week: let it run for one."),)
