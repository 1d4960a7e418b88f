"""Random small logs with every part of the model."""

import random
from typing import Any

from ratiobench.instances.cluster.format import FORMAT, parse
from ratiobench.instances.cluster.model import Instance


def draw_log(seed: int) -> Instance:
    """A log of a few jobs on a few nodes; each part of the model is there in about a third of the logs."""
    r = random.Random(seed)

    def some(values: list[Any], share: float = 0.35) -> Any:
        return r.choice(values) if r.random() < share else values[0]

    swf = r.random() < 0.4
    pools = [
        {
            "name": f"p{q}",
            "nodes": r.randint(2, 8) if swf else r.randint(1, 4),
            "gpus": 1 if swf else r.choice([1, 2, 4]),
        }
        for q in range(some([1, 2]))
    ]
    begin = some([0, 20])
    running = []
    for q, pool in enumerate(pools):
        if r.random() < 0.35:
            nodes = sorted(r.sample(range(pool["nodes"]), r.randint(1, pool["nodes"])))
            labels = {"account": r.randint(-1, 1), "user": r.randint(-1, 2)}
            times = {"start": r.randint(0, begin), "end": begin + r.randint(1, 15), "limit": r.choice([-1, 5, 60])}
            running.append({"pool": f"p{q}", "nodes": nodes, "gpus": r.randint(1, pool["gpus"]), **times, **labels})
    for q, pool in enumerate(pools):
        held = [job for job in running if job["pool"] == f"p{q}"]
        closures, free = [], {}
        for _ in range(some([0, 1, 2])):
            node, start = r.randrange(pool["nodes"]), begin + r.randint(-5, 40)
            start = max([0, start, free.get(node, 0), *(job["end"] for job in held if node in job["nodes"])])
            free[node] = start + r.randint(1, 20)
            known = max(0, start - r.choice([0, 0, 15, 50]))
            closures.append({"node": node, "start": start, "end": free[node], "announced": known})
        pool["closures"] = closures
    n = r.randint(3, 14)
    columns: dict[str, list[int]] = {name: [] for name in ("nodes", "gpus", "pools", "run", "limit", "account", "user")}
    for _ in range(n):
        home = r.randrange(len(pools))
        columns["pools"].append(home)
        columns["nodes"].append(r.randint(1, pools[home]["nodes"]) if r.random() < 0.5 else 1)
        columns["gpus"].append(r.randint(1, pools[home]["gpus"]))
        columns["run"].append(r.choice([r.randint(1, 8), r.randint(1, 30), 400 * (seed % 5 == 0) + 3]))
        columns["limit"].append(r.choice([-1, 0, columns["run"][-1] + r.randint(0, 30), r.randint(1, 30)]))
        columns["account"].append(r.randint(-1, 1))
        columns["user"].append(r.randint(-1, 2))
    sets = [[q] for q in range(len(pools))]
    if len(pools) == 2 and r.random() < 0.6:
        least = {"nodes": min(p["nodes"] for p in pools), "gpus": min(p["gpus"] for p in pools)}
        for j in range(n):
            if r.random() < 0.6 and all(columns[key][j] <= least[key] for key in least):
                columns["pools"][j] = 2
        sets.append([0, 1])
    submit = sorted(begin + r.randint(-10 * (begin > 0), 30) for _ in range(n))
    document: dict[str, Any] = {
        "format": FORMAT,
        "name": f"random-{seed}",
        "begin": begin,
        "pools": pools,
        "pool_sets": sets,
        "accounts": ["x", "y"],
        "users": ["a", "b", "c"],
        "qos": ["low", "high"],
        "running": running,
        "cycle": some([0, 7, 13], 0.3),
        "depth": some([0, 3, 5], 0.3),
        "jobs": {"id": [str(j) for j in range(n)], "submit": submit, **columns},
    }
    jobs = document["jobs"]
    if r.random() < 0.3:
        jobs["release"] = [max(begin, s) + r.choice([0, 0, 9]) for s in submit]
    widths = [m * k for m, k in zip(columns["nodes"], columns["gpus"], strict=True)]
    most = max(widths)
    if r.random() < 0.4:
        bound = {"user_gpus": most + r.randint(0, 3)} if r.random() < 0.6 else {"account_gpus": most + r.randint(0, 3)}
        names = [pool["name"] for pool in pools]
        document["partitions"] = [{"name": "m", "pools": names, "limit": 25, **bound}, {"name": "n", "pools": names}]
        jobs["partition"] = [r.randint(-1, 1) for _ in range(n)]
    if r.random() < 0.35:
        cohort = r.choice(["", "c"])
        document["quotas"] = [
            {
                "account": name,
                "nominal": [most + r.randint(0, 2) if not cohort or name == "x" else r.randint(0, 3) for _ in pools],
                "cohort": cohort,
                "strict": r.random() < 0.5,
            }
            for name in ("x", "y")
        ]
    if r.random() < 0.5:
        weights = {
            key: r.choice([0, 100, 1000]) for key in ("age", "size", "fair_share", "qos", "partition", "account")
        }
        document["priority"] = {
            **weights,
            "max_age": r.choice([0, 30, 1000]),
            "half_life": r.choice([0, 20, 500]),
            "favor_small": r.random() < 0.5,
            "shares": {"x": r.randint(1, 4)},
            "qos_priority": {"high": 5, "low": 2},
            "account_priority": {"y": 3},
        }
        jobs["qos"] = [r.randint(-1, 1) for _ in range(n)]
    return parse(document, f"random-{seed}")
