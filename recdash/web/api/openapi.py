"""The description of the HTTP API: an OpenAPI document, and a page without scripts or other files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from recdash.formatting.html import Html, html
from recdash.version import __version__
from recdash.web.api.actions import Action
from recdash.web.api.additions import KEY, LONGEST_KEY
from recdash.web.api.parameters import Parameters
from recdash.web.api.questions import Question

_PROBLEMS = {
    "type": "object",
    "required": ["problems"],
    "properties": {
        "problems": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["code", "place", "finding", "fix"],
                "properties": {name: {"type": "string"} for name in ("code", "place", "finding", "fix")},
            },
        }
    },
}
_ERRORS = {
    "400": "The request cannot be understood.",
    "401": "No token, or one that gives no access.",
    "403": "The role does not allow it.",
    "404": "It does not exist.",
    "409": "It does not fit what is stored.",
    "413": "Too many bytes.",
    "415": "The body is not JSON.",
    "422": "A parameter, the body, or a file cannot be used.",
    "429": "Too many requests; the header Retry-After says when to try again.",
    "503": "Not now; try again later.",
}
OFFSET = {
    "name": "Upload-Offset",
    "in": "header",
    "required": True,
    "schema": {"type": "integer", "minimum": 0},
    "description": "The number of bytes that were received.",
}
IDEMPOTENCY_KEY = {
    "name": KEY,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY},
    "description": (
        "A random text, which is the same when the request is sent again after a lost answer: "
        "the first addition is returned then."
    ),
}
OTHER_OFFSET = "The bytes do not follow those received: the state, with the offset of what does."


def document(base: str, questions: Iterable[Question], actions: Iterable[Action]) -> dict[str, Any]:
    """Returns the OpenAPI 3.1 document."""
    paths: dict[str, dict[str, Any]] = {}
    for question in questions:
        paths.setdefault(question.path, {})["get"] = _of_question(question)
    for action in actions:
        paths.setdefault(action.path, {})[action.method.lower()] = _of_action(action)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "recdash",
            "version": __version__,
            "description": "Choose between recommender systems. Send an API token with each request.",
        },
        "servers": [{"url": base}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Problems": _PROBLEMS},
        },
    }


def _of_question(question: Question) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": {"type": "object"}}}
    if "format" in question.parameters.model_fields:
        content["*/*"] = {"schema": {"type": "string", "format": "binary"}}
    return {
        "operationId": _id("get", question.path),
        "summary": question.title,
        "description": "For viewers.",
        "parameters": [*_of_path(question.path), *_of_query(question.parameters)],
        "responses": {"200": {"description": question.returns, "content": content}, **_errors()},
    }


def _of_action(action: Action) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": _id(action.method.lower(), action.path),
        "summary": action.title,
        "description": f"For {action.role}s.",
        "parameters": _of_path(action.path),
        "responses": {str(action.status): {"description": action.returns}, **_errors()},
    }
    if action.status != 204:
        schema = {"schema": {"type": "object"}}
        described["responses"][str(action.status)]["content"] = {"application/json": schema}
    if action.takes_bytes:
        described["parameters"] = [*described["parameters"], OFFSET]
        binary = {"schema": {"type": "string", "format": "binary"}}
        described["requestBody"] = {"content": {"application/octet-stream": binary}}
        state = {"application/json": {"schema": {"type": "object"}}}
        described["responses"]["409"] = {"description": OTHER_OFFSET, "content": state}
    if action.takes_key:
        described["parameters"] = [*described["parameters"], IDEMPOTENCY_KEY]
    if action.body is not None:
        body = {"application/json": {"schema": _schema(action.body)}}
        described["requestBody"] = {"required": True, "content": body}
    return described


def _errors() -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Problems"}}}
    return {status: {"description": words, "content": content} for status, words in _ERRORS.items()}


def _id(method: str, path: str) -> str:
    return "_".join([method, *re.findall(r"[a-z_]+", path)])


def _of_path(path: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in re.findall(r"{(\w+)}", path)
    ]


def _of_query(kind: type[Parameters]) -> list[dict[str, Any]]:
    properties: dict[str, Any] = _schema(kind).get("properties", {})
    return [
        {
            "name": name,
            "in": "query",
            "required": False,
            "description": schema.pop("description", ""),
            "schema": schema,
        }
        for name, schema in properties.items()
    ]


def _schema(kind: type[Parameters]) -> dict[str, Any]:
    """Returns the JSON schema of parameters, with the parts that it refers to inside it."""
    schema = kind.model_json_schema()
    parts = schema.pop("$defs", {})
    inside: dict[str, Any] = _without_references(schema, parts)
    return inside


def _without_references(schema: Any, parts: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_without_references(item, parts) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _without_references(parts[schema["$ref"].rpartition("/")[2]], parts)
    return {
        name: _without_references(item, parts)
        for name, item in schema.items()
        if not (name == "title" and isinstance(item, str))
    }


# ── the page ─────────────────────────────────────────────────────────────────────────────────

_STYLE = """<style>
:root{color-scheme:light dark;--ink:#18212b;--muted:#5f6b78;--bg:#fff;--line:#dfe4ea;--code:#f3f5f8}
@media (prefers-color-scheme:dark){:root{
--ink:#e7ecf1;--muted:#a3aeba;--bg:#11161c;--line:#2d3641;--code:#1a212a}}
body{margin:0;background:var(--bg);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
main{max-width:52rem;margin:0 auto;padding:2rem 1.5rem 4rem}
h1{font-size:1.6rem;margin:0 0 .5rem}h2{font-size:1.05rem;margin:2rem 0 .25rem;overflow-wrap:anywhere}
p{margin:0 0 .5rem}code,pre{font:.9em/1.5 ui-monospace,monospace;background:var(--code);border-radius:.25rem}
code{padding:.1em .3em}pre{padding:.75rem 1rem;overflow-x:auto}
table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.3rem .75rem .3rem 0;
border-bottom:1px solid var(--line)}th{font-weight:600}small,.muted{color:var(--muted)}
</style>"""
_HEAD = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>HTTP API · recdash</title>'
    '<meta name="viewport" content="width=device-width,initial-scale=1">'
)
_INTRO = (
    "</head><body><main><h1>HTTP API</h1><p>Send an API token with each request: <code>Authorization: Bearer "
    "TOKEN</code>. Errors are <code>problems</code> with code, place, finding and fix. The same as an "
    'OpenAPI document: <a href="openapi.json">openapi.json</a>.</p>'
    "<pre>curl -H 'Authorization: Bearer TOKEN' {address}/experiments</pre>"
)
_ENTRY = (
    "<h2><code>{method} {path}</code></h2><p>{title}. <span class=muted>{returns} For {role}s.</span></p>"
)
_TABLE = (
    "<table><thead><tr><th>{kind}</th><th>Value</th><th>Meaning</th></tr></thead>"
    "<tbody>{rows}</tbody></table>"
)
_ROW = "<tr><td><code>{name}</code></td><td>{value}</td><td>{meaning}</td></tr>"


def page(base: str, address: str, questions: Sequence[Question], actions: Sequence[Action]) -> str:
    """Returns the page that describes the API; ``address`` is where it is reached."""
    entries = [
        _entry(
            "GET", f"{base}{question.path}", question.title, question.returns, "viewer", question.parameters
        )
        for question in questions
    ]
    entries += [
        _entry(action.method, f"{base}{action.path}", action.title, action.returns, action.role, action.body)
        for action in actions
    ]
    body = "".join(entries)
    return f"{_HEAD}{_STYLE}{html(_INTRO, address=address)}{body}</main></body></html>"


def _entry(
    method: str, path: str, title: str, returns: str, role: str, parameters: type[Parameters] | None
) -> Html:
    words = {"method": method, "path": path, "title": title, "returns": returns, "role": role}
    entry = html(_ENTRY, **words)
    properties = _schema(parameters).get("properties", {}) if parameters else {}
    if not properties:
        return entry
    rows = [
        html(_ROW, name=name, value=_value(schema), meaning=schema.get("description", ""))
        for name, schema in properties.items()
    ]
    kind = "Parameter" if method == "GET" else "Field"
    return Html(entry + html(_TABLE, kind=kind, rows=Html("".join(rows))))


def _value(schema: dict[str, Any]) -> str:
    """Returns in words which values a parameter takes."""
    if "enum" in schema:
        return ", ".join(schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_value(part) for part in schema["anyOf"] if part.get("type") != "null")
    if schema.get("type") == "array":
        return f"list of {_value(schema['items'])}"
    return str(schema.get("type", "any"))
