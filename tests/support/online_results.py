"""The results of one uploaded table of an A/B test."""

from __future__ import annotations

from recdash.domain.inputs import Upload
from recdash.online import OnlineResults
from recdash.online.ab_test import OnlineTables, results_of
from recdash.online.rules import USUAL, OnlineRules


def results_of_upload(
    upload: Upload, control: str | None = None, rules: OnlineRules = USUAL
) -> OnlineResults:
    assert upload.kind in {"sessions", "aggregates"}
    return results_of(OnlineTables(upload.kind, upload.table, {}), control, rules)
