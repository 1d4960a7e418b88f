"""Slots of other lengths than ten minutes, and several days: what must be exact is exact."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ratiobench.instances.lora.arrivals import days, span_counts
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.prices import tariff_from
from ratiobench.instances.lora.quantities import load

DAY = {"kind": "paper", "tasks": 300, "nodes": 4, "arrivals": {"trace": "philly"}, "seed": ["w"]}


def made(minutes: int, **more: Any) -> Instance:
    """The day in slots of so many minutes."""
    return generate({**DAY, "slot_minutes": minutes, **more})


@pytest.fixture(scope="module")
def ten() -> Instance:
    """The day in slots of ten minutes, without the key."""
    return generate(DAY)


@pytest.mark.parametrize("minutes", [1, 2, 5, 6, 15, 20, 30, 60])
def test_rates_work_and_load_scale_exactly(minutes: int, ten: Instance) -> None:
    """In samples: rate and compute per minute, work, bids and vendor prices are those of slots of ten minutes."""
    other = made(minutes)
    assert (other.slot_seconds, other.slots) == (60 * minutes, 1440 // minutes)
    parts = Fraction(int(other.work[0]), int(ten.work[0]))
    assert other.origin.get("work", "1 sample").startswith(f"1/{parts} " if parts > 1 else "1 sample")
    assert other.work.tolist() == (ten.work * int(parts)).tolist()
    assert (other.rate * 10).tolist() == (ten.rate * int(parts * minutes)).tolist()
    for mine, theirs in zip(other.node_types, ten.node_types, strict=True):
        assert mine.compute * 10 == theirs.compute * parts * minutes
    for column in ("bid", "memory_mb", "vendor_price"):
        assert getattr(other, column).tolist() == getattr(ten, column).tolist()
    assert load(other) == load(ten)
    # A delay is a time: rounded up to slots, exact where the slot divides ten minutes.
    assert other.vendor_delay.tolist() == (-(-ten.vendor_delay * 10 // minutes)).tolist()


def test_energy_is_exact_on_average(ten: Instance) -> None:
    """Whole Wh, one of the two nearest; of a profile the mean over tasks is near the tenth."""
    one = made(1, tasks=20_000, vendors=0)
    many = generate({**DAY, "tasks": 20_000, "vendors": 0})
    assert set((10 * one.energy_wh - many.energy_wh).ravel().tolist()) <= set(range(-9, 10))
    for profile in np.unique(many.energy_wh, axis=0):
        its = (many.energy_wh == profile).all(axis=1)
        assert one.energy_wh[its].mean(axis=0) == pytest.approx(profile / 10, abs=0.03)
    assert made(30).energy_wh.tolist() == (3 * ten.energy_wh).tolist()


@pytest.mark.parametrize("minutes", [1, 5, 30, 60])
def test_windows_are_the_stretched_fewest_slots(minutes: int) -> None:
    """In slots of any length; finer slots waste less of the last one."""
    other = made(minutes, deadlines=[100, 100], vendors=0)
    needed = -(-other.work // other.rate.max(axis=1))
    assert other.deadline.tolist() == np.minimum(other.arrival + needed - 1, other.slots).tolist()


def test_arrivals_are_those_of_the_trace() -> None:
    """Hours are sums of the shipped counts; minutes lie in their ten minutes; a file knows its minutes."""
    counts = np.array(span_counts("pai", days("pai")[1], 1)[0])
    recipe = {"kind": "paper", "nodes": 1, "arrivals": {"trace": "pai", "day": days("pai")[1]}}
    hours = generate({**recipe, "slot_minutes": 60})
    assert np.bincount(hours.arrival, minlength=25)[1:].tolist() == counts.reshape(24, 6).sum(axis=1).tolist()
    minutes = generate({**recipe, "slot_minutes": 1})
    assert np.bincount((minutes.arrival - 1) // 10, minlength=144).tolist() == counts.tolist()
    assert len(set(((minutes.arrival - 1) % 10).tolist())) == 10


def test_a_file_s_own_minutes_count(tmp_path: Path) -> None:
    """In slots that are no tens of minutes nothing is drawn where the times are known."""
    file = tmp_path / "log.csv"
    file.write_text("timestamp\n2017-08-07 00:05:30\n2017-08-08 00:00:00\n2017-08-08 23:59:59\n")
    arrivals = {"trace": "philly", "file": str(file), "day": "2017-08-07"}
    found = generate({"kind": "paper", "arrivals": arrivals, "slot_minutes": 1, "days": 2})
    assert found.arrival.tolist() == [6, 1441, 2880]
    assert "notes" not in found.origin
    again = generate({"kind": "paper", "arrivals": arrivals, "slot_minutes": 60, "days": 3})
    assert again.arrival.tolist() == [1, 25, 48, 49]
    assert "The days of the trace philly end, and begin again with the first." in again.origin["notes"]


def test_several_days_follow_one_another() -> None:
    """Traces and prices go on with the next shipped day, and begin again where they end, which is said."""
    week = generate({**DAY, "tasks": 700, "days": 7})
    assert (week.slots, len(week.origin["notes"])) == (1008, 1)
    shipped_days = ("2017-05-08", "2017-07-12", "2017-09-04", "2017-12-29", "2017-02-02")
    shipped = [tariff_from("PJM", day).at_slots(0, 144, 600)[0] for day in shipped_days]
    prices = np.concatenate([shipped[j % 5] for j in range(7)]).tolist()
    assert all(node.tariff.tolist() == prices for node in week.node_types)
    two = generate({**DAY, "tasks": 700, "days": 2, "arrivals": {"trace": "philly", "day": days("philly")[-1]}})
    assert two.origin["notes"] == ["The days of the trace philly end, and begin again with the first."]
    counts, recurs = span_counts("philly", days("philly")[5], 3)
    assert recurs
    assert counts[288:] == span_counts("philly", days("philly")[0], 1)[0]


def test_a_price_is_that_of_the_slot_s_beginning() -> None:
    """Also in slots that divide no hour; and a day of ten minutes is the shipped one."""
    prices, recurs = tariff_from("DE", "2016-05-08").at_slots(0, 206, 420)
    whole = tariff_from("DE", "2016-05-08").at_slots(0, 144, 600)[0]
    assert prices == [whole[t * 420 // 600] for t in range(206)]
    assert not recurs
    assert tariff_from("DE", "2016-05-08").at_slots(600, 143, 600)[0] == list(whole[1:])


def test_a_week_of_minutes_is_an_instance() -> None:
    """10,080 slots, and no more; it is cut where the days end."""
    week = made(1, days=7, tasks=50, nodes=1, start=61)
    assert week.slots == 10_080 - 60
    assert week.arrival.max() > 9 * 1000
    assert made(7).slots == 206
