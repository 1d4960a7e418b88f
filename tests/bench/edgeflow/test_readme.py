"""The tables of the family's README are made from committed figures, which are those of the code's suites."""

from fractions import Fraction
from pathlib import Path

import pytest

from ratiobench.bench.family.registry import find_suite
from tools import readme_edgeflow, readme_tables

SHOWN = [key for key in readme_edgeflow.TABLES if readme_edgeflow._is_known(key[1])]


@pytest.mark.parametrize(("file", "name"), SHOWN)
def test_a_table_is_what_its_figures_make(file: str, name: str) -> None:
    assert readme_tables.block(file, name) == readme_edgeflow.TABLES[file, name]()


@pytest.mark.parametrize("file", sorted(readme_edgeflow.RESULTS.glob("*_provenance.json")), ids=lambda file: file.stem)
def test_figures_are_of_the_suite_as_it_is(file: Path) -> None:
    """The same cases and policies, nobody above the bound, every run valid."""
    suite = file.name.removesuffix("_provenance.json")
    rows = readme_tables.figures(readme_edgeflow.RESULTS / f"{suite}.csv").to_dict("records")
    cases = {case.name: set(case.algorithms) for case in find_suite(suite)[1].cases}
    assert {row["case"] for row in rows} == set(cases)
    assert all({row["algorithm"] for row in rows if row["case"] == name} == names for name, names in cases.items())
    for row in rows:
        assert row["state"] == "ok"
        assert Fraction(row["welfare"]) <= Fraction(row["opt_lower"]) <= Fraction(row["opt_upper"])
