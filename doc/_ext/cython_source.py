"""Source pages of compiled modules: what sphinx.ext.viewcode asks for is read from their `.pyx` files.

Links from source pages back to the reference are mended too: viewcode takes all names of a module to be documented as names of
one module, but `dforest.devices` and `dforest.backends.devices.DeviceInfo` have one source.
"""

import re
from importlib.util import find_spec
from pathlib import Path

# A link to a page of the reference, which is called as the name it is about.
BACK = re.compile(r'(href="[^"]*/api/([\w.]+)\.html#)([\w.]+)"')

# The beginning of a class or function, or of a method one level deeper.
BEGINS = re.compile(
    r"^( {4})?(?:(?:cdef )?class (?P<class>\w+)|(?:async )?def (?P<def>\w+)|cpdef [\w.*\[\]:, ]*?(?P<cpdef>\w+)\()", re.MULTILINE
)


def source_of(name):
    """The path of a compiled module's source: Path or None."""
    try:
        found = find_spec(name)
    except ModuleNotFoundError:
        return None
    if not name.startswith("dforest.") or found is None or not str(found.origin).endswith((".so", ".pyd")):
        return None
    path = Path(__file__).parents[2].joinpath(*name.split(".")).with_suffix(".pyx")
    return path if path.is_file() else None


def tags_of(code):
    """Where names are defined: a dict of name to (kind, first line, last line), which count from 1."""
    lines = code.splitlines()
    tags, inside = {}, ""
    for match in BEGINS.finditer(code):
        indent = len(match[1] or "")
        name = match["class"] or match["def"] or match["cpdef"]
        if not indent:
            inside = f"{name}." if match["class"] else ""
        elif not inside:
            continue
        first = code.count("\n", 0, match.start()) + 1
        last = first
        for number, line in enumerate(lines[first:], first + 1):
            text = line.lstrip()
            if text and not text.startswith(("#", ")")) and len(line) - len(text) <= indent:
                break
            last = number if text else last
        kind = "class" if match["class"] else "def"
        tags[name if not indent else inside + name] = (kind, first, last)
    return tags


def find_source(app, name):
    path = source_of(name)
    if path is None:
        return None
    code = path.read_text(encoding="utf-8")
    return code, tags_of(code)


def back_link(match):
    """A link to a place in a page of the reference, with the name of that place as the page has it."""
    before, page, place = match.groups()
    _, found, rest = f".{place}.".rpartition(f".{page.rpartition('.')[2]}.")
    rest = rest if found else ""
    return f'{before}{page}{"." + rest.rstrip(".") if rest else ""}"'


def mend_back_links(app, page, template, context, doctree):
    if page.startswith("_modules/"):
        context["body"] = BACK.sub(back_link, context["body"])


def setup(app):
    app.setup_extension("sphinx.ext.viewcode")  # which makes the event
    app.connect("viewcode-find-source", find_source)
    app.connect("html-page-context", mend_back_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
