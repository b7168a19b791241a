"""Statistical tests and intervals for comparing runs over the same users."""

from recdash.domain.kinds import CORRECTIONS, Correction
from recdash.stats.family import (
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
from recdash.stats.ranks import Ranks, rank_runs
from recdash.stats.resampling import bootstrap, permutation
from recdash.stats.sample_size import required_users
from recdash.stats.signed_rank import wilcoxon

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
    "Ranks",
    "benjamini_hochberg",
    "bootstrap",
    "corrected",
    "differences",
    "grouped",
    "holm",
    "judge",
    "paired_difference",
    "permutation",
    "rank_runs",
    "required_users",
    "significant",
    "wilcoxon",
]
