"""Policies for family `edgeflow` as a user would bring them: honest ones, and ones that cheat or fail.

They are run by their import path, in a process of their own; this module must import nothing heavy.
"""

import random
from collections.abc import Mapping
from typing import Any

from ratiobench.online.edgeflow.protocol import CLOUD, EDGE, Job, Public, View


class Honest:
    """Who came first is served first, at the requested share, in the cloud."""

    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        self.public = public
        self.jobs: dict[int, Job] = {}

    def decide(self, job: Job, view: View) -> Any:
        self.jobs[job.index] = job
        return self.share(view)

    def at_change(self, events: Any, view: View) -> Any:
        return self.share(view)

    def share(self, view: View) -> Any:
        free, named = view.gpus, {}
        for i in view.active:
            if self.jobs[i].gpus <= free:
                named[i] = (CLOUD, self.jobs[i].gpus)
                free -= self.jobs[i].gpus
        return named


class Random(Honest):
    """Anything that is allowed, from a stream of its own: pauses, shares, servers, wakes, no answer."""

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        self.draw = random.Random(str((options or {}).get("stream", "0")))

    def share(self, view: View) -> Any:
        draw, named = self.draw, {}
        if draw.random() < 0.2:
            return None
        free, servers = view.gpus, view.servers
        here = list(view.active)
        draw.shuffle(here)
        for i in here:
            model = self.public.models[self.jobs[i].model]
            state = view.active[i]
            places = [(CLOUD, gpus) for gpus in model.gpus if gpus <= free]
            if model.edge_speed and servers:
                places.append((EDGE, 1))
            if (state.place, state.gpus) in places and draw.random() < 0.6:
                places = [(state.place, state.gpus)]
            if not places or draw.random() < 0.15:
                continue
            named[i] = draw.choice(places)
            if named[i][0] == EDGE:
                servers -= 1
            else:
                free -= named[i][1]
        wake = view.second + draw.randint(1, 5) if view.second < 60 and draw.random() < 0.3 else None
        return named, wake


class Answers(Honest):
    """Answers when the second job arrives with what its option says."""

    ODD: Mapping[str, Any] = {
        "text": "22", "floats": {0: (0, 1.0)}, "short": {0: (0,)}, "true": {0: (0, True)}, "object": object(),
        "nobody": {99: (0, 1)}, "negative": {-1: (0, 1)}, "place": {0: (2, 1)}, "level": {0: (0, 3)},
        "none_such": {0: (0, 0)}, "servers": {0: (1, 1)}, "two_servers": {0: (1, 2)}, "crowd": {0: (0, 4), 1: (0, 1)},
        "twice": (((0, 0, 1), (0, 0, 1)), None), "past": ({0: (0, 1)}, 0), "huge": {10**600: (0, 1)},
    }  # fmt: skip

    def __init__(self, options: Mapping[str, str]) -> None:
        self.odd = self.ODD[options["odd"]]

    def decide(self, job: Job, view: View) -> Any:
        return self.odd if job.index == 1 else super().decide(job, view)


class ChangesItsMind(Honest):
    def __init__(self) -> None:
        self.given: dict[int, Any] = {}

    def share(self, view: View) -> Any:
        self.given.clear()
        self.given = dict(super().share(view))
        return self.given


class WritesToTheView(Honest):
    def share(self, view: View) -> Any:
        view.left[:] = 0
        return super().share(view)


class CountsRuns(Honest):
    """Idles in the second run of all: it keeps a file of how often it was started."""

    def __init__(self, options: Mapping[str, str]) -> None:
        with open(options["file"], "a+", encoding="utf-8") as file:
            file.seek(0)
            self.idles = len(file.read()) == 1
            file.write("x")

    def share(self, view: View) -> Any:
        return {} if self.idles else super().share(view)


class ReadsTheFile(Honest):
    def __init__(self, options: Mapping[str, str]) -> None:
        with open(options["file"], encoding="utf-8") as file:
            file.read()


class Draws(Honest):
    """Tosses a coin for everybody, from a source without a seed."""

    def share(self, view: View) -> Any:
        return {i: share for i, share in super().share(view).items() if random.random() < 0.5}
