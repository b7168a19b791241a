"""The words about decisions and reviews: badges, headlines, and lines of the history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recdash.decisions import LABELS, Decision, Review, State, decisions, reviews
from recdash.domain.journal import Entry, Outcome
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.formatting.wording import capital, day, many, moment, named_number, small
from recdash.ui.components.widgets import badge, unbroken

STATE_TONES: Mapping[State, str] = {"approved": "better", "rejected": "worse"}
LONG = 700


def state_badge(state: State) -> Html:
    return badge(capital(state), STATE_TONES.get(state, "same"))


def label(decision: Decision) -> str:
    """Returns a decision as an option in a list, such as ``22 Nov 2026: Ship ALS v3 (replaced)``."""
    gone = "" if decision.is_current else " (replaced)"
    return f"{day(decision.created)}: {decision.named_headline}{gone}"


def finding(decided: Decision | None, open_: Sequence[Review]) -> str:
    """Returns the headline of the page: the decision that applies, and what is in review."""
    under = _under_review(open_)
    if decided is None:
        return under or "Nothing is decided yet"
    more = small(under) if len(open_) > 1 else under
    return "; ".join(filter(None, (decided.named_headline, more)))


def _under_review(open_: Sequence[Review]) -> str:
    if len(open_) == 1:
        return f"{open_[0].about} is under review"
    return f"{named_number(len(open_))} candidates are under review" if open_ else ""


def subtitle(entries: Sequence[Entry]) -> str:
    """Returns the line below the headline: the numbers of decisions and reviews.

    ``entries`` are the newest first.
    """
    made, proposed = decisions(entries[::-1]), reviews(entries[::-1])
    count = len([review for review in proposed if review.is_open])
    counted = f"{many(len(proposed), 'review')}, {count} open"
    text = capital("; ".join([many(len(made), "decision"), counted]))
    return f"{text}. A decision cannot be edited; a new one replaces it."


def signature(entry: Entry) -> str:
    """Returns author and time of an entry, such as ``M. Okafor, 22 Nov 2026, 14:02 UTC``."""
    return f"{entry.author}, {moment(entry.created)}"


def prose(text: str, kind: str = "rd-lead") -> Html:
    """Returns a text that a person wrote, with its line breaks; of a long text the beginning, and the rest on
    a click.
    """
    if not text:
        return Html("")
    if len(text) <= LONG:
        return html('<p class="rd-prose {kind}">{text}</p>', kind=kind, text=lines(text))
    cut = text.rfind(" ", LONG // 2, LONG)
    cut = cut if cut > 0 else LONG
    return html(
        '<p class="rd-prose {kind}">{start} …</p><details class="rd-more"><summary>Read on ({left} more '
        'characters)</summary><p class="rd-prose {kind}">{rest}</p></details>',
        kind=kind,
        start=lines(text[:cut]),
        rest=lines(text[cut:].lstrip()),
        left=numbers.count(len(text) - cut),
    )


def lines(text: str) -> Html:
    """Returns the text as HTML with its line breaks; none is added inside a number with its unit."""
    return join([html("{line}", line=unbroken(line)) for line in text.splitlines()], "<br>")


def action(entry: Entry, known: Mapping[str, Entry]) -> str:
    """Returns what an entry did, such as ``proposed ALS v3`` or ``attached offline evidence to the review of
    ALS v3``.
    """
    home = known.get(entry.about or "")
    if entry.kind == "proposal":
        return f"proposed {_about(entry)}"
    if entry.kind == "offline evidence":
        return f"attached offline evidence to the review of {_about(home)}"
    if entry.kind == "online evidence":
        test = entry.facts["online"][0]["test"]["name"]
        return f"attached the A/B test {test} to the review of {_about(home)}"
    if entry.kind == "decision":
        return _decided(entry)
    if entry.kind == "plan":
        test = entry.facts["plan"]["test"]
        return (
            f"{'changed the plan of' if entry.about else 'planned'} the A/B test{f' {test}' if test else ''}"
        )
    return f"commented on {_thing(home)}"


def _decided(entry: Entry) -> str:
    outcome: Outcome = entry.facts["outcome"]
    name = _about(entry)
    instead = ", replacing an earlier decision" if entry.facts.get("supersedes") else ""
    return f"decided {LABELS[outcome]}{f' for {name}' if name else ''}{instead}"


def _about(entry: Entry | None) -> str:
    return "" if entry is None else entry.subject_name


def _thing(entry: Entry | None) -> str:
    if entry is None:
        return "a report"
    if entry.kind == "decision":
        outcome: Outcome = entry.facts["outcome"]
        name = _about(entry)
        return f"the decision {LABELS[outcome]}{f' for {name}' if name else ''}"
    return f"the review of {_about(entry)}" if entry.kind == "proposal" else f"a {entry.kind}"
