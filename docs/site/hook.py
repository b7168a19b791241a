"""Adds to the site the pages that are made from the code: commands, Python, settings, guide."""

from __future__ import annotations

import logging
import re
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
logging.getLogger("streamlit").setLevel(logging.ERROR)  # the guide is imported without a server

from docs.site import command_pages, guide_pages, python_pages, setting_pages  # noqa: E402
from docs.site.known_names import link_known_names  # noqa: E402

COPIED = ("CHANGELOG.md", "SECURITY.md")
"""Pages from the top of the repository, whose links into docs/ are links of the site."""
REST = "Extend"
"""The section of pages that mkdocs.yml does not name."""


@lru_cache(maxsize=1)
def made_pages() -> dict[str, str]:
    """Returns the Markdown of every page that is made, by its path."""
    copied = {name: _copied((ROOT / name).read_text(encoding="utf-8")) for name in COPIED}
    return (
        command_pages.command_pages()
        | python_pages.python_pages()
        | setting_pages.setting_pages()
        | guide_pages.guide_pages()
        | copied
    )


def _copied(text: str) -> str:
    """Returns a page from the top whose links into docs/ are links of the site; of folders, the words."""

    def link(found: re.Match[str]) -> str:
        is_file = (ROOT / "docs" / found[2].partition("#")[0]).is_file()
        return f"[{found[1]}]({found[2]})" if is_file else found[1]

    return re.sub(r"\[([^\]]+)\]\(docs/([^)\s]+)\)", link, text)


@lru_cache(maxsize=1)
def addresses() -> dict[str, str]:
    """Returns the address of each command, function, setting and article by its name."""
    found = dict(guide_pages.titles())
    for path, text in made_pages().items():
        if path.startswith(f"{command_pages.FOLDER}/"):
            found[f"recdash {Path(path).stem}"] = path
        elif path.startswith(f"{python_pages.FOLDER}/"):
            found |= {name: f"{path}#{name}" for name in re.findall(r"(?m)^#+ .* \{ #(\S+) \}$", text)}
    settings = made_pages()[setting_pages.PAGE]
    return found | dict.fromkeys(re.findall(r"(?m)^\| `(RECDASH_\w+)`", settings), setting_pages.PAGE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts the pages that are made into the navigation in place of their folder, and pages that it does not
    list at the end of ``REST``.
    """
    listed = set(re.findall(r"[\w./-]+\.md", str(config.nav)))
    rest = sorted(path.name for path in (ROOT / "docs").glob("*.md") if path.name not in listed)
    for section in config.nav or ():
        if REST in section:
            section[REST] += rest
    config.nav = _expanded(config.nav)
    return config


def _expanded(entry: Any) -> Any:
    if isinstance(entry, list):
        return [_expanded(item) for item in entry]
    if isinstance(entry, dict):
        return {title: _expanded(item) for title, item in entry.items()}
    if isinstance(entry, str) and entry.endswith("/"):
        return [path for path in made_pages() if path.startswith(entry)]
    return entry


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path, text in made_pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    if page.file.src_uri in COPIED:
        return markdown
    return link_known_names(markdown, page.file.src_uri, addresses())


def on_page_content(html: str, **_: Any) -> str:
    r"""Returns a page without the backslash of ``\|`` in cells, which Markdown leaves in code."""
    return re.sub(r"<td.*?</td>", lambda cell: cell[0].replace("\\|", "|"), html, flags=re.DOTALL)
