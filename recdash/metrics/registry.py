"""All metrics by name, and the definitions that are made from typed specs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import RLock

from recdash.domain.arguments import check_type
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

BUILT_IN: tuple[Metric, ...] = (*RANKING, *CATALOGUE, *RATINGS)
"""The metrics of recdash.

A row added to the table of its family appears here, on the pages and in the guide.
"""


class MetricTable(Mapping[str, Metric]):
    """All metrics by name: those of recdash, then own metrics of users, which ``metrics.own`` adds.

    Own metrics are read when a name that recdash lacks is looked up, or all names are listed; a command that
    names only metrics of recdash never reads them.
    """

    def __init__(self, rows: Sequence[Metric]) -> None:
        self._built_in = {metric.name: metric for metric in rows}
        self._own: dict[str, Metric] = {}
        self._refused: dict[str, Problem] = {}
        self._read_own: Callable[[], None] | None = None
        self._is_read, self._lock = False, RLock()

    def __getitem__(self, name: str) -> Metric:
        return self._built_in[name] if name in self._built_in else self.own[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*self._built_in, *self.own))

    def __len__(self) -> int:
        return len(self._built_in) + len(self.own)

    def is_own(self, name: str) -> bool:
        """Returns whether the metric is not one of recdash; own metrics need not be read to tell."""
        return name not in self._built_in

    @property
    def own(self) -> Mapping[str, Metric]:
        """Returns the own metrics by name, in the order in which they were added."""
        self.read()
        return dict(self._own)

    @property
    def refused(self) -> Mapping[str, Problem]:
        """Returns the problems of own metrics that are not used, by the metric's name, or by the place of a
        file or package that cannot be read.
        """
        self.read()
        return dict(self._refused)

    def read_by(self, read_own: Callable[[], None]) -> None:
        """Sets the function that adds the own metrics of files and packages, or refuses them."""
        self._read_own = read_own

    def read(self) -> None:
        """Reads the own metrics of files and packages if this was not done yet."""
        with self._lock:
            if not self._is_read and self._read_own is not None:
                self._is_read = True  # first: a file that is read may list the metrics
                self._read_own()

    def add(self, metric: Metric) -> None:
        """Adds an own metric that was checked."""
        with self._lock:
            self._own[metric.name] = metric

    def remove(self, name: str) -> None:
        """Removes an own metric."""
        with self._lock:
            self._own.pop(name)

    def refuse(self, key: str, problem: Problem) -> None:
        """Records why an own metric, or a file or package with some, is not used."""
        with self._lock:
            self._refused.setdefault(key, problem)

    def was_refused_for(self, problem: Problem) -> bool:
        """Returns whether an own metric that was read has this problem, which was logged then."""
        return problem in self._refused.values()

    def forget_own(self) -> None:
        """Drops the own metrics; those of files and packages are read again when one is needed."""
        with self._lock:
            self._own, self._refused, self._is_read = {}, {}, False


METRICS = MetricTable(BUILT_IN)


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
            accuracy = [name for name, metric in METRICS.items() if isinstance(metric, RankingMetric)]
            fix = f"Name an accuracy metric: {', '.join(accuracy)}."
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
    check_type("metric", spec, (str, Spec), "Give a text, such as 'ndcg@10'.")
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
        raise _unknown(spec.name)
    first = next((knob.name for knob in METRICS[spec.name].parameters), "")
    pairs = tuple((name or first, value) for name, value in spec.parameters)
    if len(dict(pairs)) < len(pairs):
        text = f"'{first}' given twice"
        raise InputError(Problem("given-twice", f"metric '{spec}'", text, "Name each parameter once."))
    return replace(spec, parameters=pairs)


def _unknown(name: str) -> InputError:
    """Returns the error for a name that no metric has; why it was refused, if it is that of an own metric."""
    problem = METRICS.refused.get(name)
    return UnknownName("metric", name, sorted(METRICS)) if problem is None else InputError(problem)


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
