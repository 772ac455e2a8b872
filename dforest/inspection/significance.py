"""Whether importances are more than chance: importances by impurity without their bias, and p-values of importances.

Splits by a column without any bearing on y still decrease the impurity, the more so the more different values it has. Three ways
to allow for that: the impurity decrease of a permuted copy of each column is subtracted [1]_; the importances below 0 tell how
those of columns without any bearing spread [2]_; importances of a permuted y tell the same, at the price of many fits [3]_.

References
----------
.. [1] S. Nembrini, I. R. König, M. N. Wright, "The revival of the Gini importance?", Bioinformatics 34(21), 2018.
.. [2] S. Janitza, E. Celik, A.-L. Boulesteix, "A computationally fast variable importance test for random forests for
   high-dimensional data", Advances in Data Analysis and Classification 12(4), 2018.
.. [3] A. Altmann, L. Toloşi, O. Sander, T. Lengauer, "Permutation importance: a corrected feature importance measure",
   Bioinformatics 26(10), 2010.
"""

from collections.abc import Mapping
from numbers import Integral, Real

import numpy as np
from scipy.sparse import hstack, issparse
from sklearn.utils import Bunch, _safe_indexing

from dforest.estimators.data.features import numbers_of
from dforest.estimators.data.given import check_number, given_values
from dforest.estimators.data.tables import given_rows
from dforest.estimators.data.validation import count_features
from dforest.estimators.kinds import Forest
from dforest.estimators.randomness import check_random_state
from dforest.estimators.subclasses import unfitted
from dforest.warning import warn

SHADOW = "permuted_"  # before the name of a column whose values are permuted
FEW_NEGATIVE = 100  # importances below 0, fewer of which make p-values inaccurate


def _with_permuted_rows(X, order, names):
    """X, with all of its columns once more, in which rows stand in another order. Without names, columns have numbers."""
    permuted = _safe_indexing(X, order)
    if issparse(X):
        return hstack([X, permuted], format="csr")
    if hasattr(X, "iloc"):
        permuted = permuted.set_axis(X.index, axis=0)
        if names is None:
            n = X.shape[1]
            return X.set_axis(range(n), axis=1).join(permuted.set_axis(range(n, 2 * n), axis=1))
        return X.join(permuted.add_prefix(SHADOW))
    if hasattr(X, "columns"):
        kind = f"{type(X).__module__}.{type(X).__name__}"
        raise TypeError(f"X is a {kind}; allowed are frames of pandas, arrays and sparse matrices")
    return np.hstack([np.asarray(X), np.asarray(permuted)])


def _for_both(forest, n_features, names):
    """The parameters of a forest for X with permuted columns, where they are about columns."""
    is_auto = forest.max_features == "auto"  # fits choose it
    changed = {} if is_auto else {"max_features": count_features(forest.max_features, n_features)}
    for name in ("categorical_features", "ordinal_features", "always_split_features"):
        chosen = getattr(forest, name)
        if chosen is not None and not isinstance(chosen, str):
            own = numbers_of(name, chosen, n_features, names)
            changed[name] = [*own, *(j + n_features for j in own)]
    for name in ("feature_weights", "regularization_factor"):
        given = getattr(forest, name)
        if isinstance(given, Mapping):
            own = dict(zip(numbers_of(name, list(given), n_features, names), given.values(), strict=True))
            changed[name] = own | {j + n_features: number for j, number in own.items()}
        elif given is not None and not isinstance(given, Real):
            changed[name] = np.tile(np.asarray(given), 2)
    return changed


def _given(**arguments):
    """The arguments that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}


def corrected_importance(forest, X, y, sample_weight=None, *, random_state=None, groups=None):
    """Compute importances by impurity that are 0 on average for columns without any bearing on y.

    A copy of the forest is grown on all columns and on a copy of each, in which the rows stand in another order. What splits by
    the copy decrease the impurity is subtracted from what splits by the column do [1]_. The importances of columns without any
    bearing are then as often below 0 as above, however many values they have.

    Parameters
    ----------
    forest : RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier or ExtraTreesRegressor, or one for survival times
        Its parameters count; it need not be fitted, and stays as it is. As many columns are tried at each node as it would try.
    X : array-like, frame of pandas or sparse matrix of shape (n_rows, n_features)
        Training rows.
    y : array-like
        Targets, as for `fit`.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the order in which the copies have the rows.
    groups : array-like of shape (n_rows,), optional
        Groups of the rows, as for `fit` of a forest with ``bootstrap="group"``.

    Returns
    -------
    ndarray of shape (n_features,), dtype float64
        The importances, in the unit of `variable_importance_` by "mdi".

    Raises
    ------
    ValueError
        If the forest has monotonic constraints.
    TypeError
        If it is no forest, or if X is a frame of another library.

    References
    ----------
    .. [1] S. Nembrini, I. R. König, M. N. Wright, "The revival of the Gini importance?", Bioinformatics 34(21), 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest import RandomForestClassifier, corrected_importance
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((300, 5))
    >>> y = X[:, 0] > 0.5
    >>> found = corrected_importance(RandomForestClassifier(random_state=0), X, y, random_state=0)
    >>> int(found.argmax())
    0
    """
    if not isinstance(forest, Forest) or "variable_importance" not in forest._defaults:
        raise TypeError(f"forest is a {type(forest).__name__}; allowed are forests that have the parameter variable_importance")
    if forest.monotonic_cst is not None:
        raise ValueError(f"monotonic_cst={forest.monotonic_cst!r} of the forest; allowed is None, as copies of columns have none")
    X = given_rows(X)
    X = X if hasattr(X, "iloc") or hasattr(X, "columns") or issparse(X) else np.asarray(X)
    n_rows, n_features = X.shape
    names = list(X.columns) if hasattr(X, "columns") else None
    names = names if names is not None and all(isinstance(name, str) for name in names) else None
    grown = unfitted(forest)
    vars(grown).update(variable_importance="mdi", warm_start=False, **_for_both(forest, n_features, names))
    both = _with_permuted_rows(X, check_random_state(random_state).permutation(n_rows), names)
    grown.fit(both, y, **_given(sample_weight=sample_weight, groups=groups))
    own, of_copies = np.split(grown.variable_importance_, 2)
    return own - of_copies


def importance_pvalues(importances):
    """Compute p-values of importances from those of them that are below 0.

    The importances of columns without any bearing on y are assumed to spread alike on both sides of 0. So those below 0, with
    their mirror images and those that are 0, show how they spread; the p-value of a column is the share of these that are not
    less than its importance [1]_. This needs many columns, of which many have no bearing, and importances that are as often below
    0 as above it for these: those of `corrected_importance`, or by permutation on rows that trees left out.

    Parameters
    ----------
    importances : array-like of shape (n_features,)
        Finite numbers.

    Returns
    -------
    ndarray of shape (n_features,), dtype float64

    Raises
    ------
    ValueError
        If no importance is below 0, or if one is not finite.

    Warns
    -----
    UserWarning
        If fewer than 100 are below 0, which makes p-values inaccurate.

    References
    ----------
    .. [1] S. Janitza, E. Celik, A.-L. Boulesteix, "A computationally fast variable importance test for random forests for
       high-dimensional data", Advances in Data Analysis and Classification 12(4), 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest import importance_pvalues
    >>> importances = np.r_[np.random.default_rng(0).standard_normal(400), 8.0]
    >>> pvalues = importance_pvalues(importances)
    >>> float(pvalues[-1]), bool((pvalues[:-1] < 0.05).mean() < 0.1)
    (0.0, True)
    """
    found = np.asarray(importances, np.float64)
    if found.ndim != 1 or not np.isfinite(found).all():
        raise ValueError(f"importances={importances!r}; allowed are finite numbers in an array of one axis")
    below = found[found < 0]
    if len(below) == 0:
        raise ValueError("no importance is below 0, so that nothing tells how far chance goes; allowed are some that are")
    if len(below) < FEW_NEGATIVE:
        warn(f"only {len(below)} importances are below 0, so that p-values are inaccurate; they need {FEW_NEGATIVE} or more")
    spread = np.sort(np.concatenate([below, -below, found[found == 0]]))
    return 1.0 - np.searchsorted(spread, found, side="left") / len(spread)


def importance_permutation_test(
    estimator, X, y, *, importance=None, n_permutations=100, random_state=None, sample_weight=None, groups=None
):
    """Compute importances, and their p-values by fits to a permuted y.

    Where y is permuted, no column has any bearing on it. The p-value of a column is the share of such fits in which its
    importance is not less than in the fit to y, where this one counts too [1]_: ``(1 + n_not_less) / (1 + n_permutations)``.

    Parameters
    ----------
    estimator : estimator
        It need not be fitted, and stays as it is.
    X, y
        The data, as for `fit`.
    importance : callable, default=None
        A function of a fitted estimator, X and y that returns the importances. None means its attribute `feature_importances_`.
    n_permutations : int, default=100
        Number of fits to a permuted y, from 1 on.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the permutations.
    sample_weight, groups : array-like of shape (n_rows,), optional
        Weights and groups of the rows, as for `fit`. They stay with the rows of X, and y is permuted among all rows, whatever
        their weights and groups.

    Returns
    -------
    Bunch
        importances : ndarray of shape (n_features,)
            Of the fit to y.
        pvalues : ndarray of shape (n_features,)
            Above 0 and up to 1.
        permuted_importances : ndarray of shape (n_features, n_permutations)
            Of the fits to a permuted y.

    References
    ----------
    .. [1] A. Altmann, L. Toloşi, O. Sander, T. Lengauer, "Permutation importance: a corrected feature importance measure",
       Bioinformatics 26(10), 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier, importance_permutation_test
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0)
    >>> found = importance_permutation_test(forest, X, y, n_permutations=19, random_state=0)
    >>> float(found.pvalues[2])
    0.05
    """
    n_permutations = check_number("n_permutations", n_permutations, Integral, "integers from 1", lambda n: n >= 1)
    draws = check_random_state(random_state)
    X, y = given_rows(X), y if hasattr(y, "iloc") else given_values("y", y)
    told = _given(sample_weight=sample_weight, groups=groups)

    def look(y):
        fitted = unfitted(estimator).fit(X, y, **told)
        return np.asarray(fitted.feature_importances_ if importance is None else importance(fitted, X, y), np.float64)

    found = look(y)
    permuted = [look(_safe_indexing(y, draws.permutation(len(y)))) for _ in range(n_permutations)]
    permuted = np.stack(permuted, axis=1)
    pvalues = (1.0 + (permuted >= found[:, None]).sum(axis=1)) / (1.0 + n_permutations)
    return Bunch(importances=found, pvalues=pvalues, permuted_importances=permuted)
