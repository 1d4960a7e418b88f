"""The second paper's algorithm `online` as it is printed, with eq. (20) in closed form, exactly: in three readings.

Machines stand cheapest first, by (ETC APC, index): the paper's machine m is the first here, its tau = m - s + 1. The
s cheapest machines share one finish time,

    MS_s = (a_i + sum L_j / ETC_ij) / sum 1 / ETC_ij,    x_ij = (MS_s - L_j) / ETC_ij,

and the system with the largest (P + p_i - C_i) / MS is taken, as (13) asks (of equals the one with the most machines:
the paper's smallest tau). Its tasks are placed as section 3 says, ceil(x_ij) on each machine from the cheapest on until
the bag is empty; the pseudo-code's order 1..m would start with the dearest. No task is ever left over: the positive
ceil(x_ij) add up to a_i at least.

What the paper leaves open is how (13) compares the systems. It calls all of them feasible, but a machine that is loaded
beyond MS_s has a negative share, which (16) forbids, and MS_s may lie below the makespan (11). Two options say which
reading is meant:

- `shares`, a negative x_ij: with `kept` it enters C_i as it is, so that work done before earns its energy back; with
  `clipped` it counts as 0; with `excluded` the system is no candidate. (The cheapest machine alone always is one.)
- `makespan`, the MS of (13): with `system` MS_s, with `true` the makespan (11) of the shares as they count, the latest
  L_j + x_ij ETC_ij of all machines. (A share that is kept below 0 makes its machine finish earlier.)

The default, `shares=clipped,makespan=true`, is the reading that fits the paper's row of Online best: of all six it has
the least largest relative deviation over the columns of Table 1 (docs/results/eapm.md has the figures). It is a fit on
matrices that are calibrated, not the paper's, so it does not prove which reading the authors ran.

How often the equations go wrong is counted under every reading, along its own decisions: `systems`, those of them with
a negative share (`negative_shares`) and with a finish time below the makespan so far (`below_makespan`), and the same
of the systems that were taken (`chosen_negative`, `chosen_below`).

Per user O(m log m); with `clipped` O(m) more for every system with a negative share.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ratiobench.formulations.kernels import compiled, sort_stably
from ratiobench.instances.io.errors import InputError
from ratiobench.online.eapm.algorithms.exact_step import ExactStep
from ratiobench.online.eapm.protocol import Decision, Public, User, View
from ratiobench.online.eapm.registry import Entry, Option, register
from ratiobench.online.remarks import Remarks


class Reading(NamedTuple):
    """The values of the options `shares` and `makespan`."""

    shares: str
    makespan: str

    @property
    def flags(self) -> tuple[bool, bool, bool]:
        """Whether negative shares are clipped, or their systems excluded, and whether MS is the makespan (11)."""
        return self.shares == "clipped", self.shares == "excluded", self.makespan == "true"

    def __str__(self) -> str:
        return f"shares={self.shares}, makespan={self.makespan}"


DEFAULT = Reading("clipped", "true")

_SYSTEMS = ("negative_shares", "below_makespan", "chosen_negative", "chosen_below")


@compiled
def _in_doubles(load, etc, cost, energy, tasks, worth, clipped, excluded, actual, shares, found):  # type: ignore[no-untyped-def]
    """The decision in doubles if rounding cannot have changed it; False if exact arithmetic has to decide.

    `worth`: P + p_i; `shares`: (m,) zeros, becomes the decision; `found`: (4,) zeros, becomes the counts of `_SYSTEMS`.
    """
    m = len(load)
    order = sort_stably(energy)
    makespan = load.max() * 1.0
    # Every sum below has at most 2m terms of one sign, so this covers its relative error several times.
    slack = (4 * m + 32) * 2.0**-52
    finish = np.empty(m)
    rate = np.empty(m)
    doubt = np.empty(m)
    negative = np.empty(m, np.bool_)
    others = np.zeros(m)  # the largest load of the machines that a system leaves out
    for s in range(m - 1, 0, -1):
        others[s - 1] = max(others[s], load[order[s]] * 1.0)
    placed = inverse = spent = dear = fullest = 0.0
    best = 0
    for s in range(m):
        j = order[s]
        placed += load[j] / etc[j]
        inverse += 1.0 / etc[j]
        spent += cost[j] * (load[j] / etc[j])
        dear += cost[j] / etc[j]
        fullest = max(fullest, load[j] * 1.0)
        ms = (tasks + placed) / inverse
        if abs(ms - fullest) <= slack * ms or abs(ms - makespan) <= slack * ms:
            return False
        finish[s] = ms
        negative[s] = fullest > ms
        found[0] += negative[s]
        found[1] += makespan > ms
        energies = ms * dear - spent
        if clipped and negative[s]:
            energies = 0.0
            for k in order[: s + 1]:
                energies += max(0.0, ms - load[k]) / etc[k] * cost[k]
        end = ms
        if actual:
            end = max(ms, makespan if clipped else others[s])
        rate[s] = (worth - energies) / end
        doubt[s] = 4.0 * slack * (abs(worth * 1.0) + ms * dear + spent) / end
        if rate[s] > rate[best] and not (excluded and negative[s]):
            best = s
    for s in range(m):
        if s != best and not (excluded and negative[s]) and rate[s] + doubt[s] >= rate[best] - doubt[best]:
            return False
    found[2] += negative[best]
    found[3] += makespan > finish[best]
    ms = finish[best]
    left = tasks
    for s in range(best + 1):
        j = order[s]
        if best == 0:
            shares[j] = left  # the one machine takes the bag: no rounding to fear
            left = 0
            break
        x = (ms - load[j]) / etc[j]
        if abs(x - np.rint(x)) <= slack * (ms + load[j]) / etc[j]:
            return False
        if x > 0.0:
            # A share beyond the bag would not fit an integer for certain.
            share = left if x >= left else min(left, np.int64(np.ceil(x)))
            shares[j] = share
            left -= share
            if left == 0:
                break
    return left == 0


def decide_exactly(
    load: list[int], etc: list[int], cost: list[int], energy: list[int], tasks: int, worth: int, reading: Reading
) -> tuple[list[int], list[int]]:
    """The decision and the counts of `_SYSTEMS` in fractions: the same rule, for the cases on the edge."""
    order = sorted(range(len(load)), key=lambda j: (energy[j], j))
    placed, inverse, fullest = Fraction(tasks), Fraction(0), 0
    counts = [0, 0, 0, 0]
    best: tuple[Fraction, Fraction, int, bool] | None = None
    for s, j in enumerate(order):
        placed += Fraction(load[j], etc[j])
        inverse += Fraction(1, etc[j])
        fullest = max(fullest, load[j])
        finish = placed / inverse
        negative = fullest > finish
        counts[0] += negative
        counts[1] += max(load) > finish
        if negative and reading.shares == "excluded":
            continue
        x = {k: (finish - load[k]) / etc[k] for k in order[: s + 1]}
        if reading.shares == "clipped":
            x = {k: max(Fraction(0), share) for k, share in x.items()}
        end = finish
        if reading.makespan == "true":
            end = max(load[k] + x.get(k, Fraction(0)) * etc[k] for k in order)
        rate = (worth - sum(share * cost[k] for k, share in x.items())) / end
        if best is None or rate >= best[0]:
            best = (rate, finish, s, negative)
    assert best is not None  # the cheapest machine's share is the whole bag
    _, finish, last, negative = best
    counts[2] += negative
    counts[3] += max(load) > finish
    shares, left = [0] * len(load), tasks
    for j in order[: last + 1]:
        shares[j] = min(left, max(0, -((load[j] - finish) // etc[j])))
        left -= shares[j]
    return shares, counts


class Printed:
    arithmetic = "exact"

    def __init__(self, reading: Reading = DEFAULT) -> None:
        self._reading = reading
        self.remarks = Remarks("online", tuple(str(reading).split(", ")))

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        self.counts = dict.fromkeys(("systems", *_SYSTEMS), 0)

    def decide(self, user: User, view: View) -> Decision:
        """In doubles, and again in fractions if a rounding error could have decided."""
        arrays = (view.load_ms, user.etc_ms, user.cost, user.energy_uj)
        shares, found = np.zeros(len(user.cost), np.int64), np.zeros(4, np.int64)
        worth = view.profit + user.price
        if _in_doubles(*arrays, user.tasks, worth, *self._reading.flags, shares, found):
            decision, counted = shares.tolist(), found.tolist()
        else:
            load, etc, cost, energy = (a.tolist() for a in arrays)
            decision, counted = decide_exactly(load, etc, cost, energy, user.tasks, worth, self._reading)
        self.counts["systems"] += len(decision)
        for name, count in zip(_SYSTEMS, counted, strict=True):
            self.counts[name] += count
        return tuple(decision)


def _make(options: Mapping[str, str]) -> Any:
    reading = Reading(options["shares"], options["makespan"])
    if options["rule"] == "printed":
        return Printed(reading)
    for name, value, default in zip(Reading._fields, reading, DEFAULT, strict=True):
        if value != default:
            problem = f"{value} is a reading of the printed rule; rule=exact-step has none"
            raise InputError("algorithm", f"online:{name}", problem)
    return ExactStep()


register(
    Entry(
        "online",
        "the paper's online algorithm: the best profit rate after this user; the default reading of the paper is "
        "that which fits its Table 1 best",
        "3",
        {
            "rule": Option("printed", ("printed", "exact-step"), "equations (20) as printed, or the best step exactly"),
            "shares": Option(
                DEFAULT.shares,
                ("kept", "clipped", "excluded"),
                "a share x_ij below 0 in (13): kept as it is, counted as 0, or its system is no candidate; the default "
                "of both readings fits the paper's row of Online best (least largest relative deviation)",
            ),
            "makespan": Option(
                DEFAULT.makespan, ("system", "true"), "MS in (13): of the linear system (20), or the makespan (11)"
            ),
        },
        _make,
    )
)
