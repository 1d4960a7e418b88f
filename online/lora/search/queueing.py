"""Which of the tasks that wait start now: a pass over the queue on the capacity that is free over time.

A run takes the same nodes of one type in slots in a row. Nodes are chosen by best fit: those on which the fewest
samples are free in its first slot, ties by number. Of several types a run takes the one where it starts first, ties:
where it ends first, then the first type.
"""

from __future__ import annotations

import numpy as np

from ratiobench.formulations.kernels import compiled, inner, inner_allocating, sort_stably

WIDE = 16  # Nodes of gangs of more parts are sorted; for fewer parts the best of the nodes is looked for, part by part
_FULL = np.iinfo(np.int64).max  # Stands for the free samples of a node that cannot take a part
# Who may start before a task that comes earlier in the queue and cannot start yet. Nobody; whoever does not delay the
# first of these; whoever delays none of these; anybody.
NONE, EASY, CONSERVATIVE, FIRST_FIT = range(4)


@inner
def _fits(free, free_mb, k, start, end, rate, memory):  # type: ignore[no-untyped-def]
    """Whether a part fits node k in all slots start..end-1."""
    t = start
    while t < end and free[k, t] >= rate and free_mb[k, t] >= memory:
        t += 1
    return t == end


@inner
def _count(free, free_mb, low, high, start, end, rate, memory, parts):  # type: ignore[no-untyped-def]
    """Whether so many of the nodes low..high-1 can take a part in all slots start..end-1."""
    found = 0
    for k in range(low, high):
        if high - k < parts - found:
            return False
        if _fits(free, free_mb, k, start, end, rate, memory):
            found += 1
            if found == parts:
                return True
    return False


@inner_allocating
def _choose_by_sorting(free, free_mb, low, high, start, end, rate, memory, parts, nodes):  # type: ignore[no-untyped-def]
    amount = np.empty(high - low, np.int64)
    for k in range(low, high):
        fits = _fits(free, free_mb, k, start, end, rate, memory)
        amount[k - low] = free[k, start] if fits else _FULL
    best_first = sort_stably(amount)
    for j in range(parts):
        nodes[j] = low + best_first[j]


@inner
def _choose(free, free_mb, low, high, start, end, rate, memory, parts, nodes):  # type: ignore[no-untyped-def]
    """The nodes of a run that has room, into `nodes`: best fit."""
    if parts > WIDE:
        _choose_by_sorting(free, free_mb, low, high, start, end, rate, memory, parts, nodes)
        return
    for j in range(parts):
        best, least = -1, np.int64(0)
        for k in range(low, high):
            if best >= 0 and free[k, start] >= least:
                continue
            taken = False
            for q in range(j):
                taken = taken or nodes[q] == k
            if not taken and _fits(free, free_mb, k, start, end, rate, memory):
                best, least = k, free[k, start]
        nodes[j] = best


@inner
def _take(free, free_mb, nodes, parts, start, end, rate, memory, sign):  # type: ignore[no-untyped-def]
    """Book a run, or give it back (sign = -1)."""
    for j in range(parts):
        for t in range(start, end):
            free[nodes[j], t] -= sign * rate
            free_mb[nodes[j], t] -= sign * memory


@inner
def _find(free, free_mb, first_node, task, rates, lengths, start, latest, cut, count):  # type: ignore[no-untyped-def]
    """(type, start, end) of the earliest run that begins in start..latest; type -1 without one. Slots from 0.

    `task`: (memory, parts, the slot before which a run must end); `cut`: a run may be cut off by the last slot;
    `count`: (T,) for the search's own use.
    """
    memory, parts, before = task
    slots = free.shape[1]
    best, best_start, best_end = -1, latest + 1, 0
    for g in range(len(rates)):
        length = lengths[g]
        if length == 0:
            continue
        low, high, rate = first_node[g], first_node[g + 1], rates[g]
        last = min(latest, best_start)
        last = min(last, (slots - 1) if cut else (before - length))
        if last < start:
            continue
        end = min(start + length, slots)
        if _count(free, free_mb, low, high, start, end, rate, memory, parts):
            if start < best_start or end < best_end:
                best, best_start, best_end = g, start, end
            continue
        if last == start:
            continue
        for t in range(start, last + 1):
            count[t] = 0
        for k in range(low, high):
            row = 0
            for t in range(min(last + length, slots) - 1, start - 1, -1):
                row = row + 1 if free[k, t] >= rate and free_mb[k, t] >= memory else 0
                if t <= last and row >= min(length, slots - t):
                    count[t] += 1
        for t in range(start, last + 1):
            if count[t] >= parts:
                end = min(t + length, slots)
                if t < best_start or (t == best_start and end < best_end):
                    best, best_start, best_end = g, t, end
                break
    return best, best_start, best_end


@compiled
def plan_starts(now, free, free_mb, first_node, order, tasks, rate, length, cut, mode, window, depth):  # type: ignore[no-untyped-def]
    """The runs that start now, of the tasks that wait, in the order of the queue.

    `now`: the present slot, from 0. window : runs are promised that begin in so many slots from now on. depth : so many
    tasks are looked at; `free`, `free_mb`: (K, T) samples and MB that are free; changed; `order`: (n,) rows of the
    tables below, in the order of the queue: tasks that may start now; `tasks`: (I, 3) MB of a part, parts, and the
    slot, from 0, before which a run must end; `rate`, `length`: (I, G) samples per slot of a part; slots of a run, 0
    where there is none; `cut`: (I,) whether a run may be cut off by the last slot; returns (m, 3) row, type and first
    slot after the run; (m, most parts) nodes.
    """
    slots = free.shape[1]
    most = 1
    for i in order:
        most = max(most, tasks[i, 1])
    runs = np.empty((len(order), 3), np.int64)
    nodes = np.empty((len(order), most), np.int64)
    count = np.empty(slots, np.int64)
    here = np.empty(most, np.int64)
    head, head_type, head_start, head_end = -1, -1, 0, 0
    held = np.empty(most, np.int64)
    found = 0
    horizon = min(slots - 1, now + window - 1)
    for x in range(min(len(order), depth)):
        i = order[x]
        task = (tasks[i, 0], tasks[i, 1], tasks[i, 2])
        promised = mode == CONSERVATIVE or (mode == EASY and head < 0)
        latest = horizon if promised else now
        g, start, end = _find(free, free_mb, first_node, task, rate[i], length[i], now, latest, cut[i], count)
        if g < 0 and head >= 0 and mode == EASY:
            # The promise to the first task is kept if it can start at the same time on other nodes.
            head_task = (tasks[head, 0], tasks[head, 1], tasks[head, 2])
            _take(free, free_mb, held, head_task[1], head_start, head_end, rate[head, head_type], head_task[0], -1)
            g, start, end = _find(free, free_mb, first_node, task, rate[i], length[i], now, now, cut[i], count)
            if g >= 0:
                low, high = first_node[g], first_node[g + 1]
                _choose(free, free_mb, low, high, start, end, rate[i, g], task[0], task[1], here)
                _take(free, free_mb, here, task[1], start, end, rate[i, g], task[0], 1)
                again, at, until = _find(
                    free, free_mb, first_node, head_task, rate[head], length[head], now, head_start, cut[head], count
                )
                if again >= 0:
                    head_type, head_start, head_end = again, at, until
                    low, high, speed = first_node[again], first_node[again + 1], rate[head, again]
                    _choose(free, free_mb, low, high, at, until, speed, head_task[0], head_task[1], held)
                    runs[found, 0], runs[found, 1], runs[found, 2] = i, g, end
                    for j in range(task[1]):
                        nodes[found, j] = here[j]
                    found += 1
                else:
                    _take(free, free_mb, here, task[1], start, end, rate[i, g], task[0], -1)
            _take(free, free_mb, held, head_task[1], head_start, head_end, rate[head, head_type], head_task[0], 1)
            continue
        if g < 0:
            if mode == NONE:
                g, start, end = _find(
                    free, free_mb, first_node, task, rate[i], length[i], now, slots - 1, cut[i], count
                )
                if g >= 0:
                    break
            continue
        low, high = first_node[g], first_node[g + 1]
        _choose(free, free_mb, low, high, start, end, rate[i, g], task[0], task[1], here)
        _take(free, free_mb, here, task[1], start, end, rate[i, g], task[0], 1)
        if start == now:
            runs[found, 0], runs[found, 1], runs[found, 2] = i, g, end
            for j in range(task[1]):
                nodes[found, j] = here[j]
            found += 1
        elif mode == EASY:
            head, head_type, head_start, head_end = i, g, start, end
            for j in range(task[1]):
                held[j] = here[j]
    return runs[:found], nodes[:found]
