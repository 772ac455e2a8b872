"""Random forests and extremely randomised trees."""

from dforest.estimators.declaration import has_parameters
from dforest.estimators.forest.ensemble import ForestClassifier, ForestRegressor
from dforest.estimators.forest.tree import ExtraTreeClassifier, ExtraTreeRegressor


@has_parameters("forest classifier", max_features="sqrt")
class RandomForestClassifier(ForestClassifier):
    """A random forest for classification: many decision trees, which vote on the class of a row.

    Each tree is grown on rows that are drawn at random, and tries some features, drawn at random too, at each node. The
    probability of a class is the mean over trees of its share in the leaf that a row reaches, and `predict` returns the most
    probable class. Missing values, categorical columns and sparse matrices need no preparation. The same data, parameters
    and `random_state` give the same forest to the bit, on any number of threads.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    RandomForestRegressor : A random forest for regression.
    ExtraTreesClassifier : A forest whose trees draw thresholds at random.
    HistGradientBoostingClassifier : Gradient-boosted trees for classification.
    DecisionTreeClassifier : A single tree.

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45(1), 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=50, oob_score=True, random_state=0).fit(X, y)
    >>> forest.predict(X[:2])
    array([0, 0])
    >>> forest.oob_score_ > 0.9
    True
    """


@has_parameters("forest regressor", max_features=1.0)
class RandomForestRegressor(ForestRegressor):
    """A random forest for regression: many decision trees, whose predictions are averaged.

    Each tree is grown on rows that are drawn at random; with `max_features`, it tries only some features, drawn at random too,
    at each node. The prediction for a row is the mean over trees of the value of the leaf that it reaches. Missing values,
    categorical columns and sparse matrices need no preparation. The same data, parameters and `random_state` give the same
    forest to the bit, on any number of threads.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    RandomForestClassifier : A random forest for classification.
    ExtraTreesRegressor : A forest whose trees draw thresholds at random.
    HistGradientBoostingRegressor : Gradient-boosted trees for regression.
    DecisionTreeRegressor : A single tree.

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45(1), 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(oob_score=True, random_state=0).fit(X, y)
    >>> forest.predict(X).shape
    (442,)
    >>> 0.4 < forest.oob_score_ < 0.45
    True
    """


@has_parameters("forest classifier", splitter="random", max_features="sqrt", bootstrap="auto", method="dense")
class ExtraTreesClassifier(ForestClassifier):
    """Extremely randomised trees for classification: a forest whose trees draw thresholds at random.

    At each node a tree draws some features at random, and one threshold for each of them, and takes the best of these splits.
    By default each tree is grown on all rows, unless columns have many labels. The probability of a class is the mean over trees
    of its share in the leaf that a row reaches. The same data, parameters and `random_state` give the same forest to the bit, on
    any number of threads.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    ExtraTreesRegressor : Extremely randomised trees for regression.
    RandomForestClassifier : A forest whose trees search for the best thresholds.
    ExtraTreeClassifier : A single extremely randomised tree.
    RandomTreesEmbedding : Rows as the leaves that they reach in random trees.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63(1), 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = ExtraTreesClassifier(n_estimators=50, random_state=0).fit(X, y)
    >>> forest.predict(X[:2])
    array([0, 0])
    >>> forest.predict_proba(X[:2]).shape
    (2, 3)
    """

    _tree_class = ExtraTreeClassifier


@has_parameters("forest regressor", splitter="random", max_features=1.0, bootstrap="auto", method="dense")
class ExtraTreesRegressor(ForestRegressor):
    """Extremely randomised trees for regression: a forest whose trees draw thresholds at random.

    At each node a tree draws one threshold at random for each of the features that it tries, all of them by default, and takes
    the best of these splits. By default each tree is grown on all rows, unless columns have many labels. The prediction for a row
    is the mean over trees of the value of the leaf that it reaches. The same data, parameters and `random_state` give the same
    forest to the bit, on any number of threads.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    ExtraTreesClassifier : Extremely randomised trees for classification.
    RandomForestRegressor : A forest whose trees search for the best thresholds.
    ExtraTreeRegressor : A single extremely randomised tree.
    RandomTreesEmbedding : Rows as the leaves that they reach in random trees.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63(1), 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = ExtraTreesRegressor(n_estimators=50, random_state=0).fit(X[100:], y[100:])
    >>> forest.predict(X[:100]).shape
    (100,)
    >>> forest.score(X[:100], y[:100]) > 0.3
    True
    """

    _tree_class = ExtraTreeRegressor
