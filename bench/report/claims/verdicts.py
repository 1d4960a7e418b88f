"""What the papers claim and what holds: a family's statements over the stored checks of a run."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from ratiobench.bench.family.capabilities import Statement
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.contract import Family
from ratiobench.bench.report.shared.text import align_columns
from ratiobench.bench.results.read import Results, is_known
from ratiobench.bench.results.row import Row
from ratiobench.bench.storage.store import StoredCase

BY_PROOF = "by proof"


@dataclass(frozen=True, slots=True)
class ClaimSummary:
    """One claim over all rows of a run."""

    statement: Statement
    counts: Counter[Verdict]  # how many rows gave each verdict
    # the violated row of the smallest instance by `sizes`, then by names, of an algorithm as it is, where there is one,
    # before those with options; rows on which the assumptions of the proof hold come before all others; None without
    # one.
    witness: Row | None = None
    place: int | None = None  # its place among all rows
    case: StoredCase | None = None
    # how many rows of each algorithm violate it, and of how many rows to which it applies.
    violators: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    # the figures of a case's description by which the smallest witness is chosen, most important first.
    sizes: Sequence[str] = ()
    # how many rows give a verdict though an assumption of the claim's proof fails there; None where the check does not
    # separate the two.
    failing: int | None = None
    sound: int | None = None  # how many rows violate it with all assumptions of its proof; None likewise

    @property
    def size(self) -> str:
        """The witness in words: `3 tasks, 4 slots, 1 node`."""
        described = {} if self.case is None else self.case.describe
        counted = [(described[name], name) for name in self.sizes if name in described]
        return ", ".join(f"{count} {name.removesuffix('s') if count == 1 else name}" for count, name in counted)

    @property
    def sides(self) -> tuple[Any, Any]:
        """Both sides of left <= right on the witness, as the check gives them; None where it has none."""
        if self.witness is None:
            return None, None
        found = self.witness.checks[self.statement.name]
        left, right = found.left, found.right
        return (left if is_known(left) else None), (right if is_known(right) else None)

    @property
    def violated_by(self) -> str:
        """Whose rows violate it, in words: `online 12 of 100; greedy 1 of 90`."""
        return "; ".join(f"{name} {count} of {rows}" for name, (count, rows) in self.violators.items())

    @property
    def command(self) -> str:
        """What shows the witness, in the folder of the results."""
        if self.witness is None:
            return ""
        return self._command("audit")

    @property
    def explain_command(self) -> str:
        """What tells it step by step, there too."""
        return self._command("explain")

    def _command(self, command: str) -> str:
        assert self.witness is not None
        file, name = f"instances/{self.witness.instance}.json.gz", shlex.quote(str(self.witness.algorithm))
        return f"python -m ratiobench {command} {file} --algorithm {name} --claim {self.statement.name}"

    @property
    def summary(self) -> str:
        """The verdicts with their counts, or that a proof is the verdict."""
        if self.statement.proof:
            return BY_PROOF
        counted = [f"{self.counts[verdict]} {verdict.value}" for verdict in Verdict if self.counts[verdict]]
        return ", ".join(counted) + (f" (on {self.failing} an assumption of its proof fails)" if self.failing else "")


def summarise_claims(found: Results, family: Family) -> list[ClaimSummary]:
    """Every claim of the family that a stored check of this run is about, in the family's order.

    Those settled by proof stand among them; where no check is about any claim, nothing does.
    """
    if family.claims is None:
        return []
    cases = {case.name: case for case in found.cases}
    rows = found.records
    statements = [each for each in family.statements() if each.proof or each.name in found.checks]
    if all(each.proof for each in statements):
        return []
    return [
        ClaimSummary(each, Counter()) if each.proof else _settle(each, rows, cases, family.size) for each in statements
    ]


def _settle(
    statement: Statement, rows: Sequence[Row], cases: Mapping[str, StoredCase], sizes: Sequence[str]
) -> ClaimSummary:
    name = statement.name
    counts = Counter(Verdict(verdict) for row in rows if (verdict := row.verdict(name)) is not None)
    asked = [found for row in rows if (found := row.failing(name)) is not None]
    failing = sum(map(bool, asked)) if asked else None
    violated = [place for place, row in enumerate(rows) if row.verdict(name) == Verdict.VIOLATED]
    if not violated:
        return ClaimSummary(statement, counts, sizes=sizes, failing=failing)

    def size(place: int) -> tuple[bool, bool, tuple[float, ...], str, str]:
        row = rows[place]
        algorithm = str(row.algorithm)
        outside = bool(row.failing(name))
        return outside, ":" in algorithm, _size(cases[row.case], sizes), str(row.case), algorithm

    place = min(violated, key=size)
    applied = Counter(row.algorithm for row in rows if row.verdict(name) not in (None, Verdict.NOT_APPLICABLE))
    counted = Counter(str(rows[place].algorithm) for place in violated)
    by = {algorithm: (count, applied[algorithm]) for algorithm, count in counted.items()}
    sound = None if failing is None else sum(rows[place].failing(name) == [] for place in violated)
    case = cases[rows[place].case]
    return ClaimSummary(statement, counts, rows[place], place, case, by, sizes, failing, sound)


def _size(case: StoredCase, sizes: Sequence[str]) -> tuple[float, ...]:
    return tuple(float(case.describe.get(name, "inf")) for name in sizes)


def frame(settled: Sequence[ClaimSummary]) -> pd.DataFrame:
    """The claims as a table: claims.csv. Sides are exact; the witness's columns are empty where none was found."""
    # Every family has its own of these figures.
    every = dict.fromkeys(name for each in settled for name in each.sizes)
    sizes = [name for name in every if any(each.case and name in each.case.describe for each in settled)]
    lines = []
    for each in settled:
        statements, witness = each.statement, each.witness
        left, right = each.sides
        described = {} if each.case is None else each.case.describe
        lines.append(
            {
                "claim": statements.name,
                "statement": statements.statement,
                "source": statements.source,
                "standing": statements.standing,
                "assumptions": statements.assumptions,
                "proof_assumes": statements.proof_assumes or None,
                **{verdict.value.replace(" ", "_"): each.counts[verdict] for verdict in Verdict},
                "assumption_fails": each.failing,
                "violated_by": each.violated_by or None,
                "witness_case": witness and witness.case,
                "witness_algorithm": witness and witness.algorithm,
                **{f"witness_{name}": described.get(name) for name in sizes},
                "witness_instance": witness and witness.instance,
                "left": left,
                "right": right,
                "sides": witness and witness.checks[statements.name].reason,
                "repaired": statements.repaired,
                "proof": statements.proof or None,
                "command": each.command,
            }
        )
    return pd.DataFrame(lines, dtype=object)


def text(settled: Sequence[ClaimSummary]) -> str:
    """The claims as a short table for a terminal; empty without claims."""
    if not settled:
        return ""
    lines = [
        {
            "Claim": each.statement.name,
            "Proof status": each.statement.standing,
            "Verdicts of these runs": each.summary or "-",
            "Smallest witness": "-"
            if each.witness is None
            else f"{each.witness.case} ({each.size or 'size unknown'}), {each.witness.algorithm}",
        }
        for each in settled
    ]
    return "Claims, and the verdicts of these runs:\n" + align_columns(lines, indent="  ")
