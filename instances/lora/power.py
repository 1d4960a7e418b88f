"""The power of an NVIDIA board, as `nvidia-smi` tells it."""

from __future__ import annotations

import contextlib
import math
import subprocess
import threading
import time

TELLER = "nvidia-smi"
EVERY_MS = 100
_SETTLED = 1.0
"""Seconds after which a reading, which may be an average over the last second, is of the work alone."""


class PowerMeter:
    """Reads the board's power all the time, in a process and a thread of its own.

    Parameters
    ----------
    gpu : its UUID.

    Raises
    ------
    OSError : there is no `nvidia-smi`.
    """

    def __init__(self, gpu: str) -> None:
        question = ["--query-gpu=power.draw", "--format=csv,noheader,nounits", f"--loop-ms={EVERY_MS}"]
        self._readings: list[tuple[float, float]] = []
        self._process = subprocess.Popen(
            [TELLER, f"--id={gpu}", *question], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._thread = threading.Thread(target=self._listen, daemon=True, name="power")
        self._thread.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with contextlib.suppress(ValueError):  # [N/A]
                if math.isfinite(watts := float(line)):
                    self._readings.append((time.monotonic(), watts))

    def mean(self, begin: float, end: float) -> float | None:
        """Watts between two moments of the monotonic clock, but for the first second; None: there is no reading."""
        if end - begin > 2 * _SETTLED:
            begin += _SETTLED
        found = [watts for moment, watts in list(self._readings) if begin <= moment <= end]
        return sum(found) / len(found) if found else None

    def close(self) -> None:
        """Stop reading."""
        self._process.terminate()
        self._process.wait()
        self._thread.join()
