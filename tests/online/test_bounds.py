"""What shows the future: the instance in whatever file, also one that is too long to be looked at."""

import gzip
from pathlib import Path

import pytest

from ratiobench.instances.lora.format import dumps
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.registry import REGISTRY
from ratiobench.online.referee import bounds


def test_the_instance_is_found_in_plain_and_zipped_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = named("tiny_contention")
    text = dumps(instance).encode()
    files = {
        "plain.json": text,
        "zipped.json.gz": gzip.compress(text),
        "other.json": dumps(named("tiny_vendors")).encode(),
        "none.json.gz": gzip.compress(b'"ratiobench/lora/1'),
        "torn.json.gz": gzip.compress(text)[:40],
        "padded.json.gz": gzip.compress(text[:-2] + b" " * 10_000_000 + text[-2:]),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    monkeypatch.setattr(bounds, "_SCAN_LIMIT", 5_000_000)
    shown = [name for name in files if bounds.shows_the_future(str(tmp_path / name), REGISTRY, instance)]
    assert shown == ["plain.json", "zipped.json.gz", "padded.json.gz"]


def test_files_of_the_kernel_are_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of them, such as /proc/kmsg, never end; this one is harmless, and would show the future."""
    comm, instance = Path("/proc/self/comm"), named("tiny_contention")
    if not comm.exists():
        pytest.skip("there is no /proc")
    monkeypatch.setattr(type(REGISTRY), "content_hash", lambda self, instance: comm.read_text().strip())
    assert not bounds.shows_the_future(str(comm), REGISTRY, instance)
