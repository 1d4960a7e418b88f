"""What every family's referee does: put questions, hear each answer once, book it, name the rule that is broken."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice, zip_longest
from typing import Any, NamedTuple, Protocol, TypeVar

from ratiobench.formulations.timing import excluded_seconds
from ratiobench.instances.io.errors import make_printable
from ratiobench.online import run_context
from ratiobench.online.answers import refusal, shorten
from ratiobench.online.outcome import Violation
from ratiobench.online.referee.arrival_count import Counter, start_counting

Answer = TypeVar("Answer")
T = TypeVar("T")
ARRIVAL = "arrival"  # The event that every family has: something arrives, and `decide` says what is done with it
# An algorithm answers another event by its method of this name with the event behind it: `at_change`, `at_tick`
HANDLER = "at_"


class RuleViolation(Exception):
    """A rule was broken: which, at which arrival, how; the last may hold anything that an algorithm says."""

    def __init__(self, rule: str, index: int | None, detail: str) -> None:
        detail = make_printable(detail, 500)
        super().__init__(f"{rule}: {detail}")
        self.rule, self.index, self.detail = rule, index, detail

    def violation(self, table: Simulator) -> Violation:
        """As it is reported of a run at this table."""
        return Violation(self.rule, self.index, self.detail, table.noun)


class RefusedAnswer(str):
    """Why an answer was not even sent: it stands in the answer's place."""


class Question(NamedTuple):
    """What is put to the algorithm at once."""

    indices: Sequence[int | None]  # what each answer is about: an arrival by its place; None for no single one
    # what is shown of each; None where there is nothing. Empty at an event at which only the view is ever shown.
    arrivals: Sequence[Any]
    view: Any  # the state as the algorithm sees it
    event: str = ARRIVAL  # what happened; any other name is the family's ("completion", "tick", ...)


class LogEntry(NamedTuple):
    """One entry of the log of a run: a question, as far as it tells one from another, and the booked answer."""

    event: str  # event, about: of the question: what happened, and to which arrival, if to one
    about: int | None
    answer: Any  # in builtin types; None where nothing was booked (a rejection, or an event that changes nothing)


Log = Sequence[LogEntry]


class Simulator(Protocol):
    """The referee's side of one run: the instance, the books, and the rules of the family."""

    noun: str  # what arrives, in a word: task, user, ...
    public: Any  # what everybody knows
    arrivals: int  # how many will come

    def questions(self, batch: bool) -> Iterator[Question]:
        """Every question in the order of time, each with the state in which it is decided.

        Every arrival once, in order; `batch`: those of a moment at once. What else is asked, and when, may depend on
        the answers: the next question is taken when those to the last are booked.
        """

    def take(self, event: str, index: int | None, answer: Any) -> Any:
        """Judge an answer and book it; `RuleViolation` names the rule that it breaks.

        Gives a copy in builtin types, the answer itself where nothing in it can be altered, None where none is booked.
        An event that the algorithm has no method for is answered by None.
        """

    def copied(self, event: str, index: int | None, answer: Any) -> Any:
        """The answer as `take` copies it, unjudged; `RuleViolation` if it is none."""


def copy_answer(plain: Callable[[Any], Answer], kind: str, index: int | None, answer: Any) -> Answer:
    """The answer in builtin types; RuleViolation if it is no `kind`."""
    try:
        return plain(answer)
    except (TypeError, ValueError) as error:
        raise RuleViolation("protocol", index, refusal(answer, kind, error)) from None


# Work in steps: each yields the descriptor of a process that is to answer before the next step
Steps = Generator[int, None, T]
Ask = Callable[[Question], Sequence[Any]]  # Put a question to the algorithm; answers in the order of its indices


def complete(steps: Steps[T]) -> T:
    """Go through all steps; the reading of an answer waits for it."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


class Transcript(NamedTuple):
    """A run as far as it came."""

    log: list[LogEntry]  # every question that was answered, with its answer; it ends before a violation
    violations: list[Violation]  # empty, or the one that ended it
    mutable_answers: list[tuple[int, Any]]  # (place in the log, answer) of those that can be altered afterwards


def simulate(table: Simulator, ask: Ask, *, batch: bool, span: tuple[int, int | None] = (0, None)) -> Transcript:
    """Put every question to the algorithm and book the answers; stops at the first violation."""

    def answer_at_once(question: Question) -> Steps[Sequence[Any]]:
        return ask(question)
        yield  # makes it a generator, which never waits

    return complete(converse(table, answer_at_once, start_counting(table.arrivals), batch=batch, span=span))


def converse(
    table: Simulator,
    ask: Callable[[Question], Steps[Sequence[Any]]],
    counter: Counter | None,
    *,
    batch: bool,
    span: tuple[int, int | None] = (0, None),
) -> Steps[Transcript]:
    """As `simulate`, with an algorithm that answers by steps."""
    transcript = Transcript([], [], [])
    try:
        for question in islice(table.questions(batch), *span):
            event, indices = question.event, question.indices
            answers = yield from ask(question)
            if not isinstance(answers, list | tuple) or len(answers) != len(indices):
                asked = f"{len(indices)} {table.noun}s asked" if event == ARRIVAL else f"asked at a {event}"
                raise RuleViolation("protocol", indices[0], f"{asked}, answer {shorten(answers)!r}")
            for index, answer in zip(indices, answers, strict=True):
                if isinstance(answer, RefusedAnswer):
                    raise RuleViolation("protocol", index, answer)
                decision = table.take(event, index, answer)
                if decision is not None and answer is not decision:  # else nothing in it could be altered
                    transcript.mutable_answers.append((len(transcript.log), answer))
                transcript.log.append(LogEntry(event, index, decision))
            if counter is not None and event == ARRIVAL:
                counter.add(len(indices))
    except RuleViolation as error:
        transcript.violations.append(error.violation(table))
    return transcript


def decisions_of(log: Log, arrivals: int) -> list[Any]:
    """The answers to the arrivals, by their places; None where nothing was booked, and from a violation on."""
    decisions: list[Any] = [None] * arrivals
    for entry in log:
        if entry.event == ARRIVAL and entry.about is not None:
            decisions[entry.about] = entry.answer
    return decisions


def first_difference(log: Log, other: Log, arrivals: int) -> LogEntry | None:
    """The first entry of a log, before the arrival of this number, that another log does not have so; None for none."""
    for mine, yours in zip_longest(log, other):
        if mine is None or (mine.event == ARRIVAL and mine.about is not None and mine.about >= arrivals):
            return None
        if mine != yours:
            return LogEntry(*mine)
    return None


def find_altered_answers(table: Simulator, transcript: Transcript) -> list[Violation]:
    """Answers that were altered after they had been given (the books keep the first version)."""
    found = []
    for place, answer in transcript.mutable_answers:
        event, index, booked = transcript.log[place]
        try:
            now = table.copied(event, index, answer)
        except RuleViolation:
            now = None
        if now != booked:
            found.append(make_altered_violation(table, index))
    return found


def make_altered_violation(table: Simulator, index: int | None) -> Violation:
    """The violation of an algorithm that altered this answer."""
    return RuleViolation("changed decision", index, "the answer was altered after it had been given").violation(table)


def answer_question(algorithm: Any, question: Question, batch: bool) -> Any:
    """What an algorithm answers; to another event than arrivals None if it has no method for it."""
    indices, arrivals, view, event = question
    if event == ARRIVAL:
        return algorithm.decide_batch(arrivals, view) if batch else [algorithm.decide(arrivals[0], view)]
    handler = getattr(algorithm, HANDLER + event, None)
    if handler is None:
        return [None] * len(indices)
    return [handler(what, view) for what in arrivals] if arrivals else [handler(view)]


class RunRecord(NamedTuple):
    """A run of an algorithm of ours."""

    log: list[LogEntry]
    violations: list[Violation]
    seconds: float  # wall time of the decisions


def run_in_process(table: Simulator, algorithm: Any, constants: Mapping[str, Fraction]) -> RunRecord:
    """Run an algorithm of ours in this process; it decides by `decide_batch` where it has that."""
    batch = hasattr(algorithm, "decide_batch")
    limit = run_context.current().limit
    started = time.perf_counter() - excluded_seconds()

    def spent() -> float:
        return time.perf_counter() - excluded_seconds() - started

    algorithm.start(table.public, dict(constants))

    def ask(question: Question) -> Sequence[Any]:
        if limit is not None and spent() > limit:
            raise RuleViolation("timeout", question.indices[0], run_context.stop_message(limit))
        answers: Sequence[Any] = answer_question(algorithm, question, batch)
        return answers

    transcript = simulate(table, ask, batch=batch)
    seconds = max(0.0, spent())
    return RunRecord(transcript.log, transcript.violations + find_altered_answers(table, transcript), seconds)
