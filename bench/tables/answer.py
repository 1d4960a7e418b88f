"""The last screen of `run` and `report`: who is best and worst in each group, which claims fell, where the page is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from bench.family.checks import Verdict
from bench.family.sense import Sense
from bench.tables import ratios
from bench.tables.rows import Results, is_known
from bench.tables.sayings import label_of_runs
from bench.tables.text import aligned, check_title
from bench.tables.verdicts import Settled
from instances.errors import tamed

GROUPS, CLAIMS, OWN = 8, 6, 2
"""So many groups, fallen claims and algorithms of one's own have a line or column; of more, how many there are."""
PROVED = "proved"
"""The standing of a claim that no run can violate unless something of ours is wrong."""
NAME = 44
"""Characters of an algorithm's name on this screen."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """The algorithms of a group in the order of what they reach, the best first.

    Parameters
    ----------
    group : its name.
    cases : how many there are in the mean.
    means : (algorithm, exact mean of what is certainly reached), of those that have a figure for every case that any
        algorithm has one for; others cannot be compared with them.
    labels : what the algorithms are called.
    """

    group: str
    cases: int
    means: Sequence[tuple[str, Fraction]]
    labels: Mapping[str, str]

    def told(self, place: int) -> str:
        """Who has the value at this place (from either end), and the value; others with the same are counted."""
        if not self.means:
            return "-"
        value = self.means[place][1]
        names = [name for name, mean in self.means if mean == value]
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        return f"{self.label(names[0])}{more} {share(value)}"

    def told_of(self, algorithm: str) -> str:
        """An algorithm's value and its place among all."""
        value = dict(self.means).get(algorithm)
        if value is None:
            return "not in every case" if algorithm in self.labels else "-"
        place = 1 + sum(mean > value for _, mean in self.means)
        return f"{share(value)}, place {place} of {len(self.means)}"

    def label(self, algorithm: str) -> str:
        """What an algorithm is called here, cut to the screen."""
        return tamed(self.labels.get(algorithm, algorithm), NAME)


def rank_groups(found: Results) -> list[Ranked]:
    """Every group with its algorithms, in the order of the suite."""
    ranked = []
    for group, part in found.rows.groupby("group", sort=False):
        reached: dict[str, dict[str, Fraction]] = {}
        labels: dict[str, list[str]] = {}
        for row in part.to_dict("records"):
            mine = reached.setdefault(str(row["algorithm"]), {})
            labels.setdefault(str(row["algorithm"]), []).append(str(row["label"]))
            if is_known(row["reached"]):
                mine[str(row["case"])] = Fraction(row["reached"])
        cases = {case for mine in reached.values() for case in mine}
        means = [(name, sum(mine.values(), Fraction(0)) / len(mine)) for name, mine in reached.items() if mine]
        means = [(name, mean) for name, mean in means if len(reached[name]) == len(cases)]
        means.sort(key=lambda pair: -pair[1])
        called = {name: label_of_runs(name, all_) for name, all_ in labels.items()}
        ranked.append(Ranked(str(group), len(cases), means, called))
    return ranked


def share(value: Fraction) -> str:
    """A part of OPT in percent, rounded down."""
    return f"{ratios.decimal(100 * value, 1, up=False)} %"


_REACHED = {
    Sense.MOST: "What part of the upper bound on OPT is reached (100 %: optimal), mean over the cases of a group:",
    Sense.LEAST: "The lower bound on OPT as a share of the cost (100 %: optimal), mean over the cases of a group:",
}


def answer_text(found: Results, settled: Sequence[Settled], folder: Path) -> str:
    """The answer in at most two dozen lines: groups, claims that fell, the page as a link.

    Parameters
    ----------
    found : the rows.
    settled : the claims over all of them.
    folder : where `report.html` and `results.csv` lie.
    """
    files = [f"Page:  {(folder / 'report.html').resolve().as_uri()}", f"Table: {folder / 'results.csv'}"]
    return "\n".join([*_group_lines(found), *_claim_lines(settled), *files])


def _group_lines(found: Results) -> list[str]:
    ranked = [each for each in rank_groups(found) if each.means]
    if not ranked:
        return ["No algorithm has a ratio to OPT yet."]
    own = [name for name in map(str, found.about.get("algorithms", ())) if any(name in each.labels for each in ranked)]
    lines = [
        {
            "Group": each.group,
            "cases": str(each.cases),
            "Best": each.told(0),
            "Worst": each.told(-1) if len(each.means) > 1 else "-",
            **{_heading(name): each.told_of(name) for name in own[:OWN]},
        }
        for each in ranked[:GROUPS]
    ]
    told = [_REACHED[found.sense], aligned(lines, indent="  ").rstrip("\n")]
    if len(ranked) > GROUPS:
        told.append(f"  All {len(ranked)} groups: best {_count(ranked, 0)}; worst {_count(ranked, -1)}.")
    if len(own) > OWN:
        told.append(f"  {len(own) - OWN} more of the algorithms that were added stand in the tables above.")
    return told


def _heading(algorithm: str) -> str:
    """The heading of an algorithm's column: capitals begin what is written to the left."""
    return f"Yours: {tamed(algorithm, NAME)}"


def _count(ranked: Sequence[Ranked], place: int) -> str:
    """Who is how often at this place; of equals each."""
    counted: Counter[str] = Counter()
    for each in ranked:
        value = each.means[place][1]
        counted.update(each.label(name) for name, mean in each.means if mean == value)
    most = counted.most_common(3)
    rest = len(counted) - len(most)
    return ", ".join(f"{name} in {count}" for name, count in most) + (f", {rest} others" if rest else "")


def _claim_lines(settled: Sequence[Settled]) -> list[str]:
    """The claims that a run of these violates, with the smallest witness; how many hold wherever they apply."""
    checked = [each for each in settled if not each.statement.proof]
    if not checked:
        return []
    fell = [each for each in checked if each.counts[Verdict.VIOLATED]]
    fell.sort(key=lambda each: each.statement.standing != PROVED)
    stand = sum(each.counts[Verdict.HOLDS] > 0 for each in checked if each not in fell)
    if not fell:
        return [f"Claims: none of {len(checked)} fell in these runs; {stand} hold in every run that decides them."]
    lines = [
        f"{len(fell)} of {len(checked)} claims fell, in so many of the runs to which they apply"
        f" ({stand} hold wherever they are decided):"
    ]
    for each in fell[:CLAIMS]:
        applied = sum(each.counts[verdict] for verdict in Verdict if verdict is not Verdict.NOT_APPLICABLE)
        error = ", though PROVED: an error of ours" * (each.statement.standing == PROVED)
        count = f"{each.counts[Verdict.VIOLATED]} of {applied}{error}"
        lines.append(f"  {check_title(each.statement.name)}: {count}{_witness(each)}")
    if len(fell) > CLAIMS:
        names = ", ".join(check_title(each.statement.name) for each in fell[CLAIMS:])
        lines.append(f"  and {tamed(names, 200)}")
    return lines


def _witness(each: Settled) -> str:
    if each.witness is None:
        return ""
    case, name = (tamed(str(each.witness[key]), NAME) for key in ("case", "algorithm"))
    return f"; smallest witness {case}{f' ({each.size})' if each.size else ''}, {name}"
