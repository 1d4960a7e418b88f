"""Priorities of tasks by Slurm's plugin `priority/multifactor`: weighted factors of age, fair share, size, queue, QOS.

The weights stand in a TOML file under the names of `slurm.conf`:

    PriorityWeightAge = 1000
    PriorityMaxAge = "7-0"              # or minutes; the age at which the factor is 1
    PriorityWeightFairshare = 10000     # factor 2^(-usage / share), both as fractions of the whole
    PriorityDecayHalfLife = "7-0"       # usage counts half after so long; 0: it never decays
    PriorityWeightJobSize = 0           # factor nodes / nodes of the cluster
    PriorityFavorSmall = false          # or 1 less that
    PriorityWeightPartition = 0         # factor of the task's `queue`, as a fraction of the largest one
    PriorityWeightQOS = 0               # factor `priority` of the task over the largest one that has come
    [shares]                            # of users; who is not named has 1
    alice = 3
    [partitions]                        # PriorityJobFactor of queues; who is not named has 1
    debug = 10

A priority is a whole number, rounded down.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.instances.io.errors import InputError, explain_unknown_name, shorten
from ratiobench.instances.io.files import load_toml, read_bytes
from ratiobench.instances.lora.model import Public, Task
from ratiobench.online.lora.protocol import Ended

_LARGEST = 2**32 - 1
_TIME = re.compile(r"(?:(\d{1,6})-)?(\d{1,6})(?::(\d{1,2}))?(?::(\d{1,2}))?")


class Weights(NamedTuple):
    """The weights of factors, times in seconds (0: never), and factors of users and queues."""

    age: int = 0
    fair_share: int = 0
    size: int = 0
    partition: int = 0
    qos: int = 0
    max_age: int = 7 * 86400
    half_life: int = 7 * 86400
    favor_small: bool = False
    shares: Mapping[str, int] = {}
    partitions: Mapping[str, int] = {}


_WEIGHTS = {
    "PriorityWeightAge": "age",
    "PriorityWeightFairshare": "fair_share",
    "PriorityWeightJobSize": "size",
    "PriorityWeightPartition": "partition",
    "PriorityWeightQOS": "qos",
}
_TIMES = {"PriorityMaxAge": "max_age", "PriorityDecayHalfLife": "half_life"}
_TABLES = ("shares", "partitions")
_FAVOR = "PriorityFavorSmall"


def read_weights(path: str) -> Weights:
    """Read a file of weights."""
    data, source = read_bytes(path)
    table = load_toml(data, source)
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key in _WEIGHTS:
            found[_WEIGHTS[key]] = _number(source, key, value, 0)
        elif key in _TIMES:
            found[_TIMES[key]] = _seconds(source, key, value)
        elif key == _FAVOR:
            if not isinstance(value, bool):
                raise InputError(source, key, f"{shorten(value)} is neither true nor false")
            found["favor_small"] = value
        elif key in _TABLES:
            if not isinstance(value, dict):
                raise InputError(source, key, f"{shorten(value)} is no table")
            found[key] = {name: _number(source, f"{key}.{name}", each, 1) for name, each in value.items()}
        else:
            raise InputError(source, key, explain_unknown_name(key, [*_WEIGHTS, *_TIMES, _FAVOR, *_TABLES]))
    return Weights(**found)


def _number(source: str, key: str, value: Any, least: int) -> int:
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _LARGEST:
        raise InputError(source, key, f"{shorten(value)} is not a whole number in {least}..{_LARGEST}")
    return value


def _seconds(source: str, key: str, value: Any) -> int:
    """The time: minutes, or a text minutes, hours:minutes:seconds, days-hours, days-hours:minutes, ..."""
    if isinstance(value, int) and not isinstance(value, bool):
        return _number(source, key, value, 0) * 60
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise InputError(source, key, f"{shorten(value)} is neither minutes nor days-hours:minutes:seconds")
    days, *rest = match.groups()
    parts = [int(each) for each in rest if each is not None]
    if days is None and len(parts) < 3:  # minutes, or minutes:seconds
        parts = [0, *parts]
    hours, minutes, seconds = (*parts, 0, 0, 0)[:3]
    return int(days or 0) * 86400 + hours * 3600 + minutes * 60 + seconds


class Priorities:
    """The priorities of tasks slot by slot; it is told who begins and who ends."""

    def __init__(self, weights: Weights, public: Public) -> None:
        self._weights, self._nodes = weights, public.nodes
        self._max_age = weights.max_age / public.slot_seconds
        half = weights.half_life / public.slot_seconds
        self._decay = 0.5 ** (1 / half) if half else 1.0
        self._slot = 1
        self._used: dict[str, float] = {}
        self._runs: dict[int, tuple[str, int]] = {}
        self._present: dict[str, int] = {}
        self._users: set[str] = set()
        self._most = 1

    def begin(self, task: Task, slot: int) -> None:
        """The task runs from this slot on."""
        user = task.labels.user
        self._runs[task.index] = user, task.parts
        self._present[user] = self._present.get(user, 0) + task.parts

    def go_to(self, slot: int, ended: Sequence[Ended]) -> None:
        """Usage up to this slot; runs ended on the way."""
        ends: dict[int, list[int]] = {}
        for each in ended:
            if each.task in self._runs:
                ends.setdefault(each.slot, []).append(each.task)
        for t in range(self._slot, slot + 1):
            for i in ends.get(t, ()):
                user, parts = self._runs.pop(i)
                self._present[user] -= parts
            if t < slot:
                for user in self._present.keys() | self._used.keys():
                    self._used[user] = self._decay * self._used.get(user, 0.0) + self._present.get(user, 0)
        self._slot = slot

    def of(self, tasks: Sequence[Task], slot: int) -> NDArray[np.int64]:
        """The priorities of tasks that wait."""
        weights = self._weights
        self._users |= {task.labels.user for task in tasks}
        self._most = max([self._most, *(task.labels.priority for task in tasks)])
        shares = {user: weights.shares.get(user, 1) for user in self._users}
        all_shares, all_used = sum(shares.values()), math.fsum(self._used.values())
        fair = {
            user: 2.0 ** (-(self._used.get(user, 0.0) / all_used) * all_shares / share) if all_used else 1.0
            for user, share in shares.items()
        }
        largest = max(weights.partitions.values(), default=1)
        found = []
        for task in tasks:
            size = task.parts / self._nodes
            age = min(1.0, (slot - task.arrival) / self._max_age) if self._max_age else 1.0
            total = (
                weights.age * age
                + weights.fair_share * fair[task.labels.user]
                + weights.size * (1 - size if weights.favor_small else size)
                + weights.partition * weights.partitions.get(task.labels.queue, 1) / largest
                + weights.qos * max(0, task.labels.priority) / self._most
            )
            found.append(math.floor(total))
        return np.array(found, dtype=np.int64)
