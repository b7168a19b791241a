"""The truth, catalogue and training data with shared codes, against which all runs of an evaluation are
matched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from recdash.domain.inputs import Truth, Upload
from recdash.domain.kinds import Ints, TableKind
from recdash.engines.ids import IdIndex
from recdash.engines.notices import mixed_spellings
from recdash.engines.trained import TrainedPairs, trained_pairs
from recdash.engines.truth import CodedTruth, code_truth, pairs
from recdash.errors import InputError, Problem
from recdash.sorting import distinct, first_of_equals


@dataclass(frozen=True)
class Reference:
    """The truth and further tables of an evaluation, with the indexes in which runs look up their ids.

    ``users`` has the truth's users, ``items`` the items of all tables. ``catalogue`` [c] are item codes.
    ``train_users`` [N] is the number of train users of each item, of ``n_train_users`` in total. ``history``
    [U] is the number of train items of each truth user; ``trained`` has the train items of a sample of users.
    ``train_ids`` has the users of truth and training data together. These are None if the table is missing.

    ``tables`` are the other uploads as they were read (attributes, vectors, similarities), for later use.
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
    """Returns the tables of an evaluation with shared codes.

    Raises InputError if no row of the truth is relevant, and for a threshold that is not above 0.
    """
    if threshold is not None and not threshold > 0:
        fix = "Use a number above 0; rows with relevance 0 or less are never relevant."
        raise InputError(Problem("bad-threshold", "relevance threshold", f"{threshold:g}", fix))
    coded = code_truth(truth) if isinstance(truth, Upload) else truth
    users, items, gain = coded.users, coded.items, coded.gain
    notices = []
    if coded.repeated:
        finding = f"{coded.repeated:,} duplicate (user, item) rows"
        fix = "The row with the highest relevance counts; the others are dropped."
        notices.append(Problem("duplicate-truth", f"truth '{coded.name}'", finding, fix, coded.repeated))
    relevant = gain > 0 if threshold is None else gain >= np.float64(threshold)
    gains = gain if relevant.all() else gain[relevant]
    graded = bool((gains != gains[:1]).any())
    known = Truth(users.ids(), items.ids(), coded.start, coded.item, gain, graded, threshold)
    if not relevant.any():
        rule = "> 0" if threshold is None else f"≥ {threshold:g}"
        finding = f"no row is relevant: none of {len(gain)} values is {rule}"
        fix = "Lower the relevance threshold, or choose another relevance column or 'none'."
        place = f"truth '{truth.name}', column 'relevance'"
        raise InputError(Problem("nothing-relevant", place, finding, fix))
    in_catalogue = distinct(items.add(catalogue.table["item_id"])) if catalogue else None
    tables: dict[TableKind, Upload] = {"catalogue": catalogue} if catalogue else {}
    tables |= others or {}
    reference = Reference(known, users, items, in_catalogue, tables=tables)
    if train:
        reference = _with_train(reference, train)
    # after all other tables, so that their codes do not change when one of these is added later
    for upload in (others or {}).values():
        for column in ("item_id", "item_a", "item_b"):
            if column in upload.table.column_names:
                items.add(upload.table[column])
    met = {"user_id": users.spellings_met, "item_id": items.spellings_met}
    notices += [*reference.notices, *mixed_spellings("truth, train and catalogue", met)]
    return replace(reference, notices=tuple(notices))


def _with_train(reference: Reference, train: Upload) -> Reference:
    """Returns the reference with the facts that training data give about its users and items."""
    truth, users, items = reference.truth, reference.users, reference.items
    users.tell_apart(train.table["user_id"])  # also for runs, whose index has the users of the truth only
    everyone = users.copy()
    everyone.spellings_met = users.spellings_met
    user, item = everyone.codes(train.table["user_id"]), items.add(train.table["item_id"])
    rows = pairs(user, item, len(items))
    both = distinct(rows)
    repeated = len(rows) - len(both)
    user, item = both // len(items), both % len(items)
    owner = np.repeat(np.arange(truth.n_users), np.diff(truth.start))
    merged = np.concatenate((both, pairs(owner, truth.item, len(items))))
    merged.sort()
    again = ~first_of_equals(merged)  # pairs in both; no side repeats a pair
    leaks = int(again.sum())
    leak = int(merged[again.argmax()]) if leaks else 0
    example = f"user '{truth.users[leak // len(items)]}', item '{items.ids()[leak % len(items)]}'"
    rows_of = np.bincount(user, minlength=truth.n_users)
    return replace(
        reference,
        train_users=np.bincount(item, minlength=len(items)),
        n_train_users=int((rows_of > 0).sum()),
        history=rows_of[: truth.n_users],
        trained=trained_pairs(user, item, truth.n_users, len(items)),
        notices=(
            (replace(_leak(train.name, leaks, len(truth.item), repeated), example=example),) if leaks else ()
        ),
        train_ids=everyone,
    )


MANY_REPEATS = 0.1
"""If at least this share of test pairs is in the training data, they are assumed to be intended."""


def _leak(name: str, count: int, n_truth: int, repeated: int) -> Problem:
    """Returns the problem of pairs that are in both truth and training data. It names two explanations: a
    leaking split, and users who choose the same items again, as shoppers do.

    ``repeated`` is the number of repeated pairs within the training data, which supports the second.
    """
    share, again = count / n_truth, f" (train itself contains {repeated:,} pairs again)" if repeated else ""
    if repeated or share >= MANY_REPEATS:
        fix = (
            f"If users choose the same items again{again}, this is fine. Otherwise the split leaks, "
            "and candidates may have seen these answers: no pair belongs in both train and held-out rows."
        )
    else:
        fix = (
            "A candidate may have seen these answers: no pair belongs in both train and held-out rows. "
            "Split again without them, unless users choose the same items again here."
        )
    finding = f"{count} (user, item) pairs are in both train and truth, {100 * share:.3g} % of the truth"
    return Problem("train-leaks-truth", f"train '{name}'", finding, fix, count)
