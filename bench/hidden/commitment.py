"""The commitment to a hidden set: a salted hash of its seed, its law and the version, published before any result.

The public file is `NAME.json`. What is secret until it is revealed lies beside it in the folder `NAME.secret`, which
only its owner can read: seed and salt (`seed.json`), the instances with certificates (`set.json`, `set/`), the rows of
all evaluations (`rows.json`) and the policies that were evaluated (`policies/`).
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ratiobench.bench.family.standard import StandardSet
from ratiobench.bench.hidden.law import Law, parse_law
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.files import load_json, make_folder, read_bytes, sha256_of, write_atomically

FORMAT = "ratiobench/commitment/1"
SECRET_FORMAT = "ratiobench/secret/1"
ROWS_FORMAT = "ratiobench/hidden-rows/1"
SEED_FILE, SET_FILE, ROWS_FILE, POLICIES = "seed.json", "set.json", "rows.json", "policies"
_HASH = "[0-9a-f]{64}"


@dataclass(frozen=True, slots=True)
class Secret:
    """Seed and salt, 256 bits each, hexadecimal."""

    seed: str
    salt: str


@dataclass(frozen=True, slots=True)
class Commitment:
    """The public file.

    Parameters
    ----------
    path : of the file.
    value : the hash of seed, salt, law and version.
    law : of the instances.
    version : of ratiobench.
    evaluations : SHA-256 of the record of each evaluation, in order.
    """

    path: Path
    value: str
    law: Law
    version: str
    evaluations: Sequence[str] = ()

    @property
    def folder(self) -> Path:
        """What is secret until it is revealed."""
        return self.path.with_suffix(".secret")

    def write(self) -> None:
        """Write the public file, whole or not at all."""
        document = {
            "format": FORMAT,
            "commitment": self.value,
            "version": self.version,
            "law": self.law.document(),
            "evaluations": list(self.evaluations),
        }
        write_atomically(self.path, (json.dumps(document, indent=1) + "\n").encode())


def compute_commitment(secret: Secret, law: Law, version: str) -> str:
    """SHA-256 of format, seed, salt, the law's SHA-256 and the version, as canonical JSON."""
    return sha256_of([FORMAT, secret.seed, secret.salt, law.digest, version])


def current_version() -> str:
    """The version of ratiobench that draws the instances."""
    with suppress(PackageNotFoundError):
        return f"ratiobench {version('ratiobench')}"
    return "ratiobench, a checkout"


def create_commitment(path: Path, law: Law) -> Commitment:
    """Draw a seed and a salt, keep them in the secret folder, and write the public file.

    Raises
    ------
    InputError : the secret folder is there already, or a file cannot be written.
    """
    secret = Secret(secrets.token_hex(32), secrets.token_hex(32))
    found = Commitment(path, compute_commitment(secret, law, current_version()), law, current_version())
    if found.folder.exists():
        raise InputError(str(found.folder), "", f"is there already, without {path.name}")
    make_folder(found.folder)
    found.folder.chmod(0o700)
    document = {"format": SECRET_FORMAT, "seed": secret.seed, "salt": secret.salt}
    write_atomically(found.folder / SEED_FILE, (json.dumps(document, indent=1) + "\n").encode())
    StandardSet(f"hidden-{found.value[:12]}", found.folder / SET_FILE, "", {}, law.draw_entries(secret.seed)).write()
    write_rows(found.folder, [])
    found.write()
    return found


def read_commitment(path: Path) -> Commitment:
    """The public file.

    Raises
    ------
    InputError : naming the file, the field and the value.
    """
    document, source = _read(path, FORMAT, "commitment")
    value, evaluations = str(document.get("commitment")), document.get("evaluations")
    if not _is_hash(value):
        raise InputError(source, "commitment", f"{shorten(value)} is not a SHA-256")
    if not isinstance(document.get("version"), str):
        raise InputError(source, "version", f"{shorten(document.get('version'))} is not a version")
    if not isinstance(evaluations, list) or not all(map(_is_hash, evaluations)):
        raise InputError(source, "evaluations", f"{shorten(evaluations)} is not a list of SHA-256")
    return Commitment(path, value, parse_law(document.get("law"), source), document["version"], tuple(evaluations))


def read_secret(folder: Path) -> Secret:
    """Seed and salt of a secret or revealed folder.

    Raises
    ------
    InputError : naming the file, the field and the value.
    """
    document, source = _read(folder / SEED_FILE, SECRET_FORMAT, "seed of a hidden set")
    for field in ("seed", "salt"):
        if not _is_hash(document.get(field)):
            raise InputError(source, field, f"{shorten(document.get(field))} is not 64 hexadecimal digits")
    return Secret(document["seed"], document["salt"])


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """The records of all evaluations, in order.

    Raises
    ------
    InputError : the file is missing or has another form.
    """
    document, source = _read(folder / ROWS_FILE, ROWS_FORMAT, "rows of a hidden set")
    records = document.get("evaluations")
    if not isinstance(records, list) or not all(isinstance(each, dict) for each in records):
        raise InputError(source, "evaluations", f"{shorten(records)} is not a list of records")
    return records


def write_rows(folder: Path, records: Sequence[Any]) -> None:
    """Write the records of all evaluations."""
    document = {"format": ROWS_FORMAT, "evaluations": list(records)}
    write_atomically(folder / ROWS_FILE, (json.dumps(document, indent=1) + "\n").encode())


def _read(path: Path, form: str, what: str) -> tuple[dict[str, Any], str]:
    data, source = read_bytes(path)
    document = load_json(data, source)
    if not isinstance(document, dict) or document.get("format") != form:
        raise InputError(source, "format", f"it is no {what} ({form})")
    return document, source


def _is_hash(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(_HASH, value) is not None
