"""The contract of a family: what is documented is what families define, and what is missing is named."""

import sys

import pytest

from ratiobench.bench.family.contract import Family, Part
from ratiobench.bench.family.registry import families
from ratiobench.instances.io.errors import InputError
from tests.support.toy_family import ToyFamily

MEMBERS = {name: member for name, member in vars(Family).items() if not name.startswith("_")}


def test_every_member_is_documented() -> None:
    for name, member in MEMBERS.items():
        assert member.__doc__, name


@pytest.mark.parametrize("name", sorted(families()))
def test_families_have_every_part_and_no_place_that_leads_nowhere(name: str) -> None:
    """Required parts are there; what `places` names, and each module, has the member that the contract looks for."""
    family = families()[name]
    for part, member in MEMBERS.items():
        if isinstance(member, Part):
            value = getattr(family, part)
            assert part not in family.places or value is not member.default, part


def test_what_a_family_lacks_is_named() -> None:
    with pytest.raises(TypeError, match=r"half does not give .*solver_version.*check_solution"):
        Family("half", "units")
    with pytest.raises(TypeError, match="half gives solvr, claimz, which the contract does not have"):
        Family("half", "units", solvr=None, places={"claimz": "bench.claims:THEORY"})


def test_a_module_that_cannot_be_imported_is_no_part_that_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of a family that misses another one says so; it is not taken for a family without this part."""
    monkeypatch.delitem(sys.modules, "ratiobench.bench.tenants.claims", raising=False)
    monkeypatch.setitem(sys.modules, "ratiobench.bench.theory.claim", None)
    with pytest.raises(ModuleNotFoundError):
        _ = Family("tenants", "units").claims


def test_a_family_without_options_loses_no_more_than_these() -> None:
    plain = ToyFamily()
    assert not plain.has_certificates
    assert plain.counterexample_search is plain.explainer is plain.gantt is None
    assert plain.bidding is plain.timeline is None
    assert (*plain.traces(), *plain.constructions(), *plain.sources, *plain.proof_status("first")) == ()
    assert set(plain.recipes()) == {"file"}
    with pytest.raises(InputError, match="the family toy joins no days"):
        plain.join([])
    with pytest.raises(InputError, match="in the family toy no task moves"):
        plain.without_migration(None)
