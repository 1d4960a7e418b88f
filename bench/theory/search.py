"""The search for a counterexample of a claim: the loop of every search, and a search over random documents.

No try depends on a clock: random words come from streams that are named by claim, limits, seed and number, so that a
search limited by tries finds the same on any machine, interrupted or not.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from ratiobench.bench.family.capabilities import CounterexampleSearch, SearchResult, SearchSettings
from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.family.suite import NamedSummary
from ratiobench.instances.io.errors import InputError, explain_unknown_name, shorten
from ratiobench.instances.io.seeds import Stream

Document = dict[str, Any]
Mark = TypeVar("Mark")


class Search(ABC, Generic[Mark]):
    """The state of a search, and its steps.

    `pace`: tries after which the clock is looked at.
    """

    pace = 1

    def __init__(self, settings: SearchSettings) -> None:
        self.settings = settings
        self.tries = 0

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether nothing is left to look for."""

    @abstractmethod
    def advance(self) -> bool:
        """Make one try; whether the best of all changed."""

    @abstractmethod
    def mark(self) -> Mark:
        """Where the search stands between two tries."""

    @abstractmethod
    def document(self, mark: Mark) -> Document:
        """A state as JSON values: ``format version claim settings`` say which search it is, the rest how far it is."""

    @abstractmethod
    def progress(self, rate: float) -> str:
        """A line about the progress; `rate` is in tries a second."""

    def settings_document(self) -> Document:
        """The settings that must not change when a search is taken up; `bounded` where it is set, as states of old."""
        left_out = ("tries", "seconds") if self.settings.bounded else ("tries", "seconds", "bounded")
        return {key: value for key, value in asdict(self.settings).items() if key not in left_out}

    def require_own(self, data: Any, source: str, counts: Sequence[str]) -> None:
        """Refuse what is no state of this search."""
        if not isinstance(data, dict):
            raise InputError(source, "", f"{shorten(data)} is not an object")
        own = self.document(self.mark())
        for key in ("format", "version", "claim", "settings"):
            if data.get(key) != own[key]:
                raise InputError(source, key, f"{_shorten(data.get(key))} is not this search's: {_shorten(own[key])}")
        for key in counts:
            if type(data.get(key)) is not int or data[key] < 0:
                raise InputError(source, key, f"{shorten(data.get(key))} is not an integer of at least 0")

    def drive(self, keep: Callable[[Mapping[str, Any]], None], tell: Callable[[str], None]) -> tuple[int, float]:
        """Search until nothing is left to look for or a limit is reached.

        `tell`: called with a line about the progress, about once a second; returns how many tries were made, and their
        seconds.
        """
        settings = self.settings
        began = reported = time.monotonic()
        before = self.tries
        mark = self.mark()
        try:
            while not self.done and (settings.tries is None or self.tries < settings.tries):
                better = self.advance()
                mark = self.mark()
                if better:
                    keep(self.document(mark))
                if self.tries % self.pace == 0:
                    now = time.monotonic()
                    if settings.seconds is not None and now - began >= settings.seconds:
                        break
                    if now - reported >= 1:
                        reported = now
                        tell(self.progress((self.tries - before) / (now - began)))
        finally:
            keep(self.document(mark))  # an interrupt in the middle of a try leaves the state before it
        return self.tries - before, time.monotonic() - began


def _shorten(value: Any) -> str:
    return str(dict(value)) if isinstance(value, Mapping) else shorten(value)


class SearchProblem(Protocol):
    """What a search over random documents needs of a family.

    `claims`: statement and algorithm by claim: those that can be searched for, and whose runs are looked at.
    """

    state_format: str  # of the file of a search's state
    version: int  # of the random instances: a search begun by another version is not taken up
    stream: str  # the name of the random streams
    arrivals: str  # key of the list of arrivals in a document, and of the most of them in a state
    nodes: int  # the limit where `SearchSettings.nodes` is not given
    most_shrinking: int  # most instances that one shrinking runs

    @property
    def claims(self) -> Mapping[str, tuple[str, str]]:
        """See above."""
        ...

    def draw(self, stream: Stream, arrivals: int, largest: int, nodes: int) -> Document:
        """A random document of an instance, within the limits."""
        ...

    def smaller(self, document: Document) -> Iterator[Document]:
        """Documents with something less, the largest parts first."""
        ...

    def parse(self, document: Document, source: str = "", /) -> Any:
        """The instance in a document; InputError if it is none."""
        ...

    def check(self, claim: str, instance: Any, *, exact: bool) -> Check:
        """The claim's check; unless `exact`, against what is quickly known in the place of OPT."""
        ...


class Candidate(NamedTuple):
    """A document with the claim's check of it, and how close that is: above 1 when violated."""

    document: Document
    check: Check
    score: Fraction

    @property
    def violated(self) -> bool:
        """left > right."""
        return self.check.status is Verdict.VIOLATED


class DocumentMark(NamedTuple):
    """A state of `DocumentSearch`."""

    tries: int
    arrivals: int
    best: Candidate | None


class DocumentSearch(Search[DocumentMark]):
    """Random documents, and of the first that violates the claim what cannot be left out.

    `arrivals`: most of them in the next try.
    """

    def __init__(self, problem: SearchProblem, claim: str, settings: SearchSettings) -> None:
        super().__init__(settings)
        self.problem, self.claim = problem, claim
        self.arrivals = settings.tasks
        self.best: Candidate | None = None

    @property
    def violated(self) -> bool:
        """Whether the claim fell."""
        return self.best is not None and self.best.violated

    @property
    def done(self) -> bool:
        """Whether nothing is left to look for."""
        return self.violated and (not self.settings.smaller or self.arrivals < 1)

    def advance(self) -> bool:
        """Make one try; whether it is the best."""
        s, problem = self.settings, self.problem
        nodes = s.nodes or problem.nodes
        stream = Stream(
            problem.stream, problem.version, self.claim, self.arrivals, nodes, s.largest, s.seed, self.tries
        )
        self.tries += 1
        other = self.measure(problem.draw(stream, self.arrivals, s.largest, nodes))
        if other is None or (self.violated and not other.violated):
            return False
        if self.best is not None and not other.violated and other.score <= self.best.score:
            return False
        self.best = other
        if self.violated:
            self.best = self.shrink(other)
            self.arrivals = len(self.best.document[problem.arrivals]) - 1
        return True

    def measure(self, document: Document) -> Candidate | None:
        """None for a document that is none, or to which the claim does not apply."""
        try:
            check = self.problem.check(self.claim, self.problem.parse(document), exact=False)
        except InputError:
            return None
        if check.left is None or check.right is None:
            return None
        return Candidate(document, check, (Fraction(check.left) + 1) / (Fraction(check.right) + 1))

    def shrink(self, found: Candidate) -> Candidate:
        """The same with less and less, as long as the claim is violated, or comes as close."""
        tried = 0
        again = True
        while again:
            again = False
            for document in self.problem.smaller(found.document):
                tried += 1
                if tried > self.problem.most_shrinking:
                    return found
                other = self.measure(document)
                if other is not None and (other.violated if found.violated else other.score >= found.score):
                    found, again = other, True
                    break
        return found

    def mark(self) -> DocumentMark:
        """Where the search stands between two tries."""
        return DocumentMark(self.tries, self.arrivals, self.best)

    def document(self, mark: DocumentMark) -> Document:
        """A state as JSON values."""
        problem = self.problem
        return {
            "format": problem.state_format, "version": problem.version, "claim": self.claim,
            "settings": self.settings_document(), "tries": mark.tries, problem.arrivals: mark.arrivals,
            "best": None if mark.best is None else mark.best.document,
        }  # fmt: skip

    def progress(self, rate: float) -> str:
        """A line about the progress."""
        return f"{self.tries:,} tries, {rate:,.0f}/s"

    def load(self, data: Any, source: str) -> None:
        """Take up a search where `document` left it; InputError naming the field that does not fit."""
        problem = self.problem
        self.require_own(data, source, ("tries", problem.arrivals))
        self.tries, self.arrivals = data["tries"], data[problem.arrivals]
        if data.get("best") is not None:
            problem.parse(data["best"], source)
            self.best = self.measure(data["best"])
            if self.best is None:
                raise InputError(source, "best", "the claim does not apply to the instance")

    def result(self, fresh: int, seconds: float) -> SearchResult:
        """The best instance with its name and origin, and the audit's own verdict."""
        claim, problem = self.claim, self.problem
        statement, algorithm = problem.claims[claim]
        found = SearchResult(claim, statement, algorithm, self.violated, self.tries, fresh, seconds)
        if self.best is None:
            return found
        best = self.best if self.violated else self.shrink(self.best)
        seed = self.settings.seed
        about = f"Found by a search for {claim}: {statement}"
        origin = {"about": about, "seed": seed, "tries": self.tries}
        instance = problem.parse(best.document | {"name": f"{claim}_seed{seed}", "origin": origin})
        check = problem.check(claim, instance, exact=True)
        if self.violated and check.status is not Verdict.VIOLATED:
            raise AssertionError(f"the search finds {best.check} and the audit {check}: one of the two is wrong")
        left, right = best.check.left, best.check.right
        assert left is not None
        assert right is not None
        return replace(
            found, left=Fraction(left), right=Fraction(right), score=best.score, instance=instance, check=check
        )


def make_search(problem: SearchProblem) -> CounterexampleSearch:
    """The capability `Family.counterexample_search` from a family's random documents."""

    def search(
        claim: str,
        settings: SearchSettings,
        state: Any = None,
        source: str = "",
        keep: Callable[[Mapping[str, Any]], None] = lambda _: None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> SearchResult:
        if claim not in problem.claims:
            raise InputError("claim", "", explain_unknown_name(claim, problem.claims))
        if settings.exact:
            raise InputError("--exact", "", f"there is no such search for {claim}")
        run = DocumentSearch(problem, claim, settings)
        if state is not None:
            run.load(state, source)
        return run.result(*run.drive(keep, tell))

    return CounterexampleSearch(
        lambda: [NamedSummary(name, statement) for name, (statement, _) in problem.claims.items()], search
    )
