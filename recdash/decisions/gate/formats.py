"""Writes the result of a gate as JSON, JUnit XML, and Markdown for a comment on a pull request."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from xml.etree import ElementTree as ET

from recdash.decisions.gate.result import HEAD, GateResult, RuleResult
from recdash.formatting import numbers
from recdash.formatting.markdown import escaped, linked, within
from recdash.formatting.sanitize import visible
from recdash.formatting.wording import capital

LINK_TITLE = "Open the experiment in recdash"


def to_json(result: GateResult, url: str | None = None) -> str:
    """Returns the result as JSON; the link is part of it."""
    facts = {**result.as_dict(), **({"link": url} if url else {})}
    return json.dumps(facts, ensure_ascii=False, indent=2)


def to_markdown(result: GateResult, url: str | None = None) -> str:
    """Returns the result as Markdown for a comment on a pull request: verdict, table, remarks and a link."""
    rows = [" | ".join(map(within, rule.cells)) for rule in result.rules]
    aligns = ["---", *["---:"] * 5, "---", "---:"]
    word, _, rest = result.headline.partition(":")
    lines = [f"**{escaped(word)}:**{within(rest)}", ""]
    lines += [f"| {' | '.join(HEAD)} |", f"| {' | '.join(aligns)} |", *(f"| {row} |" for row in rows), ""]
    lines += [*map(escaped, result.remarks)]
    notices = [f"- {within(str(notice))}" for notice in result.notices]
    if notices:
        title = numbers.counted(len(notices), "note on the data")
        title = title if len(notices) == 1 else f"{len(notices)} notes on the data"
        lines += ["", f"<details><summary>{title}</summary>", "", *notices, "", "</details>"]
    return "\n".join([*lines, *(["", linked(LINK_TITLE, url)] if url else [])])


def to_junit(result: GateResult, url: str | None = None) -> str:
    """Returns the result as JUnit XML: one test case per rule.

    A rule that fails or cannot be judged is a failure. An undecided one is a failure too, or is skipped if
    undecided rules count as passed.
    """
    counts = {"tests": len(result.rules), "failures": 0, "skipped": 0}
    suite = ET.Element("testsuite", name="recdash gate")
    properties = ET.SubElement(suite, "properties")
    facts = {"verdict": result.verdict, "baseline": result.baseline, "candidate": result.candidate}
    for name, value in {**facts, **({"link": url} if url else {})}.items():
        ET.SubElement(properties, "property", name=name, value=visible(value))
    for rule in result.rules:
        case = ET.SubElement(suite, "testcase", classname="recdash.gate", name=visible(str(rule.rule)))
        message, details = visible(_message(rule)), "\n".join(map(visible, _details(rule)))
        if rule.outcome == "holds":
            ET.SubElement(case, "system-out").text = details
        elif rule.outcome == "inconclusive" and result.inconclusive == "pass":
            counts["skipped"] += 1
            ET.SubElement(case, "skipped", message=message)
        else:
            counts["failures"] += 1
            ET.SubElement(case, "failure", message=message, type=rule.outcome).text = details
    for name, count in counts.items():
        suite.set(name, str(count))
    suites = ET.Element("testsuites", {name: str(count) for name, count in counts.items()})
    suites.append(suite)
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}'


def _message(rule: RuleResult) -> str:
    difference, interval = rule.texts
    return (
        f"{capital(rule.outcome)}: {rule.title} {difference} (interval {interval}), must be {rule.rule.bound}"
    )


def _details(rule: RuleResult) -> list[str]:
    lines = [f"{name}: {cell}" for name, cell in zip(HEAD, rule.cells, strict=True)]
    return [*lines, *([f"method: {rule.method}"] if rule.method else []), *([rule.note] if rule.note else [])]


Writer = Callable[[GateResult, str | None], str]
WRITERS: Mapping[str, Writer] = {"json": to_json, "junit": to_junit, "markdown": to_markdown}
"""Writers of files that programs or other sites read; the text of a terminal is the command's own."""
