"""EAPM instances and their documents, small enough to try every placement."""

from typing import Any

from hypothesis import strategies as st

from ratiobench.instances.eapm.format import FORMAT, SUM_LIMIT, parse
from ratiobench.instances.eapm.model import Instance, Solution
from ratiobench.instances.io.fields import LIMIT

Document = dict[str, Any]


@st.composite
def eapm_documents(
    draw: st.DrawFn, max_users: int = 3, max_machines: int = 3, max_types: int = 3, max_tasks: int = 4
) -> Document:
    """The document of a tiny instance.

    It covers one machine, one user, one task, energy price 0, machines without power, equal machines, prices of 0 and
    prices far above the cost: optima of either sign and 0. At most 15^3 = 3,375 placements by default.
    """
    machines = draw(st.integers(1, max_machines))
    types = draw(st.integers(1, max_types))
    largest = draw(st.sampled_from([2, 9, 100]))
    kinds = [
        {
            "name": f"t{k}",
            "etc_ms": draw(st.lists(st.integers(1, largest), min_size=machines, max_size=machines)),
            "apc_mw": draw(st.lists(st.integers(0, 9), min_size=machines, max_size=machines)),
        }
        for k in range(types)
    ]
    rich = draw(st.sampled_from([0, 20, 500, 20 * largest]))
    users = [
        {
            "type": draw(st.integers(0, types - 1)),
            "tasks": draw(st.integers(1, max_tasks)),
            "price": draw(st.integers(0, rich)),
        }
        for _ in range(draw(st.integers(1, max_users)))
    ]
    return {
        "format": FORMAT,
        "name": "tiny",
        "energy_price": draw(st.sampled_from([1, 0, 3])),
        "machines": [f"m{j}" for j in range(machines)],
        "task_types": kinds,
        "users": users,
    }


def tiny_instances(**limits: int) -> st.SearchStrategy[Instance]:
    return eapm_documents(**limits).map(lambda document: parse(document, "<hypothesis>"))


@st.composite
def instance_documents(draw: st.DrawFn) -> Document:
    """A valid document with odd names and numbers up to the limits."""
    name = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
    machines = draw(st.lists(name, min_size=1, max_size=4, unique=True))
    m = len(machines)
    # One draw for the whole: what may be large at once is limited by the sums.
    large = draw(st.sampled_from(("energy_price", "etc", "apc", "tasks", "none")))

    def number(what: str, low: int, most: int) -> st.SearchStrategy[int]:
        return st.integers(low, LIMIT if what == large else most)

    etc = st.lists(number("etc", 1, 40), min_size=m, max_size=m)
    apc = st.lists(number("apc", 0, 40), min_size=m, max_size=m)
    types = [
        {"name": each, "etc_ms": draw(etc), "apc_mw": draw(apc)}
        for each in draw(st.lists(name, min_size=1, max_size=3, unique=True))
    ]
    user = st.fixed_dictionaries(
        {
            "type": st.integers(0, len(types) - 1),
            "tasks": number("tasks", 1, 50),
            "price": st.integers(0, 100) | st.integers(0, SUM_LIMIT // 5),
        }
    )
    whole: Document = {
        "format": FORMAT,
        "name": draw(name),
        "energy_price": draw(number("energy_price", 0, 9)),
        "machines": machines,
        "task_types": types,
        "users": draw(st.lists(user, min_size=1, max_size=5)),
    }
    if draw(st.booleans()):
        whole["origin"] = draw(st.dictionaries(name, st.integers(-(10**28), 10**28) | name | st.none(), max_size=2))
    return whole


@st.composite
def placements(draw: st.DrawFn, instance: Instance) -> Solution:
    """A valid solution: every bag cut at random places."""
    return tuple(_cut(draw, int(tasks), len(instance.machines)) for tasks in instance.tasks)


def _cut(draw: st.DrawFn, tasks: int, machines: int) -> tuple[int, ...]:
    cuts = sorted(draw(st.integers(0, tasks)) for _ in range(machines - 1))
    return tuple(high - low for low, high in zip([0, *cuts], [*cuts, tasks], strict=True))
