"""Gymnasium environments: `gymnasium.make("ratiobench/Lora-v0")` where ratiobench is installed.

In a checkout that is not installed, call `register_environments` first.
"""

from __future__ import annotations

_ENTRY = "ratiobench.environments.lora:LoraEnvironment"


def register_environments() -> None:
    """Register the environments with Gymnasium.

    Raises
    ------
    ModuleNotFoundError : the package `gymnasium` is not installed.
    """
    from gymnasium.envs.registration import register, registry

    if "ratiobench/Lora-v0" not in registry:
        register("ratiobench/Lora-v0", entry_point=_ENTRY)


def register_plugin() -> None:
    """Register them in the namespace `ratiobench`: Gymnasium calls this by the entry point `gymnasium.envs`."""
    from gymnasium.envs.registration import register, registry  # it is not loaded to the end yet

    if "ratiobench/Lora-v0" not in registry:
        register("Lora-v0", entry_point=_ENTRY)
