"""The package as pip installs it: built, unpacked away from the checkout, and used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Server, free_port, settings_of, stop_server, wait_until_healthy

# The dashboard of the installed package, page by page.
OPEN_ALL_PAGES = """
import json, sys
from pathlib import Path

import recdash
sys.path.append(sys.argv[1])
import app_pages
from recdash.ui.shell import navigation

app_pages.ROOT = Path(recdash.__file__).parents[1]
names = [name for tabs in navigation.EVERYTHING.values() for name in tabs]
pages = {name: str(navigation.PAGES / f"{name}.py") for name in names}
for name in pages:
    app_pages.open_page(name)
print(json.dumps({"package": recdash.__file__, "pages": pages}))
"""
# What needs no dashboard, where its libraries and the modules of Unix are absent.
WITHOUT_EXTRAS = """
import sys
for absent in ("streamlit", "plotly", "sklearn", "fcntl", "resource"):
    sys.modules[absent] = None
import recdash
lists = {"u1": ["a", "b"], "u2": ["b", "c"]}
evaluation = recdash.evaluate({"als": lists}, {"u1": ["b"], "u2": ["b"]}, metrics=["mrr@2"])
print(evaluation.table())
table = "user_id,variant,orders\\n" + "".join(f"u{n},{'ab'[n % 2]},{n % 3}\\n" for n in range(90))
open("users.csv", "w").write(table)
print(recdash.ab_test(sessions="users.csv", control="a").table())
from recdash.cli import main
open("run.csv", "w").write("user_id,item_id,rank\\nu1,a,1\\nu1,b,2\\n")
open("truth.csv", "w").write("user_id,item_id\\nu1,b\\n")
main(args=["evaluate", "--run", "als=run.csv", "--truth", "truth.csv", "--metrics", "mrr@2"])
"""


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=root, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel installs."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def of_installed(installed: Path, data: Path) -> dict[str, str]:
    """Returns an environment in which Python finds the installed package first."""
    return {**os.environ, **settings_of(data), "PYTHONPATH": str(installed)}


def python(installed: Path, folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", *arguments],
        cwd=folder,
        env=of_installed(installed, folder),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_the_dashboard_is_in_the_wheel_as_it_is_in_the_checkout(root: Path, installed: Path) -> None:
    names = ["app.py", ".streamlit/config.toml", *(f"pages/{path.name}" for path in root.glob("pages/*.py"))]
    dashboard = installed / "recdash" / "dashboard"
    assert {name: (dashboard / name).read_bytes() for name in names} == {
        name: (root / name).read_bytes() for name in names
    }


def test_the_wheel_has_every_file_of_the_package(root: Path, wheel: Path) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "recdash"], cwd=root, check=True, capture_output=True, text=True
    ).stdout.split()
    with zipfile.ZipFile(wheel) as archive:
        assert set(tracked) - set(archive.namelist()) == set()
    assert "recdash/py.typed" in tracked


def test_the_installed_dashboard_draws_every_page(root: Path, installed: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    python(installed, data, "-m", "recdash", "demo")
    drawn = json.loads(
        python(installed, data, "-c", OPEN_ALL_PAGES, str(root / "tests" / "support")).splitlines()[-1]
    )
    assert drawn["package"] == str(installed / "recdash" / "__init__.py")
    assert set(drawn["pages"]) == {path.stem for path in root.glob("pages/*.py")}
    assert all(path.startswith(str(installed)) for path in drawn["pages"].values())


@pytest.fixture
def served(installed: Path, tmp_path: Path) -> Iterator[Server]:
    """``recdash serve`` of the installed package, started in an empty folder."""
    port, log = free_port(), tmp_path / "server.log"
    command = [sys.executable, "-P", "-m", "recdash", "serve", "--port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=tmp_path, env=of_installed(installed, tmp_path), stdout=output, stderr=output
        )
    server = Server(f"http://127.0.0.1:{port}", tmp_path, log, process)
    yield server
    stop_server(server)


def test_recdash_serve_works_away_from_a_checkout(served: Server) -> None:
    wait_until_healthy(served)


def test_what_needs_no_dashboard_works_without_its_libraries(installed: Path, tmp_path: Path) -> None:
    said = python(installed, tmp_path, "-c", textwrap.dedent(WITHOUT_EXTRAS))
    assert "0.75" in said  # (1/2 + 1) / 2
    assert "orders" in said
    assert ["mrr@2", "0.500"] in [line.split() for line in said.splitlines()]  # of u1 alone


TYPED = """
from __future__ import annotations

import pandas as pd

import recdash


def choose(lists: dict[str, pd.DataFrame], truth: pd.DataFrame, baseline: str) -> str:
    evaluation = recdash.evaluate(lists, truth, metrics=["ndcg@10"])
    table: pd.DataFrame = evaluation.table()
    print(table.to_string(), *evaluation.warnings)
    compared = evaluation.compare("ndcg@10", baseline=baseline)
    print(compared.table(), compared.plot())
    return compared.verdict.headline


test = recdash.ab_test(sessions="users.csv", control="a")
print(test.table(), [row.lift for row in test.rows])
for experiment in recdash.open("sqlite:///recdash.db").experiments.all():
    print(experiment.name)
"""


@pytest.mark.long
def test_a_script_that_uses_it_is_typed(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(TYPED, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "Success: no issues found in 1 source file\n"
    wrong = TYPED.replace('metrics=["ndcg@10"]', "metrics=10")
    (tmp_path / "script.py").write_text(wrong, encoding="utf-8")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert 'Argument "metrics" to "evaluate" has incompatible type "int"' in done.stdout


@pytest.mark.long
def test_pip_installs_it_into_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    """Asks the package index."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    bin_folder = tmp_path / "venv" / "bin"
    subprocess.run([bin_folder / "pip", "install", "--quiet", wheel], check=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)} | settings_of(tmp_path)
    done = subprocess.run(
        [bin_folder / "recdash", "demo"], cwd=tmp_path, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Loaded 'Demo" in done.stdout + done.stderr
