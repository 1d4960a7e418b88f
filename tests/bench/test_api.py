"""The commands as functions: the same numbers, from scripts that need no main guard."""

from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

import ratiobench
from ratiobench.bench.cli import main
from ratiobench.bench.family.registry import families
from ratiobench.bench.results.read import read_results
from ratiobench.bench.results.row import COLUMNS
from ratiobench.bench.storage.store import Store
from ratiobench.formulations.report import Status
from ratiobench.instances.eapm.generate import path as eapm_path
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.named import path
from ratiobench.online.outcome import Violation
from ratiobench.online.remarks import Remarks
from tests.support.commands import python
from tests.support.toy_family import FAMILY
from tests.support.toy_runs import toy  # noqa: F401

pytestmark = pytest.mark.usefixtures("toy")
ROOT = Path(__file__).resolve().parents[2]
LORA = path("thm5_T5_3tasks")
SCRIPT = """
import ratiobench
found = ratiobench.run("toy", only="toy[01]", add=["above:mark=70"], out="out", workers=2)
print(len(found.rows), found.exact["welfare"].sum(), set(found.rows["state"]))
"""


def read_empty(path: Path) -> ratiobench.Results:
    """The tables of a store in which nothing was run."""
    with Store.open(path) as store:
        stored = read_results(store)
    return ratiobench.Results(**{part.name: getattr(stored, part.name) for part in fields(stored)})


@pytest.mark.parametrize("how", ["-c", "stdin", "file"])
def test_a_script_needs_no_main_guard(how: str, tmp_path: Path) -> None:
    """From the command line, from standard input as notebooks run, and from a file without a guard."""
    (tmp_path / "script.py").write_text(SCRIPT)
    command = {"-c": ["-c", SCRIPT], "stdin": [], "file": ["script.py"]}[how]
    done = python(*command, folder=tmp_path, text=SCRIPT if how == "stdin" else None, check=False)
    instances = [FAMILY.generate({"seed": seed, "size": 8, "room": 3}) for seed in (0, 1)]
    names = ("first", "above:mark=50", "one", "above:mark=70")
    welfare = sum(FAMILY.run(instance, name).welfare for instance in instances for name in names)
    assert (done.stdout, done.stderr) == (f"8 {welfare} {{'ok'}}\n", "")


def test_run_gives_the_tables_of_the_command(tmp_path: Path) -> None:
    """Rows with the documented columns, and in exact figures; `results` reads them again; seconds by stage."""
    found = ratiobench.run("toy", add=["above:mark=70"], out=tmp_path / "api", workers=1)
    assert list(found.rows.columns[: len(COLUMNS)]) == list(COLUMNS)
    assert all(isinstance(value, Fraction) for value in found.exact["ratio_upper"])
    assert set(found.seconds["stage"]) == {"generate", "opt", "online", "deciding", "audit"}
    again = ratiobench.results(tmp_path / "api")
    pd.testing.assert_frame_equal(found.rows, again.rows)
    pd.testing.assert_frame_equal(found.exact, again.exact)
    assert main(["run", "toy", "--add", "above:mark=70", "--out", str(tmp_path / "cli"), "--quiet"]) == 0
    assert (tmp_path / "cli" / "results.csv").read_text() == found.exact.to_csv(index=False, lineterminator="\n")


def test_rows_have_one_type_per_column_and_exact_has_the_fractions(tmp_path: Path) -> None:
    """Floats are the nearest to the exact figures, row by row; what is missing is missing in both; none is `object`."""
    found = ratiobench.run("toy-bad", out=tmp_path, workers=1)
    rows, exact = found.rows, found.exact
    assert list(rows.columns) == list(exact.columns)
    kinds = {name: str(kind) for name, kind in rows.dtypes.items()}
    assert set(kinds.values()) == {"float64", "Int64", "boolean", "category", "string"}
    expected = {"welfare": "float64", "ratio_upper": "float64", "opt_gap": "float64", "admitted": "Int64",
                "opt_time_limited": "boolean", "state": "category", "ratio_kind": "category", "case": "string",
                "half": "category", "half_right": "float64", "half_figures": "string"}  # fmt: skip
    assert {name: kinds[name] for name in expected} == expected
    for name, kind in kinds.items():
        for told, truth in zip(rows[name], exact[name], strict=True):
            if truth is None:
                assert pd.isna(told), name
            elif kind == "float64":
                assert told == float(Fraction(truth)), name
            else:
                assert told == truth, name
    assert rows["welfare"].mean() == pytest.approx(float(sum(exact["welfare"].dropna()) / rows["welfare"].count()))
    assert {str(kind) for kind in found.seconds.dtypes} == {"string", "float64"}
    # The types do not depend on what has been run.
    empty = read_empty(tmp_path / "none.sqlite").rows
    assert {str(kind) for kind in empty.dtypes} == {"float64", "Int64", "boolean", "category", "string"}


def test_a_frame_has_what_is_read_first_and_all_on_request(tmp_path: Path) -> None:
    """Twelve columns with true types; names and verdicts are categories in their order; fractions on demand."""
    found = ratiobench.run("toy-bad", out=tmp_path, workers=1)
    frame = found.frame()
    kinds = {name: str(kind) for name, kind in frame.dtypes.items()}
    assert kinds == {
        "case": "category", "group": "category", "algorithm": "category", "state": "category",
        "ratio_lower": "float64", "ratio_upper": "float64", "reached": "float64", "welfare": "float64",
        "admitted": "Int64", "revenue": "float64", "seconds": "float64", "half": "category",
    }  # fmt: skip
    assert list(frame["algorithm"].cat.categories) == ["first", "raises", "dies", "cheats"]
    assert (frame["seconds"] > 0).any()
    every = found.frame("all", exact=True)
    assert set(found.rows.columns) <= set(every.columns)
    assert {"ratio_upper_exact", "share_exact", "half_left_exact", "admitted_exact", "seconds"} <= set(every.columns)
    assert str(every["opt_time_limited"].dtype) == "boolean"
    for name in ("ratio_upper", "half_right", "share"):
        for told, truth in zip(every[name], every[f"{name}_exact"], strict=True):
            assert pd.isna(told) if truth is None else told == float(truth)
            assert truth is None or isinstance(truth, Fraction)
    assert list(found.frame(["welfare", "case"], exact=True).columns) == ["welfare", "welfare_exact", "case"]
    assert list(found.frame("reason").columns) == ["reason"]
    with pytest.raises(InputError, match="columns: 'nosuch' is not one of case, group"):
        found.frame(["nosuch"])
    empty = read_empty(tmp_path / "none.sqlite").frame()
    assert (len(empty), len(empty.columns)) == (0, 11)


def test_results_show_themselves(tmp_path: Path) -> None:
    """In a line, in HTML, and as a picture that can be saved; what comes from outside is escaped."""
    found = ratiobench.run("toy", only="toy[01]", out=tmp_path, workers=1)
    assert isinstance(found, ratiobench.Results)
    assert repr(found) == "<Results toy: 2 cases, 6 rows (6 ok)>"
    page = found._repr_html_()
    assert "<td>above:mark=50 *</td>" in page
    assert "Half" in page
    assert page.index("<td>first</td>") < page.index("<td>one</td>")  # the better one
    picture = found.plot()
    saved = picture.save(tmp_path / "share.svg").read_text()
    assert saved == f"{picture._repr_svg_()}\n"
    assert ElementTree.fromstring(saved).tag == "{http://www.w3.org/2000/svg}svg"
    assert "even, 1 case" in saved
    assert "even" not in found.plot("odd").svg
    assert picture.save(tmp_path / "share.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(InputError, match="plot: group: 'nosuch' is not one of even, odd"):
        found.plot("nosuch")
    hostile = replace(found, about={**found.about, "suite": "<b>\n\x1b[1m"})
    assert "<b>" not in hostile._repr_html_()
    assert "&lt;b&gt;" in hostile._repr_html_()
    assert repr(hostile).isprintable()


def test_a_dictionary_of_instances_is_told_from_an_instance() -> None:
    """`generate` gives one: the line says how to take an instance out of it, and does not print it."""
    made = ratiobench.generate("toy", only="toy0")
    with pytest.raises(InputError, match=r"a dictionary of 1; one instance is needed, such as its \['toy0'\]"):
        ratiobench.opt(made)


def test_instances_runs_and_reports_show_themselves() -> None:
    """Of both families: the figures that matter, short, and nothing unescaped."""
    for file, size in ((LORA, "3 tasks, 1 nodes, 5 slots"), (eapm_path("free_energy"), "users, 2 machines")):
        known = ratiobench.instance(file)
        assert repr(known).startswith(f"<Instance {known.name}: ")
        assert size in repr(known)
        assert len(repr(known)) < 200
        assert f"<strong>{known.name}</strong>" in known._repr_html_()
        assert "<script>" not in replace(known, name="<script>")._repr_html_()
    report, run = ratiobench.opt(LORA), ratiobench.simulate(LORA, "greedy")
    assert repr(report) == f"<SolveReport OPT = 312, proof trivial ({report.formulation} / {report.backend})>"
    assert "<strong>OPT = 312</strong>" in report._repr_html_()
    wide = replace(report, status=Status.INTERVAL, lower=Fraction(1000, 3), upper=Fraction(2000, 3))
    assert repr(wide).startswith("<SolveReport OPT in [333.333, 666.667], gap 50 %, ")
    assert repr(run) == "<OnlineRun greedy: 312, 3 of 3 admitted, valid>"
    broken = replace(run, valid=False, violations=(Violation("<i>", 1, "x"),), remarks=Remarks("<i>"))
    assert repr(broken) == "<OnlineRun <i>: 312, 3 of 3 admitted, INVALID (<i>: task 1: x)>"
    assert "<i>" not in broken._repr_html_()


def test_run_runs_exactly_the_algorithms_that_are_named(tmp_path: Path) -> None:
    """As a backtest does, and as the command `run --algorithm`; `add` and `--add` run others beside the suite's."""
    found = ratiobench.run("toy", ["above:mark=70", "one"], only="toy0", out=tmp_path / "api", workers=1)
    assert list(found.rows["algorithm"]) == ["above:mark=70", "one"]
    assert "--algorithm above:mark=70 --algorithm one" in found.about["command"]
    command = ["run", "toy", "-a", "above:mark=70,one", "--only", "toy0", "--quiet"]
    assert main([*command, "--out", str(tmp_path / "cli")]) == 0
    assert (tmp_path / "cli" / "results.csv").read_text() == found.exact.to_csv(index=False, lineterminator="\n")
    assert main(["run", "toy", "-a", "one", "--rows", "first", "--out", str(tmp_path / "none")]) == 2
    assert (
        main(["run", "toy", "--add", "one,above:mark=70", "--only", "toy0", "--quiet", "--out", str(tmp_path / "add")])
        == 0
    )
    beside = ratiobench.results(tmp_path / "add")
    assert list(beside.rows["algorithm"]) == ["first", "above:mark=50", "one", "above:mark=70"]
    assert "--add one --add above:mark=70" in beside.about["command"]
    with pytest.raises(InputError, match=r"--rows: .*--add"):
        ratiobench.run("toy", "one", rows="first", out=tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_one_algorithm_may_be_a_string(tmp_path: Path) -> None:
    found = ratiobench.run("toy", add="above:mark=70", only="toy0", out=tmp_path, workers=1)
    assert list(found.rows["algorithm"]) == ["first", "above:mark=50", "one", "above:mark=70"]


def test_failures_are_rows_and_unusable_input_is_an_error(tmp_path: Path) -> None:
    """A failing algorithm does not raise; a suite, folder or case that does not exist does, in one line."""
    rows = ratiobench.run("toy-bad", out=tmp_path, workers=1).rows.set_index("algorithm")
    assert rows.loc["raises", "reason"] == "ZeroDivisionError: nothing to divide"
    for call in (
        lambda: ratiobench.run("nosuch", out=tmp_path / "new"),
        lambda: ratiobench.run("toy", only="nosuch", out=tmp_path / "new"),
        lambda: ratiobench.results(tmp_path / "new"),
        lambda: ratiobench.opt(tmp_path / "new"),
        lambda: ratiobench.opt(7),
    ):
        with pytest.raises(InputError):
            call()
    assert not (tmp_path / "new").exists()
    with pytest.raises(AttributeError, match="nosuch"):
        ratiobench.nosuch  # noqa: B018


def test_opt_and_online_take_files_and_instances(tmp_path: Path) -> None:
    """Both give the counterexample's figures; every family's files are known by their format."""
    known = ratiobench.instance(LORA)
    families()["lora"].identity(known)  # its hash is kept in it, which makes it no instance of another family
    for given in (LORA, str(LORA), known):
        assert ratiobench.opt(given).upper == 26 * ratiobench.simulate(given, "pdftsp").welfare == 312
    prior = path("thm5_T4_4tasks_strict")
    assert ratiobench.simulate(LORA, "pdftsp:prior=yesterday", prior=prior).constants[0].source == "prior"
    numbers = FAMILY.generate({"seed": 1, "size": 8, "room": 3})
    (tmp_path / "toy.json").write_text(FAMILY.dumps(numbers))
    assert ratiobench.opt(numbers, effort=2) == ratiobench.opt(tmp_path / "toy.json", effort=2)
    assert ratiobench.simulate(tmp_path / "toy.json", "first").welfare == ratiobench.simulate(numbers, "first").welfare


def test_importing_the_package_loads_nothing() -> None:
    """Neither tables nor solvers nor kernels, until they are used."""
    heavy = ("pandas", "numpy", "numba", "ratiobench.bench.running.runner")
    code = f"import sys, ratiobench; print([m for m in sys.modules if m in {heavy}])"
    assert python("-c", code).stdout == "[]\n"
    assert {"run", "opt"} <= set(dir(ratiobench))
