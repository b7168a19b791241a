"""Each notice of a file has a count, an example, what was done, and a way to choose otherwise."""

from __future__ import annotations

import ast
from pathlib import Path

import noticed_files
import pytest
from noticed_files import NOTICED, NoticedFile

import recdash
import recdash.online
from recdash import ingest
from recdash.domain.kinds import TableKind
from recdash.errors import InputError, Problem, UnknownName
from recdash.evaluation.inspection import Inspection
from recdash.ingest.notice_rules import NOTICE_RULES, refused_by, way_of

INGEST = Path(ingest.__file__).parent
OF_CLOCKS = {"repeated-hour", "skipped-hour"}
"""Codes of notices about local times, which an inspection, that has no time zone, does not give."""
OF_COUNTING = {
    "all-bots", "all-crossed", "bad-effect", "bad-margin", "bad-prior", "bad-rule", "bad-split",
    "duplicate-row", "impossible-moments", "impossible-rate", "missing-time", "needs-users", "no-events",
    "no-margin", "no-metric", "no-name", "no-ratio", "no-recommendations", "no-sessions", "no-test",
    "nobody", "nobody-counted", "repeated-event-ids", "spark-layout", "too-many-variants", "total-rows",
    "unknown-moments", "unknown-total", "user-in-two-parts",
}  # fmt: skip
"""Codes of problems of an A/B test, which refuse it anyway."""
OF_AN_AB_TEST = {
    "before", "bots", "bots-uneven", "crossovers", "duplicate-event", "duplicate-session", "few-days",
    "guessed-control", "independent-trials", "item-cap", "many-crossovers", "metrics-proposed",
    "missing-column", "never-exposed", "no-control-row", "no-item", "no-request-ids", "no-session",
    "no-source", "not-winsorised", "novelty", "other-events", "other-variant", "repeated-trials",
    "one-user-decides", "rule-ignored", "skewed-values",
    "sample-ratio-mismatch", "served-lists", "served-other-variant", "share-beyond-one", "single-variant",
    "source", "sources", "stray-times", "threshold", "too-many-events", "uneven-days",
    "variant-without-users", "watch-time-outliers", "watched-both-ways",
}  # fmt: skip
"""Codes of notices that counting an A/B test gives: tests/online/test_refused_notices.py."""
OF_AN_INTERLEAVING_TEST = {
    "click-outside-rankings", "click-without-team", "contradictory-slots", "duplicate-slots",
    "several-users", "shared-ranks", "uneven-first-picks", "uneven-team-slots",
}  # fmt: skip
"""Codes of notices that counting an interleaving test gives: tests/online/test_interleaving.py."""
OF_A_PLAN = {"columns-by-values", "ids-swapped"}
"""Codes of notices that several files together give: tests/service/test_intake.py."""
FAMILIES = {code for code in NOTICE_RULES if code.startswith(("missing-", "without-"))}
REFUSING = {
    "ambiguous-rows", "ambiguous-wide", "bad-address", "bad-columns", "bad-encoding", "bad-json",
    "bad-number", "bad-pairs",
    "bad-range", "bad-source", "bad-table", "bad-text", "bad-type", "binary", "changed-file",
    "descending-ranks", "duplicate-column", "empty-file", "header-or-data", "incomplete-rows",
    "lake-folder", "list-cells", "list-or-item", "long-line", "long-value", "many-candidates",
    "missing-column", "mixed-folder", "mixed-types", "negative",
    "no-attributes", "no-file", "no-ids", "no-library", "no-rows", "no-variable", "not-fetched",
    "nul", "packed-twice",
    "parquet-bomb", "parts-differ", "query-failed", "ragged-row",
    "read-too-large", "read-too-long", "reader-died", "repeated-key", "score-is-rank",
    "sparse-sheet", "too-large", "truncated-gzip", "two-delimiters",
    "two-similarities", "unclosed-quote", "unknown-column", "unknown-role", "unknown-sheet",
    "unknown-zone", "unordered", "unreadable", "unsupported-format", "zip-in-zip", "zip-members",
    "bad-sources", "column-twice",
}  # fmt: skip
"""Codes of problems, which refuse a file anyway."""


def inspected(file: NoticedFile, **how: object) -> Inspection:
    return recdash.inspect(file.data, file.kind, name=file.name, **file.others, **how)  # type: ignore[arg-type]


def codes_in_source(*folders: Path) -> set[str]:
    """Returns the codes of all problems and notices that are written out in these folders."""
    calls = (
        node
        for folder in folders
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and node.args
    )
    named = ((getattr(call.func, "attr", getattr(call.func, "id", "")), call.args[0]) for call in calls)
    return {
        code.value
        for name, code in named
        if name in {"Problem", "Removed", "notice", "note"} and isinstance(code, ast.Constant)
    }


def test_each_code_in_the_source_is_a_problem_or_has_a_rule() -> None:
    assert codes_in_source(INGEST) - REFUSING - set(NOTICE_RULES) == set()
    assert REFUSING - codes_in_source(INGEST) == set()


def test_each_code_of_an_ab_test_is_a_problem_or_has_a_rule() -> None:
    online = Path(recdash.online.__file__).parent
    codes = codes_in_source(online / "logs", online / "analysis") | codes_in_source(online) & OF_COUNTING
    assert codes - OF_COUNTING - set(NOTICE_RULES) == set()
    assert OF_COUNTING - codes == set()


def test_each_code_of_an_interleaving_test_is_a_problem_or_has_a_rule() -> None:
    codes = codes_in_source(Path(recdash.online.__file__).parent / "interleaving")
    assert codes - set(NOTICE_RULES) == {
        "missing-credit",
        "mixed-segment",
        "not-two-teams",
        "repeated-request",
    }
    assert codes >= OF_AN_INTERLEAVING_TEST


def test_each_rule_has_a_file() -> None:
    of_tests = OF_AN_AB_TEST | OF_AN_INTERLEAVING_TEST
    assert set(NOTICE_RULES) == set(NOTICED) | OF_CLOCKS | OF_A_PLAN | FAMILIES | of_tests


@pytest.mark.parametrize("code", NOTICE_RULES)
def test_each_rule_says_what_was_done_and_how_to_choose_otherwise(code: str) -> None:
    assert NOTICE_RULES[code].done.endswith(".")
    assert NOTICE_RULES[code].choose.endswith(".")
    assert f"--refuse {code}" in way_of(code)


@pytest.mark.parametrize("code", NOTICED)
def test_each_notice_has_a_count_an_example_and_a_way_and_can_be_refused(code: str) -> None:
    file = NOTICED[code]
    inspection = inspected(file)
    (row, *_) = [row for row in inspection.as_dict()["problems"] if row["code"] == code]
    assert (row["level"] != "problem", row["count"] > 0, row["example"] != "") == (True, True, True)
    assert (row["done"], row["otherwise"]) == (NOTICE_RULES[code].done, way_of(code))
    refused = inspected(file, refuse=[code])
    assert refused.action == "reject"
    assert {problem.code for problem in refused.problems} == {code}
    assert refused.problems[0].fix.startswith(f"Files with the notice '{code}' are refused, as you chose.")
    assert code not in {notice.code for notice in refused.notices}


@pytest.mark.parametrize(
    ("code", "moment"),
    [("repeated-hour", "2026-10-25 02:30"), ("skipped-hour", "2026-03-29 02:30")],
)
def test_a_time_at_which_clocks_change_has_a_count_and_an_example(code: str, moment: str) -> None:
    text = f"{noticed_files.SESSIONS}\nu1,s1,a,{moment},1,2\nu2,s2,b,2026-04-01 12:00,1,2\n"
    kind: TableKind = "sessions"
    upload = ingest.read_upload(kind, text.encode(), zone="Europe/Berlin")
    (notice,) = [notice for notice in upload.notices if notice.code == code]
    assert (notice.count, moment in notice.example) == (1, True)


def test_scores_of_a_file_with_a_refused_notice_are_not_given() -> None:
    ties, truth = NOTICED["ties"].data, b"user_id,item_id\nu1,i1\n"
    assert recdash.evaluate({"als": ties}, truth, metrics="ndcg@2", refuse="rank-gaps")
    with pytest.raises(InputError, match="Files with the notice 'ties' are refused") as refusal:
        recdash.evaluate({"als": ties}, truth, metrics="ndcg@2", refuse="rank-gaps,ties")
    assert [problem.code for problem in refusal.value.problems] == ["ties"]


def test_an_unknown_code_is_named() -> None:
    with pytest.raises(UnknownName, match="No notice is called 'tie'"):
        recdash.inspect(NOTICED["ties"].data, "run", refuse="tie")


def test_a_notice_that_is_not_refused_stays_one() -> None:
    notice = Problem("ties", "run 'als'", "ties", "")
    assert refused_by([notice], ["rank-gaps"]) == ()
