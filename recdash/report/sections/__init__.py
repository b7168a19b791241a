"""The sections in the appendix of a report. To add one, write its module and add its row here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from recdash.errors import check_known
from recdash.report.context import ReportContext
from recdash.report.document import Section
from recdash.report.sections.ab_alone import metrics_of_test, notes_of_test, results_of_test
from recdash.report.sections.caveats import caveats
from recdash.report.sections.curves import curves
from recdash.report.sections.decisions import decided
from recdash.report.sections.definitions import defined
from recdash.report.sections.evidence import evidence
from recdash.report.sections.interleaving import interleaved
from recdash.report.sections.online import online
from recdash.report.sections.precision_recall import precision_recall
from recdash.report.sections.reproduce import reproducing
from recdash.report.sections.scores import scores
from recdash.report.sections.sensitivity import changes
from recdash.report.sections.slices import slices


@dataclass(frozen=True)
class SectionKind:
    """A kind of section. ``make`` returns the section, or None if it would be empty.

    ``of_test`` returns that of a report of an A/B test alone; None if the section needs runs.
    """

    name: str
    title: str
    about: str
    make: Callable[[ReportContext], Section | None]
    of_test: Callable[[ReportContext], Section | None] | None = None


BLOCKS: Mapping[str, SectionKind] = {
    kind.name: kind
    for kind in (
        SectionKind(
            "evidence", "Offline evidence", "Each candidate against the baseline, with CIs", evidence
        ),
        SectionKind("scores", "All metrics", "Every metric of every run at k", scores),
        SectionKind("curves", "Metrics by k", "How the metrics change with k", curves),
        SectionKind("precision-recall", "Precision and recall", "Both at each k", precision_recall),
        SectionKind(
            "defined",
            "Definitions",
            "Population, formula and rules of the comparison",
            defined,
            metrics_of_test,
        ),
        SectionKind("slices", "Segments", "Which users or items a candidate is better for", slices),
        SectionKind(
            "online",
            "A/B test",
            "Lifts beside the offline differences, and why they differ",
            online,
            results_of_test,
        ),
        SectionKind(
            "interleaving",
            "Interleaving tests",
            "Which of two rankings users prefer, beside offline and A/B results",
            interleaved,
            interleaved,
        ),
        SectionKind(
            "changes", "What would change it", "The same question at other k, metrics and users", changes
        ),
        SectionKind("decisions", "Decisions", "Who decided what, when and why", decided, decided),
        SectionKind(
            "caveats", "Data notes", "Problems in the data, and missing metrics", caveats, notes_of_test
        ),
        SectionKind("reproducing", "Reproduce", "Commands, versions and hashes", reproducing, reproducing),
    )
}
"""All kinds of sections by name, in their default order."""


DECISION_ONLY = ("changes",)
"""The section of a report of the decision only, whose other content is on the first page."""


def check_blocks(names: Sequence[str], *, has_runs: bool = True) -> tuple[str, ...]:
    """Returns the distinct names of sections; if none is given, those of all sections that a report can have.

    ``has_runs`` is False for a report about an A/B test alone. Raises UnknownName for an unknown name.
    """
    check_known("block", names, BLOCKS)
    return tuple(dict.fromkeys(names)) or kinds_of(has_runs=has_runs)


def kinds_of(*, has_runs: bool) -> tuple[str, ...]:
    """Returns the names of all sections that a report can have: without runs, those of an A/B test alone."""
    return tuple(name for name, kind in BLOCKS.items() if has_runs or kind.of_test)


def made(name: str, context: ReportContext) -> Section | None:
    """Returns the section with this name; None if it would be empty, or needs runs that the report lacks."""
    kind = BLOCKS[name]
    make = kind.make if context.is_about_runs else kind.of_test
    return make(context) if make else None
