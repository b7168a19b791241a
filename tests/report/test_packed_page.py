"""Reports from when Plotly drew their figures are still read, and confirmed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from packing import pack
from report_tables import altered, copied, opened, recomputed_once

from recdash.report.reproduce import packed_page
from recdash.report.reproduce.packed_page import N_SIGNS, SIGNS, unpack
from recdash.report.reproduce.read_file import read_report
from recdash.report.reproduce.reproduce import reproduction
from recdash.service import Workspace

OLD = Path(__file__).parent / "old"
"""Files that recdash wrote when Plotly drew the figures; of the page, without Plotly's own script."""
FIGURES = re.compile(r'(?<=id="packed-figures">)([^<]*)')


@pytest.fixture(scope="module")
def space(films_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with recomputed_once({}):
        yield opened(copied(films_folder, tmp_path_factory.mktemp("films")))


@pytest.fixture
def changed(tmp_path: Path) -> Callable[[str, str], Path]:
    """The old page with one text in place of another."""
    return lambda old, new: altered(OLD / "report.html", old, new, tmp_path)


@pytest.mark.parametrize("name", ["report.html", "report.json"])
def test_an_old_report_is_confirmed(space: Workspace, name: str) -> None:
    found = reproduction(space, OLD / name)
    assert found.holds, found.text
    assert found.checked.numbers > 300


def test_an_old_page_and_an_old_json_hold_the_same_document() -> None:
    assert read_report(OLD / "report.html").document == read_report(OLD / "report.json").document


@pytest.mark.parametrize(
    ("old", "new"),
    [(">0.815<", ">0.915<"), ("</body>", "<script>alert(1)</script></body>"), ("<mn>2</mn>", "<mn>3</mn>"),
     ("data-n>Ship als</h1>", "data-n>Ship ease</h1>"), ("--ink:#18212B", "--ink:#FFFFFF"),
     ("</figcaption>\n", "</figcaption>\n<b>lie</b>"), ('class="chart" role', 'class="chart" hidden role')],
)  # fmt: skip
def test_an_old_page_that_shows_something_else_is_not_confirmed(
    space: Workspace, changed: Callable[[str, str], Path], old: str, new: str
) -> None:
    found = reproduction(space, changed(old, new))
    assert found.outcome == "data confirmed, page not compared"
    assert found.page_difference


@pytest.mark.parametrize(
    ("change", "holds"), [("order", True), ("value", False), ("text", False), ("names", False)]
)
def test_figures_of_an_old_page_are_compared_by_their_values(
    space: Workspace, tmp_path: Path, change: str, holds: bool
) -> None:
    head, packed, tail = FIGURES.split((OLD / "report.html").read_text("utf-8"), maxsplit=1)
    values = json.loads(unpack(packed))
    first = values["figures"][0]
    if change == "value":
        first["data"][1]["x"][0] += 0.01
    elif change == "text":
        first["layout"]["annotations"][0]["text"] += "1"
    elif change == "order":
        first["layout"] = dict(reversed(first["layout"].items()))
    else:
        values["names"] = values["names"][::-1]  # a name would be looked for before one that holds it
    file = tmp_path / "report.html"
    file.write_text(head + pack(json.dumps(values)) + tail, "utf-8")
    assert reproduction(space, file).holds is holds


# ── the packing ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", ["", "a", "ab", "abc" * 5, "−▲λ" * 999, "\x00\n<>&\"'\\"])
def test_what_was_packed_comes_out_as_it_went_in(text: str) -> None:
    assert unpack(pack(text)) == text


def test_the_signs_of_packing_are_two_bytes_each_and_none_means_anything_to_a_page() -> None:
    assert len(set(SIGNS)) == N_SIGNS
    assert {len(sign.encode()) for sign in SIGNS} == {2}
    assert not set("< \r\n\0") & set("".join(SIGNS))


@pytest.mark.parametrize(
    "text", ["", "abc", "5:<<", "9:abcd", "x:ab", "5:abcde<", "5:~~~~~~", "5:abcdef", "5:ab\ud800"]
)
def test_what_was_not_packed_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not packed by recdash"):
        unpack(text)


def test_what_unpacks_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = pack("a" * 1_000)
    monkeypatch.setattr(packed_page, "MOST_BYTES", 999)
    with pytest.raises(ValueError, match="within 999 bytes"):
        unpack(bomb)
