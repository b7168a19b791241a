"""A/B tests: stored, linked to runs, compared with what was measured offline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from recdash import views
from recdash.domain import OnlineTest, Upload
from recdash.errors import NotFound, UnknownName
from recdash.metrics import define
from recdash.service.comparisons import Comparisons
from recdash.service.manners import check_typed, clean_name

if TYPE_CHECKING:
    import pandas as pd

    from recdash.online import OnlineResults

OnlineKind = Literal["sessions", "aggregates"]


class OnlineTests(Comparisons):
    """Everything that is done to online tests, and asked of them."""

    def online_tests(self, experiment_id: str, archived: bool = False) -> list[OnlineTest]:
        return self.store.online_tests(experiment_id, archived)

    def add_online_test(
        self,
        experiment_id: str,
        name: str,
        source: Any,
        *,
        kind: OnlineKind = "sessions",
        control: str | None = None,
        mapping: Mapping[str, str] | None = None,
        links: Mapping[str, str] | None = None,
    ) -> OnlineTest:
        """Read an A/B test's table, compute its results and store both. ``links`` are {variant: run id}."""
        self._may_write()
        upload, found = self._read_online(kind, source, mapping, control)
        self._check_links(experiment_id, links or {}, found.variants)
        test = OnlineTest(
            id=self._new_id(),
            experiment=experiment_id,
            name=clean_name(name),
            created=self._clock(),
            kind=kind,
            upload=self.store.put(upload.table),
            control=found.control,
            links=dict(links or {}),
            results=[vars(row) for row in found.rows],
            notices=(*upload.notices, *found.notices),
        )
        return self._same_test(test) or self.store.add_online_test(test)

    def _same_test(self, test: OnlineTest) -> OnlineTest | None:
        """The test that a second click would double: same name, table and control."""
        same = [
            one
            for one in self.online_tests(test.experiment, archived=True)
            if (one.name, one.upload, one.control) == (test.name, test.upload, test.control)
        ]
        return same[0] if same else None

    def try_online_test(
        self,
        kind: OnlineKind,
        source: Any,
        mapping: Mapping[str, str] | None = None,
        control: str | None = None,
    ) -> OnlineResults:
        """The results as they would be; stores nothing."""
        return self._read_online(kind, source, mapping, control)[1]

    def _read_online(
        self, kind: OnlineKind, source: Any, mapping: Mapping[str, str] | None, control: str | None
    ) -> tuple[Upload, OnlineResults]:
        from recdash import ingest, online

        upload = ingest.read_upload(kind, source, mapping=mapping, limits=self.limits)
        return upload, online.results(upload, control)

    def link_variants(self, test_id: str, links: Mapping[str, str]) -> OnlineTest:
        """Say which run each variant served: {variant: run id}."""
        self._may_write()
        test = self.store.online_test(test_id)
        self._check_links(test.experiment, links, [str(row["variant"]) for row in test.results])
        return self.store.update_online_test(test_id, links=dict(links))

    def _check_links(self, experiment_id: str, links: Mapping[str, str], variants: Sequence[str]) -> None:
        known = {run.id for run in self.runs(experiment_id, archived=True)}
        for variant, run_id in links.items():
            if variant not in variants:
                raise UnknownName("variant", variant, sorted(set(variants)))
            if run_id not in known:
                raise NotFound(f"Variant '{variant}' is linked to a run that is not in this experiment.")

    def archive_online_test(self, test_id: str) -> OnlineTest:
        return self._write().update_online_test(test_id, archived=self._clock())

    def restore_online_test(self, test_id: str) -> OnlineTest:
        return self._write().update_online_test(test_id, archived=None)

    def delete_online_test(self, test_id: str, typed_name: str) -> None:
        check_typed(typed_name, self.store.online_test(test_id).name)
        self._write().delete_online_test(test_id)

    def online_results(self, test_id: str) -> pd.DataFrame:
        """One row per metric and variant.

        Columns: metric, title, unit, variant, run_id, is_control, n_users, value, ci_low, ci_high, lift,
        lift_low, lift_high, p, note.
        """
        import pandas as pd

        test = self.store.online_test(test_id)
        frame = pd.DataFrame([dict(row) for row in test.results])
        frame.insert(4, "run_id", frame["variant"].map(dict(test.links)))
        return frame

    def offline_online(self, test_id: str, metric: str, k: int, online_metric: str) -> pd.DataFrame:
        """One row per linked variant; columns as in ``recdash.online.joining``.

        The offline difference is paired against the run that the control served (else the baseline), and
        corrected over the variants.
        """
        from recdash.online.joining import SPLIT_BROKEN, join_offline

        test = self.store.online_test(test_id)
        names = {run.id: run.name for run in self._runs(list(test.links.values()))}
        reference = test.links.get(test.control) or self.experiment(test.experiment).baseline
        others = [run_id for run_id in names if run_id != reference]
        paired = reference is not None and define(metric).has_user_values
        delta = self.pairs(others, reference, metric, k) if paired and reference else None
        return join_offline(
            self.online_results(test_id),
            online_metric,
            names,
            scores=self.scoreboard(list(names), [metric], k),
            differences=delta,
            offline_title=views.metric_title(metric, k),
            broken_split=any(notice.code == SPLIT_BROKEN for notice in test.notices),
        )
