"""The criterion of several outputs: see outputs.pyx."""
from libc.stdint cimport int32_t, int64_t

from cpython.ref cimport PyObject

from dforest.core.search.criterion cimport Criterion
from dforest.core.loops cimport df_output_squares, df_output_targets
from dforest.core.types cimport Node, Record, Scale

cdef enum Way:                 # how nodes are opened and cuts scored
    ONE_BY_ONE                 # each output by its own criterion
    CLASSES_TOGETHER           # built-in criteria of classes
    SQUARES_TOGETHER           # squared error


cdef struct Output:
    PyObject* criterion        # Criterion, its own
    int number                 # of a built-in criterion of classes in records.h; -1: the criterion is another one
    Py_ssize_t first           # of its words in the statistics of all outputs
    Py_ssize_t n_words         # of those
    # These of the open node
    Scale scale
    bint is_pure
    int exponent               # a score of its own times 2 to this power is in units of weight times impurity


cdef class MultiOutput(Criterion):
    cdef readonly tuple parts          # the criteria of the outputs
    cdef bint sums_by_class, is_gini
    cdef Way way
    cdef Output* each                  # [n_outputs]
    cdef int32_t* targets              # [records, n_outputs], owned: see df_outputs
    cdef Record* own                   # [records] of the open node, for one of the outputs at a time, and its exact targets,
    cdef double* own_y                 # [records] to which Record.row leads here
    cdef double* own_weight            # [records] exact weights, likewise
    # Of the open node, [n_outputs] each. These are in `numbers`, one behind the other, with those of `opening`.
    cdef double* factor                # what makes an output's scores those of the node: a power of two, at most 1; 0: it is pure
    cdef double* remainder             # squared error: what is left of the sum of targets with their mean taken off
    cdef double* numbers
    cdef int64_t* mean                 # squared error: the mean of integer targets, rounded down
    cdef bint is_centred               # statistics, and `targets`, have this mean taken off
    cdef int32_t* exponents            # of scales
    cdef int32_t* word                 # classes: the word of each output's first class
    cdef df_output_targets opening     # what `open_node` fills: these arrays
    cdef df_output_squares squares     # what scores ask for: these arrays
    cdef int64_t* part_left            # [n_words] statistics of one output ...
    cdef int64_t* part_total           # ... and of the same output for a node
    cdef int exponent                  # of the open node: see score_exponent

    # A node as the criterion of one output sees it; IN with_targets: its records have the targets of this output. OUT part
    cdef void enter(self, const Node* node, Py_ssize_t o, bint with_targets, Node* part) noexcept nogil
    # Copy the words of one output out of a statistic, with the mean put back. OUT to : [2 + its words]
    cdef void output_statistic(self, const Output* output, const int64_t* statistic, int64_t* to) noexcept nogil
    # Set `exponent`, and the factors of all outputs, of an open node.
    cdef void requantise_weights(self, const Node* node) noexcept nogil
    cdef void find_pure(self, Node* node) noexcept nogil
    cdef void find_scales(self, Node* node) noexcept nogil
    cdef int open_one_by_one(self, Node* node) except -1 nogil
    # Scores of n cuts, at most CUTS; below 0: a cut is not allowed. OUT scores : [n]
    cdef void score_each(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* scores) noexcept nogil
    cdef void add_scores(self, const Output* output, const int64_t* left, Py_ssize_t n, const int64_t* total,
                         double* scores) noexcept nogil
    cdef double respond(self, const Output* output, const int64_t* statistics, Py_ssize_t n, const int64_t* total,
                        double* responses) noexcept nogil


# The criterion that a forest was given: of several outputs, that of the first one.
cdef Criterion single_criterion(Criterion criterion)
