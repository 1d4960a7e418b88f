"""The measurements of family `lora`: OPT against direct models, model building, online decisions, growth."""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ratiobench.bench.lora.perf.decisions import PART as ONLINE
from ratiobench.bench.lora.perf.scaling import PART as SCALING
from ratiobench.bench.perf.measurement import Bars, Curves, Measurement, Part, Value, time_in_turns
from ratiobench.formulations import backends
from ratiobench.formulations.backends import Limits
from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.lora.bound.lagrangian import dual_bound
from ratiobench.formulations.lora.bound.pricing import Pricer, pool
from ratiobench.formulations.lora.certificate import Certificate, document
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.direct_solve import safe_floor
from ratiobench.formulations.lora.models.formulation import registry, solution_of
from ratiobench.formulations.lora.solve import solve
from ratiobench.formulations.lora.verify import verify
from ratiobench.formulations.report import UNLIMITED
from ratiobench.formulations.settings import NO_BACKEND
from ratiobench.instances.lora.feasibility import load
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.run import run

Say = Callable[[str], None]


def make_contention(tasks: int, nodes: int, slots: int) -> Instance:
    """An instance of a part of a day in which tasks compete: a Philly morning on few nodes."""
    return generate(
        {
            "kind": "paper",
            "name": f"{tasks}_{nodes}_{slots}",
            "tasks": tasks,
            "nodes": nodes,
            "slots": slots,
            "start": 60,
            "quiet": slots // 4,
            "arrivals": {"trace": "philly"},
            "seed": ["perf", tasks, nodes, slots],
        }
    )


# ------------------------------------------------------------------------------------------ OPT against direct models

SIZES = ((10, 2, 12), (20, 2, 12), (40, 2, 24), (60, 2, 36), (100, 4, 32), (200, 8, 32))
"""(tasks, nodes, slots)."""
DIRECT = (
    ("tight", "highs"), ("tight", "cbc"), ("tight", "scip"), ("tight", "gurobi"),
    ("cpsat", "cpsat"), ("printed", "highs"), ("printed", "cbc"),
)  # fmt: skip
OURS = "bounds and search"
COLUMNS_AT_MOST = 120_000
"""Larger models are not built here."""


class Answer(NamedTuple):
    """What a contender had when its seconds were over; `incumbent` is the welfare of a verified solution."""

    incumbent: int | None
    bound: int | None
    build_seconds: float
    seconds: float
    ended: str


def solve_ours(instance: Instance, seconds: float) -> Answer:
    """The bound and the search without any solver, until the seconds are over."""
    report = solve(instance, "auto", NO_BACKEND, UNLIMITED, seconds=seconds)
    ended = "proved" if report.lower == report.upper else "seconds"
    return Answer(int(report.lower), int(report.upper), 0.0, report.seconds, ended)


def solve_in_time(instance: Instance, seconds: float) -> Answer:
    """`opt --seconds`: the interval, with what HiGHS's branch and bound states of it."""
    report = solve(instance, effort=UNLIMITED, seconds=seconds)
    ended = "proved" if report.lower == report.upper else "seconds"
    return Answer(int(report.lower), int(report.upper), 0.0, report.seconds, ended)


def certify(instance: Instance, seconds: float) -> Answer:
    """`opt --certificate`: the interval that the certificate proves to the independent checker."""
    report = solve(instance, effort=UNLIMITED, seconds=seconds, certified=True)
    certificate: Certificate = report.certificate  # type: ignore[assignment]
    lower, upper = certificate.lower, certificate.upper
    if not verify(instance, document(certificate)).valid:
        raise RuntimeError(f"{instance.name}: the certificate is not valid")
    return Answer(lower, upper, 0.0, report.seconds, "proved" if lower == upper else "seconds")


def solve_directly(instance: Instance, formulation: str, backend: str, seconds: float) -> Answer:
    """A solver on a model as it stands; its incumbent is verified."""
    model = registry()[formulation]
    nothing = Answer(None, None, 0.0, 0.0, "")
    size = model.columns(instance)
    if size > COLUMNS_AT_MOST:
        return nothing._replace(ended=f"not built: {size:,} columns")
    began = time.perf_counter()
    if model.home is None:
        built = _call(model.build, instance)
    else:
        reply = backends.call(model.home, model.build, instance)
        if reply.termination is not None:
            return nothing._replace(ended=f"not built: {reply.termination}")
        built = reply.value
    reduced, step = built.reduced() if isinstance(built, LinearModel) else (built, 1)
    spent = time.perf_counter() - began
    handed = reduced if isinstance(reduced, LinearModel) else reduced.text
    result = backends.solve(backend, handed, Limits(None, 0.0, seconds))
    incumbent = None
    if result.values is not None:
        report = check(instance, solution_of(instance, reduced.columns, result.values))
        incumbent = report.welfare if report.valid else None
    bound = None if result.bound is None else safe_floor(result.bound, exact=backend == "cpsat") * step
    return Answer(incumbent, bound, spent, result.seconds, str(result.termination))


def _call(path: str, *arguments: Any) -> Any:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)(*arguments)


def find_installed(solvers: Sequence[str]) -> dict[str, str]:
    """Name and version of the solvers that start here."""
    found = {name: backends.version(name) for name in solvers}
    return {name: version for name, version in found.items() if version is not None}


MODELS = (
    "instance", "tasks", "nodes", "slots", "load", "model", "solver", "incumbent", "bound", "gap", "of_best_bound",
    "useful", "build_seconds", "seconds", "ended",
)  # fmt: skip


def compare_models(
    sizes: Sequence[tuple[int, int, int]], seconds: float, solvers: dict[str, str], say: Say
) -> Measurement:
    """Incumbent and bound of ours and of every direct model on the same instances at equal seconds."""
    rows: list[dict[str, Value]] = []
    for size in sizes:
        instance = make_contention(*size)
        answers = {(OURS, "-"): solve_ours(instance, seconds)}
        say(f"{instance.name}: {OURS} {_told(answers[OURS, '-'])}")
        for formulation, backend in DIRECT:
            if backend in solvers:
                answers[formulation, backend] = solve_directly(instance, formulation, backend, seconds)
                say(f"{instance.name}: {formulation} / {backend} {_told(answers[formulation, backend])}")
        best = min(each.bound for each in answers.values() if each.bound is not None)
        for (model, solver), each in answers.items():
            share = None if each.incumbent is None or best <= 0 else each.incumbent / best
            rows.append(
                _row(instance, size, each)
                | {
                    "model": model,
                    "solver": solver,
                    "of_best_bound": share,
                    "useful": best <= 0 or (share is not None and share > 0.5),
                    "build_seconds": each.build_seconds,
                }
            )
    contenders = list(dict.fromkeys((str(row["model"]), str(row["solver"])) for row in rows))
    curves = []
    for model, solver in contenders:
        mine = [row for row in rows if (row["model"], row["solver"]) == (model, solver) and row["gap"] is not None]
        points = [(float(str(row["tasks"])), max(1e-6, float(str(row["gap"])))) for row in mine]
        if points:
            curves.append((model if solver == "-" else f"{model} / {solver}", points))
    return Measurement(
        MODELS,
        rows,
        [Curves("relative gap of each contender, by tasks", "tasks", "gap (1e-6: none)", curves)] if curves else [],
        (
            f"{seconds:g} seconds each, for the solver alone: building a model comes on top and stands beside it. Ours "
            "counts everything; its search runs in two threads, a solver in one.",
            "An incumbent is useful when it is worth more than half of the best bound on the instance. Solvers: "
            f"{', '.join(f'{name} {version}' for name, version in solvers.items())}.",
        ),
    )


def _row(instance: Instance, size: tuple[int, int, int], answer: Answer) -> dict[str, Value]:
    """What a row says of an instance and of an answer, whoever gave it."""
    gap = None
    if answer.incumbent is not None and answer.bound:
        gap = (answer.bound - answer.incumbent) / answer.bound
    return {
        "instance": instance.name,
        **dict(zip(("tasks", "nodes", "slots"), size, strict=True)),
        "load": float(load(instance)),
        "incumbent": answer.incumbent,
        "bound": answer.bound,
        "gap": gap,
        "seconds": answer.seconds,
        "ended": answer.ended,
    }


def _told(answer: Answer) -> str:
    return f"{answer.incumbent} / {answer.bound} ({answer.ended}, {answer.seconds:.1f} s)"


def _measure_models(quick: bool, say: Say) -> Measurement:
    solvers = find_installed(sorted({backend for _, backend in DIRECT}))
    return compare_models(SIZES[2:5:2] if quick else SIZES, 3.0 if quick else 20.0, solvers, say)


# ------------------------------------------------------------------------------------------ proofs of small instances

ARRIVALS = ("arrivals.poisson=50", *(f"arrivals.trace={name}" for name in ("helios", "pai", "philly")))
PROVED = tuple(
    f"paper:tasks={tasks},nodes.a100=1,nodes.a40=1,start={start},slots={slots},quiet=8,sizes={sizes},{arrivals}"
    for tasks, slots, sizes, start in (
        (20, 24, "profiles", 40), (30, 32, "profiles", 70), (40, 40, "profiles", 60), (60, 40, "profiles", 80),
        (40, 40, "own", 50),
    )
    for arrivals in ARRIVALS
)  # fmt: skip
"""Recipes: parts of days, 20 to 60 tasks on two nodes."""
CERTIFICATE, OPT = "certificate", "opt"
PROOFS = ("recipe", "load", "model", "solver", "incumbent", "bound", "gap", "seconds", "ended")


def compare_proofs(recipes: Sequence[str], seconds: float, solvers: dict[str, str], say: Say) -> Measurement:
    """Certificates of small instances against solvers on models as they stand, from nothing: seconds to the proof."""
    rows: list[dict[str, Value]] = []
    for recipe in recipes:
        instance = _make(recipe)
        answers = {(CERTIFICATE, "-"): certify(instance, seconds), (OPT, "-"): solve_in_time(instance, seconds)}
        for pair in DIRECT:
            if pair[1] in solvers:
                answers[pair] = solve_directly(instance, *pair, seconds)
        for (model, solver), each in answers.items():
            say(f"{recipe}: {_label(model, solver)} {_told(each)}")
            row = _row(instance, (instance.tasks, 0, 0), each) | {"recipe": recipe, "model": model, "solver": solver}
            row["seconds"] = each.build_seconds + each.seconds
            if each.incumbent is not None and each.incumbent == each.bound:
                row["ended"] = "proved"
            rows.append({name: row[name] for name in PROOFS})
    contenders: dict[str, list[dict[str, Value]]] = {}
    for row in rows:
        contenders.setdefault(_label(str(row["model"]), str(row["solver"])), []).append(row)
    medians = {
        name: statistics.median(_seconds_to_proof(each, seconds) for each in of) for name, of in contenders.items()
    }
    return Measurement(
        PROOFS,
        rows,
        [Bars("seconds to the proof, median over all instances", "seconds", list(medians.items()))],
        (
            f"At most {seconds:g} seconds each, building a model included; what is not proved counts as {seconds:g} in "
            "a median. The certificate is computed with HiGHS and proved without it; `opt` takes HiGHS's word.",
            *(_summarize(name, of, medians[name]) for name, of in contenders.items()),
        ),
    )


def _make(recipe: str) -> Instance:
    from ratiobench.bench.family.registry import families
    from ratiobench.bench.family.suite_file import read_recipe

    found = read_recipe(recipe, families())
    assert found is not None
    return generate(found[1].cases[0].recipe)


def _label(model: str, solver: str) -> str:
    return model if solver == "-" else f"{model} / {solver}"


def _seconds_to_proof(row: Mapping[str, Value], limit: float) -> float:
    return min(limit, float(str(row["seconds"]))) if row["ended"] == "proved" else limit


def _gap(row: Mapping[str, Value]) -> float:
    return 1.0 if row["gap"] is None else float(str(row["gap"]))


def _summarize(name: str, rows: Sequence[Mapping[str, Value]], median: float) -> str:
    proved, gaps = sum(row["ended"] == "proved" for row in rows), [100 * _gap(row) for row in rows]
    return (
        f"{name}: {proved} of {len(rows)} proved, median {median:.3g} s; "
        f"gap {statistics.median(gaps):.3g} % in the median, {max(gaps):.3g} % at most"
    )


def _measure_proofs(quick: bool, say: Say) -> Measurement:
    solvers = find_installed(sorted({backend for _, backend in DIRECT}))
    return compare_proofs(PROVED[:3] if quick else PROVED, 10.0 if quick else 20.0, solvers, say)


# ---------------------------------------------------------------------------------------------------- model building

BUILT = ("printed", "tight")
BUILDING = (
    "tasks", "nodes", "slots", "model", "columns", "rows", "nonzeros", "seconds", "first_call_seconds", "ratio",
    "microseconds_per_column",
)  # fmt: skip
BUILD_SIZES = ((10, 2, 12), (20, 2, 24), (40, 4, 24), (80, 4, 36), (120, 4, 48))


class Building(NamedTuple):
    """Size of a model, seconds of its first building and the median of the others."""

    columns: int
    rows: int
    nonzeros: int
    first: float
    median: float


def time_building(instance: Instance, names: Sequence[str], turns: int) -> dict[str, Building]:
    """Build the models in turns; runs where PuLP may be loaded."""
    made: dict[str, LinearModel] = {}

    def make(name: str) -> Callable[[], None]:
        def call() -> None:
            made[name] = _call(registry()[name].build, instance)

        return call

    spent = time_in_turns({name: make(name) for name in names}, turns)
    return {
        name: Building(len(made[name].columns), len(made[name].rows), len(made[name].index), each.first, each.median)
        for name, each in spent.items()
    }


def compare_building(sizes: Sequence[tuple[int, int, int]], turns: int, say: Say) -> Measurement:
    """Seconds to build P as printed with PuLP, and the tight formulation as arrays, in one and the same process.

    Raises
    ------
    RuntimeError : when the process that may load PuLP does not answer.
    """
    rows: list[dict[str, Value]] = []
    for size in sizes:
        instance = make_contention(*size)
        reply = backends.call("cbc", f"{__name__}:time_building", instance, BUILT, turns)
        if reply.termination is not None:
            raise RuntimeError(f"building models: {reply.termination}: {reply.message}")
        found: dict[str, Building] = reply.value
        say(", ".join(f"{name} {each.median:.3f} s" for name, each in found.items()) + f" for {size[0]} tasks")
        for name, each in found.items():
            rows.append(
                {
                    "tasks": size[0],
                    "nodes": size[1],
                    "slots": size[2],
                    "model": f"{name} ({'PuLP' if name == 'printed' else 'arrays'})",
                    "columns": each.columns,
                    "rows": each.rows,
                    "nonzeros": each.nonzeros,
                    "seconds": each.median,
                    "first_call_seconds": each.first,
                    "ratio": found["printed"].median / each.median,
                    "microseconds_per_column": 1e6 * each.median / each.columns,
                }
            )
    labels = list(dict.fromkeys(str(row["model"]) for row in rows))
    curves = [
        (label, [(float(str(row["tasks"])), float(str(row["seconds"]))) for row in rows if row["model"] == label])
        for label in labels
    ]
    return Measurement(
        BUILDING,
        rows,
        [Curves("seconds to build a model", "tasks", "seconds", curves)],
        (
            "The two are different models of the same problem: the printed one has every task, node and slot, the "
            "tight one what can be used. Ratio: PuLP's seconds over the row's.",
        ),
    )


def _measure_building(quick: bool, say: Say) -> Measurement:
    return compare_building(BUILD_SIZES[:3] if quick else BUILD_SIZES, 3 if quick else 5, say)


# ------------------------------------------------------------------------------------------------------------- growth

GROWTH = ("tasks", "nodes", "load", "what", "seconds", "microseconds_per_task", "times_smallest")
DAYS = tuple((tasks, nodes) for nodes in (25, 50, 100, 200) for tasks in (500, 1_000, 2_000, 4_320, 7_200, 11_520))
ONLINE_RUNS = ("pdftsp", "pdftsp:search=printed")


def compare_growth(days: Sequence[tuple[int, int]], say: Say) -> Measurement:
    """Seconds of the Lagrangian bound and of whole online runs on days of growing size."""
    rows: list[dict[str, Value]] = []
    for tasks, nodes in days:
        instance = generate(
            {"kind": "paper", "tasks": tasks, "nodes": nodes, "arrivals": {"trace": "philly"},
             "seed": ["perf", tasks, nodes]}
        )  # fmt: skip
        began = time.perf_counter()
        compute_bound(instance)
        seconds = {"bound": time.perf_counter() - began}
        seconds |= {name: run(instance, name).seconds for name in ONLINE_RUNS}
        say(f"{tasks} tasks, {nodes} nodes: " + ", ".join(f"{name} {each:.2f} s" for name, each in seconds.items()))
        for name, each in seconds.items():
            smallest = next((row for row in rows if row["what"] == name and row["nodes"] == nodes), None)
            rows.append(
                {
                    "tasks": tasks,
                    "nodes": nodes,
                    "load": float(load(instance)),
                    "what": name,
                    "seconds": each,
                    "microseconds_per_task": 1e6 * each / tasks,
                    "times_smallest": 1.0 if smallest is None else each / float(str(smallest["seconds"])),
                }
            )
    figures = [
        Curves(
            f"{what}: seconds by tasks",
            "tasks",
            "seconds",
            [
                (
                    f"{nodes} nodes",
                    [
                        (float(str(row["tasks"])), float(str(row["seconds"])))
                        for row in rows
                        if (row["what"], row["nodes"]) == (what, nodes)
                    ],
                )
                for nodes in dict.fromkeys(nodes for _, nodes in days)
            ],
        )
        for what in ("bound", *ONLINE_RUNS)
    ]
    return Measurement(
        GROWTH,
        rows,
        figures,
        (
            "bound: pooling the tasks, the Lagrangian bound at effort 1 and its proof in integers. The others: whole "
            "online runs under the referee. times_smallest: against the fewest tasks on the same nodes. One run each.",
        ),
    )


def compute_bound(instance: Instance) -> int:
    """The Lagrangian bound at effort 1, from the instance on."""
    return dual_bound(Pricer(pool(instance))).upper


def _measure_growth(quick: bool, say: Say) -> Measurement:
    return compare_growth(((500, 25), (1_000, 25)) if quick else DAYS, say)


PARTS: tuple[Part, ...] = (
    Part("models", "Bounds and search against direct models: what each has after equal seconds", _measure_models),
    Part("proofs", "Certificates of 20 to 60 tasks against direct models: seconds to the proof", _measure_proofs),
    Part("building", "Building the printed model with PuLP against building arrays", _measure_building),
    ONLINE,
    Part("growth", "How seconds grow with tasks and nodes", _measure_growth),
    SCALING,
)
