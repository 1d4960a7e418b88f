"""CBC through the binary that PuLP bundles: our own MPS text in, its log and solution file out; one thread, zero gaps.

One unit of work is 100 branch-and-bound nodes (the root node has no limit of its own but the hard ones). The file is a
minimisation (`LinearModel.mps`), so a lower bound in the log is, negated, an upper bound of the model. Values are only
believed of an incumbent: after a stop without one the solution file holds the relaxation's.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pulp

from ratiobench.formulations.backends import BackendResult, FloatArray, Limits, finite_or_none
from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.processes import die_with_parent
from ratiobench.formulations.report import Termination

NODES_PER_UNIT = 100
SEED = 1

_OPTIMAL = "Optimal solution found"
_WITHIN_GAP = "within gap tolerance"
_ENDS = (
    (_OPTIMAL, Termination.OPTIMAL),
    ("Stopped on", Termination.LIMIT),
    ("Problem proven infeasible", Termination.INFEASIBLE),
    ("infeasible", Termination.INFEASIBLE),
    ("Infeasible", Termination.INFEASIBLE),
    ("unbounded", Termination.UNBOUNDED),
)
_NUMBER = r"\s*(\S+)"
_OBJECTIVE = r"^Objective value:" + _NUMBER


def version() -> str:
    path = _binary()
    text = subprocess.run([path, "-quit"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"Version:\s*(\S+)", text)
    return f"{found.group(1) if found else 'unknown'} (PuLP {pulp.__version__})"


def _binary() -> str:
    solver = pulp.PULP_CBC_CMD(msg=False)
    if not solver.available():
        raise ModuleNotFoundError("no CBC binary", name="the CBC binary of PuLP")
    return str(solver.path)


def solve(model: LinearModel, limits: Limits, start: FloatArray | None = None) -> BackendResult:
    """Maximise the model; see `ratiobench.formulations.backends.solve`."""
    began = time.perf_counter()
    folder = Path(tempfile.mkdtemp(prefix="cbc-"))
    try:
        source, answer = folder / "model.mps", folder / "solution.txt"
        source.write_text(model.mps())
        options = ["-ratioGap", repr(limits.gap), "-allowableGap", "0", "-randomCbcSeed", str(SEED)]
        if limits.work is not None:
            options += ["-maxNodes", str(limits.work * NODES_PER_UNIT)]
        if limits.seconds is not None:
            options += ["-timeMode", "elapsed", "-seconds", repr(float(limits.seconds))]
        if start is not None:
            lines = [f"{c} {name} {start[c]:.0f} 0" for c, name in enumerate(model.columns)]
            (folder / "start.txt").write_text("Stopped on time - objective value 0\n" + "\n".join(lines) + "\n")
            options += ["-mips", "start.txt"]
        # CBC reads some characters of a path in its own way: all names are of this folder.
        end = ["-solve", "-printingOptions", "all", "-solution", answer.name]
        log = run([source.name, *options, *end], folder)
        state = answer.read_text().partition("\n")[0] if answer.exists() else ""
        values = read_values(model, answer)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return read_result(model, log, state, values, time.perf_counter() - began)


def run(arguments: list[str], folder: Path) -> str:
    """Run the binary in a folder and return its log; it dies with this process."""
    parent = os.getpid()
    done = subprocess.run(
        [_binary(), *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
        preexec_fn=(lambda: die_with_parent(parent)) if hasattr(os, "fork") else None,
    )
    if done.returncode < 0:
        raise (
            MemoryError
            if done.returncode == -signal.SIGABRT and "bad_alloc" in done.stdout
            else RuntimeError(f"CBC was killed by signal {-done.returncode}")
        )
    return done.stdout


def read_values(model: LinearModel, answer: Path) -> FloatArray | None:
    """The column values in a solution file, whatever they are; None when there are none."""
    try:
        lines = answer.read_text().splitlines()
    except OSError:
        return None
    position = {name: c for c, name in enumerate(model.columns)}
    values = np.zeros(len(model.columns))
    for line in lines[1:]:
        fields = line.replace("**", " ").split()
        if len(fields) >= 3 and fields[1] in position:
            values[position[fields[1]]] = float(fields[2])
    return values if np.isfinite(values).all() else None


def read_result(model: LinearModel, log: str, state: str, values: FloatArray | None, seconds: float) -> BackendResult:
    """What a log of a minimisation, and the first line and the values of its solution file, say of the maximisation."""
    result = _last(r"^Result - (.*)$", log) or (state if state.startswith("Infeasible") else None)
    linear = result is None and not model.integer.any() and state.startswith("Optimal")
    if linear:  # without whole numbers there is no search whose result the log could name
        result = _OPTIMAL
    if result is None:
        last = (log.strip().splitlines() or ["nothing"])[-1]
        return BackendResult(Termination.ERROR, seconds=seconds, message=f"CBC gave no result: {last[:200]}")
    termination = next((end for words, end in _ENDS if words in result), Termination.ERROR)
    ended = termination in (Termination.OPTIMAL, Termination.LIMIT)
    found = ended and "No feasible solution found" not in log
    # Values that are not integer or break a row are not an incumbent.
    if values is not None and not (found and model.violation(values) <= 1e-5):
        values = None
    value = _parsed(_last(r"objective value" + _NUMBER, state) if linear else _last(_OBJECTIVE, log))
    value = None if value is None or not found else 0.0 - value
    exact = termination is Termination.OPTIMAL and _WITHIN_GAP not in result
    bound = None
    if exact and values is not None:
        bound = finite_or_none(float(model.objective @ values))
    elif ended and (stated := _parsed(_last(r"^Lower bound:" + _NUMBER, log))) is not None:
        bound = -stated + 0.001  # a minimisation's; printed with three decimals
    return BackendResult(
        termination=termination,
        values=values,
        bound=bound,
        stated_bound=value if exact else bound,
        stated_value=value,
        nodes=int(_last(r"^Enumerated nodes:\s*(\d+)", log) or 0),
        iterations=int(_last(r"^Total iterations:\s*(\d+)", log) or 0),
        seconds=seconds,
        message="" if termination is not Termination.ERROR else f"CBC said: {result[:200]}",
    )


def _last(pattern: str, text: str) -> str | None:
    """The group of the last match."""
    found: list[str] = re.findall(pattern, text, re.MULTILINE)
    return found[-1] if found else None


def _parsed(text: str | None) -> float | None:
    try:
        return None if text is None else finite_or_none(float(text))
    except ValueError:
        return None


def optimum_of_file(path: str) -> tuple[float, bool]:
    """Read an MPS or LP file and solve it: the optimum as CBC prints it, and whether the file says Maximize (LP)."""
    log = run([Path(path).name, "-ratioGap", "0", "-allowableGap", "0", "-solve"], Path(path).parent)
    value = _last(_OBJECTIVE, log)
    if f"Result - {_OPTIMAL}" not in log or value is None:
        raise ValueError(f"CBC: {(log.strip().splitlines() or ['nothing'])[-1]}")
    return float(value), bool(re.search(r"^maximi[sz]e", Path(path).read_text(), re.MULTILINE | re.IGNORECASE))
