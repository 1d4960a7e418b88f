"""The power of an NVIDIA board, as `nvidia-smi` tells it."""

from __future__ import annotations

import contextlib
import math
import shutil
import subprocess
import threading
import time

POWER_COMMAND = "nvidia-smi"
_EVERY = 0.2
_SETTLED = 1.0
"""Seconds after which a reading, which may be an average over the last second, is of the work alone."""
_ANSWER = 10.0
"""Seconds in which an answer is waited for."""


class PowerMeter:
    """Asks for the board's power a few times a second, in a thread of its own.

    Parameters
    ----------
    gpu : its UUID.

    Raises
    ------
    OSError : there is no `nvidia-smi`.
    """

    def __init__(self, gpu: str) -> None:
        if shutil.which(POWER_COMMAND) is None:
            raise OSError(f"there is no {POWER_COMMAND}")
        self._question = [POWER_COMMAND, f"--id={gpu}", "--query-gpu=power.draw", "--format=csv,noheader,nounits"]
        self._readings: list[tuple[float, float]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True, name="power")
        self._thread.start()

    def _listen(self) -> None:
        while not self._over.is_set():
            with contextlib.suppress(OSError, subprocess.SubprocessError, ValueError):  # ValueError: [N/A]
                text = subprocess.run(self._question, capture_output=True, text=True, timeout=_ANSWER, check=True)
                if math.isfinite(watts := float(text.stdout)):
                    self._readings.append((time.monotonic(), watts))
            self._over.wait(_EVERY)

    def mean(self, begin: float, end: float) -> float | None:
        """Watts between two moments of the monotonic clock, but for the first second; None: there is no reading."""
        if end - begin > 2 * _SETTLED:
            begin += _SETTLED
        found = [watts for moment, watts in list(self._readings) if begin <= moment <= end]
        return sum(found) / len(found) if found else None

    def idle(self, seconds: float) -> float | None:
        """Watts in the next so many seconds, or in the first answer where that takes longer; None: there is none."""
        began = time.monotonic()
        time.sleep(seconds)
        while (found := self.mean(began, time.monotonic())) is None and time.monotonic() < began + _ANSWER:
            time.sleep(_EVERY)
        return found

    def close(self) -> None:
        """Ask no more."""
        self._over.set()
        self._thread.join()
