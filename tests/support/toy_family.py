"""A small family to test the harness with: pick numbers as they come, at most `room` of them; OPT picks the largest.

It is a second family in every sense but size, and the harness must carry it without knowing it. Algorithms that die,
hang, raise or cheat stand beside honest ones.
"""

import hashlib
import json
import os
import signal
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from ratiobench.bench.family.capabilities import Claims, Statement, Studies
from ratiobench.bench.family.checks import ANOTHER, Check, Verdict
from ratiobench.bench.family.contract import Family, NamedSummary
from ratiobench.bench.family.suite import Case, Plot, PrintedGain, SolveSettings, Study, Suite
from ratiobench.bench.lora.studies import draw_study
from ratiobench.formulations.report import Proof, SolveReport, Status, Termination
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.seeds import Stream
from ratiobench.online.outcome import Constant, OnlineRun, Source, Violation
from ratiobench.online.remarks import Remarks


@dataclass(frozen=True)
class Numbers:
    """Values in order of arrival, and how many may be taken."""

    name: str
    values: tuple[int, ...]
    room: int


def _nap() -> None:
    time.sleep(float(os.environ.get("TOY_NAP", "0")))


def _log(what: str) -> None:
    """Note every piece of work where a test asks for it, to count what was done twice."""
    path = os.environ.get("TOY_LOG")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(what + "\n")


@dataclass(frozen=True)
class _Verified:
    valid: bool
    welfare: int
    admitted: int
    violations: Sequence[str]

    def document(self) -> dict[str, Any]:
        return asdict(self)


class ToyFamily(Family):
    format = "ratiobench/toy/1"
    solver_version = "1"

    def __init__(self, name: str = "toy") -> None:
        super().__init__(name, "points", headline="half", whole_values=True)

    def parse(self, data: Any, source: str) -> Numbers:
        if not isinstance(data.get("room"), int) or data["room"] < 0:
            raise InputError(source, "room", f"{shorten(data.get('room'))} is not an integer >= 0")
        return Numbers(data["name"], tuple(data["values"]), data["room"])

    def dumps(self, instance: Numbers) -> str:
        return json.dumps(
            {"format": self.format, "name": instance.name, "values": instance.values, "room": instance.room}
        )

    def identity(self, instance: Numbers) -> str:
        """SHA-256 of the content."""
        return hashlib.sha256(json.dumps([instance.values, instance.room]).encode()).hexdigest()

    def describe(self, instance: Numbers) -> Mapping[str, Any]:
        return {"numbers": len(instance.values), "room": instance.room, "tasks": len(instance.values)}

    def generate(self, recipe: Mapping[str, Any]) -> Numbers:
        _log(f"generate {recipe}")
        if recipe.get("broken"):
            raise RuntimeError("this recipe cannot be made")
        values = Stream("toy", recipe["seed"]).integers(recipe.get("low", 1), 99, recipe["size"])
        return Numbers(f"toy{recipe['seed']}", tuple(int(value) for value in values), recipe["room"])

    def own_suites(self) -> Sequence[Suite]:
        honest = ("first", "above:mark=50", "one")
        recipes = [{"seed": seed, "size": 8, "room": 3} for seed in range(4)]
        cases = tuple(
            Case(f"toy{i}", recipe, honest, SolveSettings(effort=1 + i % 2), "even" if i % 2 == 0 else "odd")
            for i, recipe in enumerate(recipes)
        )
        twin = Case("twin", recipes[0], ("first", "one"), SolveSettings(effort=1), "even")
        return (
            Suite("toy", "Honest algorithms on five cases, two of one content", (*cases, twin)),
            Suite("toy-plots", "Cases with figures of their own", _plotted(), _PLOTS, small=_plotted()[:2]),
            Suite("toy-many", "More work than twenty runs that are killed early can do", _many()),
            Suite("toy-bad", "Algorithms that fail", (Case("bad", recipes[0], ("first", "raises", "dies", "cheats")),)),
            Suite("toy-none", "A case that cannot be made", (Case("none", {"broken": 1}, ("first",)), cases[0])),
            Suite("toy-slow", "An algorithm that hangs", (Case("slow", recipes[0], ("hangs", "first")),)),
        )

    def algorithms(self) -> Sequence[NamedSummary]:
        return [NamedSummary(name, name) for name in ("first", "above", "one", "raises", "dies", "hangs", "cheats")]

    def formulations(self) -> Sequence[tuple[str, str]]:
        return [("sort", "sorting (none)")]

    def solver(self, instance: Numbers, start: Any = None, certified: bool = False, **chosen: Any) -> SolveReport:
        """The largest numbers; effort 2 proves it, effort 1 leaves a gap of 1."""
        settings = SolveSettings(**chosen)
        self.solve_key(settings)
        _log(f"opt {self.identity(instance)} {settings.effort}")
        _nap()
        best = sorted(range(len(instance.values)), key=lambda i: (-instance.values[i], i))[: instance.room]
        total = sum(instance.values[i] for i in best)
        status = Status.OPTIMAL if settings.effort > 1 else Status.INTERVAL
        upper = total + (settings.effort == 1)
        return SolveReport(
            status, total, upper, tuple(sorted(best)), Proof.ENUMERATION, "sort", "none", Termination.NONE, False, 0.0
        )

    def solution_document(self, solution: Any) -> dict[str, Any]:
        return {"decisions": list(solution)}

    def parse_solution(self, data: Any, source: str) -> tuple[int, ...]:
        if not isinstance(data, dict) or "decisions" not in data:
            raise InputError(source, "decisions", "the field is missing")
        return tuple(data["decisions"])

    def run(self, instance: Numbers, algorithm: str, prior: Numbers | None = None) -> OnlineRun:
        self.validate_algorithm(algorithm)
        key = self.algorithm_key(algorithm)
        _log(f"online {self.identity(instance)} {algorithm}")
        _nap()
        name, _, option = algorithm.partition(":")
        if name == "raises":
            raise ZeroDivisionError("nothing to divide")
        if name == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if name == "hangs":
            time.sleep(600)
        room = {"one": 1, "cheats": 99}.get(name, instance.room)
        mark = int(option.partition("=")[2] or 0)
        taken = tuple([i for i, value in enumerate(instance.values) if value >= mark][:room])
        broken = (Violation("room", taken[-1], "over the room"),) if len(taken) > instance.room else ()
        return OnlineRun(
            algorithm=algorithm,
            remarks=Remarks(algorithm),
            version=key,
            valid=not broken,
            violations=broken,
            welfare=sum(instance.values[i] for i in taken),
            true_welfare=0,
            revenue=None,
            admitted=len(taken),
            decisions=taken,
            constants=(Constant("mark", Fraction(mark, 7), Source.ORACLE),) if mark else (),
            arithmetic="integer",
        )

    def validate_algorithm(self, algorithm: str) -> None:
        if algorithm.partition(":")[0] not in [each.name for each in self.algorithms()]:
            raise InputError("--algorithm", "", f"{algorithm!r} is not an algorithm of the toy family")

    def algorithm_key(self, algorithm: str) -> str:
        return f"{algorithm} v1"

    def solve_key(self, settings: SolveSettings) -> str:
        if settings.formulation not in ("auto", "sort"):
            raise InputError("--formulation", "", f"{settings.formulation!r} is not one of auto, sort")
        return f"sort effort={settings.effort} v1"

    @property
    def claims(self) -> Claims:
        """Something that is checked of every algorithm, something that no check is about, and something proved."""
        statements = [
            Statement("half", "OPT <= 2 ALG", "nobody", "false", "none", "OPT <= 2 ALG < 3 ALG for `all`"),
            Statement("third", "OPT <= 3 ALG", "nobody", "proved"),
            Statement("sum", "OPT <= the sum", "nobody", "proved", "none", "", "No number < 0 is left out."),
        ]
        return Claims("1", (), statements, self._audit)

    def _audit(
        self, instance: Numbers, run: OnlineRun, reference: SolveReport, names: Collection[str] | None
    ) -> Sequence[Check]:
        """Whether at least half of OPT is reached."""
        _log(f"audit {self.identity(instance)} {run.algorithm}")
        left, right = Fraction(reference.upper), Fraction(2 * run.welfare)
        verdict = Verdict.HOLDS if left <= right else Verdict.VIOLATED
        half = Check(
            "half", verdict, left, right, "OPT <= 2 ALG", None, {"third": Fraction(1, 3), "room": instance.room}
        )
        reason = f"{ANOTHER}another algorithm"
        third = Check("third", Verdict.NOT_APPLICABLE, None, None, reason)
        return [half] if names is None else [each for each in (half, third) if each.name in names]

    def measures(self, instance: Numbers, run: OnlineRun, checks: Sequence[Check]) -> Mapping[str, Fraction | None]:
        return {"share": Fraction(run.welfare, sum(instance.values)) if any(instance.values) else None}

    def accounts(self, instance: Numbers, run: OnlineRun) -> Mapping[str, int]:
        """A vendor is paid 2 for every number, the energy is free."""
        spent = 2 * run.admitted
        return {"vendors": spent, "energy": 0, "bids": int(run.welfare) + spent}

    readings = ("Numbers: `room` counts those < 9 too.",)

    @property
    def studies(self) -> Studies:
        """Of kinds that are not known before a run."""
        return Studies(self._study, draw_study)

    def _study(self, instance: Numbers, study: Study, prior: Numbers | None = None) -> Sequence[Mapping[str, str]]:
        """A second-price sale of the first number: utility over bids, or what the taken ones pay."""
        first, others = instance.values[0], max(instance.values[1:])
        if study.kind == "charges":
            return [
                {"task": str(i), "valuation": str(v), "bid": str(v), "payment": f"{v}/2", "outlay": str(40)}
                for i, v in enumerate(instance.values)
            ]
        if study.kind != "curve":
            raise InputError("study", "kind", f"{shorten(study.kind)} is not made")
        lost = {"task": "0", "valuation": str(first), "bid_from": "0", "bid_to": str(others), "from_included": "true"}
        lost |= {"to_included": "false", "admitted": "false", "payment_from": "", "payment_to": ""}
        won = lost | {"bid_from": str(others), "bid_to": str(2**40), "from_included": "true", "to_included": "true"}
        won |= {"admitted": "true", "payment_from": str(others), "payment_to": str(others)}
        gain = str(first - others)
        return [lost | {"utility_from": "0", "utility_to": "0"}, won | {"utility_from": gain, "utility_to": gain}]

    def check_solution(self, instance: Numbers, taken: tuple[int, ...]) -> _Verified:
        bad = [] if len(taken) <= instance.room else [f"room: {len(taken)} taken, {instance.room} allowed"]
        return _Verified(not bad, sum(instance.values[i] for i in taken), len(taken), bad)

    def export(self, instance: Numbers, kind: str, formulation: str) -> str:
        return f"* {kind} {formulation} {instance.name}\n"


_PLOTS = (
    Plot(
        "sizes",
        "Welfare over sizes",
        "welfare",
        ("5", "10", "20"),
        "numbers",
        ("first", "one", "above:mark=50"),
        (PrintedGain("10", "first", "one", "150"),),
        "Numbers are not drawn as in the paper.",
    ),
    Plot("parts", "What part is taken", "share", ("5", "10", "20"), "numbers"),
    Plot("gains", "Utility over bids", "curve", ("5",), "bid"),
    Plot("sales", "Bids and payments", "charges", ("20",), "numbers"),
)


def _plotted() -> tuple[Case, ...]:
    def case(size: int, seed: int) -> Case:
        studies = (Study("curve", "first", 0), Study("charges", "first")) if seed == 0 else ()
        recipe = {"seed": seed, "size": size, "room": 3}
        algorithms = ("first", "one", "above:mark=50", "above:mark=100")
        return Case(f"{size} run {seed}", recipe, algorithms, SolveSettings(), str(size), studies=studies)

    return tuple(case(size, seed) for size in (5, 10, 20) for seed in range(3))


def _many() -> tuple[Case, ...]:
    recipes = [{"seed": seed, "size": 6, "room": 2} for seed in range(40)]
    return tuple(Case(f"many {i}", recipe, ("first", "one", "above:mark=50")) for i, recipe in enumerate(recipes))


FAMILY = ToyFamily()
