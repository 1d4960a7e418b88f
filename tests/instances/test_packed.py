"""Packed JSON: the same values again, and nothing that was changed."""

import gzip
import json
import lzma
import resource
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.bench.family.registry import families
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.formulations.lora.certificate import document as certificate_document
from ratiobench.instances.io import packing
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import load_json
from ratiobench.instances.lora.named import named
from tests.support.samples import samples

LEAVES = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=4)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=10)
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
        | st.lists(st.fixed_dictionaries({"vendor": LEAVES, "cells": st.lists(inner, max_size=3)}), max_size=4)
    ),
    max_leaves=40,
)
SMALL = {
    "format": "x/1",
    "prices": [3, 4, 2**63, -7],
    "decisions": [None, {"cells": [[1, 2], [1, 3]], "payment": None}, {"cells": [], "payment": 9}],
}


@settings(max_examples=samples(300), deadline=None)
@given(VALUES)
def test_what_is_packed_is_read_again(document: Any) -> None:
    found = packing.unpack(packing.pack(document), "x", 2**20)
    assert repr(found) == repr(document)  # with types, and keys in order


@settings(max_examples=samples(100), deadline=None)
@given(st.lists(st.integers(-(2**62), 2**62) | st.integers(-100, 100), min_size=65, max_size=200), st.data())
def test_long_columns_of_integers_are_read_at_once(numbers: list[int], data: st.DataObject) -> None:
    """Of any length in bytes; one that does not fit into 64 bits is read like the others, and a column that is cut."""
    if data.draw(st.booleans()):
        numbers[data.draw(st.integers(0, len(numbers) - 1))] = data.draw(st.sampled_from([2**63, -(2**63) - 1, 2**900]))
    content = b"I" + packing._bytes_of(numbers)
    assert packing._Cursor(content, 10**6).column(len(numbers)) == numbers
    with pytest.raises(LookupError):
        packing._Cursor(content[:-1], 10**6).column(len(numbers))
    packed = packing.pack([numbers, numbers])
    assert packing.unpack(packed, "x", 2**20) == [numbers, numbers]


def test_every_changed_byte_is_noticed() -> None:
    """Each byte changed in three ways, one left out, one more: no document, in one line."""
    data = packing.pack(SMALL)
    assert load_json(data, "x") == SMALL
    for place in range(len(packing.MAGIC), len(data)):
        for change in (1, 128, 255):
            other = bytearray(data)
            other[place] ^= change
            with pytest.raises(InputError, match="x: not a complete packed document"):
                load_json(bytes(other), "x")
        with pytest.raises(InputError):
            load_json(data[:place] + data[place + 1 :], "x")
    for other in (data + b"\0", data + data[8:], data[:-1]):
        with pytest.raises(InputError):
            load_json(bytes(other), "x")


def _as_file(content: bytes) -> bytes:
    return packing.MAGIC + lzma.compress(content, check=lzma.CHECK_SHA256)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"X", b"I", b"I" + b"\xff" * 10_000, b"I\x02\x02", b"T\x00", b"T" * 5_000, b"T\x7e", b"O\x04[]",
        b'O\x0a["a",1]', b'O\x12["a","a"]I\x02I\x02', b"J\x04{}", b"J\x04[]", b"L" + b"I\xfe\xff\xff\xff\x7f",
        b"LI\x01", b"LJ\x06[[]]", b"N\x03I\x02", b"N\x01" + b"T" * 3,
    ],
)  # fmt: skip
def test_hostile_content_is_refused_in_one_line(content: bytes) -> None:
    """Lengths that nothing follows, columns without end, keys twice; none takes memory beyond what is in the file."""
    with pytest.raises(InputError, match=r"^x: not a complete packed document$"):
        load_json(_as_file(content), "x")
    assert load_json(_as_file(b"J\x06[1]"), "x") == 1


def _count_of_text(text: bytes) -> bytes:
    """The bytes of a J column with this text."""
    return b"J" + packing._bytes_of([len(text)]) + text


@pytest.mark.parametrize("form", ["packed", "plain", "gzip"])
def test_a_small_file_of_many_values_takes_little_memory(form: str, tmp_path: Path) -> None:
    """A few KB that are 9 million empty lists, 27 bytes of memory for each byte of text: refused before decoding."""
    text = b"[" + b"[]," * (packing.MOST // 2 + 1) + b"0]"
    data = {
        "packed": lambda: packing.MAGIC + lzma.compress(_count_of_text(b"[" + text + b"]"), preset=0),
        "plain": lambda: text,
        "gzip": lambda: gzip.compress(text),
    }[form]()
    assert form == "plain" or len(data) < 100_000
    file = tmp_path / "many"
    file.write_bytes(data)
    code = "import sys; from ratiobench.instances.io import files; files.load_json(*files.read_bytes(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (450 * 2**20, 450 * 2**20)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"more than {packing.MOST} values, the most that is read" in done.stderr


def test_values_are_counted_exactly_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many commas and brackets as the limit are read, one more is not; text in J columns counts as well."""
    monkeypatch.setattr(packing, "MOST", 8)
    assert load_json(b"[1,[2],{},3]", "x") == [1, [2], {}, 3]  # 3 commas, 3 brackets
    assert load_json(b"[[[[[[[[]]]]]]]]", "x") == [[[[[[[[]]]]]]]]
    with pytest.raises(InputError, match=r"^x: it has more than 8 values, the most that is read$"):
        load_json(b"[[[[[[[[[]]]]]]]]]", "x")
    assert load_json(_as_file(_count_of_text(b"[[1,2,3,4]]")), "x") == [1, 2, 3, 4]
    with pytest.raises(InputError, match=r"^x: packed, it has more than 8 values, the most that is read$"):
        load_json(_as_file(_count_of_text(b"[[1,2,3,4,5,6,7]]")), "x")


def test_long_integers_by_differences_count_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """One long value and steps of 0 are as many long integers: a byte each in the file, 150 in memory."""
    monkeypatch.setattr(packing, "MOST", 1000)
    long, short = packing._bytes_of([2**1000]), packing._bytes_of([2**60])
    assert load_json(_as_file(b"L" + b"I" + packing._bytes_of([400]) + b"D" + short + b"\0" * 399), "x")[399] == 2**60
    with pytest.raises(InputError, match="more than 1000 values"):
        load_json(_as_file(b"L" + b"I" + packing._bytes_of([400]) + b"D" + long + b"\0" * 399), "x")


def test_no_more_is_unpacked_than_is_allowed() -> None:
    data = packing.pack(["a" * 10**6])
    assert len(data) < 1000
    with pytest.raises(InputError, match="unpacked, more than 1000 bytes"):
        packing.unpack(data, "x", 1000)


def test_the_suffix_says_how_a_file_is_written(tmp_path: Path) -> None:
    from ratiobench.instances.io.documents import Documents

    files: Documents[Any, Any] = Documents(lambda data, source: data, lambda held: held)
    files.write(SMALL, tmp_path / "a.cert")
    assert packing.is_packed((tmp_path / "a.cert").read_bytes())
    assert files.read(tmp_path / "a.cert") == SMALL


def test_what_a_certificate_may_hold_follows_from_its_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate of a week of 100,000 tasks has 16.8 million values; one of a few tasks has less."""
    family = families()["lora"]
    instance = named("thm5_T5_3tasks")
    report = family.certify(instance, SolveSettings())
    data = json.dumps(certificate_document(report.certificate)).encode()
    monkeypatch.setattr(packing, "MOST", 10)
    for form in (data, packing.pack(json.loads(data))):
        assert family.read_certified(instance, family.load_document(instance, form, "x"), "x").lower == report.lower
    most = family.value_limit(instance)
    assert most == 2**22 + instance.tasks * instance.slots
    with pytest.raises(InputError, match=f"^x: it has more than {most} values, the most that is read$"):
        family.load_document(instance, b"[" * (most + 1), "x")
    week = SimpleNamespace(tasks=100_000, slots=1008)
    assert family.value_limit(week) > 16_831_418
