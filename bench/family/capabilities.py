"""The optional capabilities of a family: each is a member of `Family` that is None or empty where there is none.

Member of `Family` -> what is lost without it:

* ``certificates`` -> `opt --certificate`, `check --certificate`
* ``crosscheck``, ``solve_printed`` -> `crosscheck`; solvers' own answers beside OPT
* ``export`` -> `export`
* ``without_migration`` -> `--no-migration`
* ``claims`` -> `audit`; the page's section on what is claimed and what holds
* ``counterexample_search`` -> `search`
* ``limits`` -> `limit`
* ``bidding`` -> `audit --task`, `audit --curve`
* ``readings`` -> the page's sentences on how a paper is read
* ``measures`` -> figures beside the objective; ``measure_names`` -> wrong names in files found before a run
* ``accounts`` -> cost and profit of a run
* ``studies`` -> figures about bidding
* ``compilation_steps`` -> `warm` compiles side by side, and only what the suites need
* ``log_import`` -> `import`
* ``proof_status``, ``bound_checks`` -> what is proved of an algorithm, on leaderboards and in backtests
* ``join`` -> `backtest --history` above 1; ``load_setting``, ``start_time`` -> `backtest` sees which days belong to
  different loads
* ``explainer`` -> `explain`, and the links from claims to their explained witnesses
* ``timeline`` -> `simulate --timeline`; in backtests load, prices, reasons of rejections, classes of arrivals
* ``gantt`` -> the Gantt chart of `simulate --timeline`; `opt --timeline`
* ``evaluation`` -> `evaluate`
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ratiobench.bench.family.checks import Check
from ratiobench.bench.family.explanation import Explanation
from ratiobench.bench.family.suite import NamedSummary, SolveSettings, Study
from ratiobench.formulations.checksums import Verdict
from ratiobench.formulations.report import Exact, SolveReport
from ratiobench.instances.io.display import format_decimal
from ratiobench.instances.io.seeds import Stream
from ratiobench.online.outcome import OnlineRun

__all__ = [
    "AUDITS",
    "SOLVES",
    "AccountFunction",
    "AuditFunction",
    "BidCurve",
    "Bidding",
    "Certificates",
    "Claims",
    "ClassArrivals",
    "CompilationSteps",
    "CounterexampleSearch",
    "EvaluationSupport",
    "Explainer",
    "Gantt",
    "GanttBlock",
    "GanttFunction",
    "GanttTask",
    "ImportReport",
    "ImportSettings",
    "LimitCase",
    "LimitPrefix",
    "Limits",
    "LogImport",
    "Loss",
    "LossReport",
    "MeasureFunction",
    "Refusal",
    "SearchResult",
    "SearchSettings",
    "SizeRange",
    "Statement",
    "Step",
    "Studies",
    "TimeSeries",
    "Timeline",
    "TimelineFunction",
]


AUDITS, SOLVES = "audits", "solves"  # What some steps of compilation are for alone (`Step.only_for`)


class Step(NamedTuple):
    """Kernels that are compiled together.

    Parameters
    ----------
    name : of the step.
    seconds : how long it takes on one core, roughly.
    work : the call that compiles them.
    after : names of the steps that compile kernels which this one uses, too; they are listed before it.
    only_for : `AUDITS` or `SOLVES`, where nothing else in a run needs these kernels; empty: every run does.
    """

    name: str
    seconds: float
    work: Callable[[], object]
    after: tuple[str, ...] = ()
    only_for: str = ""


@dataclass(frozen=True, slots=True)
class Certificates:
    """Intervals on OPT with certificates that an independent checker verifies.

    Parameters
    ----------
    solve : (instance, settings, start): as `Family.solve`, with the work that its `certificate` needs; None in
        it when none could be had.
    write : (certificate, path): the certificate of a report to a file, whole or not at all.
    verify : (instance, data, source): exact verification of a decoded certificate, by code that shares nothing with
        `solve`; InputError if it is no certificate at all.
    proves : what a valid certificate proves, and how, in a sentence.
    sum_text : (instance, data): the sum by which a valid certificate proves its bound, in a line.
    """

    solve: Callable[[Any, SolveSettings, Any], SolveReport]
    write: Callable[[Any, Path], None]
    verify: Callable[[Any, Any, str], Verdict[Any]]
    proves: str = "lower <= OPT <= upper"
    sum_text: Callable[[Any, Any], str] | None = None

    def check(self, instance: Any, data: Any, source: str) -> Mapping[str, Any]:
        """Verify a decoded certificate.

        Parameters
        ----------
        instance : of the family.
        data : the decoded certificate.
        source : name of its file, which errors name.

        Returns
        -------
        ``valid lower upper problem``; `problem` is the first error, in one line, None when valid.

        Raises
        ------
        InputError : it is no certificate at all.
        """
        verdict = self.verify(instance, data, source)
        return {
            "valid": verdict.valid,
            "lower": verdict.certificate.lower,
            "upper": verdict.certificate.upper,
            "problem": verdict.problem or None,
        }


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
    against : of a search for a worst ratio, the algorithm whose value replaces OPT; empty for OPT.
    exact : look at every instance up to `tasks`, `slots`, `nodes` and `largest`; the rest does not matter then.
    bounded : such a search skips instances on which the algorithm earns nothing.
    """

    tasks: int = 6
    slots: int = 5
    nodes: int | None = None
    largest: int = 200
    seed: int = 0
    tries: int | None = None
    seconds: float | None = None
    smaller: bool = False
    against: str = ""
    exact: bool = False
    bounded: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class SearchResult:
    """What a search for a counterexample found.

    Parameters
    ----------
    claim, statement, algorithm : the claim, and the algorithm of the runs.
    against : the algorithm that it was compared with in place of OPT; empty for OPT.
    violated : whether the claim is violated on `instance`.
    tries, fresh : instances tried in all, and in this run of the search.
    seconds : of this run.
    left, right : the two sides of the claim left <= right on `instance`; None where no instance had any.
    score : how close: above 1 when violated.
    instance : the witness, or the closest.
    check : the audit's verdict on it; None where the audit has no check of this name.
    notes : remarks, a sentence each.
    isolation : how users' algorithms were isolated (`ratiobench.online.remarks`); empty where none ran.
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
    against: str = ""
    isolation: str = ""

    def __repr__(self) -> str:
        found = "violated" if self.violated else "not violated"
        score = "" if self.score is None else f", score {format_decimal(self.score, up=False)}"
        return f"<SearchResult {self.claim}: {found}{score}, {self.tries} instances tried>"


SearchFunction = Callable[
    [str, SearchSettings, Any, str, Callable[[Mapping[str, Any]], None], Callable[[str], None]], SearchResult
]


@dataclass(frozen=True, slots=True)
class CounterexampleSearch:
    """The search for instances that violate a claim.

    Parameters
    ----------
    claims : those that can be searched for.
    search : (claim, settings, state, source, keep, tell): search, from the state of an earlier search (None: from the
        start; `source` names its file). `keep` is called with the state (JSON values) after every improvement and at
        the end, `tell` with a line of progress about once a second. InputError for a claim or state that cannot be
        used.
    worst : as `search`, with an algorithm's name in the place of the claim: the instance on which it is furthest from
        OPT. `left` is OPT, `right` ALG, `score` their ratio, None where it is unbounded (`violated` says so); None
        where there is no such search.
    """

    claims: Callable[[], Sequence[NamedSummary]]
    search: SearchFunction
    worst: SearchFunction | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """A claim in words: one that audits check, or one that no run can show and a proof settles.

    Parameters
    ----------
    name : of its check.
    statement, source : the claim, and its source.
    standing : proof status: ``proved``, ``false``, ...
    assumptions : without which its check says `not applicable`.
    repaired : the repaired form of a false claim; empty where nothing is to be repaired.
    proof : of the standing, in a few sentences, where no check is made; empty for a claim that audits check.
    flaw : of a false claim, in a sentence, which step of its argument fails; empty without an argument.
    asked : no paper claims it: this project asks it, so verdicts are shown and not counted.
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
class Claims:
    """The claims that a family's papers make, and their checks.

    Parameters
    ----------
    version : of all checks; stored checks of another version are made again.
    notation : (sign, meaning) pairs of the statements, in the order in which they are best read.
    statements : the claims in words: those settled by proof, then those that audits check, in the order of the audits.
    audit : checks the claims on one run.
    """

    version: str
    notation: Sequence[tuple[str, str]]
    statements: Sequence[Statement]
    audit: AuditFunction


class AuditFunction(Protocol):
    """Checks claims on one run."""

    def __call__(
        self, instance: Any, run: OnlineRun, reference: SolveReport, names: Collection[str] | None = None, /
    ) -> Sequence[Check]:
        """Check claims on one run.

        Parameters
        ----------
        instance : of the family.
        run : of an algorithm.
        reference : the interval on OPT.
        names : the claims to check, without the work of the others; None for all. A claim about another algorithm is
            then `not applicable`.

        Returns
        -------
        The checks, in the order of the statements.
        """
        ...


class LimitPrefix(NamedTuple):
    """The first arrivals of an instance, up to a level.

    Parameters
    ----------
    label : the level.
    arrivals : their number.
    opt : OPT of these arrivals alone.
    """

    label: str
    arrivals: int
    opt: Exact


@dataclass(frozen=True, slots=True)
class LimitCase:
    """Hard instances for every online algorithm, with the lower bound that a theorem proves on them.

    Parameters
    ----------
    recipe : its name, as `generate` takes it.
    summary : what the instances show, in a sentence.
    instances : (apart): the instances over which ALG is averaged; `apart`: with each level at a moment of its own, for
        algorithms that answer all arrivals of a moment together.
    prefixes : of each instance, with the same OPT; one per level, the last one is everything.
    theorem : its name.
    bound : the largest OPT/ALG over the prefixes is no less, for any algorithm; exact.
    announced : (apart): the instance whose constants are announced; None: those of the instance itself, which do not
        tell where a prefix ends.
    note : a remark; empty for none.
    """

    recipe: str
    summary: str
    instances: Callable[[bool], Sequence[Any]]
    prefixes: Sequence[LimitPrefix]
    theorem: str
    bound: Fraction
    announced: Callable[[bool], Any]
    note: str


@dataclass(frozen=True, slots=True)
class Limits:
    """Lower bounds for every online algorithm, and the families of instances that show them.

    Parameters
    ----------
    case : (name or recipe, draws): the instances, so many of them if their order is random and not all orders are
        taken. InputError for a name, key or value that cannot be used.
    gains : (instance, run): what each arrival added to ALG, in the order of arrival.
    outside : (run): why the theorems, which are about decisions at arrival, say nothing of a run; empty if they do.
    """

    case: Callable[[str, int], LimitCase]
    gains: Callable[[Any, OnlineRun], Sequence[Exact]]
    outside: Callable[[OnlineRun], str]


class MeasureFunction(Protocol):
    """Exact figures about a run beside its objective."""

    def __call__(self, instance: Any, run: OnlineRun, checks: Sequence[Check], /) -> Mapping[str, Fraction | None]:
        """Compute the measures of a run.

        Parameters
        ----------
        instance : of the family.
        run : of an algorithm.
        checks : those of the audit.

        Returns
        -------
        Exact figures by name, the same names for every run; None where a figure is undefined.
        """
        ...


class AccountFunction(Protocol):
    """What a run earned and spent."""

    def __call__(self, instance: Any, run: OnlineRun, /) -> Mapping[str, Exact]:
        """Recount from the decisions what a run earned and spent.

        Parameters
        ----------
        instance : of the family.
        run : a valid run.

        Returns
        -------
        ``bids`` of the admitted arrivals, ``vendors`` and ``energy``, in the family's unit.
        """
        ...


@dataclass(frozen=True, slots=True)
class Studies:
    """Tables about one algorithm on one instance, for figures.

    Parameters
    ----------
    make : (instance, study, prior): its rows, all with the same keys, exact figures; InputError: it cannot be made.
    kinds : the kinds of studies, and whether one is about a single task; None: not known before a run.
    """

    make: Callable[[Any, Study, Any], Sequence[Mapping[str, str]]]
    kinds: Mapping[str, bool] | None = None


class TimelineFunction(Protocol):
    """What happened over time."""

    def __call__(self, instance: Any, run: OnlineRun, /) -> Timeline:
        """Make the timeline of a run, with the reasons of rejections.

        Parameters
        ----------
        instance : of the family.
        run : of an algorithm.

        Returns
        -------
        The timeline.
        """
        ...


class CompilationSteps(Protocol):
    """What `warm` compiles."""

    def __call__(self, algorithms: Collection[str] | None, kinds: Collection[str] = (), /) -> Sequence[Step]:
        """List the steps that compile all kernels of some algorithms and their audits.

        Parameters
        ----------
        algorithms : their names; None for all algorithms with all options.
        kinds : of the arrivals (`DayFacts.kind`): only kernels for these are compiled; empty: not known.

        Returns
        -------
        The steps: each after those that it waits for, long ones first. Two steps compile the same kernel only if one
        comes after the other.
        """
        ...


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
    """A rejected arrival.

    Parameters
    ----------
    number : its number.
    time : of its arrival.
    reason : a key of `reasons`.
    about : figures to show, as text.
    """

    number: int
    time: int
    reason: str
    about: str


class ClassArrivals(NamedTuple):
    """The arrivals of a class.

    Parameters
    ----------
    label : name of the class.
    arrivals : their number.
    admitted : number of those that were admitted.
    """

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
    reasons : reasons of rejections, with their meaning, in the order of the figure.
    note : what must be known of the prices.
    clock : when each time begins, to be read (``8:10``); empty where their length is not known.
    clock_title : title of the clock, e.g. the time of day.
    asked : what those that could be served would use if each ran at once, as a share of all capacity; may be above 1.
    used : the share of all capacity that was used, over all times; None where it is not known.
    classes : criteria, each with its classes of arrivals in order.
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
    classes: Mapping[str, Sequence[ClassArrivals]] = field(default_factory=dict)


class GanttBlock(NamedTuple):
    """A rectangle of a Gantt chart.

    Parameters
    ----------
    row : from 0.
    start, end : times, counted from the beginning of the first one.
    low, high : which part of the row, as shares of it.
    """

    row: int
    start: int
    end: int
    low: float
    high: float


class GanttTask(NamedTuple):
    """A task of a Gantt chart.

    Parameters
    ----------
    title : its figures as text.
    kind : a key of `Gantt.kinds`.
    blocks : where and when it runs.
    """

    title: str
    kind: str
    blocks: Sequence[GanttBlock]


@dataclass(frozen=True, slots=True)
class Gantt:
    """Which machines run what, and when.

    Parameters
    ----------
    unit : what time is counted in.
    times : in order, without gaps.
    rows : the names of the machines.
    groups : names of neighbouring machines that are alike, and how many these are, from the first row on.
    tasks : what runs.
    kinds : classes of tasks, with their meaning.
    clock, clock_title : as of `Timeline`.
    """

    unit: str
    times: Sequence[int]
    rows: Sequence[str]
    groups: Sequence[tuple[str, int]]
    tasks: Sequence[GanttTask]
    kinds: Mapping[str, str]
    clock: Sequence[str] = ()
    clock_title: str = ""


class GanttFunction(Protocol):
    """Which machines run what."""

    def __call__(self, instance: Any, solution: Any, /) -> Gantt:
        """Make the Gantt chart of a solution.

        Parameters
        ----------
        instance : of the family.
        solution : of a run or of OPT.

        Returns
        -------
        The chart.
        """
        ...


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
    """Explanations of runs on small instances, arrival by arrival.

    Parameters
    ----------
    explain : (instance, run, OPT, check): the run, and the claim of the check at its end.
    algorithm, claim : those that are explained where none is named.
    limits : largest figures of `describe` up to which a run is explained.
    """

    explain: Callable[[Any, OnlineRun, SolveReport, Check], Explanation]
    algorithm: str
    claim: str
    limits: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ImportSettings:
    """Which part of a log of jobs is read, with values for missing data.

    Parameters
    ----------
    form : the format of the log.
    cluster : the file that says which nodes there are.
    columns : which column is what, for formats without names of their own.
    skip_bad : count lines that cannot be read, and go on.
    days : days of submissions in an instance.
    first, last : days that count; None for all.
    slot_seconds : length of a slot.
    tail_seconds : time behind the last day, in which nothing is submitted; ``auto``: until the last window ends.
    begin : ``empty`` nodes when an instance begins, or ``full``: jobs of the log that run then hold theirs.
    slack : a job without a deadline may take so many times the fewest slots.
    price : range of dollars per GPU-hour of jobs without a price.
    list_price : dollars per GPU-hour of the price list; None where there is none.
    seed : names the draws.
    run : which schedules the jobs may have (``any``, ``one-node``, ``rigid``, ``gang``); None for what the log says.
    """

    form: str
    cluster: Path
    columns: Mapping[str, str] = field(default_factory=dict)
    skip_bad: bool = False
    days: int = 1
    first: date | None = None
    last: date | None = None
    slot_seconds: int = 600
    tail_seconds: int | str = 21_600
    begin: str = "empty"
    slack: Fraction = Fraction(3)
    price: tuple[Fraction, Fraction] = (Fraction(1), Fraction(3))
    list_price: Fraction | None = None
    seed: str = "0"
    run: str | None = None


class ImportReport(Protocol):
    """What became of the jobs of a log: complete when all its instances were made."""

    def text(self) -> str:
        """Write the report for reading: imported jobs, jobs left out by which rule, assumptions.

        Returns
        -------
        The text.
        """
        ...

    def document(self) -> Mapping[str, Any]:
        """Convert the report to JSON values.

        Returns
        -------
        A mapping.
        """
        ...

    @property
    def done(self) -> float:
        """The part of the jobs that the instances made so far account for, 0 to 1."""
        ...

    @property
    def prices(self) -> str:
        """A file of list prices that an algorithm can post; empty where no list price is known."""
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

    formats: Callable[[], Sequence[NamedSummary]]
    read: Callable[[Path, ImportSettings, Callable[[int], None]], tuple[ImportReport, Iterator[Any]]]
    example: Callable[[], tuple[str, str]] | None = None


class SizeRange(NamedTuple):
    """A choice of instances of a standard set.

    Parameters
    ----------
    low, high : number of arrivals, both included.
    most : only so many, the smallest ones.
    """

    low: int
    high: int
    most: int


@dataclass(frozen=True, slots=True)
class Loss:
    """An arrival on which a run earns less than the best known solution.

    Parameters
    ----------
    arrival : its position.
    amount : what the run loses on it, in the family's unit.
    text : what happened to it, in a sentence or two.
    figures : the same as JSON values.
    """

    arrival: int
    amount: Exact
    text: str
    figures: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LossReport:
    """Where a run is behind the best known solution.

    Parameters
    ----------
    summary : sentences about the whole run, the most important one first.
    losses : arrival by arrival, the largest one first.
    """

    summary: Sequence[str]
    losses: Sequence[Loss]


@dataclass(frozen=True, slots=True)
class EvaluationSupport:
    """What a family adds to `evaluate`.

    Parameters
    ----------
    tiny_recipe : (seed, number): the recipe of an instance that is solved in a moment.
    limits : of the stages `parts` and `days`, which instances of a standard set they take.
    policies : shipped algorithms that a policy is compared with; none may use constants of the instance under test.
    explain_loss : (instance, decisions, best known decisions): where a run loses; None without such an analysis.
    draw_day : (recipe, stream): the recipe with another day of the same trace; the same one if it has no day.
    """

    tiny_recipe: Callable[[int, int], Mapping[str, Any]]
    limits: Mapping[str, SizeRange]
    policies: Sequence[str]
    explain_loss: Callable[[Any, Any, Any], LossReport] | None = None
    draw_day: Callable[[Mapping[str, Any], Stream], Mapping[str, Any]] = lambda recipe, stream: recipe
