"""Backtests: what is judged, what was known, what is said of it, what is resumed; one line for what cannot be used."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import ratiobench
from ratiobench.bench.cli.main import main
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.options import split_names
from ratiobench.bench.report.backtest.advice import advise
from ratiobench.bench.report.backtest.data import Backtest, Policy, compare
from ratiobench.bench.report.shared.text import align_columns
from ratiobench.bench.results.intervals import sign_test
from ratiobench.bench.running.backtest import find_days, list_doubts, make_backtest, order_of
from ratiobench.bench.storage.store import STORE, Store
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.lora.example import example
from ratiobench.instances.lora.format import dumps, read, write
from ratiobench.online.lora.run import run
from ratiobench.online.outcome import Source

MINE = """
class Nobody:
    def start(self, public, constants):
        pass

    def decide(self, task, view):
        return None
"""
CLUSTER = "usd_per_kwh = 0.1\n[[node]]\nname = 'a'\ncount = 1\ngpus = 4\nmemory_gb = 16\nwatts = 300\n"
WORDS = ["--algorithms", "greedy,pdftsp,eft,mine:Nobody", "--workers", "1", "--quiet"]
KEEP = ("case", "algorithm", "welfare", "constants", "constants_source", "opt_lower", "opt_upper")


def log() -> str:
    """Four days with eight jobs each, some for the same hours of a small node."""
    rows = ["submit,duration,gpus,bid"]
    for day in range(4):
        for job in range(8):
            submit = f"2026-03-0{day + 1}T{8 + job // 3:02d}:{10 * (job % 3):02d}:00"
            rows.append(f"{submit},{3600 * (1 + (job + day) % 4)},{1 + job % 4},{3 + (5 * job + 3 * day) % 11}")
    return "\n".join(rows) + "\n"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with imported days, an algorithm of one's own, and a backtest of both."""
    folder = tmp_path_factory.mktemp("load")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(str(folder))
        Path("log.csv").write_text(log())
        Path("cluster.toml").write_text(CLUSTER)
        Path("mine.py").write_text(MINE)
        words = ["import", "log.csv", "--format", "csv", "--cluster", "cluster.toml", "--slot", "1h", "--run", "any"]
        assert main([*words, "--out", "days"]) == 0
        assert main(["backtest", "days", *WORDS, "--out", "out"]) == 0
    return folder


@pytest.fixture
def inside(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That folder as the current one."""
    monkeypatch.chdir(here)
    monkeypatch.syspath_prepend(str(here))
    return here


def rows(out: str) -> pd.DataFrame:
    return pd.read_csv(Path(out) / "results.csv", dtype=str, keep_default_na=False)


def test_the_first_day_is_history_and_constants_are_of_the_day_before(inside: Path) -> None:
    """The row says so, and each is what the algorithm takes from that very file."""
    found = rows("out")
    days = [f"log-2026-03-0{day}" for day in range(1, 5)]
    assert list(dict.fromkeys(found["case"])) == days[1:]
    informed = found[found["algorithm"] == "pdftsp:prior=history"]
    assert set(informed["constants_source"]) == {"history"}
    assert set(found[found["algorithm"] == "greedy"]["constants_source"]) == {"none"}
    for before, row in zip(days, informed.to_dict("records"), strict=False):
        known = run(read(f"days/{row['case']}.json.gz"), f"pdftsp:prior=days/{before}.json.gz")
        constants = json.loads(row["constants"])
        assert {each["name"]: each["value"] for each in constants} == {c.name: str(c.value) for c in known.constants}
        assert all(each["detail"].startswith(before) for each in constants)
        assert Fraction(row["welfare"]) == known.welfare


@pytest.mark.parametrize("history", ["1", "2"])
def test_days_may_be_recipes_of_a_file(inside: Path, tmp_path: Path, history: str) -> None:
    """In the order of the file; the same table as that of the folder, joined days of history included."""
    days = sorted(Path("days").glob("log-*.json.gz"))
    parts = [f"[[instance]]\nrecipe = 'file'\nname = '{day.name[:-8]}'\npath = '{day.resolve()}'\n" for day in days]
    (tmp_path / "my.toml").write_text("algorithms = ['greedy']\n" + "".join(parts))
    words = ["--algorithms", "greedy,pdftsp", "--workers", "1", "--quiet", "--history", history]
    for source, out in (("days", "a"), (str(tmp_path / "my.toml"), "b")):
        assert main(["backtest", source, *words, "--out", str(tmp_path / out)]) == 0
    one, other = (rows(str(tmp_path / out)) for out in "ab")
    assert len(one) == 2 * (len(days) - int(history))
    assert one[list(KEEP)].equals(other[list(KEEP)])


def test_without_audits_nothing_is_said_to_have_been_checked(inside: Path, tmp_path: Path) -> None:
    words = ["backtest", "days", "-a", "greedy,pdftsp", "--workers", "1", "--quiet"]
    assert main([*words, "--audits", "--out", str(tmp_path / "a")]) == 0
    assert main([*words, "--out", str(tmp_path / "b")]) == 0
    one, other = (rows(str(tmp_path / out)) for out in "ab")
    assert one[list(KEEP)].equals(other[list(KEEP)])
    assert "theorem5" in one
    assert "theorem5" not in other or not other["theorem5"].notna().any()
    pages = [(tmp_path / out / "backtest.html").read_text(encoding="utf-8") for out in "ab"]
    assert ["not checked" in page for page in pages] == [False, True]


def pieces(greedy: bool) -> list[Any]:
    """What is stored of the runs of `greedy`, or of all other pieces."""
    query = "SELECT * FROM pieces WHERE stage != 'generate' AND (key LIKE '%greedy version%') = ? ORDER BY 1, 2, 3"
    with Store.open(Path("out") / STORE) as store:
        return store.connection.execute(query, (greedy,)).fetchall()


def test_a_second_run_finds_everything_and_report_makes_the_same_page(
    inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is made twice but what lacks its story; `report DIR` needs neither days nor algorithms."""
    table, page = Path("out/results.csv").read_bytes(), Path("out/backtest.html").read_text()
    others, greedy = pieces(False), [row[:3] for row in pieces(True)]
    assert len(greedy) == 9
    with Store.open(Path("out") / STORE) as store:
        store.connection.execute("DELETE FROM pieces WHERE stage = 'study' AND key LIKE 'timeline greedy%'")
    assert len(pieces(True)) == 6
    assert main(["backtest", "days", *WORDS, "--out", "out"]) == 0
    assert pieces(False) == others
    assert [row[:3] for row in pieces(True)] == greedy
    capsys.readouterr()
    assert main(["report", "out"]) == 0
    assert Path("out/results.csv").read_bytes() == table
    # Behind the tables stands the machine, whose free memory changes; seconds are those of another run of `greedy`.
    ends = [text.partition('<table class="sortable">')[0] for text in (Path("out/backtest.html").read_text(), page)]
    assert ends[0] == ends[1]
    said = capsys.readouterr().out
    assert "Policy " in said
    assert "backtest.html" in said
    assert "mine:Nobody" in said


def test_tables_fit_a_terminal(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """120 columns; nothing of a cell is lost, and the page has it whole."""
    assert main(["report", "out"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines[: lines.index(next(line for line in lines if line.startswith("Seconds of")))])) <= 120
    long = "one two three four five six seven eight nine ten eleven twelve"
    cut = align_columns(
        [{"Policy": "a:b=c", "Guarantee": long, "days": "3"}, {"Policy": "d", "Guarantee": "-", "days": "14"}], width=41
    )
    assert cut.splitlines() == [
        "Policy  Guarantee                    days",
        "a:b=c   one two three four five six     3",
        "        seven eight nine ten eleven",
        "        twelve",
        "d       -                              14",
    ]  # fmt: skip


def test_the_page_has_the_answer_and_the_pictures(inside: Path) -> None:
    """A recommendation, dollars, classes, OPT day by day, charts; nothing of it needs a script."""
    page = Path("out/backtest.html").read_text()
    for words in (
        "cannot be distinguished", "In hindsight", "No list price is known", "Assumptions",
        "share of a node", "time at its fastest",
        "Load under", "Price of compute", "Outcome of the arrivals", "too dear", "Theorem G", "history",
        "OPT, at most", "log-2026-03-01 is history alone", 'href="report.html"',
    ):  # fmt: skip
        assert words in page, words
    assert page.count("<svg ") >= 4 + 4 * 2
    assert "report.html" in {path.name for path in Path("out").iterdir()}


def test_a_notebook_has_it_too(inside: Path, tmp_path: Path) -> None:
    """With a class of a cell that needs a constant: it is of the day before."""

    class Cautious:
        constants = ("alpha",)

        def start(self, public: Any, constants: Any) -> None:
            self.alpha = constants["alpha"]

        def decide(self, task: Any, view: Any) -> None:
            return None

    found = ratiobench.backtest("days", [Cautious, "eft"], tmp_path / "out", history=2, workers=1)
    assert list(found.exact["algorithm"][:2]) == ["own:Cautious:prior=history", "eft"]
    assert list(found.exact["constants_source"][:2]) == ["history", "none"]
    assert found.advice[0].startswith("Recommended: eft, with welfare ")
    assert found.advice[1].startswith("eft and own:Cautious:prior=history cannot be distinguished on these 2 days.")
    assert ratiobench.results(tmp_path / "out").advice == found.advice
    with pytest.raises(ratiobench.InputError, match="history"):
        ratiobench.backtest("days", history=0)


def test_more_history_is_one_longer_instance(inside: Path, tmp_path: Path) -> None:
    """A constant that is a largest one over tasks is the largest of both days'; one day fewer is judged."""
    words = ["--algorithms", "pdftsp", "--history", "2", "--workers", "1", "--quiet", "--out", str(tmp_path / "two")]
    assert main(["backtest", "days", *words]) == 0
    found = rows(str(tmp_path / "two"))
    assert list(found["case"]) == ["log-2026-03-03", "log-2026-03-04"]
    first = {each["name"]: Fraction(each["value"]) for each in json.loads(found["constants"][0])}
    day = read("days/log-2026-03-03.json.gz")
    each = [run(day, f"pdftsp:prior=days/log-2026-03-0{n}.json.gz").constants for n in (1, 2)]
    assert first == {a.name: max(a.value, b.value) for a, b in zip(*each, strict=True)}
    assert "log-2026-03-01 to log-2026-03-02" in found["constants"][0]


def test_who_learns_has_all_days_before_it(inside: Path, tmp_path: Path) -> None:
    """Others have as many as --history says; each decides as if it had been given those files."""
    words = ["--algorithms", "pdftsp,learned", "--workers", "1", "--quiet", "--out", str(tmp_path / "all")]
    assert main(["backtest", "days", *words]) == 0
    found = rows(str(tmp_path / "all"))
    last = found[found["case"] == "log-2026-03-04"].set_index("algorithm")
    assert list(last.index) == ["pdftsp:prior=history", "learned:prior=earlier"]
    before = [f"days/log-2026-03-0{n}.json.gz" for n in (1, 2, 3)]
    day = read("days/log-2026-03-04.json.gz")
    assert int(last["welfare"]["learned:prior=earlier"]) == run(day, f"learned:history={';'.join(before)}").welfare
    assert int(last["welfare"]["pdftsp:prior=history"]) == run(day, f"pdftsp:prior={before[2]}").welfare


def test_a_history_of_the_past_may_be_named(inside: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file from before all judged days, or the folder of the days; a file without a date is doubted."""
    first = "days/log-2026-03-01.json.gz"
    write(replace(read(first), origin={}), tmp_path / "plain.json")
    named = {"learned:history=days": "", f"learned:history={first}": "", f"eris:prior={first}": ""}
    named |= {f"{each}={tmp_path / 'plain.json'}": "undated" for each in ("learned:history", "eris:prior")}
    words = ["--algorithms", ",".join(["learned", *named]), "--workers", "1", "--out", str(tmp_path / "out")]
    assert main(["backtest", "days", *words]) == 0
    told = capsys.readouterr().err
    page = (tmp_path / "out/backtest.html").read_text(encoding="utf-8")
    for name, state in named.items():
        doubt = f"which {shorten(name)} uses, is from before the judged days"
        assert (doubt in " ".join(told.split())) == (state == "undated")
    assert page.count("its results may rest on information of these days") >= 2
    found = rows(str(tmp_path / "out"))
    welfare = {name: list(each["welfare"]) for name, each in found.groupby("algorithm")}
    assert welfare["learned:history=days"] == welfare["learned:prior=earlier"]
    assert welfare[f"learned:history={first}"] == welfare[f"learned:history={tmp_path / 'plain.json'}"]
    labels = dict(zip(found["algorithm"], found["label"], strict=True))
    assert [name for name in labels if "(history without dates)" in labels[name]] == [
        f"learned:history={tmp_path / 'plain.json'}"
    ]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            ["days", "--algorithms", "eris:prior=days/log-2026-03-03.json.gz"],
            "days/log-2026-03-03.json.gz: eris:prior: begins on 2026-03-03 00:00, not before the instance under test",
        ),
        (
            ["days", "--algorithms", "greedy,learned:guard=9,history=days/log-2026-03-04.json.gz"],
            "days/log-2026-03-04.json.gz: learned:history: begins on 2026-03-04 00:00, not before",
        ),
        (
            ["days", "--add", "learned:history=days/log-2026-03-02.json.gz"],
            "days/log-2026-03-02.json.gz: learned:history: is the instance under test, 'log-2026-03-02'",
        ),
        (["days", "--algorithms", "greedy,learned:history=other/a.json"], "other/a.json: learned:history: slots: "),
        (["days", "--algorithms", "greedy,pdftsp:prior=other/a.json"], "other/a.json: pdftsp:prior: slots: "),
        (
            ["days", "--algorithms", "learned:history=days/log-2026-03-01.json.gz;copy/a.json.gz"],
            "copy/a.json.gz: learned:history: is the same day as 'days/log-2026-03-01.json.gz', which would",
        ),
        (
            ["days", "-a", "learned:history=days/log-2026-03-01.json.gz", "--what-if", "nodes=+1"],
            "leave `history=days/log-2026-03-01.json.gz` out",
        ),
        (["days", "--algorithms", "learned:history=yesterday"], "leave `history=yesterday` out"),
        (["nowhere"], "nowhere: is no folder and no .toml"),
        (["empty"], "no instance file"),
        (["one"], "--history: 1 day in one: with --history 1 at least 2 are needed"),
        (["days", "--history", "9"], "at least 10 are needed"),
        (["days", "--history", "0"], "0"),
        (["days", "--algorithms", "gredy"], "gredy"),
        (["days", "--algorithms", ","], "none is named"),
        (["days", "--algorithms", "pdftsp:prior=yesterday"], "leave `prior=yesterday` out"),
        (["days", "--algorithms", "mine:Someone"], "Someone"),
        (["broken"], "broken/b.json"),
        (["mixed"], "mixed/b.json"),
        (["twice"], "is there twice"),
    ],
)
def test_what_cannot_be_used_is_one_line(
    inside: Path, words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from ratiobench.instances.eapm.named import names, path
    from ratiobench.instances.lora.named import named

    day = Path("days/log-2026-03-01.json.gz").read_bytes()
    other = Path(path(names()[0])).read_bytes()
    for folder, files in {
        "empty": {"import.json": b"{}"},
        "one": {"a.json.gz": day},
        "copy": {"a.json.gz": day},
        "other": {"a.json": dumps(named("tiny_two_types")).encode()},
        "broken": {"a.json.gz": day, "b.json": b'{"format": "ratiobench/lora/1"}'},
        "mixed": {"a.json.gz": day, "b.json": other},
        "twice": {"a.json.gz": day, "a.json": b"%s" % other},
    }.items():
        Path(folder).mkdir(exist_ok=True)
        for name, data in files.items():
            (Path(folder) / name).write_bytes(data)
    if words == ["twice"]:
        Path("twice/a.json").write_bytes(day)  # it is gzip under another name, which is read all the same
    try:
        status = main(["backtest", *words, "--out", "never", "--quiet"])
    except SystemExit as error:
        status = int(str(error.code))
    assert status == 2
    said = capsys.readouterr().err
    assert problem in said
    assert said.count("\n") == 1
    assert not Path("never").exists()


def test_days_stand_in_the_order_of_their_numbers(inside: Path, tmp_path: Path) -> None:
    """10 comes after 9, and what `import` says of them is no day."""
    data = Path("days/log-2026-03-01.json.gz").read_bytes()
    for name in ("run10.json.gz", "run9.json.gz", "run1.json.gz"):
        (tmp_path / name).write_bytes(data)
    (tmp_path / "import.json").write_text("{}")
    family, days = find_days(tmp_path)
    assert family.name == "lora"
    assert [day.name for day in days] == ["run1", "run9", "run10"]


def test_policies_are_added_to_those_named_and_to_the_default_ones(inside: Path) -> None:
    """Each once, behind the others; the command of the suite has both lists."""
    family, days = find_days(Path("days"))
    suite = make_backtest(family, days, ["greedy"], 1, "DIR", add=["eft", "greedy"])
    assert {case.algorithms for case in suite.cases} == {("greedy", "eft")}
    assert suite.command[:6] == ("backtest", "DIR", "--algorithms", "greedy", "--add", "eft,greedy")
    usual = {case.algorithms for case in make_backtest(family, days, [], 1).cases}
    added = {case.algorithms for case in make_backtest(family, days, [], 1, add=["queue:order=edf"]).cases}
    assert added == {(*each, "queue:order=edf") for each in usual}


def test_days_that_may_be_none_of_one_load_are_doubted_in_a_line(
    inside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Days that do not come one after another, other nodes; what was taken as their order is said in any case."""
    names = [f"log-2026-03-0{day}" for day in (3, 1, 2)]
    for place, name in enumerate(names):
        (tmp_path / f"{place}.json.gz").write_bytes(Path(f"days/{name}.json.gz").read_bytes())
    order = order_of(tmp_path)
    family, days = find_days(tmp_path)
    assert [day.began for day in days] == [f"2026-03-0{day}T00:00:00" for day in (3, 1, 2)]
    [doubt] = list_doubts(days, order)
    assert doubt == (
        "in the order of their file names '1' (2026-03-01) does not begin after '0' (2026-03-03): "
        "what is known of a day is then not from the days before it"
    )
    suite = make_backtest(family, days, ["greedy"], 1, "DIR", order)
    assert suite.notes == ("3 days in the order of their file names: 0 to 2", doubt)
    assert suite.summary.endswith(f". But {doubt}")
    assert list_doubts(sorted(days, key=lambda day: day.began), order) == []
    grid = "[[instance]]\nrecipe = 'day'\ntasks = 4\nslots = 12\nstart = 60\nnodes = [1, 2, 3]\n"
    monkeypatch.chdir(tmp_path)
    Path("my.toml").write_text(grid)
    assert main(["backtest", "my.toml", "--algorithms", "greedy", "--workers", "1", "--out", "out"]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("ratiobench: ")]
    assert told[0] == "ratiobench: 3 days in the order of the file: nodes 1 to nodes 3"
    assert told[1].startswith(
        "ratiobench: in the order of the file 'nodes 2' (2017-10-09) does not begin after 'nodes 1'"
    )
    assert told[2].startswith("ratiobench: 'nodes 2' has other nodes (1 x a100 of ")
    assert "and 1 more have other ones: a backtest is about days of one cluster" in told[2]
    assert "a backtest is about days of one cluster" in Path("out/backtest.html").read_text()


def test_instances_in_memory_are_days_too(inside: Path, tmp_path: Path) -> None:
    """As a list, by their own names, or as a dictionary, by its keys; the table is that of the folder."""
    days = [read(path) for path in sorted(Path("days").glob("log-*"))]
    found = ratiobench.backtest(days, ["greedy", "pdftsp"], tmp_path / "a", workers=1)
    assert [case.name for case in found.cases] == [day.name for day in days[1:]]
    theirs = rows("out")
    for row in found.exact.to_dict("records"):
        same = theirs[(theirs["case"] == row["case"]) & (theirs["algorithm"] == row["algorithm"])]
        assert [Fraction(value) for value in same["welfare"]] == [row["welfare"]]
    named = ratiobench.backtest({"a/b": days[0], "c": days[1]}, "greedy", tmp_path / "b", workers=1)
    assert [case.name for case in named.cases] == ["c"]
    assert sorted(path.name for path in (tmp_path / "b" / "days").iterdir()) == ["a_b.json.gz", "c.json.gz"]
    for wrong, problem in (([], "days: there is none"), ([days[0]] * 2, "called so"), ([3], "neither an instance")):
        with pytest.raises(InputError, match=problem):
            ratiobench.backtest(wrong, "greedy", tmp_path / "c")
    for named, history, problem in (("greedy", 3, "at least 4 are needed"), ("nobody", 1, "nobody")):
        with pytest.raises(InputError, match=problem):
            ratiobench.backtest(days[:3], named, tmp_path / "c", history=history)
    assert not (tmp_path / "c").exists()


def test_names_of_algorithms_keep_their_options() -> None:
    """A comma before a new name parts, one before an option does not."""
    text = "greedy,posted:margin=3/2,growth=2,mine:A:x=1,y=2,eft,pdftsp:prior=./a:b.json"
    assert split_names(text) == [
        "greedy", "posted:margin=3/2,growth=2", "mine:A:x=1,y=2", "eft", "pdftsp:prior=./a:b.json",
    ]  # fmt: skip


def policy(name: str, values: list[int], **more: Any) -> Policy:
    """A policy with these values, one per day."""
    days = {f"d{day}": Fraction(value) for day, value in enumerate(values)}
    known: dict[str, Any] = {"said": "", "sources": frozenset(), "revenue": None, "is_paid": False, "share": None}
    known |= {"used": None, "seconds": None, "standing": {}, "applied": [], "admitted": Fraction(0), "arrivals": 0}
    return Policy(name=name, values=days, profits=days, **known | more)


def judged(policies: list[Policy], sense: Sense = Sense.MOST) -> Backtest:
    """A backtest of complete policies, the best first."""
    best = policies[0]
    differences = [compare(best.values, each, sense, len(policies), best.name) for each in policies[1:]]
    pick = max if sense is Sense.MOST else min
    hindsight = sum((pick(each.values[day] for each in policies) for day in best.values), Fraction(0))
    opt = dict.fromkeys(best.values)
    return Backtest(list(best.values), 1, ["h"], opt, policies, best.name, differences, hindsight)


def test_who_is_ahead_beyond_chance_is_recommended() -> None:
    """Every difference is 10 or 11 a day: no interval holds 0."""
    found = judged([policy("a", [110, 211, 310]), policy("b", [100, 200, 300])])
    [difference] = found.differences
    assert difference.estimate.mean == Fraction(31, 3)
    assert (difference.ahead, difference.behind, difference.is_apart) == (3, 0, True)
    # t(2) = 4.3027 times s / sqrt(3) = 1 / 3.
    assert difference.estimate.low == pytest.approx(31 / 3 - 4.302653 / 3, rel=1e-6)
    said = advise(found, families()["lora"])
    assert said[0].startswith("Use a: it has the largest welfare 631 µ$, over 3 days (d0 to d2), and is ahead of")
    assert "the same as a" in said[-1]


def test_who_is_ahead_by_chance_is_not() -> None:
    """The mean is 10 a day, the differences 40, -20 and 10."""
    found = judged([policy("a", [140, 180, 310]), policy("b", [100, 200, 300]), policy("c", [0, 1, 2])])
    assert [each.is_apart for each in found.differences] == [False, False]
    said = advise(found, families()["lora"])
    assert said[0].startswith("a, b and c cannot be distinguished on these 3 days. a has the largest welfare")
    assert "it is ahead on 2 of 3 days, behind on 1" in said[0]
    assert "3.2 % more than a" in said[-1]


def test_all_comparisons_are_made_at_once() -> None:
    """An interval that leaves 0 out by itself may not do so beside nineteen others."""
    one, other = policy("a", [13, 14, 15, 12, 12]), policy("b", [10, 10, 10, 10, 10])
    alone, among = (compare(one.values, other, Sense.MOST, count, "a") for count in (2, 21))
    assert (alone.is_apart, among.is_apart) == (True, False)
    assert alone.estimate == among.estimate


@pytest.mark.parametrize(("days", "policies", "needed"), [(2, 2, 7), (6, 2, 7), (7, 2, 0), (8, 5, 10), (10, 5, 0)])
def test_days_that_are_too_few_for_the_sign_test_are_said_to_be(days: int, policies: int, needed: int) -> None:
    """Of all comparisons at once, each test has 5 % / 2 / pairs; ahead on N of N days has the chance 2 / 2^N."""
    found = judged([policy(f"p{place}", [100 - place] * days) for place in range(policies)])
    said = " ".join(advise(found, families()["lora"]))
    told = f"{days} days are too few for the sign test: with {policies} policies it needs "
    assert (told in said) == bool(needed)
    assert not needed or f"{told}{needed} days, even if one is ahead on all of them" in said


def test_being_ahead_on_every_one_of_many_days_is_no_chance() -> None:
    """However different the days are: two of 2^11 sequences of coins are all alike."""
    values = [2**day for day in range(11)]
    found = judged([policy("a", [2 * value for value in values]), policy("b", values), policy("c", [1] * 11)])
    [near, _] = found.differences
    assert near.joint.low is not None
    assert near.joint.low < 0
    assert near.is_apart
    assert advise(found, families()["lora"])[0].startswith("Use a: ")
    assert sign_test(11, 0) == Fraction(1, 1024)
    assert sign_test(5, 0) == Fraction(1, 16)
    assert sign_test(2, 1) == 1 == sign_test(0, 0)


def test_the_least_of_a_cost_is_best() -> None:
    found = judged([policy("a", [10, 20, 30]), policy("b", [20, 31, 40])], Sense.LEAST)
    assert found.differences[0].estimate.mean == Fraction(31, 3)
    assert found.differences[0].ahead == 3


def test_equal_policies_and_a_single_day_are_said_to_be_so() -> None:
    """Nobody leads by $0, and one day tells nothing."""
    same = judged([policy("a", [10, 20]), policy("b", [10, 20])])
    assert "b has the same on every day" in advise(same, families()["lora"])[0]
    one = judged([policy("a", [20]), policy("b", [10])])
    assert advise(one, families()["lora"])[0].startswith("One day does not distinguish policies: on it a has")


def test_whoever_knew_the_future_or_lacks_a_day_is_not_recommended() -> None:
    found = judged([policy("a", [10, 20]), policy("b", [9, 20])])
    knew = policy("c", [50, 50], sources=frozenset({Source.ORACLE}))
    lacks = policy("d", [50], trouble="1 invalid of 2 days: overbooks")
    said = advise(replace(found, policies=[*found.policies, knew, lacks]), families()["lora"])
    assert any(each.startswith("c took constants from the days on which it is judged") for each in said)
    assert "d is not compared: 1 invalid of 2 days: overbooks." in said
    assert [each.name for each in replace(found, policies=[*found.policies, knew, lacks]).complete] == ["a", "b"]


def test_the_example_is_always_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["import", "--example", "jobs.csv"]) == 0
    assert "import jobs.csv --format csv --cluster jobs.toml --out days\n" in capsys.readouterr().out
    assert (Path("jobs.csv").read_text(), Path("jobs.toml").read_text()) == example()
    assert len(example()[0].splitlines()) == 961
    assert main(["import", "jobs.csv", "--format", "csv", "--cluster", "jobs.toml", "--dry-run"]) == 0
    assert "imported 957 of 960 jobs: 3 with a deadline" in capsys.readouterr().out
    for name, problem in (("jobs.txt", "does not end with .csv"), ("no/jobs.csv", "no/jobs.csv: cannot be written")):
        assert main(["import", "--example", name]) == 2
        assert problem in capsys.readouterr().err
