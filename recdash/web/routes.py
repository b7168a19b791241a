"""The routes that recdash adds to Streamlit's: share links, the key, reports, and uploads."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from urllib.parse import quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from recdash.domain.access import LEAVE_LINK
from recdash.domain.journal import ShareLink
from recdash.errors import Forbidden, NotFound, RecdashError, StoreBusy, UnknownName
from recdash.report.reports import ReportFile, Reports
from recdash.service import LinkDead, Workspace
from recdash.service.access.sharing import PAGE
from recdash.web import access_log
from recdash.web.api.access import PREFIX as API
from recdash.web.api.problems import refusal_answer
from recdash.web.api.routes import ApiRoutes
from recdash.web.auth import KEY, SHARE, AuthConfig, cookie, secrets_match
from recdash.web.dashboard_files import FIRST_PAGE
from recdash.web.headers import report_policy, security_headers
from recdash.web.hosts import address_of
from recdash.web.middleware import closed_link, end_session
from recdash.web.plain_pages import Refused, button_page
from recdash.web.received_files import received_files
from recdash.web.report_queue import AGAIN_AFTER, ReportTurns
from recdash.web.sessions import SECONDS, new_session
from recdash.web.upload_quota import quota
from recdash.web.upload_routes import UploadRoutes
from recdash.web.visitor import VISITOR, person_of, read_visitor

HTML = "html"


def routes(config: AuthConfig, workspace: Callable[[], Workspace]) -> list[Route]:
    """Returns the routes.

    ``workspace`` returns the workspace with full access, which each route limits to its visitor.
    """
    turns = ReportTurns()
    links, key = ShareLinks(config, workspace, turns), KeyRoute(config)
    return [
        Route("/s/leave", links.ask_to_leave),
        Route("/s/leave", links.leave, methods=["POST"]),
        Route("/s/{token}", links.open),
        Route("/key/sign-out", key.ask_to_sign_out),
        Route("/key/sign-out", key.sign_out, methods=["POST"]),
        Route("/key/{key}", key.open),
        Route("/reports/{name}", ReportRoute(config, workspace, turns).open),
        *UploadRoutes(config.rules, quota, received_files).routes(),
        *ApiRoutes(config, workspace).routes(),
        Route(f"/{FIRST_PAGE}", first_page),
        *(Route(f"/{name}/{{rest:path}}", not_found) for name in ("s", "key", "reports", "uploads")),
    ]


def first_page(request: Request) -> Response:
    """Redirects the first page's own name, which Streamlit does not know, to its address."""
    return RedirectResponse(f"./?{request.url.query}" if request.url.query else "./", 303)


def not_found(_request: Request) -> Response:
    raise Refused(404, "Not found", "This page does not exist.")  # the middleware logs and answers it


def server_error(config: AuthConfig) -> Callable[[Request, Exception], Response]:
    """Returns the handler of internal errors, whose response has the usual headers and no details."""

    def answer(request: Request, _error: Exception) -> Response:
        words = (
            "An internal error occurred; the server's log has the details. Try again, and tell the "
            "administrator if it persists."
        )
        refusal = Refused(500, "Something went wrong", words)
        is_api = request.url.path.startswith(API)
        response = refusal_answer(refusal, request.url.path) if is_api else refusal.response(request.headers)
        response.raw_headers.extend(security_headers(config.rules.embedders(), https=config.rules.https))
        return response

    return answer


class ShareLinks:
    """The route /s/<token>, which gives access to one experiment, or one report of it."""

    def __init__(self, config: AuthConfig, workspace: Callable[[], Workspace], turns: ReportTurns) -> None:
        self.config, self.workspace, self.turns = config, workspace, turns

    async def open(self, request: Request) -> Response:
        """Opens a share link.

        The link of an experiment is stored in a cookie, with which later requests are authenticated. The link
        of a report returns the report, and is not stored.
        """
        token = request.path_params["token"]
        try:
            link = await run_in_threadpool(lambda: self.workspace().sharing.shared(token))
            if link.report is None:
                answer = self.to_experiment(request, token, link)
            else:
                reader = f"{address_of(request)} {link.id}"
                file = await self.turns.make(reader, lambda: Reports(self.workspace()).shared(token))
                answer = report_page(file, self.config)
        except LinkDead as why:
            access_log.record("link refused", request, reason=why.reason)
            return closed_link(why).response(request.headers)
        except RecdashError as why:
            raise report_refusal(why) from None  # the middleware logs and answers it
        facts = {"experiment": link.experiment, "report": link.report}
        access_log.record("link opened", request, link=access_log.short_id(link.id), **facts)
        await run_in_threadpool(lambda: self.workspace().sharing.note_use(link, opened=True))
        return answer

    def to_experiment(self, request: Request, token: str, link: ShareLink) -> Response:
        """Returns the way to the view of the link's experiment that the address names, which the sender
        saw.
        """
        view = {name: value for name, value in request.query_params.items() if name not in ("e", PAGE)}
        wanted = request.query_params.get(PAGE, "")
        page = wanted if wanted in self.config.pages else ""
        onwards = RedirectResponse(f"../{page}?{urlencode({'e': link.experiment, **view})}", 303)
        seconds = int((link.expires - datetime.now(UTC)).total_seconds())
        return with_cookie(onwards, request, SHARE, token, max(seconds, 1))

    def ask_to_leave(self, _request: Request) -> Response:
        return button_page(LEAVE_LINK, "The link stays valid: open it again to come back.", LEAVE_LINK)

    def leave(self, request: Request) -> Response:
        return without_cookie(request, SHARE)


class KeyRoute:
    """The routes /key/<key>, the address that is printed when a dashboard with auth = key starts, and
    /key/sign-out.
    """

    def __init__(self, config: AuthConfig) -> None:
        self.config = config

    def open(self, request: Request) -> Response:
        if self.config.rules.auth != "key" or not secrets_match(request.path_params["key"], self.config.key):
            access_log.record("key refused", request)
            words = "This key is wrong. Open the address printed when the dashboard started."
            return Refused(403, "Wrong key", words).response(request.headers)
        access_log.record("key accepted", request)
        session = new_session(self.config.key)
        return with_cookie(RedirectResponse("../", 303), request, KEY, session, SECONDS)

    def ask_to_sign_out(self, _request: Request) -> Response:
        words = "To sign in again, open the address that was printed when the dashboard started."
        return button_page("Sign out", words, "Sign out")

    async def sign_out(self, request: Request) -> Response:
        """Ends the session for everyone who has its cookie, and deletes the cookie."""
        await end_session(request, self.config)
        return without_cookie(request, KEY)


class ReportRoute:
    """The routes /reports/<id> (a report as a page) and /reports/<id>.<form> (as a file)."""

    def __init__(self, config: AuthConfig, workspace: Callable[[], Workspace], turns: ReportTurns) -> None:
        self.config, self.workspace, self.turns = config, workspace, turns

    async def open(self, request: Request) -> Response:
        report, _, form = request.path_params["name"].partition(".")
        try:
            file = await self.turns.make(reader_of(request), lambda: self.file(request, report, form or HTML))
        except RecdashError as why:
            raise report_refusal(why) from None  # the middleware logs and answers it
        visitor = read_visitor(request.headers.get(VISITOR))
        facts = {"report": report, "format": form or HTML}
        access_log.record("report read", request, **facts, **access_log.reader(visitor))
        return report_download(file) if form else report_page(file, self.config)

    def file(self, request: Request, report: str, form: str) -> ReportFile:
        """Returns the report in one format. Raises RecdashError if the visitor may not read it."""
        reader = person_of(request.headers, self.config.guest, self.config.has_ended)
        if reader is None:
            raise Forbidden("Sign in to read this.")
        return Reports(self.workspace().seen_by(reader)).file(report, form, str(request.base_url))


def reader_of(request: Request) -> str:
    """Returns a key for the visitor: the name of a person, or the share link and address of a guest."""
    visitor = read_visitor(request.headers.get(VISITOR))
    return f"{address_of(request)} {visitor.share}" if visitor.share else str(visitor.name)


def report_refusal(why: RecdashError) -> Refused:
    if isinstance(why, NotFound | UnknownName):
        return Refused(404, "No such report", str(why))
    if isinstance(why, StoreBusy):
        return Refused(503, "Not now", str(why), again_after=AGAIN_AFTER)
    return Refused(403 if isinstance(why, Forbidden) else 503, "This report cannot be shown", str(why))


def report_page(file: ReportFile, config: AuthConfig) -> Response:
    """Returns the response with a report, which may run its own script, but neither send requests nor read
    cookies.
    """
    policy = report_policy(config.rules.embedders())
    headers = {
        "cache-control": "no-store",
        "content-security-policy": policy,
        "cross-origin-opener-policy": "unsafe-none",  # with any other, browsers refuse a sandboxed page
    }
    return Response(file.content, media_type=file.media_type, headers=headers)


def report_download(file: ReportFile) -> Response:
    disposition = f"attachment; filename*=utf-8''{quote(file.name, safe='')}"
    headers = {"cache-control": "no-store", "content-disposition": disposition}
    return Response(file.content, media_type=file.media_type, headers=headers)


def with_cookie(answer: Response, request: Request, name: str, value: str, seconds: int) -> Response:
    """Returns the response with a cookie that scripts cannot read, and that browsers do not send from other
    sites. The middleware marks it as Secure where visitors use HTTPS.
    """
    answer.set_cookie(cookie(name, request), value, seconds, httponly=True, samesite="lax")
    answer.headers["cache-control"] = "no-store"
    return answer


def without_cookie(request: Request, name: str) -> Response:
    """Returns the redirect to the first page that deletes a cookie."""
    onwards = RedirectResponse("../", 303)
    onwards.delete_cookie(cookie(name, request), httponly=True, samesite="lax")
    return onwards
