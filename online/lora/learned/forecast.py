"""How many tasks will still come, and when: from the counts of earlier days and of today."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ratiobench.online.lora.learned.past import Floats

SMOOTH = 1800  # Seconds: width of the bell with which the mean day is smoothed
RECENT = 1800  # Seconds that today is compared with the mean day over
MEMORY = 7200  # Seconds in which what is particular of now fades to 1/e
STRENGTH, PRIOR, BURST = 1.0, 20.0, 0.8
SAME = 0.01  # Earlier days whose totals spread by no more of their mean had the same total, and so will today
ALONE = 0.5  # The spread of totals where a single day does not tell it
HOUR = 3600  # Seconds over which the bursts of earlier days are measured, and behind which demand is ahead
# Hours of the mean day differ so many times as much as they would by chance, where nothing of it is taken to recur, and
# where all is
RECURS = (2.0, 4.0)
AHEAD = 0.2  # So much more demand is expected beyond an hour where counts are regular
BURSTY = 0.5  # Counts burst where `Forecast.variation` is above this
# Seconds that what is particular of now may last where counts burst, each as likely: a quarter and three quarters of
# times that are exponential with mean MEMORY
LASTS = (2100, 9900)


class Forecast:
    """The mean day of history, less what is chance in it, scaled to today by what has come so far.

    Where the total is known, what came is taken off it. Else the day's level is learned: with v the squared spread of
    earlier totals and f how many times more counts vary than they would one by one, it is (1/v + came / f) over
    (1/v + expected by now / f).
    """

    def __init__(self, days: Sequence[Floats], slots: int, seconds: int, total: str, ahead: float | None = 1.0) -> None:
        self._hour = max(1, round(HOUR / seconds))
        self.total = sum(float(day.sum()) for day in days) / len(days) if days else 0.0
        mean = np.zeros(slots)
        for day in days:
            if day.sum() > 0:
                mean += day * (self.total / float(day.sum()))
        mean /= max(1, len(days))
        self.profile = smooth(mean, SMOOTH / seconds)  # (T,) of the mean day
        level = float(self.profile.mean())
        self.profile = level + self._recurs(days) * (self.profile - level)
        if self.profile.sum() > 0:
            self.profile *= self.total / self.profile.sum()
        self._recent = max(1, round(RECENT / seconds))
        totals = np.array([float(day.sum()) for day in days])
        spread = float(totals.std()) / self.total if len(days) > 1 and self.total > 0 else ALONE
        # `unknown`: the total is not that of earlier days, and the level stays 1.
        self._known = total == "known" or (total == "auto" and spread <= SAME)
        self._doubt = spread * spread if total == "auto" and not self._known else 0.0
        self._bursts = self._measure_bursts(days, self._hour)
        # The squared spread of an hour's count over its mean squared, beyond what one by one makes of it. The mean of
        # every hour is taken as known: of two or three days it is too much where the mean day is flat (twice of two).
        # One day is compared with itself, and seems regular.
        hourly = self.total * self._hour / slots
        fewer = len(days) / (len(days) - 1) if len(days) > 1 else 1.0
        self.variation = (self._bursts - 1.0) / hourly * fewer if hourly > 0 else 0.0
        # Demand beyond an hour counts so many times.
        self._ahead = 1.0 + AHEAD * max(0.0, 1.0 - self.variation) if ahead is None else ahead
        self._fades = [powers(MEMORY / seconds, slots)]
        if self.variation > BURSTY:
            self._fades = [np.clip(lasts / seconds - np.arange(slots), 0.0, 1.0) for lasts in LASTS]

    def ways(self, now: int, came: Floats) -> list[Floats]:
        """How the day may go on: equally likely (T,) arrivals from now on, of slot `now` the rest."""
        found = [self._expected(now, came, fade) for fade in self._fades]
        for left in found:
            left[now + self._hour :] *= self._ahead
        return found

    def _expected(self, now: int, came: Floats, fade: Floats) -> Floats:
        profile, here, seen = self.profile, float(came[now]), float(came.sum())
        left = np.zeros(len(profile))
        if self.total == 0:  # no history: as it has been so far
            left[now:] = seen / (now + 1)
            return left
        left[now:] = profile[now:]
        left[now] = max(0.0, profile[now] - here)
        begin = max(0, now - self._recent + 1)
        recent = float(came[begin : now + 1].sum())
        usual = float(profile[begin:now].sum()) + min(float(profile[now]), max(here, 1.0))
        level = (recent + PRIOR) / (usual + PRIOR)
        left[now:] *= np.maximum(0.0, 1.0 + STRENGTH * (level - 1.0) * fade[: len(profile) - now])
        if here > profile[now]:
            left[now] = max(left[now], BURST * (here - profile[now]))
        if self._known:
            if left.sum() <= 0:  # nothing was ever seen so late
                left[now:] = 1.0
            left *= max(0.0, self.total - seen) / left.sum()
        elif self._doubt > 0:
            done = float(profile[:now].sum()) + min(float(profile[now]), here)
            weight = self._doubt / self._bursts
            left *= (1.0 + weight * seen) / (1.0 + weight * done)
        return left

    def _by_hour(self, days: Sequence[Floats]) -> Floats:
        """(D, hours) counts of days that have any, each scaled to the mean total, by whole hours."""
        hours = len(self.profile) // self._hour
        scaled = [day[: hours * self._hour] * (self.total / float(day.sum())) for day in days if day.sum() > 0]
        return np.asarray(np.array(scaled).reshape(len(scaled), hours, self._hour).sum(axis=2))

    def _recurs(self, days: Sequence[Floats]) -> float:
        """How much of the mean day is no chance: by the variance of its hours over what days alone make of it."""
        counts = self._by_hour(days)
        if min(counts.shape) < 2:
            return 1.0
        chance = float(counts.var(axis=0, ddof=1).mean()) / len(counts)
        found = float(counts.mean(axis=0).var(ddof=1))
        least, most = RECURS
        return 1.0 if found >= most * chance else max(0.0, (found / chance - least) / (most - least))

    def _measure_bursts(self, days: Sequence[Floats], width: int) -> float:
        """Mean of (count - expected)^2 / expected over stretches of earlier days; at least 1."""
        found = []
        begin = np.arange(0, len(self.profile), width)
        usual = np.add.reduceat(self.profile, begin)
        for day in days:
            scale = float(day.sum()) / self.total if self.total > 0 else 0.0
            expected = np.maximum(usual * scale, 1.0)
            found.append(float(((np.add.reduceat(day, begin) - expected) ** 2 / expected).mean()))
        return max(1.0, sum(found) / len(found)) if found else 1.0


def powers(fade: float, count: int) -> Floats:
    """(count,) (1 - 1/fade)^k, by multiplication."""
    factor, found = max(0.0, 1.0 - 1.0 / fade), np.ones(count)
    for k in range(1, count):
        found[k] = found[k - 1] * factor
    return found


def smooth(values: Floats, width: float) -> Floats:
    """The values under three running means that make about a bell of that standard deviation."""
    half = max(0, round((float(np.sqrt(4 * width * width + 1)) - 1) / 2))
    for _ in range(3):
        padded = np.concatenate([np.full(half, values[0]), values, np.full(half, values[-1])])
        upto = np.concatenate([[0.0], np.cumsum(padded)])
        values = (upto[2 * half + 1 :] - upto[: -2 * half - 1]) / (2 * half + 1) if half else values
    return values
