"""Drawings as SVG that stands inside an HTML page.

matplotlib draws on a figure of its own, in a style of its own: neither pyplot's state nor the user's style counts. Its style
belongs to the process, so drawings are made one at a time. What it writes is made small and safe to have several of on a page:

- ids are numbered, and begin with a prefix that is the drawing's own;
- numbers have few digits, and text has the page's font;
- colours of `PALETTE` become variables, whose values the page sets for light and for dark screens.
"""

import io
import re
import threading
import warnings
from xml.etree import ElementTree

from dforest.extras import needed

# Names of colours, and how they are drawn; what they are on light and on dark screens the page's style says.
PALETTE = {
    "ink": "#1c2127", "muted": "#57606a", "grid": "#e6eaef",
    "c0": "#2b6cb0", "c1": "#c2571a", "c2": "#2c8a57", "c3": "#b8324f", "c4": "#7a4fb0", "c5": "#a3801a", "c6": "#1f8a99",
    "c7": "#c74a9b", "c8": "#6f4a2f", "c9": "#4d5b7c", "other": "#8a9199",
    "s0": "#b98a10", "s1": "#c7742a", "s2": "#c4604a", "s3": "#b04467", "s4": "#8e3f7d", "s5": "#613385", "s6": "#352a7e",
}  # fmt: skip
SERIES = [f"c{k}" for k in range(10)]
STEPS = [f"s{k}" for k in range(7)]
LARGEST = 1.3  # how many times as large as asked for a drawing may be shown
PIXEL = 1 / 96  # of a screen, in inches

_STYLE = {
    "font.size": 9, "axes.titlesize": 9.5, "axes.labelsize": 9, "xtick.labelsize": 8.5, "ytick.labelsize": 8.5,
    "legend.fontsize": 8.5, "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none",
    "text.color": PALETTE["ink"], "axes.labelcolor": PALETTE["muted"], "axes.titlecolor": PALETTE["ink"],
    "axes.titlelocation": "left", "axes.titlepad": 8, "axes.edgecolor": PALETTE["muted"], "axes.linewidth": 0.6,
    "xtick.color": PALETTE["muted"], "ytick.color": PALETTE["muted"], "xtick.labelcolor": PALETTE["muted"],
    "ytick.labelcolor": PALETTE["muted"], "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.major.size": 3,
    "ytick.major.size": 3, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True,
    "grid.color": PALETTE["grid"], "grid.linewidth": 0.6, "lines.linewidth": 1.5, "lines.solid_capstyle": "round",
    "legend.frameon": False, "legend.handlelength": 1.4, "axes.formatter.useoffset": False, "axes.unicode_minus": True,
    "axes.formatter.limits": (-4, 5), "axes.formatter.use_mathtext": False, "svg.fonttype": "none",
    "text.parse_math": False,
}  # fmt: skip
_ONE_AT_A_TIME = threading.RLock()
_NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")
_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_NUMBERS_IN = {"d", "x", "y", "width", "height", "transform", "points", "style", "viewBox", "x1", "x2", "y1", "y2"}
_VARIABLES = {value: f"var(--{name})" for name, value in PALETTE.items()}
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_NO_TEXT = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_BETWEEN_COORDINATES = re.compile(r"\s+")


def need_matplotlib(what):
    """Raise ImportError if matplotlib is not there."""
    needed("matplotlib", "plot", what)


def clean(text, spaces=False):
    """Text on one line, without the characters that XML can't hold; runs of spaces become one unless they are kept."""
    text = str(text)
    return _NO_TEXT.sub("\ufffd", text if spaces else " ".join(text.split()))


def shortened(text, most):
    """The beginning and the end of a text of more characters than that, with an ellipsis between them."""
    text = clean(text)
    if len(text) <= most:
        return text
    end = most // 3
    return f"{text[: most - 1 - end].rstrip()}…{text[-end:].lstrip()}"


def drawing(paint, width, height, label, prefix):
    """What a function paints, as SVG for an HTML page.

    Parameters
    ----------
    paint : callable
        Given a matplotlib figure. If it returns a part of it, as a `Bbox` in inches, that part alone is shown, in its own size.
    width, height : int
        In pixels of a screen.
    label : str
        What the drawing shows, for those who can't see it.
    prefix : str
        Begins all ids; no other drawing of the page has it.

    Returns
    -------
    str
    """
    from matplotlib import style
    from matplotlib.figure import Figure

    written = io.StringIO()
    with _ONE_AT_A_TIME, style.context(["default", _STYLE | _cycle()]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that its fonts lack are those of the browser
        figure = Figure(figsize=(width * PIXEL, height * PIXEL), layout="constrained")
        part = paint(figure)
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches=part)
    root = ElementTree.fromstring(_NO_XML.sub("\ufffd", written.getvalue()))
    _make_plain(root, prefix)
    attributes = {"viewBox": root.get("viewBox"), "role": "img", "aria-label": clean(label)}
    if part is None:
        attributes["style"] = f"max-width:{round(LARGEST * width)}px"
    else:
        attributes |= {"width": str(round(part.width / PIXEL)), "height": str(round(part.height / PIXEL))}
    root.attrib.clear()
    root.attrib.update(attributes)
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)


def _cycle():
    from cycler import cycler

    return {"axes.prop_cycle": cycler(color=[PALETTE[name] for name in SERIES])}


def _make_plain(root, prefix):
    """Take out of a drawing what a page does not need, and number its ids."""
    names = {}

    def renamed(name):
        return names.setdefault(name, f"{prefix}{len(names)}")

    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.endswith("}metadata") or (child.tag.endswith("}defs") and child[0].tag.endswith("}style")):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for name, value in list(element.attrib.items()):
            plain = name.rpartition("}")[2]
            if plain == "href":
                value = "#" + renamed(value.removeprefix("#"))
            elif plain == "style":
                value = _style(value)
            elif plain == "transform" and value.startswith("rotate(-0 "):
                value = ""
            if plain in _NUMBERS_IN:
                value = _NUMBER.sub(_few_digits, value)
            if plain in ("d", "points"):
                value = _BETWEEN_COORDINATES.sub(" ", value).strip()
            value = _REFERENCE.sub(lambda match: f"url(#{renamed(match[1])})", value)
            del element.attrib[name]
            if value:
                element.set(plain, value)
        element.tail = None
        if element.tag not in ("text", "tspan"):
            element.text = None
    for element in root.iter():
        known = element.attrib.pop("id", None)
        if known in names:
            element.set("id", names[known])
    _unwrap(root)


def _unwrap(parent):
    """Put what groups without attributes hold in their place."""
    children = []
    for child in parent:
        _unwrap(child)
        children += list(child) if child.tag == "g" and not child.attrib else [child]
    parent[:] = children


def _style(text):
    """Declarations of a style without fonts, with colours of the palette as variables."""
    declared = (part.strip() for part in text.split(";"))
    kept = (part for part in declared if part and not part.startswith(("font-family", "font-style", "font-variant")))
    return re.sub(r"#[0-9a-f]{6}", lambda match: _VARIABLES.get(match[0], match[0]), ";".join(kept).replace(": ", ":"))


def _few_digits(match):
    text = f"{float(match[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
