"""A run's offline difference and online lift in one sentence."""

from __future__ import annotations

from recdash.online.agreement.join import SideResults

TOWER = SideResults("tower", "lost both", (-0.0183, -0.0214, -0.0152), (-0.1211, -0.1705, -0.0702))


def test_both_ends_of_an_interval_have_the_same_number_of_decimals() -> None:
    assert TOWER.sentence("nDCG@10", "Session watch time") == (
        "tower lost both: nDCG@10 −0.0183 (95 % CI −0.0214 to −0.0152) offline, session watch time −12.1 % "
        "(95 % CI −17.1 to −7.0 %) online."
    )


def test_an_older_report_keeps_its_digits() -> None:
    assert "(95 % CI −17.1 % to −7.02 %)" in TOWER.sentence("nDCG@10", "Session watch time", former=True)


def test_what_is_unknown_is_said() -> None:
    unknown = SideResults("tower", "undecided", (None, None, None), (0.05, None, None))
    assert unknown.sentence("nDCG@10", "Videos") == (
        "tower is inconclusive: nDCG@10 not comparable offline, videos +5.00 % (no interval) online."
    )
