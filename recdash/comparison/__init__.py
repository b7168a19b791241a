"""Compares runs with a baseline and recommends one, for pages, reports, the command line and Python alike."""

from recdash.comparison.evidence import VerdictEvidence, gather_evidence
from recdash.comparison.pairs import Comparison, Pair, compare
from recdash.comparison.query import ComparisonQuery, Margin, Terms, read_margin
from recdash.comparison.source import Source
from recdash.comparison.verdict import OfflineVerdict, decide

__all__ = [
    "Comparison", "ComparisonQuery", "Margin", "OfflineVerdict", "Pair", "Source", "Terms", "VerdictEvidence",
    "compare", "decide", "gather_evidence", "read_margin",
]  # fmt: skip
