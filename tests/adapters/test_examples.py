"""The examples in `docs/examples` and in docs/evaluate.md, small."""

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import ratiobench
from tests.support.policies import CRASHES, write

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize(("text", "valid"), [((EXAMPLES / "policies" / "lora.py").read_text(), True), (CRASHES, False)])
def test_the_program_for_shinka(text: str, valid: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of docs/evaluate.md: it writes the score, and why a policy is not correct."""
    [code] = re.findall(r"```python\n(.*?)```", (EXAMPLES.parent / "evaluate.md").read_text(), flags=re.DOTALL)
    code = code.replace('family="lora"', 'family="lora", stage="tiny", tiny=2, isolate=False')
    out = tmp_path / "results"
    words = ["evaluate.py", "--program_path", write(tmp_path, text), "--results_dir", str(out)]
    monkeypatch.setattr(sys, "argv", words)
    exec(code, {})
    assert (json.loads((out / "metrics.json").read_text())["combined_score"] > 0) == valid
    correct = json.loads((out / "correct.json").read_text())
    assert correct["correct"] == valid
    assert valid or "ZeroDivisionError" in correct["error"]


@pytest.mark.parametrize("name", ["Lora-v0", "Edgeflow-v0", "Tenants-v0"])
def test_the_loop_of_an_agent(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Without sb3-contrib: the first candidate on published instances."""
    pytest.importorskip("gymnasium")
    example = _load(EXAMPLES / "ppo" / "train.py")
    monkeypatch.setattr(sys, "argv", ["train.py", name, "--untrained"])
    example.main()
    assert "first candidate: " in capsys.readouterr().out


def test_an_agent_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A few steps of MaskablePPO; the policy that is written earns under the referee what it earned before."""
    pytest.importorskip("sb3_contrib")
    pytest.importorskip("gymnasium")
    example = _load(EXAMPLES / "ppo" / "train.py")
    file = tmp_path / "agent.py"
    words = ["Lora-v0", "--steps", "512", "--draws", "1", "--policy", str(file)]
    monkeypatch.setattr(sys, "argv", ["train.py", *words])
    example.main()
    told = capsys.readouterr().out
    assert "512 steps in" in told
    found = ratiobench.evaluate(file, stage="parts", isolate=False)
    assert f"MaskablePPO: {100 * float(found.combined_score):.1f} %" in told
