"""Stored records: experiments, runs, A/B tests and off-policy estimates."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from recdash.domain.hits import IdOverlap
from recdash.domain.kinds import OnlineKind, Replication, TableKind
from recdash.errors import Problem


@dataclass(frozen=True)
class Experiment:
    """A stored evaluation set-up; its tables are given by their sha256.

    ``truth`` is the test set; an experiment without one has A/B tests only, and no runs. ``tables`` has
    further tables (users, vectors, similarity) as {kind: sha256}.
    """

    id: str
    name: str
    created: datetime
    truth: str | None
    train: str | None = None
    catalogue: str | None = None
    tables: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    baseline: str | None = None
    note: str = ""
    archived: datetime | None = None
    demo: bool = False

    @property
    def files(self) -> frozenset[str]:
        """Returns the sha256 of all its tables."""
        return frozenset(filter(None, self.all_tables.values()))

    @property
    def kinds(self) -> frozenset[TableKind]:
        """Returns the kinds of its tables."""
        return frozenset(kind for kind, sha256 in self.all_tables.items() if sha256 is not None)

    @property
    def all_tables(self) -> dict[TableKind, str | None]:
        """Returns {kind: sha256} of all its tables, with None for those of the first three that it lacks."""
        further = cast("Mapping[TableKind, str]", self.tables)
        return {"truth": self.truth, "train": self.train, "catalogue": self.catalogue, **further}


@dataclass(frozen=True)
class Replicated:
    """The several uploads of one candidate: their ``labels``, and the word for one of them (``noun``: fold or
    seed).
    """

    kind: Replication
    noun: str
    labels: tuple[str, ...]

    def __str__(self) -> str:
        """Returns the number of uploads with its noun, such as ``5 seeds``."""
        return f"{len(self.labels)} {self.noun}s"


@dataclass(frozen=True)
class Run:
    """A stored and scored upload of a candidate. ``slot`` decides its colour and shape for good.

    Each of a candidate's several folds or seeds is a run too: its ``replicate_of`` is the candidate's id, its
    ``name`` the replicate's label. It has no colour and is never listed as a candidate.
    """

    id: str
    experiment: str
    name: str
    created: datetime
    slot: int
    upload: str | None
    hits: Mapping[str, str]
    ledger: Mapping[str, int | None]
    notices: tuple[Problem, ...] = ()
    tags: tuple[str, ...] = ()
    note: str = ""
    params: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    archived: datetime | None = None
    replicate_of: str | None = None

    @property
    def overlap(self) -> IdOverlap | None:
        """Returns how many of its ids occur in the experiment's tables; None if this was not recorded when it
        was scored.
        """
        facts = self.provenance.get("known_ids")
        return IdOverlap.of(facts) if facts else None

    @property
    def own_metrics(self) -> tuple[str, ...]:
        """Returns the names of the own metrics that were installed when the run was added."""
        return tuple(self.provenance.get("own_metrics", ()))

    @property
    def reference(self) -> str | None:
        """Returns the name of the reference candidate (popular, oracle …) that this run is; None for an
        upload.
        """
        name: str | None = self.provenance.get("reference")
        return name

    @property
    def source(self) -> Mapping[str, Any]:
        """Returns where an experiment tracker has the run: ``tracker``, ``run`` (its id there) and
        ``artifacts``, {path: sha256 of the file} of its lists; empty for a run that was not imported.
        """
        facts: Mapping[str, Any] = self.provenance.get("source", {})
        return facts

    @property
    def fallback(self) -> Mapping[str, Any] | None:
        """Returns facts on the run whose lists popular items complete, if this run is such a completion; else
        None.
        """
        facts: Mapping[str, Any] | None = self.provenance.get("fallback")
        return facts

    @property
    def replicated(self) -> Replicated | None:
        """Returns the candidate's replicates; None if it was uploaded once."""
        facts = self.provenance.get("replicates")
        return Replicated(facts["kind"], facts["noun"], tuple(facts["labels"])) if facts else None

    @property
    def has_lists(self) -> bool:
        """Returns whether the run has recommendation lists itself. False with rating predictions only, and
        for the mean of seeds, whose lists belong to the seeds.
        """
        return any(kind != "predictions" for kind in self.hits)

    @property
    def is_mean(self) -> bool:
        """Returns whether the candidate is the mean of seeds, so that each user has several lists."""
        replicated = self.replicated
        return replicated is not None and replicated.kind == "seeds"


@dataclass(frozen=True)
class OnlineTest:
    """A stored A/B test, or interleaving test: its table, its control, and which run each variant served.

    ``upload`` is the table of ``kind`` (for events: the sessions built from them). ``tables`` are those
    uploaded with it, as {kind (exposures, served): sha256}. ``rules``: how users and sessions are counted.
    ``metrics``: custom metrics. ``removed``: what the rules excluded from the events. ``links``: {variant:
    run id}.
    """

    id: str
    experiment: str
    name: str
    created: datetime
    kind: OnlineKind
    upload: str
    control: str
    tables: Mapping[str, str] = field(default_factory=dict)
    rules: Mapping[str, Any] = field(default_factory=dict)
    metrics: Sequence[Mapping[str, Any]] = ()
    removed: Sequence[Mapping[str, Any]] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    results: Sequence[Mapping[str, Any]] = ()
    notices: tuple[Problem, ...] = ()
    archived: datetime | None = None

    @property
    def is_interleaved(self) -> bool:
        """Returns whether it is an interleaving test, whose variants are two rankings in one list."""
        return self.kind == "interleaving"

    @property
    def primary_metric(self) -> str:
        """Returns the metric by which the test is decided first: its first goal, else its first metric."""
        goals = [row for row in self.results if row.get("role") == "goal"]
        return str((goals or self.results)[0]["metric"])

    def metric_to_explain(self, disagreeing: Collection[str]) -> str:
        """Returns the metric to open with: the primary one, unless offline and online disagree only in
        others; then the first of those in ``disagreeing``.
        """
        primary = self.primary_metric
        return next(iter(disagreeing)) if disagreeing and primary not in disagreeing else primary

    @property
    def variants(self) -> list[str]:
        """Returns the names of the variants, in the order of the results."""
        return list(dict.fromkeys(str(row["variant"]) for row in self.results))

    @property
    def challengers(self) -> list[str]:
        """Returns the names of the variants other than control."""
        return [variant for variant in self.variants if variant != self.control]

    @property
    def served(self) -> set[str]:
        """Returns the ids of the runs that variants other than control served."""
        return {run for variant, run in self.links.items() if variant != self.control}

    @property
    def counting(self) -> str:
        """Returns control, rules and metrics as one text, which changes exactly if the test's results can
        change.
        """
        return json.dumps([self.control, dict(self.rules), list(self.metrics)], default=str)


@dataclass(frozen=True)
class KeptEstimate:
    """An off-policy estimate that is kept with an experiment.

    ``title`` names the target policy. ``run`` is the id of the stored run whose lists it shows, which may
    have been deleted since; None for another policy. ``facts`` are the numbers of the estimate
    (``OffPolicy.facts``) as JSON-ready values.
    """

    id: str
    experiment: str
    created: datetime
    author: str
    title: str
    run: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
