"""Prices of one's own inside the guard: asked in a process of their own, held by Theorem H like any others."""

from __future__ import annotations

from pathlib import Path

import pytest

from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.lora.counterexamples.tiny import Job, Kind, TinyInstance, instance
from ratiobench.bench.lora.theory.claims import audit
from ratiobench.formulations.lora.solve import solve
from ratiobench.instances.io.errors import InputError
from ratiobench.online.lora.run import run

MODULE = "tests.support.wishers"
KINDS = (Kind(2, 10, 10), Kind(1, 12, 9))
JOBS = tuple(Job(1 + i // 3, 4, 2 + i % 3, 9 + i, 40 + 31 * i % 97, (4, 5)) for i in range(9))
TODAY = instance(TinyInstance(4, KINDS, JOBS))


def test_prices_of_zero_are_those_of_greedy() -> None:
    ours, own = run(TODAY, "guarded:beta=90"), run(TODAY, f"guarded:inner={MODULE}:Flat,beta=90")
    assert own.valid
    assert own.decisions == ours.decisions


def test_fractions_whole_numbers_and_doubles_say_the_same() -> None:
    runs = [
        run(TODAY, f"guarded:inner={MODULE}:Flat;base=9;as={each},beta=90") for each in ("int", "float", "Fraction")
    ]
    assert len({each.decisions for each in runs}) == 1
    assert runs[0].decisions != run(TODAY, "guarded:beta=90").decisions


def test_it_is_told_what_was_sold_and_the_claim_is_checked() -> None:
    found = run(TODAY, f"guarded:inner={MODULE}:Rising;base=5,beta=90")
    assert found.valid
    assert found.decisions != run(TODAY, "guarded:beta=90").decisions
    checks = {check.name: check for check in audit(TODAY, found, solve(TODAY))}
    assert checks["theorem_h"].status is Verdict.HOLDS
    assert checks["truthful_bid"].status is not Verdict.VIOLATED


@pytest.mark.parametrize(
    ("name", "rule", "word"),
    [
        ("Short", "protocol", "2 rows of 4 prices"),
        ("Negative", "protocol", "is no number in 0..2^53"),
        ("Raises", "error", "KeyError"),
        ("Reads", "peeks", "prices.json"),
    ],
)
def test_what_is_no_price_ends_the_run(name: str, rule: str, word: str) -> None:
    found = run(TODAY, f"guarded:inner={MODULE}:{name}")
    assert not found.valid
    assert [violation.rule for violation in found.violations] == [rule]
    assert word in found.violations[0].detail


def test_another_answer_on_the_first_half_is_found(tmp_path: Path) -> None:
    found = run(TODAY, f"guarded:inner={MODULE}:Counts;file={tmp_path / 'once'}")
    assert [violation.rule for violation in found.violations] == ["peeks"]


@pytest.mark.parametrize(
    ("inner", "word"),
    [
        (f"{MODULE}:Flatt", "did you mean 'Flat'?"),
        (f"{MODULE}:Flat;bse=1", "misspelt"),
        (f"{MODULE}:Flat;base", "options are written ;key=value"),
        (f"{MODULE}:Declares", "declares constants"),
        ("gredy", "did you mean 'greedy'?"),
    ],
)
def test_what_cannot_be_asked_is_one_error(inner: str, word: str) -> None:
    with pytest.raises(InputError) as caught:
        run(TODAY, f"guarded:inner={inner}")
    assert word in str(caught.value)


def test_the_class_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = Path("docs/reference/algorithms/lora.md").read_text(encoding="utf-8")
    (tmp_path / "scarce.py").write_text(text.split("```python\n")[1].split("```")[0])
    monkeypatch.syspath_prepend(tmp_path)
    assert run(TODAY, "guarded:inner=scarce:Scarce").valid
