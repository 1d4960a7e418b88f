"""The poster of `learned`: prices of whole nodes, solved again and again for the demand that is expected."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import copy
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ratiobench.instances.io.disk_cache import code_mark, recall, store
from ratiobench.instances.io.files import sha256_of
from ratiobench.instances.lora.format import content_hash
from ratiobench.instances.lora.history import split
from ratiobench.instances.lora.model import Instance, Public, Task
from ratiobench.online.lora.learned.demand import Representatives, descend, draw, list_points
from ratiobench.online.lora.learned.filling import Filling, Shares, find_best_filled, find_shares
from ratiobench.online.lora.learned.forecast import Forecast
from ratiobench.online.lora.learned.past import Floats, Past, empty_past, join_pasts, note, read_past, thin
from ratiobench.online.lora.posted_prices import ProposedPrices, find_usable_types
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.search.additive import Cluster
from ratiobench.online.lora.traces import Cell, list_prices

# Today's tasks join the past ones when there are so many of them, twice as many, ...; so many past ones stay
FIRST_NOTED, KEPT = 64, 1000
FIRST_SOLUTIONS = ((150, 0.5), (60, 0.1))  # Steps and size of the first one, in the solutions before the day
# About so many times a day prices are solved again, in a day of so many arrivals that `every` would do it more often
SOLVES = 500


@dataclass(frozen=True, slots=True)
class Settings:
    """The constants of the policy, as the options of `learned` name them."""

    total: str = "auto"
    every: int = 15
    samples: int = 4
    size: int = 8
    rounds: int = 12
    step: float = 0.2
    scale: float = 0.95
    waste: float = 0.1
    days: int = 3
    ahead: float | None = None
    fill: float = 1.0
    monotone: bool = False


class FirstPrices(NamedTuple):
    """What a day begins with, and what takes most of its preparation: kept between runs."""

    shares: list[Shares]  # of a node, by node type
    unit: Floats  # (G,) what a step of size 1 is
    nu: Floats  # (G, T) prices of a node


def document(first: FirstPrices) -> dict[str, Any]:
    """The prices as JSON values."""
    shares = [[*(np.asarray(value).tolist() for value in kind)] for kind in first.shares]
    return {"shares": shares, "unit": first.unit.tolist(), "nu": first.nu.tolist()}


def write_prices(first: FirstPrices) -> bytes:
    return json.dumps(document(first)).encode()


def read_prices(content: bytes | None) -> FirstPrices | None:
    return None if content is None else _parse(json.loads(content))


def _parse(stored: dict[str, Any]) -> FirstPrices:
    shares = [
        Shares(np.array(rate, np.int64), np.array(memory, np.int64), np.array(share, float), (compute, other))
        for rate, memory, share, (compute, other) in stored["shares"]
    ]
    return FirstPrices(shares, np.array(stored["unit"]), np.array(stored["nu"]))


SHIPPED = Path(__file__).with_name("first_prices.json")  # of `quick`; `python -m tools.first_prices` writes them


def find_shipped(mark: str) -> FirstPrices | None:
    """The prices shipped under the SHA-256 of what they follow from."""
    stored = _read_shipped().get(mark)
    return None if stored is None else _parse(stored)


@cache
def _read_shipped() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(SHIPPED.read_text())
    return found


# What earlier days tell: past tasks, forecast, filling, samples, unit of a step, prices before the day
_KEPT: dict[tuple[object, ...], tuple[Past, Forecast, Filling, list[Representatives], Floats, Floats]] = {}
KEPT_FROM = 500  # Sampled past tasks from which on the first prices are kept on disk
# Packages whose sources they follow from
CODE = ("ratiobench.instances", "ratiobench.formulations", "ratiobench.online")
MOST_KEPT = 4  # Lessons that are kept: audits run the same algorithm many times


def _identity(public: Public) -> tuple[object, ...]:
    kinds = [(kind.count, kind.compute, kind.memory_mb, tuple(kind.tariff.tolist())) for kind in public.node_types]
    return public.slots, public.slot_seconds, public.base_memory_mb, tuple(kinds)


class LearnedPrices:
    """Posts nu_gt (om_g + waste dW), whole micro-dollars, on the node that a task fills best."""

    arithmetic = "integer"

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._history: Instance | None = None
        self._past: Past
        self._forecast: Forecast
        self._filling: Filling

    def learn(self, history: Instance | None) -> None:
        self._history = history

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Prices before the day, from what earlier days tell; it is kept by their content."""
        s, slots = self._settings, public.slots
        self._public, self._cluster = public, Cluster(public)
        self._begin = list_points(slots)
        self._tariff = public.tariff.astype(float)
        self._nodes = np.array([kind.count for kind in public.node_types], float)
        self._empty = np.repeat(self._nodes[:, None], slots, axis=1)
        self._came, self._used = np.zeros(slots), np.zeros(self._empty.shape)
        self._seen: list[Task] = []
        self._waste = 0.0 if s.monotone else s.waste
        self._slot, self._since, self._solved, self._noted = -1, 0, 0, FIRST_NOTED
        self._samples: list[Representatives] = []
        self._unit, self._nu = np.ones(len(self._nodes)), np.zeros(self._empty.shape)
        self._by_way: list[Floats] = []
        key = None if self._history is None else (content_hash(self._history), _identity(public), s)
        if key is not None and key in _KEPT:
            self._past, self._forecast, self._filling, self._samples, self._unit, self._nu = _KEPT[key]
        else:
            self._learn(key)
            if key is not None:
                _KEPT[key] = self._past, self._forecast, self._filling, self._samples, self._unit, self._nu
                if len(_KEPT) > MOST_KEPT:
                    del _KEPT[next(iter(_KEPT))]
        # What is worked on is this day's own: the unit of a type that no past task could use, and the order of entries.
        self._unit = self._unit.copy()
        self._samples = [
            sample._replace(order=sample.order.copy(), counted=np.zeros_like(sample.counted))
            for sample in self._samples
        ]

    def __deepcopy__(self, memo: dict[int, Any]) -> LearnedPrices:
        twin = copy(self)
        twin._came, twin._used, twin._seen = self._came.copy(), self._used.copy(), self._seen.copy()
        twin._unit = self._unit.copy()
        twin._samples = [
            sample._replace(order=sample.order.copy(), counted=sample.counted.copy()) for sample in self._samples
        ]
        return twin

    def _learn(self, key: tuple[object, ...] | None) -> None:
        """Find what earlier days tell; of many tasks what takes long is looked for on disk."""
        public, s, slots = self._public, self._settings, self._public.slots
        past, last = empty_past(len(self._nodes)), None
        counts: list[Floats] = []
        if self._history is not None:
            days = split(self._history, public)
            counts = [np.bincount(day.arrival - 1, minlength=slots).astype(float) for day in days]
            past, last = join_pasts([read_past(day, slots) for day in days[-s.days :]]), days[-1]
        self._past = past
        self._forecast = Forecast(counts, slots, public.slot_seconds, s.total, s.ahead)
        follows = None if key is None or past.tasks < KEPT_FROM else [*key[:2], asdict(s)]
        known = None if follows is None else find_shipped(sha256_of(follows))
        result = None if follows is None or known is not None else [*follows, code_mark(CODE)]
        known = read_prices(recall(result)) if result is not None else known
        shares = find_shares(last) if known is None and last is not None and last.tasks else None
        self._filling = Filling(past, public, shares if known is None else known.shares)
        if past.tasks:
            self._draw(past)
        if known is not None:
            self._unit, self._nu = known.unit, known.nu
        elif self._samples:
            expected = self._at_points(self._forecast.profile)
            for rounds, step in FIRST_SOLUTIONS:
                self._nu = self._descend(0, expected, self._nu, rounds, step)
            self._unit = np.maximum(self._unit / 10, self._nu.mean(axis=1))
        if result is not None and known is None and shares is not None:
            store(result, write_prices(FirstPrices(shares, self._unit, self._nu)))

    def _draw(self, past: Past) -> None:
        """New representatives, and the unit of price steps: what the median task pays for a whole node and slot."""
        share = self._filling.shares(past.rate, past.memory)
        if not (past.rate > 0).any():
            return
        s = self._settings
        self._samples = draw(past, share, self._public.slots, s.size, [str(a) for a in range(s.samples)])
        for g in range(len(self._nodes)):
            able = (past.rate[:, g] > 0) & (share[:, g] > 0)
            if able.any() and (self._solved == 0 or self._unit[g] <= 1.0):
                slots = -(-past.work[able] // past.rate[able, g])
                self._unit[g] = max(1.0, float(np.sort(past.bid[able] / (slots * share[able, g]))[able.sum() // 2]))

    def _at_points(self, counts: Floats) -> Floats:
        return np.asarray(np.add.reduceat(counts, self._begin))

    def _descend(self, now: int, expected: Floats, nu: Floats, rounds: int, step: float) -> Floats:
        sample = self._samples[self._solved % len(self._samples)]
        free = np.maximum(0.0, self._settings.fill * self._empty - self._used)
        found: Floats = descend(sample, now, expected, free, self._nodes, self._tariff, nu, self._unit, rounds, step)
        found[:, :now] = nu[:, :now]
        return found

    def wish(self, task: Task, view: View) -> ProposedPrices | None:
        now = task.arrival - 1
        every = max(self._settings.every, int(max(self._forecast.total, len(self._seen))) // SOLVES)
        step = max(1, self._public.slots // SOLVES)
        due = now >= self._slot + step or self._since >= every
        if due and not self._settings.monotone:
            self._solve(now)
        wish = self._wish(task, view)
        if due:
            self._slot, self._since = now, 0
        if due and self._settings.monotone:
            # What a task triggers is for later ones: it must not raise the prices that the task meets.
            self._solve(now)
        self._came[now] += 1
        self._since += 1
        return wish

    def _wish(self, task: Task, view: View) -> ProposedPrices | None:
        found = find_usable_types(task, self._public)
        if found is None:
            return None
        types, first = found
        share = self._share(task)
        shape = len(types), task.deadline - first
        node, price = np.empty(shape, np.int64), np.empty(shape)
        find_best_filled(
            self._settings.scale * self._nu, share, self._waste, self._filling.tables, view.compute,
            view.memory_mb, self._cluster.arrays, types, task.rate, task.memory_mb, first, node, price,
        )  # fmt: skip
        return ProposedPrices(types, first, node, price)

    def heard(self, task: Task) -> None:
        self._seen.append(task)

    def _share(self, task: Task) -> Floats:
        return self._filling.share_of(tuple(task.rate.tolist()), task.memory_mb)

    def _solve(self, now: int) -> None:
        if len(self._seen) >= self._noted:
            self._noted *= 2
            result = max(KEPT, self._past.tasks - 10 * len(self._seen))
            stride = max(1, self._past.tasks // result)
            past = join_pasts([thin(self._past, stride), note(self._seen, self._public)])
            if self._history is None:
                self._filling = Filling(past, self._public, None)
            self._draw(past)
        if self._samples:
            # Each way in which the day may go on has prices of its own, and what is posted is their mean.
            ways, s = self._forecast.ways(now, self._came), self._settings
            rounds = s.rounds if len(ways) == 1 else -(-s.rounds * 3 // 4)
            before = self._by_way or [self._nu] * len(ways)
            found = [
                self._descend(now, self._at_points(way), nu, rounds, s.step)
                for way, nu in zip(ways, before, strict=True)
            ]
            self._by_way = [np.maximum(*pair) for pair in zip(before, found, strict=True)] if s.monotone else found
            self._nu = sum(self._by_way[1:], self._by_way[0]) / len(ways)
            self._solved += 1

    def sold(self, task: Task, cells: tuple[Cell, ...], net: int) -> None:
        share = self._share(task)
        kind = self._public.type_of_node
        for k, t in cells:
            self._used[kind[k], t - 1] += share[kind[k]]

    def final(self) -> tuple[dict[Cell, Fraction | float], dict[Cell, Fraction | float]]:
        """The last prices of each node, split into compute and memory."""
        public = self._public
        part = np.array([self._filling.part(g) for g in range(len(self._nodes))])
        lam, phi = self._nu * (part / public.compute)[:, None], self._nu * ((1.0 - part) / public.memory_mb)[:, None]
        return list_prices(lam[public.type_of_node]), list_prices(phi[public.type_of_node])
