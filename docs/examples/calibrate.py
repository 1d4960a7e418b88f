"""Measure LoRA fine-tuning on a GPU and write the file that recipes and clusters take as `calibration`.

    pip install torch && python docs/examples/calibrate.py --out my-gpu.json

Several tasks train adapters of rank 8 (Hu et al. 2022) on the attention projections of one frozen GPT-2 (Radford et al.
2019) with random weights. The batches of the tasks are concatenated, and each task's adapter is applied by a batched
matrix product. Power is the reading of `nvidia-smi`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import re
import subprocess
import threading
import time
from pathlib import Path

LAYERS, WIDTH, HEADS, VOCABULARY, TOKENS, RANK, ALPHA = 12, 768, 12, 50257, 1024, 8, 16
WARM, LEAST = 2, 3  # steps before the timed ones, and the fewest timed ones


def numbers(text: str) -> list[int]:
    values = sorted({int(word) for word in text.split(",")})
    if not 1 <= values[0] <= values[-1] <= 1024:
        raise ValueError(text)
    return values


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """The options; the name is of characters that a file may have."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="file to write")
    parser.add_argument("--name", help="of the GPU, in recipes and clusters (the file's)")
    parser.add_argument("--device", default="cuda", help="cuda or cuda:N (cuda)")
    parser.add_argument("--dtype", default="tf32", choices=("tf32", "float32", "bfloat16"), help="(tf32)")
    parser.add_argument("--tasks", type=numbers, default=[4, 8, 16], metavar="N,..", help="that share a GPU (4,8,16)")
    parser.add_argument("--batch", type=numbers, default=[2, 4, 8], metavar="N,..", help="samples a step (2,4,8)")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each pair of tasks and batch (5)")
    parser.add_argument("--watts", type=float, help="power above idle, if `nvidia-smi` cannot measure it")
    options = parser.parse_args(words)
    options.name = re.sub(r"[^A-Za-z0-9_.-]+", "-", options.name or options.out.stem).strip("-._")[:60] or "gpu"
    if not options.out.parent.is_dir():
        parser.error(f"--out: there is no folder {options.out.parent}")
    return options


class PowerMeter:
    """Reads the board's power five times a second, in a thread."""

    def __init__(self, uuid: str) -> None:
        words = [f"--id=GPU-{uuid}", "--query-gpu=power.draw", "--format=csv,noheader,nounits"]
        self.command, self.readings = ["nvidia-smi", *words], []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            with contextlib.suppress(OSError, subprocess.SubprocessError, ValueError):
                answer = subprocess.run(self.command, capture_output=True, text=True, timeout=10, check=True)
                self.readings.append((time.monotonic(), float(answer.stdout)))
            time.sleep(0.2)

    def mean(self, begin: float, end: float) -> float | None:
        """Watts between two moments, without the first second of a long period: a reading averages over a second."""
        begin += 1.0 if end - begin > 2.0 else 0.0
        watts = [value for moment, value in self.readings if begin <= moment <= end]
        return sum(watts) / len(watts) if watts else None


Figures = tuple[float, int, float | None]  # samples per second of all tasks, bytes at the peak, watts of the board


class Gpu:
    """A frozen GPT-2 on a GPU of PyTorch, and the measurement of training steps on it."""

    def __init__(self, device: str, dtype: str) -> None:
        import torch

        self.torch, self.device = torch, torch.device(device)
        about = torch.cuda.get_device_properties(self.device)
        if dtype == "tf32" and about.major < 8:
            raise SystemExit("--dtype: this GPU has no TF32; float32 and bfloat16 are possible")
        torch.set_float32_matmul_precision("high" if dtype == "tf32" else "highest")
        torch.set_default_dtype(torch.bfloat16 if dtype == "bfloat16" else torch.float32)
        torch.set_default_device(self.device)
        torch.manual_seed(0)
        self.meter = PowerMeter(str(about.uuid))
        time.sleep(3.0)
        self.idle_watts = self.meter.mean(time.monotonic() - 3.0, time.monotonic())
        d = WIDTH
        self.tokens, self.places = 0.02 * torch.randn(VOCABULARY, d), 0.02 * torch.randn(TOKENS, d)
        linear = lambda n, m: (0.02 * torch.randn(n, m), torch.zeros(n))  # noqa: E731
        norm = lambda: (torch.ones(d), torch.zeros(d))  # noqa: E731
        self.layers = [
            (norm(), linear(3 * d, d), linear(d, d), norm(), linear(4 * d, d), linear(d, 4 * d)) for _ in range(LAYERS)
        ]
        self.last = norm()
        pairs = [pair for layer in self.layers for pair in layer]
        weights = [self.tokens, self.places, *(tensor for pair in (*pairs, self.last) for tensor in pair)]
        self.base_bytes = sum(tensor.numel() * tensor.element_size() for tensor in weights)
        self.memory_bytes = about.total_memory
        self.about = {
            "device": about.name, "torch": torch.__version__, "model": "gpt2",
            "parameters": sum(tensor.numel() for tensor in weights), "tokens": TOKENS, "rank": RANK,
            "dtype": "float32/tf32" if dtype == "tf32" else dtype,
            "rate": f"wall time of at least {LEAST} steps after {WARM}; all tasks of the row together",
            "memory": "peak of what PyTorch's allocator held, base included",
        }  # fmt: skip

    def _loss(self, samples, adapters):
        """The sum over the tasks of the mean cross-entropy of the next token; samples[task, batch, token]."""
        torch, f, d = self.torch, self.torch.nn.functional, WIDTH
        n, b, t = samples.shape
        text = samples.view(n * b, t)
        x = f.embedding(text, self.tokens) + self.places
        for layer, down, up in zip(self.layers, adapters[::2], adapters[1::2], strict=True):
            norm, attention, joined, next_norm, wide, narrow = layer
            h = f.layer_norm(x, (d,), *norm)
            added = torch.bmm(torch.bmm(h.view(n, b * t, d), down), up).view(n * b, t, 3 * d)
            qkv = f.linear(h, *attention) + added * (ALPHA / RANK)
            q, k, v = qkv.view(n * b, t, 3, HEADS, d // HEADS).permute(2, 0, 3, 1, 4)
            values = f.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + f.linear(values.transpose(1, 2).reshape(n * b, t, d), *joined)
            h = f.gelu(f.linear(f.layer_norm(x, (d,), *next_norm), *wide), approximate="tanh")
            x = x + f.linear(h, *narrow)
        logits = f.linear(f.layer_norm(x, (d,), *self.last), self.tokens)[:, :-1].reshape(-1, VOCABULARY)
        return n * f.cross_entropy(logits.float(), text[:, 1:].reshape(-1))

    def measure(self, tasks: int, batch: int, seconds: float) -> Figures | None:
        """The figures of training steps of about so many seconds; None if the memory does not suffice."""
        self.torch.cuda.empty_cache()
        with contextlib.suppress(self.torch.OutOfMemoryError):
            return self._measure(tasks, batch, seconds)
        return None

    def _measure(self, tasks: int, batch: int, seconds: float) -> Figures:
        torch, cuda, adapters = self.torch, self.torch.cuda, []
        for _ in range(LAYERS):
            adapters += [0.02 * torch.randn(tasks, WIDTH, RANK), torch.zeros(tasks, RANK, 3 * WIDTH)]
        optimiser = torch.optim.AdamW([tensor.requires_grad_() for tensor in adapters], lr=1e-4)
        samples = torch.randint(VOCABULARY, (tasks, batch, TOKENS))
        cuda.reset_peak_memory_stats(self.device)
        began, steps = time.monotonic(), -WARM
        while steps < LEAST or time.monotonic() - began < seconds:
            optimiser.zero_grad(set_to_none=True)
            self._loss(samples, adapters).backward()
            optimiser.step()
            cuda.synchronize(self.device)
            steps += 1
            if steps == 0:
                began = time.monotonic()
        ended = time.monotonic()
        speed, peak = steps * tasks * batch / (ended - began), cuda.max_memory_allocated(self.device)
        return speed, peak, self.meter.mean(began, ended)


def calibrate(gpu, options: argparse.Namespace) -> dict:
    """Measure every pair of tasks and batch; the content of the file."""
    rows, absent, base = [], [], -(-gpu.base_bytes // 10**6)
    for tasks, batch in sorted(((n, b) for n in options.tasks for b in options.batch), key=math.prod):
        row, figures = {"tasks": tasks, "batch": batch}, gpu.measure(tasks, batch, options.seconds)
        print(f"tasks {tasks}, batch {batch}: {figures or 'out of memory'}", flush=True)
        if figures is None:
            absent.append(row | {"why": "out of memory"})
            continue
        samples_per_s, peak, watts = figures
        row |= {"millisamples_per_s": round(1000 * samples_per_s), "peak_mb": max(base + 1, -(-peak // 10**6))}
        if options.watts is not None:
            row["deciwatts_above_idle"] = round(10 * options.watts)
        elif watts is not None and gpu.idle_watts is not None:
            row["deciwatts_above_idle"] = max(0, round(10 * (watts - gpu.idle_watts)))
        rows.append(row)
    if not rows:
        raise SystemExit("no pair of tasks and batch fits the GPU; try --tasks 1,2 --batch 1")
    power, idle = "nvidia-smi", {}
    if options.watts is not None:
        power = f"stated with --watts, {options.watts:g} W above idle, not measured"
    elif not all("deciwatts_above_idle" in row for row in rows):
        power = "absent: nvidia-smi gives no power of this GPU"
        for row in rows:
            row.pop("deciwatts_above_idle", None)
    else:
        idle = {"idle_deciwatts": round(10 * gpu.idle_watts)}
    return {
        "format": "ratiobench/lora/calibration/1", "name": options.name, "measured": gpu.about | {"power": power},
        "memory_mb": gpu.memory_bytes // 10**6, "base_memory_mb": base, **idle, "rows": rows, "absent": absent,
    }  # fmt: skip


def main() -> None:
    options = parse()
    document = calibrate(Gpu(options.device, options.dtype), options)
    options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
