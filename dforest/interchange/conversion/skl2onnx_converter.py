"""What skl2onnx asks for to convert estimators of dforest in pipelines.

skl2onnx hands over a container, which operators are added to, and names for what the pipeline goes on with. It allows no later
version of ai.onnx.ml than 3, so that trees are its ``TreeEnsembleRegressor``. A converter sees one step of a pipeline and not
what becomes of it.
"""

import numpy as np
from sklearn.base import is_classifier

from dforest.extras import needed
from dforest.interchange.conversion.links import link_of
from dforest.interchange.conversion.onnx_operators import (
    OPERATORS,
    Graph,
    add_classic_operators,
    add_operators,
    described_outputs,
    labels_of,
    output_names,
)
from dforest.interchange.conversion.onnx_trees import classic_nodes

_TREES = 3  # of the versions of ai.onnx.ml, that which has trees for rows of float64
_MAX_EXACT = 2**24  # TreeEnsembleRegressor's results are of float32, which holds all integers up to this one
# Probabilities are arrays: ZipMap, which makes a dict of each row, takes neither float64 nor labels that are no integers or text.
_OPTIONS = {"zipmap": [False]}
_CLASSIC = {"classic": [False, True]}
# What skl2onnx calls the output of `decision_function`, which scikit-learn prefers to a classifier's probabilities.
_RAW = {"raw_scores": [False, True]}
_OF_STACK = "sv_prob_tensor"  # what skl2onnx calls the output of a part of a StackingClassifier


class ContainerGraph(Graph):
    """The container of a conversion as a `Graph`."""

    encodes_text = False

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

    def new_name(self, kind="result"):
        return self._scope.get_unique_variable_name(f"dforest_{kind}")

    def node(self, operator, *inputs, name=None, others=(), domain="", **attributes):
        name = name or self.new_name()
        self._container.add_node(
            operator,
            list(inputs),
            [name, *others],
            op_domain=domain,
            op_version=_TREES if domain else OPERATORS,
            name=self._scope.get_unique_operator_name(operator),
            **attributes,
        )
        return name

    def trees(self, estimator, dtype, rows, value_of_leaf):
        if value_of_leaf.max() > _MAX_EXACT:
            raise ValueError(
                f"the leaves of {type(estimator).__name__} have {value_of_leaf.max()} distinct values; allowed in a pipeline "
                f"that skl2onnx converts are up to {_MAX_EXACT}"
            )
        nodes = classic_nodes(estimator.forest_, labels_of(estimator, dtype, self.encodes_text), dtype)
        return self.classic_trees(estimator, dtype, rows, value_of_leaf, nodes)


def register(kinds):
    """Let skl2onnx know the converters of some classes of estimators, and their options."""
    skl2onnx = needed("skl2onnx", "onnx", "register_onnx_converters")
    for kind in kinds:
        options = _CLASSIC | (_OPTIONS if is_classifier(kind()) else {}) | (_RAW if _has_raw(kind()) else {})
        skl2onnx.update_registered_converter(kind, _alias(kind), _set_shapes, convert, parser=_parse, options=options)


def _has_raw(estimator):
    """Whether there are raw predictions of classes."""
    return is_classifier(estimator) and hasattr(estimator, "decision_function")


def shape_calculator(estimator):
    """What tells skl2onnx the types of outputs; from now on it knows the class, and thus its options."""
    register([type(estimator)])
    return _set_shapes


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
    _, dtype = _float_type(operator)
    kinds = {
        "object": types.StringTensorType, "bool": types.BooleanTensorType, "int64": types.Int64TensorType,
        "float64": types.DoubleTensorType, "float32": types.FloatTensorType,
    }  # fmt: skip
    for output, (_, of, shape) in zip(operator.outputs, described_outputs(operator.raw_operator, dtype), strict=True):
        output.type = kinds[of.name](list(shape))


def convert(scope, operator, container):
    """Add an estimator to a container of skl2onnx."""
    estimator = operator.raw_operator
    to = dict(zip(output_names(estimator), (output.full_name for output in operator.outputs), strict=True))
    _, dtype = _float_type(operator)
    if link_of(estimator) == "raw":
        raise ValueError(
            f"loss={estimator.loss!r} of {type(estimator).__name__} is your own, and a model of skl2onnx can't say what its raw "
            "predictions mean; allowed are built-in losses, or to_onnx of the estimator, whose model has raw predictions"
        )
    has_raw, graph = _has_raw(estimator), ContainerGraph(scope, container)
    options = container.get_options(estimator, dict.fromkeys(["classic", *(["raw_scores"] if has_raw else [])], False))
    is_raw = options.get("raw_scores", False)
    if is_raw and len(estimator.classes_) == 2 and operator.outputs[1].raw_name == _OF_STACK:
        raise ValueError(
            'StackingClassifier(stack_method="decision_function") was fitted on one column for two classes, and skl2onnx passes '
            'on two; allowed is stack_method="predict_proba"'
        )
    if not options["classic"]:
        add_operators(graph, estimator, dtype, operator.inputs[0].full_name, to, is_raw)
    elif is_raw:
        raise ValueError('"raw_scores" with "classic"; allowed as options of skl2onnx is one of them')
    else:
        add_classic_operators(graph, estimator, dtype, operator.inputs[0].full_name, to)
