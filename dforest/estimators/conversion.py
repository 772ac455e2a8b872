"""What makes an estimator a model of another library, by `dforest.conversion`, which is imported when it is asked for."""

from importlib import import_module

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dforest.estimators.outputs import check_one_output


class ExportPart:
    """What gives a forest, a single tree or boosted trees to other libraries."""

    def to_onnx(self, *, dtype=np.float64, verify=True):
        """Make an ONNX model that predicts the same.

        Its input is ``"X"``, of shape (n_rows, n_features). The outputs of a classifier are ``"label"`` and
        ``"probabilities"``, of shape (n_rows,) and (n_rows, n_classes); that of a regressor is ``"variable"``, of shape
        (n_rows, 1). Categories are what they are in X, integers up to 16,777,216 in magnitude.

        With ``dtype=np.float64``, onnxruntime's means over trees and sums of trees have the same bits as here, on any number of
        threads. Exponentials, which follow the raw predictions of some boosted trees, may differ in their last bits. With
        ``dtype=np.float32``, rows are of float32, and reach the same leaves as here; what these say is added up in float32.

        Trees are one operator, ``TreeEnsemble`` of ai.onnx.ml 5. onnxruntime before 1.24 lacks it, or reaches wrong leaves.

        Parameters
        ----------
        dtype : {numpy.float64, numpy.float32}, default=numpy.float64
            The type of X and of what is predicted.
        verify : bool, default=True
            Whether to run the model in onnxruntime and to compare what it predicts with what this estimator does: for rows that
            reach up to 2,000 nodes of the trees, with a value at the node's threshold, next to it on either side, infinite, or
            missing, or a category on either side, or an unknown one. With False, nothing is compared.

        Returns
        -------
        onnx.ModelProto
            Which ``onnx.save`` writes to a file.

        Raises
        ------
        ValueError
            If ONNX can't have what the estimator has: categories that are no such integers, labels of levels, tests of a
            splitter's own, a loss of your own, labels of classes of other types than text, booleans, integers and floats. Also
            if the model would have more than 2 GiB, or, for float32, more than 16,777,216 distinct leaves.
        ConversionError
            If any prediction differs. The message has the first row for which it does.
        ImportError
            If onnx, or to verify it onnxruntime, is not installed: the extra is ``dforest[onnx]``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from dforest import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
        >>> model = forest.to_onnx()
        >>> [output.name for output in model.graph.output]
        ['label', 'probabilities']
        """
        check_is_fitted(self)
        check_one_output(self, "to_onnx")
        return import_module("dforest.conversion.onnx").to_onnx(self, dtype, verify)

    def to_treelite(self, *, verify=True):
        """Make a model of treelite that predicts the same, as cuML's inference and TL2cgen take it.

        Thresholds and leaves are of float64. Predictions by ``treelite.gtil`` have the same bits as here: means over trees, and
        raw predictions of boosted trees; exponentials that follow these may differ in their last bits. Categories are what they
        are in X, which treelite allows to be integers from 0.

        Parameters
        ----------
        verify : bool, default=True
            Whether to compare what ``treelite.gtil`` predicts with what this estimator does, on rows as for `to_onnx`. With
            False, nothing is compared.

        Returns
        -------
        treelite.Model
            A classifier of two classes whose trees are boosted predicts the probability of the second class; others predict all
            probabilities.

        Raises
        ------
        ValueError
            If treelite can't have what the estimator has: categories that are no integers from 0, labels of levels, tests of a
            splitter's own, a loss of your own.
        ConversionError
            If any prediction differs. The message has the first row for which it does.
        ImportError
            If treelite is not installed: the extra is ``dforest[treelite]``.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from dforest import RandomForestRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> RandomForestRegressor(n_estimators=5, random_state=0).fit(X, y).to_treelite().num_tree
        5
        """
        check_is_fitted(self)
        check_one_output(self, "to_treelite")
        return import_module("dforest.conversion.treelite").to_treelite(self, verify)

    def to_shap(self, *, verify=True):
        """Make what `shap.TreeExplainer` takes in place of a model.

        Values add up to what a forest predicts, the probabilities of a classifier, or to raw predictions of boosted trees.

        Parameters
        ----------
        verify : bool, default=True
            Whether to compare which leaves rows reach in shap's trees with those here, on rows as for `to_onnx`. With False,
            nothing is compared.

        Returns
        -------
        dict

        Raises
        ------
        ValueError
            If a column holds categories or labels, or if a splitter makes tests of its own: shap's trees can't.
        ConversionError
            If any leaf differs. The message has the first row for which it does.
        ImportError
            If shap is not installed, to verify it: the extra is ``dforest[shap]``.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from dforest import RandomForestRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = RandomForestRegressor(n_estimators=5, random_state=0).fit(X, y).to_shap()
        >>> len(model["trees"])  # shap.TreeExplainer(model) explains them
        5
        """
        check_is_fitted(self)
        check_one_output(self, "to_shap")
        return import_module("dforest.conversion.shap").to_shap(self, verify)


class ConversionPart(ExportPart):
    """What gives a forest, or a single tree, to other libraries, as scikit-learn's own too."""

    def to_sklearn(self, *, verify=True):
        """Make the scikit-learn estimator of the same name that predicts the same.

        It is an estimator of scikit-learn's own class, for tools that ask for one, such as
        ``partial_dependence(method="recursion")``. It has the parameters that both classes have, where scikit-learn allows the
        values; others keep scikit-learn's defaults. ``voting="hard"`` is in the values of the leaves.

        scikit-learn's trees round X to float32, so that a row of float64 next to a threshold may take another way than here; for
        rows of float32 all predictions have the same bits. They are means over trees, which scikit-learn's forests add up in any
        order if `n_jobs` is above 1, so that last bits differ then. Infinite values, which scikit-learn's estimators refuse,
        can't be predicted, nor missing values where its parameters rule them out, as `monotonic_cst` does.

        Parameters
        ----------
        verify : bool, default=True
            Whether to compare what the new estimator predicts with what this one does: for rows of float32 that reach up to
            2,000 nodes of the trees, with a value at the node's threshold, next to it on either side, or missing. With False,
            nothing is compared.

        Returns
        -------
        sklearn.base.BaseEstimator
            A fitted ``sklearn.ensemble.RandomForestClassifier``, for example, which shares nothing with this estimator.

        Raises
        ------
        ValueError
            If a column holds categories or labels, or if a splitter makes tests of its own: scikit-learn's trees can't.
        ConversionError
            If any prediction differs. The message has the first row for which it does.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from dforest import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> X = X.astype(np.float32)
        >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
        >>> bool((forest.to_sklearn().predict_proba(X) == forest.predict_proba(X)).all())
        True
        """
        check_is_fitted(self)
        check_one_output(self, "to_sklearn")
        return import_module("dforest.conversion.sklearn").to_sklearn(self, verify)
