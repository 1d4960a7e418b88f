"""Charts in a real browser: figures under the pointer and by keyboard, the legend, and any two algorithms compared."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ratiobench.bench.report.compare import algorithms as compare
from ratiobench.bench.results.read import read_results
from ratiobench.bench.storage.store import Store
from tests.support.browser import NAMES, find_browser, play
from tests.support.toy_runs import made, toy  # noqa: F401

pytestmark = [
    pytest.mark.usefixtures("toy"),
    pytest.mark.skipif(find_browser() is None, reason=f"no browser: none of {', '.join(NAMES)}, no RATIOBENCH_BROWSER"),
]
WORDS = """
  const pair = document.querySelector("figure.pair");
  const [listA, listB] = pair.querySelectorAll("select");
  const tip = document.querySelector(".tip");
  const legend = document.querySelector(".legend");
  const button = (name) => [...legend.querySelectorAll("button")].find((each) => each.textContent === name);
  const press = (name) => new KeyboardEvent("keydown", { key: name, bubbles: true });
  const key = (name) => document.activeElement.dispatchEvent(press(name));
  const off = () => [...new Set([...document.querySelectorAll("svg .off")].map((part) => part.dataset.a))];
  const shown = () => [...pair.querySelectorAll(".dots > :not([hidden])")].map((dot) => [dot.getAttribute("aria-label"),
    Number(dot.querySelector("circle").getAttribute("cx")), Number(dot.querySelector("circle").getAttribute("cy"))]);
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of nine cases, with an algorithm of one's own."""
    return made("toy-plots", tmp_path_factory.mktemp("toy"), "--add", "one:Mine")


def test_any_two_algorithms_can_be_compared(folder: Path, tmp_path: Path) -> None:
    """For every two the script says and places what Python says and places; the choice stands in the address."""
    with Store.open(folder / "results.sqlite", create=False) as store:
        comparison = compare.compare_runs(read_results(store))
    assert comparison is not None
    pairs = [comparison.pair, *itertools.product(comparison.algorithms, repeat=2)]
    steps = ['() => [listA.value, listB.value, pair.querySelector(".said").textContent, shown()]']
    steps += [
        f"() => {{ set(listA, {json.dumps(a)}); set(listB, {json.dumps(b)}); "
        'return [listA.value, listB.value, pair.querySelector(".said").textContent, shown()]; }'
        for a, b in pairs[1:]
    ]
    steps.append('() => [location.search, performance.getEntriesByType("resource").length]')
    seen, problems = play(folder / "report.html", tmp_path, steps, words=WORDS)
    assert problems == []
    for (a, b), (chosen_a, chosen_b, said, dots) in zip(pairs, seen, strict=False):
        assert (chosen_a, chosen_b) == (a, b)
        assert said == compare.describe_pair(comparison, a, b)
        assert dots == expected_dots(comparison, a, b)
    last = comparison.algorithms[-1].replace(":", "%3A").replace("=", "%3D")
    assert seen[-1] == [f"?a={last}&b={last}", 0]


def expected_dots(comparison: compare.Comparison, a: str, b: str) -> list[list[object]]:
    """Name and place of every dot, as Python draws them."""
    [group] = [
        each for each in ElementTree.fromstring(compare.draw_scatter(comparison, a, b)).iter("g")
        if each.get("class") == "dots"
    ]  # fmt: skip
    found: list[list[object]] = []
    for mark in group:
        circle = mark.find("circle")
        assert circle is not None
        if mark.get("hidden") is None:
            # The script has percentages with four decimals.
            places = [pytest.approx(float(circle.get(name) or 0), abs=0.011) for name in ("cx", "cy")]
            found.append([mark.findtext("title"), *places])
    return found


def test_figures_are_told_and_algorithms_switched_by_pointer_and_by_keyboard(folder: Path, tmp_path: Path) -> None:
    """A mark says its figures where it is pointed at or has the focus; buttons switch algorithms off everywhere."""
    steps = [
        # 0: a chart is a stop of the tab key, its arrows lead through its marks, Escape hides the figures
        """() => {
          const chart = document.querySelector("#reached ~ .grid svg.chart");
          chart.focus();
          key("ArrowDown");
          const first = [document.activeElement.getAttribute("aria-label"), tip.textContent, tip.hidden];
          key("ArrowDown");
          const second = [document.activeElement.dataset.a, tip.textContent];
          key("Escape");
          return [chart.tabIndex, chart.getAttribute("role"), first, second, tip.hidden,
            chart.querySelectorAll("title").length];
        }""",
        # 1: the pointer
        """() => {
          const mark = document.querySelector("svg.chart .m.own");
          mark.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: 10, clientY: 10 }));
          const told = [mark.dataset.a, tip.textContent === mark.getAttribute("aria-label"), tip.hidden];
          mark.ownerSVGElement.dispatchEvent(new PointerEvent("pointerleave"));
          return [...told, tip.hidden];
        }""",
        # 2: one off, in all charts, by a button that the keyboard reaches
        """() => {
          legend.open = true;
          button("first").focus();
          const reached = document.activeElement === button("first");
          button("first").click();
          const faded = [...document.querySelectorAll('svg [data-a="first"]')].every((part) => part.matches(".off"));
          return [reached, off(), faded, button("first").getAttribute("aria-pressed"), location.search,
            legend.querySelector("summary").textContent];
        }""",
        # 3: what is off is no stop of the arrows; none, all
        """() => {
          const chart = [...document.querySelectorAll("svg.chart")].find((each) => each.querySelector(".off"));
          const names = [];
          chart.focus();
          for (const _ of chart.querySelectorAll(".m")) {
            key("ArrowDown");
            names.push(document.activeElement.dataset.a);
          }
          button("none").click();
          const none = off().length;
          button("all").click();
          return [names.includes("first"), none, off(), location.search];
        }""",
    ]
    seen, problems = play(folder / "report.html", tmp_path, steps, words=WORDS, address="?words=kept")
    assert problems == []
    index, role, first, second, hidden, titles = seen[0]
    assert (index, role, hidden, titles) == (0, "group", True, 0)
    assert first[0] == first[1]
    assert "mean ALG/upper " in first[0]
    assert first[2] is False
    assert second[1].startswith(second[0])
    assert second[1] != first[1]
    assert seen[1] == ["one:Mine", True, False, True]
    assert seen[2] == [True, ["first"], True, "false", "?words=kept&off=first", "Algorithms in the charts: 4 of 5"]
    assert seen[3] == [False, 5, [], "?words=kept"]


def test_what_is_off_stays_off(folder: Path, tmp_path: Path) -> None:
    steps = ["() => [off(), legend.open, listA.value]"]
    address = "?off=above%3Amark%3D50&off=nobody&a=first&b=nobody"
    seen, problems = play(folder / "report.html", tmp_path, steps, words=WORDS, address=address)
    assert problems == []
    assert seen == [[["above:mark=50"], True, "first"]]
