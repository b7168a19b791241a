"""Addresses of our own beside the pages: share links, the key, reports."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from urllib.parse import quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from recdash.domain.journal import ShareLink
from recdash.errors import Forbidden, NotFound, RecdashError, StoreBusy, UnknownName
from recdash.report.reports import ReportFile, Reports
from recdash.service import LinkDead, Workspace
from recdash.web.auth import KEY, SHARE, AuthConfig, cookie, same
from recdash.web.error_pages import Refused
from recdash.web.headers import of_every_answer, report_policy
from recdash.web.middleware import dead
from recdash.web.report_queue import AGAIN_AFTER, ReportTurns
from recdash.web.visitor import VISITOR, opened, person_of

KEY_DAYS = 30
PAGE = "html"


def routes(door: AuthConfig, whole: Callable[[], Workspace]) -> list[Route]:
    """``whole``: the workspace with everything in it; each answer is narrowed to who asks."""
    turns = ReportTurns()
    links = ShareLinks(door, whole, turns)
    return [
        Route("/s/leave", links.leave),
        Route("/s/{token}", links.open),
        Route("/key/{key}", KeyHole(door).open),
        Route("/reports/{name}", ReportShelf(door, whole, turns).open),
        *(Route(f"/{name}/{{rest:path}}", nothing) for name in ("s", "key", "reports")),
    ]


def nothing(asked: Request) -> Response:
    return Refused(404, "Nothing here", "There is no such page.").response(asked.headers)


def broken(door: AuthConfig) -> Callable[[Request, Exception], Response]:
    """The answer where the program has an error: nothing of it, and what every answer carries."""

    def answer(asked: Request, _error: Exception) -> Response:
        words = "An error of the program, which its log tells. Try again, and tell who runs it if it stays."
        found = Refused(500, "This did not work", words).response(asked.headers)
        found.raw_headers.extend(of_every_answer(door.rules.embedders()))
        return found

    return answer


class ShareLinks:
    """/s/<token>: leave to read one experiment, or one report of it."""

    def __init__(self, door: AuthConfig, whole: Callable[[], Workspace], turns: ReportTurns) -> None:
        self.door, self.whole, self.turns = door, whole, turns

    async def open(self, asked: Request) -> Response:
        """An experiment's link is kept in a cookie, which every later request is checked by.

        A report's is answered with the report, and kept nowhere.
        """
        token = asked.path_params["token"]
        try:
            link = await run_in_threadpool(lambda: self.whole().sharing.shared(token))
            if link.report is None:
                return self.to_experiment(asked, token, link)
            reader = f"{address_of(asked)} {link.id}"
            file = await self.turns.make(reader, lambda: Reports(self.whole()).shared(token))
            return report_page(file, self.door)
        except LinkDead as why:
            return dead(why).response(asked.headers)
        except RecdashError as why:
            return not_to_be_had(why).response(asked.headers)

    def to_experiment(self, asked: Request, token: str, link: ShareLink) -> Response:
        onwards = RedirectResponse(f"../?{urlencode({'e': link.experiment})}", 303)
        seconds = int((link.expires - datetime.now(UTC)).total_seconds())
        return keeping(onwards, asked, SHARE, token, max(seconds, 1))

    def leave(self, asked: Request) -> Response:
        onwards = RedirectResponse("../", 303)
        onwards.delete_cookie(cookie(SHARE, asked), httponly=True, samesite="lax")
        return onwards


class KeyHole:
    """/key/<key>: what is printed at the start of a dashboard with auth = key."""

    def __init__(self, door: AuthConfig) -> None:
        self.door = door

    def open(self, asked: Request) -> Response:
        if self.door.rules.auth != "key" or not same(asked.path_params["key"], self.door.key):
            words = "This key does not fit. Open the address that was printed when the dashboard started."
            return Refused(403, "Another key", words).response(asked.headers)
        return keeping(RedirectResponse("../", 303), asked, KEY, self.door.key, KEY_DAYS * 24 * 3600)


class ReportShelf:
    """/reports/<id>: a report as a page of its own; /reports/<id>.<form>: as a file."""

    def __init__(self, door: AuthConfig, whole: Callable[[], Workspace], turns: ReportTurns) -> None:
        self.door, self.whole, self.turns = door, whole, turns

    async def open(self, asked: Request) -> Response:
        report, _, form = asked.path_params["name"].partition(".")
        try:
            file = await self.turns.make(reader_of(asked), lambda: self.file(asked, report, form or PAGE))
        except RecdashError as why:
            return not_to_be_had(why).response(asked.headers)
        return report_download(file) if form else report_page(file, self.door)

    def file(self, asked: Request, report: str, form: str) -> ReportFile:
        """The report for who asks. Raises RecdashError where they may not read it."""
        reader = person_of(asked.headers, self.door.guest)
        if reader is None:
            raise Forbidden("Sign in to read this.")
        return Reports(self.whole().seen_by(reader)).file(report, form)


def reader_of(asked: Request) -> str:
    """Who asks for a report, as a key: a person by the name, a guest by link and address."""
    visitor = opened(asked.headers.get(VISITOR))
    return f"{address_of(asked)} {visitor.share}" if visitor.share else str(visitor.name)


def address_of(asked: Request) -> str:
    return asked.client.host if asked.client else ""


def not_to_be_had(why: RecdashError) -> Refused:
    if isinstance(why, NotFound | UnknownName):
        return Refused(404, "No such report", str(why))
    if isinstance(why, StoreBusy):
        return Refused(503, "Not now", str(why), again_after=AGAIN_AFTER)
    return Refused(403 if isinstance(why, Forbidden) else 503, "This report cannot be shown", str(why))


def report_page(file: ReportFile, door: AuthConfig) -> Response:
    """A report that may run its own script, ask nobody for anything, and see no cookie."""
    policy = report_policy(door.rules.embedders())
    headers = {"cache-control": "no-store", "content-security-policy": policy}
    return Response(file.content, media_type=file.media_type, headers=headers)


def report_download(file: ReportFile) -> Response:
    disposition = f"attachment; filename*=utf-8''{quote(file.name, safe='')}"
    headers = {"cache-control": "no-store", "content-disposition": disposition}
    return Response(file.content, media_type=file.media_type, headers=headers)


def keeping(answer: Response, asked: Request, name: str, value: str, seconds: int) -> Response:
    """``answer``, of which the browser keeps a value that no script reads and no other site sends."""
    answer.set_cookie(
        cookie(name, asked), value, seconds, httponly=True, samesite="lax", secure=asked.url.scheme == "https"
    )
    answer.headers["cache-control"] = "no-store"
    return answer
