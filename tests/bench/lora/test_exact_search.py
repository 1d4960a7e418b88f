"""The search of all instances of a bounded size, against a plain enumeration, and its bounds on random instances."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from ratiobench.bench.family.capabilities import SearchSettings
from ratiobench.bench.lora.counterexamples import exhaustive
from ratiobench.bench.lora.counterexamples.exhaustive import BOUNDS, Shape, Space, search_all
from ratiobench.bench.lora.counterexamples.search import COUNTEREXAMPLES, PROBLEMS, UNBOUNDED, search_worst_case
from ratiobench.bench.lora.counterexamples.tiny import Job, Kind, TinyInstance
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.seeds import RandomNumbers
from tests.support.commands import printed, refused
from tests.support.samples import of_sample, samples

search_counterexample = COUNTEREXAMPLES.search
THEOREM5 = BOUNDS["theorem5"]


def every_instance(tasks: int, slots: int, largest: int) -> Iterator[TinyInstance]:
    """All lists of tasks on one node, in any order of windows, empty slots and tasks that do not fit among them."""
    numbers = range(1, largest + 1)
    for last in range(1, slots + 1):
        jobs = [
            Job(arrival, deadline, memory, work, bid, (rate,))
            for arrival in range(1, last + 1)
            for deadline in range(arrival, last + 1)
            for bid, rate, memory, work in product(numbers, repeat=4)
            if -(-work // rate) * (rate + memory) <= bid  # the others have bbar < 1, or are unlike the space below
        ]
        for number in range(1, tasks + 1):
            for chosen in product(jobs, repeat=number):
                if all(one.arrival <= other.arrival for one, other in pairwise(chosen)):
                    for compute, memory in product(numbers, repeat=2):
                        yield TinyInstance(last, (Kind(1, compute, memory),), chosen)


def is_in_space(sketch: TinyInstance) -> bool:
    """Every task could be served alone, and every slot is in a window."""
    (kind,) = sketch.kinds
    covered = {slot for job in sketch.jobs for slot in range(job.arrival, job.deadline + 1)}
    return len(covered) == sketch.slots and all(
        job.rates[0] <= kind.compute
        and job.memory <= kind.memory
        and job.work <= job.rates[0] * (job.deadline - job.arrival + 1)
        for job in sketch.jobs
    )


@pytest.mark.parametrize(("tasks", "slots", "largest"), [(3, 2, 3), (2, 2, 4), (1, 3, 5)])
def test_theorem_5_against_plain_enumeration(tasks: int, slots: int, largest: int) -> None:
    """The same largest score, over instances with empty slots and with common divisors, too; and the same number."""
    measure_sketch = PROBLEMS["theorem5"].measure
    best, number = Fraction(-1), 0
    for sketch in every_instance(tasks, slots, largest):
        (kind,) = sketch.kinds
        if not all(job.rates[0] <= kind.compute and job.memory <= kind.memory for job in sketch.jobs):
            continue
        if any(job.work > job.rates[0] * (job.deadline - job.arrival + 1) for job in sketch.jobs):
            continue
        number += is_in_space(sketch)
        measure = measure_sketch(sketch, best)
        best = best if measure is None else max(best, measure.score)
    found = search_all(
        measure_sketch, SearchSettings(tasks=tasks, slots=slots, largest=largest), lambda _: None, THEOREM5
    )
    assert found.best is not None
    assert found.best.measure.score == best
    assert found.instances == number
    assert 0 < found.measured < number


def test_a_claim_without_a_bound_is_measured_on_all_instances() -> None:
    """Lemma 3 on two tasks: every instance of the space once."""
    measure_sketch = PROBLEMS["lemma3"].measure
    space = Space(2, 2, 1, 2)
    found = search_all(measure_sketch, SearchSettings(tasks=2, slots=2, largest=2), lambda _: None)
    assert found.measured == found.instances == space.count(space.shapes(is_fair=False))


def _draw(draws: RandomNumbers) -> tuple[TinyInstance, tuple[Shape, ...]]:
    """An instance of the space of four tasks and four slots."""
    shapes = []
    for _ in range(draws.draw_between(1, 4)):
        rate, memory, cells = draws.draw_between(1, 5), draws.draw_between(1, 5), draws.draw_between(1, 4)
        work = draws.draw_between((cells - 1) * rate + 1, cells * rate)
        bid = cells * (rate + memory) + draws.draw_below(20)
        shapes.append(Shape(bid, rate, memory, work, cells))
    top = max(shape.rate for shape in shapes), max(shape.memory for shape in shapes)
    kind = Kind(draws.draw_between(1, 2), top[0] + draws.draw_below(8), top[1] + draws.draw_below(8))
    windows = []
    for shape in shapes:
        arrival = draws.draw_between(1, 5 - shape.cells)
        windows.append((arrival, draws.draw_between(arrival + shape.cells - 1, 4)))
    pairs = sorted(zip(windows, shapes, strict=True), key=lambda pair: pair[0][0])
    jobs = tuple(Job(*window, shape.memory, shape.work, shape.bid, (shape.rate,)) for window, shape in pairs)
    return TinyInstance(4, (kind,), jobs), tuple(shape for _, shape in pairs)


def test_no_instance_is_above_its_bounds() -> None:
    """On random instances: by tasks, by the first tasks alone, and by the platform; some are met with equality."""
    measure_sketch = PROBLEMS["theorem5"].measure
    space = Space(4, 4, 2, 60)
    met = 0
    for j in range(samples(400)):
        sketch, shapes = _draw(RandomNumbers("exact", j))
        measure = measure_sketch(sketch)
        if measure is None:
            continue
        for known in range(1, len(shapes) + 1):
            assert measure.score <= THEOREM5.of_tasks(space, shapes[:known], len(shapes) - known)
        bound = THEOREM5.of_platform(shapes, sketch.kinds[0], sketch.slots)
        assert measure.score <= bound
        assert bound <= THEOREM5.of_tasks(space, shapes, 0)
        met += measure.score == bound
        if len(shapes) > 1:  # in doubles, up to rounding
            bids = sum(shape.bid for shape in shapes[:-1])
            (rough,) = THEOREM5.of_tasks_roughly(shapes[:-1], np.array(shapes[-1:], float), bids)
            assert rough == pytest.approx(float(THEOREM5.of_tasks(space, shapes, 0)), rel=1e-12)
    assert met > of_sample(40, 400)


def test_a_bound_that_is_too_small_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With half of the bound groups are left out in which the largest score is."""
    halved = THEOREM5._replace(of_tasks=lambda space, shapes, more: THEOREM5.of_tasks(space, shapes, more) / 2)
    settings = SearchSettings(tasks=3, slots=3, largest=5)
    right = search_all(PROBLEMS["theorem5"].measure, settings, lambda _: None, THEOREM5)
    wrong = search_all(PROBLEMS["theorem5"].measure, settings, lambda _: None, halved)
    assert right.best is not None
    assert wrong.best is not None
    assert wrong.best.measure.score < right.best.measure.score == Fraction(1, 2)


def test_four_tasks_in_three_slots_meet_theorem_5_with_equality() -> None:
    """Numbers up to 12: OPT/ALG = bound = 10 on one instance, and no instance is above; the audit agrees."""
    found = search_counterexample("theorem5", SearchSettings(tasks=4, slots=3, largest=12, exact=True))
    assert (found.violated, found.left, found.right, found.score) == (False, 10, 10, 1)
    assert found.check is not None
    assert (found.check.left, found.check.right) == (10, 10)
    assert "14,818,433,612,012,768 instances" in found.notes[0]


def test_the_worst_ratio_of_an_algorithm_among_all_instances() -> None:
    """`greedy` takes the first task; `eris` rejects a task, and the search ends there."""
    settings = SearchSettings(tasks=2, slots=1, largest=2, exact=True)
    found = search_worst_case("greedy", settings)
    assert (found.left, found.right, found.score) == (2, 1, 2)
    assert found.tries > 100
    ended = search_worst_case("eris", settings)
    assert ended.violated
    assert ended.score is None or ended.score == UNBOUNDED
    assert ended.tries < found.tries


def test_spaces_that_are_too_large_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a bound above a million instances, with one above its largest number; and `--smaller`."""
    with pytest.raises(InputError, match="instances, more than 1,000,000"):
        search_counterexample("lemma3", SearchSettings(tasks=3, slots=3, largest=5, exact=True))
    with pytest.raises(InputError, match=f"above {exhaustive.LARGEST}"):
        search_counterexample("theorem5", SearchSettings(exact=True))
    assert "--exact" in refused(capsys, "search", "theorem5", "--exact", "--smaller")


def test_the_command_says_what_was_enumerated(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "search", "theorem5", "--exact", "--tasks", "2", "--slots", "2", "--largest", "4")
    assert "at most 2 tasks, slots 2, nodes 1 of one type, all numbers from 1 to 4" in out
    assert "A proof by enumeration for this space" in out
    assert "local search" not in out
