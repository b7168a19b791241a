"""Runs as rows: what was set for each, who was counted, and where it comes from."""

from __future__ import annotations

from collections.abc import Sequence

from recdash.domain.records import Experiment, Run
from recdash.formatting import numbers
from recdash.formatting.numbers import share
from recdash.formatting.tables import Number, count
from recdash.formatting.wording import nested

LEDGER = {
    "truth_users": "users in the test set",
    "counted": "counted",
    "without_list": "without recommendations",
    "without_relevant": "without relevant item",
    "without_truth": "not in the test set",
    "short_lists": "short lists",
    "cut_lists": "truncated lists",
    "duplicates": "duplicate rows",
    "duplicate_users": "users with duplicates",
    "tied_rows": "tied rows",
    "tied_users": "users with ties",
    "rows": "rows read",
}
"""Names of the population counts as the pages write them, in reading order."""


def parameter_names(runs: Sequence[Run], only_differences: bool) -> list[str]:
    """Returns all parameters of ``runs`` in first-seen order; with ``only_differences`` those not equal in
    all.

    A parameter that some run lacks differs. With a single run nothing differs.
    """
    names = list(dict.fromkeys(name for run in runs for name in run.params))
    if not only_differences:
        return names
    return [name for name in names if len({run.params.get(name) for run in runs}) > 1]


def parameter_row(run: Run, names: Sequence[str]) -> list[str]:
    return [run.params.get(name, numbers.NONE) for name in names]


def ledger_names(runs: Sequence[Run]) -> list[str]:
    """Returns the counts that at least one run has, in reading order; counts new to us stand last."""
    present = {name for run in runs for name in run.ledger}
    return [name for name in LEDGER if name in present] + sorted(present - set(LEDGER))


def ledger_row(run: Run, names: Sequence[str]) -> list[Number]:
    return [count(run.ledger.get(name)) for name in names]


def ledger_title(name: str) -> str:
    return LEDGER.get(name, name.replace("_", " "))


def provenance_rows(run: Run) -> list[tuple[str, str]]:
    """Returns where the numbers come from: content hash first, then what the scoring noted."""
    first = [("upload (sha256)", run.upload or numbers.NONE), ("run", run.id)]
    noted = [(name, value) for name, value in run.provenance.items() if name != "known_ids"]
    return [*first, *((name.replace("_", " "), nested(value)) for name, value in noted), *_known(run)]


def _known(run: Run) -> list[tuple[str, str]]:
    """Returns what truth, catalogue and train know of the run's ids, table by table."""
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
"""Settings that have a place of their own on the pages."""


def experiment_rows(experiment: Experiment) -> list[tuple[str, str]]:
    """Returns the set-up that all its runs share; tables by their content hash."""
    main = {"test set": experiment.truth, "train": experiment.train, "catalogue": experiment.catalogue}
    first = [(f"{name} (sha256)", nested(sha)) for name, sha in {**main, **experiment.tables}.items()]
    settings = [(name, value) for name, value in experiment.settings.items() if name not in HIDDEN]
    return first + [(name.replace("_", " "), nested(value)) for name, value in settings]
