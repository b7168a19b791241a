"""While the browser loads its scripts, the server loads what the first page will need."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from recdash.service import Workspace
from recdash.ui.shell import warm_up


def test_an_empty_store_loads_what_the_demo_needs(workspace: Workspace) -> None:
    assert set(warm_up.wanted(workspace)) == {*warm_up.FIRST_PAGE, *warm_up.AB_TESTS, *warm_up.DEMO}


def test_a_store_with_an_ab_test_loads_its_statistics(with_demo: Path, workspace: Workspace) -> None:
    assert with_demo.exists()
    assert set(warm_up.wanted(workspace)) == {*warm_up.FIRST_PAGE, *warm_up.AB_TESTS}


def test_a_store_without_an_ab_test_does_without_them(workspace: Workspace) -> None:
    workspace.experiments.create("books", {"user_id": ["u"], "item_id": ["i"]})
    assert set(warm_up.wanted(workspace)) == set(warm_up.FIRST_PAGE)


def test_every_module_to_load_exists() -> None:
    assert all(find_spec(module) for module in (*warm_up.FIRST_PAGE, *warm_up.AB_TESTS, *warm_up.DEMO))
