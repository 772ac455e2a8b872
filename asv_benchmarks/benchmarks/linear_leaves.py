"""Boosted trees with constant and with linear leaves: time and memory."""

import numpy as np

import dforest

from . import data


class LinearLeaves:
    """Training and predictions on one thread. Peak memory is that of the process: Python, the modules and the data too."""

    params = (["constant", "linear"], [2, 5])
    param_names = ("leaf_model", "max_leaf_features")

    def setup(self, leaf_model, max_leaf_features):
        rng = np.random.default_rng(0)
        self.X = rng.standard_normal((data.scaled(50_000), 16)).astype(np.float32)
        self.y = np.sin(self.X[:, 0]) + self.X[:, 1] * self.X[:, 2] + self.X[:, 3]
        own = {"leaf_model": leaf_model, "max_leaf_features": max_leaf_features, "early_stopping": False, "n_jobs": 1}
        self.model = dforest.HistGradientBoostingRegressor(max_iter=20, random_state=0, **own)
        self.fitted = dforest.HistGradientBoostingRegressor(max_iter=20, random_state=0, **own).fit(self.X, self.y)

    def time_fit(self, leaf_model, max_leaf_features):
        self.model.fit(self.X, self.y)

    def peakmem_fit(self, leaf_model, max_leaf_features):
        self.model.fit(self.X, self.y)

    def time_predict(self, leaf_model, max_leaf_features):
        self.fitted.predict(self.X)
