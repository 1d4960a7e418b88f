"""A run on a small instance of problem P, task by task: schedules, prices, reduced cost, decision, payment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from ratiobench.bench.family.capabilities import Explainer
from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.family.explanation import Conclusion, Explanation, Figure, Grid, Listing, Moment, Sentence, Square
from ratiobench.bench.lora.counterexamples import tiny
from ratiobench.bench.lora.gantt import find_stretches
from ratiobench.bench.lora.theory.basis.facts import find_facts, find_outlay
from ratiobench.bench.lora.theory.claims import CLAIMS, audit
from ratiobench.bench.theory.claim import find_claim
from ratiobench.formulations.report import SolveReport
from ratiobench.instances.lora.format import content_hash
from ratiobench.instances.lora.model import Instance, IntArray, Task
from ratiobench.instances.lora.solution import Decision, Solution
from ratiobench.online.lora.posted_prices import PostedCell, PostedTrace
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.registry import REGISTRY
from ratiobench.online.lora.simulator import Simulator
from ratiobench.online.lora.traces import Cell, GreedyTrace, LinearTrace, Offer, PriceTrace
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.referee.simulator import decisions_of, run_in_process

_WORTH = "b_il is the worth of a schedule: the bid less the vendor's price and the cost of operation."
_LARGEST = (
    "F = b_il - S max lambda - R max phi (9): S samples and R MB times slots, at the largest prices on the schedule."
)
_OWN = "F' = b_il - sum (lambda s + phi r): every cell at its own price."
_POSTED = (
    "Each cell has a price that does not depend on the bid. A schedule costs its cells, its vendor and its operation; "
    "the task gets the cheapest one if its bid is above that cost."
)
_GUARDED = (
    "The guard of Theorem H keeps each price between L, the least price at which the remaining capacity may be sold, "
    "and c w, the cell's credit times the task's weight (L if it is larger, for a task of no announced class); "
    "a sale at price P raises c by beta P / K."
)
_MARKS = (
    "lambda: price of a sample, phi: of a MB, micro-dollars; moved by: the tasks that raised them. The marked row "
    "and squares are the schedule that the algorithm found."
)
# How prices move, by the kind of trace
_RULES = {
    PriceTrace: "A task raises lambda to lambda (1 + d) + alpha bbar d and phi to phi (1 + d) + beta bbar d, (7) and "
    "(8): d is the share that it takes, s of C_p or r of C_m - r_b.",
    LinearTrace: "An admitted task raises lambda to lambda (1 + B d) + eta_c v d, and phi likewise with eta_m: d is "
    "the share that it takes, s of C_p or r of C_m - r_b; eta_c, eta_m and v are the scales of the mechanism.",
}
# Claims OPT <= bound times something, and the figure of their check that this is
_RATIOS = {"theorem5": "welfare", "theorem5_repaired": "welfare", "theorem5_repaired_a": "almost_feasible_welfare"}
_OUTLAYS = ("no_deficit", "provider_deficit")  # Claims that a payment covers what a task costs
# The proof of Theorem 5 as a chain of inequalities, each with the check that asks it
_CHAIN = {
    "weak_duality": "OPT <= D^I (the last step of (16))",
    "lemma1": "D^I <= (1 + A) P~ (Lemma 1)",
    "lemma3": "P~ <= rho ALG (Lemma 3)",
}
ALL = 12  # Minimal schedules up to which all are listed
BEST = 6  # Schedules that are listed where there are more
MOVES = 12  # Groups of cells that moved alike up to which all are listed
WIDE = 12  # Slots up to which grids of a moment have all of them; above, those of the task's window


class Prices(NamedTuple):
    """lambda and phi of the cells where they are not 0, micro-dollars per sample and per MB."""

    lam: dict[Cell, Fraction]
    phi: dict[Cell, Fraction]


def take_prices(lam: Mapping[Cell, Fraction | float], phi: Mapping[Cell, Fraction | float]) -> Prices:
    return Prices(*({cell: Fraction(x) for cell, x in of.items() if x} for of in (lam, phi)))


@dataclass(frozen=True, slots=True)
class Plan:
    """A schedule: index of the option, cells in slot order, S in samples, R in MB times slots, b_il."""

    option: int
    cells: tuple[Cell, ...]
    work: int
    use: int
    net: int


@dataclass(frozen=True, slots=True)
class Pricing:
    """How an algorithm prices schedules: at the largest prices on them (9), or each cell at its own."""

    prices: Prices
    largest: bool
    rates: Mapping[int, int]
    memory: int

    def tops(self, plan: Plan) -> tuple[Fraction, Fraction]:
        lam, phi = (max(of.get(cell, Fraction(0)) for cell in plan.cells) for of in self.prices)
        return lam, phi

    def paid(self, plan: Plan) -> Fraction:
        if self.largest:
            lam, phi = self.tops(plan)
            return lam * plan.work + phi * plan.use
        (lam_of, phi_of), zero = self.prices, Fraction(0)
        paid = (lam_of.get(c, zero) * self.rates[c[0]] + phi_of.get(c, zero) * self.memory for c in plan.cells)
        return sum(paid, zero)

    def value(self, plan: Plan) -> Fraction:
        """F (9), or F'."""
        return plan.net - self.paid(plan)


def name_cells(cells: Sequence[Cell]) -> str:
    """A schedule in words: `node 0: slots 1-3, 5; node 2: slot 4`."""
    parts = []
    for k in dict.fromkeys(k for k, _ in cells):
        runs = find_stretches(cell for cell in cells if cell[0] == k)
        text = ", ".join(f"{a}" if a == b else f"{a}-{b}" for _, a, b in runs)
        parts.append(f"node {k}: slot{'s' * (len(text) > 1 and not text.isdecimal())} {text}")
    return "; ".join(parts)


def explain(instance: Instance, run: OnlineRun, reference: SolveReport, check: Check) -> Explanation:
    story = _Story(instance, run)
    opt: Sentence = ["OPT = ", reference.upper]
    if reference.lower != reference.upper:
        opt = ["OPT in [", reference.lower, ", ", reference.upper, "]"]
    best = "".join(map(str, opt)) + ("" if reference.lower == reference.upper else ": the best solution that was found")
    outcome = [_placed(instance, run.decisions, f"ALG = {run.welfare}"), _placed(instance, reference.solution, best)]
    return Explanation(
        instance=instance.name,
        about=str(instance.origin.get("about", "")),
        algorithm=run.label,
        result=[*opt, ", ALG = ", run.welfare, " micro-dollars"],
        tables=[_tasks(instance), _nodes(instance)],
        remarks=story.remarks(),
        moments=list(story.moments()),
        outcome=outcome,
        ending=make_conclusion(instance, run, reference, check),
    )


def _tasks(instance: Instance) -> Listing:
    names = [node.name for node in instance.node_types]
    head = ["task", "arrival", "deadline", "work", "memory MB", "bid"]
    head += ["rate"] if len(names) == 1 else [f"rate on {name}" for name in names]
    valued = bool((instance.valuation != instance.bid).any())
    with_vendors = any(instance.vendors(i) for i in range(instance.tasks))
    costly = any(instance.cost(i).any() for i in range(instance.tasks))
    head += ["valuation"] * valued + ["vendors (price, delay)"] * with_vendors + ["cost of a cell"] * costly
    rows = []
    for i, task in enumerate(map(instance.task, range(instance.tasks))):
        row: list[Figure] = [i, task.arrival, task.deadline, task.work, task.memory_mb, task.bid, *task.rate.tolist()]
        if valued:
            row.append(int(instance.valuation[i]))
        if with_vendors:
            row.append("; ".join(f"{vendor.price}, {vendor.delay}" for vendor in task.vendors) or "-")
        if costly:
            row.append(_range_text(task.cost))
        rows.append(row)
    return Listing("Tasks", head, rows)


def _nodes(instance: Instance) -> Listing:
    head = ["nodes", "number", "compute, samples a slot", "memory for tasks, MB", "energy, micro-dollars a Wh"]
    rows: list[list[Figure]] = [
        [node.name, node.count, node.compute, node.memory_mb - instance.base_memory_mb, _range_text(node.tariff)]
        for node in instance.node_types
    ]
    return Listing("Nodes", head, rows)


def _range_text(values: IntArray) -> str:
    low, high = values.min(), values.max()
    return str(low) if low == high else f"{low} to {high}"


def _placed(instance: Instance, solution: Solution, title: str) -> Grid:
    held: dict[Cell, list[int]] = {}
    for i, decision in enumerate(solution):
        for cell in () if decision is None else decision.cells:
            held.setdefault(cell, []).append(i)
    rows = []
    for k in range(instance.nodes):
        here = [held.get((k, t), []) for t in range(1, instance.slots + 1)]
        rows.append((str(k), [Square(" ".join(map(str, each)), each[0]) if each else Square() for each in here]))
    return Grid(title, "node", [str(t) for t in range(1, instance.slots + 1)], rows)


class _Story:
    """The run so far: what is free on each cell, and which tasks moved its prices."""

    def __init__(self, instance: Instance, run: OnlineRun) -> None:
        self.instance, self.run, self.prices = instance, run, replay_prices(instance, run)
        self.sketch = tiny.tiny_instance_of(instance)
        self.kinds = [g for g, node in enumerate(instance.node_types) for _ in range(node.count)]
        types, base = instance.node_types, instance.base_memory_mb
        self.free = {
            (k, t): [types[g].compute, types[g].memory_mb - base]
            for k, g in enumerate(self.kinds)
            for t in range(1, instance.slots + 1)
        }
        self.movers: dict[Cell, list[int]] = {}

    def remarks(self) -> list[Sentence]:
        trace = self.run.trace
        if isinstance(trace, PriceTrace):
            lines = [f"{_WORTH} {_LARGEST}"]
        elif isinstance(trace, LinearTrace):
            lines = [f"{_WORTH} {_OWN}"]
        elif isinstance(trace, PostedTrace):
            lines = [f"{_WORTH} {_POSTED}", *([_GUARDED] if trace.announced else [])]
        else:
            lines = [f"The algorithm shows no prices: room, decision and payment are what can be seen of it. {_WORTH}"]
        if self.prices is not None:
            lines += [_MARKS, _RULES[type(trace)]]
        lines += [f"INVALID: {violation}" for violation in self.run.violations]
        known: list[int | Fraction | str] = []
        for constant in self.run.constants:
            lead = ", " if known else "Constants: "
            known += [f"{lead}{constant.name} = ", constant.value, f" ({constant.source})"]
        return [*([each] for each in lines), *([known] if known else [])]

    def moments(self) -> Iterator[Moment]:
        for i, decision in enumerate(self.run.decisions):
            task = self.instance.task(i)
            yield replace(self._moment(task, decision), after=list(self._moves(i)))
            for k, t in () if decision is None else decision.cells:
                self.free[k, t][0] -= int(task.rate[self.kinds[k]])
                self.free[k, t][1] -= task.memory_mb

    def _moves(self, i: int) -> Iterator[Sentence]:
        """The changes of prices by task i."""
        if self.prices is None or i >= len(self.prices):
            return
        before, trace = self.prices[i], self.run.trace
        after = self.prices[i + 1] if i + 1 < len(self.prices) else take_prices(trace.lam, trace.phi)
        moved: dict[tuple[Fraction, ...], list[Cell]] = {}
        for cell in sorted({cell for prices in (*before, *after) for cell in prices}):
            ends = tuple(prices.get(cell, Fraction(0)) for prices in (before.lam, after.lam, before.phi, after.phi))
            if ends[0] != ends[1] or ends[2] != ends[3]:
                moved.setdefault(ends, []).append(cell)
                self.movers.setdefault(cell, []).append(i)
        for (lam, to_lam, phi, to_phi), cells in list(moved.items())[:MOVES]:
            lines: Sentence = [f"Changes prices on {name_cells(cells)}: lambda from ", lam, " to ", to_lam]
            yield [*lines, ", phi from ", phi, " to ", to_phi, "."]
        if len(moved) > MOVES:
            yield [f"Changes prices on {sum(map(len, list(moved.values())[MOVES:]))} more cells."]

    def _moment(self, task: Task, decision: Decision | None) -> Moment:
        offered = self._offered(task)
        chosen = None
        if offered is not None and offered.value is not None:
            chosen = self._plan(task, offered.option, offered.cells)
        elif decision is not None:
            chosen = self._plan(task, decision.vendor or 0, decision.cells)
        rates = {k: int(task.rate[g]) for k, g in enumerate(self.kinds)}
        plans = self._plans(task)
        pricing = None
        if self.prices is not None and task.index < len(self.prices):
            largest = isinstance(self.run.trace, PriceTrace)
            pricing = Pricing(self.prices[task.index], largest, rates, task.memory_mb)
        listing, notes = self._candidates(task, plans, chosen, pricing)
        return Moment(
            heading=f"Task {task.index} arrives in slot {task.arrival}",
            said=[f"work {task.work} by slot {task.deadline}, memory {task.memory_mb} MB, bid {task.bid}"],
            grids=[self._grid(task, chosen, pricing)],
            candidates=listing,
            notes=[*notes, *self._posted(task, offered)],
            decision=self._decision(task, decision, offered, chosen, plans),
        )

    def _plan(self, task: Task, option: int, cells: Sequence[Cell]) -> Plan:
        work = sum(int(task.rate[self.kinds[k]]) for k, _ in cells)
        spent = sum(int(task.cost[self.kinds[k], t - 1]) for k, t in cells)
        net = task.bid - task.options[option].price - spent
        return Plan(option, tuple(cells), work, task.memory_mb * len(cells), net)

    def _plans(self, task: Task) -> list[Plan] | None:
        """Every minimal schedule of the task (all if a cost is negative); None if there are too many."""
        try:
            plans, slots = tiny.menu(self.sketch, self.sketch.jobs[task.index]).plans, self.sketch.slots
        except tiny.TinyLimitExceeded:
            return None
        return [self._plan(task, plan.option, [(c // slots, c % slots + 1) for c in plan.cells]) for plan in plans]

    def _candidates(
        self, task: Task, plans: Sequence[Plan] | None, chosen: Plan | None, pricing: Pricing | None
    ) -> tuple[Listing | None, list[Sentence]]:
        """The table of the best schedules, always with the chosen one."""
        every = list(plans or ())
        if chosen is not None and chosen not in every:
            every.append(chosen)
        if not every:
            return None, []
        rank = (lambda plan: -plan.net) if pricing is None else (lambda plan: -pricing.value(plan))
        ordered = sorted(every, key=rank)
        listed = ordered if len(ordered) <= ALL else ordered[:BEST]
        if chosen is not None and chosen not in listed:
            listed.append(chosen)
        notes: list[Sentence] = []
        if plans is None:
            notes.append([f"There are more than {tiny.PLAN_LIMIT} ways to place it; the one that was found is shown."])
        elif len(listed) < len(ordered):
            notes.append([f"{len(ordered)} minimal schedules; the best {BEST} are shown, and the one that was found."])
        rows = [self._row(task, plan, pricing) for plan in listed]
        place = None if chosen is None else listed.index(chosen)
        return Listing("Schedules", list(rows[0]), [list(row.values()) for row in rows], place), notes

    def _row(self, task: Task, plan: Plan, pricing: Pricing | None) -> dict[str, Figure]:
        row: dict[str, Figure] = {"schedule": name_cells(plan.cells)}
        if task.vendors:
            row["vendor"] = str(plan.option)
        row["b_il"] = plan.net
        if pricing is None:
            row |= {"S": plan.work, "R": plan.use}
        elif pricing.largest:
            lam, phi = pricing.tops(plan)
            row |= {"S": plan.work, "max lambda": lam, "R": plan.use, "max phi": phi, "F": pricing.value(plan)}
        else:
            row |= {"at its prices": pricing.paid(plan), "F'": pricing.value(plan)}
        return row | {"room": self._full(task, plan) or "yes"}

    def _offered(self, task: Task) -> Offer | None:
        """What a price mechanism, or greedy, computed for the task."""
        trace = self.run.trace
        if isinstance(trace, PriceTrace | LinearTrace) and task.index < len(trace.offers):
            return trace.offers[task.index]
        if isinstance(trace, GreedyTrace | PostedTrace) and task.index < len(trace.offers):
            found = trace.offers[task.index]
            if found is None:
                return Offer(task.index, None)
            value = Fraction(task.bid - found.cost)
            return Offer(task.index, value, found.option, found.cells, admitted=found.admitted, payment=found.payment)
        return None

    def _posted(self, task: Task, offer: Offer | None) -> Iterator[Sentence]:
        """The price of each cell of the offered schedule, what was wished for, and the guard's limits."""
        trace = self.run.trace
        if not isinstance(trace, PostedTrace) or offer is None or task.index >= len(trace.posted):
            return
        alike: dict[PostedCell, list[Cell]] = {}
        for cell, each in zip(offer.cells, trace.posted[task.index], strict=True):
            alike.setdefault(each, []).append(cell)
        for each, cells in list(alike.items())[:MOVES]:
            lines: Sentence = [f"Price on {name_cells(cells)}: ", each.price]
            if each.least is not None and each.most is not None:
                lines = [*lines, " (wished for: ", each.wish, "; L = ", each.least, ", c w = ", each.most, ")"]
            yield [*lines, "."]

    def _full(self, task: Task, plan: Plan) -> str:
        """Why a schedule does not fit; empty if it does."""
        for k, t in plan.cells:
            compute, memory = self.free[k, t]
            if int(task.rate[self.kinds[k]]) > compute or task.memory_mb > memory:
                return f"no room on node {k} in slot {t}"
        return ""

    def _grid(self, task: Task, chosen: Plan | None, pricing: Pricing | None) -> Grid:
        """Prices, of the nodes that have some, else the free capacity."""
        slots = range(1, self.instance.slots + 1)
        if len(slots) > WIDE:
            slots = range(task.arrival, task.deadline + 1)
        taken = set(chosen.cells) if chosen else set()
        priced = pricing is not None and any(pricing.prices)
        rows: list[tuple[str, Sequence[Square]]] = []
        for k in range(self.instance.nodes):
            here = [(k, t) for t in slots]
            if pricing is not None and priced:
                lam, phi = pricing.prices
                if not any(cell in lam or cell in phi or cell in taken for cell in here):
                    continue
                tables: list[tuple[str, list[Figure]]] = [
                    ("lambda", [lam.get(c, Fraction(0)) for c in here]),
                    ("phi", [phi.get(c, Fraction(0)) for c in here]),
                ]
            else:
                tables = [("samples", [self.free[c][0] for c in here]), ("MB", [self.free[c][1] for c in here])]
            for name, values in tables:
                squares = [Square(value, None, cell in taken) for value, cell in zip(values, here, strict=True)]
                rows.append((f"{k} {name}", squares))
            movers = [" ".join(map(str, self.movers.get(c, ()))) or None for c in here]
            if any(movers):
                rows.append((f"{k} moved by", [Square(each) for each in movers]))
        title = "Prices that it meets" if priced else "Free capacity"
        if pricing is not None and not priced:
            title += "; all prices are 0"
        return Grid(title, "node", [str(t) for t in slots], rows)

    def _decision(
        self, task: Task, decision: Decision | None, offer: Offer | None, chosen: Plan | None, plans: list[Plan] | None
    ) -> Sentence:
        if offer is not None and offer.value is None:
            return ["No schedule " + ("has room" if plans else "does the work in time") + ": rejected."]
        if offer is None or offer.value is None or chosen is None:
            if decision is None:
                return ["Rejected." if self.run.valid else "Nothing is booked: rejected, or the run had ended."]
            return [f"Admitted: {name_cells(decision.cells)}; ", *_pays(decision, None)]
        value = Fraction(offer.value)
        if isinstance(self.run.trace, PriceTrace):
            return self._printed(offer, value, decision, chosen, task)
        cost = task.bid - value
        condition = "" if isinstance(self.run.trace, LinearTrace) and not self.run.trace.rule.tested else " with room"
        why: Sentence = [f"The cheapest schedule{condition} costs ", cost, ", the bid is ", task.bid]
        if decision is None:
            return [*why, ": rejected."]
        return [*why, ": admitted; ", *_pays(decision, offer)]

    def _printed(self, offer: Offer, value: Fraction, decision: Decision | None, chosen: Plan, task: Task) -> Sentence:
        """Lines 6 to 13 of Algorithm 1."""
        assert isinstance(self.run.trace, PriceTrace)
        if value <= 0:
            return ["F = ", value, " is not positive (line 6): rejected."]
        if decision is not None:
            return ["F = ", value, " > 0, and there is room (line 8): admitted; ", *_pays(decision, offer)]
        moved = "; prices move all the same (line 7)" if self.run.trace.updates == "all" else ""
        where = self._full(task, chosen)
        return ["F = ", value, f" > 0, but {where} (line 8): dropped{moved}." if where else " > 0: not booked."]


def _pays(decision: Decision, offer: Offer | None) -> Sentence:
    """What is charged, exactly, and as it is booked in whole micro-dollars."""
    if decision.payment is None:
        return ["it has no payment rule."]
    exact = None if offer is None or offer.payment is None else Fraction(offer.payment)
    if exact is None or exact == decision.payment:
        return ["pays ", decision.payment, "."]
    return ["pays ", exact, ", booked as ", decision.payment, "."]


class _Recorder:
    """An algorithm of ours, with its prices before each decision."""

    def __init__(self, algorithm: Any) -> None:
        self._algorithm = algorithm
        self.seen: list[Prices] = []

    def start(self, public: Any, constants: Any) -> None:
        self._algorithm.start(public, constants)

    def decide(self, task: Task, view: View) -> Decision | None:
        trace = self._algorithm.trace
        self.seen.append(take_prices(trace.lam, trace.phi))
        decision: Decision | None = self._algorithm.decide(task, view)
        return decision


def replay_prices(instance: Instance, run: OnlineRun) -> list[Prices] | None:
    """The prices that each task met; None for an algorithm that does not show them while it runs."""
    spec = REGISTRY.parse(run.algorithm)
    if spec.entry is None or not isinstance(run.trace, PriceTrace | LinearTrace):
        return None
    recorder = _Recorder(spec.entry.make(spec.entry.settle(dict(spec.options), instance.tasks)))
    constants = {constant.name: constant.value for constant in run.constants}
    log = run_in_process(Simulator(instance, content_hash(instance)), recorder, constants).log
    if tuple(decisions_of(log, instance.tasks)) != tuple(run.decisions):
        raise AssertionError(f"{run.algorithm} decides otherwise when it is played again")
    return recorder.seen


def make_conclusion(instance: Instance, run: OnlineRun, reference: SolveReport, check: Check) -> Conclusion:
    claim = find_claim(CLAIMS, check.name)
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
    """What the task of the witness costs its provider and what it pays, if the claim is about that."""
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
    """The figures of rho, if it is taken over the minimal schedules of the instance."""
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


EXPLAINER = Explainer(explain, "pdftsp", "theorem5", {"tasks": 30, "slots": 40, "nodes": 20})
