"""Submissions: packing, replay, rows that do not come out, and archives that strangers forge."""

from __future__ import annotations

import io
import json
import re
import stat
import struct
import zipfile
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml

from ratiobench.bench.cli.main import main
from ratiobench.bench.evaluation import evaluate as evaluation
from ratiobench.bench.evaluation import submission
from ratiobench.bench.evaluation.submission import ABOUT, FIELDS, MEMBERS, POLICY, ROWS, read_submission
from ratiobench.bench.family.standard import read_set
from ratiobench.instances.io.errors import InputError
from ratiobench.online.referee import sandbox
from tests.support.policies import EXAMPLES, REJECTS, write

ROOT = Path(__file__).resolve().parents[3]
WORKFLOWS = ROOT / ".github" / "workflows"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A submission on one tiny instance and one of the standard set."""
    file = tmp_path_factory.mktemp("submit") / "mine.zip"
    with pytest.MonkeyPatch.context() as patch:
        few(patch)
        policy = str(EXAMPLES / "lora.py")
        assert main(["submit", policy, "--tiny", "1", "--no-isolate", "--out", str(file)]) == 0
    return file.read_bytes()


def few(patch: pytest.MonkeyPatch) -> None:
    """One instance of the standard set is enough here."""
    entries = evaluation.entries_of
    patch.setattr(evaluation, "entries_of", lambda *given: entries(*given)[:1] if given[2] == "parts" else [])


def members(archive: bytes) -> dict[str, bytes]:
    """What is in it."""
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        return {name: file.read(name) for name in file.namelist()}


def pack(data: Mapping[str, bytes]) -> bytes:
    """An archive of these members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, each in data.items():
            file.writestr(name, each)
    return out.getvalue()


def resealed(archive: bytes, change: Callable[[dict[str, Any], list[dict[str, Any]], list[bytes]], None]) -> bytes:
    """The archive after a change of its fields, its rows or its policy, with hashes that fit again."""
    data = members(archive)
    about, rows, policy = json.loads(data[ABOUT]), json.loads(data[ROWS]), [data[POLICY]]
    change(about, rows, policy)
    data[ROWS], data[POLICY] = json.dumps(rows).encode(), policy[0]
    about["rows"]["sha256"] = sha256(data[ROWS]).hexdigest()
    about["policy"]["sha256"] = sha256(data[POLICY]).hexdigest()
    data[ABOUT] = json.dumps(about).encode()
    return pack(data)


def test_a_submission_has_policy_rows_hashes_and_provenance(archive: bytes) -> None:
    """Exactly three members; rows without anything that a clock decides; nothing about the machine but its kind."""
    data = members(archive)
    assert list(data) == list(MEMBERS)
    assert data[POLICY] == (EXAMPLES / "lora.py").read_bytes()
    about, rows = json.loads(data[ABOUT]), json.loads(data[ROWS])
    assert about["set"] == {"name": "R1", "sha256": read_set().digest}
    assert about["rows"] == {"count": 2, "sha256": sha256(data[ROWS]).hexdigest()}
    assert set(about["provenance"]) == {"code", "packages", "machine"}
    assert set(about["provenance"]["machine"]) <= {"system", "usable cores"}
    assert [set(row) for row in rows] == [{"name", *FIELDS}] * 2
    assert [(row["stage"], row["state"]) for row in rows] == [("tiny", "ok"), ("parts", "ok")]
    assert all(row["lower"] <= row["upper"] and row["value"] <= row["upper"] for row in rows)


def test_a_replay_verifies_it(
    archive: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All rows come out; the table for a comment has them; JSON says so."""
    few(monkeypatch)
    (tmp_path / "mine.zip").write_bytes(archive)
    words = ["verify-submission", str(tmp_path / "mine.zip"), "--no-isolate"]
    assert main([*words, "--markdown", str(tmp_path / "table.md")]) == 0
    assert "lora.py:Threshold: verified, score" in capsys.readouterr().out
    table = (tmp_path / "table.md").read_text()
    assert "all 2 rows verified" in table
    assert "**not isolated**" in table
    for row in json.loads(members(archive)[ROWS]):
        assert f"| {row['name']} | {row['upper']} | {row['value']} |" in table
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["verified"], found["isolated"], found["sha256"]) == (True, False, sha256(archive).hexdigest())


@pytest.mark.parametrize("field", ["value", "share", "upper", "sha256", "admitted", "state", "name"])
def test_a_row_that_does_not_come_out_is_refused(
    archive: bytes, field: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2, and one line with the row, the field and both values."""
    few(monkeypatch)
    actual: list[Any] = []

    def change(about: dict[str, Any], rows: list[dict[str, Any]], policy: list[bytes]) -> None:
        actual.extend([rows[1][field], rows[1]["name"]])
        rows[1][field] = "forged" if isinstance(rows[1][field], str) else rows[1][field] + 1

    (tmp_path / "mine.zip").write_bytes(resealed(archive, change))
    assert main(["verify-submission", str(tmp_path / "mine.zip"), "--no-isolate"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    told = "'forged'" if isinstance(actual[0], str) else str(actual[0] + 1)
    assert f"rows.json: row 1 ({actual[1]}), {field}: the file says {told}, the replay gives" in line


def test_another_policy_score_or_set_is_refused(
    archive: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are those of this policy, the score follows from them, and the set is the trusted one."""
    few(monkeypatch)
    rejects = write(tmp_path, REJECTS)

    def other(about: dict[str, Any], rows: list[Any], policy: list[bytes]) -> None:
        policy[0] = Path(rejects).read_bytes()
        about["policy"]["class"] = re.findall(rb"class (\w+)", policy[0])[0].decode()

    def score(about: dict[str, Any], rows: list[Any], policy: list[bytes]) -> None:
        about["combined_score"] = 1.0

    def of_set(about: dict[str, Any], rows: list[Any], policy: list[bytes]) -> None:
        about["set"]["sha256"] = "0" * 64

    def gone(about: dict[str, Any], rows: list[Any], policy: list[bytes]) -> None:
        rows.pop()

    def broken(about: dict[str, Any], rows: list[Any], policy: list[bytes]) -> None:
        policy[0] += b"\nraise RuntimeError('no')\n"

    for change, told in (
        (other, r"rows.json: row 0 .*value: the file says"),
        (score, "combined_score: the file says 1.0"),
        (of_set, r"set: was made on R1 \(000000000000"),
        (gone, "rows.json: has 1 rows, the replay 2"),
        (broken, r"policy.py: breaks a rule in the replay|policy.py: .*RuntimeError"),
    ):
        (tmp_path / "mine.zip").write_bytes(resealed(archive, change))
        with pytest.raises(InputError, match=told) as error:
            submission.verify_submission(tmp_path / "mine.zip", read_set(), 60.0, False)
        assert "/submission-" not in str(error.value)


def test_a_sandbox_is_insisted_on(archive: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one nothing of the policy runs, unless --no-isolate is said."""
    few(monkeypatch)

    def refuse(*_: object) -> None:
        raise InputError("--isolate", "", "needs a sandbox")

    monkeypatch.setattr(sandbox, "require", refuse)
    monkeypatch.setattr(sandbox, "choose", refuse, raising=False)
    monkeypatch.setattr(evaluation._Runner, "run", lambda *_: pytest.fail("the policy ran"))
    (tmp_path / "mine.zip").write_bytes(archive)
    assert main(["verify-submission", str(tmp_path / "mine.zip")]) == 2


def linked(name: str) -> bytes:
    """An archive in which a member is a symbolic link."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for each in MEMBERS:
            member = zipfile.ZipInfo(each)
            member.external_attr = ((stat.S_IFLNK if each == name else stat.S_IFREG) | 0o777) << 16
            file.writestr(member, b"/etc/passwd")
    return out.getvalue()


def twice(archive: bytes) -> bytes:
    """An archive with a member that stands twice."""
    out = io.BytesIO(archive)
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(out, "a") as file:
        file.writestr(POLICY, b"x = 1\n")
    return out.getvalue()


def lying(archive: bytes) -> bytes:
    """A bomb whose directory says that it is small."""
    data = members(archive)
    bomb = pack(data | {POLICY: b"#" * (MEMBERS[POLICY] * 8)})
    large = struct.pack("<L", MEMBERS[POLICY] * 8)
    assert bomb.count(large) >= 2
    return bomb.replace(large, struct.pack("<L", 100))


def forged(archive: bytes) -> dict[str, tuple[bytes, str]]:
    """Archives that must be refused, and what is said of them."""
    data = members(archive)
    return {
        "traversal": (pack({**data, "../../evil.py": b"x"}), "'../../evil.py'.*is no member"),
        "absolute": (pack({**data, "/etc/cron.d/evil": b"x"}), "is no member"),
        "folder": (pack({**data, "policy.py/": b""}), "is no member"),
        "another": (pack({**data, "policy.pyc": b"x"}), "is no member"),
        "zero": (pack({**data, "rows.json_.txt": b"x"}).replace(b"json_", b"json\0"), "is no member"),
        "missing": (pack({ABOUT: data[ABOUT], ROWS: data[ROWS]}), "policy.py: is missing"),
        "twice": (twice(archive), "policy.py: stands twice"),
        "link": (linked(POLICY), "policy.py: is a link"),
        "device": (linked(ABOUT), "submission.json: is a link"),
        "bomb": (pack(data | {ROWS: b" " * (64 * 2**20)}), "rows.json: has 67108864 bytes unpacked"),
        "lying": (lying(archive), "policy.py: has more than|is no sound ZIP"),
        "large": (archive + b"\0" * submission.ARCHIVE_BYTES, "bytes"),
        "cut": (archive[:-30], "is no sound ZIP archive"),
        "text": (b"policy", "is no sound ZIP archive"),
        "damaged": (pack(data).replace(b"policy.py", b"policy.pz", 1), "is no sound ZIP archive"),
        "hash": (pack(data | {POLICY: data[POLICY] + b"\n"}), "policy.py: has SHA-256"),
        "rows": (pack(data | {ROWS: b"[]"}), "rows.json: has SHA-256"),
        "nested": (pack(data | {ABOUT: b"[" * 100_000}), "submission.json"),
        "other": (pack(data | {ABOUT: b'{"format": "x"}'}), "it is no submission"),
    }


@pytest.mark.parametrize("kind", [
    "traversal", "absolute", "folder", "another", "zero", "missing", "twice", "link", "device", "bomb", "lying",
    "large", "cut", "text", "damaged", "hash", "rows", "nested", "other",
])  # fmt: skip
def test_a_forged_archive_is_refused(archive: bytes, kind: str, tmp_path: Path) -> None:
    """Before anything of it runs; nothing is written beside it."""
    data, told = forged(archive)[kind]
    file = tmp_path / "inner" / "mine.zip"
    file.parent.mkdir()
    file.write_bytes(data)
    with pytest.raises(InputError, match=told):
        read_submission(file)
    assert [each.name for each in tmp_path.rglob("*")] == ["inner", "mine.zip"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("policy.class", "A; import os"),
        ("policy.class", "__import__('os')"),
        ("policy.options", "k=1:x"),
        ("policy.options", "k=$(id)"),
        ("policy.name", "../x"),
        ("policy.name", "a|b"),
        ("family", "nosuch"),
        ("set.name", "../R1.json"),
        ("set.sha256", "0"),
        ("seed", -1),
        ("seed", True),
        ("tiny", 10**9),
        ("combined_score", "1"),
        ("combined_score", 2),
    ],
)
def test_a_field_that_submit_does_not_write_is_refused(archive: bytes, path: str, value: Any, tmp_path: Path) -> None:
    """The field is named; so is one that is missing."""

    def change(about: dict[str, Any], rows: list[Any], policy: list[bytes]) -> None:
        *heads, last = path.split(".")
        for head in heads:
            about = about[head]
        if value is None:
            del about[last]
        else:
            about[last] = value

    (tmp_path / "mine.zip").write_bytes(resealed(archive, change))
    with pytest.raises(InputError, match=re.escape(f"submission.json: {path}")):
        read_submission(tmp_path / "mine.zip")


def test_a_policy_that_breaks_a_rule_is_not_packed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor a shipped algorithm, which has no file."""
    (tmp_path / "bad.py").write_text("class A:\n    def start(self, p, c): pass\n    def decide(self, t, v): 1 / 0\n")
    words = ["--tiny", "1", "--no-isolate", "--out", str(tmp_path / "x.zip")]
    assert main(["submit", str(tmp_path / "bad.py"), *words]) == 2
    assert "is not valid, so it cannot be submitted" in capsys.readouterr().err
    assert main(["submit", "greedy", *words]) == 2
    assert not (tmp_path / "x.zip").exists()


def load(name: str) -> dict[Any, Any]:
    """A workflow; YAML reads its key `on` as true."""
    found: dict[Any, Any] = yaml.safe_load((WORKFLOWS / name).read_text())
    return found


def test_the_workflow_gives_untrusted_code_nothing() -> None:
    """It runs on pull requests with a token that can read only, on the code of the base; it names no secret."""
    text = (WORKFLOWS / "submission.yml").read_text()
    found = load("submission.yml")
    assert list(found[True]) == ["pull_request"]
    assert found["permissions"] == {"contents": "read"}
    assert "secrets" not in text
    assert "no-isolate" not in text
    [job] = found["jobs"].values()
    assert "permissions" not in job
    checkouts = [step["with"] for step in job["steps"] if str(step.get("uses", "")).startswith("actions/checkout@")]
    assert len(checkouts) == 2
    assert all(each["persist-credentials"] is False for each in checkouts)
    assert checkouts[0]["ref"] == "${{ github.event.pull_request.base.sha }}"
    runs = [step["run"] for step in job["steps"] if "run" in step]
    assert all("${{" not in each for each in runs)  # what a stranger writes is no part of a command
    assert any("verify-submission" in each for each in runs)


def test_the_workflow_that_comments_runs_nothing_of_the_pull_request() -> None:
    """It may write to pull requests, so it checks nothing out and installs nothing."""
    found = load("submission-comment.yml")
    assert list(found[True]) == ["workflow_run"]
    assert found[True]["workflow_run"]["workflows"] == [load("submission.yml")["name"]]
    assert found["permissions"] == {"actions": "read", "pull-requests": "write"}
    [job] = found["jobs"].values()
    uses = [step["uses"].partition("@")[0] for step in job["steps"] if "uses" in step]
    assert uses == ["actions/download-artifact"]
    for step in job["steps"]:
        assert "${{" not in step.get("run", "")
        assert "pip" not in step.get("run", "")
