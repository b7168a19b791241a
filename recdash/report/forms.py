"""The forms in which a document is written. To add one: its function, and its row here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from recdash.errors import UnknownName
from recdash.report.document import Document


@dataclass(frozen=True)
class Form:
    """``name`` is the suffix of its files too; ``write`` gives their bytes."""

    name: str
    title: str
    media_type: str
    write: Callable[[Document], bytes]


def _html(document: Document) -> bytes:
    from recdash.report.html_file import to_html

    return to_html(document).encode()


def _pdf(document: Document) -> bytes:
    from recdash.report.pdf import to_pdf

    return to_pdf(document)


def _markdown(document: Document) -> bytes:
    from recdash.report.markdown import to_markdown

    return to_markdown(document).encode()


def _csv(document: Document) -> bytes:
    """With the mark by which spreadsheets know UTF-8."""
    from recdash.report.csv_file import to_csv

    return to_csv(document).encode("utf-8-sig")


def _json(document: Document) -> bytes:
    from recdash.report.plain import to_json

    return f"{to_json(document, indent=1)}\n".encode()


def _latex(document: Document) -> bytes:
    from recdash.report.latex import to_latex

    return to_latex(document).encode()


FORMS: Mapping[str, Form] = {
    one.name: one
    for one in (
        Form("html", "HTML", "text/html", _html),
        Form("pdf", "PDF", "application/pdf", _pdf),
        Form("md", "Markdown", "text/markdown", _markdown),
        Form("csv", "CSV", "text/csv", _csv),
        Form("json", "JSON", "application/json", _json),
        Form("tex", "LaTeX tables", "application/x-tex", _latex),
    )
}


def form_named(name: str) -> Form:
    """Raises UnknownName."""
    if name not in FORMS:
        raise UnknownName("form", name, list(FORMS))
    return FORMS[name]
