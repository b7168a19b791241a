"""Authenticates requests, with a function for each sign-in method."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hmac import compare_digest
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from starlette.requests import HTTPConnection

from recdash.domain.access import Person
from recdash.domain.journal import ApiToken
from recdash.service.access.tokens import TokenRefused
from recdash.service.context import local_person
from recdash.settings import Auth, Settings, listed
from recdash.web.hosts import address_of, parts_of
from recdash.web.plain_pages import Refused
from recdash.web.roles import role_of
from recdash.web.sessions import session_in, session_of
from recdash.web.visitor import Visitor, key_holder

SHARE, KEY = "recdash_share", "recdash_key"
"""Names of cookies: that of a guest's share link, and that of a session with the key."""
FORWARDED = {"forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"}
"""Headers by which a request is recognised as forwarded by a proxy."""
PROXY_SECRET = "x-recdash-proxy-secret"  # noqa: S105 - a header's name
LONGEST_NAME = 200
Cookies = Mapping[str, str]


def _unknown_token(_secret: str) -> ApiToken:
    raise TokenRefused("unknown")


@dataclass(frozen=True)
class AuthConfig:
    """How requests are authenticated.

    ``rules`` are the settings; ``key`` is the key of ``auth = key``.

    ``guest`` returns the guest of a share link, and raises a RecdashError if the link no longer works.
    ``claims`` returns the identity provider's claims from the cookies of a request, empty for a visitor who
    has not signed in. ``pages`` are the addresses of pages. ``is_needed`` returns whether a page needs a
    websocket message. ``end_session`` ends a session, and ``has_ended`` returns whether one has ended.
    ``api_token`` returns the token of the API that a program sent, and raises TokenRefused if it gives no
    access.
    """

    rules: Settings
    key: str
    guest: Callable[[str], Person]
    claims: Callable[[Cookies], Mapping[str, Any]] = lambda _: {}
    pages: frozenset[str] = field(default_factory=frozenset)
    is_needed: Callable[[bytes], bool] = lambda _: True
    end_session: Callable[[str], None] = lambda _: None
    has_ended: Callable[[str], bool] = lambda _: False
    api_token: Callable[[str], ApiToken] = _unknown_token


def visitor_of(request: HTTPConnection, config: AuthConfig) -> Visitor:
    """Returns the visitor of a request, with the share link that they use, if any.

    The visitor is anonymous if nothing in the request identifies them, or their session has ended.
    """
    share = request.cookies.get(cookie(SHARE, request))
    own = _WAYS[config.rules.auth](request, config)
    return replace(own, share=share).unless_ended(config.has_ended)


def cookie(name: str, request: HTTPConnection) -> str:
    """Returns the name of a cookie with the server's port, as browsers share cookies between the ports of a
    host.
    """
    port = request.headers.get("host", "").rpartition(":")[2]
    return f"{name}_{port}" if port.isdecimal() else name


def require_local(request: HTTPConnection) -> None:
    """Raises Refused unless the request comes from this machine."""
    if not _is_local(request) or FORWARDED & set(request.headers.keys()):
        raise Refused(
            403,
            "Only for this machine",
            "This dashboard runs without sign-in, so it is available only on the machine it runs on. "
            "Start it with RECDASH_AUTH=key (or proxy, oidc) to read it from elsewhere.",
        )


def _local(request: HTTPConnection, _config: AuthConfig) -> Visitor:
    require_local(request)
    return Visitor.of(local_person())


def _key(request: HTTPConnection, config: AuthConfig) -> Visitor:
    session = session_in(request.cookies.get(cookie(KEY, request), ""), config.key)
    return Visitor() if session is None else Visitor.of(key_holder(config.rules), session)


def _proxy(request: HTTPConnection, config: AuthConfig) -> Visitor:
    """Returns the visitor that a proxy names; an anonymous one unless the proxy can be trusted.

    It must have a trusted address, send the secret, and send exactly one name.
    """
    secret = config.rules.proxy_secret.get_secret_value() if config.rules.proxy_secret else ""
    names = request.headers.getlist(config.rules.proxy_user_header)
    vouched = secrets_match(request.headers.get(PROXY_SECRET, ""), secret) and _is_trusted(
        request, config.rules
    )
    return _named(_utf8(names[0]), config.rules) if vouched and len(names) == 1 else Visitor()


def _oidc(request: HTTPConnection, config: AuthConfig) -> Visitor:
    """Returns the visitor with the verified e-mail address as name, else with the provider's id.

    An unverified address is not used, as anyone could have claimed it. Anonymous without a sign-in for this
    server.
    """
    return signed_in(request.cookies, request, config)


def signed_in(cookies: Cookies, request: HTTPConnection, config: AuthConfig) -> Visitor:
    """Returns the visitor that the provider's claims in these cookies name."""
    claims = config.claims(cookies)
    if parts_of(str(claims.get("origin", ""))).netloc != request.headers.get("host"):
        return Visitor()  # the cookie is of another server with this secret, or of no one
    return replace(
        _named(_verified_address(claims) or _id_of(claims), config.rules), session=session_of(claims)
    )


def _verified_address(claims: Mapping[str, Any]) -> str:
    """Returns the e-mail address if the provider has verified it; else an empty text."""
    address = str(claims.get("email") or "")
    return address if claims.get("email_verified") in (True, "true") and address.count("@") == 1 else ""


def _id_of(claims: Mapping[str, Any]) -> str:
    """Returns the provider's id of the person (``sub``), with a mark if it looks like an e-mail address.

    At some providers people choose their id, and could choose another person's address. Empty without an id.
    """
    given = str(claims.get("sub") or "")
    return f"{given} (id)" if "@" in given else given


_WAYS: dict[Auth, Callable[[HTTPConnection, AuthConfig], Visitor]] = {
    "local": _local, "key": _key, "proxy": _proxy, "oidc": _oidc,
}  # fmt: skip


def _named(name: str, rules: Settings) -> Visitor:
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        return Visitor()
    return Visitor(name, role_of(name, rules))


def _utf8(text: str) -> str:
    """Returns a header's text decoded as UTF-8, as the server decodes headers as Latin-1; unchanged if it is
    not UTF-8.
    """
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


def secrets_match(given: str, wanted: str) -> bool:
    """Returns whether both texts are equal and not empty; compares them in constant time."""
    return bool(wanted) and compare_digest(given.encode(), wanted.encode())


def _is_local(request: HTTPConnection) -> bool:
    """Returns whether the request comes from this machine, and not from elsewhere through a proxy on it."""
    address = _peer(request)
    return address is not None and address.is_loopback


def _is_trusted(request: HTTPConnection, rules: Settings) -> bool:
    """Returns whether the request comes from a trusted proxy.

    If the web server believes a local proxy, it puts the client that the proxy names (X-Forwarded-For) in the
    proxy's place, with port 0, which no real connection has. Then all proxies that the web server believes
    (FORWARDED_ALLOW_IPS, by default 127.0.0.1) must be trusted.
    """
    if request.client is not None and request.client.port == 0:
        believed = listed(os.environ.get("FORWARDED_ALLOW_IPS", "127.0.0.1"))
        return all(_lies_in(name, rules) for name in believed)
    address = _peer(request)
    return address is not None and any(address in network for network in rules.networks())


def _lies_in(name: str, rules: Settings) -> bool:
    """Returns whether all addresses of this address or network are trusted; False for an invalid one."""
    try:
        inner = ip_network(name)
    except ValueError:
        return False
    return any(inner[0] in outer and inner[-1] in outer for outer in rules.networks())


def _peer(request: HTTPConnection) -> IPv4Address | IPv6Address | None:
    """Returns the address from which the request comes; None if it is unknown.

    An IPv4 address that is written as IPv6 is returned as IPv4.
    """
    try:
        address = ip_address(address_of(request))
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
