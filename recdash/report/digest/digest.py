"""A digest of each experiment in plain words: the recommendation, what was decided, and what changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isfinite
from typing import TYPE_CHECKING, Any

from recdash.comparison import relative
from recdash.comparison.badges import Badge, badge_of
from recdash.comparison.wording import FEW, plain, who_gains
from recdash.errors import no_experiment
from recdash.formatting.wording import capital, day, listed, many
from recdash.metrics.naming import metric_row
from recdash.service.catalog.history import HistoryEvent
from recdash.service.catalog.overview import Card

if TYPE_CHECKING:
    from recdash.comparison.evidence import VerdictEvidence
    from recdash.comparison.pairs import Pair
    from recdash.comparison.recommendation import Recommendation
    from recdash.service import Workspace

USUAL_SINCE = timedelta(days=7)
MOST_SENTENCES, MOST_CHANGES, MOST_QUOTED = 2, 5, 240


@dataclass(frozen=True)
class DigestEntry:
    """What a digest says about one experiment.

    ``badge`` is None if it has no verdict.

    ``words`` are sentences, the last in plain words; ``decided`` is what was decided or is under review;
    ``since`` are the newest changes in the digest's period, the newest first, and ``more`` is the number of
    others.
    """

    name: str
    path: str
    question: str
    headline: str
    badge: Badge | None
    words: tuple[str, ...]
    decided: tuple[str, ...]
    since: tuple[HistoryEvent, ...]
    more: int
    last: HistoryEvent

    @property
    def changed(self) -> tuple[str, ...]:
        """Returns a line for each change in ``since``, and one for the number of others; empty if nothing
        changed.
        """
        lines = tuple(f"{event}, {day(event.when)}" for event in self.since)
        return (*lines, f"and {self.more} more") if self.more else lines


@dataclass(frozen=True)
class Digest:
    """A digest of experiments at the time ``at``, with changes since ``begin``.

    ``link`` is the URL of the dashboard with a slash at its end, or empty. ``head`` is the hash of the audit
    log's last line; empty for an empty log and for guests.
    """

    at: datetime
    begin: datetime
    entries: tuple[DigestEntry, ...]
    link: str = ""
    head: str = ""

    @property
    def audit_line(self) -> str:
        """Returns the sentence with the hash of the audit log's last line; empty without one."""
        return f"Last line of the audit log: hash {self.head}." if self.head else ""

    @property
    def title(self) -> str:
        return f"Recommender experiments, {day(self.at)} (days in UTC)"

    @property
    def summary(self) -> str:
        """Returns a summary: numbers of experiments, of each recommendation, and of changed experiments.

        For example ``3 experiments: 1 Ship and 2 Trade-off. 2 changed since 2 Oct 2026.``
        """
        if not self.entries:
            return "There is no experiment yet."
        names = [entry.badge.name if entry.badge else "Nothing judged" for entry in self.entries]
        states = listed([f"{names.count(name)} {name}" for name in dict.fromkeys(names)])
        changed = sum(bool(entry.since) for entry in self.entries)
        return (
            f"{many(len(self.entries), 'experiment')}: {states}. {changed or 'None'} changed {self.period}."
        )

    @property
    def period(self) -> str:
        return f"since {day(self.begin)}"


class Digests:
    """The service for digests of a workspace's experiments."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def digest(self, names: Sequence[str] = (), *, since: timedelta = USUAL_SINCE, link: str = "") -> Digest:
        """Returns the digest of the named experiments, by default all; the demo only if it is named, or is
        the only one.

        It covers changes of the last ``since``. ``link`` is the URL of the dashboard. Raises NotFound for an
        unknown name.
        """
        now = self._workspace.now()
        entries = tuple(self._entry(card, now - since) for card in self._cards(names))
        head = "" if self._workspace.person.is_guest else self._workspace.store.audit.last()
        return Digest(now, now - since, entries, f"{link.rstrip('/')}/" if link else "", head)

    def _cards(self, names: Sequence[str]) -> list[Card]:
        cards = self._workspace.overview.cards()
        if not names:
            own = [card for card in cards if not card.experiment.demo]
            return own or cards
        known = {card.experiment.name: card for card in self._workspace.overview.cards(archived=True)}
        if missing := [name for name in names if name not in known]:
            raise no_experiment(missing[0], known)
        return [known[name] for name in dict.fromkeys(names)]

    def _entry(self, card: Card, begin: datetime) -> DigestEntry:
        answer = self._workspace.overview.verdict(card.experiment.id)
        verdict = answer.verdict
        history = [event for event in card.history if event.when >= begin]
        return DigestEntry(
            name=card.experiment.name,
            path=f"?e={card.experiment.id}",
            question=card.question,
            headline=verdict.headline if verdict else answer.why_not,
            badge=badge_of(verdict) if verdict else None,
            words=_words(verdict) if verdict else (),
            decided=tuple(_decided(card)),
            since=tuple(history[:MOST_CHANGES]),
            more=max(0, len(history) - MOST_CHANGES),
            last=card.last_change,
        )


# ── the verdict in plain words ───────────────────────────────────────────────────────────────


def _words(verdict: Recommendation) -> tuple[str, ...]:
    """Returns sentences on a recommendation: why, the greatest risk, and the offline difference in plain
    words.
    """
    sentences = tuple(plain(sentence) for sentence in verdict.sentences)
    leader = verdict.evidence.leader
    if leader is None or verdict.action == "not comparable":
        return sentences[:MOST_SENTENCES]
    return (*sentences, _in_plain_words(verdict.evidence, leader))


def _in_plain_words(evidence: VerdictEvidence, leader: Pair) -> str:
    """Returns the offline difference in plain words, such as ``ALS v3 is 14.9 % above Popular in how well
    relevant items are ranked (nDCG@10); most likely …``.
    """
    comparison = evidence.comparison
    name = comparison.query.where
    row = metric_row(comparison.query.metric)
    is_variant = comparison.query.metric != row.name  # a variant of a metric measures something else
    meaning = "" if is_variant else row.usage.in_words
    metric = f"{meaning} ({name})" if meaning else name
    n, likely = leader.paired.n, _most_likely(leader, comparison.query.metric)
    measured = f", of {many(n, 'user')} measured" if n >= FEW else ""
    return (
        f"{evidence.name} is {relative.relation_to(leader, evidence.base)} in {metric}{likely}. "
        f"{capital(who_gains(leader))}{measured}."
    )


def _most_likely(pair: Pair, metric: str) -> str:
    """Returns the interval in words, such as ``; most likely between +12.7 and +17.2 %``; empty without an
    interval.
    """
    if pair.is_identical or not isfinite(pair.judged.corrected.low):
        return ""
    return f"; most likely between {relative.bounds(pair, metric).replace(' to ', ' and ')}"


# ── what was decided ─────────────────────────────────────────────────────────────────────────


def _decided(card: Card) -> Iterable[str]:
    if (decision := card.decision) is not None:
        about = f" – {decision.about}" if decision.about else ""
        text = " ".join(decision.text.split())
        quoted = f"{text[:MOST_QUOTED]}…" if len(text) > MOST_QUOTED else text
        words = f": “{quoted}”" if quoted else ""
        yield f"Decided: {decision.label}{about} ({decision.author}, {day(decision.created)}){words}"
    if card.review is not None:
        missing = f" Next: {card.review.missing}" if card.review.missing else ""
        yield f"In review: {card.review.about}, {card.review.state}.{missing}"


def as_dict(digest: Digest) -> dict[str, Any]:
    """Returns the digest as JSON-ready values."""
    return {
        "title": digest.title,
        "summary": digest.summary,
        "at": digest.at.isoformat(),
        "since": digest.begin.isoformat(),
        "audit_log": digest.head or None,
        "experiments": [_entry_as_dict(entry, digest.link) for entry in digest.entries],
    }


def _entry_as_dict(entry: DigestEntry, link: str) -> dict[str, Any]:
    return {
        "name": entry.name,
        "link": f"{link}{entry.path}" if link else None,
        "question": entry.question,
        "verdict": entry.badge.name if entry.badge else None,
        "headline": entry.headline,
        "words": list(entry.words),
        "decided": list(entry.decided),
        "changes": [
            {"when": event.when.isoformat(), "what": event.what, "by": event.by or None}
            for event in entry.since
        ],
        "more_changes": entry.more,
    }
