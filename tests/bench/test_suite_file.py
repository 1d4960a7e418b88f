"""Suites of one's own: what a file and a recipe on the command line give, and what is said of unusable ones."""

import json
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest

import ratiobench
from ratiobench.bench.cli import main
from ratiobench.bench.family.registry import families, find_suite
from ratiobench.bench.family.suite import LEADERBOARD, QUANTITIES, STUDIED, SWEEP, Suite
from ratiobench.bench.family.suite_file import InstanceTable, shorten_name, suite_of
from ratiobench.bench.report.figures import KINDS
from ratiobench.bench.results import means
from ratiobench.bench.running.runner import generate_cases, require_shown
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.paper import read_recipe
from tests.support.commands import json_of, printed, refused
from tests.support.samples import of_sample, samples
from tests.support.suite_documents import document_of, plain
from tests.support.toy_runs import toy  # noqa: F401
from tests.tools.mutations import mutate

FIG9 = Path(__file__).resolve().parents[2] / "bench" / "lora" / "fig9.toml"
BUILT_IN = [(family, suite) for family in families().values() for suite in family.suites()]
SMALL = """
algorithms = ["greedy"]

[[instance]]
recipe = "day"
trace = ["philly", "pai"]
tasks = [4, 6]
nodes = 1
slots = 12
start = 60
"""


def suite(text: str, folder: Path | None = None) -> Suite:
    return suite_of(tomllib.loads(text), "my.toml", folder or Path(), families())[1]


def names(text: str) -> list[str]:
    return [case.name for case in suite(text).cases]


def test_fig9_as_a_file_has_the_cases_of_fig9() -> None:
    """Names, groups, algorithms, effort, instances and priors, at both scales."""
    family, mine = find_suite(str(FIG9))
    theirs = find_suite("fig9")[1]
    assert mine.file == str(FIG9)
    for ours, built_in in ((mine.cases, theirs.cases), (mine.small, theirs.small)):
        assert [(c.name, c.group, c.algorithms, c.solve) for c in ours] == [
            (c.name, c.group, c.algorithms, c.solve) for c in built_in
        ]
    assert mine.plots[0].groups == theirs.plots[0].groups
    for ours, built_in in zip((*mine.cases, *mine.small), (*theirs.cases, *theirs.small), strict=True):
        for a, b in ((ours.recipe, built_in.recipe), (ours.prior, built_in.prior)):
            assert a is not None
            assert b is not None
            assert read_recipe(a) == read_recipe(b)
    for ours, built_in in zip(mine.small[::4], theirs.small[::4], strict=True):
        assert family.identity(family.generate(ours.recipe)) == family.identity(family.generate(built_in.recipe))


@pytest.mark.parametrize(("family", "built_in"), BUILT_IN, ids=[each.name for _, each in BUILT_IN])
def test_every_suite_of_the_house_can_be_a_file(family: Any, built_in: Suite) -> None:
    document = json.loads(json.dumps(document_of(family, built_in, "mine")))
    again, found = suite_of(document, "mine.toml", Path(), families())
    assert (again, found.name, found.summary) == (family, "mine", built_in.summary)
    assert (found.plots, found.verdicts_first) == (built_in.plots, built_in.verdicts_first)
    assert found.groups == built_in.groups
    for mine, theirs in ((found.cases, built_in.cases), (found.small, built_in.small)):
        assert len(mine) == len(theirs)
        for a, b in zip(mine, theirs, strict=True):
            assert (a.name, a.group, a.algorithms, a.solve, a.studies) == (
                b.name, b.group, b.algorithms, b.solve, b.studies,
            )  # fmt: skip
            assert (plain(a.recipe), plain(a.prior)) == (plain(b.recipe), plain(b.prior))


def test_the_readme_s_file_is_one() -> None:
    """Ten cases with a day before each, in two groups; in at most 25 lines."""
    text = (FIG9.parents[2] / "docs" / "guide" / "instances.md").read_text(encoding="utf-8")
    section = text.partition("## Recipes and files of suites\n")[2].partition("\n## ")[0]
    assert len(section.strip().splitlines()) <= 25
    table = section.partition("```toml\n")[2].partition("```")[0]
    found = suite(table)
    assert [(case.name, case.group) for case in found.cases[4:6]] == [
        ("tasks 2000, run 4", "tasks 2000"), ("tasks 3000, run 0", "tasks 3000"),
    ]  # fmt: skip
    days = [(case.recipe["arrivals"]["day"], case.prior and case.prior["arrivals"]["day"]) for case in found.cases]
    assert days == [("2017-10-10", "2017-10-09")] * 10


def test_lists_make_a_grid() -> None:
    """Of all keys in the order of the file; names and groups say what varies; a list may be one value."""
    found = suite(SMALL)
    assert [case.name for case in found.cases] == [
        "trace philly, tasks 4", "trace philly, tasks 6", "trace pai, tasks 4", "trace pai, tasks 6",
    ]  # fmt: skip
    assert [case.group for case in found.cases] == [case.name for case in found.cases]
    assert [case.recipe["tasks"] for case in found.cases] == [4, 6, 4, 6]
    head = '[[instance]]\nrecipe = "paper"\n'
    assert len(names(head + "data = [1, 2]")) == 1
    assert names(head + "data = [[1, 2], [3, 4]]") == ["data 1-2", "data 3-4"]
    assert names(head + 'deadlines = ["tight", [100, 200]]') == ["deadlines tight", "deadlines 100-200"]
    assert names(head + "nodes.a100 = [1, 2]") == ["nodes.a100 1", "nodes.a100 2"]
    seeds = suite(head + 'seed = [1, "a", ["b", 2]]')
    assert [case.recipe["seed"] for case in seeds.cases] == [[1], ["a"], ["b", 2]]
    assert {case.group for case in seeds.cases} == {"all"}


def test_runs_repeat_an_instance() -> None:
    """A number gives each a seed of its own; tables say what differs; {run} is the number of the run."""
    head = '[[instance]]\nrecipe = "day"\n'
    found = suite(head + "runs = 2\nseed = 7").cases
    assert [case.recipe["seed"] for case in found] == [[7, "run 0"], [7, "run 1"]]
    assert [case.name for case in found] == ["run 0", "run 1"]
    found = suite(head + 'runs = 2\nname = "day {run}"\nseed = [["x", "{run}"]]\nprior.seed = "before {run}"').cases
    assert [case.recipe["seed"] for case in found] == [["x", "0"], ["x", "1"]]
    assert [case.prior and case.prior["seed"] for case in found] == [["before 0"], ["before 1"]]
    found = suite(head + "runs = 2\nprior.day = 2017-10-10").cases
    assert found[1].prior is not None
    assert (found[1].recipe["seed"], found[1].prior["seed"]) == ([0, "run 1"], [0, "run 1", "yesterday"])
    found = suite(head + "tasks = 9\nruns = [{ tasks = 5 }, { nodes = 3, prior.tasks = 2 }]").cases
    assert (found[0].recipe["tasks"], found[0].recipe.get("nodes"), found[0].prior) == (5, None, None)
    assert (found[1].recipe["tasks"], found[1].recipe["nodes"]) == (9, 3)
    assert found[1].prior is not None
    assert found[1].prior["tasks"] == 2


def test_what_is_run_is_the_suite_s_unless_the_instance_says_otherwise() -> None:
    """Algorithms, effort and backend; figures take all groups."""
    text = 'algorithms = ["greedy"]\neffort = 3\nrepeat = 4\ngroups = { a = "the first" }\n[[plot]]\nname = "p"\n' + (
        '[[instance]]\nrecipe = "day"\nname = "a"\ngroup = "a"\n'
        '[[instance]]\nrecipe = "day"\nname = "b"\ngroup = "b"\nalgorithms = ["eft"]\neffort = 2\nbackend = "none"\n'
    )
    found = suite(text)
    assert [(case.algorithms, case.solve.effort, case.solve.backend) for case in found.cases] == [
        (("greedy",), 3, "auto"), (("eft",), 2, "none"),
    ]  # fmt: skip
    assert (found.repeat, found.groups, found.plots[0].groups) == (4, {"a": "the first"}, ("a", "b"))


def test_instance_files_are_cases(tmp_path: Path) -> None:
    """A file, a pattern and a folder, from the folder of the suite's file; the family is that of their format."""
    for number in range(2):
        family, day = find_suite(f"day:tasks=3,slots=6,nodes=1,start=60,seed={number}")
        generate_cases(family, day.cases, tmp_path / f"{number}")
        [file] = (tmp_path / f"{number}").iterdir()
        file.rename(tmp_path / f"day{number}.json.gz")
    head = '[[instance]]\nrecipe = "file"\npath = '
    for path in ('"."', '"day*.json.gz"', '["day0.json.gz", "day1.json.gz"]'):
        family, found = suite_of(tomllib.loads(head + path), "my.toml", tmp_path, families())
        assert family.name == "lora"
        assert [case.name for case in found.cases] == ["day0", "day1"]
        assert [family.generate(case.recipe).tasks for case in found.cases] == [3, 3]
    with pytest.raises(InputError, match=r"instance\[0\]\.path: 'none\*': there is no such file"):
        suite_of(tomllib.loads(head + '"none*"'), "my.toml", tmp_path, families())
    (tmp_path / "bad.json").write_text('{"format": "ratiobench/lora/1", "name": ""}')
    with pytest.raises(InputError, match=r"bad\.json: "):
        suite_of(tomllib.loads(head + '"bad.json"'), "my.toml", tmp_path, families())


BAD = [
    ("", "instance: the field is missing"),
    ("instance = 3", "instance: 3 is not a list"),
    ("instance = [3]", "instance[0]: 3 is not an object"),
    ("[[instance]]", "instance[0].recipe: the field is missing"),
    ('[[instance]]\nrecipe = "dya"', "instance[0].recipe: 'dya' is no recipe; known: "),
    ('[[instance]]\nrecipe = "day"\n[[instance]]\nrecipe = "users"', "instance[1].recipe: 'users' is a recipe of"),
    ('[[instance]]\nrecipe = "day"\ntask = 3', "instance[0].task: unknown key; known: "),
    ('[[instance]]\nrecipe = "day"\nalgorithm = []', "instance[0].algorithm: unknown key; known: "),
    ('[[instance]]\nrecipe = "day"\ntasks = 1.5', "instance[0].tasks: 1.5 is not an integer in 0..1000000"),
    ('[[instance]]\nrecipe = "day"\ntasks = [1, "x"]', "instance[0].tasks: 'x' is not an integer"),
    ('[[instance]]\nrecipe = "day"\ntasks = []', "instance[0].tasks: an empty list"),
    ('[[instance]]\nrecipe = "day"\ntasks = 5\nmean = 5', "instance[0].tasks: both tasks and"),
    ('[[instance]]\nrecipe = "day"\nday = "2017-01-01"', "instance[0]: trace philly: day: '2017-01-01' is not shipped"),
    ('[[instance]]\nrecipe = "day"\nquiet = 144', "instance[0].quiet: 144 is not in 0..143"),
    ('[[instance]]\nrecipe = "day"\nprices = "2016-02-12"', "instance[0].prices: '2016-02-12' is not one of 2017"),
    ('[[instance]]\nrecipe = "day"\ndays = 8\nslot = 1', "instance[0].days: 8 days of slots of 1 min are 11520"),
    ('[[instance]]\nrecipe = "day"\nname = "a/b"', "instance[0].name: 'a/b' is no name for a file"),
    ('[[instance]]\nrecipe = "day"\nname = "{nodes}"', "instance[0].name: '{nodes}' stands for nothing; known: "),
    ('[[instance]]\nrecipe = "day"\nseed = "{run}"', "instance[0].seed: '{run}' stands for nothing"),
    ('[[instance]]\nrecipe = "day"\nname = "a"\nseed = [1, 2]', "instance[0].name: two cases are called 'a'"),
    ('[[instance]]\nrecipe = "day"\nruns = 0', "instance[0].runs: 0 is not in 1..1000"),
    ('[[instance]]\nrecipe = "lead"\nL = 3\nruns = 2', "instance[0].runs: no value has {run} in it"),
    ('[[instance]]\nrecipe = "day"\nruns = [{ tasks = [1, 2] }]', "instance[0].runs[0].tasks: a list of 2: one value"),
    (
        '[[instance]]\nrecipe = "day"\ntasks = [1, 2]\nruns = [{ tasks = 3 }]',
        "instance[0].runs[0].tasks: a list makes a",
    ),
    ('[[instance]]\nrecipe = "day"\nprior.tasks = "x"', "instance[0].prior.tasks: 'x' is not an integer"),
    ('[[instance]]\nrecipe = "day"\nvendors = 2\nvendors.count = 3', "not TOML"),
    ('[[instance]]\nrecipe = "paper"\nnodes = 2\n"nodes.a100" = 3', "instance[0].nodes.a100: `nodes.a100` and `nodes`"),
    ('[[instance]]\nrecipe = "named"\ninstance = "x"', "instance[0].instance: in eapm: 'x' is not one of"),
    (
        '[[instance]]\nrecipe = "named"\ninstance = "load_blind"',
        "instance[0].instance: in tenants: 'load_blind' is not known; did you mean 'load_blinds'?",
    ),
    ('[[instance]]\nrecipe = "named"', "instance[0].instance: "),
    ('[[instance]]\nrecipe = "file"', "instance[0].path: "),
    ('colour = 1\n[[instance]]\nrecipe = "day"', "colour: unknown key; known: algorithms, backend, "),
    (
        'family = "lorra"\n[[instance]]\nrecipe = "day"',
        "family: 'lorra' is not one of cluster, eapm, edgeflow, lora, tenants; did you mean 'lora'?",
    ),
    ('family = "eapm"\n[[instance]]\nrecipe = "day"', "instance[0].recipe: 'day' is no recipe of eapm"),
    ('name = "fig9"\n[[instance]]\nrecipe = "day"', "name: 'fig9' is the name of a suite"),
    ('name = "../x"\n[[instance]]\nrecipe = "day"', "name: '../x' is no name for a file"),
    ('gap = nan\n[[instance]]\nrecipe = "day"', "gap: NaN is not in 0..0.999"),
    ('formulation = "x"\n[[instance]]\nrecipe = "day"', "formulation: 'x' is not one of auto, "),
    (
        'backend = "hihgs"\n[[instance]]\nrecipe = "day"',
        "backend: of formulation auto: 'hihgs' is not one of auto, none, cpsat, highs, cbc, scip, gurobi; "
        "did you mean 'highs'?",
    ),
    (
        'formulation = "tight"\n[[instance]]\nrecipe = "day"\nbackend = "cpsat"',
        "instance[0].backend: of formulation tight: 'cpsat' is not one of auto, highs, cbc, scip, gurobi",
    ),
    ('groups = 3\n[[instance]]\nrecipe = "day"', "groups: 3 is not an object"),
    ('[[instance]]\nrecipe = "day"\n[[plot]]\ntitle = "x"', "plot[0].name: the field is missing"),
    ('[[instance]]\nrecipe = "day"\n[[plot]]\nname = "x"\ngroups = ["b"]', "plot[0].groups: 'b' is not one of all"),
    (
        '[[instance]]\nrecipe = "day"\n[[plot]]\nname = "x y"',
        "plot[0].name: 'x y' is not a name of letters, digits, _ and -",
    ),
    ('[[instance]]\nrecipe = "day"\n[[plot]]\nname = "x"\n[[plot]]\nname = "x"', "plot[1].name: 'x' is given twice"),
    (
        '[[instance]]\nrecipe = "day"\n[[plot]]\nname = "x"\nkind = "welfre"',
        "plot[0].kind: 'welfre' is not known; did you mean 'welfare'? Known: welfare, reached, ratio, revenue, ",
    ),
    (
        '[[instance]]\nrecipe = "day"\n[[plot]]\nname = "x"\nkind = "curve"',
        "plot[0].kind: 'curve' shows studies, and no instance has",
    ),
    (
        '[[instance]]\nrecipe = "users"\n[[plot]]\nname = "x"\nkind = "charges"',
        "plot[0].kind: 'charges' is not one of welfare, reached, ratio, revenue, admitted, seconds, deciding, "
        "leaderboard, sweep, energy and 3 more",
    ),
    ('[[instance]]\nrecipe = "day"\n[[plot]]\nname = "profile"', "plot[0].name: 'profile' is the name of another file"),
    ('groups.al = "x"\n[[instance]]\nrecipe = "day"', "groups.al: no group; known: all; did you mean 'all'?"),
    (
        '[[instance]]\nrecipe = "day"\n[[instance.study]]\nkind = "chargs"\nalgorithm = "greedy"',
        "instance[0].study[0].kind: 'chargs' is not one of curve, charges; did you mean 'charges'?",
    ),
    (
        '[[instance]]\nrecipe = "day"\n[[instance.study]]\nkind = "curve"\nalgorithm = "greedy"',
        "instance[0].study[0].task: the key is missing",
    ),
    (
        '[[instance]]\nrecipe = "day"\n[[plot]]\nname = "x"\n[[plot.printed]]\ngroup = "all"\n'
        'algorithm = "greedy"\nthan = "eft"\npercent = "much"',
        "plot[0].printed[0].percent: 'much' is not a number as text",
    ),
    ("[[instance]\n", "not TOML"),
    ("\x00", "not TOML"),
]


@pytest.mark.parametrize(("text", "told"), BAD, ids=[told[:40] for _, told in BAD])
def test_what_cannot_be_used_is_one_line(text: str, told: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """File, key and value; status 2; nothing is written."""
    Path("my.toml").write_text(text)
    line = refused(capsys, "generate", "my.toml", "--out", "new")
    assert line.startswith(f"ratiobench: my.toml: {told}"), line
    assert len(line) < 1800
    assert [path.name for path in here.iterdir()] == ["my.toml"]


@pytest.mark.parametrize(
    ("algorithm", "told"),
    [
        ("gredy", "algorithms: gredy: no algorithm of this name; did you mean 'greedy'? "),
        ("pdftsp:serch=exact", "algorithms: pdftsp:serch: no such option"),
        ("pdftsp:prior=yesterday", "algorithms: 'pdftsp:prior=yesterday': the case trace philly, tasks 4 has no other"),
    ],
)
def test_an_algorithm_of_a_file_is_refused_before_anything_runs(
    algorithm: str, told: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("my.toml").write_text(SMALL.replace("greedy", algorithm))
    assert refused(capsys, "run", "my.toml", "--out", "out").startswith(f"ratiobench: my.toml: {told}")
    assert [path.name for path in here.iterdir()] == ["my.toml"]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (
            "algorithms = ['gredy']",
            "plot[0].algorithms: 'gredy' is run in no case; run are greedy; did you mean 'greedy'?",
        ),
        ("hindsight = [{ label = 'best', algorithms = ['eft'] }]", "plot[0].hindsight: 'eft' is run in no case"),
    ],
)
def test_a_figure_of_what_is_not_run_is_refused_before_anything_runs(
    lines: str, told: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written; with `--algorithm` it may be run after all, so `generate` takes the file."""
    Path("my.toml").write_text(f'{SMALL}[[plot]]\nname = "x"\n{lines}\n')
    assert refused(capsys, "run", "my.toml", "--out", "out").startswith(f"ratiobench: my.toml: {told}")
    assert [path.name for path in here.iterdir()] == ["my.toml"]
    require_shown(suite(Path("my.toml").read_text()), ["gredy", "eft"])


@pytest.mark.parametrize("family", families().values(), ids=list(families()))
def test_names_that_files_may_use_are_those_that_there_are(family: Any) -> None:
    """Of quantities, kinds of figures, measures and studies: each is a kind that a figure can have."""
    assert (tuple(means.QUANTITIES), set(KINDS)) == (QUANTITIES, {*STUDIED, LEADERBOARD, SWEEP})
    shipped = family.recipes().get("named")
    recipe = {"kind": "named", "name": shipped.keys[0].kind.options[0]} if shipped else {"kind": "month", "jobs": 20}
    instance = family.generate(recipe)
    known = [each.name for each in family.algorithms()]
    found = family.measures(instance, family.run(instance, "greedy" if "greedy" in known else known[0]), ())
    # Some instances have the first of them only.
    assert tuple(found) == tuple(family.measure_names)[: len(found)]
    assert set(family.study_kinds) <= set(STUDIED)


def test_every_bad_value_of_every_key_is_named() -> None:
    named = 0
    for family in families().values():
        for form in family.recipes().values():
            for key in form.keys:
                for bad in ("-7", "0.001x", "x" * 500):
                    line = _complaint(f"{form.name}:{key.name}={bad}")
                    assert len(line) < 1700
                    # Texts may be anything, and a recipe may miss another key that it needs.
                    named += line.startswith(f"{form.name}: {key.name}") and bad[:40] in line
    assert named > 200


def _complaint(words: str) -> str:
    """What is said of a suite or recipe that cannot be used; empty of one that can."""
    try:
        find_suite(words)
    except InputError as error:
        return str(error) if error.source else "NO SOURCE"
    return ""


def test_hundreds_of_accidents_end_in_one_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Recipes and files: valid after all, or status 2, one line of bounded length, and nothing written."""
    random_ = random.Random(15)
    recipes = [
        "day:trace=philly,tasks=5,nodes=1,slots=6,start=60,seed=1", "lead:L=3,n=2", "paper:nodes.a40=1,tasks=3,slots=4",
        "users:users=3,matrix.method=range", "named:instance=tiny_vendors",
    ]  # fmt: skip
    wrong = 0
    for turn in range(samples(600)):
        if turn % 2:
            given = mutate(random_.choice(recipes), random_)
            words = given
        else:
            given = mutate(SMALL, random_)
            Path("my.toml").write_bytes(given.encode(errors="surrogatepass"))
            words = "my.toml"
        line = _complaint(words)
        wrong += bool(line)
        assert not line or line.isprintable(), (given, line)
        assert len(line) < 1700, given
        assert "NO SOURCE" not in line, given
        if turn % 10 == 0 and line:
            assert refused(capsys, "generate", words, "--out", "out") == f"ratiobench: {line}\n"
        assert {path.name for path in here.iterdir()} <= {"my.toml"}, given
    assert wrong > of_sample(300, 600)
    line = refused(capsys, "generate", "day:tasks=x", "--out", "out")
    assert line == "ratiobench: day: tasks: 'x' is not an integer in 0..1000000\n"


def test_no_key_of_a_recipe_is_one_of_the_cases() -> None:
    shared = {*InstanceTable.__struct_fields__}
    for family in families().values():
        for form in family.recipes().values():
            assert not shared & {key.name.partition(".")[0] for key in form.keys}
            assert len({key.name for key in form.keys}) == len(form.keys)


def test_nothing_is_left_of_a_file_whose_last_instance_fails(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An error that only the making of the second instance shows leaves no first one, and what was there."""
    Path("log.csv").write_text("timestamp\n2017-08-07 00:05:00\n")
    text = '[[instance]]\nrecipe = "day"\nslots = 3\nname = "a"\n[[instance]]\nrecipe = "day"\nname = "b"\n' + (
        'file = "log.csv"\nday = 2017-08-07\ntasks = 5\nstart = 10\nslots = 11\n'
    )
    Path("my.toml").write_text(text)
    line = refused(capsys, "generate", "my.toml", "--out", "new")
    assert "no submissions in slots 10..20 of 2017-08-07" in line
    assert not Path("new").exists()
    Path("old").mkdir()
    Path("old/a.json.gz").write_text("mine")
    assert refused(capsys, "generate", "my.toml", "--out", "old")
    assert [(path.name, path.read_text()) for path in Path("old").iterdir()] == [("a.json.gz", "mine")]


def test_a_recipe_on_the_command_line_is_an_instance(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`day` is the generator `paper` under short names; lists are A-B and A+B."""
    out = tmp_path / "out"
    words = "day:trace=philly,tasks=9,a100=1,slots=6,start=60,deadlines=100-200,batch=2+4,seed=x"
    [made] = json_of(capsys, "generate", words, "--out", str(out))
    family = families()["lora"]
    recipe = {
        "kind": "paper", "arrivals": {"trace": "philly"}, "tasks": 9, "nodes": {"a100": 1}, "slots": 6, "start": 60,
        "deadlines": [100, 200], "batch": [2, 4], "seed": "x",
    }  # fmt: skip
    assert made["instance"] == family.identity(family.generate(recipe))
    assert Path(made["file"]).is_file()


def test_generate_as_a_function() -> None:
    """Of a recipe with its keys, of text, of a suite: the instances by name."""
    [(name, day)] = ratiobench.generate("day", tasks=9, nodes=1, slots=6, start=60, vendors={"percent": 100}).items()
    text = "day:tasks=9,nodes=1,slots=6,start=60,vendors.percent=100"
    assert (name, day.tasks) == ("day", 9)
    family = families()["lora"]
    assert [family.identity(each) for each in ratiobench.generate(text).values()] == [family.identity(day)]
    grid = ratiobench.generate("day", tasks=[3, 4], nodes=1, slots=6, start=60)
    assert {name: each.tasks for name, each in grid.items()} == {"tasks 3": 3, "tasks 4": 4}
    assert list(ratiobench.generate("tiny", only="tiny_vend*")) == ["tiny_vendors"]
    with pytest.raises(InputError, match=r"^day: task: unknown key; known: .*; did you mean 'tasks'"):
        ratiobench.generate("day", task=3)


def test_a_warning_stands_where_prices_begin_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "day:tasks=3,days=7,slot=60,nodes=1", "--out", str(tmp_path / "w")]) == 0
    assert capsys.readouterr().err.endswith(": The 5 shipped days of prices of PJM begin again.\n")


def test_list_recipes_has_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    """Unit, range, default and meaning; as JSON as well."""
    text = printed(capsys, "list", "recipes")
    found = {(each["family"], each["name"]): each for each in json_of(capsys, "list", "recipes")}
    for family in families().values():
        for form in family.recipes().values():
            assert [row["name"] for row in found[family.name, form.name]["keys"]] == [key.name for key in form.keys]
    line = next(line for line in text.splitlines() if line.split()[:1] == ["slot"])
    assert line.split() == ["slot", "minutes", "1..60", "10", "length", "of", "a", "slot"]


def test_list_with_a_name_has_it_alone(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "list", "recipes", "lead")
    assert text.startswith("lora:\n\n  lead: ")
    assert "day: " not in text
    assert printed(capsys, "list", "recipes", "file").count("  file: ") == len(families())
    assert [each["name"] for each in json_of(capsys, "list", "algorithms", "greedy")] == ["greedy"] * 3
    line = refused(capsys, "list", "recipes", "leed")
    assert line.startswith("ratiobench: list recipes: 'leed' is not known; did you mean 'lead'? `list recipes` ")


def test_long_names_of_a_grid_are_cut_and_differ(tmp_path: Path) -> None:
    """What the grid makes fits a file's name; a name of one's own stands as it is."""
    long = "\n".join(f"{key} = [{low}, {low + 1}]" for key, low in (("data", 5000), ("tasks", 3), ("seed", 10**9)))
    head = "[[instance]]\nrecipe = 'day'\nslots = 6\nstart = 60\nnodes = 1\nvendors.percent = [10, 20]\n"
    more = "trace = ['philly', 'pai']\n"
    many = names(
        head + more + long.replace("data = [5000, 5001]\n", "") + "\nvendors.delay = [[1, 8], [10, 80]]\n"
        "vendors.per_1000 = [[40, 160], [50, 160]]\nbids.per_1000 = [[60, 360], [70, 370]]\n"
    )
    assert len(set(many)) == len(many) == 128
    assert max(len(name.encode()) for name in many) == 100
    assert shorten_name("a" * 100) == "a" * 100
    assert shorten_name("ä" * 60 + "b") != shorten_name("ä" * 60 + "c")
    assert len(shorten_name("ä" * 60 + "b").encode()) <= 100


@pytest.mark.usefixtures("toy")
def test_a_file_is_run_resumed_reported_and_compared(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Like a suite of the house: a folder of its own, words of its groups, what is there stays; of any family."""
    assert main(["generate", "toy", "--out", "days"]) == 0
    three = sorted(path.name for path in Path("days").iterdir())[:3]
    text = 'algorithms = ["first"]\ngroups = { all = "my days" }\n[[instance]]\nrecipe = "file"\npath = %s\n' + (
        '[[plot]]\nname = "shares"\nkind = "reached"\n'
    )
    Path("mine.toml").write_text(text % json.dumps([f"days/{name}" for name in three[:2]]))
    assert "my days, " in " ".join(printed(capsys, "run", "mine.toml", "--workers", "1", "--quiet").split())
    folder = Path("results/mine")
    assert (folder / "figures" / "shares-all.svg").is_file()
    assert "python -m ratiobench run mine.toml" in (folder / "report.html").read_text()
    before = (folder / "results.csv").read_bytes()
    Path("mine.toml").write_text(text % json.dumps([f"days/{name}" for name in three]))
    monkeypatch.setenv("TOY_LOG", str(here / "log.txt"))
    assert main(["run", "mine.toml", "--workers", "1", "--quiet"]) == 0
    assert (folder / "results.csv").read_bytes().startswith(before)
    assert len((folder / "results.csv").read_text().splitlines()) == 4
    solved = [line for line in Path("log.txt").read_text().splitlines() if line.startswith("opt")]
    assert len(solved) == 1
    assert "my days, " in " ".join(printed(capsys, "report", str(folder)).split())
    assert main(["compare", str(folder), str(folder)]) == 0
    Path("mine.toml").write_text((text % '"days"').replace('algorithms = ["first"]\n', ""))
    line = refused(capsys, "run", "mine.toml", "--workers", "1", "--quiet", "--out", "none")
    assert "mine.toml: algorithms: nothing is to be run" in line
    assert not Path("none").exists()
