"""Writes the results of one run under every preset as text for a terminal, and as JSON-ready values."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from recdash.definitions.conventions import TITLES, difference_words, order_words, who_counts
from recdash.definitions.population_counts import LedgerLine
from recdash.metrics.agreement import WORDS

if TYPE_CHECKING:
    import pandas as pd

    from recdash.metrics.ties import TieBand

Row = Mapping[Hashable, Any]


def as_dict(
    presets: pd.DataFrame, causes: pd.DataFrame, ledger: Sequence[LedgerLine], band: TieBand | None
) -> dict[str, Any]:
    """Returns JSON-ready values: the rows of both frames (None for missing numbers), the population counts,
    and the tie band (None without ties).
    """
    return {
        "presets": [_json_ready(row) for row in presets.to_dict("records")],
        "causes": [_json_ready(row) for row in causes.to_dict("records")],
        "ledger": {line.name: line.count for line in ledger},
        "tie_band": None if band is None else asdict(band),
    }


def as_tables(
    presets: pd.DataFrame, causes: pd.DataFrame, ledger: Sequence[LedgerLine], band: TieBand | None
) -> list[list[list[str]]]:
    """Returns text tables, each with a header: presets, causes, population counts, ties. Tables without rows
    are left out.
    """
    tables = [preset_rows(presets), cause_rows(causes), ledger_rows(ledger), tie_rows(band)]
    return [rows for rows in tables if len(rows) > 1]


def _json_ready(row: Row) -> dict[str, Any]:
    return {
        str(name): None if isinstance(value, float) and math.isnan(value) else value
        for name, value in row.items()
    }


def preset_rows(presets: pd.DataFrame) -> list[list[str]]:
    """Returns a text table with a header and one row per preset: its definition, value, difference,
    population, order, relevance, and whether the library gives the same number.
    """
    head = ["preset", "definition", "value", "difference", "users", "population", "order"]
    head += ["relevant", "library"]
    default = presets["value"].iloc[0]
    rows = [head]
    for row in presets.to_dict("records"):
        known = not math.isnan(row["value"])
        value = f"{row['value']:.6f}" if known else "–"
        difference = difference_words(row["value"], default) if known else row["reason"]
        n_users = f"{row['n_users']:,}" if known else "–"
        counted, order = who_counts(row["spec"], row["users"]), order_words(row["order"], row["ties"])
        cells = [row["preset"], row["spec"], value, difference, n_users, counted, order]
        rows.append([*cells, row["relevant"], WORDS[row["state"]]])
    return rows


def cause_rows(causes: pd.DataFrame) -> list[list[str]]:
    """Returns a text table with a header and one row per cause: preset, cause, its effect alone, and the
    reason in words.
    """
    rows = [["preset", "cause", "alone", "because"]]
    for row in causes.to_dict("records"):
        effect = "–" if math.isnan(row["difference"]) else f"{row['difference']:+.6f}"
        words = f"{row['words']} ({row['reason']})" if row["reason"] else row["words"]
        rows.append([row["preset"], TITLES[row["cause"]].lower(), effect, words])
    return rows


def tie_rows(band: TieBand | None) -> list[list[str]]:
    head = ["ties", "worst", "expected", "best"]
    if band is None:
        return [head]
    values = [f"{value:.6f}" for value in (band.worst, band.expected, band.best)]
    return [head, [f"of {band.n_users:,} users", *values]]


def ledger_rows(ledger: Sequence[LedgerLine]) -> list[list[str]]:
    body = [[line.title, "–" if line.count is None else f"{line.count:,}", line.words] for line in ledger]
    return [["users and rows", "count", "meaning"], *body]
