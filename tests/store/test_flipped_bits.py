"""Single flipped bits of a database: what is shown then is what was stored, or a word says why not."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recdash.domain.results import Curve
from recdash.errors import RecdashError
from recdash.service import Workspace
from recdash.store import Store, open_store

SEED, FEW, MANY = 20261122, 10, 600


@pytest.fixture
def whole(demo_folder: Path, tmp_path: Path) -> Path:
    """A small real store: the demo's runs, curves, A/B test, with a decision."""
    data = tmp_path / "whole"
    shutil.copytree(demo_folder, data)
    space = Workspace.open(f"sqlite:///{data / 'recdash.db'}", data / "artifacts")
    demo = space.experiments.all()[0].id
    space.decisions.decide(demo, "inconclusive", text="Wait.")
    space.store.close()
    return data


def shown(store: Store) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Everything that pages read of a store, by what it is called: what is absent has no entry."""
    for home in store.experiments.all(archived=True):
        yield ("experiment", home.id), repr(home)
        runs = store.runs.of_experiment(home.id, archived=True)
        yield from ((("run", run.id), repr(run)) for run in runs)
        for run_id, curves in store.curves.of_runs([run.id for run in runs]).items():
            for metric, curve in curves.items():
                if isinstance(curve, Curve):  # as bytes: some standard errors are NaN
                    numbers = [column.tobytes() for column in (curve.k, curve.value, curve.std_error)]
                    yield ("curve", run_id, metric), (*numbers, curve.n_users)
        for run_id, metrics in store.curves.metrics([run.id for run in runs]).items():
            yield from ((("metric", run_id, metric), True) for metric in metrics)
        yield from (
            (("test", test.id), repr(test))
            for test in store.online_tests.of_experiment(home.id, archived=True)
        )
        yield from ((("entry", entry.id), repr(entry)) for entry in store.journal.of_experiment(home.id))


def flip(file: Path, choose: random.Random) -> int:
    data = bytearray(file.read_bytes())
    place = choose.randrange(8 * len(data))
    data[place // 8] ^= 1 << place % 8
    file.write_bytes(data)
    return place


def said_of(database: Path, artifacts: Path, before: dict[tuple[str, ...], Any]) -> str:
    """What a store with one flipped bit says: nothing where it shows what it showed before."""
    try:
        store = open_store(f"sqlite:///{database}", artifacts)
    except RecdashError as error:
        return str(error)
    try:
        now, told = dict(shown(store)), "; ".join(map(str, store.damaged()))
    except RecdashError as error:
        return str(error)
    finally:
        store.close()
    other = {key for key, value in now.items() if before.get(key) != value}
    assert not other, f"another value is shown: {sorted(other)}"
    gone = before.keys() - now.keys()
    absent = {key for key in gone if key[0] == "curve" and ("metric", *key[1:]) in now}
    assert told or gone == absent, f"gone without a word: {sorted(gone - absent)}"
    return told or ("a curve is absent" if absent else "")


def flips(whole: Path, folder: Path, n_flips: int) -> dict[int, str]:
    """Flipped bit → what was said. Fails at one that shows another number, or nothing, without a word."""
    store = open_store(f"sqlite:///{whole / 'recdash.db'}", whole / "artifacts", read_only=True)
    before, choose, said = dict(shown(store)), random.Random(SEED), {}
    store.close()
    assert sum(key[0] == "curve" for key in before) > 50
    database = folder / "flipped.db"
    for _ in range(n_flips):
        for left in folder.glob("flipped.db*"):
            left.unlink()
        shutil.copyfile(whole / "recdash.db", database)
        place = flip(database, choose)
        try:
            said[place] = said_of(database, whole / "artifacts", before)
        except Exception as error:
            error.add_note(f"bit {place}, that is byte {place // 8}")
            raise
    return said


def test_ten_flipped_bits_show_no_other_number_without_a_word(whole: Path, tmp_path: Path) -> None:
    assert any(flips(whole, tmp_path, FEW).values())


@pytest.mark.long
def test_600_flipped_bits_show_no_other_number_without_a_word(whole: Path, tmp_path: Path) -> None:
    said = flips(whole, tmp_path, MANY)
    assert len(said) > MANY - 5
    assert sum(map(bool, said.values())) > 100
