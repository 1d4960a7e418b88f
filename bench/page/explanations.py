"""Pages of explanations: self-contained HTML documents, one by itself or one for each witness of a run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.explanation import Explanation
from ratiobench.bench.family.registry import read_instance
from ratiobench.bench.page.render import render
from ratiobench.bench.tables.explanations import explain, verdict_text
from ratiobench.bench.tables.verdicts import Settled
from ratiobench.instances.errors import InputError
from ratiobench.instances.files import load_json, make_folder, read_bytes, write_atomically
from ratiobench.online.modules import OWN

FOLDER = "explain"
"""The folder beside the page of a run with a page for each witness that is explained."""


def render_explanation(found: Explanation, back: str = "") -> str:
    """The explanation as one HTML page that needs nothing from a network; `back` leads to the page that links to it."""
    return render("explained.html", found=found, verdict=verdict_text(found), back=back)


def write_explanations(folder: Path, family: Family, settled: Sequence[Settled]) -> dict[str, str]:
    """A page for the smallest witness of each claim, where it is small enough: claim -> its address from the folder.

    Anyone's own algorithm is not run again for it: the address is empty, and a command tells it. A class of a notebook
    is left out, and so is a witness whose instance is not there any more.
    """
    if family.explaining is None:
        return {}
    limits = family.explaining.limits
    pages: dict[str, str] = {}
    for each in settled:
        name = each.statement.name
        if each.witness is None or each.case is None or not re.fullmatch(r"[\w-]{1,80}", name):
            continue
        algorithm = str(each.witness["algorithm"])
        if any(float(each.case.describe.get(size, 0)) > most for size, most in limits.items()):
            continue
        try:
            if family.need("ENVIRONMENT").registry.parse(algorithm).entry is None:
                pages |= {} if algorithm.startswith(f"{OWN}:") else {name: ""}
                continue
            data, source = read_bytes(folder / "instances" / f"{each.witness['instance']}.json.gz")
            told = explain(family, read_instance(load_json(data, source), source)[1], algorithm, name)
        except InputError:
            continue
        make_folder(folder / FOLDER)
        address = f"{FOLDER}/{name}.html"
        write_atomically(folder / address, render_explanation(told, f"../report.html#claim-{name}").encode())
        pages[name] = address
    return pages
