"""Hidden sets: what is published first, what a revealed set proves, and that every change is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import ratiobench as rb
from ratiobench.bench.cli.main import main
from ratiobench.bench.evaluation.cases import find_family
from ratiobench.bench.evaluation.result import HiddenStage, schema
from ratiobench.bench.family.standard import read_set
from ratiobench.bench.hidden.commitment import compute_commitment, read_commitment, read_secret
from ratiobench.bench.hidden.law import Law, Template, default_law, parse_law
from ratiobench.bench.hidden.reveal import reveal
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import sha256_of
from tests.support.policies import EXAMPLES, REJECTS, write

SEED = "5b" * 32


def _small_law() -> Law:
    """Two small instances; one has a published counterpart that is small, too."""
    family = find_family("lora")
    assert family.evaluation is not None
    recipe = {key: value for key, value in family.evaluation.tiny_recipe(1, 3).items() if key != "name"}
    choices = {"start": [50, 60, 70]}
    return Law("lora", "R1", (Template("tiny_contention", "parts", recipe, choices), Template("", "days", recipe, {})))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a commitment, on which two policies were evaluated."""
    folder = tmp_path_factory.mktemp("hidden")
    (folder / "law.json").write_text(json.dumps(_small_law().document()))
    for policy in (EXAMPLES / "lora.py", "greedy"):
        rb.evaluate(policy, set="hidden", commit=folder / "days.json", law=folder / "law.json", isolate=False)
    return folder


@pytest.fixture
def revealed(made: Path, tmp_path: Path) -> Path:
    """A copy of it, revealed: the commitment's file, beside the folder that is published."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    assert _reveal(tmp_path).published
    shutil.rmtree(tmp_path / "days.secret")
    return tmp_path


def _reveal(folder: Path) -> Any:
    return reveal(folder / "days.json", None, isolate=False, workers=1, tell=lambda line: None)


def _edit(path: Path, change: Callable[[Any], object]) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def test_a_law_draws_the_same_instances_from_the_same_seed() -> None:
    """Another seed gives others; the seed is in none of them."""
    chosen = read_set()
    law = default_law(find_family("lora"), chosen, ("parts", "days"), 3)
    entries = law.draw_entries(SEED)
    assert entries == law.draw_entries(SEED)
    other = law.draw_entries("5c" * 32)
    assert all(a.recipe["seed"] != b.recipe["seed"] for a, b in zip(entries, other, strict=True))
    assert SEED not in json.dumps([each.recipe for each in entries])
    assert [each.tier for each in entries].count("parts") == 3
    for each, template in zip(entries, law.templates, strict=True):
        counterpart = chosen.find(template.like).recipe
        assert counterpart["nodes"] == each.recipe["nodes"]
        if "day" in counterpart["arrivals"]:
            assert counterpart["arrivals"]["day"] != each.recipe["arrivals"]["day"]


@pytest.mark.parametrize("family", ["lora", "edgeflow", "tenants"])
def test_every_family_has_a_law_that_can_be_drawn(family: str) -> None:
    """Instances are made, and are none of the standard set."""
    found = find_family(family)
    chosen = read_set()
    law = default_law(found, chosen, ("parts",), 1)
    assert parse_law(json.loads(json.dumps(law.document())), "law") == law
    known = {each.instance for each in chosen.entries}
    for entry in law.draw_entries(SEED):
        assert found.identity(found.make(entry.recipe)) not in known


def test_the_commitment_depends_on_seed_salt_law_and_version(made: Path) -> None:
    """Each of the four changes the hash; the public file has neither seed nor salt."""
    secret = read_secret(made / "days.secret")
    commitment = read_commitment(made / "days.json")
    value = compute_commitment(secret, commitment.law, commitment.version)
    assert value == commitment.value
    others = {
        compute_commitment(type(secret)(SEED, secret.salt), commitment.law, commitment.version),
        compute_commitment(type(secret)(secret.seed, SEED), commitment.law, commitment.version),
        compute_commitment(secret, Law("lora", "R1", commitment.law.templates[:1]), commitment.version),
        compute_commitment(secret, commitment.law, "ratiobench 9"),
    }
    assert len({value, *others}) == 5
    public = (made / "days.json").read_text()
    assert secret.seed not in public
    assert secret.salt not in public
    assert (made / "days.secret").stat().st_mode & 0o77 == 0


def test_an_evaluation_shows_the_gap_and_no_single_instance(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Text and JSON have means by stage; the record's hash is published."""
    before = len(read_commitment(made / "days.json").evaluations)
    words = ["evaluate", "greedy", "--set", "hidden", "--commit", str(made / "days.json")]
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, schema())
    assert document["instances"] == []
    assert document["hidden"]["evaluation"] == before + 1
    assert len(read_commitment(made / "days.json").evaluations) == before + 1
    stages = {each["name"]: each for each in document["hidden"]["stages"]}
    assert stages["parts"]["published"] == stages["parts"]["hidden"] == stages["days"]["hidden"] == 1
    assert stages["all"]["hidden_share"][0] == pytest.approx(document["combined_score"], abs=1e-5)
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "share on R1" in text
    assert "gap" in text
    assert "hidden_0" not in text


def test_the_gap_is_an_interval() -> None:
    """Whatever OPT is in its intervals, the difference of the shares lies in it."""
    from fractions import Fraction

    stage = HiddenStage("all", 1, 1, Fraction(6, 10), Fraction(7, 10), Fraction(5, 10), Fraction(55, 100))
    assert stage.gap == (Fraction(5, 100), Fraction(2, 10))


def test_a_revealed_set_verifies_and_is_a_standard_set(revealed: Path) -> None:
    """Without the secret folder, and as `--set` of any evaluation; it cannot be evaluated on as a hidden one."""
    found = _reveal(revealed)
    assert not found.published
    assert (found.instances, found.proved) == (2, 2)
    assert found.runs >= 2 * 3
    assert len(read_set(revealed / "days.revealed" / "set.json").entries) == 2
    assert main(["standard", "verify", "--set", str(revealed / "days.revealed" / "set.json"), "--workers", "1"]) == 0
    with pytest.raises(InputError, match="secret folder"):
        rb.evaluate("greedy", set="hidden", commit=revealed / "days.json")


def test_what_is_revealed_is_no_longer_hidden(made: Path, tmp_path: Path) -> None:
    """No evaluation on a commitment after its seed is public."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    _reveal(tmp_path)
    with pytest.raises(InputError, match="no longer hidden"):
        rb.evaluate("greedy", set="hidden", commit=tmp_path / "days.json")


def _other_recipe(document: Any) -> None:
    document["entries"][0]["recipe"]["start"] += 1


def _other_hash(document: Any) -> None:
    document["entries"][0]["instance"] = "0" * 64


def _other_value(document: Any) -> None:
    document["evaluations"][0]["hidden"][0]["value"] += 1


def _other_law(document: Any) -> None:
    document["law"]["templates"][0]["choices"]["start"] = [50]


@pytest.mark.parametrize(
    ("file", "change", "problem"),
    [
        ("days.revealed/seed.json", lambda found: found.update(seed=SEED), "not the one that was committed to"),
        ("days.revealed/seed.json", lambda found: found.update(salt=SEED), "not the one that was committed to"),
        ("days.json", _other_law, "not the one that was committed to"),
        ("days.json", lambda found: found.update(version="ratiobench 9"), "not the one that was committed to"),
        ("days.revealed/set.json", _other_recipe, "is not what the law draws from the seed"),
        ("days.revealed/set.json", lambda found: found["entries"].pop(), "are not what the law draws from the seed"),
        ("days.revealed/set.json", _other_hash, "the recipe makes another instance here"),
        ("days.revealed/rows.json", _other_value, "the record is not the one that days.json lists"),
        ("days.revealed/rows.json", lambda found: found["evaluations"].pop(), "evaluations"),
    ],
)
def test_every_change_is_refused(
    revealed: Path, file: str, change: Any, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seed, salt, law, version, instance, row: one line on standard error, status 2."""
    _edit(revealed / file, change)
    with pytest.raises(SystemExit) as exit_:
        raise SystemExit(main(["standard", "reveal", str(revealed / "days.json"), "--workers", "1", "--no-isolate"]))
    assert exit_.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = [line for line in captured.err.splitlines() if not line.startswith("...")]
    assert len(lines) == 1
    assert problem in lines[0]


def test_a_row_that_was_listed_is_replayed(revealed: Path) -> None:
    """A row that is false from the beginning, its hash in the commitment, does not come out of the replay."""
    rows = revealed / "days.revealed" / "rows.json"
    _edit(rows, _other_value)
    records = json.loads(rows.read_text())["evaluations"]
    _edit(revealed / "days.json", lambda found: found.update(evaluations=[sha256_of(each) for each in records]))
    with pytest.raises(InputError, match="the replay on hidden_0_tiny_contention gives"):
        _reveal(revealed)


def test_another_policy_or_certificate_is_refused(revealed: Path) -> None:
    """The policy's file is the one that was run; a certificate is that of the set."""
    policy = next((revealed / "days.revealed" / "policies").iterdir())
    text = policy.read_text()
    policy.write_text(text.replace("LATE = 0.2", "LATE = 0.3"))
    with pytest.raises(InputError, match="not the policy of its name"):
        _reveal(revealed)
    policy.write_text(text)
    certificate = next((revealed / "days.revealed" / "set").iterdir())
    certificate.write_bytes(certificate.read_bytes()[:-1])
    with pytest.raises(InputError, match="SHA-256"):
        _reveal(revealed)


def test_a_policy_without_a_sandbox_has_to_be_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one it could read the seed, so that it is an error by default, before anything runs."""
    from ratiobench.online.referee import sandbox

    monkeypatch.setattr(sandbox, "probe", lambda: ((), "no sandbox here"))
    monkeypatch.setattr(sandbox, "has_landlock", lambda: False)
    (tmp_path / "law.json").write_text(json.dumps(_small_law().document()))
    with pytest.raises(InputError, match="no sandbox here"):
        rb.evaluate(write(tmp_path, REJECTS), set="hidden", commit=tmp_path / "days.json", law=tmp_path / "law.json")


def test_a_policy_in_a_sandbox_sees_nothing_of_the_seed(made: Path, tmp_path: Path) -> None:
    """Nothing in the secret folder can be read, and no word of it is in the environment or the arguments."""
    folder = made / "days.secret"
    path = write(tmp_path, READS.format(folder=str(folder)))
    try:
        found = rb.evaluate(path, set="hidden", commit=made / "days.json", isolate=True)
    except InputError as error:
        if not str(error).startswith("--isolate"):
            raise
        pytest.skip(str(error))
    assert found.valid, found.reason


READS = """
import os
import sys


class Reads:
    def start(self, public, constants):
        folder = {folder!r}
        words = [*os.environ.values(), *sys.argv, str(public)]
        if any("secret" in word or folder in word for word in words):
            raise RuntimeError("the folder's name is told")
        for read in (os.listdir, lambda each: open(os.path.join(each, "seed.json")).read()):
            try:
                read(folder)
            except OSError:
                continue
            raise RuntimeError("the seed can be read")

    def decide(self, task, view):
        return None
"""


def test_words_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    """`hidden` needs a commitment, a commitment needs `hidden`, a law needs its family."""
    with pytest.raises(InputError, match="--commit FILE"):
        rb.evaluate("greedy", set="hidden")
    with pytest.raises(InputError, match="set hidden only"):
        rb.evaluate("greedy", commit=tmp_path / "days.json")
    (tmp_path / "law.json").write_text(json.dumps(_small_law().document()))
    with pytest.raises(InputError, match="not tenants"):
        rb.evaluate("edf", family="tenants", set="hidden", commit=tmp_path / "days.json", law=tmp_path / "law.json")
    assert not (tmp_path / "days.json").exists()
