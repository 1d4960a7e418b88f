"""Greedy: the whole bag on the machine where a task takes the least energy (section 4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ratiobench.online.eapm.protocol import Decision, Public, User, View
from ratiobench.online.eapm.registry import Entry, register


class Greedy:
    """argmin_j ETC_ij APC_ij takes all, of equals the lowest index; it looks at no load."""

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Nothing to set up."""

    def decide(self, user: User, view: View) -> Decision:
        """All tasks on one machine."""
        cheapest = int(user.energy_uj.argmin())
        return tuple(user.tasks if j == cheapest else 0 for j in range(len(user.cost)))


register(
    Entry("greedy", "the whole bag on the machine where it takes the least energy", "2", {}, lambda options: Greedy())
)
