"""The standard set: what it claims is so, what was changed is noticed, and runs take OPT from it."""

import gzip
import itertools
import json
import math
import random
import re
import shutil
from dataclasses import replace
from fnmatch import fnmatch
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.family.registry import families, find_suite
from ratiobench.bench.family.standard import StandardSet, interval_of, read_set, shipped_sets
from ratiobench.bench.report import standard as tables
from ratiobench.bench.report.standard import describe_set
from ratiobench.bench.running import work
from ratiobench.bench.running.standard import check_entry, make_entry
from ratiobench.bench.storage.payload import read_exact
from ratiobench.bench.storage.store import StoredResult
from ratiobench.instances.io import packing
from ratiobench.instances.io.errors import InputError
from tests.support.commands import printed, refused

ROOT = Path(__file__).resolve().parents[2]
R1, R2, C1 = SETS = (read_set("R1"), read_set("R2"), read_set("C1"))
# Sets that are released: so many entries, and what they are, for good (0.3.0 gave the named instances memory in GB)
KEPT = {
    "C1": (16, "55050ccf625b2cd7664998b27ae31eb2b51fd6fe4b6990bb63f5df518ff4e133"),
    "R1": (117, "6557f5ea402e3b5e29000f70c76e5dded4ad665246e86ffa592411c3e4142094"),
    "R2": (11, "8fadf76c3d7a12cfe88baf98c03ee79beeb5dd219f6691a746bd085b56e7e4a2"),
}
IN_R1 = set(families()) - {"cluster"}  # Its instances of operators' logs are no part of the main set
both_sets = pytest.mark.parametrize("chosen", SETS, ids=lambda chosen: chosen.name)


def change(own: StandardSet, name: str, place: str, value: Any) -> None:
    """Put a value into the manifest, at a place such as `best.lower` of the entry of this name."""
    document = json.loads(own.path.read_text())
    [row] = [each for each in document["entries"] if each["name"] == name]
    holder, _, key = place.rpartition(".")
    (row[holder] if holder else row)[key] = value
    own.path.write_text(json.dumps(document))


@pytest.fixture
def own(tmp_path: Path) -> StandardSet:
    """A copy of the set that may be changed."""
    shutil.copy(R1.path, tmp_path / "R1.json")
    shutil.copytree(R1.folder, tmp_path / "R1")
    return read_set(tmp_path / "R1.json")


def test_what_was_published_never_changes() -> None:
    """Names, tiers, recipes, contents; no set is left out here."""
    assert {each.name: (len(each.entries), each.digest) for each in SETS} == KEPT
    assert [*KEPT] == shipped_sets()
    assert all(each.released for each in SETS)


@both_sets
def test_every_entry_is_complete_and_small(chosen: StandardSet) -> None:
    """All certificates together stay below 30 MB."""
    for entry in chosen.entries:
        assert entry.best is not None, entry.name
        assert entry.instance, entry.name
        assert entry.first, entry.name
        lower, upper = interval_of(entry.best)
        assert lower <= upper
    assert sum(chosen.certificate(each).stat().st_size for each in chosen.entries) < 30_000_000
    assert {path.name for path in chosen.folder.iterdir()} == {chosen.certificate(each).name for each in chosen.entries}


def test_every_family_is_in_the_main_set() -> None:
    assert {each.family for each in R1.entries} == IN_R1


def test_small_certificates_are_valid() -> None:
    """Those without a hundred in their name; the others are for `standard verify`."""
    small = [
        (chosen, each)
        for chosen in SETS
        for each in chosen.entries
        if each.best is not None and chosen.certificate(each).stat().st_size < 6_000 and "00" not in each.name
    ]
    assert {each.family for _, each in small} == set(families())
    assert {each.name: check_entry(chosen, each) for chosen, each in small} == {each.name: "" for _, each in small}


def test_no_set_repeats_an_instance_of_another() -> None:
    known = [each.instance for chosen in SETS for each in chosen.entries]
    assert len(known) == len(set(known))


def test_a_later_set_is_a_suite_of_its_own() -> None:
    """Its name has the set's behind that of the main suite; its OPT comes from its own certificates."""
    suite = find_suite("standard-R2")[1]
    assert [case.certificate for case in suite.cases] == [f"R2/{each.name}" for each in R2.entries]
    assert find_suite("standard")[1].cases[0].certificate.startswith("R1/")


def test_quick_takes_opt_from_valid_certificates() -> None:
    """Its own manifest has the recipes of the suite's cases; the others are entries of R1."""
    chosen = read_set("suites/quick")
    recipes = {case.certificate: case.recipe for case in find_suite("quick")[1].cases}
    assert len(recipes) == 17
    assert {f"suites/quick/{entry.name}": entry.recipe for entry in chosen.entries} == {
        address: recipe for address, recipe in recipes.items() if not address.startswith("R1/")
    }
    assert {entry.name: check_entry(chosen, entry) for entry in chosen.entries} == {
        entry.name: "" for entry in chosen.entries
    }


@pytest.mark.nightly
def test_a_whole_day_is_valid_and_a_set_is_checked_by_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["standard", "verify", "philly_7200", "tiny_*"]) == 0
    assert " certificates valid, " in capsys.readouterr().out


def test_a_changed_byte_fails(own: StandardSet, capsys: pytest.CaptureFixture[str]) -> None:
    """Any byte of the file; and a valid file about other figures than the manifest's."""
    entry = own.find("tiny_contention")
    path, draw = own.certificate(entry), random.Random("bytes")
    data = path.read_bytes()
    for place in draw.sample(range(len(data)), 20):
        other = bytearray(data)
        other[place] ^= 1 << draw.randrange(8)
        path.write_bytes(other)
        assert "not" in check_entry(own, entry)
    path.write_bytes(packing.pack(packing.unpack(data, "x", 10**6)) + b"\0")
    assert main(["standard", "verify", "tiny_contention", "--set", str(own.path)]) == 1
    out = capsys.readouterr().out
    assert "tiny_contention: NOT VALID: " in out
    assert f"{own.name}: 0 of 1 certificates valid" in out


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("instance", "0" * 64, "the recipe makes another instance here"),
        ("instance", "", "the manifest has no SHA-256"),
        ("recipe", {"kind": "named", "name": "tiny_vendors"}, "the recipe makes another instance here"),
        ("recipe", {"kind": "nothing"}, "nothing"),
        ("best.lower", 1, "lower: 1 in the manifest"),
        ("best.upper", 10**9, "upper: 1000000000 in the manifest"),
        ("best.certificate", "f" * 64, "not ffff"),
        ("best", None, "no certificate"),
    ],
)
def test_a_changed_manifest_fails(own: StandardSet, field: str, value: Any, problem: str) -> None:
    change(own, "tiny_contention", field, value)
    changed = read_set(own.path)
    assert problem in check_entry(changed, changed.find("tiny_contention"))


def test_a_missing_certificate_fails(own: StandardSet) -> None:
    entry = own.find("tiny_contention")
    own.certificate(entry).unlink()
    assert "cannot be read" in check_entry(own, entry)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "document: a list of 0 is not an object"),
        ('{"format": "ratiobench/standard/1"}', "name: the field is missing, and so are released, algorithms, entries"),
        (
            '{"format": "ratiobench/standard/1", "name": "x", "released": "", "algorithms": [], "entries": []}',
            "algorithms: a list of 0 is not an object",
        ),
        (
            '{"format": "ratiobench/standard/1", "name": "x", "released": "", "algorithms": {}, "entries": [{"name": '
            '"../../x", "tier": "a", "family": "b", "recipe": {}}]}',
            "entries[0].name: '../../x' is not a name of letters",
        ),
    ],
)
def test_what_is_no_manifest_is_refused(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.json").write_text(text)
    assert words in refused(capsys, "standard", "list", "--set", str(tmp_path / "x.json"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("best.lower", "1e400000000"), ("best.lower", "1/0"), ("best.lower", 10**50), ("best.upper", [1]),
        ("best.date", 7), ("best.date", "\x1b[31m"), ("best.seconds", "x"), ("best.command", "a\nb"), ("best", {}),
        ("first", {"x": 1}), ("first", [1]), ("size", [1]), ("size", {"a": "x" * 400}), ("size", {"x" * 400: 1}),
        ("family", "nobody"), ("family", ["lora"]), ("name", "x" * 5000), ("tier", ""), ("instance", "x"), ("new", 1),
        ("recipe", {"a": eval("[" * 90 + "]" * 90)}), ("recipe", "file"),
    ],
)  # fmt: skip
def test_wrong_fields_of_a_manifest_are_refused_in_one_line(
    own: StandardSet, field: str, value: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    change(own, own.entries[0].name, field, value)
    for command in ("list", "verify", "table"):
        error = refused(capsys, "standard", command, "--set", str(own.path))
        assert len(error) < 600
        assert "\x1b" not in error


def test_a_set_that_an_interruption_left_is_mended(own: StandardSet, capsys: pytest.CaptureFixture[str]) -> None:
    change(own, "tiny_contention", "best.certificate", "0" * 64)
    words = ["tiny_contention", "--set", str(own.path)]
    assert main(["standard", "verify", *words]) == 1
    assert refused(capsys, "standard", "fetch", *words, "--out", str(own.path.parent / "files"))
    assert main(["standard", "improve", *words]) == 0
    assert main(["standard", "verify", *words]) == 0


def test_names_that_do_not_exist_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--set", "R0"], ["--tier", "huge"], ["--family", "nobody"], ["tiny_contentoin"]):
        assert refused(capsys, "standard", "list", *words)
    assert "huge" in refused(capsys, "run", "standard", "--tier", "huge")


def test_an_interval_gets_better_and_never_worse(own: StandardSet, capsys: pytest.CaptureFixture[str]) -> None:
    """From a worse certificate, put in by hand; a second time nothing is better, and nothing is written."""
    name = "tiny_contention"
    entry = own.find(name)
    assert entry.best is not None
    family = families()[entry.family]
    instance = family.make(entry.recipe)
    empty = [None] * int((entry.size or {})["tasks"])
    best = packing.unpack(own.certificate(entry).read_bytes(), "x", 10**8)
    from ratiobench.formulations import checksums

    worse = checksums.add_checksum({k: v for k, v in best.items() if k != "sha256"} | {"lower": 0, "decisions": empty})
    own.certificate(entry).write_bytes(packing.pack(worse))
    assert family.read_certified(instance, worse, "x").lower == 0
    assert f"{name}: better\nOPT was in [0, " in printed(capsys, "standard", "improve", name, "--set", str(own.path))
    after = read_set(own.path)
    assert check_entry(after, after.find(name)) == ""
    before = own.path.read_bytes(), own.certificate(entry).read_bytes()
    text = printed(capsys, "standard", "improve", name, "--set", str(own.path))
    assert f"{name}: no better interval was found" in text
    assert before == (own.path.read_bytes(), own.certificate(entry).read_bytes())


def test_a_set_of_ones_own_is_filled_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As its README says: names and recipes alone, then `improve`, then `verify`."""
    entries = [{"name": "a", "tier": "t", "family": "lora", "recipe": {"kind": "named", "name": "tiny_vendors"}}]
    head = {"format": "ratiobench/standard/1", "name": "mine", "released": "", "algorithms": {}}
    (tmp_path / "mine.json").write_text(json.dumps(head | {"entries": entries}))
    own = ["--set", str(tmp_path / "mine.json")]
    assert main(["standard", "verify", *own]) == 1
    assert main(["standard", "improve", *own]) == 0
    assert main(["standard", "verify", *own]) == 0
    assert main(["standard", "fetch", *own, "--out", str(tmp_path / "files")]) == 0
    files = tmp_path / "files"
    out = printed(capsys, "check", str(files / "a.json.gz"), "--certificate", str(files / "a.cert"), "--explain")
    assert out.startswith("valid\nOPT ")
    assert "the certificate proves: the decisions are a solution of P" in out
    assert "\nin numbers: " in out
    assert '"decisions": [' in out


def test_runs_take_opt_from_the_certificates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One's tier alone; with --solve it is computed, and lies in the certificate's interval."""
    run = ["run", "standard", "--tier", "tiny", "--workers", "1", "--quiet"]
    text = printed(capsys, *run, "--out", str(tmp_path / "a"))
    assert "(proof: certificate, verified, R1/tiny_contention / none)" in text
    assert "certificate, verified" not in printed(capsys, *run, "--out", str(tmp_path / "b"), "--solve")
    known, solved = (pd.read_csv(tmp_path / name / "results.csv") for name in "ab")
    assert list(known["instance"]) == list(solved["instance"])
    assert (known["opt_lower"] <= solved["opt_lower"]).all()
    assert (solved["opt_upper"] <= known["opt_upper"]).all()


def test_claims_are_checked_where_that_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A standard set takes the algorithms' time, and says what it left out; the same folder takes both."""
    run = ["run", "standard", "--only", "tiny_contention", "--workers", "1", "--quiet", "--out", str(tmp_path)]
    left_out = "Claims were not checked on these runs"
    assert left_out in printed(capsys, *run)
    assert left_out in (tmp_path / "report.html").read_text()
    assert "theorem_g" not in pd.read_csv(tmp_path / "results.csv")
    assert left_out not in printed(capsys, *run, "--audits")
    assert "theorem_g" in pd.read_csv(tmp_path / "results.csv")
    about = json.loads((tmp_path / "provenance.json").read_text())
    assert about["command"].endswith("--only tiny_contention --audits")


def test_what_was_verified_is_not_verified_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the very same bytes only; a piece is the same either way."""
    monkeypatch.setenv("RATIOBENCH_CACHE", str(tmp_path))
    entry = R1.find("tiny_contention")
    house, instance = make_entry(entry)
    certificate = R1.certificate(entry).read_bytes()
    data = gzip.compress(house.dumps(instance).encode())
    other = gzip.compress(house.dumps(house.make(R1.find("tiny_vendors").recipe)).encode())

    def certified(data: bytes, certificate: bytes) -> StoredResult:
        found = work.certify(house.name, data, entry.instance, "R1/tiny_contention", certificate, "key")
        return replace(found, seconds=0.0)

    first = certified(data, certificate)
    with monkeypatch.context() as patch:
        patch.setattr(type(house), "read_certified", lambda *_: pytest.fail("verified again"))
        assert certified(data, certificate) == first
    assert first.ok
    assert not certified(other, certificate).ok
    assert not certified(data, R1.certificate(R1.find("tiny_vendors")).read_bytes()).ok
    assert not certified(other, certificate).ok  # what is wrong is not kept


def test_a_certificate_that_is_not_valid_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ratiobench.bench.running import runner

    monkeypatch.setattr(runner, "find_certificate", lambda address: R1.certificate(R1.find("tiny_vendors")))
    words = ["run", "standard", "--only", "tiny_contention", "--workers", "1", "--quiet", "--out", str(tmp_path / "a")]
    assert main(words) == 1
    assert "the certificate is about another instance" in capsys.readouterr().out


def test_every_family_has_its_suite() -> None:
    for name in IN_R1:
        suite = next(each for each in families()[name].suites() if each.name.startswith("standard"))
        assert find_suite(suite.name)[1].cases == suite.cases
        assert all(case.algorithms for case in suite.cases)


@both_sets
def test_the_page_of_the_set_has_every_instance_and_every_improvement(chosen: StandardSet) -> None:
    """Closed as the manifest says; the last step of the history is the interval of the manifest."""
    text = describe_set(chosen, families())
    history = chosen.read_history()
    assert {row["instance"] for row in history} == {each.name for each in chosen.entries}
    for entry in chosen.entries:
        [line] = re.findall(rf"^\| `{re.escape(entry.name)}` \| {entry.tier} \|.*$", text, flags=re.MULTILINE)
        assert entry.best is not None
        lower, upper = interval_of(entry.best)
        assert (" | closed | " in line) == (lower == upper)
        steps = [row for row in history if row["instance"] == entry.name]
        ends = [(read_exact(_end(row["lower"])), read_exact(_end(row["upper"]))) for row in steps]
        assert ends[-1] == (lower, upper)
        assert steps[-1]["command"] == entry.best.command
        assert all(a[0] <= b[0] <= b[1] <= a[1] and a != b for a, b in itertools.pairwise(ends))
        assert all(f"`{row['command']}`" in text for row in steps)


def _end(text: str) -> int | str:
    return text if "/" in text else int(text)


def test_an_improvement_is_added_to_the_history(own: StandardSet, capsys: pytest.CaptureFixture[str]) -> None:
    [entry] = [each for each in own.entries if each.name == "tiny_vendors"]
    assert main(["standard", "improve", entry.name, "--set", str(own.path)]) == 0
    assert own.read_history() == []
    document = json.loads(own.path.read_text())
    [row] = [each for each in document["entries"] if each["name"] == entry.name]
    del row["best"], row["first"]
    own.path.write_text(json.dumps(document))
    for _ in range(2):
        assert main(["standard", "improve", entry.name, "--set", str(own.path)]) == 0
    [step] = own.read_history()
    assert (step["lower"], step["upper"]) == ("42", "42")
    assert step["command"] == "standard improve tiny_vendors --effort 1"


def test_the_table_is_written_between_its_marks(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"before\n{tables.BEGIN}{tables.END}\nafter\n")
    assert main(["standard", "table", "--write", str(tmp_path / "a.md")]) == 0
    text = (tmp_path / "a.md").read_text()
    assert text == f"before\n{tables.BEGIN}{describe_set(R1, families())}{tables.END}\nafter\n"


def test_the_table_says_by_which_command_an_optimum_was_proved() -> None:
    for entry, cells in zip(R1.entries, tables.entry_lines(R1.entries), strict=True):
        closed = entry.best is not None and entry.best.lower == entry.best.upper
        assert (cells["gap"] == "proved") == closed
        assert cells["First proved by"] == (entry.best.command if closed and entry.best is not None else "-")


def test_the_goals_in_the_readme_are_told_as_the_set_has_them() -> None:
    """Gaps by pattern from the manifest, rounded up to three digits; met or missed as the numbers say."""
    text = (ROOT / "docs" / "results" / "standard.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| `(\S+)`, (few|own|wide) sizes \| (\S+)(?: %)? \| (.+?) % \| (\w+)(.*?) \|$", text, flags=re.MULTILINE
    )
    assert len(rows) == 16
    for pattern, sizes, meant, shown, said, more in rows:
        named = [each for chosen in SETS for each in chosen.entries if fnmatch(each.name, pattern)]
        those = [each.best for each in named if each.recipe.get("sizes", "few") == sizes and each.best is not None]
        gaps = [Fraction(best.upper - best.lower, best.upper) * 100 for best in those]
        assert shown == " to ".join(dict.fromkeys(decimal_digits(end) for end in (min(gaps), max(gaps))))
        met = sum(gap <= Fraction("0" if meant == "proved" else meant) for gap in gaps)
        assert said == ("met" if met else "missed")
        assert (f"on {met} of {len(gaps)}" in more) == (0 < met < len(gaps))


def decimal_digits(value: Fraction) -> str:
    """Three significant digits, rounded up."""
    if value == 0:
        return "0"
    places = 2 - math.floor(math.log10(value))
    return f"{float(Fraction(math.ceil(value * 10**places), 10**places)):g}"


@pytest.mark.parametrize(
    "recipe",
    [
        {"kind": "file", "path": "/etc/hostname"},
        {"kind": "joined", "recipes": [{"kind": "named", "name": "x"}, {"kind": "file", "path": "day.json"}]},
        {"kind": "log", "log": "jobs.csv"},
        {"kind": "mid", "calibration": "mine.json"},
    ],
)
def test_a_manifest_names_no_file(own: StandardSet, recipe: dict[str, Any]) -> None:
    """Whoever reads a foreign set opens no file that it chooses."""
    change(own, own.entries[0].name, "recipe", recipe)
    with pytest.raises(InputError, match=r"R1\.json: entries\[0\]\.recipe: names the file"):
        read_set(own.path)


def test_a_manifest_has_a_bounded_number_of_entries(own: StandardSet) -> None:
    """200,000 took 21 s and 658 MB."""
    document = json.loads(own.path.read_text())
    document["entries"] *= 10_000 // len(document["entries"]) + 1
    own.path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"R1\.json: entries: 10062 entries; at most 10000 are allowed"):
        read_set(own.path)
