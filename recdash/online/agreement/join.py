"""Joins offline differences with online lifts, one row per variant that is linked to a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from recdash.errors import Problem
from recdash.formatting import numbers
from recdash.formatting.numbers import none_if_nan
from recdash.formatting.records import records
from recdash.formatting.wording import capital, listed, small
from recdash.online.agreement.agreement import UNDECIDED, WON_ONLINE, quadrant

if TYPE_CHECKING:
    import pandas as pd

SPLIT_BROKEN = "sample-ratio-mismatch"
BLOCKED = "blocked"
LOST = ("worse", "broken")
"""The findings of an online metric that a variant lost."""
SRM = "Sample ratio mismatch (SRM): "
SRM_BLOCKS = f"{SRM}no metric is judged."
COLUMNS = (
    "variant", "run_id", "run", "offline_value", "offline_delta", "offline_low", "offline_high",
    "online_value", "online_lift", "online_low", "online_high", "quadrant", "sentence", "also_lost",
)  # fmt: skip


def split_is_broken(notices: Iterable[Problem]) -> bool:
    """Returns True if the notices of a test report a sample ratio mismatch."""
    return any(notice.code == SPLIT_BROKEN for notice in notices)


def split_counts(notice: Problem) -> str:
    """Returns the notice of a sample ratio mismatch as text, without the words that name the mismatch.

    The text is shown after ``SRM_BLOCKS``, which names it.
    """
    return str(replace(notice, place=capital(notice.place), found=notice.found.replace(SRM, "")))


def join_offline(
    results: pd.DataFrame,
    online_metric: str,
    names: Mapping[str, str],
    *,
    scores: pd.DataFrame,
    differences: pd.DataFrame | None,
    offline_title: str,
    broken_split: bool = False,
    offline_lower_is_better: bool = False,
) -> pd.DataFrame:
    """Returns a frame with the columns ``COLUMNS``, one row per variant that served a run in ``names``.

    ``results`` are those of the A/B test, ``scores`` and ``differences`` the offline values and paired
    differences. ``names`` maps run ids to names. Missing numbers are None. With ``broken_split`` every
    quadrant is ``BLOCKED``. ``also_lost`` names the other online metrics that a variant lost. All numbers
    are as measured; for the quadrant less is better where ``offline_lower_is_better`` and
    ``lower_is_better`` say so.
    """
    import pandas as pd

    value = dict(zip(scores["run_id"], scores["value"], strict=True))
    delta: dict[Any, Any] = {} if differences is None else differences.set_index("run_id").to_dict("index")
    chosen = results[(results["metric"] == online_metric) & results["run_id"].isin(list(names))]
    rows: list[dict[str, Any]] = chosen.to_dict("records")  # type: ignore[assignment]
    joined = [
        {
            **_row(
                row,
                names[row["run_id"]],
                value.get(row["run_id"]),
                delta.get(row["run_id"], {}),
                offline_title,
                offline_lower_is_better=offline_lower_is_better,
            ),
            "also_lost": _also_lost(results, row["variant"], online_metric),
        }
        for row in rows
    ]
    frame = pd.DataFrame(joined, columns=list(COLUMNS))
    if not broken_split:
        return frame
    judged = frame["quadrant"] != "control"
    blocked = (
        frame["run"]
        + " is not judged: the split of users between the variants is broken (sample ratio mismatch)."
    )
    return frame.assign(
        quadrant=frame["quadrant"].mask(judged, BLOCKED), sentence=frame["sentence"].mask(judged, blocked)
    )


def _row(
    online: Mapping[str, Any],
    run: str,
    value: float | None,
    delta: Mapping[str, Any],
    offline_title: str,
    *,
    offline_lower_is_better: bool,
) -> dict[str, Any]:
    offline = [none_if_nan(delta.get(name)) for name in ("mean_diff", "ci_low", "ci_high")]
    lift = [none_if_nan(online["lift"]), *judged_by(online)]
    if online["is_control"]:
        corner, sentence = "control", f"{run} is the control."
    else:
        offline_gain = _gain(*offline[1:], lower_is_better=offline_lower_is_better)
        online_gain = _gain(*lift[1:], lower_is_better=lower_is_better(online))
        corner = quadrant(*offline_gain, *online_gain)
        results = SideResults(run, corner, offline, lift)
        sentence = results.sentence(offline_title, online["title"])
    return {
        "variant": online["variant"],
        "run_id": online["run_id"],
        "run": run,
        "offline_value": value,
        **dict(zip(("offline_delta", "offline_low", "offline_high"), offline, strict=True)),
        "online_value": none_if_nan(online["value"]),
        **dict(zip(("online_lift", "online_low", "online_high"), lift, strict=True)),
        "quadrant": corner,
        "sentence": sentence,
    }


def _gain(
    low: float | None, high: float | None, *, lower_is_better: bool
) -> tuple[float | None, float | None]:
    """Returns the interval of a change with its sign set so that more is better."""
    if not lower_is_better:
        return low, high
    return None if high is None else -high, None if low is None else -low


def lower_is_better(row: Mapping[str, Any]) -> bool:
    """Returns whether less of the online metric is better; ``row`` is one of the A/B test's results."""
    return row.get("direction") == "down"


def lower_metric_is_better(results: pd.DataFrame, online_metric: str) -> bool:
    """Returns whether less of this online metric is better, by the results of the A/B test."""
    return any(lower_is_better(row) for row in records(results) if row["metric"] == online_metric)


def _also_lost(results: pd.DataFrame, variant: str, online_metric: str) -> str:
    """Returns the titles of the other online metrics that a variant lost, as text; "" if there are none."""
    of_variant = results[(results["variant"] == variant) & (results["metric"] != online_metric)]
    return listed([small(title) for title in of_variant.loc[of_variant["word"].isin(LOST), "title"]])


def outcome(row: Mapping[str, Any], online_title: str = "") -> str:
    """Returns the quadrant of a row of ``join_offline``, and what else the run lost online if it did not lose
    by this metric. ``online_title`` is named where the result is inconclusive.
    """
    finding = str(row["quadrant"])
    if finding == UNDECIDED:
        finding = f"inconclusive in {small(online_title)}" if online_title else "inconclusive"
    return f"{finding}, but lost {row['also_lost']} online" if is_mixed(row) else finding


def is_mixed(row: Mapping[str, Any]) -> bool:
    """Returns whether a run lost an online metric, and did not lose by the one of this row."""
    return bool(row["also_lost"]) and row["quadrant"] in (*WON_ONLINE, UNDECIDED)


def judged_by(row: Mapping[str, Any]) -> list[float | None]:
    """Returns [low, high] of the interval that judges a lift: the corrected one if there is one.

    An end is None if there is no interval.
    """
    corrected = [none_if_nan(row.get(name)) for name in ("corrected_low", "corrected_high")]
    if None in corrected:
        return [none_if_nan(row[name]) for name in ("lift_low", "lift_high")]
    return corrected


def offline_intervals(rows: pd.DataFrame) -> list[tuple[float | None, float | None]]:
    """Returns (low, high) of each row's offline difference; None for an end that is missing."""
    ends = ([none_if_nan(end) for end in rows[name]] for name in ("offline_low", "offline_high"))
    return list(zip(*ends, strict=True))


@dataclass(frozen=True)
class SideResults:
    """A run's quadrant, and its offline difference and online lift: value, low and high; None if missing."""

    run: str
    quadrant: str
    offline: Sequence[float | None]
    lift: Sequence[float | None]

    def sentence(self, offline_title: str, online_title: str, *, former: bool = False) -> str:
        """Returns both results in words; ``former``: each number has three significant digits, so that the
        ends of an interval may have other numbers of decimals, as older reports write them.
        """
        in_words = _in_former_words if former else _in_words
        percents = [None if end is None else 100 * end for end in self.lift]
        finding = "is inconclusive" if self.quadrant == UNDECIDED else self.quadrant
        return (
            f"{self.run} {finding}: {offline_title} {in_words(self.offline)} offline, "
            f"{small(online_title)} {in_words(percents, ' %')} online."
        )


def _in_words(estimate: Sequence[float | None], unit: str = "") -> str:
    """Returns an estimate with its interval as text."""
    value, low, high = estimate
    amount, ends = numbers.estimate(value, low, high, unit)
    if amount == numbers.NONE:
        return "not comparable"
    return f"{amount} (no interval)" if ends == numbers.NONE else f"{amount} (95 % CI {ends})"


def _in_former_words(estimate: Sequence[float | None], unit: str = "") -> str:
    value, low, high = (None if x is None else f"{x:+.3g}{unit}".replace("-", "−") for x in estimate)
    if value is None:
        return "not comparable"
    if low is None or high is None:
        return f"{value} (no interval)"
    return f"{value} (95 % CI {low} to {high})"
