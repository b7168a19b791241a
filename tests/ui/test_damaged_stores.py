"""Damaged, locked and moved files of twelve kinds: a page and the terminal name each, no number is wrong."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest
from app_pages import Open, at_once, forget, lists, said, store, warned
from click.testing import CliRunner

from recdash.cli import main
from recdash.service import Workspace, context
from recdash.store import connections, open_store
from recdash.store.connections import sqlite_driver

open_page = at_once
NAMES = ("als", "ease", "knn")


@dataclass(frozen=True)
class Stored:
    """A store of three runs, of which one is to be damaged."""

    folder: Path
    ids: dict[str, str]
    workspace: Workspace

    @property
    def database(self) -> Path:
        return self.folder / "recdash.db"

    def file_of_ease(self) -> Path:
        """Returns the file of the hits of its lists."""
        hits = self.workspace.store.runs.get(self.ids["ease"]).hits
        (file,) = (self.folder / "artifacts").rglob(f"{hits['hits']}.*")
        return file

    def change(self, statement: str) -> None:
        with sqlite_driver().connect(self.database) as raw:
            assert raw.execute(statement, (self.ids["ease"],)).rowcount > 0
        raw.close()


def close_and_forget(stored: Stored) -> None:
    """Closes the store, as a restart does, so that all is in its file."""
    stored.workspace.store.close()
    forget()


def moved_away(stored: Stored) -> None:
    stored.database.rename(stored.folder / "moved.db")


def replaced(stored: Stored) -> None:
    """An empty store takes its place."""
    stored.workspace.store._transactions.database.truncate_wal()  # type: ignore[attr-defined]
    other = stored.folder / "other.db"
    open_store(f"sqlite:///{other}", stored.folder / "others").close()
    with sqlite_driver().connect(other) as raw:
        raw.execute("UPDATE store SET id = ?", ("0" * 32,))  # new databases of tests are copies of one
    raw.close()
    other.replace(stored.database)


def cut_short(stored: Stored) -> None:
    close_and_forget(stored)
    with stored.database.open("r+b") as file:
        file.truncate(4096 * 3)


def overwritten(stored: Stored) -> None:
    close_and_forget(stored)
    stored.database.write_text("user_id,item_id\n" * 1000)


def a_folder(stored: Stored) -> None:
    close_and_forget(stored)
    stored.database.unlink()
    stored.database.mkdir()


def row_changed(stored: Stored) -> None:
    stored.change("UPDATE run SET ledger = replace(ledger, '20', '21') WHERE id = ?")


def curve_changed(stored: Stored) -> None:
    stored.change("UPDATE curve SET value = zeroblob(length(value)) WHERE run = ?")


def file_lost(stored: Stored) -> None:
    stored.file_of_ease().unlink()


def file_changed(stored: Stored) -> None:
    file = stored.file_of_ease()
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def file_is_link(stored: Stored) -> None:
    file = stored.file_of_ease()
    file.symlink_to(file.rename(stored.folder / "elsewhere"))


def files_moved(stored: Stored) -> None:
    (stored.folder / "artifacts").rename(stored.folder / "artifacts elsewhere")


HOLD = """
import sys
from recdash.store.connections import sqlite_driver
held = sqlite_driver().connect(sys.argv[1], isolation_level=None)
held.execute("PRAGMA locking_mode=EXCLUSIVE").fetchall()
held.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def locked_while(stored: Stored) -> Iterator[None]:
    """Another program has the database for itself."""
    command = [sys.executable, "-c", HOLD, str(stored.database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield
        holder.communicate()


# ── what both say ────────────────────────────────────────────────────────────────────────────

LOST = "is new or empty, but .* holds .* files of another store"
CUT = "nothing was changed: .*malformed. Restore it from a backup"
NO_DATABASE = "nothing was changed: file is not a database. Restore it from a backup"
FOLDER, LOCKED = "cannot be opened: Is a directory", "was locked by other writers for too long"
KINDS: dict[str, tuple[Callable[[Stored], object], str, str]] = {
    "database moved away": (moved_away, "is gone. Put it back", LOST),
    "database replaced": (replaced, "was replaced while it was open. Restart recdash", LOST),
    "database cut short": (cut_short, CUT, CUT),
    "database overwritten": (overwritten, NO_DATABASE, NO_DATABASE),
    "folder for a database": (a_folder, FOLDER, FOLDER),
    "database locked": (close_and_forget, LOCKED, LOCKED),
    "row changed": (row_changed, "run 'ease': damaged", "run 'ease'.*: damaged"),
    "curve changed": (curve_changed, r"nDCG.* \(ease\): damaged", "ndcg of run 'ease': damaged"),
    "file lost": (file_lost, "ease is damaged and left out: .* is missing", "run 'ease'.* is missing"),
    "file changed": (
        file_changed,
        "ease is damaged and left out: .*hash has changed",
        "run 'ease'.*hash has",
    ),
    "link for a file": (
        file_is_link,
        "ease is damaged and left out: .*not a regular",
        "run 'ease'.*not a reg",
    ),
    "files moved away": (files_moved, "ease is damaged and left out", "run 'ease'.* is missing"),
}
"""What happens to a store, what a page says of it, and what ``recdash check`` says."""
OF_AN_OPEN_DASHBOARD = (moved_away, replaced)
WHILE_OPEN = (
    "row changed", "curve changed", "file lost", "file changed", "link for a file", "files moved away"
)  # fmt: skip
"""Damage that an open dashboard meets without a restart, with its numbers in the caches of pages."""
SCORE = re.compile(rf"\b({'|'.join(NAMES)}) (\d\.\d+)")


@pytest.fixture
def stored(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stored:
    for name in ("READER_BUSY_SECONDS", "WRITER_BUSY_SECONDS"):
        monkeypatch.setattr(connections, name, 0.01)
    ids = store(workspace, {name: lists(at) for at, name in enumerate(NAMES, 1)})
    return Stored(tmp_path, ids, workspace)


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_and_the_terminal_name_the_damage_and_show_no_wrong_number(
    stored: Stored, open_page: Open, kind: str
) -> None:
    damage, on_page, in_terminal = KINDS[kind]
    scores = dict(SCORE.findall(said(open_page("leaderboard", e=stored.ids["films"]))))
    assert scores == {"als": "1.00", "ease": "0.63", "knn": "0.50"}
    damage(stored)
    with locked_while(stored) if kind == "database locked" else nullcontext():
        if damage not in OF_AN_OPEN_DASHBOARD:
            forget()
        app = open_page("leaderboard", e=stored.ids["films"])
        shown = " ".join([said(app), warned(app), *(error.value for error in app.error)]).replace("\\", "")
        assert re.search(on_page, shown), shown
        assert {*SCORE.findall(said(app))} <= {*scores.items()}
        forget()
        checked = CliRunner().invoke(main, ["check"])
        question = ["--experiment", "films", "--baseline", "als", "--run", "ease", "--metric", "ndcg@3"]
        compared = CliRunner().invoke(main, ["compare", *question])
    assert (checked.exit_code, compared.exit_code) == (1, 2)
    assert re.search(in_terminal, checked.output), checked.output
    assert "Traceback" not in checked.output + compared.output
    assert not re.search(r"worse|better|\d %", compared.output), compared.output


@pytest.mark.parametrize("kind", WHILE_OPEN)
def test_an_open_page_names_damage_at_its_next_look_and_shows_none_of_its_numbers(
    stored: Stored, open_page: Open, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Nothing restarts, and the answers of all pages are cached."""
    monkeypatch.setattr(context, "LOOK_SECONDS", 0.0)
    damage, on_page, _ = KINDS[kind]
    assert dict(SCORE.findall(said(open_page("leaderboard", e=stored.ids["films"]))))["ease"] == "0.63"
    damage(stored)
    app = open_page("leaderboard", e=stored.ids["films"])
    shown = " ".join([said(app), warned(app), *(error.value for error in app.error)]).replace("\\", "")
    assert re.search(on_page, shown), shown
    assert "ease" not in dict(SCORE.findall(said(app)))
