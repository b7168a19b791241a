"""Responses of the HTTP API: JSON, and files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from recdash.web.api.problems import PRIVATE
from recdash.web.api.questions import FileAnswer


def json_bytes(answer: Any) -> bytes:
    """Returns an answer as JSON, in which null stands for numbers that JSON cannot write."""
    try:
        text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(answer), ensure_ascii=False, allow_nan=False)
    return text.encode(errors="replace")


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def json_response(content: bytes, status: int = 200) -> Response:
    return Response(content, status, media_type="application/json", headers=PRIVATE)


def json_answer(answer: Any, status: int = 200) -> Response:
    return json_response(json_bytes(answer), status)


def file_response(file: FileAnswer) -> Response:
    disposition = f"attachment; filename*=utf-8''{quote(file.name, safe='')}"
    return Response(
        file.content, media_type=file.media_type, headers={**PRIVATE, "content-disposition": disposition}
    )
