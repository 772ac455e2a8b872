"""Formulas of the pages: all are translated to MathML, and what cannot be translated is told."""

import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("latex2mathml")
pytest.importorskip("sphinx")

DOC = Path(__file__).parent.parent / "doc"
sys.path.insert(0, str(DOC / "_ext"))

from formulas import FormulaError, translated  # noqa: E402

PAGES = sorted(page for page in DOC.glob("*.md") if "\n$$" in page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_formulas_of_pages(page):
    formulas = re.findall(r"^\$\$(.+?)\$\$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert formulas
    for formula in formulas:
        assert translated(formula, "block").startswith("<math")


def test_a_formula():
    assert '<mfrac><mn>1</mn><mi>n</mi></mfrac>' in translated(r"\frac1n")
    assert '<mo stretchy="false" lspace="0.17em" rspace="0.17em">ln</mo>' in translated(r"n \ln n")
    assert 'rspace="0">ln</mo>' in translated(r"\ln(n)")
    assert translated("n", "block").startswith("<math") and 'display="block"' in translated("n", "block")


@pytest.mark.parametrize(
    ("latex", "told"),
    [
        (r"\nothing x", r"there is no \\nothing"),
        (r"\frac{1", "braces do not match"),
        (r"\left[ x", "cannot be translated"),
        (r"\begin{picture}x\end{picture}", "there is no environment picture"),
        ("a_", "cannot be translated"),
    ],
)
def test_what_cannot_be_translated_is_told(latex, told):
    with pytest.raises(FormulaError, match=told) as caught:
        translated(latex)
    assert repr(latex) in str(caught.value)
