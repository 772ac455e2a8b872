"""The page of a report: head, sections, style. It refers to nothing outside of itself."""

from importlib.metadata import version

from dforest.inspection.report import description, effects, outliers, quality, sections
from dforest.inspection.report.markup import Markup, element, escaped, joined, paragraph
from dforest.inspection.report.style import STYLE

# Nothing may be loaded: this lets no request leave, even if a mistake put one on the page.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
PARTS = [
    ("trees", "Would more trees help?", sections.number_of_trees),
    ("predictions", "Predictions", quality.predictions),
    ("importances", "Importances", sections.importances),
    ("dependence", "Partial dependence", sections.partial_dependence),
    ("map", "Proximity map", sections.proximity_map),
    ("sizes", "The trees", sections.trees),
    ("data", "Data and parameters", description.data),
    ("origin", "Origin", description.provenance),
]


def parts_of(study):
    """The sections of a `Study`: a list of (anchor, name, function of the study that returns HTML)."""
    if isinstance(study.target, outliers.Outliers):
        kept = [part for part in PARTS if part[0] in ("map", "sizes", "data", "origin")]
        return [("scores", "Scores", outliers.scores), *kept]
    if isinstance(study.target, effects.Effects):
        return [*effects.PARTS, *(part for part in PARTS if part[0] in ("data", "origin"))]
    if study.is_forest:
        return PARTS
    renamed = {"trees": "Would more iterations help?"}
    return [(anchor, renamed.get(anchor, name), content) for anchor, name, content in PARTS if anchor != "map"]


def page_of(study, tell=lambda n_done: None):
    """The HTML of a report on a `Study`: str. `tell` is called with the number of sections that are there."""
    title = f"{study.model.title} for {study.target.task}"
    named, parts = parts_of(study), []
    for anchor, name, content in named:
        parts.append(element("section", element("h2", name), content(study), id=anchor))
        tell(len(parts))
    links = element("nav", element("ul", *(element("li", element("a", name, href=f"#{anchor}")) for anchor, name, _ in named)),
                    aria_label="Sections")  # fmt: skip
    tiles = element("dl", *(element("div", element("dt", name), element("dd", text)) for name, text in description.tiles(study)),
                    class_="tiles")  # fmt: skip
    head = element("header", element("h1", title), paragraph(description.lead(study), class_="lead"), tiles, links)
    foot = element("footer", f"Made by dforest {version('dforest')}. This page is one file, and loads nothing.")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escaped(POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escaped(title)}</title>\n<style>{Markup(STYLE)}</style>\n</head>\n<body>\n"
        f"{head}\n{element('main', joined(parts, Markup(chr(10))))}\n{foot}\n</body>\n</html>\n"
    )
