"""What the linear function of a leaf adds to the Shapley values of rows: the loop of `dforest.estimators.results.linear_shapley`.

All arrays are lent.
"""
from libc.math cimport isfinite
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc

from dforest.rules.bounds cimport df_clip
from dforest.rules.linear_leaf cimport DF_LINE_HEAD, DF_MAX_TERMS, DF_TERM_NUMBERS


def add_leaf(const uint8_t[:, ::1] goes_left not None, const double[:, ::1] X not None, const double[::1] line not None,
             double constant, const int64_t[:, ::1] edges not None, const int64_t[::1] features not None,
             const double[::1] shares not None, const int64_t[::1] places not None, const double[::1] points not None,
             const double[::1] weights not None, double[:, :] values not None):
    """Add what a leaf's linear function adds to the Shapley values of rows.

    Parameters
    ----------
    goes_left : ndarray of shape (n_nodes, n), dtype uint8
        Whether each row would go left at each node of the tree.
    X : ndarray of shape (n, n_features), dtype float64
    line : ndarray, dtype float64
        Of the leaf, as `PackedArrays.lines` has it.
    constant : float
        The leaf's value.
    edges : ndarray of shape (n_edges, 3), dtype int64
        From the root to the leaf: the number of a node, the place of its feature among `features`, and 1 if it goes to the right.
    features : ndarray of shape (n_used,), dtype int64
        The features of the path.
    shares : ndarray of shape (n_used,), dtype float64
        The share of the training weight that takes the edges of each.
    places : ndarray of shape (n_terms,), dtype int64
        Where the feature of each term is among `features`.
    points, weights : ndarray of shape (n_points,), dtype float64
    values : ndarray of shape (n, n_features), dtype float64
        What is added to, in place.
    """
    cdef Py_ssize_t n = X.shape[0], n_used = features.shape[0], n_terms = places.shape[0], i, j, k, p, e
    cdef double* o = <double*> malloc(3 * n_used * sizeof(double))
    cdef double* f = o + n_used
    cdef double* others = f + n_used
    cdef double added[DF_MAX_TERMS]
    cdef const double* term
    cdef double total, kept, x, t, product, own
    cdef bint has_terms, is_known
    if o == NULL:
        raise MemoryError()
    with nogil:
        for i in range(n):
            for p in range(n_used):
                o[p] = 1.0
            for e in range(edges.shape[0]):
                if goes_left[edges[e, 0], i] == edges[e, 2]:
                    o[edges[e, 1]] = 0.0
            total, is_known = 0.0, True
            for j in range(n_terms):
                term = &line[DF_LINE_HEAD + DF_TERM_NUMBERS * j]
                x = X[i, <Py_ssize_t> term[0]]
                is_known &= isfinite(x)
                added[j] = term[2] * (x - term[1]) if o[places[j]] != 0.0 else 0.0
                total += added[j]
            if not is_known or total == 0.0:
                has_terms = False
                for j in range(n_terms):
                    has_terms |= is_known and added[j] != 0.0
                if not has_terms:
                    continue
            kept = df_clip(constant + total, line[0], line[1])
            if kept != constant + total:
                for j in range(n_terms):
                    added[j] *= (kept - constant) / total
            for k in range(points.shape[0]):
                t = points[k]
                product = weights[k]
                for p in range(n_used):
                    f[p] = t * o[p] + (1.0 - t) * shares[p]
                    product *= f[p]
                for p in range(n_used):
                    others[p] = (o[p] - shares[p]) * (t * product / f[p])
                for j in range(n_terms):
                    if added[j] == 0.0:
                        continue
                    own = added[j] / f[places[j]]
                    for p in range(n_used):
                        values[i, features[p]] += own * (product if p == places[j] else others[p])
    free(o)
