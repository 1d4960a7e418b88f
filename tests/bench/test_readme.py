"""READMEs and documentation: commands, examples, tables and links exist; the test command is the one of CI."""

import importlib.util
import json
import os
import re
import shlex
import textwrap
import tomllib
from dataclasses import replace
from fnmatch import fnmatch
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import yaml

import ratiobench
from ratiobench.bench.cli import find_command, list_commands, main, make_parser, parse
from ratiobench.bench.eapm.suites import GAMMAS, TABLE1
from ratiobench.bench.eapm.suites import READINGS as EAPM_READINGS
from ratiobench.bench.family.registry import families, find_suite
from ratiobench.bench.lora.paper_suites import BASELINES, HINDSIGHT, RUNS
from ratiobench.bench.lora.readings import READINGS
from ratiobench.bench.lora.suites import SETTLED
from ratiobench.bench.report.figures import KINDS
from ratiobench.bench.report.rows import results_text
from ratiobench.bench.results.read import read_folder
from ratiobench.bench.running.runner import RunOptions, run_suite
from ratiobench.instances.eapm.generate import generate as generate_eapm
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import Instance
from ratiobench.instances.lora.named import path
from ratiobench.online.eapm.run import run as run_eapm
from ratiobench.online.lora.run import run as run_lora
from ratiobench.online.spec import HANDED_OVER
from tests.support.commands import json_of, python
from tools import (
    forecast_ideas,
    learned_lies,
    readme_eapm,
    readme_edgeflow,
    readme_learned,
    readme_pictures,
    readme_tables,
    readme_tenants,
)
from tools.paper_sentences import COLUMNS, judge_outperformance

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("instances", "formulations", "online", "bench")
READMES = [
    "README.md",
    *sorted(str(path.relative_to(ROOT)) for floor in FLOORS for path in (ROOT / floor).rglob("README.md")),
]
TEMPLATE = "bench/family/five_files.md"
HISTORY = "docs/development/history.md"  # It has the names of their time
"""The family in five files: tests/bench/test_family_template.py follows it word by word."""
BUILT = ("_build", "generated")  # Folders of the documentation that are written when it is built
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "docs").rglob("*.md")
    if path.relative_to(ROOT / "docs").parts[0] not in BUILT
)
TEXTS = [*READMES, *PAGES, TEMPLATE, "CONTRIBUTING.md", "SECURITY.md"]
WORDS = 9_000  # Words of all READMEs together
QUICK, PAPER, PYTHON = "docs/results/quick.md", "docs/results/paper.md", "docs/guide/python.md"
LEADERBOARD, MECHANISMS = "docs/results/leaderboard.md", "docs/results/mechanisms.md"
COMMANDS, ALGORITHMS, INSTANCES = "docs/guide/commands.md", "docs/guide/algorithms.md", "docs/guide/instances.md"
OPTIMUM, READINGS_PAGE = "docs/guide/optimum.md", "docs/theory/readings.md"
EAPM, EAPM_ALGORITHMS = "docs/results/eapm.md", "docs/reference/algorithms/eapm.md"


def _text(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def _code(file: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", _text(file), flags=re.DOTALL)


README = _text("README.md")


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 80
    assert len(README.split()) <= 550


def test_all_readmes_together_are_short() -> None:
    """Each names the content of its folder; explanations, figures and proofs are in the documentation."""
    assert sum(len(_text(file).split()) for file in READMES) <= WORDS
    assert all(len(_text(file).splitlines()) <= 50 for file in READMES[1:])


def test_every_block_of_python_has_a_test() -> None:
    """Those that are not run below are named with the test that runs them; notebooks run when pages are built."""
    run_below = {"README.md": 1, ALGORITHMS: 2, EAPM_ALGORITHMS: 1, INSTANCES: 1, PYTHON: 2}
    run_below["docs/reference/algorithms/edgeflow.md"] = 1  # in tests/online/edgeflow/test_contract.py
    run_below["docs/reference/algorithms/tenants.md"] = 1  # in tests/online/tenants/test_table.py
    run_below["docs/paper.md"] = 2  # in tests/bench/test_paper.py
    run_below["docs/guide/backtest.md"] = 1  # in tests/bench/cluster/test_family.py
    run_below["docs/tutorials/batch.md"] = 1  # there, too
    run_below["docs/evaluate.md"] = 1  # in tests/adapters/test_examples.py
    assert {file: len(_code(file)) for file in TEXTS if file != TEMPLATE and _code(file)} == run_below


@pytest.mark.nightly
def test_the_lines_for_a_notebook_run(tmp_path: Path) -> None:
    """As they stand there, with the README's algorithm; Python runs them as a script without a main guard."""
    code, _ = _code(PYTHON)
    (tmp_path / "mine.py").write_text(_code("README.md")[0])
    (tmp_path / "day.json").write_bytes(path("tiny_contention").read_bytes())
    code = code.replace("repeat=20", "repeat=2")
    (tmp_path / "cell.py").write_text(f"{code}\nprint(found.frame()[['algorithm', 'state', 'repetitions']].to_csv())")
    done = python("cell.py", folder=tmp_path, check=False)
    assert done.stderr == ""
    rows = [line.split(",")[1:] for line in done.stdout.split()]
    assert [row for row in rows if row[0] in ("greedy", "mine:Earliest", "own:Shy")] == [
        ["greedy", "ok", ""], ["mine:Earliest", "ok", ""], ["own:Shy", "ok", "2"],
    ]  # fmt: skip
    assert (tmp_path / "share.svg").read_text().startswith("<svg ")


def test_the_lines_for_ones_own_tests_run(tmp_path: Path) -> None:
    """The test of the README passes as it stands there; a bound that is too low fails, and names the instance."""
    (tmp_path / "mine.py").write_text(_code("README.md")[0])
    _, code = _code(PYTHON)
    code = code.replace("range(20)", "range(2)")
    falls = code.replace('"greedy", "theorem_g"', '"eris", 1').replace("    assert_valid(", "    # (")
    falls = falls.replace("range(2)", "[0]")
    (tmp_path / "test_holds.py").write_text(code)
    (tmp_path / "test_falls.py").write_text(falls)
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_holds.py", "test_falls.py")
    done = python(*words, folder=tmp_path, check=False, PYTHONPATH=os.pathsep.join([str(ROOT), str(tmp_path)]))
    assert "1 failed, 2 passed" in done.stdout, done.stdout[-3000:]
    assert "OPT <= 1 ALG is violated" in done.stdout
    assert '"format": "ratiobench/lora/1"' in done.stdout


def _slugs(file: str) -> set[str]:
    """The anchors of a file's headings, as GitHub makes them."""
    prose = re.sub(r"```.*?```", "", _text(file), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", prose, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_and_picture_exists() -> None:
    for file in TEXTS:
        prose = re.sub(r"```.*?```", "", _text(file), flags=re.DOTALL)
        found = re.findall(r"\]\(([^)\s]+)\)", prose) + re.findall(r"src=\"([^\"]+)\"", prose)
        for link in found:
            if "://" in link:
                continue
            name, _, anchor = link.partition("#")
            if "generated/" in name:  # written when the documentation is built, whose builder follows the link
                continue
            target = (ROOT / file).parent / name if name else ROOT / file
            assert target.resolve().is_relative_to(ROOT), (file, link)
            assert target.is_file(), (file, link)
            assert not anchor or anchor in _slugs(str(target.resolve().relative_to(ROOT))), (file, link)


def test_every_folder_with_a_readme_is_linked_from_the_page_on_the_code() -> None:
    linked = set(re.findall(r"\(\.\./\.\./([\w/]+\.md)\)", _text("docs/development/index.md")))
    assert set(READMES[1:]) <= linked


def test_every_marked_table_has_one_place_and_one_maker() -> None:
    """A tool writes it and a test compares it; those of the second list have tests of their own."""
    makers = (
        forecast_ideas, learned_lies, readme_eapm, readme_edgeflow, readme_learned, readme_tables, readme_tenants,
        )  # fmt: skip
    made = [place for maker in makers for place in maker.TABLES]
    others = [
        (QUICK, "table of the quick suite"),  # below
        (READINGS_PAGE, "readings"),  # below
        ("docs/reference/formulations.md", "formulations"),  # tests/formulations/lora/test_sizes.py
        ("docs/sources.md", "sources"),  # tests/bench/test_explained.py
        ("SECURITY.md", "cheats"),  # tests/bench/evaluation/test_cheats.py
    ]
    marked = [(file, name) for file in TEXTS for name in re.findall(r"<!-- (.+): begin -->", _text(file))]
    assert sorted(marked) == sorted([*made, *others])


def test_the_pictures_of_the_papers_figures_are_those_of_the_committed_means(tmp_path: Path) -> None:
    """Every mean, its interval, the order and the axis, with pdFTSP in the paper's units."""
    drawn = readme_pictures.write(tmp_path)
    assert len(drawn) == 15
    for file in drawn:
        committed = (readme_tables.PAPER.parent / file.name).read_text(encoding="utf-8")
        assert file.read_text(encoding="utf-8") == committed, file.name
        assert "pdftsp:units=given" in committed


def test_every_path_that_is_named_exists() -> None:
    """Paths from the root in code spans; a star, FAMILY and NAME stand for any text."""
    missing = [
        (file, named)
        for file in [each for each in TEXTS if each not in (TEMPLATE, HISTORY)]
        for named in re.findall(rf"`((?:{'|'.join(FLOORS)}|tests)/[\w./*-]+)`", _text(file))
        if not any(ROOT.glob(re.sub("FAMILY|NAME", "*", named)))
    ]
    assert missing == []


def test_every_command_line_can_be_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Indented ones: commands, options and suites exist, and so do sessions of nox."""
    monkeypatch.setattr("ratiobench.bench.arguments.check_writable", lambda path: None)  # in folders of the reader
    sessions = re.findall(r"^@nox\.session\ndef (\w+)", _text("noxfile.py"), flags=re.MULTILINE)
    lines = [(file, line) for file in TEXTS for line in re.findall(r"^    (\S.*)$", _text(file), flags=re.MULTILINE)]
    for file, line in lines:
        if "[" in line:
            continue
        before, _, words = line.partition(" -m ratiobench ")
        if words and before.endswith("python"):
            try:
                _, _, values = parse(shlex.split(words.replace("--task I", "--task 0")))
            except InputError as error:
                pytest.fail(f"{file}: {line}: {error}")
            if words.startswith(("simulate", "audit")):  # of one instance: nobody hands over other days
                given = values["algorithm"]
                names = [given] if isinstance(given, str) else given
                handed = {f"{key}={word}" for key in ("prior", "history") for word in HANDED_OVER}
                options = {option for name in names for option in re.split("[:,]", name)}
                assert not handed & options, (file, line)
        for session, _, arguments in re.findall(r"nox -s (\w+)( -- (.*))?$", line):
            assert session in sessions, (file, line)
            names = [word for word in shlex.split(arguments.partition(" --")[0]) if session == "bench"]
            assert all(find_suite(name) for name in names), (file, line)


def test_every_module_that_is_run_exists() -> None:
    for file in TEXTS:
        for module in re.findall(r"python -m ((?:tests\.tools|ratiobench)\.[\w.]*\w)", _text(file)):
            assert importlib.util.find_spec(module), (file, module)


def test_every_command_in_a_sentence_has_the_options_that_it_names() -> None:
    """Code spans that begin with a command's name; an option may be shortened as on the command line."""
    known: dict[str, set[str]] = {}
    for name in list_commands():
        options = make_parser(name, find_command(name))._option_string_actions
        known.setdefault(name.partition(" ")[0], set()).update(options)
    for file in [each for each in TEXTS if each != HISTORY]:
        prose = re.sub(r"```.*?```", "", _text(file), flags=re.DOTALL)
        for span in re.findall(r"`([^`]+)`", re.sub(r"^    .*$", "", prose, flags=re.MULTILINE)):
            words = span.replace("python -m ratiobench ", "").split()
            for word in words[1:] if words and words[0] in known else ():
                option = word.partition("=")[0].strip(",.;:)")
                if re.fullmatch(r"--?[a-z][a-z-]*", option):
                    assert any(each.startswith(option) for each in known[words[0]]), (file, span)


def test_the_citation_says_what_the_project_says() -> None:
    """Name, version and licence once more, and nobody who does not stand in the licence."""
    about = yaml.safe_load(_text("CITATION.cff"))
    project = tomllib.loads(_text("pyproject.toml"))["project"]
    assert [about[key] for key in ("cff-version", "type", "title")] == ["1.2.0", "software", project["name"]]
    assert about["version"] == ratiobench.__version__
    assert [about[key] for key in ("license", "abstract")] == [project[key] for key in ("license", "description")]
    assert about["message"]
    [holder] = re.findall(r"^Copyright \(c\) \d+ (.*)$", _text("LICENSE"), flags=re.MULTILINE)
    assert [name.lower() for each in about["authors"] for name in each.values()] == [holder.lower()]


def test_ci_runs_the_readmes_test_command() -> None:
    """The two commands differ in the session alone, and CI's is the second one, letter by letter."""
    [bench, tests] = re.findall(r"^    (python3 -m venv .*)$", README, flags=re.MULTILINE)
    assert bench.replace("-s bench", "-s tests") == tests
    assert tests in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_every_command_in_the_tables_exists(capsys: pytest.CaptureFixture[str]) -> None:
    section = _text(COMMANDS)
    rows = re.findall(r"^\| `(\w[\w-]*)([^`/]*)` \| (.*) \|$", section, flags=re.MULTILINE)
    assert {name for name, _, _ in rows} == {name.partition(" ")[0] for name in list_commands()}
    for name, usage, does in rows:
        with pytest.raises(SystemExit) as exit_:
            main([name, "--help"])
        assert exit_.value.code == 0
        text = capsys.readouterr().out
        for option in re.findall(r"--[a-z-]+", usage + does.partition("`generate lead")[0]):
            assert option in text, f"{name} {option}"


@pytest.mark.parametrize("file", ["README.md", ALGORITHMS])
def test_the_algorithm_runs_as_it_stands(file: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Put into mine.py, it is run by its import path, breaks no rule, and serves somebody."""
    (here / "mine.py").write_text(_code(file)[0])
    run = json_of(capsys, "simulate", str(path("tiny_contention")), "--algorithm", "mine:Earliest")
    assert run["valid"], run["violations"]
    assert run["admitted"] > 0


def test_the_quantiles_of_bids_are_those_that_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    """What its three lines print stands below them."""
    code = _code(ALGORITHMS)[1]
    exec(code, {})
    assert f"```\n\n`{capsys.readouterr().out.strip()}`\n" in _text(ALGORITHMS)


def test_the_readmes_algorithm_has_ten_lines() -> None:
    [code] = _code("README.md")
    assert len([line for line in code.splitlines() if line]) == 10


def test_the_example_of_an_instance_is_written_and_read(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [code] = _code(INSTANCES)
    exec(code, {})
    assert json_of(capsys, "simulate", "day.json.gz", "--algorithm", "greedy")["admitted"] > 0


def _blocks(text: str) -> dict[str, list[str]]:
    """The case blocks of a result table by the case's name, without the column of seconds."""
    found: dict[str, list[str]] = {}
    for block in re.split(r"\n\s*\n", text):
        lines = block.strip("\n").splitlines()
        if lines and re.match(r"\w+: tasks ", lines[0]):
            rows = [re.sub(r"\s+\S+\s+(\S+)$", r" \1", line) for line in lines[3:]]
            found[lines[0].split(":")[0]] = [*lines[:2], *(" ".join(row.split()) for row in rows)]
    return found


def _means(text: str) -> dict[str, list[list[str]]]:
    """The lines of the table of means by group, widths apart."""
    lines = (
        text.partition("How much of the upper bound on OPT each algorithm reaches")[2].partition("\n\n")[0].splitlines()
    )
    found: dict[str, list[list[str]]] = {}
    for group, *cells in (re.split(r"\s{2,}", line.strip()) for line in lines[2:]):
        found.setdefault(group, []).append(cells)
    return found


@pytest.mark.nightly
def test_the_table_of_quick_is_what_the_command_prints(tmp_path: Path) -> None:
    """Every case block of the table, but the whole day's, comes out of a run again, wall times apart; so do the means
    of the groups of which all cases are run again.
    """
    [shown] = re.findall(r"```text\n(.*?)```", readme_tables.block(QUICK, "table of the quick suite"), flags=re.DOTALL)
    expected = _blocks(shown)
    family, suite = find_suite("quick")
    assert {case.name for case in suite.cases} >= set(expected) >= {"pai_40", "philly_60", "helios_100", "philly_7200"}
    again = tuple(case for case in suite.cases if case.name in expected and case.name != "philly_7200")
    run_suite(family, replace(suite, cases=again), RunOptions(out=tmp_path, quiet=True))
    text = results_text(read_folder(tmp_path), family)
    assert _blocks(text) == {case.name: expected[case.name] for case in again}
    means, shown_means = _means(text), _means(shown)
    del means["tiny"]  # of pai_12 alone here: the others are not in the table
    assert set(means) == {"traces", "counterexamples"}
    swept = {group for plot in suite.plots for group in plot.groups}
    assert set(shown_means) == {case.group for case in suite.cases} - swept
    assert all(shown_means[group] == lines for group, lines in means.items())


def test_the_readmes_shares_are_those_of_the_stored_runs_and_of_its_algorithm() -> None:
    assert readme_tables.block("README.md", "shares") == readme_tables.shares()


def test_the_excerpt_on_the_first_page_is_of_the_table_of_quick() -> None:
    [shown] = re.findall(r"```text\n(.*?)```", _text("docs/start.md"), flags=re.DOTALL)
    assert shown in readme_tables.block(QUICK, "table of the quick suite")


def test_opt_of_the_sweep_of_quick_is_known_to_half_a_percent() -> None:
    """Of all its instances, as the golden files keep the intervals themselves."""
    table = readme_tables.block(QUICK, "table of the quick suite")
    [widest] = re.findall(r"the widest interval on it is ([\d.]+) % of OPT", table)
    assert float(widest) <= 0.5


def test_the_readmes_crosscheck_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """All columns but the seconds; a solver's version is of the machine, so its name alone is compared."""
    shown, wrong = re.findall(r"```text\n(Formulation .*?)```", _text(OPTIMUM), flags=re.DOTALL)

    def columns(text: str) -> list[list[str]]:
        cells = [re.split(r" {2,}", line.strip()) for line in text.splitlines()]
        kept = [[cell for j, cell in enumerate(row) if j not in (4, 5)] if len(row) > 2 else row for row in cells]
        return [[row[0], row[1].split()[0], *row[2:]] if len(row) > 2 else row for row in kept]

    assert main(["crosscheck", str(ROOT / "docs" / "examples" / "four_tasks.json")]) == 0
    printed = columns(capsys.readouterr().out)
    assert all(row in printed for row in columns(wrong))
    assert main(["crosscheck", str(path("thm5_T5_3tasks"))]) == 0
    printed = [row for row in columns(capsys.readouterr().out) if row[1:2] not in (["scip"], ["gurobi"])]
    assert columns(shown)[:-1] == printed[:-1]
    assert shown.splitlines()[-1] == "all agree: OPT = 312 micro-dollars (8 of 8 rows end as optimal)"


def test_the_tables_of_the_papers_figures_are_those_of_the_committed_run() -> None:
    """Figures 7, 8 and 12 line by line from bench/lora/results/paper.csv, which has them from all runs of the suite."""
    rows = readme_tables.figures()
    for name in ("paper welfare", "paper ratios", "paper printed"):
        assert readme_tables.block(PAPER, name) == readme_tables.TABLES[PAPER, name](), name
    suite = find_suite("paper")[1]
    about = json.loads(readme_tables.PAPER.with_name("paper_provenance.json").read_text(encoding="utf-8"))
    assert (about["suite"], about["cases"], about["effort"], about["scale"]) == ("paper", len(suite.cases), 1, "full")
    assert about["only"] == about["algorithms"] == []
    shown_plots = {plot.name for plot in suite.plots if plot.kind not in KINDS}
    assert set(rows["plot"]) == shown_plots


# Rows of `mechanisms` and `leaderboard` that their committed results do not have
MISSING = ("learned:guard=99,prior=history", "guarded:inner=greedy,prior=history")


def test_the_table_of_the_mechanisms_is_that_of_the_committed_run() -> None:
    """Line by line from bench/lora/results/mechanisms.csv and the count of its verdicts, of all cases of the suite."""
    verdicts = readme_tables.figures(readme_tables.VERDICTS)
    assert readme_tables.block(MECHANISMS, "mechanisms") == readme_tables.TABLES[MECHANISMS, "mechanisms"]()
    suite = find_suite("mechanisms")[1]
    _are_of_whole_runs("mechanisms", 45)
    assert list(verdicts["algorithm"]) == [each for each in suite.cases[0].algorithms if each not in MISSING]
    assert set(verdicts["days"]) == {"45"} == {str(len(suite.cases))}
    assert set(verdicts["violated"]) == {"0"}


# Versions that decide as an earlier one: version 6 of `learned` differs under a guard alone
AS_BEFORE = {"learned:prior=history version 6": "learned:prior=history version 5", "titan version 4": "titan version 3"}


def _in_02(name: str) -> str:
    """The name of a reading of pdFTSP when these runs were made, by version 0.2: its plain name had `units=given`."""
    head, _, options = name.partition(":")
    if head != "pdftsp" or "units=canonical" in options:
        return name
    parts = [part for part in options.split(",") if part]
    parts = [part for part in parts if part != "units=given"] if "units=given" in parts else ["units=paper", *parts]
    return f"{head}:{','.join(parts)}" if parts else head


def _are_of_whole_runs(name: str, cases: int) -> None:
    """The figures of a suite are of all cases, and of the present versions: of a later run where there is one."""
    left = set(find_suite(name)[1].cases[0].algorithms) - set(MISSING)
    for file in readme_tables.provenances_of(name):
        about = json.loads(file.read_text(encoding="utf-8"))
        assert (about["suite"], about["cases"], about["effort"], about["scale"]) == (name, cases, 1, "full")
        assert about["only"] == about["algorithms"] == []
        assert about["provenance"]["code"]["changed since"] == "no"
        assert about["provenance"]["code"]["commit"][:7] in _text(MECHANISMS if name == "mechanisms" else LEADERBOARD)
        found = {each for each in left if any(fnmatch(_in_02(each), pattern) for pattern in about.get("rows", ["*"]))}
        named = [families()["lora"].algorithm_key(each).split(" version ") for each in found]
        keys = {f"{_in_02(key)} version {1 if key.startswith('pdftsp') else version}" for key, version in named}
        assert {AS_BEFORE.get(key, key) for key in keys} <= set(about["versions"])
        left -= found
    assert not left


def test_the_baselines_of_the_literature_are_in_three_suites() -> None:
    page = " ".join(_text("docs/theory/baselines.md").split())
    for name in ("mechanisms", "leaderboard", "guards"):
        cases = find_suite(name)[1].cases
        assert all(set(BASELINES) <= set(case.algorithms) for case in cases)
        committed = readme_tables.figures(readme_tables.PAPER.with_name(f"{name}.csv"))
        rows = committed[committed["algorithm"].isin(BASELINES)]
        assert set(rows["algorithm"]) == set(BASELINES)
        if name == "guards":
            assert len(rows) == len(cases) * len(BASELINES)
    assert all(f"`{name}`" in page for name in BASELINES)


def test_what_settling_costs_is_what_the_rows_say() -> None:
    """Points of the bound that a factor of 30 costs with true history, by day and in the mean, with and without."""
    rows = readme_learned.rows("guards")
    true = rows[rows["group"] == readme_learned.TRUE]
    assert all(SETTLED in case.algorithms for case in find_suite("guards")[1].cases)
    kept = SETTLED.replace("past=settled,", "")
    costs: dict[str, list[float]] = {}
    for _, day in true.groupby("case", sort=False):
        reached = {row["algorithm"]: readme_learned.reached(row) for row in day.to_dict("records")}
        for name in (kept, SETTLED):
            costs.setdefault(name, []).append(float(100 * (reached["learned:prior=history"] - reached[name])))
    pai, philly, helios = costs[SETTLED]
    mean, before = (sum(costs[name]) / 3 for name in (SETTLED, kept))
    text = " ".join(_text("docs/theory/mechanisms.md").split())
    assert f"costs {before:.1f} points with `past=kept` and {mean:.1f} with `past=settled`" in text
    assert f"({pai:.1f} on PAI, {philly:.1f} on Philly, {helios:.1f} on Helios)" in text


def test_the_leaderboard_is_that_of_the_committed_run() -> None:
    """Line by line; of all algorithms of the suite. Those that `paper` ran as well reach what they reached there."""
    for name in ("leaderboard", "leaderboard lead", "leaderboard runs"):
        assert readme_tables.block(LEADERBOARD, name) == readme_tables.TABLES[LEADERBOARD, name](), name
    rows = readme_tables.figures(readme_tables.LEADERBOARD)
    suite = find_suite("leaderboard")[1]
    _are_of_whole_runs("leaderboard", 30)
    assert set(rows["algorithm"]) == set(suite.cases[0].algorithms) - set(MISSING)
    assert set(rows["cases"]) == {"30"} == {str(len(suite.cases))}
    paper = readme_tables.figures()
    found = 0
    for row in paper[(paper["plot"] == "leaderboard") & (paper["kind"] == "reached")].to_dict("records"):
        mine = rows.loc[rows["algorithm"] == row["algorithm"], f"mean in {row['group'].partition(': ')[2]}"]
        assert abs(Fraction(mine.iloc[0]) - Fraction(row["mean_lower"])) < Fraction(1, 1000)
        found += 1
    assert found == 78


def test_the_studies_of_what_is_learned_are_those_of_their_files() -> None:
    """Both tables line by line; every idea was played on five days of each trace; no lie gains that cannot."""
    for tool in (forecast_ideas, learned_lies):
        for (file, name), made in tool.TABLES.items():
            assert readme_tables.block(file, name) == made(), name
    played = forecast_ideas.known()
    assert {idea for _, _, idea in played} == {idea.told for idea in forecast_ideas.IDEAS}
    assert len(played) == 15 * len(forecast_ideas.IDEAS)
    lies = readme_tables.figures(learned_lies.TABLE)
    assert set(lies["form"]) == set(learned_lies.FORMS)
    unguarded = ~lies["form"].str.contains("guard")
    protected = (lies["lie"] == learned_lies.LIES[0]) | (lies["form"] == "`wish=monotone`")
    protected |= unguarded & lies["lie"].isin(learned_lies.LIES[2:4])
    assert set(lies.loc[protected, "gain"]) == {"0"} != set(lies.loc[~protected, "gain"])


SMALL = (
    "the forecast of `learned`",
    "pieces of earlier days that began alike",
    "mean of the prices of eight such days, solved every 60 arrivals",
)


@pytest.fixture(scope="module")
def small_day() -> tuple[Instance, Instance]:
    """A day of 130 tasks on two nodes, and the seven before it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forecast_ideas, "TASKS", 130)
        patch.setattr(forecast_ideas, "NODES", 2)
        return forecast_ideas.day("philly", "2017-10-11", 7, 0)


@pytest.mark.nightly
@pytest.mark.parametrize("told", SMALL)
def test_an_idea_of_a_forecast_is_played_on_a_small_day(told: str, small_day: tuple[Instance, Instance]) -> None:
    """As it was it earns what `learned` with these options earns; the others are valid runs."""
    today, history = small_day
    [idea] = [each for each in forecast_ideas.IDEAS if each.told == told]
    earned = forecast_ideas.play(idea, today, history)
    plain = int(run_lora(today, f"learned:{idea.options}prior=history", prior=history).welfare)
    assert earned == plain if told == SMALL[0] else 0 < earned != plain


def test_the_tables_of_what_is_learned_are_those_of_the_committed_runs() -> None:
    """Of all cases of both suites; where a guard is on its theorem holds, and it earns more than Theorem A's prices."""
    for (file, name), made in readme_learned.TABLES.items():
        assert readme_tables.block(file, name) == made(), name
    assert readme_learned.PICTURE.read_text(encoding="utf-8") == f"{readme_learned.draw().svg}\n"
    for name in readme_learned.SUITES:
        suite, rows = find_suite(name)[1], readme_learned.rows(name)
        about = json.loads((readme_learned.RESULTS / f"{name}_provenance.json").read_text(encoding="utf-8"))
        assert (about["suite"], about["effort"], about["scale"]) == (name, 1, "full")
        assert about["algorithms"] == []
        assert about["provenance"]["code"]["commit"][:7] in _text(MECHANISMS)
        patterns = about["only"] or ["*"]
        assert patterns == ["*"] or f"bench run {name} --only '{patterns[0]}'" in _text(MECHANISMS)
        chosen = [case for case in suite.cases if any(fnmatch(case.name, pattern) for pattern in patterns)]
        ran = {(case.name, each) for case in chosen for each in case.algorithms if each not in (SETTLED, *BASELINES)}
        for file in readme_learned.RESULTS.glob(f"{name}_rows*_provenance.json"):
            later = json.loads(file.read_text(encoding="utf-8"))
            assert (later["suite"], later["effort"], later["scale"]) == (name, 1, "full")
            assert later["provenance"]["code"]["changed since"] == "no"
            assert later["provenance"]["code"]["commit"][:7] in _text(MECHANISMS)
            cases = [case for case in suite.cases if any(fnmatch(case.name, p) for p in later["only"] or ["*"])]
            names = ((case.name, each) for case in cases for each in case.algorithms)
            ran |= {pair for pair in names if any(fnmatch(pair[1], pattern) for pattern in later["rows"])}
        assert set(zip(rows["case"], rows["algorithm"], strict=True)) == ran
        assert set(rows.loc[rows["algorithm"].str.contains("guard="), "theorem_h"]) == {"holds"}
    for _, part in readme_learned.rows("guards").groupby("case"):
        earned = {row["algorithm"]: int(row["welfare"]) for row in part.to_dict("records")}
        posted = earned.pop("posted:prior=history")
        assert min(value for algorithm, value in earned.items() if "guard=" in algorithm) >= posted


def test_how_the_paper_is_read_is_a_page() -> None:
    shown = readme_tables.block(READINGS_PAGE, "readings").rstrip("\n")
    assert tuple(" ".join(each.split()) for each in shown.removeprefix("- ").split("\n- ")) == READINGS
    family = families()["lora"]
    assert tuple(family.readings) == READINGS
    assert RUNS in " ".join(_text(PAPER).split())


def test_the_notebooks_lines_print_the_table_of_the_mechanisms(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The snippet, on days that each have the committed mean of their group, digit for digit; some lack a figure."""
    [code] = re.findall(r"\n((?:    .*\n|\n)*    rows = ratiobench\.results.*\n(?:    .*\n)*)", _text(MECHANISMS))
    means = readme_tables.figures(readme_tables.MECHANISMS)
    assert set(means.loc[means["plot"] == "mechanisms_reached", "cases"]) == {"5"}
    plots = ["reached", "certificate", "revenue_share", "long_fairness"]
    chosen = means[means["plot"].isin([f"mechanisms_{name}" for name in plots])]
    days = [row | {"day": day} for row in chosen.to_dict("records") for day in range(int(row["cases"]))]
    table = pd.DataFrame(days).pivot(index=["group", "algorithm", "day"], columns="plot", values="mean_upper")
    table = table.map(Fraction, na_action="ignore").astype(object)
    exact = table.rename(columns=lambda name: name.removeprefix("mechanisms_")).reset_index()
    monkeypatch.setattr(ratiobench, "results", lambda folder: SimpleNamespace(exact=exact), raising=False)
    exec(textwrap.dedent(code), {})
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    shown = readme_tables.block(MECHANISMS, "mechanisms")
    for line in shown.splitlines()[2:]:
        name, *cells = [cell.strip().removesuffix(" (2 days left out)") for cell in line.strip("|").split("|")]
        assert [row[1:] for row in printed if row and row[0] == name] == [cells[:3], cells[3:6]]


def test_the_tables_of_eapm_are_those_of_the_committed_run() -> None:
    """Line by line from bench/eapm/results/eapm_table1*.csv, which have them from all cases of the suite."""
    for (file, name), made in readme_eapm.TABLES.items():
        assert readme_tables.block(file, name) == made(), name
    suite = find_suite("eapm-table1")[1]
    about = json.loads(readme_eapm.PROVENANCE.read_text(encoding="utf-8"))
    assert (about["suite"], about["cases"], about["effort"], about["scale"]) == (suite.name, 1000, 1, "full")
    assert about["only"] == about["algorithms"] == []
    versions = {"online version 3", "online:shares=excluded version 3", "online:makespan=system,shares=kept version 3"}
    assert versions <= set(about["versions"])


def test_the_default_reading_of_eapm_fits_the_papers_row_best() -> None:
    """The least largest relative deviation over the columns, also if the paper's cells at gamma 1.1 are swapped; and
    whether Online beats Greedy in every column depends on the reading.
    """
    off = {name: max(readme_eapm.deviations(name)) for name in EAPM_READINGS}
    assert min(off, key=lambda name: off[name]) == "online"
    assert [round(float(100 * each), 1) for each in off.values()] == [5.1, 8.9, 20.2]
    shown = _eapm_table()
    cells = {
        name: [Fraction(cell.split(" ")[0]) for cell in shown[f"`{name}`"][:-1]] for name in (*EAPM_READINGS, "greedy")
    }
    v6 = ("22.59", "45.59", "71.66", "98.03", "130.08", "158.61", "195.13", "231.89", "268.76", "305.51")
    assert cells["online"] == [Fraction(cell) for cell in v6]
    swapped = Fraction(TABLE1["greedy"][1])
    for name, worst in off.items():
        assert abs(cells[name][1] / swapped - 1) < worst
    below = {
        name: [gamma for gamma, a, b in zip(GAMMAS, cells[name], cells["greedy"], strict=True) if a <= b]
        for name in EAPM_READINGS
    }
    assert list(below.values()) == [[], [], ["1.05", "1.1"]]


def _eapm_table() -> dict[str, list[str]]:
    """The cells of Table 1 of EAPM on the page of results by algorithm."""
    lines = readme_tables.block(EAPM, "eapm table 1").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {line[0]: line[1:] for line in cells}


@pytest.mark.nightly
def test_a_column_of_eapms_table_1_comes_out_again() -> None:
    """The mean of 100 repetitions at gamma 1.2, with the paper's figure beside it; the paper's algorithm by reading."""
    shown = _eapm_table()
    column = shown["algorithm"].index("1.2")
    instances = [generate_eapm(case.recipe) for case in find_suite("eapm-table1")[1].cases if case.group == "gamma 1.2"]
    for algorithm in (*EAPM_READINGS, "greedy", "balance"):
        values = [run_eapm(instance, algorithm).welfare for instance in instances]
        printed = TABLE1.get("online" if algorithm in EAPM_READINGS else algorithm)
        beside = f" ({printed[GAMMAS.index('1.2')]})" if printed else ""
        assert shown[f"`{algorithm}`"][column] == f"{float(sum(values) / len(values)):.2f}{beside}"


def test_the_example_of_eapm_runs(here: Path) -> None:
    """The module on the page of algorithms, in the folder where it is called."""
    [code] = _code(EAPM_ALGORITHMS)
    (here / "mine.py").write_text(code)
    found = run_eapm(generate_eapm({"kind": "table1", "gamma": "1.5"}), "mine:Halves")
    assert found.valid, found.violations
    assert found.welfare > 0


def test_what_is_said_of_the_tables_of_lora_is_in_them() -> None:
    """What a worst-case guarantee costs, load by load; where the best money scale in hindsight stays below EFT."""
    text = " ".join(f"{_text(MECHANISMS)} {_text(PAPER)}".split())
    means = readme_tables.figures(readme_tables.MECHANISMS)
    means = means[means["plot"] == "mechanisms_reached"]

    def reached(head: str, load: str) -> Fraction:
        mine = means[means["group"].str.endswith(f" {load}") & means["algorithm"].str.startswith(f"{head}:")]
        return sum(map(Fraction, mine["mean_lower"]), Fraction(0)) / len(mine)

    shares = [
        f"{float(share):.2f}"[1:]
        for load in readme_tables.LOADS
        for share in sorted(reached("posted", load) / reached(other, load) for other in ("bbar-rule", "capped"))
    ]
    said = "earns {} to {} of what `capped` and `bbar-rule` earn at load 0.8, {} to {} at 1.6 and {} to {} at 2.5"
    assert said.format(*shares) in text
    paper = readme_tables.read_means()
    columns = [(figure, column) for figure in ("fig7", "fig8") for column in COLUMNS[figure]]
    best = [name for name, _ in HINDSIGHT]
    run = {name: [pair for pair in columns if paper.has(*pair, name)] for name in best}
    assert run[best[0]] == columns
    for name in best:
        below = {
            other: [pair for pair in run[name] if paper.mean(*pair, name) < paper.mean(*pair, other)]
            for other in ("eft", "eft:admit=all")
        }
        assert below["eft"] == run[name]
        assert set(run[name]) - set(below["eft:admit=all"]) == {("fig7", "philly")} & set(run[name])
    verdicts = [[text.partition(" ")[0] for text in texts] for _, _, texts in judge_outperformance(paper)]
    assert verdicts == [["fails"] * 3 + ["holds"] * 2] * len(verdicts)
    assert f"than both forms of EFT in all {len(verdicts)} columns, and more than both forms of NTM" in text
    figures = [f"{float(paper.mean('fig7', 'philly', name)) / 1e6:.2f}" for name in (best[0], "eft:admit=all")]
    assert "on Philly it is above it ({} against {})".format(*figures) in text
