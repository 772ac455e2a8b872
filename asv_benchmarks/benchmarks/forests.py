"""Whole forests, as users have them: time, memory and error."""

import pickle

import numpy as np

import dforest

from . import data

# Small and bundled with scikit-learn, or large and made; the first is the smallest.
PROBLEMS = ["diabetes", "digits", "waves", "grid", "friedman", "wide", "labels"]
KINDS = ["RandomForest", "ExtraTrees"]
METHODS = ["hist", "dense"]

ROWS = 48_000  # of made data, test rows among them


def forest_for(problem, kind, **parameters):
    name = kind + ("Classifier" if problem.task == "classification" else "Regressor")
    labels = list(problem.labels) or None
    return getattr(dforest, name)(**{"n_estimators": 10, "random_state": 0, "categorical_features": labels, **parameters})


class Fit:
    """Training on one thread. Peak memory is that of the process: Python, the modules and the data too."""

    params = (PROBLEMS, KINDS, METHODS)
    param_names = ("problem", "kind", "method")

    def setup(self, name, kind, method):
        self.problem = data.load(name, ROWS)
        self.forest = forest_for(self.problem, kind, method=method)

    def time_fit(self, name, kind, method):
        self.forest.fit(self.problem.X, self.problem.y)

    def peakmem_fit(self, name, kind, method):
        self.forest.fit(self.problem.X, self.problem.y)

    def track_error(self, name, kind, method):
        """1 - accuracy, or 1 - R2, on the test rows: like a time, better if lower."""
        forest = self.forest.set_params(n_estimators=20).fit(self.problem.X, self.problem.y)
        return 1 - forest.score(self.problem.X_test, self.problem.y_test)

    track_error.unit = "1 - score"


class Predict:
    """Prediction on one thread; the forest has predicted before."""

    params = (PROBLEMS, KINDS, METHODS)
    param_names = ("problem", "kind", "method")

    def setup(self, name, kind, method):
        self.problem = data.load(name, ROWS)
        self.forest = forest_for(self.problem, kind, method=method).fit(self.problem.X, self.problem.y)
        self.row = self.problem.X_test[:1]
        self.forest.predict(self.row)

    def time_test_set(self, name, kind, method):
        self.forest.predict(self.problem.X_test)

    def time_one_row(self, name, kind, method):
        self.forest.predict(self.row)


class Shapley:
    """Shapley values of 320 test rows, by the cover of nodes and against 100 training rows, on one thread."""

    params = (["friedman", "waves"], [8, None])
    param_names = ("problem", "max_depth")
    rows = 320

    def setup(self, name, max_depth):
        self.problem = data.load(name, ROWS)
        self.forest = forest_for(self.problem, "RandomForest", max_depth=max_depth).fit(self.problem.X, self.problem.y)

    def time_by_cover(self, name, max_depth):
        self.forest.shap_values(self.problem.X_test[: self.rows])

    def time_interactions(self, name, max_depth):
        self.forest.shap_interaction_values(self.problem.X_test[: self.rows])

    def time_against_background(self, name, max_depth):
        self.forest.shap_values(self.problem.X_test[: self.rows], self.problem.X[:100])


class Memory:
    """What prediction takes above a fitted forest, and what a forest takes on disk."""

    params = (["diabetes", "waves", "friedman"],)
    param_names = ("problem",)

    def setup(self, name):
        self.problem = data.load(name, ROWS)
        self.forest = forest_for(self.problem, "RandomForest").fit(self.problem.X, self.problem.y)
        self.pickled = pickle.dumps(self.forest)

    def peakmem_predict(self, name):
        self.forest.predict(self.problem.X_test)

    def track_pickled(self, name):
        return len(self.pickled)

    track_pickled.unit = "bytes"

    def time_pickle(self, name):
        pickle.dumps(self.forest)

    def time_unpickle(self, name):
        pickle.loads(self.pickled)

    def time_pickle_one_tree(self, name):
        pickle.dumps(self.forest.estimators_[0])

    def track_pickled_one_tree(self, name):
        return len(pickle.dumps(self.forest.estimators_[0]))

    track_pickled_one_tree.unit = "bytes"


class TinyTrees:
    """A hundred thousand trees of three nodes or so: what a tree costs beside its nodes."""

    params = (["classification", "regression"],)
    param_names = ("task",)

    def setup(self, task):
        random = np.random.default_rng(0)
        self.X = random.standard_normal((60, 4))
        kind = dforest.RandomForestClassifier if task == "classification" else dforest.RandomForestRegressor
        self.y = self.X[:, 0] > 0 if task == "classification" else self.X[:, 0]
        self.forest = kind(data.scaled(100_000), max_depth=1, random_state=0)
        self.fitted = kind(data.scaled(100_000), max_depth=1, random_state=0).fit(self.X, self.y)
        self.fitted.predict(self.X[:1])

    def time_fit(self, task):
        self.forest.fit(self.X, self.y)

    def time_predict(self, task):
        self.fitted.predict(self.X)

    def peakmem_predict(self, task):
        self.fitted.predict(self.X)

    def time_pickle(self, task):
        pickle.dumps(self.fitted)


class LittleBags:
    """A thousand honest trees of few rows in little bags, and intervals by these."""

    params = ([1, 2],)
    param_names = ("n_jobs",)

    def setup(self, n_jobs):
        self.problem = data.load("friedman", 2700)
        self.forest = dforest.RandomForestRegressor(
            data.scaled(1000), honest=True, bootstrap="subsample", ci_group_size=2, min_samples_leaf=5, n_jobs=n_jobs,
            random_state=0,
        )  # fmt: skip
        self.fitted = self.forest.fit(self.problem.X, self.problem.y)

    def time_fit(self, n_jobs):
        self.forest.fit(self.problem.X, self.problem.y)

    def time_intervals(self, n_jobs):
        self.fitted.predict_interval(self.problem.X_test, 0.95, "little_bags")


class Chain:
    """A tree as deep as it has inner nodes, 10,000: classes that alternate, so that each cut takes off one row."""

    params = (["depth first", "best first"],)
    param_names = ("growth",)

    def setup(self, growth):
        n = data.scaled(10_000) + 1
        self.X, self.y = np.arange(float(n))[:, None], np.arange(n) % 2
        limits = {} if growth == "depth first" else {"max_leaf_nodes": n}
        self.tree = dforest.DecisionTreeClassifier(method="dense", **limits)
        self.fitted = dforest.DecisionTreeClassifier(method="dense", **limits).fit(self.X, self.y)
        assert self.fitted.get_depth() == n - 1

    def time_fit(self, growth):
        self.tree.fit(self.X, self.y)

    def time_predict(self, growth):
        self.fitted.predict(self.X)

    def time_pickle(self, growth):
        pickle.loads(pickle.dumps(self.fitted))

    def time_node_table(self, growth):
        self.fitted.forest_.node_table(0)

    def time_export_text(self, growth):
        dforest.export_text(self.fitted, max_depth=100)


class ManyClasses:
    """Prediction of 20,000 classes by small trees."""

    params = ([1, 2],)
    param_names = ("n_jobs",)

    def setup(self, n_jobs):
        n = data.scaled(20_000)
        X = np.random.default_rng(0).standard_normal((3 * n, 4))
        self.forest = dforest.RandomForestClassifier(2, max_depth=2, max_features=1, n_jobs=n_jobs, random_state=0)
        self.forest.fit(X, np.repeat(np.arange(n), 3))
        self.X = X[:n]

    def time_predict(self, n_jobs):
        self.forest.predict(self.X[:2000])

    def peakmem_predict(self, n_jobs):
        self.forest.predict(self.X)


class Threads:
    """Training of a single tree and of eight trees, on one thread and on two."""

    params = (["waves", "friedman"], METHODS, [1, 8], [1, 2])
    param_names = ("problem", "method", "trees", "n_jobs")

    def setup(self, name, method, trees, n_jobs):
        self.problem = data.load(name, ROWS)
        self.forest = forest_for(self.problem, "RandomForest", method=method, n_estimators=trees, n_jobs=n_jobs)
        self.fitted = forest_for(self.problem, "RandomForest", n_estimators=trees, n_jobs=n_jobs, max_depth=8)
        self.fitted.fit(self.problem.X, self.problem.y)

    def time_fit(self, name, method, trees, n_jobs):
        self.forest.fit(self.problem.X, self.problem.y)

    def time_predict(self, name, method, trees, n_jobs):
        self.fitted.predict(self.problem.X_test)


class Parameters:
    """What a parameter costs, next to the same forest with none."""

    params = (
        ["waves", "friedman"],
        ["none", "max_leaf_nodes", "min_samples_leaf", "oob_score", "mdi", "mda_raw", "sample_weight", "max_bins", "ccp_alpha",
         "honest", "leaf_smoothing"],
    )
    param_names = ("problem", "parameter")

    def setup(self, name, parameter):
        self.problem = data.load(name, ROWS // 3)
        self.weight = None
        chosen = {
            "none": {},
            "max_leaf_nodes": {"max_leaf_nodes": 500},
            "min_samples_leaf": {"min_samples_leaf": 10},
            "oob_score": {"oob_score": True},
            "mdi": {"variable_importance": "mdi"},
            "mda_raw": {"variable_importance": "mda_raw"},
            "sample_weight": {},
            "max_bins": {"max_bins": 4000},
            "ccp_alpha": {"ccp_alpha": 1e-4},
            "honest": {"honest": True},
            "leaf_smoothing": {"leaf_smoothing": 10.0},
        }[parameter]
        if parameter == "sample_weight":
            self.weight = 1.0 + self.problem.X[:, 0] ** 2
        # Enough trees for no row to be drawn by all of them, of which oob_score would warn.
        self.forest = forest_for(self.problem, "RandomForest", n_estimators=40, **chosen)

    def time_fit(self, name, parameter):
        self.forest.fit(self.problem.X, self.problem.y, self.weight)
