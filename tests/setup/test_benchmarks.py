"""The benchmarks: what they measure on, that they measure it, and that their page shows what they found."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import recdash
from benchmarks import contenders, report
from benchmarks.harness import ROOT, SHELL, Contender, Cost, Record, Results, measure, ratio, run_rounds
from benchmarks.limit import read
from benchmarks.peers import ir_measures, peer, peer_names
from benchmarks.workloads import FORMS, LENGTH, blocks, make, workload

USERS = 50
SIZE = str(USERS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny workload in every form."""
    made = tmp_path_factory.mktemp("workloads")
    make(made, SIZE, FORMS)
    return made


def python(code: str) -> list[str | Path]:
    return [sys.executable, "-c", code]


def test_the_app_that_is_measured_is_the_one_that_is_served() -> None:
    launcher = (ROOT / "app.py").read_text("utf-8")
    named = re.search(r'^SHELL = Path\(startup\.__file__\)\.with_name\("([^"]+)"\)$', launcher, re.MULTILINE)
    assert named
    assert ROOT / "recdash" / "ui" / "shell" / named[1] == SHELL
    assert SHELL.is_file()


# ── workloads ────────────────────────────────────────────────────────────────────────────────


def test_a_seed_makes_the_same_workload_and_another_seed_another() -> None:
    ((lists, truth),) = blocks(USERS, seed=1)
    ((lists_again, truth_again),) = blocks(USERS, seed=1)
    ((others, _),) = blocks(USERS, seed=2)
    assert lists.equals(lists_again)
    assert truth.equals(truth_again)
    assert not lists.equals(others)


def test_lists_are_full_ordered_and_have_the_stated_ties() -> None:
    ((lists, _),) = blocks(2_000)
    user, item, score, rank = (lists[name].to_numpy().reshape(-1, LENGTH) for name in lists.column_names)
    assert (user == np.arange(2_000)[:, None]).all()
    assert (rank == np.arange(1, LENGTH + 1)).all()
    assert (np.diff(np.sort(item)) > 0).all(), "an item is twice in a list"
    assert (np.diff(score) <= 0).all()
    assert (np.diff(score) == 0).mean() == pytest.approx(0.12, abs=0.005)


def test_the_truth_has_the_stated_size_and_grades() -> None:
    ((_, truth),) = blocks(2_000)
    user, item, grade = (truth[name].to_numpy() for name in truth.column_names)
    taken = np.bincount(user, minlength=2_000)
    assert len({*zip(user.tolist(), item.tolist(), strict=True)}) == len(truth)
    assert taken.mean() == pytest.approx(10, rel=0.1)
    assert 1 <= taken.min() < taken.max() <= 200
    assert set(grade.tolist()) == {1, 2, 3, 4, 5}


def test_every_form_says_the_same(folder: Path) -> None:
    def recall(form: str) -> float:
        files = workload(folder, SIZE, form)
        found = recdash.evaluate({"us": files.lists}, files.truth, metrics="recall@10").table()
        return float(found["value"].iloc[0])

    values = {form: recall(form) for form in FORMS}
    assert values == dict.fromkeys(FORMS, pytest.approx(values["integers"], rel=1e-12))
    assert values["integers"] > 0


def test_shuffled_rows_are_those_of_the_grouped_file_in_another_order(folder: Path) -> None:
    grouped, shuffled = (
        pq.read_table(workload(folder, SIZE, form).lists) for form in ("integers", "shuffled")
    )
    order = [("user_id", "ascending"), ("rank", "ascending")]
    assert not shuffled.equals(grouped)
    assert shuffled.sort_by(order).equals(grouped.sort_by(order))


def test_text_ids_are_all_different_words(folder: Path) -> None:
    items = pq.read_table(workload(folder, SIZE, "text").catalogue)["item_id"].to_pylist()
    assert len(set(items)) == len(items) == 50_000
    assert {len(one) for one in items} == {10}


@pytest.mark.parametrize("form", FORMS)
def test_the_read_limit_passes_every_row(folder: Path, form: str) -> None:
    assert read(workload(folder, SIZE, form).lists) == USERS * LENGTH


def test_csv_has_the_columns_of_the_parquet_file(folder: Path) -> None:
    table = pyarrow.csv.read_csv(workload(folder, SIZE, "csv").lists)
    assert table.column_names == pq.read_schema(workload(folder, SIZE).lists).names


# ── measuring ────────────────────────────────────────────────────────────────────────────────


def test_cost_counts_the_memory_and_the_children_of_a_process() -> None:
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'b = bytearray(1 << 30)'])"
    # A process begins with the memory of the one that starts it, so this asks a small one to start them.
    asked = (
        "import sys; from benchmarks.harness import measure\n"
        "costs = [measure([sys.executable, '-c', code], 60) for code in sys.argv[1:]]\n"
        "print(*(figure for cost in costs for figure in (cost.cpu, cost.peak)))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", asked, "pass", child], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    alone_cpu, alone_peak, large_cpu, large_peak = map(float, printed.split())
    assert 0 < alone_cpu < large_cpu
    assert alone_peak < 1024 < large_peak


def test_a_process_is_ended_when_its_time_is_up() -> None:
    late = measure(python("while True: pass"), 1)
    assert late.late
    assert 0 < late.cpu < 10  # on a busy machine it gets little of its second


def test_a_failure_is_told_by_its_error() -> None:
    assert measure(python("raise ValueError('no such column')"), 60).problem == "ValueError: no such column"


def test_every_contender_is_measured_once_a_round_in_turn() -> None:
    kept: list[tuple[str, int]] = []
    taking_part = [Contender(name, python("print('{}')")) for name in ("a", "b")]
    run_rounds(taking_part, 2, 60, lambda key, record: kept.append((key, len(record.cpu))), "now")
    assert kept == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]


def test_what_was_late_is_not_tried_with_more_to_do() -> None:
    kept: dict[str, Record] = {}
    easy = Contender("easy", python("import os, signal; os.kill(os.getpid(), signal.SIGXCPU)"))
    hard = Contender("hard", python("raise SystemExit('was tried')"), easier="easy")
    run_rounds([easy, hard], 2, 1, kept.__setitem__, "now")
    assert kept["hard"].late
    assert kept["hard"].cpu == kept["easy"].cpu


def test_own_seconds_of_a_contender_win_over_those_of_its_process() -> None:
    assert Record("now").plus(Cost(cpu=9.0, peak=1.0), {"cpu": 0.5}).cpu == (0.5,)


def test_ratios_are_taken_within_a_round_of_one_session_only() -> None:
    slow, quick = Record("now", cpu=[4, 30, 8]), Record("now", cpu=[2, 10, 4])
    assert ratio(slow, quick) == 2
    assert ratio(slow, Record("before", cpu=[2, 10, 4])) == 8 / 4
    assert ratio(Record("now", cpu=[9, 10, 30]), quick) == 4.5


def test_recdash_and_the_read_limit_run_through_the_harness(folder: Path, tmp_path: Path) -> None:
    results = Results(tmp_path / "results.json")
    results.put("S", "one cutoff, other", Record("before", cpu=[1.0], peak=[1.0]))
    all_of_us = {one.key: one for one in contenders.ours(SIZE, folder, tmp_path)}
    some = [all_of_us[key] for key in ("read", "one cutoff")]
    run_rounds(some, 1, 60, lambda key, record: results.put("S", key, record), "now")
    again = Results(tmp_path / "results.json")
    measured = {key: again.get("S", key) for key in ("read", "one cutoff", "one cutoff, other")}
    assert all(one is not None and one.finished for one in measured.values())
    assert measured["one cutoff"].facts["recall@10"] > 0


def test_saved_hits_answer_definitions_that_were_not_stored(folder: Path, tmp_path: Path) -> None:
    assert measure(contenders.store_run(SIZE, folder, tmp_path), 60).problem == ""
    asked = next(one for one in contenders.ours(SIZE, folder, tmp_path) if one.key == "from saved hits")
    answer = measure(asked.command, 60)
    assert answer.problem == ""
    assert 0 < json.loads(answer.output)["cpu"] < answer.cpu


# ── peers ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", peer_names())
def test_a_peer_says_what_to_install_and_what_it_leaves_out(name: str) -> None:
    one = peer(name)
    assert one.REQUIREMENTS
    assert one.TITLE
    assert one.NOTE == "" or " of 6" in one.NOTE


def test_a_peer_counts_the_same_hits_as_recdash(folder: Path) -> None:
    files = workload(folder, SIZE)
    theirs = ir_measures.evaluate(files.lists, files.truth, [LENGTH])
    ours = recdash.evaluate({"us": files.lists}, files.truth, metrics=f"recall@{LENGTH}").table()
    assert theirs[f"recall@{LENGTH}"] == pytest.approx(ours["value"].iloc[0], abs=1e-12)


# ── the page ─────────────────────────────────────────────────────────────────────────────────


def test_the_page_and_the_picture_are_those_of_the_results(root: Path, tmp_path: Path) -> None:
    home = root / "benchmarks"
    readme = (home / "README.md").read_text(encoding="utf-8")
    (tmp_path / "README.md").write_text(readme, encoding="utf-8")
    report.write(Results(home / "results.json"), tmp_path)
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == readme
    assert (tmp_path / "peers.svg").read_text() == (home / "peers.svg").read_text()


def test_figures_stand_beside_their_goals_and_bounds_say_so(tmp_path: Path) -> None:
    results = Results(tmp_path / "results.json")
    results.facts |= {
        "machine": dict.fromkeys(
            ("processor", "cores", "memory_gib", "system", "recdash", "python", "numpy", "pyarrow"), "x"
        ),
        "peers": {
            "slow": {"title": "Slow", "note": "", "version": "1"},
            "gone": {"title": "Gone", "reason": "no wheel", "note": ""},
        },
    }
    for key, cpu, late in (("read", 1, False), ("everything", 4, False), ("every k", 2, False)):
        results.put("M", key, Record("2026-01-01", cpu=[cpu], peak=[200], late=late))
    results.put("M", "every k, slow", Record("2026-01-01", cpu=[240], peak=[900], late=True))
    report.write(results, tmp_path)
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "**4.00** ✗ (goal ≤ 2.5)" in page
    assert "**200** ✓ (goal ≤ 250)" in page
    assert "| > 240 | 900 | > 120 |" in page
    assert "- Gone: no wheel" in page
    assert "&gt; 240" in (tmp_path / "peers.svg").read_text(encoding="utf-8")
