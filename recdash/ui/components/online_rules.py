"""The rules that the logs of an A/B test are counted by, as pages name them."""

from __future__ import annotations

RULE_TITLES = {
    "threshold_s": "A video counts when watched longer than, s",
    "item_cap_s": "Most seconds of one item in a session",
    "grace_min": "Minutes that a session stays open",
    "zone": "Zone of times without one",
    "exposures_of": "Experiment in the exposures",
    "starts": "First day of the test",
    "bot_clicks": "Most clicks a day, else a bot",
    "bot_sessions": "Most sessions a day, else a bot",
    "winsorise": "Quantile of users at which totals are cut",
    "planned_users": "Users with whom the test was to end",
    "split": "Planned split",
}
