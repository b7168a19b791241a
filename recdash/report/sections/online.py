"""An A/B test beside the offline scores of the runs that its variants served, and why they differ."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, cast

from recdash.comparison.headlines import agreement
from recdash.domain.records import OnlineTest
from recdash.errors import RecdashError
from recdash.formatting import numbers
from recdash.formatting.numbers import is_number
from recdash.formatting.records import Row, plain_columns, records
from recdash.formatting.wording import day, listed
from recdash.online.agreement.agreement import DISAGREE
from recdash.online.agreement.join import SPLIT_BROKEN, judged_by
from recdash.online.analysis.judgement import SIGNS, TONES
from recdash.online.analysis.results import OnlineRow, validity_notes
from recdash.report.cells import PERCENT, count, level_numbers, number_of
from recdash.report.context import ReportContext
from recdash.report.document import (
    Cell,
    Column,
    Figure,
    Number,
    Paragraph,
    Part,
    RunName,
    Section,
    Table,
    Tone,
    Word,
)
from recdash.report.ranges import range_of

if TYPE_CHECKING:
    import pandas as pd

MOST_EXPLAINED, MOST_ROWS = 2, 45
SIDES = ("offline_delta", "offline_low", "offline_high")
LIFTS = ("online_lift", "online_low", "online_high")
NOT_JUDGED = "not judged: the split of users is broken"


def online(asked: ReportContext) -> Section | None:
    """None without an A/B test, and where none of its variants is linked to a run."""
    test, metric = asked.test, asked.question.online_metric
    if test is None or metric is None:
        return None
    joined = asked.space.online_tests.offline_online(test.id, asked.question.metric, asked.question.k, metric)
    rows = joined[joined["quadrant"] != "control"]
    rows = rows[rows["run_id"].isin(list(asked.names))].reset_index(drop=True)
    if rows.empty:
        return None
    results = asked.space.online_tests.online_results(test.id)
    title = str(results.loc[results["metric"] == metric, "title"].iloc[0])
    parts: list[Part] = [*_broken(test), *_figures(asked, test, rows, title)]
    parts += [Paragraph(text) for text in rows["sentence"]]
    told = asked.space.agreement.agreement(test.id, asked.question.metric, asked.question.k, metric).sentences
    parts += [Paragraph(text, "muted") for text in told]
    parts += _why(asked, test, rows)
    parts.append(_all_lifts(asked, test, results))
    parts += _validity(test, results, metric)
    return Section("online", agreement(list(rows["quadrant"])), _note(asked, test, title), tuple(parts))


def small(title: str) -> str:
    """For the middle of a sentence."""
    return f"{title[:1].lower()}{title[1:]}"


def is_broken(test: OnlineTest) -> bool:
    return any(notice.code == SPLIT_BROKEN for notice in test.notices)


def _broken(test: OnlineTest) -> Iterable[Paragraph]:
    return (
        Paragraph(f"The split of users is broken, nothing is judged: {notice}", "worse")
        for notice in test.notices
        if notice.code == SPLIT_BROKEN
    )


def _note(asked: ReportContext, test: OnlineTest, title: str) -> str:
    return (
        f"{test.name}, {day(test.created)}: {asked.where} offline, {small(title)} online. "
        "A run keeps its place and colour on both sides; filled bars exclude zero."
    )


# ── both sides ───────────────────────────────────────────────────────────────────────────────


def _base(asked: ReportContext, test: OnlineTest) -> str:
    """Whom both sides compare with."""
    run = test.links.get(test.control) or asked.experiment.baseline
    return asked.names.get(run or "", "the control")


def _figures(asked: ReportContext, test: OnlineTest, rows: pd.DataFrame, title: str) -> list[Part]:
    base, judged = _base(asked, test), not is_broken(test)
    has_differences = any(is_number(value) for value in rows["offline_delta"])
    table = _table(asked, rows, title, judged=judged)
    sides = [(f"Online: {title}, lift over {base}, %", LIFTS, True)]
    if has_differences:
        sides.insert(0, (f"Offline: {asked.where}, difference to {base}", SIDES, False))
    found: list[Part] = [
        Figure(
            kind="bars", title=heading, note="95 % intervals",
            alt=_alt(asked, rows, heading, names[0], lifted=lifted),
            data={"rows": plain_columns(rows, ["run_id", *names]), "lifts": lifted, "judged": judged},
            table=_side_table(rows, heading, names, lifted=lifted), wide=False,
        )
        for heading, names, lifted in sides
    ]  # fmt: skip
    if has_differences:
        found.append(_quadrants(asked, rows, base, title, table, judged=judged))
    return found if has_differences else [*found, table]


def _alt(asked: ReportContext, rows: pd.DataFrame, heading: str, name: str, *, lifted: bool) -> str:
    scale, unit = (100, PERCENT) if lifted else (1, "")
    told = [
        f"{asked.brief[row['run_id']]} {numbers.three(scale * row[name])}{unit}"
        for row in records(rows)
        if is_number(row[name])
    ]
    return f"{heading}. {listed(told)}."


def _side_table(rows: pd.DataFrame, heading: str, names: tuple[str, ...], *, lifted: bool) -> Table:
    scale = 100 if lifted else 1
    ends = list(zip(rows[names[1]], rows[names[2]], strict=True))
    values, bounds = level_numbers(list(rows[names[0]]), ends, unit=PERCENT if lifted else "", scale=scale)
    lines = tuple(
        (RunName(run), value, interval)
        for run, value, interval in zip(rows["run_id"], values, bounds, strict=True)
    )
    columns = (
        Column("Run"),
        Column("Lift" if lifted else "Difference", number=True),
        Column("95 % CI", number=True),
    )
    return Table(heading, columns, lines)


def _quadrants(
    asked: ReportContext, rows: pd.DataFrame, base: str, title: str, table: Table, *, judged: bool
) -> Figure:
    odd = [f"{row['run']} {row['quadrant']}" for row in records(rows) if row["quadrant"] in DISAGREE]
    heading = "; ".join(odd[:MOST_EXPLAINED]) or (
        "No settled disagreement" if judged else "Nothing is judged"
    )
    told = [
        f"{asked.brief[row['run_id']]} {row['quadrant'] if judged else NOT_JUDGED}" for row in records(rows)
    ]
    return Figure(
        kind="quadrants", title=heading,
        note="Offline difference against online lift. Crosses: 95 % intervals; hollow: not settled.",
        alt=f"{listed(told)}.",
        data={
            "rows": plain_columns(rows, ["run_id", *SIDES, *LIFTS]), "judged": judged,
            "titles": [f"Offline: difference in {asked.where} to {base}", f"Online: lift in {title}, %"],
        },
        table=table,
    )  # fmt: skip


def _table(asked: ReportContext, rows: pd.DataFrame, title: str, *, judged: bool) -> Table:
    """Run by run: both sides, and how they agree."""
    offline, below = level_numbers(
        list(rows["offline_delta"]), list(zip(rows["offline_low"], rows["offline_high"], strict=True))
    )
    lifts, above = level_numbers(
        list(rows["online_lift"]), list(zip(rows["online_low"], rows["online_high"], strict=True)),
        unit=PERCENT, scale=100,
    )  # fmt: skip
    lines: list[tuple[Cell, ...]] = [
        (
            RunName(row["run_id"]), row["variant"], off, off_ci, on, on_ci,
            row["quadrant"] if judged else "not judged",
        )
        for row, off, off_ci, on, on_ci in zip(records(rows), offline, below, lifts, above, strict=True)
    ]  # fmt: skip
    columns = (
        Column("Run"), Column("Variant"), Column(f"Offline, {asked.where}", number=True),
        Column("95 % CI, offline", number=True), Column(f"Online, {small(title)}", number=True),
        Column("95 % CI, online", number=True), Column("Reading"),
    )  # fmt: skip
    return Table("Offline and online, run by run", columns, tuple(lines))


# ── why, and everything that the test measured ───────────────────────────────────────────────


def _why(asked: ReportContext, test: OnlineTest, rows: pd.DataFrame) -> list[Paragraph]:
    """The summary of the checks, of the variants that disagree."""
    odd = [row["variant"] for row in records(rows) if row["quadrant"] in DISAGREE][:MOST_EXPLAINED]
    return [paragraph for variant in odd for paragraph in _explained(asked, test, variant)]


def _explained(asked: ReportContext, test: OnlineTest, variant: str) -> list[Paragraph]:
    one = asked.question
    try:
        found = asked.space.diagnosis.explain(test.id, variant, one.metric, one.k, one.online_metric or "")
    except RecdashError as error:
        return [Paragraph(f"{variant} cannot be explained here: {error}", "muted")]
    return [Paragraph(f"{found.question} {found.summary}")]


def _all_lifts(asked: ReportContext, test: OnlineTest, results: pd.DataFrame) -> Table:
    """Goals and guardrails by variant, the chosen metric first; as many metrics as there is room for."""
    chosen = asked.question.online_metric
    rows = [row for row in records(results) if row["role"] != "other" or row["metric"] == chosen]
    metrics = list(dict.fromkeys((str(chosen), *(row["metric"] for row in rows))))
    n_variants = max(1, len({row["variant"] for row in rows}))
    told = metrics[: max(1, MOST_ROWS // n_variants)]
    rows = sorted((row for row in rows if row["metric"] in told), key=lambda row: told.index(row["metric"]))
    lines = [_lift_row(row, judged=not is_broken(test)) for row in rows]
    columns = (
        Column("Online metric"), Column("Variant"), Column("Value", number=True),
        Column("Lift", number=True), Column("95 % CI", number=True), Column("Finding"),
        Column("n", number=True),
    )  # fmt: skip
    bands = tuple(place for place, row in enumerate(rows) if row["is_control"])
    users = range_of(row["n_users"] for row in rows)
    more = f" {len(metrics) - len(told)} more metrics are left out." if len(metrics) > len(told) else ""
    note = f"Lift over the control; intervals are corrected together for the goals. n = {users} per variant."
    return Table(f"{test.name}: goals and guardrails", columns, tuple(lines), f"{note}{more}", bands)


def _validity(test: OnlineTest, results: pd.DataFrame, chosen: str) -> list[Paragraph]:
    """What the page of the test says below its lifts, of goals, guardrails and the chosen metric."""
    if is_broken(test):
        return []
    names = [field.name for field in fields(OnlineRow)]
    rows = [OnlineRow(**{name: row[name] for name in names}) for row in records(results)]
    told = validity_notes(row for row in rows if row.role != "other" or row.metric == chosen)
    return [Paragraph(text, "muted") for text in told]


def _lift_row(row: Row, *, judged: bool) -> tuple[Cell, ...]:
    low, high = judged_by(row)
    lift, bounds = level_numbers([row["lift"]], [(low, high)], unit=PERCENT, scale=100)
    control = Word("", "control", "muted")
    change: tuple[Cell, ...] = (
        (Number(None, why="the control itself"), Number(None, why="the control itself"), control)
        if row["is_control"]
        else (lift[0], bounds[0], _finding(row, judged=judged))
    )
    return row["title"], row["variant"], _value(row), *change, count(int(row["n_users"]))


def _value(row: Row) -> Number:
    """A share is read in %."""
    share = row["unit"] == "0..1"
    scale, unit = (100, PERCENT) if share else (1, f" {row['unit']}" if row["unit"] else "")
    value = number_of(row["value"])
    decimals = numbers.places([None if value is None else value * scale])
    return Number(
        value, decimals, unit=unit, scale=scale, why="" if value is not None else str(row["note"] or "")
    )


def _finding(row: Row, *, judged: bool) -> Word:
    """The word of the test itself: a guardrail, and a metric of which less is better, have their own."""
    if not judged:
        return Word("", "not judged", "muted")
    word = str(row["word"] or "")
    return Word(SIGNS[word], word, cast("Tone", TONES.get(word, "same"))) if word else Word("", "–", "muted")
