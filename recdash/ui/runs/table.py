"""Runs as rows of tables: their parameters, population counts and provenance."""

from __future__ import annotations

from collections.abc import Sequence

from recdash.domain.records import Experiment, Run
from recdash.formatting import numbers
from recdash.formatting.numbers import share
from recdash.formatting.tables import Number, count
from recdash.formatting.wording import capital, nested

LEDGER = {
    "truth_users": "users in the test set",
    "counted": "counted",
    "without_list": "relevant item but no recommendations",
    "without_relevant": "without relevant item",
    "without_truth": "not in the test set",
    "short_lists": "relevant item and a short list",
    "cut_lists": "truncated lists",
    "duplicates": "duplicate rows",
    "duplicate_users": "users with duplicates",
    "tied_rows": "tied rows",
    "tied_users": "users with ties",
    "rows": "rows read",
}
"""Population counts → their names on pages, in reading order."""


def parameter_names(runs: Sequence[Run], only_differences: bool) -> list[str]:
    """Returns the names of the runs' parameters in the order of their first use.

    ``only_differences`` returns those whose values differ; a run without the parameter differs from one with
    it.
    """
    names = list(dict.fromkeys(name for run in runs for name in run.params))
    if not only_differences:
        return names
    return [name for name in names if len({run.params.get(name) for run in runs}) > 1]


def parameter_row(run: Run, names: Sequence[str]) -> list[str]:
    return [run.params.get(name, numbers.NONE) for name in names]


def ledger_names(runs: Sequence[Run]) -> list[str]:
    """Returns the population counts that are above 0 in any of the runs, in reading order; unknown ones come
    last.
    """
    present = {name for run in runs for name, value in run.ledger.items() if value}
    return [name for name in LEDGER if name in present] + sorted(present - set(LEDGER))


def ledger_row(run: Run, names: Sequence[str]) -> list[Number]:
    return [count(run.ledger.get(name)) for name in names]


def ledger_title(name: str) -> str:
    return capital(LEDGER.get(name, name.replace("_", " ")))


def provenance_rows(run: Run) -> list[tuple[str, str]]:
    """Returns (name, value) pairs of a run's provenance: first its upload's hash, then what scoring
    recorded.
    """
    first = [("upload (sha256)", run.upload or numbers.NONE), ("run", run.id)]
    noted = [(name, value) for name, value in run.provenance.items() if name != "known_ids"]
    return [*first, *((name.replace("_", " "), nested(value)) for name, value in noted), *_known(run)]


def _known(run: Run) -> list[tuple[str, str]]:
    """Returns (name, text) pairs on how many of the run's ids each table knows; empty if that was not
    recorded.
    """
    if run.overlap is None:
        return []
    overlap, rows = run.overlap, []
    for name, side in (
        ("items", overlap.items),
        ("users", overlap.users),
        ("items of the test set", overlap.truth_items),
        ("users of the test set", overlap.truth_users),
    ):
        if side is not None:
            counts = {"any table": side.known, **side.by_table}
            shares = [f"{table}: {share(known, side.rows)}" for table, known in counts.items()]
            rows.append((f"{name} known", " · ".join(shares)))
    return rows


HIDDEN = ("notices", "rules")
"""Settings that pages show elsewhere."""


def experiment_rows(experiment: Experiment) -> list[tuple[str, str]]:
    """Returns (name, value) pairs of the set-up that all runs of the experiment share, with hashes of its
    tables.
    """
    main = {"test set": experiment.truth, "train": experiment.train, "catalogue": experiment.catalogue}
    first = [(f"{name} (sha256)", nested(sha)) for name, sha in {**main, **experiment.tables}.items()]
    settings = [(name, value) for name, value in experiment.settings.items() if name not in HIDDEN]
    return first + [(name.replace("_", " "), nested(value)) for name, value in settings]
