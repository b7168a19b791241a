"""What a report says of users who all score as with the baseline: one statement in every place."""

from __future__ import annotations

from pathlib import Path

import pytest
from report_tables import HIDDEN, opened, rated_films

from recdash.formatting.tables import Interval, Word
from recdash.report.document import EQUAL_USERS_WORDING, WORDING, Answers, Document
from recdash.report.formats.registry import FORMS
from recdash.report.reports import Reports


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Document]:
    folder: Path = tmp_path_factory.mktemp("films")
    space = opened(folder)
    made = rated_films(space, HIDDEN)
    question = Reports(space).question(made, space.queries.of(made, metric="ndcg", k=3))
    return {
        wording: Reports(space).content(question, author="ann", wording=wording)
        for wording in (EQUAL_USERS_WORDING, WORDING)
    }


def known_users(document: Document) -> list[tuple[str, bool]]:
    """Returns the finding and whether there is an interval, of each row of als about known users."""
    rows = []
    for _, table in document.tables():
        for row in table.rows:
            words = [cell for cell in row if isinstance(cell, Word)]
            ends = [cell.low.value for cell in row if isinstance(cell, Interval)]
            is_als = "als" in table.title or any(
                document.names.get(getattr(cell, "run_id", "")) == "als" for cell in row
            )
            if is_als and words and "known users" in str(row[0]).lower():
                rows.append((words[0].word, ends[0] is not None))
    return rows


def test_they_are_equal_in_every_table(reports: dict[int, Document]) -> None:
    assert known_users(reports[WORDING]) == [("equal for every user", False)] * 2
    assert known_users(reports[EQUAL_USERS_WORDING]) == [("inconclusive", True)] * 2


def test_what_changes_the_recommendation_comes_first_and_says_to_what(reports: dict[int, Document]) -> None:
    (section,) = [section for section in reports[WORDING].sections if section.name == "changes"]
    assert section.title == "1 of 5 other questions would change the recommendation"
    (answers,) = [part for part in section.parts if isinstance(part, Answers)]
    first = answers.items[0]
    assert (first.question, first.answer, first.matters) == (
        "Only known users", "Changes: als is no better than popular (equal for every user, n = 30)", True,
    )  # fmt: skip


def signs(document: Document, word: str) -> set[str]:
    cells = [cell for _, table in document.tables() for row in table.rows for cell in row]
    return {cell.sign for cell in cells if isinstance(cell, Word) and cell.word == word}


def test_only_what_is_equal_has_the_sign_of_equality(reports: dict[int, Document]) -> None:
    assert signs(reports[WORDING], "equal for every user") == {"="}
    assert signs(reports[WORDING], "inconclusive") <= {"?"}
    assert signs(reports[EQUAL_USERS_WORDING], "inconclusive") == {"="}


@pytest.mark.parametrize("form", ["html", "md", "csv", "tex"])
def test_every_format_shows_it(reports: dict[int, Document], form: str) -> None:
    assert b"equal for every user" in FORMS[form].write(reports[WORDING])
