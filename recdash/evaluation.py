"""Score candidates against a truth without storing anything: the use case of CLI and Python.

The steps (:func:`read_setup`, :func:`score_run`) are also what the workspace does before it stores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.domain import (
    DEFAULT_DEPTH,
    Absent,
    Curve,
    Floats,
    Hits,
    Ledger,
    Order,
    Recommendations,
    TableKind,
    Ties,
    Upload,
    Users,
)  # fmt: skip
from recdash.engines import Reference, list_metrics, match, read_reference
from recdash.errors import InputError, Problem
from recdash.metrics import (
    Definition,
    Material,
    Spec,
    define,
    parse,
    parse_list,
    preset,
    sample_of,
    score,
)
from recdash.metrics.catalogue import CATALOGUE, Shelf
from recdash.metrics.ratings import Predictions

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from recdash.ingest import Limits

RANKING_METRICS = (
    "precision", "recall", "f1", "hit_rate", "mrr", "map", "mar", "ndcg", "r_precision",
    "precision(average=micro)", "recall(average=micro)",
)  # fmt: skip
CATALOGUE_METRICS = ("coverage", "novelty", "personalization", "gini", "popularity")
RATING_METRICS = ("rmse", "mae")
DEEPEST = 10_000
"""The largest depth: all counts are kept by rank."""
OTHER_TABLES: tuple[TableKind, ...] = ("users", "vectors", "similarity")
DEFAULT_METRICS = (*RANKING_METRICS, *CATALOGUE_METRICS, *RATING_METRICS)


@dataclass(frozen=True)
class Rules:
    """How to count: population, order and ties, after a preset and what was asked beside it."""

    depth: int = DEFAULT_DEPTH
    users: Users = "truth"
    order: Order | None = None
    ties: Ties = "file"
    preset: str = "default"


@dataclass(frozen=True)
class Asked:
    """A metric as it was asked for and what it means under the preset."""

    spec: Spec
    definition: Definition


@dataclass(frozen=True)
class Scored:
    """One run, scored: its hits (None with predictions only), curves, absences and notices.

    ``predictions`` is the checked table of rating predictions, where there was one.
    """

    name: str
    hits: Hits | None
    curves: Mapping[str, Curve]
    absent: Mapping[str, str]
    ledger: Ledger | None
    notices: tuple[Problem, ...] = ()
    predictions: pa.Table | None = None


# ── the use case ─────────────────────────────────────────────────────────────────────────────


def evaluate(
    runs: Mapping[str, Any],
    truth: Any,
    *,
    metrics: str | Sequence[str] | None = None,
    depth: int | None = None,
    preset: str = "default",
    users: Users | None = None,
    order: Order | None = None,
    ties: Ties | None = None,
    relevance: str | None = None,
    relevance_threshold: float | None = None,
    train: Any = None,
    catalogue: Any = None,
    predictions: Mapping[str, Any] | None = None,
) -> Evaluation:
    """Score several candidates against one truth.

    ``runs`` maps names to tables (pandas, polars, Arrow), paths or dicts {user: {item: score}}; the
    other tables are given likewise. ``metrics`` are specs such as ``"ndcg@10"`` (without @k: the curve
    1..depth); without any, all that the tables allow. Raises InputError with every problem found.
    """
    asked, rules = read_question(metrics, preset, depth, users, order, ties)
    reference = read_setup(truth, train, catalogue, relevance, relevance_threshold)
    rated = dict(predictions or {})
    read = [run for name, source in runs.items() for run in _read_runs(name, source)]
    _check_told_apart(read)
    scored = [score_run(run, reference, asked, rules, rated.pop(run.name, None)) for run in read]
    scored += [score_predictions(name, table, asked) for name, table in rated.items()]
    return Evaluation(tuple(asked), tuple(scored), rules, reference.notices)


def _check_told_apart(runs: Sequence[Recommendations]) -> None:
    names = [run.name for run in runs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        fix = "Give each candidate a name of its own."
        raise InputError(Problem("name-twice", "candidates", f"two are called '{twice[0]}'", fix))


def read_question(
    metrics: str | Sequence[str] | None,
    preset_name: str = "default",
    depth: int | None = None,
    users: Users | None = None,
    order: Order | None = None,
    ties: Ties | None = None,
) -> tuple[list[Asked], Rules]:
    """Specs and rules under a preset; what is given beside the preset wins."""
    habit = preset(preset_name)
    specs = parse_list(DEFAULT_METRICS if metrics is None else metrics)
    if not specs:
        raise InputError(Problem("no-metric", "metrics", "no metric named", "Name one, such as ndcg@10."))
    asked = [Asked(spec, define(habit.apply(spec))) for spec in specs]
    _check_choice("users", users, ("truth", "both"))
    _check_choice("order", order, ("rank", "score"))
    _check_choice("ties", ties, ("file", "item_desc"))
    rules = Rules(
        _depth(specs, depth), users or habit.users, order or habit.order, ties or habit.ties, habit.name
    )
    return asked, rules


def _check_choice(name: str, value: str | None, known: Sequence[str]) -> None:
    if value is not None and value not in known:
        raise InputError(Problem("bad-choice", name, f"'{value}'", f"Choose {' or '.join(known)}."))


def _depth(specs: Sequence[Spec], depth: int | None) -> int:
    deepest = max((spec.k or 1 for spec in specs), default=1)
    if depth is None:
        depth = max(DEFAULT_DEPTH, deepest)
    check_depth(depth, deepest)
    return depth


def check_depth(depth: int, deepest: int = 1) -> None:
    """Raises InputError for a depth that is less than the deepest cutoff, or larger than any list shown."""
    if not deepest <= depth <= DEEPEST:
        fix = f"Use a whole number from {deepest} to {DEEPEST:,}."
        raise InputError(Problem("bad-depth", "depth", f"{depth}", fix))


def read_setup(
    truth: Any,
    train: Any = None,
    catalogue: Any = None,
    relevance: str | None = None,
    threshold: float | None = None,
) -> Reference:
    """Read the tables that all runs share. Problems of all of them are raised together."""
    return reference_of(
        read_tables({"truth": truth, "train": train, "catalogue": catalogue}, relevance), threshold
    )


def read_tables(
    sources: Mapping[TableKind, Any],
    relevance: str | None = None,
    mappings: Mapping[str, Mapping[str, str]] | None = None,
    limits: Limits | None = None,
) -> dict[TableKind, Upload]:
    """Read the tables that are given (not None). Raises InputError with the problems of all of them."""
    from recdash import ingest

    read: dict[TableKind, Upload] = {}
    problems: list[Problem] = []
    for kind, source in sources.items():
        chosen = relevance if kind == "truth" else None
        mapping = (mappings or {}).get(kind)
        try:
            if isinstance(source, Upload):
                read[kind] = source
            elif source is not None:
                read[kind] = ingest.read_upload(
                    kind, source, mapping=mapping, relevance=chosen, limits=limits
                )
        except InputError as error:
            problems += [_in_table(problem, kind) for problem in placed(error)]
    if problems:
        raise InputError(problems)
    return read


def reference_of(tables: Mapping[TableKind, Upload], threshold: float | None) -> Reference:
    """The tables on shared codes, with everything that was noticed in them."""
    others = {kind: tables[kind] for kind in OTHER_TABLES if kind in tables}
    reference = read_reference(
        tables["truth"],
        train=tables.get("train"),
        catalogue=tables.get("catalogue"),
        others=others,
        threshold=threshold,
    )
    notices = [
        replace(notice, place=f"{kind} '{upload.name}', {notice.place}")
        for kind, upload in tables.items()
        for notice in upload.notices
    ]
    return replace(reference, notices=(*notices, *reference.notices))


def _in_table(problem: Problem, kind: str) -> Problem:
    return problem if kind in problem.place else replace(problem, place=f"{kind} {problem.place}")


def placed(error: InputError) -> list[Problem]:
    """The error's problems, each with the name of the file in front of its place."""
    if error.source is None:
        return list(error.problems)
    return [replace(problem, place=f"{error.source}, {problem.place}") for problem in error.problems]


def _read_runs(name: str, source: Any) -> Iterator[Recommendations]:
    from recdash import ingest

    if isinstance(source, Recommendations):
        yield source
        return
    found = ingest.read_recommendations(source, name=name)
    yield from (replace(run, name=name) for run in found) if len(found) == 1 else found


# ── one run ──────────────────────────────────────────────────────────────────────────────────


def score_run(
    run: Recommendations,
    reference: Reference,
    asked: Sequence[Asked],
    rules: Rules,
    predictions: Any = None,
) -> Scored:
    """One pass over the run, then every metric asked for. Raises InputError for a run that is no use."""
    wanted = [one.definition for one in asked]
    hits, told = match(
        run,
        reference,
        depth=rules.depth,
        order=rules.order,
        ties=rules.ties,
        exposure=reference.catalogue is not None
        or reference.train_users is not None
        or any(one.metric in CATALOGUE for one in wanted),
        list_metrics=list_metrics(wanted, reference, rules.depth),
    )
    rated = open_predictions(predictions)
    rows = None if rated is None else predictions_of(rated)
    curves, absent = score_hits(hits, reference, wanted, rules.users, rows)
    ledger = ledger_of(hits, rules.users)
    short = short_list_notices(run.name, hits, asked)
    unknown = unknown_item_notices(run.name, hits, reference)
    of_file = [replace(notice, place=f"run '{run.name}', {notice.place}") for notice in run.notices]
    notices = (*of_file, *told, *unknown, *short, *(rated.notices if rated else ()))
    return Scored(run.name, hits, curves, absent, ledger, notices, rated.table if rated else None)


def score_hits(
    hits: Hits,
    reference: Reference,
    definitions: Sequence[Definition],
    users: Users,
    predictions: Predictions | None = None,
) -> tuple[dict[str, Curve], dict[str, str]]:
    """Curves and reasons of absence by canonical spec, from hits alone."""
    material = Material(sample_of(hits, users), shelf_of(hits, reference), predictions)
    results = score(definitions, material)
    curves = {one.metric: one for one in results if isinstance(one, Curve)}
    return curves, {one.metric: one.reason for one in results if isinstance(one, Absent)}


def shelf_of(hits: Hits, reference: Reference) -> Shelf | None:
    """The run's exposure, if it was counted, with what the reference knows of its items."""
    if hits.exposure is None:
        return None
    n = len(hits.exposure.items)
    train = None
    if reference.train_users is not None:
        train = np.zeros(n, dtype=np.int64)
        train[: len(reference.train_users)] = reference.train_users
    in_catalogue = None
    if reference.catalogue is not None:
        in_catalogue = np.zeros(n, dtype=bool)
        in_catalogue[reference.catalogue] = True
    in_truth = np.arange(n) < len(reference.truth.items)
    return Shelf(hits.exposure, hits.depth, in_truth, in_catalogue, train, reference.n_train_users)


def score_predictions(name: str, source: Any, asked: Sequence[Asked]) -> Scored:
    """A candidate that only predicts ratings."""
    rated = open_predictions(source)
    rows = None if rated is None else predictions_of(rated)
    results = score([one.definition for one in asked], Material(predictions=rows))
    curves = {one.metric: one for one in results if isinstance(one, Curve)}
    absent = {one.metric: one.reason for one in results if isinstance(one, Absent)}
    return Scored(name, None, curves, absent, None, rated.notices if rated else ())


def open_predictions(
    source: Any, mapping: Mapping[str, str] | None = None, limits: Limits | None = None
) -> Upload | None:
    from recdash import ingest

    if source is None or isinstance(source, Upload):
        return source
    return ingest.read_upload("predictions", source, mapping=mapping, limits=limits)


def predictions_of(upload: Upload) -> Predictions:
    """The rows with their users on codes."""
    from recdash.engines.ids import IdIndex

    rating, guess = (upload.table[name].to_numpy().astype(np.float64) for name in ("rating", "prediction"))
    return Predictions(IdIndex().codes(upload.table["user_id"]), rating, guess)


def ledger_of(hits: Hits, users: Users) -> Ledger:
    """The run's ledger under a population rule."""
    if users == "truth":
        return hits.ledger
    left = hits.ledger.counted - hits.ledger.without_list
    return replace(hits.ledger, counted=left)


def short_list_notices(name: str, hits: Hits, asked: Sequence[Asked]) -> list[Problem]:
    """Where short lists make misses: at the least and the deepest cutoff asked for (a curve: 10, depth)."""
    with_cutoff = [one.spec.k for one in asked if one.definition.metric.has_cutoff]
    cutoffs = sorted({k for asked_k in with_cutoff for k in ([asked_k] if asked_k else [10, hits.depth])})
    listed = hits.list_length[hits.list_length > 0]
    found = [(k, int((listed < k).sum())) for k in cutoffs if k <= hits.depth]
    return [
        Problem(
            "short-lists",
            f"run '{name}'",
            f"lists shorter than k = {k}: {count} of {len(listed)} users",
            "The missing places count as misses.",
            count,
        )
        for k, count in (found[:1] + found[-1:] if len(found) > 1 else found)
        if count
    ]


def _all_new(name: str) -> Problem:
    found = "no item of these lists is in the train table"
    fix = "Novelty and popularity say nothing here; check that both files write ids alike."
    return Problem("nothing-in-train", f"run '{name}', column 'item_id'", found, fix)


def unknown_item_notices(name: str, hits: Hits, reference: Reference) -> list[Problem]:
    if hits.exposure is None:
        return []
    shown = np.unique(hits.exposure.shown.item)
    if (
        reference.train_users is not None
        and not reference.train_users[shown[shown < len(reference.train_users)]].any()
    ):
        return [_all_new(name)]
    if reference.catalogue is None:
        return []
    unknown = shown[~np.isin(shown, reference.catalogue)]
    if not len(unknown):
        return []
    example = ", ".join(f"'{hits.exposure.items[int(code)]}'" for code in unknown[:3])
    return [
        Problem(
            "unknown-items",
            f"run '{name}', column 'item_id'",
            f"{len(unknown)} item ids are not in the catalogue ({example})",
            "They count for accuracy, but not for coverage or Gini; check the ids.",
            len(unknown),
        )
    ]


# ── the result ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Evaluation:
    """Scores of several runs against one truth, with who was counted and what was noticed."""

    asked: tuple[Asked, ...]
    runs: tuple[Scored, ...]
    rules: Rules = field(default_factory=Rules)
    setup_notices: tuple[Problem, ...] = field(default=())

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dict per score: run, metric (as asked, without @k), k, value, std_error, n_users."""
        for run in self.runs:
            for one in self.asked:
                curve = run.curves.get(str(one.definition))
                if curve is not None:
                    yield from _rows(run.name, one, curve)

    def table(self) -> pd.DataFrame:
        """The scores as a pandas frame: run, metric, k, value, std_error, n_users."""
        import pandas as pd

        columns = ["run", "metric", "k", "value", "std_error", "n_users"]
        frame = pd.DataFrame(list(self.rows()), columns=columns)
        return frame.astype({"k": "Int64", "value": float, "std_error": float})

    def per_user(self, spec: str) -> pd.DataFrame:
        """Each user's value of a metric at its cutoff (``"ndcg@10"``): run, user_id, value."""
        import pandas as pd

        one = self._asked_as(spec)
        frames = [
            pd.DataFrame({"run": run.name, "user_id": users, "value": values})
            for run, users, values in self._values(one)
        ]
        columns = ["run", "user_id", "value"]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)

    def _asked_as(self, spec: str) -> Asked:
        parsed = parse(spec)
        for one in self.asked:
            if one.spec.label == parsed.label:
                return Asked(parsed, one.definition)
        return Asked(parsed, define(preset(self.rules.preset).apply(parsed)))

    def _values(self, one: Asked) -> Iterator[tuple[Scored, list[str], Floats]]:
        formula = one.definition.formula()
        if formula.pooled:
            fix = "Leave average=… out for the users' own values."
            raise InputError(Problem("no-user-value", f"metric '{one.spec}'", "it pools all users", fix))
        for run in self.runs:
            if run.hits is None:
                continue
            sample = sample_of(run.hits, self.rules.users)
            names = list(run.hits.truth.users)
            k = one.spec.k or run.hits.depth
            if k > run.hits.depth:
                found = f"the lists were read to depth {run.hits.depth}"
                raise InputError(Problem("beyond-depth", f"k = {k}", found, "Evaluate with a larger depth."))
            yield run, [names[at] for at in sample.truth_user.tolist()], formula.values(sample, k)

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready values: scores, ledger, absent, warnings."""
        return {
            "scores": list(self.rows()),
            "ledger": {run.name: run.ledger.as_dict() for run in self.runs if run.ledger},
            "absent": [
                {"run": run.name, "metric": one.spec.label, "reason": run.absent[str(one.definition)]}
                for run in self.runs
                for one in self.asked
                if str(one.definition) in run.absent
            ],
            "warnings": [str(notice) for notice in self.notices()],
        }

    def notices(self) -> list[Problem]:
        """What was noticed in the shared tables and in each run, once each."""
        told = [*self.setup_notices, *(notice for run in self.runs for notice in run.notices)]
        return list(dict.fromkeys(told))


def _rows(name: str, one: Asked, curve: Curve) -> Iterator[dict[str, Any]]:
    cutoffs: list[int | None] = curve.k.tolist() or [None]
    wanted = range(len(cutoffs)) if one.spec.k is None else [one.spec.k - 1]
    for at in wanted:
        yield {
            "run": name,
            "metric": one.spec.label,
            "k": cutoffs[at],
            "value": _number(curve.value[at]),
            "std_error": _number(curve.std_error[at]),
            "n_users": curve.n_users,
        }


def _number(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)
