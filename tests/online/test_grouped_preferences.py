"""The preference by segment and by day: the numbers of the rows alone, corrections, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from interleaved_tables import team_draft

import recdash
from recdash.errors import InputError, NotFound, UnknownName
from recdash.online.interleaving.preference import preference, user_sums
from recdash.online.interleaving.results import InterleavingResults

COUNTRIES = ("DE", "FR", "US", "AT")
COMPARED = ("preference", "low", "high", "p", "n_users", "note")
DAYS = ("2026-03-01", "2026-03-02", "2026-03-03")


def labelled(lean: float = 0.5) -> pd.DataFrame:
    """Returns a team draft in which requests, not users, have a country and a day; AT has few users."""
    frame = team_draft(n_users=80, n_requests=8, lean=lean)
    request = frame["request_id"].str[1:].astype(int)
    countries = np.array(COUNTRIES)[request % 3]
    countries[request < 40] = "AT"  # the requests of five users
    times = pd.to_datetime(np.array(DAYS)[request % 3]) + pd.to_timedelta(request % 24, unit="h")
    return frame.assign(country=countries, timestamp=times.dt.strftime("%Y-%m-%dT%H:%M:%SZ"))


def as_ranks(frame: pd.DataFrame) -> pd.DataFrame:
    """Returns the lists as those of balanced interleaving: an item's team ranks it one place higher."""
    is_als = frame["team"] == "als"
    ranks = {"rank_a": frame["rank"] + is_als, "rank_b": frame["rank"] + ~is_als}
    return frame.drop(columns="team").assign(**ranks)


def as_credits(frame: pd.DataFrame) -> pd.DataFrame:
    """Returns a row per request with the clicks of both teams."""
    own = ["request_id", "user_id", "country", "timestamp"]
    clicks = frame.assign(
        credit_a=frame["clicked"] * (frame["team"] == "popular"),
        credit_b=frame["clicked"] * (frame["team"] == "als"),
    )
    return clicks.groupby(own, as_index=False)[["credit_a", "credit_b"]].sum()


def as_team_credits(frame: pd.DataFrame) -> pd.DataFrame:
    own = ["request_id", "user_id", "country", "timestamp", "team"]
    return frame.groupby(own, as_index=False)["clicked"].sum().rename(columns={"clicked": "credit"})


FORMS = {
    "slots with teams": lambda frame: frame,
    "slots with ranks": as_ranks,
    "credits": as_credits,
    "credits of teams": as_team_credits,
}


def analysed(frame: pd.DataFrame) -> InterleavingResults:
    return recdash.interleaving(frame)


def alone(frame: pd.DataFrame) -> dict[str, object]:
    """Returns what the analysis of these rows alone says."""
    row = analysed(frame).preference
    return dict(zip(COMPARED, (row.share, row.low, row.high, row.p, row.n_users, row.note), strict=True))


@pytest.mark.parametrize("form", FORMS)
def test_a_segment_has_the_numbers_of_its_rows_alone(form: str) -> None:
    frame = FORMS[form](labelled())
    rows = analysed(frame).segments("country").rows
    assert [row["segment"] for row in rows] == sorted(COUNTRIES)
    for row in rows:
        expected = alone(frame[frame["country"] == row["segment"]])
        assert {name: row[name] for name in COMPARED} == expected
    assert sum(row["n_requests"] for row in rows) == analysed(frame).n_credited


@pytest.mark.parametrize("form", FORMS)
def test_a_day_has_the_numbers_of_its_rows_alone(form: str) -> None:
    frame = FORMS[form](labelled())
    daily, cumulative = (analysed(frame).days(scale).rows for scale in ("daily", "cumulative"))
    assert [row["date"] for row in daily] == [row["date"] for row in cumulative] == list(DAYS)
    day = frame["timestamp"].str[:10]
    for on_day, until in zip(daily, cumulative, strict=True):
        assert {name: on_day[name] for name in COMPARED} == alone(frame[day == on_day["date"]])
        assert {name: until[name] for name in COMPARED} == alone(frame[day <= until["date"]])


def test_the_order_of_rows_changes_nothing() -> None:
    frame = labelled()
    again = frame.iloc[::7].assign(clicked=1, country=None)  # repeated slots, without a country
    frame = pd.concat([frame, again], ignore_index=True)
    orders = (frame, frame.iloc[::-1], frame.sample(frac=1, random_state=3))
    tables = [(analysed(order).segments(), analysed(order).days("daily")) for order in orders]
    assert tables[0] == tables[1] == tables[2]
    assert len(tables[0][0]) == len(COUNTRIES)  # the repeated rows have no country, but their requests have


def test_a_request_around_midnight_is_of_the_day_on_which_it_began() -> None:
    frame = labelled()
    late = frame["rank"] > 3
    later = frame.assign(timestamp=frame["timestamp"].mask(late, "2026-03-09T00:00:01Z"))
    assert analysed(later).days("daily") == analysed(frame).days("daily")


def test_requests_without_a_country_or_a_time_are_told_apart() -> None:
    frame = labelled()
    unknown = frame["country"] == "AT"
    frame = frame.assign(country=frame["country"].mask(unknown), timestamp=frame["timestamp"].mask(unknown))
    rows = analysed(frame).segments().rows
    assert [row["segment"] for row in rows] == ["DE", "FR", "US", None]
    assert {name: rows[-1][name] for name in COMPARED} == alone(frame[unknown])
    assert {name: analysed(frame).days().rows[-1][name] for name in COMPARED} == alone(frame[~unknown])


def test_the_p_values_of_an_attribute_are_corrected_together() -> None:
    """Of three p-values, Benjamini and Hochberg multiply the smallest by 3, the next by 3 / 2, the last by 1;
    the interval of R findings among three has the level 1 − 0.05 · R / 3."""
    frame = labelled(lean=0.35)
    frame = frame[frame["country"] != "AT"]
    results = analysed(frame)
    rows = sorted(results.segments("country").rows, key=lambda row: row["p"])
    p = [row["p"] for row in rows]
    scaled = [p[0] * 3, p[1] * 3 / 2, p[2]]
    expected = [min(scaled), min(scaled[1:]), scaled[2]]
    assert [row["p_bh"] for row in rows] == pytest.approx(expected)
    findings = sum(value <= 0.05 for value in expected)
    assert 0 < findings < 3  # else the corrected interval might be the plain one
    for row in rows:
        own = frame[frame["country"] == row["segment"]]
        requests = analysed(own).requests
        corrected = preference(user_sums(requests), level=1 - 0.05 * findings / 3)
        assert (row["corrected_low"], row["corrected_high"]) == (corrected.low, corrected.high)
        assert (row["p_bh"] <= 0.05) == (row["corrected_low"] > 0.5 or row["corrected_high"] < 0.5)


def test_a_segment_of_few_users_has_no_interval_and_does_not_count_in_the_correction() -> None:
    frame = labelled()
    with_few = {row["segment"]: row for row in analysed(frame).segments().rows}
    few = with_few.pop("AT")
    assert few["preference"] is not None
    assert [few[name] for name in ("low", "high", "p", "p_bh", "corrected_low")] == [None] * 5
    assert "at least 20 are needed" in few["note"]
    without = analysed(frame[frame["country"] != "AT"]).segments().rows
    assert list(with_few.values()) == list(without)


def test_a_column_that_differs_within_a_request_is_no_segment() -> None:
    frame = labelled().assign(genre=lambda rows: np.array(["drama", "crime"])[rows["rank"] % 2])
    results = analysed(frame)
    assert {row["attribute"] for row in results.segments().rows} == {"country"}
    with pytest.raises(InputError, match="'genre': several values in 640 requests"):
        results.segments("genre")


def test_numbers_and_ids_are_no_segments_and_get_no_notice() -> None:
    frame = labelled()
    more = frame.assign(latency=frame["rank"] * 1.5, page=frame["request_id"] + "/home", empty="")
    assert analysed(more).notices == analysed(frame).notices
    with pytest.raises(UnknownName, match=r"No segment is called 'latency'\. Known: country\."):
        analysed(more).segments("latency")


def test_a_table_without_times_or_attributes_has_none() -> None:
    results = analysed(team_draft())
    assert len(results.segments()) == 0
    with pytest.raises(NotFound, match="no column of times"):
        results.days()
    with pytest.raises(UnknownName, match="No time scale is called 'since'"):
        analysed(labelled()).days("since")  # type: ignore[arg-type]


def test_uneven_teams_are_told_beside_segments_and_days() -> None:
    frame = labelled()
    frame["team"] = np.where(frame["rank"] % 2 == 1, "als", "popular")
    results = analysed(frame)
    assert results.split.blocked
    for table in (results.segments(), results.days()):
        assert table.note.endswith("The teams are uneven: no preference is judged.")
    assert "uneven" not in analysed(labelled()).segments().note


def test_the_other_control_mirrors_the_segments() -> None:
    either, other = (recdash.interleaving(labelled(), control=name) for name in ("popular", "als"))
    shares = [[row["preference"] for row in results.segments().rows] for results in (either, other)]
    assert shares[0] == pytest.approx([1 - share for share in shares[1]])
