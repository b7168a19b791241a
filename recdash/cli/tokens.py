"""``recdash tokens``: the tokens with which programs use the HTTP API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from recdash.cli.options import ID_SHOWN, form_option, id_beginning, open_workspace
from recdash.cli.terminal import say, say_json, say_lines
from recdash.domain.access import ROLES, AccessRole
from recdash.formatting.text_table import text_table

if TYPE_CHECKING:
    from recdash.domain.journal import ApiToken
    from recdash.service import Workspace

MINUTE = "%Y-%m-%d %H:%M"
HEADER = ["id", "label", "role", "state", "until (UTC)", "made by", "last used (UTC)"]


@click.group()
def tokens() -> None:
    """Tokens with which programs use the dashboard's HTTP API: create, list and revoke them."""


@tokens.command("create")
@click.argument("label")
@click.option("--role", type=click.Choice(ROLES), default="viewer", show_default=True, help="What it may do.")
@click.option("--days", type=float, default=90, show_default=True, help="Days until the token expires.")
@click.option("--no-expiry", is_flag=True, help="The token works until it is revoked.")
def create_token(label: str, role: AccessRole, days: float, *, no_expiry: bool) -> None:
    """Create a token for the program called LABEL.

    The token is shown only once: the store keeps a hash of it.
    """
    made = open_workspace().tokens.create(label, role, days=None if no_expiry else days)
    say(made.secret)
    expires = made.token.expires
    until = f"until {expires:{MINUTE}} UTC" if expires else "until it is revoked"
    revoke = f"To revoke it: recdash tokens revoke {made.token.id[:ID_SHOWN]}"
    say(f"Gives the role {role} {until}. {revoke}", err=True)


@tokens.command("list")
@form_option
def list_tokens(form: str) -> None:
    """List the tokens: who created them, what they may do, and when they were last used."""
    facts = token_facts(open_workspace())
    if form == "json":
        say_json(facts)
        return
    rows = [
        [
            fact["id"][:ID_SHOWN],
            fact["label"],
            fact["role"],
            fact["state"],
            fact["until"] or "no expiry",
            fact["author"],
            fact["last_used"] or "never",
        ]
        for fact in facts
    ]
    say_lines(
        text_table([HEADER, *rows], len(HEADER))
        if rows
        else "No API tokens. Create one: recdash tokens create NAME"
    )


@tokens.command("revoke")
@click.argument("token_id")
def revoke_token(token_id: str) -> None:
    """Revoke a token for good. Give the beginning of its id as recdash tokens list shows it."""
    workspace = open_workspace()
    ids = [token.id for token in workspace.tokens.all()]
    matching = id_beginning(token_id, ids, "token", "recdash tokens list shows them.")
    workspace.tokens.revoke(matching)
    say(f"Revoked {matching[:ID_SHOWN]}.")


def token_facts(workspace: Workspace) -> list[dict[str, Any]]:
    """Returns the facts of each token, the newest first."""
    uses = workspace.tokens.last_uses()
    return [_facts(workspace, token, uses.get(token.id)) for token in workspace.tokens.all()]


def _facts(workspace: Workspace, token: ApiToken, used: Any) -> dict[str, Any]:
    return {
        "id": token.id,
        "label": token.label,
        "role": token.role,
        "state": workspace.tokens.state(token),
        "until": f"{token.expires:{MINUTE}}" if token.expires else None,
        "author": token.author,
        "last_used": f"{used:{MINUTE}}" if used else None,
    }
