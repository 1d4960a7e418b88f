"""The README's tables are those of the committed runs, which are of whole suites."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from ratiobench.bench.family.registry import find_suite
from ratiobench.bench.tenants.claims import SOURCES
from ratiobench.online.spec import version
from ratiobench.online.tenants.run import ENVIRONMENT
from tools import readme_tables, readme_tenants


@pytest.mark.parametrize(("file", "name"), readme_tenants.TABLES)
def test_a_table_is_that_of_the_committed_run(file: str, name: str) -> None:
    assert readme_tables.block(file, name) == readme_tenants.TABLES[file, name]()


def test_the_source_of_the_search_names_the_readings_that_are_options() -> None:
    """Those of h, l and the search; ES, E_b, theta and lambda have one reading each."""
    (gives,) = (source.gives for source in SOURCES if source.name == "patent")
    options = set(ENVIRONMENT.registry.entries()["patent"].options)
    assert options == {"h", "load", "search", "width", "expansions"}
    assert gives.endswith("readings of h, of l and of the search are options")


def test_shown_ratios_are_upper_bounds() -> None:
    """No ratio and no width of an interval is shown below the committed one, as rounding to the nearest would."""
    assert readme_tenants._ratio({"mean": "1.0061", "largest": "1.1240"}) == "1.007 (1.124)"
    rows = readme_tenants._rows("tenants-batch")
    groups = list(dict.fromkeys(group for group, _ in rows))
    lines = readme_tables.block(readme_tenants.README, "tenants batch").splitlines()[2:]
    for line in lines[:-2]:
        name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        for group, cell in zip(groups, cells, strict=True):
            if cell != "-":
                row = rows[group, name.strip("`")]
                mean, largest = cell.rstrip(")").split(" (")
                assert Fraction(mean) >= Fraction(row["mean"]), (name, group)
                assert Fraction(largest) >= Fraction(row["largest"]), (name, group)


def test_the_figure_is_that_of_the_committed_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = (readme_tenants.RESULTS / readme_tenants.FRONT).read_text(encoding="utf-8")
    assert f"{readme_tenants.draw().svg}\n" == shown


@pytest.mark.parametrize("file", sorted(readme_tenants.RESULTS.glob("*_provenance.json")), ids=lambda file: file.stem)
def test_the_committed_runs_are_whole(file: Path) -> None:
    """All cases of the suite as it is now, with the present policies."""
    about = json.loads(file.read_text(encoding="utf-8"))
    suite = find_suite(about["suite"])[1]
    assert file.name == f"{suite.name}_provenance.json"
    assert (about["cases"], about["only"], about["scale"]) == (len(suite.cases), [], "full")
    names = {name for case in suite.cases for name in case.algorithms}
    assert set(about["versions"]) == {f"{name} version {version(ENVIRONMENT.registry.parse(name))}" for name in names}
