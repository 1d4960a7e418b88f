"""What a GPU does with multi-LoRA fine-tuning: the shipped table, or a file (docs/reference/instances/lora.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import asdict

from ratiobench.instances.io.documents import Name, Part, Positive, convert
from ratiobench.instances.io.errors import InputError, require_known
from ratiobench.instances.io.files import load_json, read_bytes
from ratiobench.instances.io.keys import Text

FORMAT: Literal["ratiobench/lora/calibration/1"] = "ratiobench/lora/calibration/1"
SLOT_SECONDS = 600  # The slot length that rates and energies are for
MOST = 1024  # Tasks on a GPU, and samples of a batch
_TABLE = Path(__file__).with_name("data") / "calibration.json"


@dataclass(frozen=True, slots=True)
class Gpu:
    name: str  # label: ``h200``, ``a100``, ``a40``, or that of a file
    samples_per_s: Fraction  # of the saturated GPU
    memory_mb: int  # C_km

    @property
    def compute(self) -> int:  # C_kp, samples per slot of the saturated GPU
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
    source: str  # where the figures come from, and what of them is derived
    base_memory_mb: int  # r_b, the frozen base model
    gpus: Mapping[str, Gpu]  # the node types by name
    profiles: tuple[Profile, ...]  # every co-location degree and batch that fitted the GPU, in the table's order
    document: Mapping[str, Any] | None = None  # the file, decoded; None for the shipped table
    notes: tuple[str, ...] = ()  # what must be known of instances that are made of it

    @property
    def tasks(self) -> tuple[int, ...]:  # the co-location degrees, ascending
        return tuple(sorted({p.tasks for p in self.profiles}))

    @property
    def batch(self) -> tuple[int, ...]:
        return tuple(sorted({p.batch for p in self.profiles}))

    def choose_profiles(self, colocation: Sequence[int], batch: Sequence[int]) -> tuple[Profile, ...]:
        for key, values, known in (("colocation", colocation, self.tasks), ("batch", batch, self.batch)):
            for value in values:
                require_known(value, known, "recipe", key)
        found = tuple(p for p in self.profiles if p.tasks in colocation and p.batch in batch)
        if not found:
            raise InputError("recipe", "batch", f"{list(batch)} with colocation {list(colocation)} did not fit the GPU")
        return found


@lru_cache(maxsize=1)
def read_shipped() -> Calibration:
    """GPT-2 on the H200, measured, and on A100 and A40, derived from it."""
    table: dict[str, Any] = json.loads(_TABLE.read_text(encoding="utf-8"))
    nodes, base, idle = table["node_types"], table["base_memory_mb"], table["idle_deciwatts"]
    board = next(node["board_watts"] for node in nodes if node["basis"] == "measured")
    saturated = table["saturated_centisamples_per_s"]
    gpus = {
        node["name"]: Gpu(node["name"], Fraction(saturated * node["rate_percent"], 10_000), node["memory_mb"])
        for node in nodes
    }
    profiles = []
    for row in table["rows"]:
        samples = {node["name"]: Fraction(row["centisamples_per_s"] * node["rate_percent"], 10_000) for node in nodes}
        watts = {node["name"]: Fraction((row["deciwatts"] - idle) * node["board_watts"], 10 * board) for node in nodes}
        profiles.append(_profile(row, base, samples, watts))
    return Calibration(table["source"], base, gpus, tuple(profiles))


def _profile(
    row: Mapping[str, int], base_mb: int, samples: Mapping[str, Fraction], watts: Mapping[str, Fraction]
) -> Profile:
    """One task's share of a row; samples per second and watts above idle are of the whole GPU, by its name."""
    n = row["tasks"]
    return Profile(
        tasks=n,
        batch=row["batch"],
        memory_mb=-((base_mb - row["peak_mb"]) // n),
        rate={name: int(each * SLOT_SECONDS / n) for name, each in samples.items()},
        energy_wh={name: round(each * SLOT_SECONDS / (3600 * n)) for name, each in watts.items()},
    )


_Count = Annotated[int, Meta(ge=1, le=MOST)]
_Deciwatts = Annotated[int, Meta(ge=0, le=10**6)]


class MeasuredDocument(Part, frozen=True):
    device: Name
    torch: Name
    model: Name
    dtype: Name
    rate: Name
    memory: Name
    power: Name
    parameters: Positive
    tokens: Positive
    rank: Positive


class CellDocument(Part, frozen=True):
    tasks: _Count
    batch: _Count


class RowDocument(CellDocument, frozen=True):  # of the whole GPU
    millisamples_per_s: Annotated[int, Meta(ge=1, le=10**10)]
    peak_mb: Positive
    deciwatts_above_idle: _Deciwatts | UnsetType = UNSET


class AbsentDocument(CellDocument, frozen=True):  # not measured
    why: Name


class CalibrationDocument(Part, frozen=True, kw_only=True):
    format: Literal["ratiobench/lora/calibration/1"]
    name: Annotated[
        str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$", title="1 to 60 of the characters A-Z a-z 0-9 _ . -")
    ]
    measured: MeasuredDocument
    memory_mb: Positive
    base_memory_mb: Positive
    idle_deciwatts: _Deciwatts | UnsetType = UNSET
    rows: Annotated[list[RowDocument], Meta(min_length=1)]
    absent: list[AbsentDocument]

    def __post_init__(self) -> None:
        _require("base_memory_mb", self.base_memory_mb, 1, max(1, self.memory_mb - 1))
        seen: set[tuple[int, int]] = set()
        for field, cells in (("rows", self.rows), ("absent", self.absent)):
            for j, cell in enumerate(cells):
                if (cell.tasks, cell.batch) in seen:
                    problem = f"{cell.tasks} tasks at batch {cell.batch} stand twice; once is allowed"
                    raise InputError("", f"{field}[{j}]", problem)
                seen.add((cell.tasks, cell.batch))
        for j, row in enumerate(self.rows):
            slowest = -(-1000 * row.tasks // SLOT_SECONDS)  # a sample of each task in a slot
            _require(f"rows[{j}].millisamples_per_s", row.millisamples_per_s, slowest, 10**10)
            _require(f"rows[{j}].peak_mb", row.peak_mb, self.base_memory_mb + 1, self.memory_mb)
            if (row.deciwatts_above_idle is UNSET) != (self.rows[0].deciwatts_above_idle is UNSET):
                raise InputError("", f"rows[{j}].deciwatts_above_idle", "all rows have it, or none")


def _require(field: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise InputError("", field, f"{value} is not in {low}..{high}")


def read_calibration(path: str | os.PathLike[str]) -> Calibration:
    data, source = read_bytes(path)
    return parse(load_json(data, source), source)


def parse(data: Any, source: str, path: str = "") -> Calibration:
    """The calibration in a decoded file; `path`: where it stands in a larger document."""
    top = convert(data, CalibrationDocument, source, path)
    gpu = Gpu(top.name, Fraction(max(row.millisamples_per_s for row in top.rows), 1000), top.memory_mb)
    profiles = []
    for row in top.rows:
        samples, watts = row.millisamples_per_s, row.deciwatts_above_idle
        shares = {top.name: Fraction(samples, 1000)}, {top.name: Fraction(0 if watts is UNSET else watts, 10)}
        profiles.append(_profile(asdict(row), top.base_memory_mb, *shares))
    about = top.measured
    text = (
        f"Measured on {about.device}: LoRA fine-tuning of {about.model} ({about.tokens} tokens per sample, "
        f"{about.dtype}, rank {about.rank}), PyTorch {about.torch}; power {about.power}."
    )
    unknown = f"The power of {top.name} is not known ({about.power}): tasks cost no energy."
    notes = (unknown,) if top.rows[0].deciwatts_above_idle is UNSET else ()
    return Calibration(text, top.base_memory_mb, {top.name: gpu}, tuple(profiles), data, notes)


@dataclass(frozen=True)
class CalibrationFile(Text):
    """The name of a file of measurements, or its content, which stands in its place once it was read."""

    path: bool = True

    def checked(self, source: str, field: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return parse(value, source, field).document
        return read_calibration(Text(path=True).checked(source, field, value)).document
