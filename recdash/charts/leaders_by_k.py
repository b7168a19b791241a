"""Draws the leading runs at each cutoff as HTML, which adapts to any width: one row per metric and one cell
per stretch of cutoffs, in the leader's colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from recdash.charts.mark_html import glyph
from recdash.charts.marks import Marks, short_names
from recdash.formatting.html import Html, html, join

LONGEST_NAME = 26


@dataclass(frozen=True)
class Stretch:
    """Consecutive cutoffs with the same leading ``runs``; ``first`` and ``last`` are indexes of cutoffs.

    If there are several runs, none of them leads clearly or, with ``equal``, they have the same value.
    """

    first: int
    last: int
    runs: tuple[str, ...]
    equal: bool = False

    @property
    def cells(self) -> int:
        return self.last - self.first + 1


def stretches(first: Mapping[int, tuple[str, ...]], *, equal: bool = False) -> list[Stretch]:
    """Returns stretches of consecutive cutoffs that have the same leading runs. ``first`` is {k: leading
    runs}, by ascending k.
    """
    joined: list[Stretch] = []
    for index, runs in enumerate(first.values()):
        if joined and set(joined[-1].runs) == set(runs):
            joined[-1] = replace(joined[-1], last=index)
        else:
            joined.append(Stretch(index, index, runs, equal))
    return joined


def leader_strip(
    rows: Mapping[str, Sequence[Stretch]], cutoffs: Sequence[int], marks: Marks, alt: str
) -> Html:
    """Returns the picture of ``rows``, {title: its stretches}; ``alt`` is its text for screen readers. All
    cutoffs have the same width.
    """
    lines = [
        html(
            '<div class="rd-leaders-row"><span>{title}</span><div>{cells}</div></div>',
            title=title,
            cells=join([_cell(stretch, cutoffs, marks) for stretch in row]),
        )
        for title, row in rows.items()
    ]
    ks = join([html("<span>{k}</span>", k=k) for k in cutoffs])
    return html(
        '<div class="rd-leaders" role="img" aria-label="{alt}" style="--cutoffs:{n}">{lines}'
        '<div class="rd-leaders-row rd-leaders-k"><span>k</span><div>{ks}</div></div></div>',
        alt=alt,
        n=len(cutoffs),
        lines=join(lines),
        ks=ks,
    )


def _cell(stretch: Stretch, cutoffs: Sequence[int], marks: Marks) -> Html:
    """Returns the cell of a stretch in its leader's colour; striped, with the number of the leading runs, if
    it has several or none.
    """
    ks = f"k = {cutoffs[stretch.first]}" + (f" to {cutoffs[stretch.last]}" if stretch.cells > 1 else "")
    words = in_words(stretch, marks)
    place = f"grid-column:{stretch.first + 1}/{stretch.last + 2}"
    look, text = "rd-leaders-open", html("<b>{n}</b><bdi> runs</bdi>", n=len(stretch.runs))
    if len(stretch.runs) == 1:
        mark = marks[stretch.runs[0]]
        place += f";--run:{mark.colour}"
        name = short_names(marks, LONGEST_NAME)[stretch.runs[0]]
        look, text = "rd-leaders-led", html("{glyph}<bdi>{name}</bdi>", glyph=glyph(mark), name=name)
    cell = '<span class="{look}" style="{place}" title="{hint}">{text}</span>'
    return html(cell, look=look, place=place, hint=f"{ks}: {words}", text=text)


def in_words(stretch: Stretch, marks: Marks) -> str:
    """Returns the leading runs in words: ``ALS``, ``No clear leader: ALS, EASE`` or ``Equal: ALS, EASE``;
    ``No run`` if there are none.
    """
    names = ", ".join(marks[run].name for run in stretch.runs)
    if len(stretch.runs) == 1:
        return names
    return f"{'Equal' if stretch.equal else 'No clear leader'}: {names}" if names else "No run"
