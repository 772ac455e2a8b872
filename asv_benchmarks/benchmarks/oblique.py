"""Oblique forests: time and memory by how many sums of columns a node tries."""

import numpy as np

import dforest

from . import data


class Oblique:
    """Training and predictions on one thread. Peak memory is that of the process: Python, the modules and the data too."""

    params = (["best", "random"], [0.5, 1.0])
    param_names = ("splitter", "n_projections")

    def setup(self, splitter, n_projections):
        rng = np.random.default_rng(0)
        self.X = rng.standard_normal((data.scaled(20_000), 16))
        self.y = (self.X @ rng.standard_normal(16) > 0).astype(int)
        own = {"split_axis": "oblique", "splitter": splitter, "n_projections": n_projections, "n_estimators": 10, "n_jobs": 1}
        self.forest = dforest.RandomForestClassifier(random_state=0, **own)
        self.fitted = dforest.RandomForestClassifier(random_state=0, **own).fit(self.X, self.y)

    def time_fit(self, splitter, n_projections):
        self.forest.fit(self.X, self.y)

    def peakmem_fit(self, splitter, n_projections):
        self.forest.fit(self.X, self.y)

    def time_predict(self, splitter, n_projections):
        self.fitted.predict(self.X)
