"""Frames as plain rows."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from recdash.formatting.records import records


def test_rows_hold_pythons_own_values() -> None:
    columns = {
        "text": ["a", None],
        "whole": np.array([1, 2]),
        "share": [0.5, math.nan],
        "is_shown": [True, False],
        "mixed": [np.float64(1), "x"],
        "count": pd.array([3, None], dtype="Int64"),
    }
    first, second = records(pd.DataFrame(columns))
    assert first == {"text": "a", "whole": 1, "share": 0.5, "is_shown": True, "mixed": 1.0, "count": 3}
    assert [type(value) for value in first.values()] == [str, int, float, bool, float, int]
    assert second["count"] is None
    assert math.isnan(second["share"])


def test_a_frame_without_rows_has_none() -> None:
    assert records(pd.DataFrame({"run_id": []})) == []
    assert records(pd.DataFrame()) == []
