"""Evaluates candidates against one test set in memory: reads, scores, slices and compares; nothing is
stored.
"""

from recdash.evaluation.evaluation import Evaluation, evaluate

__all__ = ["Evaluation", "evaluate"]
