"""Algorithms that are no modules: classes and objects of a notebook, sent by value to a process of their own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ratiobench
from ratiobench.bench.family.registry import families
from ratiobench.formulations.versions import package_versions
from ratiobench.instances.eapm import Instance, generate
from ratiobench.instances.eapm.generate import path
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.named import path as lora_path
from ratiobench.online import user_algorithm
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.referee import sandbox
from ratiobench.online.remarks import NO_ISOLATION
from ratiobench.online.run_context import RunContext, UserAlgorithm, run_context
from ratiobench.online.spec import version
from ratiobench.online.user_algorithm import name_algorithms
from tests.support import eapm_contestants
from tests.support.commands import python
from tests.support.eapm_contestants import Honest

ROOT = Path(__file__).resolve().parents[2]
FILE = path("free_energy")
CELL = """
import math
from ratiobench.online.user_algorithm import name_algorithms
from ratiobench.online.referee import sandbox

LEVEL = {level}

def helper(x):
    return math.sqrt(x) if x in {{"a", "b", "c", 3}} else LEVEL

class Mine:
    words = {{"x", "y", "z"}}

    def start(self, public, constants):
        self.public = public

    def decide(self, user, view):
        return super().__eq__(helper(user))

print(name_algorithms([Mine])[1]["own:Mine"].code)
"""


def run(algorithm: object) -> OnlineRun:
    """One run on a tiny instance."""
    return ratiobench.simulate(FILE, algorithm)


def test_a_class_and_an_object_run_as_their_module_does() -> None:
    """The same decisions under names of their own; nothing of them in the referee's process but a pickle."""
    machine = 1

    class Fixed(Honest):
        def __init__(self, which: int = machine) -> None:
            self.which = which

        def decide(self, user: Any, view: Any) -> Any:
            return tuple(np.eye(len(self.public.machines), dtype=int)[self.which] * user.tasks)

    plain, same = run("tests.support.eapm_contestants:Honest"), run(Honest())
    assert plain.valid
    assert (same.algorithm, same.decisions) == ("own:Honest", plain.decisions)
    fixed = run(Fixed(0))
    assert (fixed.algorithm, fixed.valid) == ("own:Fixed", True)
    assert fixed.decisions != plain.decisions


def test_a_class_of_a_module_keeps_its_import_path() -> None:
    """So it shares results with the same text; text is passed through; an object has the name that it gives itself."""

    class Named(Honest):
        name = "low-3"

    names, handed = name_algorithms([Honest, "greedy", eapm_contestants.ChangesItsMind, Named, Named()])
    assert names == (
        "tests.support.eapm_contestants:Honest", "greedy", "tests.support.eapm_contestants:ChangesItsMind", "own:Named",
        "own:low-3",
    )  # fmt: skip
    assert list(handed) == ["own:Named", "own:low-3"]


def test_the_key_names_the_solvers_that_the_code_names() -> None:
    """Their answers differ between versions; code that names none has the key of its content alone."""

    class Asks(Honest):
        def decide(self, user: Any, view: Any) -> Any:
            import highspy

            return highspy.Highs().getNumCol()

    (name, plain), handed = name_algorithms([Asks(), Honest()])
    registry = families()["eapm"].environment.registry
    with run_context(RunContext(own=handed)):
        assert version(registry.parse(name)) == f"{handed[name].code} {package_versions('highs')}"
        assert version(registry.parse(plain)) == handed[plain].code


def test_the_key_follows_the_content() -> None:
    """What it is built with and what it uses, not when or where it was written; one name for two is refused."""

    def made(level: int) -> type:
        class Mine(Honest):
            def decide(self, user: Any, view: Any) -> Any:
                return level

        return Mine

    def code(given: object) -> str:
        return next(iter(name_algorithms([given])[1].values())).code

    assert code(made(1)) == code(made(1)) != code(made(2))
    assert code(made(1)) != code(made(1)())
    with pytest.raises(InputError, match="own:Mine: two of them have this name"):
        name_algorithms([made(1), made(2)])
    assert len(name_algorithms([made(1), made(1)])[0]) == 2
    named = [type("Mine", (Honest,), {"decide": each}) for each in (lambda self, a, b: 0, lambda self, a, *, b: 0)]
    assert code(named[0]) != code(named[1])


def test_the_key_is_the_same_in_another_session(tmp_path: Path) -> None:
    """Whatever the process, the order of its sets, the file and the line; another value of a global is another key."""

    def told(level: int, seed: str, lines: int, *, stdin: bool = False) -> str:
        text = "\n" * lines + CELL.format(level=level)
        (tmp_path / f"cell{lines}.py").write_text(text)
        words = [] if stdin else [f"cell{lines}.py"]
        return python(*words, folder=tmp_path, text=text if stdin else None, PYTHONHASHSEED=seed).stdout

    assert told(1, "1", 0) == told(1, "2", 9) == told(1, "3", 0, stdin=True) != told(2, "1", 0)


SETS = """
import collections
from ratiobench.online.user_algorithm import name_algorithms

class Words(set):
    pass

class Mine:
    def __init__(self, words, more):
        self.words, self.deep = words, [{{"a": (1, frozenset(words))}}, collections.Counter(sorted(map(len, words)))]
        self.more, self.keyed = Words(words), {{frozenset(words): 1, 2: 3}}
        self.counted = collections.defaultdict(int, {{"x": set(words)}})
        self.loop = [self, words]
        self.loop.append(self.loop)
        def helper(x, known=frozenset(words), *, other=[words]):
            return x in words
        self.helper, self.number = helper, more

    def start(self, public, constants):
        pass

    def decide(self, user, view):
        return self.helper(user)

print(name_algorithms([Mine({words}, {more})])[1]["own:Mine"].code)
"""


def test_the_key_does_not_follow_the_order_of_sets_wherever_they_stand() -> None:
    """In attributes, containers in them, closures, defaults, classes of their own; their content is in the key."""

    def told(words: str, more: int, seed: str) -> str:
        return python("-c", SETS.format(words=words, more=more), PYTHONHASHSEED=seed).stdout

    words = "{'one', 'two', 'three', ('four', frozenset({'five', 'six'}))}"
    first = told(words, 1, "1")
    assert first == told(words, 1, "2")
    assert len({first, told(words.replace("six", "ten"), 1, "1"), told(words, 2, "1")}) == 3


def test_a_set_without_an_order_of_its_own_is_refused() -> None:
    """Its elements have no text but their address, so the key would differ from process to process."""

    class Mine(Honest):
        def __init__(self) -> None:
            self.known = [{object()}]

    with pytest.raises(InputError, match=r"own:Mine: it carries a set with <object object at .*: use a list or tuple"):
        name_algorithms([Mine()])


def test_the_key_follows_the_modules_that_it_names(tmp_path: Path) -> None:
    """A base class or a function of a file of one's own: when the file is changed, it is another algorithm."""

    def told(text: str, cell: str) -> str:
        (tmp_path / "mine.py").write_text(f"from tests.support.eapm_contestants import Honest\n{text}\n")
        code = f"{cell}\nfrom ratiobench.online.user_algorithm import name_algorithms\n"
        code += "print(name_algorithms([Low])[1]['own:Low'].code)"
        return python("-B", "-c", code, folder=tmp_path).stdout

    for cell in (
        "import mine\nclass Low(mine.Honest):\n    level = 3",
        "import mine\nclass Low:\n    def start(self, p, c): mine.x\n    def decide(self, t, v): pass",
    ):
        assert told("x = 1", cell) == told("x = 1", cell)
        assert (told("x = 1", cell) != told("x = 2", cell)) == ("mine.x" in cell)


def test_what_cannot_be_sent_is_one_line() -> None:
    """What is no algorithm, holds a file, carries too much or has an impossible name."""

    class Holds(Honest):
        def __init__(self, what: object) -> None:
            self.what = what

    class Odd(Honest):
        name = "a:b"

    with open(os.devnull, "rb") as file:
        for given, words in (
            (7, "7 is neither a name nor a class or object"),
            (dict, "neither a name nor"),
            (Holds(file), "own:Holds: it cannot be sent to a process of its own: "),
            (Odd(), "own:Odd: 'a:b' is not a name"),
        ):
            with pytest.raises(InputError, match=words) as error:
                name_algorithms([given])
            assert len(str(error.value).splitlines()) == 1


def test_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.zeros(10_000)

    class Large(Honest):
        def decide(self, user: Any, view: Any) -> Any:
            return table

    monkeypatch.setattr(user_algorithm, "LARGEST", 10_000)
    with pytest.raises(InputError, match=r"own:Large: [0-9]+ bytes with all that it carries; at most 10000"):
        name_algorithms([Large])


def test_the_future_is_not_carried_along() -> None:
    """An instance, OPT or a run, in an attribute or a variable that it uses; modules of `bench` are caught peeking."""
    day: Instance = ratiobench.instance(FILE)
    report, before = ratiobench.opt(day), run("greedy")

    class Knows(Honest):
        def __init__(self, what: object) -> None:
            self.what = what

    class Looks(Honest):
        def decide(self, user: Any, view: Any) -> Any:
            return day.users

    best = ratiobench.opt(lora_path("tiny_contention")).solution
    kept = ratiobench.simulate(lora_path("tiny_contention"), "pdftsp").trace
    for given in (Knows(day), Looks, Knows([{"x": report}]), Knows(before), Knows(best), Knows({"x": kept})):
        with pytest.raises(InputError, match=r"it carries what it must not know, an object of [a-z.]+[A-Z]"):
            run(given)
    for thing in (families()["eapm"], generate):
        found = run(Knows(thing))
        assert [violation.rule for violation in found.violations] == ["peeks"]


def test_its_modules_must_be_there() -> None:
    class Broken(Honest):
        pass

    handed = UserAlgorithm("1", b"cnosuch\nThing\n.")
    with (
        run_context(RunContext(own={"own:Broken": handed})),
        pytest.raises(InputError, match=r"own:Broken.*No module named 'nosuch'"),
    ):
        families()["eapm"].run(ratiobench.instance(FILE), "own:Broken")
    with pytest.raises(InputError, match="own:NAME is a class or object that a notebook or script hands to"):
        run("own:Broken")


def test_one_that_draws_gets_its_seed() -> None:
    """A number before `start`, another one in the next repetition."""

    class Draws(Honest):
        randomised = True
        seed = None

        def start(self, public: Any, constants: Any) -> None:
            super().start(public, constants)
            self.label = f"seed {self.seed}"

    labels = []
    for repetition in (1, 2):
        handed = name_algorithms([Draws])[1]
        with run_context(RunContext(own=handed, repetition=repetition)):
            labels.append(families()["eapm"].run(ratiobench.instance(FILE), "own:Draws").label)
            assert families()["eapm"].is_randomised("own:Draws")
    assert labels[0] != labels[1]
    assert labels[0].startswith("own:Draws (seed ")


def test_it_runs_in_a_sandbox() -> None:
    if (method := sandbox.choose(None)) == NO_ISOLATION:
        pytest.skip("there is no sandbox here")

    class Even:
        def start(self, public: Any, constants: Any) -> None:
            self.machines = len(public.machines)

        def decide(self, user: Any, view: Any) -> Any:
            return (user.tasks, *(0 for _ in range(self.machines - 1)))

    found = ratiobench.simulate(FILE, Even, isolate=True)
    assert (found.valid, found.label) == (True, f"own:Even (isolated by {method})")
