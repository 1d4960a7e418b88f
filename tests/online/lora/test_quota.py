"""Quotas in front of policies, and price lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import Instance, document, parse
from ratiobench.online.lora.algorithms.pricelist import read_prices
from ratiobench.online.lora.algorithms.quota import read_quotas
from ratiobench.online.lora.registry import canonical
from ratiobench.online.lora.run import run
from tests.online.lora.test_later import cluster
from tests.online.lora.test_queue import starts
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances_of_kinds

TWO = """
[groups.a]
cohort = "all"
{borrow}
nodes = {{ g0 = 1 }}
[groups.b]
cohort = "all"
borrow = true
nodes = {{ g0 = 2 }}
"""


def quotas(path: Path, text: str) -> str:
    """The option that names a file with this text."""
    path.write_text(text)
    return f"file={path}"


def test_a_group_has_no_more_than_its_quota(tmp_path: Path) -> None:
    """On four nodes a may use one, and b two; who is in no group, what is free. With borrowing a gets what b leaves."""
    mine, yours = {"work": 2, "group": "a"}, {"work": 2, "group": "b"}
    instance = cluster(mine, mine, yours, yours, yours, {"work": 2}, nodes=(4,), slots=12)
    option = quotas(tmp_path / "q.toml", TWO.format(borrow=""))
    assert starts(instance, f"quota:{option}") == [1, 3, 1, 1, 3, 1]
    only = cluster(mine, mine, mine, nodes=(4,), slots=12)
    assert starts(only, f"quota:{option}") == [1, 3, 5]
    for policy in ("queue;backfill=easy", "greedy", "eft"):
        assert starts(only, f"quota:{option},policy={policy}") == [1, 3, 5]
    option = quotas(tmp_path / "q.toml", TWO.format(borrow="borrow = true"))
    assert starts(only, f"quota:{option}") == [1, 1, 1]
    assert starts(instance, f"quota:{option}") == [1, 1, 1, 3, 3, 1]


def test_one_that_can_never_have_quota_is_rejected_and_blocks_nobody(tmp_path: Path) -> None:
    """A gang on two nodes of a group with one; on another type there is quota."""
    gang = {"run": "gang", "nodes": 2, "work": 2, "group": "a"}
    option = quotas(tmp_path / "q.toml", "[groups.a]\nnodes = { g0 = 1 }")
    instance = cluster(gang, {"group": "a"}, nodes=(2,))
    assert starts(instance, f"quota:{option}") == [0, 1]
    assert run(instance, f"quota:{option}").counts == {"waited": 2}
    option = quotas(tmp_path / "q.toml", "[groups.a]\nnodes = { g0 = 1, g1 = 2 }")
    result = run(cluster(gang, {"group": "a"}, nodes=(2, 2)), f"quota:{option}")
    assert [each and sorted({k for k, _ in each.cells}) for each in result.decisions] == [[2, 3], [0]]


def test_the_file_is_a_part_of_the_key(tmp_path: Path) -> None:
    option = quotas(tmp_path / "q.toml", "[groups.a]\nnodes = { g0 = 1 }")
    first = canonical(f"quota:{option}")
    quotas(tmp_path / "q.toml", "[groups.a]\nnodes = { g0 = 2 }")
    assert canonical(f"quota:{option}") != first
    assert canonical("quota") == "quota version 1"


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "tables"), ("[groups]", "tables"), ("[groups.a]", "needs nodes"),
     ("[groups.a]\nnodes = { g0 = nan }", "no number"),
     ("[groups.a]\nnodes = {}\nborow = true", "did you mean"), ("[groups.a]\nnodes = {}\nborrow = 1", "neither"),
     ("[groups.a]\nnodes = {}\ncohort = 1", "no text"), ("groups = { a = 1 }", "no table")],
)  # fmt: skip
def test_a_bad_file_of_quotas_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "q.toml").write_text(text)
    with pytest.raises(InputError, match=words):
        read_quotas(str(tmp_path / "q.toml"))


def test_bad_policies_behind_quotas_are_refused(tmp_path: Path) -> None:
    """Ones that need constants, or have no form; a type that there is not."""
    instance = cluster({})
    for policy in ("posted", "titan", "quota", "nobody", "learned"):
        with pytest.raises(InputError):
            run(instance, f"quota:policy={policy}")
    option = quotas(tmp_path / "q.toml", "[groups.a]\nnodes = { g7 = 1 }")
    with pytest.raises(InputError, match="g7"):
        run(instance, f"quota:{option}")


def test_a_price_list(tmp_path: Path) -> None:
    """The cheapest type and hour by the list; who bids no more than that is turned away."""
    file = tmp_path / "prices.toml"
    night = ", ".join(["1"] * 7 + ["3"] * 17)
    file.write_text(f'start = "06:50"\n[types.g0]\ngpus = 2\nprice = [{night}]\n[types.g1]\ngpus = 2\nprice = 2.5\n')
    task = {"work": 1, "bid": 10**6, "energy_wh": [7, 7]}
    instance = cluster(task, task, task, {**task, "bid": 800_000}, {**task, "bid": 333_334}, nodes=(1, 2), slots=4)
    result = run(instance, f"pricelist:file={file}")
    assert result.valid, result.violations
    assert [each and (each.cells, each.payment) for each in result.decisions] == [
        (((0, 1),), 333_334), (((1, 1),), 833_334), (((2, 1),), 833_334), None, None,
    ]  # fmt: skip
    gang = cluster({"run": "gang", "nodes": 2, "work": 4, "bid": 10**7}, {"run": "any", "bid": 10**7}, nodes=(1, 2))
    result = run(gang, f"pricelist:file={file}")
    assert [each and each.payment for each in result.decisions] == [4 * 833_334, 333_334]
    with pytest.raises(InputError, match=r"no price for the node type 'g2': it needs"):
        run(cluster({}, nodes=(1, 1, 1)), f"pricelist:file={file}")


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "no node type has a price"), ("start = '25:00'\n[types.a]", "time of day"),
     ("[types.a]\ngpus = 1", "keys gpus and"),
     ("[types.a]\ngpus = 1\nprice = [1, 2]", "2 prices"), ("[types.a]\ngpus = 1\nprice = inf", "no number"),
     ("strat = 1", "did you mean")],
)  # fmt: skip
def test_a_bad_price_list_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(InputError, match=words):
        read_prices(str(tmp_path / "p.toml"))


@st.composite
def of_groups(draw: st.DrawFn) -> Instance:
    """Tiny instances with groups, quotas on some of them."""
    data = document(draw(tiny_instances_of_kinds()))
    data["format"] = "ratiobench/lora/2"
    for task in data["tasks"]:
        task |= {
            "group": draw(st.sampled_from("abc")),
            **({"limit": draw(st.integers(1, 9))} if draw(st.booleans()) else {}),
        }
    return parse(data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("quota")


POLICIES = ("queue", "queue;backfill=easy", "greedy", "eft", "queue;order=value;backfill=conservative")


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=samples(30), deadline=None)
@given(instance=of_groups(), limits=st.lists(st.integers(0, 4), min_size=6, max_size=6), data=st.data())
def test_whatever_is_drawn_the_run_is_valid_and_below_the_optimum(
    policy: str, folder: Path, instance: Instance, limits: list[int], data: st.DataObject
) -> None:
    """By the referee, the verifier and brute force; no group has more than its quota at once."""
    borrow = data.draw(st.booleans())
    leave = data.draw(st.sampled_from(["deadline", "never"])) if policy.startswith("queue") else "deadline"
    names = [node.name for node in instance.node_types]
    text = ""
    for j, group in enumerate("ab"):
        nodes = ", ".join(f"{name} = {limits[3 * j + g] / 2}" for g, name in enumerate(names))
        text += f'[groups.{group}]\ncohort = "x"\nborrow = {str(borrow).lower()}\nnodes = {{ {nodes} }}\n'
    option = quotas(folder / "q.toml", text)
    result = run(instance, f"quota:{option},policy={policy},leave={leave}")
    assert result.valid, result.violations
    assert check(instance, result.decisions).valid
    assert result.welfare <= enumerate_optimum(instance)[0]
    kind = instance.public("").type_of_node
    used: dict[tuple[Any, int, int], float] = {}
    for i, decision in enumerate(result.decisions):
        group = instance.labels[i].group
        for k, t in () if decision is None else decision.cells:
            share = int(instance.rate[i, kind[k]]) / instance.node_types[kind[k]].compute
            for key in (group, "x" if group in "ab" else None):
                used[key, int(kind[k]), t] = used.get((key, int(kind[k]), t), 0) + share
    for (key, g, _), amount in used.items():
        if key in ("a", "b") and not borrow:
            assert amount <= limits[3 * "ab".index(key) + g] / 2 + 1e-9
        if key == "x":
            assert amount <= (limits[g] + limits[3 + g]) / 2 + 1e-9
