"""One run with all that claims are checked against."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ratiobench.bench.lora.theory.basis.density import find_bbar_range
from ratiobench.bench.lora.theory.basis.facts import (
    Facts,
    Observations,
    find_facts,
    find_outlay,
    observe_run,
    sum_exactly,
)
from ratiobench.formulations.report import Exact, Proof, SolveReport, Status, Termination
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.lora.model import Instance, Public
from ratiobench.online.lora.traces import Cell, Offer, PriceTrace
from ratiobench.online.outcome import OnlineRun

Figures = dict[str, Fraction | int | str | None]
Value = TypeVar("Value")
# The reference of checks that are not about OPT
UNKNOWN = SolveReport(Status.INTERVAL, 0, LIMIT**2, None, Proof.TRIVIAL, "-", "none", Termination.NONE, False, 0.0)


class Step(NamedTuple):
    offer: Offer  # what the mechanism computed; offers without a schedule have no step
    # the first cell whose virtual load (of the tasks that moved prices) has reached a capacity, or None.
    full: Cell | None
    misfit: Cell | None  # the first cell on which the admitted tasks leave no room for it, or None

    @property
    def positive(self) -> bool:
        """F > 0, line 6."""
        return self.offer.value is not None and self.offer.value > 0


class Booking(NamedTuple):
    """An admitted task: its cells, b_il, S in samples and R in MB times slots."""

    task: int
    cells: tuple[Cell, ...]
    net: int
    work: int
    use: int


def replay_offers(instance: Instance, trace: PriceTrace) -> Iterator[Step]:
    """The offers with a schedule, in order, against the loads of their moment."""
    public = instance.public("")
    types = public.type_of_node
    shape = (public.nodes, instance.slots)
    limits = public.compute[types], public.memory_mb[types]
    virtual = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    placed = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for offer in trace.offers:
        if offer.value is None:
            continue
        i = offer.task
        k, t = (np.array(part, dtype=np.int64) for part in zip(*offer.cells, strict=True))
        amounts = instance.rate[i, types[k]], np.full(len(k), instance.memory_mb[i])
        # Of each cell: whether the virtual load has reached a capacity, and whether the task does not fit (line 8).
        full = np.zeros(len(k), np.bool_)
        misfit = np.zeros(len(k), np.bool_)
        for load, stands, limit, amount in zip(virtual, placed, limits, amounts, strict=True):
            full |= load[k, t - 1] >= limit[k]
            misfit |= stands[k, t - 1] + amount > limit[k]
        first_full, first_misfit = (offer.cells[int(bad.argmax())] if bad.any() else None for bad in (full, misfit))
        yield Step(offer, first_full, first_misfit)
        # Line 7: prices, and with them the virtual load, move for F > 0; room goes to the admitted.
        if offer.admitted or (offer.value > 0 and trace.updates == "all"):
            for load, amount in zip(virtual, amounts, strict=True):
                load[k, t - 1] += amount
        if offer.admitted:
            for stands, amount in zip(placed, amounts, strict=True):
                stands[k, t - 1] += amount


def find_loads(instance: Instance, schedules: Iterable[tuple[int, Iterable[Cell]]]) -> dict[Cell, list[int]]:
    """The samples and the MB that some schedules (task, cells) take of each cell."""
    kind, loads = instance.public("").type_of_node.tolist(), dict[Cell, list[int]]()
    for i, cells in schedules:
        for k, t in cells:
            load = loads.setdefault((k, t), [0, 0])
            load[0] += int(instance.rate[i, kind[k]])
            load[1] += int(instance.memory_mb[i])
    return loads


@dataclass(frozen=True)
class Case:
    """One run with the facts of its instance and the interval on OPT; each is computed when a claim first asks."""

    instance: Instance  # instance, run: what was run
    run: OnlineRun
    reference: SolveReport  # the interval on OPT
    _shared: dict[tuple[Any, ...], Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def share(self, make: Callable[..., Value], *args: Hashable) -> Value:
        """What ``make(case, *args)`` returns, computed once for all claims."""
        key = (make, *args)
        if key not in self._shared:
            self._shared[key] = make(self, *args)
        found: Value = self._shared[key]
        return found

    @cached_property
    def trace(self) -> PriceTrace | None:
        """The trace of a run of pdFTSP; None of another algorithm."""
        return self.run.trace if isinstance(self.run.trace, PriceTrace) else None

    @cached_property
    def facts(self) -> Facts:
        money, memory = (self.trace.money, self.trace.memory) if self.trace else (Fraction(1), Fraction(1))
        return find_facts(self.instance, money, memory)

    @cached_property
    def observations(self) -> Observations | None:
        return observe_run(self.instance, self.trace) if self.trace else None

    @property
    def lower(self) -> Exact:
        """The lower end of the interval on OPT; the welfare of a valid run is one, too."""
        return max(self.reference.lower, self.run.welfare if self.run.valid else 0)

    @property
    def upper(self) -> Exact:
        return self.reference.upper

    @cached_property
    def public(self) -> Public:
        return self.instance.public("")

    @cached_property
    def bookings(self) -> list[Booking]:
        instance, kind, bookings = self.instance, self.public.type_of_node.tolist(), []
        for i, decision in enumerate(self.run.decisions):
            if decision is not None:
                net = int(instance.bid[i]) - find_outlay(instance, i, decision)
                work = sum(int(instance.rate[i, kind[k]]) for k, _ in decision.cells)
                use = int(instance.memory_mb[i]) * len(decision.cells)
                bookings.append(Booking(i, decision.cells, net, work, use))
        return bookings

    @cached_property
    def steps(self) -> list[Step]:
        return [] if self.trace is None else list(replay_offers(self.instance, self.trace))

    @cached_property
    def dropped_steps(self) -> list[Step]:
        """The tasks with F > 0 that were turned away for want of room (line 12)."""
        return [step for step in self.steps if step.positive and not step.offer.admitted]

    @cached_property
    def priced_capacity(self) -> Fraction:
        """sum C_kp lambda_kt + sum (C_km - r_b) phi_kt at the final prices of the run, micro-dollars."""
        kind, tables = self.public.type_of_node, (self.run.trace.lam, self.run.trace.phi)
        sizes = (capacity[kind].tolist() for capacity in (self.public.compute, self.public.memory_mb))
        pairs = zip(sizes, tables, strict=True)
        return sum_exactly((size[k], price) for size, table in pairs for (k, _), price in table.items())

    @property
    def printed_dual(self) -> Fraction:
        """D^I of a run of pdFTSP: sum mu_i and the priced capacity."""
        return self.priced_capacity + sum_exactly((1, step.offer.value or 0) for step in self.steps if step.positive)

    @property
    def alpha_beta(self) -> tuple[Fraction, Fraction]:
        """alpha and beta of the run, in its units; the instance's own if there is no trace."""
        if self.trace is None:
            return self.facts.alpha, self.facts.beta
        return self.trace.money * self.trace.alpha, self.trace.money * self.trace.beta / self.trace.memory

    def figures(self) -> Figures:
        known, welfare = self.facts, self.run.welfare
        ratio = [Fraction(end, welfare) if welfare > 0 else None for end in (self.lower, self.upper)]
        if welfare == 0 == self.upper:
            ratio = [Fraction(1), Fraction(1)]
        unbounded = "unbounded" if welfare <= 0 < self.lower else None
        alpha_used, beta_used = self.alpha_beta
        shown: Figures = {
            "alpha": known.alpha,
            "beta": known.beta,
            "bbar_min": known.bbar_min if known.scheduled else None,
            "bbar_max": known.bbar_max if known.scheduled else None,
            "kappa": known.kappa,
            "opt_lower": self.lower,
            "opt_upper": self.upper,
            "welfare": welfare,
            "ratio_lower": unbounded or ratio[0],
            "ratio_upper": unbounded or ratio[1],
            "opt_minus_welfare_lower": self.lower - welfare,
            "opt_minus_welfare_upper": self.upper - welfare,
            "money_unit": self.trace.money if self.trace else Fraction(1),
            "memory_unit": self.trace.memory if self.trace else Fraction(1),
        }
        if (alpha_used, beta_used) != (known.alpha, known.beta):
            shown |= {"alpha_used": alpha_used, "beta_used": beta_used}
        return shown

    @property
    def basis(self) -> str:
        """The schedules over which rho is taken: minimal, or observed if a minimal b_il is not positive."""
        return "minimal" if self.facts.unprofitable is None else "observed"

    @property
    def bbar_range(self) -> tuple[Fraction, Fraction] | None:
        """Least and largest bbar over the schedules of the basis; None if there is none."""
        known, seen = self.facts, self.observations
        if self.basis == "minimal":
            return (known.bbar_min, known.bbar_max) if known.scheduled else None
        return (seen.bbar_min, seen.bbar_max) if seen is not None and seen.positive else None

    @property
    def rho(self) -> Fraction | None:
        """rho of Lemma 3 over the schedules of the basis; None if it is undefined."""
        return self._rho(self.bbar_range)

    @property
    def theorem5_bound(self) -> Fraction | None:
        """rho (1 + max{alpha, beta}) with the largest ratios of the instance, also if the run was given others."""
        return None if self.rho is None else self.rho * (1 + max(self.facts.alpha, self.facts.beta))

    def _rho(self, ends: tuple[Fraction, Fraction] | None) -> Fraction | None:
        return None if ends is None else 1 + ends[1] / ends[0] * self.facts.spread

    def rhos(self) -> Figures:
        """rho over minimal, over observed and over all schedules, wasteful ones included."""
        seen, every = self.observations, None
        observed = (seen.bbar_min, seen.bbar_max) if seen is not None and seen.positive else None
        if self.trace is not None:
            every = find_bbar_range(self.instance, self.trace.money, self.trace.memory)
        return {
            "rho": self.rho,
            "rho_minimal": self.rho if self.basis == "minimal" else None,
            "rho_observed": self._rho(observed),
            "rho_all_covers": self._rho(every) if every and every[0] > 0 else None,
            "bbar_min_all_covers": every[0] if every else None,
            "bbar_max_all_covers": every[1] if every else None,
            "basis": self.basis,
        }

    @property
    def rho_l(self) -> Fraction | None:
        """1 + L_max (bbar_max / bbar_min) (s_max + r_max) / (s_min + r_min) of the run; None without prices."""
        known, seen = self.facts, self.observations
        if seen is None:
            return None
        if not (seen.positive and seen.admitted_bbar_min > 0):
            return Fraction(1)
        sizes = (known.s_max + known.r_max) / (known.s_min + known.r_min)
        return 1 + seen.longest * seen.bbar_max / seen.admitted_bbar_min * sizes
