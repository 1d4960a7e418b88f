"""What a policy is, what it sees, and what it answers.

A policy is any object with `start` and `decide`. It never sees an instance: it gets the public part, one job when that
is submitted (`ratiobench.instances.edgeflow.model.Job`), and at every event the state of the jobs that are there. It
answers who runs from this second on, where and on how many GPUs; everybody who is not named pauses.

It is asked once a second at most, and only where something has happened and some job is there: `decide` in a second
with arrivals (once for each of them, all with the state before; the last answer of a second counts), or
`decide_batch(jobs, view)`, which gives an answer for each, None for all but the last; in any other second `at_change`.
What has happened is told in `view.events`, in this order: completions, deadlines that passed, a change of edge servers,
arrivals, the wake that the policy asked for.

Optional attributes: `constants`, `label`, `counts`, `randomised`, as in every family.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ratiobench.instances.arrays import IntArray
from ratiobench.instances.edgeflow.model import CLOUD, EDGE, Job, Model, Public, Window
from ratiobench.online.answers import InvalidAnswer, read_part

__all__ = [
    "CHANGE", "CLOUD", "COMPLETION", "DEADLINE", "EDGE", "PAUSED", "WAKE", "WINDOW",
    "Active", "Answer", "Event", "Job", "Model", "Policy", "Public", "View", "Window", "excess", "plain",
]  # fmt: skip

NUMBER_LIMIT = 2**53  # No number in an answer is larger
NAMED_LIMIT = 100_000  # No answer names more jobs: more than there are GPUs and edge servers
PAUSED = -1  # The place of a job that is here and does not run
CHANGE = "change"  # The event, other than arrivals, at which a policy is asked, by its method `at_change`
COMPLETION, DEADLINE, WINDOW, ARRIVAL, WAKE = "completion", "deadline", "window", "arrival", "wake"


class Event(NamedTuple):
    """An event of the present second.

    Parameters
    ----------
    kind : completion, deadline, window, arrival or wake.
    job : its number; None where the event is not about a single job.
    """

    kind: str
    job: int | None


class Active(NamedTuple):
    """A job in the system.

    Parameters
    ----------
    left : milli-iterations that it still has to do.
    place : PAUSED, CLOUD or EDGE.
    gpus : on which it runs.
    ready : second from which it progresses.
    """

    left: int
    place: int
    gpus: int
    ready: int


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The state that the referee shows: read-only, a copy for this decision.

    Parameters
    ----------
    second : now.
    gpus : of the cloud, busy or not.
    servers : edge servers that are there from now on, busy or not.
    until : the second at which the present window of edge servers ends; None where there are none or it is not known.
    index : (k,) the jobs that are here, in order of submission.
    left : (k,) milli-iterations that each still has to do.
    place, share : (k,) where it has run up to now, and on how many GPUs; PAUSED and 0 where it has not. One whose
        edge window has just closed stands here as it ran.
    last : (k,) where it ran last, at whatever time; PAUSED where it never has.
    ready : (k,) the second from which it progresses, or has progressed, in this run.
    events : what has happened in this second, in order.
    """

    second: int
    gpus: int
    servers: int
    until: int | None
    index: IntArray
    left: IntArray
    place: IntArray
    share: IntArray
    last: IntArray
    ready: IntArray
    events: tuple[Event, ...]

    @property
    def active(self) -> dict[int, Active]:
        """The jobs that are here, by index."""
        columns = (self.index, self.left, self.place, self.share, self.ready)
        return {i: Active(*rest) for i, *rest in zip(*(column.tolist() for column in columns), strict=True)}


class Answer(NamedTuple):
    """The jobs that run from this second on; a bare mapping is accepted where no wake is wanted.

    Parameters
    ----------
    shares : job -> (place, GPUs); on the edge the number is 1.
    wake : a later second at which the policy is asked in any case, unless it is asked earlier; None for none.
    """

    shares: Mapping[int, tuple[int, int]]
    wake: int | None = None


@runtime_checkable
class Policy(Protocol):
    """Decides second by second, where something happens."""

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Begin a run: called once, before the first job.

        Parameters
        ----------
        public : the public part of the instance.
        constants : values of the constants that the policy declares.
        """
        ...

    def decide(self, job: Job, view: View) -> Answer | Mapping[int, tuple[int, int]] | None:
        """Decide at the arrival of a job which jobs run from now on.

        Parameters
        ----------
        job : the job that arrives.
        view : the state, read-only.

        Returns
        -------
        job -> (place, GPUs), alone or in an `Answer` with a wake; None to change nothing (jobs on a closed window
        pause).
        """
        ...


class BookedAnswer(tuple[tuple[tuple[int, int, int], ...], int | None]):
    """An answer in builtin types: the (job, place, GPUs) in order of jobs, and the wake; with the second it is from."""

    second: int


def plain(answer: Any) -> tuple[tuple[tuple[int, int, int], ...], int | None] | None:
    """Copy an answer in builtin types.

    Parameters
    ----------
    answer : of a policy.

    Returns
    -------
    ((job, place, GPUs), ...) in order of jobs, and the wake; None for None.

    Raises
    ------
    TypeError : it has another form.
    InvalidAnswer : a part of it is not allowed; names the part.
    """
    if answer is None:
        return None
    shares, wake = answer, None
    if isinstance(answer, tuple | list):
        if len(answer) != 2:
            raise TypeError(answer)
        shares, wake = answer
    if isinstance(shares, Mapping):
        named = [(job, *_pair(job, given)) for job, given in shares.items()]
    elif isinstance(shares, tuple | list):
        named = [_triple(each) for each in shares]
    else:
        raise TypeError(answer)
    booked = [
        (
            read_part("job", job, NUMBER_LIMIT),
            read_part("the place", place, NUMBER_LIMIT),
            read_part("the GPUs", gpus, NUMBER_LIMIT),
        )
        for job, place, gpus in named
    ]
    booked.sort()
    if any(one[0] == other[0] for one, other in pairwise(booked)):
        raise InvalidAnswer("a job is named twice")
    return tuple(booked), None if wake is None else read_part("the wake", wake, NUMBER_LIMIT)


def _pair(job: Any, given: Any) -> tuple[Any, Any]:
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise InvalidAnswer(f"job {job} is given no (place, GPUs)")
    return given[0], given[1]


def _triple(given: Any) -> tuple[Any, Any, Any]:
    if not isinstance(given, tuple | list) or len(given) != 3:
        raise TypeError(given)
    return given[0], given[1], given[2]


def excess(answer: Any, public: Public) -> str | None:
    """Check that an answer names no more jobs than can run, so that it can be sent.

    Parameters
    ----------
    answer : of a policy.
    public : the public part of the instance.

    Returns
    -------
    What is wrong, in words; None for nothing.
    """
    shares = answer[0] if isinstance(answer, tuple | list) and answer else answer
    if isinstance(shares, Mapping | tuple | list) and len(shares) > NAMED_LIMIT:
        return f"{len(shares)} jobs are named; at most {NAMED_LIMIT} can run"
    return None
