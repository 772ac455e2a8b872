"""Steps of pipelines that skl2onnx, or onnxruntime, knows for float32 alone, in float64: converters for skl2onnx.

They are made of standard operators of ONNX, and take the place of skl2onnx's own where X is not of float32.
"""

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import KBinsDiscretizer, PolynomialFeatures, PowerTransformer

from dforest.extras import needed
from dforest.interchange.conversion.skl2onnx_converter import ContainerGraph, add_rows, float_type


def converters_and_shapes():
    """What skl2onnx takes as `custom_conversion_functions` and `custom_shape_calculators`: two dicts by classes."""
    return dict.fromkeys(_ADDITIONS, _convert), dict.fromkeys(_ADDITIONS, _set_shape)


def _is_ours(operator):
    """Whether a step is one of numbers that are not of float32."""
    try:
        dtype = float_type(operator)
    except ValueError:
        return False
    fitted_on = getattr(operator.raw_operator, "_fit_dtype", np.dtype(dtype))  # an imputer's, which may be of text
    return dtype is np.float64 and fitted_on.kind in "fiu"


def _convert(scope, operator, container):
    if not _is_ours(operator):
        needed("skl2onnx.common._registration", "onnx", "pipeline_to_onnx").get_converter(operator.type)(
            scope, operator, container
        )
        return
    graph = ContainerGraph(scope, container)
    step = operator.raw_operator
    found = _ADDITIONS[type(step)](graph, step, add_rows(graph, operator, np.float64))
    graph.node("Identity", found, name=operator.outputs[0].full_name)


def _set_shape(operator):
    if not _is_ours(operator):
        operator.infer_types()
        return
    types = needed("skl2onnx.common.data_types", "onnx", "pipeline_to_onnx")
    operator.outputs[0].type = types.DoubleTensorType([None, len(operator.raw_operator.get_feature_names_out())])


def _add_imputer(graph, step, rows):
    if np.isnan(step.missing_values):
        is_missing = graph.node("IsNaN", rows)
    else:
        is_missing = graph.node("Equal", rows, graph.constant(np.float64(step.missing_values)))
    statistics = step.statistics_.astype(np.float64)
    found = graph.node("Where", is_missing, graph.constant(statistics[None, :]), rows)
    if np.isnan(statistics).any():  # columns without a value are left out
        found = graph.node("Gather", found, graph.constant(np.flatnonzero(~np.isnan(statistics))), axis=1)
    if step.add_indicator:
        which = graph.node("Gather", is_missing, graph.constant(step.indicator_.features_.astype(np.int64)), axis=1)
        found = graph.node("Concat", found, graph.cast(which, np.float64), axis=1)
    return found


def _add_bins(graph, step, rows):
    found = []
    for j, (edges, n_bins) in enumerate(zip(step.bin_edges_, step.n_bins_.tolist(), strict=True)):
        column = graph.node("Gather", rows, graph.constant(np.array([j])), axis=1)
        inner = np.append(edges[1:-1], np.inf)[None, :]  # there may be no edge between two bins
        is_beyond = graph.cast(graph.node("GreaterOrEqual", column, graph.constant(inner)), np.float64)
        number = graph.node("ReduceSum", is_beyond, graph.constant(np.array([1])), keepdims=1)
        if step.encode != "ordinal":
            number = graph.cast(
                graph.node("Equal", number, graph.constant(np.arange(n_bins, dtype=np.float64)[None, :])), np.float64
            )
        found.append(number)
    return graph.node("Concat", *found, axis=1)


def _add_products(graph, step, rows):
    # A product of x0, x1 and x1 is (x1 x1) x0, as in scikit-learn; a column of ones fills up those of fewer factors.
    n, most = step.n_features_in_, int(step.powers_.sum(axis=1).max(initial=0))
    factors = np.full((len(step.powers_), max(most, 1)), n)
    for own, powers in zip(factors, step.powers_, strict=True):
        numbers = np.repeat(np.arange(n), powers)[::-1]
        own[len(own) - len(numbers) :] = numbers
    n_rows = graph.node("Gather", graph.node("Shape", rows), graph.constant(np.array([0])))
    shape = graph.node("Concat", n_rows, graph.constant(np.array([1])), axis=0)
    rows = graph.node("Concat", rows, graph.node("ConstantOfShape", shape, value=graph.tensor(np.ones(1))), axis=1)
    first, *others = (graph.node("Gather", rows, graph.constant(column), axis=1) for column in factors.T)
    for other in others:
        first = graph.node("Mul", first, other)
    return first


def _add_powers(graph, step, rows):
    power = step.lambdas_.astype(np.float64)
    if step.method == "box-cox":
        found = _add_power(graph, rows, power)
    else:
        zero, one = graph.constant(np.float64(0.0)), graph.constant(np.float64(1.0))
        is_positive = graph.node("GreaterOrEqual", rows, zero)
        above = graph.node("Add", graph.node("Where", is_positive, rows, zero), one)
        below = graph.node("Sub", one, graph.node("Where", is_positive, zero, rows))
        below = graph.node("Neg", _add_power(graph, below, 2.0 - power))
        found = graph.node("Where", is_positive, _add_power(graph, above, power), below)
    if step.standardize:
        found = graph.node("Sub", found, graph.constant(step._scaler.mean_[None, :]))
        found = graph.node("Div", found, graph.constant(step._scaler.scale_[None, :]))
    return found


def _add_power(graph, positive, power):
    """Add (x ** power - 1) / power, or the logarithm of x where the power is 0."""
    is_zero = power == 0.0
    power = graph.constant(np.where(is_zero, 1.0, power)[None, :])
    found = graph.node("Sub", graph.node("Pow", positive, power), graph.constant(np.float64(1.0)))
    return graph.node("Where", graph.constant(is_zero[None, :]), graph.node("Log", positive), graph.node("Div", found, power))


_ADDITIONS = {
    SimpleImputer: _add_imputer,
    KBinsDiscretizer: _add_bins,
    PolynomialFeatures: _add_products,
    PowerTransformer: _add_powers,
}
