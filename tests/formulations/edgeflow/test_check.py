"""The exact check of schedules of edgeflow: every rule, and every edge case of the family's description."""

import random
from typing import Any

import pytest

from ratiobench.formulations.edgeflow.check import check, join_pieces
from ratiobench.instances.edgeflow.format import FORMAT, parse
from ratiobench.instances.edgeflow.model import Instance, Piece
from tests.tools.edgeflow_bounds import alike, mutant, tiny

MODEL: dict[str, Any] = {
    "name": "m",
    "speed": [[1, 10], [2, 18], [4, 18]],
    "edge_speed": 5,
    "overhead_s": 2,
    "edge_overhead_s": 3,
}


def made(
    *jobs: tuple[int, int, int], gpus: int = 4, edge: tuple[tuple[int, int, int], ...] = (), **model: Any
) -> Instance:
    """Jobs (submit, deadline, work) of one model."""
    kind: dict[str, Any] = MODEL | model
    return parse(
        {
            "format": FORMAT,
            "name": "made",
            "cloud": {"gpus": gpus, "node_gpus": 8},
            "edge": [{"from": a, "to": b, "servers": n} for a, b, n in edge],
            "models": [kind],
            "jobs": [
                {"submit": a, "deadline": b, "model": "m", "work": w, "gpus": kind["speed"][0][0]} for a, b, w in jobs
            ],
        }
    )


def one(instance: Instance, *pieces: tuple[int, int, int, int]) -> Any:
    """The report on the first job's pieces alone."""
    return check(instance, (tuple(Piece(*piece) for piece in pieces), *((),) * (instance.jobs - 1)))


def test_work_done_in_the_last_second_is_met_and_one_second_later_is_not() -> None:
    """Two seconds of stall, ten of work at 10: done by second 12."""
    for deadline, met in ((12, True), (11, False)):
        report = one(made((0, deadline, 100)), (0, 14, 0, 1))
        assert report.valid
        assert (report.met, report.ends, report.value) == ((met,), (12,), int(met))
    assert one(made((0, 12, 101)), (0, 14, 0, 1)).value == 0


def test_a_start_a_restart_and_a_change_of_share_stand_still() -> None:
    """Each of them `overhead_s`; going on stands still no longer, wherever a piece is cut."""
    instance = made((0, 60, 100))
    assert one(instance, (0, 12, 0, 1)).ends == (12,)
    for cut in range(1, 12):
        assert one(instance, (0, cut, 0, 1), (cut, 12, 0, 1)).ends == (12,)
    assert one(instance, (0, 7, 0, 1), (8, 20, 0, 1)).ends == (15,)
    assert one(instance, (0, 7, 0, 1), (7, 20, 0, 2)).ends == (12,)
    assert one(instance, (0, 7, 0, 1), (7, 20, 0, 2)).moves == 1
    assert one(instance, (0, 2, 0, 1), (3, 5, 0, 1), (6, 30, 0, 1)).ends == (18,)


def test_a_change_of_side_adds_to_the_stall_however_long_the_pause() -> None:
    """5 a second on the edge from second 2 on; then 2 + 3 seconds of stall in the cloud."""
    instance = made((0, 90, 100), edge=((0, 10, 1),))
    assert one(instance, (0, 10, 1, 1)).ends == (None,)
    assert one(instance, (0, 10, 1, 1), (10, 40, 0, 1)).ends == (21,)
    assert one(instance, (0, 10, 1, 1), (20, 40, 0, 1)).ends == (31,)


def test_pieces_on_the_edge_lie_in_one_window() -> None:
    """From its first second to its last one; at windows that touch, a piece goes on as another one."""
    instance = made((0, 30, 40), edge=((3, 8, 1), (8, 20, 1)))
    assert one(instance, (3, 8, 1, 1), (8, 13, 1, 1)).ends == (13,)
    for bad in ((2, 8), (7, 9), (19, 21)):
        assert [each.rule for each in one(instance, (*bad, 1, 1)).violations] == ["3"]
    assert one(made((0, 30, 9), edge=((3, 5, 1),)), (3, 5, 1, 1)).ends == (None,)


@pytest.mark.parametrize(
    ("piece", "rule"),
    [
        ((4, 9, 0, 1), "1"),
        ((6, 6, 0, 1), "1"),
        ((5, 9, 0, 3), "2"),
        ((5, 9, 0, 8), "2"),
        ((5, 9, 2, 1), "2"),
        ((5, 9, 1, 2), "2"),
        ((5, 9, 0, True), "1"),
        ((5, 9.0, 0, 1), "1"),
        ((5, 9, 0), "1"),
    ],
)
def test_a_piece_that_breaks_a_rule_is_named(piece: Any, rule: str) -> None:
    instance = made((0, 30, 40), (5, 30, 40), edge=((0, 30, 1),), speed=[[1, 10], [2, 18], [8, 30]])
    report = check(instance, ((), (piece,)))
    assert [(each.rule, each.task) for each in report.violations] == [(rule, 1)]
    assert (report.valid, report.value) == (False, None)
    assert str(report.violations[0]).startswith(f"({rule}) job 1: ")


def test_pieces_overlap_neither_in_a_job_nor_beyond_what_there_is() -> None:
    """One GPU more for one second, one server more."""
    instance = made((0, 30, 40), (0, 30, 40), gpus=2, edge=((0, 30, 1),))
    assert [each.rule for each in one(instance, (0, 5, 0, 1), (4, 8, 0, 1)).violations] == ["1"]
    whole = (Piece(0, 10, 0, 2),)
    assert check(instance, (whole, (Piece(10, 15, 0, 1),))).valid
    report = check(instance, (whole, (Piece(9, 15, 0, 1),)))
    assert [str(each) for each in report.violations] == ["(3) 3 GPUs in use at second 9, there are 2"]
    edge = (Piece(0, 9, 1, 1),)
    assert check(instance, (edge, (Piece(9, 15, 1, 1),))).valid
    assert [each.rule for each in check(instance, (edge, (Piece(8, 15, 1, 1),))).violations] == ["3"]


def test_decisions_are_counted_and_nothing_is_a_schedule() -> None:
    instance = made((0, 30, 40), (0, 30, 40))
    for solution in (((),), ((),) * 3):
        assert [each.rule for each in check(instance, solution).violations] == ["1"]
    assert check(instance, ((), ())).value == 0
    assert check(made(), ()).value == 0


def test_a_share_that_is_slower_than_a_smaller_one_may_be_used_and_gains_nothing() -> None:
    assert one(made((0, 30, 180)), (0, 12, 0, 4)).ends == one(made((0, 30, 180)), (0, 12, 0, 2)).ends == (12,)


def test_pieces_that_go_on_are_one() -> None:
    pieces = [Piece(0, 2, 0, 1), Piece(2, 5, 0, 1), Piece(5, 6, 0, 2), Piece(7, 8, 0, 2)]
    assert join_pieces(pieces) == [Piece(0, 5, 0, 1), Piece(5, 6, 0, 2), Piece(7, 8, 0, 2)]


def test_both_checkers_judge_mutants_alike() -> None:
    """300 schedules made up by changes, most of them wrong."""
    draw = random.Random(5)
    valid = 0
    for _ in range(60):
        instance = tiny(draw)
        solution: Any = ((),) * instance.jobs
        for _ in range(5):
            solution = mutant(draw, solution)
            assert not alike(instance, solution)
            valid += check(instance, solution).valid
    assert 30 < valid < 270
