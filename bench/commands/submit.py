"""The commands `submit` and `verify-submission`: a policy with its rows in one file, and the replay of such a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ratiobench.bench.commands.command import Command
from ratiobench.bench.commands.texts import require_writable
from ratiobench.bench.evaluation.cases import find_family
from ratiobench.bench.evaluation.result import Evaluation
from ratiobench.bench.evaluation.submission import (
    Verified,
    make_submission,
    markdown,
    settings_for,
    verify_submission,
    write_submission,
)
from ratiobench.bench.family.standard import MAIN, read_set
from ratiobench.bench.options import Duration, File, Integer, Options, Switch, Text, argument, option, required
from ratiobench.instances.io.files import write_atomically


@dataclass(frozen=True, kw_only=True)
class Submit(Options):
    """Options of `submit`."""

    policy: str = argument("policy.py or policy.py:Class[:key=value,...]", Text(), "POLICY")
    out: Path = required("the file of the submission", File(), "FILE")
    family: str | None = option("family of the policy", Text(), "NAME", told="the first of the standard set")
    set: str = option("standard set of the larger instances, or its manifest", Text(), "SET", default=MAIN)
    seed: int = option("seed of the tiny instances", Integer(0, 2**31), "S", default=1)
    tiny: int = option("number of tiny instances", Integer(1, 1000), "N", default=10)
    budget: int = option("time limit of all runs of the policy", Duration(1), "T", default=600, told="10m")
    isolate: bool | None = option(
        "run the policy in a sandbox of bubblewrap (Linux), or do not; by default where bubblewrap works", Switch()
    )


@dataclass(frozen=True, kw_only=True)
class VerifySubmission(Options):
    """Options of `verify-submission`."""

    file: Path = argument("file of the submission", File(), "FILE")
    set: str = option("the standard set that is trusted, or its manifest", Text(), "SET", default=MAIN)
    budget: int = option("time limit of all runs of the policy", Duration(1), "T", default=1200, told="20m")
    isolate: bool | None = option(
        "replay in a sandbox, as is required by default; without one only a policy whose text you have read", Switch()
    )
    markdown: Path | None = option("write the table for a comment", File(), "FILE")


def submit(options: Submit) -> tuple[bytes, Evaluation]:
    """Evaluate the policy and pack it."""
    require_writable(options.out)
    settings = settings_for(options.seed, options.tiny, float(options.budget), options.isolate)
    return make_submission(options.policy, find_family(options.family), read_set(options.set), settings)


def submit_text(options: Submit, found: tuple[bytes, Evaluation]) -> Iterator[str]:
    """The score."""
    _, evaluation = found
    ran = f"{sum(each.state == 'ok' for each in evaluation.results)} of {len(evaluation.results)} instances run"
    isolated = "isolated" if evaluation.isolated else "not isolated"
    yield f"{evaluation.policy}: score {evaluation.combined_score:.4f}, {ran}"
    yield f"  ({evaluation.family.name}, set {evaluation.set_name}, seed {evaluation.settings.seed}, {isolated})"
    if evaluation.stopped:
        yield f"  {evaluation.stopped}"


def submit_document(options: Submit, found: tuple[bytes, Evaluation]) -> dict[str, Any]:
    """The score and the file as JSON values."""
    data, evaluation = found
    return {
        "file": str(options.out),
        "bytes": len(data),
        "combined_score": evaluation.combined_score,
        "rows": len(evaluation.results),
        "isolated": evaluation.isolated,
    }


def write(options: Submit, found: tuple[bytes, Evaluation]) -> list[str]:
    """The archive."""
    write_submission(options.out, found[0])
    return [f"Written: {options.out}; `verify-submission {options.out}` replays it"]


def verify(options: VerifySubmission) -> Verified:
    """Replay the submission and compare every row."""
    if options.markdown:
        require_writable(options.markdown)
    return verify_submission(options.file, read_set(options.set), float(options.budget), options.isolate is not False)


def verify_text(options: VerifySubmission, found: Verified) -> Iterator[str]:
    """That all rows came out."""
    given, evaluation = found.submission, found.evaluation
    isolated = "in a sandbox" if evaluation.isolated else "not isolated"
    yield f"{given.shown}: verified, score {evaluation.combined_score:.4f}"
    yield f"  all {len(given.rows)} rows of {options.file} came out of the replay ({given.family.name}, {isolated})"


def verify_document(options: VerifySubmission, found: Verified) -> dict[str, Any]:
    """The same as JSON values."""
    given, evaluation = found.submission, found.evaluation
    return {
        "policy": given.shown,
        "verified": True,
        "sha256": given.digest,
        "isolated": bool(evaluation.isolated),
        "evaluation": evaluation.document(),
    }


def write_table(options: VerifySubmission, found: Verified) -> None:
    """The table for a comment."""
    if options.markdown:
        write_atomically(options.markdown, markdown(found).encode())


SUBMIT = Command(
    "submit", "evaluate a policy and pack it with its rows, hashes and provenance into one file", Submit, submit,
    text=submit_text, document=submit_document, write=write, busy="evaluating", keeps=False,
)  # fmt: skip
VERIFY_SUBMISSION = Command(
    "verify-submission", "replay a submission in a sandbox, and refuse it if a row differs", VerifySubmission,
    verify, text=verify_text, document=verify_document, write=write_table, busy="replaying",
)  # fmt: skip
