"""The page Reports & decisions: what is decided, reviews and their checklist, forms for those who may."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from app_pages import Open, at_once, link, markup, opened, passed, press, said, warned
from decision_worlds import films, home_page
from streamlit.testing.v1 import AppTest

from recdash.decisions.snapshot import Difference, Guardrail
from recdash.domain.access import Person
from recdash.domain.records import OnlineTest
from recdash.service import Workspace, context
from recdash.service.context import login_name
from recdash.service.decisions.journal import MOST_AUTHOR
from recdash.ui.app import current_user
from recdash.ui.components.decision_links import excerpt
from recdash.ui.components.online_tests import SHARE
from recdash.ui.decisions.tiles import interval_of, online_value, tiles
from recdash.ui.decisions.wording import LONG, prose

open_page = at_once
Ids = dict[str, str]


@pytest.fixture
def ids(workspace: Workspace) -> Ids:
    return films(workspace)


@pytest.fixture
def test(workspace: Workspace, ids: Ids) -> OnlineTest:
    return home_page(workspace, ids)


@pytest.fixture
def shown(open_page: Open) -> Open:
    return partial(open_page, "review")


@pytest.fixture
def as_viewer(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From here on a viewer reads the pages."""
    return lambda: monkeypatch.setattr(current_user, "reader", lambda: Person("Vera", "viewer"))


def write(app: AppTest, label: str, text: str) -> AppTest:
    """Into the first box whose label begins so."""
    next(element for element in app.text_area if element.label.startswith(label)).set_value(text)
    return app


def pick(app: AppTest, label: str, value: str) -> AppTest:
    next(element for element in app.selectbox if element.label == label).set_value(value)
    return app


# ── empty, and the first words ───────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("ids")
def test_an_empty_page_says_what_to_do_next(shown: Open) -> None:
    app = shown()
    assert "Nothing is decided yet Recommended: Ship als. Propose a candidate for a review" in said(app)
    assert {"Propose", "Decide"} <= {element.label for element in app.button}


def test_a_single_run_asks_for_a_second_and_can_be_decided(
    shown: Open, workspace: Workspace, ids: Ids
) -> None:
    workspace.runs.delete(ids["ease"], "ease")
    workspace.runs.delete(ids["popular"], "popular")
    app = shown()
    text, buttons = said(app), {element.label for element in app.button}
    assert "Add a second run to compare" in text
    assert "Recommended" not in text
    assert {"Upload a run", "Decide"} <= buttons
    assert "Propose" not in buttons
    assert "numbers as they stand now: nDCG@3 of als, as chosen above" in text
    assert "against als" not in text
    about = next(box for box in app.selectbox if box.label == "About")
    assert about.options == ["als"]
    assert not any("keep als" in option for radio in app.radio for option in radio.options)


@pytest.mark.usefixtures("ids")
def test_a_candidate_is_proposed_on_the_page(shown: Open, workspace: Workspace, ids: Ids) -> None:
    app = press(write(shown(pr=ids["ease"]), "Why this one?", "It is **cheap**."), "Propose")
    (review,) = workspace.journal.reviews(ids["films"])
    assert (review.about, review.entry.text, review.subject.where) == ("ease", "It is **cheap**.", "nDCG@3")
    assert "ease is under review" in said(app)
    assert "It is **cheap**." in said(app)
    assert link(app)["rev"] == review.id


def test_the_recommended_candidate_is_proposed_first_until_it_is_in_review(
    shown: Open, workspace: Workspace, ids: Ids
) -> None:
    """als hits at rank 1 and is recommended; ease is in review and is not."""
    workspace.reviews.propose(ids["films"], ids["ease"])
    app = shown()
    assert next(box for box in app.selectbox if box.label == "Candidate").value == ids["als"]
    text = said(app)
    assert text.index("Propose or decide") < text.index("1 open, 0 closed")
    workspace.reviews.propose(ids["films"], ids["als"])
    app = shown()
    assert "Propose or decide again" in [box.label for box in app.expander]
    text = said(opened(app, f"again-{ids['films']}-2"))
    assert text.index("2 open, 0 closed") < text.index("Propose or decide")


def test_the_whole_way_of_a_candidate_on_the_page(
    shown: Open, workspace: Workspace, ids: Ids, test: OnlineTest
) -> None:
    workspace.reviews.propose(ids["films"], ids["als"])
    app = press(shown(), "Attach offline evidence")
    assert "Offline evidence" in said(app)
    app = press(app, "Attach A/B test")
    (review,) = workspace.journal.reviews(ids["films"])
    assert [evidence.test.name for evidence in review.online] == [test.name]
    assert "Next: Approve or reject it." in said(app)
    page = markup(app)
    assert re.search(r'\(SRM\)\. <a class="rd-help" href="[^"]*metric=srm', page)
    app = write(app, "Why?", "Roll it out.")  # the first one is the review's
    app = passed(next(element for element in app.button if element.label == "Decide").click().run())
    assert workspace.journal.reviews(ids["films"])[0].state == "approved"
    text = said(app)
    assert "Ship als 1 decision; 1 review, 0 open." in text
    assert "Roll it out." in text
    assert "Reviewed" in text


@pytest.mark.usefixtures("ids")
def test_a_refusal_stands_where_the_form_is_and_keeps_the_words(
    shown: Open, workspace: Workspace, ids: Ids
) -> None:
    workspace.reviews.propose(ids["films"], ids["als"])
    app = write(shown(), "Why?", "Roll it out.")
    app = passed(next(element for element in app.button if element.label == "Decide").click().run())
    assert "are not known yet" in app.error[0].value
    assert next(element for element in app.text_area if element.label == "Why?").value == "Roll it out."
    app = write(app, "To approve, say why although", "No time.")
    passed(next(element for element in app.button if element.label == "Decide").click().run())
    assert workspace.journal.last_decision(ids["films"]).although == "No time."  # type: ignore[union-attr]


def test_the_forms_say_that_another_person_decides(shown: Open, workspace: Workspace, ids: Ids) -> None:
    review = workspace.reviews.propose(ids["films"], ids["als"])
    words = f"another person than {review.entry.author} decides this review"

    def captions() -> str:
        app = opened(shown(), f"again-{ids['films']}-1")
        return " ".join(str(line.value) for line in app.caption)

    assert "another person" not in captions()
    workspace.rules.change(ids["films"], lambda rules: replace(rules, two_people=True))
    assert words in captions()
    assert "*Ship* needs a review" in captions()


def test_a_variant_is_linked_where_the_test_is_asked_for(
    shown: Open, workspace: Workspace, ids: Ids, test: OnlineTest
) -> None:
    workspace.online_tests.link_variants(test.id, {"control": ids["popular"]})
    review = workspace.reviews.propose(ids["films"], ids["ease"])
    workspace.reviews.add_offline_evidence(review.id)
    app = press(shown(), "Link it")
    assert workspace.store.online_tests.get(test.id).links == {"control": ids["popular"], "new": ids["ease"]}
    assert "Attach A/B test" in [element.label for element in app.button]


# ── a decision ───────────────────────────────────────────────────────────────────────────────


def decide(workspace: Workspace, ids: Ids, outcome: str = "ship", run: str = "als", **more: str) -> str:
    return workspace.decisions.decide(
        ids["films"], outcome, run_id=ids[run], **{"text": "Because.", **more}
    ).id


def with_numbers(app: AppTest, decision_id: str) -> AppTest:
    """Opens all numbers of a decision."""
    assert "Asked again today" not in said(app)
    return opened(app, f"numbers-{decision_id}")


def test_a_decision_shows_who_why_and_its_numbers_as_they_stood(
    shown: Open, workspace: Workspace, ids: Ids
) -> None:
    decision_id = decide(workspace, ids, author="Mary")
    app = with_numbers(shown(), decision_id)
    text = said(app)
    assert "▲ Ship als" in text
    assert "Because." in text
    assert "Mary, " in text
    assert "nDCG@3 against popular" in text
    assert "nDCG@3 0.875 ▲ +600 % better" in text
    assert "Asked again today, the numbers are the same." in text
    assert any(element.label.startswith("All numbers as they stood on ") for element in app.expander)
    assert "als 0.875 0.125 +0.750" in text  # the table of all numbers
    assert "▲ Gain" not in text


def test_the_recommendation_says_which_candidate_the_decision_compared_with_which_baseline(
    open_page: Open, workspace: Workspace, ids: Ids
) -> None:
    decide(workspace, ids)
    assert "It compared als with popular." in said(open_page(e=ids["films"]))
    otherwise = said(open_page(e=ids["films"], b=ids["ease"]))
    assert "It compared als with popular." in otherwise  # also where another baseline is shown


def test_what_was_not_known_stands_in_the_decision(shown: Open, workspace: Workspace, ids: Ids) -> None:
    decide(workspace, ids)
    text = said(shown())
    assert (
        "Decided although gain over the baseline, guardrails, split of users in the A/B test"
        " and agreement of offline and online are not known yet ." in text
    )
    assert "✓ Segments of users holds" in text
    assert "? Agreement of offline and online not known yet" in text


def test_a_decision_shows_the_name_that_the_run_had_and_what_became_of_it(
    shown: Open, workspace: Workspace, ids: Ids
) -> None:
    decision_id = decide(workspace, ids)
    workspace.runs.rename(ids["als"], "als, trained anew")
    workspace.runs.delete(ids["ease"], "ease")
    text = said(with_numbers(shown(), decision_id))
    assert "▲ Ship als answers" not in text
    assert (
        "What differs today Then Now als als now called als, trained anew ease one of the runs deleted"
        in text
    )


def test_a_decision_about_a_run_that_is_gone_still_shows(shown: Open, workspace: Workspace, ids: Ids) -> None:
    decide(workspace, ids)
    workspace.runs.delete(ids["als"], "als")
    assert "nDCG@3 0.875 ▲ +600 % better" in said(shown())


def test_what_holds_is_shown_first_and_superseded_ones_by_their_link(
    shown: Open, workspace: Workspace, ids: Ids
) -> None:
    first = decide(workspace, ids)
    decide(workspace, ids, "do not ship", supersedes=first, text="It breaks search.")
    assert "▼ Don't ship als Don't ship als It breaks search." in said(shown())
    old = shown(dec=first)
    assert "Replaced Ship als Because." in said(old)
    assert "Replaced by: Don't ship als (" in said(old)
    assert "Replace decision" not in [element.label for element in old.button]


def test_a_decision_is_superseded_on_its_card(shown: Open, workspace: Workspace, ids: Ids) -> None:
    first = decide(workspace, ids)
    app = write(shown(), "What changed?", "It breaks search.")
    radio = next(element for element in app.radio if element.key.startswith(f"supersede-{first}"))
    radio.set_value("do not ship")
    app = press(app, "Replace decision")
    found = workspace.journal.last_decision(ids["films"])
    assert found is not None
    assert (found.outcome, found.supersedes, found.about) == ("do not ship", first, "als")
    assert "Don't ship als 2 decisions" in said(app)


def test_a_decision_about_another_run_takes_the_place_of_none(
    shown: Open, workspace: Workspace, ids: Ids
) -> None:
    first = decide(workspace, ids)
    app = press(write(pick(shown(pr=ids["als"]), "About", ids["ease"]), "Why?", "It is simpler."), "Decide")
    assert passed(app)
    decisions = workspace.journal.decisions(ids["films"])
    assert [(decision.about, decision.supersedes, decision.is_current) for decision in decisions] == [
        ("ease", None, True), ("als", None, True),
    ]  # fmt: skip
    app = pick(shown(pr=ids["ease"]), "About", ids["als"])
    next(element for element in app.radio if element.key.startswith("decide-")).set_value("ship")
    app = press(write(app, "Why?", "Once more."), "Decide")
    assert workspace.journal.decisions(ids["films"])[0].supersedes == first


def test_the_page_says_whose_days_it_means(shown: Open, workspace: Workspace, ids: Ids) -> None:
    decide(workspace, ids)
    assert said(shown()).count("All days on this page are in UTC.") == 1


def test_comments_stand_below_what_they_are_about(shown: Open, workspace: Workspace, ids: Ids) -> None:
    decide(workspace, ids)
    app = press(write(shown(), "Comment", "Who\ntells search?"), "Comment")
    bodies = markup(app)
    assert "Who<br>tells search?" in bodies
    assert "commented on the decision Ship for als" in said(app)


def test_a_link_to_a_decision_that_is_not_here_says_so(shown: Open, workspace: Workspace, ids: Ids) -> None:
    decide(workspace, ids)
    assert 'Decision "moon" isn\'t available here; showing another.' in warned(shown(dec="moon"))


# ── who may ──────────────────────────────────────────────────────────────────────────────────


def test_a_viewer_sees_everything_and_can_change_nothing(
    shown: Open, workspace: Workspace, ids: Ids, as_viewer: Callable[[], None]
) -> None:
    decision_id = decide(workspace, ids)
    workspace.reviews.propose(ids["films"], ids["ease"])
    as_viewer()
    app = with_numbers(shown(), decision_id)
    text = said(app)
    assert "Ship als; ease is under review" in text
    assert "Review of ease" in text
    assert "Asked again today" in text
    assert not app.text_area
    assert not [
        element
        for element in app.button
        if element.label in {"Propose", "Decide", "Comment", "Replace decision"}
    ]


@pytest.mark.usefixtures("ids")
def test_an_empty_page_tells_a_viewer_what_will_stand_here(
    shown: Open, as_viewer: Callable[[], None]
) -> None:
    as_viewer()
    assert "Proposals and decisions appear here, with their reasons and numbers." in said(shown())


def test_a_checked_name_is_not_asked_for(
    shown: Open, ids: Ids, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current_user, "reader", lambda: Person("Mary", "editor"))
    app = press(write(shown(), "Why?", "No gain."), "Decide")
    assert "Your name" not in [element.label for element in app.text_input]
    assert workspace.journal.entries(ids["films"])[0].author == "Mary"


def test_an_empty_box_is_named_in_the_error(shown: Open, ids: Ids, workspace: Workspace) -> None:
    app = press(shown(), "Decide")
    assert app.error[0].value.startswith("- your reason\\: the text is empty")
    assert not workspace.journal.entries(ids["films"])


@pytest.mark.parametrize(
    ("unit", "title", "value", "text"),
    [
        ("min", "Watch time", 12.34, "12.3 min"),
        ("min", "Watch time, min", 12.34, "12.3"),
        (SHARE, "Bounce rate", 0.1234, "12.3 %"),
        ("min", "Watch time", None, "–"),
    ],
)
def test_a_tile_says_the_unit_once(unit: str, title: str, value: float | None, text: str) -> None:
    lift: Any = SimpleNamespace(unit=unit, title=title)
    assert online_value(lift, value) == text


def difference(value: float, low: float, high: float, word: str, part: str = "") -> Difference:
    """From a baseline of 0.0388."""
    return Difference(
        "pop", "als", "ndcg", "nDCG@10", 0.0388, value, value - 0.0388, low, high, 0.01, 0.01, 232, 0, 0, 232,
        0.0, word, part,
    )  # fmt: skip


NEW_USERS = difference(0.0, -0.0652, -0.0144, "worse", "users new to the service (232)")


def test_the_interval_of_a_tile_is_not_below_the_largest_possible_loss() -> None:
    assert interval_of(NEW_USERS) == (-0.0388, -0.0144)
    assert interval_of(replace(NEW_USERS, metric="r2")) == (-0.0652, -0.0144)


def test_what_speaks_against_a_candidate_keeps_its_tile_beside_an_ab_test() -> None:
    goals = [
        SimpleNamespace(
            title=title, unit="", value=1.2, lift=0.1, low=low, high=0.3, n=9, word=word, note="", plain=plain
        )
        for title, low, word, plain in (
            ("Orders", 0.05, "better", 0.08),
            ("Saves", -0.1, "not settled", None),
        )
    ]
    rail = Guardrail("coverage", "Coverage@10", 0.5, 0.52, 0.04, 0.1, False, None, None, "not asked for")
    offline: Any = SimpleNamespace(
        own=difference(0.05, 0.005, 0.02, "better"), metrics=(), guardrails=(rail,), slices=(NEW_USERS,)
    )
    shown = tiles(offline, [SimpleNamespace(of_role=lambda _role: goals)])  # type: ignore[list-item]
    titles = ["nDCG@10", "nDCG@10, users new to the service", "Online: orders", "Online: saves"]
    assert [tile.title for tile in shown] == titles
    assert shown[1].note == "95 % CI −100 to −37 %, n = 232"
    assert shown[2].note.endswith("; CUPED-adjusted, +8.00 % unadjusted")


def test_a_test_without_a_guardrail_leads_to_where_one_is_set(
    shown: Open, workspace: Workspace, ids: Ids, as_viewer: Callable[[], None]
) -> None:
    sums = pd.DataFrame(
        [(variant, "sales", 10_000, mean, 1.0) for variant, mean in (("A", 10), ("B", 12))],
        columns=["variant", "metric", "n", "mean", "variance"],
    )
    links = {"A": ids["popular"], "B": ids["als"]}
    sales = workspace.online_tests.add(ids["films"], "Sales", {"aggregates": sums}, control="A", links=links)
    review = workspace.reviews.propose(ids["films"], ids["als"])
    workspace.reviews.add_offline_evidence(review.id)
    workspace.reviews.add_online_evidence(review.id, sales.id)
    text = said(shown())
    assert "Set one on Results and attach the test again." in text
    as_viewer()
    assert "Set one on Results" not in said(shown())


def test_tiles_have_the_guardrail_of_the_recommendation_and_keep_the_failing_segment() -> None:
    coverage = Guardrail("coverage", "Coverage@10", 0.5, 0.52, 0.04, 0.1, False, 0.01, 0.07, "")
    personal = Guardrail(
        "personalization", "Personalization@10", 0.9, 0.89, -0.01, 0.1, False, -0.02, 0.0, ""
    )
    at_risk = replace(personal, low=-0.2)
    broken = replace(personal, change=-0.3, broken=True)
    lost = SimpleNamespace(
        title="Orders",
        unit="",
        value=1.2,
        lift=-0.1,
        low=-0.2,
        high=-0.05,
        n=9,
        word="worse",
        note="",
        plain=None,
    )
    saves = SimpleNamespace(**{**vars(lost), "title": "Saves"})

    def shown(*rails: Guardrail) -> list[str]:
        offline: Any = SimpleNamespace(
            own=difference(0.05, 0.005, 0.02, "better"), metrics=(), guardrails=rails, slices=(NEW_USERS,)
        )
        return [tile.title for tile in tiles(offline, [SimpleNamespace(of_role=lambda _: [lost, saves])])]  # type: ignore[list-item]

    segment = "nDCG@10, users new to the service"
    assert shown(coverage, broken) == ["nDCG@10", "Online: orders", segment, "Personalization@10"]
    assert shown(coverage, personal) == ["nDCG@10", "Online: orders", segment, "Online: saves"]

    def rail_alone(*rails: Guardrail) -> str:
        offline: Any = SimpleNamespace(
            own=difference(0.05, 0.005, 0.02, "better"), metrics=(), guardrails=rails, slices=()
        )
        return tiles(offline, ())[1].title

    assert rail_alone(coverage, personal) == "Coverage@10", "the first, as on Recommendation"
    assert rail_alone(coverage, at_risk) == "Personalization@10"


@pytest.mark.parametrize(
    ("cookie", "name"),
    [("Mary%20O%E2%80%99Hara", "Mary O’Hara"), ("a%0Ab", "a b"), ("x" * 300, "x" * MOST_AUTHOR), ("", "")],
)
def test_a_name_is_read_from_the_cookie_of_the_browser(
    monkeypatch: pytest.MonkeyPatch, cookie: str, name: str
) -> None:
    cookies = SimpleNamespace(cookies={"recdash-name": cookie})
    monkeypatch.setattr("streamlit.context", cookies)
    assert current_user.given_name() == name


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """The dashboard runs under an account of the system, as in a container."""
    login_name.cache_clear()
    monkeypatch.setenv("LOGNAME", "root")
    monkeypatch.setattr(context, "login_name", login_name.__wrapped__)


@pytest.mark.usefixtures("as_root")
def test_nobody_is_called_root_and_a_name_is_asked_for_once(
    shown: Open, ids: Ids, workspace: Workspace
) -> None:
    app = press(write(shown(), "Why?", "No gain."), "Decide")
    assert "Enter the name that others will see" in app.error[0].value
    assert not workspace.journal.entries(ids["films"])
    next(box for box in app.text_input if box.key.startswith("decide-")).input("Mary")
    app = press(app, "Decide")
    assert workspace.journal.entries(ids["films"])[0].author == "Mary"
    names = [box.value for box in app.text_input if box.label == "Your name"]
    assert names
    assert set(names) == {"Mary"}


# ── on other pages ───────────────────────────────────────────────────────────────────────────


def test_the_overview_tells_the_last_decision_and_leads_to_a_proposal(
    open_page: Open, workspace: Workspace, ids: Ids
) -> None:
    app = open_page()
    assert "Decided" not in said(app)
    decide(workspace, ids, "needs A/B", text="Four weeks on the home row.")
    workspace.reviews.propose(ids["films"], ids["ease"])
    app = open_page()
    assert "Decided ⇄ Needs A/B als needs an A/B test" in said(app)
    assert "Evidence today: unchanged; decided although the recommendation is “Ship als”." in said(app)
    assert "to-decide" in [element.key for element in app.button]


def test_a_viewer_is_not_led_to_a_proposal(open_page: Open, ids: Ids, as_viewer: Callable[[], None]) -> None:
    assert ids
    as_viewer()
    assert "to-decide" not in [element.key for element in open_page().button]


def test_a_test_leads_to_the_review_that_waits_for_it(
    open_page: Open, workspace: Workspace, ids: Ids, test: OnlineTest
) -> None:
    review = workspace.reviews.propose(ids["films"], ids["als"])
    waiting = f"to-review-{review.id}"
    assert waiting in [element.key for element in open_page("ab_results").button]
    workspace.reviews.add_online_evidence(review.id, test.id)
    assert waiting not in [element.key for element in open_page("ab_results").button]


def test_the_guide_explains_what_the_page_links_to(open_page: Open, workspace: Workspace, ids: Ids) -> None:
    decide(workspace, ids)
    assert "In the guide: the review of a candidate, its checklist, what a decision keeps." in re.sub(
        r" (?=[,.])", "", said(open_page("review"))
    )
    text = " ".join(str(element.value) for element in open_page("guide", metric="checklist").markdown)
    assert "online, a goal won and none lost" in text


# ── words ────────────────────────────────────────────────────────────────────────────────────


def test_of_a_long_text_the_beginning_is_shown_and_the_rest_opens() -> None:
    text = "word " * 300
    found = prose(text)
    assert found.count("word") == 300
    assert f"Read on ({len(text) - LONG + 1:,} more characters)" in found


def test_markup_in_a_text_is_text() -> None:
    assert prose('<img src="x"> **a**\n[b](c)') == (
        '<p class="rd-prose rd-lead">&lt;img src=&#34;x&#34;&gt; **a**<br>[b](c)</p>'
    )


def test_an_interval_in_a_text_is_on_one_line() -> None:
    assert "(+0.05\u00a0to\u00a0+0.07)" in prose("It is better (+0.05 to +0.07).")


def test_an_excerpt_is_one_line() -> None:
    assert excerpt("one\n\n two") == "one two"
    assert excerpt("x" * 200) == "x" * 150 + "…"


@pytest.mark.usefixtures("ids")
def test_terms_on_the_card_lead_to_the_guide(open_page: Open) -> None:
    card = next(html.body for html in open_page("overview").get("html") if "rd-decide" in html.body)
    title, note = card.index(">nDCG@3, offline<a"), card.index("Holm-corrected<a")
    assert title < card.index("Guide: nDCG") < note < card.index("Guide: Holm")
    second, users = card.index("Guide: Recall"), card.index("Guide: users who gain and lose")
    assert note < second < users < card.index("sign test p") < card.index("Guide: sign test")


@pytest.mark.usefixtures("ids", "test")
def test_a_metric_of_an_ab_test_on_the_card_leads_to_the_guide(open_page: Open) -> None:
    card = next(html.body for html in open_page("overview").get("html") if "rd-decide" in html.body)
    assert card.index("Engagement rate, A/B test<a") < card.index("metric=online-metrics")
