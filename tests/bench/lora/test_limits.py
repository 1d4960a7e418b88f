"""Theorems N1 and N3: closed forms against linear programmes and brute force, their instances, the command."""

import contextlib
import functools
import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import ratiobench
from ratiobench.bench.cli import main
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.lora.theory.limits import bound_choice, bound_rising, make_case, parse_recipe
from ratiobench.formulations import backends
from ratiobench.formulations.backends import Limits
from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.lora.solve import solve
from ratiobench.formulations.report import Termination
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import limits
from ratiobench.instances.lora.format import document, parse
from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.registry import entries
from ratiobench.online.lora.run import ENVIRONMENT
from ratiobench.online.lora.run import run as run_algorithm
from tests.support.commands import json_of, printed, refused
from tests.support.contestants import Declares, Honest, HonestBatch
from tests.support.nightly import one_in

# Small enough for an enumeration of all schedules
TINY = (
    "rising:levels=1+2+5,K=1,n=2",
    "rising:levels=1+3,K=1,n=1,T=2",
    "rising:levels=1+3,K=1,n=1,T=2,window=all,memory=bid",
    "rising:levels=1+2,K=2,n=1,apart=true",
    "choice:G=3,m=2,levels=1+3,K=1,n=1,order=2+3+1",
    "choice:G=2,m=1,levels=1+2+3,K=1,n=1,seed=4",
)


def _first(instance: Instance, tasks: int) -> Instance:
    data = document(instance)
    data["tasks"] = data["tasks"][:tasks]
    return parse(data, "prefix")


@pytest.mark.parametrize("text", TINY)
def test_opt_of_every_prefix_is_what_enumeration_finds(text: str) -> None:
    """The closed form, and what the instance says of itself; whole numbers, no costs."""
    recipe = parse_recipe(text)
    _, construction = limits.read(recipe)
    instance = limits.generate(recipe)
    assert [tuple(prefix.values()) for prefix in document(instance)["origin"]["prefixes"]] == construction.prefixes()
    assert not instance.cost(0).any()
    for label, tasks, opt in construction.prefixes():
        part = _first(instance, tasks)
        optimum = enumerate_optimum(part)[0] if tasks <= 8 else solve(part).upper
        assert optimum == opt, label
    assert instance.tasks == tasks


def test_files_are_what_the_theorems_say() -> None:
    """Rates, units, windows; the example's number of tasks; memory in proportion to the bid gives U = theta + 1."""
    recipe = parse_recipe("rising")
    _, construction = limits.read(recipe)
    assert construction.prefixes()[-1][1] == 1144
    first, second, third, *_, last = construction.values()
    assert (first, second, third, last) == (1_000_000, 1_050_000, 1_102_500, 10**9)
    for memory, spread in (("bid", 31), ("equal", 60)):
        instance = limits.generate(parse_recipe(f"rising:theta=30,memory={memory},K=1,n=4"))
        public = instance.public("")
        assert set(instance.work.tolist()) == {1000}
        assert public.compute.tolist() == [4000]
        top, fattest = int(instance.bid.max()), Fraction(0)
        top_memory = max(Fraction(int(b), int(r)) for b, r in zip(instance.bid, instance.memory_mb, strict=True))
        for bid, size in zip(instance.bid.tolist(), instance.memory_mb.tolist(), strict=True):
            fattest = max(fattest, (top + top_memory * size) / bid)
        assert fattest == spread


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("rising:levels=3+2", "levels"),
        ("rising:levels=1+2,theta=4", "theta"),
        ("rising:theta=1000000,delta=1/1000", "delta"),
        ("rising:theta=1000,K=100000,n=9", "levels"),
        ("choice:G=3,m=3", "m"),
        ("choice:G=3,order=1+2+2", "order"),
        ("choice:levels=2+3", "levels"),
    ],
)
def test_what_cannot_be_made_is_named(text: str, place: str) -> None:
    with pytest.raises(InputError) as found:
        make_case(text, 1)
    assert found.value.field == place
    with pytest.raises(InputError, match="did you mean 'rising'"):
        make_case("risin", 1)


# No policy does better: linear programmes over all fractional policies.

Rows = Sequence[tuple[Mapping[int, float], float, float]]


INF = math.inf


def _maximise(variables: int, last: int, rows: Rows) -> float:
    objective = np.zeros(variables)
    objective[last] = 1.0
    starts = np.cumsum([0, *(len(row) for row, _, _ in rows)])
    model = LinearModel(
        name="policies",
        objective=objective,
        lower=np.zeros(variables),
        upper=np.full(variables, INF),
        integer=np.zeros(variables, bool),
        row_start=starts.astype(np.int64),
        index=np.array([column for row, _, _ in rows for column in row], np.int64),
        value=np.array([value for row, _, _ in rows for value in row.values()], float),
        row_lower=np.array([low for _, low, _ in rows], float),
        row_upper=np.array([high for _, _, high in rows], float),
        columns=tuple(f"x{number}" for number in range(variables)),
        rows=tuple(f"r{number}" for number in range(len(rows))),
    )
    found = backends.solve("highs", model, Limits())
    assert found.termination is Termination.OPTIMAL
    assert found.values is not None
    return float(found.values[last])


LEVELS = ([1, 2, 3, 4, 5], [1, 2, 4, 8, 16], [3, 7, 8, 40], [5], [2, 1000])


@pytest.mark.parametrize("levels", LEVELS)
def test_n1_is_the_best_of_all_fractional_policies(levels: list[int]) -> None:
    """Units sold per level, at most all; earned at every prefix at least the share y of OPT."""
    count = len(levels)
    rows: list[tuple[Mapping[int, float], float, float]] = [(dict.fromkeys(range(count), 1.0), -INF, 1.0)]
    for j, level in enumerate(levels):
        rows.append(({**{i: float(levels[i]) for i in range(j + 1)}, count: -float(level)}, 0.0, INF))
    best = _maximise(count + 1, count, rows)
    assert 1 / best == pytest.approx(float(bound_rising(levels)), rel=1e-7)


@pytest.mark.parametrize(("types", "groups"), [(2, 1), (3, 1), (3, 2), (5, 3), (10, 6), (40, 20)])
@pytest.mark.parametrize("levels", [[1], [1, 2, 4], [1, 3, 20]])
def test_n3_is_not_above_the_best_policy(types: int, groups: int, levels: list[int]) -> None:
    """Shares of groups sold, spread evenly over the open types by symmetry; later sales, per type that stays open."""
    rest, count = types - groups, groups + len(levels)
    rows: list[tuple[Mapping[int, float], float, float]] = [({k: 1.0}, -INF, 1.0) for k in range(groups)]
    load = {k: 1 / (types - k) for k in range(groups)} | {groups + j: 1.0 for j in range(len(levels))}
    rows.append((load, -INF, 1.0))
    for k in range(groups):
        rows.append(({**dict.fromkeys(range(k + 1), 1.0), count: -float(k + 1)}, 0.0, INF))
    for j, level in enumerate(levels):
        earned = dict.fromkeys(range(groups), 1.0) | {groups + i: float(rest * levels[i]) for i in range(j + 1)}
        rows.append(({**earned, count: -float(groups + rest * level)}, 0.0, INF))
    best = 1 / _maximise(count + 1, count, rows)
    bound = float(bound_choice(types, groups, levels))
    assert best >= bound - 1e-7
    if types / groups > bound + 1e-6 and (types, groups) in ((2, 1), (3, 1)):
        assert best == pytest.approx(bound, rel=1e-7)  # one group: the second half of the theorem is exact


def test_n3_tends_to_its_limit() -> None:
    """Of many types and fine levels c (1 - ln(c / (c - 1))) = ln theta, from below."""
    levels = [round(10**6 * 1.01**j) for j in range(300)]
    bounds = [max(float(bound_choice(types, m, levels)) for m in range(1, types)) for types in (10, 50)]
    left = [c * (1 - math.log(c / (c - 1))) for c in bounds]
    assert left[0] < left[1] < math.log(levels[-1] / levels[0])
    assert left[1] > math.log(levels[-1] / levels[0]) - 0.06


# Every algorithm that is registered.

MEMBERS = (
    "rising:levels=1+4+9,T=2",
    "rising:theta=20,delta=1/2",
    "rising:levels=1+2+3+4+5,T=3,window=all,memory=bid",
    "choice:G=3,m=2,K=1,n=2",
    "choice:G=3,m=1,theta=5,delta=1/2,K=1,n=2",
)
# Algorithms that need nothing but their names; others may come, and those that need a file or an option do not run
RUN_ALONE = (
    "bbar-rule", "capped", "eft", "eris", "greedy", "learned", "minimal-edit", "ntm", "pdftsp", "posted",
    "titan",
)  # fmt: skip


@functools.cache
def _list_algorithms() -> tuple[str, ...]:
    """All registered algorithms that need nothing but their names."""
    found = []
    for name in entries():
        with contextlib.suppress(InputError):
            run_algorithm(ENVIRONMENT.small(), name)
            found.append(name)
    assert set(RUN_ALONE) <= set(found)
    return tuple(found)


@pytest.mark.parametrize("member", one_in(3, MEMBERS))
def test_no_registered_algorithm_is_below_its_limit(member: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every algorithm of the registry, on every family; batches get levels apart."""
    names = _list_algorithms()
    assert main(["limit", member, "--json", *(word for name in names for word in ("-a", name))]) == 0
    found = json.loads(capsys.readouterr().out)
    exact = {each["algorithm"]: each for each in found["runs"]}
    assert set(exact) == set(names)
    judged = 0
    for name, each in exact.items():
        assert each["state"] == "ok", (name, each)
        # Of an algorithm that draws, the mean over the orders of the types is a sample, which may be lucky.
        if each["worst_ratio"] is not None and not (entries()[name].randomised and member.startswith("choice")):
            judged += 1
            assert Fraction(each["worst_ratio"]) >= Fraction(found["bound"]), name
    assert judged >= 5
    assert "moment" in exact["titan"]["reason"]


def test_constants_do_not_tell_the_order_of_the_types() -> None:
    """They come from one instance for all orders, in which all types are alike; else `guarded` is below Theorem N3."""
    text = "choice:G=2,m=1,theta=3,delta=2,K=2,n=2"
    recipe = parse_recipe(text)
    announced = limits.generate_announced(recipe)
    assert announced is not None
    again = limits.generate_announced(recipe | {"order": [2, 1]})
    assert again is not None
    assert document(again) == document(announced)
    usable = [[bool(rate) for rate in row] for row in announced.rate.tolist()]
    assert sum(row[0] for row in usable) == sum(row[1] for row in usable) > announced.tasks // 2
    assert limits.generate_announced(parse_recipe("rising")) is None
    [guarded] = ratiobench.limit(text, "guarded:inner=greedy,beta=3").query("worst").to_dict("records")
    assert guarded["ratio_exact"] == 2 >= guarded["bound_exact"] == Fraction(16, 9)


# Anyone's own algorithm, the function, the command.


def test_users_algorithms_run_as_in_simulate() -> None:
    """As classes; one that rejects all is unbounded; one that answers a whole slot at once has its levels apart."""
    frame = ratiobench.limit("rising:levels=1+2+4,K=1,n=2", [Honest, Declares, "greedy"])
    assert frame.attrs["recipe"] == "limit:rising:levels=1+2+4,K=1,n=2"
    assert (frame.attrs["theorem"], frame.attrs["bound"]) == ("N1", 2)
    by = dict(iter(frame.groupby("algorithm", sort=False)))
    first, rejecting, greedy = by.values()
    assert first["ratio_exact"].tolist() == greedy["ratio_exact"].tolist() == [1, 2, 4]
    assert first["worst"].tolist() == [False, False, True]
    assert rejecting["ratio"].tolist() == [math.inf] * 3
    assert rejecting["ratio_exact"].tolist() == [None] * 3
    assert rejecting["worst"].tolist() == [True, False, False]
    assert frame["opt"].tolist()[:3] == [2_000_000, 4_000_000, 8_000_000]
    batch = ratiobench.limit("rising:levels=1+2+4,K=1,n=2", HonestBatch)
    assert batch["alg"].tolist() == [1_000_000, 3_000_000, 3_000_000]
    assert "a moment of its own" in batch["reason"][0]


def test_the_mean_over_draws_is_taken_before_the_largest_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    """Of ntm three runs; of a random family all orders, or as many as are asked for, which is said."""
    [run] = json_of(capsys, "limit", "rising:theta=4,delta=1,n=2", "-a", "ntm", "--repeat", "3")["runs"]
    assert run["runs"] == 3
    case = make_case("choice:G=3", 1)
    assert len(case.instances(False)) == 6
    assert "all 6 orders" in case.note
    drawn = make_case("choice:G=6", 4)
    assert "4 drawn orders" in drawn.note
    assert len({tuple(document(each)["tasks"][-1]["rate"]) for each in drawn.instances(False)}) > 1
    assert len(make_case("choice:G=3,order=3+1+2", 4).instances(False)) == 1


def test_the_command_prints_one_algorithm_prefix_by_prefix(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The limit alone; one algorithm; unbounded; the rows as a file."""
    member = "rising:levels=1+9,K=1,n=1"
    text = printed(capsys, "limit", member)
    assert "no algorithm, randomised or not, keeps OPT/ALG below 1.888... at every prefix (Theorem N1)" in text
    text = printed(capsys, "limit", member, "-a", "greedy", "--csv", str(tmp_path / "rows.csv"))
    assert "9 <- worst" in text
    assert "OPT/ALG = 9, 4.764 times the limit 1.888... (Theorem N1)" in text
    assert (tmp_path / "rows.csv").read_text().splitlines()[2].endswith("value 9,2,9000000,1000000,9,True,17/9")
    text = printed(capsys, "limit", member, "-a", "tests.support.contestants:Declares")
    assert "unbounded <- worst" in text
    assert "worst prefix: up to value 1: OPT/ALG is unbounded, ALG = 0 where OPT > 0; the limit is 1.888... (" in text
    assert refused(capsys, "limit", member, "--csv", str(tmp_path / "none.csv"))


@pytest.mark.parametrize(
    ("algorithm", "claim", "factor"),
    [
        ("posted", "theorem_a", "gamma_known_beforehand"),
        ("minimal-edit:units=canonical", "theorem_b", "gamma"),
        ("bbar-rule", "theorem_c_a_priori", "factor"),
        ("greedy", "theorem_g", "factor"),
    ],
)
def test_audits_show_the_least_factor_beside_the_proved_one(algorithm: str, claim: str, factor: str) -> None:
    """Of the class of instances with the run's U: never above what is proved."""
    instance = limits.generate(parse_recipe("rising:levels=1+3+9,K=1,n=4"))
    [row] = ratiobench.audit(instance, algorithm, claims=claim).to_dict("records")
    assert row["verdict"] == Verdict.HOLDS
    least = row["figures"]["least_factor"]
    assert 1 < least <= row["figures"][factor]
    if claim == "theorem_a":  # equal memories: U = 2 theta
        assert least == Fraction(math.floor(1000 * (1 + math.log(9))), 1000)


@pytest.mark.nightly
def test_the_figures_of_the_documentation() -> None:
    """The last table of docs/theory/limits.md, from the runs that it names."""
    text = (Path(__file__).parents[3] / "docs" / "theory" / "limits.md").read_text(encoding="utf-8")
    lines = text.partition("| algorithm | `rising")[2].split("\n\n")[0].splitlines()[2:]
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert len(table) == 13
    for column, member in enumerate(("rising:theta=20", "choice"), 1):
        frame = ratiobench.limit(member, [row[0] for row in table])
        for row in table:
            [worst] = frame.loc[(frame["algorithm"] == row[0]) & frame["worst"], "ratio"].tolist()
            assert row[column] == ("unbounded" if math.isinf(worst) else f"{math.floor(1000 * worst) / 1000:.3f}")
