"""What the set-up files promise each other: commands, versions, pins and settings agree."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import recdash
from recdash.settings import PREFIX, Settings
from recdash.web.middleware import HOSTS_VARIABLE

PYTHONS = ["3.11", "3.12", "3.13"]
LOCKS = ["requirements.txt", "tests/requirements.txt"]


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    with (root / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["project"]


def text(root: Path, name: str) -> str:
    return (root / name).read_text(encoding="utf-8")


def place(python: str) -> dict[str, str]:
    """A 64-bit Linux with this Python, as markers see it."""
    return {
        "python_version": python,
        "python_full_version": f"{python}.5",
        "sys_platform": "linux",
        "platform_machine": "x86_64",
        "platform_python_implementation": "CPython",
        "implementation_name": "cpython",
        "extra": "",
    }


def locked(root: Path, name: str) -> list[tuple[str, list[str]]]:
    """Every requirement of a lock, with the hashes of the files that may be installed for it."""
    lines = [line for line in text(root, name).splitlines() if not line.startswith("#")]
    wanted = [line for line in "\n".join(lines).replace("\\\n", " ").splitlines() if line]
    split = [line.split("--hash=") for line in wanted]
    return [(pin.strip(), [given.strip() for given in hashes]) for pin, *hashes in split]


def pins(root: Path, name: str, python: str) -> dict[str, Version]:
    """Package → the one version that ``name`` installs under ``python``."""
    wanted = [Requirement(line) for line, _ in locked(root, name)]
    chosen = [one for one in wanted if one.marker is None or one.marker.evaluate(place(python))]
    names = [canonicalize_name(one.name) for one in chosen]
    assert sorted(set(names)) == sorted(names), "a package is pinned twice"
    return {canonicalize_name(one.name): Version(str(one.specifier).removeprefix("==")) for one in chosen}


# ── pins ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("python", PYTHONS)
def test_pins_lie_in_the_ranges_of_the_package(root: Path, project: dict[str, Any], python: str) -> None:
    pinned = pins(root, "requirements.txt", python)
    for line in project["dependencies"]:
        wanted = Requirement(line)
        assert pinned[canonicalize_name(wanted.name)] in wanted.specifier


@pytest.mark.parametrize("python", PYTHONS)
def test_test_pins_lie_in_the_ranges_of_the_extras(root: Path, project: dict[str, Any], python: str) -> None:
    pinned = pins(root, "tests/requirements.txt", python)
    extras = project["optional-dependencies"]
    for line in extras["dev"] + extras["docs"] + extras["mcp"] + extras["postgres"]:
        wanted = Requirement(line)
        assert pinned[canonicalize_name(wanted.name)] in wanted.specifier


@pytest.mark.parametrize("python", PYTHONS)
def test_tests_run_on_the_versions_that_users_get(root: Path, python: str) -> None:
    users, tests = (pins(root, name, python) for name in LOCKS)
    assert users == {name: tests[name] for name in users}


@pytest.mark.parametrize("name", LOCKS)
def test_pins_name_no_registry_and_no_local_path(root: Path, name: str) -> None:
    lines = [line for line, _ in locked(root, name)]
    assert [line for line in lines if not re.match(r"[a-z0-9-]+==[^ /]+( ; [^/@]+)?$", line)] == []


@pytest.mark.parametrize("name", LOCKS)
def test_every_pin_has_the_hashes_of_its_files(root: Path, name: str) -> None:
    """With one hash in a file, pip demands a hash of everything that the file installs."""
    bare = [
        pin
        for pin, hashes in locked(root, name)
        if not hashes or not all(re.fullmatch(r"sha256:[0-9a-f]{64}", given) for given in hashes)
    ]
    assert bare == []


def test_the_build_backend_is_one_version(root: Path, project: dict[str, Any]) -> None:
    """Of what builds the package there is no lock: pip reads its version from pyproject.toml alone."""
    system = tomllib.loads(text(root, "pyproject.toml"))["build-system"]
    assert re.fullmatch(r"hatchling==\d+(\.\d+)+", *system["requires"])
    assert project["name"] == "recdash"


# ── versions ─────────────────────────────────────────────────────────────────────────────────


def test_the_newest_entry_of_the_changelog_is_this_version(root: Path) -> None:
    first = re.search(r"^## (\S+)", text(root, "CHANGELOG.md"), re.MULTILINE)
    assert first is not None
    assert first[1] == recdash.__version__


def test_the_package_is_built_with_the_version_that_it_says(project: dict[str, Any]) -> None:
    assert project["version"] == recdash.__version__


def test_the_command_line_says_the_version_without_being_installed(root: Path, tmp_path: Path) -> None:
    program = "import sys; sys.path.insert(0, sys.argv.pop(1)); from recdash.cli import main; main()"
    command = [sys.executable, "-I", "-c", program, str(root), "--version"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert recdash.__version__ in said.stdout, said.stderr


def test_every_python_that_is_promised_is_in_the_classifiers(project: dict[str, Any]) -> None:
    prefix = "Programming Language :: Python :: "
    named = [one.removeprefix(prefix) for one in project["classifiers"] if one.startswith(prefix)]
    assert named == PYTHONS
    assert project["requires-python"] == f">={PYTHONS[0]}"


# ── commands ─────────────────────────────────────────────────────────────────────────────────


def make_targets(root: Path) -> set[str]:
    return set(re.findall(r"^([a-z-]+):", text(root, "Makefile"), re.MULTILINE))


def test_make_calibration_measures_every_section_of_its_page(root: Path) -> None:
    (recipe,) = re.findall(r"^calibration:.*\n((?:\t.*\n)+)", text(root, "Makefile"), re.MULTILINE)
    parts = re.search(r"for part in ([^;]+);", recipe)
    assert parts is not None
    sections = re.findall(r"python -m benchmarks\.(\w+)", text(root, "docs/calibration.md"))
    assert set(parts[1].replace("\\", " ").split()) == {"calibration", *sections}


def test_continuous_integration_runs_what_the_readme_says(root: Path) -> None:
    assert text(root, ".ci/run").splitlines()[-1] == "exec make test"
    assert "make test" in text(root, "README.md")


@pytest.mark.parametrize("name", ["README.md", "pyproject.toml", "tests/requirements.txt"])
def test_every_make_command_that_is_named_exists(root: Path, name: str) -> None:
    named = set(re.findall(r"(?:`|^|    |\$ )make ([a-z][a-z-]*)", text(root, name), re.MULTILINE))
    assert named <= make_targets(root)


def test_make_help_names_every_target(root: Path) -> None:
    said = subprocess.run(["make", "help"], cwd=root, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"make ([a-z-]+)", said)) == make_targets(root)


def test_the_container_runs_the_dashboard_on_the_port_that_it_exposes_and_checks(root: Path) -> None:
    lines = text(root, "Dockerfile")
    exposed = re.search(r"^EXPOSE (\d+)$", lines, re.MULTILINE)
    assert exposed is not None
    assert f"--server.port={exposed[1]}" in lines
    assert f"http://127.0.0.1:{exposed[1]}/_stcore/health" in lines


# ── settings ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["README.md", "docs/deployment.md", "docs/api.md", "docs/scale.md"])
def test_every_setting_that_is_named_exists(root: Path, name: str) -> None:
    named = set(re.findall(rf"`({PREFIX}[A-Z_]+[A-Z])`", text(root, name)))
    known = {PREFIX + field.upper() for field in Settings.model_fields} | {HOSTS_VARIABLE}
    assert named - {"RECDASH_SERVER", "RECDASH_TOKEN"} <= known
    assert named


def test_the_dashboard_asks_the_network_for_nothing_and_listens_at_home_only(root: Path) -> None:
    config = tomllib.loads(text(root, ".streamlit/config.toml"))
    assert config["server"]["address"] == "127.0.0.1"
    assert config["browser"]["gatherUsageStats"] is False
    assert "http" not in str(config["theme"])


def test_plotly_gets_enough_colours_not_to_fall_back_to_its_own(root: Path) -> None:
    theme = tomllib.loads(text(root, ".streamlit/config.toml"))["theme"]
    assert len(theme["chartCategoricalColors"]) >= 10
