"""Puts each new job where it adds least to the cost, among all places of all queues."""

# EVOLVE-BLOCK-START
LATENESS = 1.0  # weight of lateness against time and money
PATIENCE = 1.0  # weight of the delay of jobs behind the new one
# EVOLVE-BLOCK-END


class Insert:
    """The cheapest place of every queue."""

    def start(self, public, constants):
        self.public = public

    def decide(self, job, view):
        jobs = {each.index: each for each in view.waiting}
        best = None
        for gpu, queue in enumerate(view.queues):
            before = self.cost(queue, gpu, view, jobs)
            for place in range(len(queue) + 1):
                trial = (*queue[:place], job.index, *queue[place:])
                others = self.cost(trial, gpu, view, jobs, skip=job.index) - before
                own = self.cost(trial, gpu, view, jobs, only=job.index)
                added = own + PATIENCE * others
                if best is None or added < best[0]:
                    best = added, gpu, trial
        queues = [list(queue) for queue in view.queues]
        queues[best[1]] = list(best[2])
        return queues

    def cost(self, queue, gpu, view, jobs, skip=None, only=None):
        kind = int(self.public.gpu_type[gpu])
        tick, total = int(view.free[gpu]), 0.0
        for i in queue:
            job = jobs[i]
            tick += job.run[kind]
            if i == skip or (only is not None and i != only):
                continue
            late = 100 * self.public.late_penalty * max(0, tick - job.deadline)
            total += self.public.cost(job, kind, tick) + (LATENESS - 1) * late
        return total
