"""Websockets: how many messages may wait, which kinds are taken, and how many sockets may be open."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import Any

import pytest
from starlette.types import Message
from streamlit.proto.BackMsg_pb2 import BackMsg
from web_requests import rules

from recdash.ui.shell.browser_messages import MOST_FILES, is_needed
from recdash.web import message_queue as inboxes
from recdash.web import socket_limits
from recdash.web.message_queue import MOST_BYTES, MOST_WAITING, NOT_BINARY, TOO_MUCH, Inbox
from recdash.web.plain_pages import Refused
from recdash.web.visitor import Visitor

END = {"type": "websocket.disconnect", "code": 1005}


def sent(content: bytes) -> Message:
    return {"type": "websocket.receive", "bytes": content}


def taken(messages: list[Message], needed: bytes = b"") -> tuple[list[bytes], int]:
    """What the page gets of these messages, sent at once; pages need those that begin with ``needed``."""

    async def read() -> tuple[list[bytes], int]:
        arriving: asyncio.Queue[Message] = asyncio.Queue()
        for message in [*messages, END]:
            arriving.put_nowait(message)
        inbox = Inbox(arriving.get, lambda content: content.startswith(needed))
        filling = asyncio.create_task(inbox.fill())
        got = []
        while (message := await inbox.take())["type"] == "websocket.receive":
            got.append(message["bytes"])
        await filling
        return got, message["code"]

    return asyncio.run(read())


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inboxes, "PAUSE", 0.001)


def test_a_few_messages_arrive_in_order() -> None:
    messages = [str(number).encode() for number in range(MOST_WAITING - 1)]
    assert taken([sent(message) for message in messages]) == (messages, 1005)


@pytest.mark.parametrize("count", [300, 1_500])
def test_too_many_messages_at_once_end_the_socket(count: int) -> None:
    got, code = taken([sent(b"x")] * count)
    assert (code, len(got) < MOST_WAITING) == (TOO_MUCH, True)


def test_too_many_bytes_end_the_socket() -> None:
    assert taken([sent(b"x" * (MOST_BYTES + 1))]) == ([], TOO_MUCH)
    assert taken([sent(b"x" * MOST_BYTES)])[1] == 1005


def test_text_ends_the_socket() -> None:
    assert taken([{"type": "websocket.receive", "text": "x"}]) == ([], NOT_BINARY)


def test_a_kind_that_pages_do_not_need_is_dropped() -> None:
    messages = [sent(b"no 1"), sent(b"yes 1"), sent(b"no 2"), sent(b"yes 2")]
    assert taken(messages, b"yes") == ([b"yes 1", b"yes 2"], 1005)


# ── kinds ────────────────────────────────────────────────────────────────────────────────────


def message(**fields: Any) -> bytes:
    return BackMsg(**fields).SerializeToString()


@pytest.mark.parametrize(
    ("fields", "needed"),
    [
        ({"rerun_script": {"query_string": "e=1"}}, True),
        ({"stop_script": True}, True),
        ({"app_heartbeat": True}, True),
        ({"file_urls_request": {"file_names": ["runs.csv"]}}, True),
        ({"file_urls_request": {"file_names": ["x"] * (MOST_FILES + 1)}}, False),
        ({"backend_operation_request": {"dataframe_chunk": {}}}, True),
        ({"backend_operation_request": {"install_skills": {}}}, False),
        ({"backend_operation_request": {"dismiss_skills_nudge": {}}}, False),
        ({"backend_operation_request": {}}, False),
        ({"clear_cache": True}, False),
        ({"load_git_info": True}, False),
        ({"set_run_on_save": True}, False),
        ({"debug_disconnect_websocket": True}, False),
        ({"debug_shutdown_runtime": True}, False),
        ({}, False),
    ],
)
def test_pages_need_these_kinds_and_no_others(fields: dict[str, Any], needed: bool) -> None:
    assert is_needed(message(**fields)) is needed


def test_what_is_no_message_is_not_needed() -> None:
    assert not is_needed(b"\xff\xff\xff")


# ── how many ─────────────────────────────────────────────────────────────────────────────────


class Connection:
    """As much of a connection as says where it comes from."""

    def __init__(self, address: str) -> None:
        self.client = type("Client", (), {"host": address})


def count_open(visitor: Visitor, address: str, most: int, open_now: socket_limits.Sockets) -> int:
    """How many websockets of this visitor are let in, of more than may be."""
    asked: Any = Connection(address)
    with ExitStack() as stack:
        for opened in range(most):
            try:
                stack.enter_context(open_now.one_more(asked, visitor))
            except Refused as refused:
                return opened if refused.status == 429 else -1
    return most


@pytest.mark.parametrize(
    ("visitor", "allowed"),
    [
        (Visitor(), socket_limits.MOST_OF_STRANGERS),
        (Visitor("ada", "admin"), 4),
        (Visitor("ada", None), 4),
        (Visitor("key holder", "admin", named=False), 7),
        (Visitor("ada", "admin", share="token"), 7),
    ],
    ids=["a stranger", "a person", "a person without a role", "the key holder", "a guest"],
)
def test_so_many_websockets_are_open_of_each_visitor(visitor: Visitor, allowed: int) -> None:
    open_now = socket_limits.Sockets(rules(sockets_per_person=4, sockets_per_address=7))
    assert count_open(visitor, "10.0.0.1", 30, open_now) == allowed
    assert count_open(visitor, "10.0.0.1", 30, open_now) == allowed  # all were closed meanwhile


def test_one_person_or_address_keeps_no_other_out() -> None:
    open_now = socket_limits.Sockets(rules(sockets_per_person=1))
    here: Any = Connection("10.0.0.1")
    with open_now.one_more(here, Visitor("ada", "admin")):
        assert count_open(Visitor("ada", "admin"), "10.0.0.2", 3, open_now) == 0
        assert count_open(Visitor("kim", "viewer"), "10.0.0.1", 3, open_now) == 1
        assert count_open(Visitor(), "10.0.0.1", 3, open_now) == 3
