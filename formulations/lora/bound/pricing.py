"""Column pricing for P1: the most profitable schedule of every task at given cell costs, compiled, exact.

The dynamic programme of `schedules`, laid out for speed: a count vector is split into the *outer* types and one *inner*
type, that of most slots, whose count runs over a contiguous row as far as the work asks for it. The same kernels run in
doubles (to search for prices) and in 64-bit integers (to prove bounds).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.kernels import alternative, compiled, compiled_in_place, copy_list, inlined, inner
from ratiobench.formulations.lora.bound.exchange import exchange
from ratiobench.formulations.lora.covering.schedules import StateSpaceTooLarge, require_table
from ratiobench.instances.lora.model import Instance, IntArray

OUTER_LIMIT = 2_000_000
# A task of one or two types is priced by exchanges where its table would have more cells than the first number; than
# the second, where all tables together would have more than the third
LONG, SHORT, MUCH = 2**20, 2**15, 2**32


class Pool(NamedTuple):
    """The tasks of an instance that have a schedule, in flat arrays; slots from 0 here."""

    task: IntArray  # (n,) index in the instance
    bid: IntArray  # bid, work, memory: (n,)
    work: IntArray
    memory: IntArray
    first: IntArray  # first, width: (n,) widest window: slots first .. first+width-1
    width: IntArray
    type_start: IntArray  # (n+1,); kind, rate: usable types of each task, the inner one first, and their rates
    kind: IntArray
    rate: IntArray
    # (n+1,); offset, price, vendor: undominated options by ascending offset; vendor -1 for none.
    option_start: IntArray
    offset: IntArray
    price: IntArray
    vendor: IntArray
    # (n+1,) rows (outer vectors) of each task; length, need: (rows,) cells of a row and the least inner count that
    # covers; at: (rows,) where the row begins in a layer of the task's table.
    row_start: IntArray
    length: IntArray
    need: IntArray
    at: IntArray
    less: IntArray  # (rows, G-1) row with one slot of an outer type fewer (within the task), -1 where there is none
    layer: IntArray  # layer, stride: (n,) cells of a layer; with one outer type or none, distance of its rows, else 0
    stride: IntArray
    # (n,) 1 where a table would be so large that exchanges find the best schedule, else 0; None where no task's is, so
    # that kernels without exchanges are compiled, in half of the time.
    exchanged: IntArray | None
    energy: IntArray  # (n, G) Wh; tariff: (G, T); explicit: (n,) row in `table_cost` or -1; table_cost: (m, G, T)
    tariff: IntArray
    explicit: IntArray
    table_cost: IntArray
    nodes: IntArray  # nodes, compute, capacity_mb: (G,) number of nodes, C_kp and C_km - r_b per type
    compute: IntArray
    capacity_mb: IntArray
    klass: IntArray  # (entries,) class of a task's cell on each usable type; cells of a class are alike to the nodes
    # class_kind, class_rate, class_memory: (C,) node type, samples and MB of a class, in ascending order.
    class_kind: IntArray
    class_rate: IntArray
    class_memory: IntArray

    @property
    def tasks(self) -> int:
        return len(self.task)

    @property
    def table(self) -> int:
        """Cells of the largest table that pricing needs."""
        layers = self.layer
        if self.exchanged is not None:
            layers = np.where(self.exchanged > 0, np.diff(self.option_start), self.layer)
        return int(((self.width + 1) * layers).max(initial=1))


def pool(instance: Instance, spare: int = 0) -> Pool:
    """The flat arrays of an instance; `spare`: cells of each type usable beyond a minimal cover where they cost."""
    compute = np.array([node.compute for node in instance.node_types], dtype=np.int64)
    memory = np.array([node.memory_mb for node in instance.node_types], dtype=np.int64) - instance.base_memory_mb
    usable = (instance.rate > 0) & (instance.rate <= compute) & (instance.memory_mb[:, None] <= memory)
    has_negative = any((node.tariff < 0).any() for node in instance.node_types)
    found = (_serve(instance, i, np.flatnonzero(usable[i]), spare, has_negative) for i in range(instance.tasks))
    served = [each for each in found if each is not None]

    def ints(values: Iterable[object]) -> IntArray:
        return np.array(list(values), dtype=np.int64)

    def starts(parts: Iterable[Sized]) -> IntArray:
        return ints([0, *accumulate(map(len, parts))])

    def joined(parts: Iterable[IntArray]) -> IntArray:
        return np.concatenate([np.zeros(0, np.int64), *parts])

    rows = [each.rows for each in served]
    chosen, width = ints(each.task for each in served), ints(each.width for each in served)
    layer, type_start = ints(row.layer for row in rows), starts(each.types for each in served)
    sizes = (width + 1) * layer
    large = sizes > (LONG if sizes.sum() <= MUCH else SHORT)
    exchanged = (large & (np.diff(type_start) <= 2)).astype(np.int64)
    for j in np.flatnonzero(large & (exchanged == 0)).tolist():
        require_table(rows[j].layer, served[j].width, served[j].task)
    where = np.full(instance.tasks, -1, dtype=np.int64)
    tables = sorted(instance.explicit_cost)
    where[tables] = np.arange(len(tables))
    kind, rate = joined(each.types for each in served), joined(each.rates for each in served)
    cells = np.stack([kind, rate, np.repeat(instance.memory_mb[chosen], np.diff(type_start))])
    classes, klass = np.unique(cells, axis=1, return_inverse=True)
    class_kind, class_rate, class_memory = map(np.ascontiguousarray, classes)
    options = ints(option for each in served for option in each.options).reshape(-1, 3)
    offset, price, vendor = map(np.ascontiguousarray, options.T)
    types = len(instance.node_types)
    return Pool(
        task=chosen,
        bid=instance.bid[chosen],
        work=instance.work[chosen],
        memory=instance.memory_mb[chosen],
        first=ints(each.first for each in served),
        width=width,
        type_start=type_start,
        kind=kind,
        rate=rate,
        option_start=starts(each.options for each in served),
        offset=offset,
        price=price,
        vendor=vendor,
        row_start=starts(row.length for row in rows),
        length=joined(row.length for row in rows),
        need=joined(row.need for row in rows),
        at=joined(row.at for row in rows),
        less=np.concatenate([np.zeros((0, max(1, types - 1)), np.int64), *(row.less for row in rows)]),
        layer=layer,
        stride=ints(row.stride for row in rows),
        exchanged=exchanged if exchanged.any() else None,
        energy=np.ascontiguousarray(instance.energy_wh[chosen]),
        tariff=np.stack([node.tariff for node in instance.node_types]),
        explicit=where[chosen],
        table_cost=ints(instance.explicit_cost[i] for i in tables).reshape(len(tables), types, instance.slots),
        nodes=ints(node.count for node in instance.node_types),
        compute=compute,
        capacity_mb=memory,
        klass=klass.reshape(-1).astype(np.int64),
        class_kind=class_kind,
        class_rate=class_rate,
        class_memory=class_memory,
    )


class _Served(NamedTuple):
    """A task that has a schedule, alone."""

    task: int
    first: int
    width: int
    types: IntArray  # usable, by ascending rate
    rates: IntArray
    options: list[tuple[int, int, int]]  # (offset, price, vendor)
    rows: _Rows


def _serve(instance: Instance, i: int, types: IntArray, spare: int, has_negative: bool) -> _Served | None:
    """Task i with its usable types; None where no schedule is in time; `has_negative`: whether a tariff is."""
    arrival, deadline, work = int(instance.arrival[i]), int(instance.deadline[i]), int(instance.work[i])
    fastest = int(instance.rate[i, types].max(initial=0))
    # Options that no other one beats in price without being later, by offset from the arrival
    options: list[tuple[int, int, int]] = []
    vendors = sorted((v.delay, v.price, n) for n, v in enumerate(instance.vendors(i)))
    for offset, price, n in vendors or [(0, 0, -1)]:
        if (not options or price < options[-1][1]) and (deadline - arrival - offset + 1) * fastest >= work:
            options.append((offset, price, n))
    if not options:
        return None
    begin = arrival + options[0][0]
    width = deadline - begin + 1
    types = types[np.argsort(instance.rate[i, types], kind="stable")]
    rates = instance.rate[i, types]
    negative = np.zeros(len(types), np.int64)
    if has_negative or i in instance.explicit_cost:
        negative = (instance.cost(i)[types, begin - 1 : deadline] < 0).sum(axis=1)
    rows = _rows(rates, work, width, negative + spare, len(instance.node_types) - 1, i)
    return _Served(i, begin - 1, width, types, rates, [(arrival + o - begin, q, n) for o, q, n in options], rows)


@lru_cache(maxsize=4)
def find_pool(instance: Instance) -> Pool:
    return pool(instance)


class _Rows(NamedTuple):
    length: IntArray
    need: IntArray
    at: IntArray
    less: IntArray
    layer: int
    stride: int


def _rows(rates: IntArray, work: int, width: int, negative: IntArray, columns: int, task: int) -> _Rows:
    """A task's rows, the inner type's rate first; without negative costs only minimal covers and their parts matter."""
    if len(rates) <= 2:
        # One row for each count of the outer type, if there is one: all as long as the longest, and before each a
        # cell that stays impossible, so that a layer is updated in two long loops.
        fast = int(rates[-1])
        most = min(width, max(-(-work // fast), int(negative[-1]))) if len(rates) == 2 else 0
        count = np.arange(most + 1)
        need = -(-np.maximum(0, work - count * fast) // int(rates[0]))
        length = np.minimum(need + int(negative[0]), width - count) + 1
        less = np.full((most + 1, max(1, columns)), -1)
        less[:, 0] = count - 1
        stride = int(length.max()) + 1
        return _Rows(length, need, count * stride + 1, less, (most + 1) * stride, stride)
    caps = np.minimum(width, -(-work // rates) + negative).tolist()
    outer_caps = caps[1:]
    positions = 1
    for cap in outer_caps:
        positions *= cap + 1
    if positions > OUTER_LIMIT:
        problem = f"{len(rates)} node types give {positions} outer count vectors; at most {OUTER_LIMIT} are searched"
        raise StateSpaceTooLarge(problem, task)
    axes = np.indices([cap + 1 for cap in reversed(outer_caps)])
    digits = axes.reshape(len(outer_caps), positions)[::-1].T
    done = digits @ rates[1:]
    taken = digits.sum(axis=1)
    top = np.where(digits > 0, rates[None, 1:], 0).max(axis=1, initial=0)
    within = (digits <= negative[None, 1:]).all(axis=1)
    keep = (taken <= width) & ((done < work + top) | within)
    index = np.full(positions, -1, dtype=np.int64)
    index[keep] = np.arange(int(keep.sum()))
    less = np.full((int(keep.sum()), max(1, columns)), -1, dtype=np.int64)
    stride = 1
    for g, cap in enumerate(outer_caps):
        mine = np.flatnonzero(keep & (digits[:, g] > 0))
        less[index[mine], g] = index[mine - stride]
        stride *= cap + 1
    need = -(-np.maximum(0, work - done[keep]) // int(rates[0]))
    # No more slots than the window has: a row whose need is beyond them covers nowhere. A row is read at the positions
    # of every row with more outer slots, and is at least as long as those.
    length = np.minimum(need + int(negative[0]), width - taken[keep]) + 1
    at = np.concatenate([[0], np.cumsum(length)[:-1]])
    return _Rows(length, need, at, less, int(length.sum()), 0)


@inlined
def base_cost(p, i, g, t):  # type: ignore[no-untyped-def]
    """e_igt of pooled task i in micro-dollars."""
    if p.explicit[i] >= 0:
        return p.table_cost[p.explicit[i], g, t]
    return p.energy[i, g] * p.tariff[g, t]


def cell_costs(p: Pool, task: IntArray, entry: IntArray, slot: IntArray) -> IntArray:
    """(cells,) operational costs of pooled tasks on entries of theirs, micro-dollars."""
    kind = p.kind[entry]
    cost: IntArray = p.energy[task, kind] * p.tariff[kind, slot]
    given = np.flatnonzero(p.explicit[task] >= 0)
    cost[given] = p.table_cost[p.explicit[task[given]], kind[given], slot[given]]
    return cost


@inlined
def _step(old, new, cost):  # type: ignore[no-untyped-def]
    for x in range(1, len(new)):
        skip = old[x]
        take = old[x - 1] + cost
        new[x] = take if take < skip else skip


@inlined
def _both(old, before, new, cost, other):  # type: ignore[no-untyped-def]
    for x in range(len(new)):
        best = old[x + 1]
        take = old[x] + cost
        if take < best:
            best = take
        take = before[x] + other
        if take < best:
            best = take
        new[x] = best


@inlined
def lower_row(old, new, cost):  # type: ignore[no-untyped-def]
    """new[x] = min(new[x], old[x] + cost), as far as `new` goes."""
    for x in range(len(new)):
        take = old[x] + cost
        if take < new[x]:
            new[x] = take


def is_exchanged(exchanged: IntArray | None, i: int) -> bool:
    return exchanged is not None and bool(exchanged[i])


@alternative(is_exchanged)
def _is_exchanged(exchanged, i):  # type: ignore[no-untyped-def]
    from numba import types

    if isinstance(exchanged, types.NoneType):
        return lambda exchanged, i: False
    return lambda exchanged, i: exchanged[i] != 0


def fill(p: Pool, i: int, cost: Any, usable: Any, far: Any, table: Any) -> None:
    """Find the task's cheapest covers; `cheapest` and `trace` read them from the table; kernels take `_fill`."""
    if is_exchanged(p.exchanged, i):
        exchange(p, i, cost, usable, far, table)
    else:
        fill_table(p, i, cost, usable, far, table)


@alternative(fill)
def _fill(p, i, cost, usable, far, table):  # type: ignore[no-untyped-def]
    """Exchanges are compiled only into kernels for pools in which a task needs them: they double their size."""
    from numba import types

    if isinstance(p.types[p.fields.index("exchanged")], types.NoneType):
        return lambda p, i, cost, usable, far, table: fill_table(p, i, cost, usable, far, table)

    def either(p, i, cost, usable, far, table):  # type: ignore[no-untyped-def]
        if p.exchanged[i] != 0:
            exchange(p, i, cost, usable, far, table)
        else:
            fill_table(p, i, cost, usable, far, table)

    return either


@inner
def fill_table(p, i, cost, usable, far, table):  # type: ignore[no-untyped-def]
    """Fill the task's table backwards over its window; table[t, row position] as in `schedules.cover_table`."""
    rows = p.row_start[i]
    count = p.row_start[i + 1] - rows
    types = p.type_start[i + 1] - p.type_start[i]
    width = p.width[i]
    size = p.layer[i]
    stride = p.stride[i]
    for x in range(size):
        table[width * size + x] = far
    table[width * size + p.at[rows]] = 0
    if stride > 0:
        for t in range(width - 1, -1, -1):
            new = table[t * size : (t + 1) * size]
            old = table[(t + 1) * size : (t + 2) * size]
            outer = types > 1 and usable[1, t]
            if usable[0, t] and outer:  # in one loop, which is what most of the time goes to
                _step(old, new[:stride], cost[0, t])
                _both(old[stride - 1 :], old, new[stride:], cost[0, t], cost[1, t])
            elif usable[0, t]:
                _step(old, new, cost[0, t])
            else:
                copy_list(new, old)
                if outer:
                    lower_row(old, new[stride:], cost[1, t])
            for x in range(0, size, stride):
                new[x] = far
        return
    for t in range(width - 1, -1, -1):
        new = table[t * size : (t + 1) * size]
        old = table[(t + 1) * size : (t + 2) * size]
        copy_list(new, old)
        if usable[0, t]:
            for o in range(count):
                begin = p.at[rows + o]
                length = p.length[rows + o]
                lower_row(old[begin : begin + length - 1], new[begin + 1 : begin + length], cost[0, t])
        for g in range(1, types):
            if usable[g, t]:
                for o in range(count):
                    q = p.less[rows + o, g - 1]
                    if q >= 0:
                        begin = p.at[rows + o]
                        length = p.length[rows + o]
                        lower_row(old[p.at[rows + q] :], new[begin : begin + length], cost[g, t])


@inner
def cheapest(p, i, unit, far, table):  # type: ignore[no-untyped-def]
    """(total, option, position) of the cheapest cover, vendor price times `unit` included; (far, -1, -1) for none."""
    rows = p.row_start[i]
    count = p.row_start[i + 1] - rows
    size = p.layer[i]
    best = far
    best_option = -1
    best_x = -1
    if is_exchanged(p.exchanged, i):
        for option in range(p.option_start[i], p.option_start[i + 1]):
            value = table[(option - p.option_start[i]) * (p.width[i] + 1)]
            extra = p.price[option] * unit
            if value < far and value + extra < best:
                best = value + extra
                best_option = option
        return best, best_option, best_x
    for option in range(p.option_start[i], p.option_start[i + 1]):
        layer = p.offset[option] * size
        extra = p.price[option] * unit
        for o in range(count):
            begin = p.at[rows + o]
            for j in range(p.need[rows + o], p.length[rows + o]):
                value = table[layer + begin + j]
                if value < far and value + extra < best:
                    best = value + extra
                    best_option = option
                    best_x = begin + j
    return best, best_option, best_x


@inner
def trace(p, i, cost, usable, far, table, option, x, chosen):  # type: ignore[no-untyped-def]
    """Write the cover that attains table position x at the option's offset: chosen[t] is a local type or -1."""
    rows = p.row_start[i]
    count = p.row_start[i + 1] - rows
    types = p.type_start[i + 1] - p.type_start[i]
    width = p.width[i]
    if is_exchanged(p.exchanged, i):
        line = (option - p.option_start[i]) * (width + 1)
        for t in range(width):
            chosen[t] = np.int64(table[line + 1 + t])
        return
    size = p.layer[i]
    o = 0
    for row in range(count):
        if p.at[rows + row] <= x:
            o = row
    j = x - p.at[rows + o]
    for t in range(width):
        chosen[t] = -1
    for t in range(p.offset[option], width):
        if o == 0 and j == 0:
            break
        value = table[t * size + p.at[rows + o] + j]
        below = (t + 1) * size
        if usable[0, t] and j > 0:
            rest = table[below + p.at[rows + o] + j - 1]
            if rest < far and rest + cost[0, t] == value:
                chosen[t] = 0
                j -= 1
                continue
        for g in range(1, types):
            q = p.less[rows + o, g - 1]
            if usable[g, t] and q >= 0:
                rest = table[below + p.at[rows + q] + j]
                if rest < far and rest + cost[g, t] == value:
                    chosen[t] = g
                    o = q
                    break


@inlined
def _priced(p, i, rent, unit, cost):  # type: ignore[no-untyped-def]
    """cost[g, t] = unit * e + the rent of the cell's class, on the task's window."""
    first = p.first[i]
    for g in range(p.type_start[i + 1] - p.type_start[i]):
        entry = p.type_start[i] + g
        kind = p.kind[entry]
        line = rent[p.klass[entry]]
        for t in range(p.width[i]):
            cost[g, t] = base_cost(p, i, kind, first + t) * unit + line[first + t]


@compiled_in_place
def _answers(p, rent, at, table, first, step, surplus, pooled, cost, usable, chosen):  # type: ignore[no-untyped-def]
    """Best reduced profit b - cheapest of tasks first, first + step, ..., -inf for none; above 0 the schedule, too."""
    for i in range(first, len(p.task), step):
        _priced(p, i, rent, 1.0, cost)
        fill(p, i, cost, usable, np.inf, table)
        total, option, x = cheapest(p, i, 1.0, np.inf, table)
        surplus[i] = p.bid[i] - total if option >= 0 else -np.inf
        for t in range(p.width[i]):
            pooled[at[i] + t] = -1
        if surplus[i] > 0:
            trace(p, i, cost, usable, np.inf, table, option, x, chosen)
            for t in range(p.width[i]):
                pooled[at[i] + t] = chosen[t]


@compiled_in_place
def _profits(p, rent, unit, far, table, first, step, profit, cost, usable):  # type: ignore[no-untyped-def]
    """(n,) unit*b - cheapest, losses included, at rents in 1/unit micro-dollars per cell; -far for no schedule."""
    for i in range(first, len(p.task), step):
        _priced(p, i, rent, unit, cost)
        fill(p, i, cost, usable, far, table)
        total, option, _ = cheapest(p, i, unit, far, table)
        profit[i] = p.bid[i] * unit - total if option >= 0 else -far


_PARALLEL_FROM = 1_000  # Below this many tasks starting threads costs more than it saves; the results are the same

PARTS = 16  # Then tasks are dealt to this many parts whatever the number of threads


class ReducedProfits(NamedTuple):
    """Best reduced profits at given rents, and (places,) local type in each slot of the schedules that attain them."""

    surplus: NDArray[np.float64]
    local: IntArray


class Pricer:
    """Prices all tasks of a pool; holds the scratch memory. Threads change the time, not the result."""

    def __init__(self, p: Pool, *, parallel: bool | None = None) -> None:
        self.pool = p
        if parallel is None:
            parallel = p.tasks >= _PARALLEL_FROM
        self._parts = PARTS if parallel else 1
        self._shape = len(p.nodes), int(p.width.max(initial=1))
        self._usable = np.ones(self._shape, np.bool_)
        self._area = np.empty((self._parts, p.table), np.float64)
        self._at = places(p)
        self._pooled = np.empty(int(p.width.sum()), np.int64)

    def floats(self, rent: NDArray[np.float64]) -> ReducedProfits:
        """In doubles, rents in micro-dollars per cell."""
        return ReducedProfits(np.maximum(self.signed(rent), 0.0), self._pooled)

    def signed(self, rent: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,) best reduced profits in doubles, losses included; -inf for a task without a schedule."""
        p, parts = self.pool, self._parts
        surplus = np.empty(p.tasks, np.float64)

        def work(part: int) -> None:
            scratch = np.empty(self._shape), self._usable, np.empty(self._shape[1], np.int64)
            _answers(p, rent, self._at, self._area[part], part, parts, surplus, self._pooled, *scratch)

        self._deal(work)
        return surplus

    def integers(self, rent: IntArray, unit: int, *, losses: bool = False) -> IntArray:
        """(n,) exact best reduced profits in 1/unit micro-dollars; the caller has made sure that nothing overflows."""
        p, parts = self.pool, self._parts
        profit = np.empty(p.tasks, np.int64)
        area = np.empty(self._area.shape, np.int64)
        cost = np.empty((parts, *self._shape), np.int64)
        far = np.int64(2**62)
        self._deal(lambda k: _profits(p, rent, unit, far, area[k], k, parts, profit, cost[k], self._usable))
        return profit if losses else np.maximum(profit, 0)

    def _deal(self, work: Callable[[int], None]) -> None:
        """Do every part, at most as many at a time as there are cores for us."""
        if self._parts == 1:
            work(0)
            return
        from numba import config

        with ThreadPoolExecutor(config.NUMBA_NUM_THREADS) as threads:
            for _ in threads.map(work, range(self._parts)):
                pass


def node_rents(p: Pool, lam: NDArray[Any], phi: NDArray[Any], first_node: IntArray) -> NDArray[Any]:
    """(C, T) lambda s + phi r of a cell of each class on the cheapest node, at (K, T) prices of nodes."""
    rent = np.empty((len(p.class_kind), lam.shape[1]), lam.dtype)
    classes = zip(p.class_kind.tolist(), p.class_rate.tolist(), p.class_memory.tolist(), strict=True)
    for c, (kind, rate, memory) in enumerate(classes):
        nodes = slice(first_node[kind], first_node[kind + 1])
        rent[c] = (lam[nodes] * rate + phi[nodes] * memory).min(axis=0)
    return rent


def places(p: Pool) -> IntArray:
    """(n,) where each task's places begin in an array of one place per slot of every window."""
    return np.concatenate([[0], np.cumsum(p.width)[:-1]]).astype(np.int64)


@compiled
def class_cells(p, pooled):  # type: ignore[no-untyped-def]
    """(C, T) number of cells of each class in each slot, of pooled answers (local types, -1 for none)."""
    count = np.zeros((len(p.class_kind), p.tariff.shape[1]))
    at = 0
    for i in range(len(p.task)):
        for t in range(p.width[i]):
            g = pooled[at + t]
            if g >= 0:
                count[p.klass[p.type_start[i] + g], p.first[i] + t] += 1
        at += p.width[i]
    return count
