"""Snapshots of the numbers behind a journal entry: plain values that are stored as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic import TypeAdapter

from recdash.comparison import ComparisonQuery
from recdash.metrics.naming import metric_title


@dataclass(frozen=True)
class Named:
    """A run or a test under the name that it had."""

    id: str
    name: str


@dataclass(frozen=True)
class Subject:
    """The run that a decision or review is about, its baseline, metric and k; ``others``: further candidates.

    ``run`` is None if it is about all of them, ``baseline`` if the experiment has none.
    """

    run: Named | None
    baseline: Named | None
    metric: str
    k: int
    others: tuple[Named, ...] = ()

    @property
    def where(self) -> str:
        """Returns ``nDCG@10``."""
        return metric_title(self.metric, self.k)

    @property
    def candidates(self) -> tuple[Named, ...]:
        return (*((self.run,) if self.run and self.run != self.baseline else ()), *self.others)

    @property
    def query(self) -> ComparisonQuery | None:
        """Returns the query behind the numbers; None without a baseline."""
        if self.baseline is None:
            return None
        runs = tuple(candidate.id for candidate in self.candidates)
        return ComparisonQuery(runs, self.baseline.id, self.metric, self.k)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


# ── offline ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class DefinitionSnapshot:
    """The definition of a metric at the time: its canonical ``spec``, the formula (LaTeX) and the
    population.
    """

    spec: str
    title: str
    meaning: str
    formula: str
    counted: str


@dataclass(frozen=True)
class Difference:
    """Candidate minus baseline by one metric; ``part`` names the slice of users, empty for all.

    ``low`` and ``high``: the interval corrected within its family, by which ``word`` judges. A number that
    could not be computed is None.
    """

    baseline: str
    candidate: str
    metric: str
    title: str
    base_value: float | None
    value: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_corrected: float | None
    n: int
    wins: int
    ties: int
    losses: int
    margin: float
    word: str
    part: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        return self.baseline, self.candidate, self.metric, self.part

    def share(self, amount: float | None) -> float | None:
        """Returns ``amount`` as a share of the baseline's value; None if that is 0 or missing."""
        return amount / abs(self.base_value) if self.base_value and amount is not None else None


@dataclass(frozen=True)
class Guardrail:
    """A catalogue-level metric of the candidate and the baseline; ``change`` is a share of the latter.

    ``low`` and ``high`` are its 95 % interval; None without one, and then ``why_no_interval`` says why, if
    recorded.
    """

    metric: str
    title: str
    base_value: float
    value: float
    change: float | None
    guard: float
    broken: bool
    low: float | None = None
    high: float | None = None
    why_no_interval: str = "it was not recorded"


@dataclass(frozen=True)
class Offline:
    """The results of the stored runs.

    ``headline`` and ``sentences``: the recommendation, ``state`` what it says to do; older snapshots hold a
    verdict on the best candidate instead. ``pairs`` of all candidates with the baseline and with each
    other; ``metrics``, ``guardrails`` and ``slices`` are the subject's own. ``apart``: why a run has no pair.
    ``has_guardrails``: False if the experiment's rules have none.
    """

    subject: Subject
    state: str
    headline: str
    sentences: tuple[str, ...]
    terms: str
    pairs: tuple[Difference, ...]
    metrics: tuple[Difference, ...] = ()
    guardrails: tuple[Guardrail, ...] = ()
    slices: tuple[Difference, ...] = ()
    definitions: tuple[DefinitionSnapshot, ...] = ()
    warnings: tuple[str, ...] = ()
    apart: Mapping[str, str] = field(default_factory=dict)
    has_guardrails: bool = True

    @property
    def own(self) -> Difference | None:
        """Returns the subject's pair with the baseline."""
        run, baseline = self.subject.run, self.subject.baseline
        if run is None or baseline is None:
            return None
        ids = (baseline.id, run.id)
        return next((pair for pair in self.pairs if (pair.baseline, pair.candidate) == ids), None)

    def name(self, run_id: str) -> str:
        subject = self.subject
        names = {run.id: run.name for run in (subject.run, subject.baseline, *subject.others) if run}
        return names.get(run_id, run_id)

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values."""
        return asdict(self)


# ── online ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class OnlineDefinition:
    """An online metric as it was counted: ``formula`` names the sums that are divided."""

    metric: str
    title: str
    meaning: str
    formula: str


@dataclass(frozen=True)
class Lift:
    """One online metric in the variant that served the subject, compared with control.

    ``lift`` is a share of control's value, ``low`` and ``high`` the interval by which ``word`` judges it,
    corrected within the goals. ``n`` users; ``numerator`` and ``denominator`` are sums over them.
    """

    metric: str
    title: str
    unit: str
    role: str
    direction: str
    margin: float | None
    control_value: float | None
    value: float | None
    control_n: int
    n: int
    numerator: float | None
    denominator: float | None
    lift: float | None
    low: float | None
    high: float | None
    p: float | None
    p_corrected: float | None
    word: str
    note: str = ""

    @property
    def gained(self) -> float | None:
        """Returns the lift signed so that more is better."""
        return self.lift if self.lift is None or self.direction == "up" else -self.lift


@dataclass(frozen=True)
class OfflineOnlineSnapshot:
    """The subject's result offline and by one goal online; ``explained``: what the twelve checks found."""

    metric: str
    title: str
    quadrant: str
    sentence: str
    explained: str = ""


@dataclass(frozen=True)
class Online:
    """The results of one A/B test for the subject. ``srm_p``: of the planned split; None if unknown."""

    subject: Subject
    test: Named
    variant: str
    control: str
    users: Mapping[str, int]
    srm_p: float | None
    blocked: bool
    crossover: int
    warnings: tuple[str, ...]
    lifts: tuple[Lift, ...]
    sides: tuple[OfflineOnlineSnapshot, ...] = ()
    definitions: tuple[OnlineDefinition, ...] = ()
    rules: Mapping[str, Any] = field(default_factory=dict)

    def of_role(self, role: str) -> list[Lift]:
        return [lift for lift in self.lifts if lift.role == role]

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values."""
        return asdict(self)


SUBJECT, OFFLINE, ONLINE = TypeAdapter(Subject), TypeAdapter(Offline), TypeAdapter(tuple[Online, ...])
"""Reads what ``as_dict`` wrote; fields of a later version are ignored."""
