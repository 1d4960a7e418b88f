"""`simulate` with several algorithms: the same figures as of each alone, and of a suite's rows."""

import csv
import json
from fractions import Fraction
from pathlib import Path

import pytest

from ratiobench.bench.arguments import split_names
from ratiobench.bench.cli import main
from ratiobench.instances.lora.named import path
from tests.support.commands import json_of, printed, refused
from tests.support.toy_family import FAMILY
from tests.support.toy_runs import toy  # noqa: F401

pytestmark = pytest.mark.usefixtures("toy")
LORA = str(path("thm5_T5_3tasks"))


def lines_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """The lines of a command that does its work."""
    return printed(capsys, *arguments).splitlines()


def test_several_algorithms_stand_in_a_table_with_their_ratios(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In the order in which they were named, by one option or several; OPT as `opt` finds it with effort 1."""
    lines = lines_of(capsys, "simulate", file, "--algorithm", "one", "above:mark=50", "--algorithm", "first", "one")
    opt = lines_of(capsys, "opt", file)[0]
    assert lines[0] == opt
    assert lines[0].startswith("OPT in [")
    assert lines[1] == "  proof: enumeration, sort / none"
    assert lines[2].split() == ["algorithm", "welfare", "OPT/ALG", "profit", "admitted", "seconds", "state"]
    assert [line.split()[0] for line in lines[3:6]] == ["one", "above:mark=50", "first"]
    assert lines[4].split()[1] == "*"
    assert lines[6].startswith("* its constants are computed from the instance itself")
    alone = lines_of(capsys, "simulate", file, "--algorithm", "one")
    assert lines[3].split()[1] == alone[0].split()[2]
    assert " 1  " in lines[3]


def test_the_file_may_stand_behind_the_algorithms(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    for names in (["first"], ["first", "one"]):
        before = [" ".join(line.split()) for line in lines_of(capsys, "simulate", file, "--algorithm", *names)]
        behind = [" ".join(line.split()) for line in lines_of(capsys, "simulate", "--algorithm", *names, file)]
        assert before == behind
    assert "required: FILE" in refused(capsys, "simulate", "--algorithm", "first")


def test_names_stand_behind_one_option_with_commas_or_repeated(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same table by -a, --algorithm and --algorithms; commas inside the options of a name stay there."""
    named = ["first", "above:mark=50", "one"]
    spelt = (
        ["-a", *named],
        ["--algorithms", ",".join(named)],
        ["-a", named[0], "--algorithm", f"{named[1]},{named[2]}"],
    )
    tables = []
    for words in spelt:
        lines = lines_of(capsys, "simulate", file, *words, "--no-opt")
        tables.append([line.split()[:2] for line in lines[1:4]])
    assert tables[0] == tables[1] == tables[2]
    assert [row[0] for row in tables[0]] == named
    assert split_names("a:x=1,y=2,b,c:z=3") == ["a:x=1,y=2", "b", "c:z=3"]


def test_a_command_for_one_algorithm_refuses_two(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In either spelling; the line names both."""
    for words in (["-a", "first,one"], ["--algorithm", "first", "--algorithms", "one"]):
        assert "takes one algorithm; 2 are named: 'first', 'one'" in refused(capsys, "audit", file, *words)


def test_one_algorithm_is_told_in_full_with_its_ratio(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Money once, OPT and the ratio last; --no-opt leaves these out; its JSON is one run and a solution document."""
    lines = lines_of(capsys, "simulate", file, "--algorithm", "first")
    assert lines[-1].startswith("OPT/ALG = [")
    assert lines[-3] == lines_of(capsys, "opt", file)[0]
    assert sum("revenue" in line for line in lines) == 1
    greedy = lines_of(capsys, "simulate", LORA, "-a", "greedy", "--no-opt")
    assert sum("revenue" in line for line in greedy) == 1
    lines = lines_of(capsys, "simulate", file, "--algorithm", "first", "--no-opt")
    assert lines[0].startswith("first: welfare ")
    assert lines[1].startswith("at list prices (the bids) revenue ")
    assert "profit" in lines[1]
    assert lines[-1].startswith("arithmetic integer, ")
    assert {"welfare", "decisions", "label", "instance"} <= set(json_of(capsys, "simulate", file, "-a", "first"))


def test_json_has_every_run_with_its_exact_ratio(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same document as of each alone, and both ends of OPT; none with --no-opt."""
    document = json_of(capsys, "simulate", file, "--algorithm", "first", "one")
    for run in document["runs"]:
        alone = json_of(capsys, "simulate", file, "--algorithm", run["algorithm"])
        assert alone == {key: value for key, value in run.items() if key != "ratio"}
        for end in ("lower", "upper"):
            assert Fraction(run["ratio"][end]) == Fraction(document["opt"][end], run["welfare"])
    document = json_of(capsys, "simulate", file, "--algorithm", "first", "one", "--no-opt")
    assert document["opt"] is None
    assert [run["ratio"] for run in document["runs"]] == [None, None]


def test_without_opt_there_are_no_ratios(
    file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(FAMILY), "solve", lambda *_: pytest.fail("solved"))
    lines = lines_of(capsys, "simulate", file, "--algorithm", "first", "one", "--no-opt")
    assert lines[0].split() == ["algorithm", "welfare", "profit", "admitted", "seconds", "state"]
    assert len(lines) == 3


def test_a_certificate_gives_opt_after_it_was_verified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No solve; a changed one, or one of another instance, is refused; a verified run raises the lower end."""
    certificate = tmp_path / "c.json"
    assert main(["opt", LORA, "--certificate", str(certificate)]) == 0
    capsys.readouterr()
    monkeypatch.setattr("ratiobench.formulations.lora.solve.solve", lambda *_, **__: pytest.fail("solved"))
    command = ["simulate", LORA, "--algorithm", "greedy", "pdftsp", "--certificate"]
    lines = lines_of(capsys, *command, str(certificate))
    assert lines[0] == "OPT = 312 micro-dollars"
    assert lines[1] == "  by the certificate, verified"
    assert lines[3].split()[:3] == ["greedy", "312", "1"]
    assert lines[4].split()[:4] == ["pdftsp", "*", "12", "26"]
    # Of one algorithm, too: the ratio is what the certificate is given for.
    assert (
        "OPT/ALG" in lines_of(capsys, "simulate", LORA, "--algorithm", "greedy", "--certificate", str(certificate))[2]
    )
    document = json.loads(certificate.read_text())
    certificate.write_text(json.dumps(document | {"upper": document["upper"] - 1}))
    assert str(certificate) in refused(capsys, *command, str(certificate))


def test_an_invalid_run_has_no_ratio_and_a_failed_one_no_figure(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The rules that were broken stand below the table; what failed is a row, and status 1."""
    assert main(["simulate", file, "--algorithm", "cheats", "raises", "first"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[3].split()[0] == "cheats"
    assert lines[3].split()[2] == "-"
    assert lines[3].endswith("invalid")
    assert lines[4].split()[:5] == ["raises", "-", "-", "-", "-"]
    assert lines[4].endswith("failed: ZeroDivisionError: nothing to divide")
    assert lines[5].endswith("ok")
    assert lines[6] == "cheats:"
    assert lines[7].startswith("INVALID: room")


def test_where_no_run_is_valid_opt_is_not_computed(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no ratio, and OPT may take long: neither of one algorithm nor of several is it asked for."""
    monkeypatch.setattr(
        "ratiobench.bench.commands.simulate._Simulation._tightened", lambda *_: pytest.fail("OPT was computed")
    )
    lines = lines_of(capsys, "simulate", file, "--algorithm", "cheats")
    assert not any(line.startswith(("OPT", "  proof")) for line in lines)
    assert main(["simulate", file, "--algorithm", "cheats", "raises"]) == 1
    assert capsys.readouterr().out.splitlines()[0] == "No run is valid, so OPT was not computed."


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (["nosuch"], "nosuch"),
        (["one", "--solution", "{folder}/s.json"], "--solution: whose?"),
        (["one", "--certificate", "{folder}/none.json"], "cannot be read"),
        (["one", "--certificate", "{folder}/none.json", "--no-opt"], "not allowed with"),
        (["one", "--no-migration"], "--no-migration"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_any_run(
    more: list[str], named: str, file: str, here: Path, capsys: pytest.CaptureFixture[str], log: Path
) -> None:
    """One line, status 2, nothing printed or written."""
    words = [part.format(folder=here) for part in more]
    assert named in refused(capsys, "simulate", file, "--algorithm", "first", *words)
    assert not log.exists()
    assert not (here / "s.json").exists()


def test_without_migration_all_stay_on_one_node(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(capsys, "simulate", LORA, "--algorithm", "greedy", "eft", "--no-migration")
    assert lines[0].startswith("OPT without migration = ")


def test_anyones_own_algorithm_is_not_said_to_have_an_unknown_arithmetic(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "nothing.py").write_text(
        "class Nothing:\n"
        "    def start(self, public, constants):\n        pass\n"
        "    def decide(self, task, view):\n        return None\n"
        "class Needs:\n"
        "    def __init__(self, options):\n        pass\n"
    )
    last = lines_of(capsys, "simulate", LORA, "--algorithm", "nothing:Nothing", "--no-opt")[-1]
    assert last.endswith(" s from the start of the algorithm to its last decision")
    assert "arithmetic" not in last
    for name, problem in (
        ("nothing:Nothing:margin=2", "it takes no options (margin): leave them out, or write `def __init__(self"),
        ("nothing:Nothing:margin=", "'margin=' is not key=value: an option needs a value behind `=`"),
        ("nothing:Needs", "without options behind its name it is built without arguments"),
    ):
        assert problem in refused(capsys, "simulate", LORA, "--algorithm", name)


def test_the_table_and_the_checks_are_written_as_csv(
    tmp_path: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row per algorithm, or check, with exact figures; of one algorithm, too; refused before any work."""
    table, checks = tmp_path / "t.csv", tmp_path / "c.csv"
    assert main(["simulate", LORA, "-a", "greedy,pdftsp", "--csv", str(table)]) == 0
    with table.open() as lines:
        rows = list(csv.DictReader(lines))
    assert [(row["algorithm"], row["welfare"], row["ratio_upper"]) for row in rows] == [
        ("greedy", "312", "1"), ("pdftsp", "12", "26"),
    ]  # fmt: skip
    assert main(["audit", LORA, "-a", "pdftsp", "--csv", str(checks)]) == 0
    with checks.open() as lines:
        found = {row["name"]: row for row in csv.DictReader(lines)}
    assert (found["theorem5"]["status"], found["theorem5"]["right"]) == ("violated", "49/2")
    printed_line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("theorem5: "))
    assert "26 > 49/2" in printed_line
    assert refused(capsys, "simulate", file, "-a", "first", "--csv", str(tmp_path / "no" / "x.csv"))
