"""Real files as people upload them: each is accepted or refused as its manifest says, and in those words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import recdash
from recdash.errors import UploadError
from recdash.ingest import Limits, read_recommendations, read_upload

LIMITS = Limits(inflated_bytes=50_000_000, compression_ratio=200)

# told only when tables meet (duplicates, ties, short lists, unknown users or items, leaks)
MEETINGS = {
    "run_duplicate_pairs_inside_top10.csv",
    "run_duplicate_ranks.csv",
    "run_rank_gaps.csv",
    "run_all_ties.csv",
    "run_short_lists.csv",
    "truth_duplicate_pairs.csv",
    "train_leaks_truth.csv",
    "run_users_not_in_truth.csv",
    "run_items_not_in_catalogue.csv",
}


def outcome(kind: Any, path: Path) -> tuple[str, str, int]:
    """What became of a file: accept or reject, what was said, rows kept."""
    try:
        if kind == "run":
            (run,) = read_recommendations(path, limits=LIMITS)
            rows = sum(batch.num_rows for batch in run.batches())
            return "accept", "\n".join(map(str, run.notices)), rows
        upload = read_upload(kind, path, limits=LIMITS)
        return "accept", "\n".join(map(str, upload.notices)), upload.table.num_rows
    except UploadError as refusal:
        return "reject", str(refusal), 0


def test_every_dirty_file_is_handled_as_its_manifest_says(shared_data: Path) -> None:
    folder = shared_data / "dirty"
    wrong = []
    for case in json.loads((folder / "manifest.json").read_text())["cases"]:
        action, said, _ = outcome(case["kind"], folder / case["file"])
        due = case["expected"]["action"].split()[0]
        words = [] if case["file"] in MEETINGS else case["expected"]["must_say"]
        unsaid = [word for word in words if word.lower() not in said.lower()]
        if action != due or unsaid:
            wrong.append((case["file"], action, unsaid, said))
    assert wrong == []


def test_files_that_should_equal_the_clean_one_give_its_rows(shared_data: Path) -> None:
    folder = shared_data / "dirty"
    cases = json.loads((folder / "manifest.json").read_text())["cases"]
    clean = {
        "good/run.csv": 800,
        "good/truth.csv": 343,
        "good/predictions.csv": 343,
        "good/catalogue.csv": 792,
    }
    apart = {"run_users_not_in_truth.csv"}
    equal = [case for case in cases if case["same_metrics_as"] and case["file"] not in apart]
    counts = {case["file"]: outcome(case["kind"], folder / case["file"])[2] for case in equal}
    assert len(counts) > 20
    assert counts == {case["file"]: clean[case["same_metrics_as"]] for case in equal}


def test_accents_in_a_western_file_come_out_right(shared_data: Path) -> None:
    titles = read_upload("catalogue", shared_data / "dirty" / "catalogue_latin1.csv").table["title"]
    assert titles[0].as_py() == "Fantômas - À l'ombre de la guillotine (1913)"


def test_a_pickle_is_not_opened(shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert outcome("run", shared_data / "dirty" / "run_pickle.pkl")[0] == "reject"
    assert list(tmp_path.iterdir()) == []


OF_ONE_FORM = {"run_huge_ids.csv": "truth_huge_ids.csv", "truth_huge_ids.csv": "run_huge_ids.csv"}
"""Files whose ids only each other has."""


def scores(run: Path, truth: Path) -> list[float]:
    found = recdash.evaluate({"run": run}, truth, metrics="ndcg@10,recall@5,mrr@10,map@10,hit_rate@10")
    return [row["value"] for row in found.rows()]


def test_files_that_mean_the_clean_one_score_like_it(shared_data: Path) -> None:
    folder = shared_data / "dirty"
    run, truth = folder / "good/run.csv", folder / "good/truth.csv"
    due, n_compared = scores(run, truth), 0
    for case in json.loads((folder / "manifest.json").read_text())["cases"]:
        if case["same_metrics_as"] not in ("good/run.csv", "good/truth.csv"):
            continue
        file, other = folder / case["file"], OF_ONE_FORM.get(case["file"])
        is_run = case["kind"] == "run"
        beside = folder / other if other else truth if is_run else run
        found = scores(file, beside) if is_run else scores(beside, file)
        assert found == pytest.approx(due, abs=1e-12), case["file"]
        n_compared += 1
    assert n_compared > 20
