"""What every family's referee does: hear each answer once, book it at once, and name the rule that is broken.

The family's part is its table: it puts the questions, in the order of arrival, and judges and books the answers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from online.answers import shown
from online.outcome import Violation


class Foul(Exception):
    """A rule was broken."""

    def __init__(self, rule: str, index: int | None, detail: str) -> None:
        self.violation = Violation(rule, index, detail)
        super().__init__(str(self.violation))


class Question(NamedTuple):
    """What is put to the algorithm at once.

    Parameters
    ----------
    indices : of the arrivals that it is about, in their order.
    arrivals : the arrivals, made for this question.
    view : the state as the algorithm sees it.
    """

    indices: Sequence[int]
    arrivals: Sequence[Any]
    view: Any


class Table(Protocol):
    """The referee's side of one run: the instance, the books, and the rules of the family."""

    @property
    def noun(self) -> str:
        """What arrives, in the plural."""
        ...

    @property
    def public(self) -> Any:
        """What everybody knows."""
        ...

    @property
    def arrivals(self) -> int:
        """How many will come."""
        ...

    def questions(self, batch: bool) -> Iterator[Question]:
        """Every arrival once, in order, each with the state in which it is decided; `batch`: those of a slot at once.

        The next question is taken when the answers to the last are booked.
        """
        ...

    def judge(self, index: int, answer: Any) -> Any:
        """A copy of the answer in builtin types, or the answer itself where nothing in it can be altered.

        None when there is nothing to book; Foul names the rule that it breaks.
        """
        ...

    def book(self, index: int, decision: Any) -> None:
        """Put a judged decision into the books."""
        ...

    def copied(self, index: int, answer: Any) -> Any:
        """The answer as `judge` copies it, unjudged; Foul if it is none."""
        ...


Ask = Callable[[Question], Sequence[Any]]
"""Put a question to the algorithm; answers in the order of its arrivals."""


class Heard(NamedTuple):
    """What came of a run.

    Parameters
    ----------
    decisions : one per arrival; None where nothing was booked, and from a foul on.
    violations : empty, or the foul that ended it.
    kept : (index, answer) of the answers that can be altered afterwards.
    """

    decisions: list[Any]
    violations: list[Violation]
    kept: list[tuple[int, Any]]


def hear(table: Table, ask: Ask, *, batch: bool) -> Heard:
    """Put every arrival to the algorithm and book the answers; stops at the first foul."""
    heard = Heard([None] * table.arrivals, [], [])
    try:
        for question in table.questions(batch):
            indices = question.indices
            answers = ask(question)
            if not isinstance(answers, list | tuple) or len(answers) != len(indices):
                detail = f"{len(indices)} {table.noun} asked, answer {shown(answers)!r}"
                raise Foul("protocol", indices[0], detail)
            for i, answer in zip(indices, answers, strict=True):
                decision = table.judge(i, answer)
                if decision is not None:
                    table.book(i, decision)
                    heard.decisions[i] = decision
                    if answer is not decision:  # else there is nothing in it that could be altered
                        heard.kept.append((i, answer))
    except Foul as foul:
        heard.violations.append(foul.violation)
    return heard


def changes_of_mind(table: Table, heard: Heard) -> list[Violation]:
    """Answers that were altered after they had been given (the books keep the first version)."""
    found = []
    for i, answer in heard.kept:
        try:
            now = table.copied(i, answer)
        except Foul:
            now = None
        if now != heard.decisions[i]:
            found.append(altered(i))
    return found


def altered(index: int) -> Violation:
    """What is said of an answer that is not what it was."""
    return Violation("changed decision", index, "the answer was altered after it had been given")


class Played(NamedTuple):
    """A run of an algorithm of ours: decisions that stand, what was broken, and the wall time of the decisions."""

    decisions: list[Any]
    violations: list[Violation]
    seconds: float


def play(table: Table, algorithm: Any, constants: Mapping[str, Fraction]) -> Played:
    """Run an algorithm of ours in this process; it decides by `decide_batch` where it has that."""
    batch = hasattr(algorithm, "decide_batch")
    started = time.perf_counter()
    algorithm.start(table.public, dict(constants))

    def ask(question: Question) -> Sequence[Any]:
        if batch:
            answers: Sequence[Any] = algorithm.decide_batch(question.arrivals, question.view)
            return answers
        return [algorithm.decide(question.arrivals[0], question.view)]

    heard = hear(table, ask, batch=batch)
    seconds = time.perf_counter() - started
    return Played(heard.decisions, heard.violations + changes_of_mind(table, heard), seconds)
