"""Nodes by hand, for tests: what each producer of cut lists makes of a column, and which cut is the best.

A `Probe` owns the records of its node; all else is the data's or the tools' that it asks.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

import numpy as np

from dforest.core.data cimport DataView
from dforest.core.search.dense cimport TwoLevelSearch
from dforest.core.search.criterion cimport Criterion
from dforest.core.search.cut_list cimport ONE_VS_REST, SINGLE_CUT, CutList, expand
from dforest.core.search.cuts cimport CodeRange, Cuts
from dforest.core.types cimport CATEGORICAL, Column, LeafRules, Node, Record, Split, in_subset


cdef class Probe:
    """A node of all rows of some data.

    Parameters
    ----------
    data : DataView
        Targets of numbers are taken as integers already, at a scale of 1.
    criterion : Criterion
        Configured.
    counts : ndarray of shape (n_rows,), dtype uint32, or None
        How often each row was drawn; None: once. Rows that were not drawn are left out.
    one_hot : bool
        Whether categories are divided from the rest one by one.
    tuning : dict or None
        Size thresholds: see `Cuts`; and ``buckets``, for `best_by_buckets`.
    """

    cdef DataView data
    cdef Criterion criterion
    cdef Cuts cuts
    cdef Record* records
    cdef int64_t[::1] statistics
    cdef Node node

    def __cinit__(self, DataView data not None, Criterion criterion not None, const uint32_t[::1] counts=None,
                  bint one_hot=False, dict tuning=None):
        cdef Py_ssize_t i, n = 0
        cdef int64_t lowest = 0, highest = 0
        self.data = data
        self.criterion = criterion
        self.records = <Record*> calloc(data.n_rows, sizeof(Record))
        if self.records == NULL:
            raise MemoryError()
        for i in range(data.n_rows):
            self.records[n].row = <uint32_t> i
            self.records[n].count = 1 if counts is None else counts[i]
            self.records[n].target = data.target[i]
            self.records[n].weight = data.weight[i] if data.weight != NULL else 1
            lowest = min(lowest, <int64_t> data.target[i])
            highest = max(highest, <int64_t> data.target[i])
            n += self.records[n].count > 0
        self.statistics = np.zeros(criterion.n_words, np.int64)
        self.node.records = self.records
        self.node.n = n
        self.node.columns = data.columns
        self.node.y = data.y
        self.node.statistics = &self.statistics[0]
        self.node.scale.range = highest - lowest
        self.node.lower = -np.inf
        self.node.upper = np.inf
        criterion.attach(n)
        criterion.open_node(&self.node)
        if tuning is not None and tuning.get("buckets", 0):
            data.add_buckets(tuning["buckets"])
        self.cuts = Cuts(criterion, data, n, one_hot, tuning or {})
        self.cuts.open_node(&self.node)

    def __dealloc__(self):
        free(self.records)

    cdef dict shown(self, CutList* cuts):
        cdef Py_ssize_t i, k, n_words = self.criterion.n_words
        expand(cuts, n_words)
        return {
            "kind": "single_cut" if cuts.kind == SINGLE_CUT else "singles" if cuts.kind == ONE_VS_REST else "run",
            "codes": [cuts.single_cut] if cuts.kind == SINGLE_CUT else [cuts.code[i] for i in range(cuts.n)],
            "left": [[cuts.left[i * n_words + k] for k in range(n_words)] for i in range(cuts.n)],
            "missing": [cuts.missing[k] for k in range(n_words)],
        }

    def cumulated(self, Py_ssize_t feature):
        """The list that counting or sorting makes of a column: a dict of its kind, codes, left sides and missing values."""
        cdef CutList cuts
        self.cuts.builder.cumulate(&self.node, &self.data.columns[feature], &cuts)
        return self.shown(&cuts)

    def arranged(self, Py_ssize_t feature):
        """The list of a column of categories, in the order in which they are cut, or one by one."""
        cdef CutList cuts
        self.cuts.builder.cumulate(&self.node, &self.data.columns[feature], &cuts)
        expand(&cuts, self.criterion.n_words)
        self.cuts.categories.arrange(&self.node, &cuts)
        return self.shown(&cuts)

    def added_up(self, Py_ssize_t feature, uint64_t code):
        """The list of the one cut after a code, of a column of numbers, and the range of the codes: (list, tuple)."""
        cdef CutList cuts
        cdef const Column* column = &self.data.columns[feature]
        cdef CodeRange found = self.cuts.left_sums.gather(&self.node, column)
        self.cuts.left_sums.add_up(&self.node, code, column.n_codes, found.has_missing, &cuts)
        return self.shown(&cuts), (found.lowest, found.highest, found.has_missing)

    def best(self, Py_ssize_t feature, int64_t min_draws=1, double min_weight=0.0, bint by_buckets=False, code=None):
        """The best cut of a column.

        Parameters
        ----------
        feature : int
        min_draws, min_weight
            What each side has at least.
        by_buckets : bool
            Whether it is found by `TwoLevelSearch`; the tuning has ``buckets``.
        code : int, optional
            The only cut there is, is the one after this code.

        Returns
        -------
        dict or None
            score; code, or the categories that do not go with the missing values; missing_left; only_missing_right.
            None: no cut is allowed.
        """
        cdef Split split
        cdef LeafRules rules
        cdef TwoLevelSearch search
        cdef const Column* column = &self.data.columns[feature]
        rules.min_draws = min_draws
        rules.min_weight = min_weight
        split.feature = feature
        split.score = -1.0
        split.payload = NULL
        split.midpoint = 0.0
        if by_buckets:
            search = TwoLevelSearch(self.cuts, self.data)
            search.find(&self.node, feature, &rules, &split)
            search.note(True)
            search.finish_search(&self.node, &rules, &split)
            if split.score >= 0.0 and split.above == 0:
                search.find_neighbours(&self.node, column, &split)
        elif code is not None:
            self.cuts.find_at(&self.node, column, code, &rules, &split)
        else:
            self.cuts.find(&self.node, column, &rules, &split)
        self.criterion.check()
        if split.score < 0.0:
            return None
        where = split.code
        if column.kind == CATEGORICAL:
            where = [c for c in range(column.n_codes) if in_subset(split.payload, c)]
        return {"score": split.score, "code": where, "missing_left": bool(split.missing_left),
                "only_missing_right": bool(split.only_missing_right)}
