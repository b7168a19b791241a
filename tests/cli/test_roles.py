"""Which command is for whom: one without a row here fails, and whoever may too little writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from interleaved_tables import team_draft
from terminal import Recdash

from recdash.cli import main
from recdash.domain.access import ROLES, AccessRole, Person
from recdash.online.metrics import OnlineMetric
from recdash.report.reports import Reports
from recdash.service import Workspace, context, workspace
from recdash.service.access import maintenance
from recdash.store import open_store

FILES = {
    "truth.csv": "user_id,item_id\n" + "".join(f"u{n},i{n}\n" for n in range(30)),
    "als.csv": "user_id,item_id,rank\n" + "".join(f"u{n},i{n},1\n" for n in range(30)),
    "pop.csv": "user_id,item_id,rank\n" + "".join(f"u{n},x,1\nu{n},i{n},2\n" for n in range(30)),
    "sessions.csv": "unit_id,session_id,variant,start_ts,clicks,watch_s\n"
    + "".join(
        f"u{n},s{n},{'AB'[n % 2]},2026-03-{1 + n % 14:02}T09:00Z,{n % 3},{60 * (n % 5)}\n" for n in range(60)
    ),
    "bandit.csv": "item_id,click,propensity_score\n" + "".join(f"i{n % 3},{n % 2},0.34\n" for n in range(90)),
}
OF_FILMS = ("--experiment", "films")
LEAST: dict[str, tuple[AccessRole, tuple[str, ...]]] = {
    "evaluate": ("viewer", ("--truth", "truth.csv", "--run", "als.csv", "--metrics", "recall@1")),
    "compare": ("viewer", (*OF_FILMS, "--baseline", "pop", "--metric", "ndcg@2")),
    "gate": (
        "viewer",
        (
            *OF_FILMS,
            "--baseline",
            "als",
            "--candidate",
            "pop",
            "--rule",
            "ndcg@2 >= -0.9",
            "--inconclusive",
            "pass",
        ),
    ),
    "online": ("viewer", OF_FILMS),
    "interleave": ("viewer", OF_FILMS),
    "metrics list": ("editor", ()),
    "metrics add": ("editor", ("taps=clicks",)),
    "metrics remove": ("editor", ("plain",)),
    "plan": ("viewer", ("films",)),
    "agree": ("viewer", (*OF_FILMS, "--metric", "ndcg@2")),
    "why": ("viewer", (*OF_FILMS, "--metric", "ndcg@2")),
    "ope": ("viewer", ("--log", "bandit.csv", "--target", "uniform")),
    "list": ("viewer", ()),
    "definitions": ("viewer", (*OF_FILMS, "--run", "als", "--metric", "ndcg@2")),
    "digest": ("viewer", ()),
    "mcp": ("viewer", ()),
    "report": ("viewer", (*OF_FILMS, "--metric", "ndcg@2", "-o", "r.json")),
    "reproduce": ("viewer", ("kept.json",)),
    "decisions": ("viewer", OF_FILMS),
    "review show": ("viewer", OF_FILMS),
    "views": ("viewer", OF_FILMS),
    "settings": ("viewer", ("films",)),
    "rename": ("editor", (*OF_FILMS, "--run", "als", "ALS v3")),
    "tag": ("editor", (*OF_FILMS, "--run", "als", "autumn")),
    "note": ("editor", (*OF_FILMS, "Well.")),
    "archive": ("editor", (*OF_FILMS, "--run", "als")),
    "unarchive": ("editor", (*OF_FILMS, "--run", "als")),
    "delete": ("editor", (*OF_FILMS, "--run", "als", "--yes")),
    "add": ("editor", ("--experiment", "more", "--truth", "truth.csv", "--run", "als.csv")),
    "import mlflow": ("editor", ("films", "--tracking-uri", "http://127.0.0.1:1")),
    "import wandb": ("editor", ("films", "wandb")),
    "export mlflow": ("editor", ("films", "--tracking-uri", "http://127.0.0.1:1")),
    "demo": ("editor", ()),
    "decide": ("editor", (*OF_FILMS, "--outcome", "inconclusive", "--text", "Few users.")),
    "review propose": ("editor", (*OF_FILMS, "--run", "als")),
    "review offline": ("editor", OF_FILMS),
    "review online": ("editor", OF_FILMS),
    "review comment": ("editor", (*OF_FILMS, "--text", "Well.")),
    "share": ("editor", OF_FILMS),
    "links": ("editor", OF_FILMS),
    "revoke": ("editor", ("LINK",)),
    "tokens create": ("admin", ("nightly",)),
    "tokens list": ("admin", ()),
    "tokens revoke": ("admin", ("TOKEN",)),
    "audit": ("admin", ()),
    "check": ("admin", ()),
    "verify": ("admin", ()),
    "backup": ("admin", ("new.tar",)),
    "gc": ("admin", ()),
    "purge": ("admin", ("--user", "u", "--yes")),
    "restore": ("admin", ("kept.tar", "--replace")),
}
NOT_OF_A_STORE = ["presets", "inspect", "limits", "push", "serve"]
"""The first three read no store; the next asks a server (tests/client), and the last starts the server, which
asks everybody who they are: tests/server/test_server.py.
"""


def commands(group: click.Group = main, before: str = "") -> Iterator[str]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{name} ")
        else:
            yield before + name


def test_every_command_says_who_may_use_it() -> None:
    assert sorted(commands()) == sorted([*LEAST, *NOT_OF_A_STORE])


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with an experiment, its runs, two tests, a metric, a review, a report and a share link."""
    home = tmp_path_factory.mktemp("furnished")
    for name, content in FILES.items():
        (home / name).write_text(content)
    (home / "wandb").mkdir()
    (home / "wandb" / "lists.csv").write_text(FILES["pop.csv"].replace(",x,", ",i0,"))
    store = open_store(f"sqlite:///{home}/store/recdash.db", home / "store" / "artifacts")
    space = Workspace(store, person=Person("ann", "admin"))
    films = space.experiments.create("films", home / "truth.csv", depth=2)
    runs = {
        name: space.runs.add(films.id, home / f"{name}.csv", name=name)[0].run.id for name in ("pop", "als")
    }
    links = {"A": runs["pop"], "B": runs["als"]}
    space.online_tests.add(films.id, "March", {"sessions": home / "sessions.csv"}, control="A", links=links)
    teams = team_draft(25, 4).replace({"team": {"popular": "A", "als": "B"}})
    space.interleaving.add(films.id, "April", teams, control="A", links=links)
    space.metric_library.add(OnlineMetric("plain", "Plain", "per user", "", "clicks", role="other"))
    space.reviews.propose(films.id, runs["als"])
    question = Reports(space).question(
        films.id, space.queries.of(films.id, [runs["als"]], runs["pop"], "ndcg", 2)
    )
    Reports(space).write(question, home / "kept.json")
    (home / "link").write_text(space.sharing.share(films.id).link.id)
    (home / "token").write_text(space.tokens.create("weekly").token.id)
    space.maintenance.back_up(home / "kept.tar")
    store.close()
    return home


@pytest.fixture
def here(furnished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Recdash) -> Recdash:
    """The command line in a copy of it."""
    import shutil

    shutil.copytree(furnished, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return run


def as_role(role: AccessRole, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (context, workspace, maintenance):
        monkeypatch.setattr(place, "local_person", lambda: Person("bob", role))


def deeds(folder: Path) -> int:
    store = open_store(f"sqlite:///{folder}/store/recdash.db", folder / "store" / "artifacts")
    result = len(store.audit.events())
    store.close()
    return result


CASES = [(name, role) for name, (least, _) in LEAST.items() for role in ROLES[: ROLES.index(least) + 1]]


def test_setting_rules_is_for_editors(here: Recdash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = deeds(tmp_path)
    as_role("viewer", monkeypatch)
    for options in (("--margin", "2%"), ("--baseline", "als")):
        refused = here("settings", "films", *options)
        assert (refused.exit_code, "Ask an admin" in refused.stderr) == (2, True), refused.output
    assert deeds(tmp_path) == before


@pytest.mark.parametrize(("name", "role"), CASES)
def test_a_command_is_for_its_role_and_for_none_below(
    here: Recdash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, role: AccessRole
) -> None:
    least, options = LEAST[name]
    may = role == least
    if may and name in ("demo", "revoke", "import mlflow", "export mlflow"):
        # tests/cli/test_cli.py loads the demo; a link of another person is taken back by admins;
        # tests/trackers has a server of MLflow
        return
    ids = {"LINK": (tmp_path / "link").read_text(), "TOKEN": (tmp_path / "token").read_text()}
    before = deeds(tmp_path)
    as_role(role, monkeypatch)
    result = here(*name.split(), *[ids.get(option, option) for option in options])
    if may:
        assert result.exit_code == 0, result.output
    else:
        words = "Only admins can do this" if least == "admin" else "Ask an admin"
        assert (result.exit_code, words in result.stderr) == (2, True), result.output
        assert deeds(tmp_path) == before
