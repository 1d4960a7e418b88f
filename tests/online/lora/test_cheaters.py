"""Anyone's algorithms under the referee: honest ones pass, and whoever breaks a rule is caught and named."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ratiobench import instances
from ratiobench.bench.lora import FAMILY
from ratiobench.instances.io import packing
from ratiobench.instances.io.errors import DEBUG, InputError
from ratiobench.instances.lora import Instance, content_hash, write
from ratiobench.instances.lora.generate import generate
from ratiobench.online.lora.registry import canonical
from ratiobench.online.lora.run import run
from ratiobench.online.lora.simulator import Simulator
from ratiobench.online.outcome import Source
from ratiobench.online.referee import bounds, user_run
from ratiobench.online.referee.simulator import ARRIVAL, RuleViolation
from tests.support.contest import assert_sound, first_violation, small_contest
from tests.support.contestants import Answers


def test_an_honest_algorithm_passes(instance: Instance) -> None:
    """Welfare by the verifier, the import path as its name, the file's hash as its version, no constants."""
    result = run(instance, "tests.support.contestants:Honest")
    assert_sound(instance, result)
    assert result.admitted > 2
    assert (result.algorithm, result.label, result.constants) == ("tests.support.contestants:Honest",) * 2 + ((),)
    assert canonical(result.algorithm) == f"{result.algorithm} version {result.version}"


def test_an_honest_batch_algorithm_passes_with_options_label_and_counts(instance: Instance) -> None:
    """Options go to the constructor; the label stands behind the name, on one line, and cannot replace it."""
    result = run(instance, "tests.support.contestants:HonestBatch:keen=yes")
    assert_sound(instance, result)
    assert result.label == "tests.support.contestants:HonestBatch:keen=yes (keen=yes second line)"
    assert (result.admitted, result.counts) == (2, {"slots": 2})


def test_numpy_answers_own_files_and_printing_are_honest(
    instance: Instance, folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Own weights are read before the start, a log is written; what it prints goes to the error stream, always."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    (folder / "weights.json").write_text("3")
    result = run(instance, "tests.support.contestants:HonestNumpy")
    assert_sound(instance, result)
    assert [d and d[:2] for d in result.decisions] == [
        d and d[:2] for d in run(instance, "tests.support.contestants:Honest").decisions
    ]
    assert result.revenue == 3 * result.admitted
    printed = capfd.readouterr()
    assert printed.out == ""
    assert '{"welfare": 10}\ndeciding 0\n' in printed.err


def test_declared_constants_are_given_with_their_source(instance: Instance, tmp_path: Path) -> None:
    path = "tests.support.contestants:Declares"
    result = run(instance, path)
    assert result.label == f"{path} (9 27/2)"
    assert [c.source for c in result.constants] == [Source.ORACLE, Source.ORACLE]
    write(small_contest(2), tmp_path / "other.json")
    result = run(instance, f"{path}:alpha=7/2,prior={tmp_path / 'other.json'}")
    assert result.label.endswith("(7/2 21/2)")
    assert [c.source for c in result.constants] == [Source.GIVEN, Source.PRIOR]
    write(instance, tmp_path / "same.json")
    result = run(instance, f"{path}:prior={tmp_path / 'same.json'}")
    assert [c.source for c in result.constants] == [Source.ORACLE, Source.ORACLE]


CHEATERS: dict[str, tuple[str, int | None]] = {
    "OverbooksCompute": ("4f", 2),
    "UnknownVendor": ("4j", 0),
    "TooEarly": ("4c", 1),
    "TooLate": ("4d", 0),
    "HalfDone": ("4e", 0),
    "ChangesItsMind": ("changed decision", 0),
    "ShiftingTuple": ("changed decision", 0),
    "DecidesForOthers": ("protocol", 0),
    "TooManyAnswers": ("protocol", 0),
    "WritesToTheView": ("read-only", 0),
    "WritesToTheTask": ("read-only", 0),
    "Raises": ("error", 1),
    "RaisesInTheHouse": ("error", 0),
    "Interrupts": ("error", 0),
    "Exits": ("error", 0),
    "Dies": ("crash", 0),
    "ReadsData": ("peeks", 0),
    "ReadsByCommand": ("peeks", 0),
    "ReadsTheCommandLine": ("peeks", None),
    "ReplacesTheWatch": ("peeks", 0),
    "LooksAroundAtTheStart": ("peeks", None),
    "ReachesForMemory": ("peeks", None),
    "TooManyCells": ("protocol", 0),
}


@pytest.mark.parametrize("name", CHEATERS)
def test_a_cheater_is_caught_and_named(instance: Instance, name: str) -> None:
    assert first_violation(instance, name)[:2] == CHEATERS[name]


@pytest.mark.parametrize("name", ["Raises", "RaisesInTheHouse", "Interrupts", "Exits"])
def test_an_error_is_one_line_with_the_place_in_the_algorithms_own_file(
    name: str, instance: Instance, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The last line of its own code, also where ours raised it; a traceback when asked for, and only then."""
    source = (Path(__file__).parents[2] / "support" / "contestants.py").read_text(encoding="utf-8").splitlines()
    begin = source.index(f"class {name}(Honest):")
    guilty = ("raise ", "return view.room", "sys.exit")
    line = next(n for n, text in enumerate(source[begin:], begin + 1) if text.strip().startswith(guilty))
    _, _, detail = first_violation(instance, name)
    assert detail.endswith(f"(tests/support/contestants.py:{line})")
    assert "\n" not in detail
    assert "Traceback" not in capfd.readouterr().err
    monkeypatch.setenv(DEBUG, "1")
    first_violation(instance, name)
    shown = capfd.readouterr().err
    assert shown.count("Traceback") == 1
    assert f'contestants.py", line {line}, in decide' in shown


def test_what_cannot_be_built_is_found_before_any_work(instance: Instance) -> None:
    for name, words in {
        "tests.support.contestants:Nobody": "has no attribute",
        "tests.support.contestants:BadConstructor": "TypeError",
        "tests.support.contestants:Honest:alpha=2": "declares no such constant",
    }.items():
        with pytest.raises(InputError, match=words):
            FAMILY.validate_algorithm(name)
    FAMILY.validate_algorithm("tests.support.contestants:Honest")
    assert FAMILY.algorithm_key("tests.support.contestants:Honest") == canonical("tests.support.contestants:Honest")


def test_overbooked_memory_is_caught_as_such() -> None:
    """Tasks of 5 MB: two fit by compute, one by memory."""
    assert first_violation(small_contest(memory_mb=5, vendors=[]), "OverbooksCompute")[:2] == ("4g", 1)


def test_a_vendor_after_the_last_is_caught(instance: Instance) -> None:
    """Where the task has vendors the index is out of range; decisions before the foul stand, later ones are void."""
    only = small_contest(vendors=[{"price": 2, "delay": 1}])
    assert first_violation(only, "UnknownVendor")[:2] == ("4h", 0)
    result = run(instance, "tests.support.contestants:OverbooksCompute")
    assert [i for i, decision in enumerate(result.decisions) if decision is not None] == [0, 1]


@pytest.mark.parametrize(
    ("odd", "wrong"),
    [("text", "not (vendor, cells, payment)"), ("generator", "are no list"), ("floats", "node 0.0 is not an integer"),
     ("nan", "payment nan is not an integer"), ("payment", f"payment 1{'0' * 30} is beyond {2**54}"),
     ("huge", "payment a int is beyond"), ("true", "slot True is not an integer"),
     ("pair", "not (vendor, cells, payment)"), ("triples", "cell (0, 1, 2) is not (node, slot)"),
     ("nothing", "not (vendor, cells, payment)"), ("object", "not (vendor, cells, payment)"),
     ("text_inside", "cells 01 are no list"),
     ("half_a_coin", "payment 12.5 is not an integer")],
)  # fmt: skip
def test_an_answer_that_is_no_decision_is_named(instance: Instance, odd: str, wrong: str) -> None:
    """One-shot generators, floats, NaN, booleans and numbers without end included; with the part that is wrong."""
    rule, task, detail = first_violation(instance, f"Answers:odd={odd}")
    assert (rule, task) == ("protocol", 0)
    assert "no Decision" in detail
    assert wrong in detail
    assert len(detail) < 250
    # Alike without the way through a process.
    near = Answers({"odd": odd}).decide(None, None)  # type: ignore[arg-type]
    with pytest.raises(RuleViolation) as caught:
        Simulator(instance, "").copied(ARRIVAL, 0, near)
    assert wrong in caught.value.detail


def test_an_option_that_nobody_reads_is_refused(instance: Instance) -> None:
    """A misspelt one, beside those that are read with `[]`, `get` or as a whole, in the constructor or in `start`."""
    with pytest.raises(InputError, match=r"Reads:marign: neither the constructor nor `start` reads this option"):
        run(instance, "tests.support.contestants:Reads:how=get,margin=3,marign=4")
    with pytest.raises(InputError, match=r"Reads:margin"):
        run(instance, "tests.support.contestants:Reads:how=none,margin=3")
    for how in ("get", "start", "all", "copy", "in"):
        assert run(instance, f"tests.support.contestants:Reads:how={how},margin=3").valid


@pytest.mark.parametrize("line", ["garbage", "list", "deep", "digits", "empty", "text", "end", "cells"])
def test_lines_slipped_into_the_pipe_break_the_protocol(instance: Instance, line: str) -> None:
    """Whatever they are, they are read as JSON and checked; nothing of them is run or trusted."""
    assert first_violation(instance, f"WritesToThePipe:line={line}")[:2] == ("protocol", 0)


def test_the_base_of_an_array_leads_nowhere(instance: Instance) -> None:
    """The rates and costs that arrive are no window on a larger table."""
    assert_sound(instance, run(instance, "tests.support.contestants:PeeksThroughBase"))


def test_an_unseeded_draw_draws() -> None:
    """32 coins: the chance that two runs agree on the first 16 is one in 65,536."""
    rule, _, detail = first_violation(small_contest(32, vendors=[]), "DrawsWithoutSeed")
    assert rule == "draws"
    assert detail == "a second run answers differently: it draws from a source without a seed"


@pytest.mark.parametrize(("odd", "rule", "runs"), [("3", "draws", 3), ("2+4", "draws", 4), ("2", "peeks", 5)])
def test_runs_that_agree_by_chance_are_repeated(
    instance: Instance, folder: Path, monkeypatch: pytest.MonkeyPatch, odd: str, rule: str, runs: int
) -> None:
    """Of an algorithm that drew, two equal runs prove nothing: neither that it is reproducible nor that it peeks."""
    monkeypatch.setattr(user_run, "REPEATS", 3)
    monkeypatch.setattr(user_run, "usable_threads", lambda: 1)  # one after another: they count
    assert first_violation(instance, f"DrawsByChance:odd={odd}")[:2] == (rule, 0)
    assert len((folder / "runs").read_text()) == runs


@pytest.mark.parametrize(("code", "drew"), [
    ("np.random.seed(1); np.random.rand(); random.seed(1); random.random()", False),
    ("np.random.rand()", True), ("random.random()", True),
    ("np.random.rand(); np.random.seed(1)", True), ("random.random(); random.seed(1); np.random.seed(1)", True),
])  # fmt: skip
def test_a_draw_is_noticed_unless_it_was_seeded_before(code: str, drew: bool) -> None:
    """In a process of its own, whose generators are replaced."""
    boot = "import random; import numpy as np; from ratiobench.online.referee import watch; "
    boot += f"drew = watch.listen_for_draws(); {code}; print(drew())"
    done = subprocess.run([sys.executable, "-c", boot], capture_output=True, text=True, check=True)
    assert done.stdout == f"{drew}\n"


def test_seeded_draws_are_reproducible(instance: Instance, folder: Path) -> None:
    assert_sound(instance, run(instance, "tests.support.contestants:DrawsWithSeed"))
    assert (folder / "runs").read_text() == "xx"


def test_memory_between_runs_is_not_reproducible(instance: Instance, folder: Path) -> None:
    """Notes of an earlier run change the answers of the next."""
    assert first_violation(instance, "LearnsFromItsLastRun")[:2] == ("not reproducible", 0)
    assert (folder / "notes").exists()


def test_answers_that_depend_on_later_arrivals_peek(
    instance: Instance, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole runs agree, and the run without the later arrivals does not."""
    monkeypatch.setattr(user_run, "REPEATS", 1)
    monkeypatch.setattr(user_run, "usable_threads", lambda: 1)  # one after another: they count
    rule, task, detail = first_violation(instance, "EveryOtherRun")
    assert (rule, task) == ("peeks", 0)
    assert detail == "the answer differs when later arrivals are taken away"
    assert (folder / "runs").read_text() == "xxx"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("ReadsTheInstance", "day.json"),
        ("ReadsTheInstance", "day.json.gz"),
        ("ReadsTheInstance", "day.txt"),
        ("ReadsTheInstance", "day.cert"),
        ("ReadsTheInstance", "certificate.txt"),
        ("ReadsTheInstance", "results.sqlite"),
        ("ReadsTheInstanceAtStart", "day.json"),
        ("ReadsTheInstanceByCommand", "day.json"),
    ],
)
def test_reading_the_instance_before_the_start_is_peeking(
    instance: Instance, tmp_path: Path, name: str, file: str
) -> None:
    """Known by its content: under any file name, in gzip, packed, and stored results and certificates with its hash."""
    if file == "results.sqlite":
        (tmp_path / file).write_bytes(b"SQLite format 3\x00..." + content_hash(instance).encode())
    elif file == "certificate.txt":
        (tmp_path / file).write_bytes(packing.pack({"format": "x", "instance": content_hash(instance)}))
    else:
        write(instance, tmp_path / file)
    rule, _, detail = first_violation(instance, f"{name}:file={tmp_path / file}")
    assert rule == "peeks"
    assert file in detail


def test_the_certificates_of_a_standard_set_are_out_of_bounds(instance: Instance) -> None:
    file = Path(__file__).parents[3] / "bench" / "standard" / "R1" / "tiny_vendors.cert"
    assert file.exists()
    rule, _, detail = first_violation(instance, f"ReadsTheInstance:file={file}")
    assert rule == "peeks"
    assert "tiny_vendors.cert" in detail


def test_another_instance_may_be_read_before_the_start(instance: Instance, tmp_path: Path) -> None:
    write(small_contest(4), tmp_path / "yesterday.json")
    result = run(instance, f"tests.support.contestants:ReadsTheInstance:file={tmp_path / 'yesterday.json'}")
    assert_sound(instance, result)


def test_drawing_the_instance_once_more_is_peeking() -> None:
    """A recipe that reads no data file, matched by the first task; the solver's solution would be the decisions."""
    instance = generate({"kind": "family", "name": "lead", "L": 4})
    rule, task, detail = first_violation(instance, "RegeneratesTasks")
    assert (rule, task) == ("peeks", 0)
    assert "ratiobench.instances.lora.generate" in detail


WAYS = ("statement", "from", "importlib", "runpy", "loader", "source", "descriptor", "compiled", "command", "shell")


@pytest.mark.parametrize("module", ["ratiobench.instances.lora.generate", "ratiobench.bench.lora.suites"])
@pytest.mark.parametrize("way", WAYS)
def test_what_makes_instances_is_out_of_bounds(instance: Instance, way: str, module: str) -> None:
    """Loaded or read while deciding, by whatever means: the module is named, or the package that it is in."""
    rule, task, detail = first_violation(instance, f"Snoops:when=decide,way={way},module={module}")
    assert (rule, task) == ("peeks", 0)
    assert re.search(r"(loads|reads the code of|names) ([\w.]+): what can make the instance", detail)
    assert (module if ".instances." in module or way == "source" else "ratiobench.bench") in detail


@pytest.mark.parametrize("when", ["build", "start"])
@pytest.mark.parametrize("way", ["statement", "importlib", "source", "command"])
def test_what_makes_instances_is_out_of_bounds_before_the_first_arrival_too(
    instance: Instance, way: str, when: str
) -> None:
    rule, task, detail = first_violation(
        instance, f"Snoops:when={when},way={way},module=ratiobench.instances.lora.arrivals"
    )
    assert (rule, task) == ("peeks", None)
    assert "ratiobench.instances.lora.arrivals" in detail


@pytest.mark.parametrize(
    "module", ["ratiobench.instances.lora.generate", "ratiobench.bench", "ratiobench.bench.commands.solve"]
)
def test_an_algorithms_file_may_not_import_what_makes_instances(
    instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    """At its head, before anything of the algorithm has run; and it is a violation, no error of the command line."""
    (tmp_path / "mine.py").write_text(f"import {module}\nfrom tests.support.contestants import Honest\n")
    monkeypatch.chdir(tmp_path)
    FAMILY.validate_algorithm("mine:Honest")
    first = run(instance, "mine:Honest").violations[0]
    assert (first.rule, first.task) == ("peeks", None)
    assert module in first.detail


def test_every_generator_of_every_family_is_out_of_bounds_and_no_more_than_that() -> None:
    """By what imports what: nothing that a solver, an algorithm or the package itself needs is among them."""
    barred = set(bounds.list_barred())
    families = [path.parent.name for path in Path(instances.__file__).parent.glob("*/generate.py")]
    assert {"lora", "eapm"} <= set(families)
    for family in families:
        assert f"ratiobench.instances.{family}.generate" in barred
        assert not barred & {f"ratiobench.instances.{family}{part}" for part in ("", ".model", ".format")}
    assert "ratiobench.instances.lora.solution" not in barred
    assert {
        "ratiobench.bench",
        "ratiobench.bench.commands.solve",
        "ratiobench.instances.lora.constructions",
        "ratiobench.instances.lora.paper",
    } <= barred
    assert {"ratiobench.instances.eapm.generate", "ratiobench.instances.eapm.matrices"} <= barred
    assert {name.split(".")[1] for name in barred} == {"bench", "instances"}
    assert not barred & {"ratiobench.instances", "ratiobench.instances.io.errors", "ratiobench.instances.io.seeds"}
    assert all(Path(file).is_file() for file in bounds.list_barred().values())


def _imported_by_trees(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update((node.module, *(f"{node.module}.{alias.name}" for alias in node.names)))
    return found


def test_what_a_file_imports_is_what_its_syntax_tree_says() -> None:
    root = Path(instances.__file__).parents[1]
    barred = set(bounds.list_barred().values())
    files = [file for floor in ("formulations", "instances", "online") for file in (root / floor).rglob("*.py")]
    read = [file for file in files if str(file) not in barred]
    assert len(read) > 200
    assert [file for file in read if set(bounds._imported(file)) != _imported_by_trees(file)] == []


@pytest.mark.parametrize(
    "lines",
    [
        "from a.b import c, d as e",
        "from a import (\n    b,  # a bracket ( and )\n    c,\n)",
        "from a import b, \\\n    c",
        "if True: from a import b",
        "x = 1; import a",
        "import a.b, c as d; x = (1)",
        "def f():\n    from a import b; f(1)\n    import c",
        '"""\nimport of goods\nfrom here to there\n"""\nimport a',
        "from . import a\nfrom .b import c",
    ],
)
def test_what_a_file_imports_is_found_however_it_is_written(lines: str, tmp_path: Path) -> None:
    """A statement over several lines, several in a line, inside a function; text that looks like one is none."""
    file = tmp_path / "file.py"
    file.write_text(lines)
    assert set(bounds._imported(file)) == _imported_by_trees(file)


@pytest.mark.parametrize("ours", ["pdftsp", "eft"])
def test_algorithms_and_solvers_of_ours_may_be_used(instance: Instance, ours: str) -> None:
    """On what has arrived: found by name, built, asked; a solver solves a task alone, the verifier checks it."""
    result = run(instance, f"tests.support.contestants:BuildsOnOurs:ours={ours}")
    assert_sound(instance, result)
    assert result.decisions == run(instance, ours).decisions


def test_an_algorithm_of_ours_may_be_built_on_by_its_class(
    instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Imported from its module at the head of the file, and subclassed."""
    (tmp_path / "mine.py").write_text(
        "from ratiobench.online.lora.algorithms.pdftsp import PdFtsp\n"
        "from ratiobench.online.lora.registry import entries\n"
        "class Mine(PdFtsp):\n    def __init__(self):\n"
        "        super().__init__({k: option.default for k, option in entries()['pdftsp'].options.items()})\n"
    )
    monkeypatch.chdir(tmp_path)
    result = run(instance, "mine:Mine")
    assert_sound(instance, result)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tests.no_such_module:Honest", "there is no module 'tests.no_such_module'"),
        ("no_such_package.module:Honest", "there is no module"),
        ("../contestants:Honest", "there is no module"),
        ("tests.support.contestants:NoSuchClass", "AttributeError"),
        ("tests.support.contestants:BadConstructor", "TypeError"),
        ("tests.support.contestants:DeclaresNonsense", "declares the constant 'opt'"),
        ("tests.support.contestants:Honest:alpha=2", "declares no such constant"),
        ("tests.support.contestants:Declares:alpha=-1", "negative"),
        ("tests.support.contestants:Declares:alpha=x", "not a number"),
        ("tests.support.contestants:Declares:prior=no_such_file.json", "no_such_file.json"),
    ],
)
def test_what_cannot_be_built_is_an_input_error(instance: Instance, name: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        run(instance, name)
    assert "\n" not in str(caught.value)


def test_a_module_is_found_without_running_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Naming a version must not import a package into the referee's process; another file is another version."""
    package = tmp_path / "sneaky"
    package.mkdir()
    (package / "__init__.py").write_text("import sys\nsys.modules['referee_was_patched'] = sys\n")
    (package / "plan.py").write_text("raise RuntimeError\n")
    monkeypatch.chdir(tmp_path)
    first = canonical("sneaky.plan:Plan")
    assert "referee_was_patched" not in sys.modules
    assert "sneaky" not in sys.modules
    (package / "plan.py").write_text("raise ValueError\n")
    assert canonical("sneaky.plan:Plan") != first


def test_the_command_exits_with_2_for_a_class_that_does_not_exist(instance: Instance, tmp_path: Path) -> None:
    """One line on the error stream, nothing on the other; and 0 with the decisions for an honest one."""
    write(instance, tmp_path / "day.json")

    def online(name: str) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-m",
            "ratiobench",
            "simulate",
            str(tmp_path / "day.json"),
            "--json",
            "--algorithm",
            name,
        ]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3])

    bad = online("tests.support.contestants:NoSuchClass")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert len(bad.stderr.splitlines()) == 1
    good = online("tests.support.contestants:Honest")
    assert good.returncode == 0
    assert '"decisions"' in good.stdout
