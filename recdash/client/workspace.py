"""The workspace of a dashboard elsewhere, with the names of a local workspace for what its API answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recdash.client.connection import Server, in_path
from recdash.client.pushing import FileToPush, SourceToFetch, push
from recdash.domain.arguments import check_type, one_or_several
from recdash.domain.results import WHOLE, Scope
from recdash.errors import InputError, NotFound, Problem, no_experiment

if TYPE_CHECKING:
    import pandas as pd

AnyPath = str | os.PathLike[str]
SCORE_COLUMNS = ("run_id", "run", "metric", "k", "value", "std_error", "n_users")


@dataclass(frozen=True)
class RemoteRun:
    """A stored run."""

    id: str
    name: str
    created: datetime
    tags: tuple[str, ...]
    ledger: Mapping[str, int]


@dataclass(frozen=True)
class RemoteExperiment:
    """A stored experiment; ``settings`` has its depth and the users of its test set."""

    id: str
    name: str
    created: datetime
    settings: Mapping[str, Any]
    baseline: str | None
    runs: tuple[RemoteRun, ...] = field(repr=False)


@dataclass(frozen=True)
class RemoteQuery:
    """A comparison query of an experiment; what is not given follows the experiment's rules."""

    experiment: str
    runs: tuple[str, ...] = ()
    baseline: str | None = None
    metric: str | None = None
    scope: Scope = WHOLE
    margin: str | None = None
    correction: str = "holm"

    @property
    def parameters(self) -> dict[str, Any]:
        return {
            "run": self.runs,
            "baseline": self.baseline,
            "metric": self.metric,
            "margin": self.margin,
            "correction": self.correction,
            "slice": self.scope.slice,
            "relevance_threshold": self.scope.threshold,
        }


@dataclass(frozen=True)
class RemoteAnswer:
    """An answer of the server; ``as_dict`` equals that of the local answer."""

    _facts: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        return dict(self._facts)


class RemoteVerdict(RemoteAnswer):
    """The recommendation."""

    @property
    def headline(self) -> str:
        return str(self._facts["headline"])


class RemoteCompared(RemoteAnswer):
    """Runs compared by one metric, with the recommendation."""

    @property
    def verdict(self) -> RemoteVerdict:
        return RemoteVerdict(self._facts["verdict"])

    def table(self) -> pd.DataFrame:
        """Returns a frame with one row per pair."""
        import pandas as pd

        return pd.DataFrame(self._facts["pairs"])


class RemoteExperiments:
    def __init__(self, server: Server) -> None:
        self._server = server

    def all(self) -> list[RemoteExperiment]:
        return [_experiment(facts) for facts in self._server.ask("/experiments")["experiments"]]

    def get(self, experiment_id: str) -> RemoteExperiment:
        """Returns the experiment with this id. Raises NotFound."""
        return _experiment(self._server.ask(f"/experiments/{in_path(experiment_id)}"))

    def named(self, name: str) -> RemoteExperiment:
        """Returns the experiment of this name. Raises NotFound."""
        known = {experiment.name: experiment for experiment in self.all()}
        if name not in known:
            raise no_experiment(name, known)
        return known[name]

    def of_run(self, run_id: str) -> RemoteExperiment:
        """Returns the experiment of a run. Raises NotFound."""
        for experiment in self.all():
            if any(run.id == run_id for run in experiment.runs):
                return experiment
        raise NotFound(f"No run has the id '{run_id}'.")


class RemoteRuns:
    def __init__(self, experiments: RemoteExperiments) -> None:
        self._experiments = experiments

    def all(self, experiment_id: str) -> list[RemoteRun]:
        return list(self._experiments.get(experiment_id).runs)


class RemoteQueries:
    def of(
        self,
        experiment_id: str,
        runs: Sequence[str] = (),
        baseline: str | None = None,
        metric: str | None = None,
        k: int | None = None,
        *,
        scope: Scope = WHOLE,
        margin: str | None = None,
        correction: str = "holm",
    ) -> RemoteQuery:
        """Returns a comparison query; the experiment's rules fill in what is not given."""
        if k is not None and metric is None:
            raise InputError(Problem("no-metric", "k", "given without a metric", "Name the metric, too."))
        spec = metric if k is None else f"{metric}@{k}"
        return RemoteQuery(experiment_id, tuple(runs), baseline, spec, scope, margin, correction)


class RemoteScores:
    def __init__(self, server: Server, experiments: RemoteExperiments) -> None:
        self._server, self._experiments = server, experiments

    def curves(self, run_ids: Sequence[str], metrics: Sequence[str], scope: Scope = WHOLE) -> pd.DataFrame:
        """Returns the runs' curves as a tidy frame: run_id, run, metric, k, value, std_error, n_users."""
        import pandas as pd

        if not run_ids:
            return pd.DataFrame(columns=SCORE_COLUMNS)
        home = self._experiments.of_run(run_ids[0])
        query = {
            "run": run_ids,
            "metric": metrics,
            "slice": scope.slice,
            "relevance_threshold": scope.threshold,
        }
        rows = self._server.ask(f"/experiments/{in_path(home.id)}/scores", query)["scores"]
        return pd.DataFrame(rows, columns=SCORE_COLUMNS)


class RemoteComparisons:
    def __init__(self, server: Server) -> None:
        self._server = server

    def compare(self, query: RemoteQuery) -> RemoteCompared:
        path = f"/experiments/{in_path(query.experiment)}/comparison"
        return RemoteCompared(self._server.ask(path, query.parameters))

    def verdict(self, query: RemoteQuery) -> RemoteVerdict:
        """Returns the recommendation, from all evidence about all candidates."""
        path = f"/experiments/{in_path(query.experiment)}/verdict"
        return RemoteVerdict(self._server.ask(path, query.parameters))


@dataclass(frozen=True)
class RemoteTest:
    """A stored A/B test; ``links`` is {variant: id of the run that it served}."""

    id: str
    name: str
    experiment: str
    created: datetime
    control: str
    links: Mapping[str, str]


class RemoteOnlineTests:
    def __init__(self, server: Server) -> None:
        self._server = server

    def all(self, experiment_id: str) -> list[RemoteTest]:
        tests = self._server.ask(f"/experiments/{in_path(experiment_id)}/online_tests")["online_tests"]
        return [
            RemoteTest(
                test["id"],
                test["name"],
                experiment_id,
                datetime.fromisoformat(test["created"]),
                test["control"],
                test["links"],
            )
            for test in tests
        ]


class RemoteOnlineAnalysis:
    def __init__(self, server: Server, experiments: RemoteExperiments, tests: RemoteOnlineTests) -> None:
        self._server, self._experiments, self._tests = server, experiments, tests

    def results(self, test_id: str, correction: str = "holm") -> RemoteAnswer:
        """Returns the results of an A/B test. Raises NotFound."""
        for experiment in self._experiments.all():
            if any(test.id == test_id for test in self._tests.all(experiment.id)):
                path = f"/experiments/{in_path(experiment.id)}/online_tests/{in_path(test_id)}"
                return RemoteAnswer(self._server.ask(path, {"correction": correction}))
        raise NotFound(f"No online test has the id '{test_id}'.")


class RemoteReports:
    def __init__(self, server: Server) -> None:
        self._server = server

    def write(self, query: RemoteQuery, file: str | os.PathLike[str], *, title: str = "") -> int:
        """Writes a report to a file, whose suffix is its format, and returns the number of bytes."""
        target = Path(file)
        path = f"/experiments/{in_path(query.experiment)}/report"
        form = target.suffix.lower().lstrip(".")
        return target.write_bytes(
            self._server.content(path, {**query.parameters, "format": form, "title": title})
        )


class RemoteWorkspace:
    """The workspace of a dashboard at an address, as the token's role sees it.

    Each attribute has methods of the local workspace's attribute of the same name.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self.experiments = RemoteExperiments(server)
        self.runs = RemoteRuns(self.experiments)
        self.queries = RemoteQueries()
        self.scores = RemoteScores(server, self.experiments)
        self.comparisons = RemoteComparisons(server)
        self.online_tests = RemoteOnlineTests(server)
        self.online_analysis = RemoteOnlineAnalysis(server, self.experiments, self.online_tests)
        self.reports = RemoteReports(server)

    def push(
        self,
        experiment: str,
        files: AnyPath | Sequence[AnyPath] | Mapping[str, AnyPath] = (),
        *,
        sources: str | Sequence[str] | Mapping[str, str] = (),
        tell: Callable[[str], None] = lambda _: None,
        **options: Any,
    ) -> dict[str, Any]:
        """Stores files in the experiment of this name, and returns what was stored.

        ``files``, one or several, are recognised; a mapping is {name of the candidate: its file}.
        ``sources``, in the same forms, are tables that the server fetches: see ``sources``. ``options`` are
        those of ``POST /additions``: baseline, tags, depth, control and so on. Raises InputError with the
        problems of the files; nothing is stored then.
        """
        given = _by_name("files", files, (str, os.PathLike))
        sent = [FileToPush(Path(file), name, kind) for name, kind, file in given]
        tables = _by_name("sources", sources, str)
        fetched = [SourceToFetch(source, name, kind) for name, kind, source in tables]
        return push(self._server, experiment, [*sent, *fetched], options, tell)

    def sources(self) -> list[str]:
        """Returns the names of the tables elsewhere that the server can fetch."""
        return list(self._server.ask("/sources")["sources"])


def _by_name(
    argument: str, given: Any, kinds: type | tuple[type, ...]
) -> list[tuple[str | None, str | None, Any]]:
    """Returns (name of the candidate, "run", value) of {name: value}; (None, None, value) of one value or
    several.

    Raises InputError for anything else.
    """
    fix = "Give a list, or {name of the candidate: one}."
    if not isinstance(given, Mapping):
        return [(None, None, value) for value in one_or_several(argument, given, kinds, fix)]
    for value in given.values():
        check_type(argument, value, kinds, fix)
    return [(name, "run", value) for name, value in given.items()]


def _experiment(facts: Mapping[str, Any]) -> RemoteExperiment:
    runs = tuple(
        RemoteRun(
            run["id"],
            run["name"],
            datetime.fromisoformat(run["created"]),
            tuple(run["tags"]),
            run["ledger"],
        )
        for run in facts["runs"]
    )
    baseline = next((run["id"] for run in facts["runs"] if run["baseline"]), None)
    settings = {"depth": facts["depth"], "truth_users": facts["truth_users"]}
    created = datetime.fromisoformat(facts["created"])
    return RemoteExperiment(facts["id"], facts["name"], created, settings, baseline, runs)
