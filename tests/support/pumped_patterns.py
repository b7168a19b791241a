"""Runs every regular expression of recdash on long texts made of the pattern itself; a slow one is named.

Run as a program, in a process that may be killed: ``python pumped_patterns.py [PATTERN]``. It prints each
text before it is tried, so that the last line names the one that never ends; exit 1 where one took too long.
"""

from __future__ import annotations

import ast
import importlib
import itertools
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from re import _constants as code  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

LENGTH = 10_000
SECONDS = 0.05
"""Of processor time for one text. A linear pattern takes about a third of a thousandth of a second, one that
takes a step of ten nanoseconds for each pair of letters half a second."""
MOST_EXAMPLES = 24
WORDS = ("aaab", "aaa", "a")
"""What a function that makes a pattern of words is given: each is the beginning of the one before."""
USUAL = "0a _-\n.,;\"'(é²"
"""Letters that are tried beside those a pattern names: what stands for classes such as ``\\S``."""
ANYWHERE = {"search", "sub", "subn", "split", "findall", "finditer"}
CLASSES = {
    code.CATEGORY_DIGIT: r"\d", code.CATEGORY_NOT_DIGIT: r"\D", code.CATEGORY_SPACE: r"\s",
    code.CATEGORY_NOT_SPACE: r"\S", code.CATEGORY_WORD: r"\w", code.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip
REPEATS = (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT)


@dataclass(frozen=True)
class Used:
    """A pattern, where it stands, and its methods in use."""

    place: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


# ── which patterns there are ─────────────────────────────────────────────────────────────────


def all_patterns(package: ModuleType) -> list[Used]:
    """Every compiled pattern of the package's modules, and every literal given to a function of ``re``."""
    folder = Path(package.__path__[0])
    trees = {
        importlib.import_module(".".join(file.relative_to(folder.parent).with_suffix("").parts)): tree
        for file in sorted(folder.rglob("*.py"))
        if _imports_re(tree := ast.parse(file.read_text()))
    }
    methods = _methods(trees.values())
    used: dict[tuple[Any, int, frozenset[str]], Used] = {}
    for module, tree in trees.items():
        for each in itertools.chain(_called(module, tree, methods), _held(module, methods)):
            used.setdefault((each.pattern.pattern, each.pattern.flags, each.methods), each)
    return list(used.values())


def _imports_re(tree: ast.Module) -> bool:
    imported = [each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names]
    return "re" in imported


def _methods(trees: Iterable[ast.Module]) -> dict[str, set[str]]:
    """{name of a variable: methods that are called on it, anywhere}."""
    methods: dict[str, set[str]] = defaultdict(set)
    for node in itertools.chain.from_iterable(map(ast.walk, trees)):
        if isinstance(node, ast.Attribute):
            owner = node.value.value if isinstance(node.value, ast.Subscript) else node.value
            methods[getattr(owner, "attr", getattr(owner, "id", ""))].add(node.attr)
    return methods


def _called(module: ModuleType, tree: ast.Module, methods: Mapping[str, set[str]]) -> Iterator[Used]:
    names = {
        id(node.value): getattr(node.targets[0], "id", "")
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
    }
    for node in ast.walk(tree):
        function = _function_of_re(node)
        if function is None or not isinstance(node, ast.Call) or function == "escape":
            continue
        place = f"{module.__name__}:{node.lineno}"
        how = methods.get(names.get(id(node), ""), set()) if function == "compile" else {function}
        try:
            pattern = _value(module, node.args[0])
            flags = [_value(module, each.value) for each in node.keywords if each.arg == "flags"]
            flags += [_value(module, each) for each in node.args[1:2] if function == "compile"]
        except NameError:
            if makes_pattern := _returning(tree, node):
                yield Used(place, getattr(module, makes_pattern)(*WORDS), frozenset(how))
            elif not _is_held(tree, node):
                raise
            continue
        yield Used(place, re.compile(pattern, *flags), frozenset(how))


def _returning(tree: ast.Module, call: ast.Call) -> str | None:
    """The function of the module that takes words and returns what the call gives."""
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.args.vararg)
    return next((each.name for each in functions if getattr(each.body[-1], "value", None) is call), None)


def _is_held(tree: ast.Module, call: ast.Call) -> bool:
    """Whether the call stands in a comprehension of the module, which holds its patterns."""
    return any(call in ast.walk(node) for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign)))


def _function_of_re(node: ast.AST) -> str | None:
    function = getattr(node, "func", None)
    owner = getattr(function, "value", None)
    return function.attr if isinstance(function, ast.Attribute) and getattr(owner, "id", "") == "re" else None


def _value(module: ModuleType, node: ast.expr) -> Any:
    return eval(compile(ast.Expression(node), "pattern", "eval"), vars(module))  # noqa: S307


def _held(module: ModuleType, methods: Mapping[str, set[str]]) -> Iterator[Used]:
    for name, value in vars(module).items():
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
        for each in inside if not name.startswith("__") else ():
            if isinstance(each, re.Pattern):
                yield Used(f"{module.__name__}.{name}", each, frozenset(methods.get(name, ())))


# ── texts made of a pattern ──────────────────────────────────────────────────────────────────


def hostile(pattern: str) -> Iterator[str]:
    """Texts of ``LENGTH`` letters that begin as the pattern wants and repeat what it repeats."""
    tree = parser.parse(pattern)
    letters = "".join(dict.fromkeys([*_letters(tree), *USUAL]))
    beginnings, units = {""}, {*letters}
    for before, body in _repeats(tree, letters):
        beginnings.update(before[:2])
        units.update(body)
    for count in range(1, len(tree) + 1):
        units.update(_examples(tree[:count], letters)[:4])
    for unit, beginning in itertools.product(sorted(units - {""}), sorted(beginnings)):
        text = beginning + unit * (LENGTH // len(unit))
        yield text
        yield f"{text}\x01"
        yield f"{text}x"


def _letters(tree: Any) -> Iterator[str]:
    """Every letter and end of a range that a pattern names."""
    for node in _nodes(tree):
        if node[0] in (code.LITERAL, code.NOT_LITERAL):
            yield chr(node[1])
        elif node[0] is code.RANGE:
            yield chr(node[1][0])


def _nodes(tree: Any) -> Iterator[Any]:
    for node in tree:
        if isinstance(node, tuple):
            yield node
            yield from _nodes(part for part in _parts(node[1]))


def _parts(argument: Any) -> Iterator[Any]:
    if isinstance(argument, (parser.SubPattern, list)):
        yield from argument
    elif isinstance(argument, tuple):
        for part in argument:
            yield from _parts(part)


def _repeats(tree: Any, letters: str) -> Iterator[tuple[list[str], list[str]]]:
    """(what may stand before, what is repeated) of each repeat without an end."""
    for at, (kind, argument) in enumerate(tree):
        before = _examples(tree[:at], letters)
        if kind in REPEATS and argument[1] > MOST_EXAMPLES:
            yield before, _examples(argument[2], letters)
        for inner in _inner(kind, argument):
            for further, body in _repeats(inner, letters):
                yield [f"{one}{other}" for one in before[:2] for other in further[:2]], body


def _inner(kind: Any, argument: Any) -> list[Any]:
    if kind in REPEATS:
        return [argument[2]]
    if kind is code.SUBPATTERN:
        return [argument[3]]
    if kind is code.BRANCH:
        return list(argument[1])
    if kind in (code.ASSERT, code.ASSERT_NOT):
        return [argument[1]]
    return [argument] if kind is code.ATOMIC_GROUP else []


def _examples(nodes: Any, letters: str) -> list[str]:
    """Some texts that a sequence matches."""
    texts = [""]
    for kind, argument in nodes:
        ends = _examples_of(kind, argument, letters)
        texts = [one + end for one, end in itertools.islice(itertools.product(texts, ends), MOST_EXAMPLES)]
    return texts


def _examples_of(kind: Any, argument: Any, letters: str) -> list[str]:
    if kind is code.LITERAL:
        return [chr(argument)]
    if kind in (code.NOT_LITERAL, code.ANY, code.IN):
        return [letter for letter in letters if _is_in(letter, kind, argument)] or [""]
    if kind in REPEATS:
        one = _examples(argument[2], letters)
        return [text * max(argument[0], 1) for text in one]
    if kind in (code.AT, code.ASSERT, code.ASSERT_NOT, code.GROUPREF):
        return [""]
    return [text for inner in _inner(kind, argument) for text in _examples(inner, letters)] or [""]


def _is_in(letter: str, kind: Any, argument: Any) -> bool:
    if kind is code.ANY:
        return True
    if kind is code.NOT_LITERAL:
        return ord(letter) != argument
    negated = argument[0][0] is code.NEGATE
    return negated != any(_fits(letter, *item) for item in argument if item[0] is not code.NEGATE)


def _fits(letter: str, kind: Any, argument: Any) -> bool:
    if kind is code.CATEGORY:
        return re.match(CLASSES[argument], letter) is not None
    low, high = argument if kind is code.RANGE else (argument, argument)
    return bool(low <= ord(letter) <= high)


# ── trying them ──────────────────────────────────────────────────────────────────────────────


def tries(used: Used) -> Iterator[tuple[str, float]]:
    """(the text in short, seconds of processor time) for each text and method, said before it is tried."""
    raw = used.pattern.pattern
    is_text = isinstance(raw, str)
    for text in hostile(raw if is_text else raw.decode("latin-1")):
        data: Any = text if is_text else text.encode("latin-1", "replace")
        for method in sorted({_way(name) for name in used.methods} - {""}) or ["fullmatch", "search"]:
            short = f"{used.place} {raw!r}.{method}: {text[:20]!r} … {text[-9:]!r}"
            _say(short)
            seconds = _seconds(used.pattern, method, data)
            yield short, seconds if seconds <= SECONDS else _again(used.pattern, method, data)


def _seconds(pattern: re.Pattern[Any], method: str, data: Any) -> float:
    begin = time.process_time()
    if method == "search":
        sum(1 for _ in pattern.finditer(data))
    else:
        getattr(pattern, method)(data)
    return time.process_time() - begin


def _again(pattern: re.Pattern[Any], method: str, data: Any) -> float:
    """The seconds of a second try, as something else may have taken the time of the first.

    0 where half of the text takes more than a third of them: such a pattern grows with its text, and it is
    the machine that is slow.
    """
    seconds, half = (_seconds(pattern, method, text) for text in (data, data[: len(data) // 2] + data[-1:]))
    return 0.0 if half > seconds / 3 else seconds


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _way(method: str) -> str:
    return "search" if method in ANYWHERE else method if method in ("match", "fullmatch") else ""


def main(patterns: list[str]) -> int:
    """0 where every pattern kept within the limit."""
    import recdash

    given = [Used("given", re.compile(pattern), frozenset({"fullmatch", "search"})) for pattern in patterns]
    for used in given or all_patterns(recdash):
        for short, seconds in tries(used):
            if seconds > SECONDS:
                _say(f"SLOW {seconds:.2f} s: {short}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
