"""``recdash why``: what explains that a candidate did online what it did not offline."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.options import run_named, workspace
from recdash.cli.output import aligned
from recdash.cli.terminal import say_lines
from recdash.errors import InputError, NotFound, Problem

if TYPE_CHECKING:
    from recdash.domain.records import OnlineTest
    from recdash.service import Explanation, Workspace


@click.command()
@click.option("--experiment", required=True, help="Name of the experiment.")
@click.option("--test", help="Name of the A/B test (default: the newest).")
@click.option("--variant", help="The variant to explain (default: the first that disagrees).")
@click.option("--run", "run", help="Explain the variant that served this run.")
@click.option("--metric", default="ndcg@10", show_default=True, help="An offline metric with its cutoff.")
@click.option("--online", default="session_watch_time", show_default=True, help="An online metric.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def why(
    experiment: str,
    test: str | None,
    variant: str | None,
    run: str | None,
    *,
    metric: str,
    online: str,
    form: str,
) -> None:
    """Why a candidate won offline and lost online: twelve checks, each supports, rules out or can't tell."""
    from recdash.comparison.result import cutoff_of
    from recdash.metrics import parse

    space, spec = workspace(), parse(metric)
    home = space.experiments.named(experiment)
    chosen = space.online_tests.online_test_named(home.id, test)
    asked = (spec.label, cutoff_of(spec), online)
    runs = {one.name: one.id for one in space.runs.all(home.id, archived=True)}
    wanted = _variant(space, chosen, variant, None if run is None else run_named(runs, run), asked)
    found = space.diagnosis.explain(chosen.id, wanted, *asked)
    say_lines(json.dumps(found.as_dict(), ensure_ascii=False, indent=2) if form == "json" else as_text(found))


def _variant(
    space: Workspace, test: OnlineTest, variant: str | None, run: str | None, asked: tuple[str, int, str]
) -> str:
    """The one that is named, that served the run, or the first that disagrees."""
    if variant is not None and run is not None:
        fix = "Name the variant or the run."
        raise InputError(Problem("two-names", "recdash why", "both --variant and --run", fix))
    if variant is not None:
        return variant
    served = {variant: of for variant, of in test.links.items() if variant != test.control}
    if run is not None:
        found = [variant for variant, of in served.items() if of == run]
        if not found:
            raise NotFound(f"No variant of '{test.name}' is linked to that run.")
        return found[0]
    return _telling(space, test, served, asked)


def _telling(
    space: Workspace, test: OnlineTest, served: Mapping[str, str], asked: tuple[str, int, str]
) -> str:
    if not served:
        raise NotFound(f"No variant of '{test.name}' is linked to a run. Link them on the Runs page.")
    rows = space.online_tests.offline_online(test.id, *asked)
    from recdash.online.agreement.agreement import DISAGREE

    telling = rows[rows["quadrant"].isin(DISAGREE)]["variant"].tolist()
    return str((telling or list(served))[0])


def as_text(found: Explanation) -> str:
    """The question, the answer in a sentence, and a line for each check."""
    from recdash.diagnosis import CHECKS

    titles = {check.name: check.title for check in CHECKS}
    lines: list[list[Any]] = [["check", "answer", "what was found"]]
    lines += [[titles[one.check], one.verdict, _found(one)] for one in found.answers]
    advice = [
        f"{titles[one.check]}: {one.sentence} {check.advice}"
        for one, check in zip(found.answers, CHECKS, strict=True)
        if one.verdict == "supports"
    ]
    apart = [""] if advice else []
    return "\n".join([found.question, found.summary, "", aligned(lines, texts=3), *apart, *advice])


def _found(answer: Any) -> str:
    return f"needs {answer.needs}" if answer.statistic == "–" else str(answer.statistic)
