"""Flags on a metric's row that say where the metric appears by default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Group = Literal["core", "beyond", "other"]
LAST = 99


@dataclass(frozen=True)
class Usage:
    """Where a metric appears unless a user chooses otherwise.

    ``metrics.naming`` builds its lists from these flags. ``group`` and ``order``: the group under which
    tables list the metric, and its position there, from 1. ``is_scored``: the metric is computed for every
    upload, together with its ``variants`` (full specs). ``other_definition``: the parameters that other tools
    use most, as typed; the sensitivity of a verdict is tested with them. ``guardrail``: the metric's name in
    the text of a guardrail; empty if it has no guardrail. ``less_is_wanted``: for a catalogue-level metric,
    teams usually want a lower value. ``is_percent``: its values are shown in %. ``in_words``: what it
    measures, for readers who do not know the term.
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
"""The default: computed for every upload, and listed by name after the other metrics."""
