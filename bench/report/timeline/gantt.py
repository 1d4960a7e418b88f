"""The Gantt chart of a solution: machines from top to bottom, time from left to right."""

from __future__ import annotations

from collections import Counter

from ratiobench.bench.draw.scales import Axis
from ratiobench.bench.draw.svg import LETTER, LINE, Frame, measure_widest
from ratiobench.bench.family.capabilities import Gantt
from ratiobench.instances.io.errors import InputError

WIDTH = 1140.0  # Of the chart, in units of which a letter's size is ten
# Height of a row at most and at least, and of all rows together between these
HIGHEST, LOWEST, USUAL = 28.0, 3.0, 560.0
# Neighbours are told apart by a line of the paper's colour
STYLE = (
    ".chart .job { stroke: var(--paper); stroke-width: 0.35; } .chart .job-1 { fill: var(--s1); } "
    ".chart .job-2 { fill: var(--s2); } .chart .job-3 { fill: var(--s3); } .chart .job-4 { fill: var(--muted); } "
    ".chart .job-5 { fill: var(--muted); fill-opacity: 0.35; } "
    ".chart .told .job { fill: var(--ink); }"
)
MOST_ROWS, MOST_BLOCKS = 500, 20_000  # Machines and rectangles up to which the chart is drawn


def require_drawable(gantt: Gantt) -> None:
    """Refuse a chart that would be too large for a browser."""
    blocks = sum(len(task.blocks) for task in gantt.tasks)
    for count, most, what in ((len(gantt.rows), MOST_ROWS, "nodes"), (blocks, MOST_BLOCKS, "pieces of tasks")):
        if count > most:
            problem = f"no Gantt chart of {count:,} {what}: it has at most {most:,}"
            raise InputError("", "", problem)


def draw_gantt(gantt: Gantt) -> str:
    """Draw a Gantt chart."""
    require_drawable(gantt)
    rows, times = len(gantt.rows), len(gantt.times)
    height = min(HIGHEST, max(LOWEST, USUAL / max(1, rows)))
    found = Counter(task.kind for task in gantt.tasks)
    kinds = [name for name in gantt.kinds if found[name]]
    step = max(1, -(-times // 12))
    texts = gantt.clock or [str(time) for time in gantt.times]
    title = gantt.clock_title if gantt.clock else gantt.unit
    across = Axis(0.0, float(times), title, labels=[(float(at), texts[at]) for at in range(0, times, step)])
    names = [*gantt.rows, "node"]
    frame = Frame(
        "Which nodes run which tasks", across, Axis(0.0, float(max(1, rows)), labels=[(0.0, "")]), width=WIDTH,
        height=22 + height * max(1, rows) + 32, above=22, right=[name for name, _ in gantt.groups],
        left=10 + measure_widest(names),
    )  # fmt: skip
    left = frame.x.start
    for kind in kinds:
        frame.box(f"job job-{_number(gantt, kind)}", left, 4, left + 12, 14)
        text = f"{kind} ({found[kind]:,})"
        frame.text(left + 17, 9, text)
        left += 17 + LETTER * len(text) + 14
    every = max(1, -(-int(LINE) // max(1, int(height))))
    for row in range(0, rows, every):
        frame.text(frame.x.start - 4, frame.top + height * (row + 0.5), gantt.rows[row], "end")
    first = 0
    for name, count in gantt.groups:
        edge = frame.top + height * first
        frame.line("axis", (frame.x.start, edge), (frame.x.end, edge))
        frame.text(frame.x.end + 6, edge + min(height * count, 2 * LINE) / 2, name)
        first += count
    for task in gantt.tasks:
        with frame.mark(task.title):
            for block in task.blocks:
                top = frame.top + height * block.row
                frame.box(
                    f"job job-{_number(gantt, task.kind)}", frame.x(block.start), top + height * block.low,
                    frame.x(block.end), top + height * block.high,
                )  # fmt: skip
    frame.parts.insert(0, f"<style>{STYLE}</style>")
    frame.said[:] = [f"{count:,} {kind}" for kind, count in found.items()]
    return frame.render()


def _number(gantt: Gantt, kind: str) -> int:
    return 1 + list(gantt.kinds).index(kind)
