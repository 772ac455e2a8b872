"""Preferences among features: time and memory of fits with weights, more random thresholds, and regularised gains."""

import numpy as np

import dforest

from . import data

CASES = {
    "none": {},
    "feature_weights": {"feature_weights": np.arange(1.0, 21.0)},
    "always_split_features": {"always_split_features": [3]},
    "regularization_factor": {"regularization_factor": 0.5},
    "splitter=random": {"splitter": "random"},
    "n_random_splits": {"splitter": "random", "n_random_splits": 5},
}


def table():
    """X of 20 columns, of which some matter, and two classes."""
    random = np.random.default_rng(0)
    X = random.standard_normal((data.scaled(20_000), 20))
    return X, (X[:, :4].sum(axis=1) + random.standard_normal(len(X)) > 0).astype(int)


class Preferences:
    """Training on one thread. Peak memory is that of the process: Python, the modules and the data too."""

    params = (["dense", "hist"], list(CASES))
    param_names = ("method", "preference")

    def setup(self, method, preference):
        self.X, self.y = table()
        self.forest = dforest.RandomForestClassifier(10, method=method, random_state=0, **CASES[preference])

    def time_fit(self, method, preference):
        self.forest.fit(self.X, self.y)

    def peakmem_fit(self, method, preference):
        self.forest.fit(self.X, self.y)


class CorrectedImportance:
    """Importances by impurity without bias, on one thread."""

    params = (["dense", "hist"],)
    param_names = ("method",)

    def setup(self, method):
        self.X, self.y = table()
        self.forest = dforest.RandomForestClassifier(10, method=method, random_state=0)

    def time_corrected_importance(self, method):
        dforest.corrected_importance(self.forest, self.X, self.y, random_state=0)
