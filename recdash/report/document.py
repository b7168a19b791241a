"""A report as values: sections of text, tables of raw numbers with how they are shown, and figures.

Frozen, and JSON-ready by ``recdash.report.formats.json``: a stored report is this and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from recdash.comparison.key_numbers import KeyNumber
from recdash.formatting.tables import Table, Tone

FigureKind = Literal["forest", "curve", "precision-recall", "bars", "quadrants", "segments"]

FORMAT, FIRST_FORMAT = 2, 1
"""Reports of the first format open with the offline verdict; they are shown and checked in their own form."""
WORDING = 4
"""Counts the changes of sentences in reports; an older report has the words of its time."""
VERDICT_WORDING = 2
"""The last wording in which *What would change it* asks about the offline verdict: since then, about the
recommendation.
"""

# ── what stands in a section ─────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Paragraph:
    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Figure:
    """A chart as what it draws: ``data`` for ``formats.figures``; ``alt`` and ``table`` say the same.

    ``wide``: it takes the whole width.
    """

    kind: FigureKind
    title: str
    note: str
    alt: str
    data: Mapping[str, Any]
    table: Table
    wide: bool = True


@dataclass(frozen=True)
class Formula:
    """A definition: the metric, its formula in LaTeX and in words."""

    name: str
    latex: str
    words: str


@dataclass(frozen=True)
class Notice:
    """Something to know: where, what was found, what to do."""

    place: str
    found: str
    fix: str = ""


@dataclass(frozen=True)
class Notices:
    """``nothing`` is said where there are none."""

    items: tuple[Notice, ...]
    nothing: str


@dataclass(frozen=True)
class Answer:
    """A question that a reader asks, and its answer; ``matters``: it would change the verdict."""

    question: str
    answer: str
    matters: bool = False


@dataclass(frozen=True)
class Answers:
    items: tuple[Answer, ...]


@dataclass(frozen=True)
class Command:
    """A line to type, and what it does."""

    line: str
    about: str


Part = Paragraph | Table | Figure | Formula | Notices | Answers | Command


@dataclass(frozen=True)
class Section:
    """``name``: the block that made it; ``title`` states the finding; ``note``: what was measured, how."""

    name: str
    title: str
    note: str = ""
    parts: tuple[Part, ...] = ()


# ── what a report opens with ───────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Decided:
    """The decision that stands: who decided when (ISO 8601), the reason, and what today's evidence says.

    ``agrees`` is None where today's evidence cannot say it.
    """

    author: str
    moment: str
    reason: str
    evidence: str
    agrees: bool | None


# ── the whole ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Split:
    """For how many users a run is better, the same and worse than the baseline."""

    run: str
    base: str
    wins: int
    ties: int
    losses: int

    @property
    def n(self) -> int:
        return self.wins + self.ties + self.losses


@dataclass(frozen=True)
class Lead:
    """What the report opens with: the decision that stands, else the recommendation, or why there is none.

    ``sentences`` say why; ``numbers`` and ``split`` are those behind it; ``risks`` speak against it. Reports
    of the first format have the offline verdict here.
    """

    sign: str
    badge: str
    tone: Tone
    why: str
    headline: str
    sentences: tuple[str, ...]
    split: Split | None = None
    decision: Decided | None = None
    numbers: tuple[KeyNumber, ...] = ()
    risks: tuple[str, ...] = ()
    chart: Figure | None = None


@dataclass(frozen=True)
class RunLook:
    """A run as the report names and draws it."""

    run_id: str
    name: str
    slot: int
    role: Literal["baseline", "candidate", "context"]


@dataclass(frozen=True)
class Document:
    """``moment``: the time of its numbers, in ISO 8601; ``provenance``: what they are made from.

    ``question`` and ``blocks``: the question, and the order of its sections. ``link``: the address of the
    view in the dashboard, "" where it is not known. ``format`` counts the changes of these values that an
    older recdash could not read; ``wording`` is the ``WORDING`` of its sentences.
    """

    title: str
    experiment: str
    moment: str
    author: str
    live: bool
    narrative: str
    lead: Lead
    sections: tuple[Section, ...]
    runs: tuple[RunLook, ...]
    question: Mapping[str, Any]
    blocks: tuple[str, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    format: int = FORMAT
    wording: int = 1
    link: str = ""

    @property
    def names(self) -> dict[str, str]:
        """Run id → name."""
        return {run.run_id: run.name for run in self.runs}

    def tables(self) -> Iterator[tuple[Section, Table]]:
        """Yields every table, those behind figures too, with its section."""
        chart = self.lead.chart
        if chart is not None and not any(chart in section.parts for section in self.sections):
            yield Section("lead", self.lead.headline), chart.table
        for section in self.sections:
            for part in section.parts:
                if isinstance(part, Table):
                    yield section, part
                if isinstance(part, Figure):
                    yield section, part.table
