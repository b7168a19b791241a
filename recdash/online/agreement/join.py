"""Offline differences next to online lifts, one row per linked variant."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recdash.online.agreement.agreement import UNDECIDED, quadrant

if TYPE_CHECKING:
    import pandas as pd

SPLIT_BROKEN = "sample-ratio-mismatch"
BLOCKED = "blocked"
COLUMNS = (
    "variant", "run_id", "run", "offline_value", "offline_delta", "offline_low", "offline_high",
    "online_value", "online_lift", "online_low", "online_high", "quadrant", "sentence",
)  # fmt: skip


def join_offline(
    results: pd.DataFrame,
    online_metric: str,
    names: Mapping[str, str],
    *,
    scores: pd.DataFrame,
    differences: pd.DataFrame | None,
    offline_title: str,
    broken_split: bool = False,
) -> pd.DataFrame:
    """Join by run: ``results`` of the online test, ``scores`` and paired ``differences`` offline.

    ``names`` are {run id: name}. Columns: COLUMNS; a missing number is None. With ``broken_split`` no
    outcome is told: the quadrant of every variant is BLOCKED.
    """
    import pandas as pd

    value = dict(zip(scores["run_id"], scores["value"], strict=True))
    delta: dict[Any, Any] = {} if differences is None else differences.set_index("run_id").to_dict("index")
    chosen = results[(results["metric"] == online_metric) & results["run_id"].isin(list(names))]
    rows: list[dict[str, Any]] = chosen.to_dict("records")  # type: ignore[assignment]
    joined = [
        _row(row, names[row["run_id"]], value.get(row["run_id"]), delta.get(row["run_id"], {}), offline_title)
        for row in rows
    ]
    frame = pd.DataFrame(joined, columns=list(COLUMNS))
    return _blocked(frame) if broken_split else frame


def _blocked(frame: pd.DataFrame) -> pd.DataFrame:
    judged = frame["quadrant"] != "control"
    told = frame["run"] + " is not judged: the split of users between the variants is broken."
    return frame.assign(
        quadrant=frame["quadrant"].mask(judged, BLOCKED), sentence=frame["sentence"].mask(judged, told)
    )


def _row(
    online: Mapping[str, Any], run: str, value: float | None, delta: Mapping[str, Any], offline_title: str
) -> dict[str, Any]:
    offline = [_number(delta.get(name)) for name in ("mean_diff", "ci_low", "ci_high")]
    lift = [_number(online["lift"]), *judged_by(online)]
    low, high = lift[1:] if online.get("direction") != "down" else (_minus(lift[2]), _minus(lift[1]))
    corner = UNDECIDED if online["is_control"] else quadrant(offline[1], offline[2], low, high)
    told = _sentence(run, corner, offline, lift, offline_title, online["title"])
    return {
        "variant": online["variant"],
        "run_id": online["run_id"],
        "run": run,
        "offline_value": value,
        **dict(zip(("offline_delta", "offline_low", "offline_high"), offline, strict=True)),
        "online_value": _number(online["value"]),
        **dict(zip(("online_lift", "online_low", "online_high"), lift, strict=True)),
        "quadrant": "control" if online["is_control"] else corner,
        "sentence": f"{run} is the control." if online["is_control"] else told,
    }


def judged_by(row: Mapping[str, Any]) -> list[float | None]:
    """The interval by which a lift is judged: corrected within the goals of the test, where it was."""
    corrected = [_number(row.get(name)) for name in ("corrected_low", "corrected_high")]
    return corrected if None not in corrected else [_number(row[name]) for name in ("lift_low", "lift_high")]


def _minus(value: float | None) -> float | None:
    return None if value is None else -value


def _number(value: Any) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def _sentence(
    run: str,
    corner: str,
    offline: list[float | None],
    lift: list[float | None],
    offline_title: str,
    online_title: str,
) -> str:
    verdict = "is not settled" if corner == UNDECIDED else corner
    return (
        f"{run} {verdict}: {offline_title} {_told(offline, _plain)} offline, "
        f"{online_title[:1].lower()}{online_title[1:]} {_told(lift, _percent)} online."
    )


def _told(numbers: list[float | None], write: Any) -> str:
    value, low, high = numbers
    if value is None:
        return "cannot be compared"
    if low is None or high is None:
        return f"{write(value)} (no interval)"
    return f"{write(value)} (95 % CI {write(low)} to {write(high)})"


def _plain(value: float) -> str:
    return f"{value:+.3g}".replace("-", "−")


def _percent(value: float) -> str:
    return f"{100 * value:+.3g} %".replace("-", "−")
