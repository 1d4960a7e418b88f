"""Generated months: jobs of users and accounts with days and weeks, arrays, gangs, limits far above the run times.

All draws are integers, one stream per column (`instances/io/seeds.py`), so a seed gives the same month on any machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ratiobench.instances.arrays import IntArray
from ratiobench.instances.cluster.format import FORMAT, parse
from ratiobench.instances.cluster.model import DAY, Instance
from ratiobench.instances.io.seeds import Stream

VERSION = 1  # Version of the law; another one gives other months
POOLS = (("a100", 40, 8), ("v100", 40, 4))
# (nodes, GPUs per node) of a job and how many of 100 jobs have it; on v100 at most 4 GPUs of a node are taken
SHAPES = (((1, 1), 46), ((1, 2), 14), ((1, 4), 14), ((1, 8), 12), ((2, 8), 6), ((4, 8), 5), ((8, 8), 2), ((16, 8), 1))
OCTAVES = (2, 3, 4, 6, 8, 10, 12, 13, 12, 10, 8, 6, 4, 2)  # weight of run times of [2^o, 2^(o+1)) seconds, o = 4, ...
LIMITS = (1, 2, 4, 8, 12, 24, 48, 72, 120)  # hours that users ask for
ARRAYS = ((1, 78), (4, 10), (8, 7), (20, 4), (60, 1))  # jobs submitted at once, and how many of 100 submissions
# Submissions of the 24 hours from midnight, and of the 7 days from Monday
HOURS = (3, 2, 2, 1, 1, 1, 2, 4, 7, 10, 12, 12, 9, 11, 12, 12, 11, 10, 8, 7, 6, 5, 5, 4)
WEEK = (10, 11, 11, 11, 9, 4, 3)
USERS, ACCOUNTS = 60, 8


def generate(
    seed: str, days: int = 30, load: int = 85, pools: Sequence[tuple[str, int, int]] = POOLS, most: int = 50_000
) -> Instance:
    """Draw a log of whole days from a Monday, at most so many jobs; the cluster is empty at the beginning.

    `seed` names the random streams; `load`: GPU-seconds asked for over the capacity, percent; `pools`: name, nodes and
    GPUs per node of each pool.
    """
    capacity = sum(nodes * gpus for _, nodes, gpus in pools)
    work = load * capacity * days * DAY // 100

    def stream(column: str) -> Stream:
        return Stream("ratiobench/cluster/generate", VERSION, seed, column)

    def pick(column: str, weights: Sequence[int]) -> IntArray:
        ends = np.cumsum(weights)
        return np.searchsorted(ends, stream(column).integers(0, int(ends[-1]) - 1, most), side="right")

    user = _share(pick("user", [1000 // (u + 4) for u in range(USERS)]))
    shape, octave = pick("shape", [weight for _, weight in SHAPES]), pick("octave", OCTAVES)
    array, pool = pick("array", [weight for _, weight in ARRAYS]), pick("pool", [n * g for _, n, g in pools] + [20])
    hour = pick("hour", [day * h for d in range(days) for day in (WEEK[d % 7],) for h in HOURS])
    within = stream("second").integers(0, 3599, most)
    low, spread = 2 ** (octave + 4), stream("run").integers(0, 2**20 - 1, most)
    surplus = pick("limit", (3, 4, 2, 1))
    rows: list[tuple[int, ...]] = []
    used = job = 0
    for i in range(most):  # submission i: an array of equal jobs
        nodes, gpus = SHAPES[shape[i]][0]
        fit = [q for q, (_, most_nodes, most_gpus) in enumerate(pools) if nodes <= most_nodes and gpus <= most_gpus]
        mine = [int(pool[i])] if pool[i] in fit else fit
        for _ in range(ARRAYS[array[i]][0] if nodes == 1 else 1):
            if job == most or used >= work or not mine:
                break
            run = int(low[i] + (low[i] * spread[job] >> 20))
            hours = min(np.searchsorted(LIMITS, -(-run // 3600)) + surplus[i], len(LIMITS) - 1)
            limit = max(run, 3600 * LIMITS[hours])
            submit = int(3600 * hour[i] + within[i])
            rows.append((submit, job, run, limit, nodes, gpus, sum(1 << q for q in mine), int(user[i])))
            used += nodes * gpus * run
            job += 1
        if used >= work:
            break
    columns = np.array(sorted(rows), dtype=np.int64).reshape(-1, 8).T.tolist()
    submit_, number, run_, limit_, nodes_, gpus_, mask, user_ = columns
    sets = sorted(set(mask))
    return parse(
        {
            "format": FORMAT,
            "name": f"month-{seed}",
            "origin": {"generator": "ratiobench/cluster/generate", "version": VERSION, "seed": seed, "load": load},
            "begin": 0,
            "pools": [{"name": name, "nodes": nodes, "gpus": gpus} for name, nodes, gpus in pools],
            "accounts": [f"a{a}" for a in range(ACCOUNTS)],
            "users": [f"u{u}" for u in range(USERS)],
            "pool_sets": [[q for q in range(len(pools)) if one >> q & 1] for one in sets],
            "jobs": {
                "id": [str(k + 1) for k in number],
                "submit": submit_,
                "run": run_,
                "limit": limit_,
                "nodes": nodes_,
                "gpus": gpus_,
                "pools": [sets.index(one) for one in mask],
                "account": [u % ACCOUNTS for u in user_],
                "user": user_,
            },
        },
        f"month-{seed}",
    )


def _share(user: IntArray) -> IntArray:
    """Users submit in sessions: of 4 submissions in a row all but the first are mostly of the same user."""
    return user[np.arange(len(user)) // 4 * 4]
