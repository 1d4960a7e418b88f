"""Readers of logs of jobs; each module here registers one format."""

from __future__ import annotations

import importlib
import pkgutil

from ratiobench.instances.lora.logs.base import Job, Left, LogFormat, register, registered

__all__ = ["Job", "Left", "LogFormat", "register", "registered"]

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")
