"""What the nodes of C code compare: tables of tests, and the code that reads them; see c.py."""

import numpy as np

from dforest.interchange.conversion.oblique import is_oblique, test_at

_MISSING_LEFT, _SET, _LEAF, _SUM = 1, 2, 4, 8  # bits of a node's kind

# What follows is C, where `model` stands for the prefix.
SETS = """ A test of categories has a set, at the place `threshold` of model_sets; categories in
 * it go to the side where missing ones don't."""
WEIGHTED = """ A test of several features has their weights, at
 * the place `threshold` of model_weights, and compares their sum with a threshold."""
IS_IN_SET = """
/* Whether a category is in a set: its number of words, and then the words, with a bit for each category. */
static int model_is_in_set(const uint32_t *set, double code)
{
    uint32_t number;
    if (!(code >= 0.0 && code < 65536.0))
        return 0;
    number = (uint32_t)code;
    return number / 32 < set[0] && (set[1 + number / 32] >> number % 32 & 1);
}
"""
WEIGHTED_SUM = """
/* A weighted sum of features: after its threshold and the number of its terms, a term has the feature, its weight, and what a
 * missing value counts as. Products are volatile, as compilers might add some that are not rounded. */
static double model_weighted_sum(const double *weights, const double *x)
{
    const double *term = weights + 2, *end = term + 3 * (int)weights[1];
    double sum = 0.0;
    for (; term < end; term += 3) {
        const double value = x[(uint32_t)term[0]];
        const volatile double product = term[1] * (value == value ? value : term[2]);
        sum += product;
    }
    return sum;
}
"""
SET_TEST = """\
        if (node->kind & model_set)
            left = model_is_in_set(model_sets + (uint32_t)node->threshold, value) != (node->kind & model_missing_left);
"""
SUM_TEST = """\
        if (node->kind & model_sum) {
            const double *weights = model_weights + (uint32_t)node->threshold;
            const double sum = model_weighted_sum(weights, x);
            left = sum <= weights[0] || (sum != sum && (node->kind & model_missing_left));
        }
"""


class NodeTests:
    """What nodes compare.

    Attributes
    ----------
    threshold : ndarray of shape (n_nodes,), dtype float64
        The threshold of a single feature, or a place among the sets or the weights; 0 of a leaf.
    kind : ndarray of shape (n_nodes,), dtype int64
    sets : list of int
        Words of all different sets, one after the other: their number, and then the words.
    weights : list of float
        Of all sums, one after the other: the threshold, the number of terms, and then the terms.
    """

    def __init__(self, forest):
        is_leaf = forest.feature < 0
        self.threshold = np.where(is_leaf, 0.0, forest.threshold.astype(np.float64))
        self.kind = np.where(is_leaf, _LEAF, _MISSING_LEFT * forest.missing_left)
        self.sets, self.weights, self.places = [], [], {}
        if is_oblique(forest):
            for node in np.flatnonzero(~is_leaf):
                self.add(node, test_at(forest, node))
        else:
            for node in np.flatnonzero(~is_leaf & (forest.n_categories[forest.feature] > 0)):
                self.add_set(node, forest.payload_of(node))

    def add(self, node, test):
        """The test of an oblique tree."""
        self.threshold[node], self.kind[node] = test.threshold, _MISSING_LEFT * test.missing_left
        if test.terms is None:
            self.add_set(node, test.subset)
        elif test.is_sum:
            self.threshold[node] = len(self.weights)
            self.kind[node] |= _SUM
            self.weights += [test.threshold, float(len(test.terms))]
            self.weights += np.column_stack([test.columns, test.terms]).ravel().tolist()

    def add_set(self, node, words):
        """A test of categories."""
        own = tuple(np.trim_zeros(words.astype("<u8").view("<u4"), "b").tolist())
        self.threshold[node] = self.places.setdefault(own, len(self.sets))
        self.kind[node] |= _SET
        if self.threshold[node] == len(self.sets):
            self.sets += [len(own), *own]
