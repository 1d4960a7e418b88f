"""Try the installed wheel as a user would; the nox session `wheel` runs this file in an empty environment.

It runs in an empty folder, outside the checkout: the README's algorithm of one's own, the lines for a notebook, the
suite `tiny`, and a look at what the wheel put into site-packages.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import textwrap
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


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
        where = run(folder, "-c", "import ratiobench.bench.api as api; print(api.__file__)")
        if Path(where.strip()).is_relative_to(ROOT / "bench"):
            sys.exit(f"the code that runs is the checkout's: {where}")
        shipped = "from ratiobench.instances.lora.named import path; print(path('tiny_contention').read_text())"
        (folder / "day.json").write_text(run(folder, "-c", shipped), encoding="utf-8")
        notebook = python_blocks(ROOT / "docs" / "guide" / "python.md")[0].replace("repeat=20", "repeat=2")
        (folder / "cell.py").write_text(f"{notebook}\nprint(found.frame().to_csv())\n", encoding="utf-8")
        for text, what in (
            (run(folder, "cell.py"), "own:Shy"),
            (run(folder, "-m", "ratiobench", "simulate", "day.json", "--algorithm", "mine:Earliest"), "welfare"),
            (run(folder, "-m", "ratiobench", "run", "tiny", "--out", "results/tiny"), "tiny_contention"),
            (run(folder, "-m", "ratiobench", "run", "tiny", "--out", "results/tiny"), "tiny_contention"),
        ):
            if what not in text:
                sys.exit(f"{what!r} is missing in:\n{text[-3000:]}")
    print("the wheel works: one import name, README's algorithm and notebook lines, the suite tiny")


if __name__ == "__main__":
    main()
