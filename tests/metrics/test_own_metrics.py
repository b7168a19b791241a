"""Own metrics: read from files, packages and programs, tried, refused one by one, and scored like others."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recdash
from recdash.errors import InputError, UnknownName
from recdash.metrics import METRICS, define, naming, register_metric
from recdash.metrics.catalogue import CatalogueMetric
from recdash.metrics.formulas import RatioFormula
from recdash.metrics.parameters import Parameter
from recdash.metrics.ranking import RANKING, Choice, RankingMetric, cutoff, unit_credit, unity
from recdash.metrics.ratings import RATINGS, RatingMetric
from recdash.metrics.registry import BUILT_IN
from recdash.metrics.trials import broken_law
from recdash.metrics.usage import Usage
from recdash.settings import settings

ROOT = Path(__file__).resolve().parents[2]
TEXTS = {"latex": "x", "source": "here", "plain": "What it says.", "example": "1/2 = 0.5."}
TRUTH, LISTS = {"u": ["a", "b"], "v": ["c"]}, {"u": ["a", "x", "b"], "v": ["x", "c"]}


@pytest.fixture(autouse=True)
def no_own_metric(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("RECDASH_METRICS", raising=False)
    settings.cache_clear()
    METRICS.forget_own()
    yield
    settings.cache_clear()
    METRICS.forget_own()


def early_of_docs() -> str:
    text = (ROOT / "docs/own-metrics.md").read_text(encoding="utf-8")
    return text.partition("```python\n")[2].partition("```")[0]


def named_files(monkeypatch: pytest.MonkeyPatch, folder: Path, **code: str) -> None:
    files = []
    for name, text in code.items():
        files.append(folder / f"{name}.py")
        files[-1].write_text(text, encoding="utf-8")
    monkeypatch.setenv("RECDASH_METRICS", ", ".join(map(str, files)))
    settings.cache_clear()


def ranking(**changes: Any) -> RankingMetric:
    first: dict[str, Any] = {"name": "own", "label": "Own", "title": "Hits per position", **TEXTS}
    return RankingMetric(**{**first, "credit": unit_credit, "norm": cutoff, **changes})


# ── where they come from ─────────────────────────────────────────────────────────────────────


def test_the_metric_of_the_docs_has_the_value_of_its_example(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert len([line for line in early_of_docs().splitlines() if line.strip()]) <= 15
    named_files(monkeypatch, tmp_path, early=early_of_docs())
    found = recdash.evaluate({"run": LISTS}, TRUTH, metrics="early_hits@3")
    # u: hits at ranks 1 and 3 of m = 2: (1 + 1/4)/2; v: a hit at rank 2 of m = 1: 1/2
    assert found.table()["value"].tolist() == [(0.625 + 0.5) / 2]
    values = found.per_user("early_hits@3").set_index("user_id")["value"]
    assert values.to_dict() == {"u": 0.625, "v": 0.5}
    # of two values a and b the standard error is |a − b| / 2
    assert found.table()["std_error"].tolist() == pytest.approx([(0.625 - 0.5) / 2])


def test_the_notebook_of_the_docs_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs/own-metrics.md").read_text(encoding="utf-8").partition("## A notebook")[2]
    exec(text.partition("```python\n")[2].partition("```")[0], {})  # noqa: S102 - our own document
    assert "found_share" in capsys.readouterr().out


def test_a_package_gives_metrics_by_its_entry_point(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "shop_metrics.py").write_text(early_of_docs(), encoding="utf-8")
    of_package = tmp_path / "shop-1.dist-info"
    of_package.mkdir()
    (of_package / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1\n", encoding="utf-8")
    points = "[recdash.metrics]\nshop = shop_metrics:METRICS\nlost = shop_metrics:NOTHING\n"
    (of_package / "entry_points.txt").write_text(points, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [*METRICS.own] == ["early_hits"]
    (problem,) = METRICS.refused.values()
    assert problem.place == "package metrics 'lost'"
    monkeypatch.delitem(sys.modules, "shop_metrics")


def test_own_metrics_are_computed_by_default_and_their_curves_are_not_stored() -> None:
    stored, before = naming.SCORED, recdash.evaluate({"run": LISTS}, TRUTH).table()["metric"].unique()
    register_metric(ranking())
    after = recdash.evaluate({"run": LISTS}, TRUTH).table()["metric"].unique()
    assert set(after) - set(before) == {"own"}
    assert stored == naming.SCORED
    assert "own" not in naming.SCORED


def test_metrics_of_recdash_are_found_without_reading_own_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    named_files(monkeypatch, tmp_path, loud="raise RuntimeError('read')")
    recdash.evaluate({"run": LISTS}, TRUTH, metrics="ndcg@2,map(norm=min)@2")
    monkeypatch.setattr(METRICS, "_read_own", lambda: pytest.fail("read"))
    assert define("recall@3").metric is METRICS["recall"]


# ── what is refused ──────────────────────────────────────────────────────────────────────────

BROKEN = {
    "syntax": ("METRICS = [", "SyntaxError"),
    "raises": ("x = 1\nMETRICS = 1 / 0", "ZeroDivisionError: division by zero (raises.py, line 2)"),
    "exits": ("raise SystemExit('bye')", "SystemExit: bye"),
    "empty": ("", "it has no METRICS"),
    "number": ("METRICS = 3", "METRICS is a int"),
    "text": ("METRICS = ['ndcg']", "it is a str, not a metric"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_one_problem_and_the_others_are_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    code, found = BROKEN[name]
    named_files(monkeypatch, tmp_path, **{name: code, "early": early_of_docs()})
    with caplog.at_level(logging.WARNING):
        assert [*METRICS.own] == ["early_hits"]
    (problem,) = METRICS.refused.values()
    assert found in problem.found
    assert problem.place.startswith(f"metrics file '{name}.py'")
    assert str(tmp_path) not in str(problem), "pages show it, and say nothing of folders"
    assert [record.getMessage() for record in caplog.records] == [f"recdash: {problem}"]


def test_a_missing_file_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECDASH_METRICS", "/nowhere/gone.py")
    settings.cache_clear()
    assert not METRICS.own
    assert [str(problem) for problem in METRICS.refused.values()] == [
        "metrics file 'gone.py': there is no such file. Correct RECDASH_METRICS."
    ]


def of_ranks(hits: Any) -> Any:
    return hits.rank.astype(float)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "name taken": ({"name": "ndcg"}, "recdash has a metric of this name"),
    "label taken": ({"label": "NDCG"}, "its label 'NDCG' is that of ndcg"),
    "no source": ({"source": " "}, "it has no source"),
    "name of two words": ({"name": "my metric"}, "its name is not a word"),
    "core": ({"usage": Usage(group="core", order=1)}, "it is a core metric or a guardrail"),
    "guardrail": ({"usage": Usage(guardrail="mine")}, "it is a core metric or a guardrail"),
    "no norm": ({"norm": None}, "neither a credit and a norm, nor a build function"),
    "odd parameter": ({"parameters": (Parameter("By what", {"1": ""}),)}, "name in lower case"),
    "parameter twice": ({"parameters": (Parameter("p", {"1": ""}),) * 2}, "have the same name"),
    "unknown variant": ({"usage": Usage(variants=("own(q=1)",))}, "its usage names 'own(q=1)'"),
    "above its range": ({"norm": unity}, "above 1, its largest"),
    "below zero": ({"credit": lambda hits: -unit_credit(hits)}, "smallest value of an accuracy metric is 0"),
    "not finite": ({"credit": lambda hits: hits.rank / (hits.rank - 1)}, "not a finite number"),
    "too few credits": ({"credit": lambda hits: hits.rank[:1] * 0.1}, "credits have the shape (1,)"),
    "writes": ({"credit": lambda hits: hits.rank.sort()}, "read-only"),
    "raises": ({"credit": lambda hits: hits.price}, "AttributeError"),
    "falls with k": ({"rises_with_k": True}, "falls with k, although rises_with_k"),
    "wants late hits": ({"credit": of_ranks, "norm": unity, "largest": None}, "falls if a hit moves up"),
    "other users": (
        {"credit": lambda hits: unit_credit(hits) / hits.n_users},
        "a value that other users change",
    ),
    "reason is no text": ({"why_unavailable": lambda *_: None}, "by None, not by a text"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_metric_that_cannot_be_used_is_refused_with_one_problem(case: str) -> None:
    changes, found = REFUSED[case]
    register_metric(ranking(name="fine", label="Fine"))  # the row that the cases change is accepted
    with pytest.raises(InputError) as refusal:
        register_metric(ranking(**changes))
    (problem,) = refusal.value.problems
    assert found in problem.found
    assert [*METRICS.own] == ["fine"]


def test_a_spec_of_a_refused_metric_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = early_of_docs().replace("credit=halved", "credit=lambda hits: 3 * halved(hits)")
    named_files(monkeypatch, tmp_path, early=code)
    with pytest.raises(InputError, match="above 1, its largest"):
        define("early_hits@3")
    with pytest.raises(UnknownName):
        define("erly_hits@3")


def test_two_files_cannot_give_the_same_metric(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    named_files(monkeypatch, tmp_path, early=early_of_docs(), again=early_of_docs())
    assert [*METRICS.own] == ["early_hits"]
    (problem,) = METRICS.refused.values()
    assert problem.place == "metrics file 'again.py', metric 'early_hits'"
    assert problem.found == "there is already a metric of this name"


OF_LISTS = {"novelty", "popularity", "diversity"}
"""They are partly computed while lists are read, which own metrics cannot do."""


@pytest.mark.parametrize("metric", BUILT_IN, ids=lambda metric: metric.name)
def test_the_metrics_of_recdash_keep_the_laws_that_own_ones_must(metric: Any) -> None:
    broken = broken_law(metric)
    assert ("needs the lists themselves" in broken) if metric.name in OF_LISTS else not broken


# ── what they give ───────────────────────────────────────────────────────────────────────────


def test_a_copy_of_a_metric_has_its_values() -> None:
    originals = {metric.name: metric for metric in RANKING}
    for name in ("precision", "ndcg", "mrr", "f1", "map", "bpref"):
        copy = replace(originals[name], name=f"own_{name}", label=f"Own {name}", usage=Usage())
        register_metric(copy)
    specs = "precision(over=list)@3,ndcg(gain=exp)@3,mrr(sum=all)@3,f1@3,map(norm=min)@3,map@2"
    rng = np.random.default_rng(5)
    items = [f"i{number}" for number in range(12)]
    lists = {f"u{user}": [str(item) for item in rng.permutation(items)[:6]] for user in range(20)}
    truth = {f"u{user}": {item: float(rng.integers(1, 4)) for item in items[:5]} for user in range(20)}
    owned = ",".join(f"own_{spec}" for spec in specs.split(","))
    ours, own = (
        recdash.evaluate({"run": lists}, truth, metrics=asked).table()[["value", "std_error"]]
        for asked in (specs, owned)
    )
    np.testing.assert_array_equal(own.to_numpy(), ours.to_numpy())


def test_parameters_and_formulas_of_ones_own() -> None:
    decay = Parameter("p", {"0.5": "what is kept per position"}, "number", above=0, below=1)

    def build(parameters: Any, _: Any) -> RatioFormula:
        kept = float(parameters["p"])
        return RatioFormula(lambda hits: (1 - kept) * kept ** (hits.rank - 1.0), unity)

    register_metric(ranking(credit=None, norm=None, build=build, parameters=(decay,)))
    by_choice = Choice("worth", {"one": unit_credit, "half": lambda hits: 0.5 * unit_credit(hits)})
    knob = Parameter("worth", {"one": "1", "half": "1/2"})
    register_metric(ranking(name="chosen", label="Chosen", credit=by_choice, parameters=(knob,)))
    asked = "own@3,own(p=0.8)@3,chosen@3,chosen(worth=half)@3"
    found = recdash.evaluate({"run": {"u": ["a", "x", "b"]}}, {"u": ["a", "b"]}, metrics=asked)
    # hits at ranks 1 and 3: (1 − p)·(1 + p²), and 2 hits in 3 positions
    expected = [0.5 * (1 + 0.25), 0.2 * (1 + 0.64), 2 / 3, 1 / 3]
    assert found.table()["value"].tolist() == pytest.approx(expected, rel=1e-12)


def test_a_metric_that_fails_on_real_data_is_absent_with_the_reason() -> None:
    def credit(hits: Any) -> Any:
        if hits.n_users == 2:
            raise KeyError("price")
        return unit_credit(hits)

    register_metric(ranking(credit=credit))
    found = recdash.evaluate({"run": LISTS}, TRUTH, metrics="own@2,recall@2")
    assert found.table()["metric"].tolist() == ["recall"]
    (absent,) = found.as_dict()["absent"]
    assert absent["reason"].startswith("KeyError: 'price' (test_own_metrics.py, line ")


def test_a_metric_beyond_its_range_on_real_data_is_absent_with_the_reason() -> None:
    def credit(hits: Any) -> Any:
        return unit_credit(hits) * (4.0 if hits.n_users == 2 else 1.0)

    register_metric(ranking(credit=credit))
    found = recdash.evaluate({"run": LISTS}, TRUTH, metrics="own@1")
    # one of two users has a hit: mean credit 4/2 = 2
    (absent,) = found.as_dict()["absent"]
    assert absent["reason"] == "the metric breaks its own law: it gives 2, above 1, its largest"


def test_a_catalogue_metric_of_ones_own() -> None:
    def shown_twice(inputs: Any, _: Any) -> Any:
        return np.array([(held > 1).sum() / inputs.n_items for held in inputs.counts()])

    row = CatalogueMetric(
        "repeated", "Repeated", "Share of the items that two lists show", "x", "here", shown_twice,
        lambda *_: "", plain="How much is repeated.", example="1 of 2: 0.5.",
    )  # fmt: skip
    register_metric(row)
    assert "repeated" in naming.catalogue_metrics()
    found = recdash.evaluate(
        {"run": {"u": ["a", "b"], "v": ["b", "a"]}}, TRUTH, metrics="repeated@1,repeated@2"
    )
    # of a, b, c (all that the tables know), nothing is in two lists at k = 1, a and b are at k = 2
    assert found.table()["value"].tolist() == [0.0, 2 / 3]
    with pytest.raises(InputError, match="and its unit is"):
        register_metric(replace(row, name="two", label="Two", curve=lambda *given: 1 + shown_twice(*given)))
    with pytest.raises(InputError, match="needs the lists themselves"):
        register_metric(replace(row, name="two", label="Two", curve=None))
    with pytest.raises(InputError, match=r"curve of shape \(\)"):
        register_metric(replace(row, name="two", label="Two", curve=lambda *_: 0.5))


def test_a_rating_metric_of_ones_own() -> None:
    mae = next(metric for metric in RATINGS if metric.name == "mae")
    register_metric(replace(mae, name="own_mae", label="Own MAE", usage=Usage()))
    rows = {"user_id": [*"uv"], "item_id": [*"aa"], "rating": [3, 2], "prediction": [4, 5]}
    import pandas as pd

    found = recdash.evaluate({}, {"u": ["a"]}, metrics="own_mae", predictions={"svd": pd.DataFrame(rows)})
    assert found.table()["value"].tolist() == [(1 + 3) / 2]
    wrong: RatingMetric = replace(mae, name="two", label="Two", value=lambda _: (1.0, 0.1), usage=Usage())
    with pytest.raises(InputError, match="whose mean is not its value"):
        register_metric(wrong)
