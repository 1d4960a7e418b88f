"""The search for small instances on which a claim of edgeflow falls."""

import json
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.edgeflow.claims import CLAIMS, audit
from ratiobench.bench.edgeflow.counterexample_search import COUNTEREXAMPLES, SEARCHED
from ratiobench.bench.family.capabilities import SearchSettings
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.registry import claim_searches
from ratiobench.formulations.edgeflow.solve import solve
from ratiobench.instances.edgeflow.format import content_hash, read
from ratiobench.instances.io.errors import InputError
from ratiobench.online.edgeflow.run import run
from tests.support.documents import refusal_of

search_counterexample = COUNTEREXAMPLES.search
LIMITS = SearchSettings(tasks=3, largest=20, tries=400)


@pytest.mark.parametrize("claim", SEARCHED)
def test_a_false_claim_falls(claim: str) -> None:
    """On one or two jobs; the audit against OPT says so, too."""
    found = search_counterexample(claim, LIMITS)
    assert found.violated
    assert found.instance.jobs <= 2
    assert found.left is not None
    assert found.right is not None
    assert found.left > found.right
    checks = audit(found.instance, run(found.instance, found.algorithm), solve(found.instance))
    assert [check for check in checks if check.name == claim and check.status is Verdict.VIOLATED] == [found.check]


def test_claims_that_can_be_searched_for() -> None:
    assert set(COUNTEREXAMPLES.claims()) == set(SEARCHED) <= {each.name for each in CLAIMS}
    assert set(SEARCHED) <= set(claim_searches())
    with pytest.raises(InputError, match="'room' is not one of"):
        search_counterexample("room", LIMITS)


def test_an_interrupted_search_finds_the_same() -> None:
    kept: list[Any] = []
    whole = search_counterexample("guarantee", LIMITS)
    assert whole.tries > 1
    search_counterexample("guarantee", SearchSettings(tasks=3, largest=20, tries=1), keep=kept.append)
    rest = search_counterexample("guarantee", LIMITS, json.loads(json.dumps(kept[-1])), "state.json")
    assert (rest.tries, rest.fresh) == (whole.tries, whole.tries - 1)
    assert content_hash(rest.instance) == content_hash(whole.instance)


def test_the_closest_is_told_where_nothing_falls() -> None:
    found = search_counterexample("aware", SearchSettings(tasks=2, largest=20, tries=1, seed=3))
    assert not found.violated
    assert found.score is None or found.score <= 1


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"format": "other"}, "format"), ({"claim": "aware"}, "claim"), ({"settings": {}}, "settings"),
        ({"tries": -1}, "tries"), ({"tasks": True}, "tasks"), ({"best": {"format": "x"}}, "format"),
    ],
)  # fmt: skip
def test_a_state_that_does_not_fit_is_refused(change: dict[str, Any], where: str) -> None:
    kept: list[Any] = []
    search_counterexample("edge_helps", SearchSettings(tasks=2, largest=9, tries=1), keep=kept.append)
    settings = SearchSettings(tasks=2, largest=9, tries=2)
    told = refusal_of(search_counterexample, "edge_helps", settings, kept[-1] | change, "state.json")
    assert told.startswith(f"state.json: {where}: ")


def test_the_command_writes_a_witness(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file of the instance format, beside the search's state."""
    limits = ["--tasks", "3", "--largest", "20", "--tries", "400", "--out", str(tmp_path)]
    assert main(["search", "edge_helps", *limits]) == 0
    assert "VIOLATED" in capsys.readouterr().out
    assert read(tmp_path / "edge_helps.json").jobs == 1
    assert main(["search", "edge_helps", *limits, "--resume"]) == 0
