"""What section 5 of the main paper says of its figures, and what holds in the means of the suite `paper`.

The paper's sentences are about means of welfare, ratios and times, so no single run refutes one; all other claims are
in `ratiobench.bench.lora.theory`. A comparison of two algorithms over the runs of a column `holds` where the 95 %
interval of the improvement (Fieller, runs in pairs) is above 0, `fails` where it is below, and is `undecided` where it
contains 0. Where the runs themselves are not known the two means are compared, which decides it for these days alone.
What has not been run has no verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from ratiobench.bench.results import intervals
from ratiobench.bench.results.ratios import format_decimal

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
OURS = "pdftsp:search=printed"  # Algorithm 2 in the paper's units: what the paper's figures show
# Its baselines; EFT and NTM as the paper words them, and rejecting tasks that are worth nothing
OTHERS = ("titan", "eft:admit=all", "eft", "ntm:admit=all", "ntm")
MOST_RATIO = 3
# The columns of each figure, as the suite names its groups
COLUMNS = {
    "fig4": ("50 nodes", "100 nodes", "150 nodes", "200 nodes"),
    "fig5": ("1 vendors", "3 vendors", "5 vendors", "9 vendors"),
    "fig6": ("A100", "A40", "mixed"),
    "fig7": ("pai", "philly", "helios"),
    "fig8": ("light, Poisson 30", "medium, Poisson 50", "high, Poisson 80"),
    "fig9": ("tight", "uniform", "loose"),
    "fig12": (
        "40 tasks", "100 tasks", "200 tasks", "pai", "philly", "helios", "light, Poisson 30", "medium, Poisson 50",
        "high, Poisson 80",
    ),
    "fig13": ("Poisson 10", "Poisson 30", "Poisson 50", "Poisson 80"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the paper: its figure, its words, and on which of the checks below it rests."""

    figure: str
    words: str
    check: str


# In the order of the figures; the last one is of the introduction
SENTENCES = (
    Sentence("fig4", "As the number of computing nodes increases, [...] social welfare grows accordingly.", "rises"),
    Sentence("fig5", "The social welfare value increases slightly as the number of labor vendors increases.", "rises"),
    Sentence("fig6", "[On A100 the] experiments achieve higher social welfare values than [on A40].", "falls"),
    Sentence("fig6", "[On] mixed GPUs, pdFTSP consistently achieves the best social welfare.", "best"),
    Sentence("fig7", "pdFTSP consistently outperforms three baseline algorithms [on] three real-world traces.", "best"),
    Sentence("fig8", "The proposed pdFTSP achieves more performance improvement as workload increases.", "gains"),
    Sentence("fig9", "[With] different methods for generating deadlines, [...] still the best performance.", "best"),
    Sentence("fig12", "Empirical competitive ratios of no more than 3 in the various settings.", "ratio"),
    Sentence("fig13", "pdFTSP has a shorter algorithm runtime [than Titan].", "faster"),
    Sentence("fig13", "Titan's runtime becomes worse as the problem size grows.", "slower"),
    Sentence("fig4 to fig9", "Our proposed approach consistently outperforms baselines in various settings.", "best"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Means:
    """The means of a run of `paper`."""

    # (figure, column, algorithm) -> the lower and the upper end of the mean.
    ends: Mapping[tuple[str, str, str], tuple[Fraction, Fraction]]
    # (figure, column, algorithm) -> the welfare of every run by case, where it is known.
    runs: Mapping[tuple[str, str, str], Mapping[str, Fraction]]

    def mean(self, figure: str, column: str, algorithm: str) -> Fraction:
        """The lower end; of welfare and seconds it is the mean."""
        return self.ends[figure, column, algorithm][0]

    def has(self, figure: str, column: str, *algorithms: str) -> bool:
        """Whether these were run in the column."""
        return all((figure, column, name) in self.ends for name in algorithms)

    def above(self, figure: str, column: str, ours: str, other: str) -> intervals.Estimate:
        """By how many percent the mean of `ours` is above that of the other, with its interval where runs are known."""
        mine, theirs = (self.runs.get((figure, column, name), {}) for name in (ours, other))
        both = [case for case in mine if case in theirs]
        if len(both) == len(mine) > 1:
            return intervals.improvement([mine[case] for case in both], [theirs[case] for case in both])
        percent = 100 * (self.mean(figure, column, ours) / self.mean(figure, column, other) - 1)
        return intervals.Estimate(percent, None, None, len(mine))


def compare(found: intervals.Estimate) -> str:
    """Whether ours is better: the interval decides, without one the mean."""
    low, high = (found.mean if end is None else end for end in (found.low, found.high))
    assert low is not None
    assert high is not None
    return HOLDS if low > 0 else FAILS if high < 0 else UNDECIDED


def verdict_text(found: intervals.Estimate) -> str:
    """The verdict with the percentage, and with the interval where that is what leaves it open."""
    assert found.mean is not None
    verdict, percent = compare(found), f"{float(found.mean):+.0f} %"
    if verdict == UNDECIDED and found.low is not None and found.high is not None:
        percent += f"; {found.low:.0f} to {found.high:.0f}"
    return f"{verdict} ({percent})"


WELFARE = ("fig4", "fig5", "fig6", "fig7", "fig8", "fig9")  # The figures that show welfare


def judge_outperformance(
    means: Means, ours: str = OURS, figures: Sequence[str] = WELFARE
) -> Iterator[tuple[str, str, list[str]]]:
    """(figure, column, a verdict per baseline): whether pdFTSP earns more than each, in every column that was run."""
    for figure in figures:
        for column in (each for each in COLUMNS[figure] if means.has(figure, each, ours, *OTHERS)):
            yield figure, column, [verdict_text(means.above(figure, column, ours, other)) for other in OTHERS]


def _in_order(values: Sequence[Fraction], shown: Iterator[str]) -> str:
    return f"{HOLDS if all(a < b for a, b in pairwise(values)) else FAILS} ({', '.join(shown)})"


def judge(sentence: Sentence, means: Means, ours: str = OURS) -> Mapping[str, str]:
    """The verdicts on a sentence, by what it is about (an algorithm or a column), each with its figures."""
    figure = sentence.figure
    if sentence.check in ("rises", "falls"):
        columns = COLUMNS[figure] if sentence.check == "rises" else tuple(reversed(COLUMNS[figure][:2]))
        run = [name for name in (ours, *OTHERS) if all(means.has(figure, column, name) for column in columns)]
        earned = {name: [means.mean(figure, column, name) for column in columns] for name in run}
        return {
            name: _in_order(values, (f"{float(value) / 1e6:.2f}" for value in values))
            for name, values in earned.items()
        }
    if sentence.check == "gains":
        found = {}
        for other in OTHERS:
            if not all(means.has(figure, column, ours, other) for column in COLUMNS[figure]):
                continue
            percents = [means.above(figure, column, ours, other).mean for column in COLUMNS[figure]]
            values = [percent for percent in percents if percent is not None]
            found[other] = _in_order(values, (f"{float(value):+.0f} %" for value in values))
        return found
    if sentence.check == "ratio":
        run = [column for column in COLUMNS[figure] if means.has(figure, column, ours)]
        return {column: _at_most(means.ends[figure, column, ours]) for column in run}
    if sentence.check == "best":
        figures = WELFARE if figure == "fig4 to fig9" else (figure,)
        return {
            f"{name}: {column}": _all(verdict.partition(" ")[0] for verdict in verdicts)
            for name, column, verdicts in judge_outperformance(means, ours, figures)
            if figure != "fig6" or column == "mixed"
        }
    return _timed(sentence, means)


def _at_most(ends: tuple[Fraction, Fraction]) -> str:
    verdict = HOLDS if ends[1] <= MOST_RATIO else FAILS if ends[0] > MOST_RATIO else UNDECIDED
    return f"{verdict} ({format_decimal(ends[1], 2, up=True)})"


def _all(verdicts: Iterator[str]) -> str:
    """Of a sentence about all baselines at once."""
    found = set(verdicts)
    return FAILS if FAILS in found else UNDECIDED if UNDECIDED in found else HOLDS


# What Figure 13 is about, as runs name it; units do not change how long Algorithm 2 takes
TIMED = ("pdftsp:search=printed,units=given", "pdftsp:search=printed")


def _timed(sentence: Sentence, means: Means) -> Mapping[str, str]:
    """By a clock: of one run beside other work."""
    columns = COLUMNS["fig13"]
    titan = {column: means.mean("fig13", column, "titan") for column in columns}
    if sentence.check == "slower":
        values = list(titan.values())
        return {"titan": _in_order(values, (f"{1000 * float(value):.2f} ms" for value in values))}
    ours = next(name for name in TIMED if ("fig13", columns[0], name) in means.ends)
    found = {}
    for column in columns:
        mine = means.mean("fig13", column, ours)
        verdict = HOLDS if mine < titan[column] else FAILS
        found[column] = f"{verdict} ({1000 * float(mine):.2f} and {1000 * float(titan[column]):.2f} ms)"
    return found
