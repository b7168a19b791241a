"""A session of Spark with which tests match and count, on this machine or on a cluster."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import recdash

WITHOUT_SPARK = "recdash[spark] is not installed: it has 480 MB"
PANDAS_WARNING = "ignore:PySpark does not yet fully support:FutureWarning"
"""PySpark warns about pandas 3, which is not used for the data."""
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
}
LOCAL = {"spark.sql.shuffle.partitions": "4", "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
"""Settings with which a session on this machine starts fast."""
UNMERGED = {"spark.sql.adaptive.enabled": "false"}
"""Keeps partitions as they are, which Spark would merge."""


@contextmanager
def spark_engine(master: str, settings: dict[str, str]) -> Iterator[recdash.Spark]:
    """Yields an engine whose session runs with these settings and ``SETTINGS``, and stops it at the end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        engine = recdash.Spark(master, SETTINGS | settings)
        session = engine.session()
        yield engine
        session.stop()
