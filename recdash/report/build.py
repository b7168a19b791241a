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
    space: Workspace,
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
    """What the blocks (by default all) tell of the question, as it stands at the ``moment``.

    ``versions`` of what computes it (None: those that are installed). The same stored data, question, moment
    and versions make the same document. Raises UnknownName for an unknown block, NotFound for a run that was
    deleted.
    """
    chosen = check_blocks(blocks)
    asked = ReportContext(space, question, moment, chosen, versions or versions_here())
    opening = lead(asked)
    made = [_to_be_drawn(section) for name in chosen if (section := BLOCKS[name].make(asked))]
    return Document(
        title=title.strip() or asked.experiment.name,
        experiment=asked.experiment.name,
        moment=moment.isoformat(),
        author=author,
        live=live,
        narrative=narrative.strip(),
        lead=opening,
        sections=tuple(made),
        runs=asked.looks(),
        question=question.as_dict(),
        blocks=chosen,
        provenance=_provenance(asked),
    )


def _provenance(asked: ReportContext) -> dict[str, Any]:
    """What the numbers rest on, with the A/B test of the question although it may be archived."""
    tests = asked.space.online_tests.all(asked.experiment.id)
    if asked.test is not None and asked.test.id not in {test.id for test in tests}:
        tests = [*tests, asked.test]
    return provenance(asked.experiment, asked.shown, asked.all_runs, tests, asked.versions)


def _to_be_drawn(section: Section) -> Section:
    """With the data of its figures as short as they are drawn."""
    parts = tuple(
        replace(part, data=shortened(part.data)) if isinstance(part, Figure) else part
        for part in section.parts
    )
    return replace(section, parts=parts)
