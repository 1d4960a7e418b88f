"""The contract of a family of problems: what commands, suites and the store ask of it.

A family called NAME is the packages `ratiobench.instances.NAME`, `ratiobench.formulations.NAME`,
`ratiobench.online.NAME` and `ratiobench.bench.NAME`. The last one defines a subclass of `Family` and its one object,
``FAMILY``. The members stand in four groups: the problem, the optimum, online algorithms, and the theory. Those without
a default are required, all others are optional (`ratiobench.bench.family.capabilities` says what is lost without them).
Members import what they need when they are called, so that `list` and `check` start without solvers. Nothing outside
these packages knows a family by name.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import NamedSummary
from ratiobench.instances.io import packing
from ratiobench.instances.io.errors import InputError, explain_unknown_name
from ratiobench.instances.io.files import load_json, read_bytes
from ratiobench.instances.io.keys import Form, Values
from ratiobench.instances.io.plugins import CLAIMS, plugins_of
from ratiobench.instances.io.recipe import PATH

if TYPE_CHECKING:
    from ratiobench.bench.family.capabilities import (
        AccountFunction,
        Bidding,
        Certificates,
        Claims,
        CompilationSteps,
        CounterexampleSearch,
        EvaluationSupport,
        Explainer,
        GanttFunction,
        Limits,
        MeasureFunction,
        Statement,
        Studies,
        TimelineFunction,
    )
    from ratiobench.bench.family.checks import Check
    from ratiobench.bench.family.source import Source
    from ratiobench.bench.family.suite import SolveSettings, Suite
    from ratiobench.formulations.crosscheck import CrossCheck, CrossCheckRow
    from ratiobench.formulations.report import SolveReport
    from ratiobench.online.outcome import OnlineRun
    from ratiobench.online.run import Environment

__all__ = ["FILE", "Family", "SolutionReport"]

# The kind of recipe that all families have
FILE = Form(
    "file",
    "an instance in a file, or each of several",
    (PATH,),
    {"kind": "file"},
    lambda recipe: Values("recipe", (PATH,), recipe).needed("path"),
)


class SolutionReport(Protocol):
    """The result of an exact check of a solution."""

    def document(self) -> dict[str, Any]:
        """Convert the result to JSON values.

        Returns
        -------
        A mapping with ``valid violations admitted`` and ``welfare`` at least.
        """
        ...


class Family(ABC):
    """A family of problems; instances and solutions are the family's own objects.

    Attributes
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

    Notes
    -----
    Parameters of several methods:

    instance : an instance of the family.
    instances : several of them, in the order of time.
    solution : a solution of the family.
    recipe : JSON values that name an instance; ``kind`` says which keys there are.
    data : a decoded JSON document.
    source : name of a file, which errors name.
    run : an online run on the instance.
    algorithm : name of an algorithm with options, or an import path.
    """

    name: str
    unit: str
    objective: str = "welfare"
    sense: Sense = Sense.MOST
    headline: str = ""
    size: Sequence[str] = ("tasks",)
    whole_values: bool = False
    dollars: Fraction | None = None

    # 1. The problem: instances, solutions, suites.

    @property
    @abstractmethod
    def format(self) -> str:
        """The name of its file format."""

    @property
    def formats(self) -> tuple[str, ...]:
        """The names of all file formats that it reads."""
        return (self.format,)

    @abstractmethod
    def parse(self, data: Any, source: str) -> Any:
        """Read an instance of a decoded JSON document.

        Returns
        -------
        The instance.

        Raises
        ------
        InputError : the document is none; names `source`, the field and the value.
        """

    @abstractmethod
    def dumps(self, instance: Any) -> str:
        """Write an instance as the text of its file.

        Returns
        -------
        The text.
        """

    @abstractmethod
    def identity(self, instance: Any) -> str:
        """Compute the SHA-256 of an instance's content.

        Returns
        -------
        64 hexadecimal digits.
        """

    @abstractmethod
    def describe(self, instance: Any) -> Mapping[str, Any]:
        """Return figures to show beside an instance: name, origin, tasks, nodes, slots, load, ...

        Returns
        -------
        Figures by name.
        """

    @abstractmethod
    def generate(self, recipe: Mapping[str, Any]) -> Any:
        """Make the instance of a recipe, the same one on every machine.

        Returns
        -------
        The instance.

        Raises
        ------
        InputError : a key or value that cannot be used.
        """

    @abstractmethod
    def solution_document(self, solution: Any) -> dict[str, Any]:
        """Convert a solution to JSON values.

        Returns
        -------
        ``{"decisions": [...]}``.
        """

    @abstractmethod
    def parse_solution(self, instance: Any, data: Any, source: str) -> Any:
        """Read a solution of a decoded solution document.

        Returns
        -------
        The solution; only its form is checked.

        Raises
        ------
        InputError : the document is none.
        """

    @property
    def solution_formats(self) -> Mapping[str, Callable[[Any, Any], str]]:
        """(instance, solution): texts of a solution in other formats, by the suffix of their file."""
        return {}

    @abstractmethod
    def own_suites(self) -> Sequence[Suite]:
        """Return the suites that the family ships; `suites` adds those of the standard set.

        Returns
        -------
        Suites, in the order of `list suites`.
        """

    def recipe_forms(self) -> Sequence[Form]:
        """Return the kinds of recipes that files and the command line can name; all families have `file`.

        Returns
        -------
        Kinds with their keys.
        """
        return ()

    def parametric_suite(self, text: str) -> Suite | None:
        """Find the member of a parametric family of instances by its name.

        Parameters
        ----------
        text : ``NAME:KEY=VALUE,...``.

        Returns
        -------
        A suite of one case; None if NAME is no such family.

        Raises
        ------
        InputError : parameters that cannot be used.
        """
        return None

    def day_before(self, recipe: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the recipe of the day before that of a recipe, from which algorithms with `prior=yesterday` learn.

        Returns
        -------
        The recipe; None where it has no day before.
        """
        return None

    def traces(self) -> Sequence[NamedSummary]:
        """Return the traces that drive the family's generators.

        Returns
        -------
        Names and summaries.
        """
        return ()

    def constructions(self) -> Sequence[NamedSummary]:
        """Return the parametric families of instances.

        Returns
        -------
        Names, and summaries with the parameters.
        """
        return ()

    def join(self, instances: Sequence[Any]) -> Any:
        """Join instances that follow one another in time.

        Returns
        -------
        One instance.

        Raises
        ------
        InputError : they cannot be joined.
        """
        raise InputError("history", "", f"the family {self.name} joins no days to a longer one")

    def with_cost(self, instance: Any, cost: str) -> Any:
        """Choose the cost by which an instance's solutions are judged.

        Parameters
        ----------
        cost : its name.

        Returns
        -------
        The instance with this cost.

        Raises
        ------
        InputError : the family has no such cost.
        """
        raise InputError("--cost", "", f"the family {self.name} has one objective, its {self.objective}")

    @property
    def commands(self) -> Sequence[Callable[..., Any]]:
        """The commands that the family alone has: functions, which `ratiobench.bench.commands.bridge` reads."""
        return ()

    def log_formats(self) -> Sequence[NamedSummary]:
        """Return the formats of logs that the family's command `import` reads."""
        return ()

    def make(self, recipe: Mapping[str, Any]) -> Any:
        """Make the instance of a recipe of any kind, `file` included.

        Returns
        -------
        The instance.

        Raises
        ------
        InputError : a recipe or file that cannot be used.
        """
        if recipe.get("kind") != "file":
            return self.generate(recipe)
        data, source = read_bytes(Values("recipe", (PATH,), recipe).needed("path"))
        return self.parse(load_json(data, source), source)

    def recipes(self) -> Mapping[str, Form]:
        """Return all kinds of recipes.

        Returns
        -------
        Kinds by name.
        """
        return {form.name: form for form in (*self.recipe_forms(), FILE)}

    def suites(self) -> Sequence[Suite]:
        """Return the suites of the family, those of the standard set at the end.

        Returns
        -------
        Suites, in the order of `list suites`.
        """
        from ratiobench.bench.family.standard import suites_of

        return (*self.own_suites(), *suites_of(self.name, self.day_before))

    def notes(self, instance: Any) -> Sequence[str]:
        """Return the remarks on how an instance was made: the `notes` of its origin.

        Returns
        -------
        Sentences; empty for none.
        """
        notes = (getattr(instance, "origin", None) or {}).get("notes", ())
        return [str(each) for each in notes] if isinstance(notes, list | tuple) else []

    # 2. The optimum: solves, bounds, exact checks, certificates.

    @property
    @abstractmethod
    def solver_version(self) -> str:
        """Version of everything in `solve` that can change a figure: a part of the key of stored results."""

    @abstractmethod
    def formulations(self) -> Sequence[NamedSummary]:
        """Return the family's formulations.

        Returns
        -------
        Names, and summaries with the backends of each.
        """

    @abstractmethod
    def solve(self, instance: Any, settings: SolveSettings, start: Any = None) -> SolveReport:
        """Compute OPT, or an interval on it.

        Parameters
        ----------
        settings : formulation, backend, effort, gap and time limit.
        start : a solution to begin from; None for none.

        Returns
        -------
        The interval, with a solution that attains its verified end.

        Raises
        ------
        InputError : a formulation or backend that does not exist.
        """

    @abstractmethod
    def check_solution(self, instance: Any, solution: Any) -> SolutionReport:
        """Verify every constraint and recount the value, exactly, by code that `solve` does not share.

        Returns
        -------
        The result.
        """

    @property
    def certificates(self) -> Certificates | None:
        """Writes and verifies certificates of intervals on OPT."""
        return None

    def without_migration(self, instance: Any) -> Any:
        """Restrict an instance: no task may move from node to node.

        Returns
        -------
        The restricted instance.

        Raises
        ------
        InputError : no task of the family moves.
        """
        raise InputError("--no-migration", "", f"in the family {self.name} no task moves from node to node")

    def export(self, instance: Any, kind: str, formulation: str) -> str:
        """Write the model of an instance as text.

        Parameters
        ----------
        kind : ``mps`` or ``lp``.
        formulation : its name.

        Returns
        -------
        The text.

        Raises
        ------
        InputError : there is no such model.
        """
        raise InputError("--format", "", f"the family {self.name} has no models to export")

    def crosscheck(
        self,
        instance: Any,
        *,
        effort: int = 1,
        seconds: float | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> CrossCheck:
        """Compare the answers of all solvers for all exact formulations.

        Parameters
        ----------
        effort : units of work for each solver, >= 1.
        seconds : a time limit for each row in place of the effort.
        tell : called with a line about the next solve.

        Returns
        -------
        The answers, and which of them are contradicted.

        Raises
        ------
        InputError : the family has no such check, or an option is out of range.
        """
        problem = f"the family {self.name} has no printed program that several solvers solve"
        raise InputError(
            "crosscheck", "", f"{problem}; `opt FILE --formulation NAME --backend SOLVER` asks one of them"
        )

    @property
    def printed_key(self) -> str:
        """Key of stored answers of `solve_printed`; empty where no program is printed."""
        return ""

    def solve_printed(self, instance: Any) -> Sequence[CrossCheckRow]:
        """Solve the program as its paper prints it, by each solver to the end.

        Returns
        -------
        The answers; empty where the program is too large.
        """
        return ()

    def solve_key(self, settings: SolveSettings) -> str:
        """Return a solve's part of a stored result's key: settings, code version, solvers' versions.

        Parameters
        ----------
        settings : of the solve.

        Returns
        -------
        The text.
        """
        from ratiobench.formulations.versions import package_versions

        chosen = ",".join(f"{key}={value}" for key, value in asdict(settings).items() if value is not None)
        return " | ".join(filter(None, [f"{chosen} version {self.solver_version}", package_versions(settings.backend)]))

    def check(self, instance: Any, data: Any, source: str) -> Mapping[str, Any]:
        """Verify a decoded solution file exactly.

        Returns
        -------
        ``valid welfare admitted violations`` at least.

        Raises
        ------
        InputError : the document is no solution.
        """
        return self.check_solution(instance, self.parse_solution(instance, data, source)).document()

    def value_limit(self, instance: Any) -> int:
        """Bound the size of a solution or certificate.

        Parameters
        ----------
        instance : the instance that it is about.

        Returns
        -------
        The largest number of JSON values in a document that is read, lists and objects among them.
        """
        return packing.MOST

    def load_document(self, instance: Any, data: bytes, source: str) -> Any:
        """Decode the file of a solution or certificate.

        Parameters
        ----------
        instance : the instance that it is about.
        data, source : the bytes of the file and its name for messages.

        Returns
        -------
        The JSON document.

        Raises
        ------
        InputError : it is no JSON, or has more values than `value_limit` allows.
        """
        return load_json(data, source, self.value_limit(instance))

    def read_certified(self, instance: Any, data: Any, source: str) -> SolveReport:
        """Read the interval of a decoded certificate, after the independent checker has verified it.

        Returns
        -------
        The interval, with its solution.

        Raises
        ------
        InputError : it is no certificate, or not a valid one of this instance.
        """
        from ratiobench.formulations.report import Proof, SolveReport, Status, Termination

        began = time.perf_counter()
        if self.certificates is None:
            raise InputError(source, "", f"the family {self.name} has no certificates")
        verdict = self.certificates.verify(instance, data, source)
        if not verdict.valid:
            raise InputError(source, "", f"not valid: {verdict.problem}")
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

    @property
    @abstractmethod
    def environment(self) -> Environment[Any] | None:
        """How algorithms run on instances, with the registry of algorithms.

        None for a family that overrides `algorithms`, `run`, `algorithm_key` and `validate_algorithm`.
        """

    @property
    def compilation_steps(self) -> CompilationSteps | None:
        """What `warm` compiles, in steps that can run side by side."""
        return None

    @property
    def timeline(self) -> TimelineFunction | None:
        """What happened over time in a run."""
        return None

    @property
    def gantt(self) -> GanttFunction | None:
        """Which machines run what in a solution."""
        return None

    @property
    def bidding(self) -> Bidding | None:
        """Algorithms that are auctions."""
        return None

    @property
    def evaluation(self) -> EvaluationSupport | None:
        """Instances and shipped algorithms for evaluations of policies, and where a run loses."""
        return None

    def secret_types(self) -> list[type]:
        """Return the types that show the future, that of instances among them: no algorithm may carry one."""
        environment = self.environment
        return [] if environment is None else [type(environment.small()), *environment.secret]

    def algorithms(self) -> Sequence[NamedSummary]:
        """Return the family's online algorithms.

        Returns
        -------
        Names, and summaries with the options.
        """
        return NamedSummary.several(self._environment.registry.algorithms())

    def run(self, instance: Any, algorithm: str, prior: Any = None) -> OnlineRun:
        """Run an algorithm under the referee.

        Parameters
        ----------
        prior : the instance from which `prior=yesterday` in the algorithm's name takes constants.

        Returns
        -------
        The run; a broken rule makes it invalid and is no exception.

        Raises
        ------
        InputError : an algorithm or option that does not exist.
        """
        from ratiobench.online.run import run

        return run(self._environment, instance, algorithm, prior=prior)

    def algorithm_key(self, algorithm: str) -> str:
        """Return the algorithm's part of a stored result's key: canonical name, options, code version.

        Returns
        -------
        The text.

        Raises
        ------
        InputError : an algorithm or option that does not exist.
        """
        return self._environment.registry.canonical(algorithm)

    def validate_algorithm(self, algorithm: str) -> None:
        """Check a name; a user's class is built once, in its own process.

        Raises
        ------
        InputError : an algorithm, option, module, class or constructor that cannot be used.
        """
        from ratiobench.online.referee.isolation import require_buildable

        self.algorithm_key(algorithm)
        require_buildable(self._environment.registry, algorithm)

    def option_meanings(self, head: str) -> Mapping[str, str]:
        """Return the meanings of an algorithm's options.

        Parameters
        ----------
        head : name of the algorithm without options.

        Returns
        -------
        Meanings by option; empty for a user's algorithm.
        """
        entry = None if self.environment is None else self.environment.registry.entries().get(head)
        return {} if entry is None else {name: option.meaning for name, option in entry.options.items()}

    def describe_options(self, head: str) -> Sequence[Mapping[str, str]]:
        """Describe the options of an algorithm, with its constants and its prior.

        Parameters
        ----------
        head : name of the algorithm without options.

        Returns
        -------
        A row each: texts by name, values, default, meaning; empty for a user's algorithm.
        """
        return () if self.environment is None else self.environment.registry.describe_options(head)

    def solver_key(self, algorithm: str) -> str:
        """Return package and version of the solver that an algorithm calls.

        Returns
        -------
        The text; empty where it calls none.
        """
        from ratiobench.formulations.versions import package_versions

        head = algorithm.partition(":")[0]
        entry = None if self.environment is None else self.environment.registry.entries().get(head)
        return package_versions(entry.solver) if entry is not None and entry.solver else ""

    def with_prior(self, algorithm: str, prior: str) -> str:
        """Add a prior to the name of an algorithm that needs constants and does not name their source.

        Parameters
        ----------
        prior : ``prior=...``.

        Returns
        -------
        The name.

        Raises
        ------
        InputError : as `validate_algorithm`.
        """
        from ratiobench.online.referee.isolation import declared_constants

        registry = self._environment.registry
        spec = registry.parse(algorithm)
        missing = declared_constants(registry, algorithm) or (spec.entry is not None and spec.entry.learns)
        if spec.prior or not missing:
            return algorithm
        options = algorithm.removeprefix(spec.head).startswith(":")
        return f"{algorithm}{',' if options else ':'}{prior}"

    def is_randomised(self, algorithm: str) -> bool:
        """Whether repetitions of a run of the algorithm may differ.

        Returns
        -------
        True if they may.

        Raises
        ------
        InputError : as `validate_algorithm`.
        """
        from ratiobench.online.referee.isolation import is_randomised

        return self.environment is not None and is_randomised(self.environment.registry, algorithm)

    def is_shipped(self, algorithm: str) -> bool:
        """Whether the algorithm is registered, and not a user's.

        Returns
        -------
        True for a registered one.

        Raises
        ------
        InputError : a name that does not exist.
        """
        return self.environment is not None and self.environment.registry.parse(algorithm).entry is not None

    def runs_user_code(self, algorithm: str) -> bool:
        """Whether a user's code takes the decisions.

        Returns
        -------
        True if it does.

        Raises
        ------
        InputError : a name that does not exist.
        """
        if self.environment is None:
            return False
        spec = self.environment.registry.parse(algorithm)
        return spec.entry is None

    def choose_isolation(self, isolate: bool | None) -> str:
        """Choose how users' algorithms of this family are isolated (`ratiobench.online.referee.sandbox`).

        Parameters
        ----------
        isolate : True, it is required; None, where it can be had; False, not at all.

        Returns
        -------
        A name of `ratiobench.online.remarks`: BUBBLEWRAP, LANDLOCK or NO_ISOLATION.

        Raises
        ------
        InputError : it is required and cannot be had, or the family is no part of ratiobench: its algorithms need its
            package, which imports what a sandbox hides.
        """
        from ratiobench.online.referee import sandbox

        wanted = sandbox.requested(isolate)
        if self.environment is None:
            return sandbox.choose(wanted)
        return sandbox.choose_for(self.environment.registry.protocol, wanted)

    def is_slow(self, algorithm: str) -> bool:
        """Whether a run on a large instance takes much longer than others, as the algorithm's entry says.

        Returns
        -------
        True if it does.
        """
        entry = None if self.environment is None else self.environment.registry.parse(algorithm).entry
        return entry is not None and entry.slow

    def warm(self) -> None:
        """Compile and cache all kernels."""
        if self.compilation_steps is not None:
            for step in self.compilation_steps(None):
                step.work()
            return
        from ratiobench.online.run import warm

        if self.environment is not None:
            warm(self.environment)

    @property
    def _environment(self) -> Environment[Any]:
        assert self.environment is not None, f"the family {self.name} has no environment"
        return self.environment

    # 4. The theory: claims, measures, studies, explanations.

    @property
    def claims(self) -> Claims | None:
        """The claims of the family's papers, with their checks."""
        return None

    @property
    def counterexample_search(self) -> CounterexampleSearch | None:
        """The search for instances that violate a claim."""
        return None

    @property
    def limits(self) -> Limits | None:
        """What no online algorithm can beat."""
        return None

    @property
    def explainer(self) -> Explainer | None:
        """Explains runs on small instances, arrival by arrival."""
        return None

    @property
    def measures(self) -> MeasureFunction | None:
        """Exact figures about a run beside its objective."""
        return None

    @property
    def measure_names(self) -> Sequence[str] | None:
        """The names of the measures, of which some instances have the first only; None where they depend on the run."""
        return () if self.measures is None else None

    @property
    def accounts(self) -> AccountFunction | None:
        """What a valid run earned and spent; the objective is bids - vendors - energy."""
        return None

    @property
    def studies(self) -> Studies | None:
        """Tables about one algorithm on one instance, for figures."""
        return None

    @property
    def study_kinds(self) -> Mapping[str, bool] | None:
        """The kinds of studies, and whether one is about a single task; None where they are not known before a run."""
        return {} if self.studies is None else self.studies.kinds

    @property
    def proof_status(self) -> Callable[[str], Mapping[str, str]] | None:
        """(algorithm): its proof status, by heading; the same headings for all."""
        return None

    def proof_status_of(self, algorithm: str) -> Mapping[str, str]:
        """Return what is proved of an algorithm.

        Returns
        -------
        Texts by heading; empty where nothing is known.
        """
        return {} if self.proof_status is None else self.proof_status(algorithm)

    def readings(self) -> Sequence[str]:
        """Return how a paper is read where it is ambiguous.

        Returns
        -------
        A sentence or two for each reading.
        """
        return ()

    def sources(self) -> Sequence[Source]:
        """Return the papers and data that the family is based on.

        Returns
        -------
        Records from which citations are made.
        """
        return ()

    def statements(self) -> Sequence[Statement]:
        """Return the claims in words.

        Returns
        -------
        Those that a proof settles, then those that audits check, in the order of the audits.
        """
        from ratiobench.bench.family.plugin_claims import plugin_claims

        own = () if self.claims is None else self.claims.statements
        return (*own, *(claim.state() for claim in plugin_claims(self.name)))

    def notation(self) -> Sequence[tuple[str, str]]:
        """Return the notation of the statements.

        Returns
        -------
        (sign, meaning) pairs, in the order in which they are best read.
        """
        return () if self.claims is None else self.claims.notation

    @property
    def audit_version(self) -> str:
        """Version of all checks: stored checks of another version are made again."""
        own = "1" if self.claims is None else self.claims.version
        return " ".join([own, *(each.origin for each in plugins_of(CLAIMS, self.name).values())])

    def audit(
        self, instance: Any, run: OnlineRun, reference: SolveReport, claims: Collection[str] = ()
    ) -> Sequence[Check]:
        """Check the claims on one run, against the interval on OPT.

        Parameters
        ----------
        reference : the interval on OPT.
        claims : names of the claims to check; empty for all that apply to the run.

        Returns
        -------
        The checks, in the order of the statements.

        Raises
        ------
        InputError : a claim that audits do not check.
        """
        from ratiobench.bench.family.plugin_claims import check_plugin_claims, plugin_claims

        known = [each.name for each in self.statements() if not each.proof]
        for name in claims:
            if name not in known:
                raise InputError("claim", "", explain_unknown_name(name, known))
        added = plugin_claims(self.name)
        own = [name for name in claims if name not in {each.name for each in added}]
        checks: list[Check] = []
        if self.claims is not None and (own or not claims):
            checks += self.claims.audit(instance, run, reference, own or None)
        return [*checks, *check_plugin_claims(added, instance, run, reference, claims)]
