"""How a run is cited: one line with version, commit, set and hash of the rows."""

from __future__ import annotations

import hashlib
from contextlib import suppress

from ratiobench.bench.family.standard import read_set, shipped_sets
from ratiobench.bench.report.tables import csv_of
from ratiobench.bench.results.read import Results
from ratiobench.instances.io.errors import InputError, make_printable

LONGEST = 200  # Characters of a text in the line


def cite(found: Results) -> str:
    """One sentence with all that names the run; the commit and the hash of results.csv are cut to 12 digits."""
    about = found.about
    provenance = about.get("provenance", {})
    code, packages = provenance.get("code", {}), provenance.get("packages", {})
    version = _plain(packages.get("ratiobench", ""))
    commit, changed = _plain(code.get("commit", "")), code.get("changed since") == "yes"
    standard = _standard(found)
    digest = hashlib.sha256(csv_of(found.exact)).hexdigest()
    program = f"ratiobench {version}".rstrip() + (
        f", commit {commit[:12]}{' with changes' * changed}" if commit else ""
    )
    suite = f"suite {_plain(about.get('suite', ''))}" + (f" ({standard})" if standard else "")
    rows = f"{len(found.exact)} rows, results.csv SHA-256 {digest[:12]}"
    return f"{program}; {suite}, {_plain(about.get('date', ''))}, {rows}"


def _plain(value: object) -> str:
    return make_printable(str(value), LONGEST)


def _standard(found: Results) -> str:
    """How many of the cases are instances of which standard set, by the hashes of their content."""
    counts = {}
    for name in shipped_sets():
        with suppress(InputError, OSError):
            known = {each.instance for each in read_set(name).entries if each.instance}
            counts[name] = sum(case.instance in known for case in found.cases)
    numbers = [f"{count} of {len(found.cases)} cases are in set {name}" for name, count in counts.items() if count]
    return ", ".join(numbers)
