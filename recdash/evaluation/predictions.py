"""Checks whether the rows of rating predictions match the test set and the rows of other candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from recdash.domain.hits import IdOverlap
from recdash.domain.inputs import Upload
from recdash.domain.kinds import Ints, Mask
from recdash.engines import Reference
from recdash.engines.ids import UNKNOWN
from recdash.engines.known_ids import item_overlap, users_met
from recdash.engines.truth import pairs
from recdash.errors import Problem
from recdash.evaluation.known_ids import LEAST_KNOWN, SPELLED, predicted_problems
from recdash.evaluation.reading import RatedPairs
from recdash.formatting.numbers import share

if TYPE_CHECKING:
    import pyarrow as pa

APART, ROWS_DIFFER = "predictions-apart", "different-rows-predicted"


def prediction_notices(name: str, rated: Upload, reference: Reference) -> list[Problem]:
    """Returns notices on a candidate's rating predictions; one of them says if few of their rows are in the
    test set.
    """
    place, table = f"predictions of '{name}'", rated.table
    notices = [replace(notice, place=f"{place}, {notice.place}") for notice in rated.notices]
    problems = predicted_problems(name, predicted_overlap(table, reference))
    notices += problems
    if any(problem.code == SPELLED for problem in problems):
        return notices
    in_truth = rows_in_truth(table, reference)
    met, rows = int(in_truth.sum()), table.num_rows
    if met >= LEAST_KNOWN * rows:
        return notices
    text = f"only {share(met, rows)} of the rows have a user and item that occur together in the truth"
    fix = "RMSE, MAE and R² are over these rows; check that they are the test rows."
    row = int(np.argmin(in_truth))
    example = f"user '{table['user_id'][row].as_py()}', item '{table['item_id'][row].as_py()}'"
    return [*notices, Problem(APART, place, text, fix, rows - met, example)]


def predicted_overlap(table: pa.Table, reference: Reference) -> IdOverlap:
    """Returns how many items and users of predicted rows occur in the tables. Items count once per row, each
    user once.
    """
    users, items = reference.users.copy(), reference.items.copy()
    user, item = users.codes(table["user_id"]), items.codes(table["item_id"])
    has_rows = np.bincount(user, minlength=len(users)) > 0
    places: Ints = np.bincount(item, minlength=len(items)).astype(np.int64)
    return item_overlap(places, items.ids(), reference, users_met(users, has_rows, reference))


def rows_in_truth(table: pa.Table, reference: Reference) -> Mask:
    """Returns True [rows] where the pair of user and item is in the test set."""
    truth = reference.truth
    n_items = len(truth.items)
    user = reference.users.codes(table["user_id"], grow=False)
    item = reference.items.codes(table["item_id"], grow=False)
    known = (user != UNKNOWN) & (item != UNKNOWN) & (user < truth.n_users) & (item < n_items)
    owner = np.repeat(np.arange(truth.n_users), np.diff(truth.start))
    known[known] = np.isin(pairs(user[known], item[known], n_items), pairs(owner, truth.item, n_items))
    return known


def rows_differ(tables: Mapping[str, pa.Table], reference: Reference) -> list[Problem]:
    """Returns a problem if candidates predict different rows, because their errors are then over different
    ratings; else empty. ``tables`` is {candidate's name: its rating predictions}.
    """
    if len(tables) < 2:
        return []
    shared = RatedPairs(reference)
    rows = {name: shared.rows(table).key for name, table in tables.items()}
    by_all = reduce(np.intersect1d, rows.values())
    if all(len(keys) == len(by_all) for keys in rows.values()):
        return []
    counts = ", ".join(f"{name} {len(keys):,}" for name, keys in rows.items())
    text = f"the candidates predict different rows: {counts}; {len(by_all):,} rows are predicted by all"
    fix = "RMSE, MAE and R² of each are over its own rows; recdash compare uses those that two share."
    return [Problem(ROWS_DIFFER, "predictions", text, fix)]
