"""Average: the bag split evenly over the machines (section 4.1); what is left of it goes to the lowest indices."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ratiobench.online.eapm.protocol import Decision, Public, User, View
from ratiobench.online.eapm.registry import Entry, register


class Average:
    """a_i / m tasks on every machine, one more on each of the first a_i mod m."""

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Nothing to set up."""

    def decide(self, user: User, view: View) -> Decision:
        """It looks at nothing but the number of tasks."""
        machines = len(user.cost)
        each, more = divmod(user.tasks, machines)
        return tuple(each + (j < more) for j in range(machines))


register(Entry("average", "the bag split evenly over the machines", "1", {}, lambda options: Average()))
