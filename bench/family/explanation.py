"""Records of an explanation of one run on one small instance: exact figures, no layout."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ratiobench.bench.family.checks import Verdict
    from ratiobench.bench.family.source import Source
    from ratiobench.formulations.report import SolveReport
    from ratiobench.online.outcome import OnlineRun

Figure = int | Fraction | str | None  # An exact number, or words; None: there is none
Sentence = Sequence[int | Fraction | str]  # A sentence in pieces: words as they stand, and exact numbers between them


@dataclass(frozen=True, slots=True)
class Listing:
    title: str  # what it shows
    head: Sequence[str]  # a heading per column
    rows: Sequence[Sequence[Figure]]  # figures, as many as headings
    chosen: int | None = None  # the place of the row that the algorithm took, or None


@dataclass(frozen=True, slots=True)
class Square:
    figure: Figure = None  # what stands in it; None: nothing
    mark: int | None = None  # the arrival whose colour it has; None: no colour
    chosen: bool = False  # it belongs to what is decided at this moment


@dataclass(frozen=True, slots=True)
class Grid:
    """Places against moments (or arrivals), as a drawing."""

    title: str  # what it shows
    corner: str  # corner, head: heading of the places, and of each column
    head: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Square]]]  # (place, squares), as many squares as columns


@dataclass(frozen=True, slots=True)
class Moment:
    heading: str  # which arrival, and when
    said: Sentence  # what it asks for
    grids: Sequence[Grid]  # how things stood before the decision
    candidates: Listing | None  # what could be decided; None where nothing could
    notes: Sequence[Sentence]  # on the candidates
    decision: Sentence  # what was decided, why, and what is paid
    after: Sequence[Sentence] = ()  # what changed by it, such as prices


@dataclass(frozen=True, slots=True)
class Conclusion:
    claim: str
    statement: str
    source: str
    standing: str
    verdict: Verdict  # on this run
    sides: Sentence  # the two sides of the claim in figures
    steps: Sequence[Sentence] = ()  # how the sides come about, and which step of the argument fails
    failing: Sequence[str] | None = None  # as of `Check`


@dataclass(frozen=True, slots=True)
class Explanation:
    instance: str  # instance, about: the instance's name, and what its file says of it
    about: str
    algorithm: str  # as its run is labelled
    result: Sentence  # OPT, ALG and their ratio
    tables: Sequence[Listing]  # the instance
    remarks: Sequence[Sentence]  # how to read what follows
    moments: Sequence[Moment]  # arrival by arrival
    outcome: Sequence[Grid]  # what the algorithm made of it, beside OPT
    ending: Conclusion | None  # the claim; None where none was asked for and the family's own is about other algorithms
    sources: Sequence[Source] = ()  # the papers that it names
    signs: Sequence[tuple[str, str]] = ()  # (sign, meaning) of the family


def explain_run(
    instance: Any, run: OnlineRun, reference: SolveReport, unit: str, note: str, **parts: Any
) -> Explanation:
    """An explanation with what all families say of a run; `parts`: its other fields."""
    opt: Sentence = ["OPT = ", reference.upper]
    if reference.lower != reference.upper:
        opt = ["OPT in [", reference.lower, ", ", reference.upper, "]"]
    return Explanation(
        instance=instance.name,
        about=str(instance.origin.get("about", "")),
        algorithm=run.label,
        result=[*opt, ", ALG = ", run.welfare, unit],
        remarks=[[note], *([f"INVALID: {violation}"] for violation in run.violations)],
        **parts,
    )


_SIGN = r"[A-Za-z]+\d*|\d+"  # A word of a sign, or of a text that uses it


def find_used_signs(text: str, signs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The (sign, meaning) pairs that occur in a text: of `rho, beta (guard)` one of the first two, and `guard`."""
    words = set(re.findall(_SIGN, text.replace("_", " ")))
    used = []
    for sign, meaning in dict(signs).items():
        needed = {word for inside in re.findall(r"\(([^)]*)\)", sign) for word in re.findall(_SIGN, inside)}
        others = set(re.findall(_SIGN, re.sub(r"\([^)]*\)", "", sign)))
        if needed <= words and (not others or others & words):
            used.append((sign, meaning))
    return used
