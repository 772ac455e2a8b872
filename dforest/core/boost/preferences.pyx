"""Which columns the splits of a boosted model prefer beside what they gain: see rules/preferences.h.

A `Preferences` serves one booster. It owns what it knows of columns that have been used; one thread at a time may ask it.
"""
cimport cython

import numpy as np

from dforest.rules.preferences cimport df_monotone_factor


@cython.final
cdef class Preferences:
    """What splits by columns count for.

    Parameters
    ----------
    n_columns : int
    costs : ndarray of shape (n_columns,), dtype float64, optional
        From 0 on, in units of the loss: what the gain of a split is less by that would be the model's first one by the column.
        None: nothing.
    monotone_penalty : float, default=0.0
        See `df_monotone_factor`.
    monotonic_csts : ndarray of shape (n_columns,), dtype int8, optional
        The directions of columns; None: they have none.
    used : ndarray of shape (n_columns,), dtype bool, optional
        Which columns the model's trees test already. None: there are no trees.
    origins : ndarray of shape (n_columns,), dtype int32, optional
        The column that stands for each one: where one of them is used, all are that have the same. None: each stands for itself.
    """

    def __init__(self, n_columns, costs=None, double monotone_penalty=0.0, monotonic_csts=None, used=None, origins=None):
        self.n_columns, self.monotone_penalty = n_columns, monotone_penalty
        self.costs = None if costs is None else np.ascontiguousarray(costs, np.float64)
        self.monotonic_csts = None if monotonic_csts is None else np.ascontiguousarray(monotonic_csts, np.int8)
        self.origins = np.arange(n_columns, dtype=np.int32) if origins is None else np.ascontiguousarray(origins, np.int32)
        self.is_used = np.zeros(n_columns, np.uint8)
        for column in np.flatnonzero([] if used is None else used).tolist():
            self.note(column)

    cdef void note(self, int32_t column) noexcept nogil:
        """Note that a split tests a column."""
        self.is_used[self.origins[column]] = True

    cdef void of_node(self, int64_t depth, double cost_factor, double* factors, double* costs) noexcept nogil:
        """What splits of a node at some depth count for, by column.

        IN cost_factor : what costs are multiplied by to be in the units of the node's gains
        OUT factors, costs : [n_columns]
        """
        cdef Py_ssize_t j
        cdef double factor = df_monotone_factor(self.monotone_penalty, depth)
        for j in range(self.n_columns):
            factors[j] = factor if self.monotonic_csts is not None and self.monotonic_csts[j] != 0 else 1.0
            costs[j] = 0.0 if self.costs is None or self.is_used[self.origins[j]] else self.costs[j] * cost_factor
