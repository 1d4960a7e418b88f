"""`ratiobench.testing`: what holds passes, what does not fails with both sides and the instance."""

import json
from fractions import Fraction
from typing import Any

import pytest

import ratiobench
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.named import named, path
from ratiobench.testing import alpha, assert_bound, assert_valid, bbar, beta, rho, theorem5_bound

WITNESS = path("thm5_T5_3tasks")


@pytest.mark.parametrize("seed", range(5))
def test_a_drawn_instance(seed: int) -> None:
    [instance] = ratiobench.generate("paper", tasks=8, nodes=1, slots=12, seed=seed).values()
    run = ratiobench.simulate(instance, "greedy")
    assert assert_valid(run) is run
    assert_bound(instance, "greedy", lambda each: 10**6 * (1 + each.tasks))


def test_a_bound_that_does_not_hold_fails_with_all_that_shows_it() -> None:
    """OPT is 312, pdFTSP earns 12 there: 25 is no bound, 26 is one; the instance can be read from the message."""
    assert assert_bound(WITNESS, "pdftsp", 26) == "holds"
    with pytest.raises(AssertionError, match=r"OPT <= 25 ALG is violated for pdftsp.*: 312 <= 300") as caught:
        assert_bound(WITNESS, "pdftsp", 25)
    document = json.loads(str(caught.value).splitlines()[-1])
    assert document["name"] == ratiobench.instance(WITNESS).name
    with pytest.raises(AssertionError, match=r"OPT <= 103/4 ALG is violated"):
        assert_bound(WITNESS, "pdftsp", lambda _: Fraction(103, 4))


def test_claims_by_name() -> None:
    """One that falls, one that holds, one whose assumptions do not; one about another algorithm is refused."""
    with pytest.raises(AssertionError, match=r"theorem5 is violated for pdftsp.*: 26 <= 49/2"):
        assert_bound(WITNESS, "pdftsp", "theorem5")
    assert assert_bound(WITNESS, "pdftsp", "theorem5_repaired") == "holds"
    with pytest.raises(InputError, match="a claim about"):
        assert_bound(WITNESS, "greedy", "theorem5")
    with pytest.raises(InputError, match="theorem55"):
        assert_bound(WITNESS, "pdftsp", "theorem55")


def test_a_class_of_a_notebook_is_run_again_by_the_checks() -> None:
    """It has no import path; lies are told to it in processes of its own."""
    place: dict[str, Any] = {"__name__": "__main__"}
    exec("class Takes:\n    def start(self, public, constants): pass\n    def decide(self, task, view): pass\n", place)
    assert assert_bound(named("tiny_contention"), place["Takes"], "rational") in ("holds", "not applicable")


def test_a_run_that_is_not_valid_fails() -> None:
    run = ratiobench.simulate(named("tiny_contention"), "tests.support.contestants:Raises")
    with pytest.raises(AssertionError, match="not a valid run"):
        assert_valid(run)


def test_the_terms_of_theorem_5_are_those_of_the_audit() -> None:
    for name in ("thm5_T5_3tasks", "tiny_contention"):
        instance = named(name)
        [check] = ratiobench.audit(instance, "pdftsp", ["theorem5"]).to_dict("records")
        figures = check["figures"]
        assert theorem5_bound(instance) == figures["bound"]
        assert (rho(instance), alpha(instance)) == (figures["rho"], figures["alpha"])
        assert beta(instance) == figures["beta"]
        assert bbar(instance) == (figures["bbar_min"], figures["bbar_max"])
    with pytest.raises(InputError, match="is no reading of pdFTSP"):
        theorem5_bound(instance, "greedy")
