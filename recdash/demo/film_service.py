"""Simulates a small film service from a seed: its data, a baseline, four candidates, one A/B test and one
interleaving test.

Nothing is trained, and no result is hard-coded. The simulation has users with tastes, famous films, and hits
of a season. Users play, rate and abandon films; candidates see these facts with noise and with different
biases. The metrics follow from that.

The season's hits are the point of the demo. In the weeks of the test set every user starts them, so that a
candidate which has learned the season wins offline. Few users finish them, which their ratings in the test
set also show, so that the same candidate loses watch time online.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from recdash.demo.interleaving import drawn_teams, team_draft
from recdash.domain.kinds import Floats, Ints, Mask

SEED = 2610
N_USERS, N_FILMS, N_GENRES, N_HITS, N_COLD = 2_000, 600, 10, 36, 110
N_UNITS, N_CROSSED, LIST_LENGTH, SLOTS = 8_000, 9, 100, 10
N_INTERLEAVED = 1_000
"""Number of users whose lists were interleaved before the A/B test."""

TRAIN_FROM = int(datetime(2025, 1, 1, tzinfo=UTC).timestamp())
SEASON_FROM = int(datetime(2026, 7, 1, tzinfo=UTC).timestamp())
TRUTH_FROM = int(datetime(2026, 10, 1, tzinfo=UTC).timestamp())
TRUTH_TO = int(datetime(2026, 10, 31, tzinfo=UTC).timestamp())
TEST_FROM = int(datetime(2026, 11, 2, tzinfo=UTC).timestamp())
TEST_DAYS = 21

# fmt: off
GENRES = (
    "Drama", "Comedy", "Thriller", "Science fiction", "Animation", "Documentary", "Romance", "Horror",
    "Western", "Mystery",
)
PLACES = (
    "Bergen", "Dover", "Galway", "Halifax", "Lisbon", "Marseille", "Porto", "Savannah", "Trieste", "Valencia",
)
NAMES = (
    "Anna", "Clara", "Elias", "Iris", "Jonas", "Mabel", "Martin", "Nora", "Ruth", "Samuel", "Theo", "Vera",
)
# fmt: on


class TitleWords(NamedTuple):
    """Parts of a genre's titles: ``patterns`` are separated with vertical bars, words with blanks."""

    patterns: str
    qualities: str
    things: str


TITLE_WORDS: Mapping[str, TitleWords] = MappingProxyType(
    {
        "Drama": TitleWords(
            "The {quality} {thing}|{name}'s {thing}|{name} Leaves {place}|A {thing} in {place}",
            "Quiet Last Long Broken Distant Gentle Unspoken Early Second Borrowed",
            "Summer Promise Daughter Winter House Goodbye Letter River Silence Harvest",
        ),
        "Comedy": TitleWords(
            "{name} Goes to {place}|My {quality} {thing}|The {quality} {thing}|{name}'s {thing}",
            "Perfect Terrible Accidental Second Unlikely Big Wrong Lazy Famous Fake",
            "Wedding Landlord Holiday Neighbour Divorce Reunion Roommate Promotion Uncle Vacation",
        ),
        "Thriller": TitleWords(
            "The {place} {thing}|{quality} {thing}|The {quality} {thing}|The {thing}: {place}",
            "Silent Cold Final Hidden Double Hostile Blind Perfect Midnight Dead",
            "Witness Protocol Alibi Exchange Signal Pursuit Conspiracy Passenger Contract Deadline",
        ),
        "Science fiction": TitleWords(
            "The {quality} {thing}|{quality} {thing}|Beyond the {quality} {thing}",
            "Last Silent Artificial Orbital Lost Solar Infinite Distant Synthetic Parallel",
            "Colony Orbit Horizon Station Signal Memory Voyage Machine Planet Frontier",
        ),
        "Animation": TitleWords(
            "{name} and the {quality} {thing}|The {quality} Little {thing}|The {thing} Who Saved {place}",
            "Brave Lost Flying Clumsy Tiny Golden Sleepy Curious Enchanted Runaway",
            "Dragon Robot Penguin Fox Bear Pirate Owl Giant Rabbit Whale",
        ),
        "Documentary": TitleWords(
            "Inside the {quality} {thing}|The {quality} {thing}|The {thing}s of {place}",
            "Hidden Forgotten Vanishing Secret Frozen Wild Living Unknown Ancient Last",
            "Glacier Orchestra Kitchen Archive Harbour Factory Reef Newsroom Railway Forest",
        ),
        "Romance": TitleWords(
            "A {thing} in {place}|{name} & {other}|{quality} {thing}|The {quality} {thing}",
            "First Last Secret Autumn Sudden Borrowed Midsummer Stolen Slow Second",
            "Kiss Spring Dance Romance Sunday Letter Winter Promise Weekend Waltz",
        ),
        "Horror": TitleWords(
            "The {thing} of {place}|{quality} {thing}|The {quality} {thing}|The {place} {thing}",
            "Hollow Rotten Sleepless Bleeding Buried Whispering Pale Unholy Crawling Starving",
            "Cellar Orphanage Ritual Mirror Nursery Asylum Scarecrow Chapel Harvest Stranger",
        ),
        "Western": TitleWords(
            "The {thing} at {quality} Creek|{quality} {thing}|The {quality} {thing}",
            "Dusty Red Lonesome Broken Silver Crooked Black Dry Bitter Iron",
            "Canyon Sheriff Ranch Outlaw Saddle Prairie Gunfighter Homestead Trail Mesa",
        ),
        "Mystery": TitleWords(
            "The {quality} {thing}|The {place} {thing}|{name} and the {quality} {thing}",
            "Missing Crimson Second Forged Locked Vanished Unfinished Thirteenth Velvet Poisoned",
            "Portrait Guest Manuscript Butler Heiress Key Diary Alibi Necklace Telegram",
        ),
    }
)
TITLE_DRAWS = 3_985
"""Number of random draws that titles once took from the demo's generator. They are still made, without use,
so that no number of the demo depends on its titles.
"""


class Leaning(NamedTuple):
    """The weights that a candidate gives to taste, fame and season, and the noise with which it sees them."""

    taste: float
    fame: float
    season: float
    noise: float


POPULAR = "Popular"
TWO_TOWER = "Two-tower 2026-10"
LEANINGS: Mapping[str, Leaning] = MappingProxyType(
    {
        "ItemKNN 100": Leaning(taste=1.0, fame=0.60, season=0.0, noise=0.95),
        "ALS v3": Leaning(taste=1.0, fame=0.55, season=0.0, noise=0.55),
        "EASE λ=250": Leaning(taste=1.0, fame=0.55, season=0.0, noise=0.55),
        TWO_TOWER: Leaning(taste=0.8, fame=0.55, season=1.3, noise=0.55),
    }
)
LINKS: Mapping[str, str] = MappingProxyType(
    {"control": POPULAR, "als": "ALS v3", "item-knn": "ItemKNN 100", "two-tower": TWO_TOWER}
)
TEAMS: Mapping[str, str] = MappingProxyType({"control": POPULAR, "als": "ALS v3"})
NEEDS_HISTORY = ("ItemKNN 100",)
DEVICES = ("phone", "TV", "web")


@dataclass(frozen=True)
class FilmService:
    """All tables of the demo. Ids are integers; times are UTC.

    ``catalogue`` item_id, title, genre, year, runtime_min ·
    ``train`` and ``truth`` user_id, item_id, rating (1–5), timestamp (seconds since 1970; every truth row is
    later than every train row) ·
    ``runs`` by name: user_id, item_id, score, rank 1..100 ·
    ``sessions`` as uploaded for an online test (each user has one ``device``), with ``links`` from its
    variants to names of runs ·
    ``served`` the list that each session was shown: one row per rank, and whether it was clicked ·
    ``interleaved`` the slots of an interleaving test, each with its team, with ``teams`` from these to names
    of runs ·
    ``broken_csv`` a run that the checks reject.
    """

    experiment: str
    test: str
    interleaving: str
    baseline: str
    control: str
    catalogue: pa.Table
    train: pa.Table
    truth: pa.Table
    runs: Mapping[str, pa.Table]
    sessions: pa.Table
    served: pa.Table
    links: Mapping[str, str]
    interleaved: pa.Table
    teams: Mapping[str, str]
    broken_csv: bytes


@dataclass(frozen=True)
class World:
    """The true state of users and films, which candidates see with noise.

    ``match`` [users, films] is how well a film suits a user, about N(0, 1). ``fame`` [films] is the log of
    how often a film is played, standardised. ``season`` [films] is 1 for the season's hits. ``genre`` and
    ``runtime_min`` have the shape [films].
    """

    match: Floats
    fame: Floats
    season: Floats
    genre: Ints
    runtime_min: Ints

    def appeal(self, season_weight: float) -> Floats:
        """Returns [users, films] how attractive a film looks before it is played."""
        return 1.25 * self.match + 0.95 * self.fame + season_weight * self.season

    def enjoyment(self) -> Floats:
        """Returns [users, films] how much a user enjoys a film once it plays: taste and the film's quality,
        less for the season's hits.
        """
        return 0.75 * self.match + 0.3 * self.fame - 2.8 * self.season


def make(seed: int = SEED) -> FilmService:
    """Returns the demo's tables; the same seed gives the same tables."""
    rng = np.random.default_rng(seed)
    world = _world(rng)
    catalogue = _catalogue(rng, world, _titles(np.random.default_rng([seed, 2]), world.genre))
    train_plays, truth_plays = _plays(rng, world)
    train = _rated(rng, world, train_plays, TRAIN_FROM, TRUTH_FROM)
    truth = _rated(rng, world, truth_plays, TRUTH_FROM, TRUTH_TO)
    lists = _lists(rng, world, train_plays)
    # the device that each unit mostly uses; independent of all else
    device = np.random.default_rng([seed, 1]).choice(len(DEVICES), N_UNITS, p=(0.5, 0.3, 0.2))
    sessions, served = _sessions(rng, world, lists, device)
    return FilmService(
        experiment="Demo: film service, October 2026",
        test="Demo: homepage row, November 2026",
        interleaving="Demo: interleaved homepage row, October 2026",
        baseline=POPULAR,
        control="control",
        catalogue=catalogue,
        train=train,
        truth=truth,
        runs={name: _run(*ranked) for name, ranked in lists.items()},
        sessions=sessions,
        served=served,
        links=dict(LINKS),
        interleaved=_interleaved(np.random.default_rng([seed, 3]), world, lists),
        teams=dict(TEAMS),
        broken_csv=_broken(lists[POPULAR][0]),
    )


# ── the world ────────────────────────────────────────────────────────────────────────────────


def _world(rng: np.random.Generator) -> World:
    genre = rng.integers(0, N_GENRES, N_FILMS)
    style = rng.normal(size=(N_GENRES, 8))
    films = style[genre] + 0.8 * rng.normal(size=(N_FILMS, 8))
    loved, liked = rng.integers(0, N_GENRES, (2, N_USERS))  # each user loves one genre and likes another
    users = (style[loved] + 0.6 * style[liked]) + 0.6 * rng.normal(size=(N_USERS, 8))
    fame = _standard(-np.log(rng.permutation(N_FILMS) + 4.0))
    season = np.zeros(N_FILMS)
    # Hits are well-known films (the head), but not the classics with most plays overall.
    season[rng.permutation(np.argsort(-fame)[20:140])[:N_HITS]] = 1.0
    runtime = np.rint(np.clip(104 + 17 * rng.normal(size=N_FILMS), 68, 178)).astype(np.int64)
    match = _standard(users @ films.T, axis=1)
    return World(match, fame, season, genre, runtime)


def _standard(values: Floats, axis: int | None = None) -> Floats:
    """Returns the values with mean 0 and standard deviation 1, rounded so that their order does not depend on
    the platform's floating-point arithmetic.
    """
    centred = values - values.mean(axis=axis, keepdims=True)
    return np.round(centred / centred.std(axis=axis, keepdims=True), 6)


def _catalogue(rng: np.random.Generator, world: World, titles: list[str]) -> pa.Table:
    year = 2026 - np.minimum(rng.geometric(0.07, N_FILMS), 60)
    rng.integers(2**32, size=TITLE_DRAWS, dtype=np.uint32)
    return pa.table(
        {
            "item_id": np.arange(1, N_FILMS + 1),
            "title": titles,
            "genre": [GENRES[index] for index in world.genre],
            "year": np.where(world.season > 0, 2026, year),
            "runtime_min": world.runtime_min,
        }
    )


def _titles(rng: np.random.Generator, genre: Ints) -> list[str]:
    """Returns a title for each film, made of words of its genre; all titles are different."""
    titles: dict[str, None] = {}
    for index in genre:
        words = TITLE_WORDS[GENRES[index]]
        title = ""
        while not title or title in titles:
            name, other = rng.choice(NAMES, 2, replace=False)
            title = rng.choice(words.patterns.split("|")).format(
                quality=rng.choice(words.qualities.split()),
                thing=rng.choice(words.things.split()),
                place=rng.choice(PLACES),
                name=name,
                other=other,
            )
        titles[title] = None
    return list(titles)


# ── plays ─────────────────────────────────────────────────────────────────────────────────────


def _plays(rng: np.random.Generator, world: World) -> tuple[Mask, Mask]:
    """Returns masks [users, films] of the films played before and after the split. The last users play only
    after it.
    """
    n_before = np.clip(np.rint(np.exp(3.3 + 0.55 * rng.normal(size=N_USERS))), 8, 120).astype(np.int64)
    n_before[N_USERS - N_COLD :] = 0
    n_after = np.clip(rng.poisson(7, N_USERS), 0, 30)
    n_after[N_USERS - N_COLD :] += 2
    before = _chosen(rng, world.appeal(season_weight=0.0), n_before)
    after = _chosen(rng, np.where(before, -np.inf, world.appeal(season_weight=1.7)), n_after)
    return before, after


def _chosen(rng: np.random.Generator, appeal: Floats, n: Ints) -> Mask:
    """Returns a mask [users, films] of ``n[user]`` films each, drawn without replacement with probabilities
    that grow with ``appeal``.
    """
    order = np.argsort(-(appeal + rng.gumbel(size=appeal.shape)), axis=1)
    chosen: Mask = np.zeros(appeal.shape, dtype=np.bool_)
    np.put_along_axis(chosen, order, np.arange(appeal.shape[1]) < n[:, None], axis=1)
    return chosen


def _rated(rng: np.random.Generator, world: World, plays: Mask, since: int, until: int) -> pa.Table:
    """Returns the played films with a rating and a time, in time order."""
    user, film = np.nonzero(plays)
    felt = 3.6 + 0.6 * world.enjoyment()[user, film] + 0.7 * rng.normal(size=len(user))
    # A hit of the season was not played before the season.
    first = np.where(world.season[film] > 0, max(since, SEASON_FROM), since)
    when = (first + rng.random(len(user)) * (until - first)).astype(np.int64)
    table = pa.table(
        {
            "user_id": user + 1,
            "item_id": film + 1,
            "rating": np.clip(np.rint(felt), 1, 5).astype(np.int64),
            "timestamp": when,
        }
    )
    return table.take(pa.array(np.lexsort((film, user, when))))


# ── candidates ───────────────────────────────────────────────────────────────────────────────

Ranked = tuple[Ints, Ints, Floats]


def _lists(rng: np.random.Generator, world: World, played: Mask) -> dict[str, Ranked]:
    """Returns {candidate's name: (users [n], their 100 best unseen films [n, 100], the films' scores)}."""
    everyone = np.arange(N_USERS)
    known: Mask = played.sum(axis=1) > 0
    counts = np.broadcast_to(played.sum(axis=0).astype(np.float64), played.shape)
    lists: dict[str, Ranked] = {POPULAR: (everyone, *_best(counts, played))}
    for name, leaning in LEANINGS.items():
        noise = leaning.noise * rng.normal(size=world.match.shape)
        seen = leaning.taste * world.match + leaning.fame * world.fame + leaning.season * world.season
        view = np.round(seen + noise, 6)  # the world with the candidate's bias and noise
        scores = np.where(known[:, None], view, counts / counts.max() + view.min())
        users = everyone[known] if name in NEEDS_HISTORY else everyone
        lists[name] = (users, *_best(scores[users], played[users]))
    return lists


def _best(scores: Floats, played: Mask) -> tuple[Ints, Floats]:
    """Returns the films that the user has not played, those with the highest scores first, and their scores;
    of equal scores the film with the smaller index first.
    """
    # Whole numbers without ties sort seven times as fast as scores in a stable order; scores have 6 decimals.
    place = np.where(played, 10**9, np.rint(-1e6 * scores)).astype(np.int64)
    order = np.sort(place * N_FILMS + np.arange(N_FILMS), axis=1)[:, :LIST_LENGTH]
    films = order % N_FILMS
    return films, np.take_along_axis(scores, films, axis=1)


def _run(users: Ints, films: Ints, scores: Floats) -> pa.Table:
    return pa.table(
        {
            "user_id": np.repeat(users + 1, LIST_LENGTH),
            "item_id": films.ravel() + 1,
            "score": scores.ravel(),
            "rank": np.tile(np.arange(1, LIST_LENGTH + 1), len(users)),
        }
    )


def _broken(users: Ints) -> bytes:
    """Returns a run file with common mistakes, which shows the message of each check."""
    rows = [f"{user + 1},{film},{film}" for user in users[:40] for film in range(1, 6)]
    rows[3] = "1,4,first"
    rows[7] = "2,,3"
    rows[12] = "3,3,0"
    rows[18] = "4,4,2.5"
    rows[26] = "6,1,2"
    return ("user_id,item_id,rank\n" + "\n".join(rows) + "\n").encode()


# ── the online test ──────────────────────────────────────────────────────────────────────────


def _sessions(
    rng: np.random.Generator, world: World, lists: Mapping[str, Ranked], device: Ints
) -> tuple[pa.Table, pa.Table]:
    """Returns a table of sessions, and one of what each session was shown. Units 1..2000 are the users of the
    test set, each further unit has the taste of one of them.
    """
    variants = np.array(list(LINKS))
    arm_of = rng.integers(0, len(variants), N_UNITS)
    visits = rng.poisson(np.exp(1.05 + 0.45 * rng.normal(size=N_UNITS))) + 1
    unit = np.repeat(np.arange(N_UNITS), visits)
    arm = _crossed(rng, unit, arm_of[unit], len(variants))
    films = np.stack([_served(lists, run) for run in LINKS.values()])[arm, unit % N_USERS]
    clicked, videos, watched = _watch(rng, world, unit % N_USERS, films)
    start = TEST_FROM + (rng.random(len(unit)) * TEST_DAYS * 86_400).astype(np.int64)
    table = pa.table(
        {
            "unit_id": unit + 1,
            "session_id": np.arange(1, len(unit) + 1),
            "variant": pa.array(variants[arm].tolist()),
            "start_ts": pa.array(start * 1_000_000, pa.timestamp("us", tz="UTC")),
            "clicks": clicked.sum(axis=1),
            "watch_s": watched,
            "videos": videos,
            "device": pa.array(np.array(DEVICES)[device[unit]].tolist()),
        }
    )
    order = np.argsort(start, kind="stable")
    table = table.take(pa.array(order))
    # one row per session and slot: a session has one row of films, at its start
    row = pa.array(np.repeat(np.arange(len(table)), SLOTS))
    of_session = table.select(["session_id", "unit_id", "start_ts", "variant"]).take(row)
    served = of_session.rename_columns(["request_id", "unit_id", "ts", "variant"])
    served = served.append_column("rank", pa.array(np.tile(np.arange(1, SLOTS + 1), len(table))))
    served = served.append_column("item_id", pa.array(films[order].ravel() + 1))
    return table, served.append_column("click", pa.array(clicked[order].ravel().astype(np.int64)))


def _interleaved(rng: np.random.Generator, world: World, lists: Mapping[str, Ranked]) -> pa.Table:
    """Returns one row per slot of lists that show the films of two candidates by team draft."""
    visits = rng.poisson(np.exp(1.05 + 0.45 * rng.normal(size=N_INTERLEAVED))) + 1
    user = np.repeat(rng.permutation(N_USERS)[:N_INTERLEAVED], visits)
    rankings = np.stack([_served(lists, run) for run in TEAMS.values()])[:, user]
    teams = drawn_teams(rng, len(user), SLOTS)
    films = team_draft(rankings, teams, N_FILMS)
    clicked, _, _ = _watch(rng, world, user, films)
    return pa.table(
        {
            "request_id": np.repeat(np.arange(1, len(user) + 1), SLOTS),
            "unit_id": np.repeat(user + 1, SLOTS),
            "rank": np.tile(np.arange(1, SLOTS + 1), len(user)),
            "item_id": films.ravel() + 1,
            "team": pa.array(np.array(list(TEAMS))[teams.ravel()].tolist()),
            "clicked": clicked.ravel().astype(np.int64),
        }
    )


def _crossed(rng: np.random.Generator, unit: Ints, arm: Ints, n_arms: int) -> Ints:
    """Returns the arm of each session, where a few units return on another device and are assigned to the
    next arm in their last session.
    """
    last = np.flatnonzero(np.diff(unit, append=-1))
    several = last[np.flatnonzero(np.diff(last, prepend=-1) > 1)]
    moved = rng.permutation(several)[:N_CROSSED]
    crossed = arm.copy()
    crossed[moved] = (arm[moved] + 1) % n_arms
    return crossed


def _served(lists: Mapping[str, Ranked], run: str) -> Ints:
    """Returns [users, slots] the films on the homepage; users without a list of the run are shown the list of
    Popular.
    """
    row = lists[POPULAR][1][:, :SLOTS].copy()
    users, films, _ = lists[run]
    row[users] = films[:, :SLOTS]
    return row


def _watch(rng: np.random.Generator, world: World, user: Ints, films: Ints) -> tuple[Mask, Ints, Ints]:
    """Returns for each session: its clicks by slot, the number of videos watched for more than two minutes,
    and the seconds watched.

    Users go through the slots from the top. They click a film for its appeal and watch it for their
    enjoyment. Those who have finished a film mostly leave; those who have abandoned one continue.
    """
    appeal, enjoyment = world.appeal(season_weight=1.0), world.enjoyment()
    videos, seconds = (np.zeros(len(user), dtype=np.int64) for _ in range(2))
    clicks: Mask = np.zeros(films.shape, dtype=np.bool_)
    here: Mask = np.ones(len(user), dtype=np.bool_)
    for slot in range(SLOTS):
        film = films[:, slot]
        clicked = here & (rng.random(len(user)) < _chance(0.25 * appeal[user, film] - 2.6))
        stayed = clicked & (rng.random(len(user)) < _chance(0.4 * enjoyment[user, film] - 0.3))
        share = np.where(stayed, 0.85 + 0.15 * rng.random(len(user)), 0.12 * rng.random(len(user)))
        spent = np.where(clicked, np.rint(share * 60 * world.runtime_min[film]), 0).astype(np.int64)
        clicks[:, slot] = clicked
        videos, seconds = videos + (spent > 120), seconds + spent
        here &= ~(stayed & (rng.random(len(user)) < 0.7)) & (rng.random(len(user)) < 0.93)
    return clicks, videos, seconds


def _chance(log_odds: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-log_odds))
