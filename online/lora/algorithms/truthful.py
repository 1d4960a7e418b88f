r"""`truthful`: any deterministic algorithm behind take-it-or-leave-it prices, at no loss of its guarantee.

On each task the inner algorithm is asked, in the state that it is in, for every bid of a grid: tau is the least one
that it admits. The task gets the schedule of that bid for the price tau if its bid is at least tau, and the inner
algorithm goes on as if the task had bid tau; else it goes on as if the task had bid the largest number of the grid that
is not above its bid, which it rejects.

Theorem N6. Let the inner algorithm satisfy OPT <= c ALG + A, c >= 1, on a class of instances in which single bids may
be lowered to numbers of the grid. Then this one satisfies OPT <= c ALG + A + R on it, R being what the rejected bids
lose by rounding down to the grid: 0 with `ratio=1`, whose grid has every whole number.

Neither price nor schedule looks at the task's own bid, so it is truthful in the bid (Theorem T), whatever the inner
algorithm pays or charges, as long as its constants come from elsewhere. Costs as many decisions of the inner algorithm
as the grid has numbers up to the bid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.lora.model import Instance, Public, Task
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.inner import Inner, learn_all, learns_nothing
from ratiobench.online.lora.mechanism import OPTIONS, ORACLE
from ratiobench.online.lora.price_laws import ARITHMETIC, settle_arithmetic
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.registry import Entry, Option, fraction, register
from ratiobench.online.lora.traces import HistoryTrace


def list_grid(bid: int, ratio: Fraction) -> Iterator[int]:
    """0, 1 and on by the ratio, rounded up and by 1 at least, up to the bid."""
    value = 0
    while value <= bid:
        yield value
        value = max(value + 1, -(-value * ratio.numerator // ratio.denominator))


class TakeOrLeave:
    """The least bid of the grid that the inner algorithm admits is the price."""

    def __init__(self, inner: Inner, ratio: Fraction) -> None:
        self._inner, self._ratio = inner, ratio
        self.constants = inner.constants
        self.learns_nothing = learns_nothing((inner,))
        self.counts = {"inner_decisions": 0}
        self.trace = HistoryTrace()

    def learn(self, history: Instance | None, tested: Instance) -> Mapping[str, Fraction]:
        """What the inner algorithm takes from earlier days."""
        self.trace = HistoryTrace(history)
        return learn_all((self._inner,), history, tested)

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """The inner algorithm starts."""
        self._public = public
        self._inner.start(public, constants)
        self._state: Any = self._inner.algorithm

    def decide(self, task: Task, view: View) -> Decision | None:
        """The schedule for the least bid that is admitted, if the task's bid is no less; charge that bid."""
        tried = self._state
        for bid in list_grid(task.bid, self._ratio):
            tried = self._copy()
            self.counts["inner_decisions"] += 1
            answer: Decision | None = tried.decide(replace(task, bid=bid), view)
            if answer is None:
                continue
            self._state = tried
            return Decision(answer.vendor, answer.cells, bid)
        self._state = tried
        return None

    def _copy(self) -> Any:
        """The inner algorithm as it is; what it keeps for audits only is not copied."""
        shared: dict[int, Any] = {id(self._public): self._public}
        for name in ("_trace", "trace"):
            kept = vars(self._state).get(name)
            if kept is not None:
                shared[id(kept)] = kept
        return deepcopy(self._state, shared)


def _make(options: Mapping[str, str]) -> TakeOrLeave:
    ratio = fraction("truthful:ratio", options["ratio"])
    if ratio < 1:
        raise InputError("algorithm", "truthful:ratio", f"{shorten(options['ratio'])} is below 1")
    return TakeOrLeave(Inner("truthful:inner", options["inner"], options["arith"]), ratio)


def _state(options: Mapping[str, str], oracle: bool) -> Mapping[str, str]:
    spec = Inner("truthful:inner", options["inner"], options["arith"]).spec
    assert spec.entry is not None
    own = {} if spec.entry.standing is None else spec.entry.standing(spec.options, oracle)
    proved = own.get("guarantee", "none known")
    rounding = "" if options["ratio"] == "1" else " and what rejected bids lose by rounding"
    guarantee = proved if proved.startswith("none") else f"that of {spec.name}{rounding} (Theorem N6): {proved}"
    return {"guarantee": guarantee, "truthful": ORACLE if oracle else "in the bid"}


register(
    Entry(
        "truthful",
        "another algorithm behind take-it-or-leave-it prices: truthful in the bid, with its guarantee (Theorem N6)",
        "1",
        {
            "inner": Option(
                "eft", None, "NAME or NAME;option=value;... of a deterministic one that decides at arrival"
            ),
            "ratio": Option("11/10", None, "of the grid of bids that it is asked for, at least 1; 1: every whole bid"),
            **OPTIONS,
            "arith": ARITHMETIC,
        },
        _make,
        settle=settle_arithmetic,
        public_constants=True,
        learns=True,
        randomised=lambda options: Inner("truthful:inner", options["inner"], options["arith"]).is_randomised,
        standing=_state,
    )
)
