"""Starts every waiting job that fits, those first that ask for least."""

import numpy as np

# EVOLVE-BLOCK-START
WIDTH = 0.5  # exponent of a job's GPUs against its limit
PATIENCE = 86_400  # seconds of wait that halve what a job counts for
# EVOLVE-BLOCK-END


class LeastFirst:
    """Short and narrow jobs first; nobody holds a reservation."""

    def schedule(self, now, waiting, cluster):
        def weight(job):
            asked = (job.limit or 86_400) * (job.nodes * job.gpus) ** WIDTH
            return asked / (1 + max(0, now - job.submit) / PATIENCE), job.index

        free, starts = cluster.free.copy(), []
        for job in sorted(waiting, key=weight):
            for pool in job.pools:
                nodes = np.flatnonzero((cluster.pool == pool) & (free >= job.gpus))[: job.nodes]
                if len(nodes) == job.nodes:
                    free[nodes] -= job.gpus
                    starts.append((job, nodes.tolist()))
                    break
        return starts
