"""Reads the labels in stores of version 0.1, which keep a run's label alone, without the facts behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ratiobench.online.remarks import ISOLATION_OF_TEXT, LIMITED, OVERCHARGED, SINGLE_NODE, Part, Remarks

_LIMITED = re.compile(LIMITED + r" (\d{1,18}) of (\d{1,18})(?:, gap (\d{1,9})(?:\.(\d{1,4}))? %)?")
_OVERCHARGED = re.compile(OVERCHARGED + r": (\d{1,18}) of (\d{1,18}) admitted")
_OPTIONS = re.compile(r"[\w-]+=[^,()]*(?:, [\w-]+=[^,()]*)*")
_SOLVER = re.compile(r"HiGHS [\w.]+")
_FINDING = re.compile(r"late binding: \d+ cells moved")


def read_old_label(algorithm: str, label: str) -> Remarks:
    """The remarks behind a label such as ``NAME (at limit 5 of 144, gap 0.32 %)``; they render as that label again.

    Parameters
    ----------
    algorithm : the name under which the run was stored.
    label : the stored label.
    """
    start = len(algorithm) if label.startswith(f"{algorithm} (") else label.find(" (")
    if start < 0:
        return Remarks(label)
    name, rest = label[:start], label[start:]
    found = Remarks(name, **_facts(list(_brackets(rest)), is_first_options=name != algorithm or ":" not in name))
    if found.label == label:
        return found
    return Remarks(name, notes=(rest[2:].removesuffix(")"),))


def _facts(texts: list[str], *, is_first_options: bool) -> Mapping[str, Any]:
    """The fields of the remarks that these texts in brackets tell of."""
    facts: dict[str, Any] = {}
    for place, text in enumerate(texts):
        limited, overcharged = _LIMITED.fullmatch(text), _OVERCHARGED.fullmatch(text)
        if limited:
            hit, decisions, whole, places = limited.groups()
            facts["limit"] = Part(int(hit), int(decisions))
            if whole is not None:
                facts["gap_ppm"] = int(whole + (places or "").ljust(4, "0"))  # a percentage with four decimals
        elif overcharged:
            facts["overcharged"] = Part(*map(int, overcharged.groups()))
        elif text in ISOLATION_OF_TEXT:
            facts["isolated"] = ISOLATION_OF_TEXT[text]
        elif text == SINGLE_NODE:
            facts["single_node"] = True
        elif text.startswith("starts "):
            facts["starts"] = tuple(text.removeprefix("starts ").split(", "))
        elif place == 0 and is_first_options and _OPTIONS.fullmatch(text):
            facts["options"] = tuple(text.split(", "))
        else:
            field = "solvers" if _SOLVER.fullmatch(text) else "findings" if _FINDING.fullmatch(text) else "notes"
            facts[field] = (*facts.get(field, ()), text)
    return facts


def _brackets(rest: str) -> Iterator[str]:
    """The texts in brackets, outermost ones only."""
    depth = start = 0
    for place, sign in enumerate(rest):
        if sign == "(" and (depth or rest[place - 1 : place] == " "):
            start = start if depth else place + 1
            depth += 1
        elif sign == ")" and depth:
            depth -= 1
            if not depth:
                yield rest[start:place]
    if depth:
        yield rest[start:]
