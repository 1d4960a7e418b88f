"""What the certificates of every family have in common: form, a seal against later changes, and what checkers say."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.files import load_json, read_bytes, sha256_of

Held = TypeVar("Held")
_MOST_VALUES = 2**27  # Of a file that a checker reads as a program


class Verdict(NamedTuple, Generic[Held]):
    """Whether lower <= OPT <= upper is proved, and the first thing wrong if not (empty when valid)."""

    valid: bool
    problem: str
    certificate: Held


class CertificateError(Exception):
    """Something in a certificate that is not so."""


def require(true: bool, otherwise: str) -> None:
    """Raise Wrong unless true."""
    if not true:
        raise CertificateError(otherwise)


def add_checksum(content: dict[str, Any]) -> dict[str, Any]:
    """The document with its seal, the last field."""
    return content | {"sha256": sha256_of(content)}


def open_document(data: Any, source: str, form: str, keys: Collection[str]) -> dict[str, Any]:
    """A decoded document, if it says that it has this format and has exactly these fields."""
    if not isinstance(data, dict):
        raise InputError(source, "document", f"{shorten(data)} is not an object")
    if data.get("format") != form:
        raise InputError(source, "format", f"{shorten(data.get('format'))} is not {form!r}")
    require_fields(source, "", data, keys)
    return data


def require_fields(source: str, path: str, data: dict[Any, Any], keys: Collection[str]) -> None:
    """Refuse other fields than these, and a missing one; `path` stands before their names."""
    for key in data:
        if key not in keys:
            raise InputError(source, f"{path}{key}", f"unknown field; allowed: {', '.join(sorted(keys))}")
    for key in keys:
        if key not in data:
            raise InputError(source, f"{path}{key}", "the field is missing")


def run_checker(
    parse_instance: Callable[[Any, str], Any], verify: Callable[[Any, Any, str], Verdict[Any]], words: Sequence[str]
) -> int:
    """A checker as a program, FILE CERTIFICATE: prints the interval or what is wrong; 0 only for a valid proof."""
    if len(words) != 2:
        print("give the file of an instance and the file of a certificate", file=sys.stderr)
        return 2
    try:
        instance, certificate = (load_json(*read_bytes(word), most=_MOST_VALUES) for word in words)
        verdict = verify(parse_instance(instance, words[0]), certificate, words[1])
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    found = verdict.certificate
    print(f"valid: OPT in [{found.lower}, {found.upper}]" if verdict.valid else f"NOT VALID: {verdict.problem}")
    return int(not verdict.valid)


def require_digest(source: str, field: str, value: Any) -> str:
    """The value if it is written as a SHA-256."""
    if not isinstance(value, str) or not re.fullmatch("[0-9a-f]{64}", value):
        raise InputError(source, field, f"{shorten(value)} is not a SHA-256 in 64 hexadecimal digits")
    return value
