"""What better forecasts of the number of tasks would give `learned`: the table in docs/studies/forecasts.md.

`python -m tools.forecast_ideas` plays every idea on five days of each trace (load 1.6, tasks of their own seeds,
the days before as history; a quarter of an hour of one core) and writes online/lora/forecasts.csv: the welfare of every
run. Runs that stand there already are not made again: without the file, all are. The table has welfare over that of the
same policy with the true counts. No constant was chosen on these days.
"""

from __future__ import annotations

import csv
import math
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np

from ratiobench.bench.lora.paper_suites import TRACES, days_before, prices
from ratiobench.bench.results.ratios import format_decimal
from ratiobench.instances.lora.arrivals import days
from ratiobench.instances.lora.format import content_hash
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.history import join
from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.learned import forecast, policy
from ratiobench.online.lora.learned.filling import find_shares
from ratiobench.online.lora.learned.past import Floats
from ratiobench.online.lora.run import run
from tools.readme_tables import ROOT, figures, make_table, write_tables

TABLE = ROOT / "online" / "lora" / "forecasts.csv"
TASKS, NODES, BEFORE = 1370, 10, 7
# Paths of counts that are drawn; slots of a piece; pieces of earlier days that begin alike; slots that say how
PATHS, BLOCK, NEAR, RECENT = 8, 12, 12, 3


class AsItIs(forecast.Forecast):
    """What the product does; `true` has the counts of the day itself, which only one idea may look at."""

    true: Floats


class TrueCounts(AsItIs):
    """Known to nobody."""

    def ways(self, now: int, came: Floats) -> list[Floats]:
        left = self.true.copy()
        left[:now] = 0
        left[now] = max(0.0, left[now] - came[now])
        left[now + self._hour :] *= self._ahead
        return [left]


class NearCounts(AsItIs):
    """The counts of the next `SLOTS` slots, known to nobody, the present one too; what is left comes as foretold."""

    SLOTS = 0

    def ways(self, now: int, came: Floats) -> list[Floats]:
        found = [self._expected(now, came, fade) for fade in self._fades]
        until = now + self.SLOTS
        for left in found:
            left[now:until] = self.true[now:until]
            left[now] = max(0.0, left[now] - came[now])
            rest = max(0.0, self.total - float(came.sum()) - float(left[now:until].sum()))
            left[until:] *= rest / max(1e-9, float(left[until:].sum()))
            left[max(until, now + self._hour) :] *= self._ahead
        return found


class HalfHour(NearCounts):
    """Three slots."""

    SLOTS = 3


class Hour(NearCounts):
    """Six slots."""

    SLOTS = 6


class TwoHours(NearCounts):
    """Twelve slots."""

    SLOTS = 12


class Weekday(AsItIs):
    """The same day of the last week counts as much as all others together."""

    def __init__(self, days: Sequence[Floats], slots: int, seconds: int, total: str, ahead: float | None) -> None:
        weighed = [*days, *[days[-7]] * (len(days) - 2)] if len(days) >= 7 else days
        super().__init__(weighed, slots, seconds, total, ahead)


class Analogs(AsItIs):
    """What follows is put together from pieces of earlier days that began as the last half hour did."""

    def __init__(self, days: Sequence[Floats], slots: int, seconds: int, total: str, ahead: float | None) -> None:
        super().__init__(days, slots, seconds, total, ahead)
        self._stream = np.random.default_rng(5)
        self._days = [day * slots / max(1.0, day.sum()) for day in days]
        places = [(a, u) for a in range(len(days)) for u in range(RECENT, slots - BLOCK)]
        level = np.log(np.array([self._days[a][u - RECENT : u].mean() for a, u in places]) + 0.1)
        order = np.argsort(level, kind="stable")
        self._level, self._places = level[order], [places[k] for k in order.tolist()]

    def _path(self, now: int, slots: int, recent: float) -> Floats:
        path, t = np.zeros(slots), now
        while t < slots:
            near = int(np.searchsorted(self._level, np.log(recent + 0.1)) + self._stream.integers(-NEAR, NEAR + 1))
            a, u = self._places[min(max(near, 0), len(self._places) - 1)]
            piece = self._days[a][u : u + min(BLOCK, slots - t)]
            path[t : t + len(piece)] = piece
            recent, t = float(piece[-RECENT:].mean()), t + len(piece)
        return path

    def paths(self, now: int, came: Floats) -> list[Floats]:
        """So many ways in which the day may go on, each with the tasks that are left."""
        slots = len(came)
        usual, first = super().ways(now, came)[0], max(0, now - RECENT + 1)
        recent = float(came[first : now + 1].sum()) * slots / self.total / max(0.5, min(RECENT, now + 1) - 0.5)
        found = []
        for _ in range(PATHS):
            path = self._path(now, slots, recent) * self.total / slots
            path[now] = usual[now]
            found.append(path * max(0.0, self.total - float(came.sum())) / max(1e-9, float(path.sum())))
        return found

    def ways(self, now: int, came: Floats) -> list[Floats]:
        return [np.asarray(np.mean(self.paths(now, came), axis=0))]


class Scenarios(Analogs):
    """The same, but prices are the means of those of every path, not those of the mean path."""

    def ways(self, now: int, came: Floats) -> list[Floats]:
        return self.paths(now, came)


@dataclass(frozen=True, slots=True)
class Idea:
    """A forecast, constants of it, options of `learned`, and days of history."""

    told: str
    forecast: type[AsItIs] = AsItIs
    constants: Mapping[str, Any] = field(default_factory=dict)
    options: str = ""
    days: int = BEFORE


IDEAS = (
    Idea("the true counts of the day (oracle)", TrueCounts),
    Idea("true counts of the next half hour (oracle), then the forecast", HalfHour),
    Idea("true counts of the next hour (oracle)", Hour),
    Idea("true counts of the next two hours (oracle)", TwoHours),
    Idea("the forecast of `learned`"),
    Idea("14 days of history in place of 7", days=14),
    Idea("the same weekday counts as much as the six others", Weekday),
    Idea("the mean day without flattening", constants={"RECURS": (-1.0, 0.0)}),
    Idea("a flat mean day", constants={"RECURS": (1e9, 2e9)}),
    Idea("one scenario for a burst, its mean", constants={"BURSTY": math.inf}),
    Idea("two scenarios on all traces", constants={"BURSTY": -math.inf}),
    Idea(
        "0.8 of the present deviation, for 4 hours on average",
        constants={"STRENGTH": 0.8, "MEMORY": 14_400, "LASTS": (4200, 19_800)},
    ),
    Idea("all of the present deviation, for an hour on average", constants={"MEMORY": 3600, "LASTS": (1050, 4950)}),
    Idea("no extra demand ahead", options="ahead=1,"),
    Idea("demand beyond an hour times 1.2 on all traces", options="ahead=1.2,"),
    Idea("pieces of earlier days that began alike", Analogs),
    Idea("mean of the prices of eight such days, solved every 60 arrivals", Scenarios, options="every=60,"),
    Idea("the number of tasks is unknown", options="total=unknown,"),
    Idea("prices ignore waste", options="waste=0,"),
    Idea("`wish=monotone`", options="wish=monotone,"),
)
TRUE = IDEAS[0].told


def day(trace: str, date: str, number: int, j: int) -> tuple[Instance, Instance]:
    """The day and so many days before it."""
    recipe = {
        "kind": "paper", "name": f"{trace} {date}", "seed": ["forecasts", trace, date], "nodes": NODES,
        "tasks": TASKS, "arrivals": {"trace": trace, "day": date}, "prices": prices(j),
    }  # fmt: skip
    return generate(recipe), join([generate(each) for each in days_before(recipe, trace, date, number)["recipes"]])


class _Shares(dict[str, Any]):
    """The shares of a day, found once for all ideas."""

    def __call__(self, day: Instance) -> Any:
        key = content_hash(day)
        if key not in self:
            self[key] = find_shares(day)
        return self[key]


_SHARES = _Shares()


def play(idea: Idea, today: Instance, history: Instance) -> int:
    """Welfare of `learned` with the idea."""
    policy._KEPT.clear()
    idea.forecast.true = np.bincount(today.arrival - 1, minlength=today.slots).astype(float)
    with ExitStack() as changed:
        for name, value in idea.constants.items():
            changed.enter_context(patch.object(forecast, name, value))
        changed.enter_context(patch.object(policy, "Forecast", idea.forecast))
        changed.enter_context(patch.object(policy, "find_shares", _SHARES))
        return int(run(today, f"learned:{idea.options}prior=history", prior=history).welfare)


def table() -> str:
    """The mean over the days of each trace, in Markdown, rounded down."""
    rows = figures(TABLE)
    earned = {(row["trace"], row["day"], row["idea"]): int(row["welfare"]) for row in rows.to_dict("records")}
    lines = []
    for idea in (each.told for each in IDEAS if each.told in set(rows["idea"])):
        cells = []
        for trace in dict.fromkeys(rows["trace"]):
            shares = [
                Fraction(found, earned[trace, date, TRUE])
                for (of, date, told), found in earned.items()
                if (of, told) == (trace, idea)
            ]
            cells.append(format_decimal(sum(shares, Fraction(0)) / len(shares), 3, up=False) if shares else "-")
        lines.append([idea, *cells])
    return make_table(["idea", *dict.fromkeys(rows["trace"])], lines)


TABLES = {("docs/studies/forecasts.md", "forecasts"): table}  # Where the table stands, and what makes it


Run = tuple[str, str, str]  # Trace, day, idea


def known() -> dict[Run, int]:
    """Welfare of the runs that stand in the file."""
    rows = figures(TABLE).to_dict("records") if TABLE.exists() else []
    return {(row["trace"], row["day"], row["idea"]): int(row["welfare"]) for row in rows}


def measure(found: dict[Run, int]) -> dict[Run, int]:
    """Every idea on five days of the shipped weeks, Philly first; what was found is kept."""
    earned = {}
    for trace in sorted(TRACES, key=lambda name: name != "philly"):
        for j, date in enumerate(days(trace)[1:6]):
            for number in (BEFORE, 14):
                wanted = {(trace, date, each.told): each for each in IDEAS if each.days == number}
                made = day(trace, date, number, j) if wanted.keys() - found.keys() else None
                for one, idea in wanted.items():
                    if one not in found and made is not None:
                        print(*one, sep=", ", file=sys.stderr, flush=True)
                    earned[one] = found[one] if one in found or made is None else play(idea, *made)
    return earned


if __name__ == "__main__":
    if sys.argv[1:] != ["--table"]:
        os.environ["RATIOBENCH_CACHE"] = ""
        earned = measure(known())
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["trace", "day", "idea", "welfare"])
            writer.writerows([*of, welfare] for of, welfare in earned.items())
    write_tables(TABLES)
