"""The Gymnasium environments: Gymnasium's checker, exact returns, masks, certified bounds."""

import copy
import pickle
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ratiobench as rb
from ratiobench.bench.evaluation.cases import find_family, tiny_cases
from ratiobench.environments import register_environments, register_plugin
from ratiobench.environments.agent import AgentView
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.named import named

gymnasium = pytest.importorskip("gymnasium")
ROOT = Path(__file__).parents[2]
NAMED = ROOT / "instances" / "lora" / "named"


@pytest.fixture(autouse=True)
def _registered() -> None:
    register_environments()


def _play(environment: Any, instance: int, choose: Any) -> tuple[float, dict[str, Any]]:
    _, info = environment.reset(seed=0, options={"instance": instance})
    total, ended = 0.0, False
    while not ended:
        _, reward, ended, _, info = environment.step(choose(info["action_mask"]))
        total += reward
    return total, info


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Lora", {"continuous": False, "verify": True}), ("Lora", {"continuous": True, "verify": True}),
        ("Tenants", {}), ("Edgeflow", {"count": 6}), ("Cluster", {}),
    ],
)  # fmt: skip
def test_gymnasiums_checker_passes(name: str, options: dict[str, Any]) -> None:
    """Spaces, seeds, types; every episode's decisions are checked by the independent checker, too."""
    from gymnasium.utils.env_checker import check_env

    environment = gymnasium.make(f"ratiobench/{name}-v0", **{"count": 3} | options)
    check_env(environment.unwrapped, skip_render_check=True)


def test_the_return_is_the_welfare() -> None:
    """Of any actions, exactly, never above OPT; `verify` recounts it by the independent checker."""
    environment = gymnasium.make("ratiobench/Lora-v0", verify=True, count=3).unwrapped
    draws = np.random.default_rng(1)
    for instance in (0, 1, 2):
        for choose in (lambda mask: 1, lambda mask: 0, lambda mask: int(draws.choice(np.flatnonzero(mask)))):
            total, info = _play(environment, instance, choose)
            assert total == info["welfare"] <= info["opt_upper"]
            assert info["opt_lower"] == info["opt_upper"]


def test_the_best_candidate_is_that_of_greedy() -> None:
    environment = gymnasium.make("ratiobench/Lora-v0", count=3).unwrapped
    values = rb.play([each.instance for each in tiny_cases(find_family("lora"), 1, 3)], "greedy").value.tolist()
    assert [_play(environment, each, lambda mask: int(mask[1]))[0] for each in range(3)] == values


class Watching:
    """Takes candidates by a rule on the observation, as an agent that was trained would."""

    def __init__(self, k: int, types: int, width: int, scale: float) -> None:
        self._shape = k, types, width, scale
        self.seen: list[Any] = []

    def start(self, public: Any, constants: Any) -> None:
        self._eyes = AgentView(public, *self._shape)

    def decide(self, task: Any, view: Any) -> Any:
        seen, mask = self._eyes.see(task, view)
        self.seen.append((seen.copy(), mask.tolist()))
        return self._eyes.decision(by_rule(seen, mask))


def by_rule(seen: Any, mask: Any) -> int:
    """Some action that exists, another one where the observation differs in anything."""
    return int(np.float64(seen).sum() * 1e4) % int(np.sum(mask))


def test_an_agent_sees_the_same_under_the_referee() -> None:
    """Observations, masks and welfare, arrival by arrival, with vendors, two node types and instances of two widths."""
    instances = [named("tiny_vendors"), *(each.instance for each in tiny_cases(find_family("lora"), 1, 3))]
    environment = gymnasium.make("ratiobench/Lora-v0", instances=instances, k=4, verify=True).unwrapped
    for number, instance in enumerate(instances):
        seen, info = environment.reset(seed=0, options={"instance": number})
        expected, ended = [(seen.copy(), info["action_mask"].tolist())], False
        while not ended:
            seen, _, ended, _, info = environment.step(by_rule(*expected[-1]))
            expected.append((seen.copy(), info["action_mask"].tolist()))
        algorithm = Watching(4, environment.types, environment.width, environment.price_scale)
        played = rb.play([instance], algorithm)
        assert (played.valid[0], played.value_exact[0]) == (True, info["welfare"])
        assert len(algorithm.seen) == len(expected) - 1
        for (mine, mask), (theirs, other) in zip(algorithm.seen, expected[:-1], strict=True):
            assert mask == other
            assert np.array_equal(mine, theirs)
    with pytest.raises(ValueError, match="1 slots"):
        AgentView(instances[0].public(""), 4, 2, 1, 1.0)


def test_an_action_without_a_candidate_rejects() -> None:
    environment = gymnasium.make("ratiobench/Lora-v0", k=2, count=2).unwrapped
    _, info = environment.reset(seed=0)
    assert info["action_mask"].tolist() == environment.action_masks().tolist()
    environment._candidates = range(0)
    assert environment.step(2)[1] == 0


@pytest.mark.parametrize(("name", "several"), [("Lora", 3), ("Edgeflow", 2)])
def test_several_environments_step_at_once(name: str, several: int) -> None:
    vector = gymnasium.make_vec(f"ratiobench/{name}-v0", num_envs=several, vectorization_mode="sync", count=2)
    seen, _ = vector.reset(seed=1)
    assert seen.shape[0] == several
    assert vector.step(np.zeros(several, np.int64))[1].tolist() == [0] * several


def test_instances_of_ones_own(tmp_path: Path) -> None:
    """Files and instances; those of other families are refused; OPT is known of shipped ones alone."""
    environment = gymnasium.make("ratiobench/Lora-v0", instances=[NAMED / "tiny_contention.json"]).unwrapped
    _, info = _play(environment, 0, lambda mask: 0)
    assert (info["welfare"], info["opt_upper"]) == (0, 62)
    with pytest.raises(InputError, match=r"options: instance: 1 is not a number in 0\.\.0"):
        environment.reset(options={"instance": 1})
    with pytest.raises(InputError, match="family tenants"):
        gymnasium.make("ratiobench/Lora-v0", instances=[ROOT / "instances" / "tenants" / "named" / "all_late.json"])


def test_the_entry_point_registers_in_its_namespace() -> None:
    from gymnasium.envs.registration import namespace, registry

    entries = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["gymnasium.envs"]
    assert entries == {"ratiobench": f"{register_plugin.__module__}:{register_plugin.__name__}"}
    kept = registry.pop("ratiobench/Lora-v0")
    with namespace("ratiobench"):
        register_plugin()
    assert registry["ratiobench/Lora-v0"].entry_point == kept.entry_point


def test_gymnasium_finds_the_environments_by_their_module() -> None:
    """In a process that has imported nothing of ours."""
    code = "import gymnasium; print(gymnasium.make('ratiobench.environments:ratiobench/Lora-v0', count=1).spec.id)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.endswith("ratiobench/Lora-v0\n")


@pytest.mark.parametrize("name", ["Lora", "Edgeflow", "Tenants", "Cluster"])
def test_an_action_beyond_the_space_is_an_error(name: str) -> None:
    environment = gymnasium.make(f"ratiobench/{name}-v0", count=1, k=4).unwrapped
    environment.reset(seed=1)
    for action in (-1, 10_000):
        with pytest.raises(InputError, match=rf"{action} is not in 0\.\.[34]"):
            environment.step(action)


@pytest.mark.parametrize("name", ["Lora", "Edgeflow", "Tenants", "Cluster"])
def test_a_copy_within_an_episode_goes_on_as_the_original(name: str) -> None:
    environment = gymnasium.make(f"ratiobench/{name}-v0", count=2).unwrapped
    environment.reset(seed=3)
    for _ in range(3):
        environment.step(0)
    copies = copy.deepcopy(environment), pickle.loads(pickle.dumps(environment))
    for action in (1, 0, 1, 1):
        seen, reward, *_ = environment.step(action)
        for each in copies:
            other, same, *_ = each.step(action)
            assert (other == seen).all()
            assert same == reward


def test_the_environment_of_tenants() -> None:
    """The return is the negated cost, recounted at the end; the best place is a good policy."""
    environment = gymnasium.make("ratiobench/Tenants-v0", count=3).unwrapped
    draws = np.random.default_rng(1)
    values = rb.play([each.instance for each in tiny_cases(find_family("tenants"), 1, 3)], "insertion").value.tolist()
    for instance in range(3):
        total, info = _play(environment, instance, lambda mask: int(draws.choice(np.flatnonzero(mask))))
        assert -total == info["cost"] >= info["opt_lower"]
        assert -_play(environment, instance, lambda mask: 0)[0] == values[instance]


def test_the_environment_of_edgeflow() -> None:
    """The return is the number of jobs met, recounted at the end, never above OPT."""
    environment = gymnasium.make("ratiobench/Edgeflow-v0", count=6).unwrapped
    draws = np.random.default_rng(1)
    met = []
    for instance in range(6):
        total, info = _play(environment, instance, lambda mask: int(draws.choice(np.flatnonzero(mask))))
        assert total == info["met"] <= info["opt_upper"]
        assert _play(environment, instance, lambda mask: 0)[0] == 0
        total, info = _play(environment, instance, lambda mask: int(mask[1]))
        met.append(total / info["opt_upper"])
    assert sum(met) / len(met) > 0.6  # the fewest GPU-seconds for all that can be in time


def test_the_environment_of_cluster() -> None:
    """The return is the negated cost, recounted at the end; all that fits is `firstfit`."""
    environment = gymnasium.make("ratiobench/Cluster-v0", count=3).unwrapped
    draws = np.random.default_rng(1)
    values = rb.play([each.instance for each in tiny_cases(find_family("cluster"), 1, 3)], "firstfit").value.tolist()
    for instance in range(3):
        total, info = _play(environment, instance, lambda mask: int(draws.choice(np.flatnonzero(mask))))
        assert -total == info["cost"] > info["opt_lower"]
        total, info = _play(
            environment,
            instance,
            lambda mask: int(mask.argmax()) if not mask[0] else int(mask[1:].any()) * int(mask[1:].argmax() + 1),
        )
        assert -total == info["cost"] == values[instance]
        assert 0 < info["share"] <= 1


def test_in_cluster_a_pass_ends_by_action_0_and_an_idle_cluster_starts_something() -> None:
    environment = gymnasium.make("ratiobench/Cluster-v0", count=1).unwrapped
    _, info = environment.reset(seed=0)
    assert not info["action_mask"][0]  # nothing runs
    total, info = _play(environment, 0, lambda mask: 0)
    other, again = _play(environment, 0, lambda mask: int(mask[1:].argmax() + 1) * int(not mask[0]))
    assert (total, info["cost"]) == (other, again["cost"])


def test_jobs_of_edgeflow_use_edge_servers() -> None:
    """A candidate on an edge server is used, and the return stays exact when its window closes."""
    named = ROOT / "instances" / "edgeflow" / "named"
    files = [named / f"{name}.json" for name in ("edge_closes", "edge_counts")]
    environment = gymnasium.make("ratiobench/Edgeflow-v0", instances=files).unwrapped
    for instance in range(2):
        for action in (1, 2):
            total, info = _play(environment, instance, lambda mask, action=action: action if mask[action] else 0)
            assert total == info["met"] <= info["opt_upper"]
