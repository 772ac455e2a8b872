"""Fitted estimators as ONNX models, which own copies of all arrays.

A model has one input, X, unless there are columns of text: then there is an input for each column, and text becomes numbers by
the operator ``LabelEncoder``.
"""

import numpy as np

from dforest.extras import needed
from dforest.interchange.conversion.columns import as_levels, probes_of, text_labels
from dforest.interchange.conversion.links import embeds, finds_outliers, link_of, meaning, rounding, sum_rounding, values_of
from dforest.interchange.conversion.onnx_operators import (
    OPERATORS,
    Graph,
    add_classic_operators,
    add_operators,
    described_outputs,
    free_name,
    labels_of,
    output_names,
)
from dforest.interchange.conversion.probes import check_same

_TREES, _FORMAT = 5, 10  # versions of ai.onnx.ml and of the file format
_CLASSIC_OPERATORS, _CLASSIC_FORMAT = 11, 6  # of what is classic
_MAX_BYTES = 2**31 - 1  # of a model, by protobuf's rules


@np.errstate(under="ignore")
def to_onnx(estimator, dtype, operators, verify):
    """What `dforest.estimators.conversion.to_onnx` returns for a fitted estimator."""
    helper, known = needed("onnx.helper", "onnx", "to_onnx"), {np.dtype(kind): kind for kind in (np.float32, np.float64)}
    try:
        dtype = known[np.dtype(dtype)]
    except (KeyError, TypeError):
        raise ValueError(f"dtype={dtype!r}; allowed are numpy.float32 and numpy.float64") from None
    if operators not in ("exact", "classic"):
        raise ValueError(f'operators={operators!r}; allowed are "exact" and "classic"')
    add, is_classic = (add_operators, False) if operators == "exact" else (add_classic_operators, True)
    inputs = _Inputs(estimator, dtype)
    to = {name: free_name(name, inputs.names) for name in output_names(estimator)}
    graph = Graph({*inputs.names, *to.values()})
    rows = inputs.add_encoders(graph)
    results = add(graph, estimator, dtype, rows, to)

    def described(name, of, shape):
        kind = helper.TensorProto.STRING if of.kind == "O" else helper.np_dtype_to_tensor_dtype(of)
        return helper.make_tensor_value_info(name, kind, shape)

    versions = {"": OPERATORS, "ai.onnx.ml": _TREES}
    if is_classic:  # the least that has what is used
        versions = {"": _CLASSIC_OPERATORS, "ai.onnx.ml": 3 if dtype is np.float64 else 2 if inputs.has_text else 1}
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            type(estimator).__name__,
            [described(*one) for one in inputs.described()],
            [described(to[name], *of) for name, *of in described_outputs(estimator, dtype)],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid(*version) for version in versions.items()],
        ir_version=_CLASSIC_FORMAT if is_classic else _FORMAT,
        producer_name="dforest",
    )
    if model.ByteSize() > _MAX_BYTES:
        raise ValueError(
            f"a model of ONNX with {len(estimator.forest_.feature)} nodes would have {model.ByteSize()} bytes; allowed are "
            f"{_MAX_BYTES}: grow fewer or smaller trees, or prune them"
        )
    if verify:
        n_nodes, leaves = len(graph.nodes), results.leaves
        if is_classic:  # the same nodes tell the leaves
            _, value_of_leaf = values_of(estimator)
            leaves = graph.cast(graph.classic_trees(estimator, dtype, rows, value_of_leaf, results.nodes), np.int64)
            model.graph.node.extend(graph.nodes[n_nodes:])
        for name, of in ((leaves, np.dtype(np.int64)), (results.sums, np.dtype(dtype))):
            if name is not None:
                model.graph.output.append(described(name, of, (None, None)))
        _verify(model, estimator, dtype, inputs)
        del model.graph.output[len(to) :], model.graph.node[n_nodes:]
    return model


class _Inputs:
    """The inputs of a model: X, or columns.

    Attributes
    ----------
    has_text : bool
        Whether there are columns of text, so that each column is an input.
    names : list of str
        What the inputs are called: as the columns, or, where these have no name, by their numbers.
    """

    def __init__(self, estimator, dtype):
        self._estimator, self._dtype, self._texts = estimator, dtype, text_labels(estimator)
        self.has_text = any(labels is not None for labels in self._texts)
        names = getattr(estimator, "feature_names_in_", [f"x{j}" for j in range(estimator.n_features_in_)])
        names = list(names) if self.has_text else ["X"]
        self.names = [name or free_name(f"x{j}", names) for j, name in enumerate(names)]

    def described(self):
        """(name, type, shape) of each input."""
        if not self.has_text:
            return [("X", np.dtype(self._dtype), (None, self._estimator.n_features_in_))]
        kinds = [np.dtype(self._dtype if labels is None else object) for labels in self._texts]
        return [(name, kind, (None, 1)) for name, kind in zip(self.names, kinds, strict=True)]

    def add_encoders(self, graph):
        """Add what makes numbers of text; returns the name of X."""
        if not self.has_text:
            return "X"
        columns = list(self.names)
        for j, labels in enumerate(self._texts):
            if labels is not None:
                numbers = np.arange(len(labels), dtype=np.float32).tolist()
                columns[j] = graph.node(
                    "LabelEncoder", columns[j], domain="ai.onnx.ml", keys_strings=labels, values_floats=numbers,
                    default_float=float("nan"),
                )  # fmt: skip
                columns[j] = columns[j] if self._dtype is np.float32 else graph.cast(columns[j], self._dtype)
        return graph.node("Concat", *columns, axis=1)

    def probes(self):
        """Rows as trees take them, the same as the user has them but for text, and a dict of the model's inputs."""
        known = labels_of(self._estimator, self._dtype)
        encoded, rows = probes_of(self._estimator, self._dtype, known, fractions=True, infinite=True)
        if not self.has_text:
            return encoded, rows, {"X": rows}
        for j in np.flatnonzero(self._estimator.forest_.n_categories == 0):
            if self._texts[j] is not None:
                encoded[:, j] = rows[:, j] = as_levels(rows[:, j], len(self._texts[j]))
        return (
            encoded,
            rows,
            {
                name: column[:, None] if labels is None else _as_text(column, labels)[:, None]
                for name, column, labels in zip(self.names, rows.T, self._texts, strict=True)
            },
        )


def _as_text(numbers, labels):
    """The labels that numbers stand for; text that is no label, for other numbers and NaN."""
    unknown = next(text for n in range(len(labels) + 1) if (text := n * "?") not in labels)
    with np.errstate(invalid="ignore"):
        places = np.where((numbers >= 0) & (numbers < len(labels)) & (numbers == np.floor(numbers)), numbers, len(labels))
    return np.array([*labels, unknown], object)[places.astype(np.intp)]


def _verify(model, estimator, dtype, inputs):
    """Raise ConversionError unless onnxruntime finds the same leaves, adds them up the same, and says the same of y."""
    runtime = needed("onnxruntime", "onnx", "to_onnx(verify=True)")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    encoded, rows, given = inputs.probes()
    n_outputs = len(output_names(estimator))
    found = session.run(None, given)
    outputs, leaves, sums = found[:n_outputs], found[n_outputs], found[n_outputs + 1 :]
    if finds_outliers(estimator):
        outputs = [outputs[0], np.hstack(outputs[1:])]
    elif n_outputs > 2:  # labels and probabilities in turn
        outputs = [np.stack([label.astype(object) for label in outputs[::2]], axis=1), np.hstack(outputs[1::2])]
    forest, link = estimator.forest_, link_of(estimator)
    values, value_of_leaf = values_of(estimator)
    packed = forest.packed(getattr(estimator, "voting", "soft"))
    place = np.cumsum(forest.feature < 0) - 1
    expected_leaves = value_of_leaf[place[forest.node_offsets[:-1] + packed.apply(encoded, 1)]]
    check_same("ONNX", rows, expected_leaves, leaves)
    if embeds(estimator):
        expected = np.zeros((len(rows), len(values)), dtype)
        np.put_along_axis(expected, expected_leaves.astype(np.intp), 1.0, axis=1)
        check_same("ONNX", rows, expected, outputs[0])
        return
    expected = packed.mean(encoded, 1)
    if sums:
        check_same("ONNX", rows, expected, sums[0], None if dtype is np.float64 else sum_rounding(forest, dtype))
        has_powers = link is not None or finds_outliers(estimator)
        for right, found in zip(meaning(estimator, sums[0]), outputs, strict=True):
            check_same("ONNX", rows, right, found, rounding(right, dtype) if has_powers and found.dtype == dtype else None)
        return
    *label, right = meaning(estimator, expected)
    slack = sum_rounding(forest, np.float32)  # in which classic operators add up, or at least return what they have added
    if link not in (None, "identity", "raw"):
        slack = 2 * slack if link == "logistic_of_twice" else slack
        slack = np.expm1(min(slack, 1.0)) * np.maximum(1.0, np.abs(right)) + rounding(right, np.float32)
    elif finds_outliers(estimator):
        slack = slack + rounding(right, np.float32)  # scores have slopes below 1
    check_same("ONNX", rows, right, outputs[-1], slack)
    if label:
        first = np.sort(right, axis=1)[:, ::-1]
        is_clear = np.full(len(rows), True) if right.shape[1] == 1 else first[:, 0] - first[:, 1] > 2 * np.max(slack)
        is_clear = np.abs(right[:, 0]) > 2 * np.max(slack) if finds_outliers(estimator) else is_clear
        check_same("ONNX", rows[is_clear], label[0][is_clear], outputs[0][is_clear])
