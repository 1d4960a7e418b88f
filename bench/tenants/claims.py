"""Claims of the patent about its search, checked on one run against the certified interval on OPT.

Some checks play another reading, or another policy, beside the run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

from ratiobench.bench.family.checks import ANOTHER, Check, Verdict, compare_sides
from ratiobench.bench.family.source import read_sources
from ratiobench.bench.theory.claim import Case, Claim, keep_by_content, make_claims
from ratiobench.formulations.tenants.tables import queues_of, tables
from ratiobench.instances.tenants.format import content_hash
from ratiobench.instances.tenants.model import Instance, Solution
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.tenants import registry
from ratiobench.online.tenants.algorithms.patent import HEURISTICS, Means
from ratiobench.online.tenants.run import run

AUDITS = "1"  # Version of all checks. Raise it with every claim that is added and every check whose outcome changes.
NOTATION = (
    ("F = g + h + l", "objective of the search: cost of the placed jobs, estimate for the other jobs, load term"),
    ("h_J", "the summand of h for a job that is not placed"),
    ("l", "the standard deviation of the cost over the GPUs"),
    ("theta, lambda", "the prices of a tick of a job's time and of its lateness"),
    ("OPT", "the least cost of any deployment, all jobs known beforehand; an interval [lower, upper]"),
)
WITNESSES = 8  # Jobs of a witness that are named
ORDER_JOBS = 100  # Above so many jobs the search is not played again with other prices
RIVAL = "edf"  # Whom the search is held against with other prices


# Whose runs a claim is about: empty, or why it does not apply.


def _options(run: OnlineRun) -> dict[str, str]:
    return dict(registry.parse(run.algorithm).options)


def _search(case: Case[Instance]) -> str:
    if registry.parse(case.run.algorithm).head != "patent":
        return f"{ANOTHER}`patent`"
    return "" if case.instance.jobs else "there is no job"


def _batch(case: Case[Instance]) -> str:
    reason = _search(case)
    return reason or ("jobs are released over time" if case.instance.release.any() else "")


def _with_load(case: Case[Instance]) -> str:
    return _search(case) or ("" if _options(case.run)["load"] == "yes" else f"{ANOTHER}`patent` with load=yes")


def _with_h(case: Case[Instance]) -> str:
    return _search(case) or (f"{ANOTHER}`patent` with an h" if _options(case.run)["h"] == "zero" else "")


def _default(case: Case[Instance]) -> str:
    reason = _batch(case)
    if reason or case.run.algorithm != "patent":
        return reason or f"{ANOTHER}`patent` with all options at their defaults"
    return "" if case.instance.jobs <= ORDER_JOBS else f"more than {ORDER_JOBS} jobs"


def _optimal(case: Case[Instance]) -> Check:
    _, run, reference = case
    cost = int(run.welfare)
    found = compare_sides(cost, int(reference.upper), "cost <= upper end of OPT", sure=cost <= reference.lower)
    if found.status is not Verdict.VIOLATED or reference.solution is None:
        return found
    return replace(found, witness={"cheaper_deployment": _moved(run.decisions, reference.solution)})


def _moved(ours: Solution, theirs: Solution) -> list[list[int]]:
    """[job, its GPU, its start] in the other schedule, of the first jobs that stand elsewhere in it."""
    pairs = zip(ours, theirs, strict=True)
    return [[j, *other] for j, (own, other) in enumerate(pairs) if other is not None and own != other][:WITNESSES]


def _admissible(case: Case[Instance]) -> Check:
    """Along a verified schedule: the last jobs of its queues, against what they cost there.

    With all other jobs placed as in it these cost no more, so h may not be above that for any choice of how many last
    jobs of every queue; the choice that is worst for h is the worst of every queue.
    """
    instance, run, reference = case
    public, jobs = instance.public(), [instance.job(j) for j in range(instance.jobs)]
    values = [HEURISTICS[_options(run)["h"]](Means(public, job, 0)) for job in jobs]
    least = [min(public.cost(job, k, job.release + r) for k, r in enumerate(job.run)) for job in jobs]
    h, true, unplaced = Fraction(0), 0, []
    if reference.solution is not None:
        for gpu, queue in enumerate(queues_of(tables(instance), reference.solution)):
            kind = int(instance.gpu_type[gpu])
            ends = {j: reference.solution[j].tick + jobs[j].run[kind] for j in queue}
            costs = {j: public.cost(jobs[j], kind, ends[j]) for j in queue}
            lasts = [queue[first:] for first in range(len(queue) + 1)]
            worst = max(lasts, key=lambda last: sum((values[j] - costs[j] for j in last), Fraction(0)))
            h, true = h + sum(values[j] for j in worst), true + sum(costs[j] for j in worst)
            unplaced += worst
    sure = all(value <= lowest for value, lowest in zip(values, least, strict=True))
    found = compare_sides(h, true, "h of some jobs <= what they cost in a verified deployment", sure=sure)
    if found.status is Verdict.VIOLATED:
        return replace(found, witness={"not_placed": sorted(unplaced)[:WITNESSES]})
    return found


def _against(other: Callable[[OnlineRun], str], what: str) -> Callable[[Case[Instance]], Check]:
    def check(case: Case[Instance]) -> Check:
        instance, run, _ = case
        rival = _play(instance, other(run))
        return compare_sides(int(run.welfare), int(rival.welfare), f"cost <= cost of {what}")

    return check


def _named(**changed: str) -> Callable[[OnlineRun], str]:
    def name(run: OnlineRun) -> str:
        return "patent:" + ",".join(f"{key}={value}" for key, value in (_options(run) | changed).items())

    return name


def _order(case: Case[Instance]) -> Check:
    """Both played again with theta and lambda a tenth and ten times as large."""
    instance, run, _ = case

    def ahead(each: Instance) -> int:
        ours, theirs = (int(_play(each, name).welfare) for name in (run.algorithm, RIVAL))
        return (ours > theirs) - (ours < theirs)

    before, turned = ahead(instance), []
    for key in ("theta", "late_penalty"):
        for up, down in ((1, 10), (10, 1)):
            value = getattr(instance, key) * up // down
            if before * ahead(replace(instance, **{key: value}, cache={})) < 0:
                turned.append(f"{key} x {Fraction(up, down)}")
    found = compare_sides(len(turned), 0, f"prices at which {RIVAL} and the search change places <= 0")
    return replace(found, witness={"changes_at": turned}) if turned else found


_play = keep_by_content(content_hash, 64)(run)


_CLAIM = "the patent's claim 7; its text is lost, `patent` reads it as a beam or best-first search by F"
_false_claim = partial(Claim, standing="false in general")
# The claims in the order in which an audit checks them
CLAIMS: tuple[Claim[Case[Instance]], ...] = (
    _false_claim(
        name="optimal",
        statement="The search finds the deployment of least composite cost.",
        source=_CLAIM,
        assumptions="a run of `patent` on jobs that are all released at once",
        repaired="With h=least, load=no and search=best-first it does: h never exceeds the remaining cost.",
        flaw="F differs from the cost where l counts, and h may exceed the remaining cost.",
        applies=_batch,
        check=_optimal,
    ),
    _false_claim(
        name="admissible",
        statement="The heuristic cost of the jobs that are not placed is never above their cost.",
        source="a condition for the optimality of best-first search; the patent does not state it",
        assumptions="a run of `patent` on jobs that are all released at once",
        repaired="h=least: the cost of a job that runs at once on an idle GPU of its best type.",
        flaw="a mean run at a mean price is above the cheapest run; a ratio to a tight deadline has no bound.",
        applies=_batch,
        check=_admissible,
    ),
    _false_claim(
        name="load_pays",
        statement="With the load term the search finds a deployment that is no dearer than without it.",
        source="examined by this project; the patent adds the term and states no benefit",
        assumptions="a run of `patent` with load=yes",
        repaired="load=no",
        flaw="l splits jobs over GPUs that all belong on one.",
        asked=True,
        applies=_with_load,
        check=_against(_named(load="no"), "the same search without the load term"),
    ),
    _false_claim(
        name="h_pays",
        statement="With its heuristic cost the search finds a deployment that is no dearer than without it.",
        source="asked here",
        assumptions="a run of `patent` with another h than zero",
        flaw="large h of jobs not placed yet draws long ones to the front, where they delay all others.",
        asked=True,
        applies=_with_h,
        check=_against(_named(h="zero"), "the same search with h=zero"),
    ),
    _false_claim(
        name="search_pays",
        statement="The search is never dearer than insertion, job by job at the place of least extra cost.",
        source="asked here",
        assumptions="a run of `patent`",
        flaw="a job is placed on a tail for good, so that the order of placing is the order of running.",
        asked=True,
        applies=_search,
        check=_against(lambda run: "insertion", "`insertion`"),
    ),
    _false_claim(
        name="order",
        statement=f"The order of the search and `{RIVAL}` does not depend on the values of theta and lambda.",
        source="examined by this project; theta = P m/n and lambda = P n/m are an uncertain reading of lost formulas",
        assumptions=f"a run of `patent` as it is by default, at most {ORDER_JOBS} jobs, all released at once",
        flaw="where lateness weighs little, another order is best.",
        asked=True,
        applies=_default,
        check=_order,
    ),
)
THEORY = make_claims(CLAIMS, AUDITS, NOTATION, Case[Instance])
audit = THEORY.audit
SOURCES = read_sources(Path(__file__).with_name("sources.toml"))
