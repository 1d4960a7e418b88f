"""On every slot and node type the node that a task fills best, and the price of a cell there.

The price of a cell (g, t, k) is nu_gt (om_g + weight dW), rounded down to whole micro-dollars, at least 0: nu is the
price of a whole node, om the task's share of one, and dW how much the expected waste of node k grows by the task. The
node is the one with room of least dW, the first of equals.
"""

from __future__ import annotations

import numpy as np

from ratiobench.formulations.kernels import compiled
from ratiobench.online.lora.learned.filling import GRID


@compiled
def find_best_filled(nu, share, weight, tables, compute, memory, cluster, types, rate, size, first, node, price):  # type: ignore[no-untyped-def]
    """Fill node and price, (G', W): of the nodes with room the one of least dW; without any -1, priced without waste.

    `nu`: (G, T) price of a node. share : (G,) om. weight : of the waste. tables : (G, GRID+1, GRID+1) W; `compute`,
    `memory`: (K, T) what is free. cluster : as for `additive.cheapest_schedule`. types : (G',); `rate`: (G,) s_i. size
    : r_i. first : slot of column 0, from 0.
    """
    first_node, capacity = cluster
    width = node.shape[1]
    least = np.empty(width)
    for z in range(len(types)):
        g = types[z]
        table = tables[g]
        fx = GRID / capacity[0, g]
        fy = GRID / capacity[1, g]
        here = node[z]
        for t in range(width):
            here[t] = -1
            least[t] = np.inf
        for k in range(first_node[g], first_node[g + 1]):
            for t in range(width):
                x = compute[k, first + t]
                y = memory[k, first + t]
                if rate[g] <= x and size <= y:
                    change = table[int((x - rate[g]) * fx), int((y - size) * fy)] - table[int(x * fx), int(y * fy)]
                    if change < least[t]:
                        least[t] = change
                        here[t] = k
        for t in range(width):
            waste = weight * least[t] if here[t] >= 0 else 0.0
            price[z, t] = max(0.0, np.floor(nu[g, first + t] * (share[g] + waste)))
