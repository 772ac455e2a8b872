"""What programs say of dforest, for checkers of types: nobody runs it. Lines that are to be errors say so."""

from collections.abc import Callable

import numpy as np
import pandas as pd

import dforest
from dforest import (
    AutoForestRegressor,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomSurvivalForest,
)
from dforest.criterion import Entropy
from dforest.sampling import GroupSampling

X = np.random.default_rng(0).random((100, 3))
y = (X[:, 0] > 0.5).astype(int)


def score(model: RandomForestClassifier, X: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(model.predict(X) == y))


scorer: Callable[[RandomForestClassifier, np.ndarray, np.ndarray], float] = score
model = RandomForestClassifier(
    200, max_features=0.5, bootstrap="weighted", categorical_features=[0], class_weight={0: 2.0}, oob_score=scorer, n_jobs=-1
)
model.fit(X, y)
probability = np.asarray(model.predict_proba(X))
RandomForestClassifier(criterion=Entropy, bootstrap=GroupSampling(), monotonic_cst=[0, 1], random_state=np.random.RandomState(0))
RandomForestClassifier(criterion=Entropy(), max_features="sqrt", max_samples=0.5, min_samples_leaf=0.01, max_leaf_nodes=None)
ExtraTreesRegressor(max_features=2, min_samples_split=0.1, feature_weights={"a": 2.0}, random_state=np.random.default_rng(0))
HistGradientBoostingRegressor(early_stopping=True, max_iter=10, loss="poisson", interaction_cst=[[0, 1], [2]])
HistGradientBoostingClassifier(defaults="scikit-learn", categorical_features=np.array([True, False, False]))
IsolationForest(contamination=0.1, max_samples=256)
RandomSurvivalForest(min_samples_leaf=3, max_depth=4)
AutoForestRegressor(members=["random_forest"], time_limit=60)
table = pd.DataFrame(X, columns=["a", "b", "c"])
HistGradientBoostingRegressor().fit(table, table["a"]).predict(table)
model.save("model.safetensors")
dforest.load("model.safetensors")
text: str = model.digest()

RandomForestClassifier(method="exact")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
RandomForestClassifier(n_estimators="many")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
HistGradientBoostingRegressor(max_depth="deep")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
RandomForestClassifier(n_trees=5)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
