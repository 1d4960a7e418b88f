"""Policies that programs write, as functions (see `ratiobench.bench.api`): `evaluate`, `play`."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ratiobench.bench.commands import evaluate as commands_evaluate
from ratiobench.bench.commands.evaluate import Evaluate
from ratiobench.bench.commands.functions import as_function
from ratiobench.bench.commands.shared import read_given
from ratiobench.bench.evaluation.play import COLUMNS, EXACT, play_isolated, play_rows
from ratiobench.bench.evaluation.result import Evaluation
from ratiobench.instances.io.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["evaluate", "play"]


@as_function(Evaluate, without=("policy",))
def evaluate(policy: str | os.PathLike[str], **options: Any) -> Evaluation:
    """Evaluate a policy on graded instances with enclosed OPT: ``combined_score``, ``valid``, ``text``, ...

    Parameters
    ----------
    policy : ``policy.py``, ``policy.py:Class[:key=value,...]``, or the name of a shipped algorithm.
    {options}

    Returns
    -------
    The evaluation. A policy that cannot be built or breaks a rule is not valid and has score 0; that is no error.

    Raises
    ------
    InputError : a missing file or class, a name or a set that does not exist.

    Examples
    --------
    >>> import ratiobench
    >>> ratiobench.evaluate("greedy", stage="tiny", tiny=2).valid
    True
    """
    return commands_evaluate.run(Evaluate(policy=os.fspath(policy), **options))


def play(instances: Iterable[Any], policy: object, *, trusted: bool = True) -> pd.DataFrame:
    """Run one policy on several instances in this process, for training loops and quick experiments.

    Every decision is checked by the referee, and the value is recounted by the independent checker. What is missing
    beside `simulate` is isolation: the policy could read the instance from this process's memory, and nothing is run
    twice to see whether decisions depend on the future. So no row counts in a comparison.

    Parameters
    ----------
    instances : instances, documents' files, or both.
    policy : the name of a shipped algorithm; a class, which is built anew for every instance; or an object, whose
        `start` is called for every instance.
    trusted : False: each run is isolated and repeated, as in `simulate`.

    Returns
    -------
    DataFrame with a row per instance: instance, valid, value, lower, upper (ends of the interval on OPT where a shipped
    certificate proves one), share (of OPT that is certainly reached), admitted, arrivals, seconds, violation; and the
    exact figures as value_exact, lower_exact, upper_exact.

    Raises
    ------
    InputError : no instance, or no policy.

    Examples
    --------
    >>> import ratiobench
    >>> from ratiobench.instances.lora.named import named
    >>> ratiobench.play([named("thm5_T5_3tasks")], "greedy")["value"].tolist()
    [312.0]
    """
    import numpy as np
    import pandas as pd

    if isinstance(instances, str | os.PathLike):
        instances = [instances]
    given = list(instances)
    families: dict[int, Any] = {}
    for each in given:
        if id(each) not in families:
            families[id(each)] = read_given(each)
    pairs = [families[id(each)] for each in given]
    if not pairs:
        raise InputError("instances", "", "none is given")
    rows = list(play_rows(pairs, policy) if trusted else play_isolated(pairs, policy))
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in COLUMNS}
    exact = {name: columns[name] for name in EXACT}
    # Arrays of the final types: a column that is converted costs more than a run.
    for name in (*EXACT, "share", "seconds"):
        columns[name] = np.array([math.nan if each is None else float(each) for each in columns[name]])
    columns["valid"] = pd.array(columns["valid"], dtype="boolean")
    for name in ("admitted", "arrivals"):
        columns[name] = pd.array(columns[name], dtype="Int64")
    for name, values in exact.items():
        columns[f"{name}_exact"] = np.array(values, dtype=object if None in values else None)
    return pd.DataFrame(columns)
