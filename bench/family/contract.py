"""A family of problems as the commands, suites and the store see it, found by convention.

A family called NAME is a column through the four floors: the packages `ratiobench.instances.NAME`,
`ratiobench.formulations.NAME`, `ratiobench.online.NAME` and `ratiobench.bench.NAME`, of which the last one defines
``FAMILY = Family("NAME", ...)``. What the harness needs is looked for in the modules that `CONVENTION` names, when it
is needed; what is special, a family overrides. Nothing outside these folders knows a family by name.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from functools import cache
from typing import Any

from ratiobench.bench.family.capabilities import (
    Bidding,
    Calibrator,
    Certificates,
    CounterexampleSearch,
    Explainer,
    LogImport,
    SingleNode,
    Statement,
    Step,
    Timeline,
)
from ratiobench.bench.family.checks import ANOTHER, Check, Verdict
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.source import Source
from ratiobench.bench.family.standard import suites_of
from ratiobench.bench.family.suite import Listed, SolveSettings, Study, Suite
from ratiobench.formulations.crosscheck import CrossCheck, CrossCheckRow
from ratiobench.formulations.report import Exact, Proof, SolveReport, Status, Termination
from ratiobench.formulations.versions import package_versions
from ratiobench.instances.errors import InputError, not_one_of
from ratiobench.instances.files import load_json, read_bytes
from ratiobench.instances.keys import Form, Values
from ratiobench.instances.recipe import PATH
from ratiobench.online.outcome import OnlineRun

CONVENTION: Mapping[str, str] = {
    "FORMAT": "instances.format",
    "parse": "instances.format",
    "dumps": "instances.format",
    "content_hash": "instances.format",
    "parse_solution": "instances.solution",
    "solution_document": "instances.solution",
    "describe": "instances.quantities",
    "generate": "instances.generate",
    "tiny_instances": "instances.strategies",
    "recipes": "instances.generate",
    "join": "instances.history",
    "setting": "instances.history",
    "began": "instances.history",
    "traces": "instances.arrivals",
    "constructions": "instances.constructions",
    "VERSION": "formulations.solve",
    "solve": "formulations.solve",
    "formulations": "formulations.solve",
    "export": "formulations.solve",
    "crosscheck": "formulations.crosscheck",
    "solve_printed": "formulations.crosscheck",
    "printed_key": "formulations.crosscheck",
    "warm": "formulations.solve",
    "check": "formulations.check",
    "write": "formulations.certificate",
    "verify": "formulations.verify",
    "PROVES": "formulations.verify",
    "tell_sum": "formulations.verify",
    "ENVIRONMENT": "online.run",
    "suites": "bench.suites",
    "member": "bench.suites",
    "audit": "bench.claims",
    "audit_claims": "bench.claims",
    "statements": "bench.claims",
    "NOTATION": "bench.claims",
    "AUDITS": "bench.claims",
    "IMPORTING": "bench.log_import",
    "CALIBRATING": "bench.calibration",
    "compiling": "bench.compilation",
    "measures": "bench.measures",
    "MEASURES": "bench.measures",
    "accounts": "bench.measures",
    "study": "bench.studies",
    "STUDIES": "bench.studies",
    "proof_status": "bench.proof_status",
    "bound_checks": "bench.proof_status",
    "READINGS": "bench.readings",
    "PARTS": "bench.perf",
    "EXPLAINING": "bench.explanation",
    "COUNTEREXAMPLES": "bench.counterexample_search",
    "SOURCES": "bench.sources",
    "timeline": "bench.timeline",
}
"""Where the harness looks for what, the family's name between floor and module; where there is no such module, or no
such name in it, in the floor's main module (`MAIN`)."""
MAIN = {"instances": "format", "formulations": "solve", "online": "run", "bench": ""}


FILE = Form(
    "file",
    "an instance in a file, or each of several",
    (PATH,),
    {"kind": "file"},
    lambda recipe: Values("recipe", (PATH,), recipe).needed("path"),
)
"""The kind of recipe that all families have."""


class Family:
    """What a family offers. Instances and solutions are the family's own objects, opaque here.

    Parameters
    ----------
    name : of its packages.
    unit : of its objective.
    objective : what the values of its solutions are called, in two words at most.
    sense : whether the most or the least of it is best.
    headline : name of the check whose verdict stands beside the ratio in tables; empty for none.
    size : the figures that `describe` gives by which the smallest of several instances is chosen, most important first;
        the first one is how many arrive.
    whole_values : the values of its solutions, and its bounds, are integers.
    dollars : how many dollars one unit is; None: the objective is no money.
    home : package with all the modules of a family that lives elsewhere; empty for one of this house.
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
        home: str = "",
    ) -> None:
        self.name, self.unit, self.objective, self.sense = name, unit, objective, sense
        self.headline, self.size, self.whole_values, self.home = headline, tuple(size), whole_values, home
        self.dollars = dollars

    def find(self, what: str) -> Any:
        """What the convention calls so, or None."""
        floor, _, module = CONVENTION[what].partition(".")
        for each in dict.fromkeys((module, MAIN[floor])):
            words = (self.home, each) if self.home else ("ratiobench", floor, self.name, each)
            place = ".".join(filter(None, words))
            if _exists(place) and hasattr(loaded := importlib.import_module(place), what):
                return getattr(loaded, what)
        return None

    def need(self, what: str) -> Any:
        """The same; a family without it is none."""
        found = self.find(what)
        if found is None:
            raise AssertionError(f"the family {self.name} has no `{what}` in its module {CONVENTION[what]}")
        return found

    # Instances.

    @property
    def format(self) -> str:
        """The name of its file format."""
        return str(self.need("FORMAT"))

    def parse(self, data: Any, source: str) -> Any:
        """The instance in a decoded JSON document; InputError if it is not one."""
        return self.need("parse")(data, source)

    def dumps(self, instance: Any) -> str:
        """The instance as the text of its file."""
        return str(self.need("dumps")(instance))

    def identity(self, instance: Any) -> str:
        """SHA-256 of the instance's content."""
        return str(self.need("content_hash")(instance))

    def describe(self, instance: Any) -> Mapping[str, Any]:
        """Figures to show beside the instance: name, origin, tasks, nodes, slots, load, ..."""
        found: Mapping[str, Any] = self.need("describe")(instance)
        return found

    def generate(self, recipe: Mapping[str, Any]) -> Any:
        """The instance that a case's recipe names."""
        return self.need("generate")(recipe)

    def make(self, recipe: Mapping[str, Any]) -> Any:
        """The instance of a recipe of any kind: `file` is known to every family."""
        if recipe.get("kind") != "file":
            return self.generate(recipe)
        data, source = read_bytes(Values("recipe", (PATH,), recipe).needed("path"))
        return self.parse(load_json(data, source), source)

    def recipes(self) -> Mapping[str, Form]:
        """The kinds of recipes that files and the command line can name, with their keys."""
        found = self.find("recipes")
        return {form.name: form for form in (*(() if found is None else found()), FILE)}

    def notes(self, instance: Any) -> Sequence[str]:
        """What must be known of how the instance was made: the `notes` of its origin, if it has any."""
        notes = (getattr(instance, "origin", None) or {}).get("notes", ())
        return [str(each) for each in notes] if isinstance(notes, list | tuple) else []

    def join(self, instances: Sequence[Any]) -> Any:
        """Several instances, one after another in time, as one; InputError where they cannot be joined."""
        join = self.find("join")
        if join is None:
            raise InputError("--history", "", f"the family {self.name} joins no days to a longer one; 1 is possible")
        return join(instances)

    def setting(self, instance: Any) -> Mapping[str, str]:
        """What days of one load have in common, in words by heading; empty where the family does not say."""
        setting: Callable[[Any], Mapping[str, str]] | None = self.find("setting")
        return {} if setting is None else setting(instance)

    def began(self, instance: Any) -> str:
        """When the instance's time begins, ISO 8601; empty where that is not known."""
        began = self.find("began")
        return "" if began is None else str(began(instance))

    def traces(self) -> Sequence[Listed]:
        """The traces that drive the family's generators."""
        return _listed(self.find("traces"))

    def constructions(self) -> Sequence[Listed]:
        """The parametric families of instances, with their parameters in the summary."""
        return _listed(self.find("constructions"))

    # Suites.

    def suites(self) -> Sequence[Suite]:
        """The family's suites, the last one of them its part of the standard set, if it has any."""
        found: Sequence[Suite] = self.need("suites")()
        return (*found, *suites_of(self.name))

    def member(self, text: str) -> Suite | None:
        """The member of a parametric family that ``NAME:KEY=VALUE,...`` names, as a suite of one case; None if NAME is
        none of them. InputError for parameters that cannot be used.
        """
        member = self.find("member")
        suite: Suite | None = None if member is None else member(text)
        return suite

    # OPT.

    def formulations(self) -> Sequence[Listed]:
        """The family's formulations, with the backends of each in the summary."""
        return _listed(self.need("formulations"))

    def solve(self, instance: Any, settings: SolveSettings, start: Any = None) -> SolveReport:
        """OPT or an interval on it; `start` is a solution to begin from. InputError for names that do not exist."""
        report: SolveReport = self.need("solve")(instance, **asdict(settings), start=start)
        return report

    def solve_key(self, settings: SolveSettings) -> str:
        """The settings, the code version and the solvers' versions of a solve: its part of a stored result's key."""
        chosen = ",".join(f"{key}={value}" for key, value in asdict(settings).items() if value is not None)
        return " | ".join(
            filter(None, [f"{chosen} version {self.need('VERSION')}", package_versions(settings.backend)])
        )

    def solver_key(self, algorithm: str) -> str:
        """Package and version of the solver that an algorithm asks; empty where it asks none."""
        game = self.find("ENVIRONMENT")
        entry = None if game is None else game.registry.entries().get(algorithm.partition(":")[0])
        return package_versions(entry.solver) if entry is not None and entry.solver else ""

    def export(self, instance: Any, kind: str, formulation: str) -> str:
        """The model as MPS or LP text."""
        export = self.find("export")
        if export is None:
            raise InputError("--format", "", f"the family {self.name} has no models to export")
        return str(export(instance, kind, formulation))

    def crosscheck(self, instance: Any, **options: Any) -> CrossCheck:
        """The answers of all solvers for all exact formulations, held against each other.

        Raises
        ------
        InputError : the family has no such check, or an option is out of range.
        """
        crosscheck = self.find("crosscheck")
        if crosscheck is None:
            raise InputError("crosscheck", "", f"the family {self.name} has one formulation for each solver only")
        found: CrossCheck = crosscheck(instance, **options)
        return found

    @property
    def printed_key(self) -> str:
        """Key of stored answers of `solve_printed`; empty where no program is printed."""
        key = self.find("printed_key")
        return "" if key is None else str(key())

    def solve_printed(self, instance: Any) -> Sequence[CrossCheckRow]:
        """The program as its paper prints it, by each solver to the end; empty where it is too large."""
        ask = self.find("solve_printed")
        return [] if ask is None else ask(instance)

    def solution_document(self, solution: Any) -> dict[str, Any]:
        """A solution as JSON values: ``{"decisions": [...]}``."""
        document: dict[str, Any] = self.need("solution_document")(solution)
        return document

    def solution(self, instance: Any, data: Any, source: str) -> Any:
        """The solution in a decoded solution document; InputError if it is not one."""
        return self.need("parse_solution")(data, source)

    def check(self, instance: Any, data: Any, source: str) -> Mapping[str, Any]:
        """Exact verification of a decoded solution file: keys ``valid welfare admitted violations`` at least."""
        document: Mapping[str, Any] = self.need("check")(instance, self.solution(instance, data, source)).document()
        return document

    @property
    def certificates(self) -> Certificates | None:
        """The certificates of intervals on OPT."""
        write, verify = self.find("write"), self.find("verify")
        if write is None or verify is None:
            return None

        def check(instance: Any, data: Any, source: str) -> Mapping[str, Any]:
            verdict = verify(instance, data, source)
            return {
                "valid": verdict.valid,
                "lower": verdict.certificate.lower,
                "upper": verdict.certificate.upper,
                "problem": verdict.problem or None,
            }

        def solve(instance: Any, settings: SolveSettings, start: Any = None) -> SolveReport:
            report: SolveReport = self.need("solve")(instance, **asdict(settings), start=start, certified=True)
            return report

        return Certificates(solve, write, check)

    @property
    def proves(self) -> str:
        """What a valid certificate proves, and how, in a sentence."""
        return str(self.find("PROVES") or "lower <= OPT <= upper")

    def proof_in_numbers(self, instance: Any, data: Any) -> str:
        """The sum by which a valid certificate proves its bound, in a line; empty where the family tells none."""
        tell = self.find("tell_sum")
        return "" if tell is None else f"{tell(instance, data)}\n"

    def certified(self, instance: Any, data: Any, source: str) -> SolveReport:
        """The interval that a decoded certificate proves, with its solution, after the independent checker's word.

        Raises
        ------
        InputError : it is no certificate, or not a valid one of this instance.
        """
        began = time.perf_counter()
        verify = self.find("verify")
        if verify is None:
            raise InputError(source, "", f"the family {self.name} has no certificates")
        verdict = verify(instance, data, source)
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

    # Online.

    def algorithms(self) -> Sequence[Listed]:
        """The family's online algorithms."""
        return _listed(self.need("ENVIRONMENT").registry.algorithms)

    def options(self, head: str) -> Mapping[str, str]:
        """What the options of an algorithm of the family mean, by name; empty for anyone's own."""
        game = self.find("ENVIRONMENT")
        entry = None if game is None else game.registry.entries().get(head)
        return {} if entry is None else {name: option.meaning for name, option in entry.options.items()}

    def run(self, instance: Any, algorithm: str, prior: Any = None) -> OnlineRun:
        """One run under the referee; `prior` is the instance that `prior=yesterday` in the algorithm's name stands for.

        InputError for an algorithm or option that does not exist.
        """
        from ratiobench.online.run import run

        return run(self.need("ENVIRONMENT"), instance, algorithm, prior=prior)

    def algorithm_key(self, algorithm: str) -> str:
        """The algorithm's canonical name, options and code version: its part of a stored result's key.

        Anyone's own class must exist, and it must be possible to build it.
        """
        from ratiobench.online.referee.isolation import require_buildable

        registry = self.need("ENVIRONMENT").registry
        key = str(registry.canonical(algorithm))
        require_buildable(registry, algorithm)
        return key

    def informed(self, algorithm: str, prior: str) -> str:
        """The algorithm's name with ``prior=...`` behind it, where it needs constants and does not say from where.

        InputError as `algorithm_key`.
        """
        from ratiobench.online.referee.isolation import declared_constants

        registry = self.need("ENVIRONMENT").registry
        spec = registry.parse(algorithm)
        missing = declared_constants(registry, algorithm) or (spec.entry is not None and spec.entry.learns)
        if spec.prior or not missing:
            return algorithm
        options = algorithm.removeprefix(spec.head).startswith(":")
        return f"{algorithm}{',' if options else ':'}{prior}"

    def is_randomised(self, algorithm: str) -> bool:
        """Whether the algorithm draws, so that repetitions of a run may differ; InputError as `algorithm_key`."""
        from ratiobench.online.referee.isolation import is_randomised

        game = self.find("ENVIRONMENT")
        return game is not None and is_randomised(game.registry, algorithm)

    def is_learner(self, algorithm: str) -> bool:
        """Whether the algorithm learns from whole days, as its entry says."""
        game = self.find("ENVIRONMENT")
        entry = None if game is None else game.registry.parse(algorithm).entry
        return entry is not None and entry.learns

    def is_slow(self, algorithm: str) -> bool:
        """Whether a run on a large instance takes much longer than others', as the algorithm's entry says."""
        game = self.find("ENVIRONMENT")
        entry = None if game is None else game.registry.parse(algorithm).entry
        return entry is not None and entry.slow

    # The theory.

    def audit(self, instance: Any, run: OnlineRun, reference: SolveReport) -> Sequence[Check]:
        """The claims about one run, against the interval on OPT."""
        audit = self.find("audit")
        checks: Sequence[Check] = () if audit is None else audit(instance, run, reference)
        return checks

    @property
    def audits(self) -> str:
        """Version of all checks, beside the claims: stored checks of another version are made again."""
        return str(self.find("AUDITS") or "1")

    @property
    def audit_claims(self) -> Callable[[Any, OnlineRun, SolveReport, Collection[str]], Sequence[Check]] | None:
        """Some of the checks, by the names of statements; of one about another algorithm that it does not apply."""
        found: Callable[..., Sequence[Check]] | None = self.find("audit_claims")
        return found

    @property
    def statements(self) -> Callable[[], Sequence[Statement]] | None:
        """Claims in words: those settled by proof, then those that audits check, in the order of the audits."""
        found: Callable[[], Sequence[Statement]] | None = self.find("statements")
        return found

    def checks(
        self, instance: Any, run: OnlineRun, reference: SolveReport, claims: Collection[str] = ()
    ) -> Sequence[Check]:
        """All checks, or those of some claims without the work of the others where the family can.

        Raises
        ------
        InputError : a claim that the audits do not check.
        """
        if claims and self.statements is not None:
            self._require(claims, [each.name for each in self.statements() if not each.proof])
        if claims and self.audit_claims is not None:
            return self.audit_claims(instance, run, reference, claims)
        checks = {check.name: check for check in self.audit(instance, run, reference)}
        if claims and self.statements is None:
            self._require(claims, list(checks))
        other = f"{ANOTHER}another algorithm"
        return [
            checks.get(name) or Check(name, Verdict.NOT_APPLICABLE, None, None, other)
            for name in dict.fromkeys(claims or checks)
        ]

    @staticmethod
    def _require(claims: Collection[str], known: Sequence[str]) -> None:
        for name in claims:
            if name not in known:
                raise InputError("claim", "", not_one_of(name, known))

    def notation(self) -> Sequence[tuple[str, str]]:
        """(sign, meaning) pairs of the statements, in the order in which they are best read."""
        return tuple(self.find("NOTATION") or ())

    def readings(self) -> Sequence[str]:
        """How a paper is read where it can be read in more than one way: a sentence or two each."""
        return tuple(self.find("READINGS") or ())

    def sources(self) -> Sequence[Source]:
        """The papers and data that the family rests on."""
        return tuple(self.find("SOURCES") or ())

    @property
    def measures(self) -> Callable[[Any, OnlineRun, Sequence[Check]], Mapping[str, Fraction | None]] | None:
        """Exact figures about a run beside its objective, by name, the same names for every run; None: undefined.

        The checks are the run's audits, which version the figures, too.
        """
        found: Callable[..., Mapping[str, Fraction | None]] | None = self.find("measures")
        return found

    def measured(self) -> Sequence[str] | None:
        """The names of the measures (`MEASURES` beside them); None where they are known only from runs."""
        if self.measures is None:
            return ()
        found: Sequence[str] | None = self.find("MEASURES")
        return found

    @property
    def accounts(self) -> Callable[[Any, OnlineRun], Mapping[str, Exact]] | None:
        """(instance, valid run): what it earned and spent, recounted from its decisions, exact, in the family's unit.

        ``bids`` of the admitted, ``vendors`` and ``energy``; the objective is bids - vendors - energy.
        """
        found: Callable[[Any, OnlineRun], Mapping[str, Exact]] | None = self.find("accounts")
        return found

    @property
    def study(self) -> Callable[[Any, Study, Any], Sequence[Mapping[str, str]]] | None:
        """(instance, study, prior): its rows, all with the same keys, exact figures; InputError: it cannot be made."""
        found: Callable[..., Sequence[Mapping[str, str]]] | None = self.find("study")
        return found

    def studied(self) -> Mapping[str, bool] | None:
        """The kinds of its studies, and whether one is about a single task (`STUDIES` beside them); None: not known."""
        if self.study is None:
            return {}
        found: Mapping[str, bool] | None = self.find("STUDIES")
        return found

    @property
    def standing(self) -> Callable[[str], Mapping[str, str]] | None:
        """What is proved or known of an algorithm, by heading; the same headings for all."""
        found: Callable[[str], Mapping[str, str]] | None = self.find("proof_status")
        return found

    @property
    def bound_checks(self) -> Callable[[str], Sequence[str]] | None:
        """The names of the checks that verify the guarantee which is proved of an algorithm; empty where none is."""
        found: Callable[[str], Sequence[str]] | None = self.find("bound_checks")
        return found

    @property
    def timeline(self) -> Callable[[Any, OnlineRun], Timeline] | None:
        """(instance, run): what happened over time, and why arrivals were turned away."""
        found: Callable[[Any, OnlineRun], Timeline] | None = self.find("timeline")
        return found

    @property
    def staying(self) -> SingleNode | None:
        """Tasks that are kept from moving."""
        return None

    @property
    def importing(self) -> LogImport | None:
        """Logs of real jobs as instances."""
        found: LogImport | None = self.find("IMPORTING")
        return found

    @property
    def calibrating(self) -> Calibrator | None:
        """One's own device, measured."""
        found: Calibrator | None = self.find("CALIBRATING")
        return found

    @property
    def hunting(self) -> CounterexampleSearch | None:
        """The search for counterexamples."""
        found: CounterexampleSearch | None = self.find("COUNTEREXAMPLES")
        return found

    @property
    def bidding(self) -> Bidding | None:
        """Algorithms that are auctions."""
        return None

    @property
    def explaining(self) -> Explainer | None:
        """Runs told arrival by arrival."""
        found: Explainer | None = self.find("EXPLAINING")
        return found

    @property
    def compiling(self) -> Callable[[Collection[str] | None], Sequence[Step]] | None:
        """What `warm` compiles, in steps: two of them compile the same kernel only if one comes after the other.

        Those that others wait for stand before them, long ones first. For the names of algorithms that are to be run,
        and audited; None for all there are, with all of their options.
        """
        found: Callable[[Collection[str] | None], Sequence[Step]] | None = self.find("compiling")
        return found

    def warm(self) -> None:
        """Compile and cache what is compiled."""
        from ratiobench.online.run import warm

        if self.compiling is not None:
            for step in self.compiling(None):
                step.work()
            return
        solvers = self.find("warm")
        if solvers is not None:
            solvers()
        warm(self.need("ENVIRONMENT"))


@cache
def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _listed(names: Callable[[], Sequence[tuple[str, str]]] | None) -> Sequence[Listed]:
    return [] if names is None else [Listed(*each) for each in names()]
