"""Metrics: the definition of every number that recdash computes.

Their functions compute from hits and counts; they read no tables and no files. A user's own metric is a row
of the same form, added with ``register_metric``, by a file or by a package (``metrics.own``).
"""

from recdash.metrics.own import register_metric
from recdash.metrics.presets import PRESETS, Preset, preset
from recdash.metrics.registry import METRICS, Definition, define
from recdash.metrics.sample import RelevantHits, sample_of
from recdash.metrics.scoring import MetricInputs, by_metric, score
from recdash.metrics.spec import Spec, check_k, parse, parse_list

__all__ = [
    "METRICS", "PRESETS", "Definition", "MetricInputs", "Preset", "RelevantHits", "Spec",
    "by_metric", "check_k", "define", "parse", "parse_list", "preset", "register_metric", "sample_of",
    "score",
]  # fmt: skip
