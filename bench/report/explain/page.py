"""Pages of explanations: self-contained HTML documents, one by itself or one for each witness of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ratiobench.bench.family.explanation import Explanation
from ratiobench.bench.report.explain.text import verdict_text
from ratiobench.bench.report.shared.render import render
from ratiobench.instances.io.files import make_folder, write_atomically

FOLDER = "explain"  # The folder beside the page of a run with a page for each witness that is explained


def render_explanation(found: Explanation, back: str = "") -> str:
    """The explanation as one HTML page that needs nothing from a network; `back` leads to the page that links to it."""
    return render("report/explain/explained.html", found=found, verdict=verdict_text(found), back=back)


def write_explanations(folder: Path, found: Mapping[str, Explanation]) -> dict[str, str]:
    """A page for the explanation of each claim's witness: claim -> its address from the folder."""
    pages: dict[str, str] = {}
    for claim, explanation in found.items():
        make_folder(folder / FOLDER)
        pages[claim] = f"{FOLDER}/{claim}.html"
        page = render_explanation(explanation, f"../report.html#claim-{claim}")
        write_atomically(folder / pages[claim], page.encode())
    return pages
