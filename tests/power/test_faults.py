"""Every fault can be planted in the code of today."""

from pathlib import Path

from tests.power.faults import faults


def test_every_fault_has_one_place() -> None:
    """`nox -s power` plants them."""
    assert len(faults(Path(__file__).resolve().parents[2])) >= 60
