"""Sharing: every page's link is whole, saved views open, share links are shown once, wikis may frame it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pandas as pd
import pytest
from app_pages import (
    TRUTH,
    USERS,
    Open,
    forget,
    link,
    lists,
    markup,
    passed,
    press,
    said,
    shell,
    store,
    turn_to,
    warned,
)
from streamlit.testing.v1 import AppTest

from recdash.domain.access import Person
from recdash.service import Workspace
from recdash.settings import settings
from recdash.ui.app import current_user, links
from recdash.ui.components import widgets
from recdash.ui.sharing import popover
from recdash.ui.shell import iframe
from recdash.ui.shell.navigation import ADDRESSES, EVERYTHING

FRAME = {"e", "b", "c", "m", "k", "s", "th"}
PAGES = [page for pages in EVERYTHING.values() for page in pages]
WITHOUT_FRAME = ("experiments", "off_policy", "upload", "runs", "guide", "metric_library", "tokens")


@pytest.fixture
def films(workspace: Workspace) -> dict[str, str]:
    """Names → ids: the experiment, and the runs poor (no hit), good (rank 2), best (rank 1)."""
    return store(workspace, {"poor": lists(9), "good": lists(2), "best": lists(1)})


def of_address(address: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(address).query, keep_blank_values=True))


def shared(app: AppTest) -> dict[str, str]:
    """The parameters of the link that the popover shows."""
    (address,) = [code.value for code in app.code if "?e=" in code.value and not code.value.startswith("<")]
    return of_address(address)


def open_tab(app: AppTest, name: str) -> AppTest:
    app.session_state["share-part"] = name
    return passed(app.run())


# ── the link of every page ───────────────────────────────────────────────────────────────────


class Reads(dict[str, str]):
    """Parameters of a view that note which of them a page asks for."""

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__(given)
        self.asked: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AppTest, dict[str, str]]]:
    """The app over an experiment with everything that pages can show, and names → ids of what is in it."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("furnished")
        patch.setenv("RECDASH_DATABASE_URL", f"sqlite:///{folder / 'r.db'}")
        patch.setenv("RECDASH_ARTIFACTS", str(folder / "artifacts"))
        forget()
        ids = furnish(Workspace.open())
        yield passed(shell({"e": ids["films"]}).run()), ids
        forget()


def furnish(space: Workspace) -> dict[str, str]:
    items = sorted({*TRUTH["item_id"], "x1", "x2", "x3"})
    catalogue = pd.DataFrame(
        {"item_id": items, "genre": "drama", "year": [str(2000 + len(i)) for i in items]}
    )
    train = pd.DataFrame({"user_id": USERS[:10], "item_id": "x1"})
    runs = {"poor": lists(9), "good": lists(2), "best": lists(1)}
    ids = store(space, runs, truth=TRUTH.assign(relevance=[1, 4] * 10), train=train, catalogue=catalogue)
    space.experiments.archive(space.experiments.create("songs", TRUTH).id)
    rows = [
        (
            f"p{n}",
            f"s{n}",
            "AB"[n % 2],
            f"2026-03-{1 + n % 5:02}T10:00:00",
            n % 3,
            60 * (n % 5),
            "xy"[n % 3 // 2],
        )
        for n in range(200)
    ]
    columns = ["unit_id", "session_id", "variant", "start_ts", "clicks", "watch_s", "plan"]
    table = {"sessions": pd.DataFrame(rows, columns=columns)}
    linked = {"A": ids["poor"], "B": ids["best"]}
    test = space.online_tests.add(ids["films"], "March", table, control="A", links=linked)
    review = space.reviews.propose(ids["films"], ids["best"], text="It leads.")
    return {**ids, "March": test.id, "review": review.id}


OWN: Mapping[str, Mapping[str, str]] = {page: {} for page in PAGES} | {
    "experiments": {"find": "film", "sort": "name", "old": "show"},
    "leaderboard": {"q": "o", "cols": "all", "diff": "rel", "corr": "bh"},
    "metric_vs_k": {"ms": "recall", "show": "delta", "ci": "off"},
    "precision_recall": {"curve": "points", "avg": "micro"},
    "tradeoffs": {"x": "recall", "y": "precision", "runs": "chosen", "axes": "ndcg~recall"},
    "users": {"of": "good", "u": "u3"},
    "segments": {"by": "item:genre", "corr": "bh", "least": "2"},
    "items": {"item": "i1", "which": "never", "order": "title"},
    "catalogue": {"by": "year"},
    "definitions": {"r": "good", "p": "recbole", "ex": "run"},
    "ab_results": {
        "t": "March", "om": "session_watch_time", "corr": "bh", "over": "daily", "eff": "5", "seg": "plan",
        "bayes": "flat",
    },
    "offline_online": {"t": "March", "om": "session_watch_time"},
    "why": {"t": "March", "om": "session_watch_time", "v": "B"},
    "off_policy": {"target": "file"},
    "review": {"pr": "best", "rev": "review", "t": "March"},
    "guide": {"chapter": "rules", "metric": "ndcg", "back": "leaderboard"},
}  # fmt: skip
"""Page → its own parameters, each with a value that is not its default."""
IN_LONG_LISTS = {"leaderboard": {"p"}, "experiments": {"at"}}
"""Parameters that are there only where a list has several pages."""


def asked_of(furnished: tuple[AppTest, dict[str, str]], page: str) -> Reads:
    _, ids = furnished
    own = {name: ids.get(value, value) for name, value in OWN[page].items()}
    return Reads(
        {
            "e": ids["films"],
            "b": ids["poor"],
            "c": f"{ids['good']}~{ids['best']}",
            "m": "recall",
            "k": "2",
            **own,
        }
    )


@pytest.mark.parametrize("page", PAGES)
def test_every_choice_on_a_page_is_in_its_link(furnished: tuple[AppTest, dict[str, str]], page: str) -> None:
    app, asked = furnished[0], asked_of(furnished, page)
    given = dict(asked)
    app.query_params.clear()
    app.session_state["recdash.params"] = asked
    turn_to(app, page)
    assert not app.error
    told = link(app) if page in WITHOUT_FRAME else shared(app)
    own = {name: given[name] for name in OWN[page]}
    assert {name: told.get(name) for name in own} == own
    if page not in WITHOUT_FRAME:
        assert told == link(app)
        assert {name: told[name] for name in ("e", "b", "c", "m", "k")} == {
            name: given[name] for name in ("e", "b", "c", "m", "k")
        }
    # a parameter that a page asks for and that is not above would be missed by this test
    assert asked.asked - FRAME - IN_LONG_LISTS.get(page, set()) == set(OWN[page])


def test_what_a_page_chose_by_itself_is_in_the_link_too(films: dict[str, str], open_page: Open) -> None:
    app = open_page("users")
    assert shared(app)["of"] == films["best"]
    assert shared(app) == link(app)


# ── saved views ──────────────────────────────────────────────────────────────────────────────


def save(app: AppTest, name: str) -> AppTest:
    open_tab(app, "Saved views")
    app.text_input(key="view-name").set_value(name)
    return press(app, "Save this view")


@pytest.fixture
def saved(workspace: Workspace, films: dict[str, str]) -> dict[str, str]:
    """The leaderboard by recall at 1 with all columns, saved as weekly-check."""
    view = {"e": films["films"], "m": "recall", "k": "1", "cols": "all"}
    workspace.sharing.save_view(films["films"], "weekly-check", "leaderboard", view)
    return films


def test_a_view_is_saved_under_a_name_that_fits_an_address_and_no_other_view_has(
    workspace: Workspace, films: dict[str, str], open_page: Open
) -> None:
    app = save(open_page("leaderboard", e=films["films"], m="recall", k="1", cols="all"), "Weekly check")
    view = workspace.sharing.saved_view("weekly-check")
    assert (view.page, view.params["m"], view.params["cols"]) == ("leaderboard", "recall", "all")
    assert any(code.value.endswith("?view=weekly-check") for code in app.code)
    assert "Use up to 40 of a to z" in save(app, "Größe").error[0].value.replace("\\", "")
    other = save(turn_to(app, "overview"), "weekly-check")
    assert "already has the name 'weekly-check'" in other.error[0].value.replace("\\", "")


@pytest.mark.usefixtures("saved")
def test_the_short_link_opens_the_view_on_its_page(open_page: Open) -> None:
    app = open_page(view="weekly-check")
    assert "best is first on Recall@1" in said(app)
    assert link(app)["cols"] == "all"
    assert "view" not in link(app)


def test_a_saved_view_opens_from_the_list_and_can_be_forgotten(
    workspace: Workspace, saved: dict[str, str], open_page: Open
) -> None:
    app = open_tab(open_page(), "Saved views")
    assert "is first on" not in said(app)
    press(app, "Open")
    assert "best is first on Recall@1" in said(app)
    press(open_tab(app, "Saved views"), "Delete")
    assert workspace.sharing.saved_views(saved["films"]) == []


@pytest.mark.usefixtures("saved")
def test_a_view_of_another_experiment_is_not_in_the_list(workspace: Workspace, open_page: Open) -> None:
    other = workspace.experiments.create("songs", TRUTH, depth=3)
    workspace.runs.add(other.id, lists(1), name="als")
    app = open_tab(open_page(e=other.id), "Saved views")
    assert "No view of this experiment is saved yet." in [element.value for element in app.caption]


@pytest.mark.usefixtures("films")
def test_an_unknown_name_is_warned_of_and_the_usual_view_is_shown(open_page: Open) -> None:
    app = open_page(view="never-saved")
    assert 'Saved view "never-saved" isn\'t available here' in warned(app)
    assert "Ship best" in said(app)


def test_a_saved_page_that_the_reader_does_not_have_becomes_the_overview(
    workspace: Workspace, films: dict[str, str], open_page: Open
) -> None:
    workspace.sharing.save_view(films["films"], "of-a-page-gone", "segments-of-old", {"e": films["films"]})
    assert "Ship best" in said(open_page(view="of-a-page-gone"))


# ── share links ──────────────────────────────────────────────────────────────────────────────


def token_in(app: AppTest) -> str:
    (address,) = [code.value for code in app.code if "/s/" in f"/{code.value}"]
    return address.rpartition("s/")[2]


def test_a_share_link_is_shown_once_and_opens_this_experiment_only(
    workspace: Workspace, films: dict[str, str], open_page: Open
) -> None:
    app = open_tab(open_page(), "Share link")
    next(element for element in app.text_input if element.label == "Label").set_value("<b>steering</b>")
    press(app, "Create link")
    opened = workspace.sharing.shared(token_in(app))
    assert (opened.experiment, opened.report, opened.label) == (films["films"], None, "<b>steering</b>")
    assert "<b>steering" not in markup(app)
    press(app, "Done")
    assert not [code for code in app.code if "/s/" in f"/{code.value}"]
    assert len(workspace.sharing.links(films["films"])) == 1


@pytest.mark.parametrize(
    ("page", "params", "query", "opens"),
    [
        ("overview", {}, "", "Decision: Recommendation, nDCG@5"),
        ("overview", {"k": "2"}, "k=2", "Decision: Recommendation, nDCG@2"),
        (
            "leaderboard",
            {"k": "2", "m": "recall"},
            "page=leaderboard&m=recall&k=2",
            "Compare: Ranking, Recall@2",
        ),
    ],
)
def test_a_share_link_keeps_the_view_and_names_it(
    films: dict[str, str], open_page: Open, page: str, params: dict[str, str], query: str, opens: str
) -> None:
    app = open_tab(open_page(page, e=films["films"], **params), "Share link")
    written = " ".join(caption.value for caption in app.caption)
    captions = written.replace("\\", "").replace("\u2060", "")
    assert f"It opens what you see ({opens})." in captions
    press(app, "Create link")
    kept = dict(parse_qsl(token_in(app).partition("?")[2]))
    assert dict(parse_qsl(query)).items() <= kept.items()  # Compare also keeps its choices of columns


@pytest.mark.parametrize("is_limited", [False, True])
def test_a_link_of_numbers_only_holds_no_id_of_a_user(
    films: dict[str, str], open_page: Open, is_limited: bool
) -> None:
    app = open_tab(open_page("users", e=films["films"]), "Share link")
    if is_limited:
        next(box for box in app.checkbox if box.label == "Numbers only").check()
    press(app, "Create link")
    kept = dict(parse_qsl(token_in(app).partition("?")[2]))
    assert ("u" in kept) is not is_limited


def test_a_guest_reads_which_view_it_is_and_goes_back_to_the_rules(
    films: dict[str, str], open_page: Open, seen_as: Any
) -> None:
    seen_as(Person("guest of ann", "viewer", films["films"]))
    assert "View:" not in said(open_page(e=films["films"]))
    app = open_page(e=films["films"], k="2")
    assert re.search(r"View: nDCG@2 ?\. By the rules: nDCG@5", said(app))


def test_a_link_of_numbers_only_says_so_and_when_it_was_used(
    workspace: Workspace, films: dict[str, str], open_page: Open
) -> None:
    app = open_tab(open_page(), "Share link")
    next(box for box in app.checkbox if box.label == "Numbers only").check()
    press(app, "Create link")
    link = workspace.sharing.shared(token_in(app))
    assert (link.experiment, link.numbers_only) == (films["films"], True)
    assert "this experiment, numbers only" in said(app)
    assert "never used" in said(app)
    workspace.sharing.note_use(link, opened=True)
    press(app, "Done")
    assert re.search(r"used \d+ \w+ 20\d\d, opened 1×", said(app))


def test_the_use_of_a_page_that_stays_open_is_stored_once_an_hour(
    workspace: Workspace, films: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    link, times, uses = workspace.sharing.share(films["films"]).link, [workspace.now()], []
    clocked = Workspace(workspace.store, clock=lambda: times[-1])
    monkeypatch.setattr(current_user, "full_workspace", lambda: clocked)
    monkeypatch.setattr(current_user.st, "session_state", {})
    for minutes in (0, 59, 60):
        times.append(times[0] + timedelta(minutes=minutes))
        current_user.note_visit(link)
        uses.append(workspace.sharing.uses(films["films"])[link.id].last - times[0])
    assert uses == [timedelta(0), timedelta(0), timedelta(hours=1)]


def test_a_revoked_link_says_so_and_is_dead(
    workspace: Workspace, films: dict[str, str], open_page: Open
) -> None:
    made = workspace.sharing.share(films["films"], days=3, label="review")
    app = open_tab(open_page(), "Share link")
    assert re.search(r"review this experiment · .* · open until \d+ \w+ 20\d\d", said(app))
    press(app, "Revoke")
    assert re.search(r"revoked \d+ \w+ 20\d\d", said(app))
    assert workspace.sharing.link_state(workspace.store.share_links.get(made.link.id)) == "revoked"
    assert "Revoke" not in [button.label for button in app.button]


@pytest.fixture
def seen_as(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Whoever opens pages from here on."""
    return lambda person: monkeypatch.setattr(current_user, "person", lambda: person)


def test_a_fragment_draws_nothing_for_who_has_signed_out_meanwhile(
    monkeypatch: pytest.MonkeyPatch, seen_as: Any
) -> None:
    drawn: list[str] = []
    told: list[Exception] = []
    monkeypatch.setattr(widgets, "problems", told.append)
    draw = widgets.show_errors(drawn.append)
    seen_as(Person("vera", "viewer"))
    draw("numbers")
    seen_as(None)
    draw("more numbers")
    assert (drawn, [str(error) for error in told]) == (["numbers"], ["Sign in to read this."])


def test_a_viewer_opens_saved_views_and_changes_nothing(
    workspace: Workspace, films: dict[str, str], open_page: Open, seen_as: Any
) -> None:
    workspace.sharing.save_view(films["films"], "weekly", "leaderboard", {"e": films["films"]})
    seen_as(Person("vera", "viewer"))
    app = open_page()
    assert [tab.label for tab in app.tabs] == ["View link", "Saved views", "Embed"]
    labels = [button.label for button in open_tab(app, "Saved views").button]
    assert "Open" in labels
    assert not {"Save this view", "Delete", "Create link", "Revoke"} & set(labels)


def test_a_guest_has_no_other_experiment_to_choose(
    workspace: Workspace, films: dict[str, str], open_page: Open, seen_as: Any
) -> None:
    workspace.experiments.create("songs", TRUTH, depth=3)
    seen_as(Person("guest of ann", "viewer", films["films"]))
    app = open_page()
    assert [tab.label for tab in app.tabs] == ["View link", "Saved views"]
    assert "frame-experiment" not in [box.key for box in app.selectbox]
    assert "films" not in said(app)  # the line above the page names it
    assert "Ship best" in said(app)
    assert 'data-copied="Link copied. A reader needs your share link first."' in markup(app)


# ── inside other pages ───────────────────────────────────────────────────────────────────────


def test_the_snippet_frames_this_view_and_escapes_the_name(workspace: Workspace, open_page: Open) -> None:
    made = workspace.experiments.create('"><script>alert(1)</script>', TRUTH, depth=5)
    workspace.runs.add(made.id, lists(1), name="best")
    workspace.runs.add(made.id, lists(2), name="good")
    app = open_tab(open_page("leaderboard", cols="all"), "Embed")
    (snippet,) = [code.value for code in app.code if code.value.startswith("<iframe")]
    assert "cols=all" in snippet
    assert "&amp;embed=true" in snippet
    assert "<script" not in snippet
    assert 'title="recdash: &#34;&gt;&lt;script&gt;' in snippet


def test_the_snippet_says_what_must_be_set(
    films: dict[str, str], open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert films
    text = " ".join(element.value for element in open_tab(open_page(), "Embed").caption)
    assert "No site may show it yet: name the wiki in `RECDASH_EMBED_FROM`" in text
    monkeypatch.setenv("RECDASH_EMBED_FROM", "https://wiki.example.org")
    settings.cache_clear()
    text = " ".join(element.value for element in open_tab(open_page(), "Embed").caption)
    assert "Pages of `https://wiki.example.org` may show it." in text


def test_inside_another_page_a_line_takes_the_frames_place(
    films: dict[str, str], open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iframe, "is_on", lambda: True)
    app = open_page(k="2")
    assert "films nDCG@2 · against poor" in said(app)
    assert "Ship best" in said(app)
    assert app.get("link_button")[0].proto.url.startswith("?e=")
    assert films["best"] in app.get("link_button")[0].proto.url
    assert not app.tabs
    assert "frame-k" not in [box.key for box in app.get("button_group")]


# ── addresses ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("address", "page", "expected"),
    [
        ("http://recs.example.org/", "overview", "http://recs.example.org/"),
        ("http://recs.example.org/metric-vs-k", "metric-vs-k", "http://recs.example.org/"),
        ("https://example.org/recs/leaderboard", "leaderboard", "https://example.org/recs/"),
        ("https://example.org/recs", "overview", "https://example.org/recs/"),
    ],
)
def test_the_dashboards_own_address_is_known_from_any_page(
    monkeypatch: pytest.MonkeyPatch, address: str, page: str, expected: str
) -> None:
    monkeypatch.setattr(links, "_address", lambda: address)
    monkeypatch.setattr(links.state, "page", lambda: page)
    assert links.home() == expected


@pytest.mark.parametrize(
    ("address", "is_own"),
    [
        ("http://127.0.0.1:8501/?e=1", True),
        ("http://[::1]:8501/", True),
        ("https://recs.example.org/", False),
    ],
)
def test_whoever_copies_a_link_of_this_machine_is_told(address: str, *, is_own: bool) -> None:
    assert links.local_only_warning(address) == (
        " recdash runs locally, so it opens on this computer only." if is_own else ""
    )


def test_saved_views_may_be_of_any_page_there_is() -> None:
    assert set(OWN) == set(PAGES)
    assert popover.VIEW not in {name for own in OWN.values() for name in own}
    assert len(ADDRESSES) == len(PAGES)
