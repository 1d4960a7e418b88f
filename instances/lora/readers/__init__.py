"""Readers of the traces' own public file formats; each module here registers one trace."""

from __future__ import annotations

from ratiobench.instances.lora.readers import helios, pai, philly
from ratiobench.instances.lora.readers.base import (
    SLOT_SECONDS,
    SLOTS_PER_DAY,
    Trace,
    list_traces,
    read_arrivals,
    register,
)

__all__ = ["SLOTS_PER_DAY", "SLOT_SECONDS", "Trace", "list_traces", "read_arrivals", "register"]

REGISTERED = (helios, pai, philly)  # The modules that register a trace each
