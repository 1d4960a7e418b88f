"""OpenEvolve: evaluators for its `evaluator.py`, one for each stage of its cascade.

    # evaluator.py
    from ratiobench.adapters.openevolve import evaluators

    evaluate, evaluate_stage1, evaluate_stage2, evaluate_stage3 = evaluators(family="lora")

In the configuration set `cascade_evaluation: true` to have OpenEvolve decide after each stage; then its thresholds are
in units of `combined_score`, where instances that were not run count as 0. With `cascade_evaluation: false` the
cascade of `ratiobench.evaluate` and its option `threshold` decide.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ratiobench.adapters.metrics import artifacts_of, metrics_of
from ratiobench.adapters.mutation import mutate
from ratiobench.bench.api_policies import evaluate as evaluate_policy
from ratiobench.bench.evaluation.cases import STAGES

__all__ = ["ScriptedModel", "evaluate", "evaluators", "scripted_config"]

_PROGRAM = re.compile(r"# Current Program\s*\n```[a-z]*\n(.*?)```", re.DOTALL)
"""The program in OpenEvolve's prompt for a full rewrite."""


def evaluate(program_path: str, **options: Any) -> Any:
    """Evaluate a program of OpenEvolve.

    Parameters
    ----------
    program_path : the policy's file.
    options : as of `ratiobench.evaluate`.

    Returns
    -------
    OpenEvolve's `EvaluationResult` with metrics and artifacts.

    Raises
    ------
    ModuleNotFoundError : the package `openevolve` is not installed.
    """
    from openevolve.evaluation_result import EvaluationResult

    found = evaluate_policy(program_path, **options)
    return EvaluationResult(metrics=metrics_of(found), artifacts=artifacts_of(found))


def _evaluate_until(program_path: str, *, count: int, **options: Any) -> Any:
    """The evaluation as after so many stages: all instances of later ones count as 0."""
    stages = [each for each in STAGES if each in options.get("stage", STAGES)]
    settings = {"threshold": 0, **options, "stage": stages, "last": stages[min(count, len(stages)) - 1]}
    return evaluate(program_path, **settings)


def evaluators(**options: Any) -> tuple[Callable[..., Any], ...]:
    """Make OpenEvolve's evaluation functions with these options.

    Parameters
    ----------
    options : as of `ratiobench.evaluate`, such as family, seed, set, budget.

    Returns
    -------
    The functions `evaluate`, `evaluate_stage1`, `evaluate_stage2` and `evaluate_stage3`.
    """
    stages = (partial(_evaluate_until, count=count, **options) for count in (1, 2, 3))
    return partial(evaluate, **options), *stages


class ScriptedModel:
    """Answers a prompt with its current program, one number in it changed, in place of a language model.

    The answer depends on the program and on how many answers this object has given.

    Parameters
    ----------
    model_cfg : OpenEvolve's configuration of the model; `random_seed` is read.
    """

    last_usage = None

    def __init__(self, model_cfg: Any = None) -> None:
        self._seed = getattr(model_cfg, "random_seed", None) or 0
        self._answers = 0

    async def generate(self, prompt: str, **kwargs: Any) -> str:
        """Answer a prompt.

        Parameters
        ----------
        prompt : its text.
        kwargs : as of `generate_with_context`.

        Returns
        -------
        The answer: a program in a code block.
        """
        return await self.generate_with_context("", [{"content": prompt}], **kwargs)

    async def generate_with_context(self, system_message: str, messages: list[Mapping[str, str]], **kwargs: Any) -> str:
        """Answer the last message.

        Parameters
        ----------
        system_message : not used.
        messages : the conversation; the last one has the current program in a code block.
        kwargs : `seed` is read, all others are ignored.

        Returns
        -------
        The answer: a program in a code block.
        """
        found = _PROGRAM.findall(messages[-1]["content"])
        program = found[-1] if found else ""
        self._answers += 1
        digest = hashlib.sha256(f"{self._seed} {self._answers} {kwargs.get('seed')} {program}".encode()).hexdigest()
        return f"```python\n{mutate(program, random.Random(digest))}```"


def scripted_config(**settings: Any) -> Any:
    """Make a configuration of OpenEvolve that has `ScriptedModel` in place of a language model.

    Parameters
    ----------
    settings : attributes of its `Config`, such as max_iterations, random_seed.

    Returns
    -------
    OpenEvolve's `Config`.

    Raises
    ------
    ModuleNotFoundError : the package `openevolve` is not installed.
    """
    from openevolve.config import Config, LLMModelConfig

    config = Config(**{"diff_based_evolution": False, "max_code_length": 100_000, **settings})
    config.llm.models = [LLMModelConfig(name="scripted", init_client=ScriptedModel)]
    config.llm.evaluator_models = list(config.llm.models)
    return config
