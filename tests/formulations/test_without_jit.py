"""NUMBA_DISABLE_JIT=1, as people set it to debug: plain Python gives what the compiled kernels give."""

import json
import os
import subprocess
import sys
from pathlib import Path

from ratiobench.instances.lora import document, parse
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.registry import REGISTRY
from ratiobench.online.lora.run import run

ROOT = Path(__file__).resolve().parents[2]


def outcomes() -> list[list[str]]:
    """Welfare, constants and decisions of every algorithm, on two shipped instances and on one with large numbers."""
    large = document(named("tiny_vendors"))
    for task in large["tasks"]:
        task["bid"] = 2**40 - 1 - task["bid"]
        task["work"], task["rate"] = task["work"] << 30, [rate << 30 for rate in task["rate"]]
    for node in large["node_types"]:
        node["compute"] <<= 30
    found = []
    for instance in (named("tiny_two_types"), named("tiny_negative_tariff"), parse(large)):
        for name in REGISTRY.entries():
            result = run(instance, name)
            constants = {constant.name: str(constant.value) for constant in result.constants}
            found.append([name, str(result.welfare), json.dumps([constants, result.decisions, result.counts])])
    return found


def test_all_algorithms_answer_alike_without_the_compiler() -> None:
    """Nothing overflows, and no integer of NumPy's is left where Python's is needed."""
    code = f"import json; from {__name__} import outcomes; print(json.dumps(outcomes()))"
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", code],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-1000:]
    assert json.loads(done.stdout) == outcomes()
