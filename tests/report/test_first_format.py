"""Reports of the first format, which open with the offline verdict: read, shown and checked as they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from report_tables import ANN, altered, asked, copied, opened, recomputed_once

from recdash.report.document import FIRST_FORMAT
from recdash.report.formats.html import to_html
from recdash.report.reproduce.read_file import read_report
from recdash.report.reproduce.reproduce import reproduction
from recdash.service import Workspace

BEFORE = Path(__file__).parent / "before"
"""The same report as HTML and JSON, written by the last recdash that had the first format alone."""


@pytest.fixture(scope="module")
def space(films_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """The films, with the decision that stands in the report."""
    opened_store = opened(copied(films_folder, tmp_path_factory.mktemp("films"))).store
    space = Workspace(opened_store, person=ANN, clock=lambda: datetime(2026, 4, 1, 9, 30, tzinfo=UTC))
    question = asked(space)
    space.decisions.decide(
        question.experiment, "ship", run_id=question.query.runs[0], text="Clear on both sides."
    )
    with recomputed_once({}):
        yield space


@pytest.fixture
def changed(tmp_path: Path) -> Callable[[str, str, str], Path]:
    """One of the files with one text in place of another."""
    return lambda name, old, new: altered(BEFORE / name, old, new, tmp_path)


@pytest.mark.parametrize("name", ["report.json", "report.html"])
def test_it_is_confirmed(space: Workspace, name: str) -> None:
    checked = reproduction(space, BEFORE / name)
    assert checked.holds, checked.text
    assert checked.checked.numbers > 300


def test_what_would_change_it_is_checked_by_the_rules_of_its_time(
    space: Workspace, changed: Callable[[str, str, str], Path]
) -> None:
    """The file says that recall, another gain and other users all say: ship als."""
    sections = json.loads((BEFORE / "report.json").read_text("utf-8"))["sections"]
    (section,) = [section for section in sections if section["name"] == "changes"]
    assert [item["answer"] for item in section["parts"][0]["items"]] == ["Nothing: ship als"] * 3
    checked = reproduction(space, changed("report.json", '"Nothing: ship als"', '"Nothing: ship ease"'))
    assert [change.said for change in checked.checked.changes] == ["“Nothing: ship ease”"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Clear on both sides.", "Clear to all of us."),
        ("by ann on", "by mallory on"),
        (": ann, ", ": mallory, "),
    ],
)
def test_what_people_wrote_has_no_other_wording(
    space: Workspace, changed: Callable[[str, str, str], Path], old: str, new: str
) -> None:
    found = reproduction(space, changed("report.json", old, new))
    assert not found.holds
    assert new in found.text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (">0.815<", ">0.915<"),
        ("data-n>Ship als</h1>", "data-n>Ship ease</h1>"),
        pytest.param(">als</tspan>", ">ease</tspan>", id="text in a chart"),
        pytest.param("</svg></div>", "<image href='x'></image></svg></div>", id="picture in a chart"),
        pytest.param('class="chart"><', 'class="chart" hidden><', id="hidden chart"),
    ],
)
def test_a_page_that_shows_something_else_is_not_confirmed(
    space: Workspace, changed: Callable[[str, str, str], Path], old: str, new: str
) -> None:
    assert reproduction(space, changed("report.html", old, new)).page_difference


def test_it_is_shown_in_its_own_layout() -> None:
    document = read_report(BEFORE / "report.json").document
    assert document.format == FIRST_FORMAT
    page = to_html(document)
    assert "Skip to the verdict" in page
    assert "Appendix" not in page
