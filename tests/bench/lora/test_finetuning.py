"""Fine-tuning steps in PyTorch: skipped where it is not installed; `nox -s calibrate` installs it and runs these."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ratiobench.bench.cli.main import main
from ratiobench.bench.lora.calibrate import finetuning
from ratiobench.bench.lora.calibrate.finetuning import GPT2, SMALL, Base, TorchMachine
from ratiobench.bench.lora.calibrate.measurement import OutOfMemory
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.calibration import read_calibration
from ratiobench.instances.lora.format import read
from tests.support.calibrations import stand_in_for_nvidia_smi

torch = pytest.importorskip("torch", reason="PyTorch is not installed: nox -s calibrate installs it and runs this")


def _base(model: Any = SMALL) -> Base:
    return Base(torch, model, torch.device("cpu"), torch.float32)


def test_the_sizes_are_those_of_gpt2() -> None:
    """124,439,808 weights, and 294,912 of a task's adapter of rank 8, as in the measurements of the shipped table."""
    base = _base(GPT2)
    assert sum(each.numel() for each in base.weights()) == 124_439_808
    assert sum(each.numel() for each in base.adapters(1)) == 294_912
    assert not any(each.requires_grad for each in base.weights())


def test_each_task_trains_as_if_alone() -> None:
    """The gradient of a task's adapter beside two others is the one that it has by itself."""
    base = _base()
    together, samples = base.adapters(3), base.samples(3, 2)
    with torch.no_grad():
        for each in together:
            each.copy_(0.1 * torch.randn(each.shape, generator=base.chance))
    base.loss(samples, together).backward()
    for i in range(3):
        alone = [each[i : i + 1].detach().clone().requires_grad_() for each in together]
        base.loss(samples[i : i + 1], alone).backward()
        for one, all_ in zip(alone, together, strict=True):
            torch.testing.assert_close(one.grad[0], all_.grad[i])
            assert all_.grad[i].abs().max() > 0


def test_training_changes_adapters_only_and_learns() -> None:
    """The base is the same after some steps, and the loss on the batch is less."""
    base = _base()
    before = [each.clone() for each in base.weights()]
    adapters, samples = base.adapters(2), base.samples(2, 2)
    base.adapters, base.samples = lambda tasks: adapters, lambda tasks, batch: samples  # type: ignore[method-assign]
    first = base.loss(samples, adapters).item()
    step = base.steps(2, 2)
    for _ in range(30):
        step()
    assert all(torch.equal(a, b) for a, b in zip(before, base.weights(), strict=True))
    assert base.loss(samples, adapters).item() < first


@pytest.fixture(scope="module")
def machine() -> TorchMachine:
    """The tiny model on the CPU."""
    return TorchMachine("cpu", "auto", SMALL, metered=True)


def test_the_peak_is_that_of_one_cell(machine: TorchMachine) -> None:
    """The same when it is measured again, after larger ones, and more for more samples."""
    small = machine.measure(2, 2, 0)
    large = machine.measure(4, 4, 0)
    assert machine.measure(2, 2, 0).peak_bytes == small.peak_bytes
    assert machine.base_bytes < small.peak_bytes < large.peak_bytes
    on_top = [each.peak_bytes - machine.base_bytes for each in (small, large)]
    assert on_top[1] / on_top[0] == pytest.approx(4, rel=0.2)
    assert small.samples_per_s == pytest.approx(4 / small.step_s)
    assert (small.watts, machine.idle_watts, machine.power) == (None, None, "absent: not measured on a CPU")


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB."),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:118] err == 0. DefaultCPUAllocator: can't allocate memory"),
        MemoryError(),
    ],
)
def test_no_memory_left_is_a_cell_that_does_not_fit(
    error: Exception, machine: TorchMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a GPU and on a CPU; the next cell is measured as ever."""

    def steps(tasks: int, batch: int) -> Any:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(machine.base, "steps", steps)
        with pytest.raises(OutOfMemory, match="out of memory"):
            machine.measure(2, 2, 0)
    assert machine.measure(1, 1, 0).samples_per_s > 0


def test_another_error_of_a_step_is_no_lack_of_memory(machine: TorchMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told as it is."""

    def steps(tasks: int, batch: int) -> Any:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr(machine.base, "steps", steps)
    with pytest.raises(RuntimeError, match="shapes"):
        machine.measure(2, 2, 0)


@pytest.mark.parametrize(
    ("device", "dtype", "words"),
    [
        ("tpu", "auto", ("--device", "'tpu'", "auto, cpu")),
        ("cuda:99", "auto", ("--device", "'cuda:99'")),
        ("cpu", "tf32", ("--dtype", "tf32", "float32")),
    ],
)
def test_what_the_machine_has_not_is_one_error(device: str, dtype: str, words: tuple[str, ...]) -> None:
    """It names the option, the value and what there is."""
    with pytest.raises(InputError) as caught:
        TorchMachine(device, dtype, SMALL, metered=False)
    assert all(word in str(caught.value) for word in words), caught.value


def test_what_is_asked_of_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name, memory, peak and power, TF32 where it has it; the steps themselves run on the CPU here."""
    properties = SimpleNamespace(total_memory=16 * 10**9, uuid="1-2")
    there = {
        "is_available": True, "device_count": 2, "current_device": 1, "get_device_properties": properties,
        "get_device_name": "Some GPU", "get_device_capability": (8, 0), "reset_peak_memory_stats": None,
        "max_memory_allocated": 7 * 10**6, "synchronize": None, "empty_cache": None,
    }  # fmt: skip
    asked: list[Any] = []
    for name, answer in there.items():
        monkeypatch.setattr(torch.cuda, name, lambda *words, answer=answer: asked.append(words) or answer)
    monkeypatch.setattr(finetuning, "Base", lambda *words: Base(*words[:2], torch.device("cpu"), words[3]))
    monkeypatch.setattr(finetuning, "_IDLE_SECONDS", 0.05)
    stand_in_for_nvidia_smi(tmp_path, monkeypatch, "80.0", "280.0")
    with closing(TorchMachine("auto", "auto", SMALL, metered=True)) as machine:
        assert (str(machine.device), machine.memory_bytes, machine.free_bytes) == ("cuda:1", 16 * 10**9, None)
        assert (machine.about["device"], machine.about["dtype"]) == ("Some GPU", "float32/tf32")
        assert machine.idle_watts is not None
        assert 80 <= machine.idle_watts <= 280
        assert machine.power == "nvidia-smi"
        found = machine.measure(2, 2, 1)
        assert (found.peak_bytes, found.watts) == (7 * 10**6, 280)
    assert {words[0] for words in asked if words} == {torch.device("cuda:1")}
    assert "--id=GPU-1-2" in (tmp_path / "asked").read_text()
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 0))
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with closing(TorchMachine("cuda:0", "auto", SMALL, metered=True)) as machine:
        assert machine.about["dtype"] == "float32"
        assert (machine.power, machine.measure(1, 1, 0).watts) == ("absent: no nvidia-smi", None)
    with pytest.raises(InputError, match="cuda has no TF32"):
        TorchMachine("cuda", "tf32", SMALL, metered=False)


def test_calibrate_generate_run_and_solve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the command to OPT on an instance that was made of its file."""
    monkeypatch.chdir(tmp_path)
    words = ["--device", "cpu", "--quick", "--tasks", "2,4", "--batch", "1,2", "--watts", "65.5"]
    assert main(["calibrate", "--out", "my-gpu.json", *words]) == 0
    said = capsys.readouterr()
    assert "my-gpu: measured, tiny" in said.out
    assert "tasks 4, batch 2: " in said.err
    document = json.loads(Path("my-gpu.json").read_text())
    assert document["measured"]["device"].startswith("CPU ")
    assert document["measured"]["torch"] == torch.__version__
    assert document["measured"]["power"] == "stated with --watts, 65.5 W above idle, not measured"
    assert [(row["tasks"], row["batch"]) for row in document["rows"]] == [(2, 1), (2, 2), (4, 1), (4, 2)]
    assert {row["deciwatts_above_idle"] for row in document["rows"]} == {655}
    [gpu] = read_calibration("my-gpu.json").gpus.values()
    assert main(["generate", "day:tasks=40,nodes=1,calibration=my-gpu.json", "--out", "days"]) == 0
    [file] = Path("days").iterdir()
    assert read(file).node_types[0].compute == gpu.compute
    assert main(["simulate", str(file), "--algorithm", "greedy"]) == 0
    assert main(["opt", str(file)]) == 0


def test_the_commands_that_do_not_measure_do_not_load_pytorch() -> None:
    """Its import takes seconds."""
    code = "import sys, ratiobench.bench.cli.main"
    code += ", ratiobench.bench.lora.calibrate.calibrator; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "False\n"
