"""A shop's and a news site's tests by commands, from files to agreement, reason and report."""

from __future__ import annotations

from pathlib import Path

import pytest
from other_products import (
    CONTROL,
    NEW,
    csv,
    customers,
    lists,
    shop_exposures,
    shop_orders,
    truth,
    visits,
    words_of_videos,
)
from scipy import stats
from terminal import Recdash, as_json

FILES = {
    "truth.csv": csv(truth()).decode(),
    "popular.csv": csv(lists(CONTROL)).decode(),
    "als.csv": csv(lists(NEW)).decode(),
    "shop.csv": csv(customers()).decode(),
    "exposures.csv": csv(shop_exposures()).decode(),
    "orders.csv": csv(shop_orders()).decode(),
    "visits.csv": csv(visits()).decode(),
}
RUNS = (
    "--truth",
    "truth.csv",
    "--run",
    "popular=popular.csv",
    "--run",
    "als=als.csv",
    "--baseline",
    "popular",
)
LINKS = ("--link", "popular=popular", "--link", "als=als")


def added(run: Recdash, *test: str) -> str:
    """What is said of a test that is stored with the runs that it served."""
    assert run("add", "--experiment", "shop", *RUNS).exit_code == 0
    stored = run("online", *test, "--control", CONTROL, "--experiment", "shop", "--test", "November", *LINKS)
    assert stored.exit_code == 0, stored.stderr
    return f"{stored.stdout}{stored.stderr}"


def answers(run: Recdash, *commands: tuple[str, ...]) -> str:
    texts = []
    for command in commands:
        result = run(*command)
        assert result.exit_code == 0, (command, result.stderr)
        texts.append(f"{result.stdout}{result.stderr}")
    return "\n".join(texts)


def result_of(run: Recdash, metric: str, variant: str = NEW) -> dict[str, float]:
    facts = as_json(run, "online", "--experiment", "shop")
    return next(row for row in facts["results"] if (row["metric"], row["variant"]) == (metric, variant))


def everything(run: Recdash, metric: str) -> str:
    """What the commands say of a test: results, agreement, the twelve checks, and the report."""
    offline = ("--experiment", "shop", "--metric", "ndcg@5")
    texts = answers(
        run,
        ("online", "--experiment", "shop"),
        ("agree", *offline, "--online", metric),
        ("why", *offline, "--online", metric),
        ("report", *offline, "-o", "report.html"),
        ("report", *offline, "-o", "report.md"),
    )
    pages = [Path(name).read_text(encoding="utf-8") for name in ("report.md",)]
    return "\n".join([texts, *pages])


@pytest.mark.parametrize("primary", ["revenue", "converted"])
def test_a_shop_with_a_row_per_customer(run: Recdash, primary: str) -> None:
    text = added(run, "--sessions", "shop.csv", "--primary", primary, "--goals", "revenue,converted")
    own = result_of(run, "orders")
    table = customers()
    welch = stats.ttest_ind(
        table.orders[table.variant == NEW], table.orders[table.variant == CONTROL], equal_var=False
    )
    assert own["p"] == pytest.approx(float(welch.pvalue), rel=1e-6)
    assert own["role"] == "other"
    text += everything(run, primary)
    assert "als won both" in text
    assert not words_of_videos(text), words_of_videos(text)


def test_a_shop_with_orders_as_facts_beside_exposures(run: Recdash) -> None:
    text = added(run, "--exposures", "exposures.csv", "--events", "orders.csv", "--primary", "order value")
    table = customers()
    assert result_of(run, "order value")["variant_value"] == pytest.approx(
        table.revenue[table.variant == NEW].mean()
    )
    text += everything(run, "order value")
    assert not words_of_videos(text), words_of_videos(text)


def test_a_news_site_with_sessions_and_retention(run: Recdash) -> None:
    metrics = ("--metric", "reads=reads/sessions", "--metric", "back=retention:day=7")
    text = added(run, "--sessions", "visits.csv", *metrics, "--primary", "back")
    table = visits()
    assert result_of(run, "reads")["variant_value"] == pytest.approx(
        table.reads[table.variant == NEW].sum() / (table.variant == NEW).sum()
    )
    text += everything(run, "back")
    assert not words_of_videos(text), words_of_videos(text)
