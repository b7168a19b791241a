"""The page API tokens: a token is shown once, listed with its last use, and revoked."""

from __future__ import annotations

from functools import partial

import pytest
from app_pages import Open, at_once, press, said

from recdash.domain.access import Person
from recdash.service import Workspace
from recdash.ui.app import current_user

open_page = at_once


@pytest.fixture
def shown(open_page: Open) -> Open:
    return partial(open_page, "tokens")


def test_a_token_is_created_shown_once_and_revoked(workspace: Workspace, shown: Open) -> None:
    app = shown()
    assert "No program has a token" in said(app)
    app.text_input[0].set_value("nightly")
    app.selectbox[0].set_value("editor")
    app = press(app, "Create token")
    (token,) = workspace.tokens.all()
    assert (token.label, token.role) == ("nightly", "editor")
    secret = app.code[0].value
    assert workspace.tokens.check(secret) == token
    app = press(app, "Done")
    assert not app.code
    assert "1 token in use by programs" in said(app)
    assert "never used" in said(app)
    workspace.tokens.note_use(token)
    app = press(app, "Revoke")
    assert workspace.tokens.state(workspace.tokens.all()[0]) == "revoked"
    assert "No token in use by programs" in said(shown())


def test_tokens_in_use_come_before_those_revoked(workspace: Workspace, shown: Open) -> None:
    first, second = (workspace.tokens.create(label, "viewer").token for label in ("first", "second"))
    workspace.tokens.revoke(second.id)
    text = said(shown())
    assert text.index("first") < text.index("second")
    workspace.tokens.revoke(first.id)
    third = workspace.tokens.create("third", "viewer").token
    text = said(shown())
    assert text.index(third.label) < min(text.index("first"), text.index("second"))


def test_a_token_without_a_name_is_refused(workspace: Workspace, shown: Open) -> None:
    app = press(shown(), "Create token")
    assert any("Name the program that will use it" in str(error.value) for error in app.error)
    assert workspace.tokens.all() == []


def test_the_page_is_for_admins(shown: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(current_user, "person", lambda: Person("eve", "editor"))
    assert "Create token" not in [button.label for button in shown().button]
