"""Writes the sections of docs/calibration.md, each of which another command measures."""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Sequence
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "calibration.md"
SECTION = re.compile(r"^## ", re.MULTILINE)


def options(module: str, description: str | None, tries: int, largest: int) -> argparse.ArgumentParser:
    """Returns the parser of a command that counts situations; its usual tries, and the most users of one."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{module}", description=description)
    parser.add_argument("--tries", type=int, default=tries, help=f"tries of each situation ({tries:,})")
    parser.add_argument("--largest", type=int, default=largest, help="the most users of a situation")
    parser.add_argument("--processes", type=int, default=2, help="processes (2)")
    parser.add_argument("--output", type=Path, default=PAGE, help="the page that gets the section")
    return parser


def table(columns: Sequence[str], rows: Sequence[str], texts: Collection[str]) -> str:
    """Returns a table in Markdown, whose columns are numbers but for ``texts``."""
    dashes = ["---" if name in texts else "---:" for name in columns]
    return "\n".join([f"| {' | '.join(columns)} |", f"| {' | '.join(dashes)} |", *rows])


def sections_of(text: str) -> str:
    """Returns the page from its first section on; empty without one."""
    first = SECTION.search(text)
    return text[first.start() :] if first else ""


def section(text: str, title: str) -> str:
    """Returns the section with this title, up to the next one; empty if the page has none."""
    parts = SECTION.split(text)
    return next((f"## {part}" for part in parts[1:] if part.startswith(f"{title}\n")), "")


def write_section(title: str, body: str, page: Path = PAGE) -> None:
    """Puts a section in place of the one with the same title, or at the end of the page."""
    text = page.read_text(encoding="utf-8")
    new, known = f"## {title}\n\n{body.strip()}\n", section(text, title)
    if known:
        is_last = text.endswith(known)
        text = text.replace(known, new if is_last else f"{new}\n")
    else:
        text = f"{text.rstrip()}\n\n{new}"
    page.write_text(text, encoding="utf-8")
