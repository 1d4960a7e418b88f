"""Golden cases: certified intervals on OPT, which must meet the stored ones and be about as narrow."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from tests.golden.case import Case, differences
from tests.golden.commands import document_of

WIDER = Fraction(2, 100)  # Percentage points by which a gap may be wider than the stored one

ENDS = ("lower", "upper")


def _interval(recipe: str, folder: Path) -> dict[str, Any]:
    """The interval of `opt` at effort 1, and whether a solution that `check` accepts attains one of its ends."""
    file = document_of("generate", recipe, "--out", "instance")[0]["file"]
    row = document_of("opt", file, "--solution", "solution.json")
    document = {end: str(Fraction(row[end])) for end in ENDS}
    verdict = document_of("check", file, "solution.json")
    value = verdict.get("welfare", verdict.get("met"))
    return {**document, "attained": bool(verdict["valid"]) and str(Fraction(value)) in document.values()}


def _certificate(recipe: str, folder: Path) -> dict[str, Any]:
    """The interval of `opt --certificate`, and the verdict of the independent checker on its certificate."""
    file = document_of("generate", recipe, "--out", "instance")[0]["file"]
    row = document_of("opt", file, "--certificate", "certificate.json")
    document = {end: str(Fraction(row[end])) for end in ENDS}
    verdict = document_of("check", file, "--certificate", "certificate.json")
    proved = verdict["valid"] and {end: str(Fraction(verdict[end])) for end in ENDS} == document
    return {**document, "valid": verdict["valid"], "problem": verdict["problem"], "proved": proved}


def _gap(interval: dict[str, Fraction]) -> Fraction:
    """The width of an interval in percent of its larger end."""
    largest = max(map(abs, interval.values()))
    return 100 * (interval["upper"] - interval["lower"]) / largest if largest else Fraction(0)


def _compare(stored: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """Yield a line if an interval is none, does not meet the stored one or is wider, and one for each other field."""
    was, interval = ({end: Fraction(document[end]) for end in ENDS} for document in (stored, now))
    text = f"was [{stored['lower']}, {stored['upper']}], is [{now['lower']}, {now['upper']}]"
    if interval["lower"] > interval["upper"]:
        yield f"the ends are in the wrong order: {text}"
    if max(was["lower"], interval["lower"]) > min(was["upper"], interval["upper"]):
        yield f"does not meet the stored interval: {text}"
    if _gap(interval) > _gap(was) + WIDER:
        yield f"gap was {float(_gap(was)):.4f} %, is {float(_gap(interval)):.4f} %: {text}"
    yield from differences(_without_ends(stored), _without_ends(now))


def _without_ends(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in ENDS}


# Recipes whose interval at effort 1 is compared, and about the CPU seconds of each
RECIPES = {
    "day:nodes=2,tasks=20,seed=1": 1,
    "day:nodes=4,tasks=60,seed=2,trace=pai": 1,
    "day:nodes=2,tasks=40,slots=40,start=50,seed=3": 1,
    "day:nodes=2,tasks=20,slots=30,start=50,seed=4,sizes=own": 0,
    "day:nodes=2,tasks=20,slots=30,start=50,seed=5,sizes=wide": 1,
    "day:nodes=8,tasks=200,seed=6,trace=helios": 15,
    "day:nodes=20,tasks=200,seed=7": 2,
    "day:nodes=8,tasks=100,sizes=own,seed=8": 0,
    "day:nodes=8,tasks=100,sizes=wide,seed=9": 2,
    "day:nodes=2,tasks=12,slots=20,start=60,seed=10": 0,
    "day:nodes=14,tasks=1000,seed=11,trace=pai": 14,
    "day:nodes=28,tasks=2000,seed=12,trace=helios": 11,
    "paper:nodes=3,tasks=30,slots=36,seed=13": 0,
    "day:nodes=2,tasks=40,slots=40,start=60,seed=21": 3,
    "day:nodes=2,tasks=40,slots=40,start=60,seed=22,trace=pai,sizes=own": 1,
    "day:nodes=4,tasks=100,slots=40,start=60,seed=25": 4,
    "day:nodes=4,tasks=100,slots=40,start=60,seed=26,sizes=own": 4,
    "day:nodes=6,tasks=500,seed=29,sizes=own": 12,
    "day:nodes=10,tasks=400,seed=30,sizes=wide": 4,
    "day:nodes=10,tasks=500,seed=31,mix=a100,deadlines=tight": 6,
    "paper:nodes=3,tasks=60,slots=40,arrivals.trace=philly,colocation=4": 3,
    "named:instance=thm5_T2_drop_18tasks": 0,
    "users:users=10": 0,
    "users:users=100,gamma=1.3": 0,
    "table1:gamma=1.1": 0,
    "orders:users=30,order=BaS": 0,
    "orders:users=200,order=Equal": 0,
    "users:users=40,matrix.method=cvb": 0,
    "users:users=40,matrix.method=range": 0,
    "named:instance=negative_opt": 0,
    "users:users=1000,gamma=1.3": 1,
    "gpu-day:jobs=20": 0,
    "gpu-day:cluster=helios,jobs=60,gpus=32,servers=4": 12,
    "elasticflow:trace=testbed": 2,
    "elasticflow:trace=t4,jobs=50": 0,
    "elasticflow:trace=cluster10": 2,
    "batch:jobs=12": 0,
    "batch:jobs=40": 2,
    "online:jobs=30": 1,
    "online:jobs=120,load=2": 4,
    "online:jobs=20,load=2,tenants=3": 1,
    "month:days=1,nodes=1,jobs=16,load=400,seed=e": 3,
    "month:days=2,nodes=2,jobs=60,cost=wait-gpu-hours": 4,
}

# Parts of 20 to 60 tasks and small instances whose certificate is compared, and about the CPU seconds of each
CERTIFIED = {
    "day:nodes=2,tasks=20,slots=40,start=40,seed=2,sizes=own": 2,
    "day:nodes=2,tasks=30,slots=40,start=40,seed=3,trace=pai": 2,
    "day:nodes=2,tasks=40,slots=40,start=40,seed=4,trace=helios": 1,
    "day:nodes=2,tasks=40,slots=40,start=50,seed=3": 2,
    "day:nodes=2,tasks=20,slots=30,start=50,seed=5,sizes=wide": 1,
    "day:nodes=2,tasks=30,slots=40,start=40,seed=51,sizes=own": 5,
    "day:nodes=3,tasks=60,slots=40,start=40,seed=52,trace=helios": 5,
    "day:nodes=2,tasks=24,slots=40,start=60,seed=53,sizes=wide,trace=pai": 11,
    "users:users=100,gamma=1.3": 0,
    "gpu-day:jobs=20": 0,
    "online:jobs=30": 1,
    "month:days=1,nodes=1,jobs=16,load=400,seed=e": 3,
}

CASES = {
    **{recipe: Case(partial(_interval, recipe), _compare, seconds) for recipe, seconds in RECIPES.items()},
    **{
        f"certificate {recipe}": Case(partial(_certificate, recipe), _compare, seconds)
        for recipe, seconds in CERTIFIED.items()
    },
}
