"""``recdash plan``: plans an A/B test before it has data, and compares tests with their plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.input_file import InputFile
from recdash.cli.options import columns_option, form_option, open_workspace, tell
from recdash.cli.terminal import say_json, say_lines
from recdash.errors import InputError, NotFound, Problem, UnknownName
from recdash.formatting import numbers
from recdash.formatting.text_table import text_table
from recdash.formatting.wording import listed, small

if TYPE_CHECKING:
    from recdash.domain.records import Experiment
    from recdash.online.analysis.plan_check import PlanCheck
    from recdash.online.plan import AnalysisPlan, Baseline, PlanHistory, PlanVersion
    from recdash.online.plan_baseline import MetricBaselines
    from recdash.service import Workspace


TYPED = ("rate", "mean", "std_dev", "like")
"""The options that give a baseline without a file."""


@click.command()
@click.argument("experiment", required=False)
@click.option(
    "--test", help="Name of the A/B test, or how the names of its uploads begin (default: the next test)."
)
@click.option("--new", is_flag=True, help="Plan another test; otherwise the newest plan is changed.")
@click.option("--primary", help="Metric that decides.")
@click.option(
    "--guardrail",
    "guardrails",
    multiple=True,
    metavar="METRIC=MARGIN",
    help="Metric that must not lose the margin, such as sessions_per_user=2%; repeatable.",
)
@click.option(
    "--no-guardrail", "removed", multiple=True, metavar="METRIC", help="Metric without one; repeatable."
)
@click.option("--effect", help="Minimum detectable effect: the smallest lift to detect, such as 2%.")
@click.option("--power", help="Probability of finding it (default: 80%).")
@click.option("--rate", help="Primary metric before the test if it is a share of users, such as 4.2%.")
@click.option("--mean", type=float, help="Primary metric before the test if it is a mean; with --std-dev.")
@click.option("--std-dev", type=float, help="Its standard deviation over users.")
@click.option(
    "--like", help="Stored A/B test whose control has the mean, the deviation and the users per day."
)
@click.option(
    "--baseline",
    "baseline_file",
    type=InputFile(),
    metavar="FILE",
    help="Table of an earlier test or of users, a row per user or session: its primary metric has the mean, "
    "the deviation and, with times, the users per day.",
)
@click.option("--control", help="Control variant of that table (default: recognised by its name).")
@columns_option
@click.option("--users-per-day", type=float, help="Users who enter the test on a day, over all variants.")
@click.option("--users", type=int, help="Sample size, control and variant together (default: computed).")
@click.option("--days", type=int, help="Duration (default: computed from the users per day, in full weeks).")
@click.option("--split", help="Planned split if it is uneven, the control first: control=2,new=1.")
@click.option(
    "--looks", type=int, help="How often results are looked at, the one at the end included (default: 1)."
)
@click.option(
    "--covariate",
    "covariates",
    multiple=True,
    help="Value before the test that adjusts lifts (CUPED); repeatable.",
)
@click.option("--reason", default="", help="Why the plan is changed.")
@form_option
def plan(
    experiment: str | None, *, test: str | None, new: bool, reason: str, form: str, **options: Any
) -> None:
    """Plan an A/B test before it has data: primary metric, guardrails, sample size and duration.

    Without options, shows the plans of the experiment and what differs in its tests; with --test alone, that
    plan. Each later change needs a --reason and is kept. Without EXPERIMENT, computes the sample size and
    stores nothing.
    """
    if experiment is None:
        _compute(form, options)
        return
    workspace = open_workspace()
    has_changes = new or any(value not in (None, (), {}) for value in options.values())
    read = _store(workspace, experiment, test, reason, options, is_new=new) if has_changes else None
    stored = workspace.experiments.named(experiment)
    shown = workspace.plans.all(stored.id)
    if test is not None and not has_changes:
        shown = [_known(shown, test)]
    facts = [_facts(workspace, stored, history) for history in shown]
    if form == "json":
        say_json({"experiment": stored.name, "plans": facts, "baseline": _baseline_facts(read)})
    else:
        say_lines("\n\n".join(map(_text, facts)) or f"'{stored.name}' has no plan of an A/B test.")


def _compute(form: str, options: Mapping[str, Any]) -> None:
    """Prints the sample size that follows from the options."""
    from recdash.online.plan import TITLES, AnalysisPlan, with_sample_size
    from recdash.online.plan_baseline import read_baselines

    primary = (options["primary"] or "").strip()
    read = _read_baselines(options, primary, read_baselines)
    baseline = _baseline(options, primary, read)
    if baseline is None:
        fix = "Give --rate, or --mean and --std-dev, or --baseline; or an experiment."
        raise InputError(Problem("no-baseline", "plan", "nothing to compute a sample size from", fix))
    plan = with_sample_size(_changed(AnalysisPlan(options["primary"] or "primary"), None, options), baseline)
    facts = {"effect": plan.effect, "power": plan.power, "users": plan.users, "days": plan.days}
    if form == "json":
        say_json({**facts, "baseline": _baseline_facts(read)})
    else:
        table = text_table([(TITLES[name], plan.text(name)) for name in facts], texts=2)
        say_lines("\n".join(filter(None, [table, plan.weekday_note])))


def _store(
    workspace: Workspace,
    name: str,
    test: str | None,
    reason: str,
    options: Mapping[str, Any],
    *,
    is_new: bool,
) -> MetricBaselines | None:
    """Stores a new plan of the experiment with this name, or a change of its plan of that test (None: the
    newest); returns the baselines that were read for it.

    An experiment that does not exist is created once the plan is known to be possible.
    """
    from recdash.online.plan import AnalysisPlan, with_sample_size

    experiment = _experiment(workspace, name)
    plans = workspace.plans.all(experiment.id) if experiment is not None else []
    known = None if is_new else _named(plans, test)
    begin = known.current.plan if known else AnalysisPlan("")
    changed = _changed(begin, test, options)
    read = _read_baselines(options, changed.primary, workspace.plans.read_baselines)
    if options["like"] is not None:
        experiment = workspace.experiments.named(name)
        read = workspace.plans.baselines(workspace.online_tests.named(experiment.id, options["like"]).id)
    baseline = _baseline(options, changed.primary, read)
    if baseline is not None:
        given = {name: options[name] for name in ("users", "days")}
        changed = with_sample_size(replace(changed, **given), baseline)
    changed.check()
    if experiment is None:
        experiment = workspace.experiments.create(name)
        tell([Problem("created", f"experiment '{experiment.name}'", "created for this plan", "")])
    if known is None:
        workspace.plans.add(experiment.id, changed, reason)
    else:
        workspace.plans.change(experiment.id, known.id, changed, reason)
    return read


def _experiment(workspace: Workspace, name: str) -> Experiment | None:
    """Returns the experiment with this name; None if there is none."""
    try:
        return workspace.experiments.named(name)
    except NotFound:
        return None


def _named(plans: Sequence[PlanHistory], test: str | None) -> PlanHistory | None:
    if test is None:
        return next(iter(plans), None)
    return next((plan for plan in plans if plan.current.plan.test.casefold() == test.casefold()), None)


def _known(plans: Sequence[PlanHistory], test: str) -> PlanHistory:
    """Returns the plan of the test. Raises NotFound without one."""
    plan = _named(plans, test)
    if plan is None:
        raise NotFound(f"There is no plan of an A/B test '{test}'.")
    return plan


def _changed(plan: AnalysisPlan, test: str | None, options: Mapping[str, Any]) -> AnalysisPlan:
    """Returns the plan with the given options."""
    from recdash.online.plan_texts import guardrail_of, share_of, split_of

    readers: dict[str, Callable[[Any], Any]] = {
        "primary": str.strip, "effect": partial(share_of, "--effect"), "power": partial(share_of, "--power"),
        "users": int, "days": int, "looks": int, "split": partial(split_of, "--split"), "covariates": tuple,
    }  # fmt: skip
    given: dict[str, Any] = {
        name: read(options[name]) for name, read in readers.items() if options[name] not in (None, ())
    }
    guardrails = {
        **plan.guardrails,
        **dict(guardrail_of("--guardrail", text) for text in options["guardrails"]),
    }
    if unknown := sorted(set(options["removed"]) - set(guardrails)):
        raise UnknownName("guardrail", unknown[0], [*guardrails])
    given["guardrails"] = {
        name: margin for name, margin in guardrails.items() if name not in options["removed"]
    }
    if test is not None:
        given["test"] = test.strip()
    return replace(plan, **given)


def _read_baselines(
    options: Mapping[str, Any], primary: str, read: Callable[..., MetricBaselines]
) -> MetricBaselines | None:
    """Returns the baselines that ``read`` reads from the given table; None without one. Raises InputError for
    options that do not belong together.
    """
    if options["baseline_file"] is None:
        if of_table := [f"--{name}" for name in ("columns", "control") if options[name]]:
            fix = "Name the table that is meant: --baseline FILE."
            raise InputError(Problem("no-baseline", listed(of_table), "given without --baseline", fix))
        return None
    if typed := [f"--{name.replace('_', '-')}" for name in TYPED if options[name] is not None]:
        finding, fix = f"given with {listed(typed)}", "Give one of them."
        raise InputError(Problem("two-baselines", "--baseline", finding, fix))
    if not primary:
        fix = "Name the metric of the table: --primary orders."
        raise InputError(Problem("no-primary", "--baseline", "no primary metric is named", fix))
    return read(options["baseline_file"], options["control"], options["columns"])


def _baseline(options: Mapping[str, Any], primary: str, read: MetricBaselines | None) -> Baseline | None:
    """Returns the baseline that was read, which is told, or that the options give; None without one. Raises
    InputError for half of one.
    """
    from recdash.online.plan import Baseline
    from recdash.online.plan_texts import share_of

    mean, std_dev, pace = (options[name] for name in ("mean", "std_dev", "users_per_day"))
    if read is not None:
        baseline = read.of(primary)
        tell(_told(read, primary, baseline))
        return baseline if pace is None else replace(baseline, users_per_day=pace)
    if options["rate"] is not None:
        return Baseline.of_rate(share_of("--rate", options["rate"]), pace)
    if (mean is None) != (std_dev is None):
        fix = "Give both, or --rate for a share of users."
        raise InputError(Problem("half-baseline", "--mean and --std-dev", "one of them is missing", fix))
    return None if mean is None else Baseline(mean, std_dev, users_per_day=pace)


def _told(read: MetricBaselines, primary: str, baseline: Baseline) -> Iterator[Problem]:
    """Yields what was noticed and left out while reading a baseline, and what it is."""
    yield from read.notices
    yield from (part.notice(list(read.users)) for part in read.removed)
    values = f"mean {numbers.three(baseline.mean)}, standard deviation {numbers.three(baseline.std_dev)}"
    users = "" if read.n_users is None else f"{numbers.users(read.n_users)} "
    others = ", ".join(f"{variant} {n:,}" for variant, n in read.other_users.items())
    rest = f"Left out: {others}." if others else ""
    if read.attributes:
        columns = listed(list(read.attributes), joint="or")
        rest = f"If {columns} has the variants, give --columns variant=COLUMN and --control NAME."
    yield Problem("baseline", "baseline", f"{primary} of {users}({read.control}): {values}", rest)


# ── output ───────────────────────────────────────────────────────────────────────────────────


def _baseline_facts(read: MetricBaselines | None) -> dict[str, Any] | None:
    return None if read is None else read.as_dict()


def _facts(workspace: Workspace, experiment: Experiment, history: PlanHistory) -> dict[str, Any]:
    tests = []
    for test in workspace.online_tests.all(experiment.id):
        check = workspace.plans.check(test.id)
        if check is not None and check.history.id == history.id:
            tests.append(_of_test(workspace, test.id, test.name, check))
    versions = list(map(_version, history.versions))
    return {"id": history.id, "plan": history.current.plan.as_dict(), "versions": versions, "tests": tests}


def _version(version: PlanVersion) -> dict[str, Any]:
    return {
        "author": version.author,
        "created": version.created.isoformat(),
        "reason": version.reason,
        "plan": version.plan.as_dict(),
    }


def _of_test(workspace: Workspace, test_id: str, name: str, check: PlanCheck) -> dict[str, Any]:
    headline, _ = workspace.online_tests.next_steps(test_id)
    return {"test": name, "headline": headline, **check.as_dict()}


def _text(facts: Mapping[str, Any]) -> str:
    from recdash.online.plan import TITLES, AnalysisPlan

    versions = [AnalysisPlan.of_facts(version["plan"]) for version in facts["versions"]]
    note = versions[-1].weekday_note
    lines = [text_table(versions[-1].rows(), texts=2), "", *([note] if note else [])]
    for place, version in enumerate(facts["versions"]):
        when = f"{version['created'][:16].replace('T', ' ')} UTC"
        if not place:
            lines.append(f"Planned by {version['author']}, {when}.")
            continue
        changes = versions[place - 1].changes(versions[place])
        changed = "; ".join(f"{small(TITLES[name])} {was} → {now}" for name, was, now in changes)
        lines.append(
            f"Changed by {version['author']}, {when}: {changed or numbers.NONE}. {version['reason']}"
        )
    for test in facts["tests"]:
        lines += ["", f"{test['test']}: {test['headline']}.", test["summary"]]
        lines += [f"  - {deviation['text']}" for deviation in test["deviations"]]
    return "\n".join(lines)
