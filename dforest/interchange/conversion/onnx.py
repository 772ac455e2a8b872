"""Fitted estimators as ONNX models.

The trees are one operator, ``TreeEnsemble`` of ``ai.onnx.ml`` 5. Its sum for a row and a tree has one term, the number of the
value that the leaf adds, and is exact; values are gathered from a table, and added up by operators that do so in the order of the
trees. (``TreeEnsemble`` can add up values itself, but its threads do so in any order.)

A model owns copies of all arrays.
"""

from typing import NamedTuple

import numpy as np
from sklearn.base import is_classifier

from dforest.extras import needed
from dforest.interchange.conversion.columns import check_own_tests, numeric_labels, probes_of
from dforest.interchange.conversion.links import link_of, meaning, rounding, sum_rounding
from dforest.interchange.conversion.probes import check_same, round_down

OPERATORS = 18  # the first version of ONNX's operators that has all which are used
_TREES = 5  # of those of ai.onnx.ml
_FORMAT = 10  # of the file format
_MAX_BYTES = 2**31 - 1  # of a model, by protobuf's rules
_MAX_EXACT = 2**24  # float32 holds all integers up to this one
_LEQ, _MEMBER = 0, 6  # modes of nodes: x <= threshold, x in a set


class Graph:
    """What operators are added to: a graph of ONNX that grows.

    Attributes
    ----------
    nodes, constants : list
        Of ONNX's messages.
    """

    def __init__(self):
        self._helper = needed("onnx.helper", "onnx", "to_onnx")
        self._numpy_helper = needed("onnx.numpy_helper", "onnx", "to_onnx")
        self.nodes, self.constants = [], []

    def tensor(self, array):
        return self._numpy_helper.from_array(array)

    def constant(self, array):
        """The name of an array that does not change."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(self._numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, operator, *inputs, name=None, domain="", **attributes):
        """The name of an operator's result, which is that given, if one is."""
        name = name or f"result_{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(operator, list(inputs), [name], domain=domain, **attributes))
        return name

    def cast(self, result, dtype):
        """The name of a result in another type."""
        return self.node("Cast", result, to=self._helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def trees(self, estimator, dtype, rows, value_of_leaf):
        """The name of what tells, for each row and tree, the number of the value that the leaf adds, as floats.

        Parameters
        ----------
        estimator : estimator
        dtype : type
            ``np.float32`` or ``np.float64``: of X.
        rows : str
            The name of X.
        value_of_leaf : ndarray of shape (n_leaf_nodes,), dtype uint32
            These numbers, in the order of the nodes.
        """
        forest = estimator.forest_
        feature, is_leaf, first = forest.feature, forest.feature < 0, forest.node_offsets[:-1]
        tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.node_offsets))
        number = np.where(is_leaf, np.cumsum(is_leaf), np.cumsum(~is_leaf)) - 1  # among the leaves, or among the other nodes
        inner = np.flatnonzero(~is_leaf)
        left, right = inner + 1, first[tree[inner]] + forest.right_child[inner]
        missing_left, has_categories = forest.missing_left[inner], forest.n_categories[feature[inner]] > 0
        # A value that is in no set, as NaN, is on the false side: a set is of the side opposite to missing values.
        swapped = has_categories & missing_left
        true, false = np.where(swapped, right, left), np.where(swapped, left, right)
        threshold = np.where(has_categories, 0.0, forest.threshold[inner].astype(np.float64))
        # A tree that is one leaf is a test to ONNX: both sides of it are the leaf.
        alone = np.flatnonzero(is_leaf[first])
        roots = number[first]
        roots[alone] = len(inner) + np.arange(len(alone))

        def with_alone(array, of_leaf):
            return np.append(array, np.broadcast_to(of_leaf, len(alone)).astype(array.dtype))

        modes = with_alone(np.where(has_categories, _MEMBER, _LEQ).astype(np.uint8), _LEQ)
        attributes = {
            "nodes_featureids": with_alone(feature[inner], 0),
            "nodes_truenodeids": with_alone(number[true], number[first[alone]]),
            "nodes_falsenodeids": with_alone(number[false], number[first[alone]]),
            "nodes_trueleafs": with_alone(is_leaf[true].astype(np.int64), 1),
            "nodes_falseleafs": with_alone(is_leaf[false].astype(np.int64), 1),
            "nodes_missing_value_tracks_true": with_alone((missing_left & ~has_categories).astype(np.int64), 0),
            "tree_roots": roots,
            "leaf_targetids": tree[is_leaf],
        }
        tensors = {
            "nodes_modes": modes,
            "nodes_splits": round_down(with_alone(threshold, 0.0), dtype),
            "leaf_weights": value_of_leaf.astype(dtype),
        }
        labels = labels_of(estimator, dtype)
        if has_categories.any():
            sets = [np.append(labels[feature[node]][forest.subset_of(node)], dtype(np.nan)) for node in inner[has_categories]]
            tensors["membership_values"] = np.concatenate(sets)
        return self.node(
            "TreeEnsemble", rows, domain="ai.onnx.ml", n_targets=forest.n_trees, aggregate_function=1, post_transform=0,
            **{name: array.tolist() for name, array in attributes.items()},
            **{name: self.tensor(array) for name, array in tensors.items()},
        )  # fmt: skip


class Results(NamedTuple):
    """Names of what operators have computed for each row.

    Attributes
    ----------
    leaves : str
        The number of the value that each tree adds, of shape (n_rows, n_trees), dtype int64.
    sums : str
        The mean over trees, or raw predictions, of shape (n_rows, n_sums).
    outputs : dict
        The outputs of the model: "label" and "probabilities", or "variable".
    """

    leaves: str
    sums: str
    outputs: dict


def output_names(estimator):
    """What the outputs of a model are called, as in models that skl2onnx makes."""
    return ("label", "probabilities") if is_classifier(estimator) else ("variable",)


@np.errstate(under="ignore")
def to_onnx(estimator, dtype, verify):
    """What `ExportPart.to_onnx` returns for a fitted estimator."""
    helper, known = needed("onnx.helper", "onnx", "to_onnx"), {np.dtype(kind): kind for kind in (np.float32, np.float64)}
    try:
        dtype = known[np.dtype(dtype)]
    except (KeyError, TypeError):
        raise ValueError(f"dtype={dtype!r}; allowed are numpy.float32 and numpy.float64") from None
    graph = Graph()
    results = add_operators(graph, estimator, dtype, "X", dict(zip(names := output_names(estimator), names, strict=True)))
    types = dict.fromkeys(results.outputs, np.dtype(dtype))
    shapes = dict.fromkeys(results.outputs, (None, 1))
    if is_classifier(estimator):
        types["label"], shapes["label"] = label_array(estimator).dtype, (None,)
        shapes["probabilities"] = None, len(estimator.classes_)

    def described(name, of, shape):
        kind = helper.TensorProto.STRING if of.kind == "O" else helper.np_dtype_to_tensor_dtype(of)
        return helper.make_tensor_value_info(name, kind, shape)

    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            type(estimator).__name__,
            [described("X", np.dtype(dtype), (None, estimator.n_features_in_))],
            [described(name, types[name], shapes[name]) for name in results.outputs],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPERATORS), helper.make_opsetid("ai.onnx.ml", _TREES)],
        ir_version=_FORMAT,
        producer_name="dforest",
    )
    if model.ByteSize() > _MAX_BYTES:
        raise ValueError(
            f"a model of ONNX with {len(estimator.forest_.feature)} nodes would have {model.ByteSize()} bytes; allowed are "
            f"{_MAX_BYTES}: grow fewer or smaller trees, or prune them"
        )
    if verify:
        for name, of, shape in (
            (results.leaves, np.dtype(np.int64), (None, estimator.forest_.n_trees)),
            (results.sums, np.dtype(dtype), (None, None)),
        ):
            model.graph.output.append(described(name, of, shape))
        _verify(model, estimator, dtype, results)
        del model.graph.output[len(results.outputs) :]
    return model


@np.errstate(under="ignore")
def add_operators(graph, estimator, dtype, rows, to, is_raw=False):
    """Add what predicts for the rows of X.

    Parameters
    ----------
    graph : Graph
    estimator : estimator
        Fitted.
    dtype : type
        ``np.float32`` or ``np.float64``: of X and of what is predicted.
    rows : str
        The name of X in the graph.
    to : dict
        The names that the outputs are to have in the graph, by `output_names`.
    is_raw : bool, default=False
        Whether "probabilities" are raw predictions: of boosted trees with two classes, minus and plus that of the second one.

    Returns
    -------
    Results

    Raises
    ------
    ValueError
        If ONNX can't have the tests, the categories, the loss or the labels.
    """
    check_own_tests(estimator, "ONNX")
    link, labels = link_of(estimator, "ONNX"), label_array(estimator) if is_classifier(estimator) else None
    forest = estimator.forest_
    values, value_of_leaf = forest.added_values(getattr(estimator, "voting", "soft"))
    if dtype is np.float32 and len(values) > _MAX_EXACT:
        raise ValueError(
            f"dtype=numpy.float32 for a forest whose leaves have {len(values)} distinct values; allowed are up to {_MAX_EXACT}, "
            "or dtype=numpy.float64"
        )
    largest, numbers = max(np.abs(values).max(), np.abs(forest.objective.baseline or 0.0).max()), np.finfo(dtype)
    if dtype is np.float32 and largest and not numbers.tiny <= largest <= numbers.max:
        raise ValueError(
            f"dtype=numpy.float32 for trees that add values of up to {largest} in magnitude; allowed are from {numbers.tiny} to "
            f"{numbers.max}, or dtype=numpy.float64"
        )
    is_category = forest.n_categories > 0
    if is_category.any():  # onnxruntime would round them; a category that is no integer is unknown, as NaN is
        is_whole = graph.node("Equal", rows, graph.node("Floor", rows))
        is_allowed = graph.node("Or", is_whole, graph.constant(~is_category[None, :]))
        rows = graph.node("Where", is_allowed, rows, graph.constant(dtype(np.nan)))
    leaves = graph.cast(graph.trees(estimator, dtype, rows, value_of_leaf), np.int64)
    axis = graph.constant(np.array([1]))
    if link is None:
        added = graph.node("Gather", graph.constant(values.astype(dtype)), leaves, axis=0)
        sums = graph.node("ReduceMean", added, axis, keepdims=0)
        bounds = forest.packed().arrays().bounds
        for operator, bound in zip(("Max", "Min"), () if bounds is None else bounds, strict=False):
            sums = graph.node(operator, sums, graph.constant(bound.astype(dtype)[None, :]))
    else:
        added = graph.node("Gather", graph.constant(values[:, 0].astype(dtype)), leaves, axis=0)
        baseline = np.array(forest.objective.baseline)
        # No number of rows is written, and none of trees left open: 0 stands for that of the input, which may be 0 itself.
        by_sum = graph.node("Reshape", added, graph.constant(np.array([0, forest.n_trees // len(baseline), len(baseline)])))
        sums = graph.node(
            "Add", graph.node("ReduceSum", by_sum, axis, keepdims=0), graph.constant(baseline.astype(dtype)[None, :])
        )
    return Results(leaves, sums, _add_outputs(graph, sums, link, labels, dtype, to, is_raw))


def _add_outputs(graph, sums, link, labels, dtype, to, is_raw):
    """Add what means or raw predictions say of y. IN labels: an array of the classes; None for numbers."""
    if labels is None:
        return {"variable": graph.node("Exp" if link == "exponential" else "Identity", sums, name=to["variable"])}
    best = graph.node("ArgMax", sums, axis=1, keepdims=0)
    if link in ("logistic", "logistic_of_twice"):
        flat = graph.node("Squeeze", sums, graph.constant(np.array([1])))
        best = graph.cast(graph.node("Greater", flat, graph.constant(dtype(0.0))), np.int64)
        factor = 2 if link == "logistic_of_twice" and not is_raw else 1
        odds = graph.node("Mul", sums, graph.constant(np.array([[-1.0, 1.0]], dtype) * factor))
        shares = graph.node("Identity" if is_raw else "Sigmoid", odds, name=to["probabilities"])
    elif link == "softmax" and not is_raw:
        shares = graph.node("Softmax", sums, axis=1, name=to["probabilities"])
    else:
        shares = graph.node("Identity", sums, name=to["probabilities"])
    return {"label": graph.node("Gather", graph.constant(labels), best, axis=0, name=to["label"]), "probabilities": shares}


def labels_of(estimator, dtype):
    """The labels of categories as onnxruntime takes them for sets: see `numeric_labels`.

    It takes integers of 32 bits, but was seen to confuse large ones with NaN.
    """
    return numeric_labels(estimator, "ONNX", dtype, -_MAX_EXACT, _MAX_EXACT)


def label_array(estimator):
    """The labels of the classes in a type that ONNX has: int64, float64, bool, or objects that are text."""
    classes = estimator.classes_
    if classes.dtype.kind in "iu" and (classes <= np.iinfo(np.int64).max).all():
        return classes.astype(np.int64)
    if classes.dtype.kind == "b":
        return classes.copy()
    if classes.dtype.kind == "f" and (classes.astype(np.float64) == classes).all():
        return classes.astype(np.float64)
    if all(isinstance(label, str) for label in classes.tolist()):
        return np.array(classes.tolist(), object)
    raise ValueError(
        f"the classes are {classes.tolist()}; allowed in a model of ONNX are text, booleans, integers of 64 bits and floats: "
        "encode y before fit, for example with scikit-learn's LabelEncoder"
    )


def _verify(model, estimator, dtype, results):
    """Raise ConversionError unless onnxruntime finds the same leaves, adds them up the same, and says the same of y."""
    runtime = needed("onnxruntime", "onnx", "to_onnx(verify=True)")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    encoded, rows = probes_of(estimator, dtype, labels_of(estimator, dtype), fractions=True, infinite=True)
    leaves, sums, *outputs = session.run([results.leaves, results.sums, *results.outputs], {"X": rows})
    forest, voting, link = estimator.forest_, getattr(estimator, "voting", "soft"), link_of(estimator, "ONNX")
    _, value_of_leaf = forest.added_values(voting)
    packed = forest.packed(voting)
    place = np.cumsum(forest.feature < 0) - 1
    expected_leaves = value_of_leaf[place[forest.node_offsets[:-1] + packed.apply(encoded, 1)]]
    check_same("ONNX", rows, expected_leaves, leaves)
    check_same("ONNX", rows, packed.mean(encoded, 1), sums, None if dtype is np.float64 else sum_rounding(forest, dtype))
    for right, found in zip(meaning(estimator, sums), outputs, strict=True):
        check_same("ONNX", rows, right, found, None if found.dtype != dtype or link is None else rounding(right, dtype))
