"""All metrics by name, and the definitions that are made from typed specs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from recdash.domain.kinds import Users
from recdash.errors import InputError, Problem, UnknownName
from recdash.metrics.catalogue import CATALOGUE, USERS, CatalogueMetric
from recdash.metrics.formulas import MetricFormula
from recdash.metrics.parameters import Parameter
from recdash.metrics.populations import rule_of, why_no_population
from recdash.metrics.ranking import RANKING, RankingMetric
from recdash.metrics.ratings import RATINGS, RatingMetric
from recdash.metrics.sample import RelevantHits
from recdash.metrics.spec import Spec, parse, split

Metric = RankingMetric | CatalogueMetric | RatingMetric

_ALL: tuple[Metric, ...] = (*RANKING, *CATALOGUE, *RATINGS)
METRICS: Mapping[str, Metric] = {metric.name: metric for metric in _ALL}
"""All metrics by name. A row added to the table of its family appears here, on the pages and in the guide."""


@dataclass(frozen=True)
class Definition:
    """A metric with all its parameters filled in; ``str()`` gives the canonical spec without the cutoff."""

    metric: Metric
    parameters: Mapping[str, str]

    def __str__(self) -> str:
        changed = [
            f"{knob.name}={self.parameters[knob.name]}"
            for knob in self.metric.parameters
            if self.parameters[knob.name] != knob.default
        ]
        return f"{self.metric.name}({','.join(changed)})" if changed else self.metric.name

    @property
    def of_lists(self) -> str:
        """Returns the canonical spec of a catalogue-level metric with the default population.

        The value of a single list does not depend on the population, so that means over lists are stored
        under this spec.
        """
        users = USERS.default
        return str(replace(self, parameters={**self.parameters, **({USERS.name: users} if users else {})}))

    @property
    def has_user_values(self) -> bool:
        """Returns True for accuracy metrics of ranked lists, which are means over users."""
        return isinstance(self.metric, RankingMetric)

    @property
    def is_paired(self) -> bool:
        """Returns True for metrics of ranked lists and of predicted ratings: runs are compared per user."""
        return isinstance(self.metric, RankingMetric | RatingMetric)

    @property
    def lower_is_better(self) -> bool:
        return bool(getattr(self.metric, "lower_is_better", False))

    @property
    def may_be_negative(self) -> bool:
        """Returns True if values below 0 are possible."""
        return bool(getattr(self.metric, "may_be_negative", False))

    @property
    def ideal_is_best(self) -> bool:
        """Returns True if no list scores higher than one with only the user's relevant items, best first."""
        return (
            isinstance(self.metric, RankingMetric)
            and self.metric.ideal_is_best
            and all(part.ideal_is_best for part in self._parts())
        )

    @property
    def may_fall(self) -> bool:
        """Returns True if one more hit can lower a user's value.

        Returns False for metrics without a value per user.
        """
        if not isinstance(self.metric, RankingMetric):
            return False
        own = not self.metric.may_fall.isdisjoint(self.parameters.items())
        return own or any(part.may_fall for part in self._parts())

    @property
    def largest_value(self) -> float | None:
        """Returns the largest possible value of a user (the smallest is 0); None if there is no upper bound.

        Returns None also for metrics without a value per user.
        """
        if not isinstance(self.metric, RankingMetric):
            return None
        if not self.metric.unbounded.isdisjoint(self.parameters.items()):
            return None
        bounded = all(part.largest_value is not None for part in self._parts())
        return self.metric.largest if bounded else None

    @property
    def own_rule(self) -> Users | None:
        """Returns the population rule that a ranking metric names itself (``users=truth``).

        Returns None if it names none.
        """
        return rule_of(self.parameters) if isinstance(self.metric, RankingMetric) else None

    def bound(self, samples: Sequence[RelevantHits], k: int) -> float | None:
        """Returns the largest value at k that a user of any of the samples can reach; the smallest is 0.

        The bound of an unbounded sum over hits is reached by a user with the largest m of any user, all of
        whose relevant items have the truth's largest gain and are ranked first. If lists may repeat items, a
        share may exceed 1; the bound then also covers one relevant item that fills all ranks. Returns None if
        there is no upper bound.
        """
        may_repeat = any(sample.may_repeat for sample in samples)
        if not self.ideal_is_best:
            return None if may_repeat else self.largest_value
        if self.largest_value is not None and not may_repeat:
            return self.largest_value
        best = [user for sample in samples for user in sample.best_users(k)]
        if any(map(self.why_unavailable, best)):
            return None
        return max(float(self.formula().own(user, k).max()) for user in best)

    def why_unavailable(self, sample: RelevantHits) -> str:
        """Returns why a ranking metric, or a metric it is composed of, is unavailable for this sample.

        The result is empty if it is available, and for metrics of other families.
        """
        if not isinstance(self.metric, RankingMetric):
            return ""
        own = self.metric.why_unavailable(sample, self.parameters) or why_no_population(
            sample, self.parameters
        )
        return own or next(filter(None, (part.why_unavailable(sample) for part in self._parts())), "")

    def _parts(self) -> Iterator[Definition]:
        """Yields the definitions of the metrics that this one combines, as in ``f1(of=map,mar)``."""
        for knob in self.metric.parameters:
            if knob.kind == "metrics":
                yield from map(define, split(self.parameters[knob.name]))

    def formula(self) -> MetricFormula:
        """Returns the formula of a ranking metric. Raises InputError for metrics without a value per user."""
        if not isinstance(self.metric, RankingMetric):
            fix = f"Name an accuracy metric: {', '.join(metric.name for metric in RANKING)}."
            raise InputError(
                Problem(
                    "no-user-value",
                    f"metric '{self}'",
                    "it is a catalogue-level metric and has no value per user",
                    fix,
                )
            )
        return self.metric.formula(self.parameters, lambda text: define(parse(text)).formula())


def define(spec: Spec | str) -> Definition:
    """Returns the definition of a spec, with defaults for the parameters that it does not name.

    Raises UnknownName for an unknown metric, parameter or value, and InputError for a missing or impossible
    one.
    """
    spec = named(parse(spec) if isinstance(spec, str) else spec)
    metric = METRICS[spec.name]
    if spec.k is not None and not metric.has_cutoff:
        raise InputError(
            Problem("no-cutoff", f"metric '{spec}'", f"{spec.name} has no cutoff", f"Write {spec.label}.")
        )
    written = {name: _checked(metric, name, value) for name, value in spec.parameters}
    parameters: dict[str, str] = {}
    for knob in metric.parameters:
        value = written.get(knob.name, knob.default)
        if value is None:
            fix = f"Write {metric.name}({knob.name}=…)."
            raise InputError(Problem("parameter-missing", f"metric '{metric.name}'", f"no {knob.name}", fix))
        parameters[knob.name] = value
    return Definition(metric, parameters)


def named(spec: Spec) -> Spec:
    """Returns the spec with a parameter name for every value.

    A value without one belongs to the first parameter. Raises UnknownName for an unknown metric, and
    InputError if a parameter occurs twice.
    """
    if spec.name not in METRICS:
        raise UnknownName("metric", spec.name, sorted(METRICS))
    first = next((knob.name for knob in METRICS[spec.name].parameters), "")
    pairs = tuple((name or first, value) for name, value in spec.parameters)
    if len(dict(pairs)) < len(pairs):
        text = f"'{first}' given twice"
        raise InputError(Problem("given-twice", f"metric '{spec}'", text, "Name each parameter once."))
    return replace(spec, parameters=pairs)


def _checked(metric: Metric, name: str, value: str) -> str:
    """Returns the parameter's value in its canonical spelling. Raises UnknownName or InputError."""
    knobs = {knob.name: knob for knob in metric.parameters}
    if name not in knobs:
        raise UnknownName(f"parameter of {metric.name}", name or value, sorted(knobs))
    knob = knobs[name]
    if knob.kind == "metrics" and value not in knob.values:
        return _checked_pair(metric, knob, value)
    return knob.checked(value, metric.name)


def _checked_pair(metric: Metric, knob: Parameter, value: str) -> str:
    parts = split(value)
    if len(parts) != 2:
        place, fix = f"{metric.name}({knob.name}={value})", f"{metric.name}({knob.name}=map,mar)"
        raise InputError(
            Problem("not-two-metrics", place, f"{len(parts)} metrics", f"Name two, for example {fix}.")
        )
    definitions = [define(_without_cutoff(part, metric)) for part in parts]
    for part in definitions:
        part.formula()
        if not part.metric.has_cutoff:
            text, fix = f"{part} has no cutoff", "Name metrics with a cutoff."
            raise InputError(Problem("part-without-cutoff", f"{metric.name}(…{part}…)", text, fix))
    return ",".join(map(str, definitions))


def _without_cutoff(part: str, metric: Metric) -> Spec:
    spec = parse(part)
    if spec.k is not None:
        text = "a cutoff inside the brackets"
        fix = f"Both metrics share the cutoff after the brackets: write {spec.label} there."
        raise InputError(Problem("cutoff-inside", f"{metric.name}(…{part}…)", text, fix))
    return spec
