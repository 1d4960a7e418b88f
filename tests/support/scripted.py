"""Stand-ins for a language model: they change one number in a policy's text."""

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

BLOCK = re.compile(r"# EVOLVE-BLOCK-START\n(.*?)# EVOLVE-BLOCK-END", re.DOTALL)
NUMBER = re.compile(r"^(\s*[A-Z][A-Z_0-9]* *= *)(-?\d+(?:\.\d+)?)(?=[ \t]*(?:#.*)?$)", re.MULTILINE)
FACTORS = (0.25, 0.5, 0.7, 0.9, 1.1, 1.4, 2.0, 4.0)
# The program in OpenEvolve's prompt for a full rewrite
PROGRAM = re.compile(r"# Current Program\s*\n```[a-z]*\n(.*?)```", re.DOTALL)


def mutate(text: str, draws: random.Random) -> str:
    """Change the number of one constant `NAME = number`, in the EVOLVE block if there is one."""
    block = BLOCK.search(text)
    start, end = block.span(1) if block else (0, len(text))
    constants = list(NUMBER.finditer(text, start, end))
    if not constants:
        return text
    chosen = draws.choice(constants)
    number = float(chosen[2])
    changed = number * draws.choice(FACTORS) if number else draws.choice((0.1, 0.5, 1.0, 2.0))
    return text[: chosen.start(2)] + f"{changed:.6g}" + text[chosen.end(2) :]


class ScriptedModel:
    """Answers OpenEvolve's prompt with its current program, one number in it changed."""

    last_usage = None

    def __init__(self, model_cfg: Any = None) -> None:
        self._seed = getattr(model_cfg, "random_seed", None) or 0
        self._answers = 0

    async def generate_with_context(self, system_message: str, messages: list[Mapping[str, str]], **kwargs: Any) -> str:
        """Answer the last message."""
        programs = PROGRAM.findall(messages[-1]["content"])
        program = programs[-1] if programs else ""
        self._answers += 1
        digest = hashlib.sha256(f"{self._seed} {self._answers} {kwargs.get('seed')} {program}".encode()).hexdigest()
        return f"```python\n{mutate(program, random.Random(digest))}```"


def scripted_config(**settings: Any) -> Any:
    """OpenEvolve's configuration with `ScriptedModel` as its language model."""
    from openevolve.config import Config, LLMModelConfig

    config = Config(**{"diff_based_evolution": False, "max_code_length": 100_000, **settings})
    config.llm.models = [LLMModelConfig(name="scripted", init_client=ScriptedModel)]
    config.llm.evaluator_models = list(config.llm.models)
    return config


class ScriptedProposer:
    """Proposes GEPA's candidate with one number changed."""

    def __init__(self, seed: int = 0) -> None:
        self._draws = random.Random(seed)

    def __call__(
        self,
        candidate: dict[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: list[str],
    ) -> dict[str, str]:
        return {name: mutate(candidate[name], self._draws) for name in components_to_update}
