"""What a stored piece of work must look like before tables are made of it: its fields by stage, and their kinds."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.storage.store import StoredCase, StoredResult
from ratiobench.formulations.report import Termination
from ratiobench.instances.io.errors import InputError, shorten

_LARGEST = 2**100  # No value of a solution is larger: far above what sums of any format's numbers can be
_WRITTEN = re.compile(r"-?[0-9]{1,4000}(/[1-9][0-9]{0,3999})?")


def _figure(value: Any) -> bool:
    if isinstance(value, str):
        return _WRITTEN.fullmatch(value) is not None and str(Fraction(value)) == value
    return isinstance(value, int) and not isinstance(value, bool)


def _value(value: Any) -> bool:
    return _figure(value) and abs(Fraction(value)) <= _LARGEST


def _whole(value: Any) -> bool:
    return not isinstance(value, str) and _value(value)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _seconds(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _status(value: Any) -> bool:
    return value in [each.value for each in Termination]


def _object(value: Any) -> bool:
    return isinstance(value, dict)


def _counts(value: Any) -> bool:
    """An object of integers of 64 bits."""
    return isinstance(value, dict) and all(type(each) is int and abs(each) < 2**63 for each in value.values())


def _list(value: Any) -> bool:
    return isinstance(value, list)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _or_null(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def allowed(value: Any) -> bool:
        return value is None or kind(value)

    return allowed


def _verdict(value: Any) -> bool:
    return value in [verdict.value for verdict in Verdict]


_MAYBE_VALUE = _or_null(_value)
Kinds = Mapping[str, Callable[[Any], bool]]
# What a run earned and spent, where its family says so: bids - vendors - energy is the value of its solution
ACCOUNTS = ("vendors", "energy", "bids")
_STAGES: Mapping[str, Kinds] = {
    "opt": {"lower": _value, "upper": _value, "proof": _text, "formulation": _text, "backend": _text,
            "time_limited": _flag},
    "solvers": {"answers": _list},
    "online": {"algorithm": _text, "valid": _flag, "label": _text, "violations": _texts, "welfare": _value,
               "true_welfare": _value, "revenue": _MAYBE_VALUE, "admitted": _count, "constants": _list,
               "counts": _counts, "arithmetic": _text, "seconds": _or_null(_seconds)},
    "audit": {"checks": _list},
    "study": {"rows": _list},
}  # fmt: skip
_FAILED: Kinds = {"reason": _text}
# Lists of objects, and the fields of these
_INSIDE: Mapping[str, Kinds] = {
    "constants": {"name": _text, "value": _text, "source": _text, "detail": _text},
    "checks": {"name": _text, "status": _verdict, "left": _or_null(_figure), "right": _or_null(_figure),
               "reason": _text, "figures": _object},
    "answers": {"formulation": _text, "backend": _text, "solver": _text, "status": _status,
                "solver_bound": _or_null(_number), "solver_value": _or_null(_number), "verified": _or_null(_figure),
                "columns": _count, "rows": _count, "build_seconds": _seconds, "solve_seconds": _seconds,
                "message": _text, "bound": _or_null(_whole)},
    "rows": {},
}  # fmt: skip


def check_result(piece: StoredResult, store: Path, case: StoredCase, *, whole: bool = False) -> None:
    """Refuse a piece that is not as `run` writes it; if `whole`, values of solutions that are no integers too."""
    kinds = _STAGES.get(piece.stage, {}) if piece.ok else _FAILED
    if whole:
        kinds = {name: {_value: _whole, _MAYBE_VALUE: _or_null(_whole)}.get(kind, kind) for name, kind in kinds.items()}
    where = f"case {shorten(case.name)}, {piece.stage}"
    _check(piece.payload, kinds, store, where)
    _check({"seconds": piece.seconds}, {"seconds": _seconds}, store, f"{where}, the piece's")
    for name, inner in _INSIDE.items():
        for place, each in enumerate(piece.payload[name] if name in kinds else ()):
            if not isinstance(each, dict):
                raise InputError(str(store), f"{where}, {name}[{place}]", f"{shorten(each)} is not an object")
            _check(each, inner, store, f"{where}, {name}[{place}]")
            if name == "checks" and "failing" in each:  # not in those stored before checks had it
                _check(each, {"failing": _or_null(_texts)}, store, f"{where}, {name}[{place}]")
    if piece.stage == "audit" and piece.ok:
        measures = piece.payload.get("measures", {})
        _check({"measures": measures}, {"measures": _object}, store, where)
        _check(measures, dict.fromkeys(measures, _or_null(_figure)), store, f"{where}, measures")
    if piece.stage == "online" and piece.ok and "accounts" in piece.payload:
        _check(piece.payload, {"accounts": _object}, store, where)
        kind = _whole if whole else _value
        _check(piece.payload["accounts"], dict.fromkeys(ACCOUNTS, kind), store, f"{where}, accounts")
    odd = _contradiction(piece, case) if piece.ok else None
    if odd is not None:
        raise InputError(str(store), f"{where}, {odd[0]}", odd[1])


def _contradiction(piece: StoredResult, case: StoredCase) -> tuple[str, str] | None:
    """A field that cannot be as it is beside another, or with the piece's key, and why; None where there is none."""
    found = piece.payload
    if piece.stage == "opt" and Fraction(found["lower"]) > Fraction(found["upper"]):
        return "lower", f"{shorten(found['lower'])} is above the upper end {shorten(found['upper'])}"
    if piece.stage != "online":
        return None
    if not f"{piece.key} ".startswith(f"{found['algorithm']} "):
        return "algorithm", f"{shorten(found['algorithm'])} is not the one of its key {shorten(piece.key)}"
    tasks = case.describe.get("tasks")
    if type(tasks) is int and found["admitted"] > tasks:
        return "admitted", f"{shorten(found['admitted'])} of {tasks} tasks"
    if found["valid"] == bool(found["violations"]):
        return "valid", f"{shorten(found['valid'])} with {len(found['violations'])} violations"
    if "accounts" in found:
        vendors, energy, bids = (Fraction(found["accounts"][name]) for name in ACCOUNTS)
        if bids - vendors - energy != Fraction(found["welfare"]):
            return "accounts", f"bids - vendors - energy is not the value {shorten(found['welfare'])}"
    return None


def _check(values: Mapping[str, Any], kinds: Kinds, store: Path, where: str) -> None:
    for name, allowed in kinds.items():
        if name not in values:
            raise InputError(str(store), f"{where}, {name}", "the field is missing")
        if not allowed(values[name]):
            problem = f"{shorten(values[name])} is not what `run` stores there"
            raise InputError(str(store), f"{where}, {shorten(name)[1:-1]}", problem)
