"""The forests and boosted trees of several libraries, with parameters that are as much alike as they can be."""

import importlib
import pickle

import numpy as np

# Library: what it is called in tables, and the distribution whose version is told.
LIBRARIES = {
    "dforest": ("dforest", "dforest"),
    "dforest-dense": ('dforest, `method="dense"`', "dforest"),
    "sklearn": ("scikit-learn", "scikit-learn"),
    "sklearnex": ("scikit-learn-intelex", "scikit-learn-intelex"),
    "lightgbm": ("LightGBM", "lightgbm"),
    "xgboost": ("XGBoost", "xgboost"),
    "ydf": ("YDF", "ydf"),
    "dforest-extra": ("dforest, extra trees", "dforest"),
    "sklearn-extra": ("scikit-learn, extra trees", "scikit-learn"),
    "dforest-boosted": ("dforest, boosted trees", "dforest"),
    "lightgbm-boosted": ("LightGBM, boosted trees", "lightgbm"),
    "xgboost-boosted": ("XGBoost, boosted trees", "xgboost"),
    "sklearn-boosted": ("scikit-learn, boosted trees", "scikit-learn"),
    "hessboost-boosted": ("hessboost, boosted trees", "hessboost"),
}

BOOSTED = "-boosted"  # what names of boosted trees end in; others are forests
FORESTS = ("dforest", "dforest-dense", "sklearn", "sklearnex", "lightgbm", "xgboost", "ydf")
BOOSTERS = tuple(library for library in LIBRARIES if library.endswith(BOOSTED))


def model_by(library, task, tried, n_rows, n_features, trees, jobs, seed):
    """An unfitted model with fit, predict and set_params(n_jobs=...).

    Forests: no limits, and `tried` features at a node. Boosted trees: see `boosted_by`.
    """
    kind = "Classifier" if task == "classification" else "Regressor"
    if library.endswith(BOOSTED):
        return boosted_by(library.removesuffix(BOOSTED), kind, trees, jobs, seed)
    same = {"n_estimators": trees, "n_jobs": jobs, "random_state": seed}
    # Between tried and tried + 1/2 features, whether the product is rounded or cut off.
    share = (tried + 0.25) / n_features
    module, _, variant = library.partition("-")
    if module in ("dforest", "sklearn", "sklearnex"):
        ensemble = importlib.import_module(module if module == "dforest" else f"{module}.ensemble")
        forest = getattr(ensemble, ("ExtraTrees" if variant == "extra" else "RandomForest") + kind)
        return forest(max_features=tried, **({"method": "dense"} if variant == "dense" else {}), **same)
    if library == "lightgbm":
        import lightgbm

        # It draws rows without replacement; 0.632 of them are what a bootstrap draws at least once. It takes
        # time and memory for all leaves allowed, and for histograms of all of them (in MB) unless told not to.
        return getattr(lightgbm, f"LGBM{kind}")(
            boosting_type="rf", subsample=0.632, subsample_freq=1, feature_fraction_bynode=share,
            num_leaves=min(131_072, max(2, n_rows)), histogram_pool_size=1024,
            min_child_samples=1, min_child_weight=0.0, verbose=-1, **same,
        )  # fmt: skip
    if library == "xgboost":
        import xgboost

        return getattr(xgboost, f"XGBRF{kind}")(
            subsample=0.632, colsample_bynode=share, max_depth=0, min_child_weight=0.0, reg_lambda=0.0,
            tree_method="hist", **same,
        )  # fmt: skip
    return YdfForest(task, tried, **same)


def boosted_by(library, kind, rounds, jobs, seed):
    """Unfitted boosted trees of 31 leaves, grown best first, at most 255 bins, learning rate 0.1, all rows and features."""
    if library in ("dforest", "sklearn"):
        same = {"max_iter": rounds, "max_leaf_nodes": 31, "min_samples_leaf": 20, "learning_rate": 0.1, "random_state": seed}
        if library == "dforest":
            boosting = getattr(importlib.import_module("dforest"), f"HistGradientBoosting{kind}")
            return boosting(n_jobs=jobs, early_stopping=False, defaults="scikit-learn", **same)
        return SklearnBoosting(kind, jobs, early_stopping=False, **same)
    if library == "lightgbm":
        import lightgbm

        return getattr(lightgbm, f"LGBM{kind}")(
            n_estimators=rounds, num_leaves=31, min_child_samples=20, learning_rate=0.1, n_jobs=jobs, random_state=seed,
            verbose=-1,
        )  # fmt: skip
    # The others know no least number of rows, only of the sum of hessians: 1 a row, or about 1/4.
    same = {
        "n_estimators": rounds, "max_leaves": 31, "max_depth": 0, "grow_policy": "lossguide", "learning_rate": 0.1,
        "min_child_weight": 20.0 if kind == "Regressor" else 5.0, "reg_lambda": 0.0, "tree_method": "hist", "max_bin": 255,
        "n_jobs": jobs, "random_state": seed,
    }  # fmt: skip
    if library == "xgboost":
        import xgboost

        return getattr(xgboost, f"XGB{kind}")(**same)
    import hessboost.sklearn

    return getattr(hessboost.sklearn, f"Hessboost{kind}")(**same)


class SklearnBoosting:
    """scikit-learn's boosted trees, whose threads are OpenMP's, with n_jobs."""

    def __init__(self, kind, n_jobs, **parameters):
        import sklearn.ensemble

        self.model = getattr(sklearn.ensemble, f"HistGradientBoosting{kind}")(**parameters)
        self.set_params(n_jobs)

    def set_params(self, n_jobs):
        import threadpoolctl

        threadpoolctl.threadpool_limits(n_jobs, user_api="openmp")

    def fit(self, X, y):
        self.model.fit(X, y)

    def predict(self, X):
        return self.model.predict(X)


class YdfForest:
    """YDF's forest behind scikit-learn's methods; tables are dicts of arrays, as it wants them."""

    def __init__(self, task, tried, n_estimators, n_jobs, random_state):
        import ydf

        ydf.verbose(0)
        self.is_classifier = task == "classification"
        self.n_jobs = n_jobs
        self.learner = ydf.RandomForestLearner(
            label="y",
            task=ydf.Task.CLASSIFICATION if self.is_classifier else ydf.Task.REGRESSION,
            num_trees=n_estimators,
            num_candidate_attributes=tried,
            min_examples=1,
            max_depth=-1,
            winner_take_all=False,
            compute_oob_performances=False,
            num_threads=n_jobs,
            random_seed=random_state,
        )

    def fit(self, X, y):
        self.model = self.learner.train({"x": X, "y": y})

    def predict(self, X):
        predicted = self.model.predict({"x": X}, num_threads=self.n_jobs)
        if not self.is_classifier:
            return predicted
        best = predicted.argmax(axis=1) if predicted.ndim == 2 else predicted > 0.5
        return np.array(self.model.label_classes(), int)[best.astype(int)]

    def set_params(self, n_jobs):
        self.n_jobs = n_jobs


def serialised(model):
    return model.model.serialize() if isinstance(model, YdfForest) else pickle.dumps(model)


def use_one_thread(library, model):
    model.set_params(n_jobs=1)
    if library.startswith("xgboost"):
        model.get_booster().set_param({"nthread": 1})
