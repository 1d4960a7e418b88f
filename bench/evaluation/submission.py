"""Submissions: a policy with the rows that it claims, in one file, and the replay that verifies them.

The file is a ZIP archive with exactly three members: `submission.json` (what was evaluated and how, hashes, where it
was made), `policy.py` (the text of the policy) and `rows.json` (a row per instance). It comes from strangers. So it is
read in memory under limits, nothing in it names a file that is written or read, and its policy runs in a sandbox.
"""

from __future__ import annotations

import io
import json
import re
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from ratiobench.bench.evaluation.evaluate import evaluate_policy
from ratiobench.bench.evaluation.result import CaseResult, Evaluation, EvaluationSettings, round_down
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.standard import StandardSet
from ratiobench.bench.running import provenance
from ratiobench.bench.storage.payload import json_number
from ratiobench.instances.io.errors import InputError, explain_unknown_name, make_printable, shorten
from ratiobench.instances.io.files import limit_file_size, load_json, read_bytes, write_atomically
from ratiobench.online.policy_file import MOST_BYTES, is_policy_file, read_policy_file

FORMAT = "ratiobench/submission/1"
ABOUT, POLICY, ROWS = "submission.json", "policy.py", "rows.json"
MEMBERS: Mapping[str, int] = {ABOUT: 2**18, POLICY: MOST_BYTES, ROWS: 2**22}
"""The members of the archive, with the most bytes of each unpacked."""
ARCHIVE_BYTES = 2**22
"""Of the archive itself."""
FIELDS = ("stage", "state", "sha256", "arrivals", "lower", "upper", "value", "share", "headroom", "admitted")
"""Of a row, beside its name; those that do not apply to its state are null."""
_HASH, _WORD = r"[0-9a-f]{64}", r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"
_OPTIONS = r"([A-Za-z_]\w*=[\w.+/-]+(,[A-Za-z_]\w*=[\w.+/-]+)*)?"
_MOST_ROWS = 10_000
_SECRET_KEYS = ("processor", "free memory")
"""Of the machine, what a submission does not tell."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission as it was read: what it claims.

    Parameters
    ----------
    source : the file, for messages.
    name : what the policy is called.
    policy : its text.
    class_name, options : the class in it, and its options `key=value,...`; both as people write them.
    family : of its problem.
    set_name, set_digest : the standard set, and the hash of what never changes in it.
    seed, tiny : of the tiny instances.
    score : the combined score that is claimed.
    rows : a row per instance: `name` and `FIELDS`.
    digest : SHA-256 of the archive.
    """

    source: str
    name: str
    policy: bytes
    class_name: str
    options: str
    family: Family
    set_name: str
    set_digest: str
    seed: int
    tiny: int
    score: float
    rows: Sequence[Mapping[str, Any]]
    digest: str

    @property
    def shown(self) -> str:
        """The policy as people write it."""
        return ":".join(filter(None, [f"{self.name}.py", self.class_name, self.options]))


@dataclass(frozen=True, slots=True)
class Verified:
    """A submission whose rows came out of the replay."""

    submission: Submission
    evaluation: Evaluation


def settings_for(seed: int, tiny: int, budget: float, isolate: bool | None) -> EvaluationSettings:
    """How submissions are evaluated: on all stages, with the usual threshold."""
    return EvaluationSettings(seed=seed, count=tiny, budget=budget, isolate=isolate)


def make_submission(
    text: str, family: Family, chosen: StandardSet, settings: EvaluationSettings
) -> tuple[bytes, Evaluation]:
    """Evaluate a policy and pack it with its rows.

    Parameters
    ----------
    text : `policy.py[:Class[:key=value,...]]`.
    settings : as `settings_for` makes them.

    Returns
    -------
    The archive, the same bytes for the same evaluation on the same day and machine; and the evaluation.

    Raises
    ------
    InputError : no policy's file; a policy that breaks a rule; an evaluation that the budget ended, whose rows depend
        on the machine.
    """
    if not is_policy_file(text):
        raise InputError("policy", text, "is no file; a submission packs the text of policy.py[:Class]")
    policy = read_policy_file(text)
    found = evaluate_policy(text, family, chosen, settings)
    if not found.valid:
        raise InputError(text, "", f"is not valid, so it cannot be submitted: {found.reason}")
    if found.time_limited:
        raise InputError("--budget", "", "ended the evaluation, so that its rows depend on the machine; allow more")
    _, class_name, *options = policy.shown.split(":")
    if options and not re.fullmatch(_OPTIONS, options[0]):
        raise InputError(text, "options", f"{shorten(options[0])}; key=value,... of letters, digits and . + / -")
    source = policy.path.read_bytes()
    rows = json.dumps(rows_of(found), indent=1).encode()
    made = provenance.collect()
    machine = {key: value for key, value in made["machine"].items() if key not in _SECRET_KEYS}
    about = {
        "format": FORMAT,
        "date": datetime.now(UTC).date().isoformat(),
        "policy": {
            "name": re.sub(r"[^A-Za-z0-9_.-]", "_", policy.path.stem)[:60] or "policy",
            "class": class_name,
            "options": options[0] if options else "",
            "sha256": sha256(source).hexdigest(),
        },
        "family": family.name,
        "set": {"name": chosen.name, "sha256": chosen.digest},
        "seed": settings.seed,
        "tiny": settings.count,
        "combined_score": found.combined_score,
        "isolated": found.isolated,
        "rows": {"count": len(found.results), "sha256": sha256(rows).hexdigest()},
        "provenance": {**made, "machine": machine},
    }
    data = {ABOUT: json.dumps(about, indent=1).encode(), POLICY: source, ROWS: rows}
    for name, most in MEMBERS.items():
        if len(data[name]) > most:
            raise InputError(text, name, f"has {len(data[name])} bytes; at most {most}")
    return _pack(data), found


def _pack(data: Mapping[str, bytes]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name in MEMBERS:
            member = zipfile.ZipInfo(name)  # of 1 January 1980
            member.external_attr = (stat.S_IFREG | 0o644) << 16
            file.writestr(member, data[name], zipfile.ZIP_DEFLATED)
    return archive.getvalue()


def write_submission(path: Path, data: bytes) -> None:
    """Write the archive, whole or not at all."""
    write_atomically(path, data)


def rows_of(found: Evaluation) -> list[dict[str, Any]]:
    """A row per instance: `name` and `FIELDS`; nothing that a clock decides."""
    return [_row(each) for each in found.results]


def _row(result: CaseResult) -> dict[str, Any]:
    case = result.case
    row: dict[str, Any] = {"name": result.name, **dict.fromkeys(FIELDS)}
    row |= {"stage": result.stage, "state": result.state}
    if case is not None:
        row |= {"sha256": case.identity, "arrivals": case.arrivals}
        row |= {"lower": json_number(case.lower), "upper": json_number(case.upper)}
    if result.state == "ok" and result.value is not None and result.headroom is not None:
        row |= {"value": json_number(result.value), "share": round_down(result.share)}
        row |= {"headroom": round_down(result.headroom), "admitted": result.admitted}
    return row


def read_submission(path: Path) -> Submission:
    """Read an archive that a stranger made.

    Raises
    ------
    InputError : a file that is too large, no archive, has other members than `MEMBERS`, one of them twice, a link, or
        one that is larger than it may be or says; a hash that differs; a field that is missing or not as `submit`
        writes it.
    """
    with limit_file_size(ARCHIVE_BYTES):
        archive, source = read_bytes(path)
    members = _unpack(archive, source)
    about = load_json(members[ABOUT], f"{source}: {ABOUT}")
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InputError(source, f"{ABOUT}: format", f"it is no submission ({FORMAT})")
    fields = _Fields(about, f"{source}: {ABOUT}")
    for name, field in ((POLICY, "policy.sha256"), (ROWS, "rows.sha256")):
        told, actual = fields.text(field, _HASH), sha256(members[name]).hexdigest()
        if told != actual:
            raise InputError(source, name, f"has SHA-256 {actual}, and {ABOUT} says {told}")
    family = fields.text("family", _WORD)
    if family not in families() or families()[family].evaluation is None:
        raise InputError(source, f"{ABOUT}: family", explain_unknown_name(family, families()))
    class_name = fields.text("policy.class", r"[A-Za-z_]\w{0,99}")
    return Submission(
        source=source,
        name=fields.text("policy.name", r"[A-Za-z0-9_.-]{1,60}"),
        policy=members[POLICY],
        class_name=class_name,
        options=fields.text("policy.options", _OPTIONS),
        family=families()[family],
        set_name=fields.text("set.name", _WORD),
        set_digest=fields.text("set.sha256", _HASH),
        seed=fields.whole("seed", 0, 2**31),
        tiny=fields.whole("tiny", 1, 1000),
        score=fields.share("combined_score"),
        rows=_read_rows(members[ROWS], source),
        digest=sha256(archive).hexdigest(),
    )


def _unpack(archive: bytes, source: str) -> dict[str, bytes]:
    """The members of the archive, in memory; it must have exactly those of `MEMBERS`."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as file:
            infos = file.infolist()
            for info in infos:
                name = info.orig_filename
                if name not in MEMBERS or info.filename != name:
                    raise InputError(
                        source, shorten(name), f"is no member of a submission; it has {', '.join(MEMBERS)}"
                    )
            for name, most in MEMBERS.items():
                mine = [info for info in infos if info.filename == name]
                if len(mine) != 1:
                    raise InputError(source, name, "is missing" if not mine else "stands twice in the archive")
                kind = stat.S_IFMT(mine[0].external_attr >> 16)
                if kind not in (0, stat.S_IFREG):
                    raise InputError(source, name, "is a link or something else that is no plain file")
                if mine[0].flag_bits & 1 or mine[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise InputError(source, name, "is encrypted, or compressed in a way that is not read")
                if mine[0].file_size > most:
                    raise InputError(source, name, f"has {mine[0].file_size} bytes unpacked; at most {most}")
            return {name: _read_member(file, name, most, source) for name, most in MEMBERS.items()}
    except InputError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
        raise InputError(source, "", f"is no sound ZIP archive: {make_printable(str(error), 200)}") from None


def _read_member(file: zipfile.ZipFile, name: str, most: int, source: str) -> bytes:
    """At most so many bytes, whatever the archive says of its size."""
    with file.open(name) as member:
        data = member.read(most + 1)
        if len(data) > most or member.read(1):
            raise InputError(source, name, f"has more than {most} bytes unpacked")
    return data


class _Fields:
    """The fields of a document, by paths such as ``set.name``, each checked when it is taken."""

    def __init__(self, document: Mapping[str, Any], source: str) -> None:
        self._document, self._source = document, source

    def _find(self, path: str) -> Any:
        found: Any = self._document
        for part in path.split("."):
            if not isinstance(found, dict) or part not in found:
                raise InputError(self._source, path, "the field is missing")
            found = found[part]
        return found

    def text(self, path: str, form: str) -> str:
        """A text of this form."""
        value = self._find(path)
        if not isinstance(value, str) or not re.fullmatch(form, value, re.ASCII):
            raise InputError(self._source, path, f"{shorten(value)} is not as `submit` writes it")
        return value

    def whole(self, path: str, low: int, high: int) -> int:
        """An integer in low..high."""
        value = self._find(path)
        if type(value) is not int or not low <= value <= high:
            raise InputError(self._source, path, f"{shorten(value)} is not an integer in {low}..{high}")
        return value

    def share(self, path: str) -> float:
        """A number in [0, 1]."""
        value = self._find(path)
        if type(value) not in (int, float) or not 0 <= value <= 1:
            raise InputError(self._source, path, f"{shorten(value)} is not a number in [0, 1]")
        return float(value)


def _read_rows(data: bytes, source: str) -> list[dict[str, Any]]:
    rows = load_json(data, f"{source}: {ROWS}")
    if not isinstance(rows, list) or not 0 < len(rows) <= _MOST_ROWS:
        raise InputError(source, ROWS, f"is no list of 1 to {_MOST_ROWS} rows")
    for number, row in enumerate(rows):
        if not isinstance(row, dict) or set(row) != {"name", *FIELDS} or not isinstance(row["name"], str):
            raise InputError(source, f"{ROWS}: [{number}]", f"is no row with the fields name, {', '.join(FIELDS)}")
    return rows


def verify_submission(path: Path, chosen: StandardSet, budget: float, isolate: bool | None) -> Verified:
    """Replay the policy of a submission and compare every row.

    Parameters
    ----------
    path : the archive.
    chosen : the standard set that is trusted.
    budget : seconds of the policy's runs in all.
    isolate : in a sandbox: True insists on one, None takes one where there can be one, False does without.

    Raises
    ------
    InputError : what `read_submission` refuses; another set than the trusted one; the first row that does not come
        out, with its field and both values; a sandbox that is asked for and cannot be.
    """
    given = read_submission(path)
    told, trusted = (given.set_name, given.set_digest), (chosen.name, chosen.digest)
    if told != trusted:
        problem = (
            f"was made on {told[0]} ({told[1][:12]}...), and {trusted[0]} ({trusted[1][:12]}...) is to be verified"
        )
        raise InputError(given.source, "set", problem)
    with tempfile.TemporaryDirectory(prefix="submission-") as folder:
        file = Path(folder) / POLICY
        file.write_bytes(given.policy)
        text = ":".join(filter(None, [str(file), given.class_name, given.options]))
        try:
            settings = settings_for(given.seed, given.tiny, budget, isolate)
            found = evaluate_policy(text, given.family, chosen, settings)
        except InputError as error:
            if str(file) not in str(error):
                raise
            raise InputError(given.source, POLICY, str(error).replace(str(file), POLICY)) from None
    if found.time_limited:
        raise InputError("--budget", "", f"{budget:g} s ended the replay; allow more")
    if not found.valid:
        raise InputError(given.source, POLICY, f"breaks a rule in the replay: {found.reason}")
    compare_rows(given, rows_of(found))
    if given.score != found.combined_score:
        problem = f"the file says {given.score}, the replay gives {found.combined_score}"
        raise InputError(given.source, f"{ABOUT}: combined_score", problem)
    return Verified(given, replace(found, policy=given.shown))


def compare_rows(given: Submission, replayed: Sequence[Mapping[str, Any]]) -> None:
    """Compare the rows of a submission with those of the replay, one by one and exactly.

    Raises
    ------
    InputError : the first row that differs: its name, the field, and both values.
    """
    if len(given.rows) != len(replayed):
        raise InputError(given.source, ROWS, f"has {len(given.rows)} rows, the replay {len(replayed)}")
    for number, (told, actual) in enumerate(zip(given.rows, replayed, strict=True)):
        for field in ("name", *FIELDS):
            if type(told[field]) is not type(actual[field]) or told[field] != actual[field]:
                where = f"{ROWS}: row {number} ({actual['name']}), {field}"
                problem = f"the file says {shorten(told[field])}, the replay gives {shorten(actual[field])}"
                raise InputError(given.source, where, problem)


def markdown(found: Verified) -> str:
    """The result as a table for a comment; no text of the archive is in it but names of letters, digits and _ . -."""
    given, evaluation = found.submission, found.evaluation
    isolated = "in a sandbox" if evaluation.isolated else "**not isolated**"
    name = given.shown.replace("_", r"\_")
    lines = [
        f"**{name}**: score {evaluation.combined_score:.4f}, all {len(given.rows)} rows verified ({given.family.name}, "
        f"set {given.set_name}, seed {given.seed}, {given.tiny} tiny instances, replayed {isolated}).",
        "",
        "| stage | instances | share of OPT, certified |",
        "|---|---|---|",
    ]
    lines += [
        f"| {each.name} | {each.run} of {each.instances} | {100 * round_down(each.share):.2f} % |"
        for each in evaluation.stages
    ]
    if evaluation.shipped is not None:
        lines.append(
            f"| best shipped: {evaluation.shipped.name} | | {100 * round_down(evaluation.shipped.share):.2f} % |"
        )
    lines += ["", "| instance | OPT, at most | value | share |", "|---|---|---|---|"]
    lines += [
        f"| {row['name']} | {row['upper']} | {row['value']} | {100 * row['share']:.2f} % |"
        for row in rows_of(evaluation)
        if row["state"] == "ok"
    ]
    return "\n".join([*lines, "", f"Archive SHA-256 `{given.digest}`.", ""])
