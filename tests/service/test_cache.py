"""What is kept of answers: at least a few, and more while there is room."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from pathlib import Path
from weakref import ref

import numpy as np
import pandas as pd

from recdash.domain.access import Person
from recdash.service import Workspace
from recdash.service.cache import MOST_ANSWERS, SizedCache, weight
from recdash.service.catalog.experiments import Experiments
from recdash.service.context import ServiceContext
from recdash.store import open_store


@dataclass(frozen=True)
class Two:
    one: np.ndarray
    other: np.ndarray | None


def eight_bytes_each(least: int, room: int) -> tuple[SizedCache[[int], np.ndarray], list[int]]:
    """A function whose answers weigh eight bytes each, and what it was really asked."""
    asked: list[int] = []

    def answer(number: int) -> np.ndarray:
        asked.append(number)
        return np.full(1, number, dtype=np.int64)

    return SizedCache(answer, least, room), asked


def test_what_was_asked_is_answered_again_without_asking() -> None:
    kept, asked = eight_bytes_each(least=1, room=80)
    assert [kept(1)[0], kept(2)[0], kept(1)[0], kept(2)[0]] == [1, 2, 1, 2]
    assert asked == [1, 2]


def test_the_answer_that_was_not_needed_longest_goes_when_there_is_no_room() -> None:
    kept, asked = eight_bytes_each(least=1, room=16)
    for number in (1, 2, 1, 3, 1, 2):  # 3 takes the place of 2
        kept(number)
    assert asked == [1, 2, 3, 2]


def test_a_few_stay_however_much_they_weigh() -> None:
    kept, asked = eight_bytes_each(least=3, room=0)
    for number in (1, 2, 3, 1, 2, 3):
        kept(number)
    assert asked == [1, 2, 3]


def test_answers_without_arrays_are_bounded_by_their_number() -> None:
    kept = SizedCache(str, least=2)
    for number in range(MOST_ANSWERS + 3):
        kept(number)
    known = [number for number in range(MOST_ANSWERS + 3) if kept.knows(number)]
    assert known == list(range(3, MOST_ANSWERS + 3))


def test_arguments_by_name_and_in_order_are_told_apart_by_value() -> None:
    kept = SizedCache(lambda number, *, sign=1: number * sign, least=8)
    assert [kept(2), kept(2, sign=-1), kept(2)] == [2, -2, 2]


def test_the_weight_is_that_of_all_arrays_inside() -> None:
    eight = np.zeros(1)
    assert weight(Two(eight, None)) == 8
    assert weight({"a": [Two(eight, eight), (eight,)], "b": "text"}) == 24
    assert weight(None) == 0


class Answer:
    pass


def test_answers_from_before_something_was_stored_are_dropped(tmp_path: Path) -> None:
    """Nobody asks for them again, and they would stay until as many new ones came."""
    context = ServiceContext(
        open_store(f"sqlite:///{tmp_path / 'r.db'}", tmp_path / "artifacts"), Person("ann", "admin")
    )
    experiments = Experiments(context)
    answers: list[ref[Answer]] = []

    def answer(number: int) -> Answer:  # noqa: ARG001 - for the cache
        made = Answer()
        answers.append(ref(made))
        return made

    known = context.cached_until_written(answer, most=100)
    for name in ("one", "two", "three"):
        experiments.create(name, pd.DataFrame({"user_id": [name], "item_id": ["a"]}))
        assert known(1) is known(1)
    gc.collect()
    assert [made() is not None for made in answers] == [False, False, True]


class Doubling:
    def twice(self, number: int) -> int:
        return 2 * number


def test_a_method_has_a_cache_of_its_own_for_each_size(tmp_path: Path) -> None:
    """Large answers are kept apart from small ones, of which there may be more."""
    context = ServiceContext(
        open_store(f"sqlite:///{tmp_path / 'r.db'}", tmp_path / "artifacts"), Person("ann")
    )
    few, many = context.cached(Doubling().twice, most=1), context.cached(Doubling().twice, most=2)
    assert [of.cache_info().maxsize for of in (few, many)] == [1, 2]
    assert context.cached(Doubling().twice, most=1) is few
    assert context.seen_by(Person("bob", "viewer")).cached(Doubling().twice, most=2) is many


def test_answers_go_once_something_was_deleted(tmp_path: Path) -> None:
    workspace = Workspace(open_store(f"sqlite:///{tmp_path / 'recdash.db'}"))
    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        return question

    cached = workspace._context.cached(ask, most=8)
    experiment = workspace.experiments.create("Books")
    cached("one")
    workspace.release_unneeded()
    cached("one")
    assert asked == ["one"]
    workspace.experiments.delete(experiment.id, "Books")
    workspace.release_unneeded()
    cached("one")
    workspace.release_unneeded()
    cached("one")
    assert asked == ["one", "one"]
    workspace.store.close()
