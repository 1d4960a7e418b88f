"""Golden cases: interfaces. What users write and read: files, classes, packages, tables, command lines, sandboxes.

Files that a user would have written stand in `inputs`, as they were when the golden files were made.
"""

from __future__ import annotations

import contextlib
import csv
import ctypes
import gzip
import hashlib
import importlib.util
import inspect
import json
import math
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from ratiobench.formulations.processes import remove_tree
from tests.golden.case import Case, differences
from tests.golden.commands import call, document_of, start
from tests.support.queue_family import files_of_queue_family, write_queue_family

INPUTS = Path(__file__).parent / "inputs"
DOCUMENTED = Path(__file__).parents[2] / "docs" / "examples" / "policies"
STORED = Path(__file__).parent / "stored" / "interfaces.json"
# A suite of each family and one of its instances
FAMILIES = {
    "lora": ("tiny", "tiny_contention"),
    "eapm": ("eapm-named", "negative_opt"),
    "edgeflow": ("edgeflow-named", "edf_domino"),
    "tenants": ("tenants-named", "all_late"),
    "cluster": ("cluster-small", "wait, 60 jobs in 1 days, 1"),
}
# The columns of results.csv that are stored of a run
FIGURES = (
    "case", "algorithm", "state", "opt_lower", "opt_upper", "welfare", "revenue", "admitted", "ratio_lower",
    "ratio_upper", "constants_source",
)  # fmt: skip
# The class in the policy's file of each family
POLICIES = {"lora": "Threshold", "eapm": "Rate", "edgeflow": "LeastSlack", "tenants": "Insert", "cluster": "LeastFirst"}
# The instance of each environment
RECIPES = {
    "Lora": "day:trace=philly,tasks=30,nodes=2,slots=24,start=60",
    "Edgeflow": "gpu-day:jobs=30,gpus=16",
    "Tenants": "online:jobs=30",
    "Cluster": "month:days=1,nodes=1,jobs=16,load=400,seed=e",
}
STEPS = 50
ROUNDING = 1e-5  # Relative difference of sums over observations, which are numbers of 32 bits
PATIENCE = 300  # Seconds to wait for another process


def _stored(name: str) -> Any:
    """What is stored of a case, for what cannot be computed on this machine; says so."""
    print(f"  interfaces {name}: cannot be computed here, not compared", flush=True)
    return json.loads(STORED.read_text()).get(name) if STORED.exists() else None


def _inputs(folder: Path) -> Path:
    """Copy the inputs and the documentation's policies into the working folder, as a user's files are elsewhere."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(DOCUMENTED, folder / "inputs" / "policies", ignore=ignored, dirs_exist_ok=True)
    return Path(shutil.copytree(INPUTS, folder / "inputs", ignore=ignored, dirs_exist_ok=True))


def _instance(family: str, folder: Path) -> Path:
    suite, name = FAMILIES[family]
    answer = call("generate", suite, "--only", name, "--out", folder / family)
    if answer.status:
        raise RuntimeError(answer.err)
    return next((folder / family).iterdir())


def _rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "results.csv").open(newline="") as file:
        return [{name: row.get(name, "") for name in FIGURES} for row in csv.DictReader(file)]


def _table(results: Any) -> list[dict[str, str]]:
    return [{name: str(row.get(name)) for name in FIGURES} for row in results.exact.to_dict("records")]


def _finished(process: Any, name: str) -> str:
    """The standard output of a process that must end with status 0."""
    out, err = process.communicate(timeout=PATIENCE)
    if process.returncode:
        raise RuntimeError(f"{name}: status {process.returncode}, {err[-400:]}")
    return str(out)


# ------------------------------------------------------------------------------------------------ names and columns

# Names and parameters that TARGET.md takes away
GOING = {"share", "commit", "law", "count", "max_bytes"}


def signatures(folder: Path) -> dict[str, Any]:
    """The names of `ratiobench.__all__` with their parameters, and the public members of what functions return."""
    import ratiobench

    document: dict[str, Any] = {}
    for name in sorted({*ratiobench.__all__} - GOING):
        value = getattr(ratiobench, name)
        if not inspect.isclass(value):
            document[name] = _parameters(value)
        elif issubclass(value, Exception):
            document[name] = [parent.__name__ for parent in value.__mro__ if parent.__module__ == "builtins"]
        else:
            members = {*dir(value), *getattr(value, "__dataclass_fields__", ())} - GOING
            document[name] = {member: _member(value, member) for member in sorted(members) if member[0] != "_"}
    return document


def _parameters(function: Any) -> dict[str, str]:
    return {
        name: parameter.kind.description + ("" if parameter.default is parameter.empty else f" = {parameter.default}")
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in (*GOING, "self")
    }


def _member(owner: Any, name: str) -> Any:
    value = inspect.getattr_static(owner, name, None)
    return _parameters(value) if inspect.isfunction(value) else "value"


def columns(folder: Path) -> dict[str, Any]:
    """The columns of results.csv of each family in their order, each with the kinds of its values."""
    document = {}
    for family, (suite, name) in FAMILIES.items():
        out = folder / family
        words: list[str | Path] = ["run", suite, "--only", name, "--workers", "1", "--quiet", "--out", out]
        answer = call(*words, *(("--rows", "greedy", "pdftsp") if family == "lora" else ()))
        if answer.status:
            raise RuntimeError(answer.err)
        with (out / "results.csv").open(newline="") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
        document[family] = [
            [column, *sorted({kind_of(row[column]) for row in rows})] for column in reader.fieldnames or ()
        ]
    return document


def kind_of(text: str) -> str:
    """The kind of a cell's value."""
    kinds = {
        "empty": "", "whole": r"-?\d+", "fraction": r"-?\d+/\d+", "float": r"-?\d+\.\d+(e[-+]?\d+)?|-?\d+e[-+]?\d+",
        "yes or no": "True|False", "list": r"\[.*\]", "object": r"\{.*\}", "hash": "[0-9a-f]{64}",
        "version": r"\d+\.\d+\.\d+", "word": r"[\w-]+",
    }  # fmt: skip
    return next((kind for kind, pattern in kinds.items() if re.fullmatch(pattern, text, re.DOTALL)), "text")


# --------------------------------------------------------------------------------------------- users' own algorithms


def policy_files(folder: Path) -> dict[str, Any]:
    """A policy's file of each family, the documentation's as it stands: evaluated, simulated, one of them checked."""
    policies = _inputs(folder) / "policies"
    document: dict[str, Any] = {}
    for family, name in POLICIES.items():
        words: list[str | Path] = [
            "evaluate",
            policies / f"{family}.py",
            "--family",
            family,
            "--stage",
            "tiny",
            "--tiny",
            "2",
        ]
        answer = document_of(*words)
        run = document_of("simulate", _instance(family, folder), "-a", f"{policies / family}.py:{name}", "--no-opt")
        document[family] = {
            "sha256": hashlib.sha256((policies / f"{family}.py").read_bytes()).hexdigest(),
            "evaluate": {key: answer[key] for key in ("valid", "combined_score", "reason")},
            "simulate": {key: run[key] for key in ("valid", "welfare", "admitted")},
        }
    answer = document_of("check-algorithm", policies / "lora.py", "--tiny", "1")
    document["check-algorithm"] = {row["name"]: row["state"] for row in answer["requirements"]}
    document["check-algorithm"].pop("isolation", None)  # by machine
    return document


class EarliestFit:
    """A class of a user: the earliest slots of the first node that has enough; a plain tuple as its answer."""

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        self.every = int((options or {}).get("every", 1))

    def start(self, public: Any, constants: Any) -> None:
        self.public = public

    def decide(self, task: Any, view: Any) -> Any:
        """The earliest schedule on one node."""
        for node, free in enumerate(view.room(task, self.public)):
            slots = [slot for slot in range(task.arrival, task.deadline + 1) if free[slot - 1]]
            needed = -(-task.work // max(1, int(task.rate[self.public.type_of_node[node]])))
            if len(slots) >= needed and not task.vendors and task.index % self.every == 0:
                return None, tuple((node, slot) for slot in slots[:needed]), 0
        return None


def user_class(folder: Path) -> dict[str, Any]:
    """A class and an object of it: simulated in a process of its own, played in this one, and run in a suite."""
    import ratiobench

    file = str(_instance("lora", folder))
    document: dict[str, Any] = {}
    for name, policy in (("class", EarliestFit), ("object", EarliestFit({"every": "2"}))):
        run = ratiobench.simulate(ratiobench.instance(file), policy)
        document[name] = {"valid": run.valid, "welfare": int(run.welfare), "admitted": run.admitted}
        row = ratiobench.play([file], policy).iloc[0]
        document[f"{name} played"] = {column: str(row[column]) for column in row.index if column != "seconds"}
    return document


def plugin(folder: Path) -> dict[str, Any]:
    """An algorithm of an installed package, by its name."""
    file, inputs = _instance("lora", folder), _inputs(folder)
    words: list[str | Path] = ["simulate", file, "-a", "first-node", "--no-opt", "--json"]
    path = os.pathsep.join(str(place) for place in (inputs / "plugin", INPUTS.parents[2]))
    run = json.loads(_finished(start(*words, env={"PYTHONPATH": path}), "plugin"))
    return {name: run[name] for name in ("algorithm", "valid", "welfare", "admitted")}


def five_files(folder: Path) -> dict[str, Any]:
    """The family in five files of the documentation: its suite, and its text, which must run as it stands."""
    write_queue_family(folder)
    words = ["run", "queue", "--only", "queue0", "queue1", "--workers", "1", "--quiet", "--out"]
    path = os.pathsep.join((str(folder), str(INPUTS.parents[2])))
    settings = {"PYTHONPATH": path, "RATIOBENCH_FAMILIES": "queue_family"}
    _finished(start(*words, folder / "out", env=settings), "five files")
    text = "".join(files_of_queue_family().values())
    return {"sha256": hashlib.sha256(text.encode()).hexdigest(), "rows": _rows(folder / "out")}


# ------------------------------------------------------------------------------------------------------ environments


def help_of_cluster(folder: Path) -> dict[str, Any]:
    """What the commands that family `cluster` alone has say of themselves, line by line."""
    return {name: call(name, "--help").out.splitlines() for name in ("import", "backtest")}


def environments(folder: Path) -> dict[str, Any]:
    """The first steps of each environment: action, reward, end, candidates, and two sums over the observation."""
    document = {}
    with _gymnasium() as gymnasium:
        environments = importlib.import_module("ratiobench.environments")
        environments.register_environments()
        for name, recipe in RECIPES.items():
            answer = call("generate", recipe, "--out", folder / name)
            if answer.status:
                raise RuntimeError(answer.err)
            instances = sorted(map(str, (folder / name).iterdir()))
            document[name] = _steps(gymnasium.make(f"ratiobench/{name}-v0", instances=instances))
    return document


def _steps(environment: Any) -> dict[str, Any]:
    document: dict[str, Any] = {"size": list(environment.observation_space.shape), "ends": [], "steps": [], "sums": []}
    ended, info = True, {}
    for step in range(STEPS):
        if ended:
            seen, info = environment.reset(seed=1)
        actions = [action for action, exists in enumerate(info["action_mask"]) if exists]
        action = actions[step % len(actions)]
        document["sums"].append([float(seen.sum(dtype=float)), float(seen.astype(float) @ range(len(seen)))])
        seen, reward, ended, _, info = environment.step(action)
        document["steps"].append([action, float(reward), bool(ended), len(actions)])
        if ended:
            document["ends"].append({name: str(value) for name, value in info.items() if name != "action_mask"})
    return document


def steps_differ(stored: Any, now: Any) -> Iterator[str]:
    """Steps are equal; observations, which have 32 bits, are so up to rounding."""
    for name in RECIPES:
        sums = [document.get(name, {}).pop("sums", []) for document in (stored, now)]
        for step, (was, value) in enumerate(zip(*sums, strict=False)):
            if not all(map(partial(math.isclose, rel_tol=ROUNDING), was, value)):
                yield f"{name}: the observation of step {step}: sums were {was}, are {value}"
    yield from differences(stored, now)


@contextlib.contextmanager
def _gymnasium() -> Iterator[Any]:
    """Gymnasium; where it is not installed, what little of it the environments use."""
    if importlib.util.find_spec("gymnasium") is not None:
        yield importlib.import_module("gymnasium")
        return
    registry: dict[str, str] = {}

    def space(*given: Any) -> Any:
        return types.SimpleNamespace(shape=given[2] if len(given) > 2 else (), n=given[0])

    def make(name: str, **options: Any) -> Any:
        module, _, attribute = registry[name].partition(":")
        return getattr(importlib.import_module(module), attribute)(**options)

    def register(name: str, entry_point: str) -> None:
        registry[name] = entry_point

    class Env:
        def reset(self, *, seed: int | None = None) -> None:
            self.np_random = np.random.default_rng(seed)

    modules = {name: types.ModuleType(name) for name in ("gymnasium", "gymnasium.envs", "gymnasium.envs.registration")}
    top = modules["gymnasium"]
    vars(top).update(Env=Env, spaces=types.SimpleNamespace(Box=space, Discrete=space), make=make)
    vars(modules["gymnasium.envs.registration"]).update(register=register, registry=registry)
    with mock.patch.dict(sys.modules, modules):
        yield top


# ----------------------------------------------------------------------------------------------- wrong command lines


def wrong_lines(folder: Path) -> dict[str, Any]:
    """Of each wrong command line: status, lines of output and of errors, whether it names what is wrong, what it wrote.

    What it must name stands first: an option, a field, a file or the right name.
    """
    _write_wrong_files(folder)
    document = {}
    for line in WRONG.strip().splitlines():
        named, _, words = line.partition(":")
        before = _content(folder)
        answer = call(*words.split())
        after = _content(folder)
        document[words.strip()] = {
            "status": answer.status,
            "output": answer.out.count("\n"),
            "errors": sum(not line.startswith("... ") for line in answer.err.splitlines()),
            "named": [name for name in named.split() if name in answer.out + answer.err],
            "written": sorted(name for name in {*before, *after} if before.get(name) != after.get(name)),
        }
    return document


def _content(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of change of every file and folder."""
    return {str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")}


def _write_wrong_files(folder: Path) -> None:
    inputs = _inputs(folder)
    for family in FAMILIES:
        _instance(family, folder).rename(folder / f"{family}.json.gz")
    text = gzip.decompress((folder / "lora.json.gz").read_bytes()).decode()
    document = json.loads(text)
    call("opt", "lora.json.gz", "--certificate", "lora.cert", "--solution", "solution.json")
    call("generate", "tiny", "--only", "tiny_vendors", "--out", "other")
    files = {
        "broken.json": text[: len(text) // 2],
        "twice.json": text.replace("{", '{"format": "ratiobench/lora/0", ', 1),
        "negative.json": json.dumps(document | {"slots": -1}),
        "nan.json": json.dumps(document | {"slots": float("nan")}),
        "field.json": json.dumps(document | {"colour": 1}),
        "missing.json": json.dumps({key: value for key, value in document.items() if key != "slots"}),
        "format.json": json.dumps(document | {"format": "ratiobench/nothing/1"}),
        "list.json": "[]",
        "syntax.py": "class Policy\n",
        "decides.py": "class Policy:\n    def start(self, public, constants):\n        pass\n",
        "empty.py": "",
        "key.toml": (inputs / "suite.toml").read_text().replace("slots = 12", "slots = 12\ncolour = 1"),
        "type.toml": (inputs / "suite.toml").read_text().replace("slots = 12", 'slots = "x"'),
        "syntax.toml": "algorithms = [",
        "name.toml": (inputs / "suite.toml").read_text().replace('"greedy"', '"greedyy"'),
    }
    for name, content in files.items():
        (folder / name).write_text(content)
    (folder / "results").mkdir()
    with (folder / "huge.json").open("wb") as file:
        file.truncate(2**33)


# `what the error must name: command line`
WRONG = """
simulate: simulat lora.json.gz -a greedy
run: runn tiny
--colour: opt lora.json.gz --colour red
--effort: opt lora.json.gz --efort 2
--algorithm: simulate lora.json.gz --algoritm greedy
algorithms: list algoritms
--algorithm: simulate lora.json.gz
nowhere.json: opt nowhere.json
results: opt results
broken.json: opt broken.json
twice.json format: opt twice.json
negative.json slots -1: opt negative.json
nan.json slots nan: opt nan.json
field.json colour: opt field.json
missing.json slots: opt missing.json
format.json format ratiobench/nothing/1: opt format.json
list.json: opt list.json
huge.json: opt huge.json
quick: run quik
nothing*: run tiny --only nothing* --out out
nods nodes: run sweep --over nods --out out
--scale: run tiny --scale large --out out
--workers: run tiny --workers 0 --out out
--effort: run tiny --effort -1 --out out
--repeat: run tiny --repeat many --out out
--rows: run tiny --rows greedy --algorithm pdftsp --out out
key.toml colour: run key.toml --out out
type.toml slots: run type.toml --out out
syntax.toml: run syntax.toml --out out
name.toml greedyy: run name.toml --out out
greedyy greedy: simulate lora.json.gz -a greedyy
colour: simulate lora.json.gz -a pdftsp:colour=1
tomorrow: simulate lora.json.gz -a pdftsp:prior=tomorrow
pdftsp: simulate eapm.json.gz -a pdftsp
--limit: simulate lora.json.gz -a greedy --limit soon
--certificate: simulate lora.json.gz -a greedy --no-opt --certificate lora.cert
syntax.py: simulate lora.json.gz -a syntax.py
decide: simulate lora.json.gz -a decides.py
empty.py: simulate lora.json.gz -a empty.py
nowhere.py: simulate lora.json.gz -a nowhere.py
Nobody: simulate lora.json.gz -a inputs/policies/lora.py:Nobody
nowhere/s.json: simulate lora.json.gz -a greedy --no-opt --solution nowhere/s.json
nowhere/s.json: opt lora.json.gz --solution nowhere/s.json
--formulation: opt lora.json.gz --formulation tigth
backend higs highs: opt lora.json.gz --backend higs
--gap: opt lora.json.gz --gap -1
--seconds: opt lora.json.gz --seconds nan
NOT VALID: check other/tiny_vendors.json.gz --certificate lora.cert
lora.json.gz: check lora.json.gz lora.json.gz
lora.cert: check lora.json.gz lora.cert
theorem5: audit lora.json.gz -a pdftsp --claim theorem55
task 99: audit lora.json.gz -a pdftsp --task 99
day: generate dayy:nodes=2 --out out
nodes: generate day:nods=2 --out out
nodes: generate day:nodes=0 --out out
--out: generate day:nodes=2
tiny: evaluate greedy --stage tinyy
--tiny: evaluate greedy --tiny 0
--threshold: evaluate greedy --threshold high
theorem5: search theorem55 --out out
--tasks: search theorem5 --tasks 0 --out out
results: report results
results: compare results nowhere
LOG: import --cluster cluster.toml
cluster.toml: import jobs.swf --cluster cluster.toml
jobs.swf: import jobs.swf --cluster inputs/cluster/cluster.toml
line processors many: import inputs/cluster/wrong.swf --cluster inputs/cluster/cluster.toml --out out.json
nods: import inputs/cluster/jobs.swf --cluster inputs/cluster/wrong.toml --out out.json
easyy easy: backtest cluster.json.gz --policies easyy --out out.html
load: backtest cluster.json.gz --what-if load=fast --out out.html
no claims: audit cluster.json.gz -a easy
nowhere/s.swf: simulate cluster.json.gz -a easy --no-opt --solution nowhere/s.swf
"""


# ------------------------------------------------------------------------------------------------------------- runs


def kill_and_resume(folder: Path) -> dict[str, Any]:
    """A run that is killed in its middle and resumed gives the figures of an undisturbed one, and repeats no piece."""
    import ratiobench

    inputs = _inputs(folder)
    os.chdir(inputs)
    options: dict[str, Any] = {"workers": 1, "isolate": False}
    whole = _table(ratiobench.run("kill.toml", out=folder / "whole", **options))
    for file in inputs.glob("begun.*"):
        file.unlink()
    (inputs / "wait").touch()
    words: list[str | Path] = ["run", "kill.toml", "--out", folder / "out", "--workers", "1", "--no-isolate", "--quiet"]
    process = start(*words, cwd=inputs)
    until = time.monotonic() + PATIENCE
    while len(list(inputs.glob("begun.*"))) < 3 and process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(1)  # what is finished is being stored
    process.kill()
    _, problem = process.communicate()
    if process.returncode != -signal.SIGKILL:
        raise RuntimeError(f"it ended before it was killed: {problem[-400:]}")
    (inputs / "wait").unlink()
    before = _pieces(ratiobench.results(folder / "out"))
    resumed = ratiobench.run("kill.toml", out=folder / "out", **options)
    after = _pieces(resumed)
    return {
        "killed in the middle": 4 <= len(before) < len(after),
        "computed again": sorted(" ".join(piece) for piece in before if after.get(piece) != before[piece]),
        "as undisturbed": _table(resumed) == whole,
        "rows": whole,
    }


def _pieces(results: Any) -> dict[tuple[str, str, str], float]:
    """The seconds of every piece of work that is stored: a piece that is computed again takes others."""
    rows = results.seconds.astype(object).fillna("").to_dict("records")
    pieces = {(str(row["case"]), str(row["algorithm"]), str(row["stage"])): row["seconds"] for row in rows}
    return {piece: seconds for piece, seconds in pieces.items() if piece[2] in ("opt", "online", "audit")}


def suite_file(folder: Path) -> dict[str, Any]:
    """A suite in TOML: its figures with one worker, and whether two workers and dask give the same table."""
    import ratiobench

    suite = _inputs(folder) / "suite.toml"
    results = ratiobench.run(str(suite), out=folder / "one", workers=1)
    whole = results.exact.to_csv()
    document: dict[str, Any] = {"rows": _table(results)}
    document["two workers"] = ratiobench.run(str(suite), out=folder / "two", workers=2).exact.to_csv() == whole
    if importlib.util.find_spec("distributed") is None:
        return document | {"dask": (_stored("suite file") or {}).get("dask")}
    with _dask() as address:
        document["dask"] = ratiobench.run(str(suite), out=folder / "dask", dask=address).exact.to_csv() == whole
    return document


@contextlib.contextmanager
def _dask() -> Iterator[str]:
    """The address of a dask scheduler on this machine with one worker process."""
    from distributed import LocalCluster

    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None, "local_directory": os.getcwd()}
    path = os.pathsep.join([str(INPUTS.parents[2]), os.environ.get("PYTHONPATH", "")])
    with mock.patch.dict(os.environ, PYTHONPATH=path), LocalCluster(host="127.0.0.1", **options) as cluster:
        yield cluster.scheduler_address


# ------------------------------------------------------------------------------------------------------ cheats

# Cheats of the short run
FEW = (
    "child reads", "environment", "process_vm_readv", "all objects", "temporary file", "connection", "patched checker",
    "huge number",
)  # fmt: skip
BY_CHANCE = ("hash seed", "chance")  # Cheats that a second run shows, unless it happens to be as the first one
TRIES = 4
WAYS = ("bubblewrap", "Landlock", "none")  # Ways of isolation, the strongest first


def cheats(folder: Path, short: bool) -> dict[str, Any]:
    """What comes of each cheat, without isolation and isolated: works, nothing or stopped.

    All ways of isolation must give the same; those that are not to be had here are not compared.
    """
    from tests.support.cheats import CHEATS, HONEST, NOTHING, STOPPED, WORKS, policy_text

    (folder / "secret").write_text("secret")
    (folder / "victim").write_text("whole")
    memory = ctypes.create_string_buffer(b"secret")
    verdicts: dict[str, dict[str, set[str]]] = {"isolated": {}, "none": {}}
    settings = {"RATIOBENCH_SECRET": "secret", "RATIOBENCH_CACHE": str(folder / "cache")}
    with _silence(), mock.patch.dict(os.environ, settings), socket.create_server(("127.0.0.1", 0)) as server:
        known = f"target={folder},referee={os.getpid()},address={ctypes.addressof(memory)}"
        known += f",port={server.getsockname()[1]}"

        def evaluate(text: str, budget: int = 60) -> tuple[float, bool]:
            (folder / "policy.py").write_text(text)
            words = ["--stage", "tiny", "--tiny", "2", "--budget", budget]
            answer = document_of("evaluate", f"{folder / 'policy.py'}:Policy:{known}", *map(str, words))
            if (answer["isolation"] or "none") != way:
                raise RuntimeError(f"isolated by {answer['isolation']}, not {way}")
            return answer["combined_score"], answer["valid"] and not answer["time_limited"]

        def outcome(name: str) -> str:
            cheat = CHEATS[name]
            works = way == "none" and cheat.open_result == WORKS
            for _ in range(TRIES if name in BY_CHANCE else 1):
                score, valid = evaluate(policy_text(cheat, 0 if works else 3), 3 if name == "endless decision" else 60)
                if not valid:
                    return STOPPED if score <= honest else WORKS
                renew()
            return WORKS if score > honest else NOTHING

        ways = [way for way in WAYS if available(way)]
        if missing := {*WAYS} - {*ways}:
            print(f"  interfaces cheats: not to be had here: {', '.join(sorted(missing))}", flush=True)
        for way in ways[:1] if short else ways:
            with only(way) as renew:
                honest, _ = evaluate(HONEST)
                gain, _ = evaluate(HONEST.replace("return False", "return True"))
                kind = "none" if way == "none" else "isolated"
                verdicts[kind].setdefault("honest", set()).add(f"loses {gain > honest > 0}")
                for name in FEW if short else CHEATS:
                    verdict = outcome(name)
                    uncertain = kind == "isolated" and not CHEATS[name].result and verdict != WORKS
                    verdicts[kind].setdefault(name, set()).add("gains nothing" if uncertain else verdict)
                if kind == "isolated":
                    verdicts[kind].setdefault("victim", set()).add((folder / "victim").read_text())
    for left in (*Path(tempfile.gettempdir()).glob(f"cheat-{os.getpid()}*"), Path(f"/dev/shm/cheat-{os.getpid()}")):
        remove_tree(str(left)) if left.is_dir() else left.unlink(missing_ok=True)
    return {kind: {name: " or ".join(sorted(each)) for name, each in of.items()} for kind, of in verdicts.items()}


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Drop what policies print on this process's standard error, where the referee passes it on."""
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def available(way: str) -> bool:
    """Whether this machine has a way of isolation."""
    from ratiobench.online.referee import sandbox

    with contextlib.suppress(ValueError):
        return bool(sandbox.choose(way) == way)
    return False


@contextlib.contextmanager
def only(way: str) -> Iterator[Callable[[], None]]:
    """Isolate in this way alone, with small limits, one run after another; yields what ends the servers of policies.

    No option chooses between bubblewrap and Landlock, or sets these limits: so internal names are needed here.
    """
    from ratiobench.online.referee import process

    settings = {
        "ratiobench.online.referee.sandbox.requested": lambda isolate: way,
        "ratiobench.online.referee.limits.MEMORY_MB": 600,
        "ratiobench.online.referee.limits.OUTPUT_BYTES": 3000,
        "ratiobench.bench.evaluation.evaluate.MOST_WORKERS": 1,
    }
    with contextlib.ExitStack() as stack:
        for name, value in settings.items():
            stack.enter_context(mock.patch(name, value))
        process.close_all()  # those that begin now have the secret in their environment
        yield process.close_all
        process.close_all()


def verdicts_differ(stored: Any, now: Any) -> Iterator[str]:
    """As far as this machine has the ways of isolation, and is used by root as the machine of the stored verdicts."""
    from tests.support.cheats import CHEATS

    for kind in stored:
        if stored[kind] and now[kind]:
            root = kind == "none" and os.geteuid() != 0
            left_out = {name for name, cheat in CHEATS.items() if root and cheat.root}
            was, value = ({name: of[name] for name in of if name not in left_out} for of in (stored[kind], now[kind]))
            yield from differences(was, value, kind)


CASES: dict[str, Case] = {
    "names and signatures": Case(signatures),
    "columns of results.csv": Case(columns, seconds=8),
    "policy files": Case(policy_files, seconds=12),
    "class": Case(user_class),
    "plug-in": Case(plugin, seconds=4),
    "help of cluster": Case(help_of_cluster),
    "family in five files": Case(five_files, seconds=4),
    "environments": Case(environments, steps_differ, seconds=3),
    "wrong command lines": Case(wrong_lines, seconds=5),
    "kill and resume": Case(kill_and_resume, seconds=10),
    "suite file": Case(suite_file, seconds=23),
    "cheats": Case(partial(cheats, short=True), verdicts_differ, seconds=10),
    "all cheats": Case(partial(cheats, short=False), verdicts_differ, seconds=100, long=True),
}
