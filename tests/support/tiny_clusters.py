"""Tiny random clusters: pools, gangs, running jobs, closed nodes, waiting jobs; small enough to enumerate."""

from typing import Any

from ratiobench.instances.cluster.format import parse
from ratiobench.instances.cluster.model import Instance
from ratiobench.instances.io.seeds import Stream

BEGIN = 10


def make_tiny(*names: str | int, jobs: int = 0) -> Instance:
    """Draw an instance of so many jobs, or of two to four, from the stream that the names select."""
    stream = Stream("tiny clusters", *names)

    def draw(low: int, high: int) -> int:
        return stream.integer(low, high)

    pools: list[dict[str, Any]] = []
    running: list[dict[str, Any]] = []
    for q in range(draw(1, 2)):
        gpus, nodes, closures = (1, 1, 2, 4)[draw(0, 3)], draw(1, 3), []
        for node in range(nodes):
            event = draw(0, 5)
            if event == 0:
                start = BEGIN + draw(0, 8)
                closures.append({"node": node, "start": start, "end": start + draw(1, 6)})
            elif event < 3:
                end = BEGIN + draw(1, 7)
                part = {
                    "pool": f"q{q}",
                    "nodes": [node],
                    "gpus": draw(1, gpus),
                    "start": BEGIN - draw(0, 5),
                    "end": end,
                }
                running.append(part | {"limit": -1})
        pools.append({"name": f"q{q}", "nodes": nodes, "gpus": gpus, "closures": closures})
    sets = [[q] for q in range(len(pools))] + ([[0, 1]] if len(pools) == 2 else [])
    drawn = []
    for _ in range(jobs or draw(2, 4)):
        chosen = draw(0, len(sets) - 1)
        most_nodes = min(pools[q]["nodes"] for q in sets[chosen])
        most_gpus = min(pools[q]["gpus"] for q in sets[chosen])
        submit = BEGIN + (-draw(0, 4) if draw(0, 1) else draw(0, 6))
        drawn.append((submit, draw(1, 6) + 8 * draw(0, 1), draw(1, min(2, most_nodes)), draw(1, most_gpus), chosen))
    drawn.sort(key=lambda job: job[0])
    columns: dict[str, Any] = {"id": [f"j{j}" for j in range(len(drawn))]}
    for name, column in zip(("submit", "run", "nodes", "gpus", "pools"), zip(*drawn, strict=True), strict=True):
        columns[name] = list(column)
    top = {"format": "ratiobench/cluster/1", "name": "tiny", "begin": BEGIN, "pools": pools, "partitions": []}
    return parse(top | {"running": running, "pool_sets": sets, "jobs": columns})
