"""The least costs of all offers of a run in one compiled loop: what `offers` asks of large runs.

Prices and room are moved by what was booked, task after task; each task's cheapest schedule with room is found by the
covering programme of `ratiobench.formulations.lora.bound.pricing`, in doubles. Its code is none of the mechanisms'.
Where nothing has a price the costs are whole micro-dollars, which doubles hold up to 2^53.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ratiobench.formulations.kernels import compiled_in_place, inlined
from ratiobench.formulations.lora.bound.minimal_covers import find_small_pool
from ratiobench.formulations.lora.bound.pricing import Pool, base_cost, cheapest, fill
from ratiobench.instances.lora.model import Instance, IntArray, freeze
from ratiobench.instances.lora.named import named
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.mechanism import FloatPrices
from ratiobench.online.lora.search.additive import DOUBLES
from ratiobench.online.lora.traces import Rule

_FREE = (0.0, 0.0, 0.0, 1.0, 1.0)


class FoundCosts(NamedTuple):
    """What was found again of the tasks before `limit`, the first that was one too many to search."""

    # c of each task, None where no schedule has room; integers where nothing has a price.
    costs: list[float | int | None]
    fell: list[bool]  # whether booking the task lowers a price
    limit: int


@inlined
def _rate(p, j, kind):  # type: ignore[no-untyped-def]
    """s_ik of a pooled task on a usable type."""
    rate = 0
    for entry in range(p.type_start[j], p.type_start[j + 1]):
        if p.kind[entry] == kind:
            rate = p.rate[entry]
    return rate


@compiled_in_place
def _find(p, lam, phi, compute, memory, first_node, kind, capacity, rule, priced, by_bbar, tested, booked, limit, out):  # type: ignore[no-untyped-def]
    """Fill the costs of the tasks before `limit`, inf for none; prices and room are moved along.

    `lam`, `phi`, `compute`, `memory`: (K, T) prices, and samples and MB that are free; `first_node`, `kind`: (G+1,)
    first node of each type; (K,) type of each node; `capacity`: (2, G) C_kp and C_km - r_b; `booked`: where each task's
    cells begin, the cells [node, slot from 1], and the price of its vendor.
    """
    begin, cells, fee = booked
    costs, fell, table, cost, usable = out
    growth, eta_c, eta_m, w_c, w_m = rule
    j = 0
    for i in range(limit):
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
        work = 0
        energy = 0
        for x in range(begin[i], begin[i + 1]):
            k = cells[x, 0]
            t = cells[x, 1] - 1
            rate = _rate(p, j, kind[k])
            compute[k, t] -= rate
            memory[k, t] -= free
            work += rate
            energy += base_cost(p, j, kind[k], t)
        if priced and begin[i] < begin[i + 1]:
            factor = 1.0
            if by_bbar:
                factor = (p.bid[j] - fee[i] - energy) / (w_c * work + w_m * (free * (begin[i + 1] - begin[i])))
            for x in range(begin[i], begin[i + 1]):
                k = cells[x, 0]
                t = cells[x, 1] - 1
                share = _rate(p, j, kind[k]) / capacity[0, kind[k]]
                moved = lam[k, t] * (1.0 + growth * share) + eta_c * (factor * share)
                fell[i] |= moved < lam[k, t]
                lam[k, t] = moved
                share = free / capacity[1, kind[k]]
                moved = phi[k, t] * (1.0 + growth * share) + eta_m * (factor * share)
                fell[i] |= moved < phi[k, t]
                phi[k, t] = moved
        j += 1


def find_costs(
    instance: Instance,
    decisions: Sequence[Decision | None],
    options: Sequence[int],
    rule: Rule | None,
    prices: FloatPrices | None,
    tasks: int,
    most: int,
) -> FoundCosts | None:
    """The least cost of a schedule with room for every task, at the prices and with the room that earlier ones left.

    `rule`, `prices`: how the prices move, and the prices, all zero, which are moved; None and None where there are
    none; returns none where this loop cannot do it: tables or numbers that might be too large, or decisions that no
    referee passes.
    """
    p, public = find_small_pool(instance), instance.public("")
    booked = None if p is None else _booked(instance, decisions, options)
    if p is None or booked is None or (prices is None and _largest(instance, p) >= DOUBLES):
        return None
    limit = min(tasks, int(p.task[most]) if most < p.tasks else tasks)
    kind = public.type_of_node
    capacity = freeze([public.compute, public.memory_mb])
    compute, memory = (np.repeat(amount[kind][:, None], public.slots, axis=1) for amount in capacity)
    lam, phi = (prices.lam, prices.phi) if prices is not None else (np.zeros(compute.shape) for _ in range(2))
    moves = _FREE
    if rule is not None:
        weights = float(rule.weights[0]), float(rule.weights[1])
        moves = float(rule.growth), float(rule.eta_c), float(rule.eta_m), *weights
    costs, fell = np.empty(limit), np.zeros(limit, np.bool_)
    shape = len(p.nodes), int(p.width.max(initial=1))
    _find(
        p, lam, phi, compute, memory, public.first_node, kind, capacity, moves,
        prices is not None, rule is not None and rule.by_bbar, rule is None or rule.tested, booked, limit,
        (costs, fell, np.empty(p.table), np.empty(shape), np.empty(shape, np.bool_)),
    )  # fmt: skip
    whole = int if prices is None else float
    return FoundCosts([None if cost == np.inf else whole(cost) for cost in costs.tolist()], fell.tolist(), limit)


def _largest(instance: Instance, p: Pool) -> int:
    energy = int(np.abs(p.energy).max(initial=0)) * int(np.abs(p.tariff).max())
    cell = max(energy, int(np.abs(p.table_cost).max(initial=0)))
    return cell * (instance.slots + 1) + int(p.price.max(initial=0))


def _booked(
    instance: Instance, decisions: Sequence[Decision | None], options: Sequence[int]
) -> tuple[IntArray, IntArray, IntArray] | None:
    """Where each task's cells begin, the cells, and the price of the vendor that its offer named."""
    listed = [() if each is None else each.cells for each in decisions]
    begin = np.concatenate([[0], np.cumsum([len(each) for each in listed])]).astype(np.int64)
    cells = np.array([cell for each in listed for cell in each], dtype=np.int64).reshape(-1, 2)
    count, option = np.diff(instance.vendor_start), np.array(options, dtype=np.int64)
    inside = (cells >= (0, 1)) & (cells <= (instance.nodes - 1, instance.slots))
    if not inside.all() or (option < 0).any() or (option >= np.maximum(count, 1)).any():
        return None
    which = np.where(count > 0, instance.vendor_start[:-1] + option, len(instance.vendor_price))
    return begin, cells, np.append(instance.vendor_price, 0)[which]


def warm() -> None:
    """Compile the loop."""
    instance = named("tiny_two_types")
    none = (None,) * instance.tasks
    find_costs(instance, none, [0] * instance.tasks, None, None, instance.tasks, instance.tasks)
