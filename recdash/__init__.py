"""recdash: choose between recommender systems by evidence.

``recdash.evaluate({"als": frame, "ease": "ease.parquet"}, "truth.csv", metrics=["ndcg@10"]).table()`` scores
candidates. ``recdash.inspect("ease.parquet", "run")`` checks a file as if it were added.
``recdash.ab_test(sessions="sessions.csv")`` analyses an A/B test,
``recdash.interleaving("interleaved.csv")`` an interleaving test.
``recdash.gate("live.csv", "new.csv", "truth.csv", rules=["ndcg@10 >= -1%"])`` says whether a candidate keeps
to rules. ``recdash.open()`` returns the workspace that the dashboard shows, with ``.scores.curves(…)`` and
``.comparisons.verdict(…)`` of a query from ``.queries.of(…)``; ``recdash.report.reports`` writes reports
about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recdash.version import __version__

if TYPE_CHECKING:
    from recdash.client import RemoteWorkspace
    from recdash.decisions.gate.gate import gate
    from recdash.evaluation import Evaluation, evaluate
    from recdash.evaluation.inspection import inspect
    from recdash.evaluation.spark import Spark
    from recdash.online.ab_test import ab_test
    from recdash.online.interleaving.interleaving import interleaving
    from recdash.online.off_policy.ope import ope
    from recdash.service import Workspace

__all__ = [
    "Evaluation",
    "Spark",
    "Workspace",
    "__version__",
    "ab_test",
    "connect",
    "evaluate",
    "gate",
    "inspect",
    "interleaving",
    "ope",
    "open",
]


def open(database_url: str | None = None, artifacts: str | None = None) -> Workspace:  # noqa: A001
    """Returns the workspace that the dashboard shows: experiments, runs, scores and A/B tests.

    ``database_url`` and ``artifacts`` default to the settings in the environment.
    """
    from recdash.service import Workspace

    return Workspace.open(database_url, artifacts)


def connect(url: str, token: str) -> RemoteWorkspace:
    """Returns the workspace of the dashboard at an address, as the role of an API token sees it."""
    from recdash.client.connection import Server
    from recdash.client.workspace import RemoteWorkspace

    return RemoteWorkspace(Server(url, token))


_MODULES = {
    "Evaluation": "recdash.evaluation",
    "Spark": "recdash.evaluation.spark",
    "Workspace": "recdash.service",
    "ab_test": "recdash.online.ab_test",
    "evaluate": "recdash.evaluation",
    "gate": "recdash.decisions.gate.gate",
    "inspect": "recdash.evaluation.inspection",
    "interleaving": "recdash.online.interleaving.interleaving",
    "ope": "recdash.online.off_policy.ope",
}
"""Name → the module that has it."""


def __getattr__(name: str) -> Any:
    """Imports the heavy packages when one of their names is first used.

    Raises AttributeError for other names.
    """
    if name in _MODULES:
        from importlib import import_module

        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'recdash' has no attribute '{name}'")
