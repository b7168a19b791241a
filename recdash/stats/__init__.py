"""Statistics of paired comparison: what runs' values over the same users say."""

from recdash.stats.family import (
    CORRECTIONS,
    Correction,
    Finding,
    JudgedDifference,
    benjamini_hochberg,
    corrected,
    holm,
    judge,
    significant,
)
from recdash.stats.groups import Groups, grouped
from recdash.stats.paired import LEAST, LEVEL, NORMAL_95, Paired, differences, paired_difference
from recdash.stats.ranks import Standings, standings
from recdash.stats.resampling import bootstrap, permutation
from recdash.stats.sample_size import users_to_settle
from recdash.stats.wilcoxon import wilcoxon

__all__ = [
    "CORRECTIONS",
    "LEAST",
    "LEVEL",
    "NORMAL_95",
    "Correction",
    "Finding",
    "Groups",
    "JudgedDifference",
    "Paired",
    "Standings",
    "benjamini_hochberg",
    "bootstrap",
    "corrected",
    "differences",
    "grouped",
    "holm",
    "judge",
    "paired_difference",
    "permutation",
    "significant",
    "standings",
    "users_to_settle",
    "wilcoxon",
]
