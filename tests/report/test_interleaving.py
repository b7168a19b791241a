"""Interleaving tests in reports: beside offline and A/B results, with the same numbers, also again."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from interleaved_tables import team_draft

import recdash
from recdash.formatting.tables import Interval, Number, RunName, Table, shown
from recdash.online.interleaving.wording import MOST_DAYS
from recdash.report.document import Document, Paragraph, Section
from recdash.report.formats.registry import FORMS
from recdash.report.reports import Reports
from recdash.report.reproduce.recompute import changed_settings
from recdash.report.reproduce.reproduce import reproduction
from recdash.service import Workspace

USERS = [f"u{number:04d}" for number in range(60)]
TRUTH = pd.DataFrame({"user_id": USERS, "item_id": ["a", "b"] * 30})
POPULAR = pd.DataFrame(
    {"user_id": USERS * 2, "item_id": ["a"] * 60 + ["b"] * 60, "rank": [1] * 60 + [2] * 60}
)
ALS = pd.DataFrame({"user_id": USERS, "item_id": TRUTH["item_id"], "rank": 1})


@pytest.fixture
def films(workspace: Workspace) -> str:
    """An experiment with an A/B test and an interleaving test of the same two runs."""
    made = workspace.experiments.create("films", TRUTH, depth=2)
    popular = workspace.runs.add(made.id, POPULAR, name="popular")[0].run
    als = workspace.runs.add(made.id, ALS, name="ALS v3")[0].run
    workspace.experiments.set_baseline(made.id, popular.id)
    links = {"popular": popular.id, "als": als.id}
    workspace.interleaving.add(made.id, "May", team_draft(lean=0.5), control="popular", links=links)
    variant = np.repeat(["control", "new"], 500)
    orders = np.random.default_rng(0).poisson(np.where(variant == "new", 1.6, 1.0))
    table = {"user_id": [f"v{n}" for n in range(1000)], "variant": variant, "orders": orders}
    links = {"control": popular.id, "new": als.id}
    logs = {"sessions": pd.DataFrame(table)}
    workspace.online_tests.add(made.id, "June", logs, control="control", links=links)
    return made.id


def told(workspace: Workspace, experiment_id: str) -> Document:
    reports = Reports(workspace)
    return reports.content(reports.question(experiment_id))


def section(document: Document) -> Section:
    return next(section for section in document.sections if section.name == "interleaving")


def test_it_says_whom_users_prefer_beside_offline_and_the_ab_test(workspace: Workspace, films: str) -> None:
    made = section(told(workspace, films))
    results = workspace.interleaving.results(workspace.interleaving.named(films).id)
    assert made.title == "Interleaved, users prefer ALS v3 to popular"
    preference, pair = (part for part in made.parts if isinstance(part, Table))
    row = results.preference
    _, share, interval, p, *_ = preference.rows[0]
    assert isinstance(share, Number)
    assert isinstance(interval, Interval)
    assert isinstance(p, Number)
    assert (share.value, interval.low.value, interval.high.value, p.value) == (
        row.share, row.low, row.high, row.p,
    )  # fmt: skip
    assert [line[0] for line in pair.rows] == ["Offline, nDCG@2", "Interleaved, May", "June, orders"]
    assert all(isinstance(cell, RunName) for line in pair.rows for cell in line[1:3])
    offline, interleaved, lift = (line[3] for line in pair.rows)
    assert isinstance(offline, Number)
    assert isinstance(interleaved, Number)
    assert isinstance(lift, Number)
    # als has the only relevant item first; popular has it first for half of the users, second for the rest
    assert offline.value == pytest.approx((1 - 1 / np.log2(3)) / 2)
    assert interleaved.value == row.share
    stored = workspace.online_tests.named(films).results
    assert lift.value == next(line["lift"] for line in stored if line["metric"] == "orders" and line["lift"])


def test_uneven_teams_are_told(workspace: Workspace, films: str) -> None:
    frame = team_draft(lean=1.0)
    frame["team"] = np.where(frame["rank"] % 2 == 1, "als", "popular")
    workspace.interleaving.add(films, "August", frame, control="popular")
    made = section(told(workspace, films))
    assert made.title == "Interleaved, als against popular: no verdict, the teams are uneven"
    warning = next(part for part in made.parts if isinstance(part, Paragraph) and part.tone == "worse")
    assert "came first in" in warning.text


def parted(seed: int = 0) -> pd.DataFrame:
    """A team draft of two countries, of requests on three days."""
    frame = team_draft(lean=0.5, seed=seed)
    request = frame["request_id"].str[1:].astype(int)
    days = [f"2026-03-{2 + number % 3:02d}T10:00:00Z" for number in request]
    return frame.assign(country=np.where(request % 2 == 0, "PT", "SE"), timestamp=days)


def amounts(cell: object) -> float | None:
    assert isinstance(cell, Number)
    return cell.value


def test_it_has_the_preference_by_segment_and_by_day(workspace: Workspace, films: str) -> None:
    """With the numbers of Python; another interleaving test without the columns has no such tables."""
    workspace.interleaving.add(films, "July", parted(), control="popular")
    tables = {part.title: part for part in section(told(workspace, films)).parts if isinstance(part, Table)}
    assert {title for title in tables if " by " in title} == {
        "July: preference for als by country", "July: preference for als by day",
    }  # fmt: skip
    results = recdash.interleaving(parted(), control="popular")
    by_country = tables["July: preference for als by country"]
    expected = results.segments("country").table()
    assert [line[0] for line in by_country.rows] == ["PT", "SE"] == expected["segment"].to_list()
    for line, row in zip(by_country.rows, expected.itertuples(), strict=True):
        interval = line[2]
        assert isinstance(interval, Interval)
        read = [amounts(cell) for cell in (line[1], interval.low, interval.high, line[3], line[5], line[6])]
        assert read == [
            row.preference, row.corrected_low, row.corrected_high, row.p_bh, row.n_users, row.n_requests,
        ]  # fmt: skip
    by_day = tables["July: preference for als by day"]
    days = results.days("daily").table()
    assert [line[0] for line in by_day.rows] == ["2 March 2026", "3 March 2026", "4 March 2026"]
    assert [amounts(line[1]) for line in by_day.rows] == days["preference"].to_list()
    # 3 · .05 is less than one day
    assert by_day.note == "Each day alone, not corrected over the days."


def test_uneven_teams_are_judged_in_no_segment(workspace: Workspace, films: str) -> None:
    frame = parted()
    frame["team"] = np.where(frame["rank"] % 2 == 1, "als", "popular")
    workspace.interleaving.add(films, "August", frame, control="popular")
    parts = section(told(workspace, films)).parts
    by_country = next(part for part in parts if isinstance(part, Table) and part.title.endswith("by country"))
    assert [shown(line[4], {}) for line in by_country.rows] == ["! not judged", "! not judged"]


def test_of_many_days_the_last_are_shown(workspace: Workspace, films: str) -> None:
    """40 days: 40 · .05 are 2."""
    frame = parted()
    request = frame["request_id"].str[1:].astype(int)
    day = pd.Timestamp("2026-03-01", tz="UTC") + pd.to_timedelta(request % 40, unit="D")
    workspace.interleaving.add(films, "July", frame.assign(timestamp=day), control="popular")
    parts = section(told(workspace, films)).parts
    by_day = next(part for part in parts if isinstance(part, Table) and part.title.endswith("by day"))
    assert (len(by_day.rows), by_day.rows[-1][0]) == (MOST_DAYS, "9 April 2026")
    assert by_day.note.startswith("The last 31 of 40 days. ")
    assert by_day.note.endswith("Of 40 days, about 2 would exclude 50 % by chance.")


@pytest.mark.parametrize("form", ["html", "md"])
def test_segments_and_days_are_in_every_form(workspace: Workspace, films: str, form: str) -> None:
    workspace.interleaving.add(films, "July", parted(), control="popular")
    text = FORMS[form].write(told(workspace, films)).decode()
    assert "July: preference for als by country" in text
    assert "4 March 2026" in text


def test_a_report_without_the_section_or_before_the_test_does_not_name_it(
    workspace: Workspace, films: str
) -> None:
    reports, test = Reports(workspace), workspace.interleaving.named(films)
    question = reports.question(films)
    without = reports.content(question, ("online",))
    earlier = reports.content(question, moment=test.created - timedelta(seconds=1))
    for document in (without, earlier):
        assert all(section.name != "interleaving" for section in document.sections)
        assert [facts["name"] for facts in document.provenance["tests"]] == ["June"]


@pytest.mark.parametrize("form", ["html", "json"])
def test_it_is_computed_again_from_its_upload(
    workspace: Workspace, films: str, tmp_path: Path, form: str
) -> None:
    document, file = told(workspace, films), tmp_path / f"report.{form}"
    file.write_bytes(FORMS[form].write(document))
    test = workspace.interleaving.named(films)
    assert reproduction(workspace, file).outcome == "confirmed"
    workspace.interleaving.set_control(test.id, "als")
    assert reproduction(workspace, file).outcome == "confirmed"
    ((_, words),) = changed_settings(workspace, document)
    assert words == "of the interleaving test 'May' the report has other control than the store today"
    wrong = file.read_text().replace("users prefer ALS v3 to popular", "users prefer popular to ALS v3")
    file.write_text(wrong)
    assert not reproduction(workspace, file).holds


def test_a_report_of_an_ab_test_alone_has_it(workspace: Workspace) -> None:
    experiment = workspace.experiments.create("Shop")
    variant = ["control", "new"] * 100
    table = {"user_id": [f"v{n}" for n in range(200)], "variant": variant, "orders": [0, 1, 2, 3] * 50}
    workspace.online_tests.add(experiment.id, "June", {"sessions": pd.DataFrame(table)})
    workspace.interleaving.add(experiment.id, "May", team_draft(lean=0.5), control="popular")
    made = section(told(workspace, experiment.id))
    assert made.title == "Interleaved, users prefer als to popular"
    assert len([part for part in made.parts if isinstance(part, Table)]) == 1
