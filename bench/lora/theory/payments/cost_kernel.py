"""The least costs of all offers of a run in one compiled loop: what `offers` asks of large runs.

Prices and room are moved by what was booked, task after task; each task's cheapest schedule with room is found by the
covering programme of `ratiobench.formulations.lora.bound.pricing`, in doubles. Its code is none of the mechanisms'.
Where nothing has a price the costs are whole micro-dollars, which doubles hold up to 2^53.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ratiobench.bench.lora.theory.basis.facts import find_outlay
from ratiobench.formulations.kernels import compiled_in_place
from ratiobench.formulations.lora.bound.minimal_covers import find_small_pool
from ratiobench.formulations.lora.bound.pricing import Pool, base_cost, cheapest, fill
from ratiobench.instances.lora.model import Instance, freeze
from ratiobench.instances.lora.named import named
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.mechanism import FloatPrices
from ratiobench.online.lora.search.additive import DOUBLES
from ratiobench.online.lora.traces import Rule


class FoundCosts(NamedTuple):
    """What was found again of the tasks before the first that was one too many to search."""

    # c of each task, None where no schedule has room; integers where nothing has a price.
    costs: list[float | int | None]
    fell: list[bool]  # whether booking the task lowers a price


@compiled_in_place
def _find(p, lam, phi, compute, memory, first_node, capacity, rule, tested, booked, factors, out):  # type: ignore[no-untyped-def]
    """Fill the costs of the first tasks, inf for none; prices and room are moved along.

    `lam`, `phi`, `compute`, `memory`: (K, T) prices, and samples and MB that are free; `first_node`: (G+1,) first node
    of each type; `capacity`: (2, K) C_kp and C_km - r_b; `rule`: B, eta_c, eta_m; `booked`: where each task's cells
    begin, and the cells [node, slot from 0, samples]; `factors`: (I,) by which a task's booking moves the prices.
    """
    begin, cells = booked
    costs, fell, table, cost, usable = out
    growth, eta_c, eta_m = rule
    j = 0
    for i in range(len(costs)):
        costs[i] = np.inf
        fell[i] = False
        if j == len(p.task) or p.task[j] != i:
            continue
        free = p.memory[j]
        first = p.first[j]
        for g in range(p.type_start[j + 1] - p.type_start[j]):
            type_ = p.kind[p.type_start[j] + g]
            rate = p.rate[p.type_start[j] + g]
            best = cost[g]
            for t in range(p.width[j]):
                best[t] = np.inf
            for k in range(first_node[type_], first_node[type_ + 1]):
                for t in range(p.width[j]):
                    value = lam[k, first + t] * rate + phi[k, first + t] * free
                    fits = (not tested) | ((rate <= compute[k, first + t]) & (free <= memory[k, first + t]))
                    best[t] = value if fits & (value < best[t]) else best[t]
            for t in range(p.width[j]):
                usable[g, t] = best[t] < np.inf
                best[t] += base_cost(p, j, type_, first + t)
        fill(p, j, cost, usable, np.inf, table)
        total, option, _ = cheapest(p, j, 1.0, np.inf, table)
        if option >= 0:
            costs[i] = total
        for x in range(begin[i], begin[i + 1]):
            k, t, rate = cells[x, 0], cells[x, 1], cells[x, 2]
            compute[k, t] -= rate
            memory[k, t] -= free
            share = rate / capacity[0, k]
            moved = lam[k, t] * (1.0 + growth * share) + eta_c * (factors[i] * share)
            fell[i] |= moved < lam[k, t]
            lam[k, t] = moved
            share = free / capacity[1, k]
            moved = phi[k, t] * (1.0 + growth * share) + eta_m * (factors[i] * share)
            fell[i] |= moved < phi[k, t]
            phi[k, t] = moved
        j += 1


def find_costs(
    instance: Instance,
    decisions: Sequence[Decision | None],
    rule: Rule | None,
    prices: FloatPrices | None,
    tasks: int,
    most: int,
) -> FoundCosts | None:
    """The least cost of a schedule with room for every task, at the prices and with the room that earlier ones left.

    `rule`, `prices`: how the prices move, and the prices, all zero, which are moved; None and None where there are
    none; `tasks`, `most`: how many tasks are looked at, and searched; returns none where this loop cannot do it: tables
    or numbers that might be too large, or decisions that no referee passes.
    """
    p, public = find_small_pool(instance), instance.public("")
    if p is None or (prices is None and _largest(instance, p) >= DOUBLES):
        return None
    kind = public.type_of_node
    listed = [(i, k, t - 1) for i, each in enumerate(decisions) if each is not None for k, t in each.cells]
    i, k, t = np.array(listed, dtype=np.int64).reshape(-1, 3).T
    if not ((k >= 0) & (k < instance.nodes) & (t >= 0) & (t < instance.slots)).all():
        return None
    booked = np.searchsorted(i, np.arange(instance.tasks + 1)), np.stack([k, t, instance.rate[i, kind[k]]], axis=1)
    factors = np.ones(instance.tasks)
    if rule is not None and prices is not None and rule.by_bbar:
        work = np.bincount(i, booked[1][:, 2], instance.tasks).astype(np.int64)
        for task, decision in enumerate(decisions):
            if decision is not None:
                net = int(instance.bid[task]) - find_outlay(instance, task, decision)
                use = int(instance.memory_mb[task]) * len(decision.cells)
                factors[task] = prices.bbar(net, int(work[task]), use)
    capacity = freeze([public.compute[kind], public.memory_mb[kind]])
    compute, memory = (np.repeat(amount[:, None], public.slots, axis=1) for amount in capacity)
    lam, phi = (prices.lam, prices.phi) if prices is not None else (np.zeros(compute.shape) for _ in range(2))
    moves = (0.0, 0.0, 0.0) if rule is None else (float(rule.growth), float(rule.eta_c), float(rule.eta_m))
    limit = min(tasks, int(p.task[most]) if most < p.tasks else tasks)
    costs, fell = np.empty(limit), np.zeros(limit, np.bool_)
    shape = len(p.nodes), int(p.width.max(initial=1))
    out = costs, fell, np.empty(p.table), np.empty(shape), np.empty(shape, np.bool_)
    tested = rule is None or rule.tested
    _find(p, lam, phi, compute, memory, public.first_node, capacity, moves, tested, booked, factors, out)
    whole = int if prices is None else float
    return FoundCosts([None if cost == np.inf else whole(cost) for cost in costs.tolist()], fell.tolist())


def _largest(instance: Instance, p: Pool) -> int:
    energy = int(np.abs(p.energy).max(initial=0)) * int(np.abs(p.tariff).max())
    cell = max(energy, int(np.abs(p.table_cost).max(initial=0)))
    return cell * (instance.slots + 1) + int(p.price.max(initial=0))


def warm() -> None:
    """Compile the loop."""
    instance = named("tiny_two_types")
    find_costs(instance, (None,) * instance.tasks, None, None, instance.tasks, instance.tasks)
