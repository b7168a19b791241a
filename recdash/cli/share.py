"""``recdash share``, ``links``, ``revoke``, ``views``, ``audit``: what others may see, and who did what."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.options import workspace
from recdash.cli.output import aligned
from recdash.cli.terminal import say, say_lines
from recdash.errors import InputError, NotFound, Problem

if TYPE_CHECKING:
    from recdash.domain.journal import AuditEvent, SavedView, ShareLink
    from recdash.service import Workspace

ID_SHOWN = 12
FORMATS = click.Choice(["text", "json"])
form_option = click.option("--format", "form", type=FORMATS, default="text", show_default=True)
address_option = click.option(
    "--link", "address", default="http://127.0.0.1:8501", show_default=True, help="Address of the dashboard."
)


@click.command()
@click.option("--experiment", required=True, help="Name of the experiment.")
@click.option("--report", help="Only this report of it: its title or id.")
@click.option("--days", type=float, default=30, show_default=True, help="How long the link lives.")
@click.option("--label", default="", help="Whom or what it is for; only editors see it.")
@address_option
def share(experiment: str, report: str | None, days: float, label: str, address: str) -> None:
    """Make a link with which anybody may read one experiment, or one report of it.

    The link is shown this once and cannot be had again; what is stored does not make one.
    """
    space = workspace()
    home = space.experiments.named(experiment)
    report_id = None if report is None else _report(space, home.id, report)
    made = space.sharing.share(home.id, report_id=report_id, days=days, label=label)
    say(f"{address.rstrip('/')}/s/{made.token}")
    what = "the report" if report_id else f"'{home.name}'"
    say(
        f"Opens {what} for reading until {made.link.expires:%Y-%m-%d %H:%M} UTC. To take it back: "
        f"recdash revoke {made.link.id[:ID_SHOWN]}",
        err=True,
    )


def _report(space: Workspace, experiment_id: str, wanted: str) -> str:
    """Of several with one title the newest."""
    from recdash.report.reports import Reports

    known = Reports(space).reports(experiment_id)
    found = [one.id for one in known if wanted in (one.id, one.title)]
    if not found:
        titles = ", ".join(f"'{one.title}'" for one in known) or "none"
        raise NotFound(f"No report is called '{wanted}'. There are: {titles}.")
    return found[0]


@click.command()
@click.option("--experiment", required=True, help="Name of the experiment.")
@form_option
def links(experiment: str, form: str) -> None:
    """The share links of an experiment: who made them, until when they open, and which are dead."""
    from recdash.report.reports import Reports

    space = workspace()
    home = space.experiments.named(experiment)
    titles = {one.id: one.title for one in Reports(space).reports(home.id, archived=True)}
    facts = [_link_facts(space, titles, one) for one in space.sharing.share_links(home.id)]
    if form == "json":
        say_lines(json.dumps(facts, ensure_ascii=False, indent=2))
        return
    rows: list[list[Any]] = [["id", "opens", "state", "until (UTC)", "made by", "label"]]
    rows += [[one["id"][:ID_SHOWN], *list(one.values())[1:]] for one in facts]
    say_lines(aligned(rows, texts=6) if facts else f"'{home.name}' has no share link.")


def _link_facts(space: Workspace, titles: dict[str, str], link: ShareLink) -> dict[str, str]:
    opens = "experiment" if link.report is None else f"report '{titles[link.report]}'"
    until = f"{link.expires:%Y-%m-%d %H:%M}"
    return {
        "id": link.id, "opens": opens, "state": space.sharing.link_state(link), "until": until,
        "author": link.author, "label": link.label,
    }  # fmt: skip


@click.command()
@click.argument("link_id")
def revoke(link_id: str) -> None:
    """Take a share link back, at once and for good: the beginning of its id, as recdash links shows it."""
    space = workspace()
    every = [
        one for home in space.experiments.all(archived=True) for one in space.sharing.share_links(home.id)
    ]
    found = [one for one in every if one.id.startswith(link_id)]
    if len(found) != 1:
        what = "no share link" if not found else f"{len(found)} share links"
        fix = "recdash links --experiment NAME lists them."
        raise InputError(Problem("which-link", f"'{link_id}'", f"{what} begins so", fix))
    space.sharing.revoke(found[0].id)
    say(f"Revoked {found[0].id[:ID_SHOWN]}.")


@click.command()
@click.option("--experiment", required=True, help="Name of the experiment.")
@click.option("--save", "name", help="Save a view under this short name: a to z, 0 to 9 and -.")
@click.option("--page", default="overview", show_default=True, help="The page, as its address says.")
@click.option("--param", "params", multiple=True, help="NAME=VALUE of the page's address; again for each.")
@click.option("--forget", help="Forget the view of this name.")
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
    """The saved views of an experiment; save one, or forget one."""
    space = workspace()
    home = space.experiments.named(experiment)
    if name is not None:
        space.sharing.save_view(home.id, name, page, {"e": home.id, **dict(map(_param, params))})
    if forget is not None:
        space.sharing.forget_view(space.sharing.saved_view(forget).id)
    facts = [_view_facts(one, address) for one in space.sharing.saved_views(home.id)]
    if form == "json":
        say_lines(json.dumps(facts, ensure_ascii=False, indent=2))
        return
    rows: list[list[Any]] = [["name", "page", "link", "saved by"], *(list(one.values()) for one in facts)]
    say_lines(aligned(rows, texts=4) if facts else f"'{home.name}' has no saved view.")


def _param(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(Problem("bad-param", "--param", f"'{text}'", "Write NAME=VALUE, such as k=20."))
    return name, value


def _view_facts(view: SavedView, address: str) -> dict[str, str]:
    link = f"{address.rstrip('/')}/?view={view.name}"
    return {"name": view.name, "page": view.page, "link": link, "author": view.author}


@click.command()
@click.option("--last", type=click.IntRange(1), default=50, show_default=True, help="How many lines.")
@form_option
def audit(last: int, form: str) -> None:
    """Who did what, the newest line first; exits with 1 where the log or what it tells of was changed.

    Whoever can write the database can also cut off the end of the log: keep the last hash elsewhere.
    """
    space = workspace()
    deeds, broken, altered = (
        space.audit.audit_log(last),
        space.audit.audit_breaks(),
        space.audit.audit_altered(),
    )
    if form == "json":
        lines = [{**vars(deed), "at": deed.at.isoformat()} for deed in deeds]
        facts = {"broken": broken, "altered": altered, "lines": lines}
        say_lines(json.dumps(facts, ensure_ascii=False, indent=2))
    else:
        rows: list[list[Any]] = [["when (UTC)", "who", "role", "did", "what"], *map(_deed_cells, deeds)]
        say_lines(aligned(rows, texts=5) if deeds else "Nothing was done yet.")
        say(_whole(broken, altered, deeds), err=True)
    if broken or altered:
        click.get_current_context().exit(1)


def _deed_cells(deed: AuditEvent) -> list[str]:
    told = ", ".join(
        f"{name} {value}" for name, value in deed.details.items() if name != "experiment" and value != "…"
    )
    return [f"{deed.at:%Y-%m-%d %H:%M:%S}", deed.who, deed.role, deed.action, told or deed.target]


def _whole(broken: Sequence[int], altered: Sequence[str], deeds: Sequence[AuditEvent]) -> str:
    if broken:
        return f"The log was changed: the chain of hashes breaks at line {broken[0]}."
    if altered:
        return f"Not as it was written: {', '.join(altered)}."
    last = f" Last line: {deeds[0].number}, hash {deeds[0].hash}." if deeds else ""
    return f"The chain of hashes holds, and what people wrote is as they wrote it.{last}"
