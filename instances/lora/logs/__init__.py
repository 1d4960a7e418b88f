"""Readers of logs of jobs; each module here registers one format."""

from __future__ import annotations

from ratiobench.instances.lora.logs import helios, itp, k8s, kueue, pai, philly, sacct, sacct_json, swf, table
from ratiobench.instances.lora.logs.base import Job, LogFormat, Remark, SkippedLine, list_formats, register

__all__ = ["Job", "LogFormat", "Remark", "SkippedLine", "list_formats", "register"]

# The modules that register a format each
REGISTERED = (helios, itp, k8s, kueue, pai, philly, sacct, sacct_json, swf, table)
