"""Who may do what, asked of every public method of every service: a new one without a row here fails.

What all services stand on (their context, data and values) is private; it is asked by hand below.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_tables import sessions_of_two_variants

from recdash.domain.access import ROLES, AccessRole, Person
from recdash.errors import Forbidden, NotFound, RecdashError
from recdash.online.plan import AnalysisPlan
from recdash.report.digest.digest import Digests
from recdash.report.reports import Reports
from recdash.service import Workspace
from recdash.service.decisions.journal import Writing
from recdash.store import open_store
from recdash.store.audit import SEALS

READS = [
    "agreement.of", "agreement.best_metric", "comparisons.changes", "comparisons.compare",
    "comparisons.at_other_k", "comparisons.completion", "concurrent_tests.of",
    "comparisons.invalid_tests", "comparisons.list_pulls", "comparisons.lifts_elsewhere",
    "comparisons.tests_elsewhere",
    "comparisons.online_lifts", "comparisons.pairs", "comparisons.shown_pairs", "comparisons.ranks",
    "comparisons.replicate_differences", "comparisons.source", "comparisons.user_slices",
    "comparisons.recommendation",
    "comparisons.value", "comparisons.values", "comparisons.verdict", "cutoffs.delta_curves",
    "cutoffs.leaders_by_k", "damaged", "decisions.since", "definitions.guide",
    "definitions.preset_causes", "definitions.presets", "definitions.under_presets",
    "definitions.refused_metrics", "definitions.worked_example", "demo.exists", "diagnosis.explain",
    "digests.digest",
    "experiments.all", "experiments.depth", "experiments.get", "experiments.named", "experiments.preview",
    "experiments.same_truth", "gates.judge", "intake.plan", "intake.rejects", "journal.decision",
    "interleaving.all", "interleaving.named", "interleaving.pairs", "interleaving.preview",
    "interleaving.results", "interleaving.sensitivities", "interleaving.table",
    "journal.decisions", "journal.entries", "journal.last_decision", "journal.review", "journal.reviews",
    "online_analysis.by_segment", "online_analysis.chance_to_win", "online_analysis.definitions",
    "online_analysis.results",
    "online_analysis.detectable", "online_analysis.more_users", "online_analysis.novelty_effect",
    "online_analysis.metric", "online_analysis.metrics", "online_analysis.segments",
    "online_analysis.totals", "online_analysis.over_time", "online_analysis.own_metrics",
    "online_analysis.reversals", "online_tests.results", "online_tests.all",
    "online_tests.disagreeing_metrics", "online_tests.disagreements",
    "online_tests.offline_online", "online_tests.result_frame",
    "online_tests.rules", "online_tests.named", "online_tests.next_steps",
    "online_tests.next_steps_of", "online_tests.sample", "online_tests.preview", "online_tests.activations",
    "off_policy.beside_test", "off_policy.kept", "off_policy.of_run",
    "plans.all", "plans.without_test", "plans.get", "plans.of_test", "plans.check", "plans.baselines",
    "plans.read_baselines",
    "overlap.found_items", "overlap.headroom", "overlap.list_overlap",
    "overview.card", "overview.decided_run", "overview.standing", "overview.today",
    "overview.verdict", "overview.cards",
    "queries.baseline", "queries.candidates", "queries.check", "queries.of", "replicates.of",
    "replicates.spread",
    "reports.question", "reports.get", "reports.content", "reports.document",
    "reports.file", "reports.all", "reports.write", "reviews.tests_for", "rules.of", "runs.all",
    "runs.fallback_offer", "runs.first_ids", "runs.reference_choices", "runs.refuse_damage",
    "runs.unreadable", "scopes.of", "scopes.other_thresholds",
    "comparisons.unlinked_tests", "scopes.thresholds",
    "scores.absences", "scores.comparability", "scores.curves", "scores.gone_metrics", "scores.id_overlap",
    "scores.list_ends", "scores.metrics_of", "scores.population_effect", "scores.scoreboard",
    "scores.standing", "scores.tie_band", "segments.of", "segments.segmented", "sharing.saved_view",
    "sharing.saved_views", "slices.attributes", "slices.check", "slices.of", "slices.shown_by",
    "slices.sliced", "slices.splits", "track_records.of", "track_records.slope", "tradeoffs.of",
    "users.change_bars", "users.decisive_users", "users.changes", "users.lists", "users.values",
    "users.value_bars",
]  # fmt: skip
CHANGES = [
    "decisions.decide", "demo.load", "demo.remove", "experiments.add_test_set", "experiments.archive",
    "experiments.create", "experiments.delete", "experiments.set_note",
    "experiments.read_setup", "experiments.rename", "experiments.unarchive",
    "additions.stage", "additions.store", "additions.store_staged",
    "experiments.set_baseline", "experiments.store_setup", "experiments.store_tables",
    "experiments.store_test_set", "intake.commit", "intake.runs_to_link",
    "intake.with_links", "online_tests.stage", "online_tests.store_staged",
    "runs.stage", "runs.stage_completed", "runs.store_each", "runs.store_files", "runs.store_staged",
    "interleaving.add", "interleaving.set_control", "interleaving.stage", "journal.comment",
    "plans.add", "plans.change",
    "off_policy.delete", "off_policy.keep",
    "metric_library.add", "metric_library.all", "metric_library.remove",
    "online_analysis.set_own_metrics", "online_tests.add",
    "online_tests.archive", "online_tests.delete", "online_tests.link_variants",
    "online_tests.unarchive", "online_tests.set_rules", "reports.archive",
    "reports.delete", "reports.make", "reports.unarchive",
    "reviews.add_offline_evidence", "reviews.add_online_evidence", "reviews.propose", "rules.change",
    "rules.set",
    "runs.add_fallback", "runs.add_references", "runs.add", "runs.archive", "runs.delete", "runs.set_note",
    "runs.prepare_completed", "runs.prepare_references", "runs.prepare", "runs.rename", "runs.unarchive",
    "runs.set_params", "runs.store_prepared", "runs.set_tags", "sharing.forget_view", "sharing.revoke",
    "sharing.save_view", "sharing.share", "sharing.links", "sharing.uses",
    "sources.check", "sources.fetch", "sources.names",
]  # fmt: skip
ADMINS = [
    "audit.altered", "audit.audited", "audit.breaks", "audit.events", "audit.check", "maintenance.back_up",
    "maintenance.collect_garbage", "purge.user", "tokens.all", "tokens.create", "tokens.last_uses",
    "tokens.revoke",
]  # fmt: skip
# Of the server and of nobody who asks it: they take or give what decides who somebody is.
OF_THE_SERVER = [
    "also_clear", "now", "open", "release_unneeded", "reports.shared", "secret", "seen_by",
    "sharing.guest_of", "sharing.link_state", "sharing.note_use", "sharing.shared", "sign_ins.end",
    "sign_ins.has_ended", "tokens.check", "tokens.note_use", "tokens.state",
]  # fmt: skip
# What services ask of each other; whatever they write goes through the store, which refuses viewers.
BETWEEN_SERVICES = [
    "agreement.both_sides", "agreement.sides_of", "comparisons.verdict_state", "experiments.with_rules",
    "interleaving.recounted", "interleaving.results_of", "journal.add",
    "journal.writing", "journal.written", "online_analysis.measured", "online_tests.count_again",
    "online_tests.planned", "online_tests.users", "online_tests.aggregate_table", "online_tests.recounted",
    "online_tests.results_of", "overlap.found", "reports.headline", "runs.add_scored", "runs.how_scored",
    "slices.slice_scores",
]  # fmt: skip
LEAST: dict[str, AccessRole] = {
    **dict.fromkeys(READS, "viewer"),
    **dict.fromkeys(CHANGES, "editor"),
    **dict.fromkeys(ADMINS, "admin"),
}

PEOPLE = ["person-u", "person-v", "person-w"]
"""Ids of users: nothing else that is stored begins with person-."""
TRUTH = pd.DataFrame({"user_id": PEOPLE, "item_id": ["a", "b", "c"]})
LISTS = pd.DataFrame(
    {
        "user_id": [*PEOPLE, *PEOPLE, "person-unknown"],
        "item_id": [*"abc", *"xyz", "x"],
        "rank": [1, 1, 1, 2, 2, 2, 1],
    }
)
OTHERS = LISTS.assign(rank=[2, 2, 2, 1, 1, 1, 1])
SESSIONS = sessions_of_two_variants()
SESSIONS = SESSIONS.assign(unit_id="person-" + SESSIONS["unit_id"], plan=["free", "paid"] * 20)
INTERLEAVED = pd.DataFrame(
    {
        "request_id": [f"r{number}" for number in range(6)],
        "user_id": PEOPLE * 2,
        "credit_a": [1, 0, 2, 1, 0, 0],
        "credit_b": [0, 1, 1, 1, 0, 1],
    }
)
BANDIT = TRUTH.assign(click=[1, 0, 1], propensity_score=0.5)
USERS = pd.DataFrame({"user_id": PEOPLE, "plan": ["free", "free", "paid"]})
CATALOGUE = pd.DataFrame({"item_id": [*"abcdxyz"], "genre": ["Crime", "Drama"] * 3 + ["Crime"]})


@dataclass(frozen=True)
class House:
    """A store with two experiments of two runs and a test each, and everybody's view of it."""

    admin: Workspace
    mine: Mapping[str, Any]
    other: Mapping[str, Any]

    def seen_by(self, role: str) -> Workspace:
        if role == "guest":
            return self.admin.seen_by(Person("guest of ann", "viewer", self.mine["experiment_id"]))
        if role == "numbers":
            guest = Person("guest of ann", "viewer", self.mine["experiment_id"], numbers_only=True)
            return self.admin.seen_by(guest)
        return self.admin.seen_by(Person("bob", role))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("house")
    store = open_store(f"sqlite:///{folder}/recdash.db", folder / "artifacts")
    admin = Workspace(store, person=Person("ann", "admin"))
    yield House(admin, furnished(admin, "films"), furnished(admin, "songs", also="d"))
    store.close()


def furnished(space: Workspace, name: str, also: str = "") -> dict[str, Any]:
    """An experiment, and by name of a parameter what of it a method may be asked about.

    ``also``: a further item of the truth, so that nothing of two experiments is the same file.
    """
    more = pd.DataFrame({"user_id": PEOPLE[:1] * len(also), "item_id": list(also)})
    made = space.experiments.create(
        name, pd.concat([TRUTH, more]), user_attributes=USERS, catalogue=CATALOGUE, depth=2
    )
    als, ease = (
        space.runs.add(made.id, table, name=f"{name}-{run}")[0].run
        for run, table in {"als": LISTS, "ease": OTHERS}.items()
    )
    test = space.online_tests.add(
        made.id, "March", {"sessions": SESSIONS}, control="A", links={"A": ease.id, "B": als.id}
    )
    interleaved = space.interleaving.add(
        made.id, "April", INTERLEAVED, control="A", links={"A": ease.id, "B": als.id}
    )
    view = space.sharing.save_view(made.id, f"view-of-{name}", "users", {"k": "2", "u": PEOPLE[0]})
    link = space.sharing.share(made.id).link
    query = space.queries.of(made.id, [als.id], ease.id, "ndcg", 2)
    proposed = space.reviews.propose(made.id, als.id, query)
    decided = space.decisions.decide(made.id, "inconclusive", run_id=als.id, text="Three users.", query=query)
    plan = space.plans.add(made.id, AnalysisPlan("sessions_per_user"))
    question = Reports(space).question(made.id, query)
    report = Reports(space).make(question, ["defined"], title=name)
    return {
        "experiment_id": made.id, "where": made.id, "run_id": als.id, "run_ids": (als.id, ease.id),
        "baseline_id": ease.id, "test_id": test.id, "view_id": view.id, "link_id": link.id,
        "name": name, "typed_name": name, "setup": space.experiments.read_setup(f"{name} again", TRUTH),
        "links": {"B": als.id}, "proposal_id": proposed.id, "decision_id": decided.id,
        "entry_id": proposed.id, "about": proposed.id, "query": query, "question": question,
        "report_id": report.id, "experiment": made, "runs": space.runs.all(made.id),
        "interleaving_id": interleaved.id, "card": space.overview.card(made.id), "test": test,
        "plan_id": plan.id, "reason": "because",
    }  # fmt: skip


GIVEN: dict[str, Any] = {
    "metric": "ndcg", "metrics": ("ndcg", "recall"), "k": 2, "online_metric": "sessions_per_user",
    "by": "user_history", "attribute": "genre", "variant": "B", "segment": "plan", "effect": 0.05,
    "how": "daily", "names": "popular", "source": LISTS, "tables": {"sessions": SESSIONS}, "truth": TRUTH,
    "kind": "run", "user_id": PEOPLE[0], "rules": None, "changed": None, "tags": ("t",), "note": "n",
    "params": {},
    "page": "overview", "prepared": (), "text": "because", "outcome": "ship", "title": "A report",
    "file": "no-folder/report.json", "files": (), "plan": None, "key": "k", "facts": (), "addition": None,
    "table": INTERLEAVED, "control": "A", "staged": (), "new": None, "run": None, "label": "nightly",
    "token_id": "unknown", "estimate_id": "unknown", "estimates": None,
    "target": "no-folder/backup", "log": BANDIT, "rule_texts": ["ndcg@2 >= -90%"],
    "name": "unknown", "folder": Path("no-folder"),
}  # fmt: skip


def arguments(method: Any, home: Mapping[str, Any]) -> dict[str, Any]:
    """Something for every parameter that must be given."""
    known = {**GIVEN, **home}
    needed = [
        one.name
        for one in inspect.signature(method).parameters.values()
        if one.default is one.empty and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
    ]
    return {name: known[name] for name in needed}


def services(workspace: Workspace) -> dict[str, Any]:
    """All that can be asked, by the name that pages use; reports and digests are asked over a workspace."""
    kinds = {name: part for name, part in vars(workspace).items() if not name.startswith("_")}
    return {**kinds, "reports": Reports(workspace), "digests": Digests(workspace)}


def method_of(workspace: Workspace, name: str) -> Any:
    """``scores.curves`` of a workspace."""
    service, _, method = name.rpartition(".")
    return getattr(services(workspace)[service] if service else workspace, method)


def public_methods(workspace: Workspace) -> list[str]:
    """Of every service."""
    return [
        f"{service}.{name}"
        for service, part in services(workspace).items()
        for name, _ in inspect.getmembers(part, inspect.isroutine)
        if not name.startswith("_")
    ]


def test_every_public_method_says_who_may_use_it(house: House) -> None:
    listed = [*LEAST, *OF_THE_SERVER, *BETWEEN_SERVICES]
    assert sorted(public_methods(house.admin)) == sorted(name for name in listed if "." in name)
    own = [name for name, _ in inspect.getmembers(Workspace, inspect.isroutine) if not name.startswith("_")]
    assert sorted(own) == sorted(name for name in listed if "." not in name)


@pytest.mark.parametrize("role", ["guest", "viewer", "editor"])
@pytest.mark.parametrize("name", [*CHANGES, *ADMINS])
def test_who_may_too_little_is_refused_and_nothing_is_written(house: House, name: str, role: str) -> None:
    least = ROLES.index(LEAST[name])
    if role != "guest" and ROLES.index(role) >= least:  # type: ignore[arg-type]
        return
    before = house.admin.store.audit.events()
    method = method_of(house.seen_by(role), name)
    with pytest.raises(Forbidden):
        method(**arguments(method, house.mine))
    assert house.admin.store.audit.events() == before


@pytest.mark.parametrize("name", READS)
def test_a_guest_finds_nothing_of_another_experiment(house: House, name: str) -> None:
    guest = house.seen_by("guest")
    method = method_of(guest, name)
    asked = arguments(method, house.other)
    if not asked.keys() - GIVEN.keys():
        return  # of nothing in particular: see the listings below
    if name in ("experiments.preview", "sharing.saved_view"):
        return  # reads a file that is handed in; see below
    with pytest.raises((NotFound, Forbidden)):
        looked_at(method(**asked), house.other["run_id"])


OF_SINGLE_USERS = [
    "definitions.worked_example",
    "off_policy.of_run",
    "runs.first_ids",
    "users.decisive_users",
    "users.lists",
    "users.values",
]
"""What is about single users. Guests of a link that shows numbers only are refused."""
ELSEWHERE = {
    "experiments.preview",  # the rows of a file that is handed in
    "intake.plan", "intake.rejects",  # files that are handed in, by editors
    "plans.read_baselines",  # a file that is handed in
    "reports.write",  # to a folder of the server; the same bytes as reports.file
}  # fmt: skip
ABOUT: dict[str, dict[str, Any]] = {
    "online_analysis": {"metric": "sessions_per_user"},
    "online_analysis.metric": {"name": "sessions_per_user"},
    "sharing.saved_view": {"name": "view-of-films"},
    "segments": {"by": "user:plan"}, "slices": {"by": "user:plan"},
    "slices.shown_by": {"attribute": "genre"},
}  # fmt: skip


@pytest.mark.parametrize("name", sorted({*READS} - ELSEWHERE))
def test_a_guest_of_numbers_only_is_told_of_no_user(house: House, name: str) -> None:
    """Also after an admin has asked the same, whose answers may be cached."""
    given = {**house.mine, **ABOUT.get(name.partition(".")[0], {}), **ABOUT.get(name, {})}
    asked = arguments(method_of(house.admin, name), given)
    seen = [*texts(method_of(house.admin, name)(**asked))]
    guest = method_of(house.seen_by("numbers"), name)
    if name in OF_SINGLE_USERS:
        assert any("person-" in text for text in seen) or name in ("off_policy.of_run", "users.values")
        with pytest.raises(Forbidden, match="numbers only"):
            guest(**asked)
    else:
        assert [text for text in texts(guest(**asked)) if "person-" in text] == []


def test_notices_quote_no_ids_for_a_guest_of_numbers_only(tmp_path: Path) -> None:
    """Notices are stored with the ids that they quote, in runs, tests, experiments and reports."""
    store = open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")
    admin, names = Workspace(store, person=Person("ann", "admin")), [f"person-{n}" for n in range(40)]
    truth = pd.DataFrame({"user_id": names, "item_id": ["a", "b"] * 20})
    train = pd.DataFrame({"user_id": [name.upper() for name in names], "item_id": ["c", "d"] * 20})
    films = admin.experiments.create("films", truth, train=train, depth=2).id
    as_written = pd.DataFrame({"user_id": [*names[:30], *train["user_id"][30:]], "item_id": "a", "rank": 1})
    admin.runs.add(films, as_written, name="als", accept_unknown_ids=True)
    units = [f"person-00{n}" for n in range(40)]
    spelled = pd.Series(range(40)).map("{:03d}".format)
    exposures = pd.DataFrame({"unit_id": spelled, "variant": ["A", "B"] * 20, "ts": range(10**9, 10**9 + 40)})
    events = pd.DataFrame({"unit_id": spelled.str.lstrip("0").replace("", "0"), "session_id": units})
    events = events.assign(ts=10**9 + 50, event="click", item_id="a")
    admin.online_tests.add(films, "March", {"exposures": exposures, "events": events}, control="A")
    question = Reports(admin).question(films)
    snapshot = Reports(admin).make(question, ["caveats"], title="Films").id
    live = Reports(admin).make(question, ["caveats"], title="Today", live=True).id
    quoting = re.compile(r"person-\d|such as '\d", re.IGNORECASE)

    def told(reader: Workspace) -> list[str]:
        """By where it is read: the texts of notices about users."""
        answers = {
            "runs": reader.runs.all(films),
            "tests": reader.online_tests.all(films),
            "snapshot": [Reports(reader).file(snapshot, form).content for form in ("html", "json")],
            "live": Reports(reader).file(live, "md").content,
        }
        return [where for where, answer in answers.items() if any(map(quoting.search, texts(answer)))]

    guest = Person("guest of ann", "viewer", films)
    limited = replace(guest, numbers_only=True)
    assert told(admin) == told(admin.seen_by(guest)) == ["runs", "tests", "snapshot", "live"]
    assert told(admin.seen_by(limited)) == []
    (run,) = admin.seen_by(limited).runs.all(films)
    assert [notice.code for notice in run.notices] == [
        notice.code for notice in admin.runs.all(films)[0].notices
    ]
    store.close()


def texts(found: Any) -> Iterator[str]:
    """All texts in an answer: in its fields, rows, keys and files; what services hold for themselves is not
    part of it.
    """
    if isinstance(found, str | bytes):
        yield found if isinstance(found, str) else found.decode("utf-8", "replace")
    elif isinstance(found, pd.DataFrame):
        yield from texts([found.index.tolist(), found.columns.tolist(), found.to_numpy().tolist()])
    elif isinstance(found, np.ndarray):
        yield from texts(found.tolist() if found.dtype.kind in "OSU" else [])
    elif isinstance(found, Mapping):
        yield from texts([*found.keys(), *found.values()])
    elif isinstance(found, Sequence | set | frozenset):
        for one in found:
            yield from texts(one)
    elif is_dataclass(found) and not type(found).__module__.startswith("recdash.service.context"):
        yield from texts([getattr(found, field.name) for field in fields(found)])


def looked_at(found: Any, run_id: str) -> None:
    """What is read only when somebody looks at it is looked at."""
    if hasattr(found, "replicate_values"):
        found.values(run_id, "ndcg", 2)


@pytest.mark.parametrize("role", ["guest", "viewer"])
def test_what_services_ask_of_each_other_writes_nothing_for_a_reader(house: House, role: str) -> None:
    reader, before = house.seen_by(role), house.admin.store.audit.events()
    scored = house.admin.runs.prepare(house.mine["experiment_id"], LISTS, name="once more")[0]
    for write in (
        reader._context.must_be_editor,
        reader._context.writable_store,
        lambda: reader.journal.writing("ann", ""),
        lambda: reader.journal.add(Writing("ann"), house.mine["experiment_id"], "comment", "x", {}),
        lambda: reader.runs.add_scored(house.mine["experiment_id"], scored, "no-file", {}),
    ):
        with pytest.raises(Forbidden):
            write()
    assert house.admin.store.audit.events() == before


def test_a_guest_reads_nothing_of_what_an_admin_has_read_before(house: House) -> None:
    """Answers are kept by ids: a guest's are kept apart."""
    guest, (run, _), home = house.seen_by("guest"), house.other["run_ids"], house.other["experiment_id"]
    reads = [
        lambda of: of._context.settings_of(home),
        lambda of: of._data.reference(home),
        lambda of: of._data.tables(home),
        lambda of: of._data.hits(run),
        lambda of: of._data.cached_run(run),
        lambda of: of._values.inputs(run),
        lambda of: of._values.user_values(run, "ndcg", 2),
    ]
    for read in reads:
        read(house.admin)
        with pytest.raises(NotFound):
            read(guest)


def test_each_person_has_one_workspace_and_all_share_what_was_read(house: House) -> None:
    bob = Person("bob", "editor")
    assert house.admin.seen_by(bob) is house.admin.seen_by(bob)
    assert house.admin.seen_by(bob).person == bob
    assert house.admin.seen_by(bob)._data.hits is house.admin._data.hits
    assert house.seen_by("guest")._data.hits is not house.admin._data.hits


def test_what_a_guest_may_list_is_of_one_experiment(house: House) -> None:
    guest = house.seen_by("guest")
    assert [one.name for one in guest.experiments.all(archived=True)] == ["films"]
    assert not guest.demo.exists()
    assert guest.sharing.saved_view("view-of-films").experiment == house.mine["experiment_id"]
    with pytest.raises(NotFound):
        guest.sharing.saved_view("view-of-songs")
    told = guest.track_records.of("ndcg", 2, "sessions_per_user")
    assert {point.experiment for point in told.points} <= {"films"}


def test_nobody_reads_a_file_of_another_experiment_by_its_hash(house: House) -> None:
    guest, other = house.seen_by("guest"), house.admin.store.runs.get(house.other["run_id"])
    mine = house.admin.store.runs.get(house.mine["run_id"])
    shared = set(mine.hits.values()) & set(other.hits.values())
    foreign = next(sha for sha in other.hits.values() if sha not in shared)
    assert guest.store.artifacts.path(next(iter(mine.hits.values()))).is_file()
    with pytest.raises(NotFound):
        guest.store.artifacts.path(foreign)


def test_a_viewer_reads_everything_that_a_guest_and_an_editor_read(house: House) -> None:
    asked = (house.mine["run_ids"], ("ndcg",), 2)
    boards = [house.seen_by(role).scores.scoreboard(*asked) for role in ("guest", *ROLES)]
    for board in boards[1:]:
        pd.testing.assert_frame_equal(board, boards[0])


def test_writing_past_the_workspace_is_refused_too(house: House) -> None:
    for role in ("guest", "viewer"):
        store = house.seen_by(role).store
        with pytest.raises(Forbidden):
            store.runs.update(house.mine["run_id"], name="mine")
        with pytest.raises(Forbidden):
            store.artifacts.put(pd.DataFrame({"a": [1]}))
    assert house.admin.store.runs.get(house.mine["run_id"]).name == "films-als"


def test_a_link_is_taken_back_by_who_made_it_or_by_an_admin(house: House) -> None:
    link = house.seen_by("editor").sharing.share(house.mine["experiment_id"]).link
    carol = house.admin.seen_by(Person("carol", "editor"))
    with pytest.raises(Forbidden, match="admins"):
        carol.sharing.revoke(link.id)
    assert house.seen_by("editor").sharing.revoke(link.id).revoked is not None
    assert house.admin.sharing.revoke(link.id) == house.admin.store.share_links.get(link.id)


def test_the_log_names_who_did_it(house: House) -> None:
    house.admin.seen_by(Person("dora", "editor")).runs.set_note(house.mine["run_id"], "seen by dora")
    last = house.admin.audit.events(1)[0]
    assert (last.who, last.role, last.action) == ("dora", "editor", "change run")
    details = {name: value for name, value in last.details.items() if name != SEALS}
    assert details == {"experiment": house.mine["experiment_id"], "note": "seen by dora"}
    assert house.admin.audit.breaks() == []


def test_refusals_are_words_for_a_person() -> None:
    with pytest.raises(RecdashError, match="Ask an admin for the role editor"):
        Person("ann", "viewer").must_be("editor")
    with pytest.raises(RecdashError, match="Only admins"):
        Person("ann", "editor").must_be("admin")
