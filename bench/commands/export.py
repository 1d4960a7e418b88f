"""The command `export`: the model as text, for any other solver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ratiobench.bench.commands.command import Command
from ratiobench.bench.commands.shared import FormulationOptions, InstanceOptions
from ratiobench.bench.options import Choice, required


@dataclass(frozen=True, kw_only=True)
class Export(FormulationOptions, InstanceOptions):
    """Options of `export`."""

    format: str = required("format of the text", Choice(("mps", "lp")))


def run(options: Export) -> str:
    """The text of the model."""
    family, instance = options.read()
    return family.export(instance, options.format, options.formulation)


def text(options: Export, found: str) -> Iterator[str]:
    """The model itself."""
    yield found.removesuffix("\n")


def document(options: Export, found: str) -> dict[str, Any]:
    """The model with its format."""
    return {"format": options.format, "formulation": options.formulation, "model": found}


EXPORT = Command(Export, run, text=text, document=document, busy="building the model")
