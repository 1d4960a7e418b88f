"""Theorems N1 and N3, lower bounds for every online algorithm, and their instances; proofs in docs/theory/limits.md."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, pairwise, permutations
from typing import TYPE_CHECKING, Any, NamedTuple

from ratiobench.bench.family.suite import YESTERDAY, is_informed
from ratiobench.bench.family.suite_file import read_recipe
from ratiobench.bench.lora import FAMILY
from ratiobench.bench.results.ratios import format_number, format_truncated
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.bench.show import align_columns
from ratiobench.bench.storage.payload import format_error, json_number
from ratiobench.formulations.report import Exact
from ratiobench.instances.io.errors import InputError, explain_unknown_name
from ratiobench.instances.io.keys import Values
from ratiobench.instances.lora import limits
from ratiobench.instances.lora.model import Instance
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.run_context import RunContext, run_context

if TYPE_CHECKING:
    import pandas as pd

HEAD = "limit:"
SHOWN = 24  # Prefixes that are printed of one algorithm, the worst among them; `--csv` and `--json` have all
APART = "every level at a moment of its own, since it answers all arrivals of a moment together"
# Types of the columns of `limit`
LIMIT_TYPES: Mapping[str, Any] = {
    **dict.fromkeys(("algorithm", "state", "reason", "level"), "string"),
    "arrivals": "Int64",
    **dict.fromkeys(("opt", "alg", "ratio"), "float64"),
    "worst": "boolean",
    "bound": "float64",
}
ORDERS = 120  # If there are at most so many orders of the node types, ALG is the mean over all of them


class LimitPrefix(NamedTuple):
    label: str  # the level
    arrivals: int  # their number
    opt: Exact  # OPT of these arrivals alone


@dataclass(frozen=True, slots=True)
class LimitCase:
    """Hard instances for every online algorithm, with the lower bound that a theorem proves on them."""

    recipe: str  # its name, as `generate` takes it
    summary: str  # what the instances show, in a sentence
    prefixes: Sequence[LimitPrefix]  # of each instance, with the same OPT; one per level, the last one is everything
    theorem: str  # its name
    bound: Fraction  # the largest OPT/ALG over the prefixes is no less, for any algorithm; exact
    note: str  # a remark; empty for none
    document: dict[str, Any]  # the recipe
    orders: list[dict[str, Any]]  # by what the instances differ over which ALG is averaged

    def instances(self, apart: bool) -> list[Instance]:
        """The instances; `apart`: each level at a moment of its own, for algorithms that answer a moment together."""
        return [limits.generate(self._recipe(apart) | order) for order in self.orders]

    def announced(self, apart: bool) -> Instance | None:
        """The instance whose constants are announced; None: those of the instance itself, which show no prefix."""
        return limits.generate_announced(self._recipe(apart))

    def _recipe(self, apart: bool) -> dict[str, Any]:
        return self.document | ({"apart": True} if apart else {})


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


def sum_of_steps(levels: Sequence[int]) -> Fraction:
    """S = sum over the steps of 1 - v_{j-1} / v_j, of levels v_0 < v_1 < ... above 0."""
    return sum((1 - Fraction(low, high) for low, high in pairwise(levels)), Fraction(0))


def bound_rising(levels: Sequence[int]) -> Fraction:
    """Theorem N1: c >= 1 + S."""
    return 1 + sum_of_steps(levels)


def bound_choice(types: int, groups: int, levels: Sequence[int]) -> Fraction:
    """Theorem N3: c >= min {G/m, (G/(G-m) + S) / (1 - (H_G - H_{G-m}) + m/(G-m))}; `levels` of the second phase."""
    rest = types - groups
    harmonic = sum((Fraction(1, k) for k in range(rest + 1, types + 1)), Fraction(0))
    second = (Fraction(types, rest) + sum_of_steps(levels)) / (1 - harmonic + Fraction(groups, rest))
    return min(Fraction(types, groups), second)


def parse_recipe(text: str) -> dict[str, Any]:
    """The recipe that ``rising``, ``limit:rising`` or ``limit:rising:theta=20,K=1`` names."""
    full = text if text.startswith(HEAD) else HEAD + text
    name = full.removeprefix(HEAD).partition(":")[0]
    if name not in limits.FAMILIES:
        raise InputError("limit", "", explain_unknown_name(name, limits.FAMILIES, "list recipes"))
    found = read_recipe(full, {FAMILY.name: FAMILY})
    assert found is not None
    return dict(found[1].cases[0].recipe)


def make_case(text: str, draws: int) -> LimitCase:
    """The instances of a name or recipe; `draws` of them if their order is random and not all are used."""
    recipe = parse_recipe(text)
    values, construction = limits.read(recipe)
    name, family = recipe["name"], limits.FAMILIES[recipe["name"]]
    orders: list[dict[str, Any]]
    if name == "rising":
        orders, note = [{}], ""
        theorem, bound = "N1", bound_rising(construction.values())
    else:
        orders, note = _orders(values, draws)
        theorem, bound = "N3", bound_choice(values["G"], values["m"], construction.values()[values["m"] :])

    given = ",".join(f"{key.name}={_text(recipe[key.name])}" for key in family.keys if key.name in recipe)
    return LimitCase(
        recipe=f"{HEAD}{name}" + (f":{given}" if given else ""),
        summary=family.summary,
        prefixes=[LimitPrefix(*prefix) for prefix in construction.prefixes()],
        theorem=theorem,
        bound=bound,
        note=note,
        document=recipe,
        orders=orders,
    )


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "+".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _orders(values: Values, draws: int) -> tuple[list[dict[str, Any]], str]:
    """The keys by which the instances of `limit:choice` differ, and a remark on the mean over them."""
    types = values["G"]
    if "order" in values.given:
        return [{}], "one order of the types; the theorem is about the mean over all of them"
    if "seed" not in values.given and math.factorial(types) <= ORDERS:
        orders = [{"order": list(order)} for order in permutations(range(1, types + 1))]
        return orders, f"ALG is the mean over all {len(orders)} orders of the types"
    note = f"ALG is the mean over {draws} drawn order{'s' * (draws != 1)} of the types, which may be lucky"
    return [{"seed": values["seed"] + number} for number in range(draws)], note


def run_prefixes(case: LimitCase, name: str, repeat: int, context: RunContext) -> LimitRun:
    """The mean ALG of each prefix over the instances and the runs of an algorithm, judged by its decisions on all."""
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


def list_rows(case: LimitCase, runs: Sequence[LimitRun]) -> list[dict[str, Any]]:
    """A row per algorithm and prefix, figures exact; of an algorithm without figures one row with its state."""
    rows: list[dict[str, Any]] = []
    for run in runs:
        about = {"algorithm": run.algorithm, "state": run.state, "reason": run.reason}
        if run.state != "ok":
            rows.append(dict.fromkeys(LIMIT_TYPES) | about)
            continue
        for j, (prefix, alg, ratio) in enumerate(zip(case.prefixes, run.earned, run.ratios, strict=True)):
            figures = {"level": prefix.label, "arrivals": prefix.arrivals, "opt": prefix.opt, "alg": alg}
            figures |= {"ratio": "unbounded" if ratio is None else ratio, "worst": j == run.worst, "bound": case.bound}
            rows.append(about | figures)
    return rows


def make_table(case: LimitCase, runs: Sequence[LimitRun]) -> pd.DataFrame:
    """A row per algorithm and prefix as a table of pandas."""
    import pandas as pd

    frame = pd.DataFrame(list_rows(case, runs), columns=[*LIMIT_TYPES], dtype=object)
    for column in ("alg", "ratio", "bound"):
        frame[f"{column}_exact"] = [None if value == "unbounded" else value for value in frame[column]]
        frame[column] = [
            None if value is None else float("inf") if value == "unbounded" else float(value) for value in frame[column]
        ]
    frame = frame.astype(dict(LIMIT_TYPES))
    frame.attrs = {"recipe": case.recipe, "note": case.note, "theorem": case.theorem, "bound": case.bound}
    return frame


def make_document(case: LimitCase, runs: Sequence[LimitRun]) -> dict[str, Any]:
    """All figures, exact."""
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


def print_lines(case: LimitCase, runs: Sequence[LimitRun]) -> Iterator[str]:
    """The limits, then one algorithm prefix by prefix, or several in a table."""
    last, bound = case.prefixes[-1], format_truncated(case.bound)
    yield f"{case.recipe}: {case.summary}"
    size = f"{len(case.prefixes)} prefixes, {last.arrivals:,} arrivals"
    note = f"; {case.note}" if case.note else ""
    yield f"{size}, OPT up to {format_number(last.opt)} {FAMILY.unit}{note}"
    yield f"no algorithm, randomised or not, keeps OPT/ALG below {bound} at every prefix (Theorem {case.theorem})"
    if case.announced(False) is None:
        yield "An algorithm gets the constants of the whole instance; they do not show where a prefix ends."
    else:
        yield "An algorithm gets the constants of the family; they show neither the order nor where a prefix ends."
    if runs:
        yield ""
        yield from _single(case, runs[0]) if len(runs) == 1 and runs[0].state == "ok" else _comparison(case, runs)


def _ratio_text(ratio: Fraction | None) -> str:
    return "unbounded" if ratio is None else format_truncated(ratio)


def _single(case: LimitCase, run: LimitRun) -> Iterator[str]:
    count, worst = len(run.ratios), run.worst
    # All prefixes, or some at equal distances with the worst one among them
    places = list(range(count))
    if count > SHOWN:
        places = sorted({round(j * (count - 1) / (SHOWN - 2)) for j in range(SHOWN - 1)} | {worst})
    lines = [
        {
            "prefix up to": case.prefixes[j].label,
            "arrivals": f"{case.prefixes[j].arrivals:,}",
            "OPT": format_number(case.prefixes[j].opt),
            "ALG": format_truncated(run.earned[j]),
            "OPT/ALG": _ratio_text(run.ratios[j]) + " <- worst" * (j == worst),
        }
        for j in places
    ]
    yield run.name + (f" ({run.reason})" if run.reason else "")
    yield align_columns(lines).removesuffix("\n")
    if len(places) < count:
        yield f"{len(places)} of {count} prefixes; --csv and --json have all"
    ratio, limit = run.ratios[worst], f"limit {format_truncated(case.bound)} (Theorem {case.theorem})"
    if ratio is None:
        verdict = f"OPT/ALG is unbounded, ALG = 0 where OPT > 0; the {limit.replace('limit', 'limit is', 1)}"
    elif run.is_below(case.bound):
        verdict = f"OPT/ALG = {_ratio_text(ratio)}, by chance below the {limit}"
    else:
        over = format_truncated(Fraction(int(1000 * ratio / case.bound), 1000))
        verdict = f"OPT/ALG = {_ratio_text(ratio)}, {over} times the {limit}"
    yield f"worst prefix: up to {case.prefixes[worst].label}: {verdict}"


def _comparison(case: LimitCase, runs: Sequence[LimitRun]) -> Iterator[str]:
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
