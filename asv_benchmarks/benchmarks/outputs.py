"""Forests that predict several outputs: time and memory by the number of outputs."""

import numpy as np

import dforest

from . import data

ROWS = 20_000


def table(task, n_outputs):
    """X of 20 columns, and y of as many as asked for: weighted sums of X, and noise; of classes, thirds of these."""
    random = np.random.default_rng(0)
    n_rows = data.scaled(ROWS)
    X = random.standard_normal((n_rows, 20), dtype=np.float32)
    y = X @ random.standard_normal((20, n_outputs)) + random.standard_normal((n_rows, n_outputs))
    if task == "classification":
        y = (y > np.quantile(y, 1 / 3, axis=0)).astype(np.int64) + (y > np.quantile(y, 2 / 3, axis=0))
    return X, y


class Outputs:
    """Training and prediction on one thread. Peak memory is that of the process: Python, the modules and the data too."""

    params = (["classification", "regression"], [2, 8, 32])
    param_names = ("task", "n_outputs")

    def setup(self, task, n_outputs):
        self.X, self.y = table(task, n_outputs)
        kind = dforest.RandomForestClassifier if task == "classification" else dforest.RandomForestRegressor
        self.forest = kind(4, random_state=0)
        self.fitted = kind(4, random_state=0).fit(self.X, self.y)
        self.fitted.predict(self.X[:1])

    def time_fit(self, task, n_outputs):
        self.forest.fit(self.X, self.y)

    def peakmem_fit(self, task, n_outputs):
        self.forest.fit(self.X, self.y)

    def time_values(self, task, n_outputs):
        """What leaves add to a prediction, which is computed before the first one."""
        self.fitted.forest_.added_values()

    def time_predict(self, task, n_outputs):
        self.fitted.predict(self.X)
