"""``recdash add`` with files that sort themselves."""

from __future__ import annotations

from pathlib import Path

import bookshop
import pytest
from terminal import Recdash, as_json

from recdash.cli.options import links_of
from recdash.errors import InputError
from recdash.service import Workspace

FILES = {name: data.decode() for name, data in bookshop.files().items()}
SHOP = list(FILES)


def test_files_are_sorted_and_stored(run: Recdash) -> None:
    added = run("add", "--experiment", "Shop", "--tag", "own", "--link", "a=als", *SHOP)
    assert added.exit_code == 0, added.stderr
    assert "books.csv: catalogue · item_id = 'isbn', title = 'title'" in added.stdout
    assert [line for line in added.stdout.splitlines() if line.endswith(": added")] == [
        "popular: added",
        "als: added",
        "ease: added",
    ]
    (experiment,) = as_json(run, "list")["experiments"]
    assert (experiment["name"], experiment["depth"]) == ("Shop", bookshop.LENGTH)
    assert [(one["name"], one["baseline"], one["tags"]) for one in experiment["runs"]] == [
        ("popular", True, ["own"]),
        ("als", False, ["own"]),
        ("ease", False, ["own"]),
    ]
    again = run("add", "--experiment", "Shop", *SHOP)
    assert again.stdout.count("already stored") == 3


def test_another_rule_than_that_of_the_stored_test_set_is_refused(run: Recdash) -> None:
    lists = ("popular.csv", "als.csv", "ease.csv")
    assert run("add", "--experiment", "Shop", "--users", "both", *SHOP).exit_code == 0
    assert run("add", "--experiment", "Shop", "--users", "both", *lists).exit_code == 0
    refused = run("add", "--experiment", "Shop", "--depth", "7", "--relevance-threshold", "4", *lists)
    assert refused.exit_code == 2
    assert f"depth: 7; experiment 'Shop' has {bookshop.LENGTH}." in refused.stderr
    assert "threshold: 4.0; experiment 'Shop' has none." in refused.stderr


def test_what_cannot_be_sorted_is_refused_whole(run: Recdash) -> None:
    Path("colours.csv").write_text("colour,size\nred,1\n")
    refused = run("add", "--experiment", "Shop", "colours.csv", *SHOP)
    assert refused.exit_code == 2
    assert "colours.csv" in refused.stderr
    assert as_json(run, "list")["experiments"] == []
    both = run("add", "--experiment", "Shop", "--truth", "orders_2026.csv", *SHOP)
    assert "--truth: given together with FILE arguments" in both.stderr
    unknown = run("add", "--experiment", "Shop", "--baseline", "popularr", *SHOP)
    assert "Did you mean 'popular'?" in unknown.stderr


def test_a_suggested_threshold_is_said(run: Recdash) -> None:
    rows = [
        (user, book, 1 + place) for user in bookshop.USERS for place, book in enumerate(bookshop.BOOKS[:5])
    ]
    Path("orders_2026.csv").write_bytes(bookshop.csv(("customer", "isbn", "rating"), rows))
    added = run("add", "--experiment", "Shop", *SHOP)
    # each of 40 users gave the grades 1 to 5: two of them count
    assert "rows with rating of 4 or more count as relevant: 80 of 200 rows, 40 of 40 users" in added.stderr
    assert "every row counts" not in added.stderr
    by_option = ("add", "--truth", "orders_2026.csv", "--run", "als=als.csv")
    told = "note: relevance: every row counts; the page Add data suggests from 4 up"
    assert told in run(*by_option, "--experiment", "All").stderr
    assert told not in run(*by_option, "--experiment", "Liked", "--relevance-threshold", "4").stderr
    assert told in run("evaluate", *by_option[1:]).stderr


def test_repairs_name_options_and_not_the_words_of_the_page(run: Recdash) -> None:
    Path("people.csv").write_text("user_id,group,country\nu1,x,de\nu2,y,at\n")
    refused = run("add", "--experiment", "Shop", "people.csv", *SHOP)
    assert refused.exit_code == 2
    repair = (
        "Say what each file is by an option instead of FILE arguments, this one by --sessions or "
        "--user-attributes; or leave it out."
    )
    assert repair in refused.stderr
    assert "'A/B test" not in refused.stderr
    alone = run("add", "--experiment", "Shop", "als.csv")
    assert "Add it (what users actually chose later), or name the file by --truth FILE." in alone.stderr


def test_one_option_refuses_files_with_several_notices(run: Recdash) -> None:
    refused = run("add", "--experiment", "Shop", "--refuse", "ties, columns-guessed", *SHOP)
    assert refused.exit_code == 2
    assert "Files with the notice 'columns-guessed' are refused, as you chose." in refused.stderr
    unknown = run("add", "--experiment", "Shop", "--refuse", "ties,tie", *SHOP)
    assert "No notice is called 'tie'" in unknown.stderr
    assert as_json(run, "list")["experiments"] == []


def test_variants_named_like_runs_are_linked_with_a_note(run: Recdash) -> None:
    rows = [f"u{n},{'als' if n % 2 else 'popular'},{n % 5}" for n in range(60)]
    Path("test.csv").write_text("\n".join(["customer,group,revenue", *rows, ""]))
    added = run("add", "--experiment", "Shop", *SHOP, "test.csv")
    assert added.exit_code == 0, added.stderr
    assert "note: variant 'als' served the run 'als', by its name. Choose with --link." in added.stderr
    workspace = Workspace.open()
    shop = workspace.experiments.named("Shop").id
    (test,) = workspace.online_tests.all(shop)
    names = {stored.id: stored.name for stored in workspace.runs.all(shop)}
    workspace.store.close()
    assert {variant: names[run_id] for variant, run_id in test.links.items()} == {
        "popular": "popular",
        "als": "als",
    }


def test_variants_and_runs_with_an_equals_sign_are_linked(run: Recdash) -> None:
    files = {("als k=9.csv" if name == "als.csv" else name): text for name, text in FILES.items()}
    for name, text in files.items():
        Path(name).write_text(text)
    rows = [f"u{n},{'k=9' if n % 2 else 'popular'},{n % 5}" for n in range(60)]
    Path("test.csv").write_text("\n".join(["customer,group,revenue", *rows, ""]))
    added = run("add", "--experiment", "Shop", "--link", "k=9=als k=9", *files, "test.csv")
    assert added.exit_code == 0, added.stderr
    workspace = Workspace.open()
    shop = workspace.experiments.named("Shop").id
    (test,) = workspace.online_tests.all(shop)
    (run_id,) = (candidate.id for candidate in workspace.runs.all(shop) if candidate.name == "als k=9")
    workspace.store.close()
    assert test.links == {"k=9": run_id}


@pytest.mark.parametrize(
    ("text", "runs", "link"),
    [
        ("new=als", ["als"], ("new", "als")),
        ("new=als k=9", ["als k=9"], ("new", "als k=9")),
        ("k=9=als", ["als"], ("k=9", "als")),
        ("k=9=9=als", ["als", "9=als"], ("k=9", "9=als")),
        ("k=9=alz", ["als"], ("k", "9=alz")),
        ("new", ["als"], ("new", "")),
    ],
)
def test_a_link_ends_with_the_longest_name_of_a_run(
    text: str, runs: list[str], link: tuple[str, str]
) -> None:
    assert links_of([text], runs) == dict([link])


def test_a_variant_has_one_run() -> None:
    with pytest.raises(InputError, match="'new' occurs twice"):
        links_of(["new=als", "new=ease"], ["als", "ease"])
