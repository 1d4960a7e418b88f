"""The family in five files of bench/family/five_files.md, as a user would write it: a package `queue_family`."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "bench" / "family" / "five_files.md"


def files_of_queue_family() -> dict[str, str]:
    """The text of each of the five files, by its path."""
    text = PAGE.read_text(encoding="utf-8")
    files = re.findall(r"## `(queue_family/\S+)`\n.*?```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(files) == 5
    return dict(files)


def write_queue_family(folder: Path) -> None:
    (folder / "queue_family").mkdir()
    for name, code in files_of_queue_family().items():
        (folder / name).write_text(code, encoding="utf-8")
