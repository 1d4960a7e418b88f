"""Forecasts of counts: what is left of a known total, a level that is learned, no history."""

import numpy as np
import pytest

from ratiobench.online.lora.learned.forecast import Forecast, powers, smooth
from ratiobench.online.lora.learned.past import Floats


def _day(level: float) -> Floats:
    return np.full(24, level)


def _left(forecast: Forecast, now: int, came: Floats) -> Floats:
    return np.asarray(np.mean(forecast.ways(now, came), axis=0))


def test_what_came_is_taken_off_a_total_that_days_share() -> None:
    """Days of 240 tasks each: after 100 there are 140 to come, whatever the option says of a known total."""
    came = np.zeros(24)
    came[:3] = 100 / 3
    for total in ("auto", "known"):
        left = _left(Forecast([_day(10), _day(10)], 24, 3600, total), 2, came)
        assert left.sum() == pytest.approx(140)
        assert (left[:2] == 0).all()


def test_a_known_total_is_spread_where_nothing_ever_came_so_late() -> None:
    """Ten are left at the end of days that were over by noon: they are expected, whenever."""
    day = np.where(np.arange(240) < 20, 12.0, 0.0)
    came = np.zeros(240)
    came[0] = 230.0
    assert _left(Forecast([day, day], 240, 360, "known"), 200, came).sum() == pytest.approx(10)


def test_the_level_follows_what_came_where_totals_differ() -> None:
    """Days of 120 and 360 tasks: twice the mean so far foretells more than the mean, and less than twice of it."""
    days = [_day(5), _day(15)]
    came = np.zeros(24)
    came[:12] = 20.0
    usual = _left(Forecast(days, 24, 3600, "unknown"), 11, came)[18:].sum()
    learned = _left(Forecast(days, 24, 3600, "auto"), 11, came)[18:].sum()
    assert usual * 1.1 < learned < usual * 2
    few = np.zeros(24)
    few[:12] = 2.0
    late = [_left(Forecast(days, 24, 3600, total), 11, few)[18:].sum() for total in ("auto", "unknown")]
    assert late[0] < late[1]


def test_demand_ahead_counts_more_beyond_an_hour() -> None:
    """The slots of the next hour are as foretold, all others so many times."""
    days = [_day(10), _day(10)]
    came = np.zeros(24)
    came[:3] = 10.0
    plain, more = (_left(Forecast(days, 24, 1200, "known", ahead), 2, came) for ahead in (1.0, 1.5))
    assert plain[2:5].sum() > 0 < plain[5:].sum()
    assert (more[:5] == plain[:5]).all()
    assert (more[5:] == 1.5 * plain[5:]).all()


def _days(shift: int) -> list[Floats]:
    """Four days with a burst of three hours: at the same hour, or each at another one."""
    return [np.where((np.arange(24) - 5 - shift * day) % 24 < 3, 50.0, 5.0) for day in range(4)]


def test_what_recurs_is_expected_and_what_came_by_chance_is_spread() -> None:
    """A burst at eight every day is foretold there; one at another hour each day makes a flat mean day."""
    recurring, chance = (Forecast(_days(shift), 24, 3600, "known").profile for shift in (0, 6))
    assert recurring[6] > 4 * recurring[18]
    assert np.ptp(chance) == pytest.approx(0)
    assert recurring.sum() == pytest.approx(chance.sum())


def test_more_demand_is_expected_ahead_the_more_regular_counts_are() -> None:
    """1.2 times where days are alike, as foretold where bursts come at any hour; a number is taken as it is."""
    came = np.zeros(24)
    ends = {
        (shift, ahead): _left(Forecast(_days(shift), 24, 3600, "known", ahead), 0, came)[1:].sum()
        for shift in (0, 6)
        for ahead in (None, 1.0, 1.1)
    }
    assert ends[0, None] == pytest.approx(1.2 * ends[0, 1.0])
    assert ends[6, None] == pytest.approx(ends[6, 1.0])
    assert ends[6, 1.1] == pytest.approx(1.1 * ends[6, 1.0])


def test_where_counts_burst_a_day_may_go_on_in_two_ways() -> None:
    """A burst of now ends soon, or lasts: slots of 20 minutes, a total that is known, and one way for regular days."""
    came = np.zeros(24)
    came[3:6] = 20.0
    left = sum(_days(0)[0]) - came.sum()
    soon, late = Forecast(_days(6), 24, 1200, "known").ways(5, came)
    assert soon.sum() == pytest.approx(left)
    assert late.sum() == pytest.approx(left)
    assert (late[7:13] > 1.2 * soon[7:13]).all()
    assert (late[14:] < soon[14:]).all()
    assert len(Forecast(_days(0), 24, 1200, "known").ways(5, came)) == 1


def test_bursts_teach_less_of_the_level() -> None:
    """The same totals with arrivals in heaps: as many tasks so far say less of the day."""
    heaps = [np.where(np.arange(24) % 6 == phase, 6.0 * level, 0.0) for phase, level in ((0, 5), (3, 15))]
    came = np.zeros(24)
    came[:12] = 20.0

    def rise(days: list[Floats]) -> float:
        ends = [_left(Forecast(days, 24, 3600, total), 11, came)[18:].sum() for total in ("auto", "unknown")]
        return float(ends[0] / ends[1])

    assert 1 < rise(heaps) < rise([_day(5), _day(15)])


def test_without_history_the_day_goes_on_as_so_far() -> None:
    """Ten a slot for three slots."""
    came = np.zeros(24)
    came[:3] = 10.0
    assert (_left(Forecast([], 24, 3600, "auto"), 2, came)[2:] == 10).all()
    assert _left(Forecast([np.zeros(24)], 24, 3600, "auto"), 2, came)[2:].tolist() == [10.0] * 22


def test_smoothing_keeps_a_level_and_powers_are_products() -> None:
    """A bell over a constant is that constant; (1 - 1/4)^k."""
    assert smooth(np.full(9, 3.0), 2.0) == pytest.approx(np.full(9, 3.0))
    assert powers(4.0, 3).tolist() == [1.0, 0.75, 0.5625]
