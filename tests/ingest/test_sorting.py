"""Which table a file is: by names, by values, and by the ids that files share."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Mapping
from pathlib import Path

import bookshop
import pytest

from recdash.domain.kinds import TableKind
from recdash.ingest import Limits, look
from recdash.ingest.sorting import PAIRS, Context, SortedFile, sort_files

KINDS = {
    "orders_2025.csv": "train",
    "orders_2026.csv": "truth",
    "books.csv": "catalogue",
    "popular.csv": "run",
    "als.csv": "run",
    "ease.csv": "run",
}


def sort(
    files: Mapping[str, bytes | str], chosen: Mapping[int, TableKind] | None = None
) -> dict[str, SortedFile]:
    looks = [
        look(data.encode() if isinstance(data, str) else data, name=name) for name, data in files.items()
    ]
    return dict(zip(files, sort_files(looks, Context(chosen or {})), strict=True))


def alone(text: str, name: str = "file.csv") -> SortedFile:
    return sort({name: text})[name]


@pytest.mark.parametrize("names", [bookshop.KNOWN, bookshop.UNKNOWN])
def test_a_bookshops_files_are_told_apart(names: bookshop.Names) -> None:
    taken = sort(bookshop.files(names))
    assert {name: found.kind for name, found in taken.items()} == KINDS
    assert all(found.confidence != "unsure" and found.reasons for found in taken.values())


def test_columns_of_unknown_names_are_told_by_their_values() -> None:
    taken = sort(bookshop.files(bookshop.UNKNOWN))
    assert taken["als.csv"].mapping == {"user_id": "zakaznik", "item_id": "polozka", "rank": "folge"}
    assert taken["orders_2026.csv"].mapping == {"user_id": "zakaznik", "item_id": "polozka"}
    # beside a title, the books are known by the ids that the other files have too
    assert taken["books.csv"].mapping == {"item_id": "polozka"}
    assert sort(bookshop.files())["als.csv"].mapping == {}


@pytest.mark.parametrize("names", [("als", "ease"), ("seed_1", "seed_2"), ("1", "2")])
@pytest.mark.parametrize("lists", [{"u1": ["a", "b"], "u2": ["c"]}, {"u1": {"a": 0.5}, "u2": {"b": 0.1}}])
def test_a_dictionary_of_models_is_a_run(names: tuple[str, ...], lists: dict[str, object]) -> None:
    taken = alone(json.dumps(dict.fromkeys(names, lists)), "lists.json")
    assert (taken.kind, taken.confidence, taken.reasons) == (
        "run",
        "sure",
        ("It has the lists of several models.",),
    )


def test_ids_of_other_files_tell_columns_in_any_order() -> None:
    rows = "".join(f"B{n % 7},x,U{n % 5}\n" for n in range(35))
    truth = "user_id,item_id\n" + "".join(f"U{n % 5},B{n % 7}\n" for n in range(35))
    taken = sort({"truth.csv": truth, "other.csv": f"first,second,third\n{rows}"})
    assert taken["other.csv"].mapping == {"user_id": "third", "item_id": "first"}


def swapped(data: bytes) -> bytes:
    """The same rows under the names of users and items exchanged."""
    head, _, rows = data.partition(b"\n")
    user, item, *others = head.split(b",")
    return b",".join([item, user, *others]) + b"\n" + rows


def test_what_most_files_or_the_catalogue_contradict_is_swapped() -> None:
    files = bookshop.files()
    right = {"user_id": "isbn", "item_id": "customer"}
    wrong = {name: swapped(data) if name.startswith("orders") else data for name, data in files.items()}
    taken = sort(wrong)
    assert taken["orders_2025.csv"].mapping == taken["orders_2026.csv"].mapping == right
    assert taken["als.csv"].mapping == {}
    one_run = {name: files[name] for name in ("orders_2026.csv", "books.csv")}
    taken = sort({**one_run, "als.csv": swapped(files["als.csv"])})
    assert (taken["als.csv"].mapping, taken["orders_2026.csv"].mapping) == (right, {})


def test_one_file_against_another_is_not_swapped_by_itself() -> None:
    files = bookshop.files()
    taken = sort({"orders_2026.csv": files["orders_2026.csv"], "als.csv": swapped(files["als.csv"])})
    assert [found.mapping for found in taken.values()] == [{}, {}]


def test_users_of_other_files_tell_the_table_of_their_attributes() -> None:
    files = bookshop.files(bookshop.UNKNOWN)
    people = bookshop.csv(("nr", "alter", "ort"), [(user, 20, "Ulm") for user in bookshop.USERS])
    found = sort({**files, "kunden.csv": people})["kunden.csv"]
    assert (found.kind, dict(found.mapping)) == ("users", {"user_id": "nr"})
    tested = bookshop.csv(
        ("nr", "gruppe", "umsatz"), [(u, "ab"[n % 2], n) for n, u in enumerate(bookshop.USERS)]
    )
    found = sort({**files, "test.csv": tested})["test.csv"]
    assert (found.kind, dict(found.mapping)) == (
        "sessions",
        {"unit_id": "nr", "variant": "gruppe"},
    )


def pairs(n_users: int, each: int, head: str = "user_id,item_id") -> str:
    """Interactions of users who have ``each`` or one more."""
    rows = (f"u{u},i{(u + n) % 50}" for u in range(n_users) for n in range(each + u % 2))
    return "\n".join([head, *rows]) + "\n"


def test_of_two_files_of_interactions_the_larger_is_the_training_data() -> None:
    taken = sort({"a.csv": pairs(9, 8), "b.csv": pairs(9, 2)})
    assert [taken[name].kind for name in ("a.csv", "b.csv")] == ["train", "truth"]
    assert taken["a.csv"].confidence == "likely"


def test_files_of_interactions_of_one_size_must_be_chosen() -> None:
    taken = sort({"a.csv": pairs(9, 3), "b.csv": pairs(9, 3)})
    assert {found.confidence for found in taken.values()} == {"unsure"}
    chosen = sort({"a.csv": pairs(9, 3), "b.csv": pairs(9, 3)}, {0: "truth"})
    assert (chosen["b.csv"].kind, chosen["b.csv"].confidence) == ("train", "likely")


def test_names_of_files_decide_between_interactions() -> None:
    taken = sort({"test.csv": pairs(9, 8), "train.csv": pairs(9, 2)})
    assert {name: found.kind for name, found in taken.items()} == {"test.csv": "truth", "train.csv": "train"}
    assert {found.confidence for found in taken.values()} == {"sure"}


def test_lists_in_file_order_have_one_length() -> None:
    lists = "user,item\n" + "".join(f"u{n // 10},i{n % 13}\n" for n in range(120))
    taken = sort({"truth.csv": pairs(9, 2), "mine.csv": lists})
    assert (taken["mine.csv"].kind, taken["mine.csv"].confidence) == ("run", "likely")


def test_a_user_with_grades_is_no_list_and_with_falling_scores_it_is() -> None:
    grades = "user,item,score\n" + "".join(f"u{n // 3},i{n},{1 + n * 7 % 5}\n" for n in range(31))
    assert alone(grades).kind == "truth"
    falling = "u,i,x\n" + "".join(f"u{n // 20},i{n},{9 - n % 20 / 7:.3f}\n" for n in range(100))
    assert alone(falling).kind == "run"
    assert alone(falling).mapping == {"score": "x"}


@pytest.mark.parametrize("ranks", [("1st", "2nd", "3rd"), ("#1", "#2", "#3"), ("1", "2", "3")])
def test_ranks_may_be_written_in_words(ranks: tuple[str, ...]) -> None:
    rows = [f"u{n},i{n + place},{rank}\n" for n in range(5) for place, rank in enumerate(ranks)]
    assert alone("user_id,item_id,rank\n" + "".join(rows)).kind == "run"


def test_ratings_that_happen_to_count_up_are_no_ranks() -> None:
    text = "user_id,item_id,{}\n" + "".join(f"u{n // 5},i{n},{1 + n % 5}\n" for n in range(40))
    assert (alone(text.format("rating")).kind, alone(text.format("folge")).kind) == ("truth", "run")


def ranked(order: str, first: int = 1) -> list[tuple[str, str, int]]:
    """The lists of twenty users, of one to five items, in file order, by item, by position or shuffled."""
    chance = random.Random(1)
    rows = [
        (f"U{user}", f"B{item}", place)
        for user in range(20)
        for place, item in enumerate(chance.sample(range(30), 1 + user % 5), start=first)
    ]
    keys = {"item": lambda row: row[1], "position": lambda row: row[2], "any": lambda _: chance.random()}
    return sorted(rows, key=keys[order]) if order in keys else rows


@pytest.mark.parametrize("names", list(itertools.permutations(("Zakaznik", "Polozka", "Poradi"))))
@pytest.mark.parametrize(("order", "first"), [("file", 1), ("item", 1), ("position", 0), ("any", 1)])
def test_a_column_that_numbers_the_rows_of_another_tells_users_items_and_ranks(
    names: tuple[str, ...], order: str, first: int
) -> None:
    place = {"Zakaznik": 0, "Polozka": 1, "Poradi": 2}
    rows = [[row[place[name]] for name in names] for row in ranked(order, first)]
    found = alone(bookshop.csv(names, rows).decode())
    assert (found.kind, found.confidence) == ("run", "likely")
    assert found.mapping == {"user_id": "Zakaznik", "item_id": "Polozka", "rank": "Poradi"}


def test_beside_users_of_a_known_name_the_column_of_positions_is_not_the_items() -> None:
    rows = [(place, user, item) for user, item, place in ranked("any")]
    found = alone(bookshop.csv(("Poradi", "user_id", "Polozka"), rows).decode())
    assert (found.kind, dict(found.mapping)) == ("run", {"item_id": "Polozka", "rank": "Poradi"})


def test_numbers_that_fall_to_one_along_each_list_are_scores() -> None:
    rows = [(f"U{user}", f"B{(user + n) % 7}", 5 - n) for user in range(8) for n in range(5)]
    found = alone(bookshop.csv(("Zakaznik", "Polozka", "Wert"), rows).decode())
    assert (found.kind, found.mapping.get("score")) == ("run", "Wert")


def test_numbers_that_repeat_in_the_lists_of_users_are_no_positions() -> None:
    rows = [(f"U{user}", f"B{(user + n) % 7}", 1 + (user + n) % 3) for user in range(8) for n in range(5)]
    assert alone(bookshop.csv(("Zakaznik", "Polozka", "Menge"), rows).decode()).kind == "truth"


def test_positions_of_items_in_their_category_leave_a_catalogue_one() -> None:
    rows = [(f"B{n}", f"genre {n % 4}", 1 + n // 4) for n in range(40)]
    assert alone(bookshop.csv(("item_id", "Regal", "Poradi"), rows).decode()).kind == "catalogue"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("customer,variant,revenue\nc1,a,1.5\nc2,b,2.5\nc3,a,0\n", "sessions"),
        ("visitor,ab,orders\nv1,control,1\nv2,treatment,0\nv3,control,2\n", "sessions"),
        ("user_id,variant,ts\nu1,a,2026-01-01\nu2,b,2026-01-02\nu3,a,2026-01-02\n", "exposures"),
        ("user_id,session_id,ts,event,item_id\nu1,s1,2026-01-01,click,i1\n", "events"),
        ("session_id,ts,event,item_id\ns1,2026-01-01,click,i1\n", "events"),  # its units are missing
        ("variant,metric,n,mean,variance\na,clicks,10,1,2\nb,clicks,10,2,2\n", "aggregates"),
        ("variant,users,orders,revenue\ncontrol,10,1,20.5\nnew,10,2,30.5\n", "aggregates"),
        ("request_id,user_id,ts,variant,rank,item_id\nr1,u1,1,a,1,i1\nr1,u1,1,a,2,i2\n", "served"),
        ("item_id,position,click,propensity_score\ni1,1,0,0.2\ni2,2,1,0.3\n", "bandit"),
        ("user_id,age,country\nu1,20,de\nu2,30,fr\n", "users"),
        ("sku,title,price\ns1,One,2\ns2,Two,3\n", "catalogue"),
        ("item_a,item_b,similarity\ni1,i2,0.5\n", "similarity"),
        ("user,item,rating,prediction\nu1,i1,4,3.5\n", "predictions"),
        ("user_id,rec_1,rec_2,rec_3\nu1,a,b,c\nu2,c,b,a\n", "run"),
        ('user_id,recommendations\nu1,"[1, 2, 3]"\nu2,"[3, 2, 1]"\n', "run"),
    ],
)
def test_a_file_is_told_by_its_columns(text: str, kind: TableKind) -> None:
    found = alone(text)
    assert (found.kind, found.confidence == "unsure") == (kind, False)


def test_what_fits_nothing_must_be_chosen() -> None:
    found = alone("colour,size\nred,1\nblue,2\n")
    assert (found.kind, found.confidence) == (None, "unsure")


def test_users_with_a_group_are_a_test_alone_and_must_be_chosen_beside_lists() -> None:
    users = "user_id,group,spent\nu1,x,20\nu2,y,30\n"
    taken = alone(users)
    assert (taken.kind, taken.confidence) == ("sessions", "likely")
    assert taken.alternatives == ("users", "exposures")
    lists = "user_id,item_id,rank\nu1,a,1\nu1,b,2\nu2,a,1\nu2,b,2\n"
    assert sort({"users.csv": users, "als.csv": lists})["users.csv"].confidence == "unsure"
    (beside_a_test_set,) = sort_files([look(users.encode(), name="users.csv")], Context(has_truth=True))
    assert beside_a_test_set.confidence == "unsure"


def test_a_group_beside_results_alone_is_a_test_even_beside_lists() -> None:
    first_rows = look(b"visitor;group;orders;revenue\nV0;bestseller;0;0,0\nV1;factor;1;22,43\n", name="t.csv")
    (taken,) = sort_files([first_rows], Context(has_truth=True))
    assert (taken.kind, taken.confidence) == ("sessions", "likely")
    of_users = b"user_id;group;orders;country\nu1;x;2;de\nu2;y;3;at\n"
    (unsure,) = sort_files([look(of_users, name="users.csv")], Context(has_truth=True))
    assert unsure.confidence == "unsure"


# What no first row tells: a table that cannot be read, or that lacks the column that would tell.
UNTOLD = {"run_missing_user_column.csv", "run_duplicate_column_name.csv", "cols_uid_sid.csv"}


def test_the_dirty_uploads_are_told_by_themselves(shared_data: Path) -> None:
    folder = shared_data / "dirty"
    for case in json.loads((folder / "manifest.json").read_text())["cases"]:
        first_rows = look(folder / case["file"], limits=Limits())
        (found,) = sort_files([first_rows])
        if case["file"] in UNTOLD or first_rows.problems:
            assert found.confidence == "unsure", case["file"]
        elif case["file"] != "train_leaks_truth.csv":  # its name says both
            assert (found.kind, found.confidence == "unsure") == (case["kind"], False), case["file"]


def test_a_separate_process_sees_the_same_rows() -> None:
    data = bookshop.files()["als.csv"]
    here = look(data, name="als.csv")
    there = look(data, name="als.csv", limits=Limits(read_seconds=60))
    assert here == there


def test_a_shops_test_with_customer_numbers_is_told() -> None:
    table = "cust_no,variant,orders\n" + "".join(
        f"{row},{'old' if row % 2 else 'new'},0\n" for row in range(40)
    )
    assert alone(table).kind == "sessions"


def test_variants_without_users_are_offered_as_an_ab_test() -> None:
    table = "zzz,variant,orders\n" + "".join(f"{row},{'old' if row % 2 else 'new'},0\n" for row in range(40))
    sorted_file = alone(table)
    assert sorted_file.kind is None
    assert sorted_file.alternatives == ("sessions", "exposures", "users")
    assert sorted_file.reasons == (
        "'variant' may hold the variants of an A/B test, but no column looks like users.",
    )


@pytest.mark.parametrize(("users", "kind"), [("", "sessions"), ("p{},", None)])
def test_ids_of_rows_beside_variants_are_users_unless_another_column_may_be(
    users: str, kind: str | None
) -> None:
    head = "zzz,xxx,arm,orders" if users else "zzz,arm,orders"
    rows = (
        f"q{row * 7 % 40}x,{users.format(row // 2)}{'control' if row % 2 else 'new'},{row % 3}\n"
        for row in range(40)
    )
    sorted_file = alone(head + "\n" + "".join(rows))
    assert sorted_file.mapping.get("unit_id") != "xxx"
    assert (sorted_file.kind if sorted_file.mapping.get("unit_id") == "zzz" else None) == kind


def receipts(who: str, of_control: int = 2, n_each: int = 20) -> str:
    """Returns a test with a row per receipt, in random order; ``who`` writes the customer of a receipt."""
    draw = random.Random(5)
    rows = [
        f"{who.format(n)},{'new' if n % of_control else 'control'},{draw.randint(0, 5)}"
        for n in range(200)
        for _ in range(n_each)
    ]
    draw.shuffle(rows)
    numbers = draw.sample(range(10**6), len(rows))
    return "receipt,who,variant,orders\n" + "".join(
        f"{number},{row}\n" for number, row in zip(numbers, rows, strict=True)
    )


@pytest.mark.parametrize("who", ["w{}", "{}", "w{}@example.org"])
@pytest.mark.parametrize(("of_control", "n_each"), [(2, 20), (10, 20), (2, 100)])
def test_receipts_are_no_units_beside_customers_of_one_variant_each(
    who: str, of_control: int, n_each: int
) -> None:
    sorted_file = alone(receipts(who, of_control, n_each))
    assert (sorted_file.kind, dict(sorted_file.mapping)) == (None, {})
    assert sorted_file.reasons == (
        "'variant' may hold the variants of an A/B test, and 'receipt' or 'who' may hold its users.",
    )


def test_receipts_are_no_units_beside_customers_some_of_whom_are_unknown() -> None:
    head, *rows = receipts("w{}").splitlines()
    parted = [row.split(",") for row in rows]
    for n, row in enumerate(parted):
        row[1] = "" if n % 5 == 0 else "guest" if n % 5 == 1 else row[1]
    table = "\n".join([head, *map(",".join, parted), ""])
    assert alone(table).mapping.get("unit_id") is None


def test_rows_of_units_beside_values_of_several_variants_are_units() -> None:
    draw = random.Random(7)
    table = "who,variant,city,orders,price\n" + "".join(
        f"w{n},{draw.choice(['control', 'new'])},c{draw.randint(1, 30)},{draw.randint(0, 5)},9.5\n"
        for n in range(4000)
    )
    assert alone(table).mapping == {"unit_id": "who"}


@pytest.mark.parametrize("day", ["2026-09-{:02d} 12:33", "{}.09.2026 12:33", "{:02d}.09.2026 12:33:05"])
def test_dates_with_times_are_no_lists(day: str) -> None:
    rows = "".join(f"1{n % 9:04d};97834{n % 7}0;{1 + n % 2};{day.format(1 + n % 28)}\n" for n in range(60))
    orders = f"customer;isbn;qty;ordered_at\n{rows}"
    lists = "".join(f"1{n:04d},97834{k}0,{k + 1}\n" for n in range(9) for k in range(5))
    taken = sort({"orders_test.csv": orders, "recs_als.csv": f"customer,isbn,position\n{lists}"})
    assert taken["orders_test.csv"].kind == "truth"
    assert not any("list per row" in reason for reason in taken["orders_test.csv"].reasons)


def test_ids_of_the_experiment_tell_the_columns_of_a_file_that_is_added_to_it() -> None:
    rows = "".join(f"B{n % 7},{n % 3},U{n % 5}\n" for n in range(35))
    first_rows = look(f"first,second,third\n{rows}".encode(), name="more.csv")
    users, items = frozenset(f"U{n}" for n in range(5)), frozenset(f"B{n}" for n in range(7))
    (taken,) = sort_files([first_rows], Context(is_set_up=True, users=users, items=items))
    assert (taken.mapping["user_id"], taken.mapping["item_id"]) == ("third", "first")


def test_users_and_items_without_rank_beside_an_experiment_are_asked_about() -> None:
    """Its training data cannot be added any more, so they are lists or of no use."""
    pairs = "user_id,item_id\n" + "".join(f"U{n},B{m}\n" for n in range(9) for m in range(n + 1))
    first_rows = look(pairs.encode(), name="more.csv")
    (taken,) = sort_files([first_rows], Context(is_set_up=True))
    assert (taken.kind, taken.confidence) == ("run", "unsure")
    (beside_a_test_set,) = sort_files([first_rows], Context(has_truth=True))
    assert (beside_a_test_set.kind, beside_a_test_set.confidence) == ("train", "likely")


def music() -> dict[str, str]:
    """Returns files of unknown column names. The rows of als.csv are shuffled; the test has other users."""
    draw = random.Random(3)
    pairs = [(f"h{user}", f"T{item}") for user in range(30) for item in draw.sample(range(100, 140), 12)]
    train = "".join(f"{user},{item},{draw.randint(1, 90)}\n" for user, item in pairs)
    test = "".join(f"{user},{item},{draw.randint(1, 90)}\n" for user, item in pairs[::3])
    scored = [
        f"{item};{user};{draw.random():.4f}\n".replace(".", ",") for user, item in pairs if user != "h3"
    ]
    draw.shuffle(scored)
    variants = "".join(
        f"x{n},{draw.choice(['als', 'sasrec'])},{draw.random():.2f},{draw.choice(['iOS', 'Web'])}\n"
        for n in range(200)
    )
    wide = "".join(f"h{user}," + ",".join(f"T{100 + n}" for n in range(5)) + "\n" for user in range(30))
    lists = "".join(
        json.dumps({"hoerer": f"h{user}", "titelliste": ["T101", "T102"]}) + "\n" for user in range(30)
    )
    return {
        "ab.csv": f"hoerer,welche,minuten,geraet\n{variants}",
        "als.csv": f"titel_nr;hoerer;guete\n{''.join(scored)}",
        "charts.csv": f"hoerer,{','.join(f'stelle_{n}' for n in range(1, 6))}\n{wide}",
        "katalog.csv": "titel_nr,gattung\n" + "".join(f"T{n},Pop\n" for n in range(100, 140)),
        "sasrec.jsonl": lists,
        "test.csv": f"hoerer,titel_nr,wiedergaben\n{test}",
        "train.csv": f"hoerer,titel_nr,wiedergaben\n{train}",
    }


def test_a_shuffled_file_misleads_no_other_and_variants_are_named_like_files() -> None:
    taken = sort(music())
    assert {name: (found.kind, found.confidence != "unsure") for name, found in taken.items()} == {
        "ab.csv": ("sessions", True),
        "als.csv": ("run", True),
        "charts.csv": ("run", True),
        "katalog.csv": ("catalogue", True),
        "sasrec.jsonl": ("run", True),
        "test.csv": ("truth", True),
        "train.csv": ("train", True),
    }
    assert taken["als.csv"].mapping == {"user_id": "hoerer", "item_id": "titel_nr"}
    assert taken["ab.csv"].mapping == {"unit_id": "hoerer", "variant": "welche"}
    assert "'hoerer' is named like the users of the other files." in taken["ab.csv"].reasons
    assert f"{PAIRS}, and its name is that of a variant of the A/B test." in taken["als.csv"].reasons


def without(files: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: data for name, data in files.items() if name not in names}


def test_a_file_with_the_name_of_a_variant_is_a_candidate() -> None:
    taken = sort(without(music(), "train.csv", "charts.csv", "katalog.csv"))
    assert (taken["als.csv"].kind, taken["als.csv"].confidence) == ("run", "likely")
    assert f"{PAIRS}, and its name is that of a variant of the A/B test." in taken["als.csv"].reasons
    assert taken["test.csv"].kind == "truth"


def test_a_file_with_the_columns_of_a_candidate_is_a_candidate() -> None:
    """Only bpr.csv is in the order of its scores."""
    files = without(music(), "train.csv", "ab.csv", "charts.csv", "katalog.csv", "sasrec.jsonl")
    head, *rows = files["als.csv"].splitlines()
    by_score = sorted(rows, key=lambda row: (row.split(";")[1], -float(row.split(";")[2].replace(",", "."))))
    files["bpr.csv"] = "\n".join([head, *by_score, ""])
    taken = sort(files)
    assert [taken[name].kind for name in ("bpr.csv", "als.csv", "test.csv")] == ["run", "run", "truth"]
    assert f"{PAIRS}, with the columns of bpr.csv, a candidate." in taken["als.csv"].reasons


def test_files_with_the_same_columns_which_no_test_set_has_are_candidates() -> None:
    files = without(music(), "train.csv", "ab.csv", "charts.csv", "katalog.csv", "sasrec.jsonl")
    taken = sort({**files, "bpr.csv": files["als.csv"]})
    assert [taken[name].kind for name in ("als.csv", "bpr.csv", "test.csv")] == ["run", "run", "truth"]
    assert f"{PAIRS}, and another file that is not the test set has the same columns." in (
        taken["als.csv"].reasons
    )


def test_a_single_file_with_other_columns_beside_a_test_set_is_training_data() -> None:
    files = without(music(), "train.csv", "ab.csv", "charts.csv", "katalog.csv", "sasrec.jsonl")
    assert sort(files)["als.csv"].kind == "train"


def test_the_users_of_a_test_may_have_any_name_of_users() -> None:
    rows = "".join(f"u{n},{'als' if n % 2 else 'control'},{n}\n" for n in range(12))
    found = alone(f"listener_id,variant,minutes\n{rows}")
    assert (found.kind, found.mapping) == ("sessions", {"unit_id": "listener_id"})


@pytest.mark.parametrize("values", ["grades", "times", "amounts"])
def test_a_third_file_of_interactions_beside_test_and_train_is_asked_about(values: str) -> None:
    draw = random.Random(2)
    written = {
        "grades": lambda: f"{draw.randint(1, 10) / 2}",
        "times": lambda: f"{1.7e9 + 1e6 * draw.random():.2f}",
        "amounts": lambda: f"{40 * draw.random():.2f}",
    }[values]

    def interactions(n_items: int) -> str:
        rows = [
            f"u{user},i{item},{written()}\n" for user in range(40) for item in draw.sample(range(60), n_items)
        ]
        draw.shuffle(rows)
        return "kunde,buch,wert\n" + "".join(rows)

    files = {"train.csv": interactions(12), "test.csv": interactions(4), "herbst.csv": interactions(4)}
    assert {name: found.confidence for name, found in sort(files).items()} == {
        "train.csv": "sure", "test.csv": "sure", "herbst.csv": "unsure",
    }  # fmt: skip


def test_a_file_of_several_candidates_beside_their_own_files_is_a_run() -> None:
    ranked = "".join(f"u{user},i{place},{place + 1}\n" for user in range(30) for place in range(5))
    both = "".join(
        f"u{user},{name},i{place},{1 / (1 + place + user)}\n"
        for user in range(30)
        for name in ("als", "bpr")
        for place in range(5)
    )
    taken = sort(
        {
            "als.csv": f"user_id,item_id,rank\n{ranked}",
            "bpr.csv": f"user_id,item_id,rank\n{ranked}",
            "both.csv": f"user_id,welches,item_id,score\n{both}",
            "test.csv": "user_id,item_id\n" + "".join(f"u{user},i{user % 9}\n" for user in range(30)),
        }
    )
    assert (taken["both.csv"].kind, taken["both.csv"].confidence) == ("run", "sure")
