"""What results show of themselves in a terminal and a notebook: few lines, escaped HTML, and figures."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from interleaved_tables import team_draft

import recdash
from recdash.errors import InputError, UnknownName
from recdash.formatting.display import Display

MOST_LINES = 15
EVIL = "<script>alert(1)</script>"


class Cells(HTMLParser):
    """The tags of a page and the texts of its table's cells, row by row."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.rows: list[list[str]] = []
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: ARG002
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.inside = True
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data


def lists(seed: int, n_users: int = 60) -> pd.DataFrame:
    chance = np.random.default_rng(seed)
    rows = [
        (f"u{user}", f"i{item}", rank)
        for user in range(n_users)
        for rank, item in enumerate(chance.permutation(30)[:20], 1)
    ]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])


def truth(n_users: int = 60) -> pd.DataFrame:
    users = np.repeat(np.arange(n_users), 3)
    items = [f"i{(7 * user + 11 * place) % 30}" for place, user in enumerate(users)]
    return pd.DataFrame({"user_id": [f"u{user}" for user in users], "item_id": items})


def evaluation(n_runs: int = 2, **options: Any) -> recdash.Evaluation:
    return recdash.evaluate({f"run {seed}": lists(seed) for seed in range(n_runs)}, truth(), **options)


def ab_table() -> pd.DataFrame:
    chance = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "user_id": [f"u{user}" for user in range(600)],
            "variant": ["a", "b", EVIL] * 200,
            "revenue": chance.lognormal(size=600),
            "orders": chance.integers(0, 4, 600),
        }
    )


def log() -> pd.DataFrame:
    chance = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "unit_id": [f"u{row % 200}" for row in range(3000)],
            "item_id": chance.integers(0, 3, 3000).astype(str),
            "click": chance.integers(0, 2, 3000),
            "propensity_score": 1 / 3,
        }
    )


def results() -> dict[str, Any]:
    scores = evaluation(3)
    comparison = scores.compare("ndcg@10", "run 0")
    return {
        "evaluation": scores,
        "many runs": evaluation(12),
        "comparison": comparison,
        "verdict": comparison.verdict,
        "test": recdash.ab_test(sessions=ab_table(), control="a"),
        "off-policy": recdash.ope(log(), target="uniform"),
        "interleaving": recdash.interleaving(team_draft(), control="popular"),
    }


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    return results()


def test_each_result_is_printed_in_fifteen_lines(shown: dict[str, Any]) -> None:
    lines = {name: repr(result).splitlines() for name, result in shown.items()}
    assert {name: len(given) for name, given in lines.items() if len(given) > MOST_LINES} == {}
    assert {name: line for name, given in lines.items() for line in given if len(line) > 400} == {}


def test_each_result_is_html_in_which_names_are_text(shown: dict[str, Any]) -> None:
    for result in shown.values():
        page = Cells(result._repr_html_())
        assert not page.tags & {"script", "style", "a", "img"}
        assert "p" in page.tags
    assert any(EVIL in row for row in Cells(shown["test"]._repr_html_()).rows)


def test_the_table_of_an_evaluation_has_its_scores(shown: dict[str, Any]) -> None:
    scores = shown["evaluation"]
    header, *rows = Cells(scores._repr_html_()).rows
    assert header == ["metric", "run 0", "run 1", "run 2"]
    table = scores.table().set_index(["metric", "k", "run"])["value"]
    by_name = {row[0]: row[1:] for row in rows}
    assert by_name["ndcg@10"] == [f"{table['ndcg', 10, f'run {run}']:#.3g}" for run in range(3)]
    assert "ndcg@10" in by_name
    assert "ndcg@5" not in by_name


def test_runs_that_do_not_fit_are_counted(shown: dict[str, Any]) -> None:
    assert "… and 4 more candidates" in repr(shown["many runs"])


def test_warnings_say_what_was_decided(shown: dict[str, Any]) -> None:
    doubled = pd.concat([truth(), truth()])
    scores = recdash.evaluate({"als": lists(1)}, doubled, metrics=["mrr@10"])
    assert ["180 duplicate (user, item) rows" in warning for warning in scores.warnings] == [True]
    assert "1 warning: .warnings" in repr(scores)
    assert "<details><summary>1 warning" in scores._repr_html_()
    assert all(isinstance(warning, str) for warning in shown["test"].warnings)


def xs_and_ys(figure: go.Figure, name: str) -> list[tuple[Any, Any]]:
    return [(trace.x, trace.y) for trace in figure.data if trace.name == name]


def test_a_curve_has_the_values_of_the_table() -> None:
    scores = evaluation(metrics=["ndcg", "recall@5", "r_precision"])
    figure = go.Figure(scores.plot("ndcg").to_dict())
    table = scores.table().query("metric == 'ndcg' and run == 'run 1'").set_index("k")["value"]
    drawn = [trace for trace in figure.data if trace.y is not None and len(trace.y) > 10]
    assert any(np.allclose(trace.y, table.loc[list(trace.x)]) for trace in drawn if None not in trace.x)
    assert go.Figure(scores.plot().to_dict()).data
    assert go.Figure(scores.plot("recall@5", baseline="run 0").to_dict()).data


def test_precision_against_recall_is_drawn() -> None:
    scores = evaluation(metrics=["precision", "recall"])
    assert go.Figure(scores.plot_precision_recall().to_dict()).data


def test_a_metric_without_a_curve_is_refused() -> None:
    scores = evaluation(metrics=["ndcg", "r_precision"])
    with pytest.raises(InputError, match="it has no cutoffs"):
        scores.plot("r_precision")
    with pytest.raises(InputError, match="it was not scored"):
        scores.plot("recall")


def test_differences_lifts_and_estimates_are_drawn(shown: dict[str, Any]) -> None:
    differences = go.Figure(shown["comparison"].plot().to_dict())
    pairs = shown["comparison"].table().query("baseline == 'run 0'")
    dots = [trace.x[0] for trace in differences.data if trace.mode == "markers" and trace.x]
    assert sorted(dots) == pytest.approx(sorted(pairs["mean_diff"]))
    test = shown["test"]
    lifts = go.Figure(test.plot("revenue").to_dict())
    dots = [trace.x[0] for trace in lifts.data if trace.mode == "markers" and trace.x]
    table = test.table().query("metric == 'revenue' and variant != 'a'")
    assert sorted(dots) == pytest.approx(sorted(100 * table["lift"]))
    with pytest.raises(UnknownName, match="revenue"):
        test.plot("revenu")
    estimates = go.Figure(shown["off-policy"].plot().to_dict())
    assert len([trace for trace in estimates.data if trace.mode == "markers"]) >= 6


def test_a_display_without_rows_is_its_title_and_remarks() -> None:
    assert Display("Keep als", (), ["because"]).text() == "Keep als\nbecause"
    rows = [("run", "value"), *((f"r{number}", "1") for number in range(60))]
    assert Display("Scores", rows).text().splitlines()[-1] == "… and 51 more rows"
    assert "… and 10 more rows" in Display("Scores", rows).html()
