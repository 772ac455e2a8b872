"""Formulas as MathML, which browsers show by themselves: LaTeX is translated while the pages are built, so nothing is loaded.

A formula that cannot be translated ends the build with an error that shows it and says where it stands.
"""

import re

from docutils.nodes import SkipNode
from latex2mathml.converter import convert
from sphinx.errors import SphinxError


class FormulaError(SphinxError):
    """A formula cannot be translated."""

    category = "Formula"


KNOWN = {"align", "align*", "cases", "matrix", "pmatrix", "bmatrix", "split", "array"}
NAMED = re.compile(r'<mi>(exp|ln|log|max|min)</mi>(?=(<mo stretchy="false">&#x00028;</mo>)?)')


def translated(latex, display="inline"):
    """The MathML of a formula in LaTeX, given how it is shown, "inline" or "block". Raises `FormulaError`."""
    # The translator takes these for granted.
    bare = re.sub(r"\\\\|\\[{}]", "", latex)
    if bare.count("{") != bare.count("}"):
        raise FormulaError(f"{latex!r} cannot be translated to MathML: its braces do not match")
    if unknown := set(re.findall(r"\\begin\{(.*?)\}", latex)) - KNOWN:
        raise FormulaError(f"{latex!r} cannot be translated to MathML: there is no environment {', '.join(sorted(unknown))}")
    try:
        found = convert(latex, display=display)
    except Exception as error:
        raise FormulaError(f"{latex!r} cannot be translated to MathML: {type(error).__name__} {error}") from error
    if lost := re.search(r">\s*(\\[^<]*)<", found):  # what the translator doesn't know it leaves as it is
        raise FormulaError(f"{latex!r} cannot be translated to MathML: there is no {lost[1]}")
    # Names of functions stand apart from what is beside them, and bars around a number do not.
    found = NAMED.sub(lambda name: _operator(name[1], "0.17em", "0" if name[2] else "0.17em"), found)
    return found.replace("<mo>&#x0007C;</mo>", _operator("&#x0007C;", "0", "0"))


def _operator(text, before, after):
    return f'<mo stretchy="false" lspace="{before}" rspace="{after}">{text}</mo>'


def _shown(translator, node, display):
    try:
        return translated(node.astext(), display)
    except FormulaError as error:
        raise FormulaError(f"{node.source or translator.builder.current_docname}:{node.line or ''} {error}") from error


def visit_inline(translator, node):
    translator.body.append(_shown(translator, node, "inline"))
    raise SkipNode


def visit_block(translator, node):
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    translator.body.append(_shown(translator, node, "block"))
    translator.body.append("</div>\n")
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
