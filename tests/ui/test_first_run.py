"""The first steps: the demo, its verdict, one's own files; templates and lines that work as they stand."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from app_pages import TRUTH, Open, lists, passed, press, said, shell, turn_to, warned

from recdash import ingest
from recdash.domain.access import Person
from recdash.domain.records import Experiment
from recdash.service import Workspace
from recdash.service.catalog.demo import DemoExperiment
from recdash.ui.app import current_user
from recdash.ui.components.templates import TEMPLATES
from recdash.ui.shell import first_run
from recdash.ui.shell.first_run import ANOTHER_RUN, FILES, GROUPS, THREE_LINES, zipped

FORMATS = {
    "recommendations": ["run"], "truth": ["truth"], "train": ["train"], "catalogue": ["catalogue"],
    "users": ["users"], "item vectors, item similarities": ["vectors", "similarity"],
    "rating predictions": ["predictions"], "sessions of an A/B test": ["sessions"],
    "or exposures and events": ["exposures", "events"], "served lists, with events": ["served"],
    "or one row per user": ["sessions"], "or aggregates": ["aggregates"],
    "an interleaving test": ["interleaving"], "logged bandit feedback": ["bandit"],
}  # fmt: skip
"""What the table of docs/formats.md lists, and the templates of it."""


@pytest.fixture
def demo(workspace: Workspace) -> Workspace:
    """A store whose only experiment is a demo of two runs."""
    made = workspace.experiments.create("Demo", TRUTH, depth=5, demo=True)
    for name, at in (("poor", 9), ("best", 1)):
        workspace.runs.add(made.id, lists(at), name=name, accept_unknown_ids=True)
    return workspace


# ── first steps ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize("page", ["overview", "experiments"])
def test_nothing_yet_shows_two_ways_to_begin_with_a_button_each(open_page: Open, page: str) -> None:
    app = open_page(page)
    assert re.search(r"Which recommender should you ship\? .* Add your own data .* Load the demo", said(app))
    buttons = [(element.label, element.disabled) for element in app.button]
    assert buttons == [("Add data", False), ("Load the demo", False)]
    assert "recdash.evaluate" in app.code[0].value


def test_loading_the_demo_leads_to_its_verdict_and_the_strip_says_what_is_next(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small(*_: object, **__: object) -> Experiment:
        return workspace.experiments.create("Demo", TRUTH, depth=5, demo=True)

    monkeypatch.setattr(DemoExperiment, "load", small)
    app = turn_to(passed(shell({}).run()), "leaderboard")
    press(app, "Load the demo")
    assert workspace.demo.exists()
    assert "This experiment has no runs yet" in said(app)  # the small stand-in has none


@pytest.mark.usefixtures("demo")
def test_the_strip_shows_how_far_one_is(open_page: Open) -> None:
    app = open_page()
    assert (
        "You are looking at the demo ✓ Load the demo → ✓ Read the recommendation → 3 Add your own data"
        in said(app)
    )
    assert "Add your own data" in [button.label for button in app.button]


@pytest.mark.parametrize(("cookies", "read"), [({}, False), ({"recdash-demo-read": "yes"}, True)])
def test_reading_is_remembered_beyond_the_session(
    monkeypatch: pytest.MonkeyPatch, cookies: dict[str, str], *, read: bool
) -> None:
    monkeypatch.setattr("streamlit.session_state", {})
    monkeypatch.setattr("streamlit.context", SimpleNamespace(cookies=cookies))
    assert first_run.was_read() is read


@pytest.mark.usefixtures("demo")
def test_the_strip_can_be_dismissed(open_page: Open) -> None:
    app = press(open_page(), "Dismiss")
    assert "You are looking at the demo" not in said(app)


def test_the_strip_is_gone_once_own_data_is_there(demo: Workspace, open_page: Open) -> None:
    first = next(experiment for experiment in demo.experiments.all() if experiment.demo)
    demo.experiments.create("songs", TRUTH, depth=3)
    assert "You are looking at the demo" not in said(open_page(e=first.id))


def test_readers_are_not_asked_to_upload(
    demo: Workspace, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current_user, "person", lambda: Person("vera", "viewer"))
    assert "You are looking at the demo" not in said(open_page())
    demo.demo.remove()
    app = open_page()
    assert "An editor adds" in said(app)
    assert not app.button


@pytest.mark.usefixtures("workspace")
def test_a_link_to_an_experiment_that_is_gone_says_so_on_the_start_page(open_page: Open) -> None:
    assert 'Experiment "gone" isn\'t available here' in warned(open_page(e="gone"))
    assert not open_page().warning


# ── files and lines to start from ────────────────────────────────────────────────────────────


def test_the_three_lines_run_on_their_files_and_say_whom_to_ship(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    ran = subprocess.run(
        [sys.executable, "-c", THREE_LINES], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "Keep popular. als does not beat popular: its nDCG@10 is" in ran.stdout


def test_they_are_three_lines_and_read_no_other_file() -> None:
    assert len(THREE_LINES.splitlines()) == 3
    assert set(re.findall(r'"([\w-]+\.csv)"', THREE_LINES)) == set(FILES)
    assert FILES["als.csv"] == TEMPLATES["run"].text
    assert FILES["truth.csv"] == TEMPLATES["truth"].text
    assert not ingest.preview("run", ANOTHER_RUN.encode(), name="popular.csv").problems


def test_every_table_has_a_template_to_download_once() -> None:
    assert sorted(kind for kinds in GROUPS.values() for kind in kinds) == sorted(TEMPLATES)


@pytest.mark.parametrize("kind", TEMPLATES)
def test_each_template_is_read_as_it_stands(kind: str) -> None:
    template = TEMPLATES[kind]
    found = ingest.preview(kind, template.text.encode(), name=template.file_name)  # type: ignore[arg-type]
    assert not found.problems


def test_every_format_of_the_docs_has_its_template(root: Path) -> None:
    page = (root / "docs" / "formats.md").read_text()
    rows = page[page.index("| table |") :].partition("\n\n")[0].splitlines()[2:]
    told = {row.split("|")[1].strip() for row in rows}
    assert told == set(FORMATS)
    assert {kind for kinds in FORMATS.values() for kind in kinds} | {"policy"} == set(TEMPLATES)


@pytest.mark.usefixtures("workspace")
def test_all_templates_come_in_one_file_too(open_page: Open) -> None:
    labels = [button.proto.label for button in open_page().get("download_button")]
    assert len([label for label in labels if label.startswith("↓ Template")]) == len(TEMPLATES)
    assert "↓ All of them as a zip file" in labels
    with zipfile.ZipFile(io.BytesIO(zipped(FILES))) as archive:
        assert {name: archive.read(name).decode() for name in archive.namelist()} == FILES


@pytest.mark.usefixtures("workspace")
def test_the_guide_hands_out_the_template_of_each_table(open_page: Open) -> None:
    app = open_page("guide", chapter="tables")
    labels = [button.proto.label for button in app.get("download_button")]
    assert labels == [f"↓ Template: {template.title.lower()}" for template in TEMPLATES.values()]
