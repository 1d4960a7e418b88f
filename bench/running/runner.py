"""Running a suite: instances, then OPT once per instance, then online runs with their audits, then the report.

The parent process plans, writes the store and the files; workers compute. Every piece of work is a function of its
content alone, so the numbers do not depend on the number of workers, on the order, or on how often a run was stopped.
"""

from __future__ import annotations

import math
import os
import shlex
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import families, require_algorithms
from ratiobench.bench.family.standard import StoredRun, find_certificate, read_runs, read_set
from ratiobench.bench.family.suite import Case, Study, Suite, is_informed
from ratiobench.bench.running import work
from ratiobench.bench.running.dask_pool import POLL, DaskCluster, Pool
from ratiobench.bench.running.heartbeat import Progress, clock, set_current
from ratiobench.bench.running.machine import collect, default_workers, usable_cores
from ratiobench.bench.running.pool import ExecutorLost, SpawnPool
from ratiobench.bench.storage.store import STORE, UNAUDITED, Store, StoredCase, StoredResult
from ratiobench.formulations import backends
from ratiobench.instances.io.errors import InputError, make_printable, require_known, shorten, suggest_name
from ratiobench.instances.io.files import fill_folder, make_folder, read_bytes, write_atomically
from ratiobench.online.referee import sandbox
from ratiobench.online.remarks import BUBBLEWRAP, LANDLOCK
from ratiobench.online.run_context import RunContext, UserAlgorithm, run_context

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

OPT, MAKING = "OPT", "instance"  # The kinds of work that solve and make an instance
GENERATE, OPT_STAGE, SOLVERS, ONLINE, AUDIT, STUDY = "generate", "opt", "solvers", "online", "audit", "study"
CERTIFICATE = "certificate "  # The beginning of keys of intervals that a shipped certificate proves
AHEAD = 16  # Cases that are generated before the largest of them is begun with
TABLES = 40  # Of no more cases each table is printed as soon as its case is done
# Options on which no figure depends; all others stand in the command of the provenance
_BESIDE = ("out", "workers", "dask", "fresh", "retry_failed", "quiet", "own")
# In keys of results of users' algorithms: how they were isolated
_ISOLATED = {BUBBLEWRAP: "isolated", LANDLOCK: f"isolated by {LANDLOCK}"}


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    only: tuple[str, ...] = ()  # only, rows: patterns; tier: names of groups
    tier: tuple[str, ...] = ()
    scale: str = "full"
    rows: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()
    add: tuple[str, ...] = ()
    solve: bool = False
    rerun: bool = False
    repeat: int = 1
    audits: bool | None = None
    effort: int = 1
    limit: float | None = None
    isolate: bool | None = None
    out: Path = Path("results")
    workers: int | None = None
    dask: str | None = None
    fresh: bool = False
    retry_failed: bool = False
    quiet: bool = False
    own: Mapping[str, UserAlgorithm] = field(default_factory=dict)  # classes and objects by their names

    @property
    def named(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.algorithms, *self.add)))

    def as_words(self) -> list[str]:
        """The options on which figures depend, if they are not at their defaults, as words of a command."""
        words: list[str] = []
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name in _BESIDE or value == option.default:
                continue
            flag = "--algorithm" if option.name == "algorithms" else f"--{option.name}"
            if isinstance(value, bool):
                words.append(flag if value else flag.replace("--", "--no-", 1))
            else:
                for one in value if isinstance(value, tuple) else (value,):
                    words += [flag, f"{one:.15g}" if isinstance(one, float) else str(one)]
        return words


@dataclass(slots=True, eq=False)
class _Piece:
    """A call that a worker makes, and what its results are stored under: the stage, the instance and the key."""

    case: StoredCase
    stage: str
    what: str  # `MAKING`, OPT, an algorithm or a study: its name in the progress and in the order of pieces
    key: str
    call: Callable[[], partial[Any]]  # is asked for when a worker is free: it has read files
    weight: int = 0  # bytes of the instance's file, a measure of the work
    slow: bool = False  # a run of an algorithm that takes longer than others
    small: bool = False  # was taken because its case is the smallest

    @property
    def address(self) -> tuple[str, str, str]:
        return self.stage, self.case.instance or self.case.name, self.key

    @property
    def kernels(self) -> str:
        """What runs the same kernels has the same name."""
        return CERTIFICATE if self.key.startswith(CERTIFICATE) else self.what.partition(":")[0]


@dataclass(slots=True)
class _SuiteRun:
    """What is planned, at work and there of a run of a suite."""

    family: Family
    store: Store
    folder: Path
    terms: RunContext
    repeats: Mapping[str, int]
    audited: bool
    solvers_key: str
    stored: Mapping[tuple[str, str], StoredRun]
    rerun: bool
    cases: Mapping[str, Case]
    progress: Progress = field(init=False)
    left: dict[str, int] = field(default_factory=dict)  # pieces of each case that are not there yet
    planned: deque[_Piece] = field(default_factory=deque)
    queue: list[_Piece] = field(default_factory=list)
    same: dict[tuple[str, str, str], list[_Piece]] = field(default_factory=dict)  # those that wait for one result
    spent: dict[str, float] = field(default_factory=dict)
    compiled: set[str] = field(default_factory=set)  # kernels of pieces that this run has made
    started: set[str] = field(default_factory=set)  # cases of which something was handed to a worker
    own: dict[str, float] = field(default_factory=dict)  # seconds of work of each case in this run
    shown: bool = False  # a table was printed
    began: float = field(default_factory=time.monotonic)

    def plan(self, case: Case) -> None:
        solve_key = self.family.solve_key(case.solve)
        if case.certificate:
            solve_key = f"{CERTIFICATE}{sha256(read_bytes(find_certificate(case.certificate))[0]).hexdigest()}"
        algorithms = [(name, self._key(name)) for name in case.algorithms]
        studies = [
            (study.kind, study.algorithm, study.task, f"{study.name} | {self._key(study.algorithm)}")
            for study in case.studies
        ]
        repeats = {name: self.repeats[name] for name in case.algorithms if name in self.repeats}
        stored = StoredCase(
            name=case.name, group=case.group, instance="", recipe=case.recipe, describe={}, algorithms=algorithms,
            solve=asdict(case.solve), solve_key=solve_key, prior_recipe=case.prior, history_recipe=case.history,
            audits=self.family.audit_version if self.audited else UNAUDITED, studies=studies, repeats=repeats,
            solvers_key=self.solvers_key,
        )  # fmt: skip
        self.left[case.name] = 2 + bool(self.solvers_key) + len([*stored.runs(), *case.studies])  # 2: instance and OPT

        def call() -> partial[Any]:
            files = work.read_given(case.recipe, case.prior, case.history)
            return partial(work.make, self.family.name, case.recipe, case.prior, files, case.history)

        self.planned.append(_Piece(stored, GENERATE, MAKING, "", call))

    def _made(self, case: StoredCase, result: work.GeneratedInstance) -> None:
        for made in filter(None, (result, result.prior, result.history)):
            path = self.path(made.instance)
            if not path.exists() or read_bytes(path)[0] != made.data:
                write_atomically(path, made.data)
        for note in result.notes:
            self.progress.warn(f"ratiobench: {case.name}: {note}")
        self.store.put(StoredResult(GENERATE, "", case.name, True, {}, None, result.seconds))
        known = replace(case, instance=result.instance, describe=result.describe)
        known = _with_priors(known, *(other.instance if other else "" for other in (result.prior, result.history)))
        self._put_case(known)
        self._advance(known, result.seconds)

        def call() -> partial[Any]:
            planned = self.cases[case.name]
            if not planned.certificate:
                return self._call(work.solve, known, planned.solve, known.solve_key)
            proof, _ = read_bytes(find_certificate(planned.certificate))
            return self._call(work.certify, known, planned.certificate, proof, known.solve_key)

        self._add(_Piece(known, OPT_STAGE, OPT, known.solve_key, call))
        if self.solvers_key:
            answers = partial(self._call, work.solve_printed, known, known.solvers_key)
            self._add(_Piece(known, SOLVERS, SOLVERS, known.solvers_key, answers))

    def _put_case(self, case: StoredCase) -> None:
        self.store.put_case(list(self.cases).index(case.name), case)

    def _measure(self, case: StoredCase, reference: StoredResult) -> None:
        """Plan the runs with their audits, and the studies, of a case whose OPT is known."""
        for name, repetition, key in case.runs():
            audit_key = case.audit_key(key)
            own = {path: user for path, user in self.terms.own.items() if f"{name}:".startswith(f"{path}:")}
            terms = replace(self.terms, own=own, repetition=repetition)
            arguments = name, key, audit_key, reference, terms, self.audited
            call = partial(self._call, work.measure, case, *arguments, algorithm=name)
            piece = _Piece(case, AUDIT, name, audit_key, call, slow=self.family.is_slow(name))
            self._add(piece, self._known_run(case, name, key, audit_key))
        for kind, algorithm, task, key in case.studies:
            study = Study(kind, algorithm, task)
            call = partial(self._call, work.study, case, study, key, self.terms, algorithm=algorithm)
            self._add(_Piece(case, STUDY, study.name, key, call))

    def _call(self, work_of: Callable[..., Any], case: StoredCase, *args: Any, algorithm: str = "") -> partial[Any]:
        """The work with the file of the case, and with that of its prior or history if the algorithm asks for it."""
        asked, (data, _) = case.find_prior(is_informed(algorithm)), read_bytes(self.path(case.instance))
        prior = {"prior": read_bytes(self.path(asked))[0]} if asked else {}
        return partial(work_of, self.family.name, data, case.instance, *args, **prior)

    def _known_run(self, case: StoredCase, name: str, key: str, audit_key: str) -> list[StoredResult]:
        online = self.store.get(ONLINE, case.instance, key)
        audit = self.store.get(AUDIT, case.instance, audit_key)
        if online is not None and self.rerun and online.ok and online.payload["seconds"] is None:
            online = None
        known = self.stored.get((case.name, name))
        if online is None and known is not None and (known.instance, known.key) == (case.instance, key):
            online = StoredResult(ONLINE, case.instance, key, True, known.run)
            audit = StoredResult(AUDIT, case.instance, audit_key, True, {"checks": [], "measures": known.measures})
            self.store.put(online, audit)
        return [online, audit] if online is not None and audit is not None else []

    def _key(self, algorithm: str) -> str:
        """The algorithm's part of a result's key, with its solver's version; one's own in a sandbox is kept apart."""
        isolated = _ISOLATED.get(str(self.terms.isolate), "") if self.family.runs_user_code(algorithm) else ""
        parts = [self.family.algorithm_key(algorithm), self.family.solver_key(algorithm), isolated]
        return " | ".join(filter(None, parts))

    def path(self, instance: str) -> Path:
        return self.folder / f"{instance}.json.gz"

    def _add(self, piece: _Piece, known: Sequence[StoredResult] | None = None) -> None:
        """Queue a piece, unless its results are stored, or those of one with the same content are awaited."""
        if known is None:
            known = [*filter(None, [self.store.get(*piece.address)])]
        if known:
            self._arrived(piece, known, is_new=False)
        elif piece.address in self.same:
            self.same[piece.address].append(piece)
        else:
            piece.weight = self.path(piece.case.instance).stat().st_size
            self.same[piece.address] = [piece]
            self.queue.append(piece)

    def _done(self, piece: _Piece, results: Any) -> None:
        if piece.stage == GENERATE:
            self._made(piece.case, results)
            return
        made = [results] if isinstance(results, StoredResult) else list(results)
        self.store.put(*made)
        for place, waiting in enumerate(self.same.pop(piece.address)):
            self._arrived(waiting, made, is_new=not place)

    def _lost(self, piece: _Piece, error: BaseException) -> None:
        case = piece.case
        if piece.stage == GENERATE:
            self._put_case(case)
            self.store.put(work.make_failed(GENERATE, "", case.name, error))
            for _ in range(self.left[case.name]):
                self._advance(case, None)
            return
        failed = [work.make_failed(piece.stage, case.instance, piece.key, error)]
        if piece.stage == AUDIT:
            online = work.make_failed(ONLINE, case.instance, piece.key.removesuffix(case.audit_key("")), error)
            failed = [online, work.make_failed(AUDIT, case.instance, piece.key, "the online run failed")]
        self._done(piece, failed)

    def _arrived(self, piece: _Piece, results: Sequence[StoredResult], *, is_new: bool) -> None:
        """The results of a piece are there; `is_new`: this run has made them, and for this case."""
        taken = sum(result.seconds for result in results)
        self.spent[piece.what] = max(taken, self.spent.get(piece.what, 0.0))
        self._advance(piece.case, taken if is_new else None)
        if piece.stage == OPT_STAGE:
            self._measure(piece.case, results[0])

    def _advance(self, case: StoredCase, seconds: float | None) -> None:
        """A piece of the case is there; print the case's table with the last one."""
        self.progress.advance()
        if seconds is not None:
            self.own[case.name] = self.own.get(case.name, 0.0) + seconds
        self.left[case.name] -= 1
        if self.left[case.name]:
            return
        over = sum(not left for left in self.left.values())
        so_far = clock(time.monotonic() - self.began)
        work_of_it = f", {clock(self.own[case.name])} of work" if case.name in self.own else ""
        self.progress.line(f"{over} of {len(self.left)} cases, {so_far}: {case.name} done{work_of_it}")
        if case.name in self.own and over < len(self.left) <= TABLES and not self.progress.quiet:
            self.shown = True
            if table := _case_table(self.family, self.store, case.name):
                self.progress.line(f"\n{table}\n")

    def next(self, at_work: Collection[_Piece] = ()) -> _Piece | None:
        """The next piece, while these are at work; None if there is none.

        Cases are generated ahead. Until a first table is printed, all workers take the smallest case; then one of
        several does, and the others the largest, so that no core waits for a long piece at the end. Of a case OPT comes
        first, since its runs wait for it, then what is known to be slow, or may have to compile, then what took longest
        in other cases. A piece whose kernels another worker may be compiling comes after all that have other kernels.
        """
        begun = sum(self.left[name] > 0 for name in self.started)
        if self.planned and (not self.queue or begun < AHEAD):
            return self.planned.popleft()
        if not self.queue:
            return None
        few = len(self.left) <= TABLES and not self.shown and not self.progress.quiet
        small = few or (bool(at_work) and not any(piece.small for piece in at_work))
        awaited = {piece.kernels for piece in at_work} - self.compiled

        def order(piece: _Piece) -> tuple[bool, int, bool, bool, bool, float]:
            size = -piece.weight if small else piece.weight
            new = piece.kernels not in self.compiled
            spent = self.spent.get(piece.what, math.inf)
            return piece.kernels not in awaited, size, piece.stage == OPT_STAGE, piece.slow, new, spent

        piece = max(self.queue, key=order)
        self.queue.remove(piece)
        piece.small = small
        return piece

    def drain(self, pool: Pool, idle: Callable[[], object]) -> None:
        """Work until nothing is left; workers have at most one piece each, so memory stays bounded."""
        at_work: dict[Future[Any], tuple[_Piece, float]] = {}
        while self.planned or self.queue or at_work:
            while len(at_work) < pool.parallel():
                piece = self.next([piece for piece, _ in at_work.values()])
                if piece is None:
                    if sum(self.left.values()) == len(at_work):
                        idle()
                    break
                self.started.update(same.case.name for same in self.same.get(piece.address, [piece]))
                at_work[pool.submit(piece.call())] = piece, time.monotonic()
            finished, _ = wait(at_work, min(1.0, POLL), FIRST_COMPLETED)
            now = time.monotonic()
            pieces = at_work.items()
            self.progress.tick(
                [(piece.case.name, piece.what, now - began, pool.count_of(at)) for at, (piece, began) in pieces]
            )
            for future in finished:
                piece, _ = at_work.pop(future)
                self.compiled.add(piece.kernels)
                error = future.exception()
                if error is None:
                    self._done(piece, future.result())
                elif isinstance(error, ExecutorLost):
                    raise error
                else:
                    self._lost(piece, error)


def _case_table(family: Family, store: Store, name: str) -> str:
    from ratiobench.bench.report.rows import list_sweep_groups, results_text  # with pandas
    from ratiobench.bench.results.read import read_results

    results = read_results(store, name)
    is_swept = results.cases[0].group in list_sweep_groups(results)
    return "" if is_swept else results_text(results, family).partition("\n\n")[0]


def _with_priors(case: StoredCase, prior: str, history: str) -> StoredCase:
    """The case with its prior and history known: results that depend on them have their hashes in their keys."""
    case = replace(case, prior=prior, history=history)

    def key(algorithm: str, old: str) -> str:
        word = is_informed(algorithm)
        asked = case.find_prior(word)
        return f"{old} | {word} {asked}" if asked else old

    algorithms = [(name, key(name, old)) for name, old in case.algorithms]
    studies = [(kind, name, task, key(name, old)) for kind, name, task, old in case.studies]
    return replace(case, algorithms=algorithms, studies=studies)


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Refuse a folder into which another process runs a suite; the lock goes with its process, however that ends."""
    if fcntl is None:
        yield
        return
    place = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            try:
                fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(str(folder), "", "another process runs a suite into this folder now") from None
        yield
    finally:
        os.close(place)


def filter_cases(suite: Suite, patterns: Sequence[str], tiers: Sequence[str] = ()) -> list[Case]:
    known = dict.fromkeys(case.group for case in suite.cases)
    for tier in tiers:
        require_known(tier, known, "--tier")
    _require_fitting("--only", patterns, [case.name for case in suite.cases], f"case of {suite.name}")
    chosen = [case for case in suite.cases if _fits(case.name, patterns) and case.group in (tiers or known)]
    if not chosen:
        raise InputError("--tier", "", f"no case of {', '.join(tiers)} fits {shorten(', '.join(patterns))}")
    return chosen


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def _require_fitting(option: str, patterns: Sequence[str], names: Sequence[str], what: str) -> None:
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            some = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
            raise InputError(option, "", f"{shorten(pattern)} fits no {what}: {some}")


def _filter_rows(suite: Suite, options: RunOptions) -> list[Case]:
    cases, patterns = filter_cases(suite, options.only, options.tier), options.rows
    names = list(dict.fromkeys(name for case in cases for name in case.algorithms))
    _require_fitting("--rows", patterns, names, f"algorithm of {suite.name}")
    selection = []
    for case in cases:
        algorithms = tuple(name for name in case.algorithms if _fits(name, patterns))
        studies = tuple(study for study in case.studies if _fits(study.algorithm, patterns))
        if algorithms or not patterns:
            selection.append(replace(case, algorithms=algorithms, studies=studies))
    return selection


def choose_cases(suite: Suite, options: RunOptions) -> list[Case]:
    if options.algorithms and options.rows:
        problem = "chooses of the suite's algorithms, of which none runs beside those of --algorithm"
        raise InputError("--rows", "", f"{problem}; --add NAME runs one beside them")
    chosen, named = _filter_rows(suite, options), options.named
    if not any(case.algorithms or named for case in chosen):
        raise InputError(suite.file or suite.name, "algorithms", "nothing is to be run: name some, or --algorithm NAME")
    for case in chosen if suite.file else ():
        for name in case.all_algorithms:
            if is_informed(name) and case.prior is None:
                problem = f"{shorten(name)}: the case {case.name} has no other day; its [[instance]] needs a `prior`"
                raise InputError(suite.file, "algorithms", problem)
    for name in named:
        if not any(case.is_served(name) for case in chosen):
            option = "--algorithm" if name in options.algorithms else "--add"
            raise InputError(option, "", f"{shorten(name)}: {_no_other_day(suite, chosen, name)}")
    cases = []
    for case in chosen:
        # Of those of the command none that asks for another day, which the case lacks
        own = () if options.algorithms else case.algorithms
        algorithms = tuple(dict.fromkeys((*own, *filter(case.is_served, named))))
        studies = tuple(study for study in case.studies if not options.algorithms or study.algorithm in named)
        informed = any(map(is_informed, (*algorithms, *(study.algorithm for study in case.studies))))
        certificate = "" if options.solve or options.effort > 1 else case.certificate
        solve = replace(case.solve, effort=case.solve.effort * options.effort)
        prior = case.prior if informed else None  # which need not be made otherwise
        if algorithms or not named:
            changed = replace(case, algorithms=algorithms, studies=studies, solve=solve)
            cases.append(replace(changed, prior=prior, certificate=certificate))
    return cases


def _no_other_day(suite: Suite, chosen: Sequence[Case], name: str) -> str:
    if len(chosen) == 1:
        problem = f"the case {chosen[0].name} of {suite.name} has no other day"
    else:
        problem = f"none of the {len(chosen)} chosen cases of {suite.name} has another day"
    served = [case.name for case in suite.cases if case.is_served(name)]
    more = f" and {len(served) - 1} more" if len(served) > 1 else ""
    remedy = f"--only {served[0]} has one{more}; or" if served else "so"
    return f"{problem}; {remedy} name a file with prior=FILE"


def list_left_out(suite: Suite, options: RunOptions) -> list[str]:
    """A line for each algorithm of the command that cases without another day cannot have."""
    chosen = _filter_rows(suite, options)
    lines = []
    for name in options.named:
        without = [case.name for case in chosen if not case.is_served(name)]
        if without:
            several = f"{len(without)} of {len(chosen)} cases, which have"
            cases = several if len(without) > 1 else f"the case {without[0]}, which has"
            lines.append(f"left out: {name} on {cases} no other day")
    return lines


def require_shown(suite: Suite, added: Sequence[str]) -> None:
    """Refuse figures of a file with algorithms that are not run; `added` are those of the command."""
    known = dict.fromkeys([*(name for case in suite.cases for name in case.all_algorithms), *added])
    for j, plot in enumerate(suite.plots if suite.file else ()):
        named = {
            "algorithms": plot.algorithms,
            "hindsight": [name for _, names in plot.hindsight for name in names],
            "printed": [name for printed in plot.printed for name in (printed.algorithm, printed.than)],
            "printed_means": [printed.algorithm for printed in plot.printed_means],
        }
        for field_, names in named.items():
            for name in names:
                if name not in known:
                    problem = f"{shorten(name)} is run in no case; run are {', '.join(known)}"
                    raise InputError(suite.file, f"plot[{j}].{field_}", f"{problem}{suggest_name(name, known)}")


def scale_suite(suite: Suite, scale: str) -> Suite:
    if scale == "full":
        return suite
    if not suite.small:
        raise InputError("--scale", "", f"the suite {suite.name} has one scale only")
    groups = {case.group for case in suite.small}
    plots = [replace(plot, groups=tuple(filter(groups.__contains__, plot.groups))) for plot in suite.plots]
    return replace(suite, cases=suite.small, plots=tuple(plots) if suite.axes else suite.plots)


def run_suite(family: Family, suite: Suite, options: RunOptions, idle: Callable[[], object] = lambda: None) -> float:
    """Run what is missing of a suite, into the store of the folder; the seconds of this run by the clock.

    `idle` is called, more than once, when a worker has nothing to do any more while others are at work.
    """
    started = time.monotonic()
    suite = scale_suite(suite, options.scale)
    cases = choose_cases(suite, options)
    require_shown(suite, options.named)
    for backend in {case.solve.backend for case in cases}:
        backends.require_installed(backend)
    isolate = family.choose_isolation(options.isolate)
    terms = RunContext(isolate=isolate, own=options.own, hidden=(str(options.out.absolute()),))
    with run_context(terms):
        names = list(dict.fromkeys(name for case in cases for name in case.algorithms))
        for name in dict.fromkeys([*names, *(name for case in cases for name in case.all_algorithms)]):
            try:
                require_algorithms(family, [name])
            except InputError as error:
                if not suite.file or name in options.named:
                    raise
                raise InputError(suite.file, "algorithms", str(error).removeprefix("algorithm: ")) from None
        repeat = max(options.repeat, suite.repeat)
        repeats = {name: repeat for name in names if repeat > 1 and family.is_randomised(name)}
    isolation = sandbox.describe(str(terms.isolate)) if any(map(family.runs_user_code, names)) else ""
    folder = options.out / "instances"
    if folder.exists() and not folder.is_dir():
        raise InputError(str(folder), "", "the folder cannot be made: there is a file of that name")
    pool: Pool
    if options.dask is None:
        pool = SpawnPool(options.workers or default_workers(), options.limit)
    else:
        pool = DaskCluster(options.dask, options.limit)
    with pool, hold_folder(make_folder(options.out)), Store.open(options.out / STORE) as store:
        make_folder(folder)
        audited = suite.audited if options.audits is None else options.audits
        stored: dict[tuple[str, str], StoredRun] = {}  # those of the standard sets, by entry and algorithm
        for name in sorted({case.certificate.rpartition("/")[0] for case in cases if case.certificate}):
            stored |= {} if options.rerun or audited or repeats else read_runs(read_set(name))
        if options.fresh or options.retry_failed:
            store.clear(failed_only=not options.fresh)
        made_by = {"workers": pool.parallel(), "provenance": collect(isolation)}
        store.begin(_describe(family, suite, options) | made_by, [case.name for case in cases])
        given = {path for case in cases for path in work.paths_of(case.recipe, case.prior, case.history)}
        folders = {str(Path(path).absolute().parent) for path in (*given, *filter(None, [suite.file]))}
        terms = replace(terms, hidden=(*terms.hidden, *sorted(folders)))
        solvers_key = family.printed_key() if suite.crosscheck else ""
        by_name = {case.name: case for case in cases}
        run = _SuiteRun(family, store, folder, terms, repeats, audited, solvers_key, stored, options.rerun, by_name)
        with run_context(terms):
            for case in cases:
                run.plan(case)
        set_current("")  # the progress tells from here on
        with closing(Progress(sum(run.left.values()), options.quiet)) as run.progress:
            for note in list_left_out(suite, options):
                run.progress.warn(f"ratiobench: {make_printable(note, 500)}")
            if isinstance(pool, DaskCluster):
                pool.tell = run.progress.line
            run.drain(pool, idle)
    return time.monotonic() - started


def _describe(family: Family, suite: Suite, options: RunOptions) -> dict[str, Any]:
    rows = options.named if options.algorithms else options.rows
    over = [word for name in suite.over for word in ("--over", name)]
    command = ["python", "-m", "ratiobench", "run", Path(suite.file).name or suite.name, *over, *options.as_words()]
    about: dict[str, Any] = {"suite": suite.name, "family": family.name, "sense": family.sense.value}
    about |= {"summary": suite.summary, "plots": [msgspec.to_builtins(plot) for plot in suite.plots]}
    about |= {"command": shlex.join(command), "date": datetime.now(UTC).date().isoformat(), "scale": options.scale}
    about |= {"algorithms": list(options.named), "only": [*options.only, *options.tier], "effort": options.effort}
    about |= {"groups": dict(suite.groups), "verdicts_first": suite.verdicts_first} if suite.file else {}
    return about | ({"rows": list(rows)} if rows else {})


def find_folder(out: Path | None, suite: str, scale: str = "full", over: Sequence[str] = ()) -> Path:
    """The folder of the results: ``results/SUITE[-AXIS...][-small]`` if none is named."""
    return out or Path("results") / "-".join([suite, *over, *([scale] if scale != "full" else [])])


def generate_cases(family: Family, cases: Sequence[Case], out: Path) -> list[Mapping[str, Any]]:
    written: list[Mapping[str, Any]] = []
    with fill_folder(out) as beside:
        for case in cases:
            made = work.make(family.name, case.recipe, case.prior, None, case.history)
            others = ((", prior", "_yesterday", made.prior), (", history", "_history", made.history))
            for word, suffix, part in (("", "", made), *others):
                if part is not None:
                    file = f"{case.name}{suffix}.json.gz"
                    write_atomically(beside / file, part.data)
                    about = {"case": f"{case.name}{word}", "file": str(out / file), "instance": part.instance}
                    about |= part.describe if part is made else {}
                    written.append(about | ({"notes": list(part.notes)} if part.notes else {}))
    return written


def compile_kernels(chosen: Mapping[str, Collection[str] | None]) -> None:
    """Compile and cache the kernels of OPT, of these algorithms of each family (None: of all) and of their audits."""
    began, cores = time.monotonic(), usable_cores()
    parts = [(name, names, part) for name, names in chosen.items() for part in families()[name].compilations(names)]
    progress = Progress(len(parts))
    set_current("")  # the progress tells from here on
    progress.line(f"compiling once what {', '.join(chosen)} needs, in {cores} processes")
    with SpawnPool(cores) as pool:
        left = {pool.submit(_compile, *part): part for part in parts}
        while left:
            finished, _ = wait(left, 1.0, FIRST_COMPLETED)
            so_far = time.monotonic() - began
            progress.tick([(name, part, so_far, None) for future, (name, _, part) in left.items() if future.running()])
            for future in finished:
                del left[future]
                future.result()
                progress.advance()
    progress.line(f"compiled in {clock(time.monotonic() - began)}")
    progress.close()


def _compile(family: str, algorithms: Collection[str] | None, part: str) -> None:
    with suppress(InputError):  # not every algorithm runs on a small instance
        families()[family].compilations(algorithms)[part]()
