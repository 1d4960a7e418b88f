"""Golden cases: decisions of online algorithms, equal or, for three of them, within a band of welfare."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from tests.golden.case import Case, differences
from tests.golden.commands import document_of

# Relative difference of welfare up to which these algorithms are the same; all others decide the same
BANDS = {"titan": Fraction(2, 1000), "learned": Fraction(1, 100), "guarded": Fraction(1, 100)}


def _generate(recipe: str, folder: str) -> str:
    return str(document_of("generate", recipe, "--out", folder)[0]["file"])


def _canonical(row: Any) -> Any:
    """A decision of a solution file without the names of its fields and the order of its cells."""
    if not isinstance(row, dict):
        return row
    payment = row["payment"]
    return [row["vendor"], sorted(row["cells"]), None if payment is None else str(Fraction(payment))]


def _row(file: str, algorithm: str) -> dict[str, Any]:
    """Run an algorithm: its objective value, the number admitted, and a hash of its decisions."""
    row = document_of("simulate", file, "-a", algorithm, "--no-opt", "--solution", "solution.json")
    if not row["valid"]:
        raise RuntimeError(f"{algorithm}: {row['violations']}")
    value = str(Fraction(row["value"]))
    if algorithm.partition(":")[0] in BANDS:
        return {"value": value}
    decisions = list(map(_canonical, json.loads(Path("solution.json").read_text())["decisions"]))
    digest = hashlib.sha256(json.dumps(decisions).encode()).hexdigest()
    return {"value": value, "admitted": row["admitted"], "decisions": digest[:20]}


def _rows(recipe: str, algorithms: tuple[str, ...], earlier: str, folder: Path) -> dict[str, Any]:
    """The rows of algorithms on an instance, by name; EARLIER in a name is the file of the earlier day."""
    before = _generate(earlier, "before") if earlier else ""
    file = _generate(recipe, "instance")
    return {algorithm: _row(file, algorithm.replace("EARLIER", before)) for algorithm in algorithms}


def _compare(stored: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each row that differs, and for each value outside its band."""
    for algorithm in sorted({*stored, *now}):
        band = BANDS.get(algorithm.partition(":")[0])
        if band is None or algorithm not in stored or algorithm not in now:
            yield from differences({algorithm: stored.get(algorithm)}, {algorithm: now.get(algorithm)})
            continue
        was, value = (Fraction(rows[algorithm]["value"]) for rows in (stored, now))
        if abs(value - was) > band * abs(was):
            yield f"{algorithm}: value was {was}, is {value}: not within {float(100 * band)} %"


def _case(recipe: str, *algorithms: str, earlier: str = "", seconds: float = 1.0) -> Case:
    return Case(partial(_rows, recipe, algorithms, earlier), _compare, seconds)


# The main paper's mechanism in its readings, and its baselines
PAPER = (
    "pdftsp", "pdftsp:search=printed", "pdftsp:units=given", "pdftsp:search=printed,units=given",
    "pdftsp:units=canonical", "pdftsp:payment=critical,units=given", "pdftsp:units=given,updates=admitted",
    "pdftsp:money=1000,units=given", "pdftsp:arith=float,units=given", "pdftsp:alpha=3,beta=1/2,units=given",
    "eft", "eft:admit=all", "ntm", "ntm:admit=all", "eris",
)  # fmt: skip

OURS = ("greedy", "posted", "posted:growth=2", "posted:room=ignored,margin=3/2", "capped", "capped:growth=3,scale=1/2")
BANDED = ("titan", "learned", "guarded:beta=59")
# Price laws and baselines of the literature, and price rules of ours
LITERATURE = (
    "zcl", "zcl:start=flat", "zcl:start=zero", "reserve", "reserve:loss=1/100000", "advice", "pooled", "units",
    "static", "static:split=8", "static:price=20", "mirror", "mirror:rule=first-order", "minimal-edit",
    "minimal-edit:units=canonical", "bbar-rule", "bbar-rule:divisor=2",
)  # fmt: skip

ON_ONE_NODE = ("pdftsp:migrate=no,units=given", *(f"{name}:migrate=no" for name in ("eft", "greedy", "posted", "eris")))
FROM_EARLIER_DAYS = (
    "learned:history=EARLIER", "learned:guard=29,history=EARLIER", "guarded:beta=29,history=EARLIER",
    "posted:prior=EARLIER", "pdftsp:prior=EARLIER,units=given", "eris:prior=EARLIER", "advice:history=EARLIER",
    "mirror:history=EARLIER",
)  # fmt: skip
EAPM = (
    "online", "online:rule=exact-step", "online:shares=kept,makespan=system", "online:shares=excluded", "greedy",
    "average", "balance",
)  # fmt: skip
EDGEFLOW = (
    "edgeflow", "edgeflow:stay=no", "edgeflow:offload=no", "edgeflow:rescue=no", "elasticflow",
    "elasticflow:block=artifact,margin=none", "elasticflow:spare=large,admit=batch,slot=60", "elasticflow:edge=any",
    "edf", "edf:share=elastic", "edf:late=keep", "gandiva", "tiresias", "afs", "hold", "hold:windows=hidden",
)  # fmt: skip
TENANTS = (
    "patent", "patent:search=best-first,expansions=2000", "patent:h=least,load=no", "patent:h=slack,width=20", "greedy",
    "insertion", "replan", "edf", "fifo", "wspt", "random", "cheapest", "fastest", "least-loaded",
)  # fmt: skip
# The policies that a backtest compares by default
CLUSTER = (
    "fcfs", "firstfit", "easy", "easy:reservations=10", "easy:candidates=shortest",
    "easy:belief=last2,candidates=shortest", "easy:order=shortest", "easy:order=smallest", "easy:order=area",
    "easy:order=wfp3", "easy:order=unicep", "easy:order=f1", "conservative", "replan", "replan:gpu_hours=100",
    "easy:belief=true,candidates=shortest",
)  # fmt: skip

CASES: dict[str, Case] = {
    "lora vendors": _case("named:instance=tiny_vendors", *PAPER, *OURS, *BANDED),
    "lora 18 tasks": _case("named:instance=thm5_T2_drop_18tasks", *PAPER, *OURS, *BANDED, *ON_ONE_NODE),
    "lora day of Philly": _case(
        "day:trace=philly,day=2017-10-15,nodes=3",
        *PAPER,
        *OURS,
        *BANDED,
        *FROM_EARLIER_DAYS,
        earlier="day:trace=philly,day=2017-10-14,nodes=3,tasks=300,seed=1",
        seconds=25,
    ),
    "lora part": _case(
        "paper:slots=40,nodes=4,arrivals.poisson=6", *PAPER, *OURS, *BANDED, *LITERATURE, *ON_ONE_NODE, seconds=9
    ),
    "lora own sizes": _case(
        "day:trace=pai,nodes=5,tasks=250,sizes=own", *PAPER, *OURS, *BANDED, *LITERATURE, seconds=18
    ),
    "lora wide sizes": _case("day:trace=helios,nodes=8,tasks=200,sizes=wide", *PAPER, *OURS, *BANDED, seconds=20),
    "eapm shares": _case("named:instance=negative_shares", *EAPM),
    "eapm ties": _case("named:instance=greedy_ties", *EAPM),
    "eapm Table 1": _case("table1:gamma=1.15", *EAPM),
    "eapm users": _case("users:users=200,gamma=1.3,seed=1", *EAPM),
    "eapm order": _case("orders:users=60,order=BaS", *EAPM),
    "eapm range": _case("users:users=80,matrix.method=range,price=printed,gamma=2", *EAPM),
    "edgeflow edge": _case("named:instance=edge_closes", *EDGEFLOW),
    "edgeflow seconds": _case("named:instance=equal_seconds", *EDGEFLOW),
    "edgeflow day of PAI": _case("gpu-day:cluster=pai,jobs=120,gpus=16,servers=4", *EDGEFLOW),
    "edgeflow day of Helios": _case("gpu-day:cluster=helios,jobs=150,gpus=32,servers=16,tightness=20-60", *EDGEFLOW),
    "edgeflow testbed": _case("elasticflow:trace=testbed,servers=8", *EDGEFLOW),
    "edgeflow T4": _case("elasticflow:trace=t4,jobs=100,gpus=32", *EDGEFLOW),
    "tenants ties": _case("named:instance=ties", *TENANTS, "lookahead"),
    "tenants late": _case("named:instance=all_late", *TENANTS, "lookahead"),
    "tenants batch": _case("batch:jobs=30", *TENANTS),
    "tenants online": _case("online:jobs=60,seed=1", *TENANTS),
    "tenants load": _case("online:jobs=40,load=2,trace=philly,tenants=4,wait=runs", *TENANTS),
    "cluster wait": _case("month:days=3,nodes=2,jobs=150,load=95", *CLUSTER, seconds=5),
    "cluster slowdown": _case("month:days=3,nodes=2,jobs=150,load=95,cost=slowdown,seed=2", *CLUSTER, seconds=5),
    "tenants GPUs": _case("online:jobs=50,gpus=1+1+1,trace=helios,theta=3,seed=2", *TENANTS, "lookahead"),
}
