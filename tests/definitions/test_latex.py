"""The printed formula is that of the definition, not of its default."""

from __future__ import annotations

import pytest

from recdash.definitions.latex import formula, is_exact
from recdash.metrics import METRICS, PRESETS, define, parse

PLAIN = [name for name, metric in METRICS.items() if all(knob.values for knob in metric.parameters)]


@pytest.mark.parametrize("name", PLAIN)
def test_the_default_is_written_as_in_the_metrics_own_table(name: str) -> None:
    assert formula(define(name)) == METRICS[name].latex


@pytest.mark.parametrize(
    ("spec", "written"),
    [
        ("ndcg(gain=binary,ideal=full)",
         r"\frac{\sum_{r_j \le k} 1 / \log_2(r_j + 1)}{\sum_{i=1}^{k} 1 / \log_2(i + 1)}"),
        ("ndcg(gain=exp,ideal=all)",
         (r"\frac{\sum_{r_j \le k} (2^{g_j} - 1) / \log_2(r_j + 1)}"
          r"{\sum_{i=1}^{m} (2^{g^*_i} - 1) / \log_2(i + 1)}")),
        ("ndcg(gain=binary,discount=lenskit)",
         r"\frac{\sum_{r_j \le k} 1 / \log_2(\max(r_j, 2))}{\sum_{i=1}^{\min(m,k)} 1 / \log_2(\max(i, 2))}"),
        ("map(norm=min)", r"\frac{1}{\min(m,k)}\sum_{r_j \le k} \frac{j}{r_j}"),
        ("map(users=judged_both)",
         r"\frac{1}{U_{\mathrm{judged\ both}}}\sum_u \frac{1}{m}\sum_{r_j \le k} \frac{j}{r_j}"),
        ("map(norm=none)", r"\sum_{r_j \le k} \frac{j}{r_j}"),
        ("precision(over=list)", r"\frac{1}{\min(k, |L|)}\sum_{r_j \le k} 1"),
        ("precision(average=micro)", r"\frac{\sum_u \sum_{r_j \le k} 1}{\sum_u k}"),
        ("mrr(sum=all)", r"\sum_{r_j \le k} \frac{1}{r_j}"),
        ("f1(of=map,mar)", r"\frac{2 \cdot \mathrm{map} \cdot \mathrm{mar}}{\mathrm{map} + \mathrm{mar}}"),
        ("mar(form=relevant)", r"\frac{1}{m}\sum_{r_j \le k} \frac{j}{m}"),
    ],
)  # fmt: skip
def test_parameters_stand_in_the_formula(spec: str, written: str) -> None:
    assert formula(define(spec)) == written


def test_every_value_of_every_written_metric_has_its_own_formula() -> None:
    for name in ("ndcg", "precision", "recall", "mrr", "map", "mar"):
        for knob in METRICS[name].parameters:
            written = [formula(define(f"{name}({knob.name}={value})")) for value in knob.values]
            assert len(set(written)) == len(written), f"{name}({knob.name})"


@pytest.mark.parametrize("preset", PRESETS)
def test_what_a_preset_changes_in_accuracy_is_seen_in_the_formula(preset: str) -> None:
    for name in ("ndcg", "precision", "recall", "map", "mrr"):
        definition = define(PRESETS[preset].apply(parse(name)))
        assert is_exact(definition)
        assert (formula(definition) == METRICS[name].latex) == (str(definition) == name)


def test_a_formula_that_hides_a_parameter_says_so() -> None:
    assert is_exact(define("novelty"))
    assert not is_exact(define("novelty(unseen=zero)"))
