"""The command `explain` and its page, for every family; the summary of `audit`; sources."""

import json
from pathlib import Path

import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.eapm import FAMILY as EAPM
from ratiobench.bench.report.explain import explain, render_explanation, text
from ratiobench.instances.eapm.generate import named as named_eapm
from ratiobench.instances.lora.named import path
from tests.support.commands import refused
from tests.support.toy_family import FAMILY
from tests.support.toy_runs import toy  # noqa: F401
from tools import citations

ROOT = Path(__file__).resolve().parents[2]


def test_the_second_family_is_told_user_by_user() -> None:
    """The best placement stands above the one that was made, and the claim at the end says by how much."""
    told = text(explain(EAPM, named_eapm("lemma1_misses")))
    assert "Best step is violated here: 0.0175 > 0.0171" in told
    assert told.index("the best now   ") < told.rindex("the algorithm's")
    assert "OPT = 0.0175, ALG = 0.0171 units/s, OPT/ALG [1.023, 1.024]" in told
    assert "does not apply" not in text(explain(EAPM, named_eapm("one_machine"), "greedy"))
    page = render_explanation(explain(EAPM, named_eapm("lemma1_misses")))
    assert "OPT = 0.0175, ALG = 0.0171 units/s" in page


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
    assert refused(capsys, "explain", file).startswith(f"ratiobench: {file}: 40 tasks; a run is explained")
    assert refused(capsys, "explain", str(path("tiny_contention")), "--html", str(tmp_path / "no" / "x.html"))


@pytest.mark.usefixtures("toy")
def test_a_family_without_the_part_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "toy.json"
    file.write_text(FAMILY.dumps(FAMILY.generate({"seed": 1, "size": 4, "room": 3})))
    assert "the family toy explains no runs" in refused(capsys, "explain", str(file))


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
