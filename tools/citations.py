"""The sources of the families in CITATION.cff and docs/sources.md: `python -m tools.citations` writes both."""

from __future__ import annotations

from pathlib import Path

from ratiobench.bench.family.registry import families
from ratiobench.bench.family.source import Source

ROOT = Path(__file__).resolve().parents[1]
REFERENCES, BEGIN, END = "references:\n", "<!-- sources: begin -->\n", "<!-- sources: end -->"
PAPER_KINDS = ("article", "conference-paper")
PAPERS = 2  # Sources of each family that have a line of their own in docs/sources.md
_PARTICLES = ("De",)


def every_source() -> list[Source]:
    """Of all families, the main paper first."""
    found = [source for family in families().values() for source in family.sources]
    return sorted(found, key=lambda source: source.name != "main paper")


def references() -> str:
    """The references of CITATION.cff."""
    return REFERENCES + "".join(map(_reference, every_source()))


def _reference(source: Source) -> str:
    lines = [f"  - type: {source.kind}", "    title: >-", f"      {source.title}", "    authors:"]
    for author in source.authors:
        words = author.split()
        cut = len(words) - 1 - (words[-2] in _PARTICLES)
        given, family = " ".join(words[:cut]), " ".join(words[cut:])
        if author == "et al." or source.kind not in PAPER_KINDS:
            lines.append(f'      - name: "{author}"')
        else:
            lines += [f"      - given-names: {given}", f"        family-names: {family}"]
    lines.append(f"    {'journal' if source.kind == 'article' else 'collection-title'}: {source.venue}")
    lines.append(f"    year: {source.year}")
    first, _, last = source.pages.partition("-")
    lines += [f"    {key}: {page}" for key, page in (("start", first), ("end", last)) if page]
    lines += [f"    {key}: {value}" for key, value in (("doi", source.doi), ("url", source.link)) if value]
    lines += ["    notes: >-", f"      {source.name}: {source.gives}"]
    return "\n".join(lines) + "\n"


def page_list() -> str:
    """The list of docs/sources.md."""
    papers: list[Source] = []
    others: list[Source] = []
    for family in families().values():
        papers += family.sources[:PAPERS]
        others += family.sources[PAPERS:]
    papers.sort(key=lambda source: source.name != "main paper")
    lines = [f"- **{source.name[0].upper()}{source.name[1:]}**: {source.citation}" for source in papers]
    known = dict.fromkeys(source.citation for source in others)
    return "\n".join([*lines, f"- **Algorithms and data**: {'; '.join(known)}"]) + "\n"


def main() -> None:
    """Write both files."""
    citation = ROOT / "CITATION.cff"
    citation.write_text(citation.read_text("utf-8").partition(REFERENCES)[0] + references(), "utf-8")
    page = ROOT / "docs" / "sources.md"
    before, _, rest = page.read_text("utf-8").partition(BEGIN)
    page.write_text(before + BEGIN + page_list() + END + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    main()
