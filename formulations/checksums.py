"""What the certificates of every family have in common: form, a seal against later changes, and what checkers say."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from ratiobench.instances.io.documents import Digest, Documents, convert, to_json_values
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.files import line_of, load_json, read_bytes, sha256_of

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
    if not true:
        raise CertificateError(otherwise)


def add_checksum(content: dict[str, Any]) -> dict[str, Any]:
    """The document with its seal, the last field."""
    return content | {"sha256": sha256_of(content)}


class Sealed(msgspec.Struct):
    sha256: Digest


def open_document(
    data: Any, kind: type[Held], form: str, source: str, decode: Callable[[Any, Any], Any] | None = None
) -> tuple[Held, str]:
    """The certificate in a decoded document, and its seal as written; only the form is judged, not the truth."""
    if not isinstance(data, dict):
        raise InputError(source, "document", f"{shorten(data)} is not an object")
    if data.get("format") != form:
        raise InputError(source, "format", f"{shorten(data.get('format'))} is not {form!r}")
    content = {key: value for key, value in data.items() if key not in ("format", "sha256")}
    found = convert(content, kind, source, decode=decode)
    return found, convert(data, Sealed, source).sha256


class CertificateFiles(Generic[Held]):
    """How certificates of one kind, dataclasses with the document's fields, are sealed, read and written."""

    def __init__(self, kind: type[Held], form: str, decode: Callable[[Any, Any], Any] | None = None) -> None:
        self.kind, self.form, self.decode = kind, form, decode
        files = Documents(self.parse, self.document, line_of)
        self.read, self.write = files.read, files.write

    def document(self, certificate: Held) -> dict[str, Any]:
        names: Mapping[str, Any] = self.kind.__dataclass_fields__  # type: ignore[attr-defined]
        fields = {name: to_json_values(getattr(certificate, name)) for name in names}
        return add_checksum({"format": self.form, **fields})

    def seal(self, certificate: Held) -> str:
        """SHA-256 of the document without `sha256`: no change of a file passes unseen, not even of a true claim."""
        return str(self.document(certificate)["sha256"])

    def parse(self, data: Any, source: str = "<document>") -> tuple[Held, str]:
        """A decoded document's certificate and its seal as written; only the form is judged, not the truth."""
        return open_document(data, self.kind, self.form, source, self.decode)


def check_certificate(
    files: CertificateFiles[Held],
    content_hash: Callable[[Any], str],
    prove: Callable[[Any, Held], None],
    instance: Any,
    data: Any,
    source: str,
) -> Verdict[Held]:
    """Check a decoded certificate; `prove` raises CertificateError at the first number that is not as recomputed."""
    certificate, written_seal = files.parse(data, source)
    try:
        require(certificate.instance == content_hash(instance), "the certificate is about another instance")  # type: ignore[attr-defined]
        prove(instance, certificate)
        require(files.seal(certificate) == written_seal, "sha256: the certificate was changed after it was made")
    except CertificateError as wrong:
        return Verdict(False, str(wrong), certificate)
    return Verdict(True, "", certificate)


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
