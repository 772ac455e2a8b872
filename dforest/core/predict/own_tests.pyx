"""Rows down trees whose tests are a splitter's own: the splitter is asked where they go, for many rows at a time."""
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from dforest.core.predict.walk cimport df_child, df_is_leaf, df_place, df_tree

cdef enum:
    TESTED = 1024             # rows that a splitter tests at a time

cdef struct Reached:          # a node, and which rows reach it
    uint32_t at
    Py_ssize_t start, end


cdef int walk_tests(const df_packed* forest, Py_ssize_t t, Splitter splitter, const Descent* down) except -1 nogil:
    """Send rows down tree t, whose splitter tells where they go: a node, with all rows that reach it, at a time.

    The rows of a node are a run of `order`. A node reached by the rows 0, 2, 5 and 7, of which 2 and 7 go left, leaves

        order:   | ...... |   2   7   |   0   5    | ...... |
                          from        middle       to

    and both runs wait on the stack, the left one on top.
    """
    cdef Py_ssize_t n = down.n
    cdef const char* tree = df_tree(forest, t)
    cdef uint32_t row[TESTED]
    cdef uint8_t is_left[TESTED]
    cdef uint32_t* order = <uint32_t*> malloc(2 * (n + 1) * sizeof(uint32_t))
    cdef uint32_t* right = order + n
    cdef Reached* stack = <Reached*> malloc((n + 1) * sizeof(Reached))     # each has rows of its own
    cdef Py_ssize_t m = n > 0, i, j, k, middle, n_right        # m: nodes on the stack
    cdef Reached here
    cdef uint32_t place, child
    try:
        if order == NULL or stack == NULL:
            with gil:
                raise MemoryError()
        for i in range(n):
            order[i] = <uint32_t> i
        stack[0] = Reached(1, 0, n)
        while m > 0:
            m -= 1
            here = stack[m]
            if df_is_leaf(tree, here.at, forest):
                for i in range(here.start, here.end):
                    down.at[order[i]] = here.at
                continue
            place = df_place(tree, here.at, forest)
            middle = here.start
            n_right = 0
            i = here.start
            while i < here.end:
                k = min(<Py_ssize_t> TESTED, here.end - i)
                for j in range(k):
                    row[j] = down.numbers[order[i + j]] if down.numbers != NULL else <uint32_t> (down.first + order[i + j])
                splitter.goes_left(forest.words + place + 1, <Py_ssize_t> forest.words[place], down.rows, row, k, is_left)
                for j in range(k):
                    right[n_right] = order[i + j]
                    order[middle] = order[i + j]
                    middle += is_left[j] != 0
                    n_right += is_left[j] == 0
                i += k
            memcpy(order + middle, right, n_right * sizeof(uint32_t))
            child = df_child(tree, here.at, forest)
            if middle < here.end:
                stack[m] = Reached(child + 1, middle, here.end)
                m += 1
            if here.start < middle:
                stack[m] = Reached(child, here.start, middle)
                m += 1
    finally:
        free(order)
        free(stack)
    return 0
