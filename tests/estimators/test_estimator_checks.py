"""scikit-learn's own checks of estimators."""

from helpers.rings import ALL
from sklearn.utils.estimator_checks import parametrize_with_checks

from dforest import (
    AutoForestClassifier,
    AutoForestRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)

# In the short ring, boosted trees of blends do not look for their number of iterations.
QUICK = {"max_iter": 10, "early_stopping": False}
MEMBERS = [
    None if ALL else ["random_forest", "extra_trees", ("boosted_trees", kind(**QUICK))]
    for kind in (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
]
ESTIMATORS = [
    AutoForestClassifier(n_estimators=10, members=MEMBERS[0]),
    AutoForestRegressor(n_estimators=10, members=MEMBERS[1]),
    DecisionTreeClassifier(),
    DecisionTreeClassifier(method="dense", criterion="entropy"),
    DecisionTreeRegressor(),
    DecisionTreeRegressor(method="dense"),
    RandomForestClassifier(n_estimators=10),
    RandomForestClassifier(n_estimators=10, bootstrap=False, voting="hard"),
    RandomForestClassifier(n_estimators=10, bootstrap=False, method="dense"),
    RandomForestClassifier(n_estimators=10, max_features="auto", min_samples_leaf="auto"),
    RandomForestRegressor(n_estimators=10),
    RandomForestRegressor(n_estimators=10, bootstrap=False),
    RandomForestRegressor(n_estimators=10, bootstrap=False, method="dense"),
    ExtraTreesClassifier(n_estimators=10),
    ExtraTreesRegressor(n_estimators=10, method="dense"),
    ExtraTreesRegressor(n_estimators=10, max_features="auto", min_samples_leaf="auto"),
    ExtraTreeClassifier(),
    ExtraTreeRegressor(),
    RandomTreesEmbedding(n_estimators=10, sparse_output=False),
    IsolationForest(n_estimators=10),
    IsolationForest(n_estimators=10, method="hist", contamination=0.1, bootstrap=True),
    HistGradientBoostingClassifier(max_iter=10, min_samples_leaf=5, defaults="scikit-learn"),
    HistGradientBoostingClassifier(max_iter=10, min_samples_leaf=1, early_stopping=True, validation_fraction=None),
    HistGradientBoostingClassifier(max_iter=10, min_samples_leaf=5, early_stopping=True),
    HistGradientBoostingRegressor(max_iter=10, min_samples_leaf=1, defaults="scikit-learn"),
    HistGradientBoostingRegressor(max_iter=10, min_samples_leaf=5, loss="absolute_error", defaults="scikit-learn"),
    HistGradientBoostingRegressor(max_iter=10, min_samples_leaf=5, early_stopping=True),
]


def expected_failures(estimator):
    equivalence = "check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"
    draws = IsolationForest | AutoForestClassifier | AutoForestRegressor
    if getattr(estimator, "bootstrap", False) not in (False, "auto") or isinstance(estimator, draws):
        return dict.fromkeys(equivalence, "a bootstrap draws from other rows when some of them are left out or repeated")
    failures = {}
    if getattr(estimator, "max_iter", None) and estimator.min_samples_leaf > 1:
        failures |= dict.fromkeys(equivalence, "min_samples_leaf counts rows, whatever their weights")
    if isinstance(estimator, HistGradientBoostingClassifier):
        failures["check_classifier_multioutput"] = "with a decision_function, classes_ is expected to be one array"
    return failures


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)
