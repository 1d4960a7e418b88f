"""The shipped instances: what they cover, and their figures recomputed from the definitions."""

import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import Instance, content_hash, document
from ratiobench.instances.lora.named import expected, named, names, path
from ratiobench.instances.lora.quantities import load, servable
from tests.support.literal import in_gigabytes

COUNTEREXAMPLES = tuple(name for name in names() if not name.startswith("tiny_"))
TINY = tuple(name for name in names() if name.startswith("tiny_"))

Cells = tuple[tuple[int, int], ...]


def schedules(instance: Instance, i: int) -> Iterator[tuple[int, Cells, list[int]]]:
    """Every feasible schedule of a task: its net value b_il, its (node, slot) cells, and their rates."""
    task, public = instance.task(i), instance.public("")
    kind = public.type_of_node.tolist()
    able = [
        k for k, g in enumerate(kind) if 0 < task.rate[g] <= public.compute[g] and task.memory_mb <= public.memory_mb[g]
    ]
    for option in task.options:
        window = range(option.first, task.deadline + 1)
        for nodes in product([None, *able], repeat=len(window)):
            cells = tuple((k, t) for k, t in zip(nodes, window, strict=True) if k is not None)
            rates = [int(task.rate[kind[k]]) for k, _ in cells]
            if sum(rates) >= task.work:
                yield task.bid - option.price - sum(int(task.cost[kind[k], t - 1]) for k, t in cells), cells, rates


def minimal(rates: list[int], work: int) -> bool:
    """Whether no cell can be left out of a cover."""
    return sum(rates) - min(rates) < work


def optimum(instance: Instance, *, minimal_only: bool = False) -> int:
    """OPT by trying every combination of schedules, with the sum of the best values as a bound."""
    public = instance.public("")
    kind = public.type_of_node.tolist()
    choices = []
    for i in range(instance.tasks):
        found = [
            (value, cells)
            for value, cells, rates in schedules(instance, i)
            if value > 0 and (not minimal_only or minimal(rates, int(instance.work[i])))
        ]
        choices.append(sorted(found, reverse=True))
    rest = [0]
    for found in reversed(choices):
        rest.append(rest[-1] + (found[0][0] if found else 0))
    rest.reverse()
    used: dict[tuple[int, int], tuple[int, int]] = {}
    best = 0

    def fits(i: int, cells: Cells) -> bool:
        for k, t in cells:
            samples, memory = used.get((k, t), (0, 0))
            g = kind[k]
            if (
                samples + instance.rate[i, g] > public.compute[g]
                or memory + instance.memory_mb[i] > public.memory_mb[g]
            ):
                return False
        return True

    def place(i: int, cells: Cells, sign: int) -> None:
        for k, t in cells:
            samples, memory = used.get((k, t), (0, 0))
            used[k, t] = samples + sign * int(instance.rate[i, kind[k]]), memory + sign * int(instance.memory_mb[i])

    def search(i: int, value: int) -> None:
        nonlocal best
        best = max(best, value)
        if i == instance.tasks or value + rest[i] <= best:
            return
        for gain, cells in choices[i]:
            if value + gain + rest[i + 1] <= best:
                break
            if fits(i, cells):
                place(i, cells, 1)
                search(i + 1, value + gain)
                place(i, cells, -1)
        search(i + 1, value)

    search(0, 0)
    return best


def minimal_figures(instance: Instance) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """Smallest and largest bbar_il, rho of Lemma 3 and kappa of Theorem 5', all over minimal schedules."""
    bars, kappas = [], [Fraction(0)]
    for i in range(instance.tasks):
        for value, cells, rates in schedules(instance, i):
            if minimal(rates, int(instance.work[i])):
                size = sum(rates) + len(cells) * int(instance.memory_mb[i])
                bars.append(Fraction(value, size))
                kappas.append(max(Fraction(len(cells)), Fraction(sum(rates), min(rates))))
    rates, memory = instance.rate[instance.rate > 0], instance.memory_mb
    spread = max(Fraction(int(rates.max()), int(rates.min())), Fraction(int(memory.max()), int(memory.min())))
    return min(bars), max(bars), 1 + max(bars) / min(bars) * spread, max(kappas)


def figure(name: str, key: str) -> Fraction:
    return Fraction(expected(name)[key])


def test_all_counterexamples_are_shipped() -> None:
    """The two that the theory names first are there, and every counterexample has its figures."""
    assert {"thm5_T5_3tasks", "thm5_T4_4tasks_strict"} <= set(COUNTEREXAMPLES)
    assert len(COUNTEREXAMPLES) == 22
    assert all(expected(name) for name in COUNTEREXAMPLES)


def test_the_table_of_figures_names_shipped_instances_only() -> None:
    table = json.loads(path(names()[0]).with_name("expected.json").read_text(encoding="utf-8"))
    assert set(table) <= set(names())


@pytest.mark.parametrize("name", names())
def test_instances_are_read_by_name(name: str) -> None:
    instance = named(name)
    assert instance.name == name
    assert instance.origin["about"].endswith(".")
    assert content_hash(instance) == content_hash(named(name))


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(InputError, match="'expected' is not one of"):
        named("expected")
    with pytest.raises(InputError, match="'x' is not one of"):
        expected("x")


@pytest.mark.parametrize("name", COUNTEREXAMPLES)
def test_alpha_and_beta_are_the_largest_bids_per_work_and_memory(name: str) -> None:
    """alpha = max b_i/M_i and beta = max b_i/r_i over all tasks (Lemma 2)."""
    instance = named(name)
    tasks = [instance.task(i) for i in range(instance.tasks)]
    assert figure(name, "alpha") == max(Fraction(task.bid, task.work) for task in tasks)
    assert figure(name, "beta") == max(Fraction(1000 * task.bid, task.memory_mb) for task in tasks)


@pytest.mark.parametrize("name", COUNTEREXAMPLES)
def test_rho_and_kappa_follow_from_the_minimal_schedules(name: str) -> None:
    low, high, rho, kappa = minimal_figures(in_gigabytes(named(name)))
    assert figure(name, "bbar_min") == low
    assert figure(name, "bbar_max") == high
    assert figure(name, "rho_minimal") == rho
    assert figure(name, "kappa") == kappa


@pytest.mark.parametrize("name", COUNTEREXAMPLES)
def test_the_figures_agree_with_each_other(name: str) -> None:
    """Ratio, bounds and verdicts follow from OPT, ALG, rho, kappa, alpha and beta."""
    table = expected(name)
    growth = 1 + max(figure(name, "alpha"), figure(name, "beta"))
    assert figure(name, "ratio") == figure(name, "opt") / figure(name, "alg")
    assert figure(name, "bound") == figure(name, "rho_minimal") * growth
    assert figure(name, "repaired_bound") == figure(name, "kappa") * figure(name, "rho_l") * growth
    assert figure(name, "p_tilde_over_p") == figure(name, "p_tilde") / figure(name, "alg")
    assert table["theorem5_violated"] is (figure(name, "ratio") > figure(name, "bound"))
    assert table["lemma3_violated"] is (figure(name, "p_tilde_over_p") > figure(name, "rho_minimal"))
    assert table["weak_duality_violated"] is (figure(name, "d_printed") < figure(name, "opt"))
    assert figure(name, "opt") <= figure(name, "d_certificate")
    assert figure(name, "ratio") <= figure(name, "repaired_bound")
    assert len(table["surplus"]) == named(name).tasks
    assert all(Fraction(table["surplus"][i]) > 0 for i in table["admitted"])


@pytest.mark.parametrize("name", names())
def test_opt_is_what_enumeration_gives(name: str) -> None:
    """The stored optimum, where there is one, equals the best combination of schedules."""
    value = optimum(named(name))
    assert value > 0
    assert Fraction(expected(name).get("opt", value)) == value


def test_theorem_5_fails_by_26_to_24_5_and_by_13_to_12() -> None:
    """The two counterexamples that the quick suite reports."""
    for name, ratio, bound in (("thm5_T5_3tasks", 26, Fraction(49, 2)), ("thm5_T4_4tasks_strict", 13, 12)):
        assert (figure(name, "ratio"), figure(name, "bound")) == (ratio, bound)
        assert expected(name)["theorem5_violated"] is True
    assert expected("thm5_lead_L4")["theorem5_violated"] is False


def test_tiny_instances_have_one_to_six_tasks() -> None:
    assert len(TINY) >= 8
    for name in TINY:
        instance = named(name)
        assert 3 <= instance.tasks <= 6
        assert (instance.nodes + 1) ** instance.slots <= 1024


def test_tiny_instances_cover_the_edges_of_the_format() -> None:
    assert len(named("tiny_two_types").node_types) == 2
    assert len(named("tiny_three_types").node_types) == 3
    assert (named("tiny_rate_zero").rate == 0).all(axis=1).any()
    assert (named("tiny_rate_zero").rate > [4, 2]).any()
    assert named("tiny_negative_tariff").node_types[0].tariff.min() < 0
    assert min(table.min() for table in named("tiny_cost_table").explicit_cost.values()) < 0
    assert (named("tiny_valuation").valuation != named("tiny_valuation").bid).any()
    assert len(named("tiny_vendors").vendor_price) > 5
    tight = named("tiny_tight_windows")
    assert (tight.deadline - tight.arrival + 1 == -(-tight.work // tight.rate[:, 0])).all()


def test_an_empty_window_leaves_no_schedule() -> None:
    """The tasks that cannot run are those of which enumeration finds no schedule, in every shipped instance."""
    assert not servable(named("tiny_empty_window")).all()
    for name in names():
        instance = named(name)
        exists = [next(schedules(instance, i), None) is not None for i in range(instance.tasks)]
        assert servable(instance).tolist() == exists


def test_a_cover_with_a_slot_too_many_is_best_where_the_tariff_is_negative() -> None:
    instance = named("tiny_negative_tariff")
    assert optimum(instance, minimal_only=True) < optimum(instance)
    assert optimum(named("tiny_cost_table"), minimal_only=True) < optimum(named("tiny_cost_table"))


def test_contention_turns_bids_away() -> None:
    """In the contended instances OPT is less than what the tasks are worth one by one."""
    for name in ("tiny_contention", "tiny_two_types", "tiny_three_types", "tiny_tight_windows"):
        instance = named(name)
        alone = sum(max([0, *(value for value, _, _ in schedules(instance, i))]) for i in range(instance.tasks))
        assert optimum(instance) < alone


def test_load_is_work_over_compute() -> None:
    """sum M_i over T sum C_kp, exact."""
    instance = named("thm5_T4_4tasks_strict")
    assert load(instance) == Fraction(13, 16)
    assert document(instance)["slots"] == 4
