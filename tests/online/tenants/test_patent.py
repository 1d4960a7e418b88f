"""The patent's search: what it finds, in every reading, against brute force and against a search in plain Python."""

import heapq
from fractions import Fraction
from itertools import product
from math import sqrt
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.formulations.tenants.subsets import enumerate_optimum
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.tenants.format import parse
from ratiobench.instances.tenants.generate import expected, generate, named, names
from ratiobench.instances.tenants.model import Instance
from ratiobench.online.tenants.algorithms.patent import HEURISTICS, LIMIT, Means, scale_values
from ratiobench.online.tenants.run import run
from tests.support.samples import samples
from tests.support.strategies.tenants import tenants_documents


@st.composite
def batches(draw: Any) -> Instance:
    """A tiny instance, all jobs released at once."""
    document = draw(tenants_documents())
    for job in document["jobs"]:
        job["release"] = 0
    return parse(document, "batch")


def reference(instance: Instance, h: str, load: bool) -> set[int]:
    """The costs at which a best-first search may end that keeps every state: those of the least F, within 1e-9."""
    public, jobs = instance.public(), [instance.job(j) for j in range(instance.jobs)]
    values = [Fraction(HEURISTICS[h](Means(public, job, 0))) for job in jobs]
    m = instance.gpus
    start = (Fraction(0), (), (0,) * m, (0,) * m)
    heap: list[Any] = [(0.0, 0, *start)]
    seen, count, ends, least = set(), 0, set(), None
    while heap:
        f, _, _, placed, free, costs = heapq.heappop(heap)
        if least is not None and f > least * (1 + 1e-9) + 1e-9:
            return ends
        if len(placed) == len(jobs):
            least = f if least is None else least
            ends.add(sum(costs))
            continue
        for j, g in product(range(len(jobs)), range(m)):
            if j in placed:
                continue
            kind = int(instance.gpu_type[g])
            end = free[g] + jobs[j].run[kind]
            paid = costs[g] + public.cost(jobs[j], kind, end)
            child = (tuple(sorted((*placed, j))), (*free[:g], end, *free[g + 1 :]), (*costs[:g], paid, *costs[g + 1 :]))
            if child in seen:
                continue
            seen.add(child)
            mean = sum(child[2]) / m
            spread = round(sqrt(sum((c - mean) ** 2 for c in child[2]) / m)) if load else 0
            rest = sum((values[i] for i in range(len(jobs)) if i not in child[0]), Fraction(0))
            count += 1
            heapq.heappush(heap, (float(sum(child[2]) + rest) + spread, count, Fraction(0), *child))
    return ends


@settings(max_examples=samples(40), deadline=None)
@given(instance=batches(), h=st.sampled_from(sorted(HEURISTICS)), load=st.booleans())
def test_best_first_ends_where_plain_python_does(instance: Instance, h: str, load: bool) -> None:
    """In every reading, merged states and scaled fractions change nothing."""
    made = run(instance, f"patent:search=best-first,h={h},load={'yes' if load else 'no'}")
    assert made.valid
    assert made.counts["cut_short"] == 0
    assert made.welfare in reference(instance, h, load)


@settings(max_examples=samples(60), deadline=None)
@given(instance=batches(), h=st.sampled_from(["least", "zero"]))
def test_an_admissible_estimate_without_load_is_optimal(instance: Instance, h: str) -> None:
    """Best-first to the end, and a beam wider than there are states."""
    best = enumerate_optimum(instance)[0]
    assert run(instance, f"patent:search=best-first,h={h},load=no").welfare == best
    assert run(instance, f"patent:width=5000,h={h},load=no").welfare == best


@pytest.mark.parametrize("name", [name for name in names() if "search" in expected(name)])
def test_the_witnesses(name: str) -> None:
    search = dict(expected(name)["search"])
    cost = search.pop("cost")
    made = run(named(name), "patent:" + ",".join(f"{key}={value}" for key, value in search.items()))
    assert made.welfare == cost > expected(name)["opt"]


def test_limits_are_told() -> None:
    """After so many expansions the rest is appended, counted, and said in the label."""
    instance = generate({"kind": "batch", "jobs": 8, "gpus": [1, 1, 1], "seed": ["limit"]})
    made = run(instance, "patent:search=best-first,expansions=5")
    assert made.valid
    assert made.counts["cut_short"] == 1
    assert made.label == "patent:expansions=5,search=best-first (at limit 1 of 1)"
    assert run(instance, "patent:width=5").label == "patent:width=5"


def test_forty_jobs_on_eight_gpus_take_less_than_a_second() -> None:
    """A beam of 100, compiled; the least of three runs."""
    instance = generate({"kind": "batch", "jobs": 40, "gpus": [2, 2, 4], "seed": ["limit"]})
    runs = [run(instance, "patent") for _ in range(3)]
    assert min(made.seconds for made in runs) < 1
    assert len({made.decisions for made in runs}) == 1


def test_equal_jobs_and_gpus_count_once() -> None:
    """Twelve equal jobs on three equal GPUs have few states: the search comes to its end after a few of them."""
    job = {"release": 0, "deadline": 5, "cost_sensitivity": 50, "run": [2]}
    head = {"format": "ratiobench/tenants/1", "name": "equal", "tick_seconds": 60, "theta": 1, "late_penalty": 1}
    instance = parse({**head, "gpu_types": [{"name": "a", "count": 3, "price": 1}], "jobs": [job] * 6})
    made = run(instance, "patent:search=best-first,h=least,load=no")
    assert made.counts["expanded"] < 2**6 * 3
    assert made.valid


@pytest.mark.parametrize("option", ["width=0", "width=x", "width=1000001", "expansions=0", "h=none", "load=1"])
def test_options_that_do_not_do(option: str) -> None:
    with pytest.raises(InputError, match=option.partition("=")[0]):
        run(named("ties"), f"patent:{option}")


def test_fractions_are_scaled_exactly_where_that_fits() -> None:
    """Else rounded down; sums stay below the limit."""
    values, scale = scale_values([Fraction(1, 3), Fraction(5, 4), 7], 100)
    assert (values.tolist(), scale) == ([4, 15, 84], 12)
    values, scale = scale_values([Fraction(1, 3), Fraction(2**70)], 2**60)
    assert scale == 1
    assert values.sum() <= LIMIT
