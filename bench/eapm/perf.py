"""Speed of the online step: ours against the printed algorithm with its linear systems given to a solver."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ratiobench.bench.perf.measurement import Curves, Measurement, Part, Value, time_in_turns
from ratiobench.instances.eapm.generate import generate
from ratiobench.instances.eapm.model import Instance, IntArray
from ratiobench.instances.eapm.solution import Solution
from ratiobench.online.eapm.protocol import View

ALGORITHMS = ("online", "online:rule=exact-step", "balance", "greedy", "average")
SOLVED = "linear systems by a solver"
ALONE = "online, decisions alone"
COLUMNS = ("users", "contender", "seconds", "microseconds_per_user", "times_online", "same_decisions")


def _decide_alone(instance: Instance) -> Solution:
    """Every decision of `online`, and the loads that follow from it, without a referee."""
    from ratiobench.online.eapm.algorithms.printed import Printed

    algorithm = Printed()
    algorithm.start(instance.public(), {})
    load: IntArray = np.zeros(len(instance.machines), np.int64)
    profit = 0
    decisions = []
    for i in range(instance.users):
        user = instance.user(i)
        decision = algorithm.decide(user, View(load, profit))
        decisions.append(decision)
        shares = np.array(decision)
        load = load + shares.astype(np.int64) * user.etc_ms
        profit += user.price - int(shares @ user.cost)
    return tuple(decisions)


def _measure(quick: bool, say: Callable[[str], None]) -> Measurement:
    """Whole runs in turns, the referee included for ours; decisions compared with those of `online`."""
    from ratiobench.bench.eapm.literal_rule import decide_literally
    from ratiobench.online.eapm.run import run

    rows: list[dict[str, Value]] = []
    for users in (30, 300) if quick else (30, 100, 300, 1000, 2000):
        say(f"{users} users")
        recipe = {"kind": "users", "users": users, "gamma": "1.3", "seed": ["perf", users]}
        instance = generate(recipe | {"matrix": {"method": "table1", "seed": ["perf"]}})
        contenders: dict[str, Callable[[], Any]] = {name: partial(run, instance, name) for name in ALGORITHMS}
        contenders[ALONE] = partial(_decide_alone, instance)
        contenders[SOLVED] = partial(decide_literally, instance)
        clock = time_in_turns(contenders, 3 if quick else 5)
        ours = run(instance, "online").decisions
        for name in contenders:
            made = run(instance, name).decisions if name in ALGORITHMS else contenders[name]()
            rows.append(
                {
                    "users": users,
                    "contender": name,
                    "seconds": clock[name].median,
                    "microseconds_per_user": 1e6 * clock[name].median / users,
                    "times_online": clock[name].median / clock["online"].median,
                    "same_decisions": sum(a == b for a, b in zip(made, ours, strict=True)) / users,
                }
            )
    curves = [
        (name, [(float(row["users"]), float(row["seconds"])) for row in rows if row["contender"] == name])  # type: ignore[arg-type]
        for name in (*ALGORITHMS, ALONE, SOLVED)
    ]
    notes = (
        "Runs include the referee, who checks every decision and the whole solution again; `decisions alone` and the "
        "linear systems have none. `same_decisions`: the part of the bags placed as `online` places them. The "
        "solver's doubles can round a share up that is an integer.",
    )
    figure = Curves("Seconds of a run over the number of users", "users", "seconds", curves)
    return Measurement(COLUMNS, rows, (figure,), notes)


PARTS: tuple[Part, ...] = (
    Part("eapm", "EAPM's online step in closed form against linear systems solved one by one", _measure),
)
