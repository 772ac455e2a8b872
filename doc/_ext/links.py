"""After a build of the site, a warning for each link in its pages to a file or a place in the site that is not there.

Sphinx checks the links that it makes itself. This sees the pages as a reader gets them: what Markdown, docstrings, templates and
the gallery have brought, too. Links to other sites are left to Sphinx's builder "linkcheck", which needs a network.
"""

from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.util import logging

logger = logging.getLogger(__name__)


class Page(HTMLParser):
    """The places of a page, by their names, and the addresses that it links to."""

    def __init__(self, path):
        super().__init__()
        self.places, self.links = set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.places |= {named[name] for name in ("id", "name") if named.get(name)}
        self.links += [named[name] for name in ("href", "src") if named.get(name)]


def broken(folder):
    """The links to what is not there: list of (page, link, why)."""
    page_at = cache(Page)
    found = []
    for path in sorted(folder.rglob("*.html")):
        for link in page_at(path).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                found.append((path.relative_to(folder), link, "no such file"))
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in page_at(target).places:
                found.append((path.relative_to(folder), link, "no such place in the page"))
    return found


def check(app, error):
    if error is None and app.builder.format == "html":
        for page, link, why in broken(Path(app.outdir)):
            logger.warning("%s links to %s: %s", page, link, why)


def setup(app):
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
