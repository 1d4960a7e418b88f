"""The public constants of the mechanisms: they bound what the theorems need, and come from another day."""

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import Instance, content_hash, document, parse, write
from ratiobench.instances.lora.named import named
from ratiobench.online.lora import public_constants
from ratiobench.online.lora.registry import canonical
from ratiobench.online.lora.registry import parse as parse_name
from ratiobench.online.lora.run import run
from ratiobench.online.outcome import Source
from tests.support.documents import refusal_of
from tests.support.literal import schedules
from tests.support.mechanisms import MECHANISMS
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances


@settings(max_examples=samples(150))
@given(instance=tiny_instances())
def test_the_constants_bound_what_the_theorems_need(instance: Instance) -> None:
    """X_c, X_m, eps and U against all schedules of all tasks, one by one."""
    public = instance.public("")
    kind = public.type_of_node.tolist()
    cap_c, cap_m, share = [Fraction(0)], [Fraction(0)], [Fraction(0)]
    every: list[tuple[int, int, int]] = []
    for i in range(instance.tasks):
        task = instance.task(i)
        listed = list(schedules(task, public))
        if not listed:
            continue
        able = [
            g
            for g, node in enumerate(instance.node_types)
            if 0 < task.rate[g] <= node.compute and task.memory_mb + instance.base_memory_mb <= node.memory_mb
        ]
        slots = range(min(option.first for option in task.options), task.deadline + 1)
        credit = sum(max(0, -min(int(task.cost[g, t - 1]) for g in able)) for t in slots)
        cap_m.append(Fraction(task.bid + credit, task.memory_mb))
        for g in able:
            cap_c.append(Fraction(task.bid + credit, int(task.rate[g])))
            share += [
                Fraction(int(task.rate[g]), int(public.compute[g])),
                Fraction(task.memory_mb, int(public.memory_mb[g])),
            ]
        negative = min(int(task.cost[g, t - 1]) for g in able for t in slots) < 0
        for option, cells in listed:
            rates = [int(task.rate[kind[k]]) for k, _ in cells]
            cost = task.options[option].price + sum(int(task.cost[kind[k], t - 1]) for k, t in cells)
            if task.bid > cost and (negative or sum(rates) - min(rates) < task.work):
                every.append((sum(rates), task.memory_mb * len(cells), task.bid - cost))
    assert public_constants.cap_compute(instance) == max(cap_c)
    assert public_constants.cap_memory(instance) == max(cap_m)
    assert public_constants.largest_share(instance) == (max(share) or 1)
    assert all(
        (max(cap_c) * work + max(cap_m) * use) / net <= public_constants.spread(instance) for work, use, net in every
    )


def test_the_instance_under_test_is_refused_as_a_prior(tmp_path: Path) -> None:
    """By content: another name and file do not help. Another day's file gives the constants, and the row says so."""
    instance = named("truth_overbid_e")
    write(instance, tmp_path / "same.json")
    data = document(instance) | {"name": "another"}
    data["tasks"][0]["bid"] = 3
    write(parse(data), tmp_path / "other.json")
    for name in MECHANISMS:
        with pytest.raises(InputError, match="is the instance under test"):
            run(instance, f"{name}:prior={tmp_path / 'same.json'}")
        with pytest.raises(InputError, match="neither given nor taken from a prior"):
            run(instance, f"{name}:constants=public")
        with pytest.raises(InputError, match="is not one of oracle, public"):
            run(instance, f"{name}:constants=guess")
        with_prior = run(instance, f"{name}:constants=public,prior={tmp_path / 'other.json'}")
        assert {constant.source for constant in with_prior.constants} == {Source.PRIOR}
        assert "oracle" not in with_prior.label
        plain = run(instance, name)
        assert {constant.source for constant in plain.constants} == {Source.ORACLE}
        assert plain.label == f"{name} (oracle constants)"


def test_yesterday_is_the_instance_that_the_caller_hands_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same constants as from its file, told by its hash; no file is read, and `./yesterday` is one."""
    monkeypatch.chdir(tmp_path)
    instance, other = named("truth_overbid_e"), named("thm5_lead_L10")
    for name in (*MECHANISMS, "pdftsp", "tests.support.contestants:Declares"):
        text = f"{name}:prior=yesterday"
        result = run(instance, text, prior=other)
        assert result.algorithm == text
        write(other, tmp_path / "yesterday")
        from_file = run(instance, f"{name}:prior=./yesterday", prior=instance)
        (tmp_path / "yesterday").unlink()
        assert result.decisions == from_file.decisions
        assert [c.value for c in result.constants] == [c.value for c in from_file.constants]
        assert {c.source for c in result.constants} == {Source.PRIOR}
        assert {c.detail for c in result.constants} == {f"yesterday ({content_hash(other)[:12]})"}
        assert {c.detail for c in from_file.constants} == {"./yesterday"}
        assert canonical(text) == f"{text} version {result.version}"
        assert parse_name(text).name == text
    one = run(instance, "posted:cap_compute=9,prior=yesterday", prior=other).constants
    assert [c.source for c in one] == [Source.GIVEN] + [Source.PRIOR] * 3


@pytest.mark.parametrize("name", [*MECHANISMS, "pdftsp:alpha=1,beta=1", "tests.support.contestants:Declares"])
def test_yesterday_without_another_day_is_an_input_error(name: str) -> None:
    instance = named("truth_overbid_e")
    head = name.removesuffix(":alpha=1,beta=1")
    text = f"{name}{',' if head != name else ':'}prior=yesterday"
    problem = "`yesterday` is the other day of a suite; a file: `./yesterday`"
    assert refusal_of(run, instance, text) == f"algorithm: {head}:prior: {problem}"
    same = parse(document(instance) | {"name": "another"})
    if name in MECHANISMS:
        with pytest.raises(InputError, match="yesterday is the instance under test"):
            run(instance, text, prior=same)
    else:
        assert {c.source for c in run(instance, text, prior=same).constants} <= {Source.ORACLE, Source.GIVEN}
    with pytest.raises(InputError, match="greedy declares no constants"):
        run(instance, "greedy:prior=yesterday", prior=named("thm5_lead_L10"))


@pytest.mark.parametrize(
    "name",
    ["posted:margin=0.9", "minimal-edit:margin=0", "posted:margin=x",
     "posted:growth=0", "posted:growth=x", "posted:largest_share=0", "capped:growth=0", "capped:scale=-1",
     "bbar-rule:divisor=0", "bbar-rule:median_bbar=0", "minimal-edit:largest_share=0"],
)  # fmt: skip
def test_constants_that_make_no_prices_are_input_errors(name: str) -> None:
    assert refusal_of(run, named("truth_overbid_e"), name).startswith(f"algorithm: {name.split('=')[0]}: ")


def test_a_margin_is_said_beside_the_constants_that_it_widens() -> None:
    """What stands in the table is the constant; beside it how much larger it was used."""
    played = run(named("tiny_contention"), "posted:margin=3/2")
    told = {constant.name: constant.detail for constant in played.constants}
    assert all(told[name].endswith("used 3/2 times as large") for name in ("cap_compute", "cap_memory", "spread"))
    assert "times as large" not in told["largest_share"]
