"""Files to try: the demo's, a template of every table, and a file that the checks refuse."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from functools import lru_cache

import streamlit as st

from recdash.ui.app import state
from recdash.ui.app.state import workspace
from recdash.ui.components import demo_button, widgets
from recdash.ui.components.templates import template_button

GROUPS: Mapping[str, tuple[str, ...]] = {
    "To compare candidates": (
        "truth",
        "run",
        "train",
        "catalogue",
        "users",
        "vectors",
        "similarity",
        "predictions",
    ),
    "An A/B test": ("sessions", "exposures", "events", "served", "aggregates"),
    "An interleaving test": ("interleaving",),
}


def show() -> None:
    """Draws the buttons for these files below the drop zone."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="upload-examples"):
        label, hint = (
            "↓ Demo files to try with",
            "Unzip them and drop all at once: a test set, candidates, an A/B test.",
        )
        widgets.download(
            label,
            demo_zip,
            "recdash-demo-files.zip",
            "application/zip",
            "demo-files",
            type="tertiary",
            help=hint,
        )
        with st.popover("Download a template", type="tertiary"):
            for title, kinds in GROUPS.items():
                st.caption(title)
                for kind in kinds:
                    template_button(kind, "add")
        hint = "Recommendations with common mistakes: drop it to see the checks."
        name = "recdash-broken-run.csv"
        widgets.download(
            "↓ A broken file, to see its errors",
            _broken_file,
            name,
            "text/csv",
            "broken-file",
            type="tertiary",
            help=hint,
        )
        if workspace().demo.exists():
            with st.popover("Remove the demo", type="tertiary"):
                _remove_demo()
        else:
            demo_button.draw("upload-load-demo", kind="tertiary")


def _remove_demo() -> None:
    st.caption("It is deleted with its decisions and reports. You can load it again.")
    if st.button("Remove", key="upload-remove-demo"):
        workspace().demo.remove()
        state.choose(e=None, b=None, c=None, t=None)
        st.toast("The demo is removed.")
        st.rerun()


def _broken_file() -> bytes:
    from recdash.demo import film_service

    return film_service.make().broken_csv


@lru_cache(maxsize=1)
def demo_zip() -> bytes:
    """Returns the demo's tables as CSV files in a zip file."""
    from pyarrow import csv

    from recdash.demo import film_service

    demo = film_service.make()
    tables = {
        "test-set": demo.truth,
        "training-data": demo.train,
        "catalogue": demo.catalogue,
        "ab-test-sessions": demo.sessions,
        **{name.lower().replace(" ", "-"): lists for name, lists in demo.runs.items()},
    }
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, table in tables.items():
            text = io.BytesIO()
            csv.write_csv(table, text)
            archive.writestr(f"{name}.csv", text.getvalue())
    return written.getvalue()
