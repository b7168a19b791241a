"""``recdash share``, ``links``, ``revoke``, ``views``, ``audit``: manage share links and saved views, and
show the audit log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.options import (
    ID_SHOWN,
    dashboard_address,
    experiment_option,
    form_option,
    id_beginning,
    open_experiment,
    open_workspace,
)
from recdash.cli.terminal import say, say_json, say_lines
from recdash.errors import InputError, NotFound, Problem
from recdash.formatting.text_table import text_table

if TYPE_CHECKING:
    from recdash.domain.journal import AuditEvent
    from recdash.service import Workspace

HIDDEN = ("experiment", "sha256", "seals")
"""Details of a line of the audit log that the table of lines leaves out."""


def _address_here() -> str:
    """Returns the address of a dashboard on this machine, at the port of the settings."""
    from recdash.settings import settings

    return f"http://127.0.0.1:{settings().port}"


address_option = click.option(
    "--link",
    "address",
    default=_address_here,
    callback=dashboard_address,
    show_default="this machine, RECDASH_PORT",
    help="Address of the dashboard.",
)


@click.command()
@experiment_option
@click.option("--report", help="Share only this report: its title or id.")
@click.option("--days", type=float, default=30, show_default=True, help="Days until the link expires.")
@click.option("--label", default="", help="Label of the link, such as its recipient; only editors see it.")
@click.option("--numbers-only", is_flag=True, help="Show no ids, lists or values of single users.")
@address_option
def share(
    experiment: str, report: str | None, days: float, label: str, address: str, *, numbers_only: bool
) -> None:
    """Create a link with which anyone can read one experiment or one report.

    The link is shown only once: the store keeps a hash of it.
    """
    workspace, stored = open_experiment(experiment)
    report_id = None if report is None else _report(workspace, stored.id, report)
    shared = workspace.sharing.share(
        stored.id, report_id=report_id, days=days, label=label, numbers_only=numbers_only
    )
    say(f"{address.rstrip('/')}/s/{shared.token}")
    subject = "the report" if report_id else f"'{stored.name}'"
    say(
        f"Opens {subject} read-only until {shared.link.expires:%Y-%m-%d %H:%M} UTC. To revoke it: "
        f"recdash revoke {shared.link.id[:ID_SHOWN]}",
        err=True,
    )


def _report(workspace: Workspace, experiment_id: str, wanted: str) -> str:
    """Returns the id of the report with this id or title; that of the newest if several have this title.
    Raises NotFound if there is none.
    """
    from recdash.report.reports import Reports

    reports = Reports(workspace).all(experiment_id)
    ids = [report.id for report in reports if wanted in (report.id, report.title)]
    if not ids:
        titles = ", ".join(f"'{report.title}'" for report in reports) or "none"
        raise NotFound(f"No report is called '{wanted}'. Reports: {titles}.")
    return ids[0]


@click.command()
@experiment_option
@form_option
def links(experiment: str, form: str) -> None:
    """List the share links of an experiment: who created them, when they expire, and when they were used."""
    from recdash.report.reports import Reports

    workspace, stored = open_experiment(experiment)
    titles = {report.id: report.title for report in Reports(workspace).all(stored.id, archived=True)}
    facts, uses = [], workspace.sharing.uses(stored.id)
    for link in workspace.sharing.links(stored.id):
        opens = "experiment" if link.report is None else f"report '{titles[link.report]}'"
        use = uses.get(link.id)
        fact: dict[str, Any] = {
            "id": link.id,
            "opens": opens,
            "state": workspace.sharing.link_state(link),
            "until": f"{link.expires:%Y-%m-%d %H:%M}",
            "author": link.author,
            "label": link.label,
            "shows": "numbers only" if link.numbers_only else "all data",
            "last_used": f"{use.last:%Y-%m-%d %H:%M}" if use else None,
            "opened": use.n_opened if use else 0,
        }
        facts.append(fact)
    if form == "json":
        say_json(facts)
        return
    rows = [["id", "opens", "state", "until (UTC)", "made by", "label", "shows", "last used (UTC)", "opened"]]
    for fact in facts:
        id_, *others, last, opened = fact.values()
        rows.append([id_[:ID_SHOWN], *others, last or "never", str(opened)])
    say_lines(text_table(rows, texts=8) if facts else f"'{stored.name}' has no share links.")


@click.command()
@click.argument("link_id")
def revoke(link_id: str) -> None:
    """Revoke a share link for good. Give the beginning of its id as recdash links shows it."""
    workspace = open_workspace()
    experiments = workspace.experiments.all(archived=True)
    links = [link for experiment in experiments for link in workspace.sharing.links(experiment.id)]
    fix = "recdash links --experiment NAME lists them."
    matching = id_beginning(link_id, [link.id for link in links], "share link", fix)
    workspace.sharing.revoke(matching)
    say(f"Revoked {matching[:ID_SHOWN]}.")


@click.command()
@experiment_option
@click.option("--save", "name", help="Save a view under this short name: a to z, 0 to 9 and -.")
@click.option("--page", default="overview", show_default=True, help="The page's name in its address.")
@click.option(
    "--param", "params", multiple=True, help="A parameter of the page's address, as NAME=VALUE; repeatable."
)
@click.option("--forget", help="Delete the view of this name.")
@address_option
@form_option
def views(
    experiment: str,
    name: str | None,
    page: str,
    params: Sequence[str],
    *,
    forget: str | None,
    address: str,
    form: str,
) -> None:
    """List the saved views of an experiment, save one, or delete one."""
    workspace, stored = open_experiment(experiment)
    if name is not None:
        workspace.sharing.save_view(stored.id, name, page, {"e": stored.id, **dict(map(_param, params))})
    if forget is not None:
        workspace.sharing.forget_view(workspace.sharing.saved_view(forget).id)
    facts = []
    for view in workspace.sharing.saved_views(stored.id):
        link = f"{address.rstrip('/')}/?view={view.name}"
        facts.append({"name": view.name, "page": view.page, "link": link, "author": view.author})
    if form == "json":
        say_json(facts)
        return
    rows = [["name", "page", "link", "saved by"], *(list(fact.values()) for fact in facts)]
    say_lines(text_table(rows, texts=4) if facts else f"'{stored.name}' has no saved views.")


def _param(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(Problem("bad-param", "--param", f"'{text}'", "Write NAME=VALUE, such as k=20."))
    return name, value


@click.command()
@click.option("--last", type=click.IntRange(1), default=50, show_default=True, help="Number of lines.")
@form_option
def audit(last: int, form: str) -> None:
    """Show the audit log, the newest line first. Exits with 1 if the log, or what it records, was changed.

    It does not notice that lines were cut off at the end: keep the last hash elsewhere and compare.
    """
    workspace = open_workspace()
    events, broken = workspace.audit.events(last), workspace.audit.breaks()
    altered = workspace.audit.altered()
    if form == "json":
        lines = [{**vars(event), "at": event.at.isoformat()} for event in events]
        facts = {"broken": broken, "altered": altered, "lines": lines}
        say_json(facts)
    else:
        rows = [["when (UTC)", "who", "role", "did", "what"], *map(_event_cells, events)]
        say_lines(text_table(rows, texts=5) if events else "The audit log is empty.")
        say(_integrity(broken, altered, events), err=True)
    if broken or altered:
        click.get_current_context().exit(1)


def _event_cells(event: AuditEvent) -> list[str]:
    details = ", ".join(
        f"{name} {value}" for name, value in event.details.items() if name not in HIDDEN and value != "…"
    )
    return [f"{event.at:%Y-%m-%d %H:%M:%S}", event.who, event.role, event.action, details or event.target]


def _integrity(broken: Sequence[int], altered: Sequence[str], events: Sequence[AuditEvent]) -> str:
    if broken:
        return f"The log was changed: the chain of hashes breaks at line {broken[0]}."
    if altered:
        return f"Changed since it was written: {', '.join(altered)}."
    last = f" Last line: {events[0].number}, hash {events[0].hash}." if events else ""
    return f"The chain of hashes is intact, and the rows are as it says.{last}"
