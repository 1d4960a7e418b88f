"""The lower end of OPT: prices per class, pool and time, raised by Adam (a subgradient method with running means).

For any prices lambda_cq(i) >= 0 of a segment i of time, zero outside the segments, with Phi their integral,

    L = sum_j min over q, s >= r_j of [c_j(s) + Phi(s + p_j) - Phi(s)] - sum_q sum_i (b_i+1 - b_i) V_q(i) <= OPT,

where V_q(i) is the least, over rounding units h of GPUs, of the best packing of jobs into the greatest free GPUs of the
nodes. The values here are in doubles and guide the ascent; `verify.bound` states what the prices prove, in integers.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratiobench.formulations.cluster.certificate import Branch
from ratiobench.formulations.cluster.packing import make_work, pack_segments
from ratiobench.formulations.cluster.tables import FloatArray, Problem, find_last, greatest_free
from ratiobench.formulations.kernels import compiled_in_place, inner
from ratiobench.instances.arrays import IntArray

MOST_CAP = 256  # Units of a knapsack whose sizes do not divide each other; more are rounded to fewer
STEP, LAST_STEP = 0.3, 0.01  # First step of a price in parts of the mean price, and the last in parts of the first
PLAIN_STEP, PLAIN_LAST = 0.3, 0.002  # The same for the plain relaxation, which is far from its best at first
KEEP, KEEP_SQUARE = 0.9, 0.999  # Adam's running means
LEAF_ROUNDS, LEAF_STEP, LEAF_LAST = 200, 0.03, 0.1  # Of a leaf's ascent, which begins with the prices that were split
ANY_START = 2**60  # The last start of a job that may start whenever it is released


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Where prices stand: rows of consecutive segments, one row for every class and pool (or for every pool)."""

    borders: IntArray  # (segments + 1,) seconds
    pointer: IntArray  # (jobs + 1,) into row, factor
    row: IntArray  # (pairs,) the row of a job on a pool
    factor: FloatArray  # (pairs,) what a job pays for each unit of the row's price
    first: IntArray  # (rows,) the first segment with a price
    offset: IntArray  # (rows + 1,) into the prices
    pool: IntArray  # (rows,)
    job: IntArray  # (rows,) some job of the row's class

    @property
    def row_of(self) -> IntArray:
        """(prices,) the row of every price."""
        return np.repeat(np.arange(len(self.first)), np.diff(self.offset))

    @property
    def segment_of(self) -> IntArray:
        """(prices,) the segment of every price."""
        segments: IntArray = np.arange(self.offset[-1]) + (self.first - self.offset[:-1])[self.row_of]
        return segments


def make_borders(problem: Problem, seconds: int, until: int, moments: bool) -> IntArray:
    """Segments of equal length until this second, at least one; with moments, also where releases or nodes change."""
    begin = int(problem.release.min(initial=problem.instance.begin))
    borders: IntArray = np.arange(begin, max(until, begin + 1) + seconds, seconds)
    if moments:
        changes = np.concatenate((problem.blocked[:, 1], problem.blocked[:, 2], problem.release))
        borders = np.union1d(borders, changes[(changes > begin) & (changes < borders[-1])])
    return borders


def classify(problem: Problem, seconds: int) -> IntArray:
    """Number classes of jobs of equal shape and pools released in the same period; 0 seconds: each job its own."""
    if not seconds:
        return np.arange(len(problem))
    keys = np.column_stack((problem.nodes, problem.gpus, problem.allowed, problem.release // seconds))
    return np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)


def class_grid(problem: Problem, borders: IntArray, classes: IntArray, until: IntArray) -> Grid:
    """One price per class, pool and segment, from the class's first release to the latest of its jobs' `until`."""
    job, pool = np.nonzero(problem.allowed)
    pools = problem.allowed.shape[1]
    keys, some, row = np.unique(classes[job] * pools + pool, return_index=True, return_inverse=True)
    first, last = np.full(len(keys), np.iinfo(np.int64).max), np.zeros(len(keys), np.int64)
    np.minimum.at(first, row, np.searchsorted(borders, problem.release[job], "right") - 1)
    np.maximum.at(last, row, np.minimum(np.searchsorted(borders, until[job], "left"), len(borders) - 1))
    offset = np.concatenate(([0], np.cumsum(np.maximum(1, last - first))))
    pointer = np.searchsorted(job, np.arange(len(problem) + 1))
    return Grid(borders, pointer, row.reshape(-1), np.ones(len(row)), first, offset, keys % pools, job[some])


def queue_prices(problem: Problem, start: IntArray, pool: IntArray, borders: IntArray) -> FloatArray:
    """(pools * segments,) prices of a GPU at which a lost second costs what waits behind it in a schedule.

    lambda(t) = integral over u >= t of the least cost of a GPU-second that began in [t, u], until nobody waits.
    """
    density, segments = problem.slope / (problem.nodes * problem.gpus * problem.run), len(borders) - 1
    prices = []
    for q in range(problem.allowed.shape[1]):
        waits = np.flatnonzero((pool == q) & (start > problem.release))
        least = np.full(segments + 1, np.inf)
        np.minimum.at(least, np.searchsorted(borders, start[waits], "right") - 1, density[waits])
        queue = np.zeros(segments + 2, np.int64)  # jobs that wait at a border
        np.add.at(queue, np.searchsorted(borders, problem.release[waits], "right"), 1)
        np.add.at(queue, np.searchsorted(borders, start[waits], "left"), -1)
        queue = np.cumsum(queue)
        least[:-1][(queue[:-2] == 0) & (queue[1:-1] == 0)] = 0.0
        least[-1] = 0.0
        price, smaller = np.zeros(segments + 1), [segments]  # later segments, each cheaper than those before it
        for i in range(segments - 1, -1, -1):
            if np.isinf(least[i]):
                least[i] = least[i + 1]
            while least[smaller[-1]] > least[i]:
                smaller.pop()
            price[i] = price[smaller[-1]] + least[i] * (borders[smaller[-1]] - borders[i])
            smaller.append(i)
        prices.append((price[:-1] + price[1:]) / 2)
    return np.concatenate(prices)


def carry_prices(old: Grid, prices: FloatArray, new: Grid) -> FloatArray:
    """The prices of a grid on another one, by time, pool and job."""
    middle = (new.borders[:-1] + new.borders[1:]) // 2
    segment = np.searchsorted(old.borders, middle, "right") - 1
    pools = int(old.pool.max(initial=0)) + 1
    keys = np.repeat(np.arange(len(old.pointer) - 1), np.diff(old.pointer)) * pools + old.pool[old.row]
    pair = np.searchsorted(keys, new.job * pools + new.pool)[new.row_of]  # pairs ascend by job, then by pool
    row = old.row[pair]
    places = segment[new.segment_of] - old.first[row]
    inside = (places >= 0) & (places < np.diff(old.offset)[row])
    carried = np.zeros(len(inside))
    carried[inside] = prices[(old.offset[row] + places)[inside]] * old.factor[pair[inside]]
    return carried


@inner
def _integral(borders, prices, sums, at, base, first, length, k, moment):  # type: ignore[no-untyped-def]
    """Return the integral of a row's prices up to a second of segment k."""
    if k < first:
        return 0.0
    if k >= first + length:
        return sums[base + length]
    return sums[base + k - first] + prices[at + k - first] * (moment - borders[k])


@compiled_in_place
def choose_starts(jobs, grid, prices, sums, use, start, chosen, least):  # type: ignore[no-untyped-def]
    """Return sum_j min [...] without base costs; fill starts, rows, minima, and the use of every price in jobs.

    sums: per row one entry more than prices, filled here.
    """
    first_start, run, slope, kink, last_start = jobs
    borders, pointer, row, factor, first, offset = grid
    segments = len(borders) - 1
    for z in range(len(first)):
        sums[offset[z] + z] = 0.0
        for at in range(offset[z], offset[z + 1]):
            k = first[z] + at - offset[z]
            sums[at + z + 1] = sums[at + z] + prices[at] * (borders[k + 1] - borders[k])
            use[at] = 0.0
    total = 0.0
    for j in range(len(run)):
        best = np.inf
        pay = 0.0
        k0 = find_last(borders, len(borders), first_start[j])
        k1 = find_last(borders, len(borders), first_start[j] + run[j])
        for pair in range(pointer[j], pointer[j + 1]):
            z = row[pair]
            at = offset[z]
            base = at + z
            f = first[z]
            n = offset[z + 1] - at
            a = x = k0  # segments of the border that comes next and of s
            b = y = k1  # of the same a run later
            s = first_start[j]
            later = s < kink[j] <= last_start[j]
            final = False
            while True:
                cost = slope[j] * max(0, s - kink[j])
                if cost >= best:
                    break
                high = _integral(borders, prices, sums, at, base, f, n, y, s + run[j])
                value = cost + factor[pair] * (high - _integral(borders, prices, sums, at, base, f, n, x, s))
                if value < best:
                    best = value
                    start[j] = s
                    chosen[j] = z
                    pay = factor[pair]
                if final or a >= f + n:
                    break
                if later:  # once: the kink, out of order
                    s = kink[j]
                else:
                    s = borders[a + 1]  # there is one, since the row's last segment is not passed
                    if b < segments and borders[b + 1] - run[j] < s:
                        b += 1
                        s = borders[b] - run[j]
                    else:
                        a += 1
                    x = a
                    y = b
                    final = s >= last_start[j]
                    s = min(s, last_start[j])
                if later or final:
                    x = find_last(borders, len(borders), s)
                    y = find_last(borders, len(borders), s + run[j])
                later = False
        total += best
        least[j] = best
        z = chosen[j]
        k = find_last(borders, len(borders), start[j])
        end = start[j] + run[j]
        while k < min(segments, first[z] + offset[z + 1] - offset[z]) and borders[k] < end:
            if k >= first[z]:
                part = min(end, borders[k + 1]) - max(start[j], borders[k])
                use[offset[z] + k - first[z]] += pay * part / (borders[k + 1] - borders[k])
            k += 1
    return total


class Ascent:
    """Prices on one grid and their bound while it is raised."""

    def __init__(self, problem: Problem, grid: Grid, prices: FloatArray, scale: FloatArray) -> None:
        """`scale`: (rows,) the price by which steps are measured."""
        self.problem, self.grid = problem, grid
        self.prices, self.best, self.bound = prices.copy(), prices.copy(), -np.inf
        self.scale = np.repeat(scale, np.diff(grid.offset))
        self.start = np.zeros(len(problem), np.int64)
        self.best_start = self.start.copy()
        self._chosen, self._least = np.zeros(len(problem), np.int64), np.zeros(len(problem))
        self._use, self._packed = np.zeros(len(prices)), np.zeros(len(prices))
        self._sums = np.zeros(len(prices) + len(grid.first))
        jobs = (problem.release, problem.run, problem.slope, problem.kink, np.full(len(problem), ANY_START))
        self._jobs = tuple(np.array(a) for a in jobs)
        self.mean_start, self.spread = np.zeros(len(problem)), np.zeros(len(problem))  # of starts in the last climb
        self._grid = (grid.borders, grid.pointer, grid.row, grid.factor, grid.first, grid.offset)
        self._lengths = np.diff(grid.borders)

    def evaluate(self) -> float:
        """Return the bound of the current prices, which are kept if it is the best; fill starts, use and packing."""
        filled = (self._sums, self._use, self.start, self._chosen, self._least)
        total = choose_starts(self._jobs, self._grid, self.prices, *filled)
        bound = float(total + self.problem.base.sum() - self.pack().sum())
        if bound > self.bound:
            self.bound, self.best, self.best_start = bound, self.prices.copy(), self.start.copy()
        return bound

    def begin_from(self, prices: FloatArray) -> bool:
        """Take prices that prove more than the best ones, and steps of their size; return whether they do."""
        self.prices, known = prices.copy(), self.bound
        if better := self.evaluate() > known:
            np.maximum(self.scale, prices[prices > 0].mean() if prices.any() else 0.0, out=self.scale)
        return better

    def limit_starts(self, first: IntArray, last: IntArray, prices: FloatArray) -> None:
        """Begin anew with these prices, where every job starts from `first` to `last`."""
        self._jobs = (first, *self._jobs[1:4], last)
        self.prices, self.best, self.bound = prices.copy(), prices.copy(), -np.inf

    def pack(self) -> FloatArray:
        """Return (pools, segments) (b_i+1 - b_i) V_q(i) at the current prices."""
        raise NotImplementedError

    def climb(self, rounds: int, step: float, last: float, elapsed: Callable[[], float] = float) -> None:
        """Do this many rounds; the step falls from `step` to `step * last`, sooner if time elapses (0 to 1) sooner."""
        mean, square = np.zeros(len(self.prices)), np.zeros(len(self.prices))
        self.prices = self.best.copy()
        times, total, squares = 0, np.zeros(len(self.start)), np.zeros(len(self.start))
        for t in range(rounds):
            progress = max(t / rounds, elapsed())
            if progress >= 1:
                break
            self.evaluate()
            if 3 * t >= rounds:
                after = (self.start - self._jobs[0]).astype(float)
                times, total, squares = times + 1, total + after, squares + after * after
            slope = self._use - self._packed
            mean += (1 - KEEP) * (slope - mean)
            square += (1 - KEEP_SQUARE) * (slope * slope - square)
            size = step * last**progress / (1 - KEEP ** (t + 1))
            spread = np.sqrt(square / (1 - KEEP_SQUARE ** (t + 1))) + 1e-6
            np.maximum(0.0, self.prices + size * self.scale * mean / spread, out=self.prices)
        average = total / max(1, times)
        self.mean_start = self._jobs[0] + average
        self.spread = np.sqrt(np.maximum(0.0, squares / max(1, times) - average * average))

    def value_packings(self) -> FloatArray:
        """(pools, segments) value of the best packings over a whole segment at the best prices."""
        self.prices = self.best.copy()
        self.evaluate()
        return self.pack()

    def latest_starts(self) -> IntArray:
        """(jobs,) from which second on a start costs more, without prices, than the least with the best prices."""
        self.prices = self.best.copy()
        self.evaluate()
        return np.ceil(self.problem.kink + self._least / self.problem.slope).astype(np.int64)

    def integrate(self, j: int) -> list[FloatArray]:
        """Of each pool of a job: (segments + 1,) the integral of its best prices up to the borders."""
        grid, integrals = self.grid, []
        for pair in range(int(grid.pointer[j]), int(grid.pointer[j + 1])):
            row = int(grid.row[pair])
            low, high, first = int(grid.offset[row]), int(grid.offset[row + 1]), int(grid.first[row])
            prices = np.zeros(len(grid.borders) - 1)
            prices[first : first + high - low] = grid.factor[pair] * self.best[low:high]
            integrals.append(np.append(0.0, np.cumsum(prices * np.diff(grid.borders))))
        return integrals

    def price_starts(self, j: int) -> tuple[IntArray, FloatArray]:
        """Starts of a job, and what they cost with the best prices, which is linear between and beyond them."""
        problem, borders = self.problem, self.grid.borders
        release, run, kink = (int(column[j]) for column in (problem.release, problem.run, problem.kink))
        starts = np.unique(np.concatenate((borders, borders - run, [release, kink])))
        starts = starts[(starts >= release) & (starts <= max(int(borders[-1]), kink))]
        integrals = self.integrate(j)
        paid = [np.interp(starts + run, borders, sums) - np.interp(starts, borders, sums) for sums in integrals]
        return starts, np.min(paid, axis=0) + problem.slope[j] * np.maximum(0, starts - kink)

    def starts_within(self, j: int, spare: float) -> list[tuple[int, int]]:
        """Intervals that hold all starts of job j at which no schedule is ruled out that costs less than L + spare.

        At the best prices a start costs at least as much more than the job's least as it takes L above itself.
        """
        starts, values = self.price_starts(j)
        most = float(values.min()) + spare
        fits = values <= most
        near = np.concatenate(([False], fits[:-1] | fits[1:], [False]))
        ends = starts[np.flatnonzero(near[:-1] != near[1:])].tolist()
        if fits[-1]:  # beyond the prices only the wait costs
            ends += [int(starts[-1]), int(self.problem.kink[j]) + int(most / float(self.problem.slope[j])) + 1]
        return list(zip(ends[::2], ends[1::2], strict=True))


class PlainAscent(Ascent):
    """The plain relaxation: the GPUs in use of a pool are at most those that are free."""

    def __init__(self, problem: Problem, borders: IntArray) -> None:
        width, (job, pool) = problem.nodes * problem.gpus, np.nonzero(problem.allowed)
        pools, segments = problem.allowed.shape[1], len(borders) - 1
        pointer, first = np.searchsorted(job, np.arange(len(problem) + 1)), np.zeros(pools, np.int64)
        offset, factor = np.arange(pools + 1) * segments, width[job].astype(float)
        grid = Grid(borders, pointer, pool, factor, first, offset, np.arange(pools), first)
        scale = float(np.average(problem.slope / width, weights=width * problem.run)) if len(problem) else 0.0
        super().__init__(problem, grid, np.zeros(int(grid.offset[-1])), np.full(len(grid.first), scale))
        free = np.add.reduceat(greatest_free(problem, borders), problem.first_node[:-1])
        self._free = free.reshape(-1)

    def pack(self) -> FloatArray:
        np.copyto(self._packed, self._free)
        return (self._free * self.prices).reshape(-1, len(self._lengths)) * self._lengths


class ClassAscent(Ascent):
    """Prices of classes: what runs in a second of a segment is a packing."""

    def __init__(self, problem: Problem, grid: Grid, prices: FloatArray, scale: FloatArray, classes: IntArray) -> None:
        super().__init__(problem, grid, prices, scale)
        self.classes = classes
        row_of, segment_of = grid.row_of, grid.segment_of
        segments, pools = len(grid.borders) - 1, problem.allowed.shape[1]
        free = greatest_free(problem, grid.borders)
        self._value = np.zeros((pools, segments))
        place = grid.pool[row_of] * segments + segment_of
        order = np.argsort(place, kind="stable")
        pointer = np.concatenate(([0], np.cumsum(np.bincount(place, minlength=pools * segments))))
        first_option, *options = _make_options(problem, grid, free)
        counts, layout = _count_jobs(problem, grid, classes, free), (pointer, first_option)
        work = make_work(len(options[0]), options[1].max(initial=1), options[4].max(initial=1))
        self._arguments = (order, counts, row_of, layout, tuple(options), work, self._value)

    def pack(self) -> FloatArray:
        pack_segments(self.prices, self._use, *self._arguments, self._packed)
        packed: FloatArray = self._value * self._lengths
        return packed


def _make_options(problem: Problem, grid: Grid, free: IntArray) -> tuple[Any, ...]:
    """Rounding units h of every pool: buckets of the rows' sizes, and capacities in them.

    Returns first option of each pool; (options, rows) bucket, -1 for size 0; how many buckets; (options, buckets)
    sizes; whether each size divides the next (they ascend; else they descend); (options, segments) capacity.
    """
    nodes, gpus = problem.nodes[grid.job], problem.gpus[grid.job]
    first, rows, sizes, caps, divisible = [0], [], [], [], []
    for q in range(len(problem.first_node) - 1):
        here = free[problem.first_node[q] : problem.first_node[q + 1]]
        mine = grid.pool == q
        for h in sorted({1, *gpus[mine].tolist()}):
            size, cap = np.where(mine, nodes * (gpus // h), 0), (here // h).sum(axis=0)
            distinct = np.unique(size[size > 0])
            chain = bool((distinct[1:] % distinct[:-1] == 0).all())
            unit = 1 if chain else max(1, -(-int(cap.max()) // MOST_CAP))
            size, cap, sign = size // unit, cap // unit, 1 if chain else -1
            distinct = np.unique(sign * size[size > 0])
            rows.append(np.where(size > 0, np.searchsorted(distinct, sign * size), -1))
            sizes.append(sign * distinct)
            caps.append(cap)
            divisible.append(chain)
        first.append(len(rows))
    lengths = np.array([len(distinct) for distinct in sizes])
    table = [np.pad(distinct, (0, lengths.max() + 1 - len(distinct)), constant_values=1) for distinct in sizes]
    return np.array(first), np.array(rows), lengths, np.array(table), np.array(divisible), np.array(caps)


def _count_jobs(problem: Problem, grid: Grid, classes: IntArray, free: IntArray) -> IntArray:
    """(prices,) N_c(i): jobs of the class released before the segment ends, at most as many as can run at once."""
    row, segment, begin = grid.row_of, grid.segment_of, int(problem.release.min())
    span = int(problem.release.max()) - begin + 2
    keys = np.sort(classes * span + problem.release - begin)
    key = (classes[grid.job] * span)[row]
    released = np.searchsorted(keys, key + np.clip(grid.borders[segment + 1] - begin, 0, span - 1))
    released -= np.searchsorted(keys, key)
    shapes, shape = np.unique((grid.pool, problem.gpus[grid.job]), axis=1, return_inverse=True)
    rooms = [(free[problem.first_node[q] : problem.first_node[q + 1]], k) for q, k in shapes.T.tolist()]
    pieces = np.array([(nodes // k).sum(axis=0) for nodes, k in rooms])
    roomy = np.array([(nodes >= k).sum(axis=0) for nodes, k in rooms])
    number, place = problem.nodes[grid.job][row], (shape.reshape(-1)[row], segment)
    counts: IntArray = np.where(roomy[place] >= number, np.minimum(released, pieces[place] // number), 0)
    return counts


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """The schedules in which every job starts from `first` to `last`, and a bound on their cost."""

    first: IntArray  # (jobs,)
    last: IntArray  # (jobs,)
    prices: FloatArray
    bound: float
    job: int  # to split next; -1 if the starts of every job agree
    second: int  # of the split


class Tree:
    """Branch and bound on starts: leaves whose union is the set of all schedules; the bound is the least of all leaves.

    The relaxation may run half of a wide job now and half later; a branch on its start forbids that.
    """

    def __init__(self, ascent: ClassAscent, threads: int) -> None:
        """Begin with one leaf, with the best prices of an ascent."""
        shared = {id(part): part for part in (ascent.problem, ascent.grid)}
        self._ascents = [copy.deepcopy(ascent, dict(shared)) for _ in range(2)]
        self._threads, self.grid, self.classes = threads, ascent.grid, ascent.classes
        self.branches: list[Branch] = []
        self.seconds = 0.0  # that the checker took for a leaf
        last = np.full(len(ascent.problem), ANY_START)
        self.leaves = [_make_leaf(ascent, ascent.problem.release, last, ascent.bound)]

    @property
    def bound(self) -> float:
        return min(leaf.bound for leaf in self.leaves)

    def split(self, is_over: Callable[[], bool] = bool) -> bool:
        """Split the leaf of the least bound; return False if it has no job to split."""
        weakest = min(range(len(self.leaves)), key=lambda number: self.leaves[number].bound)
        leaf = self.leaves[weakest]
        if leaf.job < 0:
            return False
        early, late = leaf.last.copy(), leaf.first.copy()
        early[leaf.job], late[leaf.job] = leaf.second - 1, leaf.second
        sides = (leaf.first, early), (late, leaf.last)

        def climb(ascent: ClassAscent, starts: tuple[IntArray, IntArray]) -> Leaf:
            ascent.limit_starts(*starts, leaf.prices)
            ascent.evaluate()
            ascent.climb(LEAF_ROUNDS, LEAF_STEP, LEAF_LAST, lambda: float(is_over()))
            return _make_leaf(ascent, *starts, max(leaf.bound, ascent.bound))

        with ThreadPoolExecutor(self._threads) as threads:
            self.leaves[weakest], later = threads.map(climb, self._ascents, sides)
        self.leaves.append(later)
        self.branches.append(Branch(weakest, leaf.job, leaf.second))
        return True


def _make_leaf(ascent: ClassAscent, first: IntArray, last: IntArray, bound: float) -> Leaf:
    """Make the leaf of the last climb; to split next: the job with the largest spread of starts times GPUs."""
    problem = ascent.problem
    weight = np.minimum(ascent.spread, problem.run) * problem.nodes * problem.gpus
    job = int(weight.argmax())
    second = min(int(last[job]), max(int(first[job]), int(ascent.mean_start[job])) + 1)
    splits = weight[job] > 0 and first[job] < last[job]
    return Leaf(first, last, ascent.best, bound, job if splits else -1, second)
