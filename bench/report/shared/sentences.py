"""Sentences with exact figures, as they are read."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from ratiobench.bench.family.explanation import Figure, Sentence
from ratiobench.bench.results.ratios import format_decimal
from ratiobench.instances.io.errors import make_printable

WORDS = 300  # Characters of words in a sentence; more are cut off
_DIGITS = 12


def figure_text(value: Figure) -> str:
    """An exact figure for reading, four digits or more, dots where decimals were cut off; words on one line."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return make_printable(value, WORDS)
    size = abs(Fraction(value))
    digits = 3
    while size and size < Fraction(1, 10) and digits < _DIGITS:
        size, digits = size * 10, digits + 1
    cut = format_decimal(abs(Fraction(value)), digits, up=False)
    whole, point, places = cut.partition(".")
    dots = "" if Fraction(cut) == abs(value) else "..."
    return f"{'-' if value < 0 else ''}{int(whole):,}{point}{places}{dots}"


class TextPart(NamedTuple):
    """A piece of a sentence: its text, the exact value where that is another text, and whether it is words."""

    text: str
    exact: str
    words: bool


def render_parts(sentence: Sentence) -> list[TextPart]:
    """The pieces as they are read; numbers that differ never read alike: then they are given exactly."""
    read = [each if isinstance(each, str) else figure_text(each) for each in sentence]
    values: dict[str, set[Fraction]] = {}
    for each, text in zip(sentence, read, strict=True):
        if not isinstance(each, str):
            values.setdefault(text, set()).add(Fraction(each))
    return [
        TextPart(text, "", True)
        if isinstance(each, str)
        else TextPart(str(each), "", False)
        if len(values[text]) > 1
        else TextPart(text, exact_text(each), False)
        for each, text in zip(sentence, read, strict=True)
    ]


def sentence_text(sentence: Sentence) -> str:
    """A sentence, its figures as text shows them."""
    return "".join(" ".join(each.text.split("\n")) for each in render_parts(sentence)).replace("....", "...")


def exact_text(value: Figure) -> str:
    """The fraction behind a figure that is shown as a decimal; empty where it is shown in full, or no number."""
    return str(value) if isinstance(value, Fraction) and value.denominator != 1 else ""
