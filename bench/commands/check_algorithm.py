"""The command `check-algorithm`: is a user's algorithm fit for a benchmark?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ratiobench.bench.commands.command import Command
from ratiobench.bench.evaluation.cases import find_family
from ratiobench.bench.evaluation.check_algorithm import REQUIREMENTS, AlgorithmCheck, check_algorithm
from ratiobench.bench.options import Integer, Options, Text, argument, option


@dataclass(frozen=True, kw_only=True)
class CheckAlgorithm(Options):
    """Options of `check-algorithm`."""

    algorithm: str = argument("mine.py:Class, or an import path package.module:Class", Text(), "ALGORITHM")
    family: str | None = option(
        "the family on whose instances the algorithm is run", Text(), "NAME", told="the first of the standard set"
    )
    tiny: int = option("number of tiny instances", Integer(1, 1000), "N", default=4)
    seed: int = option("seed of the tiny instances", Integer(0, 2**31), "S", default=1)


def run(options: CheckAlgorithm) -> AlgorithmCheck:
    """Run the algorithm on tiny instances."""
    return check_algorithm(options.algorithm, find_family(options.family), options.tiny, options.seed)


def text(options: CheckAlgorithm, found: AlgorithmCheck) -> Iterator[str]:
    """A line per requirement, then whether it is ready."""
    for each in found.requirements:
        detail = f" ({each.detail})" if each.detail else ""
        yield f"{each.state.ljust(11)}  {each.name.ljust(11)}  {REQUIREMENTS[each.name]}{detail}"
    failed = [each.name for each in found.requirements if each.state == "failed"]
    yield f"{found.algorithm}: " + (f"not ready: {', '.join(failed)}" if failed else "ready")


def document(options: CheckAlgorithm, found: AlgorithmCheck) -> dict[str, Any]:
    """The requirements as JSON values."""
    return {
        "algorithm": found.algorithm,
        "family": found.family.name,
        "instances": found.instances,
        "ready": found.ready,
        "requirements": [
            {"name": each.name, "state": each.state, "detail": each.detail or None} for each in found.requirements
        ],
    }


CHECK_ALGORITHM = Command(
    CheckAlgorithm, run, text=text, document=document, status=lambda found: int(not found.ready), busy="checking"
)
