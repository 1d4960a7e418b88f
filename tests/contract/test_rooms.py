"""No family is known in a room that all share: what it is called, what it claims, who plays it."""

import re
from pathlib import Path

import pytest

from ratiobench.bench.family.registry import families

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("instances", "formulations", "online", "bench")
COMMON = {"online", "greedy", "average", "balance", "posted", "capped", "hold", "random", "fastest", "queue"}
COMMON |= {"cluster", "easy", "advice", "mirror", "pooled", "reserve", "static", "units"}
"""Names of algorithms that are words of everyday English as well."""


def _shared() -> list[Path]:
    """Every file of the four floors outside the families' folders."""
    own = {ROOT / floor / name for floor in FLOORS for name in families()}
    return [
        path
        for floor in FLOORS
        for path in sorted((ROOT / floor).rglob("*"))
        if path.suffix in (".py", ".html", ".js", ".css") and not own & set(path.parents)
    ]


def test_there_are_rooms_that_all_share() -> None:
    assert len(_shared()) > 90


@pytest.mark.parametrize("family", sorted(families()))
def test_no_shared_room_knows_a_word_of_a_family(family: str) -> None:
    """Its name, its algorithms, its claims, its unit."""
    house = families()[family]
    words = {family, *(each.name for each in house.algorithms())} - COMMON
    words |= {each.name for each in house.statements() if re.search(r"[\d_]", each.name)}
    words |= {house.unit} if len(house.unit) > 6 else set()
    pattern = re.compile(rf"(?<![\w.-])({'|'.join(map(re.escape, sorted(words)))})(?![\w-])")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in _shared()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]
    assert not found


def test_families_do_not_know_each_other() -> None:
    """No file of a family imports another one; what all share is under the test above. Algorithms import no run."""
    found = []
    for name in families():
        others = "|".join(other for other in families() if other != name)
        run = r"ratiobench\.online\.(\w+\.)?run\b(?!_)"
        for floor in FLOORS:
            for path in sorted((ROOT / floor / name).rglob("*.py")):
                text = path.read_text(encoding="utf-8")
                foreign = rf"ratiobench\.({'|'.join(FLOORS)})\.({others})\b"
                forbidden = f"{foreign}|(from|import) {run}" if "algorithms" in path.parts else foreign
                found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in re.finditer(forbidden, text)]
    assert not found
