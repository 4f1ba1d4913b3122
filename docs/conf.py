"""How Sphinx builds the site: `make docs`. The pages are MyST Markdown, the API numpydoc."""

import os
import re
from pathlib import Path

import spinney

project = "Spinney"
author = "The Spinney developers"
copyright = "The Spinney developers"
release = version = spinney.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "numpydoc",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
# Any link that leads nowhere is a warning, and `make docs` takes warnings for errors.
nitpicky = False
suppress_warnings = ["myst.strikethrough"]

# Headings are targets of links, as on code hosting sites.
myst_heading_anchors = 3
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "substitution"]
myst_substitutions = {"version": version}

# In our docstrings a name between single backticks is code.
default_role = "code"
autosummary_generate = True
autodoc_default_options = {"member-order": "groupwise"}
autodoc_typehints = "none"  # the docstrings say more
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Links into other projects need the network, so only the published site has them.
intersphinx_mapping = (
    {
        "numpy": ("https://numpy.org/doc/stable/", None),
        "python": ("https://docs.python.org/3/", None),
        "scipy": ("https://docs.scipy.org/doc/scipy/", None),
        "sklearn": ("https://scikit-learn.org/stable/", None),
    }
    if os.environ.get("SPINNEY_DOCS_ONLINE")
    else {}
)

html_theme = "furo"
html_title = f"Spinney {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/mark.svg"
html_theme_options = {"light_logo": "mark.svg", "dark_logo": "mark.svg"}
html_copy_source = False
html_show_sphinx = False
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
pygments_style = "friendly"
pygments_dark_style = "monokai"


def setup(app):
    # Before numpydoc, which has priority 500.
    app.connect("autodoc-process-docstring", plain_names, priority=400)


def plain_names(app, what, name, obj, options, lines):
    """Rewrite what docstrings of scikit-learn mean for another site.

    A trailing underscore is part of a name, labels and terms are of scikit-learn's pages, and its
    few short formulas need no script from another server.
    """
    for number, line in enumerate(lines):
        line = line.replace(":term:`", "`")
        if not line.lstrip().startswith((">>>", "...")):
            texts = line.split("`")
            # Between backticks are programs; elsewhere, such a name is an entry of a shape.
            texts[::2] = [
                re.sub(r"(?<=[(, ])(\w+)_(?=[,) ])", r"\1\\_", text) for text in texts[::2]
            ]
            line = "`".join(texts)
        line = re.sub(r"\\frac{(\w+)}{(\w+)}", r"\1 / \2", line)
        line = re.sub(r":math:`([^`]+)`", r"\1", line)
        lines[number] = re.sub(r":ref:`([^<`]+?) <[^>]+>`", r"\1", line)
