"""Isolation forests: time and memory by how many rows there are, of which trees draw few."""

import numpy as np

import dforest

from . import data


class Isolation:
    """Training and scores on one thread. Peak memory is that of the process: Python, the modules and the data too."""

    params = (["dense", "hist", "extended"], [20_000, 500_000])
    param_names = ("kind", "n_rows")

    def setup(self, kind, n_rows):
        self.X = np.random.default_rng(0).standard_normal((data.scaled(n_rows), 10))
        own = {"extension_level": 2} if kind == "extended" else {"method": kind}
        self.forest = dforest.IsolationForest(random_state=0, **own)
        self.fitted = dforest.IsolationForest(random_state=0, **own).fit(self.X)

    def time_fit(self, kind, n_rows):
        self.forest.fit(self.X)

    def peakmem_fit(self, kind, n_rows):
        self.forest.fit(self.X)

    def time_score_samples(self, kind, n_rows):
        self.fitted.score_samples(self.X)
