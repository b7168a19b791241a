"""Own metrics: rows that a user's file, package or program adds to the table of metrics.

A row has the form of a built-in one (``RankingMetric``, ``CatalogueMetric`` or ``RatingMetric``). Files are
named by ``RECDASH_METRICS``, packages have an entry point in the group ``recdash.metrics``; both have their
rows in ``METRICS``. A row that cannot be used is refused with one problem, and everything else goes on.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, TypeVar

from recdash.errors import InputError, Problem
from recdash.metrics.catalogue import USERS, CatalogueMetric
from recdash.metrics.guards import call, guarded
from recdash.metrics.parameters import Parameter
from recdash.metrics.ranking import RankingMetric
from recdash.metrics.ratings import RatingMetric
from recdash.metrics.registry import METRICS, Metric, define
from recdash.metrics.spec import NAME
from recdash.metrics.trials import broken_law

GROUP, ROWS = "recdash.metrics", "METRICS"
_TEXTS = ("name", "label", "title", "latex", "source", "plain", "example")
_WORD = re.compile(r"[a-z][a-z0-9_]*")
_GUIDE = "docs/own-metrics.md shows the form."
_LOG = logging.getLogger(__name__)
Row = TypeVar("Row", bound=Metric)


def register_metric(row: Row) -> Row:
    """Adds an own metric to the table, for this process, and returns it as it was given.

    Raises InputError if it cannot be used: its name is taken, a text is missing, or it breaks a law.
    """
    METRICS.read()  # those of files and packages come first, so that a clash is found here
    _add(row, f"metric '{getattr(row, 'name', row)}'")
    return row


def read_own() -> None:
    """Adds the metrics of the files in ``RECDASH_METRICS`` and of packages; logs what is refused."""
    for place, read in (*_files(), *_packages()):
        try:
            rows = _rows_of(call(read, place), place)
        except InputError as error:
            _refuse(place, error)
            continue
        for row in rows:
            try:
                _add(row, f"{place}, metric '{getattr(row, 'name', row)}'")
            except InputError as error:
                _refuse(str(getattr(row, "name", row)), error)


def _refuse(key: str, error: InputError) -> None:
    (problem,) = error.problems
    METRICS.refuse(key, problem)
    _LOG.warning("recdash: %s", problem)


# ── sources ──────────────────────────────────────────────────────────────────────────────────

Source = tuple[str, Callable[[], Any]]
"""A place for messages, which never is a full path, and a function that returns the place's rows."""


def _files() -> Iterator[Source]:
    """Yields the files that the settings name.

    These are read only if there are any: the module of the settings takes longer to import than a small file
    takes to score.
    """
    if not any(name.upper() == "RECDASH_METRICS" and files for name, files in os.environ.items()):
        return
    from recdash.settings import settings

    for path in settings().metric_files():
        yield _named(path), lambda path=path: _rows_in_file(path)  # type: ignore[misc]


def _named(path: Path) -> str:
    return f"metrics file '{path.name}'"


def _rows_in_file(path: Path) -> Any:
    if not path.is_file():
        finding = "there is no such file"
        raise _problem("own-metrics-unreadable", _named(path), finding, "Correct RECDASH_METRICS.")
    module_name = f"recdash_own_metrics_{re.sub(r'[^A-Za-z0-9_]', '_', path.stem)}"
    spec = spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise ImportError("it is not a Python file; its name must end with .py")
    module = module_from_spec(spec)
    sys.modules[module_name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    if not hasattr(module, ROWS):
        raise _problem("own-metrics-unreadable", _named(path), f"it has no {ROWS}", _LIST)
    return getattr(module, ROWS)


def _packages() -> Iterator[Source]:
    if not _some_package_names_the_group():
        return
    from importlib.metadata import entry_points

    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        yield f"package metrics '{point.name}'", point.load


def _some_package_names_the_group() -> bool:
    """Returns whether any installed package has entry points of the group.

    Importing ``importlib.metadata`` and asking it takes 0.1 s, which every evaluation would pay; this search
    takes a twentieth of that.
    """
    wanted = f"[{GROUP}]".encode()
    for folder in dict.fromkeys(Path(folder or ".") for folder in sys.path):
        for kind in ("dist", "egg"):
            for file in folder.glob(f"*.{kind}-info/entry_points.txt"):
                if wanted in file.read_bytes():
                    return True
    return False


def _rows_of(given: Any, place: str) -> list[Any]:
    """Returns the rows of a source, which may also give a single one. Raises InputError for anything else."""
    if isinstance(given, RankingMetric | CatalogueMetric | RatingMetric):
        return [given]
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise _problem("own-metrics-unreadable", place, f"{ROWS} is a {type(given).__name__}", _LIST)
    return list(given)


_LIST = f"Write {ROWS} = [RankingMetric(…)]: {_GUIDE}"


def _problem(code: str, place: str, finding: str, fix: str) -> InputError:
    return InputError(Problem(code, place, finding, fix))


# ── one metric ───────────────────────────────────────────────────────────────────────────────


def _add(row: Any, place: str) -> None:
    """Adds the row to the table. Raises InputError with one problem if it cannot be used."""
    if not isinstance(row, RankingMetric | CatalogueMetric | RatingMetric):
        finding = f"it is a {type(row).__name__}, not a metric"
        raise _problem("own-metric-form", place, finding, _LIST)
    metric = _with_users(row)
    finding = _wrong_form(metric)
    if finding:
        raise _problem("own-metric-form", place, finding, _GUIDE)
    if metric.name in METRICS:
        source = "recdash has" if metric.name not in METRICS.own else "there is already"
        raise _problem("own-metric-taken", place, f"{source} a metric of this name", "Choose another name.")
    known = {other.label.casefold(): name for name, other in METRICS.items()}
    if metric.label.casefold() in known:
        finding = f"its label '{metric.label}' is that of {known[metric.label.casefold()]}"
        raise _problem("own-metric-taken", place, finding, "Choose another label.")
    metric = guarded(metric)
    broken = call(lambda: broken_law(metric), place)
    if broken:
        raise _problem("own-metric-law", place, f"on trial data, {broken}", f"Correct it: {_GUIDE}")
    METRICS.add(metric)
    try:
        for spec in (*metric.usage.variants, *filter(None, [_other(metric)])):
            define(spec)
    except InputError as error:
        METRICS.remove(metric.name)
        finding = f"its usage names '{spec}': {error.problems[0].found}"
        raise _problem("own-metric-form", place, finding, _GUIDE) from error


def _other(metric: Metric) -> str:
    other = metric.usage.other_definition
    return f"{metric.name}({other})" if other else ""


def _with_users(row: Metric) -> Metric:
    """Returns the row; one of the catalogue level with the parameter ``users``, which all of them have."""
    if not isinstance(row, CatalogueMetric) or USERS in row.parameters:
        return row
    return replace(row, parameters=(*row.parameters, USERS))


def _wrong_form(metric: Metric) -> str:
    """Returns what is wrong with the row's texts, parameters or usage; an empty text if nothing is."""
    missing = [name for name in _TEXTS if not _is_text(getattr(metric, name))]
    if missing:
        return f"it has no {missing[0]}"
    if not NAME.fullmatch(metric.name):
        return "its name is not a word of letters, digits and _, beginning with a letter"
    if metric.usage.group != "other" or metric.usage.guardrail:
        return "it is a core metric or a guardrail, which would change recommendations of every experiment"
    if isinstance(metric, RankingMetric) and metric.build is None and None in (metric.credit, metric.norm):
        return "it has neither a credit and a norm, nor a build function"
    return _wrong_parameter(metric.parameters)


def _wrong_parameter(parameters: Sequence[Any]) -> str:
    """Returns which parameter cannot be used, in words; an empty text if all can."""
    names = []
    for knob in parameters:
        if not isinstance(knob, Parameter) or not _WORD.fullmatch(knob.name):
            return f"its parameter {knob} is not a Parameter with a name in lower case"
        names.append(knob.name)
    return "two of its parameters have the same name" if len(set(names)) < len(names) else ""


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


METRICS.read_by(read_own)
