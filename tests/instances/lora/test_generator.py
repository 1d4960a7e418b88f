"""The generator `paper`: the same file everywhere, the paper's laws, and loads that contend."""

import copy
import json
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import Instance, content_hash, read, write
from ratiobench.instances.lora.arrivals import SLOTS_PER_DAY, days, scale_counts, span_counts, traces
from ratiobench.instances.lora.calibration import read_shipped
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.named import named, names, path
from ratiobench.instances.lora.paper import DEADLINES, read_recipe
from ratiobench.instances.lora.prices import regions, tariff_from
from ratiobench.instances.lora.quantities import load, servable
from tests.support.documents import refusal_of
from tests.support.samples import samples

Recipe = dict[str, Any]

PAPER: Recipe = {"kind": "paper", "nodes": 50, "arrivals": {"poisson": 50}, "seed": ["x", 1]}

# Hashes of generated files: they may change only together with `paper.VERSION`.
PINNED: list[tuple[Recipe, str]] = [
    (PAPER, "49fbf17821e2cc44b3506063ee86180ef8481d81a57434d0d11fedf2fb1110da"),
    ({"kind": "paper"}, "2c2ef4a305c2b424f31faad912156a2ad9c752171af06508a312307e1a8b6103"),
    (
        {**PAPER, "nodes": 100, "arrivals": {"trace": "philly", "mean": 50}, "deadlines": "tight"},
        "846f23601365f39d00a01a90871da7ee669c3d8a748b0b738de08f15207faf71",
    ),
    (
        {**PAPER, "mix": "a40", "tasks": 40, "slots": 36, "start": 61, "prices": {"region": "DE"}},
        "7e87f3547d6d25ca05ade6ce46ea2c2aad3fa1e61faa86887737272ace0e9e20",
    ),
    (
        {
            "kind": "paper",
            "nodes": {"h200": 1, "a40": 2},
            "arrivals": {"trace": "helios", "day": "2020-04-22"},
            "vendors": {"count": 2, "percent": 100, "delay": [0, 3]},
            "deadlines": "loose",
            "colocation": [4],
            "prices": {"region": "DE", "day": "2016-05-08"},
            "bids": {"per_1000": [10, 20]},
            "quiet": 10,
            "seed": "y",
        },
        "56e9aefe3a69de028f21dec9d63080ed79796901f4bcd5226762deaa72e368e2",
    ),
    (
        {**PAPER, "arrivals": {"trace": "pai"}, "tasks": 60, "nodes": 2, "vendors": 0},
        "894ac09461ddf5bd8c4afe7a6f4d603ee7fe57450bc73f8f99ba22e151db6c6f",
    ),
]


@pytest.fixture(scope="module")
def day() -> Instance:
    """The paper's day: 50 nodes, half A100 and half A40, 50 tasks a slot on average."""
    return generate(PAPER)


@pytest.mark.parametrize(("recipe", "digest"), PINNED)
def test_the_same_recipe_gives_the_same_file_on_any_machine(recipe: Recipe, digest: str) -> None:
    assert content_hash(generate(recipe)) == digest


@pytest.mark.parametrize(("recipe", "digest"), PINNED)
def test_the_recipe_in_the_origin_gives_the_same_instance(recipe: Recipe, digest: str) -> None:
    """`origin` holds the whole recipe, defaults included, as JSON values that can be used again."""
    again = json.loads(json.dumps(generate(recipe).origin["recipe"]))
    assert content_hash(generate(again)) == digest
    assert generate(again).origin["recipe"] == again


def test_the_origin_names_generator_and_sources(day: Instance) -> None:
    """Who reads a file learns what made it, that A100 and A40 are derived, and where prices come from."""
    assert (day.origin["generator"], day.origin["version"]) == ("paper", 1)
    assert "A100 and A40 are derived" in day.origin["calibration"]
    assert "EUR taken 1:1" in day.origin["prices"]
    traced = generate({"kind": "paper", "tasks": 5, "arrivals": {"trace": "helios"}})
    assert "CC BY 4.0" in traced.origin["arrivals"]


def test_another_seed_gives_another_instance() -> None:
    """Seeds are names: strings, integers or lists of them."""
    seeds: list[Any] = [0, 1, "a", ["a", 1], ["a", 2], [1, "a"]]
    assert len({content_hash(generate({"kind": "paper", "tasks": 20, "seed": seed})) for seed in seeds}) == len(seeds)


def test_the_paper_s_setting_contends(day: Instance) -> None:
    """At K = 50 and 50 tasks a slot the work is one to two times what the nodes can do."""
    assert (day.nodes, day.slots, day.slot_seconds) == (50, 144, 600)
    assert [node.count for node in day.node_types] == [25, 25]
    assert 1 <= load(day) <= 2
    assert abs(day.tasks - 7200) < 5 * 85


def test_several_median_tasks_share_a_node(day: Instance) -> None:
    """The median s_ik/C_kp lies in 0.05..0.35, and at least three median tasks fit by compute and by memory."""
    memory = statistics.median(day.memory_mb.tolist())
    for g, node in enumerate(day.node_types):
        rate = statistics.median(day.rate[:, g].tolist())
        assert 0.05 <= rate / node.compute <= 0.35
        assert 3 * rate <= node.compute
        assert 3 * memory <= node.memory_mb - day.base_memory_mb


def test_every_task_fits_every_node_type_alone(day: Instance) -> None:
    """Rates are a share of the node and memory fits, so only the window decides whether a task can run."""
    for g, node in enumerate(day.node_types):
        assert (day.rate[:, g] > 0).all()
        assert (day.rate[:, g] <= node.compute).all()
        assert (day.memory_mb <= node.memory_mb - day.base_memory_mb).all()
    assert servable(day).mean() > 0.9


def test_derived_nodes_are_shares_of_the_measured_one() -> None:
    """A100 and A40 work at 0.37 and 0.15 of the H200's rate."""
    for name, share in (("h200", 1.0), ("a100", 0.37), ("a40", 0.15)):
        gpu = read_shipped().gpus[name]
        assert gpu.compute == pytest.approx(share * read_shipped().gpus["h200"].compute, abs=1)
        for profile in read_shipped().profiles:
            assert profile.rate[name] == pytest.approx(share * profile.rate["h200"], abs=1)
            assert profile.rate[name] * profile.tasks <= gpu.compute
            assert profile.energy_wh[name] >= 1


def test_net_values_are_positive_but_costs_and_vendors_matter(day: Instance) -> None:
    """Most tasks are worth running; energy takes 10 to 60 % of the median bid, the cheapest vendor 2 to 40 %."""
    mean_tariff = float(day.node_types[0].tariff.mean())
    energy, vendor, net = [], [], []
    for i in range(0, day.tasks, 7):
        bid = int(day.bid[i])
        slots = -(-day.work[i] // day.rate[i])
        cost = float((slots * day.energy_wh[i]).min()) * mean_tariff
        price = min((offer.price for offer in day.vendors(i)), default=0)
        energy.append(cost / bid)
        net.append(bid - cost - price)
        if price:
            vendor.append(price / bid)
    assert 0.1 < statistics.median(energy) < 0.6
    assert 0.02 < statistics.median(vendor) < 0.4
    assert 0.8 < sum(value > 0 for value in net) / len(net) < 1


def test_work_is_samples_times_epochs(day: Instance) -> None:
    """M_i has the range and the mean of U[5k, 20k] times U{1..5}."""
    assert 5_000 <= day.work.min() <= day.work.max() <= 100_000
    assert day.work.mean() == pytest.approx(12_500 * 3, rel=0.03)


def test_half_of_the_tasks_have_five_vendors(day: Instance) -> None:
    """f_i = 1 for about the given share; delays and prices keep their ranges, and speed costs more."""
    sizes = Counter(np.diff(day.vendor_start).tolist())
    assert set(sizes) == {0, 5}
    assert sizes[5] / day.tasks == pytest.approx(0.5, abs=0.03)
    assert set(day.vendor_delay.tolist()) == set(range(1, 9))
    prices = {h: day.vendor_price[day.vendor_delay == h].mean() for h in (1, 8)}
    assert prices[1] > 1.2 * prices[8]


def test_one_more_vendor_changes_nothing_else() -> None:
    """The first vendors of a market are the same in a larger one, and so is everything else (Fig. 5)."""
    recipe = {"kind": "paper", "tasks": 60, "seed": ["market"], "deadlines": [400, 400]}
    small, large = generate({**recipe, "vendors": 3}), generate({**recipe, "vendors": 4})
    for column in ("arrival", "memory_mb", "work", "bid", "rate", "energy_wh"):
        assert getattr(small, column).tolist() == getattr(large, column).tolist()
    for i in range(small.tasks):
        assert small.vendors(i) == large.vendors(i)[:3]


def test_more_nodes_of_the_same_types_change_no_task() -> None:
    """The scale of the data center can be varied on the same tasks (Fig. 4)."""
    small, large = generate({**PAPER, "nodes": 50}), generate({**PAPER, "nodes": 200})
    assert (small.nodes, large.nodes) == (50, 200)
    for column in ("arrival", "deadline", "memory_mb", "work", "bid", "rate", "energy_wh", "vendor_price"):
        assert getattr(small, column).tolist() == getattr(large, column).tolist()


@pytest.mark.parametrize("kind", sorted(DEADLINES))
def test_deadlines_keep_their_definition(kind: str) -> None:
    """The window is the fewest slots times a stretch of the stated range, from the fastest vendor's end, cut at T."""
    instance = generate({"kind": "paper", "tasks": 500, "deadlines": kind, "seed": ["d"]})
    low, high = DEADLINES[kind]
    stretched = set()
    for i in range(instance.tasks):
        first = int(instance.arrival[i]) + min((offer.delay for offer in instance.vendors(i)), default=0)
        needed = -(-int(instance.work[i]) // int(instance.rate[i].max()))
        window = int(instance.deadline[i]) - first + 1
        if instance.deadline[i] < instance.slots:
            assert -(-needed * low // 100) <= window <= -(-needed * high // 100)
            stretched.add(window / needed)
        else:
            assert window <= -(-needed * high // 100)
    assert len(stretched) > 10


def test_looser_deadlines_only_move_deadlines() -> None:
    """The three laws differ in the deadline alone, and tight ones are earlier on average (Fig. 9)."""
    made = {kind: generate({"kind": "paper", "tasks": 300, "deadlines": kind}) for kind in DEADLINES}
    assert made["tight"].deadline.mean() < made["uniform"].deadline.mean() < made["loose"].deadline.mean()
    for column in ("arrival", "memory_mb", "work", "bid", "rate", "vendor_price"):
        assert len({str(getattr(instance, column).tolist()) for instance in made.values()}) == 1


@pytest.mark.parametrize("mean", [30, 50, 80])
def test_poisson_arrivals_have_their_mean(mean: int) -> None:
    """A day has 144 times the mean, within five standard deviations."""
    instance = generate({**PAPER, "arrivals": {"poisson": mean}})
    assert abs(instance.tasks - 144 * mean) < 5 * (144 * mean) ** 0.5


@pytest.mark.parametrize("trace", [name for name, _ in traces()])
def test_trace_arrivals_are_the_day_s(trace: str) -> None:
    """Arrivals are the day's counts as they are, or rescaled to a mean or a total exactly."""
    day = days(trace)[2]
    arrivals = {"trace": trace, "day": day}
    counts = span_counts(trace, day, 1)[0]

    def per_slot(**more: Any) -> list[int]:
        instance = generate({"kind": "paper", "nodes": 2, **more})
        return np.bincount(instance.arrival, minlength=instance.slots + 1)[1:].tolist()

    assert per_slot(arrivals=arrivals) == list(counts)
    assert per_slot(arrivals={**arrivals, "mean": 2}) == list(scale_counts(counts, 288))
    assert per_slot(arrivals=arrivals, tasks=70) == list(scale_counts(counts, 70))
    part = per_slot(arrivals=arrivals, tasks=40, slots=30, start=61, quiet=6)
    assert part == [*scale_counts(counts[60:84], 40), 0, 0, 0, 0, 0, 0]


def test_a_user_s_trace_file_drives_the_arrivals(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("timestamp,duration\n2017-08-07 00:05:00,1\n2017-08-07 23:55:00,1\n2017-08-07 23:59:00,1\n")
    arrivals = {"trace": "philly", "file": str(file), "day": "2017-08-07"}
    assert generate({"kind": "paper", "arrivals": arrivals}).arrival.tolist() == [1, 144, 144]
    assert generate({"kind": "paper", "arrivals": arrivals, "tasks": 6}).arrival.tolist() == [1, 1, 144, 144, 144, 144]


def test_a_part_of_the_day_has_that_part_s_prices() -> None:
    """Slot 1 of the instance is slot `start` of the day, for prices as for arrivals."""
    instance = generate({"kind": "paper", "tasks": 5, "start": 100, "slots": 20, "prices": {"region": "DE"}})
    prices = tariff_from("DE", instance.origin["recipe"]["prices"]["day"]).at_slots(0, 144, 600)[0]
    for node in instance.node_types:
        assert node.tariff.tolist() == list(prices[99:119])
    assert generate({"kind": "paper", "tasks": 5, "start": 100}).slots == SLOTS_PER_DAY - 99


def test_a_total_without_a_trace_is_spread_uniformly() -> None:
    """Poisson arrivals conditioned on their number are uniform over the busy slots."""
    instance = generate({"kind": "paper", "tasks": 4000, "slots": 50, "quiet": 10})
    counts = np.bincount(instance.arrival, minlength=51)[1:]
    assert counts[40:].sum() == 0
    # Chi-square with 39 degrees of freedom: above 73 with probability 0.001.
    assert ((counts[:40] - 100) ** 2 / 100).sum() < 73


def test_node_mixes_have_the_stated_types() -> None:
    """K nodes of one type or half and half, or counts by type in the table's order."""

    def fleet(**recipe: Any) -> dict[str, int]:
        return {node.name: node.count for node in generate({"kind": "paper", "tasks": 1, **recipe}).node_types}

    assert fleet(nodes=5) == {"a100": 3, "a40": 2}
    assert fleet(nodes=1) == {"a100": 1}
    assert fleet(nodes=7, mix="a40") == {"a40": 7}
    assert fleet(nodes=7, mix="a100") == {"a100": 7}
    assert list(fleet(nodes={"a40": 1, "a100": 2, "h200": 3}).items()) == [("h200", 3), ("a100", 2), ("a40", 1)]


@pytest.mark.nightly
def test_a_day_of_7200_tasks_saves_and_loads(tmp_path: Path) -> None:
    """The scale of the issue's day: K = 100, 7,200 tasks, one gzip file that reads back identical."""
    instance = generate({**PAPER, "nodes": 100, "arrivals": {"trace": "philly", "mean": 50}})
    assert (instance.nodes, instance.tasks) == (100, 7200)
    write(instance, tmp_path / "day.json.gz")
    assert content_hash(read(tmp_path / "day.json.gz")) == content_hash(instance)
    assert (tmp_path / "day.json.gz").stat().st_size < 1_000_000


def test_an_instance_may_have_no_task() -> None:
    assert generate({"kind": "paper", "tasks": 0}).tasks == 0
    assert generate({"kind": "paper", "tasks": 0, "arrivals": {"trace": "pai"}}).tasks == 0


def test_named_and_file_recipes_read_instances(tmp_path: Path) -> None:
    """The other two kinds of recipe give shipped instances and files."""
    name = names()[0]
    assert content_hash(generate({"kind": "named", "name": name})) == content_hash(named(name))
    assert content_hash(generate({"kind": "file", "path": str(path(name))})) == content_hash(named(name))


@settings(max_examples=samples(40))
@given(
    recipe=st.fixed_dictionaries(
        {"kind": st.just("paper"), "tasks": st.integers(0, 25), "seed": st.integers(0, 10**6)},
        optional={
            "nodes": st.integers(1, 6)
            | st.dictionaries(st.sampled_from(["h200", "a100", "a40"]), st.integers(1, 3), min_size=1),
            "start": st.integers(1, 144),
            "arrivals": st.sampled_from([{"poisson": 3}, {"trace": "pai"}, {"trace": "philly", "day": "2017-10-13"}]),
            "data": st.sampled_from([[1, 1], [5, 5000]]),
            "epochs": st.sampled_from([[1, 1], [2, 3]]),
            "colocation": st.sampled_from([[4], [8, 16], [4, 8, 16]]),
            "batch": st.sampled_from([[2], [2, 4]]),
            "vendors": st.integers(0, 3) | st.just({"percent": 100, "delay": [0, 0], "count": 1}),
            "deadlines": st.sampled_from(["tight", "uniform", "loose", [100, 100]]),
            "sizes": st.sampled_from(["profiles", "own", "wide", [1, 1000]]),
            "prices": st.sampled_from(
                [{"region": region, "day": day} for region, ds in regions().items() for day in ds]
            ),
            "bids": st.sampled_from([{"per_1000": [0, 0]}, {"preparation_per_1000": [5, 5]}]),
        },
    )
)
def test_every_recipe_gives_a_valid_instance_with_its_tasks(recipe: Recipe) -> None:
    """Any combination of keys generates, twice the same, with the number of tasks asked for."""
    start = recipe.get("start", 1)
    counts = span_counts("pai", days("pai")[0], 1)[0][start - 1 :]
    if recipe.get("arrivals") == {"trace": "philly", "day": "2017-10-13"}:
        counts = span_counts("philly", "2017-10-13", 1)[0][start - 1 :]
    if "trace" in recipe.get("arrivals", {}) and recipe["tasks"] and not any(counts):
        with pytest.raises(InputError, match="no submissions"):
            generate(recipe)
        return
    before = copy.deepcopy(recipe)
    instance = generate(recipe)
    assert instance.tasks == recipe["tasks"]
    assert content_hash(generate(recipe)) == content_hash(instance)
    assert recipe == before


def test_own_arrivals_are_a_file_of_counts(tmp_path: Path) -> None:
    """Slot by slot from the begin of the first day, rescaled on request; the recipe keeps them, not the file."""
    file = tmp_path / "counts.csv"
    file.write_text("slot,count\n2,3\n5,1\n4,2\n150,4\n")
    recipe = {"kind": "paper", "nodes": 2, "slots": 6}
    made = generate(recipe | {"arrivals": {"counts": str(file)}})
    assert made.arrival.tolist() == [2, 2, 2, 4, 4, 5]
    kept = dict(made.origin)["recipe"]
    assert kept["arrivals"]["counts"][:6] == [0, 3, 0, 2, 1, 0]
    file.unlink()
    assert content_hash(generate({"kind": "paper", **kept})) == content_hash(made)
    later = generate(recipe | {"start": 4, "arrivals": {"counts": [0, 3, 0, 2, 1], "mean": 1}})
    assert later.arrival.tolist() == [1, 1, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1: '' is not the header slot,count"),
        ("slot,count\n", "has no counts"),
        ("slot,n\n1,2\n", "line 1: 'slot,n' is not the header slot,count"),
        ("slot,count\n1,2,3\n", "line 2: 3 fields; 2 needed"),
        ("slot,count\n0,2\n", "line 2 slot: 0 is not in 1.."),
        ("slot,count\n\n1,x\n", "line 3 count: 'x' is not an integer"),
        ("slot,count\n1,2\n1,3\n", "line 3 slot: 1 stands twice"),
    ],
)
def test_a_bad_file_of_counts_is_one_error(text: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "counts.csv"
    file.write_text(text)
    assert refusal_of(generate, {"kind": "paper", "arrivals": {"counts": str(file)}}).startswith(f"{file}: {problem}")


BAD: list[tuple[Recipe, str, str]] = [
    ({}, "kind", "null is not one of family, file, limit, named, paper"),
    ({"kind": "synthetic"}, "kind", "'synthetic'"),
    ({"kind": ["paper"]}, "kind", "a list of 1"),
    ({"kind": "named"}, "name", "missing"),
    ({"kind": "named", "name": "absent"}, "name", "'absent'"),
    ({"kind": "named", "name": "tiny_vendors", "seed": 1}, "seed", "unknown key"),
    ({"kind": "file"}, "path", "missing"),
    ({"kind": "file", "path": ""}, "path", "''"),
    ({"kind": "paper", "colour": 1}, "colour", "unknown key"),
    ({"kind": "paper", "nodes": 0}, "nodes", "0"),
    ({"kind": "paper", "nodes": True}, "nodes", "true"),
    ({"kind": "paper", "nodes": 2.0}, "nodes", "2.0"),
    ({"kind": "paper", "nodes": {}}, "nodes", "empty"),
    ({"kind": "paper", "nodes": {"v100": 1}}, "nodes.v100", "unknown key"),
    ({"kind": "paper", "nodes": {"a100": 0}}, "nodes.a100", "0"),
    ({"kind": "paper", "nodes": {"a100": 1}, "mix": "mixed"}, "mix", "by type already"),
    ({"kind": "paper", "mix": "h100"}, "mix", "'h100'"),
    ({"kind": "paper", "slots": 10_081}, "slots", "10081 is not in 1..10080"),
    ({"kind": "paper", "start": 145}, "start", "145 is not in 1..144"),
    ({"kind": "paper", "days": 8, "slot_minutes": 1}, "days", "are 11520 slots"),
    ({"kind": "paper", "days": 2, "slots": 5}, "days", "both days and slots"),
    ({"kind": "paper", "slot_minutes": 61}, "slot_minutes", "61 is not in 1..60"),
    ({"kind": "paper", "slots": 10, "quiet": 10}, "quiet", "10 is not in 0..9"),
    ({"kind": "paper", "tasks": -1}, "tasks", "-1"),
    ({"kind": "paper", "tasks": None}, "tasks", "null"),
    ({"kind": "paper", "arrivals": 50}, "arrivals", "50 is not an object"),
    ({"kind": "paper", "arrivals": {}}, "arrivals.poisson", "missing"),
    ({"kind": "paper", "arrivals": {"poisson": 501}}, "arrivals.poisson", "501"),
    ({"kind": "paper", "arrivals": {"poisson": 5, "mean": 5}}, "arrivals.mean", "goes with arrivals.trace"),
    ({"kind": "paper", "arrivals": {"poisson": 5, "trace": "pai"}}, "arrivals.poisson", "both"),
    ({"kind": "paper", "arrivals": {"counts": [1], "trace": "pai"}}, "arrivals.trace", "arrivals.counts"),
    ({"kind": "paper", "arrivals": {"counts": [1], "day": "2020-01-01"}}, "arrivals.day", "arrivals.trace only"),
    ({"kind": "paper", "arrivals": {"counts": [1, -1]}}, "arrivals.counts[1]", "-1 is not in 0.."),
    ({"kind": "paper", "arrivals": {"counts": [0, 1]}, "tasks": 1, "slots": 1}, "arrivals.counts", "no submissions"),
    ({"kind": "paper", "arrivals": {"trace": "mars"}}, "arrivals.trace", "'mars' is not one of helios, pai, philly"),
    ({"kind": "paper", "arrivals": {"trace": "pai", "day": "2020-01-01"}}, "day", "'2020-01-01' is not shipped"),
    ({"kind": "paper", "arrivals": {"trace": "pai", "file": "x"}}, "arrivals.day", "missing"),
    ({"kind": "paper", "arrivals": {"trace": "pai", "mean": 0}}, "arrivals.mean", "0"),
    ({"kind": "paper", "arrivals": {"trace": "pai", "mean": 5}, "tasks": 5}, "tasks", "both"),
    ({"kind": "paper", "data": [5, 4]}, "data[1]", "4 is not in 5.."),
    ({"kind": "paper", "data": 5000}, "data", "5000 is not a list"),
    ({"kind": "paper", "epochs": [0, 5]}, "epochs[0]", "0"),
    ({"kind": "paper", "epochs": [1, 2, 3]}, "epochs", "a list of 3"),
    ({"kind": "paper", "colocation": [5]}, "colocation", "5 is not one of 4, 8, 16"),
    ({"kind": "paper", "colocation": []}, "colocation", "not a non-empty list"),
    ({"kind": "paper", "colocation": [16], "batch": [8]}, "batch", "did not fit"),
    ({"kind": "paper", "batch": [2, "4"]}, "batch[1]", "'4'"),
    ({"kind": "paper", "vendors": 101}, "vendors", "101"),
    ({"kind": "paper", "vendors": {"number": 5}}, "vendors.number", "unknown key"),
    ({"kind": "paper", "vendors": {"percent": 101}}, "vendors.percent", "101"),
    ({"kind": "paper", "vendors": {"delay": [3, 1]}}, "vendors.delay[1]", "1 is not in 3.."),
    ({"kind": "paper", "deadlines": "strict"}, "deadlines", "'strict' is not one of tight, uniform, loose"),
    ({"kind": "paper", "deadlines": [50, 100]}, "deadlines[0]", "50"),
    ({"kind": "paper", "deadlines": None}, "deadlines", "null"),
    ({"kind": "paper", "bids": {"per_1000": [-1, 4]}}, "bids.per_1000[0]", "-1"),
    ({"kind": "paper", "bids": {"law": "log"}}, "bids.law", "unknown key"),
    ({"kind": "paper", "prices": {"region": "UK"}}, "prices.region", "'UK' is not one of PJM, DE"),
    ({"kind": "paper", "prices": {"region": "DE", "day": "2017-05-08"}}, "prices.day", "'2017-05-08' is not one of"),
    ({"kind": "paper", "seed": 1.5}, "seed", "1.5"),
    ({"kind": "paper", "seed": [True]}, "seed", "true"),
    ({"kind": "paper", "seed": []}, "seed", "empty"),
    ({"kind": "paper", "name": ""}, "name", "''"),
]


@pytest.mark.parametrize(("recipe", "field", "piece"), BAD, ids=[json.dumps(bad[0]) for bad in BAD])
def test_a_recipe_that_cannot_be_used_names_the_key(recipe: Recipe, field: str, piece: str) -> None:
    told = refusal_of(generate, recipe).partition(": ")[2]
    assert told.startswith(f"{field}: ")
    assert piece in told.removeprefix(f"{field}: ")


def test_a_missing_file_of_a_recipe_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.json: cannot be read"):
        generate({"kind": "file", "path": str(tmp_path / "absent.json")})
    arrivals = {"trace": "pai", "file": str(tmp_path / "absent.csv"), "day": "1970-03-09"}
    with pytest.raises(InputError, match=r"absent\.csv: there is no such file; .*alibaba/clusterdata"):
        generate({"kind": "paper", "arrivals": arrivals})


def test_a_stretch_of_a_day_without_submissions_cannot_be_rescaled(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("timestamp\n2017-08-07 00:05:00\n")
    arrivals = {"trace": "philly", "file": str(file), "day": "2017-08-07"}
    with pytest.raises(InputError, match=r"arrivals\.day: no submissions in slots 10\.\.20 of 2017-08-07"):
        generate({"kind": "paper", "arrivals": arrivals, "tasks": 5, "start": 10, "slots": 11})


def test_defaults_are_the_paper_s() -> None:
    """A recipe that says nothing is a mixed data center of 50 nodes on a day with five vendors."""
    recipe = read_recipe({"kind": "paper"})
    assert (recipe["slots"], recipe["nodes"]) == (144, {"a100": 25, "a40": 25})
    assert (recipe["data"], recipe["epochs"], recipe["vendors.count"]) == ((5_000, 20_000), (1, 5), 5)
    assert recipe["arrivals"] == {"poisson": 50}


def test_wide_sizes_are_from_a_tenth_to_four_tenths_of_a_node() -> None:
    """Compute and memory apart, with the profile's energy per sample; all else is what it was."""
    recipe = {"kind": "paper", "tasks": 500, "seed": 3, "arrivals": {"trace": "pai"}}
    plain, wide = (generate(recipe | {"sizes": sizes}) for sizes in ("profiles", "wide"))
    public = wide.public("")
    compute, memory = wide.rate / public.compute, wide.memory_mb / public.memory_mb.min()
    for share in (compute, memory):
        assert 0.099 < share.min() < 0.12
        assert 0.38 < share.max() <= 0.4
    assert (np.abs(compute[:, 0] - compute[:, 1]) < 0.001).all()
    assert abs(np.corrcoef(compute[:, 0], memory)[0, 1]) < 0.15
    assert (wide.work == plain.work).all()
    assert (wide.bid == plain.bid).all()
    assert (wide.energy_wh == plain.energy_wh * wide.rate // plain.rate).all()
    assert read_recipe(recipe | {"sizes": "wide"}).document()["sizes"] == "wide"


def test_sizes_of_their_own_are_drawn_around_the_profiles() -> None:
    """Nearly every task is a class of its own, of 0.04 to 0.36 of a node; all else is what it was."""
    recipe = {"kind": "paper", "tasks": 500, "seed": 3, "arrivals": {"trace": "pai"}}
    plain, own = (generate(recipe | {"sizes": sizes}) for sizes in ("profiles", "own"))
    assert content_hash(plain) == content_hash(generate(recipe))
    public = own.public("")
    share = np.maximum(own.rate / public.compute, own.memory_mb[:, None] / public.memory_mb)
    assert 0.04 < share.min() < share.max() < 0.36
    assert len({(*rate, memory) for *rate, memory in np.column_stack([own.rate, own.memory_mb]).tolist()}) > 450
    assert (own.work == plain.work).all()
    assert (own.bid == plain.bid).all()
    ratio = own.rate / plain.rate
    assert ((ratio > 0.79) & (ratio <= 1.4)).all()
