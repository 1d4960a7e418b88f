"""Kernels: the best packing of priced jobs into the free GPUs of every segment, as knapsacks by counts.

A knapsack is given by buckets of equal sizes, each with the running sums of its prices, dearest first. Of a bucket a
best packing holds the dearest, so that counts say it all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ratiobench.formulations.kernels import compiled_in_place, inner


@inner
def pack_divisible(sums, filled, size, buckets, cap, merged, bundle, length, take):  # type: ignore[no-untyped-def]
    """Pack exactly where every size divides the next: sizes ascend; what does not fill the next size is used up first.

    merged: (buckets, most) prices at each size, dearest first, of jobs and of bundles of smaller ones.
    """
    value = 0.0
    held = 0  # bundles made of the size before, in merged[b] from behind
    for b in range(buckets):
        # The bundles stand in merged[b, :held]; jobs are merged into them from behind.
        total = held + filled[b]
        x = held - 1
        y = filled[b] - 1
        for z in range(total - 1, -1, -1):
            if x >= 0 and (y < 0 or merged[b, x] < sums[b, y + 1] - sums[b, y]):
                merged[b, z] = merged[b, x]
                bundle[b, z] = 1
                x -= 1
            else:
                merged[b, z] = sums[b, y + 1] - sums[b, y]
                bundle[b, z] = 0
                y -= 1
        length[b] = total
        larger = size[b + 1] if b < buckets - 1 else cap + 1
        used = min(cap % larger // size[b], total)
        for z in range(used):
            value += merged[b, z]
        take[b] = used
        held = 0
        z = used
        while z < total and held < cap // larger:
            price = 0.0
            for _ in range(larger // size[b]):
                if z < total:
                    price += merged[b, z]
                    z += 1
            merged[b + 1, held] = price
            held += 1
    wanted = 0  # bundles that the next size uses
    for b in range(buckets - 1, -1, -1):
        ratio = size[b + 1] // size[b] if b < buckets - 1 else 0
        used = min(length[b], take[b] + wanted * ratio)
        wanted = 0
        for z in range(used):
            wanted += bundle[b, z]
        take[b] = used - wanted
    return value


@inner
def pack_any(sums, filled, size, buckets, cap, best, take):  # type: ignore[no-untyped-def]
    """Pack exactly by dynamic programming over the buckets; best: (buckets + 1, cap + 1)."""
    for u in range(cap + 1):
        best[0, u] = 0.0
    for b in range(buckets):
        g = size[b]
        low = cap if b == buckets - 1 else 0
        for u in range(low, cap + 1):
            best[b + 1, u] = best[b, u]
        for y in range(1, filled[b] + 1):
            more = sums[b, y]
            for u in range(max(low, y * g), cap + 1):
                value = best[b, u - y * g] + more
                if value > best[b + 1, u]:
                    best[b + 1, u] = value
    u = cap
    for b in range(buckets - 1, -1, -1):
        for y in range(filled[b] + 1):
            if y * size[b] <= u and best[b, u - y * size[b]] + sums[b, y] == best[b + 1, u]:
                take[b] = y
                u -= y * size[b]
                break
    return best[buckets, cap]


@compiled_in_place
def pack_segments(prices, use, entries, counts, row_of, layout, options, work, value, packed):  # type: ignore[no-untyped-def]
    """Fill `value` (pools, segments) with V and `packed` with the counts of a best packing, per price.

    prices, use, counts, row_of, packed: one per price; entries: places of prices by pool and segment, dearest first,
    sorted again here. An option is one h of one pool.
    """
    pointer, first_option = layout
    bucket, buckets, size, divisible, capacity = options
    sums, filled, best, merged, bundle, length, take = work
    pools, segments = value.shape
    for q in range(pools):
        for i in range(segments):
            low = pointer[q * segments + i]
            high = pointer[q * segments + i + 1]
            for e in range(low + 1, high):
                at = entries[e]
                price = prices[at]
                x = e
                while x > low and prices[entries[x - 1]] < price:
                    entries[x] = entries[x - 1]
                    x -= 1
                entries[x] = at
            least = np.inf
            chosen = -1
            loose = False  # everything with a price fits
            left = 0.0  # what it leaves
            for o in range(first_option[q], first_option[q + 1]):
                cap = capacity[o, i]
                for b in range(buckets[o]):
                    filled[b] = 0
                    sums[b, 0] = 0.0
                    take[o, b] = 0
                free = 0.0  # of jobs whose size is rounded to 0
                total = 0.0
                demand = 0
                for e in range(low, high):
                    at = entries[e]
                    price = prices[at]
                    if price <= 0.0:
                        break
                    b = bucket[o, row_of[at]]
                    if b < 0:
                        free += counts[at] * price
                        continue
                    number = min(counts[at], cap // size[o, b] - filled[b])
                    for _ in range(number):
                        sums[b, filled[b] + 1] = sums[b, filled[b]] + price
                        filled[b] += 1
                    demand += counts[at] * size[o, b]
                    total += counts[at] * price
                fits = demand <= cap
                if fits:
                    total += free
                elif divisible[o]:
                    total = free + pack_divisible(
                        sums, filled, size[o], buckets[o], cap, merged, bundle, length, take[o]
                    )
                else:
                    total = free + pack_any(sums, filled, size[o], buckets[o], cap, best, take[o])
                if total < least:
                    least = total
                    chosen = o
                    loose = fits
                    left = float(cap - demand) if fits else 0.0
            value[q, i] = least
            for e in range(low, high):
                at = entries[e]
                b = bucket[chosen, row_of[at]]
                if prices[at] <= 0.0:
                    # Any number that fits is a best one; the one in use leaves the price as it is.
                    packed[at] = min(float(counts[at]), use[at], left if b < 0 else left / size[chosen, b])
                    left -= 0.0 if b < 0 else packed[at] * size[chosen, b]
                elif loose or b < 0:
                    packed[at] = counts[at]
                else:
                    number = min(counts[at], take[chosen, b])
                    take[chosen, b] -= number
                    packed[at] = number


def make_work(options: int, buckets: int, cap: int) -> tuple[Any, ...]:
    """Allocate what `pack_segments` works in."""
    wide = (buckets + 1, 2 * cap + 2)
    sums, best, merged = np.zeros((3, *wide))
    filled, length = np.zeros((2, buckets + 1), np.int64)
    return sums, filled, best, merged, np.zeros(wide, np.int64), length, np.zeros((options, buckets + 1), np.int64)
