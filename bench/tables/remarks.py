"""What is said of a mean: what stands in brackets behind the names of the runs behind it, in short."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ratiobench.instances.errors import make_printable

KINDS = (
    (re.compile(r"at limit \d+ of \d+(?:, gap (?P<worst>\d{1,9}(?:\.\d{1,9})?) %)?"), "at limit", "worst gap {} %"),
    (re.compile(r"charged above their bid: \d+ of \d+ admitted"), "charged above their bid", ""),
)
"""What differs from run to run: its pattern, what it is called, and what is said of the largest `worst` among them.

All else is counted as it stands.
"""
_OPTIONS = re.compile(r" \(([^()]*)\)")
MOST = 4
"""Different things that are said of a mean; of more the number."""
_LONGEST = 120


def remarks_of_runs(algorithm: str, labels: Sequence[str]) -> str:
    """What the labels of an algorithm's runs say behind its name, with the number of runs of which it is said.

    Of one run it is told as it stands; options that the name says already are left out. Empty where nothing is said.

    Parameters
    ----------
    algorithm : the name under which the mean stands.
    labels : of the runs behind the mean, e.g. ``NAME (at limit 5 of 144, gap 0.32 %)``.
    """
    counted: dict[str, int] = {}
    worst: dict[str, str] = {}
    for label in labels:
        kinds: dict[str, None] = {}
        for text in _brackets(algorithm, label):
            kind, value = _kind(text) if len(labels) > 1 else (text, None)
            kinds[kind] = None
            if value is not None and Fraction(value) > Fraction(worst.get(kind, "-1")):
                worst[kind] = value
        for kind in kinds:
            counted[kind] = counted.get(kind, 0) + 1
    told = {words: about for _, words, about in KINDS}
    parts = []
    for kind, count in counted.items():
        always = count == len(labels) and kind not in told
        part = kind if always else f"{kind} in {count} of {len(labels)} runs"
        parts.append(part + (f", {told[kind].format(worst[kind])}" if kind in worst else ""))
    rest = len(parts) - MOST
    return " and ".join([*parts[:MOST], *([f"{rest} more"] if rest > 0 else [])])


def label_of_runs(algorithm: str, labels: Sequence[str]) -> str:
    """What an algorithm is called where its runs are told of together: their label, each remark with how many have it.

    One run: its label as it is.
    """
    name = name_of_runs(algorithm, labels)
    return with_remarks(name, remarks_of_runs(name, labels))


def name_of_runs(algorithm: str, labels: Sequence[str]) -> str:
    """The name without remarks. Options that a label has in brackets stay there: of ``NAME:key=value`` with the label
    ``NAME (key=value)`` it is the latter, so that rows and means call it alike.
    """
    head, _, options = algorithm.partition(":")
    for label in labels:
        found = _OPTIONS.match(label.removeprefix(head)) if label.startswith(f"{head} (") else None
        if found and options and set(options.split(",")) <= set(found[1].split(", ")):
            return f"{head} ({found[1]})"
    return algorithm


def is_own(algorithm: str) -> bool:
    """Whether the name is an import path, ``package.module:Class[:key=value,...]``: anyone's own algorithm."""
    attribute = algorithm.partition(":")[2].partition(":")[0]
    return bool(attribute) and "=" not in attribute


def part_charged(label: str) -> tuple[str, str]:
    """A label, and what it says of payments above bids, which must not be overlooked: empty where it says nothing."""
    found = re.search(r" \((charged above their bid: [^()]*)\)", label)
    return (label, "") if found is None else (label[: found.start()] + label[found.end() :], found[1])


def with_remarks(name: str, said: str) -> str:
    """The name, and what is said of it in brackets."""
    return f"{name} ({said})" if said else name


def said_below(means: Iterable[Mapping[Any, Any]]) -> str:
    """What is said of the means of a figure, for the note below it; groups are named where they differ.

    `means` have the keys ``group``, ``algorithm`` and ``said``. Empty where nothing is said.
    """
    groups: dict[str, list[str]] = {}
    found: dict[tuple[str, str], list[str]] = {}
    for row in means:
        groups.setdefault(str(row["algorithm"]), []).append(str(row["group"]))
        if row["said"]:
            found.setdefault((str(row["algorithm"]), str(row["said"])), []).append(str(row["group"]))
    parts = []
    for (algorithm, said), mine in found.items():
        where = "" if mine == groups[algorithm] else f" in {', '.join(mine)}"
        parts.append(f"{algorithm}{where}: {said}")
    return f" Remarks on the runs behind the means: {'; '.join(parts)}." if parts else ""


def _kind(text: str) -> tuple[str, str | None]:
    """What a text is counted as, and the figure in it of which the largest is told."""
    for pattern, words, _ in KINDS:
        found = pattern.fullmatch(text)
        if found:
            return words, found.groupdict().get("worst")
    return text, None


def _brackets(algorithm: str, label: str) -> Iterator[str]:
    """What stands in brackets behind the name, less the options that are in the name."""
    rest = label.removeprefix(algorithm)
    depth = start = 0
    for place, sign in enumerate(rest):
        if sign == "(" and (depth or rest[place - 1 : place] == " "):
            start = start if depth else place + 1
            depth += 1
        elif sign == ")" and depth:
            depth -= 1
            if not depth:
                yield from _beyond(algorithm, rest[start:place])
    if depth:
        yield from _beyond(algorithm, rest[start:])


def _beyond(algorithm: str, text: str) -> Iterator[str]:
    given = algorithm.rpartition(":")[2].split(",")
    text = ", ".join(part for part in text.split(", ") if part not in given)
    if text:
        yield make_printable(text, _LONGEST)
