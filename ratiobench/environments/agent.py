"""What an agent trained on `ratiobench/Lora-v0` sees under the referee: the environment's observation, task by task.

It needs no Gymnasium, so that a policy's file can use it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ratiobench.environments import candidates
from ratiobench.formulations.lora.covering.schedules import STATE_LIMIT
from ratiobench.instances.lora.model import Public, Task
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.protocol import View

__all__ = ["AgentView"]


class AgentView:
    """Observations and actions of `ratiobench/Lora-v0` for an algorithm that the referee runs.

    Parameters
    ----------
    public : the public part of the instance.
    k : candidates of a task.
    types, width : node types and slots of the environment's observation; an instance may have fewer.
    scale : the environment's `price_scale`, micro-dollars per sample.

    Raises
    ------
    ValueError : the instance has more node types or slots than the observation.
    """

    def __init__(self, public: Public, k: int, types: int, width: int, scale: float) -> None:
        if len(public.node_types) > types or public.slots > width:
            raise ValueError(f"the agent sees {types} node types and {width} slots")
        self._shape = types, width, scale
        self._cluster = candidates.cluster_arrays(public)
        self._found = candidates.empty_candidates(k, width)
        self._count = 0
        self._vendors: tuple[int | None, ...] = ()

    def see(self, task: Task, view: View) -> tuple[Any, Any]:
        """The observation and the mask of actions at an arrival.

        Parameters
        ----------
        task, view : as `decide` is given them.

        Returns
        -------
        (size,) numbers in [0, 1], and (k + 1,) booleans: which actions exist.
        """
        arrays, vendors = candidates.task_arrays([task])
        free = (np.array(view.compute), np.array(view.memory_mb))
        self._count = candidates.find_candidates(0, arrays, vendors, free, self._cluster, STATE_LIMIT, self._found)
        self._vendors = tuple(option.vendor for option in task.options)
        state = self._count, arrays, free, self._cluster, self._found
        seen = candidates.observe(0, task.arrival, *state, *self._shape)
        mask = np.arange(len(self._found[0]) + 1) <= self._count
        return np.clip(seen, 0.0, 1.0, out=seen), mask

    def decision(self, action: int) -> Decision | None:
        """What an action means at the arrival that was seen last.

        Parameters
        ----------
        action : 0 rejects; j takes candidate j.

        Returns
        -------
        The decision, without a payment; None where the action rejects or does not exist.
        """
        if not 0 < action <= self._count:
            return None
        _, options, cells, lengths = self._found
        j = action - 1
        return candidates.decision_of(self._vendors[options[j]], cells[j, : lengths[j]])
