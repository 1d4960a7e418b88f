"""What tests of certificates share: claims and forgeries, the dual bound by enumeration, instances with prices."""

import copy
from collections.abc import Iterator, Sequence
from functools import partial

from hypothesis import strategies as st

from ratiobench.formulations.lora import certificate as certificates
from ratiobench.formulations.lora.certificate import Certificate, ClassPrice, Node, parse, seal
from ratiobench.formulations.lora.models.enumerate import list_schedules
from ratiobench.formulations.lora.solve import solve
from ratiobench.formulations.lora.verify import dual_bound, verify
from ratiobench.instances.lora import Instance
from ratiobench.instances.lora import parse as parse_instance
from ratiobench.instances.lora.format import content_hash
from tests.support.documents import Document, refused_by
from tests.support.strategies.lora import tiny_documents, tiny_instances

refused = partial(refused_by, verify)
TreePath = tuple[tuple[tuple[int, ...], bool], ...]


def claimed(instance: Instance) -> Document:
    """A certificate's document as found without any solver."""
    found = solve(instance, backend="none", certified=True).certificate
    assert isinstance(found, Certificate)
    return certificates.document(found)


def resealed(document: Document) -> Document:
    """The document with the seal that its content asks for: what a forger would write."""
    return document | {"sha256": seal(parse(document)[0])}


def checked_bound(instance: Instance, proof: Certificate) -> int:
    """The upper end as the checker computes it."""
    return dual_bound(instance, proof.unit, proof.lam, proof.phi, proof.classes)


def dual_by_enumeration(instance: Instance, proof: Certificate) -> int:
    """The dual bound from the lists of all schedules of each task and all patterns of each type, in Python integers."""
    kinds = [g for g, node in enumerate(instance.node_types) for _ in range(node.count)]
    room = [node.memory_mb - instance.base_memory_mb for node in instance.node_types]
    nothing = (0,) * instance.slots
    pi = {each[:3]: each.price for each in proof.classes}
    lam, phi = proof.lam, proof.phi
    total = 0
    for g, node in enumerate(instance.node_types):
        here = [each for each in proof.classes if each.kind == g]
        fitting = patterns([(each.rate, each.memory_mb) for each in here], node.compute, room[g])
        for t in range(instance.slots):
            best = max(sum(n * each.price[t] for n, each in zip(count, here, strict=True)) for count in fitting)
            total += node.count * (node.compute * lam[g][t] + room[g] * phi[g][t] + best)
    for i in range(instance.tasks):
        best, r = 0, int(instance.memory_mb[i])
        for value, decision in list_schedules(instance, instance.task(i)):
            cells = [(kinds[node], slot - 1, int(instance.rate[i, kinds[node]])) for node, slot in decision.cells]
            if all(s <= instance.node_types[g].compute and r <= room[g] for g, _, s in cells):
                paid = sum(lam[g][t] * s + phi[g][t] * r + pi.get((g, s, r), nothing)[t] for g, t, s in cells)
                best = max(best, proof.unit * value - paid)
        total += best
    return total // proof.unit


def patterns(sizes: Sequence[tuple[int, int]], compute: int, room: int) -> list[tuple[int, ...]]:
    """All counts of cells of these samples and megabytes that fit on a node, maximal or not."""
    found: list[tuple[tuple[int, ...], int, int]] = [((), compute, room)]
    for rate, memory in sizes:
        found = [
            ((*count, n), left - n * rate, left_mb - n * memory)
            for count, left, left_mb in found
            for n in range(min(left // rate, left_mb // memory) + 1)
        ]
    return [count for count, _, _ in found]


def paths(tree: tuple[Node, ...]) -> list[tuple[int, TreePath]]:
    """Table and decisions of the leaves of a well-formed tree, by recursion."""
    nodes = iter(tree)

    def below(path: TreePath) -> Iterator[tuple[int, TreePath]]:
        node = next(nodes)
        if isinstance(node, int):
            yield node, path
        else:
            yield from below((*path, (node, False)))
            yield from below((*path, (node, True)))

    return list(below(()))


def classes_of(instance: Instance) -> list[tuple[int, int, int]]:
    """Type, rate and memory of every cell that some task could run in."""
    found = {
        (g, int(instance.rate[i, g]), int(instance.memory_mb[i]))
        for i in range(instance.tasks)
        for g in range(len(instance.node_types))
        if instance.rate[i, g] > 0
    }
    return sorted(found)


@st.composite
def contended_instances(draw: st.DrawFn) -> Instance:
    """A tiny instance whose tasks want more than there is: each stands three times, and bids pay for any cost."""
    document = draw(tiny_documents(max_tasks=2, max_slots=3))
    document["tasks"] = [copy.deepcopy(task) for task in document["tasks"] for _ in range(3)]
    if draw(st.booleans()):  # up to four node types
        document["node_types"].append(document["node_types"][0] | {"name": "one more", "count": 1})
        for task in document["tasks"]:
            task["rate"].append(draw(st.integers(0, 4)))
            key = "cost" if "cost" in task else "energy_wh"
            task[key].append(draw(st.sampled_from(task[key])))
    for node in document["node_types"]:
        node["compute"] += draw(st.integers(0, 3))
    for task in document["tasks"]:
        task["bid"] = draw(st.integers(20, 60))
        task["work"] = draw(st.integers(1, 2 * (task["deadline"] - task["arrival"] + 1)))
    return parse_instance(document)


def instances() -> st.SearchStrategy[Instance]:
    """Tiny instances, half of them with contention."""
    return st.booleans().flatmap(lambda contended: contended_instances() if contended else tiny_instances())


@st.composite
def proofs(draw: st.DrawFn) -> tuple[Instance, Certificate]:
    """A tiny instance with dual prices, most of them of the size of bids, some far beyond 64 bits.

    Most have prices of classes: of some of the tasks' own, and now and then of one that no task has.
    """
    instance = draw(instances())
    unit: int = 2 ** draw(st.sampled_from([0, 1, 5, 20]))
    top = draw(st.sampled_from([1, 3, 12])) * unit
    if draw(st.integers(1, 5)) == 5:
        unit, top = 2**40, 2**62
    row = st.tuples(*[st.integers(0, top)] * instance.slots)
    nothing = ((0,) * instance.slots,) * len(instance.node_types)
    # Prices of samples, of megabytes or of classes may be the large ones.
    table = st.tuples(*[row] * len(instance.node_types)) | st.just(nothing)
    other = st.tuples(st.integers(0, len(instance.node_types) - 1), st.integers(1, 9), st.integers(1, 9))
    listed = {each for each in classes_of(instance) if draw(st.integers(0, 3)) > 0}
    if draw(st.integers(1, 4)) == 4:
        listed.add(draw(other))
    if draw(st.integers(1, 4)) == 4:
        listed = set()
    return instance, Certificate(
        instance=content_hash(instance),
        unit=unit,
        lam=draw(table),
        phi=draw(table),
        classes=tuple(ClassPrice(*each, draw(row)) for each in draw(st.permutations(sorted(listed)))),
        upper=0,
        lower=0,
        decisions=(None,) * instance.tasks,
    )
