"""What family `lora` compiles: a group of kernels for the offline side, one for the online side.

They share no kernel but `formulations.kernels.ascending`. Each index of numba's cache holds the kernels of one function
and cannot be written by two processes at once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

import numpy as np

from bench.family.parts import Step
from bench.lora.theory.basis import density, dual
from bench.lora.theory.payments import compiled
from formulations.lora import batch, solve
from formulations.lora.bound.minimal import list_minimal_covers
from formulations.lora.covering.schedules import cheapest_cover
from instances.lora.named import named
from online.lora import public_constants
from online.lora.registry import parse
from online.lora.run import GAME, run
from online.run import list_choices

_BATCHES = "titan"
"""The algorithm that uses the offline side's kernels."""


def compiling(algorithms: Collection[str] | None) -> Sequence[Sequence[Step]]:
    """The steps for these algorithms, their audits and any solve; None for all there are.

    Without migration nothing is solved but where that is asked for, so its search comes with all there are only.
    """
    names = list_choices(GAME) if algorithms is None else list(dict.fromkeys(algorithms))
    shipped = [name for name in names if parse(name).entry is not None]
    online = [name for name in shipped if name.partition(":")[0] != _BATCHES]
    offline = [
        Step("bounds on OPT", 7, solve.warm_bounds),
        Step("the search for solutions", 16, solve.warm_search),
        Step("the dual at any prices", 3, dual.warm),
        Step("what audits find again", 4, _warm_again),
    ]
    if len(online) < len(shipped):
        offline.append(Step("the best answer to a batch", 3, partial(batch.warm, GAME.small())))
    if algorithms is None:
        offline.append(Step("the search without migration", 5, solve.warm_staying))
    return (
        offline,
        [
            Step("the cheapest schedule", 2, _warm_covers),
            Step(f"{len(online)} online algorithms", 12, partial(_run_each, online)),
            Step("what audits ask", 3, _warm_facts),
        ],
    )


def _warm_covers() -> None:
    """In integers and in doubles."""
    instance = named("tiny_two_types")
    task, public = instance.task(0), instance.public("")
    usable, node = np.ones(task.cost.shape, np.bool_), np.zeros(task.cost.shape, np.int64)
    for cost in (task.cost, task.cost.astype(np.float64)):
        cheapest_cover(task, public, cost, usable, node)


def _run_each(names: Sequence[str]) -> None:
    instance = GAME.small()
    for name in names:
        run(instance, name, prior=instance)


def _warm_again() -> None:
    list(list_minimal_covers(named("tiny_two_types")))
    compiled.warm()


def _warm_facts() -> None:
    density.warm()
    public_constants.served(GAME.small())
