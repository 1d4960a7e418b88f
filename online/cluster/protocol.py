"""What an own policy of family `cluster` is, what it sees, and what it answers.

A policy is any object with a method `schedule`. It is asked in every second with an event after which some job waits,
and at the seconds that it names (`Cluster.ask_at`). It never sees the length of a job that has not ended.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ratiobench.instances.arrays import IntArray
from ratiobench.instances.cluster.model import Closure
from ratiobench.online.answers import InvalidAnswer, read_part

__all__ = ["Answer", "Cluster", "Job", "Policy", "RunningJob", "adapt", "plain"]

NUMBER_LIMIT = 2**53  # No number in an answer is larger
Start = tuple[int, tuple[int, ...] | None]  # A job, and its nodes, counted through all pools; None: by best fit


@dataclass(frozen=True, slots=True)
class Job:
    """A job as policies see it.

    Parameters
    ----------
    index : position in the file, from 0.
    submit : second of its submit.
    nodes, gpus : it takes `gpus` GPUs on each of `nodes` different nodes of one pool.
    limit : time limit in seconds, its partition's where it has none; None if there is no limit at all.
    pools : numbers of the pools that it may use.
    account, user, partition, qos : names; empty for none.
    """

    index: int
    submit: int
    nodes: int
    gpus: int
    limit: int | None
    pools: tuple[int, ...]
    account: str
    user: str
    partition: str
    qos: str


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A job that runs.

    Parameters
    ----------
    job : the job; its index is at least the number of jobs of the file if it ran at the beginning.
    start : second of its start.
    pool : number of its pool.
    nodes : its nodes, counted through all pools.
    """

    job: Job
    start: int
    pool: int
    nodes: tuple[int, ...]


sent_once = (Job, RunningJob)  # To the process of a policy: they wait and run for many passes


@dataclass(slots=True, eq=False)
class Cluster:
    """The state at a pass; a copy.

    Parameters
    ----------
    free : (nodes,) free GPUs of every node; 0 if it is closed.
    pool : (nodes,) pool of every node.
    running : the jobs that run.
    closures : closures that are known and have not ended, with nodes counted through all pools.
    """

    free: IntArray
    pool: IntArray
    running: tuple[RunningJob, ...]
    closures: tuple[Closure, ...]
    asked: list[int] = field(default_factory=list)

    def ask_at(self, second: int) -> None:
        """Ask the policy at this second, too.

        Parameters
        ----------
        second : a later one; the policy is asked then even if there is no event.
        """
        self.asked.append(int(second))


@runtime_checkable
class Policy(Protocol):
    """Decides which waiting jobs start."""

    def schedule(self, now: int, waiting: Sequence[Job], cluster: Cluster) -> Sequence[Any]:
        """Decide which jobs start now.

        Parameters
        ----------
        now : the second.
        waiting : the jobs that wait, in order of submit.
        cluster : the state.

        Returns
        -------
        Jobs in the order in which they start: `Job`, its index, or a pair (job, nodes). A job that does not fit in its
        turn is an error of the policy.
        """
        ...


class Answer(NamedTuple):
    """What a policy says at a pass: the jobs that start, and seconds at which it wants to be asked."""

    starts: Any
    asked: tuple[int, ...]


class _Adapter:
    """A policy as the referee calls it: every pass is an event, and nothing is decided at arrivals."""

    def __init__(self, policy: Any) -> None:
        self._policy = policy

    def __getattr__(self, name: str) -> Any:
        return getattr(self._policy, name)

    def start(self, public: Any, constants: Any) -> None:
        """Nothing is told before the first pass."""

    def decide_batch(self, arrivals: Sequence[Any], view: Any) -> list[None]:
        """Decide nothing: jobs start at passes."""
        return [None] * len(arrivals)

    def at_pass(self, shown: tuple[int, Sequence[Job]], cluster: Cluster) -> Answer:
        """Ask the policy."""
        answer = self._policy.schedule(shown[0], shown[1], cluster)
        with contextlib.suppress(TypeError, ValueError):  # the referee names what is wrong with it
            answer = plain(answer)
        return Answer(answer, tuple(cluster.asked))


adapt = _Adapter  # The name that `Registry` asks for


def plain(answer: Any) -> Any:
    """Copy an answer in builtin types: pairs of a job's index and its nodes; of an `Answer` these and the seconds.

    >>> from ratiobench.online.cluster.protocol import plain
    >>> plain([3, (1, [0, 2])])
    ((3, None), (1, (0, 2)))
    """
    if answer is None:
        return None
    if isinstance(answer, Answer):
        return plain(list(answer.starts)), tuple(read_part("a second", second, NUMBER_LIMIT) for second in answer.asked)
    if not isinstance(answer, tuple | list | np.ndarray):
        raise TypeError(answer)
    return tuple(_read_start(part) for part in answer)


def _read_start(part: Any) -> Start:
    nodes = None
    if isinstance(part, tuple) and len(part) == 2:
        part, given = part
        if given is not None and not isinstance(given, tuple | list | np.ndarray):
            raise InvalidAnswer("nodes of a job are no list")
        nodes = None if given is None else tuple(read_part("a node", node, NUMBER_LIMIT) for node in given)
    return read_part("a job", part.index if isinstance(part, Job) else part, NUMBER_LIMIT), nodes
