"""What predicts in models of ONNX: operators that are added to a graph, which may be that of a pipeline.

*Exact* operators are one of trees, whose sum for a row and a tree has one term, the number of the value that the leaf adds, and
is exact; values are gathered from a table, and added up by a ``CumSum``, whose order is that of the trees by its definition.
(Operators of trees can add up values themselves, but their threads do so in any order; a ``ReduceSum`` of onnxruntime adds up in
blocks, of 512 numbers where we looked.) *Classic* operators are a ``TreeEnsembleClassifier`` or ``TreeEnsembleRegressor`` that
adds up values itself; its results are of float32.
"""

from typing import NamedTuple

import numpy as np
from sklearn.base import is_classifier

from dforest.estimators.data.outputs import classes_of, prediction_columns
from dforest.extras import needed
from dforest.interchange.conversion.columns import check_own_tests, class_labels, numeric_labels
from dforest.interchange.conversion.links import embeds, finds_outliers, link_of, scores_of, values_of
from dforest.interchange.conversion.onnx_trees import ClassicNodes, classic_nodes, ensemble_attributes

OPERATORS = 18  # the first version of ONNX's operators that has all which exact ones use
_MAX_EXACT = 2**24  # float32 holds all integers up to this one
_FUNCTIONS = {"exponential": "Exp", "share": "Sigmoid"}  # by which numbers follow from raw predictions
_TRANSFORMS = {"logistic": "LOGISTIC", "logistic_of_twice": "LOGISTIC", "softmax": "SOFTMAX"}  # others are NONE


class Graph:
    """What operators are added to: a graph of ONNX that grows.

    Attributes
    ----------
    nodes, constants : list
        Of ONNX's messages.
    encodes_text : bool
        Whether columns of text become numbers in the graph.
    """

    encodes_text = True

    def __init__(self, taken=()):
        """taken: names of inputs and outputs, which nothing else may have"""
        self._helper = needed("onnx.helper", "onnx", "to_onnx")
        self._numpy_helper = needed("onnx.numpy_helper", "onnx", "to_onnx")
        self.nodes, self.constants, self._taken = [], [], frozenset(taken)

    def tensor(self, array):
        return self._numpy_helper.from_array(array)

    def constant(self, array):
        """The name of an array that does not change."""
        name = free_name(f"constant_{len(self.constants)}", self._taken)
        self.constants.append(self._numpy_helper.from_array(np.asarray(array), name))
        return name

    def new_name(self, kind="result"):
        """A name for a result of the next operator."""
        return free_name(f"{kind}_{len(self.nodes)}", self._taken)

    def node(self, operator, *inputs, name=None, others=(), domain="", **attributes):
        """The name of an operator's result, which is that given, if one is; others: names of its other results."""
        name = name or self.new_name()
        self.nodes.append(self._helper.make_node(operator, list(inputs), [name, *others], domain=domain, **attributes))
        return name

    def cast(self, result, dtype, name=None):
        """The name of a result in another type."""
        return self.node("Cast", result, name=name, to=self._helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def sums_in_order(self, terms, n_terms):
        """The name of the sums over axis 1, on which there are `n_terms`, formed in their order."""
        cumulated = self.node("CumSum", terms, self.constant(np.array(1)))
        return self.node("Gather", cumulated, self.constant(np.array(n_terms - 1)), axis=1)

    def tree_operator(self, operator, rows, attributes, tensors, **others):
        """The name of the result of an operator of trees, given what `dforest.interchange.conversion.onnx_trees` makes."""
        lists = {name: array.tolist() for name, array in attributes.items()}
        arrays = {name: self.tensor(array) for name, array in tensors.items()}
        return self.node(operator, rows, domain="ai.onnx.ml", **lists, **arrays, **others)

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
        attributes, tensors = ensemble_attributes(forest, labels_of(estimator, dtype, self.encodes_text), dtype, value_of_leaf)
        return self.tree_operator(
            "TreeEnsemble", rows, attributes, tensors, n_targets=forest.n_trees, aggregate_function=1, post_transform=0
        )

    def classic_trees(self, estimator, dtype, rows, value_of_leaf, nodes):
        """What `trees` returns, by the classic operator; nodes: `ClassicNodes`."""
        attributes, tensors = nodes.with_leaves("target", nodes.tree[:, None], value_of_leaf[:, None].astype(dtype))
        return self.tree_operator("TreeEnsembleRegressor", rows, attributes, tensors, n_targets=estimator.forest_.n_trees)


def free_name(name, taken):
    """A name that is not taken: the one that is wanted, or with underscores before it."""
    while name in taken or name == "":
        name = "_" + name
    return name


class Results(NamedTuple):
    """What operators have computed for each row beside the outputs: names of results, where these are there."""

    leaves: str | None  # the numbers of the values that trees add, of shape (n_rows, n_trees), dtype int64
    sums: str | None  # means over trees, or raw predictions, of shape (n_rows, n_sums)
    nodes: ClassicNodes | None  # those of classic operators


def output_names(estimator):
    """What the outputs of a model are called, as in models that skl2onnx makes; those of several columns of y by their number."""
    if finds_outliers(estimator):
        return ("label", "scores", "score_samples")
    if not is_classifier(estimator):
        return ("variable",)
    scores = "raw_predictions" if link_of(estimator) == "raw" else "probabilities"
    return tuple(kind + suffix for suffix in _suffixes(estimator) for kind in ("label", scores))


def _suffixes(classifier):
    """What follows the names of what a model says of each output."""
    n = classifier.forest_.objective.n_outputs
    return [f"_{output}" for output in range(n)] if n > 1 else [""]


def described_outputs(estimator, dtype, as_numbers=False):
    """(name, type, shape) of each output of a model; parameters are those of `add_operators`."""
    names, dtype = output_names(estimator), np.dtype(dtype)
    if finds_outliers(estimator):
        return [(name, of, (None, 1)) for name, of in zip(names, (np.dtype(np.int64), dtype, dtype), strict=True)]
    if not is_classifier(estimator):
        n_columns = len(values_of(estimator)[0]) if embeds(estimator) else estimator.forest_.objective.n_outputs
        return [(names[0], dtype, (None, n_columns))]
    described, is_raw = [], link_of(estimator) == "raw"
    for labels in _class_labels(estimator, as_numbers):
        n_scores = estimator.forest_.objective.n_sums if is_raw else len(labels)
        described += [(labels.dtype, (None,)), (dtype, (None, n_scores))]
    return [(name, *of) for name, of in zip(names, described, strict=True)]


def _class_labels(classifier, as_numbers=False):
    """The labels of the classes of each output, or their places: a list of arrays."""
    return [np.arange(len(known)) if as_numbers else label_array(known) for known in classes_of(classifier)]


@np.errstate(under="ignore")
def add_operators(graph, estimator, dtype, rows, to, is_raw=False, as_numbers=False):
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
    as_numbers : bool, default=False
        Whether labels are the places of classes.

    Returns
    -------
    Results

    Raises
    ------
    ValueError
        If ONNX can't have the tests, the categories, the loss or the labels.
    """
    check_own_tests(estimator, "ONNX", takes_lines=True)
    link, labels = link_of(estimator), _class_labels(estimator, as_numbers) if is_classifier(estimator) else None
    forest = estimator.forest_
    values, value_of_leaf = values_of(estimator)
    if dtype is np.float32:
        _check_float32(forest, values, "dtype=numpy.float32", "dtype=numpy.float64")
    leaves = _add_leaves(graph, estimator, dtype, rows, value_of_leaf)
    if embeds(estimator):
        _add_embedding(graph, leaves, len(values), dtype, to["variable"])
        return Results(leaves, None, None)
    if forest.objective.line_tables:
        added = graph.cast(_add_lines(graph, forest, values, rows, leaves), dtype)
    else:
        added = graph.node("Gather", graph.constant(values.astype(dtype) + dtype(0.0)), leaves, axis=0)  # sums are never -0.0
    if link is None:
        sums = graph.sums_in_order(added, forest.n_trees)
        sums = graph.node("Div", sums, graph.constant(dtype(forest.n_trees)))
        bounds = forest.packed().arrays().bounds
        for operator, bound in zip(("Max", "Min"), () if bounds is None else bounds, strict=False):
            sums = graph.node(operator, sums, graph.constant(bound.astype(dtype)[None, :]))
    else:
        baseline = np.array(forest.objective.baseline)
        # No number of rows is written, and none of values left open: 0 stands for that of the input, which may be 0 itself.
        n_each = forest.n_trees * values.shape[1] // len(baseline)
        by_sum = graph.node("Reshape", added, graph.constant(np.array([0, n_each, len(baseline)])))
        sums = graph.node("Add", graph.sums_in_order(by_sum, n_each), graph.constant(baseline.astype(dtype)[None, :]))
    if finds_outliers(estimator):
        _add_scores(graph, estimator, sums, dtype, to)
        return Results(leaves, sums, None)
    if labels is None:
        _add_numbers(graph, link, sums, to["variable"], forest.objective.n_outputs)
        return Results(leaves, sums, None)
    columns, scores = prediction_columns(forest.objective), "raw_predictions" if link == "raw" else "probabilities"
    for own, suffix, known in zip(columns, _suffixes(estimator), labels, strict=True):
        part = sums
        if len(columns) > 1:
            part = graph.node("Slice", sums, *(graph.constant(np.array([end])) for end in (own.start, own.stop, 1)))
        _add_outputs(graph, part, link, known, dtype, to[f"label{suffix}"], to[scores + suffix], is_raw)
    return Results(leaves, sums, None)


def _add_leaves(graph, estimator, dtype, rows, value_of_leaf):
    """Add what tells the numbers of the values that trees add, as int64; parameters are those of `Graph.trees`."""
    is_category = estimator.forest_.n_categories > 0
    if is_category.any():  # onnxruntime would round them; a category that is no integer is unknown, as NaN is
        is_whole = graph.node("Equal", rows, graph.node("Floor", rows))
        is_allowed = graph.node("Or", is_whole, graph.constant(~is_category[None, :]))
        rows = graph.node("Where", is_allowed, rows, graph.constant(dtype(np.nan)))
    return graph.cast(graph.trees(estimator, dtype, rows, value_of_leaf), np.int64)


def _add_lines(graph, forest, values, rows, leaves):
    """Add what tells what linear leaves add (rules/linear_leaf.h), in float64: of shape (n_rows, n_trees).

    values : as of `values_of`, of which each row of the forest's leaves has one
    """
    def of_leaves(table):
        return graph.node("Gather", graph.constant(table), leaves, axis=0)

    constant, is_line = of_leaves(values[:, 0] + 0.0), forest.leaf_features[:, 0] >= 0
    found, has_values = constant, of_leaves(is_line)
    for feature, center, slope in zip(forest.leaf_features.T, forest.leaf_centers.T, forest.leaf_slopes.T, strict=True):
        is_there = of_leaves(feature >= 0)
        x = graph.node("GatherElements", rows, of_leaves(np.maximum(feature, 0)), axis=1)
        x = graph.cast(x, np.float64)
        is_finite = graph.node("Equal", graph.node("Sub", x, x), graph.constant(0.0))
        term = graph.node("Mul", of_leaves(slope), graph.node("Sub", x, of_leaves(center)))
        found = graph.node("Where", is_there, graph.node("Add", found, term), found)
        has_values = graph.node("And", has_values, graph.node("Or", is_finite, graph.node("Not", is_there)))
    least, greatest = (of_leaves(bound) for bound in forest.leaf_bounds.T)
    found = graph.node("Where", graph.node("GreaterOrEqual", found, least), found, least)
    found = graph.node("Where", graph.node("Greater", found, greatest), greatest, found)
    return graph.node("Where", has_values, found, constant)


def add_decisions(graph, estimator, dtype, rows, path, leaf):
    """Add what tells, for each row and tree, the nodes on the way, as text of a 0 or 1 for each, and the number of the leaf.

    Parameters
    ----------
    graph, estimator, dtype, rows : see `add_operators`
    path, leaf : str or None
        The names that the results are to have; None: they are not wanted.
    """
    forest = estimator.forest_
    leaves = np.flatnonzero(forest.feature < 0)
    reached = _add_leaves(graph, estimator, dtype, rows, np.arange(len(leaves), dtype=np.uint32))
    if path is not None:
        paths = np.concatenate([_paths(forest.tree(t)) for t in range(forest.n_trees)])
        graph.node("Gather", graph.constant(paths), reached, axis=0, name=path)
    if leaf is not None:
        first = forest.node_offsets[np.searchsorted(forest.node_offsets, leaves, side="right") - 1]
        graph.node("Gather", graph.constant(leaves - first), reached, axis=0, name=leaf)


def _paths(tree):
    """For each leaf of a tree, in the order of the nodes, which nodes lead there, as text."""
    leaves = np.flatnonzero(tree.feature < 0)
    nodes, ends = tree.packed().paths(leaves[:, None])
    found = np.full((len(leaves), len(tree.feature)), b"0")
    found[np.repeat(np.arange(len(leaves)), np.diff(ends)), nodes] = b"1"
    return np.array([text.decode() for text in found.view(f"S{len(tree.feature)}")[:, 0]], object)


def _add_embedding(graph, leaves, n_leaves, dtype, name):
    """Add what is 1 in the columns of a row's leaves, and 0 elsewhere."""
    shape = graph.node("Shape", leaves)
    n_rows = graph.node("Gather", shape, graph.constant(np.array([0])))
    shape_of_all = graph.node("Concat", n_rows, graph.constant(np.array([n_leaves])), axis=0)
    nothing = graph.node("ConstantOfShape", shape_of_all, value=graph.tensor(np.zeros(1, dtype)))
    ones = graph.node("ConstantOfShape", shape, value=graph.tensor(np.ones(1, dtype)))
    graph.node("ScatterElements", nothing, leaves, ones, axis=1, name=name)


def _add_scores(graph, estimator, sums, dtype, to):
    """Add what mean lengths of paths say of rows: whether they are outliers, and scores."""
    known = scores_of(estimator)
    least = dtype(known.least)
    if float(least) < known.least:  # no number of the type is between the two
        least = np.nextafter(least, dtype(np.inf))
    is_outlier = graph.node("Less", sums, graph.constant(least))
    graph.node("Where", is_outlier, graph.constant(np.array(-1)), graph.constant(np.array(1)), name=to["label"])
    length = graph.node("Div", sums, graph.constant(dtype(known.longest)))
    power = graph.node("Pow", graph.constant(dtype(2.0)), graph.node("Sub", graph.constant(dtype(known.begin)), length))
    graph.node("Neg", power, name=to["score_samples"])
    graph.node("Sub", to["score_samples"], graph.constant(dtype(known.offset)), name=to["scores"])


def _add_outputs(graph, sums, link, labels, dtype, label, probabilities, is_raw):
    """Add what means or raw predictions say of classes. IN labels: an array of these; label, probabilities: names for outputs."""
    is_logistic = link in ("logistic", "logistic_of_twice")
    if is_logistic or link == "raw" and len(labels) == 2:
        flat = graph.node("Squeeze", sums, graph.constant(np.array([1])))
        best = graph.cast(graph.node("Greater", flat, graph.constant(dtype(0.0))), np.int64)
    else:
        best = graph.node("ArgMax", sums, axis=1, keepdims=0)
    if is_logistic:
        factor = 2 if link == "logistic_of_twice" and not is_raw else 1
        odds = graph.node("Mul", sums, graph.constant(np.array([[-1.0, 1.0]], dtype) * factor))
        graph.node("Identity" if is_raw else "Sigmoid", odds, name=probabilities)
    elif link == "softmax" and not is_raw:
        graph.node("Softmax", sums, axis=1, name=probabilities)
    else:
        graph.node("Identity", sums, name=probabilities)
    graph.node("Gather", graph.constant(labels), best, axis=0, name=label)


def _check_float32(forest, values, chosen, other):
    """Raise ValueError if float32 can't number the values of leaves, or has not their range."""
    if len(values) > _MAX_EXACT:
        raise ValueError(
            f"{chosen} for a forest whose leaves have {len(values)} distinct values; allowed are up to {_MAX_EXACT}, or {other}"
        )
    largest, numbers = max(forest.largest_added(values), np.abs(forest.objective.baseline or 0.0).max()), np.finfo(np.float32)
    if largest and not numbers.tiny <= largest <= numbers.max:
        raise ValueError(
            f"{chosen} for trees that add values of up to {largest} in magnitude; allowed are from {numbers.tiny} to "
            f"{numbers.max}, or {other}"
        )


@np.errstate(under="ignore")
def add_classic_operators(graph, estimator, dtype, rows, to, as_numbers=False):
    """`add_operators`, with classic operators: sums are not in the graph."""
    if estimator.forest_.objective.line_tables:
        raise ValueError(
            'operators="classic" for leaf_model="linear", but leaves of a TreeEnsembleRegressor add numbers; allowed is '
            'operators="exact"'
        )
    check_own_tests(estimator, "ONNX")
    link, forest, classes = link_of(estimator), estimator.forest_, None
    if is_classifier(estimator):
        _check_classes(estimator)
        (classes,) = _class_labels(estimator, as_numbers)
        if link == "raw":
            raise ValueError(
                f'operators="classic" for a classifier by a loss of your own, {estimator.loss!r}, but a TreeEnsembleClassifier '
                'says probabilities; allowed is operators="exact", for raw predictions'
            )
    values, value_of_leaf = values_of(estimator)
    _check_float32(forest, values, 'operators="classic"', 'operators="exact"')
    nodes = classic_nodes(forest, labels_of(estimator, dtype, graph.encodes_text), dtype)
    if embeds(estimator):
        leaves = graph.cast(graph.classic_trees(estimator, dtype, rows, value_of_leaf, nodes), np.int64)
        _add_embedding(graph, leaves, len(values), dtype, to["variable"])
        return Results(None, None, nodes)
    weight, sums = values[value_of_leaf], np.broadcast_to(np.arange(values.shape[1]), (len(value_of_leaf), values.shape[1]))
    if link is None:
        weight, baseline = weight / forest.n_trees, None
        if classes is not None and len(classes) == 2:  # one sum, as in other converters' models: that of the second class
            weight, sums = weight[:, 1:], sums[:, :1]
    else:
        factor, baseline = 2.0 if link == "logistic_of_twice" else 1.0, np.array(forest.objective.baseline)
        weight = factor * weight
        if values.shape[1] < len(baseline):
            sums = nodes.tree[:, None] % len(baseline)  # trees take turns
        baseline = (factor * baseline).astype(dtype)
        if link.startswith("logistic") and (weight >= 0).all():  # onnxruntime would take the sum for a probability
            nothing = np.full_like(weight, -np.finfo(np.float32).tiny)
            sums, weight = np.hstack([sums, sums]), np.hstack([weight, nothing])
    has_scores = finds_outliers(estimator)
    of = "target" if classes is None else "class"
    attributes, tensors = nodes.with_leaves(of, sums, weight.astype(dtype), baseline)
    if of == "class":
        _add_classifier(graph, classes, dtype, rows, to, attributes, tensors, _TRANSFORMS.get(link, "NONE"))
    else:
        n_sums = values.shape[1]  # no trees take turns at numbers
        name = None if has_scores else to["variable"]
        has_cast, is_changed = dtype is np.float64, link in _FUNCTIONS or link == "in_order"
        own = None if has_cast or is_changed else name
        found = graph.tree_operator("TreeEnsembleRegressor", rows, attributes, tensors, n_targets=n_sums, name=own)
        if has_cast:
            found = graph.cast(found, dtype, None if is_changed else name)
        if is_changed:
            _add_numbers(graph, link, found, name, n_sums)
        if has_scores:
            _add_scores(graph, estimator, found, dtype, to)
    return Results(None, None, nodes)


def _add_numbers(graph, link, sums, name, n_outputs):
    """Add what raw predictions of numbers say, whose result is to have this name."""
    if link == "in_order":
        graph.node("TopK", sums, graph.constant(np.array([n_outputs])), name=name, others=(graph.new_name(),), axis=1, largest=0)
    else:
        graph.node(_FUNCTIONS.get(link, "Identity"), sums, name=name)


def _check_classes(classifier):
    """Raise ValueError if there are more outputs than the one that a classic operator has, or one class alone."""
    known = classes_of(classifier)
    if len(known) > 1:
        raise ValueError(
            f'operators="classic" for a classifier of {len(known)} outputs, but a TreeEnsembleClassifier has the classes of one; '
            'allowed is operators="exact"'
        )
    if len(known[0]) == 1:
        raise ValueError('operators="classic" for a classifier of one class; allowed are more classes, or operators="exact"')


def _add_classifier(graph, classes, dtype, rows, to, attributes, tensors, transform):
    """Add the classic operator of classifiers, whose labels are text or integers, and whose probabilities are of float32."""
    has_labels, is_float = classes.dtype.kind in "iO", dtype is np.float32
    kind = "classlabels_strings" if classes.dtype.kind == "O" else "classlabels_int64s"
    attributes[kind] = classes if has_labels else np.arange(len(classes))
    label = to["label"] if has_labels else graph.new_name("label")
    shares = to["probabilities"] if is_float else graph.new_name("probabilities")
    graph.tree_operator(
        "TreeEnsembleClassifier", rows, attributes, tensors, name=label, others=[shares], post_transform=transform
    )
    if not has_labels:
        graph.node("Gather", graph.constant(classes), label, axis=0, name=to["label"])
    if not is_float:
        graph.cast(shares, dtype, to["probabilities"])


def labels_of(estimator, dtype, encodes_text=True):
    """The labels of categories as onnxruntime takes them for sets: see `numeric_labels`.

    It takes integers of 32 bits, but was seen to confuse large ones with NaN.
    """
    return numeric_labels(estimator, "ONNX", dtype, -_MAX_EXACT, _MAX_EXACT, encodes_text)


def label_array(classes):
    """The labels of the classes of an output in a type that ONNX has."""
    return class_labels(classes, "a model of ONNX")
