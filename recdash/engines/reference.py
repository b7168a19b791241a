"""What every run of an evaluation is measured against: truth, catalogue and train, on shared codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from recdash.domain.inputs import Truth, Upload
from recdash.domain.kinds import Ints, Numbers, TableKind
from recdash.engines.ids import IdIndex
from recdash.engines.notices import mixed_spellings
from recdash.engines.trained import TrainedPairs, trained_pairs
from recdash.engines.truth import CodedTruth, code_truth, pairs
from recdash.errors import InputError, Problem
from recdash.sorting import distinct, first_of_equals


@dataclass(frozen=True)
class Reference:
    """Truth, with the indexes that runs are looked up in.

    ``users`` knows the truth's users, ``items`` the items of all tables. ``catalogue``
    [c] item codes or None; ``train_users`` [N] how many train users have each item, or None, with
    ``n_train_users``; ``history`` [U] how many train items each truth user has, or None; ``trained`` which
    these are, of some users. ``tables`` are the other uploads as they were read, for what is asked of them
    later (attributes, vectors, similarities).
    ``train_ids`` knows the users of truth and train together; None without a train table.
    """

    truth: Truth
    users: IdIndex
    items: IdIndex
    catalogue: Ints | None = None
    train_users: Ints | None = None
    n_train_users: int = 0
    history: Ints | None = None
    trained: TrainedPairs | None = None
    tables: Mapping[TableKind, Upload] = field(default_factory=dict)
    notices: tuple[Problem, ...] = ()
    train_ids: IdIndex | None = None


def read_reference(
    truth: Upload | CodedTruth,
    *,
    catalogue: Upload | None = None,
    train: Upload | None = None,
    others: Mapping[TableKind, Upload] | None = None,
    threshold: float | None = None,
) -> Reference:
    """Put the tables of an evaluation on shared codes.

    Raises InputError when no row of the truth is relevant.
    """
    _check_threshold(threshold)
    coded = code_truth(truth) if isinstance(truth, Upload) else truth
    users, items, gain = coded.users, coded.items, coded.gain
    notices = [_repeated_pairs(coded.name, coded.repeated)] if coded.repeated else []
    graded = _graded(gain, threshold)
    known = Truth(users.ids(), items.ids(), coded.start, coded.item, gain, graded, threshold)
    _check_relevance(known, truth.name)
    in_catalogue = distinct(items.add(catalogue.table["item_id"])) if catalogue else None
    seen_in_train = _read_train(train, known, users, items) if train else _NO_TRAIN
    notices += seen_in_train.notices
    _add_items_of(others or {}, items)
    met = {"user_id": users.spellings_met, "item_id": items.spellings_met}
    notices += mixed_spellings("truth, train and catalogue", met)
    return Reference(
        known,
        users,
        items,
        in_catalogue,
        seen_in_train.users_per_item,
        seen_in_train.n_users,
        seen_in_train.history,
        seen_in_train.trained,
        {**({"catalogue": catalogue} if catalogue else {}), **(others or {})},
        tuple(notices),
        seen_in_train.ids,
    )


def _add_items_of(others: Mapping[TableKind, Upload], items: IdIndex) -> None:
    """After all other tables, so that the codes of those do not change when one of these comes later."""
    for upload in others.values():
        for column in ("item_id", "item_a", "item_b"):
            if column in upload.table.column_names:
                items.add(upload.table[column])


@dataclass(frozen=True)
class _Train:
    users_per_item: Ints | None = None
    n_users: int = 0
    history: Ints | None = None
    trained: TrainedPairs | None = None
    notices: tuple[Problem, ...] = ()
    ids: IdIndex | None = None


_NO_TRAIN = _Train()


def _check_threshold(threshold: float | None) -> None:
    if threshold is not None and not threshold > 0:
        fix = "Use a number above 0; rows with relevance 0 or less are never relevant."
        raise InputError(Problem("bad-threshold", "relevance threshold", f"{threshold:g}", fix))


def _graded(gain: Numbers, threshold: float | None) -> bool:
    relevant = gain > 0 if threshold is None else gain >= np.float64(threshold)
    gain = gain if relevant.all() else gain[relevant]
    return bool((gain != gain[:1]).any())


def _check_relevance(truth: Truth, name: str) -> None:
    if truth.relevant().any():
        return
    rule = "> 0" if truth.threshold is None else f"≥ {truth.threshold:g}"
    raise InputError(
        Problem(
            "nothing-relevant",
            f"truth '{name}', column 'relevance'",
            f"no row is relevant: none of {len(truth.gain)} values is {rule}",
            "Lower the relevance threshold, or choose another relevance column or 'none'.",
        )
    )


def _repeated_pairs(name: str, count: int) -> Problem:
    return Problem(
        "duplicate-truth",
        f"truth '{name}'",
        f"{count} duplicate (user, item) rows",
        "The row with the highest relevance counts, the others are left out.",
        count,
    )


def _read_train(train: Upload, truth: Truth, users: IdIndex, items: IdIndex) -> _Train:
    users.tell_apart(train.table["user_id"])  # for the runs as well, which know the users of the truth alone
    everyone = users.copy()
    everyone.spellings_met = users.spellings_met
    user, item = everyone.codes(train.table["user_id"]), items.add(train.table["item_id"])
    rows = pairs(user, item, len(items))
    both = distinct(rows)
    repeated = len(rows) - len(both)
    user, item = both // len(items), both % len(items)
    owner = np.repeat(np.arange(truth.n_users), np.diff(truth.start))
    leaks = _in_both(both, pairs(owner, truth.item, len(items)))
    notices = (_in_train_and_truth(train.name, leaks, len(truth.item), repeated),) if leaks else ()
    rows_of = np.bincount(user, minlength=truth.n_users)
    return _Train(
        np.bincount(item, minlength=len(items)),
        int((rows_of > 0).sum()),
        rows_of[: truth.n_users],
        trained_pairs(user, item, truth.n_users, len(items)),
        notices,
        everyone,
    )


def _in_both(some: Ints, others: Ints) -> int:
    """How many numbers are in both; each holds a number once."""
    both = np.concatenate((some, others))
    both.sort()
    return int((~first_of_equals(both)).sum())


MANY_REPEATS = 0.1
"""From this share of the held-out pairs on, what is in train as well looks like a habit of the users."""


def _in_train_and_truth(name: str, count: int, n_truth: int, repeated: int) -> Problem:
    """Both readings: a split that leaks, or users who take the same items again, as shoppers do.

    ``repeated`` rows of train name a pair that stood there before, which speaks for the second.
    """
    share, again = count / n_truth, f" (train itself names {repeated:,} pairs again)" if repeated else ""
    if repeated or share >= MANY_REPEATS:
        fix = (
            f"Where users take the same items again{again}, that is as it should be; if not, the split "
            "leaks and candidates may have seen these answers."
        )
    else:
        fix = (
            "A candidate may have seen these answers: make the split again without them, unless users take "
            "the same items again here."
        )
    found = (
        f"{count} (user, item) pairs are in both train and held-out truth, {100 * share:.3g} % of the truth"
    )
    return Problem("train-leaks-truth", f"train '{name}'", found, fix, count)
