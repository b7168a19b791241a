"""Finds the files that Streamlit runs: app.py, the folder pages/ and .streamlit/config.toml."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
FIRST_PAGE = "overview"
"""The file in pages/ of the page that opens without a name in the address."""


def dashboard_folder() -> Path:
    """Returns the folder that has app.py, pages/ and .streamlit/config.toml.

    An installed package has a copy of them in its folder ``dashboard``; in a checkout they lie at the top.
    """
    installed = PACKAGE / "dashboard"
    return installed if installed.is_dir() else PACKAGE.parent
