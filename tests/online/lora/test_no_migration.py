"""Online algorithms that keep tasks on one node: the referee's rule, the forms of ours, and the slow twins of some."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import ratiobench
from ratiobench.bench.cli import main
from ratiobench.bench.family.registry import families
from ratiobench.bench.lora.proof_status import proof_status
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.lora.solve import solve
from ratiobench.formulations.report import SolveReport
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora import Decision, Instance, document, parse
from ratiobench.instances.lora.model import Public, Task
from ratiobench.online.lora.registry import canonical, entries
from ratiobench.online.lora.run import ENVIRONMENT, LoraEnvironment, run
from ratiobench.online.run import run_built
from tests.formulations.lora.test_models import contended_instance
from tests.formulations.lora.test_no_migration import MOVING, swap, wide_instance, written
from tests.support import literal
from tests.support.literal import Cells, schedules
from tests.support.nightly import one_in
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances

ABLE = tuple(name for name, entry in entries().items() if "migrate" in entry.options)
VARIANTS = (*ABLE, "pdftsp:search=printed", "pdftsp:updates=admitted", "pdftsp:arith=float", "posted:arith=float")


def test_which_algorithms_have_the_form() -> None:
    """And their names without it, which key stored results, are what they were."""
    assert set(ABLE) == {
        "bbar-rule", "capped", "eft", "eris", "greedy", "minimal-edit", "ntm", "pdftsp", "posted",
    }  # fmt: skip
    assert canonical("greedy") == "greedy version 1"
    assert canonical("pdftsp:search=printed") == "pdftsp:search=printed version 2"
    assert canonical("greedy:migrate=yes") == "greedy version 1"
    assert canonical("greedy:migrate=no") == "greedy:migrate=no version 1"


class Moving:
    """Answers what it was made with."""

    def start(self, public: Public, constants: object) -> None:
        """Nothing to do."""

    def decide(self, task: Task, view: object) -> Decision | None:
        return MOVING[task.index]


def test_the_referee_refuses_two_nodes() -> None:
    """Valid for P; without migration the first decision on two nodes ends the run."""
    assert run_built(ENVIRONMENT, swap(), Moving(), "moving", "1", (), "").valid
    refused = run_built(LoraEnvironment(one_node=True), swap(), Moving(), "moving", "1", (), "")
    found = [str(each) for each in refused.violations]
    assert found == ["R2: task 1: runs on nodes 0 and 1; it may run on 1, the same in all slots"]
    assert refused.label == "moving (no migration)"
    assert refused.decisions == (MOVING[0], None, None)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_run_stays_below_the_optimum_without_migration(variant: str) -> None:
    """Contended instances with several nodes: valid, on one node each, at most brute force, the same again."""
    for number in range(12):
        for instance in (contended_instance(number), wide_instance(number)):
            result = run(instance.without_migration(), variant, seed="any")
            assert result.valid, result.violations
            verdict = check(instance.without_migration(), result.decisions)
            assert verdict.valid
            assert verdict.welfare == result.welfare <= enumerate_optimum(instance.without_migration())[0]
            assert "(no migration)" in result.label
            assert result.trace is None
            same = run(instance, result.algorithm, seed="any")
            assert (same.decisions, same.label, same.counts) == (result.decisions, result.label, result.counts)


@pytest.mark.parametrize("variant", VARIANTS)
def test_on_a_single_node_nothing_changes(variant: str) -> None:
    """Where there is one node only, both forms decide and charge alike."""
    admitted = 0
    for number in range(samples(40)):
        data = document(contended_instance(number))
        if len(data["node_types"]) == 1:
            data["node_types"][0]["count"] = 1
            instance = parse(data)
            free, stays = (run(each, variant, seed="any") for each in (instance, instance.without_migration()))
            assert free.decisions == stays.decisions
            assert (free.counts, free.arithmetic) == (stays.counts, stays.arithmetic)
            admitted += stays.admitted
    assert admitted > 5


def staying(task: Task, public: Public) -> Iterator[tuple[int, Cells]]:
    """The schedules on a single node."""
    return ((n, cells) for n, cells in schedules(task, public) if len({k for k, _ in cells}) <= 1)


@settings(max_examples=samples(80), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(instance=tiny_instances())
def test_the_choice_is_the_best_on_any_node(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    """Greedy, the Eris-style auction and pdFTSP against their twins that look at every schedule on a single node."""
    monkeypatch.setattr(literal, "schedules", staying)
    for name, slow in (("greedy", literal.run_greedy), ("eris", literal.run_eris)):
        result = run(instance.without_migration(), name)
        assert [None if d is None else d[:3] for d in result.decisions] == slow(instance), name
    result = run(instance.without_migration(), "pdftsp:units=given")
    for decision, (_, admitted, cells, payment) in zip(
        result.decisions, literal.run_pdftsp(instance, "exact"), strict=True
    ):
        assert (decision is not None) == admitted
        assert decision is None or (decision.cells, decision.payment) == (cells, payment)


@settings(max_examples=samples(80))
@given(instance=tiny_instances())
def test_earliest_finish_takes_the_node_that_is_done_first(instance: Instance) -> None:
    """Ties: the smallest list of (slot, node). NTM's nodes are its own."""
    for name, alone in (("eft", False), ("ntm", True)):
        result = run(instance.without_migration(), name, seed="any")
        public = instance.public("any")
        kind = public.type_of_node.tolist()
        load: literal.Load = {}
        for i, decision in enumerate(result.decisions):
            task = instance.task(i)
            options = task.options
            option = min(options, key=lambda o: (o.first, o.price, o.vendor or 0))
            if alone:
                option = options[Stream("vendor", "any", i).integer(0, len(options) - 1)]
            done = []
            for k, g in enumerate(kind):
                slots = [t for t in range(option.first, task.deadline + 1) if fits(load, task, public, k, t, alone)]
                if task.rate[g] > 0 and len(slots) * task.rate[g] >= task.work:
                    needed = slots[: -(-task.work // int(task.rate[g]))]
                    done.append((needed[-1], [(t, k) for t in needed]))
            cells = tuple((k, t) for t, k in min(done)[1]) if done else ()
            net = task.bid - option.price - sum(int(task.cost[kind[k], t - 1]) for k, t in cells)
            if cells and net > 0:
                assert decision == Decision(option.vendor, cells)
                literal.place(load, task, public, cells)
            else:
                assert decision is None


def fits(load: literal.Load, task: Task, public: Public, node: int, slot: int, alone: bool) -> bool:
    """Whether the cell has room, and nobody else on it where a task is to be `alone`."""
    return literal._stands(load, task, public, node, slot) and not (alone and (node, slot) in load)


# ------------------------------------------------------------------------------------------- commands and audits


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit status and both streams of a command."""
    status = main(arguments)
    return status, *capsys.readouterr()


def test_the_command_says_that_nothing_migrates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the flag and by the option alike; what is written passes the checker."""
    file, solution = written(tmp_path, swap()), str(tmp_path / "solution.json")
    status, out, _ = told(capsys, "simulate", file, "--algorithm", "greedy", "--no-migration", "--solution", solution)
    assert status == 0
    assert out.startswith("greedy:migrate=no (no migration): welfare 12 micro-dollars")
    assert told(capsys, "check", file, solution, "--no-migration")[1].startswith("valid\n")
    document = json.loads(told(capsys, "simulate", file, "--algorithm", "greedy", "--no-migration", "--json")[1])
    named = json.loads(told(capsys, "simulate", file, "--algorithm", "greedy:migrate=no", "--json")[1])
    assert document.pop("migration") is False
    assert document.pop("instance") != named.pop("instance")
    assert document | {"seconds": 0} == named | {"seconds": 0}
    assert told(capsys, "simulate", file, "--algorithm", "greedy")[1].startswith("greedy: welfare 17")
    assert ratiobench.simulate(file, "greedy", no_migration=True).welfare == 12


def test_an_algorithm_without_the_form_is_an_input_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = told(capsys, "simulate", written(tmp_path, swap()), "--algorithm", "titan", "--no-migration")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "titan" in err
    assert "greedy" in err
    with pytest.raises(InputError):
        run(swap(), "titan:migrate=no")


def test_anyones_algorithm_is_held_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By import path, in a process of its own: a decision on two nodes is a violation, others are not."""
    (tmp_path / "staying_or_not.py").write_text(
        "class Mover:\n"
        "    def __init__(self, options=None): self.cells = {0: [(0, 1)], 1: [(1, 1), (0, 2)], 2: [(1, 2)]}\n"
        "    def start(self, public, constants): pass\n"
        "    def decide(self, task, view): return (None, self.cells[task.index], None)\n"
        "class Stayer(Mover):\n"
        "    def decide(self, task, view):\n"
        "        return None if task.index == 1 else (None, self.cells[task.index], None)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert run(swap(), "staying_or_not:Mover").valid
    moved = run(swap().without_migration(), "staying_or_not:Mover")
    assert [each.rule for each in moved.violations] == ["R2"]
    stayed = run(swap().without_migration(), "staying_or_not:Stayer")
    assert (stayed.valid, stayed.welfare) == (True, 10)
    assert stayed.label.endswith("(no migration)")


@pytest.fixture(scope="module")
def solved() -> tuple[Instance, SolveReport]:
    """A contended instance, and the interval on its OPT."""
    instance = contended_instance(4)
    return instance, solve(instance)


@pytest.mark.parametrize("name", one_in(3, ABLE))
def test_no_theorem_is_claimed_of_the_form(name: str, solved: tuple[Instance, SolveReport]) -> None:
    """Audits find nothing violated that they were not asked to prove, and the leaderboard promises nothing."""
    instance, report = solved
    family = families()["lora"]
    checks: dict[str, Any] = {
        check.name: check for check in family.audit(instance, family.run(instance, f"{name}:migrate=no"), report)
    }
    for claim in ("theorem5", "theorem_a", "theorem_b", "theorem_c", "theorem_g", "lemma1"):
        assert claim not in checks or checks[claim].status.value == "not applicable", claim
    assert proof_status(f"{name}:migrate=no") == {"guarantee": "none known", "truthful": "not examined"}
