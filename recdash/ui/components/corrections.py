"""Corrections for many tests, as pages name them and let people choose one."""

from __future__ import annotations

from recdash.formatting.wording import CORRECTIONS_IN_SHORT
from recdash.stats import CORRECTIONS, Correction
from recdash.ui.components import widgets

TITLES = {**CORRECTIONS_IN_SHORT, "off": "Off"}


def choose(label: str = "Correction") -> Correction:
    """The correction chosen on this page, kept in the URL as ``corr``; Holm's at first."""
    chosen = widgets.choice(label, "corr", TITLES, "holm")
    return next(correction for correction in CORRECTIONS if correction == chosen)
