"""A damaged run closes its own numbers, not the pages of the others, which name it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from app_pages import Open, at_once, forget, lists, said, store, turn_to, warned

from recdash.errors import NotFound
from recdash.service import Workspace
from recdash.store.connections import sqlite_driver
from recdash.ui.app import cached, state
from recdash.ui.shell.navigation import EVERYTHING

open_page = at_once
Damage = Callable[[Path], object]
PAGES = [
    page
    for pages in EVERYTHING.values()
    for page in pages
    if page not in ("upload", "off_policy", "guide", "metric_library", "tokens")  # they show no run
]
NAMES = ("als", "ease", "knn")
CATALOGUE = pd.DataFrame({"item_id": [f"i{number}" for number in range(1, 21)], "genre": ["a", "b"] * 10})


@pytest.fixture
def ids(workspace: Workspace) -> dict[str, str]:
    return store(workspace, {name: lists(at) for at, name in enumerate(NAMES, 1)}, catalogue=CATALOGUE)


def own_files(workspace: Workspace, ids: dict[str, str], folder: Path, names: tuple[str, ...]) -> list[Path]:
    """The stored hits of these runs that no other run has."""
    held = {name: set(workspace.store.runs.get(ids[name]).hits.values()) for name in NAMES}
    others = set().union(*(held[name] for name in NAMES if name not in names))
    own = set().union(*(held[name] for name in names)) - others
    files = [file for file in (folder / "artifacts").rglob("*") if file.stem.split(".")[0] in own]
    assert files
    return files


def overwritten(file: Path) -> None:
    file.chmod(0o644)
    file.write_bytes(b"PAR1 and nothing else")


WITHOUT_RUNS = {*EVERYTHING["Online"], "settings"}
"""Pages that show an A/B test, which the experiment does not have, or rules."""


@pytest.mark.parametrize("damage", [pytest.param(Path.unlink, marks=pytest.mark.long), overwritten])
def test_a_run_whose_hits_are_lost_closes_no_page(
    workspace: Workspace, ids: dict[str, str], tmp_path: Path, open_page: Open, damage: Damage
) -> None:
    for file in own_files(workspace, ids, tmp_path, ("ease",)):
        damage(file)
    forget()
    app = open_page("overview", e=ids["films"])
    for page in PAGES:
        app = turn_to(app, page)
        assert not app.error, (page, app.error)
        text = " ".join([said(app), *(str(caption.value) for caption in app.caption)])
        assert "als" in text or page in WITHOUT_RUNS, page
        if page == "settings":
            assert "With these rules: Keep als" in said(app)
        if page not in ("runs", "experiments"):
            assert "ease is damaged and left out" in warned(app), page


def test_a_run_whose_upload_is_lost_is_left_out_only_where_lists_are_shown(
    workspace: Workspace, ids: dict[str, str], tmp_path: Path, open_page: Open
) -> None:
    upload = workspace.store.runs.get(ids["ease"]).upload
    assert upload is not None
    (file,) = (tmp_path / "artifacts").rglob(f"{upload}*")
    file.unlink()
    forget()
    app = open_page("users", e=ids["films"])
    for page in ("users", "definitions", "leaderboard"):
        app = app if page == "users" else turn_to(app, page)
        assert not app.error, (page, app.error)
        assert "als" in said(app), page
        assert ("ease is damaged and left out" in warned(app)) == (page != "leaderboard"), page
    assert "ease" in said(app)


def test_where_every_run_is_damaged_pages_name_them(
    workspace: Workspace, ids: dict[str, str], tmp_path: Path, open_page: Open
) -> None:
    for file in own_files(workspace, ids, tmp_path, NAMES):
        file.unlink()
    forget()
    for page in ("leaderboard", "ab_results"):
        app = open_page(page, e=ids["films"])
        assert [name for name in NAMES if f"{name} is damaged and left out" in warned(app)] == list(NAMES)


@pytest.mark.parametrize("what", ["files", "rows"])
def test_runs_that_are_all_damaged_are_called_neither_archived_nor_never_uploaded(
    workspace: Workspace, ids: dict[str, str], tmp_path: Path, open_page: Open, what: str
) -> None:
    if what == "files":
        for file in own_files(workspace, ids, tmp_path, NAMES):
            file.unlink()
    else:
        with sqlite_driver().connect(tmp_path / "recdash.db") as raw:
            raw.execute("UPDATE run SET ledger = replace(ledger, '20', '21')")
        raw.close()
    forget()
    text = said(open_page("leaderboard", e=ids["films"]))
    expected = {
        "files": "No run to show: 3 runs are damaged",
        "rows": "No run to show: stored data is damaged",
    }
    assert expected[what] in text
    assert "archived" not in text
    assert "no runs yet" not in text


def test_in_the_place_of_a_damaged_run_comes_the_next(
    workspace: Workspace, ids: dict[str, str], tmp_path: Path
) -> None:
    for file in own_files(workspace, ids, tmp_path, ("als",)):
        file.unlink()
    forget()
    whole = state.workspace()
    assert set(whole.runs.unreadable([ids[name] for name in NAMES])) == {ids["als"]}


def test_parts_that_are_drawn_beside_a_page_tell_an_error_in_words(
    ids: dict[str, str], open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_asked: object) -> None:
        raise NotFound("The file of the hits is not here.")

    monkeypatch.setattr(cached, "leaders_by_k", lost)
    app = open_page("metric_vs_k", e=ids["films"])
    assert any("The file of the hits is not here" in error.value for error in app.error)
