"""Jobs on one machine: any job may be stopped and taken up again, and the machine is closed now and then."""

import hashlib
import json
from dataclasses import dataclass

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.fields import Fields
from ratiobench.instances.io.seeds import Stream

FORMAT = "ratiobench/queue/1"


@dataclass(frozen=True)
class Instance:
    """Jobs (arrival, work) in the order of arrival, and times [from, to) at which the machine is closed; seconds."""

    name: str
    jobs: tuple[tuple[int, int], ...]
    closed: tuple[tuple[int, int], ...]

    def is_open(self, second):
        return not any(start <= second < end for start, end in self.closed)


def parse(data, source="<document>"):
    """The instance in a document; InputError names the file, the field and the value."""
    top = Fields(source, "", data, {"format", "name", "jobs", "closed"}, set())
    pairs = {}
    for field, least in (("jobs", 1), ("closed", 0)):
        pairs[field] = []
        for i, raw in enumerate(top.items(field)):
            if not isinstance(raw, list) or len(raw) != 2 or any(type(x) is not int or x < 0 for x in raw):
                raise InputError(source, f"{field}[{i}]", f"{raw!r} is not a pair of whole numbers >= 0")
            if raw[1] < least:
                raise InputError(source, f"{field}[{i}]", f"{raw[1]} is less than {least}")
            pairs[field].append(tuple(raw))
    if pairs["jobs"] != sorted(pairs["jobs"], key=lambda job: job[0]):
        raise InputError(source, "jobs", "jobs stand in the order of arrival")
    return Instance(top.text("name"), tuple(pairs["jobs"]), tuple(pairs["closed"]))


def dumps(instance):
    """The text of an instance's file."""
    return json.dumps({"format": FORMAT, "name": instance.name, "jobs": instance.jobs, "closed": instance.closed})


def loads(data, source="<string>"):
    """The instance in the bytes of a file."""
    return parse(json.loads(data), source)


def read(path):
    """The instance in a file."""
    with open(path, "rb") as file:
        return loads(file.read(), path)


def content_hash(instance):
    """SHA-256 of the content."""
    return hashlib.sha256(json.dumps([instance.jobs, instance.closed]).encode()).hexdigest()


def describe(instance):
    """Figures to show beside an instance."""
    return {"tasks": len(instance.jobs), "work": sum(work for _, work in instance.jobs)}


def generate(recipe):
    """The instance of a recipe: the same on any machine, for the seed is a name."""
    stream = Stream("queue", recipe["seed"])
    arrivals = sorted(int(x) for x in stream.integers(0, 3 * recipe["jobs"], recipe["jobs"]))
    works = [int(x) for x in stream.integers(1, 9, recipe["jobs"])]
    return Instance(f"queue{recipe['seed']}", tuple(zip(arrivals, works, strict=True)), ((5, 8), (20, 21)))


def solution_document(solution):
    """A solution as JSON values: what was asked, about which job, and the answer, in the order of time."""
    return {"decisions": [list(entry) for entry in solution]}


def parse_solution(data, source):
    """The solution in a document."""
    if not isinstance(data, dict) or not isinstance(data.get("decisions"), list):
        raise InputError(source, "decisions", "is not a list")
    return tuple(tuple(entry) for entry in data["decisions"])


def plain(answer):
    """An answer in builtin types: the job that runs from now on, or None for none."""
    if answer is not None and type(answer) is not int:
        raise TypeError(answer)
    return answer
