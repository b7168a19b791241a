"""A report as values: sections with texts, tables of raw numbers and how to show them, and figures.

All values are immutable. ``recdash.report.formats.json`` converts them to JSON, and a stored report is just
that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from recdash.comparison.key_numbers import KeyNumber
from recdash.domain.access import finding_without_ids
from recdash.formatting.tables import Table, Tone

FigureKind = Literal["forest", "curve", "precision-recall", "bars", "quadrants", "segments"]

FORMAT, FIRST_FORMAT = 2, 1
"""The current and the first version of a document's values.

Reports of the first open with the offline verdict, and are shown and checked as they were then.
"""
WORDING = 16
"""The version of the sentences in reports; an older report keeps the sentences of its version."""
VERDICT_WORDING = 2
"""The last wording in which the section *What would change it* is about the offline verdict rather than the
recommendation.
"""

AGREEMENT_WORDING = 5
"""The last wording in which the headline of the A/B test does not say what is significant only offline, and
other metrics count the experiment's users even if the primary metric names other ones.
"""

LISTS_WORDING = 6
"""The last wording in which the first page does not say who gets no recommendations, and names of metrics
have the users who count as code.
"""

THRESHOLD_WORDING = 7
"""The last wording of these differences:

- Relevance threshold: *What would change it* does not try another, and A/B tests do not count with another.
- First page: it names neither A/B tests that are not linked nor a loss that a guardrail allows, and gives the
  interval of a lift the level of the offline ones.
- A/B test: causes quote a gain as what offline implies, and thresholds that are no grade; other metrics that
  disagree are not named.
- Decisions: one is superseded rather than replaced.
"""

ANSWERS_WORDING = 8
"""The last wording of these differences:

- *What would change it*: a segment whose users all score as with the baseline would not change it, and *Same
  result* with another relevance threshold does not say whose gain is gone there.
  It may ask about the same users twice, names no values where a candidate's case is another with other users,
  and names any number of users that would decide a segment.
- *Keep the baseline*: the reasons do not say how much of a candidate's loss comes from users without
  recommendations from it.
- Intervals: they may end beyond the largest possible loss or gain.
- First page: it does not say why a decision was approved despite its risks.
"""

EQUAL_USERS_WORDING = 9
"""The last wording of these differences:

- Equal users: a difference of users who all score as with the baseline has an interval and is called
  inconclusive.
- *What would change it*: the questions keep one order, ask for cutoffs beyond the longest list, and do not
  name to what a segment changes the recommendation. The heading does not say how many leave it open.
- *Ship*: the reasons do not say how many metrics, segments and guardrails were examined, nor name the
  candidate from which another does not differ.
- Data: tied scores are noted however few they are, also beside runs without scores.
- Signs: = stands for inconclusive too, and an A/B test that is to run on or is inconclusive has –.
- Digits: a lift may have other decimals than its interval, and each end of an interval three digits.
"""

RISKS_WORDING = 10
"""The last wording of these differences:

- First page: that a decision was approved despite its risks stands among the risks, and users without
  recommendations from a run are told of whichever run it is.
- *What would change it*: an answer that is open does not begin with *Open*, and another case with other users
  leaves the question open even if it is known. Where every grade counts, it asks for the threshold that the
  scale suggests even if the experiment has its own.
- A/B tests against another run than the baseline: only losses are told, and the run is not named.
- Offline against online: the heading of a chart without disagreement does not name the metric, and other
  users are ruled out where most users online are new, however few new ones were evaluated.
- Decision: it does not say which candidates it compared with which baseline.
- What would change it: guardrails are not called offline ones.
- *Keep the baseline*: of a candidate that equals it for every user it is said that more users would be
  needed, and after *None of the candidates beats* again that the best of them does not.
- Guardrails: a broken one is *below* or *above* its guardrail.
- Other metrics: a change from a doubling on is in %, one from nearly 0 too.
"""

TIES_WORDING = 11
"""The last wording of these differences:

- Intervals: of differences with the same p-value each has an interval at another level.
- Segments of a single run: the caption asks for a candidate.
- Decisions: their checklists are not shown.
- A/B test alone: the headline does not name inconclusive guardrails of what is shipped.
- A/B test: a run that is inconclusive is called undecided, and the heading names first the metric without a
  disagreement.
- Segments: one for which a candidate has no recommendations does not say so.
- Lifts: those that CUPED adjusted do not say so.
- Charts of an A/B test: a rise is drawn as better, even of a metric of which less is better.
- Offline against online: the title says only on how many candidates both agree, and a run that won the chosen
  online metric and lost another one has *won both*.
- First page: the risks do not say which candidates were not tested, in which segments nothing changes, and
  how many other questions would change the recommendation. The link of a local dashboard does not say that
  it opens on one computer only.
- Inconclusive guardrails of A/B tests: the candidate *may break* them.
- Segments by a catalogue-level metric: the caption says that it has no CI.
- Causes: what counts as relevant offline is called a label mismatch.
- *What would change it*: each inconclusive answer is open, and one by which more data are to be collected
  changes the recommendation.
- *Keep the baseline*: significant losses of the best candidate in other metrics are not told.
"""

PLAN_WORDING = 12
"""The last wording in which reports do not say what differs from the analysis plan of an A/B test, and the
decision on a test alone does not follow its plan.
"""

ROLES_WORDING = 13
"""The last wording in which metrics for information decide on an A/B test alone, as goals do."""

NOVELTY_WORDING = 14
"""The last wording in which a novelty effect, or a change in sessions, is a cause if its 95 % interval
excludes 0, not its 99 % one.
"""

SIGNED_WORDING = 15
"""The last wording of these differences:

- Aggregates whose metrics count different users: reports do not tell the split of each population.
- Interleaving: an A/B test of the same pair is left out if one of the tests has no p-value. The preference by
  segment and by day is not shown.
- *Why*: the logarithm of a lift of which less is better is that of the negated lift.
"""

# ── the contents of a section ────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Paragraph:
    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Figure:
    """A chart: the ``data`` from which ``formats.figures`` draws it, and the same as text (``alt``) and as a
    table.

    ``wide`` is whether it takes the whole width of the page.
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
    """The definition of a metric: its name, and its formula in LaTeX and in words."""

    name: str
    latex: str
    words: str


@dataclass(frozen=True)
class Notice:
    """A notice for readers: the place, what was found, and what to do about it."""

    place: str
    found: str
    fix: str = ""


@dataclass(frozen=True)
class Notices:
    """A list of notices; ``nothing`` is the sentence shown if the list is empty."""

    items: tuple[Notice, ...]
    nothing: str


@dataclass(frozen=True)
class Answer:
    """A question of a reader and its answer. ``matters`` is whether the answer would change the verdict."""

    question: str
    answer: str
    matters: bool = False


@dataclass(frozen=True)
class Answers:
    items: tuple[Answer, ...]


@dataclass(frozen=True)
class Command:
    """A command for the terminal, and what it does."""

    line: str
    about: str


Part = Paragraph | Table | Figure | Formula | Notices | Answers | Command


@dataclass(frozen=True)
class Section:
    """A section of the report.

    ``name`` is that of its entry in ``BLOCKS``.

    ``title`` states the finding; ``note`` says what was measured and how.
    """

    name: str
    title: str
    note: str = ""
    parts: tuple[Part, ...] = ()


# ── the opening of a report ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Decided:
    """The decision that applies: its author, time (ISO 8601) and reason, and what today's evidence says about
    it.

    ``agrees`` is whether today's evidence agrees with the decision; None if that is unknown.
    """

    author: str
    moment: str
    reason: str
    evidence: str
    agrees: bool | None


# ── the report ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Split:
    """How many users a run is better for, equal for and worse for than the baseline."""

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
    """The opening of a report: the decision that applies, else the recommendation, or why there is none.

    ``sentences`` give the reasons, ``numbers`` and ``split`` the numbers behind them, and ``risks`` what
    speaks against it. In reports of the first format it is the offline verdict.
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
    """A run with the name, colour slot and role with which the report shows it."""

    run_id: str
    name: str
    slot: int
    role: Literal["baseline", "candidate", "context"]


@dataclass(frozen=True)
class Document:
    """A complete report.

    ``moment`` is the time of its numbers (ISO 8601), and ``provenance`` the tables, rules and versions from
    which they were computed. ``question`` and ``blocks`` are its question and the order of its sections.
    ``link`` is the URL of the same view in the dashboard, "" if it is unknown. ``format`` is the version of
    these values, which an older recdash may not read; ``wording`` is the ``WORDING`` of its sentences.
    ``head`` is the hash of the audit log's last line at that time, "" if it is not told.
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
    head: str = ""

    @property
    def names(self) -> dict[str, str]:
        """Returns {run id: name}."""
        return {run.run_id: run.name for run in self.runs}

    @property
    def risks_heading(self) -> str:
        """Returns the heading of what speaks against the candidate and what would change the opening."""
        return "Risks and open questions" if self.wording > TIES_WORDING else "Risks"

    def tables(self) -> Iterator[tuple[Section, Table]]:
        """Yields every table with its section, tables of figures included."""
        chart = self.lead.chart
        if chart is not None and not any(chart in section.parts for section in self.sections):
            yield Section("lead", self.lead.headline), chart.table
        for section in self.sections:
            for part in section.parts:
                if isinstance(part, Table):
                    yield section, part
                if isinstance(part, Figure):
                    yield section, part.table


def without_ids(document: Document) -> Document:
    """Returns a document as guests read it who may see no data of single users: notices quote no ids."""
    sections = (
        replace(section, parts=tuple(map(_part_without_ids, section.parts))) for section in document.sections
    )
    return replace(document, sections=tuple(sections))


def _part_without_ids(part: Part) -> Part:
    if not isinstance(part, Notices):
        return part
    items = (replace(notice, found=finding_without_ids(notice.place, notice.found)) for notice in part.items)
    return replace(part, items=tuple(items))
