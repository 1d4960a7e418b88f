"""One run with all that claims are checked against; how a comparison becomes a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bench.family.checks import ANOTHER, Check, Verdict
from bench.lora.theory.basis.density import every_bbar
from bench.lora.theory.basis.facts import ROUNDING, Facts, Observed, facts, observed
from formulations.report import Exact, SolveReport
from instances.lora.model import Instance, Public
from online.lora.traces import Offer, PriceTrace
from online.outcome import OnlineRun

Figures = dict[str, Fraction | int | str | None]
Cell = tuple[int, int]


class Step(NamedTuple):
    """An offer, and how the cells of its schedule stood when it was made.

    Parameters
    ----------
    offer : what the mechanism computed; offers without a schedule have no step.
    full : the first cell whose virtual load (of the tasks that moved prices) has reached a capacity, or None.
    misfit : the first cell on which the admitted tasks leave no room for it, or None.
    """

    offer: Offer
    full: Cell | None
    misfit: Cell | None


def replay(instance: Instance, trace: PriceTrace) -> Iterator[Step]:
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
        full = np.zeros(len(k), np.bool_)
        misfit = np.zeros(len(k), np.bool_)
        for load, stands, limit, amount in zip(virtual, placed, limits, amounts, strict=True):
            full |= load[k, t - 1] >= limit[k]
            misfit |= stands[k, t - 1] + amount > limit[k]
        first_full, first_misfit = (offer.cells[int(bad.argmax())] if bad.any() else None for bad in (full, misfit))
        yield Step(offer, first_full, first_misfit)
        if offer.admitted or (offer.value > 0 and trace.updates == "all"):
            for load, amount in zip(virtual, amounts, strict=True):
                load[k, t - 1] += amount
        if offer.admitted:
            for stands, amount in zip(placed, amounts, strict=True):
                stands[k, t - 1] += amount


def case_of(instance: Instance, run: OnlineRun, reference: SolveReport) -> Case:
    """All that the claims about one run are checked against."""
    trace = run.trace if isinstance(run.trace, PriceTrace) else None
    known = facts(instance, trace.money if trace else Fraction(1), trace.memory if trace else Fraction(1))
    seen = observed(instance, trace) if trace else None
    lower = max(reference.lower, run.welfare if run.valid else 0)
    return Case(instance, run, trace, known, seen, lower, reference.upper)


def positive(offer: Offer) -> bool:
    """F > 0, line 6."""
    return offer.value is not None and offer.value > 0


@dataclass(frozen=True)
class Case:
    """One run with the facts of its instance and the interval on OPT (a valid run is itself a lower end)."""

    instance: Instance
    run: OnlineRun
    trace: PriceTrace | None
    known: Facts
    seen: Observed | None
    lower: Exact
    upper: Exact

    @cached_property
    def public(self) -> Public:
        """What everybody knows."""
        return self.instance.public("")

    @cached_property
    def steps(self) -> list[Step]:
        """The offers with a schedule, in order, against the loads of their moment."""
        return [] if self.trace is None else list(replay(self.instance, self.trace))

    @cached_property
    def dropped(self) -> list[Step]:
        """The tasks with F > 0 that were turned away for want of room (line 12)."""
        return [step for step in self.steps if positive(step.offer) and not step.offer.admitted]

    def virtual_peak(self) -> tuple[Fraction, Cell | None]:
        """The largest load over capacity, of compute or memory, that all tasks with F > 0 would make; and where."""
        types, rate, memory = self.public.type_of_node.tolist(), self.instance.rate, self.instance.memory_mb
        loads: dict[Cell, list[int]] = {}
        for step in self.steps:
            if positive(step.offer):
                for cell in step.offer.cells:
                    load = loads.setdefault(cell, [0, 0])
                    load[0] += int(rate[step.offer.task, types[cell[0]]])
                    load[1] += int(memory[step.offer.task])
        compute, room = self.public.compute.tolist(), self.public.memory_mb.tolist()
        largest: tuple[Fraction, Cell | None] = Fraction(0), None
        for cell in sorted(loads, key=lambda cell: (cell[1], cell[0])):
            g = types[cell[0]]
            share = max(Fraction(loads[cell][0], compute[g]), Fraction(loads[cell][1], room[g]))
            if share > largest[0]:
                largest = share, cell
        return largest

    @cached_property
    def printed_dual(self) -> Fraction:
        """D^I: sum mu_i + sum C_kp lambda_kt + sum (C_km - r_b) phi_kt at the final prices, micro-dollars."""
        if self.trace is None:
            return Fraction(0)
        compute, memory = (
            capacity[self.public.type_of_node].tolist() for capacity in (self.public.compute, self.public.memory_mb)
        )
        total = sum((Fraction(step.offer.value or 0) for step in self.steps if positive(step.offer)), Fraction(0))
        total += sum(compute[k] * Fraction(price) for (k, _), price in self.trace.lam.items())
        total += sum(memory[k] * Fraction(price) for (k, _), price in self.trace.phi.items())
        return Fraction(total)

    @property
    def used(self) -> tuple[Fraction, Fraction]:
        """The alpha and beta of the run, in its units; the instance's own where there is no trace."""
        if self.trace is None:
            return self.known.alpha, self.known.beta
        return self.trace.money * self.trace.alpha, self.trace.money * self.trace.beta / self.trace.memory

    def figures(self) -> Figures:
        """What is shown in every case."""
        known, welfare = self.known, self.run.welfare
        ratio = [Fraction(end, welfare) if welfare > 0 else None for end in (self.lower, self.upper)]
        if welfare == 0 == self.upper:
            ratio = [Fraction(1), Fraction(1)]
        unbounded = "unbounded" if welfare <= 0 < self.lower else None
        alpha_used, beta_used = self.used
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

    def problem(self) -> str:
        """Why no claim of the theory applies; empty if nothing stands against it."""
        if self.trace is None:
            return f"{ANOTHER}pdFTSP"
        if not self.run.valid:
            return "the run is not valid"
        if self.known.scheduled == 0:
            return "no task has a schedule"
        return ""

    def negative(self) -> str:
        """Why a claim for costs >= 0 does not apply."""
        return "" if self.known.negative is None else f"negative cost (task {self.known.negative})"

    def no_maximiser(self) -> str:
        """Why the proofs of 5' do not cover the run although the setting is right."""
        if self.trace is not None and self.trace.search != "exact":
            return "the proof needs a maximiser of (9); search=printed is none"
        return ""

    def half_printed(self) -> str:
        """Whether prices moved otherwise than line 7 says."""
        if self.trace is not None and self.trace.updates != "all":
            return "prices moved on admission only; line 7 moves them for every F > 0"
        return ""

    @property
    def basis(self) -> str:
        """The schedules over which rho is taken: minimal, or observed where a minimal b_il is not positive."""
        return "minimal" if self.known.unprofitable is None else "observed"

    @property
    def rho(self) -> Fraction | None:
        """rho of Lemma 3 over the schedules of the basis; None where it is undefined."""
        known, seen = self.known, self.seen
        if self.basis == "minimal":
            return 1 + known.bbar_max / known.bbar_min * known.spread if known.scheduled else None
        return 1 + seen.bbar_max / seen.bbar_min * known.spread if seen is not None and seen.positive else None

    def rhos(self) -> Figures:
        """rho over minimal, over observed and over all schedules, wasteful ones included."""
        known, seen = self.known, self.seen
        observed_rho = every = None
        if seen is not None and seen.positive:
            observed_rho = 1 + seen.bbar_max / seen.bbar_min * known.spread
        if self.trace is not None:
            every = every_bbar(self.instance, self.trace.money, self.trace.memory)
        return {
            "rho": self.rho,
            "rho_minimal": self.rho if self.basis == "minimal" else None,
            "rho_observed": observed_rho,
            "rho_all_covers": 1 + every[1] / every[0] * known.spread if every and every[0] > 0 else None,
            "bbar_min_all_covers": every[0] if every else None,
            "bbar_max_all_covers": every[1] if every else None,
            "basis": self.basis,
        }

    @property
    def rho_l(self) -> Fraction | None:
        """1 + L_max (bbar_max / bbar_min) (s_max + r_max) / (s_min + r_min) of the run; None without prices."""
        known, seen = self.known, self.seen
        if seen is None:
            return None
        if not (seen.positive and seen.admitted_bbar_min > 0):
            return Fraction(1)
        sizes = (known.s_max + known.r_max) / (known.s_min + known.r_min)
        return 1 + seen.longest * seen.bbar_max / seen.admitted_bbar_min * sizes

    def outside_theorem5(self) -> str:
        """Why Lemma 3 and Theorem 5, as printed, do not speak of the run."""
        problem = self.problem() or self.negative() or self.half_printed() or self.foreign_constants(smaller=False)
        if problem or self.seen is None:
            return problem
        if self.rho is None:
            return f"rho undefined: task {self.known.unprofitable} has a minimal b_il <= 0, and no schedule has F > 0"
        least = self.known.bbar_min if self.basis == "minimal" else self.seen.bbar_min
        return "" if least >= 1 else f"bbar >= 1 fails: least bbar over {self.basis} schedules is {decimal(least)}"

    def outside_selected(self) -> str:
        """Why the proofs that need bbar >= 1 on the selected schedules only do not cover the run."""
        problem = self.problem() or self.negative() or self.half_printed() or self.foreign_constants(smaller=True)
        return problem or self.small_bbar()

    def small_bbar(self) -> str:
        """Whether a schedule with F > 0 has bbar < 1."""
        if self.seen is not None and self.seen.positive and self.seen.bbar_min < 1:
            return f"bbar >= 1 fails on a selected schedule: {decimal(self.seen.bbar_min)}"
        return ""

    def foreign_constants(self, *, smaller: bool) -> str:
        """Whether alpha or beta is not (or, with `smaller`, below) max b/M, max b/r of this instance."""
        for name, used, own in zip(("alpha", "beta"), self.used, (self.known.alpha, self.known.beta), strict=True):
            if used < own or (used != own and not smaller):
                return f"{name} is not this instance's: {decimal(used)} was used, {decimal(own)} is"
        return ""

    def decide(
        self,
        name: str,
        left: Fraction | int | None,
        right: Fraction | int | None,
        reason: str,
        *,
        problem: str = "",
        witness: Mapping[str, Any] | None = None,
        figures: Figures | None = None,
        scale: Fraction | int | None = None,
    ) -> Check:
        """The check of left <= right, both exact; sides that are None say that nothing stands against the claim.

        Parameters
        ----------
        problem : why the claim does not apply; empty if it does.
        witness : shown where the claim is violated.
        scale : size of the terms behind the sides, for rounding in float runs; 0 where the sides are counted. By
            default the sides themselves.
        """
        sides = None if left is None else Fraction(left), None if right is None else Fraction(right)
        shown = figures or {}
        if problem:
            return Check(name, Verdict.NOT_APPLICABLE, *sides, problem, None, shown)
        first, second = (side or Fraction(0) for side in sides)
        if sides == (None, None):
            scale = 0
        doubt = self._doubt(first, second, abs(first) + abs(second) if scale is None else scale)
        if doubt:
            return Check(name, Verdict.UNDECIDED, *sides, doubt, None, shown)
        violated = None not in sides and first > second
        verdict = Verdict.VIOLATED if violated else Verdict.HOLDS
        return Check(name, verdict, *sides, reason, witness if violated else None, shown)

    def undecided(self, name: str, reason: str, figures: Figures | None = None) -> Check:
        """The check of a claim that was not followed to its end."""
        doubt = self._doubt(Fraction(0), Fraction(0), 0)
        return Check(name, Verdict.UNDECIDED, None, None, doubt or reason, None, figures or {})

    def bounded(self, name: str, claim: str, bound: Fraction) -> Check:
        """The check of OPT <= bound, with the interval on OPT."""
        if self.lower <= bound < self.upper:
            reason = f"{claim}: the interval on OPT straddles the bound"
            check = self.undecided(name, reason, self.figures())
            return replace(check, left=Fraction(self.upper), right=bound)
        side = self.lower if self.lower > bound else self.upper
        witness = {"opt_lower": self.lower, "bound": str(bound)}
        return self.decide(name, side, bound, claim, witness=witness, figures=self.figures())

    def settle(
        self, name: str, claim: str, welfare: Exact, factor: Fraction | None, problem: str, figures: Figures
    ) -> Check:
        """The check of OPT <= factor * welfare; `problem` says why the claim does not apply."""
        if problem or factor is None:
            left = figures["ratio_upper"]
            left = left if isinstance(left, Fraction) else None
            right = None if self.trace is None else factor  # a bound on pdFTSP says nothing of others
            return Check(name, Verdict.NOT_APPLICABLE, left, right, problem, None, figures)
        bound = factor * welfare
        verdict = Verdict.HOLDS if self.upper <= bound else Verdict.UNDECIDED
        if self.lower > bound:
            verdict = Verdict.VIOLATED
        side = self.lower if verdict is Verdict.VIOLATED else self.upper
        if welfare > 0:
            left = Fraction(side, welfare)
        else:
            left = Fraction(1) if side == 0 == welfare else None
        reason = claim
        if verdict is Verdict.UNDECIDED:
            reason = f"{claim}: the interval on OPT straddles the bound"
        elif left is None:
            reason = f"{claim}: the algorithm's side is {welfare}, the ratio is unbounded"
        doubt = self._doubt(Fraction(side), bound, side + bound)
        if doubt and verdict is not Verdict.UNDECIDED:
            verdict, reason = Verdict.UNDECIDED, doubt
        witness = {"opt_lower": self.lower, "welfare": welfare} if verdict is Verdict.VIOLATED else None
        return Check(name, verdict, left, factor, reason, witness, figures)

    def _doubt(self, left: Fraction, right: Fraction, scale: Fraction | int) -> str:
        """Why a run in doubles may have decided otherwise than the algorithm that the theorem is about."""
        if self.trace is None or self.trace.exact or self.seen is None:
            return ""
        if self.seen.doubtful is not None:
            return f"float prices: F of task {self.seen.doubtful} is within rounding of 0"
        if scale and abs(left - right) <= Fraction(ROUNDING) * scale:
            return "float prices: the two sides are closer than rounding"
        return ""


def decimal(value: Fraction) -> str:
    return f"{float(value):.6g}"
