"""The page in a real browser: sorting, columns, filters, what the address keeps, links, keyboard, phone, dark.

No errors, nothing fetched, nothing that a reader of the screen or a keyboard would miss.

Runs with any browser made from Chromium that is installed (RATIOBENCH_BROWSER names another one); skipped without.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ratiobench.bench.cli.main import main
from tests.support.browser import NAMES, find_browser
from tests.support.browser import play as play_page
from tests.support.toy_runs import made, toy  # noqa: F401

# What the steps of the tests can use.
WORDS = """
  const table = document.querySelector("table.runs");
  const heading = (name) => [...table.tHead.rows[0].cells].find((cell) => cell.dataset.name === name);
  const sort = (name) => heading(name).querySelector("button").click();
  const seen_ = (element) => element.getClientRects().length > 0;
  const rows = () => [...table.querySelectorAll("tbody tr:not(.case)")].filter(seen_);
  const titles = () => [...table.querySelectorAll("tr.case")].filter(seen_).map((row) => row.textContent);
  const value = (cell) => cell.dataset.c ?? cell.textContent;
  const column = (name) => rows().map((row) => value(row.cells[heading(name).cellIndex]));
  const columns = () => [...table.tHead.rows[0].cells].filter(seen_).map((cell) => cell.dataset.name);
  const box = (name) => [...document.querySelectorAll(".chooser label")]
    .find((label) => label.textContent === name).querySelector("input");
  const bar = document.querySelector("form.filters");
  const list = (name) => [...bar.querySelectorAll("label")]
    .find((label) => label.textContent.startsWith(name)).querySelector("select");
"""
# What would be in the way of a keyboard or a reader of the screen, in words.
REACHED = """() => {
  const odd = [];
  const all = (chosen) => [...document.querySelectorAll(`main ${chosen}`)];
  const shown = (element) => element.checkVisibility();
  const told = (element) => `${element.tagName} ${element.className} ${element.textContent.slice(0, 40)}`;
  if (document.querySelectorAll("main").length !== 1 || all("h1").length !== 1) odd.push("landmark");
  for (const element of all(":is(button, a[href], input, select, summary)")) {
    const name = element.ariaLabel ?? element.closest("label")?.textContent ?? element.textContent;
    if (!name.trim()) odd.push(`no name: ${told(element)}`);
    if (element.tabIndex < 0) odd.push(`not reached: ${told(element)}`);
  }
  const levels = all(":is(h1, h2, h3, h4)").map((heading) => Number(heading.tagName[1]));
  levels.forEach((level, place) => { if (place && level > levels[place - 1] + 1) odd.push(`heading ${place}`); });
  for (const cell of all("th")) if (!cell.scope) odd.push(`no scope: ${told(cell)}`);
  for (const each of all(":is(.scroll, pre)")) if (each.tabIndex) odd.push(`not scrolled: ${told(each)}`);
  const known = new Set();
  for (const element of document.querySelectorAll("[id]")) {
    if (known.has(element.id)) odd.push(`twice: ${element.id}`);
    known.add(element.id);
  }
  for (const element of ["button", "a", "summary", "input"].map((chosen) => all(chosen).find(shown))) {
    element.focus();
    if (getComputedStyle(element).outlineStyle === "none") odd.push(`no focus: ${told(element)}`);
  }
  return odd;
}"""
# Text with less than 4.5 to 1 between its colour and what is behind it (WCAG 2, AA), in words.
CONTRAST = """() => {
  const channel = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * channel(r / 255) + 0.7152 * channel(g / 255) + 0.0722 * channel(b / 255);
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const odd = new Set();
  document.querySelectorAll("details").forEach((fold) => (fold.open = true));
  for (const element of document.querySelectorAll("main :not(svg *, script, style)")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.getClientRects().length) continue;
    let behind = element;
    const clear = () => parts(getComputedStyle(behind).backgroundColor)[3] === 0;
    while (behind.parentElement && clear()) behind = behind.parentElement;
    const [a, b] = [getComputedStyle(element).color, getComputedStyle(behind).backgroundColor].map(parts).map(light);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) odd.add(`${ratio.toFixed(2)} ${element.tagName}.${element.className}`);
  }
  return [...odd];
}"""


pytestmark = [
    pytest.mark.usefixtures("toy"),
    pytest.mark.skipif(find_browser() is None, reason=f"no browser: none of {', '.join(NAMES)}, no RATIOBENCH_BROWSER"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of the toy suite with figures, made once."""
    return made("toy-plots", tmp_path_factory.mktemp("toy"))


def play(folder: Path, tmp_path: Path, steps: list[str], *flags: str, address: str = "") -> tuple[list[Any], list[str]]:
    """What JavaScript functions return on the page of results, one after the other, and all errors meanwhile."""
    return play_page(folder / "report.html", tmp_path, steps, *flags, words=WORDS, address=address)


def test_sorting_filtering_and_links_work_without_errors(folder: Path, tmp_path: Path) -> None:
    """Headings sort up, down and back; words and lists filter together; a link leads to a row that was filtered out."""
    frame = pd.read_csv(folder / "results.csv")
    steps = [
        '() => [column("case"), column("algorithm")]',
        # 1-3: numbers up, down, as it was
        '() => { sort("welfare, points"); return column("welfare, points"); }',
        '() => { sort("welfare, points"); return column("welfare, points"); }',
        '() => { sort("welfare, points"); return column("case"); }',
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
        '() => { set(list("group"), "20"); '
        'return [column("case"), bar.querySelector("output").textContent, titles()]; }',
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
    cases = [f"20 run {seed}" for seed in range(3)]
    assert [sorted(seen[8][0]), seen[8][1]] == [cases, f"3 of {len(frame)} rows"]
    assert seen[8][2] == []  # it is still sorted by the ratio, over all cases
    assert seen[9] == 0
    assert seen[11] == [len(frame), False, ""]
    assert seen[12] == ["all", "above:mark=50", "above:mark=100", "first", "one"]  # 50 is less than 100
    assert seen[14] is True
    assert seen[15] == []


def test_very_many_rows_are_unpacked_where_they_are_reached(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is smaller, says how many there are, and sorts, filters and links as ever."""
    whole = (folder / "report.html").read_text()
    monkeypatch.setattr("ratiobench.bench.report.rows.page.PACKED", 10)
    copy = tmp_path / "packed"
    copy.mkdir()
    (copy / "results.sqlite").write_bytes((folder / "results.sqlite").read_bytes())
    assert main(["report", str(copy)]) == 0
    page = (copy / "report.html").read_text()
    frame = pd.read_csv(folder / "results.csv")
    assert f"{len(frame)} rows, which a script unpacks" in page
    assert '<table class="runs"' in whole
    assert '<table class="runs"' not in page
    assert len(page) < len(whole)
    settle = 'async () => { for (let i = 0; i < 1500 && !document.querySelector("form.filters"); i++) '
    settle += (
        'await new Promise((done) => setTimeout(done, 10)); return document.querySelectorAll("table.runs").length; }'
    )
    words = 'const shown = () => [...document.querySelectorAll("table.runs tr[id]")].filter((row) => !row.hidden);'
    reach = '() => document.querySelector(".packed")?.scrollIntoView()'
    for address, steps, found in (
        ("", [reach, settle, "() => shown().length"], len(frame)),
        ("?algorithm=one", [settle, "() => shown().length"], (frame["algorithm"] == "one").sum()),
        ("#row-3", [settle, "() => document.querySelector('#row-3').checkVisibility()"], True),
    ):
        seen, problems = play_page(copy / "report.html", tmp_path, steps, words=words, address=address)
        assert (problems, seen[-2], seen[-1]) == ([], 1, found)


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
          // An address without a place to break it, as among the sources of a family that has papers.
          page.querySelector("main").insertAdjacentHTML("beforeend",
            `<ul><li><b>x</b>: <a href="#">https://${{"long".repeat(40)}}</a></li></ul>`);
          const style = (element, name) => frame.contentWindow.getComputedStyle(element)[name];
          return [page.documentElement.scrollWidth, style(page.body, "color"), style(page.body, "backgroundColor"),
            style(page.querySelector("svg text"), "fill"), page.querySelectorAll("svg").length,
            page.querySelectorAll("style")[1].remove() ?? // what the script hides
            [...page.querySelectorAll(".runs thead th")].every((cell) => cell.getClientRects().length > 0)];
        }}""",
        REACHED,
        CONTRAST,
    ]
    # 0 is dark, 1 is light; without it a browser follows the desk that it stands on.
    seen, problems = play(folder, tmp_path, steps, f"--blink-settings=preferredColorScheme={0 if dark else 1}")
    assert problems == []
    wide, ink, paper, figure_ink, figures, whole = seen[0]
    assert whole  # without JavaScript
    assert wide <= width
    assert figures > 5
    assert (_light(ink) > 0.7) is dark
    assert (_light(paper) < 0.3) is dark
    assert abs(_light(ink) - _light(paper)) > 0.6
    assert figure_ink == ink
    assert seen[1] == []
    assert seen[2] == []


def test_on_a_phone_the_rows_of_a_case_are_folded_under_its_heading(folder: Path, tmp_path: Path) -> None:
    """A button shows them; what is searched for is shown; on a wide screen there is no button and no fold."""
    steps = [
        "() => [rows().length, titles().length]",
        '() => { document.querySelector(".unfold").click(); return [rows().length, column("case")]; }',
        '() => { set(list("algorithm"), "one"); return rows().length; }',
        '() => [...document.querySelectorAll(".unfold")].filter(seen_).length',
    ]
    seen, problems = play(folder, tmp_path, steps, "--window-size=600,900")
    assert problems == []
    (none, cases), (some, names), found, buttons = seen
    assert none == 0
    assert cases == buttons > 1
    assert some == len(names) > 0
    assert len(set(names)) == 1
    assert found > some - 1
    wide, problems = play(folder, tmp_path, [steps[0], steps[3]], "--window-size=1200,900")
    assert problems == []
    assert wide[0][0] > wide[0][1]
    assert wide[1] == 0


def test_columns_are_chosen_and_the_address_keeps_what_was_chosen(folder: Path, tmp_path: Path) -> None:
    """What is the same in all rows of a case is its heading or a column; the way back leads through every choice."""
    query = "() => location.search"
    steps = [
        # 0-2: at first the columns that matter most, and a heading for each case
        "() => columns()",
        "() => titles()",
        query,
        # 3, 4: a column of a case's heading, and one of the rows; the box is reached and pressed by keyboard
        '() => { document.querySelector(".chooser summary").click(); box("gap").focus(); box("gap").click(); '
        ' return [document.activeElement === box("gap"), columns()]; }',
        '() => { box("admitted").click(); return column("gap"); }',
        query,
        # 6, 7: sorted across cases, by a column that the rows share; no headings of cases
        '() => { sort("gap"); return [column("gap"), titles().length, column("case").length]; }',
        '() => { set(list("algorithm"), "one"); return [location.search, column("algorithm")]; }',
        # 8-13: back, step by step, and forward
        "async () => { history.back(); }",
        "() => [location.search, rows().length, titles().length]",
        "async () => { history.back(); }",
        '() => [location.search, heading("gap").getAttribute("aria-sort"), titles().length, column("case")]',
        "async () => { history.go(-2); }",
        "() => [location.search, columns()]",
        # 14, 15: a link to a row keeps the query
        '() => { box("group").click(); location.hash = "#row-3"; }',
        '() => [location.search, location.hash, document.querySelector(":target").id]',
        # 16: what a link to a word says, when it is reached by keyboard
        '() => { const link = heading("OPT/ALG").querySelector("a"); link.focus(); '
        "return [link.title, link.ariaLabel]; }",
    ]
    seen, problems = play(folder, tmp_path, steps)
    assert problems == []
    frame = pd.read_csv(folder / "results.csv")
    first = ["case", "algorithm", "OPT/ALG", "share of OPT", "welfare, points", "admitted"]
    first += ["revenue, points", "cost, points", "profit, points", "seconds per decision"]
    assert seen[0] == first
    assert len(seen[1]) == frame["case"].nunique()
    assert all(title.startswith(f"{case} in ") for case, title in zip(frame["case"].unique(), seen[1], strict=True))
    assert seen[2] == ""
    assert seen[3] == [True, [*first, "gap"]]
    assert len(seen[4]) == len(frame)
    kept = "ratio,share,value,revenue,cost,profit,pace,gap"
    assert seen[5] == f"?columns={kept.replace(',', '%2C')}"
    gaps = [float(text.removesuffix(" %")) for text in seen[6][0]]
    assert gaps == sorted(gaps)
    assert seen[6][1:] == [0, len(frame)]
    assert "sort=gap" in seen[7][0]
    assert "algorithm=one" in seen[7][0]
    assert set(seen[7][1]) == {"one"}
    assert "sort=gap" in seen[9][0]
    assert seen[9][1:] == [len(frame), 0]
    assert seen[11] == [seen[5], None, frame["case"].nunique(), frame["case"].tolist()]
    assert seen[13] == ["", first]
    assert seen[15][0].endswith("group")
    assert seen[15][1:] == ["#row-3", "row-3"]
    assert "1 is optimal" in seen[16][0]
    assert seen[16][1] == "what OPT/ALG means"


def test_an_address_is_restored(folder: Path, tmp_path: Path) -> None:
    """Sorting, columns and filters of a link that somebody sent; what it names that is not there is left out."""
    steps = [
        "() => [columns(), column('OPT/ALG'), column('case'), bar.querySelector('input').value, list('group').value]",
        "() => heading('OPT/ALG').getAttribute('aria-sort')",
    ]
    address = "?sort=-ratio&columns=ratio,proof,nothing&words=run&algorithm=above:mark%3D100&group=5&state=x#row-3"
    seen, problems = play(folder, tmp_path, steps, address=address)
    assert problems == []
    columns, shown, cases, words, group = seen[0]
    assert columns == ["case", "algorithm", "OPT/ALG", "proof"]
    assert (words, group, seen[1]) == ("run", "5", "descending")
    assert sorted(cases) == [f"5 run {seed}" for seed in range(3)]
    assert shown == ["unbounded"] * 3


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
