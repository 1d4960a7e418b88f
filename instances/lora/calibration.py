"""What a GPU does with multi-LoRA fine-tuning: rates, memory and power, from the shipped table or a file of one's own.

The shipped table is of GPT-2: the H200's figures are measured, those of the A100 and A40 derived from them
(docs/reference/instances/lora.md has the formulas). A file is what docs/examples/calibrate.py measured on one GPU.
Everything is computed in integers and fractions, so it is the same on every machine.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.fields import Fields
from ratiobench.instances.io.files import load_json, read_bytes
from ratiobench.instances.io.keys import Text, join_path

FORMAT = "ratiobench/lora/calibration/1"
SLOT_SECONDS = 600  # The slot length that rates and energies are for
MOST = 1024  # Tasks on a GPU, and samples of a batch
_TABLE = Path(__file__).with_name("data") / "calibration.json"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,59}", re.ASCII)
_FASTEST = 10**10


@dataclass(frozen=True, slots=True)
class Gpu:
    """A node type."""

    name: str  # label: ``h200``, ``a100``, ``a40``, or that of a file
    basis: str  # ``measured`` or ``derived``
    samples_per_s: Fraction  # of the saturated GPU
    memory_mb: int  # C_km
    watts: Fraction | None  # above idle in the fastest row; None where nobody knows

    @property
    def compute(self) -> int:
        """C_kp, samples per slot of the saturated GPU."""
        return int(self.samples_per_s * SLOT_SECONDS)


@dataclass(frozen=True, slots=True)
class Profile:
    """What one of `tasks` tasks that share a GPU at batch `batch` takes of it."""

    tasks: int  # tasks, batch: co-location degree n and samples per step
    batch: int
    memory_mb: int  # r_i, MB beside the shared base
    rate: dict[str, int]  # {GPU: s_ik, samples per slot}
    energy_wh: dict[str, int]  # {GPU: Wh per slot above idle}


@dataclass(frozen=True, slots=True)
class Calibration:
    """A table: the GPUs in it, and what tasks take of them."""

    source: str  # where the figures come from, and what of them is derived
    base_memory_mb: int  # r_b, the frozen base model
    gpus: Mapping[str, Gpu]  # the node types by name
    profiles: tuple[Profile, ...]  # every co-location degree and batch that fitted the GPU, in the table's order
    document: Mapping[str, Any] | None = None  # the file, decoded; None for the shipped table
    notes: tuple[str, ...] = ()  # what must be known of instances that are made of it

    @property
    def tasks(self) -> tuple[int, ...]:
        """The co-location degrees, ascending."""
        return tuple(sorted({p.tasks for p in self.profiles}))

    @property
    def batch(self) -> tuple[int, ...]:
        """The batches, ascending."""
        return tuple(sorted({p.batch for p in self.profiles}))

    def choose_profiles(self, colocation: Sequence[int], batch: Sequence[int]) -> tuple[Profile, ...]:
        """The profiles with a co-location degree and a batch of the lists."""
        for key, values, known in (("colocation", colocation, self.tasks), ("batch", batch, self.batch)):
            for value in values:
                if value not in known:
                    raise InputError("recipe", key, f"{shorten(value)} is none of {', '.join(map(str, known))}")
        found = tuple(p for p in self.profiles if p.tasks in colocation and p.batch in batch)
        if not found:
            raise InputError("recipe", "batch", f"{list(batch)} with colocation {list(colocation)} did not fit the GPU")
        return found


@lru_cache(maxsize=1)
def read_shipped() -> Calibration:
    """The table of the main paper's model on H200, A100 and A40."""
    table: dict[str, Any] = json.loads(_TABLE.read_text(encoding="utf-8"))
    nodes, base, idle = table["node_types"], table["base_memory_mb"], table["idle_deciwatts"]
    board = next(node["board_watts"] for node in nodes if node["basis"] == "measured")
    fastest = max(table["rows"], key=lambda row: int(row["centisamples_per_s"]))
    gpus = {
        node["name"]: Gpu(
            name=node["name"],
            basis=node["basis"],
            samples_per_s=Fraction(table["saturated_centisamples_per_s"] * node["rate_percent"], 10_000),
            memory_mb=node["memory_mb"],
            watts=Fraction((fastest["deciwatts"] - idle) * node["board_watts"], 10 * board),
        )
        for node in nodes
    }
    profiles = tuple(
        _profile(
            row,
            base,
            {node["name"]: Fraction(row["centisamples_per_s"] * node["rate_percent"], 10_000) for node in nodes},
            {node["name"]: Fraction((row["deciwatts"] - idle) * node["board_watts"], 10 * board) for node in nodes},
        )
        for row in table["rows"]
    )
    return Calibration(table["source"], base, gpus, profiles)


def _profile(
    row: Mapping[str, int], base_mb: int, samples: Mapping[str, Fraction], watts: Mapping[str, Fraction]
) -> Profile:
    """One task's share of a row: samples per second and watts above idle are of the whole GPU, by its name."""
    n = row["tasks"]
    return Profile(
        tasks=n,
        batch=row["batch"],
        memory_mb=-((base_mb - row["peak_mb"]) // n),
        rate={name: int(each * SLOT_SECONDS / n) for name, each in samples.items()},
        energy_wh={name: round(each * SLOT_SECONDS / (3600 * n)) for name, each in watts.items()},
    )


def read_calibration(path: str | os.PathLike[str]) -> Calibration:
    """Read and check a file of measurements."""
    data, source = read_bytes(path)
    return parse(load_json(data, source), source)


_TOP = {"format", "name", "measured", "memory_mb", "base_memory_mb", "idle_deciwatts", "rows", "absent"}
_TEXTS = ("device", "torch", "model", "dtype", "rate", "memory", "power")
_SIZES = ("parameters", "tokens", "rank")
_ROW = {"tasks", "batch", "millisamples_per_s", "peak_mb", "deciwatts_above_idle"}


def parse(data: Any, source: str, path: str = "") -> Calibration:
    """The calibration in a decoded file; `path`: where it stands in a larger document."""
    if isinstance(data, Mapping) and data.get("format") != FORMAT:
        raise InputError(source, join_path(path, "format"), f"{shorten(data.get('format'))} is not {FORMAT!r}")
    top = Fields(source, path, data, _TOP, {"idle_deciwatts"})
    name = top.text("name")
    if not _NAME.fullmatch(name):
        problem = f"{shorten(name)} is not 1 to 60 of the characters A-Z a-z 0-9 _ . -"
        raise InputError(source, top.at("name"), problem)
    about = Fields(source, top.at("measured"), top.data["measured"], {*_TEXTS, *_SIZES}, set())
    texts = {key: about.text(key) for key in _TEXTS}
    sizes = {key: about.integer(key, 1) for key in _SIZES}
    memory = top.integer("memory_mb", 1)
    base = top.integer("base_memory_mb", 1, max(1, memory - 1))
    if "idle_deciwatts" in top.data:
        top.integer("idle_deciwatts", 0, 10**6)
    rows = [_row(source, f"{top.at('rows')}[{j}]", raw, base, memory) for j, raw in enumerate(top.items("rows"))]
    _check_rows(source, top, rows)
    fastest = max(rows, key=lambda row: row["millisamples_per_s"])
    watts = fastest.get("deciwatts_above_idle")
    gpu = Gpu(
        name=name,
        basis="measured",
        samples_per_s=Fraction(fastest["millisamples_per_s"], 1000),
        memory_mb=memory,
        watts=None if watts is None else Fraction(watts, 10),
    )
    profiles = tuple(
        _profile(
            row,
            base,
            {name: Fraction(row["millisamples_per_s"], 1000)},
            {name: Fraction(row.get("deciwatts_above_idle", 0), 10)},
        )
        for row in rows
    )
    text = (
        f"Measured on {texts['device']}: LoRA fine-tuning of {texts['model']} ({sizes['tokens']} tokens per sample, "
        f"{texts['dtype']}, rank {sizes['rank']}), PyTorch {texts['torch']}; power {texts['power']}."
    )
    unknown = f"The power of {name} is not known ({texts['power']}): tasks cost no energy."
    return Calibration(text, base, {name: gpu}, profiles, data, (unknown,) if watts is None else ())


def _row(source: str, path: str, raw: Any, base: int, memory: int) -> dict[str, int]:
    fields = Fields(source, path, raw, _ROW, {"deciwatts_above_idle"})
    row = {key: fields.integer(key, 1, MOST) for key in ("tasks", "batch")}
    slowest = -(-1000 * row["tasks"] // SLOT_SECONDS)  # a sample of each task in a slot
    row["millisamples_per_s"] = fields.integer("millisamples_per_s", slowest, _FASTEST)
    row["peak_mb"] = fields.integer("peak_mb", base + 1, memory)
    if "deciwatts_above_idle" in fields.data:
        row["deciwatts_above_idle"] = fields.integer("deciwatts_above_idle", 0, 10**6)
    return row


def _check_rows(source: str, top: Fields, rows: Sequence[Mapping[str, int]]) -> None:
    """There are some, no cell stands twice, all have their power or none has; absent cells say why."""
    if not rows:
        raise InputError(source, top.at("rows"), "an empty list; at least one row is needed")
    seen: set[tuple[int, int]] = set()
    for j, row in enumerate(rows):
        if ("deciwatts_above_idle" in row) != ("deciwatts_above_idle" in rows[0]):
            where = f"{top.at('rows')}[{j}].deciwatts_above_idle"
            raise InputError(source, where, "all rows have it, or none")
        _once(source, f"{top.at('rows')}[{j}]", (row["tasks"], row["batch"]), seen)
    for j, raw in enumerate(top.items("absent")):
        path = f"{top.at('absent')}[{j}]"
        fields = Fields(source, path, raw, {"tasks", "batch", "why"}, set())
        fields.text("why")
        _once(source, path, (fields.integer("tasks", 1, MOST), fields.integer("batch", 1, MOST)), seen)


def _once(source: str, path: str, cell: tuple[int, int], seen: set[tuple[int, int]]) -> None:
    if cell in seen:
        raise InputError(source, path, f"{cell[0]} tasks at batch {cell[1]} stand twice; once is allowed")
    seen.add(cell)


@dataclass(frozen=True, slots=True)
class CalibrationFile(Text):
    """The name of a file of measurements, or its content, which stands in its place once it was read."""

    path: bool = True

    def checked(self, source: str, field: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return parse(value, source, field).document
        return read_calibration(Text(path=True).checked(source, field, value)).document
