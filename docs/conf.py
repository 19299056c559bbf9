"""Sphinx configuration. Everything that can be computed from the code is computed, at build time, offline."""

from __future__ import annotations

import inspect
import os
import sys
from importlib import import_module
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(DOCS / "_ext"), str(ROOT / "tests")]  # the pages on trials read their tables

import soundline  # noqa: E402

project = "soundline"
author = "The soundline authors"
project_copyright = f"%Y {author}"
version = release = soundline.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.linkcode", "soundline_docs"]
exclude_patterns = ["_build", "_ext", "_templates"]
default_role = "code"
nitpicky = True
# There is no inventory of other projects, so that the build needs no network: only our own names must resolve.
# Private names and type variables have no entry to lead to.
nitpick_ignore_regex = [
    ("py:.*", r"(?!soundline\b).*"),
    ("py:.*", r"soundline\..*\b(_\w+|[A-Z]|[A-Z]_co|Entered|Atom)"),
]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": True}
python_use_unqualified_type_names = True
toc_object_entries = False

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"soundline {release}"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["soundline.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "native"


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Link a name to its line. Real paths, because src/soundline/{spec,impl,verify} are symbolic links."""
    if domain != "py" or not info["module"]:
        return None
    thing: object = import_module(info["module"])
    for part in info["fullname"].split("."):
        thing = getattr(thing, part, None)
    try:
        path = inspect.getsourcefile(inspect.unwrap(thing))  # type: ignore[arg-type]
        _, line = inspect.getsourcelines(thing)  # type: ignore[arg-type]
    except (TypeError, OSError):
        return None
    real = Path(os.path.realpath(path or ""))
    # `source:` is resolved to a page of this site by the extension.
    return f"source:{real.relative_to(ROOT)}#L-{line}" if real.is_relative_to(ROOT) else None
