"""Readers of logs of jobs; each module here registers one format."""

from __future__ import annotations

from ratiobench.instances.lora.logs import helios, pai, philly, sacct, swf, table
from ratiobench.instances.lora.logs.base import Job, Left, LogFormat, register, registered

__all__ = ["Job", "Left", "LogFormat", "register", "registered"]

REGISTERED = (helios, pai, philly, sacct, swf, table)
"""The modules that register a format each."""
