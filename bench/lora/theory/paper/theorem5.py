"""Theorem 5 of the main paper, Lemmas 1 to 3 of its proof, and their repaired forms on one run, in fractions.

The paper claims OPT <= rho (1 + max{alpha, beta}) ALG without an assumption: the check compares both sides, and
`Check.failing` names the assumptions of its proof that fail. What is provable (5'): OPT <= kappa (1 + A) P~ always, and
P~ <= rho_L P if bbar >= 1 on the selected schedules. docs/theory/paper.md has the proofs.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from ratiobench.bench.family.checks import Check
from ratiobench.bench.lora.theory.basis import verdicts
from ratiobench.bench.lora.theory.basis.case import Case, Figures


def theorem5(case: Case) -> Check:
    """OPT <= rho (1 + max{alpha, beta}) ALG, and the assumptions of its proof that fail on the run."""
    bound = case.theorem5_bound
    figures: Figures = {**case.figures(), **case.rhos(), "bound": bound}
    claim = f"OPT/ALG <= rho(1+max{{alpha,beta}}), rho over {case.basis} schedules"
    problem = verdicts.explain_not_printed(case)
    check = verdicts.compare_ratio(case, claim, case.run.welfare, bound, problem, figures)
    if problem:
        return check
    failing = verdicts.find_failing_assumptions(case)
    why = [f"{name} fails, which its proof assumes ({detail})" for name, detail in failing.items()]
    why = why or ["the assumptions of its proof hold"]
    return replace(check, reason="; ".join([check.reason, *why]), failing=list(failing))


def theorem5_repaired(case: Case) -> Check:
    known, rho_l = case.facts, case.rho_l
    bound = None if rho_l is None else known.kappa * rho_l * (1 + max(case.alpha_beta))
    problem = (
        verdicts.explain_outside_paper(case)
        or verdicts.explain_negative_cost(case)
        or verdicts.explain_no_maximiser(case)
        or verdicts.explain_outside_selected(case)
    )
    figures: Figures = {**case.figures(), "rho_L": rho_l, "bound": bound}
    return verdicts.compare_ratio(case, "OPT/ALG <= kappa rho_L (1+A)", case.run.welfare, bound, problem, figures)


def theorem5_repaired_a(case: Case) -> Check:
    # With negative costs (a) still holds, with kappa over all covers.
    problem = verdicts.explain_outside_dual(case)
    bound = case.facts.kappa * (1 + max(case.alpha_beta))
    almost = case.observations.almost_feasible if case.observations is not None else 0
    figures: Figures = {**case.figures(), "almost_feasible_welfare": almost, "bound": bound}
    return verdicts.compare_ratio(case, "OPT/P~ <= kappa (1+A)", almost, bound, problem, figures)


def lemma1(case: Case) -> Check:
    claim = "D^I <= (1+A) P~"
    assert case.observations is not None
    almost = case.observations.almost_feasible
    bound = (1 + max(case.alpha_beta)) * almost
    figures: Figures = {"d_printed": case.printed_dual, "almost_feasible_welfare": almost, "A": max(case.alpha_beta)}
    witness = {"d_printed": str(case.printed_dual), "almost_feasible_welfare": almost}
    return verdicts.compare(case, case.printed_dual, bound, claim, witness=witness, figures=figures)


def lemma2(case: Case) -> Check:
    """F <= 0 for every selected schedule that uses a cell whose virtual load has reached a capacity."""
    claim = "F <= 0 for a schedule on a full cell"
    problem = (
        verdicts.explain_outside_paper(case)
        or verdicts.explain_negative_cost(case)
        or verdicts.explain_foreign_constants(case, or_larger=True)
        or verdicts.explain_small_bbar(case)
    )
    full = [step for step in case.steps if step.full is not None]
    worst = max(full, key=lambda step: Fraction(step.offer.value or 0), default=None)
    figures: Figures = {"offers_on_full_cells": len(full)}
    if worst is None or worst.full is None:
        return verdicts.compare(case, None, None, f"{claim}; no offer uses one", problem=problem, figures=figures)
    value = Fraction(worst.offer.value or 0)
    witness = {
        "task": worst.offer.task,
        "schedule": [list(cell) for cell in worst.offer.cells],
        "cell": list(worst.full),
        "F": str(value),
    }
    scale = int(case.instance.bid[worst.offer.task])
    return verdicts.compare(case, value, 0, claim, problem=problem, witness=witness, figures=figures, scale=scale)


def _lemma3(case: Case, claim: str, factor: Fraction | None, problem: str, figures: Figures) -> Check:
    almost = case.observations.almost_feasible if case.observations is not None else None
    welfare = case.run.welfare
    figures = {"almost_feasible_welfare": almost, "welfare": welfare, "dropped": len(case.dropped_steps), **figures}
    bound = None if factor is None else factor * welfare
    witness = None
    if case.dropped_steps:
        first = case.dropped_steps[0]
        witness = {
            "task": first.offer.task,
            "schedule": [list(cell) for cell in first.offer.cells],
            "cell": None if first.misfit is None else list(first.misfit),
            "dropped": [step.offer.task for step in case.dropped_steps],
        }
    if problem:
        almost = bound = None
    return verdicts.compare(case, almost, bound, claim, problem=problem, witness=witness, figures=figures)


def lemma3(case: Case) -> Check:
    return _lemma3(case, "P~ <= rho P", case.rho, verdicts.explain_outside_lemma3(case), case.rhos())


def lemma3_repaired(case: Case) -> Check:
    figures: Figures = {"rho_L": case.rho_l}
    return _lemma3(case, "P~ <= rho_L P", case.rho_l, verdicts.explain_outside_selected(case), figures)
