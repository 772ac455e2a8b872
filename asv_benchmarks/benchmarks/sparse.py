"""Sparse X: time and memory of forests on texts and on categories that were made columns, one each."""

import dforest

from . import data

PROBLEMS = ["text", "one_hot"]
KINDS = ["RandomForestClassifier", "RandomForestRegressor"]
METHODS = ["hist", "dense"]

ROWS = {"text": 4_000, "one_hot": 20_000}


def grown_on(problem, kind, method):
    """A forest that is not fitted yet, and X and y for it."""
    X, classes, numbers = data.sparse(problem, ROWS[problem])
    forest = getattr(dforest, kind)(5, method=method, max_features="sqrt", random_state=0)
    return forest, X, classes if kind.endswith("Classifier") else numbers


class SparseFit:
    """Training on one thread. Peak memory is that of the process: Python, the modules and the data too."""

    params = (PROBLEMS, KINDS, METHODS)
    param_names = ("problem", "kind", "method")

    def setup(self, problem, kind, method):
        self.forest, self.X, self.y = grown_on(problem, kind, method)

    def time_fit(self, problem, kind, method):
        self.forest.fit(self.X, self.y)

    def peakmem_fit(self, problem, kind, method):
        self.forest.fit(self.X, self.y)


class SparsePredict:
    """Prediction on one thread: the first one, for which nodes are packed and numbered, and later ones."""

    params = (PROBLEMS, KINDS)
    param_names = ("problem", "kind")

    def setup(self, problem, kind):
        self.forest, self.X, y = grown_on(problem, kind, "dense")
        self.forest.fit(self.X, y)
        self.row = self.X[:1]
        self.forest.predict(self.row)

    def time_rows(self, problem, kind):
        self.forest.predict(self.X)

    def time_one_row(self, problem, kind):
        self.forest.predict(self.row)

    def time_first_rows(self, problem, kind):
        self.forest.forest_._packed.clear()
        self.forest.predict(self.X)

    def peakmem_rows(self, problem, kind):
        self.forest.predict(self.X)
