"""Stored records: experiments, runs and A/B tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from recdash.domain.hits import IdOverlap
from recdash.domain.kinds import OnlineKind, Replication
from recdash.errors import Problem


@dataclass(frozen=True)
class Experiment:
    """One evaluation set-up; artifacts are named by their sha256.

    ``truth`` is the test set; without one the experiment holds A/B tests only, and no runs.
    ``tables`` holds the tables beyond truth, train and catalogue (users, vectors, similarity), by kind.
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


@dataclass(frozen=True)
class Replicated:
    """How often a candidate was uploaded: ``labels`` of the replicates, and the word for one of them."""

    kind: Replication
    noun: str
    labels: tuple[str, ...]

    def __str__(self) -> str:
        """Returns ``5 seeds``."""
        return f"{len(self.labels)} {self.noun}s"


@dataclass(frozen=True)
class Run:
    """One candidate's scored upload. ``slot`` determines its colour and shape for good.

    A replicate, one of a candidate's several folds or seeds, is a run too: ``replicate_of`` is the
    candidate's id, ``name`` the replicate's label; it has no colour and is never listed as a candidate.
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
        """Returns what the experiment's tables know of its ids; None if not recorded when it was scored."""
        facts = self.provenance.get("known_ids")
        return IdOverlap.of(facts) if facts else None

    @property
    def reference(self) -> str | None:
        """Returns which reference candidate (popular, oracle …) this run is; None for an upload."""
        name: str | None = self.provenance.get("reference")
        return name

    @property
    def fallback(self) -> Mapping[str, Any] | None:
        """Returns of which run this one is completed by popular items; None for any other run."""
        facts: Mapping[str, Any] | None = self.provenance.get("fallback")
        return facts

    @property
    def replicated(self) -> Replicated | None:
        """Returns the candidate's replicates and how they relate; None if it was uploaded once."""
        facts = self.provenance.get("replicates")
        return Replicated(facts["kind"], facts["noun"], tuple(facts["labels"])) if facts else None

    @property
    def has_lists(self) -> bool:
        """Returns False with rating predictions only, and for the mean of seeds, whose lists are theirs."""
        return any(kind != "predictions" for kind in self.hits)

    @property
    def is_mean(self) -> bool:
        """Returns True if users have several lists, one in each replicate, and the candidate is their
        mean.
        """
        replicated = self.replicated
        return replicated is not None and replicated.kind == "seeds"


@dataclass(frozen=True)
class OnlineTest:
    """One A/B test: its uploaded table, its control, and which run each variant served.

    ``upload`` is the table of ``kind`` (for events: the sessions built from them), ``tables`` those uploaded
    with it (exposures, served) by kind. ``rules``: how they were counted; ``metrics``: custom metrics;
    ``removed``: what the rules excluded from the events.
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
    def counting(self) -> str:
        """Returns control, rules and metrics as text: everything that changes its results."""
        return json.dumps([self.control, dict(self.rules), list(self.metrics)], default=str)
