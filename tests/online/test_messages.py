"""What is sent to the process of a user's algorithm: what has changed, and out of it the same again."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ratiobench.online.lora.run import run
from ratiobench.online.referee import isolation
from ratiobench.online.referee.messages import Receiver, Sender
from tests.support.lora_documents import make_instance, make_node

NODES, SLOTS, TASKS = 50, 144, 40
# Bytes of a question but for the changed cells: a task with its costs in all slots, names of classes, sizes
QUESTION = 2000 + 8 * SLOTS
CHANGE = 3 * (4 + 8)  # Bytes of a changed cell: its place and value in each of three tables

EARLIEST = """
from ratiobench.instances.lora.solution import Decision


class Earliest:
    def start(self, public, constants):
        pass

    def decide(self, task, view):
        node = task.index % 50
        return Decision(None, tuple((node, slot) for slot in range(task.arrival, task.deadline + 1)), 0)
"""


def day() -> Any:
    """Tasks of many and of few slots on a cluster of a day."""
    tasks = [{"bid": 9, "arrival": i + 1, "deadline": i + 1 + i * i % 100} for i in range(TASKS)]
    return make_instance(SLOTS, [make_node(9, 9, NODES)], tasks, base_memory_mb=1)


def test_a_question_grows_with_changed_cells_and_not_with_the_view(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of both runs: of all arrivals, and of the first half."""
    sizes: list[tuple[str, int]] = []

    class Counted(Sender):
        def pack(self, message: Any) -> bytes:
            data = super().pack(message)
            sizes.append((message[0], len(data)))
            return data

    monkeypatch.setattr(isolation, "Sender", Counted)
    monkeypatch.setattr("ratiobench.online.referee.user_run.usable_threads", lambda: 1)  # one after another
    (tmp_path / "earliest.py").write_text(EARLIEST)
    monkeypatch.syspath_prepend(tmp_path)
    result = run(day(), "earliest:Earliest")
    assert result.valid, result.violations
    asked = [size for kind, size in sizes if kind == "ask"]
    assert len(asked) == TASKS + TASKS // 2
    view = 3 * 8 * NODES * SLOTS
    for first in (0, TASKS):
        assert asked[first] > view
        for number, size in enumerate(asked[first + 1 : first + TASKS]):
            assert size < QUESTION + CHANGE * len(result.decisions[number].cells) < view / 10


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """An object that is sent once, with another one inside."""

    number: int
    cells: np.ndarray[Any, Any]
    inner: Record | None = None


def exchange(messages: Iterator[Any], *classes: type) -> Iterator[tuple[int, Any]]:
    """The bytes of each message, and what comes out."""
    pipe = io.BytesIO()
    sender, receiver = Sender(classes), Receiver(pipe)
    for message in messages:
        data = sender.pack(message)
        place = pipe.tell()
        pipe.write(data)
        pipe.seek(place)
        yield len(data), receiver.receive()
        assert pipe.tell() == place + len(data)


def draw_array(r: random.Random) -> np.ndarray[Any, Any]:
    """An array of any kind, in any order of its cells."""
    kinds = ("i8", "i4", "u1", "?", "f8", "c16", "M8[s]", "O")
    shape = r.choice([(), (0, 3), (7,), (40,), (41, 3), (6, 5, 4)])
    values = np.array([r.randint(0, 3) for _ in range(int(np.prod(shape)))]).reshape(shape)
    array = values.astype(r.choice(kinds))
    return r.choice([array, array.T, np.asfortranarray(array), array[..., ::2] if shape else array])


@pytest.mark.parametrize("seed", range(20))
def test_what_comes_out_is_what_was_sent_and_stays_so(seed: int) -> None:
    """Arrays of all kinds that change now and then; those that are kept are what they were."""
    r = random.Random(f"messages {seed}")

    def messages() -> Iterator[Any]:
        arrays = [draw_array(r) for _ in range(3)]
        for _ in range(30):
            for place in range(3):
                if r.random() < 0.2:
                    arrays[place] = draw_array(r)
                elif arrays[place].size:
                    arrays[place].flat[r.randrange(arrays[place].size)] = r.randint(0, 1)
            sent.append([array.copy() for array in arrays])
            yield ("ask", {"tables": arrays[:2]}, arrays[2], arrays[0])

    sent: list[list[np.ndarray[Any, Any]]] = []
    received = [message for _, message in exchange(messages())]
    for before, (_, tables, last, again) in zip(sent, received, strict=True):
        assert again is tables["tables"][0]
        for array, other in zip(before, [*tables["tables"], last], strict=True):
            assert array.dtype == other.dtype
            assert array.shape == other.shape
            assert array.tolist() == other.tolist()
            assert not other.flags.writeable
            with pytest.raises(ValueError, match="read-only"):
                other[...] = 0


def test_numbers_that_are_equal_and_differ_are_told_apart() -> None:
    """The two zeros, and NaN, which does not make its cells change."""
    table = np.zeros(64)
    versions = [table.copy() for _ in range(4)]
    versions[1][3] = -0.0
    versions[2][:] = versions[3][:] = np.nan
    sizes, arrays = zip(*exchange(iter(versions)), strict=True)
    assert [np.signbit(array[3]) for array in arrays[:2]] == [False, True]
    assert all(np.isnan(array).all() for array in arrays[2:])
    assert sizes[3] < sizes[1] < sizes[0] / 2


def test_an_algorithm_cannot_spoil_what_comes_later() -> None:
    """An array whose cells have not changed stands on the same bytes, which nobody can write."""
    table = np.arange(64)
    outcomes = exchange(iter([table, table, table]))
    _, first = next(outcomes)
    with pytest.raises(ValueError, match="WRITEABLE"):
        first.setflags(write=True)
    assert [array.tolist() for _, array in outcomes] == [table.tolist()] * 2


def test_a_record_is_sent_once() -> None:
    """With what is in it; then it is the same object, wherever it stands."""
    inner = [Record(number, np.arange(64)) for number in range(50)]
    outer = [Record(100 + number, np.arange(3), record) for number, record in enumerate(inner)]
    messages = [("ask", [*outer, outer[0]], inner), ("ask", inner[:2], outer[:1]), ("ask", [], inner[::-1])]
    (first, one), (second, two), (third, three) = exchange(iter(messages), Record)
    assert first > 50 * 64 * 8
    assert second < 200
    assert third < 600
    _, outer_there, inner_there = one
    assert outer_there[0] is outer_there[-1]
    assert [record.inner for record in outer_there[:-1]] == inner_there
    assert all(a is b for a, b in zip([*two[1], *two[2]], [*inner_there[:2], outer_there[0]], strict=True))
    assert three[2] == inner_there[::-1]
    assert [record.cells.tolist() for record in inner_there] == [[*range(64)]] * 50
