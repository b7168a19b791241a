"""Recognises the kind of a single file, by one rule per kind of table; the rules are applied in order."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from recdash.domain.kinds import Ints, TableKind
from recdash.formatting.wording import listed
from recdash.ingest.attributes import without_counts_before_test
from recdash.ingest.cells import holding
from recdash.ingest.column_inference import HELD_OUT, PREDICTED, is_distance
from recdash.ingest.columns import (
    CLICK,
    CLICKED,
    CREDIT,
    CREDIT_A,
    CREDIT_B,
    EVENT,
    ITEM_A,
    ITEM_B,
    LOGGED_PROPENSITY,
    MEAN,
    METRIC,
    PREDICTION,
    PROBABILITY,
    RANK,
    RANK_A,
    RANK_B,
    RATING,
    RELEVANCE,
    REQUEST,
    RUN,
    SESSION,
    SUCCESSES,
    TEAM,
    TIME,
    TRIALS,
    UNIT,
    USERS,
    VARIANCE,
    VARIANT,
    VECTOR,
    names_of,
    plain,
    wide_families,
)  # fmt: skip
from recdash.ingest.id_columns import (
    MOST_VARIANTS,
    IdColumns,
    are_positions,
    columns_of_units,
    is_attributes,
)
from recdash.ingest.looks import ColumnLook, Look
from recdash.ingest.moment_columns import moment_columns
from recdash.ingest.values import ORDINAL

Confidence = Literal["sure", "likely", "unsure"]
FEWEST = 5
"""Smallest number of users, and of rows of each user, from which a conclusion is drawn."""
CLEAR = 0.9
"""Smallest share of rows, lists or users that must agree."""
MANY_NUMBERS = 8
"""Smallest number of columns of numbers for which a row is taken as a vector."""
FIRST_CELLS = 200
MOST_GRADES = 11
"""Largest number of distinct whole numbers that may be grades: 0 to 10."""
MOMENTS = ("ts", "timestamp", "time", "datetime", "eventtime", "eventts", "createdat", "occurredat")
RESULTS = (
    "orders", "ordered", "revenue", "conversion", "conversions", "converted", "purchases", "purchased",
    "sales", "clicks", "clicked", "sessions", "visits", "pageviews", "gmv", "turnover", "addtocart",
)  # fmt: skip
"""Columns of numbers that are results of a test rather than attributes of users."""
TRUTH_WORDS = ("truth", "groundtruth", "holdout", "heldout", "actual", "qrels")
"""Words in a file's name that mean the test set; the names of recommendations may contain "test"."""
PAIRS_OF: tuple[TableKind, ...] = ("truth", "train", "run")
OF_A_TEST: tuple[TableKind, ...] = ("sessions", "exposures", "served", "aggregates")
"""Kinds of tables of an A/B test that have variants."""


@dataclass(frozen=True)
class SortedFile:
    """What kind of table a file is taken for.

    ``kind`` is None if none fits; if the confidence is ``unsure``, a person must choose. ``reasons`` are
    sentences. ``alternatives`` are the other kinds that fit, likeliest first. ``mapping`` is {role: column}
    of columns that were recognised by their values and not by their names.
    """

    kind: TableKind | None
    confidence: Confidence
    reasons: tuple[str, ...] = ()
    alternatives: tuple[TableKind, ...] = ()
    mapping: Mapping[str, str] = field(default_factory=dict)


OF_FORMATS: Mapping[str, SortedFile] = {
    "TREC qrels": SortedFile("truth", "sure", ("It is a TREC qrels.",)),
    "TREC run": SortedFile("run", "sure", ("It is a TREC run.",)),
    "JSON by model": SortedFile("run", "sure", ("It has the lists of several models.",)),
}
"""Formats that only one kind of table has."""
OPEN = SortedFile(None, "unsure")
"""A file of users and items that may be the test set, the training data, or lists in file order."""


def sort_alone(facts: FileFacts) -> SortedFile:
    """Returns the kind of a file, judged without other files.

    Returns ``OPEN`` for interactions, whose kind only a comparison with other files shows.
    """
    if not facts.look.columns:
        return SortedFile(None, "unsure", ("It cannot be read.",))
    sure = next((is_sorted for rule in RULES if (is_sorted := rule(facts)) is not None), None)
    return sure or _unknown(facts)


def _unknown(facts: FileFacts) -> SortedFile:
    """Returns what a file may be to which no rule applies."""
    variant = _variant(facts)
    if variant is not None:
        units = columns_of_units(facts.look, facts.ids)
        quoted = listed([f"'{column}'" for column in units], joint="or")
        users = f"and {quoted} may hold its users" if units else "but no column looks like users"
        reason = f"'{variant}' may hold the variants of an A/B test, {users}."
        return SortedFile(None, "unsure", (reason,), ("sessions", "exposures", "users"))
    reason = "No column looks like users, items or variants."
    return SortedFile(None, "unsure", (reason,), ("truth", "run", "train", "sessions", "catalogue", "users"))


class FileFacts:
    """The first rows of a file, with the questions that the rules ask about them."""

    def __init__(self, look: Look, ids: IdColumns, others: frozenset[str] = frozenset()) -> None:
        """``others`` are the names of the other files without suffixes, which may be those of variants."""
        self.look, self.ids, self.names_of_others = look, ids, others
        self.user, self.item = ids.user, ids.item
        taken = (ids.user, ids.item)
        self.others = [column for column in look.columns if column not in taken]
        self.words = set(re.split(r"[\W_\d]+", look.name.lower()))

    def named(self, names: Sequence[str]) -> str | None:
        """Returns the column with one of these names that has neither users nor items.

        Returns None if there is none.
        """
        return self.look.first_of(names, (self.user, self.item)) if self.look.has_header else None

    def numbers(self) -> list[str]:
        return [column for column in self.others if self.look.by_name[column].is_number]

    def unnamed(self) -> list[str]:
        """Returns the columns of numbers whose names mean neither relevance nor time."""
        said = {*names_of(RELEVANCE), *names_of(TIME)} if self.look.has_header else set()
        return [column for column in self.numbers() if plain(column) not in said]

    def lists(self) -> list[str]:
        """Returns the columns whose cells contain lists; the item column comes first."""
        others = [c for c in self.look.columns if c not in self.look.lists and c != self.user]
        texts = [column for column in others if not self.look.by_name[column].is_number]
        values = {column: self.look.by_name[column].filled[:FIRST_CELLS] for column in texts}
        cells = [column for column in texts if holding(values[column]) == "list"]
        return sorted([*self.look.lists, *cells], key=lambda column: column != self.item)

    def holds_variants(self, column: str) -> bool:
        """Returns True if several values of the column are names of other files, as of candidates in a test.

        Beside a column of items they are the candidates of a run.
        """
        return self.item is None and len(self.look.by_name[column].distinct & self.names_of_others) > 1

    def name_contains(self, words: Sequence[str]) -> bool:
        """Returns True if the file's name contains one of the words."""
        return bool(self.words & set(words))

    def groups(self) -> tuple[Ints, Ints]:
        """Returns [rows] the code of each row's user, and the row numbers sorted by user.

        The rows of a user stay in file order.
        """
        codes = self.look.by_name[self.user].codes if self.user else np.zeros(0, np.int64)
        return codes, np.argsort(codes, kind="stable")

    def lengths(self) -> Ints:
        """Returns the number of first rows of each user.

        The last user is left out if more of its rows may follow, unless it is the only user.
        """
        codes, _ = self.groups()
        if not len(codes):
            return codes
        counts = np.bincount(codes)
        return counts if self.look.is_whole or len(counts) == 1 else np.delete(counts, codes[-1])

    @property
    def are_lists_alike(self) -> bool:
        """Returns True if nearly all of several users have the same number of rows, as in lists."""
        counts = np.bincount(self.lengths())
        usual = int(counts.argmax()) if len(counts) else 0
        total = int(counts.sum())
        return total >= FEWEST and usual >= FEWEST and int(counts[usual]) >= CLEAR * total


Rule = Callable[[FileFacts], SortedFile | None]


def _by_format(facts: FileFacts) -> SortedFile | None:
    return OF_FORMATS.get(facts.look.format)


def _of_a_test(facts: FileFacts) -> SortedFile | None:
    """Returns a table of an A/B test if the file has a column of variants, events or requests; else None."""
    variant, metric = _variant(facts), facts.named(names_of(METRIC))
    if variant and (summary := _aggregated(facts, variant, metric)) is not None:
        return summary
    if (interleaved := _interleaved(facts, variant)) is not None:
        return interleaved
    request, event = facts.named(names_of(REQUEST)), facts.named(names_of(EVENT))
    if request and facts.item and facts.named(names_of(RANK)) and not event:
        return SortedFile("served", "sure", (f"'{request}' names the requests that items were served for.",))
    session = facts.named(names_of(SESSION))
    if event and (facts.user or session) and not variant and facts.named((*names_of(TIME), *MOMENTS)):
        reason = f"'{event}' says what a user did, and when."
        return SortedFile("events", "sure" if session else "likely", (reason,), ("train",))
    return _with_variant(facts, variant) if variant and facts.user else None


def _interleaved(facts: FileFacts, variant: str | None) -> SortedFile | None:
    """Returns an interleaving test if requests have teams and clicks, two ranks, or credits; else None."""
    request = facts.named(names_of(REQUEST))
    if request is None:
        return None
    for roles in ((RANK_A, RANK_B), (CREDIT_A, CREDIT_B)):
        first, second = (facts.named(names_of(role)) for role in roles)
        if first and second:
            reason = f"'{first}' and '{second}' are of the two rankings of each request."
            return SortedFile("interleaving", "sure", (reason,))
    team, earned = facts.named(names_of(TEAM)), facts.named((*names_of(CLICKED), *names_of(CREDIT)))
    if team is None or earned is None or variant is not None:
        return None
    reason = f"'{team}' says from which ranking each item of a request came, '{earned}' what it earned."
    is_sure = plain(team) in names_of(TEAM)[:TEAM_NAMES]
    return SortedFile("interleaving", "sure" if is_sure else "likely", (reason,), ("served",))


TEAM_NAMES = 4
"""Number of names of a column of teams that mean nothing else."""


def _aggregated(facts: FileFacts, variant: str, metric: str | None) -> SortedFile | None:
    """Returns an aggregated table if it has rows of metrics or of variants, or sums over users; else None."""
    summary = [facts.named(names_of(role)) for role in (MEAN, SUCCESSES, VARIANCE, TRIALS, USERS)]
    if metric and any(summary):
        reason = f"'{variant}' holds variants, with one row per metric."
        return SortedFile("aggregates", "sure", (reason,))
    if _has_moments(facts, has_metrics=metric is not None):
        reason = f"'{variant}' holds variants, beside sums over users and their squares."
        return SortedFile("aggregates", "sure", (reason,))
    has_units = facts.user is not None and plain(facts.user) not in names_of(USERS)
    if facts.look.by_name[variant].is_unique and facts.look.is_whole and not has_units:
        return SortedFile("aggregates", "likely", (f"Each row is one variant ('{variant}').",), ("sessions",))
    return None


def _has_moments(facts: FileFacts, *, has_metrics: bool) -> bool:
    """Returns True if the columns have numbers of users, and the squares or variance of some total."""
    moments = moment_columns(facts.look.columns, of_one_metric=has_metrics).values()
    return facts.named(names_of(USERS)) is not None and any(moment.is_second for moment in moments)


def _variant(facts: FileFacts) -> str | None:
    """Returns the column of variants, recognised by its name or by values such as control.

    Returns None without one.
    """
    named = facts.named(names_of(VARIANT))
    columns = [named] if named else [column for column in facts.others if column not in facts.look.lists]
    for column in columns:
        values = facts.look.by_name[column].distinct
        is_told = named is not None or facts.look.by_name[column].has_variants or facts.holds_variants(column)
        if 2 <= len(values) <= MOST_VARIANTS and is_told and column not in facts.look.lists:
            return column
    return None


def variants_of(facts: FileFacts) -> frozenset[str]:
    """Returns the names of the variants in a file of an A/B test, in a common spelling of ids."""
    variant = _variant(facts)
    return frozenset() if variant is None else facts.look.by_name[variant].distinct


def _with_variant(facts: FileFacts, variant: str) -> SortedFile:
    """Returns sessions or exposures; both have units and variants, but only sessions have numbers."""
    values = facts.look.by_name[variant]
    reason = f"'{variant}' has {len(values.distinct)} values and '{facts.user}' holds users: an A/B test."
    is_named = facts.named(names_of(VARIANT)) == variant
    mapping = {} if is_named else {"variant": variant}
    if facts.look.has_header and plain(str(facts.user)) not in names_of(UNIT):  # a name of users elsewhere
        mapping["unit_id"] = str(facts.user)
    moments = {facts.named((name,)) for name in (*MOMENTS, "exposedat", "date", "startts", "start")}
    session = facts.named(names_of(SESSION))
    apart = {facts.user, variant, session, *moments}
    free = [facts.look.by_name[column] for column in facts.look.columns if column not in apart]
    numbers = [column.name for column in free if column.is_number and not column.is_time]
    has_results_only = is_named and len(numbers) == len(free) and any(plain(n) in RESULTS for n in numbers)
    # a column called group, or values a and b, may be an attribute of users too
    is_clear = (
        values.has_sure_variants
        or (is_named and plain(variant) != "group")
        or facts.holds_variants(variant)
        or has_results_only
    )
    if not is_clear and facts.look.by_name[str(facts.user)].is_unique and not moments - {None}:
        reason = f"'{variant}' may hold variants, or an attribute of users."
        return SortedFile("sessions", "unsure", (reason,), ("users", "exposures"), mapping)
    if numbers:
        counted = without_counts_before_test(numbers)
        reason_of_numbers = f"Its numbers are counted per row: {', '.join(counted[:4])}."
        return SortedFile("sessions", "likely", (reason, reason_of_numbers), ("exposures",), mapping)
    reasons = (reason, "It says who saw which variant.")
    return SortedFile("exposures", "likely", reasons, ("sessions", "users"), mapping)


def _of_a_policy(facts: FileFacts) -> SortedFile | None:
    """Returns an off-policy log, or a table of a policy's probabilities; None if the file is neither."""
    click, propensity = facts.named(names_of(CLICK)), facts.named(names_of(LOGGED_PROPENSITY)[:5])
    if facts.item and click and propensity and facts.user is None:
        return SortedFile("bandit", "sure", (f"'{propensity}' says how likely each shown item was.",))
    probability = facts.named(names_of(PROBABILITY))
    if facts.item and probability and facts.user is None and not facts.look.by_name[facts.item].is_unique:
        return SortedFile(
            "policy", "likely", (f"'{probability}' says how likely each item is.",), ("catalogue",)
        )
    return None


def _of_two_items(facts: FileFacts) -> SortedFile | None:
    first, second = facts.look.first_of(names_of(ITEM_A)[:7]), facts.look.first_of(names_of(ITEM_B))
    if first and second and facts.user is None and facts.look.has_header:
        return SortedFile("similarity", "sure", (f"'{first}' and '{second}' are pairs of items.",))
    return None


def _rated(facts: FileFacts) -> SortedFile | None:
    """Returns rating predictions if the file has true and predicted ratings; else None."""
    actual = facts.named([name for name in names_of(RATING) if name != "score"])
    predicted = facts.look.first_of(names_of(PREDICTION), (facts.user, facts.item, actual))
    if not (facts.user and facts.item and actual and predicted and facts.look.has_header):
        return None
    if facts.named(names_of(RANK)) or not facts.look.by_name[predicted].is_number:
        return None
    return SortedFile(
        "predictions", "sure", (f"'{actual}' and '{predicted}' are true and predicted ratings.",)
    )


def _of_lists(facts: FileFacts) -> SortedFile | None:
    """Returns a run, a truth or vectors if the file has lists in cells or in numbered columns; else None."""
    if facts.named(names_of(VECTOR)) in facts.lists() and facts.item and not facts.user:
        return SortedFile("vectors", "sure", ("Each item has a vector.",))
    lists = facts.lists()
    wide = [family for family in wide_families(facts.others) if not _all_decimals(facts, family)]
    is_attribute = facts.user is None and facts.item is not None and facts.item not in lists
    if is_attribute or (not lists and (facts.user is None or not wide)):
        return None
    reason = f"'{lists[0]}' holds a list per row." if lists else f"'{wide[0][0]}' … hold a list per row."
    held_out = [column for column in lists if plain(column) in HELD_OUT]
    if (held_out and len(lists) == len(held_out)) or facts.name_contains(TRUTH_WORDS):
        return SortedFile("truth", "likely", (reason, "Its name says that these are test items."), ("run",))
    return SortedFile("run", "likely", (reason,), ("truth",))


def _all_decimals(facts: FileFacts, family: Sequence[str]) -> bool:
    looks = [facts.look.by_name[column] for column in family]
    return all(column.is_number for column in looks) and not all(column.is_whole for column in looks)


def _of_pairs(facts: FileFacts) -> SortedFile | None:
    """Returns a run if the file has a rank or score with one row per item; ``OPEN`` for other interactions.

    Returns None if it lacks users or items.
    """
    if facts.user is None or facts.item is None:
        return None
    model = facts.named(names_of(RUN))
    several = model is not None and 1 < len(facts.look.by_name[model].distinct) <= 100
    rank, by_name = _rank(facts)
    if rank:
        mapping = {} if by_name or not facts.look.has_header else {"rank": rank}
        reason = f"'{rank}' counts the positions of each user's list."
        return SortedFile("run", "sure" if by_name else "likely", (reason,), ("truth",), mapping)
    score, is_sure = _score(facts)
    if score:
        mapping = {} if is_sure or not facts.look.has_header else {"score": score}
        reason = f"'{score}' is a score." if is_sure else f"'{score}' falls from row to row of each user."
        return SortedFile("run", "sure" if is_sure else "likely", (reason,), ("truth", "train"), mapping)
    if several and not facts.named(names_of(RELEVANCE)):
        return SortedFile("run", "likely", (f"'{model}' names several candidates.",), ("truth",))
    return OPEN


def _rank(facts: FileFacts) -> tuple[str | None, bool]:
    """Returns the column of ranks and whether its name says so; (None, False) without one.

    A column without such a name must count 1, 2, 3 … in each list; the rows of a list may be in any order,
    unless the column falls along all of them, as scores do.
    """
    named = facts.named(names_of(RANK))
    if named and _holds_ranks(facts.look.by_name[named]):
        return named, True
    counting = [
        column for column in facts.unnamed() if _counts_up(facts, column) or _is_shuffled(facts, column)
    ]
    return (counting[0], False) if counting else (None, False)


def _holds_ranks(column: ColumnLook) -> bool:
    """Returns whether a column that is named like ranks holds whole numbers, or #1, or 1st."""
    is_whole = column.is_whole or (bool(column.filled) and all(re.match(ORDINAL, v) for v in column.filled))
    return is_whole and not column.is_time


def _counts_up(facts: FileFacts, column: str) -> bool:
    look = facts.look.by_name[column]
    codes, order = facts.groups()
    if not look.is_whole or len(codes) < 2 * (codes.max(initial=0) + 1):
        return False
    values = look.numbers[order]
    begins = np.flatnonzero(np.diff(codes[order], prepend=-1))
    place = np.arange(len(values)) - np.repeat(begins, np.diff(begins, append=len(values)))
    first = values[0]
    return first in (0, 1) and bool((values - first == place).mean() >= CLEAR)


def _is_shuffled(facts: FileFacts, column: str) -> bool:
    """Returns True if the column numbers the rows of each user, in another order than that of the file."""
    return _numbers_rows(facts, column) and not _falls(facts, column)


def _numbers_rows(facts: FileFacts, column: str) -> bool:
    look = facts.look.by_name[column]
    return look.is_whole and are_positions(facts.groups()[0], look.numbers)


def _score(facts: FileFacts) -> tuple[str | None, bool]:
    """Returns the column of scores and whether its name says so; (None, False) without one.

    The values of a column without such a name must fall along each list.
    """
    named = facts.named((*PREDICTED, "confidence", "affinity", "similarity", "sim"))
    if named is None:
        named = next((c for c in facts.numbers() if is_distance(c) and facts.look.has_header), None)
    if named:
        look = facts.look.by_name[named]
        grades = look.is_whole and len(look.distinct) <= MOST_GRADES
        may_be_grades = grades and not _falls(facts, named) and not facts.are_lists_alike
        return (None, False) if may_be_grades else (named, True)
    free = [column for column in facts.unnamed() if not facts.look.by_name[column].is_time]
    falling = [
        column
        for column in free
        if len(facts.look.by_name[column].distinct) > MOST_GRADES or _numbers_rows(facts, column)
    ]
    return next((column for column in falling if _falls(facts, column)), None), False


def _falls(facts: FileFacts, column: str) -> bool:
    """Returns True if nearly all values fall, or stay the same, from row to row of a user, and some fall."""
    codes, order = facts.groups()
    steps = np.diff(facts.look.by_name[column].numbers[order])[np.diff(codes[order]) == 0]
    has_steps_of_all = len(steps) > int(codes.max(initial=0))
    return has_steps_of_all and bool((steps <= 0).mean() >= CLEAR) and bool((steps < 0).any())


def _of_attributes(facts: FileFacts) -> SortedFile | None:
    """Returns a catalogue, users or vectors if the file has only users or only items; else None."""
    for column, kind, noun in ((facts.item, "catalogue", "item"), (facts.user, "users", "user")):
        other = facts.user if kind == "catalogue" else facts.item
        if column is None or other is not None:
            continue
        if kind == "catalogue" and _is_vector(facts):
            return SortedFile("vectors", "likely", ("Each item has many numbers: a vector.",), ("catalogue",))
        known: TableKind = "catalogue" if kind == "catalogue" else "users"
        reason = f"Each row is one {noun} ('{column}')."
        if is_attributes(facts.look, facts.ids):
            return SortedFile(known, "sure", (reason,))
        return SortedFile(known, "unsure", (f"'{column}' holds {noun}s, several rows each.",), PAIRS_OF)
    return None


def _is_vector(facts: FileFacts) -> bool:
    if facts.named(names_of(VECTOR)):
        return True
    decimals = [c for c in facts.numbers() if not facts.look.by_name[c].is_whole]
    return len(decimals) >= MANY_NUMBERS and len(decimals) >= CLEAR * len(facts.others)


RULES: tuple[Rule, ...] = (
    _by_format, _of_two_items, _of_a_test, _of_a_policy, _rated, _of_lists, _of_pairs, _of_attributes,
)  # fmt: skip
