"""Loads in a thread what the first page will need, while the browser still loads its scripts.

Between the click on *Load the demo* and its recommendation it bought 0.9 of 2.6 s of CPU: tea-tasting with
SciPy's statistics for the A/B test (0.7 s), and the demo. The first page finds SQLAlchemy and the store open.
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
