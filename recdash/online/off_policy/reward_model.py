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
    n_dealt = len(log) if log.user is None else int(log.user.max(initial=-1)) + 1
    part = np.random.default_rng(0).permutation(n_dealt) % FOLDS
    part = part if log.user is None else part[log.user]
    of_shown, of_target = np.zeros(len(log)), np.zeros(len(log))
    for fold in range(FOLDS):
        rows = np.flatnonzero(part == fold)
        means, overall = _learnt(log, np.flatnonzero(part != fold))
        of_shown[rows] = means[log.item[rows], log.position[rows]]
        of_target[rows] = _of_target(target, means, overall)[target.case[rows], log.position[rows]]
    return of_shown, of_target


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
