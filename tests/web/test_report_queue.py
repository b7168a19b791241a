"""However many ask for a report, few are made at a time, each visitor has one, and the door stays open."""

from __future__ import annotations

import asyncio
import threading

import pytest

from recdash.errors import StoreBusy
from recdash.web.report_queue import AT_ONCE, MOST_WAITING, ReportTurns
from recdash.web.routes import report_refusal


def test_two_are_made_at_a_time_and_the_others_wait_without_a_thread() -> None:
    begun, end, made = threading.Barrier(AT_ONCE + 1), threading.Event(), []

    def make() -> str:
        made.append(threading.current_thread().name)
        if len(made) <= AT_ONCE:
            begun.wait(60)
        assert end.wait(60)
        return "report"

    async def ask() -> list[str]:
        turns = ReportTurns()
        asked = [asyncio.create_task(turns.make(f"visitor {number}", make)) for number in range(5)]
        await asyncio.to_thread(begun.wait, 60)
        assert len(made) == AT_ONCE
        end.set()
        return await asyncio.gather(*asked)

    assert asyncio.run(ask()) == ["report"] * 5
    assert len(set(made)) == AT_ONCE


def test_a_visitor_has_one_report_at_a_time_and_the_queue_an_end() -> None:
    async def ask() -> None:
        turns, end = ReportTurns(), threading.Event()
        asked = [
            asyncio.create_task(turns.make(f"visitor {number}", lambda: end.wait(60)))
            for number in range(AT_ONCE + MOST_WAITING)
        ]
        await asyncio.sleep(0)
        with pytest.raises(StoreBusy, match="report is still being generated"):
            await turns.make("visitor 0", str)
        with pytest.raises(StoreBusy, match="in a minute"):
            await turns.make("visitor x", str)
        end.set()
        await asyncio.gather(*asked)
        assert await turns.make("visitor 0", lambda: "again") == "again"

    asyncio.run(ask())


def test_who_leaves_before_the_report_is_begun_gives_the_place_back() -> None:
    async def ask() -> str:
        turns, end = ReportTurns(), threading.Event()
        asked = [
            asyncio.create_task(turns.make(f"visitor {n}", lambda: end.wait(60))) for n in range(AT_ONCE)
        ]
        left = asyncio.create_task(turns.make("visitor x", str))
        await asyncio.sleep(0)
        left.cancel()
        await asyncio.wait([left])
        end.set()
        await asyncio.gather(*asked)
        return await turns.make("visitor x", lambda: "again")

    assert asyncio.run(ask()) == "again"


def test_a_report_that_fails_gives_its_place_back() -> None:
    def fail() -> str:
        raise ValueError("broken")

    async def ask() -> str:
        turns = ReportTurns()
        for _ in range(3):
            with pytest.raises(ValueError, match="broken"):
                await turns.make("visitor", fail)
        return await turns.make("visitor", lambda: "report")

    assert asyncio.run(ask()) == "report"


def test_who_is_sent_away_is_told_when_to_come_back() -> None:
    refused = report_refusal(StoreBusy("Busy."))
    assert (refused.status, refused.headers["retry-after"]) == (503, "5")
