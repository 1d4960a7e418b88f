"""Local search: jobs move, swap and exchange the tails of their queues; worse schedules are accepted while it is warm."""

from __future__ import annotations

import numpy as np

from formulations.kernels import compiled, inner, inlined


@inlined
def _next(state):  # type: ignore[no-untyped-def]
    """A random word of 32 bits: xorshift64*."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return np.int64((x * np.uint64(2685821657736338717)) >> np.uint64(32))


@inner
def refresh(g, first, kind, queue, length, end, cost, where, release, deadline, late, weight, run, money):  # type: ignore[no-untyped-def]
    """Ends and costs of a queue from a position on, and where its jobs stand."""
    t = end[g, first - 1] if first > 0 else np.int64(0)
    k = kind[g]
    for p in range(first, length[g]):
        j = queue[g, p]
        t = max(t, release[j]) + run[j, k]
        end[g, p] = t
        cost[g, p] = late * max(0, t - deadline[j]) + weight[j] * (t - release[j]) + money[j, k]
        where[j, 0] = g
        where[j, 1] = p


@inner
def tail(g, p, t, k, stop, queue, length, end, cost, release, deadline, late, weight, run, money):  # type: ignore[no-untyped-def]
    """What the jobs of queue g from position p on cost more when the first may start at t; above `stop`, given up."""
    d = np.int64(0)
    for y in range(p, length[g]):
        j = queue[g, y]
        t = max(t, release[j]) + run[j, k]
        if t == end[g, y]:
            break
        d += late * max(0, t - deadline[j]) + weight[j] * (t - release[j]) + money[j, k] - cost[g, y]
        if d > stop:
            break
    return d


@compiled
def anneal(seed, rounds, warm, cold, logs, kind, queue, length, release, deadline, late, weight, run, money, best_queue, best_length):  # type: ignore[no-untyped-def]
    n = len(release)
    m = len(kind)
    end = np.zeros(queue.shape, np.int64)
    cost = np.zeros(queue.shape, np.int64)
    where = np.zeros((n, 2), np.int64)
    state = np.array([seed * 2 + 88172645463325252], np.uint64)
    total = np.int64(0)
    for g in range(m):
        refresh(g, 0, kind, queue, length, end, cost, where, release, deadline, late, weight, run, money)
        for p in range(length[g]):
            total += cost[g, p]
    best = total
    best_queue[:, :] = queue
    best_length[:] = length
    temp = float(warm)
    chunk = max(1, rounds // 1000)
    factor = (float(cold) / float(warm)) ** (1.0 / 1000)
    accepted = 0
    for it in range(rounds):
        if it % chunk == chunk - 1:
            temp *= factor
        stop = np.int64(temp * logs[_next(state) & 1023])
        j = (_next(state) * n) >> 32
        a = where[j, 0]
        p = where[j, 1]
        ka = kind[a]
        what = _next(state) & 15
        if what < 8:
            b = (_next(state) * m) >> 32
            kb = kind[b]
            if a == b:
                q = (_next(state) * length[a]) >> 32
                if q == p:
                    continue
                first = min(p, q)
                last = max(p, q)
                t = end[a, first - 1] if first > 0 else np.int64(0)
                d = np.int64(0)
                for y in range(first, last + 1):
                    if y == q:
                        i = j
                    elif q < p:
                        i = queue[a, y - 1]
                    else:
                        i = queue[a, y + 1]
                    t = max(t, release[i]) + run[i, ka]
                    d += late * max(0, t - deadline[i]) + weight[i] * (t - release[i]) + money[i, ka] - cost[a, y]
                d += tail(a, last + 1, t, ka, stop - d, queue, length, end, cost, release, deadline, late, weight, run, money)
                if d > stop:
                    continue
                if q < p:
                    for y in range(p, q, -1):
                        queue[a, y] = queue[a, y - 1]
                else:
                    for y in range(p, q):
                        queue[a, y] = queue[a, y + 1]
                queue[a, q] = j
                refresh(a, first, kind, queue, length, end, cost, where, release, deadline, late, weight, run, money)
            else:
                q = (_next(state) * (length[b] + 1)) >> 32
                t = end[a, p - 1] if p > 0 else np.int64(0)
                d = -cost[a, p] + tail(a, p + 1, t, ka, np.int64(1) << 61, queue, length, end, cost, release, deadline, late, weight, run, money)
                t = end[b, q - 1] if q > 0 else np.int64(0)
                t = max(t, release[j]) + run[j, kb]
                d += late * max(0, t - deadline[j]) + weight[j] * (t - release[j]) + money[j, kb]
                if d > stop:
                    continue
                d += tail(b, q, t, kb, stop - d, queue, length, end, cost, release, deadline, late, weight, run, money)
                if d > stop:
                    continue
                length[a] -= 1
                for y in range(p, length[a]):
                    queue[a, y] = queue[a, y + 1]
                for y in range(length[b], q, -1):
                    queue[b, y] = queue[b, y - 1]
                queue[b, q] = j
                length[b] += 1
                refresh(a, p, kind, queue, length, end, cost, where, release, deadline, late, weight, run, money)
                refresh(b, q, kind, queue, length, end, cost, where, release, deadline, late, weight, run, money)
        elif what < 14:
            i = (_next(state) * n) >> 32
            if i == j:
                continue
            b = where[i, 0]
            q = where[i, 1]
            kb = kind[b]
            if a == b:
                if q < p:
                    i, j = j, i
                    p, q = q, p
                t = end[a, p - 1] if p > 0 else np.int64(0)
                d = np.int64(0)
                for y in range(p, q + 1):
                    x = queue[a, y]
                    if y == p:
                        x = i
                    elif y == q:
                        x = j
                    t = max(t, release[x]) + run[x, ka]
                    d += late * max(0, t - deadline[x]) + weight[x] * (t - release[x]) + money[x, ka] - cost[a, y]
                d += tail(a, q + 1, t, ka, stop - d, queue, length, end, cost, release, deadline, late, weight, run, money)
                if d > stop:
                    continue
                queue[a, p] = i
                queue[a, q] = j
                refresh(a, p, kind, queue, length, end, cost, where, release, deadline, late, weight, run, money)
            else:
                t = end[a, p - 1] if p > 0 else np.int64(0)
                t = max(t, release[i]) + run[i, ka]
                d = late * max(0, t - deadline[i]) + weight[i] * (t - release[i]) + money[i, ka] - cost[a, p]
                u = end[b, q - 1] if q > 0 else np.int64(0)
                u = max(u, release[j]) + run[j, kb]
                d += late * max(0, u - deadline[j]) + weight[j] * (u - release[j]) + money[j, kb] - cost[b, q]
                # the queue that gets shorter first: what the other one costs more can then be given up
                if t < end[a, p]:
                    d += tail(a, p + 1, t, ka, np.int64(1) << 61, queue, length, end, cost, release, deadline, late, weight, run, money)
                    d += tail(b, q + 1, u, kb, stop - d if u > end[b, q] else np.int64(1) << 61, queue, length, end, cost, release, deadline, late, weight, run, money)
                else:
                    d += tail(b, q + 1, u, kb, np.int64(1) << 61, queue, length, end, cost, release, deadline, late, weight, run, money)
                    d += tail(a, p + 1, t, ka, stop - d, queue, length, end, cost, release, deadline, late, weight, run, money)
                if d > stop:
                    continue
                queue[a, p] = i
                queue[b, q] = j
                refresh(a, p, kind, queue, length, end, cost, where, release, deadline, late, weight, run, money)
                refresh(b, q, kind, queue, length, end, cost, where, release, deadline, late, weight, run, money)
        else:
            # tails: what stands from p on in a, and from q on in b, change places
            b = (_next(state) * m) >> 32
            if a == b:
                continue
            kb = kind[b]
            t = end[a, p - 1] if p > 0 else np.int64(0)
            # the cut in b nearest in time, or one beside it
            q = np.int64(0)
            while q < length[b] and end[b, q] <= t:
                q += 1
            q += (_next(state) & 3) - 1
            q = min(max(q, 0), length[b])
            u = end[b, q - 1] if q > 0 else np.int64(0)
            if length[a] - p + q > queue.shape[1] or length[b] - q + p > queue.shape[1]:
                continue
            d = np.int64(0)
            for y in range(p, length[a]):
                d -= cost[a, y]
                x = queue[a, y]
                u = max(u, release[x]) + run[x, kb]
                d += late * max(0, u - deadline[x]) + weight[x] * (u - release[x]) + money[x, kb]
            for y in range(q, length[b]):
                d -= cost[b, y]
            for y in range(q, length[b]):
                x = queue[b, y]
                t = max(t, release[x]) + run[x, ka]
                d += late * max(0, t - deadline[x]) + weight[x] * (t - release[x]) + money[x, ka]
                if d > stop:
                    break
            if d > stop:
                continue
            na = length[a] - p
            nb = length[b] - q
            for y in range(max(na, nb)):
                x = queue[a, p + y] if y < na else np.int64(-1)
                if y < nb:
                    queue[a, p + y] = queue[b, q + y]
                if y < na:
                    queue[b, q + y] = x
            length[a] = p + nb
            length[b] = q + na
            refresh(a, p, kind, queue, length, end, cost, where, release, deadline, late, weight, run, money)
            refresh(b, q, kind, queue, length, end, cost, where, release, deadline, late, weight, run, money)
        total += d
        accepted += 1
        if total < best:
            best = total
            best_queue[:, :] = queue
            best_length[:] = length
    return best, accepted


@compiled
def rebuild(seed, rounds, warm, cold, logs, most, kind, queue, length, release, deadline, late, weight, run, money, best_queue, best_length):  # type: ignore[no-untyped-def]
    """Ruin and recreate: the jobs of a stretch of time leave some queues, and come back one by one where they cost least."""
    n = len(release)
    m = len(kind)
    end = np.zeros(queue.shape, np.int64)
    cost = np.zeros(queue.shape, np.int64)
    where = np.zeros((n, 2), np.int64)
    state = np.array([seed * 2 + 88172645463325252], np.uint64)
    total = np.int64(0)
    for g in range(m):
        refresh(g, 0, kind, queue, length, end, cost, where, release, deadline, late, weight, run, money)
        for p in range(length[g]):
            total += cost[g, p]
    best = total
    best_queue[:, :] = queue
    best_length[:] = length
    temp = float(warm)
    chunk = max(1, rounds // 1000)
    factor = (float(cold) / float(warm)) ** (1.0 / 1000)
    out = np.empty(n, np.int64)
    key = np.empty(n, np.int64)
    keep = np.empty(queue.shape, np.int64)
    keep_length = np.empty(m, np.int64)
    for it in range(rounds):
        if it % chunk == chunk - 1:
            temp *= factor
        stop = np.int64(temp * logs[_next(state) & 1023])
        for g in range(m):
            keep_length[g] = length[g]
            for p in range(length[g]):
                keep[g, p] = queue[g, p]
        # ruin
        seed_job = (_next(state) * n) >> 32
        a = where[seed_job, 0]
        begin = end[a, where[seed_job, 1]] - run[seed_job, kind[a]]
        want = 1 + ((_next(state) * most) >> 32)
        share = 1 + ((_next(state) * m) >> 32)
        if share > 4:
            share = 4
        gone = 0
        each = max(1, want // share)
        for s in range(share):
            g = a if s == 0 else (_next(state) * m) >> 32
            if length[g] == 0:
                continue
            p = 0
            while p < length[g] - 1 and end[g, p] <= begin:
                p += 1
            size = min(each, length[g])
            low = max(0, p - ((_next(state) * size) >> 32))
            low = min(low, length[g] - size)
            skip = (_next(state) & 3) == 0
            q = low
            left = size
            w = low
            while q < length[g]:
                x = queue[g, q]
                if left > 0 and not (skip and (_next(state) & 3) == 0):
                    out[gone] = x
                    gone += 1
                    left -= 1
                    total -= cost[g, q]
                    where[x, 0] = -1
                else:
                    queue[g, w] = x
                    total -= cost[g, q]
                    w += 1
                q += 1
            length[g] = w
            refresh(g, low, kind, queue, length, end, cost, where, release, deadline, late, weight, run, money)
            for q in range(low, length[g]):
                total += cost[g, q]
        # the order of return
        rule = _next(state) & 7
        for i in range(gone):
            x = out[i]
            if rule < 2:
                key[i] = _next(state)
            elif rule < 4:
                key[i] = -run[x, 0] * 1024 + (_next(state) & 1023)
            elif rule < 5:
                key[i] = run[x, 0] * 1024 + (_next(state) & 1023)
            elif rule < 6:
                key[i] = release[x] * 1024 + (_next(state) & 1023)
            elif rule < 7:
                key[i] = deadline[x] * 1024 + (_next(state) & 1023)
            else:
                key[i] = (release[x] + run[x, 0]) * 1024 + (_next(state) & 1023)
            y = i
            while y > 0 and key[y - 1] > key[y]:
                key[y - 1], key[y] = key[y], key[y - 1]
                out[y - 1], out[y] = out[y], out[y - 1]
                y -= 1
        for i in range(gone):
            j = out[i]
            least = np.int64(1) << 61
            bg = np.int64(-1)
            bq = np.int64(0)
            for g in range(m):
                k = kind[g]
                for q in range(length[g] + 1):
                    t = end[g, q - 1] if q > 0 else np.int64(0)
                    t = max(t, release[j]) + run[j, k]
                    d = late * max(0, t - deadline[j]) + weight[j] * (t - release[j]) + money[j, k]
                    if d >= least:
                        break
                    if (_next(state) & 127) == 0:
                        continue
                    d += tail(g, q, t, k, least - d, queue, length, end, cost, release, deadline, late, weight, run, money)
                    if d < least:
                        least = d
                        bg = g
                        bq = q
            if bg < 0:
                bg = (_next(state) * m) >> 32
                bq = length[bg]
                t = end[bg, bq - 1] if bq > 0 else np.int64(0)
                t = max(t, release[j]) + run[j, kind[bg]]
                least = late * max(0, t - deadline[j]) + weight[j] * (t - release[j]) + money[j, kind[bg]]
            for y in range(length[bg], bq, -1):
                queue[bg, y] = queue[bg, y - 1]
            queue[bg, bq] = j
            length[bg] += 1
            refresh(bg, bq, kind, queue, length, end, cost, where, release, deadline, late, weight, run, money)
            total += least
        now = np.int64(0)
        for g in range(m):
            for p in range(length[g]):
                now += cost[g, p]
        total = now
        if it == 0:
            held = best
        if total <= held + stop:
            held = total
            if total < best:
                best = total
                best_queue[:, :] = queue
                best_length[:] = length
        else:
            for g in range(m):
                length[g] = keep_length[g]
                for p in range(length[g]):
                    queue[g, p] = keep[g, p]
                refresh(g, 0, kind, queue, length, end, cost, where, release, deadline, late, weight, run, money)
            total = held
    return best
