"""The demo in a store: loaded, looked up, removed."""

from __future__ import annotations

from recdash.domain.records import Experiment
from recdash.service.catalog.experiments import Experiments
from recdash.service.catalog.runs import Runs
from recdash.service.context import ServiceContext
from recdash.service.online.tests import OnlineTests
from recdash.service.validation import Progress, quiet


class DemoExperiment:
    def __init__(
        self, context: ServiceContext, experiments: Experiments, runs: Runs, online_tests: OnlineTests
    ) -> None:
        self._context, self._experiments, self._runs = context, experiments, runs
        self._store = context.store
        self._online_tests = online_tests

    def exists(self) -> bool:
        return any(experiment.demo for experiment in self._store.experiments.all(archived=True))

    def load(self, progress: Progress | None = None) -> Experiment:
        """Loads a simulated film service with five candidates and an A/B test; loading again changes
        nothing.
        """
        self._context.must_be_editor()
        from recdash.demo import film_service

        tell = progress or quiet
        tell(0.0, "Simulating a film service")
        service = film_service.make()
        known = [stored for stored in self._store.experiments.all(archived=True) if stored.demo]
        experiment = (
            self._experiments.restore(known[0].id)
            if known
            else self._experiments.create(
                service.experiment, service.truth, train=service.train, catalogue=service.catalogue, demo=True
            )
        )
        ids = {}
        for place, (name, table) in enumerate(service.runs.items(), start=1):
            ids[name] = self._runs.add(experiment.id, table, name=name)[0].run.id
            tell(place / (len(service.runs) + 1), f"Scored {name}")
        if not self._online_tests.all(experiment.id, archived=True):
            links = {variant: ids[run] for variant, run in service.links.items()}
            tables = {"sessions": service.sessions, "served": service.served}
            self._online_tests.add(experiment.id, service.test, tables, control=service.control, links=links)
        tell(1.0, "Done")
        return self._experiments.set_baseline(experiment.id, ids[service.baseline])

    def remove(self) -> None:
        self._context.must_be_editor()
        for experiment in self._store.experiments.all(archived=True):
            if experiment.demo:
                self._context.writable_store().experiments.delete(experiment.id)
