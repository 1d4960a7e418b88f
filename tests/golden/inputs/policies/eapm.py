"""Places a user's tasks one by one, each where profit per unit of time is then largest."""

# EVOLVE-BLOCK-START
TIME = 0.5  # how much time counts: 1 is profit per unit of time so far, 0 is profit alone
THRIFT = 1.0  # weight of a task's energy cost
# EVOLVE-BLOCK-END


class Rate:
    """Task by task, by the profit and the loads so far."""

    def start(self, public, constants):
        self.machines = range(len(public.machines))

    def decide(self, user, view):
        load = [int(each) for each in view.load_ms]
        time, cost = ([int(each) for each in values] for values in (user.etc_ms, user.cost))
        profit, span = view.profit + user.price, max(load)
        shares = [0 for _ in self.machines]

        def rate(j):
            left = profit - THRIFT * cost[j]
            return left / max(span, load[j] + time[j], 1) ** TIME if left > 0 else left

        for _ in range(user.tasks):
            best = max(self.machines, key=rate)
            load[best] += time[best]
            span = max(span, load[best])
            profit -= cost[best]
            shares[best] += 1
        return tuple(shares)
