"""A sample of `nox -s theory`: every proved claim, on instances of which each proof's assumptions hold on many."""

from collections.abc import Callable, Iterable
from fractions import Fraction

import pytest

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.lora.counterexamples.tiny import instance
from ratiobench.bench.lora.theory import price_laws
from ratiobench.instances.io.seeds import RandomNumbers
from ratiobench.online.lora import guard
from ratiobench.online.lora.algorithms import pooled, units
from ratiobench.online.lora.price_laws import LoadLaw
from tests.support.laboratory import NOTHING
from tests.support.samples import samples
from tests.tools.theory_guard import Watched, judged_guards
from tests.tools.theory_laws import case_of, draw_slack, judged_laws
from tests.tools.theory_run import INVARIANTS, Failure, sketch_of_number, theory


def test_every_proved_claim_holds_on_a_sample_of_the_shared_instances() -> None:
    """No check is violated or undecided, and each one applies to at least a third of them."""
    count = samples(30, 15)
    held = theory(0, count)
    assert held["instances"] >= count - 3
    for name in INVARIANTS:
        assert held[name] >= count // 3, name


def test_the_shared_instances_cover_what_they_should() -> None:
    """Several nodes and kinds, vendors, negative costs, tasks that do not fit, and the same ones every time."""
    sketches = [sketch_of_number(j) for j in range(300)]
    assert sketches[:5] == [sketch_of_number(j) for j in range(5)]
    jobs = [job for sketch in sketches for job in sketch.jobs]
    assert {sketch.nodes for sketch in sketches} == {1, 2, 3}
    assert {len(sketch.kinds) for sketch in sketches} == {1, 2, 3}
    assert any(cost < 0 for job in jobs for row in job.costs for cost in row)
    assert any(len(job.vendors) == 2 for job in jobs)
    assert any(0 in job.rates for job in jobs)


def test_a_broken_proof_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With OPT overstated, the first instance whose bound it passes is named with its document."""
    import tests.tools.theory_run as module

    def overstated(instance: object) -> tuple[int, tuple[()]]:
        return 10**9, ()

    monkeypatch.setattr(module, "enumerate_optimum", overstated)
    with pytest.raises(Failure, match="instance 0: two_optima_agree violated"):
        theory(0, 5)


def _violate(judged: Callable[..., Iterable[Check]], wanted: set[str], count: int) -> bool:
    """Whether these invariants fail on so many instances; it ends when each of them has."""
    left = set(wanted)
    for j in range(count):
        sketch = sketch_of_number(j)
        for check in judged(j, sketch, instance(sketch), NOTHING):
            if check.status is Verdict.VIOLATED:
                left.discard(check.name)
        if not left:
            return True
    return False


def _guards_violate(*wanted: str) -> bool:
    """Whether these invariants of Theorem H fail on 30 instances."""
    return _violate(judged_guards, set(wanted), 30)


def test_a_guard_that_is_too_weak_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An Omega that is too small; limits that are not kept; sales that count as more units than credits grow by."""
    with monkeypatch.context() as patched:
        patched.setattr(guard, "bound_weight", lambda *sizes: Fraction(1, 9))
        assert _guards_violate("theorem_h_omega")
    with monkeypatch.context() as patched:
        patched.setattr(Watched, "_limit", lambda self, limits, task, view, wish: wish.price)
        assert _guards_violate("theorem_h_account", "theorem_h_dual")
    with monkeypatch.context() as patched:
        units = guard._units
        patched.setattr(guard, "_units", lambda *sorts: (units(*sorts)[0], [n + 1 for n in units(*sorts)[1]]))
        with pytest.raises(AssertionError):
            _guards_violate("theorem_h_dual")


def _laws_violate(wanted: str, count: int = 30) -> bool:
    """Whether this invariant of the price laws fails on so many instances."""
    return _violate(judged_laws, {wanted}, count)


def test_a_settlement_that_is_not_paid_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credits of slots that have passed are taken back, and the tasks of these slots are forgotten."""
    settle = guard.Guard.settle

    def forget(self: guard.Guard, slots: int, owed: Fraction) -> bool:
        return settle(self, slots, Fraction(0))

    monkeypatch.setattr(guard.Guard, "settle", forget)
    assert _guards_violate("theorem_h_account")


def test_a_price_law_that_is_too_weak_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Full cells that are too cheap; growth or Gamma too small."""
    with monkeypatch.context() as patched:
        patched.setattr(LoadLaw, "rise", lambda self, part: self.zeta * self.top)
        assert _laws_violate("theorem_p_dual")
    with monkeypatch.context() as patched:
        patched.setattr(LoadLaw, "growth", lambda self, share: Fraction(1))
        assert _laws_violate("theorem_p")
    with monkeypatch.context() as patched:
        patched.setattr(pooled.Pools, "_price", lambda self, g, load: Fraction(0))
        assert _laws_violate("theorem_pool_dual")
    with monkeypatch.context() as patched:
        patched.setattr(units, "find_gamma", lambda count, theta: max(Fraction(1), theta / 2))
        patched.setattr(price_laws, "_values_outside", lambda *given: "")
        assert _laws_violate("theorem_a1", 40)


def test_slack_is_what_theorem_s_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the factor of slackness some greedy run earns too little: OPT is above what admitted tasks are worth."""
    monkeypatch.setattr(price_laws.Slack, "factor", property(lambda self: Fraction(1, 4)))
    assert any(_slack_check(j) is Verdict.VIOLATED for j in range(200))


def _slack_check(j: int) -> Verdict:
    case = case_of(f"slack {j}", draw_slack(RandomNumbers("slack", j)), "static:price=0")
    return price_laws.theorem_s(case).status
