"""The provenance of a report's numbers: hashes of every table, evaluation rules, and versions."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from recdash.domain.records import Experiment, OnlineTest, Run

PACKAGES = ("numpy", "pandas", "pyarrow", "scipy", "plotly", "tea-tasting", "scikit-learn")
RULES = ("depth", "users", "duplicates", "relevance", "relevance_threshold")


def provenance(
    experiment: Experiment,
    run_ids: Sequence[str],
    runs: Mapping[str, Run],
    tests: Sequence[OnlineTest],
    versions: Mapping[str, str],
) -> dict[str, Any]:
    """Returns JSON-ready hashes, evaluation rules and versions behind the numbers of a report on ``run_ids``.

    ``runs`` are all runs of the experiment by id. The result describes those in ``run_ids``, the reference
    candidates, the baseline, and the runs that the A/B tests served.
    """
    return {
        "versions": dict(versions),
        "experiment": _of_experiment(experiment),
        "runs": [facts_of_run(run) for run in _concerned(experiment, run_ids, runs, tests)],
        "tests": [_of_test(test) for test in tests],
    }


@lru_cache(maxsize=1)
def versions_here() -> dict[str, str]:
    from recdash.version import __version__

    known = {"recdash": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            known[name] = version(name)
        except PackageNotFoundError:  # not installed
            continue
    return known


def _concerned(
    experiment: Experiment, run_ids: Sequence[str], runs: Mapping[str, Run], tests: Sequence[OnlineTest]
) -> list[Run]:
    references = [run.id for run in runs.values() if run.reference and run.archived is None]
    served = [run for test in tests for run in test.links.values()]
    ids = dict.fromkeys((*run_ids, *references, *served, experiment.baseline or ""))
    return [runs[run] for run in ids if run in runs]


def _of_experiment(experiment: Experiment) -> dict[str, Any]:
    facts = ("id", "name", "baseline", "truth", "train", "catalogue")
    return {
        **{name: getattr(experiment, name) for name in facts},
        "tables": dict(experiment.tables),
        "settings": {name: experiment.settings.get(name) for name in RULES},
    }


def facts_of_run(run: Run) -> dict[str, Any]:
    """Returns what identifies a run and decides how it is scored, as a report records it."""
    predictions = run.hits.get("predictions")
    return {
        "id": run.id, "name": run.name, "slot": run.slot, "upload": run.upload,
        **({"predictions": predictions} if predictions else {}),
        **({"reference": run.reference} if run.reference else {}),
        **({"fallback": dict(run.fallback)} if run.fallback else {}),
        **({"replicates": dict(run.provenance["replicates"])} if run.replicated else {}),
        "order": run.provenance.get("order"), "scored_by": run.provenance.get("version"),
        "archived": run.archived is not None,
    }  # fmt: skip


def _of_test(test: OnlineTest) -> dict[str, Any]:
    return {
        "id": test.id, "name": test.name, "kind": test.kind, "created": test.created.isoformat(),
        "upload": test.upload, "tables": dict(test.tables), "control": test.control,
        "rules": dict(test.rules), "metrics": list(map(dict, test.metrics)), "links": dict(test.links),
        "removed": list(map(dict, test.removed)), "archived": test.archived is not None,
    }  # fmt: skip
