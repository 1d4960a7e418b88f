"""The search for counterexamples: exact, repeatable, taken up where it stopped, and confirmed by the audit."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.family.capabilities import SearchResult, SearchSettings
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.lora.counterexamples.moves import (
    Bounds,
    apply_random_move,
    draw_start,
    is_within,
    measure_size,
    raise_bids,
)
from ratiobench.bench.lora.counterexamples.search import COUNTEREXAMPLES, PROBLEMS, TinyProblem
from ratiobench.bench.lora.counterexamples.tiny import (
    Job,
    Kind,
    TinyInstance,
    TinyLimitExceeded,
    instance,
    menu,
    simulate_pdftsp,
    tiny_instance_of,
)
from ratiobench.bench.lora.theory.claims import CLAIMS
from ratiobench.bench.theory.search import Found, LocalSearch
from ratiobench.instances.io.seeds import RandomNumbers
from ratiobench.instances.lora import content_hash, read
from ratiobench.instances.lora.named import named
from tests.support.commands import json_of, printed, refused
from tests.support.documents import refusal_of
from tests.support.literal import in_gigabytes, run_pdftsp
from tests.support.nightly import one_in
from tests.support.samples import of_sample, samples
from tests.support.toy_runs import toy  # noqa: F401
from tests.tools.theory_run import sketch_of_number

FALSE = ("theorem5", "lemma3", "lemma4", "theorem3")
TRUE = tuple(name for name in PROBLEMS if name not in FALSE)
search_counterexample = COUNTEREXAMPLES.search
BOUNDS = (Bounds(4, 4, 3, 50, -9, True), Bounds(6, 5, 1, 200, None, False), Bounds(2, 1, 2, 7, 0, True))


@pytest.fixture(autouse=True)
def short_shrinking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer random changes at the end of shrinking: the searches are the same, only witnesses may be larger."""
    monkeypatch.setattr(TinyProblem, "polish", 150)


def same(one: SearchResult, other: SearchResult) -> bool:
    keys = ("claim", "violated", "tries", "left", "right", "score")
    if any(getattr(one, key) != getattr(other, key) for key in keys):
        return False
    if one.instance is None or other.instance is None:
        return one.instance is other.instance
    return content_hash(one.instance) == content_hash(other.instance)


@pytest.mark.parametrize("claim", FALSE)
def test_a_false_claim_is_violated_from_scratch(claim: str) -> None:
    """Within 8,000 tries of the default search; the audit of a run under the referee says so too."""
    found = search_counterexample(claim, SearchSettings(tries=8000))
    assert found.violated
    assert found.tries < 8000
    assert found.check is not None
    assert found.check.status is Verdict.VIOLATED
    assert found.left is not None
    assert found.right is not None
    assert found.left > found.right
    sketch = tiny_instance_of(found.instance)
    assert len(sketch.jobs) <= 6
    assert sketch.slots <= 5
    if claim in ("theorem5", "lemma3"):
        assert (found.check.left, found.check.right) == (found.left, found.right)


def test_lemma_3_needs_two_tasks_and_two_slots() -> None:
    """The shrunk witness is as small as the theory's: with one slot, or one task, the lemma is true."""
    sketch = tiny_instance_of(search_counterexample("lemma3", SearchSettings(tries=8000)).instance)
    assert (len(sketch.jobs), sketch.slots, sketch.nodes) == (2, 2, 1)


@pytest.mark.parametrize("claim", one_in(3, TRUE))
def test_a_true_claim_is_approached_and_not_violated(claim: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The closest instance is one to which the audit applies the claim, and it holds there."""
    monkeypatch.setattr(TinyProblem, "shrinking", 300)  # nothing below is about how small the instance is
    found = search_counterexample(claim, SearchSettings(tries=samples(250), seed=3))
    assert not found.violated
    assert found.tries == samples(250)
    assert found.score is not None
    assert 0 < found.score <= 1
    assert found.check is not None
    assert found.check.status is Verdict.HOLDS


# Claims whose sides an audit tells otherwise than a search
OTHER_SIDES = ("lemma2", "lemma4", "theorem3", "theorem_h", "theorem_p", "theorem_pool")


@pytest.mark.parametrize("claim", PROBLEMS)
def test_measures_and_audits_agree_on_random_sketches(claim: str) -> None:
    """Two ways of computing: what the search calls violated is violated, what it does not is not."""
    problem = PROBLEMS[claim]
    draws = RandomNumbers("agree", claim)
    seen: dict[bool, int] = {True: 0, False: 0}
    full = 500 if claim == "theorem_s" else 40  # few have windows with slack
    for j in range(samples(full)):
        bounds = Bounds(4, 4, problem.nodes, 12, problem.space.costs, problem.space.vendors)
        sketch = draw_start(draws, bounds)
        if j % 4:
            kinds = tuple(kind._replace(compute=2 * kind.compute, memory=2 * kind.memory) for kind in sketch.kinds)
            sketch = sketch._replace(kinds=kinds)
        sketch = raise_bids(sketch) if problem.space.raised and j % 3 else sketch
        measure = problem.measure(sketch)
        if measure is None:
            continue
        check = problem.check(problem.make_instance(sketch, "sketch", {}))
        assert check is not None
        assert check.status in (Verdict.HOLDS, Verdict.VIOLATED)
        if measure.violated or claim != "theorem3":  # the search tries some bids, the audit all
            assert (check.status is Verdict.VIOLATED) == measure.violated
        if claim not in OTHER_SIDES:
            assert (check.left, check.right) == (measure.left, measure.right)
        seen[measure.violated] += 1
    assert sum(seen.values()) >= of_sample(10, full)
    assert claim in FALSE or not seen[True]


def test_a_sketch_runs_as_the_algorithm_written_literally() -> None:
    """F, admission and schedule of every task, over enumerated schedules in fractions."""
    compared = 0
    for j in range(samples(80)):
        sketch = sketch_of_number(j)
        twin = simulate_pdftsp(sketch, [menu(sketch, job) for job in sketch.jobs])
        for answer, (value, admitted, cells, _) in zip(
            twin.answers, run_pdftsp(instance(sketch), "exact"), strict=True
        ):
            if answer.plan is None:
                assert value is None
                continue
            assert Fraction(answer.value, answer.over) == value
            assert answer.admitted == admitted
            assert tuple((c // sketch.slots, c % sketch.slots + 1) for c in answer.plan.cells) == cells
            compared += 1
    assert compared > of_sample(100, 80)


def test_the_same_seed_gives_the_same_result() -> None:
    first, again = (search_counterexample("theorem5_repaired", SearchSettings(tries=300, seed=5)) for _ in range(2))
    assert same(first, again)
    assert not same(first, search_counterexample("theorem5_repaired", SearchSettings(tries=300, seed=6)))


@pytest.mark.parametrize(
    ("claim", "stops"),
    [
        ("theorem5_repaired", (1, 37, 250)),
        pytest.param("theorem5", (900,), marks=pytest.mark.nightly),
        pytest.param("lemma3", (5,), marks=pytest.mark.nightly),
    ],
)
def test_a_search_that_was_interrupted_ends_as_if_it_had_not_been(claim: str, stops: tuple[int, ...]) -> None:
    """Stopped after some tries and taken up from what it kept, written to JSON in between."""
    whole = search_counterexample(claim, SearchSettings(tries=1000, seed=1))
    state: Any = None
    for stop in stops:
        kept: list[Any] = []
        search_counterexample(claim, SearchSettings(tries=stop, seed=1), state, "state", kept.append)
        state = json.loads(json.dumps(kept[-1]))
        assert state["tries"] == stop
    resumed = search_counterexample(claim, SearchSettings(tries=1000, seed=1), state, "state")
    assert same(whole, resumed)
    assert resumed.fresh == resumed.tries - stops[-1]


def test_a_search_that_was_broken_off_keeps_where_it_was() -> None:
    """An interrupt in the middle: the state is kept on the way out, and leads to the same end."""
    whole = search_counterexample("theorem5_repaired_a", SearchSettings(tries=500))
    kept: list[Any] = []

    def keep(state: Any) -> None:
        kept.append(json.loads(json.dumps(state)))
        if len(kept) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search_counterexample("theorem5_repaired_a", SearchSettings(tries=500), keep=keep)
    assert same(whole, search_counterexample("theorem5_repaired_a", SearchSettings(tries=500), kept[-1], "state"))


@pytest.mark.parametrize("calls", one_in(2, [1, 100, 101, 237]))
def test_an_interrupt_in_the_middle_of_a_try_loses_that_try_only(monkeypatch: pytest.MonkeyPatch, calls: int) -> None:
    whole = search_counterexample("lemma3", SearchSettings(tries=400, tasks=2, slots=1))
    kept: list[Any] = []
    plain, left = TinyProblem.measure, calls

    def broken(*arguments: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            raise KeyboardInterrupt
        return plain(*arguments)

    monkeypatch.setattr(TinyProblem, "measure", broken)
    with pytest.raises(KeyboardInterrupt):
        search_counterexample("lemma3", SearchSettings(tries=400, tasks=2, slots=1), keep=kept.append)
    state = json.loads(json.dumps(kept[-1]))
    assert state["tries"] < 400
    assert same(whole, search_counterexample("lemma3", SearchSettings(tries=400, tasks=2, slots=1), state, "state"))


@pytest.mark.parametrize("claim", PROBLEMS)
def test_the_least_limits_are_enough_to_search(claim: str) -> None:
    """One task, one slot, one node, no number above 1."""
    found = search_counterexample(claim, SearchSettings(tasks=1, slots=1, nodes=1, largest=1, tries=60))
    assert found.tries <= 60


def test_smaller_goes_on_to_fewer_tasks() -> None:
    """After a violation only smaller ones count; the state says how many tasks are tried."""
    kept: list[Any] = []
    found = search_counterexample("lemma4", SearchSettings(tries=400, smaller=True), keep=kept.append)
    assert found.violated
    assert len(tiny_instance_of(found.instance).jobs) == 2
    assert kept[-1]["tasks"] == 1
    assert found.tries == 400


def test_nothing_that_shrinking_tries_is_left_to_take_away() -> None:
    """From thm5_lead_L10, 11 tasks: the witness violates Theorem 5, and is smaller in every respect or as small."""
    problem, before = PROBLEMS["theorem5"], tiny_instance_of(in_gigabytes(named("thm5_lead_L10")))
    measure = problem.measure(before)
    assert measure is not None
    small, measure = LocalSearch(problem, SearchSettings(), print).shrink(Found(before, measure))
    assert measure.violated
    assert measure_size(small) < measure_size(before)
    assert len(small.jobs) <= 6
    for i in range(len(small.jobs)):
        less = small._replace(jobs=(*small.jobs[:i], *small.jobs[i + 1 :]))
        fewer = problem.measure(less)
        assert fewer is None or not fewer.violated


@pytest.mark.parametrize("bounds", BOUNDS)
def test_every_move_leaves_an_instance_within_the_bounds(bounds: Bounds) -> None:
    """Tasks, slots and nodes never pass them; the file format takes whatever a search may measure."""
    draws = RandomNumbers("moves", str(bounds))
    for _ in range(20):
        sketch = draw_start(draws, bounds)
        for _ in range(60):
            after = apply_random_move(sketch, draws, bounds)
            assert 1 <= len(after.jobs) <= bounds.tasks
            assert 1 <= after.slots <= bounds.slots
            assert 1 <= after.nodes <= bounds.nodes
            if is_within(after, bounds):
                assert tiny_instance_of(instance(after)) == _plain(after)
                sketch = after


def _plain(sketch: TinyInstance) -> TinyInstance:
    """Cost tables of zeros left out."""
    jobs = tuple(
        job if any(cost for row in job.costs for cost in row) else job._replace(costs=()) for job in sketch.jobs
    )
    return sketch._replace(jobs=jobs)


def test_raised_bids_give_bbar_of_at_least_one() -> None:
    """Over every minimal schedule, and exactly 1 where a bid was raised."""
    draws = RandomNumbers("raised")
    for _ in range(100):
        sketch = raise_bids(draw_start(draws, BOUNDS[0]))
        for job in sketch.jobs:
            try:
                its = menu(sketch, job)
            except TinyLimitExceeded:
                continue
            assert all(p.net >= p.work + job.memory * len(p.cells) for p in its.plans if p.minimal)


def test_a_number_that_no_file_may_hold_is_not_measured() -> None:
    """Random changes at the end of shrinking may reach one."""
    sketch = TinyInstance(1, (Kind(1, 4, 4),), (Job(1, 1, 1, 1, 2**41, (1,)),))
    assert PROBLEMS["theorem_p"].measure(sketch) is None


def test_a_guard_of_a_huge_node_needs_no_table_of_its_size() -> None:
    sketch = TinyInstance(1, (Kind(1, 2**39, 4),), (Job(1, 1, 1, 1, 5, (1,)),))
    assert PROBLEMS["theorem_h"].measure(sketch) is not None


def test_words_are_drawn_as_if_never_interrupted() -> None:
    """A stream taken up after any number of words goes on with the next one."""
    whole = RandomNumbers("a", 1)
    expected = [whole.draw_below(1000) for _ in range(1500)]
    for stop in (0, 1, 511, 512, 1300):
        first = RandomNumbers("a", 1)
        head = [first.draw_below(1000) for _ in range(stop)]
        rest = RandomNumbers("a", 1, skip=first.used)
        assert head + [rest.draw_below(1000) for _ in range(1500 - stop)] == expected


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"format": "other"}, "format"),
        ({"version": 0}, "version"),
        ({"claim": "lemma3"}, "claim"),
        ({"settings": {"tasks": 3}}, "settings"),
        ({"tries": -1}, "tries"),
        ({"tries": True}, "tries"),
        ({"words": None}, "words"),
        ({"here": [1, 2]}, "here"),
        ({"best": [1, [[1, 1, 1]], [[1, 1, 1, 1, 1.5, [1], [], []]]]}, "best"),
        ({"top": [1, [[1, 1, 1]], [[1, 1, 2, 1, 1, [1], [], []]]]}, "top"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(change: dict[str, Any], where: str) -> None:
    kept: list[Any] = []
    search_counterexample("theorem5", SearchSettings(tries=50), keep=kept.append)
    state = {**json.loads(json.dumps(kept[-1])), **change}
    refusal = refusal_of(search_counterexample, "theorem5", SearchSettings(tries=60), state, "state.json")
    assert refusal.startswith(f"state.json: {where}: ")


# ------------------------------------------------------------------------------------------------ the command


@pytest.mark.usefixtures("toy")
def test_the_command_writes_a_witness_that_audit_confirms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file of the instance format, beside the search's state; JSON on standard output, progress elsewhere."""
    folder = tmp_path / "found"
    arguments = ["search", "lemma3", "--tries", "5000", "--seed", "2", "--out", str(folder)]
    found = json_of(capsys, *arguments)
    assert (found["violated"], found["check"]["status"]) == (True, "violated")
    witness = folder / "lemma3.json"
    assert content_hash(read(witness)) == content_hash(instance(tiny_instance_of(read(witness))))
    checks = json_of(capsys, "audit", str(witness), "--algorithm", "pdftsp")["checks"]
    assert {check["name"]: check["status"] for check in checks}["lemma3"] == "violated"
    assert "--resume goes on with it" in refused(capsys, *arguments)
    assert "VIOLATED" in printed(capsys, *arguments, "--resume")
    assert "lemma3.state.json: settings" in refused(capsys, *arguments, "--resume", "--tasks", "3")


def test_the_command_resumes_to_the_same_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """200 tries and then 500 in all: the witness of 500 at once."""
    texts = []
    for name, steps in (("once", ["500"]), ("twice", ["200", "500"])):
        for j, tries in enumerate(steps):
            more = ["--resume"] if j else []
            arguments = ["search", "lemma2", "--tries", tries, "--out", str(tmp_path / name), *more]
            assert main(arguments) == 0
        texts.append((tmp_path / name / "lemma2.json").read_text())
    assert texts[0] == texts[1]
    assert "not violated after 500 tries" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["theorem6"], "'theorem6' is not known; did you mean 'theorem5'? Known: theorem5, lemma3, "),
        (["theorem5", "--resume"], "--resume: needs --out DIR"),
        (["theorem5", "--out", "{}/none", "--resume"], "none/theorem5.state.json"),
    ],
)
def test_a_search_that_cannot_begin_says_why(
    arguments: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert line in refused(capsys, "search", *(each.format(tmp_path) for each in arguments))


@pytest.mark.parametrize(
    "arguments",
    [["--tasks", "9"], ["--tasks", "0"], ["--slots", "x"], ["--seed", "-1"], ["--tries", "1", "--seconds", "1"]],
)
def test_limits_outside_their_range_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "search", "theorem5", *arguments)


def test_every_claim_with_a_search_has_one_problem() -> None:
    """With an algorithm whose audit has a check of its name; false claims first."""
    assert set(PROBLEMS) == {claim.name for claim in CLAIMS if claim.search is not None}
    assert tuple(PROBLEMS)[: len(FALSE)] == FALSE
    for problem in PROBLEMS.values():
        assert problem.check(instance(sketch_of_number(1))) is not None
