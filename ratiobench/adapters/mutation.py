"""Changes of numbers in a policy's text, in place of a language model."""

from __future__ import annotations

import random
import re

__all__ = ["mutate"]

_BLOCK = re.compile(r"# EVOLVE-BLOCK-START\n(.*?)# EVOLVE-BLOCK-END", re.DOTALL)
_NUMBER = re.compile(r"^(\s*[A-Z][A-Z_0-9]* *= *)(-?\d+(?:\.\d+)?)(?=[ \t]*(?:#.*)?$)", re.MULTILINE)
_FACTORS = (0.25, 0.5, 0.7, 0.9, 1.1, 1.4, 2.0, 4.0)


def mutate(text: str, draws: random.Random) -> str:
    """Change one number in a policy's text.

    The number is that of a constant `NAME = number` in the EVOLVE block, or anywhere without a block.

    Parameters
    ----------
    text : of the policy.
    draws : decides which number and how; the same draws give the same text.

    Returns
    -------
    The changed text; the same text where it has no such constant.

    Examples
    --------
    >>> import random
    >>> from ratiobench.adapters.mutation import mutate
    >>> mutate("MARGIN = 2.0", random.Random(1))
    'MARGIN = 1'
    """
    block = _BLOCK.search(text)
    start, end = block.span(1) if block else (0, len(text))
    found = list(_NUMBER.finditer(text, start, end))
    if not found:
        return text
    chosen = draws.choice(found)
    number = float(chosen[2])
    changed = number * draws.choice(_FACTORS) if number else draws.choice((0.1, 0.5, 1.0, 2.0))
    return text[: chosen.start(2)] + f"{changed:.6g}" + text[chosen.end(2) :]
