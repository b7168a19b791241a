"""Computes the chance to win and the expected loss of each variant: a Bayesian view beside p.

The effect of a variant has a normal prior. The data say of it what its estimate and standard error by the
delta method say, so that the posterior is normal, too. This is GrowthBook's Bayesian engine
(``EffectBayesianABTest`` of gbstats), and gives its numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from recdash.errors import InputError, Problem, UnknownName
from recdash.formatting import numbers
from recdash.formatting.result_table import ResultTable
from recdash.online import counts
from recdash.online.analysis import lift as compare
from recdash.online.analysis.comparison import SplitComparison
from recdash.online.metrics import OnlineMetric
from recdash.stats import NORMAL_95

if TYPE_CHECKING:
    import pandas as pd

    from recdash.online.analysis.results import OnlineResults, OnlineRow

Effect = Literal["relative", "absolute"]
EFFECTS: tuple[Effect, ...] = ("relative", "absolute")
FEW_EVENTS = "too few successes or failures for a normal posterior"
SKEWED = "too few users for a normal posterior of values so skewed"
MOST_OFF = 0.15
"""Largest distance between the ends of the lift's interval and of the normal one, as a share of the width."""
SRM_BROKEN = "sample ratio mismatch: no metric is judged"
OF_QUANTILE = "it is not available for a quantile"
FIX_PRIOR = (
    "Write flat, or mean and standard deviation of the lift: 0,0.3 is 0 % with a standard deviation of 30 %."
)


@dataclass(frozen=True)
class Prior:
    """The normal distribution of a lift before the data: its mean and standard deviation, as shares.

    ``std_dev`` None is the flat (improper) prior, by which every lift is as likely as any other. An absolute
    effect has the same prior in shares of the control's value.
    """

    mean: float = 0.0
    std_dev: float | None = None

    def __post_init__(self) -> None:
        """Raises InputError for a mean that is not finite, or a standard deviation that is not above 0."""
        is_proper = self.std_dev is None or 0 < self.std_dev < math.inf
        if not (math.isfinite(self.mean) and is_proper):
            text = f"mean {self.mean:g}, standard deviation {self.std_dev}"
            raise InputError(Problem("bad-prior", "prior", text, FIX_PRIOR))

    def __str__(self) -> str:
        """Returns the prior in words, such as ``normal, mean 0 %, standard deviation 30 %``."""
        if self.std_dev is None:
            return "flat: every lift is as likely as any other"
        return f"normal, mean {100 * self.mean:g} %, standard deviation {100 * self.std_dev:g} %"

    def in_units_of(self, control: float) -> Prior:
        """Returns the prior of the absolute difference from a control with this value."""
        if self.std_dev is None:
            return self
        return Prior(self.mean * abs(control), self.std_dev * abs(control))


FLAT = Prior()
INFORMED = Prior(0.0, 0.3)
"""The prior that GrowthBook proposes: a lift beyond ±60 % is unlikely."""


def prior_of(text: str) -> Prior:
    """Returns the prior that a text defines: ``flat``, or mean and standard deviation such as ``0,0.3``.

    Raises InputError for another text.
    """
    if text.strip().lower() == "flat":
        return FLAT
    mean, comma, std_dev = text.partition(",")
    try:
        values = float(mean), float(std_dev if comma else "")
    except ValueError:
        raise InputError(Problem("bad-prior", "prior", f"'{text}'", FIX_PRIOR)) from None
    return Prior(*values)


class Posterior(NamedTuple):
    """A normal posterior of an effect: its mean and standard deviation."""

    mean: float
    std_dev: float

    @property
    def chance_above(self) -> float:
        """Returns the probability that the effect is above 0."""
        from scipy.special import ndtr

        return float(ndtr(self.mean / self.std_dev))

    @property
    def expected_gain(self) -> float:
        """Returns E[max(effect, 0)] = μ Φ(μ/σ) + σ φ(μ/σ)."""
        from scipy.special import ndtr

        z = self.mean / self.std_dev
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        return max(float(self.mean * ndtr(z) + self.std_dev * density), 0.0)

    @property
    def expected_loss(self) -> float:
        """Returns E[max(−effect, 0)]."""
        return Posterior(-self.mean, self.std_dev).expected_gain

    @property
    def interval(self) -> tuple[float, float]:
        """Returns the central 95 % credible interval."""
        from scipy.special import ndtri

        half = float(ndtri((1 + compare.CONFIDENCE) / 2)) * self.std_dev
        return self.mean - half, self.mean + half


def posterior(estimate: float, std_error: float, prior: Prior = FLAT) -> Posterior:
    """Returns the posterior of an effect, given its estimate, standard error (above 0) and prior."""
    if prior.std_dev is None:
        return Posterior(estimate, std_error)
    precision = 1 / std_error**2 + 1 / prior.std_dev**2
    mean = (estimate / std_error**2 + prior.mean / prior.std_dev**2) / precision
    return Posterior(mean, math.sqrt(1 / precision))


@dataclass(frozen=True)
class WinChance:
    """The chance to win of one variant in one metric, and the expected losses.

    ``chance`` is the probability that the variant is better than the control. ``loss`` is the expected loss
    if the variant is shipped although the control is better, ``loss_of_control`` that if the control is kept
    although the variant is better; both average over the whole posterior, so that a case without loss counts
    as 0. ``effect`` is the posterior mean, ``low`` and ``high`` are its 95 % credible interval. All but
    ``chance`` are shares of the control's value (0.05 = 5 %), or in the metric's unit for an absolute effect.
    If the numbers are None, ``note`` says why.
    """

    metric: str
    title: str
    variant: str
    role: str
    direction: str
    chance: float | None = None
    loss: float | None = None
    loss_of_control: float | None = None
    effect: float | None = None
    std_dev: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""


@dataclass(frozen=True, repr=False)
class WinChances:
    """The chances to win of all variants, in all metrics. ``prior`` is that of the lift."""

    rows: tuple[WinChance, ...]
    prior: Prior
    effect: Effect

    def of(self, metric: str, variant: str) -> WinChance:
        """Returns the chance to win of a variant in a metric. Raises UnknownName for an unknown one."""
        row = next((row for row in self.rows if (row.metric, row.variant) == (metric, variant)), None)
        if row is None:
            known = [f"{row.metric}, {row.variant}" for row in self.rows]
            raise UnknownName("metric and variant", f"{metric}, {variant}", known)
        return row

    @property
    def definition(self) -> str:
        """Returns what the numbers are and on which prior they rest, in one paragraph."""
        return definition(self.prior)

    def results(self) -> ResultTable:
        columns = tuple(WinChance.__dataclass_fields__)
        return ResultTable("Chance to win", columns, tuple(map(asdict, self.rows)), self.definition)

    def table(self) -> pd.DataFrame:
        """Returns a data frame with a row per metric and variant, and the fields of ``WinChance``."""
        return self.results().table()

    def __repr__(self) -> str:
        lines = [f"{row.title}, {row.variant}: {in_words(row, self.effect)}" for row in self.rows]
        return "\n".join([*lines, f"Prior of the lift: {self.prior}."])

    def _repr_html_(self) -> str:
        """Returns the chances as HTML, for notebooks."""
        return self.results()._repr_html_()


def definition(prior: Prior) -> str:
    """Returns what chance to win and expected loss are, with the prior."""
    return (
        "Chance to win: the probability that the variant is better than the control, given the data and the "
        "prior. Expected loss: what shipping the variant loses on average over the posterior, where a case "
        f"in which it is better counts as 0. Prior of the lift: {prior}. Neither is corrected for several "
        "metrics and variants, nor for repeated looks."
    )


def in_words(row: WinChance, effect: Effect = "relative") -> str:
    """Returns a chance with its expected loss, such as ``97 % to win, expected loss 0.0123 %``."""
    if row.chance is None or row.loss is None:
        return row.note
    loss = f"{numbers.three(100 * row.loss)} %" if effect == "relative" else numbers.three(row.loss)
    return f"{chance_text(row.chance)} to win, expected loss {loss}"


def chance_text(chance: float | None) -> str:
    """Returns a chance in %, such as ``97.3 %``; ``>99.9 %`` and ``<0.1 %`` near the ends, as it is never
    certain.
    """
    if chance is None:
        return numbers.NONE
    if chance > 0.999:
        return ">99.9 %"
    return "<0.1 %" if chance < 0.001 else f"{numbers.fixed(100 * chance, 1)} %"


def win_chances(
    results: OnlineResults,
    metrics: Mapping[str, OnlineMetric],
    arms: Mapping[str, Mapping[str, Any]],
    prior: Prior = FLAT,
    effect: Effect = "relative",
) -> WinChances:
    """Returns the chances to win of the variants of a test.

    ``metrics`` are {name: definition}, ``arms`` {metric: {variant: its aggregates}}. A lift whose interval is
    withheld has no chance to win either, and none has one if the split of users is broken. Raises UnknownName
    for an unknown kind of effect.
    """
    if effect not in EFFECTS:
        raise UnknownName("effect", effect, EFFECTS)
    rows = tuple(_rows(results, metrics, arms, prior, effect))
    return WinChances(rows, prior, effect)


def _rows(
    results: OnlineResults,
    metrics: Mapping[str, OnlineMetric],
    arms: Mapping[str, Mapping[str, Any]],
    prior: Prior,
    effect: Effect,
) -> Iterator[WinChance]:
    for row in (row for row in results.rows if not row.is_control):
        names: dict[str, Any] = {"metric": row.metric, "title": row.title, "variant": row.variant}
        names |= {"role": row.role, "direction": row.direction}
        if row.metric not in metrics:
            yield WinChance(**names, note=OF_QUANTILE)
            continue
        sides = [arms[row.metric].get(name) for name in (results.control, row.variant)]
        metric = metrics[row.metric]
        note = SRM_BROKEN if results.health.blocked else _why_withheld(metric, row, sides)
        if note:
            yield WinChance(**names, note=note)
            continue
        estimate, scaled = effect_of(metric, sides, effect, is_adjusted=row.is_adjusted), prior
        if effect == "absolute":
            scaled = prior.in_units_of(compare.value(metric, sides[0]).value or 0.0)
        yield _row(names, posterior(*estimate, scaled))


def _why_withheld(metric: OnlineMetric, row: OnlineRow, sides: Sequence[Any]) -> str:
    """Returns why a lift has no chance to win: it has no interval, or its posterior would not be normal; an
    empty text if it has one.
    """
    if row.lift_low is None or None in sides:
        return row.note or "the lift has no interval"
    if row.method == SplitComparison.method and not _is_nearly_normal(metric, row, sides):
        return SKEWED
    ratio = compare.log_ratio(metric, *sides, adjusted=row.is_adjusted)
    return FEW_EVENTS if ratio is None else ""


def _is_nearly_normal(metric: OnlineMetric, row: OnlineRow, sides: Sequence[Any]) -> bool:
    """Returns True if both ends of the lift's interval are about those of a normal distribution, so that a
    posterior does not contradict the lift.
    """
    assert row.lift_low is not None  # noqa: S101
    assert row.lift_high is not None  # noqa: S101
    effect, error = effect_of(metric, sides, is_adjusted=row.is_adjusted)
    off = max(abs(row.lift_low - effect + NORMAL_95 * error), abs(row.lift_high - effect - NORMAL_95 * error))
    return off <= MOST_OFF * (row.lift_high - row.lift_low)


def effect_of(
    metric: OnlineMetric, sides: Sequence[Any], effect: Effect = "relative", *, is_adjusted: bool = False
) -> tuple[float, float]:
    """Returns the effect of a variant, and its standard error by the delta method.

    ``sides`` are the aggregates of control and variant; the control must be above 0 for a *relative* effect.
    ``is_adjusted``: adjust for pre-test behaviour (CUPED).
    """
    if is_adjusted:
        return _adjusted_effect(metric, sides, effect)
    control, variant = (float(compare.value(metric, side).value or 0.0) for side in sides)
    errors = [_variance(metric, side) / side.count() for side in compare.with_shared_variance(metric, *sides)]
    if effect == "absolute":
        return variant - control, math.sqrt(sum(errors))
    squared = errors[1] / control**2 + errors[0] * variant**2 / control**4
    return (variant - control) / control, math.sqrt(squared)


def _variance(metric: OnlineMetric, arm: Any) -> float:
    """Returns the variance of one user; of a rate that of its successes, p (1 − p)."""
    rates = counts.counted(metric, arm)
    if rates is not None:
        return rates[0].rate * (1 - rates[0].rate)
    return float(arm.ratio_var(metric.numerator, metric.denominator))


def _adjusted_effect(metric: OnlineMetric, sides: Sequence[Any], effect: Effect) -> tuple[float, float]:
    from scipy.special import ndtri
    from tea_tasting.metrics import RatioOfMeans

    earlier = compare.before(metric)
    result = RatioOfMeans(
        metric.numerator,
        metric.denominator,
        numer_covariate=earlier.numerator,
        denom_covariate=earlier.denominator,
        confidence_level=compare.CONFIDENCE,
        use_t=False,
    ).analyze_aggregates(*compare.with_shared_variance(metric, *sides))
    widths = 2 * float(ndtri((1 + compare.CONFIDENCE) / 2))
    if effect == "absolute":
        width = result.effect_size_ci_upper - result.effect_size_ci_lower
        return float(result.effect_size), float(width / widths)
    width = math.log1p(result.rel_effect_size_ci_upper) - math.log1p(result.rel_effect_size_ci_lower)
    # d exp(x) = exp(x) dx: the delta method takes the error of the logarithm to that of the ratio.
    lift = float(result.rel_effect_size)
    return lift, (1 + lift) * width / widths


def _row(names: Mapping[str, Any], normal: Posterior) -> WinChance:
    chance, gain, loss = normal.chance_above, normal.expected_gain, normal.expected_loss
    if names["direction"] == "down":
        mirrored = Posterior(-normal.mean, normal.std_dev)
        chance, gain, loss = mirrored.chance_above, loss, gain
    low, high = normal.interval
    return WinChance(
        **names,
        chance=chance,
        loss=loss,
        loss_of_control=gain,
        effect=normal.mean,
        std_dev=normal.std_dev,
        low=low,
        high=high,
    )
