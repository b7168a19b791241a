"""How a column is named: case, blanks, ranges, the minus, a role left out; and what orders a TREC run."""

from __future__ import annotations

import json
from typing import Any

import pytest

import recdash
from recdash import ingest
from recdash.domain.inputs import Recommendations
from recdash.errors import InputError, UploadError
from recdash.ingest import read_recommendations, read_upload

WIDE = b"uid,rec_1,rec_2,rec_3\n1,a,b,c\n2,d,e,f\n"


def items_of(run: Recommendations) -> list[str]:
    return [row["item_id"] for batch in run.batches() for row in batch.to_pylist()]


def refused(source: Any, **options: Any) -> str:
    with pytest.raises(UploadError) as refusal:
        read_recommendations(source, **options)
    return str(refusal.value)


def notice(run: Recommendations, code: str) -> str:
    return next(notice.found for notice in run.notices if notice.code == code)


def test_a_name_in_another_case_is_taken_only_where_one_column_is_called_so() -> None:
    two = b"Sku,sku,user_id\na,b,1\n"
    assert "no column is called 'SKU'; found: Sku, sku, user_id" in refused(two, mapping={"item_id": "SKU"})
    (run,) = read_recommendations(two, mapping={"item_id": "sku"})
    assert items_of(run) == ["b"]
    (run,) = read_recommendations(b"Thing,user_id\na,1\n", mapping={"item_id": " thing "})
    assert (items_of(run), run.mapping["item_id"]) == (["a"], "Thing")


@pytest.mark.parametrize(
    ("label", "expected"),
    [("rec_1..rec_3", ["a", "b", "c", "d", "e", "f"]), ("REC_1 .. Rec_2", ["a", "b", "d", "e"])],
)
def test_a_range_of_columns_may_be_a_part_of_the_list(label: str, expected: list[str]) -> None:
    (run,) = read_recommendations(WIDE, mapping={"item_id": label})
    assert items_of(run) == expected


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("rec_3..rec_1", "'rec_3' comes after 'rec_1'. Write the first position first: rec_1..rec_3"),
        ("rec_1..rec_9", "no column is called 'rec_9'; found: uid, rec_1, rec_2, rec_3"),
        ("rec_2..rec_2", "both ends are the same column"),
    ],
)
def test_a_wrong_range_is_told_by_its_ends(label: str, said: str) -> None:
    assert said in refused(WIDE, mapping={"item_id": label})


def test_what_a_person_chose_is_not_reported_back() -> None:
    rows = b"user_id,isbn,score,rank\n1,a,0.1,1\n1,b,0.2,2\n"
    (run,) = read_recommendations(rows, mapping={"score": "-score", "rank": ""})
    assert [(n.code, n.found) for n in run.notices] == [("columns-guessed", "read as item_id = 'isbn'")]
    (run,) = read_recommendations(rows, mapping={"score": "-score", "rank": "", "item_id": "isbn"})
    assert run.notices == []


def test_a_needed_role_that_is_left_out_is_refused_with_the_columns() -> None:
    said = refused(b"user_id,item_id\n1,a\n", mapping={"user_id": " "})
    assert "user_id is ignored" in said
    assert "one of the columns found: user_id, item_id" in said


def test_a_mapping_that_is_no_dict_is_a_clear_error() -> None:
    assert "list, not a dict" in refused(WIDE, mapping=["uid"])


@pytest.mark.parametrize("kind", ["truth", "train"])
def test_the_items_of_a_user_may_stand_in_columns_of_their_own(kind: Any) -> None:
    table = read_upload(kind, b"user_id,item_1,item_2\n1,a,b\n2,c,\n").table
    assert list(zip(*table.to_pydict().values(), strict=True)) == [("1", "a"), ("1", "b"), ("2", "c")]


def test_numbered_columns_of_another_name_are_no_items_of_a_truth() -> None:
    with pytest.raises(UploadError, match="no item column"):
        read_upload("truth", b"user_id,price_1,price_2\n1,3,4\n")


# ── TREC runs ────────────────────────────────────────────────────────────────────────────────

AGAINST = b"1 Q0 a 1 0.1 t\n1 Q0 b 2 0.8 t\n2 Q0 b 1 0.3 t\n2 Q0 c 2 0.6 t\n"
"""By rank a, b and b, c; by score the other way round."""


@pytest.mark.parametrize(("order", "expected"), [(None, 0.5), ("score", 0.5), ("rank", 1.0)])
def test_the_ranks_of_a_trec_run_order_it_where_that_is_said(order: Any, expected: float) -> None:
    evaluation = recdash.evaluate({"als": AGAINST}, {"1": ["a"], "2": ["b"]}, metrics="mrr@2", order=order)
    assert [row["value"] for row in evaluation.rows()] == [pytest.approx(expected)]


@pytest.mark.parametrize("options", [{"order": "rank"}, {"mapping": {"rank": "rank"}}])
def test_ranks_of_a_trec_run_may_count_from_zero(options: Any) -> None:
    rows = AGAINST.replace(b" 1 0", b" 0 0").replace(b" 2 0", b" 1 0")
    (run,) = read_recommendations(rows, **options)
    assert [row["rank"] for batch in run.batches() for row in batch.to_pylist()] == [1, 2, 1, 2]
    assert "trec" not in {notice.code for notice in run.notices}


# ── {model: {user: items}} ───────────────────────────────────────────────────────────────────

MODELS = {"als": {"1": ["a", "b"]}, "ease": {"1": ["b", "a"]}}


def test_a_dict_by_model_and_user_holds_candidates_in_python_as_in_json() -> None:
    for source in (MODELS, json.dumps(MODELS).encode()):
        evaluation = recdash.evaluate({"films": source}, {"1": ["a"]}, metrics="mrr@2")
        assert {row["run"]: row["value"] for row in evaluation.rows()} == {
            "films: als": 1.0,
            "films: ease": 0.5,
        }


@pytest.mark.parametrize("labels", [("seed_1", "seed_2"), ("1", "2")])
def test_a_dict_by_seed_and_user_holds_replicates_in_python_as_in_json(labels: tuple[str, str]) -> None:
    document = dict(zip(labels, MODELS.values(), strict=True))
    for source in (document, json.dumps(document).encode()):
        evaluation = recdash.evaluate({"films": source}, {"1": ["a"]}, metrics="mrr@2")
        assert {row["run"]: row["value"] for row in evaluation.rows()} == {"films": 0.75}


def test_sets_are_no_lists_of_recommendations() -> None:
    with pytest.raises(InputError, match="a set has no order"):
        recdash.evaluate({"als": {"1": {"a", "b"}}}, {"1": ["a"]}, metrics="mrr@2")


def test_scores_beside_places_are_said_to_be_left_out() -> None:
    (run,) = read_recommendations(b"user_id,rec_1,score_1,rec_2,score_2\n1,a,0.9,b,0.8\n")
    assert items_of(run) == ["a", "b"]
    assert "not read: score_1 … score_2" in notice(run, "columns-unread")


@pytest.mark.parametrize("name", ["Titel", "titre", "Título", "titolo", "Produktname", "nom", "nombre"])
def test_the_titles_of_a_catalogue_are_known_in_other_languages(name: str) -> None:
    preview = ingest.preview("catalogue", f"sku,{name},price\na,Dune,3\n".encode(), name="books.csv")
    assert preview.mapping == {"item_id": "sku", "title": name}


@pytest.mark.parametrize(
    "names",
    [
        ("utilisateur", "article", "rang", "note"),
        ("id_client", "produit", "Rang", "Note"),
        ("usuario", "artículo", "posición", "puntuación"),
        ("id_usuario", "producto", "posicion", "nota"),
        ("Benutzer", "Artikel", "Rang", "Punktzahl"),
        ("Kunden-Nr", "Produkt_ID", "Platz", "Bewertung"),
    ],
)
def test_names_in_french_spanish_and_german_are_known(names: tuple[str, ...]) -> None:
    user, item, rank, value = names
    (run,) = read_recommendations(f"{user},{item},{rank},{value}\nu1,i1,1,4.5\nu1,i2,2,4\n".encode())
    assert run.mapping == {"user_id": user, "item_id": item, "rank": rank, "score": value}
    if value not in ("puntuación", "Punktzahl"):
        truth = read_upload("truth", f"{user},{item},{value}\nu1,i1,4\nu2,i2,5\n".encode())
        assert truth.mapping == {"user_id": user, "item_id": item, "relevance": value}


@pytest.mark.parametrize(
    ("user", "item", "amount", "day"),
    [
        ("hoerer_id", "titel_id", "wiedergaben", "datum"),
        ("Kunden-Nr", "Artikel", "Menge", "Bestelldatum"),
        ("id_client", "produit", "Quantité", "date_achat"),
        ("usuario", "artículo", "cantidad", "fecha"),
    ],
)
def test_counts_and_dates_in_french_spanish_and_german_are_known(
    user: str, item: str, amount: str, day: str
) -> None:
    rows = "u1,i1,4,2026-09-10\nu2,i2,5,11.09.2026\n"
    chosen = {"user_id": user, "item_id": item}
    truth = read_upload("truth", f"{user},{item},{amount},{day}\n{rows}".encode(), mapping=chosen)
    assert truth.mapping == {**chosen, "relevance": amount, "timestamp": day}


def test_counts_and_dates_in_other_languages_need_such_values() -> None:
    text = "Kunde,Artikel,Menge,Datum\nu1,i1,200 g,gestern\nu2,i2,1 l,heute\n"
    truth = read_upload("truth", text.encode())
    assert truth.mapping == {"user_id": "Kunde", "item_id": "Artikel"}
    chosen = read_upload("truth", text.replace("200 g", "200").replace("1 l", "1").encode())
    assert chosen.mapping["relevance"] == "Menge"


def test_a_note_beside_english_names_is_a_remark() -> None:
    truth = read_upload("truth", b"user_id,item_id,note\nu1,i1,gift\nu2,i2,late\n")
    assert "relevance" not in truth.mapping
