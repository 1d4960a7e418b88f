"""A small synthetic log of jobs and a cluster for it: what `import` and `backtest` can be tried on.

Nothing in it is measured. It is the same on every machine, for its seed is a name.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from ratiobench.instances.io.seeds import Stream

SEED = "example jobs"
FIRST = datetime(2026, 3, 2)
DAYS = 9
# Mean number of jobs submitted in each hour of a working day; half of it, rounded up, at weekends
BY_HOUR = (1, 1, 1, 1, 1, 1, 2, 4, 8, 10, 10, 9, 7, 9, 10, 9, 8, 6, 4, 3, 3, 2, 2, 1)
GPUS = (1, 1, 1, 1, 1, 1, 2, 2, 2, 4, 4, 8)
MINUTES = (5, 12, 20, 45, 60, 90, 150, 240, 400)  # A job lasts half to one and a half times one of these
CENTS = (30, 300)  # What a job bids for a GPU-hour, from the least to the most
# Tenths of its duration that a job may take from its submission to its deadline, from the least to the most
PATIENCE = (11, 60)
CLUSTER = """\
# A small cluster for the example jobs: docs/guide/logs.md explains each line.
usd_per_kwh = 0.12

[[node]]
name = "new"
count = 2
gpus = 8
memory_gb = 80
speed = 1.0
watts = 300

[[node]]
name = "old"
count = 1
gpus = 8
memory_gb = 40
speed = 0.5
watts = 250
"""


def example() -> tuple[str, str]:
    """The log, a CSV file with the columns submit, duration (s), gpus, bid (dollars), deadline; and the cluster."""
    stream = Stream(SEED)
    lines = ["submit,duration,gpus,bid,deadline"]
    for day in range(DAYS):
        midnight = FIRST + timedelta(days=day)
        for hour, usual in enumerate(BY_HOUR):
            mean = usual if midnight.weekday() < 5 else -(-usual // 2)
            count = int(stream.poisson(mean, 1)[0])
            for second in sorted(stream.integers(0, 3599, count).tolist()):
                submit = midnight + timedelta(hours=hour, seconds=second)
                gpus, minutes = (int(stream.choice(each, 1)[0]) for each in (GPUS, MINUTES))
                seconds = minutes * stream.integer(30, 90)
                cents = gpus * seconds * stream.integer(*CENTS) // 3600
                deadline = submit + timedelta(seconds=seconds * stream.integer(*PATIENCE) // 10)
                bid = f"{cents // 100}.{cents % 100:02d}"
                lines.append(f"{submit.isoformat()},{seconds},{gpus},{bid},{deadline.isoformat()}")
    return "\n".join(lines) + "\n", CLUSTER
