"""Column pricing for P1: the most profitable schedule of every task at given cell costs, compiled, exact.

The covering dynamic programme of `schedules`, laid out for speed. A count vector is split into the *outer* types and
one *inner* type (the one that needs most slots); for each outer vector the inner count runs over a contiguous row,
only as far as the work still asks for it, so the innermost loops are vectorised. The same kernels run in doubles (to
search for prices) and in 64-bit integers (to prove bounds).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.kernels import alternative, compiled, compiled_in_place, inlined, inner
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
        """Number of tasks."""
        return len(self.task)

    @property
    def table(self) -> int:
        """Cells of the largest table that pricing needs."""
        layers = self.layer
        if self.exchanged is not None:
            layers = np.where(self.exchanged > 0, np.diff(self.option_start), self.layer)
        return int(((self.width + 1) * layers).max(initial=1))


def _undominated_options(instance: Instance, i: int) -> list[tuple[int, int, int]]:
    """(offset from arrival, price, vendor) of the options that no other beats in price without being later."""
    vendors = instance.vendors(i)
    if not vendors:
        return [(0, 0, -1)]
    selection: list[tuple[int, int, int]] = []
    for offset, price, n in sorted((v.delay, v.price, n) for n, v in enumerate(vendors)):
        if not selection or price < selection[-1][1]:
            selection.append((offset, price, n))
    return selection


def pool(instance: Instance, spare: int = 0) -> Pool:
    """The flat arrays of an instance.

    `spare`: so many cells of each type may be used beyond a minimal cover even where they cost.
    """
    compute = np.array([node.compute for node in instance.node_types], dtype=np.int64)
    memory = np.array([node.memory_mb for node in instance.node_types], dtype=np.int64) - instance.base_memory_mb
    usable = (instance.rate > 0) & (instance.rate <= compute) & (instance.memory_mb[:, None] <= memory)
    lists: dict[str, list[int]] = {key: [] for key in ("kind", "rate", "offset", "price", "vendor")}
    starts: dict[str, list[int]] = {"type": [0], "option": [0], "row": [0]}
    selection: list[int] = []
    first: list[int] = []
    width: list[int] = []
    layer: list[int] = []
    stride: list[int] = []
    rows: list[_Rows] = []
    for i in range(instance.tasks):
        arrival, deadline = int(instance.arrival[i]), int(instance.deadline[i])
        types = np.flatnonzero(usable[i])
        if len(types) == 0:
            continue
        fastest = int(instance.rate[i, types].max())
        options = [o for o in _undominated_options(instance, i) if arrival + o[0] <= deadline]
        options = [o for o in options if (deadline - arrival - o[0] + 1) * fastest >= instance.work[i]]
        if not options:
            continue
        begin = arrival + options[0][0]
        span = deadline - begin + 1
        types = types[np.argsort(instance.rate[i, types], kind="stable")]
        rates = instance.rate[i, types]
        negative = (instance.cost(i)[types, begin - 1 : deadline] < 0).sum(axis=1)
        table = _rows(rates, int(instance.work[i]), span, negative + spare, len(instance.node_types) - 1, i)
        selection.append(i)
        first.append(begin - 1)
        width.append(span)
        layer.append(table.layer)
        stride.append(table.stride)
        rows.append(table)
        lists["kind"] += types.tolist()
        lists["rate"] += rates.tolist()
        for offset, price, vendor in options:
            lists["offset"].append(arrival + offset - begin)
            lists["price"].append(price)
            lists["vendor"].append(vendor)
        starts["type"].append(len(lists["kind"]))
        starts["option"].append(len(lists["offset"]))
        starts["row"].append(starts["row"][-1] + len(table.length))
    chosen = np.array(selection, dtype=np.int64)
    sizes = (np.array(width, dtype=np.int64) + 1) * np.array(layer, dtype=np.int64)
    large = sizes > (LONG if sizes.sum() <= MUCH else SHORT)
    exchanged = (large & (np.diff(starts["type"]) <= 2)).astype(np.int64)
    for j in np.flatnonzero(large & (exchanged == 0)).tolist():
        require_table(layer[j], width[j], selection[j])
    where = np.full(instance.tasks, -1, dtype=np.int64)
    tables = sorted(instance.explicit_cost)
    where[tables] = np.arange(len(tables))
    shape = (len(tables), len(instance.node_types), instance.slots)

    def column(part: str) -> IntArray:
        return np.concatenate([np.zeros(0, np.int64), *(getattr(row, part) for row in rows)])

    def ints(values: list[int]) -> IntArray:
        return np.array(values, dtype=np.int64)

    memory_of_entry = np.repeat(instance.memory_mb[chosen], np.diff(starts["type"]))
    cells = np.stack([ints(lists["kind"]), ints(lists["rate"]), memory_of_entry])
    classes, klass = np.unique(cells, axis=1, return_inverse=True)
    return Pool(
        task=chosen,
        bid=instance.bid[chosen],
        work=instance.work[chosen],
        memory=instance.memory_mb[chosen],
        first=ints(first),
        width=ints(width),
        type_start=ints(starts["type"]),
        kind=ints(lists["kind"]),
        rate=ints(lists["rate"]),
        option_start=ints(starts["option"]),
        offset=ints(lists["offset"]),
        price=ints(lists["price"]),
        vendor=ints(lists["vendor"]),
        row_start=ints(starts["row"]),
        length=column("length"),
        need=column("need"),
        at=column("at"),
        less=np.concatenate(
            [np.zeros((0, max(1, len(instance.node_types) - 1)), np.int64), *(row.less for row in rows)]
        ),
        layer=ints(layer),
        stride=ints(stride),
        exchanged=exchanged if exchanged.any() else None,
        energy=np.ascontiguousarray(instance.energy_wh[chosen]),
        tariff=np.stack([node.tariff for node in instance.node_types]),
        explicit=where[chosen],
        table_cost=np.array([instance.explicit_cost[i] for i in tables], dtype=np.int64).reshape(shape),
        nodes=np.array([node.count for node in instance.node_types], dtype=np.int64),
        compute=compute,
        capacity_mb=memory,
        klass=klass.reshape(-1).astype(np.int64),
        class_kind=np.ascontiguousarray(classes[0]),
        class_rate=np.ascontiguousarray(classes[1]),
        class_memory=np.ascontiguousarray(classes[2]),
    )


@lru_cache(maxsize=4)
def find_pool(instance: Instance) -> Pool:
    """`pool` of an instance, kept for the last few: its bound, its audits and its facts all begin with it."""
    return pool(instance)


class _Rows(NamedTuple):
    """The rows of one task's table; see `Pool`."""

    length: IntArray
    need: IntArray
    at: IntArray
    less: IntArray
    layer: int
    stride: int


def _rows(rates: IntArray, work: int, width: int, negative: IntArray, columns: int, task: int) -> _Rows:
    """A task's rows; the first rate is the inner type's.

    Without negative costs only minimal covers matter: the inner count stops where it covers, and an outer count where
    it covers alone. Slots of negative cost may be taken on top of that.
    """
    caps = np.minimum(width, -(-work // rates) + negative).tolist()
    outer_caps = caps[1:]
    positions = 1
    for cap in outer_caps:
        positions *= cap + 1
    if positions > OUTER_LIMIT:
        problem = f"{len(rates)} node types give {positions} outer count vectors; at most {OUTER_LIMIT} are searched"
        raise StateSpaceTooLarge(problem, task)
    axes = np.indices([cap + 1 for cap in reversed(outer_caps)]) if outer_caps else np.zeros((0, 1), np.int64)
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
    if len(rates) <= 2:
        # All rows as long as the longest, and before each a cell that stays impossible: a layer is then updated in two
        # long loops.
        stride = int(length.max()) + 1
        return _Rows(length, need, np.arange(len(length)) * stride + 1, less, len(length) * stride, stride)
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
def _copy(old, new):  # type: ignore[no-untyped-def]
    for x in range(len(new)):
        new[x] = old[x]


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
def _lower(old, new, cost):  # type: ignore[no-untyped-def]
    """new[x] = min(new[x], old[x] + cost), as far as `new` goes."""
    for x in range(len(new)):
        take = old[x] + cost
        if take < new[x]:
            new[x] = take


def is_exchanged(exchanged: IntArray | None, i: int) -> bool:
    """Whether a task of the pool is priced by exchanges."""
    return exchanged is not None and bool(exchanged[i])


@alternative(is_exchanged)
def _is_exchanged(exchanged, i):  # type: ignore[no-untyped-def]
    from numba import types

    if isinstance(exchanged, types.NoneType):
        return lambda exchanged, i: False
    return lambda exchanged, i: exchanged[i] != 0


def fill(p: Pool, i: int, cost: Any, usable: Any, far: Any, table: Any) -> None:
    """Find the task's cheapest covers; `cheapest` and `trace` read them from the table; kernels take `_fill`.

    cost, usable : (at least the task's types, at least its width) in the order of p.kind.
    """
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
                _copy(old, new)
                if outer:
                    _lower(old, new[stride:], cost[1, t])
            for x in range(0, size, stride):
                new[x] = far
        return
    for t in range(width - 1, -1, -1):
        new = table[t * size : (t + 1) * size]
        old = table[(t + 1) * size : (t + 2) * size]
        _copy(old, new)
        if usable[0, t]:
            for o in range(count):
                begin = p.at[rows + o]
                length = p.length[rows + o]
                _lower(old[begin : begin + length - 1], new[begin + 1 : begin + length], cost[0, t])
        for g in range(1, types):
            if usable[g, t]:
                for o in range(count):
                    q = p.less[rows + o, g - 1]
                    if q >= 0:
                        begin = p.at[rows + o]
                        length = p.length[rows + o]
                        _lower(old[p.at[rows + q] :], new[begin : begin + length], cost[g, t])


@inner
def cheapest(p, i, unit, far, table):  # type: ignore[no-untyped-def]
    """(total, option, position) of the cheapest cover in a filled table, vendor price times `unit` included.

    option is -1 and total `far` when there is no cover.
    """
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
    """Best reduced profit max(0, b - cheapest) of tasks first, first + step, ..., and the schedule that has it.

    `rent`: (C, T) doubles, all non-negative, micro-dollars per cell; `at`: (n,) where each task's places begin;
    `surplus`: (n,) out; `pooled`: (sum of widths,) out: local type in each slot, -1 for none; `table`, `cost`,
    `chosen`: scratch; `usable`: all true.
    """
    for i in range(first, len(p.task), step):
        _priced(p, i, rent, 1.0, cost)
        fill(p, i, cost, usable, np.inf, table)
        total, option, x = cheapest(p, i, 1.0, np.inf, table)
        surplus[i] = 0
        for t in range(p.width[i]):
            pooled[at[i] + t] = -1
        if option >= 0 and p.bid[i] - total > 0:
            surplus[i] = p.bid[i] - total
            trace(p, i, cost, usable, np.inf, table, option, x, chosen)
            for t in range(p.width[i]):
                pooled[at[i] + t] = chosen[t]


@compiled_in_place
def _profits(p, rent, unit, far, table, first, step, profit, cost, usable):  # type: ignore[no-untyped-def]
    """The same profits, losses included: unit*b - cheapest at rents in 1/unit micro-dollars per cell, of any type.

    `profit`: (n,) out; -far for a task without a schedule; `table`, `cost`: scratch of the rents' type.
    """
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
        p, parts = self.pool, self._parts
        surplus = np.empty(p.tasks, np.float64)

        def work(part: int) -> None:
            scratch = np.empty(self._shape), self._usable, np.empty(self._shape[1], np.int64)
            _answers(p, rent, self._at, self._area[part], part, parts, surplus, self._pooled, *scratch)

        self._deal(work)
        return ReducedProfits(surplus, self._pooled)

    def integers(self, rent: IntArray, unit: int, *, losses: bool = False) -> IntArray:
        """(n,) exact best reduced profits in 1/unit micro-dollars; the caller has made sure that nothing overflows.

        `losses`: as for `signed`; else no profit is below 0.
        """
        p, parts = self.pool, self._parts
        profit = np.empty(p.tasks, np.int64)
        area = np.empty(self._area.shape, np.int64)
        cost = np.empty((parts, *self._shape), np.int64)
        far = np.int64(2**62)
        self._deal(lambda k: _profits(p, rent, unit, far, area[k], k, parts, profit, cost[k], self._usable))
        return profit if losses else np.maximum(profit, 0)

    def signed(self, rent: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,) best reduced profits in doubles, losses included; -inf for a task without a schedule."""
        p, parts = self.pool, self._parts
        profit = np.empty(p.tasks, np.float64)
        cost = np.empty((parts, *self._shape))
        self._deal(lambda k: _profits(p, rent, 1.0, np.inf, self._area[k], k, parts, profit, cost[k], self._usable))
        return profit

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
