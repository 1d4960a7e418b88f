"""The suites of the paper's evaluation: what they share, what their figures need, and the measures beside welfare."""

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.family.suite import SWEEP, YESTERDAY, Case, Study, Suite
from ratiobench.bench.lora import FAMILY
from ratiobench.bench.lora.measures import accounts, measures
from ratiobench.bench.lora.studies import study
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.run import run
from ratiobench.online.outcome import Source
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances

SUITES = {suite.name: suite for suite in FAMILY.suites()}
FIGURES = ("fig4", "fig5", "fig6", "fig7", "fig8", "fig9", "fig12", "fig13", "leaderboard")
KINDS = {"welfare", "reached", "ratio", "revenue", "admitted", "seconds", "leaderboard"}
MEASURES = {
    "certificate", "revenue_share", "admitted_share", "long_share", "long_fairness", "compute_used",
}  # fmt: skip


def content(recipe: Mapping[str, Any]) -> str:
    """What a recipe makes, but for the name."""
    return json.dumps({key: value for key, value in recipe.items() if key != "name"}, sort_keys=True)


@pytest.mark.parametrize("suite", SUITES.values(), ids=lambda suite: suite.name)
def test_every_figure_finds_its_groups_algorithms_and_studies(suite: Suite) -> None:
    """At either scale a figure's groups have cases, with the algorithms that it shows or compares."""
    for cases in filter(None, (suite.cases, suite.small)):
        assert len({case.name for case in cases}) == len(cases)
        by_group: dict[str, list[Case]] = {}
        for case in cases:
            by_group.setdefault(case.group, []).append(case)
        for plot in suite.plots:
            assert plot.kind in KINDS | MEASURES | {"curve", "charges", SWEEP}
            assert plot.groups
            for group in plot.groups if cases is suite.cases else set(plot.groups) & set(by_group):
                wanted = {*plot.algorithms, *(name for _, names in plot.hindsight for name in names)}
                for figure in plot.printed:
                    assert figure.group in plot.groups
                    wanted |= {figure.algorithm, figure.than} if figure.group == group else set()
                assert all(wanted <= set(case.algorithms) for case in by_group[group])
            if plot.kind in ("curve", "charges"):
                kinds = [each.kind for group in plot.groups for case in by_group[group] for each in case.studies]
                assert plot.kind in kinds


def test_the_paper_has_at_most_110_days_and_every_figure_five_runs() -> None:
    """What figures agree on is one instance: OPT is computed once for it."""
    paper = SUITES["paper"]
    full = {content(case.recipe) for case in paper.cases if case.recipe.get("slots", 144) == 144}
    assert 60 <= len(full) <= 110
    for name in FIGURES:
        groups = [case.group for case in SUITES[name].cases]
        assert {groups.count(group) for group in groups} == {5}
    parts = [case for name in (*FIGURES, "fig10", "fig11") for case in SUITES[name].cases]
    assert [content(case.recipe) for case in paper.cases] == [content(case.recipe) for case in parts]


def test_the_base_day_is_one_instance_in_every_figure() -> None:
    """50 arrivals on 100 mixed nodes with 5 vendors and uniform deadlines, whatever a figure varies."""
    base = {"fig4": "100 nodes", "fig5": "5 vendors", "fig6": "mixed", "fig8": "medium, Poisson 50", "fig9": "uniform"}
    for j in range(5):
        found = {
            content(case.recipe)
            for name, group in base.items()
            for case in SUITES[name].cases
            if case.name == f"{group}, run {j}"
        }
        assert len(found) == 1


@pytest.mark.parametrize("name", [*FIGURES, "mechanisms"])
def test_yesterday_is_another_instance_of_the_same_size(name: str) -> None:
    """Whoever needs constants in advance has a case with another day, never the day itself."""
    suite = SUITES[name]
    for case in (suite.small or suite.cases)[::7]:
        assert any(YESTERDAY in algorithm for algorithm in case.algorithms)
        assert case.prior is not None
        today, before = FAMILY.generate(case.recipe), FAMILY.generate(case.prior)
        assert FAMILY.identity(today) != FAMILY.identity(before)
        assert today.nodes == before.nodes
        assert 0.7 < before.tasks / today.tasks < 1.4


def test_constants_of_yesterday_are_those_of_the_other_instance() -> None:
    """alpha and beta are computed from the prior and say so; without a prior the name is refused."""
    today, before = named("tiny_contention"), named("thm5_T5_3tasks")
    played = FAMILY.run(today, "pdftsp:prior=yesterday", before)
    own = {constant.name: constant.value for constant in run(before, "pdftsp").constants}
    assert {constant.name: constant.value for constant in played.constants} == own
    assert {constant.source for constant in played.constants} == {Source.PRIOR}
    with pytest.raises(InputError, match="yesterday"):
        FAMILY.run(today, "pdftsp:prior=yesterday")


def literal_measures(instance: Instance, algorithm: str) -> dict[str, Fraction | None]:
    """The shares once more, task by task from the file's figures."""
    played = run(instance, algorithm)
    needs: dict[int, int] = {}
    for i in range(instance.tasks):
        task = instance.task(i)
        rates = [
            int(task.rate[g])
            for g, node in enumerate(instance.node_types)
            if 0 < task.rate[g] <= node.compute and task.memory_mb <= node.memory_mb - instance.base_memory_mb
        ]
        waits = [vendor.delay for vendor in task.vendors] or [0]
        if rates and -(-task.work // max(rates)) <= task.deadline - (task.arrival + min(waits)) + 1:
            needs[i] = -(-task.work // max(rates))
    served = {i for i, decision in enumerate(played.decisions) if decision is not None}
    edge = sorted(needs.values())[3 * len(needs) // 4] if needs else 0
    long = {i for i, slots in needs.items() if slots >= edge}
    share = Fraction(len(served & set(needs)), len(needs)) if needs else None
    long_share = Fraction(len(served & long), len(long)) if long else None
    types = [g for g, node in enumerate(instance.node_types) for _ in range(node.count)]
    done = sum(int(instance.rate[i, types[k]]) for i in served for k, _ in played.decisions[i].cells)
    whole = instance.slots * sum(node.count * node.compute for node in instance.node_types)
    return {
        "admitted_share": share,
        "long_share": long_share,
        "long_fairness": long_share / share if share and long_share is not None else None,
        "compute_used": Fraction(done, whole),
        "revenue_share": Fraction(played.revenue, played.welfare)
        if played.revenue is not None and played.welfare > 0
        else None,
    }


@given(tiny_instances())
@settings(max_examples=samples(60), deadline=None)
def test_measures_equal_a_count_by_hand(instance: Instance) -> None:
    """Shares of tasks and of long tasks, compute used and revenue, on random instances."""
    for algorithm in ("greedy", "pdftsp"):
        found = measures(instance, run(instance, algorithm), [])
        assert {**literal_measures(instance, algorithm), "certificate": None} == dict(found)


def test_the_certificate_of_a_run_is_its_dual_over_its_welfare() -> None:
    """The measure takes the right side of `dual_certificate`; of greedy the dual with prices on full cells."""
    instance = named("tiny_contention")
    played = run(instance, "greedy")
    check = Check("dual_certificate", Verdict.HOLDS, Fraction(1), Fraction(3 * played.welfare), "")
    assert measures(instance, played, [check])["certificate"] == 3
    check = Check("theorem_g", Verdict.HOLDS, Fraction(2 * played.welfare), Fraction(9 * played.welfare), "")
    assert measures(instance, played, [check])["certificate"] == 2


def test_studies_show_the_profitable_overbid() -> None:
    """truth_overbid_e: under (14) the bidder of valuation 6 gains 2 above 7, under b - F nothing."""
    instance = named("truth_overbid_e")
    printed, critical = (
        study(instance, Study("curve", f"pdftsp:alpha=8,beta=1/125{rule}", 1)) for rule in ("", ",payment=critical")
    )
    assert [(row["bid_from"], row["admitted"], row["utility_from"]) for row in printed] == [
        ("0", "false", "0"),
        ("7", "true", "2"),
    ]
    assert printed[0]["valuation"] == "6"
    assert critical[-1]["utility_from"] == "-1"
    [first, *_] = study(instance, Study("charges", "pdftsp"))
    assert set(first) == {"task", "valuation", "bid", "payment", "outlay"}


def test_charges_of_other_algorithms_are_those_that_were_booked() -> None:
    """greedy charges its outlay; what eris charges adds up to its revenue."""
    instance = named("tiny_vendors")
    rows = study(instance, Study("charges", "greedy"))
    assert rows
    assert all(row["payment"] == row["outlay"] for row in rows)
    played = run(instance, "eris")
    rows = study(instance, Study("charges", "eris"))
    assert len(rows) == played.admitted
    assert sum(int(row["payment"]) for row in rows) == played.revenue


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        (Study("dance", "pdftsp"), "dance"),
        (Study("curve", "pdftsp"), "about one task"),
        (Study("curve", "pdftsp", 99), "99"),
        (Study("curve", "eft", 0), "eft"),
        (Study("charges", "titan"), "no payment rule"),
    ],
)
def test_a_study_that_cannot_be_made_is_one_line(wanted: Study, problem: str) -> None:
    """Unknown kinds, curves of nobody, and algorithms without payments."""
    with pytest.raises(InputError, match=problem):
        study(named("truth_overbid_e"), wanted)


def test_standing_says_what_is_proved_and_never_more() -> None:
    """Truthful only with constants that no bid moves and a payment that covers operation; unknown for anyone's own."""
    assert FAMILY.proof_status("pdftsp")["truthful"].startswith("no: constants")
    assert FAMILY.proof_status("pdftsp:alpha=8,payment=critical")["truthful"].startswith("no: constants")
    assert FAMILY.proof_status("pdftsp:prior=yesterday")["truthful"].startswith("no: (14)")
    assert FAMILY.proof_status("pdftsp:prior=yesterday,payment=critical")["truthful"] == "in the bid"
    assert FAMILY.proof_status("pdftsp:alpha=1,beta=1,payment=critical")["truthful"] == "in the bid"
    assert FAMILY.proof_status("posted:largest_share=1/2")["truthful"].startswith("no: constants")
    assert FAMILY.proof_status("capped:alpha=3")["truthful"].startswith("no: constants")
    assert "Theorem 5'" in FAMILY.proof_status("pdftsp")["guarantee"]
    assert FAMILY.proof_status("pdftsp:search=printed")["guarantee"].startswith("none")
    assert FAMILY.proof_status("posted")["truthful"].startswith("no")
    assert FAMILY.proof_status("posted:prior=yesterday")["truthful"] == FAMILY.proof_status("greedy")["truthful"]
    assert FAMILY.proof_status("mine:Earliest") == {"guarantee": "none known", "truthful": "not examined"}
    names = {listed.name for listed in FAMILY.algorithms()}
    assert all(FAMILY.proof_status(name)["guarantee"] != "none known" for name in names)


@given(tiny_instances())
@settings(max_examples=samples(30))
def test_accounts_are_the_terms_of_the_objective(instance: Instance) -> None:
    """Bids less vendors and energy is the welfare that the exact check found, which shares no code with them."""
    for name in ("greedy", "eft:admit=all"):
        found = run(instance, name)
        told = accounts(instance, found)
        assert told["bids"] - told["vendors"] - told["energy"] == found.welfare
        admitted = [i for i, decision in enumerate(found.decisions) if decision is not None]
        assert told["bids"] == sum(int(instance.bid[i]) for i in admitted)
        chosen = [(i, found.decisions[i].vendor) for i in admitted]
        assert told["vendors"] == sum(instance.vendors(i)[v].price for i, v in chosen if v is not None)
