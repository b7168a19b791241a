"""Why online and offline results differ: twelve checks, each of which supports its cause, rules it out, or
says what it would take to tell.
"""

from __future__ import annotations

from recdash.diagnosis.answer import Answer
from recdash.diagnosis.checks import CHECKS, Check, ask_all
from recdash.diagnosis.evidence import Evidence, Lacking
from recdash.diagnosis.summary import likely, summary

__all__ = ["CHECKS", "Answer", "Check", "Evidence", "Lacking", "ask_all", "likely", "summary"]
