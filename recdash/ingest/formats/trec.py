"""Reads TREC runs and qrels."""

from __future__ import annotations

import re

from recdash.domain.kinds import TableKind
from recdash.errors import Problem
from recdash.ingest.byte_source import Content
from recdash.ingest.formats.delimited import text_table
from recdash.ingest.formats.dialect import NUMBER, Dialect, sample_lines
from recdash.ingest.formats.raw_table import RawTable
from recdash.ingest.formats.text_rows import prepared
from recdash.ingest.limits import Limits

ITERATIONS = {"q0", "0"}


A_SCORE = re.compile(rf"{NUMBER.pattern}|[+-]?(nan|inf|infinity)", re.IGNORECASE)


def is_trec_run(content: Content) -> bool:
    """Returns True if lines have six blank-separated fields: query, Q0, document, rank, score, tag."""
    rows = [line.split() for line in sample_lines(content)]
    return all(len(r) == 6 and r[1].lower() in ITERATIONS and A_SCORE.fullmatch(r[4]) for r in rows)


def is_untagged_run(content: Content) -> bool:
    """Returns True if lines have five blank-separated fields: query, Q0, document, rank, score."""
    rows = [line.split() for line in sample_lines(content)]
    shaped = all(len(row) == 5 and row[1].lower() == "q0" for row in rows)
    return shaped and all(row[3].isdecimal() and A_SCORE.fullmatch(row[4]) for row in rows)


def is_qrels(content: Content) -> bool:
    """Returns True if lines have four blank-separated fields: query, iteration, document, relevance."""
    rows = [line.split() for line in sample_lines(content)]
    return all(len(r) == 4 and r[1].lower() in ITERATIONS and NUMBER.fullmatch(r[3]) for r in rows)


def read_trec_run(content: Content, _kind: TableKind, _limits: Limits) -> RawTable:
    """Returns the raw table of a TREC run, ordered by score; the rank column is ignored, as in trec_eval."""
    return _trec_run(content, ("tag",))


def read_untagged_run(content: Content, _kind: TableKind, _limits: Limits) -> RawTable:
    """Returns the raw table of a TREC run without tags; the run is named after the file."""
    finding = "a TREC run without the tag in its sixth field: the run is named after the file"
    return _trec_run(content, (), Problem("trec-without-tag", "file", finding, ""))


def _trec_run(content: Content, tag: tuple[str, ...], *notices: Problem) -> RawTable:
    dialect = Dialect(" ", ("query_id", "Q0", "doc_id", "rank", "score", *tag), header=False, quoted=False)
    finding = "TREC run: the rank column is ignored and the score used, as in trec_eval"
    roles = {"user_id": "query_id", "item_id": "doc_id", "score": "score"} | ({"run": "tag"} if tag else {})
    notices = (Problem("trec", "file", finding, ""), *notices)
    return text_table(prepared(content, dialect), "TREC run", roles=roles, is_trec=True, notices=notices)


def read_qrels(content: Content, kind: TableKind, _limits: Limits) -> RawTable:
    dialect = Dialect(" ", ("query_id", "iteration", "doc_id", "relevance"), header=False, quoted=False)
    value = {"train": "rating", "run": "score"}.get(kind, "relevance")
    roles = {"user_id": "query_id", "item_id": "doc_id", value: "relevance"}
    notice = Problem("trec", "file", "TREC qrels: query, iteration, document, relevance", "")
    return text_table(prepared(content, dialect), "TREC qrels", roles=roles, notices=(notice,))
