"""Words of the page Add data: kinds of files, columns, the headline, the button, and the outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from recdash.domain.kinds import TableKind
from recdash.errors import Problem
from recdash.formatting import numbers
from recdash.formatting.wording import capital, cut_inside, listed, many
from recdash.ingest.reader import without_suffixes
from recdash.online.agreement.join import SPLIT_BROKEN
from recdash.service.catalog.intake import (
    LISTS,
    OF_A_TEST,
    IntakePlan,
    IntakeResult,
    PlannedFile,
    RelevancePlan,
)

NOT_USED, UNKNOWN = "", "?"
KINDS: Mapping[TableKind, str] = {
    "truth": "Test set",
    "run": "Recommendations",
    "train": "Training data",
    "catalogue": "Catalogue",
    "users": "User attributes",
    "vectors": "Item vectors",
    "similarity": "Item similarities",
    "predictions": "Rating predictions",
    "sessions": "A/B test",
    "exposures": "A/B test: exposures",
    "events": "A/B test: events",
    "served": "A/B test: served lists",
    "aggregates": "A/B test: aggregates",
}
ROLES: Mapping[str, str] = {
    "user_id": "user",
    "item_id": "item",
    "unit_id": "user",
    "session_id": "session",
    "request_id": "list",
    "event_id": "event id",
    "experiment_id": "test",
    "rank": "position",
    "run": "candidate",
    "replicate": "fold or seed",
    "item_a": "first item",
    "item_b": "second item",
    "timestamp": "time",
    "ts": "time",
    "start_ts": "start",
    "end_ts": "end",
    "watch_s": "seconds watched",
    "n": "users",
}
"""Role → its name for people; other roles have their own name."""
FURTHER: Mapping[TableKind, str] = {
    "catalogue": "attribute",
    "users": "attribute",
    "sessions": "metric or segment",
    "exposures": "segment",
}
"""Kind of table → what columns without a role are read as."""
GZIP = b"\x1f\x8b"
LONGEST_COLUMN, MOST_COLUMNS = 24, 4
State = Literal["good", "bad", "open", "unused"]


# ── one file ─────────────────────────────────────────────────────────────────────────────────


def state_of(file: PlannedFile) -> State:
    """Returns whether a file can be used, has problems, needs a choice of its kind, or is not used."""
    if file.left_out:
        return "unused"
    if file.kind is None:
        return "open"
    return "bad" if file.problems else "good"


def role_name(role: str) -> str:
    return ROLES.get(role, role.replace("_", " "))


def columns_in_words(file: PlannedFile) -> str:
    """Returns how the columns are read, such as ``customer → user · isbn → item · 2 attributes: language,
    price``.

    Empty for a file that is not used or cannot be read.
    """
    preview = file.preview
    if preview is None or file.left_out:
        return ""
    known = []
    for role, column in file.mapping.items():
        name = (
            f"{cut_inside(column[1:], LONGEST_COLUMN)} (least is best)"
            if column in preview.reversible
            else ""
        )
        name = name or cut_inside(column, LONGEST_COLUMN)
        known.append(name if name == role_name(role) else f"{name} → {role_name(role)}")
    return " · ".join([*known, *_further(file)])


def _further(file: PlannedFile) -> list[str]:
    """Returns the columns that are read without a role, in words; empty if there are none."""
    noun = FURTHER.get(file.kind or "run")
    if noun is None or file.preview is None:
        return []
    left_out = {notice.place for notice in file.notices if notice.code == "column-left-out"}
    taken = set(file.mapping.values())
    others = [
        cut_inside(column, LONGEST_COLUMN)
        for column in file.preview.columns
        if column and column not in taken and f"column '{column}'" not in left_out
    ]
    if not others:
        return []
    more = len(others) - MOST_COLUMNS
    shown = listed(others) if more <= 0 else f"{', '.join(others[:MOST_COLUMNS])} and {more} more"
    return [f"{many(len(others), noun).replace('metric or segments', 'metrics or segments')}: {shown}"]


def about(file: PlannedFile, source: object = None) -> str:
    """Returns the line below a file's name: its rows and columns, or what to do.

    ``source`` is the content of the file, whose lines are counted if the number of rows is unknown.
    """
    if file.left_out:
        return "Not used"
    if file.kind is None:
        return "Choose what this file is."
    n_rows = _lines(file, source) if file.n_rows is None else file.n_rows
    rows = "" if n_rows is None else many(n_rows, "row")
    reused = f"columns as in {file.same_as}" if file.same_as else ""
    return " · ".join(filter(None, [rows, columns_in_words(file), reused]))


def for_page(problem: Problem) -> Problem:
    """Returns the problem with a fix that the page offers, in place of one for the command line."""
    if problem.code == "missing-column":
        return replace(problem, fix="Choose the column under Details, or choose what else the file is.")
    return problem


def _lines(file: PlannedFile, source: object) -> int | None:
    """Returns the number of lines below the header of a plain-text table.

    None for other files, and for files with quotes, as these may contain line breaks.
    """
    preview = file.preview
    is_text = preview is not None and (preview.format == "CSV" or preview.format.endswith("separated text"))
    if not is_text or not isinstance(source, bytes) or b'"' in source or source[:2] == GZIP:
        return None
    has_header = all(notice.code != "no-header" for notice in file.notices)
    return source.rstrip().count(b"\n") + 1 - has_header


# ── all files ────────────────────────────────────────────────────────────────────────────────


def contents(plan: IntakePlan) -> list[str]:
    """Returns what the files contain, such as [``9 candidates``, ``a test set``, ``an A/B test``]."""
    n_runs = len(plan.run_names)
    parts = [many(n_runs, "candidate")] if n_runs else []
    parts += ["a test set"] if plan.of_kind("truth") else []
    parts += ["an A/B test"] if plan.test else []
    others = [file for file in plan.used if file.kind not in (*LISTS, *OF_A_TEST, "truth", None)]
    return [*parts, *([many(len(others), "further table")] if others else [])]


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
    n = len(plan.run_names)
    if n:
        return f"Evaluate {many(n, 'candidate')}"
    if plan.test:
        return "Analyze A/B test"
    return "Create experiment"


def relevance_effect(relevance: RelevancePlan) -> str:
    """Returns a sentence on how many rows and users of the test set the threshold keeps."""
    if relevance.kept_rows == relevance.rows:
        return f"All {many(relevance.rows, 'row')} count as relevant."
    rows = f"{numbers.count(relevance.kept_rows)} of {many(relevance.rows, 'row')}"
    users = f"{numbers.count(relevance.kept_users)} of {many(relevance.users, 'user')}"
    return f"Counts {rows} as relevant; {users} have at least one."


def noticed(plan: IntakePlan) -> tuple[list[Problem], list[Problem]]:
    """Returns the notices about the files together: sample ratio mismatches, then all others."""
    notices = [*plan.notices, *(plan.test.notices if plan.test else ())]
    broken = [notice for notice in notices if notice.code == SPLIT_BROKEN]
    return broken, [notice for notice in notices if notice.code != SPLIT_BROKEN]


def same_names(variants: Sequence[str], runs: Sequence[str]) -> dict[str, str]:
    """Returns {variant: run} for variants with the name of a run, in upper or lower case."""
    known = {name.casefold(): name for name in runs}
    return {variant: known[variant.casefold()] for variant in variants if variant.casefold() in known}


# ── the outcome ──────────────────────────────────────────────────────────────────────────────


def outcome(result: IntakeResult) -> str:
    """Returns the sentence about what was stored."""
    new = [added for added in result.runs if not added.already_there]
    old = len(result.runs) - len(new)
    parts = [f"evaluated {many(len(new), 'candidate')}"] if new else []
    parts += (
        [f"found {many(old, 'candidate')} that {'was' if old == 1 else 'were'} stored already"] if old else []
    )
    parts += [f"analyzed the A/B test {result.test.name}"] if result.test else []
    name = result.experiment.name
    if not parts:
        return f"Created the experiment {name}." if result.is_new else f"Nothing was added to {name}."
    return f"{capital(listed(parts))} in {name}."


def archived(result: IntakeResult) -> Sequence[str]:
    """Returns the names of candidates that were stored already and are archived."""
    return [added.run.name for added in result.runs if added.is_archived]


def stem(file_name: str) -> str:
    """Returns the name without folders and known suffixes, such as ``als.top20`` for
    ``als.top20.jsonl.gz``.
    """
    name = file_name.replace("\\", "/").rsplit("/", 1)[-1]
    return without_suffixes(name) or name
