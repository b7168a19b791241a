"""Evaluates candidates against one truth in memory: read, score, slice, compare; nothing is stored."""

from recdash.evaluation.evaluation import Evaluation, evaluate

__all__ = ["Evaluation", "evaluate"]
