"""A policy on hidden instances, beside their published counterparts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from ratiobench.bench.evaluation.evaluate import evaluate_policy
from ratiobench.bench.evaluation.feedback import percent
from ratiobench.bench.evaluation.result import CaseResult, Evaluation, EvaluationSettings, HiddenComparison, HiddenStage
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.standard import Entry, StandardSet, read_set
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.bench.hidden.commitment import (
    POLICIES,
    SET_FILE,
    Commitment,
    create_commitment,
    read_commitment,
    read_rows,
    write_rows,
)
from ratiobench.bench.hidden.law import HIDDEN_STAGES, default_law, read_law
from ratiobench.bench.running.standard import improve
from ratiobench.bench.storage.payload import json_number
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import make_folder, sha256_of, write_atomically
from ratiobench.online.policy_file import is_policy_file, policy_path
from ratiobench.online.run_context import RunContext, run_context


@dataclass(frozen=True, slots=True)
class HiddenOptions:
    """How a hidden set is made, where the commitment is not there yet.

    Parameters
    ----------
    commit : the public file.
    law : a file with the law; None for counterparts of the standard set.
    count : instances of each stage, at most, without a law.
    """

    commit: Path
    law: Path | None = None
    count: int = 4


def evaluate_hidden(
    text: str,
    family: Family,
    chosen: StandardSet,
    settings: EvaluationSettings,
    options: HiddenOptions,
    tell: Callable[[str], None],
) -> Evaluation:
    """Evaluate a policy on a hidden set, and on the published counterparts of its instances.

    The commitment is made and written if it is not there. OPT of the hidden instances is enclosed with effort 1 and
    certified before the policy runs. The evaluation is recorded, and its record's hash published in the commitment.

    Returns
    -------
    The evaluation on the hidden instances, without results and feedback on single ones; `hidden` has the comparison.

    Raises
    ------
    InputError : a commitment of another family, one that is revealed, or without its secret folder; no sandbox, unless
        `settings.isolate` is False.
    """
    stages = tuple(stage for stage in HIDDEN_STAGES if stage in settings.stages)
    if is_policy_file(text):
        policy_path(text)  # a file that is missing is an error before anything is drawn
    else:
        with run_context(RunContext(isolate=family.choose_isolation(settings.isolate))):
            family.validate_algorithm(text)
    if options.commit.exists():
        commitment = read_commitment(options.commit)
        if not commitment.folder.is_dir():
            raise InputError(str(options.commit), "", f"its secret folder {commitment.folder} is not here")
        if commitment.law.family != family.name:
            raise InputError(str(options.commit), "family", f"is of {commitment.law.family}, not {family.name}")
    else:
        law = default_law(family, chosen, stages, options.count) if options.law is None else read_law(options.law)
        if law.family != family.name:
            raise InputError(str(options.law), "family", f"is of {law.family}, not {family.name}")
        commitment = create_commitment(options.commit, law)
        tell(f"committed to {commitment.value}")
    if (commitment.folder / "revealed").exists():
        raise InputError(str(options.commit), "", "the seed is revealed: the instances are no longer hidden")
    hidden = certify_entries(commitment, tell)
    law = commitment.law
    settings = replace(
        settings,
        stages=law.stages,
        threshold=0.0,
        isolate=True if settings.isolate is None and is_policy_file(text) else settings.isolate,
    )
    found = evaluate_policy(text, family, hidden, settings, entries=entries_by_stage(hidden))
    published = read_set(law.published)
    counterparts = {
        stage: [published.find(each.like) for each in law.templates if each.stage == stage and each.like]
        for stage in law.stages
    }
    beside = None
    if any(counterparts.values()):
        beside = evaluate_policy(text, family, published, settings, entries=counterparts)
    commitment = _record(commitment, family, text, found, beside)
    comparison = HiddenComparison(
        commitment=commitment.value,
        file=options.commit.name,
        evaluation=len(commitment.evaluations),
        published_set=published.name,
        stages=tuple(_compare(stage, beside, found) for stage in law.stages),
        total=_compare("", beside, found),
    )
    return replace(
        found,
        set_name="hidden",
        results=(),
        loss=None,
        worst="",
        feedback=tuple(_feedback(found, beside, comparison)),
        hidden=comparison,
    )


def certify_entries(commitment: Commitment, tell: Callable[[str], None]) -> StandardSet:
    """The hidden set, in which every instance has a certificate of effort 1; those that are missing are computed."""
    chosen = read_set(commitment.folder / SET_FILE)
    for number, entry in enumerate(chosen.entries, 1):
        if entry.best is None:
            tell(f"enclosing OPT of hidden instance {number} of {len(chosen.entries)}")
            chosen = improve(chosen, entry, SolveSettings(effort=1), lambda _: None).chosen
    return chosen


def entries_by_stage(chosen: StandardSet) -> dict[str, list[Entry]]:
    """The entries of a hidden set by stage."""
    return {stage: [each for each in chosen.entries if each.tier == stage] for stage in HIDDEN_STAGES}


def policy_words(text: str) -> tuple[Path | None, str]:
    """The file of a policy and what stands behind it, `:Class:key=value`; no file for a shipped algorithm."""
    if not is_policy_file(text):
        return None, text
    _, colon, words = text.partition(".py:")
    return policy_path(text), f"{colon[3:]}{words}"


def row_of(family: Family, result: CaseResult) -> dict[str, Any]:
    """What is recorded of a run, and compared when it is replayed."""
    row: dict[str, Any] = {"instance": result.name, "state": result.state}
    if result.state == "ok" and result.value is not None:
        row |= {"value": json_number(result.value), "admitted": result.admitted}
        row["decisions"] = sha256_of(family.solution_document(result.decisions))
    return row


def _record(
    commitment: Commitment, family: Family, text: str, found: Evaluation, beside: Evaluation | None
) -> Commitment:
    """Keep the policy and its rows, and publish the record's hash in the commitment."""
    path, words = policy_words(text)
    digest = ""
    if path is not None:
        data = path.read_bytes()
        digest = sha256(data).hexdigest()
        write_atomically(make_folder(commitment.folder / POLICIES) / f"{digest}.py", data)
    record = {
        "policy": found.policy,
        "file": digest,
        "words": words,
        "isolated": found.isolated,
        "date": datetime.now(UTC).date().isoformat(),
        "hidden": [row_of(family, each) for each in found.results],
        "published": [] if beside is None else [row_of(family, each) for each in beside.results],
    }
    records = [*read_rows(commitment.folder), record]
    write_rows(commitment.folder, records)
    changed = replace(commitment, evaluations=(*commitment.evaluations, sha256_of(record)))
    changed.write()
    return changed


def _compare(stage: str, beside: Evaluation | None, found: Evaluation) -> HiddenStage:
    """Shares on published and hidden instances of a stage, of all stages without a name."""
    ours, theirs = (
        [each for each in (evaluation.results if evaluation else ()) if stage in ("", each.stage)]
        for evaluation in (found, beside)
    )
    return HiddenStage(stage or "all", len(theirs), len(ours), *_ends(theirs), *_ends(ours))


def _ends(results: Sequence[CaseResult]) -> tuple[Fraction, Fraction]:
    """Ends of the interval on the mean share of OPT; a run that is missing or not valid has share 0."""
    if not results:
        return Fraction(0), Fraction(1)
    low = sum((each.share for each in results), Fraction(0))
    high = sum((1 - each.headroom for each in results if each.headroom is not None), Fraction(0))
    return low / len(results), high / len(results)


def _feedback(found: Evaluation, beside: Evaluation | None, comparison: HiddenComparison) -> list[str]:
    """Sentences that tell nothing of single hidden instances."""
    lines = []
    for each in (found, beside):
        if each is not None and not each.valid:
            where = "a hidden instance" if each is found else "a published counterpart"
            lines.append(f"The policy is not valid on {where}, so its score is 0.")
    if found.stopped and found.valid:
        lines.append(f"Not all hidden instances were run: {found.stopped.split(':')[-1].strip()}.")
    if found.shipped is not None:
        lines.append(
            f"On the hidden instances OPT certainly leaves {percent(found.headroom)} above the policy and "
            f"{percent(found.shipped.headroom)} above {found.shipped.name}, the best shipped algorithm there."
        )
    number = comparison.evaluation
    lines.append(
        f"This is evaluation {number} on this commitment; each one tells something of the hidden instances. "
        f"`standard reveal {comparison.file}` publishes seed, instances, certificates and rows."
    )
    return lines
