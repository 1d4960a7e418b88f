"""Readers of the traces' own public file formats; each module here registers one trace."""

from __future__ import annotations

import importlib
import pkgutil

from ratiobench.instances.lora.readers.base import (
    SLOT_SECONDS,
    SLOTS_PER_DAY,
    Trace,
    read_arrivals,
    register,
    registered,
)

__all__ = ["SLOTS_PER_DAY", "SLOT_SECONDS", "Trace", "read_arrivals", "register", "registered"]

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")
