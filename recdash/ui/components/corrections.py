"""Corrections for many tests, as pages name them and let people choose one."""

from __future__ import annotations

from recdash.stats import Correction
from recdash.ui.components import widgets

TITLES: dict[Correction, str] = {"holm": "Holm", "bh": "BH", "off": "Off"}


def choose(label: str = "Correction") -> Correction:
    """The correction chosen on this page, kept in the URL as ``corr``; Holm's at first."""
    titles = {str(correction): title for correction, title in TITLES.items()}
    chosen = widgets.choice(label, "corr", titles, "holm")
    return next(correction for correction in TITLES if correction == chosen)
