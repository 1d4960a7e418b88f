"""A slice of the mutants of files of arrivals, suites and recipes; `python -m tests.tools.mutations` has all."""

from collections import Counter

import pytest

from tests.support.samples import samples
from tests.tools import mutations

pytestmark = pytest.mark.usefixtures("here")
KINDS = (*mutations.LOGS, "suite", "recipe")


def test_what_the_mutants_are_made_of_is_read() -> None:
    for form, text in [(form, text) for form, texts in mutations.LOGS.items() for text in texts]:
        mutant = mutations.Mutant(form, {"jobs.log": text.encode()}, mutations.words_of(form), ())
        assert mutations.try_mutant(mutant) == (0, ""), form
    for words in (["my.toml"], *([recipe] for recipe in mutations.RECIPES)):
        files = {"my.toml": mutations.SUITE.encode()}
        assert mutations.try_mutant(mutations.Mutant("", files, ["generate", *words, "--out", "out"], ())) == (0, "")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_mutants_are_read_or_refused_in_one_line(seed: int) -> None:
    """Exit status 0 or 2; of 2 a line that names the file, and nothing is written."""
    counts: Counter[tuple[str, int | None]] = Counter()
    for mutant in mutations.make_mutants(samples(5, 2) * len(KINDS), seed):
        status, problem = mutations.try_mutant(mutant)
        assert not problem, (mutant, problem)
        counts[mutant.kind, status] += 1
    assert {kind for kind, _ in counts} == set(KINDS)
    assert sum(counts[kind, 2] for kind in KINDS) > 3 * samples(5, 2)


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["list", "traces"], "nothing was written"),
        (["opt", "my.toml"], ""),
        (["--nonsense"], "names none of"),
        (["warm", "nobody"], "names none of"),
    ],
)
def test_a_mutant_that_is_not_as_it_should_be_is_found(words: list[str], wrong: str) -> None:
    _, problem = mutations.try_mutant(mutations.Mutant("", {"my.toml": b"x"}, words, ("my.toml",)))
    assert problem.startswith(wrong)
    assert bool(problem) == bool(wrong)
