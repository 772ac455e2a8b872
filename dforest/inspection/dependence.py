"""Pictures of partial dependence: scikit-learn's display of what the method `partial_dependence` computes."""

from numbers import Integral

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from dforest.core.sparse_rows import dense
from dforest.estimators.data.outputs import classes_of
from dforest.estimators.one_fit import as_fitted
from dforest.estimators.results.dependence import number_of
from dforest.inspection.export import names_of_features


class PartialDependenceDisplay:
    """Pictures of how predictions depend on one feature, or on two: a maker of scikit-learn's displays.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import dforest
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = dforest.RandomForestRegressor(min_samples_leaf=5, random_state=0).fit(X, y)
    >>> display = dforest.PartialDependenceDisplay.from_estimator(forest, X, ["bmi", ("bmi", "s5")])
    """

    @staticmethod
    def from_estimator(estimator, X, features, *, target=None, grid_resolution=100, percentiles=(0.05, 0.95), custom_values=None,
                       feature_names=None, **kwargs):  # fmt: skip
        """Compute the partial dependence by recursion, and draw it.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator of dforest that has the method `partial_dependence`.
        X : array-like of shape (n_rows, n_features)
            Rows whose values make the grid; marks at the axis show their deciles.
        features : list of int, str, or tuple of two of them
            What to draw: a line for each feature, bars for one with labels, and contours for each pair. The features of a pair
            have both labels, or none of them has.
        target : label of a class, int or tuple, default=None
            Of more than two classes, the one to draw, which has to be given. Of two classes, the second one is drawn, as by
            scikit-learn, and either label may be given. Regression takes None. Of several outputs, one has to be given by its
            number, from 0 on: for regression the number alone, for classification a tuple of the number and what is said of
            `target` above. The y axis of lines and bars names the class, and the output if there are several.
        grid_resolution, percentiles, custom_values
            See the method `partial_dependence`.
        feature_names : list of str, default=None
            Names for the axes. None means those that the estimator was fitted with, or the numbers of the features.
        **kwargs
            What scikit-learn's display takes to draw, such as `ax` and `n_cols`.

        Returns
        -------
        sklearn.inspection.PartialDependenceDisplay

        Raises
        ------
        ValueError
            If a parameter is not as described.
        ImportError
            If matplotlib is not installed.
        """
        from sklearn.inspection import PartialDependenceDisplay as Display

        estimator = as_fitted(estimator)
        check_is_fitted(estimator)
        output, drawn, what = _target(estimator, target)
        names = [str(name) for name in names_of_features(estimator, feature_names)]
        groups = [tuple(each) if isinstance(each, list | tuple) else (each,) for each in features]
        numbers = [tuple(number_of(estimator, feature) for feature in group) for group in groups]
        has_labels = [tuple(estimator._features.categories[j] is not None for j in group) for group in numbers]
        if not groups:
            raise ValueError("features is empty; allowed are one feature or more")
        for group, labels in zip(groups, has_labels, strict=True):
            if len(group) > 2 or len(set(labels)) > 1:
                raise ValueError(f"features holds {group!r}; allowed are one feature or two, both with labels or both without")
        results = [
            estimator.partial_dependence(
                X, list(group), grid_resolution=grid_resolution, percentiles=percentiles, custom_values=custom_values
            )
            for group in numbers
        ]
        for result in results:
            if isinstance(result.average, list):  # by output
                result.average = result.average[output]
        tenths = np.arange(0.1, 1.0, 0.1)
        encoded = dense(estimator._checked_rows(X))
        deciles = {j: np.nanquantile(encoded[:, j], tenths) for group in numbers for j in group}
        display = Display(
            results, features=numbers, feature_names=names, target_idx=drawn, deciles=deciles, is_categorical=has_labels
        )
        display.plot(**kwargs)
        for axes in display.axes_.flat:
            if what is not None and axes is not None and axes.get_ylabel() == "Partial dependence":
                axes.set_ylabel(f"Partial dependence\n({what})")
        return display


def _target(estimator, target):
    """(the number of the output to draw, the number of the average of that output's classes, what it is, or None)."""
    n_outputs = len(classes_of(estimator)) if is_classifier(estimator) else estimator.forest_.objective.n_outputs
    if not is_classifier(estimator):
        if n_outputs == 1 and target is not None:
            raise ValueError(f"target={target!r}; allowed for regression is None")
        output = None if n_outputs == 1 else _output_number(target, target, n_outputs)
        return output, output or 0, None if output is None else f"output {output}"
    output, label, of = 0, target, ""
    if n_outputs > 1:
        if not (isinstance(target, tuple) and len(target) == 2):
            raise ValueError(f"target={target!r}; allowed for {n_outputs} outputs are tuples of an output's number and a class")
        output, label, of = _output_number(target, target[0], n_outputs), target[1], f" of output {target[0]}"
    labels = classes_of(estimator)[output].tolist()
    is_binary = len(labels) == 2
    if label not in labels and not (is_binary and label is None):
        raise ValueError(f"target={target!r}; allowed are {'None and ' * is_binary}the classes{of} {labels}")
    number = 1 if is_binary else labels.index(label)
    kind = "probability" if estimator.forest_.objective.baseline is None else "raw prediction"
    return output, 0 if is_binary else number, f"{kind} of {labels[number]}{of and ',' + of[3:]}"


def _output_number(target, number, n_outputs):
    """The number of an output, which a target has to name."""
    if not isinstance(number, Integral) or isinstance(number, bool) or not 0 <= number < n_outputs:
        raise ValueError(f"target={target!r}; allowed are outputs from 0 to {n_outputs - 1}")
    return int(number)
