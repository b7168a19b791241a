"""Engines: match recommendations with the test set once, and return the hits."""

from recdash.engines.hits_tables import (
    EXPOSURE_TABLES,
    hits_from_tables,
    hits_to_tables,
    with_exposure,
)
from recdash.engines.list_metrics import list_metrics
from recdash.engines.matcher import match
from recdash.engines.reference import Reference, read_reference
from recdash.engines.truth import CodedTruth, code_truth

__all__ = [
    "EXPOSURE_TABLES", "CodedTruth", "Reference", "code_truth", "hits_from_tables", "hits_to_tables",
    "list_metrics", "match", "read_reference", "with_exposure",
]  # fmt: skip
