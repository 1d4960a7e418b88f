"""Gymnasium environments: `gymnasium.make("ratiobench.environments:ratiobench/Lora-v0")`.

Gymnasium imports what stands before the colon, and importing this package registers its environments. Versions below
1.0 also find `ratiobench/Lora-v0` by itself, as a plug-in.
"""

from __future__ import annotations

from contextlib import suppress

__all__ = ["register_environments", "register_plugin"]

_ENTRIES = {
    "Cluster-v0": "ratiobench.environments.cluster:ClusterEnvironment",
    "Edgeflow-v0": "ratiobench.environments.edgeflow:EdgeflowEnvironment",
    "Lora-v0": "ratiobench.environments.lora:LoraEnvironment",
    "Tenants-v0": "ratiobench.environments.tenants:TenantsEnvironment",
}


def register_environments(prefix: str = "ratiobench/") -> None:
    """Register the environments with Gymnasium.

    Parameters
    ----------
    prefix : the namespace; empty if Gymnasium adds it, as for plug-ins.

    Raises
    ------
    ModuleNotFoundError : the package `gymnasium` is not installed.
    """
    from gymnasium.envs.registration import register, registry

    for name, entry in _ENTRIES.items():
        if f"ratiobench/{name}" not in registry:
            register(f"{prefix}{name}", entry_point=entry)


def register_plugin() -> None:
    """Register them in the namespace `ratiobench`: Gymnasium calls this by the entry point `gymnasium.envs`."""
    register_environments("")


with suppress(ModuleNotFoundError):  # nothing here needs Gymnasium before an environment is made
    register_environments()
