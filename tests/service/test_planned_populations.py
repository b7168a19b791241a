"""The progress of a planned test whose metrics count different users: the check of the plan, the
next step, the checklist and the gate count those of the planned primary metric.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from recdash.decisions.gate.online import unfinished
from recdash.domain.access import Person
from recdash.domain.records import OnlineTest
from recdash.online.plan import AnalysisPlan
from recdash.report.document import SIGNED_WORDING, Document, Paragraph
from recdash.report.reports import Reports
from recdash.service import Workspace
from recdash.service.online.planned import planned_pair_users
from recdash.service.plain_answers import results_facts
from recdash.store import open_store

TABLE = pd.DataFrame(
    [
        ("control", "signups", 9000, 1.0, 1.0),
        ("new", "signups", 9100, 1.01, 1.0),
        ("control", "revenue", 4000, 5.0, 9.0),
        ("new", "revenue", 4100, 5.05, 9.0),
    ],
    columns=["variant", "metric", "n", "mean", "variance"],
)
"""18,100 users were assigned, of whom 8,100 were activated."""
PLANNED = 15_000


@pytest.fixture
def space(tmp_path: Path) -> Iterator[Workspace]:
    store = open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")
    yield Workspace(store, person=Person("ann", "editor"))
    store.close()


def planned_test(space: Workspace, primary: str) -> OnlineTest:
    experiment = space.experiments.create("Shop").id
    space.plans.add(experiment, AnalysisPlan(primary, users=PLANNED))
    return space.online_tests.add(experiment, "checkout", {"aggregates": TABLE})


@pytest.mark.parametrize(("primary", "n"), [("revenue", 8_100), ("signups", 18_100)])
def test_the_users_of_the_planned_metric_count(space: Workspace, primary: str, n: int) -> None:
    test = planned_test(space, primary)
    results = space.online_tests.results(test.id)
    assert planned_pair_users(space.store, test, results, "new") == n
    _, (step,) = space.online_tests.next_steps(test.id)
    assert step.more_users == (PLANNED - n if n < PLANNED else step.more_users)
    check = space.plans.check(test.id)
    assert check is not None
    texts = [deviation.text for deviation in check.deviations if deviation.code == "users"]
    missing = (
        f"The data have fewer users than planned: {n:,} of {PLANNED:,} for control and variant together."
    )
    assert texts == ([missing] if n < PLANNED else [])


@pytest.mark.parametrize(("primary", "reason"), [("revenue", "8,100 of 15,000"), ("signups", "18,100 users")])
def test_the_checklist_counts_the_same_users(space: Workspace, primary: str, reason: str) -> None:
    test = planned_test(space, primary)
    review = space.reviews.propose(test.experiment, variant="new", text="More money.")
    review = space.reviews.add_online_evidence(review.id, test.id)
    (item,) = [item for item in review.checklist if item.name == "Sample size"]
    assert item.reason.startswith(reason)


@pytest.mark.parametrize(("primary", "n"), [("revenue", 1), ("signups", 0)])
def test_the_gate_says_that_users_are_missing(space: Workspace, primary: str, n: int) -> None:
    test = planned_test(space, primary)
    results = space.online_analysis.results(test.id)
    counted = planned_pair_users(space.store, test, results, "new")
    assert len(unfinished(results, "new", counted)) == n
    # without a plan the first goal counts, whose users are enough
    assert unfinished(results, "new") == ()


def test_json_has_each_population(space: Workspace) -> None:
    results = space.online_tests.results(planned_test(space, "revenue").id)
    facts = results_facts(results)
    assert facts["users"] == {"control": 9000, "new": 9100}
    assert [(part["metrics"], part["users"]) for part in facts["health"]["populations"]] == [
        (("signups",), {"control": 9000, "new": 9100}),
        (("revenue",), {"control": 4000, "new": 4100}),
    ]


def texts_of(document: Document) -> str:
    (section,) = [section for section in document.sections if section.name == "online"]
    return " ".join(part.text for part in section.parts if isinstance(part, Paragraph))


def test_a_report_tells_each_population(space: Workspace) -> None:
    test, reports = planned_test(space, "revenue"), Reports(space)
    told = texts_of(reports.content(reports.question(test.experiment)))
    assert "Fewer users count for revenue: 8,100 users, SRM p = " in told
    former = texts_of(reports.content(reports.question(test.experiment), wording=SIGNED_WORDING))
    assert "Fewer users" not in former


def test_a_report_says_that_other_users_count_only_if_they_are_not_fewer(space: Workspace) -> None:
    """The revenue counts 9,100 + 9,000 users, as many as the signups, but others."""
    table = TABLE.assign(n=[9000, 9100, 9100, 9000])
    experiment = space.experiments.create("Shop").id
    space.online_tests.add(experiment, "checkout", {"aggregates": table})
    reports = Reports(space)
    told = texts_of(reports.content(reports.question(experiment)))
    assert "Other users count for revenue: 18,100 users, SRM p = " in told
    assert "Fewer users" not in told
