"""Papers, problems and data that the project builds on, from which citations are made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec


@dataclass(frozen=True, slots=True)
class Source:
    name: str  # what it is called here
    title: str  # title, venue, year: as printed; of papers in other languages the English title
    authors: tuple[str, ...]  # as printed, given names first; a last one `et al.` where not all are known
    venue: str
    year: int
    gives: str  # what of this project comes from it
    pages: str = ""  # pages, doi, link: empty where they are not established; `link` where there is no DOI
    doi: str = ""
    link: str = ""
    # `article`, `conference-paper`, or another type of CITATION.cff, whose authors are bodies and not people.
    kind: str = "conference-paper"

    @property
    def by(self) -> str:
        return ", ".join(self.authors)

    @property
    def address(self) -> str:
        return f"https://doi.org/{self.doi}" if self.doi else self.link

    @property
    def where(self) -> str:
        pages = f", {'pp.' if '-' in self.pages else 'article'} {self.pages}" if self.pages else ""
        return f"{self.venue}{pages}, {self.year}"

    @property
    def citation(self) -> str:
        return f"{self.by}: {self.title}. {self.where}{f'. {self.address}' if self.address else ''}"


def read_sources(path: Path) -> tuple[Source, ...]:
    tables = msgspec.toml.decode(path.read_bytes(), type=dict[str, tuple[Source, ...]])
    return tables["source"]
