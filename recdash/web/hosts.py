"""Host names and addresses, as requests and settings write them."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from starlette.requests import HTTPConnection


def address_of(request: HTTPConnection) -> str:
    """Returns the address from which a request comes; empty if it is unknown."""
    return request.client.host if request.client else ""


def parts_of(address: str) -> SplitResult:
    """Returns the parts of a URL; all are empty for an invalid one, such as ``//[::1``."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def is_loopback(name: str) -> bool:
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
