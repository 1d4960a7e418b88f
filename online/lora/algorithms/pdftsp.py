"""pdFTSP, the main paper's online primal-dual mechanism: Algorithms 1 and 2, equations (7)-(14).

Read with the corrections without which it cannot run (overshoot clipped, first slot usable, F <= 0 rejects). Prices
move as printed: for every task with F > 0, also when line 8 then finds that it does not fit; with `updates=admitted`
for admitted tasks only.

By default memory is in GB, as in section 2.1, and schedules are the best ones (9), found exactly. Algorithm 2, which
need not find them, is `search=printed`. Its line 11 can be read in two ways: Delta is the increment of (12), as the
text below (13) says, so that a cell that raises the largest price of a path raises it for all cells of the path; or,
by the formula alone, the cost of the new cell at the largest prices of the path. It is the increment here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.model import IntArray, Public, Task
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.mechanism import ORACLE, ExactPrices, FloatPrices
from ratiobench.online.lora.one_node import NodeAnswer, with_one_node
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.registry import ARITHMETIC, Entry, Option, fraction, register, settle_arithmetic
from ratiobench.online.lora.search.maxprice import Choice, Prices, exact_search, printed_search, window
from ratiobench.online.lora.traces import Cell, Offer, PriceTrace, Rule

GB = Fraction(1, 1000)  # GB in a MB: the shipped files count 80,000 MB on an A100 of 80 GB


class _ExactPrices(ExactPrices):
    def on(self, nodes: IntArray, first: int, last: int) -> Prices:
        lam_rank, lam = self._ranks(self.lam, nodes, first, last)
        phi_rank, phi = self._ranks(self.phi, nodes, first, last)
        return Prices(lam_rank, phi_rank, lam, phi)

    @staticmethod
    def _ranks(price: dict[Cell, Fraction], nodes: IntArray, first: int, last: int) -> tuple[IntArray, list[Fraction]]:
        zero = Fraction(0)
        here = [[price.get((k, t), zero) for t in range(first, last + 1)] for k in nodes.tolist()]
        values = sorted({value for row in here for value in row})
        rank = {value: j for j, value in enumerate(values)}
        return np.array([[rank[value] for value in row] for row in here], dtype=np.int64), values


class _FloatPrices(FloatPrices):
    def on(self, nodes: IntArray, first: int, last: int) -> Prices:
        lam, phi = self.lam[:, first - 1 : last], self.phi[:, first - 1 : last]
        if len(nodes) < len(lam):
            lam, phi = lam[nodes], phi[nodes]
        return Prices(lam, phi, None, None)


class PdFtsp:
    """Algorithm 1 with Algorithm 2 (`search=printed`) or an exact maximiser of (9) (`search=exact`)."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = dict(options)
        self._search = printed_search if options["search"] == "printed" else exact_search
        self._units = options["units"]
        self._money = fraction("pdftsp:money", options["money"])
        if self._money <= 0:
            raise InputError("algorithm", "pdftsp:money", f"{options['money']} is not positive")
        self._critical = options["payment"] == "critical"
        self._ghosts = options["updates"] == "all"
        self._arith = options["arith"]
        self.constants: tuple[str, ...] = ("alpha", "beta")
        if self._units == "canonical":
            self.constants += ("canonical_money", "canonical_memory")

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Line 1: all prices zero."""
        exact = self._arith == "exact"
        self.arithmetic = self._arith
        self._public = public
        self._type_of = public.type_of_node
        # (7)-(8) are the update of a mechanism with B = 1 and v = bbar
        rule = Rule(Fraction(1), constants["alpha"], constants["beta"], by_bbar=True)
        self._prices: _ExactPrices | _FloatPrices = (_ExactPrices if exact else _FloatPrices)(public, rule)
        money, memory = Fraction(1), GB if self._units == "paper" else Fraction(1)
        if self._units == "canonical":
            money, memory = constants["canonical_money"], constants["canonical_memory"]
        self._trace = PriceTrace(
            search=self._options["search"],
            exact=exact,
            money=money * self._money,
            memory=memory,
            alpha=constants["alpha"],
            beta=constants["beta"],
            units=self._units,
            updates=self._options["updates"],
        )
        self.counts = {"positive_f": 0, "dropped": 0}

    @property
    def trace(self) -> PriceTrace:
        self._trace.lam, self._trace.phi = self._prices.final()
        return self._trace

    def decide(self, task: Task, view: View) -> Decision | None:
        return self.settle(task, view, self.find(task, view))

    def find(self, task: Task, view: View) -> NodeAnswer | None:
        """Lines 3-6: the schedule of largest F."""
        where = window(task, self._public)
        choice = None
        if where is not None:
            menu, nodes = where
            choice = self._search(task, self._public, menu, nodes, self._prices.on(nodes, menu.first, menu.last))
        if choice is None:
            return None
        fewest = (len(choice.cells),) if self._search is exact_search else ()
        return NodeAnswer((-choice.value, choice.option, *fewest), choice.cells, choice)

    def settle(self, task: Task, view: View, found: NodeAnswer | None) -> Decision | None:
        """Lines 7-13: prices move for F > 0, and who fits is admitted."""
        choice: Choice | None = None if found is None else found.answer
        if choice is None:
            self._trace.offers.append(Offer(task.index, None))
            return None
        payment = None
        admitted = False
        if choice.value > 0:
            self.counts["positive_f"] += 1
            rate = task.rate[self._type_of]
            admitted = all(
                bool(view.compute[k, t - 1] >= rate[k] and view.memory_mb[k, t - 1] >= task.memory_mb)
                for k, t in choice.cells
            )
            if admitted or self._ghosts:
                money, used = self._trace.money, choice.work + self._trace.memory * task.memory_mb * len(choice.cells)
                bbar = money * choice.net / used if self._trace.exact else float(money) * choice.net / float(used)
                self._prices.move(task, choice.cells, bbar)  # type: ignore[arg-type]
            if admitted:
                payment = task.bid - choice.value
                if not self._critical:
                    payment -= choice.energy
            else:
                self.counts["dropped"] += 1
        self._trace.offers.append(
            Offer(task.index, choice.value, choice.option, choice.cells, choice.work, choice.net, admitted, payment)
        )
        if payment is None:
            return None
        return Decision(task.options[choice.option].vendor, choice.cells, math.ceil(payment))


def _standing(options: Mapping[str, str], oracle: bool) -> Mapping[str, str]:
    """Theorem 5' needs a maximiser of (9) and prices that move as printed; (14) leaves the operational cost out."""
    guarantee = "none; Theorem 5 as printed is false"
    if options["updates"] == "all" and options["search"] == "exact":
        where = "where costs are >= 0, bbar >= 1 and alpha, beta bound the day's"
        guarantee = f"OPT <= kappa rho_L (1+A) ALG {where} (Theorem 5'); Theorem 5 as printed is false"
    charged = "in the bid" if options["payment"] == "critical" else "no: (14) does not charge operation"
    return {"guarantee": guarantee, "truthful": ORACLE if oracle else charged}


register(
    with_one_node(
        Entry(
            name="pdftsp",
            summary="the main paper's primal-dual mechanism: Algorithm 1, schedules by (9) exactly or by Algorithm 2",
            version="2",
            options={
                "search": Option(
                    "exact", ("exact", "printed"), "maximise (9) exactly, or by the dynamic programme (13)"
                ),
                "units": Option(
                    "paper",
                    ("paper", "given", "canonical"),
                    "units of bbar, alpha, beta: the paper's (GB), the file's (MB), or those that make bbar 1 or more",
                ),
                "money": Option("1", None, "further factor on the unit of money, a fraction"),
                "payment": Option("printed", ("printed", "critical"), "(14), or b - F"),
                "updates": Option(
                    "all", ("all", "admitted"), "prices move for every task with F > 0, or for the admitted"
                ),
                "arith": ARITHMETIC,
            },
            make=PdFtsp,
            settle=settle_arithmetic,
            standing=_standing,
        )
    )
)
