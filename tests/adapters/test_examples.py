"""The examples in `docs/examples`, small: evolution shown on unseen instances, and the loop of an agent."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

import ratiobench

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_an_evolved_policy_is_shown_on_unseen_instances(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """OpenEvolve's package on two tiny instances, then both versions on these and on two others."""
    pytest.importorskip("openevolve")
    example = _load(EXAMPLES / "openevolve" / "unseen.py")
    words = ["lora", "2", str(tmp_path / "out"), "--tiny", "2", "--stages", "tiny", "--no-isolate"]
    monkeypatch.setattr(sys, "argv", ["unseen.py", *words, "--shown-stages", "tiny"])
    for name in ("FAMILY", "TINY", "STAGES"):
        monkeypatch.delenv(name, raising=False)
    example.main()
    text = capsys.readouterr().out
    assert "2 candidates in" in text
    for line in ("lora.py, seed 1: at least", "lora.py, seed 2: at least", "best.py, seed 1: at least"):
        assert line in text


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
