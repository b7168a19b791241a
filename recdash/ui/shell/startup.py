"""The start of the dashboard: who may come in and how, or why it does not start."""

from __future__ import annotations

import sys

import click
from streamlit import config

from recdash.errors import RecdashError
from recdash.settings import Settings, settings
from recdash.ui.app import current_user
from recdash.ui.shell import browser_messages, navigation, oidc
from recdash.web.auth import AuthConfig
from recdash.web.startup_checks import (
    greeting,
    key_of,
    refuse_base_path,
    refuse_open_house,
    refuse_unnamed_viewers,
)

BAD_INPUT = 2


def door() -> AuthConfig:
    """Ends the program in words, with 2, where the dashboard would be open to whom it should not be."""
    try:
        return _door(settings())
    except RecdashError as error:
        click.echo(f"recdash: {error}", err=True)
        sys.exit(BAD_INPUT)


def _door(rules: Settings) -> AuthConfig:
    address: str | None = config.get_option("server.address")
    refuse_open_house(address, rules)
    refuse_unnamed_viewers(rules)
    refuse_base_path(config.get_option("server.baseUrlPath") or "")
    if rules.auth == "oidc":
        oidc.refuse_unready()
    key = ""
    if rules.auth == "key":
        key = key_of(current_user.whole().secret())
        click.echo(greeting(address, config.get_option("server.port"), key))
    return AuthConfig(
        rules,
        key,
        current_user.guest,
        oidc.claims,
        frozenset(navigation.ADDRESSES),
        browser_messages.is_needed,
    )
