"""Sphinx configuration; builds the whole repository, so that links between its pages work."""

from __future__ import annotations

import graphsent

project = "graphsent"
version = release = graphsent.__version__
copyright = "the graphsent developers"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
]
root_doc = "docs/index"
include_patterns = [
    "*.md",
    "data/README.md",
    "docs/*.md",
    "docs/api/*.md",
    "docs/guide/*.md",
    "graphsent/pretrained/*/README.md",
    "notebooks/*.ipynb",
]
exclude_patterns = ["docs/_build"]

html_theme = "furo"
html_title = f"graphsent {version}"

myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = {"math"}
myst_heading_anchors = 4
nb_execution_mode = "cache"
nb_execution_timeout = 300
nb_execution_raise_on_error = True

autodoc_default_options = {"members": True, "imported-members": True}
autodoc_preserve_defaults = True  # tables of head rules are long
autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_custom_sections = ["Shapes"]
