"""What does not fit in a request is said in plain words, with the place of each value, all at once."""

from __future__ import annotations

import json
import math
from operator import attrgetter

import pytest
from pydantic import BaseModel, ValidationError
from starlette.datastructures import QueryParams

from recdash.errors import InputError
from recdash.mcp.arguments import OfComparison, OfScores
from recdash.mcp.tools import TOOLS
from recdash.web.api.additions import FileToStore, NewAddition
from recdash.web.api.parameters import QueryParameters, ReportParameters, ScoreParameters, read
from recdash.web.api.uploads import NewUpload
from recdash.web.api.validation import WORDS, invalid

HASH = "0" * 64
UPLOAD = {"name": "a.csv", "size": 1, "sha256": HASH}
ADDITION = {"experiment": "films", "files": [{"source": "nightly"}]}


def said(kind: type[BaseModel], body: str | bytes) -> list[str]:
    """The problems of a body, as lines."""
    with pytest.raises(ValidationError) as refused:
        kind.model_validate_json(body, strict=True)
    return str(invalid(refused.value, "body")).split("\n")


def test_all_problems_of_a_body_are_said_at_once() -> None:
    body = {"name": "", "size": True, "sha256": "x", "colour": 1}
    assert said(NewUpload, json.dumps(body)) == [
        'body name: "" is too short. Send at least 1 character.',
        "body size: true is not a whole number. Send a whole number, such as 10.",
        'body sha256: "x" has another form. Send 64 characters of 0-9 and a-f.',
        "body colour: it is unknown. Correct its name, or remove it. /api/v1/docs describes it.",
    ]


@pytest.mark.parametrize("value", [True, False, "1", 1.0, 1.5, None, [1]])
def test_a_number_of_bytes_is_a_whole_number_and_nothing_else(value: object) -> None:
    (line,) = said(NewUpload, json.dumps({**UPLOAD, "size": value}))
    assert line == f"body size: {json.dumps(value)} is not a whole number. Send a whole number, such as 10."


IN_THE_DOCS = "/api/v1/docs describes it."
NO_OBJECT, NO_LIST = "Send an object: names and values in braces.", "Send a list: values in brackets."


@pytest.mark.parametrize(
    ("change", "place", "finding", "fix"),
    [
        ({"files": []}, "files", "it has 0 values", "Send at least 1."),
        ({"tags": ["x"] * 21}, "tags", "it has 21 values", "Send at most 20."),
        ({"tags": ["x", 1]}, "tags[1]", "1 is not a text", "Send a text."),
        ({"baseline": "x" * 301}, "baseline", "it has 301 characters", "Send at most 300."),
        ({"depth": 0}, "depth", "0 is too small", "Send 1 or more."),
        ({"depth": 10_001}, "depth", "10001 is too large", "Send 10,000 or less."),
        ({"relevance_threshold": True}, "relevance_threshold", "true is not a number",
         "Send a number, such as 0.5."),
        ({"accept_unknown_ids": 1}, "accept_unknown_ids", "1 is neither true nor false",
         "Send true or false."),
        ({"replicates": "runs"}, "replicates", '"runs" is unknown', "Send 'seeds' or 'folds'."),
        ({"refuse": "x"}, "refuse", '"x" is not a list', NO_LIST),
        ({"links": ["x"]}, "links", '["x"] is not an object', NO_OBJECT),
        ({"links": {"": "als"}}, "links. (the name)", '"" is too short', "Send at least 1 character."),
        ({"files": ["x"]}, "files[0]", '"x" is not an object', NO_OBJECT),
        ({"files": [{"upload": "x"}]}, "files[0].upload", '"x" has another form',
         "Send 32 characters of 0-9 and a-f."),
        ({"files": [{}]}, "files[0]", "it has neither of upload and source, of which a file needs one",
         IN_THE_DOCS),
        ({"experiment": ["x" * 99]}, "experiment", f'["{"x" * 57}… is not a text', "Send a text."),
    ],
)  # fmt: skip
def test_each_problem_has_place_finding_and_fix(
    change: dict[str, object], place: str, finding: str, fix: str
) -> None:
    assert said(NewAddition, json.dumps({**ADDITION, **change})) == [f"body {place}: {finding}. {fix}"]


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b'{"a":', "body: it is not JSON at line 1, character 5. Send an object in JSON."),
        (b"", "body: it is not JSON. Send an object in JSON."),
        (b"[]", "body: [] is not an object. Send an object: names and values in braces."),
        (b'{"size": NaN, "name": "a", "sha256": "%s"}' % HASH.encode(),
         "body size: NaN is not a whole number. Send a whole number, such as 10."),
    ],
)  # fmt: skip
def test_what_is_no_object_in_json_is_said_with_its_place(body: bytes, line: str) -> None:
    assert said(NewUpload, body) == [line]


@pytest.mark.parametrize(
    ("query", "place", "finding", "fix"),
    [
        ("colour=red", "colour", "it is unknown", f"Correct its name, or remove it. {IN_THE_DOCS}"),
        ("relevance_threshold=x", "relevance_threshold", '"x" is not a number',
         "Send a number, such as 0.5."),
        ("relevance_threshold=nan", "relevance_threshold", '"nan" is not a finite number',
         "Send a finite number."),
        ("run=a&run=", "run[1]", '"" is too short', "Send at least 1 character."),
    ],
)  # fmt: skip
def test_parameters_of_an_address_are_told_likewise(query: str, place: str, finding: str, fix: str) -> None:
    with pytest.raises(InputError) as refused:
        read(ScoreParameters, QueryParams(query))
    assert str(refused.value) == f"parameter {place}: {finding}. {fix}"


@pytest.mark.parametrize("arguments", [OfScores, OfComparison])
def test_true_is_no_number_for_an_assistant(arguments: type[BaseModel]) -> None:
    """Its tools take numbers as texts, so that they are not read as strictly as bodies."""
    given: dict[str, object] = {"experiment": "films", "relevance_threshold": "4"}
    assert arguments.model_validate(given).model_dump()["relevance_threshold"] == 4
    with pytest.raises(ValidationError) as refused:
        arguments.model_validate({**given, "relevance_threshold": True})
    assert str(invalid(refused.value, "argument", "See its schema.")) == (
        "argument relevance_threshold: true is not a number. See its schema."
    )


VALUES = [None, True, -1, 10**9, 10**30, 0.5, math.inf, "", "x", "x" * 400, [], ["x"], [1] * 30, {}, {"": 1}]
KINDS = [NewAddition, FileToStore, NewUpload, ScoreParameters, QueryParameters, ReportParameters, *map(
    attrgetter("arguments"), TOOLS
)]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=attrgetter("__name__"))
def test_no_problem_of_a_request_is_told_in_the_words_of_the_library(kind: type[BaseModel]) -> None:
    refused: set[str] = set()
    for name in (*kind.model_fields, "colour"):
        for value in VALUES:
            try:
                kind.model_validate_json(json.dumps({name: value}), strict=True)
            except ValidationError as error:
                refused |= {detail["type"] for detail in error.errors()}
    assert refused
    assert refused <= WORDS.keys()
