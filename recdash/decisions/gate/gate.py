"""Judges a candidate against a baseline from files or tables, without storing anything."""

from __future__ import annotations

import filecmp
from collections.abc import Mapping, Sequence
from functools import partial
from inspect import signature
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recdash.comparison.evidence import BLOCKING
from recdash.comparison.source import Source
from recdash.decisions.gate.offline import GatePair, OfflineRule
from recdash.decisions.gate.online import judge_online, unfinished, variant_of
from recdash.decisions.gate.result import INCONCLUSIVE, GateResult, Inconclusive, RuleResult
from recdash.decisions.gate.rules import ONLINE, GateRule, level_of_each, read_rules
from recdash.domain.arguments import check_type, wrong_type
from recdash.errors import InputError, Problem, all_or_problems, check_known
from recdash.evaluation.request import check_choice

if TYPE_CHECKING:
    from recdash.evaluation import Evaluation
    from recdash.online.analysis.analysed_test import AnalysedTest

BASELINE, CANDIDATE = "baseline", "candidate"


def gate(
    baseline: Any = None,
    candidate: Any = None,
    truth: Any = None,
    *,
    rules: str | Sequence[str],
    ab_test: AnalysedTest | None = None,
    variant: str | None = None,
    inconclusive: Inconclusive = "fail",
    **question: Any,
) -> GateResult:
    """Returns whether a candidate keeps to rules against a baseline: ``["ndcg@10 >= -0.5%", "coverage@10 >=
    -10%", "online.conversion >= 0"]``. Nothing is stored.

    ``baseline`` and ``candidate`` are lists as ``recdash.evaluate`` takes them, or {name: lists}; ``truth``
    and the keywords in ``question`` are those of ``recdash.evaluate``. ``ab_test`` is what
    ``recdash.ab_test`` returned, for rules of ``online.`` metrics; ``variant`` is the one that served the
    candidate, if the test has several beside the control.

    A margin with % is a share of the baseline's value, any other an amount in units of the metric. A rule
    holds if the whole interval of the change is within its margin; all intervals hold together at 95 %
    (Bonferroni). ``inconclusive`` says whether undecided rules count as *pass* or *fail*.

    Raises InputError with every problem found: of rules, of files, and of metrics that cannot be computed.
    """
    read = read_rules(rules)
    _check_question(question)
    check_type("inconclusive", inconclusive, str, "Choose fail or pass.")
    check_choice("inconclusive", inconclusive, INCONCLUSIVE)
    offline = [rule for rule in read if not rule.online]
    _check_given(read, baseline, candidate, truth, ab_test, variant)
    base_name, base_lists = _named(baseline, ab_test.control if ab_test else BASELINE)
    name, lists = _named(candidate, CANDIDATE)
    if base_name == name:
        fix = "Give each its own name: {'als v3': …} and {'als v4': …}."
        raise InputError(Problem("name-twice", "baseline and candidate", f"both are called '{name}'", fix))
    pair = rules_of_pair = None
    notices: list[Problem] = []
    if offline:
        evaluation = _evaluated({base_name: base_lists, name: lists}, truth, offline, question)
        pair = _pair(evaluation, base_name, name, same_lists=_are_same(base_lists, lists))
        rules_of_pair = evaluation.metric_and_k
        notices += evaluation.notices()
    served = None if ab_test is None else variant_of(ab_test, name, variant)
    if ab_test is not None and served is not None:
        notices += [*ab_test.noticed(), *unfinished(ab_test, served)]
    if candidate is None and served is not None:
        name = served
    level = level_of_each(read)

    def judge(rule: GateRule) -> RuleResult:
        if rule.online:
            assert ab_test is not None and served is not None  # noqa: S101, PT018 - checked above
            return judge_online(ab_test, served, rule, level)
        assert pair is not None and rules_of_pair is not None  # noqa: S101, PT018
        return pair.judge(OfflineRule(rule, *rules_of_pair(rule.metric)), level)

    results = all_or_problems([partial(judge, rule) for rule in read])
    return GateResult(base_name, name, tuple(results), level, inconclusive, notices=tuple(notices))


def refuse_incomparable(source: Source, baseline: str, candidate: str) -> None:
    """Raises InputError if the numbers of the two runs cannot be compared, such as those of two test sets."""
    problems = [problem for problem in source.problems((baseline, candidate)) if problem.code in BLOCKING]
    if problems:
        raise InputError(problems)


def _check_given(
    rules: Sequence[GateRule],
    baseline: Any,
    candidate: Any,
    truth: Any,
    ab_test: AnalysedTest | None,
    variant: str | None,
) -> None:
    """Raises InputError for rules without the data that they need, and for a variant without an A/B test."""
    if ab_test is not None and not hasattr(ab_test, "control"):
        raise wrong_type("ab_test", ab_test, "Give what recdash.ab_test returned.")
    problems = []
    if any(not rule.online for rule in rules):
        given = {"baseline": baseline, "candidate": candidate, "truth": truth}
        missing = [name for name, value in given.items() if value is None]
        fix = "Rules without 'online.' need baseline, candidate and truth."
        problems += [Problem("no-source", name, "it is missing", fix) for name in missing]
    if ab_test is None and variant is not None:
        fix = "Give the A/B test in which it served the candidate, or leave it out."
        problems.append(Problem("no-ab-test", f"variant '{variant}'", "there is no A/B test", fix))
    if ab_test is None and (online := [rule for rule in rules if rule.online]):
        fix = "Give the table of the A/B test, or remove the rule."
        problems.append(Problem("no-ab-test", f"rule '{online[0]}'", "there is no A/B test", fix))
    if ab_test is not None and not any(rule.online for rule in rules):
        fix = f"Add one, such as '{ONLINE}conversion >= 0', or leave the A/B test out."
        problems.append(Problem("no-online-rule", "A/B test", "no rule is about it", fix))
    if problems:
        raise InputError(problems)


def _named(lists: Any, name: str) -> tuple[str, Any]:
    """Returns the name and the lists of {name: lists}; ``name`` for lists without a name, such as {user:
    {item: score}}.
    """
    if not isinstance(lists, Mapping) or len(lists) != 1:
        return name, lists
    ((key, value),) = lists.items()
    is_user = isinstance(value, Mapping) and all(isinstance(score, Real) for score in value.values())
    return (name, lists) if is_user else (str(key), value)


def _check_question(question: Mapping[str, Any]) -> None:
    """Raises UnknownName for an argument that ``recdash.evaluate`` does not have, or that a gate fills in."""
    from recdash.evaluation import evaluate

    filled = ("runs", "truth", "metrics")
    check_known("argument", question, [name for name in signature(evaluate).parameters if name not in filled])


def _evaluated(
    runs: Mapping[str, Any], truth: Any, rules: Sequence[GateRule], question: Mapping[str, Any]
) -> Evaluation:
    """Returns the scores in the rules' metrics; a run without lists has predicted ratings in ``question``."""
    from recdash.evaluation import evaluate

    metrics = list(dict.fromkeys(rule.metric for rule in rules))
    rated = question.get("predictions") or {}
    with_lists = {name: lists for name, lists in runs.items() if lists is not None or name not in rated}
    return evaluate(with_lists, truth, metrics=metrics, **question)


def _pair(evaluation: Evaluation, baseline: str, candidate: str, *, same_lists: bool) -> GatePair:
    from recdash.evaluation.in_memory_source import EvaluationSource

    source = EvaluationSource(evaluation)
    refuse_incomparable(source, baseline, candidate)
    return GatePair(source, baseline, candidate, same_lists)


def _are_same(first: Any, second: Any) -> bool:
    """Returns whether both are the same table, or files with the same content."""
    if isinstance(first, str | Path) and isinstance(second, str | Path):
        return filecmp.cmp(first, second, shallow=False)
    return first is second and first is not None
