"""Words of notices on pages: columns in place of roles, and a fix that a page offers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from recdash.errors import Problem

ROLES: Mapping[str, str] = {
    "user_id": "user",
    "item_id": "item",
    "unit_id": "user",
    "session_id": "session",
    "request_id": "list",
    "team": "ranking of the item",
    "rank_a": "rank in the first ranking",
    "rank_b": "rank in the second ranking",
    "credit_a": "credit of the first ranking",
    "credit_b": "credit of the second ranking",
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
CODES = [role for role in ROLES if "_" in role or role == "ts"]
"""Roles whose own name is no word."""
ROLE_COLUMN = re.compile(rf"column '({'|'.join(CODES)})'|\b({'|'.join(CODES)}) column\b")
ROLE_ALONE = re.compile(rf"\b({'|'.join(CODES)})\b(?!=)")
READ_AS = re.compile(r"\b(\w+) = ('[^']*')")
QUOTED = re.compile(r"((?<!\w)'[^']*'|\([^)]*\)?)")
OF_COLUMNS = ("columns-guessed", "columns-by-values", "no-header")
"""Codes of notices that say how columns were read, which can be chosen only while a file is added."""
ADD_AGAIN = "If this is wrong, add the file again and choose other columns."


def role_name(role: str) -> str:
    return ROLES.get(role, role.replace("_", " "))


def in_page_words(text: str) -> str:
    """Returns the text with ``user_id`` as "the user column" and ``truth`` as "test set"; what is quoted or
    in brackets stays, and so do the columns that were found in a file.
    """
    text, separator, columns = text.partition("; found: ")
    if text.startswith("read as "):
        text = READ_AS.sub(lambda match: f"{match[2]} as {role_name(match[1])}", f"read {text[8:]}")
        return f"{text}{separator}{columns}"
    text = ROLE_COLUMN.sub(lambda match: f"{role_name(match[1] or match[2])} column", text)
    parts = QUOTED.split(text)
    for number in range(0, len(parts), 2):  # the others are quoted
        part = ROLE_ALONE.sub(lambda match: f"the {role_name(match[0])} column", parts[number])
        part = re.sub(r"\btrain\b(?! rows)", "training data", part)
        parts[number] = re.sub(r"\btruth\b", "test set", part)
    return "".join([*parts, separator, columns])


def of_stored(notices: Iterable[Problem]) -> list[Problem]:
    """Returns the notices of a stored run or test in the words of the page, with a fix that is still
    possible.
    """
    return [
        replace(
            notice,
            place=in_page_words(notice.place),
            found=in_page_words(notice.found),
            fix=ADD_AGAIN if notice.fix and notice.code in OF_COLUMNS else in_page_words(notice.fix),
        )
        for notice in notices
    ]
