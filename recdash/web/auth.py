"""Authenticates a request by each sign-in method and returns its visitor."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hmac import compare_digest
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from starlette.requests import HTTPConnection

from recdash.domain.access import Person
from recdash.service.context import person_here
from recdash.settings import Auth, Settings, listed
from recdash.web.error_pages import Refused
from recdash.web.hosts import parts_of
from recdash.web.roles import role_of
from recdash.web.visitor import Visitor, key_holder

SHARE, KEY = "recdash_share", "recdash_key"
"""Names of cookies: a guest's share link, and the key."""
FORWARDED = {"forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"}
"""Headers that a proxy adds to a request from elsewhere."""
PROXY_SECRET = "x-recdash-proxy-secret"  # noqa: S105 - a header's name
LONGEST_NAME = 200
Cookies = Mapping[str, str]


@dataclass(frozen=True)
class AuthConfig:
    """How visitors are recognised. ``pages``: their addresses.

    ``claims``: the provider's claims in the sign-in cookies, empty if not signed in. ``guest``: the guest of
    a share link; raises a RecdashError for one that no longer works. ``is_needed``: whether pages need a
    websocket message.
    """

    rules: Settings
    key: str
    guest: Callable[[str], Person]
    claims: Callable[[Cookies], Mapping[str, Any]] = lambda _: {}
    pages: frozenset[str] = field(default_factory=frozenset)
    is_needed: Callable[[bytes], bool] = lambda _: True


def visitor_of(request: HTTPConnection, config: AuthConfig) -> Visitor:
    """Returns the visitor of a request; a share link takes precedence over a name. Anonymous if nothing
    identifies it.
    """
    share = request.cookies.get(cookie(SHARE, request))
    own = _WAYS[config.rules.auth](request, config)
    return Visitor(own.name, own.role, own.named, share)


def cookie(name: str, request: HTTPConnection) -> str:
    """Returns ``name`` for this server alone: browsers share cookies between the ports of a host."""
    port = request.headers.get("host", "").rpartition(":")[2]
    return f"{name}_{port}" if port.isdecimal() else name


def _local(request: HTTPConnection, _config: AuthConfig) -> Visitor:
    if not _is_here(request) or FORWARDED & set(request.headers.keys()):
        raise Refused(
            403,
            "Only for this machine",
            "This dashboard runs without sign-in, so it is available only on the machine it runs on. "
            "Start it with RECDASH_AUTH=key (or proxy, oidc) to read it from elsewhere.",
        )
    return Visitor.of(person_here())


def _key(request: HTTPConnection, config: AuthConfig) -> Visitor:
    given = request.cookies.get(cookie(KEY, request), "")
    return Visitor.of(key_holder(config.rules)) if same(given, config.key) else Visitor()


def _proxy(request: HTTPConnection, config: AuthConfig) -> Visitor:
    """Returns the visitor named by a proxy, if its address is trusted, it knows the secret, and it sends a
    single name.
    """
    secret = config.rules.proxy_secret.get_secret_value() if config.rules.proxy_secret else ""
    names = request.headers.getlist(config.rules.proxy_user_header)
    vouched = same(request.headers.get(PROXY_SECRET, ""), secret) and _is_trusted(request, config.rules)
    return _named(_utf8(names[0]), config.rules) if vouched and len(names) == 1 else Visitor()


def _oidc(request: HTTPConnection, config: AuthConfig) -> Visitor:
    """Returns the visitor by the verified e-mail address, else by the provider's id.

    An unverified address could be anyone's.
    """
    claims = config.claims(request.cookies)
    if parts_of(str(claims.get("origin", ""))).netloc != request.headers.get("host"):
        return Visitor()  # a cookie of a server that shares this one's secret, or of no signed-in user
    return _named(_verified_address(claims) or _id_of(claims), config.rules)


def _verified_address(claims: Mapping[str, Any]) -> str:
    """Returns the e-mail address that the provider has verified; empty without one."""
    address = str(claims.get("email") or "")
    return address if claims.get("email_verified") in (True, "true") and address.count("@") == 1 else ""


def _id_of(claims: Mapping[str, Any]) -> str:
    """Returns the provider's id of the person (``sub``), marked if it looks like an address.

    At some providers people choose their id.
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
    """Returns a header decoded as UTF-8: headers arrive as Latin-1, and other names are sent as UTF-8."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


def same(given: str, wanted: str) -> bool:
    """Returns whether both are the same and not empty, in constant time."""
    return bool(wanted) and compare_digest(given.encode(), wanted.encode())


def _is_here(request: HTTPConnection) -> bool:
    """Returns whether the request comes from this machine rather than through a proxy on it."""
    address = _peer(request)
    return address is not None and address.is_loopback


def _is_trusted(request: HTTPConnection, rules: Settings) -> bool:
    """Returns whether a trusted proxy connected.

    The web server replaces a local proxy by the client that it names (X-Forwarded-For), with port 0, which no
    connection has. FORWARDED_ALLOW_IPS says which proxies it believes, else 127.0.0.1.
    """
    if request.client is not None and request.client.port == 0:
        believed = listed(os.environ.get("FORWARDED_ALLOW_IPS", "127.0.0.1"))
        return all(_lies_in(name, rules) for name in believed)
    address = _peer(request)
    return address is not None and any(address in network for network in rules.networks())


def _lies_in(name: str, rules: Settings) -> bool:
    """Returns whether the whole of this address or network is trusted."""
    try:
        inner = ip_network(name)
    except ValueError:
        return False
    return any(inner[0] in outer and inner[-1] in outer for outer in rules.networks())


def _peer(request: HTTPConnection) -> IPv4Address | IPv6Address | None:
    """Returns the address that the request comes from; an IPv4 address written as IPv6 is returned as
    IPv4.
    """
    try:
        address = ip_address(request.client.host if request.client else "")
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
