"""Checks the health of an A/B test: split, multiple exposures, bots, days and novelty effect."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from recdash.domain.arguments import is_number
from recdash.domain.kinds import Floats, Ints
from recdash.errors import InputError, Problem, UnknownName
from recdash.formatting.wording import listed, small
from recdash.online import times
from recdash.online.analysis import novelty_effect
from recdash.online.analysis.novelty_effect import NoveltyEffect
from recdash.online.metrics import OnlineMetric
from recdash.online.users import OnlineUsers
from recdash.stats import holm

MISMATCH_BELOW = 0.001
FADES_BELOW = 0.01
MOST_SHARE = 1e9
FEW_DAYS, FEW_EXPECTED, FEW_BOTS = 7, 5, 10
CROSSED_SHARE, CROSSED_USERS = 0.01, 10
ONLY_TRIALS = "the table counts trials rather than users (column 'n')"
IF_USERS = "assuming that each trial is a user (column 'n' is missing)"
CONTROL_NAMES = (
    "control", "baseline", "a", "holdout", "base", "default", "current", "production", "existing", "original",
    "incumbent", "live", "old", "before", "off", "0", "false", "no",
)  # fmt: skip
CONTROL_WORDS = ("control", "baseline", "holdout")
GUESSED_CONTROL = "guessed-control"
"""The code of the notice that no variant is named like a control."""


@dataclass(frozen=True)
class Population:
    """The users of each variant that some metrics of aggregated data count, with the p-value of their planned
    split; None below two variants.
    """

    metrics: tuple[str, ...]
    users: Mapping[str, int]
    srm_p: float | None

    @property
    def is_mismatched(self) -> bool:
        """Returns True if the observed split is too unlikely for any verdict."""
        return self.srm_p is not None and self.srm_p < MISMATCH_BELOW


@dataclass(frozen=True)
class Health:
    """The result of the checks that show whether an A/B test can be trusted.

    ``srm_p`` is the p-value of the planned split over all variants (sample ratio mismatch); None if
    unavailable. ``unchecked`` says why it is, or what was counted instead of users. ``crossover`` is the
    number of users with multiple exposures. ``warnings`` say what makes the results doubtful.
    ``activated_srm_p`` is the p-value of the split of the activated users, None if all users count.
    ``populations`` are those of aggregated metrics that count different users, the largest first; ``srm_p``
    is that of the largest. Empty if all metrics count the same users.
    """

    srm_p: float | None
    crossover: int
    warnings: tuple[Problem, ...] = ()
    unchecked: str = ""
    activated_srm_p: float | None = None
    populations: tuple[Population, ...] = ()

    @property
    def blocked(self) -> bool:
        """Returns True if an observed split is so unlikely that no metric may be judged."""
        own = self.srm_p is not None and self.srm_p < MISMATCH_BELOW
        return own or any(population.is_mismatched for population in self.populations)

    @property
    def smaller_populations(self) -> tuple[Population, ...]:
        """Returns the populations of metrics that do not count all users of the test."""
        return self.populations[1:]

    def users_of(self, metric: str, everyone: Mapping[str, int]) -> Mapping[str, int]:
        """Returns the users of each variant that a metric counts; ``everyone`` if it counts all of them."""
        own = (population.users for population in self.smaller_populations if metric in population.metrics)
        return next(own, everyone)


def control_among(
    variants: Sequence[str], control: str | None, called: str = "variant"
) -> tuple[str, tuple[Problem, ...]]:
    """Returns the control variant, and a notice if it had to be guessed.

    It is ``control`` if given, else the variant whose name indicates a control, else the first variant.
    ``called`` is what a variant is called. Raises UnknownName if ``control`` is not a variant.
    """
    if control is None:
        by_name = {variant.strip().casefold(): variant for variant in reversed(variants)}
        exact = [by_name[name] for name in CONTROL_NAMES if name in by_name]
        partial = [by_name[name] for name in sorted(by_name) if is_called_control(name)]
        for named in exact + partial:
            return named, ()
        message = (
            f"No variant is named like a control, so '{variants[0]}', the first by name, is used as control"
        )
        fix = "Choose another control if this is wrong."
        return variants[0], (Problem(GUESSED_CONTROL, "column 'variant'", message, fix),)
    if control not in variants:
        raise UnknownName(called, control, variants)
    return control, ()


def is_control_guessed(notices: Iterable[Problem]) -> bool:
    """Returns whether these are the notices of results whose control had to be guessed."""
    return any(notice.code == GUESSED_CONTROL for notice in notices)


def is_called_control(variant: str) -> bool:
    """Returns whether the name of a variant has a word for a control group."""
    return any(word in variant.casefold() for word in CONTROL_WORDS)


def single(variants: Sequence[str]) -> tuple[Problem, ...]:
    """Returns the notice that there is no second variant; empty if there is one."""
    if len(variants) > 1:
        return ()
    message, fix = f"'{variants[0]}' is the only variant", "Its values are shown, but there is no lift."
    return (Problem("single-variant", "column 'variant'", message, fix),)


def sample_ratio(
    users: Mapping[str, int], split: Mapping[str, float] | None = None
) -> tuple[float | None, tuple[Problem, ...]]:
    """Returns the p-value of the planned split, and a warning if it is below .001.

    The warning blocks the verdict. ``users`` is the number of users per variant. ``split`` has the planned
    shares; without it they are equal. p is None below two variants. Raises InputError if ``split`` does not
    give each variant a share above 0.
    """
    if len(users) < 2:
        return None, ()
    shares = split or dict.fromkeys(users, 1.0)
    good = all(is_number(share) and 0 < share <= MOST_SHARE for share in shares.values())
    if set(shares) != set(users) or not good:
        listed = ", ".join(f"{name}={share}" for name, share in shares.items())
        message = f"the planned split is {listed}; the test has {', '.join(users)}"
        fix = "Give each variant a share above 0, such as control=2, new=1."
        raise InputError(Problem("bad-split", "planned split", message, fix))
    planned = np.array([float(shares[variant]) for variant in users])
    planned /= planned.sum()
    p = _split_p(list(users.values()), planned)
    expected = sum(users.values()) * planned
    return p, (_mismatch(users, expected.tolist(), p),) if p < MISMATCH_BELOW else ()


def _split_p(counts: list[int], shares: Floats) -> float:
    """Returns the p-value of the planned shares [variants]: χ², or exact if a variant is expected to have few
    users.

    The exact one is that of the variant which departs most, by the binomial test, times the number of
    variants if there are more than two.
    """
    from scipy.stats import binomtest, chisquare

    n = sum(counts)
    if n * shares.min() >= FEW_EXPECTED or not n:
        return float(chisquare(counts, n * shares).pvalue)
    by_variant = [binomtest(count, n, share).pvalue for count, share in zip(counts, shares, strict=True)]
    return float(min(by_variant[0] if len(counts) == 2 else len(counts) * min(by_variant), 1.0))


def of_activated(
    users: Mapping[str, int], split: Mapping[str, float]
) -> tuple[float | None, tuple[Problem, ...]]:
    """Returns the p-value of the split of activated users, and a warning if it is below .001."""
    p, mismatch = sample_ratio(users, split)
    if not mismatch:
        return p, ()
    message = f"Of the activated users: {mismatch[0].found}"
    fix = "A variant changes who is activated, so these users are not comparable. Count all users instead."
    return p, (Problem(mismatch[0].code, "activated users per variant", message, fix),)


def of_summary(
    counts: Mapping[str, Mapping[str, int]], variants: Collection[str], split: Mapping[str, float]
) -> tuple[Health, Mapping[str, int]]:
    """Returns the health of an aggregated test, and its number of users per variant.

    ``counts`` maps metric → variant → users. Metrics may count different users, such as those after an
    activation: the users of the test are then the most that a metric counts, and each split is checked.
    Raises InputError if ``split`` does not give each variant a share above 0.
    """
    if not counts:
        return Health(None, 0, unchecked=ONLY_TRIALS), {}
    populations = populations_of(counts, split)
    largest, *others = populations
    warnings = tuple(
        _of_population(mismatch, population) if others else mismatch
        for population in populations
        for mismatch in sample_ratio(population.users, _shares_of(population.users, counts, split))[1]
    )
    different = populations if others else ()
    if largest.srm_p is not None:
        return Health(largest.srm_p, 0, warnings, populations=different), largest.users
    single = len(variants) < 2
    reason = "there is one variant" if single else "no metric counts the users of two variants"
    return Health(None, 0, warnings, unchecked=reason, populations=different), largest.users


def populations_of(
    counts: Mapping[str, Mapping[str, int]], split: Mapping[str, float]
) -> tuple[Population, ...]:
    """Returns the different populations in ``counts`` (metric → variant → users), the largest first.

    One without users of some variants is compared with the planned shares of the others.
    """
    metrics: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for metric, users in counts.items():
        metrics.setdefault(tuple(sorted(users.items())), []).append(metric)
    populations = [_population(names, counts, split) for names in metrics.values()]
    return tuple(sorted(populations, key=lambda population: -sum(population.users.values())))


def _population(
    metrics: Sequence[str], counts: Mapping[str, Mapping[str, int]], split: Mapping[str, float]
) -> Population:
    users = counts[metrics[0]]
    return Population(tuple(metrics), users, sample_ratio(users, _shares_of(users, counts, split))[0])


def least_likely(populations: Sequence[Population]) -> Population:
    """Returns the population whose split is the least likely."""
    return min(populations, key=lambda population: 1.0 if population.srm_p is None else population.srm_p)


def _of_population(mismatch: Problem, population: Population) -> Problem:
    return replace(mismatch, place=f"users per variant of {listed(list(population.metrics))}")


def of_trials(trials: Mapping[str, Mapping[str, int]], split: Mapping[str, float]) -> Health:
    """Returns the health of a test whose table counts trials (metric → variant → trials) and no users.

    Even trials do not show that users were split as planned. Uneven trials block the verdict: the lift of a
    rate treats each trial as a user, and then the users were not split as planned. A metric without rows of
    some variants is compared with the planned shares of the others.
    """
    tested = [
        (metric, *sample_ratio(counts, _shares_of(counts, trials, split)))
        for metric, counts in trials.items()
    ]
    broken = [(p, metric, mismatch) for metric, p, mismatch in tested if p is not None and mismatch]
    if not broken:
        return Health(None, 0, unchecked=ONLY_TRIALS)
    p, metric, (mismatch,) = min(broken, key=lambda test: test[0])
    return Health(p, 0, (_of_trials(mismatch, metric),), IF_USERS)


def _shares_of(
    counts: Mapping[str, int], of_all: Mapping[str, Mapping[str, int]], split: Mapping[str, float]
) -> Mapping[str, float]:
    """Returns the planned shares of the variants in ``counts``; all of them if no metric (``of_all``) has a
    row of some either, so that a variant without a share or an unknown one is refused.
    """
    known = {variant for of_metric in of_all.values() for variant in of_metric}
    return {name: share for name, share in split.items() if name in counts} if {*split} <= known else split


def _of_trials(mismatch: Problem, metric: str) -> Problem:
    fix = f"If they are not, give the number of users per variant (column 'n'). {mismatch.fix}"
    message = f"If the trials of '{metric}' are users: {mismatch.found}"
    return Problem(mismatch.code, "trials per variant", message, fix)


def _mismatch(users: Mapping[str, int], expected: Sequence[float], p: float) -> Problem:
    counts = ", ".join(
        f"{variant} {count:,} (planned {plan:,.0f})"
        for (variant, count), plan in zip(users.items(), expected, strict=True)
    )
    chance = "less than once in a million tests" if p < 1e-6 else f"with p = {p:.6f}"
    message = f"Sample ratio mismatch (SRM): {counts}; the planned split gives this {chance}"
    fix = "Find out why users are missing before any verdict. Was the split planned otherwise? "
    fix += "Then set it in the rules."
    return Problem("sample-ratio-mismatch", "users per variant", message, fix)


def crossovers(users: OnlineUsers) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """Returns (warnings, notices) about users with multiple exposures: a warning if many, else a notice.

    Both are empty if there are no such users.
    """
    crossed, n_units = users.crossed, sum(users.assigned.values()) + users.crossed
    if not crossed:
        return (), ()
    message = f"{crossed:,} of {n_units:,} users saw several variants and were excluded"
    if crossed >= CROSSED_USERS and crossed >= CROSSED_SHARE * n_units:
        fix = "From 1 % on this can bias the result: find out why users change variants."
        return (Problem("many-crossovers", "column 'variant'", message, fix, crossed),), ()
    return (), (Problem("crossovers", "column 'variant'", message, "This is negligible.", crossed),)


def uneven_bots(users: OnlineUsers) -> tuple[Problem, ...]:
    """Returns a warning if bots are not spread evenly over the variants; empty if they are.

    Something then sends bots into one of the variants.
    """
    bots: Mapping[str, int] = next((rule.by_variant for rule in users.removed if rule.rule == "bots"), {})
    if not unevenly_left_out(bots, users.assigned):
        return ()
    shares = {name: bots[name] / max(users.assigned[name], 1) for name in users.assigned}
    most = max(shares, key=lambda name: shares[name])
    listed = ", ".join(f"{name} {100 * share:.3g} %" for name, share in shares.items())
    fix = (
        f"They are excluded, but something sends them to '{most}': find out what before you trust the result."
    )
    return (Problem("bots-uneven", f"variant '{most}'", f"Bots are uneven: {listed} of the users", fix),)


def unevenly_left_out(bots: Mapping[str, int], users: Mapping[str, int]) -> bool:
    """Returns True if the share of bots differs more between variants than by chance.

    ``users`` has the assigned users per variant, including bots. Fewer than ten bots are not tested.
    """
    if sum(bots.get(name, 0) for name in users) < FEW_BOTS or len(users) < 2:
        return False
    counts = np.array([[bots.get(name, 0), n - bots.get(name, 0)] for name, n in users.items()])
    return p_independent(counts) < MISMATCH_BELOW


def uneven_days(users: OnlineUsers) -> tuple[Problem, ...]:
    """Returns a warning if the split of new users differs between days; empty if it does not.

    The cause may be a variant that started later or was paused.
    """
    day, variant = users.exposed - users.exposed.min(), users.variant
    counts = np.zeros((int(day.max()) + 1, len(users.variants)), dtype=np.int64)
    np.add.at(counts, (day, variant), 1)
    return unevenly_split_days(counts)


def unevenly_split_days(counts: Ints) -> tuple[Problem, ...]:
    """Returns the warning of ``uneven_days``; ``counts`` [days, variants] are new users."""
    n_variants = counts.shape[1]
    counts = counts[counts.sum(axis=1) >= FEW_EXPECTED * n_variants]
    if len(counts) < 2 or n_variants < 2 or p_independent(counts) >= MISMATCH_BELOW:
        return ()
    message = "New users are split differently on some days"
    fix = "Did a variant start later, or pause? Compare only days on which all variants ran."
    return (Problem("uneven-days", "days", message, fix),)


def p_independent(counts: Ints) -> float:
    """Returns the p-value of the χ² test that rows and columns of a table are independent.

    Empty rows and columns are ignored; 1 if fewer than two of either are left.
    """
    from scipy.stats import chi2_contingency

    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    return float(chi2_contingency(counts).pvalue) if min(counts.shape) > 1 else 1.0


def novelty_warnings(
    users: OnlineUsers, metrics: Sequence[OnlineMetric], control: str, *, delta_method: bool = False
) -> tuple[Problem, ...]:
    """Returns a warning per variant with a novelty effect; ``delta_method`` as in the rules.

    Its users gain at first, and later gain less or lose. p-values are corrected over all metrics and variants
    (Holm). Each variant has the warning with its smallest p.
    """
    base = users.variants.index(control)
    effects = [
        (effect, metric)
        for metric in metrics
        for effect in novelty_effect.novelty_effects_against(users, metric, base, delta_method=delta_method)
        if effect.p is not None
    ]
    p_values = holm(np.array([effect.p for effect, _ in effects], dtype=np.float64)).tolist()
    clearest: dict[str, Problem] = {}
    for index in sorted(range(len(effects)), key=p_values.__getitem__):
        effect, metric = effects[index]
        sign = 1 if metric.direction == "up" else -1
        wears_off = sign * (effect.early_lift or 0.0) > 0 > sign * (effect.difference or 0.0)
        if p_values[index] < FADES_BELOW and wears_off:
            clearest.setdefault(effect.variant, _novelty(metric, effect))
    return tuple(clearest.values())


def _novelty(metric: OnlineMetric, effect: NoveltyEffect) -> Problem:
    early, late = (f"{100 * (lift or 0):+.3g} %" for lift in (effect.early_lift, effect.late_lift))
    lifts = f"{early} at first, {late} later".replace("-", "−")
    title = small(metric.title)
    course = "fades" if effect.course == "fades" else "reverses against the variant"
    message = f"Novelty effect: the lift in {title} {course} for the same users: {lifts}"
    fix = "Judge by the late days, or continue the test until the lift is steady."
    return Problem("novelty", f"variant '{effect.variant}'", message, fix)


def few_days(users: OnlineUsers) -> tuple[Problem, ...]:
    """Returns the notice that a test ran for less than a week.

    The result is empty if it ran longer, for a single day, or if its log has no times.
    """
    if not len(users.days.day):
        return ()
    first, last = int(users.days.day.min()), int(users.days.day.max())
    n_days = last - first + 1
    if not 1 < n_days < FEW_DAYS:
        return ()
    dates = f"{times.date(first):%-d %b} to {times.date(last):%-d %b}, UTC"
    fix = "Behaviour varies over the week: run the test for at least one."
    return (Problem("few-days", "days", f"The test ran for {n_days} days ({dates})", fix),)
