"""Presets keep their word: what the libraries were found to say is recorded, shown and never left out."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import recdash
from benchmarks.presets import __main__ as command
from benchmarks.presets import compare, library, library_names, report
from benchmarks.presets.tables import WORLDS, draw
from recdash.cli import main
from recdash.definitions.guide import preset_guides
from recdash.metrics import METRICS, PRESETS
from recdash.metrics.agreement import (
    WORDS,
    PresetAgreement,
    agreement_table,
    preset_agreement,
    recorded_agreement,
)

LISTS = {"u": ["a", "b"], "v": ["b", "c"]}
TRUTH = {"u": ["a"], "v": ["c"]}
TRAIN = pd.DataFrame({"user_id": [*"xxyz"], "item_id": [*"abaa"]})


def test_every_preset_but_the_default_has_a_library_and_every_library_a_preset() -> None:
    assert set(library_names()) == set(PRESETS) - {"default"}
    assert set(recorded_agreement()) == set(library_names())


def test_every_preset_has_a_state_for_every_metric() -> None:
    found = {(one.preset, one.spec.partition("(")[0]): one.state for one in agreement_table()}
    assert set(found) == {(preset, metric) for preset in PRESETS for metric in METRICS}
    assert set(found.values()) <= set(WORDS)
    assert all(found["default", metric] == "own" for metric in METRICS)


@pytest.mark.parametrize("name", library_names())
def test_what_is_recorded_is_what_the_librarys_file_says(name: str) -> None:
    one, known = library(name), recorded_agreement()[name]
    assert {row["spec"]: row["name"] for row in known["rows"]} == dict(one.PRINTED)
    assert {row["spec"]: row["because"] for row in known["rows"] if row["because"]} == dict(one.DIFFERENT)
    assert known["not_reproduced"] == dict(one.NOT_REPRODUCED)
    assert set(known["worlds"]) == set(one.WORLDS) <= set(WORLDS)


@pytest.mark.parametrize("name", library_names())
def test_equal_is_said_of_numbers_that_were_compared_and_of_no_others(name: str) -> None:
    known = recorded_agreement()[name]
    assert list(compare.broken_promises(name, known)) == []
    states = {row["state"] for row in known["rows"]}
    if known["not_run"]:
        assert "equal" not in states
    else:
        assert known["version"]
        assert all(row["values"] >= 3 for row in known["rows"] if row["state"] == "equal")


def test_the_page_of_the_docs_is_made_from_what_is_recorded() -> None:
    assert command.PAGE.read_text(encoding="utf-8") == report.page(recorded_agreement())


def test_a_difference_that_is_not_there_and_an_equality_that_is_not_are_both_noticed() -> None:
    row = {"spec": "ndcg", "values": 10, "largest": 0.5}
    known = {"not_run": "", "tolerance": 1e-9}
    for state, largest, n_broken in [
        ("equal", 0.5, 1),
        ("equal", 0.0, 0),
        ("different", 0.5, 0),
        ("different", 0.0, 1),
    ]:
        rows = [{**row, "state": state, "largest": largest}]
        assert len(list(compare.broken_promises("x", {**known, "rows": rows}))) == n_broken


def test_a_number_that_nothing_was_compared_with_is_not_equal() -> None:
    rows = [{"spec": "ndcg", "state": "equal", "values": 0, "largest": 0.0}]
    assert list(compare.broken_promises("x", {"not_run": "", "tolerance": 1e-9, "rows": rows}))


@pytest.mark.parametrize("world", WORLDS)
def test_the_drawn_tables_are_always_the_same_and_hold_what_they_promise(world: str) -> None:
    tables, again = draw(world), draw(world)
    pd.testing.assert_frame_equal(tables.lists, again.lists)
    lengths = tables.lists.groupby("user_id").size()
    listed, known = set(lengths.index), set(tables.truth["user_id"])
    assert (lengths.min() == lengths.max()) == (world in {"full", "graded"})
    assert bool(listed - known) == bool(known - listed) == (world in {"ragged", "ties"})
    assert bool(known - set(tables.relevant["user_id"])) == (world != "full")
    assert tables.lists.duplicated(["user_id", "score"]).any() == (world == "ties")


# ── what is shown ────────────────────────────────────────────────────────────────────────────


def warnings_of(preset: str, metrics: str) -> list[str]:
    found = recdash.evaluate({"run": LISTS}, TRUTH, metrics=metrics, preset=preset, train=TRAIN)
    return [one for one in found.as_dict()["warnings"] if one.startswith("preset")]


def test_a_metric_that_the_library_lacks_is_said_to_be_our_own() -> None:
    (said,) = warnings_of("recbole", "ndcg@2,novelty@2,rbp@2")
    assert "RecBole does not offer novelty, rbp: recdash's own definition" in said


def test_a_number_that_differs_from_the_librarys_says_why() -> None:
    (said,) = warnings_of("recbole", "tail_share@2")
    assert "different from RecBole" in said
    assert "exactly a tenth" in said


def test_a_formula_that_was_read_and_not_run_says_so() -> None:
    (said,) = warnings_of("elliot", "precision@2")
    assert "not on PyPI" in said


def test_equal_numbers_and_the_default_need_no_warning() -> None:
    assert warnings_of("recbole", "ndcg@2,recall@2") == []
    assert warnings_of("default", "ndcg@2,novelty@2,rbp@2") == []


def test_parameters_that_were_written_make_the_number_nobodys_but_ours() -> None:
    assert preset_agreement("rectools", "ndcg(gain=exp)").state == "own"
    assert warnings_of("rectools", "ndcg(gain=exp,ideal=all)@2") == []


def test_the_cli_warns_where_a_preset_does_not_give_its_librarys_number(tmp_path: Path) -> None:
    for name, table_of in {"truth": TRUTH, "run": LISTS}.items():
        rows = [(user, item) for user, items in table_of.items() for item in items]
        pd.DataFrame(rows, columns=["user_id", "item_id"]).to_csv(tmp_path / f"{name}.csv", index=False)
    files = ["--truth", str(tmp_path / "truth.csv"), "--run", f"run={tmp_path / 'run.csv'}"]
    done = CliRunner().invoke(main, ["evaluate", *files, "--preset", "recpack", "--metrics", "rbp@2"])
    assert "RecPack does not offer rbp" in done.output


def test_novelty_under_recommenders_takes_the_share_of_rows() -> None:
    from math import log2

    found = recdash.evaluate({"run": LISTS}, TRUTH, metrics="novelty@2", preset="recommenders", train=TRAIN)
    # of four rows of train a has three and b one; c, unknown there, adds 0 to the four places shown
    expected = (-log2(3 / 4) - log2(1 / 4) - log2(1 / 4) + 0) / 4
    assert found.table()["value"].tolist() == [pytest.approx(expected, rel=1e-14)]


def test_the_guide_says_of_each_preset_what_was_found() -> None:
    said = {guide.name: "\n".join(guide.agreement) for guide in preset_guides()}
    assert "equal (RecTools" in said["rectools"]
    assert "from its documentation, not run (Elliot)" in said["elliot"]
    assert said["default"] == ""


def test_a_states_sentence_names_the_version_and_how_much_was_compared() -> None:
    one = PresetAgreement("p", "ndcg", "equal", "Lib", "1.2", "NDCG", values=1200, largest=2e-16)
    assert one.sentence() == "equal to Lib 1.2 NDCG: 1,200 values, largest difference 2e-16"


def test_the_recorded_file_is_written_as_the_command_writes_it() -> None:
    text = command.DATA.read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
