"""Names, parameters, templates and tables of runs: the parts of the data pages that need no page."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from app_pages import passed
from online_results import results_of_upload
from streamlit.testing.v1 import AppTest

from recdash import ingest
from recdash.domain.records import Run
from recdash.errors import InputError
from recdash.formatting.wording import nested as in_words
from recdash.ui.components.parameters import params_as_text, params_from
from recdash.ui.components.templates import TEMPLATES
from recdash.ui.runs.table import ledger_names, ledger_row, parameter_names, parameter_row
from recdash.ui.upload import page
from recdash.ui.upload.rows import rows_as_html


def run(name: str, **facts: object) -> Run:
    return Run(name, "e", name, datetime(2026, 11, 1, tzinfo=UTC), 0, None, {}, **{"ledger": {}, **facts})


def test_parameters_are_read_line_by_line() -> None:
    assert params_from("factors = 64\n\n loss=a=b \nempty =") == {"factors": "64", "loss": "a=b", "empty": ""}


def test_parameters_survive_being_written_and_read() -> None:
    params = {"factors": "64", "loss": "bpr"}
    assert params_from(params_as_text(params)) == params


def test_every_line_that_is_no_parameter_is_named() -> None:
    with pytest.raises(InputError) as refused:
        params_from("factors 64\nloss = bpr\n= 3")
    assert [problem.place for problem in refused.value.problems] == [
        "parameters, line 1",
        "parameters, line 3",
    ]


def test_only_parameters_that_differ_remain() -> None:
    runs = [
        run("a", params={"factors": "64", "loss": "bpr"}),
        run("b", params={"factors": "64", "seed": "1"}),
    ]
    assert parameter_names(runs, only_differences=False) == ["factors", "loss", "seed"]
    assert parameter_names(runs, only_differences=True) == ["loss", "seed"]
    assert parameter_row(runs[0], ["factors", "seed"]) == ["64", "–"]


def test_a_count_that_was_not_made_is_a_dash_and_not_zero() -> None:
    one = run("a", ledger={"counted": 6040, "tied_rows": None, "duplicates": 0})
    other = run("b", ledger={"counted": 6040, "tied_rows": 3, "duplicates": 2, "short_lists": 0})
    names = ledger_names([one, other])
    assert {name: cell.shown for name, cell in zip(names, ledger_row(one, names), strict=True)} == {
        "counted": "6,040", "duplicates": "0", "tied_rows": "–",
    }  # fmt: skip


def test_nested_provenance_reads_as_one_line() -> None:
    assert in_words({"mapping": {"user_id": "uid"}, "k": [1, 2], "end": None}) == (
        "mapping: user_id: uid · k: 1, 2 · end: –"
    )


def _box_of_a_rule(name: str, value: float) -> None:
    import streamlit as st

    from recdash.ui.components import online_rules

    st.session_state["rule"] = online_rules.number_box(name, value, "box")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("grace_min", 15), ("bot_clicks", 40.0), ("bot_clicks", 40.5),
        ("bot_clicks", 0), ("grace_min", 2000), ("winsorise", 0.99999),
    ],
)  # fmt: skip
def test_a_rule_from_python_is_filled_in_as_it_is(name: str, value: float) -> None:
    app = passed(AppTest.from_function(_box_of_a_rule, kwargs={"name": name, "value": value}).run())
    assert app.session_state["rule"] == value


def test_the_first_rows_show_markup_as_text() -> None:
    table = rows_as_html(["<b>item"], {"<b>item": "item_id"}, [{"<b>item": "<img src=x onerror=alert(1)>"}])
    assert "<img" not in table
    assert "&lt;img src=x onerror=alert(1)&gt;" in table
    assert "&lt;b&gt;item" in table


def test_the_first_rows_are_a_small_table_with_a_name_that_the_keyboard_scrolls() -> None:
    table = rows_as_html(["item"], {}, [{"item": "a"}])
    assert 'role="region" aria-label="First rows as read" tabindex="0"' in table
    assert '<table class="rd-table rd-small">' in table
    assert "<caption>" not in table  # the expander around it bears the name already


@pytest.mark.parametrize("kind", [kind for kind in TEMPLATES if kind != "run"])
def test_a_template_passes_the_checks_as_it_stands(kind: str) -> None:
    template = TEMPLATES[kind]
    upload = ingest.read_upload(kind, template.text.encode(), name=template.file_name)
    assert upload.notices == ()
    if kind in ("sessions", "aggregates"):
        assert set(results_of_upload(upload).variants) == {"control", "new"}


def test_the_template_of_recommendations_passes_the_checks_as_it_stands() -> None:
    template = TEMPLATES["run"]
    (one,) = ingest.read_recommendations(template.text.encode(), name=template.file_name)
    assert sum(batch.num_rows for batch in one.batches()) == 4


@pytest.mark.parametrize("kind", list(TEMPLATES))
def test_a_template_names_the_columns_that_the_checks_know(kind: str) -> None:
    found = ingest.preview(kind, TEMPLATES[kind].text.encode(), name=TEMPLATES[kind].file_name)
    told = {column.name: column.required for column in TEMPLATES[kind].columns if " " not in column.name}
    assert told == {**dict.fromkeys(found.required, True), **dict.fromkeys(found.optional, False)}


@pytest.mark.parametrize(("mib", "most"), [(1024, "1 GB"), (200, "200 MB")])
def test_the_drop_zone_says_formats_and_limit(monkeypatch: pytest.MonkeyPatch, mib: int, most: str) -> None:
    monkeypatch.setenv("RECDASH_MAX_UPLOAD_BYTES", str(mib * 2**20))
    assert page._formats() == f"CSV, TSV, Excel, Parquet, JSON or TREC, also zipped. At most {most} per file."
