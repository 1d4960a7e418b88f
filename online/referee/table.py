"""What every family's referee does: hear each answer once, book it at once, and name the rule that is broken.

The family's part is its table: it puts the questions, in the order of arrival, and judges and books the answers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from instances.errors import tamed
from online import terms
from online.answers import shown
from online.outcome import Violation


class Foul(Exception):
    """A rule was broken: which, at which arrival, how; the last may hold anything that an algorithm says."""

    def __init__(self, rule: str, index: int | None, detail: str) -> None:
        detail = tamed(detail, 500)
        super().__init__(f"{rule}: {detail}")
        self.rule, self.index, self.detail = rule, index, detail

    def violation(self, table: Table) -> Violation:
        """As it is reported of a run at this table."""
        return Violation(self.rule, self.index, self.detail, table.noun)


class Refused(str):
    """Why an answer was not even sent: it stands in the answer's place."""


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
        """What arrives, in a word: task, user, ..."""
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

    def take(self, index: int, answer: Any) -> Any:
        """Judge an answer and book it; Foul names the rule that it breaks.

        Gives a copy in builtin types, the answer itself where nothing in it can be altered, None where none is booked.
        """
        ...

    def copied(self, index: int, answer: Any) -> Any:
        """The answer as `take` copies it, unjudged; Foul if it is none."""
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
                detail = f"{len(indices)} {table.noun}s asked, answer {shown(answers)!r}"
                raise Foul("protocol", indices[0], detail)
            for i, answer in zip(indices, answers, strict=True):
                if isinstance(answer, Refused):
                    raise Foul("protocol", i, answer)
                decision = table.take(i, answer)
                if decision is not None:
                    heard.decisions[i] = decision
                    if answer is not decision:  # else there is nothing in it that could be altered
                        heard.kept.append((i, answer))
    except Foul as foul:
        heard.violations.append(foul.violation(table))
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
            found.append(altered(table, i))
    return found


def altered(table: Table, index: int) -> Violation:
    """What is said of an answer that is not what it was."""
    return Foul("changed decision", index, "the answer was altered after it had been given").violation(table)


class Played(NamedTuple):
    """A run of an algorithm of ours: decisions that stand, what was broken, and the wall time of the decisions."""

    decisions: list[Any]
    violations: list[Violation]
    seconds: float


def play(table: Table, algorithm: Any, constants: Mapping[str, Fraction]) -> Played:
    """Run an algorithm of ours in this process; it decides by `decide_batch` where it has that.

    The clock runs from the start to the last decision. A limit (`online.terms`) is looked at before each decision.
    """
    batch = hasattr(algorithm, "decide_batch")
    limit = terms.current().limit
    started = time.perf_counter()
    algorithm.start(table.public, dict(constants))

    def ask(question: Question) -> Sequence[Any]:
        if limit is not None and time.perf_counter() - started > limit:
            raise Foul("timeout", question.indices[0], terms.stopped(limit))
        if batch:
            answers: Sequence[Any] = algorithm.decide_batch(question.arrivals, question.view)
            return answers
        return [algorithm.decide(question.arrivals[0], question.view)]

    heard = hear(table, ask, batch=batch)
    seconds = time.perf_counter() - started
    return Played(heard.decisions, heard.violations + changes_of_mind(table, heard), seconds)
