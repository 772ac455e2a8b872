"""Checks of what splitters and criteria from elsewhere answer, before anything is done with it.

What refuses an answer is a function of its own, as a function that may make Python's objects is slow even when it makes none.
Nothing here owns memory.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint32_t

from dforest.core.search.outputs cimport own_criterion
from dforest.core.types cimport CATEGORICAL, Column, code_at, data_code, number_at

from dforest.core.component import CriterionError, SplitterError


cdef bint parts_codes(const Node* node, const Split* split) noexcept nogil:
    cdef const Column* column = &node.columns[split.feature]
    cdef uint32_t code
    cdef Py_ssize_t i
    for i in range(node.n):                # the code need not occur in the node
        code = code_at(column, node.records[i].row)
        if code <= split.code and not number_at(column, column.highs, data_code(column, code)) <= split.threshold:
            return False
        if split.code < code < column.n_codes and number_at(column, column.lows, data_code(column, code)) <= split.threshold:
            return False
    return True


cdef int refuse_split(Splitter splitter, DataView data, const Node* node, const Split* split) except -1 nogil:
    cdef Py_ssize_t feature = split.feature
    with gil:
        name = type(splitter).__name__
        if feature >= data.n_features:
            raise SplitterError(f"{name}.find_split: feature={feature}; the data have {data.n_features} features")
        if not 0.0 <= split.score < INFINITY:
            raise SplitterError(f"{name}.find_split: score={split.score}; a score is a finite number from 0")
        if splitter.has_own_tests:
            raise SplitterError(f"{name}: a test of its own needs a payload, set by store_split")
        n_codes = node.columns[feature].n_codes
        if node.columns[feature].kind == CATEGORICAL:
            raise SplitterError(f"{name}.find_split: a split of feature {feature}, which is categorical, needs the payload "
                                f"of {(n_codes + 63) // 64} words that `cuts` sets")
        if split.payload != NULL:
            raise SplitterError(f"{name}.find_split: a split of feature {feature}, which is not categorical, has a payload; "
                                "tests of a splitter's own set has_own_tests")
        if split.code >= n_codes:
            raise SplitterError(f"{name}.find_split: code={split.code} of feature {feature}; its codes are 0 to "
                                f"{n_codes - 1}")
        if split.threshold != split.threshold:
            raise SplitterError(f"{name}.find_split: the threshold of a split of feature {feature} is not a number; a search "
                                "ends with store_split, which sets it")
        raise SplitterError(f"{name}.threshold: {split.threshold} of feature {feature} does not separate the values in the node "
                            f"as its code {split.code} does")


cdef int refuse_side(Splitter splitter, const LeafRules* rules, double min_fraction, int64_t root_weight, const Node* node,
                     bint is_right) except -1 nogil:
    with gil:
        name = type(splitter).__name__
        side = "right" if is_right else "left"
        if node.statistics[0] < rules.min_draws:
            raise SplitterError(f"{name}: min_samples_leaf={rules.min_draws} is broken by a split with "
                                f"{node.statistics[0]} draws on the {side}")
        raise SplitterError(f"{name}: min_weight_fraction_leaf={min_fraction} is broken by a split "
                            f"with {node.statistics[1]} of a weight of {root_weight} on the {side}")


cdef int refuse_division(Splitter splitter, const Node* node, Py_ssize_t n_left) except -1 nogil:
    with gil:
        raise SplitterError(f"{type(splitter).__name__}: the cut is not inside the node: all {node.n} records go "
                            f"{'left' if n_left else 'right'}")


cdef int refuse_judgement(Criterion criterion, double found, bint is_impurity) except -1 nogil:
    criterion.check()
    with gil:
        name, method = type(own_criterion(criterion)).__name__, "impurity" if is_impurity else "value"
        raise CriterionError(f"{name}.{method} returned {found}; allowed are finite numbers")
