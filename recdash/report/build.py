"""A question's answer as a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from recdash.report.context import ReportContext
from recdash.report.document import Document, Figure, Section
from recdash.report.formats.figures import shortened
from recdash.report.sections import BLOCKS, check_blocks
from recdash.report.sections.lead import lead
from recdash.service.provenance import provenance, versions_here
from recdash.service.question import Question

if TYPE_CHECKING:
    from recdash.service import Workspace


def content(
    workspace: Workspace,
    question: Question,
    moment: datetime,
    *,
    blocks: Sequence[str] = (),
    title: str = "",
    narrative: str = "",
    author: str = "",
    live: bool = False,
    versions: Mapping[str, str] | None = None,
) -> Document:
    """The document of the question's answer at the ``moment``, from the blocks (by default all).

    ``versions`` of what computes it (None: those that are installed). The same stored data, question, moment
    and versions make the same document. Raises UnknownName for an unknown block, NotFound for a run that was
    deleted.
    """
    chosen = check_blocks(blocks)
    context = ReportContext(workspace, question, moment, chosen, versions or versions_here())
    opening = lead(context)
    sections = [_to_be_drawn(section) for name in chosen if (section := BLOCKS[name].make(context))]
    return Document(
        title=title.strip() or context.experiment.name,
        experiment=context.experiment.name,
        moment=moment.isoformat(),
        author=author,
        live=live,
        narrative=narrative.strip(),
        lead=opening,
        sections=tuple(sections),
        runs=context.looks(),
        question=question.as_dict(),
        blocks=chosen,
        provenance=_provenance(context),
    )


def _provenance(context: ReportContext) -> dict[str, Any]:
    """What the numbers are computed from, with the question's A/B test even if it is archived."""
    tests = context.workspace.online_tests.all(context.experiment.id)
    if context.test is not None and context.test.id not in {test.id for test in tests}:
        tests = [*tests, context.test]
    return provenance(context.experiment, context.shown, context.all_runs, tests, context.versions)


def _to_be_drawn(section: Section) -> Section:
    """With the data of its figures as short as they are drawn."""
    parts = tuple(
        replace(part, data=shortened(part.data)) if isinstance(part, Figure) else part
        for part in section.parts
    )
    return replace(section, parts=parts)
