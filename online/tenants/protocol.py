"""What a policy is, what it sees, and what it answers.

A policy is any object with `start` and `decide`. It never sees an instance: it gets the public part, one job when that
is released (`ratiobench.instances.tenants.model.Job`), and the state. It answers with the queue of every GPU: waiting
jobs in the order in which they are to start. The answer replaces the queues that there are.

It is asked at every tick in which some job is released: `decide(job, view)` once for each of them, each with what was
answered to the one before, or `decide_batch(jobs, view)` once for all, which gives an answer for each. The last answer
of a tick that is not None counts; None leaves the queues as they are. After the tick's last answer every GPU that is
free starts the head of its queue; one that becomes free later starts its next job at once. What has started stays.

Optional attributes: `constants`, `label`, `counts`, `randomised`, as in every family.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ratiobench.instances.arrays import IntArray
from ratiobench.instances.tenants.model import GpuType, Job, Public
from ratiobench.online.answers import InvalidAnswer, read_part

__all__ = ["GpuType", "Job", "Policy", "Public", "Queues", "View", "excess", "plain"]

NUMBER_LIMIT = 2**53  # No number in an answer is larger
NAMED_LIMIT = 100_000  # No answer names more jobs, and none has more queues
sent_once = (Job,)  # To the process of a user's policy: jobs wait for many decisions
Queues = tuple[tuple[int, ...], ...]  # The jobs of every GPU, by index, in the order in which they start


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The state that the referee shows: read-only, a copy for this decision.

    Parameters
    ----------
    now : the tick.
    free : (m,) the tick from which each GPU can start a job; `now` for one that is idle.
    waiting : the jobs that have not started, the new ones included, in order of release.
    queues : the present queues; a new job is in none of them.
    """

    now: int
    free: IntArray
    waiting: tuple[Job, ...]
    queues: Queues


@runtime_checkable
class Policy(Protocol):
    """Decides at the ticks in which jobs are released."""

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Begin a run: called once, before the first job.

        Parameters
        ----------
        public : the public part of the instance.
        constants : values of the constants that the policy declares.
        """
        ...

    def decide(self, job: Job, view: View) -> Sequence[Sequence[int]] | None:
        """Decide at the release of a job about the queue of every GPU.

        Parameters
        ----------
        job : the job that is released.
        view : the state, read-only.

        Returns
        -------
        (m,) queues of job numbers, in the order in which they start; None for the present queues.
        """
        ...


def plain(answer: Any) -> Queues | None:
    """Copy an answer in builtin types.

    Parameters
    ----------
    answer : of a policy.

    Returns
    -------
    (m,) queues of job numbers; None for None.

    Raises
    ------
    TypeError : it is no list or tuple.
    InvalidAnswer : a queue or a job is not allowed; names it.

    Examples
    --------
    >>> from ratiobench.online.tenants.protocol import plain
    >>> plain([[3, 1], []])
    ((3, 1), ())
    """
    if answer is None:
        return None
    if not isinstance(answer, tuple | list):
        raise TypeError(answer)
    return tuple(_queue(gpu, each) for gpu, each in enumerate(answer))


def _queue(gpu: int, given: Any) -> tuple[int, ...]:
    if isinstance(given, np.ndarray):
        if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
            raise InvalidAnswer(f"GPU {gpu} has no list of jobs")
    elif not isinstance(given, tuple | list):
        raise InvalidAnswer(f"GPU {gpu} has no list of jobs")
    return tuple(read_part(f"GPU {gpu}'s job", job, NUMBER_LIMIT) for job in given)


def excess(answer: Any, public: Public) -> str | None:
    """Check that an answer has no more queues than there are GPUs and not too many jobs, so that it can be sent.

    Parameters
    ----------
    answer : of a policy.
    public : the public part of the instance.

    Returns
    -------
    What is wrong, in words; None for nothing.
    """
    if not isinstance(answer, tuple | list):
        return None
    if len(answer) > len(public.gpu_type):
        return f"{len(answer)} queues for {len(public.gpu_type)} GPUs"
    named = sum(len(each) for each in answer if isinstance(each, tuple | list | np.ndarray))
    return f"{named} jobs are named; at most {NAMED_LIMIT} can be" if named > NAMED_LIMIT else None
