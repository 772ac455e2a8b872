"""Makes the models of this folder: ``python make.py xgboost`` or ``lightgbm``, whose version is in the name of the file.

A file has, by the names of models, what the library writes of them ("model"), rows, and for these the raw predictions and the
contributions of features, which are Shapley values and the expected value.
"""

import json
import sys
from pathlib import Path

import numpy as np

SHOWN = 25  # rows


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[:, 3] = rng.integers(0, 8, 300)
    y = X[:, 0] * X[:, 1] + X[:, 3] % 3 + 0.1 * rng.normal(size=300)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def cases(y):
    """(name, parameters of XGBoost, parameters of LightGBM, targets, whether the last column is categorical)"""
    three = np.digitize(y, [0.5, 1.5]).astype(float)
    yield "regression", {"objective": "reg:squarederror"}, {"objective": "regression"}, y, False
    yield "binary", {"objective": "binary:logistic"}, {"objective": "binary"}, (y > 1).astype(float), False
    several = {"num_class": 3}
    yield "multiclass", {"objective": "multi:softprob", **several}, {"objective": "multiclass", **several}, three, False
    yield "poisson", {"objective": "count:poisson"}, {"objective": "poisson"}, np.abs(y), False
    sampled = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}
    yield "averaged", {"booster": "dart", "rate_drop": 0.3}, sampled, y, False
    yield "categories", {"max_cat_to_onehot": 2}, {"cat_smooth": 1.0, "min_data_per_group": 5}, y, True


def of_xgboost(library, X, y, parameters, is_categorical):
    types = ["q", "q", "q", "c" if is_categorical else "q"]
    rows = library.DMatrix(X, y, feature_types=types, enable_categorical=True)
    booster = library.train({"max_depth": 3, "tree_method": "hist", **parameters}, rows, 3)
    rows = library.DMatrix(X[:SHOWN], feature_types=types, enable_categorical=True)
    model = json.loads(bytes(booster.save_raw("json")))
    return model, booster.predict(rows, output_margin=True), booster.predict(rows, pred_contribs=True)


def of_lightgbm(library, X, y, parameters, is_categorical):
    rows = library.Dataset(X, y, categorical_feature=[3] if is_categorical else [])
    booster = library.train({"num_leaves": 6, "verbose": -1, **parameters}, rows, 3)
    return booster.model_to_string(), booster.predict(X[:SHOWN], raw_score=True), booster.predict(X[:SHOWN], pred_contrib=True)


def main(name):
    library = __import__(name)
    X, y = data()
    made = {}
    for case, first, second, targets, is_categorical in cases(y):
        make, parameters = (of_xgboost, first) if name == "xgboost" else (of_lightgbm, second)
        model, raw, contributions = make(library, X, targets, parameters, is_categorical)
        shown = np.where(np.isnan(X[:SHOWN]), None, X[:SHOWN]).tolist()
        made[case] = {"model": model, "rows": shown, "raw": raw.tolist(), "contributions": contributions.tolist()}
    path = Path(__file__).parent / f"{name}_{library.__version__}.json"
    path.write_text(json.dumps(made, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
