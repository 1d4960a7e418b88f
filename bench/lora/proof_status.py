"""What is proved of an algorithm beside its figures."""

from __future__ import annotations

from collections.abc import Mapping

from ratiobench.online.lora.one_node import is_one_node
from ratiobench.online.lora.registry import parse

NOTHING = {"guarantee": "none known", "truthful": "not examined"}


def proof_status(algorithm: str) -> Mapping[str, str]:
    """``guarantee`` and ``truthful`` (no misreport gains, rates apart) by the algorithm's name with its options."""
    spec = parse(algorithm)
    if spec.entry is None or spec.entry.standing is None:
        return NOTHING
    if is_one_node(spec):
        return NOTHING  # the theorems are about the choice among all schedules
    # A mechanism of which a constant is computed from the instance under test is not truthful: bids move it.
    declared = getattr(spec.entry.make(spec.options), "constants", ())
    return spec.entry.standing(spec.options, not spec.prior and any(name not in spec.given for name in declared))
