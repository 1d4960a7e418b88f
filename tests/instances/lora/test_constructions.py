"""Parametric families: the shipped counterexamples are members, and what the theory says of every L comes out."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.family.registry import find_suite
from ratiobench.bench.lora.theory.claims import audit
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.instances.lora import Instance, content_hash
from ratiobench.instances.lora.constructions import FAMILIES
from ratiobench.instances.lora.format import read
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.run import run
from ratiobench.online.lora.traces import PriceTrace
from tests.support.commands import printed, refused
from tests.support.documents import refusal_of
from tests.support.laboratory import report_of
from tests.support.literal import in_gigabytes, run_pdftsp

MEMBERS: dict[str, dict[str, Any]] = {
    "thm5_lead_L4": {"name": "lead", "L": 4},
    "thm5_lead_L5": {"name": "lead", "L": 5},
    "thm5_lead_L10": {"name": "lead", "L": 10},
    "lemma4_T2_two_tasks": {"name": "lead", "L": 2, "c": 3, "n": 1},
    "lemma4_T2_D_below_OPT": {"name": "lead", "L": 2, "c": 3, "n": 3},
    "thm5_T3_4tasks": {"name": "lead", "L": 3, "s": 3, "r": 9, "c": 4, "n": 3, "rate": 4},
    "thm5_T4_4tasks_strict": {"name": "lead", "L": 4, "r": 4, "c": 4, "n": 3},
    "thm5_T5_3tasks": {"name": "lead", "L": 5, "s": 2, "r": 10, "c": 6, "n": 2, "rate": 5},
    "thm5_T2_drop_18tasks": {"name": "drop", "L": 2, "n": 16, "y": 4},
    "dropped_duals_hurt_L10": {"name": "dropped_duals_hurt", "L": 10},
    "lemma3_T2_two_tasks": {"name": "lemma3", "L": 2},
    "benign_identical_L9": {"name": "identical", "L": 9},
}


def member(name: str, **parameters: int) -> Instance:
    return generate({"kind": "family", "name": name, **parameters})


def everything(instance: Instance) -> int:
    """The sum of bids: OPT where costs are zero and all tasks of the last kind fit beside each other."""
    return int(instance.bid.sum())


def checks(instance: Instance, lower: int, upper: int) -> dict[str, Check]:
    """The audits of pdFTSP's run, with this interval on OPT."""
    return {check.name: check for check in audit(instance, run(instance, "pdftsp"), report_of(lower, upper))}


def almost_feasible(instance: Instance) -> tuple[int, int]:
    """(P~, P) of pdFTSP's run."""
    result = run(instance, "pdftsp")
    assert isinstance(result.trace, PriceTrace)
    return sum(o.net for o in result.trace.offers if o.value is not None and o.value > 0), result.welfare


@pytest.mark.parametrize("shipped", MEMBERS)
def test_a_shipped_counterexample_is_a_member_of_its_family(shipped: str) -> None:
    instance = generate({"kind": "family", **MEMBERS[shipped]})
    assert content_hash(instance) == content_hash(named(shipped))


@pytest.mark.parametrize("length", [2, 3, 5, 12])
def test_the_unbounded_family_reaches_the_stated_factor(length: int) -> None:
    """OPT/ALG = L(L+1) against 2L+4, and 1 - 1/(L+2) of the repaired bound (a); L+1 long tasks fill the node."""
    instance = member("unbounded", L=length)
    optimum = int(instance.bid[1:].sum())
    assert int((instance.rate[1:] * length).sum()) == length * instance.node_types[0].compute
    if instance.tasks <= 6:
        assert enumerate_optimum(instance)[0] == optimum
    # Every slot is worth at most compute times the densest bid per sample: what the long tasks pay.
    assert max(Fraction(int(b), int(m)) for b, m in zip(instance.bid, instance.work, strict=True)) == length + 1
    assert optimum == (length + 1) * length * instance.node_types[0].compute
    found = checks(instance, optimum, optimum)
    theorem = found["theorem5"]
    assert theorem.figures["ratio_lower"] == length * (length + 1)
    assert theorem.right == 2 * length + 4
    assert (theorem.status is Verdict.VIOLATED) == (length * (length + 1) > 2 * length + 4)
    part_a = found["theorem5_repaired_a"]
    assert part_a.status is Verdict.HOLDS
    assert part_a.left is not None
    assert part_a.right is not None
    assert part_a.left / part_a.right == Fraction(length + 1, length + 2)


@pytest.mark.parametrize(
    ("length", "n", "y", "total"), [(2, 16, 4, 16), (2, 16, 6, 32), (3, 40, 9, 80), (4, 60, 12, 60)]
)
def test_the_drop_family_reaches_the_stated_factor(length: int, n: int, y: int, total: int) -> None:
    """L(1+y) / ((1+y/n)(1+max(1+y, L(1+1/y), 1+n/y))) times N/(N+1), with one task dropped for capacity."""
    instance = member("drop", L=length, n=n, y=y, N=total)
    optimum = int(instance.bid[2:].sum())
    assert (instance.rate[2:].sum(), instance.memory_mb[2:].sum()) == (
        instance.node_types[0].compute,
        instance.node_types[0].memory_mb - instance.base_memory_mb,
    )
    theorem = checks(instance, optimum, optimum)["theorem5"]
    share = Fraction(y, n)
    largest = max(1 + y, length * (1 + Fraction(1, y)), 1 + 1 / share)
    assert theorem.right == (1 + total) * (1 + largest)
    assert theorem.figures["ratio_lower"] == total * length * (1 + y) / (1 + share)
    assert (theorem.figures["bbar_min"], theorem.figures["bbar_max"]) == (1, 1)
    assert run(instance, "pdftsp").counts["dropped"] == 1


def test_the_drop_family_exceeds_any_factor_below_its_length() -> None:
    """1 << L << y << n <= y^2: the factor at L = 3 passes 2 (with L = 3, y = 40, n = 400)."""
    instance = member("drop", L=3, n=400, y=40)
    optimum = int(instance.bid[2:].sum())
    theorem = checks(instance, optimum, optimum)["theorem5"]
    assert theorem.status is Verdict.VIOLATED
    assert theorem.left is not None
    assert theorem.right is not None
    assert theorem.left / theorem.right > 2


@pytest.mark.parametrize("length", [2, 3, 4, 10, 30])
def test_lemma_3_fails_by_the_length(length: int) -> None:
    """P~/P = 1 + L against rho = 2; the repaired rho_L is attained."""
    instance = member("lemma3", L=length)
    tilde, welfare = almost_feasible(instance)
    assert Fraction(tilde, welfare) == 1 + length
    repaired = checks(instance, 0, everything(instance))["theorem5_repaired"]
    assert repaired.figures["rho_L"] == 1 + length


@pytest.mark.parametrize("length", [2, 4, 10])
def test_ghost_prices_close_slots(length: int) -> None:
    """dropped_duals_hurt: the printed rule earns 28 for every L, OPT grows by 28 a slot; the literal twin agrees."""
    instance = member("dropped_duals_hurt", L=length)
    result = run(instance, "pdftsp")
    assert result.welfare == 28
    assert result.counts == {"positive_f": 2, "dropped": 1}
    if length <= 4:
        assert [admitted for _, admitted, _, _ in run_pdftsp(in_gigabytes(instance), "exact")] == [True] + [
            False
        ] * length
        assert enumerate_optimum(instance)[0] == max(28 * length, 28 + 20 * (length - 1))


def test_identical_tasks_stop_being_admitted_early() -> None:
    """identical: 4 of 40 at L = 9; the share falls with L."""
    admitted = [run(member("identical", L=length, n=40), "pdftsp").admitted for length in (1, 3, 9, 20)]
    assert admitted == sorted(admitted, reverse=True)
    assert admitted[2] == 4


@pytest.mark.parametrize(("bid", "payment", "utility"), [(8, 4, 4), (6, 3, 5), (4, 2, 6), (2, 1, 7)])
def test_an_underbid_pays_less(bid: int, payment: int, utility: int) -> None:
    """alpha_underbid: bids 8, 6, 4, 2 of a valuation of 8 pay half; utility 4, 5, 6, 7."""
    instance = member("alpha_underbid", bid=bid)
    result = run(instance, "pdftsp")
    decision = result.decisions[1]
    assert decision is not None
    assert decision.payment == payment
    assert int(instance.valuation[1]) - decision.payment == utility


@pytest.mark.parametrize(
    ("recipe", "where"),
    [
        ({"name": "lead"}, "L"),
        ({"name": "nobody", "L": 3}, "name"),
        ({"L": 3}, "name"),
        ({"name": "lead", "L": 0}, "L"),
        ({"name": "lead", "L": 20_001}, "L"),
        ({"name": "lead", "L": True}, "L"),
        ({"name": "lead", "L": 3.0}, "L"),
        ({"name": "lead", "L": None}, "L"),
        ({"name": "lead", "L": 3, "x": 1}, "x"),
        ({"name": "lead", "L": 3, "s": 2, "rate": 3, "r": 1}, "rate"),
        ({"name": "lead", "L": 10_000, "s": 2**40}, "L"),
        ({"name": "lead", "L": 3, "n": 100_001}, "n"),
        ({"name": "lead", "L": 9_000, "r": 2**24, "n": 100_000, "c": 1}, "L"),
        ({"name": "drop", "L": 2, "n": 4}, "y"),
        ({"name": "drop", "L": 2, "n": 4, "y": 2, "N": 6}, "N"),
        ({"name": "unbounded", "L": 3, "n": 2}, "n"),
        ({"name": "alpha_underbid", "bid": -1}, "bid"),
    ],
)
def test_a_recipe_that_cannot_be_used_is_refused(recipe: dict[str, Any], where: str) -> None:
    assert refusal_of(generate, {"kind": "family", **recipe}).startswith(f"recipe: {where}: ")


def test_every_family_has_a_least_member() -> None:
    """L = n = y = 1 where there are such parameters, defaults elsewhere; the names differ."""
    extra = {"drop": {"n": 1, "y": 1}}
    made = [
        generate(
            {
                "kind": "family",
                "name": name,
                **({"L": 1} if "L" in {key.name for key in each.keys} else {}),
                **extra.get(name, {}),
            }
        )
        for name, each in FAMILIES.items()
    ]
    assert len({instance.name for instance in made}) == len(made)
    for instance in made:
        assert run(instance, "pdftsp").valid


def test_members_are_made_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`list constructions` names them with their parameters; `generate lead:L=6` writes a member, `run` runs it."""
    told = printed(capsys, "list", "constructions")
    assert all(f"{name}:{','.join(key.name for key in each.keys)}" in told for name, each in FAMILIES.items())
    assert main(["generate", "lead:L=6,n=3", "--out", str(tmp_path)]) == 0
    [file] = tmp_path.iterdir()
    assert content_hash(read(file)) == content_hash(member("lead", L=6, n=3))
    family, suite = find_suite("drop:L=2,n=16,y=4")
    [case] = suite.cases
    assert content_hash(family.generate(case.recipe)) == content_hash(named("thm5_T2_drop_18tasks"))


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("lead:L=x", "recipe: L: 'x' is not an integer"),
        ("lead", "recipe: L: the key is missing"),
        ("lead:L=6,q=1", "recipe: q: unknown key"),
        ("lead:L", "recipe: L: '' is not an integer"),
        ("lead:L=99999999999999999999", "recipe: L: "),
        ("nonsense:L=6", "suite: 'nonsense:L=6' is no suite, recipe or FILE.toml"),
    ],
)
def test_members_that_cannot_be_made_are_one_line(
    name: str, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(capsys, "generate", name, "--out", str(tmp_path / "new")).startswith(f"ratiobench: {error}")
    assert not (tmp_path / "new").exists()
