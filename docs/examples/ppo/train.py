"""Train MaskablePPO of sb3-contrib on drawn instances, and show it on published ones that it has not seen.

    pip install -e '.[ppo]'
    python docs/examples/ppo/train.py Lora-v0 --steps 160000 --policy agent.py

The agent trains on instances like the parts of the standard set: other seeds, other days of the same traces. Then it
plays the published parts, beside the rule that always takes the first candidate. For `Lora-v0` the agent is written as
a policy in one file, which the referee runs like any other:

    python -m ratiobench evaluate agent.py --stage parts

Steps, not seconds, end the training, so that it can be repeated; PyTorch may still round differently on other machines.
"""

import argparse
import base64
import time
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from ratiobench.bench.evaluation.cases import PARTS, draw_entries, entries_of, find_family, set_case
from ratiobench.bench.family.standard import read_set
from ratiobench.environments import register_environments

Choose = Callable[[Any, Any], int]
DRAWS = 20
"""Instances drawn for each published part."""
UNITS, DISCOUNT = 64, 0.995
"""Units of each of the two hidden layers; the discount factor of an arrival."""

POLICY = '''"""An agent trained by docs/examples/ppo/train.py: {about}."""

import base64
import zlib

import numpy as np

from ratiobench.environments.agent import AgentView

K, TYPES, WIDTH, SCALE = {k}, {types}, {width}, {scale!r}
SHAPES = {shapes}
WEIGHTS = (
{text}
)


class Agent:
    """Two hidden layers of tanh; the action of the largest value among those that exist."""

    def start(self, public, constants):
        self.eyes = AgentView(public, K, TYPES, WIDTH, SCALE)
        numbers = np.frombuffer(zlib.decompress(base64.b85decode(WEIGHTS)), np.float32)
        ends = np.cumsum([np.prod(shape) for shape in SHAPES])[:-1]
        self.layers = [each.reshape(shape) for each, shape in zip(np.split(numbers, ends), SHAPES)]

    def decide(self, task, view):
        seen, mask = self.eyes.see(task, view)
        first, a, second, b, last, c = self.layers
        values = last @ np.tanh(second @ np.tanh(first @ seen + a) + b) + c
        return self.eyes.decision(int(np.argmax(np.where(mask, values, -np.inf))))
'''


class Training(gymnasium.Wrapper):  # type: ignore[misc]
    """Draws episodes among the first instances alone."""

    def __init__(self, environment: Any, count: int, seed: int) -> None:
        super().__init__(environment)
        self._count, self._draws = count, np.random.default_rng(seed)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Begin an episode on one of them."""
        return self.env.reset(seed=seed, options={"instance": int(self._draws.integers(self._count))})

    def action_masks(self) -> Any:
        """Return which actions exist."""
        return self.env.unwrapped.action_masks()


def evaluate(environment: Any, choose: Choose, numbers: range) -> list[float]:
    """The share of OPT that is certainly reached, of one episode on each of these instances."""
    shares = []
    for number in numbers:
        seen, info = environment.reset(seed=0, options={"instance": number})
        ended = False
        while not ended:
            seen, _, ended, _, info = environment.step(choose(seen, info["action_mask"]))
        shares.append(info["share"])
    return shares


def first_candidate(seen: Any, mask: Any) -> int:
    """The first candidate of an environment whose action 0 rejects; 0 where there is none."""
    return int(len(mask) > 1 and mask[1])


def train(environment: Any, count: int, steps: int, seed: int) -> Any:
    """An agent trained on the first instances for so many steps, in one thread."""
    import torch
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.callbacks import BaseCallback

    class Progress(BaseCallback):
        """Says after every update how far it is."""

        def _on_step(self) -> bool:
            return True

        def _on_rollout_start(self) -> None:
            left = (time.monotonic() - began) * (steps / max(1, self.num_timesteps) - 1)
            estimate = f", about {left:.0f} s left" if self.num_timesteps else ""
            print(f"... {self.num_timesteps:,} of {steps:,} steps{estimate}", flush=True)

    torch.set_num_threads(1)
    # Rewards in exact units are large: they are scaled for training alone.
    scaled = gymnasium.wrappers.NormalizeReward(Training(environment, count, seed), gamma=DISCOUNT)
    agent = MaskablePPO(
        "MlpPolicy", scaled, seed=seed, n_steps=min(4096, steps), batch_size=512, n_epochs=8, gamma=DISCOUNT,
        gae_lambda=0.9, ent_coef=0.01, learning_rate=1e-3, policy_kwargs={"net_arch": [UNITS, UNITS]},
    )  # fmt: skip
    began = time.monotonic()
    agent.learn(total_timesteps=steps, callback=Progress())
    print(f"trained on {count} instances: {agent.num_timesteps} steps in {time.monotonic() - began:.0f} s", flush=True)
    return agent


def write_policy(file: Path, agent: Any, environment: Any, about: str) -> None:
    """The agent as a policy in one file."""
    state = agent.policy.state_dict()
    names = ("mlp_extractor.policy_net.0", "mlp_extractor.policy_net.2", "action_net")
    layers = [state[f"{name}.{kind}"].numpy().astype(np.float32) for name in names for kind in ("weight", "bias")]
    text = base64.b85encode(zlib.compress(b"".join(each.tobytes() for each in layers), 9)).decode()
    rows = "\n".join(f"    {text[at : at + 110]!r}" for at in range(0, len(text), 110))
    shapes = tuple(each.shape for each in layers)
    of = environment.unwrapped
    written = POLICY.format(
        about=about, k=of.action_space.n - 1, types=of.types, width=of.width, scale=of.price_scale, shapes=shapes,
        text=rows,
    )  # fmt: skip
    file.write_text(written, encoding="utf-8")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment")
    parser.add_argument("--steps", type=int, default=160_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws", type=int, default=DRAWS, help="training instances for each published one")
    parser.add_argument("--policy", type=Path, help="of Lora-v0: write the agent as a policy to this file")
    parser.add_argument("--untrained", action="store_true", help="the first candidate alone, without sb3-contrib")
    given = parser.parse_args()
    register_environments()
    family, chosen = find_family(given.environment.partition("-")[0].lower()), read_set()
    published = [set_case(chosen, each, PARTS).instance for each in entries_of(family, chosen, PARTS)]
    draws = 0 if given.untrained else given.draws
    keys = [sha256(f"ppo {given.seed} {number}".encode()).hexdigest() for number in range(draws)]
    entries = [entry for key in keys for entry in draw_entries(family, chosen, key) if entry.tier == PARTS]
    drawn = [family.generate(entry.recipe) for entry in entries]
    environment = gymnasium.make(f"ratiobench/{given.environment}", instances=[*drawn, *published])
    agents: dict[str, Choose] = {"first candidate": first_candidate}
    if drawn:
        agent = train(environment, len(drawn), given.steps, given.seed)
        agents["MaskablePPO"] = lambda seen, mask: int(agent.predict(seen, action_masks=mask, deterministic=True)[0])
        if given.policy:
            write_policy(given.policy, agent, environment, f"{agent.num_timesteps} steps, seed {given.seed}")
    numbers = range(len(drawn), len(drawn) + len(published))
    for name, choose in agents.items():
        shares = evaluate(environment, choose, numbers)
        print(f"{name}: {100 * np.mean(shares):.1f} % of OPT on {len(published)} published instances")


if __name__ == "__main__":
    main()
