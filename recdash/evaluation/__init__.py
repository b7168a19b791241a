"""Candidates against one truth, in memory: read, score, cut into slices, compare; nothing is stored."""

from recdash.evaluation.evaluation import Evaluation, evaluate

__all__ = ["Evaluation", "evaluate"]
