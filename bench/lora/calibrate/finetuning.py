"""Steps of multi-LoRA fine-tuning in PyTorch: several tasks train adapters of their own on one frozen GPT-2.

The architecture is that of GPT-2 (Radford et al. 2019) with random weights: speed, memory and power do not depend on
their values. The tasks' batches are concatenated; each task's adapter (Hu et al. 2022, on the projection to queries,
keys and values) is applied by a batched matrix product, and AdamW changes the adapters only. PyTorch is imported when a
machine is made, not with this module.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import json
import math
import os
import platform
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from ratiobench.bench.lora.calibrate.measurement import LEAST, WARM, Figures, OutOfMemory
from ratiobench.bench.lora.calibrate.power import POWER_COMMAND, PowerMeter
from ratiobench.instances.io.errors import InputError, install_command, shorten
from ratiobench.instances.lora.calibration import TINY

DTYPES = ("auto", "float32", "tf32", "bfloat16")
_IDLE_SECONDS = 2.0
_FULL = re.compile(r"out of memory|can't allocate memory|not enough memory|alloc_cpu|ALLOC_FAILED", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Model:
    """The sizes of a decoder, of what it reads, and of its adapters."""

    name: str
    layers: int
    width: int
    heads: int
    vocabulary: int
    tokens: int
    rank: int


GPT2 = Model("gpt2", layers=12, width=768, heads=12, vocabulary=50257, tokens=1024, rank=8)
SMALL = Model(TINY, layers=2, width=64, heads=2, vocabulary=512, tokens=32, rank=4)
_ALPHA = 16
"""LoRA's scale is this over the rank."""


def load_torch() -> Any:
    """PyTorch; InputError with the command that installs it where it is not there."""
    if importlib.util.find_spec("torch") is None:
        raise InputError("calibrate", "", f"PyTorch is not installed: {install_command('calibrate')}")
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # its profiler tells everybody that it starts
    try:
        import torch
    except (ImportError, OSError) as error:
        raise InputError("calibrate", "", f"PyTorch cannot be imported: {error}") from None
    return torch


class Base:
    """The frozen base, and the loss of several tasks on it.

    Parameters
    ----------
    torch : the module.
    model, device, dtype : sizes, and where in which numbers the weights are.
    """

    def __init__(self, torch: Any, model: Model, device: Any, dtype: Any) -> None:
        self.torch, self.model, self.device, self.dtype = torch, model, device, dtype
        self.chance = torch.Generator(device=device).manual_seed(0)
        d = model.width
        self.tokens, self.places = self._drawn(model.vocabulary, d), self._drawn(model.tokens, d)
        self.layers = [
            {
                "before_attention": self._norm(),
                "attention": (self._drawn(3 * d, d), self._zeros(3 * d)),
                "joined": (self._drawn(d, d), self._zeros(d)),
                "before_wide": self._norm(),
                "wide": (self._drawn(4 * d, d), self._zeros(4 * d)),
                "narrow": (self._drawn(d, 4 * d), self._zeros(d)),
            }
            for _ in range(model.layers)
        ]
        self.last = self._norm()

    def _drawn(self, *size: int) -> Any:
        return self.torch.normal(0.0, 0.02, size, generator=self.chance, device=self.device, dtype=self.dtype)

    def _zeros(self, *size: int) -> Any:
        return self.torch.zeros(size, device=self.device, dtype=self.dtype)

    def _norm(self) -> tuple[Any, Any]:
        return self._zeros(self.model.width) + 1, self._zeros(self.model.width)

    def weights(self) -> list[Any]:
        """All tensors of the base."""
        parts = [pair for layer in self.layers for pair in layer.values()]
        return [self.tokens, self.places, *(each for pair in (*parts, self.last) for each in pair)]

    def adapters(self, tasks: int) -> list[Any]:
        """Per layer (tasks, width, rank) and (tasks, rank, 3 width): the second one is zero, as LoRA begins."""
        model = self.model
        found = []
        for _ in range(model.layers):
            found += [self._drawn(tasks, model.width, model.rank), self._zeros(tasks, model.rank, 3 * model.width)]
        return [each.requires_grad_() for each in found]

    def samples(self, tasks: int, batch: int) -> Any:
        """(tasks, batch, tokens) random tokens."""
        size = (tasks, batch, self.model.tokens)
        return self.torch.randint(self.model.vocabulary, size, generator=self.chance, device=self.device)

    def loss(self, samples: Any, adapters: list[Any]) -> Any:
        """The sum over the tasks of each one's mean cross-entropy of the next token."""
        torch, model = self.torch, self.model
        n, b, t = samples.shape
        d, heads, f = model.width, model.heads, torch.nn.functional
        read = samples.view(n * b, t)
        x = f.embedding(read, self.tokens) + self.places[:t]
        for layer, down, up in zip(self.layers, adapters[::2], adapters[1::2], strict=True):
            h = f.layer_norm(x, (d,), *layer["before_attention"])
            added = torch.bmm(torch.bmm(h.view(n, b * t, d), down), up).view(n * b, t, 3 * d)
            mixed = f.linear(h, *layer["attention"]) + added * (_ALPHA / model.rank)
            q, k, v = mixed.view(n * b, t, 3, heads, d // heads).permute(2, 0, 3, 1, 4)
            seen = f.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + f.linear(seen.transpose(1, 2).reshape(n * b, t, d), *layer["joined"])
            h = f.gelu(f.linear(f.layer_norm(x, (d,), *layer["before_wide"]), *layer["wide"]), approximate="tanh")
            x = x + f.linear(h, *layer["narrow"])
        logits = f.linear(f.layer_norm(x, (d,), *self.last), self.tokens)
        return n * f.cross_entropy(logits[:, :-1].reshape(-1, model.vocabulary).float(), read[:, 1:].reshape(-1))

    def steps(self, tasks: int, batch: int) -> Callable[[], None]:
        """A step of training, to be called as often as is wanted; what it needs lives as long as it."""
        adapters, samples = self.adapters(tasks), self.samples(tasks, batch)
        optimiser = self.torch.optim.AdamW(adapters, lr=1e-4)

        def step() -> None:
            optimiser.zero_grad(set_to_none=True)
            self.loss(samples, adapters).backward()
            optimiser.step()

        return step


class TorchMachine:
    """A device of PyTorch.

    Parameters
    ----------
    device : ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
    dtype : of `DTYPES`; auto: TF32 where the device has it, else float32.
    model : what is trained.
    metered : whether the power is asked for.

    Raises
    ------
    InputError : no PyTorch, no such device, a dtype that the device has not.
    """

    def __init__(self, device: str, dtype: str, model: Model, metered: bool) -> None:
        self._torch = torch = load_torch()
        self.device = _device(torch, device)
        self._cuda = self.device.type == "cuda"
        self.power = "absent: not measured on a CPU"
        self.idle_watts: float | None = None
        self._meter: PowerMeter | None = None
        self._dtype_told, kind = _dtype(torch, self.device, dtype)
        if model is SMALL and not self._cuda:
            torch.set_num_threads(1)  # there is too little to share
        torch.set_float32_matmul_precision("high" if self._dtype_told == "float32/tf32" else "highest")
        if metered and self._cuda:
            self._begin_metering()
        try:
            self.base = Base(torch, model, self.device, kind)
        except RuntimeError as error:
            self.close()
            raise InputError("calibrate", "", f"{model.name} does not fit: {error}") from None
        self.base_bytes = sum(each.numel() * each.element_size() for each in self.base.weights())
        if self._cuda:
            self.memory_bytes = int(torch.cuda.get_device_properties(self.device).total_memory)
        else:
            self.memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

    def _begin_metering(self) -> None:
        """The idle power, before anything runs, and from then on all of it."""
        uuid = getattr(self._torch.cuda.get_device_properties(self.device), "uuid", None)
        try:
            self._meter = PowerMeter(f"GPU-{uuid}")
        except OSError:
            self.power = f"absent: no {POWER_COMMAND}"
            return
        self.idle_watts = self._meter.idle(_IDLE_SECONDS)
        known = self.idle_watts is not None
        self.power = POWER_COMMAND if known else f"absent: {POWER_COMMAND} tells no power of this GPU"

    def close(self) -> None:
        """Stop reading the power."""
        if self._meter is not None:
            self._meter.close()

    @property
    def about(self) -> Mapping[str, Any]:
        """Where each figure comes from."""
        model = self.base.model
        memory = "peak of what PyTorch's allocator held, base included"
        return {
            "device": self._torch.cuda.get_device_name(self.device) if self._cuda else _cpu_told(self._torch),
            "torch": str(self._torch.__version__),
            "model": model.name,
            "parameters": sum(each.numel() for each in self.base.weights()),
            "tokens": model.tokens,
            "rank": model.rank,
            "dtype": self._dtype_told,
            "rate": f"wall time of at least {LEAST} steps after {WARM}; all tasks of the row together",
            "memory": memory if self._cuda else f"{memory}, counted by its profiler in the first {WARM} steps",
        }

    @property
    def free_bytes(self) -> int | None:
        """On a CPU what is free, for there the system may end the program instead of refusing; else None."""
        return None if self._cuda else self.base_bytes + _free_bytes(self.memory_bytes)

    def measure(self, tasks: int, batch: int, seconds: float) -> Figures:
        """As `Machine.measure`."""
        try:
            return self._measure(tasks, batch, seconds)
        except (RuntimeError, MemoryError) as error:  # torch.OutOfMemoryError is a RuntimeError
            if not isinstance(error, MemoryError | self._torch.OutOfMemoryError) and not _FULL.search(str(error)):
                raise
        finally:
            gc.collect()
            if self._cuda:
                self._torch.cuda.empty_cache()
        raise OutOfMemory("out of memory")

    def _measure(self, tasks: int, batch: int, seconds: float) -> Figures:
        with self._peak() as peak:
            step = self.base.steps(tasks, batch)
            for _ in range(WARM):
                step()
            self._wait()
        began = time.monotonic()
        done, spent = 0, 0.0
        while done < LEAST or spent < seconds:
            step()
            self._wait()
            done, spent = done + 1, time.monotonic() - began
        watts = None if self._meter is None else self._meter.mean(began, began + spent)
        return Figures(done * tasks * batch / spent, spent / done, peak(), watts)

    def _wait(self) -> None:
        if self._cuda:
            self._torch.cuda.synchronize(self.device)

    @contextlib.contextmanager
    def _peak(self) -> Iterator[Callable[[], int]]:
        """The most bytes that were held, known when it is left."""
        torch = self._torch
        if self._cuda:
            torch.cuda.reset_peak_memory_stats(self.device)
            yield lambda: int(torch.cuda.max_memory_allocated(self.device))
            return
        held = 0
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
            yield lambda: self.base_bytes + held
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json"
            profile.export_chrome_trace(str(path))
            events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
        # Its own totals go on from one use of the profiler to the next; what was taken and given back does not.
        changes = sorted((e["ts"], e["args"]["Ev Idx"], e["args"]["Bytes"]) for e in events if e["name"] == "[memory]")
        held = max(accumulate((int(size) for _, _, size in changes), initial=0))


def _device(torch: Any, name: str) -> Any:
    """The device of this name; InputError where there is none."""
    number = torch.cuda.device_count() if torch.cuda.is_available() else 0
    known = ["auto", "cpu", *(["cuda"] if number else []), *(f"cuda:{j}" for j in range(number))]
    if name not in known:
        seen = "" if number else "; PyTorch sees no GPU"
        raise InputError("--device", "", f"{shorten(name)} is not one of {', '.join(known)}{seen}")
    name = ("cuda" if number else "cpu") if name == "auto" else name
    return torch.device(f"cuda:{torch.cuda.current_device()}" if name == "cuda" else name)


def _dtype(torch: Any, device: Any, name: str) -> tuple[str, Any]:
    """In words and as PyTorch has it; InputError where the device has it not."""
    tensor_cores = device.type == "cuda" and torch.cuda.get_device_capability(device)[0] >= 8
    if name == "tf32" and not tensor_cores:
        raise InputError("--dtype", "", f"tf32: {device.type} has no TF32; float32 and bfloat16 are possible")
    if name == "auto":
        name = "tf32" if tensor_cores else "float32"
    return ("float32/tf32" if name == "tf32" else name), torch.bfloat16 if name == "bfloat16" else torch.float32


def _cpu_told(torch: Any) -> str:
    """The processor, and how many threads of it work."""
    name = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
        name = found[1] if found else name
    return f"CPU {' '.join(name.split())}, {torch.get_num_threads()} threads"


def _free_bytes(memory: int) -> int:
    """Memory that can be had without swapping, as Linux estimates it, within the limit of a container; else all."""
    free = float(memory)
    with contextlib.suppress(OSError, ValueError):
        found = re.search(r"^MemAvailable:\s*(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"), re.MULTILINE)
        free = 1024.0 * int(found[1]) if found else free
    with contextlib.suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        most, used = ((group / name).read_text(encoding="ascii").strip() for name in ("memory.max", "memory.current"))
        free = min(free, math.inf if most == "max" else int(most) - int(used))
    return int(max(0.0, free))
