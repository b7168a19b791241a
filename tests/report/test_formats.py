"""The forms of a report: one page that needs nothing, text, tables; names that are markup stay names."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest
from report_tables import SESSIONS, TRUTH, asked, copied, films, lists, opened

from recdash.errors import InputError, UnknownName
from recdash.formatting.markdown import escaped as markdown
from recdash.formatting.tables import Interval, Number, shown
from recdash.metrics import METRICS
from recdash.report.document import TIES_WORDING, WORDING, Document, Figure
from recdash.report.formats import pdf
from recdash.report.formats.html import to_html
from recdash.report.formats.json import from_json, to_json
from recdash.report.formats.latex import escape as latex
from recdash.report.formats.mathml import mathml
from recdash.report.formats.registry import FORMS, form_named
from recdash.report.reports import MOST_NARRATIVE, Reports
from recdash.report.sections import BLOCKS
from recdash.service import Workspace
from recdash.service.question import Question

MOMENT = datetime(2026, 4, 1, 12, tzinfo=UTC)
MARKUP = {
    "popular": "=HYPERLINK(\"http://x.example\")",
    "als": "<img src=x onerror=alert(1)> https://evil.example",
    "ease": "](http://evil.example) \\input{x} </script><script>alert(2)</script>",
}  # fmt: skip


@pytest.fixture(scope="module")
def document(films_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Document:
    space = opened(copied(films_folder, tmp_path_factory.mktemp("films")))
    return Reports(space).content(asked(space), moment=MOMENT, narrative="One.\n\nTwo <b>.")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Document:
    space = opened(tmp_path_factory.mktemp("hostile"))
    question = films(space, MARKUP, name="<b>films</b> {{7*7}}")
    return Reports(space).content(
        question, moment=MOMENT, title="<script>alert(3)</script>", narrative="<a href='http://x'>x</a> {{1}}"
    )


def written(document: Document, form: str) -> str:
    return FORMS[form].write(document).decode("utf-8-sig")


class Tags(HTMLParser):
    """What a browser would make of a page: its elements with their attributes, and the text it shows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.told: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.told.append(data)

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


# ── HTML ─────────────────────────────────────────────────────────────────────────────────────


def test_the_page_asks_nothing_of_anybody(document: Document) -> None:
    page = Tags(written(document, "html"))
    for tag in ("link", "iframe", "img", "object", "embed", "form", "base"):
        assert page.of(tag) == [], tag
    assert all("src" not in one for one in page.of("script"))
    assert all(str(one.get("href", "")).startswith("#") for one in page.of("a"))
    (policy,) = [one["content"] or "" for one in page.of("meta") if one.get("http-equiv")]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "'unsafe-inline'" not in policy.partition("style-src")[0]
    assert "url(" not in written(document, "html")


def test_without_a_script_the_verdict_and_every_table_can_be_read(document: Document) -> None:
    """The table of the first chart is open, those of the others can be opened."""
    page = written(document, "html")
    told = " ".join(Tags(re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)).told)
    assert "Ship als" in told
    assert (
        page.count("<figure")
        == page.count("<svg viewBox") - page.count("on-phone narrow")
        == page.count("<details>") + 1
    )
    for _, table in document.tables():
        assert table.title in told
        for row in table.rows:
            for cell in row:
                for part in _parts(cell, document):
                    assert part in told, (table.title, part)


def _parts(cell: Any, document: Document) -> list[str]:
    if isinstance(cell, Interval):
        return [cell.low.text, cell.high.text]
    return [cell.text] if isinstance(cell, Number) else [shown(cell, document.names)]


def test_headings_captions_and_scopes_are_in_order(document: Document) -> None:
    page = Tags(written(document, "html"))
    assert [one.get("id") for one in page.of("h1")] == ["verdict"]
    assert len(page.of("caption")) == len(page.of("table")) == len(list(document.tables()))
    assert all(one.get("scope") in {"col", "row"} for one in page.of("th"))
    assert all(one.get("aria-label") for one in [*page.of("figure"), *page.of("div")] if one.get("role"))
    assert page.of("html")[0]["lang"] == "en"


def test_a_report_of_one_section_is_brief_and_a_local_link_says_so(document: Document) -> None:
    def page(wording: int = WORDING, link: str = "http://127.0.0.1:8501/?e=a", n: int = 1) -> str:
        return to_html(replace(document, sections=document.sections[:n], wording=wording, link=link))

    local = "(on the computer that runs recdash)"
    assert '<body class="brief">' in page()
    assert "<body>" in page(n=2)
    assert local in page()
    assert local not in page(link="https://recdash.example.org/?e=a")
    assert "Risks and open questions" in page()
    former = page(wording=TIES_WORDING)
    assert "<body>" in former
    assert not [words for words in (local, "Risks and open", ".brief", "on-phone") if words in former]


def test_a_first_chart_of_differences_has_a_narrow_one_for_phones(document: Document) -> None:
    forest = next(
        part
        for one in document.sections
        for part in one.parts
        if isinstance(part, Figure) and part.kind == "forest"
    )
    first = replace(document, lead=replace(document.lead, chart=forest))
    assert '<div class="on-phone narrow"><svg viewBox="0 0 358 ' in to_html(first)
    assert '"on-phone narrow"' not in to_html(replace(first, wording=TIES_WORDING))


def test_the_same_document_is_the_same_file(document: Document) -> None:
    assert written(document, "html") == written(from_json(to_json(document)), "html")


GENRES = ["drama", "crime", "comedy", "western", "war", "music", "horror", "family", "sport", "film noir"]


def crowded(space: Workspace) -> Question:
    """Nine runs with names of 80 characters, lists of a hundred, forty genres, and an A/B test of all."""
    films = [f"i{number:03}" for number in range(400)]
    genre = [f"{GENRES[number % 10]} {number // 100}" for number in range(400)]
    users = [f"u{number:03}" for number in range(200)]
    truth = pd.DataFrame(
        {"user_id": users * 2, "item_id": [films[(7 * place) % 400] for place in range(400)]}
    )
    made = space.experiments.create(
        "x" * 80, truth, train=pd.DataFrame({"user_id": users[:150], "item_id": films[:150]}),
        catalogue=pd.DataFrame({"item_id": films, "genre": genre}), depth=100,
    )  # fmt: skip
    ids = [
        space.runs.add(made.id, table, name=_long_name(run))[0].run.id
        for run, table in enumerate(_random_lists(users, films))
    ]
    space.experiments.set_baseline(made.id, ids[0])
    tests = SESSIONS.assign(variant=[f"variant {number % 9}" for number in range(120)])
    links = {f"variant {place}": run for place, run in enumerate(ids)}
    space.online_tests.add(made.id, "March", {"sessions": tests}, control="variant 0", links=links)
    return Reports(space).question(made.id, space.queries.of(made.id, ids[1:], ids[0]), by="item:genre")


def _long_name(run: int) -> str:
    """Eighty letters that no packing makes shorter."""
    return "".join(Random(run).choices("abcdefghijklmnopqrstuvwxyz ΩДש&<", k=80)).strip().ljust(80, "z")


def _random_lists(users: list[str], films: list[str]) -> Iterator[pd.DataFrame]:
    for run in range(9):
        chance = Random(run)
        rows = [
            (user, film, rank)
            for user in users
            for rank, film in enumerate(chance.sample(films, 100), start=1)
        ]
        yield pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])


def test_the_largest_report_stays_below_800_kilobytes(tmp_path: Path) -> None:
    """Eight candidates with long names, every block, an A/B test, genres, and as many words as may be."""
    space = opened(tmp_path)
    question = crowded(space)
    words = "".join(Random(0).choices("abcdefghijklmnopqrstuvwxyz     ", k=MOST_NARRATIVE - 2))
    document = Reports(space).content(question, narrative=f"a{words}z")
    assert len(question.query.runs) == 8
    assert [section.name for section in document.sections] == [
        name for name in BLOCKS if name not in {"decisions", "interleaving"}
    ]
    assert len(FORMS["html"].write(document)) < 800_000


def test_more_candidates_than_can_be_drawn_are_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recdash.report.reports.MOST_CANDIDATES", 3)  # instead of 20: it takes fewer runs
    space = opened(tmp_path)
    made = space.experiments.create("many", TRUTH, depth=4)
    tables = [lists(lambda number, run=run: number // (run + 1) % 5) for run in range(5)]
    ids = [
        space.runs.add(made.id, table, name=f"run {place}")[0].run.id for place, table in enumerate(tables)
    ]
    assert len(Reports(space).question(made.id, space.queries.of(made.id, ids[1:4], ids[0])).query.runs) == 3
    with pytest.raises(InputError, match=r"4 candidates.*at most 3"):
        Reports(space).question(made.id, space.queries.of(made.id, ids[1:], ids[0]))


# ── names are names ──────────────────────────────────────────────────────────────────────────


def test_names_that_are_markup_stay_text_in_the_page(hostile: Document) -> None:
    text = written(hostile, "html")
    page = Tags(text)
    assert page.of("img") == []
    assert all(str(one.get("href", "")).startswith("#") for one in page.of("a"))
    assert [one.get("type") for one in page.of("script")] == ["application/json"] * 2 + [None]
    told = " ".join(page.told)
    assert "<img src=x onerror=alert(1)>" in told
    assert "{{7*7}}" in told
    assert "49" not in re.findall(r"films</b> (\S+)", told)


def test_names_that_are_formulas_start_none_in_a_spreadsheet(hostile: Document) -> None:
    rows = list(csv.reader(io.StringIO(written(hostile, "csv"))))
    for row in rows:
        for cell in row[:4]:
            assert not cell.startswith(("=", "+", "@")), cell
    assert any(cell.startswith("'=HYPERLINK") for row in rows for cell in row)


def test_names_that_are_links_are_none_in_markdown(hostile: Document) -> None:
    text = written(hostile, "md")
    outside_code = re.sub(r"(?s)(`{3,})sh\n.*?\n\1", "", text)
    assert not re.search(r"(?<!\\)\]\(", outside_code)
    assert not re.search(r"(?<!\\)<(img|script|a)", outside_code)
    assert not re.search(r"https?://", outside_code)


def test_names_that_are_commands_are_none_in_latex(hostile: Document) -> None:
    text = written(hostile, "tex")
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    assert r"\input{x}" not in "\n".join(lines)
    assert r"\textbackslash{}input\{x\}" in text


def test_the_json_holds_the_names_as_they_are(hostile: Document) -> None:
    assert from_json(written(hostile, "json")) == hostile


# ── text and tables ──────────────────────────────────────────────────────────────────────────


def test_markdown_opens_with_the_verdict_and_has_every_table(document: Document) -> None:
    text = written(document, "md")
    assert text.startswith("# Ship als\n")
    assert text.count("| --- |") + text.count("| ---: |") >= len(list(document.tables()))
    assert "> Two" in text


@pytest.mark.parametrize(
    ("text", "safe"),
    [("a|b", r"a\|b"), ("- no list", "\u2060- no list"), ("1. none", "\u20601. none"),
     ("x@y.z", "x\u2060@y.z"), ("@ann", "\u2060@ann"), ("nDCG@10", "nDCG@10"),
     ("nDCG@10.evil.org", "nDCG\u2060@10.evil.org"),
     ("0.25 (95 % CI −0.1 to +0.3)", "0.25 (95 % CI −0.1 to +0.3)"),
     ("a\nb", "a b")],
)  # fmt: skip
def test_markdown_escapes_what_would_mean_something(text: str, safe: str) -> None:
    assert markdown(text) == safe


def test_numbers_in_tables_of_markdown_are_nothing_but_numbers(document: Document) -> None:
    cells = [line for line in written(document, "md").splitlines() if line.startswith("|")]
    assert any("+0." in line for line in cells)
    assert not any("\u2060" in line for line in cells)


def test_a_name_that_turns_text_around_does_so_in_no_form(hostile: Document) -> None:
    name = "als\u202eevil"
    turned = replace(hostile, title=name, runs=tuple(replace(run, name=name) for run in hostile.runs))
    for form in ("csv", "tex"):
        assert "\u202e" not in written(turned, form), form


def test_csv_has_every_number_of_every_table_in_full(document: Document) -> None:
    rows = list(csv.DictReader(io.StringIO(written(document, "csv"))))
    found = {(row["table"], row["row"], row["column"]): row for row in rows}
    assert len(found) == len(rows), "no two numbers are called alike"
    table = next(one for _, one in document.tables() if one.title == "Candidates against popular, nDCG@3")
    cell = table.rows[0][3]
    assert isinstance(cell, Number)
    assert float(found["Candidates against popular, nDCG@3", "als", "Difference"]["value"]) == cell.value


def test_latex_tables_are_balanced_and_use_booktabs(document: Document) -> None:
    text = written(document, "tex")
    for begin, end in (
        (r"\begin{table}", r"\end{table}"),
        (r"\toprule", r"\bottomrule"),
        (r"\midrule", r"\toprule"),
    ):
        assert text.count(begin) == text.count(end) == len(list(document.tables()))  # fmt: skip
    plain = text.replace(r"\{", "").replace(r"\}", "")
    assert plain.count("{") == plain.count("}")


def test_a_first_cell_of_latex_is_no_argument_of_the_line_before(document: Document) -> None:
    named = replace(document, runs=tuple(replace(run, name="[2pt] *") for run in document.runs))
    rows = [line for line in written(named, "tex").splitlines() if line.endswith("\\\\")]
    assert any(line.startswith("{}[2pt] *") for line in rows)
    assert all(line.startswith("{}") for line in rows)


def test_latex_has_no_quote_that_the_usual_fonts_lack_and_nothing_unseen() -> None:
    assert latex('a\u200b"b"\u2060 ≈') == r"a{\char34}b{\char34} $\approx$"


def test_latex_escapes_every_character_that_is_a_command() -> None:
    assert latex(r"50% & {a}_b^c~#$\ −1 ▲") == (
        r"50\% \& \{a\}\_b\textasciicircum{}c\textasciitilde{}\#\$\textbackslash{} $-$1 $\blacktriangle$"
    )


def test_json_is_written_and_read_without_a_loss(document: Document) -> None:
    text = written(document, "json")
    assert from_json(text) == document
    assert json.loads(text)["lead"]["headline"] == "Ship als"


@pytest.mark.parametrize(
    ("written_so", "changed_to"),
    [('{"is":"Number",', '{"is":"Interval",'), ('{"is":"Number",', '{"is":"Number","seen":9,')],
)
def test_a_value_that_no_report_holds_is_refused(
    document: Document, written_so: str, changed_to: str
) -> None:
    """It would be shown to who reads the file, and compared with nothing."""
    text = to_json(document)
    assert written_so in text
    with pytest.raises(InputError, match="values that recdash does not write"):
        from_json(text.replace(written_so, changed_to, 1))


def test_a_document_of_a_newer_recdash_is_refused_in_words(document: Document) -> None:
    newer = to_json(document).replace('"format":2', '"format":3')
    with pytest.raises(InputError, match="newer recdash"):
        from_json(newer)


def test_a_form_that_there_is_not_is_refused() -> None:
    with pytest.raises(UnknownName, match="html"):
        form_named("docx")


def test_without_a_chromium_there_is_no_pdf_and_it_says_what_to_do(
    document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "Install one" in pdf.why_no_pdf()
    with pytest.raises(InputError, match="No Chromium was found"):
        FORMS["pdf"].write(document)


# ── formulas ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", METRICS)
def test_the_formula_of_every_metric_can_be_drawn(name: str) -> None:
    found = mathml(METRICS[name].latex)
    assert found.startswith("<math")
    assert found.count("<mrow>") == found.count("</mrow>")
    assert "\\" not in found


def test_a_formula_is_read_as_latex_reads_it() -> None:
    assert "<mfrac><mrow><mn>1</mn></mrow><mrow><mi>k</mi></mrow></mfrac>" in mathml(r"\frac{1}{k}")
    with pytest.raises(ValueError, match="no formula"):
        mathml(r"\href{x}")


@pytest.mark.parametrize("latex", [r"\href{javascript:alert(1)}{x}", r"\style{color:red}{x}"])
def test_a_formula_holds_no_link_and_no_style(latex: str) -> None:
    with pytest.raises(ValueError, match="link or a style"):
        mathml(latex)


def test_no_text_in_a_formula_becomes_a_tag() -> None:
    assert "<img" not in mathml(r"\text{<img src=x>}")


@pytest.mark.parametrize(
    ("number", "text"),
    [(Number(0.02781, 4, sign=True), "+0.0278"), (Number(-0.0031, 4), "−0.0031"),
     (Number(0.234, 1, unit=" %", scale=100), "23.4 %"), (Number(None, why="no catalogue"), "–"),
     (Number(0.0001, style="p"), "<0.001"), (Number(6040), "6,040"), (Number(0.0, 2, sign=True), "0.00")],
)  # fmt: skip
def test_a_number_is_shown_as_a_person_reads_it(number: Number, text: str) -> None:
    assert number.shown == text
