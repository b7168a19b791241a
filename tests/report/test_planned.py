"""Reports about an A/B test that was planned: what differs from the plan, as it was at their moment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from shop_tests import orders_of

from recdash.domain.records import OnlineTest
from recdash.online.plan import AnalysisPlan
from recdash.report.document import PLAN_WORDING, Document, Paragraph
from recdash.report.reports import Reports
from recdash.report.reproduce.reproduce import reproduction
from recdash.service import Workspace

PLAN = AnalysisPlan("orders", users=800)


@pytest.fixture
def planned(workspace: Workspace) -> OnlineTest:
    """800 users, whose size was planned, and changed when they were there."""
    experiment = workspace.experiments.create("Shop").id
    plan = workspace.plans.add(experiment, PLAN)
    table = orders_of({"control": 0.8, "new": 1.2})
    test = workspace.online_tests.add(experiment, "checkout", {"sessions": table})
    workspace.plans.change(experiment, plan.id, replace(PLAN, users=700), "It is enough.")
    return test


def paragraphs(document: Document) -> list[str]:
    (section,) = [section for section in document.sections if section.name == "online"]
    return [part.text for part in section.parts if isinstance(part, Paragraph)]


def test_it_says_what_differs_from_the_plan(workspace: Workspace, planned: OnlineTest) -> None:
    reports = Reports(workspace)
    document = reports.content(reports.question(planned.experiment))
    told = paragraphs(document)
    assert told[0].endswith("; one thing differs from the plan.")
    assert told[1].startswith("Users changed from 800 users, control and variant together to 700 users")
    assert any("Planned sample size: 800 users." in text for text in told)
    assert document.lead.headline == "Ship new"  # the planned size is reached


def test_older_wordings_know_no_plan(workspace: Workspace, planned: OnlineTest) -> None:
    reports = Reports(workspace)
    former = reports.content(reports.question(planned.experiment), wording=PLAN_WORDING)
    assert not any("plan." in text or "Planned on" in text for text in paragraphs(former))
    # the rules of the test got the size when it was stored
    assert any("Planned sample size: 800 users." in text for text in paragraphs(former))


def test_a_later_change_of_the_plan_changes_no_report(
    workspace: Workspace, planned: OnlineTest, tmp_path: Path
) -> None:
    reports = Reports(workspace)
    report = reports.make(reports.question(planned.experiment), title="Shop")
    file = tmp_path / "report.json"
    file.write_bytes(reports.file(report.id, "json").content)
    (plan,) = workspace.plans.all(planned.experiment)
    workspace.plans.change(planned.experiment, plan.id, replace(PLAN, users=5000), "More is better.")
    found = reproduction(workspace, file)
    assert found.holds, found.text
