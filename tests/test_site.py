"""Extensions of the documentation's builder: links that lead nowhere, and source pages of compiled modules."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx")
sys.path.insert(0, str(Path(__file__).parent.parent / "doc" / "_ext"))
import cython_source  # noqa: E402
import links  # noqa: E402

sys.path.pop(0)


def test_links_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "a page.html").write_text('<h1 id="top">A</h1><a href="../index.html#here">', encoding="utf-8")
    (tmp_path / "index.html").write_text(
        '<a name="here"></a><a href="#here"><a href="api/a%20page.html#top"><a href="elsewhere:x"><a href="//host/x.html">'
        '<a href="#gone"><a href="api/a%20page.html#gone"><a href="gone.html"><img src="gone.png"><a href="api">',
        encoding="utf-8",
    )
    assert [link for _, link, _ in links.broken(tmp_path)] == ["#gone", "api/a%20page.html#gone", "gone.html", "gone.png", "api"]


def test_names_of_compiled_modules_are_found_in_their_source():
    code = """cdef int hidden(int x):
    return x


cdef class Tree(Plant):
    \"\"\"A tree.\"\"\"

    def grow(
        self,
    ):
        # This is inside.
        return 1

    cpdef int height(self):
        return 2


def plant():
    return Tree()


class Bare:
    pass
"""
    assert cython_source.tags_of(code) == {
        "Tree": ("class", 5, 15),
        "Tree.grow": ("def", 8, 12),
        "Tree.height": ("def", 14, 15),
        "plant": ("def", 18, 19),
        "Bare": ("class", 22, 23),
    }


def test_source_is_that_of_compiled_modules_alone():
    path = cython_source.source_of("dforest.core.search.splitter")
    assert cython_source.tags_of(path.read_text(encoding="utf-8"))["Splitter"][0] == "class"
    assert cython_source.source_of("dforest.inspection.export") is None
    assert cython_source.source_of("dforest.no_such_module") is None


@pytest.mark.parametrize(
    ("place", "mended"),
    [
        ("dforest.core.forest.Tree", "dforest.Tree"),
        ("dforest.core.forest.Tree.grow", "dforest.Tree.grow"),
        ("dforest.Tree.grow", "dforest.Tree.grow"),
    ],
)
def test_links_back_to_the_reference(place, mended):
    link = f'<a href="../api/dforest.Tree.html#{place}">'
    assert cython_source.BACK.sub(cython_source.back_link, link) == f'<a href="../api/dforest.Tree.html#{mended}">'
