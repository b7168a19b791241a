"""Scores candidates against a test set without storing anything, for the command line and Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

from recdash.domain.arguments import check_flag, check_type, texts_of, wrong_type
from recdash.domain.defaults import default_k
from recdash.domain.hits import Hits, IdOverlap
from recdash.domain.inputs import Recommendations
from recdash.domain.kinds import Duplicates, Order, Replication, TableKind, Ties, Users
from recdash.domain.results import Curve
from recdash.engines import Reference
from recdash.errors import InputError, Problem, Result, all_or_problems, check_known
from recdash.evaluation.candidates import group_by_candidate, score_candidate
from recdash.evaluation.column_choice import ColumnChoice, ColumnsGiven, mappings_of, read_column_choice
from recdash.evaluation.comparability import Basis, comparability_problems, served_users_hash
from recdash.evaluation.display import display_of, plot_metric, plot_precision_recall
from recdash.evaluation.known_ids import CAVEATS, caveats
from recdash.evaluation.metric_inputs import catalogue_inputs_of, expectedness_of
from recdash.evaluation.predictions import rows_differ
from recdash.evaluation.reading import (
    TABLES,
    open_predictions,
    read_coded,
    read_runs,
    reference_of,
    sources_of,
)
from recdash.evaluation.relevance import every_row_notice
from recdash.evaluation.replicate_means import mean_per_user
from recdash.evaluation.replicates import lists_of, overlap_of, samples_of
from recdash.evaluation.request import (
    CountingRules,
    MetricRequest,
    check_choice,
    check_engine,
    preset_notices,
    read_question,
    with_relevance,
)
from recdash.evaluation.scoring import Scored, Scoring, score_predictions
from recdash.formatting.display import Display
from recdash.formatting.names import name_of_score
from recdash.formatting.numbers import none_if_nan
from recdash.formatting.sanitize import check_name
from recdash.formatting.wording import users as users_text
from recdash.ingest.notice_rules import check_refused, read_codes
from recdash.ingest.spark_frames import is_spark_frame
from recdash.metrics import check_k, define, parse, preset, sample_of
from recdash.metrics.populations import WHO_COUNTS, OverPopulation
from recdash.version import __version__

if TYPE_CHECKING:
    # Rarely needed modules are imported where they are used: saves 0.03 s CPU.
    import pandas as pd
    import plotly.graph_objects as go

    from recdash.comparison import Terms
    from recdash.comparison.result import Compared
    from recdash.domain.results import Slice
    from recdash.evaluation.spark import Spark


RUNS_ARE = "Give a dict of names: {'als': table, 'ease': table}."


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
    duplicates: Duplicates | None = None,
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
    replicates: Replication | None = None,
    columns: ColumnsGiven | None = None,
    accept_unknown_ids: bool = False,
    refuse: str | Sequence[str] = (),
    engine: Spark | None = None,
) -> Evaluation:
    """Returns the scores of several candidates against one test set (``truth``). Nothing is stored.

    ``runs`` is {name: lists}, where lists are a table (pandas, polars, Arrow), a path or a dict {user: {item:
    score}}; the other tables are given in the same forms. ``metrics`` are specs such as ``"ndcg@10"``, or
    without @k for the curve 1..depth; by default all metrics that the tables allow. ``slices``
    (``"user_warmth"``, ``"item:genres"``; see ``recdash.evaluation.slices``) are scored in addition to all
    users. ``references`` (``"popular"``, ``"oracle"``; see ``recdash.references``) are candidates that are
    computed from the tables.

    A candidate may have several tables, given as {label: table} or a list, or a table with a column ``fold``
    or ``seed``; its score is then over all of them (see ``recdash.evaluation.replicates``). ``replicates``
    says whether these are ``"seeds"``, which recommend to the same users, or ``"folds"``, which recommend to
    different users; with None this is detected.

    ``columns`` maps roles to columns. ``{"user_id": "uid", "item_id": "sku"}`` applies to every table that
    has the column. ``{"truth": {"item_id": "isbn"}}`` applies to a single table (truth, train, catalogue,
    user_attributes, item_vectors, item_similarity, run, predictions, or a candidate by its name). ``{"score":
    "-distance"}`` is a score of which the smallest is best; ``{"rank": ""}`` ignores a column. Items may be
    given as ``{"item_id": "recs[]"}`` (each cell is a list), ``"recs[1]"`` (each cell is one item),
    ``"r_1..r_9"`` (these columns are one list) or ``"als,ease"`` (each column is a candidate). ``{"user_id":
    "column 1"}`` says that the file has no header line.

    A run is not scored if hardly any of its item or user ids occur in the tables, or if they would occur in
    another spelling, unless ``accept_unknown_ids`` (see ``recdash.evaluation.known_ids``). ``refuse`` has
    codes of notices, such as ``"ties"``: a file with one of them is a problem (see
    ``recdash.ingest.notice_rules``).

    ``engine`` is ``recdash.Spark(…)`` to read and match the runs on a Spark cluster; without it, this process
    does, except for data frames of Spark.

    Columns of unknown names are known by their values if their users or items occur in another table; a
    notice says so.

    Raises InputError with every problem found.
    """
    refused_codes = read_codes(refuse)
    predictions = {} if predictions is None else predictions
    check_type("runs", runs, Mapping, RUNS_ARE)
    check_type("predictions", predictions, Mapping, RUNS_ARE)
    if truth is None:
        raise wrong_type("truth", truth, "Give the test set: a path, a table or a dict by user.")
    check_choice("replicates", replicates, get_args(Replication))
    check_engine(engine)
    for name in [*runs, *predictions]:
        check_name("candidate", name)
    check_flag("accept_unknown_ids", accept_unknown_ids)
    requests, rules = read_question(metrics, preset, depth, users, order, ties, duplicates=duplicates)
    rules = replace(
        with_relevance(rules, relevance, relevance_threshold), accept_unknown_ids=accept_unknown_ids
    )
    others = {"users": user_attributes, "vectors": item_vectors, "similarity": item_similarity}
    tables = sources_of(truth, train, catalogue, others)
    given: list[str] = [kind for kind, table in tables.items() if table is not None]
    given += [*(["run"] if runs else ()), *(["predictions"] if predictions else ()), *runs, *predictions]

    def score(columns: ColumnsGiven | None) -> Evaluation:
        choice = read_column_choice(columns, TABLES, [*runs, *predictions])
        choice.check_given(given)
        reference, computed = _set_up(tables, rules, references, choice)
        scoring = Scoring(reference, requests, rules, _slices(reference, slices) if slices else ())
        return _scored(runs, predictions, scoring, computed, replicates, choice, engine=engine)

    if engine is not None or any(map(is_spark_frame, runs.values())):
        evaluation = score(columns)  # whose values are not compared: they are elsewhere
    else:
        evaluation = _with_columns_by_values(score, columns or {}, tables, runs, predictions)
    check_refused(evaluation.notices(), refused_codes)
    return evaluation


def _with_columns_by_values(
    score: Callable[[ColumnsGiven], Evaluation],
    columns: ColumnsGiven,
    tables: Mapping[TableKind, Any],
    runs: Mapping[str, Any],
    predictions: Mapping[str, Any],
) -> Evaluation:
    """Returns what ``score`` returns; if columns are missing, with the columns that the values of all tables
    tell.
    """
    try:
        return score(columns)
    except InputError as error:
        from recdash.evaluation.columns_by_values import UNKNOWN_COLUMNS, columns_by_values, given_tables

        if not UNKNOWN_COLUMNS & {problem.code for problem in error.problems}:
            raise
        more, notices = columns_by_values(given_tables(tables, runs, predictions), columns)
        if not notices:
            raise
        return replace(score(more), columns_by_values=tuple(notices))


def _scored(
    runs: Mapping[str, Any],
    predictions: Mapping[str, Any],
    scoring: Scoring,
    computed: Sequence[Recommendations],
    replicates: Replication | None,
    choice: ColumnChoice,
    *,
    engine: Spark | None,
) -> Evaluation:
    """Returns the scores of the candidates that were given, and of the ``computed`` reference candidates."""
    rules = scoring.rules
    rated, refused = _read_each(
        predictions, lambda name, source: open_predictions(source, choice.of("predictions", name))
    )
    read, refused_lists = _read_each(
        runs, lambda name, source: list(read_runs(name, source, choice.of("run", name), rules.order, engine))
    )
    refused += refused_lists
    if not refused:
        choice.check_used()
    groups = group_by_candidate([*(run for several in read.values() for run in several), *computed])
    with_lists = [group[0].name for group in groups]
    _check_unique(with_lists)
    steps: list[Callable[[], Scored]] = [
        partial(score_candidate, group, scoring, replicates, rated.get(group[0].name)) for group in groups
    ]
    steps += [
        partial(score_predictions, name, table, scoring)
        for name, table in rated.items()
        if name not in with_lists
    ]
    steps += [partial(_refuse, error) for error in refused]
    scored = all_or_problems(steps)
    return Evaluation(tuple(scoring.requests), tuple(scored), rules, scoring.reference)


def _read_each(
    sources: Mapping[str, Any], read: Callable[[str, Any], Result]
) -> tuple[dict[str, Result], list[InputError]]:
    """Returns what ``read`` returned for each source, by name, and the errors of the sources that it could
    not read.
    """
    results: dict[str, Result] = {}
    errors = []
    for name, source in sources.items():
        try:
            results[name] = read(name, source)
        except InputError as error:
            errors.append(error)
    return results, errors


def _refuse(error: InputError) -> Scored:
    """Raises the error. Used as the scoring step of a candidate that could not be read, so that all problems
    are raised together.
    """
    raise error


def _set_up(
    sources: Mapping[TableKind, Any],
    rules: CountingRules,
    references: str | Sequence[str],
    choice: ColumnChoice,
) -> tuple[Reference, list[Recommendations]]:
    """Returns the tables that all candidates share, on common codes, and the requested reference
    candidates.
    """
    tables, truth = read_coded(sources, rules.relevance, mappings_of(choice, list(sources)))
    reference = reference_of(tables, rules.threshold, truth)
    if not references:
        return reference, []
    from recdash.references import make_references

    return reference, make_references(references, reference, tables, rules.depth)


def _slices(reference: Reference, names: str | Sequence[str]) -> list[Slice]:
    from recdash.evaluation.slices import slices_of

    if isinstance(names, str):
        names = [name.strip() for name in names.split(",")]
    names = texts_of("slices", names, "user_warmth")
    return [part for by in names for part in slices_of(reference, by)]


def _check_unique(names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        fix = "Give each candidate a different name."
        raise InputError(Problem("name-twice", "candidates", f"two have the name '{twice[0]}'", fix))


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The scores of several runs against one test set, with population counts and notices.

    ``columns_by_values`` has a notice for each table with columns that are known by their values.
    """

    requests: tuple[MetricRequest, ...]
    runs: tuple[Scored, ...]
    rules: CountingRules
    reference: Reference = field(repr=False)
    columns_by_values: tuple[Problem, ...] = ()

    def _display(self) -> Display:
        counted = [run.ledger.counted for run in self.runs if run.ledger is not None]
        names = [run.name for run in self.runs]
        return display_of(names, self._shown_scores(), users_text(counted), self.warnings)

    @property
    def labels_at_cutoff(self) -> set[str]:
        """Returns the labels of the metrics that were requested at a cutoff instead of as a curve."""
        return {request.spec.label for request in self.requests if request.spec.k is not None}

    def _shown_scores(self) -> Iterator[tuple[str, str, float | None]]:
        """Yields (metric, run, value) over all users; curves at k = 10, or at the depth if that is less."""
        k = default_k(self.rules.depth)
        at_cutoff = self.labels_at_cutoff
        for row in self.rows():
            if row.get("slice_by") is None and (row["k"] in (None, k) or row["metric"] in at_cutoff):
                yield name_of_score(row), row["run"], row["value"]

    def __repr__(self) -> str:
        """Returns the first scores as text, at most 15 lines."""
        return self._display().text()

    def _repr_html_(self) -> str:
        """Returns the scores as HTML, for notebooks."""
        return self._display().html()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Returns what was dropped or decided while the tables were read, and what limits comparisons."""
        return tuple(map(str, self.notices()))

    def plot(self, metric: str | None = None, *, baseline: str | None = None) -> go.Figure:
        """Returns a Plotly figure of a metric (``"ndcg"``, ``"ndcg@10"``) at each k with 95 % intervals, by
        default of the first requested one. A baseline's line is grey.

        Raises InputError for a metric without cutoffs, and for one that was not scored.
        """
        with_cutoffs = [request for request in self.requests if request.definition.metric.has_cutoff]
        if metric is None and not with_cutoffs:
            fix = "Use .table() for their values."
            raise InputError(Problem("no-curve", "metrics", "none of the metrics has cutoffs", fix))
        request = with_cutoffs[0] if metric is None else self.request_for(metric)
        k = request.spec.k or default_k(self.rules.depth)
        return plot_metric(self._curves_of(request), k, baseline)

    def plot_precision_recall(self, *, baseline: str | None = None) -> go.Figure:
        """Returns a Plotly figure of precision against recall. Raises InputError if they were not scored."""
        precision, recall = (self._curves_of(self.request_for(name)) for name in ("precision", "recall"))
        return plot_precision_recall(precision, recall, default_k(self.rules.depth), baseline)

    def _curves_of(self, request: MetricRequest) -> dict[str, Curve]:
        """Returns {run: curve}. Raises InputError for a metric without cutoffs, or one that no run has."""
        place, name = f"metric '{request.spec}'", str(request.definition)
        if not request.definition.metric.has_cutoff:
            fix = "Use .table() for its value."
            raise InputError(Problem("no-curve", place, "it has no cutoffs", fix))
        curves = {run.name: run.curves[name] for run in self.runs if name in run.curves}
        if not curves:
            fix = f"Evaluate with the metric '{request.spec.label}'; .absences() says what is missing."
            raise InputError(Problem("absent", place, "it was not scored", fix))
        return curves

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yields one dict per score: run, metric (as requested, without @k), k, value, std_error, n_users.

        If slices were requested, also slice_by and slice, which are None for all users.
        """
        sliced = any(run.sliced for run in self.runs)
        for run in self.runs:
            yield from self._rows_of(run.name, run.curves, _slice_facts(None) if sliced else {})
            for part in run.sliced:
                yield from self._rows_of(run.name, part.curves, _slice_facts(part.of))

    def replicate_rows(self) -> Iterator[dict[str, Any]]:
        """Yields one dict per score of a single fold or seed: run, replicate, kind, and the keys of
        ``rows``.
        """
        for run in self.runs:
            if run.replicated is None:
                continue
            for label, part in zip(run.replicated.labels, run.replicates, strict=True):
                facts = {"run": run.name, "replicate": label, "kind": run.replicated.kind}
                yield from ({**facts, **row} for row in self._rows_of(run.name, part.curves, {}))

    def _rows_of(
        self, name: str, curves: Mapping[str, Curve], facts: Mapping[str, str | None]
    ) -> Iterator[dict[str, Any]]:
        for request in self.requests:
            curve = curves.get(str(request.definition))
            if curve is None:
                continue
            cutoffs: list[int | None] = curve.k.tolist() or [None]
            indexes = range(len(cutoffs)) if request.spec.k is None else [request.spec.k - 1]
            for index in indexes:
                yield {
                    "run": name,
                    "metric": request.spec.label,
                    "k": cutoffs[index],
                    "value": none_if_nan(curve.value[index]),
                    "std_error": none_if_nan(curve.std_error[index]),
                    "n_users": curve.n_users,
                    **facts,
                }

    def table(self) -> pd.DataFrame:
        """Returns the scores as a data frame with the columns of ``rows``."""
        import pandas as pd

        columns = ["run", "metric", "k", "value", "std_error", "n_users"]
        if any(run.sliced for run in self.runs):
            columns += ["slice_by", "slice"]
        frame = pd.DataFrame(list(self.rows()), columns=columns)
        return frame.astype({"k": "Int64", "value": float, "std_error": float})

    def per_user(self, spec: str) -> pd.DataFrame:
        """Returns a data frame of each user's value of a metric at its cutoff (``"ndcg@10"``): run, user_id,
        value. Raises InputError for a metric without a value per user.
        """
        import pandas as pd

        request = self.request_for(spec)
        formula, place = request.definition.formula(), f"metric '{request.spec}'"
        if isinstance(formula, OverPopulation):
            problem = f"it is averaged over the population users={formula.users}"
            fix = f"Write users={WHO_COUNTS} for the users' own values."
            raise InputError(Problem("no-user-value", place, problem, fix))
        if formula.pooled:
            fix = "Remove average=… for the users' own values."
            raise InputError(Problem("no-user-value", place, "it pools all users", fix))
        frames = []
        for run in self.runs:
            lists = lists_of(run)
            if lists is None:
                continue
            samples = samples_of(run, self.rules.users, expectedness_of(self.reference))
            samples = [sample.in_truth() for sample in samples]
            if reason := next(filter(None, map(request.definition.why_unavailable, samples)), ""):
                fix = "Choose another metric, or add the input it needs."
                raise InputError(Problem("metric-absent", place, reason, fix))
            names, k = list(lists.truth.users), _cutoff_of(request, lists)
            users, values = mean_per_user(
                (sample.truth_user, formula.values(sample, k)) for sample in samples
            )
            ids = [names[user] for user in users.tolist()]
            frames.append(pd.DataFrame({"run": run.name, "user_id": ids, "value": values}))
        columns = ["run", "user_id", "value"]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)

    def request_for(self, spec: str) -> MetricRequest:
        """Returns the request with this metric, at the cutoff of ``spec``; a new one if it was not
        requested.
        """
        parsed = parse(spec)
        for request in self.requests:
            if request.spec.label == parsed.label:
                return MetricRequest(parsed, request.definition)
        return MetricRequest(parsed, define(preset(self.rules.preset).apply(parsed)))

    def metric_and_k(self, spec: str) -> tuple[str, int]:
        """Returns the metric that a spec such as ``"ndcg@10"`` means under the evaluation's preset, in its
        canonical spelling, and its cutoff.

        Raises InputError for a spec without the cutoff that it needs.
        """
        from recdash.comparison.result import cutoff_of

        request = self.request_for(spec)
        return str(request.definition), cutoff_of(request.spec)

    def tie_band(self, spec: str) -> pd.DataFrame:
        """Returns a data frame of a metric's range over all orders of tied scores, with the columns of
        ``tie_bands``.
        """
        import pandas as pd

        columns = ["run", "metric", "k", "worst", "expected", "best", "expected_error", "n_users"]
        frame = pd.DataFrame(list(self.tie_bands([self.request_for(spec)])), columns=columns)
        return frame.astype({"k": "Int64"})

    def tie_bands(self, requests: Sequence[MetricRequest] | None = None) -> Iterator[dict[str, Any]]:
        """Yields the range of each metric over all orders of tied scores, as one dict per run, metric and
        cutoff: run, metric, k, worst, expected, best, expected_error, n_users.

        ``n_users`` counts users with a relevant item in a tie that begins within k. Runs without ties and
        metrics that ties cannot change are left out. A spec without a cutoff is evaluated at 10 and at the
        depth.
        """
        from recdash.metrics.ties import tie_band

        for run in (part for candidate in self.runs for part in candidate.with_lists):
            if run.hits is None or run.hits.ties is None:
                continue
            sample = sample_of(run.hits, self.rules.users, expectedness=expectedness_of(self.reference))
            for request in self.requests if requests is None else requests:
                for k in _band_cutoffs(request, run.hits):
                    band = tie_band(request.definition, run.hits, sample, k)
                    if band is not None:
                        yield {
                            "run": run.name,
                            "metric": request.spec.label,
                            "k": k if request.definition.metric.has_cutoff else None,
                            "worst": band.worst,
                            "expected": band.expected,
                            "best": band.best,
                            "expected_error": band.expected_error,
                            "n_users": band.n_users,
                        }

    def shown_by(self, attribute: str, k: int) -> pd.DataFrame:
        """Returns how the recommendations within k are distributed over the values of a catalogue attribute:
        a data frame with the columns of ``shown_rows``.

        Raises InputError without a catalogue, and UnknownName for a column that it lacks.
        """
        import pandas as pd

        from recdash.evaluation.attribute_shares import COLUMNS

        columns = ["run", "attribute", "k", *COLUMNS]
        return pd.DataFrame(list(self.shown_rows(attribute, k)), columns=columns)

    def shown_rows(self, attribute: str, k: int) -> Iterator[dict[str, Any]]:
        """Yields one dict per run and value of the attribute: run, attribute, k, and the keys of
        ``attribute_share_rows``.
        """
        from recdash.evaluation.attribute_shares import attribute_share_rows, check_attribute

        check_attribute(self.reference, attribute)
        for run in (part for candidate in self.runs for part in candidate.with_lists):
            inputs = None if run.hits is None else catalogue_inputs_of(run.hits, self.reference)
            if inputs is not None:
                _check_within(k, inputs.depth)
                for row in attribute_share_rows(inputs, self.reference, attribute, k):
                    yield {"run": run.name, "attribute": attribute, "k": k, **row}

    def as_dict(self) -> dict[str, Any]:
        """Returns everything as JSON-ready values: scores, population counts, known ids, missing metrics and
        warnings; also the scores of replicates, if there are any.
        """
        replicates = list(self.replicate_rows())
        return {
            "scores": list(self.rows()),
            **({"replicates": replicates} if replicates else {}),
            "ledger": {run.name: run.ledger.as_dict() for run in self.runs if run.ledger},
            "known_ids": {name: overlap.as_dict() for name, overlap in self.known_ids().items()},
            "absent": list(self.absences()),
            "warnings": [str(notice) for notice in self.notices()],
        }

    def known_ids(self) -> dict[str, IdOverlap]:
        """Returns {run name: how many of its item and user ids occur in test set, catalogue and training
        data}; without reference candidates.
        """
        overlaps = {run.name: overlap_of(run) for run in self.runs}
        return {name: overlap for name, overlap in overlaps.items() if overlap is not None}

    def absences(self) -> Iterator[dict[str, Any]]:
        """Yields one dict per metric that a run lacks: run, metric, reason.

        A metric that only a slice lacks has slice_by and slice too.
        """
        for run in self.runs:
            yield from self._absences_of(run.name, run.absent, {})
            for part in run.sliced:
                further = {metric: why for metric, why in part.absent.items() if metric not in run.absent}
                yield from self._absences_of(run.name, further, _slice_facts(part.of))

    def _absences_of(
        self, name: str, absent: Mapping[str, str], facts: Mapping[str, str | None]
    ) -> Iterator[dict[str, Any]]:
        for request in self.requests:
            if reason := absent.get(str(request.definition)):
                yield {"run": name, "metric": request.spec.label, "reason": reason, **facts}

    def notices(self) -> list[Problem]:
        """Returns the notices about comparability, tables and runs, each once."""
        of_runs = (notice for run in self.runs for notice in run.notices)
        between = (problem for problem in self.comparability() if problem.code not in CAVEATS)
        of_preset = preset_notices(self.requests, self.rules)
        tables = {run.name: run.predictions for run in self.runs if run.predictions is not None}
        of_rows = rows_differ(tables, self.reference)
        of_truth = [*every_row_notice(self.reference.truth), *self.reference.notices]
        of_tables = [*self.columns_by_values, *of_truth]
        return list(dict.fromkeys([*between, *of_rows, *of_preset, *of_tables, *of_runs]))

    def comparability(self, names: Sequence[str] | None = None) -> list[Problem]:
        """Returns the reasons why the numbers of these runs, or of all, may not be comparable; empty if they
        are. Raises UnknownName for a run that was not scored.
        """
        known = [run.name for run in self.runs]
        wanted = known if names is None else texts_of("names", names, "als")
        check_known("run", wanted, known)
        chosen = [run for run in self.runs if run.name in wanted]
        return comparability_problems([basis for run in chosen if (basis := self._basis(run))])

    def compare(self, spec: str, baseline: str, terms: Terms | None = None) -> Compared:
        """Returns the comparison of all runs by one metric at its cutoff (``"ndcg@10"``), with a
        recommendation against the baseline.

        Raises UnknownName for a baseline that was not scored. Raises InputError for a metric without a value
        per user, and for a spec without the cutoff that it needs.
        """
        from recdash.comparison import ComparisonQuery, Terms
        from recdash.comparison.result import compared
        from recdash.evaluation.in_memory_source import EvaluationSource

        metric, k = self.metric_and_k(spec)
        # Reference candidates cannot be shipped: they are compared only as the baseline.
        candidates = tuple(run.name for run in self.runs if run.reference is None)
        query = ComparisonQuery(candidates, baseline, metric, k, terms=terms or Terms())
        return compared(EvaluationSource(self), query)

    def _basis(self, run: Scored) -> Basis | None:
        hits = lists_of(run)
        if hits is None or run.ledger is None:
            return None
        return Basis(
            run.name,
            users=self.rules.users,
            depth=hits.depth,
            order=hits.order,
            ties=self.rules.ties,
            duplicates=self.rules.duplicates,
            repeated=run.ledger.duplicates,
            version=__version__,
            counted=run.ledger.counted,
            without_list=run.ledger.without_list,
            rows=run.ledger.rows,
            tied_rows=run.ledger.tied_rows or 0,
            threshold=hits.truth.threshold,
            served=served_users_hash(hits),
            computed=run.reference is not None,
            ids=caveats(run.notices),
        )


def _band_cutoffs(request: MetricRequest, hits: Hits) -> list[int]:
    if request.spec.k is not None or not request.definition.metric.has_cutoff:
        return [_cutoff_of(request, hits)]
    return sorted({default_k(hits.depth), hits.depth})


def _cutoff_of(request: MetricRequest, hits: Hits) -> int:
    """Returns the requested cutoff, or the depth if none was requested. Raises InputError for a cutoff beyond
    the depth.
    """
    k = request.spec.k or hits.depth
    _check_within(k, hits.depth)
    return k


def _check_within(k: int, depth: int) -> None:
    """Raises InputError if k is invalid or beyond the depth to which the lists were read."""
    check_k(k)
    if k > depth:
        text = f"the lists were read to depth {depth}"
        raise InputError(Problem("beyond-depth", f"k = {k}", text, "Evaluate with a larger depth."))


def _slice_facts(of: Slice | None) -> dict[str, str | None]:
    return {"slice_by": None if of is None else of.by, "slice": None if of is None else of.value}
