"""The contract of a family: what is documented is what families define, and what is missing is named."""

from __future__ import annotations

import pytest

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import families
from tests.support.toy_family import ToyFamily

MEMBERS = {name: member for name, member in vars(Family).items() if not name.startswith("_")}


def test_every_member_is_documented() -> None:
    """Methods and properties have a docstring, attributes stand in the class's."""
    for name, member in MEMBERS.items():
        assert member.__doc__ if callable(member) or isinstance(member, property) else name in str(Family.__doc__), name


@pytest.mark.parametrize("name", sorted(families()))
def test_families_define_members_of_the_contract_and_no_others(name: str) -> None:
    bases = type(families()[name]).mro()
    own = {each for base in bases[: bases.index(Family)] for each in vars(base) if not each.startswith("_")}
    assert own - {"name", "unit"} <= set(MEMBERS)


def test_what_a_family_lacks_is_named() -> None:
    class Half(Family):
        """Without most members."""

    with pytest.raises(TypeError, match=r"(?s)abstract.*check_solution.*solver_version"):
        Half()  # type: ignore[abstract]


def test_a_family_without_options_loses_no_more_than_these() -> None:
    plain = ToyFamily()
    assert plain.certificates is plain.counterexample_search is plain.explainer is plain.gantt is None
    assert plain.bidding is plain.timeline is plain.proof_status is None
    assert (*plain.traces(), *plain.constructions(), *plain.sources()) == ()
    assert set(plain.recipes()) == {"file"}
