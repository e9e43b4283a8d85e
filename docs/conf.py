"""Settings of the site; ``make docs`` builds it, ``make docs QUICK=1`` runs no example."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import steadytree

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "steadytree"
author = "steadytree developers"
copyright = author
version = release = steadytree.__version__

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "reference",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_ext", "gallery/**/*.ipynb", "gallery/**/*.py"]
nitpicky = False
suppress_warnings = ["config.cache"]  # sphinx-gallery's settings hold functions

# Pages
myst_enable_extensions = [
    "attrs_block",
    "attrs_inline",
    "colon_fence",
    "deflist",
    "dollarmath",
    "substitution",
]
myst_heading_anchors = 4
myst_links_external_new_tab = False

# Reference
autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections say them in words
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
templates_path = ["_templates"]

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"__init__\.py",
    "nested_sections": True,
    "subsection_order": [
        f"../examples/{name}"
        for name in ("retraining", "comparing", "growing", "models", "auditing")
    ],
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "reference/backreferences",
    "doc_module": ("steadytree",),
    "reference_url": {"steadytree": None},
    "capture_repr": ("_repr_html_", "__repr__"),
    "matplotlib_animations": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "show_memory": False,
    "write_computation_times": False,  # that page loads scripts from elsewhere
    "download_all_examples": False,
    "image_scrapers": ("matplotlib",),
    "plot_gallery": os.environ.get("STEADYTREE_DOCS_QUICK") != "1",
}

# The page
html_theme = "pydata_sphinx_theme"
html_title = "steadytree"
html_favicon = "_static/steadytree.svg"
html_static_path = ["_static"]
html_css_files = ["steadytree.css"]
html_js_files = [("steadytree.js", {"defer": "defer"})]
html_context = {"default_mode": "auto"}
toc_object_entries_show_parents = "hide"
copybutton_exclude = ".linenos, .gp, .go"
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
html_sidebars = {"index": [], "start": [], "try": []}
html_theme_options = {
    "logo": {
        "text": "steadytree",
        "image_light": "_static/steadytree.svg",
        "image_dark": "_static/steadytree.svg",
        "alt_text": "",
    },
    "navbar_align": "left",
    "navbar_end": ["theme-switcher", "search-button-field"],
    "navbar_persistent": [],
    "search_as_you_type": True,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_math_renderer = "mathml"


def _anchors_to_targets(app: Any, docname: str, source: list[str]) -> None:
    """Let links find the anchors of generated pages, written in HTML so that they work anywhere."""
    source[0] = re.sub(r'<a id="([\w.-]+)"></a>', r"[]{#\1}", source[0])


def _add_the_page_to_try(app: Any, exception: Exception | None) -> None:
    """Lay the page that runs in the browser beside the others; its runtime comes by `make docs`."""
    if exception is None and app.builder.format == "html":
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(HERE / "try", Path(app.outdir) / "try", dirs_exist_ok=True, ignore=ignored)


def _leave_out_scripted_icons(app: Any, exception: Exception | None) -> None:
    """Let the style sheet draw the icons from its font; the theme's script has 1.5 MB."""
    script = Path(app.outdir) / "_static" / "scripts" / "fontawesome.js"
    if exception is None and script.exists():
        script.write_text("/* Icons are drawn by the style sheet. */\n", encoding="utf-8")


def setup(app: Any) -> None:
    """Connect what the settings cannot say."""
    app.connect("source-read", _anchors_to_targets)
    app.connect("build-finished", _add_the_page_to_try)
    app.connect("build-finished", _leave_out_scripted_icons)
