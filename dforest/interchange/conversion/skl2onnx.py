"""Estimators of dforest in pipelines of scikit-learn that skl2onnx converts: what it asks for, registered with it.

skl2onnx hands over a container, which operators are added to, and names for what the pipeline goes on with. It allows no later
version of ai.onnx.ml than 3, so that trees are its ``TreeEnsembleRegressor``, which knows no sets of categories.

A converter sees one step of a pipeline and not what becomes of it, so that `pipeline_to_onnx` compares the whole.
"""

import numpy as np
from sklearn.base import is_classifier, is_regressor

from dforest.errors import ConversionError
from dforest.estimators import boosting
from dforest.estimators.forest import forest, tree
from dforest.extras import needed
from dforest.interchange.conversion.columns import check_numbers_alone
from dforest.interchange.conversion.onnx import OPERATORS, Graph, add_operators, label_array, output_names
from dforest.interchange.conversion.probes import check_same, round_down

_TREES = 3  # of the versions of ai.onnx.ml, that which has trees for rows of float64
_MAX_EXACT = 2**24  # TreeEnsembleRegressor's results are of float32, which holds all integers up to this one
# Probabilities are arrays: ZipMap, which makes a dict of each row, takes neither float64 nor labels that are no integers or text.
_OPTIONS = {"zipmap": [False]}
# What skl2onnx calls the output of `decision_function`, which scikit-learn prefers to probabilities where there is one.
_RAW = {"raw_scores": [False, True]}
_OF_STACK = "sv_prob_tensor"  # what skl2onnx calls the output of a part of a StackingClassifier
_ESTIMATORS = [
    getattr(module, f"{name}{task}")
    for module, names in (
        (forest, ("RandomForest", "ExtraTrees")),
        (tree, ("DecisionTree", "ExtraTree")),
        (boosting, ("HistGradientBoosting",)),
    )
    for name in names
    for task in ("Classifier", "Regressor")
]


class ContainerGraph(Graph):
    """The container of a conversion as a `Graph`."""

    def __init__(self, scope, container):
        super().__init__()
        self._scope, self._container = scope, container

    def constant(self, array):
        array, name = np.asarray(array), self._scope.get_unique_variable_name("dforest_constant")
        tensor = self.tensor(array)
        if array.dtype.kind == "O":
            self._container.add_initializer(name, tensor.data_type, list(array.shape), [text.encode() for text in array])
        else:
            self._container.add_initializer(name, tensor.data_type, list(array.shape), tensor)
        return name

    def node(self, operator, *inputs, name=None, domain="", **attributes):
        name = name or self._scope.get_unique_variable_name("dforest_result")
        self._container.add_node(
            operator,
            list(inputs),
            [name],
            op_domain=domain,
            op_version=_TREES if domain else OPERATORS,
            name=self._scope.get_unique_operator_name(operator),
            **attributes,
        )
        return name

    def trees(self, estimator, dtype, rows, value_of_leaf):
        check_numbers_alone(estimator, "skl2onnx")
        if value_of_leaf.max() > _MAX_EXACT:
            raise ValueError(
                f"the leaves of {type(estimator).__name__} have {value_of_leaf.max()} distinct values; allowed in a pipeline "
                f"that skl2onnx converts are up to {_MAX_EXACT}"
            )
        forest = estimator.forest_
        is_leaf, first = forest.feature < 0, forest.node_offsets[:-1]
        tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.node_offsets))
        node = np.arange(len(tree)) - first[tree]
        attributes = {
            "nodes_treeids": tree,
            "nodes_nodeids": node,
            "nodes_featureids": np.where(is_leaf, 0, forest.feature),
            "nodes_modes": np.where(is_leaf, "LEAF", "BRANCH_LEQ"),
            "nodes_truenodeids": np.where(is_leaf, 0, node + 1),
            "nodes_falsenodeids": np.where(is_leaf, 0, forest.right_child.astype(np.int64)),
            "nodes_missing_value_tracks_true": forest.missing_left.astype(np.int64),
            "target_treeids": tree[is_leaf],
            "target_nodeids": node[is_leaf],
            "target_ids": tree[is_leaf],
        }
        tensors = {
            "nodes_values_as_tensor": round_down(np.where(is_leaf, 0.0, forest.threshold.astype(np.float64)), dtype),
            "target_weights_as_tensor": value_of_leaf.astype(dtype),
        }
        return self.node(
            "TreeEnsembleRegressor", rows, domain="ai.onnx.ml", n_targets=forest.n_trees, aggregate_function="SUM",
            post_transform="NONE",
            **{name: array.tolist() for name, array in attributes.items()},
            **{name: self.tensor(array) for name, array in tensors.items()},
        )  # fmt: skip


def register_onnx_converters():
    """Register converters with skl2onnx, so that it can convert scikit-learn pipelines with estimators of dforest.

    Call it once before you call skl2onnx yourself; `pipeline_to_onnx` calls it, and compares the model with the pipeline, which
    skl2onnx does not do. The ONNX model of a pipeline takes the rows that the pipeline takes, and its outputs are
    those of the model that ``estimator.to_onnx()`` makes. Trees are ``TreeEnsembleRegressor`` of ai.onnx.ml 3, the last version
    that skl2onnx allows, which can't test categories. Classifiers with a `decision_function` have the option ``"raw_scores"`` of
    skl2onnx, with which the second output is raw predictions; of two classes, minus and plus that of the second one.

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
    skl2onnx = needed("skl2onnx", "onnx", "register_onnx_converters")
    for kind in _ESTIMATORS:
        options = _OPTIONS | (_RAW if hasattr(kind, "decision_function") else {}) if is_classifier(kind()) else None
        skl2onnx.update_registered_converter(kind, _alias(kind), _set_shapes, _convert, parser=_parse, options=options)


@np.errstate(under="ignore")
def pipeline_to_onnx(pipeline, X, *, tolerance=1e-5, verify=True, **keywords):
    """Convert a pipeline of scikit-learn that contains estimators of dforest by skl2onnx, and compare the model with it.

    This calls `register_onnx_converters`, and then ``skl2onnx.to_onnx``, which knows the converters of all other steps. They may
    round otherwise than scikit-learn, and not all of them are exact.

    Parameters
    ----------
    pipeline : sklearn.base.BaseEstimator
        A fitted classifier or regressor: a pipeline, or another estimator that contains some of dforest, such as a
        ``CalibratedClassifierCV``.
    X : array-like or pandas.DataFrame of shape (n_rows, n_features)
        Rows such as those that the model is to predict, on which it is compared with the pipeline. The model's input has their
        type: use float64 where you can.
    tolerance : float, default=1e-5
        By how much predicted numbers or probabilities may differ; numbers beyond 1 in magnitude may differ by that share of
        themselves. Labels must be equal, except between classes whose probabilities are that close.
    verify : bool, default=True
        Whether to run the model in onnxruntime, and to compare its predictions with those of the pipeline. If False, nothing is
        compared.
    **keywords
        Other arguments of ``skl2onnx.to_onnx``, such as `target_opset`. With an option that makes the second output something
        else than probabilities, ``verify=False`` is needed.

    Returns
    -------
    onnx.ModelProto
        The model, whose outputs are those of the model that ``estimator.to_onnx()`` makes, or as `options` says.

    Raises
    ------
    ValueError
        If the pipeline is neither a classifier nor a regressor, or has a step that ONNX can't express, or if X has no rows.
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
    if not (is_classifier(pipeline) or is_regressor(pipeline)):
        raise ValueError(f"pipeline={pipeline!r}; allowed are classifiers and regressors, and pipelines that end in one")
    register_onnx_converters()
    if is_classifier(pipeline):
        keywords = {"options": {"zipmap": False}, **keywords}
    is_frame = hasattr(X, "iloc")
    X = X if is_frame else np.asarray(X)
    if not len(X):
        raise ValueError("X has 0 rows; allowed are rows such as those that the model is to predict")
    model = needed("skl2onnx", "onnx", "pipeline_to_onnx").to_onnx(pipeline, X[:1], **keywords)
    if verify:
        rows, is_single = X.to_numpy() if is_frame else X, len(model.graph.input) == 1
        columns = [rows] if is_single else [X.iloc[:, [j]].to_numpy() for j in range(X.shape[1])]
        _verify(model, pipeline, X, rows, columns, tolerance)
    return model


def _verify(model, pipeline, X, rows, columns, tolerance):
    """Raise ConversionError unless a model predicts what a pipeline does. IN columns: its inputs."""
    runtime = needed("onnxruntime", "onnx", "pipeline_to_onnx(verify=True)")
    try:
        session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        names = [described.name for described in session.get_inputs()]
        first, *others = session.run(None, dict(zip(names, columns, strict=True)))
    except Exception as error:  # of classes that onnxruntime has for each kind of failure
        raise ConversionError(f"onnxruntime can't run the model that skl2onnx has made of {pipeline!r}: {error}") from error
    expected = pipeline.predict(X)
    if not is_classifier(pipeline):
        check_same("ONNX", rows, expected, first, tolerance * np.maximum(1.0, np.abs(expected)))
        return
    is_close = np.zeros(len(rows), bool)
    if hasattr(pipeline, "predict_proba") and others:
        right, found = pipeline.predict_proba(X), others[0]
        if isinstance(found, list):  # of dicts, by what is called zipmap
            found = np.array([[row[label] for label in pipeline.classes_.tolist()] for row in found])
        check_same("ONNX", rows, right, found, tolerance)
        second, most = np.sort(right, axis=1)[:, -2:].T if right.shape[1] > 1 else (np.zeros(len(rows)), right[:, 0])
        is_close = most - second <= 2 * tolerance
    check_same("ONNX", rows[~is_close], expected[~is_close], first[~is_close])


def _alias(kind):
    return f"dforest{kind.__name__}"


def _parse(scope, estimator, inputs, custom_parsers=None):
    """Tell skl2onnx what the outputs are called."""
    operator = scope.declare_local_operator(_alias(type(estimator)), estimator)
    operator.inputs.extend(inputs)
    for name in output_names(estimator):
        operator.outputs.append(scope.declare_local_variable(name, type(inputs[0].type)()))
    return operator.outputs


def _float_type(operator):
    """The type of X, and of what is predicted: skl2onnx's class, and NumPy's."""
    types = needed("skl2onnx.common.data_types", "onnx", "a converter for skl2onnx")
    given = operator.inputs[0].type if len(operator.inputs) == 1 else operator.inputs
    if isinstance(given, types.DoubleTensorType):
        return types.DoubleTensorType, np.float64
    if isinstance(given, types.FloatTensorType):
        return types.FloatTensorType, np.float32
    raise ValueError(
        f"X of {type(operator.raw_operator).__name__} is {given} to skl2onnx; allowed is one matrix, a FloatTensorType or a "
        "DoubleTensorType, as the initial type says or a step before the estimator makes it"
    )


def _set_shapes(operator):
    """Tell skl2onnx the types and shapes of the outputs."""
    types = needed("skl2onnx.common.data_types", "onnx", "a converter for skl2onnx")
    kind, _ = _float_type(operator)
    estimator = operator.raw_operator
    if not is_classifier(estimator):
        operator.outputs[0].type = kind([None, 1])
        return
    labels = {"O": types.StringTensorType, "b": types.BooleanTensorType, "f": types.DoubleTensorType, "i": types.Int64TensorType}
    operator.outputs[0].type = labels[label_array(estimator).dtype.kind]([None])
    operator.outputs[1].type = kind([None, len(estimator.classes_)])


def _convert(scope, operator, container):
    estimator = operator.raw_operator
    to = dict(zip(output_names(estimator), (output.full_name for output in operator.outputs), strict=True))
    _, dtype = _float_type(operator)
    is_raw = hasattr(estimator, "decision_function") and container.get_options(estimator, {"raw_scores": False})["raw_scores"]
    if is_raw and len(estimator.classes_) == 2 and operator.outputs[1].raw_name == _OF_STACK:
        raise ValueError(
            'StackingClassifier(stack_method="decision_function") was fitted on one column for two classes, and skl2onnx passes '
            'on two; allowed is stack_method="predict_proba"'
        )
    add_operators(ContainerGraph(scope, container), estimator, dtype, operator.inputs[0].full_name, to, is_raw)
