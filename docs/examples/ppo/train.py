"""Train MaskablePPO of sb3-contrib on an environment, and print its row beside shipped algorithms.

    pip install -e '.[ppo]'
    python docs/examples/ppo/train.py Lora-v0 parts --minutes 5

It is evaluated on the instances that it was trained on, and on tiny ones of another seed that it has not seen: these
have other numbers of slots, so only environments whose observation has the same length on both take part in that.
Training ends by the clock, so the row depends on the machine. An agent has not been trained with this file yet.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from ratiobench.environments import register_environments

Choose = Callable[[Any, Any], int]


def evaluate(environment: Any, choose: Choose, episodes: int) -> list[float]:
    """The share of OPT that is certainly reached, of one episode on each of the first instances."""
    shares = []
    for number in range(episodes):
        seen, info = environment.reset(seed=0, options={"instance": number})
        ended = False
        while not ended:
            seen, _, ended, _, info = environment.step(choose(seen, info["action_mask"]))
        shares.append(info["share"])
    return shares


def first_candidate(seen: Any, mask: Any) -> int:
    """The first candidate of an environment whose action 0 rejects; 0 where there is none."""
    return int(len(mask) > 1 and mask[1])


def train(name: str, instances: str, minutes: float, seed: int) -> Choose:
    """Train an agent for so long; the agent's best action."""
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.callbacks import BaseCallback

    class Until(BaseCallback):
        """Ends the training by the clock."""

        def __init__(self, end: float) -> None:
            super().__init__()
            self._end = end

        def _on_step(self) -> bool:
            return time.monotonic() < self._end

    # Rewards in exact units are large: they are scaled for training alone.
    environment = gymnasium.make(f"ratiobench/{name}", instances=instances)
    scaled = gymnasium.wrappers.NormalizeReward(environment)
    agent = MaskablePPO("MlpPolicy", scaled, seed=seed, n_steps=1024, batch_size=256, verbose=0)
    agent.learn(total_timesteps=10**9, callback=Until(time.monotonic() + 60 * minutes))
    print(f"trained on {instances}: {agent.num_timesteps} steps in {minutes:g} minutes")

    def choose(seen: Any, mask: Any) -> int:
        action, _ = agent.predict(seen, action_masks=mask, deterministic=True)
        return int(action)

    return choose


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment")
    parser.add_argument("instances", choices=["tiny", "parts"])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--untrained", action="store_true", help="the first candidate alone, without sb3-contrib")
    given = parser.parse_args()
    register_environments()
    agents: dict[str, Choose] = {"first candidate": first_candidate}
    if not given.untrained:
        agents["MaskablePPO"] = train(given.environment, given.instances, given.minutes, given.seed)
    trained = None
    for about, options in (
        (given.instances, {"instances": given.instances}),
        ("tiny, other seed", {"instances": "tiny", "seed": 2}),
    ):
        environment = gymnasium.make(f"ratiobench/{given.environment}", **options).unwrapped
        size = environment.observation_space.shape
        trained = trained or size
        if size != trained:
            continue
        for agent, choose in agents.items():
            shares = evaluate(environment, choose, 5)
            print(f"{about}: {agent} reaches {100 * np.mean(shares):.1f} % of OPT (5 instances)")


if __name__ == "__main__":
    main()
