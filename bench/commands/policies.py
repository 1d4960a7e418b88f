"""Policies that people and programs write: `evaluate`, `check-algorithm`, `play`."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from ratiobench.bench import arguments as arg
from ratiobench.bench.arguments import Outcome, Steps, command
from ratiobench.bench.commands.shared import read_given
from ratiobench.bench.evaluation.cases import STAGES, default_family, find_family
from ratiobench.bench.evaluation.check_algorithm import REQUIREMENTS, AlgorithmCheck
from ratiobench.bench.evaluation.check_algorithm import check_algorithm as check_requirements
from ratiobench.bench.evaluation.evaluate import evaluate_policy
from ratiobench.bench.evaluation.result import Evaluation, EvaluationSettings, percent, table_rows
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.standard import read_set, set_of
from ratiobench.bench.show import align_columns
from ratiobench.instances.io.errors import InputError
from ratiobench.online.policy_file import is_policy_file
from ratiobench.online.remarks import isolation_text

if TYPE_CHECKING:
    import pandas as pd

    from ratiobench.bench.family.contract import Family

Seed = Annotated[int, arg.Option(arg.Integer(0, 2**31), "S")]
Tiny = Annotated[int, arg.Option(arg.Integer(1, 1000), "N", "number of tiny instances")]


@command("evaluating")
def evaluate(
    policy: Annotated[Any, arg.Option(arg.Anything("text"), "POLICY")],
    *,
    family: str | None = None,
    set: Annotated[str | None, arg.Option(arg.Anything("text"), "SET")] = None,
    seed: Seed = 1,
    tiny: Tiny = 10,
    stage: Annotated[Any, arg.Option(arg.Choice(STAGES), "STAGE", several=True)] = (),
    only: arg.Patterns = (),
    last: Annotated[str | None, arg.Option(arg.Choice(STAGES), "STAGE")] = None,
    threshold: Annotated[float, arg.Option(arg.Number("a number in 0..1", lambda share: 0 <= share <= 1), "X")] = 0.3,
    budget: Annotated[Any, arg.Option(arg.Duration(), "T")] = 60,
    isolate: arg.Isolate = None,
) -> Steps[Evaluation]:
    """Evaluate a policy on graded instances: share of OPT, arrivals on which it loses.

    Parameters
    ----------
    policy : policy.py, policy.py:Class[:key=value,...], or a shipped algorithm.
    family : family of the policy; by default that of the shipped algorithm, or the first of the standard set.
    set : standard set of the larger instances, or its manifest; by default the family's first one.
    seed : seed of the tiny instances; another one than 1 also draws the larger ones anew, like those of the set.
    stage : run only these stages; by default all.
    only : run only the instances with these names (* ? [...]).
    last : end after this stage; instances of later ones count as 0; by default the last one.
    threshold : mean share of OPT on a stage from which on the next stage is run.
    budget : time limit of all runs of the policy, such as 60s; unfinished instances count as 0.

    Returns
    -------
    The evaluation: ``combined_score``, ``valid``, ``text``, ... A policy that cannot be built or breaks a rule is not
    valid and has score 0; that is no error.

    Raises
    ------
    InputError : a missing file or class, a name or a set that does not exist.

    Examples
    --------
    >>> import ratiobench
    >>> ratiobench.evaluate("greedy", stage="tiny", tiny=2).valid
    True
    """
    policy = os.fspath(policy)
    stages = tuple(each for each in STAGES if each in stage) or STAGES
    settings = EvaluationSettings(seed, tiny, stages, threshold, float(budget), isolate, only, last or "")
    owner = _family_of(policy, family)
    evaluation = evaluate_policy(policy, owner, set_of(owner.name) if set is None else read_set(set), settings)
    yield Outcome(lambda: evaluation, evaluation.document)
    yield from _evaluation_lines(evaluation)


def _family_of(policy: str, name: str | None) -> Family:
    """The family that is named; of a shipped algorithm the first that has it, the default before all others."""
    if name is not None or is_policy_file(policy):
        return find_family(name)
    head = policy.partition(":")[0]
    known = sorted(families().values(), key=lambda each: each.name != default_family())
    owners = (each for each in known if each.evaluation is not None and head in dict(each.algorithms()))
    return next(owners, None) or find_family()


def _evaluation_lines(evaluation: Evaluation) -> Iterator[str]:
    verdict = "valid" if evaluation.valid else "NOT VALID"
    isolated = "shipped" if evaluation.isolation is None else isolation_text(evaluation.isolation)
    score = f"score {evaluation.combined_score:.4f}, {verdict} ({evaluation.family.name}, {isolated})"
    yield f"{evaluation.policy}: {score}"
    if lines := table_rows(evaluation):
        yield align_columns(lines).removesuffix("\n")
    if evaluation.headroom is not None and evaluation.shipped is not None:
        best = f"{percent(evaluation.shipped.headroom)} above {evaluation.shipped.name}"
        yield f"headroom: OPT certainly leaves {percent(evaluation.headroom)} above the policy, {best}"
    if evaluation.seconds_per_decision is not None:
        per_decision = f"{1000 * evaluation.seconds_per_decision:.3f} ms per decision"
        yield f"time: {per_decision}, {evaluation.seconds:.2f} s in all"
    if evaluation.time_limited:
        yield "time-limited: the budget ended the evaluation, so the score depends on the machine"
    yield from (f"note: {note}" for note in evaluation.notes)
    yield ""
    yield from evaluation.feedback


@command("checking")
def check_algorithm(
    algorithm: Annotated[str, arg.Option(arg.Anything("text"), "ALGORITHM")],
    *,
    family: str | None = None,
    tiny: Tiny = 4,
    seed: Seed = 1,
) -> Steps[AlgorithmCheck]:
    """Check a user's algorithm: determinism, prefix property, options, limits, isolation.

    Parameters
    ----------
    algorithm : mine.py:Class, or an import path package.module:Class.
    family : the family on whose instances the algorithm is run; by default the first of the standard set.
    seed : seed of the tiny instances.
    """
    checked = check_requirements(algorithm, find_family(family), tiny, seed)
    document = {
        "algorithm": checked.algorithm,
        "family": checked.family.name,
        "instances": checked.instances,
        "ready": checked.ready,
        "requirements": [asdict(each) | {"detail": each.detail or None} for each in checked.requirements],
    }
    yield Outcome(lambda: checked, lambda: document, lambda: int(not checked.ready))
    for each in checked.requirements:
        detail = f" ({each.detail})" if each.detail else ""
        yield f"{each.state.ljust(11)}  {each.name.ljust(11)}  {REQUIREMENTS[each.name]}{detail}"
    failed = [each.name for each in checked.requirements if each.state == "failed"]
    yield f"{checked.algorithm}: " + (f"not ready: {', '.join(failed)}" if failed else "ready")


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

    from ratiobench.bench.evaluation.play import play_rows

    listed = [instances] if isinstance(instances, str | os.PathLike) else list(instances)
    if not listed:
        raise InputError("instances", "", "none is given")
    read = {id(item): read_given(item) for item in {id(item): item for item in listed}.values()}
    rows = list(play_rows([read[id(item)] for item in listed], policy, trusted))
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
    # Arrays of the final types: a column that is converted costs more than a run.
    for name in ("value", "lower", "upper"):
        exact = columns[name]
        columns[f"{name}_exact"] = np.array(exact, dtype=object if None in exact else None)
    for name in ("value", "lower", "upper", "share", "seconds"):
        columns[name] = np.array([math.nan if figure is None else float(figure) for figure in columns[name]])
    columns["valid"] = pd.array(columns["valid"], dtype="boolean")
    for name in ("admitted", "arrivals"):
        columns[name] = pd.array(columns[name], dtype="Int64")
    return pd.DataFrame(columns)
