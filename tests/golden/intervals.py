"""Golden cases: intervals."""

from __future__ import annotations

from tests.golden.case import Case

CASES: dict[str, Case] = {}
