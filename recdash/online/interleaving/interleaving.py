"""Computes the results of an interleaving test from its table, given as a file or a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from recdash import ingest
from recdash.errors import Problem
from recdash.evaluation.column_choice import ColumnsGiven, read_column_choice
from recdash.ingest.notice_rules import check_refused, read_codes
from recdash.online.interleaving.reading import requests_of
from recdash.online.interleaving.results import InterleavingResults, results_of

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class InterleavingTable:
    """The checked table of an interleaving test, with the notices of reading it."""

    table: pa.Table
    notices: tuple[Problem, ...] = ()

    def results(self, control: str | None = None) -> InterleavingResults:
        """Returns the results against ``control``. Raises InputError for a table that is no test of two."""
        results = results_of(requests_of(self.table, control))
        return replace(results, notices=(*self.notices, *results.notices))


def interleaving(
    table: Any,
    *,
    control: str | None = None,
    columns: ColumnsGiven | None = None,
    refuse: str | Sequence[str] = (),
) -> InterleavingResults:
    """Returns which of two interleaved rankings users prefer, with interval, p-value and checks.

    ``table`` is a file or table with one row per served slot: request_id, user_id, rank, item_id, clicked,
    and team (the ranking that the item came from: team draft) or rank_a and rank_b (its rank in both:
    balanced). Or it has credits: request_id, user_id, and credit_a and credit_b, or team and credit.
    ``control`` is the ranking to compare with, by default the one named like a control, else the first by
    name. ``columns`` maps roles to columns, such as {"team": "source"}. ``refuse`` has codes of notices that
    are problems (see ``recdash.ingest.notice_rules``). Raises InputError with all problems of the table.
    """
    refused_codes = read_codes(refuse)
    results = read_table(table, columns).results(control)
    check_refused(results.noticed(), refused_codes)
    return results


def read_table(
    table: Any,
    columns: ColumnsGiven | None = None,
    limits: ingest.Limits | None = None,
    mapping: Mapping[str, str] | None = None,
) -> InterleavingTable:
    """Returns the checked table of an interleaving test. Raises InputError with all problems."""
    choice = read_column_choice(columns, ("interleaving",))
    own = choice.of("interleaving", also=mapping)
    upload = ingest.read_upload("interleaving", table, mapping=own, limits=limits)
    choice.check_used()
    return InterleavingTable(upload.table, upload.notices)
