"""The app's pages without a browser: small lists to store, a page opened by its link, what it says."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest, app_test
from streamlit.util import calc_hash

from recdash.service import Workspace
from recdash.settings import settings
from recdash.ui.shell import navigation
from recdash.web.received_files import received_files

# Each AppTest looks through the files of all installed packages for components, which never change meanwhile.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
# Nor do the app's own scripts, which each run would compile anew.
app_test.ScriptCache = cache(app_test.ScriptCache)

ROOT = Path(__file__).resolve().parents[2]
Open = Callable[..., AppTest]
MadeOnce = Callable[[Callable[[Workspace], Any]], Any]
SESSION = "test session id"
"""The session of every AppTest."""
USERS = [f"u{number}" for number in range(1, 21)]
TRUTH = pd.DataFrame({"user_id": USERS, "item_id": [f"i{number}" for number in range(1, 21)]})


OF_A_STORE = ("RECDASH_DATABASE_URL", "RECDASH_ARTIFACTS")

# ── what is stored ───────────────────────────────────────────────────────────────────────────


def lists(hit_at: int, users: list[str] = USERS) -> pd.DataFrame:
    """Lists of three: the user's own item at ``hit_at``, strangers elsewhere."""
    rows = [
        (user, f"i{user[1:]}" if rank == hit_at else f"x{rank}", rank) for user in users for rank in (1, 2, 3)
    ]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])


def store(
    workspace: Workspace, runs: Mapping[str, Any], *, truth: Any = TRUTH, depth: int = 5, **tables: Any
) -> dict[str, str]:
    """Names → ids: the experiment films, and its runs; the first of them is the baseline.

    The items that miss are in no table: lists with misses alone are accepted.
    """
    made = workspace.experiments.create("films", truth, depth=depth, **tables)
    added = {
        name: workspace.runs.add(made.id, table, name=name, accept_unknown_ids=True)[0].run.id
        for name, table in runs.items()
    }
    return {"films": made.id, **added}


def forget() -> None:
    """No workspace, setting or cached number outlives a test."""
    settings.cache_clear()
    st.cache_data.clear()
    st.cache_resource.clear()


# ── a page ───────────────────────────────────────────────────────────────────────────────────


def shell(link: Mapping[str, str]) -> AppTest:
    """The app with a link's parameters, not yet run. Files that another app received are gone."""
    received_files.stop()
    app = AppTest.from_file(str(ROOT / "recdash/ui/shell/main.py"), default_timeout=300)
    for name, value in link.items():
        app.query_params[name] = value
    return app


def open_page(page: str = navigation.FIRST, **link: str) -> AppTest:
    """The page by its link as a browser opens it: no other page runs before it."""
    app = shell(link)
    if page != navigation.FIRST:
        app._page_hash = calc_hash(navigation.address(page))
    return passed(app.run())


@pytest.fixture
def at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Open:
    """``open_page`` for the tests of a module that says ``open_page = at_once``.

    Tests that read one store share the pages that they open, unless they patch the app.
    """
    if "made_once" not in request.fixturenames or "workspace" in request.fixturenames:
        return open_page
    stores = request.getfixturevalue("shared_stores")

    def show(page: str = navigation.FIRST, **link: str) -> AppTest:
        if monkeypatch._setattr or any(name not in OF_A_STORE for _, name, _ in monkeypatch._setitem):
            return open_page(page, **link)
        key = stores.in_use, page, *sorted(link.items())
        app, tree = stores.opened.get(key, (None, None))
        if app is None or app._tree is not tree:  # a test has run it on
            app = open_page(page, **link)
            stores.opened[key] = app, app._tree
        return app

    return show


def turn_to(app: AppTest, page: str) -> AppTest:
    return passed(app.switch_page(str(ROOT / "pages" / f"{page}.py")).run())


def passed(app: AppTest) -> AppTest:
    assert not app.exception, app.exception
    return app


def press(app: AppTest, label: str) -> AppTest:
    return passed(next(button for button in app.button if button.label == label).click().run())


def opened(app: AppTest, key: str) -> AppTest:
    """Opens the expander of this key, whose content is drawn only then."""
    app.session_state[key] = True
    return passed(app.run())


def file_zones(app: AppTest) -> list[str]:
    """The places of the page where files can be dropped."""
    parts = [element.proto for element in app.get("bidi_component")]
    return [json.loads(part.json)["zone"] for part in parts if part.component_name == "recdash.file_zone"]


def put(app: AppTest, zone: str, name: str, data: bytes) -> None:
    """Has a file arrive in a place of the page, as the routes do it; the next run shows it."""
    assert zone in file_zones(app)
    file = received_files.begin(SESSION, "ada", zone, name, len(data), settings())
    file.append(data, file.take_over())


def drop(app: AppTest, **files: bytes) -> AppTest:
    """Drops files on the page Add data, in place of those that were there; their names are given with ``__``
    for the dot, as ``als__csv=…``.
    """
    (zone,) = file_zones(app)
    received_files.clear(SESSION, zone)
    for name, data in files.items():
        put(app, zone, name.replace("__", "."), data)
    return passed(app.run())


def finish(app: AppTest, label: str) -> AppTest:
    """Presses the button that evaluates, and waits until all is stored or refused."""
    press(app, label)
    while app.session_state["recdash.upload"].job is not None:
        passed(app.run())
    return app


# ── what it says ─────────────────────────────────────────────────────────────────────────────


def markup(app: AppTest) -> str:
    """All HTML of the page, as it is written."""
    return " ".join(str(element.proto.body) for element in app.get("html"))


def said(app: AppTest) -> str:
    """All HTML of the page, as a person reads it."""
    return _plain(_bodies(app))


def seen(app: AppTest) -> str:
    """All HTML of the page, as a person reads it in a wide window: cells do not repeat their column's
    title.
    """
    title = r'<i class="rd-label">(?:<i [^>]*></i>|(?!</?i\b).)*</i>'  # a run's title holds its mark
    return _plain(re.sub(title, "", body) for body in _bodies(app))


def _bodies(app: AppTest) -> list[str]:
    return [str(element.proto.body) for element in app.get("html") if "<style>" not in element.proto.body]


def _plain(bodies: Iterable[str]) -> str:
    plain = [html.unescape(re.sub(r"<[^>]+>", " ", body)) for body in bodies]
    return re.sub(r"\s+", " ", " ".join(plain))


def warned(app: AppTest) -> str:
    return " ".join(str(one.value).replace("\\", "") for one in app.warning)


def link(app: AppTest) -> dict[str, str]:
    return {name: value if isinstance(value, str) else value[0] for name, value in app.query_params.items()}
