"""Schedules in whole seconds: jobs placed where the prices say, in what others leave, and ruin and recreate.

A job is placed by the dynamic programme of the dual bound over the steps of free GPUs and servers in its window: at the
value of a milli-iteration at which its work is just done, and then cut to the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ratiobench.formulations.edgeflow.pricing import best_at, trace
from ratiobench.formulations.edgeflow.problem import Grid, Problem
from ratiobench.formulations.kernels import compiled, inlined, inner, sort_stably
from ratiobench.formulations.linear import BoolArray, FloatArray
from ratiobench.instances.arrays import IntArray
from ratiobench.instances.edgeflow.model import CLOUD, EDGE, Piece, Solution

PIECES = 40  # Most pieces of a job; a schedule with more is not taken
LINES = 30  # Most schedules that are looked at to place one job
TRIES = 4  # Most times that a job is planned with more work, for the stalls of changing sides
LOWERED = 0.5  # How often a job that is placed may do a part of a run on fewer GPUs; else it only runs shorter
_MODULUS = 2147483647
BEGIN, END, MODE = range(3)  # What a piece is: seconds, and the number of a mode of its job


class PartialSchedule(NamedTuple):
    """A schedule in the making, and what it leaves in each step."""

    size: IntArray  # (1,) how many steps there are
    # at, free_gpus, servers, lam, mu: (most+1,) where a step begins, what is free in it, prices.
    at: IntArray
    free_gpus: IntArray
    servers: IntArray
    lam: FloatArray
    mu: FloatArray
    many: IntArray  # (n,) pieces of each job
    pieces: IntArray  # (n, PIECES, 3)
    placed: BoolArray  # (n,) whether a job is met
    spent: FloatArray  # (n,) what its pieces cost
    seed: IntArray  # (1,) of the random numbers


def empty_schedule(problem: Problem, grid: Grid, lam: FloatArray, mu: FloatArray, seed: int) -> PartialSchedule:
    """Nothing placed; a GPU second is never free, so that none is wasted."""
    jobs, cells = problem.jobs, grid.cells
    most = 2 * cells + 8 * jobs + 20 * PIECES

    def padded(values: np.ndarray) -> np.ndarray:
        return np.pad(values, (0, most + 1 - len(values)))

    positive = lam[lam > 0]
    least = 0.02 * float(positive.mean()) if len(positive) else 1e-9
    return PartialSchedule(
        np.array([cells]),
        padded(grid.points),
        padded(np.full(cells, problem.gpus)),
        padded(grid.servers),
        padded(lam + least),
        padded(mu + 0.1 * least),
        np.zeros(jobs, np.int64),
        np.zeros((jobs, PIECES, 3), np.int64),
        np.zeros(jobs, np.bool_),
        np.zeros(jobs),
        np.array([1 + seed % (_MODULUS - 1)]),
    )


class BestSchedule(NamedTuple):
    met: IntArray
    many: IntArray
    pieces: IntArray


def worst_schedule(problem: Problem) -> BestSchedule:
    jobs = problem.jobs
    return BestSchedule(np.array([-1]), np.zeros(jobs, np.int64), np.zeros((jobs, PIECES, 3), np.int64))


def best_of_solution(problem: Problem, solution: Solution, met: Sequence[bool]) -> BestSchedule:
    """The jobs that a valid schedule meets, but for those with too many pieces or in shares that are no modes."""
    best = worst_schedule(problem)
    found = 0
    for i, pieces in enumerate(solution):
        first, last = int(problem.mode_start[i]), int(problem.mode_start[i + 1])
        mode_of = {gpus: m for m, gpus in enumerate(problem.mode_gpus[first:last].tolist())}
        shares = [piece.gpus if piece.place == CLOUD else 0 for piece in pieces]
        if not met[i] or len(pieces) > PIECES or not all(gpus in mode_of for gpus in shares):
            continue
        deadline = int(problem.deadline[i])
        early = [(p, mode_of[gpus]) for p, gpus in zip(pieces, shares, strict=True) if p.start < deadline]
        for j, (piece, m) in enumerate(early):
            best.pieces[i, j] = piece.start, min(piece.end, deadline), m
        best.many[i] = len(early)
        found += 1
    best.met[0] = found
    return best


def solution_of(problem: Problem, best: BestSchedule) -> Solution:
    found = []
    for i in range(problem.jobs):
        runs = []
        for begin, end, mode in best.pieces[i, : int(best.many[i])].tolist():
            gpus = int(problem.mode_gpus[problem.mode_start[i] + mode])
            runs.append(Piece(begin, end, CLOUD if gpus else EDGE, max(1, gpus)))
        found.append(tuple(runs))
    return tuple(found)


@inlined
def draw_uniform(seed):  # type: ignore[no-untyped-def]
    """A double in (0, 1): Lehmer's generator."""
    seed[0] = seed[0] * 48271 % 2147483647
    return seed[0] / 2147483647.0


@inlined
def windows_overlap(problem, i, j):  # type: ignore[no-untyped-def]
    return problem.submit[i] < problem.deadline[j] and problem.deadline[i] > problem.submit[j]


@inlined
def set_piece(pieces, j, begin, end, mode):  # type: ignore[no-untyped-def]
    pieces[j, BEGIN] = begin
    pieces[j, END] = end
    pieces[j, MODE] = mode


@inner
def copy_pieces(to, source, count):  # type: ignore[no-untyped-def]
    for j in range(count):
        for x in range(3):
            to[j, x] = source[j, x]


@inner
def step_at(board, second):  # type: ignore[no-untyped-def]
    low = 0
    high = board.size[0]
    while high - low > 1:
        middle = (low + high) // 2
        if board.at[middle] <= second:
            low = middle
        else:
            high = middle
    return low


@inlined
def copy_step(board, to, source):  # type: ignore[no-untyped-def]
    board.free_gpus[to] = board.free_gpus[source]
    board.servers[to] = board.servers[source]
    board.lam[to] = board.lam[source]
    board.mu[to] = board.mu[source]


@inner
def split_at(board, second):  # type: ignore[no-untyped-def]
    """The step that begins at the second, made if there is none."""
    k = step_at(board, second)
    if board.at[k] == second:
        return k
    size = board.size[0]
    if board.at[size] == second:
        return size
    for x in range(size, k, -1):
        board.at[x + 1] = board.at[x]
        copy_step(board, x + 1, x)
    board.at[k + 1] = second
    copy_step(board, k + 1, k)
    board.size[0] = size + 1
    return k + 1


@inner
def join_steps(board):  # type: ignore[no-untyped-def]
    """Make neighbours one that differ in nothing."""
    size = board.size[0]
    best = 0
    for k in range(1, size):
        if (
            board.free_gpus[k] != board.free_gpus[best]
            or board.servers[k] != board.servers[best]
            or board.lam[k] != board.lam[best]
            or board.mu[k] != board.mu[best]
        ):
            best += 1
            board.at[best] = board.at[k]
            copy_step(board, best, k)
    board.at[best + 1] = board.at[size]
    board.size[0] = best + 1


@inner
def charge(problem, board, i, sign):  # type: ignore[no-untyped-def]
    """Take (1) or give back (-1) what the job's pieces use; returns its cost."""
    cost = 0.0
    for j in range(board.many[i]):
        gpus = problem.mode_gpus[problem.mode_start[i] + board.pieces[i, j, MODE]]
        a = split_at(board, board.pieces[i, j, BEGIN])
        b = split_at(board, board.pieces[i, j, END])
        for k in range(a, b):
            span = board.at[k + 1] - board.at[k]
            if gpus == 0:
                board.servers[k] -= sign
                cost += board.mu[k] * span
            else:
                board.free_gpus[k] -= sign * gpus
                cost += board.lam[k] * gpus * span
    return cost


@inner
def remove(problem, board, i):  # type: ignore[no-untyped-def]
    """Take the job out; its pieces stay written."""
    charge(problem, board, i, -1)
    board.placed[i] = False


@inner
def restore(problem, board, i):  # type: ignore[no-untyped-def]
    board.spent[i] = charge(problem, board, i, 1)
    board.placed[i] = True


@inner
def progress_of(problem, i, runs, count):  # type: ignore[no-untyped-def]
    """The work that the runs do, in integers."""
    done = 0
    before = -1
    for j in range(count):
        at = problem.mode_start[i] + runs[j, MODE]
        side = 1 if problem.mode_gpus[at] == 0 else 0
        stall = problem.overhead[i]
        if j > 0 and runs[j, BEGIN] == runs[j - 1, END] and runs[j, MODE] == runs[j - 1, MODE]:
            stall = 0
        elif before >= 0 and before != side:
            stall += problem.crossing[i]
        before = side
        done += problem.mode_speed[at] * max(0, runs[j, END] - runs[j, BEGIN] - stall)
    return done


@inner
def step_of(board, runs, j, late):  # type: ignore[no-untyped-def]
    """The step of a run's last second, or of its first."""
    return step_at(board, runs[j, END] - 1 if late == 1 else runs[j, BEGIN])


@inner
def lower_run(problem, board, i, runs, count, excess):  # type: ignore[no-untyped-def]
    """One run does its end or beginning on fewer GPUs, where that saves most; returns the number of runs."""
    stall = problem.overhead[i]
    most = 0.0
    which = -1
    side = 0
    seconds = 0
    lower = 0
    for j in range(count):
        at = problem.mode_start[i] + runs[j, MODE]
        gpus = problem.mode_gpus[at]
        length = runs[j, END] - runs[j, BEGIN]
        if gpus == 0 or excess < problem.mode_speed[at]:
            continue
        for late in range(2):
            price = board.lam[step_of(board, runs, j, late)]
            # What it would save to run shorter.
            most = max(most, price * gpus * min(length, excess // problem.mode_speed[at]))
            for m in range(runs[j, MODE]):
                other = problem.mode_start[i] + m
                span = (excess - stall * problem.mode_speed[other]) // (
                    problem.mode_speed[at] - problem.mode_speed[other]
                )
                span = min(span, length - stall - 1)
                if span > stall and price * (gpus - problem.mode_gpus[other]) * span > most:
                    most = price * (gpus - problem.mode_gpus[other]) * span
                    which = j
                    side = late
                    seconds = span
                    lower = m
    if which < 0 or count == PIECES:
        return count
    for j in range(count, which, -1):
        set_piece(runs, j, runs[j - 1, BEGIN], runs[j - 1, END], runs[j - 1, MODE])
    border = runs[which, END] - seconds if side == 1 else runs[which, BEGIN] + seconds
    runs[which, END] = border
    runs[which + 1, BEGIN] = border
    runs[which + side, MODE] = lower
    return count + 1


@inner
def cut_runs(problem, board, i, runs, count):  # type: ignore[no-untyped-def]
    """Shorten the runs, the dearest second first, while the work stays done; returns the number of runs."""
    work = problem.work[i]
    if draw_uniform(board.seed) < LOWERED:
        for _ in range(4):
            before = count
            count = lower_run(problem, board, i, runs, count, progress_of(problem, i, runs, count) - work)
            if count == before:
                break
    for _ in range(3 * PIECES):
        excess = progress_of(problem, i, runs, count) - work
        best = 0.0
        which = -1
        side = 0
        for j in range(count):
            at = problem.mode_start[i] + runs[j, MODE]
            if problem.mode_speed[at] > excess:
                continue
            for late in range(2):
                k = step_of(board, runs, j, late)
                gpus = problem.mode_gpus[at]
                price = board.mu[k] if gpus == 0 else gpus * board.lam[k]
                if price / problem.mode_speed[at] > best:
                    best = price / problem.mode_speed[at]
                    which = j
                    side = late
        if which < 0:
            break
        length = runs[which, END] - runs[which, BEGIN]
        less = min(length, excess // problem.mode_speed[problem.mode_start[i] + runs[which, MODE]])
        k = step_of(board, runs, which, side)
        there = runs[which, END] - board.at[k] if side == 1 else board.at[k + 1] - runs[which, BEGIN]
        less = min(less, max(1, there))
        if length - less <= problem.overhead[i]:
            count -= 1
            for j in range(which, count):
                set_piece(runs, j, runs[j + 1, BEGIN], runs[j + 1, END], runs[j + 1, MODE])
        elif side == 1:
            runs[which, END] -= less
        else:
            runs[which, BEGIN] += less
    return count


@inner
def place(problem, board, i, came, free, net, done, chosen, runs):  # type: ignore[no-untyped-def]
    """Place the job where it costs least; whether it fits. Scratch: see `search`."""
    a = problem.mode_start[i]
    b = problem.mode_start[i + 1]
    gpus = problem.mode_gpus[a:b]
    speed = problem.mode_speed[a:b]
    low = problem.submit[i]
    high = problem.deadline[i]
    first = step_at(board, low)
    last = step_at(board, high - 1) + 1
    work = np.float64(problem.work[i])
    for _ in range(TRIES):
        left_cost = 0.0
        left_done = 0.0
        found = False
        right_cost = 0.0
        right_done = 0.0
        # Beyond any price: the most progress that there is room for.
        u = 1e6 / max(1.0, work)
        for line in range(LINES):
            worth, did = best_at(
                u, low, high, first, last, board.at, board.free_gpus, board.servers, board.lam, board.mu, gpus, speed,
                problem.overhead[i], came, free, net, done,
            )  # fmt: skip
            if line == 0:
                if did < work:
                    return False
            else:
                known = left_cost + u * (work - left_done)
                if u * work - worth >= known - 1e-12 * max(1.0, known):
                    break
            if did >= work:
                right_cost = u * did - worth
                right_done = did
                trace(last - first, came, free, chosen)
                found = True
            else:
                left_cost = u * did - worth
                left_done = did
            u = (right_cost - left_cost) / (right_done - left_done)
        count = 0
        full = not found
        for at in range(last - first):
            m = chosen[at]
            if m < 0:
                continue
            start = max(low, board.at[first + at])
            stop = min(high, board.at[first + at + 1])
            if count > 0 and runs[count - 1, MODE] == m and runs[count - 1, END] == start:
                runs[count - 1, END] = stop
            elif count == PIECES:
                full = True
                break
            else:
                set_piece(runs, count, start, stop, m)
                count += 1
        if full:
            return False
        short = problem.work[i] - progress_of(problem, i, runs, count)
        if short > 0:
            work += 1.01 * short + 1.0
            continue
        count = cut_runs(problem, board, i, runs, count)
        if progress_of(problem, i, runs, count) < problem.work[i]:
            return False
        # A window of the edge ends where its step ends: a run goes on into the next, as two pieces.
        pieces = 0
        for j in range(count):
            start = runs[j, BEGIN]
            if gpus[runs[j, MODE]] == 0:
                for w in range(len(problem.window_start)):
                    if start < problem.window_end[w] < runs[j, END]:
                        if pieces == PIECES:
                            return False
                        set_piece(board.pieces[i], pieces, start, problem.window_end[w], runs[j, MODE])
                        pieces += 1
                        start = problem.window_end[w]
            if pieces == PIECES:
                return False
            set_piece(board.pieces[i], pieces, start, runs[j, END], runs[j, MODE])
            pieces += 1
        board.many[i] = pieces
        restore(problem, board, i)
        return True
    return False


@inner
def keep_best(board, now, best):  # type: ignore[no-untyped-def]
    best.met[0] = now
    for i in range(len(best.many)):
        best.many[i] = board.many[i] if board.placed[i] else 0
        copy_pieces(best.pieces[i], board.pieces[i], best.many[i])


@compiled
def put_back(problem, board, best):  # type: ignore[no-untyped-def]
    for i in range(len(best.many)):
        if board.placed[i]:
            remove(problem, board, i)
    for i in range(len(best.many)):
        board.many[i] = best.many[i]
        if best.many[i] > 0:
            copy_pieces(board.pieces[i], best.pieces[i], best.many[i])
            restore(problem, board, i)
    join_steps(board)


@compiled
def search(problem, board, order, rank, low, high, whole, heat, share, most, tried, best):  # type: ignore[no-untyped-def]
    """Insert jobs in an order, then do rounds of ruin and recreate; returns the number of jobs met."""
    jobs = len(rank)
    longest = len(board.at)
    widest = 1
    for i in range(jobs):
        widest = max(widest, problem.mode_start[i + 1] - problem.mode_start[i])
    came = np.zeros((longest, widest), np.bool_)
    free = np.zeros(longest, np.int64)
    net = np.zeros(widest)
    done = np.zeros(widest)
    chosen = np.zeros(longest, np.int64)
    runs = np.zeros((PIECES, 3), np.int64)
    out = np.zeros(jobs, np.int64)
    near = np.zeros(jobs, np.int64)
    size = most + tried + 2
    touched = np.zeros(size, np.int64)
    key = np.zeros(size)
    was = np.zeros(size, np.bool_)
    count = np.zeros(size, np.int64)
    pieces = np.zeros((size, PIECES, 3), np.int64)
    for i in order:
        if not board.placed[i]:
            place(problem, board, i, came, free, net, done, chosen, runs)
    now = 0
    for i in range(jobs):
        if board.placed[i]:
            now += 1
    if now > best.met[0]:
        keep_best(board, now, best)
    for turn in range(low, high):
        if board.size[0] > longest - 8 * PIECES or turn % 64 == 0:
            join_steps(board)
        missing = 0
        for i in range(jobs):
            if not board.placed[i] and problem.mode_start[i + 1] > problem.mode_start[i]:
                out[missing] = i
                missing += 1
        if missing == 0:
            break
        wanted = out[min(missing - 1, int(draw_uniform(board.seed) * missing))]
        around = 0
        for i in range(jobs):
            if board.placed[i]:
                for j in range(board.many[i]):
                    early = board.pieces[i, j, BEGIN] < problem.deadline[wanted]
                    if early and board.pieces[i, j, END] > problem.submit[wanted]:
                        near[around] = i
                        around += 1
                        break
        # Who is touched: some that run in the window, the wanted one, and more that are missing.
        n = 0
        for _ in range(min(around, 1 + int(draw_uniform(board.seed) * most))):
            x = n + int(draw_uniform(board.seed) * (around - n))
            near[n], near[x] = near[x], near[n]
            touched[n] = near[n]
            n += 1
        removed = n
        touched[n] = wanted
        n += 1
        for x in range(missing):
            if n == len(touched) - 1:
                break
            i = out[(x + int(draw_uniform(board.seed) * 3)) % missing]
            fresh = i != wanted
            for y in range(removed, n):
                if touched[y] == i:
                    fresh = False
            if (fresh and missing <= tried) or (
                fresh and windows_overlap(problem, i, wanted) and draw_uniform(board.seed) * missing < 2 * tried
            ):
                touched[n] = i
                n += 1
        before = 0.0
        for x in range(n):
            i = touched[x]
            was[x] = board.placed[i]
            count[x] = board.many[i]
            copy_pieces(pieces[x], board.pieces[i], count[x])
            if was[x]:
                before += board.spent[i]
                remove(problem, board, i)
            noise = draw_uniform(board.seed)
            key[x] = rank[i] * (0.4 + 2.0 * noise * noise)
        if draw_uniform(board.seed) < 0.5:
            key[removed] = -1.0
        turns = sort_stably(key[:n])
        after = 0.0
        met = 0
        for x in turns:
            if place(problem, board, touched[x], came, free, net, done, chosen, runs):
                met += 1
                after += board.spent[touched[x]]
        gain = met - removed
        bar = heat * (whole - turn) / whole * draw_uniform(board.seed)
        if gain - share * (after - before) >= -bar:
            now += gain
            if now > best.met[0]:
                keep_best(board, now, best)
        else:
            for x in range(n):
                if board.placed[touched[x]]:
                    remove(problem, board, touched[x])
            for x in range(n):
                i = touched[x]
                board.many[i] = count[x] if was[x] else 0
                if was[x]:
                    copy_pieces(board.pieces[i], pieces[x], count[x])
                    restore(problem, board, i)
    return now
