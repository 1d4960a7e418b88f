"""`calibrate` on a machine that is no machine: what does not fit, how long it takes, where the power comes from."""

from __future__ import annotations

import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.lora.calibrate import power
from ratiobench.bench.lora.calibrate.measurement import Plan, calibrate, duration
from ratiobench.bench.lora.calibrate.power import PowerMeter
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.calibration import Calibration
from tests.support.calibrations import ABOUT, FakeMachine, stand_in_for_nvidia_smi


def _calibrated(
    machine: FakeMachine, tasks: Any = (2, 8), batch: Any = (4, 2), **more: Any
) -> tuple[Calibration, list[str], list[str]]:
    begun: list[str] = []
    told: list[str] = []
    found = calibrate(machine, Plan("mine", tasks, batch, 5, **more), begun.append, told.append)
    assert found.document is not None
    return found, begun, told


def _cells(rows: Any) -> list[tuple[int, int]]:
    return [(row["tasks"], row["batch"]) for row in rows]


def test_every_cell_is_measured_smallest_first() -> None:
    """After one step of one sample; the file has them in order."""
    machine = FakeMachine()
    found, begun, told = _calibrated(machine)
    assert machine.asked == [(1, 1), (2, 2), (2, 4), (8, 2), (8, 4)]
    assert found.document is not None
    assert found.document["rows"][3] == {"tasks": 8, "batch": 4, "millisamples_per_s": 100_000, "peak_mb": 42}
    assert _cells(found.document["rows"]) == [(2, 2), (2, 4), (8, 2), (8, 4)]
    assert (found.document["absent"], found.document["memory_mb"], found.document["base_memory_mb"]) == ([], 50, 10)
    assert found.document["measured"] == {**ABOUT, "power": "absent: not measured on a CPU"}
    assert len(told) == 4
    assert len(begun) == 5


def test_what_does_not_fit_is_absent_and_the_next_one_is_measured() -> None:
    """A GPU that refuses some cells; nothing of them is a row."""
    found, _, told = _calibrated(FakeMachine(full_at=9), tasks=(8, 1, 4), batch=(2,))
    assert found.document is not None
    assert _cells(found.document["rows"]) == [(1, 2), (4, 2)]
    assert found.document["absent"] == [{"tasks": 8, "batch": 2, "why": "out of memory"}]
    assert told[-1] == "tasks 8, batch 2: does not fit, out of memory"
    assert found.choose_profiles((1, 4), (2,)) == found.profiles
    with pytest.raises(InputError, match="8 is none of 1, 4"):
        found.choose_profiles((8,), (2,))


def test_a_cell_in_the_middle_may_be_missing() -> None:
    """As with a fragmented memory: the larger one is tried all the same."""

    class Moody(FakeMachine):
        def measure(self, tasks: int, batch: int, seconds: float) -> Any:
            self.full_at = 8 if (tasks, batch) == (2, 4) else 33
            return super().measure(tasks, batch, seconds)

    found, _, _ = _calibrated(Moody())
    assert found.document is not None
    assert _cells(found.document["rows"]) == [(2, 2), (8, 2), (8, 4)]
    assert _cells(found.document["absent"]) == [(2, 4)]


def test_where_no_memory_left_ends_the_program_a_cell_is_not_tried() -> None:
    """90 % of the free memory, by what a sample took in the cell before."""
    machine = FakeMachine(free_bytes=30_000_000)
    found, _, _ = _calibrated(machine)
    assert (8, 4) not in machine.asked
    assert found.document is not None
    [absent] = found.document["absent"]
    assert absent["why"] == "would need about 42 MB, and 27 MB are free for it"


def test_a_machine_that_fits_nothing_is_an_error() -> None:
    """With what to try."""
    with pytest.raises(InputError, match="not even one task with one sample fits: out of memory"):
        _calibrated(FakeMachine(full_at=1))
    with pytest.raises(InputError, match=r"none of the 4 cells fitted \(out of memory\); try fewer, --tasks 1,2"):
        _calibrated(FakeMachine(full_at=2))


def test_a_machine_too_slow_or_too_small_is_no_row() -> None:
    """Each task must do a sample in ten minutes; a peak above the memory is none that fitted."""
    found, _, _ = _calibrated(FakeMachine(per_second=0.01, memory_bytes=16_000_000))
    assert found.document is not None
    assert _cells(found.document["rows"]) == [(2, 2)]
    why = {cell: each["why"] for cell, each in zip([(2, 4), (8, 2), (8, 4)], found.document["absent"], strict=True)}
    assert why[2, 4] == "more than the device has"
    assert why[8, 2] == why[8, 4] == "a task does less than a sample in ten minutes"


def test_power_is_what_the_board_takes_above_idle() -> None:
    """Idle first; less than idle is none above it."""
    watts = {(2, 2): 250.04, (2, 4): 260.0, (8, 2): 70.0, (8, 4): 300.06}
    found, _, told = _calibrated(FakeMachine(idle_watts=79.0, power="nvidia-smi", watts=watts))
    assert found.document is not None
    assert [row["deciwatts_above_idle"] for row in found.document["rows"]] == [1710, 1810, 0, 2211]
    assert (found.document["idle_deciwatts"], found.document["measured"]["power"]) == (790, "nvidia-smi")
    assert "250 W" in told[0]


def test_power_is_never_made_up() -> None:
    """One cell without a reading: none has power, and the file says why. Stated power is called stated."""
    watts = {(2, 2): 250.0, (2, 4): None, (8, 2): 70.0, (8, 4): 300.0}
    found, _, _ = _calibrated(FakeMachine(idle_watts=79.0, power="nvidia-smi", watts=watts))
    assert found.document is not None
    assert not any("deciwatts_above_idle" in row for row in found.document["rows"])
    assert "idle_deciwatts" not in found.document
    assert found.document["measured"]["power"] == "absent: nvidia-smi gave no figure for 1 cells"
    found, _, _ = _calibrated(FakeMachine(), watts=Fraction("65.25"))
    assert found.document is not None
    assert {row["deciwatts_above_idle"] for row in found.document["rows"]} == {652}
    assert found.document["measured"]["power"] == "stated with --watts, 65.25 W above idle, not measured"
    assert "idle_deciwatts" not in found.document


def test_the_estimate_follows_what_was_measured() -> None:
    """Two steps and at least three more of each cell, or five seconds of them; none is promised before a first step."""
    _, begun, _ = _calibrated(FakeMachine(per_second=1.0), tasks=(1, 10), batch=(1,))
    assert "is known after it" in begun[0]
    assert begun[1] == "cell 1 of 2 (tasks 1, batch 1), about 57 s to the end when it began"  # 2 + 5, and 20 + 30
    assert begun[2] == "cell 2 of 2 (tasks 10, batch 1), about 50 s to the end when it began"
    told = [duration(seconds) for seconds in (0.2, 89, 90, 5000, 9000)]
    assert told == ["about 1 s", "about 89 s", "about 2 min", "about 83 min", "about 2.5 h"]


@pytest.mark.parametrize("first", ["[N/A]", "nan", "No devices were found", "100.5"])
def test_the_meter_reads_what_nvidia_smi_says(first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the GPU that is asked for; what is no number is no reading."""
    stand_in_for_nvidia_smi(tmp_path, monkeypatch, first, "200.5")
    began = time.monotonic()
    meter = PowerMeter("GPU-1")
    idle = meter.idle(0.05)
    assert idle is not None
    assert 100.5 <= idle <= 200.5
    assert idle == 200.5 or first == "100.5"
    assert meter.mean(began, began + 1.9) is not None
    assert meter.mean(began - 2, began - 1) is None
    meter.close()
    assert meter.mean(time.monotonic(), time.monotonic() + 1) is None
    words = (tmp_path / "asked").read_text().splitlines()[0].split()
    assert words == ["--id=GPU-1", "--query-gpu=power.draw", "--format=csv,noheader,nounits"]


def test_a_meter_that_hears_nothing_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while."""
    stand_in_for_nvidia_smi(tmp_path, monkeypatch, "[N/A]", "[N/A]")
    monkeypatch.setattr(power, "_ANSWER", 0.2)
    meter = PowerMeter("GPU-1")
    assert meter.idle(0.01) is None
    meter.close()


def test_there_may_be_no_nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the system, which the machine turns into `absent`."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OSError, match="nvidia-smi"):
        PowerMeter("GPU-1")
