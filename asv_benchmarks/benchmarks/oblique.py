"""Oblique forests and boosted trees: time and memory by how many sums of columns are tried, and of sums that are given."""

import numpy as np

import dforest
from dforest.splitter import patch_projections

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


class Patches:
    """Images whose nodes try random sums of pixels, or those of patches, on one thread."""

    params = (["random", "patches"], ["RandomForest", "ExtraTrees"])
    param_names = ("projections", "kind")

    def setup(self, projections, kind):
        rng = np.random.default_rng(0)
        self.X = rng.standard_normal((data.scaled(4_000), 256))
        self.y = (self.X.reshape(-1, 16, 16)[:, 4:7, 5:9].sum(axis=(1, 2)) > 0).astype(int)
        given = patch_projections((16, 16), 2000, max_size=5, random_state=0) if projections == "patches" else None
        own = {"split_axis": "oblique", "projections": given, "n_estimators": 10, "n_jobs": 1, "random_state": 0}
        self.forest = getattr(dforest, f"{kind}Classifier")(**own)
        self.fitted = getattr(dforest, f"{kind}Classifier")(**own).fit(self.X, self.y)

    def time_fit(self, projections, kind):
        self.forest.fit(self.X, self.y)

    def peakmem_fit(self, projections, kind):
        self.forest.fit(self.X, self.y)

    def time_predict(self, projections, kind):
        self.fitted.predict(self.X)


class ObliqueBoosting:
    """Training and predictions on one thread, beside those of single columns (None)."""

    params = ([None, 0.5, 1.0],)
    param_names = ("n_projections",)

    def setup(self, n_projections):
        rng = np.random.default_rng(0)
        self.X = rng.standard_normal((data.scaled(20_000), 16)).astype(np.float32)
        self.y = (self.X @ rng.standard_normal(16) > 0).astype(int)
        own = {"early_stopping": False, "max_iter": 20, "n_jobs": 1, "random_state": 0}
        if n_projections is not None:
            own |= {"split_axis": "oblique", "n_projections": n_projections}
        self.model = dforest.HistGradientBoostingClassifier(**own)
        self.fitted = dforest.HistGradientBoostingClassifier(**own).fit(self.X, self.y)

    def time_fit(self, n_projections):
        self.model.fit(self.X, self.y)

    def peakmem_fit(self, n_projections):
        self.model.fit(self.X, self.y)

    def time_predict(self, n_projections):
        self.fitted.predict(self.X)
