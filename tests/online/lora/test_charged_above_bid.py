"""A payment above the bid breaks no rule of the problem, but no output hides it."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from ratiobench.bench.cli import main
from ratiobench.instances.lora.named import named, path
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.run import _charged_above_bid, run

SAID = "charged above their bid: 2 of 3 admitted"


def test_every_output_says_how_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`simulate` as text and JSON, the table, the CSV file and the page; the run stays valid."""
    name, file = "tests.support.contestants:Overcharges", str(path("thm5_T5_3tasks"))
    assert main(["simulate", file, "--algorithm", name]) == 0
    assert re.match(rf"{re.escape(name)} \([\w ]+\) \({re.escape(SAID)}\): welfare ", capsys.readouterr().out)
    assert main(["simulate", file, "--algorithm", name, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["valid"], said["counts"]) == (True, {"charged_above_bid": 2})
    assert said["label"].startswith(name)
    assert said["label"].endswith(f"({SAID})")
    out = tmp_path / "out"
    options = ["--only", "thm5_T5_3tasks", "--add", name, "--out", str(out), "--quiet"]
    status = main(["run", "quick", *options])
    assert status == 0, (out / "results.csv").read_text()
    assert SAID in capsys.readouterr().out
    assert SAID in (out / "report.html").read_text(encoding="utf-8")
    table = pd.read_csv(out / "results.csv").set_index("algorithm")
    assert table.loc[name, "state"] == "ok"
    assert SAID in str(table.loc[name, "label"])


def test_a_micro_dollar_above_the_bid_counts() -> None:
    instance = named("thm5_T5_3tasks")
    bids = instance.bid.tolist()
    paid = [None if payment is None else Decision(None, (), payment) for payment in (bids[0] + 1, bids[1], None)]
    assert _charged_above_bid(instance, tuple(paid)) == 1


def test_a_payment_of_the_bid_is_not_said() -> None:
    for name in ("pdftsp", "greedy", "eft", "posted"):
        found = run(named("thm5_T5_3tasks"), name)
        assert "above" not in found.label
        assert "charged_above_bid" not in found.counts
