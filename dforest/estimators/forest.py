"""Random forests and extremely randomised trees."""

from dforest.estimators.declaration import has_parameters
from dforest.estimators.ensemble import ForestClassifier, ForestRegressor
from dforest.estimators.tree import ExtraTreeClassifier, ExtraTreeRegressor


@has_parameters("forest classifier", max_features="sqrt")
class RandomForestClassifier(ForestClassifier):
    """A random forest for classification.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45(1), 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> RandomForestClassifier(random_state=0).fit(X, y).predict(X[:2])
    array([0, 0])
    """


@has_parameters("forest regressor", max_features=1.0)
class RandomForestRegressor(ForestRegressor):
    """A random forest for regression.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45(1), 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> RandomForestRegressor(random_state=0).fit(X, y).predict(X).shape
    (442,)
    """


@has_parameters("forest classifier", splitter="random", max_features="sqrt", bootstrap=False, method="dense")
class ExtraTreesClassifier(ForestClassifier):
    """Extremely randomised trees for classification.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63(1), 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreesClassifier(random_state=0).fit(X, y).predict(X[:2])
    array([0, 0])
    """

    _tree_class = ExtraTreeClassifier


@has_parameters("forest regressor", splitter="random", max_features=1.0, bootstrap=False, method="dense")
class ExtraTreesRegressor(ForestRegressor):
    """Extremely randomised trees for regression.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63(1), 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ExtraTreesRegressor(random_state=0).fit(X, y).predict(X).shape
    (442,)
    """

    _tree_class = ExtraTreeRegressor
