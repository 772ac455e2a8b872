"""The rows that estimates out of bag are made from; see out_of_bag.pyx."""
from dforest.core.predict.packing cimport Rows
from dforest.core.predict.packed cimport PackedForest
from dforest.core.predict.walk cimport df_sparse_value
from dforest.core.draws cimport TreeDraws
from dforest.rules.out_of_bag cimport df_error


cdef class TrainingRows:
    """The rows that a forest was grown on, or a range of them, and which of them each tree drew."""
    cdef PackedForest packed
    cdef Rows rows
    cdef Py_ssize_t n
    cdef const double[::1] target
    cdef TreeDraws draws
    cdef bint is_regression
    cdef int exponent              # of the scale of numbers: see `square_exponent`
    cdef double factor             # 2**exponent


cdef inline double error_of(TrainingRows rows, double target, double predicted) noexcept nogil:
    """The error of a prediction; of numbers, times 4**exponent."""
    return df_error(rows.is_regression, rows.factor, target, predicted)


cdef inline double value_of(TrainingRows rows, Py_ssize_t row, Py_ssize_t feature) noexcept nogil:
    cdef const char* x
    if rows.rows.is_sparse:
        return df_sparse_value(&rows.rows.sparse, row, feature)
    x = rows.rows.rows.x + row * rows.rows.rows.stride
    return (<const double*> x)[feature] if rows.rows.rows.is_double else (<const float*> x)[feature]
