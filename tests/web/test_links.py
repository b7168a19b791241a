"""Share links over the web: a live one shows one experiment; of a thousand others none opens anything."""

from __future__ import annotations

import random
import string
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from app_pages import TRUTH, lists, store
from web_requests import Browser, browser_of

from recdash.service import Workspace


@pytest.fixture
def films(workspace: Workspace) -> dict[str, str]:
    """Two experiments; of the ids, films and books."""
    ids = store(workspace, {"als": lists(1), "popular": lists(2)})
    return {**ids, "books": workspace.experiments.create("books", TRUTH, depth=5).id}


@pytest.fixture
def browser(workspace: Workspace) -> Browser:
    return browser_of(workspace)


# ── a live link ──────────────────────────────────────────────────────────────────────────────


def test_a_link_leads_to_its_experiment_and_counts_from_then_on(
    workspace: Workspace, films: dict[str, str], browser: Browser
) -> None:
    assert browser.get("/").status == 403
    token = workspace.sharing.share(films["films"], days=2).token
    opened = browser.get(f"/s/{token}")
    assert (opened.status, opened.headers["location"]) == (303, f"../?e={films['films']}")
    assert browser.get("/").text == f"guest of {workspace.person.name} reads {films['films']}"


@pytest.mark.parametrize(("query", "address"), [("e=x&k=5&m=recall", "./?e=x&k=5&m=recall"), ("", "./")])
def test_the_first_page_opens_by_its_name_with_the_view_of_its_link(
    workspace: Workspace, films: dict[str, str], browser: Browser, query: str, address: str
) -> None:
    browser.get(f"/s/{workspace.sharing.share(films['films']).token}")
    opened = browser.get("/overview", query=query)
    assert (opened.status, opened.headers["location"]) == (303, address)


@pytest.mark.parametrize(
    ("asked", "page"),
    [
        ("k=5&m=recall", "?e={films}&k=5&m=recall"),
        ("page=leaderboard&k=5", "leaderboard?e={films}&k=5"),
        ("page=leaderboard&e=books", "leaderboard?e={films}"),
        ("page=//evil.example", "?e={films}"),
        ("page=..%2Fupload", "?e={films}"),
    ],
)
def test_a_link_opens_the_view_that_it_names_of_its_own_experiment_only(
    workspace: Workspace, films: dict[str, str], browser: Browser, asked: str, page: str
) -> None:
    token = workspace.sharing.share(films["films"]).token
    opened = browser.get(f"/s/{token}", query=asked)
    assert (opened.status, opened.headers["location"]) == (303, "../" + page.format(**films))


def test_no_script_and_no_other_site_gets_at_the_link(
    workspace: Workspace, films: dict[str, str], browser: Browser
) -> None:
    opened = browser.get(f"/s/{workspace.sharing.share(films['films'], days=2).token}")
    cookie = opened.cookies["recdash_share_8501"]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "lax", "/")
    assert 2 * 86400 - 60 < int(cookie["max-age"]) <= 2 * 86400
    assert opened.headers["cache-control"] == "no-store"


def test_over_https_the_link_stays_there(
    workspace: Workspace, films: dict[str, str], browser: Browser
) -> None:
    path = f"/s/{workspace.sharing.share(films['films']).token}"
    secure = [
        browser.get(path, scheme=scheme).cookies["recdash_share_8501"]["secure"]
        for scheme in ("http", "https")
    ]
    assert secure == ["", True]


def test_who_leaves_a_link_is_who_they_were(
    workspace: Workspace, films: dict[str, str], browser: Browser
) -> None:
    browser.get("/key/the-key")
    browser.get(f"/s/{workspace.sharing.share(films['films']).token}")
    assert "Leave this link</button>" in browser.get("/s/leave").text
    assert browser.get("/").text.startswith("guest of ")  # a link of another page takes nobody's away
    assert browser.get("/s/leave", method="POST").headers["location"] == "../"
    assert browser.get("/").text == "key holder reads None"


def test_a_revoked_link_is_dead_at_once_and_can_be_left(
    workspace: Workspace, films: dict[str, str], browser: Browser
) -> None:
    shared = workspace.sharing.share(films["films"])
    browser.get(f"/s/{shared.token}")
    workspace.sharing.revoke(shared.link.id)
    for path in ("/", "/media/x.csv", "/reports/x", f"/s/{shared.token}"):
        answer = browser.get(path)
        assert (answer.status, "revoked" in answer.text) == (410, True)
    browser.get("/s/leave", method="POST")
    assert browser.get("/").status == 403


def test_an_expired_link_is_dead(films: dict[str, str], workspace: Workspace, browser: Browser) -> None:
    token = workspace.sharing.share(films["films"], days=2).token
    browser.get(f"/s/{token}")
    workspace._context.now = lambda: datetime.now(UTC) + timedelta(days=2, seconds=1)
    for path in ("/", f"/s/{token}"):
        answer = browser.get(path)
        assert (answer.status, "expired" in answer.text) == (410, True)


def test_the_key_opens_the_house_and_another_does_not(browser: Browser) -> None:
    for wrong in ("the-ke", "the-key2", "x", "\x00", "thé"):
        assert browser.get(f"/key/{wrong}").status == 403
        assert browser.get("/").status == 403
    assert browser.get("/key/the-key").headers["location"] == "../"
    assert browser.get("/").text == "key holder reads None"


def test_where_there_is_no_key_none_opens(workspace: Workspace) -> None:
    assert browser_of(workspace, auth="oidc").get("/key/the-key").status == 403


# ── a thousand others ────────────────────────────────────────────────────────────────────────

LETTERS = string.ascii_letters + string.digits + "-_."


def tampered(token: str, other: str, rng: random.Random) -> str:
    """One change that whoever holds a link, or two, could make."""
    place = rng.randrange(len(token))
    bits = bytes([ord(token[place]) ^ (1 << rng.randrange(7))]).decode()
    return rng.choice(
        [
            f"{token[:place]}{bits}{token[place + 1 :]}",  # a bit
            f"{token[:place]}{rng.choice(LETTERS)}{token[place + 1 :]}",  # a letter
            token[:place],  # cut off
            token[place + 1 :],
            f"{token[:place]}{token[place + 1 :]}",  # one left out
            f"{token}{rng.choice(LETTERS)}",  # one more
            f"{rng.choice(LETTERS)}{token}",
            f"{token.partition('.')[0]}.{other.partition('.')[2]}",  # the signature of another
            f"{token[:place]}{other[place:]}",
            token.swapcase(),
            token[::-1],
            f"{token.partition('.')[0]}.",  # none
            "".join(rng.choices(LETTERS, k=len(token))),  # made up
        ]
    )


def with_another_secret(tmp_path: Path, films: str) -> list[str]:
    """Links of a store that knows the same experiment under another secret."""
    elsewhere = Workspace.open(f"sqlite:///{tmp_path}/elsewhere/recdash.db")
    made = elsewhere.experiments.create("films", TRUTH, depth=5).id
    assert made != films
    return [elsewhere.sharing.share(made).token for _ in range(50)]


def dead(workspace: Workspace, experiment: str) -> list[str]:
    revoked = [workspace.sharing.share(experiment) for _ in range(25)]
    for one in revoked:
        workspace.sharing.revoke(one.link.id)
    now = workspace._context.now
    workspace._context.now = lambda: now() - timedelta(days=3)
    expired = [workspace.sharing.share(experiment, days=2) for _ in range(25)]
    workspace._context.now = now
    return [one.token for one in (*revoked, *expired)]


@pytest.mark.parametrize("count", [300, pytest.param(1_000, marks=pytest.mark.long)])
def test_of_many_tampered_links_none_opens_anything(
    workspace: Workspace, films: dict[str, str], tmp_path: Path, count: int
) -> None:
    rng = random.Random(20261122)
    good = [workspace.sharing.share(films["films"]).token, workspace.sharing.share(films["books"]).token]
    made = [*with_another_secret(tmp_path, films["films"]), *dead(workspace, films["films"])]
    n_others = len(made)
    while len(made) < count:
        wrong = tampered(rng.choice(good), rng.choice(good), rng)
        made += [wrong] if wrong not in good else []
    stranger = browser_of(workspace)
    assert n_others < count / 2
    assert [token for token in made if opens(stranger, token)] == []
    assert [opens(stranger, token) for token in good] == [True, True]


def opens(stranger: Browser, token: str) -> bool:
    """Does the address lead on, or the cookie let anybody in?"""
    stranger.cookies.clear()
    by_address = stranger.get(f"/s/{token}").status
    stranger.cookies = {"recdash_share_8501": token}
    by_cookie = stranger.get("/leaderboard").status
    assert {by_address, by_cookie} <= {200, 303} or {by_address, by_cookie} <= {403, 404, 410}
    return by_cookie == 200
