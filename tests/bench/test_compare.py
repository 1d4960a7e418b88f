"""Two result folders side by side: exact differences are named, seconds only beyond noise."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.family.registry import find_suite
from ratiobench.bench.report.folders import compare, compare_pace
from ratiobench.bench.running.runner import RunOptions, run_suite
from ratiobench.bench.storage.store import Store
from tests.support.commands import refused
from tests.support.toy_family import ToyFamily
from tests.support.toy_runs import toy  # noqa: F401

pytestmark = pytest.mark.usefixtures("toy")


def made(out: Path, **options: object) -> Path:
    """A folder of results of the toy suite."""
    run_suite(*find_suite("toy"), RunOptions(out=out, workers=1, quiet=True, **options))  # type: ignore[arg-type]
    return out


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RATIOBENCH_FAMILIES", ToyFamily.__module__)
        from ratiobench.bench.family.registry import families

        families.cache_clear()
        folder = made(tmp_path_factory.mktemp("compare") / "whole")
        families.cache_clear()
    return folder


def copy(whole: Path, folder: Path) -> Path:
    folder.mkdir()
    (folder / "results.sqlite").write_bytes((whole / "results.sqlite").read_bytes())
    return folder


def test_equal_results_do_not_differ(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another run of the same suite: seconds are others, nothing else is; status 0."""
    again = made(tmp_path / "again")
    assert main(["compare", str(whole), str(again)]) == 0
    text = capsys.readouterr().out
    assert "14 rows: 0 differ, 0 in one folder only." in text
    assert "unlike" not in text
    found = compare(whole, again)
    assert all(row["a"]["welfare"] == row["b"]["welfare"] for row in found.rows)


def test_every_exact_figure_that_differs_is_named(whole: Path, tmp_path: Path) -> None:
    """A welfare, an end of OPT, a verdict and a failure, each in its row and in no other."""
    other = copy(whole, tmp_path / "other")
    with Store.open(other / "results.sqlite") as store:
        cases = {case.name: case for case in store.cases()}

        def change(stage: str, case: str, key: str, **payload: object) -> None:
            piece = store.get(stage, cases[case].instance, key)
            assert piece is not None
            ok = bool(payload.pop("ok", True))
            store.put(replace(piece, ok=ok, payload={**piece.payload, **payload}))

        change("online", "toy1", "one v1", welfare=1, accounts={"vendors": 0, "energy": 0, "bids": 1})
        change("online", "toy2", "one v1", ok=False, reason="lost")
        change("opt", "toy3", cases["toy3"].solve_key, upper=10**6)
        audit = store.get("audit", cases["toy2"].instance, cases["toy2"].audit_key("first v1"))
        assert audit is not None
        change("audit", "toy2", audit.key, checks=[{**audit.payload["checks"][0], "status": "undecided"}])
    differs = {(row["case"], row["algorithm"]): row["differs"] for row in compare(whole, other).rows if row["differs"]}
    assert differs == {
        ("toy1", "one"): ["welfare"],
        ("toy2", "one"): ["state", "welfare", "true_welfare", "admitted", "constants"],
        ("toy2", "first"): ["half"],
        ("toy3", "first"): ["opt_upper"],
        ("toy3", "above:mark=50"): ["opt_upper"],
        ("toy3", "one"): ["opt_upper"],
    }


def test_intervals_on_one_opt_that_do_not_meet_are_a_contradiction(whole: Path, tmp_path: Path) -> None:
    """Both ends were proved, so one proof is wrong: that is said."""
    other = copy(whole, tmp_path / "other")
    with Store.open(other / "results.sqlite") as store:
        case = next(case for case in store.cases() if case.name == "toy1")
        piece = store.get("opt", case.instance, case.solve_key)
        assert piece is not None
        far = {"lower": piece.payload["upper"] + 1, "upper": piece.payload["upper"] + 2}
        store.put(replace(piece, payload={**piece.payload, **far}))
    for row in compare(whole, other).rows:
        assert ("OPT contradiction" in row["differs"]) == (row["case"] == "toy1")


def test_rows_of_one_folder_and_what_the_runs_had_different_are_named(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another algorithm, fewer cases, another effort, a new version, another machine."""
    other = made(tmp_path / "other", only=("toy[01]",), add=("above:mark=70",), effort=2)
    with Store.open(other / "results.sqlite") as store:
        about = store.about()
        about["provenance"]["machine"]["processor"] = "abacus"
        store.begin(about, [case.name for case in store.cases()])
        for position, case in enumerate(store.cases()):
            store.put_case(
                position, replace(case, algorithms=[(n, k.replace("one v1", "one v2")) for n, k in case.algorithms])
            )
    file = tmp_path / "rows.csv"
    assert main(["compare", str(whole), str(other), "--json", "--csv", str(file)]) == 0
    document = json.loads(capsys.readouterr().out)
    unlike = {each["what"]: (each["a"], each["b"]) for each in document["unlike"]}
    assert unlike["effort"] == ("1", "2")
    assert unlike["only"] == ("-", "toy[01]")
    assert unlike["processor"][1] == "abacus"
    assert unlike["version of one"] == ("one v1", "one v2")
    assert set(unlike) == {"effort", "only", "processor", "version of one", "version of OPT"}
    differs = {(row["case"], row["algorithm"]): row["differs"] for row in document["rows"]}
    assert differs["toy2", "first"] == ["only A"]
    assert differs["toy1", "above:mark=70"] == ["only B"]
    assert differs["toy1", "first"] == []
    lines = list(csv.DictReader(file.open()))
    assert len(lines) == len(document["rows"]) == 16
    [line] = [line for line in lines if (line["case"], line["algorithm"]) == ("toy0", "first")]
    assert (line["differs"], line["opt_upper_a"]) == ("opt_upper", str(int(line["opt_upper_b"]) + 1))
    assert main(["compare", str(whole), str(other)]) == 0
    text = capsys.readouterr().out
    assert "only in A: 3 cases (8 rows)\nonly in B: 1 algorithm in cases of both (2 rows)\n  (--names" in text
    assert "toy2" not in text
    assert "abacus" in text
    assert main(["compare", str(whole), str(other), "--names"]) == 0
    text = capsys.readouterr().out
    assert "only in A: 3 cases (8 rows): toy2, toy3, twin\n" in text
    assert "only in B: 1 algorithm in cases of both (2 rows): above:mark=70\n" in text


def test_seconds_differ_beyond_noise_only_where_the_sign_test_says_so() -> None:
    """The interval has exactly the order statistics of the sign test, and needs six pairs."""
    assert not compare_pace([1.5] * 5)["beyond_noise"]
    six = compare_pace([1.2, 1.3, 1.1, 1.5, 1.06, 4.0])
    assert (six["low"], six["high"]) == (1.06, 4.0)
    assert six["beyond_noise"]
    assert compare_pace([1 / ratio for ratio in (1.2, 1.3, 1.1, 1.5, 1.06, 4.0)])["beyond_noise"]
    # Surely slower, by less than anybody cares about.
    assert not compare_pace([1.04] * 30)["beyond_noise"]
    assert not compare_pace([1.2, 1.3, 1.1, 1.5, 0.99, 4.0])["beyond_noise"]
    # 20 pairs: the 6th smallest and largest, as in every table of the sign test.
    twenty = compare_pace([float(i) for i in range(1, 21)])
    assert (twenty["low"], twenty["high"]) == (6.0, 15.0)


def test_stages_are_timed_over_the_cases_of_both(whole: Path, tmp_path: Path) -> None:
    """Three times slower in every case is found; what was measured once and shared, or is all timer, is left out."""
    first, other = copy(whole, tmp_path / "first"), copy(whole, tmp_path / "other")
    for folder, factor in ((first, 1.0), (other, 3.0)):
        with Store.open(folder / "results.sqlite") as store:
            store.connection.execute("UPDATE pieces SET seconds = 0.5 WHERE stage = 'audit'")
            store.connection.execute("UPDATE pieces SET seconds = ? WHERE stage = 'online'", (0.1 * factor,))
            store.connection.execute("UPDATE pieces SET seconds = ? WHERE stage = 'opt'", (0.0001 * factor,))
            store.connection.execute("UPDATE pieces SET seconds = 0.7 WHERE stage = 'generate'")
    paces = {(pace["stage"], pace["algorithm"]): pace for pace in compare(first, other).seconds}
    assert set(paces) == {("online", "first"), ("online", "above:mark=50"), ("online", "one")}
    assert paces["online", "first"]["pairs"] == 5
    assert paces["online", "first"]["median"] == pytest.approx(3.0)


def test_a_folder_without_results_is_one_line(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.csv"
    line = refused(capsys, "compare", str(whole), str(tmp_path / "none"), "--csv", str(file))
    assert "there is no result store here" in line
    assert not file.exists()


def test_a_part_beside_the_whole_is_listed_without_the_rest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """117 rows that one folder alone has are counted; the three of both are in the table, all in the CSV file."""
    for name, only in (("all", ()), ("part", ("many 7",))):
        run_suite(*find_suite("toy-many"), RunOptions(out=tmp_path / name, workers=1, quiet=True, only=only))
    out = tmp_path / "rows.csv"
    assert main(["compare", str(tmp_path / "all"), str(tmp_path / "part"), "--csv", str(out)]) == 0
    text = capsys.readouterr().out
    assert "120 rows: 0 differ, 117 in one folder only." in text
    assert "only in A: 39 cases (117 rows)\n" in text
    assert sum(line.startswith("  many 7 ") for line in text.splitlines()) == 3
    assert "many 8" not in text
    assert len(out.read_text().splitlines()) == 121
