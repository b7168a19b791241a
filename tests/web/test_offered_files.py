"""A file that a page offers is for those who were told of it."""

from __future__ import annotations

import asyncio

import pytest
from starlette.types import Message
from web_requests import ask, door

from recdash.web import offered_files as offers
from recdash.web.offered_files import OfferedFiles
from recdash.web.visitor import Visitor

ADA, KIM = Visitor("ada", "admin"), Visitor("kim", "viewer")
FILE = "0123456789abcdef" * 2


def told(offered: OfferedFiles, visitor: Visitor, content: bytes) -> list[Message]:
    """What reaches the browser of a message with this content."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(offered.recording(send, visitor)({"type": "websocket.send", "bytes": content}))
    return sent


@pytest.mark.parametrize("ending", ["", ".csv", ".html"])
def test_a_file_is_for_the_visitor_who_was_told_of_it(ending: str) -> None:
    offered, content = OfferedFiles(), f"\x12/media/{FILE}{ending}B\x02".encode()
    assert told(offered, ADA, content) == [{"type": "websocket.send", "bytes": content}]
    assert offered.is_offered(ADA, f"/media/{FILE}{ending}")
    assert not offered.is_offered(KIM, f"/media/{FILE}{ending}")
    assert not offered.is_offered(ADA, f"/media/{FILE[::-1]}{ending}")
    assert not offered.is_offered(ADA, "/media/x")


def test_a_guest_is_another_visitor_than_the_person() -> None:
    offered = OfferedFiles()
    told(offered, ADA, f"/media/{FILE}".encode())
    assert not offered.is_offered(Visitor("ada", "admin", share="token"), f"/media/{FILE}")


def test_what_was_offered_longest_ago_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offers, "MOST_FILES", 2)
    offered = OfferedFiles()
    names = [f"{number:032x}" for number in range(3)]
    for name in names:
        offered.offer(ADA, name)
    assert [offered.is_offered(ADA, f"/media/{name}") for name in names] == [False, True, True]


def test_the_door_gives_a_file_to_no_visitor_who_was_not_told_of_it() -> None:
    assert ask(door(), f"/media/{FILE}.csv").status == 404
    assert ask(door(), f"/media/{FILE}.csv", method="OPTIONS").status == 200
