"""Turns of uploads: who waits does not hold up who ends."""

from __future__ import annotations

from threading import Event, Thread

from recdash.service.catalog.turns import Turns

LONGEST = 60


def test_a_turn_ends_while_a_slow_page_says_that_it_waits() -> None:
    turns, begun, told, ended = Turns(1), Event(), Event(), Event()

    def first() -> None:
        with turns.taken(lambda _: None):
            begun.set()
            told.wait(LONGEST)
        ended.set()

    def say(_: int) -> None:
        told.set()
        assert ended.wait(LONGEST)

    page = Thread(target=first, daemon=True)
    page.start()
    assert begun.wait(LONGEST)
    with turns.taken(say):
        page.join()
