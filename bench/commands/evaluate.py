"""The command `evaluate`: how good a policy is on graded instances with enclosed OPT, and where it loses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ratiobench.bench.commands.command import Command
from ratiobench.bench.evaluation.cases import STAGES, default_family, find_family
from ratiobench.bench.evaluation.evaluate import evaluate_policy
from ratiobench.bench.evaluation.result import Evaluation, EvaluationSettings
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.standard import read_set, set_of
from ratiobench.bench.options import Choice, Decimal, Duration, Integer, Options, Text, argument, option
from ratiobench.bench.running.options import isolation
from ratiobench.online.policy_file import is_policy_file
from ratiobench.online.remarks import isolation_text


@dataclass(frozen=True, kw_only=True)
class Evaluate(Options):
    """Options of `evaluate`."""

    policy: str = argument("policy.py, policy.py:Class[:key=value,...], or a shipped algorithm", Text(), "POLICY")
    family: str | None = option(
        "family of the policy", Text(), "NAME", told="that of the shipped algorithm, or the first of the standard set"
    )
    set: str | None = option(
        "standard set of the larger instances, or its manifest", Text(), "SET", told="the family's first one"
    )
    seed: int = option(
        "seed of the tiny instances; another one than 1 also draws the larger ones anew, like those of the set",
        Integer(0, 2**31), "S", default=1,
    )  # fmt: skip
    tiny: int = option("number of tiny instances", Integer(1, 1000), "N", default=10)
    stage: tuple[str, ...] = option(
        "run only these stages", Choice(STAGES), "STAGE", several=True, told=",".join(STAGES)
    )
    only: tuple[str, ...] = option(
        "run only the instances with these names (* ? [...])", Text(), "PATTERN", several=True
    )
    last: str | None = option(
        "end after this stage; instances of later ones count as 0", Choice(STAGES), "STAGE", told="the last one"
    )
    threshold: Any = option(
        "mean share of OPT on a stage from which on the next stage is run", Decimal(0, 1), "X", default=0.3
    )
    budget: int = option(
        "time limit of all runs of the policy; unfinished instances count as 0", Duration(1), "T", default=60,
        told="60s",
    )  # fmt: skip
    isolate: bool | None = isolation()


def run(options: Evaluate) -> Evaluation:
    """Evaluate the policy."""
    settings = EvaluationSettings(
        seed=options.seed,
        count=options.tiny,
        stages=tuple(each for each in STAGES if each in options.stage) or STAGES,
        threshold=float(options.threshold),
        budget=float(options.budget),
        isolate=options.isolate,
        only=options.only,
        last=options.last or "",
    )
    family = _family(options)
    chosen = set_of(family.name) if options.set is None else read_set(options.set)
    return evaluate_policy(options.policy, family, chosen, settings)


def _family(options: Evaluate) -> Family:
    """The family that is named; of a shipped algorithm the first that has it, the default before all others."""
    if options.family is not None or is_policy_file(options.policy):
        return find_family(options.family)
    head = options.policy.partition(":")[0]
    known = sorted(families().values(), key=lambda each: each.name != default_family())
    able = [each for each in known if each.evaluation is not None]
    owners = [each for each in able if head in {entry.name for entry in each.algorithms()}]
    return owners[0] if owners else find_family()


def text(options: Evaluate, found: Evaluation) -> Iterator[str]:
    """The score, a table of the instances, the feedback."""
    from ratiobench.bench.evaluation.feedback import percent
    from ratiobench.bench.evaluation.table import rows
    from ratiobench.bench.show import align_columns

    verdict = "valid" if found.valid else "NOT VALID"
    isolated = "shipped" if found.isolation is None else isolation_text(found.isolation)
    yield f"{found.policy}: score {found.combined_score:.4f}, {verdict} ({found.family.name}, {isolated})"
    if lines := rows(found):
        yield align_columns(lines).removesuffix("\n")
    if found.headroom is not None and found.shipped is not None:
        best = f"{percent(found.shipped.headroom)} above {found.shipped.name}"
        yield f"headroom: OPT certainly leaves {percent(found.headroom)} above the policy, {best}"
    if found.seconds_per_decision is not None:
        yield f"time: {1000 * found.seconds_per_decision:.3f} ms per decision, {found.seconds:.2f} s in all"
    if found.time_limited:
        yield "time-limited: the budget ended the evaluation, so the score depends on the machine"
    yield from (f"note: {each}" for each in found.notes)
    yield ""
    yield from found.feedback


def document(options: Evaluate, found: Evaluation) -> dict[str, Any]:
    """The evaluation as JSON values."""
    return found.document()


EVALUATE = Command(Evaluate, run, text=text, document=document, busy="evaluating")
