"""Mutants of traces' files, counts, suites' files and recipes: each is read after all, or refused in one clear line.

`python -m tests.tools.mutations [--count 2000] [--seed 15]` makes them, in one process, and says of each that is not as
it should be what came of it. What must hold: exit status 0 or 2; of 2 one line on the error stream, of bounded length,
that names the file or the recipe, and nothing written.
"""

import argparse
import contextlib
import gzip
import io
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ratiobench.bench.cli import main as command

LONGEST = 1700  # Characters of a line of error
PATIENCE = 20  # Seconds after which a mutant is left aside: it is valid, and large

PHILLY = """timestamp,num_gpus,duration
2017-10-09 08:00:00,1,3600
2017-10-09 09:00:00,4,60
2017-10-10 10:00:00,2,7200
"""
PHILLY_JSON = """[{"jobid": "a", "status": "Pass", "submitted_time": "2017-10-09 08:00:00", "attempts": [{"start_time":
"2017-10-09 08:05:00", "end_time": "2017-10-09 09:05:00", "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}]}]},
{"jobid": "b", "submitted_time": "2017-10-10 08:00:00", "attempts": []}]
"""
PAI = """j1,worker,2,Terminated,5100000.0,5103600.0,600.0,29.3,50.0,V100
j2,ps,1,Failed,5100000.0,,600.0,29.3,100.0,T4
j3,worker,1,Terminated,5200000.0,5200060.5,100.0,1.0,100.0,
"""
HELIOS = """job_id,user,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
1,u1,2,8,1,COMPLETED,2020-04-20 00:00:10,2020-04-20 00:01:00,2020-04-20 01:01:00,3600,0
2,u2,0,8,1,COMPLETED,2020-04-20 00:02:00,2020-04-20 00:02:01,2020-04-20 00:02:31,30,1
3,u1,8,64,1,CANCELLED,2020-04-21 10:00:10,2020-04-21 10:01:00,2020-04-21 20:01:00,36000,0
"""
COUNTS = "slot,count\n1,2\n3,1\n5,4\n"
SUITE = """name = "mine"
algorithms = ["greedy", "pdftsp:prior=yesterday"]
effort = 2
groups = { "nodes 1" = "small", "nodes 2" = "large" }

[[instance]]
recipe = "day"
trace = "philly"
tasks = 4
nodes = [1, 2]
slots = 12
start = 60
prior.day = 2017-10-09
runs = 2

[[plot]]
name = "shares"
kind = "reached"
groups = ["nodes 1"]
[[plot.printed]]
group = "nodes 1"
algorithm = "greedy"
than = "pdftsp:prior=yesterday"
percent = "3.5"
"""
RECIPES = (
    "day:trace=philly,tasks=5,nodes=1,slots=6,start=60,seed=1",
    "lead:L=3,n=2",
    "paper:nodes.a40=1,tasks=3,slots=4",
    "users:users=3,matrix.method=range",
    "named:instance=tiny_vendors",
)
LOGS = {"philly": (PHILLY, PHILLY_JSON), "pai": (PAI,), "helios": (HELIOS,), "counts": (COUNTS,)}
DAYS = {"philly": "2017-10-09", "pai": "1970-03-01", "helios": "2020-04-20"}
ODD = (
    "", "-1", "0", "1e400", "nan", "inf", "9" * 30, "-0", "0x10", "1_000", "１", "\x1b[2J", "é", '"', "Unknown",
    "2026-02-30", "2026-03-01T25:00:00", "9999-12-31 23:59:59", "true", "null", "[", "{}", "1;5", "x" * 3000,
    "100000000000", "99999999999", "0.0000000001", "1e-300", " ", "\x00", "{run}", "2017-10-09",
)  # fmt: skip
TOML = "= "  # What stands before a value
_PIECES = (
    "=",
    ",",
    ":",
    "\n",
    '"',
    "[",
    "]",
    "{run}",
    "{",
    "-",
    "|",
    "9" * 30,
    "1e400",
    "nan",
    "\x1b[2J",
    "é",
    "\ud83d",
)


def mutate(text: str, draw: random.Random) -> str:
    """The text with one to three small accidents at characters."""
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(text) + 1)
        to = min(len(text), at + draw.randint(1, 6))
        cut, other = text[at:to], text[draw.randrange(len(text)) :][: draw.randint(1, 8)] if text else ""
        text = text[:at] + draw.choice(["", cut[::-1], draw.choice(_PIECES) + cut, other]) + text[to:]
    return text


def _mutate_field(text: str, draw: random.Random, mark: str) -> str:
    """The text with an odd value in one of its fields, which stand between marks, or a line lost or twice."""
    lines = text.split("\n")
    at = draw.randrange(max(1, len(lines) - 1))
    match draw.randrange(6):
        case 0:
            del lines[at]
        case 1:
            lines.insert(draw.randrange(len(lines)), lines[at])
        case _:
            fields = lines[at].split(mark)
            value = draw.choice(ODD)
            if mark == TOML:
                fields[-1] = draw.choice([value, f'"{value}"'])
            else:
                fields[draw.randrange(len(fields))] = value
            lines[at] = mark.join(fields)
    return "\n".join(lines)


def _mutate_bytes(data: bytes, draw: random.Random) -> bytes:
    """A byte that is no text, or a packed file cut off."""
    at = draw.randrange(len(data) + 1)
    if draw.random() < 0.5:
        return data[:at] + draw.choice([b"\xff", b"\x00", b"\xef\xbb\xbf", b"\r"]) + data[at:]
    packed = gzip.compress(data, mtime=0)
    return packed[: draw.randrange(2, len(packed) + 1)]


def _mutant(text: str, draw: random.Random, mark: str) -> bytes:
    kind = draw.random()
    if kind < 0.45:
        return mutate(text, draw).encode(errors="surrogatepass")
    changed = _mutate_field(text, draw, mark).encode()
    return changed if kind < 0.92 else _mutate_bytes(text.encode(), draw)


@dataclass(frozen=True, slots=True)
class Mutant:
    kind: str
    files: dict[str, bytes]  # by their names, as bytes
    words: list[str]  # of the command
    named: tuple[str, ...]  # one of these stands in a line of error


def make_mutants(count: int, seed: int) -> Iterator[Mutant]:
    """So many mutants, of all kinds in turn."""
    draw = random.Random(seed)
    makers: list[Callable[[random.Random], Mutant]] = [
        *(lambda draw, form=form: _log(form, draw) for form in LOGS), _suite, _recipe,
    ]  # fmt: skip
    for number in range(count):
        yield makers[number % len(makers)](draw)


def words_of(form: str) -> list[str]:
    """The command that makes an instance of the arrivals in the file `jobs.log`."""
    arrivals = (
        "counts=jobs.log" if form == "counts" else f"trace={form},arrivals.day={DAYS[form]},arrivals.file=jobs.log"
    )
    return ["generate", f"paper:nodes=1,tasks=3,arrivals.{arrivals}", "--out", "out"]


def _log(form: str, draw: random.Random) -> Mutant:
    data = _mutant(draw.choice(LOGS[form]), draw, ",")
    return Mutant(form, {"jobs.log": data}, words_of(form), ("jobs.log", "arrivals."))


def _suite(draw: random.Random) -> Mutant:
    return Mutant(
        "suite", {"my.toml": _mutant(SUITE, draw, TOML)}, ["generate", "my.toml", "--out", "out"], ("my.toml",)
    )


def _recipe(draw: random.Random) -> Mutant:
    recipe = draw.choice(RECIPES)
    if draw.random() < 0.5:
        text = mutate(recipe, draw)
    else:
        head, _, tail = recipe.partition(":")
        keys = tail.split(",")
        place = draw.randrange(len(keys))
        keys[place] = f"{keys[place].partition('=')[0]}={draw.choice(ODD)}"
        text = f"{head}:{','.join(keys)}"
    named = (text.partition(":")[0][:20], "suite", "argument", "generate", "lead", "recipe")
    return Mutant("recipe", {}, ["generate", text, "--out", "out"], named)


class _Late(BaseException):
    """A mutant took too long."""


def try_mutant(mutant: Mutant, patience: int = 0) -> tuple[int | None, str]:
    """Run it in the current folder, which is empty but for its files; (exit status, what is wrong or empty).

    The status is None where it was left aside after `patience` seconds (0: never).
    """
    for name, data in mutant.files.items():
        Path(name).write_bytes(data)
    out, err = io.StringIO(), io.StringIO()
    status: int | None
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _alarm(patience):
            status = command(mutant.words)
    except SystemExit as end:
        status = int(str(end.code))
    except _Late:
        _clear(mutant)
        return None, ""
    lines = [line for line in err.getvalue().split("\n")[:-1] if not line.startswith("... ")]
    left = sorted({path.name for path in Path().iterdir()} - mutant.files.keys())
    problem = ""
    if status not in (0, 2):
        problem = f"exit status {status}"
    elif status == 2:
        if len(lines) != 1:
            problem = f"{len(lines)} lines of error"
        elif len(lines[0]) > LONGEST or not lines[0].isprintable():
            problem = f"{len(lines[0])} characters, printable: {lines[0].isprintable()}"
        elif not any(name and name in lines[0] for name in mutant.named):
            problem = f"names none of {mutant.named}"
        elif left:
            problem = f"{left} was written"
    elif left != ["out"]:
        problem = f"{left or 'nothing'} was written"
    said = " / ".join(lines)[:600]
    _clear(mutant)
    return status, f"{problem}: {said}" if problem else ""


def _clear(mutant: Mutant) -> None:
    for path in sorted(Path().rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


@contextlib.contextmanager
def _alarm(patience: int) -> Iterator[None]:
    def late(*_: object) -> None:
        raise _Late

    if not patience:
        yield
        return
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(patience)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def main(arguments: list[str] | None = None) -> int:
    """All mutants; 1 where one is not as it should be."""
    parser = argparse.ArgumentParser(description="Mutants of traces' files, counts, suites' files and recipes.")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=15)
    options = parser.parse_args(arguments)
    counts: Counter[tuple[str, int | None]] = Counter()
    wrong, told, home = 0, time.monotonic(), Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for number, mutant in enumerate(make_mutants(options.count, options.seed)):
                if time.monotonic() - told > 4:
                    told = time.monotonic()
                    print(f"... {number} of {options.count} mutants", file=sys.stderr)
                status, problem = try_mutant(mutant, PATIENCE)
                counts[mutant.kind, status] += 1
                if problem:
                    wrong += 1
                    print(f"{number} {mutant.kind} {mutant.words!r}: {problem}")
                    for name, data in mutant.files.items():
                        print(f"    {name}: {data[:1200]!r}")
        finally:
            os.chdir(home)
    for kind in dict.fromkeys(kind for kind, _ in counts):
        read, refused, late = (counts[kind, status] for status in (0, 2, None))
        print(f"{kind}: {read} read, {refused} refused" + f", {late} left aside after {PATIENCE} s" * bool(late))
    print(f"{wrong} of {options.count} are not as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
