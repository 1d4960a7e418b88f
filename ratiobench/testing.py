"""For the tests of other projects: is a run valid, does a bound hold, and what are the terms of Theorem 5?

    import ratiobench
    from ratiobench.testing import assert_bound, assert_valid

    def test_my_bound():
        [instance] = ratiobench.generate("paper", tasks=8, nodes=1, slots=12, seed=1).values()
        assert_valid(ratiobench.simulate(instance, "mine:Earliest"))
        assert_bound(instance, "mine:Earliest", 30)

Each assertion fails with the figures of both sides and the whole instance as JSON, which `explain` and `audit` read.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ratiobench.bench.commands.shared import read_given, user_context
from ratiobench.bench.family.checks import ANOTHER, Check, Verdict
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.bench.lora.theory.terms import alpha, bbar, beta, rho, theorem5_bound
from ratiobench.formulations.report import Exact, SolveReport
from ratiobench.instances.io.errors import InputError
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.run_context import run_context
from ratiobench.online.user_algorithm import name_algorithms

__all__ = ["alpha", "assert_bound", "assert_valid", "bbar", "beta", "rho", "theorem5_bound"]

Number = int | float | Fraction
SHOWN = 10  # Violations of a run that are told


def assert_valid(run: OnlineRun) -> OnlineRun:
    """Assert that a run broke no rule of the problem or of the referee.

    Parameters
    ----------
    run : an online run (`ratiobench.simulate`).

    Returns
    -------
    The run itself.

    Raises
    ------
    AssertionError : the run is not valid; lists the violations.

    Examples
    --------
    >>> import ratiobench
    >>> from ratiobench.instances.lora.named import named
    >>> from ratiobench.testing import assert_valid
    >>> assert_valid(ratiobench.simulate(named("thm5_T5_3tasks"), "greedy")).admitted
    3
    """
    if not run.valid:
        lines = [str(each) for each in run.violations[:SHOWN]]
        more = len(run.violations) - len(lines)
        raise AssertionError("\n".join([f"{run.label}: not a valid run", *lines, *([f"{more} more"] if more else [])]))
    return run


def assert_bound(
    instance: Any, algorithm: object, claim: str | Number | Callable[[Any], Number], *, isolate: bool | None = None
) -> Verdict:
    """Check a bound on one run of the algorithm, in exact figures; AssertionError where it does not hold.

    Parameters
    ----------
    instance : an instance or its file.
    algorithm : a name with options, an import path ``package.module:Class``, a class, or an object of one.
    claim : a number c: OPT <= c ALG (ALG <= c OPT where the least is best); a function that gives the c of an instance;
        or the name of a claim, as `audit` has it.
    isolate : run a user's algorithm in a sandbox (Linux), or do not; by default where bubblewrap or Landlock works. A
        message names the way.

    Returns
    -------
    ``holds``; of a named claim also ``not applicable``, where its assumptions do not hold on this instance.

    Raises
    ------
    AssertionError : the bound is violated; OPT is known too roughly to tell; or the run is not valid.
    InputError : no such claim, or one about another algorithm: a test of it would never fail; no sandbox, where one is
        required.

    Examples
    --------
    >>> from ratiobench.instances.lora.named import named
    >>> from ratiobench.testing import assert_bound
    >>> assert_bound(named("thm5_T5_3tasks"), "greedy", 30)
    <Verdict.HOLDS: 'holds'>
    """
    family, chosen = read_given(instance)
    reference = family.solve(chosen, SolveSettings())
    (name,), handed = name_algorithms([algorithm], family.secret_types())
    with run_context(user_context(family, isolate, handed, instance)):  # checks may run it again
        run = assert_valid(family.run(chosen, name))
        if isinstance(claim, str):
            (check,) = family.audit(chosen, run, reference, [claim])
        else:
            most = Fraction(claim(chosen) if callable(claim) else claim)
            check = _at_most(family.sense, run.welfare, reference, most)
    if check.reason.startswith(ANOTHER):
        raise InputError("claim", str(claim), f"says nothing about this run: {check.reason}")
    if check.status in (Verdict.HOLDS, Verdict.NOT_APPLICABLE):
        return check.status
    sides = "" if check.left is None else f": {check.left} <= {check.right}"
    document = json.dumps(json.loads(family.dumps(chosen)))
    lines = (f"{check.name} is {check.status.value} for {run.label}{sides}", check.reason, document)
    raise AssertionError("\n".join(filter(None, lines)))


def _at_most(sense: Sense, value: Exact, reference: SolveReport, most: Fraction) -> Check:
    """The bound of a number: violated beyond all that OPT may be, holds where it does whatever OPT is."""
    low, high = Fraction(reference.lower), Fraction(reference.upper)
    text = f"ALG is {value}, OPT " + (f"is {low}" if low == high else f"lies from {low} to {high}")
    if sense is Sense.MOST:
        name, lefts, rights = f"OPT <= {most} ALG", (low, high), (most * value, most * value)
    else:
        name, lefts, rights = f"ALG <= {most} OPT", (Fraction(value), Fraction(value)), (most * high, most * low)
    if lefts[0] > rights[0]:
        return Check(name, Verdict.VIOLATED, lefts[0], rights[0], text)
    verdict = Verdict.HOLDS if lefts[1] <= rights[1] else Verdict.UNDECIDED
    return Check(name, verdict, lefts[1], rights[1], text)
