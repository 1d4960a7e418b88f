"""Publish a hidden set with its seed, and verify one that was published."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from ratiobench.bench.evaluation.evaluate import evaluate_policy
from ratiobench.bench.evaluation.result import EvaluationSettings
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.standard import Entry, StandardSet, read_set
from ratiobench.bench.hidden.commitment import (
    POLICIES,
    ROWS_FILE,
    SEED_FILE,
    SET_FILE,
    Commitment,
    compute_commitment,
    current_version,
    read_commitment,
    read_rows,
    read_secret,
)
from ratiobench.bench.hidden.evaluation import certify_entries, entries_by_stage, row_of
from ratiobench.bench.running.standard import check_set
from ratiobench.instances.io.errors import InputError, explain_unknown_name, shorten
from ratiobench.instances.io.files import read_bytes, sha256_of

REPLAY_SECONDS = 86_400.0
"""Time limit of a replay."""


@dataclass(frozen=True, slots=True)
class Revealed:
    """What was verified.

    Parameters
    ----------
    commitment : the hash.
    folder : of the published files.
    published : whether this call wrote the folder.
    instances, proved : how many, and of how many OPT is proved; all have a valid certificate.
    evaluations, runs : how many; all runs were replayed, with the same results.
    isolated : whether the replays ran in a sandbox; None where no policy file was replayed.
    """

    commitment: str
    folder: Path
    published: bool
    instances: int
    proved: int
    evaluations: int
    runs: int
    isolated: bool | None

    def document(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {
            "commitment": self.commitment,
            "folder": str(self.folder),
            "published": self.published,
            "instances": self.instances,
            "proved": self.proved,
            "evaluations": self.evaluations,
            "runs": self.runs,
            "isolated": self.isolated,
        }


def reveal(
    path: Path, folder: Path | None, *, isolate: bool | None, workers: int | None, tell: Callable[[str], None]
) -> Revealed:
    """Publish the hidden set of a commitment, where its secret folder is here, and verify the published files.

    Parameters
    ----------
    path : the public file with the commitment.
    folder : of the published files; None: `NAME.revealed` beside the file. It is made where it does not exist.
    isolate : replay policies in a sandbox; None: where there can be one.

    Raises
    ------
    InputError : nothing to publish, or the first thing that is not as it was committed to.
    """
    commitment = read_commitment(path)
    folder = path.with_suffix(".revealed") if folder is None else folder
    published = not folder.exists()
    if published:
        _publish(commitment, folder, tell)
    tell("comparing the hash")
    secret = read_secret(folder)
    found = compute_commitment(secret, commitment.law, commitment.version)
    if found != commitment.value:
        problem = f"seed, salt, law or version is not the one that was committed to: their hash is {found}, and "
        raise InputError(str(folder / SEED_FILE), "seed", f"{problem}{path.name} has {commitment.value}")
    family = families().get(commitment.law.family)
    if family is None:
        raise InputError(str(path), "family", explain_unknown_name(commitment.law.family, families()))
    chosen = read_set(folder / SET_FILE)
    _check_entries(chosen, commitment.law.draw_entries(secret.seed))
    _check_certificates(commitment, chosen, workers, tell)
    records = read_rows(folder)
    _check_records(commitment, folder, records)
    runs, isolated = 0, None
    for number, record in enumerate(records):
        tell(f"replaying evaluation {number + 1} of {len(records)}")
        replayed = _Replay(commitment, family, folder, number, record, isolate)
        runs += replayed.check(chosen)
        isolated = isolated if replayed.isolated is None else replayed.isolated is not False and isolated is not False
    proved = sum(each.best is not None and each.best.lower == each.best.upper for each in chosen.entries)
    return Revealed(
        commitment.value, folder, published, len(chosen.entries), proved, len(records), runs, isolated
    )  # fmt: skip


def _publish(commitment: Commitment, folder: Path, tell: Callable[[str], None]) -> None:
    """Copy the secret folder, and note in it that the seed is public."""
    if not commitment.folder.is_dir():
        problem = f"is not there, and neither is the secret folder {commitment.folder} that it would be made from"
        raise InputError(str(folder), "", problem)
    certify_entries(commitment, tell)
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
            made = Path(temporary) / folder.name
            shutil.copytree(commitment.folder, made, ignore=shutil.ignore_patterns("revealed"))
            made.chmod(0o755)
            made.rename(folder)
        (commitment.folder / "revealed").touch()
    except OSError as error:
        raise InputError(str(folder), "", f"cannot be written: {error.strerror or error}") from None


def _check_entries(chosen: StandardSet, drawn: Sequence[Entry]) -> None:
    """The set's instances are those that the law draws from the seed."""
    source = str(chosen.path)
    names = [each.name for each in drawn]
    if [each.name for each in chosen.entries] != names:
        found = [each.name for each in chosen.entries]
        raise InputError(source, "entries", f"{shorten(found)} are not what the law draws from the seed")
    for mine, theirs in zip(drawn, chosen.entries, strict=True):
        for field in ("tier", "family", "recipe"):
            if sha256_of(getattr(mine, field)) != sha256_of(getattr(theirs, field)):
                problem = f"{shorten(getattr(theirs, field))} is not what the law draws from the seed"
                raise InputError(source, f"{theirs.name}.{field}", problem)


def _check_certificates(
    commitment: Commitment, chosen: StandardSet, workers: int | None, tell: Callable[[str], None]
) -> None:
    """Every instance is made again with the hash of the set, and its certificate is valid."""
    for number, found in enumerate(check_set(chosen, chosen.entries, workers), 1):
        tell(f"checking instances and certificates, {number} of {len(chosen.entries)} done")
        if found.problem:
            other = commitment.version != current_version()
            hint = f"; drawn by {commitment.version}, this is {current_version()}" if other else ""
            raise InputError(str(chosen.path), found.name, f"{found.problem}{hint}")


def _check_records(commitment: Commitment, folder: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """The records have the hashes that the commitment lists."""
    source = str(folder / ROWS_FILE)
    if len(records) < len(commitment.evaluations):
        problem = f"{len(records)} records; {commitment.path.name} lists {len(commitment.evaluations)} evaluations"
        raise InputError(source, "evaluations", problem)
    for number, (record, digest) in enumerate(zip(records, commitment.evaluations, strict=False)):
        if sha256_of(record) != digest:
            problem = f"the record is not the one that {commitment.path.name} lists: SHA-256 {sha256_of(record)}"
            raise InputError(source, f"evaluations[{number}]", problem)


class _Replay:
    """A recorded evaluation, run again."""

    def __init__(
        self,
        commitment: Commitment,
        family: Family,
        folder: Path,
        number: int,
        record: Mapping[str, Any],
        isolate: bool | None,
    ) -> None:
        self._law, self._family, self._folder, self._record = commitment.law, family, folder, record
        self._place = f"evaluations[{number}]"
        self._source = str(folder / ROWS_FILE)
        self._isolate = isolate
        self.isolated: bool | None = None
        for field, kind in (("file", str), ("words", str), ("hidden", list), ("published", list)):
            if not isinstance(record.get(field), kind):
                raise self._error(field, f"{shorten(record.get(field))} is not as `evaluate` writes it")

    def _error(self, field: str, problem: str) -> InputError:
        return InputError(self._source, f"{self._place}.{field}", problem)

    def check(self, hidden: StandardSet) -> int:
        """Replay all runs; how many there are.

        Raises
        ------
        InputError : the policy's file or a row differs.
        """
        text, words = str(self._record["file"]), str(self._record["words"])
        if text:
            path = self._folder / POLICIES / f"{text}.py"
            if sha256(read_bytes(path)[0]).hexdigest() != text:
                raise InputError(str(path), "", "is not the policy of its name: its SHA-256 differs")
            words = f"{path}{words}"
        law = self._law
        published = read_set(law.published)
        counterparts = {
            stage: [published.find(each.like) for each in law.templates if each.stage == stage and each.like]
            for stage in law.stages
        }
        runs = self._compare(words, hidden, entries_by_stage(hidden), "hidden")
        if any(counterparts.values()):
            runs += self._compare(words, published, counterparts, "published")
        return runs

    def _compare(self, text: str, chosen: StandardSet, entries: Mapping[str, Sequence[Entry]], field: str) -> int:
        settings = EvaluationSettings(
            stages=self._law.stages, threshold=0.0, budget=REPLAY_SECONDS, isolate=self._isolate
        )
        found = evaluate_policy(text, self._family, chosen, settings, entries=entries, compare=False)
        self.isolated = found.isolated
        rows = self._record[field]
        if len(rows) != len(found.results):
            raise self._error(field, f"{len(rows)} rows; the law has {len(found.results)} instances")
        for number, (row, result) in enumerate(zip(rows, found.results, strict=True)):
            place = f"{field}[{number}]"
            if not isinstance(row, dict) or row.get("instance") != result.name:
                raise self._error(place, f"{shorten(row)} is not a row of {result.name}")
            if row.get("state") == "not run":  # the budget ended, or the run before broke a rule
                continue
            replayed = row_of(self._family, result)
            for key in (*replayed, *row):
                if row.get(key) != replayed.get(key):
                    problem = f"{shorten(row.get(key))}; the replay on {result.name} gives {shorten(replayed.get(key))}"
                    raise self._error(f"{place}.{key}", problem)
        return sum(isinstance(row, dict) and row.get("state") != "not run" for row in rows)
