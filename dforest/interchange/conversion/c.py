"""Fitted estimators as C code: one file of C99 that needs nothing but the standard library.

Nodes, and the values that leaves add, are tables, and a loop goes down the trees: compilers take many times as long for nested
tests in place of a table. Sums are formed in the order of the trees, as by dforest, so that they have the same bits.
"""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import textwrap
from pathlib import Path

import numpy as np
from sklearn.base import is_classifier

from dforest.errors import ConversionError
from dforest.estimators.data.labels import labels_of
from dforest.estimators.data.outputs import classes_of, prediction_columns
from dforest.interchange.conversion.c_tests import (
    IS_IN_SET,
    SET_TEST,
    SETS,
    SUM_TEST,
    WEIGHTED,
    WEIGHTED_SUM,
    NodeTests,
)
from dforest.interchange.conversion.columns import check_own_tests, class_labels, coded_labels, probes_of
from dforest.interchange.conversion.links import embeds, finds_outliers, link_of, meaning, rounding, scores_of, values_of
from dforest.interchange.conversion.probes import check_same

_PER_LINE = 8  # numbers of a table
_LABEL = {"text": ("const char *label", "const char *const *labels"), "number": ("double label", "const double *labels")}

# What follows is C. `model` stands for the prefix, and words in capitals for others.
_ABOUT = [
    "Other files need the declarations below. x has a number for each column, in the order of training; NAN stands for a missing "
    "value. Any number of threads may call these functions at the same time. Compile without options by which no number is NAN, "
    "such as -ffast-math: missing values would go astray.",
]
_ROUNDED = (
    "Leaves are linear functions: compile with -std=c99 or -ffp-contract=off, so that no product is left unrounded, for the bits "
    "of dforest's predictions."
)
_CODED = "Labels of COLUMNS are passed as what FUNCTION makes of them: a code, or NAN for a label that was not there in training."
_NODES = """
/* A test, or a leaf. A row whose value of the feature is at most `threshold` goes to the next node, another one to the node
 * `link`; `kind` says where a missing value goes.OTHERS Of a leaf, `link` is LINKED. */
typedef struct {
    FLOAT threshold;
    uint32_t link;
    INTEGER feature;
    uint8_t kind;
} model_node;

enum { model_missing_left = 1, model_set = 2, model_leaf = 4, model_sum = 8 };
"""
_LEAF_OF = """
/* The leaf that a row reaches from a root. */
static uint32_t model_leaf_of(uint32_t at, const double *x)
{
    while (!(model_nodes[at].kind & model_leaf)) {
        const model_node *node = model_nodes + at;
        const double value = x[node->feature];
        int left = value <= node->threshold || (value != value && (node->kind & model_missing_left));
TEST        at = left ? at + 1 : node->link;
    }
    return at;
}
"""
_SUMS = """
/* The KIND: what leaves add, in the order of the trees. */
static void model_sums(const double *x, double *sums)
{
    int t, k;
    for (k = 0; k < N_SUMS; k++)
        sums[k] = 0.0;
    for (t = 0; t < N_TREES; t++) {
        const double *value = model_values[model_nodes[model_leaf_of(model_roots[t], x)].link];
ADD    }
END}
"""
_ADD = """\
        for (k = 0; k < N_SUMS; k++)
            sums[k] += value[k];
"""
_ADD_IN_TURN = """\
        sums[t % N_SUMS] += value[0];
"""
_ADD_LINE = """\
        sums[t % N_SUMS] += model_line_value(model_lines[value - model_values[0]], value[0], x);
"""
_LINE_VALUE = """
/* What a leaf adds, given its value and its line: the least and the greatest that it adds, then the feature, the centre and the
 * slope of each term. The feature -1 ends the terms. A value that is not finite leaves the leaf's own value alone. */
static double model_line_value(const double *line, double constant, const double *x)
{
    const double *term = line + 2;
    double value = constant;
    int j;
    if (!(term[0] >= 0.0))
        return constant;
    for (j = 0; j < N_TERMS && term[0] >= 0.0; j++, term += 3) {
        const double number = x[(uint32_t)term[0]];
        if (!(number - number == 0.0))
            return constant;
        value += term[2] * (number - term[1]);
    }
    return !(value >= line[0]) ? line[0] : value > line[1] ? line[1] : value;
}
"""
_MEAN = """\
    for (k = 0; k < N_SUMS; k++)
        sums[k] /= N_TREES.0;
"""
_CLIP = """\
    sums[OUTPUT] = sums[OUTPUT] < LOWER ? LOWER : sums[OUTPUT] > UPPER ? UPPER : sums[OUTPUT];
"""
_BASELINE = """\
    for (k = 0; k < N_SUMS; k++)
        sums[k] += model_baseline[k];
"""
_EXP = """
/* Positive and finite. */
static double model_exp(double x)
{
    return exp(x < -708.0 ? -708.0 : x > 709.0 ? 709.0 : x);
}
"""
_LOGISTIC = """
static double model_logistic(double x)
{
    const double e = model_exp(-fabs(x)), larger = 1.0 / (1.0 + e);
    return x < 0.0 ? e * larger : larger;
}
"""
_HIGHEST = """
/* The place of the largest of n numbers, of equal ones the first. */
static int model_highest(const double *sums, int n)
{
    int k, highest = 0;
    for (k = 1; k < n; k++)
        highest = sums[k] > sums[highest] ? k : highest;
    return highest;
}
"""
_CODE = """
double FUNCTION(int column, LABEL)
{
    LABELS = 0;
    int i, n = 0;
    switch (column) {
CASES    }
    for (i = 0; i < n; i++)
        if (EQUAL)
            return i;
    return NAN;
}
"""
_CASE = """\
    case COLUMN:
        labels = NAME;
        n = LENGTH;
        break;
"""
_PREDICT = """
DECLARED
{
    double sums[N_SUMS];
    model_sums(x, sums);
RESULT}
"""
_IN_ORDER = """\
    int i, j;
    for (i = 0; i < N_SUMS; i++) { /* in ascending order */
        for (j = i; j > 0 && out[j - 1] > sums[i]; j--)
            out[j] = out[j - 1];
        out[j] = sums[i];
    }
"""
_PROBABILITIES = """
void DECLARED
{
BODY}
"""
_SHARES = """\
    model_sums(x, out);
"""
_TWO_CLASSES = """\
    double sums[1];
    model_sums(x, sums);
    out[0] = model_logistic(-(ODDS));
    out[1] = model_logistic(ODDS);
"""
_SOFTMAX = """\
    double sums[N_SUMS], rest = 0.0, scale;
    int k, highest;
    model_sums(x, sums);
    highest = model_highest(sums, N_SUMS);
    for (k = 0; k < N_SUMS; k++) {
        out[k] = model_exp(sums[k] - sums[highest]);
        rest += k == highest ? 0.0 : out[k];
    }
    scale = 1.0 / (1.0 + rest);
    for (k = 0; k < N_SUMS; k++)
        out[k] *= scale;
"""
_SCORES = """
double model_score_samples(const double *x)
{
    double sums[1];
    model_sums(x, sums);
    return -exp2(BEGIN - sums[0] / LONGEST);
}

double model_decision_function(const double *x)
{
    return model_score_samples(x) - OFFSET;
}
"""
_TRANSFORM = """
void model_transform(const double *x, uint32_t *columns)
{
    int t;
    for (t = 0; t < N_TREES; t++)
        columns[t] = model_nodes[model_leaf_of(model_roots[t], x)].link;
}
"""
# Rows in; out come, for each, the leaves that it reaches, the sums, and what is predicted.
_CHECK = """
#include <stdio.h>

int main(void)
{
    double x[model_n_features], out[N_OUT];
    while (fread(x, sizeof x, 1, stdin) == 1) {
        uint32_t leaves[N_TREES];
        int t;
        for (t = 0; t < N_TREES; t++)
            leaves[t] = model_leaf_of(model_roots[t], x) - model_roots[t];
PREDICT        if (fwrite(leaves, sizeof leaves, 1, stdout) != 1 || fwrite(out, sizeof out, 1, stdout) != 1)
            return 1;
    }
    return 0;
}
"""
_PREDICT_SEVERAL = """\
        int places[N_OUTPUTS];
        model_predict(x, places);
        for (t = 0; t < N_OUTPUTS; t++)
            out[N_SUMS + t] = places[t];
"""


_PREDICT_SCORES = """\
        out[2] = model_decision_function(x);
        out[3] = model_score_samples(x);
"""
_PREDICT_COLUMNS = """\
        uint32_t columns[N_TREES];
        model_transform(x, columns);
        for (t = 0; t < N_TREES; t++)
            out[t] = columns[t];
"""


@np.errstate(under="ignore")
def to_c(estimator, path, prefix, verify):
    """What `dforest.estimators.conversion.to_c` returns for a fitted estimator."""
    if not (isinstance(prefix, str) and re.fullmatch(r"[A-Za-z]\w*", prefix, re.ASCII)):
        raise ValueError(f"prefix={prefix!r}; allowed are names of C that begin with a letter, such as 'forest'")
    check_own_tests(estimator, "C code", takes_lines=True, takes_sums=True)
    source = _Source(estimator, prefix)
    code = "".join(source.parts())
    if verify:
        _verify(source, code)
    if path is not None:
        Path(path).write_text(code, encoding="ascii")
    return code


class _Source:
    """The code of a fitted estimator, which its methods yield in parts.

    Attributes
    ----------
    coded : dict of str to dict of int to ndarray
        The labels of columns of X whose values the code turns into codes, by column: under "text" those that are text, which C
        compares as strings, and under "number" those that are numbers.
    link : Link or None
        What makes predictions of raw predictions, of boosted trees.
    n_sums : int
        How many numbers are added up over the trees.
    values, value_of_leaf : ndarray
        Rows of numbers that leaves add, each different one once; and which row each leaf adds.
    suffixes : list of str
        With which names of C end that there are for each column of y; one that is empty if y has one column.
    """

    def __init__(self, estimator, prefix):
        self.estimator, self.prefix, self.link = estimator, prefix, link_of(estimator)
        self.forest, self.voting = estimator.forest_, getattr(estimator, "voting", "soft")
        self.values, self.value_of_leaf = values_of(estimator)
        self.columns, self.classes = prediction_columns(self.forest.objective), None
        if is_classifier(estimator):
            self.classes = [class_labels(classes, "C code") for classes in classes_of(estimator)]
        self.n_outputs = len(self.columns)
        self.suffixes = [f"_{output}" for output in range(self.n_outputs)] if self.n_outputs > 1 else [""]
        labels = coded_labels(estimator, "C code")
        with_labels = {j: known for j, known in enumerate(labels) if known is not None}
        self.coded = {
            "text": {j: known for j, known in with_labels.items() if known.dtype.kind == "O"},
            "number": {j: known for j, known in with_labels.items() if known.dtype.kind != "O"},
        }
        self.n_sums = self.values.shape[1] if self.link is None else len(self.forest.objective.baseline)

    def filled(self, text, **words):
        """A text of C with words in place of those in capitals."""
        words |= {"N_SUMS": self.n_sums, "N_TREES": self.forest.n_trees}
        found = re.sub(rf"\b({'|'.join(words)})\b", lambda match: str(words[match[0]]), text)
        return re.sub(r"\bmodel_", f"{self.prefix}_", found)

    def table(self, kind, name, literals):
        literals, start = list(literals), "" if "extern" in kind else "static "
        lines = (", ".join(literals[i : i + _PER_LINE]) for i in range(0, len(literals), _PER_LINE))
        head = self.filled(f"\n{start}{kind.removeprefix('extern ')} {name}[{len(literals)}] = {{\n    ")
        return head + ",\n    ".join(lines) + ",\n};\n"

    def parts(self):
        yield from self.head()
        yield from self.codes()
        yield from self.nodes()
        if embeds(self.estimator):
            yield self.filled(_TRANSFORM)
            return
        yield from self.sums()
        yield from self.predictions()

    def head(self):
        """What other files need to know, and tables for them."""
        forest, names = self.forest, getattr(self.estimator, "feature_names_in_", None)
        facts = f"{type(self.estimator).__name__} of dforest: {forest.n_trees} trees, {len(forest.feature)} nodes."
        codes = []
        for kind, known in self.coded.items():
            if known:
                columns = f"column{'s' * (len(known) > 1)} {', '.join(map(str, known))}"
                codes.append(self.filled(_CODED, COLUMNS=columns, FUNCTION=f"model_code_of_{kind}"))
        about = [*_ABOUT, *([_ROUNDED] if forest.objective.line_tables else []), *codes]
        paragraphs = [textwrap.fill(part, 120, initial_indent=" * ", subsequent_indent=" * ") for part in about]
        yield f"/* {facts}\n *\n" + "\n *\n".join(paragraphs) + " */\n"
        headers = ["math.h", "stdint.h", *(["string.h"] if self.coded["text"] else [])]
        yield "".join(f"#include <{header}>\n" for header in headers)
        sizes = {"model_n_features": forest.n_features} | ({"model_n_outputs": self.n_outputs} if self.n_outputs > 1 else {})
        of_classes = list(zip(self.suffixes, self.classes or (), strict=False))
        sizes |= {f"model_n_classes{suffix}": len(classes) for suffix, classes in of_classes}
        if embeds(self.estimator):
            sizes |= {"model_n_trees": forest.n_trees, "model_n_leaves": len(self.values)}
        declared = [f"enum {{ {', '.join(f'{name} = {size}' for name, size in sizes.items())} }};"]
        tables = [] if names is None else [("extern const char *const", "model_features", _literals(names.astype(object)))]
        for suffix, classes in of_classes:
            tables.append((f"extern {_type_of(classes)}", f"model_classes{suffix}", _literals(classes)))
        declared += [f"{kind} {name}[{len(literals)}];" for kind, name, literals in tables]
        kinds = [kind for kind, known in self.coded.items() if known]
        declared += [f"double model_code_of_{kind}(int column, {_LABEL[kind][0]});" for kind in kinds]
        about = " /* the raw prediction, as the loss is not known here */" if self.link == "raw" else ""
        if self.classes is not None:
            probabilities = "/* out: the probability of each class" + ", output by output" * (self.n_outputs > 1)
            if self.link == "raw":
                probabilities = f"/* out: {self.n_sums} raw prediction{'s' * (self.n_sums > 1)}"
            declared.append(f"void {self.declared_scores()}; {probabilities} */")
            of = " and so on" * (self.n_outputs > 1)
            about = f" /* the place of the most probable class in model_classes{self.suffixes[0]}{of} */"
        if finds_outliers(self.estimator):
            declared += [f"double model_{name}(const double *x);" for name in ("score_samples", "decision_function")]
            about = " /* -1 for an outlier, else 1 */"
        declared.append(f"{self.declared_predict()};{about}")
        yield self.filled("\n" + "\n".join(declared) + "\n")
        yield from (self.table(*table) for table in tables)

    def codes(self):
        """The labels of columns, and functions that find one."""
        for kind, known in self.coded.items():
            for j, labels in known.items():
                yield self.table(_type_of(labels), f"model_labels_{j}", _literals(labels))
            if known:
                cases = [self.filled(_CASE, COLUMN=j, NAME=f"model_labels_{j}", LENGTH=len(known[j])) for j in known]
                yield self.filled(
                    _CODE,
                    FUNCTION=f"model_code_of_{kind}",
                    **dict(zip(("LABEL", "LABELS"), _LABEL[kind], strict=True)),
                    CASES="".join(cases),
                    EQUAL="strcmp(labels[i], label) == 0" if kind == "text" else "labels[i] == label",
                )

    def nodes(self):
        """The nodes, the sets and the sums of their tests, and how a row goes down."""
        forest = self.forest
        is_leaf, first = forest.feature < 0, forest.node_offsets[:-1]
        tests = NodeTests(forest)
        threshold = tests.threshold
        with np.errstate(over="ignore"):
            is_float = (threshold.astype(np.float32) == threshold).all()
        link = np.repeat(first, np.diff(forest.node_offsets)) + forest.link
        link[is_leaf] = self.value_of_leaf
        columns = (
            _literals(threshold.astype(np.float32) if is_float else threshold),
            link.tolist(),
            np.where(is_leaf, 0, forest.feature).tolist(),
            tests.kind.tolist(),
        )
        linked = "its column" if embeds(self.estimator) else "the row of model_values that it adds"
        integer = "uint16_t" if forest.n_features <= 2**16 else "uint32_t"
        others = SETS * bool(tests.sets) + WEIGHTED * bool(tests.weights)
        yield self.filled(_NODES, FLOAT="float" if is_float else "double", INTEGER=integer, OTHERS=others, LINKED=linked)
        yield self.filled(f"\nstatic const model_node model_nodes[{len(threshold)}] = {{\n")
        yield "".join(f"    {{{value}, {to}, {j}, {kind}}},\n" for value, to, j, kind in zip(*columns, strict=True)) + "};\n"
        yield self.table("const uint32_t", "model_roots", map(str, first.tolist()))
        if tests.sets:
            yield self.table("const uint32_t", "model_sets", map(hex, tests.sets)) + self.filled(IS_IN_SET)
        if tests.weights:
            yield self.table("const double", "model_weights", _literals(np.array(tests.weights))) + self.filled(WEIGHTED_SUM)
        yield self.filled(_LEAF_OF, TEST=SET_TEST * bool(tests.sets) + SUM_TEST * bool(tests.weights))

    def sums(self):
        """The values of leaves, and how they are added up."""
        n_values, n_columns = self.values.shape
        yield self.filled(f"\nstatic const double model_values[{n_values}][{n_columns}] = {{\n")
        yield "".join(f"    {{{', '.join(_literals(row))}}},\n" for row in self.values) + "};\n"
        kind, add, end = "mean over trees", _ADD, _MEAN
        if self.link is not None:
            yield self.table("const double", "model_baseline", _literals(np.array(self.forest.objective.baseline)))
            kind, end = "raw prediction", _BASELINE
            add = _ADD_IN_TURN if n_columns < self.n_sums else _ADD
        lines = self.forest.lines()
        if lines is not None:
            add = _ADD_LINE
            yield self.filled(f"\nstatic const double model_lines[{n_values}][{lines.shape[1]}] = {{\n")
            yield "".join(f"    {{{', '.join(_literals(row))}}},\n" for row in lines) + "};\n"
            yield self.filled(_LINE_VALUE, N_TERMS=self.forest.objective.n_leaf_features)
        bounds = self.forest.packed().arrays().bounds
        if bounds is not None:
            end += "    /* Rounding may have led beyond all leaves. */\n"
            for output, ends in enumerate(bounds.T):
                end += self.filled(_CLIP, OUTPUT=output, **dict(zip(("LOWER", "UPPER"), _literals(ends), strict=True)))
        yield self.filled(self.filled(_SUMS, KIND=kind, ADD=add, END=end))

    def predictions(self):
        """The functions that predict."""
        link = self.link
        if link not in (None, "identity", "raw", "in_order"):
            yield self.filled(_EXP)
        if self.classes is None:
            results = [f"sums[{output}]" for output in range(self.n_outputs)]
            function = {"exponential": "model_exp", "share": "model_logistic"}.get(link, "")
            results = [f"{function}({result})" if function else result for result in results]
            if link == "share":
                yield self.filled(_LOGISTIC)
        elif link in ("logistic", "logistic_of_twice"):
            body = self.filled(_TWO_CLASSES, ODDS="sums[0]" if link == "logistic" else "2.0 * sums[0]")
            yield self.filled(_LOGISTIC) + self.filled(_PROBABILITIES, DECLARED=self.declared_scores(), BODY=body)
            results = ["sums[0] > 0.0"]
        elif link == "raw" and len(self.classes[0]) == 2:
            yield self.filled(_PROBABILITIES, DECLARED=self.declared_scores(), BODY=_SHARES)
            results = ["sums[0] > 0.0"]
        else:
            body = self.filled(_SHARES if link in (None, "raw") else _SOFTMAX)
            yield self.filled(_HIGHEST) + self.filled(_PROBABILITIES, DECLARED=self.declared_scores(), BODY=body)
            ranges = [range(self.n_sums)[own] for own in self.columns]
            results = [f"model_highest(sums{f' + {own.start}' * (own.start > 0)}, {len(own)})" for own in ranges]
        if finds_outliers(self.estimator):
            known = scores_of(self.estimator)._asdict()
            words = dict(zip(map(str.upper, known), _literals(np.array(list(known.values()))), strict=True))
            yield self.filled(_SCORES, **words)
            results = [f"sums[0] < {words['LEAST']} ? -1 : 1"]
        if self.n_outputs == 1:
            lines = f"    return {results[0]};\n"
        elif link == "in_order":
            lines = self.filled(_IN_ORDER)
        else:
            lines = "".join(f"    out[{output}] = {result};\n" for output, result in enumerate(results))
        yield self.filled(_PREDICT, DECLARED=self.declared_predict(), RESULT=lines)

    def declared_scores(self):
        """What tells probabilities, or, with a loss of the user's own, raw predictions."""
        return f"model_{'raw_predictions' if self.link == 'raw' else 'predict_proba'}(const double *x, double *out)"

    def declared_predict(self):
        """What `model_predict` takes and returns."""
        if embeds(self.estimator):
            return "void model_transform(const double *x, uint32_t *columns)"
        kind = "double" if self.classes is None and not finds_outliers(self.estimator) else "int"
        if self.n_outputs == 1:
            return f"{kind} model_predict(const double *x)"
        return f"void model_predict(const double *x, {kind} *out)"


def _type_of(labels):
    return {"O": "const char *const", "f": "const double"}.get(labels.dtype.kind, "const int64_t")


def _literals(array):
    """The elements of an array as constants of C, which are read as the same numbers."""
    if array.dtype.kind == "O":
        return list(map(_string, array.tolist()))
    if array.dtype.kind == "b":
        array = array.astype(np.int64)
    if array.dtype.kind == "i":  # the least one is no constant, but minus one that is too large
        return ["INT64_MIN" if number == np.iinfo(np.int64).min else str(number) for number in array.tolist()]
    suffix = "f" if array.dtype == np.float32 else ""
    return [
        text.replace("inf", "INFINITY").replace("nan", "NAN") if text.endswith(("inf", "nan")) else text + suffix
        for text in (array.astype(str) if suffix else map(repr, array.tolist()))
    ]


def _string(text):
    """A string of C that is UTF-8; without what compilers would take for something else, as ??/ is."""
    plain = (chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in str(text).encode())
    return f'"{"".join(plain)}"'


def _verify(source, code):
    """Raise ConversionError unless compiled code finds the same leaves, adds them up the same, and says the same of y."""
    estimator, forest = source.estimator, source.forest
    rows, _ = probes_of(estimator, np.float64, infinite=True)
    packed = forest.packed(source.voting)
    n_trees, n_outputs = forest.n_trees, source.n_outputs
    if embeds(estimator):
        found = _found(source, code, rows, _PREDICT_COLUMNS, n_trees)
        check_same("C", rows, packed.apply(rows, 1), found["leaves"])
        columns = (np.cumsum(forest.feature < 0) - 1)[forest.node_offsets[:-1] + found["leaves"]]
        check_same("C", rows, columns, found["out"])
        return
    sums = packed.mean(rows, 1)
    *labels, predicted = meaning(estimator, sums)
    n_sums = source.n_sums
    predict, n_out = "        out[N_SUMS] = model_predict(x);\n", n_sums + n_outputs
    if n_outputs > 1:
        predict = _PREDICT_SEVERAL if labels else "        model_predict(x, out + N_SUMS);\n"
    if labels:
        of_classes = f"        {source.declared_scores().partition('(')[0]}(x, out + {n_out});\n"
        predict += _PREDICT_SCORES if finds_outliers(estimator) else of_classes
        n_out += predicted.shape[1]
    found = _found(source, code, rows, "        model_sums(x, out);\n" + predict, n_out)
    out = found["out"]
    check_same("C", rows, packed.apply(rows, 1), found["leaves"])
    check_same("C", rows, sums, out[:, :n_sums])
    if labels:
        places = out[:, n_sums : n_sums + n_outputs].astype(np.intp)
        is_score = finds_outliers(estimator)
        check_same("C", rows, labels[0], places if is_score else labels_of(classes_of(estimator), places.T))
    is_exact = source.link in (None, "identity", "raw", "in_order") and not finds_outliers(estimator)
    numbers = out[:, n_sums + (n_outputs if labels else 0) :]
    check_same("C", rows, predicted, numbers, None if is_exact else rounding(predicted, np.float64))


def _found(source, code, rows, predict, n_out):
    """What compiled code finds for rows: a structured array of leaves and of the numbers that `predict` writes."""
    n_trees = source.forest.n_trees
    check = source.filled(source.filled(_CHECK, PREDICT=predict, N_OUT=n_out), N_OUTPUTS=source.n_outputs)
    return np.frombuffer(_run(code + check, rows), [("leaves", np.uint32, (n_trees,)), ("out", np.float64, (n_out,))])


def _run(code, rows):
    """What a program of C writes if it is given some rows: bytes."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if not compiler or shutil.which(compiler[0]) is None:
        raise FileNotFoundError(
            f"to_c(verify=True) needs a C compiler, and there is none called {' '.join(compiler)!r}: install one, or name it in "
            "the environment variable CC; verify=False compares nothing"
        )
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "model.c"), Path(folder, "model")
        source.write_text(code, encoding="ascii")
        command = [*compiler, "-std=c99", "-O1", str(source), "-o", str(program), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise ConversionError(f"the compiler {shlex.join(compiler)} refuses the model: {done.stderr[-2000:]}")
        return subprocess.run([program], input=rows.tobytes(), capture_output=True, check=True).stdout
