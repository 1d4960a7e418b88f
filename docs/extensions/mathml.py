"""Write the mathematics of a page as MathML, which needs neither a script nor a network."""

from __future__ import annotations

import html
import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

_ALIGNED = re.compile(r"(\\(?:begin|end))\{aligned\}")
_SIZED = re.compile(r"\\[bB]ig+[lr]?(?=\\[lr](?:ceil|floor)\b)")
_UNKNOWN = re.compile(r"<m\w+[^>]*>(\\\w+|&amp;|&)</")


def write_formula(node: nodes.Element, display: str) -> str:
    """The formula as MathML; a warning where the converter leaves a command of LaTeX in it."""
    source = _SIZED.sub("", _ALIGNED.sub(r"\1{align*}", node.astext()))
    found = convert(source, display=display)
    for left in _UNKNOWN.findall(found):
        logging.getLogger(__name__).warning("%s stays in the formula %s", left, node.astext(), location=node)
    return found


def visit_math(self: Any, node: nodes.math) -> None:
    self.body.append(write_formula(node, "inline"))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    label = f' id="{html.escape(node["ids"][0])}"' if node.get("ids") else ""
    self.body.append(f'<div class="math-block"{label}>{write_formula(node, "block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the writer of formulas."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
