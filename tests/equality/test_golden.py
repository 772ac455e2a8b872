"""Forests that must not change: digests of them, in golden.json, as an earlier version grew them.

The other tests of equality compare forests of one version, so a change of rules that all engines share escapes them. A
digest is of what the trees say, node by node, and not of how the arrays are laid out: a change that means to keep every
forest leaves golden.json alone. One that means to change forests says so in CHANGELOG.md and writes the file again:

    DFOREST_RENEW_GOLDEN=1 pytest tests/equality/test_golden.py

Nothing here is random: the data come with scikit-learn, and what is missing, weighed or repeated follows from row numbers.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from helpers.digests import digest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris

import dforest

FILE = Path(__file__).with_name("golden.json")


def scattered(shape, one_in):
    """Where about one entry in `one_in` is to be other than the rest."""
    number = np.arange(np.prod(shape), dtype=np.uint64).reshape(shape)
    return (number * np.uint64(2654435761) % np.uint64(2**32) >> np.uint64(9)) % np.uint64(one_in) == 0


def with_holes(X):
    """A copy with missing and infinite values."""
    X = X.copy()
    X[scattered(X.shape, 9)] = np.nan
    X[scattered(X.shape, 31)] = np.inf
    return X


def weights(n, kind):
    if kind == "integers":
        return np.arange(n) * 7 % 5  # one in five is 0
    return 1 / (1 + np.arange(n) % 11)


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :12], y


def digits():
    X, y = load_digits(return_X_y=True)
    return X[:500], y[:500]


def diabetes():
    return load_diabetes(return_X_y=True, scaled=False)


def pixels():
    """Classes by categories of three columns, levels of two and numbers of two more."""
    X, y = load_digits(return_X_y=True)
    columns = [X[:, 20], 17 * X[:, 28] + X[:, 36], X[:, 43], X[:, 10], X[:, 50], X[:, 2:30].sum(1), X[:, 33:60].sum(1)]
    return np.stack(columns, axis=1)[:700], y[:700] % 3


def patients():
    """Numbers by categories, levels and numbers."""
    X, y = diabetes()
    return np.column_stack([X[:, 1], X[:, 0] // 4, X[:, 6] // 2, X[:, 2:6]]), y


MIXED = {"categorical_features": [0, 1, 2], "ordinal_features": [3, 4], "categorical_split": "subset"}
MIXED_NUMBERS = {"categorical_features": [0, 1], "ordinal_features": [2]}

# name: (X, y), parameters of the estimator, sample_weight
CLASSES = {
    "iris": (load_iris(return_X_y=True), {}, None),
    "cancer": (cancer(), {}, None),
    "cancer in float32": ((cancer()[0].astype(np.float32), cancer()[1]), {}, None),
    "cancer with holes and weights": ((with_holes(cancer()[0]), cancer()[1]), {}, "integers"),
    "digits": (digits(), {}, None),
    "pixels": (pixels(), MIXED, None),
    "pixels with holes and weights": ((with_holes(pixels()[0]), pixels()[1]), MIXED, "fractions"),
}
NUMBERS = {
    "diabetes": (diabetes(), {}, None),
    "diabetes with holes and weights": ((with_holes(diabetes()[0]), diabetes()[1]), {}, "fractions"),
    "an outlier": ((diabetes()[0], np.where(np.arange(442) == 17, 1e9, diabetes()[1] / 300)), {}, None),
    "patients": (patients(), MIXED_NUMBERS, None),
    "patients with holes and weights": ((with_holes(patients()[0]), patients()[1]), MIXED_NUMBERS, "integers"),
}

# What else may be asked, of the problems with holes and weights.
OPTIONS = {
    "best first": {"max_leaf_nodes": 11},
    "best first, random": {"max_leaf_nodes": 23, "splitter": "random"},
    "random": {"splitter": "random"},
    "depth": {"max_depth": 3},
    "leaves": {"min_samples_leaf": 6, "min_samples_split": 0.05},
    "weight of leaves": {"min_weight_fraction_leaf": 0.03},
    "decrease": {"min_impurity_decrease": 0.01},
    "impurity": {"impurity_threshold": 0.2},
    "one feature": {"max_features": 1},
    "three features": {"max_features": 3},
    "three features, constant ones count": {"max_features": 3, "skip_constant_features": False},
    "every row": {"bootstrap": False},
    "few draws": {"max_samples": 0.3},
    "many draws": {"max_samples": 2.5},
    "one category": {"categorical_split": "one_hot"},
    "pruned": {"ccp_alpha": 0.003},
    "out of bag": {"oob_score": True, "variable_importance": "mda_raw", "n_estimators": 12},
    "added trees": {"warm_start": True},
}
OF_CLASSES = {
    "balanced": {"class_weight": "balanced"},
    "balanced draws": {"class_weight": "balanced_subsample"},
    "labels ordered by trees": {"categorical_split": "auto"},
    "hard votes": {"voting": "hard", "min_samples_leaf": 9},
}
RISING = {"monotonic_cst": [0, 0, 0, 1, 0, -1, 0]}


def cases():
    """(name, class, problem, parameters)"""
    found = []
    for kind, problems, criteria in (
        ("Classifier", CLASSES, ["gini", "entropy"]),
        ("Regressor", NUMBERS, ["squared_error", "poisson", "absolute_error"]),
    ):
        for problem, (_, own, _) in problems.items():
            for family in ("RandomForest", "ExtraTrees"):
                for method in ("hist", "dense"):
                    for criterion in criteria:
                        name = f"{problem}, {family}, {method}, {criterion}"
                        found.append((name, family + kind, problem, {**own, "method": method, "criterion": criterion}))
        problem, own = ("pixels", MIXED) if kind == "Classifier" else ("patients", MIXED_NUMBERS)
        more = {**OPTIONS, **OF_CLASSES} if kind == "Classifier" else {**OPTIONS, "rising and falling": RISING}
        if kind == "Regressor":
            more["impurity"] = {"impurity_threshold": 500.0}
            more["decrease"] = {"min_impurity_decrease": 40.0}
            more["pruned"] = {"ccp_alpha": 50.0}
        for option, given in more.items():
            for method in ("hist", "dense"):
                name = f"{problem} with holes and weights, {method}, {option}"
                parameters = {**own, "method": method, **given}
                found.append((name, "RandomForest" + kind, f"{problem} with holes and weights", parameters))
    for method in ("hist", "dense"):
        for family in ("RandomForest", "ExtraTrees"):
            parameters = {"method": method, "criterion": "hellinger"}
            for problem in ("cancer", "cancer with holes and weights"):
                found.append((f"{problem}, {family}, {method}, hellinger", f"{family}Classifier", problem, parameters))
    for n in (5, 400):
        found.append((f"cancer, {n} bins", "RandomForestClassifier", "cancer", {"max_bins": n}))
        found.append((f"diabetes, {n} bins", "ExtraTreesRegressor", "diabetes", {"max_bins": n, "method": "hist"}))
    found += [
        ("iris, one tree", "DecisionTreeClassifier", "iris", {}),
        ("diabetes, one tree", "DecisionTreeRegressor", "diabetes", {}),
    ]
    return found


CASES = {name: rest for name, *rest in cases()}


def grow(kind, problem, parameters, n_jobs=1):
    (X, y), _, weight = {**CLASSES, **NUMBERS}[problem]
    model = getattr(dforest, kind)(random_state=7, **parameters)
    forest = hasattr(model, "n_estimators")
    if forest:
        model.set_params(n_jobs=n_jobs, n_estimators=parameters.get("n_estimators", 4))
    weight = None if weight is None else weights(len(y), weight)
    model.fit(X, y, weight)
    if parameters.get("warm_start"):
        model.set_params(n_estimators=9).fit(X, y, weight)
    return digest(model, X)


@pytest.fixture(scope="session")
def golden():
    if os.environ.get("DFOREST_RENEW_GOLDEN"):
        FILE.write_text(json.dumps({name: grow(*case) for name, case in CASES.items()}, indent=0) + "\n")
    return json.loads(FILE.read_text())


@pytest.mark.parametrize("case", CASES)
def test_forest_is_as_it_was(case, golden):
    assert grow(*CASES[case], n_jobs=2) == golden[case]


def test_nothing_is_left_out(golden):
    assert golden.keys() == CASES.keys()


def test_cases_differ(golden):
    """So that each shows something: pruning that cuts nothing, say, would not."""
    assert len(set(golden.values())) == len(golden)
