"""Running a suite: instances, then OPT once per instance, then online runs with their audits, then the report.

The parent process plans, writes the store and the files; workers compute. Every piece of work is a function of its
content alone, so the numbers do not depend on the number of workers, on the order, or on how often a run was stopped.
"""

from __future__ import annotations

import contextlib
import shlex
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from ratiobench.bench.family.capabilities import AUDITS, SOLVES
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import require_algorithms
from ratiobench.bench.family.standard import find_certificate, read_set
from ratiobench.bench.family.standard_runs import StoredRun, read_runs
from ratiobench.bench.family.suite import Case, Study, Suite, is_informed
from ratiobench.bench.running import provenance, work
from ratiobench.bench.running.cluster import POLL, DaskCluster, Pool
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.bench.running.kernel_compilation import compile_missing
from ratiobench.bench.running.machine import default_workers
from ratiobench.bench.running.options import SCALES, RunOptions
from ratiobench.bench.running.pool import ExecutorLost, SpawnPool
from ratiobench.bench.running.progress import MAKING, Progress, clock
from ratiobench.bench.storage.store import STORE, UNAUDITED, Store, StoredCase, StoredResult
from ratiobench.formulations import backends
from ratiobench.instances.io.errors import InputError, explain_unknown_name, make_printable, shorten, suggest_name
from ratiobench.instances.io.files import fill_folder, make_folder, read_bytes, write_atomically
from ratiobench.online.referee import sandbox
from ratiobench.online.remarks import BUBBLEWRAP, LANDLOCK
from ratiobench.online.run_context import RunContext, run_context

OPT = "OPT"
SOLVERS = "solvers"
AHEAD = 16  # Cases that are generated before the largest of them is begun with
TABLES = 40  # Of no more cases each table is printed as soon as its case is done


# In keys of results of users' algorithms: how they were isolated
_ISOLATED = {BUBBLEWRAP: "isolated", LANDLOCK: f"isolated by {LANDLOCK}"}


@dataclass(slots=True)
class _Job:
    """A call to be made by a worker, and what to do in the parent with its result or its loss.

    case : its name. what : OPT, an algorithm or a study. weight : bytes of the instance's file, a measure of the work.
    slow : a run of an algorithm that takes longer than others.
    """

    call: Callable[[Executor], Future[Any]]
    done: Callable[[Any], None]
    lost: Callable[[BaseException], None]
    case: str
    what: str
    weight: int = 0
    slow: bool = False
    small: bool = False  # was taken because its case is the smallest


@dataclass(slots=True)
class _Sweep:
    """The state of one run."""

    family: Family
    store: Store
    folder: Path
    progress: Progress
    terms: RunContext
    repeats: Mapping[str, int]
    audited: bool = True
    solvers_key: str = ""
    stored: Mapping[tuple[str, str], StoredRun] = field(default_factory=dict)
    rerun: bool = False
    planned: deque[_Job] = field(default_factory=deque)
    queue: list[_Job] = field(default_factory=list)
    spent: dict[str, float] = field(default_factory=dict)
    waiting: dict[tuple[str, str], list[StoredCase]] = field(default_factory=dict)
    claimed: set[tuple[str, str]] = field(default_factory=set)
    left: dict[str, Counter[str]] = field(default_factory=dict)
    started: set[str] = field(default_factory=set)  # cases of which something was handed to a worker
    own: dict[str, float] = field(default_factory=dict)  # seconds of work of each case in this run
    began: float = field(default_factory=time.monotonic)

    def plan(self, position: int, case: Case) -> None:
        """Queue the generation of a case; the rest follows from what it turns out to be."""
        stored = StoredCase(
            name=case.name,
            group=case.group,
            instance="",
            recipe=case.recipe,
            describe={},
            algorithms=[(name, self._key(name)) for name in case.algorithms],
            solve=asdict(case.solve),
            solve_key=self._reference_key(case),
            audits=self.family.audit_version if self.audited else UNAUDITED,
            prior_recipe=case.prior,
            history_recipe=case.history,
            repeats={name: self.repeats[name] for name in case.algorithms if name in self.repeats},
            studies=[
                (each.kind, each.algorithm, each.task, f"{each.name} | {self._key(each.algorithm)}")
                for each in case.studies
            ],
            solvers_key=self.solvers_key,
        )
        self.left[case.name] = Counter(list_work_kinds(case, self.repeats, bool(self.solvers_key)))

        def call(executor: Executor) -> Future[work.GeneratedInstance]:
            self.started.add(case.name)
            given = work.read_given(case.recipe, case.prior, case.history)
            return executor.submit(work.make, self.family.name, case.recipe, case.prior, given, case.history)

        def made(result: work.GeneratedInstance) -> None:
            for each in filter(None, (result, result.prior, result.history)):
                path = self.path(each.instance)
                if not path.exists() or read_bytes(path)[0] != each.data:
                    write_atomically(path, each.data)
            for note in result.notes:
                self.progress.warn(f"ratiobench: {case.name}: {note}")
            self.store.put(StoredResult("generate", "", case.name, True, {}, None, result.seconds))
            known = replace(stored, instance=result.instance, describe=result.describe)
            known = _with_priors(known, *(each.instance if each else "" for each in (result.prior, result.history)))
            self.store.put_case(position, known)
            self.progress.size(case.name, self._weight(known))
            self._advance(known, MAKING, result.seconds)
            self._refer(known, case)
            if self.solvers_key:
                self._solve_printed(known)

        def lost(error: BaseException) -> None:
            self.store.put_case(position, stored)
            self.store.put(work.make_failed("generate", "", case.name, error))
            for what in list(self.left[case.name].elements()):
                self._advance(stored, what, None)

        self.planned.append(_Job(call, made, lost, case.name, MAKING))

    def _reference_key(self, case: Case) -> str:
        if case.certificate:
            return f"certificate {sha256(read_bytes(find_certificate(case.certificate))[0]).hexdigest()}"
        return self.family.solve_key(case.solve)

    def _key(self, algorithm: str) -> str:
        """The algorithm's part of a result's key, with its solver's version; one's own in a sandbox is kept apart."""
        shipped = algorithm.partition(":")[0] in {each.name for each in self.family.algorithms()}
        isolated = _ISOLATED.get(str(self.terms.isolate), "") if self.family.runs_user_code(algorithm) else ""
        parts = [self.family.algorithm_key(algorithm), self.family.solver_key(algorithm) if shipped else "", isolated]
        return " | ".join(filter(None, parts))

    def path(self, instance: str) -> Path:
        return self.folder / f"{instance}.json.gz"

    def _prior(self, case: StoredCase, algorithm: str) -> bytes | None:
        """The file of the case's prior or history, where the algorithm asks for it."""
        asked = case.find_prior(is_informed(algorithm))
        return read_bytes(self.path(asked))[0] if asked else None

    def _refer(self, case: StoredCase, planned: Case) -> None:
        """OPT of the case: from the store, or awaited with others of the same content, or queued."""
        piece = self.store.get("opt", case.instance, case.solve_key)
        if piece is not None:
            self._measure(case, piece, None)
            return
        address = (case.instance, case.solve_key)
        self.waiting.setdefault(address, []).append(case)
        if len(self.waiting[address]) > 1:
            return

        def call(executor: Executor) -> Future[StoredResult]:
            self.started.update(each.name for each in self.waiting[address])
            data, _ = read_bytes(self.path(case.instance))
            about = self.family.name, data, case.instance
            if planned.certificate:
                certificate, _ = read_bytes(find_certificate(planned.certificate))
                return executor.submit(work.certify, *about, planned.certificate, certificate, case.solve_key)
            return executor.submit(work.solve, *about, planned.solve, case.solve_key)

        def done(piece: StoredResult) -> None:
            self.store.put(piece)
            first, *others = self.waiting.pop(address)
            self._measure(first, piece, piece.seconds)
            for each in others:
                self._measure(each, piece, None)

        def lost(error: BaseException) -> None:
            done(work.make_failed("opt", case.instance, case.solve_key, error))

        self.queue.append(_Job(call, done, lost, case.name, OPT, self._weight(case)))

    def _solve_printed(self, case: StoredCase) -> None:
        """The answers of several solvers for the program as printed: from the store, or queued."""
        address = (case.instance, case.solvers_key)
        if self.store.get(SOLVERS, *address) is not None or address in self.claimed:
            self._advance(case, SOLVERS, None)
            return
        self.claimed.add(address)

        def call(executor: Executor) -> Future[StoredResult]:
            data, _ = read_bytes(self.path(case.instance))
            return executor.submit(work.solve_printed, self.family.name, data, case.instance, case.solvers_key)

        def done(piece: StoredResult) -> None:
            self.store.put(piece)
            self._advance(case, SOLVERS, piece.seconds)

        def lost(error: BaseException) -> None:
            done(work.make_failed(SOLVERS, case.instance, case.solvers_key, error))

        self.queue.append(_Job(call, done, lost, case.name, SOLVERS, self._weight(case)))

    def _measure(self, case: StoredCase, reference: StoredResult, seconds: float | None) -> None:
        """Queue the runs and audits of a case that are not in the store; OPT took so long in this run, if it did."""
        self._remember(OPT, reference.seconds)
        self._advance(case, OPT, seconds)
        for name, repetition, key in case.runs():
            audit_key = case.audit_key(key)
            online = self.store.get("online", case.instance, key)
            audit = self.store.get("audit", case.instance, audit_key)
            if online is not None and self.rerun and online.ok and online.payload["seconds"] is None:
                online = None
            known = self.stored.get((case.name, name))
            if online is None and known is not None and (known.instance, known.key) == (case.instance, key):
                online = StoredResult("online", case.instance, key, True, known.run)
                audit = StoredResult(
                    "audit", case.instance, audit_key, True, {"checks": [], "measures": known.measures}
                )
                self.store.put(online, audit)
            if online is not None and audit is not None:
                self._remember(name, online.seconds + audit.seconds)
                self._advance(case, name, None)
            elif (case.instance, audit_key) in self.claimed:
                self._advance(case, name, None)
            else:
                self.claimed.add((case.instance, audit_key))
                self.queue.append(self._run_job(case, name, repetition, key, audit_key, reference))
        for kind, algorithm, task, key in case.studies:
            study = Study(kind, algorithm, task)
            piece = self.store.get("study", case.instance, key)
            if piece is not None:
                self._remember(study.name, piece.seconds)
                self._advance(case, study.name, None)
            elif (case.instance, key) in self.claimed:
                self._advance(case, study.name, None)
            else:
                self.claimed.add((case.instance, key))
                self.queue.append(self._study_job(case, study, key))

    def _run_job(
        self, case: StoredCase, name: str, repetition: int, key: str, audit_key: str, reference: StoredResult
    ) -> _Job:
        own = {path: each for path, each in self.terms.own.items() if f"{name}:".startswith(f"{path}:")}
        terms = replace(self.terms, own=own, repetition=repetition)

        def call(executor: Executor) -> Future[tuple[StoredResult, ...]]:
            data, _ = read_bytes(self.path(case.instance))
            prior = self._prior(case, name)
            known = (key, audit_key, reference, prior, terms, self.audited)
            return executor.submit(work.measure, self.family.name, data, case.instance, name, *known)

        def done(pieces: Sequence[StoredResult]) -> None:
            self.store.put(*pieces)
            self._advance(case, name, sum(piece.seconds for piece in pieces))

        def lost(error: BaseException) -> None:
            failed = work.make_failed("audit", case.instance, audit_key, "the online run failed")
            done([work.make_failed("online", case.instance, key, error), failed])

        return _Job(call, done, lost, case.name, name, self._weight(case), self.family.is_slow(name))

    def _study_job(self, case: StoredCase, study: Study, key: str) -> _Job:
        def call(executor: Executor) -> Future[StoredResult]:
            data, _ = read_bytes(self.path(case.instance))
            prior = self._prior(case, study.algorithm)
            known = (key, prior, self.terms)
            return executor.submit(work.study, self.family.name, data, case.instance, study, *known)

        def done(piece: StoredResult) -> None:
            self.store.put(piece)
            self._advance(case, study.name, piece.seconds)

        def lost(error: BaseException) -> None:
            done(work.make_failed("study", case.instance, key, error))

        return _Job(call, done, lost, case.name, study.name, self._weight(case))

    def _weight(self, case: StoredCase) -> int:
        return self.path(case.instance).stat().st_size

    def _remember(self, what: str, seconds: float) -> None:
        """The longest of its kind, whenever that was: what comes first follows from it."""
        self.spent[what] = max(seconds, self.spent.get(what, 0.0))

    def _advance(self, case: StoredCase, what: str, seconds: float | None) -> None:
        """A piece of the case is there; it took so long in this run, if it was made in it."""
        self.progress.advance(case.name, what, seconds)
        if seconds is not None:
            self._remember(what, seconds)
            self.own[case.name] = self.own.get(case.name, 0.0) + seconds
        self.left[case.name][what] -= 1
        if not self.left[case.name].total():
            over = sum(not left.total() for left in self.left.values())
            so_far = clock(time.monotonic() - self.began)
            work_of_it = f", {clock(self.own[case.name])} of work" if case.name in self.own else ""
            self.progress.line(f"{over} of {len(self.left)} cases, {so_far}: {case.name} done{work_of_it}")
            shown = case.name in self.own and over < len(self.left) <= TABLES and not self.progress.quiet
            if shown and (table := _case_table(self.family, self.store, case.name)):
                self.progress.line(f"\n{table}\n")

    def _next(self, small: bool = False) -> _Job | None:
        """The next piece of work: long ones first, so that no core waits for the last one; None where there is none.

        A few cases are generated ahead. Of the largest instance that is known, OPT comes first, since its runs wait
        for it, then what is known to be slow, then what took longest in other cases.

        small : of the smallest instance instead.
        """
        begun = sum(self.left[name].total() > 0 for name in self.started)
        if self.planned and (not self.queue or begun < AHEAD):
            return self.planned.popleft()
        if not self.queue:
            return None

        def order(job: _Job) -> tuple[int, bool, bool, float]:
            return -job.weight if small else job.weight, job.what == OPT, job.slow, self.spent.get(job.what, 0.0)

        job = self.queue.pop(self.queue.index(max(self.queue, key=order)))
        job.small = small
        return job

    def drain(self, pool: Pool) -> None:
        """Work until nothing is left; what is in workers' hands is at most one piece each, so memory stays bounded.

        One of several workers takes the smallest cases, so that their tables are there while the largest case runs.
        """
        running: dict[Future[Any], _Job] = {}
        begun: dict[Future[Any], float] = {}
        while self.planned or self.queue or running:
            self.progress.workers = pool.parallel()
            while len(running) < self.progress.workers:
                job = self._next(bool(running) and not any(each.small for each in running.values()))
                if job is None:
                    break
                future = job.call(pool)
                running[future], begun[future] = job, time.monotonic()
            finished, _ = wait(running, min(1.0, POLL), FIRST_COMPLETED)
            now = time.monotonic()
            counts = {(job.case, job.what): pool.count_of(each) for each, job in running.items()}
            self.progress.tick([(job.case, job.what, now - begun[each]) for each, job in running.items()], counts)
            for future in finished:
                job = running.pop(future)
                error = future.exception()
                if error is None:
                    job.done(future.result())
                elif isinstance(error, ExecutorLost):
                    raise error
                else:
                    job.lost(error)


def _case_table(family: Family, store: Store, name: str) -> str:
    """The table of a case that is done, as the report prints it; empty where it prints none."""
    from ratiobench.bench.report.answer import list_sweep_groups  # with pandas
    from ratiobench.bench.report.rows import results_text
    from ratiobench.bench.results.read import read_results

    found = read_results(store)
    case = next(case for case in found.cases if case.name == name)
    if case.group in list_sweep_groups(found):
        return ""
    records = [row for row in found.records if row.case == name]
    return results_text(replace(found, cases=[case], records=records), family).partition("\n\n")[0]


def list_work_kinds(case: Case, repeats: Mapping[str, int], crosscheck: bool = False) -> list[str]:
    """Pieces of progress in a case: the instance, OPT, several solvers' answers, every run with its audit, studies."""
    runs = [name for name in case.algorithms for _ in range(repeats.get(name, 1))]
    studies = [study.name for study in case.studies]
    return [MAKING, OPT, *([SOLVERS] if crosscheck else []), *runs, *studies]


def _with_priors(case: StoredCase, prior: str, history: str) -> StoredCase:
    """The case with its prior and history known: results that depend on them have their hashes in their keys."""
    case = replace(case, prior=prior, history=history)

    def key(algorithm: str, old: str) -> str:
        word = is_informed(algorithm)
        asked = case.find_prior(word)
        return f"{old} | {word} {asked}" if asked else old

    return replace(
        case,
        algorithms=[(name, key(name, old)) for name, old in case.algorithms],
        studies=[(kind, name, task, key(name, old)) for kind, name, task, old in case.studies],
    )


def filter_cases(suite: Suite, patterns: Sequence[str], tiers: Sequence[str] = ()) -> list[Case]:
    """The cases whose names fit one of the patterns, of one of the tiers (groups); all, where there is none."""
    for tier in tiers:
        if tier not in (known := dict.fromkeys(case.group for case in suite.cases)):
            raise InputError("--tier", "", explain_unknown_name(tier, known))
    for pattern in patterns:
        if not any(fnmatchcase(case.name, pattern) for case in suite.cases):
            some = ", ".join(case.name for case in suite.cases[:5]) + (", ..." if len(suite.cases) > 5 else "")
            raise InputError("--only", "", f"{shorten(pattern)} fits no case of {suite.name}: {some}")
    chosen = [
        case
        for case in suite.cases
        if (not patterns or any(fnmatchcase(case.name, pattern) for pattern in patterns))
        and (not tiers or case.group in tiers)
    ]
    if not chosen:
        raise InputError("--tier", "", f"no case of {', '.join(tiers)} fits {shorten(', '.join(patterns))}")
    return chosen


def _with_rows(suite: Suite, cases: list[Case], patterns: Sequence[str]) -> list[Case]:
    """The cases with those algorithms and studies whose names fit, if any do; all, where there is no pattern."""
    if not patterns:
        return cases

    def fits(name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in patterns)

    known = dict.fromkeys(name for case in cases for name in case.algorithms)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            some = ", ".join(list(known)[:5]) + (", ..." if len(known) > 5 else "")
            raise InputError("--rows", "", f"{shorten(pattern)} fits no algorithm of {suite.name}: {some}")
    selection = [
        replace(
            case,
            algorithms=tuple(filter(fits, case.algorithms)),
            studies=tuple(study for study in case.studies if fits(study.algorithm)),
        )
        for case in cases
    ]
    return [case for case in selection if case.algorithms]


def choose_cases(suite: Suite, options: RunOptions) -> list[Case]:
    """The cases that are to be run, with what the options add to them."""
    if options.algorithms and options.rows:
        problem = "chooses of the suite's algorithms, of which none runs beside those of --algorithm"
        raise InputError("--rows", "", f"{problem}; --add NAME runs one beside them")
    chosen = _with_rows(suite, filter_cases(suite, options.only, options.tier), options.rows)
    named = options.named
    if not any(case.algorithms or named for case in chosen):
        raise InputError(suite.file or suite.name, "algorithms", "nothing is to be run: name some, or --algorithm NAME")
    for case in chosen if suite.file else ():
        for name in (*case.algorithms, *(study.algorithm for study in case.studies)):
            if is_informed(name) and case.prior is None:
                problem = f"{shorten(name)}: the case {case.name} has no other day; its [[instance]] needs a `prior`"
                raise InputError(suite.file, "algorithms", problem)
    for name in named:
        if not any(case.is_served(name) for case in chosen):
            option = "--algorithm" if name in options.algorithms else "--add"
            raise InputError(option, "", f"{shorten(name)}: {_no_other_day(suite, chosen, name)}")
    return [
        replace(
            case,
            algorithms=algorithms,
            studies=tuple(each for each in case.studies if not options.algorithms or each.algorithm in named),
            solve=replace(case.solve, effort=case.solve.effort * options.effort),
            certificate="" if options.solve or options.effort > 1 else case.certificate,
            prior=case.prior if _is_any_informed(case, algorithms) else None,
        )
        for case in chosen
        if (algorithms := _choose_algorithms(case, options)) or not named
    ]


def _is_any_informed(case: Case, algorithms: Sequence[str]) -> bool:
    """Whether a run or a study of the case asks for another day, which need not be made otherwise."""
    return any(map(is_informed, (*algorithms, *(study.algorithm for study in case.studies))))


def _choose_algorithms(case: Case, options: RunOptions) -> tuple[str, ...]:
    """Those of the case and those of the command; of these none that asks for another day, which the case lacks."""
    own = () if options.algorithms else case.algorithms
    return tuple(dict.fromkeys((*own, *filter(case.is_served, options.named))))


def _no_other_day(suite: Suite, chosen: Sequence[Case], name: str) -> str:
    """Why no chosen case can have a row of the algorithm, and what can."""
    if len(chosen) == 1:
        problem = f"the case {chosen[0].name} of {suite.name} has no other day"
    else:
        problem = f"none of the {len(chosen)} chosen cases of {suite.name} has another day"
    served = [case.name for case in suite.cases if case.is_served(name)]
    more = f" and {len(served) - 1} more" if len(served) > 1 else ""
    remedy = f"--only {served[0]} has one{more}; or" if served else "so"
    return f"{problem}; {remedy} name a file with prior=FILE"


def list_left_out(suite: Suite, options: RunOptions) -> list[str]:
    """The rows of the command that are left out, since a case has no other day: a line per algorithm.

    Suites leave out such rows as well, where a case has no earlier day.
    """
    chosen = _with_rows(suite, filter_cases(suite, options.only, options.tier), options.rows)
    lines = []
    for name in options.named:
        without = [case.name for case in chosen if not case.is_served(name)]
        if without:
            cases = f"the case {without[0]}" if len(without) == 1 else f"{len(without)} of {len(chosen)} cases"
            have = "has no other day" if len(without) == 1 else "have no other day"
            lines.append(f"left out: {name} on {cases}, which {have}")
    return lines


@contextlib.contextmanager
def _in_file(suite: Suite, named: bool) -> Iterator[None]:
    """An `InputError` about an algorithm that the suite's file names is about the file."""
    try:
        yield
    except InputError as error:
        if not (suite.file and named):
            raise
        raise InputError(suite.file, "algorithms", str(error).removeprefix("algorithm: ")) from None


def require_shown(suite: Suite, added: Sequence[str]) -> None:
    """That the figures of a file show algorithms that are run; `added` are those of the command."""
    run = [name for case in suite.cases for name in (*case.algorithms, *(study.algorithm for study in case.studies))]
    known = dict.fromkeys([*run, *added])
    for j, plot in enumerate(suite.plots if suite.file else ()):
        named = {
            "algorithms": plot.algorithms,
            "hindsight": [name for _, names in plot.hindsight for name in names],
            "printed": [name for each in plot.printed for name in (each.algorithm, each.than)],
            "printed_means": [each.algorithm for each in plot.printed_means],
        }
        for field_, names in named.items():
            for name in names:
                if name not in known:
                    problem = (
                        f"{shorten(name)} is run in no case; run are {', '.join(known)}{suggest_name(name, known)}"
                    )
                    raise InputError(suite.file, f"plot[{j}].{field_}", problem)


def scale_suite(suite: Suite, scale: str) -> Suite:
    """The suite with its cases at the scale."""
    if scale not in SCALES:
        raise InputError("--scale", "", f"{shorten(scale)} is not one of {', '.join(SCALES)}")
    if scale == SCALES[0]:
        return suite
    if not suite.small:
        raise InputError("--scale", "", f"the suite {suite.name} has one scale only")
    groups = {case.group for case in suite.small}
    if not suite.axes:
        return replace(suite, cases=suite.small)
    selection = [replace(plot, groups=tuple(filter(groups.__contains__, plot.groups))) for plot in suite.plots]
    return replace(suite, cases=suite.small, plots=tuple(selection))


def run_suite(family: Family, suite: Suite, options: RunOptions) -> dict[str, float]:
    """Run what is missing of a suite, into the store of the folder.

    Returns seconds of this run by the clock: ``run``.
    """
    started = time.monotonic()
    suite = scale_suite(suite, options.scale)
    cases = choose_cases(suite, options)
    require_shown(suite, options.named)
    studied = [study.algorithm for case in cases for study in case.studies]
    for backend in {case.solve.backend for case in cases}:
        backends.require_installed(backend)
    terms = options.context(family)
    with run_context(terms):
        names = list(dict.fromkeys(name for case in cases for name in case.algorithms))
        for name in dict.fromkeys([*names, *studied]):
            with _in_file(suite, name not in options.named):
                require_algorithms(family, [name])
        repeat = max(options.repeat, suite.repeat)
        drawing = [name for name in names if repeat > 1 and family.is_randomised(name)]
    repeats = dict.fromkeys(drawing, repeat)
    isolation = sandbox.describe(str(terms.isolate)) if any(map(family.runs_user_code, names)) else ""
    pool: Pool
    if options.dask is None:
        pool = SpawnPool(default_workers() if options.workers is None else options.workers, options.limit)
    else:
        pool = DaskCluster(options.dask, options.limit)
    try:
        with _open_store(options.folder) as store:
            folder = make_folder(options.folder / "instances")
            audited = suite.audited if options.audits is None else options.audits
            stored = {} if options.rerun or audited or repeats else _stored_runs(cases)
            if options.dask is None:
                run = (name for case in cases for name in case.algorithms if (case.name, name) not in stored)
                needed = list(dict.fromkeys([*run, *studied]))
                compile_missing(family, needed, options.quiet, _uncompiled(cases, audited))
            if options.fresh or options.retry_failed:
                store.clear(failed_only=not options.fresh)
            store.begin(
                {
                    "suite": suite.name,
                    "summary": suite.summary,
                    "family": family.name,
                    "sense": family.sense.value,
                    "command": command(suite, options),
                    "date": datetime.now(UTC).date().isoformat(),
                    "algorithms": list(options.named),
                    "only": [*options.only, *options.tier],
                    **({"rows": list(rows)} if (rows := options.named if options.algorithms else options.rows) else {}),
                    "effort": options.effort,
                    "scale": options.scale,
                    "plots": [msgspec.to_builtins(plot) for plot in suite.plots],
                    "workers": pool.parallel(),
                    "provenance": provenance.collect(isolation),
                    **({"groups": dict(suite.groups), "verdicts_first": suite.verdicts_first} if suite.file else {}),
                },
                [case.name for case in cases],
            )
            solvers_key = family.printed_key() if suite.crosscheck else ""
            planned = {case.name: list_work_kinds(case, repeats, bool(solvers_key)) for case in cases}
            progress = Progress(planned, pool.parallel(), options.quiet)
            for note in list_left_out(suite, options):
                progress.warn(f"ratiobench: {make_printable(note, 500)}")
            if isinstance(pool, DaskCluster):
                pool.tell = progress.line
            terms = replace(terms, hidden=(*terms.hidden, *_folders(suite, cases)))
            sweep = _Sweep(family, store, folder, progress, terms, repeats, audited, solvers_key, stored, options.rerun)
            with run_context(terms):
                for position, case in enumerate(cases):
                    sweep.plan(position, case)
            set_current("")  # the progress tells from here on
            try:
                sweep.drain(pool)
            finally:
                progress.close()
        pool.shutdown()
    except BaseException:
        pool.stop()
        raise
    return {"run": time.monotonic() - started}


def _stored_runs(cases: Iterable[Case]) -> dict[tuple[str, str], StoredRun]:
    """The stored runs of the standard sets that the cases are of, by entry and algorithm."""
    sets = {case.certificate.partition("/")[0] for case in cases if case.certificate}
    return {address: run for name in sorted(sets) for address, run in read_runs(read_set(name)).items()}


def _uncompiled(cases: Sequence[Case], audited: bool) -> list[str]:
    """What no kernels are compiled for (`Step.only_for`): audits where there are none, solves where certificates do."""
    if audited or any(case.studies for case in cases):
        return []
    return [AUDITS, *([SOLVES] if all(case.certificate for case in cases) else [])]


def _folders(suite: Suite, cases: Iterable[Case]) -> tuple[str, ...]:
    """The folders of the suite's own file and of the files that its recipes name."""
    given = {path for case in cases for path in work.paths_of(case.recipe, case.prior, case.history)}
    return tuple(sorted({str(Path(path).absolute().parent) for path in (*given, *filter(None, [suite.file]))}))


def command(suite: Suite, options: RunOptions) -> str:
    """The command that makes the same table anywhere: what is run, and not where or by whom."""
    words = ["python", "-m", "ratiobench", "run", Path(suite.file).name or suite.name]
    words += [word for name in suite.over for word in ("--over", name)]
    return shlex.join([*words, *options.as_words()])


def _open_store(results: Path) -> Store:
    """The store of a folder of results; nothing is written where the folder cannot be used."""
    folder = results / "instances"
    if folder.exists() and not folder.is_dir():
        raise InputError(str(folder), "", "the folder cannot be made: there is a file of that name")
    return Store.open(make_folder(results) / STORE)


def find_folder(out: Path | None, suite: str, scale: str = "full", over: Sequence[str] = ()) -> Path:
    """The folder of the results, where none is named ``results/SUITE``.

    At the small scale the folder is ``results/SUITE-small``, over axes of a sweep ``results/SUITE-AXIS-...``.
    """
    return out or Path("results") / "-".join([suite, *over, *([scale] if scale != SCALES[0] else [])])


def generate_suite(
    family: Family, suite: Suite, out: Path, only: Sequence[str] = (), tiers: Sequence[str] = ()
) -> list[Mapping[str, Any]]:
    """Write the instance files of a suite, or of the cases that fit a pattern, one per case, named after it."""
    written: list[Mapping[str, Any]] = []
    with fill_folder(out) as beside:
        for case in filter_cases(suite, only, tiers):
            made = work.make(family.name, case.recipe, case.prior, None, case.history)
            described = [(case.name, f"{case.name}.json.gz", made, made.describe)]
            if made.prior is not None:
                described.append((f"{case.name}, prior", f"{case.name}_yesterday.json.gz", made.prior, {}))
            if made.history is not None:
                described.append((f"{case.name}, history", f"{case.name}_history.json.gz", made.history, {}))
            for name, file, each, about in described:
                write_atomically(beside / file, each.data)
                notes = {"notes": list(each.notes)} if each.notes else {}
                written.append({"case": name, "file": str(out / file), "instance": each.instance, **about, **notes})
    return written
