"""The command `explain` and its page, for every family; the pages of witnesses; the summary of `audit`; sources."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.cli.main import main
from ratiobench.bench.eapm import FAMILY as EAPM
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.lora import FAMILY as LORA
from ratiobench.bench.report.claims.page import make_claims
from ratiobench.bench.report.claims.verdicts import ClaimSummary
from ratiobench.bench.report.claims.witnesses import STAGE, list_witnesses, read_explanations
from ratiobench.bench.report.explain.page import render_explanation, write_explanations
from ratiobench.bench.report.explain.text import explain, text
from ratiobench.bench.report.shared.render import load_templates
from ratiobench.bench.running import explanations
from ratiobench.bench.storage.explanations import explanation_document, read_explanation
from ratiobench.bench.storage.store import Store, StoredCase, StoredResult
from ratiobench.instances.eapm.named import named as named_eapm
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.named import named, path
from tests.support.rows import made_row
from tests.support.toy_family import FAMILY
from tests.support.toy_runs import toy  # noqa: F401
from tools import citations

ROOT = Path(__file__).resolve().parents[2]


class _Page(HTMLParser):
    """Tags that are open, ids, addresses."""

    VOID = ("meta", "br", "link", "input", "wbr")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.titles: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src"):
                self.links.append(value or "")
            if name == "title":
                self.titles.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _parsed(page: str) -> _Page:
    found = _Page()
    found.feed(page)
    assert not found.open
    assert len(found.ids) == len(set(found.ids))
    for link in found.links:
        assert not link.startswith("#") or link[1:] in found.ids, link
    return found


def test_the_page_is_whole_and_keeps_exact_values() -> None:
    """Tags nest, links lead somewhere, and fractions stand behind their decimals."""
    found = _parsed(render_explanation(explain(LORA, named("thm5_T5_3tasks"))))
    assert "49/2" in found.titles
    assert [link for link in found.links if link.startswith("http")] == ["https://doi.org/10.1145/3673038.3673083"]
    other = _parsed(render_explanation(explain(EAPM, named_eapm("lemma1_misses")), "../report.html"))
    assert "../report.html" in other.links


def test_the_second_family_is_told_user_by_user() -> None:
    """The best placement stands above the one that was made, and the claim at the end says by how much."""
    told = text(explain(EAPM, named_eapm("lemma1_misses")))
    assert "Best step is violated here: 0.0175 > 0.0171" in told
    assert told.index("the best now   ") < told.rindex("the algorithm's")
    assert "OPT = 0.0175, ALG = 0.0171 units/s, OPT/ALG [1.023, 1.024]" in told
    assert "does not apply" not in text(explain(EAPM, named_eapm("one_machine"), "greedy"))


def test_what_came_from_a_file_is_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names and remarks of an instance are text, on the page and on the terminal."""
    data = json.loads(path("tiny_contention").read_text())
    data["name"] = "<b>\x1b[31mred"
    data["origin"] = {"about": "<script>alert(1)</script>\x1b[0m"}
    file, page = tmp_path / "x.json", tmp_path / "x.html"
    file.write_text(json.dumps(data))
    assert main(["explain", str(file), "--html", str(page)]) == 0
    assert "\x1b" not in capsys.readouterr().out
    written = page.read_text()
    assert "<script>alert" not in written
    assert "&lt;b&gt;" in written


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Too large: the file and its size; a page that cannot be written: nothing is done before."""
    file = str(path("benign_identical_L9"))
    assert main(["explain", file]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.strip().splitlines()[-1].startswith(f"ratiobench: {file}: 40 tasks; a run is explained")
    assert main(["explain", str(path("tiny_contention")), "--html", str(tmp_path / "no" / "x.html")]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("toy")
def test_a_family_without_the_part_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "toy.json"
    file.write_text(FAMILY.dumps(FAMILY.generate({"seed": 1, "size": 4, "room": 3})))
    assert main(["explain", str(file)]) == 2
    assert "the family toy explains no runs" in capsys.readouterr().err


def _settled(claim: str, algorithm: str, tasks: int, there: str = "abc") -> ClaimSummary:
    assert LORA.statements is not None
    statement = next(each for each in LORA.statements() if each.name == claim)
    sides = {f"{claim}_left": "2", f"{claim}_right": "1", f"{claim}_reason": ""}
    named_ = {"algorithm_key": f"{algorithm} v1", "instance": there, "case": "thm5"}
    witness = made_row(algorithm, [claim], **named_, **{claim: "violated"}, **sides)
    describe = {"tasks": tasks, "slots": 5, "nodes": 1}
    case = StoredCase("thm5", "g", there, {}, describe, [], {}, "solved", "audits v1")
    return ClaimSummary(statement, Counter({Verdict.VIOLATED: 1}), witness, 0, case)


def test_witnesses_are_explained_by_the_run_and_shown_by_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claims' table links to them, and they link back; large ones are left out, one's own are told by a command."""
    instance = named("thm5_T5_3tasks")
    (tmp_path / "instances").mkdir()
    with gzip.open(tmp_path / "instances" / "abc.json.gz", "wt") as file:
        file.write(LORA.dumps(instance))
    every = [
        _settled("theorem5", "pdftsp", 3),
        _settled("lemma4", "pdftsp", 31),
        _settled("truthful_bid", "mine:Class", 3),
        _settled("no_deficit", "own:Class", 3),
        _settled("lemma3", "pdftsp", 3, "gone"),
        _settled("weak_duality", "pdftsp:prior=yesterday", 3),
    ]
    monkeypatch.setattr(explanations, "summarise_claims", lambda *_: every)
    with Store.open(tmp_path / "results.sqlite") as store:
        before = read_explanations(store, LORA, every)
        assert (before.found, before.missing) == ({}, 3)
        assert before.by_command == ["theorem5", "truthful_bid", "lemma3", "weak_duality"]
        explanations.store_explanations(LORA, store, tmp_path / "instances")
        after = read_explanations(store, LORA, every)
        assert (after.by_command, after.missing) == (["truthful_bid"], 0)
        monkeypatch.setattr(explanations, "explain", None)
        explanations.store_explanations(LORA, store, tmp_path / "instances")  # all of them are there
        address = next(each for each in list_witnesses(LORA, every) if each.claim == "theorem5")
        store.put(StoredResult(STAGE, address.instance, address.key, True, {"instance": 1}))
        with pytest.raises(InputError, match="explanation of 'theorem5': is not as `run` stores it"):
            read_explanations(store, LORA, every)
    pages = write_explanations(tmp_path, after.found) | dict.fromkeys(after.by_command, "")
    assert pages == {"theorem5": "explain/theorem5.html", "truthful_bid": ""}
    made = (tmp_path / pages["theorem5"]).read_text()
    told = explain(LORA, instance, "pdftsp", "theorem5")
    assert made == render_explanation(told, "../report.html#claim-theorem5")
    assert "../report.html#claim-theorem5" in _parsed(made).links
    assert [path.name for path in (tmp_path / "explain").iterdir()] == ["theorem5.html"]
    section = (
        load_templates()
        .get_template("report/claims/claims.html")
        .render(claims=make_claims(every, LORA.notation(), pages), sources=LORA.sources())
    )
    assert section.count("step by step") == 2
    assert section.count('href="explain/theorem5.html"') == 1
    command = "python -m ratiobench explain instances/abc.json.gz --algorithm mine:Class --claim truthful_bid"
    assert f"<code>{command}</code>" in section
    assert '<a href="#source-main-paper">main paper</a>, Theorem 5' in section


@pytest.mark.parametrize(("family", "instance"), [(LORA, named("thm5_T5_3tasks")), (EAPM, named_eapm("lemma1_misses"))])
def test_explanations_are_stored_exactly(family: Any, instance: Any) -> None:
    """Text and page are the same after JSON; a report needs neither a run nor a solver for them."""
    told = explain(family, instance)
    again = read_explanation(json.loads(json.dumps(explanation_document(told))), family.sources())
    assert text(again) == text(told)
    assert render_explanation(again) == render_explanation(told)


def test_audit_begins_with_a_summary_and_says_figures_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Violated claims with both sides; what several claims share is not repeated."""
    assert main(["audit", str(path("thm5_T5_3tasks")), "--algorithm", "pdftsp"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "3 violated: theorem5 26 > 49/2, lemma4 120 > 0, weak_duality 312 > 84; 18 hold"
    assert sum(line.strip().startswith("kappa =") for line in lines) == 1
    assert lines[2].startswith("theorem5: violated")
    signs = lines[lines.index("symbols:") :]
    last = next(place for place, line in enumerate(lines) if line.startswith("weak_duality: violated"))
    assert last < lines.index("figures of several claims:")
    assert [line.strip().partition(":")[0] for line in signs if "kappa" in line.partition(":")[0]] == ["kappa"]
    assert [line.strip() for line in lines if line.strip().startswith("bound =")] == [
        "bound = 49/2", "bound = 245/2", "bound = 35",
    ]  # fmt: skip
    greedy = ["audit", str(path("tiny_contention")), "--algorithm", "greedy"]
    assert main([*greedy, "--claim", "rational", "--claim", "theorem5"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "0 violated; 1 holds; 1 not applicable"
    assert main([*greedy, "--claim", "rational"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("rational: holds")
    assert main(greedy) == 0
    assert "kappa" not in capsys.readouterr().out


def test_every_source_is_cited_wherever_sources_are(capsys: pytest.CaptureFixture[str]) -> None:
    """The page of sources, CITATION.cff and `list` are made from one table; the page's foot is looked at above."""
    page = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
    assert citations.BEGIN + citations.page_list() + citations.END in page
    assert (ROOT / "CITATION.cff").read_text(encoding="utf-8").endswith(citations.references())
    assert main(["list", "sources"]) == 0
    listed = capsys.readouterr().out
    for source in citations.every_source():
        assert source.citation in listed
        assert source.citation in page
        address = source.doi or source.link or source.kind not in citations.PAPER_KINDS
        for part in (source.title, source.venue, str(source.year), address):
            assert part
            assert part is True or part in source.citation
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "The main paper" not in readme.partition("[the main paper](docs/sources.md)")[0]
