"""The check of a certificate in a tutorial is right; `nox -s docs` builds the site, with all notebooks and links."""

import re
from pathlib import Path
from typing import Any

import pytest

from ratiobench.formulations.lora.certificate import document
from ratiobench.formulations.lora.solve import solve
from ratiobench.instances.lora.named import named, names

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
_CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```", re.MULTILINE | re.DOTALL)


def cells(page: Path) -> list[str]:
    """The code of a notebook, without lines for the shell."""
    return [re.sub(r"^!.*$", "", each, flags=re.MULTILINE) for each in _CELL.findall(page.read_text("utf-8"))]


def test_the_check_of_a_tutorial_agrees_with_opt(capsys: pytest.CaptureFixture[str]) -> None:
    """On every shipped instance with a certificate of its kind: one node, prices of cells alone, no tree."""
    code = cells(DOCS / "tutorials" / "optimum.md")
    chosen = next(i for i, each in enumerate(code) if "certificate = document" in each)
    tried = 0
    for name in names():
        instance = named(name)
        small = instance.tasks <= 8 and instance.slots <= 8
        if small and [node.count for node in instance.node_types] == [1]:
            space: dict[str, Any] = {"instance": instance}
            certificate = document(solve(instance, certified=True).certificate)  # type: ignore[arg-type]
            if (
                len(instance.vendor_price)
                or not certificate.get("cells")
                or certificate["more"]
                or any(map(any, certificate["lam"]))
            ):
                continue
            for each in code[chosen:]:
                exec(each, space)
            assert (space["bound"] // space["unit"], space["value"]) == (space["report"].upper, space["report"].lower)
            tried += 1
    assert tried >= 2
    assert "upper bound: 34" in capsys.readouterr().out


def test_every_nightly_test_exists() -> None:
    """By file and function: a name that is left over would hide that its test runs in every session again."""
    for line in (ROOT / "tests" / "nightly.txt").read_text(encoding="utf-8").splitlines():
        file, function = line.partition("[")[0].split("::")
        assert f"def {function}(" in (ROOT / file).read_text(encoding="utf-8"), line
