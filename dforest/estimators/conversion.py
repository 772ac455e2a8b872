"""Methods that make an estimator a model of another library: functions that classes of estimators take as theirs.

`dforest.interchange.conversion` is imported when it is asked for.
"""

from importlib import import_module

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dforest.estimators.results.calibration import check_leaves_predict


def to_onnx(self, *, dtype=np.float64, operators="exact", verify=True):
    """Make an ONNX model that predicts what this estimator predicts.

    The model's input is ``"X"``, of shape (n_rows, n_features). The outputs of a classifier are ``"label"`` and
    ``"probabilities"``, of shape (n_rows,) and (n_rows, n_classes); the output of a regressor is ``"variable"``, of shape
    (n_rows, n_outputs). A classifier of several outputs has ``"label_0"``, ``"probabilities_0"``, ``"label_1"`` and so on, as
    their classes may have different types. An isolation forest has ``"label"``, ``"scores"`` and ``"score_samples"``, of
    shape (n_rows, 1): what its `predict`, `decision_function` and `score_samples` return. The output of a
    `RandomTreesEmbedding` is ``"variable"``, the dense array of `transform`. Categories are the numbers that they are in X,
    which must be integers up to 16,777,216 in magnitude.

    If a column holds text, each column is an input of its own in place of ``"X"``, of shape (n_rows, 1). Inputs have the
    names of columns, or ``"x0"``, ``"x1"``, ... if columns have none. If a column has the name of an output, the output's
    name begins with an underscore: ``"_label"``. Text that is no label of training, such as what stands for a missing value,
    goes where missing values go.

    With ``dtype=np.float64``, means over trees and sums of trees that onnxruntime computes have the same bits as here, on any
    number of threads; exponentials, which follow the raw predictions of some boosted trees and make the scores of isolation
    forests, may differ in their last bits. With ``dtype=np.float32``, rows are of float32 and reach the same leaves as here,
    but the values of these leaves are added up in float32.

    All trees are one operator, ``TreeEnsemble`` of ai.onnx.ml 5, which onnxruntime runs correctly from version 1.24 on. With
    ``operators="classic"`` they are a ``TreeEnsembleClassifier`` or a ``TreeEnsembleRegressor``, as other converters make
    them, which older runtimes and other tools know. Rows reach the same leaves; but values of leaves are added up by that
    operator, in any order, and the results are of float32. Where the probabilities of two classes are the same but for that
    rounding, either may be the label.

    A loss of your own is not known to ONNX: a regressor's output is the raw prediction then, and a classifier has
    ``"raw_predictions"``, of shape (n_rows, 1) or, for more than two classes, (n_rows, n_classes), in place of
    ``"probabilities"``. Put the link of your loss behind them.

    Parameters
    ----------
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        The type of X and of predictions.
    operators : {"exact", "classic"}, default="exact"
        Which operators of trees the model has. Classic ones for float64 are of ai.onnx.ml 3, those for float32 of ai.onnx.ml
        1, or of 2 if there is text. They have no sets of categories: a test of n categories becomes 2 n tests.
    verify : bool, default=True
        Whether to run the model in onnxruntime and to compare its predictions with those of this estimator, for rows made for
        up to 2,000 nodes of the trees: their value is the node's threshold, next to it on either side, infinite or missing,
        or it is a category on either side or an unknown one. If False, nothing is compared.

    Returns
    -------
    onnx.ModelProto
        The model, which ``onnx.save`` writes to a file.

    Raises
    ------
    ValueError
        If the estimator has something that ONNX lacks: categories that are neither text nor integers as above, levels whose
        labels are numbers, tests of a splitter of your own, or class labels of other types than text, booleans, integers and
        floats. Also if the model would have more than 2 GiB or, for float32 or classic operators, more than 16,777,216
        distinct leaves, or values beyond the range of float32; and for a classifier of one class, of several outputs or by a
        loss of your own with classic operators.
    ConversionError
        If any prediction differs. The message shows the first row for which it does.
    ImportError
        If onnx is not installed, or onnxruntime, which the comparison needs: the extra ``dforest[onnx]`` has both.

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
    check_leaves_predict(self, "to_onnx")
    return import_module("dforest.interchange.conversion.onnx").to_onnx(self, dtype, operators, verify)


def to_treelite(self, *, verify=True):
    """Make a treelite model that predicts what this estimator predicts, for cuML's inference and TL2cgen.

    Thresholds and leaves are of float64. Rows reach the same leaves, and means over trees that ``treelite.gtil``
    computes have the same bits as here. Predictions of boosted trees may differ in their last bits: ``treelite.gtil``
    adds up their leaves in another order, from the baseline on. Categories are the numbers that they are in X, which
    must be integers from 0 on. With a loss of your own, predictions are raw predictions.

    Parameters
    ----------
    verify : bool, default=True
        Whether to compare the predictions of ``treelite.gtil`` with those of this estimator, for rows as in `to_onnx`. If
        False, nothing is compared.

    Returns
    -------
    treelite.Model
        The model. For boosted trees with two classes it predicts the probability of the second class; for other classifiers
        it predicts the probabilities of all classes. For several outputs it predicts an array of shape (n_rows, n_outputs,
        n), where n is the largest number of classes, or 1 for regression; classes that an output does not have have 0. For an
        isolation forest it predicts the opposite of `score_samples`, as treelite's own models of scikit-learn's do, to the
        precision of float32.

    Raises
    ------
    ValueError
        If the estimator has something that treelite lacks: categories that are not integers from 0 on, labels of ordinal
        levels, or tests of a splitter of your own or of several features (`extension_level`); and for a
        `RandomTreesEmbedding`, or an isolation forest whose trees draw one row.
    ConversionError
        If any prediction differs. The message shows the first row for which it does.
    ImportError
        If treelite is not installed: the extra ``dforest[treelite]`` has it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> RandomForestRegressor(n_estimators=5, random_state=0).fit(X, y).to_treelite().num_tree
    5
    """
    check_is_fitted(self)
    check_leaves_predict(self, "to_treelite")
    return import_module("dforest.interchange.conversion.treelite").to_treelite(self, verify)


def to_shap(self, *, verify=True):
    """Make an object that ``shap.TreeExplainer`` takes in place of a model.

    The Shapley values that shap then computes add up to the prediction of a forest, which for a classifier is its
    probabilities, to the raw prediction of boosted trees, or to the mean length of paths of an isolation forest. For several
    outputs, shap's values have a last axis of all outputs; if these have classes, of all classes of the first output, then of
    the second one, and so on. The method `shap_values` needs no shap.

    Categories and levels are the numbers that they are in X; any finite numbers are allowed as labels. shap's trees compare
    numbers with thresholds, so that a test of categories becomes a chain of tests with copies of what follows, and the trees
    become larger. Categories that did not occur in training go where their neighbours among the labels go, in place of where
    missing values go: pass NaN for them.

    Parameters
    ----------
    verify : bool, default=True
        Whether to compare the leaves that rows reach in shap's trees with those that they reach here, for rows as in
        `to_onnx`, but of known categories alone. If False, nothing is compared.

    Returns
    -------
    dict
        The trees, in the form of ``shap.TreeExplainer``.

    Raises
    ------
    ValueError
        If a column has labels that are no finite numbers, if the splitter makes tests of its own or `extension_level` is not
        0, which shap's trees lack, if chains of tests would bring the trees to more than 10,000,000 nodes and more than twice
        those here, and for a `RandomTreesEmbedding`.
    ConversionError
        If any leaf differs. The message shows the first row for which it does.
    ImportError
        If shap is not installed, which the comparison needs: the extra ``dforest[shap]`` has it.

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
    check_leaves_predict(self, "to_shap")
    return import_module("dforest.interchange.conversion.shap").to_shap(self, verify)


def onnx_shape_calculator(self):
    """Return what tells skl2onnx the types of outputs, a function of its operators.

    skl2onnx calls this method, and `onnx_converter`, for estimators that it does not know. So it can convert pipelines that
    have an estimator of dforest as a step. For estimators in others, such as a ``CalibratedClassifierCV``, call
    `dforest.register_onnx_converters` before, or `dforest.pipeline_to_onnx` in place of skl2onnx.

    Returns
    -------
    callable
        The function.

    Examples
    --------
    >>> from skl2onnx import to_onnx
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = to_onnx(RandomForestClassifier(5, random_state=0).fit(X, y), X)
    >>> [output.name for output in model.graph.output]
    ['label', 'probabilities']
    """
    check_leaves_predict(self, "onnx_shape_calculator")
    return import_module("dforest.interchange.conversion.skl2onnx_converter").shape_calculator(self)


def onnx_converter(self):
    """Return what adds an estimator to a model of skl2onnx, a function: see `onnx_shape_calculator`.

    Returns
    -------
    callable
        The function.

    Examples
    --------
    >>> from dforest import RandomForestClassifier
    >>> callable(RandomForestClassifier().onnx_converter())
    True
    """
    return import_module("dforest.interchange.conversion.skl2onnx_converter").convert


def to_c(self, path=None, *, prefix="model", verify=True):
    """Make C code that predicts what this estimator predicts: one file of C99 that needs the standard library alone.

    Classifiers become ``void model_predict_proba(const double *x, double *out)`` and ``int model_predict(const double *x)``,
    which tells the place of the class in ``model_classes``; regressors become ``double model_predict(const double *x)``. x
    is a row, in which NAN is a missing value. Labels of categories, and of levels that are no numbers themselves, are passed
    as what ``double model_code_of_text(int column, const char *label)`` or, for numbers, ``model_code_of_number`` returns.
    The comment at the beginning of the code says which columns these are.

    For several outputs, ``void model_predict(const double *x, double *out)`` writes the number of each output or, for
    classifiers, with ``int *out``, the place of its class in ``model_classes_0``, ``model_classes_1`` and so on;
    ``model_predict_proba`` writes the probabilities of all classes, those of one output after those of another.

    An isolation forest becomes ``int model_predict(const double *x)``, which returns -1 for an outlier and else 1, ``double
    model_decision_function(const double *x)`` and ``double model_score_samples(const double *x)``. A `RandomTreesEmbedding`
    becomes ``void model_transform(const double *x, uint32_t *columns)``, which writes the column of each tree's leaf.

    With a loss of your own, which the code does not have, a regressor's ``model_predict`` returns the raw prediction, and a
    classifier has ``void model_raw_predictions(const double *x, double *out)`` in place of ``model_predict_proba``.

    Means over trees and sums of trees have the same bits as here, for rows of float64 and of float32. Exponentials, which
    follow the raw predictions of some boosted trees and make the scores of isolation forests, are those of the C library, and
    may differ in their last bits.

    Parameters
    ----------
    path : path-like, optional
        The file that the code is written to. None: it is only returned.
    prefix : str, default="model"
        What all names in the code begin with, before an underscore.
    verify : bool, default=True
        Whether to compile the code, by ``cc`` or what the environment variable ``CC`` says, and to compare its predictions
        with those of this estimator, for rows as in `to_onnx`. If False, nothing is compared, and no compiler is needed.

    Returns
    -------
    str
        The code, which is ASCII.

    Raises
    ------
    ValueError
        If the estimator has something that the code can't have: labels other than text and numbers, or tests of a splitter of
        your own. Also if the prefix is no name of C.
    ConversionError
        If the compiler refuses the code, or if any prediction differs. The message shows the first row for which it does.
    FileNotFoundError
        If there is no compiler, which the comparison needs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> code = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y).to_c(prefix="iris", verify=False)
    >>> print([line for line in code.splitlines() if line.startswith("int iris_predict")][1])
    int iris_predict(const double *x)
    """
    check_is_fitted(self)
    check_leaves_predict(self, "to_c")
    return import_module("dforest.interchange.conversion.c").to_c(self, path, prefix, verify)


def to_sklearn(self, *, verify=True):
    """Make a fitted scikit-learn estimator that predicts what this estimator predicts.

    The new estimator is of scikit-learn's own class of the same name, for tools that ask for one, such as
    ``partial_dependence(method="recursion")``. Parameters that both classes have keep their values where scikit-learn
    allows them; all others have scikit-learn's defaults. The effect of ``voting="hard"`` is in the values of the leaves.

    scikit-learn's trees round X to float32, so that a row of float64 next to a threshold may take another way than here. For
    rows of float32 all predictions have the same bits, as long as `n_jobs` of the new estimator is 1: with more threads,
    scikit-learn adds up the trees of a forest in any order. scikit-learn's estimators refuse infinite values, and missing
    values where a parameter such as `monotonic_cst` rules them out.

    Categories and levels are the numbers that they are in X, and tests of categories become chains of tests, as in `to_shap`.
    Of the copies that a chain leads to, one for each side has the training rows of that side, and the others have an
    `n_node_samples` of 0 and next to no weight. Shapley values, partial dependence and importances by impurity, which follow
    from weights, are those of this estimator.

    Scores of an isolation forest may differ in their last bits, as scikit-learn computes the lengths of paths in another way.

    Parameters
    ----------
    verify : bool, default=True
        Whether to compare the predictions of the new estimator with those of this one, for rows of float32 made for up to
        2,000 nodes of the trees: their value is the node's threshold, next to it on either side, or missing, or a category
        on either side. If False, nothing is compared.

    Returns
    -------
    sklearn.base.BaseEstimator
        A fitted estimator, for example a ``sklearn.ensemble.RandomForestClassifier``, which shares nothing with this one.

    Raises
    ------
    ValueError
        If a column has labels that are no finite numbers, or not different ones in float32, if the splitter makes tests of
        its own or `extension_level` is not 0, which scikit-learn's trees lack, or if chains of tests would bring the trees to
        more than 10,000,000 nodes and more than twice those here. Also for a `RandomTreesEmbedding` with categories, whose
        leaves would be several columns.
    ConversionError
        If any prediction differs. The message shows the first row for which it does.

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
    check_leaves_predict(self, "to_sklearn")
    return import_module("dforest.interchange.conversion.sklearn").to_sklearn(self, verify)
