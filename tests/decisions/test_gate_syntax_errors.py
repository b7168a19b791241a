"""What is wrong with the syntax of a file of rules is said in plain words, with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from recdash.decisions.gate.rules_file import GateSettings, in_folder, read_file
from recdash.errors import InputError

YAML = [
    ("rules:\n\t- a", 2, "a tab stands where YAML takes blanks, in '- a'"),
    ("rules:\n  - a: b: c", 2, "': ' stands where no key can be, in '- a: b: c'"),
    ("rules:\n  - 'a\n  - b\n", 2, "the quotes of a text that begins here are not closed, in '- 'a'"),
    ("rules:\n  - [a\n", 2, "a bracket that opens here is not closed, in '- [a'"),
    ('- "a\\q"', 1, "a backslash stands in double quotes, in '- \"a\\q\"'"),
    ("- a\n- @b", 2, "a text cannot begin with '@', in '- @b'"),
    ("- *a", 1, "a text cannot begin with '*', in '- *a'"),
    ("- >= 5", 1, "a text cannot begin with '>' or '|', in '- >= 5'"),
    ("- > 5", 1, "a text cannot begin with '>' or '|', in '- > 5'"),
    ("rules:\n  - a\n - b", 3, "it does not continue the lines above, in '- b'"),
    ("rules:\nlink b", 2, "it is neither 'key: value' nor an item of a list, in 'link b'"),
    ("a: b\n---\nc: d", 2, "a second document begins here, in '---'"),
    ("rules: - a", 1, "a list begins behind a key, in 'rules: - a'"),
    ("? [a]\n: b", 1, "a list or a mapping stands in place of a key, in '? [a]'"),
    ("- a\n- b\x01", 2, "it has a control character, in '- b\x01'"),
    ("%x", 1, "a line cannot begin with '%', in '%x'"),
    ("%x\n- a", 1, "a line cannot begin with '%', in '%x'"),
    ("rules:\n- a\n%x >= 0\n- b", 3, "a line cannot begin with '%', in '%x >= 0'"),
    ("%YAML 1.1\n---\n- [a", 3, "a bracket that opens here is not closed, in '- [a'"),
    ("}", 1, "the line is not YAML, in '}'"),
    (f"- @{'a' * 100}", 1, f"a text cannot begin with '@', in '- @{'a' * 56}…'"),
]
TOML = [
    ("a = ", 1, "no value of TOML follows '=', '[' or ',', in 'a ='"),
    ("a = b", 1, "no value of TOML follows '=', '[' or ',', in 'a = b'"),
    ("a", 1, "it is not key = value, in 'a'"),
    ("a = 1\na = 2\n\n", 2, "it gives a key a second value, in 'a = 2'"),
    ("[a]\n[a]", 2, "it begins a table a second time, in '[a]'"),
    ("[a\nb = 1", 1, "the name of a table has no closing bracket, in '[a'"),
    ("a = ['b' 'c']", 1, "a bracket is not closed, or a comma is missing, in 'a = ['b' 'c']'"),
    ("a = 1\nb = 'c\n'", 2, "the quotes of a text are not closed, in 'b = 'c'"),
    ('a = "\\q"', 1, "a backslash stands in double quotes, in 'a = \"\\q\"'"),
    ("a = 1 2", 1, "more follows after the value, in 'a = 1 2'"),
    ("a = '\x01'", 1, "it has a control character, in 'a = '\x01''"),
]


@pytest.mark.parametrize(
    ("name", "text", "line", "finding"),
    [*(("rules.yaml", *case) for case in YAML), *(("gate.toml", *case) for case in TOML)],
)
def test_a_syntax_error_names_file_line_and_cause(
    tmp_path: Path, name: str, text: str, line: int, finding: str
) -> None:
    file = tmp_path / "some" / name
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_file(file)
    (problem,) = refused.value.problems
    assert (problem.code, problem.place, problem.found) == ("bad-rules-file", f"{file}, line {line}", finding)
    assert problem.fix.endswith(".")


def test_the_pyproject_of_a_folder_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = a")
    with pytest.raises(InputError, match=r"pyproject\.toml, line 2: no value of TOML follows"):
        in_folder(tmp_path)


def test_an_empty_setting_is_one_that_is_not_given(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("rules: [a >= 0]\nlink:\ninconclusive:\n")
    assert read_file(file) == GateSettings(("a >= 0",))
