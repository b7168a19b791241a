"""The start of the dashboard: how requests are authenticated, or why it does not start."""

from __future__ import annotations

import sys

import click

from recdash.errors import RecdashError
from recdash.settings import Settings, settings
from recdash.ui.app import current_user
from recdash.ui.app.streamlit_internals import server_option
from recdash.ui.shell import browser_messages, navigation, oidc
from recdash.web.auth import AuthConfig
from recdash.web.startup_checks import (
    greeting,
    key_of,
    refuse_base_path,
    refuse_open_access,
    refuse_unnamed_viewers,
    refuse_unusable_sources,
)

BAD_INPUT = 2


def auth_config() -> AuthConfig:
    """Returns how requests are authenticated.

    Ends the program with a message and code 2 if the settings are unsafe.
    """
    try:
        return _auth_config(settings())
    except RecdashError as error:
        click.echo(f"recdash: {error}", err=True)
        sys.exit(BAD_INPUT)


def _auth_config(rules: Settings) -> AuthConfig:
    address: str | None = server_option("server.address")
    refuse_open_access(address, rules)
    refuse_unnamed_viewers(rules)
    refuse_unusable_sources(rules)
    refuse_base_path(server_option("server.baseUrlPath") or "")
    if rules.auth == "oidc":
        oidc.refuse_unready()
    key = ""
    if rules.auth == "key":
        key = key_of(current_user.full_workspace().secret())
        click.echo(greeting(address, server_option("server.port"), key))
    addresses = frozenset(navigation.ADDRESSES)
    return AuthConfig(
        rules,
        key,
        current_user.guest,
        oidc.claims,
        addresses,
        browser_messages.is_needed,
        current_user.end_session,
        current_user.has_ended,
        current_user.api_token,
    )
