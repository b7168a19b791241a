"""The reference candidates by name: what each is, which tables it needs, and how its lists are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from recdash.domain.arguments import texts_of
from recdash.domain.inputs import Recommendations, Upload
from recdash.domain.kinds import Ints, TableKind
from recdash.engines import Reference
from recdash.errors import InputError, Problem, check_known
from recdash.references import rankers
from recdash.references.context import RankerInputs
from recdash.references.rankers import Lists

_ROWS_PER_BATCH = 1 << 18
_COLUMNS = ("user_id", "item_id", "rank")

Tables = Mapping[TableKind, Upload]
TABLES_NEEDED: tuple[TableKind, ...] = ("train", "catalogue")
"""The tables at which ``missing_table`` looks."""


@dataclass(frozen=True)
class ReferenceCandidate:
    """A candidate that recdash computes itself, such as "Most popular" or "Oracle".

    ``label`` is its short name, ``meaning`` its description, ``needs`` the tables it is computed from, in
    words. ``missing_table`` returns the missing table in words, empty if there is none; ``rank`` yields its
    lists.
    """

    name: str
    label: str
    meaning: str
    needs: str
    missing_table: Callable[[Tables], str]
    rank: Callable[[RankerInputs], Lists]

    @property
    def title(self) -> str:
        """Returns the name of the candidate's run."""
        return f"{self.label} (reference)"


# ── what is missing ──────────────────────────────────────────────────────────────────────────


def _nothing(_: Tables) -> str:
    """Returns an empty text: the candidate needs only the truth."""
    return ""


def _train(tables: Tables) -> str:
    """Returns the training data in words if they are missing, else an empty text."""
    return "" if "train" in tables else "the training data"


def _ratings(tables: Tables) -> str:
    """Returns what is missing of training data with ratings, in words; an empty text if nothing is."""
    if "train" not in tables:
        return "the training data with ratings"
    table = tables["train"].table
    if "rating" not in table.column_names or np.isnan(table["rating"].to_numpy().astype(np.float64)).all():
        return "ratings in the training data"
    return ""


def _items(tables: Tables) -> str:
    """Returns what is missing for a list of all items, in words; an empty text if nothing is."""
    return "" if "catalogue" in tables or "train" in tables else "the catalogue or the training data"


def _described(tables: Tables) -> str:
    """Returns what is missing for items with text, in words; an empty text if nothing is."""
    names: Mapping[TableKind, str] = {"train": "the training data", "catalogue": "the catalogue"}
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
        "The items with the most users in the training data, except those the user already has.",
        "train",
        _train,
        rankers.popular,
    ),
    ReferenceCandidate(
        "weighted_rating",
        "Weighted rating",
        "The items with the best mean rating in the training data, shrunk towards the overall mean if "
        "ratings are few. Items the user already has are left out.",
        "training data with a rating column",
        _ratings,
        rankers.weighted_rating,
    ),
    ReferenceCandidate(
        "random",
        "Random",
        "Random items of the catalogue, or of the training data if there is none, except those the user "
        "already has.",
        "a catalogue or training data",
        _items,
        rankers.random,
    ),
    ReferenceCandidate(
        "content",
        "Content-based",
        "The items whose catalogue text (TF-IDF) is most similar to that of the user's items in the "
        "training data. Items the user already has are left out; users without history get no list.",
        "training data and a catalogue with a title or attributes",
        _described,
        rankers.content,
    ),
    ReferenceCandidate(
        "oracle",
        "Oracle",
        "The user's relevant items, best first, and no others. It is the ceiling of every accuracy metric "
        "except judged and serendipity, which depend on more than relevance.",
        "only the test set",
        _nothing,
        rankers.oracle,
    ),
)
REFERENCES: Mapping[str, ReferenceCandidate] = {candidate.name: candidate for candidate in _ALL}
"""Every reference candidate, in display order. A row added here adds a candidate everywhere."""


def references_named(names: str | Sequence[str]) -> tuple[ReferenceCandidate, ...]:
    """Returns the candidates named in ``"popular, oracle"`` or in a sequence of names, each once.

    Raises UnknownName.
    """
    wanted = names.split(",") if isinstance(names, str) else texts_of("references", names, "popular")
    unique = dict.fromkeys(name.strip() for name in wanted)
    check_known("reference", unique, REFERENCES)
    return tuple(REFERENCES[name] for name in unique)


def make_references(
    names: str | Sequence[str], reference: Reference, tables: Tables, depth: int
) -> list[Recommendations]:
    """Returns the named candidates as runs with lists of ``depth`` items.

    The lists are computed while they are read. Raises UnknownName, and InputError that names every candidate
    for which a table is missing.
    """
    wanted = references_named(names)
    missing = {candidate.name: candidate.missing_table(tables) for candidate in wanted}
    fix = "Add it to the set-up, or remove this reference."
    problems = [
        Problem("reference-lacks-table", f"reference '{name}'", f"it needs {table}", fix)
        for name, table in missing.items()
        if table
    ]
    if problems:
        raise InputError(problems)
    inputs = RankerInputs(reference, tables, depth)
    return [_recommendations(candidate, inputs) for candidate in wanted]


# ── as a stream ──────────────────────────────────────────────────────────────────────────────


def _recommendations(candidate: ReferenceCandidate, inputs: RankerInputs) -> Recommendations:
    def batches(columns: Sequence[str] = _COLUMNS) -> Iterator[pa.RecordBatch]:
        empty = True
        for lists in blocks_of(candidate.rank(inputs)):
            empty = False
            yield id_batch(inputs, lists).select([name for name in _COLUMNS if name in columns])
        if empty:
            text, fix = (
                "it gives no user of the test set a list",
                f"It needs {candidate.needs}: check that ids match.",
            )
            raise InputError(Problem("no-lists", f"reference '{candidate.name}'", text, fix))

    return Recommendations(candidate.title, batches, has_rank=True, has_score=False, reference=candidate.name)


def blocks_of(lists: Lists) -> Iterator[list[tuple[int, Ints]]]:
    """Yields the lists in groups of about as many rows as a batch has; empty lists are left out."""
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


def id_batch(inputs: RankerInputs, lists: list[tuple[int, Ints]]) -> pa.RecordBatch:
    """Returns lists of codes as a batch with the columns user_id, item_id and rank."""
    users, items = inputs.ids
    lengths = np.array([len(codes) for _, codes in lists])
    user = np.repeat(np.array([user for user, _ in lists]), lengths)
    rank = np.arange(len(user)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1
    item = np.concatenate([codes for _, codes in lists])
    columns = [_ids(users, user), _ids(items, item), pa.array(rank)]
    return pa.record_batch(columns, names=list(_COLUMNS))


def _ids(known: pa.Array, codes: Ints) -> pa.Array:
    """Returns the ids of the codes as numbers, or as text with a dictionary of the ids that occur."""
    if pa.types.is_integer(known.type):
        return known.take(pa.array(codes))
    used = np.flatnonzero(np.bincount(codes, minlength=len(known)))
    entry = np.zeros(len(known), dtype=np.int32)
    entry[used] = np.arange(len(used))
    return pa.DictionaryArray.from_arrays(pa.array(entry[codes]), known.take(pa.array(used)))
