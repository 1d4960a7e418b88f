"""EAPM's online contract: what an algorithm sees, what the referee books and refuses, and who is caught cheating."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.formulations.eapm.check import check
from ratiobench.formulations.eapm.search import enumerate_optimum
from ratiobench.instances.eapm import Instance, Public, User, content_hash, document, parse, write
from ratiobench.instances.eapm.format import FORMAT
from ratiobench.instances.eapm.model import profit_rate
from ratiobench.instances.io.errors import InputError
from ratiobench.online.eapm.protocol import View
from ratiobench.online.eapm.registry import Entry, Option, algorithms, canonical, entries
from ratiobench.online.eapm.registry import parse as parse_name
from ratiobench.online.eapm.run import ENVIRONMENT, run
from ratiobench.online.outcome import OnlineRun, Source
from ratiobench.online.referee import user_run
from ratiobench.online.run import list_choices, run_built
from ratiobench.online.spec import YESTERDAY
from tests.support import eapm_contestants
from tests.support.samples import samples
from tests.support.strategies.eapm import tiny_instances

VARIANTS = [
    f"{entry.name}:{options}" if options else entry.name for entry in entries().values() for options in entry.choices()
]


def _instance(users: int = 6, **fields: Any) -> Instance:
    """Two machines, two types of task, bags of four."""
    return parse(
        {
            "format": FORMAT,
            "name": "contest",
            "energy_price": 2,
            "machines": ["a", "b"],
            "task_types": [
                {"name": "long", "etc_ms": [7, 4], "apc_mw": [1, 3]},
                {"name": "short", "etc_ms": [1, 2], "apc_mw": [5, 2]},
            ],
            "users": [{"type": i % 2, "tasks": 4, "price": 50 + i} | fields for i in range(users)],
        }
    )


@pytest.fixture(scope="module")
def instance() -> Instance:
    return _instance()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that contestants find by their environment."""
    monkeypatch.setenv("CONTESTANT_FOLDER", str(tmp_path))
    return tmp_path


def _own(instance: Instance, algorithm: Any) -> OnlineRun:
    return run_built(ENVIRONMENT, instance, algorithm, "own", "1", (), "")


def _obeys(instance: Instance, result: OnlineRun) -> None:
    """Valid, and its figures are the literal sums of its decisions."""
    assert result.valid, result.violations
    verdict = check(instance, result.decisions)
    assert verdict.valid, verdict.violations
    load, profit = _literal(instance, result.decisions)
    assert result.welfare == result.true_welfare == verdict.value == profit_rate(profit, max(load))
    assert (result.admitted, result.revenue) == (instance.users, None)


def _literal(instance: Instance, decisions: tuple[tuple[int, ...], ...]) -> tuple[list[int], int]:
    """Loads and profit, summed as (4) and (6) are printed."""
    load, profit = [0] * len(instance.machines), 0
    for i, decision in enumerate(decisions):
        user = instance.user(i)
        profit += user.price
        for j, share in enumerate(decision):
            load[j] += share * int(user.etc_ms[j])
            profit -= share * int(user.cost[j])
    return load, profit


# What every algorithm of ours keeps to.


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=samples(25))
@given(instance=tiny_instances(max_users=4, max_tasks=3))
def test_a_run_is_valid_repeatable_and_at_most_opt(variant: str, instance: Instance) -> None:
    """On tiny instances: the referee's and the verifier's figures, a second run, brute force."""
    result = run(instance, variant, prior=instance)
    _obeys(instance, result)
    again = run(instance, variant, prior=instance)
    assert (again.decisions, again.label, again.counts) == (result.decisions, result.label, result.counts)
    assert result.welfare <= enumerate_optimum(instance)[0]


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=samples(25))
@given(instance=tiny_instances(max_users=4, max_tasks=3), data=st.data())
def test_decisions_do_not_depend_on_later_arrivals(variant: str, instance: Instance, data: st.DataObject) -> None:
    """With the constants given: later users altered, then cut away."""
    whole = run(instance, variant)
    stated = ",".join(f"{constant.name}={constant.value}" for constant in whole.constants)
    fixed = f"{variant}{',' if ':' in variant else ':'}{stated}" if stated else variant
    end = data.draw(st.integers(1, instance.users))
    altered: dict[str, Any] = document(instance)
    for user in altered["users"][end:]:
        user["price"] = data.draw(st.integers(0, 200))
        user["tasks"] = data.draw(st.integers(1, 9))
    cut = altered | {"users": altered["users"][:end]}
    for other in (altered, cut):
        assert run(parse(other), fixed).decisions[:end] == whole.decisions[:end]


@settings(max_examples=samples(50))
@given(instance=tiny_instances(max_users=4, max_tasks=3))
def test_the_view_shows_what_the_decisions_so_far_have_led_to(instance: Instance) -> None:
    """Loads and profit before every user, against literal sums; later views leave earlier ones alone."""
    seen: list[tuple[User, View]] = []

    class Watches(eapm_contestants.Honest):
        def decide(self, user: User, view: View) -> Any:
            seen.append((user, view))
            return super().decide(user, view)

    result = _own(instance, Watches())
    _obeys(instance, result)
    assert len(seen) == instance.users
    for i, (user, view) in enumerate(seen):
        assert (view.load_ms.tolist(), view.profit) == _literal(instance, result.decisions[:i])
        truth = instance.user(i)
        assert (user.index, user.tasks, user.price) == (i, truth.tasks, truth.price)
        assert (user.etc_ms.tolist(), user.cost.tolist()) == (truth.etc_ms.tolist(), truth.cost.tolist())
        for array in (view.load_ms, user.etc_ms, user.cost):
            assert array.base is None
            assert not array.flags.writeable


# What the referee refuses.

ODD = {
    "too_few": ("5", "2 tasks placed, the bag has 4"),
    "too_many": ("5", "6 tasks placed, the bag has 4"),
    "negative": ("7", "machine 1 gets -2 tasks"),
    "short": ("protocol", "1 shares for 2 machines"),
    "long": ("protocol", "3 shares for 2 machines"),
    "empty": ("protocol", "0 shares for 2 machines"),
} | dict.fromkeys(
    ["text", "floats", "float_array", "table", "nan", "true", "truths", "huge", "none", "mapping", "generator",
     "object"],
    ("protocol", "which is no list of integers"),
)  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
def test_an_answer_that_is_no_decision_is_named(instance: Instance, odd: str) -> None:
    """The equation or `protocol`, at the user; what stood before stays, and no consequence is listed beside it."""
    rule, words = ODD[odd]
    result = _own(instance, eapm_contestants.Answers({"odd": odd}))
    assert not result.valid
    (violation,) = result.violations
    assert (violation.rule, violation.task) == (rule, 1)
    assert words in violation.detail
    assert str(violation).startswith(f"{rule}: user 1: ")
    assert len(str(violation)) < 200
    assert [decision is None for decision in result.decisions] == [False] + [True] * 5
    assert result.admitted == 1
    assert result.welfare == 0


@pytest.mark.parametrize("odd", ["too_few", "negative", "long", "text", "table", "truths", "huge", "none", "object"])
def test_it_is_named_alike_from_a_process_of_its_own(instance: Instance, odd: str) -> None:
    """The way through the pipe changes no verdict."""
    far = run(instance, f"tests.support.eapm_contestants:Answers:odd={odd}").violations
    near = _own(instance, eapm_contestants.Answers({"odd": odd})).violations
    assert [(v.rule, v.task) for v in far] == [(v.rule, v.task) for v in near]


def test_every_kind_of_integers_is_a_decision(instance: Instance) -> None:
    """Tuples, lists and arrays of Python's or NumPy's integers, copied to plain ones."""
    for make in (tuple, list, np.array, lambda shares: [np.int16(x) for x in shares]):

        class Dressed(eapm_contestants.Honest):
            dress = staticmethod(make)

            def decide(self, user: User, view: View) -> Any:
                return self.dress(super().decide(user, view))

        result = _own(instance, Dressed())
        _obeys(instance, result)
        assert all(type(decision) is tuple for decision in result.decisions)
        assert {type(share) for decision in result.decisions for share in decision} == {int}


@pytest.mark.parametrize("name", ["ChangesItsMind", "FillsItsArray"])
def test_the_first_answer_stands(instance: Instance, name: str) -> None:
    """An algorithm of ours that alters what it gave back is named; the books and the figures keep the first version."""
    result = _own(instance, getattr(eapm_contestants, name)())
    assert not result.valid
    assert {violation.rule for violation in result.violations} == {"changed decision"}
    honest = _own(instance, eapm_contestants.Honest())
    assert (result.decisions, result.welfare) == (honest.decisions, honest.welfare)


def test_figures_at_the_formats_limits_are_exact() -> None:
    """Loads and profits near 2^62, where doubles would round."""
    tasks, time = 2**40 - 1, 2**20 - 1
    data = document(_instance(3)) | {
        "energy_price": 1,
        "task_types": [{"name": name, "etc_ms": [time, time], "apc_mw": [1, 1]} for name in ("x", "y")],
        "users": [{"type": i % 2, "tasks": tasks, "price": tasks * time + i} for i in range(3)],
    }
    large = parse(data)
    result = _own(large, eapm_contestants.Honest())
    _obeys(large, result)
    assert result.welfare == profit_rate(0 + 1 + 2, 2 * tasks * time)


# Names.


def test_names_have_one_spelling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options at their defaults are left out, the others sorted, constants reduced; a version stands behind."""
    monkeypatch.setattr("ratiobench.online.registry._constants", lambda package: {"users": _how_many})
    name = "tests.support.eapm_contestants:Declares"
    assert canonical(f"{name}:users=14/2") == canonical(name).replace(name, f"{name}:users=7")
    assert canonical(f"{name}:what=1,users=7,a=2") == canonical(name).replace(name, f"{name}:a=2,what=1,users=7")
    for variant in VARIANTS:
        assert canonical(canonical(variant).split()[0]) == canonical(variant)
    assert {name for name, _ in algorithms()} == set(entries())


def test_choices_are_every_combination_of_listed_options() -> None:
    """Free text is left at its default; without options there is one way to write the name."""
    options = {"a": Option("1", ("1", "2"), ""), "b": Option("x", ("x", "y"), ""), "free": Option("7", None, "")}
    entry = Entry("name", "", "1", options, lambda given: None)
    assert list(entry.choices()) == ["a=1,b=x", "a=1,b=y", "a=2,b=x", "a=2,b=y"]
    assert list(Entry("name", "", "1", {}, lambda given: None).choices()) == [""]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nobody", "no algorithm of this name"),
        ("", "no algorithm of this name"),
        ("tests.no_such_module:Honest", "there is no module 'tests.no_such_module'"),
        ("tests.support.eapm_contestants:Nobody", "AttributeError"),
        ("tests.support.eapm_contestants:BadConstructor", "TypeError"),
        ("tests.support.eapm_contestants:Answers:odd", "is not key=value"),
        ("tests.support.eapm_contestants:Answers:odd=1,odd=2", "given twice"),
        ("tests.support.eapm_contestants:Declares", "declares the constant 'users'"),
    ],
)
def test_what_does_not_exist_is_an_input_error(instance: Instance, name: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        run(instance, name)
    assert "\n" not in str(caught.value)


def test_every_algorithm_warms_up() -> None:
    for name in list_choices(ENVIRONMENT):
        run(ENVIRONMENT.small(), name)


def _how_many(instance: Instance) -> tuple[Fraction, str]:
    return Fraction(instance.users), "counted"


def test_declared_constants_have_sources(instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Oracle, given, a file, the other day; the instance under test is no other one, whatever its file is called."""
    monkeypatch.setattr("ratiobench.online.registry._constants", lambda package: {"users": _how_many})
    path = "tests.support.eapm_contestants:Declares"
    write(_instance(3), tmp_path / "other.json")
    write(instance, tmp_path / "same.json")

    def found(options: str, prior: Instance | None = None) -> tuple[str, Source, str]:
        (constant,) = run(instance, path + options, prior=prior).constants
        return str(constant.value), constant.source, constant.detail

    assert found("") == ("6", Source.ORACLE, "counted")
    assert found(":users=7/2") == ("7/2", Source.GIVEN, "")
    assert found(f":prior={tmp_path / 'other.json'}") == ("3", Source.PRIOR, f"{tmp_path / 'other.json'}, counted")
    assert found(f":prior={tmp_path / 'same.json'}") == ("6", Source.ORACLE, "counted")
    other = _instance(5)
    told = f"yesterday ({content_hash(other)[:12]}), counted"
    assert found(":prior=yesterday", other) == ("5", Source.PRIOR, told)
    with pytest.raises(InputError, match=YESTERDAY):
        run(instance, f"{path}:prior=yesterday")
    write(_instance(4), tmp_path / "third.json")
    with pytest.raises(InputError, match="2 instances are named; it takes one"):
        found(f":prior={tmp_path / 'other.json'};{tmp_path / 'third.json'}")
    with pytest.raises(InputError, match="negative"):
        parse_name(f"{path}:users=-1")
    first = canonical(f"{path}:prior={tmp_path / 'other.json'}")
    assert content_hash(_instance(3)) in first


# Anyone's own.


def _caught(instance: Instance, name: str) -> tuple[str, int | None, str]:
    result = run(instance, f"tests.support.eapm_contestants:{name}")
    assert not result.valid
    first = result.violations[0]
    return first.rule, first.task, first.detail


def test_an_honest_algorithm_passes(instance: Instance) -> None:
    """The decisions that it makes in our process, the import path as its name, the file's hash as its version."""
    result = run(instance, "tests.support.eapm_contestants:Honest")
    _obeys(instance, result)
    assert result.decisions == _own(instance, eapm_contestants.Honest()).decisions
    assert (result.algorithm, result.label, result.constants) == ("tests.support.eapm_contestants:Honest",) * 2 + ((),)
    assert canonical(result.algorithm) == f"{result.algorithm} version {result.version}"


CHEATERS: Mapping[str, tuple[str, int | None]] = {
    "ChangesItsMind": ("changed decision", 0),
    "FillsItsArray": ("changed decision", 0),
    "WritesToTheView": ("read-only", 0),
    "WritesToTheUser": ("read-only", 0),
    "ShrinksTheBag": ("read-only", 0),
    "ReadsTheHouse": ("peeks", None),
    "WritesToThePipe": ("protocol", 0),
}


@pytest.mark.parametrize("name", CHEATERS)
def test_a_cheater_is_caught_and_named(instance: Instance, name: str) -> None:
    assert _caught(instance, name)[:2] == CHEATERS[name]


@pytest.mark.parametrize("file", ["day.json", "day.json.gz", "results.sqlite"])
def test_reading_the_instance_before_the_start_is_peeking(instance: Instance, tmp_path: Path, file: str) -> None:
    """Known by its content: plain, in gzip, and stored results that carry its hash."""
    if file == "results.sqlite":
        (tmp_path / file).write_bytes(b"SQLite format 3\x00..." + content_hash(instance).encode())
    else:
        write(instance, tmp_path / file)
    rule, _, detail = _caught(instance, f"ReadsTheFile:file={tmp_path / file}")
    assert rule == "peeks"
    assert file in detail


def test_algorithms_and_solvers_of_ours_may_be_used(
    instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Subclassed at the head of the file; every user is solved alone on the way."""
    (tmp_path / "mine.py").write_text(
        "from ratiobench.formulations.eapm.solve import solve\nfrom ratiobench.instances.eapm import parse\n"
        "from ratiobench.online.eapm.algorithms.greedy import Greedy\n"
        "from ratiobench.online.eapm.registry import entries\n"
        "class Mine(Greedy):\n"
        "    def start(self, public, constants):\n"
        "        assert 'balance' in entries()\n"
        "        self.public = public\n"
        "    def decide(self, user, view):\n"
        "        names = [machine for machine in self.public.machines]\n"
        "        kind = {'name': 'own', 'etc_ms': user.etc_ms.tolist(), 'apc_mw': [1] * len(names)}\n"
        f"        alone = parse({{'format': {FORMAT!r}, 'name': 'alone', 'energy_price': 1, 'machines': names,\n"
        "            'task_types': [kind], 'users': [{'type': 0, 'tasks': user.tasks, 'price': 9}]})\n"
        "        assert sum(solve(alone).solution[0]) == user.tasks\n"
        "        return super().decide(user, view)\n"
    )
    monkeypatch.chdir(tmp_path)
    result = run(instance, "mine:Mine")
    _obeys(instance, result)
    assert result.decisions == run(instance, "greedy").decisions


def test_answers_that_depend_on_later_arrivals_peek(
    instance: Instance, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole runs agree, and the run without the later arrivals does not."""
    monkeypatch.setattr(user_run, "REPEATS", 1)
    monkeypatch.setattr(user_run, "usable_threads", lambda: 1)  # one after another: they count
    rule, user, detail = _caught(instance, "EveryOtherRun")
    assert (rule, user) == ("peeks", 0)
    assert detail == "the answer differs when later arrivals are taken away"
    assert (folder / "runs").read_text() == "xxx"


def test_the_public_part_is_all_that_is_known_at_the_start(instance: Instance) -> None:
    """Neither the number of users nor the types of task are in it."""
    given: list[Any] = []

    class Notes(eapm_contestants.Honest):
        def start(self, public: Public, constants: Mapping[str, Any]) -> None:
            given.extend((public, constants))
            super().start(public, constants)

    _own(instance, Notes())
    public, constants = given
    assert constants == {}
    assert {name: getattr(public, name) for name in public.__slots__} == {"machines": ("a", "b"), "energy_price": 2}
