"""Who is asking: on this machine, by a key, from a proxy, signed in, by a share link; and nobody else."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from web_requests import AFAR, PROXY_SECRET, Answer, ask, door, no_guest, request, rules

from recdash.domain.access import Person
from recdash.errors import Forbidden, InputError, RecdashError, StoreBusy
from recdash.web.auth import AuthConfig
from recdash.web.middleware import AuthMiddleware
from recdash.web.roles import role_of
from recdash.web.routes import routes
from recdash.web.sessions import new_session
from recdash.web.startup_checks import (
    greeting,
    key_of,
    refuse_base_path,
    refuse_open_access,
    refuse_unnamed_viewers,
)
from recdash.web.visitor import Visitor, person_of

ROLES = {"admins": "ada@example.org", "editors": "*@team.example.org, Ed", "viewers": "*@example.org"}


def who(answer: Answer) -> tuple[str, str] | None:
    person = answer.person(no_guest) if answer.passed else None
    return (person.name, person.role) if person else None


# ── roles ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("ada@example.org", "admin"),
        ("ADA@Example.ORG", "admin"),
        ("kim@team.example.org", "editor"),
        ("ed", "editor"),
        ("kim@example.org", "viewer"),
        ("kim@example.org.evil.net", None),
        ("kim@evil.net", None),
        ("kim@evil.net@example.org", None),
        ("example.org", None),
        ("@example.org", "viewer"),
        ("*", None),
        ("ed,", None),
        ("\u0130ed", None),
        ("ada@example.\u212arg", None),
    ],
)
def test_a_role_is_given_by_name_or_by_domain(name: str, role: str | None) -> None:
    assert role_of(name, rules(**ROLES)) == role


def test_letters_that_fold_into_plain_ones_are_not_those() -> None:
    """The Kelvin sign in lower case is k."""
    assert role_of("\u212aim", rules(admins="kim", viewers="")) is None
    assert role_of("KIM", rules(admins="kim", viewers="")) == "admin"


def test_reading_needs_a_setting_that_says_so() -> None:
    assert role_of("anybody", rules()) is None
    assert role_of("anybody", rules(viewers="*")) == "viewer"


# ── this machine, and the key ────────────────────────────────────────────────────────────────


def test_whoever_sits_at_this_machine_may_do_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    from recdash.settings import settings

    monkeypatch.setenv("RECDASH_USER", "mara")
    settings.cache_clear()
    assert who(ask(door())) == ("mara", "admin")
    assert person_of({}, no_guest, lambda _: False) == Person("mara", "admin", named=False)
    settings.cache_clear()


@pytest.mark.parametrize("header", ["x-forwarded-for", "forwarded", "via", "x-real-ip", "x-forwarded-proto"])
def test_what_a_proxy_brings_from_elsewhere_is_not_of_this_machine(header: str) -> None:
    answer = ask(door(), headers={header: "203.0.113.5"})
    assert (answer.status, answer.passed) == (403, False)
    assert "available only on the machine it runs on" in answer.text


def with_session(cookie: str, port: int = 8501) -> tuple[str, str] | None:
    return who(ask(door(auth="key"), headers={"cookie": f"recdash_key_{port}={cookie}"}))


def test_only_a_session_that_the_key_signed_opens() -> None:
    signed = new_session("the-key")
    assert "the-key" not in signed
    assert with_session(signed) == ("key holder", "admin")
    session, moment, signature = signed.split(".")
    for forged in (
        "", "the-key", new_session("the-key2"), f"{session}.{signature}", f"x{signed}", signed[:-2], "é",
        f"{session}.{moment[:-1]}{'A' if moment[-1] != 'A' else 'B'}.{signature}",
    ):  # fmt: skip
        assert with_session(forged) is None


def test_a_session_lasts_thirty_days(monkeypatch: pytest.MonkeyPatch) -> None:
    signed, now = new_session("the-key"), time.time()
    for days, found in ((29.9, ("key holder", "admin")), (30.1, None), (-1, None)):
        monkeypatch.setattr(time, "time", lambda days=days: now + days * 24 * 3600)
        assert with_session(signed) == found


def test_a_session_of_another_port_does_not_count() -> None:
    assert with_session(new_session("the-key"), port=8502) is None


def test_without_a_key_there_is_none_to_guess() -> None:
    keyless = AuthConfig(rules(auth="key"), key="", guest=no_guest)
    assert who(ask(keyless, headers={"cookie": "recdash_key_8501="})) is None
    with_empty_key = {"cookie": f"recdash_key_8501={new_session('')}"}
    assert who(ask(keyless, headers=with_empty_key)) is None


def test_an_ended_session_names_nobody_and_every_sign_in_is_another() -> None:
    ended: set[str] = set()
    config = replace(door(auth="key"), end_session=ended.add, has_ended=ended.__contains__)
    first, second = new_session("the-key"), new_session("the-key")
    app = Starlette(
        routes=routes(config, lambda: pytest.fail("needs no workspace")),
        middleware=[Middleware(AuthMiddleware, config=config)],
    )
    cookie = {"cookie": f"recdash_key_8501={first}"}
    assert request(app, "/key/sign-out", headers=cookie, method="POST").status == 303
    assert request(app, "/key/sign-out", method="POST").status == 303  # who is not signed in signs nobody out
    assert [who(ask(config, headers={"cookie": f"recdash_key_8501={one}"})) for one in (first, second)] == [
        None, ("key holder", "admin"),
    ]  # fmt: skip


@pytest.mark.parametrize("site", ["none", "same-origin", "cross-site"])
def test_a_link_to_sign_out_asks_first(site: str) -> None:
    ended: list[str] = []
    config = replace(door(auth="key"), end_session=ended.append)
    app = Starlette(
        routes=routes(config, lambda: pytest.fail("needs no workspace")),
        middleware=[Middleware(AuthMiddleware, config=config)],
    )
    headers = {"cookie": f"recdash_key_8501={new_session('the-key')}", "sec-fetch-site": site}
    asked = request(app, "/key/sign-out", headers=headers)
    assert (asked.status, asked.headers.get("set-cookie")) == (200, None)
    assert '<form method="post"><button>Sign out</button></form>' in asked.text
    assert ended == []


@pytest.mark.parametrize(
    ("auth", "path", "method"), [("key", "/key/sign-out", "POST"), ("oidc", "/auth/logout", "GET")]
)
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_signs_nobody_out(auth: str, path: str, method: str, site: str) -> None:
    ended: list[str] = []
    config = replace(door(auth=auth), claims=lambda _: ADA, end_session=ended.append)
    app = Starlette(
        routes=routes(config, lambda: pytest.fail("needs no workspace")),
        middleware=[Middleware(AuthMiddleware, config=config)],
    )
    headers = {"cookie": f"recdash_key_8501={new_session('the-key')}", "sec-fetch-site": site}
    assert request(app, path, headers=headers, method=method).status == 403
    assert ended == []


def test_a_sign_out_that_cannot_be_stored_is_not_claimed() -> None:
    def busy(_: str) -> None:
        raise StoreBusy("The store is busy.")

    config = replace(door(auth="oidc"), claims=lambda _: ADA, end_session=busy)
    asked = ask(config, "/auth/logout")
    assert (asked.status, asked.passed, "The store is busy." in asked.text) == (503, False, True)
    unsure = replace(config, has_ended=busy)
    assert (ask(unsure).status, ask(unsure).passed) == (503, False)


def test_the_key_is_the_secrets_and_says_nothing_of_it() -> None:
    assert key_of(b"one") == key_of(b"one") != key_of(b"two")
    assert len(key_of(b"one")) == 43  # 256 bits, six to a character


# ── a proxy ──────────────────────────────────────────────────────────────────────────────────


def proxy(**more: Any) -> AuthConfig:
    return door(auth="proxy", proxy_secret=PROXY_SECRET, **ROLES, **more)


def vouching(name: str = "ada@example.org", secret: str = PROXY_SECRET) -> list[tuple[str, str]]:
    return [("X-Forwarded-User", name), ("X-Recdash-Proxy-Secret", secret)]


def test_a_trusted_proxy_says_who_it_is() -> None:
    assert who(ask(proxy(), headers=vouching())) == ("ada@example.org", "admin")
    assert who(ask(proxy(), headers=vouching("kim@team.example.org"))) == ("kim@team.example.org", "editor")
    assert who(ask(proxy(), headers=vouching("jörg@example.org"))) == ("jörg@example.org", "viewer")


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("X-Forwarded-User", "ada@example.org")],
        vouching(secret=PROXY_SECRET[:-1]),
        vouching(secret=f"{PROXY_SECRET}x"),
        vouching(secret=""),
        vouching(name=""),
        vouching(name=" "),
        vouching(name="a\x1bda@example.org"),
        vouching(name="a" * 201 + "@example.org"),
        [*vouching("kim@example.org"), ("X-Forwarded-User", "ada@example.org")],
        [("X-Remote-User", "ada@example.org"), ("X-Recdash-Proxy-Secret", PROXY_SECRET)],
        [("x-recdash-visitor", Visitor("ada@example.org", "admin").sealed())],
    ],
    ids=[
        "nothing", "no secret", "a shorter secret", "a longer secret", "an empty secret", "no name",
        "a blank name", "a name with an escape", "an endless name", "two names",
        "another header", "our own header",
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/", "/leaderboard", "/media/x.csv", "/reports/x", "/static/js/index.js"])
def test_what_a_proxy_does_not_vouch_for_is_nobody(headers: list[tuple[str, str]], path: str) -> None:
    asked = ask(proxy(), path, headers=headers)
    assert (asked.status, asked.passed) == (403, False)


@pytest.mark.parametrize("client", [AFAR, ("10.1.2.4", 9), ("::ffff:10.1.2.4", 9), ("fe80::1", 9), None])
def test_an_untrusted_peer_vouches_for_nobody(client: tuple[str, int] | None) -> None:
    asked = ask(proxy(trusted_proxies="127.0.0.1, 10.1.2.3"), headers=vouching(), client=client)
    assert (asked.status, asked.passed) == (403, False)


@pytest.mark.parametrize(
    "client", [("10.1.2.3", 9), ("::ffff:10.1.2.3", 9), ("172.18.7.7", 9), ("fd00::5", 9)]
)
def test_trusted_proxies_are_addresses_and_networks(client: tuple[str, int]) -> None:
    near = proxy(trusted_proxies="10.1.2.3, 172.18.0.0/16, fd00::/64")
    assert who(ask(near, headers=vouching(), client=client)) == ("ada@example.org", "admin")


def test_a_proxy_of_this_machine_that_names_its_client_is_trusted_as_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The web server believes 127.0.0.1, or FORWARDED_ALLOW_IPS, and puts the client there with port 0."""
    named = ("203.0.113.5", 0)
    assert ask(proxy(), headers=vouching(), client=named).status == 200
    assert ask(proxy(trusted_proxies="10.1.2.3"), headers=vouching(), client=named).status == 403
    for believed, status in [
        ("*", 403),
        ("10.0.0.0/8", 403),
        ("127.0.0.1,10.0.0.1", 403),
        ("127.0.0.1", 200),
    ]:
        monkeypatch.setenv("FORWARDED_ALLOW_IPS", believed)
        assert ask(proxy(), headers=vouching(), client=named).status == status


def test_a_name_without_a_role_is_told_so() -> None:
    asked = ask(proxy(), headers=vouching("kim@evil.net"))
    assert (asked.status, asked.passed) == (403, False)
    assert "You are signed in as kim@evil.net, but this name has no role here" in asked.text


def test_a_name_made_of_markup_is_words() -> None:
    asked = ask(proxy(), headers=[*vouching("<img src=x>"), ("accept", "text/html")])
    assert "&lt;img src=x&gt;" in asked.text
    assert "<img" not in asked.text


# ── signed in ────────────────────────────────────────────────────────────────────────────────

ADA = {"origin": "http://localhost:8501", "email": "ada@example.org", "email_verified": True, "sub": "4711"}


def signed_in(**claims: Any) -> Answer:
    """A page as it is asked for by whom the provider said this of."""
    visitors = door(auth="oidc", **ROLES)
    return ask(AuthConfig(visitors.rules, "", no_guest, lambda _: ADA | claims, visitors.pages))


def test_the_provider_says_who_it_is() -> None:
    assert who(signed_in()) == ("ada@example.org", "admin")


@pytest.mark.parametrize("verified", [False, "false", None, 0, "no"])
def test_an_address_that_nobody_checked_is_not_a_name(verified: object) -> None:
    asked = signed_in(email_verified=verified)
    with pytest.raises(Forbidden, match="signed in as 4711"):
        asked.person(no_guest)


def test_an_address_of_which_the_provider_says_nothing_is_not_a_name() -> None:
    visitors, claims = door(auth="oidc", **ROLES), {**ADA}
    del claims["email_verified"]
    asked = ask(AuthConfig(visitors.rules, "", no_guest, lambda _: claims, visitors.pages))
    with pytest.raises(Forbidden, match="signed in as 4711"):
        asked.person(no_guest)


@pytest.mark.parametrize("claims", [{"email_verified": False}, {"email": ""}, {"email": None}])
@pytest.mark.parametrize("sub", ["ada@example.org", " ada@example.org", "ADA@EXAMPLE.ORG"])
def test_an_id_of_the_provider_is_never_an_address(sub: str, claims: dict[str, Any]) -> None:
    asked = signed_in(sub=sub, **claims)
    with pytest.raises(Forbidden, match=r"(?i)signed in as ada@example\.org \(id\)"):
        asked.person(no_guest)


def test_an_id_that_is_named_has_its_role() -> None:
    visitors = door(auth="oidc", admins="4711", viewers="")
    claims = {**ADA, "email_verified": False}
    asked = ask(AuthConfig(visitors.rules, "", no_guest, lambda _: claims, visitors.pages))
    assert who(asked) == ("4711", "admin")


def test_a_verified_address_without_an_at_is_not_a_name() -> None:
    asked = signed_in(email="ada")
    with pytest.raises(Forbidden, match="signed in as 4711"):
        asked.person(no_guest)


@pytest.mark.parametrize("origin", ["http://localhost:8502", "https://evil.example", "", "http://[x"])
def test_a_sign_in_elsewhere_does_not_count_here(origin: str) -> None:
    assert who(signed_in(origin=origin)) is None


OPEN = ["/", "/leaderboard", "/upload", "/static/js/index.js", "/_stcore/host-config"]
CLOSED = ["/media/x.csv", "/reports/x", "/reports/x.pdf", "/uploads/s/f"]


@pytest.mark.parametrize("path", OPEN)
def test_pages_load_so_that_people_can_sign_in(path: str) -> None:
    asked = ask(door(auth="oidc"), path)
    assert (asked.status, who(asked)) == (200, None)


@pytest.mark.parametrize("path", CLOSED)
def test_evidence_needs_a_sign_in(path: str) -> None:
    asked = ask(door(auth="oidc"), path, method="PUT" if "upload" in path else "GET")
    assert (asked.status, asked.passed) == (403, False)


def test_signing_out_ends_the_sign_in_and_no_later_one() -> None:
    ended: set[str] = set()
    first, second = ({**ADA, "iat": 1_700_000_000 + seconds} for seconds in (0, 60))
    config = replace(door(auth="oidc", **ROLES), end_session=ended.add, has_ended=ended.__contains__)
    of = {
        "first": replace(config, claims=lambda _: first),
        "second": replace(config, claims=lambda _: second),
    }
    assert ask(of["first"], "/auth/logout").passed
    assert {name: who(ask(one)) for name, one in of.items()} == {
        "first": None, "second": ("ada@example.org", "admin"),
    }  # fmt: skip
    assert ask(of["first"], "/reports/x").status == 403
    guest = ask(replace(of["first"], guest=of_link), headers={"cookie": "recdash_share_8501=alive"})
    assert guest.person(of_link) == GUEST


@pytest.mark.parametrize("path", ["/auth/login", "/auth/logout", "/oauth2callback"])
def test_the_way_to_the_provider_is_open(path: str) -> None:
    assert ask(door(auth="oidc"), path).status == 200


# ── a share link counts before any name ──────────────────────────────────────────────────────

KEY_COOKIE = f"recdash_key_8501={new_session('the-key')}"
GUEST = Person("guest of mara", "viewer", "films")


class Dead(RecdashError):
    reason = "revoked"


def of_link(token: str) -> Person:
    if token == "dead":  # noqa: S105
        raise Dead("This share link was revoked.")
    return GUEST


@pytest.mark.parametrize("auth", ["local", "key", "proxy", "oidc"])
def test_whoever_opens_a_share_link_reads_as_a_guest(auth: str) -> None:
    visitors = door(of_link, auth=auth, proxy_secret=PROXY_SECRET, admins="*")
    headers = [*vouching(), ("cookie", f"recdash_share_8501=alive; {KEY_COOKIE}")]
    assert ask(visitors, headers=headers).person(of_link) == GUEST


@pytest.mark.parametrize("auth", ["local", "key", "proxy", "oidc"])
@pytest.mark.parametrize("path", ["/", "/leaderboard", "/media/x.csv", "/reports/x", "/static/js/index.js"])
def test_a_dead_share_link_shows_its_reason_and_nothing_else(auth: str, path: str) -> None:
    visitors = door(of_link, auth=auth, proxy_secret=PROXY_SECRET, admins="*")
    headers = [*vouching(), ("cookie", f"recdash_share_8501=dead; {KEY_COOKIE}")]
    asked = ask(visitors, path, headers=[*headers, ("accept", "text/html")])
    assert (asked.status, asked.passed) == (410, False)
    assert "This share link was revoked." in asked.text
    assert 'href="/s/leave"' in asked.text


def test_who_has_nothing_but_a_dead_link_is_not_sent_in_circles() -> None:
    headers = {"cookie": "recdash_share_8501=dead", "accept": "text/html"}
    assert "/s/leave" not in ask(door(of_link, auth="key"), headers=headers).text


# ── before it listens ────────────────────────────────────────────────────────────────────────


ALL = "0.0.0.0"  # noqa: S104 - never listened on


@pytest.mark.parametrize("address", [ALL, "::", "192.0.2.1", "", None, "team.example"])
def test_a_dashboard_open_to_all_does_not_start(address: str | None) -> None:
    with pytest.raises(InputError, match=r"Listen on 127\.0\.0\.1, or set who may sign in: RECDASH_AUTH=key"):
        refuse_open_access(address, rules())
    refuse_open_access(address, rules(auth="key"))


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_on_this_machine_it_starts_without_a_word(address: str) -> None:
    refuse_open_access(address, rules())


@pytest.mark.parametrize("auth", ["proxy", "oidc"])
@pytest.mark.parametrize("viewers", ["", " , "])
def test_names_from_elsewhere_need_viewers_that_are_named(auth: str, viewers: str) -> None:
    named = {"auth": auth, "proxy_secret": PROXY_SECRET, "admins": "ada@example.org", "editors": "*"}
    with pytest.raises(InputError, match=r"RECDASH_VIEWERS: not set.*\* for everyone with an account"):
        refuse_unnamed_viewers(rules(**named, viewers=viewers))
    for said in ("*", "kim@example.org"):
        refuse_unnamed_viewers(rules(**named, viewers=said))


@pytest.mark.parametrize("auth", ["local", "key"])
def test_one_person_alone_names_no_viewers(auth: str) -> None:
    refuse_unnamed_viewers(rules(auth=auth))


def test_a_path_before_all_addresses_is_refused() -> None:
    refuse_base_path("")
    refuse_base_path("/")
    with pytest.raises(InputError, match=r"server\.baseUrlPath: '/team'"):
        refuse_base_path("/team")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (ALL, "127.0.0.1"),
        (None, "127.0.0.1"),
        ("::", "127.0.0.1"),
        ("::1", "[::1]"),
        ("10.0.0.7", "10.0.0.7"),
    ],
)
def test_the_start_says_where_to_come_in(address: str | None, shown: str) -> None:
    assert f"http://{shown}:8501/key/the-key\n" in greeting(address, 8501, "the-key")
