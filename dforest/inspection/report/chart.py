"""Charts as SVG that stands inside an HTML page, written without a library.

A `Chart` has two axes, and marks: lines, bands, bars, points and strokes. Their colours are variables of the page's style, which
also has the classes that are named here, so that charts fit light and dark screens. What colours mean is said in a list above the
chart, in HTML.
"""

import math
from itertools import pairwise

import numpy as np

from dforest.inspection.report.markup import Markup, element, escaped, tick
from dforest.inspection.report.text import width_of

SERIES = [f"c{k}" for k in range(10)]
STEPS = [f"s{k}" for k in range(7)]  # from little to much
LARGEST = 1.3  # how many times as large as asked for a chart may be shown
FONT = 11.5  # pixels
GAP = 4  # pixels between texts at an axis
LINE = 15  # height of a line of text
LINE_POINTS = 400  # of a line, at most


def pixels(value):
    """A coordinate as text."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def round_numbers(low, high, most):
    """Round numbers from `low` to `high`, at most so many, as a list of (number, text)."""
    span = high - low
    if not 1e-300 < span < math.inf:  # else a part of it may be 0
        return [(low, tick(low)), (high, tick(high))]
    power = 10.0 ** math.floor(math.log10(span / most))
    for step in (part * power for part in (1, 2, 2.5, 5, 10, 20)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            break
    numbers = [float(f"{k * step:.12g}") for k in range(first, last + 1)]
    texts = [tick(number) for number in numbers]
    if len(set(texts)) < len(texts):  # they differ late
        texts = [f"{number:.12g}".replace("-", "−") for number in numbers]
    return list(zip(numbers, texts, strict=True))


def shares(low, high, most):
    """`round_numbers` of shares, as percentages."""
    return [(number / 100, f"{text}%") for number, text in round_numbers(100 * low, 100 * high, most)]


class Axis:
    """An axis: what it spans, and the numbers or names at it.

    Attributes
    ----------
    ticks : list of (float, str), or callable
        Those of marks, or what makes them of (low, high, most).
    """

    def __init__(self, label, most):
        self.label, self.most, self.ticks = label, most, round_numbers
        self.low, self.high, self.fixed = math.inf, -math.inf, [None, None]

    def include(self, numbers):
        numbers = np.asarray(numbers, np.float64)
        numbers = numbers[np.isfinite(numbers)]
        if len(numbers):
            self.low, self.high = min(self.low, float(numbers.min())), max(self.high, float(numbers.max()))

    def limit(self, low=None, high=None):
        """Fix ends of the axis; None leaves one to the marks."""
        self.fixed = [low, high]

    def settle(self, begin, end):
        """Place the axis between two pixels, now that all marks are known."""
        low, high = (self.low, self.high) if self.low <= self.high else (0.0, 1.0)
        room = 0.05 * (high - low) if high > low else 0.05 * abs(low) or 0.5
        low, high = (own if given is None else given for own, given in zip((low - room, high + room), self.fixed, strict=True))
        self.low, self.high = low, high if high > low else low + 1.0
        self.unit = max(abs(self.low), abs(self.high))  # so that differences are in range
        self.begin, self.end = begin, end
        if callable(self.ticks):
            self.ticks = self.ticks(self.low, self.high, self.most)

    def thin(self):
        """Leave out ticks of a settled horizontal axis, evenly, until no text touches the next one."""
        places = [(float(self.at(number)), width_of(text, FONT) / 2) for number, text in self.ticks]
        step = next(step for step in range(1, len(places) + 2) if _are_apart(places[::step]))
        self.ticks = self.ticks[::step]

    def at(self, numbers):
        """Where numbers are, in pixels."""
        low, high = self.low / self.unit, self.high / self.unit
        return self.begin + (np.asarray(numbers, np.float64) / self.unit - low) / (high - low) * (self.end - self.begin)


class Chart:
    """A chart that is drawn when its marks are known.

    Parameters
    ----------
    width, height : int
        In pixels of a screen, without the list of what colours mean.
    label : str
        What the chart shows, for those who can't see it.
    x, y : str, optional
        What is at the axes.
    title : str, optional
    """

    def __init__(self, width, height, label, x=None, y=None, title=None):
        self.width, self.height, self.label, self.title = width, height, label, title
        self.x, self.y = Axis(x, 6), Axis(y, 5)
        self.keys, self.same_unit, self.has_grid = [], False, (True, True)
        self._marks = []

    def _add(self, draw, x, y, key=None, colour=None, kind="line"):
        self.x.include(x)
        self.y.include(y)
        self._marks.append(draw)
        if key is not None:
            self.keys.append((key, colour, kind))

    def line(self, x, y, colour, key=None, dashed=False):
        """A line through points, which breaks where y is not finite or beyond a limit."""
        x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
        if len(x) > LINE_POINTS:
            kept = np.unique(np.linspace(0, len(x) - 1, LINE_POINTS).astype(int))
            x, y = x[kept], y[kept]

        def draw():
            path, pen = [], "M"
            for a, b, value in zip(self.x.at(x), self.y.at(y), y, strict=True):
                if not (math.isfinite(value) and self.y.low <= value <= self.y.high):
                    pen = "M"
                    continue
                path.append(f"{pen}{pixels(a)} {pixels(b)}")
                pen = "L"
            return _path(path, "dashed" if dashed else "line", colour)

        self._add(draw, x, y, key, colour, "dash" if dashed else "line")

    def points(self, x, y, colour, key=None, class_="dots"):
        """Points, as strokes of no length with round ends."""

        def draw():
            places = zip(self.x.at(x), self.y.at(y), strict=True)
            return _path([f"M{pixels(a)} {pixels(b)}h0" for a, b in places], class_, colour)

        self._add(draw, x, y, key, colour, "dot")

    def strokes(self, x, y, colour, class_="line"):
        """Straight strokes: x and y are pairs of arrays of shape (n,), or of numbers, for both of their ends."""
        n = max(np.size(part) for part in (*x, *y))
        ends = [np.broadcast_to(np.asarray(part, np.float64), n) for part in (*x, *y)]

        def draw():
            ax, bx, ay, by = self.x.at(ends[0]), self.x.at(ends[1]), self.y.at(ends[2]), self.y.at(ends[3])
            return _path([f"M{pixels(a)} {pixels(c)}L{pixels(b)} {pixels(d)}" for a, b, c, d in zip(ax, bx, ay, by, strict=True)],
                         class_, colour)  # fmt: skip

        self._add(draw, np.concatenate(ends[:2]), np.concatenate(ends[2:]))

    def band(self, x, low, high, colour):
        """What lies between two lines."""

        def draw():
            places = zip(self.x.at([*x, *x[::-1]]), self.y.at([*high, *low[::-1]]), strict=True)
            return _path(["M" + "L".join(f"{pixels(a)} {pixels(b)}" for a, b in places) + "Z"], "band", colour)

        self._add(draw, x, np.concatenate([low, high]))

    def bars(self, x, y, colour, half=0.42, lies=False):
        """Bars of heights y that stand at x, or that lie and begin at y=0; twice `half` wide."""

        def draw():
            places, lengths = np.asarray(x, np.float64), np.asarray(y, np.float64)
            along, across = (self.x, self.y) if lies else (self.y, self.x)
            ends = [across.at(places - half), across.at(places + half)]
            start, stop = along.at(np.zeros(len(lengths))), along.at(lengths)
            path = []
            for a, b, c, d in zip(*ends, start, stop, strict=True):
                across_path = f"M{pixels(c)} {pixels(a)}H{pixels(d)}V{pixels(b)}H{pixels(c)}Z"
                path.append(across_path if lies else f"M{pixels(a)} {pixels(c)}V{pixels(d)}H{pixels(b)}V{pixels(c)}Z")
            return _path(path, "bars", colour)

        ends = np.concatenate([np.asarray(x) - half, np.asarray(x) + half])
        lengths = np.concatenate([[0.0], np.asarray(y, np.float64)])
        self._add(draw, lengths if lies else ends, ends if lies else lengths)

    def markup(self):
        """The chart as HTML: what its colours mean, and the SVG."""
        texts, top, bottom = [], 8, self.height - 8
        if self.title is not None:
            texts.append(_text(0, top + 6, self.title, "title"))
            top += 20
        if self.y.label is not None:
            texts.append(_text(0, top + 5, self.y.label))
            top += 16
        if self.x.label is not None:
            bottom -= LINE + 2
        bottom -= LINE if self.x.ticks != [] else 0
        self.y.settle(bottom, top)
        left = 6 + max((width_of(text, FONT) for _, text in self.y.ticks), default=0) if self.y.ticks else 4
        right = self.width - 8
        self.x.settle(left, right)
        if self.same_unit:
            self._equalise()
        last = max((width_of(text, FONT) / 2 for number, text in self.x.ticks[-1:]), default=0)
        if self.x.ticks and self.x.at([self.x.ticks[-1][0]])[0] + last > self.width:
            self.x.end = self.width - last
        self.x.thin()
        grid, names = [], []
        for number, text in self.x.ticks:
            place = pixels(self.x.at(number))
            grid += [f"M{place} {pixels(top)}V{pixels(bottom)}"] if self.has_grid[0] else []
            names.append(_text(self.x.at(number), bottom + LINE - 2, text, "middle"))
        for number, text in self.y.ticks:
            place = pixels(self.y.at(number))
            grid += [f"M{pixels(left)} {place}H{pixels(self.x.end)}"] if self.has_grid[1] else []
            names.append(_text(left - 5, self.y.at(number) + 4, text, "end"))
        if self.x.label is not None:
            texts.append(_text((left + self.x.end) / 2, self.height - 7, self.x.label, "middle"))
        frame = f"M{pixels(left)} {pixels(top)}V{pixels(bottom)}H{pixels(self.x.end)}"
        marks = [draw() for draw in self._marks]
        parts = [_path(grid, "grid"), *marks, _path([frame], "axes"), *names, *texts]
        return keys(self.keys) + svg(parts, self.width, self.height, self.label)

    def _equalise(self):
        """Let a unit be as long on both axes."""
        units = [(axis.high - axis.low) / abs(axis.end - axis.begin) for axis in (self.x, self.y)]
        for axis, unit in zip((self.x, self.y), units, strict=True):
            more = (max(units) / unit - 1) * (axis.high - axis.low) / 2
            axis.low, axis.high = axis.low - more, axis.high + more


def _are_apart(places):
    """Whether texts, given by (middle, half of the width) from left to right, have room between each other."""
    return all(b - a >= GAP + half + other for (a, half), (b, other) in pairwise(places))


def _path(parts, class_, colour=None):
    if not parts:
        return ""
    style = f' style="--mark:var(--{colour})"' if colour else ""
    return f'<path class="{class_}"{style} d="{"".join(parts)}"/>'


def _text(x, y, text, class_=None):
    return f'<text x="{pixels(x)}" y="{pixels(y)}"' + (f' class="{class_}"' if class_ else "") + f">{escaped(text)}</text>"


def svg(parts, width, height, label, is_fixed=False):
    """Parts as a picture that is as wide as its place allows, or that has a fixed size."""
    size = f'width="{width}" height="{height}"' if is_fixed else f'style="max-width:{round(LARGEST * width)}px"'
    return Markup(f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escaped(label)}" {size}>{"".join(parts)}</svg>')


def keys(entries):
    """What colours mean: a list of (text, colour, "line", "dash" or "dot")."""
    if not entries:
        return Markup("")
    items = (element("li", text, class_=kind, style=f"--key:var(--{colour})") for text, colour, kind in entries)
    return element("ul", *items, class_="keys", aria_label="What colours mean")
