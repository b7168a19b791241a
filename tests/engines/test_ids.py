"""Ids are text: two spellings of a number meet unless the reference tables tell them apart."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from small_tables import run, upload

from recdash.engines import Reference, hits_from_tables, hits_to_tables, match, read_reference
from recdash.engines.ids import ColumnTexts, FirstColumn, IdIndex, number_of
from recdash.errors import InputError
from recdash.evaluation.metric_inputs import metric_inputs_of


def reference(truth_item: Any, user: Any = "u", **tables: Any) -> Reference:
    return read_reference(upload("truth", "user_id item_id", [(user, truth_item)]), **tables)


def is_hit(reference: Reference, item: Any, user: Any = "u") -> bool:
    hits, _ = match(run("user_id item_id rank", [(user, item, 1)]), reference)
    return len(hits.rank) == 1


CATALOGUE_WITH_BOTH = upload("catalogue", "item_id", [("0012",), ("12",)])


@pytest.mark.parametrize(
    ("in_truth", "in_run", "meet"),
    [
        ("a", "a", True),
        ("a", "A", False),
        (12, 12, True),
        (12, "12", True),
        ("12", 12, True),
        ("0012", "12", True),
        ("12", "0012", True),
        ("0012", 12, True),
        ("0012", "012", True),
        (-7, "-7", True),
        ("-7", -7, True),
        ("-7", "7", False),
        (2**62, str(2**62), True),
        (str(2**64), str(2**64), True),
        (str(2**64), str(2**64 + 1), False),
        ("1" * 40, "1" * 40, True),
        ("1e3", "1000", False),
        ("12", "1 2", False),
        ("²", "2", False),
        ("٣", "3", False),
    ],
)
def test_ids_meet_if_they_spell_the_same(in_truth: Any, in_run: Any, meet: bool) -> None:
    assert is_hit(reference(in_truth), in_run) is meet


@pytest.mark.parametrize(("in_truth", "in_run"), [("007", 7), (7, "007"), (7, "7"), ("u", "u")])
def test_users_meet_by_the_same_rule(in_truth: Any, in_run: Any) -> None:
    hits, _ = match(run("user_id item_id rank", [(in_run, "a", 1)]), reference("a", user=in_truth))
    assert hits.list_length.tolist() == [1]


def test_spellings_that_met_are_said_with_an_example() -> None:
    _, told = match(run("user_id item_id rank", [("u", "12", 1), ("u", "3", 2)]), reference("0012"))
    (notice,) = told
    assert notice.code == "mixed-id-forms"
    assert "mixed id forms in item_id: 1 such as '12', written '0012' elsewhere" in str(notice)


@pytest.mark.parametrize(
    ("in_truth", "in_run", "meet"),
    [("0012", "0012", True), ("0012", "12", False), ("12", "12", True), ("12", "0012", False)],
)
def test_a_catalogue_with_both_spellings_tells_them_apart(in_truth: str, in_run: str, meet: bool) -> None:
    assert is_hit(reference(in_truth, catalogue=CATALOGUE_WITH_BOTH), in_run) is meet


@pytest.mark.parametrize(
    ("in_truth", "history"), [("1", 1), (1, 1), ("01", 2), ("001", 0)], ids=["1", "number 1", "01", "001"]
)
def test_train_users_with_both_spellings_stay_apart(in_truth: Any, history: int) -> None:
    """01 has x and y, 1 has x; a user of the truth is the one of the same spelling."""
    train = upload("train", "user_id item_id", [("01", "x"), ("01", "y"), ("1", "x")])
    known = reference("a", user=in_truth, train=train)
    assert (known.n_train_users, known.history.tolist()) == (2, [history])
    assert known.train_users[known.items.codes(pa.array(["x", "y"]), grow=False)].tolist() == [2, 1]
    assert is_hit(known, "a", user=str(in_truth))
    with pytest.raises(InputError, match="no user of this run is in the truth"):
        is_hit(known, "a", user="1" if in_truth == "01" else "01")


@pytest.mark.parametrize(("in_truth", "in_train"), [("01", 1), (1, "01"), ("01", "1"), ("1", "01")])
def test_a_train_user_with_one_spelling_is_that_of_the_truth(in_truth: Any, in_train: Any) -> None:
    train = upload("train", "user_id item_id", [(in_train, "x")])
    assert reference("a", user=in_truth, train=train).history.tolist() == [1]


def test_a_truth_with_both_spellings_has_two_items() -> None:
    truth = upload("truth", "user_id item_id", [("u", "0012"), ("u", "12")])
    known = read_reference(truth)
    hits, told = match(run("user_id item_id rank", [("u", "12", 1), ("u", "x", 2), ("u", "0012", 3)]), known)
    assert list(known.truth.items) == ["0012", "12"]
    assert (hits.rank.tolist(), told) == ([1, 3], [])


def test_both_spellings_in_a_run_alone_are_one_item() -> None:
    hits, told = match(run("user_id item_id rank", [("u", "0012", 1), ("u", "12", 2)]), reference("12"))
    assert (hits.rank.tolist(), hits.list_length.tolist()) == ([1], [1])
    assert {notice.code for notice in told} == {"mixed-id-forms", "duplicate-pairs"}


def test_a_spelling_seen_first_is_the_one_that_is_shown() -> None:
    known = reference("0012")
    hits, _ = match(run("user_id item_id rank", [("u", "12", 1), ("u", "0034", 2)]), known)
    assert list(hits.exposure.items) == ["0012", "0034"]


def test_one_run_does_not_teach_the_reference_new_items() -> None:
    known = reference("a")
    match(run("user_id item_id rank", [("u", "0099", 1)]), known)
    hits, told = match(run("user_id item_id rank", [("u", "99", 1)]), known)
    assert (list(hits.exposure.items), told) == (["a", "99"], [])


# ── the index ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "ids",
    [
        [5, 3, 5, 0],
        [(1 << 24) - 1, 1 << 24, (1 << 24) + 1, 2, 1 << 24],
        [-1, 1, -(2**63), 2**63 - 1, -1],
        ["b", "a", "b"],
        ["7", "x", "7", "-7", "007x"],
    ],
)
def test_equal_ids_have_equal_codes_and_codes_lead_back_to_ids(ids: list[Any]) -> None:
    column = pa.array(ids)
    index = IdIndex()
    codes = index.add(column).tolist()
    known = list(index.ids())
    assert [known[code] for code in codes] == [str(one) for one in ids]
    assert sorted(known) == sorted({str(one) for one in ids})
    assert index.codes(column, grow=False).tolist() == codes


def test_an_index_that_may_not_grow_does_not_know_the_unknown() -> None:
    index = IdIndex()
    index.add(pa.array([1, 2]))
    assert index.codes(pa.array([2, 3, 10**12, -4]), grow=False).tolist() == [1, -1, -1, -1]
    assert index.codes(pa.array(["2", "x", "03"]), grow=False).tolist() == [1, -1, -1]
    assert len(index) == 2


def test_a_copy_grows_on_its_own() -> None:
    index = IdIndex()
    index.add(pa.array(["a", "5"]))
    twin = index.copy()
    twin.add(pa.array(["b", "6"]))
    assert (list(index.ids()), list(twin.ids())) == (["a", "5"], ["a", "5", "b", "6"])
    assert index.codes(pa.array(["b", "6"]), grow=False).tolist() == [-1, -1]


def test_an_empty_column_has_no_codes() -> None:
    assert IdIndex().codes(pa.array([], pa.int64())).tolist() == []
    assert IdIndex().codes(pa.chunked_array([], pa.string())).tolist() == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12),
        ("0012", 12),
        ("-3", -3),
        ("", None),
        ("-", None),
        ("1.0", None),
        ("+1", None),
        (str(2**63 - 1), 2**63 - 1),
        (str(2**63), None),
        (str(-(2**63)), -(2**63)),
        ("0" * 10 + "1", 1),
    ],
)
def test_a_number_is_plain_digits_and_a_sign(text: str, number: int | None) -> None:
    assert number_of(text) == number


def test_ids_go_back_to_arrow_as_numbers_where_all_are_plain() -> None:
    numbers, texts = IdIndex(), IdIndex()
    numbers.add(pa.array([1, 3]))
    texts.add(pa.array(["03", "x"]))
    assert numbers.ids().to_arrow() == pa.array([1, 3])
    assert texts.ids().to_arrow() == pa.array(["03", "x"])
    assert texts.ids()[-1] == "x"
    assert texts.ids()[0:2] == ["03", "x"]


class OneByOne(IdIndex):
    """An index that looks up each text by itself."""

    def _codes_together(self, texts: pa.Array, grow: bool) -> None:  # noqa: ARG002 as its base
        return None


KINDS = {
    "plain numbers": ["7", "0", "12", "300", "41"],
    "large numbers": ["16777215", "16777216", "9" * 18, "4", "1" * 19, "9" * 19],
    "words": ["a", "x7", "7x", "1.0", "+1", " 1", "1\n", "٣", "²", "-", "", "12-"],
    "other spellings": ["07", "7", "00", "-0", "0", "012", "12", "-5", "5"],
}


@pytest.mark.parametrize("seed", range(60))
def test_ids_looked_up_together_have_the_codes_of_each_by_itself(seed: int) -> None:
    """Batches hold repeated entries too, which Arrow allows in a dictionary."""
    chance = random.Random(seed)
    together, one_by_one = IdIndex(), OneByOne()
    reads = [FirstColumn(together), FirstColumn(one_by_one)]
    for first in (True, True, True, False, False, False, False, False):
        texts = KINDS[chance.choice(list(KINDS))]
        entries = pa.array(chance.choices(texts, k=chance.randint(1, 6)), pa.string())
        rows = pa.array(chance.choices(range(len(entries)), k=9), pa.int32())
        column = pa.DictionaryArray.from_arrays(rows, entries)
        if first:
            codes, expected = (read.codes(column).tolist() for read in reads)
        else:
            grow = chance.random() < 0.7
            codes, expected = (index.codes(column, grow).tolist() for index in (together, one_by_one))
        assert codes == expected
        assert [*together.ids()] == [*one_by_one.ids()]
        assert together.spellings_met == one_by_one.spellings_met


def stored(item: str) -> tuple[dict[str, pa.Table], Reference]:
    """Returns the tables of a run that shows an item of the truth, "a", and one that is not in it."""
    known = reference("a")
    hits, _ = match(run("user_id item_id rank", [("u", "a", 1), ("u", item, 2)]), known)
    return hits_to_tables(hits), known


@pytest.mark.parametrize("item", ["b", "12"])
def test_ids_of_a_stored_run_are_those_of_its_lists(item: str) -> None:
    tables, known = stored(item)
    exposure = hits_from_tables(tables, known.truth).exposure
    assert exposure is not None
    ids = exposure.items
    assert (len(ids), list(ids), ids[1], ids[-1], ids[1:]) == (
        2,
        ["a", str(item)],
        *[str(item)] * 2,
        [str(item)],
    )
    assert isinstance(ids, ColumnTexts)
    assert ids.to_arrow().to_pylist() == list(ids)


def test_metrics_of_a_stored_run_convert_none_of_its_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    converted: list[object] = []
    monkeypatch.setattr(ColumnTexts, "__iter__", lambda ids: converted.append(ids) or iter(()))
    monkeypatch.setattr(ColumnTexts, "__getitem__", lambda _, place: converted.append(place) or "")
    tables, known = stored("b")
    inputs = metric_inputs_of(hits_from_tables(tables, known.truth), known, "truth")
    assert inputs.sample is not None
    assert inputs.catalogue is not None
    assert (inputs.sample.rank.tolist(), inputs.catalogue.n_items, converted) == ([1], 2, [])
