"""The commands as functions: the same numbers, from scripts that need no main guard; tables as Parquet."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

import bench
from bench.cli.main import main
from bench.family.known import families
from bench.storage.store import Store
from bench.tables.frames import typed
from bench.tables.rows import COLUMNS, is_known, read_results
from instances.errors import InputError
from instances.lora.named import path
from tests.support.toy_family import FAMILY, toy  # noqa: F401

pytestmark = pytest.mark.usefixtures("toy")
ROOT = Path(__file__).resolve().parents[2]
LORA = path("thm5_T5_3tasks")
SCRIPT = """
import bench
found = bench.run("toy", only="toy[01]", algorithms=["above:mark=70"], out="out", workers=2)
print(len(found.rows), found.exact["welfare"].sum(), set(found.rows["state"]))
"""


@pytest.mark.parametrize("how", ["-c", "stdin", "file"])
def test_a_script_needs_no_main_guard(how: str, tmp_path: Path) -> None:
    """From the command line, from standard input as notebooks run, and from a file without a guard."""
    (tmp_path / "script.py").write_text(SCRIPT)
    command = {"-c": ["-c", SCRIPT], "stdin": [], "file": ["script.py"]}[how]
    done = subprocess.run(
        [sys.executable, *command],
        input=SCRIPT if how == "stdin" else None,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    instances = [FAMILY.generate({"seed": seed, "size": 8, "room": 3}) for seed in (0, 1)]
    names = ("first", "above:mark=50", "one", "above:mark=70")
    welfare = sum(FAMILY.run(instance, name).welfare for instance in instances for name in names)
    assert (done.stdout, done.stderr) == (f"8 {welfare} {{'ok'}}\n", "")


def test_run_gives_the_tables_of_the_command(tmp_path: Path) -> None:
    """Rows with the documented columns, and in exact figures; `results` reads them again; seconds by stage."""
    found = bench.run("toy", algorithms=["above:mark=70"], out=tmp_path / "api", workers=1)
    assert list(found.rows.columns[: len(COLUMNS)]) == list(COLUMNS)
    assert all(isinstance(value, Fraction) for value in found.exact["ratio_upper"])
    assert set(found.seconds["stage"]) == {"generate", "opt", "online", "deciding", "audit"}
    again = bench.results(tmp_path / "api")
    pd.testing.assert_frame_equal(found.rows, again.rows)
    pd.testing.assert_frame_equal(found.exact, again.exact)
    assert main(["run", "toy", "--algorithm", "above:mark=70", "--out", str(tmp_path / "cli"), "--quiet"]) == 0
    assert (tmp_path / "cli" / "results.csv").read_text() == found.exact.to_csv(index=False, lineterminator="\n")


def test_rows_have_one_type_per_column_and_exact_has_the_fractions(tmp_path: Path) -> None:
    """Floats are the nearest to the exact figures, row by row; what is missing is missing in both; none is `object`."""
    found = bench.run("toy-bad", out=tmp_path, workers=1)
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
            if not is_known(truth):
                assert pd.isna(told), name
            elif kind == "float64":
                assert told == float(Fraction(truth)), name
            else:
                assert told == truth, name
    assert rows["welfare"].mean() == pytest.approx(float(sum(exact["welfare"].dropna()) / rows["welfare"].count()))
    assert {str(kind) for kind in found.seconds.dtypes} == {"string", "float64"}
    # The types do not depend on what has been run.
    with Store.open(tmp_path / "none.sqlite") as store:
        empty = read_results(store)
    assert {str(kind) for kind in typed(empty).dtypes} == {"float64", "Int64", "boolean", "category", "string"}


def test_one_algorithm_may_be_a_string(tmp_path: Path) -> None:
    """Not a list of its letters."""
    found = bench.run("toy", "above:mark=70", only="toy0", out=tmp_path, workers=1)
    assert list(found.rows["algorithm"]) == ["first", "above:mark=50", "one", "above:mark=70"]


def test_failures_are_rows_and_unusable_input_is_an_error(tmp_path: Path) -> None:
    """A failing algorithm does not raise; a suite, folder or case that does not exist does, in one line."""
    rows = bench.run("toy-bad", out=tmp_path, workers=1).rows.set_index("algorithm")
    assert rows.loc["raises", "reason"] == "ZeroDivisionError: nothing to divide"
    for call in (
        lambda: bench.run("nosuch", out=tmp_path / "new"),
        lambda: bench.run("toy", only="nosuch", out=tmp_path / "new"),
        lambda: bench.results(tmp_path / "new"),
        lambda: bench.opt(tmp_path / "new"),
        lambda: bench.opt(7),
    ):
        with pytest.raises(InputError):
            call()
    assert not (tmp_path / "new").exists()
    with pytest.raises(AttributeError, match="nosuch"):
        bench.nosuch  # noqa: B018


def test_opt_and_online_take_files_and_instances(tmp_path: Path) -> None:
    """Both give the counterexample's figures; every family's files are known by their format."""
    known = bench.instance(LORA)
    families()["lora"].identity(known)  # its hash is kept in it, which makes it no instance of another family
    for given in (LORA, str(LORA), known):
        assert bench.opt(given).upper == 26 * bench.online(given, "pdftsp").welfare == 312
    prior = path("thm5_T4_4tasks_strict")
    assert bench.online(LORA, "pdftsp:prior=yesterday", prior=prior).constants[0].source == "prior"
    numbers = FAMILY.generate({"seed": 1, "size": 8, "room": 3})
    (tmp_path / "toy.json").write_text(FAMILY.dumps(numbers))
    assert bench.opt(numbers, effort=2) == bench.opt(tmp_path / "toy.json", effort=2)
    assert bench.online(tmp_path / "toy.json", "first").welfare == bench.online(numbers, "first").welfare


def test_importing_bench_loads_nothing() -> None:
    """Neither tables nor solvers nor kernels, until they are used."""
    heavy = ("pandas", "numpy", "numba", "bench.running.runner")
    code = f"import sys, bench; print([m for m in sys.modules if m in {heavy}])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert {"run", "opt"} <= set(dir(bench))


def test_parquet_holds_what_the_csv_holds(tmp_path: Path) -> None:
    """Text for text, exact fractions included; floats are floats."""
    pytest.importorskip("pyarrow")
    assert main(["run", "toy-bad", "--out", str(tmp_path), "--quiet"]) == 1
    assert main(["report", str(tmp_path), "--parquet"]) == 1
    stored = pd.read_parquet(tmp_path / "results.parquet")
    assert str(stored["ratio_lower_float"].dtype).lower() == "float64"
    written = pd.read_csv(tmp_path / "results.csv", dtype=str, keep_default_na=False)
    assert list(stored.columns) == list(written.columns)
    for name in written:
        if not COLUMNS.get(str(name), "").startswith("float:"):
            told = ["" if pd.isna(value) else str(value) for value in stored[name]]
            assert told == list(written[name]), name
    floats = [float(value) for value in written["reached_float"] if value]
    assert list(stored["reached_float"].dropna()) == floats


def test_without_pyarrow_parquet_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The missing package is named, status 2, before anything is written."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["report", str(tmp_path), "--parquet"]) == 2
    assert "`pyarrow`, which is not installed: " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
