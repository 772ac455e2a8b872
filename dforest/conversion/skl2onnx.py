"""Estimators of dforest in pipelines of scikit-learn that skl2onnx converts: what it asks for, registered with it.

skl2onnx hands over a container, which operators are added to, and names for what the pipeline goes on with. It allows no later
version of ai.onnx.ml than 3, so that trees are its ``TreeEnsembleRegressor``, which knows no sets of categories.
"""

import numpy as np
from sklearn.base import is_classifier

from dforest.conversion.columns import check_numbers_alone
from dforest.conversion.onnx import OPERATORS, Graph, add_operators, label_array, output_names
from dforest.conversion.probes import round_down
from dforest.estimators import boosting, forest, tree
from dforest.extras import needed

_TREES = 3  # of the versions of ai.onnx.ml, that which has trees for rows of float64
_MOST_EXACT = 2**24  # TreeEnsembleRegressor's results are of float32, which holds all integers up to this one
# Probabilities are arrays: ZipMap, which makes a dict of each row, takes neither float64 nor labels that are no integers or text.
_OPTIONS = {"zipmap": [False]}
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
        if value_of_leaf.max() > _MOST_EXACT:
            raise ValueError(
                f"the leaves of {type(estimator).__name__} have {value_of_leaf.max()} distinct values; allowed in a pipeline "
                f"that skl2onnx converts are up to {_MOST_EXACT}"
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

    Call it once before the conversion. The ONNX model of a pipeline takes the rows that the pipeline takes, and its outputs are
    those of the model that ``estimator.to_onnx()`` makes. Trees are ``TreeEnsembleRegressor`` of ai.onnx.ml 3, the last version
    that skl2onnx allows, which can't test categories. Unlike with ``estimator.to_onnx()``, the predictions of the model are not
    compared with those of the pipeline.

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
        skl2onnx.update_registered_converter(
            kind, _alias(kind), _set_shapes, _convert, parser=_parse, options=_OPTIONS if is_classifier(kind()) else None
        )


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
    add_operators(ContainerGraph(scope, container), estimator, dtype, operator.inputs[0].full_name, to)
