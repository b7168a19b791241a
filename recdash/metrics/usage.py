"""Where a metric appears by default: flags that stand on the metric's own row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Group = Literal["core", "beyond", "other"]
LAST = 99


@dataclass(frozen=True)
class Usage:
    """Where a metric appears unless a user chooses otherwise; ``metrics.naming`` makes the lists from it.

    ``group`` and ``order``: the group that tables list the metric with, and its position there, from 1.
    ``is_scored``: it is computed for every upload, and so are its ``variants`` (full specs).
    ``other_definition``: the parameters that other tools use most, as typed; a verdict is tried with them.
    ``guardrail``: what a guardrail's sentence calls it; empty where it is none.
    ``less_is_wanted``: of a catalogue metric, a lower value is what a team usually wants.
    ``is_percent``: its values are read in %. ``in_words``: what it measures, for readers without the term.
    """

    group: Group = "other"
    order: int = LAST
    is_scored: bool = True
    variants: tuple[str, ...] = ()
    other_definition: str = ""
    guardrail: str = ""
    less_is_wanted: bool = False
    is_percent: bool = False
    in_words: str = ""


UNLISTED = Usage()
"""Scored for every upload, and listed by name behind the others."""
