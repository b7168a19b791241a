"""A small store to report on: forty users, three candidates, and an A/B test of two of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from recdash.domain.access import Person
from recdash.report.document import Document
from recdash.report.formats.json import to_json
from recdash.report.reports import Reports
from recdash.report.reproduce import reproduce
from recdash.service import Workspace
from recdash.service.question import Question

USERS = [f"u{number:02}" for number in range(40)]
TRUTH = pd.DataFrame({"user_id": USERS, "item_id": [f"i{number:02}" for number in range(40)]})
TRAIN = pd.DataFrame({"user_id": USERS[:30], "item_id": "x1"})
"""Thirty users are known, ten are new."""
CATALOGUE = pd.DataFrame({"item_id": [*TRUTH["item_id"], "x1", "x2", "x3", "x4"]})
ANN = Person("ann", "admin")


def lists(hit_at: Callable[[int], int]) -> pd.DataFrame:
    """Lists of four: the user's own item at rank ``hit_at(number)``, strangers elsewhere; 0: nowhere."""
    rows = [
        (user, f"i{number:02}" if rank == hit_at(number) else f"x{rank}", rank)
        for number, user in enumerate(USERS)
        for rank in (1, 2, 3, 4)
    ]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])


CANDIDATES = {
    "popular": lists(lambda number: 3 + number % 2),
    "als": lists(lambda number: 1 + number % 2),
    "ease": lists(lambda number: 2 if number < 30 else 0),
}
"""als finds every item two ranks above popular; ease finds none of the last ten users' items."""

SESSIONS = pd.DataFrame(
    {
        "unit_id": [f"p{number:03}" for number in range(120)],
        "session_id": [f"s{number:03}" for number in range(120)],
        "variant": ["A", "B", "C"] * 40,
        "start_ts": pd.date_range("2026-03-01", periods=120, freq="h", tz="UTC"),
        "watch_s": [600 + 10 * (number % 7) + (0, 300, -300)[number % 3] for number in range(120)],
        "clicks": [number % 5 for number in range(120)],
    }
)
"""B (als) is watched longer than A (popular), C (ease) shorter."""

RATED = TRUTH.assign(relevance=[1.0 + number % 5 for number in range(len(TRUTH))])
SPREAD = {
    **CANDIDATES,
    "popular": lists(lambda _: 3),
    "als": lists(lambda number: 1 if number < 36 else 0),
}
"""als gains in nDCG@3 and shows 39 of 44 items where popular shows 42, which the guardrail allows."""
HIDDEN = {
    **CANDIDATES,
    "popular": lists(lambda _: 3),
    "als": lists(lambda number: 1 if number >= 30 else 3),
    "ease": lists(lambda number: 1 if number % 5 < 3 else 3),
}
"""als equals popular for all known users; ease is better for no item that was rated 4 or more."""


def opened(folder: Path, person: Person = ANN) -> Workspace:
    return Workspace.open(f"sqlite:///{folder / 'recdash.db'}", folder / "artifacts", person)


def films(space: Workspace, names: dict[str, str] | None = None, name: str = "films") -> Question:
    """The experiment with its runs, perhaps under other names, and its A/B test; asked by nDCG@3."""
    called = {run: (names or {}).get(run, run) for run in CANDIDATES}
    made = space.experiments.create(name, TRUTH, train=TRAIN, catalogue=CATALOGUE, depth=4)
    ids = {
        run: space.runs.add(made.id, table, name=called[run])[0].run.id for run, table in CANDIDATES.items()
    }
    space.experiments.set_baseline(made.id, ids["popular"])
    links = {"A": ids["popular"], "B": ids["als"], "C": ids["ease"]}
    space.online_tests.add(made.id, "March", {"sessions": SESSIONS}, control="A", links=links)
    return asked(space, made.id)


def with_runs(space: Workspace, candidates: dict[str, pd.DataFrame]) -> str:
    """Returns the id of the experiment with ratings and without an A/B test; popular is its baseline."""
    made = space.experiments.create("films", RATED, train=TRAIN, catalogue=CATALOGUE, depth=4)
    ids = {run: space.runs.add(made.id, table, name=run)[0].run.id for run, table in candidates.items()}
    space.experiments.set_baseline(made.id, ids["popular"])
    return made.id


def rated_films(
    space: Workspace, candidates: dict[str, pd.DataFrame], sessions: pd.DataFrame = SESSIONS
) -> str:
    """Returns the id of the experiment with ratings, an A/B test of all runs, and one that is not linked."""
    made = with_runs(space, candidates)
    ids = {run.name: run.id for run in space.runs.all(made)}
    links = {"A": ids["popular"], "B": ids["als"], "C": ids["ease"]}
    space.online_tests.add(made, "March", {"sessions": sessions}, control="A", links=links)
    space.online_tests.add(made, "April", {"sessions": sessions.assign(clicks=1)}, control="A", links={})
    return made


def asked(space: Workspace, experiment: str = "") -> Question:
    """What is asked of the films; of the only experiment, unless another is named."""
    experiment = experiment or space.experiments.all()[0].id
    query = space.queries.of(experiment, metric="ndcg", k=3)
    return Reports(space).question(experiment, query, online_metric="session_watch_time")


def altered(file: Path, old: str, new: str, folder: Path | None = None) -> Path:
    """Puts one text of the file in place of another; with a folder in a copy there. Returns the file."""
    text = file.read_bytes().decode()
    assert old in text
    file = file if folder is None else folder / file.name
    file.write_bytes(text.replace(old, new, 1).encode())
    return file


def copied(films_folder: Path, folder: Path) -> Path:
    """The folder, in which the store of the films lies now."""
    return Path(shutil.copytree(films_folder, folder, dirs_exist_ok=True))


@contextmanager
def recomputed_once(kept: dict[str, Document]) -> Iterator[None]:
    """Recompute a report once, for all files that differ in what they say of the same question and uploads.

    For tests of what is compared, on a store that none of them changes; ``kept`` is theirs.
    """
    recompute = reproduce.recomputed

    def recomputed(workspace: Workspace, document: Document) -> Document:
        lead = replace(document.lead, headline="", sentences=())
        asked_of = to_json(replace(document, sections=(), lead=lead))
        if asked_of not in kept:
            kept[asked_of] = recompute(workspace, document)
        return kept[asked_of]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduce, "recomputed", recomputed)
        yield
