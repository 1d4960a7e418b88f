"""The import as a whole: one month in every format, merged logs, the window, names, clocks, the report, the file."""

import itertools
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest

from ratiobench import imported
from ratiobench.instances.arrays import IntArray
from ratiobench.instances.cluster.format import document, read
from ratiobench.instances.cluster.generate import generate
from ratiobench.instances.cluster.logs import ClusterFile, LogPool, Report, import_logs
from ratiobench.instances.cluster.model import Instance, Partition, Quota
from ratiobench.instances.io.errors import InputError
from ratiobench.online.cluster.replay import replay
from tests.instances.cluster.log_files import cluster_of, rows_of, sacct
from tests.support.cluster_rules import make_rule
from tests.support.documents import refusal_of

EPOCH = 1_772_323_200  # 2026-03-01T00:00:00Z
HOUR = 3600


@cache
def month() -> tuple[Instance, IntArray]:
    """Some days of a generated month, and its starts under EASY."""
    x = generate("import", days=4, load=95, most=700, pools=(("a100", 12, 8), ("v100", 8, 4)))
    return x, replay(x, make_rule("easy")).schedule.start


def columns(x: Instance, labels: bool = True) -> list[tuple[object, ...]]:
    """The jobs, names in place of numbers, in order of submit and name; without labels for logs that have none."""
    jobs, names = x.jobs, [f"{name.rpartition('/')[2]:>6}" for name in x.jobs.ids]
    table = [jobs.submit - EPOCH, jobs.release - EPOCH, jobs.logged - EPOCH, jobs.run, jobs.limit, jobs.width]
    rows = list(zip(*(column.tolist() for column in table), strict=True))
    extra: list[tuple[object, ...]] = [
        (int(jobs.nodes[j]), *jobs.allowed[j].tolist(), x.users[jobs.user[j]], x.partitions[jobs.partition[j]].name)
        for j in range(len(jobs) if labels else 0)
    ]
    return sorted((name, *row, *more) for name, row, more in itertools.zip_longest(names, rows, extra, fillvalue=()))


def lines(*rows: str, head: str = "JobID|Submit|Start|End|State|ReqTRES|Timelimit|User|Account|Partition") -> str:
    """A log of sacct in seconds; rows of id, submit, wait, run, state and GPUs."""
    table = [head]
    for row in rows:
        name, submit, wait, run, state, gpus = row.split()
        start = int(submit) + int(wait)
        end = "Unknown" if run == "-" else str(start + int(run))
        table.append(f"{name}|{submit}|{start}|{end}|{state}|gres/gpu={gpus},node=1|01:00:00|u{name}|a|gpu")
    return "\n".join(table) + "\n"


NODES = ClusterFile(pools=[LogPool("p", 1, 8)])


def load(folder: Path, *texts: str, cluster: ClusterFile = NODES, skip_bad: bool = False) -> tuple[Instance, Report]:
    paths = [folder / f"{i}.log" for i in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, errors="surrogateescape")
    return import_logs([str(path) for path in paths], cluster, skip_bad=skip_bad)


def test_a_log_of_days_is_one_log_without_bids(tmp_path: Path) -> None:
    """A wait over midnight is whole, a day without a job that counts removes nothing; nothing tells run times."""
    x, report = load(
        tmp_path,
        lines("1 86000 0 900 COMPLETED 8", "2 86300 600 60 COMPLETED 8", "3 180000 0 60 COMPLETED 0")
        + lines("4 260000 100 60 COMPLETED 8").splitlines()[1]
        + "\n",
    )
    assert report.waits is not None
    assert (x.jobs.ids, report.waits.total.tolist()) == (("1", "2", "4"), [0, 600, 100])
    assert report.left_out == {"without a GPU": (1, 0)}
    names = {"id", "submit", "run", "limit", "nodes", "gpus", "pools", "account", "user", "partition", "logged"}
    assert set(document(x)["jobs"]) == names


def test_the_guides_command_writes_what_is_read(tmp_path: Path) -> None:
    """A day from which and one up to which, times as seconds, and columns that the reader knows."""
    guide = (Path(__file__).parents[3] / "docs" / "guide" / "logs.md").read_text("utf-8")
    command = next(line for line in guide.splitlines() if "SLURM_TIME_FORMAT=%s sacct" in line)
    assert " -S DAY -E DAY " in command
    head = command.partition("--format=")[2].partition("`")[0].replace(",", "|")
    fields = "7|100|110|130|180|00:00:50|COMPLETED|gres/gpu=4|gres/gpu=4|2|01:00:00|u|a|p|q"
    x, report = load(tmp_path, f"{head}\n{fields}\n", cluster=ClusterFile(pools=[LogPool("p", 2, 8)]))
    columns = (x.jobs.submit, x.jobs.release, x.jobs.logged, x.jobs.run, x.jobs.limit, x.jobs.nodes, x.jobs.gpus)
    assert [int(column[0]) for column in columns] == [100, 110, 130, 50, 3600, 2, 2]
    assert (x.users, x.accounts, x.partitions[0].name, x.qos) == (("u",), ("a",), "p", ("q",))
    assert not any("zone" in remark for remark in +report.remarks)


def test_several_logs_and_the_same_job_twice(tmp_path: Path) -> None:
    """The same id and submit counts once, as the run that ended; an id that is used again is another job."""
    x, report = load(
        tmp_path,
        lines("1 100 0 50 COMPLETED 1", "2 110 5 - RUNNING 2", "3 120 0 9 COMPLETED 1", "3 120 0 9 COMPLETED 1"),
        lines(
            "2 110 5 60 COMPLETED 2", "1 100 0 50 COMPLETED 1", "1 500 0 0 COMPLETED 1", f"{'7' * 200} 600 0 1 DONE 1"
        ),
        lines(f"{'7' * 200} 700 0 2 DONE 1"),
    )
    assert (x.jobs.ids[:5], x.jobs.run.tolist()) == (("1", "2", "3", "1#2", "7" * 200), [50, 60, 9, 1, 1, 2])
    assert x.jobs.ids[5] == "7" * 190 + "#2"
    assert (report.read, report.jobs, report.twice, report.left_out) == (6, 6, 3, {})
    assert "3 lines repeat the JobID and submit of another one" in str(report)


def test_pieces_of_requeued_jobs_are_left_out_and_hold_their_gpus(tmp_path: Path) -> None:
    """By their state, or because Slurm started the job again at their end; the last run is the job."""
    _, report = load(
        tmp_path,
        lines(
            "1 100 0 50 REQUEUED 8",
            "1 100 70 10 COMPLETED 8",
            "2 200 0 50 NODE_FAIL 4",
            "2 251 0 10 COMPLETED 4",
            "3 300 0 50 NODE_FAIL 4",
            "4 100 50 5 COMPLETED 8",
        ),
    )
    assert report.left_out == {"requeued: part of a run": (2, 8 * 50 + 4 * 50)}
    assert (report.jobs, report.twice) == (4, 0)
    assert report.waits is not None
    assert report.waits.blocked[:2].tolist() == [50 + 5, 50]  # job 1 waited for its own piece, then for job 4


def test_the_window_and_what_runs_and_waits_at_its_beginning(tmp_path: Path) -> None:
    """Jobs before and behind it are left out; those that run then are placed in order of start."""
    cluster = ClusterFile(pools=[LogPool("p", 2, 8)], begin=1000, end=2000)
    x, report = load(
        tmp_path,
        lines(
            "1 100 0 50 COMPLETED 1",
            "2 900 50 100 COMPLETED 8",
            "3 910 0 500 COMPLETED 6",
            "4 920 0 90 COMPLETED 4",
            "5 930 170 60 COMPLETED 2",
            "6 940 160 - RUNNING 2",
            "7 1500 0 10 COMPLETED 8",
            "8 2000 0 10 COMPLETED 8",
        ),
        cluster=cluster,
    )
    assert (x.begin, x.jobs.ids, x.jobs.release.tolist()) == (1000, ("5", "7"), [1000, 1500])
    assert (x.running.start.tolist(), x.running.end.tolist()) == ([910, 920], [1410, 1010])
    assert (x.running.nodes.tolist(), x.running.node.tolist()) == ([1, 1], [0, 1])
    assert (report.running, report.waiting) == (2, 1)
    assert report.left_out == {
        "outside the window": (2, 50 + 80),
        "runs at the beginning, but not all of them fit on the nodes": (1, 8 * 100),
        "without an end": (1, 0),
    }
    assert report.window == (1000, 2000)
    assert report.load == 80 / (16 * 1000)
    assert "(GPU-seconds asked for by jobs submitted in the window / its capacity)" in str(report)
    assert report.utilisation == (8 * 50 + 6 * 410 + 4 * 10 + 2 * 60 + 2 * 900 + 8 * 10) / (16 * 1000)
    assert report.waits is not None
    assert (report.waits.blocked.tolist(), report.waits.overfull) == ([10, 0], 10)  # 18 GPUs are in use until 1010


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"partitions": [{"name": "cpu", "pools": ["p"]}]}, "0.log: line 2 partition: 'gpu' is not one of cpu"),
        ({"partitions": [{"name": "gpu", "pools": ["q"]}]}, "c.toml: partitions[0].pools[0]: 'q' is not one of p"),
        ({"priority": {"shares": {"b": 2}}}, "c.toml: priority.shares.b: 'b' is not one of a"),
        ({"priority": {"qos_priority": {"high": 2}}}, "c.toml: priority.qos_priority.high: 'high' is not"),
        ({"quotas": [{"account": "b", "nominal": [8]}]}, "c.toml: quotas[0].account: 'b' is not one of a"),
        ({"quotas": [{"account": "a", "nominal": [8, 8]}]}, "c.toml: quotas[0].nominal: 2 entries; 1 needed"),
        ({"pools": [{"name": "p", "nodes": 1, "gpu": 8}]}, "c.toml: pools[0].gpu: unknown key; known"),
        ({"zone": "Berlin"}, "c.toml: zone: 'Berlin' is no time zone such as Europe/Berlin"),
    ],
)
def test_a_name_that_matches_nothing_is_refused(given: dict[str, object], message: str, tmp_path: Path) -> None:
    (tmp_path / "0.log").write_text(lines("1 100 0 50 COMPLETED 1"))
    cluster = {"pools": [{"name": "p", "nodes": 1, "gpus": 8}]} | given
    (tmp_path / "c.toml").write_text(_toml(cluster))
    told = refusal_of(imported, [str(tmp_path / "0.log")], cluster=tmp_path / "c.toml", out=tmp_path / "out.json")
    assert told.startswith(f"{tmp_path}/{message}")
    assert not (tmp_path / "out.json").exists()


def _toml(table: dict[str, object]) -> str:
    def text(value: object) -> str:
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key} = {text(inside)}" for key, inside in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(map(text, value)) + "]"
        return f'"{value}"' if isinstance(value, str) else str(value)

    return "".join(f"{key} = {text(value)}\n" for key, value in table.items())


def test_a_type_of_gpu_that_no_pool_has_is_refused(tmp_path: Path) -> None:
    """`types` of a pool names what the log calls its GPUs."""
    text = lines("1 100 0 50 COMPLETED 1").replace("gres/gpu=1", "gres/gpu:H100=1")
    with pytest.raises(InputError, match=r"line 2 type: 'h100' is not one of p, the names in the cluster file"):
        load(tmp_path, text)
    x, _ = load(tmp_path, text, cluster=ClusterFile(pools=[LogPool("q", 1, 8), LogPool("p", 1, 8, types=["h100"])]))
    assert x.jobs.allowed.tolist() == [[False, True]]


def test_lines_that_cannot_be_read_are_skipped_and_counted(tmp_path: Path) -> None:
    good, bad = lines("1 100 0 50 COMPLETED 1"), lines("2 100 0 50 COMPLETED 1").replace("u2", "u\udce4")
    text = good + bad.splitlines()[1] + "\n"
    with pytest.raises(InputError, match=r"0.log: line 3: holds bytes that are not UTF-8"):
        load(tmp_path, text)
    x, report = load(tmp_path, text, skip_bad=True)
    assert (len(x.jobs), len(report.bad)) == (1, 1)
    assert "1 lines could not be read" in str(report)


def test_local_times_are_read_in_their_zone_and_clock_changes_are_told(tmp_path: Path) -> None:
    """From 2026-03-28 to 30 in Berlin; Elapsed counts for a job that runs over the change."""
    x, starts = month()
    epoch, zone = EPOCH + 27 * 24 * HOUR, ZoneInfo("Europe/Berlin")
    rows = list(rows_of(x, starts, epoch))
    local, report = load(tmp_path, sacct(iter(rows), zone), cluster=cluster_of(x, zone="Europe/Berlin"))
    same, told = load(tmp_path, sacct(iter(rows)), cluster=cluster_of(x))
    assert columns(local) == columns(same)
    assert "times without a zone, which are read as UTC" in str(told)
    assert "the clocks change" not in str(report)  # forward: no hour is there twice


def test_a_night_in_which_clocks_go_back(tmp_path: Path) -> None:
    """Without a zone the hour is missing between start and end; Elapsed counts, and it is told."""
    head = "JobID|Submit|Start|End|Elapsed|State|AllocTRES|Timelimit\n"
    text = head + (
        "61|2026-10-24T20:00:00|2026-10-24T23:30:00|2026-10-25T04:30:00|06:00:00|COMPLETED|gres/gpu=8|06:00:00\n"
        "62|2026-10-25T01:00:00|2026-10-25T02:50:00|2026-10-25T02:10:00|00:20:00|COMPLETED|gres/gpu=8|06:00:00\n"
        "63|2026-10-25T05:00:00|2026-10-25T05:10:00|2026-10-25T06:10:00|01:00:00|COMPLETED|gres/gpu=8|06:00:00\n"
    )
    x, report = load(tmp_path, text)
    assert x.jobs.run.tolist() == [6 * HOUR, 1200, HOUR]
    assert "2 jobs whose Elapsed is not End - Start (a clock change, a suspension): Elapsed counts" in str(report)
    _, local = load(tmp_path, text, cluster=msgspec.structs.replace(NODES, zone="Europe/Berlin"))
    assert "the clocks change: the hour that is there twice" in str(local)


def test_pools_by_constraint_and_jobs_that_bounds_never_let_start(tmp_path: Path) -> None:
    """A feature that names a type counts, others do not; what no bound or quota allows is left out, not an error."""
    pools, names = [LogPool("a", 1, 8, types=["a100"]), LogPool("h", 1, 8), LogPool("v", 1, 8)], ["a", "h", "v"]
    head = "JobID|Submit|Start|End|State|ReqTRES|Constraints|Account|Partition|Timelimit\n"
    rows = [(1, "A100&ib", 1, "x", "p"), (2, "[a100|h]*2", 1, "x", "p"), (3, "ib", 1, "x", "p")]
    rows += [(4, "", 5, "x", "p"), (5, "", 4, "x", "p"), (6, "", 3, "y", "p")]
    lines_ = [
        f"{i}|{100 * i}|{100 * i}|{100 * i + 50}|COMPLETED|gres/gpu={gpus}|{features.replace('|', ',')}|{a}|{p}|10:00"
        for i, features, gpus, a, p in rows
    ]
    parts = [Partition("p", names, user_gpus=4)]
    quotas = [Quota("x", [1, 3, 1], "c"), Quota("z", [0, 1, 0], "c"), Quota("y", [2, 1, 2])]
    cluster = ClusterFile(pools=pools, partitions=parts, quotas=quotas)
    last = "9|900|900|900|CANCELLED|gres/gpu=1||z|gone|10:00\n"
    x, report = load(tmp_path, head + "\n".join(lines_) + "\n" + last, cluster=cluster)
    assert x.jobs.ids == ("1", "2", "3", "5")
    assert x.jobs.allowed.tolist() == [[True, False, False], [True, True, False], [True] * 3, [True] * 3]
    assert report.left_out["is wider than a bound of its partition or the quotas of its account"] == (2, 250 + 150)
    assert (x.accounts, [part.name for part in x.partitions]) == (("x", "y", "z"), ["p"])


def test_where_a_job_ran_counts_for_waits_and_ties_no_job_to_a_type(tmp_path: Path) -> None:
    """AllocTRES beside ReqTRES: the first job may use both pools, ran on the a100s, and blocks who needs these."""
    pools = [LogPool("a100", 1, 8), LogPool("v100", 1, 8)]
    head = "JobID|Submit|Start|End|State|ReqTRES|AllocTRES|Timelimit\n"
    one = "1|100|100|300|COMPLETED|gres/gpu=8|gres/gpu:a100=8,gres/gpu=8|10:00\n"
    two = "2|150|300|400|COMPLETED|gres/gpu:a100=8,gres/gpu=8|gres/gpu:a100=8,gres/gpu=8|10:00\n"
    for first, seconds in ((one, 150), (one.replace("gres/gpu:a100=8,", "", 1), 0)):
        x, report = load(tmp_path, head + first + two, cluster=ClusterFile(pools=pools))
        assert x.jobs.allowed.tolist() == [[True, True], [True, False]]
        assert report.waits is not None
        assert report.waits.blocked.tolist() == [0, seconds]


def test_what_the_report_says_of_jobs(tmp_path: Path) -> None:
    """Jobs without limit, with uneven GPUs, late or early starts, too large or too long ones."""
    head = "JobID|Submit|Start|End|State|ReqTRES|Eligible|Timelimit\n"
    rows = (
        "1|100|150|160|COMPLETED|gres/gpu=3,node=2|140|\n2|100|90|200|COMPLETED|gres/gpu=1|100|10:00\n"
        "3|200|200|300|COMPLETED|gres/gpu=99|200|10:00\n4|100|100|100000000000|COMPLETED|gres/gpu=1|100|10:00\n"
        "5|100|100|200000000|COMPLETED|gres/gpu=1|100|10:00\n6|300|300|310|COMPLETED|gres/gpu=1|300|10:00\n"
    )
    with pytest.raises(InputError, match="line 5 End: '100000000000' is neither"):
        load(tmp_path, head + rows, cluster=ClusterFile(pools=[LogPool("p", 2, 8)]))
    x, report = load(tmp_path, head + rows, cluster=ClusterFile(pools=[LogPool("p", 2, 8)]), skip_bad=True)
    assert (x.jobs.ids, x.jobs.release.tolist(), x.jobs.logged.tolist()) == (
        ("1", "2", "6"),
        [140, 100, 300],
        [150, 100, 300],
    )
    assert (x.jobs.nodes.tolist(), x.jobs.gpus.tolist(), x.jobs.run.tolist()) == ([2, 1, 1], [2, 1, 1], [10, 110, 10])
    assert report.left_out == {
        "fits no pool that it may use": (1, 9900),
        "asks for more GPU-seconds than an instance can hold": (1, 199_999_900),
    }
    told = str(report)
    assert "1 jobs without a time limit" in told
    assert "1 jobs ask for GPUs that their nodes do not divide" in told
    assert "1 jobs could not start at submit" in told
    assert "1 jobs start before their submit" in told
    assert "imported 3 of 5 jobs" in told
    assert report.waits is not None
    assert report.waits.ineligible.tolist() == [40, 0, 0]


def test_the_file_that_an_import_writes(tmp_path: Path) -> None:
    """Its origin has the figures of the report; a file that is there is not touched; a dry run writes nothing."""
    (tmp_path / "log.txt").write_text(lines("1 100 0 50 COMPLETED 8", "2 110 40 5 COMPLETED 8"))
    (tmp_path / "c.toml").write_text('[[pools]]\nname = "p"\nnodes = 1\ngpus = 8\n')
    paths, cluster, out = [str(tmp_path / "log.txt")], str(tmp_path / "c.toml"), tmp_path / "march.json.gz"
    made = imported(paths, cluster=cluster, out=out)
    x, report = made.instance, made.report
    again = read(out)
    assert (again.name, again.jobs.ids, again.origin["log"]) == ("march", ("1", "2"), x.origin["log"])
    assert again.origin["log"]["waits"]["blocked"] == 20.0
    assert [(name, row["jobs"], row["wait"]) for name, row in report.tables["width"].items()] == [("5 to 8", 2, 20.0)]
    before = out.read_bytes()
    with pytest.raises(InputError, match="is there already"):
        imported(paths, cluster=cluster, out=out)
    assert out.read_bytes() == before
    imported(paths, cluster=cluster)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.toml", "log.txt", "march.json.gz"]


def test_an_empty_log_says_why(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no job that can be replayed; left out: 1 jobs: without a GPU"):
        load(tmp_path, lines("1 100 0 50 COMPLETED 0"))
    with pytest.raises(InputError, match="--format: 'xls' is not one of swf"):
        import_logs(["a"], NODES, form="xls")


def test_a_window_without_jobs_is_refused(tmp_path: Path) -> None:
    """One that ends before it begins, and one behind the log; the end of the window counts for load."""
    (tmp_path / "log.txt").write_text(lines("1 100 0 50 COMPLETED 8"))
    text = '[[pools]]\nname = "p"\nnodes = 1\ngpus = 8\n'
    for window, problem in (
        ("begin = 50\nend = 40\n", "end: 40 is not after begin = 50"),
        ("begin = 900\n", "begin: none"),
    ):
        (tmp_path / "c.toml").write_text(window + text)
        with pytest.raises(InputError, match=problem):
            imported([str(tmp_path / "log.txt")], cluster=tmp_path / "c.toml", out=tmp_path / "out.json")
    assert not (tmp_path / "out.json").exists()
    (tmp_path / "c.toml").write_text("begin = 50\nend = 250\n" + text)
    _, report = import_logs([str(tmp_path / "log.txt")], str(tmp_path / "c.toml"))
    assert (report.window, report.load, report.utilisation) == ((50, 250), 0.25, 0.25)
