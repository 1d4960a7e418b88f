"""The file format: what is written reads back identical, and whatever is not allowed is one line that names it."""

import contextlib
import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.io.files import check_writable, write_atomically
from ratiobench.instances.lora import content_hash, document, dumps, parse, read, write
from ratiobench.instances.lora.format import BID_SUM_LIMIT, SLOT_LIMIT, InstanceDocument
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.named import named, names, path
from tests.support.documents import (
    Broken,
    Document,
    Validator,
    at,
    check_broken,
    drop,
    integer_places,
    put,
    validator_of,
)


def valid() -> Document:
    """A small valid document with every field in use."""
    return {
        "format": "ratiobench/lora/1",
        "name": "valid",
        "origin": {"by": "hand"},
        "slots": 3,
        "slot_seconds": 600,
        "base_memory_mb": 2,
        "node_types": [
            {"name": "a", "count": 2, "compute": 10, "memory_mb": 8, "tariff": [1, -2, 3]},
            {"name": "b", "count": 1, "compute": 5, "memory_mb": 9, "tariff": [1, 1, 1]},
        ],
        "tasks": [
            {
                "arrival": 1, "deadline": 3, "memory_mb": 2, "work": 7, "bid": 30, "valuation": 28, "rate": [4, 2],
                "energy_wh": [2, 1], "vendors": [{"price": 3, "delay": 1}],
            },
            {
                "arrival": 2, "deadline": 2, "memory_mb": 1, "work": 3, "bid": 9, "rate": [3, 0],
                "cost": [[0, -1, 2], [4, 4, 4]], "vendors": [],
            },
        ],
    }  # fmt: skip


@pytest.fixture(scope="module")
def validator() -> Validator:
    return validator_of(InstanceDocument)


@pytest.mark.parametrize("name", names())
def test_shipped_instances_satisfy_the_schema(name: str, validator: Validator) -> None:
    data = json.loads(path(name).read_text(encoding="utf-8"))
    validator.validate(data)
    assert data["name"] == name
    assert dumps(read(path(name))) == path(name).read_text(encoding="utf-8")


def test_generated_instances_satisfy_the_schema(validator: Validator) -> None:
    validator.validate(document(generate({"kind": "paper", "nodes": 3, "tasks": 30, "seed": ["schema"]})))


def test_the_hash_is_pinned() -> None:
    canonical = valid()
    del canonical["name"], canonical["origin"]
    canonical["tasks"][1]["valuation"] = 9
    text = json.dumps(canonical, sort_keys=True, separators=(",", ":"))
    assert content_hash(parse(valid())) == hashlib.sha256(text.encode()).hexdigest()
    assert content_hash(parse(valid())) == "f03effbd5778966fee636b35e39abe3f769231e6b6a69c5eae9f0a5d1e46e56f"


def test_a_valuation_equal_to_the_bid_may_be_left_out() -> None:
    given_out, left_out, other = valid(), valid(), valid()
    given_out["tasks"][1]["valuation"] = 9
    other["tasks"][1]["valuation"] = 8
    assert content_hash(parse(given_out)) == content_hash(parse(left_out))
    assert content_hash(parse(other)) != content_hash(parse(left_out))


def test_the_hash_covers_the_order_of_tasks() -> None:
    first, second = valid(), valid()
    for data in (first, second):
        data["tasks"][1]["arrival"] = 1
    second["tasks"].reverse()
    assert content_hash(parse(first)) != content_hash(parse(second))


def test_the_hash_covers_every_integer() -> None:
    """Changing any number of the content by one gives another hash, or is not allowed."""
    for place in integer_places(valid()):
        hashes = []
        for step in (0, 1, -1):
            data = valid()
            at(data, place)[place[-1]] += step
            with contextlib.suppress(InputError):
                hashes.append(content_hash(parse(data)))
        # One slot more or less does not agree with the tariffs; every other number can move at least one way.
        assert len(hashes) >= (1 if place == ("slots",) else 2), place
        assert len(set(hashes)) == len(hashes), place


BROKEN: list[tuple[str, *Broken]] = [
    ("other format", put("format")("ratiobench/lora/3"), "format", "'ratiobench/lora/3'", True),
    ("no node type at all", put("node_types")([]), "node_types", "at least one", True),
    ("no slot", put("slots")(0), "slots", "0", True),
    ("too many slots", put("slots")(SLOT_LIMIT + 1), "slots", str(SLOT_LIMIT + 1), True),
    ("slot of no length", put("slot_seconds")(0), "slot_seconds", "0", True),
    ("negative base memory", put("base_memory_mb")(-1), "base_memory_mb", "-1", True),
    ("base memory fills a node", put("base_memory_mb")(8), "base_memory_mb", "8 is not below", False),
    ("a second node without room", put("node_types", 1, "memory_mb")(2), "base_memory_mb", "node_types[1]", False),
    ("no node of the type", put("node_types", 0, "count")(0), "node_types[0].count", "0", True),
    ("no compute", put("node_types", 0, "compute")(0), "node_types[0].compute", "0", True),
    ("short tariff", put("node_types", 0, "tariff")([1, 2]), "node_types[0].tariff", "2 entries; 3", False),
    ("long tariff", put("node_types", 0, "tariff")([1] * 4), "node_types[0].tariff", "4 entries; 3", False),
    ("tariff over the limit", put("node_types", 0, "tariff", 1)(-LIMIT - 1), "node_types[0].tariff[1]", "-10", True),
    ("arrival 0", put("tasks", 0, "arrival")(0), "tasks[0].arrival", "0", True),
    ("arrival after the last slot", put("tasks", 1, "arrival")(4), "tasks[1].arrival", "4", False),
    ("arrivals out of order", put("tasks", 0, "arrival")(3), "tasks[1].arrival", "2 is before 3", False),
    ("deadline before arrival", put("tasks", 1, "deadline")(1), "tasks[1].deadline", "1 is before", False),
    ("deadline after the last slot", put("tasks", 0, "deadline")(4), "tasks[0].deadline", "4", False),
    ("no memory", put("tasks", 0, "memory_mb")(0), "tasks[0].memory_mb", "0", True),
    ("no work", put("tasks", 0, "work")(0), "tasks[0].work", "0", True),
    ("negative bid", put("tasks", 0, "bid")(-1), "tasks[0].bid", "-1", True),
    ("bid over the limit", put("tasks", 0, "bid")(LIMIT + 1), "tasks[0].bid", str(LIMIT + 1), True),
    ("negative valuation", put("tasks", 0, "valuation")(-3), "tasks[0].valuation", "-3", True),
    ("negative rate", put("tasks", 0, "rate", 1)(-1), "tasks[0].rate[1]", "-1", True),
    ("short rate list", put("tasks", 0, "rate")([1]), "tasks[0].rate", "1 entries; 2", False),
    ("long rate list", put("tasks", 0, "rate")([1, 2, 3]), "tasks[0].rate", "3 entries; 2", False),
    ("negative energy", put("tasks", 0, "energy_wh", 0)(-1), "tasks[0].energy_wh[0]", "-1", True),
    ("short energy list", put("tasks", 0, "energy_wh")([1]), "tasks[0].energy_wh", "1 entries; 2", False),
    ("cost over the limit", put("tasks", 0, "energy_wh", 0)(LIMIT // 2), "tasks[0].energy_wh[0]", "2^40", False),
    ("both energy and cost", put("tasks", 1, "energy_wh")([1, 1]), "tasks[1].energy_wh", "both given", False),
    ("neither energy nor cost", drop("tasks", 0, "energy_wh"), "tasks[0].energy_wh", "neither given", False),
    ("cost for one type only", put("tasks", 1, "cost")([[1, 1, 1]]), "tasks[1].cost", "1 entries; 2", False),
    ("cost for two slots only", put("tasks", 1, "cost", 0)([1, 1]), "tasks[1].cost[0]", "2 entries; 3", False),
    ("negative price", put("tasks", 0, "vendors", 0, "price")(-1), "tasks[0].vendors[0].price", "-1", True),
    ("negative delay", put("tasks", 0, "vendors", 0, "delay")(-1), "tasks[0].vendors[0].delay", "-1", True),
]  # fmt: skip


@pytest.mark.parametrize("broken", [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
def test_each_broken_document_is_one_line_that_names_it(broken: Broken, validator: Validator) -> None:
    check_broken(parse, valid(), broken, validator)


def test_the_sum_of_bids_is_limited() -> None:
    """Each bid may be fine and their sum not: it must stay within 2^52."""
    data = valid()
    count = BID_SUM_LIMIT // LIMIT
    data["tasks"] = [{**data["tasks"][0], "bid": LIMIT} for _ in range(count)]
    assert int(parse(data).bid.sum()) == BID_SUM_LIMIT
    data["tasks"].append({**data["tasks"][0], "bid": 1})
    with pytest.raises(InputError, match=rf"tasks\[{count}\]\.bid: 1 takes the sum of bids over 2\^52"):
        parse(data)


def test_a_truncated_gzip_is_named(tmp_path: Path) -> None:
    """A .json.gz that is cut anywhere is an error and never a shorter instance."""
    file = tmp_path / "cut.json.gz"
    write(parse(valid()), file)
    whole = file.read_bytes()
    for size in range(3, len(whole), 7):
        file.write_bytes(whole[:size])
        with pytest.raises(InputError, match="not a complete gzip file"):
            read(file)
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0x55
    file.write_bytes(damaged)
    with pytest.raises(InputError):
        read(file)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    """What cannot be opened is an error with the file's name."""
    for target in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(InputError, match="cannot be read") as caught:
            read(target)
        assert caught.value.source == str(target)


def test_the_empty_name_is_no_file() -> None:
    with pytest.raises(InputError, match=r"^'': the empty name"):
        read("")


def test_what_cannot_be_written_is_known_beforehand(tmp_path: Path) -> None:
    """A folder, a file below nothing, a file system that takes no files; a question leaves nothing behind."""
    (tmp_path / "folder").mkdir()
    bad = [tmp_path / "folder", tmp_path / "none" / "x"] + [Path("/proc/x")] * Path("/proc").is_dir()
    for target in bad:
        with pytest.raises(InputError, match="cannot be written") as caught:
            check_writable(target)
        assert caught.value.source == str(target)
        with pytest.raises(InputError, match="cannot be written"):
            write_atomically(target, b"x")
    (tmp_path / "old").write_bytes(b"old")
    for name in ("old", "new"):
        check_writable(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "old"]
    assert (tmp_path / "old").read_bytes() == b"old"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        check_writable(pipe)
        write_atomically(pipe, b"through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_writing_into_a_missing_folder_leaves_nothing(tmp_path: Path) -> None:
    """A file that cannot be written is an error with its name, and nothing is left behind."""
    with pytest.raises(InputError, match="cannot be written"):
        write(parse(valid()), tmp_path / "absent" / "a.json")
    assert list(tmp_path.iterdir()) == []


def test_instances_are_read_only() -> None:
    instance = parse(valid())
    for name in ("arrival", "deadline", "memory_mb", "work", "bid", "valuation", "rate", "energy_wh"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(instance, name)[0] = 1
    for i in range(instance.tasks):
        with pytest.raises(ValueError, match="read-only"):
            instance.cost(i)[0, 0] = 1


def test_costs_are_energy_times_tariff_or_as_given() -> None:
    """e_ikt is the exact product, or the explicit table."""
    instance = parse(valid())
    assert instance.cost(0).tolist() == [[2, -4, 6], [1, 1, 1]]
    assert instance.cost(1).tolist() == [[0, -1, 2], [4, 4, 4]]
    assert instance.cost(0).dtype == np.int64


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"running": []}, "running"),
        ({"limit": 3}, "tasks[1].limit"),
        ({"nodes": 2, "run": "gang"}, "tasks[1].nodes"),
        ({"user": "ann"}, "tasks[1].user"),
        ({"priority": 1}, "tasks[1].priority"),
        ({"run": "rigid"}, "tasks[1].run"),
    ],
)
def test_what_moved_to_another_family_is_named(changed: Document, field: str) -> None:
    data = document(named("tiny_contention")) | {"format": "ratiobench/lora/2"}
    (data if "." not in field else data["tasks"][1]).update(changed)
    with pytest.raises(InputError, match=r"removed in 0\.3\.0; see family cluster$") as caught:
        parse(data, "old.json")
    assert str(caught.value).startswith(f"old.json: {field}: ")


def test_all_tasks_are_of_one_kind() -> None:
    """Tasks that stay on one node are of format `/2`, and change the identity; without any it is `/1`."""
    data = document(named("tiny_contention"))
    one = parse(data | {"format": "ratiobench/lora/2", "tasks": [task | {"run": "one-node"} for task in data["tasks"]]})
    assert content_hash(one) == content_hash(named("tiny_contention").without_migration())
    assert document(one)["format"] == "ratiobench/lora/2"
    plain = parse(data | {"format": "ratiobench/lora/2"})
    assert document(plain) == data
    data["tasks"][1]["run"] = "one-node"
    with pytest.raises(InputError, match=r"tasks\[1\].run: one-node, and that of tasks\[0\] is any"):
        parse(data | {"format": "ratiobench/lora/2"})
    data["tasks"][1]["run"] = ["any"]
    with pytest.raises(InputError, match=r"tasks\[1\].run: .* is not one of any, one-node"):
        parse(data | {"format": "ratiobench/lora/2"})
