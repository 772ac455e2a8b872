"""Isolation forests: time and memory by how many rows there are, of which trees draw few."""

import numpy as np

import dforest

from . import data


class Isolation:
    """Training and scores on one thread. Peak memory is that of the process: Python, the modules and the data too."""

    params = (["dense", "hist"], [20_000, 500_000])
    param_names = ("method", "n_rows")

    def setup(self, method, n_rows):
        self.X = np.random.default_rng(0).standard_normal((data.scaled(n_rows), 10))
        self.forest = dforest.IsolationForest(method=method, random_state=0)
        self.fitted = dforest.IsolationForest(method=method, random_state=0).fit(self.X)

    def time_fit(self, method, n_rows):
        self.forest.fit(self.X)

    def peakmem_fit(self, method, n_rows):
        self.forest.fit(self.X)

    def time_score_samples(self, method, n_rows):
        self.fitted.score_samples(self.X)
