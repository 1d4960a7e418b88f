"""No row looks better or worse by a limit that it does not tell: every algorithm where its work limit bites."""

from collections.abc import Callable
from functools import cache

import pytest

from ratiobench.formulations.backends import BackendResult
from ratiobench.formulations.lora import batch
from ratiobench.formulations.report import Termination
from ratiobench.instances.eapm.generate import generate as generate_eapm
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import Instance
from ratiobench.instances.lora.format import parse
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.tenants.generate import generate as generate_tenants
from ratiobench.online.eapm.algorithms import exact_step
from ratiobench.online.eapm.registry import entries as eapm_entries
from ratiobench.online.eapm.run import run as run_eapm
from ratiobench.online.edgeflow.registry import entries as edgeflow_entries
from ratiobench.online.edgeflow.run import ENVIRONMENT as EDGEFLOW_ENVIRONMENT
from ratiobench.online.edgeflow.run import run as run_edgeflow
from ratiobench.online.lora.registry import entries
from ratiobench.online.lora.run import run
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.tenants.algorithms import patent
from ratiobench.online.tenants.registry import entries as tenants_entries
from ratiobench.online.tenants.run import ENVIRONMENT as TENANTS_ENVIRONMENT
from ratiobench.online.tenants.run import run as run_tenants
from tests.online.test_hostile import long_task

CROWD = {
    "kind": "paper", "name": "crowd", "seed": ["crowd"], "arrivals": {"trace": "pai"}, "tasks": 60, "start": 60,
    "slots": 24, "quiet": 4, "nodes": {"a100": 1, "a40": 1},
}  # fmt: skip


@cache
def _long_instance(work: int = 60_000, slots: int = 10_000) -> Instance:
    """An instance whose last task has all slots on two types."""
    data = long_task(work, slots)
    data["tasks"][-1]["rate"] = [7, 9]
    return parse(data)


def _too_large(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task whose table is too large is no rejection that nobody sees: the run ends, and names task and limit."""
    instance = _long_instance()
    with pytest.raises(InputError, match=rf"^{instance.name}: tasks\[5\]: .*(at most|the most)"):
        run(instance, name)


def _titan(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long task has an answer. Programs that stop at once: batches at a limit stand in the label."""
    _answers(run(_long_instance(6_000, 1_000), name))
    monkeypatch.setattr(batch, "solve", lambda *_: BackendResult(Termination.LIMIT))
    result = run(generate(CROWD), name)
    at_limit, batches = result.counts["at_limit"], result.counts["batches"]
    assert at_limit > 0
    assert f"at limit {at_limit} of {batches}" in result.label


def _exact_step(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One candidate a step: users whose step may not be the best are counted in the label."""
    instance = generate_eapm({"kind": "table1", "seed": ["limits"]})
    whole = run_eapm(instance, name)
    assert (whole.label, whole.counts["cut_short"]) == (name, 0)
    monkeypatch.setattr(exact_step, "LIMIT", 1)
    result = run_eapm(instance, name)
    assert result.counts["cut_short"] > 0
    assert f"at limit {result.counts['cut_short']} of " in result.label


def _none(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is searched: where the others stop at a limit it answers, and has none to tell."""
    _answers(run(_long_instance(), name))


def _answers(result: OnlineRun) -> None:
    assert result.valid
    assert "limit" not in result.label


def _none_of_bags(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with bags of tasks, where only exact steps are cut short."""
    monkeypatch.setattr(exact_step, "LIMIT", 1)
    result = run_eapm(generate_eapm({"kind": "table1", "seed": ["limits"]}), name)
    _answers(result)
    assert "cut_short" not in result.counts


def _none_of_plans(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs on GPUs: a plan is made to its end, whatever it takes, and there is nothing to tell."""
    _answers(run_edgeflow(EDGEFLOW_ENVIRONMENT.small(), name))


def _none_of_queues(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs in queues: what a policy may try is part of its rule."""
    _answers(run_tenants(TENANTS_ENVIRONMENT.small(), name))


def _best_first(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that stops early is counted in the label, be it for its expansions or for the states that it keeps."""
    instance = generate_tenants({"kind": "batch", "jobs": 7, "gpus": [1, 1, 0], "seed": ["limits"]})
    whole = run_tenants(instance, name)
    assert (whole.label, whole.counts["cut_short"]) == (name, 0)
    monkeypatch.setattr(patent, "NODES", 20)
    for result in (run_tenants(instance, name), run_tenants(instance, f"{name},expansions=3")):
        assert result.valid
        assert result.counts["cut_short"] == 1
        assert result.label.endswith("(at limit 1 of 1)")


LORA: dict[str, Callable[[str, pytest.MonkeyPatch], None]] = {
    "pdftsp": _too_large, "pdftsp:search=printed": _too_large, "titan": _titan, "eft": _none, "ntm": _none,
    "greedy": _too_large, "eris": _too_large, "posted": _too_large, "minimal-edit": _too_large, "capped": _too_large,
    "bbar-rule": _too_large, "guarded": _too_large, "learned": _too_large,
    "zcl": _too_large, "reserve": _too_large, "advice": _too_large, "units": _too_large, "static:price=1": _too_large,
    "mirror": _too_large, "pooled": _too_large,
    "pdftsp:arith=float": _too_large, "pdftsp:search=printed,arith=float": _too_large,
    "pdftsp:units=canonical": _too_large, "posted:arith=float": _too_large, "reserve:arith=float": _too_large,
    "units:arith=float": _too_large, "static": _too_large,
}  # fmt: skip
EAPM: dict[str, Callable[[str, pytest.MonkeyPatch], None]] = {
    "online": _none_of_bags, "online:rule=exact-step": _exact_step, "greedy": _none_of_bags, "average": _none_of_bags,
    "balance": _none_of_bags,
}  # fmt: skip


EDGEFLOW: dict[str, Callable[[str, pytest.MonkeyPatch], None]] = dict.fromkeys(
    ("edf", "gandiva", "tiresias", "afs", "elasticflow", "edgeflow", "hold"), _none_of_plans
)


TENANTS: dict[str, Callable[[str, pytest.MonkeyPatch], None]] = {
    **dict.fromkeys(
        ("patent", "insertion", "replan", "lookahead", "greedy", "edf", "fifo", "wspt", "least-loaded", "fastest",
         "cheapest", "random"), _none_of_queues
    ),
    "patent:search=best-first": _best_first,
}  # fmt: skip


def test_every_algorithm_stands_in_these_lists() -> None:
    """Whoever registers one says here what its work limit does."""
    pairs = ((entries(), LORA), (eapm_entries(), EAPM), (edgeflow_entries(), EDGEFLOW), (tenants_entries(), TENANTS))
    for known, listed in pairs:
        assert set(known) == {name.partition(":")[0] for name in listed}


@pytest.mark.parametrize(("name", "bites"), [*LORA.items(), *EAPM.items(), *EDGEFLOW.items(), *TENANTS.items()])
def test_a_limit_that_bites_is_told(
    name: str, bites: Callable[[str, pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the row's label, or as the reason why there is no row."""
    bites(name, monkeypatch)
