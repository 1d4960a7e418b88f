"""What is known of an algorithm beside its figures: the guarantee that is proved, and whether it is truthful."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ratiobench.online.lora.one_node import is_one_node
from ratiobench.online.lora.registry import parse

NOTHING = {"guarantee": "none known", "truthful": "not examined"}


def proof_status(algorithm: str) -> Mapping[str, str]:
    """``guarantee`` and ``truthful`` of an algorithm's name with its options, as its entry says; else not known.

    Truthful: no misreport of the named parts gains, whatever the others do; rates are the provider's to measure and
    are no part of a bid. A mechanism of which a constant is computed from the instance under test is not: bids move it.
    """
    spec = parse(algorithm)
    if spec.entry is None or spec.entry.standing is None:
        return NOTHING
    if is_one_node(spec):
        return NOTHING  # the theorems are about the choice among all schedules
    declared = getattr(spec.entry.make(spec.options), "constants", ())
    return spec.entry.standing(spec.options, not spec.prior and any(name not in spec.given for name in declared))


# Algorithms that offer each task, of whatever kind, its cheapest schedule at prices that its bid does not move
TAKE_OR_LEAVE = ("greedy", "posted", "minimal-edit", "capped", "bbar-rule", "pricelist")
# The same where a task that may pause is offered a run, which a stricter claim may undercut
CHEAPEST_RUN = ("dual-posted",)
# Algorithms whose bound on OPT/ALG is proved for tasks of all kinds (Theorems A, B, C and G)
BOUNDED = ("greedy", "posted", "minimal-edit", "capped", "bbar-rule")
WHERE_KNOWN = ", where lengths of runs are known and nodes begin empty"
IN_BID, IN_BID_AND_KIND = "in the bid", "in the bid and the kind of schedule"


def proved_of_all_kinds(algorithm: str) -> Mapping[str, str]:
    """What is proved of runs with rigid tasks, gangs, limits: Theorem T as far as it is about bid and kind, and bounds.

    The price of a schedule is a sum over its cells that depends on no bid, and the choice is the cheapest that is free.
    The sets of schedules are nested (rigid, one-node, any), so who claims a stricter kind never pays less, and a looser
    one gives a schedule that the job cannot use. Theorems A, B, C and G use of a schedule only that it is a set of
    cells, so they hold with the dual over the schedules that each task may have; of runs whose lengths are known.
    """
    head, known = parse(algorithm).head, proof_status(algorithm)
    found = {}
    if head in (*TAKE_OR_LEAVE, *CHEAPEST_RUN) and not known["truthful"].startswith("no"):
        found["truthful"] = IN_BID if head in CHEAPEST_RUN else IN_BID_AND_KIND
    if head in BOUNDED and not known["guarantee"].startswith("no"):
        found["guarantee"] = f"{known['guarantee']}{WHERE_KNOWN}"
    return found


_BOUNDS = {
    "pdftsp": ("theorem5_repaired",),
    "posted": ("theorem_a",),
    "minimal-edit": ("theorem_b",),
    "capped": ("theorem_c", "theorem_c_a_priori"),
    "bbar-rule": ("theorem_c", "theorem_c_a_priori"),
    "greedy": ("theorem_g",),
    "learned": ("theorem_h",),
    "guarded": ("theorem_h",),
    **dict.fromkeys(("zcl", "reserve", "advice"), ("theorem_p",)),
    "pooled": ("theorem_pool",),
    "units": ("theorem_a1",),
    "static": ("theorem_s",),
}


def bound_checks(algorithm: str) -> Sequence[str]:
    """The checks of the bounds on OPT/ALG that `proof_status` names."""
    if proof_status(algorithm) is NOTHING:
        return ()
    return _BOUNDS.get(parse(algorithm).head, ())
