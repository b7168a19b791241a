"""Draws the choice of a correction for multiple comparisons."""

from __future__ import annotations

from collections.abc import Mapping

from recdash.formatting.wording import CORRECTIONS
from recdash.stats import CORRECTIONS as METHODS
from recdash.stats import Correction
from recdash.ui.components import widgets

TITLES: Mapping[str, str] = {method: CORRECTIONS.get(method, "None") for method in METHODS}
MEANING = (
    "Of twenty differences without any effect, one is significant by chance.",
    "*Holm* keeps the chance of a single false finding at 5 %.",
    "*Benjamini–Hochberg* (BH) keeps the share of false findings at 5 %.",
)
"""Why there is a correction, and what each does, as Markdown."""


def choose(label: str = "Correction") -> Correction:
    """Draws the choice and returns the chosen correction; the URL keeps it as ``corr``, and the default is
    Holm.
    """
    chosen = widgets.choice(label, "corr", TITLES, "holm", " ".join(MEANING))
    return next(correction for correction in METHODS if correction == chosen)
