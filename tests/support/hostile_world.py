"""An experiment in which everything that people name is made of markup, links and formulas."""

from __future__ import annotations

from typing import Any

import pandas as pd

from recdash.report.reports import Reports
from recdash.service import Workspace

FAMILIES = {
    "html": "<img src=//evil.example/h onerror=pwn()><a href=//evil.example/h>h</a>",
    "markdown": "![m](//evil.example/m.png)[m](http://evil.example/m)",
    "autolink": "www.evil.example a@evil.example",
    "formula": '=HYPERLINK("//evil.example/f")',
}
"""What a name is made of, by family; its first eight characters stay where a chart cuts a name."""
KEPT = 8
FORMULAS = [
    '\ufeff=HYPERLINK("http://evil.example/f")', "  +1+1", "-1+1", "@SUM(1)", "＝1+1", "＋1", "－1",
    "＠SUM(1)", "\t=1+1", "\u200b=1+1", "\u00a0=1+1",
]  # fmt: skip
ALL = " ".join([FAMILIES["formula"], FAMILIES["markdown"], FAMILIES["autolink"], FAMILIES["html"]])
"""Every family in one name, for things of which a page shows one."""
DEPTH = 6
USERS = [f"u{number}" for number in range(40)]
ITEMS = [f"{FAMILIES[family]} i{number}" for number in range(10) for family in FAMILIES]


def names(kind: str) -> list[str]:
    """A name of each family for things of a kind."""
    return [f"{markup} {kind}" for markup in FAMILIES.values()]


def lists(hit_at: int) -> pd.DataFrame:
    """Lists of six: the user's own item at ``hit_at``, of every seventh nowhere; others' items elsewhere."""
    rows = [
        (user, ITEMS[(number + (0 if rank == hit_at and number % 7 else rank)) % len(ITEMS)], rank)
        for number, user in enumerate(USERS)
        for rank in range(1, DEPTH + 1)
    ]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])


def catalogue() -> pd.DataFrame:
    titles = [*names("title"), *FORMULAS] * 4
    values = names("value")
    columns = {name: [values[number % 4] for number in range(len(ITEMS))] for name in names("attribute")}
    return pd.DataFrame({"item_id": ITEMS, "title": titles[: len(ITEMS)], **columns})


def sessions(variants: list[str]) -> pd.DataFrame:
    rows = [
        {
            "unit_id": f"{place}-{user}", "session_id": f"s{user}", "variant": variant,
            "start_ts": f"2026-03-{2 + user % 7:02d}T12:00:00Z",
            "clicks": int(user % (place + 2) == 0), "watch_s": 60.0 * (user % 5 + place),
            "land": names("land")[user % 4],
        }
        for place, variant in enumerate(variants)
        for user in range(80)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def make(workspace: Workspace) -> dict[str, str]:
    """Store it all; ids of the experiment, a run and the report, and the name of a way to cut users."""
    truth = pd.DataFrame({"user_id": USERS, "item_id": ITEMS})
    groups = pd.DataFrame(
        {"user_id": USERS} | {name: [names("group")[n % 4] for n in range(40)] for name in names("part")}
    )
    made = workspace.experiments.create(
        ALL, truth, train=truth.assign(item_id=[*ITEMS[1:], ITEMS[0]]), catalogue=catalogue(),
        user_attributes=groups, depth=DEPTH, note=ALL,
    )  # fmt: skip
    runs = {
        name: workspace.runs.add(
            made.id, lists(DEPTH - place), name=name, tags=names("tag"), note=ALL,
            params={ALL: ALL, "size": str(place)},
        )[0].run.id
        for place, name in enumerate([f"{ALL} base", *names("run"), f"{ALL} best"])
    }  # fmt: skip
    base, *others = runs.values()
    workspace.experiments.set_baseline(made.id, base)
    variants = [f"{ALL} control", *names("variant"), f"{ALL} won"]
    links = dict(zip(variants, runs.values(), strict=True))
    test = workspace.online_tests.add(
        made.id, f"{ALL} test", {"sessions": sessions(variants)}, control=variants[0], links=links
    )
    part = next(name for name in workspace.slices.of(made.id) if name.endswith("part"))
    return {"run": others[0], "part": part, **_journal(workspace, made.id, others, test.id)}


def _journal(workspace: Workspace, experiment: str, runs: list[str], test: str) -> dict[str, str]:
    """What people write: a review, decisions, comments, a report, a view and a link of the experiment."""
    review = workspace.reviews.propose(experiment, runs[0], text=ALL)
    workspace.reviews.add_offline_evidence(review.id, ALL)
    workspace.reviews.add_online_evidence(review.id, test, ALL)
    decided = workspace.decisions.decide(experiment, "inconclusive", text=ALL, about=review.id)
    for name in names("comment"):
        workspace.journal.comment(experiment, decided.id, name)
    question: Any = Reports(workspace).question(experiment)
    report = Reports(workspace).make(question, title=f"{ALL} report", narrative=ALL)
    workspace.sharing.save_view(experiment, "hostile", "leaderboard", {"q": ALL})
    workspace.sharing.share(experiment, label=FAMILIES["markdown"])
    return {"report": report.id}
