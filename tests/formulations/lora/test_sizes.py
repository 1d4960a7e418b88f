"""The table of the page on formulations: names, solvers and formulas of sizes against models that are built."""

import re
from pathlib import Path
from typing import NamedTuple

from hypothesis import given, settings

from ratiobench.bench.family.registry import find_suite
from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.lora.models.formulation import Formulation, registry
from ratiobench.formulations.lora.models.tight import cover_inequalities, menus
from ratiobench.formulations.lora.solve import build
from ratiobench.formulations.lora.solve import formulations as listed
from ratiobench.instances.lora import Instance
from ratiobench.instances.lora.model import ScheduleKind
from tests.formulations.lora.test_models import contended_instance
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances

README = (Path(__file__).parents[3] / "docs" / "reference" / "formulations.md").read_text(encoding="utf-8")


class Line(NamedTuple):
    what: str
    variables: str
    rows: str
    exact: str
    solvers: str
    example: str


def _table() -> dict[str, Line]:
    [block] = re.findall(r"<!-- formulations: begin -->\n(.*?)<!-- formulations: end -->", README, flags=re.DOTALL)
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in block.splitlines()[2:]]
    return {name.strip("`"): Line(*cells) for name, *cells in rows}


TABLE = _table()
BUILT = list(registry().values())


def _evaluate(formula: str, letters: dict[str, int]) -> int:
    """``I (1 + K T) + V`` in integers: letters side by side are multiplied."""
    tokens = re.findall(r"[A-Z]|\d+|[()+-]", formula)
    assert "".join(tokens) == formula.replace(" ", ""), formula
    words: list[str] = []
    for token in tokens:
        if words and words[-1] not in "(+-" and token not in ")+-":
            words.append("*")
        words.append(str(letters[token]) if token.isalpha() else token)
    return int(eval("".join(words), {"__builtins__": {}}))


def _letters(instance: Instance) -> dict[str, int]:
    vendors = [len(instance.task(i).vendors) for i in range(instance.tasks)]
    covers = [len(cover_inequalities(menu.rates, int(instance.work[menu.task]))) for menu in menus(instance)]
    return {
        "I": instance.tasks,
        "K": instance.nodes,
        "T": instance.slots,
        "N": max(vendors, default=0),
        "V": sum(vendors),
        "J": sum(map(bool, vendors)),
        "F": max(covers, default=0),
    }


def _size(instance: Instance, formulation: Formulation) -> tuple[int, int]:
    """Variables and rows of the model that is built, without the variable that PuLP gives to an empty objective."""
    model = build(instance, formulation)
    if isinstance(model, LinearModel):
        return len(model.columns) - ("__dummy" in model.columns), len(model.rows)
    return len(model.columns), model.text.count("constraints {")  # type: ignore[union-attr]


def _compare(instance: Instance) -> None:
    letters = _letters(instance)
    assert letters["V"] <= letters["I"] * letters["N"]
    kinds = len(instance.node_types)
    assert kinds == 2 or letters["F"] <= (1 if kinds == 1 else kinds + 1)
    for formulation in BUILT:
        line = TABLE[formulation.name]
        for cell, count in zip((line.variables, line.rows), _size(instance, formulation), strict=True):
            sign, _, formula = cell.partition(" ")
            said = _evaluate(formula, letters)
            assert count == said if sign == "=" else sign == "<=" and count <= said, (formulation.name, cell, count)


@settings(max_examples=samples(60), deadline=None)
@given(tiny_instances())
def test_no_tiny_model_is_larger_than_the_table_says(instance: Instance) -> None:
    """Any mixture of types, vendors, rate 0, empty windows; where the table says `=`, exactly as large."""
    _compare(instance)


def test_no_contended_model_is_larger_than_the_table_says() -> None:
    """Tasks that compete, so that capacities and late vendors have rows."""
    for number in range(30):
        _compare(contended_instance(number))


def test_the_example_of_the_table_is_that_large() -> None:
    """`pai_40` of the suite `quick`, to the last row; `auto` builds `tight`."""
    family, suite = find_suite("quick")
    [case] = [each for each in suite.cases if each.name == "pai_40"]
    instance = family.make(case.recipe)
    letters = _letters(instance)
    assert f"I = {letters['I']}, K = {letters['K']}, T = {letters['T']}, V = {letters['V']})" in " ".join(
        README.split()
    )
    for formulation in BUILT:
        columns, rows = _size(instance, formulation)
        assert TABLE[formulation.name].example == f"{columns:,} / {rows:,}", formulation.name
    assert TABLE["auto"].example == TABLE["tight"].example
    _compare(instance)


def test_the_bounds_are_reached_up_to_what_is_left_out() -> None:
    """Rows of `printed` to the last one: the table counts (4c) and (4k) for every cell, which few need."""
    instance = contended_instance(3)
    letters = _letters(instance)
    for name in ("printed", "printed-ortools"):
        model = build(instance, registry()[name])
        assert isinstance(model, LinearModel)
        cells = instance.tasks * instance.nodes * instance.slots
        idle = 2 * cells - sum(row.startswith(("c4c", "c4k")) for row in model.rows)
        assert len(model.rows) == _evaluate(TABLE[name].rows.removeprefix("<= "), letters) - idle


def test_names_and_solvers_are_those_of_the_registry() -> None:
    assert set(TABLE) == set(dict(listed()))
    for formulation in BUILT:
        assert TABLE[formulation.name].solvers == ", ".join(formulation.backends)
        assert (TABLE[formulation.name].exact == "yes") == (formulation.schedules is ScheduleKind.ANY)
