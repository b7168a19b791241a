"""Reads the rules of a gate from a file: ``[tool.recdash.gate]`` of a pyproject.toml, or YAML."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from recdash.decisions.gate.result import INCONCLUSIVE, Inconclusive
from recdash.decisions.gate.rules import FORM
from recdash.decisions.gate.syntax_errors import CODE, toml_problem, yaml_problem
from recdash.errors import InputError, Problem, UnknownName

if TYPE_CHECKING:
    from yaml import Node

PYPROJECT = "pyproject.toml"
TABLE = "tool.recdash.gate"
YAML = (".yaml", ".yml")
LINK_FIX = "Write an address such as https://recdash.example.org/decision."
KEYS = ("rules", "inconclusive", "link")
LARGEST = 1 << 20
"""The largest size of a file of rules, in bytes."""


@dataclass(frozen=True)
class GateSettings:
    """What a file says of a gate: its rules as text, what an undecided one does, and a link for readers."""

    rules: tuple[str, ...] = ()
    inconclusive: Inconclusive | None = None
    link: str | None = None


def in_folder(folder: Path) -> GateSettings | None:
    """Returns the settings in the folder's pyproject.toml; None without the file or its table.

    Raises InputError for a file that is not TOML, and for settings of another form.
    """
    file = folder / PYPROJECT
    if not file.is_file():
        return None
    table = _gate_table(_toml(file))
    return None if table is None else _settings(table, f"{PYPROJECT}, [{TABLE}]")


def read_file(file: Path) -> GateSettings:
    """Returns the settings in a file: of a .toml file its table ``[tool.recdash.gate]``, of a YAML file a
    mapping with the key ``rules``, or the list of rules alone.

    Raises InputError for a file that cannot be read, and for settings of another form.
    """
    if file.suffix.lower() == ".toml":
        table = _gate_table(_toml(file))
        if table is None:
            raise _problem(str(file), f"it has no table [{TABLE}]", f"Add [{TABLE}] with rules = […].")
        return _settings(table, f"{file}, [{TABLE}]")
    if file.suffix.lower() not in YAML:
        raise _problem(str(file), "it is no file of rules", "Give a .toml, .yaml or .yml file.")
    content = _yaml(file)
    return _settings({"rules": content} if isinstance(content, list) else content, str(file))


def _settings(table: Any, place: str) -> GateSettings:
    if not isinstance(table, Mapping):
        raise _problem(place, "it has no key 'rules'", f"Write rules: with a list. {FORM}")
    for key in table:
        if key not in KEYS:
            raise _unknown(place, "setting of a gate", key, KEYS)
    rules = table.get("rules", ())
    if not isinstance(rules, list | tuple) or not all(isinstance(rule, str) for rule in rules):
        raise _problem(place, "'rules' is not a list of texts", FORM)
    inconclusive, link = (
        None if table.get(key) == "" else table.get(key) for key in ("inconclusive", "link")
    )
    if inconclusive is not None and inconclusive not in INCONCLUSIVE:
        raise _unknown(place, "choice of inconclusive", inconclusive, INCONCLUSIVE)
    if link is not None and not isinstance(link, str):
        raise _problem(place, "'link' is not a text", LINK_FIX)
    if link is not None:
        check_link(link, f"{place}, link")
    return GateSettings(tuple(rules), cast("Inconclusive | None", inconclusive), link)


def check_link(link: str, place: str) -> str:
    """Returns the link unchanged. Raises InputError unless it is an http or https address: it is written into
    comments that others read.
    """
    from recdash.http import is_link  # here, as it loads the modules of a client

    if not is_link(link):
        raise InputError(Problem("bad-address", place, f"'{link}' is no http or https address", LINK_FIX))
    return link


def _gate_table(content: Mapping[str, Any]) -> Any:
    """Returns the table of the gate; None if it is missing."""
    table: Any = content
    for key in TABLE.split("."):
        if not isinstance(table, Mapping) or key not in table:
            return None
        table = table[key]
    return table


def _toml(file: Path) -> dict[str, Any]:
    text = _text(file)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(toml_problem(str(file), text, error)) from None
    except RecursionError:
        raise _nested(file) from None


def _yaml(file: Path) -> Any:
    """Returns the content of a YAML file, whose scalars are all texts, so that none is taken for a date."""
    import yaml

    text = _text(file)
    try:
        loader = yaml.BaseLoader(text)
        node = loader.get_single_node()
        _refuse_key_twice(file, node)
        return None if node is None else loader.construct_document(node)
    except yaml.YAMLError as error:
        raise InputError(yaml_problem(str(file), text, error)) from None
    except RecursionError:
        raise _nested(file) from None


def _refuse_key_twice(file: Path, node: Node | None) -> None:
    """Raises InputError if a key occurs twice, because YAML keeps the last one alone."""
    known: set[str] = set()
    for key, _ in node.value if node is not None and node.id == "mapping" else ():
        if key.id != "scalar":
            continue  # not a setting; the error about it names the others
        if key.value in known:
            place = f"{file}, line {key.start_mark.line + 1}"
            raise _problem(place, f"'{key.value}' occurs a second time", "Join the two.")
        known.add(key.value)


def _nested(file: Path) -> InputError:
    return _problem(str(file), "it has brackets within too many others", "Write a list of rules.")


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            content = opened.read(LARGEST + 1)
    except OSError as error:
        raise _problem(str(file), f"it cannot be read: {error.strerror}", "Name another file.") from None
    if len(content) > LARGEST:
        raise _problem(str(file), "it is larger than 1 MiB", "Give a file with rules only.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _problem(str(file), "it is not UTF-8", "Save it as UTF-8.") from None


def _unknown(place: str, kind: str, name: object, known: Sequence[str]) -> InputError:
    (problem,) = UnknownName(kind, str(name), known).problems
    return InputError(replace(problem, place=place))


def _problem(place: str, finding: str, fix: str) -> InputError:
    return InputError(Problem(CODE, place, finding, fix))
