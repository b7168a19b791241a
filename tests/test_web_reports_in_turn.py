"""However many ask for a report, few are made at a time, and who waits too long is told."""

from __future__ import annotations

import threading

import pytest

from recdash.errors import StoreBusy
from recdash.service.reports import ReportFile
from recdash.web import routes

FILE = ReportFile("spring.html", "text/html", b"")


def test_two_are_made_at_a_time_and_the_third_is_told_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "BUSY_AFTER", 0.01)
    begun, end = threading.Barrier(3), threading.Event()

    def make() -> ReportFile:
        begun.wait(10)
        end.wait(10)
        return FILE

    working = [threading.Thread(target=routes.in_turn, args=(make,)) for _ in range(2)]
    for one in working:
        one.start()
    begun.wait(10)
    with pytest.raises(StoreBusy, match="in a minute"):
        routes.in_turn(lambda: FILE)
    end.set()
    for one in working:
        one.join()
    assert routes.in_turn(lambda: FILE) is FILE


def test_a_report_that_fails_gives_its_place_back() -> None:
    def fail() -> ReportFile:
        raise ValueError("broken")

    for _ in range(3):
        with pytest.raises(ValueError, match="broken"):
            routes.in_turn(fail)
    assert routes.in_turn(lambda: FILE) is FILE
