"""Recorded comparisons of each preset's numbers with those of its library on the same data.

``agreement.json`` is written by ``python -m benchmarks.presets`` and is not edited by hand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from recdash.metrics.presets import PRESETS, preset
from recdash.metrics.registry import BUILT_IN, METRICS, Definition, define
from recdash.metrics.spec import parse

State = Literal["own", "equal", "different", "documented", "not offered"]
"""How a preset's number relates to its library.

own: recdash's own definition, which no library is said to share; equal, different: both were computed and
compared; documented: follows the library's documentation or source code, and the library was not run; not
offered: the library has no such metric.
"""
DEFAULT = "default"
WORDS: Mapping[State, str] = {
    "own": "recdash's own",
    "equal": "equal",
    "different": "different",
    "documented": "from its documentation, not run",
    "not offered": "not offered",
}


@dataclass(frozen=True)
class PresetAgreement:
    """The result of comparing a preset's number for one metric with its library's number.

    ``name`` is the library's name for the metric. ``because`` says why the numbers differ or were not
    compared. ``values`` is the number of compared values, ``largest`` their largest difference.
    """

    preset: str
    spec: str
    state: State
    library: str = ""
    version: str = ""
    name: str = ""
    because: str = ""
    values: int = 0
    largest: float = 0.0

    def sentence(self) -> str:
        """Returns the result as text for a table cell: ``equal to RecTools 0.19 NDCG: 760 values, …``."""
        version = f"{self.library} {self.version}".strip()
        sentences = {
            "own": "recdash's own definition",
            "equal": f"equal to {version} {self.name}: {self.values:,} values, largest difference "
            f"{self.largest:.0e}",
            "different": f"different from {version} {self.name}: {self.because}",
            "documented": f"follows the documentation of {self.name} in {self.library}; {self.because}",
            "not offered": f"not offered by {self.library}: this is recdash's own definition",
        }
        return sentences[self.state]


@lru_cache(maxsize=1)
def recorded_agreement() -> Mapping[str, Any]:
    """Returns the recorded comparisons, keyed by the preset's name.

    Each value is a dict: library, version, not_run (the reason if the library was not run), rows (dicts of
    spec, name, state, because, values, largest) and not_reproduced (the library's metric name → the reason).
    """
    from importlib.resources import files

    text = (files("recdash.metrics") / "agreement.json").read_text(encoding="utf-8")
    presets: Mapping[str, Any] = json.loads(text)["presets"]
    return presets


@lru_cache(maxsize=1024)
def preset_agreement(name: str, spec: str) -> PresetAgreement:
    """Returns how the preset's number for a metric compares with the library's.

    ``spec`` is the canonical spec after the preset was applied. Raises UnknownName for an unknown preset or
    metric.
    """
    definition = define(parse(spec))
    is_own = METRICS.is_own(definition.metric.name)  # no library has it
    known = None if is_own or preset(name).name == DEFAULT else recorded_agreement().get(name)
    if known is None:
        return PresetAgreement(name, str(definition), "own")
    rows = (row for row in known["rows"] if _under(name, row["spec"]) == str(definition))
    row = next(rows, None)
    if row is not None:
        because = row["because"] or known["not_run"]
        measured = {"name": row["name"], "values": row["values"], "largest": row["largest"]}
        state: State = row["state"]
    else:
        because, measured = "", {}
        state = "not offered" if _is_of_preset(name, definition) else "own"
    return PresetAgreement(
        name, str(definition), state, known["library"], known["version"], because=because, **measured
    )


def _is_of_preset(name: str, definition: Definition) -> bool:
    """Returns True if applying the preset to the metric's plain name gives this definition.

    A metric with a required parameter has no plain form, and gives True.
    """
    metric = definition.metric
    if not all(knob.values for knob in metric.parameters):
        return True  # it has no plain form
    return _under(name, metric.name) == str(definition)


@lru_cache(maxsize=4096)
def _under(name: str, spec: str) -> str:
    return str(define(preset(name).apply(parse(spec))))


def agreement_table() -> list[PresetAgreement]:
    """Returns the comparison for every preset and every metric of recdash in its plain form.

    A required parameter gets the value ``category``.
    """
    rows = []
    for name in PRESETS:
        for metric in BUILT_IN:
            needed = ",".join(f"{knob.name}=category" for knob in metric.parameters if not knob.values)
            spec = f"{metric.name}({needed})" if needed else metric.name
            rows.append(preset_agreement(name, _under(name, spec)))
    return rows
