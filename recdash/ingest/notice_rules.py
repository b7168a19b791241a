"""Says for each notice of a file what was done and how to choose otherwise; refuses files by their notices.

A notice accompanies a file that is accepted, or an A/B test that is counted. ``NOTICE_RULES`` has a row for
every code; its way to choose otherwise is a reading that can be named, or that files with the notice are
refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from recdash.domain.arguments import texts_of
from recdash.errors import InputError, Problem, check_known
from recdash.ingest.actions import FORMATS, READINGS
from recdash.ingest.columns import CHOOSE, IDENTIFYING, NEVER, ROLES, WORDS


@dataclass(frozen=True)
class NoticeRule:
    """What recdash does with the file (``done``), and how to have it read otherwise (``choose``); ``choose``
    is empty if only another file, or refusing this one, is a way.
    """

    done: str
    choose: str = ""


def _map(columns: str) -> str:
    """Returns how to name the columns that are to be read."""
    return f"Name the columns, such as {columns}{CHOOSE}."


ITEMS = _map("user_id=NAME,item_id=NAME")
ONE_ITEM = _map("item_id=NAME[1] for one item per cell")
SCORE = _map("score=NAME, or score=-NAME if the smallest is best")
ORDER = f"Choose what orders the lists: --order rank or score, order= in Python; or name the column{CHOOSE}."
TIME = _map("timestamp=NAME (day first), or timestamp= to read no times")
ZONE = "Name the time zone: --zone, zone= of the rules in Python, or Time zone on the page Add data."
REPEATED = "Let each row count: --duplicates keep, duplicates= in Python, or Advanced on the page Add data."
IDS = "Write the ids as they are meant, as text."
CORRECT_TABLES = "Correct one of the tables."

RULES_OF_A_TEST = "--{}, rules= in Python, or Advanced on the page Add data."
BOT_FILTER = f"Choose the limits: {RULES_OF_A_TEST.format('bot-clicks and --bot-sessions')}"
OTHER_CONTROL = "Choose the control: --control, control= in Python, or Control on the page Add data."
CORRECT_LOGS = "Correct one of the logs."
NOT_COUNTED = "The rows do not count."

MISSING = NoticeRule("The rows are not read; recdash inspect --rejects lists them.", ITEMS)
GAP = NoticeRule("The rows are read without it.", "Fill the cells.")
IDENTIFIED = [role for roles in ROLES.values() for role in roles if role.reading in IDENTIFYING]
"""Roles whose values say what a row is about; a row without one is not read, or has a gap."""


def _code(what: str, name: str) -> str:
    return f"{what}-{name.replace('_', '-')}"


NOTICE_RULES: Mapping[str, NoticeRule] = {
    # the columns
    "columns-guessed": NoticeRule("The columns are read by their names.", ITEMS),
    "columns-by-values": NoticeRule("The columns are read by their values.", ITEMS),
    "ids-swapped": NoticeRule("The columns of users and items are exchanged.", ITEMS),
    "no-header": NoticeRule(
        "The columns are read by their positions.", _map("user_id=column 2,item_id=column 1")
    ),
    "unnamed-column": NoticeRule("The numbers of the rows are no data.", ITEMS),
    "trailing-delimiter": NoticeRule("The empty last column is not read.", ITEMS),
    "column-left-out": NoticeRule(
        "The column is not read.", "Rename the column, or write one number per row."
    ),
    "text-among-numbers": NoticeRule("The column is read as text.", "Leave the cells of text empty."),
    "yes-no": NoticeRule("Yes is read as 1, no as 0.", "Write the numbers that are meant."),
    "event-synonym": NoticeRule("The event is read under its usual name.", _map("event=NAME")),
    # lists
    "wide-table": NoticeRule("Each row is read as one list.", _map("item_id=rec_1..rec_9, or item_id=NAME")),
    "columns-unread": NoticeRule("The other numbered columns are not read.", _map("item_id=rec_1..rec_9")),
    "list-column": NoticeRule("Each cell is read as a list.", ONE_ITEM),
    "split-cells": NoticeRule("Each cell is read as a list.", ONE_ITEM),
    "several-lists": NoticeRule("Each column of lists is read as a candidate.", _map("item_id=NAME")),
    "held-out-column": NoticeRule("The column is not read.", _map("item_id=NAME")),
    "several-runs": NoticeRule("Each name in the column is a candidate.", _map("run= for one candidate")),
    "several-replicates": NoticeRule(
        "Each name in the column is a fold or seed.", _map("replicate= for one list")
    ),
    # the order of lists
    "file-order": NoticeRule("The order of the rows is the ranking.", _map("rank=NAME or score=NAME")),
    "unread-scores": NoticeRule("The order of the rows is the ranking.", SCORE),
    "empty-scores": NoticeRule("The column is not read.", SCORE),
    "two-scores": NoticeRule("One of the columns orders the lists.", SCORE),
    "distance": NoticeRule("The smallest value is the best.", _map("score=NAME if the largest is best")),
    "ranks-run-down": NoticeRule("Rank 1 is the best.", _map("score=NAME if the largest is best")),
    "ranks-from-zero": NoticeRule("Rank 0 is read as rank 1.", _map("rank= to ignore the ranks")),
    "rank-against-score": NoticeRule("The rank orders the lists.", ORDER),
    "trec": NoticeRule("The score orders a TREC run; its rank is not read.", _map("rank=rank")),
    "trec-rank-conflict": NoticeRule("The score orders the lists.", _map("rank=rank")),
    "trec-without-tag": NoticeRule(
        "The candidate has the name of the file.",
        "Give it a name: --run NAME=FILE, name= in Python, or Details on the page Add data.",
    ),
    "ties": NoticeRule(
        "Tied scores are ordered by a rule.", "Choose the rule: --ties item_desc, ties= in Python."
    ),
    "duplicate-ranks": NoticeRule("Equal ranks are ordered by score, else by row.", ORDER),
    "rank-gaps": NoticeRule("The ranks are numbered again from 1.", ORDER),
    "short-lists": NoticeRule("Missing positions count as misses.", "Choose a smaller k in --metrics."),
    "padded-items": NoticeRule("The item is read as one that is no hit.", "Leave these items empty."),
    # the form of the file
    "delimiter": NoticeRule("The lines are split at the delimiter.", "Write commas between the columns."),
    "decimal-comma": NoticeRule("A decimal comma is read as a point.", "Write decimal points."),
    "two-decimal-signs": NoticeRule("Commas and points are read as decimal signs.", "Write decimal points."),
    "encoding": NoticeRule("The text was converted to UTF-8.", "Save the file as UTF-8."),
    "gzip": NoticeRule("The file was decompressed.", "Give it without compression."),
    "zip-others": NoticeRule("The other files are not read.", "Give each table as a file of its own."),
    "parts": NoticeRule("The parts are read as one table.", "Give each part as a file of its own."),
    "sheet": NoticeRule(
        "One sheet is read.",
        "Choose the sheet: --run NAME=FILE.xlsx#SHEET, or Details on the page Add data.",
    ),
    "framed-table": NoticeRule("The lines of the frame are not read.", "Export CSV."),
    "footer": NoticeRule("The last line is not read.", "Write the line between quotes if it is a row."),
    "comments": NoticeRule("The lines above the table are not read.", "Write the header line above them."),
    "type-row": NoticeRule("The row of types is not read.", "Move the row down if it is a row."),
    "header-again": NoticeRule("The repeated header lines are not read.", "Write the header once."),
    "json-envelope": NoticeRule("The list of rows in the document is read.", "Write that list alone."),
    # ids
    "decimal-ids": NoticeRule("Ids such as 12.0 are read as 12.", IDS),
    "mixed-id-forms": NoticeRule("Both forms are read as one id.", IDS),
    "scientific-ids": NoticeRule("The ids are read as whole numbers.", IDS),
    "blanks-trimmed": NoticeRule("The blanks around the ids are not read.", IDS),
    "invisible-characters": NoticeRule("The characters are read as part of the ids.", IDS),
    "unicode-forms": NoticeRule("The forms are read as different ids.", IDS),
    **{_code("missing", role.name): MISSING for role in IDENTIFIED if role.filled != NEVER},
    **{_code("without", WORDS.get(role.name, role.name)): GAP for role in IDENTIFIED if role.filled == NEVER},
    "variant-spellings": NoticeRule("Each spelling is a variant.", "Write the name in one way."),
    # values
    "number-sign": NoticeRule("Only the number is read.", _map("rank= to ignore the ranks")),
    "percent": NoticeRule("The number before the sign is read.", _map("score= to ignore the scores")),
    "score-nan": NoticeRule("Items without a score are ranked last.", "Remove the rows, or give a score."),
    "score-inf": NoticeRule("Infinite scores rank first and last.", "Remove the rows, or give a number."),
    "no-prediction": NoticeRule("The rows are counted, and left out of the errors.", "Predict every row."),
    "negative-relevance": NoticeRule(
        "Negative values count as not relevant.",
        "Choose another column, or every row: --relevance, relevance= in Python, or Advanced on the page Add "
        "data.",
    ),
    "outside-scale": NoticeRule("The predictions are used as they are.", _map("prediction=NAME")),
    "zero-vectors": NoticeRule("These items count as without a vector.", "Leave these items out."),
    "two-sets": NoticeRule("n, mean and variance are used.", _map("n=,mean=,variance= for the other set")),
    # times
    "naive-times": NoticeRule("The times are taken as UTC.", ZONE),
    "repeated-hour": NoticeRule("The earlier of the two moments is used.", "Write the times in UTC."),
    "skipped-hour": NoticeRule("The moment of the change is used.", "Write the times in UTC."),
    "mixed-time-units": NoticeRule("Each time is read in its own unit.", "Write all times in one unit."),
    "slash-dates": NoticeRule("Day and month are read as the larger numbers show.", TIME),
    "text-times": NoticeRule("The times are kept as text.", TIME),
    "no-times": NoticeRule("The column is not read.", _map("timestamp=NAME")),
    # repeated rows
    "duplicate-pairs": NoticeRule("A repeated item counts by the rule for duplicates.", REPEATED),
    "duplicate-truth": NoticeRule("The row with the highest relevance counts.", "Keep one row per pair."),
    "duplicate-predictions": NoticeRule("Each row counts in the errors.", "Keep one row per pair."),
    "duplicate-items": NoticeRule("The first row of each counts.", "Keep one row per item."),
    "duplicate-users": NoticeRule("The first row of each counts.", "Keep one row per user."),
    "self-pairs": NoticeRule("The rows are not read.", "Give pairs of two items."),
    # several tables
    "users-without-truth": NoticeRule("These lists count for the catalogue only.", CORRECT_TABLES),
    "seen-in-training": NoticeRule("The items stay in the lists.", "Remove them from the lists."),
    "train-leaks-truth": NoticeRule("The pairs stay in both tables.", "Split the data again."),
    "unknown-items": NoticeRule("The items count for accuracy only.", CORRECT_TABLES),
    "nothing-in-train": NoticeRule("Novelty and popularity are computed without them.", CORRECT_TABLES),
    "items-without-row": NoticeRule("These items have no attributes.", CORRECT_TABLES),
    "users-without-row": NoticeRule("These users have no attributes.", CORRECT_TABLES),
    "some-ids-spelled-otherwise": NoticeRule("The ids are read as written.", CORRECT_TABLES),
    "hardly-known-ids": NoticeRule("The run is scored.", CORRECT_TABLES),
    "truth-as-run": NoticeRule("The run is scored.", CORRECT_TABLES),
    "table-spelled-otherwise": NoticeRule("Metrics of this table are left out.", CORRECT_TABLES),
    "table-not-met": NoticeRule("Metrics of this table are left out.", CORRECT_TABLES),
    "predictions-apart": NoticeRule("Only rows of the test set count.", CORRECT_TABLES),
    # counting an A/B test: its users
    "crossovers": NoticeRule("These users do not count.", CORRECT_LOGS),
    "many-crossovers": NoticeRule("These users do not count.", CORRECT_LOGS),
    "bots": NoticeRule("These users do not count.", BOT_FILTER),
    "bots-uneven": NoticeRule("These users do not count.", BOT_FILTER),
    "never-exposed": NoticeRule(NOT_COUNTED, "Add these users to the exposures."),
    "other-variant": NoticeRule("The variant of the exposures counts.", CORRECT_LOGS),
    "variant-without-users": NoticeRule("The variant has no results.", f"{CORRECT_LOGS} {BOT_FILTER}"),
    "no-control-row": NoticeRule("The metric has no lift.", "Add the row, or choose another control."),
    "single-variant": NoticeRule("There is no lift.", "Give the rows of another variant."),
    "guessed-control": NoticeRule("The first variant by name is the control.", OTHER_CONTROL),
    "sample-ratio-mismatch": NoticeRule(
        "No lift is judged.", f"Name the planned split: {RULES_OF_A_TEST.format('split')}"
    ),
    # … its days
    "before": NoticeRule(
        "They count only as pre-test data.", f"Choose the first day: {RULES_OF_A_TEST.format('starts')}"
    ),
    "stray-times": NoticeRule(NOT_COUNTED, "Correct the times."),
    "few-days": NoticeRule("All days count.", "Give a log of more days."),
    "uneven-days": NoticeRule("All days count.", "Give only days on which all variants ran."),
    "novelty": NoticeRule("All days count.", "Give only the late days."),
    "skewed-values": NoticeRule("All values count.", "Give the metric a cap."),
    "one-user-decides": NoticeRule("All users count.", "Give the metric a cap."),
    "watch-time-outliers": NoticeRule("All users count.", f"{BOT_FILTER} Or give the metric a cap."),
    # … its rows
    "duplicate-session": NoticeRule("The first row of each counts.", "Write each session once."),
    "duplicate-event": NoticeRule("The first row of each counts.", "Write a unique event_id per event."),
    "no-session": NoticeRule(NOT_COUNTED, "Fill the cells."),
    "source": NoticeRule(NOT_COUNTED, _map("source= to count all items")),
    "sources": NoticeRule(
        "Clicks and watch time of others do not count.", _map("source= to count all items")
    ),
    "no-source": NoticeRule("Clicks and watch time of all items count.", _map("source=NAME")),
    "no-item": NoticeRule(NOT_COUNTED, "Fill the cells."),
    "threshold": NoticeRule(
        "These count as no videos.", f"Choose the seconds: {RULES_OF_A_TEST.format('threshold')}"
    ),
    "item-cap": NoticeRule(
        "Longer times count as the cap.", f"Choose the cap: {RULES_OF_A_TEST.format('item-cap')}"
    ),
    "watched-both-ways": NoticeRule("The longer of the two times counts.", "Log one of the two."),
    "other-events": NoticeRule("Each is counted under its own name.", _map("event=NAME")),
    "too-many-events": NoticeRule("Some of the names are not counted.", _map("event=NAME")),
    "served-lists": NoticeRule("Whole lists are read.", CORRECT_LOGS),
    "served-other-variant": NoticeRule("The lists count for the user's variant.", CORRECT_LOGS),
    "no-request-ids": NoticeRule("Online hit ratio and list CTR are left out.", "Add the column request_id."),
    # … its metrics and rules
    "missing-column": NoticeRule("The metric of the column is left out.", "Add the column."),
    "metrics-proposed": NoticeRule(
        "Each column of numbers is a metric.", "Name the metrics: --metric, or metrics= in Python."
    ),
    "not-winsorised": NoticeRule(
        "The total is not capped.", f"Choose another quantile: {RULES_OF_A_TEST.format('winsorise')}"
    ),
    "rule-ignored": NoticeRule("The rule is not used.", "Leave the rule out."),
    "independent-trials": NoticeRule(
        "Trials count as independent.", "Give sessions, or n, mean and variance."
    ),
    "repeated-trials": NoticeRule("These lifts are not judged.", "Give sessions, or n, mean and variance."),
    "share-beyond-one": NoticeRule("The metric is compared as it is.", "Rename the metric."),
    # an interleaving test
    "several-users": NoticeRule("The requests are left out.", "Give each request an id of its own."),
    "contradictory-slots": NoticeRule("The items are left out.", "Write each item once per request."),
    "duplicate-slots": NoticeRule("The row with the best rank counts.", "Write each item once per request."),
    "shared-ranks": NoticeRule("All rows count.", "Write each rank once per request."),
    "click-without-team": NoticeRule("Neither ranking is credited.", _map("team=NAME")),
    "click-outside-rankings": NoticeRule("Neither ranking is credited.", _map("rank_a=NAME,rank_b=NAME")),
    "uneven-first-picks": NoticeRule("No preference is judged.", CORRECT_LOGS),
    "uneven-team-slots": NoticeRule("No preference is judged.", CORRECT_LOGS),
}
"""What is done for each code, and how to choose otherwise."""


def way_of(code: str) -> str:
    """Returns how to choose otherwise for a notice's code; empty if it is not about reading a file."""
    rule = NOTICE_RULES.get(code)
    if rule is None:
        return ""
    refuse = (
        f'To refuse such files: --refuse {code}, refuse="{code}" in Python, or Advanced on the page Add data.'
    )
    return f"{rule.choose} {refuse}".strip()


def read_codes(refuse: str | Sequence[str]) -> tuple[str, ...]:
    """Returns the codes of notices to refuse; a text may have several, separated by commas.

    Raises UnknownName for a code that no notice of a file has.
    """
    given = texts_of("refuse", refuse, "ties")
    codes = [code.strip() for text in given for code in text.split(",") if code.strip()]
    check_known("notice", codes, NOTICE_RULES)
    return tuple(dict.fromkeys(codes))


def refused_by(notices: Iterable[Problem], refuse: Sequence[str]) -> tuple[Problem, ...]:
    """Returns the notices with one of the codes as problems, which say that they were to be refused."""
    return tuple(
        replace(
            notice,
            fix=f"Files with the notice '{notice.code}' are refused, as you chose. {notice.fix}".rstrip(),
        )
        for notice in dict.fromkeys(notices)
        if notice.code in refuse
    )


def check_refused(notices: Iterable[Problem], refuse: Sequence[str]) -> None:
    """Raises InputError with the notices that are to be refused, if there are any."""
    if problems := refused_by(notices, refuse):
        raise InputError(problems)


OF_EVERY_ROW = FORMATS | READINGS | {"held-out-column", "ranks-run-down"}
"""Codes of notices that are true of each row or value, so that the first one is an example."""


def with_example(notice: Problem, rows: Sequence[Mapping[str, str]]) -> Problem:
    """Returns a notice of how a file is read with an example: its own, else the first value of its column,
    else the first of ``rows``. A notice about values keeps its own, as the first row may show nothing of it.
    """
    if notice.example or notice.code not in OF_EVERY_ROW or not rows:
        return notice
    own = {column: value for column, value in rows[0].items() if f"'{column}'" in notice.place}
    return replace(
        notice, example=", ".join(f"{column} '{value}'" for column, value in (own or rows[0]).items())
    )
