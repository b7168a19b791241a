"""Lines before a text table that belong to no row: blank lines, comments, titles, and Excel's ``sep=;``."""

from __future__ import annotations

import re
import shutil
from typing import BinaryIO

from recdash.errors import Problem
from recdash.ingest.byte_source import Content, copied
from recdash.ingest.columns import is_known

BOM = b"\xef\xbb\xbf"
DELIMITER = re.compile(rb"::|[,;|\t]")
SEPARATOR_LINE = re.compile(rb"sep=[,;|\t]\s*", re.IGNORECASE)
MOST_SHOWN = 40
MOST_TITLES = 10
"""Largest number of lines above the header in which titles are looked for."""
ROWS_BELOW = 3
"""Number of lines below the header that must have its width, if there are as many."""


def blank_lines_before(content: Content) -> int:
    """Returns the number of empty lines before the first other line."""
    lines = content.head.removeprefix(BOM).splitlines()
    return next((number for number, line in enumerate(lines) if line), 0)


def without_preamble(content: Content) -> Content:
    """Returns the content with comments and titles before the table, and a line such as ``sep=;``, as empty
    lines.

    Lines that begin with ``#`` are comments if a header follows, or a line with another number of fields.
    Other lines are titles if a header of two known names follows and they have fewer fields. The numbers of
    all lines stay the same.
    """
    head = content.head.removeprefix(BOM)
    lines = head.splitlines(keepends=True)
    is_comment = head.lstrip().startswith(b"#") or SEPARATOR_LINE.match(head)
    before = _lines_before(lines) if is_comment else 0
    kind = "comment line"
    if not before:
        before, kind = _titles_before(lines), "line"
    left_out = [line.strip() for line in lines[:before] if line.strip()]
    if not left_out:
        return content
    n_bytes = sum(map(len, lines[:before])) + len(content.head) - len(head)
    ends = b"".join(line[len(line.rstrip(b"\r\n")) :] for line in lines[:before])

    def rewrite(reader: BinaryIO, writer: BinaryIO) -> None:
        reader.read(n_bytes)
        writer.write(ends)
        shutil.copyfileobj(reader, writer)

    shown = left_out[0].decode(errors="replace")
    example = shown if len(shown) <= MOST_SHOWN else f"{shown[: MOST_SHOWN - 1]}…"
    count = len(left_out)
    place = "before" if is_comment else "above"
    finding = f"{count} {kind}{'' if count == 1 else 's'} {place} the table, such as '{example}'"
    fix = "They are not read. If they are rows, put the header line above them."
    return copied(content, rewrite, Problem("comments", "file", finding, fix, count, f"'{example}'"))


def _titles_before(lines: list[bytes]) -> int:
    """Returns how many of the first lines are titles or blank; 0 if they may be rows or a header.

    The header is the first line with two known names. Lines above it are titles if each has fewer fields that
    are not empty, none of them a known name, and the lines below have as many fields as the header.
    """
    filled = [number for number, line in enumerate(lines) if line.strip()][: MOST_TITLES + 1 + ROWS_BELOW]
    header = next((number for number in filled[: MOST_TITLES + 1] if _names(lines[number]) > 1), 0)
    width = len(DELIMITER.split(lines[header])) if lines else 0
    above, below = (
        [lines[number] for number in filled if number < header],
        [lines[number] for number in filled if number > header][:ROWS_BELOW],
    )
    is_table = bool(below) and all(len(DELIMITER.split(line)) == width for line in below)
    are_titles = all(_n_filled(line) < width and not _names(line) for line in above)
    return header if is_table and are_titles else 0


def _n_filled(line: bytes) -> int:
    return sum(bool(cell.strip(b' "')) for cell in DELIMITER.split(line.strip()))


def _lines_before(lines: list[bytes]) -> int:
    """Returns how many of the first lines are comments or blank; 0 if the comments may be rows."""
    before = 0
    if SEPARATOR_LINE.fullmatch(lines[0]):
        before = 1
    while before < len(lines) and (not lines[before].strip() or _is_comment(lines[before])):
        before += 1
    if before == len(lines):
        return 0
    widths = {len(DELIMITER.split(line)) for line in lines[:before] if _is_comment(line)}
    is_apart = _names(lines[before]) > 1 or len(DELIMITER.split(lines[before])) not in widths
    return before if is_apart else 0


def _is_comment(line: bytes) -> bool:
    """Returns whether a line begins with # and is no header: #user_id,item_id."""
    return line.lstrip().startswith(b"#") and _names(line) < 2


def _names(line: bytes) -> int:
    cells = DELIMITER.split(line.lstrip(b"# "))
    return sum(is_known(cell.decode(errors="replace").strip(' "')) for cell in cells)
