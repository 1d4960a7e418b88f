"""Configuration of the documentation: Sphinx with MyST Markdown, notebooks that are executed, and numpydoc."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "ratiobench"
author = "the ratiobench authors"
copyright = f"2026, {author}"
version = release = metadata.version("ratiobench")
html_title = f"ratiobench {release}"

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "mathml",
    "docstrings",
    "generated_pages",
]
exclude_patterns = ["_build", "extensions"]
nitpicky = False
suppress_warnings = ["myst.header"]

myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence", "attrs_block"]
myst_heading_anchors = 4
myst_dmath_allow_digits = False  # dollars are no formulas
myst_dmath_allow_space = False
nb_execution_mode = "cache"
nb_execution_timeout = 900
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_math_renderer = "mathml"
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["math.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
