"""The contract of a family of problems: what commands, suites and the store ask of it.

A family called NAME is the packages `ratiobench.instances.NAME`, `ratiobench.formulations.NAME`,
`ratiobench.online.NAME` and `ratiobench.bench.NAME`. The last one defines one object, ``FAMILY``, a `Family`. Each
`Part` says in which module of which package a member stands; it is imported when it is used, so that `list` and `check`
start without solvers. Parts without a default are required. A family that has no such packages gives its parts to
`Family` by name. Nothing outside these packages knows a family by name.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from fractions import Fraction
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, TypeVar, overload

from ratiobench.bench.family.sense import Sense
from ratiobench.instances.io import packing
from ratiobench.instances.io.errors import InputError, require_known
from ratiobench.instances.io.files import load_json, read_bytes
from ratiobench.instances.io.keys import Form, Values
from ratiobench.instances.io.recipe import PATH

if TYPE_CHECKING:
    from pathlib import Path

    from ratiobench.bench.family.capabilities import (
        Bidding,
        Claims,
        CounterexampleSearch,
        EvaluationSupport,
        Explainer,
        Gantt,
        Statement,
        Studies,
        Timeline,
    )
    from ratiobench.bench.family.checks import Check
    from ratiobench.bench.family.source import Source
    from ratiobench.bench.family.suite import SolveSettings, Suite
    from ratiobench.formulations.checksums import Verdict
    from ratiobench.formulations.crosscheck import CrossCheck, CrossCheckRow
    from ratiobench.formulations.report import Exact, SolveReport
    from ratiobench.online.outcome import OnlineRun
    from ratiobench.online.run import Environment
    from ratiobench.online.spec import Entry

# The kind of recipe that all families have
FILE = Form(
    "file",
    "an instance in a file, or each of several",
    (PATH,),
    {"kind": "file"},
    lambda recipe: Values("recipe", (PATH,), recipe).needed("path"),
)

Names = Iterable[tuple[str, str]]  # names, each with a sentence about it


class NamedSummary(NamedTuple):
    """A name and the sentence that `list` prints beside it."""

    name: str
    summary: str


NO_CERTIFICATES = ("--certificate", "the family {family.name} has no certificates")
T = TypeVar("T")
_REQUIRED: Any = object()


class Part(Generic[T]):
    """A member of a family that stands in one of its packages and is imported when it is used."""

    def __init__(self, place: str, doc: str, default: T = _REQUIRED, refusal: tuple[str, str] | None = None) -> None:
        self.place = place  # PACKAGE.MODULE:MEMBER
        self.__doc__ = doc
        self.default = default
        self.refusal = refusal  # field and problem of the error of whoever calls it where there is none

    @property
    def required(self) -> bool:
        """Whether every family has it."""
        return self.default is _REQUIRED and self.refusal is None

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, family: None, owner: type) -> Part[T]: ...
    @overload
    def __get__(self, family: Family, owner: type) -> T: ...
    def __get__(self, family: Family | None, owner: type) -> T | Part[T]:
        if family is None:
            return self
        package, _, rest = family.places.get(self.name, self.place).partition(".")
        module, _, member = rest.partition(":")
        path = f"ratiobench.{package}.{family.name}.{module}"
        value: Any
        try:
            value = import_module(path)
            for name in member.split("."):
                value = getattr(value, name, self.default)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{path}.".startswith(f"{error.name}."):
                raise  # the module is there, and misses another one
            value = self.default
        if value is not _REQUIRED:
            return value  # type: ignore[no-any-return]
        if self.refusal is None:
            raise NotImplementedError(f"the family {family.name} has no {self.name}: {path}:{member}")
        return partial(_refuse, family, *self.refusal)  # type: ignore[return-value]


def _refuse(family: Family, field: str, problem: str, *_: object, **__: object) -> NoReturn:
    raise InputError(field, "", problem.format(family=family))


class Family:
    """A family of problems; instances and solutions are the family's own objects.

    Parameters
    ----------
    name : of its packages.
    unit : of its objective.
    objective : what the values of its solutions are called, in two words at most.
    sense : whether the most or the least of it is best.
    headline : name of the check whose verdict tables show beside the ratio; empty for none.
    size : the figures that `describe` gives by which the smallest of several instances is chosen, most important first;
        the first one is how many arrive.
    whole_values : the values of its solutions, and its bounds, are integers.
    dollars : how many dollars one unit is; None: the objective is no money.
    places : where a part stands, by its name, where it is not in the usual module of the packages.
    parts : members of the contract themselves, by name, for what the packages do not have.

    Raises
    ------
    TypeError : a part that the contract does not have, or a required one that a family without packages does not give.

    Notes
    -----
    What the members are called with: `instance`, an instance of the family, and `solution`, one of its solutions;
    `recipe`, JSON values that name an instance, whose ``kind`` says which keys there are; `data`, a decoded JSON
    document, and `source`, the name of its file, which errors name; `run`, an online run on the instance; `algorithm`,
    the name of an algorithm with options, or an import path. An `InputError` says what cannot be used.
    """

    def __init__(
        self,
        name: str,
        unit: str,
        *,
        objective: str = "welfare",
        sense: Sense = Sense.MOST,
        headline: str = "",
        size: Sequence[str] = ("tasks",),
        whole_values: bool = False,
        dollars: Fraction | None = None,
        places: Mapping[str, str] | None = None,
        **parts: Any,
    ) -> None:
        self.name, self.unit, self.objective, self.sense, self.headline = name, unit, objective, sense, headline
        self.size, self.whole_values, self.dollars, self.places = size, whole_values, dollars, dict(places or {})
        known = {key: member for key, member in vars(Family).items() if isinstance(member, Part)}
        unknown = [key for key in (*parts, *self.places) if key not in known]
        if unknown:
            raise TypeError(f"the family {name} gives {', '.join(unknown)}, which the contract does not have")
        vars(self).update(parts)
        if find_spec(f"ratiobench.instances.{name}") is None:
            required = [key for key, part in known.items() if part.required and key not in parts]
            missing = [key for key in required if isinstance(getattr(type(self), key), Part)]
            if missing:
                raise TypeError(f"the family {name} does not give {', '.join(missing)}")

    # 1. The problem: instances, solutions, suites.

    format: Part[str] = Part("instances.format:FORMAT", "The name of its file format.")
    older_formats: Part[Sequence[str]] = Part(
        "instances.format:OLDER_FORMATS", "The names of other file formats that it reads.", ()
    )
    parse: Part[Callable[[Any, str], Any]] = Part(
        "instances.format:parse", "(data, source): the instance in a decoded JSON document."
    )
    dumps: Part[Callable[[Any], str]] = Part("instances.format:dumps", "(instance): the text of its file.")
    identity: Part[Callable[[Any], str]] = Part(
        "instances.format:content_hash", "(instance): SHA-256 of its content, 64 hexadecimal digits."
    )
    describe: Part[Callable[[Any], Mapping[str, Any]]] = Part(
        "instances.model:describe", "(instance): figures to show: name, origin, tasks, nodes, slots, load, ..."
    )
    generate: Part[Callable[[Mapping[str, Any]], Any]] = Part(
        "instances.generate:generate", "(recipe): its instance, the same one on every machine."
    )
    recipe_forms: Part[Callable[[], Sequence[Form]]] = Part(
        "instances.generate:recipes", "The kinds of recipes that can be named; all families have `file`.", lambda: ()
    )
    solution_document: Part[Callable[[Any], dict[str, Any]]] = Part(
        "instances.format:solution_document", '(solution): JSON values, ``{"decisions": [...]}``.'
    )
    parse_solution: Part[Callable[[Any, str], Any]] = Part(
        "instances.format:parse_solution", "(data, source): the solution in a document; only its form is checked."
    )
    solution_formats: Part[Mapping[str, Callable[[Any, Any], str]]] = Part(
        "instances.format:SOLUTION_FORMATS",
        "(instance, solution): texts in other formats, by the suffix of the file.",
        {},
    )
    own_suites: Part[Callable[[], Sequence[Suite]]] = Part(
        "bench.suites:suites", "The suites that the family ships; `suites` adds those of the standard set."
    )
    parametric_suite: Part[Callable[[str], Suite | None]] = Part(
        "bench.suites:member",
        "(``NAME:KEY=VALUE,...``): the member of a parametric family of instances, a suite of one case; None if NAME "
        "is no such family.",
        lambda text: None,
    )
    day_before: Part[Callable[[Mapping[str, Any]], Mapping[str, Any] | None]] = Part(
        "bench.paper_suites:day_before",
        "(recipe): the recipe of the day before, from which algorithms with `prior=yesterday` learn; None without one.",
        lambda recipe: None,
    )
    traces: Part[Callable[[], Names]] = Part(
        "instances.arrivals:traces", "The traces that drive the family's generators, with summaries.", lambda: ()
    )
    constructions: Part[Callable[[], Names]] = Part(
        "instances.constructions:constructions", "Parametric families of instances, and their parameters.", lambda: ()
    )
    log_formats: Part[Names] = Part(
        "instances.logs:FORMATS", "The formats of logs that the family's command `import` reads, with summaries.", ()
    )
    commands: Part[Mapping[str, Callable[..., Any]]] = Part(
        "bench.commands:COMMANDS", "The commands that the family alone has, by name: functions made by `command`.", {}
    )
    join: Part[Callable[[Sequence[Any]], Any]] = Part(
        "instances.history:join",
        "(instances in the order of time): one instance, for histories of several days.",
        refusal=("history", "the family {family.name} joins no days to a longer one"),
    )
    with_cost: Part[Callable[[Any, str], Any]] = Part(
        "instances.model:with_cost",
        "(instance, cost): the instance, its solutions judged by this cost.",
        refusal=("--cost", "the family {family.name} has one objective, its {family.objective}"),
    )

    @property
    def formats(self) -> tuple[str, ...]:
        """The names of all file formats that it reads."""
        return (self.format, *self.older_formats)

    def make(self, recipe: Mapping[str, Any]) -> Any:
        """Make the instance of a recipe of any kind, `file` included."""
        if recipe.get("kind") != "file":
            return self.generate(recipe)
        data, source = read_bytes(Values("recipe", (PATH,), recipe).needed("path"))
        return self.parse(load_json(data, source), source)

    def recipes(self) -> Mapping[str, Form]:
        """Return all kinds of recipes by name."""
        return {form.name: form for form in (*self.recipe_forms(), FILE)}

    def suites(self) -> Sequence[Suite]:
        """Return the suites of the family, those of the standard set at the end."""
        from ratiobench.bench.family.standard import list_sets, suite_of

        standard = (suite_of(chosen, self.name, self.day_before) for chosen in list_sets())
        return (*self.own_suites(), *filter(None, standard))

    def notes(self, instance: Any) -> Sequence[str]:
        """Return the remarks on how an instance was made: the `notes` of its origin."""
        notes = (getattr(instance, "origin", None) or {}).get("notes", ())
        return list(map(str, notes)) if isinstance(notes, list | tuple) else []

    # 2. The optimum: solves, bounds, exact checks, certificates.

    solver_version: Part[str] = Part(
        "formulations.solve:VERSION",
        "Version of everything in `solve` that can change a figure: a part of the key of stored results.",
    )
    formulations: Part[Callable[[], Names]] = Part(
        "formulations.solve:formulations", "The formulations, with summaries that name the backends of each."
    )
    solver: Part[Callable[..., SolveReport]] = Part(
        "formulations.solve:solve",
        "(instance, fields of `SolveSettings` by name, start=, certified=): OPT, or an interval on it, with a solution "
        "that attains its verified end.",
    )
    check_solution: Part[Callable[[Any, Any], Any]] = Part(
        "formulations.check:check",
        "(instance, solution): verifies every constraint and recounts the value, exactly; `solver` shares no code with "
        "it. The `document()` of the result is a mapping with ``valid violations admitted welfare`` at least.",
    )
    write_certificate: Part[Callable[[Any, Path], None]] = Part(
        "formulations.verify:write",
        "(certificate, path): writes the certificate of a report, whole or not at all.",
        refusal=NO_CERTIFICATES,
    )
    verify_certificate: Part[Callable[[Any, Any, str], Verdict[Any]]] = Part(
        "formulations.verify:verify",
        "(instance, data, source): exact verification of a decoded certificate, by code that shares nothing with "
        "`solver`; InputError if it is no certificate at all.",
        refusal=NO_CERTIFICATES,
    )
    certificate_proves: Part[str] = Part(
        "formulations.verify:PROVES", "What a valid certificate proves, in a sentence.", "lower <= OPT <= upper"
    )
    certificate_sum: Part[Callable[[Any, Any], str] | None] = Part(
        "formulations.verify:tell_sum",
        "(instance, data): the sum that proves the bound of a certificate, in a line.",
        None,
    )
    join_certificates: Part[Callable[[Any, Any], dict[str, Any]] | None] = Part(
        "formulations.certificate:join_documents",
        "(document, other): the document of a certificate with the solution of the first one, the bound of the other; "
        "None for a format whose documents have both in keys of their own.",
        None,
    )
    value_limit: Part[Callable[[Any], int]] = Part(
        "formulations.certificate:value_limit",
        "(instance): the largest number of JSON values in the document of a solution or certificate, lists and objects "
        "among them.",
        lambda instance: packing.MOST,
    )
    without_migration: Part[Callable[[Any], Any]] = Part(
        "instances.model:Instance.without_migration",
        "(instance): the instance in which no task moves from node to node.",
        refusal=("--no-migration", "in the family {family.name} no task moves from node to node"),
    )
    export: Part[Callable[[Any, str, str], str]] = Part(
        "formulations.solve:export",
        "(instance, ``mps`` or ``lp``, formulation): the model as text.",
        refusal=("--format", "the family {family.name} has no models to export"),
    )
    crosscheck: Part[Callable[..., CrossCheck]] = Part(
        "formulations.crosscheck:crosscheck",
        "(instance, effort=, seconds=, tell=): the answers of all solvers for all exact formulations, compared.",
        refusal=(
            "crosscheck",
            "the family {family.name} has no printed program that several solvers solve; "
            "`opt FILE --formulation NAME --backend SOLVER` asks one of them",
        ),
    )
    printed_key: Part[Callable[[], str]] = Part(
        "formulations.crosscheck:printed_key", "Key of stored answers of `solve_printed`; empty for none.", lambda: ""
    )
    solve_printed: Part[Callable[[Any], Sequence[CrossCheckRow]]] = Part(
        "formulations.crosscheck:solve_printed",
        "(instance): the program as its paper prints it, solved to the end by each solver; empty where it is too long.",
        lambda instance: (),
    )
    warm_solver: Part[Callable[[], object]] = Part(
        "formulations.solve:warm", "Compiles the kernels of solves.", lambda: None
    )

    def solve(self, instance: Any, settings: SolveSettings, start: Any = None) -> SolveReport:
        """Compute OPT, or an interval on it; `start`: a solution to begin from."""
        return self.solver(instance, **asdict(settings), start=start)

    @property
    def has_certificates(self) -> bool:
        """Whether it writes and verifies certificates of intervals on OPT."""
        verify: Any = self.verify_certificate
        return not (isinstance(verify, partial) and verify.func is _refuse)

    def certify(self, instance: Any, settings: SolveSettings, start: Any = None) -> SolveReport:
        """As `solve`, with the work that the report's `certificate` needs; None in it when none could be had."""
        if not self.has_certificates:
            _refuse(self, *NO_CERTIFICATES)
        return self.solver(instance, **asdict(settings), start=start, certified=True)

    def check_certificate(self, instance: Any, data: Any, source: str) -> Mapping[str, Any]:
        """Verify a decoded certificate; ``valid lower upper``, and in ``problem`` the first error, None when valid."""
        verdict = self.verify_certificate(instance, data, source)
        ends = {"lower": verdict.certificate.lower, "upper": verdict.certificate.upper}
        return {"valid": verdict.valid, **ends, "problem": verdict.problem or None}

    def solve_key(self, settings: SolveSettings) -> str:
        """Return a solve's part of a stored result's key: settings, code version, solvers' versions."""
        from ratiobench.formulations.versions import package_versions

        chosen = ",".join(f"{key}={value}" for key, value in asdict(settings).items() if value is not None)
        return " | ".join(filter(None, [f"{chosen} version {self.solver_version}", package_versions(settings.backend)]))

    def check(self, instance: Any, data: Any, source: str) -> Mapping[str, Any]:
        """Verify a decoded solution file exactly; the answer has ``valid welfare admitted violations`` at least."""
        document: Mapping[str, Any] = self.check_solution(instance, self.parse_solution(data, source)).document()
        return document

    def load_document(self, instance: Any, data: bytes, source: str) -> Any:
        """Decode the file of a solution or certificate of an instance, with no more values than `value_limit`."""
        return load_json(data, source, self.value_limit(instance))

    def read_certified(self, instance: Any, data: Any, source: str) -> SolveReport:
        """Read the interval of a decoded certificate, after the independent checker has verified it."""
        from ratiobench.formulations.report import Proof, SolveReport, Status, Termination

        began = time.perf_counter()
        verdict = self.verify_certificate(instance, data, source)
        if not verdict.valid:
            raise InputError(source, "", f"not valid: {verdict.problem}")
        proved, asked = (getattr(thing, "cost", None) for thing in (verdict.certificate, instance))
        if isinstance(proved, str) and proved != asked:  # of a family with several costs
            raise InputError(source, "cost", f"the certificate is about {proved}, not {asked}")
        lower, upper = verdict.certificate.lower, verdict.certificate.upper
        return SolveReport(
            status=Status.OPTIMAL if lower == upper else Status.INTERVAL,
            lower=lower,
            upper=upper,
            solution=verdict.certificate.decisions,
            proof=Proof.CERTIFICATE,
            formulation=source,
            backend="none",
            termination=Termination.NONE,
            time_limited=False,
            seconds=time.perf_counter() - began,
            certificate=verdict.certificate,
        )

    # 3. Online algorithms.

    environment: Part[Environment[Any] | None] = Part(
        "online.run:ENVIRONMENT",
        "How algorithms run on instances, with the registry of algorithms; None for a family that overrides "
        "`algorithms`, `run`, `algorithm_key` and `validate_algorithm`.",
        None,
    )
    runner: Part[Callable[..., OnlineRun] | None] = Part(
        "online.run:run", "(instance, algorithm, prior=): a run; None: it is that of the environment.", None
    )
    other_compilations: Part[Callable[[Collection[str] | None], Mapping[str, Callable[[], object]]] | None] = Part(
        "bench.compilation:compilations",
        "(algorithms; None: all): calls by name that compile what their audits and solves need; None: `warm_solver`.",
        None,
    )
    timeline: Part[Callable[[Any, OnlineRun], Timeline] | None] = Part(
        "bench.timeline:timeline", "(instance, run): what happened over time, with the reasons of rejections.", None
    )
    gantt: Part[Callable[[Any, Any], Gantt] | None] = Part(
        "bench.gantt:gantt", "(instance, solution): which machines run what, and when.", None
    )
    bidding: Part[Bidding | None] = Part("bench.theory.bidder:BIDDING", "Algorithms that are auctions.", None)
    evaluation: Part[EvaluationSupport | None] = Part(
        "bench.evaluation:EVALUATION", "Instances and algorithms to evaluate policies, and where a run loses.", None
    )

    def secret_types(self) -> list[type]:
        """Return the types that show the future, that of instances among them: no algorithm may carry one."""
        environment = self.environment
        return [] if environment is None else [type(environment.small()), *environment.secret]

    def algorithms(self) -> Sequence[NamedSummary]:
        """Return the family's online algorithms, with summaries that have the options."""
        return [NamedSummary(*pair) for pair in self._environment.registry.algorithms()]

    def run(self, instance: Any, algorithm: str, prior: Any = None) -> OnlineRun:
        """Run an algorithm under the referee; a broken rule makes the run invalid and is no exception.

        `prior`: the instance from which `prior=yesterday` in the algorithm's name takes constants.
        """
        from ratiobench.online.run import run

        if self.runner is not None:
            return self.runner(instance, algorithm, prior=prior)
        return run(self._environment, instance, algorithm, prior=prior)

    def algorithm_key(self, algorithm: str) -> str:
        """Return the algorithm's part of a stored result's key: canonical name, options, code version."""
        return self._environment.registry.canonical(algorithm)

    def validate_algorithm(self, algorithm: str) -> None:
        """Check a name; a user's class is built once, in its own process."""
        self.algorithm_key(algorithm)
        self.is_randomised(algorithm)  # builds it

    def describe_options(self, head: str) -> Sequence[Mapping[str, str]]:
        """Describe the options of an algorithm by name, values, default, meaning; empty for a user's algorithm."""
        return () if self.environment is None else self.environment.registry.describe_options(head)

    def solver_key(self, algorithm: str) -> str:
        """Return package and version of the solver that an algorithm calls; empty where it calls none."""
        from ratiobench.formulations.versions import package_versions

        entry = self._entry(algorithm)
        return package_versions(entry.solver) if entry is not None and entry.solver else ""

    def with_prior(self, algorithm: str, prior: str) -> str:
        """Add ``prior=...`` to the name of an algorithm that needs constants and does not name their source."""
        from ratiobench.online.referee.user_run import declared_constants

        registry = self._environment.registry
        spec = registry.parse(algorithm)
        missing = declared_constants(registry, algorithm) or (spec.entry is not None and spec.entry.learns)
        if spec.prior or not missing:
            return algorithm
        options = algorithm.removeprefix(spec.head).startswith(":")
        return f"{algorithm}{',' if options else ':'}{prior}"

    def is_randomised(self, algorithm: str) -> bool:
        """Whether repetitions of a run of the algorithm may differ."""
        from ratiobench.online.referee.user_run import is_randomised

        return self.environment is not None and is_randomised(self.environment.registry, algorithm)

    def is_shipped(self, algorithm: str) -> bool:
        """Whether the algorithm is registered, and not a user's."""
        return self._entry(algorithm) is not None

    def runs_user_code(self, algorithm: str) -> bool:
        """Whether a user's code takes the decisions."""
        return self.environment is not None and self._entry(algorithm) is None

    def is_slow(self, algorithm: str) -> bool:
        """Whether a run on a large instance takes much longer than others, as the algorithm's entry says."""
        entry = self._entry(algorithm)
        return entry is not None and entry.slow

    def choose_isolation(self, isolate: bool | None) -> str:
        """Choose how users' algorithms of this family are isolated: a name of `ratiobench.online.remarks`.

        `isolate`: True, it is required; None, where it can be had; False, not at all. It cannot be had for a family
        that is no part of ratiobench: its algorithms need its package, which imports what a sandbox hides.
        """
        from ratiobench.online.referee import sandbox

        wanted = sandbox.requested(isolate)
        if self.environment is None:
            return sandbox.choose(wanted)
        return sandbox.choose_for(self.environment.registry.protocol, wanted)

    def compilations(self, algorithms: Collection[str] | None = None) -> Mapping[str, Callable[[], object]]:
        """List calls that compile and cache the kernels of solves, of algorithms (None: of all) and of their audits.

        They can be made in any order, by several processes side by side.
        """
        from ratiobench.online.run import list_choices

        other = self.other_compilations
        calls = {"OPT": self.warm_solver} if other is None else dict(other(algorithms))
        if self.environment is not None:
            small, before = self.environment.small(), None
            with suppress(InputError):  # the instance itself is refused as its own prior
                before = self.join([small, small])
            names = list_choices(self.environment) if algorithms is None else algorithms
            calls |= {name: partial(self.run, small, name, before) for name in names}
        return calls

    def _entry(self, algorithm: str) -> Entry | None:
        return None if self.environment is None else self.environment.registry.parse(algorithm).entry

    @property
    def _environment(self) -> Environment[Any]:
        assert self.environment is not None, f"the family {self.name} has no environment"
        return self.environment

    # 4. The theory: claims, measures, studies, explanations.

    claims: Part[Claims | None] = Part(
        "bench.claims:THEORY", "The claims of the family's papers, with their checks.", None
    )
    counterexample_search: Part[CounterexampleSearch | None] = Part(
        "bench.counterexample_search:COUNTEREXAMPLES", "The search for instances that violate a claim.", None
    )
    explainer: Part[Explainer | None] = Part(
        "bench.explanation:EXPLAINER", "Explains runs on small instances, arrival by arrival.", None
    )
    measures: Part[Callable[[Any, OnlineRun, Sequence[Check]], Mapping[str, Fraction | None]] | None] = Part(
        "bench.measures:measures",
        "(instance, run, checks): exact figures beside the objective by name, the same names for every run; None where "
        "one is undefined.",
        None,
    )
    measure_names: Part[Sequence[str] | None] = Part(
        "bench.measures:MEASURES",
        "The names of the measures, of which some instances have the first only; None where they depend on the run.",
        None,
    )
    accounts: Part[Callable[[Any, OnlineRun], Mapping[str, Exact]] | None] = Part(
        "bench.measures:accounts",
        "(instance, run): ``bids`` of the admitted arrivals, ``vendors`` and ``energy``, recounted from the decisions; "
        "the objective is bids - vendors - energy.",
        None,
    )
    studies: Part[Studies | None] = Part(
        "bench.studies:STUDIES", "Tables about one algorithm on one instance, for figures.", None
    )
    proof_status: Part[Callable[[str], Mapping[str, str]]] = Part(
        "bench.proof_status:proof_status",
        "(algorithm): what is proved of it, by heading; the same headings for all; empty where nothing is known.",
        lambda algorithm: {},
    )
    readings: Part[Sequence[str]] = Part(
        "bench.readings:READINGS", "How a paper is read where it is ambiguous, a sentence or two for each reading.", ()
    )
    sources: Part[Sequence[Source]] = Part(
        "bench.claims:SOURCES", "The papers and data that the family is based on, from which citations are made.", ()
    )

    @property
    def study_kinds(self) -> Mapping[str, bool] | None:
        """The kinds of studies, and whether one is about a single task; None where they are not known before a run."""
        return {} if self.studies is None else self.studies.kinds

    def statements(self) -> Sequence[Statement]:
        """Return the claims in words: those that a proof settles, then those that audits check, in their order."""
        own = () if self.claims is None else self.claims.statements
        return (*own, *_plugin_claims(self.name))

    def notation(self) -> Sequence[tuple[str, str]]:
        """Return the notation of the statements: (sign, meaning) pairs."""
        return () if self.claims is None else self.claims.notation

    @property
    def audit_version(self) -> str:
        """Version of all checks: stored checks of another version are made again."""
        from ratiobench.instances.io.plugins import CLAIMS, plugins_of

        own = "1" if self.claims is None else self.claims.version
        return " ".join([own, *(plugin.origin for plugin in plugins_of(CLAIMS, self.name).values())])

    def audit(
        self, instance: Any, run: OnlineRun, reference: SolveReport, claims: Collection[str] = ()
    ) -> Sequence[Check]:
        """Check claims on one run, against the interval on OPT: those of these names, else all that apply."""
        from ratiobench.bench.family.checks import Case

        known = [statement.name for statement in self.statements() if not statement.proof]
        for name in claims:
            require_known(name, known, "claim")
        added = _plugin_claims(self.name)
        own = [name for name in claims if name not in {claim.name for claim in added}]
        checks: list[Check] = []
        if self.claims is not None and (own or not claims):
            checks += self.claims.audit(instance, run, reference, own or None)
        case = Case(instance, run, reference)
        shown = [claim for claim in added if (claim.name in claims if claims else claim.is_shown(run))]
        return [*checks, *(claim.check_run(case) for claim in shown)]


@cache
def _plugin_claims(family: str) -> Sequence[Any]:
    """The claims of plug-ins about runs of a family, each a `ratiobench.bench.theory.claim.Claim`."""
    from ratiobench.instances.io.plugins import CLAIMS, plugins_of

    found = []
    for name, plugin in plugins_of(CLAIMS, family).items():
        claim = plugin.load()
        if getattr(claim, "name", None) != name or not hasattr(claim, "check_run"):
            raise InputError(plugin.package, plugin.name, f"{plugin.value} is no claim of the name {name!r}")
        found.append(claim)
    return tuple(found)
