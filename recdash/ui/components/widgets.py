"""Components of pages: headings, tables, problems, choices that the URL keeps, and charts with their
tables.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, ParamSpec

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from recdash.charts.mark_html import glyph
from recdash.charts.marks import Mark, Marks, short_names
from recdash.errors import InputError, Problem, RecdashError
from recdash.formatting import numbers, tables
from recdash.formatting.html import Html, html, join, markdown
from recdash.formatting.names import shortened
from recdash.formatting.spreadsheet import safe_cell
from recdash.formatting.tables import Cell, Column, Table, Word
from recdash.ui.app import state
from recdash.ui.app.state import LONGEST_NAME

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

REMARKS = ("crossovers", "columns-guessed", "metrics-proposed", "overlap", "interleaved")
"""The codes of notices that state a fact and are no problem, so they have no warning sign."""
MOST_TABLE_ROWS = 10_000
"""The maximum number of rows in a table, which is sent to the browser in one message (1 MB for eight
candidates).
"""
BOX = 330
"""The width in px of a select box next to others."""
LONGEST_TITLE = 38
"""The number of characters for which the narrowest box with names of runs has room."""
MOST_BLOCKS, FEW_BLOCKS = 10, 8
"""The number of blocks above which a table on a narrow page shows only some, and how many it shows, which
narrow.css repeats.
"""
NARROWEST_PLOT = 160
"""The width in px below which three tick labels of an axis overlap."""
NO_LINK = Html("")


_NO_BREAK = re.compile(
    r"(?<=\d) (?=%)|(?<=%) (?=CIs?\b)|(?<=\d) (?=[kM]\b)|(?<=≈) (?=\d)"
    r"|(?<=\d) (?=to [+−]\d)|(?<=\d to) (?=[+−]\d)"
    r"|(?<=\b[knp]) (?=(?:=|<|&lt;) )|(?<=\b[knp] [=<]) (?=\d)|(?<=\b[knp] &lt;) (?=\d)"
)
"""Pattern of the spaces between a number and its sign, its unit, or the name of what it measures, and within
an interval.
"""
LONGEST_UNBROKEN = 16
"""The number of characters up to which a word with hyphens stays on one line of a heading."""


def title(finding: str, subtitle: str = "", explained: Html = NO_LINK) -> None:
    """Draws the H1 of the page, which states the finding, and the line below it: what was measured, on which
    users. ``explained`` is a link beside the heading, such as "?".
    """
    template = '<div class="rd-title"><h1>{finding}</h1>{explained}<p>{subtitle}</p></div>'
    heading = with_whole_words(unbroken(finding))
    st.html(html(template, finding=heading, explained=explained, subtitle=unbroken(subtitle)))
    state.show_below_title()


def unbroken(text: str) -> str:
    """Returns the text with spaces at which no line breaks inside ``6 %``, ``k = 10`` and ``≈ 1.2 M``."""
    return _NO_BREAK.sub("\u00a0", text)


def unbroken_html(part: Html) -> Html:
    """Returns the HTML with the spaces of :func:`unbroken`."""
    return Html(unbroken(part))


def with_whole_words(text: str) -> Html:
    """Returns the text of a heading in which no line breaks after the hyphen of a short word, such as
    ``Two-tower``.
    """
    words = [
        html('<span class="rd-nowrap">{word}</span>', word=word)
        if "-" in word and len(word) <= LONGEST_UNBROKEN
        else html("{word}", word=word)
        for word in text.split(" ")
    ]
    return join(words, " ")


def section(heading: str, subtitle: str = "", explained: Html = NO_LINK) -> None:
    """Draws an H2 and the line below it; ``explained`` is a link beside the heading, such as "?"."""
    line = html("<p>{subtitle}</p>", subtitle=unbroken(subtitle)) if subtitle else Html("")
    st.html(
        html(
            '<div class="rd-title"><h2>{heading}</h2>{explained}{line}</div>',
            heading=unbroken(heading),
            explained=explained,
            line=line,
        )
    )


def run_cell(mark: Mark, short: str = "") -> Html:
    """Returns a cell with a run's mark and its name, or the ``short`` name. Lines break only between words
    of the name, not after a hyphen.
    """
    cell = '<span class="rd-run">{glyph}<bdi title="{name}">{short}</bdi></span>'
    short = short or mark.name
    words = join([html("<span>{word}</span>", word=word) for word in short.split(" ")], " ")
    return html(cell, glyph=glyph(mark), name=mark.name, short=words if "-" in short else short)


def run_cells(marks: Marks, longest: int = LONGEST_NAME) -> dict[str, Html]:
    """Returns {run id: cell with the run's mark and name}; long names are shortened so that all stay
    different.
    """
    short = short_names(marks, longest)
    return {run_id: run_cell(mark, short[run_id]) for run_id, mark in marks.items()}


def toned(text: object, tone: str) -> Html:
    """Returns the text in the colour of a tone: better, same, worse or muted."""
    return html('<span class="rd-{tone}">{text}</span>', tone=tone, text=text)


def muted(text: object) -> Html:
    return toned(text, "muted")


def two_lines(text: object, small: object) -> Html:
    """Returns a cell with two lines: ``text``, and below it ``small`` in grey."""
    lines = html('{text}<br><small class="rd-muted">{small}</small>', text=text, small=small)
    return unbroken_html(lines)


def finding_cell(word: Word, text: str) -> Html:
    """Returns a cell with a finding in its colour, and the numbers behind it."""
    template = '<div><b class="rd-{tone}">{word}</b> {text}</div>'
    return html(template, tone=word.tone, word=word.shown, text=text)


def badge(text: object, tone: str = "") -> Html:
    """Returns the text in a frame, in the colour of the tone, if any."""
    kind = f"rd-badge rd-badge-{tone}" if tone else "rd-badge"
    return html('<span class="{kind}">{text}</span>', kind=kind, text=text)


def named(name: object, small: object) -> Html:
    """Returns an entry of a list: a name, and below it further facts."""
    line = '<div class="rd-named"><b>{name}</b><small>{small}</small></div>'
    return html(line, name=name, small=small)


def paragraphs(lines: Iterable[object]) -> Html:
    """Returns a paragraph for each line; lines are escaped unless they are :class:`Html`."""
    parts = (line if isinstance(line, Html) else unbroken(str(line)) for line in lines)
    return join([html("<p>{line}</p>", line=line) for line in parts])


def small_paragraphs(lines: Iterable[object]) -> Html:
    """Returns the lines as small grey paragraphs."""
    return join([html('<p class="rd-quiet">{line}</p>', line=line) for line in lines])


def note(lines: Iterable[object]) -> None:
    """Writes notes below a chart or a table, in small print."""
    st.html(note_html(lines))


def note_html(lines: Iterable[object]) -> Html:
    """Returns notes in small print: a paragraph for each line that is not empty."""
    return html('<div class="rd-note">{lines}</div>', lines=paragraphs(line for line in lines if line))


def banner(lines: Html, label: str) -> Html:
    """Returns a warning to show above the numbers that it is about."""
    template = (
        '<div class="rd-banner" role="note" aria-label="{label}"><b class="rd-worse">!</b>'
        "<div>{lines}</div></div>"
    )
    return html(template, label=label, lines=lines)


def table_html(
    columns: Iterable[Column],
    rows: Iterable[Iterable[Cell]],
    marks: Marks | None = None,
    *,
    bands: Iterable[int] = (),
    kind: str = "",
    row_head: int | None = 0,
    label: str = "",
    longest: int = LONGEST_NAME,
) -> Html:
    """Returns a table, without its title.

    ``marks`` say how runs are drawn; ``bands`` are the rows in panel colour; ``kind`` are CSS classes;
    ``row_head`` is the column that names a row, None for none; ``label`` is the name for screen readers, with
    which the table can be scrolled by keyboard; ``longest`` is the maximum length of a run's name.
    """
    table = Table("", tuple(columns), tuple(map(tuple, rows)), bands=tuple(bands))
    runs, kind = run_cells(marks or {}, longest), f"rd-table {kind}".strip()
    return unbroken_html(tables.table_html(table, runs, kind=kind, row_head=row_head, label=label))


def stacked_table_html(
    columns: Sequence[Column],
    rows: Iterable[Iterable[Cell]],
    marks: Marks | None = None,
    *,
    kind: str = "",
    bands: Iterable[int] = (),
    label: str = "",
) -> Html:
    """Returns a table whose rows become blocks on a narrow page: each cell but the first then shows the title
    of its column. Of more than ``MOST_BLOCKS`` only ``FEW_BLOCKS`` are there until the reader opens the rest.
    The arguments are those of ``table_html``.
    """
    runs = run_cells(marks or {})

    def named(column: Column, cell: Cell) -> Cell:
        if cell == "":
            return cell
        template = '<i class="rd-label">{title}</i>{cell}'
        title = column.title if isinstance(column.title, Html) else column.title.replace("\n", " ")
        return html(template, title=title, cell=tables.cell_html(cell, runs))

    blocks = []
    for first, *others in rows:
        blocks.append([first, *map(named, columns[1:], others)])
    kind = f"{kind} rd-stacked".strip()
    table = table_html(columns, blocks, marks, bands=bands, kind=kind, label=label)
    return join([table, _rest_of_blocks(len(blocks))] if len(blocks) > MOST_BLOCKS else [table])


def _rest_of_blocks(n_rows: int) -> Html:
    """Returns what the reader opens to see all blocks of the table above it; wide pages do not show it."""
    return html(
        '<details class="rd-rest"><summary><span>Show all {n}</span><span>Show {few} of {n}</span></summary>'
        "</details>",
        n=numbers.count(n_rows),
        few=FEW_BLOCKS,
    )


def folding_rows(titles: Sequence[str], rows: Sequence[Html]) -> Html:
    """Returns rows of three cells, each of which opens to show more: see :func:`folding_row`."""
    head = join([html("<span>{title}</span>", title=title) for title in titles])
    table = '<div class="rd-why"><div class="rd-why-head">{head}</div>{rows}</div>'
    return html(table, head=head, rows=join(list(rows)))


def folding_row(name: str, state: Html, summary: object, question: object, rest: Html) -> Html:
    """Returns a row with name, state and summary of a check, which opens to show its question and the
    ``rest``.
    """
    row = html(
        "<details><summary><b>{name}</b>{state}<span>{summary}</span></summary>"
        '<div class="rd-why-body"><p class="rd-muted">{question}</p>{rest}</div></details>',
        name=name,
        state=state,
        summary=summary,
        question=question,
        rest=rest,
    )
    return unbroken_html(row)


def table(
    columns: Iterable[Column],
    rows: Iterable[Iterable[Cell]],
    marks: Marks | None = None,
    *,
    bands: Iterable[int] = (),
    row_head: int | None = 0,
) -> None:
    st.html(table_html(columns, rows, marks, bands=bands, row_head=row_head))


def problem_text(problem: Problem) -> str:
    """Returns a problem as a sentence with place, finding and fix, escaped for Markdown."""
    return markdown(str(problem))


def problem_list(problems: Iterable[Problem]) -> str:
    """Returns the problems as a list in Markdown."""
    return "\n".join(f"- {problem_text(problem)}" for problem in problems)


def problems(error: RecdashError) -> None:
    """Shows an error: all its problems, one per line with place, finding and fix."""
    if isinstance(error, InputError):
        source = f"**{markdown(error.source)}**\n\n" if error.source else ""
        st.error(source + problem_list(error.problems))
    else:
        st.error(markdown(str(error)))


def damaged(problems: Sequence[Problem]) -> None:
    """Shows what is left out because it is damaged; nothing if there is no damage."""
    if problems:
        st.error(problem_list(problems))


P = ParamSpec("P")


def show_errors(draw: Callable[P, None]) -> Callable[P, None]:
    """Returns ``draw`` with errors of recdash shown on the page in place of being raised; use it below
    ``st.fragment``.

    A fragment is drawn again without the rest of the page, so it asks again whether the person may read it:
    they may have signed out, or their link may have been revoked.
    """

    @functools.wraps(draw)
    def wrapped(*args: P.args, **options: P.kwargs) -> None:
        try:
            state.person()
            draw(*args, **options)
        except RecdashError as error:
            problems(error)

    return wrapped


def opened(label: str, key: str) -> DeltaGenerator | None:
    """Draws an expander and returns the place for its content if it is open, else None, so that a closed one
    takes neither the server nor the browser any time. Opening it draws the fragment around it again.
    """
    box = st.expander(label, on_change="rerun", key=key)
    return box if box.open else None


def notices(problems: Sequence[Problem], *, nothing: str = "") -> None:
    """Draws notices as a list; ``nothing`` is the sentence shown if there are none."""
    st.html(notices_html(problems, nothing=nothing))


def notices_html(problems: Sequence[Problem], *, nothing: str = "") -> Html:
    row = "<li>{sign}<span><b>{place}</b>: {found}. {fix}</span></li>"
    warning = html('<b class="rd-worse">!</b>')
    rows = [
        html(
            row,
            sign=muted("i") if problem.code in REMARKS else warning,
            place=problem.place,
            found=problem.found.rstrip("."),
            fix=problem.fix,
        )
        for problem in problems
    ]
    if not rows:
        rows = [html('<li><span class="rd-better">✓</span><span>{nothing}</span></li>', nothing=nothing)]
    return unbroken_html(html('<ul class="rd-list">{rows}</ul>', rows=join(rows)))


def titled(options: Mapping[Any, str]) -> dict[str, Any]:
    """Returns ``options`` ({value: title}) as the arguments of a Streamlit choice.

    A box shows only the beginning of a long title, so long ones are shortened; all stay distinct.
    """
    short = shortened(options.values(), LONGEST_TITLE)
    return {"options": list(options), "format_func": lambda value: short[options[value]]}


def one_of(label: str, options: Mapping[Any, str], default: object, key: str, hint: str = "") -> Any:
    """Draws a segmented control that the URL does not keep, and returns its value; one is always chosen."""
    box = titled(options) | {"default": default, "required": True}
    return st.segmented_control(label, **box, key=key, help=hint or None)


def pick(label: str, options: Mapping[Any, str], value: object, key: str, *, width: int) -> Any:
    """Draws a select box that the URL does not keep, and returns its value.

    At first it is ``value``, or else the first of ``options``.
    """
    values = list(options)
    index = values.index(value) if value in values else 0
    return st.selectbox(label, **titled(options), index=index, key=key, width=width)


def bound_to_url(
    name: str,
    key: str,
    value: object,
    as_text: Callable[[Any], str | None] = str,
    *,
    reset: Sequence[str] = (),
) -> dict[str, Any]:
    """Returns the arguments of a widget that shows ``value`` and whose changes are kept in the URL parameter
    ``name``.

    ``as_text`` converts a value for the URL; it returns None for the default. A change resets the parameters
    in ``reset`` to their defaults.
    """
    st.session_state[key] = value

    def write() -> None:
        state.choose(**{name: as_text(st.session_state[key])}, **dict.fromkeys(reset))

    return {"key": key, "on_change": write}


def choice(label: str, name: str, options: Mapping[str, str], default: str, hint: str = "") -> str:
    """Draws a segmented control and returns its value (a key of ``options``), which the URL keeps as
    ``name``.
    """
    value = state.option(name, default, list(options))
    titles = {slug: markdown(title) for slug, title in options.items()}
    box = titled(titles) | bound_to_url(name, f"choice-{name}", value)
    st.segmented_control(label, **box, required=True, help=hint or None)
    state.write(name, value)
    return value


def select(
    label: str,
    name: str,
    options: Mapping[str, str],
    value: str,
    key: str,
    width: int | Literal["stretch"] = "stretch",
    *,
    reset: Sequence[str] = (),
) -> str:
    """Draws a select box and returns its value (a key of ``options``), which the URL keeps as ``name``.

    A change resets the parameters in ``reset`` to their defaults.
    """
    chosen: str = st.selectbox(
        label, **titled(options), width=width, **bound_to_url(name, key, value, reset=reset)
    )
    state.write(name, chosen)
    return chosen


def search(
    label: str,
    name: str,
    key: str,
    placeholder: str,
    *,
    width: int | Literal["stretch"] = "stretch",
    reset: Sequence[str] = (),
) -> str:
    """Draws a box for search words and returns them; the URL keeps them as ``name``."""
    box = bound_to_url(name, key, state.params().get(name, ""), reset=reset)
    text: str = st.text_input(label, placeholder=placeholder, width=width, **box)
    if text or name in state.params():
        state.write(name, text)
    return text


def several(label: str, name: str, options: Mapping[str, str], default: Sequence[str]) -> list[str]:
    """Draws a multiselect and returns its values, which the URL keeps as ``name``, joined by ``~``."""
    wanted = state.params().get(name, state.SEPARATOR.join(default)).split(state.SEPARATOR)
    values = [slug for slug in dict.fromkeys(wanted) if slug in options]
    st.multiselect(
        label, **titled(options), **bound_to_url(name, f"choice-{name}", values, state.SEPARATOR.join)
    )
    state.write(name, state.SEPARATOR.join(values))
    return values


def chart(figure: go.Figure, key: str, alt: str, *, narrowest: int | None = None, caption: str = "") -> None:
    """Draws a figure with its alternative text and without a tool bar. Where the page is too narrow for the
    chart, the ``caption``, which explains its marks, is hidden with it.

    On a page with less room than ``narrowest`` px it scrolls; 0 never scrolls, and None depends on its
    margins.
    """
    from recdash.charts.layout import CONFIG

    margin = figure.to_dict()["layout"]["margin"]  # the space for names and values
    width = int(margin["l"] + margin["r"] + NARROWEST_PLOT) if narrowest is None else narrowest
    with st.container(key=f"chart-{math.ceil(width / 100)}-{key}"):
        chart_caption(caption)
        st.plotly_chart(figure, width="stretch", theme=None, config=CONFIG, key=key, alt=alt)


def chart_caption(text: str) -> None:
    """Writes what the marks of the charts below it mean; nothing for an empty text. Call it in the container
    of the charts, so that a page that hides them hides it too.
    """
    if text:
        st.html(html('<p class="rd-quiet">{text}</p>', text=unbroken(text)))


def table_behind(frame: pd.DataFrame, name: str, title: str = "Table") -> None:
    """Draws the numbers behind a chart as a table in an expander, with a button to download them as CSV.

    ``title`` says what the table holds.
    """
    with st.container(key=f"behind-{name}"), st.expander(title):
        st.dataframe(safe_cells(frame.head(MOST_TABLE_ROWS)), hide_index=True, key=f"table-{name}")
        if len(frame) > MOST_TABLE_ROWS:
            drawn, all_rows = numbers.count(MOST_TABLE_ROWS), numbers.count(len(frame))
            st.caption(f"The first {drawn} of {all_rows} rows; the CSV holds all.")
        csv_button(frame, name)


def download(
    label: str, data: str | Callable[[], str | bytes], file_name: str, mime: str, key: str, **look: Any
) -> None:
    """Draws a button that downloads a file without redrawing the page; a function makes the file at the
    click.
    """
    st.download_button(label, data, file_name, mime, key, on_click="ignore", **look)


def csv_button(frame: pd.DataFrame, name: str) -> None:
    download("Download CSV", lambda: csv_text(frame), f"{name}.csv", "text/csv", f"csv-{name}")


def csv_text(frame: pd.DataFrame) -> str:
    """Returns the table as CSV, in which no text can be read as a formula by a spreadsheet."""
    return str(safe_cells(frame).to_csv(index=False))


def safe_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Returns the table with an apostrophe before each text that a spreadsheet would read as a formula."""
    safe = frame.rename(columns=safe_cell)
    for place, kind in enumerate(frame.dtypes):
        if kind.kind not in "biufMm":  # numbers and times are no formulas
            column = frame.iloc[:, place]
            known = {value: safe_cell(value) for value in column.unique()}
            if any(value is not cell for value, cell in known.items()):
                safe.isetitem(place, column.map(known).tolist())
    return safe


def empty(heading: str, text: str) -> None:
    """Draws a page without data, which says what to do next."""
    st.html(html('<div class="rd-empty"><h1>{heading}</h1><p>{text}</p></div>', heading=heading, text=text))
    state.show_below_title()
