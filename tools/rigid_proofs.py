"""How many small instances of rigid tasks and gangs are proved: 40 jobs on two nodes, drawn.

    python -m tools.rigid_proofs [KIND ...] [--seed N] [--effort N]

prints a row per instance (slots, load, gap, proof, CPU seconds of all processes) and, per kind, how many are proved.
Work is counted, not time, so that gaps are the same on every machine.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import time
from collections.abc import Sequence
from typing import Any

from ratiobench.formulations.lora.solve import solve
from ratiobench.instances.lora.format import FORMAT_2, parse
from ratiobench.instances.lora.model import Instance

JOBS, NODES = 40, 2
UNIT = 1_000  # Compute and memory of a node
KINDS = {
    "gpus": "whole GPUs of 8, two nodes alike",
    "types": ".1 to 1 node and memory, two node types",
    "alike": ".1 to 1 node and memory, gangs, two nodes alike",
}
SLOTS, LOADS = (60, 120, 180), (0.8, 1.2, 2.0)


def draw(kind: str, slots: int, load: float, seed: int) -> Instance:
    """An instance: heavy-tailed lengths, windows of three runs, bids of 1 to 3 per node and slot of the run."""
    chance = random.Random(f"rigid proofs {kind} {slots} {load} {seed}")
    shapes = []
    for _ in range(JOBS):
        if kind == "gpus":
            rate = memory = UNIT // 8 * chance.choice((1, 1, 2, 4, 8))
        else:
            rate, memory = (chance.randint(UNIT // 10, UNIT) for _ in range(2))
        parts = 2 if kind == "alike" and chance.random() < 0.15 else 1
        shapes.append((rate, memory, parts, chance.lognormvariate(0, 0.8)))
    amount = sum(rate * parts * length for rate, _, parts, length in shapes)
    unit = load * NODES * UNIT * slots / amount
    tasks = []
    for rate, memory, parts, length in shapes:
        run = min(slots // 3, max(1, round(unit * length)))
        arrival = chance.randint(1, slots - run + 1)
        tasks.append(
            {
                "arrival": arrival, "deadline": min(slots, arrival + 3 * run - 1), "memory_mb": memory,
                "work": run * rate * parts, "vendors": [],
                "bid": math.ceil(chance.uniform(1, 3) * 1_000 * run * parts * max(rate, memory) / UNIT),
                "rate": [rate, max(1, rate // 2)] if kind == "types" else [rate],
                "energy_wh": [0] * (1 + (kind == "types")), "run": "rigid",
            }
            | ({"run": "gang", "nodes": parts} if parts > 1 else {})
        )  # fmt: skip
    types = 2 if kind == "types" else 1
    node = {"count": NODES // types, "compute": UNIT, "memory_mb": UNIT, "tariff": [0] * slots}
    return parse(
        {
            "format": FORMAT_2,
            "name": f"{kind} {slots} {load} {seed}",
            "slots": slots,
            "slot_seconds": 600,
            "base_memory_mb": 0,
            "node_types": [{"name": f"g{g}", **node} for g in range(types)],
            "tasks": sorted(tasks, key=lambda task: int(task["arrival"])),  # type: ignore[call-overload]
        }
    )


def cpu_seconds() -> float:
    """Of this process and its children, those that still run included (Linux)."""
    total, ticks = time.process_time(), os.sysconf("SC_CLK_TCK")
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            total += (int(fields[11]) + int(fields[12])) / ticks
    return total


def measure(kind: str, seed: int, effort: int) -> list[dict[str, Any]]:
    """A row per instance of a kind."""
    rows = []
    for slots in SLOTS:
        for load in LOADS:
            instance, began = draw(kind, slots, load, seed), cpu_seconds()
            found = solve(instance, effort=effort)
            gap = (found.upper - found.lower) / max(1, found.upper)
            row = {"kind": kind, "slots": slots, "load": load, "gap": gap, "proof": found.proof.value}
            rows.append(row | {"seconds": cpu_seconds() - began, "cuts": found.work.get("cuts", 0)})
            shown = f"{kind} {slots} slots, load {load}: {found.lower} to {found.upper}, gap {100 * gap:.3f} %"
            print(f"{shown}, {found.proof.value}, {rows[-1]['seconds']:.0f} s, {rows[-1]['cuts']} cuts", flush=True)
    return rows


def main(words: Sequence[str] | None = None) -> None:
    """See the module."""
    parser = argparse.ArgumentParser(prog="rigid_proofs", description=__doc__)
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], default=list(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--effort", type=int, default=1)
    options = parser.parse_args(words)
    for kind in options.kinds:
        rows = measure(kind, options.seed, options.effort)
        proved, most = sum(row["gap"] == 0 for row in rows), max(row["seconds"] for row in rows)
        print(f"{KINDS[kind]}: {proved} of {len(rows)} proved, most CPU seconds {most:.0f}")


if __name__ == "__main__":
    main()
