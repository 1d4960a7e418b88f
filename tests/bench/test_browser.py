"""The page in a real browser: sorting, filtering, links, phone width, dark; no errors, nothing fetched.

Runs with any browser made from Chromium that is installed (RATIOBENCH_BROWSER names another one); skipped without.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.support.browser import NAMES, find_browser
from tests.support.browser import play as play_page
from tests.support.toy_family import made, toy  # noqa: F401

# What the steps of the tests can use.
WORDS = """
  const table = document.querySelector("table.filtered");
  const heading = (name) => [...table.tHead.rows[0].cells].find((cell) => cell.textContent === name);
  const rows = () => [...table.tBodies[0].rows].filter((row) => row.getClientRects().length > 0);
  const column = (name) => rows().map((row) => row.cells[heading(name).cellIndex].textContent);
  const bar = document.querySelector("form.filters");
  const list = (name) => [...bar.querySelectorAll("label")]
    .find((label) => label.textContent.startsWith(name)).querySelector("select");
"""


pytestmark = [
    pytest.mark.usefixtures("toy"),
    pytest.mark.skipif(find_browser() is None, reason=f"no browser: none of {', '.join(NAMES)}, no RATIOBENCH_BROWSER"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of the toy suite with figures, made once."""
    return made("toy-plots", tmp_path_factory.mktemp("toy"))


def play(folder: Path, tmp_path: Path, steps: list[str], *flags: str) -> tuple[list[Any], list[str]]:
    """What JavaScript functions return on the page of results, one after the other, and all errors meanwhile."""
    return play_page(folder / "report.html", tmp_path, steps, *flags, words=WORDS)


def test_sorting_filtering_and_links_work_without_errors(folder: Path, tmp_path: Path) -> None:
    """Headings sort up, down and back; words and lists filter together; a link leads to a row that was filtered out."""
    frame = pd.read_csv(folder / "results.csv")
    steps = [
        '() => [column("case"), column("algorithm")]',
        # 1-3: numbers up, down, as it was
        '() => { heading("welfare, points").querySelector("button").click(); return column("welfare, points"); }',
        '() => { heading("welfare, points").querySelector("button").click(); return column("welfare, points"); }',
        '() => { heading("welfare, points").querySelector("button").click(); return column("case"); }',
        # 4: downwards, what is unbounded is first
        '() => { const button = heading("OPT/ALG").querySelector("button"); button.click(); button.click(); '
        'return column("OPT/ALG"); }',
        # 5: the heading says how it is sorted, and can be reached by keyboard
        '() => { const button = heading("OPT/ALG").querySelector("button"); button.focus(); '
        'return [document.activeElement === button, heading("OPT/ALG").getAttribute("aria-sort"), button.tabIndex]; }',
        # 6: words
        '() => { set(bar.querySelector("input"), "run MARK=50 10"); return [column("case"), column("algorithm")]; }',
        # 7: and a list; 8: what it says; 9: nothing is left
        '() => { set(bar.querySelector("input"), ""); set(list("algorithm"), "one"); return column("algorithm"); }',
        '() => { set(list("group"), "20"); return [column("group"), bar.querySelector("output").textContent]; }',
        '() => { set(bar.querySelector("input"), "no such word"); return rows().length; }',
        # 10, 11: a link to a row shows it again
        '() => { location.hash = "#row-0"; }',
        '() => [rows().length, document.querySelector("#row-0").hidden, bar.querySelector("input").value]',
        # 12: the choices of the lists
        '() => [...list("algorithm").options].map((option) => option.text)',
        # 13: a link into a folded table opens it
        '() => { location.hash = "#check-half"; }',
        '() => document.querySelector("#check-half details").open',
        '() => performance.getEntriesByType("resource").map((entry) => entry.name)',
    ]
    seen, problems = play(folder, tmp_path, steps)
    assert problems == []
    assert seen[0] == [frame["case"].tolist(), frame["algorithm"].tolist()]
    ascending = sorted(frame["welfare"])
    assert [int(text) for text in seen[1]] == ascending
    assert [int(text) for text in seen[2]] == ascending[::-1]
    assert seen[3] == frame["case"].tolist()
    unbounded = (frame["ratio_kind"] == "unbounded").sum()
    assert 0 < unbounded < len(frame)
    assert seen[4][:unbounded] == ["unbounded"] * unbounded
    assert seen[5] == [True, "descending", 0]
    chosen = frame[(frame["algorithm"] == "above:mark=50") & frame["case"].str.contains("10 run")]
    assert len(chosen) == 3
    assert sorted(seen[6][0]) == sorted(chosen["case"])
    assert set(seen[6][1]) == {"above:mark=50"}
    assert seen[7] == ["one"] * (frame["algorithm"] == "one").sum()
    assert seen[8] == [["20"] * 3, f"3 of {len(frame)} rows"]
    assert seen[9] == 0
    assert seen[11] == [len(frame), False, ""]
    assert seen[12] == ["all", "above:mark=50", "above:mark=100", "first", "one"]  # 50 is less than 100
    assert seen[14] is True
    assert seen[15] == []


def test_errors_on_the_page_are_noticed(folder: Path, tmp_path: Path) -> None:
    """The test above can fail: an exception, a word to the console and a failed step all arrive."""
    steps = [
        '() => { setTimeout(() => { throw new Error("thrown"); }); }',
        '() => { console.error("said"); }',
        "() => nothing.here",
    ]
    _, problems = play(folder, tmp_path, steps)
    assert len(problems) == 3
    assert all(word in " ".join(problems) for word in ("thrown", "said", "nothing"))


@pytest.mark.parametrize(("dark", "width"), [(False, 1200), (True, 390)])
def test_the_page_fits_a_phone_and_follows_light_and_dark(folder: Path, tmp_path: Path, dark: bool, width: int) -> None:
    """Nothing sticks out to the side; text stands out from the paper, and figures take both colours from the page."""
    # In an iframe as wide as the phone: some browsers have a smallest width of their own.
    steps = [
        f"""async () => {{
          const frame = document.createElement("iframe");
          frame.style.cssText = "width: {width}px; height: 800px; border: 0";
          frame.srcdoc = document.documentElement.outerHTML
            .replaceAll("<script", "<template").replaceAll("</script", "</template");
          document.body.append(frame);
          await new Promise((done) => (frame.onload = done));
          const page = frame.contentDocument;
          const style = (element, name) => frame.contentWindow.getComputedStyle(element)[name];
          return [page.documentElement.scrollWidth, style(page.body, "color"), style(page.body, "backgroundColor"),
            style(page.querySelector("svg text"), "fill"), page.querySelectorAll("svg").length];
        }}"""
    ]
    # 0 is dark, 1 is light; without it a browser follows the desk that it stands on.
    seen, problems = play(folder, tmp_path, steps, f"--blink-settings=preferredColorScheme={0 if dark else 1}")
    assert problems == []
    wide, ink, paper, figure_ink, figures = seen[0]
    assert wide <= width
    assert figures > 5
    assert (_light(ink) > 0.7) is dark
    assert (_light(paper) < 0.3) is dark
    assert abs(_light(ink) - _light(paper)) > 0.6
    assert figure_ink == ink


def _light(colour: str) -> float:
    """Mean of the channels of `rgb(r, g, b)`, from 0 to 1."""
    return sum(int(part) for part in re.findall(r"\d+", colour)[:3]) / 765


def test_links_to_data_hold_the_files_beside_the_page(folder: Path) -> None:
    """Every CSV that the page carries is byte for byte the one in the folder, one at least per figure."""
    page = (folder / "report.html").read_text(encoding="utf-8")
    links = re.findall(r'<a download="([^"]+)" href="data:text/csv;charset=utf-8;base64,([^"]+)"', page)
    assert {"claims.csv", "sizes.csv", "sizes_printed.csv", "parts.csv", "gains.csv", "sales.csv"} <= {
        n for n, _ in links
    }
    for name, data in links:
        assert base64.b64decode(data) == (folder / name).read_bytes()
