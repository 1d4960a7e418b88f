"""The command `limit`: an algorithm on instances on which none can do well, and the theorem's bound beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from ratiobench.bench.commands.command import Command
from ratiobench.bench.commands.texts import require_writable, write_csv
from ratiobench.bench.family.capabilities import LimitCase, Limits
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import find_limits, require_algorithms
from ratiobench.bench.family.suite import YESTERDAY, is_informed
from ratiobench.bench.options import REPEATS, SECONDS, File, Integer, Options, Text, argument, option
from ratiobench.bench.results import ratios
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.bench.running.options import ALGORITHM, isolation, several_algorithms
from ratiobench.bench.storage.payload import format_error, json_number
from ratiobench.instances.io.errors import InputError
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.referee import sandbox
from ratiobench.online.run_context import RunContext, UserAlgorithm, run_context

SHOWN = 24  # Prefixes that are printed of one algorithm, the worst among them; `--csv` and `--json` have all
APART = "every level at a moment of its own, since it answers all arrivals of a moment together"


@dataclass(frozen=True, kw_only=True)
class Limit(Options):
    """Options of `limit`."""

    name: str = argument(
        "family of instances or recipe, as `list recipes` names them: rising, limit:rising:theta=20,K=1", Text(), "NAME"
    )
    algorithms: tuple[str, ...] = several_algorithms(
        f"{ALGORITHM}; several are compared in a table; without any only the limits are printed", ()
    )
    repeat: int = option(
        "runs of a randomised algorithm, and orders of a random family with too many orders; ALG is the mean",
        Integer(1, REPEATS),
        "N",
        default=1,
    )
    limit: float | None = option("time limit of a run in seconds; a run that reaches it is not valid", SECONDS, "S")
    isolate: bool | None = isolation()
    csv: Path | None = option("write one row per algorithm and prefix, with exact figures", File(), "FILE")
    own: Mapping[str, UserAlgorithm] = field(default_factory=dict)  # the classes and objects to which names refer

    def context(self, repetition: int = 1) -> RunContext:
        """Of a run: the limit and the sandbox."""
        return RunContext(self.limit, sandbox.requested(self.isolate), self.own, repetition)


@dataclass(frozen=True, slots=True)
class LimitRun:
    """An algorithm on every prefix."""

    algorithm: str  # its name
    state: str  # ok, invalid, not applicable, or failed
    reason: str = ""  # why it is not ok; of an algorithm that is, what must be said of its run
    earned: Sequence[Fraction] = ()  # mean ALG of each prefix; empty unless ok
    runs: int = 0  # of how many runs it is the mean


@dataclass(frozen=True, slots=True)
class LimitReport:
    """A member of a family, what no algorithm can beat on it, and the algorithms on every prefix."""

    family: Family
    case: LimitCase
    runs: Sequence[LimitRun]

    def ratios(self, run: LimitRun) -> list[Fraction | None]:
        """OPT/ALG of each prefix; None: unbounded, ALG is 0."""
        pairs = zip(self.case.prefixes, run.earned, strict=True)
        return [Fraction(prefix.opt) / alg if alg else None for prefix, alg in pairs]

    def worst(self, run: LimitRun) -> int:
        """The number of the first prefix with the largest OPT/ALG."""
        found = self.ratios(run)
        unbounded = [j for j, ratio in enumerate(found) if ratio is None]
        return unbounded[0] if unbounded else max(range(len(found)), key=lambda j: (found[j] or 0, -j))

    @property
    def limit(self) -> str:
        """The limit and its theorem."""
        return f"{ratios.format_truncated(self.case.bound)} (Theorem {self.case.theorem})"

    def is_below(self, run: LimitRun) -> bool:
        """Whether the run came out below the limit, which only a sample can."""
        worst = self.ratios(run)[self.worst(run)]
        return worst is not None and worst < self.case.bound


def run(options: Limit) -> LimitReport:
    """Run the algorithms on the whole instance; every prefix is judged by the decisions of that run."""
    require_writable(options.csv)
    if options.csv is not None and not options.algorithms:
        raise InputError("--csv", "", "it has a row per algorithm and prefix, and no algorithm is named")
    sandbox.choose(options.isolate)
    family, limits = find_limits()
    case = limits.case(options.name, options.repeat)
    names = list(dict.fromkeys(options.algorithms))
    with run_context(options.context()):
        require_algorithms(family, names)
    return LimitReport(family, case, [_run_algorithm(options, family, limits, case, name) for name in names])


def _run_algorithm(options: Limit, family: Family, limits: Limits, case: LimitCase, name: str) -> LimitRun:
    """The mean ALG of each prefix over the instances and the runs of an algorithm."""
    set_current(f"running {name}")
    with run_context(options.context()):
        repeat = options.repeat if family.is_randomised(name) else 1
        full_name = family.with_prior(name, YESTERDAY) if case.announced(False) is not None else name
    gains: list[list[Fraction]] = []
    apart = False
    try:
        instances, announced = list(case.instances(apart)), case.announced(apart)
        for number in range(len(instances)):
            for again in range(1, repeat + 1):
                found = _run_once(options, family, instances[number], full_name, announced, again)
                if found.batch and not apart:
                    apart, instances, announced = True, list(case.instances(True)), case.announced(True)
                    found = _run_once(options, family, instances[number], full_name, announced, again)
                if not found.valid:
                    return LimitRun(name, "invalid", str(found.violations[0]))
                gains.append(_sums(case, limits.gains(instances[number], found)))
    except InputError:
        raise
    except Exception as error:
        return LimitRun(name, "failed", format_error(error))
    means = [sum(column, Fraction(0)) / len(gains) for column in zip(*gains, strict=True)]
    return LimitRun(name, "ok", APART * apart, means, len(gains))


def _run_once(options: Limit, family: Family, instance: Any, name: str, announced: Any, repetition: int) -> OnlineRun:
    with run_context(options.context(repetition)):
        return family.run(instance, name, announced if is_informed(name) else None)


def _sums(case: LimitCase, gains: Sequence[Any]) -> list[Fraction]:
    found, total, place = [], Fraction(0), 0
    for prefix in case.prefixes:
        total += sum(gains[place : prefix.arrivals], Fraction(0))
        place = prefix.arrivals
        found.append(total)
    return found


def _ratio_text(ratio: Fraction | None) -> str:
    return "unbounded" if ratio is None else ratios.format_truncated(ratio)


def text(options: Limit, found: LimitReport) -> Iterator[str]:
    """The limits, then one algorithm prefix by prefix, or several in a table."""
    yield from _head(found)
    if not found.runs:
        return
    yield ""
    if len(found.runs) == 1 and found.runs[0].state == "ok":
        yield from _single(found, found.runs[0])
    else:
        yield from _table(found)


def _head(found: LimitReport) -> Iterator[str]:
    case = found.case
    last = case.prefixes[-1]
    yield f"{case.recipe}: {case.summary}"
    yield (
        f"{len(case.prefixes)} prefixes, {last.arrivals:,} arrivals, OPT up to {ratios.format_number(last.opt)} "
        f"{found.family.unit}" + (f"; {case.note}" if case.note else "")
    )
    least = ratios.format_truncated(case.bound)
    yield f"no algorithm, randomised or not, keeps OPT/ALG below {least} at every prefix (Theorem {case.theorem})"
    if case.announced(False) is None:
        yield "An algorithm gets the constants of the whole instance; they do not show where a prefix ends."
    else:
        yield "An algorithm gets the constants of the family; they show neither the order nor where a prefix ends."


def _single(found: LimitReport, run: LimitRun) -> Iterator[str]:
    from ratiobench.bench.show import align_columns

    every, worst = found.ratios(run), found.worst(run)
    places = _shown(len(every), worst)
    lines = [
        {
            "prefix up to": found.case.prefixes[j].label,
            "arrivals": f"{found.case.prefixes[j].arrivals:,}",
            "OPT": ratios.format_number(found.case.prefixes[j].opt),
            "ALG": ratios.format_truncated(run.earned[j]),
            "OPT/ALG": _ratio_text(every[j]) + " <- worst" * (j == worst),
        }
        for j in places
    ]
    yield f"{run.algorithm}{_of_runs(run)}" + (f" ({run.reason})" if run.reason else "")
    yield align_columns(lines).removesuffix("\n")
    if len(places) < len(every):
        yield f"{len(places)} of {len(every)} prefixes; --csv and --json have all"
    yield _verdict(found, run)


def _shown(count: int, worst: int) -> list[int]:
    """The prefixes that are printed: all, or some at equal distances with the worst one among them."""
    if count <= SHOWN:
        return list(range(count))
    return sorted({round(j * (count - 1) / (SHOWN - 2)) for j in range(SHOWN - 1)} | {worst})


def _of_runs(run: LimitRun) -> str:
    return f", mean of {run.runs} runs" if run.runs > 1 else ""


def _verdict(found: LimitReport, run: LimitRun) -> str:
    worst, least = found.ratios(run)[found.worst(run)], found.limit
    label = found.case.prefixes[found.worst(run)].label
    if worst is None:
        return f"worst prefix: up to {label}: OPT/ALG is unbounded, ALG = 0 where OPT > 0; the limit is {least}"
    if found.is_below(run):
        return f"worst prefix: up to {label}: OPT/ALG = {_ratio_text(worst)}, by chance below the limit {least}"
    over = ratios.format_truncated(Fraction(int(1000 * worst / found.case.bound), 1000))
    return f"worst prefix: up to {label}: OPT/ALG = {_ratio_text(worst)}, {over} times the limit {least}"


def _table(found: LimitReport) -> Iterator[str]:
    from ratiobench.bench.show import align_columns

    lines = []
    for run in found.runs:
        cells = {"algorithm": run.algorithm + _of_runs(run)}
        if run.state == "ok":
            every, worst = found.ratios(run), found.worst(run)
            cells |= {
                "worst OPT/ALG": _ratio_text(every[worst]),
                "at the prefix up to": found.case.prefixes[worst].label,
                "whole instance": _ratio_text(every[-1]),
                "state": "ok" + " (below the limit by chance)" * found.is_below(run),
            }
        else:
            cells |= dict.fromkeys(("worst OPT/ALG", "at the prefix up to", "whole instance"), "-")
            cells |= {"state": run.state}
        lines.append(cells)
    yield align_columns(lines).removesuffix("\n")
    for run in found.runs:
        if run.reason:
            yield f"{run.algorithm}: {run.reason}"


def document(options: Limit, found: LimitReport) -> dict[str, Any]:
    """All figures, exact."""
    case = found.case
    return {
        "recipe": case.recipe,
        "unit": found.family.unit,
        "note": case.note,
        "theorem": case.theorem,
        "bound": str(case.bound),
        "prefixes": [
            {"level": each.label, "arrivals": each.arrivals, "opt": json_number(each.opt)} for each in case.prefixes
        ],
        "runs": [_run_document(found, run) for run in found.runs],
    }


def _run_document(found: LimitReport, run: LimitRun) -> dict[str, Any]:
    about: dict[str, Any] = {"algorithm": run.algorithm, "state": run.state, "reason": run.reason}
    if run.state != "ok":
        return about
    every, worst = found.ratios(run), found.worst(run)
    return about | {
        "runs": run.runs,
        "alg": [json_number(each) for each in run.earned],
        "ratios": [None if each is None else str(each) for each in every],
        "worst": worst,
        "worst_ratio": None if every[worst] is None else str(every[worst]),
    }


def rows(found: LimitReport) -> list[dict[str, Any]]:
    """A row per algorithm and prefix, figures exact; of an algorithm without figures one row with its state."""
    lines: list[dict[str, Any]] = []
    for run in found.runs:
        about = {"algorithm": run.algorithm, "state": run.state, "reason": run.reason}
        blank = {"level": None, "arrivals": None, "opt": None, "alg": None, "ratio": None, "worst": None, "bound": None}
        if run.state != "ok":
            lines.append(about | blank)
            continue
        worst = found.worst(run)
        figures = zip(found.case.prefixes, run.earned, found.ratios(run), strict=True)
        lines += [
            about
            | {
                "level": prefix.label,
                "arrivals": prefix.arrivals,
                "opt": prefix.opt,
                "alg": alg,
                "ratio": "unbounded" if ratio is None else ratio,
                "worst": j == worst,
                "bound": found.case.bound,
            }
            for j, (prefix, alg, ratio) in enumerate(figures)
        ]
    return lines


def write(options: Limit, found: LimitReport) -> None:
    """The rows as CSV."""
    write_csv(options.csv, rows(found))


LIMIT = Command(
    Limit,
    run,
    text=text,
    document=document,
    write=write,
    status=lambda found: int(any(each.state == "failed" for each in found.runs)),
    busy="running",
)
