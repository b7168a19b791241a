"""Reads tables with lines around the header or all cells, as database clients print them."""

from __future__ import annotations

import re
from typing import BinaryIO

from recdash.errors import Problem
from recdash.ingest.byte_source import CHUNK, Content, copied
from recdash.ingest.formats.dialect import sample_lines
from recdash.ingest.formats.text_rows import by_line

SIGNS_OF_RULES = b"-+|: \t"
COUNT = rb"(?:\d{1,3}(?:[,.' ]\d{3})+|\d+)"
ROWS = rb"(?:rows?|records?|lignes?|filas?|zeilen?)"
TOTAL = rb"(?:(?:grand )?total|sum|summe|gesamt|somme|suma)"
FOOTER = re.compile(
    rb"\(%(count)s %(rows)s(?: affected)?\)"
    rb"|%(count)s %(rows)s(?: (?:in set|affected|selected|returned|fetched)\b[^,;|\t]*)?\.?"
    rb"|total ?:[^,;|\t]*"
    rb"|(?:total )?%(rows)s ?: ?%(count)s|total ?: ?%(count)s(?: %(rows)s)?"
    % {b"count": COUNT, b"rows": ROWS},
    re.IGNORECASE,
)
"""The count of rows that programs write below a table."""
SUM_ROW = re.compile(
    rb"""["']?%(total)s ?:?["']?(?P<delimiter>[,;|\t])(?P=delimiter)*["']?\d[\d.' ]*["']?(?P=delimiter)*"""
    % {b"total": TOTAL},
    re.IGNORECASE,
)
"""A last row of the word for a total, one number, and empty cells."""
TAIL = 4096
BAR, MARKDOWN_BAR = re.compile(rb"\|"), re.compile(rb"(?<!\\)\|")
"""What stands between two cells; Markdown writes a bar within a cell as ``\\|``."""


def without_frame(content: Content) -> Content:
    """Returns a framed table as text with '|' between the cells; other content unchanged.

    The lines of the frame become empty, so that the numbers of all lines stay the same.
    """
    lines = [line.encode() for line in sample_lines(content)[:3]]
    if not _is_framed(lines):
        return content
    header = next(line for line in lines if not _is_rule(line))
    finding = "a table with a frame, as psql, MySQL and Markdown write it: its lines are not read"
    example = f"'{header.decode().strip()[:80]}'"
    notice = Problem("framed-table", "file", finding, "Export CSV if this is wrong.", 1, example)
    has_edges = header.strip().startswith(b"|")
    rule = next(line for line in lines if _is_rule(line))
    bar = BAR if b"+" in rule else MARKDOWN_BAR

    def bare(text: bytes) -> bytes:
        return b"\n".join(_bare_line(line, has_edges, bar) for line in text.split(b"\n"))

    return copied(content, by_line(bare), notice)


RULED = (b",", b";", b"\t", None)
"""Delimiters of names and of the dashes below them; None stands for blanks."""


def without_rules(content: Content) -> Content:
    """Returns text without lines of dashes beside the header, as SQL Server and SQLite write them.

    The header may also stand between two such lines, of ``=``. They become empty, so that the numbers of all
    lines stay the same.
    """
    lines = [line.encode() for line in sample_lines(content)[:3]]
    if len(lines) < 2:
        return content
    is_between = len(lines) > 2 and lines[0].strip() == lines[2].strip()
    names, rule = (lines[1], lines[0]) if is_between else (lines[0], lines[1])
    if not any(_is_ruled(names, rule, delimiter) for delimiter in RULED):
        return content
    rule = rule.strip()
    shown = rule.decode()[:80]
    finding = f"a line of dashes beside the header, '{shown}', as SQL Server and SQLite write it, is not read"
    notice = Problem("framed-table", "file", finding, "Export CSV if this is wrong.", 1, f"'{shown}'")
    whole_line = _whole_lines(rule.decode())
    return copied(content, by_line(lambda text: whole_line.sub(b"", text)), notice)


def _whole_lines(*lines: str) -> re.Pattern[bytes]:
    """Returns the pattern of lines that are one of these."""
    texts = b"|".join(re.escape(line.encode()) for line in lines)
    return re.compile(rb"(?:^|(?<=[\r\n]))[ \t]*(?:" + texts + rb")[ \t]*(?=[\r\n]|$)")


def _is_ruled(names: bytes, rule: bytes, delimiter: bytes | None) -> bool:
    """Returns whether a line has dashes for each name, at least as many as the name has letters."""
    cells = [cell.strip() for cell in names.split(delimiter)]
    dashes = [part.strip() for part in rule.split(delimiter)]
    if not len(cells) == len(dashes) > 1:
        return False
    lengths = zip(dashes, (len(cell.decode()) for cell in cells), strict=True)
    return all({*part} in ({ord("-")}, {ord("=")}) and len(part) >= length for part, length in lengths)


def without_footer(content: Content) -> Content:
    """Returns the text without a count of rows in its last line, such as ``(12 rows)`` or ``Total: 12``."""
    with content.open() as reader:
        reader.seek(max(content.size - TAIL, 0))
        tail = reader.read(TAIL).rstrip()
    last = re.split(rb"[\r\n]", tail)[-1]
    if len(last) == len(tail) or not _is_footer(last):
        return content
    end = content.size - TAIL if content.size > TAIL else 0
    end += len(tail) - len(last)

    def cut(reader: BinaryIO, writer: BinaryIO) -> None:
        left = end
        while chunk := reader.read(min(CHUNK, left)):
            writer.write(chunk)
            left -= len(chunk)

    shown = last.decode(errors="replace").strip()[:80]
    finding, fix = f"the last line, '{shown}', is no row", "Put it between quotes if it is one."
    return copied(content, cut, Problem("footer", "file", finding, fix, 1, f"'{shown}'"))


def _is_footer(line: bytes) -> bool:
    """Returns whether a line counts rows, alone or beside empty cells, instead of being a row."""
    if FOOTER.fullmatch(line.strip(b" ,;|\t\"'")):
        return True
    total = SUM_ROW.fullmatch(line.strip(b" "))
    return total is not None and line.count(total["delimiter"]) > 1  # two full cells may be a whole row


def _is_framed(lines: list[bytes]) -> bool:
    """Returns whether a rule stands below the names, or above and below them, with as many columns."""
    if len(lines) < 2:
        return False
    names, rule = (lines[1], lines[0]) if _is_rule(lines[0]) else (lines[0], lines[1])
    n_ruled = len([part for part in re.split(rb"[+|]", rule) if part.strip()])
    n_named = len(_cells(names, has_edges=names.strip().startswith(b"|"), bar=MARKDOWN_BAR))
    return _is_rule(rule) and not _is_rule(names) and n_named == n_ruled > 1


def _is_rule(line: bytes) -> bool:
    return b"-" in line and not line.strip().translate(None, SIGNS_OF_RULES)


def _cells(line: bytes, *, has_edges: bool, bar: re.Pattern[bytes]) -> list[bytes]:
    """Returns the cells of a line; with edges, a bar stands before the first and after the last."""
    if has_edges:
        line = line.strip().removeprefix(b"|").removesuffix(b"|")
    cells = [cell.strip() for cell in bar.split(line)]
    return cells if bar is BAR else [cell.replace(rb"\|", b"|") for cell in cells]


def _bare_line(line: bytes, has_edges: bool, bar: re.Pattern[bytes]) -> bytes:
    """Returns a line of a framed table without the frame; a line of the frame becomes empty."""
    if not line.strip() or _is_rule(line) or FOOTER.fullmatch(line.strip()):
        return b""
    cells = _cells(line, has_edges=has_edges, bar=bar)
    if any(b'"' in cell or b"|" in cell for cell in cells):  # which the cell's quotes keep in it
        cells = [b'"' + cell.replace(b'"', b'""') + b'"' for cell in cells]
    return b"|".join(cells)
