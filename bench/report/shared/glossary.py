"""What the words of the page mean: its algorithms, groups, signs and terms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.results.read import Results
from ratiobench.bench.results.remarks import is_user_algorithm
from ratiobench.formulations.report import Proof

NAMED = 6  # Cases of a group that are named


@dataclass(frozen=True, slots=True)
class Entry:
    """A word and what it means. `place`: its id on the page. `more`: further lines. `own`: anyone's own algorithm."""

    place: str
    word: str
    meaning: str
    more: Sequence[str] = ()
    own: bool = False


@dataclass(frozen=True, slots=True)
class Glossary:
    """All of them, by what they are."""

    algorithms: Sequence[Entry]
    groups: Sequence[Entry]
    signs: Sequence[Entry]
    terms: Sequence[Entry]


def algorithm_place(algorithm: str) -> str:
    """The id of an algorithm's entry: variants of one have one."""
    return f"algorithm-{_slug(_head(algorithm))}"


def group_place(group: str) -> str:
    """The id of a group's entry."""
    return f"group-{_slug(group)}"


def make_glossary(found: Results, family: Family, groups: Mapping[str, str]) -> Glossary:
    """What is on the page of these results; `groups` has the suite's words for its groups."""
    return Glossary(
        list(_algorithms(found, family)),
        list(_groups(found, groups)),
        [Entry(f"sign-{place}", sign, meaning) for place, (sign, meaning) in enumerate(family.notation())],
        list(_terms(found, family)),
    )


def _head(algorithm: str) -> str:
    """The name without options: of anyone's own the import path."""
    parts = algorithm.split(":")
    return ":".join(parts[:2]) if is_user_algorithm(algorithm) else parts[0]


def _slug(name: str) -> str:
    """A name as an id: what is no letter or digit is its code, so no two names have the same."""
    return re.sub(r"[^A-Za-z0-9]", lambda found: "-" if found[0] == " " else f"_{ord(found[0]):x}_", name)


def _algorithms(found: Results, family: Family) -> Iterator[Entry]:
    known = {each.name: each.summary for each in family.algorithms()}
    names: dict[str, dict[str, None]] = {}
    for name in found.rows["algorithm"]:
        names.setdefault(_head(str(name)), {})[str(name)] = None
    for head, variants in names.items():
        summary = re.split(r"; (?=\w+=)", known.get(head, ""))[0]
        meanings = family.option_meanings(head)
        more = [_variant(name, head, meanings) for name in variants if name != head]
        if any(map(is_user_algorithm, variants)):
            summary = f"yours: the class {head.partition(':')[2]} of the module {head.partition(':')[0]}"
        yield Entry(algorithm_place(head), head, summary or "an algorithm", more, any(map(is_user_algorithm, variants)))


def _variant(name: str, head: str, meanings: Mapping[str, str]) -> str:
    keys = [part.partition("=")[0] for part in name.removeprefix(f"{head}:").split(",")]
    lines = [f"{key}: {meanings[key]}" for key in keys if key in meanings]
    return f"{name} ({'; '.join(lines)})" if lines else name


def _groups(found: Results, words: Mapping[str, str]) -> Iterator[Entry]:
    cases: dict[str, list[str]] = {}
    for case in found.cases:
        cases.setdefault(case.group, []).append(case.name)
    for group, names in cases.items():
        rest = len(names) - NAMED
        held = f"{len(names)} case{'s' * (len(names) != 1)}: {', '.join(names[:NAMED])}"
        held += f" and {rest} more" if rest > 0 else ""
        yield Entry(group_place(group), group, f"{words[group]}, {held}" if group in words else held)


_PROOFS = {
    Proof.TRIVIAL: "each arrival alone on an empty system, in integers",
    Proof.LAGRANGIAN: "dual prices of shared capacity and the exact best answer at them: weak duality, in integers",
    Proof.BRANCH_AND_BOUND: "the bound that a MIP solver reports, in its floating-point arithmetic",
    Proof.CP_SAT: "the bound that CP-SAT reports, in integers",
    Proof.ENUMERATION: "enumeration of all solutions",
    Proof.DYNAMIC_PROGRAMMING: "the best of every set of arrivals, from those of smaller sets",
    Proof.CERTIFICATE: "a shipped certificate: a solution and a bound on OPT, both recomputed by the independent "
    "checker in this run",
    Proof.THEOREM: "a rule that is proved to be best",
}


def _terms(found: Results, family: Family) -> Iterator[Entry]:
    sense, value = found.sense, family.objective
    yield Entry(
        "term-opt",
        "OPT",
        f"the best {value} in hindsight, with all arrivals known. It lies in an interval: its "
        f"{sense.verified} end is the {value} of a solution that was verified exactly, its {sense.bound} end a proved "
        "bound",
    )
    yield Entry("term-value", value, f"the value of the algorithm's run (ALG), in {_unit(family)}")
    worse = f"half of the {value} was lost" if sense is Sense.MOST else "it cost twice as much as needed"
    yield Entry(
        "term-ratio",
        sense.ratio,
        f"the competitive ratio, rounded outward: 1 is optimal, 2 means that {worse}. [a, b]: it lies between a and b, "
        "since OPT does. Unbounded: "
        + ("nothing was earned although OPT is above 0" if sense is Sense.MOST else "costs although OPT is 0")
        + "; it sorts as the largest",
    )
    yield Entry(
        "term-share",
        "share of OPT",
        "1 over the ratio, in percent: intervals are rounded outward and single numbers down, in tables, figures and "
        "sentences; the mean over a group is of the certified shares "
        f"({sense.reached})",
    )
    yield Entry("term-gap", "gap", "relative width of the interval on OPT: (upper - lower) / |upper|")
    used = [proof for proof in Proof if (found.rows["opt_proof"] == proof.value).any()]
    yield Entry("term-proof", "proof", "source of the bound on OPT", [f"{p.value}: {_PROOFS[p]}" for p in used])
    yield Entry("term-admitted", "admitted", "number of accepted arrivals")
    yield from _money_terms(found)
    yield Entry(
        "term-pace", "seconds per decision", "wall time of all decisions over the number of arrivals; the only figure "
        "here that depends on the machine",
    )  # fmt: skip
    yield Entry(
        "term-constants",
        "constants, *",
        "parameters that an algorithm gets before the first arrival, with their source: given, prior (another "
        "instance), history (the days before) or oracle (the instance under test, its future included: marked *)",
    )
    yield Entry(
        "term-limit",
        "at limit 5 of 144, gap 0.32 %",
        "at 5 of 144 decisions the algorithm's own search ended at its limit of work; its answers there are within "
        "0.32 % of the best",
    )
    yield Entry(
        "term-state", "state", "ok; invalid: the algorithm broke a rule; failed, with the reason; missing: not run yet"
    )
    if found.checks:
        yield Entry(
            "term-verdict",
            "verdict",
            "of a claim on a run, by exact comparisons: it holds, is violated, undecided (the interval on OPT, or "
            "rounding, leaves it open) or not applicable (the claim is about another algorithm, or one of its "
            "assumptions fails). Where a claim is printed without an assumption that its proof needs, an assumption "
            "that fails on the run is named beside the verdict",
        )


def _money_terms(found: Results) -> Iterator[Entry]:
    has_revenue = found.rows["revenue"].notna().any()
    if has_revenue or found.accounts:
        yield Entry(
            "term-revenue",
            "revenue",
            "the sum of the payments; not charged: the algorithm has no payment rule; -: no arrival was admitted",
        )
    if any(row.remarks.overcharged for row in found.records):
        yield Entry(
            "term-charged",
            "charged above their bid",
            "number of admitted tasks that would pay more than their bid. No rule of the problem forbids it, but no "
            "bidder would agree",
        )
    if found.accounts:
        yield Entry("term-cost", "cost", "payments of the provider: vendors and energy; - for runs stored without it")
        yield Entry(
            "term-profit",
            "profit",
            "revenue - vendors - energy. Without a payment rule every admitted arrival is taken to pay its bid",
        )


def _unit(family: Family) -> str:
    if family.dollars is None:
        return family.unit
    return f"dollars or cents (c), rounded; the tool tip has the exact figure in {family.unit}"
