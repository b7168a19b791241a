"""What the numbers of a report are made from: hashes of every table, the rules, and the versions."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from recdash.domain.records import Experiment, OnlineTest, Run
from recdash.domain.results import WHOLE
from recdash.report.context import Asked

PACKAGES = ("numpy", "pandas", "pyarrow", "scipy", "plotly", "tea-tasting", "scikit-learn")
RULES = ("depth", "users", "duplicates", "relevance", "relevance_threshold")


def provenance(asked: Asked) -> dict[str, Any]:
    """JSON-ready. Runs: those that are shown, the references, and those that A/B tests served."""
    tests = asked.space.online_tests(asked.experiment.id)
    if asked.test is not None and asked.test.id not in {test.id for test in tests}:
        tests = [*tests, asked.test]
    return {
        "versions": dict(asked.versions),
        "experiment": _of_experiment(asked.experiment),
        "runs": [_of_run(run) for run in _concerned(asked, tests)],
        "tests": [_of_test(test) for test in tests],
    }


@lru_cache(maxsize=1)
def versions_here() -> dict[str, str]:
    from recdash import __version__

    known = {"recdash": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            known[name] = version(name)
        except PackageNotFoundError:  # one that another took the place of
            continue
    return known


def _concerned(asked: Asked, tests: Sequence[OnlineTest]) -> list[Run]:
    references = [run.id for run in asked.all_runs.values() if run.reference and run.archived is None]
    served = [run for test in tests for run in test.links.values()]
    ids = dict.fromkeys((*asked.shown, *references, *served, asked.experiment.baseline or ""))
    return [asked.all_runs[run] for run in ids if run in asked.all_runs]


def _of_experiment(one: Experiment) -> dict[str, Any]:
    return {
        "id": one.id, "name": one.name, "baseline": one.baseline, "truth": one.truth, "train": one.train,
        "catalogue": one.catalogue, "tables": dict(one.tables),
        "settings": {name: one.settings.get(name) for name in RULES},
    }  # fmt: skip


def _of_run(run: Run) -> dict[str, Any]:
    predictions = run.hits.get("predictions")
    return {
        "id": run.id, "name": run.name, "slot": run.slot, "upload": run.upload,
        **({"predictions": predictions} if predictions else {}),
        **({"reference": run.reference} if run.reference else {}),
        **({"replicates": dict(run.provenance["replicates"])} if run.replicated else {}),
        "order": run.provenance.get("order"), "scored_by": run.provenance.get("version"),
        "archived": run.archived is not None,
    }  # fmt: skip


def _of_test(test: OnlineTest) -> dict[str, Any]:
    return {
        "id": test.id, "name": test.name, "kind": test.kind, "created": test.created.isoformat(),
        "upload": test.upload, "tables": dict(test.tables), "control": test.control,
        "rules": dict(test.rules), "metrics": [dict(one) for one in test.metrics], "links": dict(test.links),
        "removed": [dict(one) for one in test.removed], "archived": test.archived is not None,
    }  # fmt: skip


# ── the lines that make the same report ──────────────────────────────────────────────────────


def command(asked: Asked, blocks: Sequence[str], form: str = "html") -> str:
    """The line that makes this report again from the store."""
    one, terms = asked.question, asked.question.terms
    words = ["recdash", "report", f"--experiment={asked.experiment.name}", f"--baseline={asked.base}"]
    words += [f"--run={asked.names[run]}" for run in one.runs]
    at = f"@{one.k}" if "@" in asked.where else ""
    size = terms.margin.size
    margin = f"{100 * size:.12g}%" if terms.margin.relative else f"{size:.12g}"
    words += ["--metric", f"{one.metric}{at}", "--margin", margin, "--correction", terms.correction]
    words += ["--part", one.scope.slice] if one.scope.slice else []
    if one.scope != WHOLE and one.scope.threshold is not None:
        words += ["--relevance-threshold", f"{one.scope.threshold:g}"]
    words += ["--slice", one.by] if one.by else []
    words += [f"--test={asked.test.name}"] if asked.test else []
    words += ["--online-metric", one.online_metric] if asked.test and one.online_metric else []
    for block in blocks:
        words += ["--block", block]
    return shlex.join([*words, "-o", f"report.{form}"])
