"""Evaluates candidates against one test set in memory: reads, scores, slices and compares; nothing is
stored.
"""

from recdash.evaluation.evaluation import Evaluation, evaluate
from recdash.evaluation.inspection import inspect

__all__ = ["Evaluation", "evaluate", "inspect"]
