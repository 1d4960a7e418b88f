"""Changes of a cluster for what-if: other nodes, more load, exact limits, maintenance, quotas."""

from __future__ import annotations

import re
from contextlib import suppress
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np

from ratiobench.instances.arrays import IntArray
from ratiobench.instances.cluster.format import document, parse
from ratiobench.instances.cluster.log_lines import read_second
from ratiobench.instances.cluster.model import Instance, Quota
from ratiobench.instances.io.documents import read_document
from ratiobench.instances.io.errors import InputError, require_known, shorten
from ratiobench.instances.io.fields import seconds_of
from ratiobench.instances.io.files import load_toml

GRAMMAR = "nodes=+4, pool.NAME=+8, load=1.2, limits=true, maintenance=FROM..TO:N, quota=FILE"
_LOAD, _NODES = re.compile(r"[0-9]{1,3}(\.[0-9]{1,6})?"), re.compile(r"[+-][0-9]{1,6}")
_MAINTENANCE = re.compile(r"(.*?)\.\.(.*):0*([1-9][0-9]{0,8})")


class _Quotas(msgspec.Struct, forbid_unknown_fields=True):
    quotas: list[Quota]


def list_changes(instance: Instance, text: str) -> list[str]:
    """The changes that a word names: `nodes=+4` adds to each pool in turn."""
    word, _, value = text.partition("=")
    return [f"pool.{pool.name}={value}" for pool in instance.pools] if word == "nodes" else [text]


def change(instance: Instance, text: str) -> Instance:
    """Change an instance by one of `list_changes`: validated as if read from a file, without the log's starts."""
    word, _, value = text.partition("=")
    word = word if value else ""
    data = document(instance)
    data["jobs"].pop("logged", None)
    data["name"] = f"{instance.name}, {text}"[:200]
    if word.startswith("pool."):
        name, names = word.removeprefix("pool."), [pool.name for pool in instance.pools]
        require_known(name, names, "--what-if", word)
        if not _NODES.fullmatch(value):
            raise _refuse(word, value, "is not a number of nodes such as +4 or -2")
        data["pools"][names.index(name)]["nodes"] += int(value)
    elif word == "load":
        _change_load(instance, data, value)
    elif word == "limits":
        if value != "true":
            raise _refuse(word, value, "is not true, which lets every job ask for the time that it runs")
        data["jobs"]["limit"] = instance.jobs.run.tolist()
    elif word == "maintenance":
        _close_nodes(instance, data, value)
    elif word == "quota":
        data["quotas"] = msgspec.to_builtins(read_document(value, _Quotas, load_toml).quotas)
    else:
        raise InputError("--what-if", "", f"{shorten(text)} is not one of {GRAMMAR}")
    return parse(data, f"--what-if {text}")


def _refuse(word: str, value: str, problem: str) -> InputError:
    return InputError("--what-if", word, f"{shorten(value)} {problem}")


def _change_load(instance: Instance, data: dict[str, Any], value: str) -> None:
    """Submits come so many times as fast; run times, and what a release is after its submit, stay."""
    if not _LOAD.fullmatch(value) or not Fraction("0.1") <= Fraction(value) <= 10:
        raise _refuse("load", value, "is not a factor in 0.1..10 such as 1.2")
    times, per = Fraction(value).as_integer_ratio()
    begin, jobs = instance.begin, instance.jobs

    def move(second: IntArray) -> IntArray:
        return np.where(second <= begin, second, begin + (second - begin) * per // times)

    submit = move(jobs.submit)
    data["jobs"]["submit"] = submit.tolist()
    data["jobs"]["release"] = np.maximum(begin, submit + jobs.release - np.maximum(begin, jobs.submit)).tolist()
    if instance.judged is not None:
        data["judged"] = move(np.array(instance.judged)).tolist()


def _close_nodes(instance: Instance, data: dict[str, Any], value: str) -> None:
    """Nodes of the largest pool are closed; policies know it from the beginning."""
    if not (match := _MAINTENANCE.fullmatch(value)):
        raise _refuse("maintenance", value, "is not FROM..TO:N, such as 10d..11d:20 or 2024-03-01..2024-03-02:20")
    start, end, count = _second(instance, match[1]), _second(instance, match[2]), int(match[3])
    if not instance.begin <= start < min(end, int((instance.jobs.submit + instance.jobs.run).max())):
        raise _refuse("maintenance", value, "needs a start between beginning and end of the log, and a later end")
    q = max(range(len(instance.pools)), key=lambda q: instance.pools[q].nodes * instance.pools[q].gpus)
    pool, running = instance.pools[q], instance.running
    until = np.repeat(running.end, running.nodes)
    busy = {c.node for c in pool.closures if c.start < end and c.end > start}
    busy |= set((running.node[until > start] - instance.first_node[q]).tolist())
    free = [v for v in range(pool.nodes) if v not in busy]
    if count > len(free):
        has = f"{pool.name} has {len(free)} that are in service then"
        raise InputError("--what-if", "maintenance", f"{count} nodes; {has}")
    rows = [{"node": v, "start": start, "end": end, "announced": instance.begin} for v in free[:count]]
    data["pools"][q].setdefault("closures", []).extend(rows)


def _second(instance: Instance, text: str) -> int:
    """A date or time (UTC), or a time from the beginning such as 10d."""
    with suppress(ValueError):
        return instance.begin + seconds_of(text)
    second, _ = read_second(text, None)
    if second < 0:
        known = "a date or time (2024-03-01T12:00) nor one from the beginning (10d)"
        raise _refuse("maintenance", text, f"is neither {known}")
    return second
