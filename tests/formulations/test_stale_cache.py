"""Kernels that were compiled by another version of the code: they are compiled anew, and nothing fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUN = """
import kernel, types_here
print(kernel.double(types_here.made), sum(kernel.double.stats.cache_hits.values()))
"""


def test_a_type_with_another_name_does_not_break_the_cache(tmp_path: Path) -> None:
    """The kernel's own file is unchanged, so that numba believes in its cache; the type that it names is gone."""
    (tmp_path / "kernel.py").write_text(
        "from ratiobench.formulations.kernels import compiled\n\n\n"
        "@compiled\ndef double(pair):\n    return 2 * pair.a\n"
    )
    outputs = []
    for name in ("Desk", "Desk", "Workspace"):
        (tmp_path / "types_here.py").write_text(
            f"from typing import NamedTuple\n\n\nclass {name}(NamedTuple):\n    a: int\n\n\nmade = {name}(3)\n"
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
        environment["NUMBA_CACHE_DIR"] = str(tmp_path / "cache")
        done = subprocess.run(
            [sys.executable, "-B", "-c", RUN],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout.strip())
    assert outputs == ["6 0", "6 1", "6 0"]
