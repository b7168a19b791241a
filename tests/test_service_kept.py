"""What is kept of answers: at least a few, and more while there is room."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recdash.service.cache import SizedCache, weight


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


def test_arguments_by_name_and_in_order_are_told_apart_by_value() -> None:
    kept = SizedCache(lambda number, *, sign=1: number * sign, least=8)
    assert [kept(2), kept(2, sign=-1), kept(2)] == [2, -2, 2]


def test_the_weight_is_that_of_all_arrays_inside() -> None:
    eight = np.zeros(1)
    assert weight(Two(eight, None)) == 8
    assert weight({"a": [Two(eight, eight), (eight,)], "b": "text"}) == 24
    assert weight(None) == 0
