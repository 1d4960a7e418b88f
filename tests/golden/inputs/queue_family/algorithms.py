"""Two policies: who came first is served first; the shortest remaining work first."""

from ratiobench.online.spec import Entry

from .run import REGISTRY


class Policy:
    """Answers at every event with the job that runs from now on."""

    def start(self, public, constants):
        pass

    def decide(self, job, view):
        return self.next(view)

    def at_completion(self, job, view):
        return self.next(view)

    def at_capacity(self, nothing, view):
        return self.next(view)


class First(Policy):
    def next(self, view):
        return min(view.left, default=None)


class Shortest(Policy):
    def next(self, view):
        return min(view.left, key=lambda i: (view.left[i], i), default=None)


REGISTRY.register(Entry("first", "first come, first served", "1", {}, lambda options: First()))
REGISTRY.register(Entry("shortest", "the shortest remaining work first", "1", {}, lambda options: Shortest()))
