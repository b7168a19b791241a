"""The decision rules of an experiment: who sets them, what follows them, and what does not change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pandas as pd
import pytest
from app_pages import USERS, lists, store
from decision_worlds import films as film_runs
from decision_worlds import home_page
from small_tables import sessions_of_two_variants

from recdash.comparison import Margin, Terms
from recdash.comparison.rules import PRESETS, USUAL, DecisionRules, checked
from recdash.domain.access import Person
from recdash.domain.defaults import FIRST_CANDIDATES
from recdash.domain.records import Experiment
from recdash.errors import Forbidden, InputError, NotFound
from recdash.report.reports import Reports
from recdash.service import Workspace
from recdash.store import open_store
from recdash.store.audit import SEALS

OWN = DecisionRules("5%", {"coverage": 0.1}, "recall", 2, "Ann")


@pytest.fixture
def space(tmp_path: Path) -> Iterator[Workspace]:
    opened = open_store(f"sqlite:///{tmp_path / 'r.db'}", tmp_path / "artifacts")
    yield Workspace(opened, person=Person("ann", "admin"))
    opened.close()


@pytest.fixture
def films(space: Workspace) -> dict[str, str]:
    """Names → ids: the experiment, and the runs good (rank 2) and best (rank 1)."""
    catalogue = pd.DataFrame({"item_id": [f"i{number}" for number in range(1, 21)]})
    return store(space, {"good": lists(2), "best": lists(1)}, catalogue=catalogue)


def test_an_experiment_begins_with_the_usual_rules(space: Workspace, films: dict[str, str]) -> None:
    assert space.rules.of(films["films"]) == USUAL
    query = space.queries.of(films["films"])
    assert (query.metric, query.k, query.terms) == ("ndcg", 5, Terms())


def test_rules_fill_what_a_query_leaves_open(space: Workspace, films: dict[str, str]) -> None:
    assert space.rules.set(films["films"], OWN) == OWN
    assert space.rules.of(films["films"]) == OWN
    query = space.queries.of(films["films"])
    assert (query.metric, query.k) == ("recall", 2)
    assert query.terms == Terms(margin=Margin(0.05), guard=(("coverage", 0.1),))
    asked = space.queries.of(films["films"], metric="ndcg", k=3, terms=Terms())
    assert (asked.metric, asked.k, asked.terms) == ("ndcg", 3, Terms())


def test_a_metric_that_no_run_has_gives_way_to_the_default(space: Workspace, films: dict[str, str]) -> None:
    space.rules.set(films["films"], replace(OWN, metric="rmse"))
    assert space.queries.of(films["films"]).metric == "ndcg"


@pytest.mark.parametrize("metric", ["gini", "coverage", "novelty", "gini(users=both)"])
def test_a_metric_that_decides_nothing_is_refused(
    space: Workspace, films: dict[str, str], metric: str
) -> None:
    """Catalogue-level metrics have no value per user, so no difference in them is tested."""
    with pytest.raises(InputError, match="it is a catalogue-level metric and cannot decide") as refused:
        space.rules.change(films["films"], lambda rules: replace(rules, metric=metric))
    assert [problem.code for problem in refused.value.problems] == ["undecided-metric"]
    assert space.rules.of(films["films"]) == USUAL


def test_the_best_of_many_runs_are_compared_by_default(space: Workspace) -> None:
    """Run n hits at rank 1 for n of 20 users (nDCG n / 20), late at rank 2 for all (0.63; 0 at k = 1)."""
    tables = {f"run {n}": lists(1, USERS[:n]) for n in range(1, 13)}
    ids = store(space, {"base": lists(9), "late": lists(2), **tables})
    best = [ids[f"run {n}"] for n in range(5, 13)]
    assert len(best) == FIRST_CANDIDATES
    assert space.queries.of(ids["films"]).runs == (ids["late"], *best[1:])
    space.rules.set(ids["films"], replace(USUAL, k=1))
    assert space.queries.of(ids["films"]).runs == tuple(best)
    experiment = space.experiments.get(ids.pop("films"))
    not_saved = space.queries.candidates(experiment, list(ids.values()), ids["base"], USUAL)
    assert [run.id for run in not_saved] == [ids["late"], *best[1:]]


def test_a_decision_is_recorded_by_the_rules_of_its_time(space: Workspace, films: dict[str, str]) -> None:
    experiment, run = films["films"], films["best"]
    space.rules.set(experiment, replace(USUAL, margin="3%", guardrails={"gini": 0.1}))
    decided = space.decisions.decide(experiment, "ship", run_id=run, text="Better.")
    space.rules.set(experiment, replace(USUAL, guardrails={}))
    kept = space.journal.decision(decided.id).offline
    assert kept is not None
    assert "less than 3 % of" in kept.terms
    assert "guardrails may lose 10 % (Gini) of it" in kept.terms
    assert [rail.guard for rail in kept.guardrails] == [0.1]


def test_reports_and_cards_follow_the_rules(space: Workspace, films: dict[str, str]) -> None:
    space.rules.set(films["films"], OWN)
    assert Reports(space).question(films["films"]).query.terms == OWN.terms
    card = space.overview.verdict(films["films"])
    assert card.query is not None
    assert card.query.where == "Recall@2"


def test_rules_are_refused_with_all_that_is_wrong(space: Workspace, films: dict[str, str]) -> None:
    with pytest.raises(InputError) as refused:
        space.rules.set(films["films"], replace(OWN, margin="?", k=9))
    assert [problem.code for problem in refused.value.problems] == ["bad-margin", "beyond-depth"]
    assert space.rules.of(films["films"]) == USUAL


def test_rules_and_baseline_are_stored_together_or_not_at_all(
    space: Workspace, films: dict[str, str]
) -> None:
    space.rules.set(films["films"], OWN, baseline=films["best"])
    (event,) = space.audit.events(1)
    assert set(event.details) - {SEALS} == {"settings", "baseline"}
    with pytest.raises(NotFound):
        space.rules.set(films["films"], USUAL, baseline="no run")
    assert space.rules.of(films["films"]) == OWN
    space.rules.set(films["films"], USUAL)
    assert space.experiments.get(films["films"]).baseline == films["best"]
    space.rules.set(films["films"], USUAL, baseline=None)
    assert space.experiments.get(films["films"]).baseline is None


def test_viewers_read_rules_and_editors_set_them(space: Workspace, films: dict[str, str]) -> None:
    viewer, editor = (space.seen_by(Person("bob", role)) for role in ("viewer", "editor"))
    with pytest.raises(Forbidden):
        viewer.rules.set(films["films"], OWN)
    editor.rules.set(films["films"], OWN)
    assert viewer.rules.of(films["films"]) == OWN


def test_the_audit_log_names_what_changed(space: Workspace, films: dict[str, str]) -> None:
    space.rules.set(films["films"], replace(OWN, guardrails=PRESETS["strict"]))
    space.rules.set(films["films"], USUAL)
    back, changed = space.audit.events(2)
    assert (changed.who, changed.action, changed.target) == ("ann", "change experiment", films["films"])
    rules = {"margin": "5%", "guardrails": "strict", "metric": "recall", "k": 2, "owner": "Ann"}
    assert changed.details["settings"] == {"rules": rules}
    assert back.details["settings"] == {"rules": None}
    assert str(space.overview.card(films["films"]).last_change) == "ann changed the decision rules"
    assert space.audit.breaks() == []


# ── the baseline where nobody chose ──────────────────────────────────────────────────────────


def test_the_run_that_a_control_served_is_the_baseline(space: Workspace) -> None:
    ids = store(space, {"als": lists(2), "ease": lists(1)})
    assert space.queries.of(ids["films"]).baseline == ids["als"]
    sessions = sessions_of_two_variants()
    links = {"A": ids["ease"], "B": ids["als"]}
    space.online_tests.add(ids["films"], "March", {"sessions": sessions}, control="A", links=links)
    assert space.queries.of(ids["films"]).baseline == ids["ease"]
    space.experiments.set_baseline(ids["films"], ids["als"])
    assert space.queries.of(ids["films"]).baseline == ids["als"]


# ── two writers ──────────────────────────────────────────────────────────────────────────────


def test_a_setting_that_another_writer_stores_meanwhile_survives(
    space: Workspace, films: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_first(rules: DecisionRules, depth: int) -> DecisionRules:
        """Another process stores a setting after the rules were asked for, as early as it can."""
        monkeypatch.setattr("recdash.service.rules.checked", checked)
        other = Thread(target=space.store.experiments.change, args=(films["films"], with_a_further_setting))
        others.append(other)
        other.start()
        other.join(timeout=0.2)  # it has to wait where both are in turn
        return checked(rules, depth)

    def with_a_further_setting(experiment: Experiment) -> dict[str, object]:
        return {"settings": {**experiment.settings, "further": True}}

    others: list[Thread] = []
    monkeypatch.setattr("recdash.service.rules.checked", write_first)
    space.rules.set(films["films"], OWN)
    others[0].join()
    settings = space.store.experiments.get(films["films"]).settings
    assert space.rules.of(films["films"]) == OWN
    assert settings["further"] is True


# ── rules of A/B tests ───────────────────────────────────────────────────────────────────────


def test_a_recommendation_follows_the_rules_of_its_ab_test(space: Workspace) -> None:
    ids = film_runs(space)
    test = home_page(space, ids)
    query = space.queries.of(ids["films"])
    before = space.comparisons.verdict(query).case_of(ids["als"])
    assert before is not None
    assert before.case == "proven"
    rules = replace(space.online_tests.rules(test.id), planned_users=10**9)
    space.online_tests.set_rules(test.id, rules)  # 400 users are far too early to decide
    after = space.comparisons.verdict(query).case_of(ids["als"])
    assert after is not None
    assert after.is_running
    space.online_tests.set_rules(test.id, replace(rules, planned_users=400))
    reached = space.comparisons.verdict(query).case_of(ids["als"])
    assert reached is not None
    assert reached.case == "proven"
    assert all(lift.is_complete for lift in reached.evidence.lifts)


def test_without_the_rule_a_test_is_never_complete(space: Workspace) -> None:
    ids = film_runs(space)
    home_page(space, ids)
    case = space.comparisons.verdict(space.queries.of(ids["films"])).case_of(ids["als"])
    assert case is not None
    assert not any(lift.is_complete for lift in case.evidence.lifts)


def test_a_summed_test_counts_in_the_recommendation_as_on_its_page(space: Workspace) -> None:
    """10 % and 5 % of 1,000 users convert: a loss of 50 %."""
    ids = film_runs(space)
    rows = [("control", 0.1), ("new", 0.05)]
    table = pd.DataFrame(
        {"variant": variant, "metric": "conversion", "n": 1000, "mean": p, "variance": p * (1 - p)}
        for variant, p in rows
    )
    links = {"control": ids["popular"], "new": ids["als"]}
    test = space.online_tests.add(ids["films"], "Sums", {"aggregates": table}, links=links)
    assert space.online_tests.next_steps(test.id)[0] == "Roll back als"
    case = space.comparisons.verdict(space.queries.of(ids["films"])).case_of(ids["als"])
    assert case is not None
    assert case.case == "lost online"
    (lost,) = case.evidence.lost_online
    assert lost.lift == pytest.approx(-0.5)
