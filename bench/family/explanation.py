"""What an explanation of one run on one small instance is made of: records, exact figures, no layout.

A family says what happened in these records; the terminal and the page write them out. Figures stay exact: who writes
them rounds them to be read, and gives the exact value beside where the medium allows it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.source import Source

__all__ = ["Conclusion", "Explanation", "Grid", "Listing", "Moment", "Square", "find_used_signs"]

Figure = int | Fraction | str | None  # An exact number, or words; None: there is none
Sentence = Sequence[int | Fraction | str]  # A sentence in pieces: words as they stand, and exact numbers between them


@dataclass(frozen=True, slots=True)
class Listing:
    """A small table.

    Parameters
    ----------
    title : what it shows.
    head : a heading per column.
    rows : figures, as many as headings.
    chosen : the place of the row that the algorithm took, or None.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Figure]]
    chosen: int | None = None


@dataclass(frozen=True, slots=True)
class Square:
    """A square of a grid.

    Parameters
    ----------
    figure : what stands in it; None: nothing.
    mark : the arrival whose colour it has; None: no colour.
    chosen : it belongs to what is decided at this moment.
    """

    figure: Figure = None
    mark: int | None = None
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """Places against moments (or arrivals), as a drawing.

    Parameters
    ----------
    title : what it shows.
    corner, head : heading of the places, and of each column.
    rows : (place, squares), as many squares as columns.
    """

    title: str
    corner: str
    head: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Square]]]


@dataclass(frozen=True, slots=True)
class Moment:
    """An arrival and what the algorithm did with it.

    Parameters
    ----------
    heading : which arrival, and when.
    said : what it asks for.
    grids : how things stood before the decision.
    candidates : what could be decided; None where nothing could.
    notes : on the candidates.
    decision : what was decided, why, and what is paid.
    after : what changed by it, such as prices.
    """

    heading: str
    said: Sentence
    grids: Sequence[Grid]
    candidates: Listing | None
    notes: Sequence[Sentence]
    decision: Sentence
    after: Sequence[Sentence] = ()


@dataclass(frozen=True, slots=True)
class Conclusion:
    """Both sides of the claim, with the figures put in.

    Parameters
    ----------
    claim, statement, source, standing : of the claim.
    verdict : on this run.
    sides : the two sides of the claim in figures.
    steps : how the sides come about, and which step of the argument fails.
    failing : assumptions of the claim's proof that fail on this run; None where the check does not say.
    """

    claim: str
    statement: str
    source: str
    standing: str
    verdict: Verdict
    sides: Sentence
    steps: Sequence[Sentence] = ()
    failing: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """One run on one small instance, arrival by arrival.

    Parameters
    ----------
    instance, about : the instance's name, and what its file says of it.
    algorithm : as its run is labelled.
    result : OPT, ALG and their ratio.
    tables : the instance.
    remarks : how to read what follows.
    moments : arrival by arrival.
    outcome : what the algorithm made of it, beside OPT.
    ending : the claim; None where none was asked for and the family's own is about other algorithms.
    sources : the papers that it names.
    signs : (sign, meaning) of the family.
    """

    instance: str
    about: str
    algorithm: str
    result: Sentence
    tables: Sequence[Listing]
    remarks: Sequence[Sentence]
    moments: Sequence[Moment]
    outcome: Sequence[Grid]
    ending: Conclusion | None
    sources: Sequence[Source] = ()
    signs: Sequence[tuple[str, str]] = ()


_SIGN = r"[A-Za-z]+\d*|\d+"  # A word of a sign, or of a text that uses it


def find_used_signs(text: str, signs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Select the signs that occur in a text; of a sign with words in brackets all words must occur.

    So ``rho, beta (guard)`` belongs to a text about guards only, and ``(14)`` to one that cites this equation.

    Parameters
    ----------
    text : the text.
    signs : (sign, meaning) pairs.

    Returns
    -------
    The pairs that occur, in their order.
    """
    words = set(re.findall(_SIGN, text.replace("_", " ")))
    used = []
    for sign, meaning in dict(signs).items():
        needed = {word for inside in re.findall(r"\(([^)]*)\)", sign) for word in re.findall(_SIGN, inside)}
        others = set(re.findall(_SIGN, re.sub(r"\([^)]*\)", "", sign)))
        if needed <= words and (not others or others & words):
            used.append((sign, meaning))
    return used
