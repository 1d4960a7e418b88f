"""From a log of gangs to the advice, as an operator goes: what is played, what the answer rests on, what changes it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import ratiobench
from ratiobench.bench.cli.main import main
from ratiobench.bench.family.day_facts import Assumption, DayFacts, read_facts
from ratiobench.bench.family.registry import families
from ratiobench.bench.lora.days import AT_ARRIVAL, ON_REQUEST, QUEUES, day_facts, default_policies, refusal
from ratiobench.bench.report.backtest.advice import advise, suggest_changes, sum_assumptions
from ratiobench.bench.report.backtest.criteria import CRITERIA
from ratiobench.bench.report.backtest.data import Backtest, compare, evaluate
from ratiobench.bench.results.read import read_results
from ratiobench.bench.running.backtest import find_days, make_backtest
from ratiobench.bench.storage.store import STORE, Store
from ratiobench.formulations.lora.solve import solve
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.changes import apply_change, list_changes
from ratiobench.instances.lora.format import content_hash, dumps, read
from tests.bench.test_backtest import judged, policy

LORA = families()["lora"]
CLUSTER = """usd_per_kwh = 0.1
[[node]]
name = "fast"
count = 2
gpus = 8
memory_gb = 80
watts = 300
[[node]]
name = "slow"
count = 1
gpus = 8
memory_gb = 40
speed = 0.5
watts = 200
"""
HEAD = "JobID|Submit|Start|End|State|Timelimit|NNodes|User|Account|AllocTRES"
QUICK = ["--workers", "1", "--quiet"]


def sacct() -> str:
    """Four days of nine jobs: one in three a gang of two nodes, some with a limit; a job wider than the cluster a day.

    One job a day was cancelled before it started.
    """
    lines = [HEAD]
    for day in range(2, 6):
        for job in range(9):
            start = f"2026-03-0{day}T{8 + job // 3:02d}:{20 * (job % 3):02d}:00"
            end = f"2026-03-0{day}T{10 + (job + day) % 4 + job // 3:02d}:{20 * (job % 3):02d}:00"
            nodes = 2 if job % 3 == 0 else 1
            gpus = 16 if nodes == 2 else 2 + 2 * (job % 4)
            limit = "" if job % 2 else f"{4 + job % 3:02d}:00:00"
            resources = f"gres/gpu={gpus},node={nodes}"
            lines.append(f"{10 * day + job}|{start}|{start}|{end}|COMPLETED|{limit}|{nodes}|u{job % 2}|g|{resources}")
        morning = f"2026-03-0{day}T07:00:00"
        lines.append(f"{10 * day + 9}|{morning}|{morning}|2026-03-0{day}T09:00:00|COMPLETED||9|u|g|gres/gpu=72,node=9")
        lines.append(f"{1000 + day}|{morning}|Unknown|Unknown|CANCELLED||1|u|g|gres/gpu=1,node=1")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module", params=[pytest.param("log", marks=pytest.mark.nightly)])  # marks all that use it
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log, imported with a range of bids and a list price; and its backtest with all defaults."""
    here = tmp_path_factory.mktemp("advice")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        Path("log.sacct").write_text(sacct())
        Path("cluster.toml").write_text(CLUSTER)
        words = ["import", "log.sacct", "--format", "sacct", "--cluster", "cluster.toml", "--slot", "30m"]
        assert main([*words, "--list-price", "2", "--out", "days"]) == 0
        assert main(["backtest", "days", *QUICK, "--out", "out", "--what-if", "nodes=+1,load=2"]) == 0
    return here


@pytest.fixture
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def evaluated(out: str = "out") -> Backtest:
    with Store.open(Path(out) / STORE, create=False) as store:
        return evaluate(read_results(store), LORA)


def days() -> list[Any]:
    return [read(f"days/log-2026-03-0{day}.json.gz") for day in (3, 4, 5)]


# 1. What is played.


def test_days_of_gangs_have_policies_of_clusters_by_default(inside: Path) -> None:
    """Those that answer at arrival, the list prices of the import, and queues; every run is valid."""
    rows = pd.read_csv("out/results.csv", dtype=str, keep_default_na=False)
    names = {name.split(":prior")[0] for name in rows["algorithm"]}
    assert names == {*AT_ARRIVAL, *QUEUES, "pricelist:file=days/prices.toml"}
    assert set(rows["state"]) == {"ok"}
    assert {case.partition(" ")[0] for case in rows["case"]} == {f"log-2026-03-0{day}" for day in (3, 4, 5)}


def test_days_that_may_pause_and_move_have_all_policies() -> None:
    """As before there were other kinds; baselines of the literature where they are named."""
    names = [each.name for each in LORA.algorithms()]
    assert set(ON_REQUEST) <= set(names)
    assert list(default_policies(["any"])) == [name for name in names if name not in ON_REQUEST]
    assert list(default_policies(["any", "rigid"])) == [*AT_ARRIVAL, *QUEUES]
    assert (
        refusal("learned", "any")
        == refusal("queue", "several")
        == refusal("queue", "rigid and gang")
        == refusal("greedy", "one-node")
        == ""
    )
    assert refusal("learned", "rigid") == "no form for tasks that are rigid or gangs"


def test_an_algorithm_without_a_form_is_left_out_in_a_line(
    inside: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["backtest", "days", *QUICK[:2], "--out", str(tmp_path / "out"), "-a", "learned,greedy,titan"]
    assert main(words) == 0
    told = capsys.readouterr()
    assert "ratiobench: left out: learned, titan (no form for tasks that are rigid or gangs)" in told.err
    assert "Only greedy was compared" in told.out
    assert main(["backtest", "days", *QUICK, "-a", "learned", "--out", "never"]) == 2
    assert "none can serve these days: left out: learned (no form for" in capsys.readouterr().err
    assert not Path("never").exists()


def test_claims_are_checked_when_that_is_asked_for(inside: Path) -> None:
    rows = pd.read_csv("out/results.csv", dtype=str, keep_default_na=False)
    assert not [name for name in rows.columns if name.startswith("theorem")]


# 2. The tables.


def test_policies_that_decide_later_have_a_table_of_their_own(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With waits, deadlines, slowdown, killed runs; every policy is in one of the two."""
    assert main(["report", "out"]) == 0
    text = capsys.readouterr().out
    at_once, later = text.index("Decided at arrival"), text.index("Decided later")
    assert at_once < text.index("\ngreedy ") < later < text.index("\nqueue ") < text.index("profit at list")
    for words in ("wait, min", "met", "slowdown", "killed", "share of", "OPT", "welfare"):  # names may take two lines
        assert words in text[at_once:later]
    found = evaluated()
    assert {each.name.partition(":prior")[0] for each in found.policies if each.is_later} == set(QUEUES)
    assert max(len(line) for line in text[: text.index("Seconds of work")].splitlines()) <= 120


def test_measures_are_means_over_the_days(inside: Path) -> None:
    rows = pd.read_csv("out/results.csv", dtype=str, keep_default_na=False)
    mine = rows[(rows["algorithm"] == "queue") & (rows["group"] == "days")]
    found = evaluated().policy("queue").measures
    for name in ("wait_mean_s", "wait_p95_s", "met_share", "slowdown"):
        assert found[name] == sum(map(Fraction, mine[name])) / 3
    assert found["killed"] == sum(map(Fraction, mine["killed"]))


@pytest.mark.parametrize("by", ["wait", "slowdown", "met", "revenue"])
def test_policies_are_ranked_by_another_measure(inside: Path, by: str) -> None:
    with Store.open(Path("out") / STORE, create=False) as store:
        results = read_results(store)
    about = {**results.about, "backtest": {**results.about["backtest"], "by": by}}
    found, criterion = evaluate(replace(results, about=about), LORA), CRITERIA[by]
    scores = [criterion.over_days(list(each.ranked.values())) for each in found.complete]
    assert scores == sorted(scores, reverse=by in ("met", "revenue"))
    assert len(found.complete) == len(evaluated().complete)
    answer = advise(found, LORA)
    assert any(each.startswith(f"Ranked by {criterion.title}, as --by asks. By welfare") for each in answer)
    assert answer[0].startswith("Recommended: ")
    assert (" on average (for all comparisons at once" in answer[1]) == (by != "revenue")


def test_another_measure_is_an_option_and_nothing_runs_again(
    inside: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rows stay; tables, answer and page follow it."""
    shutil.copytree("out", tmp_path / "out")
    rows = (tmp_path / "out" / "results.csv").read_bytes()
    assert main(["backtest", "days", *QUICK, "--out", str(tmp_path / "out"), "--by", "wait"]) == 0
    assert "Ranked by mean wait, as --by asks. By welfare" in capsys.readouterr().out.replace("\n  ", " ")
    # The cases of what-ifs, which were not asked for again, are gone.
    assert set((tmp_path / "out" / "results.csv").read_bytes().splitlines()) < set(rows.splitlines())
    assert "--by wait" in (tmp_path / "out" / "backtest.html").read_text()


def test_a_measure_that_runs_do_not_have_is_refused(inside: Path) -> None:
    with pytest.raises(InputError, match="wait"):
        make_backtest(families()["eapm"], find_days(Path("days"))[1], ["greedy"], 1, by="wait")
    with pytest.raises(InputError, match="--by"):
        make_backtest(LORA, find_days(Path("days"))[1], ["greedy"], 1, by="beauty")


def test_the_answer_says_how_much_of_opt_is_certain_and_what_is_left() -> None:
    """80 of an OPT in [90, 100]: at least 80 %, and at most a quarter more."""
    found = judged([policy("a", [40, 40], share=(Fraction(4, 5), Fraction(8, 9))), policy("b", [30, 40])])
    found = replace(found, opt={day: (Fraction(45), Fraction(50)) for day in found.days})
    answer = advise(found, LORA)
    assert (
        answer[-1] == "What one more node of each type would be worth: `backtest ... --what-if nodes=+1` computes it."
    )
    assert not any("--what-if nodes" in line for line in advise(found, families()["eapm"]))
    assert answer[0] == (
        "Recommended: a, with welfare 80 µ$, certainly at least 80.0 % of OPT. A scheduler that knows the "
        "future could earn at most 25.0 % more."
    )


def test_a_wide_interval_on_opt_is_told() -> None:
    found = judged([policy("a", [40, 40]), policy("b", [30, 40])])
    for high, is_told in ((50, True), (46, False)):
        other = replace(found, opt={day: (Fraction(45), Fraction(high)) for day in found.days})
        told = [each for each in advise(other, LORA) if each.startswith("OPT is known within")]
        assert len(told) == is_told
        assert not is_told or told[0].startswith("OPT is known within 10.0 % (90 µ$ to 100 µ$); ")


# 3. List prices.


def test_every_policy_has_its_profit_at_list_prices(inside: Path) -> None:
    """Two dollars for each GPU-hour of the log's GPU of the admitted jobs, less energy; whatever it charges itself."""
    found = evaluated()
    rows = pd.read_csv("out/results.csv", dtype=str, keep_default_na=False)
    per_second = days()[0].origin["units_per_gpu_second"]
    for each in found.policies:
        mine = rows[(rows["algorithm"] == each.name) & (rows["group"] == "days")]
        hours = sum(map(Fraction, mine["admitted_work"])) / per_second / 3600
        energy = sum(map(Fraction, mine["energy"]))
        assert each.list_profit == 2_000_000 * hours - energy
    assert found.policy("greedy").is_paid
    assert found.policy("queue").profits == {}
    page = Path("out/backtest.html").read_text()
    assert "profit at list prices" in page
    assert "No list price is known" not in page


def test_what_is_bid_at_one_price_is_the_list_price(inside: Path, tmp_path: Path) -> None:
    """Of jobs that may pause and move, too; then welfare and that profit are the same."""
    words = ["import", "log.sacct", "--format", "sacct", "--cluster", "cluster.toml", "--slot", "30m", "--run", "any"]
    assert main([*words, "--price", "2", "--out", str(tmp_path / "days")]) == 0
    out = str(tmp_path / "out")
    assert main(["backtest", str(tmp_path / "days"), *QUICK, "-a", "greedy,eft", "--out", out]) == 0
    for each in evaluated(out).policies:
        assert each.list_profit == each.value


def test_the_list_prices_of_an_import_are_a_file_to_edit(inside: Path, tmp_path: Path) -> None:
    text = Path("days/prices.toml").read_text()
    assert '[types."fast"]\ngpus = 8\nprice = 2\n' in text
    assert '[types."slow"]\ngpus = 8\nprice = 1' in text
    words = ["import", "log.sacct", "--format", "sacct", "--cluster", "cluster.toml", "--out", str(tmp_path / "days")]
    assert main([*words, "--price", "2"]) == 0
    assert (tmp_path / "days" / "prices.toml").exists()
    assert main(words) == 0
    assert not (tmp_path / "days" / "prices.toml").exists()


# 4. What it rests on.


def test_an_imported_day_says_what_was_assumed_for_how_much_of_it(inside: Path) -> None:
    """Jobs and GPU-hours by hand: nine jobs in the instance, one too wide, one cancelled."""
    facts = day_facts(days()[0])
    assert facts.kind == "rigid and gang"
    assert facts.jobs == 11
    log = [line.split("|") for line in sacct().splitlines() if line[:2].isdecimal() and "-03-03T" in line]
    hours = [
        int(each[-1].split("gpu=")[1].split(",")[0]) * (int(each[3][11:13]) - int(each[2][11:13]))
        for each in log
        if each[2] != "Unknown"
    ]
    assert facts.hours == sum(hours)
    weights = {(each.kind, each.what): (each.jobs, each.hours) for each in facts.assumptions}
    assert weights["left out", "wider than any node type has nodes"] == (1, 144)
    assert weights["left out", "cancelled before it started"] == (1, None)
    bids = weights["", "bids invented: drawn evenly from $1 to $3 per GPU-hour of the run (--price)"]
    assert bids == (9, sum(hours) - 144)
    gangs = next(value for (_, what), value in weights.items() if "run = gang" in what)
    assert gangs == (3, sum(hour for each, hour in zip(log, hours, strict=False) if each[6] == "2"))
    limits = next(value for (_, what), value in weights.items() if "time limit in place of the length" in what)
    assert limits[0] == sum(bool(each[5]) for each in log)
    assert {kind for kind, _ in weights} == {"", "left out", "added"}


def test_the_answer_and_the_page_have_what_it_rests_on(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "out"]) == 0
    text = capsys.readouterr().out
    page = Path("out/backtest.html").read_text()
    basis = sum_assumptions(evaluated())
    assert basis.jobs == 33
    assert text.index("Assumption ") > text.index("certainly at least")
    for words in ("left out: wider than any node type has nodes", "left out: cancelled before it started"):
        assert words in text
        assert words in page
    assert "not known" in page
    share = f"{float(100 * Fraction(3 * 144) / basis.hours):.1f} % of the GPU-hours (of some it is not known)"
    assert share in " ".join(text.split())


def test_the_changes_that_are_suggested_are_of_what_was_assumed(inside: Path) -> None:
    """Of the log here all four; of bids of their own, without limits and gangs, none but that jobs may not pause."""
    found = replace(evaluated(), what_ifs=())
    changes = "bids=flat,limits=true,gangs=out,run=any"
    told = f"To see their effect on the answer: `backtest ... --what-if {changes}`, or any of these."
    assert suggest_changes(found, LORA) == told
    assert suggest_changes(evaluated(), LORA) == told  # more nodes are no assumption
    kinds = [
        Assumption("bids read from the log", 1, Fraction(1)),
        Assumption("run once, (run = rigid)", 1, Fraction(1)),
    ]
    other = replace(found, facts={"d": DayFacts(jobs=1, hours=Fraction(1), assumptions=kinds)})
    assert suggest_changes(other, LORA) == "To see their effect on the answer: `backtest ... --what-if run=any`."
    assert suggest_changes(other, families()["eapm"]) == ""


def test_jobs_that_no_schedule_finishes_are_left_out_of_the_load(tmp_path: Path) -> None:
    """By their GPU-hours, in the answer; and the import says which tail would keep them."""
    log, cluster = tmp_path / "log.csv", tmp_path / "cluster.toml"
    log.write_text("submit,duration,gpus\n2026-03-02T08:00:00,7200,8\n2026-03-02T09:00:00,108000,8\n")
    cluster.write_text(CLUSTER)
    found = ratiobench.imported(log, format="csv", cluster=cluster)
    [day] = found.instances
    facts = day_facts(day)
    assert [(each.what, each.jobs, each.hours) for each in facts.assumptions if each.kind == "left out"] == [
        ("no schedule ends in their window (--tail, --days)", 1, 240)
    ]
    assert facts.load == Fraction(16, 30 * 20)  # 16 GPU-hours of 30 hours on 16 fast GPUs and 8 of half the speed
    assert "They are 94 % of the GPU time: --tail 1d makes that 0.0 %." in found.report.text()
    told = advise(replace(judged([policy("a", [1])]), facts={"d0": facts}), LORA)
    assert any("50.0 % of the jobs and 93.8 % of the GPU-hours are left out" in each for each in told)


def test_assumptions_are_added_up_over_days() -> None:
    """Those left out first; hours that are not known of a day are not known."""
    one = DayFacts(jobs=4, hours=Fraction(9), assumptions=(Assumption("x", 2, Fraction(3)),))
    two = DayFacts(
        jobs=1, hours=Fraction(1), assumptions=(Assumption("x", 1, Fraction(1)), Assumption("y", 1, None, "left out"))
    )
    found = replace(judged([policy("a", [1, 2])]), facts={"d0": one, "d1": two})
    basis = sum_assumptions(found)
    assert (basis.jobs, basis.hours) == (5, 10)
    assert [(each.text, each.jobs, each.hours) for each in basis.lines] == [("left out: y", 1, None), ("x", 3, 4)]
    assert read_facts(json.loads(json.dumps(two.document())), "store", "facts") == two


@pytest.mark.parametrize(
    "document", [None, [], {}, {"kind": "", "jobs": -1, "listed_bids": False, "assumptions": []},
                 {"kind": "", "jobs": 1, "listed_bids": False, "assumptions": [["x", 1]]},
                 {"kind": "", "jobs": 1, "listed_bids": False, "assumptions": [], "busiest": "1/0"}],
)  # fmt: skip
def test_facts_that_a_run_does_not_write_are_refused(document: Any) -> None:
    with pytest.raises(InputError, match="store"):
        read_facts(document, "store", "facts")


# 5. Ties.


def tied(**facts: Any) -> list[str]:
    """The answer about two policies that are as good as each other."""
    found = judged(
        [policy("a", [100, 101, 99, 100], share=(Fraction(1), Fraction(1))), policy("b", [100, 100, 99, 101])]
    )
    return advise(replace(found, facts={day: DayFacts(**facts) for day in found.days}, load=0.3), LORA)


def test_days_on_which_nothing_is_contended_say_so() -> None:
    [why] = [
        each for each in tied(busiest=Fraction(3, 5), contended=Fraction(12, 5)) if each.startswith("Why they tie")
    ]
    assert "at load 0.30 no job has to wait" in why
    assert "No slot asks for more than 60.0 % of the cluster" in why
    assert "At 2.4 times this load" in why
    assert "--what-if load=2.4" in why


def test_a_policy_that_has_all_of_opt_cannot_be_beaten() -> None:
    """Though some slot asks for more than there is."""
    [why] = [each for each in tied(busiest=Fraction(2), contended=Fraction(3)) if each.startswith("Why they tie")]
    assert "little is contended. a has 100 % of OPT" in why


def test_the_answer_tells_of_a_policy_as_good_that_lets_jobs_wait_less() -> None:
    """By five minutes and to half the time at least."""
    waits = {"wait_mean_s": Fraction(7200), "met_share": Fraction(1, 2)}
    for seconds, is_told in ((60, True), (3600, True), (3601, False), (7000, False)):
        less = {"wait_mean_s": Fraction(seconds), "met_share": Fraction(3, 4)}
        found = judged([policy("a", [100, 101], measures=waits), policy("b", [100, 100], measures=less)])
        told = [each for each in advise(found, LORA) if each.startswith("Of the policies within 2 % of a b has")]
        assert len(told) == is_told
        assert not is_told or told[0].endswith("min and not 120.0, and 75.0 % of the jobs in time.")
    none = {"wait_mean_s": Fraction(0)}
    short = [policy("a", [9, 9], measures={"wait_mean_s": Fraction(299)}), policy("b", [9, 8], measures=none)]
    assert not any("shortest mean wait" in each for each in advise(judged(short), LORA))
    worse = [policy("a", [100, 100], measures=waits), policy("b", [40, 101], measures=none)]
    assert not any("shortest mean wait" in each for each in advise(judged(worse), LORA))


def test_days_that_differ_say_how_many_would_do() -> None:
    """The number after which the same lead leaves 0 out of its interval, by hand."""
    values = [policy("a", [110, 90, 120, 104], share=(Fraction(1, 2), Fraction(1))), policy("b", [100, 100, 100, 100])]
    found = judged(values)
    facts = DayFacts(busiest=Fraction(2), contended=Fraction(1, 2))
    found = replace(found, facts=dict.fromkeys(found.days, facts), load=1.0)
    [why] = [each for each in advise(found, LORA) if each.startswith("Why they tie")]
    count = int(why.partition("about ")[2].split()[0])

    def apart(days: int) -> bool:
        # The same mean (6) and the same spread: samples of the four differences, as many as there are days.
        mean, spread = 6.0, (sum((each - 6) ** 2 for each in (10, -10, 20, 4)) / 3) ** 0.5
        from ratiobench.bench.results.intervals import quantile

        return quantile(days - 1, 1 - 0.025) * spread / days**0.5 < mean

    assert apart(count)
    assert not apart(count - 1)


def test_how_much_is_asked_for_follows_from_the_jobs(inside: Path) -> None:
    """Twice the jobs ask for twice as much, and need half the factor."""
    day = days()[0]
    one, two = day_facts(day), day_facts(apply_change(day, "load=2"))
    assert one.busiest is not None
    assert one.contended is not None
    assert two.busiest == 2 * one.busiest
    assert two.contended is not None
    assert abs(two.contended - one.contended / 2) <= Fraction(1, 10)


# 6. What if.


def test_a_node_more_is_worth_what_the_intervals_say(inside: Path) -> None:
    """By OPT of the changed days, solved here: the interval holds the true value."""
    found = evaluated()
    assert [each.change for each in found.what_ifs] == ["nodes.fast=+1", "nodes.slow=+1", "load=2"]
    before = [solve(day) for day in days()]
    for what_if in found.what_ifs[:2]:
        assert what_if.gain is not None
        low, high = what_if.gain
        assert 0 <= low <= high
        after = [solve(apply_change(day, what_if.change)) for day in days()]
        ends = list(zip(before, after, strict=True))
        assert low <= sum(two.upper - one.lower for one, two in ends)
        assert high >= sum(two.lower - one.upper for one, two in ends)
        assert what_if.bound == sum(two.upper - one.upper for one, two in ends)
    page = Path("out/backtest.html").read_text()
    [line] = [each for each in advise(found, LORA) if each.startswith("What if nodes.fast=+1: OPT gains")]
    assert "Its proved bound gains $" in line
    assert "nodes.fast=+1" in page
    assert "adds to OPT at least" in page


def test_the_interval_of_a_change_uses_that_more_is_never_worse() -> None:
    """OPT without the node is no larger than the bound with it."""
    base = judged([policy("a", [10, 20])])
    base = replace(base, opt={"d0": (Fraction(10), Fraction(30)), "d1": (Fraction(20), Fraction(20))})
    from ratiobench.bench.report.backtest.data import _gain

    more = replace(
        base, opt={"d0 nodes.n=+1": (Fraction(12), Fraction(20)), "d1 nodes.n=+1": (Fraction(25), Fraction(26))}
    )
    assert _gain(base, more, "nodes.n=+1", LORA) == (0 + 5, 10 + 6)
    less = replace(
        base, opt={"d0 nodes.n=-1": (Fraction(12), Fraction(20)), "d1 nodes.n=-1": (Fraction(15), Fraction(26))}
    )
    assert _gain(base, less, "nodes.n=-1", LORA) == (-18 - 5, 0)
    other = replace(base, opt={"d0 load=2": (Fraction(12), Fraction(20)), "d1 load=2": (Fraction(15), Fraction(26))})
    assert _gain(base, other, "load=2", LORA) == (-18 - 5, 10 + 6)
    assert _gain(base, replace(other, opt={}), "load=2", LORA) is None


def test_changes_of_an_instance(inside: Path) -> None:
    """Nodes, and copies of its jobs; the instance itself stays what it was."""
    day = days()[0]
    before = content_hash(day)
    assert list_changes(day, "nodes=+2") == ["nodes.fast=+2", "nodes.slow=+2"]
    assert [kind.count for kind in apply_change(day, "nodes.slow=-1").node_types] == [2, 0]
    double, half = apply_change(day, "load=1.5"), apply_change(day, "load=0.5")
    assert (day.tasks, double.tasks, half.tasks) == (9, 14, 4)
    assert double.arrival.tolist() == sorted(double.arrival.tolist())
    assert set(double.labels) == set(range(14))
    assert content_hash(day) == before
    assert apply_change(day, "limits=true").limit.tolist() == [0] * 9
    flat = apply_change(day, "bids=flat")
    assert len({round(bid / work, 4) for bid, work in zip(flat.bid.tolist(), flat.work.tolist(), strict=True)}) == 1
    assert 0 <= int(day.bid.sum()) - int(flat.bid.sum()) < 9
    assert set(apply_change(day, "gangs=out").parts.tolist()) == {1}
    assert set(apply_change(day, "run=any").run.tolist()) == {0, 3}
    for wrong in ("nodes.fst=+1", "nodes.slow=-2", "load=0", "load=101", "node=+1", "nodes.slow=1", ""):
        with pytest.raises(InputError):
            apply_change(day, wrong)


def test_what_assumptions_are_worth(inside: Path, tmp_path: Path) -> None:
    """The ranking once more with true lengths, without gangs, and with jobs that may pause and move."""
    words = ["backtest", "days", *QUICK, "-a", "greedy,queue", "--out", str(tmp_path / "out"), "--what-if"]
    assert main([*words, "limits=true,gangs=out,run=any"]) == 0
    found = evaluated(str(tmp_path / "out"))
    gains = {each.change: each.gain for each in found.what_ifs}
    assert gains["limits=true"] == (0, 0)
    assert gains["gangs=out"] is not None
    assert gains["gangs=out"][1] < 0
    assert gains["run=any"] is not None
    assert 0 <= gains["run=any"][0] <= gains["run=any"][1]
    [line] = [each for each in advise(found, LORA) if each.startswith("What if limits=true")]
    assert "OPT stays the same. Under" in line
    assert "the best policy." in line


def test_history_is_changed_alike(inside: Path, tmp_path: Path) -> None:
    """A policy that learns, or needs constants, has them from days that are changed as the day itself."""
    words = ["import", "log.sacct", "--format", "sacct", "--cluster", "cluster.toml", "--slot", "30m", "--run", "any"]
    assert main([*words, "--out", str(tmp_path / "days")]) == 0
    given = sorted((tmp_path / "days").glob("log-*"))
    (tmp_path / "double").mkdir()
    for path in given:
        (tmp_path / "double" / path.name).write_bytes(dumps(apply_change(read(str(path)), "load=2")).encode())
    play = ["-a", "learned,pdftsp,bbar-rule", "--history", "2", *QUICK]
    assert main(["backtest", str(tmp_path / "days"), *play, "--what-if", "load=2", "--out", str(tmp_path / "a")]) == 0
    assert main(["backtest", str(tmp_path / "double"), *play, "--out", str(tmp_path / "b")]) == 0
    [what_if], double = evaluated(str(tmp_path / "a")).what_ifs, evaluated(str(tmp_path / "b"))
    assert [each.name for each in what_if.found.policies] == [each.name for each in double.policies]
    for one, two in zip(what_if.found.policies, double.policies, strict=True):
        assert {day.removesuffix(" load=2"): value for day, value in one.values.items()} == two.values


def test_a_change_that_cannot_be_is_one_line(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["backtest", "days", *QUICK, "--what-if", "nodes.fst=+1", "--out", "never"]) == 2
    told = capsys.readouterr().err
    assert "did you mean 'fast'" in told
    assert told.count("\n") == 1
    assert not Path("never").exists()


def test_a_notebook_has_the_same_options(inside: Path, tmp_path: Path) -> None:
    found = ratiobench.backtest(
        "days", ["greedy", "queue"], tmp_path / "out", by="met", what_if=["nodes.slow=+1"], workers=1
    )
    assert any(each.startswith("What if nodes.slow=+1: OPT gains") for each in found.advice)
    assert any(each.startswith("Ranked by share of jobs in time") for each in found.advice)


def test_whoever_lacks_the_measure_is_not_ranked_by_it() -> None:
    found = judged([policy("a", [1, 2], scores={})])
    found = replace(found, best="", differences=[], criterion=CRITERIA["wait"])
    assert advise(found, LORA)[0] == "No policy has a mean wait on every day, so none can be recommended by it."
    assert compare(policy("b", [3, 4]).ranked, policy("a", [1, 2]), LORA.sense, 2, "b").ahead == 2
