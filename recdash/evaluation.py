"""Score candidates against a truth without storing anything: the use case of CLI and Python.

The steps (:func:`read_setup`, :func:`score_run`) are also what the workspace does before it stores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash import __version__
from recdash.comparability import Basis, problems, served
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
from recdash.engines.attributes import attribute_names, attribute_of
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
from recdash.metrics.catalogue import CATALOGUE, Labels, Shelf, no_labels
from recdash.metrics.presets import EVERY_ROW
from recdash.metrics.ratings import Predictions, RatingMetric
from recdash.metrics.sample import Familiar, familiar
from recdash.metrics.tie_band import TieBand, tie_band
from recdash.references import make_references
from recdash.slices import Slice, slices_of

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    import pyarrow as pa

    from recdash.ingest import Limits

    Mask = npt.NDArray[np.bool_]

RANKING_METRICS = (
    "precision", "recall", "f1", "hit_rate", "mrr", "map", "mar", "ndcg", "r_precision",
    "precision(average=micro)", "recall(average=micro)", "rbp", "err", "bpref", "judged", "serendipity",
    "user_coverage",
)  # fmt: skip
CATALOGUE_METRICS = (
    "coverage", "novelty", "diversity", "personalization", "gini", "entropy", "popularity", "tail_share",
)  # fmt: skip
RATING_METRICS = ("rmse", "mae", "r2")
DEEPEST = 10_000
"""The largest depth: all counts are kept by rank."""
OTHER_TABLES: tuple[TableKind, ...] = ("users", "vectors", "similarity")
DEFAULT_METRICS = (*RANKING_METRICS, *CATALOGUE_METRICS, *RATING_METRICS)


@dataclass(frozen=True)
class Rules:
    """How to count: population, order, ties and relevance, after a preset and what was asked beside it."""

    depth: int = DEFAULT_DEPTH
    users: Users = "truth"
    order: Order | None = None
    ties: Ties = "file"
    preset: str = "default"
    relevance: str | None = None
    threshold: float | None = None


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
    sliced: tuple[SliceScores, ...] = ()


@dataclass(frozen=True)
class SliceScores:
    """The curves of one slice, and what is absent there."""

    of: Slice
    curves: Mapping[str, Curve]
    absent: Mapping[str, str]


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
    user_attributes: Any = None,
    item_vectors: Any = None,
    item_similarity: Any = None,
    predictions: Mapping[str, Any] | None = None,
    slices: str | Sequence[str] = (),
    references: str | Sequence[str] = (),
) -> Evaluation:
    """Score several candidates against one truth.

    ``runs`` maps names to tables (pandas, polars, Arrow), paths or dicts {user: {item: score}}; the
    other tables are given likewise. ``metrics`` are specs such as ``"ndcg@10"`` (without @k: the curve
    1..depth); without any, all that the tables allow. ``slices`` (``"user_warmth"``, ``"item:genres"``; see
    ``recdash.slices``) scores parts of the users or items beside the whole; ``references`` (``"popular"``,
    ``"oracle"``; see ``recdash.references``) adds computed candidates. Raises InputError with every problem
    found.
    """
    asked, rules = read_question(metrics, preset, depth, users, order, ties)
    rules = with_relevance(rules, relevance, relevance_threshold)
    others = {"users": user_attributes, "vectors": item_vectors, "similarity": item_similarity}
    reference, computed = _set_up(_sources(truth, train, catalogue, others), rules, references)
    cuts = [one for by in _texts(slices) for one in slices_of(reference, by)]
    rated = dict(predictions or {})
    read = [run for name, source in runs.items() for run in _read_runs(name, source)]
    read += computed
    _check_told_apart(read)
    scored = [score_run(run, reference, asked, rules, rated.pop(run.name, None), cuts) for run in read]
    scored += [score_predictions(name, table, asked) for name, table in rated.items()]
    return Evaluation(tuple(asked), tuple(scored), rules, reference.notices, familiar_of(reference))


def _set_up(
    sources: Mapping[TableKind, Any], rules: Rules, references: str | Sequence[str]
) -> tuple[Reference, list[Recommendations]]:
    """The shared tables on codes, and the reference candidates; only these keep the tables themselves."""
    tables = read_tables(sources, rules.relevance)
    reference = reference_of(tables, rules.threshold)
    return reference, make_references(references, reference, tables, rules.depth) if references else []


def with_relevance(rules: Rules, relevance: str | None, threshold: float | None) -> Rules:
    """The rules with what was asked of the truth; a threshold asked for needs the values it is about."""
    habit = preset(rules.preset)
    if relevance is None and threshold is None:
        relevance = habit.relevance
    if threshold is None and relevance != EVERY_ROW:
        threshold = habit.threshold
    return replace(rules, relevance=relevance, threshold=threshold)


def _texts(given: str | Sequence[str]) -> list[str]:
    return [part.strip() for part in given.split(",")] if isinstance(given, str) else list(given)


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
    others: Mapping[str, Any] | None = None,
) -> Reference:
    """Read the tables that all runs share. Problems of all of them are raised together."""
    return reference_of(read_tables(_sources(truth, train, catalogue, others), relevance), threshold)


def _sources(
    truth: Any, train: Any, catalogue: Any, others: Mapping[str, Any] | None
) -> Mapping[TableKind, Any]:
    sources: dict[Any, Any] = {"truth": truth, "train": train, "catalogue": catalogue, **(others or {})}
    return sources


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
    cuts: Sequence[Slice] = (),
) -> Scored:
    """One pass over the run, then every metric asked for. Raises InputError for a run that is no use.

    A reference candidate is ordered by its ranks, whatever the rules say: it has no scores.
    """
    rules = replace(rules, order=None) if run.reference else rules
    wanted = [one.definition for one in asked]
    hits, told = _match(run, reference, wanted, rules)
    rated = open_predictions(predictions)
    rows = None if rated is None else predictions_of(rated)
    curves, absent = score_hits(hits, reference, wanted, rules.users, rows)
    ledger = ledger_of(hits, rules.users)
    short = [] if run.reference else short_list_notices(run.name, hits, asked)
    unknown = unknown_item_notices(run.name, hits, reference)
    of_file = [replace(notice, place=f"run '{run.name}', {notice.place}") for notice in run.notices]
    notices = (*of_file, *told, *unknown, *short, *(rated.notices if rated else ()))
    sliced = tuple(
        score_slice(hits, reference, wanted, rules.users, one, _shown_in(one, run, reference, wanted, rules))
        for one in cuts
    )
    return Scored(run.name, hits, curves, absent, ledger, notices, rated.table if rated else None, sliced)


def score_slice(
    hits: Hits,
    reference: Reference,
    definitions: Sequence[Definition],
    users: Users,
    of: Slice,
    shown: Hits | None = None,
) -> SliceScores:
    """Accuracy in a slice comes from the hits of all, the other metrics from those ``shown`` to its users."""
    sample = sample_of(hits, users, of.users, of.rows, familiar_of(reference))
    shelf = None if shown is None else shelf_of(shown, reference)
    results = score(definitions, Material(sample, shelf))
    absent = {one.metric: one.reason for one in results if isinstance(one, Absent)}
    absent |= {str(one): reason for one in definitions if (reason := _not_in(of, one))}
    return SliceScores(of, {one.metric: one for one in results if isinstance(one, Curve)}, absent)


def _shown_in(
    of: Slice, run: Recommendations, reference: Reference, definitions: Sequence[Definition], rules: Rules
) -> Hits | None:
    """Another look at the lists of the slice's users; None where no metric asks what they show."""
    if of.users is None or not any(one.metric in CATALOGUE for one in definitions):
        return None
    return _match(run, reference, definitions, rules, of.users)[0]


def _not_in(of: Slice, definition: Definition) -> str:
    """Why no slice of this kind has the metric; empty where one may."""
    if isinstance(definition.metric, RatingMetric):
        return "rating predictions are scored as a whole, not in slices"
    if of.rows is not None and definition.metric in CATALOGUE:
        return "a slice of items has no lists of its own; ask for a slice of users"
    return ""


def _match(
    run: Recommendations,
    reference: Reference,
    definitions: Sequence[Definition],
    rules: Rules,
    shown_to: Mask | None = None,
) -> tuple[Hits, list[Problem]]:
    return match(
        run,
        reference,
        depth=rules.depth,
        order=rules.order,
        ties=rules.ties,
        exposure=reference.catalogue is not None
        or reference.train_users is not None
        or any(one.metric in CATALOGUE for one in definitions),
        list_metrics=list_metrics(definitions, reference, rules.depth),
        shown_to=shown_to,
    )


def familiar_of(reference: Reference) -> Familiar | None:
    """How expected each item of the truth is, by its popularity in train; None without a train table."""
    if reference.train_users is None:
        return None
    in_train = int((reference.train_users > 0).sum())
    n_items = in_train if reference.catalogue is None else len(reference.catalogue)
    return familiar(reference.train_users, n_items, len(reference.truth.items))


def score_hits(
    hits: Hits,
    reference: Reference,
    definitions: Sequence[Definition],
    users: Users,
    predictions: Predictions | None = None,
) -> tuple[dict[str, Curve], dict[str, str]]:
    """Curves and reasons of absence by canonical spec, from hits alone."""
    sample = sample_of(hits, users, familiar=familiar_of(reference))
    material = Material(sample, shelf_of(hits, reference), predictions)
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
    names, labels = labels_of(reference)
    return Shelf(
        hits.exposure,
        hits.depth,
        in_truth,
        in_catalogue,
        train,
        reference.n_train_users,
        names,
        labels,
        reference.tables.keys(),
    )


def labels_of(reference: Reference) -> tuple[list[str], Callable[[str], Labels]]:
    """The names of the catalogue's attributes, and what reads one of them."""
    catalogue = reference.tables.get("catalogue")
    if catalogue is None:
        return [], no_labels
    code = reference.items.codes(catalogue.table["item_id"], grow=False)

    def read(name: str) -> Labels:
        found = attribute_of(catalogue, name)
        return Labels(found.values, code[found.row], found.value)

    return attribute_names(catalogue), read


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
    user, there = IdIndex().codes(upload.table["user_id"]), ~np.isnan(guess)
    return Predictions(user[there], rating[there], guess[there], int((~there).sum()))


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
    ever_shown = np.zeros(len(hits.exposure.items), dtype=bool)
    ever_shown[hits.exposure.shown.item] = True
    shown = np.flatnonzero(ever_shown)
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
    familiar: Familiar | None = None

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dict per score: run, metric (as asked, without @k), k, value, std_error, n_users.

        Where slices were asked for also slice_by and slice, both None for the whole.
        """
        sliced = any(run.sliced for run in self.runs)
        for run in self.runs:
            yield from self._rows_of(run.name, run.curves, _slice_facts(None) if sliced else {})
            for part in run.sliced:
                yield from self._rows_of(run.name, part.curves, _slice_facts(part.of))

    def _rows_of(
        self, name: str, curves: Mapping[str, Curve], facts: Mapping[str, str | None]
    ) -> Iterator[dict[str, Any]]:
        for one in self.asked:
            curve = curves.get(str(one.definition))
            if curve is not None:
                yield from ({**row, **facts} for row in _rows(name, one, curve))

    def table(self) -> pd.DataFrame:
        """The scores as a pandas frame, with the columns of ``rows``."""
        import pandas as pd

        columns = ["run", "metric", "k", "value", "std_error", "n_users"]
        if any(run.sliced for run in self.runs):
            columns += ["slice_by", "slice"]
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
            sample = sample_of(run.hits, self.rules.users, familiar=self.familiar)
            names = list(run.hits.truth.users)
            k = _cutoff_of(one, run.hits)
            yield run, [names[at] for at in sample.truth_user.tolist()], formula.values(sample, k)

    def tie_band(self, spec: str) -> pd.DataFrame:
        """What the order of equal scores can do to a metric: the columns of ``tie_bands``."""
        import pandas as pd

        columns = ["run", "metric", "k", "worst", "expected", "best", "n_users"]
        frame = pd.DataFrame(list(self.tie_bands([self._asked_as(spec)])), columns=columns)
        return frame.astype({"k": "Int64"})

    def tie_bands(self, asked: Sequence[Asked] | None = None) -> Iterator[dict[str, Any]]:
        """One dict per run, metric and cutoff that ties can move: run, metric, k, worst, expected, best.

        ``n_users`` have a relevant item in a tie that begins within k. A spec without a cutoff is looked at
        at 10 and at the depth.
        """
        for run in self.runs:
            if run.hits is None or run.hits.ties is None:
                continue
            sample = sample_of(run.hits, self.rules.users, familiar=self.familiar)
            for one in self.asked if asked is None else asked:
                for k in _band_cutoffs(one, run.hits):
                    band = tie_band(one.definition, run.hits, sample, k)
                    if band is not None:
                        yield _band_row(run.name, one, k, band)

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
        """What stands between the runs, and what was noticed in the tables and in each run, once each."""
        of_runs = (notice for run in self.runs for notice in run.notices)
        return list(dict.fromkeys([*self.comparability(), *self.setup_notices, *of_runs]))

    def comparability(self) -> list[Problem]:
        """Why the runs' numbers may not stand side by side as they are; empty where they may."""
        return problems([basis for run in self.runs if (basis := self._basis(run))])

    def _basis(self, run: Scored) -> Basis | None:
        if run.hits is None or run.ledger is None:
            return None
        return Basis(
            run.name,
            users=self.rules.users,
            depth=run.hits.depth,
            order=run.hits.order,
            ties=self.rules.ties,
            version=__version__,
            counted=run.ledger.counted,
            without_list=run.ledger.without_list,
            tied_rows=run.ledger.tied_rows or 0,
            threshold=run.hits.truth.threshold,
            served=served(run.hits),
        )


def _band_cutoffs(one: Asked, hits: Hits) -> list[int]:
    if one.spec.k is not None or not one.definition.metric.has_cutoff:
        return [_cutoff_of(one, hits)]
    return sorted({min(10, hits.depth), hits.depth})


def _cutoff_of(one: Asked, hits: Hits) -> int:
    """The cutoff asked for, or the depth. Raises InputError for one beyond the depth."""
    k = one.spec.k or hits.depth
    if k > hits.depth:
        found = f"the lists were read to depth {hits.depth}"
        raise InputError(Problem("beyond-depth", f"k = {k}", found, "Evaluate with a larger depth."))
    return k


def _band_row(name: str, one: Asked, k: int, band: TieBand) -> dict[str, Any]:
    return {
        "run": name,
        "metric": one.spec.label,
        "k": k if one.definition.metric.has_cutoff else None,
        "worst": band.worst,
        "expected": band.expected,
        "best": band.best,
        "n_users": band.n_users,
    }


def _slice_facts(of: Slice | None) -> dict[str, str | None]:
    return {"slice_by": None if of is None else of.by, "slice": None if of is None else of.value}


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
