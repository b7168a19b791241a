"""Answers of services, cached for all pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from recdash.domain.results import Scope
from recdash.ui.app import current_user

Answer = TypeVar("Answer")


def answer(
    method: Callable[..., Answer],
    arguments: tuple[Any, ...],
    scope: Scope | None = None,
    version: object = None,
) -> Answer:
    """Returns what a service's method answers; cached by method, arguments, scope and ``version``.

    ``version`` is anything else on which the answer depends, such as how an A/B test is counted. Guests who
    may see no data of single users have answers of their own.
    """
    limit = current_user.reader().numbers_only
    result: Answer = _kept(method, method.__qualname__, arguments, scope, version, limit)
    return result


@st.cache_data(show_spinner=False, max_entries=512)
def _kept(
    _method: Callable[..., Any],
    name: str,  # noqa: ARG001 - for the cache
    arguments: tuple[Any, ...],
    scope: Scope | None,
    version: object,  # noqa: ARG001 - for the cache
    numbers_only: bool,  # noqa: ARG001 - for the cache
) -> Any:
    return _method(*arguments, **({"scope": scope} if scope else {}))
