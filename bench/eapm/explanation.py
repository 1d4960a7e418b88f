"""A run on a small instance of EAPM, user by user: loads, placements, the profit rate after each."""

from __future__ import annotations

import numpy as np

from ratiobench.bench.eapm.claims import CLAIMS, place_bag
from ratiobench.bench.family.capabilities import Explainer
from ratiobench.bench.family.checks import Check
from ratiobench.bench.family.explanation import (
    Explanation,
    Figure,
    Grid,
    Listing,
    Moment,
    Sentence,
    Square,
    explain_run,
)
from ratiobench.bench.theory.claim import find_claim
from ratiobench.formulations.report import SolveReport
from ratiobench.instances.eapm.model import Decision, Instance, IntArray, Solution, User, freeze
from ratiobench.online.eapm.algorithms.exact_step import LIMIT, best_step
from ratiobench.online.outcome import OnlineRun


def explain(instance: Instance, run: OnlineRun, reference: SolveReport, check: Check) -> Explanation:
    opt = "OPT" if reference.lower == reference.upper else "OPT or more"
    return explain_run(
        instance,
        run,
        reference,
        " units/s",
        "Profit rate: profit so far (prices less energy) over the time until which the last machine is busy. The best "
        "placement is that of the user alone, after those before it; no user that comes is known.",
        tables=[_users(instance), _machines(instance)],
        moments=_moments(instance, run.decisions),
        outcome=[_placed(instance, run.decisions, "ALG"), _placed(instance, reference.solution, opt)],
        ending=find_claim(CLAIMS, check.name).end_explanation(check, "Where the argument fails"),
    )


def _users(instance: Instance) -> Listing:
    bags = zip(instance.kind.tolist(), instance.tasks.tolist(), instance.price.tolist(), strict=True)
    rows = [[i, instance.task_types[kind], tasks, price] for i, (kind, tasks, price) in enumerate(bags)]
    return Listing("Users", ["user", "type of task", "tasks", "price, micro-units"], rows)


def _machines(instance: Instance) -> Listing:
    rows: list[list[Figure]] = []
    for kind, name in enumerate(instance.task_types):
        for j, machine in enumerate(instance.machines):
            rows.append([name, machine, int(instance.etc_ms[kind, j]), int(instance.cost[kind, j])])
    return Listing("One task", ["type of task", "machine", "time, ms", "energy, micro-units"], rows)


def _moments(instance: Instance, decisions: Solution) -> list[Moment]:
    load: IntArray = np.zeros(len(instance.machines), np.int64)
    profit = 0
    moments = []
    for i, taken in enumerate(decisions):
        if taken is None:
            break  # the run ended at a foul
        user = instance.user(i)
        moments.append(_moment(instance, user, load, profit, taken))
        profit += user.price - int(np.array(taken) @ user.cost)
        load = load + np.array(taken, np.int64) * user.etc_ms
    return moments


def _moment(instance: Instance, user: User, load: IntArray, profit: int, taken: Decision) -> Moment:
    rows = [(name, [Square(int(busy), None, share > 0)]) for name, busy, share in
            zip(instance.machines, load.tolist(), taken, strict=True)]  # fmt: skip
    grid = Grid("Busy until, ms", "machine", ["ms"], rows)
    ways, notes = _ways(user, load, profit, taken)
    head = ["placement", *instance.machines, "profit, micro-units", "busy until, ms", "profit rate"]
    figures = {shares: place_bag(load, user, np.array(shares), profit + user.price) for shares in ways.values()}
    ordered = sorted(ways.items(), key=lambda each: -figures[each[1]].rate)
    places = [shares for _, shares in ordered]
    table: list[list[Figure]] = [[name, *shares, *figures[shares]] for name, shares in ordered]
    earned, busy, rate = figures[taken]
    placed = ", ".join(f"{name} {share}" for name, share in zip(instance.machines, taken, strict=True) if share)
    return Moment(
        heading=f"User {user.index} arrives",
        said=[f"{user.tasks} tasks for {user.price} micro-units"],
        grids=[grid],
        candidates=Listing("Placements", head, table, places.index(taken)),
        notes=notes,
        decision=[f"Placed: {placed}. Profit so far ", earned, " micro-units in ", busy, " ms: ", rate, " units/s."],
    )


def _ways(user: User, load: IntArray, profit: int, taken: Decision) -> tuple[dict[str, Decision], list[Sentence]]:
    """The placement that was made, and others to compare."""
    machines = len(load)
    even = tuple(user.tasks // machines + (j < user.tasks % machines) for j in range(machines))
    cheapest = int(user.energy_uj.argmin())
    best: IntArray = np.zeros(machines, np.int64)
    enough = best_step(freeze(load), user.etc_ms, user.cost, user.tasks, profit + user.price, LIMIT, best)
    offered = {
        "the algorithm's": taken,
        "the best now": tuple(best.tolist()),
        "all where energy is least": tuple(user.tasks * (j == cheapest) for j in range(machines)),
        "evenly": even,
    }
    names: dict[Decision, list[str]] = {}
    for name, shares in offered.items():
        if sum(shares) == user.tasks:
            names.setdefault(shares, []).append(name)
    notes: list[Sentence] = [] if enough else [["There were too many placements to be sure of the best one."]]
    return {", ".join(each): shares for shares, each in names.items()}, notes


def _placed(instance: Instance, solution: Solution, title: str) -> Grid:
    load: IntArray = np.zeros(len(instance.machines), np.int64)
    columns = []
    for i, shares in enumerate(solution):
        placed = np.zeros(len(load), np.int64) if shares is None else np.array(shares, np.int64)
        load = load + placed * instance.user(i).etc_ms
        columns.append([Square(share, i) if share else Square() for share in placed.tolist()])
    rows = [
        (name, [*(column[j] for column in columns), Square(int(load[j]))]) for j, name in enumerate(instance.machines)
    ]
    head = [*(f"user {i}" for i in range(instance.users)), "busy until, ms"]
    return Grid(f"{title}: tasks of each user", "machine", head, rows)


EXPLAINER = Explainer(explain, "online", "best_step", {"users": 30, "machines": 12})
