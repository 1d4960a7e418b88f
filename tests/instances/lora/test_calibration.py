"""Files of measurements of a GPU: their content, broken files, and what recipes make of them."""

import contextlib
import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.family.registry import find_suite
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import text_of
from ratiobench.instances.lora.calibration import FORMAT, parse, read_calibration
from ratiobench.instances.lora.format import content_hash, read
from ratiobench.instances.lora.generate import generate
from tests.support.commands import refused
from tests.support.documents import refusal_of


def document(**changes: Any) -> dict[str, Any]:
    """A GPU of half the H200's speed that 4 tasks fit, at batch 2 and not at 4, and one task at batch 1."""
    measured = {
        "device": "Some GPU", "torch": "2.13.0", "model": "gpt2", "parameters": 124_439_808, "tokens": 1024, "rank": 8,
        "dtype": "float32", "rate": "wall time", "memory": "peak", "power": "nvidia-smi",
    }  # fmt: skip
    content: dict[str, Any] = {
        "format": FORMAT,
        "name": "mine",
        "measured": measured,
        "memory_mb": 16_000,
        "base_memory_mb": 500,
        "idle_deciwatts": 300,
        "rows": [
            {"tasks": 1, "batch": 1, "millisamples_per_s": 20_000, "peak_mb": 2_000, "deciwatts_above_idle": 1200},
            {"tasks": 4, "batch": 2, "millisamples_per_s": 71_200, "peak_mb": 12_501, "deciwatts_above_idle": 2345},
        ],
        "absent": [{"tasks": 4, "batch": 4, "why": "out of memory"}],
    }
    return content | changes


def write(path: Path, **changes: Any) -> Path:
    path.write_text(json.dumps(document(**changes)))
    return path


def test_what_a_file_says(tmp_path: Path) -> None:
    """The formulas of data/README.md, by hand: rates and energy in ten minutes, memory beside the base."""
    found = read_calibration(write(tmp_path / "mine.json"))
    [gpu] = found.gpus.values()
    assert (gpu.name, gpu.memory_mb) == ("mine", 16_000)
    assert (gpu.samples_per_s, gpu.compute) == (Fraction("71.2"), 42_720)
    one, four = found.profiles
    assert (one.rate, one.memory_mb, one.energy_wh) == ({"mine": 12_000}, 1500, {"mine": 20})
    assert (four.rate, four.memory_mb, four.energy_wh) == ({"mine": 10_680}, 3001, {"mine": 10})  # 12001/4; 9.77 Wh
    assert "Some GPU" in found.source
    assert not found.notes


BAD: list[tuple[Any, Any, str]] = [
    (("format",), "ratiobench/lora/1", "format: 'ratiobench/lora/1' is not"),
    (("format",), None, "format: null is not"),
    (("name",), "a/b", "name: 'a/b'"),
    (("name",), "", "name"),
    (("colour",), "red", "colour: unknown key"),
    (("measured",), [], "measured: a list of 0"),
    (("measured", "torch"), 2, "measured.torch: 2"),
    (("measured", "tokens"), 0, "measured.tokens: 0"),
    (("memory_mb",), 12_500, "rows[1].peak_mb: 12501"),
    (("base_memory_mb",), 2_000, "rows[0].peak_mb: 2000"),
    (("base_memory_mb",), 16_000, "base_memory_mb: 16000"),
    (("idle_deciwatts",), -1, "idle_deciwatts: -1"),
    (("rows",), [], "rows: empty"),
    (("rows", 0), 5, "rows[0]: 5 is not an object"),
    (("rows", 1, "tasks"), 0, "rows[1].tasks: 0"),
    (("rows", 1, "batch"), 2.0, "rows[1].batch: 2.0"),
    (("rows", 1, "millisamples_per_s"), 6, "rows[1].millisamples_per_s: 6 is not in 7.."),
    (("rows", 1, "millisamples_per_s"), 10**11, "rows[1].millisamples_per_s: 100000000000"),
    (("rows", 1, "peak_mb"), True, "rows[1].peak_mb: true"),
    (("rows", 1, "deciwatts_above_idle"), "many", "rows[1].deciwatts_above_idle: 'many'"),
    (("rows", 1), {"tasks": 1, "batch": 2, "millisamples_per_s": 9000, "peak_mb": 900}, "all rows have it, or"),
    (("rows", 1), document()["rows"][0], "rows[1]: 1 tasks at batch 1 stand twice"),
    (("absent", 0), {"tasks": 4, "batch": 2, "why": "?"}, "absent[0]: 4 tasks at batch 2 stand twice"),
    (("absent", 0, "why"), "", "absent[0].why"),
    (("absent",), None, "absent: null is not a list"),
]


def _changed(place: Any, value: Any) -> dict[str, Any]:
    found = json.loads(json.dumps(document()))
    *outer, last = place
    into: Any = found
    for step in outer:
        into = into[step]
    into[last] = value
    return dict(found)


def test_power_and_absent_cells_are_optional() -> None:
    bare = document(rows=[{k: v for k, v in document()["rows"][0].items() if k != "deciwatts_above_idle"}], absent=[])
    del bare["idle_deciwatts"]
    parse(bare, "it")


@pytest.mark.parametrize(("place", "value", "words"), BAD)
def test_a_broken_file_is_one_error(place: Any, value: Any, words: str, tmp_path: Path) -> None:
    broken = _changed(place, value)
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(broken))
    with pytest.raises(InputError) as caught:
        read_calibration(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)
    with pytest.raises(InputError) as again:
        generate({"kind": "paper", "calibration": broken})
    assert str(again.value).startswith("recipe: calibration")
    assert caught.value.problem == again.value.problem


def test_no_damage_to_a_file_is_another_error(tmp_path: Path) -> None:
    """Bytes changed, dropped and doubled: a calibration, or one line."""
    chance, path, text = random.Random("calibration"), tmp_path / "mine.json", text_of(document()).encode()
    refused = 0
    for _ in range(500):
        data = bytearray(text)
        for _ in range(1 + chance.randrange(3)):
            at = chance.randrange(len(data))
            data[at : at + chance.randrange(3)] = bytes(chance.choices(b'0,9-.:"{[}e\n\xff', k=chance.randrange(3)))
        path.write_bytes(bytes(data))
        with contextlib.suppress(InputError):
            generate({"kind": "paper", "tasks": 3, "calibration": str(path)})
            continue
        refused += 1
    assert refused > 200


RECIPE: dict[str, Any] = {"kind": "paper", "tasks": 30, "nodes": 3, "arrivals": {"trace": "philly"}, "slots": 36}


def test_a_recipe_of_a_file(tmp_path: Path) -> None:
    """All nodes have its GPU, all of its rows are drawn from; the origin has its content, and makes the same again."""
    path = write(tmp_path / "mine.json")
    made = generate({**RECIPE, "calibration": str(path)})
    [node] = made.node_types
    assert (node.name, node.count, node.compute, node.memory_mb) == ("mine", 3, 42_720, 16_000)
    assert made.base_memory_mb == 500
    assert set(made.rate[:, 0].tolist()) == {12_000, 10_680}
    assert set(made.memory_mb.tolist()) == {1500, 3001}
    assert "Some GPU" in made.origin["calibration"]
    assert "notes" not in made.origin
    path.unlink()
    recipe = json.loads(json.dumps(made.origin["recipe"]))
    assert recipe["calibration"] == document()
    assert content_hash(generate(recipe)) == content_hash(made)
    assert generate(recipe).origin == made.origin
    recipe["calibration"]["rows"][0]["peak_mb"] += 1
    assert content_hash(generate(recipe)) != content_hash(made)


def test_a_recipe_without_a_file_has_no_word_of_it() -> None:
    recipe = generate(RECIPE | {"nodes": 2}).origin["recipe"]
    assert "calibration" not in recipe
    assert (recipe["colocation"], recipe["batch"]) == ([4, 8, 16], [2, 4, 8])


def test_slots_of_a_minute_are_exact(tmp_path: Path) -> None:
    """Rates in tenths of a sample."""
    made = generate({**RECIPE, "slot_minutes": 1, "calibration": str(write(tmp_path / "mine.json"))})
    assert made.node_types[0].compute == 42_720
    assert set(made.rate[:, 0].tolist()) == {12_000, 10_680}


def test_what_is_not_known_is_said(tmp_path: Path) -> None:
    """Without power tasks cost no energy, which the instance says."""
    rows = [{k: v for k, v in row.items() if k != "deciwatts_above_idle"} for row in document()["rows"]]
    about = {**document()["measured"], "power": "absent: no nvidia-smi"}
    made = generate({**RECIPE, "calibration": str(write(tmp_path / "mine.json", rows=rows, measured=about))})
    assert not made.energy_wh.any()
    [note] = made.origin["notes"]
    assert "power of mine is not known (absent: no nvidia-smi)" in note


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"nodes": {"a100": 2}}, ("nodes.a100", "mine")),
        ({"mix": "a40"}, ("mix", "mine")),
        ({"colocation": [8]}, ("colocation", "8 is not one of 1, 4")),
        ({"batch": [4]}, ("batch", "4 is not one of 1, 2")),
        ({"colocation": [4], "batch": [1]}, ("batch", "did not fit")),
        ({"calibration": ""}, ("calibration", "''")),
        ({"calibration": 7}, ("calibration", "7")),
        ({"calibration": "no\0where"}, ("no name of a file",)),
    ],
)
def test_what_a_recipe_of_a_file_cannot_have(changes: dict[str, Any], words: tuple[str, ...], tmp_path: Path) -> None:
    """Other node types, and cells that were not measured."""
    told = refusal_of(generate, {**RECIPE, "calibration": str(write(tmp_path / "mine.json")), **changes})
    assert all(word in told for word in words), told


def test_files_name_it_from_their_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`generate` of a recipe and of a file, two calibrations as a grid; of a foreign file one line, and nothing."""
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    write(tmp_path / "in" / "one.json")
    write(tmp_path / "in" / "two.json", name="two")
    toml = '[[instance]]\nrecipe = "day"\ntasks = 20\nnodes = 1\ncalibration = ["one.json", "two.json"]\n'
    Path("in/my.toml").write_text(toml)
    assert main(["generate", "in/my.toml", "--out", "grid"]) == 0
    assert [case.recipe["calibration"]["name"] for case in find_suite("in/my.toml")[1].cases] == ["mine", "two"]
    assert sorted(read(each).node_types[0].name for each in Path("grid").iterdir()) == ["mine", "two"]
    assert main(["generate", "day:tasks=20,nodes=1,calibration=in/one.json", "--out", "one"]) == 0
    words = ("generate", "day:tasks=20,nodes=1,calibration=in/my.toml", "--out", "none")
    assert "in/my.toml" in refused(capsys, *words)
    assert not Path("none").exists()
