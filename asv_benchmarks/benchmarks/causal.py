"""Causal forests: fits with given expectations, effects with intervals, and averages."""

import numpy as np

import dforest

from . import data


class Effects:
    """Five hundred honest trees in little bags, for a treatment of 0 and 1."""

    timeout = 300.0
    params = ([2000, 20_000], ["hist", "dense"])
    param_names = ("rows", "method")

    def setup(self, rows, method):
        random, n = np.random.default_rng(0), data.scaled(rows)
        self.X, self.new = random.normal(size=(n, 20)), random.normal(size=(1000, 20))
        self.told = {"treatment": random.random(n) < 0.5, "y_hat": np.zeros(n), "w_hat": np.full(n, 0.5)}
        self.y = np.maximum(self.X[:, 0], 0) * self.told["treatment"] + random.normal(size=n)
        self.forest = dforest.CausalForest(data.scaled(500), method=method, random_state=0)
        self.fitted = self.forest.fit(self.X, self.y, **self.told)

    def time_fit(self, rows, method):
        self.forest.fit(self.X, self.y, **self.told)

    def time_intervals(self, rows, method):
        self.fitted.predict_interval(self.new)

    def time_effects_out_of_bag(self, rows, method):
        self.fitted.__dict__.pop("_leaf_tables", None)
        self.fitted.predict()

    def peakmem_fit(self, rows, method):
        self.forest.fit(self.X, self.y, **self.told)
