"""Words of the page Add data: kinds of files, columns, the headline, the button, and the outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from recdash.domain.kinds import TableKind
from recdash.domain.records import OnlineTest
from recdash.errors import Problem
from recdash.evaluation.known_ids import ACCEPT
from recdash.formatting import numbers
from recdash.formatting.wording import capital, cut_inside, listed, many, small
from recdash.ingest import Preview
from recdash.ingest.attributes import without_counts_before_test
from recdash.ingest.columns import CHOOSE
from recdash.ingest.formats.delimited import is_delimited
from recdash.ingest.notice_rules import NOTICE_RULES
from recdash.online.agreement.join import SPLIT_BROKEN
from recdash.online.plan import AnalysisPlan
from recdash.service.catalog.intake import (
    LISTS,
    NAME_TAKEN,
    OF_A_TEST,
    IntakePlan,
    IntakeResult,
    PlannedFile,
    RelevancePlan,
    TestPlan,
)
from recdash.ui.components.notice_words import in_page_words, role_name

NOT_USED, UNKNOWN = "", "?"
FURTHER: Mapping[TableKind, str] = {
    "catalogue": "attribute",
    "users": "attribute",
    "sessions": "metric or segment",
    "exposures": "segment",
}
"""Kind of table → what columns without a role are read as."""
FIRST = (SPLIT_BROKEN, NAME_TAKEN, "parts")
"""Codes of notices that a person must see before the files are stored."""
FROM_ZERO = "ranks-from-zero"
"""The code of the notice that the first position of a list is 0."""
GZIP = b"\x1f\x8b"
BLOCK = 1 << 20
LONG_TEXT = 1 << 12
"""The number of bytes from which NumPy counts faster."""
LONGEST_COLUMN, MOST_COLUMNS = 24, 4
CHOOSE_HERE, OTHER_COLUMNS = " under Details", "Choose other columns under Details, or “not used”."
ON_THE_PAGE = " on the page Add data."
"""The end of a way to choose otherwise that the page offers too."""
DONE_UNSAID = {
    "hardly-known-ids", "outside-scale", "seen-in-training", "some-ids-spelled-otherwise",
    "table-spelled-otherwise", "train-leaks-truth", "truth-as-run", "unnamed-column",
}  # fmt: skip
"""Codes of notices whose own text does not say what was done."""
WAY_UNSAID = {
    "duplicate-items", "duplicate-pairs", "duplicate-predictions", "duplicate-ranks", "duplicate-truth",
    "duplicate-users", "gzip", "negative-relevance", "no-prediction", "rank-gaps",
    "score-inf", "score-nan", "self-pairs", "users-without-truth", "zero-vectors",
}  # fmt: skip
"""Codes of notices whose own text says what was done, but not how to choose otherwise."""
ACCEPT_HERE = "If these ids are correct, accept them in the file's details."
State = Literal["good", "bad", "open", "unused"]


# ── one file ─────────────────────────────────────────────────────────────────────────────────


def state_of(file: PlannedFile) -> State:
    """Returns whether a file can be used, has problems, needs a choice of its kind, or is not used."""
    if file.left_out:
        return "unused"
    if file.kind is None:
        return "open"
    return "bad" if file.problems else "good"


def columns_in_words(file: PlannedFile) -> str:
    """Returns how the columns are read, such as ``customer → user · isbn → item · 2 attributes: language,
    price``.

    Empty for a file that is not used or cannot be read.
    """
    preview = file.preview
    if preview is None or file.left_out:
        return ""
    is_from_zero = any(notice.code == FROM_ZERO for notice in file.notices)
    known = []
    for role, column in file.mapping.items():
        name = cut_inside(column_read(column, preview.reversible), LONGEST_COLUMN)
        name += " (least is best)" if column in preview.reversible else ""
        words = name if name == role_name(role) else f"{name} → {role_name(role)}"
        known.append(f"{words} (from 0, read as from 1)" if role == "rank" and is_from_zero else words)
    return " · ".join([*known, *_further(file)])


def _further(file: PlannedFile) -> list[str]:
    """Returns the columns without a role in words: as what they are read, or that they are not used."""
    noun = FURTHER.get(file.kind or "run")
    if file.preview is None or (noun is None and _has_ranges(file.preview)):
        return []
    left_out = {notice.place for notice in file.notices if notice.code == "column-left-out"}
    taken = {column_read(column, file.preview.reversible) for column in file.mapping.values()}
    others = [
        cut_inside(column, LONGEST_COLUMN)
        for column in file.preview.columns
        if column and column not in taken and f"column '{column}'" not in left_out
    ]
    if not others:
        return []
    if file.kind == "interleaving":
        return [] if file.segments is None else _segments(file.segments, others)
    if noun is None:
        return [f"not used: {listed(others, MOST_COLUMNS)}"]
    before = without_counts_before_test(others) if file.kind == "sessions" else others
    covariates = [column for column in others if column not in before]
    columns = many(len(before), noun).replace("metric or segments", "metrics or segments")
    return [
        *([f"{columns}: {listed(before, MOST_COLUMNS)}"] if before else []),
        *([f"before the test, for CUPED: {listed(covariates, MOST_COLUMNS)}"] if covariates else []),
    ]


def _segments(segments: Sequence[str], others: Sequence[str]) -> list[str]:
    """Returns the columns by whose values preferences are shown, and the rest of the ``others``, in words."""
    chosen = [column for column in others if column in segments]
    unused = [column for column in others if column not in segments]
    return [
        *([f"{many(len(chosen), 'segment')}: {listed(chosen, MOST_COLUMNS)}"] if chosen else []),
        *([f"not used: {listed(unused, MOST_COLUMNS)}"] if unused else []),
    ]


def _has_ranges(preview: Preview) -> bool:
    """Returns whether a role is read from several columns, such as rec_1 … rec_9."""
    known = {*(preview.rows[0] if preview.rows else ()), *preview.reversible}
    return not known.issuperset(filter(None, (preview.mapping or {}).values()))


def column_read(column: str, reversible: Sequence[str]) -> str:
    """Returns the column of the file that a role reads: of ``-distance`` (least is best) it is distance."""
    return column.removeprefix("-") if column in reversible else column


def about(file: PlannedFile, n_lines: int | None = None) -> str:
    """Returns the line below a file's name: its rows and columns, or what to do.

    ``n_lines`` is the number of lines of plain text, if only they tell the number of rows.
    """
    if file.left_out:
        return "Not used"
    if file.kind is None:
        is_unreadable = any(problem.code != "what-is-it" for problem in file.problems)
        return "It cannot be read." if is_unreadable else "Choose what this file is."
    has_header = all(notice.code != "no-header" for notice in file.notices)
    n_rows = n_lines - has_header if file.n_rows is None and n_lines is not None else file.n_rows
    rows = many(n_rows, "row") if n_rows is not None else ""
    rows = rows or (f"all rows, more than {numbers.count(file.rows_seen)}" if file.rows_seen else "")
    reused = f"columns as in {file.same_as}" if file.same_as else ""
    return " · ".join(filter(None, [rows, columns_in_words(file), reused]))


def for_page(problem: Problem) -> Problem:
    """Returns the problem in the words of the page and with a fix that the page offers; its own are those of
    files and the command line.
    """
    fix = in_page_words(problem.fix.replace(ACCEPT, ACCEPT_HERE).replace(CHOOSE, CHOOSE_HERE))
    if problem.code == "missing-column":
        fix = "Choose the column under Details, or choose what else the file is."
    return replace(problem, place=in_page_words(problem.place), found=in_page_words(problem.found), fix=fix)


def noted(notice: Problem) -> Problem:
    """Returns a notice in the words of the page, with what was done and how to choose otherwise as far as its
    own text does not say it.
    """
    shown, rule = for_page(notice), NOTICE_RULES.get(notice.code)
    if rule is None:
        return shown
    done = rule.done if notice.code in DONE_UNSAID else ""
    way = _way_here(rule.choose) if not notice.fix or notice.code in WAY_UNSAID else ""
    way = f"If this is wrong, {small(way)}" if way else ""
    return replace(shown, fix=" ".join(filter(None, [done, shown.fix, way])))


def _way_here(choose: str) -> str:
    """Returns how the page lets choose otherwise; "" for a way that only commands and Python offer."""
    if CHOOSE in choose:
        return OTHER_COLUMNS
    what, option, ways = choose.partition(": --")
    if option and ways.endswith(ON_THE_PAGE):
        _, _, place = ways.removesuffix(ON_THE_PAGE).rpartition(", or ")
        return f"{what} under {place}."
    return "" if "--" in choose else choose


def needs_lines(file: PlannedFile) -> bool:
    """Returns whether only the lines of plain text tell the number of rows."""
    preview = file.preview
    return preview is not None and is_delimited(preview.format) and file.n_rows is None


def count_lines(source: object) -> int | None:
    """Returns the number of lines of plain text; None if it is packed. Breaks between quotes end no line."""
    if not isinstance(source, Path):
        return None
    n_lines, n_blank, n_quotes = 1, 0, 0
    with source.open("rb") as file:
        if file.read(2) == GZIP:
            return None
        file.seek(0)
        while block := file.read(BLOCK):
            ends_at = len(block.rstrip())
            if ends_at:  # the breaks before were not at the end
                n_lines, n_blank = n_lines + n_blank, 0
            texts = block[:ends_at].split(b'"')
            n_lines += sum(_n_breaks(text) for text in texts[n_quotes % 2 :: 2])
            n_quotes += len(texts) - 1
            n_blank += 0 if n_quotes % 2 else block[ends_at:].count(b"\n")
    return n_lines


def _n_breaks(text: bytes) -> int:
    """Returns the number of line breaks. While NumPy counts in long texts, other people's pages run on, which
    Python's own count of 590 MB held up for .4 s.
    """
    if len(text) < LONG_TEXT:
        return text.count(b"\n")
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))


# ── all files ────────────────────────────────────────────────────────────────────────────────


def contents(plan: IntakePlan) -> list[str]:
    """Returns what the files contain, such as [``8 candidates``, ``a baseline``, ``a test set``]."""
    parts = _runs_in_words(plan, "a baseline")
    parts += ["a test set"] if plan.of_kind("truth") else []
    parts += [f"an {test_noun(test)}" for test in plan.tests]
    others = [file for file in plan.used if file.kind not in (*LISTS, *OF_A_TEST, "truth", None)]
    return [*parts, *([many(len(others), "further table")] if others else [])]


def test_noun(test: TestPlan | OnlineTest) -> str:
    """Returns what kind of test it is."""
    return "interleaving test" if test.kind == "interleaving" else "A/B test"


def finding(plan: IntakePlan) -> str:
    """Returns the headline of the page: how far the files are ready."""
    bad = [file for file in plan.files if state_of(file) in ("bad", "open")]
    if bad:
        n = len(plan.files)
        needs = "needs" if len(bad) == 1 else "need"
        return f"{len(bad)} of {many(n, 'file')} {needs} your attention"
    if not plan.is_ready:
        return "Almost ready"
    return f"Ready: {listed(contents(plan))}" if contents(plan) else "Ready"


def button(plan: IntakePlan) -> str:
    """Returns the label of the button that scores and stores the files."""
    if plan.run_names:
        return f"Evaluate {listed(_runs_in_words(plan, 'the baseline'))}"
    if plan.tests:
        return f"Analyze {listed([test_noun(test) for test in plan.tests])}"
    return "Create experiment"


def _runs_in_words(plan: IntakePlan, baseline: str) -> list[str]:
    """Returns ``8 candidates`` and the ``baseline`` that they are compared with, if it is among the files."""
    has_baseline = plan.baseline in plan.run_names
    n = len(plan.run_names) - has_baseline
    return [*([many(n, "candidate")] if n else []), *([baseline] if has_baseline else [])]


def planned_metrics(plan: AnalysisPlan) -> str:
    """Returns the primary metric and the guardrails that a test has from its analysis plan."""
    noun = "guardrail" if len(plan.guardrails) == 1 else "guardrails"
    guardrails = f", {noun} {plan.text('guardrails')}" if plan.guardrails else ""
    return f"Planned: primary metric {plan.primary}{guardrails}. “Results” names what differs from the plan."


def relevance_effect(relevance: RelevancePlan) -> str:
    """Returns a sentence on how many rows and users of the test set the threshold keeps."""
    all_rows = many(relevance.rows + relevance.rows_of_zero, "row")
    if relevance.kept_rows == relevance.rows and relevance.rows_of_zero:
        return f"{numbers.count(relevance.rows)} of {all_rows} count as relevant, those of 0 or less do not."
    if relevance.kept_rows == relevance.rows:
        return f"All {all_rows} count as relevant."
    rows = f"{numbers.count(relevance.kept_rows)} of {all_rows}"
    users = f"{numbers.count(relevance.kept_users)} of {many(relevance.users, 'user')}"
    return f"Counts {rows} as relevant; {users} have at least one."


def gain_of_grades(relevance: RelevancePlan) -> str:
    """Returns what the values of the test set do in nDCG, and how to count all rows alike."""
    example = "" if relevance.threshold else ": a 2 counts twice as much as a 1"
    of_zero = many(relevance.rows_of_zero, "row")
    also = f" Then the {of_zero} of 0 or less count too." if relevance.rows_of_zero else ""
    return (
        f"nDCG weights relevant rows by {relevance.column}{example}. To count all rows alike, choose "
        f"“every row is relevant” under Advanced.{also}"
    )


def noticed(plan: IntakePlan) -> tuple[list[Problem], list[Problem]]:
    """Returns the notices about the files together: those of ``FIRST``, then all others."""
    notices = [*plan.notices, *plan.test_notices]
    first = [noted(notice) for notice in notices if notice.code in FIRST]
    return first, [noted(notice) for notice in notices if notice.code not in FIRST]


def refusable(plan: IntakePlan) -> list[str]:
    """Returns the codes of the files' notices with which files can be refused, and those chosen before."""
    notices = [notice for file in plan.used for notice in file.notices]
    notices += [*plan.notices, *plan.test_notices]
    codes = [notice.code for notice in notices if notice.code in NOTICE_RULES]
    return list(dict.fromkeys([*plan.settings.refuse, *codes]))


def notice_name(code: str) -> str:
    """Returns the code of a notice in words: ``decimal-ids`` as "decimal ids"."""
    return code.replace("-", " ")


def served_runs(plan: IntakePlan) -> str:
    """Returns where an A/B test of stored runs goes: to their experiment; "" for one of no stored run."""
    links = plan.settings.links or {}
    stored = {variant: run for variant, run in links.items() if run not in plan.run_names}
    if not plan.tests or plan.experiment_id is None or not stored:
        return ""
    verb = "is named like a run" if len(stored) == 1 else "are named like runs"
    go = "go" if len(plan.tests) > 1 else "goes"
    tests = listed([test_noun(test) for test in plan.tests])
    return f"The {tests} {go} to {plan.name}: {listed(list(stored))} {verb} of it."


# ── the outcome ──────────────────────────────────────────────────────────────────────────────


def outcome(result: IntakeResult) -> str:
    """Returns the sentence about what was stored."""
    new = [added for added in result.runs if not added.already_there]
    old = [added.run.name for added in result.runs if added.already_there]
    candidates = [added for added in new if added.run.id != result.experiment.baseline]
    evaluated = [many(len(candidates), "candidate")] if candidates else []
    evaluated += ["the baseline"] if len(candidates) < len(new) else []
    parts = [f"evaluated {listed(evaluated)}"] if new else []
    parts += [f"found {many(len(old), 'candidate')} stored already ({listed(old)})"] if old else []
    tests = [f"the {test_noun(test)} {test.name}" for test in result.tests]
    parts += [f"analyzed {listed(tests)}"] if tests else []
    name = result.experiment.name
    if not parts:
        return f"Created the experiment {name}." if result.is_new else f"Nothing was added to {name}."
    return f"{capital(listed(parts))} in {name}."


def archived(result: IntakeResult) -> Sequence[str]:
    """Returns the names of candidates that were stored already and are archived."""
    return [added.run.name for added in result.runs if added.is_archived]
