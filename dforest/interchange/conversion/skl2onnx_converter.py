"""What skl2onnx asks for to convert estimators of dforest in pipelines.

skl2onnx hands over a container, which operators are added to, and names for what the pipeline goes on with. It allows no later
version of ai.onnx.ml than 3, so that trees are its ``TreeEnsembleRegressor``. A converter sees one step of a pipeline and not
what becomes of it.
"""

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from dforest.extras import needed
from dforest.interchange.conversion.links import link_of
from dforest.interchange.conversion.onnx_operators import (
    OPERATORS,
    Graph,
    add_classic_operators,
    add_decisions,
    add_operators,
    described_outputs,
    labels_of,
    output_names,
)
from dforest.interchange.conversion.onnx_trees import classic_nodes

_TREES = 3  # of the versions of ai.onnx.ml, that which has trees for rows of float64
_MAX_EXACT = 2**24  # TreeEnsembleRegressor's results are of float32, which holds all integers up to this one
# Options of skl2onnx, with the values that they may have. Probabilities are arrays: ZipMap, which makes a dict of each row, takes
# neither float64 nor labels that are no integers or text. Raw scores are what skl2onnx calls the output of `decision_function`,
# which scikit-learn prefers to a classifier's probabilities.
_ALL = {name: [False, True] for name in ("classic", "nocl", "raw_scores", "decision_path", "decision_leaf")} | {"zipmap": [False]}
_DECISIONS = {"decision_path": "object", "decision_leaf": "int64"}  # options that are outputs: of which type
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
        options = {name: _ALL[name] for name in _known_options(kind())}
        skl2onnx.update_registered_converter(kind, _alias(kind), _set_shapes, convert, parser=_parse, options=options)


def _known_options(estimator):
    """The names of the options of an estimator."""
    of_classes = {"nocl": True, "zipmap": True, "raw_scores": hasattr(estimator, "decision_function")}
    known = {"classic": True} | (of_classes if is_classifier(estimator) else {})
    return [name for name in _ALL if known.get(name, name in _DECISIONS and hasattr(estimator, "decision_path"))]


def shape_calculator(estimator):
    """What tells skl2onnx the types of outputs; from now on it knows the class, and thus its options."""
    register([type(estimator)])
    return _set_shapes


def _alias(kind):
    return f"dforest{kind.__name__}"


def _parse(scope, estimator, inputs, custom_parsers=None):
    """Tell skl2onnx what the outputs are called."""
    check_is_fitted(estimator)
    operator = scope.declare_local_operator(_alias(type(estimator)), estimator)
    operator.inputs.extend(inputs)
    wanted = _given_options(scope, estimator)
    for name in (*output_names(estimator), *(name for name in _DECISIONS if wanted.get(name))):
        operator.outputs.append(scope.declare_local_variable(name, type(inputs[0].type)()))
    return operator.outputs


def float_type(operator):
    """The type of X, and of what is predicted: that of float32, if all that X consists of is of it, or else float64."""
    types = needed("skl2onnx.common.data_types", "onnx", "a converter for skl2onnx")
    numbers = types.FloatTensorType, types.DoubleTensorType, types.BooleanTensorType, types.Float16TensorType
    numbers += tuple(getattr(types, f"{sign}Int{bits}TensorType", ()) for sign in ("", "U") for bits in (8, 16, 32, 64))
    given = [one.type for one in operator.inputs]
    for kind in given:
        if not isinstance(kind, numbers):
            raise ValueError(
                f"X of {type(operator.raw_operator).__name__} is {kind} to skl2onnx, or has a column that is; allowed are "
                "numbers and booleans, as the initial type says or a step before the estimator makes them"
            )
    return np.float32 if all(isinstance(kind, types.FloatTensorType) for kind in given) else np.float64


def add_rows(graph, operator, dtype):
    """The name of X as one matrix of a type."""
    types = needed("skl2onnx.common.data_types", "onnx", "a converter for skl2onnx")
    own = types.FloatTensorType if dtype is np.float32 else types.DoubleTensorType
    parts = [one.full_name if isinstance(one.type, own) else graph.cast(one.full_name, dtype) for one in operator.inputs]
    return parts[0] if len(parts) == 1 else graph.node("Concat", *parts, axis=1)


def _set_shapes(operator):
    """Tell skl2onnx the types and shapes of the outputs."""
    check_is_fitted(operator.raw_operator)
    types = needed("skl2onnx.common.data_types", "onnx", "a converter for skl2onnx")
    estimator = operator.raw_operator
    kinds = {
        "object": types.StringTensorType, "bool": types.BooleanTensorType, "int64": types.Int64TensorType,
        "float64": types.DoubleTensorType, "float32": types.FloatTensorType,
    }  # fmt: skip
    as_numbers = _given_options(operator.scope_inst, estimator).get("nocl", False)
    outputs = {output.raw_name: output for output in operator.outputs[len(output_names(estimator)) :]}
    described = described_outputs(estimator, float_type(operator), as_numbers)
    for output, (_, of, shape) in zip(operator.outputs, described, strict=False):
        output.type = kinds[of.name](list(shape))
    for name, kind in _DECISIONS.items():
        if name in outputs:
            outputs[name].type = kinds[kind]([None, estimator.forest_.n_trees])


def _given_options(scope, estimator):
    """The options that were given for an estimator. skl2onnx would also check those that pipelines add, a ZipMap among them."""
    given = scope.options or {}
    return {**(given.get(type(estimator)) or {}), **(given.get(id(estimator)) or {})}


def convert(scope, operator, container):
    """Add an estimator to a container of skl2onnx."""
    estimator = operator.raw_operator
    if link_of(estimator) == "raw":
        raise ValueError(
            f"loss={estimator.loss!r} of {type(estimator).__name__} is your own, and a model of skl2onnx can't say what its raw "
            "predictions mean; allowed are built-in losses, or to_onnx of the estimator, whose model has raw predictions"
        )
    main = output_names(estimator)
    to = dict(zip(main, (output.full_name for output in operator.outputs), strict=False))
    more = {output.raw_name: output.full_name for output in operator.outputs[len(main) :]}
    dtype, graph = float_type(operator), ContainerGraph(scope, container)
    names = [name for name in _known_options(estimator) if name != "zipmap"]
    options = container.get_options(estimator, dict.fromkeys(names, False))
    is_raw, as_numbers = options.get("raw_scores", False), options.get("nocl", False)
    if is_raw and len(estimator.classes_) == 2 and operator.outputs[1].raw_name == _OF_STACK:
        raise ValueError(
            'StackingClassifier(stack_method="decision_function") was fitted on one column for two classes, and skl2onnx passes '
            'on two; allowed is stack_method="predict_proba"'
        )
    rows = add_rows(graph, operator, dtype)
    if not options["classic"]:
        add_operators(graph, estimator, dtype, rows, to, is_raw, as_numbers)
    elif is_raw:
        raise ValueError('"raw_scores" with "classic"; allowed as options of skl2onnx is one of them')
    else:
        add_classic_operators(graph, estimator, dtype, rows, to, as_numbers)
    if more:
        add_decisions(graph, estimator, dtype, rows, *map(more.get, _DECISIONS))
