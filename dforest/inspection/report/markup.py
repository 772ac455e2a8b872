"""HTML from text: whatever is not `Markup` is escaped."""

import html
import math

from dforest.inspection.report.text import clean


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escaped(content):
    """HTML of a content: `Markup` as it is, anything else as text."""
    return content if isinstance(content, Markup) else Markup(html.escape(clean(content), quote=True))


def preformatted(text, **attributes):
    """Lines of text that keep their spaces."""
    lines = (html.escape(clean(line, spaces=True), quote=True) for line in text.splitlines())
    return element("pre", Markup("\n".join(lines)), **attributes)


def element(tag, *contents, **attributes):
    """An element. `class_` stands for the attribute ``class``, and other underscores for hyphens; None leaves one out."""
    text = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escaped(value)}"' for name, value in attributes.items() if value is not None
    )
    return Markup(f"<{tag}{text}>{''.join(map(escaped, contents))}</{tag}>")


def paragraph(*contents, **attributes):
    return element("p", *contents, **attributes)


def absent(why):
    """What stands in place of something that can't be shown."""
    return paragraph(why, class_="absent")


def joined(parts, between=""):
    """Several contents, one after another."""
    return Markup(escaped(between).join(map(escaped, parts)))


def table(head, rows, caption, numeric=(), class_=None, row_head=True):
    """A table in a box of its own, which scrolls if it is too wide.

    Parameters
    ----------
    head : list or None
        What columns are called; None where this need not be said.
    rows : list of list
        The first entry of each is its head, if `row_head`.
    caption : str
        What the table shows; for those who can't see it.
    numeric : collection of int
        The columns that hold numbers.
    class_ : str, optional
    """

    def kind(j):
        return "n" if j in numeric else None

    top = []
    if head is not None:
        cells = (element("th", text, scope="col", class_=kind(j)) if text else element("td") for j, text in enumerate(head))
        top = [element("thead", element("tr", *cells))]
    lines = []
    for row in rows:
        cells = []
        for j, cell in enumerate(row):
            if j == 0 and row_head:
                cells.append(element("th", cell, scope="row"))
            else:
                cells.append(cell if is_cell(cell) else element("td", cell, class_=kind(j)))
        lines.append(element("tr", *cells))
    whole = element("table", element("caption", caption), *top, element("tbody", *lines), class_=class_)
    return scrolling(whole, caption)


def scrolling(content, label):
    """A box of its own for what may be too wide: it scrolls, not the page."""
    return element("div", content, class_="scroll", tabindex="0", role="region", aria_label=label)


def is_cell(content):
    return isinstance(content, Markup) and content.startswith("<td")


def figure(drawing, caption=None, class_=None):
    """A drawing, which is SVG, and what is said below it."""
    return element("figure", Markup(drawing), *([element("figcaption", caption)] if caption else []), class_=class_)


def details(summary, *contents):
    """What is shown when asked for."""
    return element("details", element("summary", summary), *contents)


_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _power(value, digits):
    """A number as a product with a power of ten."""
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa} × 10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def number(value):
    """A number for people: three digits, or all digits of an integer."""
    if value is None:
        return "not defined"
    value = float(value)
    if not math.isfinite(value):
        text = str(value).replace("inf", "∞")
    elif abs(value) >= 1e7 or 0 < abs(value) < 1e-4:
        text = _power(value, 2)
    else:
        text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return "0" if text == "-0" else text.replace("-", "−", 1) if text.startswith("-") else text


def tick(value):
    """A number at an axis, as short as can be."""
    size = abs(value)
    if size >= 1e9 or 0 < size < 1e-4:
        text = _power(value, 3)
    elif size >= 1e6:
        text = f"{value / 1e6:g}M"
    else:
        text = f"{value / 1e3:g}k" if size >= 1e4 else f"{value:.6g}"
    return "0" if text == "-0" else text.replace("-", "−", 1) if text.startswith("-") else text


def count(n, noun, plural=None):
    """How many there are: "1 tree", "2,000 trees"."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def percent(share, digits=1):
    text = f"{100 * share:.{digits}f}"
    return f"{'0' if float(text) == 0 else text}%"


def precise(value, step):
    """A number with as many decimals as it takes to see two digits of a difference of size `step`."""
    if not (math.isfinite(value) and math.isfinite(step) and step) or abs(value) >= 1e7:
        return number(value)
    decimals = 1 - math.floor(math.log10(abs(step)))
    return f"{value:,.{min(max(decimals, 0), 9)}f}".replace("-", "−")


def listed(parts):
    """Parts as "a, b and c"."""
    parts = [escaped(part) for part in parts]
    return Markup(parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}") if parts else Markup("")
