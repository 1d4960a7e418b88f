"""What a stored piece of work must look like before tables are made of it: its fields by stage, and their kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from bench.family.checks import Verdict
from bench.storage.store import Piece
from instances.errors import InputError, shown


def _figure(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | str):
        return False
    try:
        Fraction(value)
    except (ValueError, ZeroDivisionError):
        return False
    return True


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _seconds(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _object(value: Any) -> bool:
    return isinstance(value, dict)


def _list(value: Any) -> bool:
    return isinstance(value, list)


def _or_null(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def allowed(value: Any) -> bool:
        return value is None or kind(value)

    return allowed


def _verdict(value: Any) -> bool:
    return value in [verdict.value for verdict in Verdict]


Kinds = Mapping[str, Callable[[Any], bool]]
_STAGES: Mapping[str, Kinds] = {
    "opt": {"lower": _figure, "upper": _figure, "proof": _text, "formulation": _text, "backend": _text,
            "time_limited": _flag},
    "online": {"valid": _flag, "label": _text, "violations": _list, "welfare": _figure, "true_welfare": _figure,
               "revenue": _or_null(_figure), "admitted": _count, "constants": _list, "counts": _object,
               "arithmetic": _text, "seconds": _seconds},
    "audit": {"checks": _list},
    "study": {"rows": _list},
}  # fmt: skip
_FAILED: Kinds = {"reason": _text}
_INSIDE: Mapping[str, Kinds] = {
    "constants": {"name": _text, "value": _text, "source": _text, "detail": _text},
    "checks": {"name": _text, "status": _verdict, "left": _or_null(_figure), "right": _or_null(_figure),
               "reason": _text, "figures": _object},
    "rows": {},
}  # fmt: skip
"""Lists of objects, and the fields of these."""


def check_piece(piece: Piece, store: Path, case: str) -> None:
    """Refuse a piece that is not as `run` writes it.

    Raises
    ------
    InputError : naming the store, the case and the field.
    """
    kinds = _STAGES.get(piece.stage, {}) if piece.ok else _FAILED
    where = f"case {shown(case)}, {piece.stage}"
    _check(piece.payload, kinds, store, where)
    for name, inner in _INSIDE.items():
        for place, each in enumerate(piece.payload[name] if name in kinds else ()):
            if not isinstance(each, dict):
                raise InputError(str(store), f"{where}, {name}[{place}]", f"{shown(each)} is not an object")
            _check(each, inner, store, f"{where}, {name}[{place}]")
    if piece.stage == "audit" and piece.ok:
        measures = piece.payload.get("measures", {})
        _check({"measures": measures}, {"measures": _object}, store, where)
        _check(measures, dict.fromkeys(measures, _or_null(_figure)), store, f"{where}, measures")


def _check(values: Mapping[str, Any], kinds: Kinds, store: Path, where: str) -> None:
    for name, allowed in kinds.items():
        if name not in values:
            raise InputError(str(store), f"{where}, {name}", "the field is missing")
        if not allowed(values[name]):
            problem = f"{shown(values[name])} is not what `run` stores there"
            raise InputError(str(store), f"{where}, {shown(name)[1:-1]}", problem)
