"""Kernels that were compiled by another version of the code: they are compiled anew, and nothing fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUN = """
import kernel, types_here
print(kernel.double(types_here.made), sum(kernel.double.stats.cache_hits.values()))
"""


def outputs_of(folder: Path, file: str, texts: list[str]) -> list[str]:
    """What a program prints with each of these texts as one of its files."""
    outputs = []
    for text in texts:
        (folder / file).write_text(text)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)])}
        environment["NUMBA_CACHE_DIR"] = str(folder / "cache")
        done = subprocess.run(
            [sys.executable, "-B", "-c", RUN], env=environment, cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout.strip())
    return outputs


def test_a_type_with_another_name_does_not_break_the_cache(tmp_path: Path) -> None:
    """The kernel's own file is unchanged, so that numba believes in its cache; the type that it names is gone."""
    (tmp_path / "kernel.py").write_text(
        "from ratiobench.formulations.kernels import compiled\n\n\n"
        "@compiled\ndef double(pair):\n    return 2 * pair.a\n"
    )
    texts = [
        f"from typing import NamedTuple\n\n\nclass {name}(NamedTuple):\n    a: int\n\n\nmade = {name}(3)\n"
        for name in ("Desk", "Desk", "Workspace")
    ]
    assert outputs_of(tmp_path, "types_here.py", texts) == ["6 0", "6 1", "6 0"]


def test_a_kernel_follows_the_kernels_that_it_imports(tmp_path: Path) -> None:
    (tmp_path / "types_here.py").write_text("made = 3\n")
    for name, below in (("kernel", "middle"), ("middle", "lowest")):
        (tmp_path / f"{name}.py").write_text(
            "from ratiobench.formulations.kernels import compiled\n"
            f"from {below} import double as inner\n\n\n@compiled\ndef double(x):\n    return inner(x)\n"
        )
    head = "from ratiobench.formulations.kernels import compiled\n\n\n"
    texts = [f"{head}@compiled\ndef double(x):\n    return {factor} * x\n" for factor in (2, 2, 20)]
    assert outputs_of(tmp_path, "lowest.py", texts) == ["6 0", "6 1", "60 0"]


@pytest.mark.parametrize("imported", ["from types_here import made\n", "import types_here as T\n"])
def test_a_kernel_follows_the_numbers_that_it_imports(tmp_path: Path, imported: str) -> None:
    """By name, and as parts of a module."""
    name = "T.made" if " as T" in imported else "made"
    (tmp_path / "kernel.py").write_text(
        f"from ratiobench.formulations.kernels import compiled\n{imported}\n\n"
        f"@compiled\ndef double(x):\n    return x * {name}\n"
    )
    assert outputs_of(tmp_path, "types_here.py", [f"made = {each}\n" for each in (3, 3, 4)]) == ["9 0", "9 1", "16 0"]


def test_code_of_other_types_under_the_name_of_a_kernel_is_not_run(tmp_path: Path) -> None:
    """As two processes leave it that compile a kernel for different types at the same time."""
    (tmp_path / "kernel.py").write_text(
        "from ratiobench.formulations.kernels import compiled\n\n\n@compiled\ndef double(x):\n    return 2 * x\n"
    )
    assert outputs_of(tmp_path, "types_here.py", ["made = 3\n", "made = 0.5\n"]) == ["6 0", "1.0 0"]
    first, second = sorted((tmp_path / "cache").rglob("*.nbc"))
    first.write_bytes(second.read_bytes())
    assert outputs_of(tmp_path, "types_here.py", ["made = 3\n"]) == ["6 0"]
