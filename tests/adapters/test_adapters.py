"""Search programs on real evaluations; a scripted change of numbers stands in for a language model."""

import random
from pathlib import Path
from typing import Any

import pytest

from ratiobench.adapters import gepa as gepa_adapter
from ratiobench.adapters import openevolve as openevolve_adapter
from tests.support.policies import CRASHES, EXAMPLES
from tests.support.scripted import ScriptedProposer, mutate, scripted_config

FAMILIES = ("lora", "eapm", "edgeflow", "tenants")
FEW: dict[str, Any] = {"tiny": 2, "stage": ("tiny",), "isolate": False}


def test_a_mutation_changes_one_number() -> None:
    text = (EXAMPLES / "lora.py").read_text(encoding="utf-8")
    changed = mutate(text, random.Random(1))
    assert changed == mutate(text, random.Random(1))
    different = [(a, b) for a, b in zip(text.splitlines(), changed.splitlines(), strict=True) if a != b]
    assert len(different) == 1
    assert mutate("nothing to change", random.Random(1)) == "nothing to change"


@pytest.mark.parametrize("family", FAMILIES)
def test_openevolve_evaluates(family: str) -> None:
    """Metrics and artifacts of OpenEvolve's own type; stages add up to the whole."""
    result_type = pytest.importorskip("openevolve.evaluation_result").EvaluationResult
    evaluate, stage1, stage2, _ = openevolve_adapter.evaluators(
        family=family, tiny=2, stage=("tiny", "parts"), only="tiny*"
    )
    found = evaluate(str(EXAMPLES / f"{family}.py"), isolate=False)
    assert isinstance(found, result_type)
    assert 0 < found.metrics["combined_score"] <= 1
    assert "Stage tiny" in found.artifacts["feedback"]
    first, second = (each(str(EXAMPLES / f"{family}.py"), isolate=False) for each in (stage1, stage2))
    assert first.metrics["combined_score"] == second.metrics["combined_score"] == found.metrics["combined_score"]


def test_openevolve_evolves_with_scripted_mutations(tmp_path: Path) -> None:
    """A run of its real package on real evaluations; the best program is at least as good as the first one."""
    openevolve = pytest.importorskip("openevolve")
    path = tmp_path / "evaluator.py"
    path.write_text(
        f"from ratiobench.adapters.openevolve import evaluators\nevaluate, *_ = evaluators(**{FEW!r})\n",
        encoding="utf-8",
    )
    config = scripted_config(max_iterations=3, random_seed=1)
    config.evaluator.cascade_evaluation = False
    config.evaluator.parallel_evaluations = 1
    result = openevolve.run_evolution(EXAMPLES / "lora.py", path, config, 3, str(tmp_path / "out"))
    first = openevolve_adapter.evaluate(str(EXAMPLES / "lora.py"), **FEW).metrics["combined_score"]
    assert result.best_score >= first
    assert "class Threshold" in result.best_code


@pytest.mark.parametrize("family", FAMILIES)
def test_gepa_evolves_with_scripted_mutations(family: str) -> None:
    """A run of its real package; the score of the best candidate is the mean share on the instances."""
    gepa = pytest.importorskip("gepa")
    names = gepa_adapter.instance_names(family, tiny=2, stages=("tiny",))
    text = (EXAMPLES / f"{family}.py").read_text(encoding="utf-8")
    adapter = gepa_adapter.PolicyAdapter(family=family, **FEW)
    result = gepa.optimize(
        {"policy": text},
        trainset=names,
        valset=names,
        adapter=adapter,
        custom_candidate_proposer=ScriptedProposer(seed=1),
        max_metric_calls=10,
        reflection_minibatch_size=2,
    )
    best = result.val_aggregate_scores[result.best_idx]
    batch = adapter.evaluate(names, result.best_candidate, capture_traces=True)
    assert sum(batch.scores) / len(batch.scores) == pytest.approx(best)
    records = adapter.make_reflective_dataset(result.best_candidate, batch, ["policy"])["policy"]
    assert len(records) == len(names)
    assert all("of OPT is certainly reached" in each["Feedback"] for each in records)


def test_gepa_gets_the_reason_of_an_invalid_policy() -> None:
    """A crash is a score of 0 with its line, and no exception."""
    pytest.importorskip("gepa")
    names = gepa_adapter.instance_names("lora", tiny=2, stages=("tiny",))
    batch = gepa_adapter.PolicyAdapter(**FEW).evaluate(names, {"policy": CRASHES}, capture_traces=True)
    assert batch.scores == [0, 0]
    assert "ZeroDivisionError" in batch.trajectories[0]["Feedback"]
