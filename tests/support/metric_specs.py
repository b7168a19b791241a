"""Every metric of the table under every combination of its parameters."""

from __future__ import annotations

from itertools import product
from typing import Any

from recdash.metrics import define
from recdash.metrics.catalogue import CATALOGUE
from recdash.metrics.ranking import RANKING

MORE_VALUES = {
    "p": ["0.5"], "max_grade": ["3.5"], "head": ["0.5"], "attribute": ["kind"], "beta": ["2"],
    "min_hits": ["2"], "power": ["0", "1.5"],
}  # fmt: skip
"""Of parameters that take more than the values listed."""


def specs_of(metric: Any) -> list[str]:
    """A metric under every combination of its parameters' values."""
    choices = [
        [f"{knob.name}={value}" for value in [*knob.values, *MORE_VALUES.get(knob.name, [])]]
        for knob in metric.parameters
    ]
    return [f"{metric.name}({','.join(chosen)})" for chosen in product(*choices)]


PAIRS = (
    "f1(of=map,mar)",
    "f1(of=map,mar,average=means)",
    "f1(of=map,mar,average=means,beta=2)",
    "f1(of=ndcg(gain=exp),mrr(sum=all))",
    "f1(of=f1,hit_rate)",
)
ACCURACY = [define(spec) for metric in RANKING for spec in specs_of(metric)] + [
    define(spec) for spec in PAIRS
]
OVER_THE_SAMPLE = [one for one in ACCURACY if "users=" not in str(one)]
"""Those that count the sample's users; test_metrics_populations holds the others to their populations."""
EXPOSURE = [define(spec) for metric in CATALOGUE for spec in specs_of(metric)]
EVERYTHING = [*ACCURACY, *EXPOSURE]
COUNTED_AT_THE_DEPTH = {str(one) for one in EXPOSURE if one.metric.from_lists(one.parameters)}
"""Of these not every list has a value; how many do is said for the deepest k."""
