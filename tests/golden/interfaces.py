"""Golden cases: interfaces."""

from __future__ import annotations

from tests.golden.case import Case

CASES: dict[str, Case] = {}
