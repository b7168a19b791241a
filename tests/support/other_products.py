"""A shop's and a news site's A/B tests, with the lists that their variants served; nothing of videos."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

N = 1_200
"""The number of users per variant."""
CONTROL, NEW = "popular", "als"
"""The variants, which are called like the runs that they served."""
OF_VIDEOS = re.compile(r"\b(video|watch|play(?!wright)|film|movie)\w*", re.IGNORECASE)
"""Words that have no meaning for a shop or a news site."""


def words_of_videos(text: str) -> list[str]:
    """The words about videos in a text, with what is around them."""
    return [text[max(match.start() - 40, 0) : match.end() + 40] for match in OF_VIDEOS.finditer(text)]


def csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False).encode()


def _variant() -> np.ndarray:
    return np.where(np.arange(2 * N) % 2 == 1, NEW, CONTROL)


def customers() -> pd.DataFrame:
    """One row per customer: of 100 in control 55 buy, in new 62, for about 50 each; who spent much before the
    test spends more.
    """
    rng = np.random.default_rng(19)
    is_new = np.arange(2 * N) % 2 == 1
    history = rng.gamma(4.0, 12.5, 2 * N)
    bought = rng.random(2 * N) < np.where(is_new, 0.62, 0.55)
    orders = bought * (1 + rng.poisson(0.4, 2 * N))
    revenue = bought * (0.7 * history + rng.gamma(4.0, 4.0, 2 * N))
    return pd.DataFrame(
        {
            "customer": [f"c{i}" for i in range(2 * N)],
            "variant": _variant(),
            "converted": bought.astype(int),
            "orders": orders,
            "revenue": revenue.round(2),
            "pre_revenue": history.round(2),
            "country": np.where(np.arange(2 * N) % 4 < 2, "SE", "PT"),
        }
    )


def shop_exposures() -> pd.DataFrame:
    """Who saw which checkout, at noon of the first week."""
    return pd.DataFrame(
        {
            "user_id": [f"c{i}" for i in range(2 * N)],
            "variation_id": _variant(),
            "timestamp": [f"2026-11-0{2 + i % 7}T12:00:00Z" for i in range(2 * N)],
        }
    )


def shop_orders() -> pd.DataFrame:
    """The orders of the customers as facts: the whole revenue in one, an hour or two days after exposure."""
    table = customers()
    bought = table[table.converted == 1].index.to_numpy()
    days = 2 + bought % 7 + np.where(bought % 3 == 0, 2, 0)
    return pd.DataFrame(
        {
            "user_id": table.customer[bought],
            "timestamp": [f"2026-11-{day:02d}T13:00:00Z" for day in days],
            "event_name": "order",
            "value": table.revenue[bought],
        }
    )


def visits() -> pd.DataFrame:
    """The sessions of a news site's readers: reads, dwell time and subscriptions, over eleven days.

    Readers of new read more, and more of them are back a week after their first session.
    """
    rng = np.random.default_rng(23)
    is_new, reader = np.arange(2 * N) % 2 == 1, np.arange(2 * N)
    first = 2 + reader % 3
    back = rng.random(2 * N) < np.where(is_new, 0.46, 0.38)
    rows = []
    for day, who in ((0, np.full(2 * N, True)), (1, rng.random(2 * N) < 0.5), (7, back)):
        rows.append(pd.DataFrame({"reader": reader[who], "day": first[who] + day}))
    table = pd.concat(rows, ignore_index=True)
    n, new = len(table), is_new[table.reader]
    taste = rng.gamma(3.0, 1 / 3, 2 * N)[table.reader]
    return pd.DataFrame(
        {
            "reader_id": [f"r{i}" for i in table.reader],
            "session_id": [f"s{i}" for i in range(n)],
            "variant": _variant()[table.reader],
            "start_ts": [f"2026-11-{day:02d}T08:00:00Z" for day in table.day],
            "reads": rng.poisson(np.where(new, 2.3, 2.0) * taste),
            "dwell_s": (rng.lognormal(4.0, 0.7, n) * np.where(new, 1.0, 1.1)).round(1),
            "subscribed": (rng.random(n) < np.where(new, 0.05, 0.04)).astype(int),
        }
    )


# ── offline ──────────────────────────────────────────────────────────────────────────────────

HITS = {CONTROL: 4, NEW: 1}
"""At which rank each run has the user's item: als is better offline, too."""


def truth() -> pd.DataFrame:
    return pd.DataFrame({"user_id": [f"c{i}" for i in range(80)], "item_id": [f"p{i}" for i in range(80)]})


def lists(run: str) -> pd.DataFrame:
    rows = [
        (f"c{user}", f"p{user}" if rank == HITS[run] else f"p{(user + rank) % 80}", rank)
        for user in range(80)
        for rank in range(1, 6)
    ]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])
