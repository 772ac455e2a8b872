"""The best split among all values (method "dense")."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from dforest.core.types cimport Column, Node, Split, code_t

cdef extern from "numerics.h" nogil:
    double df_middle(double lo, double hi, int is_float32)


cdef uint32_t next_code(const Node* node, const code_t* codes, uint32_t code, uint32_t n_codes) noexcept nogil:
    """The lowest code above `code` that occurs in the node."""
    cdef Py_ssize_t i
    cdef uint32_t c, lowest = n_codes
    for i in range(node.n):
        c = codes[node.draws[i].row]
        if c > code and c < lowest:
            lowest = c
    return lowest


cdef class DenseSplitter(Splitter):
    """Best exact split; a threshold is the middle of two neighbouring values present in the node."""

    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        cdef const Column* column = &self.data.columns[split.feature]
        cdef uint32_t lo = split.code, hi
        if column.width == 1:
            hi = next_code[uint8_t](node, <const uint8_t*> column.codes, lo, column.n_codes)
        elif column.width == 2:
            hi = next_code[uint16_t](node, <const uint16_t*> column.codes, lo, column.n_codes)
        else:
            hi = next_code[uint32_t](node, <const uint32_t*> column.codes, lo, column.n_codes)
        if column.is_float32:
            return df_middle((<const float*> column.values)[lo], (<const float*> column.values)[hi], 1)
        return df_middle((<const double*> column.values)[lo], (<const double*> column.values)[hi], 0)
