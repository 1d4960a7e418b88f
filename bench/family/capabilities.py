"""What a family may have besides: each part is an attribute of `Family` that is None where there is none.

Part of a family -> what is lost without it:

* ``certificates`` -> `opt --certificate`, `check --certificate`
* ``staying`` -> `--no-migration`
* ``hunting`` -> `search`
* ``bidding`` -> `audit --task`, `audit --curve`
* ``audit_claims`` -> `audit --claim` does the work of all claims
* ``statements``, ``notation`` -> the page's section on what is claimed and what holds
* ``readings`` -> the page's sentences on how a paper is read
* ``measures`` -> figures beside the objective; ``MEASURES``, their names -> wrong names in files found before a run
* ``accounts`` -> cost and profit of a run
* ``study`` -> figures about bidding; ``STUDIES``, its kinds -> wrong kinds in files found before a run
* ``compiling`` -> `warm` compiles side by side, and only what the suites need
* ``importing`` -> `import`
* ``calibrating`` -> `calibrate`, `list gpus`
* ``standing``, ``bound_checks`` -> what is proved of an algorithm, on leaderboards and in backtests
* ``join`` -> `backtest --history` above 1; ``setting``, ``began`` -> `backtest` sees which days are none of one load
* ``explaining`` -> `explain`, and the links from claims to their explained witnesses
* ``timeline`` -> `online --timeline`; in backtests load, prices, reasons of rejections, classes of arrivals
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ratiobench.bench.family.checks import Check
from ratiobench.bench.family.explanation import Explanation
from ratiobench.bench.family.suite import Listed, SolveSettings
from ratiobench.formulations.report import SolveReport
from ratiobench.instances.display import decimal
from ratiobench.online.outcome import OnlineRun


class Step(NamedTuple):
    """Something to be compiled: its name, about how many seconds of one core it takes, and the call that does it.

    `after` names the steps that compile what this one uses as well; they are listed before it.
    """

    name: str
    seconds: float
    work: Callable[[], object]
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Certificates:
    """Intervals on OPT that anybody can check.

    Parameters
    ----------
    solve : (instance, settings[, start]): as `Family.solve`, with the work that its `certificate` needs; None in
        it when none could be had.
    write : (certificate, path): the certificate of a report to a file, whole or not at all.
    check : (instance, data, source): exact verification of a decoded certificate, by code of its own: ``valid lower
        upper problem`` at least. `problem` is the first thing wrong, in one line, None when valid; InputError if it is
        no certificate at all.
    """

    solve: Callable[..., SolveReport]
    write: Callable[[Any, Path], None]
    check: Callable[[Any, Any, str], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class SingleNode:
    """Tasks that may move from node to node, kept from it.

    Parameters
    ----------
    solve : (instance, settings): the optimum with every task on one node, or an interval on it.
    run : (instance, algorithm, prior): under a referee that refuses decisions on two nodes; InputError for an algorithm
        that cannot.
    check : (instance, data, source): as `Family.check`, with the constraint that a task stays on one node.
    """

    solve: Callable[[Any, SolveSettings], SolveReport]
    run: Callable[[Any, str, Any], OnlineRun]
    check: Callable[[Any, Any, str], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How far a search for a counterexample goes.

    Parameters
    ----------
    tasks, slots, nodes : at most so many; nodes None: the claim's own default.
    largest : the largest number in an instance.
    seed : of everything random.
    tries : instances tried in all, those of an interrupted search included; None for no limit.
    seconds : a time limit by hand; the result then depends on the machine.
    smaller : go on after the first violation, for one with fewer tasks, until a limit is reached.
    """

    tasks: int = 6
    slots: int = 5
    nodes: int | None = None
    largest: int = 200
    seed: int = 0
    tries: int | None = None
    seconds: float | None = None
    smaller: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class SearchResult:
    """What a search for a counterexample found.

    Parameters
    ----------
    claim, statement, algorithm : what was searched for, and whose runs were looked at.
    violated : whether the claim is violated on `instance`.
    tries, fresh : instances tried in all, and in this run of the search.
    seconds : of this run.
    left, right : the two sides of the claim left <= right on `instance`; None where no instance had any.
    score : how close: above 1 when violated.
    instance : the witness, or the closest.
    check : the audit's verdict on it; None where the audit has no check of this name.
    notes : what else must be said, a sentence each.
    """

    claim: str
    statement: str
    algorithm: str
    violated: bool
    tries: int
    fresh: int
    seconds: float
    left: Fraction | None = None
    right: Fraction | None = None
    score: Fraction | None = None
    instance: Any = None
    check: Check | None = None
    notes: Sequence[str] = ()

    def __repr__(self) -> str:
        found = "violated" if self.violated else "not violated"
        score = "" if self.score is None else f", score {decimal(self.score, up=False)}"
        return f"<Hunted {self.claim}: {found}{score}, {self.tries} instances tried>"


SearchFunction = Callable[
    [str, SearchSettings, Any, str, Callable[[Mapping[str, Any]], None], Callable[[str], None]], SearchResult
]


@dataclass(frozen=True, slots=True)
class CounterexampleSearch:
    """The search for instances that violate a claim.

    Parameters
    ----------
    claims : those that can be searched for.
    hunt : (claim, settings, state, source, keep, tell): search, from the state of an earlier search (None: from the
        start; `source` names its file). `keep` is called with the state (JSON values) after every improvement and at
        the end, `tell` with a line of progress about once a second. InputError for a claim or state that cannot be
        used.
    worst : as `hunt`, with an algorithm's name in the place of the claim: the instance on which it is furthest from
        OPT. `left` is OPT, `right` ALG, `score` their ratio, None where it is unbounded (`violated` says so); None
        where there is no such search.
    """

    claims: Callable[[], Sequence[Listed]]
    hunt: SearchFunction
    worst: SearchFunction | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """A claim in words: one that audits check, or one that no run can show and a proof settles.

    Parameters
    ----------
    name : of its check.
    statement, source : the claim, and who makes it.
    standing : what is known about it in general: ``proved``, ``false``, ...
    assumptions : without which its check says `not applicable`.
    repaired : what holds instead; empty where nothing is to be repaired.
    proof : of the standing, in a few sentences, where no check is made; empty for a claim that audits check.
    flaw : of a false claim, in a sentence, which step of its argument fails; empty where nobody argued for it.
    asked : nobody claims it: it is asked of whoever runs, so that its verdicts are shown and not counted.
    proof_assumes : what the published proof needs and the claim does not say; a check names what of it fails on a run
        (`Check.failing`). Empty where the two are not separated.
    """

    name: str
    statement: str
    source: str
    standing: str
    assumptions: str
    repaired: str
    proof: str = ""
    flaw: str = ""
    asked: bool = False
    proof_assumes: str = ""


@dataclass(frozen=True, slots=True)
class BidCurve:
    """One bidder's outcome, payment and utility over its bid.

    Parameters
    ----------
    rows : one per piece, all with the same keys, the last of them ``known``: `exact` or `tried`.
    note : how the rows were found and what they leave open, where they are not exact; else empty.
    """

    rows: Sequence[Mapping[str, str]]
    note: str = ""


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """A quantity over time, with a figure for each of the timeline's times.

    Parameters
    ----------
    name : of what it is a quantity.
    mean : over the like parts of it.
    low, high : the smallest and largest of them; None where there is one figure only.
    """

    name: str
    mean: Sequence[Fraction]
    low: Sequence[Fraction] | None = None
    high: Sequence[Fraction] | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """An arrival that was turned away: its number, when it came, why (a key of `reasons`), and figures to show."""

    number: int
    time: int
    reason: str
    about: str


class Served(NamedTuple):
    """The arrivals of a class: what it is called, how many came, how many were admitted."""

    label: str
    arrivals: int
    admitted: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """What happened in one run, over time; every figure follows from the instance and the run exactly.

    Parameters
    ----------
    unit : what time is counted in.
    times : in order, without gaps.
    loads : shares of capacity used, 0 to 1.
    prices : by the title of their axis; empty for an algorithm that shows none.
    admitted : arrivals at each time that were taken.
    refused : all others, in the order of arrival.
    reasons : why arrivals are turned away, and what is meant by it, in the order of the figure.
    note : what must be known of the prices.
    clock : when each time begins, to be read (``8:10``); empty where nobody knows how long they are.
    clock_title : what the clock tells, e.g. the time of day.
    asked : what those that could be served would use if each ran at once, as a share of all capacity; may be above 1.
    used : the share of all capacity that was used, over all times; None where it is not said.
    classes : by what arrivals are told apart, and the classes in order.
    """

    unit: str
    times: Sequence[int]
    loads: Sequence[TimeSeries]
    prices: Mapping[str, Sequence[TimeSeries]]
    admitted: Sequence[int]
    refused: Sequence[Refusal]
    reasons: Mapping[str, str]
    note: str = ""
    clock: Sequence[str] = ()
    clock_title: str = ""
    asked: Sequence[Fraction] = ()
    used: Fraction | None = None
    classes: Mapping[str, Sequence[Served]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bidding:
    """Algorithms that are auctions: what one bidder gains by its bid.

    Parameters
    ----------
    utility_curve : (instance, algorithm, task): the bidder's utility over its bid; InputError for a task that does not
        exist.
    audit_bidder : (instance, run, task, claims): what it gains by misreporting, with more work than an audit of all
        has; of these claims, if any are named.
    """

    utility_curve: Callable[[Any, str, int], BidCurve]
    audit_bidder: Callable[[Any, OnlineRun, int, Sequence[str]], Sequence[Check]]


@dataclass(frozen=True, slots=True)
class Explainer:
    """Runs on small instances, told arrival by arrival.

    Parameters
    ----------
    explain : (instance, run, OPT, check): the run, and the claim of the check at its end.
    algorithm, claim : those that are explained where none is named.
    limits : the figures that `describe` gives, and the most of each that anybody would read.
    """

    explain: Callable[[Any, OnlineRun, SolveReport, Check], Explanation]
    algorithm: str
    claim: str
    limits: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ImportSettings:
    """What to read of a log of jobs, and what stands in for what it does not say.

    Parameters
    ----------
    form : the format of the log.
    cluster : the file that says which nodes there are.
    columns : which column is what, for formats without names of their own.
    skip_bad : count lines that cannot be read, and go on.
    days : days of submissions in an instance.
    first, last : days that count; None for all.
    slot_seconds : length of a slot.
    tail_seconds : time behind the last day, in which nothing is submitted.
    slack : a job without deadline and time limit may take so many times the fewest slots.
    price : range of dollars per GPU-hour of jobs without a price.
    seed : names the draws.
    """

    form: str
    cluster: Path
    columns: Mapping[str, str] = field(default_factory=dict)
    skip_bad: bool = False
    days: int = 1
    first: date | None = None
    last: date | None = None
    slot_seconds: int = 600
    tail_seconds: int = 21_600
    slack: Fraction = Fraction(3)
    price: tuple[Fraction, Fraction] = (Fraction(1), Fraction(3))
    seed: str = "0"


class ImportReport(Protocol):
    """What became of the jobs of a log: complete when all its instances were made."""

    def text(self) -> str:
        """For reading: how many were imported, how many left out by which rule, what is assumed."""
        ...

    def document(self) -> Mapping[str, Any]:
        """The same as JSON values."""
        ...


@dataclass(frozen=True, slots=True)
class LogImport:
    """Logs of real jobs as instances.

    Parameters
    ----------
    formats : those that can be read.
    read : (log, settings, tell): the report, and the instances in the order of time. `tell` hears how many lines were
        read. InputError names the file, the line, the column and the value.
    example : a small synthetic log in the format ``csv``, and the text of a cluster for it; None where there is none.
    """

    formats: Callable[[], Sequence[Listed]]
    read: Callable[[Path, ImportSettings, Callable[[int], None]], tuple[ImportReport, Iterator[Any]]]
    example: Callable[[], tuple[str, str]] | None = None


@dataclass(frozen=True, slots=True)
class CalibrationSettings:
    """What to measure of a device.

    Parameters
    ----------
    name : of the device, in recipes and clusters.
    device, dtype : where, and in which numbers; ``auto``: the best there is.
    quick : a tiny model, to try the command.
    tasks, batch : how many tasks share the device, and how large their batches are: every pair is measured.
    seconds : for each of them; None: the family's own choice.
    watts : above idle, where that is not to be measured.
    """

    name: str
    device: str = "auto"
    dtype: str = "auto"
    quick: bool = False
    tasks: Sequence[int] = (4, 8, 16)
    batch: Sequence[int] = (2, 4, 8)
    seconds: float | None = None
    watts: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What was measured.

    Parameters
    ----------
    document : JSON values, each figure with where it is from.
    text : the file of it.
    summary : in a sentence.
    usage : the words of a command that uses the file of this name.
    """

    document: Mapping[str, Any]
    text: str
    summary: str
    usage: Callable[[Path], str]


@dataclass(frozen=True, slots=True)
class Calibrator:
    """One's own device, measured.

    Parameters
    ----------
    measure : (settings, begun, told): `begun` hears what is measured now and how long the rest takes, `told` a line
        for each figure that was found. InputError for a device that is not there, and where nothing fits.
    gpus : the devices that are known, and those in files of `calibrate`; InputError names file, field and value.
    dtypes : in which one can measure.
    """

    measure: Callable[[CalibrationSettings, Callable[[str], None], Callable[[str], None]], Calibrated]
    gpus: Callable[[Sequence[Path]], Sequence[Listed]]
    dtypes: Sequence[str]
