"""Interleaving tests in reports: beside offline and A/B results, with the same numbers, also again."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from interleaved_tables import team_draft

from recdash.formatting.tables import Interval, Number, RunName, Table
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
