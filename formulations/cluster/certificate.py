"""The certificate of an interval on OPT, `ratiobench/cluster-certificate/1`: one document that anybody can check.

It holds what makes both ends true for one instance and one cost: prices per class, pool and segment of time, in
integers of 1/scale of cost per second, for each leaf of a tree of branches on starts, and a schedule with its nodes.
`ratiobench.formulations.cluster.verify` recomputes both ends.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import replace

from ratiobench.instances.cluster.model import Schedule
from ratiobench.instances.io.documents import Digest, Documents, convert, to_document
from ratiobench.instances.io.files import sha256_of

FORMAT: Literal["ratiobench/cluster-certificate/1"] = "ratiobench/cluster-certificate/1"
MOST_BRANCHES = 1_000  # So that the checker's time is bounded
LARGEST = 2**24  # Most segments, and the largest number of a class, a pool or a node

Place = Annotated[int, Meta(ge=0, le=LARGEST)]
Price = Annotated[int, Meta(ge=0, le=2**62)]
Second = Annotated[int, Meta(ge=-(2**40), le=2**40)]
LARGEST_VALUE = 2**62
Value = Annotated[int, Meta(ge=-LARGEST_VALUE, le=LARGEST_VALUE)]


class PriceRow(Struct, forbid_unknown_fields=True, frozen=True, omit_defaults=True):
    """Prices of one class on one pool in consecutive segments, from segment `first` on; 0 in all others."""

    job_class: Place
    pool: Place
    first: Place
    prices: list[Price]
    leaf: Place = 0


class Branch(Struct, forbid_unknown_fields=True, frozen=True):
    """Splits a leaf: it keeps the schedules in which the job starts before the second; a new leaf has the others.

    Leaves are numbered as they arise; leaf 0 has all schedules at first.
    """

    leaf: Place
    job: Place
    second: Second


class Certificate(Struct, forbid_unknown_fields=True, frozen=True, omit_defaults=True):
    """A claim lower / scale <= OPT <= upper / scale about one instance and cost, with what proves it."""

    format: Literal["ratiobench/cluster-certificate/1"]
    instance: Digest  # of the instance's content
    cost: Literal["wait-gpu-hours", "wait", "wait-gpus", "slowdown"]
    scale: Annotated[int, Meta(ge=1, le=2**40)]
    borders: Annotated[list[Second], Meta(min_length=2, max_length=LARGEST)]
    classes: list[Place]  # of every job
    rows: list[PriceRow]
    scaled_lower: Value
    scaled_upper: Value
    starts: list[Second]
    pools: list[Place]
    nodes: list[Place]  # of all jobs, one behind the other, counted through all pools
    sha256: Digest
    branches: Annotated[list[Branch], Meta(max_length=MOST_BRANCHES)] = []

    @property
    def lower(self) -> Fraction:
        """The lower end, in the unit of the cost."""
        return Fraction(self.scaled_lower, self.scale)

    @property
    def upper(self) -> Fraction:
        """The upper end, in the unit of the cost."""
        return Fraction(self.scaled_upper, self.scale)

    @property
    def decisions(self) -> Schedule:
        """The schedule whose cost is `upper`, rounded up."""
        return Schedule(*(np.array(column, dtype=np.int64) for column in (self.starts, self.pools, self.nodes)))


def seal(certificate: Certificate) -> str:
    """SHA-256 of the document without `sha256`: no change of a file passes unseen."""
    content = to_document(certificate)
    del content["sha256"]
    return sha256_of(content)


def make_claim(**content: Any) -> Certificate:
    """Build a certificate without a schedule and without a seal."""
    blank: dict[str, Any] = {"scaled_lower": 0, "scaled_upper": 0, "starts": [], "pools": [], "nodes": []}
    return Certificate(format=FORMAT, sha256="0" * 64, **blank | content)


def complete(claim: Certificate, schedule: Schedule, cost: Fraction) -> Certificate:
    """Build the sealed certificate of a claim and a schedule of this cost."""
    columns = {"starts": schedule.start, "pools": schedule.pool, "nodes": schedule.node}
    lists = {name: column.tolist() for name, column in columns.items()}
    certificate = replace(claim, scaled_upper=math.ceil(cost * claim.scale), **lists)
    return replace(certificate, sha256=seal(certificate))


def parse(data: Any, source: str = "<document>") -> Certificate:
    """Read a decoded document; only its form is judged, not its truth."""
    return convert(data, Certificate, source)


def join_documents(solved: Any, bounded: Any) -> dict[str, Any]:
    """Join the schedule of one valid certificate and the prices of another one of the same instance and cost."""
    certificate = parse(solved)
    return to_document(complete(parse(bounded), certificate.decisions, certificate.upper))


write = Documents(parse, to_document).write
