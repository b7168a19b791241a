"""The table and the picture, from the results alone: the generated part of README.md, and peers.svg."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from benchmarks.contenders import TASKS
from benchmarks.harness import Record, Results, ratio
from benchmarks.workloads import SIZES, rows_of

BEGIN, END = "<!-- begin of the generated part -->", "<!-- end of the generated part -->"
NONE = "–"


def write(results: Results, folder: Path) -> None:
    """Renew README.md between its marks (a new file is the marks alone) and draw peers.svg."""
    readme = folder / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.exists() else f"{BEGIN}\n{END}\n"
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    body = "\n".join(_sections(results))
    readme.write_text(f"{before}{BEGIN}\n\n{body}\n{END}{after}", encoding="utf-8")
    size = _pictured_size(results)
    if size:
        (folder / "peers.svg").write_text(picture(results, size), encoding="utf-8")


def _sections(results: Results) -> Iterator[str]:
    yield from _circumstances(results)
    size = _pictured_size(results)
    if size:
        yield from ("", f"![CPU seconds of recdash and other libraries, workload {size}](peers.svg)")
    yield from ("", "## An evaluation", "", *_goals(results))
    yield from ("", "## recdash by task and size", "", *_own(results))
    for size in SIZES:
        if _measured_peers(results, size):
            yield from ("", f"## Beside other libraries: {size}", "", *_beside(results, size))
    missing = [known for known in results.facts["peers"].values() if "reason" in known]
    if missing:
        yield from ("", "Not measured:", "")
        yield from (f"- {known['title']}: {known['reason']}" for known in missing)


def _circumstances(results: Results) -> Iterator[str]:
    facts = results.facts["machine"]
    records = [
        record
        for size in results.facts["records"]
        for key in results.facts["records"][size]
        if (record := results.get(size, key))
    ]
    days = sorted({record.session[:10] for record in records})
    if not days:
        yield "Nothing is measured yet."
        return
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    yield (
        f"Measured {when} on {facts['cores']} cores ({facts['processor']}), {facts['memory_gib']} GiB, "
        f"{facts['system']}; recdash {facts['recdash']}, Python {facts['python']}, NumPy {facts['numpy']}, "
        f"pyarrow {facts['pyarrow']}."
    )


# ── goals ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Goal:
    """A figure by size, and what it should be: at most, or at least, these values."""

    what: str
    figure: Callable[[Results, str], float | None]
    wanted: Mapping[str, float]
    at_least: bool = False

    def is_met(self, size: str, value: float) -> bool:
        return value >= self.wanted[size] if self.at_least else value <= self.wanted[size]


def _over(over: str, under: str) -> Callable[[Results, str], float | None]:
    def figure(results: Results, size: str) -> float | None:
        above, below = results.get(size, over), results.get(size, under)
        if above is None or below is None or not (above.finished and below.finished):
            return None
        return ratio(above, below)

    return figure


def _best_peer(task: str) -> Callable[[Results, str], float | None]:
    def figure(results: Results, size: str) -> float | None:
        keys = [f"{task}, {name}" for name in results.facts["peers"]]
        found = [_over(key, task)(results, size) for key in keys]
        return min((one for one in found if one is not None), default=None)

    return figure


def _peak(results: Results, size: str) -> float | None:
    record = results.get(size, "everything")
    return record.median_peak if record and record.finished else None


GOALS = (
    Goal(
        "every metric, every k, and the catalogue ÷ reading the columns, CPU",
        _over("everything", "read"),
        {"M": 2.5, "L": 3.5},
    ),
    Goal("every metric, text ids ÷ reading them, CPU", _over("everything, text", "read, text"), {"M": 2.5}),
    Goal("every metric, CSV ÷ reading it, CPU", _over("everything, csv", "read, csv"), {"M": 1.6}),
    Goal("best peer ÷ recdash, every k, CPU", _best_peer("every k"), {"M": 30}, at_least=True),
    Goal("best peer ÷ recdash, one cutoff, CPU", _best_peer("one cutoff"), {"S": 2, "M": 8}, at_least=True),
    Goal("peak memory, MiB", _peak, {"M": 250, "L": 350}),
    Goal(
        "other definitions from saved hits ÷ first evaluation, CPU",
        _over("from saved hits", "everything"),
        {"M": 0.08},
    ),
    Goal("every k ÷ one cutoff, CPU", _over("every k", "one cutoff"), {"M": 1.10}),
    Goal("shuffled rows ÷ grouped by user, CPU", _over("everything, shuffled", "everything"), {"M": 2.2}),
)


def _goals(results: Results) -> Iterator[str]:
    rows = [[goal.what, *(_goal_cell(goal, results, size) for size in SIZES)] for goal in GOALS]
    yield from _table(["", *SIZES], rows)


def _goal_cell(goal: Goal, results: Results, size: str) -> str:
    value = goal.figure(results, size)
    if value is None or size not in goal.wanted:
        return _number(value)
    wanted = f"{'≥' if goal.at_least else '≤'} {goal.wanted[size]:g}"
    mark = "✓" if goal.is_met(size, value) else "✗"
    return f"**{_number(value)}** {mark} (goal {wanted})"


# ── tables ───────────────────────────────────────────────────────────────────────────────────


OWN = {
    "read": "reading user, item and rank of the lists, streaming",
    "one cutoff": "six metrics at k = 10",
    "every k": "six metrics at every k",
    "everything": "every metric at every k, and the catalogue",
    "everything from Python": "… from Python (`recdash.evaluate`)",
    "from saved hits": "six other definitions at every k, from saved hits",
    "everything, shuffled": "every metric …, rows shuffled",
    "read, text": "reading, text ids",
    "everything, text": "every metric …, text ids",
    "read, csv": "reading, CSV",
    "everything, csv": "every metric …, CSV",
}


def _own(results: Results) -> Iterator[str]:
    measured = [size for size in SIZES if results.get(size, "everything")]
    rows = [
        [words, *(cell for size in measured for cell in _cost_cells(results.get(size, key)))]
        for key, words in OWN.items()
    ]
    growth = [_per_row(results, size) for size in measured]
    rows.append(["every metric …, CPU ns per row", *(cell for one in growth for cell in (one, ""))])
    yield from _table(["", *(f"{size} {unit}" for size in measured for unit in ("CPU s", "MiB"))], rows)


def _per_row(results: Results, size: str) -> str:
    record = results.get(size, "everything")
    return _number(record.median_cpu / rows_of(size) * 1e9 if record and record.finished else None)


def _beside(results: Results, size: str) -> Iterator[str]:
    head = ["", *(cell for task in TASKS for cell in (f"{task}: CPU s", "MiB", "÷ recdash")), "recall@10", ""]
    us = [results.get(size, task) for task in TASKS]
    own = [cell for record in us for cell in (*_cost_cells(record), "1")]
    rows = [["**recdash**", *own, _recall(us[0]), ""]]
    names = sorted(_measured_peers(results, size), key=lambda name: _order(results, size, name))
    for name in names:
        known = results.facts["peers"][name]
        records = [results.get(size, f"{task}, {name}") for task in TASKS]
        cells = [
            cell
            for record, ours in zip(records, us, strict=True)
            for cell in (*_cost_cells(record), _times(record, ours))
        ]
        title = f"{known['title']} {known.get('version', '')}"
        rows.append([title, *cells, _recall(records[0]), _remark(known, records)])
    yield from _table(head, rows)


def _remark(known: Mapping[str, str], records: Sequence[Record | None]) -> str:
    problems = [record.problem for record in records if record and record.problem]
    return "; ".join(filter(None, [known["note"], *dict.fromkeys(problems)]))


def _measured_peers(results: Results, size: str) -> list[str]:
    return [
        name for name in results.facts["peers"] if any(results.get(size, f"{task}, {name}") for task in TASKS)
    ]


def _order(results: Results, size: str, name: str) -> tuple[float, ...]:
    """By the harder task, the quicker first."""
    records = [results.get(size, f"{task}, {name}") for task in reversed(TASKS)]
    return tuple(record.median_cpu if record and record.finished else math.inf for record in records)


def _cost_cells(record: Record | None) -> tuple[str, str]:
    if record is None or record.problem or not record.cpu:
        return NONE, NONE
    return f"{'> ' * record.late}{_number(record.median_cpu)}", f"{record.median_peak:.0f}"


def _times(record: Record | None, ours: Record | None) -> str:
    if not record or not ours or record.problem or not ours.finished or not record.cpu:
        return NONE
    return f"{'> ' * record.late}{_number(ratio(record, ours))}"


def _recall(record: Record | None) -> str:
    value = record.facts.get("recall@10") if record else None
    return NONE if value is None else f"{value:.4f}"


def _number(value: float | None) -> str:
    """Three digits, without a power of ten."""
    if value is None:
        return NONE
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:#.3g}".rstrip(".")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|---|{'---:|' * (len(head) - 1)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


# ── picture ──────────────────────────────────────────────────────────────────────────────────


WIDTH, LEFT, RIGHT, TOP, ROW, BAR = 860, 130, 90, 74, 46, 16
COLOURS = {"one cutoff": "#56B4E9", "every k": "#0072B2"}
INK, GRID, OURS = "#1f2933", "#d9dee3", "#D55E00"
TYPE = f'font-family="system-ui, sans-serif" font-size="13" fill="{INK}"'


def _pictured_size(results: Results) -> str | None:
    return next((size for size in reversed(SIZES) if _measured_peers(results, size)), None)


def picture(results: Results, size: str) -> str:
    """Bars of CPU seconds on a logarithmic axis, the quickest at the top."""
    names = sorted(_measured_peers(results, size), key=lambda name: _order(results, size, name))
    bars = [("recdash", {task: results.get(size, task) for task in TASKS})] + [
        (results.facts["peers"][name]["title"], {t: results.get(size, f"{t}, {name}") for t in TASKS})
        for name in names
    ]
    seconds = [one.median_cpu for _, tasks in bars for one in tasks.values() if one and one.cpu]
    low, high = math.floor(math.log10(min(seconds))), math.ceil(math.log10(max(seconds)))
    scale = (WIDTH - LEFT - RIGHT) / (high - low)

    def x(value: float) -> float:
        return LEFT + (math.log10(value) - low) * scale

    height = TOP + ROW * len(bars) + 34
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {TYPE}>',
            f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
            *_heading(size),
            *_axis([10.0**power for power in range(low, high + 1)], x, height - 30),
            *(line for place, (title, tasks) in enumerate(bars) for line in _bars(place, title, tasks, x)),
            "</svg>\n",
        ]
    )


def _heading(size: str) -> Iterator[str]:
    title = f"CPU seconds for {rows_of(size):,} rows, six metrics: less is better (logarithmic axis)"
    yield f'<text x="16" y="26" font-size="16" font-weight="600">{title}</text>'
    for place, (task, colour) in enumerate(COLOURS.items()):
        left = 16 + 120 * place
        yield f'<rect x="{left}" y="40" width="12" height="12" fill="{colour}"/>'
        yield f'<text x="{left + 18}" y="51">{task}</text>'


def _axis(ticks: Sequence[float], x: Callable[[float], float], bottom: float) -> Iterator[str]:
    for tick in ticks:
        yield f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP - 8}" y2="{bottom}" stroke="{GRID}"/>'
        yield f'<text x="{x(tick):.1f}" y="{bottom + 18}" text-anchor="middle">{tick:g}</text>'


def _bars(
    place: int, title: str, tasks: Mapping[str, Record | None], x: Callable[[float], float]
) -> Iterator[str]:
    top = TOP + ROW * place
    weight, ink = ("700", OURS) if title == "recdash" else ("400", INK)
    yield (
        f'<text x="{LEFT - 10}" y="{top + BAR + 5}" text-anchor="end" font-weight="{weight}" fill="{ink}">'
        f"{title}</text>"
    )
    for number, (task, record) in enumerate(tasks.items()):
        if record is None or not record.cpu or record.problem:
            continue
        y, end = top + number * (BAR + 2), x(record.median_cpu)
        faint = ' fill-opacity="0.45"' if record.late else ""
        size = f'width="{end - LEFT:.1f}" height="{BAR}"'
        yield f'<rect x="{LEFT}" y="{y}" {size} fill="{COLOURS[task]}"{faint}/>'
        yield f'<text x="{end + 6:.1f}" y="{y + 13}">{escape(_cost_cells(record)[0])}</text>'
