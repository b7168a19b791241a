"""Our numbers beside a library's: for each preset and metric whether they are equal, and if not, why."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

import recdash
from benchmarks.environments import Environment, environment_for
from benchmarks.harness import ROOT
from benchmarks.presets import Library, library
from benchmarks.presets.tables import CUTOFFS, Tables, draw, write
from recdash.metrics import METRICS, define, parse, preset

Theirs = Mapping[str, Any]
"""By spec@k: a mean, or each user's value."""


@dataclass
class Agreement:
    """How many values of a spec were compared, and the largest difference; ``missing`` where we have none."""

    values: int = 0
    largest: float = 0.0
    missing: str = ""

    def see(self, ours: float, theirs: float) -> None:
        self.values += 1
        self.largest = max(self.largest, abs(ours - theirs))


def record(name: str, environments: Path) -> dict[str, Any]:
    """What is known of one preset: its library's version and a row for every number that it prints."""
    chosen = library(name)
    known = {"library": chosen.TITLE, "worlds": list(chosen.WORLDS), "tolerance": chosen.TOLERANCE}
    if chosen.NOT_RUN:
        return {**known, "version": "", "not_run": chosen.NOT_RUN, **_rows(chosen, {})}
    made = environment_for(name, chosen.REQUIREMENTS, environments)
    if made.reason:
        return {**known, "version": "", "not_run": f"not installed: {made.reason}", **_rows(chosen, {})}
    return {**known, "version": made.version, "not_run": "", **_rows(chosen, agreements(name, made))}


def agreements(name: str, made: Environment) -> dict[str, Agreement]:
    """By spec, over all worlds and cutoffs that the library can read."""
    by_spec = {spec: Agreement() for spec in library(name).PRINTED}
    for world in library(name).WORLDS:
        tables = draw(world)
        _compare(ours(name, tables), theirs(name, made, tables), by_spec)
    return by_spec


def theirs(name: str, made: Environment, tables: Tables) -> Theirs:
    """The library's answers. Raises CalledProcessError with what it said."""
    with tempfile.TemporaryDirectory() as folder:
        write(tables, Path(folder))
        cutoffs = ",".join(map(str, CUTOFFS))
        command = [str(made.python), "-m", "benchmarks.presets.inside", name, folder, cutoffs]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr[-1500:]}")
    answer: Theirs = json.loads(done.stdout.splitlines()[-1])
    return answer


def ours(name: str, tables: Tables) -> recdash.Evaluation:
    specs = [f"{spec}@{k}" if _has_cutoff(spec) else spec for spec in library(name).PRINTED for k in CUTOFFS]
    ratings: dict[str, Any] = {"run": tables.ratings} if len(tables.ratings) else {}
    return recdash.evaluate(
        {"run": tables.lists},
        tables.truth,
        metrics=list(dict.fromkeys(specs)),
        preset=name,
        train=tables.train,
        catalogue=tables.catalogue,
        predictions=ratings,
    )


def _has_cutoff(spec: str) -> bool:
    return METRICS[parse(spec).name].has_cutoff


def _compare(evaluation: recdash.Evaluation, theirs: Theirs, agreement: Mapping[str, Agreement]) -> None:
    means = {(row["metric"], row["k"]): row["value"] for row in evaluation.rows()}
    for key, value in theirs.items():
        spec, _, k = key.rpartition("@")
        mean = means.get((spec, int(k) if _has_cutoff(spec) else None))
        if mean is None or pd.isna(mean):
            agreement[spec].missing = f"recdash has no {key}"
            continue
        _see(agreement[spec], mean, value, lambda spec=spec, k=k: _of_users(evaluation, spec, k))


def _see(agreement: Agreement, mean: float, value: Any, of_users: Any) -> None:
    if not isinstance(value, Mapping):
        agreement.see(mean, value)
        return
    agreement.see(mean, sum(value.values()) / len(value))
    own = of_users()
    for user, of_user in value.items():
        if user in own:  # a user that the truth does not know has no value of their own here
            agreement.see(own[user], of_user)


def _of_users(evaluation: recdash.Evaluation, spec: str, k: str) -> dict[str, float]:
    """Nothing where the mean is over other users than those who count: then a share is no user's own."""
    if define(preset(evaluation.rules.preset).apply(parse(spec))).formula().pooled:
        return {}
    table = evaluation.per_user(f"{spec}@{k}" if _has_cutoff(spec) else spec)
    return dict(zip(table["user_id"].astype(str), table["value"].astype(float), strict=True))


# ── what is written down ─────────────────────────────────────────────────────────────────────


def _rows(chosen: Library, by_spec: Mapping[str, Agreement]) -> dict[str, Any]:
    return {
        "rows": [_row(chosen, spec, by_spec.get(spec, Agreement())) for spec in chosen.PRINTED],
        "not_reproduced": dict(chosen.NOT_REPRODUCED),
    }


def _row(chosen: Library, spec: str, agreement: Agreement) -> dict[str, Any]:
    because = chosen.DIFFERENT.get(spec, "")
    return {
        "spec": spec,
        "name": chosen.PRINTED[spec],
        "state": _state(chosen, because),
        "because": because,
        "values": agreement.values,
        "largest": float(f"{agreement.largest:.2g}"),
    }


def _state(chosen: Library, because: str) -> str:
    if because:
        return "different"
    return "documented" if chosen.NOT_RUN else "equal"


def broken_promises(name: str, known: Mapping[str, Any]) -> Iterator[str]:
    """Where the numbers do not bear out what the library's file says of them."""
    for row in known["rows"]:
        if known["not_run"]:
            continue
        where = f"{name} {row['spec']}: {row['values']} values, largest difference {row['largest']}"
        if row["state"] == "equal" and not (row["values"] and row["largest"] <= known["tolerance"]):
            yield f"{where}, said to be equal"
        if row["state"] == "different" and row["values"] and row["largest"] <= known["tolerance"]:
            yield f"{where}, said to be different"
