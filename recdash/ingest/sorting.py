"""Determines the kind of table of each of several files, from their columns and values.

The files are compared with each other. Each kind has reasons in plain words. If several kinds fit, the
confidence is ``unsure`` and a person must choose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from recdash.domain.kinds import TableKind
from recdash.ingest.columns import ROLES, plain
from recdash.ingest.file_names import plain_name
from recdash.ingest.id_columns import IdColumns, id_columns
from recdash.ingest.looks import Look, id_form
from recdash.ingest.swapped_ids import unswapped
from recdash.ingest.table_rules import (
    OF_A_TEST,
    OPEN,
    PAIRS_OF,
    TRUTH_WORDS,
    Confidence,
    FileFacts,
    SortedFile,
    sort_alone,
    variants_of,
)

__all__ = ["Confidence", "Context", "SortedFile", "columns_for", "sort_files"]

TEST_WORDS = (*TRUTH_WORDS, "test", "testset", "eval", "validation")
TRAIN_WORDS = ("train", "training", "trainset", "history", "interactions", "past")
CLEARLY_LARGER = 1.5
PAIRS = "Users and items without a rank or score"


@dataclass(frozen=True)
class Context:
    """What is known besides the files.

    ``chosen`` are the kinds that a person chose, keyed by the position of the file; ``has_truth``: there is a
    test set. ``is_set_up``: the files are added to an experiment whose tables are stored, so that users and
    items without rank are lists in file order or of no use. ``users`` and ``items`` are ids of that
    experiment, in a common spelling.
    """

    chosen: Mapping[int, TableKind] = field(default_factory=dict)
    has_truth: bool = False
    is_set_up: bool = False
    users: frozenset[str] = frozenset()
    items: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Candidates:
    """What tells candidates among files of users and items: the files that are candidates and test sets for
    other reasons, and the names of the variants of the A/B test.
    """

    runs: Sequence[Look]
    truths: Sequence[Look]
    variants: frozenset[str]


def sort_files(looks: Sequence[Look], context: Context = Context()) -> list[SortedFile]:
    """Returns the kind that each file is taken for; the files given together are compared."""
    ids = unswapped(looks, id_columns(looks, {"user_id": context.users, "item_id": context.items}))
    names = [plain_name(look.name) for look in looks]
    facts = [
        FileFacts(look, own, frozenset(names) - {name})
        for look, own, name in zip(looks, ids, names, strict=True)
    ]
    alone = [sort_alone(file) for file in facts]
    sure = {number: s.kind for number, s in enumerate(alone) if s.confidence != "unsure"}
    kinds = dict(sorted({**sure, **context.chosen}.items()))
    taken: set[TableKind | None] = {*kinds.values()}
    taken |= {"truth"} if context.has_truth or context.is_set_up else set()
    places = [number for number, s in enumerate(alone) if s is OPEN and number not in context.chosen]
    candidates = Candidates(
        [looks[number] for number, kind in kinds.items() if kind == "run"],
        [looks[number] for number, kind in kinds.items() if kind == "truth"],
        frozenset().union(*(variants_of(facts[n]) for n, kind in kinds.items() if kind in OF_A_TEST)),
    )
    interactions = _interactions(
        [facts[number] for number in places], taken, candidates, are_runs_only=context.is_set_up
    )
    for number, is_sorted in zip(places, interactions, strict=True):
        alone[number] = is_sorted
    if len(alone) == 1 and not taken:
        alone = [_of_a_test_alone(alone[0])]
    return [_explained(own, is_sorted) for own, is_sorted in zip(ids, alone, strict=True)]


def columns_for(kind: TableKind, mapping: Mapping[str, str]) -> dict[str, str]:
    """Returns the part of {role: column} that also applies to a table of another kind.

    Users may be the units of an A/B test.
    """
    roles = {role.name for role in ROLES[kind]}
    units = {"unit_id": mapping["user_id"]} if "user_id" in mapping else {}
    return {role: column for role, column in {**units, **mapping}.items() if role in roles}


def _of_a_test_alone(is_sorted: SortedFile) -> SortedFile:
    """Returns the file as an A/B test if it is an A/B test or a table of users, and no other file is given.

    Attributes of users are of no use alone. A file of another kind is returned unchanged.
    """
    is_test_or_users = is_sorted.kind == "sessions" and "users" in is_sorted.alternatives
    if is_sorted.confidence != "unsure" or not is_test_or_users:
        return is_sorted
    reason = "It is the only file, so it is taken for an A/B test."
    return replace(is_sorted, confidence="likely", reasons=(*is_sorted.reasons, reason))


def _explained(own: IdColumns, is_sorted: SortedFile) -> SortedFile:
    """Returns the file with the columns that were not recognised by name, and with reasons for them."""
    mapping: dict[str, str] = {**own.mapping, **is_sorted.mapping}
    words = {"user_id": "users", "item_id": "items"}
    if is_sorted.kind is not None:
        mapping = columns_for(is_sorted.kind, mapping)
    shared = [(role, "holds the {} of the other files.") for role in own.by_values]
    placed = [(role, "holds the {}, judging by its position.") for role in own.by_place]
    named = [(role, "is named like the {} of the other files.") for role in own.by_names]
    reasons = [
        f"'{own.of(role)}' {says.format(words[role])}"
        for role, says in (*shared, *placed, *named)
        if own.of(role) in mapping.values()
    ]
    return replace(is_sorted, mapping=mapping, reasons=(*is_sorted.reasons, *reasons))


# ── files of users and items that nothing by itself distinguishes ────────────────────────────


def _interactions(
    files: Sequence[FileFacts],
    taken: set[TableKind | None],
    candidates: Candidates,
    *,
    are_runs_only: bool,
) -> list[SortedFile]:
    """Returns which files are the test set, the training data, and lists in file order.

    ``taken`` are the kinds of the other files. ``are_runs_only``: a file that neither its name nor its lists
    tell may only be lists in file order, which a person must say. The names of files decide first, then
    whether all lists have the same length or the columns are those of candidates, then the size: the larger
    of two files is the training data.
    """
    sorted_files: dict[int, SortedFile] = {}
    for number, file in enumerate(files):
        kind = _kind_by_name(file)
        if kind is not None:
            sorted_files[number] = _taken(kind, "sure", f"{PAIRS}, and its name says {WORDS[kind]}.")
        elif id_form(plain_name(file.look.name)) in candidates.variants:
            reason = f"{PAIRS}, and its name is that of a variant of the A/B test."
            sorted_files[number] = _taken("run", "likely", reason)
    taken = {*taken, *(is_sorted.kind for is_sorted in sorted_files.values())}
    truths = [files[n].look for n, is_sorted in sorted_files.items() if is_sorted.kind == "truth"]
    candidates = replace(candidates, truths=[*candidates.truths, *truths])
    unnamed = {number: file for number, file in enumerate(files) if number not in sorted_files}
    for number, file in unnamed.items():
        if not file.others and file.are_lists_alike:
            sorted_files[number] = _of_one_length("truth" in taken or len(files) > 1)
        elif reason := _like_candidates(file, [*unnamed.values()], candidates):
            sorted_files[number] = _taken("run", "likely", reason)
    left = [number for number in range(len(files)) if number not in sorted_files]
    if are_runs_only:
        reason = f"{PAIRS}: lists in file order, or a table that the experiment has already."
        return [sorted_files.get(number, _taken("run", "unsure", reason)) for number in range(len(files))]
    sorted_files |= zip(left, _by_size([files[number] for number in left], taken), strict=True)
    return [sorted_files[number] for number in range(len(files))]


WORDS: Mapping[TableKind, str] = {"truth": "test set", "train": "training data"}


def _taken(kind: TableKind, confidence: Confidence, reason: str) -> SortedFile:
    return SortedFile(kind, confidence, (reason,), tuple(other for other in PAIRS_OF if other != kind))


def _kind_by_name(file: FileFacts) -> TableKind | None:
    """Returns the kind of interactions in the file's name; None if the name says none, or both."""
    truth, train = file.name_contains(TEST_WORDS), file.name_contains(TRAIN_WORDS)
    return None if truth == train else "truth" if truth else "train"


def _like_candidates(file: FileFacts, unnamed: Sequence[FileFacts], candidates: Candidates) -> str:
    """Returns why the columns of a file are those of a candidate; "" if they are not.

    They are if they have numbers that are neither relevance nor time, and another candidate, or another
    file of ``unnamed``, has the same columns, but no test set has: one of two alike may be training data.
    """
    columns = _shape(file.look)
    if not file.look.has_header or not file.unnamed() or columns in map(_shape, candidates.truths):
        return ""
    like = next((look.name for look in candidates.runs if _shape(look) == columns), None)
    if like is not None:
        return f"{PAIRS}, with the columns of {like}, a candidate."
    n_alike = sum(_shape(other.look) == columns for other in unnamed)
    if n_alike > 1 and candidates.truths:
        return f"{PAIRS}, and another file that is not the test set has the same columns."
    return ""


def _shape(look: Look) -> frozenset[str]:
    """Returns the names of the columns, in one spelling."""
    return frozenset(map(plain, look.columns))


def _of_one_length(has_partner: bool) -> SortedFile:
    reason = "Every user has the same number of rows, as in lists that the file orders."
    return _taken("run", "likely" if has_partner else "unsure", reason)


def _by_size(files: Sequence[FileFacts], taken: set[TableKind | None]) -> list[SortedFile]:
    """Returns the kinds of interaction files with neutral names.

    The kinds that are still missing and the sizes of the files decide.
    """
    if len(files) == 1 and "truth" in taken:
        reason = f"{PAIRS}, beside a test set."
        return [_taken("run", "unsure", reason) if "train" in taken else _taken("train", "likely", reason)]
    if len(files) == 1:
        return [_taken("truth", "likely", f"{PAIRS}.")]
    if not files:
        return []
    sizes = [file.look.n_bytes for file in files]
    is_pair = len(files) == 2 and not {"truth", "train"} & taken
    if not is_pair or max(sizes) < CLEARLY_LARGER * min(sizes):
        smallest = None if "truth" in taken else sizes.index(min(sizes))
        reason = f"{PAIRS}, like another file."
        return [_taken("truth" if n == smallest else "train", "unsure", reason) for n in range(len(files))]
    return [
        _taken("truth", "likely", f"{PAIRS}, and the smaller of the two.")
        if size == min(sizes)
        else _taken("train", "likely", f"{PAIRS}, and the larger of the two.")
        for size in sizes
    ]
