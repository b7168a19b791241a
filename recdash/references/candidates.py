"""The reference candidates by name: what each is, which tables it needs, and its lists as a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from recdash.domain.inputs import Recommendations, Upload
from recdash.domain.kinds import Ints, TableKind
from recdash.engines import Reference
from recdash.errors import InputError, Problem, UnknownName
from recdash.references import rankers
from recdash.references.context import Knowledge
from recdash.references.rankers import Lists

_ROWS_PER_BATCH = 1 << 18
_COLUMNS = ("user_id", "item_id", "rank")

Tables = Mapping[TableKind, Upload]


@dataclass(frozen=True)
class ReferenceCandidate:
    """A candidate that anybody can have: ``label`` is its short name, ``meaning`` says what it is.

    ``needs`` says in words which tables it is made from; ``lacks`` gives the one that is missing, or "".
    """

    name: str
    label: str
    meaning: str
    needs: str
    lacks: Callable[[Tables], str]
    rank: Callable[[Knowledge], Lists]

    @property
    def title(self) -> str:
        """The name of its run."""
        return f"{self.label} (reference)"


# ── what is missing ──────────────────────────────────────────────────────────────────────────


def _nothing(_: Tables) -> str:
    return ""


def _train(tables: Tables) -> str:
    return "" if "train" in tables else "the train table"


def _ratings(tables: Tables) -> str:
    if "train" not in tables:
        return "the train table with ratings"
    table = tables["train"].table
    if "rating" not in table.column_names or np.isnan(table["rating"].to_numpy().astype(np.float64)).all():
        return "ratings in the train table"
    return ""


def _items(tables: Tables) -> str:
    return "" if "catalogue" in tables or "train" in tables else "the catalogue or the train table"


def _described(tables: Tables) -> str:
    names: Mapping[TableKind, str] = {"train": "the train table", "catalogue": "the catalogue"}
    missing = [words for kind, words in names.items() if kind not in tables]
    if missing:
        return " and ".join(missing)
    plain = tables["catalogue"].table.column_names == ["item_id"]
    return "titles or other attributes in the catalogue" if plain else ""


# ── the table ────────────────────────────────────────────────────────────────────────────────

_ALL = (
    ReferenceCandidate(
        "popular",
        "Most popular",
        "The items that most users of train have, without those that the user has already.",
        "train",
        _train,
        rankers.popular,
    ),
    ReferenceCandidate(
        "weighted_rating",
        "Weighted rating",
        "The best rated items of train, few ratings drawn to the overall mean; without those that the user "
        "has already.",
        "train with a rating column",
        _ratings,
        rankers.weighted_rating,
    ),
    ReferenceCandidate(
        "random",
        "Random",
        "Items of the catalogue (without one: of train) drawn with equal chance, without those that the user "
        "has already.",
        "a catalogue or train",
        _items,
        rankers.random,
    ),
    ReferenceCandidate(
        "content",
        "Content-based",
        "The items whose words in the catalogue (TF-IDF) are most like those of the user's items in train, "
        "without these; users without history get no list.",
        "train and a catalogue with a title or attributes",
        _described,
        rankers.content,
    ),
    ReferenceCandidate(
        "oracle",
        "Oracle",
        "The user's relevant items, best first, and nothing else: no candidate can score higher on accuracy, "
        "except on judged and serendipity, which ask for more than relevance.",
        "nothing but the truth",
        _nothing,
        rankers.oracle,
    ),
)
REFERENCES: Mapping[str, ReferenceCandidate] = {one.name: one for one in _ALL}
"""Every reference candidate, in the order in which it is offered; add one here and it is everywhere."""


def references_named(names: str | Sequence[str]) -> tuple[ReferenceCandidate, ...]:
    """``"popular, oracle"`` or a sequence of names, each once. Raises UnknownName."""
    wanted = names.split(",") if isinstance(names, str) else names
    found = dict.fromkeys(name.strip() for name in wanted)
    for name in found:
        if name not in REFERENCES:
            raise UnknownName("reference", name, list(REFERENCES))
    return tuple(REFERENCES[name] for name in found)


def make_references(
    names: str | Sequence[str], reference: Reference, tables: Tables, depth: int
) -> list[Recommendations]:
    """The named candidates as runs of ``depth`` places; their lists are made while they are read.

    Raises UnknownName, and InputError naming every candidate that lacks a table.
    """
    wanted = references_named(names)
    problems = [_lacking(one, lack) for one in wanted if (lack := one.lacks(tables))]
    if problems:
        raise InputError(problems)
    knowledge = Knowledge(reference, tables, depth)
    return [_recommendations(one, knowledge) for one in wanted]


def _lacking(one: ReferenceCandidate, lack: str) -> Problem:
    fix = "Add it to the set-up, or leave this reference out."
    return Problem("reference-lacks-table", f"reference '{one.name}'", f"it needs {lack}", fix)


# ── as a stream ──────────────────────────────────────────────────────────────────────────────


def _recommendations(one: ReferenceCandidate, knowledge: Knowledge) -> Recommendations:
    def batches(columns: Sequence[str] = _COLUMNS) -> Iterator[pa.RecordBatch]:
        empty = True
        for lists in _blocks(one.rank(knowledge)):
            empty = False
            yield _batch(knowledge, lists).select([name for name in _COLUMNS if name in columns])
        if empty:
            raise InputError(_without_lists(one))

    return Recommendations(one.title, batches, has_rank=True, has_score=False, reference=one.name)


def _without_lists(one: ReferenceCandidate) -> Problem:
    found = "no user of the truth gets a list from it"
    return Problem(
        "no-lists", f"reference '{one.name}'", found, f"It needs {one.needs}: check that ids agree."
    )


def _blocks(lists: Lists) -> Iterator[list[tuple[int, Ints]]]:
    """Lists in groups of about a batch's rows; empty ones are left out."""
    block, rows = [], 0
    for user, items in lists:
        if len(items):
            block.append((user, items))
            rows += len(items)
        if rows >= _ROWS_PER_BATCH:
            yield block
            block, rows = [], 0
    if block:
        yield block


def _batch(knowledge: Knowledge, lists: list[tuple[int, Ints]]) -> pa.RecordBatch:
    users, items = knowledge.ids
    lengths = np.array([len(one) for _, one in lists])
    user = np.repeat(np.array([user for user, _ in lists]), lengths)
    rank = np.arange(len(user)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1
    columns = [_ids(users, user), _ids(items, np.concatenate([one for _, one in lists])), pa.array(rank)]
    return pa.record_batch(columns, names=list(_COLUMNS))


def _ids(known: pa.Array, codes: Ints) -> pa.Array:
    """The ids of these codes: numbers, or text under a dictionary of those that occur."""
    if pa.types.is_integer(known.type):
        return known.take(pa.array(codes))
    used = np.flatnonzero(np.bincount(codes, minlength=len(known)))
    entry = np.zeros(len(known), dtype=np.int32)
    entry[used] = np.arange(len(used))
    return pa.DictionaryArray.from_arrays(pa.array(entry[codes]), known.take(pa.array(used)))
