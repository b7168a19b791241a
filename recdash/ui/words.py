"""The words of ``recdash.words``, under the name by which pages know them."""

from recdash.words import (
    BEYOND,
    CORE,
    PERCENT,
    base,
    finding,
    has_k,
    is_percent,
    listed,
    many,
    metric_at,
    metric_name,
    named_number,
    ordered_metrics,
    tone,
    users,
)

__all__ = [
    "BEYOND", "CORE", "PERCENT", "base", "finding", "has_k", "is_percent", "listed", "many", "metric_at",
    "metric_name", "named_number", "ordered_metrics", "tone", "users",
]  # fmt: skip
