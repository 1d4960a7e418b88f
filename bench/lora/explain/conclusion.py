"""Both sides of a claim with the figures put in, and which step of the argument fails on this run."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.family.explanation import Conclusion, Sentence
from ratiobench.bench.lora.explain.candidates import name_cells
from ratiobench.bench.lora.theory.basis.facts import find_facts, find_outlay
from ratiobench.bench.lora.theory.claims import CLAIMS, audit
from ratiobench.formulations.report import SolveReport
from ratiobench.instances.lora.model import Instance
from ratiobench.online.outcome import OnlineRun

# Claims OPT <= bound times something, and the figure of their check that this is
_RATIOS = {"theorem5": "welfare", "theorem5_repaired": "welfare", "theorem5_repaired_a": "almost_feasible_welfare"}
_OUTLAYS = ("no_deficit", "provider_deficit")  # Claims that a payment covers what a task costs
# The proof of Theorem 5 as a chain of inequalities, each with the check that asks it
_CHAIN = {
    "weak_duality": "OPT <= D^I (the last step of (16))",
    "lemma1": "D^I <= (1 + A) P~ (Lemma 1)",
    "lemma3": "P~ <= rho ALG (Lemma 3)",
}


def make_conclusion(instance: Instance, run: OnlineRun, reference: SolveReport, check: Check) -> Conclusion:
    """What the claim says, its two sides on this run, and for a false one the step that fails."""
    claim = next(each for each in CLAIMS if each.name == check.name)
    steps: list[Sentence] = []
    if check.name == "theorem5" and check.status in (Verdict.HOLDS, Verdict.VIOLATED):
        steps += _chain(instance, run, reference, check)
    elif check.witness:
        steps += _money(instance, run, check)
        steps.append(["Witness: " + ", ".join(f"{key} {value}" for key, value in check.witness.items()) + "."])
    if claim.flaw:
        steps.append([f"Where the argument fails: {claim.flaw}"])
    if claim.repaired:
        steps.append([f"Repaired: {claim.repaired}."])
    return Conclusion(
        claim.name, claim.statement, claim.source, str(claim.standing), check.status, _sides(check), steps,
        check.failing,
    )  # fmt: skip


def _money(instance: Instance, run: OnlineRun, check: Check) -> list[Sentence]:
    """What the task of the witness costs its provider, and what it pays, where the claim is about that."""
    decision = run.decisions[int(check.witness["task"])] if check.name in _OUTLAYS and check.witness else None
    if decision is None or check.witness is None:
        return []
    i = int(check.witness["task"])
    price = 0 if decision.vendor is None else instance.vendors(i)[decision.vendor].price
    energy = find_outlay(instance, i, decision) - price
    paid = f"Task {i} pays {decision.payment or 0} micro-dollars"
    return [[f"{paid}; its vendor costs the provider {price}, its operation {energy}: {price + energy} together."]]


def _sides(check: Check) -> Sentence:
    if check.status is Verdict.NOT_APPLICABLE:
        return [check.reason]
    violated = check.status is Verdict.VIOLATED
    figures, of = check.figures, _RATIOS.get(check.name)
    if of is not None and check.status is not Verdict.UNDECIDED:
        known = [_number(figures, name) for name in ("opt_lower", "opt_upper", "bound", of)]
        if None not in known:
            lower, upper, bound, times = (each or Fraction(0) for each in known)
            opt = lower if violated else upper
            is_, sign = "=" if lower == upper else ">=" if violated else "<=", ">" if violated else "<="
            return [f"OPT {is_} ", opt, f" {sign} ", bound, " x ", times, " = ", bound * times]
    if check.left is None or check.right is None:
        return [check.reason]
    return [check.left, " > " if violated else " <= ", check.right, f" ({check.reason})"]


def _number(figures: Mapping[str, Fraction | int | str | None], name: str) -> Fraction | None:
    value = figures.get(name)
    return Fraction(value) if isinstance(value, int | Fraction) else None


def _rho(instance: Instance, check: Check) -> list[Sentence]:
    """The figures of rho, where it is taken over the minimal schedules of the instance."""
    figures = check.figures
    money, memory = _number(figures, "money_unit"), _number(figures, "memory_unit")
    if figures.get("basis") != "minimal" or money is None or memory is None:
        return []
    known = find_facts(instance, money, memory)
    if not known.scheduled:
        return []
    return [
        [
            "rho = 1 + (bbar_max / bbar_min) max{s_max / s_min, r_max / r_min} = 1 + (",
            *(known.bbar_max, " / ", known.bbar_min, ") max{", known.s_max, " / ", known.s_min, ", "),
            *(known.r_max, " / ", known.r_min, "} = ", 1 + known.bbar_max / known.bbar_min * known.spread, "."),
        ]
    ]


def _chain(instance: Instance, run: OnlineRun, reference: SolveReport, check: Check) -> list[Sentence]:
    figures = check.figures
    rho, alpha, beta = (_number(figures, name) or 0 for name in ("rho", "alpha", "beta"))
    steps: list[Sentence] = [
        ["The bound is rho (1 + max{alpha, beta}) = ", rho, " x (1 + max{", alpha, ", ", beta, "})."],
        *_rho(instance, check),
        ["Its proof is a chain, OPT <= D^I <= (1 + A) P~ <= (1 + A) rho ALG. Link by link on this run:"],
    ]
    found = {each.name: each for each in audit(instance, run, reference, {*_CHAIN, "lemma4"})}
    for name, words in _CHAIN.items():
        link = found[name]
        if link.left is not None and link.right is not None:
            sign = " > " if link.status is Verdict.VIOLATED else " <= "
            steps.append([f"{words}: ", link.left, sign, link.right, f", {link.status}."])
        else:
            steps.append([f"{words}: {link.status} ({link.reason})."])
    lemma4 = found["lemma4"]
    if lemma4.status is Verdict.VIOLATED and lemma4.witness:
        where = name_cells([(int(k), int(t)) for k, t in lemma4.witness["schedule"]])
        worth, mu = Fraction(lemma4.witness["linear_reduced_cost"]), Fraction(lemma4.witness["mu"])
        steps.append(
            ["The first link rests on Lemma 4, dual feasibility, which fails here: of task "
             f"{lemma4.witness['task']}, the schedule {where} keeps ", worth,
             " after the final prices of its cells, more than mu = ", mu, "."]
        )  # fmt: skip
    return steps
