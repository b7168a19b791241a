"""Stores interleaving tests beside A/B tests, and compares them with offline results and A/B tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from recdash.comparison import ComparisonQuery
from recdash.domain.access import without_ids
from recdash.domain.records import OnlineTest
from recdash.errors import NotFound, UnknownName, other_notices
from recdash.evaluation.column_choice import ColumnsGiven
from recdash.formatting.numbers import none_if_nan
from recdash.formatting.records import Row, records
from recdash.ingest.notice_rules import check_refused, read_codes
from recdash.metrics import check_k, define
from recdash.online.agreement.join import split_is_broken
from recdash.online.analysis.health import is_control_guessed
from recdash.online.interleaving.interleaving import InterleavingTable, read_table
from recdash.online.interleaving.power import Sensitivity, z_of
from recdash.online.interleaving.results import InterleavingResults
from recdash.service.context import ServiceContext
from recdash.service.offline.comparisons import Comparisons
from recdash.service.online.tests import NewTest, OnlineTests, StagedTest
from recdash.service.staging import store_with_files
from recdash.service.validation import clean_name
from recdash.store import new_id

if TYPE_CHECKING:
    import pandas as pd

KIND: Literal["interleaving"] = "interleaving"


@dataclass(frozen=True)
class LiftOfPair:
    """What an A/B test found for one of its goals in the pair of runs of an interleaving test.

    ``row`` is the row of its results. ``sensitivity`` compares the users that both tests need, None if one of
    them has no p-value.
    """

    test: OnlineTest
    row: Mapping[str, Any]
    sensitivity: Sensitivity | None


@dataclass(frozen=True)
class InterleavedPair:
    """An interleaving test of two runs beside their offline difference and their A/B tests.

    ``names`` are those of the runs that ``results.a`` and ``results.b`` served. ``offline`` is the paired
    difference of b from a (a row of ``Comparisons.pairs``), None if the metric has none.
    """

    test: OnlineTest
    results: InterleavingResults
    names: tuple[str, str]
    offline: Row | None
    lifts: tuple[LiftOfPair, ...]


class Interleaving:
    """The service for interleaving tests. They are archived, deleted and linked to runs as A/B tests are."""

    def __init__(self, context: ServiceContext, online_tests: OnlineTests, comparisons: Comparisons) -> None:
        self._context, self._online_tests, self._comparisons = context, online_tests, comparisons
        self._results = context.sized_cache(self._read_results, least=4)

    def all(self, experiment_id: str, archived: bool = False) -> list[OnlineTest]:
        """Returns the experiment's interleaving tests, the newest first; archived ones only if
        ``archived``.
        """
        tests = self._context.store.online_tests.of_experiment(experiment_id, archived)
        return [test for test in tests if test.is_interleaved]

    def named(self, experiment_id: str, name: str | None = None) -> OnlineTest:
        """Returns the interleaving test with this name; without a name, the newest.

        Raises NotFound if the experiment has none, and UnknownName for an unknown name.
        """
        tests = self.all(experiment_id)
        self._context.must_be_of_kind(experiment_id, name, interleaved=True)
        if not tests:
            home = self._context.store.experiments.get(experiment_id).name
            raise NotFound(
                f"'{home}' has no interleaving test yet. Add one with recdash add, or on the page Add data."
            )
        by_name = {test.name: test for test in tests}
        if name is not None and name not in by_name:
            raise UnknownName("interleaving test", name, list(by_name))
        return tests[0] if name is None else by_name[name]

    def add(
        self,
        experiment_id: str,
        name: str,
        table: Any,
        *,
        control: str | None = None,
        links: Mapping[str, str] | None = None,
        columns: ColumnsGiven | None = None,
        refuse: str | Sequence[str] = (),
    ) -> OnlineTest:
        """Reads the table of an interleaving test, computes its results and stores both.

        ``control`` and ``columns`` are those of ``recdash.interleaving``; ``links`` are {ranking: run id}.
        If the same test is stored already, it gets the links, and is unarchived if it was archived. Raises
        InputError for an unusable table, NameTaken if another test has the name.
        """
        refused_codes = read_codes(refuse)
        new = NewTest(name, {KIND: table}, control, columns=columns, links=links or {})

        def staged_unless_refused() -> StagedTest:
            staged = self.stage(new)
            check_refused(staged.notices, refused_codes)
            return staged

        return store_with_files(
            self._context.writable_store(),
            staged_unless_refused,
            lambda staged: self._online_tests.store_staged(experiment_id, staged, staged.links),
        )

    def stage(self, new: NewTest) -> StagedTest:
        """Returns an interleaving test whose file is stored already, and whose row is not; see
        ``OnlineTests.stage``.
        """
        self._context.must_be_editor()
        read = self._read(new)

        def facts(results: InterleavingResults) -> dict[str, Any]:
            notices = (*results.notices, *results.warnings)
            return {"control": results.a, "results": results.records(), "notices": notices}

        results = read.results(new.control)
        test = OnlineTest(
            id=new_id(),
            experiment="",
            name=clean_name(new.name),
            created=self._context.now(),
            kind=KIND,
            upload=self._context.store.artifacts.put(read.table),
            **facts(results),
        )
        by_control = {}
        if is_control_guessed(test.notices):
            served = [name for name in (results.a, results.b) if name in new.links]
            by_control = {name: replace(test, **facts(read.results(name))) for name in served}
        return StagedTest(test, new.links, by_control, tuple(results.noticed()))

    def preview(
        self,
        table: Any,
        *,
        control: str | None = None,
        mapping: Mapping[str, str] | None = None,
        columns: ColumnsGiven | None = None,
    ) -> InterleavingResults:
        """Returns the results that the table would have; stores nothing."""
        return read_table(table, columns, self._context.limits, mapping).results(control)

    def _read(self, new: NewTest) -> InterleavingTable:
        mapping = (new.mappings or {}).get(KIND)
        return read_table(new.tables[KIND], new.columns, self._context.limits, mapping)

    # ── a stored test ────────────────────────────────────────────────────────────────────────

    def results(self, interleaving_id: str) -> InterleavingResults:
        """Returns the results of a stored interleaving test. Raises NotFound for an A/B test."""
        return self.results_of(self._context.interleaving_test(interleaving_id))

    def results_of(self, test: OnlineTest) -> InterleavingResults:
        """Returns the results of a test, which may be changed and not stored yet."""
        results = self._results(test.upload, test.control)
        if self._context.person.numbers_only:
            return replace(results, notices=tuple(map(without_ids, results.notices)))
        return results

    def _read_results(self, upload: str, control: str) -> InterleavingResults:
        return InterleavingTable(self._context.store.artifacts.table(upload)).results(control)

    def recounted(self, test: OnlineTest, **changed: Any) -> dict[str, Any]:
        """Returns the changed fields of a stored test with its new results and notices; stores nothing."""
        before = self.results_of(test).noticed()
        results = self.results_of(replace(test, **changed))
        kept = other_notices(test.notices, before)
        return {**changed, "results": results.records(), "notices": (*kept, *results.noticed())}

    def set_control(self, interleaving_id: str, control: str) -> OnlineTest:
        """Compares the test with its other ranking. Raises UnknownName for a ranking that it lacks."""
        store = self._context.writable_store()
        test = self._context.interleaving_test(interleaving_id)
        if control not in test.variants:
            raise UnknownName("ranking", control, test.variants)
        fields = self.recounted(test, control=control)
        notices = tuple(notice for notice in fields["notices"] if not is_control_guessed([notice]))
        return store.online_tests.update(interleaving_id, **{**fields, "notices": notices})

    def table(self, interleaving_id: str) -> pd.DataFrame:
        """Returns the results of a stored test as ``InterleavingResults.table`` does."""
        return self.results(interleaving_id).table()

    # ── beside offline results and A/B tests ─────────────────────────────────────────────────

    def pairs(self, experiment_id: str, metric: str, k: int) -> list[InterleavedPair]:
        """Returns each interleaving test whose two rankings are linked to runs, beside the offline difference
        in ``metric`` at ``k`` and the A/B tests of the same pair of runs.
        """
        check_k(k)
        return [
            self._pair(test, metric, k)
            for test in self.all(experiment_id)
            if len({test.links[name] for name in test.variants if name in test.links}) > 1
        ]

    def sensitivities(self, interleaving_id: str) -> list[tuple[LiftOfPair, Sensitivity]]:
        """Returns what A/B tests of the same pair of runs found, and how many users either kind of test
        needs; empty if its rankings are not linked to runs, or its teams are uneven.

        A/B tests whose split is broken are left out, as what they have seen is no effect.
        """
        test = self._context.interleaving_test(interleaving_id)
        if self.results_of(test).split.blocked:
            return []
        return [
            (pair, pair.sensitivity)
            for pair in self._lifts(test)
            if pair.sensitivity is not None and not split_is_broken(pair.test.notices)
        ]

    def _pair(self, test: OnlineTest, metric: str, k: int) -> InterleavedPair:
        results = self.results_of(test)
        ids = [test.links[name] for name in (results.a, results.b)]
        a, b = self._context.runs_of(ids)
        offline = None
        if define(metric).is_paired:
            differences = records(self._comparisons.pairs(ComparisonQuery((b.id,), a.id, metric, k)))
            known = [row for row in differences if row["run_id"] == b.id]
            offline = known[0] if known and none_if_nan(known[0]["mean_diff"]) is not None else None
        return InterleavedPair(test, results, (a.name, b.name), offline, tuple(self._lifts(test)))

    def _lifts(self, test: OnlineTest) -> list[LiftOfPair]:
        results = self.results_of(test)
        run_a, run_b = (test.links.get(name) for name in (results.a, results.b))
        if run_a is None or run_b is None:
            return []
        return [
            LiftOfPair(ab_test, row, _sensitivity(results, ab_test, row))
            for ab_test in self._online_tests.all(test.experiment)
            if self._context.run_of_control(ab_test) == run_a
            for row in ab_test.results
            if not row["is_control"] and row.get("role") == "goal"
            if ab_test.links.get(str(row["variant"])) == run_b
        ]


def _sensitivity(
    results: InterleavingResults, test: OnlineTest, row: Mapping[str, Any]
) -> Sensitivity | None:
    """Returns the comparison with a row of an A/B test; None if that has no p-value or number of users."""
    p, lift = none_if_nan(row["p"]), none_if_nan(row["lift"])
    control = next(
        (other for other in test.results if other["is_control"] and other["metric"] == row["metric"]), None
    )
    counts = [none_if_nan(side.get("n_users")) for side in (row, control) if side is not None]
    if p is None or lift is None or len(counts) < 2 or None in counts:
        return None
    return results.sensitivity(z_of(p, lift), int(sum(counts)))  # type: ignore[arg-type]
