"""No command writes a control character to the terminal, whatever files, the store or arguments hold."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from conftest import settings_of
from decision_worlds import films, sessions
from interleaved_tables import team_draft

import recdash
import recdash.cli
from recdash.cli import main
from recdash.errors import InputError
from recdash.formatting.sanitize import check_name, visible
from recdash.service import Workspace
from recdash.settings import settings

RED, CSI, OVERRIDE, HIDDEN = "\x1b[31m", "\x9b2J", "\u202e", "\u200b"
HOSTILE = f"x{RED}{CSI}{OVERRIDE}{HIDDEN}\rFORGED\x07"
"""Colours, clears the screen, turns the direction, hides, writes over the line and rings the bell."""
IN_FILES = f"x{RED}{CSI}{OVERRIDE}{HIDDEN}FORGED"
"""What a text file may hold: bells and ends of lines make it binary, or another row."""
BAD = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""What no output may hold; line ends are its own."""
SHOWN = r"x\u001b[31m\u009b2J\u202e\u200bFORGED"
"""How what files hold is written out."""


def leaves(group: click.Group = main, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command of the parser, as its words."""
    for name, command in group.commands.items():
        words = (*above, name)
        if isinstance(command, click.Group):
            yield from leaves(command, words)
        else:
            yield words


def command_of(words: Sequence[str]) -> click.Command:
    command: click.Command = main
    for word in words:
        assert isinstance(command, click.Group)
        command = command.commands[word]
    return command


COMMANDS = list(leaves())


def ids(table: pd.DataFrame) -> pd.DataFrame:
    """The table with hostile ids in place of its own."""
    names = {name: table[name].map(lambda one: f"{IN_FILES}{one}") for name in ("user_id", "item_id")}
    return table.assign(**names)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Result]]:
    """``call(words)`` in a folder with hostile files and a store whose every name is hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, value in settings_of(folder / "store").items():
            patch.setenv(name, value)
        settings.cache_clear()
        _write_files(folder)
        _fill_store(Workspace.open())
        yield lambda *words: CliRunner().invoke(main, words)


def _write_files(folder: Path) -> None:
    from decision_worlds import RUNS, TRAIN, TRUTH

    tables = {"truth": TRUTH, "train": TRAIN, "als": RUNS["als"], "ease": RUNS["ease"]}
    for name, table in tables.items():
        ids(table).to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
    (folder / f"{IN_FILES}run").mkdir()
    ids(RUNS["als"]).to_csv(folder / f"{IN_FILES}run" / "lists.csv", index=False)
    items = ids(TRUTH)["item_id"]
    kinds = [IN_FILES + str(place % 3) for place in range(len(items))]
    pd.DataFrame({"item_id": items, "kind": kinds}).to_csv(folder / "catalogue.csv", index=False)
    users = pd.DataFrame({"user_id": ids(TRUTH)["user_id"], "land": kinds})
    users.to_csv(folder / "users.csv", index=False)
    variants = {f"{HIDDEN}old": 80, f"{HIDDEN}new": 140}
    sessions(variants).to_csv(folder / "sessions.csv", index=False)
    drafted = team_draft(25, 4)
    drafted.assign(team=IN_FILES + drafted["team"]).to_csv(folder / "interleaved.csv", index=False)
    log = pd.DataFrame({"item_id": items, "click": 1, "propensity_score": 0.5, f"dev{IN_FILES}": "a"})
    log.to_csv(folder / "log.csv", index=False)
    log.assign(user_id=TRUTH["user_id"]).to_csv(folder / "users_log.csv", index=False)


def _fill_store(space: Workspace) -> None:
    """Names like these are refused today; an old store may hold them."""
    made = films(space)
    variants = {f"{HIDDEN}old": 80, f"{HIDDEN}new": 140}
    links = {f"{HIDDEN}old": made["popular"], f"{HIDDEN}new": made["als"]}
    test = space.online_tests.add(
        made["films"], "t", {"sessions": sessions(variants)}, control=f"{HIDDEN}old", links=links
    )
    space.store.online_tests.update(test.id, name=f"{HOSTILE}t")
    for name in ("popular", "als", "ease"):
        space.store.runs.update(made[name], name=f"{HOSTILE}{name}", tags=(HOSTILE,), note=HOSTILE)
    space.store.experiments.update(made["films"], name=f"{HOSTILE}films", note=HOSTILE)
    space.reviews.propose(made["films"], made["als"], text=HOSTILE)
    space.sharing.save_view(made["films"], "mine", "leaderboard", {"q": HOSTILE})
    space.sharing.share(made["films"], label=HOSTILE)
    _fill_spare(space)


def _fill_spare(space: Workspace) -> None:
    """An experiment for what changes it: the others stay as they are."""
    from decision_worlds import RUNS, TRUTH

    spare = space.experiments.create("spare", TRUTH)
    for name in ("a", "b", "c"):
        lists = RUNS["als"].assign(item_id=RUNS["als"]["item_id"] + ("" if name == "a" else name))
        run = space.runs.add(spare.id, lists, name=name, accept_unknown_ids=True)[0].run
        space.store.runs.update(run.id, name=f"{HOSTILE}{name}")
    space.store.experiments.update(spare.id, name=f"{HOSTILE}spare")


FILMS = ("--experiment", f"{HOSTILE}films")
SPARE = ("--experiment", f"{HOSTILE}spare")
FILES = ("--truth", "truth.csv", "--run", "als=als.csv", "--run", "ease=ease.csv", "--train", "train.csv")
PARTS = ("--user-attributes", "users.csv", "--slice", "user:land")
CALLS: dict[tuple[str, ...], list[tuple[str, ...]]] = {
    ("evaluate",): [
        (*FILES, *PARTS, "--catalogue", "catalogue.csv", "--metrics", "ndcg@3,coverage_by(kind)@3", *form)
        for form in (("--shown-by", "kind"), ("--shown-by", "kind", "--format", "json"), ("--format", "csv"))
    ],
    ("compare",): [(*FILES, "--baseline", "als", "--metric", "ndcg@3"),
                   (*FILMS, "--baseline", f"{HOSTILE}als", "--metric", "ndcg@3", "--format", "json")],
    ("gate",): [
        *(("--truth", "truth.csv", "--baseline", "a=als.csv", "--candidate", "b=ease.csv", "--rule",
           "ndcg@3 >= -0.9", "--link", f"https://a.org/{HIDDEN}", "--format", form)
          for form in ("text", "json", "junit", "markdown")),
        (*FILMS, "--baseline", f"{HOSTILE}popular", "--candidate", f"{HOSTILE}als", "--rule", "ndcg@3 >= 0"),
    ],
    ("online",): [
        (*source, "--format", form)
        for source in (("--sessions", "sessions.csv", "--control", f"{HIDDEN}old"), FILMS)
        for form in ("text", "json")
    ],
    ("interleave",): [("interleaved.csv", "--format", form) for form in ("text", "json")],
    ("plan",): [
        (f"{HOSTILE}films", "--test", HOSTILE, "--primary", "videos_per_user", "--effect", "5%",
         "--mean", "3", "--std-dev", "4", "--reason", HOSTILE),
        (f"{HOSTILE}films", "--format", "json"),
        *(("--primary", "sessions_per_user", "--effect", "5%", "--baseline", "sessions.csv",
           "--control", f"{HIDDEN}old", "--format", form) for form in ("text", "json")),
    ],
    ("metrics", "add"): [(f"clicks_{RED}=clicks",)],
    ("metrics", "list"): [(), ("--format", "json")],
    ("metrics", "remove"): [("taps",)],
    ("agree",): [(*FILMS, "--metric", "ndcg@3", "--format", form) for form in ("text", "json")],
    ("ope",): [
        *(("--log", "log.csv", "--format", form) for form in ("text", "json")),
        *(("--log", "users_log.csv", *FILMS, "--run", f"{HOSTILE}als", "--format", form)
          for form in ("text", "json")),
    ],
    ("why",): [(*FILMS, "--metric", "ndcg@3", "--format", form) for form in ("text", "json")],
    ("report",): [(*FILMS, "--metric", "ndcg@3", "-o", f"{RED}.json", "--title", HOSTILE, "--keep")],
    ("reproduce",): [("made.json",), ("made.json", "--format", "json")],
    ("add",): [("--experiment", "new", *FILES, "--tag", "a", "--sessions", "s=sessions.csv",
                "--control", f"{HIDDEN}old")],
    ("import", "wandb"): [("imported", f"{IN_FILES}run", "--file", "truth.csv", "--format", form)
                          for form in ("text", "json")],
    ("list",): [(), ("--format", "json")],
    ("definitions",): [(*FILMS, "--run", f"{HOSTILE}als", "--metric", "ndcg@3", "--format", form)
                       for form in ("text", "json")],
    ("settings",): [(f"{HOSTILE}spare",), (f"{HOSTILE}spare", "--format", "json")],
    ("rename",): [(*SPARE, "--run", f"{HOSTILE}a", "a")],
    ("tag",): [(*SPARE, "--run", f"{HOSTILE}b", "autumn")],
    ("note",): [(*SPARE, "--run", f"{HOSTILE}b", "Better.")],
    ("archive",): [(*SPARE, "--run", f"{HOSTILE}b")],
    ("unarchive",): [(*SPARE, "--run", f"{HOSTILE}b")],
    ("delete",): [(*SPARE, "--run", f"{HOSTILE}c", "--yes")],
    ("presets",): [(), ("recbole",)],
    ("demo",): [("--online", f"out{RED}", "--users", "50", "--lift", "engagement_rate=0.1")],
    ("share",): [(*FILMS, "--label", HOSTILE)],
    ("links",): [FILMS, (*FILMS, "--format", "json")],
    ("revoke",): [("LINK",)],
    ("tokens", "create"): [(HOSTILE,)],
    ("tokens", "list"): [(), ("--format", "json")],
    ("tokens", "revoke"): [("TOKEN",)],
    ("views",): [FILMS, (*FILMS, "--format", "json")],
    ("audit",): [(), ("--format", "json")],
    ("check",): [(), ("--format", "json")],
    ("verify",): [(), ("--format", "json")],
    ("gc",): [(), ("--dry-run",)],
    ("purge",): [("--user", HOSTILE, "--yes")],
    ("backup",): [(f"{RED}.tar",)],
    ("inspect",): [("als.csv", "--as", "run", "--truth", "truth.csv", "--format", form)
                   for form in ("text", "json")],
    ("limits",): [(), ("--format", "json")],
    ("decide",): [(*FILMS, "--outcome", "inconclusive", "--run", f"{HOSTILE}ease", "--text", HOSTILE)],
    ("decisions",): [FILMS, (*FILMS, "--format", "json")],
    ("review", "propose"): [(*FILMS, "--run", f"{HOSTILE}ease", "--text", HOSTILE)],
    ("review", "offline"): [(*FILMS, "--review", f"{HOSTILE}als", "--text", HOSTILE)],
    ("review", "online"): [(*FILMS, "--review", f"{HOSTILE}als", "--text", HOSTILE)],
    ("review", "comment"): [(*FILMS, "--review", f"{HOSTILE}als", "--text", HOSTILE)],
    ("review", "show"): [FILMS, (*FILMS, "--format", "json")],
    ("digest",): [("--format", form) for form in ("md", "html", "text", "json")],
    ("mcp",): [()],
}  # fmt: skip
SERVES = {("serve",), ("restore",), ("push",), ("import", "mlflow"), ("export", "mlflow")}
"""The first ends in another program, the second needs a store that nobody has open, the others a server: only
their refusals are looked at.
"""


def test_every_command_of_the_parser_is_called() -> None:
    assert set(CALLS) | SERVES == set(COMMANDS)


def check_clean(result: Result, *words: str) -> None:
    message = result.stdout + result.stderr
    assert not isinstance(result.exception, Exception), (words, result.exception)
    assert not (strange := BAD.search(message)), (words, message[max(strange.start() - 60, 0) :][:120])


@pytest.mark.parametrize("words", [words for words in COMMANDS if words not in SERVES], ids=" ".join)
def test_a_command_that_works_writes_no_control_character(
    world: Callable[..., Result], words: tuple[str, ...]
) -> None:
    message = ""
    for call in CALLS[words]:
        result = world(*words, *prepared(call, world))
        check_clean(result, *words)
        assert result.exit_code in ({0, 1} if words == ("reproduce",) else {0}), (call, result.output)
        message += result.output
    names_nothing = {
        ("presets",),
        ("views",),
        ("ope",),
        ("add",),
        ("revoke",),
        ("tokens", "create"),
        ("tokens", "list"),
        ("tokens", "revoke"),
        ("audit",),
        ("check",),
        ("gc",),
        ("purge",),
        ("inspect",),
        ("limits",),
        ("mcp",),
        ("metrics", "add"),
        ("metrics", "list"),
        ("metrics", "remove"),
        ("review", "comment"),
    }
    assert r"\u" in message or words in names_nothing


def prepared(call: tuple[str, ...], world: Callable[..., Result]) -> tuple[str, ...]:
    """The call, with the link to revoke and the report to reproduce made."""
    if "made.json" in call:
        assert world("report", *FILMS, "--metric", "ndcg@3", "-o", "made.json").exit_code == 0
    if "taps" in call:
        assert world("metrics", "add", "taps=clicks").exit_code == 0
    if "LINK" in call:
        (link, *_) = json.loads(world("links", *FILMS, "--format", "json").stdout)
        return (link["id"],)
    if "TOKEN" in call:
        assert world("tokens", "create", "nightly").exit_code == 0
        (token, *_) = json.loads(world("tokens", "list", "--format", "json").stdout)
        return (token["id"],)
    return call


ARGUMENTS = [
    (words, param)
    for words in COMMANDS
    for param in command_of(words).params
    if not (isinstance(param, click.Option) and param.is_flag)
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_what_is_wrong_with_an_argument_is_said_without_control_characters(
    world: Callable[..., Result], words: tuple[str, ...]
) -> None:
    small = ("--users", "50") if words == ("demo",) else ()
    for _, param in (pair for pair in ARGUMENTS if pair[0] == words):
        options = [HOSTILE] if isinstance(param, click.Argument) else [param.opts[0], HOSTILE]
        check_clean(world(*words, *small, *required(words, param), *options), *words, *options)
    check_clean(world(*words, f"--{HOSTILE}"), *words)
    check_clean(world(*words, HOSTILE, HOSTILE), *words)


def required(words: tuple[str, ...], but: click.Parameter) -> list[str]:
    others = [
        parameter for parameter in command_of(words).params if parameter.required and parameter is not but
    ]
    values = {"outcome": "ship", "output": "out.json", "experiment": f"{HOSTILE}films"}
    return [
        text
        for parameter in others
        if isinstance(parameter, click.Option)
        for text in (parameter.opts[0], values.get(str(parameter.name), "truth.csv"))
    ]


def test_an_unknown_command_is_written_out(world: Callable[..., Result]) -> None:
    result = world(HOSTILE)
    check_clean(result)
    assert "No such command 'x\\x1b[31m" in result.stderr
    assert result.exit_code == 2


# ── what is written out ──────────────────────────────────────────────────────────────────────


def test_ids_of_a_file_stay_what_they_are_in_json_and_are_readable_in_text(
    world: Callable[..., Result],
) -> None:
    call = (*FILES, "--catalogue", "catalogue.csv", "--shown-by", "kind", "--metrics", "ndcg@3")
    assert f"{SHOWN}0" in world("evaluate", *call).stdout
    rows = json.loads(world("evaluate", *call, "--format", "json").stdout)["shown_by"]
    assert {f"{IN_FILES}{place}" for place in range(3)} <= {row["value"] for row in rows}


def test_names_that_look_alike_in_every_font_are_told_apart() -> None:
    assert visible("als") != visible("a\u200bls")
    assert (
        visible("می\u200cخواهم 👩\u200d💻 ❤\ufe0f naïve 日本")
        == "می\u200cخواهم 👩\u200d💻 ❤\ufe0f naïve 日本"
    )
    assert visible("a\nb") == r"a\u000ab"


@pytest.mark.parametrize("unseen", ["\u034f", "\u180b", "\ufe01", "\U000e0061", "\U000e0100", "\U000e01ef"])
def test_tags_and_selectors_of_a_variant_are_written_so_that_json_reads_them(unseen: str) -> None:
    shown = visible(f"als{unseen}")
    assert shown.isascii()
    assert json.loads(f'"{shown}"') == f"als{unseen}"
    with pytest.raises(InputError, match="invisible"):
        check_name("run", f"als{unseen}")


def test_a_traceback_is_written_out() -> None:
    """A defect of ours may repeat what a file holds."""
    code = (
        "import click, recdash.cli as c\n"
        "@c.main.command()\n"
        "def fail(): raise RuntimeError('x\\x1b[31m')\n"
        "c.main(['fail'])"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(recdash.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=False)
    assert done.returncode == 1
    assert rb"RuntimeError: x\u001b[31m" in done.stderr
    assert b"\x1b" not in done.stderr


def test_one_module_alone_writes_to_the_terminal() -> None:
    """Whatever else wrote there would have to remember what ``say`` does."""
    folder = Path(inspect.getfile(recdash.cli)).parent
    result = [
        f"{file.name}:{node.lineno}"
        for file in folder.glob("*.py")
        if file.name != "terminal.py"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if (
            isinstance(node, ast.Attribute)
            and node.attr in {"echo", "secho", "stdout", "stderr", "echo_via_pager"}
        )
        or (isinstance(node, ast.Name) and node.id == "print")
    ]
    assert result == []


# ── at the door ──────────────────────────────────────────────────────────────────────────────

LISTS = pd.DataFrame({"user_id": ["u", "v"], "item_id": ["a", "b"], "rank": [1, 1]})
TRUTH = LISTS[["user_id", "item_id"]]
NAMES = [
    "a\x1b[31m",
    "a\x9bb",
    "a\u202eb",
    "a\u200bb",
    "a\nb",
    "\ufeffa",
    "a\u2066b",
    "a\x7f",
    "a\ud800",
    "a\U000e0061",
]


@pytest.fixture
def stored(workspace: Workspace) -> tuple[Workspace, str, str]:
    made = workspace.experiments.create("films", TRUTH)
    return workspace, made.id, workspace.runs.add(made.id, LISTS, name="als")[0].run.id


@pytest.mark.parametrize("name", NAMES)
def test_names_with_control_characters_are_refused(stored: tuple[Workspace, str, str], name: str) -> None:
    space, experiment, run = stored
    several = {"user_id": [*"uu"], "item_id": [*"ab"], "model": ["plain", name]}
    ways: list[Callable[[], object]] = [
        lambda: space.experiments.create(name, TRUTH),
        lambda: space.experiments.rename(experiment, name),
        lambda: space.runs.add(experiment, LISTS.iloc[:1], name=name),
        lambda: space.runs.add(experiment, several),
        lambda: space.runs.rename(run, name),
        lambda: space.runs.set_tags(run, [name]),
        lambda: space.runs.set_params(run, {f"\x1b{name}": "1"}),
        lambda: recdash.evaluate({name: LISTS}, TRUTH, metrics="ndcg@1"),
        lambda: recdash.evaluate({"als": {"1": LISTS, name: LISTS}}, TRUTH, metrics="ndcg@1"),
        lambda: space.online_tests.add(
            experiment, name, {"sessions": sessions({"control": 8, "new": 9}, 20)}
        ),
    ]
    in_tables = {3}  # Arrow refuses half characters of a table by itself
    for place, way in enumerate(ways):
        if name == "a\ud800" and place in in_tables:
            continue
        with pytest.raises(InputError) as refused:
            way()
        (problem, *_) = refused.value.problems
        assert problem.code == "control-character"
        assert not BAD.search(str(problem))


def test_notes_keep_their_lines_and_refuse_what_steers_a_terminal(stored: tuple[Workspace, str, str]) -> None:
    space, experiment, run = stored
    text = "two\tcolumns\r\nand a second line"
    assert space.runs.set_note(run, text).note == space.experiments.set_note(experiment, text).note == text
    for way in (space.runs.set_note, space.experiments.set_note):
        with pytest.raises(InputError, match="control or invisible characters"):
            way(run if way == space.runs.set_note else experiment, "red \x1b[31m")
    with pytest.raises(InputError, match="control or invisible characters"):
        space.runs.add(experiment, LISTS.iloc[:1], name="ease", note="\x9b")


def test_joiners_of_letters_are_part_of_names(stored: tuple[Workspace, str, str]) -> None:
    space, _, run = stored
    assert space.runs.rename(run, " می\u200cخواهم 👩\u200d💻 ").name == "می\u200cخواهم 👩\u200d💻"
