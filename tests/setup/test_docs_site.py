"""The site of the documentation builds without a broken link and has an entry for each command and name."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import recdash
from docs.site.known_names import link_known_names
from recdash.cli import main
from recdash.metrics import METRICS
from recdash.settings import PREFIX, Settings

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


class Page(HTMLParser):
    """The anchors of a page, and the addresses from which a browser loads something to show it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors.add(values.get("id") or "")
        if tag in {"script", "img", "iframe", "source"} and values.get("src"):
            self.loaded.append(values["src"] or "")
        if tag == "link" and values.get("rel") in {"stylesheet", "preconnect", "icon", "preload"}:
            self.loaded.append(values.get("href") or "")


def page(site: Path, name: str) -> Page:
    return Page((site / name / "index.html").read_text(encoding="utf-8"))


def test_each_command_has_its_page_and_each_command_below_it_a_heading(site: Path) -> None:
    for name, command in main.commands.items():
        anchors = page(site, f"reference/commands/{name}").anchors
        below = getattr(command, "commands", {})
        assert {f"recdash-{name}", *(f"recdash-{name}-{sub}" for sub in below)} <= anchors


def test_each_public_name_has_its_entry(site: Path) -> None:
    anchors = page(site, "reference/python").anchors
    assert {f"recdash.{name.strip('_')}" for name in recdash.__all__} <= anchors


def test_each_metric_and_each_setting_has_its_entry(site: Path) -> None:
    assert set(METRICS) <= page(site, "guide/metrics").anchors
    settings = (site / "reference/settings/index.html").read_text(encoding="utf-8")
    named = set(re.findall(rf"<td><code>({PREFIX}\w+)</code>", settings))
    assert named == {PREFIX + name.upper() for name in Settings.model_fields}


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    loaded = {address for path in pages for address in Page(path.read_text(encoding="utf-8")).loaded}
    assert len(pages) > len(main.commands)
    assert {address for address in loaded if re.match(r"(https?:)?//", address)} == set()
    sheets = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]
    assert [found for sheet in sheets for found in re.findall(r"url\(.?(?:https?:)?//[^)]*", sheet)] == []


# ── names that become links ──────────────────────────────────────────────────────────────────

ADDRESSES = {
    "recdash gate": "reference/commands/gate.md",
    "recdash.evaluate": "reference/python/index.md#recdash.evaluate",
    "Shared ranks": "guide/reading.md#rank-shared",
}


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("Run `recdash gate`.", "Run [`recdash gate`](reference/commands/gate.md)."),
        ("`recdash gate --rule X`", "[`recdash gate --rule X`](reference/commands/gate.md)"),
        ("`recdash.evaluate(…)`", "[`recdash.evaluate(…)`](reference/python/index.md#recdash.evaluate)"),
        ("*Shared ranks* are", "[*Shared ranks*](guide/reading.md#rank-shared) are"),
        ("`recdash unknown`", "`recdash unknown`"),
        ("# `recdash gate`", "# `recdash gate`"),
        ("[`recdash gate`](x.md)", "[`recdash gate`](x.md)"),
        ("```sh\n`recdash gate`\n```", "```sh\n`recdash gate`\n```"),
    ],
)
def test_known_names_become_links_where_they_are_neither_code_nor_links(text: str, linked: str) -> None:
    assert link_known_names(text, "gate.md", ADDRESSES) == linked


def test_a_page_does_not_link_to_itself() -> None:
    assert link_known_names("`recdash gate`", "reference/commands/gate.md", ADDRESSES) == "`recdash gate`"
