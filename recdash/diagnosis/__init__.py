"""Explains why online and offline results differ: twelve checks, each of which supports one possible cause,
rules it out, or says which data is missing.
"""

from __future__ import annotations

from recdash.diagnosis.answer import CheckAnswer
from recdash.diagnosis.checks import CHECKS, Check, ask_all
from recdash.diagnosis.evidence import Evidence, Missing
from recdash.diagnosis.summary import likely, summary

__all__ = ["CHECKS", "Check", "CheckAnswer", "Evidence", "Missing", "ask_all", "likely", "summary"]
