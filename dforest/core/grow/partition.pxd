"""Partitions of a node's records by its split: those that go left first, the others behind them.

    draws:   | ...... | goes left | goes right | ...... |
                      first       first + n_left       first + n

Partitions are *stable*, the records of either side stay in the order they had, and in place. All forms give the same order, and
return the number of records that go left. Who calls them owns the memory.

INOUT node : its draws; nothing else of the node is written to
IN column : of the split's feature, with the codes of the node's records
OUT scratch : [node.n] another array of records
"""
from dforest.core.grow.team cimport Team
from dforest.core.search.splitter cimport Splitter
from dforest.core.search.sums cimport Sums
from dforest.core.types cimport Column, Node, Record, Split

# By codes: a record goes left up to the code of the split, or by its category.
cdef Py_ssize_t partition(const Node* node, const Column* column, const Split* split, Record* scratch) noexcept nogil

# `partition` of an open node, which adds up either side's draws by the way, unless their kind is NO_SUMS.
# INOUT left, right : of one kind, on either side
cdef Py_ssize_t partition_summing(const Node* node, const Column* column, const Split* split, Record* scratch, Py_ssize_t n_words,
                                  Sums* left, Sums* right) noexcept nogil

# By codes, with the help of idle members of a team, of whom the caller is number `member`.
cdef Py_ssize_t partition_together(Team team, int member, const Node* node, const Column* column, const Split* split,
                                   Record* scratch) except -1 nogil

# By a test of the splitter's own, which its `goes_left` does for some rows at a time.
cdef Py_ssize_t partition_by_test(Splitter splitter, const Node* node, const Split* split, Record* scratch) except -1 nogil
