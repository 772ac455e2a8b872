"""Charts: where marks are placed, and what is written at axes."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dforest.inspection.report.chart import LINE_POINTS, Chart, round_numbers, shares
from dforest.inspection.report.text import shortened, width_of

FINITE = st.floats(-1e300, 1e300)


@given(FINITE, FINITE, st.integers(3, 9))
@example(0.0, 5e-324, 3)
def test_round_numbers(a, b, most):
    low, high = min(a, b), max(a, b)
    found = round_numbers(low, high, most)
    numbers = [number for number, _ in found]
    assert numbers == sorted(numbers) and len(found) <= max(most, 2)
    if 1e-9 * max(abs(low), abs(high)) < high - low:
        assert len(found) >= 2 or high - low < 1e-300
        room = 1e-6 * (high - low)
        assert all(low - room <= number <= high + room for number in numbers)
        assert len({text for _, text in found}) == len(found)


def test_round_numbers_of_people():
    assert [text for _, text in round_numbers(-0.13, 1.1, 5)] == ["0", "0.25", "0.5", "0.75", "1"]
    assert [text for _, text in round_numbers(1234.5678, 1234.5682, 4)] == ["1234.5678", "1234.568", "1234.5682"]
    assert [text for _, text in shares(0, 0.5, 4)] == ["0%", "20%", "40%"]


def parts_of(chart):
    """The SVG of a chart, parsed: {class: path} and its texts."""
    root = ElementTree.fromstring(chart.markup()[chart.markup().index("<svg") :])
    return {path.get("class"): path.get("d") for path in root.iter("path")}, [text.text for text in root.iter("text")]


def places_in(path):
    return np.array(re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path), float)


def test_marks_are_where_they_belong():
    chart = Chart(300, 200, "label", "across", "up")
    chart.line([0, 1, 2], [10, 20, 30], "c0")
    chart.points([0, 1, 2], [10, 20, 30], "c1")
    paths, texts = parts_of(chart)
    line, dots = places_in(paths["line"]), places_in(paths["dots"])
    assert np.array_equal(line, dots) and paths["dots"].count("h0") == 3
    np.testing.assert_allclose(line[1], (line[0] + line[2]) / 2, atol=0.1)
    assert line[0][0] < line[2][0] and line[0][1] > line[2][1]  # up is less
    assert 0 < line.min() and line[:, 0].max() < 300 and line[:, 1].max() < 200
    assert {"across", "up", "10", "30"} <= set(texts)


def test_texts_at_an_axis_do_not_touch():
    chart = Chart(200, 150, "label", "across", "up")
    chart.bars(np.arange(12), np.ones(12), "c0")
    chart.x.ticks = [(k, f"{2**k / 1e3:g}k") for k in range(12)]
    root = ElementTree.fromstring(chart.markup()[chart.markup().index("<svg") :])
    written = [(float(text.get("x")), width_of(text.text, 11.5)) for text in root.iter("text") if text.text.endswith("k")]
    assert 2 < len(written) < 12
    assert all(b - a > (one + other) / 2 for (a, one), (b, other) in zip(written, written[1:], strict=False))


def test_lines_break_where_nothing_is_known_or_seen():
    chart = Chart(300, 200, "label")
    chart.line(np.arange(6), [1, 2, np.nan, 3, 100, 4], "c0")
    chart.y.limit(0, 5)
    path = parts_of(chart)[0]["line"]
    assert path.count("M") == 3 and path.count("L") == 1
    chart = Chart(300, 200, "label")
    chart.line(np.arange(10_000), np.arange(10_000), "c0")
    assert parts_of(chart)[0]["line"].count("L") < LINE_POINTS


def test_bars_begin_at_zero():
    chart = Chart(300, 200, "label")
    chart.bars([0, 1], [-2, 4], "c0")
    paths, _ = parts_of(chart)
    bars = re.findall(r"M([\d.]+) ([\d.]+)V([\d.]+)H([\d.]+)V([\d.]+)Z", paths["bars"])
    (_, begin, below, *_), (_, again, above, *_) = [[float(part) for part in bar] for bar in bars]
    assert begin == again and above < begin < below
    assert (begin - above) == pytest.approx(2 * (below - begin), abs=0.3)


@pytest.mark.parametrize("values", [[5.0], [0.0], [1e300, -1e300], [7.0, 7.0]])
def test_any_numbers(values):
    chart = Chart(300, 200, "<label>", "<x>", title="<&>")
    chart.points(values, values, "c0", "<key>")
    chart.same_unit = True
    assert "<label>" not in chart.markup() and "&lt;key&gt;" in chart.markup()
    paths, texts = parts_of(chart)
    assert np.isfinite(places_in(paths["dots"])).all() and "<&>" in texts


def test_text():
    assert width_of("iii", 10) < width_of("mmm", 10) < width_of("名前名", 10)
    assert shortened("abcdefghijklmnop", 10) == "abcdef…nop" and shortened("short", 10) == "short"
