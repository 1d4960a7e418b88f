"""ShinkaEvolve: the evaluation program that it starts for each candidate.

    # evaluate.py
    from ratiobench.adapters.shinka import main

    main(family="lora")

ShinkaEvolve calls `evaluate.py --program_path FILE --results_dir DIR` and reads `metrics.json` and `correct.json` from
the folder.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ratiobench.adapters.metrics import metrics_of
from ratiobench.bench.api_policies import evaluate
from ratiobench.bench.evaluation.result import Evaluation

__all__ = ["main", "write_results"]


def main(arguments: Sequence[str] | None = None, **options: Any) -> Evaluation:
    """Evaluate a candidate and write the files that ShinkaEvolve reads.

    Parameters
    ----------
    arguments : the words of the command line; None for those of this process.
    options : as of `ratiobench.evaluate`.

    Returns
    -------
    The evaluation.

    Raises
    ------
    InputError : options that cannot be used.
    """
    parser = argparse.ArgumentParser(description="Evaluates a policy for ShinkaEvolve.")
    parser.add_argument("--program_path", required=True)
    parser.add_argument("--results_dir", required=True)
    given = parser.parse_args(arguments)
    found = evaluate(given.program_path, **options)
    write_results(found, Path(given.results_dir))
    return found


def write_results(found: Evaluation, folder: Path) -> None:
    """Write `metrics.json` (score, figures, feedback) and `correct.json` (whether the policy is valid).

    Parameters
    ----------
    found : the evaluation.
    folder : of the files; it is made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures = metrics_of(found)
    metrics = {
        "combined_score": figures.pop("combined_score"),
        "public": figures,
        "private": {"shares": found.shares},
        "text_feedback": found.text,
    }
    correct = {"correct": found.valid, "error": found.reason or None}
    for name, document in (("metrics", metrics), ("correct", correct)):
        (folder / f"{name}.json").write_text(json.dumps(document, indent=1), encoding="utf-8")
