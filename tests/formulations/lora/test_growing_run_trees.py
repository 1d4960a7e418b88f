"""Branch and bound on runs: every tree that is grown is valid, and proves more than prices alone do."""

from __future__ import annotations

import numpy as np
import pytest

from ratiobench.formulations import backends
from ratiobench.formulations.lora import run_search, runs, solve
from ratiobench.formulations.lora.bound.tree import RunTree
from ratiobench.formulations.lora.certificate import RUN_FORMAT, Prices, document
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.lora.verify import dual_bound, tree_bound, verify
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.restriction import exclude_killed
from tests.formulations.lora.test_large_runs import draw_gangs
from tests.formulations.lora.test_run_trees import draw_instance
from tests.support.samples import of_sample, samples


def grow(instance: Instance, enough: int = 0, effort: int = 1) -> RunTree:
    """A tree from prices of 0."""
    found = runs.find_runs(instance)
    nothing = np.zeros((2, len(instance.node_types), instance.slots))
    reply = backends.call(
        "highs", "ratiobench.formulations.lora.bound.run_tree:grow", found, nothing, enough, effort, None
    )
    assert reply.termination is None, reply.message
    tree: RunTree = reply.value
    return tree


def tables_of(tree: RunTree) -> tuple[Prices, ...]:
    whole = ([np.rint(each * tree.unit).astype(np.int64).tolist() for each in part] for part in (tree.lam, tree.phi))
    return tuple(Prices(tuple(map(tuple, lam)), tuple(map(tuple, phi)), ()) for lam, phi in zip(*whole, strict=True))


def test_trees_of_tiny_instances_bound_brute_force() -> None:
    """What is stated in doubles is what the checker proves, and it is OPT nearly always where nodes are alone."""
    seen = branched = better = tight = 0
    for number in range(samples(300)):
        instance = exclude_killed(draw_instance(Stream("grow-run-trees", number)))
        if not len(runs.find_runs(instance).task):
            continue
        opt, _ = enumerate_optimum(instance)
        tree = grow(instance)
        tables = tables_of(tree)
        proved = tree_bound(instance, tree.unit, tables, tree.nodes, runs=True)
        assert opt <= proved <= tree.upper + 1e-3 * max(1.0, tree.upper)
        assert len(tables) == sum(isinstance(node, int) for node in tree.nodes)
        root = tables_of(grow(instance, effort=0))
        assert len(root) == 1
        alone = dual_bound(instance, grow(instance, effort=0).unit, root[0].lam, root[0].phi, ())
        assert proved <= alone
        seen, branched = seen + 1, branched + (len(tables) > 1)
        better, tight = better + (proved < alone), tight + (proved == opt)
    counts = seen, branched, better, tight
    assert np.all(np.array(counts) >= [of_sample(count, 300) for count in (220, 25, 18, 215)]), counts


def test_a_leaf_that_cannot_beat_the_lower_end_gets_no_branches() -> None:
    instance = draw_gangs(1)
    tree = grow(instance, enough=2**60)
    assert (tree.solved, tree.nodes) == (1, (0,))


@pytest.mark.parametrize("seed", [2, pytest.param(5, marks=pytest.mark.nightly)])
def test_opt_of_a_day_of_gangs_is_certified_by_a_tree(seed: int) -> None:
    """The certificate passes the checker; the tree's bound is below what its root proves."""
    instance = draw_gangs(seed)
    report = solve.solve(instance)
    proof = report.certificate
    assert proof is not None
    assert document(proof)["format"] == RUN_FORMAT
    verdict = verify(instance, document(proof))
    assert verdict.valid, verdict.problems
    assert (proof.lower, proof.upper) == (report.lower, report.upper)
    root = tables_of(grow(instance, effort=0))[0]
    assert report.upper < dual_bound(instance, grow(instance, effort=0).unit, root.lam, root.phi, ())
    assert report.work["branches"] > 1


def test_without_a_solver_no_tree_is_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    """`backend=none` starts no process of HiGHS."""
    monkeypatch.setattr(run_search, "BLOCKS_PER_TASK", 2)
    report = solve.solve(draw_gangs(2), backend="none")
    assert "branches" not in report.work
    assert report.certificate is not None
    assert not report.certificate.tree


def test_an_interrupt_ends_the_search_beside_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search alone would go on for hours."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(solve, "_branch_on_runs", interrupt)
    monkeypatch.setattr(run_search, "BLOCKS_PER_TASK", 10**7)
    monkeypatch.setattr(run_search, "UNIT_BLOCKS", 10**10)
    with pytest.raises(KeyboardInterrupt):
        solve.solve(draw_gangs(2))
