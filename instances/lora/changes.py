"""An instance after a change: other nodes, a multiple of its jobs, or other assumptions on them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ratiobench.instances.io.errors import InputError, explain_unknown_name, shorten
from ratiobench.instances.lora.history import choose
from ratiobench.instances.lora.model import Instance, RunningJob, freeze
from ratiobench.instances.lora.schedules import KINDS, ScheduleKind

WHERE = "--what-if"
FORMS = "nodes.TYPE=+N, nodes.TYPE=-N, nodes=+N (each type in turn), load=X, bids=flat, limits=true, gangs=out, run=any"
# Changes of what imports assume, by words of the assumption (`import_basis`)
ASSUMPTIONS = {
    "bids=flat": "bids invented",
    "limits=true": "policies see the time limit",
    "gangs=out": "(run = gang)",
    "run=any": "run once",
}
MOST_NODES, MOST_LOAD = 10**4, 100
_NODES = re.compile(r"nodes(?:\.(.+))?=([+-])([0-9]{1,5})")
_LOAD = re.compile(r"load=([0-9]{1,3}(?:\.[0-9]{1,3})?)")


def list_changes(instance: Instance, text: str) -> Sequence[str]:
    """The changes that a text names: itself, or one for each node type where it names none."""
    match = _NODES.fullmatch(text)
    if match is not None and match[1] is None:
        changes = [f"nodes.{kind.name}={match[2]}{match[3]}" for kind in instance.node_types]
    else:
        changes = [text]
    for change in changes:
        apply_change(instance, change)
    return changes


def apply_change(instance: Instance, change: str) -> Instance:
    """The instance after a change.

    ``nodes.TYPE=+1``; ``load=1.5`` for one and a half times its jobs, of which copies arrive together and bid the same;
    ``limits=true``: policies see how long jobs run, and not limits that are longer; ``gangs=out``: without gangs;
    ``run=any``: jobs on one node may pause and move; ``bids=flat``: all bid the same for a unit of work.
    """
    name = f"{instance.name} {change}"
    origin = {**instance.origin, "change": change}
    load = _LOAD.fullmatch(change)
    if load is not None:
        factor = Fraction(load[1])
        if not 0 < factor <= MOST_LOAD:
            raise InputError(WHERE, change, f"{load[1]} is not above 0 and at most {MOST_LOAD}")
        ends = [round(factor * i) for i in range(instance.tasks + 1)]
        rows = np.repeat(np.arange(instance.tasks), np.diff(ends)).astype(np.int64)
        return replace(choose(instance, rows), name=name, origin=origin)
    if change == "limits=true":
        limit = freeze(np.where(instance.limit < instance.work, instance.limit, 0))
        return replace(instance, name=name, origin=origin, limit=limit, cache={})
    if change == "bids=flat":
        bids, work = int(instance.bid.sum()), max(1, int(instance.work.sum()))
        flat = freeze([bids * amount // work for amount in instance.work.tolist()])
        return replace(instance, name=name, origin=origin, bid=flat, valuation=flat, cache={})
    if change == "gangs=out":
        rows = np.flatnonzero(instance.parts == 1).astype(np.int64)
        return replace(choose(instance, rows), name=name, origin=origin)
    if change == "run=any":
        gang = KINDS.index(ScheduleKind.GANG)
        run = np.where(instance.run == gang, gang, KINDS.index(ScheduleKind.ANY)).astype(np.int8)
        run.setflags(write=False)
        return replace(instance, name=name, origin=origin, run=run, cache={})
    match = _NODES.fullmatch(change)
    if match is None or match[1] is None:
        raise InputError(WHERE, "", f"{shorten(change)} is none of {FORMS}")
    names = [kind.name for kind in instance.node_types]
    if match[1] not in names:
        raise InputError(WHERE, change, explain_unknown_name(match[1], names))
    place = names.index(match[1])
    kind = instance.node_types[place]
    count = kind.count + int(f"{match[2]}{match[3]}")
    if not 0 <= count <= MOST_NODES:
        raise InputError(WHERE, change, f"{count} nodes; 0..{MOST_NODES} are possible")
    types = [*instance.node_types]
    types[place] = replace(kind, count=count)
    running = _renumber(instance, change, place, count)
    return replace(instance, name=name, origin=origin, node_types=tuple(types), running=running, cache={})


def _renumber(instance: Instance, change: str, place: int, count: int) -> tuple[RunningJob, ...]:
    """The running jobs on a cluster with so many nodes of a type; nodes go on which none runs, the last ones first."""
    if not instance.running:
        return ()
    begin, end = instance.public("").first_node[place : place + 2].tolist()
    busy = {node for job in instance.running for node in job.nodes}
    gone: set[int] = set()
    for node in reversed(range(begin, end)):
        if len(gone) < end - begin - count and node not in busy:
            gone.add(node)
    if len(gone) < end - begin - count:
        left = len(busy.intersection(range(begin, end)))
        problem = f"jobs run on {left} of these nodes when the first slot begins, and {count} would be left"
        raise InputError(WHERE, change, problem)
    kept = [node for node in range(begin, end) if node not in gone]
    number = {node: begin + at for at, node in enumerate(kept)}
    shift = count - (end - begin)
    return tuple(
        job._replace(nodes=tuple(sorted(number.get(node, node + shift * (node >= end)) for node in job.nodes)))
        for job in instance.running
    )


def find_effect(change: str) -> str:
    """What a change does to OPT: ``more`` or ``less`` where it is never worse or never better, ``same``; else empty."""
    known = {"limits=true": "same", "gangs=out": "less", "run=any": "more"}
    match = _NODES.fullmatch(change)
    return known.get(change, "") if match is None else {"+": "more", "-": "less"}[match[2]]
