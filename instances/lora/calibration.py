"""What a GPU does with multi-LoRA fine-tuning of GPT-2: rates, memory and power, from the shipped table.

The H200's figures are measured, those of the A100 and A40 derived from them (data/README.md has the formulas).
Everything is computed in integers and fractions, so it is the same on every machine.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from instances.errors import InputError, shown

_TABLE = Path(__file__).with_name("data") / "calibration.json"


@dataclass(frozen=True, slots=True)
class Gpu:
    """A node type of the table.

    Parameters
    ----------
    name : ``h200``, ``a100`` or ``a40``.
    basis : ``measured`` or ``derived``.
    compute : C_kp, samples per slot of the saturated GPU.
    memory_mb : C_km.
    """

    name: str
    basis: str
    compute: int
    memory_mb: int


@dataclass(frozen=True, slots=True)
class Profile:
    """What one of `tasks` tasks that share a GPU at batch `batch` takes of it.

    Parameters
    ----------
    tasks, batch : co-location degree n and samples per step.
    memory_mb : r_i, MB beside the shared base.
    rate : {GPU: s_ik, samples per slot}.
    energy_wh : {GPU: Wh per slot above idle}.
    """

    tasks: int
    batch: int
    memory_mb: int
    rate: dict[str, int]
    energy_wh: dict[str, int]


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(_TABLE.read_text(encoding="utf-8"))
    return table


def source() -> str:
    """Where the figures come from, and what of them is derived."""
    text: str = _table()["source"]
    return text


def base_memory_mb() -> int:
    """r_b: the frozen base model, MB."""
    base: int = _table()["base_memory_mb"]
    return base


def slot_seconds() -> int:
    """The slot length that rates and energies are for."""
    seconds: int = _table()["slot_seconds"]
    return seconds


@lru_cache(maxsize=1)
def gpus() -> dict[str, Gpu]:
    """The node types by name."""
    table = _table()
    samples = Fraction(table["saturated_centisamples_per_s"] * table["slot_seconds"], 100)
    return {
        node["name"]: Gpu(node["name"], node["basis"], int(samples * node["rate_percent"] / 100), node["memory_mb"])
        for node in table["node_types"]
    }


@lru_cache(maxsize=1)
def profiles() -> tuple[Profile, ...]:
    """Every co-location degree and batch that fitted the GPU, in the table's order."""
    table = _table()
    seconds = table["slot_seconds"]
    reference = next(node["board_watts"] for node in table["node_types"] if node["basis"] == "measured")
    found = []
    for row in table["rows"]:
        n = row["tasks"]
        samples = Fraction(row["centisamples_per_s"] * seconds, 100 * n)
        watt_hours = Fraction((row["deciwatts"] - table["idle_deciwatts"]) * seconds, 10 * 3600 * n)
        found.append(
            Profile(
                tasks=n,
                batch=row["batch"],
                memory_mb=-((table["base_memory_mb"] - row["peak_mb"]) // n),
                rate={g["name"]: int(samples * g["rate_percent"] / 100) for g in table["node_types"]},
                energy_wh={g["name"]: round(watt_hours * g["board_watts"] / reference) for g in table["node_types"]},
            )
        )
    return tuple(found)


def chosen(colocation: list[int], batch: list[int]) -> tuple[Profile, ...]:
    """The profiles with a co-location degree and a batch of the lists.

    Raises
    ------
    InputError : for a value that the table does not have, or when none of the combinations fitted.
    """
    for key, values, known in (
        ("colocation", colocation, sorted({p.tasks for p in profiles()})),
        ("batch", batch, sorted({p.batch for p in profiles()})),
    ):
        for value in values:
            if value not in known:
                raise InputError("recipe", key, f"{shown(value)} is none of {', '.join(map(str, known))}")
    found = tuple(p for p in profiles() if p.tasks in colocation and p.batch in batch)
    if not found:
        raise InputError("recipe", "batch", f"{batch} with colocation {colocation} did not fit the GPU")
    return found
