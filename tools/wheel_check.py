"""Try the installed wheel as a user would; the nox session `wheel` runs this file in an empty environment.

It runs in an empty folder, outside the checkout: the README's algorithm of one's own, the lines for a notebook, the
suite `tiny`, and a look at what the wheel put into site-packages. Kernels of the family `eapm` are compiled there; the
others are copied from the checkout if it has compiled them from the same source.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def python_blocks(file: Path) -> list[str]:
    """The blocks of Python in a README."""
    return [textwrap.dedent(each) for each in re.findall(r"```python\n(.*?)```", file.read_text("utf-8"), re.DOTALL)]


def check_names() -> None:
    """Exit with a message if the wheel installs any import name but `ratiobench`, or its code lies in the checkout."""
    files = [file for file in metadata.files("ratiobench") or () if ".dist-info" not in file.parts[0]]
    names = {file.parts[0] for file in files if not file.parts[0].startswith("..")}
    if names != {"ratiobench"}:
        sys.exit(f"the wheel installs {sorted(names)}")
    if len(files) < 600:
        sys.exit(f"the wheel has {len(files)} files only")


COMPILED = Path("online", "eapm")  # The package whose kernels are compiled in the installed wheel


def copy_kernels(package: Path) -> None:
    """Copy the other compiled kernels of the checkout beside installed modules of the same content.

    Numba uses a compiled kernel if its source has the same SHA-256.
    """
    for folder in ("instances", "formulations", "online", "bench"):
        for source in (ROOT / folder).rglob("*.py"):
            if source.is_relative_to(ROOT / COMPILED):
                continue
            installed = package / source.relative_to(ROOT)
            kernels = [each for kind in ("nbi", "nbc") for each in _cache(source).glob(f"{source.stem}.*.{kind}")]
            if kernels and installed.is_file() and installed.read_bytes() == source.read_bytes():
                _cache(installed).mkdir(exist_ok=True)
                for each in kernels:
                    if not (_cache(installed) / each.name).exists():
                        shutil.copyfile(each, _cache(installed) / each.name)


def _cache(module: Path) -> Path:
    return module.parent / "__pycache__"


def run(folder: Path, *words: str) -> str:
    """Run Python in the folder and return what it prints; exit with its errors if it fails, or warns."""
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode or "Warning" in done.stderr:
        sys.exit(f"{' '.join(words)} ended with status {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout


def main() -> None:
    """Run all checks; the exit status is 1 for the first one that fails."""
    check_names()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "mine.py").write_text(python_blocks(ROOT / "README.md")[0], encoding="utf-8")
        where = run(folder, "-c", "import ratiobench.bench.cli as cli; print(cli.__file__)")
        if Path(where.strip()).is_relative_to(ROOT / "bench"):
            sys.exit(f"the code that runs is the checkout's: {where}")
        shipped = "from ratiobench.instances.lora.named import path; print(path('tiny_contention').read_text())"
        (folder / "day.json").write_text(run(folder, "-c", shipped), encoding="utf-8")
        notebook = python_blocks(ROOT / "docs" / "guide" / "python.md")[0].replace("repeat=20", "repeat=2")
        (folder / "cell.py").write_text(f"{notebook}\nprint(found.frame().to_csv())\n", encoding="utf-8")
        package = Path(where.strip()).parents[1]
        copy_kernels(package)
        shipped = "from ratiobench.instances.eapm.generate import path; print(path('greedy_ties').read_text())"
        (folder / "users.json").write_text(run(folder, "-c", shipped), encoding="utf-8")
        for words, what in (
            (["cell.py"], "own:Shy"),
            (["-m", "ratiobench", "simulate", "day.json", "--algorithm", "mine:Earliest"], "welfare"),
            (["-m", "ratiobench", "simulate", "users.json", "--algorithm", "online"], "profit rate"),
            (["-m", "ratiobench", "run", "tiny", "--out", "results/tiny"], "tiny_contention"),
            (["-m", "ratiobench", "run", "tiny", "--out", "results/tiny"], "tiny_contention"),
        ):
            text = run(folder, *words)
            if what not in text:
                sys.exit(f"{what!r} is missing in:\n{text[-3000:]}")
    if not list((package / COMPILED).rglob("__pycache__/*.nbc")):
        sys.exit(f"no compiled kernel is kept in {package / COMPILED}")
    print("the wheel works: one import name, README's algorithm and notebook lines, the suite tiny")


if __name__ == "__main__":
    main()
