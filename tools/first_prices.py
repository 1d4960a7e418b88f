"""The first prices that `learned` is shipped with: `python -m tools.first_prices` writes them.

They are those of its rows on the day of `quick`. Raise the version of `learned` where others come out.
"""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import patch

from ratiobench.bench.family.registry import find_suite
from ratiobench.instances.io.files import sha256_of
from ratiobench.online.lora.learned import policy
from ratiobench.online.lora.learned.policy import SHIPPED, FirstPrices, document
from ratiobench.online.lora.registry import parse

DAY = "philly_7200"


def compute() -> dict[str, Any]:
    """The prices by the SHA-256 of what they follow from, as they are stored."""
    family, suite = find_suite("quick")
    case = next(case for case in suite.cases if case.name == DAY)
    assert case.history is not None
    day, history = family.make(case.recipe), family.join([family.make(each) for each in case.history["recipes"]])
    found: dict[str, Any] = {}

    def note(follows: list[Any], first: FirstPrices) -> None:
        found[sha256_of(follows[:-1])] = document(first)  # the last one is the mark of the code

    def find_nothing(_: Any) -> None:
        """Have it computed."""

    ours: dict[str, Any] = {"find_shipped": find_nothing, "recall": find_nothing, "store": note, "write_prices": _same}
    with patch.multiple(policy, _KEPT={}, **ours):
        for spec in map(parse, case.algorithms):
            if spec.entry is not None and spec.entry.name == "learned":
                algorithm = spec.entry.make(spec.entry.settle(dict(spec.options), day.tasks))
                algorithm.learn(history, day)
                algorithm.start(day.public(""), {})
    return found


def _same(first: FirstPrices) -> FirstPrices:
    return first


if __name__ == "__main__":
    SHIPPED.write_text(json.dumps(compute(), separators=(",", ":")) + "\n")
