"""How metrics are asked for: one grammar, canonical names, presets, and errors that name the way out."""

from __future__ import annotations

from itertools import product
from math import log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recdash
from recdash.errors import InputError, Problem, UnknownName
from recdash.metrics import METRICS, PRESETS, Spec, check_k, define, parse, parse_list, preset
from recdash.metrics.naming import is_percent, less_is_wanted
from recdash.metrics.parameters import Parameter

SPELLED_OUT = [
    (f"{name}({','.join(chosen)})" if chosen else name)
    for name, metric in METRICS.items()
    for chosen in product(*([f"{knob.name}={v}" for v in knob.values] for knob in metric.parameters))
]


# ── reading ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("ndcg", Spec("ndcg")),
        ("ndcg@10", Spec("ndcg", (), 10)),
        ("ndcg()@10", Spec("ndcg", (), 10)),
        ("map(norm=min)", Spec("map", (("norm", "min"),))),
        ("ndcg(gain=exp,ideal=all)@5", Spec("ndcg", (("gain", "exp"), ("ideal", "all")), 5)),
        ("  ndcg( gain = exp , ideal=all )@5 ", Spec("ndcg", (("gain", "exp"), ("ideal", "all")), 5)),
        ("nDCG(Gain=exp) @ 5", Spec("ndcg", (("gain", "exp"),), 5)),
        ("f1(of=map,mar)@3", Spec("f1", (("of", "map,mar"),), 3)),
        (
            "f1(of=map(norm=min),mar(form=hits),average=means)@3",
            Spec("f1", (("of", "map(norm=min),mar(form=hits)"), ("average", "means")), 3),
        ),
    ],
)
def test_a_spec_is_read_as_name_parameters_and_cutoff(text: str, spec: Spec) -> None:
    assert parse(text) == spec


@settings(deadline=None)
@given(st.sampled_from(SPELLED_OUT), st.none() | st.integers(1, 999_999_999))
def test_what_is_written_is_read_back(label: str, k: int | None) -> None:
    spec = parse(label if k is None else f"{label}@{k}")
    assert (spec.label, spec.k) == (label, k)
    assert parse(str(spec)) == spec


def test_a_list_is_cut_only_at_the_commas_between_metrics() -> None:
    text = "ndcg@10, f1(of=map,mar(form=hits))@5,precision(over=list,average=micro)"
    assert [str(spec) for spec in parse_list(text)] == [
        "ndcg@10",
        "f1(of=map,mar(form=hits))@5",
        "precision(over=list,average=micro)",
    ]
    assert parse_list(["ndcg,map@1", "recall"]) == [Spec("ndcg"), Spec("map", (), 1), Spec("recall")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "'' is not a metric's name"),
        ("@5", "'' is not a metric's name"),
        ("ndcg@0", "'0' where a cutoff belongs"),
        ("ndcg@-1", "'-1' where a cutoff belongs"),
        ("ndcg@ten", "'ten' where a cutoff belongs"),
        ("ndcg@", "'' where a cutoff belongs"),
        ("ndcg@5@6", "'ndcg@5' is not a metric's name"),
        ("ndcg(gain=exp", "a bracket is not closed"),
        ("ndcg(gain=exp))", "exp)"),
        ("ndcg gain", "'ndcg gain' is not a metric's name"),
        ("ndcg(gain=exp,gain=linear)", "'gain' given twice"),
        ("ndcg(exp,gain=linear)", "'gain' given twice"),
        ("hit_rate(exp)", "No parameter of hit_rate is called 'exp'"),
        ("coverage_by", "no attribute"),
        ("f1(of=map," * 300 + "mar" + ")" * 300, "more than 20 brackets"),
        ("rbp(p=0.99999999999999999)", "'0.99999999999999999'. Give a number between 0 and 1."),
        ("rbp(p=1)", "'1'. Give a number between 0 and 1."),
        ("rbp(p=high)", "'high'. Give a number between 0 and 1."),
        ("err(max_grade=0)", "'0'. Give a number above 0 or truth."),
        ("err(max_grade=nan)", "'nan'. Give a number above 0 or truth."),
    ],
)
def test_a_spec_that_cannot_be_read_says_what_stands_there(text: str, found: str) -> None:
    with pytest.raises(InputError, match=r"metric|value|parameter") as caught:
        define(text)
    assert found in str(caught.value)


# ── meaning ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("ndcg(gain=linear,ideal=cut,discount=log2)@10", "ndcg"),
        ("ndcg(ideal=all,gain=exp)", "ndcg(gain=exp,ideal=all)"),
        ("f1(of=precision,recall)", "f1"),
        ("f1(of=precision, recall(norm=relevant))", "f1"),
        ("f1(average=means,of=map,mar(form=ranks))", "f1(of=map,mar,average=means)"),
        ("f1(of=f1(of=map,mar),ndcg(gain=exp))", "f1(of=f1(of=map,mar),ndcg(gain=exp))"),
        ("ndcg(exp)", "ndcg(gain=exp)"),
        ("ndcg(exp,ideal=all)", "ndcg(gain=exp,ideal=all)"),
        ("f1(map,mar)", "f1(of=map,mar)"),
        ("coverage_by(genres)", "coverage_by(attribute=genres)"),
        ("rbp(p=0.80)", "rbp"),
        ("rbp(p=.5)", "rbp(p=0.5)"),
        ("rbp(p=0.9999999999999999)", "rbp(p=0.9999999999999999)"),
        ("err(max_grade=4.0)", "err(max_grade=4)"),
    ],
)
def test_one_definition_has_one_canonical_name(text: str, canonical: str) -> None:
    assert str(define(text)) == canonical


@pytest.mark.parametrize("text", SPELLED_OUT)
def test_the_canonical_name_means_the_same(text: str) -> None:
    definition = define(text)
    again = define(str(definition))
    assert str(again) == str(definition)
    assert again.parameters == definition.parameters


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ndgc", "No metric is called 'ndgc'. Did you mean 'ndcg'? Known: auc, bpref, coverage,"),
        ("NDGC@10", "No metric is called 'ndgc'. Did you mean 'ndcg'?"),
        (
            "ndcg(gian=exp)",
            "No parameter of ndcg is called 'gian'. Did you mean 'gain'? Known: discount, gain, grades,",
        ),
        (
            "ndcg(gain=expo)",
            "No value of ndcg(gain=…) is called 'expo'. Did you mean 'exp'? Known: linear, exp, binary.",
        ),
        ("hit_rate(over=k)", "No parameter of hit_rate is called 'over'. Known: none."),
        ("f1(of=map,recalls)", "No metric is called 'recalls'. Did you mean 'recall'?"),
        ("zzz", "No metric is called 'zzz'. Known: auc, bpref, coverage,"),
    ],
)
def test_an_unknown_name_is_answered_with_the_known_ones_and_the_nearest(text: str, said: str) -> None:
    with pytest.raises(UnknownName) as caught:
        define(text)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rmse@10", "rmse has no cutoff"),
        ("r_precision@10", "r_precision has no cutoff"),
        ("f1(of=map)", "Name two, for example f1(of=map,mar)."),
        ("f1(of=map,mar,recall)", "Name two, for example f1(of=map,mar)."),
        ("f1(of=map,gini)", "no value per user"),
        ("f1(of=map@5,mar)@10", "a cutoff inside the brackets"),
        ("f1(of=r_precision,recall)", "r_precision has no cutoff"),
    ],
)
def test_a_spec_that_means_nothing_is_refused_with_the_reason(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        define(text)
    assert said in str(caught.value)


GRAMMAR = "Write name(parameter=value)@k, for example ndcg(gain=exp)@10."
ACCURACY = ", ".join(name for name, metric in METRICS.items() if hasattr(metric, "formula"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (" @5", Problem("bad-metric-spec", "metric ' @5'", "'' is not a metric's name", GRAMMAR)),
        (
            "ndcg(gain=exp",
            Problem("bad-metric-spec", "metric 'ndcg(gain=exp'", "a bracket is not closed", GRAMMAR),
        ),
        (
            "ndcg@1x",
            Problem(
                "bad-metric-spec",
                "metric 'ndcg@1x'",
                "'1x' where a cutoff belongs (a whole number from 1)",
                GRAMMAR,
            ),
        ),
        (
            "ndcg(gain=exp,gain=exp)",
            Problem("bad-metric-spec", "metric 'ndcg(gain=exp,gain=exp)'", "'gain' given twice", GRAMMAR),
        ),
        (
            "ndcg(exp,gain=exp)",
            Problem(
                "given-twice",
                "metric 'ndcg(exp,gain=exp)'",
                "'gain' given twice",
                "Name each parameter once.",
            ),
        ),
        ("mae(3)@5", Problem("no-cutoff", "metric 'mae(3)@5'", "mae has no cutoff", "Write mae(3).")),
        (
            "coverage_by",
            Problem(
                "parameter-missing", "metric 'coverage_by'", "no attribute", "Write coverage_by(attribute=…)."
            ),
        ),
        (
            "coverage_by(attribute=)",
            Problem("no-name", "metric coverage_by(attribute=…)", "nothing", "Give a name."),
        ),
        (
            "rbp(p=1)",
            Problem("bad-number", "metric rbp(p=…)", "'1'", "Give a number between 0 and 1."),
        ),
        (
            "err(max_grade=none)",
            Problem("bad-number", "metric err(max_grade=…)", "'none'", "Give a number above 0 or truth."),
        ),
        (
            "f1(of=map)",
            Problem("not-two-metrics", "f1(of=map)", "1 metrics", "Name two, for example f1(of=map,mar)."),
        ),
        (
            "f1(of=map@5,mar)",
            Problem(
                "cutoff-inside",
                "f1(…map@5…)",
                "a cutoff inside the brackets",
                "Both metrics share the cutoff after the brackets: write map there.",
            ),
        ),
        (
            "f1(of=r_precision,recall)",
            Problem(
                "part-without-cutoff",
                "f1(…r_precision…)",
                "r_precision has no cutoff",
                "Name metrics with a cutoff.",
            ),
        ),
        (
            "f1(of=" * 21 + "map,mar" + ")" * 21,
            Problem(
                "bad-metric-spec",
                f"metric '{('f1(of=' * 7)[:40]}…'",
                "more than 20 brackets",
                GRAMMAR,
            ),
        ),
        (
            "f1(of=map,rmse)",
            Problem(
                "no-user-value",
                "metric 'rmse'",
                "it is a catalogue-level metric and has no value per user",
                f"Name an accuracy metric: {ACCURACY}.",
            ),
        ),
    ],
)
def test_a_refusal_says_where_what_and_what_to_write_instead(text: str, problem: Problem) -> None:
    with pytest.raises(InputError) as caught:
        define(text)
    assert caught.value.problems == (problem,)


@pytest.mark.parametrize(
    ("text", "kind", "known"),
    [
        ("ndgc", "metric", sorted(METRICS)),
        ("ndcg(gian=exp)", "parameter of ndcg", ["discount", "gain", "grades", "ideal", "users"]),
        ("ndcg(gain=expo)", "value of ndcg(gain=…)", ["linear", "exp", "binary"]),
    ],
)
def test_a_program_is_told_which_names_there_are(text: str, kind: str, known: list[str]) -> None:
    with pytest.raises(UnknownName) as caught:
        define(text)
    assert caught.value.problems[0].place == kind
    assert list(caught.value.known) == known


def test_a_value_for_a_metric_without_parameters_is_named_itself() -> None:
    with pytest.raises(UnknownName, match=r"No parameter of mae is called '3'\. Known: none\."):
        define("mae(3)")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("rbp(p=0.50)", "rbp(p=0.5)"),
        ("rbp(p=5e-1)", "rbp(p=0.5)"),
        ("rbp(p=0.123456789012345)", "rbp(p=0.123456789012345)"),
        ("err(max_grade=truth)", "err"),
        ("err(max_grade=4.0)", "err(max_grade=4)"),
        ("f1(map(norm=min),mar)", "f1(of=map(norm=min),mar)"),
        ("coverage_by( Genre )", "coverage_by(attribute=Genre)"),
        ("tail_share(0.5)", "tail_share(head=0.5)"),
    ],
)
def test_numbers_and_names_have_one_spelling(text: str, canonical: str) -> None:
    assert str(define(text)) == canonical


def test_a_list_of_metrics_is_taken_as_it_is_and_read_by_the_registry() -> None:
    assert Parameter("of", {"precision,recall": "the two"}, "metrics").checked("map,mar", "f1") == "map,mar"


def test_the_words_that_stand_for_a_number_are_listed() -> None:
    knob = Parameter("p", {"0.5": "a half", "auto": "by itself", "truth": "of the truth"}, "number", above=0)
    with pytest.raises(InputError, match=r"Give a number above 0 or auto, truth\.$"):
        knob.checked("x", "m")


def test_names_in_the_tables_are_the_fields_own_and_unlike_each_other() -> None:
    assert all(parse(name).label == name for name in METRICS)
    for metric in METRICS.values():
        assert len({knob.name for knob in metric.parameters}) == len(metric.parameters)


# ── presets ──────────────────────────────────────────────────────────────────────────────────


def test_every_preset_names_existing_parameters_and_values() -> None:
    assert set(PRESETS) == {
        "default", "trec_eval", "rectools", "recommenders", "ranx",
        "recbole", "lenskit", "capri", "seed000", "seed002", "replay", "torchmetrics", "cornac",
        "elliot", "recpack", "ir_measures", "evidently", "sklearn",
    }  # fmt: skip
    for habit in PRESETS.values():
        for metric, knobs in habit.parameters.items():
            assert dict(define(habit.apply(Spec(metric))).parameters).items() >= knobs.items()


def test_a_preset_that_does_not_exist_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match=r"No preset is called 'rectool'\. Did you mean 'rectools'\?"):
        preset("rectool")


def test_what_is_written_in_a_spec_wins_over_the_preset() -> None:
    rectools = preset("rectools")
    assert str(define(rectools.apply(parse("ndcg@10")))) == "ndcg(gain=binary,ideal=full)"
    assert str(define(rectools.apply(parse("ndcg(ideal=cut)@10")))) == "ndcg(gain=binary)"
    assert str(define(rectools.apply(parse("recall@10")))) == "recall"


def test_a_preset_reaches_the_metrics_inside_another_and_leaves_tables_alone() -> None:
    rectools = preset("rectools")
    assert str(define(rectools.apply(parse("f1(of=ndcg,map)")))) == "f1(of=ndcg(gain=binary,ideal=full),map)"
    assert str(rectools.apply(parse("coverage(of=train)@5"))) == "coverage(of=train)@5"
    assert str(rectools.apply(parse("coverage@5"))) == "coverage(of=catalogue)@5"


def test_a_preset_reaches_the_metrics_that_a_metric_is_made_of() -> None:
    lenskit = preset("lenskit")
    both = "f1(of=precision(over=list),recall(norm=min))"
    assert str(define(lenskit.apply(parse("f1")))) == both
    assert str(define(lenskit.apply(parse("f1(of=precision,recall)")))) == both
    assert (
        str(define(lenskit.apply(parse("f1(precision(over=k),map)"))))
        == "f1(of=precision,map(norm=list,users=both))"
    )
    assert str(define(preset("ranx").apply(parse("f1")))) == "f1"


def test_a_table_that_does_not_exist_is_answered_with_the_tables() -> None:
    with pytest.raises(UnknownName, match=r"called 'catalog'\. Did you mean 'catalogue'\?"):
        define(preset("default").apply(parse("gini(of=catalog)")))


def test_every_value_that_a_preset_changes_is_known_here() -> None:
    changed = {
        f"{habit.name}: {name}({knob}={value})"
        for habit in PRESETS.values()
        for name, knobs in habit.parameters.items()
        for knob, value in knobs.items()
    }
    assert changed == {
        "trec_eval: ndcg(grades=all)",
        "recommenders: ndcg(users=truth)", "recommenders: coverage(counted=every)",
        "rectools: serendipity(users=run)", "lenskit: map(users=both)", "capri: coverage(counted=every)",
        "elliot: gini(norm=n-1)", "evidently: gini(norm=n-1)", "evidently: gini(items=shown)",
        "evidently: popularity(unseen=drop)",
        "rectools: ndcg(gain=binary)", "rectools: ndcg(ideal=full)", "rectools: serendipity(over=list)",
        "rectools: coverage(of=catalogue)", "ranx: rbp(gain=linear)",
        "recommenders: novelty(share=rows)", "recommenders: novelty(unseen=zero)",
        "recommenders: novelty(over=places)", "recbole: entropy(log=e)", "recbole: entropy(norm=shown)",
        "lenskit: dcg(gain=binary)", "lenskit: dcg(discount=lenskit)",
        "replay: ndcg(gain=binary)", "replay: map(norm=min)", "replay: novelty(over=k)",
        "replay: novelty(norm=max)", "replay: coverage(of=train)",
        "torchmetrics: map(norm=hits)", "torchmetrics: auc(without_miss=0)",
        "cornac: ndcg(gain=binary)", "cornac: ncrr(ideal=list)",
        "elliot: ndcg(gain=exp)", "elliot: novelty(share=rows)",
        "recpack: ndcg(gain=binary)", "recpack: dcg(gain=binary)", "recpack: coverage(users=truth)",
        "ir_measures: err(max_grade=4)", "ir_measures: judged(over=list)",
        "evidently: precision(over=list)", "evidently: f1(average=means)", "evidently: mar(form=relevant)",
        "evidently: novelty(unseen=drop)", "evidently: personalization(distance=hamming)",
        "evidently: coverage(of=train)",
        "recommenders: ndcg(gain=binary)", "recommenders: map(norm=min)", "recommenders: coverage(of=train)",
        "recbole: ndcg(gain=binary)", "recbole: map(norm=min)",
        "lenskit: ndcg(gain=binary)", "lenskit: ndcg(discount=lenskit)", "lenskit: precision(over=list)",
        "lenskit: recall(norm=min)", "lenskit: map(norm=list)", "lenskit: rbp(p=0.85)",
        "capri: precision(over=list)", "capri: map(norm=min)", "capri: ndcg(gain=exp)",
        "capri: ndcg(ideal=all)", "capri: novelty(unseen=zero)", "capri: coverage(of=train)",
        "capri: diversity(by=similarity)",
        "seed000: map(norm=hits)", "seed000: f1(average=users)",
        "seed002: mrr(sum=all)", "seed002: map(norm=none)", "seed002: precision(average=micro)",
        "seed002: recall(average=micro)", "seed002: precision(truth=best)", "seed002: recall(truth=best)",
    }  # fmt: skip


DCG_3 = 1 + 1 / log2(3) + 1 / 2
HIT_AT_2 = 1 / log2(3)


@pytest.mark.parametrize(
    ("name", "ndcg", "average_precision", "precision"),
    [
        # two relevant items, one of them second in a list of two; another user has no list; k = 3
        ("default", HIT_AT_2 / (1 + HIT_AT_2) / 2, (1 / 2) / 2 / 2, (1 / 3) / 2),
        ("ranx", HIT_AT_2 / (1 + HIT_AT_2) / 2, (1 / 2) / 2 / 2, (1 / 3) / 2),
        ("trec_eval", HIT_AT_2 / (1 + HIT_AT_2), (1 / 2) / 2, 1 / 3),
        ("rectools", HIT_AT_2 / DCG_3 / 2, (1 / 2) / 2 / 2, (1 / 3) / 2),
        ("recommenders", HIT_AT_2 / (1 + HIT_AT_2) / 2, (1 / 2) / 2, 1 / 3),
        ("recbole", HIT_AT_2 / (1 + HIT_AT_2) / 2, (1 / 2) / 2 / 2, (1 / 3) / 2),
        ("lenskit", 1 / (1 + 1), (1 / 2) / 2, 1 / 2),
        ("capri", HIT_AT_2 / (1 + HIT_AT_2), (1 / 2) / 2, 1 / 2),
        ("seed000", HIT_AT_2 / (1 + HIT_AT_2) / 2, (1 / 2) / 1 / 2, (1 / 3) / 2),
        ("seed002", HIT_AT_2 / (1 + HIT_AT_2) / 2, (1 / 2) / 1 / 2, 1 / (3 + 3)),
    ],
)
def test_one_list_scores_differently_under_the_habits_of_others(
    name: str, ndcg: float, average_precision: float, precision: float
) -> None:
    truth, lists = {"u": ["a", "b"], "v": ["a"]}, {"u": {"x": 2.0, "a": 1.0}}
    ranked = {"user_id": ["u", "u"], "item_id": ["x", "a"], "score": [2.0, 1.0], "rank": [1, 2]}
    source = lists if name != "rectools" else _table(ranked)
    found = recdash.evaluate({"run": source}, truth, metrics="ndcg@3,map@3,precision@3", preset=name)
    values = [row["value"] for row in found.rows()]
    assert values == pytest.approx([ndcg, average_precision, precision], rel=1e-14)
    assert [row["metric"] for row in found.rows()] == ["ndcg", "map", "precision"]


def _table(columns: dict[str, list[object]]) -> object:
    import pyarrow as pa

    return pa.table(columns)


@pytest.mark.parametrize("k", [0, -1, 2.0, "5", True, None])
def test_a_cutoff_is_a_whole_number_from_1(k: object) -> None:
    with pytest.raises(InputError) as refused:
        check_k(k)
    problem = Problem("bad-cutoff", f"k = {k}", "a cutoff is a whole number from 1", "Choose a k such as 10.")
    assert refused.value.problems == (problem,)
    check_k(1)


def test_twenty_brackets_are_read() -> None:
    assert parse("f1(of=" * 20 + "map,mar" + ")" * 20).name == "f1"


def test_a_metric_that_is_gone_is_read_as_a_plain_number() -> None:
    """A decision is kept for years: it may name a metric that this version lacks."""
    assert not is_percent("gone")
    assert not less_is_wanted("gone(by=x)")
    assert is_percent("coverage(of=train)")
    assert [less_is_wanted(name) for name in ("gini", "popularity", "rmse", "r2", "ndcg")] == [
        True, True, True, False, False,
    ]  # fmt: skip
