"""Writes a definition's formula in LaTeX, with its parameters filled in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from recdash.metrics import Definition, parse
from recdash.metrics.populations import POPULATION, WHO_COUNTS
from recdash.metrics.ranking import RankingMetric
from recdash.metrics.spec import split

Parameters = Mapping[str, str]


def formula(definition: Definition) -> str:
    """Returns the LaTeX of one user's value; for a catalogue-level metric, of the run's value."""
    write = _WRITTEN.get(definition.metric.name)
    own = write(definition.parameters) if write else definition.metric.latex
    users = definition.parameters.get(POPULATION.name, WHO_COUNTS)
    if users == WHO_COUNTS or not isinstance(definition.metric, RankingMetric):
        return own
    # The mean over users is written only if the parameter selects other users than the rule.
    population = users.replace("_", r"\ ")
    return rf"\frac{{1}}{{U_{{\mathrm{{{population}}}}}}}\sum_u {own}"


def is_exact(definition: Definition) -> bool:
    """Returns whether the formula shows the definition's parameters. False if a parameter was changed but the
    formula is still the default's.
    """
    return definition.metric.name in _WRITTEN or str(definition) == definition.metric.name


def _fraction(over: str, under: str) -> str:
    return over if under == "1" else rf"\frac{{{over}}}{{{under}}}"


def _times(under: str, summed: str) -> str:
    return summed if under == "1" else rf"\frac{{1}}{{{under}}}{summed}"


_GAIN = {"linear": "g{0}", "exp": "(2^{{g{0}}} - 1)", "binary": "1"}
_DISCOUNT = {"log2": r"\log_2({0} + 1)", "lenskit": r"\log_2(\max({0}, 2))", "ln": r"\ln({0} + 1)"}


def _dcg(parameters: Parameters) -> str:
    gain, discount = _GAIN[parameters["gain"]], _DISCOUNT[parameters["discount"]]
    return rf"\sum_{{r_j \le k}} {gain.format('_j')} / {discount.format('r_j')}"


def _ndcg(parameters: Parameters) -> str:
    gain = _GAIN[parameters["gain"]]
    discount = _DISCOUNT[parameters["discount"]]
    m, hits = {"relevant": ("m", r"r_j \le k"), "all": ("m_+", r"r_j \le k, g_j > 0")}[parameters["grades"]]
    places = {"cut": rf"\min({m},k)", "full": "k", "all": m}[parameters["ideal"]]
    gained = rf"\sum_{{{hits}}} {gain.format('_j')} / {discount.format('r_j')}"
    best = rf"\sum_{{i=1}}^{{{places}}} {gain.format('^*_i')} / {discount.format('i')}"
    return _fraction(gained, best)


def _precision(parameters: Parameters) -> str:
    return _share(parameters, {"k": "k", "list": r"\min(k, |L|)"}[parameters["over"]])


def _recall(parameters: Parameters) -> str:
    return _share(parameters, {"relevant": "m", "min": r"\min(m,k)"}[parameters["norm"]])


def _share(parameters: Parameters, places: str) -> str:
    within = {"all": "r_j", "best": r"\max(r_j, p_j)"}[parameters["truth"]]
    if parameters["average"] == "micro":
        return rf"\frac{{\sum_u \sum_{{{within} \le k}} 1}}{{\sum_u {places}}}"
    return _times(places, rf"\sum_{{{within} \le k}} 1")


def _f1(parameters: Parameters) -> str:
    weight = "" if parameters["beta"] == "1" else rf"{parameters['beta']}^2 \cdot "
    twice = "2" if not weight else rf"(1 + {parameters['beta']}^2)"
    if parameters["of"] == "precision,recall" and parameters["average"] == "users":
        return rf"\frac{{{twice}}}{{k + {weight}m}}\sum_{{r_j \le k}} 1"
    names = (parse(part).name.replace("_", r"\ ") for part in split(parameters["of"]))
    a, b = (rf"\mathrm{{{name}}}" for name in names)
    if parameters["average"] == "means":
        a, b = rf"\overline{{{a}}}", rf"\overline{{{b}}}"
    return rf"\frac{{{twice} \cdot {a} \cdot {b}}}{{{weight}{a} + {b}}}"


def _mrr(parameters: Parameters) -> str:
    return {"first": r"\frac{[\,r_1 \le k\,]}{r_1}", "all": r"\sum_{r_j \le k} \frac{1}{r_j}"}[
        parameters["sum"]
    ]


def _map(parameters: Parameters) -> str:
    under = {
        "relevant": "m",
        "min": r"\min(m,k)",
        "list": r"\min(m,k,|L|)",
        "hits": r"|\{j : r_j \le k\}|",
        "k": "k",
        "none": "1",
    }[parameters["norm"]]
    return _times(under, r"\sum_{r_j \le k} \frac{j}{r_j}")


def _mar(parameters: Parameters) -> str:
    return {
        "ranks": r"\frac{1}{k}\sum_{i=1}^{k} \mathrm{recall@}i",
        "hits": r"\frac{1}{|\{j : r_j \le k\}|}\sum_{r_j \le k} \frac{j}{m}",
        "relevant": r"\frac{1}{m}\sum_{r_j \le k} \frac{j}{m}",
    }[parameters["form"]]


_WRITTEN: Mapping[str, Callable[[Parameters], str]] = {
    "ndcg": _ndcg,
    "dcg": _dcg,
    "precision": _precision,
    "recall": _recall,
    "f1": _f1,
    "mrr": _mrr,
    "map": _map,
    "mar": _mar,
}
"""Functions that write the formula, for metrics whose parameters change it."""
