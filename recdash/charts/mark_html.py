"""Writes marks of runs as HTML and themes' colours as CSS, for pages and reports."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from recdash.charts.marks import Mark, Palette
from recdash.formatting.html import Html, html

RULES = (Path(__file__).parent / "marks.css").read_text(encoding="utf-8")
"""The CSS rules for the HTML that ``glyph`` returns."""
ROLES = tuple(field.name for field in fields(Palette) if field.name != "dark")
"""The names of the colours in a palette."""


def glyph(mark: Mark) -> Html:
    """Returns a run's mark as HTML: two dashes for the baseline, for other runs their shape in their
    colour.
    """
    if mark.role == "baseline":
        return Html("<i class=dash></i>")
    return html('<i class="glyph {shape}" style=--run:{colour}></i>', shape=mark.shape, colour=mark.colour)


def variables(colours: Palette) -> str:
    """Returns the palette's colours as CSS variables, and how strongly a run's colour tints its chip."""
    roles = "".join(f"--{role}:{getattr(colours, role)};" for role in ROLES)
    return f"{roles}--tint:{26 if colours.dark else 14}%"
