"""The claims of the paper on one run, from their definitions: every schedule listed, every bid run. The slow twin."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from ratiobench.instances.lora import document, parse
from ratiobench.instances.lora.model import Instance, Public, Task
from tests.support.literal import Cells, Price, best_by_printed_table, figures, schedules

ZERO = Fraction(0)


class Served(NamedTuple):
    """What Algorithm 1 did with a task: F, schedule, whether there was room, admission; S, n, b_il, E."""

    value: Fraction
    option: int
    cells: Cells
    fits: bool
    admitted: bool
    work: int
    net: Fraction
    energy: int
    full: bool


@dataclass
class Twin:
    """A run of Algorithm 1 and what it left behind."""

    alpha: Fraction
    beta: Fraction
    served: list[Served | None] = field(default_factory=list)
    lam: dict[tuple[int, int], Fraction] = field(default_factory=dict)
    phi: dict[tuple[int, int], Fraction] = field(default_factory=dict)
    virtual: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    def payment(self, i: int, rule: str) -> Fraction | None:
        """p_i by (14) or b - F; None for tasks that are not admitted. `b` is what the run was told."""
        one = self.served[i]
        if one is None or not one.admitted:
            return None
        total = one.net + one.energy - one.value  # without the vendor's price, which is added by the caller
        return total if rule == "critical" else total - one.energy


def constants(instance: Instance, bids: Mapping[int, Fraction] | None = None) -> tuple[Fraction, Fraction]:
    """alpha and beta from the bids."""
    bid = {i: Fraction(int(instance.bid[i])) for i in range(instance.tasks)} | dict(bids or {})
    alpha = max((bid[i] / int(instance.work[i]) for i in bid), default=ZERO)
    return alpha, max((bid[i] / int(instance.memory_mb[i]) for i in bid), default=ZERO)


class Menu:
    """The schedules of all tasks, listed once."""

    def __init__(self, instance: Instance) -> None:
        self.instance, self.public = instance, instance.public("")
        self.types = self.public.type_of_node.tolist()
        self.tasks = [instance.task(i) for i in range(instance.tasks)]
        self.listed = [
            [
                (option, cells, *figures(task, self.public, option, cells))
                for option, cells in schedules(task, self.public)
            ]
            for task in self.tasks
        ]

    def rate(self, task: Task, node: int) -> int:
        """s_ik."""
        return int(task.rate[self.types[node]])

    def minimal(self, i: int) -> list[tuple[int, Cells, int, int, int]]:
        """The schedules that need each of their cells."""
        task = self.tasks[i]
        return [row for row in self.listed[i] if row[2] - min(self.rate(task, k) for k, _ in row[1]) < task.work]


def algorithm1(
    menu: Menu,
    *,
    bids: Mapping[int, Fraction] | None = None,
    given: tuple[Fraction, Fraction] | None = None,
    ghosts: bool = True,
    room_test: bool = True,
    met: list[tuple[Price, Price]] | None = None,
) -> Twin:
    """Algorithm 1 in fractions; `bids` replaces bids, `given` the constants that are else taken from those bids.

    `met` is filled with the prices that each task meets.
    """
    told = dict(bids or {})
    public: Public = menu.public
    compute, memory = public.compute.tolist(), public.memory_mb.tolist()
    run = Twin(*(constants(menu.instance, told) if given is None else given))
    load: dict[tuple[int, int], tuple[int, int]] = {}
    for i, task in enumerate(menu.tasks):
        change = told.get(i, Fraction(task.bid)) - task.bid
        if met is not None:
            met.append((dict(run.lam), dict(run.phi)))
        graded = []
        for option, cells, work, n, net in menu.listed[i]:
            top_lam = max(run.lam.get(c, ZERO) for c in cells)
            top_phi = max(run.phi.get(c, ZERO) for c in cells)
            value = net + change - top_lam * work - top_phi * task.memory_mb * n
            graded.append((-value, option, n, [(t, k) for k, t in cells], cells, work, net + change))
        if not graded:
            run.served.append(None)
            continue
        value, option, n, _, cells, work, net = min(graded)
        value = -value

        def over(book: dict[tuple[int, int], tuple[int, int]], cell: tuple[int, int], extra: bool) -> bool:
            samples, used = book.get(cell, (0, 0))
            g = menu.types[cell[0]]
            if not extra:
                return bool(samples >= compute[g] or used >= memory[g])
            return bool(samples + menu.rate(task, cell[0]) > compute[g] or used + task.memory_mb > memory[g])  # noqa: B023

        fits = not any(over(load, cell, True) for cell in cells)
        full = any(over(run.virtual, cell, False) for cell in cells)
        admitted = value > 0 and (fits or not room_test)
        energy = sum(int(task.cost[menu.types[k], t - 1]) for k, t in cells)
        run.served.append(Served(value, option, cells, fits, admitted, work, net, energy, full))
        books = [load] if admitted else []
        if value > 0 and (ghosts or admitted):
            books.append(run.virtual)
            bbar = Fraction(net) / (work + task.memory_mb * n)
            for k, t in cells:
                g = menu.types[k]
                s, r = Fraction(menu.rate(task, k), compute[g]), Fraction(task.memory_mb, memory[g])
                run.lam[k, t] = run.lam.get((k, t), ZERO) * (1 + s) + run.alpha * bbar * s
                run.phi[k, t] = run.phi.get((k, t), ZERO) * (1 + r) + run.beta * bbar * r
        for book in books:
            for k, t in cells:
                samples, used = book.get((k, t), (0, 0))
                book[k, t] = samples + menu.rate(task, k), used + task.memory_mb
    return run


def paid(menu: Menu, run: Twin, i: int, rule: str) -> Fraction | None:
    """The payment with the vendor's price."""
    amount, one = run.payment(i, rule), run.served[i]
    return None if amount is None or one is None else amount + menu.tasks[i].options[one.option].price


def utility(menu: Menu, run: Twin, i: int, rule: str) -> Fraction:
    """(15)."""
    amount = paid(menu, run, i, rule)
    return ZERO if amount is None else int(menu.instance.valuation[i]) - amount


def net_cost(
    menu: Menu, i: int, row: Any, lam: dict[tuple[int, int], Fraction], phi: dict[tuple[int, int], Fraction]
) -> Fraction:
    """b_il - sum (lambda s + phi r) of a listed schedule."""
    task = menu.tasks[i]
    _, cells, _, _, net = row
    return net - sum(lam.get(c, ZERO) * menu.rate(task, c[0]) + phi.get(c, ZERO) * task.memory_mb for c in cells)


def relative(menu: Menu) -> dict[str, Any]:
    """kappa, spread and extremes of bbar over minimal and over all schedules."""
    nets: list[Fraction] = []
    everything: list[Fraction] = []
    kappas, all_kappas = [ZERO], [ZERO]
    rates: set[int] = set()
    sizes: set[int] = set()
    negative = False
    for i, task in enumerate(menu.tasks):
        if not menu.listed[i]:
            continue
        compute, memory = menu.public.compute, menu.public.memory_mb
        able = [g for g in range(len(compute)) if 0 < task.rate[g] <= compute[g] and task.memory_mb <= memory[g]]
        rates |= {int(task.rate[g]) for g in able}
        sizes.add(task.memory_mb)
        first = min(option.first for option in task.options)
        negative |= any(task.cost[g, t - 1] < 0 for g in able for t in range(first, task.deadline + 1))
        minimal = menu.minimal(i)
        for row in menu.listed[i]:
            _, cells, work, n, net = row
            kappa = max(Fraction(n), Fraction(work, min(menu.rate(task, k) for k, _ in cells)))
            bar = Fraction(net, work + task.memory_mb * n)
            all_kappas.append(kappa)
            everything.append(bar)
            if row in minimal:
                kappas.append(kappa)
                nets.append(bar)
    return {
        "kappa": max(all_kappas if negative else kappas),
        "negative": negative,
        "minimal": nets,
        "all": everything,
        "s": rates,
        "r": sizes,
    }


Verdict = tuple[str, Fraction | None, Fraction | None]


SOME = (*range(0, 46, 5), 2**10, 2**40)


def verdicts(
    menu: Menu, optimum: int, rule: str = "printed", *, ghosts: bool = True, bids: tuple[int, ...] = SOME
) -> dict[str, Verdict]:
    """name -> (status, left, right) for one run with constants from the bids; sides of inapplicable claims are None.

    `bids` are tried for every task; 2^40 should be one: who wins at all wins with it, for the same price.
    """
    met: list[tuple[Price, Price]] = []
    run = algorithm1(menu, ghosts=ghosts, met=met)
    known = relative(menu)
    served = [(i, one) for i, one in enumerate(run.served) if one is not None]
    positive = [(i, one) for i, one in served if one.value > 0]
    alg = sum((one.net for _, one in served if one.admitted), ZERO)
    almost = sum((one.net for _, one in positive), ZERO)
    a = 1 + max(run.alpha, run.beta)

    def bar(i: int, one: Served) -> Fraction:
        return one.net / (one.work + menu.tasks[i].memory_mb * len(one.cells))

    bars = [bar(i, one) for i, one in positive]
    found: dict[str, Verdict] = {}

    def put(name: str, left: Any, right: Any, applies: bool = True) -> None:
        status = "holds" if left is None or right is None or left <= right else "violated"
        found[name] = (status, left, right) if applies else ("not applicable", None, None)

    some = bool(known["minimal"])
    spread = (
        max(Fraction(max(known["s"]), min(known["s"])), Fraction(max(known["r"]), min(known["r"]))) if some else ZERO
    )
    basis = known["minimal"] if some and min(known["minimal"]) > 0 else bars
    rho = 1 + max(basis) / min(basis) * spread if basis else None
    printed = some and not known["negative"] and ghosts and rho is not None and min(basis) >= 1  # Lemma 3's
    selected = some and not known["negative"] and (not bars or min(bars) >= 1)
    rho_l = Fraction(1)
    if positive:
        sizes = Fraction(max(known["s"]) + max(known["r"]), min(known["s"]) + min(known["r"]))
        longest = max(len(one.cells) for _, one in positive)
        held = [bar(i, one) for i, one in positive if one.admitted]
        rho_l += longest * max(bars) / min(held) * sizes if held else 0
    put("theorem5", Fraction(optimum), (rho or 0) * a * alg, ghosts)
    put("theorem5_repaired", Fraction(optimum), known["kappa"] * rho_l * a * alg, selected and ghosts)
    put("theorem5_repaired_a", Fraction(optimum), known["kappa"] * a * almost, some)

    compute, memory = menu.public.compute.tolist(), menu.public.memory_mb.tolist()
    dual = sum((one.value for _, one in positive), ZERO)
    dual += sum(compute[menu.types[k]] * price for (k, _), price in run.lam.items())
    dual += sum(memory[menu.types[k]] * price for (k, _), price in run.phi.items())
    put("lemma1", dual, a * almost, some)
    on_full = [one.value for _, one in served if one.full]
    put("lemma2", max(on_full, default=None), ZERO if on_full else None, selected)
    put("lemma3", almost, (rho or 0) * alg, printed)
    put("lemma3_repaired", almost, rho_l * alg, selected and ghosts)
    for name, factor in (("lemma4", Fraction(1)), ("lemma4_repaired", known["kappa"])):
        lam = {cell: factor * price for cell, price in run.lam.items()}
        phi = {cell: factor * price for cell, price in run.phi.items()}
        rows = []
        for i, one in served:
            linear = max(net_cost(menu, i, row, lam, phi) for row in menu.listed[i])
            rows.append((linear, max(ZERO, one.value)))
        bad = [row for row in rows if row[0] > row[1]]
        tight = max(rows, key=lambda row: row[0] - row[1], default=(None, None))
        put(name, *(bad[0] if bad else tight), some)
    put("weak_duality", Fraction(optimum), dual, some)
    short_of_best = [ZERO]
    for i, one in served:
        table = best_by_printed_table(menu.tasks[i], menu.public, *met[i])
        assert table is not None
        short_of_best.append(one.value - Fraction(table[0]))
    put("algorithm2", max(short_of_best), ZERO, some)

    gains, losses, literal = [ZERO], [ZERO], [ZERO]
    given = run.alpha, run.beta
    for i in range(len(menu.tasks)):
        value = int(menu.instance.valuation[i])
        runs = {b: algorithm1(menu, bids={i: Fraction(b)}, given=given, ghosts=ghosts) for b in {value, *bids}}
        utilities = {b: utility(menu, one, i, rule) for b, one in runs.items()}
        gains.append(max(utilities.values()) - utilities[value])
        losses.append(-utilities[value])
        literal.append(-min(utilities.values()))
    put("theorem3_fixed_constants", max(gains), ZERO, some)
    put("theorem4", max(losses), ZERO, some and (rule == "critical" or not known["negative"]))
    put("theorem4_literal", max(literal), ZERO, some)
    short = [
        menu.tasks[i].options[one.option].price + one.energy - (paid(menu, run, i, rule) or ZERO)
        for i, one in served
        if one.admitted
    ]
    put("provider_deficit", max(short, default=None), ZERO if short else None, some)
    dropped = [i for i, one in positive if not one.admitted]
    cells = menu.public.nodes * menu.public.slots
    put("drops", Fraction(len(dropped)), Fraction(cells), selected and ghosts)
    # Literally without line 8, not from the virtual loads of the run with it.
    free = algorithm1(menu, room_test=False)
    loads: dict[tuple[int, int], list[int]] = {}
    for i, each in enumerate(free.served):
        if each is not None and each.admitted:
            for k, t in each.cells:
                load = loads.setdefault((k, t), [0, 0])
                load[0] += menu.rate(menu.tasks[i], k)
                load[1] += menu.tasks[i].memory_mb
    shares = [ZERO]
    for (k, _), load in loads.items():
        g = menu.types[k]
        shares += [Fraction(load[0], compute[g]), Fraction(load[1], memory[g])]
    put("overflow", max(shares), Fraction(1), some and ghosts)
    other = algorithm1(menu, ghosts=False)
    changed = sum(
        (x is not None and x.admitted) != (y is not None and y.admitted)
        for x, y in zip(run.served, other.served, strict=True)
    )
    put("ghost_updates", Fraction(changed), ZERO, some and ghosts)
    return found


def failing_in_theorem5(menu: Menu, given: tuple[Fraction, Fraction] | None = None) -> list[str]:
    """The assumptions of the proof of Theorem 5 that fail on a run, by listed schedules.

    `given` are alpha and beta of the run; by default the largest ratios of the bids.
    """
    run, known = algorithm1(menu, given=given), relative(menu)
    bars = [
        one.net / (one.work + menu.tasks[i].memory_mb * len(one.cells))
        for i, one in enumerate(run.served)
        if one is not None and one.value > 0
    ]
    minimal = known["minimal"]
    basis = minimal if not minimal or min(minimal) > 0 else bars
    found = ["bbar >= 1"] if any(each < 1 for each in basis) else []
    found += ["costs >= 0"] if known["negative"] else []
    own = constants(menu.instance, {})
    for name, used, largest in zip(("alpha = max b/M", "beta = max b/r"), given or own, own, strict=True):
        found += [name] if used != largest else []
    return found


def lie_pays(
    instance: Instance, i: int, lie: tuple[int, int, int, int], rule: str, given: tuple[Fraction, Fraction]
) -> Fraction:
    """The utility of task i when it reports another window, work and memory and bids its valuation."""
    data = document(instance)
    tasks = data["tasks"]
    told = dict(tasks.pop(i), arrival=lie[0], deadline=lie[1], work=lie[2], memory_mb=lie[3])
    at = i
    if lie[0] > instance.arrival[i]:
        at = sum(task["arrival"] <= lie[0] for task in tasks)
    tasks.insert(at, told)
    told["bid"] = told["valuation"] = int(instance.valuation[i])
    menu = Menu(parse(data))
    return utility(menu, algorithm1(menu, given=given), at, rule)


def every_lie(
    instance: Instance, i: int, rule: str, given: tuple[Fraction, Fraction], *, ghosts: bool = True
) -> dict[tuple[int, int, int, int], Fraction]:
    """The utility of task i for every report that it can keep up, the true one included: lie -> (15).

    Every window inside the true one; work up to one more than all its cells can do; memory up to one more than a node
    has. For each arrival the others are run once; then the schedules of the true task are looked through, one by one.
    """
    menu = Menu(instance)
    task, value, listed = menu.tasks[i], int(instance.valuation[i]), menu.listed[i]
    memory, compute = menu.public.memory_mb.tolist(), menu.public.compute.tolist()
    most = max([row[2] for row in listed], default=task.work)
    found: dict[tuple[int, int, int, int], Fraction] = {}
    for arrival in range(task.arrival, task.deadline + 1):
        data = document(instance)
        data["tasks"] = [
            each
            for j, each in enumerate(data["tasks"])
            if j < i or (j > i and arrival > task.arrival and each["arrival"] <= arrival)
        ]
        others = Menu(parse(data))
        run = algorithm1(others, given=given, ghosts=ghosts)
        load: dict[tuple[int, int], list[int]] = {}
        for other, one in zip(others.tasks, run.served, strict=True):
            for k, t in one.cells if one is not None and one.admitted else ():
                here = load.setdefault((k, t), [0, 0])
                here[0] += menu.rate(other, k)
                here[1] += other.memory_mb
        for size in range(task.memory_mb, max(task.memory_mb, *memory) + 2):
            graded = []
            for option, cells, work, n, net in listed:
                delay = task.options[option].first - task.arrival
                if all(t >= arrival + delay and size <= memory[menu.types[k]] for k, t in cells):
                    top_lam = max(run.lam.get(c, ZERO) for c in cells)
                    top_phi = max(run.phi.get(c, ZERO) for c in cells)
                    worth = net - top_lam * work - top_phi * size * n
                    graded.append((-worth, option, n, [(t, k) for k, t in cells], cells, work))
            graded.sort()
            for deadline in range(arrival, task.deadline + 1):
                for work in range(task.work, most + 2):
                    pays = ZERO
                    for row in graded:
                        if row[5] >= work and row[3][-1][0] <= deadline:
                            cost = task.bid + row[0]
                            fits = all(
                                load.get((k, t), [0, 0])[0] + menu.rate(task, k) <= compute[menu.types[k]]
                                and load.get((k, t), [0, 0])[1] + size <= memory[menu.types[k]]
                                for k, t in row[4]
                            )
                            energy = sum(int(task.cost[menu.types[k], t - 1]) for k, t in row[4])
                            if fits and value > cost:
                                pays = value - (cost if rule == "critical" else cost - energy)
                            break
                    found[arrival, deadline, work, size] = pays
    return found
