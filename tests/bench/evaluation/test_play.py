"""`play`: one policy on a list of instances in this process."""

from pathlib import Path
from typing import Any

import pytest

import ratiobench as rb
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.referee import process, sandbox
from ratiobench.online.remarks import BUBBLEWRAP

NAMED = Path(__file__).parents[3] / "instances" / "lora" / "named"
FILES = [NAMED / "tiny_contention.json", NAMED / "tiny_vendors.json"]


class Rejects:
    def start(self, public: Any, constants: Any) -> None:
        """Nothing to set up."""

    def decide(self, task: Any, view: Any) -> None:
        """No."""


class Overbooks(Rejects):
    def decide(self, task: Any, view: Any) -> Any:
        return Decision(None, ((99, task.arrival),), 0)


class Fails(Rejects):
    def decide(self, task: Any, view: Any) -> Any:
        raise KeyError("mine")


def test_shipped_algorithms_earn_what_simulate_says() -> None:
    table = rb.play(FILES, "greedy")
    for row, file in zip(table.itertuples(), FILES, strict=True):
        run = rb.simulate(file, "greedy")
        assert (row.value_exact, row.admitted, row.arrivals) == (run.welfare, run.admitted, run.arrivals)
        assert row.lower_exact == row.upper_exact
        assert row.share == pytest.approx(row.value / row.upper)
        assert row.valid


def test_classes_and_objects_are_checked() -> None:
    """Broken rules and errors are rows, and a trusted run agrees with an isolated one."""
    assert rb.play(FILES, Rejects).valid.all()
    assert rb.play(FILES, Rejects()).share.tolist() == [0, 0]
    assert rb.play(FILES, Overbooks).violation[0].startswith("4")
    assert "KeyError" in rb.play(FILES, Fails).violation[0]
    assert rb.play(FILES[:1], Rejects, trusted=False).value.tolist() == [0]


def test_an_unknown_instance_has_no_opt(tmp_path: Path) -> None:
    instance = rb.generate("day:tasks=20,nodes=2,slots=20,seed=3")
    table = rb.play(list(instance.values()), "greedy")
    assert table.lower.isna().all()
    assert table.valid.all()


def test_what_cannot_be_played_is_an_error() -> None:
    """An empty list, a name that does not exist, an import path."""
    for instances, policy in (([], "greedy"), (FILES, "gredy"), (FILES, "mine:Class")):
        with pytest.raises(InputError):
            rb.play(instances, policy)


def test_simulate_takes_lists() -> None:
    """Of instances, of algorithms, of both; each run is the one that it is alone."""
    alone = {(file, name): rb.simulate(file, name).decisions for file in FILES for name in ("greedy", "eft")}
    assert [run.decisions for run in rb.simulate(FILES, "greedy")] == [alone[file, "greedy"] for file in FILES]
    several = rb.simulate(FILES[0], ("greedy", Rejects))
    assert [run.admitted > 0 for run in several] == [True, False]
    both = rb.simulate(FILES, ["greedy", "eft"])
    assert [[run.decisions for run in row] for row in both] == [
        [alone[file, name] for name in ("greedy", "eft")] for file in FILES
    ]
    assert rb.simulate([], "greedy") == []
    assert rb.simulate([FILES[0]], "greedy")[0].welfare == rb.simulate(FILES[0], "greedy").welfare
    with pytest.raises(InputError, match="is of one run; 2 are asked for"):
        rb.simulate(FILES, "greedy", solution="out.json")


def test_runs_of_a_class_share_sandboxes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where bubblewrap isolates: two for all runs, and not two for each; every run is a process of its own."""
    if sandbox.choose(None) != BUBBLEWRAP:
        pytest.skip("there is no bubblewrap here")
    started: list[int] = []
    begin = process._Server.__init__

    def count(*given: Any) -> None:
        started.append(1)
        begin(*given)

    monkeypatch.setattr(process._Server, "__init__", count)
    place: dict[str, Any] = {"__name__": "__main__"}
    exec(
        "class Counts:\n    runs = 0\n    def start(self, public, constants):\n        type(self).runs += 1\n"
        "        self.label = str(type(self).runs)\n    def decide(self, task, view):\n        return None\n", place
    )  # fmt: skip
    runs = rb.simulate([*FILES, *FILES], place["Counts"])
    assert len(started) == process.SERVERS
    assert all("(1) (isolated by bubblewrap)" in run.label for run in runs)
    assert rb.play([*FILES, *FILES], place["Counts"], trusted=False)["valid"].all()
    assert len(started) == 2 * process.SERVERS
