"""How a run is cited: one line with version, commit, set and hash of the rows, and BibTeX."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from contextlib import suppress
from dataclasses import dataclass

from ratiobench.bench.family.standard import read_set, shipped_sets
from ratiobench.bench.report.shared.cells import csv_of
from ratiobench.bench.results.read import Results
from ratiobench.instances.io.errors import InputError, make_printable

BIB = "cite.bib"
"""File with the entries, beside the tables."""
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Citation:
    """What names a run.

    Parameters
    ----------
    version : of ratiobench; empty where it is not installed.
    commit : of the code, 40 digits; empty outside a checkout.
    changed : whether files of the code differ from the commit.
    suite : what was run.
    standard : the standard set with the number of its instances among the cases; empty without any.
    date : UTC, ISO 8601.
    rows : how many rows.
    digest : SHA-256 of results.csv.
    """

    version: str
    commit: str
    changed: bool
    suite: str
    standard: str
    date: str
    rows: int
    digest: str

    @property
    def line(self) -> str:
        """One sentence with all of it; the commit and the hash cut to 12 digits."""
        commit = f", commit {self.commit[:12]}{' with changes' * self.changed}" if self.commit else ""
        standard = f" ({self.standard})" if self.standard else ""
        about = f"suite {self.suite}{standard}, {self.date}, {self.rows} rows, results.csv SHA-256 {self.digest[:12]}"
        return f"ratiobench {self.version}".rstrip() + f"{commit}; {about}"

    def bibtex(self) -> str:
        """Entries for the program and for this run."""
        year = self.date[:4]
        version = ", ".join(filter(None, [self.version, f"commit {self.commit}" * bool(self.commit)]))
        changed = "; the code has changes since that commit" * self.changed
        standard = f"{escape_latex(self.standard)}; " if self.standard else ""
        where = f"Run on {escape_latex(self.date)} with version {escape_latex(version) or 'unknown'}"
        note = f"{where}; {standard}{self.rows} rows; SHA-256 of results.csv: {self.digest}{changed}"
        return (
            "@misc{ratiobench,\n"
            "  author = {{The ratiobench authors}},\n"
            "  title  = {{ratiobench}: online scheduling and pricing measured against a certified offline optimum},\n"
            f"  year   = {{{year}}},\n"
            f"  note   = {{Version {escape_latex(version) or 'unknown'}}},\n"
            "}\n\n"
            f"@misc{{ratiobench-run-{self.digest[:12]},\n"
            "  author = {{The ratiobench authors}},\n"
            f"  title  = {{Results of {{ratiobench}} on the suite {escape_latex(self.suite)}}},\n"
            f"  year   = {{{year}}},\n"
            f"  note   = {{{note}}},\n"
            "}\n"
        )


def cite(found: Results) -> Citation:
    """What names the results of a folder."""
    about = found.about
    made = about.get("provenance", {})
    code, packages = made.get("code", {}), made.get("packages", {})
    return Citation(
        version=_plain(packages.get("ratiobench", "")),
        commit=_plain(code.get("commit", "")),
        changed=code.get("changed since") == "yes",
        suite=_plain(about.get("suite", "")),
        standard=_standard(found),
        date=_plain(about.get("date", "")),
        rows=len(found.exact),
        digest=hashlib.sha256(csv_of(found.exact)).hexdigest(),
    )


def _plain(value: object) -> str:
    return make_printable(str(value), _LONGEST)


def _standard(found: Results) -> str:
    """How many of the cases are instances of which standard set, by the hashes of their content."""
    counts = {}
    for name in shipped_sets():
        with suppress(InputError, OSError):
            known = {each.instance for each in read_set(name).entries if each.instance}
            counts[name] = sum(case.instance in known for case in found.cases)
    numbers = [f"{count} of {len(found.cases)} cases are in set {name}" for name, count in counts.items() if count]
    return ", ".join(numbers)


_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\textbraceleft{}", "}": r"\textbraceright{}",
    "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "''", "`": r"\textasciigrave{}",
}  # fmt: skip
_ACCENTS = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0308": '"', "\u0327": "c", "\u030c": "v"}
"""Accents that every LaTeX has, by their combining characters."""


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it stands, whatever characters it has.

    Two hyphens are kept apart, so that they are no dash. Letters with the accents of `_ACCENTS` are written as
    commands; of any other character outside ASCII the code point is printed, such as ``[U+4E2D]``.
    """
    return re.sub("-(?=-)", "-{}", "".join(_escape(each) for each in text))


def _escape(letter: str) -> str:
    if letter in _SPECIAL:
        return _SPECIAL[letter]
    if letter.isascii():
        return letter if letter.isprintable() else " "
    parts = unicodedata.normalize("NFD", letter)
    if len(parts) == 2 and parts[0].isascii() and parts[0].isalpha() and parts[1] in _ACCENTS:
        return f"\\{_ACCENTS[parts[1]]}{{{parts[0]}}}"
    return f"[U+{ord(letter):04X}]"
