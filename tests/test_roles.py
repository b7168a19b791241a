"""Who may do what, asked of every public method of the workspace: a new one without a row here fails."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pytest

from recdash.domain.access import ROLES, Person, Role
from recdash.errors import Forbidden, NotFound, RecdashError
from recdash.service import Workspace
from recdash.store import open_store

READS = [
    "ab_results", "absences", "agreement", "attributes", "best_metric", "by_segment", "card",
    "card_verdict", "cards", "change_bars", "changes", "comparability", "compare", "curves", "damaged",
    "decision", "decisions", "decisive_users", "delta_curves", "depth", "detectable", "digest", "experiment",
    "experiment_named", "experiments", "explain", "first_ids", "found_items", "guide", "has_demo",
    "headroom", "id_overlap", "journal", "last_decision", "leaders_by_k", "list_ends", "list_overlap",
    "list_pulls", "metrics_of", "more_users", "offline_online", "online_fading", "online_lifts",
    "online_metric", "online_metrics", "online_results", "online_rules", "online_segments",
    "online_test_named", "online_tests", "online_totals", "online_users", "over_time", "own_metrics",
    "pairs", "population_effect", "preset_causes", "presets", "preview", "question", "ranks",
    "reference_choices", "replicate_differences", "replicates", "report", "report_content",
    "report_document", "report_file", "reports", "reversals", "review", "reviews", "runs", "same_truth",
    "saved_view", "saved_views", "scopes", "scoreboard", "segmented", "segments", "shown_by", "since",
    "sliced", "slices", "source", "spread", "standing", "tests_for", "thresholds", "tie_band",
    "track_record", "trade_off", "try_online_test", "under_presets", "unreadable", "user_changes",
    "user_lists", "user_slices", "user_values", "value", "value_bars", "values", "verdict",
    "worked_example", "write_report",
]  # fmt: skip
CHANGES = [
    "add_offline_evidence", "add_online_evidence", "add_online_test", "add_references", "add_runs",
    "archive_experiment", "archive_online_test", "archive_report", "archive_run", "comment",
    "create_experiment", "decide", "delete_experiment", "delete_online_test", "delete_report",
    "delete_run", "forget_view", "link_variants", "load_demo", "make_report", "note_experiment",
    "note_run", "prepare_references", "prepare_runs", "propose", "read_setup", "remove_demo",
    "rename_experiment", "rename_run", "restore_experiment", "restore_online_test", "restore_report",
    "restore_run", "revoke", "save_view", "set_baseline", "set_online_metrics", "set_online_rules",
    "set_params", "share", "share_links", "store_runs", "store_setup", "tag_run",
]  # fmt: skip
ADMINS = ["audit_altered", "audit_breaks", "audit_log", "check"]
# Of the server and of nobody who asks it: they take or give what decides who somebody is.
OF_THE_SERVER = ["guest_of", "link_state", "open", "secret", "seen_by", "shared", "shared_report"]
LEAST: dict[str, Role] = {
    **dict.fromkeys(READS, "viewer"),
    **dict.fromkeys(CHANGES, "editor"),
    **dict.fromkeys(ADMINS, "admin"),
}

TRUTH = pd.DataFrame({"user_id": ["u", "v", "w"], "item_id": ["a", "b", "c"]})
LISTS = pd.DataFrame(
    {"user_id": ["u", "v", "w", "u", "v", "w"], "item_id": [*"abc", *"xyz"], "rank": [1, 1, 1, 2, 2, 2]}
)
OTHERS = LISTS.assign(rank=[2, 2, 2, 1, 1, 1])
SESSIONS = pd.DataFrame(
    {
        "unit_id": [f"p{number}" for number in range(40)],
        "session_id": [f"s{number}" for number in range(40)],
        "variant": ["A", "B"] * 20,
        "start_ts": pd.date_range("2026-03-01", periods=40, freq="h", tz="UTC"),
        "clicks": [number % 3 for number in range(40)],
        "watch_s": [60 * (number % 5) for number in range(40)],
    }
)


@dataclass(frozen=True)
class House:
    """A store with two experiments of two runs and a test each, and everybody's view of it."""

    admin: Workspace
    mine: Mapping[str, Any]
    other: Mapping[str, Any]

    def seen_by(self, role: str) -> Workspace:
        if role == "guest":
            return self.admin.seen_by(Person("guest of ann", "viewer", self.mine["experiment_id"]))
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
    more = pd.DataFrame({"user_id": ["u"] * len(also), "item_id": list(also)})
    made = space.create_experiment(name, pd.concat([TRUTH, more]), depth=2)
    als, ease = (
        space.add_runs(made.id, table, name=f"{name}-{run}")[0].run
        for run, table in {"als": LISTS, "ease": OTHERS}.items()
    )
    test = space.add_online_test(made.id, "March", {"sessions": SESSIONS}, control="A", links={"B": als.id})
    view = space.save_view(made.id, f"view-of-{name}", "leaderboard", {"k": "2"})
    link = space.share(made.id).link
    proposed = space.propose(made.id, als.id, baseline=ease.id, metric="ndcg", k=2)
    decided = space.decide(made.id, "inconclusive", run_id=als.id, text="Three users.", k=2)
    question = space.question(made.id, [als.id], ease.id, "ndcg", 2)
    report = space.make_report(question, ["defined"], title=name)
    return {
        "experiment_id": made.id, "where": made.id, "run_id": als.id, "run_ids": (als.id, ease.id),
        "baseline_id": ease.id, "test_id": test.id, "view_id": view.id, "link_id": link.id,
        "name": name, "typed_name": name, "setup": space.read_setup(f"{name} again", TRUTH),
        "links": {"B": als.id}, "proposal_id": proposed.id, "decision_id": decided.id,
        "entry_id": proposed.id, "about": proposed.id, "question": question, "report_id": report.id,
    }  # fmt: skip


GIVEN: dict[str, Any] = {
    "metric": "ndcg", "metrics": ("ndcg", "recall"), "k": 2, "online_metric": "watch_per_user",
    "by": "user_history", "attribute": "genre", "variant": "B", "segment": "plan", "effect": 0.05,
    "how": "daily", "names": "popular", "source": LISTS, "tables": {"sessions": SESSIONS}, "truth": TRUTH,
    "kind": "run", "user_id": "u", "rules": None, "tags": ("t",), "note": "n", "params": {},
    "page": "overview", "prepared": (), "text": "because", "outcome": "ship", "title": "A report",
    "file": "no-folder/report.json",
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


def public_methods() -> list[str]:
    return [name for name, _ in inspect.getmembers(Workspace, inspect.isroutine) if not name.startswith("_")]


def test_every_public_method_says_who_may_use_it() -> None:
    assert sorted(public_methods()) == sorted([*LEAST, *OF_THE_SERVER])


@pytest.mark.parametrize("role", ["guest", "viewer", "editor"])
@pytest.mark.parametrize("name", [*CHANGES, *ADMINS])
def test_who_may_too_little_is_refused_and_nothing_is_written(house: House, name: str, role: str) -> None:
    least = ROLES.index(LEAST[name])
    if role != "guest" and ROLES.index(role) >= least:  # type: ignore[arg-type]
        return
    before = house.admin.store.deeds()
    method = getattr(house.seen_by(role), name)
    with pytest.raises(Forbidden):
        method(**arguments(method, house.mine))
    assert house.admin.store.deeds() == before


@pytest.mark.parametrize("name", READS)
def test_a_guest_finds_nothing_of_another_experiment(house: House, name: str) -> None:
    guest = house.seen_by("guest")
    method = getattr(guest, name)
    asked = arguments(method, house.other)
    if not asked.keys() - GIVEN.keys():
        return  # of nothing in particular: see the listings below
    if name in ("preview", "saved_view"):
        return  # reads a file that is handed in; see below
    with pytest.raises((NotFound, Forbidden)):
        looked_at(method(**asked), house.other["run_id"])


def looked_at(found: Any, run_id: str) -> None:
    """What is read only when somebody looks at it is looked at."""
    if hasattr(found, "replicate_values"):
        found.values(run_id, "ndcg", 2)


def test_what_a_guest_may_list_is_of_one_experiment(house: House) -> None:
    guest = house.seen_by("guest")
    assert [one.name for one in guest.experiments(archived=True)] == ["films"]
    assert not guest.has_demo()
    assert guest.saved_view("view-of-films").experiment == house.mine["experiment_id"]
    with pytest.raises(NotFound):
        guest.saved_view("view-of-songs")
    told = guest.track_record("ndcg", 2, "watch_per_user")
    assert {point.experiment for point in told.points} <= {"films"}


def test_nobody_reads_a_file_of_another_experiment_by_its_hash(house: House) -> None:
    guest, other = house.seen_by("guest"), house.admin.store.run(house.other["run_id"])
    mine = house.admin.store.run(house.mine["run_id"])
    shared = set(mine.hits.values()) & set(other.hits.values())
    foreign = next(sha for sha in other.hits.values() if sha not in shared)
    assert guest.store.path(next(iter(mine.hits.values()))).is_file()
    with pytest.raises(NotFound):
        guest.store.path(foreign)


def test_a_viewer_reads_everything_that_a_guest_and_an_editor_read(house: House) -> None:
    asked = (house.mine["run_ids"], ("ndcg",), 2)
    boards = [house.seen_by(role).scoreboard(*asked) for role in ("guest", *ROLES)]
    for board in boards[1:]:
        pd.testing.assert_frame_equal(board, boards[0])


def test_writing_past_the_workspace_is_refused_too(house: House) -> None:
    for role in ("guest", "viewer"):
        store = house.seen_by(role).store
        with pytest.raises(Forbidden):
            store.update_run(house.mine["run_id"], name="mine")
        with pytest.raises(Forbidden):
            store.put(pd.DataFrame({"a": [1]}))
    assert house.admin.store.run(house.mine["run_id"]).name == "films-als"


def test_a_link_is_taken_back_by_who_made_it_or_by_an_admin(house: House) -> None:
    link = house.seen_by("editor").share(house.mine["experiment_id"]).link
    carol = house.admin.seen_by(Person("carol", "editor"))
    with pytest.raises(Forbidden, match="admins"):
        carol.revoke(link.id)
    assert house.seen_by("editor").revoke(link.id).revoked is not None
    assert house.admin.revoke(link.id) == house.admin.store.share_link(link.id)


def test_the_log_names_who_did_it(house: House) -> None:
    house.admin.seen_by(Person("dora", "editor")).note_run(house.mine["run_id"], "seen by dora")
    last = house.admin.audit_log(1)[0]
    assert (last.who, last.role, last.action) == ("dora", "editor", "change run")
    assert last.details == {"experiment": house.mine["experiment_id"], "note": "seen by dora"}
    assert house.admin.audit_breaks() == []


def test_refusals_are_words_for_a_person() -> None:
    with pytest.raises(RecdashError, match="ask an editor"):
        Person("ann", "viewer").must_be("editor")
    with pytest.raises(RecdashError, match="Only admins"):
        Person("ann", "editor").must_be("admin")
