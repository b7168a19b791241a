"""One run under the habits of several libraries, and what sets each of them apart."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pandas as pd
import pytest

from recdash.definitions import conventions, worked_example
from recdash.definitions.conventions import Convention, difference_words
from recdash.definitions.guide import metric_guides
from recdash.errors import InputError, UnknownName
from recdash.evaluation import evaluate
from recdash.metrics import METRICS, PRESETS, define
from recdash.service import Workspace

# u finds a at rank 2 of m = 2 (a, b); v has no list; w finds c first. Grades: a 3, b 1, c 2, d 1.
TRUTH = pd.DataFrame(
    [("u", "a", 3.0), ("u", "b", 1.0), ("v", "d", 1.0), ("w", "c", 2.0)],
    columns=["user_id", "item_id", "relevance"],
)
# x and a are tied: in the file x stands first, by id descending x too; c and y: by id y comes first.
LISTS = pd.DataFrame(
    [("u", "x", 2.0), ("u", "a", 2.0), ("w", "c", 1.0), ("w", "y", 1.0)],
    columns=["user_id", "item_id", "score"],
)
RANKED = LISTS.assign(rank=[1, 2, 1, 2]).drop(columns="score")


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace.open(f"sqlite:///{tmp_path / 'recdash.db'}", tmp_path / "artifacts")


@pytest.fixture
def run_id(space: Workspace) -> str:
    made = space.experiments.create("films", TRUTH, depth=5)
    return space.runs.add(made.id, LISTS, name="als")[0].run.id


def by_preset(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.set_index("preset")


def alone(frame: pd.DataFrame, preset: str) -> dict[str, float]:
    """Cause → its contribution by itself."""
    rows = frame[frame["preset"] == preset]
    return dict(zip(rows["cause"], rows["difference"], strict=True))


# ── values ───────────────────────────────────────────────────────────────────────────────────


def test_every_preset_has_a_row_the_default_first(space: Workspace, run_id: str) -> None:
    found = space.definitions.under_presets(run_id, "recall", 2)
    assert found["preset"].tolist() == list(PRESETS)
    assert found["difference"].iloc[0] == 0.0


def test_recall_is_worked_out_by_hand(space: Workspace, run_id: str) -> None:
    # default: (1/2 + 0 + 1) / 3; with lists only: (1/2 + 1) / 2; pooled: 2 hits of 4 relevant
    found = by_preset(space.definitions.under_presets(run_id, "recall", 2))
    assert found["value"]["default"] == pytest.approx(1 / 2)
    assert found["value"]["recommenders"] == pytest.approx(3 / 4)
    assert found["difference"]["recommenders"] == pytest.approx(1 / 4)
    assert (found["n_users"]["default"], found["n_users"]["recommenders"]) == (3, 2)
    assert found["value"]["seed002"] == pytest.approx(2 / 4)
    assert found["spec"]["seed002"] == "recall(average=micro,truth=best)"


def test_a_metric_that_names_its_users_counts_them_whatever_the_preset_does(
    space: Workspace, run_id: str
) -> None:
    # binary nDCG@2 over all three users: u has a hit at rank 2 of m = 2, v no list, w a hit at rank 1
    gain = 1 / math.log2(3)
    value = (gain / (1 + gain) + 0 + 1) / 3
    row = by_preset(space.definitions.under_presets(run_id, "ndcg", 2)).loc["recommenders"]
    assert row["spec"] == "ndcg(gain=binary,users=truth)"
    assert row["value"] == pytest.approx(value)
    assert (row["users"], row["n_users"]) == ("truth", 3)
    # its users are those of the default, and the gain is 1 where every row counts the same: as with RecBole,
    # only the relevance can be a cause
    causes = space.definitions.preset_causes(run_id, "ndcg", 2)
    assert alone(causes, "recommenders") == alone(causes, "recbole")
    assert set(alone(causes, "recommenders")) == {"relevance"}
    assert "users" not in " ".join(causes[causes["preset"] == "recommenders"]["words"])


def test_users_that_a_metric_names_are_a_population_and_no_formula(space: Workspace, run_id: str) -> None:
    # LensKit counts every user with a list, but for MAP those with a relevant item: here u and w are both
    row = by_preset(space.definitions.under_presets(run_id, "map", 2)).loc["lenskit"]
    assert (row["spec"], row["users"], row["n_users"]) == ("map(norm=list,users=both)", "both", 2)
    causes = space.definitions.preset_causes(run_id, "map", 2)
    # precision at the hits: u 1/2 of min(m, k) = 2, so 1/4; v 0; w 1/1. Over u, v and w, and over u and w:
    assert alone(causes, "lenskit")["population"] == pytest.approx(5 / 4 / 2 - 5 / 4 / 3)


def test_a_preset_that_breaks_ties_otherwise_reads_the_upload_again(space: Workspace, run_id: str) -> None:
    # reciprocal ranks, users with lists: file order 1/2 and 1/1; by id descending y stands before c: 1/2, 1/2
    found = by_preset(space.definitions.under_presets(run_id, "mrr", 2))
    assert found["value"]["recommenders"] == pytest.approx(3 / 4)
    assert found["value"]["trec_eval"] == pytest.approx(1 / 2)
    assert (found["order"]["trec_eval"], found["ties"]["trec_eval"]) == ("score", "item_desc")


def test_the_upload_is_read_again_once_for_all_metrics_and_causes(
    space: Workspace, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []
    lists_of = space._data.lists_of
    monkeypatch.setattr(space._data, "lists_of", lambda run: reads.append(run.name) or lists_of(run))
    for metric in ("mrr", "map", "ndcg"):
        space.definitions.under_presets(run_id, metric, 2)
        space.definitions.preset_causes(run_id, metric, 2)
    assert reads == ["als"]


def test_without_a_score_the_reason_stands_where_the_value_would(space: Workspace) -> None:
    made = space.experiments.create("films", TRUTH, depth=5)
    ranked = space.runs.add(made.id, RANKED, name="als")[0].run.id
    found = by_preset(space.definitions.under_presets(ranked, "mrr", 2))
    assert math.isnan(found["value"]["trec_eval"])
    assert found["reason"]["trec_eval"] == "no score column to order the lists by"
    assert found["reason"]["default"] == ""
    causes = space.definitions.preset_causes(ranked, "mrr", 2)
    assert math.isnan(alone(causes, "trec_eval")["order"])
    assert alone(causes, "trec_eval")["population"] == pytest.approx((1 / 2 + 1) / 2 - (1 / 2 + 1) / 3)


def test_a_preset_that_ignores_grades_takes_every_row(space: Workspace) -> None:
    # v's only row has relevance 0: not relevant by default, relevant where grades are not looked at
    truth = TRUTH.assign(relevance=[3.0, 1.0, 0.0, 2.0])
    made = space.experiments.create("films", truth, depth=5)
    run_id = space.runs.add(made.id, LISTS, name="als")[0].run.id
    found = by_preset(space.definitions.under_presets(run_id, "recall", 2))
    assert found["n_users"]["default"] == 2
    assert found["n_users"]["rectools"] == 3
    assert found["relevant"]["rectools"] == "every row"


def test_the_name_of_the_column_leaves_a_preset_free_to_ignore_it(space: Workspace) -> None:
    made = space.experiments.create("films", TRUTH, depth=5, relevance="relevance")
    run_id = space.runs.add(made.id, LISTS, name="als")[0].run.id
    relevant = by_preset(space.definitions.under_presets(run_id, "recall", 2))["relevant"]
    assert (relevant["default"], relevant["recbole"]) == ("relevance above 0", "every row")


def test_what_the_experiment_says_of_relevance_wins(space: Workspace) -> None:
    made = space.experiments.create("films", TRUTH, depth=5, relevance_threshold=2.0)
    run_id = space.runs.add(made.id, LISTS, name="als")[0].run.id
    assert set(space.definitions.under_presets(run_id, "recall", 2)["relevant"]) == {"relevance of 2 or more"}


@pytest.mark.parametrize("metric", ["ndcg", "map", "precision", "mrr", "f1", "novelty", "coverage"])
def test_the_values_are_those_of_an_evaluation_under_the_preset(space: Workspace, metric: str) -> None:
    train = pd.DataFrame([("p", "a"), ("q", "a"), ("q", "c")], columns=["user_id", "item_id"])
    catalogue = pd.DataFrame({"item_id": list("abcdxy")})
    made = space.experiments.create("films", TRUTH, depth=5, train=train, catalogue=catalogue)
    run_id = space.runs.add(made.id, LISTS, name="als")[0].run.id
    found = by_preset(space.definitions.under_presets(run_id, metric, 3))
    for name in PRESETS:
        (row,) = evaluate({"als": LISTS}, TRUTH, metrics=f"{metric}@3", depth=5, preset=name, train=train,
                          catalogue=catalogue).rows()  # fmt: skip
        assert found["value"][name] == pytest.approx(row["value"], abs=1e-15), name
        # a metric that names its users counts these, while the run keeps those of the preset's population
        n_users = 3 if found["spec"][name] == "ndcg(gain=binary,users=truth)" else row["n_users"]
        assert found["n_users"][name] == n_users, name


def test_parameters_that_were_asked_for_win_over_the_presets(space: Workspace, run_id: str) -> None:
    specs = set(
        space.definitions.under_presets(
            run_id, "ndcg(gain=exp,ideal=cut,discount=log2,grades=relevant,users=rule)", 2
        )["spec"]
    )
    assert specs == {"ndcg(gain=exp)"}


def test_a_k_beyond_the_depth_is_refused(space: Workspace, run_id: str) -> None:
    with pytest.raises(InputError, match="the depth is 5"):
        space.definitions.under_presets(run_id, "ndcg", 6)
    with pytest.raises(InputError, match="the depth is 5"):
        space.definitions.worked_example(run_id, "ndcg", 6)


def test_an_unknown_preset_is_answered_with_those_there_are(space: Workspace, run_id: str) -> None:
    with pytest.raises(UnknownName, match="trec_eval"):
        space.definitions.worked_example(run_id, "ndcg", 2, "treceval")


# ── causes ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("metric", ["ndcg", "map", "mrr", "precision"])
def test_the_causes_add_up_to_the_difference(space: Workspace, run_id: str, metric: str) -> None:
    values, causes = (
        by_preset(space.definitions.under_presets(run_id, metric, 2)),
        space.definitions.preset_causes(run_id, metric, 2),
    )
    for name in PRESETS:
        assert sum(alone(causes, name).values()) == pytest.approx(values["difference"][name]), name


def test_one_cause_alone_is_the_whole_difference(space: Workspace, run_id: str) -> None:
    # trec_eval's MRR: users with lists 3/4, from (1/2 + 1)/3 = 1/2; its ties alone (1/2 + 1/2)/3
    causes = alone(space.definitions.preset_causes(run_id, "mrr", 2), "trec_eval")
    assert causes["population"] == pytest.approx(1 / 4)
    assert causes["order"] == pytest.approx(-1 / 6)
    assert causes["together"] == pytest.approx(1 / 2 - 1 / 2 - (1 / 4 - 1 / 6))
    assert "formula" not in causes


def test_the_default_has_no_cause(space: Workspace, run_id: str) -> None:
    assert alone(space.definitions.preset_causes(run_id, "ndcg", 2), "default") == {}


USUAL = Convention("ndcg", "truth", None, "file", None, None)


def test_causes_are_told_in_words() -> None:
    lenskit = Convention("ndcg(gain=binary,discount=lenskit)", "both", "score", "item_desc", None, 1.0)
    assert conventions.in_words(USUAL, lenskit) == {
        "formula": "gain=binary (1 for every relevant item) instead of linear, "
        "discount=lenskit (log2(max(rank, 2))) instead of log2",
        "population": "only users with recommendations count",
        "order": "by score, tied scores by item id, descending",
        "relevance": "relevant is a row with relevance of 1 or more",
    }
    assert conventions.in_words(USUAL, USUAL) == {}


@pytest.mark.parametrize(
    ("value", "default", "words"),
    [
        (0.3, 0.3, "the same"),
        (0.3 + 1e-15, 0.3, "the same"),
        (0.6, 0.3, "100 % higher"),
        (0.15, 0.3, "50 % lower"),
        (1.005, 1.0, "0.5 % higher"),
        (0.1, 0.0, "higher"),
        (float("nan"), 0.3, ""),
    ],
)
def test_a_difference_in_words(value: float, default: float, words: str) -> None:
    assert difference_words(value, default) == words


# ── worked examples ──────────────────────────────────────────────────────────────────────────


def test_the_built_in_example_shows_ndcg_by_its_places() -> None:
    # x, a (grade 3), y, b (grade 1) in five places; c (grade 2) is missed
    found = worked_example.example(define("ndcg"))
    assert found is not None
    assert [place.gain for place in found.places] == [None, 3.0, None, 1.0]
    credit = [0.0, 3 / math.log2(3), 0.0, 1 / math.log2(5)]
    assert [place.credit for place in found.places] == pytest.approx(credit)
    assert found.norm == pytest.approx(3 / 1 + 2 / math.log2(3) + 1 / 2)
    assert found.value == pytest.approx(sum(credit) / (3.5 + 2 / math.log2(3)))


def test_a_mean_of_recalls_adds_one_at_every_place() -> None:
    found = worked_example.example(define("mar"))
    assert found is not None
    assert [place.credit for place in found.places] == pytest.approx([0, 1 / 3, 1 / 3, 2 / 3, 2 / 3])
    assert (found.norm, found.value) == (5.0, pytest.approx(2 / 5))


def test_a_harmonic_mean_shows_its_two_parts() -> None:
    found = worked_example.example(define("f1(of=map,recall)"))
    assert found is not None
    assert [(part.spec, part.value) for part in found.parts] == [
        ("map", pytest.approx(1 / 3)),
        ("recall", pytest.approx(2 / 3)),
    ]
    assert found.value == pytest.approx(2 * (1 / 3) * (2 / 3) / 1)


@pytest.mark.parametrize("preset", PRESETS)
def test_f1_is_a_sum_over_a_norm_or_the_harmonic_mean_of_its_parts(preset: str) -> None:
    found = worked_example.example(define(conventions.convention_of(preset, "f1", {"depth": 5}).spec))
    assert found is not None
    if not found.parts:
        assert (found.total, found.norm) == (4.0, 8.0)
        return
    a, b = (part.value for part in found.parts)
    assert found.value == pytest.approx(2 * a * b / (a + b))


@pytest.mark.parametrize(
    ("name", "credit", "norm"),
    [
        ("bpref", [0, 1, 0, 0], 3),  # a stands above the one negative, y; b below it, of min(n, m) = 1
        ("judged", [0, 1, 1, 1], 5),
        ("serendipity", [0, 7 / 8 - 4 / 8, 0, 0], 5),  # b, the most popular, is expected more than at place 4
    ],
)
def test_the_built_in_example_has_a_judged_negative_and_knows_what_is_popular(
    name: str, credit: list[float], norm: float
) -> None:
    found = worked_example.example(define(name))
    assert found is not None
    assert [place.credit for place in found.places] == pytest.approx(credit)
    assert (found.norm, found.value) == (norm, pytest.approx(sum(credit) / norm))
    assert [place.negative for place in found.places] == [False, False, True, False]


def test_without_an_example_the_true_reason_is_told() -> None:
    assert worked_example.why_no_example(define("coverage")) == "this metric is not a mean of values per user"
    assert worked_example.why_no_example(define("err(max_grade=2)")) == (
        "the test set has grades up to 3, above max_grade=2"
    )
    assert worked_example.why_no_example(define("bpref")) == ""


def test_a_pooled_metric_says_so() -> None:
    found = worked_example.example(define("precision(average=micro)"))
    assert found is not None
    assert (found.pooled, found.total, found.norm) == (True, 2.0, 5.0)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    "name", ["precision", "recall", "hit_rate", "mrr", "map", "mar", "ndcg", "rbp", "err"]
)
def test_sum_over_norm_is_the_value(name: str, preset: str) -> None:
    found = worked_example.example(define(conventions.convention_of(preset, name, {"depth": 5}).spec))
    assert found is not None
    assert found.total is not None
    assert found.norm is not None
    assert found.total / found.norm == pytest.approx(found.value)


@pytest.mark.parametrize(
    "name", [name for name, one in METRICS.items() if all(knob.values for knob in one.parameters)]
)
def test_every_metric_has_an_example_or_none_without_failing(name: str) -> None:
    found = worked_example.example(define(name))
    assert found is None or found.value >= 0.0


def test_the_runs_example_takes_a_user_with_about_two_hits(space: Workspace) -> None:
    truth = pd.DataFrame(
        [("one", "a"), ("two", "a"), ("two", "b"), ("none", "z")], columns=["user_id", "item_id"]
    )
    lists = pd.DataFrame(
        [(user, item, rank) for user in ("one", "two", "none") for rank, item in enumerate("axb", start=1)],
        columns=["user_id", "item_id", "rank"],
    )
    made = space.experiments.create("films", truth, depth=5)
    run_id = space.runs.add(made.id, lists, name="als")[0].run.id
    found = space.definitions.worked_example(run_id, "ndcg", 3, "rectools")
    assert found is not None
    assert (found.user, found.m, found.spec) == ("two", 2, "ndcg(gain=binary,ideal=full)")
    assert [place.item for place in found.places] == ["a", None, "b"]
    assert found.norm == pytest.approx(1 + 1 / math.log2(3) + 1 / 2)
    assert space.definitions.worked_example(run_id, "coverage", 3) is None


# ── on real lists ────────────────────────────────────────────────────────────────────────────


def test_movietweetings_agrees_with_the_libraries_own_values(space: Workspace, shared_data: Path) -> None:
    films = shared_data / "movietweetings"
    made = space.experiments.create("films", films / "truth.csv", relevance="none", depth=10)
    run_id = space.runs.add(made.id, films / "runs" / "als.parquet", name="als")[0].run.id
    found = by_preset(space.definitions.under_presets(run_id, "ndcg", 10))
    assert found["value"]["ranx"] == pytest.approx(0.02714, abs=5e-6)
    assert found["value"]["trec_eval"] / found["value"]["ranx"] == pytest.approx(1.6113, abs=5e-5)
    assert found["value"]["lenskit"] / found["value"]["ranx"] == pytest.approx(1.6335, abs=5e-5)
    assert found["value"]["rectools"] / found["value"]["ranx"] == pytest.approx(0.4986, abs=5e-5)


def test_the_guide_explains_metrics_in_words_without_names_of_the_code() -> None:
    for guide in metric_guides():
        meanings = [meaning for _, _, values in guide.parameters for meaning in values.values()]
        texts = [guide.title, guide.needs, guide.unit, guide.direction, guide.example, *meanings]
        assert not [text for text in texts if re.search(r"[a-z]_[a-z]", text)]
