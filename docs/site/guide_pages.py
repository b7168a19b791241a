"""Makes the pages of the guide from the articles that the dashboard shows under *Help*."""

from __future__ import annotations

import re

from docs.site.markdown import slug
from recdash.definitions.guide import metric_guides, preset_guides
from recdash.report.formats.mathml import mathml
from recdash.ui.guide.chapters import Chapter, guide_chapters

FOLDER = "guide"


def guide_chapters_by_path() -> dict[str, Chapter]:
    chapters = guide_chapters(metric_guides(), preset_guides())
    return {f"{FOLDER}/{name}.md": chapter for name, chapter in chapters.items()}


def guide_pages() -> dict[str, str]:
    """Returns the Markdown of each chapter's page, and of their overview, by the page's path."""
    chapters = guide_chapters_by_path()
    entries = [f"- [{chapter.title}]({path.removeprefix(f'{FOLDER}/')}): {chapter.subtitle}"
               for path, chapter in chapters.items()]  # fmt: skip
    overview = "\n".join(["# Guide", "", "What the dashboard shows under *Help*.", "", *entries])
    return {f"{FOLDER}/index.md": overview} | {path: _page(chapter) for path, chapter in chapters.items()}


def _page(chapter: Chapter) -> str:
    articles = [
        f"## {article.title} {{ #{article.slug} }}\n\n{_body(article.body)}" for article in chapter.articles
    ]
    return "\n\n".join([f"# {chapter.title}", chapter.subtitle, *articles])


def _body(text: str) -> str:
    """Returns an article as the site shows it: formulas as MathML, and lists after an empty line."""
    drawn = re.sub(r"\$\$\n(.*?)\n\$\$", lambda found: _formula(found[1]), text.strip(), flags=re.DOTALL)
    return re.sub(r"(?m)^(?!\s*[-|0-9]|$)(.*)\n(?=- |\d+\. )", r"\1\n\n", drawn)


def _formula(latex: str) -> str:
    return f'<div class="formula">{mathml(latex).replace("inline", "block", 1)}</div>'


def titles() -> dict[str, str]:
    """Returns the address of each article by its title."""
    return {
        re.sub(r"`", "", article.title): f"{path}#{article.slug or slug(article.title)}"
        for path, chapter in guide_chapters_by_path().items()
        for article in chapter.articles
    }
