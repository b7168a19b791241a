"""Makes the page of the settings from their descriptions and defaults."""

from __future__ import annotations

from typing import Any

from docs.site.markdown import table
from recdash.settings import DATA_FOLDER, PREFIX, Settings

PAGE = "reference/settings.md"
INTRODUCTION = """# Settings

Environment variables. An empty variable means the default. The limits of a file (`RECDASH_MAX_…`) are the
same on the page *Add data* and for `recdash add` and `recdash inspect`; `recdash limits` lists their values.
`recdash evaluate` and Python read in their own process and use only `RECDASH_MAX_INFLATED_BYTES` and
`RECDASH_MAX_COMPRESSION_RATIO`, for gzip and zip files.
"""
COMPUTED = {"database_url": f"`{DATA_FOLDER}/recdash.db` in the working folder"}
"""Defaults that depend on the machine."""


def setting_pages() -> dict[str, str]:
    """Returns the Markdown of the page by its path."""
    rows = [
        (f"`{PREFIX}{name.upper()}`", (field.description or "").rstrip("."), _default(name, field.default))
        for name, field in Settings.model_fields.items()
    ]
    return {PAGE: f"{INTRODUCTION}\n{table(('variable', 'meaning', 'default'), rows)}\n"}


def _default(name: str, value: Any) -> str:
    if name in COMPUTED:
        return COMPUTED[name]
    if value is None or value == "":
        return "–"
    if name.endswith("_bytes") or "_bytes_" in name:
        return f"{value / 2**30:g} GiB"
    return (
        f"{value:,}"
        if isinstance(value, int) and not isinstance(value, bool) and value > 9999
        else f"`{value}`"
    )
