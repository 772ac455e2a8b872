"""Estimators of dforest in pipelines of scikit-learn that skl2onnx converts: what users call.

A converter sees one step of a pipeline and not what becomes of it, so that `pipeline_to_onnx` compares the whole.
"""

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_outlier_detector, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from dforest.errors import ConversionError
from dforest.estimators.tree_model import TreeModel
from dforest.extras import needed
from dforest.interchange.conversion.probes import check_same
from dforest.interchange.conversion.skl2onnx_converter import register
from dforest.interchange.conversion.skl2onnx_steps import converters_and_shapes
from dforest.public import estimators


def register_onnx_converters():
    """Register converters with skl2onnx, so that it can convert estimators of scikit-learn that contain some of dforest.

    Call it once before you call skl2onnx yourself. Without it, skl2onnx converts pipelines that have an estimator of dforest as a
    step, but raises KeyError if an estimator such as a ``CalibratedClassifierCV`` holds one, and knows none of the options below.
    `pipeline_to_onnx` calls it, and compares the model with the pipeline, which skl2onnx does not do.

    The ONNX model of a pipeline takes the rows that the pipeline takes, and its outputs are those of the model that
    ``estimator.to_onnx()`` makes. Trees are a ``TreeEnsembleRegressor`` of ai.onnx.ml 3, the last version that skl2onnx allows.
    Numbers of other types than float32, and booleans, become float64; columns that are inputs of their own become one matrix.

    Options of skl2onnx are ``"classic"``, which stands for ``operators="classic"`` of `to_onnx`; for classifiers ``"nocl"``, with
    which labels are places in `classes_`; for classifiers with a `decision_function`, ``"raw_scores"``, with which the second
    output is raw predictions, of two classes minus and plus that of the second one; and for forests and single trees
    ``"decision_path"`` and ``"decision_leaf"``, which add outputs of these names, of shape (n_rows, n_trees): text with a 0 or 1
    for each node of a tree, which is 1 on the way of the row, and the number of the leaf, as `apply` returns it.

    Raises
    ------
    ImportError
        If skl2onnx is not installed: the extra ``dforest[onnx]`` has it.

    Examples
    --------
    >>> import dforest
    >>> from skl2onnx import to_onnx
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), dforest.RandomForestClassifier(5, random_state=0)).fit(X, y)
    >>> dforest.register_onnx_converters()
    >>> [output.name for output in to_onnx(model, X).graph.output]
    ['label', 'probabilities']
    """
    register([kind for kind in estimators() if issubclass(kind, TreeModel)])


@np.errstate(under="ignore")
def pipeline_to_onnx(pipeline, X, *, tolerance=1e-5, verify=True, **keywords):
    """Convert a pipeline of scikit-learn that contains estimators of dforest by skl2onnx, and compare the model with it.

    This calls `register_onnx_converters`, and then ``skl2onnx.to_onnx``, which knows the converters of all other steps. They may
    round otherwise than scikit-learn, and not all of them are exact.

    Parameters
    ----------
    pipeline : sklearn.base.BaseEstimator
        A fitted classifier or regressor, or what has another estimator of dforest as its last step, such as a ranker, a survival
        forest, an isolation forest or an embedding: a pipeline, or another estimator that contains some of dforest, such as a
        ``CalibratedClassifierCV``.
    X : array-like or pandas.DataFrame of shape (n_rows, n_features)
        Rows such as those that the model is to predict, on which it is compared with the pipeline. The model's input has their
        type: use float64 where you can. Each column of a frame is an input of its own, whose name is that of the column, as
        skl2onnx writes it: ``"_0"`` for 0. For float64, ``SimpleImputer``, ``KBinsDiscretizer``, ``PolynomialFeatures`` and
        ``PowerTransformer`` are converted by dforest, as skl2onnx or onnxruntime know these for float32 alone.
    tolerance : float, default=1e-5
        By how much predicted numbers or probabilities may differ; numbers beyond 1 in magnitude may differ by that share of
        themselves. Labels must be equal, except between classes whose probabilities are that close.
    verify : bool, default=True
        Whether to run the model in onnxruntime, and to compare its predictions with those of the pipeline. If False, nothing is
        compared.
    **keywords
        Other arguments of ``skl2onnx.to_onnx``, such as `target_opset`. With an option that makes outputs something else than
        labels and probabilities, ``verify=False`` is needed.

    Returns
    -------
    onnx.ModelProto
        The model, whose outputs are those of the model that ``estimator.to_onnx()`` makes, or as `options` says.

    Raises
    ------
    ValueError
        If the pipeline is neither a classifier nor a regressor, and does not end in an estimator of dforest; if it has a step
        that ONNX can't express or skl2onnx can't convert, such as a ``FunctionTransformer``; or if X has no rows, or columns
        whose names are the same text.
    ConversionError
        If onnxruntime refuses the model, or if any prediction differs. The message shows the first row for which it does.
    ImportError
        If skl2onnx is not installed, or onnxruntime, which the comparison needs: the extra ``dforest[onnx]`` has both.

    Examples
    --------
    >>> import dforest
    >>> from sklearn.calibration import CalibratedClassifierCV
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> boosted = dforest.HistGradientBoostingClassifier(max_iter=5, random_state=0)
    >>> model = dforest.pipeline_to_onnx(CalibratedClassifierCV(boosted, cv=3).fit(X, y), X)
    >>> [output.name for output in model.graph.output]
    ['label', 'probabilities']
    """
    if not (is_classifier(pipeline) or is_regressor(pipeline) or isinstance(_last_of(pipeline), TreeModel)):
        raise ValueError(
            f"pipeline={pipeline!r}; allowed are classifiers and regressors, estimators of dforest, and pipelines that end in one"
        )
    check_is_fitted(pipeline)
    register_onnx_converters()
    if is_classifier(pipeline):
        keywords = {"options": {"zipmap": False}, **keywords}
    is_frame = hasattr(X, "iloc")
    X = X if is_frame else np.asarray(X)
    if not len(X):
        raise ValueError("X has 0 rows; allowed are rows such as those that the model is to predict")
    if is_frame and "" in list(X.columns):
        raise ValueError("X has a column whose name is empty; allowed are columns with names, which inputs of the model have")
    skl2onnx = needed("skl2onnx", "onnx", "pipeline_to_onnx")
    first = X[:1]
    if is_frame:
        first = first.set_axis([str(name) for name in X.columns], axis=1)
        if not first.columns.is_unique:
            raise ValueError(
                f"X has columns {X.columns.tolist()}, some of whose names are the same text, by which a model of ONNX knows its "
                "inputs; allowed are different ones"
            )
    try:
        model = _converted(pipeline, first, skl2onnx, **keywords)
    except RuntimeError as error:  # all refusals of skl2onnx are such errors
        raise _refusal(pipeline, error, _steps_unknown(pipeline, skl2onnx), _hint_of_types(first)) from error
    except (AttributeError, KeyError, NotImplementedError, TypeError) as error:  # as of types that it does not expect
        unknown = _steps_unknown(pipeline, skl2onnx)
        if not unknown:
            raise
        raise _refusal(pipeline, error, unknown, "") from error
    if verify:
        rows, is_single = X.to_numpy() if is_frame else X, len(model.graph.input) == 1
        columns = [rows] if is_single else [X.iloc[:, [j]].to_numpy() for j in range(X.shape[1])]
        _verify(model, pipeline, X, rows, columns, tolerance)
    return model


def _converted(pipeline, X, skl2onnx, initial_types=None, **keywords):
    """What ``skl2onnx.to_onnx`` returns, with converters of ours for some steps of float64."""
    converters, shapes = converters_and_shapes()
    guess = needed("skl2onnx.algebra.type_helper", "onnx", "pipeline_to_onnx").guess_initial_types
    return skl2onnx.convert_sklearn(
        pipeline,
        initial_types=guess(X, initial_types),
        custom_conversion_functions=converters,
        custom_shape_calculators=shapes,
        **{"name": f"ONNX({type(pipeline).__name__})", **keywords},
    )


def _last_of(pipeline):
    """The last step of a pipeline, or of what a search has found; an estimator that is neither is that itself."""
    while isinstance(pipeline, Pipeline) or hasattr(pipeline, "best_estimator_"):
        pipeline = pipeline[-1] if isinstance(pipeline, Pipeline) else pipeline.best_estimator_
    return pipeline


def _hint_of_types(X):
    """What to do where integers or booleans may be why a step can't be converted: text, which may be empty."""
    types = X.dtypes if hasattr(X, "dtypes") else [X.dtype]
    if any(kind.kind in "biu" for kind in types):
        return ". Where a step takes no integers or booleans, fit the pipeline on X.astype(numpy.float64), and pass that"
    return ""


def _steps_unknown(pipeline, skl2onnx):
    """The steps that skl2onnx has no converter for, as far as their types tell: a list of text."""
    known = {*skl2onnx._supported_operators.sklearn_operator_name_map, Pipeline, ColumnTransformer, FeatureUnion}
    return [
        f"{name!r}, of type {type(step).__name__}"
        for name, step in pipeline.get_params().items()
        if isinstance(step, BaseEstimator) and not type(step).__module__.startswith("dforest.")
        and (type(step) not in known or isinstance(step, FunctionTransformer) and step.func is not None)
    ]  # fmt: skip


def _refusal(pipeline, error, unknown, hint):
    """The error of a pipeline that skl2onnx refuses: what can be done instead. unknown: steps without a converter"""
    reason = str(error).partition("\n")[0].partition(" You may raise")[0].rstrip(".")
    if unknown:
        reason += f". It has no converter for the step{'s' * (len(unknown) > 1)} {' and '.join(unknown)}"
    way_out = ""
    if isinstance(pipeline, Pipeline) and len(pipeline.steps) > 1:
        is_ours = hasattr(pipeline[-1], "to_onnx")
        last = "pipeline[-1].to_onnx()" if is_ours else "pipeline_to_onnx(pipeline[-1], pipeline[:-1].transform(X))"
        way_out = f", or convert the last step alone, by {last}, and give that model what pipeline[:-1].transform returns"
    return ValueError(
        f"skl2onnx can't convert this pipeline: {reason}; allowed are transformers that it has converters for, such as "
        f"StandardScaler, OrdinalEncoder and OneHotEncoder. Use these in place of functions and classes of your own{way_out}"
        f"{hint}"
    )


def _verify(model, pipeline, X, rows, columns, tolerance):
    """Raise ConversionError unless a model predicts what a pipeline does. IN columns: its inputs."""
    runtime = needed("onnxruntime", "onnx", "pipeline_to_onnx(verify=True)")
    try:
        session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        names = [described.name for described in session.get_inputs()]
        found = session.run(None, dict(zip(names, columns, strict=True)))
    except Exception as error:  # of classes that onnxruntime has for each kind of failure
        hint = _hint_of_types(X)
        raise ConversionError(f"onnxruntime can't run the model that skl2onnx has made of {pipeline!r}: {error}{hint}") from error
    if not hasattr(pipeline, "predict"):  # it transforms rows
        expected = pipeline.transform(X)
        check_same("ONNX", rows, expected.toarray() if hasattr(expected, "toarray") else expected, found[0])
        return
    expected = pipeline.predict(X)
    if is_outlier_detector(pipeline):
        decisions = pipeline.decision_function(X)
        check_same("ONNX", rows, decisions, found[1], tolerance)
        is_clear = np.abs(decisions) > 2 * tolerance
        check_same("ONNX", rows[is_clear], expected[is_clear], found[0][is_clear])
        return
    if not is_classifier(pipeline):
        check_same("ONNX", rows, expected, found[0], tolerance * np.maximum(1.0, np.abs(expected)))
        return
    has_shares = hasattr(pipeline, "predict_proba") and len(found) > 1
    right = pipeline.predict_proba(X) if has_shares else None
    if isinstance(right, list) and len(found) == 2 * len(right):  # of several outputs, labels and probabilities in turn
        for labels, shares, label, probabilities in zip(expected.T, right, found[::2], found[1::2], strict=True):
            _check_classes(rows, labels, shares, label, probabilities, tolerance)
        return
    if has_shares and isinstance(found[1], list):  # of dicts, by what is called zipmap
        found[1] = np.array([[row[label] for label in pipeline.classes_.tolist()] for row in found[1]])
    _check_classes(rows, expected, right, found[0], found[1] if has_shares else None, tolerance)


def _check_classes(rows, labels, shares, found_labels, found_shares, tolerance):
    """Raise ConversionError unless a model finds the labels and, unless they are None, the probabilities of the classes."""
    is_close = np.zeros(len(rows), bool)
    if shares is not None:
        check_same("ONNX", rows, shares, found_shares, tolerance)
        second, most = np.sort(shares, axis=1)[:, -2:].T if shares.shape[1] > 1 else (np.zeros(len(rows)), shares[:, 0])
        is_close = most - second <= 2 * tolerance
    check_same("ONNX", rows[~is_close], labels[~is_close], found_labels[~is_close])
