"""The file formats of a report. To add one, write its function and add its row here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from recdash.errors import InputError, Problem, UnknownName
from recdash.report.document import Document


@dataclass(frozen=True)
class Form:
    """A file format. ``name`` is also the suffix of its files; ``write`` returns their bytes."""

    name: str
    title: str
    media_type: str
    write: Callable[[Document], bytes]


def _html(document: Document) -> bytes:
    from recdash.report.formats.html import to_html

    return to_html(document).encode()


def _pdf(document: Document) -> bytes:
    from recdash.report.formats.pdf import to_pdf

    return to_pdf(document)


def _markdown(document: Document) -> bytes:
    from recdash.report.formats.markdown import to_markdown

    return to_markdown(document).encode()


def _csv(document: Document) -> bytes:
    """Returns the CSV in UTF-8 with a byte-order mark, which spreadsheets need."""
    from recdash.report.formats.csv import to_csv

    return to_csv(document).encode("utf-8-sig")


def _json(document: Document) -> bytes:
    from recdash.report.formats.json import to_json

    return f"{to_json(document, indent=1)}\n".encode()


def _latex(document: Document) -> bytes:
    from recdash.report.formats.latex import to_latex

    return to_latex(document).encode()


FORMS: Mapping[str, Form] = {
    form.name: form
    for form in (
        Form("html", "HTML", "text/html", _html),
        Form("pdf", "PDF", "application/pdf", _pdf),
        Form("md", "Markdown", "text/markdown", _markdown),
        Form("csv", "CSV", "text/csv", _csv),
        Form("json", "JSON", "application/json", _json),
        Form("tex", "LaTeX tables", "application/x-tex", _latex),
    )
}


def form_named(name: str) -> Form:
    """Returns the format with this name. Raises UnknownName."""
    if name not in FORMS:
        raise UnknownName("form", name, list(FORMS))
    return FORMS[name]


def form_of(file: Path) -> Form:
    """Returns the format for a file's suffix.

    Raises InputError for an unknown suffix, and for PDF if none can be made on this machine.
    """
    suffix = file.suffix.lower().lstrip(".")
    if suffix not in FORMS:
        finding = f"'.{suffix}' is no form of a report" if suffix else "it has no ending"
        fix = f"Name a file with one of: {', '.join(f'.{form}' for form in FORMS)}."
        raise InputError(Problem("unknown-form", str(file), finding, fix))
    if suffix == "pdf":
        from recdash.report.formats.pdf import check_browser

        check_browser()
    return FORMS[suffix]


def write(document: Document, form: Form, file: Path) -> int:
    """Writes a document to a file and returns the number of bytes.

    Raises InputError if the file cannot be written.
    """
    content = form.write(document)
    try:
        return file.write_bytes(content)
    except OSError as error:
        message = f"it cannot be written ({error.strerror})"
        fix = "Name another file, in a folder that exists and may be written to."
        raise InputError(Problem("not-written", str(file), message, fix)) from error
