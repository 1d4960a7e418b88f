"""The second paper's baselines (section 4.1).

Greedy: the whole bag on the machine where a task takes the least energy, of equals the one of the lowest index.
Average: the bag split evenly over the machines; what is left of it goes to the lowest indices.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ratiobench.online.eapm.protocol import Decision, Public, User, View
from ratiobench.online.eapm.registry import Entry, register


class Greedy:
    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Nothing to set up."""

    def decide(self, user: User, view: View) -> Decision:
        cheapest = int(user.energy_uj.argmin())
        return tuple(user.tasks if j == cheapest else 0 for j in range(len(user.cost)))


class Average:
    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Nothing to set up."""

    def decide(self, user: User, view: View) -> Decision:
        machines = len(user.cost)
        each, more = divmod(user.tasks, machines)
        return tuple(each + (j < more) for j in range(machines))


register(
    Entry("greedy", "the whole bag on the machine where it takes the least energy", "2", {}, lambda options: Greedy())
)
register(Entry("average", "the bag split evenly over the machines", "1", {}, lambda options: Average()))
