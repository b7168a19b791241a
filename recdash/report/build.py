"""Makes the document of a report from its question."""

from __future__ import annotations

from dataclasses import replace

from recdash.report.context import ReportContext
from recdash.report.document import FIRST_FORMAT, WORDING, Document, Figure, Lead, Section
from recdash.report.formats.figures import shortened
from recdash.report.sections import made
from recdash.report.sections.ab_alone import lead_of_test
from recdash.report.sections.first_lead import first_lead
from recdash.report.sections.interleaving import interleaving_tests
from recdash.report.sections.lead import lead
from recdash.service.provenance import provenance


def content(context: ReportContext, *, title: str, narrative: str, author: str, live: bool) -> Document:
    """Returns the document that answers the context's question, with the context's sections.

    The same stored data, question, moment and versions give the same document. Raises NotFound if a run was
    deleted.
    """
    experiment = context.experiment
    if not context.is_about_runs:
        opening = lead_of_test(context)
    else:
        is_first = context.format == FIRST_FORMAT
        opening = first_lead(context) if is_first else _with_rounded_chart(lead(context))
    sections = [_with_rounded_figures(section) for name in context.blocks if (section := made(name, context))]
    tests = context.workspace.online_tests.all(experiment.id)
    if context.test is not None and context.test.id not in {test.id for test in tests}:
        tests = [*tests, context.test]  # the question's test is described, even if it is archived
    tests = [*tests, *interleaving_tests(context)]
    shown = context.query.shown if context.is_about_runs else ()
    return Document(
        title=title.strip() or experiment.name,
        experiment=experiment.name,
        moment=context.moment.isoformat(),
        author=author,
        live=live,
        narrative=narrative.strip(),
        lead=opening,
        sections=tuple(sections),
        runs=context.looks(),
        question=context.question.as_dict(),
        blocks=context.blocks,
        wording=WORDING,
        format=context.format,
        link=context.question.address(context.home),
        head=context.head,
        provenance=provenance(experiment, shown, context.all_runs, tests, context.versions),
    )


def _with_rounded_chart(opening: Lead) -> Lead:
    """Returns the opening of the report with the numbers of its chart rounded to visible digits."""
    chart = opening.chart
    return replace(opening, chart=replace(chart, data=shortened(chart.data))) if chart else opening


def _with_rounded_figures(section: Section) -> Section:
    """Returns the section with the numbers of its figures rounded to visible digits; their tables keep all
    digits.
    """
    parts = tuple(
        replace(part, data=shortened(part.data)) if isinstance(part, Figure) else part
        for part in section.parts
    )
    return replace(section, parts=parts)
