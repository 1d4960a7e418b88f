"""The witnesses of violated claims that a run explains step by step, and their explanations in the store."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.explanation import Explanation
from ratiobench.bench.report.claims.verdicts import ClaimSummary
from ratiobench.bench.storage.explanations import read_explanation
from ratiobench.bench.storage.store import Store
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.online.modules import OWN

STAGE = "explanation"  # The stage of explanations in the store


@dataclass(frozen=True, slots=True)
class Witness:
    """The smallest run that violates a claim, of a size that can be explained."""

    claim: str  # its name
    algorithm: str  # the name with options
    instance: str  # SHA-256 of the instance
    key: str  # of the explanation in the store; empty for a user's algorithm, which is not run again for it


def list_witnesses(family: Family, settled: Sequence[ClaimSummary]) -> Iterator[Witness]:
    """The witnesses that are small enough; without those by a class of a notebook."""
    if family.explainer is None:
        return
    limits = family.explainer.limits
    for each in settled:
        name = each.statement.name
        if each.witness is None or each.case is None or not re.fullmatch(r"[\w-]{1,80}", name):
            continue
        if any(float(each.case.describe.get(size, 0)) > most for size, most in limits.items()):
            continue
        algorithm = str(each.witness.algorithm)
        try:
            is_registered = family.is_shipped(algorithm)
        except InputError:
            continue
        key = f"{each.case.audit_key(str(each.witness.algorithm_key))} | {name}" if is_registered else ""
        if key or not algorithm.startswith(f"{OWN}:"):
            yield Witness(name, algorithm, str(each.witness.instance), key)


@dataclass(frozen=True, slots=True)
class StoredExplanations:
    """The explanations of a folder's witnesses, by claim."""

    found: dict[str, Explanation]
    # claims whose witness a command explains: of users' algorithms, and those that are not stored.
    by_command: list[str]
    missing: int  # how many are not stored, since the folder is older than stored explanations


def read_explanations(store: Store, family: Family, settled: Sequence[ClaimSummary]) -> StoredExplanations:
    """The stored explanations of these claims' witnesses; those that could not be made are left out."""
    found: dict[str, Explanation] = {}
    by_command: list[str] = []
    missing = 0
    for each in list_witnesses(family, settled):
        piece = store.get(STAGE, each.instance, each.key) if each.key else None
        if piece is None:
            missing += bool(each.key)
            by_command.append(each.claim)
        elif piece.ok:
            try:
                found[each.claim] = read_explanation(piece.payload, family.sources())
            except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
                where = f"explanation of {shorten(each.claim)}"
                raise InputError(str(store.path), where, "is not as `run` stores it") from None
    return StoredExplanations(found, by_command, missing)
