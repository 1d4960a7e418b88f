"""Plug-ins: what an installed package adds by entry points; `check-algorithm`."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.commands.policies import check_algorithm
from tests.support.packages import install
from tests.support.policies import CRASHES, EXAMPLES, OVERBOOKS, REJECTS, write
from tests.support.queue_family import files_of_queue_family

ROOT = Path(__file__).parents[2]
TINY = ROOT / "instances" / "lora" / "named" / "tiny_contention.json"
CLAIM = """
from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.theory.claim import Claim


def check(case):
    return Check("few", Verdict.HOLDS, case.run.admitted, case.run.arrivals, "counted")


CLAIM = Claim(name="few", statement="admitted <= arrivals", source="a test", standing="proved", check=check)
"""
BACKEND = """
import highspy

from ratiobench.formulations.backends.highs import solve


def version():
    return "mine over " + highspy.Highs().version()
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package with an algorithm, a claim, a backend and a family, installed by pip."""
    files = {
        "somebodys/__init__.py": "",
        "somebodys/policies.py": (EXAMPLES / "lora.py").read_text(encoding="utf-8"),
        "somebodys/queues.py": (EXAMPLES / "cluster.py").read_text(encoding="utf-8"),
        "somebodys/claims.py": CLAIM,
        "somebodys/backend.py": BACKEND,
        **files_of_queue_family(),
    }
    entries = (
        "[ratiobench.algorithms]\nlora.threshold = somebodys.policies:Threshold\n"
        "cluster.least-first = somebodys.queues:LeastFirst\n"
        "[ratiobench.claims]\nlora.few = somebodys.claims:CLAIM\n"
        "[ratiobench.backends]\nsomebodys = somebodys.backend\n"
        "[ratiobench.families]\nqueue = queue_family\n"
    )
    return install(tmp_path_factory.mktemp("package"), "somebodys_policy", files, entries)


def _run(installed: Path, folder: Path, *words: str) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(installed), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, "-m", "ratiobench", *words], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_an_installed_algorithm_makes_a_row(installed: Path, tmp_path: Path) -> None:
    """It is listed, runs by its name, and its package stands in its label and in the provenance."""
    listed = _run(installed, tmp_path, "list", "algorithms")
    assert "plug-in of somebodys_policy 1.2.3 (somebodys.policies:Threshold)" in listed
    words = ["--algorithm", "threshold", "--no-audits", "--workers", "1", "--quiet", "--out", "out"]
    _run(installed, tmp_path, "run", "named:instance=tiny_contention", *words)
    with open(tmp_path / "out" / "results.csv", newline="") as file:
        rows = {row["algorithm"]: row for row in csv.DictReader(file)}
    row = next(row for name, row in rows.items() if name.startswith("threshold"))
    assert row["state"] == "ok"
    assert "somebodys_policy 1.2.3" in " ".join(row.values())
    provenance = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert "1.2.3" in json.dumps([value for key, value in _pairs(provenance) if "somebodys_policy" in key])


def test_an_installed_policy_of_cluster_runs_by_its_name(installed: Path, tmp_path: Path) -> None:
    """In `simulate` and in `backtest`, with the figures of its class."""
    (file,) = json.loads(
        _run(installed, tmp_path, "generate", "month:days=1,nodes=1,jobs=8", "--out", "made", "--json")
    )
    names = ["least-first", "somebodys.queues:LeastFirst"]
    runs = [
        json.loads(_run(installed, tmp_path, "simulate", file["file"], "-a", name, "--no-opt", "--json"))
        for name in names
    ]
    assert all(run["valid"] for run in runs)
    assert runs[0]["decisions"] == runs[1]["decisions"]
    words = ["--policies", "least-first", "--seconds", "0", "--json"]
    rows = json.loads(_run(installed, tmp_path, "backtest", file["file"], *words))["policies"]
    assert {row["name"] for row in rows} == {"easy", "least-first"}


def _pairs(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, list):
        return [pair for each in value for pair in _pairs(each)]
    if not isinstance(value, dict):
        return []
    return [*value.items(), *(pair for each in value.values() for pair in _pairs(each))]


@pytest.mark.nightly
def test_an_installed_claim_is_audited(installed: Path, tmp_path: Path) -> None:
    """It is listed and checked on a run, alone or among all."""
    assert "admitted <= arrivals" in _run(installed, tmp_path, "list", "claims")
    for words in ([], ["--claim", "few"]):
        found = json.loads(_run(installed, tmp_path, "audit", str(TINY), "--algorithm", "greedy", *words, "--json"))
        assert "few" in json.dumps(found)


@pytest.mark.nightly
def test_an_installed_backend_solves(installed: Path, tmp_path: Path) -> None:
    """A formulation that is a linear model takes it, and OPT is the known one."""
    assert "plug-in of somebodys_policy" in _run(installed, tmp_path, "list", "backends")
    words = ["opt", str(TINY), "--formulation", "tight", "--backend", "somebodys", "--json"]
    found = json.loads(_run(installed, tmp_path, *words))
    assert found["lower"] == found["upper"] == 62
    assert found["backend"] == "somebodys"


def test_an_installed_family_has_its_suite(installed: Path, tmp_path: Path) -> None:
    assert "queue:" in _run(installed, tmp_path, "list", "suites")
    _run(installed, tmp_path, "run", "queue", "--workers", "1", "--quiet", "--out", "out", "--only", "queue0")
    assert (tmp_path / "out" / "results.csv").exists()


READS_ALL = """
class ReadsAll:
    def __init__(self, options=None):
        self.options = dict(options or {})

    def start(self, public, constants):
        pass

    def decide(self, task, view):
        return None
"""
DRAWS = (
    (EXAMPLES / "lora.py")
    .read_text(encoding="utf-8")
    .replace(
        "        best = None\n", "        best = None\n        if random.random() < 0.5:\n            return None\n"
    )
    .replace("import numpy as np\n", "import random\n\nimport numpy as np\n")
)


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        (REJECTS, ""),
        (CRASHES, "errors"),
        (OVERBOOKS, "rules"),
        ("class X\n", "build"),
        (READS_ALL, "options"),
        (DRAWS, "determinism"),
        ("import nowhere\n" + REJECTS, "build"),
        (REJECTS.replace("return None", "return 7"), "answers"),
        (REJECTS.replace("return None", "open('/proc/self/environ')"), ""),
    ],
)
def test_check_algorithm_names_what_failed(text: str, failed: str, tmp_path: Path) -> None:
    """Each failure in the requirement that it belongs to, and ready without one."""
    found = check_algorithm(write(tmp_path, text), family="lora", tiny=1)
    assert [each.name for each in found.requirements if each.state == "failed"] == ([failed] if failed else [])
    assert found.ready == (not failed)


def test_the_command_says_ready(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["check-algorithm", write(tmp_path, REJECTS), "--tiny", "1"]) == 0
    assert capsys.readouterr().out.endswith("policy.py:Rejects: ready\n")
    assert main(["check-algorithm", write(tmp_path, CRASHES), "--tiny", "1", "--json"]) == 1
    assert not json.loads(capsys.readouterr().out)["ready"]
