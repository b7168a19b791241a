"""``recdash gate``: exit codes, forms and sources of rules, the same from files, a store and Python."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from decision_worlds import films, home_page
from gate_files import FILES as GATE_FILES
from lxml import etree
from terminal import Recdash

import recdash
from recdash.service import Workspace

FILES = GATE_FILES
FROM_FILES = ("--truth", "truth.csv", "--catalogue", "catalogue.csv", "--baseline", "live=live.csv")
NEW, BAD = ("--candidate", "new=new.csv"), ("--candidate", "bad=bad.csv")
RULE = ("--rule", "hit_rate@1 >= -5%")
AB_TEST = ("--aggregates", "ab.csv", "--rule", "online.conversion >= 0")


@pytest.fixture
def call(run: Recdash) -> Recdash:
    return partial(run, "gate")


def test_a_candidate_that_keeps_to_the_rules_exits_with_0(call: Recdash) -> None:
    result = call(*FROM_FILES, *NEW, *RULE, *AB_TEST)
    assert result.exit_code == 0, result.stderr
    head, *lines = result.stdout.splitlines()
    assert head == "Pass: new keeps to both rules against live."
    assert [line.split()[-2] for line in lines[2:4]] == ["holds", "holds"]
    assert "Intervals: 97.5 % each" in result.stdout


def test_a_candidate_that_breaks_one_exits_with_1_and_names_it(call: Recdash) -> None:
    result = call(*FROM_FILES, *BAD, *RULE, *AB_TEST)
    assert result.exit_code == 1
    assert result.stdout.startswith("Fail: bad against live fails Hit rate@1.\n")


@pytest.mark.parametrize(
    ("choice", "code"), [((), 1), (("--inconclusive", "fail"), 1), (("--inconclusive", "pass"), 0)]
)
def test_an_undecided_rule_fails_unless_it_may_not(call: Recdash, choice: tuple[str, ...], code: int) -> None:
    result = call(*FROM_FILES, *NEW, "--rule", "hit_rate@1 >= 9%", *choice)
    assert result.exit_code == code
    assert result.stdout.startswith("Inconclusive: new against live is undecided in Hit rate@1.")
    assert "more users would most likely decide it." in result.stdout


@pytest.mark.parametrize(
    "words",
    [
        (*FROM_FILES, *NEW),
        (*FROM_FILES, *NEW, "--rule", "hit_rate@1 > 0"),
        (*FROM_FILES, *NEW, "--rule", "nope@1 >= 0"),
        (*FROM_FILES, *RULE),
        (*FROM_FILES, *NEW, *RULE, "--test", "t"),
        (*FROM_FILES, *NEW, *RULE, "--output", "result.pdf"),
        (*FROM_FILES, *NEW, *RULE, "--output", "nowhere/result.md"),
        (*FROM_FILES, *NEW, *RULE, "--rules", "missing.yaml"),
        (*FROM_FILES, *NEW, *RULE, "--rules", "truth.csv"),
        (*FROM_FILES, "--candidate", "live=new.csv", *RULE),
        (*FROM_FILES, *NEW, "--candidate", "bad=bad.csv", *RULE),
        (*FROM_FILES, *NEW, *RULE, "--aggregates", "ab.csv"),
        ("--experiment", "films", "--candidate", "als", "--truth", "truth.csv", *RULE),
        ("--experiment", "films", *RULE),
    ],
)
def test_bad_input_exits_with_2_and_prints_no_verdict(call: Recdash, words: tuple[str, ...]) -> None:
    result = call(*words)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("recdash: ")


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("no/result.md", "'no/result.md' cannot be written (No such file or directory). Name another, in a "),
        ("no/result.pdf", "'no/result.pdf' ends otherwise. Use one of "),
    ],
)
def test_an_output_file_is_named_with_its_folder(call: Recdash, file: str, said: str) -> None:
    result = call(*FROM_FILES, *NEW, *RULE, "-o", file)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"recdash: --output: {said}")


def test_options_of_an_ab_test_are_refused_if_none_is_judged(call: Recdash) -> None:
    options = ("--variant", "B", "--planned-users", "-5", "--threshold", "120")
    result = call(*FROM_FILES, *NEW, *RULE, *options)
    assert result.exit_code == 2
    assert result.stderr == (
        "recdash: --variant, --threshold, --planned-users: no A/B test is judged. Give the test's table, "
        "such as --sessions FILE, with a rule such as 'online.conversion >= 0'; or leave this out.\n"
    )


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--control", "A", "--control: no A/B test is judged"),
        ("--metric", "taps=clicks", "--metric: no A/B test is judged"),
        ("--zone", "UTC", "--zone: no A/B test is judged"),
        ("--columns", "sessions:unit_id=uid", "No table is called 'sessions'"),
    ],
)
def test_each_option_of_an_ab_test_is_refused_if_none_is_judged(
    call: Recdash, option: str, value: str, said: str
) -> None:
    result = call(*FROM_FILES, *NEW, *RULE, option, value)
    assert result.exit_code == 2
    assert said in result.stderr


def test_values_that_no_ab_test_can_have_are_refused(call: Recdash) -> None:
    result = call(*FROM_FILES, *NEW, *RULE, *AB_TEST, "--planned-users", "0", "--bot-clicks", "-1")
    assert result.exit_code == 2
    assert "rule 'planned_users': it is 0. Give a number from 1." in result.stderr
    assert "rule 'bot_clicks': it is -1" in result.stderr


def test_the_help_of_compare_names_the_gate(run: Recdash) -> None:
    assert "recdash gate" in run("compare", "--help").stdout


# ── rules ────────────────────────────────────────────────────────────────────────────────────

PYPROJECT = '[tool.recdash.gate]\nrules = ["hit_rate@1 >= 9%"]\ninconclusive = "pass"\n'


def test_rules_stand_in_pyproject(call: Recdash) -> None:
    Path("pyproject.toml").write_text(PYPROJECT)
    result = call(*FROM_FILES, *NEW)
    assert result.exit_code == 0
    assert "Inconclusive rules count as passed." in result.stdout


def test_rules_of_the_command_line_replace_those_of_pyproject(call: Recdash) -> None:
    Path("pyproject.toml").write_text(PYPROJECT)
    result = call(*FROM_FILES, *NEW, *RULE)
    assert result.stdout.startswith("Pass: new keeps to its rule")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rules.yaml", "rules:\n  - hit_rate@1 >= -5%\n  - recall@1 >= -0.1\nlink: https://example.org\n"),
        ("rules.yml", "- hit_rate@1 >= -5%\n- 'recall@1 >= -0.1'\n"),
        ("gate.toml", '[tool.recdash.gate]\nrules = ["hit_rate@1 >= -5%", "recall@1 >= -0.1"]\n'),
    ],
)
def test_rules_stand_in_a_file(call: Recdash, name: str, content: str) -> None:
    Path(name).write_text(content)
    facts = json.loads(call(*FROM_FILES, *NEW, "--rules", name, "--format", "json").stdout)
    assert [rule["rule"] for rule in facts["rules"]] == ["hit_rate@1 ≥ −5 %", "recall@1 ≥ −0.1"]
    assert facts.get("link") == ("https://example.org" if "link" in content else None)


def test_rules_of_a_file_and_of_the_command_line_add_up(call: Recdash) -> None:
    Path("rules.yaml").write_text("- recall@1 >= -5%\n")
    facts = json.loads(call(*FROM_FILES, *NEW, *RULE, "--rules", "rules.yaml", "--format", "json").stdout)
    assert [rule["metric"] for rule in facts["rules"]] == ["hit_rate@1", "recall@1"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("rules.yaml", "rules: [1, 2]", "rule: '1'. Write METRIC >= MARGIN"),
        ("rules.toml", "[tool.recdash.gate]\nrules = [1, 2]", "not a list of texts"),
        ("rules.toml", "[tool.recdash.gate]\ninconclusive = false", "'False'"),
        (
            "rules.yaml",
            "rule: [a]",
            "rules.yaml: No setting of a gate is called 'rule'. Did you mean 'rules'?",
        ),
        ("rules.yaml", "just text", "no key 'rules'"),
        ("rules.yaml", "a: [", "rules.yaml, line 1: a bracket that opens here is not closed, in 'a: ['"),
        ("rules.yaml", "- 2026-13-45", "rule: '2026-13-45'. Write METRIC >= MARGIN"),
        ("rules.yaml", "rules: []\nrules: []", "rules.yaml, line 2: 'rules' occurs a second time"),
        ("rules.yaml", "[" * 3000, "rules.yaml: it has brackets within too many others"),
        (
            "rules.yaml",
            "inconclusive: maybe\nrules: []",
            "rules.yaml: No choice of inconclusive is called 'maybe'",
        ),
        ("rules.yaml", "link: 3\nrules: []", "link: '3' is no http or https address"),
        ("rules.toml", "[tool.other]", "no table [tool.recdash.gate]"),
        ("rules.toml", "a = ", "rules.toml, line 1: no value of TOML follows"),
        ("rules.toml", f"a = {'[' * 3000}", "rules.toml: it has brackets within too many others"),
        ("rules.yaml", "- " + "a" * (1 << 20), "larger than 1 MiB"),
    ],
)
def test_a_file_of_another_form_is_refused(call: Recdash, name: str, content: str, said: str) -> None:
    Path(name).write_text(content)
    result = call(*FROM_FILES, *NEW, "--rules", name)
    assert result.exit_code == 2
    assert said in result.stderr


NO_LINKS = [
    "javascript:alert(1)",
    "example.org",
    "//example.org",
    "https://",
    "https://a.org/\n@b",
    "data:,x",
]


@pytest.mark.parametrize("link", NO_LINKS)
def test_a_link_is_an_http_address(call: Recdash, link: str) -> None:
    result = call(*FROM_FILES, *NEW, *RULE, "--link", link, "-o", "gate.md")
    assert result.exit_code == 2
    assert result.stderr.startswith("recdash: --link: ")
    assert "is no http or https address. Write an address such as https://" in result.stderr
    assert not Path("gate.md").exists()


def test_a_link_of_a_file_is_an_http_address(call: Recdash) -> None:
    Path("rules.yaml").write_text("rules: ['hit_rate@1 >= -5%']\nlink: javascript:alert(1)\n")
    result = call(*FROM_FILES, *NEW, "--rules", "rules.yaml")
    assert result.exit_code == 2
    said = "recdash: rules.yaml, link: 'javascript:alert(1)' is no http or https address. "
    assert result.stderr.startswith(said)


def test_a_link_may_have_a_query(call: Recdash) -> None:
    link = "http://127.0.0.1:8501/decision?e=3&k=5#top"
    facts = json.loads(call(*FROM_FILES, *NEW, *RULE, "--link", link, "--format", "json").stdout)
    assert facts["link"] == link


# ── forms ────────────────────────────────────────────────────────────────────────────────────


def test_one_run_writes_all_forms(call: Recdash) -> None:
    files = [word for name in ("r.xml", "r.md", "r.json", "r.txt") for word in ("-o", name)]
    result = call(*FROM_FILES, *BAD, *RULE, *files, "--link", "https://example.org", "--format", "junit")
    assert result.exit_code == 1
    assert result.stdout == Path("r.xml").read_text(encoding="utf-8")
    suites = etree.fromstring(Path("r.xml").read_bytes())
    assert suites.get("failures") == "1"
    assert json.loads(Path("r.json").read_text(encoding="utf-8"))["verdict"] == "fail"
    comment = Path("r.md").read_text(encoding="utf-8")
    assert comment.startswith("**Fail:** bad against live fails Hit rate")
    assert comment.endswith("[Open the experiment in recdash](<https://example.org>)\n")
    assert Path("r.txt").read_text(encoding="utf-8").startswith("Fail: bad against live")


def test_the_command_says_what_python_says(call: Recdash) -> None:
    facts = json.loads(call(*FROM_FILES, *NEW, *RULE, "--format", "json").stdout)
    result = recdash.gate(
        {"live": "live.csv"},
        {"new": "new.csv"},
        "truth.csv",
        rules=["hit_rate@1 >= -5%"],
        catalogue="catalogue.csv",
    )
    assert facts == result.as_dict()


# ── stored runs ──────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def stored(call: Recdash) -> Recdash:
    space = Workspace.open()
    home_page(space, films(space))
    return partial(call, "--experiment", "films")


def test_a_stored_candidate_is_judged_against_the_experiments_baseline(stored: Recdash) -> None:
    rules = ("--rule", "ndcg@3 >= 0", "--rule", "online.engagement_rate >= 0")
    result = stored("--candidate", "als", *rules)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("Pass: als keeps to both rules against popular.")
    assert (
        "No expected online lift: 1 test so far" not in result.stdout
    )  # the candidate's own test is left out
    assert "No expected online lift: no tests so far" in result.stdout


def test_a_slice_of_stored_users(stored: Recdash) -> None:
    """The first 40 users are known: 5 of them find their item with popular, 15 with ease."""
    words = (
        "--candidate",
        "ease",
        "--rule",
        "hit_rate@3 >= 0",
        "--slice",
        "user_warmth=cold",
        "--format",
        "json",
    )
    facts = json.loads(stored(*words).stdout)
    assert facts["rules"][0]["n"] == 40
