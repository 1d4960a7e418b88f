"""What the papers claim and what holds: a family's statements over the stored checks of a run."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pandas as pd
from markupsafe import Markup

from ratiobench.bench.family.capabilities import Statement
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.contract import Family
from ratiobench.bench.report.tables import Section, breakable, list_html, table_html
from ratiobench.bench.results.read import Results
from ratiobench.bench.results.row import Row
from ratiobench.bench.show import Lines, align_columns, check_title, format_number
from ratiobench.bench.storage.payload import Check
from ratiobench.instances.io.errors import make_printable

PROVED = "proved"  # The standing of a claim that no run can violate unless something of ours is wrong
NAMED = 6  # Fallen claims that a terminal has a line for; of more, their names


@dataclass(frozen=True, slots=True)
class ClaimSummary:
    statement: Statement
    counts: Counter[Verdict]  # how many rows gave each verdict
    witness: Row | None = None  # of those that violate it the one on the smallest instance (`_summarise`)
    described: Mapping[str, Any] = field(default_factory=dict)  # the witness's case
    violated_by: Sequence[str] = ()  # whose rows violate it, of how many: `greedy 1 of 90`
    sizes: Sequence[str] = ()  # the figures of a case by which the smallest witness is chosen, most important first
    # how many rows give a verdict though an assumption of the claim's proof fails there, and how many violate it with
    # all assumptions; None where the check does not separate the two.
    failing: int | None = None
    sound: int | None = None

    @property
    def check(self) -> Check | None:
        return None if self.witness is None else self.witness.checks[self.statement.name]

    @property
    def applied(self) -> int:
        return self.counts.total() - self.counts[Verdict.NOT_APPLICABLE]

    @property
    def is_checked(self) -> bool:
        return not (self.statement.proof or self.statement.asked)

    @property
    def is_wrong(self) -> bool:
        """It is proved, yet a run violates it: an error of ours."""
        return self.statement.standing == PROVED and self.counts[Verdict.VIOLATED] > 0

    def command(self, command: str = "audit") -> str:
        """What shows the witness, in the folder of the results."""
        if self.witness is None:
            return ""
        words = f"{command} instances/{self.witness.instance}.json.gz --algorithm {shlex.quote(self.witness.algorithm)}"
        return f"python -m ratiobench {words} --claim {self.statement.name}"

    @property
    def summary(self) -> str:
        if self.statement.proof:
            return "by proof"
        counted = [f"{self.counts[verdict]} {verdict.value}" for verdict in Verdict if self.counts[verdict]]
        return ", ".join(counted) + (f" (on {self.failing} an assumption of its proof fails)" if self.failing else "")


def summarise_claims(results: Results, family: Family) -> list[ClaimSummary]:
    """Every claim that a stored check is about, in the family's order, and those that a proof settles."""
    known = family.statements() if family.claims is not None else ()
    statements = [statement for statement in known if statement.proof or statement.name in results.checks]
    if all(statement.proof for statement in statements):
        return []
    return [_summarise(statement, results, family.size) for statement in statements]


def _summarise(statement: Statement, results: Results, sizes: Sequence[str]) -> ClaimSummary:
    name, described = statement.name, {case.name: case.describe for case in results.cases}
    checked = [row for row in results.records if name in row.checks]
    asked = [failing for row in checked if (failing := row.failing(name)) is not None]
    violated = [row for row in checked if row.verdict(name) == Verdict.VIOLATED]

    def order(row: Row) -> tuple[bool, bool, tuple[float, ...], str, str]:
        # Assumptions hold before they fail, and algorithms stand as they are before those with options.
        size = tuple(float(described[row.case].get(figure, "inf")) for figure in sizes)
        return bool(row.failing(name)), ":" in row.algorithm, size, row.case, row.algorithm

    witness = min(violated, key=order, default=None)
    applied = Counter(row.algorithm for row in checked if row.verdict(name) != Verdict.NOT_APPLICABLE)
    violators = Counter(row.algorithm for row in violated)
    return ClaimSummary(
        statement,
        Counter(row.checks[name].status for row in checked),
        witness,
        {} if witness is None else described[witness.case],
        [f"{algorithm} {count} of {applied[algorithm]}" for algorithm, count in violators.items()],
        sizes,
        sum(map(bool, asked)) if asked else None,
        sum(row.failing(name) == [] for row in violated) if asked and violated else None,
    )


def claims_frame(claims: Sequence[ClaimSummary]) -> pd.DataFrame:
    """The claims as claims.csv. Sides are exact; the witness's columns are empty if none was found."""
    every = dict.fromkeys(name for claim in claims for name in claim.sizes)
    sizes = [name for name in every if any(name in claim.described for claim in claims)]
    lines = []
    for claim in claims:
        statement, witness, check = claim.statement, claim.witness, claim.check
        lines.append(
            {
                "claim": statement.name,
                **{name: getattr(statement, name) for name in ("statement", "source", "standing", "assumptions")},
                "proof_assumes": statement.proof_assumes or None,
                **{verdict.value.replace(" ", "_"): claim.counts[verdict] for verdict in Verdict},
                "assumption_fails": claim.failing,
                "violated_by": "; ".join(claim.violated_by) or None,
                "witness_case": witness and witness.case,
                "witness_algorithm": witness and witness.algorithm,
                **{f"witness_{name}": claim.described.get(name) for name in sizes},
                "witness_instance": witness and witness.instance,
                "left": check and check.left,
                "right": check and check.right,
                "sides": check and check.reason,
                "repaired": statement.repaired,
                "proof": statement.proof or None,
                "command": claim.command(),
            }
        )
    return pd.DataFrame(lines, dtype=object)


def claims_text(claims: Sequence[ClaimSummary]) -> str:
    lines = [
        {
            "Claim": claim.statement.name,
            "Proof status": claim.statement.standing,
            "Verdicts of these runs": claim.summary or "-",
            "Smallest witness": _witness(claim, 200),
        }
        for claim in claims
    ]
    return "Claims, and the verdicts of these runs:\n" + align_columns(lines, indent="  ") if lines else ""


def _fallen(claims: Sequence[ClaimSummary]) -> list[ClaimSummary]:
    """The claims that some run violates, without those that nobody claims, an error of ours first."""
    fell = [claim for claim in claims if claim.is_checked and claim.counts[Verdict.VIOLATED]]
    return sorted(fell, key=lambda claim: not claim.is_wrong)


def count_fallen(claims: Sequence[ClaimSummary]) -> str:
    """How many claims fell, and how many hold; empty if none was checked."""
    checked, fell = [claim for claim in claims if claim.is_checked], _fallen(claims)
    if not checked:
        return ""
    stand = sum(claim.counts[Verdict.HOLDS] > 0 for claim in checked if claim not in fell)
    if not fell:
        held = "1 holds in every run that decides it" if stand == 1 else f"{stand} hold in every run that decides them"
        return f"Claims: none of {len(checked)} is violated in these runs; {held}."
    return f"{len(fell)} of {len(checked)} claims are violated, {stand} hold in every run that decides them."


def fallen_text(claims: Sequence[ClaimSummary]) -> list[str]:
    lines = [*filter(None, [count_fallen(claims)])]
    lines += align_columns(fallen_lines(claims)[:NAMED], indent="  ").splitlines()
    if rest := _fallen(claims)[NAMED:]:
        lines.append(f"  and {make_printable(', '.join(check_title(claim.statement.name) for claim in rest), 200)}")
    return lines


def _witness(claim: ClaimSummary, most: int = 44) -> str:
    """``CASE (3 tasks, 4 slots, 1 node), ALGORITHM``."""
    if claim.witness is None:
        return "-"
    case, algorithm = (make_printable(text, most) for text in (claim.witness.case, claim.witness.name))
    counted = [(claim.described[name], name) for name in claim.sizes if name in claim.described]
    size = ", ".join(f"{count} {name.removesuffix('s') if count == 1 else name}" for count, name in counted)
    return f"{case}{f' ({size})' if size else ''}, {algorithm}"


def fallen_lines(claims: Sequence[ClaimSummary]) -> Lines:
    fell = _fallen(claims)
    separates = any(claim.sound is not None for claim in fell)
    return [
        {
            "Claim": check_title(claim.statement.name),
            "Proof status": f"{PROVED}: an error of ours" if claim.is_wrong else claim.statement.standing,
            "runs that violate it": str(claim.counts[Verdict.VIOLATED]),
            **({"with all assumptions": "-" if claim.sound is None else str(claim.sound)} if separates else {}),
            "of runs": str(claim.applied),
            "Smallest witness": _witness(claim),
        }
        for claim in fell
    ]


def claims_section(claims: Sequence[ClaimSummary], family: Family) -> Iterator[Section]:
    """Statement, proof status, verdicts here, smallest witness, repaired form; those that fall first."""
    if not claims:
        return

    def order(claim: ClaimSummary) -> int:
        """An error of ours first, then what is violated, undecided, holds, is settled by proof."""
        if claim.counts[Verdict.VIOLATED]:
            return 0 if claim.is_wrong else 1
        return 4 if claim.statement.proof else 2 if claim.counts[Verdict.UNDECIDED] else 3

    rows = sorted(claims, key=order)
    idle = [claim for claim in rows if not claim.statement.proof and not claim.applied]
    shown = [claim for claim in rows if claim not in idle]
    parts: list[Any] = [
        "Every claim was checked by exact comparisons on every valid run. If rounding of prices could decide, it is "
        "undecided; if an assumption fails on a run, it is not applicable there. The proof status is what is known "
        f"beyond these runs. The witness is the violating run on the smallest instance ({', '.join(family.size)})."
    ]
    if shown:
        places = [f"claim-{claim.statement.name}" for claim in shown]
        parts.append(table_html([_claim_line(claim, family) for claim in shown], "Claims", places))
    if idle:
        names = ", ".join(check_title(claim.statement.name) for claim in idle)
        parts.append(f"To no run here apply: {names}.")
    if notation := family.notation():
        parts.append(list_html([f"`{sign}`: {meaning}" for sign, meaning in notation], "method"))
    yield Section("Claims and verdicts", parts, "claims")


def _claim_line(claim: ClaimSummary, family: Family) -> dict[str, Any]:
    statement = claim.statement
    about = [f"assuming {statement.assumptions}"] if statement.assumptions not in ("", "none") else []
    about += [f"its proof assumes {statement.proof_assumes}"] if statement.proof_assumes else []
    about += [f"proof: {statement.proof}"] if statement.proof else []
    violators = [f"violated by {'; '.join(claim.violated_by)}"] if len(claim.violated_by) > 1 else []
    sides, command = [], Markup("")
    if claim.check is not None:
        if claim.check.left is not None:
            sides.append(f"{_short(claim.check.left)} > {_short(claim.check.right)}")
        explainer = family.explainer
        is_small = explainer and all(claim.described.get(name, 0) <= most for name, most in explainer.limits.items())
        folded = Markup("<details><summary>command</summary><code>{}</code></details>")
        command = folded.format(claim.command("explain" if is_small else "audit"))
    wrong = Markup('<span class="bad">{}, yet violated here</span>').format(PROVED)
    return {
        "Claim": _stack(check_title(statement.name), [statement.source]),
        "Statement": _stack(statement.statement, about),
        "Proof status": wrong if claim.is_wrong else statement.standing,
        "In these runs": _stack(claim.summary, violators),
        "Smallest witness": _stack(_witness(claim), sides) + command,
        "Repaired form": _stack(statement.repaired or "-", []),
    }


def _stack(text: str, small: Sequence[Any]) -> Markup:
    head, *lines = (
        breakable(line if isinstance(line, Markup) else line.replace("<=", "≤").replace(">=", "≥"))
        for line in (text, *filter(None, small))
    )
    return Markup("<br>").join([head, *(Markup("<small>{}</small>").format(line) for line in lines)])


def _short(figure: Any) -> str:
    """Three decimals, or three digits if those would be zeros."""
    if figure is None:
        return "?"
    value = Fraction(figure)
    return format_number(value) if not value or abs(value) >= Fraction(1, 100) else f"{float(value):.3g}"
