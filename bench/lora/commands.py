"""The command that family `lora` alone has: `limit`, an algorithm on instances on which none can do well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ratiobench.bench.arguments import Algorithms, Anything, Integer, Isolate, Option, Outcome, Seconds, command
from ratiobench.bench.family.suite import REPEATS
from ratiobench.instances.io.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from ratiobench.bench.lora.theory.limits import LimitCase
    from ratiobench.online.outcome import OnlineRun
    from ratiobench.online.run_context import RunContext

SHOWN = 24  # Prefixes that are printed of one algorithm, the worst among them; `--csv` and `--json` have all
APART = "every level at a moment of its own, since it answers all arrivals of a moment together"
# Types of the columns of `limit`
LIMIT_TYPES: Mapping[str, Any] = {
    "algorithm": "string",
    "state": "string",
    "reason": "string",
    "level": "string",
    "arrivals": "Int64",
    "opt": "float64",
    "alg": "float64",
    "ratio": "float64",
    "worst": "boolean",
    "bound": "float64",
}


@dataclass(frozen=True, slots=True)
class LimitRun:
    """An algorithm on every prefix."""

    algorithm: str  # its name
    state: str  # ok, invalid, not applicable, or failed
    reason: str = ""  # why it is not ok; of an algorithm that is, what must be said of its run
    earned: Sequence[Fraction] = ()  # mean ALG of each prefix; earned, ratios: empty unless ok
    ratios: Sequence[Fraction | None] = ()  # OPT/ALG of each prefix; None: unbounded, ALG is 0
    runs: int = 0  # of how many runs it is the mean

    @property
    def worst(self) -> int:
        """The number of the first prefix with the largest OPT/ALG."""
        unbounded = [j for j, ratio in enumerate(self.ratios) if ratio is None]
        return unbounded[0] if unbounded else max(range(len(self.ratios)), key=lambda j: (self.ratios[j] or 0, -j))

    @property
    def name(self) -> str:
        """The algorithm, and of how many runs it is the mean."""
        return self.algorithm + (f", mean of {self.runs} runs" if self.runs > 1 else "")

    def is_below(self, bound: Fraction) -> bool:
        """Whether the run came out below the limit, which only a sample can."""
        worst = self.ratios[self.worst]
        return worst is not None and worst < bound


@command("running")
def limit(
    name: Annotated[str, Option(Anything("text"), "NAME")],
    algorithm: Algorithms = (),
    *,
    repeat: Annotated[int, Option(Integer(1, REPEATS), "N")] = 1,
    limit: Seconds = None,
    isolate: Isolate = None,
    csv: Path | None = None,
) -> Outcome[pd.DataFrame]:
    """Run an algorithm on hard instances, beside the lower bound for every algorithm.

    Parameters
    ----------
    name : family of instances or recipe, as `list recipes` names them: rising, limit:rising:theta=20,K=1.
    algorithm : name[:key=value,...], as `list algorithms` names them, or package.module:Class; several are compared in
        a table; without any only the limits are printed. In Python also a class, an object of one, or a list of these.
    repeat : runs of a randomised algorithm, and orders of a random family with too many orders; ALG is the mean.
    limit : time limit of a run in seconds; a run that reaches it is not valid.
    csv : write one row per algorithm and prefix, with exact figures.

    Returns
    -------
    A row per algorithm and prefix: columns as `LIMIT_TYPES` (`opt` and `alg` in the unit of the family, `ratio`
    infinite if ALG is 0, `bound` the limit of every algorithm), and ``alg_exact``, ``ratio_exact`` (None: unbounded),
    ``bound_exact``. An algorithm without figures has one row, with its `state` and `reason`. ``attrs`` has ``recipe``,
    ``note``, ``theorem`` and ``bound`` (exact).

    Raises
    ------
    InputError : a family, key, algorithm or number that cannot be used.

    Examples
    --------
    >>> import ratiobench
    >>> table = ratiobench.limit("rising:theta=4,K=1", "greedy")
    >>> max(table["ratio_exact"])
    Fraction(4, 1)
    """
    from ratiobench.bench.family.registry import require_algorithms
    from ratiobench.bench.lora import FAMILY
    from ratiobench.bench.lora.theory.limits import make_case
    from ratiobench.instances.io.files import check_writable
    from ratiobench.online.referee import sandbox
    from ratiobench.online.run_context import RunContext, run_context
    from ratiobench.online.user_algorithm import name_algorithms

    names, own = name_algorithms(algorithm, FAMILY.secret_types())
    names = tuple(dict.fromkeys(names))
    if csv is not None:
        check_writable(csv)
        if not names:
            raise InputError("--csv", "", "it has a row per algorithm and prefix, and no algorithm is named")
    sandbox.choose(isolate)
    case = make_case(name, repeat)
    context = RunContext(limit, sandbox.requested(isolate), own)
    with run_context(context):
        require_algorithms(FAMILY, names)
    runs = [_run_prefixes(case, each, repeat, context) for each in names]

    def files() -> None:
        from ratiobench.bench.show import write_csv

        write_csv(csv, _rows(case, runs))

    return Outcome(
        lambda: _table(case, runs),
        _lines(case, runs),
        lambda: _document(case, runs),
        files,
        status=lambda: int(any(each.state == "failed" for each in runs)),
    )


def _run_prefixes(case: LimitCase, name: str, repeat: int, context: RunContext) -> LimitRun:
    """The mean ALG of each prefix over the instances and the runs of an algorithm, judged by its decisions on all."""
    from ratiobench.bench.family.suite import YESTERDAY, is_informed
    from ratiobench.bench.lora import FAMILY
    from ratiobench.bench.running.heartbeat import set_current
    from ratiobench.bench.storage.payload import format_error
    from ratiobench.online.run_context import run_context

    set_current(f"running {name}")
    with run_context(context):
        repeat = repeat if FAMILY.is_randomised(name) else 1
        full_name = FAMILY.with_prior(name, YESTERDAY) if case.announced(False) is not None else name

    def run_once(number: int, repetition: int) -> OnlineRun:
        with run_context(replace(context, repetition=repetition)):
            return FAMILY.run(instances[number], full_name, announced if is_informed(full_name) else None)

    gains: list[list[Fraction]] = []
    apart = False
    try:
        instances, announced = case.instances(apart), case.announced(apart)
        for number in range(len(instances)):
            for repetition in range(1, repeat + 1):
                run = run_once(number, repetition)
                if run.batch and not apart:
                    apart, instances, announced = True, case.instances(True), case.announced(True)
                    run = run_once(number, repetition)
                if not run.valid:
                    return LimitRun(name, "invalid", str(run.violations[0]))
                # The welfare is the sum of the admitted bids: these instances have no costs.
                pairs = zip(instances[number].bid.tolist(), run.decisions, strict=True)
                sums = [0, *accumulate(bid * (decision is not None) for bid, decision in pairs)]
                gains.append([Fraction(sums[prefix.arrivals]) for prefix in case.prefixes])
    except InputError:
        raise
    except Exception as error:
        return LimitRun(name, "failed", format_error(error))
    means = [sum(column, Fraction(0)) / len(gains) for column in zip(*gains, strict=True)]
    ratios = [Fraction(prefix.opt) / alg if alg else None for prefix, alg in zip(case.prefixes, means, strict=True)]
    return LimitRun(name, "ok", APART * apart, means, ratios, len(gains))


def _rows(case: LimitCase, runs: Sequence[LimitRun]) -> list[dict[str, Any]]:
    """A row per algorithm and prefix, figures exact; of an algorithm without figures one row with its state."""
    rows: list[dict[str, Any]] = []
    for run in runs:
        about = {"algorithm": run.algorithm, "state": run.state, "reason": run.reason}
        if run.state != "ok":
            rows.append(about | dict.fromkeys(("level", "arrivals", "opt", "alg", "ratio", "worst", "bound")))
            continue
        for j, (prefix, alg, ratio) in enumerate(zip(case.prefixes, run.earned, run.ratios, strict=True)):
            figures = {"level": prefix.label, "arrivals": prefix.arrivals, "opt": prefix.opt, "alg": alg}
            figures |= {"ratio": "unbounded" if ratio is None else ratio, "worst": j == run.worst, "bound": case.bound}
            rows.append(about | figures)
    return rows


def _table(case: LimitCase, runs: Sequence[LimitRun]) -> pd.DataFrame:
    """A row per algorithm and prefix as a table of pandas."""
    import pandas as pd

    frame = pd.DataFrame(_rows(case, runs), columns=[*LIMIT_TYPES], dtype=object)
    for column in ("alg", "ratio", "bound"):
        frame[f"{column}_exact"] = [None if value == "unbounded" else value for value in frame[column]]
        frame[column] = [
            None if value is None else float("inf") if value == "unbounded" else float(value) for value in frame[column]
        ]
    frame = frame.astype(dict(LIMIT_TYPES))
    frame.attrs = {"recipe": case.recipe, "note": case.note, "theorem": case.theorem, "bound": case.bound}
    return frame


def _document(case: LimitCase, runs: Sequence[LimitRun]) -> dict[str, Any]:
    """All figures, exact."""
    from ratiobench.bench.lora import FAMILY
    from ratiobench.bench.storage.payload import json_number

    documents = []
    for run in runs:
        about: dict[str, Any] = {"algorithm": run.algorithm, "state": run.state, "reason": run.reason}
        if run.state == "ok":
            ratios = [None if ratio is None else str(ratio) for ratio in run.ratios]
            about |= {"runs": run.runs, "alg": [json_number(alg) for alg in run.earned], "ratios": ratios}
            about |= {"worst": run.worst, "worst_ratio": ratios[run.worst]}
        documents.append(about)
    prefixes = [
        {"level": prefix.label, "arrivals": prefix.arrivals, "opt": json_number(prefix.opt)} for prefix in case.prefixes
    ]
    about = {"recipe": case.recipe, "unit": FAMILY.unit, "note": case.note, "theorem": case.theorem}
    return about | {"bound": str(case.bound), "prefixes": prefixes, "runs": documents}


def _lines(case: LimitCase, runs: Sequence[LimitRun]) -> Iterator[str]:
    """The limits, then one algorithm prefix by prefix, or several in a table."""
    from ratiobench.bench.lora import FAMILY
    from ratiobench.bench.results import ratios

    last, bound = case.prefixes[-1], ratios.format_truncated(case.bound)
    yield f"{case.recipe}: {case.summary}"
    size = f"{len(case.prefixes)} prefixes, {last.arrivals:,} arrivals"
    note = f"; {case.note}" if case.note else ""
    yield f"{size}, OPT up to {ratios.format_number(last.opt)} {FAMILY.unit}{note}"
    yield f"no algorithm, randomised or not, keeps OPT/ALG below {bound} at every prefix (Theorem {case.theorem})"
    if case.announced(False) is None:
        yield "An algorithm gets the constants of the whole instance; they do not show where a prefix ends."
    else:
        yield "An algorithm gets the constants of the family; they show neither the order nor where a prefix ends."
    if runs:
        yield ""
        yield from _single(case, runs[0]) if len(runs) == 1 and runs[0].state == "ok" else _comparison(case, runs)


def _ratio_text(ratio: Fraction | None) -> str:
    from ratiobench.bench.results import ratios

    return "unbounded" if ratio is None else ratios.format_truncated(ratio)


def _single(case: LimitCase, run: LimitRun) -> Iterator[str]:
    from ratiobench.bench.results import ratios
    from ratiobench.bench.show import align_columns

    count, worst = len(run.ratios), run.worst
    # All prefixes, or some at equal distances with the worst one among them
    places = list(range(count))
    if count > SHOWN:
        places = sorted({round(j * (count - 1) / (SHOWN - 2)) for j in range(SHOWN - 1)} | {worst})
    lines = [
        {
            "prefix up to": case.prefixes[j].label,
            "arrivals": f"{case.prefixes[j].arrivals:,}",
            "OPT": ratios.format_number(case.prefixes[j].opt),
            "ALG": ratios.format_truncated(run.earned[j]),
            "OPT/ALG": _ratio_text(run.ratios[j]) + " <- worst" * (j == worst),
        }
        for j in places
    ]
    yield run.name + (f" ({run.reason})" if run.reason else "")
    yield align_columns(lines).removesuffix("\n")
    if len(places) < count:
        yield f"{len(places)} of {count} prefixes; --csv and --json have all"
    ratio, limit = run.ratios[worst], f"limit {ratios.format_truncated(case.bound)} (Theorem {case.theorem})"
    if ratio is None:
        verdict = f"OPT/ALG is unbounded, ALG = 0 where OPT > 0; the {limit.replace('limit', 'limit is', 1)}"
    elif run.is_below(case.bound):
        verdict = f"OPT/ALG = {_ratio_text(ratio)}, by chance below the {limit}"
    else:
        over = ratios.format_truncated(Fraction(int(1000 * ratio / case.bound), 1000))
        verdict = f"OPT/ALG = {_ratio_text(ratio)}, {over} times the {limit}"
    yield f"worst prefix: up to {case.prefixes[worst].label}: {verdict}"


def _comparison(case: LimitCase, runs: Sequence[LimitRun]) -> Iterator[str]:
    from ratiobench.bench.show import align_columns

    lines = []
    for run in runs:
        cells = ("-", "-", "-", run.state)
        if run.state == "ok":
            state = "ok" + " (below the limit by chance)" * run.is_below(case.bound)
            worst = _ratio_text(run.ratios[run.worst])
            cells = (worst, case.prefixes[run.worst].label, _ratio_text(run.ratios[-1]), state)
        heads = ("worst OPT/ALG", "at the prefix up to", "whole instance", "state")
        lines.append({"algorithm": run.name, **dict(zip(heads, cells, strict=True))})
    yield align_columns(lines).removesuffix("\n")
    for run in runs:
        if run.reason:
            yield f"{run.algorithm}: {run.reason}"


COMMANDS = {"limit": limit}
