"""Recipes of tenants: the same instance on any machine, laws that are what they say, and shipped instances."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ratiobench.bench.tenants import FAMILY
from ratiobench.formulations.tenants.subsets import enumerate_optimum
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.tenants.format import content_hash, document, parse
from ratiobench.instances.tenants.generate import WAITS, expected, generate, named, names, recipes, scale_moments
from ratiobench.instances.tenants.model import describe, service_rate
from ratiobench.instances.tenants.traces import GPU_NAMES, TRACES, arrivals, length_at, lengths, read_log, throughput
from tests.support.documents import refusal_of


def test_the_same_recipe_gives_the_same_instance_on_any_machine() -> None:
    batch = generate({"kind": "batch", "seed": 7, "jobs": 9, "gpus": [1, 1, 1]})
    online = generate({"kind": "online", "seed": ["a", 7], "trace": "helios", "jobs": 20, "load": "0.8"})
    assert content_hash(batch)[:16] == "d2b9dc4a920f77a9"
    assert content_hash(online)[:16] == "29e2a8f7e02982d0"
    first = generate({**online.origin["recipe"], "wait": "runs"})  # what version 1 of the generator made
    assert content_hash(first)[:16] == "a0922a38e0441165"
    assert generate(batch.origin["recipe"]).jobs == 9
    assert content_hash(generate(online.origin["recipe"])) == content_hash(online)


def test_seeds_name_jobs_whatever_the_prices_are() -> None:
    one = generate({"kind": "batch", "seed": 3})
    other = generate({"kind": "batch", "seed": 3, "theta": "10", "late": "1/10", "cs": [50, 50]})
    assert np.array_equal(one.run, other.run)
    assert np.array_equal(one.deadline, other.deadline)
    assert other.cost_sensitivity.tolist() == [50] * 40
    assert abs(other.theta - 10 * one.theta) <= 5
    assert abs(10 * other.late_penalty - one.late_penalty) <= 5


@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("load", ["0.8", "2"])
def test_an_online_instance_has_the_load_that_is_asked_for(trace: str, load: str) -> None:
    instance = generate({"kind": "online", "trace": trace, "load": load, "jobs": 100})
    assert abs(describe(instance)["load"] - float(load)) < 0.02
    assert instance.theta == 20_167  # (2 x 41333 + 2 x 24333 + 4 x 7500) / 8, half up


def test_deadlines_leave_half_of_the_backlog_or_two_mean_runs_to_wait() -> None:
    of = {"seed": 4, "jobs": 25, "gpus": [1, 2, 3], "slack": [100, 100]}
    made = {wait: generate({"kind": "online", **of, "wait": wait}) for wait in WAITS}
    for instance in (generate({"kind": "batch", **of}), *made.values()):
        counts = [kind.count for kind in instance.gpu_types]
        backlog = 25 / sum(count * 25 / sum(runs) for count, runs in zip(counts, instance.run.T.tolist(), strict=True))
        mean = instance.run @ counts / 6
        wait = 2 * mean if instance is made["runs"] else backlog / 2
        assert np.abs(instance.deadline - instance.release - mean - wait).max() <= 1


def test_a_tenant_has_one_sensitivity() -> None:
    instance = generate({"kind": "batch", "jobs": 30, "tenants": 4})
    wishes = {(tenant, int(cs)) for tenant, cs in zip(instance.tenants, instance.cost_sensitivity, strict=True)}
    assert len(wishes) == len(set(instance.tenants)) <= 4


def test_runs_are_the_lengths_on_the_fastest_type_and_theta_is_the_patents() -> None:
    instance = generate({"kind": "batch", "jobs": 50, "gpus": [1, 2, 3]})
    seconds = [max(throughput()[kind]) for kind in instance.kinds]
    runs = instance.run.min(axis=1).tolist()
    for best, run, iterations in zip(seconds, runs, instance.iterations.tolist(), strict=True):
        assert 300 - best.denominator < (length := iterations / best) <= 28_800
        assert run == -(-(length + 2 * min(20, iterations) / best) // 60)
    mean = Fraction(41333 + 2 * 24333 + 3 * 7500, 6)
    assert instance.theta == round(mean * 6 / 50)
    assert instance.late_penalty == round(mean * 50 / 6)
    assert service_rate(instance) > 0


def test_derived_tables_are_quantiles_and_rates_alone() -> None:
    assert len(throughput()) == 26
    assert all(len(rates) == len(GPU_NAMES) for rates in throughput().values())
    for trace in TRACES:
        table = lengths(trace)
        assert len(table) == 101
        assert list(table) == sorted(table)
        assert table[0] == 300
        assert table[-1] == 28_800
        assert length_at(trace, 0) == 300
        assert table[50] <= length_at(trace, 50_500) <= table[51]
        assert len(arrivals(trace)) == 7 * 144


def test_a_users_log_gives_lengths_and_releases(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("submit,seconds\n100,600\n2026-03-01T08:30:00,90000\n50,299\n400,\n160,1200\n")
    assert read_log(str(log)) == [(100, 600), (160, 1200), (1772353800, 28_800)]
    instance = generate({"kind": "log", "log": str(log), "jobs": 2, "first": 0, "load": "1"})
    assert instance.jobs == 2
    assert instance.release[0] == 0
    assert "100" not in document(instance)["origin"]
    with pytest.raises(InputError, match="are more than the 3 of at least 300 s that it has"):
        generate({"kind": "log", "log": str(log), "jobs": 4})
    log.write_text("submit,seconds\nsoon,600\n")
    with pytest.raises(InputError, match=r"line 2 submit: 'soon' is not"):
        read_log(str(log))
    log.write_text("a,b\n")
    with pytest.raises(InputError, match="line 1: has none of the columns submit"):
        read_log(str(log))


def test_digits_of_a_log_are_seconds_and_times_of_two_zones_are_in_order(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("submit,seconds\n9999999,400\n10121012,500\n99000000,600\n")  # the second is a day of ISO 8601, too
    assert read_log(str(log)) == [(9999999, 400), (10121012, 500), (99000000, 600)]
    log.write_text("submit,seconds\n2026-03-01T08:30:00+02:00,400\n2026-03-01T08:00:00Z,500\n")
    assert [seconds for _, seconds in read_log(str(log))] == [400, 500]


def test_no_job_of_a_log_can_be_asked_for(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("submit,seconds\n100,600\n")
    assert generate({"kind": "log", "log": str(log), "jobs": 0}).jobs == 0


def test_releases_are_scaled_in_proportion() -> None:
    assert scale_moments([5, 5, 8, 15], 20) == [0, 0, 6, 20]
    assert scale_moments([], 20) == []
    assert scale_moments([7], 20) == [0]


@pytest.mark.parametrize(
    ("recipe", "field"),
    [
        ({"kind": "batches"}, "kind"),
        ({"kind": "batch", "gpus": [1, 1]}, "gpus"),
        ({"kind": "batch", "gpus": [0, 0, 0]}, "gpus"),
        ({"kind": "online", "load": "0"}, "load"),
        ({"kind": "batch", "cs": [10, 101]}, "cs[1]"),
        ({"kind": "batch", "load": "1"}, "load"),
        ({"kind": "online", "trace": "itp"}, "trace"),
        ({"kind": "log"}, "log"),
    ],
)
def test_a_recipe_that_cannot_be_used_names_the_key(recipe: dict[str, object], field: str) -> None:
    assert refusal_of(generate, recipe).startswith(f"recipe: {field}: ")


def test_no_job_can_be_asked_for() -> None:
    assert generate({"kind": "batch", "jobs": 0}).jobs == generate({"kind": "online", "jobs": 0}).jobs == 0


@pytest.mark.parametrize("name", names())
def test_a_named_instance_is_worth_what_the_table_says(name: str) -> None:
    instance = named(name)
    assert instance.name == name
    assert enumerate_optimum(instance)[0] == expected(name)["opt"]
    assert parse(document(instance)).jobs == instance.jobs


def test_the_witnesses_against_the_search_are_those_of_the_specification() -> None:
    found = {
        name: (expected(name)["opt"], search["cost"]) for name in names() if (search := expected(name).get("search"))
    }
    assert found == {"load_blinds": (550, 800), "ratio_not_admissible": (400, 450), "slack_not_admissible": (400, 600)}


def test_the_family_is_found_by_convention_and_suites_name_its_recipes(tmp_path: Path) -> None:
    assert [form.name for form in recipes()] == ["batch", "online", "log", "named"]
    assert FAMILY.format == "ratiobench/tenants/1"
    assert list(FAMILY.recipes()) == ["batch", "online", "log", "named", "file"]
    recipe = FAMILY.recipes()["online"].recipe("s.toml", "case", {"jobs": 5, "load": "1.5"}, "mine")
    assert FAMILY.generate(recipe).name == "mine"
