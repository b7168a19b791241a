"""Verifies a whole store: the audit, every file, and numbers that are computed again from the uploads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

from recdash.domain.journal import AuditResult, Mismatch
from recdash.domain.records import Experiment, OnlineTest, Run
from recdash.domain.results import Curve, Unavailable
from recdash.errors import RecdashError
from recdash.report.reproduce.compare_documents import ABSOLUTE, RELATIVE
from recdash.report.reproduce.recompute import FromUploads
from recdash.service.provenance import facts_of_run
from recdash.service.workspace import Workspace
from recdash.store.memory import MemoryStore
from recdash.version import __version__

SAMPLE = 10
"""How many runs and A/B tests are computed again unless all are."""


@dataclass(frozen=True)
class Verification:
    """What was verified: the audit, the runs and A/B tests that were computed again, and those that could
    not be, each with the reason. ``head`` are the number and hash of the last line of the log.
    """

    audit: AuditResult
    recomputed: tuple[str, ...]
    not_recomputed: tuple[str, ...]
    n_all: int
    seed: str
    head: tuple[int, str]
    differing: tuple[Mismatch, ...]

    @property
    def mismatches(self) -> tuple[Mismatch, ...]:
        """Returns all that is wrong; empty if nothing is."""
        return (*self.audit.mismatches, *self.differing)


def verify(
    workspace: Workspace, *, everything: bool = False, seed: str = "", noted: str = ""
) -> Verification:
    """Verifies the store, and computes a sample of its runs and A/B tests again; with ``everything`` all.

    ``seed`` decides which are in the sample, by default the hash of the last line of the audit log.
    ``noted`` is the hash of a line that was noted elsewhere; a log without such a line is a mismatch. Raises
    Forbidden unless the person is an admin.
    """
    audit = workspace.audit.audited()
    log = workspace.audit.events(None)
    head = (log[0].number, log[0].hash) if log else (0, "")
    if noted and noted not in {line.hash for line in log}:
        expected = f"a log with the line whose hash is {noted}, which was noted"
        actual = "no line has the noted hash: lines were cut off, or it is another log"
        mismatch = Mismatch("deed", f"lines up to {head[0]}", actual, expected)
        audit = replace(audit, mismatches=(*audit.mismatches, mismatch))
    subjects = list(_subjects(workspace))
    seed = seed or head[1]
    chosen = Random(seed)  # noqa: S311 - a sample, no secret
    sample = subjects if everything else chosen.sample(subjects, min(SAMPLE, len(subjects)))
    recomputed, skipped, differing = [], [], []
    for experiment, stored in sample:
        name = _name(experiment, stored)
        try:
            compared = _differences(workspace, experiment, stored)
        except RecdashError as error:  # such as a file that is missing, which the audit names
            skipped.append(f"{name}: {error}")
            continue
        if compared is None:
            skipped.append(f"{name}: it has no upload")
        else:
            recomputed.append(name)
            differing += compared
    return Verification(audit, tuple(recomputed), tuple(skipped), len(subjects), seed, head, tuple(differing))


def as_dict(verification: Verification) -> dict[str, Any]:
    """Returns the verification as JSON-ready values."""
    names = ("table", "row", "found", "expected")
    n_recomputed, n_not_recomputed = len(verification.recomputed), len(verification.not_recomputed)
    return {
        "findings": [
            {name: getattr(mismatch, name) for name in names} for mismatch in verification.mismatches
        ],
        "not_sealed": list(verification.audit.unsealed),
        "lines_without_key": verification.audit.plain,
        "recomputed": list(verification.recomputed),
        "not_recomputed": list(verification.not_recomputed),
        "n_recomputed": n_recomputed,
        "n_not_recomputed": n_not_recomputed,
        "n_not_sampled": verification.n_all - n_recomputed - n_not_recomputed,
        "seed": verification.seed,
        "last_line": {"number": verification.head[0], "hash": verification.head[1]},
    }


def _subjects(workspace: Workspace) -> Iterator[tuple[Experiment, Run | OnlineTest]]:
    experiments = workspace.experiments.all(archived=True)
    for experiment in sorted(experiments, key=lambda experiment: experiment.id):
        runs = workspace.store.runs.of_experiment(experiment.id, archived=True)
        tests = workspace.store.online_tests.of_experiment(experiment.id, archived=True)
        stored: list[Run | OnlineTest] = [*runs, *tests]
        for subject in sorted(stored, key=lambda subject: subject.id):
            yield experiment, subject


def _name(experiment: Experiment, stored: Run | OnlineTest) -> str:
    if isinstance(stored, Run):
        return f"run '{stored.name}' of '{experiment.name}'"
    kind = "interleaving test" if stored.is_interleaved else "A/B test"
    return f"{kind} '{stored.name}' of '{experiment.name}'"


def _differences(
    workspace: Workspace, experiment: Experiment, stored: Run | OnlineTest
) -> list[Mismatch] | None:
    """Returns where the stored numbers differ from those of the upload; None if there is no upload."""
    name = _name(experiment, stored)
    if isinstance(stored, OnlineTest):
        service = workspace.interleaving if stored.is_interleaved else workspace.online_tests
        results = service.results_of(stored).records()
        return list(_of_results(name, stored.results, results))
    if stored.upload is None and not stored.hits.get("predictions"):
        return None
    memory = MemoryStore(workspace.store, experiment)
    rebuilt = Workspace(memory, person=workspace.person, clock=workspace.now)
    FromUploads(rebuilt).score_again(memory, facts_of_run(stored), stored)
    pairs = [(name, stored.id, stored.id)]
    own = {run.name: run.id for run in workspace.store.runs.replicates([stored.id])[stored.id]}
    again = {run.name: run.id for run in memory.runs.replicates([stored.id])[stored.id]}
    pairs += [(f"'{label}' of {name}", own[label], again[label]) for label in own if label in again]
    differing = []
    for title, key, key_again in pairs:
        before = workspace.store.curves.of_runs([key])[key]
        after = memory.curves.of_runs([key_again])[key_again]
        differing += list(_of_curves(title, before, after, stored.provenance.get("version")))
    return differing


def _of_curves(
    name: str,
    stored: Mapping[str, Curve | Unavailable],
    again: Mapping[str, Curve | Unavailable],
    version: str | None,
) -> Iterator[Mismatch]:
    for metric, curve in again.items():
        before = stored.get(metric)
        if not isinstance(curve, Curve) or isinstance(before, Unavailable):
            continue  # a damaged curve is named by the audit
        row = f"{metric} of {name}"
        if before is None:
            if version == __version__:  # an older release may not have had the metric
                yield Mismatch("curve", row, "it is missing", "the curve that its upload gives")
        elif len(before.k) != len(curve.k) or (before.k != curve.k).any():
            yield Mismatch("curve", row, "it has other cutoffs", "the cutoffs that its upload gives")
        elif before.n_users != curve.n_users:
            actual, expected = f"it counts {before.n_users} users", f"{curve.n_users}, as its upload gives"
            yield Mismatch("curve", row, actual, expected)
        else:
            yield from _of_values(row, before, curve)


def _of_values(row: str, before: Curve, after: Curve) -> Iterator[Mismatch]:
    for what, old, new in (
        ("value", before.value, after.value),
        ("standard error", before.std_error, after.std_error),
    ):
        differs = ~np.isclose(old, new, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True)
        if differs.any():
            place = int(differs.argmax())
            at = f" at k = {after.k[place]}" if len(after.k) else ""
            actual = f"its {what}{at} is {old[place]:.6g}"
            yield Mismatch("curve", row, actual, f"{new[place]:.6g}, as its upload gives")


def _of_results(
    name: str, stored: Sequence[Mapping[str, Any]], again: Sequence[Mapping[str, Any]]
) -> Iterator[Mismatch]:
    if len(stored) != len(again):
        actual, expected = f"it has {len(stored)} results", f"{len(again)}, as its tables give"
        yield Mismatch("online_test", name, actual, expected)
        return
    for before, after in zip(stored, again, strict=True):
        for key in after:
            if key in before and not _is_same(before[key], after[key]):
                where = f"{key} of {after.get('metric', '?')} for {after.get('variant', '?')}"
                actual, expected = f"{where} is {before[key]}", f"{after[key]}, as its tables give"
                yield Mismatch("online_test", name, actual, expected)


def _is_same(value: Any, other: Any) -> bool:
    if isinstance(value, int | float) and isinstance(other, int | float):
        return bool(np.isclose(value, other, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True))
    return bool(value == other)
