"""Splitters: how a node is divided. Give one, or its class, to an estimator as `splitter`.

The built-in ones stand behind ``splitter="best"`` and ``"random"``. To write your own in Cython, subclass
`Splitter`, whose contract is the head of ``dforest/core/search/splitter.pxd``; to try an idea in Python, subclass
`PythonSplitter`.
"""

from typing import NamedTuple

from dforest.core.component import SplitterError
from dforest.core.search.dense import DenseSplitter, RandomDenseSplitter
from dforest.core.search.hist import HistSplitter, RandomHistSplitter
from dforest.core.search.python_splitter import PythonSplitterBase
from dforest.core.search.splitter import RandomSplitter, Splitter

__all__ = [
    "Cut",
    "DenseSplitter",
    "HistSplitter",
    "PythonSplitter",
    "RandomDenseSplitter",
    "RandomHistSplitter",
    "RandomSplitter",
    "Splitter",
    "SplitterError",
    "Test",
]


class Cut(NamedTuple):
    """A split of one feature.

    Attributes
    ----------
    feature : int
    code : int, or array-like of int
        Records with codes up to this go left. For a categorical feature: the categories whose records go left. Missing
        values go to the side on which they score more.
    score : float or None
        What the split is worth, a number from 0. None means what the criterion says.
    """

    feature: int
    code: object
    score: float | None = None


class Test(NamedTuple):
    """A split by a test of the splitter's own, see `PythonSplitter.goes_left`.

    Attributes
    ----------
    payload : array-like of float
        All that the test needs, of any length; kept with the node as float64.
    feature : int
        Any feature, which stands for the test where one number has to.
    score : float or None
        As in `Cut`.
    """

    __test__ = False  # for pytest: no test of a test suite

    payload: object
    feature: int = 0
    score: float | None = None


class PythonSplitter(PythonSplitterBase):
    """A splitter written in Python: slow, for trying ideas.

    A subclass overrides, from the least to the most:

    - ``best_cut(node, feature)``: where to cut one feature. It returns a code, after which to cut; or
      ``(code, score)`` to rank it against other features' cuts by a score of its own; or None for no cut. Which features
      are asked about, and in which order, does not depend on the splitter: `max_features` of them in random order,
      without those that are constant in the node (which `skip_constant_features` does not even count), and then further
      ones until one has a cut.
    - ``find_split(node)``: the whole search. It returns a `Cut`, a `Test`, or None for no valid split.
    - ``goes_left(payload, X)``: the test. Given the payload of a `Test`, ndarray of float64, and rows, ndarray
      of shape (n, n_features), it returns which rows go left: ndarray of shape (n,), dtype bool. What it says of
      a row may depend on the payload, the row and the parameters alone. With this method every split is a `Test`.
    - ``leaf_records(node)``: which records a leaf keeps, ndarray of shape (n_records,), dtype bool; without this
      method, a leaf keeps all its records.
    - ``used_features(payload)``: for importances, the features that a test is about, and the share of the node's impurity
      decrease that falls to each, as two arrays. `payload` has the bits of the float64 numbers as uint64:
      ``payload.view(float)`` has the numbers.
    - ``describe(payload, names)``: for `export_text` and `plot_tree`, a str that says what is true of rows that go left,
      given the names of the features.

    `node` is a `dforest.core.search.node_view.NodeView`: values, codes, targets, weights, the features that splits above it
    use, and random numbers, which must come from ``node.random()`` for the forest to be the same on any number of threads. A
    method that raises ends the fit, with that exception; a split that breaks a rule raises `SplitterError`.

    Each parameter of the constructor is kept as an attribute of its name; each thread has an object of its own, made from
    the class and its parameters.

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
        """Where to cut a feature: see the class."""
        raise NotImplementedError(f"{type(self).__name__} defines neither best_cut nor find_split")

    def find_split(self, node):
        """Ask `best_cut` about features in turn, and return the best cut."""
        best, n_counted = None, 0
        for feature in node.order.tolist():
            if n_counted >= self.max_features and best is not None:
                break
            is_constant = node.is_constant(feature)
            n_counted += not (is_constant and self.skip_constant_features)
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
