"""A second simulator of family `cluster`: the rules read literally, in plain Python, without care for time.

A plan is a list of blocks (begin, end, amount) for each planned node; a second fits if the level stays high enough.
"""

import math
from collections.abc import Iterator
from typing import Any

from ratiobench.instances.cluster.model import Instance

NEVER = 2**60
EXTENSIONS = (60, 300, 900, 1800, 3600, 7200, 18000, 36000, 72000, 180000, 360000)


class Simulation:
    """One run; `starts`, `pools`, `nodes` of the jobs of the file afterwards."""

    def __init__(self, instance: Instance, rule: Any) -> None:
        self.x, self.rule, jobs, old = instance, rule, instance.jobs, instance.running
        self.n, self.first = len(jobs), instance.first_node.tolist()
        self.submit, self.run = [*jobs.submit, *old.start], [*jobs.run, *(old.end - old.start)]
        self.m, self.k = [*jobs.nodes, *old.nodes], [*jobs.gpus, *old.gpus]
        self.account, self.user = [*jobs.account, *old.account], [*jobs.user, *old.user]
        self.part = [*jobs.partition, *old.partition]
        parts = [p.limit for p in instance.partitions]
        asked = [parts[p] if a < 0 and p >= 0 else a for a, p in zip([*jobs.limit, *old.limit], self.part, strict=True)]
        self.limit = [NEVER if a == -1 else max(1, int(a)) for a in asked]
        self.greatest = max([1, *(int(a) for a in asked)])
        self.gpus, self.pool_of = instance.node_gpus.tolist(), instance.node_pool.tolist()
        self.counted = [p.gpus == 1 and not p.closures for p in instance.pools]
        self.closures = [c for c in instance.closures.tolist() if c[2] > instance.begin]
        self.live: dict[int, tuple[int, int, int, list[int]]] = {}  # job -> start, belief, pool, nodes
        self.done: list[tuple[int, int]] = []  # end, job
        self.past: list[tuple[int, int, int]] = []  # job, start, end of runs and of parts of runs
        offset = 0
        for i in range(len(old)):
            j, nodes = self.n + i, old.node[offset : offset + old.nodes[i]].tolist()
            offset += int(old.nodes[i])
            self.now = int(old.start[i])
            self.live[j] = (self.now, self.believe(j), int(old.pool[i]), nodes)
        self.now, self.waiting = instance.begin, list[int]()
        self.starts, self.pools, self.nodes = [-1] * self.n, [-1] * self.n, [list[int]()] * self.n
        self.blocks: dict[int, list[tuple[int, int, int]]] = {}
        coming, t = set(range(self.n)), instance.begin
        while t < NEVER:
            self.now = t
            for j in sorted(j for j in self.live if self.live[j][0] + self.run[j] <= t):
                self.done.append((t, j))
                self.past.append((j, self.live.pop(j)[0], t))
            for v, start, _, _ in self.closures:
                for j in [j for j in self.live if v in self.live[j][3]] if start == max(start, t) == t else []:
                    self.past.append((j, self.live.pop(j)[0], t))
                    self.waiting.append(j)
            new = {j for j in coming if jobs.release[j] <= t}
            coming, self.waiting = coming - new, self.waiting + sorted(new)
            if self.waiting:
                self.make_pass()
            later = [int(jobs.release[j]) for j in coming] + [s for c in self.closures for s in c[1:3]]
            later += [s for j in self.live for s in (self.live[j][0] + self.run[j], self.planned(j))]
            if instance.cycle and self.waiting:
                later.append(t + instance.cycle - (t - instance.begin) % instance.cycle)
            t = min([int(s) for s in later if s > t], default=NEVER)
        assert not self.waiting

    def believe(self, j: int) -> int:
        """Believed length of a job that starts now."""
        mine = [i for _, i in sorted(self.done) if i < self.n and self.user[i] == self.user[j] >= 0]
        length = {"double": 2 * self.limit[j], "true": self.run[j]}.get(self.rule.belief, self.limit[j])
        if self.rule.belief == "last2" and len(mine) >= 2:
            length = min(length, (self.run[mine[-1]] + self.run[mine[-2]]) // 2)
        return max(1, int(min(length, NEVER)))

    def planned(self, j: int) -> int:
        """Planned end of a running job, as of now; past if it is not known any more."""
        start, belief, _, _ = self.live[j]
        end, last = start + belief, start + self.limit[j]
        for more in EXTENSIONS if self.rule.belief == "last2" else ():
            end = min(end + more, last) if end <= self.now and end < last else end
        return min(end, NEVER)

    def key(self, j: int) -> Any:
        """Key of a waiting job."""
        x, b, n, w, p = self.x, self.believe(j), float(self.m[j] * self.k[j]), float(self.now - self.submit[j]), 0.0
        b = float(b if b < NEVER else self.greatest)
        match self.rule.order:
            case "submit":
                key: Any = 0
            case "shortest":
                key = b
            case "smallest":
                key = n
            case "largest":
                key = -n
            case "area":
                key = n * b
            case "wfp3":
                key = -((w / b) * (w / b) * (w / b) * n)
            case "unicep":
                key = (0, -(w / b)) if n == 1 else (1, -(w / (b * math.log2(n))))
            case "f1":
                key = math.log10(b) * n + 870.0 * math.log10(float(max(1, self.submit[j] - x.jobs.submit[0])))
            case _:
                a, q, weights = self.account[j], x.jobs.qos[j], x.priority
                size = n / x.capacity
                p += weights.age * (min(1.0, w / weights.max_age) if weights.max_age else 1.0)
                p += weights.size * (1.0 - size if weights.favor_small else size)
                used = [self.usage(b) for b in range(len(x.accounts))]
                shares = [weights.shares.get(name, 1) for name in x.accounts]
                share = shares[a] / sum(shares) if a >= 0 else 1
                p += weights.fair_share * (2.0 ** -(used[a] / sum(used) / share) if a >= 0 and sum(used) else 1.0)
                for weight, table, names, label in (
                    (weights.qos, weights.qos_priority, x.qos, q),
                    (weights.partition, weights.partition_priority, [y.name for y in x.partitions], self.part[j]),
                    (weights.account, weights.account_priority, x.accounts, a),
                ):
                    p += weight * (table.get(names[label], 0) / max(1, *table.values(), 1) if label >= 0 else 0.0)
                key = -math.floor(p)
        return key, self.submit[j], j  # fmt: skip

    def usage(self, a: int) -> float:
        """GPU-seconds of an account, decayed."""
        h, total = self.x.priority.half_life, 0.0
        for j, start, end in self.past + [(j, self.live[j][0], self.now) for j in self.live]:
            old, new = (2.0 ** -((self.now - s) / h) * h / math.log(2) if h else s for s in (start, end))
            total += self.m[j] * self.k[j] * (new - old) if self.account[j] == a else 0.0
        return total

    def in_use(self, **labels: int) -> int:
        """GPUs that run with these labels."""
        own = {j: {"a": self.account[j], "u": self.user[j], "p": self.part[j], "q": self.live[j][2]} for j in self.live}
        return sum(self.m[j] * self.k[j] for j in own if all(own[j][key] == labels[key] for key in labels))

    def quota(self, j: int) -> list[int]:
        """The pools in which the job's account has quota for it."""
        a, n, quotas = (
            self.account[j],
            self.m[j] * self.k[j],
            {self.x.accounts.index(q.account): q for q in self.x.quotas},
        )
        pools = [q for q in range(len(self.x.pools)) if self.x.jobs.allowed[j, q]]
        if a not in quotas:
            return pools
        group = [b for b in quotas if quotas[b].cohort == quotas[a].cohort != ""]
        own = [q for q in pools if self.in_use(a=a, q=q) + n <= quotas[a].nominal[q]]
        spare = {q: sum(quotas[b].nominal[q] - self.in_use(a=b, q=q) for b in group) for q in pools}
        return [q for q in pools if q in own or (group and n <= spare[q])]

    def considered(self, j: int) -> list[int]:
        """The pools in which bounds and quotas let the job start."""
        n, strict = self.m[j] * self.k[j], {self.x.accounts.index(q.account) for q in self.x.quotas if q.strict}
        if self.part[j] >= 0:
            part = self.x.partitions[self.part[j]]
            for bound, label, value in ((part.user_gpus, "u", self.user[j]), (part.account_gpus, "a", self.account[j])):
                if bound >= 0 and value >= 0 and self.in_use(p=self.part[j], **{label: value}) + n > bound:
                    return []
        if self.account[j] in strict:
            before = [i for i in self.queue[: self.queue.index(j)] if i in self.waiting]
            if any(self.account[i] == self.account[j] and not self.quota(i) for i in before):
                return []
        return self.quota(j)

    def planned_nodes(self, q: int) -> list[int]:
        """Planned nodes of a pool, by their first node."""
        return [self.first[q]] if self.counted[q] else list(range(self.first[q], self.first[q + 1]))

    def level(self, v: int, t: int) -> int:
        """Free GPUs of a planned node by plan."""
        q = self.pool_of[v]
        size = self.x.pools[q].nodes if self.counted[q] else self.gpus[v]
        return size - sum(amount for begin, end, amount in self.blocks.get(v, ()) if begin <= t < end)

    def fitting(self, j: int, q: int, t: int) -> list[int]:
        """Planned nodes on which the job fits from t on, best fit first; empty if they are too few."""
        m, k, end = (1, self.m[j], 0) if self.counted[q] else (self.m[j], self.k[j], 0)
        end = t + self.believe(j)
        found = []
        for v in self.planned_nodes(q):
            if all(self.level(v, s) >= k for s in (t, *(b[0] for b in self.blocks.get(v, ()) if t < b[0] < end))):
                found.append(v)
        return sorted(found, key=lambda v: (self.level(v, t), v)) if len(found) >= m else []

    def block(self, j: int, q: int, nodes: list[int], t: int) -> list[tuple[int, tuple[int, int, int]]]:
        """Put the job into the plan; returns what to take out again."""
        end, counted = t + self.believe(j), self.counted[q]
        put = [(self.first[q], (t, end, self.m[j]))] if counted else [(v, (t, end, self.k[j])) for v in nodes]
        for v, b in put:
            self.blocks.setdefault(v, []).append(b)
        return put

    def remove(self, put: list[tuple[int, tuple[int, int, int]]]) -> None:
        for v, b in put:
            self.blocks[v].remove(b)

    def make_plan(self) -> None:
        """Blocks of what runs and of known closures."""
        self.blocks = {}
        known = [c for c in self.closures if c[3] <= self.now < c[2]]
        for j, (_, _, q, nodes) in self.live.items():
            end = min([max(self.planned(j), self.now + 1), *(c[1] for c in known if c[0] in nodes)])
            for v in nodes:
                place, amount = (self.first[q], 1) if self.counted[q] else (v, self.k[j])
                self.blocks.setdefault(place, []).append((self.now, end, amount))
        for v, start, end, _ in known:
            self.blocks.setdefault(v, []).append((max(start, self.now), end, 10**6))

    def earliest(self, j: int) -> tuple[int, int]:
        """Earliest second and pool by plan; (NEVER, -1) if there is none."""
        for t in sorted({self.now, *(b[1] for bs in self.blocks.values() for b in bs)}):
            for q in self.quota(j) if t < NEVER else ():
                if self.fitting(j, q, t):
                    return t, q
        return NEVER, -1

    def best_fit(self, j: int, q: int) -> Iterator[int]:
        """Real nodes on which the job fits now, best fit first."""
        end = self.now + self.believe(j)
        used = dict.fromkeys(range(self.first[q], self.first[q + 1]), 0)
        for i, (_, _, p, nodes) in self.live.items():
            for v in nodes if p == q else ():
                used[v] += self.k[i]
        shut = {c[0] for c in self.closures if c[3] <= self.now < c[2] and c[1] < end}
        fit = [v for v in used if self.gpus[v] - used[v] >= self.k[j] and v not in shut]
        return iter(sorted(fit, key=lambda v: (self.gpus[v] - used[v], v)))

    def start(self, j: int, q: int, nodes: list[int]) -> None:
        """Start a job now."""
        self.block(j, q, nodes, self.now)
        self.live[j] = (self.now, self.believe(j), q, nodes)
        self.waiting.remove(j)
        self.starts[j], self.pools[j], self.nodes[j] = self.now, q, nodes

    def keeps(self, reservations: list[tuple[int, int, int]]) -> bool:
        """Whether all reservations, laid anew, keep their seconds."""
        put, good = [], True
        for i, t, q in reservations:
            nodes = self.fitting(i, q, t)
            good = good and bool(nodes)
            put += self.block(i, q, nodes[: self.m[i]], t) if good else []
        self.remove(put)
        return good

    def attempt(self, j: int, reservations: list[tuple[int, int, int]]) -> bool:
        """Start the job in its first pool if it fits and reservations keep their seconds."""
        for q in self.considered(j):
            nodes: list[int] = []
            for v in self.best_fit(j, q):
                if len(nodes) < self.m[j] and not self.counted[q] and reservations:
                    end = self.now + self.believe(j)
                    put = [(w, (self.now, end, self.k[j])) for w in (*nodes, v)]
                    for w, b in put:
                        self.blocks.setdefault(w, []).append(b)
                    good = self.keeps(reservations)
                    self.remove(put)
                    nodes += [v] if good else []
                elif len(nodes) < self.m[j]:
                    nodes.append(v)
            if len(nodes) < self.m[j]:
                continue
            if self.counted[q] and reservations:
                put = self.block(j, q, [], self.now)
                good = self.keeps(reservations)
                self.remove(put)
                if not good:
                    continue
            self.start(j, q, nodes)
            return True
        return False

    def fits(self, j: int) -> bool:
        return any(len(list(self.best_fit(j, q))) >= self.m[j] for q in self.considered(j))

    def make_pass(self) -> None:
        """One pass by the rule."""
        self.queue, self.blocks, x = sorted(self.waiting, key=self.key), {}, self.x
        backfill = ("none", "first fit", "easy", "conservative")[self.rule.backfill]
        if x.cycle and (self.now - x.begin) % x.cycle:
            backfill = "none"
        elif x.depth:
            self.queue = self.queue[: x.depth]
        if backfill == "conservative":
            self.make_plan()
            for j in [*self.queue]:
                t, q = self.earliest(j) if self.considered(j) else (NEVER, -1)
                if t == self.now:
                    real = list(self.best_fit(j, q)) if self.counted[q] else self.fitting(j, q, t)
                    self.start(j, q, real[: self.m[j]])
                elif q >= 0:
                    self.block(j, q, self.fitting(j, q, t)[: self.m[j]], t)
            return
        parts = list(range(len(x.pools)))  # pools that waiting jobs connect have the same number
        for allowed in x.jobs.allowed[self.waiting].tolist():
            mine = {parts[q] for q in range(len(allowed)) if allowed[q]}
            parts = [min(mine) if number in mine else number for number in parts]
        part = {j: parts[x.jobs.allowed[j].tolist().index(True)] for j in self.queue}
        rest = list[int]()  # of each part its head, the first job that does not fit, and what stands behind it
        for j in [*self.queue]:
            blocked = part[j] in {part[i] for i in rest}
            if blocked or (self.considered(j) and not self.attempt(j, []) and backfill != "first fit"):
                rest.append(j)
        if backfill != "easy":
            return
        self.make_plan()
        held, reservations, put = list[int](), [], []
        for j in rest:
            given = sum(part[i] == part[j] for i in held)
            if given < self.rule.reservations and self.considered(j) and not self.fits(j):
                held.append(j)
                t, q = self.earliest(j)
                if q >= 0:
                    reservations.append((j, t, q))
                    put += self.block(j, q, self.fitting(j, q, t)[: self.m[j]], t)
        self.remove(put)
        if self.rule.candidates == "shortest":
            rest.sort(key=lambda j: b if (b := self.believe(j)) < NEVER else self.greatest)
        for j in rest:
            if j not in held and self.considered(j):
                self.attempt(j, reservations)
