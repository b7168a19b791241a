"""From session rows to values, lifts and intervals, with what is said where a number cannot be had."""

from __future__ import annotations

import io
import math
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
import tea_tasting
from online_results import results_of_upload
from scipy import stats

from recdash.domain.inputs import Upload
from recdash.errors import InputError, UnknownName
from recdash.ingest import read_upload
from recdash.online import METRICS, OnlineResults, OnlineRow, OnlineRules, templates
from recdash.online.logs.sessions import per_user


def upload(rows: str) -> Upload:
    """Rows of unit_id session_id variant clicks watch_s videos; '-' is an empty cell."""
    cells = [line.split() for line in rows.strip().splitlines()]
    names = ("unit_id", "session_id", "variant", "clicks", "watch_s", "videos")
    columns = {name: [None if row[i] == "-" else row[i] for row in cells] for i, name in enumerate(names)}
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    for name in ("clicks", "watch_s", "videos"):
        table = table.set_column(table.column_names.index(name), name, table[name].cast(pa.float64()))
    return of_table(table)


def of_table(table: pa.Table) -> Upload:
    return Upload("sessions", "test.csv", table, {})


def row(found: OnlineResults, metric: str, variant: str) -> OnlineRow:
    (one,) = [row for row in found.rows if (row.metric, row.variant) == (metric, variant)]
    return one


def codes(found: OnlineResults) -> set[str]:
    return {notice.code for notice in found.notices}


def simulated(seed: int, n_users: int = 400, lift: float = 0.0) -> pa.Table:
    """Users who differ in how often they come and how readily they click; arms "control" and "new"."""
    rng = np.random.default_rng(seed)
    visits, eagerness = 1 + rng.poisson(6, n_users), rng.beta(0.8, 1.2, n_users)
    user = np.repeat(np.arange(n_users), visits)
    new = user % 2
    clicks = rng.random(len(user)) < eagerness[user] * (1 + lift * new)
    watch = clicks * rng.gamma(1.0, 900.0, len(user))
    variant = np.where(new, "new", "control").tolist()
    return pa.table(
        {"unit_id": user, "session_id": np.arange(len(user)), "variant": variant,
         "clicks": clicks.astype(int), "watch_s": watch, "videos": (watch > 120).astype(int)}
    )  # fmt: skip


# ── values ───────────────────────────────────────────────────────────────────────────────────


def test_a_long_watch_beats_many_clicks_only_in_session_watch_time() -> None:
    # User A clicks five and watches three for ten minutes each; B clicks two and watches 5 and 90 minutes.
    result = results_of_upload(upload("userA s1 A 5 1800 3\nuserB s2 B 2 5700 2"))
    values = {(row.metric, row.variant): row.value for row in result.rows}
    assert values == {
        ("engagement_rate", "A"): 1.0,
        ("engagement_rate", "B"): 1.0,
        ("videos_per_user", "A"): 3,
        ("videos_per_user", "B"): 2,
        ("session_watch_time", "A"): 30,
        ("session_watch_time", "B"): 95,
        ("sessions_per_user", "A"): 1,
        ("sessions_per_user", "B"): 1,
    }
    assert row(result, "session_watch_time", "B").lift == pytest.approx(95 / 30 - 1)


def test_a_rate_is_a_ratio_of_sums_and_not_a_mean_of_users_rates() -> None:
    # u1 clicks in 1 of 1 session, u2 in 1 of 3: 2 of 4 sessions, where users' rates average 2/3.
    result = results_of_upload(
        upload("u1 a A 1 60 1\nu2 b A 1 60 1\nu2 c A 0 0 0\nu2 d A 0 0 0\nu3 e B 1 1 0\nu4 f B 0 0 0")
    )
    assert row(result, "engagement_rate", "A").value == pytest.approx(2 / 4)
    assert row(result, "session_watch_time", "A").value == pytest.approx(2 / 4)
    assert row(result, "sessions_per_user", "A").value == pytest.approx(4 / 2)


def test_a_user_without_a_session_counts_per_user() -> None:
    result = results_of_upload(upload("u1 a A 1 60 4\nu2 - A - - -\nu3 b B 1 60 1\nu4 c B 1 60 1"))
    assert row(result, "videos_per_user", "A").value == 4 / 2
    assert row(result, "engagement_rate", "A").value == 1 / 1
    assert row(result, "engagement_rate", "A").n_users == 2


def test_an_uploaded_user_without_a_session_counts_per_user() -> None:
    header = "unit_id,session_id,variant,start_ts,clicks,watch_s\n"
    rows = "u1,a,control,5,1,60\nu2,,control,5,,\nu3,b,new,5,1,60\nu4,,new,,,\nu5,,new,,,\n"
    result = results_of_upload(read_upload("sessions", (header + rows).encode()))
    assert row(result, "sessions_per_user", "control").value == 1 / 2
    assert row(result, "sessions_per_user", "new").value == pytest.approx(1 / 3)
    assert row(result, "sessions_per_user", "new").n_users == 3


def test_a_session_counts_once_per_user() -> None:
    # s1 of u1 is there twice and counts as it first was; s1 of u2 is another session.
    result = results_of_upload(
        upload("u1 s1 A 1 60 1\nu1 s1 A 9 600 9\nu2 s1 A 0 0 0\nu3 s3 B 1 60 1\nu4 s4 B 0 0 0")
    )
    assert row(result, "videos_per_user", "A").value == 1 / 2
    assert row(result, "sessions_per_user", "A").value == 2 / 2
    (notice,) = [notice for notice in result.notices if notice.code == "duplicate-session"]
    assert notice.count == 1


def test_a_user_seen_in_two_variants_is_left_out_and_counted() -> None:
    result = results_of_upload(
        upload("u1 a A 1 60 1\nu2 b A 0 0 0\nboth c A 9 9 9\nboth d B 9 9 9\nu3 e B 1 60 1\nu4 f B 1 1 1")
    )
    assert row(result, "sessions_per_user", "A").n_users == 2
    assert row(result, "engagement_rate", "A").value == 1 / 2
    assert result.health.crossover == 1
    (notice,) = [notice for notice in result.notices if notice.code == "crossovers"]
    assert "1 of 5 users" in notice.found


@pytest.mark.parametrize(
    ("crossed", "others", "code"),
    [
        (9, 90, "crossovers"),
        (10, 990, "many-crossovers"),
        (10, 991, "crossovers"),
        (30, 100, "many-crossovers"),
    ],
)
def test_crossing_users_are_a_warning_from_one_percent_and_ten_users(
    crossed: int, others: int, code: str
) -> None:
    stay = [f"u{i} s{i} {'AB'[i % 2]} {i % 3} 60 1" for i in range(others)]
    cross = [f"x{i} t{variant}{i} {variant} 1 60 1" for i in range(crossed) for variant in "AB"]
    assert {"crossovers", "many-crossovers"} & codes(results_of_upload(upload("\n".join(stay + cross)))) == {
        code
    }


def test_without_a_videos_column_the_metric_is_absent_and_the_reason_said() -> None:
    result = results_of_upload(of_table(simulated(1).drop_columns(["videos"])))
    assert {row.metric for row in result.rows} == {metric.name for metric in METRICS} - {"videos_per_user"}
    assert "missing-column" in codes(result)


@pytest.mark.parametrize("stamp", [None, datetime(2026, 11, 2), "2026-11-02 09:00"])  # noqa: DTZ001
def test_start_times_may_be_missing_or_without_a_zone(stamp: Any) -> None:
    table = simulated(2)
    timed = table.append_column("start_ts", pa.array([stamp] * len(table)))
    assert results_of_upload(of_table(timed)) == results_of_upload(of_table(table))


def test_the_order_of_rows_and_the_form_of_ids_change_nothing() -> None:
    table = simulated(3)
    shuffled = table.take(pa.array(np.random.default_rng(0).permutation(len(table))))
    text = table.set_column(0, "unit_id", table["unit_id"].cast("string").dictionary_encode())
    chunked = pa.concat_tables([text.slice(1500), text.slice(0, 1500)])
    apart = chunked.set_column(
        2, "variant", pa.chunked_array([chunk.dictionary_encode() for chunk in chunked["variant"].chunks])
    )
    for other in (shuffled, text, chunked, apart):
        for one, two in zip(
            results_of_upload(of_table(table)).rows, results_of_upload(of_table(other)).rows, strict=True
        ):
            assert (one.metric, one.variant, one.n_users) == (two.metric, two.variant, two.n_users)
            assert (one.value, one.lift, one.p) == pytest.approx((two.value, two.lift, two.p))


# ── intervals ────────────────────────────────────────────────────────────────────────────────


def test_the_interval_of_a_value_is_the_delta_method_over_users() -> None:
    """With the skewness of the mean removed from Student's t: Hall's cubic maps its ends to ±t. The
    skewness is that of the variant's users, or of all users if that is larger.
    """
    table = simulated(4)
    of_all = table.to_pandas().groupby(["variant", "unit_id"]).agg(c=("clicks", "sum"), n=("clicks", "size"))
    sums = of_all.groupby("variant").transform("sum")
    above = of_all.c - sums.c / sums.n * of_all.n
    users = of_all.loc["new"]
    rate = users.c.sum() / users.n.sum()
    rest = (users.c - rate * users.n) / users.n.mean()
    error, n = rest.std() / math.sqrt(len(users)), len(users)
    own = (rest**3).sum() / ((n - 1) * rest.var()) ** 1.5
    all_together = (above**3).sum() / (above**2).sum() ** 1.5 * math.sqrt(len(above) / n)
    skewness = max(own, all_together, key=abs)
    result = row(results_of_upload(of_table(table)), "engagement_rate", "new")
    for end, sign in ((result.ci_low, 1), (result.ci_high, -1)):
        t = (rate - end) / error
        cubic = t + skewness / 3 * t**2 + skewness**2 / 27 * t**3 + skewness / 6
        assert cubic == pytest.approx(sign * stats.t.ppf(0.975, n - 1))
    before = row(
        results_of_upload(of_table(table), rules=OnlineRules(delta_method=True)), "engagement_rate", "new"
    )
    half = stats.t.ppf(0.975, n - 1) * error
    assert (before.ci_low, before.ci_high) == pytest.approx((rate - half, rate + half))


def test_lifts_are_those_of_tea_tasting_over_users() -> None:
    table = simulated(5, lift=0.2)
    users = (
        table.to_pandas()
        .assign(minutes=lambda t: t.watch_s / 60)
        .groupby(["unit_id", "variant"], as_index=False)
    )
    users = users.agg(minutes=("minutes", "sum"), sessions=("minutes", "size"))
    test = tea_tasting.Experiment(watch=tea_tasting.RatioOfMeans("minutes", "sessions"))
    expected = test.analyze(users, control="control")["watch"]
    rules = OnlineRules(delta_method=True)
    result = row(results_of_upload(of_table(table), rules=rules), "session_watch_time", "new")
    assert (result.lift, result.lift_low, result.lift_high, result.p) == pytest.approx(
        (
            expected.rel_effect_size,
            expected.rel_effect_size_ci_lower,
            expected.rel_effect_size_ci_upper,
            expected.pvalue,
        )
    )


def test_an_interval_stays_within_what_is_possible() -> None:
    rows = [f"u{i} s{i} {'AB'[i % 2]} {int(i > 1)} {60 * (i < 2)} 1" for i in range(24)]
    result = results_of_upload(upload("\n".join(rows)), rules=OnlineRules(delta_method=True))
    assert row(result, "engagement_rate", "A").ci_high == 1.0
    assert row(result, "session_watch_time", "A").ci_low == 0.0


# ── words instead of numbers ─────────────────────────────────────────────────────────────────


def test_a_single_variant_has_values_but_no_lift() -> None:
    result = results_of_upload(upload("u1 a new 1 60 1\nu2 b new 0 0 0"))
    assert row(result, "engagement_rate", "new").value == 0.5
    assert row(result, "engagement_rate", "new").lift is None
    assert "single-variant" in codes(result)


def test_one_user_in_a_variant_gives_no_interval_and_says_so() -> None:
    result = row(
        results_of_upload(upload("u1 a A 1 60 1\nu2 b A 0 0 0\nu3 c B 1 90 2")), "engagement_rate", "B"
    )
    assert (result.value, result.lift) == (1.0, 1.0)
    assert (result.ci_low, result.ci_high, result.lift_low, result.lift_high, result.p) == (None,) * 5
    assert "one user" in result.note


def test_users_who_are_all_alike_give_no_interval_and_say_so() -> None:
    # Everybody clicks in every session, though the number of sessions differs.
    rows = (
        "u1 a A 1 60 1\nu2 b A 1 0 0\nu2 c A 1 5 0\nu3 d B 1 90 2\nu4 e B 1 9 2\nu4 f B 1 9 2\nu4 g B 1 9 2"
    )
    result = row(results_of_upload(upload(rows)), "engagement_rate", "B")
    assert (result.value, result.lift) == (1.0, 0.0)
    assert (result.ci_low, result.lift_low, result.p) == (None, None, None)
    assert "are equal" in result.note


def test_rounding_is_not_taken_for_variance() -> None:
    # Each of these users watches a tenth of a minute per session, which binary fractions only come near to.
    rows = [f"u{i} s{i}-{j} {'AB'[i % 2]} 1 6 1" for i in range(20) for j in range(i + 1)]
    result = row(results_of_upload(upload("\n".join(rows))), "session_watch_time", "B")
    assert result.value == pytest.approx(0.1)
    assert (result.ci_low, result.lift_low, result.p) == (None, None, None)


def test_a_control_of_zero_gives_no_lift_and_says_so() -> None:
    result = row(
        results_of_upload(upload("u1 a A 0 0 0\nu2 b A 0 0 0\nu3 c B 1 90 2\nu4 d B 0 0 0")),
        "engagement_rate",
        "B",
    )
    assert (result.value, result.lift, result.p, result.word) == (0.5, None, 1.0, "not settled")
    assert "the control is 0" in result.note


def test_a_variant_of_zero_has_a_lift_but_no_interval() -> None:
    result = row(
        results_of_upload(upload("u1 a A 1 90 1\nu2 b A 0 0 0\nu3 c B 0 0 0\nu4 d B 0 0 0")),
        "session_watch_time",
        "B",
    )
    assert (result.lift, result.lift_low, result.p) == (-1.0, None, None)
    assert "the variant is 0" in result.note


def test_a_variant_in_which_nobody_had_a_session_says_so() -> None:
    result = results_of_upload(upload("u1 a A 1 60 1\nu2 b A 0 0 0\nu3 - B - - -\nu4 - B - - -"))
    assert row(result, "engagement_rate", "B").value is None
    assert row(result, "engagement_rate", "B").note == "there are no sessions"
    assert row(result, "sessions_per_user", "B").value == 0


@pytest.mark.parametrize(
    "rows",
    [
        "u1 a A 1 60 1\nu2 b B 1 60 1",
        "u1 a A 0 0 0\nu2 b A 0 0 0\nu3 c B 0 0 0\nu4 d B 0 0 0",
        "u1 a A 1 60 1\nu2 - B - - -",
        "u1 a A 1 60 1\nu2 b A 0 0 0\nu3 c B 1 60 1\nu4 d B 1 60 1",
    ],
)
def test_no_number_is_ever_nan_or_infinite(rows: str) -> None:
    numbers = [cell for record in results_of_upload(upload(rows)).records() for cell in record.values()]
    assert all(math.isfinite(cell) for cell in numbers if isinstance(cell, float))


# ── control and split ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("variants", "control"),
    [
        (("new", "control"), "control"),
        (("A", "B", "C"), "A"),
        (("b", "a"), "a"),
        (("treatment", "Holdout"), "Holdout"),
        (("als-v3", "baseline"), "baseline"),
        (("A", "control"), "control"),
        (("new", "old"), "old"),
        (("0", "1"), "0"),
        (("new row", "old row (control)"), "old row (control)"),
    ],
)
def test_a_control_is_known_by_its_name(variants: tuple[str, ...], control: str) -> None:
    table = pa.table(
        {"unit_id": [1, 2, 3], "session_id": [1, 2, 3], "variant": (variants * 2)[:3], "clicks": [1, 1, 1],
         "watch_s": [1, 1, 1]}
    )  # fmt: skip
    result = results_of_upload(of_table(table))
    assert (result.control, result.variants[0]) == (control, control)
    assert "guessed-control" not in codes(result)


def test_without_such_a_name_the_first_variant_is_the_control_and_that_is_said() -> None:
    result = results_of_upload(upload("u1 a red 1 60 1\nu2 b blue 0 0 0"))
    assert result.control == "blue"
    assert "guessed-control" in codes(result)


def test_a_named_control_is_taken_and_an_unknown_one_answered_with_the_known() -> None:
    test = upload("u1 a A 1 60 1\nu2 b B 0 0 0")
    assert results_of_upload(test, control="B").variants == ("B", "A")
    with pytest.raises(UnknownName, match="Known: A, B"):
        results_of_upload(test, control="C")


@pytest.mark.parametrize(
    ("counts", "blocked"), [((100, 100, 100), False), ((100, 100, 65), False), ((100, 100, 40), True)]
)
def test_an_unlikely_split_over_all_variants_blocks_the_verdict(
    counts: tuple[int, ...], blocked: bool
) -> None:
    variant = [name for name, count in zip("ABC", counts, strict=True) for _ in range(count)]
    ids = list(range(len(variant)))
    table = pa.table(
        {
            "unit_id": ids,
            "session_id": ids,
            "variant": variant,
            "clicks": [i % 2 for i in ids],
            "watch_s": ids,
        }
    )
    result = results_of_upload(of_table(table))
    assert result.health.srm_p == pytest.approx(float(stats.chisquare(counts).pvalue))
    assert result.health.blocked is blocked
    assert ("sample-ratio-mismatch" in codes(result)) is blocked


# ── tables that hold no test ─────────────────────────────────────────────────────────────────


def test_a_column_of_sessions_is_not_taken_for_variants() -> None:
    table = simulated(6)
    mistaken = table.set_column(2, "variant", table["session_id"].cast("string"))
    with pytest.raises(InputError, match="different variants, such as '0' and '1'"):
        results_of_upload(of_table(mistaken))


def test_a_table_where_all_users_cross_is_refused() -> None:
    with pytest.raises(InputError, match="All 1 users saw several variants"):
        results_of_upload(upload("u1 a A 1 60 1\nu1 b B 1 60 1"))


def test_the_template_is_a_test_with_results() -> None:
    table = pyarrow.csv.read_csv(io.BytesIO(templates()["sessions"].encode()))
    result = results_of_upload(of_table(table))
    assert result.variants == ("control", "new")
    assert row(result, "engagement_rate", "control").value == 2 / 3


# ── variants that two tables, or two rows, say differently ───────────────────────────────────


def test_a_variant_that_only_users_of_others_saw_is_named() -> None:
    crossed = "u3 c A 1 60 1\nu3 d C 1 60 1\nu4 e C 1 6 1\nu4 f B 1 6 1"
    result = results_of_upload(upload(f"u1 a A 1 60 1\nu2 b B 1 60 1\n{crossed}"))
    assert result.variants == ("A", "B")
    (said,) = [str(notice) for notice in result.notices if notice.code == "variant-without-users"]
    assert "No user of 'C' is left: all 2 also saw another variant" in said


def with_exposures(variants: dict[str, str]) -> set[str]:
    """What is said where u1 and u2 have sessions in A and B before and after their exposures."""
    head = "unit_id,session_id,variant,start_ts,clicks,watch_s\n"
    text = f"{head}u1,a,A,900000,1,60\nu1,b,A,900001,1,60\nu2,c,A,5,1,60\nu2,d,B,900000,1,60\n"
    table = read_upload("sessions", text.encode()).table
    seen = "".join(f"{unit},{variant},800000\n" for unit, variant in variants.items())
    exposures = read_upload("exposures", f"unit_id,variant,ts\n{seen}".encode()).table
    return {
        str(notice)
        for notice in per_user(table, exposures=exposures).notices
        if notice.code == "other-variant"
    }


def test_users_of_whom_sessions_and_exposures_disagree_are_counted() -> None:
    assert with_exposures({"u1": "A", "u2": "B"}) == set()
    (said,) = with_exposures({"u1": "B", "u2": "B"})
    assert "the sessions of 1 user name another variant than the exposures" in said
    (said,) = with_exposures({"u1": "B", "u2": "new"})
    assert "the sessions of 2 users name another variant" in said


# ── segments ─────────────────────────────────────────────────────────────────────────────────


def labelled(*rows: tuple[str, int | None, str | None]) -> dict[str, str]:
    """Rows (unit, time, platform) in the order of the file → each user's platform."""
    unit, at, platform = zip(*rows, strict=True)
    users = per_user(
        pa.table(
            {"unit_id": list(unit), "session_id": list(map(str, range(len(unit)))),
             "variant": ["a" if one < "m" else "z" for one in unit], "start_ts": pa.array(at, pa.int64()),
             "clicks": [1] * len(unit), "watch_s": [60] * len(unit),
             "platform": pa.array(platform, pa.string())}
        )
    )  # fmt: skip
    labels, codes = users.segments["platform"].labels, users.segments["platform"].label
    names = [(*labels, "not known")[code] for code in codes]
    return dict(zip([str(one) for one in users.unit], names, strict=True))


DAY_ONE, DAY_TWO = 1_762_000_000, 1_762_086_400


def test_a_users_segment_is_the_earliest_by_time_in_whatever_order_the_file_is() -> None:
    rows = [("b", DAY_TWO, "tv"), ("b", DAY_ONE, "web"), ("x", DAY_TWO, "tv"), ("x", DAY_ONE, None)]
    assert labelled(*rows) == labelled(*reversed(rows)) == {"b": "web", "x": "tv"}


def test_of_segments_at_the_same_time_the_first_by_name_counts() -> None:
    rows = [("b", DAY_ONE, "web"), ("b", DAY_ONE, "tv"), ("x", DAY_ONE, "web")]
    assert labelled(*rows) == labelled(*reversed(rows)) == {"b": "tv", "x": "web"}


def test_a_segment_with_a_time_counts_before_one_without() -> None:
    assert labelled(("b", None, "tv"), ("b", DAY_TWO, "web"), ("x", None, "tv")) == {"b": "web", "x": "tv"}


def test_a_users_segment_in_the_exposures_is_the_earliest_too() -> None:
    table = pa.table({"unit_id": ["b", "x"], "session_id": ["1", "2"], "clicks": [1, 1], "watch_s": [1, 1],
                      "start_ts": [DAY_TWO, DAY_TWO]})  # fmt: skip
    exposures = pa.table({"unit_id": ["b", "b", "x"], "variant": ["a", "a", "z"],
                          "ts": [DAY_TWO, DAY_ONE, DAY_ONE], "country": ["de", "fr", "de"]})  # fmt: skip
    country = per_user(table, exposures=exposures).segments["country"]
    assert [country.labels[code] for code in country.label] == ["fr", "de"]
