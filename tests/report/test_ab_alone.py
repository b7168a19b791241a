"""Reports about an A/B test alone, in an experiment without runs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from app_pages import TRUTH, lists
from shop_tests import USERS, orders_of, shop_test

from recdash.domain.records import OnlineTest
from recdash.errors import NotFound
from recdash.formatting.tables import Table, Word
from recdash.online import OnlineRules
from recdash.report.document import TIES_WORDING, Command
from recdash.report.formats.registry import FORMS, write
from recdash.report.reports import Reports
from recdash.report.reproduce.reproduce import reproduction
from recdash.service import Workspace

TODAY = "Ship new, but the guardrail sessions per user is inconclusive"


@pytest.fixture
def shop(workspace: Workspace) -> OnlineTest:
    return shop_test(workspace)


def test_it_opens_with_what_the_results_say_to_do(workspace: Workspace, shop: OnlineTest) -> None:
    reports = Reports(workspace)
    document = reports.content(reports.question(shop.experiment))
    assert document.lead.headline == TODAY
    former = reports.content(reports.question(shop.experiment), wording=TIES_WORDING)
    assert former.lead.headline == "Ship new"
    assert [number.title for number in document.lead.numbers] == [
        "Orders",
        "Sessions per user (guardrail, margin 2 %)",
    ]
    assert "But a drop of 2 % in sessions per user (95 % CI" in " ".join(document.lead.sentences)
    assert document.lead.risks == (
        "The dates are unknown, and so are full weeks and whether the lift lasts.",
    )
    assert [section.name for section in document.sections] == ["defined", "online", "caveats", "reproducing"]


def test_it_opens_with_the_decision_on_a_variant(workspace: Workspace, shop: OnlineTest) -> None:
    workspace.decisions.decide(shop.experiment, "do not ship", variant="new", text="Sessions may fall.")
    reports = Reports(workspace)
    report = reports.make(reports.question(shop.experiment), live=True)
    document = reports.document(report.id)
    assert document.lead.headline == reports.headline(report) == "Don't ship new"
    assert document.lead.decision is not None
    assert document.lead.decision.evidence == f"The results today: {TODAY}."
    decisions = next(section for section in document.sections if section.name == "decisions")
    checklist = next(part for part in decisions.parts if isinstance(part, Table))
    made = workspace.journal.decisions(shop.experiment)[0]
    assert [(title, state.word, why) for title, state, why in checklist.rows if isinstance(state, Word)] == [
        (item.title, item.state, item.reason) for item in made.checklist
    ]
    question = reports.question(shop.experiment)
    former = reports.content(question, wording=TIES_WORDING).sections
    assert not any(isinstance(part, Table) for of in former if of.name == "decisions" for part in of.parts)


def test_a_test_of_one_variant_is_no_warning(workspace: Workspace) -> None:
    table = {"customer": [f"c{n}" for n in range(40)], "variant": "control", "orders": [0, 1] * 20}
    experiment = workspace.experiments.create("One")
    workspace.online_tests.add(experiment.id, "one", {"sessions": pd.DataFrame(table)})
    reports = Reports(workspace)
    lead = reports.content(reports.question(experiment.id)).lead
    assert (lead.sign, lead.tone) == ("–", "same")


def test_a_test_of_aggregated_data_has_a_report(workspace: Workspace) -> None:
    sums = {"variant": ["control", "b"], "metric": "orders", "n": 1000, "mean": [1.0, 1.3], "variance": 1.0}
    experiment = workspace.experiments.create("Sums")
    workspace.online_tests.add(experiment.id, "sums", {"aggregates": pd.DataFrame(sums)})
    reports = Reports(workspace)
    document = reports.content(reports.question(experiment.id))
    assert document.lead.headline.startswith("Ship b")
    (defined,) = [section for section in document.sections if section.name == "defined"]
    assert "Aggregated before the upload." in str(defined)


def test_its_numbers_are_confirmed(workspace: Workspace, shop: OnlineTest, tmp_path: Path) -> None:
    reports = Reports(workspace)
    report = reports.make(reports.question(shop.experiment), title="Checkout")
    workspace.online_tests.set_rules(shop.id, OnlineRules(planned_users=USERS))
    for form in ("html", "json"):
        file = tmp_path / f"report.{form}"
        file.write_bytes(reports.file(report.id, form).content)
        found = reproduction(workspace, file)
        assert (found.outcome, found.snapshot.report) == ("confirmed", report.id), found.text


def test_it_is_written_in_every_form(workspace: Workspace, shop: OnlineTest, tmp_path: Path) -> None:
    reports = Reports(workspace)
    document = reports.content(reports.question(shop.experiment))
    for form in FORMS.values():
        if form.name != "pdf":
            assert write(document, form, tmp_path / f"report.{form.name}") > 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Ship new" in page
    assert "Baseline" not in page


def test_a_share_link_opens_it(workspace: Workspace, shop: OnlineTest) -> None:
    reports = Reports(workspace)
    report = reports.make(reports.question(shop.experiment))
    token = workspace.sharing.share(shop.experiment, report_id=report.id).token
    assert b"Ship new" in reports.shared(token).content


def test_a_live_report_of_a_deleted_test_says_so(workspace: Workspace, shop: OnlineTest) -> None:
    reports = Reports(workspace)
    live = reports.make(reports.question(shop.experiment), live=True)
    kept = reports.make(reports.question(shop.experiment))
    workspace.online_tests.delete(shop.id, "checkout")
    with pytest.raises(NotFound, match="its A/B test was deleted"):
        reports.document(live.id)
    assert reports.headline(live) == ""
    assert reports.document(kept.id).lead.headline == TODAY


def test_it_follows_a_purge(workspace: Workspace, shop: OnlineTest) -> None:
    reports = Reports(workspace)
    live = reports.make(reports.question(shop.experiment), live=True)
    workspace.purge.user("c0")
    document = reports.document(live.id)
    assert any(f"{USERS - 1} users" in sentence for sentence in document.lead.sentences)


def test_an_unknown_test_is_refused(workspace: Workspace, shop: OnlineTest) -> None:
    with pytest.raises(NotFound):
        Reports(workspace).question(shop.experiment, test="another")


def test_its_command_names_its_own_sections(workspace: Workspace, shop: OnlineTest) -> None:
    reports = Reports(workspace)
    document = reports.content(reports.question(shop.experiment))
    assert document.blocks == ("defined", "online", "interleaving", "decisions", "caveats", "reproducing")
    commands = [part.line for part in document.sections[-1].parts if isinstance(part, Command)]
    (again,) = [line for line in commands if line.startswith("recdash report")]
    assert "--block evidence" not in again
    assert "--block online" in again


def test_of_three_variants_the_one_to_ship_comes_first(workspace: Workspace) -> None:
    experiment = workspace.experiments.create("Three")
    tables = {"sessions": orders_of({"control": 1.0, "a_bad": 0.6, "b_good": 1.5})}
    workspace.online_tests.add(experiment.id, "three", tables)
    reports = Reports(workspace)
    lead = reports.content(reports.question(experiment.id)).lead
    assert lead.headline == "Ship b_good; roll back a_bad"
    assert (lead.sign, lead.tone) == ("▲", "better")
    number = lead.numbers[0]
    assert number.finding == "better"
    assert lead.sentences[-1] == "b_good against control, 1,200 users in 3 variants."


def test_a_decision_on_a_variant_of_another_test_is_not_on_top(
    workspace: Workspace, shop: OnlineTest
) -> None:
    tables = {"sessions": orders_of({"control": 1.0, "z": 1.6})}
    second = workspace.online_tests.add(shop.experiment, "second", tables)
    workspace.decisions.decide(shop.experiment, "do not ship", variant="new", test=shop.id, text="No.")
    reports = Reports(workspace)
    report = reports.make(reports.question(shop.experiment, test=second.id))
    document = reports.document(report.id)
    assert document.lead.headline == reports.headline(report) == "Ship z"
    assert document.lead.decision is None
    assert "decisions" in [section.name for section in document.sections]
    of_first = reports.content(reports.question(shop.experiment, test=shop.id))
    assert of_first.lead.headline == "Don't ship new"


def test_a_decided_variant_that_is_the_control_now_has_no_numbers(
    workspace: Workspace, shop: OnlineTest
) -> None:
    workspace.decisions.decide(shop.experiment, "ship", variant="new", text="More orders.")
    workspace.online_tests.count_again(shop.id, control="new")
    reports = Reports(workspace)
    lead = reports.content(reports.question(shop.experiment)).lead
    assert lead.headline == "Ship new"
    assert lead.sentences[-1] == "control against new, 800 users in all."
    assert lead.numbers


def test_it_is_confirmed_once_a_test_set_and_runs_are_added(
    workspace: Workspace, shop: OnlineTest, tmp_path: Path
) -> None:
    workspace.decisions.decide(shop.experiment, "ship", variant="new", text="More orders.")
    reports = Reports(workspace)
    report = reports.make(reports.question(shop.experiment))
    file = tmp_path / "report.json"
    file.write_bytes(reports.file(report.id, "json").content)
    workspace.experiments.add_test_set(shop.experiment, TRUTH)
    found = reproduction(workspace, file)
    assert (found.outcome, found.snapshot.report) == ("confirmed", report.id), found.text
    ids = [workspace.runs.add(shop.experiment, lists(hit), name=f"r{hit}")[0].run.id for hit in (1, 2)]
    workspace.online_tests.link_variants(shop.id, dict(zip(("control", "new"), ids, strict=True)))
    found = reproduction(workspace, file)
    assert (found.outcome, found.snapshot.report) == ("confirmed", report.id), found.text


def test_it_is_not_confirmed_where_its_test_is_not_stored(
    workspace: Workspace, shop: OnlineTest, tmp_path: Path
) -> None:
    reports = Reports(workspace)
    report = reports.make(reports.question(shop.experiment))
    file = tmp_path / "report.json"
    file.write_bytes(reports.file(report.id, "json").content)
    workspace.experiments.create("Empty")
    workspace.online_tests.delete(shop.id, "checkout")
    with pytest.raises(NotFound, match=r"'checkout' of the report .* is not stored here"):
        reproduction(workspace, file)
