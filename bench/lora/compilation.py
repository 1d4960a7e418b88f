"""What family `lora` compiles: the search for solutions is the longest chain, all else goes on beside it.

Each index of numba's cache holds the kernels of one function and cannot be written by two processes at once. So what
two steps compile is compiled by a step before both, or one of them waits for the other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import partial

import numpy as np

from ratiobench.bench.family.capabilities import AUDITS, SOLVES, Step
from ratiobench.bench.lora.theory.basis import density, dual
from ratiobench.bench.lora.theory.payments import cost_kernel
from ratiobench.formulations.lora import batch, solve
from ratiobench.formulations.lora.bound.minimal_covers import list_minimal_covers
from ratiobench.formulations.lora.covering.schedules import cheapest_cover
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.history import join
from ratiobench.instances.lora.named import named
from ratiobench.instances.lora.schedules import ScheduleKind
from ratiobench.online.lora import public_constants
from ratiobench.online.lora.registry import parse
from ratiobench.online.lora.run import ENVIRONMENT, run
from ratiobench.online.run import list_choices

_BOUNDS, _SEARCH, _BATCH = "bounds on OPT", "the search for solutions", "bounds on a batch"
_ONLINE, _AGAIN, _FACTS = "the online algorithms", "what audits find again", "what audits ask"
_LEARNED, _CANONICAL = "prices that are learned", "units of money"
_BATCHES = "titan"  # The algorithm that uses the kernels of the search for solutions


def compilation_steps(algorithms: Collection[str] | None) -> Sequence[Step]:
    """The steps for these algorithms, their audits and any solve; None for all there are.

    What audits or solves alone need is marked. Learned prices are dual prices of earlier days, and `titan` searches as
    solves do, so where one of these runs, the kernels of bounds, or of the search, are for the run as well.

    Prices of single cells and the search without migration serve some solves only, so they come with all there are.
    """
    names = list_choices(ENVIRONMENT) if algorithms is None else list(dict.fromkeys(algorithms))
    shipped = [spec for spec in map(parse, names) if spec.entry is not None]
    online = [spec for spec in shipped if spec.entry is not None and spec.entry.name != _BATCHES]
    canonical = [spec.name for spec in online if spec.options.get("units") == "canonical"]
    learned = [spec.name for spec in online if spec.entry is not None and spec.entry.learns]
    others = [spec.name for spec in online if spec.name not in (*canonical, *learned)]
    batches = len(online) < len(shipped)
    steps = [
        Step(_BOUNDS, 11, solve.warm_bounds, (), "" if learned or batches else SOLVES),
        Step(_SEARCH, 22, solve.warm_search, (_BOUNDS,), "" if batches else SOLVES),
        Step(_ONLINE, 21, partial(_run_possible, others)),
        Step(_AGAIN, 9, _warm_again, (_BOUNDS,), AUDITS),
        Step(_FACTS, 3, _warm_facts, (_ONLINE, _AGAIN), AUDITS),
    ]
    if canonical:
        # The unit of money of these is made of all minimal covers, which audits look at as well.
        steps.append(Step(_CANONICAL, 3, partial(_run_each, canonical), (_FACTS,)))
    if learned:
        # Shares come from a day's dual prices.
        steps.append(Step(_LEARNED, 18, partial(_run_possible, learned), (_CANONICAL if canonical else _FACTS,)))
    if batches:
        steps.append(Step(_BATCH, 4, partial(batch.warm_bounds, ENVIRONMENT.small()), (_BOUNDS,)))
        steps.append(Step("the best answer to a batch", 1, partial(batch.warm, ENVIRONMENT.small()), (_SEARCH, _BATCH)))
    if algorithms is None:
        alone = partial(solve.warm_search, ScheduleKind.ONE_NODE)
        # The guard of learned prices lists patterns of a node, too.
        steps.append(Step("prices of single cells", 38, solve.warm_cells, (_LEARNED,)))
        steps.append(Step("the search without migration", 8, alone, (_SEARCH,)))
        steps.append(Step("the search where a node has many patterns", 4, solve.warm_consolidation, (_SEARCH,)))
    return steps


def _warm_covers() -> None:
    instance = named("tiny_two_types")
    task, public = instance.task(0), instance.public("")
    usable, node = np.ones(task.cost.shape, np.bool_), np.zeros(task.cost.shape, np.int64)
    for cost in (task.cost, task.cost.astype(np.float64)):
        cheapest_cover(task, public, cost, usable, node)


def _run_possible(names: Sequence[str]) -> None:
    """Run those that can run on a small instance."""
    for name in names:
        with suppress(InputError):
            _run_each([name])


def _run_each(names: Sequence[str]) -> None:
    _warm_covers()
    instance = ENVIRONMENT.small()
    before = join([instance, instance])  # the instance itself is refused as its own prior
    for name in names:
        run(instance, name, prior=before)


def _warm_again() -> None:
    dual.warm()
    list(list_minimal_covers(named("tiny_two_types")))
    cost_kernel.warm()


def _warm_facts() -> None:
    density.warm()
    public_constants.list_served(ENVIRONMENT.small())
