"""Snapshots of the numbers behind a journal entry: plain values that are stored as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pydantic import TypeAdapter

from recdash.comparison import ComparisonQuery
from recdash.metrics.naming import metric_title
from recdash.online.rules import users_of_pair

SubjectKind = Literal["run", "variant"]
"""What a review or decision is about: a run (or all runs), or a variant of an A/B test."""


@dataclass(frozen=True)
class Named:
    """A run or a test, with the name that it had when the snapshot was made."""

    id: str
    name: str


NEWER: Mapping[str, Any] = {"variant": None, "novelty": None, "is_always_valid": False, "planned_n": None}
"""{field that older entries lack: its value if it says nothing}."""


def _as_before(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns the fields as a dict, without newer fields that say nothing, as in older entries."""
    return {name: value for name, value in fields if name not in NEWER or value is not NEWER[name]}


@dataclass(frozen=True)
class Variant:
    """A variant of an A/B test, which may have served no stored run."""

    test: Named
    name: str


@dataclass(frozen=True)
class Subject:
    """The run that a decision or review is about, with its baseline, metric and k; ``others`` are further
    candidates.

    ``run`` is None if the entry is about all candidates, or about a ``variant`` of an A/B test without stored
    runs. ``baseline`` is None if the experiment has none.
    """

    run: Named | None
    baseline: Named | None
    metric: str
    k: int
    others: tuple[Named, ...] = ()
    variant: Variant | None = None

    @property
    def name(self) -> str:
        """Returns the name of the run or variant; empty if the subject is all candidates."""
        return self.run.name if self.run else self.variant.name if self.variant else ""

    @property
    def key(self) -> tuple[str, ...]:
        """Returns what distinguishes subjects: the run's id, or the test's id and the variant; empty for all
        candidates.
        """
        if self.run is not None:
            return (self.run.id,)
        return (self.variant.test.id, self.variant.name) if self.variant else ()

    @property
    def kind(self) -> SubjectKind:
        return "variant" if self.variant is not None else "run"

    @property
    def where(self) -> str:
        """Returns the metric with its cutoff, such as ``nDCG@10``; of a variant, its A/B test."""
        if self.variant is not None:
            return f"A/B test {self.variant.test.name}"
        return metric_title(self.metric, self.k)

    @property
    def candidates(self) -> tuple[Named, ...]:
        return (*((self.run,) if self.run and self.run != self.baseline else ()), *self.others)

    @property
    def query(self) -> ComparisonQuery | None:
        """Returns the query that gives these numbers; None without a baseline."""
        if self.baseline is None:
            return None
        runs = tuple(candidate.id for candidate in self.candidates)
        return ComparisonQuery(runs, self.baseline.id, self.metric, self.k)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self, dict_factory=_as_before)


# ── offline ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class DefinitionSnapshot:
    """The definition of a metric when the snapshot was made: its canonical ``spec``, the formula in LaTeX,
    and the population (``counted``).
    """

    spec: str
    title: str
    meaning: str
    formula: str
    counted: str


@dataclass(frozen=True)
class Difference:
    """A candidate's difference from a baseline by one metric; ``part`` names the slice of users, empty for
    all users.

    ``low`` and ``high`` are the ends of the corrected interval, which decides the finding ``word``. Numbers
    that could not be computed are None.
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
        """Returns ``amount`` as a share of the baseline's value; None if that value is 0 or missing, or if
        ``amount`` is None.
        """
        return amount / abs(self.base_value) if self.base_value and amount is not None else None


@dataclass(frozen=True)
class Guardrail:
    """A catalogue-level metric of candidate and baseline; ``change`` is a share of the baseline's value.

    ``low`` and ``high`` are the ends of its 95 % interval; None without an interval, and ``why_no_interval``
    is then the reason, if it was recorded.
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
    """The offline results of the stored runs.

    ``headline`` and ``sentences`` are the recommendation, ``state`` is its action; in snapshots of older
    releases, they are a verdict on the best candidate. ``pairs`` has all candidates with the baseline and
    with each other; ``metrics``, ``guardrails`` and ``slices`` concern the subject only. ``apart`` is {run
    id: why the run has no pair}. ``has_guardrails`` is False if the experiment's rules have none. ``run`` is
    the id of the run that is recommended, and ``facts`` are those of the recommendation; both are empty in
    snapshots of older releases.
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
    run: str | None = None
    facts: tuple[str, ...] = ()

    @property
    def own(self) -> Difference | None:
        """Returns the subject's pair with the baseline; None if there is no such pair."""
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
        return asdict(self, dict_factory=_as_before)


# ── online ───────────────────────────────────────────────────────────────────────────────────


AGGREGATED = "Aggregated before the upload."
"""What a metric means of which only aggregated data are known."""


@dataclass(frozen=True)
class OnlineDefinition:
    """The definition of an online metric when the snapshot was made; ``formula`` names the sums that are
    divided.
    """

    metric: str
    title: str
    meaning: str
    formula: str


@dataclass(frozen=True)
class Novelty:
    """The lift of the first goal (``title``) in the first days since exposure and in later days, over the
    same users.

    ``p`` is of the change between both; None if it could not be tested, and ``note`` says why. ``warning`` is
    the sentence of a novelty effect in any goal; empty without one.
    """

    title: str = ""
    early_lift: float | None = None
    late_lift: float | None = None
    p: float | None = None
    warning: str = ""
    note: str = ""


@dataclass(frozen=True)
class Lift:
    """One online metric of the variant that served the subject, compared with control.

    ``lift`` is a share of control's value. ``low`` and ``high`` are the ends of its interval, corrected over
    the goals, which decides the finding ``word``. ``n`` is the number of users; ``numerator`` and
    ``denominator`` are sums over them. Numbers that could not be computed are None. ``is_always_valid`` is
    True if the always-valid interval confirms the finding; False in snapshots of older releases. ``plain`` is
    the lift without CUPED; None if ``lift`` is not adjusted, and in snapshots of older releases.
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
    is_always_valid: bool = False
    plain: float | None = None

    @property
    def gained(self) -> float | None:
        """Returns the lift with the sign that makes above 0 better; None if there is none."""
        return self.lift if self.lift is None or self.direction == "up" else -self.lift


@dataclass(frozen=True)
class OfflineOnlineSnapshot:
    """The subject's offline result compared with its result in one online goal; ``explained`` is what the
    twelve checks found.
    """

    metric: str
    title: str
    quadrant: str
    sentence: str
    explained: str = ""


@dataclass(frozen=True)
class Online:
    """The results of one A/B test for the subject. ``srm_p`` is the p of the SRM test; None if unknown.

    ``novelty`` is None if the subject is a run. ``planned_n`` is the number of users, control and variant
    together, that count towards a planned sample size, if these are not all users of the two.
    """

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
    novelty: Novelty | None = None
    planned_n: int | None = None

    @property
    def split(self) -> str:
        """Returns how users were split, as the end of a sentence that begins with the split of users."""
        if self.blocked:
            return "broken"
        if self.srm_p is None:
            return "not known"
        return "as planned" if self.rules.get("split") else "even, no planned split is given"

    def size_of(self, lift: Lift) -> int:
        """Returns the number of users that a planned sample size counts; where the numbers of users are
        unknown, those with the metric of the lift.
        """
        everyone = users_of_pair(self.users, self.control, self.variant)
        return self.planned_n or everyone or lift.n + lift.control_n

    def of_role(self, role: str) -> list[Lift]:
        return [lift for lift in self.lifts if lift.role == role]

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values."""
        return asdict(self, dict_factory=_as_before)


SUBJECT, OFFLINE, ONLINE = TypeAdapter(Subject), TypeAdapter(Offline), TypeAdapter(tuple[Online, ...])
"""Adapters that read the values that ``as_dict`` wrote; fields that they do not know are ignored."""
