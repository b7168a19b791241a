"""``recdash gate``: fails a pipeline if a candidate breaks rules against a baseline."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.fast_start import start_light
from recdash.cli.input_file import InputFile, exists
from recdash.cli.online_options import TABLES, counting_options, metric_of, rules_given, table_options
from recdash.cli.options import (
    PREDICTIONS_HELP,
    REPLICATES_HELP,
    NamedFile,
    check_names,
    columns_option,
    how_to_count,
    open_workspace,
    run_named,
    tell,
    uploads,
)
from recdash.cli.output_file import writing
from recdash.cli.terminal import say_lines
from recdash.errors import InputError, Problem
from recdash.formatting.sanitize import visible
from recdash.formatting.text_table import text_table

if TYPE_CHECKING:
    from recdash.decisions.gate.result import GateResult, Inconclusive
    from recdash.decisions.gate.rules_file import GateSettings
    from recdash.domain.results import Scope
    from recdash.online.analysis.analysed_test import AnalysedTest

FORMS = ("text", "json", "junit", "markdown")
ENDINGS: Mapping[str, str] = {".json": "json", ".xml": "junit", ".md": "markdown", ".txt": "text"}
"""The ending of a file → the form in which the result is written to it."""
BASELINE_HELP = (
    "The lists of the baseline, as NAME=FILE; repeatable for folds or seeds. With --experiment the name of a "
    "run (default: the experiment's baseline)."
)
RULE_HELP = (
    "A rule, such as 'ndcg@10 >= -0.5%' (of the baseline's value), 'recall@20 >= -0.002', 'rmse <= 1%' or "
    "'online.conversion >= 0'; repeatable."
)
RULES_HELP = (
    "A YAML file with rules, or a .toml file with [tool.recdash.gate]. Without --rule and --rules those in "
    "pyproject.toml count."
)
STORED_OPTIONS = frozenset(
    {
        "experiment", "baselines", "candidates", "rules", "rules_file", "test", "variant", "part", "form",
        "outputs", "link", "inconclusive", "relevance_threshold",
    }
)  # fmt: skip
"""Options that apply to stored runs; all others say how files are read."""


def _web_link(_context: click.Context, option: click.Parameter, link: str | None) -> str | None:
    """Returns the link unchanged. Raises InputError for one that is not http or https."""
    from recdash.decisions.gate.rules_file import check_link

    return check_link(link, option.opts[0]) if link else None


@click.command()
@click.option("--baseline", "baselines", multiple=True, metavar="NAME=FILE", help=BASELINE_HELP)
@click.option(
    "--candidate", "candidates", multiple=True, metavar="NAME=FILE", help="The candidate, given likewise."
)
@click.option("--rule", "rules", multiple=True, help=RULE_HELP)
@click.option("--rules", "rules_file", type=click.Path(path_type=Path), metavar="FILE", help=RULES_HELP)
@click.option(
    "--inconclusive",
    type=click.Choice(["fail", "pass"]),
    help="What an undecided rule does to the verdict (default: fail).",
)
@click.option("--truth", type=InputFile(), help="Test set: user, item, and a relevance or rating.")
@click.option("--replicates", type=click.Choice(["seeds", "folds"]), help=REPLICATES_HELP)
@click.option("--predictions", multiple=True, type=NamedFile(), help=PREDICTIONS_HELP)
@click.option("--train", type=InputFile(), help="Training data, for novelty and popularity.")
@click.option("--catalogue", type=InputFile(), help="The catalogue: all items, for coverage and others.")
@click.option("--item-vectors", type=InputFile(), help="One vector per item, for diversity(by=vectors).")
@columns_option
@how_to_count
@table_options
@click.option("--control", help="Control variant of the A/B test.")
@click.option(
    "--variant", help="The variant that served the candidate, if the test has several beside the control."
)
@counting_options
@click.option("--experiment", help="Judge stored runs of this experiment instead of files.")
@click.option(
    "--test", help="The stored A/B test (default: the only one between the two runs); with --experiment."
)
@click.option("--slice", "part", help="Only a slice of the users or items; with --experiment.")
@click.option("--format", "form", type=click.Choice(FORMS), default="text", show_default=True)
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write a file: .xml for JUnit, .md for Markdown, .json or .txt; repeatable.",
)
@click.option(
    "--link", callback=_web_link, help="An http or https address that the comment and the files link to."
)
def gate(
    *,
    baselines: Sequence[str],
    candidates: Sequence[str],
    rules: Sequence[str],
    rules_file: Path | None,
    inconclusive: str | None,
    experiment: str | None,
    test: str | None,
    part: str | None,
    form: str,
    outputs: Sequence[Path],
    link: str | None,
    **options: Any,
) -> None:
    """Fail a pipeline if a candidate breaks rules against a baseline.

    A rule bounds the change of a metric. It holds if the whole interval of the change is within the margin;
    the intervals of all rules hold together at 95 % (Bonferroni). Exits with 0 if all rules hold, with 1 if
    one does not or is undecided, and with 2 for bad input.
    """
    start_light()
    context = click.get_current_context()
    for file in outputs:
        _form_of(file)
    settings = _settings(rules, rules_file)
    judged: dict[str, Any] = {
        "rules": settings.rules,
        "inconclusive": inconclusive or settings.inconclusive or "fail",
    }
    if experiment is None:
        _refuse({"test", "part"}, "not-for-files", "only possible with --experiment", "Add --experiment.")
        result = _judge_files(baselines, candidates, options, judged)
    else:
        _refuse_files(context.command)
        from recdash.domain.results import Scope

        scope = Scope(slice=part or "", threshold=options["relevance_threshold"])
        result = _judge_stored(
            experiment, baselines, candidates, scope, **judged, test=test, variant=options["variant"]
        )
    link = link or settings.link
    for file in outputs:
        _write(file, written(result, _form_of(file), link))
    tell(result.notices)
    say_lines(written(result, form, link))
    context.exit(result.exit_code)


def written(result: GateResult, form: str, link: str | None) -> str:
    """Returns the result in one of ``FORMS``."""
    from recdash.decisions.gate.formats import WRITERS

    return _text(result, link) if form == "text" else WRITERS[form](result, link)


def _text(result: GateResult, link: str | None) -> str:
    from recdash.decisions.gate.result import HEAD

    rows = [rule.cells for rule in result.rules]
    lines = [visible(result.headline), "", text_table([HEAD, *rows], 1), ""]
    return "\n".join([*lines, *map(visible, result.remarks), *([visible(link)] if link else [])])


# ── rules ────────────────────────────────────────────────────────────────────────────────────


def _settings(rules: Sequence[str], file: Path | None) -> GateSettings:
    """Returns the rules of the command line and of a file, with its settings; those of the folder's
    pyproject.toml if neither is given.
    """
    from recdash.decisions.gate import rules_file

    settings = rules_file.GateSettings()
    if file is not None:
        settings = rules_file.read_file(file)
    elif not rules:
        settings = rules_file.in_folder(Path()) or settings
    return replace(settings, rules=(*rules, *settings.rules))


# ── files ────────────────────────────────────────────────────────────────────────────────────


def _judge_files(
    baselines: Sequence[str], candidates: Sequence[str], options: Mapping[str, Any], judged: dict[str, Any]
) -> GateResult:
    from recdash.decisions.gate.gate import gate as judge

    question = dict(options)
    test_options = {name: question.pop(name) for name in _options_of(counting_options)}
    tables = {name: file for name in TABLES if (file := question.pop(name)) is not None}
    if not tables:
        _refuse_test_options()
    control, variant = question.pop("control"), question.pop("variant")
    check_names("--predictions", question["predictions"])
    question["predictions"] = dict(question["predictions"])
    ab_test = None
    if tables:
        question["columns"], columns_of_test = _columns(
            question["columns"], has_lists=options["truth"] is not None
        )
        ab_test = _ab_test(tables, control, columns_of_test, test_options)
    rated = question["predictions"]
    return judge(
        _run("--baseline", baselines, rated),
        _run("--candidate", candidates, rated),
        question.pop("truth"),
        ab_test=ab_test,
        variant=variant,
        **judged,
        **question,
    )


def _refuse_test_options() -> None:
    """Raises InputError for options that say how an A/B test is analysed, as no table of one is given."""
    fix = "Give the test's table, such as --sessions FILE, with a rule such as 'online.conversion >= 0'; "
    fix += "or leave this out."
    names = {"control", "variant", *_options_of(counting_options)}
    _refuse(names, "no-ab-test", "no A/B test is judged", fix)


def _ab_test(
    tables: Mapping[str, Any], control: str | None, columns: Mapping[str, Any], options: Mapping[str, Any]
) -> AnalysedTest:
    from recdash.online.ab_test import ab_test

    rules = {name: value for name, value in options.items() if name != "own_metrics"}
    return ab_test(
        **tables,
        control=control,
        columns=columns,
        metrics=[metric_of(text) for text in options["own_metrics"]],
        rules=rules_given(**rules),
    )


def _run(option: str, values: Sequence[str], rated: Mapping[str, Any]) -> Any:
    """Returns {name: file or files} of a run; the name alone for one with predicted ratings only; None if it
    is not given. Raises InputError for several names.
    """
    if not values:
        return None
    if len(values) == 1 and values[0] in rated and not exists(Path(values[0])):
        return {values[0]: None}
    named = uploads([NamedFile().convert(value, None, click.get_current_context()) for value in values])
    if len(named) > 1:
        fix = "Give one name; repeat it for each fold or seed."
        raise InputError(Problem("several-runs", option, f"it names {', '.join(named)}", fix))
    return named


def _columns(columns: Mapping[str, Any], *, has_lists: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the columns of the files of recommendations, and those of the A/B test's tables. Columns
    without a table are those of the recommendations, if there are some.
    """
    of_test = {name: value for name, value in columns.items() if name in TABLES}
    others = {name: value for name, value in columns.items() if name not in TABLES}
    return (others, of_test) if has_lists else ({}, {**others, **of_test})


def _options_of(add: Any) -> list[str]:
    """Returns the names of the options that a decorator adds to a command."""
    command = click.command()(add(lambda **_: None))
    return [parameter.name for parameter in command.params]


# ── stored runs ──────────────────────────────────────────────────────────────────────────────


def _judge_stored(
    experiment: str,
    baselines: Sequence[str],
    candidates: Sequence[str],
    scope: Scope,
    rules: Sequence[str],
    inconclusive: Inconclusive,
    **of_test: str | None,
) -> GateResult:
    if len(candidates) != 1 or len(baselines) > 1:
        fix = "Name one candidate, and at most one baseline: --candidate NAME --baseline NAME."
        finding = f"{len(candidates)} candidates and {len(baselines)} baselines"
        raise InputError(Problem("bad-runs", "recdash gate", finding, fix))
    workspace = open_workspace()
    home = workspace.experiments.named(experiment)
    stored = workspace.runs.all(home.id)
    ids = {run.name: run.id for run in stored}
    candidate = run_named(ids, candidates[0])
    baseline = run_named(ids, baselines[0]) if baselines else workspace.queries.baseline(home, stored).id
    return workspace.gates.judge(
        home.id, baseline, candidate, rules, scope=scope, inconclusive=inconclusive, **of_test
    )


def _refuse_files(command: click.Command) -> None:
    """Raises InputError for options that say how files are read, because stored runs follow the experiment's
    own rules.
    """
    names = {parameter.name or "" for parameter in command.params} - STORED_OPTIONS
    fix = "Stored runs and A/B tests follow the experiment's own rules. Leave this out, or --experiment."
    _refuse(names, "not-for-stored", "not possible with --experiment", fix)


def _refuse(names: Collection[str], code: str, finding: str, fix: str) -> None:
    """Raises InputError if the command line has options with these names; the error names all of them."""
    context = click.get_current_context()
    given = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in names
        and context.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        raise InputError(Problem(code, ", ".join(given), finding, fix))


# ── output ───────────────────────────────────────────────────────────────────────────────────


def _form_of(file: Path) -> str:
    """Returns the form of a file by its ending. Raises InputError for other endings."""
    if file.suffix.lower() not in ENDINGS:
        fix = f"Use one of {', '.join(ENDINGS)}."
        raise InputError(Problem("bad-ending", "--output", f"'{file}' ends otherwise", fix))
    return ENDINGS[file.suffix.lower()]


def _write(file: Path, text: str) -> None:
    with writing("--output", file):
        file.write_text(f"{text}\n", encoding="utf-8")
