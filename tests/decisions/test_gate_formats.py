"""What the gate writes for programs and for pull requests, read by parsers that are not ours."""

from __future__ import annotations

import json
import re
from math import nan

import pytest
from lxml import etree

from recdash.decisions.gate import GateResult, RuleResult, read_rule
from recdash.decisions.gate.formats import HEAD, WRITERS, to_junit, to_markdown
from recdash.decisions.gate.result import ExpectedLift
from recdash.errors import Problem

HOSTILE = 'a|b <script> & "x" [y](http://z) @ann \x1b[31m\u202e\nFORGED'
RULES = (
    RuleResult(read_rule("ndcg@10 >= -0.5%"), "nDCG@10", 0.312, 0.318, 0.0192, 0.004, 0.0344, 9_000, "holds"),
    RuleResult(read_rule("coverage@10 >= -10%"), "Coverage@10", 0.5, 0.3, -0.4, -0.45, -0.35, 9_000, "fails"),
    RuleResult(
        read_rule("recall@5 >= 0"), "Recall@5", 0.2, 0.2, 0.0, -0.01, 0.01, 9_000, note="", more_users=1_234
    ),
    RuleResult(
        read_rule("online.sales >= 0"), "online.sales", 1, 1, nan, n=40, outcome="not judged", note="SRM"
    ),
)


def result(**changes: object) -> GateResult:
    facts: dict[str, object] = {"baseline": "live", "candidate": "new", "rules": RULES, "level": 0.9875}
    return GateResult(**{**facts, **changes})  # type: ignore[arg-type]


def parsed(text: str) -> etree._Element:
    return etree.fromstring(text.encode())


def test_junit_has_a_case_per_rule_and_counts_its_failures() -> None:
    suites = parsed(to_junit(result()))
    assert suites.tag == "testsuites"
    assert dict(suites.attrib) == {"tests": "4", "failures": "3", "skipped": "0"}
    (suite,) = suites.findall("testsuite")
    assert suite.get("name") == "recdash gate"
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == [
        "ndcg@10 ≥ −0.5 %", "coverage@10 ≥ −10 %", "recall@5 ≥ 0", "online.sales ≥ 0",
    ]  # fmt: skip
    assert [[part.tag for part in case] for case in cases] == [["system-out"], *[["failure"]] * 3]
    failure = cases[1].find("failure")
    assert failure is not None
    assert failure.get("type") == "fails"
    assert failure.get("message") == (
        "Fails: Coverage@10 −40.0 % (interval −45.0 to −35.0 %), must be ≥ −10 %"
    )


def test_junit_skips_undecided_rules_that_count_as_passed() -> None:
    suites = parsed(to_junit(result(inconclusive="pass")))
    assert (suites.get("failures"), suites.get("skipped")) == ("2", "1")
    (skipped,) = suites.iter("skipped")
    assert str(skipped.get("message")).startswith("Inconclusive: Recall@5")


@pytest.mark.parametrize("form", WRITERS)
def test_names_make_no_markup(form: str) -> None:
    text = WRITERS[form](result(candidate=HOSTILE, notices=(Problem("x", HOSTILE, HOSTILE, ""),)), None)
    assert "\x1b" not in text
    if form == "junit":
        values = {part.get("name"): part.get("value") for part in parsed(text).iter("property")}
        assert values["candidate"] == HOSTILE.replace("\x1b", "\\u001b").replace("\u202e", "\\u202e").replace(
            "\n", "\\u000a"
        )
    elif form == "json":
        assert json.loads(text)["candidate"] == HOSTILE
    else:
        assert "<script>" not in text
        assert not re.search(r"(?<!\\)\]\(|(?<!\u2060)@ann", text)
        assert text.splitlines()[0].startswith("**Fail:** ")
        assert "\nFORGED" not in text


def test_the_comment_is_a_verdict_a_table_and_a_link() -> None:
    lines = to_markdown(result(), "https://example.org/a?b=(c)>").replace("\u2060", "").splitlines()
    assert lines[0] == (
        "**Fail:** new against live fails Coverage@10; cannot be judged by online.sales; is undecided in "
        "Recall@5."
    )
    assert lines[2] == f"| {' | '.join(HEAD)} |"
    assert lines[4] == ("| nDCG@10 | 0.312 | 0.318 | +1.92 % | +0.40 to +3.44 % | ≥ −0.5 % | holds | 9,000 |")
    assert len({line.count("|") for line in lines[2:8]}) == 1
    assert "Recall@5: about 1,300 more users would most likely decide it." in lines
    assert lines[-1] == "[Open the experiment in recdash](<https://example.org/a?b=%28c%29%3E>)"


def test_the_expected_lift_is_told_with_its_prediction_interval() -> None:
    lift = ExpectedLift("nDCG@10", "sales", 0.012, -0.003, 0.027, 14)
    sentence = (
        "Expected online: sales +1.20 % (95 % prediction interval −0.30 to +2.70 %), by how nDCG@10 "
        "predicted 14 A/B tests."
    )
    assert sentence in to_markdown(result(expected=lift)).replace("\u2060", "")
    assert json.loads(WRITERS["json"](result(expected=lift), None))["expected_lift"]["low"] == -0.003


def test_json_has_no_number_that_json_does_not_know() -> None:
    text = WRITERS["json"](result(), "https://example.org")
    facts = json.loads(text, parse_constant=pytest.fail)
    assert facts["rules"][3]["difference"] is None
    assert (facts["verdict"], facts["passed"], facts["link"]) == ("fail", False, "https://example.org")
