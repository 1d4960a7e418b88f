"""Tests of significance: against published tables, plain enumeration, scipy if it is installed."""

import itertools
import random
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import COUNTEREXAMPLES
from ratiobench.bench.report.compare import (
    Comparison,
    Significance,
    adjust_holm,
    compare_runs,
    count_wins,
    least_cases,
    list_profiles,
    mid_ranks,
    signed_rank_test,
    take_significance,
)
from ratiobench.bench.results.read import Results
from ratiobench.bench.results.row import Row
from tests.support.rows import made_row
from tests.support.samples import samples


@pytest.mark.parametrize("seed", range(samples(20)))
def test_signed_ranks_are_those_of_all_signs(seed: int) -> None:
    """With ties and zeros: the share of all signs with a sum at least as far from the mean."""
    chance = random.Random(seed)
    given = [Fraction(chance.randint(-4, 6), chance.choice([1, 2])) for _ in range(9)]
    signed = [each for each in given if each]
    ranks = mid_ranks([abs(each) for each in signed])
    middle = sum(ranks, Fraction(0)) / 2
    far = abs(sum((rank for rank, each in zip(ranks, signed, strict=True) if each > 0), Fraction(0)) - middle)
    count = 0
    for signs in itertools.product((0, 1), repeat=len(ranks)):
        count += abs(sum((sign * rank for sign, rank in zip(signs, ranks, strict=True)), Fraction(0)) - middle) >= far
    assert signed_rank_test(given) == pytest.approx(count / 2 ** len(ranks))


def test_signed_ranks_have_the_critical_values_of_wilcoxon() -> None:
    """Two-sided 5 %: T <= 0, 8 and 21 of 6, 10 and 14 differences are significant, the next larger T is not."""
    for count, critical in ((6, 0), (10, 8), (14, 21)):
        for least, significant in ((critical, True), (critical + 1, False)):
            left, signs = least, [1] * count
            for rank in range(count, 0, -1):
                if rank <= left:
                    left, signs[rank - 1] = left - rank, -1
            assert not left
            found = signed_rank_test([Fraction(sign * rank) for rank, sign in enumerate(signs, 1)])
            assert (found <= 0.05) is significant
    assert signed_rank_test([]) == signed_rank_test([Fraction(0)] * 9) == 1


def test_holm_adjusts_step_by_step() -> None:
    """By hand: 4 x 0.01, 3 x 0.02, and what follows is never smaller."""
    assert adjust_holm([0.04, 0.01, 0.02, 0.9]) == pytest.approx([0.08, 0.04, 0.06, 0.9])
    assert adjust_holm([0.03, 0.031]) == pytest.approx([0.06, 0.06])
    assert adjust_holm([]) == []


def test_scipy_agrees() -> None:
    stats = pytest.importorskip("scipy.stats")
    chance = random.Random(3)
    given = [Fraction(chance.randint(-900, 1000), 7) for _ in range(25)]
    assert signed_rank_test(given) == pytest.approx(stats.wilcoxon(list(map(float, given)), method="exact").pvalue)
    many = [Fraction(chance.randint(-900, 1000), 7) for _ in range(90)]
    known = stats.wilcoxon(list(map(float, many)), method="approx", correction=False)
    assert signed_rank_test(many) == pytest.approx(known.pvalue)


def test_too_few_cases_are_those_on_which_the_clearest_win_says_nothing() -> None:
    """One is better on every case: below the least number no pair differs, from it on one does."""
    for count in (2, 3, 5, 13):
        least, pairs = least_cases(count), count * (count - 1) // 2
        assert pairs * signed_rank_test([Fraction(k) for k in range(1, least)]) > 0.05
        assert pairs * signed_rank_test([Fraction(k) for k in range(1, least + 1)]) <= 0.05


def comparison(cases: int, shares: dict[str, Any], sense: Sense = Sense.MOST) -> Comparison:
    """Algorithms with the same bound of 1000 on every case; `shares`: by name, a function of the case's number."""
    rows = {}
    for number in range(cases):
        for name, share in shares.items():
            part = share(number)
            value = None if part is None else 1000 * part if sense is Sense.MOST else 1000 / part
            state = "invalid" if part is None else "ok"
            case = f"case {number}"
            rows[case, name] = made_row(name, case, state=state, welfare=value, reached=part)
    return Comparison(rows, sense)


def shares(number: int, base: int) -> Fraction:
    """Different on every case, ordered by `base`."""
    return Fraction(base + number, 100)


def three_algorithms(cases: int, sense: Sense = Sense.MOST) -> Significance:
    """`good` is better than `middle`, and that than `<bad>`, which is invalid on the first case."""
    found = take_significance(
        comparison(
            cases,
            {
                "<bad>": lambda k: None if k == 0 else shares(k, 10),
                "good": lambda k: shares(2 * k, 60),
                "middle": lambda k: shares(k, 30),
            },
            sense,
        )
    )
    assert found is not None
    return found


@pytest.mark.parametrize("sense", Sense)
def test_what_is_better_on_every_case_differs(sense: Sense) -> None:
    """Of both senses; invalid runs rank last; the table and the text name what the tests found."""
    found = three_algorithms(12, sense)
    ranks = {pair[side]: pair[f"mean rank of {side}"] for pair in found.pairs for side in "AB"}
    assert ranks == {"good": 1, "middle": 2, "<bad>": 3}
    pairs = [(pair["A"], pair["B"]) for pair in found.pairs]
    assert pairs == [("good", "middle"), ("good", "<bad>"), ("middle", "<bad>")]
    assert all(pair["differ"] == "yes" and pair["cases, A better"] == 12 for pair in found.pairs)
    text = " ".join(found.text().split())
    assert "N = 12 cases, 3 algorithms" in text
    assert "Of 3 pairs, 3 differ by Wilcoxon's" in text
    assert [line["differ"] for line in found.lines()] == ["yes"] * 3


def test_too_few_cases_conclude_nothing() -> None:
    found = three_algorithms(least_cases(3) - 1)
    assert not found.pairs
    text = " ".join(found.text().split())
    assert "N = 6 cases, 3 algorithms: too few cases, nothing can be concluded." in text
    assert "needs 7 cases" in text


def test_equal_algorithms_do_not_differ() -> None:
    found = take_significance(
        comparison(20, {"a": lambda k: shares(k, 1 + k % 2), "b": lambda k: shares(k, 2 - k % 2)})
    )
    assert found is not None
    assert [pair["p (Holm)"] for pair in found.pairs] == [1]
    assert "Of 1 pair, 0 differ" in " ".join(found.text().split())


def test_cases_that_not_all_have_are_left_out() -> None:
    """An algorithm that was to run on fewer cases is named; a case with a run that is missing does not count."""
    given = comparison(
        14, {name: lambda k, base=base: shares(k, base) for name, base in (("a", 9), ("b", 5), ("c", 1))}
    )
    rows = dict(given.rows)
    del rows["case 3", "c"]
    rows["case 5", "a"] = replace(rows["case 5", "a"], state="missing", welfare=None, reached=None)
    found = take_significance(Comparison(rows, given.sense))
    assert found is not None
    assert (list(found.algorithms), list(found.left_out), found.cases) == (["a", "b"], ["c"], 13)


def test_counterexamples_against_one_algorithm_do_not_count() -> None:
    """What was searched for to make an algorithm look bad is no sample: no comparison has it, and the text says so."""

    def row(case: int, algorithm: str, group: str) -> Row:
        value = Fraction(9 if (algorithm == "a") == (group == "all") else 5)
        return made_row(algorithm, f"case {case}", group, state="ok", welfare=value, reached=value / 10)

    rows = [row(k, name, "all" if k < 12 else COUNTEREXAMPLES) for k in range(14) for name in ("a", "b")]
    found = compare_runs(cast("Results", SimpleNamespace(first_records=rows, sense=Sense.MOST)))
    assert found is not None
    assert (list(found.cases), found.counterexamples) == ([f"case {k}" for k in range(12)], 2)
    assert [(line["best"], line["cases"]) for line in list_profiles(found)] == [("12", "12"), ("0", "12")]
    tests = take_significance(found)
    assert tests is not None
    assert (tests.cases, tests.counterexamples, tests.pairs[0]["cases, B better"]) == (12, 2, 0)
    assert "(without 2 counterexamples, each found by a search against one algorithm)" in tests.conclusion()
    more = [*rows, row(0, "mine:A", "all")]
    own = compare_runs(cast("Results", SimpleNamespace(first_records=more, sense=Sense.MOST)))
    assert own is not None
    assert [line["cases"] for line in count_wins(own)] == ["1", "1"]
    assert not compare_runs(cast("Results", SimpleNamespace(first_records=rows[24:], sense=Sense.MOST)))
