"""Readers of the traces' own public file formats; each module here registers one trace."""

from __future__ import annotations

from ratiobench.instances.lora.readers import helios, pai, philly
from ratiobench.instances.lora.readers.base import (
    SLOT_SECONDS,
    SLOTS_PER_DAY,
    Trace,
    read_arrivals,
    register,
    registered,
)

__all__ = ["SLOTS_PER_DAY", "SLOT_SECONDS", "Trace", "read_arrivals", "register", "registered"]

REGISTERED = (helios, pai, philly)
"""The modules that register a trace each."""
