"""Predicts the reward of an item in a slot from other rows of the log."""

from __future__ import annotations

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.online.off_policy.target import LoggedRows, Target

FOLDS = 5
SHRINK_ROWS = 100
"""Weight of the overall mean in the mean of an item at a position, as a number of rows."""


def expected(log: LoggedRows, target: Target) -> tuple[Floats, Floats]:
    """Returns [n] the expected reward of each row's item, and [n] of what the target would show instead.

    The mean reward per item and position is shrunk towards the overall mean as if by 100 more rows; an unseen
    item has the overall mean. The predictions are cross-fitted: rows, or users if known, are randomly divided
    into five parts (with a fixed seed), and each part is predicted from the other four. No row is predicted
    by a model trained on it.
    """
    part = _parts(log, target)
    of_shown, of_target = np.zeros(len(log)), np.zeros(len(log))
    for fold in range(FOLDS):
        rows = np.flatnonzero(part == fold)
        means, overall = _learnt(log, np.flatnonzero(part != fold))
        of_shown[rows] = means[log.item[rows], log.position[rows]]
        of_target[rows] = _of_target(target, means, overall)[target.case[rows], log.position[rows]]
    return of_shown, of_target


def _parts(log: LoggedRows, target: Target) -> Ints:
    """Returns [n] the part of each row, 0 to 4.

    Parts are dealt to users by id, and to rows without a user by what is in the row, so that the order of the
    rows changes nothing. Which of several equal rows is in a part makes no difference.
    """
    by_content = np.lexsort(
        (log.reward, log.propensity, target.probability, target.case, log.position, log.item)
    )
    unit = np.empty(len(log), dtype=np.int64)
    unit[by_content] = np.arange(len(log))
    if log.user is not None:
        n_named = int(log.user.max(initial=-1)) + 1 - log.without_user
        nameless = log.user >= n_named
        unit[nameless] = n_named + unit[nameless].argsort().argsort()
        unit[~nameless] = log.user[~nameless]
    return (np.random.default_rng(0).permutation(int(unit.max(initial=-1)) + 1) % FOLDS)[unit]


def _learnt(log: LoggedRows, rows: Ints) -> tuple[Floats, float]:
    """Returns [items, positions] the shrunk mean rewards over ``rows``, and the overall mean.

    The overall mean is 0 without rows.
    """
    size = len(log.items) * log.n_positions
    cell = log.item[rows] * log.n_positions + log.position[rows]
    overall = float(log.reward[rows].mean()) if len(rows) else 0.0
    sums = np.bincount(cell, log.reward[rows], size) + SHRINK_ROWS * overall
    means = sums / (np.bincount(cell, minlength=size) + SHRINK_ROWS)
    return means.reshape(len(log.items), log.n_positions), overall


def _of_target(target: Target, means: Floats, overall: float) -> Floats:
    """Returns [cases, positions] the mean reward of what the target shows in each case."""
    in_log = target.entry_item >= 0
    expected = np.empty((target.n_cases, means.shape[1]))
    for place in range(means.shape[1]):
        of_entry = np.where(in_log, means[target.entry_item, place], overall)
        parts = target.entry_probability * of_entry
        expected[:, place] = np.bincount(target.entry_case, parts, target.n_cases)
    return expected
