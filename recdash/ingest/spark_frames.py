"""Tells data frames of Spark, without importing anything of it."""

from __future__ import annotations

from typing import Any


def is_spark_frame(source: Any) -> bool:
    """Returns whether this is a data frame of Spark."""
    kind = type(source)
    return kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame"
