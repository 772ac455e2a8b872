"""The features that may vary in a node: see present.pxd.

A `Present` belongs to one thread and owns its scratch; which features rows store is the data's.
"""
cimport cython
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from dforest.core.sorting cimport insertion_sort, radix_sort
from dforest.core.types cimport data_row

cdef enum:
    INSERTION_BELOW = 24


@cython.final
cdef class Present:
    """Finds the features that may vary in nodes of few stored values.

    Parameters
    ----------
    data : DataView
        After `add_present`.
    tuning : dict
        ``present_up_to``: the field, if it is not to have its default.
    """

    def __cinit__(self, DataView data not None, dict tuning not None):
        self.data = data
        self.present_up_to = tuning.get("present_up_to", 4.0)
        self.own_keys = <uint64_t*> malloc(data.n_features * sizeof(uint64_t))
        self.more_keys = <uint64_t*> malloc(data.n_features * sizeof(uint64_t))
        self.found_in = <uint32_t*> calloc(data.n_features, sizeof(uint32_t))
        if self.own_keys == NULL or self.more_keys == NULL or self.found_in == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.own_keys)
        free(self.more_keys)
        free(self.found_in)

    cdef bint find(self, const Node* node, FeatureOrder order, Py_ssize_t max_features, bint skip_constant) noexcept nogil:
        cdef const int64_t* begin = self.data.present_from
        cdef Py_ssize_t i, k, row
        cdef int64_t n_stored = self.data.n_dense
        cdef double most, n_features = <double> self.data.n_features
        # Of n features that vary, among all, every (all / n)-th that is drawn does.
        most = self.present_up_to * n_features * (max_features if skip_constant else 1)
        for i in range(node.n):
            row = data_row(node.rows, node.records[i].row)
            n_stored += begin[row + 1] - begin[row]
            if (n_stored if skip_constant else n_stored - max_features) * min(<double> n_stored, n_features) > most:
                return False
        self.n = 0
        self.keys = self.own_keys
        self.turn += 1
        if self.turn == 0:             # all numbers of turns have been used
            memset(self.found_in, 0, self.data.n_features * sizeof(uint32_t))
            self.turn = 1
        for i in range(self.data.n_dense):
            self.add(self.data.dense[i], order)
        for i in range(node.n):
            row = data_row(node.rows, node.records[i].row)
            for k in range(begin[row], begin[row + 1]):
                if self.found_in[self.data.present[k]] != self.turn:
                    self.found_in[self.data.present[k]] = self.turn
                    self.add(self.data.present[k], order)
        if self.n < INSERTION_BELOW:
            insertion_sort(self.keys, self.n)
        else:
            self.keys = radix_sort(self.keys, self.more_keys, self.n)
        return True

    cdef inline void add(self, uint32_t feature, FeatureOrder order) noexcept nogil:
        self.keys[self.n] = <uint64_t> order.place_of(feature) << 32 | feature
        self.n += 1
