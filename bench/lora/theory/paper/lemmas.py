"""Lemmas 1 to 3 of the main paper, and Lemma 3 repaired, on one run."""

from __future__ import annotations

from fractions import Fraction

from ratiobench.bench.family.checks import Check
from ratiobench.bench.lora.theory.basis.assumptions import (
    explain_foreign_constants,
    explain_negative_cost,
    explain_outside_lemma3,
    explain_outside_paper,
    explain_outside_selected,
    explain_small_bbar,
)
from ratiobench.bench.lora.theory.basis.case import Case, Figures
from ratiobench.bench.lora.theory.basis.verdicts import compare


def lemma1(case: Case) -> Check:
    """D^I <= (1 + A) P~."""
    claim = "D^I <= (1+A) P~"
    assert case.observations is not None
    almost = case.observations.almost_feasible
    bound = (1 + max(case.alpha_beta)) * almost
    figures: Figures = {"d_printed": case.printed_dual, "almost_feasible_welfare": almost, "A": max(case.alpha_beta)}
    witness = {"d_printed": str(case.printed_dual), "almost_feasible_welfare": almost}
    return compare(case, "lemma1", case.printed_dual, bound, claim, witness=witness, figures=figures)


def lemma2(case: Case) -> Check:
    """F <= 0 for every selected schedule that uses a cell whose virtual load has reached a capacity."""
    claim = "F <= 0 for a schedule on a full cell"
    problem = (
        explain_outside_paper(case)
        or explain_negative_cost(case)
        or explain_foreign_constants(case, smaller=True)
        or explain_small_bbar(case)
    )
    full = [step for step in case.steps if step.full is not None]
    worst = max(full, key=lambda step: Fraction(step.offer.value or 0), default=None)
    figures: Figures = {"offers_on_full_cells": len(full)}
    if worst is None or worst.full is None:
        return compare(case, "lemma2", None, None, f"{claim}; no offer uses one", problem=problem, figures=figures)
    value = Fraction(worst.offer.value or 0)
    witness = {
        "task": worst.offer.task,
        "schedule": [list(cell) for cell in worst.offer.cells],
        "cell": list(worst.full),
        "F": str(value),
    }
    scale = int(case.instance.bid[worst.offer.task])
    return compare(case, "lemma2", value, 0, claim, problem=problem, witness=witness, figures=figures, scale=scale)


def _lemma3(case: Case, name: str, claim: str, factor: Fraction | None, problem: str, figures: Figures) -> Check:
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
    return compare(case, name, almost, bound, claim, problem=problem, witness=witness, figures=figures)


def lemma3(case: Case) -> Check:
    """P~ <= rho P."""
    return _lemma3(case, "lemma3", "P~ <= rho P", case.rho, explain_outside_lemma3(case), case.rhos())


def lemma3_repaired(case: Case) -> Check:
    """P~ <= rho_L P."""
    figures: Figures = {"rho_L": case.rho_l}
    return _lemma3(case, "lemma3_repaired", "P~ <= rho_L P", case.rho_l, explain_outside_selected(case), figures)
