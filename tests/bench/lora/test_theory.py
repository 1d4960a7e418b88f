"""A sample of `nox -s theory`: every proved claim, on instances of which each proof's assumptions hold on many."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.lora.counterexamples.tiny import instance
from ratiobench.online.lora import guard
from tests.support.laboratory import NOTHING
from tests.tools.theory_guard import Watched, judged_guards, judged_late
from tests.tools.theory_run import INVARIANTS, Failure, sketch_of_number, theory


def test_every_proved_claim_holds_on_a_sample_of_the_shared_instances() -> None:
    """120 instances; no check is violated or undecided, and each one applies to at least a third of them."""
    held = theory(0, 120)
    assert held["instances"] >= 110
    for name in INVARIANTS:
        assert held[name] >= 40, name


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


def _violated() -> set[str]:
    """The invariants of Theorem H that fail on 30 instances."""
    sketches = (sketch_of_number(j) for j in range(30))
    checks = (check for j, s in enumerate(sketches) for check in judged_guards(j, s, instance(s), NOTHING))
    return {check.name for check in checks if check.status is Verdict.VIOLATED}


def test_a_guard_that_is_too_weak_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An Omega that is too small; limits that are not kept; credits that a large class loses too fast."""
    with monkeypatch.context() as patched:
        patched.setattr(guard, "bound_weight", lambda *sizes: Fraction(1, 9))
        assert "theorem_h_omega" in _violated()
    with monkeypatch.context() as patched:
        patched.setattr(Watched, "_limited", lambda self, task, view, wish: wish.price)
        assert {"theorem_h_credit", "theorem_h_dual"} <= _violated()
    with monkeypatch.context() as patched:
        patched.setattr(guard, "bound_root", lambda value, degree: value)
        with pytest.raises(AssertionError):
            _violated()


def test_who_moves_under_a_guard_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Theorem H with late binding; without the limit of moved cells credits fall below Phi."""
    runs = [judged_late(j) for j in range(48)]
    assert sum(moved > 0 for _, moved in runs) >= 2
    assert all(check.status is Verdict.HOLDS for checks, _ in runs for check in checks)
    monkeypatch.setattr(guard.Guard, "least_moved", lambda self, *where: Fraction(0))
    moving = [judged_late(j)[0] for j, (_, moved) in enumerate(runs) if moved]
    assert any(
        check.name == "theorem_h_credit" and check.status is Verdict.VIOLATED for each in moving for check in each
    )
