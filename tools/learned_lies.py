"""Who gains by which lie from `learned`: the table in docs/studies/misreports.md.

`python -m tools.learned_lies` plays a day of 550 tasks of each trace on four nodes again for every lie of every
tenth task (load 1.6, the three days before as history; 10 minutes of one core) and writes online/lora/lies.csv. No lie
is a proof of truthfulness: what is proved stands in the text, this counts what was found.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence

import pandas as pd

from ratiobench.bench.lora.paper_suites import TRACES, days_before, prices
from ratiobench.bench.lora.theory.payments.repeatable_run import RepeatableRun, Report
from ratiobench.instances.lora.arrivals import days
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.history import join
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.run import run
from tools.readme_tables import ROOT, figures, make_table, write_tables

TABLE = ROOT / "online" / "lora" / "lies.csv"
FORMS = {"as it is": "", "no waste": "waste=0,", "`wish=monotone`": "wish=monotone,", "`guard=59`": "guard=59,"}
LIES = ("another bid", "a later arrival", "an earlier deadline", "more work", "more memory")
TASKS, NODES, BEFORE, DAY, STRIDE = 550, 4, 3, 3, 10
EVERYTHING = 10**9  # Decisions that all runs of a day may take: none is left out


def reports(truth: Report, sizes: Sequence[int]) -> Iterator[tuple[str, Report]]:
    """The lies about one field each, with what they are about. sizes : the memory of all tasks, ascending."""
    for bid in (truth.bid // 2, truth.bid * 3 // 4, truth.bid * 5 // 4, 2 * truth.bid):
        yield LIES[0], truth._replace(bid=bid)
    for later in (1, 2, 4, 8):
        if truth.arrival + later <= truth.deadline:
            yield LIES[1], truth._replace(arrival=truth.arrival + later)
    for less in (1, 2, 4, 8):
        if truth.deadline - less >= truth.arrival:
            yield LIES[2], truth._replace(deadline=truth.deadline - less)
    for percent in (1, 10, 30):
        yield LIES[3], truth._replace(work=truth.work + max(1, truth.work * percent // 100))
    larger = [size for size in sizes if size > truth.memory_mb]
    more = {truth.memory_mb * (100 + percent) // 100 for percent in (1, 10, 25, 50, 75, 100, 200)}
    more |= {*larger, *((truth.memory_mb + size) // 2 + 1 for size in larger)}
    for size in sorted(more - {truth.memory_mb}):
        yield LIES[4], truth._replace(memory_mb=size)


def utility(value: int, decision: Decision | None) -> int:
    """Micro-dollars that a task keeps."""
    return 0 if decision is None else value - (decision.payment or 0)


def day(trace: str) -> tuple[Instance, Instance]:
    """The day, and the days before it."""
    date = days(trace)[DAY]
    recipe = {
        "kind": "paper", "name": f"{trace} {date}", "seed": ["lies", trace], "nodes": NODES, "tasks": TASKS,
        "arrivals": {"trace": trace, "day": date}, "prices": prices(0),
    }  # fmt: skip
    return generate(recipe), join([generate(each) for each in days_before(recipe, trace, date, BEFORE)["recipes"]])


def tried(trace: str) -> Iterator[list[object]]:
    """For each form and kind of lie: how many tasks were asked, how many lied with gain, and the most that one gained.

    The last is in parts of 10,000 of its valuation, rounded up.
    """
    today, history = day(trace)
    sizes = sorted(set(today.memory_mb.tolist()))
    for form, options in FORMS.items():
        told = run(today, f"learned:{options}prior=history", prior=history)
        again = RepeatableRun(today, told, EVERYTHING)
        gained: dict[str, list[int]] = {lie: [] for lie in LIES}
        asked = range(0, today.tasks, STRIDE)
        for i in asked:
            truth = again.truth(i)
            most = dict.fromkeys(LIES, 0)
            for lie, report in reports(truth, sizes):
                valid, decision = again.decision(i, report)
                if valid:
                    more = utility(truth.bid, decision) - utility(truth.bid, told.decisions[i])
                    most[lie] = max(most[lie], -(-more * 10_000 // truth.bid))
            for lie, gain in most.items():
                gained[lie].append(gain)
        for lie, gains in gained.items():
            yield [trace, form, lie, len(asked), sum(gain > 0 for gain in gains), max(gains)]
            print(trace, form, lie, sum(gain > 0 for gain in gains), file=sys.stderr, flush=True)


def table() -> str:
    """How many tasks of those that were asked gain, over all traces, and the most that one gains, in Markdown."""
    rows = figures(TABLE)

    def cell(part: pd.DataFrame) -> str:
        gain, asked, most = (part[name].astype(int) for name in ("gain", "asked", "most"))
        worth = f", at most {-(-max(most) // 10) / 10:.1f} % of its value" if gain.sum() else ""
        return f"{gain.sum()} of {asked.sum()}{worth}"

    lines = [
        [form, *(cell(rows[(rows["form"] == form) & (rows["lie"] == lie)]) for lie in LIES)]
        for form in dict.fromkeys(rows["form"])
    ]
    return make_table(["`learned`", *LIES], lines)


TABLES = {("docs/studies/misreports.md", "lies"): table}  # Where the table stands, and what makes it


if __name__ == "__main__":
    if sys.argv[1:] != ["--table"]:
        found = [row for trace in TRACES for row in tried(trace)]
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["trace", "form", "lie", "asked", "gain", "most"])
            writer.writerows(found)
    write_tables(TABLES)
