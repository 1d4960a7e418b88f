"""Records of the optional parts of a family (`ratiobench.bench.family.contract` lists the parts)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from ratiobench.bench.family.suite import SolveSettings
from ratiobench.instances.io.display import format_decimal

if TYPE_CHECKING:
    from ratiobench.bench.family.checks import Check
    from ratiobench.bench.family.explanation import Explanation
    from ratiobench.bench.family.suite import Study
    from ratiobench.formulations.report import Exact, SolveReport
    from ratiobench.instances.io.seeds import Stream
    from ratiobench.online.outcome import OnlineRun


@dataclass(frozen=True, slots=True)
class SearchSettings:
    tasks: int = 6  # tasks, slots, nodes: at most so many; nodes None: the claim's own default
    slots: int = 5
    nodes: int | None = None
    largest: int = 200  # the largest number in an instance
    seed: int = 0  # of everything random
    tries: int | None = None  # instances tried in all, those of an interrupted search included; None for no limit
    seconds: float | None = None  # a time limit by hand; the result then depends on the machine
    smaller: bool = False  # go on after the first violation, for one with fewer tasks, until a limit is reached
    against: str = ""  # of a search for a worst ratio, the algorithm whose value replaces OPT; empty for OPT
    exact: bool = False  # every instance within the limits; tries and seconds do not matter then
    bounded: bool = False  # such a search skips instances on which the algorithm earns nothing


@dataclass(frozen=True, slots=True, repr=False)
class SearchResult:
    claim: str  # claim, statement, algorithm: the claim, and the algorithm of the runs
    statement: str
    algorithm: str
    violated: bool  # whether the claim is violated on `instance`
    tries: int  # tries, fresh: instances tried in all, and in this run of the search
    fresh: int
    seconds: float  # of this run
    left: Fraction | None = None  # left, right: both sides of left <= right on `instance`; None if it has none
    right: Fraction | None = None
    score: Fraction | None = None  # how close: above 1 when violated
    instance: Any = None  # the witness, or the closest
    check: Check | None = None  # the audit's verdict on it; None where the audit has no check of this name
    notes: Sequence[str] = ()  # remarks, a sentence each
    against: str = ""  # the algorithm that it was compared with in place of OPT; empty for OPT
    isolation: str = ""  # how users' algorithms were isolated (`ratiobench.online.remarks`); empty where none ran

    def __repr__(self) -> str:
        found = "violated" if self.violated else "not violated"
        score = "" if self.score is None else f", score {format_decimal(self.score, up=False)}"
        return f"<SearchResult {self.claim}: {found}{score}, {self.tries} instances tried>"


SearchFunction = Callable[
    [str, SearchSettings, Any, str, Callable[[Mapping[str, Any]], None], Callable[[str], None]], SearchResult
]


@dataclass(frozen=True, slots=True)
class CounterexampleSearch:
    """The search for instances that violate a claim."""

    claims: Callable[[], Sequence[str]]
    # (claim, settings, state, source, keep, tell): search, from the state of an earlier search (None: from the start;
    # `source` names its file). `keep` is called with the state (JSON values) after every improvement and at the end,
    # `tell` with a line of progress about once a second. InputError for a claim or state that cannot be used.
    search: SearchFunction
    # as `search`, with an algorithm's name in the place of the claim: the instance on which it is furthest from OPT.
    # `left` is OPT, `right` ALG, `score` their ratio, None where it is unbounded (`violated` says so); None where there
    # is no such search.
    worst: SearchFunction | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """A claim in words: one that audits check, or one that no run can show and a proof settles."""

    name: str  # of its check
    statement: str  # statement, source: the claim, and its source
    source: str
    standing: str  # proof status: ``proved``, ``false``, ...
    assumptions: str = "none"  # without which its check says `not applicable`
    repaired: str = ""  # the repaired form of a false claim; empty where nothing is to be repaired
    proof: str = ""  # of the standing, in a few sentences, where no check is made; empty for a claim that audits check
    flaw: str = ""  # of a false claim, in a sentence, which step of its argument fails; empty without an argument
    asked: bool = False  # no paper claims it: this project asks it, so verdicts are shown and not counted
    proof_assumes: str = ""  # what the published proof needs beside; `Check.failing` names what of it fails on a run


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims that a family's papers make, and their checks."""

    version: str  # of all checks; stored checks of another version are made again
    notation: Sequence[tuple[str, str]]  # (sign, meaning) pairs of the statements
    statements: Sequence[Statement]  # those settled by proof, then those that audits check, in their order
    # (instance, run, interval on OPT, names): checks the claims on one run; names of the claims to check, without the
    # work of the others, None for all. A claim about another algorithm is then `not applicable`.
    audit: Callable[[Any, OnlineRun, SolveReport, Collection[str] | None], Sequence[Check]]


@dataclass(frozen=True, slots=True)
class Studies:
    # (instance, study, prior): its rows, all with the same keys, exact figures; InputError: it cannot be made.
    make: Callable[[Any, Study, Any], Sequence[Mapping[str, str]]]
    draw: Callable[[Any, str, str], Any]  # (table of a study, name of the figure, unit): its picture
    kinds: Mapping[str, bool] | None = None  # whether each is about a single task; None: not known before a run


@dataclass(frozen=True, slots=True)
class BidCurve:
    rows: Sequence[Mapping[str, str]]  # one per piece; the last key is ``known``: `exact` or `tried`
    note: str = ""  # how the rows were found and what they leave open, where they are not exact; else empty


@dataclass(frozen=True, slots=True)
class TimeSeries:
    name: str  # of what it is a quantity
    mean: Sequence[Fraction]  # over the like parts of it
    low: Sequence[Fraction] | None = None  # low, high: the smallest and largest of them
    high: Sequence[Fraction] | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    number: int
    time: int  # of its arrival
    reason: str  # a key of `reasons`
    about: str  # figures to show, as text


@dataclass(frozen=True, slots=True)
class Timeline:
    """What happened in one run over time; figures are exact."""

    unit: str  # what time is counted in
    times: Sequence[int]  # in order, without gaps
    loads: Sequence[TimeSeries]  # shares of capacity used, 0 to 1
    prices: Mapping[str, Sequence[TimeSeries]]  # by the title of their axis; empty for an algorithm that shows none
    admitted: Sequence[int]  # arrivals at each time that were taken
    refused: Sequence[Refusal]  # all others, in the order of arrival
    reasons: Mapping[str, str]  # reasons of rejections, with their meaning, in the order of the figure
    note: str = ""  # what must be known of the prices
    clock: Sequence[str] = ()  # when each time begins, to be read (``8:10``); empty where their length is not known
    clock_title: str = ""  # title of the clock, e.g. the time of day
    asked: Sequence[Fraction] = ()  # demand as a share of all capacity, if each ran at once; may be above 1


class GanttBlock(NamedTuple):
    row: int  # from 0
    start: int  # start, end: times, counted from the beginning of the first one
    end: int
    low: float  # low, high: which part of the row, as shares of it
    high: float


class GanttTask(NamedTuple):
    title: str  # its figures as text
    kind: str  # a key of `Gantt.kinds`
    blocks: Sequence[GanttBlock]  # where and when it runs


@dataclass(frozen=True, slots=True)
class Gantt:
    """Which machines run what, and when."""

    unit: str  # what time is counted in
    times: Sequence[int]  # in order, without gaps
    rows: Sequence[str]  # the names of the machines
    groups: Sequence[tuple[str, int]]  # names of like neighbouring machines, and how many, from the first row on
    tasks: Sequence[GanttTask]  # what runs
    kinds: Mapping[str, str]  # classes of tasks, with their meaning
    clock: Sequence[str] = ()  # clock, clock_title: as of `Timeline`
    clock_title: str = ""


@dataclass(frozen=True, slots=True)
class Bidding:
    """Algorithms that are auctions: what one bidder gains by its bid."""

    utility_curve: Callable[[Any, str, int], BidCurve]  # (instance, algorithm, task): utility over the bid
    audit_bidder: Callable[[Any, OnlineRun, int, Sequence[str]], Sequence[Check]]  # (instance, run, task, claims)


@dataclass(frozen=True, slots=True)
class Explainer:
    """Explanations of runs, arrival by arrival, or of where their cost comes from."""

    # (instance, run, OPT, check): the run, and the claim of the check at its end; without a claim the check is None.
    explain: Callable[[Any, OnlineRun, SolveReport, Any], Explanation]
    algorithm: str  # algorithm, claim: those that are explained where none is named
    claim: str  # empty for a family without claims
    limits: Mapping[str, int]  # largest figures of `describe` up to which a run is explained


class SizeRange(NamedTuple):
    """A choice of instances of a standard set."""

    low: int  # low, high: number of arrivals, both included
    high: int
    most: int  # only so many, the smallest ones


@dataclass(frozen=True, slots=True)
class Loss:
    arrival: int  # its position
    amount: Exact  # what the run loses on it, in the family's unit
    text: str  # what happened to it, in a sentence or two
    figures: Mapping[str, Any]  # the same as JSON values


@dataclass(frozen=True, slots=True)
class LossReport:
    summary: Sequence[str]  # sentences about the whole run, the most important one first
    losses: Sequence[Loss]  # arrival by arrival, the largest one first


@dataclass(frozen=True, slots=True)
class EvaluationSupport:
    """What a family adds to `evaluate`."""

    tiny_recipe: Callable[[int, int], Mapping[str, Any]]  # (seed, number): of an instance solved in a moment
    limits: Mapping[str, SizeRange]  # of the stages `parts` and `days`, which instances of a standard set they take
    # Shipped algorithms that a policy is compared with where no run is stored with the set; `standard runs` stores
    # these and all plain names. None may use constants of the instance under test.
    policies: Sequence[str]
    # (instance, decisions, best known decisions): where a run loses; None without such an analysis.
    explain_loss: Callable[[Any, Any, Any], LossReport] | None = None
    # (recipe, stream): the recipe with another day of the same trace; the same one if it has no day.
    draw_day: Callable[[Mapping[str, Any], Stream], Mapping[str, Any]] = lambda recipe, stream: recipe
    settings: SolveSettings = field(default_factory=SolveSettings)  # of the solves of tiny instances
