"""Says in plain words why the values of a request do not fit their description."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from recdash.errors import InputError, Problem
from recdash.formatting import numbers
from recdash.formatting.sanitize import visible

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

SHOWN = 60
"""The maximum number of characters of a value that is quoted."""
KEY = "[key]"
"""What pydantic appends to the place of a key."""
_HEX = re.compile(r"\^\[0-9a-f\]\{(\d+)\}\$")
_WHOLE = ("{value} is not a whole number", "Send a whole number, such as 10.")
_NUMBER = ("{value} is not a number", "Send a number, such as 0.5.")
_CHOICE = ("{value} is neither true nor false", "Send true or false.")
_OBJECT = ("{value} is not an object", "Send an object: names and values in braces.")
WORDS: Mapping[str, tuple[str, str]] = {
    "missing": ("it is missing", "Add it. {described}"),
    "extra_forbidden": ("it is unknown", "Correct its name, or remove it. {described}"),
    "string_type": ("{value} is not a text", "Send a text."),
    "string_too_short": ("{value} is too short", "Send at least {least_letters}."),
    "string_too_long": ("it has {n_letters}", "Send at most {max_length:,}."),
    "string_pattern_mismatch": ("{value} has another form", "{form}"),
    "too_short": ("it has {n_values}", "Send at least {min_length:,}."),
    "too_long": ("it has {n_values}", "Send at most {max_length:,}."),
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": ("{value} is not a finite number", "Send a finite number."),
    "greater_than_equal": ("{value} is too small", "Send {ge:,} or more."),
    "less_than_equal": ("{value} is too large", "Send {le:,} or less."),
    "literal_error": ("{value} is unknown", "Send {expected}."),
    "bool_type": _CHOICE,
    "bool_parsing": _CHOICE,
    "list_type": ("{value} is not a list", "Send a list: values in brackets."),
    "dict_type": _OBJECT,
    "model_type": _OBJECT,
    "json_invalid": ("it is not JSON{json_place}", "Send an object in JSON."),
    "value_error": ("{error}", "{described}"),
}
"""Kind of error → what was found, and how to correct it; kinds without a row are told as pydantic does."""


def invalid(error: ValidationError, place: str, described: str = "/api/v1/docs describes it.") -> InputError:
    """Returns the error for parameters or a body that do not fit their description, with all problems.

    ``described`` is a sentence that says where the description is.
    """
    details = error.errors(include_url=False)
    return InputError(_problem(detail, place, described) for detail in details)


def _problem(detail: ErrorDetails, place: str, described: str) -> Problem:
    finding, fix = WORDS.get(detail["type"], ("{message}", "{described}"))
    facts = {**detail.get("ctx", {}), **_facts(detail), "described": described}
    where = f"{place} {_path(detail['loc'])}".strip()
    return Problem("bad-parameter", where, finding.format(**facts), fix.format(**facts).strip())


def _facts(detail: ErrorDetails) -> dict[str, Any]:
    """Returns what the words of an error may quote besides the facts that pydantic gives."""
    context, value = detail.get("ctx", {}), detail["input"]
    digits = _HEX.fullmatch(context.get("pattern", ""))
    line = re.search(r"at line (\d+) column ([1-9]\d*)$", str(context.get("error")))
    return {
        "message": detail["msg"],
        "value": _shown(value),
        "n_letters": numbers.counted(len(value), "character") if isinstance(value, str) else "",
        "n_values": numbers.counted(context.get("actual_length", 0), "value"),
        "least_letters": numbers.counted(context.get("min_length", 0), "character"),
        "form": f"Send {digits[1]} characters of 0-9 and a-f."
        if digits
        else "Send it in the form described.",
        "json_place": f" at line {line[1]}, character {line[2]}" if line else "",
    }


def _path(parts: Sequence[int | str]) -> str:
    """Returns the place of a value in a body, such as ``files[0].name``."""
    path = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts if part != KEY
    ).removeprefix(".")
    return f"{path} (the name)" if KEY in parts else path


def _shown(value: object) -> str:
    """Returns the value as JSON, shortened."""
    text = visible(json.dumps(value, ensure_ascii=False, default=str))
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
