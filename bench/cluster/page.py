"""The page of a backtest: four pictures, each a function that draws into an `Axes`, and the tables of the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ratiobench.bench.cluster.tables import NAMES, list_answers, list_basis, list_tables, shown_policies
from ratiobench.bench.report.pictures import Picture
from ratiobench.bench.report.tables import Section, list_html
from ratiobench.bench.report.tables import render_page as render_sections
from ratiobench.instances.io.errors import make_printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ratiobench.bench.cluster.backtest import Backtest

MOST_DAYS = 60  # Longer logs are drawn by weeks
COLORS = ("#4d4d4d", "#0072b2", "#b84a00", "#00795a")


def draw_waits(axes: Axes, result: Backtest) -> None:
    """Mean wait of the jobs submitted on each day: log, today's policy, best policy, best schedule."""
    _draw_days(axes, result.days.waits, 3600, "mean wait of a job, hours")


def draw_utilisation(axes: Axes, result: Backtest) -> None:
    """GPUs in use, as a share of those in service, by day."""
    _draw_days(axes, result.days.utilisation, 0.01, "utilisation, percent")
    axes.set_ylim(0, 100)
    axes.legend(fontsize="small", loc="lower center", ncols=4)


def draw_accounts(axes: Axes, result: Backtest) -> None:
    """Mean wait by account; by width for a log without accounts."""
    groups = "accounts" if result.policies[0].accounts else "widths"
    shown = shown_policies(result)
    names = list(getattr(shown[-1], groups))
    for place, row in enumerate(shown):
        offset = (place - (len(shown) - 1) / 2) * 0.8 / len(shown)
        waits = [getattr(row, groups)[name].wait / 3600 for name in names]
        at = [i + offset for i in range(len(names))]
        axes.bar(at, waits, 0.8 / len(shown), label=row.name, color=_color(result, row.name))
    axes.set_xticks(range(len(names)), [make_printable(name, 30) for name in names], rotation=30, ha="right")
    axes.set_xlabel("account" if groups == "accounts" else "GPUs of the job")
    axes.set_ylabel("mean wait of a job, hours")
    axes.legend(fontsize="small")


def draw_gain(axes: Axes, result: Backtest) -> None:
    """Share of the possible gain in the wait of jobs, an interval for every policy that is no worse than today's."""
    rows = [
        (row.name + " *" * row.oracle, span)
        for row in result.policies[1:]
        if (span := row.shares.get("wait")) and span.high >= 0
    ]
    for place, (_, span) in enumerate(reversed(rows)):
        axes.plot(
            [100 * span.low, 100 * span.high], [place, place], color=COLORS[1], linewidth=6, solid_capstyle="butt"
        )
    axes.set_yticks(range(len(rows)), [name for name, _ in reversed(rows)])
    axes.set_xlim(0, 100)
    axes.set_xlabel(f"share of the possible gain over {result.today}, percent ({NAMES['wait']}); *: knows all lengths")


def _color(result: Backtest, name: str) -> str:
    names = list(result.days.waits)
    return COLORS[names.index(name) % len(COLORS)] if name in names else COLORS[-1]


def _draw_days(axes: Axes, lines: Mapping[str, Sequence[float | None]], unit: float, label: str) -> None:
    """A line for each name; means of weeks if there are many days."""
    step, highest, greatest = 1, 0.0, 0.0
    for color, (name, values) in zip(COLORS, lines.items(), strict=False):
        step = 7 if len(values) > MOST_DAYS else 1
        parts = [[v / unit for v in values[i : i + step] if v is not None] for i in range(0, len(values), step)]
        means = [sum(part) / len(part) if part else float("nan") for part in parts]
        axes.plot(range(1, len(means) + 1), means, label=name, color=color, linewidth=1.2)
        known = sorted(mean for mean in means if mean == mean)
        highest = max(highest, *known[: max(1, len(means) * 97 // 100)])
        greatest = max(greatest, *known)
    axes.set_xlabel("week (mean of its days)" if step > 1 else "day")
    axes.set_ylabel(label)
    axes.set_ylim(0, 1.1 * highest or 1)  # few weeks with extreme waits would hide all others
    if greatest > 1.1 * highest:
        axes.set_title(f"lines leave the picture: up to {greatest:,.0f}", fontsize="small", loc="left")
    axes.legend(fontsize="small")


Draw = Callable[..., None]  # (axes, result)
PICTURES: dict[str, Draw] = {
    "Waits by time of submit": draw_waits,
    "Utilisation": draw_utilisation,
    "Waits by account": draw_accounts,
    "Share of the possible gain": draw_gain,
}


def render_page(result: Backtest) -> str:
    """The page as HTML; it needs nothing from a network."""
    lead = [list_html(list(list_answers(result))), *list_basis(result)]
    sections = [Section(title, [Picture(title, partial(draw, result=result), 3.4)]) for title, draw in PICTURES.items()]
    tables = list(list_tables(result))
    sections += [Section(f"{table.title[0].upper()}{table.title[1:]}", [table.rows]) for table in tables]
    note = f"ratiobench; instance {result.instance}. The command's --json has all figures in seconds."
    sections.append(Section("Source", [note]))
    return render_sections(f"Backtest of {result.name}", sections, lead)
