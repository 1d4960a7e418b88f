"""Gymnasium environments: `gymnasium.make("ratiobench/Lora-v0")` where ratiobench is installed.

In a checkout that is not installed, call `register_environments` first.
"""

from __future__ import annotations

__all__ = ["register_environments", "register_plugin"]

_ENTRIES = {
    "Edgeflow-v0": "ratiobench.environments.edgeflow:EdgeflowEnvironment",
    "Lora-v0": "ratiobench.environments.lora:LoraEnvironment",
    "Tenants-v0": "ratiobench.environments.tenants:TenantsEnvironment",
}


def register_environments() -> None:
    """Register the environments with Gymnasium.

    Raises
    ------
    ModuleNotFoundError : the package `gymnasium` is not installed.
    """
    from gymnasium.envs.registration import register, registry

    for name, entry in _ENTRIES.items():
        if f"ratiobench/{name}" not in registry:
            register(f"ratiobench/{name}", entry_point=entry)


def register_plugin() -> None:
    """Register them in the namespace `ratiobench`: Gymnasium calls this by the entry point `gymnasium.envs`."""
    from gymnasium.envs.registration import register, registry  # it is not loaded to the end yet

    for name, entry in _ENTRIES.items():
        if f"ratiobench/{name}" not in registry:
            register(name, entry_point=entry)
