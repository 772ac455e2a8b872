"""A walk down the trees of a forest in plain Python, from what is documented of its arrays."""

import math

import numpy as np


class Walker:
    """A forest's arrays, walked through a node at a time."""

    def __init__(self, forest):
        self.offsets = forest.node_offsets.tolist()
        self.feature = forest.feature.tolist()
        self.threshold = forest.threshold.astype(np.float64).tolist()
        self.right = forest.right_child.tolist()
        self.missing_left = forest.missing_left.tolist()
        words, bounds = forest.payload_words.tolist(), forest.payload_offsets.tolist()
        self.subsets = {}
        for place, feature in enumerate(self.feature):
            if feature >= 0 and forest.n_categories[feature] > 0:
                first, last = bounds[len(self.subsets)], bounds[len(self.subsets) + 1]
                bits = sum(word << (64 * i) for i, word in enumerate(words[first:last]))
                self.subsets[place] = {c for c in range(bits.bit_length()) if bits >> c & 1}
        assert len(self.subsets) == len(bounds) - 1

    def path(self, t, x):
        """The nodes of tree t that a row passes, given as a list of floats."""
        first, node = self.offsets[t], 0
        passed = [0]
        while self.feature[first + node] >= 0:
            place = first + node
            value, missing_left = x[self.feature[place]], self.missing_left[place]
            if place in self.subsets:
                left = (not math.isnan(value) and value in self.subsets[place]) != missing_left
            else:
                left = missing_left if math.isnan(value) else value <= self.threshold[place]
            node = node + 1 if left else self.right[place]
            passed.append(node)
        return passed
