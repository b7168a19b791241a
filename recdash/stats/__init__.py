"""Statistics of paired comparison: what two runs' values over the same users say."""

from recdash.stats.paired import Paired, paired_difference

__all__ = ["Paired", "paired_difference"]
