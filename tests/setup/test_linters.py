"""The linters and import contracts, as tests: `make lint` runs this file, `make test` this and the rest."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

OURS = (".", "app", "pages", "recdash")
BIN = Path(sys.executable).parent
LINTERS = {
    "ruff": ["ruff", "check", "--no-fix", "."],
    "ruff's format": ["ruff", "format", "--check", "--quiet", "."],
    "mypy": ["mypy"],
    "import contracts": ["lint-imports", "--no-cache"],
    "deptry": ["deptry", "."],
    "codespell": ["codespell"],
    "hadolint": ["hadolint", "Dockerfile"],
    "shellcheck": ["shellcheck", ".ci/environment", ".ci/run"],
}


@pytest.mark.parametrize("name", LINTERS)
def test_linter_has_nothing_to_say(name: str, root: Path) -> None:
    tool, *arguments = LINTERS[name]
    found = subprocess.run([BIN / tool, *arguments], cwd=root, capture_output=True, text=True, check=False)
    if found.returncode != 0:
        pytest.fail(f"{name}:\n{found.stdout}{found.stderr}", pytrace=False)


def modules_imported_by(path: Path) -> set[str]:
    """Dotted names of everything imported anywhere in a file, relative imports as they are written."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add("." * node.level + (node.module or ""))
    return names


# import-linter sees packages that are named in its contracts; these are a script, folders of pages, which
# nothing names twice, and a folder of loose files.


def test_the_launcher_imports_streamlit_the_ui_and_the_door_only(root: Path) -> None:
    ours = {name for name in modules_imported_by(root / "app.py") if name.startswith(OURS)}
    assert {name for name in ours if not name.startswith(("recdash.ui", "recdash.web"))} == set()


def test_folders_of_pages_import_what_they_share_and_nothing_of_each_other(root: Path) -> None:
    ui, shared = root / "recdash/ui", {"app", "components", "sharing"}
    crossing = set()
    for path in ui.rglob("*.py"):
        own = path.relative_to(ui).parts[0]
        names = {
            name.removeprefix("recdash.ui") for name in modules_imported_by(path) if "recdash.ui" in name
        }
        crossing |= {
            f"{path.name}: recdash.ui{name}" for name in names if name[1:].split(".")[0] not in {own, *shared}
        }
    assert crossing == set()


def test_migrations_import_nothing_of_ours(root: Path) -> None:
    migrations = sorted((root / "recdash/store/migrations").rglob("*.py"))
    ours = {
        f"{path.name}: {name}"
        for path in migrations
        for name in modules_imported_by(path)
        if name.startswith(OURS)
    }
    assert migrations
    assert ours == set()
