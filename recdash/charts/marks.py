"""Colours and shapes of runs, which stay the same in all views.

Only runs have colours, which follow from their stored slot; everything else is drawn in the theme's neutral
colours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from recdash.domain.records import Run
from recdash.formatting.names import shortened

Role = Literal["baseline", "candidate", "context"]


@dataclass(frozen=True)
class Palette:
    """The colours of the light or the dark theme, as hex strings."""

    dark: bool
    background: str
    panel: str
    ink: str
    muted: str
    faint: str
    border: str
    grid: str
    primary: str
    better: str
    same: str
    worse: str
    baseline: str


LIGHT = Palette(
    dark=False,
    background="#FFFFFF",
    panel="#F5F7F9",
    ink="#18212B",
    muted="#566270",
    faint="#8A94A0",
    border="#DFE4EA",
    grid="#EDF0F3",
    primary="#24405E",
    better="#2B6596",
    same="#C9D0D8",
    worse="#B3570F",
    baseline="#5F6B78",
)
DARK = Palette(
    dark=True,
    background="#11161C",
    panel="#1A2129",
    ink="#E7ECF1",
    muted="#9BA7B4",
    faint="#76818D",
    border="#2D3641",
    grid="#212933",
    primary="#9DBBDC",
    better="#7FB2E0",
    same="#46515E",
    worse="#E79A57",
    baseline="#A3AEBA",
)

# First Okabe and Ito's colours, of which those with a contrast of 3:1 on both backgrounds come first. Then
# three others with this contrast, as different as possible from these, from each other and from the greys.
RUN_COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8030F0", "#A04080", "#9080F0",
)  # fmt: skip
PALE = {"#56B4E9": "#2F7FB0", "#E69F00": "#9A6A00"}
"""{run colour with a contrast below 3:1 on white: colour of its edge, which has more}. Darker fills would be
confused with other colours by colour-blind people.
"""
PALE_HEFT = 1.4
DASHES = ("solid", "dot", "dashdot", "longdash", "longdashdot")
"""Dashes of the lines of the first nine runs, of the next nine, and so on. No two of the first 45 runs have
both the same colour and the same dash.
"""
CONTEXT_GREY = "#7C8794"
# Without triangles, which are the signs of better and worse.
SHAPES = ("circle", "square", "diamond", "cross", "x", "hexagon", "pentagon", "star", "octagon", "hourglass")


@dataclass(frozen=True)
class Mark:
    """The way in which one run is drawn in the current view."""

    run_id: str
    name: str
    colour: str
    shape: str
    role: Role
    slot: int = 0

    @property
    def dash(self) -> str:
        """Returns the dash of its lines; only the baseline has the dash ``dash``."""
        return "dash" if self.role == "baseline" else DASHES[self.slot // len(RUN_COLOURS) % len(DASHES)]

    @property
    def heft(self) -> float:
        """Returns the factor by which its lines are wider; above 1 for colours that are pale on white."""
        return PALE_HEFT if self.colour in PALE else 1.0

    @property
    def edge(self) -> str:
        """Returns the colour of the edge of its filled marks."""
        return PALE.get(self.colour, self.colour)


Marks = dict[str, Mark]


def short_names(marks: Marks, longest: int) -> dict[str, str]:
    """Returns {run id: name in at most ``longest`` characters}, distinct among all runs and not escaped."""
    short = shortened((mark.name for mark in marks.values()), longest)
    return {run_id: short[mark.name] for run_id, mark in marks.items()}


def colour(slot: int) -> str:
    """Returns the colour of a slot, one of nine in turn; grey for a slot below 0."""
    return RUN_COLOURS[slot % len(RUN_COLOURS)] if slot >= 0 else CONTEXT_GREY


def shape(slot: int) -> str:
    return SHAPES[slot % len(SHAPES)]


def mark(run: Run, role: Role, palette: Palette) -> Mark:
    """Returns the mark of a run: candidates have their own colour, the baseline and all other runs are
    grey.
    """
    colours = {"baseline": palette.baseline, "candidate": colour(run.slot), "context": CONTEXT_GREY}
    look = "circle" if role == "baseline" else shape(run.slot)
    return Mark(run.id, run.name, colours[role], look, role, run.slot)


def marks(runs: Iterable[Run], baseline: str | None, candidates: Iterable[str], palette: Palette) -> Marks:
    """Returns {run id: mark}; a run that is neither baseline nor candidate has the role "context"."""
    chosen = set(candidates)

    def role(run: Run) -> Role:
        if run.id == baseline:
            return "baseline"
        return "candidate" if run.id in chosen else "context"

    return {run.id: mark(run, role(run), palette) for run in runs}


def marks_of_names(names: Iterable[str], baseline: str | None, palette: Palette) -> Marks:
    """Returns {name: mark} of runs that are not stored: their slots are their places."""
    return {
        name: Mark(
            name,
            name,
            palette.baseline if name == baseline else colour(slot),
            "circle" if name == baseline else shape(slot),
            "baseline" if name == baseline else "candidate",
            slot,
        )
        for slot, name in enumerate(names)
    }
