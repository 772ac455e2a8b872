"""Splitters: how a node is split. Give an object or a class to an estimator as `splitter`.

The built-in splitters also have names: ``splitter="best"`` and ``"random"`` stand for one of them each, depending on `method`.
To write a splitter of your own in Cython, subclass `Splitter`, whose contract is the head of
``dforest/core/search/splitter.pxd``; to try an idea in Python, subclass `PythonSplitter`.
"""

from typing import NamedTuple

import dforest.built  # noqa: F401
from dforest.core.component import SplitterError
from dforest.core.search.dense import DenseSplitter, RandomDenseSplitter
from dforest.core.search.oblique import ObliqueSplitter
from dforest.core.search.projections import patch_projections
from dforest.core.search.python_components import PythonSplitterBase
from dforest.core.search.splitter import HistSplitter, RandomHistSplitter, RandomSplitter, Splitter

__all__ = [
    "Cut",
    "DenseSplitter",
    "HistSplitter",
    "ObliqueSplitter",
    "PythonSplitter",
    "RandomDenseSplitter",
    "RandomHistSplitter",
    "RandomSplitter",
    "Splitter",
    "SplitterError",
    "Test",
    "patch_projections",
]


class Cut(NamedTuple):
    """A split of a node by one feature, which the method `find_split` of a `PythonSplitter` may return.

    Attributes
    ----------
    feature : int
        Number of the feature.
    code : int, or array-like of int
        Where to split: rows with codes up to this one go left (see `NodeView.codes`). For a categorical feature, the codes of
        the categories that go left. Missing values go to the side on which they score more.
    score : float or None
        How good the split is, a number from 0 on. None means the score by the criterion.

    Examples
    --------
    >>> from dforest.splitter import Cut
    >>> Cut(feature=2, code=7)
    Cut(feature=2, code=7, score=None)
    """

    feature: int
    code: object
    score: float | None = None


class Test(NamedTuple):
    """A split of a node by a test of the splitter's own, which the method `find_split` of a `PythonSplitter` may return.

    The splitter's method ``goes_left(payload, X)`` says which rows go left.

    Attributes
    ----------
    payload : array-like of float
        The numbers that the test needs, one or more. They are kept with the node as float64.
    feature : int
        Number of a feature that stands for the test where a single feature is needed.
    score : float or None
        How good the split is, a number from 0 on. None means the score by the criterion.

    Examples
    --------
    >>> from dforest.splitter import Test
    >>> Test(payload=[0.3, -0.7, 1.5], feature=1)
    Test(payload=[0.3, -0.7, 1.5], feature=1, score=None)
    """

    __test__ = False  # for pytest: no test of a test suite

    payload: object
    feature: int = 0
    score: float | None = None


class PythonSplitter(PythonSplitterBase):
    """Base class of splitters that are written in Python, which are slow and meant for trying ideas.

    A splitter chooses how a node is split. A subclass overrides one or more methods, from the simplest to the most general:

    - ``best_cut(node, feature)`` says where to split the node by one feature. It returns a code, and rows with codes up to
      this one go left; or ``(code, score)``, to compare the split with those of other features by a score of its own; or
      None for no split. The splitter is asked about `max_features` features in random order, without those that are
      constant in the node, and then about further ones until one has a split; `skip_constant_features` says whether constant
      features count among the `max_features`.
    - ``find_split(node)`` makes the whole search. It returns a `Cut`, a `Test`, or None for no valid split.
    - ``goes_left(payload, X)`` is the test of a splitter that has tests of its own. It is given the payload of a `Test`, an
      ndarray of float64, and rows, an ndarray of shape (n, n_features), and returns which rows go left, an ndarray of
      shape (n,), dtype bool. Its answer for a row may depend on the payload, the row and the parameters alone. In a
      splitter with this method, every split is a `Test`.
    - ``leaf_records(node)`` says which records (distinct rows) a leaf keeps, as an ndarray of shape (n_records,), dtype bool.
      Without this method, a leaf keeps all of its records.
    - ``used_features(payload)`` is asked for importances. It returns the features that a test is about, and the share of the
      node's impurity decrease that is due to each, as two arrays. `payload` has the bits of the float64 numbers as uint64:
      ``payload.view(float)`` gives the numbers.
    - ``describe(payload, names)`` is asked by `export_text` and `plot_tree`. It returns a str that says what is true of rows
      that go left, given the names of the features.

    `node` is a `dforest.core.search.node_view.NodeView`: it has the values, codes, targets and weights of the node's rows, and
    the features that the splits above it use. Random numbers must come from ``node.random()``, so that the forest is the same
    on any number of threads. If a method raises an exception, the fit ends with it; a split that breaks a rule raises
    `SplitterError`.

    Each argument of the constructor must be kept as an attribute of the same name. Each thread has an object of its own, which
    is made from the class and these attributes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier
    >>> from dforest.splitter import PythonSplitter
    >>> class MedianSplitter(PythonSplitter):
    ...     def best_cut(self, node, feature):
    ...         codes = node.codes(feature)
    ...         return min(int(np.median(codes)), codes.max() - 1)
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, splitter=MedianSplitter, random_state=0).fit(X, y)
    >>> forest.score(X, y) > 0.9
    True
    """

    def best_cut(self, node, feature):
        """Return where to split a node by one feature; a subclass overrides this method or `find_split`.

        Parameters
        ----------
        node : NodeView
            The node, which may be asked only during this call.
        feature : int
            Number of the feature.

        Returns
        -------
        int, (int, float) or None
            A code, and rows with codes up to this one go left; or such a code and a score; or None for no split.
        """
        raise NotImplementedError(f"{type(self).__name__} defines neither best_cut nor find_split")

    def find_split(self, node):
        """Return how to split a node: by default, ask `best_cut` about one feature after another, and take the best split.

        Parameters
        ----------
        node : NodeView
            The node, which may be asked only during this call.

        Returns
        -------
        Cut, Test or None
            The split; None if there is no valid one, so that the node is a leaf.
        """
        best, n_counted = None, -len(self.always_tried)
        for feature in node.order.tolist():
            if n_counted >= self.max_features and best is not None:
                break
            is_constant = node.is_constant(feature)
            n_counted += n_counted < 0 or not (is_constant and self.skip_constant_features)
            if is_constant:
                continue
            answer = self.best_cut(node, feature)
            if answer is None:
                continue
            if isinstance(answer, tuple) and len(answer) != 2:
                raise self.broken(f"best_cut returned {answer!r}; allowed are a code, (code, score), and None for no cut")
            code, score = answer if isinstance(answer, tuple) else (answer, None)
            criterion_score = node.score_cut(feature, code)
            if criterion_score < 0:
                raise self.broken(self.reason(node, feature, code))
            cut = Cut(feature, code, criterion_score if score is None else self.score_of(score))
            if best is None or cut.score > best.score:
                best = cut
        return best
