"""Readers of logs of jobs; each module here registers one format."""

from __future__ import annotations

from ratiobench.instances.lora.logs import helios, pai, philly, sacct, swf, table
from ratiobench.instances.lora.logs.base import Job, LogFormat, SkippedLine, list_formats, register

__all__ = ["Job", "LogFormat", "SkippedLine", "list_formats", "register"]

REGISTERED = (helios, pai, philly, sacct, swf, table)
"""The modules that register a format each."""
