"""Makes the pages of the Python interface from signatures and docstrings."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import recdash
from recdash.service import Workspace
from recdash.store import open_store

FOLDER = "reference/python"
LINE, SHORT = 88, 40
"""The characters of a signature that stays on one line, and of a default that is written out."""
INTRODUCTION = """# Python

Made from signatures and docstrings. Names that begin with `_`, and modules that no page of this site
names, may change at any time.
"""
OF_WORKSPACE = """# Workspace

`recdash.open()` returns the workspace that the dashboard shows: `workspace.runs.all(experiment_id)`. Each
attribute answers one kind of question. A person's role decides which methods may be called.
"""


def python_pages() -> dict[str, str]:
    """Returns the Markdown of the Python pages by their paths: functions, their results, the workspace."""
    functions = {f"recdash.{name}": value for name, value in _public_names() if inspect.isfunction(value)}
    results = _results(functions)
    index = [INTRODUCTION, *(part for name, value in functions.items() for part in _entry(name, value, "##"))]
    index += [
        "## recdash.Evaluation { #recdash.Evaluation }",
        "The result of `recdash.evaluate`: [Results](results.md).",
    ]
    index += [
        "## recdash.Workspace { #recdash.Workspace }",
        "The result of `recdash.open`: [Workspace](workspace.md).",
    ]
    index += [part for name, kind in _engines().items() for part in _class(name, kind)]
    index += [r"## recdash.\_\_version\_\_ { #recdash.version }", "The version of the package, a text."]
    shown = ["# Results", "What the functions of `recdash` return. Their `table()` is a pandas data frame."]
    shown += [part for name, kind in results.items() for part in _class(name, kind)]
    return {
        f"{FOLDER}/index.md": "\n\n".join(index),
        f"{FOLDER}/results.md": "\n\n".join(shown),
        f"{FOLDER}/workspace.md": "\n\n".join(_workspace()),
    }


def _engines() -> dict[str, type]:
    """Returns the public classes that no function returns, which a caller makes: those of engines."""
    elsewhere = (recdash.Evaluation, Workspace)
    return {
        f"recdash.{name}": kind
        for name, kind in _public_names()
        if inspect.isclass(kind) and kind not in elsewhere
    }


def _public_names() -> list[tuple[str, Any]]:
    return [(name, getattr(recdash, name)) for name in recdash.__all__]


# ── results ──────────────────────────────────────────────────────────────────────────────────


def _results(functions: Mapping[str, Callable[..., Any]]) -> dict[str, type]:
    """Returns the classes that functions return, and those with a table that methods of these return."""
    kinds: dict[str, type] = {}
    queue = list(functions.values())
    while queue:
        kind = _returned(queue.pop(0))
        if kind is not None and kind is not Workspace and kind.__name__ not in kinds:
            kinds[kind.__name__] = kind
            queue += [method for _, method in _methods(kind) if _has_table(_returned(method))]
    return dict(sorted(kinds.items()))


def _has_table(kind: type | None) -> bool:
    return kind is not None and inspect.isfunction(getattr(kind, "table", None))


def _returned(function: Callable[..., Any]) -> type | None:
    """Returns the class of this package that a function returns; None if it returns something else."""
    name = str(inspect.signature(function).return_annotation).strip("'\"")
    modules = [sys.modules[function.__module__], *(sys.modules[module] for module in sorted(sys.modules)
               if module.startswith("recdash."))]  # fmt: skip
    kinds = (getattr(module, name, None) for module in modules if name.isidentifier())
    return next(
        (kind for kind in kinds if inspect.isclass(kind) and kind.__module__.startswith("recdash.")), None
    )


# ── workspace ────────────────────────────────────────────────────────────────────────────────


def _workspace() -> Iterator[str]:
    yield OF_WORKSPACE
    for name, kind in services().items():
        yield f"## workspace.{name} {{ #workspace.{name} }}"
        yield _docstring(kind)
        for method, value in _methods(kind):
            yield from _entry(f"workspace.{name}.{method}", value, "###")


def services() -> dict[str, type]:
    """Returns the class of each service of a workspace by its name."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{folder}/recdash.db", Path(folder) / "artifacts")
        attributes = vars(Workspace(store))
        store.close()
    found = {name: type(value) for name, value in attributes.items() if not name.startswith("_")}
    return {
        name: kind for name, kind in sorted(found.items()) if kind.__module__.startswith("recdash.service")
    }


# ── entries ──────────────────────────────────────────────────────────────────────────────────


def _class(name: str, kind: type) -> Iterator[str]:
    yield f"## {name} {{ #{name} }}"
    yield _docstring(kind)
    fields = [field for field in dataclasses.fields(kind) if field.repr and not field.name.startswith("_")] \
        if dataclasses.is_dataclass(kind) else []  # fmt: skip
    yield "\n".join(f"- `{field.name}: {field.type}`" for field in fields)
    for method, value in _members(kind):
        yield from _entry(f"{name}.{method}", value, "###")


def _members(kind: type) -> list[tuple[str, Any]]:
    """Returns the public methods and properties that the package defines for a class, by name."""
    return [
        (name, value)
        for name, value in inspect.getmembers(kind)
        if not name.startswith("_")
        and (isinstance(value, property) or inspect.isfunction(value))
        and _module(value).startswith("recdash")
    ]


def _module(value: Any) -> str:
    return str(getattr(value.fget if isinstance(value, property) else value, "__module__", ""))


def _methods(kind: type) -> list[tuple[str, Callable[..., Any]]]:
    return [(name, value) for name, value in _members(kind) if inspect.isfunction(value)]


def _entry(name: str, value: Any, level: str) -> Iterator[str]:
    """Yields the heading, the signature and the docstring of a function, a method or a property."""
    yield f"{level} {name} {{ #{name} }}"
    yield f"```python\n{_signature(name.rpartition('.')[2], value)}\n```"
    yield _docstring(value)


def _signature(name: str, value: Any) -> str:
    """Returns a signature as it is written in code: on one line if it fits, or a line per parameter."""
    if isinstance(value, property):
        return f"{name}: {inspect.signature(value.fget).return_annotation}" if value.fget else name
    signature = inspect.signature(value)
    shown = list(_parameters(signature))
    returns = signature.return_annotation
    line = f"{name}({', '.join(shown)}) -> {returns}"
    if len(line) <= LINE:
        return line
    return "\n".join([f"{name}(", *(f"    {parameter}," for parameter in shown), f") -> {returns}"])


def _parameters(signature: inspect.Signature) -> Iterator[str]:
    """Yields each parameter but ``self`` as it is written in code, with ``*`` where keywords begin."""
    starred = False
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        starred = starred or parameter.kind is parameter.VAR_POSITIONAL
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        marks = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        marks = "**" if parameter.kind is parameter.VAR_KEYWORD else marks
        yield f"{marks}{parameter.name}: {parameter.annotation}{_default(parameter.default)}"


def _default(value: Any) -> str:
    if value is inspect.Parameter.empty:
        return ""
    written = repr(value)
    is_short = len(written) <= SHORT and not written.startswith("<")
    return f" = {written}" if is_short else f" = {getattr(value, '__name__', type(value).__name__)}(…)"


def _docstring(value: Any) -> str:
    """Returns a docstring as Markdown, with an empty line before a list."""
    text = inspect.cleandoc(value.__doc__ or "")
    if text.startswith(f"{getattr(value, '__name__', '')}("):  # a dataclass without a docstring
        return ""
    text = re.sub(r"<([A-Za-z][^>\n]*)>", r"\\<\1>", text)
    return re.sub(r"(?m)^(?!\s*-|$)(.*)\n(?=- )", r"\1\n\n", text)
