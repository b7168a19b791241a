"""``recdash digest``: plain words for a chat or a mail, in which nothing that somebody wrote is mark-up."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest
from app_pages import TRUTH, lists, store
from terminal import Recdash, answer

from recdash.cli.digest import period
from recdash.comparison.badges import BADGES
from recdash.errors import InputError
from recdash.report.digest.digest import Digest, DigestEntry
from recdash.report.digest.html import as_html
from recdash.report.digest.text import as_markdown, as_text, escaped
from recdash.service import Workspace
from recdash.service.catalog.history import HistoryEvent

FILES: dict[str, str] = {}
NOON = datetime(2026, 10, 9, 12, tzinfo=UTC)
HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "[free](http://evil.example/a)",
    "![](https://evil.example/p.png)",
    "@channel <!here> www.evil.example",
    "`code` **bold** _soft_ ~gone~ | cell",
)


@pytest.fixture
def space(folder: Path) -> Workspace:
    assert folder.is_dir()
    return Workspace.open()


@pytest.fixture
def films(space: Workspace) -> dict[str, str]:
    return store(space, {"poor": lists(9), "good": lists(2), "best": lists(1)})


# ── what it says ─────────────────────────────────────────────────────────────────────────────


def test_a_digest_says_whom_to_ship_what_was_decided_and_what_changed(
    space: Workspace, films: dict[str, str], run: Recdash
) -> None:
    space.decisions.decide(
        films["films"], "needs A/B", run_id=films["best"], text="Four weeks on the home row."
    )
    output = run("digest", "--format", "text").stdout
    assert "1 experiment: 1 Ship. 1 changed since" in output
    assert "films: ▲ Ship best" in output
    assert "Test set of 20 users; lists to depth 5" in output
    assert "best is 1.00 above poor in how well relevant items are ranked (nDCG@5)" in output
    assert "Better for 20 of 20 users, worse for 0.\n" in output
    assert "Decided: Needs A/B – best" in output
    assert "“Four weeks on the home row.”" in output
    assert "added three runs: poor, good and best" in output


def test_the_same_facts_are_there_for_programs(films: dict[str, str], run: Recdash) -> None:
    link = "https://recdash.example.org/"
    (result,) = answer(run("digest", "--format", "json", "--link", link))["experiments"]
    assert result["link"] == f"{link}?e={films['films']}"
    assert (result["name"], result["verdict"], result["headline"]) == ("films", "Ship", "Ship best")
    assert result["changes"][-1]["what"] == "created the experiment"


def test_the_experiments_named_are_told_in_that_order(
    space: Workspace, films: dict[str, str], run: Recdash
) -> None:
    assert films
    space.experiments.create("songs", TRUTH, depth=3)
    space.experiments.create("books", TRUTH, depth=2)
    options = ("--experiment", "songs", "--experiment", "films")
    result = answer(run("digest", "--format", "json", *options))
    assert [row["name"] for row in result["experiments"]] == ["songs", "films"]
    assert result["experiments"][0]["headline"] == "No run yet"


def test_an_unknown_name_is_refused_with_the_names_there_are(films: dict[str, str], run: Recdash) -> None:
    assert films
    refused = run("digest", "--experiment", "flims")
    assert refused.exit_code == 2
    assert "No experiment is called 'flims'. Experiments: 'films'." in refused.stderr


def test_without_an_experiment_it_says_so(run: Recdash) -> None:
    assert "There is no experiment yet." in run("digest").stdout


def test_the_demo_is_told_of_only_alone_or_by_name(space: Workspace, run: Recdash) -> None:
    demo = space.experiments.create("Demo", TRUTH, depth=2, demo=True)
    assert "Demo" in run("digest").stdout
    space.experiments.create("songs", TRUTH, depth=3)
    assert "Demo" not in run("digest").stdout
    assert "Demo" in run("digest", "--experiment", demo.name).stdout


def test_the_ending_of_the_file_names_the_form(films: dict[str, str], run: Recdash, folder: Path) -> None:
    assert films
    for ending, begin in {
        "html": "<!DOCTYPE html>",
        "json": "{",
        "md": "**Recommender",
        "txt": "Recommender",
    }.items():
        written = run("digest", "-o", f"digest.{ending}")
        assert written.exit_code == 0
        assert (folder / f"digest.{ending}").read_text().startswith(begin)
        assert written.stdout == ""


@pytest.mark.parametrize(("text", "hours"), [("24h", 24), ("7d", 7 * 24), ("2w", 14 * 24)])
def test_periods(text: str, hours: int) -> None:
    assert period(text).total_seconds() == hours * 3600


@pytest.mark.parametrize("text", ["", "0d", "7", "d", "-1d", "1y", "999999w"])
def test_no_other_period_is_read(text: str) -> None:
    with pytest.raises(InputError, match="Write 24h, 7d or 2w"):
        period(text)


@pytest.mark.parametrize(
    "link",
    ["javascript:alert(1)", "recdash.example.org", "http://", "https://a/?b=c", "https://a/) [x](b", "//a"],
)
def test_a_link_is_the_address_of_a_dashboard(run: Recdash, link: str) -> None:
    result = run("digest", "--link", link)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"recdash: --link: '{link}'. Write the dashboard's address")


def test_a_file_that_cannot_be_written_is_named_with_its_folder(run: Recdash) -> None:
    result = run("digest", "-o", "no/digest.md")
    assert result.exit_code == 2
    assert result.stderr.startswith("recdash: --output: 'no/digest.md' cannot be written (No such file or ")


# ── mark-up ──────────────────────────────────────────────────────────────────────────────────


def told(name: str = "films", **more: object) -> DigestEntry:
    event = HistoryEvent(NOON, f"added the run {name}", name)
    base = DigestEntry(
        name,
        "?e=1",
        f"What {name} took",
        f"Ship {name}",
        BADGES["ship"],
        (f"{name} is 1 % above",),
        (f"Decided: “{name}”",),
        (event,),
        0,
        event,
    )
    return replace(base, **more)


def a_digest(*several: DigestEntry, link: str = "https://recdash.example.org/") -> Digest:
    return Digest(NOON, NOON, several, link)


class Tags(HTMLParser):
    """Elements with their attributes, and whether each that was opened was closed."""

    EMPTY = ("meta", "br")

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", HOSTILE)
def test_a_mail_holds_no_tag_but_ours_and_asks_nobody_for_anything(name: str) -> None:
    page = as_html(a_digest(told(name)))
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    plain = Tags()
    plain.feed(as_html(a_digest(told())))
    assert [tag for tag, _ in tags.found] == [tag for tag, _ in plain.found]
    addresses = [
        value for _, options in tags.found for key, value in options.items() if key in ("href", "src")
    ]
    assert addresses == ["https://recdash.example.org/?e=1"]
    assert "url(" not in page
    assert "@import" not in page


@pytest.mark.parametrize("name", HOSTILE)
def test_a_chat_makes_nothing_of_what_somebody_wrote(name: str) -> None:
    result = as_markdown(a_digest(told(name)))
    rest = result.replace("](https://recdash.example.org/?e=1)", "")
    for mark in ("<", "http://", "https://", "www.", "evil.example"):
        assert mark not in rest
    assert "@" not in rest.replace("\u2060@", "")
    assert "](" not in rest.replace("\\](", "")


def test_what_is_no_mark_up_stays_as_it_is() -> None:
    assert escaped("weighted_rating +1.5 % (n = 20), Two-tower #2: 41 of 100") == (
        "weighted_rating +1.5 % (n = 20), Two-tower #2: 41 of 100"
    )
    assert escaped("_soft_ *bold*") == r"\_soft\_ \*bold\*"


def test_text_is_on_lines_of_its_own_whatever_a_name_holds() -> None:
    assert "films\nShip" not in as_text(a_digest(told("films\nShip\u2028x")))


def test_a_digest_says_once_whose_days_it_means() -> None:
    result = a_digest(told())
    assert as_text(result).startswith(f"Recommender experiments, {NOON.day} {NOON:%b %Y} (days in UTC)\n")
    assert [form(result).count("UTC") for form in (as_text, as_markdown)] == [1, 1]


def test_a_mail_of_200_experiments_is_not_cut_off() -> None:
    long = "A rather long name of a home row experiment, split of 2026-09-01, to eighty chars"
    several = [
        told(f"{long} {number}", words=("x" * 300,) * 3, decided=("y" * 300,)) for number in range(200)
    ]
    page = as_html(a_digest(*several))
    assert len(page.encode()) < 100_000
    assert page.count('class="rd-box"') == 20
    assert "and 140 more" in page


def test_quotes_are_cut_and_json_stays_json(space: Workspace, films: dict[str, str], run: Recdash) -> None:
    space.decisions.decide(films["films"], "ship", run_id=films["best"], text="because " * 100)
    (result,) = json.loads(run("digest", "--format", "json").stdout)["experiments"]
    assert result["decided"][0].endswith("…”")
    assert len(result["decided"][0]) < 400


def test_a_digest_ends_with_the_hash_of_the_audit_log() -> None:
    digest = Digest(NOON, NOON, (), head="ab" * 32)
    for text in (as_text(digest), as_markdown(digest), as_html(digest)):
        assert f"hash {'ab' * 32}." in text
    assert "audit log" not in as_text(replace(digest, head="")).lower()


def test_the_hash_in_a_digest_is_that_of_the_last_line(run: Recdash, space: Workspace) -> None:
    space.experiments.create("films", TRUTH, depth=2)
    facts = answer(run("digest", "--format", "json"))
    assert facts["audit_log"] == space.store.audit.last() != ""
