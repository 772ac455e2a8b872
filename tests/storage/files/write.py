"""Write the files of this folder, once for each version of the format; files that are there stay as they are.

    python tests/storage/files/write.py
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

import dforest

FOLDER = Path(__file__).parent
VERSION = 1


def models():
    X, y = load_iris(return_X_y=True)
    X[::9, 2] = np.nan
    X[:, 3] = X[:, 3].round()
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    yield "forest", dforest.RandomForestClassifier(4, categorical_features=[3], oob_score=True, random_state=0).fit(X, names), X
    yield "hard", dforest.ExtraTreesClassifier(4, voting="hard", random_state=0).fit(X.astype(np.float32), y), X
    yield "regression", dforest.RandomForestRegressor(4, criterion="absolute_error", random_state=0).fit(X, X[:, 0] ** 2), X
    yield "tree", dforest.DecisionTreeRegressor(max_leaf_nodes=9, random_state=0).fit(X, X[:, 0]), X
    yield "boosting", dforest.HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=7, random_state=0).fit(X, names), X
    yield "embedding", dforest.RandomTreesEmbedding(3, max_depth=3, random_state=0).fit(X[:, :2]), X[:, :2]


def main():
    for name, model, X in models():
        path = FOLDER / f"{name}-{VERSION}.safetensors"
        if path.exists():
            continue
        known = {way: getattr(model, way)(X) for way in ("predict", "predict_proba", "apply") if hasattr(model, way)}
        if hasattr(model, "transform"):
            known["transform"] = model.transform(X).toarray()
        model.save(path)
        np.savez_compressed(path.with_suffix(".npz"), X=X, **known)


if __name__ == "__main__":
    main()
