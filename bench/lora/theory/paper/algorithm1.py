"""What Algorithm 1 makes of the capacities: drops, overflow without the room test, prices that dropped tasks leave."""

from __future__ import annotations

from ratiobench.bench.family.checks import Check
from ratiobench.bench.lora.theory.basis.case import Case, Figures
from ratiobench.bench.lora.theory.basis.verdicts import compare
from ratiobench.online.lora.registry import parse
from ratiobench.online.lora.run import ENVIRONMENT
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.run import run_built


def drops(case: Case) -> Check:
    """At most one dropped task per cell: what Lemma 2 gives for line 12."""
    cells = case.public.nodes * case.public.slots
    return compare(case, "drops", len(case.dropped_steps), cells, "dropped tasks <= cells (k, t)", scale=0)


def overflow(case: Case) -> Check:
    """Whether Algorithm 1 without line 8 would keep the capacities; the witness is the first cell that overflows."""
    claim = "virtual load / capacity <= 1 without the room test"
    largest, where = case.virtual_peak()
    figures: Figures = {"dropped": len(case.dropped_steps)}
    witness = None if where is None else {"cell": list(where), "load_over_capacity": str(largest)}
    return compare(case, "overflow", largest, 1, claim, witness=witness, figures=figures, scale=0)


RERUN_LIMIT = 1000  # Most tasks of an instance that an audit runs once more


def ghost_updates(case: Case) -> Check:
    """Whether the prices that dropped tasks leave behind change a later decision: decided otherwise <= 0."""
    claim = "tasks decided otherwise when prices move on admission only"
    if not case.dropped_steps:
        figures: Figures = {"dropped": 0, "welfare": case.run.welfare, "welfare_admitted_only": case.run.welfare}
        return compare(case, "ghost_updates", 0, 0, f"{claim}; none was dropped", figures=figures, scale=0)
    if case.instance.tasks > RERUN_LIMIT:
        problem = f"{case.instance.tasks} tasks; at most {RERUN_LIMIT} are run again"
        return compare(case, "ghost_updates", None, None, claim, problem=problem)
    other = _on_admission_only(case)
    changed = [
        i
        for i, (a, b) in enumerate(zip(case.run.decisions, other.decisions, strict=True))
        if (a is None) != (b is None)
    ]
    figures = {"dropped": len(case.dropped_steps), "welfare": case.run.welfare, "welfare_admitted_only": other.welfare}
    witness = {"task": changed[0], "tasks": changed} if changed else None
    return compare(case, "ghost_updates", len(changed), 0, claim, witness=witness, figures=figures, scale=0)


def _on_admission_only(case: Case) -> OnlineRun:
    """The same run, constants included, with prices that move on admission only."""
    run = case.run
    spec = parse(run.algorithm)
    assert spec.entry is not None
    options = spec.entry.settle(dict(spec.options) | {"updates": "admitted"}, case.instance.tasks)
    algorithm = spec.entry.make(options)
    return run_built(ENVIRONMENT, case.instance, algorithm, run.algorithm, run.version, run.constants, "")
