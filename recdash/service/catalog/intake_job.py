"""Scores and stores a plan in a separate thread, so that a caller can show its progress and cancel it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from threading import Event, Thread

from recdash.errors import InputError, Problem, RecdashError
from recdash.service.catalog.intake import Intake, IntakeCancelled, IntakePlan, IntakeResult
from recdash.service.catalog.turns import Turns, waits_for

FIRST_STEP = "Reading the files"
JOBS = Turns(2)
"""The jobs that run at a time, of all people: each takes memory and the processor for every file it reads."""
CANCELLED = Problem("cancelled", "Cancelled", "nothing was stored", "")


class IntakeJob:
    """A running commit of a plan; ``fraction`` and ``text`` are its progress.

    ``files_in_use`` is entered while the files of the plan are read. ``scratch`` is as in ``commit``.
    """

    def __init__(
        self,
        intake: Intake,
        plan: IntakePlan,
        files_in_use: AbstractContextManager[None],
        scratch: Path | None = None,
    ) -> None:
        self.fraction, self.text = 0.0, FIRST_STEP
        self._cancelled = Event()
        self._result: IntakeResult | None = None
        self._error: BaseException | None = None
        job = (intake, plan, files_in_use, scratch)
        self._thread = Thread(target=self._run, args=job, name="intake", daemon=True)
        self._thread.start()

    def _run(
        self,
        intake: Intake,
        plan: IntakePlan,
        files_in_use: AbstractContextManager[None],
        scratch: Path | None,
    ) -> None:
        try:
            with files_in_use, JOBS.taken(self._wait):
                self.text = FIRST_STEP
                self._result = intake.commit(
                    plan,
                    skip_refused=True,
                    progress=self._report_progress,
                    cancelled=self._cancelled.is_set,
                    scratch=scratch,
                )
        except BaseException as error:  # noqa: BLE001 - raised again by outcome()
            self._error = error

    def _wait(self, n_before: int) -> None:
        """Says how many jobs end before this one begins. Raises IntakeCancelled if it was cancelled."""
        if self._cancelled.is_set():
            raise IntakeCancelled("Cancelled. Nothing was stored.")
        self.text = waits_for(n_before)

    def _report_progress(self, fraction: float, text: str) -> None:
        self.fraction, self.text = min(max(fraction, 0.0), 1.0), text

    def cancel(self) -> None:
        """Cancels the job before the next file is scored, or at once if another process scores them. Once
        storing has begun, everything is stored.
        """
        self._cancelled.set()
        self.text = "Cancelling"

    def is_done(self, within: float = 0.0) -> bool:
        """Returns whether the job is finished; waits for that up to ``within`` seconds."""
        self._thread.join(within)
        return not self._thread.is_alive()

    def outcome(self) -> tuple[IntakeResult | None, tuple[Problem, ...]]:
        """Returns what was stored and no problems, or else None and the problems.

        Raises unexpected errors.
        """
        if self._error is None:
            return self._result, ()
        if isinstance(self._error, IntakeCancelled):
            return None, (CANCELLED,)
        if isinstance(self._error, InputError):
            return None, tuple(self._error.placed())
        if isinstance(self._error, RecdashError):
            return None, (
                Problem(type(self._error).__name__, "experiment", str(self._error).rstrip("."), ""),
            )
        raise self._error
