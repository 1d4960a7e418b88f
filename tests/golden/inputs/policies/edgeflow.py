"""Gives GPUs to the jobs that are closest to missing their deadline, and gives up those that cannot make it."""

# EVOLVE-BLOCK-START
SLACK = 1.0  # a job is given up when so many times its fastest remaining time no longer fits
SPREAD = 0.5  # weight of the remaining GPU time against the deadline in the order of jobs
# EVOLVE-BLOCK-END


class LeastSlack:
    """Jobs in the order of deadline and remaining time, each on the smallest share that is in time."""

    def start(self, public, constants):
        self.public, self.jobs = public, {}

    def decide(self, job, view):
        self.jobs[job.index] = job
        left = dict(zip(view.index.tolist(), view.left.tolist(), strict=True)) | {job.index: job.work}
        return self.plan(view, left)

    def at_change(self, what, view):
        return self.plan(view, dict(zip(view.index.tolist(), view.left.tolist(), strict=True)))

    def plan(self, view, left):
        waiting = []
        for i, work in left.items():
            job, model = self.jobs[i], self.public.models[self.jobs[i].model]
            levels = model.useful(view.gpus)
            time = job.deadline - view.second - model.overhead_s
            if not levels or SLACK * work > time * levels[-1][1]:
                continue
            share = next((gpus for gpus, speed in levels if SLACK * work <= time * speed), levels[-1][0])
            speed = dict(levels)[share]
            waiting.append((job.deadline + SPREAD * share * work / speed, i, share))
        free, shares = view.gpus, {}
        for _, i, share in sorted(waiting):
            if share <= free:
                free -= share
                shares[i] = (0, share)
        return shares
