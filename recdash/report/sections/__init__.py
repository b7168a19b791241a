"""The blocks of a report: each makes one section. To add one: its file, and its row here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from recdash.errors import UnknownName
from recdash.report.context import ReportContext
from recdash.report.document import Section
from recdash.report.sections.caveats import caveats
from recdash.report.sections.curves import curves
from recdash.report.sections.decisions import decided
from recdash.report.sections.definitions import defined
from recdash.report.sections.evidence import evidence
from recdash.report.sections.online import online
from recdash.report.sections.precision_recall import precision_recall
from recdash.report.sections.reproduce import reproducing
from recdash.report.sections.scores import scores
from recdash.report.sections.sensitivity import changes
from recdash.report.sections.slices import slices


@dataclass(frozen=True)
class SectionKind:
    """A block of a report. ``make`` returns its section, None where there is nothing to say."""

    name: str
    title: str
    about: str
    make: Callable[[ReportContext], Section | None]


BLOCKS: Mapping[str, SectionKind] = {
    kind.name: kind
    for kind in (
        SectionKind("defined", "What was asked", "Who counts, the formula, the rules of judging", defined),
        SectionKind("evidence", "Evidence", "Every candidate against the baseline, with intervals", evidence),
        SectionKind("scores", "All metrics", "Every metric of every run at k", scores),
        SectionKind("curves", "Metric vs k", "How the values change with k", curves),
        SectionKind("precision-recall", "Precision and recall", "The path of both over k", precision_recall),
        SectionKind("online", "Offline vs online", "An A/B test beside the offline scores, and why", online),
        SectionKind("slices", "Slices", "For whom it is better, and for whom it is not", slices),
        SectionKind("changes", "What would change it", "The verdict asked otherwise", changes),
        SectionKind("decisions", "Decisions", "What was decided, by whom, and why", decided),
        SectionKind("caveats", "Caveats", "What was noticed in the data, and what is missing", caveats),
        SectionKind("reproducing", "Reproduce it", "Hashes, versions and commands", reproducing),
    )
}
"""In the order in which a report has them, unless another is asked for."""


def check_blocks(names: Sequence[str]) -> tuple[str, ...]:
    """Each once, all where none is named. Raises UnknownName for a block that there is not."""
    for name in names:
        if name not in BLOCKS:
            raise UnknownName("block", name, list(BLOCKS))
    return tuple(dict.fromkeys(names)) or tuple(BLOCKS)
