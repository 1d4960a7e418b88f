"""A file of `calibrate` as a person would get it, and a machine that is no machine."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.lora.calibrate import power
from ratiobench.bench.lora.calibrate.measurement import Figures, OutOfMemory
from ratiobench.instances.lora.calibration import FORMAT

ABOUT: Mapping[str, Any] = {
    "device": "Some GPU", "torch": "2.13.0", "model": "gpt2", "parameters": 124_439_808, "tokens": 1024, "rank": 8,
    "dtype": "float32", "rate": "wall time", "memory": "peak",
}  # fmt: skip


def document(**changes: Any) -> dict[str, Any]:
    """A GPU of half the H200's speed that 4 tasks fit, at batch 2 and not at 4, and one task at batch 1."""
    found: dict[str, Any] = {
        "format": FORMAT,
        "name": "mine",
        "measured": {**ABOUT, "power": "nvidia-smi"},
        "memory_mb": 16_000,
        "base_memory_mb": 500,
        "idle_deciwatts": 300,
        "rows": [
            {"tasks": 1, "batch": 1, "millisamples_per_s": 20_000, "peak_mb": 2_000, "deciwatts_above_idle": 1200},
            {"tasks": 4, "batch": 2, "millisamples_per_s": 71_200, "peak_mb": 12_501, "deciwatts_above_idle": 2345},
        ],
        "absent": [{"tasks": 4, "batch": 4, "why": "out of memory"}],
    }
    return found | changes


def write(path: Path, **changes: Any) -> Path:
    """The same as a file."""
    path.write_text(json.dumps(document(**changes)))
    return path


@dataclass
class FakeMachine:
    """100 samples a second, whatever they are, and 1 MB for each on a base of 10 MB; it records what is asked."""

    memory_bytes: int = 50_000_000
    free_bytes: int | None = None
    base_bytes: int = 10_000_000
    idle_watts: float | None = None
    power: str = "absent: not measured on a CPU"
    per_second: float = 100.0
    watts: Mapping[tuple[int, int], float | None] = field(default_factory=dict)
    full_at: int = 33
    asked: list[tuple[int, int]] = field(default_factory=list)
    about: Mapping[str, Any] = field(default_factory=lambda: ABOUT)

    def measure(self, tasks: int, batch: int, seconds: float) -> Figures:
        self.asked.append((tasks, batch))
        if tasks * batch >= self.full_at:
            raise OutOfMemory("out of memory")
        peak = self.base_bytes + 1_000_000 * tasks * batch
        return Figures(self.per_second, tasks * batch / self.per_second, peak, self.watts.get((tasks, batch)))

    def close(self) -> None:
        self.asked.append((0, 0))


def stand_in_for_nvidia_smi(folder: Path, monkeypatch: pytest.MonkeyPatch, first: str, then: str) -> None:
    """An `nvidia-smi` that writes down what it is asked, says `first` when it is asked first, and `then` after it."""
    teller = folder / "nvidia-smi"
    asked = folder / "asked"
    teller.write_text(f'#!/bin/sh\n[ -e {asked} ] && echo "{then}" || echo "{first}"\necho "$@" >> {asked}\n')
    teller.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(power, "_EVERY", 0.01)
