"""The version of a release stands in three files, and in no key of a stored result."""

import importlib.metadata
import re
from datetime import date
from pathlib import Path

import pytest

import ratiobench
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.suite import SolveSettings

ROOT = Path(__file__).resolve().parents[2]
SCREEN = 50  # Most lines of a release in the changelog


def test_the_changelog_has_a_dated_screen_for_the_version() -> None:
    """The newest section is that of the package and of CITATION.cff."""
    released = ratiobench.__version__
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    for section in sections:
        head = re.match(r"(\d+\.\d+\.\d+) \((\d{4}-\d{2}-\d{2})\)\n", section)
        assert head is not None, section[:40]
        date.fromisoformat(head[2])
        assert section.count("\n") <= SCREEN
    newest = re.match(r"(\S+) \((\S+)\)", sections[0])
    assert newest is not None
    assert newest[1] == released
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {released}\ndate-released: {newest[2]}\n" in citation


def keys() -> list[str]:
    """Parts of the keys of stored results, of every family."""
    found = []
    for family in families().values():
        found += [family.solve_key(SolveSettings(backend="highs")), family.audit_version]
        found += [family.algorithm_key(family.algorithms()[0].name), family.solver_version]
    return found


def test_keys_of_stored_results_do_not_depend_on_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release computes nothing again that did not change."""
    before = keys()
    real = importlib.metadata.version
    changed = {"ratiobench": "9.9.9"}
    monkeypatch.setattr(importlib.metadata, "version", lambda name: changed.get(name) or real(name))
    assert keys() == before
    assert "9.9.9" not in " ".join(before)
